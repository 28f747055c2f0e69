/* What goes wrong: calls that disagree, ranks that die or leave, ids used twice, bad arguments. Nobody
 * may hang: every wait here is bounded. */
#include "team.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The ranks ask for different things. */
static void disagree(struct rank *r)
{
    int what = *(int *)r->arg;
    char *x = device_bytes(r, 1 << 20);
    size_t count = what == 0 && r->rank ? 100 : what == 3 ? 100000 : 101;
    mcclDataType_t type = what == 1 && r->rank ? mcclFloat32 : mcclInt32;
    mcclRedOp_t op = what == 2 && r->rank ? mcclMax : mcclSum;
    mcclResult_t e = what == 3 && r->rank ? mcclBroadcast(x, x, count, type, 0, r->comm, r->stream)
                                          : mcclAllReduce(x, x, count, type, op, r->comm, r->stream);
    RANK(r, e == mcclSuccess || e == mcclInvalidUsage); /* another may have noticed already */
    RANK(r, settled(r));
    RANK(r, async_error(r, true) == mcclInvalidUsage);
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, r->comm, r->stream) == mcclInvalidUsage);
}

/* The last rank is killed while the others wait for it. */
static void killed(struct rank *r)
{
    char *x = device_bytes(r, 1 << 20);
    RANK(r, mcclAllReduce(x, x, 10, mcclInt32, mcclSum, r->comm, r->stream) == 0);
    RANK(r, settled(r));
    if (r->rank == r->nranks - 1) {
        fflush(stdout);
        _exit(0); /* as kill -9 does, this runs nothing of ours */
    }
    mcclResult_t e = *(int *)r->arg ? mcclRecv(x, 10, mcclInt32, r->nranks - 1, r->comm, r->stream)
                                    : mcclAllReduce(x, x, 200000, mcclInt32, mcclSum, r->comm, r->stream);
    RANK(r, e == mcclSuccess || e == mcclRemoteError); /* another may have noticed already */
    RANK(r, e || musaStreamSynchronize(r->stream) == musaErrorIllegalState);
    RANK(r, async_error(r, false) == mcclRemoteError);
}

static void *end_process(void *unused)
{
    unsigned us = (unsigned)getpid() * 7919u % 20000;
    (void)unused;
    nanosleep(&(struct timespec){0, us * 1000}, NULL);
    _exit(0); /* as kill -9 does, this runs nothing of ours */
}

/* The last rank is killed, or aborts, somewhere in the middle of its work; what a stream gave out as done until then
 * is right. A communicator without that rank goes on. */
static void at_work(struct rank *r)
{
    bool aborts = *(int *)r->arg;
    int *x = device_bytes(r, 1 << 20), n = 1 << 18, ending = r->nranks - 1;
    pthread_t thread;
    if (r->rank == ending && !aborts)
        pthread_create(&thread, NULL, end_process, NULL);
    mcclResult_t e = mcclSuccess;
    musaError_t told = musaSuccess;
    for (int i = 0; !e && !told; i++) {
        for (int k = 0; k < n; k += 1000)
            x[k] = i + r->rank;
        if (r->rank == ending && aborts && i == 20) {
            RANK(r, mcclAllReduce(x, x, (size_t)n, mcclInt32, mcclSum, r->comm, r->stream) == mcclSuccess);
            RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
            r->comm = NULL;
            return;
        }
        size_t count = i % 3 ? (size_t)n : 1000;
        e = i % 2 ? mcclBroadcast(x, x, count, mcclInt32, ending, r->comm, r->stream)
                  : mcclAllReduce(x, x, count, mcclInt32, mcclSum, r->comm, r->stream);
        told = musaStreamSynchronize(r->stream);
        int wanted = i % 2 ? i + ending : r->nranks * i + r->nranks * (r->nranks - 1) / 2;
        for (int k = 0; k < (int)count && !e && !told; k += 1000)
            RANK(r, x[k] == wanted);
    }
    RANK(r, e == mcclRemoteError || told == musaErrorIllegalState);
    RANK(r, async_error(r, false) == mcclRemoteError);
}

