/* Run-time compilers. NVIDIA's may be on the machine or not: what depends on it is told by CreateProgram. */
#include <stdlib.h>
#include <unistd.h>
#include "snippet.h"

typedef __typeof__(wrap_nvrtcCreateProgram) create_program;

static void compile(create_program *create)
{
    void *program = NULL, *none = NULL;
    size_t size = 1;
    const char *options[] = {"--gpu-architecture=sm_80"};
    int err = create(&program, "extern \"C\" __global__ void k() {}", "k.cu", 0, NULL, NULL);
    EXPECT(err == NVRTC_SUCCESS || err == NVRTC_ERROR_INTERNAL_ERROR);
    EXPECT(strcmp(C(nvrtcGetErrorString)(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION") == 0);
    EXPECT(strcmp(C(nvrtcGetErrorString)(-5), "NVRTC_ERROR unknown") == 0);
    IS(C(nvrtcCompileProgram)(none, 0, NULL), NVRTC_ERROR_INVALID_PROGRAM);
    IS(C(nvrtcGetCUBINSize)(none, &size), NVRTC_ERROR_INVALID_PROGRAM);
    IS(C(nvrtcGetCUBIN)(none, NULL), NVRTC_ERROR_INVALID_PROGRAM);
    IS(C(nvrtcDestroyProgram)(&none), NVRTC_ERROR_INVALID_PROGRAM);
    IS(C(nvrtcDestroyProgram)(NULL), NVRTC_ERROR_INVALID_PROGRAM);
    EXPECT(size == 1);
    if (err)
        return;
    OK(C(nvrtcCompileProgram)(program, 1, options));
    OK(C(nvrtcGetCUBINSize)(program, &size));
    char *cubin = calloc(1, size);
    OK(C(nvrtcGetCUBIN)(program, cubin));
    EXPECT(strstr(cubin, ".target sm_80") && strstr(cubin, ".entry k"));
    free(cubin);
    OK(C(nvrtcDestroyProgram)(&program));
}

typedef __typeof__(wrap_nvJitLinkCreate) create_session;

static const char callee[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .func (.param .b32 r) seven()\n{\n"
                             "  .reg .b32 %r<2>;\n  mov.u32 %r1, 7;\n  st.param.b32 [r], %r1;\n  ret;\n}\n";
static const char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".extern .func (.param .b32 r) seven();\n"
                             ".visible .entry k(.param .u64 p)\n{\n"
                             "  .reg .b32 %r<2>;\n  .reg .b64 %d<2>;\n  ld.param.u64 %d1, [p];\n"
                             "  { .param .b32 v;\n  call (v), seven, ();\n  ld.param.b32 %r1, [v]; }\n"
                             "  st.global.u32 [%d1], %r1;\n  ret;\n}\n";

static void bad_input(create_session *create)
{
    void *session = NULL;
    size_t size = 99;
    const char *options[] = {"-arch=sm_80"};
    IS(create(&session, 1, (const char *[]){"-O3"}), NVJITLINK_ERROR_MISSING_ARCH);
    IS(create(NULL, 1, options), NVJITLINK_ERROR_INVALID_INPUT);
    OK(create(&session, 1, options));
    IS(C(nvJitLinkAddFile)(session, NVJITLINK_INPUT_PTX, "/nonexistent.ptx"), NVJITLINK_ERROR_INVALID_INPUT);
    IS(C(nvJitLinkAddData)(session, NVJITLINK_INPUT_LTOIR, "x", 1, "x"), NVJITLINK_ERROR_LTO_NOT_ENABLED);
    static const struct { /* the header of a fat binary, and that of its one image, LTO-IR for 7.0 */
        uint32_t magic, versions;
        uint64_t size;
        uint32_t kind, header;
        uint64_t padded;
        uint32_t packed[2], version, arch;
        uint64_t rest[4];
        char image[8];
    } lto = {0xBA55ED50u, 0x100001u, 72, 0x1010008u, 64, 8, {0, 0}, 0, 70, {0}, "\xed\x43\x4e\x7f"};
    IS(C(nvJitLinkAddData)(session, NVJITLINK_INPUT_ANY, &lto, sizeof lto, "x"), NVJITLINK_ERROR_LTO_NOT_ENABLED);
    IS(C(nvJitLinkAddData)(session, NVJITLINK_INPUT_PTX, "junk\n", 5, "x"), NVJITLINK_ERROR_PTX_COMPILE);
    OK(C(nvJitLinkGetErrorLogSize)(session, &size));
    EXPECT(size > 1);
    char *log = calloc(1, size);
    OK(C(nvJitLinkGetErrorLog)(session, log));
    EXPECT(strlen(log) == size - 1);
    free(log);
    IS(C(nvJitLinkGetLinkedLTOIRSize)(session, &size), NVJITLINK_ERROR_INVALID_INPUT);
    IS(C(nvJitLinkGetLinkedLTOIR)(session, NULL), NVJITLINK_ERROR_INVALID_INPUT);
    OK(C(nvJitLinkDestroy)(&session));
    IS(C(nvJitLinkDestroy)(&session), NVJITLINK_ERROR_INVALID_INPUT);
    IS(C(nvJitLinkComplete)(session), NVJITLINK_ERROR_INVALID_INPUT);
}

static void link_ptx(create_session *create)
{
    void *session = NULL;
    size_t size = 0, same = 0;
    unsigned value = 0;
    char path[] = "/tmp/cumu-snippet-XXXXXX";
    const char *options[] = {"-arch=sm_80", "-O3"};
    int fd = mkstemp(path);
    EXPECT(fd >= 0 && write(fd, callee, sizeof callee - 1) == (ssize_t)sizeof callee - 1);
    close(fd);
    OK(create(&session, 2, options));
    OK(C(nvJitLinkAddData)(session, NVJITLINK_INPUT_PTX, caller, sizeof caller, "caller"));
    OK(C(nvJitLinkAddFile)(session, NVJITLINK_INPUT_ANY, path));
    unlink(path);
    IS(C(nvJitLinkGetLinkedCubinSize)(session, &size), NVJITLINK_ERROR_INVALID_INPUT);
    OK(C(nvJitLinkComplete)(session));
    OK(C(nvJitLinkGetLinkedCubinSize)(session, &size));
    OK(C(nvJitLinkGetLinkedPtxSize)(session, &same));
    EXPECT(size && size == same);
    char *cubin = calloc(1, size), *ptx = calloc(1, size);
    OK(C(nvJitLinkGetLinkedCubin)(session, cubin));
    OK(C(nvJitLinkGetLinkedPtx)(session, ptx));
    EXPECT(memcmp(cubin, ptx, size) == 0);
    OK(C(nvJitLinkGetInfoLogSize)(session, &same));
    char *info = calloc(1, same);
    OK(C(nvJitLinkGetInfoLog)(session, info));
    OK(C(nvJitLinkDestroy)(&session));

    /* What was linked runs: it needs no NUL at its end, nor the type PTX. */
    CUlinkState again = NULL;
    CUlibrary lib = NULL;
    CUkernel kernel = NULL;
    void *image = NULL, *p = NULL;
    OK(M(cudaMalloc, musaMalloc)(&p, 4));
    OK(C(cuLinkCreate_v2)(0, NULL, NULL, &again));
    OK(C(cuLinkAddData_v2)(again, CU_JIT_INPUT_CUBIN, cubin, strlen(cubin), "linked", 0, NULL, NULL));
    OK(C(cuLinkComplete)(again, &image, &size));
    OK(C(cudaLibraryLoadData)(&lib, image, NULL, NULL, 0, NULL, NULL, 0));
    OK(C(cuLinkDestroy)(again));
    OK(C(cudaLibraryGetKernel)(&kernel, lib, "k"));
    dim3 one = {1, 1, 1};
    OK(C(cudaLaunchKernel)(kernel, one, one, (void *[]){&p}, 0, NULL));
    OK(M(cudaMemcpy, musaMemcpy)(&value, p, 4, musaMemcpyDeviceToHost));
    IS(value, 7);
    OK(M(cudaFree, musaFree)(p));
    OK(C(cudaLibraryUnload)(lib));
    free(cubin);
    free(ptx);
    free(info);
}

void snippet_compiler(void)
{
    unsigned major = 0, minor = 0;
    compile(C(nvrtcCreateProgram));
    compile(V(11, nvrtcCreateProgram));
    compile(V(12, nvrtcCreateProgram));
    bad_input(C(nvJitLinkCreate));
    link_ptx(C(nvJitLinkCreate));
    OK(C(nvJitLinkVersion)(&major, &minor));
    IS(major, 13);
    OK(V(12, nvJitLinkVersion)(&major, &minor));
    IS(major, 12);
    IS(C(nvJitLinkVersion)(NULL, NULL), NVJITLINK_ERROR_INVALID_INPUT);
}
