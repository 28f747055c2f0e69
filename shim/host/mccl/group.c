/* Groups, and how jobs get onto streams. What is called between mcclGroupStart and mcclGroupEnd waits in a list of
 * the thread, all transfers of a communicator as one job; the end joins new communicators side by side and puts every
 * job on its stream. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/callback.h"
#include "host/mccl/here.h"
#include "host/mccl/net/net.h"
#include "host/mccl/switch.h"

struct join { /* a communicator to be made, in a thread of its own */
    mcclComm_t *comm;
    int nranks, rank, device;
    mcclUniqueId id;
    mcclResult_t result;
    pthread_t thread;
    bool threaded;
    struct join *next;
};

static _Thread_local struct {
    int depth;
    mcclResult_t error; /* of the first call that failed */
    struct mccl_job *jobs, **last;
    struct join *joins, **last_join;
    bool lent;             /* `first` is one of the jobs: */
    struct mccl_job first; /* a group of short messages needs no memory */
} group;

void mccl_job_free(struct mccl_job *job)
{
    if (!job)
        return;
    mccl_net_drop(job);
    if (job->transfers != job->own)
        free(job->transfers);
    free(job->others);
    free(job->waits);
    if (job == &group.first)
        group.lent = false;
    else
        free(job);
}

bool mccl_grouped(void) { return group.depth > 0; }

mcclResult_t mccl_group_fail(mcclResult_t r)
{
    if (group.depth && !group.error)
        group.error = r;
    return r;
}

/* ---- onto a stream --------------------------------------------------------------------------- */

/* In its turn; what a job that has its place in the stream has done is told to sleepers here. If it fails, its data
 * are not what the stream's later work expects: the number of the failure, which the stream tells if this is one of
 * its callbacks. Who aborts knows that what was under way has no result. */
int mccl_run_job(struct mccl_job *j, uint32_t ticket, bool healthy)
{
    mcclComm_t c = j->comm;
    if (!mccl_one_sided(j))
        mccl_wait_turn(c, ticket);
    mcclResult_t r = mccl_state(c);
    if (r && !c->error && !c->aborting && (j->begun || j->given))
        r = mcclSuccess;  /* begun in time: if all have, it can still be done */
    if (!healthy && !r) { /* the device failed: the others must not wait for this rank */
        r = mcclUnhandledMusaError;
        mccl_fail(c, mcclRemoteError, "an earlier error in the stream of rank %d", c->rank);
    }
    if (mccl_one_sided(j))
        r = r ? r : mccl_run_one_sided(j);
    else {
        c->doing = j->kind;
        if (!r)
            r = j->kind == MCCL_P2P ? mccl_run_transfers(j) : mccl_run_collective(j);
    }
    mccl_net_drop(j);
    int none = 0, failure = 0;
    if (r && c->nranks > 1)
        mccl_keep_off(c);
    if (r)
        atomic_compare_exchange_strong(&c->error, &none, (int)r);
    if (r && !c->aborting) {
        mccl_tell(c, j->kind, j->ntransfers == 1 ? j->transfers : NULL);
        failure = cumu_host_fail(MUSA_ERROR_ILLEGAL_STATE);
        c->failures[c->nfailures++ % MCCL_AHEAD] = failure;
    }
    if (mccl_one_sided(j))
        mccl_flown(c);
    else {
        mccl_notify(c); /* before its turn ends, and somebody takes the communicator down */
        mccl_turn_done(c);
    }
    return failure;
}

static void on_stream(musaStream_t stream, musaError_t status, void *job)
{
    (void)stream;
    const int failure = mccl_run_job(job, ((struct mccl_job *)job)->ticket, status == musaSuccess);
    mccl_leave_others(job, failure);
    mccl_job_free(job);
}

uint32_t mccl_issue(const struct mccl_job *j)
{
    return mccl_one_sided(j) ? atomic_fetch_add(&j->comm->flying, 1) : j->comm->issued++;
}

/* The streams of a group's transfers wait for each other before and after. Events are of one device: the caller's is
 * another where a thread drives several. */
static musaError_t link_streams(int device, musaStream_t from, musaStream_t to)
{
    struct mccl_switch before;
    musaEvent_t event;
    musaError_t r = mccl_switch_to(&before, device);
    if (!r && !(r = musaEventCreateWithFlags(&event, musaEventDisableTiming))) {
        r = musaEventRecord(event, from);
        r = r ? r : musaStreamWaitEvent(to, event, 0);
        musaEventDestroy(event);
    }
    mccl_switch_back(&before);
    return r;
}

static void fail_launch(mcclComm_t c, musaError_t why)
{
    mccl_fail(c, mcclRemoteError, "rank %d cannot put its call on a stream: error %d", c->rank, (int)why);
}

