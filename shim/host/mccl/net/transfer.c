/* Sends and receives of one group of which some go to other hosts: those are begun all at once, and the others go
 * on by the mailboxes of this host meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/net.h"

struct both {
    struct mccl_job home; /* those of this host */
    int left;             /* of them */
    struct mccl_flight *flights;
    struct mccl_stream *streams; /* by flight */
    int n;
};

/* Something can be done, or is, or is wrong. */
static bool ready(void *arg)
{
    const struct both *b = arg;
    int done = 0;
    for (int i = 0; i < b->n; i++) {
        int d = atomic_load_explicit(&b->flights[i].done, memory_order_acquire);
        if (d && b->flights[i].status)
            return true;
        done += d;
    }
    return b->left ? mccl_can_step((void *)(uintptr_t)&b->home) : done == b->n;
}

static bool waits_for(void *arg, int rank)
{
    const struct both *b = arg;
    for (int i = 0; i < b->n; i++)
        if (!b->flights[i].done && b->flights[i].peer == rank)
            return true;
    return false;
}

static void begin(struct both *b, mcclComm_t c, const struct mccl_transfer *t)
{
    struct mccl_stream *s = &b->streams[b->n];
    struct mccl_flight *f = &b->flights[b->n++];
    *s = (struct mccl_stream){.c = c, .class = MCCL_PAIR, .signature = (uint32_t)t->type << 4 | MCCL_P2P};
    if (t->send)
        mccl_net_send(s, f, t->peer, 0, t->at, t->bytes);
    else
        mccl_net_receive(s, f, t->peer, 0, t->at, t->bytes);
}

static mcclResult_t run(struct both *b, mcclComm_t c)
{
    for (;;) {
        bool moved = false;
        mcclResult_t r = b->left ? mccl_step_transfers(&b->home, &b->left, &moved) : mcclSuccess;
        int done = 0;
        for (int i = 0; i < b->n && !r; i++)
            if (b->flights[i].done && ++done)
                r = mccl_net_check(&b->streams[i], &b->flights[i]);
        if (r || (!b->left && done == b->n))
            return r;
        if (b->left && done == b->n && !moved)
            r = mccl_wait_for(c->local, mccl_can_step, &b->home, mccl_waits_for);
        else if (!moved)
            r = mccl_net_wait(c, ready, b, waits_for, b->left ? 1 : MCCL_NAP_MS); /* no wire tells of letters */
        if (r)
            return r;
    }
}

mcclResult_t mccl_net_transfers(struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    struct mccl_net *n = c->net;
    size_t count = (size_t)job->ntransfers;
    struct both b = {.home = {.comm = c->local, .kind = MCCL_P2P, .whole = job}};
    b.home.transfers = calloc(count, sizeof *b.home.transfers);
    b.flights = calloc(count, sizeof *b.flights);
    b.streams = calloc(count, sizeof *b.streams);
    mcclResult_t r = mcclSuccess;
    if (!b.home.transfers || !b.flights || !b.streams) {
        mccl_fail(c, mcclSystemError, "rank %d is out of memory", c->rank);
        r = mcclSystemError;
    }
    for (size_t i = 0; i < count && !r; i++) {
        const struct mccl_transfer *t = &job->transfers[i];
        if (n->host_of[t->peer] != n->host)
            begin(&b, c, t);
        else {
            b.home.transfers[b.home.ntransfers] = *t;
            b.home.transfers[b.home.ntransfers++].peer = n->seat_of[t->peer];
        }
    }
    b.left = b.home.ntransfers;
    mccl_reset_transfers(&b.home);
    c->local->doing = MCCL_P2P;
    r = r ? r : run(&b, c);
    if (r)
        (void)mccl_net_give_up(c, r);
    free(b.home.transfers);
    free(b.flights);
    free(b.streams);
    return r;
}
