/* cuModule* and cuLibrary*: both are one object in the shim; a module is loaded into the current
 * context at once as far as errors are concerned, and kernel by kernel as far as work is. */
#include "api/api.h"
#include "api/library.h"

/* A module needs a context to be loaded into; a library does not. */
static CUresult need_context(void)
{
    MUcontext ctx = NULL;
    int err = mu.muCtxGetCurrent(&ctx);
    return err ? err : ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult wrap_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, const int *options, void **values)
{
    CUresult err = need_context();
    return err ? err : cumu_library_load(module, image, n, options, values);
}

CUresult wrap_cuModuleLoadData(CUmodule *module, const void *image)
{
    return wrap_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult wrap_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return wrap_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult wrap_cuModuleLoad(CUmodule *module, const char *path)
{
    CUresult err = need_context();
    return err ? err : cumu_library_load_file(module, path, 0, NULL, NULL);
}

CUresult wrap_cuModuleUnload(CUmodule module) { return cumu_library_unload(module); }

CUresult wrap_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    return cumu_library_func(function, module, name);
}

CUresult wrap_cuModuleGetFunctionCount(unsigned *count, CUmodule module) { return cumu_library_count(count, module); }

CUresult wrap_cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module)
{
    return cumu_library_list(functions, n, module);
}

CUresult wrap_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
    uint64_t at = 0;
    int err = cumu_library_global(address ? &at : NULL, size, module, name, false);
    if (!err && address)
        *address = at;
    return err;
}

/* The 32-bit form of the first drivers: an address that does not fit cannot be told. */
CUresult wrap_cuModuleGetGlobal(unsigned *address, unsigned *size, CUmodule module, const char *name)
{
    uint64_t at = 0;
    size_t bytes = 0;
    int err = cumu_library_global(&at, &bytes, module, name, false);
    if (err)
        return err;
    if (at > UINT32_MAX || bytes > UINT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (address)
        *address = (unsigned)at;
    if (size)
        *size = (unsigned)bytes;
    return CUDA_SUCCESS;
}

CUresult wrap_cuModuleGetLoadingMode(int *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = cumu_loading_eager() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

/* ---- libraries ------------------------------------------------------------------------------ */

CUresult wrap_cuLibraryLoadData(CUlibrary *library, const void *code, const int *jit_options, void **jit_values,
                                unsigned jit_count, const int *options, void **values, unsigned count)
{
    (void)options, (void)values, (void)count;
    return cumu_library_load(library, code, jit_count, jit_options, jit_values);
}

CUresult wrap_cuLibraryLoadFromFile(CUlibrary *library, const char *path, const int *jit_options, void **jit_values,
                                    unsigned jit_count, const int *options, void **values, unsigned count)
{
    (void)options, (void)values, (void)count;
    return cumu_library_load_file(library, path, jit_count, jit_options, jit_values);
}

CUresult wrap_cuLibraryUnload(CUlibrary library) { return cumu_library_unload(library); }

CUresult wrap_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    return cumu_library_func(kernel, library, name);
}

CUresult wrap_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    struct cumu_module *m = cumu_as_module(library);
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    *module = m;
    return CUDA_SUCCESS;
}

CUresult wrap_cuLibraryGetKernelCount(unsigned *count, CUlibrary library) { return cumu_library_count(count, library); }

CUresult wrap_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library)
{
    return cumu_library_list(kernels, n, library);
}

CUresult wrap_cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
    return wrap_cuModuleGetGlobal_v2(address, size, library, name);
}

CUresult wrap_cuLibraryGetManaged(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
    uint64_t at = 0;
    int err = cumu_library_global(address ? &at : NULL, size, library, name, true);
    if (!err && address)
        *address = at;
    return err;
}

CUresult wrap_cuLibraryGetUnifiedFunction(void **function, CUlibrary library, const char *name)
{
    (void)name;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    return cumu_as_module(library) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}
