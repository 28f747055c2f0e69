/* Windows and signals: puts into other ranks' memory, waits for what was put, barriers made of signals, graphs, other
 * streams; and ranks that die, leave or abort while another waits for their signal. */
#include "team.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static mcclWaitSignalDesc_t from(int peer, int signal, int context)
{
    return (mcclWaitSignalDesc_t){1, peer, signal, context};
}

static mcclWindow_t window_of(struct rank *r, void *p, size_t bytes)
{
    mcclWindow_t w = NULL;
    RANK(r, mcclCommWindowRegister(r->comm, p, bytes, &w, 1) == mcclSuccess);
    return w;
}

/* Everybody into everybody's window, oneself's too, at an offset of one's own; every length on another signal. */
static void exchange(struct rank *r)
{
    static const size_t lengths[] = {1, 2049, 300000};
    size_t most = lengths[2], n = (size_t)r->nranks;
    int *out = device_bytes(r, most * sizeof *out), *in = device_bytes(r, n * most * sizeof *in);
    mcclWindow_t w = window_of(r, in, n * most * sizeof *in);
    mcclWaitSignalDesc_t *waits = calloc(n, sizeof *waits);
    for (int k = 0; k < 3; k++) {
        /* Nobody writes what another has not compared yet. */
        RANK(r, mcclAllReduce(out, out, 1, mcclInt32, mcclMax, r->comm, r->stream) == mcclSuccess);
        RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
        for (size_t i = 0; i < lengths[k]; i++)
            out[i] = r->rank * 1000000 + k + (int)i;
        mcclGroupStart();
        for (int q = 0; q < r->nranks; q++) {
            RANK(r, mcclPutSignal(out, lengths[k], mcclInt32, q, w, (size_t)r->rank * most * sizeof *in, k, k, 0,
                                  r->comm, r->stream) == mcclSuccess);
            waits[q] = from(q, k, k);
        }
        RANK(r, mcclGroupEnd() == mcclSuccess);
        RANK(r, mcclWaitSignal(r->nranks, waits, r->comm, r->stream) == mcclSuccess);
        RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
        for (size_t q = 0; q < n; q++)
            for (size_t i = 0; i < lengths[k]; i += 997)
                RANK(r, in[q * most + i] == (int)q * 1000000 + k + (int)i);
    }
    RANK(r, mcclCommWindowDeregister(r->comm, w) == mcclSuccess);
    RANK(r, mcclCommWindowDeregister(r->comm, w) == mcclInvalidArgument);
    RANK(r, mcclPutSignal(out, 1, mcclInt32, 0, w, 0, 0, 0, 0, r->comm, r->stream) == mcclInvalidArgument);
    free(waits);
}

/* A barrier of signals around writes of everybody into one cell of everybody's: nobody is a round ahead. */
static void barriers(struct rank *r)
{
    enum { ROUNDS = 100 };
    int *cell = device_bytes(r, (size_t)r->nranks * sizeof *cell), *mine = device_bytes(r, sizeof *mine);
    mcclWindow_t w = window_of(r, cell, (size_t)r->nranks * sizeof *cell);
    mcclWaitSignalDesc_t *waits = calloc((size_t)r->nranks, sizeof *waits);
    for (int i = 0; i < ROUNDS; i++) {
        *mine = i;
        for (int q = 0; q < r->nranks; q++) {
            RANK(r, mcclPutSignal(mine, 1, mcclInt32, q, w, (size_t)r->rank * sizeof *cell, 0, 0, 0, r->comm,
                                  r->stream) == mcclSuccess);
            waits[q] = from(q, 0, 0);
        }
        RANK(r, mcclWaitSignal(r->nranks, waits, r->comm, r->stream) == mcclSuccess);
        RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
        for (int q = 0; q < r->nranks; q++)
            RANK(r, cell[q] == i);
        for (int q = 0; q < r->nranks; q++) {
            RANK(r, mcclSignal(q, 1, 0, 0, r->comm, r->stream) == mcclSuccess);
            waits[q] = from(q, 1, 0);
        }
        RANK(r, mcclWaitSignal(r->nranks, waits, r->comm, r->stream) == mcclSuccess);
        RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
    }
    free(waits);
}

