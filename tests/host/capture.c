/* Stream capture: what becomes a node and after what, how streams join and leave, and the error of
 * everything that a capture forbids. */
#include <pthread.h>
#include "host/check.h"

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
    IS(MUSA_SUCCESS, muStreamBeginCapture(a, GLOBAL));
    CHECK("active", status(a) == MU_STREAM_CAPTURE_STATUS_ACTIVE && status(b) == MU_STREAM_CAPTURE_STATUS_NONE);
    IS(MUSA_ERROR_ILLEGAL_STATE, muStreamBeginCapture(a, GLOBAL));
    in[7] = 1;
    IS(MUSA_SUCCESS, muMemcpyHtoDAsync(d, in, sizeof in, a));
    IS(MUSA_SUCCESS, muMemsetD32Async(d, 9, 5, a));
    IS(MUSA_SUCCESS, muMemcpyDtoHAsync(out, d, sizeof out, a));
    IS(MUSA_SUCCESS, muLaunchHostFunc(a, count, &calls));
    in[7] = 2; /* what counts is the launch */
    IS(MUSA_SUCCESS, muStreamEndCapture(a, &g));
    CHECK("nothing has run", calls == 0 && out[0] == 0);
    CHECK("four nodes in a row", nodes(g) == 4 && edges(g) == 3);
    CHECK("over", status(a) == MU_STREAM_CAPTURE_STATUS_NONE);
    IS(MUSA_ERROR_ILLEGAL_STATE, muStreamEndCapture(a, &g));
    run(g);
    CHECK("it runs", calls == 1 && out[0] == 9 && out[4] == 9 && out[5] == 0 && out[7] == 2);
    MUST(muGraphDestroy(g));

    IS(MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED, muStreamBeginCapture(NULL, GLOBAL));
    IS(MUSA_ERROR_INVALID_VALUE, muStreamBeginCapture(a, 7));
    IS(MUSA_SUCCESS, muStreamBeginCapture(MU_STREAM_PER_THREAD, GLOBAL));
    IS(MUSA_SUCCESS, muStreamEndCapture(MU_STREAM_PER_THREAD, &g));
    CHECK("an empty graph", g && nodes(g) == 0);
    run(g);
    MUST(muGraphDestroy(g));
}

