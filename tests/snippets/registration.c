/* What nvcc's host code does at start: a fat binary, its kernels and variables, then launches by host
 * address with the call configuration on its stack. The container is made here, from PTX text. */
#include <pthread.h>
#include <stdlib.h>
#include "snippet.h"

const char snippet_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .const .align 4 .u32 factor[1] = {3};\n"
                           ".visible .global .align 4 .u32 table[4] = {1, 2, 3, 4};\n"
                           ".visible .global .attribute(.managed) .align 4 .u32 shared_value = 7;\n"
                           ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n{\n"
                           "  .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
                           "  ld.param.u64 %rd0, [k_param_0];\n  ld.param.u32 %r0, [k_param_1];\n"
                           "  mov.u32 %r1, %tid.x;\n  ld.const.u32 %r2, [factor];\n"
                           "  mad.lo.s32 %r3, %r1, %r2, %r0;\n  mul.wide.u32 %rd1, %r1, 4;\n"
                           "  add.u64 %rd2, %rd0, %rd1;\n  st.global.u32 [%rd2], %r3;\n  ret;\n}\n";

char snippet_stub, snippet_factor, snippet_table;
static char stub2, managed_unused;
static unsigned *managed; /* what nvcc's code reads as the managed variable */

/* Wrapper -> container -> one raw PTX entry (mapping/facts/cuda.md F1). */
static struct {
    unsigned magic, version;
    void *data, *prelinked;
} wrapper = {0x466243b1, 1, NULL, NULL};
static void **handle;

void *snippet_container(const char *ptx, size_t text)
{
    size_t padded = (text + 7) & ~(size_t)7;
    unsigned char *c = calloc(1, 16 + 64 + padded);
    unsigned char *e = c + 16;
    memcpy(c, &(unsigned){0xba55ed50}, 4);
    memcpy(c + 4, &(unsigned short){1}, 2);
    memcpy(c + 6, &(unsigned short){16}, 2);
    memcpy(c + 8, &(size_t){64 + padded}, 8);
    memcpy(e, &(unsigned short){1}, 2); /* PTX */
    memcpy(e + 2, &(unsigned short){0x101}, 2);
    memcpy(e + 4, &(unsigned){64}, 4); /* header size */
    memcpy(e + 8, &padded, 8);
    memcpy(e + 0x1a, &(unsigned short){7}, 2); /* ISA 7.0 */
    memcpy(e + 0x1c, &(unsigned){70}, 4);
    memcpy(e + 0x28, &(size_t){0x11}, 8); /* 64-bit, Linux */
    memcpy(e + 64, ptx, text);
    return c;
}

static void register_program(void)
{
    wrapper.data = snippet_container(snippet_ptx, sizeof snippet_ptx);
    handle = C(__cudaRegisterFatBinary)(&wrapper);
    EXPECT(handle != NULL);
    C(__cudaRegisterFunction)(handle, &snippet_stub, (char *)"k", "k", -1, NULL, NULL, NULL, NULL, NULL);
    C(__cudaRegisterFunction)(handle, &stub2, (char *)"absent", "absent", -1, NULL, NULL, NULL, NULL, NULL);
    C(__cudaRegisterVar)(handle, &snippet_factor, (char *)"factor", "factor", 0, 4, 1, 0);
    C(__cudaRegisterVar)(handle, &snippet_table, (char *)"table", "table", 0, 16, 0, 0);
    C(__cudaRegisterManagedVar)(handle, (void **)&managed, (char *)"shared_value", "shared_value", 0, 4, 0, 0);
    C(__cudaRegisterFatBinaryEnd)(handle);
}

void snippet_registered(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_program);
}

static void launch(__typeof__(wrap_cudaLaunchKernel) *how, const void *kernel)
{
    static const dim3 one = {1, 1, 1}, threads = {SNIPPET_THREADS, 1, 1};
    unsigned *out, host[SNIPPET_THREADS], add = 5;
    OK(M(cudaMalloc, musaMalloc)((void **)&out, sizeof host));
    void *args[] = {&out, &add};
    OK(how(kernel, one, threads, args, 0, NULL));
    OK(M(cudaMemcpy, musaMemcpy)(host, out, sizeof host, 2));
    for (unsigned i = 0; i < SNIPPET_THREADS; i++)
        EXPECT(host[i] == i * 3 + 5);
    OK(M(cudaFree, musaFree)(out));
}

void snippet_registration(void)
{
    snippet_registered();
    EXPECT(C(__cudaInitModule)(handle) != 0 || managed != NULL);
    EXPECT(managed && *managed == 7);

    CUkernel kernel = NULL;
    OK(C(__cudaGetKernel)(&kernel, &snippet_stub));
    launch(C(__cudaLaunchKernel), kernel);
    launch(C(__cudaLaunchKernel_ptsz), kernel);
    launch(C(cudaLaunchKernel), &snippet_stub);
    launch(C(cudaLaunchKernel_ptsz), &snippet_stub);
    launch(C(cudaLaunchKernel), kernel); /* a handle will do as well */
    launch(C(cudaLaunchCooperativeKernel), kernel);
    launch(C(cudaLaunchCooperativeKernel_ptsz), kernel);

    /* A registered name that the PTX lacks. */
    IS(C(cudaLaunchKernel)(&stub2, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
    (void)C(cudaGetLastError)();

    /* The configuration is a stack: launches nest in argument expressions. */
    dim3 g, b;
    size_t shared;
    void *stream;
    IS(C(__cudaPushCallConfiguration)((dim3){1, 2, 3}, (dim3){4, 5, 6}, 7, NULL), 0);
    IS(C(__cudaPushCallConfiguration)((dim3){9, 1, 1}, (dim3){8, 1, 1}, 0, (struct CUstream_st *)2), 0);
    OK(C(__cudaPopCallConfiguration)(&g, &b, &shared, &stream));
    EXPECT(g.x == 9 && b.x == 8 && shared == 0 && stream == (void *)2);
    OK(C(__cudaPopCallConfiguration)(&g, &b, &shared, &stream));
    EXPECT(g.x == 1 && g.y == 2 && g.z == 3 && b.x == 4 && b.z == 6 && shared == 7 && stream == NULL);
    EXPECT(C(__cudaPopCallConfiguration)(&g, &b, &shared, &stream) != 0);
    (void)C(cudaGetLastError)();

    /* Less common members of the family, on a module of their own that goes away again. */
    void **h = C(__cudaRegisterFatBinary)(&wrapper);
    C(__cudaRegisterHostVar)(h, "host", &managed_unused, 1);
    (void)C(__cudaRegisterUnifiedTable)(h, NULL);
    ((__typeof__(wrap___cudaRegisterTexture) *)snippet_versioned(11, "__cudaRegisterTexture"))(h, NULL, NULL, "t", 1, 0,
                                                                                               0);
    ((__typeof__(wrap___cudaRegisterSurface) *)snippet_versioned(11, "__cudaRegisterSurface"))(h, NULL, NULL, "s", 1,
                                                                                               0);
    C(__cudaRegisterFatBinaryEnd)(h);
    C(__cudaUnregisterFatBinary)(h);
}
