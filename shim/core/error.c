/* The shim's per-thread last error. */
#include "core/core.h"
#include "core/error.h"

static _Thread_local int last;

void cumu_set_error(int code)
{
    if (code)
        last = code;
}

int cumu_cuda_error(int code)
{
    cumu_set_error(code);
    return code;
}

int cumu_peek_error(void) { return last; }

int cumu_take_error(void)
{
    int code = last;
    last = 0;
    return code;
}
