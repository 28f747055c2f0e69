/* What an SDK may have in place of a MUSA function of the map: the same one under its other name, or a function that
 * its per-thread form can be made of. */
#include "gen/map.h"

#include <string.h>

enum { SUFFIX = 5 }; /* of "_ptsz" and "_ptds" */

static const char *suffix_of(const char *name)
{
    size_t n = strlen(name);
    const char *tail = name + (n > SUFFIX ? n - SUFFIX : n);
    return strcmp(tail, "_ptsz") == 0 || strcmp(tail, "_ptds") == 0 ? tail : name + n;
}

static bool same_arguments(const struct signature *x, const struct signature *y, struct arena *a)
{
    return strcmp(c_parameters(a, x, true), c_parameters(a, y, true)) == 0;
}

/* CUDA's own driver has the function under this name too, with the same arguments: MUSA's follows it. */
static bool cuda_has(const struct map *m, struct arena *a, const char *name, const struct signature *mine)
{
    const struct library *cuda = find_library(m, "cuda");
    const char *symbol = arena_print(a, "cu%s", name + strlen("mu"));
    for (unsigned i = 0; cuda && i < cuda->lines.count; i++)
        if (strcmp(cuda->lines.at[i].symbol, symbol) == 0) {
            const struct map_line *l = effective(&cuda->lines.at[i]);
            return l->signature && same_arguments(l->signature, mine, a);
        }
    return false;
}

const char *other_name(const struct map *m, struct arena *a, const struct mu_symbol *s)
{
    const char *v = strstr(s->name, "_v2"), *tail = suffix_of(s->name);
    const struct signature *mine = s->line->signature;
    if (s->exact)
        return NULL;
    const char *other = v ? arena_print(a, "%.*s%s", (int)(v - s->name), s->name, v + 3)
                          : arena_print(a, "%.*s_v2%s", (int)(tail - s->name), s->name, tail);
    int at = find_mu(m, other);
    if (at >= 0)
        return m->mu[at].exact || !same_arguments(m->mu[at].line->signature, mine, a) ? NULL : other;
    bool driver = s->below >= 0 && strcmp(m->below.at[s->below].name, "musa") == 0;
    return v || (driver && cuda_has(m, a, other, mine)) ? other : NULL;
}

/* The name before its suffix with Async in it, as CUDA spells it: muMemcpyHtoDAsync_v2, but muMemsetD8Async. */
static int find_async(const struct map *m, struct arena *a, const char *plain)
{
    const char *v = strstr(plain, "_v2");
    int n = v ? (int)(v - plain) : (int)strlen(plain);
    int at = find_mu(m, arena_print(a, "%.*sAsync%s", n, plain, v ? v : ""));
    return at >= 0 || !v ? at : find_mu(m, arena_print(a, "%.*sAsync", n, plain));
}

enum per_thread per_thread_base(const struct map *m, struct arena *a, const struct mu_symbol *s,
                                const struct mu_symbol **base)
{
    const char *tail = suffix_of(s->name);
    const struct signature *mine = s->line->signature;
    if (!*tail)
        return PER_THREAD_NONE;
    const char *plain = arena_print(a, "%.*s", (int)(tail - s->name), s->name);
    int at = find_mu(m, plain), async = find_async(m, a, plain);
    if (strcmp(tail, "_ptds") == 0 && async >= 0 && m->mu[async].line->signature->count == mine->count + 1) {
        *base = &m->mu[async];
        return PER_THREAD_ASYNC;
    }
    if (at < 0 || !same_arguments(m->mu[at].line->signature, mine, a))
        return PER_THREAD_NONE;
    *base = &m->mu[at];
    return strcmp(tail, "_ptds") == 0 ? PER_THREAD_WAIT : PER_THREAD_PLAIN;
}
