/* Error names and texts of the driver API. */
#include "api/api.h"

#include "abi/text.h"
#include "cuda_texts.h"

static const struct cumu_text errors[] = {CUMU_TEXTS_CUresult};

CUresult wrap_cuGetErrorName(CUresult error, const char **name)
{
    const struct cumu_text *e = CUMU_TEXT_FIND(errors, error);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = e ? e->name : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult wrap_cuGetErrorString(CUresult error, const char **text)
{
    const struct cumu_text *e = CUMU_TEXT_FIND(errors, error);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = e ? e->text : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
