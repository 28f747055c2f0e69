/* Generated NCCL programs in which a rank is lost: collectives, groups, captures, splits and shrinks of a tree of
 * communicators, drawn from a seed that all ranks share. A rank is killed, stopped, aborts, leaves or loses its link at
 * any time. What must hold: a value that a call gives is right, a communicator without the lost rank works, every other
 * call ends with an error in time, those that are left go on without it, and nothing is left behind.
 * Usage: storm [SEED [TEAMS [FATE]]], with TEAM_HOSTS (tests/netns.sh) or CUMU_NCCL_HOST_RANKS as hosts. */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_functions.h"

#include "../netns.h"

typedef struct {
    char internal[128];
} ncclUniqueId;
typedef void *ncclComm_t;
enum { ncclInt32 = 2, ncclSum = 0, NOCOLOR = -1, ABORT = 1 };
int ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int);

enum { MAX = 8, SLOTS = 6, LARGEST = 70000, STEPS = 70 };
enum fate { KILLED, STOPPED, ABORTS, LEAVES, CUT, NOTHING, FATES };
static const char *const fates[FATES] = {"is killed", "is stopped", "aborts", "leaves", "loses its link", "stays"};
static double late_s = 20; /* a hang; what comes in time is told */

static struct shared {
    ncclUniqueId id[2];
    volatile int ready;
    volatile double when;    /* the rank was lost */
    volatile double noticed; /* by the last one that did */
    volatile int found[MAX];
} * shared;

struct team { /* a communicator as one rank sees it */
    ncclComm_t comm;
    int n, member[MAX]; /* ranks of the world */
    bool failed;
};

struct rank {
    int rank, n, wrong, nhosts;
    unsigned seed;
    enum fate fate;
    int victim, at_step, after_us;
    void *stream;
    int *in, *out;
    struct team slot[SLOTS];
    bool lost; /* it has had an error */
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

/* SplitMix's step and mixing, of 32 bits: neighbouring seeds have nothing in common. */
static unsigned draw(unsigned *state)
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

/* ---- fate ---------------------------------------------------------------------------------------- */

static bool over_link(const struct rank *r, int a, int b) { return r->nhosts && a % r->nhosts != b % r->nhosts; }

/* Is the rank, as this one sees it, on the other side of what was lost? */
static bool lost_to(const struct rank *r, int other)
{
    if (r->fate == CUT)
        return over_link(r, r->victim, other) != over_link(r, r->victim, r->rank);
    return r->fate != NOTHING && other == r->victim;
}

static bool concerned(const struct rank *r, const struct team *t)
{
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < t->n && r->fate == CUT; k++)
            if (over_link(r, r->victim, t->member[i]) != over_link(r, r->victim, t->member[k]))
                return true;
    for (int i = 0; i < t->n; i++)
        if (r->fate != CUT && r->fate != NOTHING && t->member[i] == r->victim)
            return true;
    return false;
}

/* An error: may it be? The first one of this rank is timed. */
static void error_of(struct rank *r, struct team *t, int e, const char *what, int step)
{
    t->failed = true;
    RANK(r, concerned(r, t) && (shared->when > 0), "%s of %d ranks failed with %d in step %d", what, t->n, e, step);
    if (!r->lost && !lost_to(r, r->rank) && shared->when > 0 && seconds() > shared->noticed)
        shared->noticed = seconds();
    r->lost = true;
}

static void signal_later(struct rank *r, int signal, int us)
{
    timer_t timer;
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
    struct itimerspec at = {.it_value = {us / 1000000, us % 1000000 * 1000L + 1}};
    RANK(r, timer_create(CLOCK_MONOTONIC, &e, &timer) == 0 && timer_settime(timer, 0, &at, NULL) == 0, "timer");
}

/* At its step the victim's time has come; killed and stopped by a timer, in the middle of what follows. */
static bool meets_fate(struct rank *r, int step)
{
    if (r->rank != r->victim || step != r->at_step || r->fate == NOTHING)
        return false;
    shared->when = seconds() + r->after_us * 1e-6 * (r->fate <= STOPPED);
    switch (r->fate) {
    case KILLED: signal_later(r, SIGKILL, r->after_us); return false;
    case STOPPED:
        signal_later(r, SIGSTOP, r->after_us);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            nap(3.5);
            kill(getppid(), SIGCONT);
            _exit(0);
        }
        return false;
    case CUT: RANK(r, system("ip link set eth7 down") == 0, "link"); return false;
    case ABORTS:
        for (int k = 0; k < SLOTS; k++)
            if (r->slot[k].comm)
                RANK(r, ncclCommAbort(r->slot[k].comm) == 0, "abort");
        return true;
    default: _exit(0);
    }
}

