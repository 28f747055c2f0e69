/* cumu pack make: which modules of two builds were made of the same source: those that share most names. */
#include "cli/pack_make.h"

#include <stdlib.h>
#include <string.h>

static struct pack_name **names_by_number(const struct pack_job *job)
{
    struct pack_name **by = calloc(job->nnames + 1ul, sizeof *by), *n, *next;
    if (by)
        HASH_ITER(hh, job->names, n, next)
    by[n->number] = n;
    return by;
}

static uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

/* The module of --from that shares most names with m, which is the place-th of its side. Of several the one that has
 * fewest others, then the one nearest to the same place: builds keep the order of their files. */
static void match_module(const struct pack_job *job, struct pack_module *m, uint32_t place, struct pack_name **by,
                         uint32_t *shared)
{
    uint32_t most = 0;
    const struct pack_module *all = job->from.module;
    memset(shared, 0, job->from.count * sizeof *shared);
    for (uint32_t i = 0; i < m->nname; i++)
        for (uint32_t k = 0; k < by[m->name[i]]->nin; k++) {
            uint32_t s = by[m->name[i]]->in[k];
            if (++shared[s] > most)
                most = shared[s];
        }
    for (uint32_t s = 0; most && s < job->from.count; s++) {
        if (shared[s] != most)
            continue;
        const struct pack_module *best = m->match == PACK_NONE ? NULL : &all[m->match];
        bool same = best && all[s].nname == best->nname;
        if (!best || all[s].nname < best->nname || (same && distance(s, place) < distance(m->match, place)))
            m->match = s;
        m->tied = same || (m->tied && m->match != s);
    }
}

void pack_match(struct pack_job *job)
{
    struct pack_name **by = names_by_number(job);
    uint32_t *shared = calloc(job->from.count + 1ul, sizeof *shared);
    if (by && shared)
        for (uint32_t i = 0; i < job->to.count; i++)
            match_module(job, &job->to.module[i], i, by, shared);
    job->nomem |= !by || !shared;
    free(by);
    free(shared);
}
