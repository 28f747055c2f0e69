/* Contexts come and go; the shim's modules go with them. Runs last: it resets the device. */
#include "snippet.h"

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