/* Puts of drawn sizes between drawn ranks, all streams' work at once, against a model: each rank works out for itself
 * what all windows must hold in the end, and how many signals it must wait for. A put's bytes are of its number. */
static void generated(struct rank *r)
{
    enum { PUTS = 60, SPAN = 3 << 20 };
    static const size_t edges[] = {0, 1, 32767, 32768, 32769, 16 * 32768, 16 * 32768 + 1};
    unsigned seed = 20 + (unsigned)r->nranks;
    size_t n = (size_t)r->nranks, *end = calloc(n, sizeof *end);
    unsigned char *window = device_bytes(r, SPAN), *model = calloc(1, SPAN), *data[PUTS];
    mcclWaitSignalDesc_t *waits = calloc(PUTS, sizeof *waits);
    musaStream_t other;
    int nwaits = 0;
    memset(window, 0, SPAN);
    RANK(r, musaStreamCreateWithFlags(&other, musaStreamNonBlocking) == musaSuccess);
    mcclWindow_t w = window_of(r, window, SPAN);
    for (int i = 0; i < PUTS; i++) {
        int source = rand_r(&seed) % r->nranks, target = rand_r(&seed) % r->nranks, signal = rand_r(&seed) % 16;
        int context = rand_r(&seed) % 4;
        size_t bytes = i % 3 ? (size_t)rand_r(&seed) % 90000 : edges[(unsigned)rand_r(&seed) % 7];
        size_t at = end[target] + (size_t)rand_r(&seed) % 100;
        data[i] = NULL;
        if (at + bytes > SPAN)
            continue;
        end[target] = at + bytes;
        if (target == r->rank) {
            memset(model + at, i + 1, bytes);
            waits[nwaits++] = from(source, signal, context);
        }
        if (source != r->rank)
            continue;
        data[i] = device_bytes(r, bytes);
        memset(data[i], i + 1, bytes);
        RANK(r, mcclPutSignal(data[i], bytes, mcclUint8, target, w, at, signal, context, 0, r->comm,
                              i % 2 ? r->stream : other) == mcclSuccess);
    }
    RANK(r, mcclWaitSignal(nwaits, waits, r->comm, r->stream) == mcclSuccess);
    RANK(r, musaStreamSynchronize(r->stream) == musaSuccess && musaStreamSynchronize(other) == musaSuccess);
    RANK(r, memcmp(window, model, SPAN) == 0);
    musaStreamDestroy(other);
    free(waits);
    free(model);
    free(end);
}

/* A stream that waits holds up neither another stream's put nor its collective. */
static void streams(struct rank *r)
{
    int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
    int *x = device_bytes(r, 2 * sizeof *x);
    x[0] = r->rank;
    mcclWindow_t w = window_of(r, x + 1, sizeof *x);
    musaStream_t other;
    mcclWaitSignalDesc_t two = {2, before, 0, 0};
    RANK(r, musaStreamCreateWithFlags(&other, musaStreamNonBlocking) == musaSuccess);
    RANK(r, mcclWaitSignal(1, &two, r->comm, r->stream) == mcclSuccess);
    RANK(r, mcclAllReduce(x, x, 1, mcclInt32, mcclMax, r->comm, other) == mcclSuccess);
    RANK(r, mcclSignal(next, 0, 0, 0, r->comm, other) == mcclSuccess);
    RANK(r, musaStreamSynchronize(other) == musaSuccess);
    RANK(r, mcclPutSignal(x, 1, mcclInt32, next, w, 0, 0, 0, 0, r->comm, other) == mcclSuccess);
    RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
    RANK(r, x[1] == r->nranks - 1);
    RANK(r, musaStreamSynchronize(other) == musaSuccess);
    musaStreamDestroy(other);
}

