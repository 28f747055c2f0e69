/* Communicators made of others: the ranks agree who is in, the first of each new one makes its id and tells
 * the others. */
#include "api/nccl/nccl.h"

#include <stdlib.h>
#include <string.h>

struct wish {
    int color, key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct wish *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->rank - y->rank;
}

int cumu_nccl_gather(struct nccl_task *t, const void *mine, size_t size, void *all)
{
    struct nccl_comm *p = t->parent;
    return p->below ? cumu_nccl_exchange(p, mine, size, all)
                    : cumu_nccl_meet(t, p->key, p->rank, p->nranks, mine, size, all);
}

static int split(struct nccl_task *t, struct wish *all, struct cumu_s128 *ids)
{
    struct nccl_comm *p = t->parent;
    struct wish mine = {t->color, t->key, p->rank};
    struct cumu_s128 id = {{0}};
    int r = cumu_nccl_gather(t, &mine, sizeof mine, all), leader = -1;
    if (r)
        return cumu_nccl_failed(t->call, r, "the ranks could not tell each other their colors");
    t->nranks = 0;
    for (int i = 0; i < p->nranks; i++)
        if (all[i].color == t->color)
            all[t->nranks++] = all[i];
    qsort(all, (size_t)t->nranks, sizeof *all, by_key);
    for (int i = 0; i < t->nranks; i++)
        if (all[i].rank == p->rank)
            t->rank = i;
    leader = all[0].rank;
    /* Who cannot make an id still takes part: the others would wait for it. */
    int made = t->color >= 0 && t->rank == 0 ? wrap_ncclGetUniqueId(&id) : ncclSuccess;
    r = cumu_nccl_gather(t, &id, sizeof id, ids);
    if (r && t->color >= 0 && t->rank == 0 && !made)
        cumu_nccl_give_up(&id, t->nranks, 0);
    if (r || made)
        return cumu_nccl_failed(t->call, r ? r : made, "the ranks could not tell each other the new ids");
    if (t->color < 0) /* took part, and is in none */
        return ncclSuccess;
    t->stay = malloc((size_t)t->nranks * sizeof *t->stay);
    for (int i = 0; i < t->nranks && t->stay; i++)
        t->stay[i] = all[i].rank;
    t->whole = true;
    t->id = ids[leader];
    t->device = p->device;
    return cumu_nccl_join(t);
}

static int run_split(struct nccl_task *t)
{
    size_t n = (size_t)t->parent->nranks;
    struct wish *all = calloc(n, sizeof *all);
    struct cumu_s128 *ids = calloc(n, sizeof *ids);
    int r = all && ids ? split(t, all, ids) : cumu_nccl_failed(t->call, ncclSystemError, "out of memory");
    free(all);
    free(ids);
    return r;
}

int cumu_nccl_child(const char *call, void *comm, void **out, const void *config, struct nccl_comm **made)
{
    struct nccl_comm *p = cumu_nccl_comm(comm);
    int r = p && p->state == NCCL_REVOKED ? ncclSuccess : cumu_nccl_ready(call, comm);
    if (r)
        return r;
    struct nccl_config g = {.blocking = p->blocking};
    if (!out)
        return cumu_nccl_failed(call, ncclInvalidArgument, "no place for the communicator");
    if ((r = cumu_nccl_config(call, config, &g)))
        return r;
    *out = NULL;
    *made = cumu_nccl_new(g.blocking);
    if (!*made)
        return cumu_nccl_failed(call, ncclSystemError, "more than %d communicators", NCCL_MAX_COMMS);
    memcpy((*made)->name, g.name, sizeof(*made)->name);
    return ncclSuccess;
}

