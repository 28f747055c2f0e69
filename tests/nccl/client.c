/* A program of NCCL and the CUDA runtime, linked as any other: ranks as threads or as processes, each of which
 * checks what it gets.
 * Usage: client threads|processes|launcher|grow|death|death0|group [N]; death0: of rank 0; grow: that alone, by
 * processes. With TEAM_HOSTS processes are in network namespaces, which stand for hosts. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_functions.h"

#include "../netns.h"

typedef struct {
    char internal[128];
} ncclUniqueId;
typedef void *ncclComm_t;
enum { ncclSuccess, ncclInvalidArgument = 4, ncclInvalidUsage, ncclRemoteError, ncclInProgress };
enum { ncclInt32 = 2, ncclFloat32 = 7, ncclSum = 0, NOCOLOR = -1, ABORT = 1, SYMMETRIC = 1 };
typedef struct { /* as of 2.14 */
    size_t size;
    unsigned magic, version;
    int blocking;
} ncclConfig_t;

struct team {
    int ranks, rank, stride;
};
struct team ncclTeamWorld(ncclComm_t), ncclTeamLsa(ncclComm_t), ncclTeamRail(ncclComm_t);
int ncclTeamRankToWorld(ncclComm_t, struct team, int), ncclTeamRankToLsa(ncclComm_t, struct team, int);
int ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int);
int ncclCommInitRankConfig(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);

enum { MAX = 16, COUNT = 1000 };
static struct shared {
    ncclUniqueId id[4];
    volatile int ready;
} * shared;

