/* Counts by what evidence the MUSA functions behind CUDA calls are known (mapping/musa.evidence). */
#include "cli/evidence.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[CUMU_GUESSED + 1] = {"seen in SDKs", "by name only", "guessed"}; /* by grade */

static int by_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct cumu_mu_symbol *)row)->name);
}

static const struct cumu_mu_symbol *find(const char *function)
{
    const struct cumu_mu_symbol *all = cumu_tool_symbol("cumu_mu_symbols");
    const uint32_t *count = cumu_tool_symbol("cumu_mu_count");
    return all && count ? bsearch(function, all, *count, sizeof *all, by_name) : NULL;
}

const char *cumu_evidence_word(const char *function)
{
    const struct cumu_mu_symbol *m = find(function);
    return m ? words[m->grade] : NULL;
}

void cumu_evidence_add(struct cumu_evidence *e, const struct cumu_symbol *s)
{
    if (s->verb == CUMU_WRAP)
        e->own++;
    if ((s->verb != CUMU_JUMP && s->verb != CUMU_CONV) || !s->target)
        return;
    const struct cumu_mu_symbol *m = find(s->target);
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
    size_t n = 0;
    *to = 0;
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
        if (e->calls[k] && n < size)
            n += (size_t)snprintf(to + n, size - n, "%s%u %s", n ? ", " : "", e->calls[k], words[k]);
    if (e->own && n < size)
        n += (size_t)snprintf(to + n, size - n, "%s%u cumu's own", n ? "; " : "", e->own);
    return n > 0;
}