/* One communicator fails, another of the same streams does not. */
static void two_communicators(struct rank *r)
{
    mcclComm_t second = NULL;
    int *x = device_bytes(r, 400), devices = 0;
    /* The rank that comes last may find the others at odds already: then the call says so. */
    bool told = mcclAllReduce(x, x, 100 - (size_t)r->rank, mcclInt32, mcclSum, r->comm, r->stream) != mcclSuccess;
    RANK(r, musaStreamSynchronize(r->stream) == (told ? musaSuccess : musaErrorIllegalState));
    if (mcclCommInitRank(&second, r->nranks, *(mcclUniqueId *)r->arg, r->rank)) {
        RANK(r, false);
        return;
    }
    x[0] = 5;
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, second, r->stream) == mcclSuccess);
    RANK(r, musaStreamSynchronize(r->stream) == musaSuccess && x[0] == 5 * r->nranks);
    RANK(r, async_error(r, false) == mcclInvalidUsage);
    RANK(r, musaGetDeviceCount(&devices) == musaSuccess);
    RANK(r, mcclCommDestroy(second) == mcclSuccess);
}

/* The next call on the stream, of another communicator, does not take away what the stream has to tell; and a call
 * leaves captures of other streams alone. */
static void untold(struct rank *r)
{
    mcclComm_t second = NULL;
    musaStream_t other = NULL;
    musaGraph_t graph = NULL;
    int *x = device_bytes(r, 400);
    if (mcclCommInitRank(&second, r->nranks, *(mcclUniqueId *)r->arg, r->rank)) {
        RANK(r, false);
        return;
    }
    RANK(r, musaStreamCreate(&other) == musaSuccess);
    RANK(r, musaStreamBeginCapture(other, musaStreamCaptureModeThreadLocal) == musaSuccess);
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, second, r->stream) == mcclSuccess);
    RANK(r, musaStreamEndCapture(other, &graph) == musaSuccess && musaGraphDestroy(graph) == musaSuccess);
    RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
    bool told = mcclAllReduce(x, x, 100 - (size_t)r->rank, mcclInt32, mcclSum, r->comm, r->stream) != mcclSuccess;
    RANK(r, async_error(r, true) == mcclInvalidUsage);
    nanosleep(&(struct timespec){0, 20000000}, NULL); /* until the stream has done it */
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, second, r->stream) == mcclSuccess);
    RANK(r, musaStreamSynchronize(r->stream) == (told ? musaSuccess : musaErrorIllegalState));
    RANK(r, mcclCommDestroy(second) == mcclSuccess && musaStreamDestroy(other) == musaSuccess);
}

/* One aborts, the others learn of it. */
static void aborted(struct rank *r)
{
    char *x = device_bytes(r, 64);
    if (r->rank == 0) {
        RANK(r, mcclAllReduce(x, x, 10, mcclInt32, mcclSum, r->comm, r->stream) == 0);
        RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
        r->comm = NULL;
        RANK(r, settled(r));
        return;
    }
    RANK(r, async_error(r, true) == mcclRemoteError);
}

/* One has destroyed the communicator that the others still call. */
static void left(struct rank *r)
{
    char *x = device_bytes(r, 64);
    if (r->rank == 0) {
        mcclComm_t gone = r->comm;
        int n;
        RANK(r, mcclCommDestroy(r->comm) == mcclSuccess);
        r->comm = NULL;
        RANK(r, mcclCommCount(gone, &n) == mcclInvalidArgument);
        RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, gone, r->stream) == mcclInvalidArgument);
        return;
    }
    mcclResult_t e = mcclAllReduce(x, x, 10, mcclInt32, mcclSum, r->comm, r->stream);
    RANK(r, e == mcclSuccess || e == mcclRemoteError);
    RANK(r, e || musaStreamSynchronize(r->stream) == musaErrorIllegalState);
    RANK(r, async_error(r, false) == mcclRemoteError);
}

/* Two ranks come as the same one. */
static void twins(struct rank *r)
{
    mcclResult_t e = mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank == 2 ? 1 : r->rank);
    RANK(r, e == mcclInvalidUsage);
}

/* They disagree about how many they are. */
static void miscounted(struct rank *r)
{
    mcclResult_t e = mcclCommInitRank(&r->comm, r->rank ? 3 : 2, r->id, r->rank);
    RANK(r, e == mcclInvalidUsage || e == mcclRemoteError);
}

