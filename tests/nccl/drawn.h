/* What drawn NCCL programs are made of (starved.c, grown.c): ranks that share one seed, calls of which each checks what
 * it gets, and the fault that a rank's process meets (scarce.h). Included by the one file of each program. */
#ifndef CUMU_TESTS_NCCL_DRAWN_H
#define CUMU_TESTS_NCCL_DRAWN_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cuda_functions.h"
#include "scarce.h"

/* ---- ranks --------------------------------------------------------------------------------------- */

typedef struct {
    char internal[128];
} ncclUniqueId;
typedef void *ncclComm_t;
enum { ncclInt32 = 2, ncclSum = 0, NOCOLOR = -1, ncclInProgress = 7 };
typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking;
} ncclConfig_t;
int ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int);
int ncclCommInitRankConfig(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);

enum { MAX = 8, SLOTS = 4, LARGEST = 70000, STEPS = 30, JOIN_S = 10 };
static double late_s = 40; /* a hang */

struct team { /* a communicator as one rank sees it */
    ncclComm_t comm;
    int n, member[MAX];
    void *window;
};
struct rank {
    int rank, n, wrong, victim, at_step;
    enum kind kind;
    bool struck; /* its process is the one that meets the fault */
    bool waits;  /* for its communicators */
    bool first;  /* from the first communicator on */
    unsigned seed;
    void *stream;
    int *in, *out, *win;
    struct team slot[SLOTS];
    int error;
};

