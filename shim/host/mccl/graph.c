/* Jobs in graphs: a call that a stream captures is a node, whose turn among the communicator's jobs is drawn by each
 * launch. */
#include <pthread.h>
#include <stdlib.h>

#include "host/driver/callback.h"
#include "host/mccl/mccl.h"

/* A job in a graph runs as often as that is launched, and belongs to the communicator. Its turn is where the launch was
 * called, not where it runs: so calls that are in graphs and calls that are not have the same order on all ranks. */
struct mccl_launch {
    uint32_t ticket;
    struct mccl_launch *next;
};

static pthread_mutex_t launches = PTHREAD_MUTEX_INITIALIZER;

static void launched(void *job)
{
    struct mccl_job *j = job;
    struct mccl_launch *made = malloc(sizeof *made), **last = &j->launches;
    if (!made) /* then its turn is where it runs */
        return;
    pthread_mutex_lock(&launches);
    *made = (struct mccl_launch){.ticket = mccl_issue(j)};
    while (*last)
        last = &(*last)->next;
    *last = made;
    pthread_mutex_unlock(&launches);
}

/* Of the first launch that is to come; where none was told of (the body of a conditional node), drawn now. */
static uint32_t ticket_of(struct mccl_job *j)
{
    pthread_mutex_lock(&launches);
    struct mccl_launch *l = j->launches;
    if (l)
        j->launches = l->next;
    pthread_mutex_unlock(&launches);
    const uint32_t ticket = l ? l->ticket : mccl_issue(j);
    free(l);
    return ticket;
}

static void in_graph(void *job) { mccl_run_job(job, ticket_of(job), true); }
static void skipped(void *job) { mccl_run_job(job, ticket_of(job), false); }

musaError_t mccl_capture_job(struct mccl_job *j)
{
    static const struct cumu_host_watch watch = {in_graph, launched, skipped};
    mcclComm_t c = j->comm;
    const MUstream s = j->way.stream;
    MUstreamCaptureStatus status;
    uint64_t id = 0;
    const MUgraphNode *last = NULL;
    size_t n = 0;
    cumu_host_watch(&watch);
    if (mccl_one_sided(j))
        return musaLaunchHostFunc(s, in_graph, j);
    MUresult r = muStreamGetCaptureInfo_v2(s, &status, &id, NULL, &last, &n);
    if (!r && c->node && c->capture == id)
        (void)muStreamUpdateCaptureDependencies(s, &c->node, 1, MU_STREAM_ADD_CAPTURE_DEPENDENCIES);
    musaError_t failed = musaLaunchHostFunc(s, in_graph, j);
    if (!failed && !r && !muStreamGetCaptureInfo_v2(s, &status, &id, NULL, &last, &n) && n == 1) {
        c->capture = id;
        c->node = last[0];
    }
    return failed;
}