/* A graph of them, launched again and again. */
static void graph(struct rank *r)
{
    int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
    int *x = device_bytes(r, 2 * sizeof *x);
    mcclWindow_t w = window_of(r, x + 1, sizeof *x);
    mcclWaitSignalDesc_t one = from(before, 3, 1), taken = from(next, 4, 1);
    musaGraph_t g = NULL;
    musaGraphExec_t e = NULL;
    RANK(r, musaStreamBeginCapture(r->stream, musaStreamCaptureModeThreadLocal) == musaSuccess);
    RANK(r, mcclPutSignal(x, 1, mcclInt32, next, w, 0, 3, 1, 0, r->comm, r->stream) == mcclSuccess);
    RANK(r, mcclWaitSignal(1, &one, r->comm, r->stream) == mcclSuccess);
    RANK(r, musaStreamEndCapture(r->stream, &g) == musaSuccess);
    RANK(r, musaGraphInstantiate(&e, g, 0) == musaSuccess);
    for (int i = 0; i < 5 && e; i++) {
        x[0] = r->rank * 10 + i;
        RANK(r, musaGraphLaunch(e, r->stream) == musaSuccess);
        RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
        RANK(r, x[1] == before * 10 + i);
        RANK(r, mcclSignal(before, 4, 1, 0, r->comm, r->stream) == mcclSuccess);
        RANK(r, mcclWaitSignal(1, &taken, r->comm, r->stream) == mcclSuccess);
    }
    RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
    musaGraphExecDestroy(e);
    musaGraphDestroy(g);
}

enum { DIES, LEAVES, ABORTS };

/* The last rank signals once and is gone, the others wait for that, and then for more. */
static void gone(struct rank *r)
{
    int how = *(int *)r->arg, last = r->nranks - 1;
    mcclWaitSignalDesc_t once = from(last, 0, 0);
    if (r->rank == last) {
        for (int q = 0; q < last; q++)
            RANK(r, mcclSignal(q, 0, 0, 0, r->comm, r->stream) == mcclSuccess);
        RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
        if (how == DIES) {
            fflush(stdout);
            _exit(0); /* as kill -9 does, this runs nothing of ours */
        }
        RANK(r, (how == LEAVES ? mcclCommDestroy : mcclCommAbort)(r->comm) == mcclSuccess);
        r->comm = NULL;
        return;
    }
    if (how != ABORTS) { /* what came before the end counts */
        mcclResult_t e = mcclWaitSignal(1, &once, r->comm, r->stream);
        musaError_t told = e ? musaSuccess : musaStreamSynchronize(r->stream);
        RANK(r, (!e && !told) || async_error(r, false) == mcclRemoteError); /* another may have noticed already */
    }
    mcclResult_t e = mcclWaitSignal(1, &once, r->comm, r->stream);
    if (!e && how == ABORTS) /* the first may have come */
        e = mcclWaitSignal(1, &once, r->comm, r->stream);
    RANK(r, e == mcclSuccess || e == mcclRemoteError);
    RANK(r, e || musaStreamSynchronize(r->stream) == musaErrorIllegalState);
    RANK(r, async_error(r, true) == mcclRemoteError);
}

/* A rank that waits for a signal that will not come can abort. */
static void *abort_later(void *comm)
{
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    return mcclCommAbort(comm) ? comm : NULL;
}

static void gives_up(struct rank *r)
{
    pthread_t thread;
    void *failed = NULL;
    mcclWaitSignalDesc_t never = from((r->rank + 1) % r->nranks, 0, 0);
    mcclResult_t e = mcclWaitSignal(1, &never, r->comm, r->stream);
    RANK(r, e == mcclSuccess || e == mcclRemoteError); /* another may have given up already */
    pthread_create(&thread, NULL, abort_later, r->comm);
    RANK(r, settled(r));
    pthread_join(thread, &failed);
    RANK(r, !failed);
    r->comm = NULL;
}