int wrap_ncclCommSplit(void *comm, int color, int key, void **out, const void *config)
{
    const char *call = "ncclCommSplit";
    struct nccl_comm *c = NULL, *p = cumu_nccl_comm(comm);
    if (color < 0 && color != NCCL_SPLIT_NOCOLOR)
        return cumu_nccl_failed(call, ncclInvalidArgument, "color %d", color);
    int r = cumu_nccl_child(call, comm, out, config, &c);
    if (r)
        return r;
    struct nccl_task t = {.call = call,
                          .run = run_split,
                          .comm = c,
                          .parent = p,
                          .out = out,
                          .device = p->device,
                          .color = color,
                          .key = key,
                          .reunion = cumu_nccl_reunion_hold(p->reunion)};
    if (color >= 0)
        *out = c;
    else { /* takes part and gets none: a step that nobody can ask about must be waited for */
        t.aside = true;
        cumu_nccl_free(c);
        t.comm = p;
    }
    return cumu_nccl_begin(&t);
}

/* ---- shrink -------------------------------------------------------------------------------------- */

/* rank and nranks: among those that stay. */
static int run_shrink(struct nccl_task *t)
{
    struct cumu_s128 id = {{0}}, *ids = calloc((size_t)t->nranks, sizeof *ids);
    int made = t->rank == 0 ? wrap_ncclGetUniqueId(&id) : ncclSuccess;
    /* Not through MCCL: those that go away take no part, and a collective wants all. */
    int r = ids ? cumu_nccl_meet(t, t->set, t->rank, t->nranks, &id, sizeof id, ids) : ncclSystemError;
    if (!r)
        t->id = ids[0];
    else if (t->rank == 0 && !made)
        cumu_nccl_give_up(&id, t->nranks, 0);
    free(ids);
    if (r && t->reunion) /* the text says who is missing */
        return r;
    if (r || made)
        return cumu_nccl_failed(t->call, r ? r : made, "the ranks that stay could not find each other");
    return cumu_nccl_join(t);
}

/* Leaves ranks out. The remaining ones find each other by a key that every one computes from the parent's and the
 * set of those that are gone (FNV-1a's step and prime); they may not be asked, as the others may be dead. */
int wrap_ncclCommShrink(void *comm, const int *excluded, int n, void **out, const void *config, int flags)
{
    const char *call = "ncclCommShrink";
    struct nccl_comm *c = NULL, *p = cumu_nccl_comm(comm);
    if (n < 1 || !excluded || (flags & ~NCCL_SHRINK_ABORT) || (p && n >= p->nranks && p->nranks))
        return cumu_nccl_failed(call, ncclInvalidArgument, "%d ranks to leave out, flags %#x", n, (unsigned)flags);
    int r = cumu_nccl_child(call, comm, out, config, &c);
    if (r)
        return r;
    bool *gone = calloc((size_t)p->nranks, sizeof *gone);
    int *stay = calloc((size_t)p->nranks, sizeof *stay);
    struct nccl_task t = {.call = call,
                          .run = run_shrink,
                          .comm = c,
                          .parent = p,
                          .out = out,
                          .device = p->device,
                          .rank = -1,
                          .set = p->key};
    if (!gone || !stay)
        r = cumu_nccl_failed(call, ncclSystemError, "out of memory");
    for (int i = 0; i < n && !r; i++) {
        if (excluded[i] < 0 || excluded[i] >= p->nranks || excluded[i] == p->rank || gone[excluded[i]])
            r = cumu_nccl_failed(call, ncclInvalidArgument, "rank %d to be left out", excluded[i]);
        else
            gone[excluded[i]] = true;
    }
    for (int i = 0; i < p->nranks && !r; i++) {
        if (i == p->rank)
            t.rank = t.nranks;
        if (!gone[i])
            stay[t.nranks++] = i;
        t.set = (t.set ^ gone[i]) * 0x100000001b3; /* those that stay know each other by it */
    }
    free(gone);
    if (r) {
        free(stay);
        cumu_nccl_free(c);
        return r;
    }
    if (flags & NCCL_SHRINK_ABORT) { /* what is under way ends first */
        mcclComm_t below = atomic_exchange(&p->below, NULL);
        int ready = NCCL_READY;
        (void)atomic_compare_exchange_strong(&p->state, &ready, NCCL_REVOKED);
        if (below)
            (void)mu.mcclCommAbort(below);
    }
    t.stay = stay;
    t.reunion = cumu_nccl_reunion_hold(p->reunion);
    *out = c;
    return cumu_nccl_begin(&t);
}
