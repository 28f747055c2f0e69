/* Kernels of the runtime: attributes per layout, names, parameters, occupancy, extended launches. */
#include "snippet.h"

static void count(void *counter) { ++*(int *)counter; }

void snippet_function(void)
{
    snippet_registered();
    struct {
        cudaFuncAttributes a;
        char guard[32];
    } full;
    struct {
        char raw[56];
        char guard[96];
    } v11;
    memset(&full, 0x5a, sizeof full);
    memset(&v11, 0x5a, sizeof v11);
    OK(C(cudaFuncGetAttributes)(&full.a, &snippet_stub));
    OK(V(11, cudaFuncGetAttributes)((void *)&v11, &snippet_stub));
    EXPECT(full.a.maxThreadsPerBlock == 1024 && full.a.ptxVersion == 70);
    for (int i = 0; i < 96; i++)
        EXPECT(v11.guard[i] == 0x5a);
    for (int i = 0; i < 32; i++)
        EXPECT(full.guard[i] == 0x5a);
    IS(C(cudaFuncGetAttributes)(&full.a, &full), cudaErrorInvalidDeviceFunction);
    (void)C(cudaGetLastError)();
    OK(C(cudaFuncSetAttribute)(&snippet_stub, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    OK(C(cudaFuncSetCacheConfig)(&snippet_stub, 1));
    OK(C(cudaFuncSetSharedMemConfig)(&snippet_stub, 1));

    const char *name = NULL;
    size_t offset = 99, size = 99;
    OK(C(cudaFuncGetName)(&name, &snippet_stub));
    EXPECT(name && strcmp(name, "k") == 0);
    size_t params = 99;
    OK(C(cudaFuncGetParamCount)(&snippet_stub, &params));
    EXPECT(params == 2);
    IS(C(cudaFuncGetParamCount)(&snippet_stub, NULL), cudaErrorInvalidValue);
    (void)C(cudaGetLastError)();
    OK(C(cudaFuncGetParamInfo)(&snippet_stub, 1, &offset, &size));
    EXPECT(offset == 8 && size == 4);
    IS(C(cudaFuncGetParamInfo)(&snippet_stub, 2, &offset, &size), cudaErrorInvalidValue);
    (void)C(cudaGetLastError)();

    CUfunction function = NULL;
    CUkernel kernel = NULL;
    OK(C(cudaGetFuncBySymbol)(&function, &snippet_stub));
    OK(C(cudaGetKernel)(&kernel, &snippet_stub));
    OK(C(cudaKernelSetAttributeForDevice)(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 2048, 0));

    int blocks = 0;
    size_t dynamic = 0;
    OK(C(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, &snippet_stub, 128, 0));
    EXPECT(blocks >= 1);
    OK(C(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(&blocks, &snippet_stub, 128, 0, 0));
    EXPECT(blocks >= 1);
    OK(C(cudaOccupancyAvailableDynamicSMemPerBlock)(&dynamic, &snippet_stub, 1, 128));
    EXPECT(dynamic > 0);

    unsigned *out, host[SNIPPET_THREADS], add = 1;
    OK(M(cudaMalloc, musaMalloc)((void **)&out, sizeof host));
    void *args[] = {&out, &add};
    cudaLaunchConfig_t config = {.gridDim = {1, 1, 1}, .blockDim = {SNIPPET_THREADS, 1, 1}};
    OK(C(cudaLaunchKernelExC)(&config, &snippet_stub, args));
    OK(C(cudaLaunchKernelExC_ptsz)(&config, &snippet_stub, args));
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
    OK(M(cudaMemcpy, musaMemcpy)(host, out, sizeof host, 2));
    for (unsigned i = 0; i < SNIPPET_THREADS; i++)
        EXPECT(host[i] == i * 3 + 1);
    OK(M(cudaFree, musaFree)(out));

    int calls = 0;
    OK(C(cudaLaunchHostFunc_v2)(NULL, (void *)count, &calls, 0));
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
    OK(C(cudaLaunchHostFunc_v2_ptsz)(NULL, (void *)count, &calls, 1));
    OK(M(cudaDeviceSynchronize, musaDeviceSynchronize)());
    EXPECT(calls == 2);
    IS(C(cudaLaunchHostFunc_v2)(NULL, (void *)count, &calls, 2), cudaErrorInvalidValue);
    (void)C(cudaGetLastError)();
}
