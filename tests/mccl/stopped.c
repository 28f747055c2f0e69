/* A rank that is stopped, as by SIGSTOP, in a call of any kind: for longer than a rank may be silent, and every other
 * one is told in time, by name; for less, and nobody notices. On one host, or several (CUMU_NCCL_HOST_RANKS,
 * TEAM_HOSTS). */
#include "sanitize.h"
#include "team.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CALLS = 1000,
    PACE_US = 100,
    LIMIT_S = 4,
    HANGS_S = 20,
    LONG_MS = 5000,
    BRIEF_MS = 250,
    TWICE_MS = 2000,
    KINDS = 6
};

static struct told {
    _Atomic int64_t stopped_ns; /* when the rank was */
    _Atomic int64_t last_ns;    /* the others were told after, at most */
    mcclUniqueId second;        /* of another communicator, */
    _Atomic int made;           /* once it is there */
    _Atomic int told;           /* so many of them */
} * told;

struct plan {
    unsigned seed;
    int victim, kind;
    bool brief;
};

static mcclResult_t call(struct rank *r, int kind, char *in, char *out, size_t n)
{
    int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
    switch (kind) {
    case 0: return mcclAllReduce(in, out, n, mcclInt8, mcclSum, r->comm, r->stream);
    case 1: return mcclBroadcast(in, out, n, mcclInt8, 0, r->comm, r->stream);
    case 2: return mcclReduceScatter(in, out, n, mcclInt8, mcclMax, r->comm, r->stream);
    case 3: return mcclAllGather(in, out, n, mcclInt8, r->comm, r->stream);
    case 4: /* one after the other, not in a group */
        return r->rank == 0               ? mcclRecv(out, n, mcclInt8, r->nranks - 1, r->comm, r->stream)
               : r->rank == r->nranks - 1 ? mcclSend(in, n, mcclInt8, 0, r->comm, r->stream)
                                          : mcclSuccess;
    default:
        mcclGroupStart();
        (void)mcclSend(in, n, mcclInt8, next, r->comm, r->stream);
        (void)mcclRecv(out, n, mcclInt8, before, r->comm, r->stream);
        return mcclGroupEnd();
    }
}

static void stop_soon(const struct plan *p, unsigned us)
{
    team_signal(SIGSTOP, us, &told->stopped_ns, &told->told, INT32_MAX, p->brief ? BRIEF_MS : LONG_MS);
}

static void body(struct rank *r)
{
    const struct plan *p = r->arg;
    unsigned seed = p->seed, after = 1000 + (unsigned)rand_r(&seed) % 40000;
    char *in = device_bytes(r, 4 << 20), *out = device_bytes(r, 4 << 20);
    bool failed = false, idle = p->kind == 4 && r->rank && r->rank < r->nranks - 1;
    double since = seconds();
    if (r->rank == p->victim)
        stop_soon(p, after);
    for (int i = 0; !idle && !failed && (p->brief ? i < CALLS : seconds() - since < HANGS_S); i++) {
        size_t n = 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 2000 : 200000);
        failed = call(r, p->kind, in, out, n) || musaStreamSynchronize(r->stream);
        if (p->brief) /* as many calls on each rank, and the stop among them */
            nap_us(PACE_US);
    }
    if (p->brief) {
        RANK(r, !failed && async_error(r, false) == mcclSuccess && (idle || told->stopped_ns));
        return;
    }
    /* Of a send that nobody waits for a rank may know nothing: then its next call tells, which waits for all. */
    if (!failed)
        failed = mcclAllReduce(in, out, 100, mcclInt8, mcclSum, r->comm, r->stream) || musaStreamSynchronize(r->stream);
    RANK(r, failed && async_error(r, true) == mcclRemoteError);
    if (r->rank != p->victim) {
        int64_t took = now_ns() - told->stopped_ns;
        RANK(r, took < (int64_t)LIMIT_S * 1000000000);
        told->told++;
        for (int64_t last = told->last_ns; last < took && !atomic_compare_exchange_strong(&told->last_ns, &last, took);)
            ;
    }
    RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
}

/* It is missed in two communicators, in which calls wait one after the other: for the second one it has been stopped as
 * long. */
static void miss_twice(struct rank *r)
{
    const struct plan *p = r->arg;
    char *x = device_bytes(r, 1000);
    mcclComm_t first = r->comm;
    r->comm = NULL;
    if (r->rank == 0) {
        RANK(r, mcclGetUniqueId(&told->second) == mcclSuccess);
        told->made = 1;
    }
    for (double end = seconds() + LIMIT_S; !told->made && seconds() < end;)
        nap_us(1000);
    RANK(r, mcclCommInitRank(&r->comm, r->nranks, told->second, r->rank) == mcclSuccess);
    if (r->rank == p->victim)
        stop_soon(p, 1000);
    bool failed = false;
    while (!failed)
        failed = mcclAllReduce(x, x, 1000, mcclInt8, mcclSum, first, r->stream) || musaStreamSynchronize(r->stream);
    double since = seconds();
    failed = mcclAllReduce(x, x, 1000, mcclInt8, mcclSum, r->comm, r->stream) || musaStreamSynchronize(r->stream);
    if (r->rank != p->victim) {
        RANK(r, failed && async_error(r, true) == mcclRemoteError);
        RANK(r, seconds() - since < 0.001 * TWICE_MS / 2);
        told->told++;
    }
    RANK(r, mcclCommAbort(first) == mcclSuccess && mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
}

int main(int count, char **arguments)
{
    unsigned seed = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    int teams = count > 2 ? atoi(arguments[2]) : KINDS;
    if (CUMU_TSAN && getenv("CUMU_NCCL_HOST_RANKS")) {
        printf("skip mccl stopped: UCX under TSan\n");
        return 77;
    }
    setenv("CUMU_HOST_DEVICES", "4", 1);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2 * teams && told != MAP_FAILED; i++, seed++) {
        unsigned s = seed * 2654435761u;
        int n = 2 + rand_r(&s) % 3;
        struct plan p = {.seed = seed, .kind = i / 2 % KINDS, .brief = i % 2};
        p.victim = p.kind == 4 ? rand_r(&s) % 2 * (n - 1) : rand_r(&s) % n;
        memset(told, 0, sizeof *told);
        team_doom(p.victim);
        bool good = team_run(PROCESSES, n, true, body, &p);
        report(good && (p.brief || told->told == n - 1),
               "seed %u: %d ranks, call %d, rank %d is stopped for %d ms: %.2f s", seed, n, p.kind, p.victim,
               p.brief ? BRIEF_MS : LONG_MS, (double)told->last_ns / 1e9);
    }
    char silence[16];
    struct plan p = {.seed = 1, .victim = 1};
    snprintf(silence, sizeof silence, "%d", TWICE_MS);
    setenv("CUMU_NCCL_SILENCE_MS", silence, 1);
    memset(told, 0, sizeof *told);
    team_doom(p.victim);
    bool good = team_run(PROCESSES, 3, true, miss_twice, &p);
    report(good && told->told == 2, "a stopped rank is missed in two communicators");
    return check_end("mccl stopped");
}
