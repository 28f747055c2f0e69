/* Stream capture: what becomes a node and after what, how streams join and leave, and the error of
 * everything that a capture forbids. */
#include <pthread.h>
#include "host/device.h"

enum {
    GLOBAL = MU_STREAM_CAPTURE_MODE_GLOBAL,
    RELAXED = MU_STREAM_CAPTURE_MODE_RELAXED,
    THREAD_LOCAL = MU_STREAM_CAPTURE_MODE_THREAD_LOCAL
};

static MUstream a, b, blocking;
static MUevent e1, e2;
static MUdeviceptr d;
static int calls;

static void count(void *p) { ++*(int *)p; }

static size_t nodes(MUgraph g)
{
    size_t n = 0;
    MUST(muGraphGetNodes(g, NULL, &n));
    return n;
}

static size_t edges(MUgraph g)
{
    size_t n = 0;
    MUST(muGraphGetEdges(g, NULL, NULL, &n));
    return n;
}

static MUstreamCaptureStatus status(MUstream s)
{
    MUstreamCaptureStatus st = -1;
    MUST(muStreamIsCapturing(s, &st));
    return st;
}

static void run(MUgraph g)
{
    MUgraphExec e;
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUST(muGraphLaunch(e, a));
    MUST(muStreamSynchronize(a));
    MUST(muGraphExecDestroy(e));
}

/* ---- one stream ------------------------------------------------------------------------------ */

static void test_simple(void)
{
    static uint32_t in[100], out[100];
    MUgraph g = NULL;
    calls = 0;
    OK(muStreamBeginCapture(a, GLOBAL));
    check(status(a) == MU_STREAM_CAPTURE_STATUS_ACTIVE && status(b) == MU_STREAM_CAPTURE_STATUS_NONE, "active");
    IS(muStreamBeginCapture(a, GLOBAL), MUSA_ERROR_ILLEGAL_STATE);
    in[7] = 1;
    OK(muMemcpyHtoDAsync(d, in, sizeof in, a));
    OK(muMemsetD32Async(d, 9, 5, a));
    OK(muMemcpyDtoHAsync(out, d, sizeof out, a));
    OK(muLaunchHostFunc(a, count, &calls));
    in[7] = 2; /* what counts is the launch */
    OK(muStreamEndCapture(a, &g));
    check(calls == 0 && out[0] == 0, "nothing has run");
    check(nodes(g) == 4 && edges(g) == 3, "four nodes in a row");
    check(status(a) == MU_STREAM_CAPTURE_STATUS_NONE, "over");
    IS(muStreamEndCapture(a, &g), MUSA_ERROR_ILLEGAL_STATE);
    run(g);
    check(calls == 1 && out[0] == 9 && out[4] == 9 && out[5] == 0 && out[7] == 2, "it runs");
    MUST(muGraphDestroy(g));

    IS(muStreamBeginCapture(NULL, GLOBAL), MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    IS(muStreamBeginCapture(a, 7), MUSA_ERROR_INVALID_VALUE);
    OK(muStreamBeginCapture(MU_STREAM_PER_THREAD, GLOBAL));
    OK(muStreamEndCapture(MU_STREAM_PER_THREAD, &g));
    check(g && nodes(g) == 0, "an empty graph");
    run(g);
    MUST(muGraphDestroy(g));
}

static void test_into_graph(void)
{
    MUgraph g, got = NULL;
    MUgraphNode first, last[4];
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddEmptyNode(&first, g, NULL, 0));
    OK(muStreamBeginCaptureToGraph(a, g, &first, NULL, 1, GLOBAL));
    MUST(muMemsetD32Async(d, 1, 5, a));
    IS(muGraphDestroy(g), MUSA_ERROR_INVALID_VALUE); /* in use */
    OK(muStreamEndCapture(a, &got));
    size_t n = 4;
    MUST(muGraphNodeGetDependentNodes(first, last, &n));
    check(got == g && nodes(g) == 2 && n == 1, "the same graph, behind the node");
    run(g);
    MUST(muGraphDestroy(g));
}

