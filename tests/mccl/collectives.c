/* Every collective in every type and operation, in and out of place, at sizes of each of the three ways
 * that data take, against values computed element by element. */
#include "team.h"

#include <math.h>
#include <string.h>

enum kind { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, KINDS };
static const char *const kind_name[] = {"all-reduce", "reduce", "broadcast", "all-gather", "reduce-scatter"};
static const size_t sizes[mcclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

static float half_value(mcclDataType_t t, uint16_t h)
{
    uint32_t b = (uint32_t)h << 16;
    float f;
    if (t == mcclFloat16) {
        double m = h & 1023;
        int e = h >> 10 & 31;
        f = (float)(e ? ldexp(m + 1024, e - 25) : ldexp(m, -24));
        return h & 0x8000 ? -f : f;
    }
    memcpy(&f, &b, 4);
    return f;
}

/* Values are small whole numbers (and fractions of them for averages), exact in every type. */
static void put(mcclDataType_t t, void *at, size_t i, double v)
{
    char *p = (char *)at + i * sizes[t];
    float f = (float)v;
    uint32_t b;
    memcpy(&b, &f, 4);
    switch (t) {
    case mcclInt8:
    case mcclUint8: *p = (char)(int)v; break;
    case mcclInt32:
    case mcclUint32: {
        int x = (int)v;
        memcpy(p, &x, 4);
        break;
    }
    case mcclInt64:
    case mcclUint64: {
        long long x = (long long)v;
        memcpy(p, &x, 8);
        break;
    }
    case mcclFloat32: memcpy(p, &f, 4); break;
    case mcclFloat64: memcpy(p, &v, 8); break;
    case mcclBfloat16: {
        uint16_t h = (uint16_t)(b >> 16);
        memcpy(p, &h, 2);
        break;
    }
    default: { /* half: normal numbers only */
        uint16_t h = v == 0 ? 0 : (uint16_t)((b >> 16 & 0x8000) | (((b >> 23 & 255) - 112) << 10) | (b >> 13 & 1023));
        memcpy(p, &h, 2);
    }
    }
}

static double get(mcclDataType_t t, const void *at, size_t i)
{
    const char *p = (const char *)at + i * sizes[t];
    switch (t) {
    case mcclInt8: return *(const signed char *)p;
    case mcclUint8: return *(const unsigned char *)p;
    case mcclInt32: {
        int x;
        memcpy(&x, p, 4);
        return x;
    }
    case mcclUint32: {
        unsigned x;
        memcpy(&x, p, 4);
        return x;
    }
    case mcclInt64: {
        long long x;
        memcpy(&x, p, 8);
        return (double)x;
    }
    case mcclUint64: {
        unsigned long long x;
        memcpy(&x, p, 8);
        return (double)x;
    }
    case mcclFloat32: {
        float x;
        memcpy(&x, p, 4);
        return x;
    }
    case mcclFloat64: {
        double x;
        memcpy(&x, p, 8);
        return x;
    }
    default: {
        uint16_t h;
        memcpy(&h, p, 2);
        return half_value(t, h);
    }
    }
}

static double value(int rank, size_t i) { return (double)((i * 7 + (size_t)rank * 3) % 5 + 1); }

static double expected(mcclRedOp_t op, mcclDataType_t t, int nranks, size_t i)
{
    double a = value(0, i);
    for (int q = 1; q < nranks; q++) {
        double b = value(q, i);
        a = op == mcclProd ? a * b : op == mcclMax ? fmax(a, b) : op == mcclMin ? fmin(a, b) : a + b;
    }
    if (op == mcclAvg)
        a = t < mcclFloat16 ? floor(a / nranks) : a / nranks;
    return a;
}

struct one {
    enum kind kind;
    mcclDataType_t type;
    mcclRedOp_t op;
    size_t count;
    bool in_place;
    bool pinned; /* host memory: cannot be mapped by other processes */
};

/* Is this result right, within the type's rounding? */
static bool right(const struct one *o, double got, double want)
{
    double eps = o->type == mcclFloat16 ? 1e-3 : o->type == mcclBfloat16 ? 8e-3 : 1e-6;
    return o->op == mcclAvg ? fabs(got - want) <= eps * fabs(want) : got == want;
}

static void check_one(struct rank *r, const struct one *o)
{
    size_t n = o->count, size = sizes[o->type], N = (size_t)r->nranks;
    size_t send_n = o->kind == REDUCE_SCATTER ? n * N : n, recv_n = o->kind == ALL_GATHER ? n * N : n;
    size_t all = n * N * size;
    char *send, *recv;
    int root = (int)(n % N);
    if (o->pinned) {
        RANK(r, musaMallocHost((void **)&send, all) == 0 && musaMallocHost((void **)&recv, all) == 0);
    } else
        RANK(r, musaMalloc((void **)&send, all) == 0 && musaMalloc((void **)&recv, all) == 0);
    if (r->wrong)
        return;
    memset(recv, 0x55, all);
    if (o->in_place)
        recv = o->kind == REDUCE_SCATTER ? send + (size_t)r->rank * n * size : send;
    char *gather = o->in_place && o->kind == ALL_GATHER ? send : recv, *from = send;
    if (o->in_place && o->kind == ALL_GATHER)
        from = send + (size_t)r->rank * n * size;
    for (size_t i = 0; i < send_n; i++)
        put(o->type, from, i, value(r->rank, i));
    mcclResult_t e = mcclInternalError;
    switch (o->kind) {
    case ALL_REDUCE: e = mcclAllReduce(from, recv, n, o->type, o->op, r->comm, r->stream); break;
    case REDUCE: e = mcclReduce(from, recv, n, o->type, o->op, root, r->comm, r->stream); break;
    case BROADCAST: e = mcclBroadcast(from, recv, n, o->type, root, r->comm, r->stream); break;
    case ALL_GATHER: e = mcclAllGather(from, gather, n, o->type, r->comm, r->stream); break;
    default: e = mcclReduceScatter(from, recv, n, o->type, o->op, r->comm, r->stream);
    }
    RANK(r, e == mcclSuccess);
    RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
    const char *out = o->kind == ALL_GATHER ? gather : recv;
    for (size_t i = 0; i < recv_n && r->wrong < 5; i++) {
        if (o->kind == REDUCE && r->rank != root)
            break;
        double want = o->kind == BROADCAST        ? value(root, i)
                      : o->kind == ALL_GATHER     ? value((int)(i / n), i % n)
                      : o->kind == REDUCE_SCATTER ? expected(o->op, o->type, r->nranks, (size_t)r->rank * n + i)
                                                  : expected(o->op, o->type, r->nranks, i);
        if (!right(o, get(o->type, out, i), want)) {
            printf("# %s type %d op %d count %zu%s: [%zu] is %g, not %g\n", kind_name[o->kind], o->type, o->op, n,
                   o->in_place ? " in place" : "", i, get(o->type, out, i), want);
            r->wrong++;
        }
    }
    if (o->pinned) {
        musaFreeHost(send);
        if (!o->in_place)
            musaFreeHost(recv);
    } else {
        musaFree(send);
        if (!o->in_place)
            musaFree(recv);
    }
}

/* One kind: every type and operation at a few counts, both ways. */
static void body(struct rank *r)
{
    static const size_t counts[] = {1, 3, 250, 5000, 70001};
    enum kind kind = *(enum kind *)r->arg;
    bool reduces = kind == ALL_REDUCE || kind == REDUCE || kind == REDUCE_SCATTER;
    for (int t = 0; t < mcclNumTypes; t++)
        for (int op = 0; op < (reduces ? (int)mcclNumOps : 1); op++)
            for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++) {
                if (op == mcclProd && r->nranks > 5)
                    continue; /* too large for the small types */
                bool wide = t == mcclFloat16 || t == mcclFloat32 || t == mcclInt8;
                if ((c == 3 && op > 0 && !wide) || (c == 4 && (op > 0 || !wide)))
                    continue; /* the large ones not in every combination */
                struct one o = {kind, (mcclDataType_t)t, (mcclRedOp_t)op, counts[c], c % 2, false};
                check_one(r, &o);
                o.in_place = !o.in_place;
                check_one(r, &o);
            }
    check_one(r, &(struct one){kind, mcclFloat32, mcclSum, 50000, false, true});
    check_one(r, &(struct one){kind, mcclInt64, mcclSum, 3, true, true});
}

