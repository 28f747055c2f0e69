/* Results as text, the last error of a thread, and what the library says of itself. */
#include "api/nccl/nccl.h"

#include <stdio.h>

static _Thread_local char last[NCCL_TEXT];

int cumu_nccl_failed(const char *call, int result, const char *format, ...)
{
    va_list a;
    int n = snprintf(last, sizeof last, "%s: ", call);
    va_start(a, format);
    (void)vsnprintf(last + n, sizeof last - (size_t)n, format, a);
    va_end(a);
    cumu_nccl_group_fail(result);
    cumu_warn("nccl", call, "%s: %s", wrap_ncclGetErrorString(result), last + n);
    return result;
}

const char *cumu_nccl_text(void) { return last; }

void cumu_nccl_retell(const char *text) { (void)snprintf(last, sizeof last, "%s", text); }

const char *wrap_ncclGetLastError(void *comm)
{
    struct nccl_comm *c = cumu_nccl_comm(comm);
    return !last[0] && c && c->state == NCCL_FAILED ? c->text : last;
}

const char *wrap_ncclGetErrorString(int result)
{
    static const char *const texts[] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "unhandled cuda error (run with CUMU_LOG=warn for details)",
        [ncclSystemError] = "unhandled system error (run with CUMU_LOG=warn for details)",
        [ncclInternalError] = "internal error (run with CUMU_LOG=warn for details)",
        [ncclInvalidArgument] = "invalid argument (run with CUMU_LOG=warn for details)",
        [ncclInvalidUsage] = "invalid usage (run with CUMU_LOG=warn for details)",
        [ncclRemoteError] = "remote process exited or there was a network error",
        [ncclInProgress] = "NCCL operation in progress",
    };
    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}

int wrap_ncclGetVersion(int *version)
{
    if (!version)
        return cumu_nccl_failed("ncclGetVersion", ncclInvalidArgument, "version is NULL");
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
