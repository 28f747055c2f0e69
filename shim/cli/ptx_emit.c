/* cumu ptx --emit musa: kernels of a PTX text as the MUSA C++ that mcc would be given. */
#include "cli/ptx_emit.h"

#include "cli/cli.h"
#include "ptx/musa/musa.h"
#include "ptx/tier0/tier0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* What stands in the way of one kernel goes where the summary, or else the user, sees it. */
static int refuse(const struct ptx_func *f, const struct ptx_diag *d, bool summary, const char *step)
{
    if (summary)
        printf("%s\t%s\t%u\t%s\t%s\n", f->name, step, d->line, d->what, d->msg);
    else
        (void)cumu_fail(2, "%s: line %u: %s: %s", f->name, d->line, d->what, d->msg);
    return 2;
}

static int emit(const struct ptx_module *m, const struct ptx_func *f, bool summary)
{
    struct ptx_diag diag = {0};
    struct mu_info info;
    void *image;
    char *text;
    size_t size;
    double from = milliseconds();
    if (lir_lower_kernel(m, f->name, &image, &size, &diag))
        return refuse(f, &diag, summary, "unknown");
    int result = mu_emit(m, f->name, image, MU_MUSA, &text, &size, &info, &diag);
    free(image);
    if (result)
        return refuse(f, &diag, summary, "refused");
    if (summary)
        printf("%s\tok\t%zu\t%.3f\t%s\t%u\n", f->name, size, milliseconds() - from, info.symbol, info.gotos);
    else
        (void)fwrite(text, 1, size, stdout);
    free(text);
    return 0;
}

int cumu_ptx_emit(const char *text, size_t len, const char *kernel, bool summary)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(text, len, &diag);
    int worst = 0;
    bool found = false;
    if (!m)
        return cumu_fail(2, "line %u: %s: %s", diag.line, diag.what, diag.msg);
    for (uint32_t k = 0; k < m->nfunc; k++) {
        const struct ptx_func *f = &m->func[k];
        if (!f->is_entry || f->is_decl || (kernel && strcmp(kernel, f->name) != 0))
            continue;
        int result = emit(m, f, summary);
        found = true;
        worst = result > worst ? result : worst;
    }
    ptx_module_close(m);
    return found ? worst : cumu_fail(2, kernel ? "no kernel %s" : "no kernels", kernel);
}
