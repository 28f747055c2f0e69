/* One-sided calls between hosts. A put travels as messages that the other side's wire takes in whatever its program
 * does, and is done when that side has said that all of it is in its window; the signal goes with it, or, if it is
 * long, after it. So whoever sees a signal sees what was put before. */
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/net.h"

#define PIECE (32 << 10) /* bytes of a message */
#define AT_ONCE 16       /* messages under way */

struct mccl_far {
    pthread_mutex_t *lock;     /* by rank: one put after the other */
    uint64_t *sent;            /* by rank, under its lock */
    _Atomic uint64_t *signals; /* that came, by rank and number */
};

static void free_far(struct mccl_far *f)
{
    if (!f)
        return;
    free(f->lock);
    free(f->sent);
    free(f->signals);
    free(f);
}

bool mccl_far_open(struct mccl_net *n)
{
    size_t nranks = (size_t)n->comm->nranks;
    struct mccl_far *f = n->far = calloc(1, sizeof *f);
    if (!f)
        return false;
    f->lock = calloc(nranks, sizeof *f->lock);
    f->sent = calloc(nranks, sizeof *f->sent);
    f->signals = calloc(nranks * MCCL_CONTEXTS * MCCL_SIGNALS, sizeof *f->signals);
    for (size_t i = 0; i < nranks && f->lock; i++)
        pthread_mutex_init(&f->lock[i], NULL);
    mccl_wire_take(n->wire, mccl_far_take, n);
    return f->lock && f->sent && f->signals;
}

/* Puts are taken in under the wire's lock, so that none is at work behind this. */
void mccl_far_keep_off(struct mccl_net *n) { mccl_wire_take(n->wire, NULL, NULL); }

void mccl_far_free(struct mccl_net *n)
{
    free_far(n->far);
    n->far = NULL;
}

_Atomic uint64_t *mccl_far_signal(const struct mccl_net *n, int rank, int slot)
{
    return &n->far->signals[(size_t)rank * MCCL_CONTEXTS * MCCL_SIGNALS + (size_t)slot];
}

/* On whatever thread moves the wire. What came may be anything. */
void mccl_far_take(void *net, const struct mccl_put *put, const void *data, size_t bytes)
{
    struct mccl_net *n = net;
    mcclComm_t c = n->comm;
    char *to = bytes ? mccl_window_at(c, put->window, put->offset, bytes) : NULL;
    if ((bytes && !to) || put->signal > MCCL_CONTEXTS * MCCL_SIGNALS) {
        mccl_fail(c, mcclInvalidUsage, "rank %d on host %s puts into a window that rank %d has not registered",
                  put->rank, n->seats[put->rank].name, c->rank);
        return;
    }
    if (bytes)
        memcpy(to, data, bytes);
    if (put->signal)
        mccl_signal(c->local, c->local->rank, mccl_far_signal(n, put->rank, (int)put->signal - 1));
}

struct waiting {
    struct mccl_net *net;
    int peer;
    uint64_t number; /* of its messages that must be there */
    struct mccl_flight *flights;
    int n;
};

static bool arrived(void *arg)
{
    const struct waiting *w = arg;
    for (int i = 0; i < w->n; i++)
        if (!atomic_load_explicit(&w->flights[i].done, memory_order_acquire))
            return false;
        else if (w->flights[i].status)
            return true;
    return mccl_wire_taken(w->net->wire, w->peer) >= w->number;
}

static bool waits_for(void *arg, int rank) { return ((const struct waiting *)arg)->peer == rank; }

/* Messages [from, to) of `job`, of which the last, without data, may be a signal. */
static mcclResult_t send_some(struct mccl_job *job, const struct mccl_stream *s, struct mccl_put *puts,
                              struct mccl_flight *flights, size_t from, size_t to)
{
    struct mccl_net *n = job->comm->net;
    bool alone = job->count <= PIECE;
    int sent = 0;
    for (size_t i = from; i < to; i++, sent++) {
        size_t at = i * PIECE, left = at < job->count ? job->count - at : 0;
        puts[sent] = (struct mccl_put){
            .rank = job->comm->rank, .window = job->target.id, .offset = job->target.base + at};
        puts[sent].signal = alone || !left ? (uint32_t)job->signal + 1 : 0;
        mccl_wire_put(n->wire, &flights[sent], job->peer, &puts[sent], job->send + at, left < PIECE ? left : PIECE);
    }
    n->far->sent[job->peer] += (uint64_t)sent;
    struct waiting w = {n, job->peer, n->far->sent[job->peer], flights, sent};
    mcclResult_t r = mccl_net_wait(job->comm, arrived, &w, waits_for, MCCL_NAP_MS);
    for (int i = 0; i < sent && !r; i++)
        if (flights[i].done)
            r = mccl_net_check(s, &flights[i]);
    return r;
}

mcclResult_t mccl_far_put(struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    struct mccl_net *n = c->net;
    struct mccl_stream s = {.c = c, .class = MCCL_PAIR, .job = job};
    struct mccl_put puts[AT_ONCE];
    struct mccl_flight flights[AT_ONCE];
    size_t pieces = (job->count + PIECE - 1) / PIECE;
    mcclResult_t r = mcclSuccess;
    pthread_mutex_lock(&n->far->lock[job->peer]);
    for (size_t i = 0; i < pieces && !r; i += AT_ONCE)
        r = send_some(job, &s, puts, flights, i, pieces - i < AT_ONCE ? pieces : i + AT_ONCE);
    if (pieces != 1 && !r) /* the signal alone: none, or all of the data, is there */
        r = send_some(job, &s, puts, flights, pieces, pieces + 1);
    if (r)
        (void)mccl_net_give_up(c, r);
    pthread_mutex_unlock(&n->far->lock[job->peer]);
    return r;
}

/* Every rank's size of a new window to those of the other hosts. */
mcclResult_t mccl_far_exchange(mcclComm_t c, uint64_t number, uint64_t mine, uint64_t *sizes)
{
    struct mccl_net *n = c->net;
    struct mccl_stream s = {.c = c, .class = MCCL_WINDOWS, .signature = (uint32_t)number};
    struct mccl_flight *f = calloc(2 * (size_t)c->nranks, sizeof *f);
    int k = 0;
    if (!f)
        return mcclSystemError;
    sizes[c->rank] = mine;
    for (int q = 0; q < c->nranks; q++)
        if (n->host_of[q] != n->host) {
            mccl_net_receive(&s, &f[k++], q, (unsigned)number, &sizes[q], sizeof *sizes);
            mccl_net_send(&s, &f[k++], q, (unsigned)number, &sizes[c->rank], sizeof *sizes);
        }
    mcclResult_t r = mccl_net_settle(&s, f, k);
    free(f);
    return r;
}