/* One that has its place in the stream goes on there. Without memory it takes its turn here and fails. */
static mcclResult_t go_on(struct mccl_job *j)
{
    if (cumu_host_release(j->way.held, on_stream, j))
        return mcclSuccess;
    fail_launch(j->comm, musaErrorMemoryAllocation);
    const int failure = mccl_run_job(j, j->ticket, false);
    mccl_leave(j, failure);
    mccl_job_free(j);
    return mcclUnhandledMusaError;
}

/* A job with a ticket takes its turn, and does nothing. */
static void pass(struct mccl_job *j)
{
    mccl_wait_turn(j->comm, j->ticket);
    mccl_turn_done(j->comm);
    j->drawn = false;
}

/* Puts a job onto its stream: as a callback that waits for its turn among the communicator's jobs, or as a node of a
 * graph that the stream captures. A job that cannot be launched takes its turn and fails, because the other ranks
 * wait for it. */
static mcclResult_t launch(struct mccl_job *j)
{
    mcclComm_t c = j->comm;
    struct mccl_switch before = {0};
    if (j->way.held)
        return go_on(j);
    if (mccl_handle_of_thread(j->way.stream))
        (void)mccl_switch_to(&before, c->device);
    musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
    musaError_t r = musaStreamIsCapturing(j->way.stream, &status);
    if (r && r != musaErrorInvalidResourceHandle &&
        (r < musaErrorStreamCaptureUnsupported || r > musaErrorStreamCaptureWrongThread)) /* no mistake of the call */
        fail_launch(c, r);
    if (j->drawn && (r || status == musaStreamCaptureStatusActive))
        pass(j);
    if (!r && status == musaStreamCaptureStatusActive) {
        r = mccl_capture_job(j);
        if (!r) {
            j->next = c->captured;
            c->captured = j;
        }
    } else if (!r) {
        j->ticket = j->drawn ? j->ticket : mccl_issue(j);
        r = musaStreamAddCallback(j->way.stream, on_stream, j, 0);
        if (r) { /* the others will wait for this rank in vain */
            fail_launch(c, r);
            if (mccl_one_sided(j))
                mccl_flown(c);
            else
                pass(j);
        }
    }
    mccl_switch_back(&before);
    if (!r)
        return mcclSuccess;
    mccl_job_free(j);
    return mcclUnhandledMusaError;
}

mcclResult_t mccl_submit(struct mccl_job *job)
{
    job->next = NULL;
    if (!group.depth)
        return launch(job);
    if (!group.jobs)
        group.last = &group.jobs;
    *group.last = job;
    group.last = &job->next;
    return mcclSuccess;
}

static void describe_transfers(struct mccl_job *job, mcclComm_t comm, struct mccl_transfer *transfers,
                               musaStream_t stream)
{
    mccl_job_clear(job);
    job->comm = comm;
    job->kind = MCCL_P2P;
    job->transfers = transfers;
    job->ntransfers = 1;
    job->way.stream = stream;
}

/* One more transfer of the group's job of this communicator, and its stream if it is another. */
static mcclResult_t add_transfer(struct mccl_job *job, const struct mccl_transfer *t, musaStream_t stream)
{
    if (job->ntransfers == job->capacity) {
        struct mccl_transfer *all = malloc(2 * (size_t)job->capacity * sizeof *all);
        if (!all)
            return mccl_group_fail(mcclSystemError);
        for (int i = 0; i < job->ntransfers; i++)
            mccl_transfer_copy(&all[i], &job->transfers[i]);
        if (job->transfers != job->own)
            free(job->transfers);
        job->transfers = all;
        job->capacity *= 2;
    }
    if (!mccl_uses(job, stream)) {
        struct mccl_way *others = realloc(job->others, ((size_t)job->nothers + 1) * sizeof *others);
        if (!others)
            return mccl_group_fail(mcclSystemError);
        job->others = others;
        others[job->nothers++] = (struct mccl_way){.stream = stream};
    }
    mccl_transfer_copy(&job->transfers[job->ntransfers++], t);
    return mcclSuccess;
}

/* All transfers of a communicator in a group are one job, in the place of the first. */
static mcclResult_t group_transfer(mcclComm_t comm, const struct mccl_transfer *t, musaStream_t stream)
{
    for (struct mccl_job *j = group.jobs; j; j = j->next)
        if (j->comm == comm && j->kind == MCCL_P2P)
            return add_transfer(j, t, stream);
    struct mccl_job *j = group.lent ? malloc(sizeof *j) : &group.first;
    if (!j)
        return mccl_group_fail(mcclSystemError);
    group.lent = true;
    describe_transfers(j, comm, j->own, stream);
    j->capacity = MCCL_OWN;
    mccl_transfer_copy(j->own, t);
    return mccl_submit(j);
}

