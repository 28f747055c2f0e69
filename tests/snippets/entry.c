/* Entry points by name and version. */
#include "snippet.h"

static void driver(void)
{
    void *p = NULL, *old = NULL;
    int status = -1;
    OK(C(cuGetProcAddress_v2)("cuMemAlloc", &p, 13000, 0, &status));
    EXPECT(p != NULL && status == 0);
    OK(C(cuGetProcAddress_v2)("cuMemAlloc", &old, 2000, 0, &status));
    EXPECT(old != p);
    OK(C(cuGetProcAddress)("cuInit", &p, 11030, 0));
    EXPECT(p != NULL);
    OK(C(cuGetProcAddress_v2)("cuNoSuchCall", &p, 13000, 0, &status)); /* no error since CUDA 12 */
    EXPECT(p == NULL && status == 1);
    p = &p;
    OK(C(cuGetProcAddress_v2)("cuNoSuchCall", &p, 13000, 0, NULL));
    EXPECT(p == NULL);
    p = &p;
    OK(C(cuGetProcAddress_v2)("cuLaunchKernelEx", &p, 2000, 0, &status));
    EXPECT(p == NULL && status == 2); /* known, but newer than asked */
    p = &p;
    OK(C(cuGetProcAddress_v2)("cuFuncSetAttribute", &p, 2000, 0, NULL)); /* numba-cuda-mlir asks dlsym then */
    EXPECT(p == NULL);
    p = &p;
    IS(C(cuGetProcAddress)("cuNoSuchCall", &p, 11030, 0), CUDA_ERROR_NOT_FOUND);
    EXPECT(p == NULL);
    const void *table = "";
    static const char uuid[16] = {1};
    EXPECT(C(cuGetExportTable)(&table, uuid) != 0);
}

void snippet_entry(void)
{
    void *p = NULL;
    int status = -1;
    driver();
    OK(C(cudaGetDriverEntryPoint)("cuInit", &p, 0, &status));
    EXPECT(p && status == 0);
    OK(C(cudaGetDriverEntryPoint_ptsz)("cuStreamSynchronize", &p, 0, &status));
    EXPECT(p && status == 0);
    OK(C(cudaGetDriverEntryPointByVersion)("cuMemFree", &p, 12000, 0, &status));
    EXPECT(p && status == 0);
    OK(C(cudaGetDriverEntryPointByVersion_ptsz)("cuMemFree", &p, 12000, 0, &status));
    EXPECT(p && status == 0);
    OK(V(12, cudaGetDriverEntryPoint)("cuInit", &p, 0, &status));
    EXPECT(p && status == 0);
    OK(V(11, cudaGetDriverEntryPoint)("cuInit", &p, 0));
    EXPECT(p != NULL);
    OK(((__typeof__(wrap_cudaGetDriverEntryPoint_v12_ptsz) *)snippet_versioned(12, "cudaGetDriverEntryPoint_ptsz"))(
        "cuInit", &p, 0, &status));
    OK(((__typeof__(wrap_cudaGetDriverEntryPoint_v11_ptsz) *)snippet_versioned(11, "cudaGetDriverEntryPoint_ptsz"))(
        "cuInit", &p, 0));
    OK(C(cudaGetDriverEntryPoint)("cuNoSuchCall", &p, 0, &status));
    EXPECT(p == NULL && status == 1);
    p = &p;
    OK(C(cudaGetDriverEntryPointByVersion)("cuNoSuchCall", &p, 12000, 0, NULL)); /* no error since CUDA 12 */
    EXPECT(p == NULL);
    p = &p;
    OK(V(12, cudaGetDriverEntryPoint)("cuNoSuchCall", &p, 0, NULL));
    EXPECT(p == NULL);
    IS(V(11, cudaGetDriverEntryPoint)("cuNoSuchCall", &p, 0), cudaErrorSymbolNotFound);
    IS(C(cudaGetLastError)(), cudaErrorSymbolNotFound);
}
