/* Communicators that grow: one rank of the parent makes an id, which the program brings to the ranks that come. Those
 * of the parent keep their numbers and tell each other the id through the parent; then all join as for any
 * communicator. */
#include "api/nccl/nccl.h"

#include <stdlib.h>
#include <string.h>

enum { KNOWS_NONE, WAS_GIVEN, MADE_IT };

struct part { /* what a rank of the parent knows */
    struct cumu_s128 id;
    int knows, nranks;
};

int wrap_ncclCommGetUniqueId(void *comm, void *id)
{
    const char *call = "ncclCommGetUniqueId";
    struct nccl_comm *c = cumu_nccl_comm(comm);
    int r = c && c->state == NCCL_REVOKED ? ncclSuccess : cumu_nccl_ready(call, comm);
    if (r)
        return r;
    if (!id)
        return cumu_nccl_failed(call, ncclInvalidArgument, "id is NULL");
    if (c->grows)
        return cumu_nccl_failed(call, ncclInvalidUsage, "the id before this one waits for ncclCommGrow");
    r = mu.mcclGetUniqueId(id);
    if (r)
        return cumu_nccl_failed(call, r, "MCCL makes none");
    memcpy(&c->grow, id, sizeof c->grow);
    c->grows = true;
    return ncclSuccess;
}

/* The id of who made it; else that of the first rank that was given one. */
static int choose(struct nccl_task *t, const struct part *all)
{
    const struct part *best = &all[0];
    int makers = 0;
    for (int i = 0; i < t->parent->nranks; i++) {
        if (all[i].nranks != t->nranks)
            return cumu_nccl_failed(t->call, ncclInvalidArgument, "rank %d wants %d ranks, rank %d wants %d",
                                    t->parent->rank, t->nranks, i, all[i].nranks);
        makers += all[i].knows == MADE_IT;
        if (all[i].knows > best->knows)
            best = &all[i];
    }
    if (best->knows == KNOWS_NONE || makers > 1)
        return cumu_nccl_failed(t->call, ncclInvalidUsage, "%d ranks have called ncclCommGetUniqueId, one is to",
                                makers);
    t->id = best->id;
    return ncclSuccess;
}

/* One that was made for ranks which no parent will bring together any more: they wait for it, and so does its door. */
void cumu_nccl_drop_id(struct nccl_comm *c)
{
    if (c->grows)
        cumu_nccl_give_up(&c->grow, c->nranks + 1, c->rank);
    c->grows = false;
}

static int run_grow(struct nccl_task *t)
{
    struct part mine = {.id = t->id, .knows = t->flags, .nranks = t->nranks};
    struct part *all = calloc((size_t)t->parent->nranks, sizeof *all);
    int r = all ? cumu_nccl_gather(t, &mine, sizeof mine, all) : ncclSystemError;
    if (r)
        r = cumu_nccl_failed(t->call, r, "the ranks could not tell each other the id");
    else
        r = choose(t, all);
    free(all);
    if (r && mine.knows == MADE_IT) /* those that come would wait for it */
        cumu_nccl_give_up(&mine.id, t->nranks, t->rank);
    t->whole = true;
    return r ? r : cumu_nccl_join(t);
}

int wrap_ncclCommGrow(void *comm, int nranks, const void *id, int rank, void **out, const void *config)
{
    const char *call = "ncclCommGrow";
    struct nccl_comm *c = NULL, *p = cumu_nccl_comm(comm);
    if (!comm) { /* one that comes */
        if (!id)
            return cumu_nccl_failed(call, ncclInvalidArgument, "a rank that comes needs the id");
        return cumu_nccl_make(call, out, nranks, id, rank, config);
    }
    if (p && p->nranks && (rank != -1 || nranks <= p->nranks))
        return cumu_nccl_failed(call, ncclInvalidArgument, "%d ranks become %d, rank %d where -1 is to be", p->nranks,
                                nranks, rank);
    int r = cumu_nccl_child(call, comm, out, config, &c);
    if (r)
        return r;
    struct nccl_task t = {.call = call,
                          .run = run_grow,
                          .comm = c,
                          .parent = p,
                          .out = out,
                          .device = p->device,
                          .rank = p->rank,
                          .nranks = nranks,
                          .reunion = cumu_nccl_reunion_hold(p->reunion)};
    if (p->grows) {
        t.id = p->grow;
        t.flags = MADE_IT;
        t.own_id = true;
        p->grows = false;
    } else if (id) {
        memcpy(&t.id, id, sizeof t.id);
        t.flags = WAS_GIVEN;
    }
    *out = c;
    return cumu_nccl_begin(&t);
}