mcclResult_t mccl_submit_transfer(mcclComm_t comm, struct mccl_transfer *t, musaStream_t stream)
{
    if (group.depth)
        return group_transfer(comm, t, stream);
    uint32_t ticket;
    const enum mccl_stroke done = mccl_letter_here(comm, t, stream, &ticket);
    if (done == MCCL_DONE)
        return mcclSuccess;
    struct mccl_job job;
    describe_transfers(&job, comm, t, stream);
    job.drawn = done == MCCL_DRAWN;
    if (job.drawn)
        job.ticket = ticket;
    else if (mccl_done_here(&job))
        return mcclSuccess;
    struct mccl_job *j = malloc(sizeof *j);
    if (!j) {
        mccl_drop_here(&job);
        return mccl_group_fail(mcclSystemError);
    }
    mccl_job_copy(j, &job);
    mccl_transfer_copy(j->own, t);
    j->transfers = j->own;
    return mccl_submit(j);
}

/* ---- the end of a group ---------------------------------------------------------------------- */

static void *run_join(void *arg)
{
    struct join *j = arg;
    musaSetDevice(j->device);
    j->result = mccl_join(j->comm, j->nranks, &j->id, j->rank, j->device);
    return NULL;
}

mcclResult_t mccl_submit_join(mcclComm_t *comm, int nranks, const mcclUniqueId *id, int rank, int device)
{
    struct join *j = calloc(1, sizeof *j);
    if (!j)
        return mccl_group_fail(mcclSystemError);
    *j = (struct join){.comm = comm, .nranks = nranks, .rank = rank, .device = device, .id = *id};
    if (!group.joins)
        group.last_join = &group.joins;
    *group.last_join = j;
    group.last_join = &j->next;
    return mcclSuccess;
}

static mcclResult_t run_joins(bool wanted)
{
    mcclResult_t r = mcclSuccess;
    for (struct join *j = group.joins; wanted && j; j = j->next) {
        j->threaded = pthread_create(&j->thread, NULL, run_join, j) == 0;
        if (!j->threaded)
            r = j->result = mcclSystemError;
    }
    for (struct join *j = group.joins, *next; j; j = next) {
        next = j->next;
        if (j->threaded)
            pthread_join(j->thread, NULL);
        r = r ? r : j->result;
        free(j);
    }
    group.joins = NULL;
    return r;
}

/* What a stream gets outlives the group. NULL: no memory, and the job is dropped. */
static struct mccl_job *outlive(struct mccl_job *j)
{
    if (j != &group.first)
        return j;
    struct mccl_job *copy = malloc(sizeof *copy);
    if (!copy) {
        mccl_drop_here(j);
        mccl_job_free(j);
        return NULL;
    }
    mccl_job_copy(copy, j);
    if (j->transfers == j->own) {
        copy->transfers = copy->own;
        for (int i = 0; i < j->ntransfers; i++)
            mccl_transfer_copy(&copy->own[i], &j->own[i]);
    }
    group.lent = false;
    return copy;
}

/* Does the jobs or puts them on their streams, or drops them after an error. */
static mcclResult_t run_jobs(mcclResult_t r)
{
    struct mccl_job *jobs = group.jobs;
    group.jobs = NULL;
    if (!r)
        jobs = mccl_do_here(jobs);
    while (jobs) {
        struct mccl_job *next = jobs->next, *j = outlive(jobs);
        jobs = next;
        if (!j) {
            r = r ? r : mcclSystemError;
            continue;
        }
        if (j->way.held) {
            if (r && (j->begun || j->given)) /* the others have a part of it and would wait for the rest */
                fail_launch(j->comm, musaErrorUnknown);
            mcclResult_t went = go_on(j);
            r = r ? r : went;
            continue;
        }
        musaStream_t stream = j->way.stream;
        struct mccl_way *others = j->others;
        int n = j->nothers, device = j->comm->device;
        for (int i = 0; i < n && !r; i++)
            r = link_streams(device, others[i].stream, stream) ? mcclUnhandledMusaError : mcclSuccess;
        if (r) {
            mccl_job_free(j);
            continue;
        }
        j->others = NULL;
        j->nothers = 0;
        r = launch(j);
        for (int i = 0; i < n && !r; i++)
            r = link_streams(device, stream, others[i].stream) ? mcclUnhandledMusaError : mcclSuccess;
        free(others);
    }
    return r;
}

mcclResult_t mcclGroupStart(void)
{
    group.depth++;
    return mcclSuccess;
}

mcclResult_t mcclGroupEnd(void)
{
    if (!group.depth)
        return mcclInvalidUsage;
    if (--group.depth)
        return mcclSuccess;
    mcclResult_t r = group.error;
    group.error = mcclSuccess;
    mcclResult_t joined = run_joins(!r);
    return run_jobs(r ? r : joined);
}