#define RANK(r, cond, ...) \
    do { \
        if (!(cond) && (r)->wrong++ < 4) { \
            printf("# rank %d: line %d: %s: ", (r)->rank, __LINE__, #cond); \
            printf(__VA_ARGS__); \
            printf(" (%s)\n", ncclGetLastError(NULL)); \
        } \
    } while (0)

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void nap(double s) { nanosleep(&(struct timespec){(time_t)s, (long)((s - (double)(time_t)s) * 1e9)}, NULL); }
static unsigned draw(unsigned *state) /* SplitMix's step and mixing, of 32 bits */
{
    unsigned x = *state += 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x21f0aaadu;
    x = (x ^ x >> 15) * 0x735a2d97u;
    return (x ^ x >> 15) >> 1;
}
static int entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* One of the process's sockets and the like, as by a program that closes what it does not know: no memory's. */
static void close_one(unsigned which)
{
    int fds[256], n = 0;
    char path[64], to[64];
    for (int fd = 3; fd < 1024 && n < 256; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(path, to, sizeof to - 1);
        to[length > 0 ? length : 0] = 0;
        if (strncmp(to, "socket:", 7) == 0 || strncmp(to, "anon_inode:", 11) == 0)
            fds[n++] = fd;
    }
    if (n) {
        const int none = open("/dev/null", O_RDWR);
        dup2(none, fds[which % (unsigned)n]);
        close(none);
    }
}

/* From a process of its own, whatever this one does; one that is stopped goes on after some seconds. */
static void signal_later(int signal, unsigned us)
{
    const pid_t self = getpid();
    if (fork())
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    nap(us * 1e-6);
    kill(self, signal);
    nap(signal == SIGSTOP ? 3.5 : 0);
    kill(self, SIGCONT);
    _exit(0);
}

/* So many descriptors. */
static int taken[1024], ntaken;
static void leave_only(int spare)
{
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = 512;
    setrlimit(RLIMIT_NOFILE, &l);
    for (int fd; ntaken < 1024 && (fd = dup(0)) >= 0;)
        taken[ntaken++] = fd;
    while (ntaken && spare--)
        close(taken[--ntaken]);
}

/* From now on, in this rank: some numbers are small, some large. */
static void starve(struct rank *r)
{
    unsigned s = r->seed * 31u + 7;
    if (r->rank != r->victim)
        return;
    for_good = draw(&s) % 2;
    const long n = 1 + (long)(draw(&s) % (1u << draw(&s) % (r->kind == MEMORY || r->kind == ANY ? 8 : 4)));
    if (r->kind == LIMIT)
        leave_only((int)(draw(&s) % 12));
    if (r->kind == CLOSES)
        close_one(draw(&s));
    if (r->kind == KILLED || r->kind == STOPPED)
        signal_later(r->kind == KILLED ? SIGKILL : SIGSTOP, 1 + draw(&s) % 3000);
    if (r->kind == EXITS)
        _exit(0);
    counted = 0;
    scarce = r->kind;
    failing = r->kind <= ANY ? n : 0;
}
static void feed(void)
{
    while (ntaken)
        close(taken[--ntaken]);
    failing = 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static int value(int rank, unsigned salt, size_t i) { return (int)((salt ^ (unsigned)rank * 77u) + i) % 100003; }

enum call { ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, RING, GRAPH, PUT, CALLS };

static int wanted(const struct team *t, enum call what, int me, int root, size_t n, unsigned salt, size_t i)
{
    int sum = 0;
    const int *m = t->member;
    switch (what) {
    case BROADCAST: return value(m[root], salt, i);
    case ALL_GATHER: return value(m[i / n], salt, i % n);
    case ALL_TO_ALL: return value(m[i / n], salt, (size_t)me * n + i % n);
    case PUT:
    case RING: return value(m[(me + t->n - 1) % t->n], salt, i);
    default:
        for (int k = 0; k < t->n; k++)
            sum += value(m[k], salt, what == REDUCE_SCATTER ? (size_t)me * n + i : i);
        return sum;
    }
}

static int issue(struct rank *r, const struct team *t, enum call what, int me, int root, size_t n)
{
    int e = 0, last;
    const int next = (me + 1) % t->n, before = (me + t->n - 1) % t->n;
    struct {
        int count, peer, signal, context;
    } one = {1, before, 0, 0};
    switch (what) {
    case BROADCAST: return ncclBroadcast(r->in, r->out, n, ncclInt32, root, t->comm, r->stream);
    case ALL_GATHER: return ncclAllGather(r->in, r->out, n, ncclInt32, t->comm, r->stream);
    case REDUCE_SCATTER: return ncclReduceScatter(r->in, r->out, n, ncclInt32, ncclSum, t->comm, r->stream);
    case ALL_TO_ALL:
    case RING:
        e = ncclGroupStart();
        for (int k = 0; k < t->n && !e && what == ALL_TO_ALL; k++) {
            e = ncclSend(r->in + (size_t)k * n, n, ncclInt32, k, t->comm, r->stream);
            e = e ? e : ncclRecv(r->out + (size_t)k * n, n, ncclInt32, k, t->comm, r->stream);
        }
        if (what == RING) {
            e = e ? e : ncclSend(r->in, n, ncclInt32, next, t->comm, r->stream);
            e = e ? e : ncclRecv(r->out, n, ncclInt32, before, t->comm, r->stream);
        }
        last = ncclGroupEnd();
        return e ? e : last;
    case PUT:
        e = ncclPutSignal(r->in, n, ncclInt32, next, t->window, 0, 0, 0, 0, t->comm, r->stream);
        return e ? e : ncclWaitSignal(1, &one, t->comm, r->stream);
    default: return ncclAllReduce(r->in, r->out, n, ncclInt32, ncclSum, t->comm, r->stream);
    }
}

static int captured(struct rank *r, const struct team *t, int me, size_t n)
{
    void *graph = NULL, *exec = NULL;
    int e = cudaStreamBeginCapture(r->stream, 1);
    if (e)
        return e;
    e = issue(r, t, ALL_REDUCE, me, 0, n);
    int end = cudaStreamEndCapture(r->stream, &graph);
    e = e ? e : end;
    e = e ? e : cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 3 && !e; i++)
        e = cudaGraphLaunch(exec, r->stream);
    end = cudaStreamSynchronize(r->stream);
    if (exec)
        (void)cudaGraphExecDestroy(exec);
    if (graph)
        (void)cudaGraphDestroy(graph);
    return e ? e : end;
}

static void call(struct rank *r, struct team *t, unsigned *s, int step)
{
    enum call what = (enum call)(draw(s) % CALLS);
    const unsigned salt = draw(s), root = draw(s), kind = draw(s), size = draw(s);
    size_t n = 1 + size % (kind % 8 == 0 ? LARGEST : kind % 2 ? 300u : 8000u);
    if (!t->comm)
        return;
    int me = 0;
    while (t->member[me] != r->rank)
        me++;
    /* Signals may come from any stream, so that who waits for one that nobody gives waits: no disagreement there. */
    if (what == PUT && (!t->window || r->kind == DISAGREES))
        what = ALL_REDUCE;
    if ((what >= ALL_GATHER && what <= ALL_TO_ALL) && n > LARGEST / MAX)
        n = LARGEST / MAX;
    const size_t all = what == ALL_GATHER || what == ALL_TO_ALL ? n * (size_t)t->n : n;
    for (size_t i = 0; i < n * (size_t)t->n && i < LARGEST; i++)
        r->in[i] = value(r->rank, salt, i);
    int *out = what == PUT ? r->win : r->out;
    if (what != PUT) /* the one before may have put already */
        memset(out, 0xa5, all * sizeof *out);
    size_t odd = n;
    enum call which = what;
    if (r->kind == DISAGREES && r->rank == r->victim && step == r->at_step) {
        which = what == ALL_REDUCE || what == GRAPH ? BROADCAST : ALL_REDUCE;
        odd = kind % 2 ? n : n + 1;
    }
    const double since = seconds();
    int e = which == GRAPH ? captured(r, t, me, odd) : issue(r, t, which, me, (int)(root % (unsigned)t->n), odd);
    const int waited = e ? 0 : cudaStreamSynchronize(r->stream);
    RANK(r, seconds() - since < late_s, "step %d, call %d of %d ranks took %.1f s", step, what, t->n,
         seconds() - since);
    if (e || waited) {
        r->error = e ? e : waited;
        return;
    }
    if (which != what)
        return; /* what it gets is nobody's matter */
    size_t bad = 0;
    while (bad < all && out[bad] == wanted(t, what, me, (int)(root % (unsigned)t->n), n, salt, bad))
        bad++;
    RANK(r, bad == all, "step %d, call %d of %d ranks, count %zu, element %zu is %d", step, what, t->n, n, bad,
         out[bad]);
    if (what == PUT) { /* nobody puts again before all have looked */
        e = ncclAllReduce(r->in, r->out, 1, ncclInt32, ncclSum, t->comm, r->stream);
        r->error = e ? e : cudaStreamSynchronize(r->stream);
    }
}

/* A communicator of which only the beginning was waited for; what has failed is to be aborted. */
static void complete(struct rank *r, ncclComm_t comm)
{
    int e = r->error;
    while (comm && e == ncclInProgress) {
        nap(0.0005);
        const int asked = ncclCommGetAsyncError(comm, &e);
        e = asked ? asked : e;
    }
    r->error = e;
}
static void end(struct rank *r, struct team *t, bool aborts)
{
    const double since = seconds();
    if (t->comm) {
        int e = aborts ? ncclCommAbort(t->comm) : ncclCommDestroy(t->comm);
        e = e == ncclInProgress && !r->waits ? 0 : e;
        RANK(r, e == 0 || r->struck, "end: %d", e);
    }
    RANK(r, seconds() - since < late_s, "ending took %.1f s", seconds() - since);
    *t = (struct team){0};
}

#endif