static void test_info(void)
{
    MUstreamCaptureStatus st;
    MUgraph g, end;
    uint64_t id = 0, id2 = 0;
    const MUgraphNode *deps;
    const MUgraphEdgeData *data;
    MUgraphNode own;
    size_t n = 99;
    MUST(muStreamBeginCapture(a, GLOBAL));
    OK(muStreamGetCaptureInfo_v2(a, &st, &id, &g, &deps, &n));
    check(n == 0 && st == MU_STREAM_CAPTURE_STATUS_ACTIVE, "no dependencies yet");
    MUST(muMemsetD32Async(d, 1, 5, a));
    OK(muStreamGetCaptureInfo_v3(a, &st, &id2, &g, &deps, &data, &n));
    check(n == 1 && id == id2 && !data[0].type, "one");
    OK(muGraphAddEmptyNode(&own, g, deps, 1)); /* the graph may be added to */
    OK(muStreamUpdateCaptureDependencies(a, &own, 1, MU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    OK(muStreamGetCaptureInfo_v2(a, &st, NULL, NULL, &deps, &n));
    check(n == 2 && deps[1] == own, "two");
    OK(muStreamUpdateCaptureDependencies_v2(a, &own, NULL, 1, MU_STREAM_SET_CAPTURE_DEPENDENCIES));
    MUST(muMemsetD32Async(d, 2, 5, a));
    IS(muStreamUpdateCaptureDependencies(a, &own, 1, 9), MUSA_ERROR_INVALID_VALUE);
    OK(muStreamEndCapture(a, &end));
    check(end == g && nodes(g) == 3 && edges(g) == 2, "set + own + set");
    OK(muStreamGetCaptureInfo(a, &st, &id));
    check(st == MU_STREAM_CAPTURE_STATUS_NONE, "none");
    IS(muStreamUpdateCaptureDependencies(a, NULL, 0, 0), MUSA_ERROR_ILLEGAL_STATE);
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muStreamGetCaptureInfo(a, &st, &id2));
    check(id2 != id, "every capture has its number");
    MUST(muStreamEndCapture(a, &end));
    MUST(muGraphDestroy(end));
    MUST(muGraphDestroy(g));
}

static void test_memory(void)
{
    MUdeviceptr p = 0;
    MUgraph g;
    uint32_t *got;
    MUST(muMemAllocHost((void **)&got, 4));
    MUST(muStreamBeginCapture(a, GLOBAL));
    OK(muMemAllocAsync(&p, 4096, a));
    OK(muMemsetD32Async(p, 5, 1024, a));
    OK(muMemcpyDtoHAsync(got, p + 4092, 4, a));
    OK(muMemFreeAsync(p, a));
    OK(muStreamEndCapture(a, &g));
    check(p && nodes(g) == 4, "four nodes");
    run(g);
    check(*got == 5, "memory of its own");
    MUST(muGraphDestroy(g));
    MUST(muMemFreeHost(got));
}

static void test_values(void)
{
    MUgraph g;
    MUgraphNode node;
    MUgraphExec e;
    size_t n = 1;
    MUSA_BATCH_MEM_OP_NODE_PARAMS p;
    calls = 0;
    MUST(muMemsetD32(d, 0, 4));
    MUST(muStreamBeginCapture(a, GLOBAL));
    OK(muStreamWaitValue32(a, d, 1, MU_STREAM_WAIT_VALUE_EQ));
    MUST(muLaunchHostFunc(a, count, &calls));
    OK(muStreamWriteValue32(a, d + 4, 8, 0));
    MUST(muStreamEndCapture(a, &g));
    MUST(muGraphGetRootNodes(g, &node, &n));
    OK(muGraphBatchMemOpNodeGetParams(node, &p));
    check(p.count == 1 && p.paramArray[0].value.address == d, "one operation");
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUST(muGraphDestroy(g));
    MUST(muGraphLaunch(e, a));
    sleep_ms(10);
    check(calls == 0, "it waits");
    __atomic_store_n((uint32_t *)at(d), 1, __ATOMIC_RELEASE);
    MUST(muStreamSynchronize(a));
    check(calls == 1 && ((uint32_t *)at(d))[1] == 8, "and goes on");
    MUST(muGraphExecDestroy(e));
}

static void test_child(void)
{
    MUgraph inner, outer;
    MUgraphExec e;
    calls = 0;
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muLaunchHostFunc(a, count, &calls));
    MUST(muStreamEndCapture(a, &inner));
    MUST(muGraphInstantiateWithFlags(&e, inner, 0));
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muLaunchHostFunc(a, count, &calls));
    OK(muGraphLaunch(e, a));
    OK(muGraphLaunch(e, a));
    MUST(muStreamEndCapture(a, &outer));
    check(nodes(outer) == 3 && calls == 0, "launches are child graphs");
    MUST(muGraphExecDestroy(e));
    MUST(muGraphDestroy(inner));
    run(outer);
    check(calls == 3, "and run");
    MUST(muGraphDestroy(outer));
}