struct rank {
    int rank, n, wrong;
    ncclComm_t comm;
    void *stream;
    int *device, *host; /* MAX * COUNT elements each, and as many behind */
};
#define RANK(r, cond) \
    ((cond) ? (void)0 \
            : (void)((r)->wrong++, \
                     printf("# rank %d: line %d: %s (%s)\n", (r)->rank, __LINE__, #cond, ncclGetLastError(NULL))))

static void put(struct rank *r, int count, int (*value)(int rank, int i))
{
    for (int i = 0; i < count; i++)
        r->host[i] = value(r->rank, i);
    RANK(r, cudaMemcpy(r->device, r->host, (size_t)count * sizeof(int), 1) == 0);
}

static void get(struct rank *r, int count)
{
    RANK(r, cudaStreamSynchronize(r->stream) == 0);
    RANK(r, cudaMemcpy(r->host, r->device + MAX * COUNT, (size_t)count * sizeof(int), 2) == 0);
}

static int tagged(int rank, int i) { return rank * 100000 + i; }

/* The sum over a communicator whose rank k is `member[k]` of the whole. */
static void sums(struct rank *r, ncclComm_t comm, const int *member, int n)
{
    int count = -1, want = 0, mine = -1;
    RANK(r, ncclCommCount(comm, &count) == 0 && count == n);
    struct team all = ncclTeamWorld(comm), near = ncclTeamLsa(comm), rail = ncclTeamRail(comm);
    RANK(r, ncclCommUserRank(comm, &mine) == 0 && all.ranks == n && all.rank == mine && all.stride == 1);
    RANK(r, near.ranks == 1 && near.rank == 0 && !memcmp(&rail, &all, sizeof rail));
    RANK(r, ncclTeamRankToWorld(comm, near, 0) == mine && ncclTeamRankToLsa(comm, near, 0) == 0);
    for (int i = 0; i < n; i++)
        RANK(r, ncclTeamRankToWorld(comm, all, i) == i);
    put(r, COUNT, tagged);
    RANK(r, ncclAllReduce(r->device, r->device + MAX * COUNT, COUNT, ncclInt32, ncclSum, comm, r->stream) == 0);
    get(r, COUNT);
    for (int i = 0, bad = 0; i < COUNT && !bad; i++) {
        want = 0;
        for (int k = 0; k < n; k++)
            want += tagged(member[k], i);
        bad = r->host[i] != want;
        RANK(r, !bad);
    }
}

static void transfers(struct rank *r)
{
    int *out = r->device + MAX * COUNT;
    put(r, r->n * COUNT, tagged);
    RANK(r, ncclAlltoAll(r->device, out, COUNT, ncclInt32, r->comm, r->stream) == 0);
    get(r, r->n * COUNT);
    bool good = true;
    for (int k = 0; k < r->n; k++)
        for (int i = 0; i < COUNT; i++)
            good = good && r->host[k * COUNT + i] == tagged(k, r->rank * COUNT + i);
    RANK(r, good);
    RANK(r, ncclGather(r->device, out, COUNT, ncclInt32, r->n - 1, r->comm, r->stream) == 0);
    if (r->rank == r->n - 1) {
        get(r, r->n * COUNT);
        for (int k = 0; k < r->n; k++)
            for (int i = 0; i < COUNT; i++)
                good = good && r->host[k * COUNT + i] == tagged(k, i);
        RANK(r, good);
    }
    put(r, r->n * COUNT, tagged);
    RANK(r, ncclScatter(r->rank == 0 ? r->device : NULL, out, COUNT, ncclInt32, 0, r->comm, r->stream) == 0);
    get(r, COUNT);
    for (int i = 0; i < COUNT; i++)
        good = good && r->host[i] == tagged(0, r->rank * COUNT + i);
    RANK(r, good);
}

/* Odd and even ranks, in reverse order; the last rank is in none. */
static void splits(struct rank *r)
{
    int member[MAX], n = 0, mine = -1, last = r->n - 1;
    ncclComm_t child = r;
    for (int k = r->n - 1; k >= 0; k--)
        if (k != last && k % 2 == r->rank % 2)
            member[n++] = k;
    RANK(r, ncclCommSplit(r->comm, r->rank == last ? NOCOLOR : r->rank % 2, -r->rank, &child, NULL) == 0);
    RANK(r, (r->rank == last) == (child == NULL));
    if (!child)
        return;
    RANK(r, ncclCommUserRank(child, &mine) == 0 && mine >= 0 && mine < n && member[mine] == r->rank);
    sums(r, child, member, n);
    RANK(r, ncclCommDestroy(child) == 0);
}

static int without(const struct rank *r, int gone, int *member)
{
    int n = 0;
    for (int k = 0; k < r->n; k++)
        if (k != gone)
            member[n++] = k;
    return n;
}

static void shrinks(struct rank *r)
{
    int member[MAX], gone[] = {1}, n = without(r, 1, member);
    ncclComm_t child = NULL;
    if (r->rank == gone[0])
        return;
    RANK(r, ncclCommShrink(r->comm, gone, 1, &child, NULL, 0) == 0);
    sums(r, child, member, n);
    RANK(r, ncclCommDestroy(child) == 0);
}

static void windows(struct rank *r)
{
    void *p = NULL, *window = NULL;
    RANK(r, ncclMemAlloc(&p, 1 << 20) == 0);
    RANK(r, ncclCommWindowRegister(r->comm, p, 1 << 20, &window, SYMMETRIC) == 0 && window);
    RANK(r, ncclCommWindowDeregister(r->comm, window) == 0);
    size_t size = r->rank ? 4096 : 8192; /* not symmetric: an error on every rank, no hang */
    RANK(r, ncclCommWindowRegister(r->comm, p, size, &window, SYMMETRIC) == ncclInvalidArgument && !window);
    RANK(r, strstr(ncclGetLastError(r->comm), r->rank ? "8192 bytes" : "4096 bytes"));
    RANK(r, ncclMemFree(p) == 0);
}

static int settled(ncclComm_t comm)
{
    int error = ncclInProgress;
    for (int i = 0; i < 60000 && error == ncclInProgress; i++) {
        if (ncclCommGetAsyncError(comm, &error))
            return -1;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return error;
}

/* Init, split and finalize that do not wait; and a communicator that is aborted before the others come. */
static void background(struct rank *r)
{
    ncclConfig_t config = {sizeof config, 0xcafebeef, 21400, 0};
    ncclComm_t comm = NULL, child = NULL, lonely = NULL;
    int all[MAX];
    for (int k = 0; k < r->n; k++)
        all[k] = k;
    RANK(r, ncclCommInitRankConfig(&comm, r->n, shared->id[1], r->rank, &config) == ncclInProgress && comm);
    RANK(r, settled(comm) == ncclSuccess);
    sums(r, comm, all, r->n);
    RANK(r, ncclCommSplit(comm, 0, r->rank, &child, NULL) == ncclInProgress); /* its parent's configuration */
    RANK(r, settled(child) == ncclSuccess);
    sums(r, child, all, r->n);
    RANK(r, ncclCommFinalize(child) == ncclInProgress);
    RANK(r, settled(child) == ncclSuccess);
    RANK(r, ncclAllReduce(r->device, r->device, 1, ncclInt32, ncclSum, child, r->stream) == ncclInvalidUsage);
    RANK(r, ncclCommDestroy(child) == 0);
    RANK(r, ncclCommDestroy(comm) == 0);
    if (r->rank)
        return;
    RANK(r, ncclCommInitRankConfig(&lonely, 2, shared->id[2], 0, &config) == ncclInProgress);
    RANK(r, ncclCommCount(lonely, all) == ncclInvalidArgument);
    RANK(r, ncclCommAbort(lonely) == 0);
    RANK(r, ncclCommCount(lonely, all) == ncclInvalidArgument);
}

/* Half of the first m ranks are a communicator, to which the other half comes: for each m up to all. Its last rank
 * makes the id, and the program brings it to the others, here through the communicator of all. */
static void grows(struct rank *r)
{
    ncclConfig_t background = {sizeof background, 0xcafebeef, 21400, 0};
    int all[MAX];
    for (int k = 0; k < r->n; k++)
        all[k] = k;
    for (int m = 2; m <= r->n; m++) {
        const int before = (m + 1) / 2;
        const bool old = r->rank < before, waits = m % 2;
        ncclComm_t parent = NULL, grown = NULL;
        ncclUniqueId id = {{0}}, again;
        RANK(r, ncclCommSplit(r->comm, old ? 0 : NOCOLOR, r->rank, &parent, NULL) == 0);
        if (r->rank == before - 1) {
            if (ncclCommGetUniqueId(parent, &id) == 0)
                RANK(r, ncclCommGetUniqueId(parent, &again) == ncclInvalidUsage);
            RANK(r, cudaMemcpy(r->device, &id, sizeof id, 1) == 0);
        }
        RANK(r, ncclBroadcast(r->device, r->device, sizeof id, 0, before - 1, r->comm, r->stream) == 0);
        RANK(r, cudaStreamSynchronize(r->stream) == 0);
        RANK(r, cudaMemcpy(&id, r->device, sizeof id, 2) == 0);
        const bool made = memcmp(&id, &(ncclUniqueId){{0}}, sizeof id) != 0; /* else nobody is to wait for the others */
        RANK(r, made);
        if (old)
            RANK(r, ncclCommGrow(parent, before, NULL, -1, &grown, NULL) == ncclInvalidArgument);
        if (r->rank < m && made) {
            const int want = waits ? ncclSuccess : ncclInProgress;
            ncclConfig_t *config = waits ? NULL : &background;
            RANK(r, (old ? ncclCommGrow(parent, m, NULL, -1, &grown, config)
                         : ncclCommGrow(NULL, m, &id, r->rank, &grown, config)) == want);
            RANK(r, settled(grown) == ncclSuccess);
            sums(r, grown, all, m);
            if (old) /* nobody has made another one */
                RANK(r, ncclCommGrow(parent, m, NULL, -1, &(ncclComm_t){NULL}, NULL) == ncclInvalidUsage);
            RANK(r, ncclCommDestroy(grown) == 0);
        }
        if (old)
            RANK(r, ncclCommDestroy(parent) == 0);
    }
}

/* A rank is killed; the others hear of it, and go on without. What it has taken part in is done for all: another rank
 * stops in the middle of that, and sees the data and the death only when both have long been there. */
static bool death, first_dies, only_grows;
static int who_dies(int n) { return first_dies ? 0 : n - 1; }
static int who_stops(int n) { return first_dies ? n - 1 : 0; }
static void last_call(struct rank *r)
{
    put(r, COUNT, tagged);
    if (r->rank == who_dies(r->n)) /* the others are in it by then */
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    RANK(r, ncclAllReduce(r->device, r->device + MAX * COUNT, COUNT, ncclInt32, ncclSum, r->comm, r->stream) == 0);
    if (r->rank == who_stops(r->n))
        raise(SIGSTOP); /* until main() has given the other one time to die */
    get(r, COUNT);
    int want = 0;
    for (int k = 0; k < r->n; k++)
        want += tagged(k, 7);
    RANK(r, r->host[7] == want);
}

static void survives(struct rank *r)
{
    int member[MAX], gone[] = {who_dies(r->n)}, n = without(r, gone[0], member), error = 0;
    ncclComm_t child = NULL;
    last_call(r);
    if (r->rank == gone[0])
        kill(getpid(), SIGKILL);
    int e = ncclAllReduce(r->device, r->device, COUNT, ncclInt32, ncclSum, r->comm, r->stream);
    RANK(r, e == ncclRemoteError || (!e && (r->rank || cudaStreamSynchronize(r->stream)))); /* 0 only aborts */
    for (int i = 0; i < 60000 && !error; i++) {
        RANK(r, ncclCommGetAsyncError(r->comm, &error) == 0);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    RANK(r, error == ncclRemoteError);
    RANK(r, ncclCommShrink(r->comm, gone, 1, &child, NULL, ABORT) == 0);
    sums(r, child, member, n);
    RANK(r, ncclCommDestroy(child) == 0);
    RANK(r, ncclCommAbort(r->comm) == 0);
}

/* Work that can never be done (a rank does not take part) is stopped; those that are left go on. */
static void revokes(struct rank *r)
{
    int member[MAX], gone[] = {r->n - 1}, n = without(r, gone[0], member);
    ncclComm_t child = NULL;
    if (r->rank != gone[0]) { /* another may have revoked it already */
        int e = ncclAllReduce(r->device, r->device, COUNT, ncclInt32, ncclSum, r->comm, r->stream);
        RANK(r, e == ncclSuccess || e == ncclRemoteError);
    }
    RANK(r, ncclCommRevoke(r->comm, 0) == 0);
    if (r->rank == gone[0])
        return;
    RANK(r, ncclCommShrink(r->comm, gone, 1, &child, NULL, ABORT) == 0);
    sums(r, child, member, n);
    RANK(r, ncclCommDestroy(child) == 0);
}

static bool set_up(struct rank *r)
{
    int devices = 0;
    RANK(r, cudaGetDeviceCount(&devices) == 0 && devices > 0);
    RANK(r, cudaSetDevice(r->rank % (devices ? devices : 1)) == 0);
    RANK(r, cudaStreamCreate(&r->stream) == 0);
    RANK(r, ncclMemAlloc((void **)&r->device, 2 * MAX * COUNT * sizeof(int)) == 0);
    r->host = malloc(2 * MAX * COUNT * sizeof(int));
    return !r->wrong && r->host;
}

static void *run(void *arg)
{
    struct rank *r = arg;
    int all[MAX];
    for (int k = 0; k < r->n; k++)
        all[k] = k;
    if (!set_up(r))
        return NULL;
    if (r->rank == 0 && !shared->ready) {
        for (int i = 0; i < 4; i++)
            RANK(r, ncclGetUniqueId(&shared->id[i]) == 0);
        __sync_synchronize();
        shared->ready = 1;
    }
    while (!shared->ready)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    RANK(r, ncclCommInitRank(&r->comm, r->n, shared->id[0], r->rank) == 0);
    if (!r->comm)
        return NULL;
    sums(r, r->comm, all, r->n);
    if (death) {
        survives(r);
        return NULL;
    }
    if (!only_grows) {
        transfers(r);
        splits(r);
        shrinks(r);
    }
    grows(r);
    if (only_grows)
        return NULL;
    windows(r);
    background(r);
    revokes(r);
    RANK(r, ncclCommDestroy(r->comm) == 0);
    RANK(r, cudaStreamDestroy(r->stream) == 0);
    return NULL;
}

/* All ranks in one thread: what needs the others must wait for the end of the group. */
/* What a group would take, which is then not done: communicators side by side, of each the calls. */
static void estimate(struct rank *r)
{
    struct {
        size_t size;
        unsigned magic, version;
        float time;
    } info = {sizeof info, 0x74685283u, 22809, -1};
    double bytes = 4.0 * COUNT;
    RANK(r, ncclGroupStart() == 0);
    for (int k = 0; k < r->n; k++) {
        RANK(r, ncclAllReduce(r[k].device, r[k].device, COUNT, ncclInt32, ncclSum, r[k].comm, r[k].stream) == 0);
        RANK(r, ncclSend(r[k].device, COUNT, ncclInt32, 0, r[k].comm, r[k].stream) == 0);
    }
    RANK(r, ncclGroupSimulateEnd(&info) == 0);
    double want = 2 * 10 + (2 * bytes * (r->n - 1) / r->n + bytes) / 20e3;
    RANK(r, info.time > 0.999 * want && info.time < 1.001 * want);
}

static void *run_group(void *arg)
{
    struct rank *r = arg;
    int n = r->n, wrong = 0;
    ncclComm_t child[MAX], grown[MAX];
    ncclUniqueId id;
    void *window[MAX];
    for (int k = 0; k < n; k++)
        if (!set_up(&r[k]))
            return NULL;
    RANK(r, ncclGetUniqueId(&shared->id[0]) == 0);
    RANK(r, ncclGroupStart() == 0);
    for (int k = 0; k < n; k++) {
        cudaSetDevice(k);
        RANK(r, ncclCommInitRank(&r[k].comm, n, shared->id[0], k) == 0);
    }
    RANK(r, ncclGroupEnd() == 0);
    RANK(r, ncclGroupStart() == 0);
    for (int k = 0; k < n; k++)
        RANK(r, ncclCommSplit(r[k].comm, k / 2, k, &child[k], NULL) == 0);
    for (int k = 0; k < n; k++)
        RANK(r, ncclCommWindowRegister(r[k].comm, r[k].device, COUNT, &window[k], SYMMETRIC) == 0);
    RANK(r, ncclGroupEnd() == 0);
    estimate(r);
    for (int k = 0; k < n; k++)
        put(&r[k], COUNT, tagged);
    RANK(r, ncclGroupStart() == 0);
    for (int k = 0; k < n; k++)
        RANK(r, ncclAllReduce(r[k].device, r[k].device + MAX * COUNT, COUNT, ncclInt32, ncclSum, child[k],
                              r[k].stream) == 0);
    RANK(r, ncclGroupEnd() == 0);
    for (int k = 0; k < n; k++) {
        int first = k / 2 * 2;
        get(&r[k], COUNT);
        RANK(r, r[k].host[7] == tagged(first, 7) + (first + 1 < n ? tagged(first + 1, 7) : 0));
    }
    /* Ranks 0 and 1 and those that come to them. */
    RANK(r, ncclCommGetUniqueId(child[0], &id) == 0);
    RANK(r, ncclGroupStart() == 0);
    for (int k = 0; k < n; k++) {
        cudaSetDevice(k);
        RANK(r, ncclCommGrow(k < 2 ? child[k] : NULL, n, &id, k < 2 ? -1 : k, &grown[k], NULL) == 0);
    }
    RANK(r, ncclGroupEnd() == 0);
    RANK(r, ncclGroupStart() == 0);
    for (int k = 0; k < n; k++)
        RANK(r, ncclAllReduce(r[k].device, r[k].device + MAX * COUNT, COUNT, ncclInt32, ncclSum, grown[k],
                              r[k].stream) == 0);
    RANK(r, ncclGroupEnd() == 0);
    for (int k = 0; k < n; k++) {
        get(&r[k], COUNT);
        RANK(r, r[k].host[7] == 100000 * (n * (n - 1) / 2) + 7 * n);
        RANK(r, ncclCommDestroy(grown[k]) == 0);
    }
    for (int k = 0; k < n; k++) {
        RANK(r, ncclCommDestroy(child[k]) == 0);
        RANK(r, ncclCommDestroy(r[k].comm) == 0);
        wrong += r[k].wrong;
    }
    r->wrong = wrong;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "threads";
    int n = argc > 2 ? atoi(argv[2]) : 4, wrong = 0;
    struct rank r[MAX] = {0};
    pthread_t thread[MAX];
    pid_t child[MAX];
    first_dies = strcmp(how, "death0") == 0;
    only_grows = strcmp(how, "grow") == 0;
    death = first_dies || strcmp(how, "death") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n < 3 || n > MAX || shared == MAP_FAILED)
        return 2;
    for (int k = 0; k < n; k++) {
        r[k].rank = k;
        r[k].n = n;
    }
    if (strcmp(how, "group") == 0)
        run_group(r);
    else if (strcmp(how, "threads") == 0) {
        for (int k = 0; k < n; k++)
            pthread_create(&thread[k], NULL, run, &r[k]);
        for (int k = 0; k < n; k++)
            pthread_join(thread[k], NULL);
    } else {
        /* As a launcher does it, or by the first rank. */
        for (int i = 0; i < 4 && strcmp(how, "launcher") == 0; i++)
            shared->ready = ncclGetUniqueId(&shared->id[i]) == 0;
        for (int k = 0; k < n; k++)
            if ((child[k] = fork()) == 0) {
                enter_host(k);
                run(&r[k]);
                fflush(stdout);
                _exit(r[k].wrong != 0);
            }
        siginfo_t died = {0};
        for (int i = 0; i < 400 && death && !died.si_pid; i++) { /* on one host it may need the one that stands still */
            waitid(P_PID, (id_t)child[who_dies(n)], &died, WEXITED | WNOHANG | WNOWAIT);
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
        if (death)
            kill(child[who_stops(n)], SIGCONT);
        for (int k = 0; k < n; k++) {
            int status = -1;
            int want = death && k == who_dies(n) ? SIGKILL : 0;
            wrong += waitpid(child[k], &status, 0) != child[k] || status != want;
        }
    }
    for (int k = 0; k < n; k++)
        wrong += r[k].wrong;
    printf(wrong ? "FAIL nccl %s: %d wrong\n" : "PASS nccl %s\n", how, wrong);
    return wrong != 0;
}
