/* Modules of the driver: loading in every form, functions, launches, occupancy, the linker. */
#include <stdlib.h>
#include <unistd.h>
#include "snippet.h"

static void launches(CUfunction k)
{
    unsigned long long out = 0;
    unsigned host[SNIPPET_THREADS], add = 2;
    OK(M(cuMemAlloc_v2, muMemAlloc_v2)(&out, sizeof host));
    void *args[] = {&out, &add};
    struct {
        unsigned long long out;
        unsigned add;
    } packed = {out, 2};
    size_t size = 12;
    void *extra[] = {CUMU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CUMU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CUMU_LAUNCH_PARAM_END};
    CUlaunchConfig config = {1, 1, 1, SNIPPET_THREADS, 1, 1, 0, NULL, NULL, 0};
    for (int way = 0; way < 7; way++) {
        OK(M(cuMemsetD8_v2, muMemsetD8_v2)(out, 0, sizeof host));
        OK(M(cuStreamSynchronize, muStreamSynchronize)(NULL));
        switch (way) {
        case 0: OK(C(cuLaunchKernel)(k, 1, 1, 1, SNIPPET_THREADS, 1, 1, 0, NULL, args, NULL)); break;
        case 1: OK(C(cuLaunchKernel_ptsz)(k, 1, 1, 1, SNIPPET_THREADS, 1, 1, 0, NULL, args, NULL)); break;
        case 2: OK(C(cuLaunchKernel)(k, 1, 1, 1, SNIPPET_THREADS, 1, 1, 0, NULL, NULL, extra)); break;
        case 3: OK(C(cuLaunchKernelEx)(&config, k, args, NULL)); break;
        case 4: OK(C(cuLaunchKernelEx_ptsz)(&config, k, args, NULL)); break;
        case 5: OK(C(cuLaunchCooperativeKernel)(k, 1, 1, 1, SNIPPET_THREADS, 1, 1, 0, NULL, args)); break;
        case 6: OK(C(cuLaunchCooperativeKernel_ptsz)(k, 1, 1, 1, SNIPPET_THREADS, 1, 1, 0, NULL, args)); break;
        }
        OK(M(cuCtxSynchronize, muCtxSynchronize)());
        OK(M(cuMemcpyDtoH_v2, muMemcpyDtoH_v2)(host, out, sizeof host));
        for (unsigned i = 0; i < SNIPPET_THREADS; i++)
            EXPECT(host[i] == i * 3 + 2);
    }
    EXPECT(C(cuLaunchKernel)(k, 0, 1, 1, 1, 1, 1, 0, NULL, args, NULL) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(C(cuLaunchKernel)(k, 1, 1, 1, 4096, 1, 1, 0, NULL, args, NULL) == CUDA_ERROR_INVALID_VALUE);
    OK(M(cuMemFree_v2, muMemFree_v2)(out));
}

static void functions(CUmodule m)
{
    CUfunction k = NULL, all[2] = {NULL};
    CUmodule of = NULL;
    unsigned count = 0, small = 0, small_size = 0;
    unsigned long long address = 0;
    size_t size = 0, offset = 0;
    int value = 0, blocks = 0, block = 0, loaded = -1, most = 0;
    const char *name = NULL;
    OK(C(cuModuleGetFunctionCount)(&count, m));
    IS(count, 1);
    OK(C(cuModuleEnumerateFunctions)(all, 2, m));
    OK(C(cuModuleGetFunction)(&k, m, "k"));
    EXPECT(all[0] == k);
    IS(C(cuModuleGetFunction)(&all[1], m, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(C(cuModuleGetGlobal_v2)(&address, &size, m, "table"));
    EXPECT(address && size == 16);
    EXPECT(C(cuModuleGetGlobal)(&small, &small_size, m, "table") != 0); /* 32-bit addresses of CUDA 2 */
    IS(C(cuModuleGetGlobal_v2)(&address, &size, m, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(C(cuFuncGetModule)(&of, k));
    EXPECT(of == m);
    OK(C(cuFuncGetName)(&name, k));
    EXPECT(name && strcmp(name, "k") == 0);
    OK(C(cuFuncGetParamInfo)(k, 1, &offset, &size));
    EXPECT(offset == 8 && size == 4);
    OK(C(cuFuncLoad)(k));
    OK(C(cuFuncIsLoaded)(&loaded, k));
    IS(loaded, 1);
    OK(C(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, k));
    IS(value, 70);
    OK(C(cuDeviceGetAttribute)(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    OK(C(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k));
    OK(C(cuFuncSetAttribute)(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - value));
    IS(C(cuFuncSetAttribute)(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - value + 1),
       CUDA_ERROR_INVALID_VALUE);
    OK(C(cuFuncSetAttribute)(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 256));
    OK(C(cuFuncSetCacheConfig)(k, 0));
    OK(C(cuFuncSetSharedMemConfig)(k, 0));
    OK(C(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, k, 64, 0));
    EXPECT(blocks >= 1);
    OK(C(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(&blocks, k, 64, 0, 0));
    OK(C(cuOccupancyAvailableDynamicSMemPerBlock)(&size, k, 1, 64));
    OK(C(cuOccupancyMaxPotentialBlockSize)(&blocks, &block, k, NULL, 0, 0));
    EXPECT(blocks >= 1 && block >= 32);
    OK(C(cuOccupancyMaxPotentialBlockSizeWithFlags)(&blocks, &block, k, NULL, 0, 0, 0));
    launches(k);
}

static void linker(void)
{
    CUlinkState link = NULL;
    void *image = NULL;
    size_t size = 0;
    CUmodule m = NULL;
    static const char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                 ".extern .func (.param .b32 r) twice (.param .b32 a);\n"
                                 ".visible .entry use(.param .u64 p)\n{\n .reg .b32 %r<3>; .reg .b64 %rd;\n"
                                 " ld.param.u64 %rd, [p];\n mov.u32 %r0, 21;\n {\n .param .b32 a; .param .b32 r;\n"
                                 " st.param.b32 [a], %r0;\n call.uni (r), twice, (a);\n ld.param.b32 %r1, [r];\n }\n"
                                 " st.global.u32 [%rd], %r1;\n ret;\n}\n";
    static const char callee[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".visible .func (.param .b32 r) twice (.param .b32 a)\n{\n .reg .b32 %r<2>;\n"
        " ld.param.b32 %r0, [a];\n add.s32 %r1, %r0, %r0;\n st.param.b32 [r], %r1;\n ret;\n}\n";
    OK(C(cuLinkCreate_v2)(0, NULL, NULL, &link));
    OK(C(cuLinkAddData_v2)(link, 1, (void *)caller, sizeof caller, "caller", 0, NULL, NULL));
    OK(C(cuLinkAddData_v2)(link, 1, (void *)callee, sizeof callee, "callee", 0, NULL, NULL));
    OK(C(cuLinkComplete)(link, &image, &size));
    OK(C(cuModuleLoadData)(&m, image));
    OK(C(cuLinkDestroy)(link));
    CUfunction use = NULL;
    unsigned long long out = 0;
    unsigned got = 0;
    OK(C(cuModuleGetFunction)(&use, m, "use"));
    OK(M(cuMemAlloc_v2, muMemAlloc_v2)(&out, 4));
    void *args[] = {&out};
    OK(C(cuLaunchKernel)(use, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    OK(M(cuMemcpyDtoH_v2, muMemcpyDtoH_v2)(&got, out, 4));
    IS(got, 42);
    OK(M(cuMemFree_v2, muMemFree_v2)(out));
    OK(C(cuModuleUnload)(m));

    /* The older names, and files. */
    char path[] = "/tmp/cumu-snippet-XXXXXX";
    int fd = mkstemp(path);
    EXPECT(fd >= 0 && write(fd, snippet_ptx, strlen(snippet_ptx)) > 0);
    close(fd);
    OK(C(cuLinkCreate)(0, NULL, NULL, &link));
    OK(C(cuLinkAddFile)(link, 1, path, 0, NULL, NULL));
    OK(C(cuLinkDestroy)(link));
    OK(C(cuLinkCreate)(0, NULL, NULL, &link));
    OK(C(cuLinkAddFile_v2)(link, 1, path, 0, NULL, NULL));
    OK(C(cuLinkAddData)(link, 1, (void *)callee, sizeof callee, "callee", 0, NULL, NULL));
    OK(C(cuLinkComplete)(link, &image, &size));
    OK(C(cuLinkDestroy)(link));
    OK(C(cuModuleLoad)(&m, path));
    OK(C(cuModuleUnload)(m));
    unlink(path);
    IS(C(cuModuleLoad)(&m, path), CUDA_ERROR_FILE_NOT_FOUND);
}

void snippet_module(void)
{
    CUmodule m = NULL;
    int mode = -1;
    OK(M(cudaSetDevice, musaSetDevice)(0));
    OK(M(cudaFree, musaFree)(NULL));
    OK(C(cuModuleGetLoadingMode)(&mode));
    EXPECT(mode == 1 || mode == 2);
    OK(C(cuModuleLoadData)(&m, snippet_ptx));
    functions(m);
    OK(C(cuModuleUnload)(m));
    char log[256] = "";
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    IS(C(cuModuleLoadDataEx)(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.nonsense\n", 2, options, values),
       CUDA_ERROR_INVALID_PTX);
    EXPECT(strstr(log, "nonsense") != NULL);
    EXPECT(C(cuModuleLoadFatBinary)(&m, "not a fat binary") != 0);
    linker();
}
