/* Several kernels by one run of the MUSA compiler: which of them go together, and what happens where that fails. */
#include "compile/mubin.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "compile/mcc.h"

enum {
    MAX_OWN = 96 << 10, /* bytes of a kernel's own text beyond which it gains nothing */
    MAX_TEXT = 256 << 10,
    /* Bytes of static shared memory of all kernels of a run. It is not known that mcc gives each kernel only what that
     * kernel names: what all name must not keep one from its device. */
    MAX_SHARED = 4 << 10,
    MAX_REFUSED = 3
};

/* Runs that failed though each of their kernels compiled, one behind the other: a toolkit that cannot do it. */
static atomic_uint refused;

struct group {
    struct cumu_compiled *o;
    enum cumu_made *made;
    const struct cumu_musa_source *s;
    unsigned arch;
    enum cumu_want want;
};

static struct mu_part part_of(const struct cumu_musa_source *s)
{
    return (struct mu_part){.text = s->text, .info = s->info, .size = s->size};
}

static size_t own_size(const struct cumu_musa_source *s) { return s->size - s->info->prelude; }

static bool may_join(const struct cumu_musa_source *s)
{
    return s->info && !s->native && own_size(s) <= MAX_OWN && s->info->shared <= MAX_SHARED &&
           !cumu_mcc_listed(s->kernel);
}

/* The first of the kernels left and others that go with it, in `index`; their number. */
static unsigned choose(const struct group *g, const unsigned *left, unsigned nleft, unsigned most, unsigned *index)
{
    const struct cumu_musa_source *first = &g->s[left[0]];
    index[0] = left[0];
    if (!may_join(first))
        return 1;
    size_t size = own_size(first), shared = first->info->shared;
    unsigned n = 1;
    for (unsigned k = 1; k < nleft && n < most; k++) {
        const struct cumu_musa_source *s = &g->s[left[k]];
        bool fits = may_join(s) && size + own_size(s) <= MAX_TEXT && shared + s->info->shared <= MAX_SHARED;
        for (unsigned j = 0; fits && j < n; j++) {
            const struct mu_part a = part_of(&g->s[index[j]]), b = part_of(s);
            fits = mu_joinable(&a, &b);
        }
        if (!fits)
            continue;
        size += own_size(s);
        shared += s->info->shared;
        index[n++] = left[k];
    }
    return n;
}

static void make_alone(const struct group *g, unsigned k)
{
    g->made[k] = cumu_mubin_make(&g->o[k], &g->s[k], g->arch, g->want);
}

/* One run; each kernel has a copy of the object. */
static bool make_together(const struct group *g, const unsigned *index, unsigned n, bool *timed_out)
{
    struct mu_part part[CUMU_MUBIN_JOINED] = {{NULL, NULL, 0}};
    const struct cumu_musa_source *s[CUMU_MUBIN_JOINED];
    struct cumu_compiled all = {.data = NULL};
    size_t size;
    for (unsigned k = 0; k < n; k++) {
        s[k] = &g->s[index[k]];
        part[k] = part_of(s[k]);
    }
    char *text = mu_join(part, n, &size);
    bool good = text && cumu_mubin_make_joined(&all, s, n, text, size, g->arch, g->want);
    free(text);
    *timed_out = all.timed_out;
    for (unsigned k = 0; good && k < n; k++) {
        struct cumu_compiled *o = &g->o[index[k]];
        *o = (struct cumu_compiled){.data = malloc(all.size + 1), .size = all.size, .ms = all.ms / n};
        g->made[index[k]] = CUMU_MADE_COMPILED;
        if (o->data)
            memcpy(o->data, all.data, all.size);
        else
            make_alone(g, index[k]);
    }
    free(all.data);
    return good;
}

/* Halves of what failed are tried, down to single kernels, which have the ladder; of what did not end no run but
 * theirs. False: some kernel did not compile by itself either. */
static bool make_group(const struct group *g, const unsigned *index, unsigned n)
{
    bool timed_out = false, good = true;
    if (n > 1 && atomic_load(&refused) < MAX_REFUSED && make_together(g, index, n, &timed_out)) {
        atomic_store(&refused, 0);
        return true;
    }
    if (n > 2 && !timed_out && atomic_load(&refused) < MAX_REFUSED) {
        good = make_group(g, index, n / 2);
        return make_group(g, index + n / 2, n - n / 2) && good;
    }
    for (unsigned k = 0; k < n; k++) {
        make_alone(g, index[k]);
        good &= g->made[index[k]] != CUMU_MADE_FAILED && !*g->o[index[k]].why;
    }
    if (n > 1 && good)
        (void)atomic_fetch_add(&refused, 1);
    return good;
}

/* Those that the cache lacks, in runs of CUMU_MUBIN_JOINED at most. */
void cumu_mubin_make_many(struct cumu_compiled *o, enum cumu_made *made, const struct cumu_musa_source *s, unsigned n,
                          unsigned arch, enum cumu_want want)
{
    const struct group g = {o, made, s, arch, want};
    unsigned *left = calloc(n + 1, sizeof *left), nleft = 0, index[CUMU_MUBIN_JOINED];
    for (unsigned k = 0; k < n; k++) {
        made[k] = cumu_mubin_make(&o[k], &s[k], arch, n > 1 && left ? CUMU_WANT_CACHED : want);
        if (made[k] == CUMU_MADE_CACHED && want == CUMU_WANT_CARRIED)
            cumu_mubin_carry(&o[k], &s[k], arch);
        if (made[k] == CUMU_MADE_ABSENT && left && want != CUMU_WANT_CACHED)
            left[nleft++] = k;
    }
    while (nleft) {
        unsigned chosen = choose(&g, left, nleft, CUMU_MUBIN_JOINED, index), rest = 0;
        (void)make_group(&g, index, chosen);
        for (unsigned k = 0, j = 0; k < nleft; k++)
            if (j < chosen && index[j] == left[k])
                j++;
            else
                left[rest++] = left[k];
        nleft = rest;
    }
    free(left);
}
