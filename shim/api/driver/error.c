/* Error names and texts of the driver API. */
#include "api/api.h"
#include "api/errors.h"

CUresult wrap_cuGetErrorName(CUresult error, const char **name)
{
    const struct cumu_error_text *e = cumu_error_find(error);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = e ? e->driver : NULL;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult wrap_cuGetErrorString(CUresult error, const char **text)
{
    const struct cumu_error_text *e = cumu_error_find(error);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = e && e->driver ? e->text : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
