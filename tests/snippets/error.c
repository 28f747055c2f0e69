/* Error names, texts and the per-thread last error. */
#include "snippet.h"

void snippet_error(void)
{
    const char *text = NULL;
    EXPECT(strcmp(C(cudaGetErrorName)(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
    EXPECT(strcmp(C(cudaGetErrorString)(cudaErrorMemoryAllocation), "out of memory") == 0);
    EXPECT(strcmp(C(cudaGetErrorName)(cudaErrorTensorMemoryLeak), "cudaErrorTensorMemoryLeak") == 0);
    EXPECT(C(cudaGetErrorName)(12345) != NULL);
    OK(C(cuGetErrorName)(CUDA_ERROR_NOT_FOUND, &text));
    EXPECT(text && strcmp(text, "CUDA_ERROR_NOT_FOUND") == 0);
    OK(C(cuGetErrorString)(CUDA_ERROR_OUT_OF_MEMORY, &text));
    EXPECT(text && strcmp(text, "out of memory") == 0);
    IS(C(cuGetErrorName)(12345, &text), CUDA_ERROR_INVALID_VALUE);

    (void)C(cudaGetLastError)();
    OK(C(cudaPeekAtLastError)());
    IS(M(cudaSetDevice, musaSetDevice)(99), cudaErrorInvalidDevice);
    IS(C(cudaPeekAtLastError)(), cudaErrorInvalidDevice);
    IS(C(cudaGetLastError)(), cudaErrorInvalidDevice);
    OK(C(cudaGetLastError)());
    IS(C(cudaGetSymbolSize)(&(size_t){0}, &text), cudaErrorInvalidSymbol); /* one that fails in the shim */
    IS(C(cudaPeekAtLastError)(), cudaErrorInvalidSymbol);
    IS(C(cudaGetLastError)(), cudaErrorInvalidSymbol);
    OK(C(cudaGetLastError)());
}
