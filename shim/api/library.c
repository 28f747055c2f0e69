/* Modules and libraries: argument checks around shim/kernel, shared by driver and runtime. */
#include "api/library.h"

#include "api/jit.h"
#include "fatbin/fatbin.h"

int cumu_library_load(struct cumu_module **out, const void *code, unsigned n, const int *options, void **values)
{
    struct cumu_jit_request log;
    if (!out || !code)
        return CUDA_ERROR_INVALID_VALUE;
    int err = cumu_jit_options(&log, n, options, values);
    if (err)
        return err;
    err = cumu_module_load(code, FATBIN_UNBOUNDED, &log, out);
    cumu_jit_done(&log, n, options, values);
    return err;
}

int cumu_library_load_file(struct cumu_module **out, const char *path, unsigned n, const int *options, void **values)
{
    struct cumu_jit_request log;
    if (!out || !path)
        return CUDA_ERROR_INVALID_VALUE;
    int err = cumu_jit_options(&log, n, options, values);
    if (err)
        return err;
    err = cumu_module_load_file(path, &log, out);
    cumu_jit_done(&log, n, options, values);
    return err;
}

int cumu_library_unload(struct cumu_module *m)
{
    m = cumu_as_module(m);
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    cumu_module_unload(m);
    return CUDA_SUCCESS;
}

int cumu_library_func(struct cumu_func **out, struct cumu_module *m, const char *name)
{
    if (!out || !name)
        return CUDA_ERROR_INVALID_VALUE;
    m = cumu_as_module(m);
    return m ? cumu_module_find(m, name, out) : CUDA_ERROR_INVALID_HANDLE;
}

int cumu_library_count(unsigned *count, struct cumu_module *m)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    m = cumu_as_module(m);
    return m ? cumu_module_func_count(m, count) : CUDA_ERROR_INVALID_HANDLE;
}

int cumu_library_list(struct cumu_func **out, unsigned n, struct cumu_module *m)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    m = cumu_as_module(m);
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < n; i++) {
        int err = cumu_module_func_at(m, i, &out[i]);
        if (err)
            return err == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : err;
    }
    return CUDA_SUCCESS;
}

int cumu_library_global(uint64_t *address, size_t *size, struct cumu_module *m, const char *name, bool managed_only)
{
    uint64_t at;
    size_t bytes;
    bool managed;
    if (!name || (!address && !size))
        return CUDA_ERROR_INVALID_VALUE;
    m = cumu_as_module(m);
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    int err = cumu_module_global(m, name, &at, &bytes, &managed);
    if (err)
        return err;
    if (managed_only && !managed)
        return CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = at;
    if (size)
        *size = bytes;
    return CUDA_SUCCESS;
}