/* Sums of factors: of the host at once, of the device when the stream comes to it; a destroyed operation
 * serves what was called before. */
static void factors(struct rank *r)
{
    float *x = device_bytes(r, 40000), *y = device_bytes(r, 40000), *on_device = device_bytes(r, 4);
    uint16_t *h = device_bytes(r, 20), half = r->rank ? 0x4000 : 0x3c00; /* 2, 1 */
    float factor = (float)(r->rank + 1);
    for (int i = 0; i < 10000; i++)
        x[i] = (float)(i % 10);
    for (int i = 0; i < 10; i++)
        h[i] = 0x3c00;
    mcclRedOp_t host_op, device_op, half_op;
    RANK(r, mcclRedOpCreatePreMulSum(&host_op, &factor, mcclFloat32, mcclScalarHostImmediate, r->comm) == 0);
    RANK(r, mcclRedOpCreatePreMulSum(&device_op, on_device, mcclFloat32, mcclScalarDevice, r->comm) == 0);
    RANK(r, mcclRedOpCreatePreMulSum(&half_op, &half, mcclFloat16, mcclScalarHostImmediate, r->comm) == 0);
    double all = 0.5 * r->nranks * (r->nranks + 1);
    RANK(r, musaMemcpyAsync(on_device, &factor, 4, musaMemcpyHostToDevice, r->stream) == 0);
    RANK(r, mcclAllReduce(x, y, 10, mcclFloat32, host_op, r->comm, r->stream) == 0);
    RANK(r, mcclRedOpDestroy(host_op, r->comm) == 0);
    RANK(r, musaStreamSynchronize(r->stream) == 0);
    for (int i = 0; i < 10; i++)
        RANK(r, y[i] == (float)(all * (i % 10)));
    RANK(r, mcclAllReduce(x, y, 10000, mcclFloat32, device_op, r->comm, r->stream) == 0);
    RANK(r, mcclAllReduce(h, h, 10, mcclFloat16, half_op, r->comm, r->stream) == 0);
    RANK(r, musaStreamSynchronize(r->stream) == 0);
    for (int i = 0; i < 10000; i++)
        RANK(r, y[i] == (float)(all * (i % 10)));
    RANK(r, half_value(mcclFloat16, h[9]) == (float)(2 * r->nranks - 1));
    RANK(r, mcclAllReduce(x, y, 1, mcclFloat32, host_op, r->comm, r->stream) == mcclInvalidArgument);
    RANK(r, mcclAllReduce(x, y, 1, mcclFloat64, device_op, r->comm, r->stream) == mcclInvalidArgument);
    RANK(r, mcclRedOpDestroy(host_op, r->comm) == mcclInvalidArgument);
}

