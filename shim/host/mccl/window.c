/* One-sided calls: windows, which every rank of a communicator registers and any other may write into, and signals,
 * counters of each pair of ranks by which the writer says that it has. A put copies and then signals, and a wait
 * takes a number of signals away from what came; neither has a ticket, because the other side need not call
 * anything at that time. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/net.h"

struct mcclWindow {
    struct mcclWindow *next;
    uint64_t number;         /* the same on all ranks */
    bool live;               /* the program has it */
    _Atomic bool gone;       /* and has given it back */
    struct mccl_view view[]; /* by rank */
};

/* Does the wire lead to this rank? */
static bool is_far(mcclComm_t c, int rank) { return c->net && c->net->host_of[rank] != c->net->host; }

/* The communicator that shares memory with the rank, and its number there. */
static mcclComm_t near(mcclComm_t c, int *rank)
{
    *rank = c->net ? c->net->seat_of[*rank] : *rank;
    return c->net ? c->local : c;
}

/* Every rank's view to every rank. Not by a collective, which would need device memory: freeing that waits for the
 * whole device, and so perhaps for a signal of who waits for this rank here. */
static mcclResult_t exchange(mcclComm_t c, uint64_t number, const struct mccl_view *mine, struct mccl_view *all)
{
    mcclResult_t r = mccl_state(c);
    c->shared->member[c->rank].view[number % 2] = *mine;
    for (int q = 0; q < c->nranks && !r; q++)
        mccl_signal(c, q, &mccl_mailbox(c->shared, c->rank, q)->windows);
    for (int q = 0; q < c->nranks && !r; q++) {
        r = mccl_wait_signal(c, &mccl_mailbox(c->shared, q, c->rank)->windows, number + 1, q);
        all[q] = c->shared->member[q].view[number % 2];
    }
    return r;
}

/* The same over several hosts: within each, and then only sizes. */
static mcclResult_t exchange_far(mcclComm_t c, uint64_t number, const struct mccl_view *mine, struct mccl_view *all)
{
    struct mccl_view *home = calloc((size_t)c->local->nranks, sizeof *home);
    uint64_t *sizes = calloc((size_t)c->nranks, sizeof *sizes);
    mcclResult_t r = home && sizes ? exchange(c->local, number, mine, home) : mcclSystemError;
    r = r ? r : mccl_far_exchange(c, number, mine->size, sizes);
    for (int q = 0; q < c->nranks && !r; q++)
        all[q] = is_far(c, q) ? (struct mccl_view){.size = sizes[q], .mappable = 1} : home[c->net->seat_of[q]];
    free(home);
    free(sizes);
    return r;
}

/* Counters of what was waited for. */
static bool count_signals(mcclComm_t c)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!c->expected)
        c->expected = calloc((size_t)c->nranks * MCCL_CONTEXTS * MCCL_SIGNALS, sizeof *c->expected);
    pthread_mutex_unlock(&lock);
    return c->expected != NULL;
}

mcclResult_t mcclCommWindowRegister(mcclComm_t c, void *buffer, size_t size, mcclWindow_t *window, int flags)
{
    (void)flags; /* symmetric or not: each view has its own place */
    if (!mccl_live(c) || !window || !size || !mccl_known(buffer, size) || mccl_grouped())
        return mcclInvalidArgument;
    struct mccl_view mine = {.size = size};
    mine.mappable = mccl_describe(c->net ? c->local : c, buffer, &mine.piece);
    mine.piece.address = (uint64_t)(uintptr_t)buffer;
    struct mcclWindow *w = calloc(1, sizeof *w + (size_t)c->nranks * sizeof *w->view);
    if (!w)
        return mcclSystemError;
    w->number = c->registered++;
    w->view[c->rank] = mine;
    w->next = atomic_load(&c->windows); /* before the others know it, who may put into it before this returns */
    while (!atomic_compare_exchange_weak(&c->windows, &w->next, w))
        ;
    mcclResult_t r = (c->net ? exchange_far : exchange)(c, w->number, &mine, w->view);
    w->live = !r;
    *window = r ? NULL : w;
    return r;
}

void *mccl_window_at(mcclComm_t c, uint64_t window, uint64_t offset, uint64_t bytes)
{
    const struct mcclWindow *w = atomic_load(&c->windows);
    while (w && w->number != window)
        w = w->next;
    if (!w || w->gone || offset > w->view[c->rank].size || bytes > w->view[c->rank].size - offset)
        return NULL;
    return (char *)(uintptr_t)w->view[c->rank].piece.address + offset;
}

static struct mcclWindow *find(mcclComm_t c, mcclWindow_t window)
{
    struct mcclWindow *w = atomic_load(&c->windows);
    while (w && (w != window || !w->live))
        w = w->next;
    return w;
}

/* Its memory stays until the communicator ends: a put may be on its way. */
mcclResult_t mcclCommWindowDeregister(mcclComm_t c, mcclWindow_t window)
{
    struct mcclWindow *w = mccl_live(c) ? find(c, window) : NULL;
    if (!w)
        return mcclInvalidArgument;
    w->live = false;
    w->gone = true;
    return mcclSuccess;
}