static void test_into_graph(void)
{
    MUgraph g, got = NULL;
    MUgraphNode first, last[4];
    MUST(muGraphCreate(&g, 0));
    MUST(muGraphAddEmptyNode(&first, g, NULL, 0));
    IS(MUSA_SUCCESS, muStreamBeginCaptureToGraph(a, g, &first, NULL, 1, GLOBAL));
    MUST(muMemsetD32Async(d, 1, 5, a));
    IS(MUSA_ERROR_INVALID_VALUE, muGraphDestroy(g)); /* in use */
    IS(MUSA_SUCCESS, muStreamEndCapture(a, &got));
    size_t n = 4;
    MUST(muGraphNodeGetDependentNodes(first, last, &n));
    CHECK("the same graph, behind the node", got == g && nodes(g) == 2 && n == 1);
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
    IS(MUSA_SUCCESS, muStreamGetCaptureInfo_v2(a, &st, &id, &g, &deps, &n));
    CHECK("no dependencies yet", n == 0 && st == MU_STREAM_CAPTURE_STATUS_ACTIVE);
    MUST(muMemsetD32Async(d, 1, 5, a));
    IS(MUSA_SUCCESS, muStreamGetCaptureInfo_v3(a, &st, &id2, &g, &deps, &data, &n));
    CHECK("one", n == 1 && id == id2 && !data[0].type);
    IS(MUSA_SUCCESS, muGraphAddEmptyNode(&own, g, deps, 1)); /* the graph may be added to */
    IS(MUSA_SUCCESS, muStreamUpdateCaptureDependencies(a, &own, 1, MU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    IS(MUSA_SUCCESS, muStreamGetCaptureInfo_v2(a, &st, NULL, NULL, &deps, &n));
    CHECK("two", n == 2 && deps[1] == own);
    IS(MUSA_SUCCESS, muStreamUpdateCaptureDependencies_v2(a, &own, NULL, 1, MU_STREAM_SET_CAPTURE_DEPENDENCIES));
    MUST(muMemsetD32Async(d, 2, 5, a));
    IS(MUSA_ERROR_INVALID_VALUE, muStreamUpdateCaptureDependencies(a, &own, 1, 9));
    IS(MUSA_SUCCESS, muStreamEndCapture(a, &end));
    CHECK("set + own + set", end == g && nodes(g) == 3 && edges(g) == 2);
    IS(MUSA_SUCCESS, muStreamGetCaptureInfo(a, &st, &id));
    CHECK("none", st == MU_STREAM_CAPTURE_STATUS_NONE);
    IS(MUSA_ERROR_ILLEGAL_STATE, muStreamUpdateCaptureDependencies(a, NULL, 0, 0));
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muStreamGetCaptureInfo(a, &st, &id2));
    CHECK("every capture has its number", id2 != id);
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
    IS(MUSA_SUCCESS, muMemAllocAsync(&p, 4096, a));
    IS(MUSA_SUCCESS, muMemsetD32Async(p, 5, 1024, a));
    IS(MUSA_SUCCESS, muMemcpyDtoHAsync(got, p + 4092, 4, a));
    IS(MUSA_SUCCESS, muMemFreeAsync(p, a));
    IS(MUSA_SUCCESS, muStreamEndCapture(a, &g));
    CHECK("four nodes", p && nodes(g) == 4);
    run(g);
    CHECK("memory of its own", *got == 5);
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
    IS(MUSA_SUCCESS, muStreamWaitValue32(a, d, 1, MU_STREAM_WAIT_VALUE_EQ));
    MUST(muLaunchHostFunc(a, count, &calls));
    IS(MUSA_SUCCESS, muStreamWriteValue32(a, d + 4, 8, 0));
    MUST(muStreamEndCapture(a, &g));
    MUST(muGraphGetRootNodes(g, &node, &n));
    IS(MUSA_SUCCESS, muGraphBatchMemOpNodeGetParams(node, &p));
    CHECK("one operation", p.count == 1 && p.paramArray[0].value.address == d);
    MUST(muGraphInstantiateWithFlags(&e, g, 0));
    MUST(muGraphDestroy(g));
    MUST(muGraphLaunch(e, a));
    sleep_ms(10);
    CHECK("it waits", calls == 0);
    __atomic_store_n((uint32_t *)at(d), 1, __ATOMIC_RELEASE);
    MUST(muStreamSynchronize(a));
    CHECK("and goes on", calls == 1 && ((uint32_t *)at(d))[1] == 8);
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
    IS(MUSA_SUCCESS, muGraphLaunch(e, a));
    IS(MUSA_SUCCESS, muGraphLaunch(e, a));
    MUST(muStreamEndCapture(a, &outer));
    CHECK("launches are child graphs", nodes(outer) == 3 && calls == 0);
    MUST(muGraphExecDestroy(e));
    MUST(muGraphDestroy(inner));
    run(outer);
    CHECK("and run", calls == 3);
    MUST(muGraphDestroy(outer));
}

/* ---- several streams ------------------------------------------------------------------------- */

static void test_fork(void)
{
    MUgraph g;
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muMemsetD32Async(d, 1, 5, a));
    IS(MUSA_SUCCESS, muEventRecord(e1, a));
    IS(MUSA_SUCCESS, muStreamWaitEvent(b, e1, 0));
    CHECK("b joined", status(b) == MU_STREAM_CAPTURE_STATUS_ACTIVE);
    MUST(muMemsetD32Async(d + 64, 1, 5, b));
    MUST(muMemsetD32Async(d, 2, 5, a));
    IS(MUSA_SUCCESS, muEventRecord(e2, b));
    IS(MUSA_SUCCESS, muStreamWaitEvent(a, e2, 0));
    MUST(muMemsetD32Async(d, 3, 32, a));
    IS(MUSA_SUCCESS, muStreamEndCapture(a, &g));
    CHECK("a diamond", nodes(g) == 4 && edges(g) == 4);
    CHECK("b left", status(b) == MU_STREAM_CAPTURE_STATUS_NONE);
    IS(MUSA_ERROR_CAPTURED_EVENT, muEventQuery(e1));
    IS(MUSA_ERROR_CAPTURED_EVENT, muEventSynchronize(e1));
    IS(MUSA_ERROR_CAPTURED_EVENT, muStreamWaitEvent(b, e1, 0));
    MUST(muEventRecord(e1, b));
    IS(MUSA_SUCCESS, muEventSynchronize(e1));
    run(g);
    MUST(muGraphDestroy(g));

    g = (MUgraph)1;
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muEventRecord(e1, a));
    MUST(muStreamWaitEvent(b, e1, 0));
    MUST(muMemsetD32Async(d, 1, 5, b));
    IS(MUSA_ERROR_STREAM_CAPTURE_UNJOINED, muStreamEndCapture(a, &g));
    CHECK("no graph", !g && status(b) == MU_STREAM_CAPTURE_STATUS_NONE);

    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muEventRecord(e1, a));
    MUST(muStreamWaitEvent(b, e1, 0));
    IS(MUSA_ERROR_STREAM_CAPTURE_UNMATCHED, muStreamEndCapture(b, &g));
    IS(MUSA_ERROR_STREAM_CAPTURE_INVALIDATED, muStreamEndCapture(a, &g));

    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muStreamBeginCapture(b, GLOBAL));
    MUST(muEventRecord(e1, a));
    IS(MUSA_ERROR_STREAM_CAPTURE_MERGE, muStreamWaitEvent(b, e1, 0));
    IS(MUSA_ERROR_STREAM_CAPTURE_INVALIDATED, muMemsetD32Async(d, 1, 5, b));
    IS(MUSA_ERROR_STREAM_CAPTURE_INVALIDATED, muStreamEndCapture(a, &g));
    IS(MUSA_ERROR_STREAM_CAPTURE_INVALIDATED, muStreamEndCapture(b, &g));

    MUST(muEventRecord(e2, b));
    MUST(muStreamBeginCapture(a, GLOBAL));
    IS(MUSA_ERROR_STREAM_CAPTURE_ISOLATION, muStreamWaitEvent(a, e2, 0));
    CHECK("invalidated", status(a) == MU_STREAM_CAPTURE_STATUS_INVALIDATED);
    IS(MUSA_ERROR_STREAM_CAPTURE_INVALIDATED, muStreamEndCapture(a, &g));
    MUST(muStreamBeginCapture(a, GLOBAL));
    IS(MUSA_SUCCESS, muStreamWaitEvent(a, e2, MU_EVENT_WAIT_EXTERNAL));
    IS(MUSA_SUCCESS, muEventRecordWithFlags(e1, a, MU_EVENT_RECORD_EXTERNAL));
    MUST(muStreamEndCapture(a, &g));
    CHECK("external ones are nodes", nodes(g) == 2);
    run(g);
    IS(MUSA_SUCCESS, muEventQuery(e1));
    MUST(muGraphDestroy(g));
    IS(MUSA_ERROR_ILLEGAL_STATE, muEventRecordWithFlags(e1, a, MU_EVENT_RECORD_EXTERNAL));
}

