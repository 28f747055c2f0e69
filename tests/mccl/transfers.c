/* Sends and receives: rings, all-to-all, trains of letters, oneself, several streams, graphs of groups. */
#include "team.h"

#include <string.h>
#include <unistd.h>

static int *ints(struct rank *r, size_t n, int first)
{
    int *p = device_bytes(r, n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = first + (int)i;
    return p;
}

static bool counts_from(const int *p, size_t n, int first)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != first + (int)i)
            return false;
    return true;
}

static const size_t lengths[] = {1, 2048, 2049, 9000, 300000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* To the next, from the one before; a group, and so never a deadlock however long the message. */
static void ring(struct rank *r)
{
    int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
    for (int i = 0; i < LENGTHS; i++) {
        size_t n = lengths[i];
        int *out = ints(r, n, r->rank * 1000000), *in = ints(r, n, -5);
        mcclGroupStart();
        RANK(r, mcclSend(out, n, mcclInt32, next, r->comm, r->stream) == 0);
        RANK(r, mcclRecv(in, n, mcclInt32, before, r->comm, r->stream) == 0);
        RANK(r, mcclGroupEnd() == 0);
        RANK(r, musaStreamSynchronize(r->stream) == 0);
        RANK(r, counts_from(in, n, before * 1000000));
    }
}

/* Without groups: one side sends what the other receives, in order, more than a mailbox holds. */
static void line(struct rank *r)
{
    enum { MANY = 50 };
    int *x = ints(r, MANY, r->rank ? -9 : 100);
    for (int i = 0; i < MANY; i++) {
        if (r->rank == 0)
            RANK(r, mcclSend(x + i, 1, mcclInt32, 1, r->comm, r->stream) == 0);
        else if (r->rank == 1)
            RANK(r, mcclRecv(x + i, 1, mcclInt32, 0, r->comm, r->stream) == 0);
    }
    RANK(r, musaStreamSynchronize(r->stream) == 0);
    RANK(r, r->rank > 1 || counts_from(x, MANY, 100));
}

/* Everybody to everybody, oneself too, two messages a pair of unlike lengths, on two streams. */
static void all_to_all(struct rank *r)
{
    enum { LONG = 20000, SHORT = 7 };
    size_t n = (size_t)r->nranks;
    int *out = ints(r, n * LONG, r->rank << 20), *in = ints(r, n * (LONG + SHORT), -1);
    musaStream_t other;
    RANK(r, musaStreamCreateWithFlags(&other, musaStreamNonBlocking) == 0);
    mcclGroupStart();
    for (size_t q = 0; q < n; q++) {
        musaStream_t s = q % 2 ? other : r->stream;
        RANK(r, mcclSend(out + q * LONG, LONG, mcclInt32, (int)q, r->comm, s) == 0);
        RANK(r, mcclSend(out, SHORT, mcclInt32, (int)q, r->comm, s) == 0);
    }
    for (size_t q = n; q-- > 0;) { /* in another order than the sends */
        int *at = in + q * (LONG + SHORT);
        RANK(r, mcclRecv(at, LONG, mcclInt32, (int)q, r->comm, r->stream) == 0);
        RANK(r, mcclRecv(at + LONG, SHORT, mcclInt32, (int)q, r->comm, other) == 0);
    }
    RANK(r, mcclGroupEnd() == 0);
    RANK(r, musaStreamSynchronize(other) == 0); /* each of the streams waits for all of it */
    for (int q = 0; q < r->nranks; q++) {
        const int *at = in + (size_t)q * (LONG + SHORT);
        RANK(r, counts_from(at, LONG, (q << 20) + r->rank * LONG));
        RANK(r, counts_from(at + LONG, SHORT, q << 20));
    }
    musaStreamDestroy(other);
}

/* Host memory goes as a train of letters, device memory at once; one side each. */
static void mixed_memory(struct rank *r)
{
    enum { N = 100000 };
    int *pinned;
    RANK(r, musaMallocHost((void **)&pinned, N * sizeof *pinned) == 0);
    int *device = ints(r, N, -1);
    for (int i = 0; i < N; i++)
        pinned[i] = r->rank + i;
    int peer = r->rank ^ 1;
    if (peer < r->nranks) {
        mcclGroupStart();
        RANK(r, mcclSend(pinned, N, mcclInt32, peer, r->comm, r->stream) == 0);
        RANK(r, mcclRecv(device, N, mcclInt32, peer, r->comm, r->stream) == 0);
        RANK(r, mcclGroupEnd() == 0);
        RANK(r, musaStreamSynchronize(r->stream) == 0);
        RANK(r, counts_from(device, N, peer));
    }
    musaFreeHost(pinned);
}

/* Buffers that come and go: what another process had mapped is another allocation now. */
static void fresh_buffers(struct rank *r)
{
    enum { N = 30000 };
    for (int k = 0; k < 40; k++) {
        int *x = NULL;
        size_t n = N + (size_t)(k % 3) * 5000;
        RANK(r, musaMalloc((void **)&x, n * sizeof *x) == 0);
        for (size_t i = 0; i < n; i++)
            x[i] = k + r->rank;
        RANK(r, mcclAllReduce(x, x, n, mcclInt32, mcclSum, r->comm, r->stream) == 0);
        RANK(r, musaStreamSynchronize(r->stream) == 0);
        int want = r->nranks * k + r->nranks * (r->nranks - 1) / 2;
        RANK(r, x[0] == want && x[n - 1] == want);
        musaFree(x);
    }
}

/* Who gives is as far ahead as it may be, and further: the others begin when it has been at it for a while. */
static void far_ahead(struct rank *r)
{
    enum { CALLS = 1500, MOST = 500 };
    static const size_t counts[] = {1, 10, 11, MOST, 3};
    int *x = ints(r, CALLS * MOST, 0), *y = ints(r, CALLS * MOST, 0);
    for (int way = 0; way < 2; way++) {
        int *at = r->rank ? y : x;
        memset(y, 0xff, CALLS * MOST * sizeof *y);
        usleep((unsigned)(r->rank * 20000));
        for (int k = 0; k < CALLS; k++, at += MOST) {
            const size_t n = counts[k % 5];
            mcclResult_t e = way == 0       ? mcclBroadcast(at, at, n, mcclInt32, 0, r->comm, r->stream)
                             : r->rank == 0 ? mcclSend(at, n, mcclInt32, 1, r->comm, r->stream)
                             : r->rank == 1 ? mcclRecv(at, n, mcclInt32, 0, r->comm, r->stream)
                                            : mcclSuccess;
            RANK(r, e == 0);
        }
        RANK(r, settled(r));
        for (int k = 0; k < CALLS && r->rank && (way == 0 || r->rank == 1); k++) {
            const size_t n = counts[k % 5];
            RANK(r, counts_from(y + (size_t)k * MOST, n, k * MOST) && (n == MOST || y[(size_t)k * MOST + n] == -1));
        }
    }
}

/* One thread drives all ranks: a communicator for each device, collectives and transfers in groups. */
static void one_thread(int n)
{
    struct rank r = {.nranks = n};
    mcclComm_t comms[4];
    musaStream_t streams[4];
    int *x[4], *y[4];
    RANK(&r, mcclCommInitAll(comms, n, NULL) == 0);
    for (int i = 0; i < n; i++) {
        int device = -1, rank = -1, count = -1;
        RANK(&r, mcclCommMuDevice(comms[i], &device) == 0 && device == i);
        RANK(&r, mcclCommUserRank(comms[i], &rank) == 0 && rank == i);
        RANK(&r, mcclCommCount(comms[i], &count) == 0 && count == n);
        musaSetDevice(i);
        musaStreamCreate(&streams[i]);
        x[i] = ints(&r, 5000, i);
        y[i] = ints(&r, 5000, -7);
    }
    mcclGroupStart();
    for (int i = 0; i < n; i++)
        RANK(&r, mcclAllReduce(x[i], x[i], 5000, mcclInt32, mcclMax, comms[i], streams[i]) == 0);
    mcclGroupStart(); /* groups nest */
    for (int i = 0; i < n; i++) {
        RANK(&r, mcclSend(x[i], 5000, mcclInt32, (i + 1) % n, comms[i], streams[i]) == 0);
        RANK(&r, mcclRecv(y[i], 5000, mcclInt32, (i + n - 1) % n, comms[i], streams[i]) == 0);
    }
    RANK(&r, mcclGroupEnd() == 0);
    RANK(&r, mcclGroupEnd() == 0);
    for (int i = 0; i < n; i++) {
        musaSetDevice(i);
        RANK(&r, musaStreamSynchronize(streams[i]) == 0);
        RANK(&r, counts_from(y[i], 5000, n - 1));
    }
    for (int i = 0; i < n; i++)
        RANK(&r, mcclCommDestroy(comms[i]) == 0);
    musaSetDevice(0);
    report(!r.wrong, "one thread drives %d devices", n);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*body)(struct rank *);
    } bodies[] = {{"ring", ring},
                  {"messages in line", line},
                  {"all to all", all_to_all},
                  {"far ahead", far_ahead},
                  {"host and device memory", mixed_memory},
                  {"buffers that come and go", fresh_buffers}};
    setenv("CUMU_HOST_DEVICES", "4", 1);
    for (int team = PROCESSES; team >= THREADS; team--)
        for (unsigned b = 0; b < sizeof bodies / sizeof *bodies; b++)
            for (int n = 2; n <= 4; n++)
                report(team_run((enum team)team, n, true, bodies[b].body, NULL), "%s, %d %s", bodies[b].name, n,
                       team ? "processes" : "threads");
    one_thread(1);
    one_thread(4);
    return check_end("mccl transfers");
}
