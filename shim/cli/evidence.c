/* Counts by what evidence the MUSA functions behind CUDA calls are known (mapping/musa.evidence). */
#include "cli/evidence.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct cumu_mu_symbol *)row)->name);
}

void cumu_evidence_add(struct cumu_evidence *e, const struct cumu_symbol *s)
{
    const struct cumu_mu_symbol *all = cumu_tool_symbol("cumu_mu_symbols");
    const uint32_t *count = cumu_tool_symbol("cumu_mu_count");
    if (s->verb == CUMU_WRAP)
        e->own++;
    if ((s->verb != CUMU_JUMP && s->verb != CUMU_CONV) || !s->target || !all || !count)
        return;
    const struct cumu_mu_symbol *m = bsearch(s->target, all, *count, sizeof *all, by_name);
    if (m)
        e->calls[m->grade]++;
}

void cumu_evidence_library(struct cumu_evidence *e, unsigned library)
{
    for (const struct cumu_mu_symbol *m = cumu_tool_symbol("cumu_mu_symbols"); m && m->name; m++)
        if (m->library == library)
            e->calls[m->grade]++;
}

bool cumu_evidence_text(const struct cumu_evidence *e, char *to, size_t size)
{
    static const char *const words[] = {"seen in SDKs", "by name only", "guessed"};
    size_t n = 0;
    *to = 0;
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
        if (e->calls[k] && n < size)
            n += (size_t)snprintf(to + n, size - n, "%s%u %s", n ? ", " : "", e->calls[k], words[k]);
    if (e->own && n < size)
        n += (size_t)snprintf(to + n, size - n, "%s%u cumu's own", n ? "; " : "", e->own);
    return n > 0;
}
