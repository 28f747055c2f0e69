/* Ranks in namespaces that are drawn for each one, as those of containers are: of pids, users, mounts, IPC and names of
 * the host. One rank is killed, stopped, ends or never comes; every other one is told in time, by a line that names it.
 * On one host, or several (CUMU_NCCL_HOST_RANKS, TEAM_HOSTS). */
#include "sanitize.h"
#include "team.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum fault { KILLED, STOPPED, ENDS, NEVER_COMES, FAULTS };
static const char *const faults[FAULTS] = {"is killed", "is stopped", "ends", "never comes"};
enum { JOIN_S = 2, LIMIT_S = 4, HANGS_S = 20, MOST = 5 };

static struct told {
    _Atomic int64_t since_ns; /* when the rank met its fault */
    _Atomic int joined;       /* it was a member then */
    _Atomic int64_t last_ns;  /* the others were told after, at most */
    _Atomic int told;         /* so many of them */
} * told;

struct plan {
    unsigned seed;
    int victim;
    enum fault fault;
};

static bool call(struct rank *r, unsigned kind, char *in, char *out, size_t n)
{
    const int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
    mcclResult_t e = mcclSuccess;
    switch (kind % 4) {
    case 0: e = mcclAllReduce(in, out, n, mcclInt8, mcclSum, r->comm, r->stream); break;
    case 1: e = mcclAllGather(in, out, n, mcclInt8, r->comm, r->stream); break;
    case 2: e = mcclReduceScatter(in, out, n, mcclInt8, mcclMax, r->comm, r->stream); break;
    default:
        mcclGroupStart();
        (void)mcclSend(in, n, mcclInt8, next, r->comm, r->stream);
        (void)mcclRecv(out, n, mcclInt8, before, r->comm, r->stream);
        e = mcclGroupEnd();
    }
    return !e && musaStreamSynchronize(r->stream) == musaSuccess;
}

/* Is the rank named in what was said? One that never came has no host yet. */
static bool names(const char *text, int rank)
{
    char member[32], missing[64];
    snprintf(member, sizeof member, "rank %d", rank);
    snprintf(missing, sizeof missing, "have not come within %d s: %d", JOIN_S, rank);
    for (const char *at = text; (at = strstr(at, "rank ")); at++) {
        const char *line = at; /* who speaks is "rank K of N" */
        if (strncmp(line, member, strlen(member)) == 0 && strncmp(line + strlen(member), " of ", 4) != 0)
            return true;
    }
    return strstr(text, missing) != NULL;
}

static void body(struct rank *r)
{
    const struct plan *p = r->arg;
    const bool doomed = r->rank == p->victim;
    unsigned seed = p->seed;
    const unsigned after = 1 + (unsigned)rand_r(&seed) % (rand_r(&seed) % 2 ? 15000 : 80000);
    char *in = device_bytes(r, 2 << 20), *out = device_bytes(r, 2 << 20), text[4000];
    const double since = seconds();
    if (doomed && p->fault == NEVER_COMES) {
        told->since_ns = now_ns();
        while (told->told < r->nranks - 1 && seconds() - since < HANGS_S)
            nap_us(1000);
        return;
    }
    if (doomed && p->fault <= STOPPED)
        team_signal(p->fault == KILLED ? SIGKILL : SIGSTOP, after, &told->since_ns, &told->told, r->nranks - 1,
                    1000 * HANGS_S);
    const struct caught said = stderr_catch();
    bool good = mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank) == mcclSuccess;
    if (doomed && !told->since_ns)
        told->joined = good;
    for (unsigned i = 0; good && seconds() - since < HANGS_S; i++) {
        if (doomed && p->fault == ENDS && i == after % 50) {
            told->since_ns = now_ns();
            _exit(0); /* as kill -9 does, this runs nothing of ours */
        }
        const size_t n = 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 2000 : 200000);
        good = call(r, (unsigned)rand_r(&seed), in, out, n);
    }
    const int64_t took = now_ns() - told->since_ns;
    const bool told_async = !r->comm || async_error(r, true) != mcclSuccess;
    if (r->comm)
        RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
    stderr_caught(said, text, sizeof text);
    if (doomed)
        return;
    RANK(r, !good && told_async);
    RANK(r, took < (LIMIT_S + (told->joined ? 0 : JOIN_S)) * 1000000000ll);
    RANK(r, names(text, p->victim));
    if (r->wrong)
        printf("# %s", text);
    for (int64_t last = told->last_ns; last < took && !atomic_compare_exchange_strong(&told->last_ns, &last, took);)
        ;
    told->told++;
}

int main(int count, char **arguments)
{
    unsigned seed = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    const int teams = count > 2 ? atoi(arguments[2]) : 8;
    char join[8];
    if (CUMU_TSAN && getenv("CUMU_NCCL_HOST_RANKS")) {
        printf("skip mccl spaces: UCX under TSan\n");
        return 77;
    }
    if (!team_may_spaces()) {
        printf("skip mccl spaces: not permitted to make namespaces\n");
        return 77;
    }
    snprintf(join, sizeof join, "%d", JOIN_S);
    setenv("CUMU_NCCL_JOIN_SECONDS", join, 1);
    setenv("CUMU_HOST_DEVICES", "2", 1);
    setenv("CUMU_HOST_SHARE", "1", 1);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < teams && told != MAP_FAILED; i++, seed++) {
        unsigned s = seed * 2654435761u;
        struct plan p = {.seed = seed, .fault = (enum fault)(seed % FAULTS)};
        const int n = 2 + (rand_r(&s) >> 5) % (MOST - 1);
        p.victim = (rand_r(&s) >> 5) % n;
        memset(told, 0, sizeof *told);
        team_doom(p.victim);
        team_spaces(seed);
        const bool good = team_run(PROCESSES, n, false, body, &p);
        report(good && told->told == n - 1, "seed %u: rank %d of %d %s%s: %.2f s", seed, p.victim, n, faults[p.fault],
               told->joined ? "" : " before it has joined", (double)told->last_ns / 1e9);
    }
    return check_end("mccl spaces");
}
