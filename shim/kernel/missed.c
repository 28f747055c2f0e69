/* The list of kernels that the cache lacks, joined with the one that earlier processes left. */
#include "kernel/missed.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_NS = 1000000 }; /* less is not told to the next process */

static struct missed {
    struct missed *next;
    struct cumu_hot hot; /* ns: of earlier processes, and of functions that are gone */
    struct cumu_func *f; /* NULL: gone */
    MUfunction function;
} * missed;
static struct cumu_hot carried[CUMU_HOT_MOST]; /* of earlier processes, as far as nothing came of it */
static unsigned ncarried;
static bool any; /* there is a file */

static bool same(const struct cumu_key *a, const struct cumu_key *b)
{
    return memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

static struct missed *find(const struct cumu_key *key)
{
    struct missed *m = missed;
    while (m && !same(&m->hot.key, key))
        m = m->next;
    return m;
}

void cumu_missed_read(void)
{
    ncarried = cumu_hot_read(carried);
    any = ncarried > 0;
}

void cumu_missed_note(const struct cumu_key *key, struct cumu_func *f, MUfunction function, uint64_t *before,
                      unsigned *tries)
{
    struct missed *m = find(key);
    if (!m && (m = calloc(1, sizeof *m))) {
        m->hot.key = *key;
        for (unsigned i = 0; i < ncarried; i++)
            if (same(&carried[i].key, key))
                m->hot = carried[i];
        m->next = missed;
        missed = m;
    }
    if (!m)
        return;
    *before = m->hot.ns;
    *tries = m->hot.tries;
    if (!m->f) {
        m->f = f;
        m->function = function;
    }
}

void cumu_missed_begun(const struct cumu_key *key)
{
    struct missed *m = find(key);
    if (m)
        m->hot.tries++;
}

void cumu_missed_forget(const struct cumu_key *key)
{
    for (struct missed **at = &missed, *m; (m = *at);)
        if (same(&m->hot.key, key)) {
            *at = m->next;
            free(m);
        } else {
            at = &m->next;
        }
    for (unsigned i = 0; i < ncarried; i++)
        if (same(&carried[i].key, key))
            carried[i--] = carried[--ncarried];
}

static uint64_t spent_by(const struct missed *m, t1_spent *spent) { return m->f && spent ? spent(m->function) : 0; }

void cumu_missed_gone(struct cumu_func *f, t1_spent *spent)
{
    for (struct missed *m = missed; m; m = m->next)
        if (m->f == f) {
            m->hot.ns += spent_by(m, spent);
            m->f = NULL;
        }
}

/* Of what earlier processes left and this one did not launch a half stays: a cache is of many programs. */
void cumu_missed_leave(t1_spent *spent)
{
    unsigned n = 0;
    for (struct missed *m = missed; m; m = m->next)
        n++;
    struct cumu_hot *all = calloc(n + ncarried + 1, sizeof *all);
    if (!all)
        return;
    n = 0;
    for (struct missed *m = missed; m; m = m->next) {
        all[n] = m->hot;
        all[n].ns += spent_by(m, spent);
        n += all[n].ns >= LEAST_NS;
    }
    for (unsigned i = 0; i < ncarried; i++)
        if (!find(&carried[i].key) && carried[i].ns / 2 >= LEAST_NS) {
            all[n] = carried[i];
            all[n++].ns /= 2;
        }
    if (n || any)
        cumu_hot_write(all, n);
    free(all);
}
