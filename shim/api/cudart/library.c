/* cudaLibrary*: code loaded at run time by the runtime API. Numbers of CUresult and cudaError_t agree. */
#include "api/api.h"
#include "api/library.h"

cudaError_t wrap_cudaLibraryLoadData(cudaLibrary_t *library, const void *code, const int *jit_options,
                                     void **jit_values, unsigned jit_count, const int *options, void **values,
                                     unsigned count)
{
    (void)options, (void)values, (void)count;
    return CUMU_RT(cumu_library_load(library, code, jit_count, jit_options, jit_values));
}

cudaError_t wrap_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, const int *jit_options,
                                         void **jit_values, unsigned jit_count, const int *options, void **values,
                                         unsigned count)
{
    (void)options, (void)values, (void)count;
    return CUMU_RT(cumu_library_load_file(library, path, jit_count, jit_options, jit_values));
}

cudaError_t wrap_cudaLibraryUnload(cudaLibrary_t library) { return CUMU_RT(cumu_library_unload(library)); }

cudaError_t wrap_cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    return CUMU_RT(cumu_library_func(kernel, library, name));
}

cudaError_t wrap_cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library)
{
    return CUMU_RT(cumu_library_count(count, library));
}

cudaError_t wrap_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned n, cudaLibrary_t library)
{
    return CUMU_RT(cumu_library_list(kernels, n, library));
}

static cudaError_t global(void **address, size_t *size, cudaLibrary_t library, const char *name, bool managed)
{
    uint64_t at = 0;
    int err = cumu_library_global(&at, size, library, name, managed);
    if (!err && address)
        *address = (void *)(uintptr_t)at;
    return CUMU_RT(err);
}

cudaError_t wrap_cudaLibraryGetGlobal(void **address, size_t *size, cudaLibrary_t library, const char *name)
{
    return global(address, size, library, name, false);
}

cudaError_t wrap_cudaLibraryGetManaged(void **address, size_t *size, cudaLibrary_t library, const char *name)
{
    return global(address, size, library, name, true);
}

/* Functions callable from host and device alike exist on hardware that shares code addresses. */
cudaError_t wrap_cudaLibraryGetUnifiedFunction(void **function, cudaLibrary_t library, const char *name)
{
    (void)library, (void)name;
    return function ? CUMU_RT(cudaErrorSymbolNotFound) : CUMU_BAD_ARG;
}
