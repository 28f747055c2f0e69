/* Groups, and how jobs get onto streams. What is called between mcclGroupStart and mcclGroupEnd waits in
 * a list of the thread; the end joins new communicators side by side, makes one job of all transfers of
 * a communicator and puts every job on its stream. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/callback.h"
#include "host/mccl/mccl.h"

/* Looks at the others before a short collective goes to the stream: < 0.1 ms. With more ranks than CPUs
 * each look lets another rank run. */
#define PATIENCE 5000
#define TURNS 60

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
} group;

void mccl_job_free(struct mccl_job *job)
{
    if (!job)
        return;
    free(job->transfers);
    free(job->others);
    free(job->waits);
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

/* In its turn. If it fails, its data are not what the stream's later work expects: the number of the failure, which
 * the stream tells if this is one of its callbacks. Who aborts knows that what was under way has no result. */
static int run(struct mccl_job *j, uint32_t ticket, bool healthy)
{
    mcclComm_t c = j->comm;
    if (!mccl_one_sided(j))
        mccl_wait_turn(c, ticket);
    mcclResult_t r = mccl_state(c);
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
    int none = 0, failure = 0;
    if (r)
        atomic_compare_exchange_strong(&c->error, &none, (int)r);
    if (r && !c->aborting) {
        mccl_tell(c, j->kind, j->ntransfers == 1 ? j->transfers : NULL);
        failure = cumu_host_fail(MUSA_ERROR_ILLEGAL_STATE);
        c->failures[c->nfailures++ % MCCL_AHEAD] = failure;
    }
    if (mccl_one_sided(j))
        mccl_flown(c);
    else
        mccl_turn_done(c);
    return failure;
}

static void fail_again(musaStream_t stream, musaError_t status, void *failure)
{
    (void)stream, (void)status;
    cumu_host_fail((int)(intptr_t)failure);
}

static void on_stream(musaStream_t stream, musaError_t status, void *job)
{
    (void)stream;
    run(job, ((struct mccl_job *)job)->ticket, status == musaSuccess);
    mccl_job_free(job);
}

/* A one-sided job is counted, any other draws its ticket. */
static uint32_t issue(const struct mccl_job *j)
{
    return mccl_one_sided(j) ? atomic_fetch_add(&j->comm->flying, 1) : j->comm->issued++;
}

static void in_graph(void *job) /* as often as the graph is launched: the communicator owns the job */
{
    run(job, issue(job), true);
}

static bool handle_of_thread(musaStream_t s) /* means another stream on each device and thread */
{
    return !s || s == MU_STREAM_LEGACY || s == MU_STREAM_PER_THREAD;
}

/* The streams of a group's transfers wait for each other before and after. */
static musaError_t link_streams(musaStream_t from, musaStream_t to)
{
    musaEvent_t event;
    musaError_t r = musaEventCreateWithFlags(&event, musaEventDisableTiming);
    if (r)
        return r;
    r = musaEventRecord(event, from);
    r = r ? r : musaStreamWaitEvent(to, event, 0);
    musaEventDestroy(event);
    return r;
}

/* Has everything that this stream's next work would wait for been done, and does it not capture? The driver
 * is asked, because the runtime's functions take twice its time. */
static bool idle(musaStream_t s)
{
    MUstreamCaptureStatus capture;
    unsigned flags = 0;
    return !muStreamIsCapturing(s, &capture) && !capture && !muStreamGetFlags(s, &flags) &&
           !muStreamQuery(flags & MU_STREAM_NON_BLOCKING ? s : MU_STREAM_LEGACY);
}

/* A short collective on an idle stream need not be handed to a thread of the device: it may begin now, and
 * if the others are here already it is done at once. */
bool mccl_done_here(struct mccl_job *j)
{
    mcclComm_t c = j->comm;
    if (group.depth || c->issued != c->finished || c->error || handle_of_thread(j->stream) || !idle(j->stream) ||
        !mccl_begin_short(j))
        return false;
    for (int i = 0; i < (c->crowded ? TURNS : PATIENCE); i++) {
        if (mccl_all_given(j)) {
            int failure = run(j, c->issued++, true);
            if (failure)
                (void)musaStreamAddCallback(j->stream, fail_again, (void *)(intptr_t)failure, 0);
            return true;
        }
        if (c->crowded)
            sched_yield();
        else
            mccl_pause();
    }
    return false;
}

static void fail_launch(mcclComm_t c, musaError_t why)
{
    mccl_fail(c, mcclRemoteError, "rank %d cannot put its call on a stream: error %d", c->rank, (int)why);
}

/* Puts a job onto its stream: as a callback that waits for its turn among the communicator's jobs, or as a node of a
 * graph that the stream captures. A job that cannot be launched takes its turn and fails, because the other ranks
 * wait for it. */
static mcclResult_t launch(struct mccl_job *j)
{
    mcclComm_t c = j->comm;
    int device = c->device;
    if (handle_of_thread(j->stream) && musaGetDevice(&device) == musaSuccess && device != c->device)
        musaSetDevice(c->device);
    musaStreamCaptureStatus capture = musaStreamCaptureStatusNone;
    musaError_t r = musaStreamIsCapturing(j->stream, &capture);
    if (r && r != musaErrorInvalidResourceHandle &&
        (r < musaErrorStreamCaptureUnsupported || r > musaErrorStreamCaptureWrongThread)) /* no mistake of the call */
        fail_launch(c, r);
    if (!r && capture == musaStreamCaptureStatusActive) {
        j->captured = true;
        r = musaLaunchHostFunc(j->stream, in_graph, j);
        if (!r) {
            j->next = c->captured;
            c->captured = j;
        }
    } else if (!r) {
        j->ticket = issue(j);
        r = musaStreamAddCallback(j->stream, on_stream, j, 0);
        if (r) { /* the others will wait for this rank in vain */
            fail_launch(c, r);
            if (mccl_one_sided(j))
                mccl_flown(c);
            else {
                mccl_wait_turn(c, j->ticket);
                mccl_turn_done(c);
            }
        }
    }
    if (device != c->device)
        musaSetDevice(device);
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

mcclResult_t mccl_submit_transfer(mcclComm_t comm, const struct mccl_transfer *t, musaStream_t stream)
{
    struct mccl_job *j = calloc(1, sizeof *j);
    struct mccl_transfer *copy = malloc(sizeof *copy);
    if (!j || !copy) {
        free(j);
        free(copy);
        return mccl_group_fail(mcclSystemError);
    }
    *copy = *t;
    *j = (struct mccl_job){.comm = comm, .kind = MCCL_P2P, .transfers = copy, .ntransfers = 1, .stream = stream};
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

/* Joins the transfers of job's communicator that follow it in the list to it. */
static mcclResult_t merge(struct mccl_job *job)
{
    int n = 0;
    for (const struct mccl_job *k = job; k; k = k->next)
        n += k->comm == job->comm && k->kind == MCCL_P2P ? k->ntransfers : 0;
    struct mccl_transfer *all = n > 1 ? realloc(job->transfers, (size_t)n * sizeof *all) : NULL;
    if (n == 1)
        return mcclSuccess;
    if (!all)
        return mcclSystemError;
    job->transfers = all;
    musaStream_t *joined = malloc((size_t)n * sizeof *joined); /* each other stream once */
    if (!joined)
        return mcclSystemError;
    int njoined = 0;
    mcclResult_t r = mcclSuccess;
    for (struct mccl_job **link = &job->next, *k; (k = *link);) {
        if (k->comm != job->comm || k->kind != MCCL_P2P) {
            link = &k->next;
            continue;
        }
        all[job->ntransfers++] = k->transfers[0];
        bool known = k->stream == job->stream;
        for (int i = 0; i < njoined; i++)
            known = known || joined[i] == k->stream;
        if (!known && link_streams(k->stream, job->stream))
            r = mcclUnhandledMusaError;
        if (!known)
            joined[njoined++] = k->stream;
        *link = k->next;
        mccl_job_free(k);
    }
    job->others = joined;
    job->nothers = njoined;
    return r;
}

/* Puts the jobs on their streams, or drops them after an error. */
static mcclResult_t run_jobs(mcclResult_t r)
{
    struct mccl_job *jobs = group.jobs;
    group.jobs = NULL;
    while (jobs) {
        struct mccl_job *j = jobs;
        if (!r && j->kind == MCCL_P2P)
            r = merge(j);
        jobs = j->next;
        if (r) {
            mccl_job_free(j);
            continue;
        }
        musaStream_t stream = j->stream, *others = j->others;
        int n = j->nothers;
        j->others = NULL;
        r = launch(j);
        for (int i = 0; i < n && !r; i++)
            r = link_streams(stream, others[i]) ? mcclUnhandledMusaError : mcclSuccess;
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
