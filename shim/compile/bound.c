/* The register limit that ptxas takes from its command line and a driver from CU_JIT_MAX_REGISTERS: written into the
 * PTX, so that linked and carried texts keep it. It bounds what attributes and occupancy tell. */
#include "compile/bound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_free(const struct ptx_func *f)
{
    return f->is_entry && !f->is_decl && !f->maxnreg && !f->maxntid[0] && !f->reqntid[0];
}

static int by_place(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

/* Where a limit is missing, in the order of the text. */
static const char **find_places(const struct ptx_module *m, uint32_t *n)
{
    const char **place = calloc(m->nfunc + 1, sizeof *place);
    *n = 0;
    for (uint32_t i = 0; place && i < m->nfunc; i++)
        if (is_free(&m->func[i]))
            place[(*n)++] = m->func[i].body - 1; /* its brace */
    if (place)
        qsort(place, *n, sizeof *place, by_place);
    return place;
}

/* m's text with the limit, of *len bytes, malloc'ed. */
static char *write_limits(const struct ptx_module *m, uint32_t registers, size_t *len)
{
    char limit[32];
    uint32_t n;
    const size_t each = (size_t)snprintf(limit, sizeof limit, ".maxnreg %u ", registers);
    const char **place = find_places(m, &n), *from = m->text;
    char *text = place ? malloc(strlen(m->text) + n * each + 1) : NULL, *at = text;
    for (uint32_t i = 0; text && i < n; from = place[i++]) {
        at = mempcpy(at, from, (size_t)(place[i] - from));
        at = mempcpy(at, limit, each);
    }
    if (text)
        *len = (size_t)(stpcpy(at, from) - text);
    free(place);
    return text;
}

struct ptx_module *cumu_ptx_open(const char *text, size_t len, uint32_t registers, struct ptx_diag *diag)
{
    struct ptx_module *m = ptx_module_open(text, len, diag);
    if (!m || !registers)
        return m;
    char *limited = write_limits(m, registers, &len);
    ptx_module_close(m);
    if (!limited && diag)
        diag->nomem = true;
    m = limited ? ptx_module_open(limited, len, diag) : NULL;
    free(limited);
    return m;
}
