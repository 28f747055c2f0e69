/* A call that has failed leaves the program's buffers alone: no rank that was still at work on the same collective
 * writes to them afterwards, be it that a rank aborts in the midst of it or that one is killed. */
#include "team.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { TEAMS = 16, BYTES = 16 << 20, MARK = 0x77 };

struct plan {
    unsigned seed;
    int victim, kind;
    bool killed, freed; /* freed: the buffers are, at once */
};

static mcclResult_t call(struct rank *r, int kind, char *in, char *out)
{
    size_t n = BYTES / 4;
    switch (kind) {
    case 0: return mcclAllReduce(in, out, n, mcclInt32, mcclSum, r->comm, r->stream);
    case 1: return mcclBroadcast(in, out, n, mcclInt32, 0, r->comm, r->stream);
    case 2: return mcclAllGather(in, out, n / (size_t)r->nranks, mcclInt32, r->comm, r->stream);
    case 3: return mcclReduce(in, out, n, mcclInt32, mcclMax, 0, r->comm, r->stream);
    default:
        mcclGroupStart();
        (void)mcclSend(in, n, mcclInt32, (r->rank + 1) % r->nranks, r->comm, r->stream);
        (void)mcclRecv(out, n, mcclInt32, (r->rank + r->nranks - 1) % r->nranks, r->comm, r->stream);
        return mcclGroupEnd();
    }
}

/* The buffer is the program's again: what it puts there stays. */
static void stays(struct rank *r, const struct plan *p, char *out)
{
    size_t wrong = 0;
    memset(out, MARK, BYTES);
    for (int i = 0; i < 20 && !wrong; i++) {
        nap_us(2000);
        for (size_t k = 0; k < BYTES && !wrong; k += 64)
            wrong = out[k] == MARK ? 0 : k + 1;
    }
    if (wrong)
        printf("# rank %d: call %d has written to byte %zu after it had failed\n", r->rank, p->kind, wrong - 1);
    RANK(r, !wrong);
}

static void body(struct rank *r)
{
    const struct plan *p = r->arg;
    unsigned seed = p->seed, late = (unsigned)rand_r(&seed) % 6000;
    int at = rand_r(&seed) % 4;
    char *in = device_bytes(r, BYTES), *out = device_bytes(r, BYTES);
    bool doomed = r->rank == p->victim;
    /* No rank goes on before all have begun. */
    RANK(r, call(r, 0, in, out) == mcclSuccess && musaStreamSynchronize(r->stream) == musaSuccess);
    for (int i = 0; i < 200; i++) {
        mcclResult_t e = call(r, p->kind, in, out);
        if (doomed && i == at) {
            nap_us(late);
            if (p->killed)
                kill(getpid(), SIGKILL);
            RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
            r->comm = NULL;
            break;
        }
        if (e || musaStreamSynchronize(r->stream))
            break;
    }
    RANK(r, !r->comm || async_error(r, true) != mcclSuccess);
    if (p->freed)
        RANK(r, musaFree(in) == musaSuccess && musaFree(out) == musaSuccess);
    else
        stays(r, p, out);
    if (r->comm)
        RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
}

int main(int count, char **arguments)
{
    unsigned seed = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    int teams = count > 2 ? atoi(arguments[2]) : TEAMS;
    setenv("CUMU_HOST_DEVICES", "4", 1);
    for (int i = 0; i < 2 * teams; i++, seed++) {
        unsigned s = seed * 2654435761u;
        int n = 2 + rand_r(&s) % 3;
        enum team as = i < teams ? PROCESSES : THREADS; /* processes first: they are forked */
        struct plan p = {.seed = seed, .victim = rand_r(&s) % n, .kind = rand_r(&s) % 5};
        p.freed = rand_r(&s) % 3 == 0;
        p.killed = as == PROCESSES && rand_r(&s) % 3 == 0;
        if (p.killed)
            team_doom(p.victim);
        report(team_run(as, n, true, body, &p), "seed %u: %d %s, call %d, rank %d %s", seed, n,
               as == PROCESSES ? "processes" : "threads", p.kind, p.victim, p.killed ? "is killed" : "aborts");
    }
    return check_end("mccl quiet");
}
