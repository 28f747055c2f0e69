/* A rank that is killed or stopped, or gives up, at any time from its first instruction on: while the ranks meet, while
 * ways between hosts are made, within calls. Whatever comes of it is drawn from a seed; what must hold always is that
 * the others end soon, and that a sum that is said to be there is the sum. */
#include "sanitize.h"
#include "team.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum how { KILLED, STOPPED, ABORTS, LEAVES, KINDS };
enum { CALLS = 60, HANGS_S = 40, MOST = 6 };

struct plan { /* of one team */
    unsigned seed;
    int victim;
    enum how how;
    int after_us;
};

/* The kernel sends this process the signal then, whatever it does. */
static void signal_later(struct rank *r, int signal, int us)
{
    timer_t timer;
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
    struct itimerspec at = {.it_value = {us / 1000000, us % 1000000 * 1000L + 1}};
    RANK(r, timer_create(CLOCK_MONOTONIC, &e, &timer) == 0 && timer_settime(timer, 0, &at, NULL) == 0);
}

static int calls_before(const struct plan *p) { return p->after_us % CALLS; }

/* Sums of one size after the other, until one fails; its number. */
static int sums(struct rank *r, const struct plan *p)
{
    unsigned seed = p->seed;
    int *x = device_bytes(r, 1 << 20), last = CALLS;
    if (r->rank == p->victim && p->how >= ABORTS)
        last = calls_before(p);
    for (int i = 0; i < last; i++) {
        size_t n = 1 + (size_t)rand_r(&seed) % (i % 8 ? 500 : 200000);
        for (size_t k = 0; k < n; k += 101)
            x[k] = r->rank + (int)k + i;
        if (mcclAllReduce(x, x, n, mcclInt32, mcclSum, r->comm, r->stream) || musaStreamSynchronize(r->stream))
            return i;
        for (size_t k = 0; k < n; k += 101)
            RANK(r, x[k] == r->nranks * (r->nranks - 1) / 2 + r->nranks * ((int)k + i));
    }
    return last;
}

static void body(struct rank *r)
{
    const struct plan *p = r->arg;
    bool doomed = r->rank == p->victim;
    if (doomed && p->how == STOPPED)
        signal_later(r, SIGCONT, p->after_us + 2500000);
    if (doomed && p->how <= STOPPED)
        signal_later(r, p->how == KILLED ? SIGKILL : SIGSTOP, p->after_us);
    double since = seconds();
    mcclResult_t e = mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank);
    int done = e ? 0 : sums(r, p);
    /* Who goes in time is missed by those who call more than it does. */
    RANK(r, done == CALLS || doomed || p->how <= STOPPED || done == calls_before(p) || (p->how == ABORTS && !e));
    bool lost = done < CALLS && !(doomed && p->how >= ABORTS);
    RANK(r, !lost || doomed || e || async_error(r, true) != mcclSuccess);
    if (r->comm)
        RANK(r, (lost || (doomed && p->how == ABORTS) ? mcclCommAbort : mcclCommDestroy)(r->comm) == mcclSuccess);
    r->comm = NULL;
    RANK(r, doomed || seconds() - since < HANGS_S);
}

int main(int count, char **arguments)
{
    unsigned seed = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    int teams = count > 2 ? atoi(arguments[2]) : 10;
    static const char *const names[KINDS] = {"killed", "stopped", "aborts", "leaves"};
    if (CUMU_TSAN && getenv("CUMU_NCCL_HOST_RANKS")) {
        printf("skip mccl any_time: UCX under TSan\n");
        return 77;
    }
    setenv("CUMU_HOST_DEVICES", "2", 1);
    setenv("CUMU_HOST_SHARE", "1", 1);
    for (int i = 0; i < teams; i++, seed++) {
        unsigned s = seed * 2654435761u;
        struct plan p = {.seed = seed};
        int n = 2 + (int)((unsigned)rand_r(&s) % (MOST - 1));
        p.victim = (int)((unsigned)rand_r(&s) % (unsigned)n);
        static const enum how often[] = {KILLED, KILLED, ABORTS, LEAVES};
        p.how = i % 5 == 4 ? STOPPED : often[(unsigned)rand_r(&s) % 4]; /* a stop takes seconds */
        p.after_us = 1 + (int)((unsigned)rand_r(&s) % (rand_r(&s) % 2 ? 30000 : 120000));
        /* Who aborts or leaves does so as a member: whatever a busy machine delays, nobody else is to be missed. */
        bool slow = p.how >= ABORTS;
        setenv("CUMU_NCCL_JOIN_SECONDS", slow ? "60" : "2", 1);
        setenv("CUMU_NCCL_SILENCE_MS", slow ? "60000" : "1000", 1);
        team_doom(p.victim);
        report(team_run(PROCESSES, n, false, body, &p), "seed %u: rank %d of %d %s after %.1f ms", seed, p.victim, n,
               names[p.how], p.after_us / 1e3);
    }
    return check_end("mccl any_time");
}