/* ---- calls --------------------------------------------------------------------------------------- */

static int value(int rank, unsigned salt, size_t i) { return (int)((salt ^ (unsigned)rank * 77u) + i) % 100003; }

enum call { ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, RING, GRAPH, CALLS };

static int wanted(const struct team *t, enum call what, int me, int root, size_t n, unsigned salt, size_t i)
{
    int sum = 0;
    const int *m = t->member;
    switch (what) {
    case BROADCAST: return value(m[root], salt, i);
    case ALL_GATHER: return value(m[i / n], salt, i % n);
    case ALL_TO_ALL: return value(m[i / n], salt, (size_t)me * n + i % n);
    case RING: return value(m[(me + t->n - 1) % t->n], salt, i);
    default:
        for (int k = 0; k < t->n; k++)
            sum += value(m[k], salt, what == REDUCE_SCATTER ? (size_t)me * n + i : i);
        return sum;
    }
}

static int issue(struct rank *r, const struct team *t, enum call what, int me, int root, size_t n)
{
    int e = 0;
    switch (what) {
    case BROADCAST: return ncclBroadcast(r->in, r->out, n, ncclInt32, root, t->comm, r->stream);
    case ALL_GATHER: return ncclAllGather(r->in, r->out, n, ncclInt32, t->comm, r->stream);
    case REDUCE_SCATTER: return ncclReduceScatter(r->in, r->out, n, ncclInt32, ncclSum, t->comm, r->stream);
    case ALL_TO_ALL:
        e = ncclGroupStart();
        for (int k = 0; k < t->n && !e; k++) {
            e = ncclSend(r->in + (size_t)k * n, n, ncclInt32, k, t->comm, r->stream);
            e = e ? e : ncclRecv(r->out + (size_t)k * n, n, ncclInt32, k, t->comm, r->stream);
        }
        {
            int end = ncclGroupEnd();
            return e ? e : end;
        }
    case RING:
        e = ncclGroupStart();
        e = e ? e : ncclSend(r->in, n, ncclInt32, (me + 1) % t->n, t->comm, r->stream);
        e = e ? e : ncclRecv(r->out, n, ncclInt32, (me + t->n - 1) % t->n, t->comm, r->stream);
        {
            int end = ncclGroupEnd();
            return e ? e : end;
        }
    default: return ncclAllReduce(r->in, r->out, n, ncclInt32, ncclSum, t->comm, r->stream);
    }
}

/* The call as a graph, which runs three times. */
static int captured(struct rank *r, const struct team *t, int me, size_t n)
{
    void *graph = NULL, *exec = NULL;
    RANK(r, cudaStreamBeginCapture(r->stream, 1) == 0, "capture");
    int e = issue(r, t, ALL_REDUCE, me, 0, n);
    RANK(r, cudaStreamEndCapture(r->stream, &graph) == 0 && graph, "end of capture");
    if (e || !graph)
        return e;
    RANK(r, cudaGraphInstantiate(&exec, graph, 0) == 0, "instantiate");
    for (int i = 0; i < 3 && exec; i++)
        RANK(r, cudaGraphLaunch(exec, r->stream) == 0, "graph launch");
    e = cudaStreamSynchronize(r->stream);
    RANK(r, cudaGraphExecDestroy(exec) == 0 && cudaGraphDestroy(graph) == 0, "graph's end");
    return e;
}

