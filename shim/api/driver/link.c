/* cuLink*: PTX and fat binaries are linked; machine code and archives are not something to translate. */
#include "api/api.h"
#include "api/jit.h"

CUresult wrap_cuLinkCreate_v2(unsigned n, const int *options, void **values, CUlinkState *out)
{
    struct cumu_jit_request log;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    int err = cumu_jit_options(&log, n, options, values);
    return err ? err : cumu_link_new(&log, out);
}

static CUresult input_type(int type)
{
    /* What the input really is decides: a cubin that came from a run-time compiler's facade is PTX. */
    return type < 0 || type > CU_JIT_INPUT_NVVM ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult wrap_cuLinkAddData_v2(CUlinkState state, int type, const void *data, size_t size, const char *name, unsigned n,
                               const int *options, void **values)
{
    (void)name, (void)n, (void)options, (void)values;
    struct cumu_link *l = cumu_as_link(state);
    if (!l)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!data || size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    int err = input_type(type);
    return err ? err : cumu_link_add(l, data, size);
}

CUresult wrap_cuLinkAddFile_v2(CUlinkState state, int type, const char *path, unsigned n, const int *options,
                               void **values)
{
    (void)n, (void)options, (void)values;
    struct cumu_link *l = cumu_as_link(state);
    if (!l)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    int err = input_type(type);
    return err ? err : cumu_link_add_file(l, path);
}

CUresult wrap_cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
    struct cumu_link *l = cumu_as_link(state);
    char *text;
    size_t len;
    if (!l)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!image)
        return CUDA_ERROR_INVALID_VALUE;
    int err = cumu_link_complete(l, &text, &len);
    if (err)
        return err;
    *image = text;
    if (size)
        *size = len;
    return CUDA_SUCCESS;
}

CUresult wrap_cuLinkDestroy(CUlinkState state)
{
    struct cumu_link *l = cumu_as_link(state);
    if (!l)
        return CUDA_ERROR_INVALID_HANDLE;
    cumu_link_free(l);
    return CUDA_SUCCESS;
}

/* The first forms differ in 32-bit builds only. */
CUresult wrap_cuLinkCreate(unsigned n, const int *options, void **values, CUlinkState *out)
{
    return wrap_cuLinkCreate_v2(n, options, values, out);
}

CUresult wrap_cuLinkAddData(CUlinkState state, int type, const void *data, size_t size, const char *name, unsigned n,
                            const int *options, void **values)
{
    return wrap_cuLinkAddData_v2(state, type, data, size, name, n, options, values);
}

CUresult wrap_cuLinkAddFile(CUlinkState state, int type, const char *path, unsigned n, const int *options,
                            void **values)
{
    return wrap_cuLinkAddFile_v2(state, type, path, n, options, values);
}
