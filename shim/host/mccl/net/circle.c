/* Ranks of several hosts that wait for each other: one receives, say, while the other is in a collective. */
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/net.h"

#define STILL_MS 1000 /* for what is under way to arrive */
#define LOOKS 2       /* that each of them has taken since it has been waiting for that */

/* Each rank does one call of a communicator at a time, and each of its calls needs all that it waits for. So ranks
 * of which each waits for another one of them, and has found nothing new for so long, can never go on. Ranks of one
 * host find the circle among themselves at once (wait.c); here messages may be under way that nobody sees. */
struct rank {
    struct mccl_waiting last;
    uint32_t looks; /* when it began to wait for this */
    int64_t since;
};

struct mccl_circles {
    int n;
    struct rank *rank;
    bool *awaits; /* [n * i + k]: since then rank i has said that it waits for rank k */
};

struct mccl_circles *mccl_circles_new(int nranks)
{
    size_t n = (size_t)nranks;
    struct mccl_circles *o = calloc(1, sizeof *o + n * sizeof *o->rank + n * n);
    if (!o)
        return NULL;
    o->n = nranks;
    o->rank = (struct rank *)(o + 1);
    o->awaits = (bool *)(o->rank + n);
    for (int i = 0; i < nranks; i++)
        o->rank[i].last.awaited = -1;
    return o;
}

struct mccl_waiting mccl_waiting(const struct mccl_net *n)
{
    mcclComm_t c = n->comm;
    const struct mccl_member *m = &c->shared->member[c->local->rank];
    struct mccl_waiting w = {.awaited = -1, .stamp = n->waits + mccl_wire_moves(n->wire) + m->waits};
    uint32_t far = n->awaited, near = m->awaited;
    if (far)
        w.awaited = (int32_t)far - 1;
    else if (near)
        w.awaited = mccl_net_rank(n, n->host, (int)near - 1);
    w.kind = far ? n->kind : m->waits_in;
    w.looks = n->looks + m->looks;
    return w;
}

void mccl_circles_told(struct mccl_circles *o, int rank, const struct mccl_waiting *w, int64_t now)
{
    struct rank *r = &o->rank[rank];
    if (w->awaited < 0 || w->stamp != r->last.stamp || r->last.awaited < 0) {
        memset(o->awaits + o->n * rank, 0, (size_t)o->n);
        r->since = now;
        r->looks = w->looks;
    }
    r->last = *w;
    if (w->awaited >= 0)
        o->awaits[o->n * rank + w->awaited] = true;
}

/* The first of those in `among` that it waits for; -1. */
static int next(const struct mccl_circles *o, int rank, const bool *among)
{
    for (int k = 0; k < o->n; k++)
        if (among[k] && o->awaits[o->n * rank + k])
            return k;
    return -1;
}

void mccl_circles_check(struct mccl_circles *o, mcclComm_t c, int64_t now)
{
    bool stuck[MCCL_MAX_RANKS] = {false};
    int any = -1, length = 1;
    for (int i = 0; i < o->n; i++) {
        const struct rank *r = &o->rank[i];
        stuck[i] = r->last.awaited >= 0 && now - r->since >= STILL_MS && r->last.looks - r->looks >= LOOKS;
    }
    for (bool changed = true; changed;) { /* what is left waits only for what is left */
        changed = false;
        any = -1;
        for (int i = 0; i < o->n; i++)
            if (stuck[i] && next(o, i, stuck) < 0)
                changed = !(stuck[i] = false);
            else if (stuck[i])
                any = i;
    }
    if (any < 0 || mccl_state(c))
        return;
    for (int i = 0; i < o->n; i++) /* to the circle, if it only leads there */
        any = next(o, any, stuck);
    int to = next(o, any, stuck);
    for (int k = to; k != any; k = next(o, k, stuck))
        length++;
    mccl_fail(c, mcclInvalidUsage, "%d ranks wait for each other: rank %d in %s for rank %d, which is in %s", length,
              any, mccl_kind_name(o->rank[any].last.kind), to, mccl_kind_name(o->rank[to].last.kind));
}