void mccl_windows_free(mcclComm_t c)
{
    for (struct mcclWindow *w = c->windows, *next; w; w = next) {
        next = w->next;
        free(w);
    }
    free(c->expected);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static bool valid(mcclComm_t c, int peer, int signal, int context)
{
    return peer >= 0 && peer < c->nranks && signal >= 0 && signal < MCCL_SIGNALS && context >= 0 &&
           context < MCCL_CONTEXTS;
}

/* Takes over the job's list of waits. */
static mcclResult_t submit(const struct mccl_job *job)
{
    mcclResult_t r = mccl_state(job->comm);
    struct mccl_job *j = r ? NULL : malloc(sizeof *j);
    if (j) {
        *j = *job;
        return mccl_submit(j);
    }
    if (r)
        mccl_tell(job->comm, job->kind, NULL);
    free(job->waits);
    return mccl_group_fail(r ? r : mcclSystemError);
}

mcclResult_t mcclPutSignal(const void *send, size_t count, mcclDataType_t type, int peer, mcclWindow_t window,
                           size_t offset, int signal, int context, unsigned flags, mcclComm_t c, musaStream_t stream)
{
    size_t bytes = count * mccl_type_size(type);
    if (!mccl_live(c) || !mccl_type_size(type) || count >= (size_t)1 << 44 || flags || !valid(c, peer, signal, context))
        return mccl_group_fail(mcclInvalidArgument);
    const struct mcclWindow *w = find(c, window);
    if (!w || offset > w->view[peer].size || bytes > w->view[peer].size - offset || !mccl_known(send, bytes))
        return mccl_group_fail(mcclInvalidArgument);
    if (!w->view[peer].mappable)
        return mccl_group_fail(mcclInvalidUsage);
    struct mccl_job job = {.comm = c,
                           .kind = MCCL_PUT_SIGNAL,
                           .send = send,
                           .count = bytes,
                           .target = w->view[peer].piece,
                           .peer = peer,
                           .signal = context * MCCL_SIGNALS + signal,
                           .way.stream = stream};
    job.target.address += offset;
    if (is_far(c, peer))
        job.target = (struct mccl_piece){.id = w->number, .base = offset};
    return submit(&job);
}

mcclResult_t mcclSignal(int peer, int signal, int context, unsigned flags, mcclComm_t c, musaStream_t stream)
{
    if (!mccl_live(c) || flags || !valid(c, peer, signal, context))
        return mccl_group_fail(mcclInvalidArgument);
    return submit(&(struct mccl_job){
        .comm = c, .kind = MCCL_SIGNAL, .peer = peer, .signal = context * MCCL_SIGNALS + signal, .way.stream = stream});
}

mcclResult_t mcclWaitSignal(int count, const mcclWaitSignalDesc_t *waits, mcclComm_t c, musaStream_t stream)
{
    if (!mccl_live(c) || count < 0 || (count && !waits))
        return mccl_group_fail(mcclInvalidArgument);
    for (int i = 0; i < count; i++)
        if (waits[i].count < 0 || !valid(c, waits[i].peer, waits[i].signal, waits[i].context))
            return mccl_group_fail(mcclInvalidArgument);
    if (!count)
        return mcclSuccess;
    struct mccl_job job = {.comm = c, .kind = MCCL_WAIT_SIGNAL, .nwaits = count, .way.stream = stream};
    job.waits = malloc((size_t)count * sizeof *waits);
    if (!job.waits || !count_signals(c)) {
        free(job.waits);
        return mccl_group_fail(mcclSystemError);
    }
    memcpy(job.waits, waits, (size_t)count * sizeof *waits);
    return submit(&job);
}

/* ---- on a stream's thread ---------------------------------------------------------------------- */

static mcclResult_t wait_all(mcclComm_t c, const struct mccl_job *job)
{
    mcclResult_t r = mcclSuccess;
    for (int i = 0; i < job->nwaits && !r; i++) {
        const mcclWaitSignalDesc_t *w = &job->waits[i];
        int slot = w->context * MCCL_SIGNALS + w->signal;
        uint64_t n = (uint64_t)w->count;
        uint64_t until = atomic_fetch_add(&c->expected[w->peer * MCCL_CONTEXTS * MCCL_SIGNALS + slot], n) + n;
        int peer = w->peer;
        mcclComm_t home = near(c, &peer);
        if (is_far(c, w->peer))
            r = mccl_wait_signal(c, mccl_far_signal(c->net, w->peer, slot), until, w->peer);
        else
            r = mccl_wait_signal(home, &mccl_mailbox(home->shared, peer, home->rank)->signals[slot], until, peer);
    }
    return r;
}

mcclResult_t mccl_run_one_sided(struct mccl_job *job)
{
    mcclComm_t c = job->comm;
    if (job->kind == MCCL_WAIT_SIGNAL)
        return wait_all(c, job);
    if (is_far(c, job->peer))
        return mccl_far_put(job);
    int peer = job->peer;
    c = near(c, &peer);
    if (job->kind == MCCL_PUT_SIGNAL && job->count) {
        void *to = mccl_reach(c, peer, &job->target);
        if (!to)
            return mccl_fail_to_reach(c, peer);
        mcclResult_t r = mccl_touch_put(c, peer, to, job->send, job->count);
        if (r)
            return r;
    }
    mccl_signal(c, peer, &mccl_mailbox(c->shared, c->rank, peer)->signals[job->signal]);
    return mcclSuccess;
}