/* ---- what is forbidden ----------------------------------------------------------------------- */

/* A call with this result during a capture in `mode` of stream s; and what the capture's end says. */
#define DURING(mode, s, expected, call, at_the_end) \
    do { \
        MUgraph g_ = NULL; \
        MUST(muStreamBeginCapture(s, mode)); \
        IS(expected, call); \
        IS(at_the_end, muStreamEndCapture(s, &g_)); \
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
    DURING(GLOBAL, a, NO, muStreamAddCallback(a, called, NULL, 0), DEAD);

    MUstreamCaptureMode mode = RELAXED;
    IS(MUSA_SUCCESS, muThreadExchangeStreamCaptureMode(&mode));
    CHECK("it was global", mode == GLOBAL);
    DURING(GLOBAL, a, MUSA_SUCCESS, muMemAlloc(&p, 64), MUSA_SUCCESS);
    MUST(muMemFree(p));
    IS(MUSA_SUCCESS, muThreadExchangeStreamCaptureMode(&mode));
    mode = 3;
    IS(MUSA_ERROR_INVALID_VALUE, muThreadExchangeStreamCaptureMode(&mode));
    IS(MUSA_ERROR_INVALID_VALUE, muThreadExchangeStreamCaptureMode(NULL));

    MUstream gone;
    MUgraph g;
    MUST(muStreamCreate(&gone, MU_STREAM_NON_BLOCKING));
    MUST(muStreamBeginCapture(gone, GLOBAL));
    MUST(muMemsetD32Async(d, 1, 4, gone));
    IS(MUSA_SUCCESS, muStreamDestroy(gone));
    IS(MUSA_SUCCESS, muMemAlloc(&p, 64)); /* no capture is left behind */
    MUST(muMemFree(p));
    MUST(muStreamCreate(&gone, MU_STREAM_NON_BLOCKING));
    MUST(muStreamBeginCapture(a, GLOBAL));
    MUST(muEventRecord(plain, a));
    MUST(muStreamWaitEvent(gone, plain, 0));
    MUST(muStreamDestroy(gone));
    IS(MUSA_SUCCESS, muStreamEndCapture(a, &g)); /* it had nothing to join */
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
    IS(MUSA_SUCCESS, elsewhere(end_elsewhere, &g));
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
    CHECK("threads capture side by side", ok);
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
    return result();
}