/* Who made the id is killed before all have come; a child of it lives and holds the socket. */
static void orphaned(struct rank *r)
{
    if (r->rank == r->nranks - 1) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        RANK(r, kill(r->maker, SIGKILL) == 0);
    }
    mcclResult_t e = mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank);
    /* Who comes when that child is dead as well finds nobody: no such id. */
    RANK(r, (e == mcclRemoteError || e == mcclInvalidUsage) && !r->comm);
}

/* An id serves one communicator at a time. */
static void id_twice(struct rank *r)
{
    mcclComm_t again = NULL;
    char *x = device_bytes(r, 4);
    RANK(r, mcclCommInitRank(&again, r->nranks, r->id, r->rank) == mcclInvalidUsage && !again);
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, r->comm, r->stream) == 0);
    RANK(r, musaStreamSynchronize(r->stream) == 0); /* the first one is as it was */
}

static void arguments(struct rank *r)
{
    mcclComm_t c = r->comm, nobody = (mcclComm_t)r, none = NULL;
    musaStream_t s = r->stream;
    int n;
    int *x = device_bytes(r, 400), on_stack[100];
    static const mcclUniqueId empty;
    RANK(r, mcclCommInitRank(NULL, 1, r->id, 0) == mcclInvalidArgument);
    RANK(r, mcclCommInitRank(&none, 0, r->id, 0) == mcclInvalidArgument);
    RANK(r, mcclCommInitRank(&none, 2, r->id, 2) == mcclInvalidArgument);
    RANK(r, mcclCommInitRank(&none, 2, r->id, -1) == mcclInvalidArgument);
    RANK(r, mcclCommInitRank(&none, 1, empty, 0) == mcclInvalidArgument);
    RANK(r, mcclCommInitAll(NULL, 1, NULL) == mcclInvalidArgument);
    RANK(r, mcclCommInitAll(&none, 1, &(int){99}) == mcclInvalidArgument);
    RANK(r, mcclCommInitAll(&none, 2, (int[]){0, 0}) == mcclInvalidUsage);
    RANK(r, mcclGetUniqueId(NULL) == mcclInvalidArgument);
    RANK(r, mcclGetVersion(NULL) == mcclInvalidArgument);
    RANK(r, mcclGetVersion(&n) == mcclSuccess && n == 21104);
    RANK(r, mcclCommCount(c, NULL) == mcclInvalidArgument);
    RANK(r, mcclCommCount(nobody, &n) == mcclInvalidArgument);
    RANK(r, mcclCommUserRank(NULL, &n) == mcclInvalidArgument);
    RANK(r, mcclCommDestroy(nobody) == mcclInvalidArgument);
    RANK(r, mcclCommDestroy(NULL) == mcclSuccess);
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, NULL, s) == mcclInvalidArgument);
    RANK(r, mcclAllReduce(x, x, 1, mcclNumTypes, mcclSum, c, s) == mcclInvalidArgument);
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclNumOps, c, s) == mcclInvalidArgument);
    RANK(r, mcclAllReduce(NULL, x, 1, mcclInt32, mcclSum, c, s) == mcclInvalidArgument);
    RANK(r, mcclAllReduce(x, on_stack, 1, mcclInt32, mcclSum, c, s) == mcclInvalidArgument);
    RANK(r, mcclAllReduce(x, x, 101, mcclInt32, mcclSum, c, s) == mcclInvalidArgument);
    RANK(r, mcclAllReduce(x, x, (size_t)1 << 60, mcclInt32, mcclSum, c, s) == mcclInvalidArgument);
    RANK(r, mcclBroadcast(x, x, 1, mcclInt32, 2, c, s) == mcclInvalidArgument);
    RANK(r, mcclBroadcast(x, x, 1, mcclInt32, -1, c, s) == mcclInvalidArgument);
    RANK(r, mcclSend(x, 1, mcclInt32, 2, c, s) == mcclInvalidArgument);
    RANK(r, mcclAllReduce(NULL, NULL, 0, mcclInt32, mcclSum, c, s) == mcclSuccess);
    RANK(r, mcclGroupEnd() == mcclInvalidUsage);
    mcclGroupStart(); /* one wrong call, and nothing of the group is done */
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, c, s) == mcclSuccess);
    RANK(r, mcclSend(NULL, 1, mcclInt32, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclGroupEnd() == mcclInvalidArgument);
    RANK(r, !strcmp(mcclGetErrorString(mcclSuccess), "no error"));
    RANK(r, !strcmp(mcclGetErrorString((mcclResult_t)77), "unknown result code"));
    x[0] = 5;
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclSum, c, s) == mcclSuccess);
    RANK(r, musaStreamSynchronize(s) == musaSuccess && x[0] == 10);
    for (int i = 0; i < 20; i++) { /* what was known is forgotten when it is freed, and may come again shorter */
        int *y = device_bytes(r, 4000), *z = device_bytes(r, 400);
        y[999] = x[0] = 1;
        RANK(r, mcclAllReduce(&y[999], &y[999], 1, mcclInt32, mcclSum, c, s) == mcclSuccess);
        RANK(r, mcclAllReduce(z, z, 100, mcclInt32, mcclSum, c, s) == mcclSuccess);
        RANK(r, musaStreamSynchronize(s) == musaSuccess && y[999] == 2);
        RANK(r, musaFree(y) == musaSuccess);
        RANK(r, mcclAllReduce(y, x, 1, mcclInt32, mcclSum, c, s) == mcclInvalidArgument);
        RANK(r, mcclSend(&y[999], 1, mcclInt32, 1 - r->rank, c, s) == mcclInvalidArgument);
        RANK(r, musaFree(z) == musaSuccess);
        y = device_bytes(r, 400);
        RANK(r, mcclAllReduce(y, y, 101, mcclInt32, mcclSum, c, s) == mcclInvalidArgument);
        RANK(r, musaFree(y) == musaSuccess);
    }
}