/* ---- several streams ------------------------------------------------------------------------- */

static void test_fork(void)
{
    MUgraph g;
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muMemsetD32Async(d, 1, 5, a));
    OK(muEventRecord(e1, a));
    OK(muStreamWaitEvent(b, e1, 0));
    check(status(b) == MU_STREAM_CAPTURE_STATUS_ACTIVE, "b joined");
    MUST(muMemsetD32Async(d + 64, 1, 5, b));
    MUST(muMemsetD32Async(d, 2, 5, a));
    OK(muEventRecord(e2, b));
    OK(muStreamWaitEvent(a, e2, 0));
    MUST(muMemsetD32Async(d, 3, 32, a));
    OK(muStreamEndCapture(a, &g));
    check(nodes(g) == 4 && edges(g) == 4, "a diamond");
    check(status(b) == MU_STREAM_CAPTURE_STATUS_NONE, "b left");
    IS(muEventQuery(e1), MUSA_ERROR_CAPTURED_EVENT);
    IS(muEventSynchronize(e1), MUSA_ERROR_CAPTURED_EVENT);
    IS(muStreamWaitEvent(b, e1, 0), MUSA_ERROR_CAPTURED_EVENT);
    MUST(muEventRecord(e1, b));
    OK(muEventSynchronize(e1));
    run(g);
    MUST(muGraphDestroy(g));

    g = (MUgraph)1;
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muEventRecord(e1, a));
    MUST(muStreamWaitEvent(b, e1, 0));
    MUST(muMemsetD32Async(d, 1, 5, b));
    IS(muStreamEndCapture(a, &g), MUSA_ERROR_STREAM_CAPTURE_UNJOINED);
    check(!g && status(b) == MU_STREAM_CAPTURE_STATUS_NONE, "no graph");

    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muEventRecord(e1, a));
    MUST(muStreamWaitEvent(b, e1, 0));
    IS(muStreamEndCapture(b, &g), MUSA_ERROR_STREAM_CAPTURE_UNMATCHED);
    IS(muStreamEndCapture(a, &g), MUSA_ERROR_STREAM_CAPTURE_INVALIDATED);

    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muStreamBeginCapture(b, GLOBAL));
    MUST(muEventRecord(e1, a));
    IS(muStreamWaitEvent(b, e1, 0), MUSA_ERROR_STREAM_CAPTURE_MERGE);
    IS(muMemsetD32Async(d, 1, 5, b), MUSA_ERROR_STREAM_CAPTURE_INVALIDATED);
    IS(muStreamEndCapture(a, &g), MUSA_ERROR_STREAM_CAPTURE_INVALIDATED);
    IS(muStreamEndCapture(b, &g), MUSA_ERROR_STREAM_CAPTURE_INVALIDATED);

    MUST(muEventRecord(e2, b));
    MUST(muStreamBeginCapture(a, GLOBAL));
    IS(muStreamWaitEvent(a, e2, 0), MUSA_ERROR_STREAM_CAPTURE_ISOLATION);
    check(status(a) == MU_STREAM_CAPTURE_STATUS_INVALIDATED, "invalidated");
    IS(muStreamEndCapture(a, &g), MUSA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(muStreamBeginCapture(a, GLOBAL));
    OK(muStreamWaitEvent(a, e2, MU_EVENT_WAIT_EXTERNAL));
    OK(muEventRecordWithFlags(e1, a, MU_EVENT_RECORD_EXTERNAL));
    MUST(muStreamEndCapture(a, &g));
    check(nodes(g) == 2, "external ones are nodes");
    run(g);
    OK(muEventQuery(e1));
    MUST(muGraphDestroy(g));
    IS(muEventRecordWithFlags(e1, a, MU_EVENT_RECORD_EXTERNAL), MUSA_ERROR_ILLEGAL_STATE);
}

/* ---- what is forbidden ----------------------------------------------------------------------- */

