/* Sends and receives of one group of which some go to other hosts: those are begun all at once, and the others go
 * on by the mailboxes of this host meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/net.h"

struct item { /* one that goes to or comes from another host */
    struct mccl_flight flight;
    struct mccl_stream stream;
};

struct both {
    struct mccl_job home; /* those of this host */
    int left;             /* of them */
    int n;
    struct item item[];
};

/* Something can be done here, or all is that goes to other hosts, or it is wrong. Who then has but this host's left to
 * wait for waits for them in another way, by which others see that. */
static bool ready(void *arg)
{
    const struct both *b = arg;
    int done = 0;
    for (int i = 0; i < b->n; i++) {
        int d = atomic_load_explicit(&b->item[i].flight.done, memory_order_acquire);
        if (d && b->item[i].flight.status)
            return true;
        done += d;
    }
    return done == b->n || (b->left && mccl_can_step((void *)(uintptr_t)&b->home));
}

static bool waits_for(void *arg, int rank)
{
    const struct both *b = arg;
    for (int i = 0; i < b->n; i++)
        if (!b->item[i].flight.done && b->item[i].flight.peer == rank)
            return true;
    return false;
}

static void begin_item(struct both *b, mcclComm_t c, const struct mccl_transfer *t)
{
    struct item *x = &b->item[b->n++];
    x->stream = (struct mccl_stream){.c = c, .class = MCCL_PAIR, .signature = (uint32_t)t->type << 4 | MCCL_P2P};
    if (t->send)
        mccl_net_send(&x->stream, &x->flight, t->peer, 0, t->at, t->bytes);
    else
        mccl_net_receive(&x->stream, &x->flight, t->peer, 0, t->at, t->bytes);
}

static struct both *begin(struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    const struct mccl_net *n = c->net;
    size_t count = (size_t)job->ntransfers;
    struct both *b = calloc(1, sizeof *b + count * sizeof *b->item);
    struct mccl_transfer *home = b ? calloc(count, sizeof *home) : NULL;
    if (!home) {
        free(b);
        return NULL;
    }
    b->home = (struct mccl_job){.comm = c->local, .kind = MCCL_P2P, .transfers = home};
    for (size_t i = 0; i < count; i++) {
        const struct mccl_transfer *t = &job->transfers[i];
        if (n->host_of[t->peer] != n->host)
            begin_item(b, c, t);
        else {
            mccl_transfer_copy(&home[b->home.ntransfers], t);
            home[b->home.ntransfers++].peer = n->seat_of[t->peer];
        }
    }
    b->left = b->home.ntransfers;
    mccl_reset_transfers(&b->home);
    job->under_way = b;
    job->begun = true;
    return b;
}

static void end(struct mccl_job *job)
{
    struct both *b = job->under_way;
    job->under_way = NULL;
    free(b->home.transfers);
    free(b);
}

/* As far as it goes: mcclInProgress if that is not the end. */
static mcclResult_t step(struct both *b, struct mccl_job *job, bool *moved, int *done)
{
    *moved = false;
    *done = 0;
    job->comm->local->doing = MCCL_P2P;
    mcclResult_t r = b->left ? mccl_step_transfers(&b->home, &b->left, moved) : mcclSuccess;
    for (int i = 0; i < b->n && !r; i++)
        if (atomic_load_explicit(&b->item[i].flight.done, memory_order_acquire) && ++*done)
            r = mccl_net_check(&b->item[i].stream, &b->item[i].flight);
    return r ? r : b->left || *done < b->n ? mcclInProgress : mcclSuccess;
}

bool mccl_net_begin_transfers(struct mccl_job *job) { return begin(job) != NULL; }

bool mccl_net_advance_transfers(struct mccl_job *job)
{
    struct both *b = job->under_way;
    bool moved;
    int done;
    atomic_fetch_add_explicit(&job->comm->net->moved, 1, memory_order_relaxed);
    mccl_wire_progress(job->comm->net->wire);
    return step(b, job, &moved, &done) != mcclInProgress; /* an error is the communicator's from now on */
}

mcclResult_t mccl_net_transfers(struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    struct both *b = job->under_way ? job->under_way : begin(job);
    mcclResult_t r = mcclInProgress;
    if (!b) {
        mccl_fail(c, mcclSystemError, "rank %d is out of memory", c->rank);
        r = mcclSystemError;
    }
    while (r == mcclInProgress) {
        bool moved;
        int done;
        r = step(b, job, &moved, &done);
        if (r != mcclInProgress || moved)
            continue;
        if (b->left && done == b->n)
            r = mccl_wait_for(c->local, mccl_can_step, &b->home, mccl_waits_for);
        else
            r = mccl_net_wait(c, ready, b, waits_for, b->left ? 1 : MCCL_NAP_MS); /* no wire tells of letters */
        r = r ? r : mcclInProgress;
    }
    if (r)
        (void)mccl_net_give_up(c, r);
    if (b)
        end(job);
    return r;
}

void mccl_net_drop(struct mccl_job *job)
{
    if (!job->under_way)
        return;
    (void)mccl_net_give_up(job->comm, mcclInternalError);
    if (job->kind == MCCL_P2P)
        end(job);
    job->under_way = NULL;
}