static void call(struct rank *r, struct team *t, unsigned *s, int step)
{
    enum call what = (enum call)(draw(s) % CALLS);
    unsigned salt = draw(s), root = draw(s), kind = draw(s), size = draw(s), waits = draw(s);
    size_t n = 1 + size % (kind % 8 == 0 ? LARGEST : kind % 2 ? 300u : 8000u);
    if (!t->comm || t->failed)
        return;
    int me = 0;
    while (t->member[me] != r->rank)
        me++;
    if (what >= ALL_GATHER && what <= ALL_TO_ALL && n > LARGEST / MAX)
        n = LARGEST / MAX;
    size_t all = what == ALL_GATHER || what == ALL_TO_ALL ? n * (size_t)t->n : n;
    for (size_t i = 0; i < n * (size_t)t->n && i < LARGEST; i++)
        r->in[i] = value(r->rank, salt, i);
    memset(r->out, 0xa5, all * sizeof *r->out);
    if (waits % 16 == 0)
        nap(1e-3 * (waits / 16 % 4));
    double since = seconds();
    int e = what == GRAPH ? captured(r, t, me, n) : issue(r, t, what, me, (int)(root % (unsigned)t->n), n);
    int waited = e ? 0 : cudaStreamSynchronize(r->stream), state = 0;
    double took = seconds() - since;
    RANK(r, took < late_s || lost_to(r, r->rank), "call %d of %d ranks took %.1f s", what, t->n, took);
    if (e || waited) {
        /* The stream's error is told once; the communicator keeps its own. */
        RANK(r, ncclCommGetAsyncError(t->comm, &state) == 0 && state, "a failed call and no error: %d, %d", e, waited);
        error_of(r, t, e ? e : state, "a call", step);
        (void)cudaStreamSynchronize(r->stream);
        (void)cudaGetLastError();
        return;
    }
    size_t bad = 0;
    while (bad < all && r->out[bad] == wanted(t, what, me, (int)(root % (unsigned)t->n), n, salt, bad))
        bad++;
    RANK(r, bad == all, "step %d, call %d of %d ranks, count %zu, element %zu is %d", step, what, t->n, n, bad,
         r->out[bad]);
}

/* ---- communicators ------------------------------------------------------------------------------- */

/* Its colour is drawn for each rank, whether that is a member or not, so that all draw the same. */
static void split(struct rank *r, const struct team *p, struct team *to, unsigned *s, int step)
{
    int color[MAX];
    for (int i = 0; i < MAX; i++)
        color[i] = (int)(draw(s) % 3) - (draw(s) % 6 == 0 ? 3 : 0);
    *to = (struct team){0};
    if (!p->comm || p->failed)
        return;
    int mine = color[r->rank] < 0 ? NOCOLOR : color[r->rank];
    double since = seconds();
    int e = ncclCommSplit(p->comm, mine, r->rank, &to->comm, NULL);
    RANK(r, seconds() - since < late_s || lost_to(r, r->rank), "a split took %.1f s", seconds() - since);
    for (int i = 0; i < p->n && mine >= 0; i++)
        if (color[p->member[i]] == mine)
            to->member[to->n++] = p->member[i];
    for (int i = 0; i < to->n; i++) /* by their numbers in the world, which are the keys */
        for (int k = i + 1; k < to->n; k++)
            if (to->member[k] < to->member[i]) {
                int x = to->member[i];
                to->member[i] = to->member[k];
                to->member[k] = x;
            }
    if (e) {
        struct team asked = *p;
        error_of(r, &asked, e, "a split", step);
        to->comm = NULL;
    }
    RANK(r, e || (to->comm != NULL) == (mine >= 0), "split without a communicator");
}

/* One member is left out, which takes no part; never the one that is lost, as those that are left meet without that one
 * at the end. */
static void shrink(struct rank *r, const struct team *p, struct team *to, unsigned *s, int step)
{
    int out = (int)(draw(s) % MAX), n = 0;
    *to = (struct team){0};
    if (!p->comm || p->failed || p->n < 2)
        return;
    out %= p->n;
    out = p->member[out] == r->victim ? (out + 1) % p->n : out;
    if (p->member[out] == r->rank)
        return;
    for (int i = 0; i < p->n; i++)
        if (i != out)
            to->member[n++] = p->member[i];
    to->n = n;
    double since = seconds();
    int e = ncclCommShrink(p->comm, &out, 1, &to->comm, NULL, 0);
    RANK(r, seconds() - since < late_s || lost_to(r, r->rank), "a shrink took %.1f s", seconds() - since);
    if (e) {
        struct team asked = *to;
        error_of(r, &asked, e, "a shrink", step);
        to->comm = NULL;
    }
}

static void end(struct rank *r, struct team *t)
{
    double since = seconds();
    if (t->comm)
        RANK(r, (t->failed ? ncclCommAbort(t->comm) : ncclCommDestroy(t->comm)) == 0, "end");
    RANK(r, seconds() - since < late_s || lost_to(r, r->rank), "ending took %.1f s", seconds() - since);
    t->comm = NULL;
}

