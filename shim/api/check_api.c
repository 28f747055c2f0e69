/* CUMU_CHECK=memory: calls of the runtime and the driver that return an error (CUMU_CHECK_API). The CPU back end writes
 * the report, as it has the stacks and the file. */
#include "api/api.h"
#include "abi/report.h"
#include "api/check.h"
#include "core/config.h"
#include "core/resolve.h"
#include "core/trace.h"
#include "wraps.h"

#include <string.h>

static bool begins(const char *symbol, const char *name) { return !strncmp(symbol, name, strlen(name)); }

/* Calls whose result says how something else went. */
static bool tells(const char *symbol) { return begins(symbol, "cudaGetLastError") || begins(symbol, "cudaPeekAtLast"); }

/* Answers that programs ask for to do without: work that has not ended, functions that this release lacks. */
static bool is_answer(const char *symbol, int result)
{
    return result == cudaErrorNotReady || begins(symbol, "cuGetProcAddress") || begins(symbol, "cuGetExportTable") ||
           begins(symbol, "cudaGetDriverEntryPoint") || begins(symbol, "cudaGetExportTable");
}

/* No function of that name: who asks goes without, as --ignore-getprocaddress-notfound has it by default. */
static bool is_not_there(const char *symbol, int result)
{
    return result == cudaErrorSymbolNotFound && begins(symbol, "cuGetProcAddress");
}

bool cumu_check_api_wants(const char *library, const char *symbol)
{
    const bool ours = !strcmp(library, "cudart") || !strcmp(library, "cuda");
    return ours && cumu_opt_has(CUMU_OPT_CHECK, "memory") && strcmp(cumu_opt_text(CUMU_OPT_CHECK_API), "no") != 0 &&
           !tells(symbol);
}

void cumu_check_api_call(const struct cumu_prototype *c, const struct cumu_frame *f)
{
    static _Atomic(cumu_host_report_call_t *) report;
    const struct cumu_symbol *symbol = &f->facade->table->symbols[f->index];
    const int result = c->status ? (int)f->result[0] : 0;
    if (!result || is_not_there(symbol->name, result) ||
        (is_answer(symbol->name, result) && strcmp(cumu_opt_text(CUMU_OPT_CHECK_API), "all") != 0))
        return;
    cumu_host_report_call_t *say = report;
    if (!say) {
        *(void **)&say = cumu_below("musa", CUMU_HOST_REPORT_CALL);
        report = say;
    }
    const char *name = NULL, *text = NULL;
    if (!strcmp(f->facade->table->library, "cuda")) { /* a code that has no name keeps NULL */
        (void)wrap_cuGetErrorName(result, &name);
        (void)wrap_cuGetErrorString(result, &text);
    } else {
        name = wrap_cudaGetErrorName(result);
        text = wrap_cudaGetErrorString(result);
    }
    if (say) /* __cudaLaunchKernel and its like stand in a program for their names without the __ */
        say(symbol->name + 2 * !strncmp(symbol->name, "__cuda", 6), name ? name : "an error", result,
            text ? text : "unknown error");
}
