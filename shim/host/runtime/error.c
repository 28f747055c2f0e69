/* The last error of each thread, and the names and texts of errors. */
#include "host/runtime/rt.h"

#include "abi/text.h"
#include "musa_texts.h"

static _Thread_local musaError_t last;

musaError_t rt_end(MUresult r)
{
    if (r)
        last = r;
    return r;
}

/* A context that a kernel has poisoned fails every call until it is reset, so asking clears
 * nothing. */
static bool still_poisoned(void)
{
    MUcontext ctx = NULL;
    int least;
    return !muCtxGetCurrent(&ctx) && ctx && muCtxGetStreamPriorityRange(&least, NULL) == last;
}

static bool sticky(musaError_t e)
{
    return e == musaErrorIllegalAddress || e == musaErrorLaunchTimeout || e == musaErrorAssert ||
           (e >= musaErrorHardwareStackError && e <= musaErrorLaunchFailure);
}

musaError_t musaGetLastError(void)
{
    musaError_t e = last;
    if (!sticky(e) || !still_poisoned())
        last = musaSuccess;
    return e;
}

musaError_t musaPeekAtLastError(void) { return last; }

static const struct cumu_text errors[] = {CUMU_TEXTS_musaError};

const char *musaGetErrorName(musaError_t error)
{
    const struct cumu_text *e = CUMU_TEXT_FIND(errors, error);
    return e ? e->name : "unrecognized error code";
}

const char *musaGetErrorString(musaError_t error)
{
    const struct cumu_text *e = CUMU_TEXT_FIND(errors, error);
    return e ? e->text : "unrecognized error code";
}