/* A call with this result during a capture in `mode` of stream s; and what the capture's end says. */
#define DURING(mode, s, expected, call, at_the_end) \
    do { \
        MUgraph g_ = NULL; \
        MUST(muStreamBeginCapture(s, mode)); \
        IS(call, expected); \
        IS(muStreamEndCapture(s, &g_), at_the_end); \
        if (g_) \
            MUST(muGraphDestroy(g_)); \
    } while (0)

enum {
    NO = MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    DEAD = MUSA_ERROR_STREAM_CAPTURE_INVALIDATED,
    IMPLICIT = MUSA_ERROR_STREAM_CAPTURE_IMPLICIT
};

static void called(MUstream s, MUresult r, void *p)
{
    (void)s;
    (void)r;
    (void)p;
    calls = -1000;
}

static void test_forbidden(void)
{
    MUdeviceptr p;
    void *h;
    uint32_t word = 0;
    MUevent plain;
    MUST(muEventCreate(&plain, 0));
    MUST(muEventRecord(plain, b));
    DURING(GLOBAL, a, NO, muStreamSynchronize(a), DEAD);
    DURING(RELAXED, a, NO, muStreamSynchronize(a), DEAD);
    DURING(GLOBAL, a, NO, muStreamQuery(a), DEAD);
    DURING(RELAXED, a, NO, muCtxSynchronize(), DEAD);
    DURING(GLOBAL, a, NO, muMemAlloc(&p, 64), DEAD);
    DURING(THREAD_LOCAL, a, NO, muMemAlloc(&p, 64), DEAD);
    DURING(GLOBAL, a, NO, muMemFree(d), DEAD);
    DURING(GLOBAL, a, NO, muMemAllocHost(&h, 64), DEAD);
    DURING(GLOBAL, a, NO, muMemcpyDtoH(&word, d, 4), DEAD);
    DURING(GLOBAL, a, NO, muEventQuery(plain), DEAD);
    DURING(GLOBAL, a, NO, muEventSynchronize(plain), DEAD);
    DURING(RELAXED, a, MUSA_SUCCESS, muEventSynchronize(plain), MUSA_SUCCESS);
    DURING(RELAXED, a, MUSA_SUCCESS, muMemAlloc(&p, 64), MUSA_SUCCESS);
    MUST(muMemFree(p));
    DURING(GLOBAL, a, MUSA_SUCCESS, muStreamSynchronize(b), MUSA_SUCCESS);
    DURING(GLOBAL, a, MUSA_SUCCESS, muEventCreate(&e1, 0), MUSA_SUCCESS);
    DURING(GLOBAL, a, MUSA_SUCCESS, muMemsetD32Async(d, 1, 4, NULL), MUSA_SUCCESS);
    DURING(RELAXED, blocking, IMPLICIT, muMemsetD32Async(d, 1, 4, NULL), DEAD);
    DURING(RELAXED, blocking, IMPLICIT, muStreamSynchronize(NULL), DEAD);
    DURING(RELAXED, blocking, IMPLICIT, muMemcpyDtoH(&word, d, 4), DEAD);
    MUstreamCaptureStatus st; /* a question ends nothing */
    uint64_t id;
    DURING(GLOBAL, blocking, IMPLICIT, muStreamIsCapturing(NULL, &st), MUSA_SUCCESS);
    DURING(GLOBAL, blocking, IMPLICIT, muStreamGetCaptureInfo(NULL, &st, &id), MUSA_SUCCESS);
    DURING(GLOBAL, a, MUSA_SUCCESS, muStreamIsCapturing(NULL, &st), MUSA_SUCCESS);
    DURING(GLOBAL, a, NO, muStreamAddCallback(a, called, NULL, 0), DEAD);

    MUstreamCaptureMode mode = RELAXED;
    OK(muThreadExchangeStreamCaptureMode(&mode));
    check(mode == GLOBAL, "it was global");
    DURING(GLOBAL, a, MUSA_SUCCESS, muMemAlloc(&p, 64), MUSA_SUCCESS);
    MUST(muMemFree(p));
    OK(muThreadExchangeStreamCaptureMode(&mode));
    mode = 3;
    IS(muThreadExchangeStreamCaptureMode(&mode), MUSA_ERROR_INVALID_VALUE);
    IS(muThreadExchangeStreamCaptureMode(NULL), MUSA_ERROR_INVALID_VALUE);

    MUstream gone;
    MUgraph g;
    MUST(muStreamCreate(&gone, MU_STREAM_NON_BLOCKING));
    MUST(muStreamBeginCapture(gone, GLOBAL));
    MUST(muMemsetD32Async(d, 1, 4, gone));
    OK(muStreamDestroy(gone));
    OK(muMemAlloc(&p, 64)); /* no capture is left behind */
    MUST(muMemFree(p));
    MUST(muStreamCreate(&gone, MU_STREAM_NON_BLOCKING));
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muEventRecord(plain, a));
    MUST(muStreamWaitEvent(gone, plain, 0));
    MUST(muStreamDestroy(gone));
    OK(muStreamEndCapture(a, &g)); /* it had nothing to join */
    MUST(muGraphDestroy(g));
    MUST(muEventDestroy(plain));
}