static void steps(struct rank *r)
{
    unsigned s = r->seed * 7919u + 1;
    for (int step = 0; step < STEPS && !r->wrong; step++) {
        if (meets_fate(r, step))
            return;
        unsigned what = draw(&s), from = draw(&s) % SLOTS, to = 1 + draw(&s) % (SLOTS - 1);
        if (what % 10 == 0 && from != to) {
            end(r, &r->slot[to]);
            split(r, &r->slot[from], &r->slot[to], &s, step);
        } else if (what % 25 == 1 && from != to) {
            end(r, &r->slot[to]);
            shrink(r, &r->slot[from], &r->slot[to], &s, step);
        } else
            call(r, &r->slot[what % 3 ? 0 : from], &s, step);
    }
}

/* Those that are left know by now, or hear of it in their next calls; then they go on by themselves. */
static void go_on(struct rank *r)
{
    int gone[MAX], n = 0;
    struct team rest = {0}, *world = &r->slot[0];
    unsigned s = r->seed;
    for (int i = 0; i < r->n; i++)
        if (lost_to(r, i))
            gone[n++] = i;
        else
            rest.member[rest.n++] = i;
    double since = seconds();
    int state = 0, e = 0;
    while (!world->failed && !e && seconds() - since < late_s) {
        e = ncclAllReduce(r->in, r->out, 100, ncclInt32, ncclSum, world->comm, r->stream);
        e = e ? e : cudaStreamSynchronize(r->stream);
        if (e)
            error_of(r, world, e, "the last call", STEPS);
        nap(0.002);
    }
    (void)cudaGetLastError();
    RANK(r, world->failed, "it never heard that rank %d %s", r->victim, fates[r->fate]);
    RANK(r, ncclCommGetAsyncError(world->comm, &state) == 0 && state, "no error");
    for (int k = 1; k < SLOTS; k++)
        end(r, &r->slot[k]);
    if (n && rest.n > 1) {
        since = seconds();
        e = ncclCommShrink(world->comm, gone, n, &rest.comm, NULL, ABORT);
        RANK(r, !e && rest.comm, "those that are left do not find each other: %d", e);
        RANK(r, seconds() - since < late_s, "finding each other took %.1f s", seconds() - since);
        for (int i = 0; i < 5 && !e; i++)
            call(r, &rest, &s, 1000 + i);
        RANK(r, !rest.failed, "those that are left do not go on");
        end(r, &rest);
    }
    end(r, world);
}

/* ---- a rank -------------------------------------------------------------------------------------- */

static void rest(void *unused)
{
    (void)unused;
    nap(0.05);
}