static void refused(struct rank *r)
{
    int *x = device_bytes(r, 64), here = 0;
    mcclComm_t c = r->comm;
    musaStream_t s = r->stream;
    mcclWindow_t w = window_of(r, x, 64), none = NULL;
    mcclWaitSignalDesc_t wait = from(0, 0, 0);
    RANK(r, mcclCommWindowRegister(c, &here, 4, &none, 0) == mcclInvalidArgument);
    RANK(r, mcclCommWindowRegister(c, x, 0, &none, 0) == mcclInvalidArgument);
    RANK(r, mcclCommWindowRegister(NULL, x, 64, &none, 0) == mcclInvalidArgument);
    RANK(r, mcclPutSignal(x, 17, mcclInt32, 0, w, 0, 0, 0, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclPutSignal(x, 1, mcclInt32, 0, w, 61, 0, 0, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclPutSignal(x, 1, mcclInt32, 0, w, (size_t)-4, 0, 0, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclPutSignal(x, 1, mcclInt32, r->nranks, w, 0, 0, 0, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclPutSignal(NULL, 1, mcclInt32, 0, w, 0, 0, 0, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclPutSignal(x, 1, mcclInt32, 0, NULL, 0, 0, 0, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclPutSignal(x, 1, mcclInt32, 0, w, 0, 0, 0, 1, c, s) == mcclInvalidArgument);
    RANK(r, mcclSignal(0, 1000, 0, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclSignal(0, 0, -1, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclSignal(0, 0, 0, 0, NULL, s) == mcclInvalidArgument);
    RANK(r, mcclWaitSignal(-1, &wait, c, s) == mcclInvalidArgument);
    RANK(r, mcclWaitSignal(1, NULL, c, s) == mcclInvalidArgument);
    wait.count = -1;
    RANK(r, mcclWaitSignal(1, &wait, c, s) == mcclInvalidArgument);
    RANK(r, mcclWaitSignal(0, NULL, c, s) == mcclSuccess);
    RANK(r, mcclGroupStart() == 0 && mcclSignal(-1, 0, 0, 0, c, s) == mcclInvalidArgument);
    RANK(r, mcclSignal(0, 0, 0, 0, c, s) == mcclSuccess && mcclGroupEnd() == mcclInvalidArgument);
    RANK(r, async_error(r, false) == mcclSuccess);
}

int main(void)
{
    static const struct {
        const char *what;
        void (*body)(struct rank *);
        int how;
    } all[] = {{"puts to everybody", exchange, 0},
               {"barriers of signals", barriers, 0},
               {"generated puts", generated, 0},
               {"several streams", streams, 0},
               {"a graph", graph, 0},
               {"a rank that leaves", gone, LEAVES},
               {"a rank that aborts", gone, ABORTS},
               {"a rank that gives up", gives_up, 0},
               {"wrong arguments", refused, 0},
               {"a rank that dies", gone, DIES}};
    int least = getenv("CUMU_NCCL_HOST_RANKS") ? 4 : 2; /* two hosts of two ranks */
    setenv("CUMU_HOST_DEVICES", "2", 1);
    setenv("CUMU_HOST_SHARE", "1", 1);
    for (enum team kind = PROCESSES + 1; kind-- > THREADS;) /* processes first: they are forked */
        for (unsigned i = 0; i < sizeof all / sizeof *all - (kind == THREADS); i++)
            for (int n = least; n <= 4; n += 2) {
                int how = all[i].how;
                report(team_run(kind, n, true, all[i].body, &how), "one-sided: %s, %d %s", all[i].what, n,
                       kind == THREADS ? "threads" : "processes");
            }
    return check_end("mccl one_sided");
}
