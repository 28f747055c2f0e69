/* The last error of each thread, and the names and texts of errors. */
#include "host/runtime/rt.h"

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

static const struct {
    musaError_t code;
    const char *name, *text;
} errors[] = {
#define ERROR(code, text) { code, #code, text },
#include "host/runtime/errors.def"
#undef ERROR
};

const char *musaGetErrorName(musaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *musaGetErrorString(musaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == error)
            return errors[i].text;
    return "unrecognized error code";
}