static void run(struct rank *r)
{
    int devices = 0;
    RANK(r, cudaGetDeviceCount(&devices) == 0 && cudaSetDevice(r->rank % (devices ? devices : 1)) == 0, "device");
    RANK(r, cudaStreamCreateWithFlags(&r->stream, 1) == 0, "stream");
    RANK(r,
         cudaMallocManaged((void **)&r->in, LARGEST * sizeof(int), 1) == 0 &&
             cudaMallocManaged((void **)&r->out, LARGEST * sizeof(int), 1) == 0,
         "memory");
    if (r->wrong)
        return;
    int files = 0, threads = 0;
    for (int i = 0; i < 2; i++) { /* the first one opens libraries and begins threads that stay */
        struct team *w = &r->slot[0];
        unsigned s = r->seed + 5;
        *w = (struct team){.n = r->n};
        for (int k = 0; k < r->n; k++)
            w->member[k] = k;
        int e = ncclCommInitRank(&w->comm, r->n, shared->id[i], r->rank);
        RANK(r, !e, "the world: %d", e);
        if (e)
            return;
        for (int k = 0; k < 8; k++)
            call(r, w, &s, k - 10);
        RANK(r, captured(r, w, r->rank, LARGEST) == 0, "a graph");
        if (i == 0) {
            end(r, w);
            for (int k = 0; k < MAX; k++) { /* as many as there will be streams that are busy at once */
                void *other = NULL;
                RANK(r,
                     cudaStreamCreateWithFlags(&other, 1) == 0 && cudaLaunchHostFunc(other, rest, NULL) == 0 &&
                         cudaStreamDestroy(other) == 0,
                     "threads");
            }
            nap(0.3);
            files = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
    }
    steps(r);
    if (r->rank == r->victim && r->fate == ABORTS) {
        for (int k = 0; k < SLOTS; k++)
            r->slot[k].comm = NULL;
    } else if (r->fate == NOTHING || (r->rank == r->victim && r->fate != CUT)) {
        for (int k = SLOTS - 1; k >= 0; k--)
            end(r, &r->slot[k]);
    } else
        go_on(r);
    for (int k = 0; k < 400 && (entries("/proc/self/fd") > files || entries("/proc/self/task") > threads); k++)
        nap(0.01);
    int f = entries("/proc/self/fd"), t = entries("/proc/self/task");
    bool stopped = r->fate == STOPPED && r->rank == r->victim;
    RANK(r, (f <= files && t <= threads) || stopped, "%d descriptors where %d were, %d threads where %d were", f, files,
         t, threads);
}

/* ---- teams --------------------------------------------------------------------------------------- */

static bool team(unsigned seed, int fate)
{
    unsigned s = seed * 2654435761u;
    const char *hosts = getenv("TEAM_HOSTS");
    int nhosts = hosts && *hosts ? 1 : 0, wrong = 0, left;
    for (const char *h = hosts; h && *h; h++)
        nhosts += *h == ' ';
    struct rank plan = {.seed = seed, .nhosts = nhosts, .n = 3 + (int)(draw(&s) % 4)};
    plan.victim = (int)(draw(&s) % (unsigned)plan.n);
    plan.fate = (enum fate)(draw(&s) % FATES);
    if (fate >= 0)
        plan.fate = (enum fate)fate;
    if (plan.fate == CUT && !nhosts)
        plan.fate = KILLED;
    plan.at_step = (int)(draw(&s) % STEPS);
    plan.after_us = 1 + (int)(draw(&s) % 3000);
    memset(shared, 0, sizeof *shared);
    pid_t child[MAX], self = getpid();
    fflush(stdout);
    for (int k = 0; k < plan.n; k++)
        if ((child[k] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != self)
                _exit(1);
            struct rank r = plan;
            r.rank = k;
            enter_host(k);
            if (k == 0) {
                for (int i = 0; i < 2; i++)
                    RANK(&r, ncclGetUniqueId(&shared->id[i]) == 0, "id");
                __sync_synchronize();
                shared->ready = 1;
            }
            while (!shared->ready)
                nap(0.001);
            run(&r);
            fflush(stdout);
            _exit(r.wrong != 0);
        }
    double limit = seconds() + 100;
    for (left = plan.n; left && seconds() < limit; nap(0.002))
        for (int k = 0; k < plan.n; k++) {
            int status = 0;
            if (!child[k] || waitpid(child[k], &status, WNOHANG) == 0)
                continue;
            bool doomed = k == plan.victim && plan.fate <= STOPPED;
            wrong += status &&
                     !(doomed && (plan.fate == KILLED ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : 1));
            if (WIFSIGNALED(status) && !doomed)
                printf("# rank %d was ended by signal %d\n", k, WTERMSIG(status));
            child[k] = 0;
            left--;
        }
    for (int k = 0; k < plan.n; k++)
        if (child[k]) {
            printf("# rank %d of %d, process %d, hangs\n", k, plan.n, (int)child[k]);
            wrong++;
            if (getenv("STORM_KEEP")) {
                fflush(stdout);
                pause();
            }
            kill(child[k], SIGKILL);
            waitpid(child[k], NULL, 0);
        }
    if (plan.fate == CUT) {
        char command[600];
        char copy[256], *rest, *h;
        snprintf(copy, sizeof copy, "%s", hosts);
        for (h = strtok_r(copy, " ", &rest); h; h = strtok_r(NULL, " ", &rest)) {
            snprintf(command, sizeof command,
                     "ip -n %s link set eth7 up; ip -n %s -6 addr add fd00:173::1/64 dev eth7 nodad 2>/dev/null", h, h);
            (void)!system(command);
        }
    }
    printf("%s seed %u: %d ranks, rank %d %s in step %d", wrong ? "not ok" : "ok", seed, plan.n, plan.victim,
           fates[plan.fate], plan.at_step);
    if (shared->noticed > 0)
        printf(", noticed by the last after %.2f s", shared->noticed - shared->when);
    printf("\n");
    return !wrong;
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    int teams = argc > 2 ? atoi(argv[2]) : 4, bad = 0, fate = argc > 3 ? atoi(argv[3]) : -1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("CUMU_NCCL_JOIN_SECONDS", "60", 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    for (int i = 0; i < teams; i++)
        bad += !team(seed + (unsigned)i, fate);
    printf(bad ? "FAIL storm: %d of %d\n" : "PASS storm: %d wrong of %d\n", bad, teams);
    return bad != 0;
}
