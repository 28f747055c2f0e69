/* Contexts come and go; the shim's modules go with them. Runs last: it resets the device. */
#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

#define CV(name) REACH(__typeof__(conv_##name), name)

/* Libraries work in the context that is current, and leave it so: a program that pushes and pops its own (OpenMM) finds
 * it again. */
static void stays(const struct CUctx_st *own)
{
    void *handle = NULL, *now = NULL, *comm[2] = {NULL};
    CUkernel kernel = NULL;
    int plan = 0, devices = 0;
#define STAYS(call) \
    do { \
        OK(call); \
        OK(M(cuCtxGetCurrent, muCtxGetCurrent)((void *)&now)); \
        check(now == own, "%s leaves the context", #call); \
    } while (0)
    STAYS(CV(cublasCreate_v2)((void *)&handle));
    STAYS(C(cublasDestroy_v2)(handle));
    STAYS(C(cublasXtCreate)(&handle));
    STAYS(C(cublasXtDestroy)(handle));
    STAYS(C(cublasLtCreate)(&handle));
    STAYS(C(cublasLtDestroy)(handle));
    STAYS(C(cufftPlan3d)(&plan, 4, 4, 4, CUFFT_R2C));
    STAYS(C(cufftDestroy)(plan));
    STAYS(CV(curandCreateGenerator)((void *)&handle, CURAND_RNG_PSEUDO_DEFAULT));
    STAYS(CV(curandDestroyGenerator)(handle));
    STAYS(CV(cusparseCreate)((void *)&handle));
    STAYS(CV(cusparseDestroy)(handle));
    STAYS(C(cusolverDnCreate)(&handle));
    STAYS(C(cusolverDnDestroy)(handle));
    STAYS(C(cusolverSpCreate)(&handle));
    STAYS(C(cusolverSpDestroy)(handle));
    STAYS(C(cusolverMgCreate)(&handle));
    STAYS(C(cusolverMgDestroy)(handle));
    STAYS(C(cudnnCreate)(&handle));
    STAYS(C(cudnnDestroy)(handle));
    STAYS(C(nvjpegCreateSimple)(&handle));
    STAYS(C(nvjpegDestroy)(handle));
    STAYS(C(cudaInitDevice)(0, 0, 0));
    OK(M(cudaGetDeviceCount, musaGetDeviceCount)(&devices));
    if (devices < 2)
        return;
    /* Calls that work on another device come back. */
    STAYS(C(cudaInitDevice)(1, 0, 0));
    IS(C(cudaInitDevice)(devices, 0, 0), cudaErrorInvalidDevice);
    OK(C(cudaGetKernel)(&kernel, &snippet_stub));
    STAYS(C(cudaKernelSetAttributeForDevice)(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 2048, 1));
    STAYS(C(cublasXtCreate)(&handle));
    STAYS(C(cublasXtDeviceSelect)(handle, 1, (int[]){1}));
    STAYS(C(cublasXtDestroy)(handle));
    STAYS(C(cusolverMgCreate)(&handle));
    STAYS(C(cusolverMgDeviceSelect)(handle, 1, (int[]){1}));
    STAYS(C(cusolverMgDestroy)(handle));
    STAYS(C(ncclCommInitAll)(comm, 2, NULL));
    STAYS(C(ncclCommDestroy)(comm[0]));
    STAYS(C(ncclCommDestroy)(comm[1]));
}

void snippet_context(void)
{
    struct CUctx_st *c = NULL, *before = NULL;
    int device = -1;
    snippet_registered();
    OK(M(cuCtxGetCurrent, muCtxGetCurrent)((void *)&before));
    OK(C(cuCtxCreate_v4)(&c, NULL, 0, 0));
    OK(C(cuCtxGetDevice_v2)(&device, c));
    IS(device, 0);
    OK(C(cuCtxSynchronize_v2)(c));
    CUmodule m = NULL;
    OK(C(cuModuleLoadData)(&m, snippet_ptx));
    OK(C(cuCtxDestroy_v2)(c));
    OK(C(cuCtxCreate_v3)(&c, NULL, 0, 0, 0));
    stays(c);
    OK(C(cuCtxDestroy_v2)(c));
    OK(M(cuCtxSetCurrent, muCtxSetCurrent)((void *)before));

    OK(C(cudaDeviceReset)());
    OK(M(cudaFree, musaFree)(NULL)); /* the primary context is back, and with it the program's kernels */
    unsigned v = 0;
    OK(C(cudaMemcpyFromSymbol)(&v, &snippet_table, 4, 0, 2));
    IS(v, 1);
    OK(C(cuDevicePrimaryCtxReset_v2)(0));
    OK(M(cudaFree, musaFree)(NULL));
    OK(M(cuDevicePrimaryCtxRetain, muDevicePrimaryCtxRetain)((void *)&c, 0));
    OK(C(cuDevicePrimaryCtxRelease_v2)(0));
}