/* Many calls without a wait between, on two streams in turn: they are done in the order of the calls. */
static void stream_of_calls(struct rank *r)
{
    musaStream_t other;
    musaEvent_t event;
    long long *x = device_bytes(r, 8 * 4096);
    RANK(r, musaStreamCreateWithFlags(&other, musaStreamNonBlocking) == 0);
    RANK(r, musaEventCreateWithFlags(&event, musaEventDisableTiming) == 0);
    for (int i = 0; i < 4096; i++)
        x[i] = 1;
    for (int k = 0; k < 12; k++) {
        musaStream_t s = k % 2 ? other : r->stream;
        RANK(r, musaStreamWaitEvent(s, event, 0) == 0);
        RANK(r, mcclAllReduce(x, x, k % 3 ? 4096 : 5, mcclInt64, k % 4 ? mcclMax : mcclSum, r->comm, s) == 0);
        RANK(r, musaEventRecord(event, s) == 0);
    }
    RANK(r, musaDeviceSynchronize() == 0);
    long long want[2] = {1, 1};
    for (int k = 0; k < 12; k++)
        for (int i = 0; i < 2; i++)
            if (k % 4 == 0 && (k % 3 || i == 0))
                want[i] *= r->nranks;
    RANK(r, x[0] == want[0] && x[4] == want[0]);
    RANK(r, x[5] == want[1] && x[4095] == want[1]);
    musaStreamDestroy(other);
}

int main(int count, char **arguments)
{
    int least = getenv("CUMU_NCCL_HOST_RANKS") ? 3 : 1; /* two hosts of two ranks are more than one */
    int most = 4, last = THREADS;
    setenv("CUMU_HOST_DEVICES", "4", 1);
    if (count > 2) {
        least = atoi(arguments[1]);
        most = atoi(arguments[2]);
        last = PROCESSES;
        setenv("CUMU_HOST_SHARE", "1", 1);
    }
    for (int team = PROCESSES; team >= last; team--)
        for (int n = least; n <= most; n++) {
            const char *as = team ? "processes" : "threads";
            for (enum kind k = 0; k < KINDS; k++)
                report(team_run((enum team)team, n, true, body, &k), "%s of %d %s", kind_name[k], n, as);
            report(team_run((enum team)team, n, true, factors, NULL), "factors, %d %s", n, as);
            report(team_run((enum team)team, n, true, stream_of_calls, NULL), "two streams, %d %s", n, as);
        }
    return check_end("mccl collectives");
}
