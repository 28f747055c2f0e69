/* Last error of the thread, error names and texts. */
#include "api/api.h"
#include "api/errors.h"

/* Both sides are emptied: one call reports one error, as in CUDA. */
cudaError_t wrap_cudaGetLastError(void)
{
    int ours = cumu_take_error();
    int below = mu.musaGetLastError();
    return ours ? ours : below;
}

cudaError_t wrap_cudaPeekAtLastError(void)
{
    int ours = cumu_peek_error();
    return ours ? ours : mu.musaPeekAtLastError();
}

const char *wrap_cudaGetErrorName(cudaError_t error)
{
    const struct cumu_error_text *e = cumu_error_find(error);
    return e && e->runtime ? e->runtime : "unrecognized error code";
}

const char *wrap_cudaGetErrorString(cudaError_t error)
{
    const struct cumu_error_text *e = cumu_error_find(error);
    return e && e->runtime ? e->text : "unrecognized error code";
}