/* ---- threads --------------------------------------------------------------------------------- */

static MUcontext ctx;
static MUresult other_result;

static void *alloc_elsewhere(void *unused)
{
    MUdeviceptr p = 0;
    MUST(muCtxSetCurrent(ctx));
    other_result = muMemAlloc(&p, 64);
    if (p)
        MUST(muMemFree(p));
    return unused;
}

static void *end_elsewhere(void *graph)
{
    MUST(muCtxSetCurrent(ctx));
    other_result = muStreamEndCapture(a, graph);
    return NULL;
}

static MUresult elsewhere(void *(*body)(void *), void *arg)
{
    pthread_t t;
    pthread_create(&t, NULL, body, arg);
    pthread_join(t, NULL);
    return other_result;
}

static void test_threads(void)
{
    MUgraph g;
    DURING(GLOBAL, a, NO, elsewhere(alloc_elsewhere, NULL), DEAD);
    DURING(THREAD_LOCAL, a, MUSA_SUCCESS, elsewhere(alloc_elsewhere, NULL), MUSA_SUCCESS);
    DURING(THREAD_LOCAL, a, MUSA_ERROR_STREAM_CAPTURE_WRONG_THREAD, elsewhere(end_elsewhere, &g), MUSA_SUCCESS);
    MUST(muStreamBeginCapture(a, RELAXED));
    OK(elsewhere(end_elsewhere, &g));
    MUST(muGraphDestroy(g));
}

/* Eight threads capture, each on a stream of its own, and run what they captured. */
static void *capture_many(void *sum)
{
    MUstream s;
    MUdeviceptr p;
    uint32_t got;
    MUST(muCtxSetCurrent(ctx));
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muMemAllocAsync(&p, 4, s));
    for (unsigned i = 0; i < 20; i++) {
        MUgraph g;
        MUgraphExec e;
        MUST(muStreamBeginCapture(s, THREAD_LOCAL));
        MUST(muMemsetD32Async(p, i, 1, s));
        MUST(muMemcpyDtoHAsync(&got, p, 4, s));
        MUST(muStreamEndCapture(s, &g));
        MUST(muGraphInstantiateWithFlags(&e, g, 0));
        MUST(muGraphDestroy(g));
        MUST(muGraphLaunch(e, s));
        MUST(muStreamSynchronize(s));
        MUST(muGraphExecDestroy(e));
        *(unsigned *)sum += got;
    }
    MUST(muMemFreeAsync(p, s));
    MUST(muStreamDestroy(s));
    return NULL;
}

static void test_many(void)
{
    enum { THREADS = 8 };
    pthread_t t[THREADS];
    unsigned sum[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, capture_many, &sum[i]);
    bool ok = true;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        ok &= sum[i] == 190;
    }
    check(ok, "threads capture side by side");
}

int main(void)
{
    ctx = start_device();
    MUST(muStreamCreate(&a, MU_STREAM_NON_BLOCKING));
    MUST(muStreamCreate(&b, MU_STREAM_NON_BLOCKING));
    MUST(muStreamCreate(&blocking, MU_STREAM_DEFAULT));
    MUST(muEventCreate(&e1, 0));
    MUST(muEventCreate(&e2, 0));
    MUST(muMemAlloc(&d, 4096));
    test_simple();
    test_into_graph();
    test_info();
    test_memory();
    test_values();
    test_child();
    test_fork();
    test_forbidden();
    test_threads();
    test_many();
    return check_end("host capture");
}