/* The two sides of a message differ in length. */
static void lengths(struct rank *r)
{
    char *x = device_bytes(r, 100);
    if (r->rank)
        RANK(r, mcclSend(x, 9, mcclInt8, 0, r->comm, r->stream) == 0);
    else
        RANK(r, mcclRecv(x, 10, mcclInt8, 1, r->comm, r->stream) == 0);
    RANK(r, settled(r));
    RANK(r, async_error(r, true) == mcclInvalidUsage);
}

int main(void)
{
    setenv("CUMU_HOST_DEVICES", "4", 1);
    static const char *const what[] = {"counts", "types", "operations", "collectives"};
    for (int i = 0; i < 5; i++)
        report(team_run(PROCESSES, 3, true, at_work, &(int){i == 4}), "a rank %s at work, processes",
               i == 4 ? "aborts" : "dies");
    for (int i = 0; i < 2; i++)
        report(team_run(PROCESSES, 3, true, killed, &i), "a rank dies: %s", i ? "receive" : "all-reduce");
    if (!getenv("TEAM_PIDS")) /* there nobody can kill it */
        report(team_run(PROCESSES, 3, false, orphaned, NULL), "who made the id dies");
    for (int team = PROCESSES; team >= THREADS; team--) {
        const char *as = team ? "processes" : "threads";
        for (int i = 0; i < 4; i++)
            report(team_run((enum team)team, 3, true, disagree, &i), "different %s, %s", what[i], as);
        report(team_run((enum team)team, 3, true, aborted, NULL), "abort, %s", as);
        report(team_run((enum team)team, 3, true, left, NULL), "destroyed by one, %s", as);
        report(team_run((enum team)team, 3, false, twins, NULL), "a rank twice, %s", as);
        report(team_run((enum team)team, 3, false, miscounted, NULL), "different numbers of ranks, %s", as);
        report(team_run((enum team)team, 2, true, id_twice, NULL), "an id used twice, %s", as);
        report(team_run((enum team)team, 2, true, arguments, NULL), "arguments, %s", as);
        if (team == THREADS) {
            mcclUniqueId id;
            report(!mcclGetUniqueId(&id) && team_run(THREADS, 3, true, two_communicators, &id), "two communicators");
            report(!mcclGetUniqueId(&id) && team_run(THREADS, 3, true, untold, &id), "a failure that is told later");
            report(team_run(THREADS, 4, true, at_work, &(int){1}), "a rank aborts at work, threads");
        }
        report(team_run((enum team)team, 2, true, lengths, NULL), "lengths of a message, %s", as);
    }
    return check_end("mccl failure");
}
