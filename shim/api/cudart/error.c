/* Last error of the thread, error names and texts. */
#include "api/api.h"

#include "abi/text.h"
#include "cuda_texts.h"
#include "core/upper.h"
#include "api/release.h"

/* A query's "not ready" is no failure and is not kept as one. In CUDA each runtime linked into a process
 * has a last error of its own; here they share one, and a library that looks after its launches (CUB) must
 * not find what another one's event query left. */
static cudaError_t kept(int error) { return error == cudaErrorNotReady ? cudaSuccess : error; }

/* Both sides are emptied: one call reports one error, as in CUDA. */
cudaError_t wrap_cudaGetLastError(void)
{
    int ours = cumu_take_error();
    int below = mu.musaGetLastError();
    return kept(ours ? ours : below);
}

cudaError_t wrap_cudaPeekAtLastError(void)
{
    int ours = cumu_peek_error();
    return kept(ours ? ours : mu.musaPeekAtLastError());
}

static const struct cumu_text errors[] = {CUMU_TEXTS_cudaError};

const char *wrap_cudaGetErrorName(cudaError_t error)
{
    const struct cumu_text *e = CUMU_TEXT_FIND(errors, error);
    return e ? e->name : "unrecognized error code";
}

const char *wrap_cudaGetErrorString(cudaError_t error)
{
    const struct cumu_text *e = CUMU_TEXT_FIND(errors, error);
    return e ? e->text : "unrecognized error code";
}

/* ---- the same for kernels --------------------------------------------------------------------- */

static const char *error_text(int error, int name)
{
    return name ? wrap_cudaGetErrorName((cudaError_t)error) : wrap_cudaGetErrorString((cudaError_t)error);
}

static int release(void) { return cumu_driver_version(); }

static const struct cumu_upper errors_upper = {.error_text = error_text, .release = release};
CUMU_UPPER(errors_upper);
