/* A rank that is stopped in the midst of a call and goes on when the others have long been told that it is lost: it
 * writes nothing more into their buffers, which are their programs' again, not even what it had begun. */
#include "sanitize.h"
#include "team.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { TEAMS = 60, KINDS = 5, BYTES = 4 << 20, MARK = 0x77, LIMIT_S = 20, LOOKS = 20 };

static struct shared {
    _Atomic int ready, stopped, continued; /* ready: ranks whose buffers are marked */
} * shared;

struct plan {
    unsigned seed;
    int victim, kind;
};

static bool comes(const _Atomic int *word, int value)
{
    for (double end = seconds() + LIMIT_S; *word < value && seconds() < end;)
        nap_us(500);
    return *word >= value;
}

/* Whatever the victim's part writes into others' memory. */
static mcclResult_t call(struct rank *r, const struct plan *p, mcclWindow_t w, char *in, char *out)
{
    size_t n = BYTES / 4;
    int other = (p->victim + 1) % r->nranks;
    mcclWaitSignalDesc_t one = {1, p->victim, 0, 0};
    switch (p->kind) {
    case 0: return mcclAllReduce(in, out, n, mcclInt32, mcclSum, r->comm, r->stream);
    case 1: return mcclBroadcast(in, out, n, mcclInt32, p->victim, r->comm, r->stream);
    case 2: return mcclAllGather(in, out, n / (size_t)r->nranks, mcclInt32, r->comm, r->stream);
    case 3: return mcclReduce(in, out, n * 2, mcclFloat16, mcclSum, other, r->comm, r->stream);
    default:
        return r->rank == p->victim ? mcclPutSignal(in, n, mcclInt32, other, w, 0, 0, 0, 0, r->comm, r->stream)
               : r->rank == other   ? mcclWaitSignal(1, &one, r->comm, r->stream)
                                    : mcclAllReduce(in, out, 1, mcclInt32, mcclSum, r->comm, r->stream);
    }
}

/* From a process of its own; it goes on when the others have marked their buffers. */
static void stop_soon(unsigned us, int others)
{
    pid_t self = getpid();
    if (fork())
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    nap_us(us);
    kill(self, SIGSTOP);
    shared->stopped = 1;
    (void)comes(&shared->ready, others);
    kill(self, SIGCONT);
    shared->continued = 1;
    _exit(0);
}

static size_t first_change(const char *out)
{
    const bool none = out[0] == MARK && memcmp(out, out + 1, BYTES - 1) == 0;
    for (size_t k = 0; k < BYTES && !none; k++)
        if (out[k] != MARK)
            return k + 1;
    return 0;
}

static void body(struct rank *r)
{
    const struct plan *p = r->arg;
    unsigned seed = p->seed, after = 1000 + (unsigned)rand_r(&seed) % 20000;
    char *in = device_bytes(r, BYTES), *out = device_bytes(r, BYTES);
    mcclWindow_t w = NULL;
    bool failed = false;
    memset(in, 1, BYTES);
    if (p->kind == 4)
        RANK(r, mcclCommWindowRegister(r->comm, out, BYTES, &w, 0) == mcclSuccess);
    if (r->rank == p->victim)
        stop_soon(after, r->nranks - 1);
    for (double end = seconds() + LIMIT_S; !failed && seconds() < end;) {
        failed = call(r, p, w, in, out) || musaStreamSynchronize(r->stream);
        /* A put waits for nobody, and the others have nothing else to wait for. */
        for (int i = 0; p->kind == 4 && r->rank == p->victim && !failed && shared->stopped; i++)
            failed = mcclAllReduce(in, out, 1, mcclInt32, mcclSum, r->comm, r->stream) ||
                     musaStreamSynchronize(r->stream);
    }
    RANK(r, failed && async_error(r, true) != mcclSuccess);
    if (r->rank == p->victim) { /* its end would be its helper's */
        RANK(r, comes(&shared->continued, 1));
        return;
    }
    memset(out, MARK, BYTES);
    shared->ready++;
    RANK(r, comes(&shared->continued, 1));
    size_t wrong = 0;
    for (int i = 0; i < LOOKS && !wrong; i++) {
        nap_us(1000);
        wrong = first_change(out);
    }
    if (wrong)
        printf("# rank %d: byte %zu was written after the call had failed\n", r->rank, wrong - 1);
    RANK(r, !wrong);
}

int main(int count, char **arguments)
{
    unsigned seed = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    int teams = count > 2   ? atoi(arguments[2])
                : CUMU_TSAN ? TEAMS / 4
                            : TEAMS,
        kinds = count > 3 ? atoi(arguments[3]) : KINDS;
    setenv("CUMU_HOST_DEVICES", "4", 1);
    setenv("CUMU_NCCL_SILENCE_MS", "100", 1);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < teams && shared != MAP_FAILED; i++, seed++) {
        unsigned s = seed * 2654435761u;
        int n = 2 + i / kinds % 2;
        struct plan p = {.seed = seed, .victim = rand_r(&s) % n, .kind = i % kinds};
        memset(shared, 0, sizeof *shared);
        team_doom(p.victim);
        report(team_run(PROCESSES, n, true, body, &p), "seed %u: %d ranks, call %d, rank %d goes on", seed, n, p.kind,
               p.victim);
    }
    return check_end("mccl continued");
}
