/* Threads of random work on two devices for so many seconds, each against its own model of what its memory holds:
 * allocation, copies, memsets, kernels, events, host functions, captured graphs, streams and collectives. Nothing may
 * differ, and memory that the process takes must not grow. SOAK_SECONDS (3), SOAK_SEED (1), SOAK_THREADS (8). */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "abi/mccl.h"
#include "host-launch/kernels.h"
#include "host/device.h"
#include "sanitize.h"

enum { DEVICES = 2, STREAMS = 3, N = 2048, OPS = 24, BLOCKS = 8, THREADS_MAX = 64 };

struct worker {
    uint64_t seed;
    MUstream stream[DEVICES][STREAMS];
    MUevent event;
    MUdeviceptr memory[DEVICES], block[BLOCKS]; /* block: of any size, at times NULL */
    uint32_t *pinned, *model[DEVICES];          /* pinned: OPS slices of N; model: what memory[] will hold */
    _Atomic int called;
    int calls;
    struct arguments { /* of a kernel; a graph that captures it reads them when it is launched, as the SDK's do */
        MUdeviceptr at;
        unsigned n, value;
        void *list[3];
    } arguments[OPS];
    mcclComm_t comm[DEVICES];
    unsigned long rounds;
};

static MUcontext context[DEVICES];
static MUfunction fill[DEVICES];
static _Atomic bool over;
static _Atomic unsigned long operations;

static unsigned draw(struct worker *w, unsigned n)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (unsigned)(w->seed >> 24) % n;
}

static void called(void *counter) { ++*(_Atomic int *)counter; }

/* One operation on a range of memory[d], in the stream's order and in the model's. In a capture (`recorded`) none that
 * a graph may not hold. `number`: of pinned memory that nothing else uses until the stream is waited for. */
static void operate(struct worker *w, int d, MUstream s, int number, bool recorded)
{
    uint32_t *slice = w->pinned + number * N;
    struct arguments *a = &w->arguments[number];
    unsigned from = draw(w, N), n = 1 + draw(w, N - from), value = draw(w, 1 << 30), other = draw(w, N - n + 1);
    MUdeviceptr at = w->memory[d] + from * 4, temporary;
    uint32_t *model = w->model[d] + from;
    operations++;
    switch (draw(w, recorded ? 4 : 6)) {
    case 0:
        OK(muMemsetD32Async(at, value, n, s));
        for (unsigned i = 0; i < n; i++)
            model[i] = value;
        break;
    case 1:
        *a = (struct arguments){at, n, value, {&a->at, &a->n, &a->value}};
        OK(muLaunchKernel(fill[d], (n + 63) / 64, 1, 1, 64, 1, 1, 0, s, a->list, NULL));
        for (unsigned i = 0; i < n; i++)
            model[i] = i + value;
        break;
    case 2:
        for (unsigned i = 0; i < n; i++)
            model[i] = slice[i] = value * i;
        OK(muMemcpyHtoDAsync(at, slice, n * 4, s));
        break;
    case 3:
        OK(muLaunchHostFunc(s, called, (void *)&w->called));
        w->calls++;
        break;
    case 4: /* through memory of the stream's own, where ranges overlap */
        OK(muMemAllocAsync(&temporary, n * 4, s));
        OK(muMemcpyDtoDAsync(temporary, at, n * 4, s));
        OK(muMemcpyDtoDAsync(w->memory[d] + other * 4, temporary, n * 4, s));
        OK(muMemFreeAsync(temporary, s));
        memmove(w->model[d] + other, model, n * 4);
        break;
    default: /* what the copy reads waits for it: the call is of another device's memory */
        OK(muMemcpyDtoD(w->memory[!d], w->memory[!d] + 4 * (N / 2), N / 2 * 4));
        memcpy(w->model[!d], w->model[!d] + N / 2, N / 2 * 4);
        break;
    }
}

static void compare(struct worker *w, int d)
{
    uint32_t *got = w->pinned;
    OK(muMemcpyDtoH(got, w->memory[d], N * 4));
    for (int i = 0; i < N; i++)
        if (got[i] != w->model[d][i]) {
            EXPECT(false, "round %lu: word %d of device %d is %#x, not %#x", w->rounds, i, d, got[i], w->model[d][i]);
            break;
        }
    EXPECT(w->called == w->calls, "round %lu: %d host functions ran, not %d", w->rounds, w->called, w->calls);
}

/* Some operations, handed from stream to stream by events; the last one is waited for. */
static void stream_round(struct worker *w, int d)
{
    MUstream s = w->stream[d][draw(w, STREAMS)];
    for (int i = 1, n = 1 + (int)draw(w, OPS - 1); i <= n; i++) {
        operate(w, d, s, i, false);
        if (draw(w, 4))
            continue;
        MUstream next = w->stream[d][draw(w, STREAMS)];
        OK(muEventRecord(w->event, s));
        OK(muStreamWaitEvent(next, w->event, 0));
        s = next;
    }
    OK(muStreamSynchronize(s));
}

/* Operations as a graph, launched more than once: each leaves what one does. */
static void graph_round(struct worker *w, int d)
{
    MUstream s = w->stream[d][0];
    MUgraph graph;
    MUgraphExec exec;
    int before = w->calls, launches = 1 + (int)draw(w, 3);
    MUST(muStreamBeginCapture(s, MU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 1, n = 1 + (int)draw(w, OPS / 2); i <= n; i++)
        operate(w, d, s, i, true);
    MUST(muStreamEndCapture(s, &graph));
    MUST(muGraphInstantiateWithFlags(&exec, graph, 0));
    w->calls = before + (w->calls - before) * launches;
    for (int i = 0; i < launches; i++)
        OK(muGraphLaunch(exec, s));
    OK(muStreamSynchronize(s));
    OK(muGraphExecDestroy(exec));
    OK(muGraphDestroy(graph));
}

/* The sum over both devices, by communicators that are made anew at times. */
static void collective_round(struct worker *w)
{
    unsigned n = 1 + draw(w, N);
    if (!draw(w, 8) && w->comm[0])
        for (int d = 0; d < DEVICES; d++) {
            OK(mcclCommDestroy(w->comm[d]));
            w->comm[d] = NULL;
        }
    if (!w->comm[0])
        MUST(mcclCommInitAll(w->comm, DEVICES, NULL));
    OK(mcclGroupStart());
    for (int d = 0; d < DEVICES; d++)
        OK(mcclAllReduce((void *)w->memory[d], (void *)w->memory[d], n, mcclUint32, mcclSum, w->comm[d],
                         (musaStream_t)w->stream[d][0]));
    OK(mcclGroupEnd());
    for (int d = 0; d < DEVICES; d++)
        OK(muStreamSynchronize(w->stream[d][0]));
    for (unsigned i = 0; i < n; i++)
        w->model[0][i] = w->model[1][i] = w->model[0][i] + w->model[1][i];
    operations++;
}

/* Objects come and go, but for the first stream, which is captured: no other thread's call may wait for it. */
static void object_round(struct worker *w, int d)
{
    MUdeviceptr *block = &w->block[draw(w, BLOCKS)];
    MUstream *s = &w->stream[d][1 + draw(w, STREAMS - 1)];
    if (*block)
        OK(muMemFree(*block));
    *block = 0;
    if (draw(w, 3))
        OK(muMemAlloc(block, 1 + draw(w, 1 << 20)));
    if (*block)
        OK(muMemsetD8(*block, 1, 1));
    OK(muStreamDestroy(*s));
    OK(muStreamCreate(s, draw(w, 2) ? MU_STREAM_NON_BLOCKING : MU_STREAM_DEFAULT));
    OK(muEventDestroy(w->event));
    OK(muEventCreate(&w->event, draw(w, 2) ? MU_EVENT_DISABLE_TIMING : 0));
    operations++;
}

static void set_up(struct worker *w)
{
    MUST(muCtxSetCurrent(context[0]));
    MUST(muMemHostAlloc((void **)&w->pinned, (size_t)OPS * N * 4, 0));
    MUST(muEventCreate(&w->event, 0));
    for (int d = 0; d < DEVICES; d++) {
        w->model[d] = calloc(N, 4);
        MUST(!w->model[d]);
        MUST(muCtxSetCurrent(context[d]));
        for (int i = 0; i < STREAMS; i++)
            MUST(muStreamCreate(&w->stream[d][i], MU_STREAM_NON_BLOCKING));
        MUST(muMemAlloc(&w->memory[d], N * 4));
        MUST(muMemsetD32(w->memory[d], 0, N));
        MUST(muStreamSynchronize(NULL)); /* asynchronous, and non-blocking streams do not wait for it */
    }
}

static void tear_down(struct worker *w)
{
    for (int d = 0; d < DEVICES; d++) {
        if (w->comm[d])
            OK(mcclCommDestroy(w->comm[d]));
        for (int i = 0; i < STREAMS; i++)
            OK(muStreamDestroy(w->stream[d][i]));
        OK(muMemFree(w->memory[d]));
        free(w->model[d]);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (w->block[i])
            OK(muMemFree(w->block[i]));
    OK(muEventDestroy(w->event));
    OK(muMemFreeHost(w->pinned));
}

static void *work(void *arg)
{
    struct worker *w = arg;
    set_up(w);
    for (; !over && !check_failures; w->rounds++) {
        int d = (int)draw(w, DEVICES);
        unsigned what = draw(w, 16);
        OK(muCtxSetCurrent(context[0])); /* events are of the first device */
        if (what < 2)
            object_round(w, 0);
        else if (what < 5)
            collective_round(w);
        else if (what < 9)
            graph_round(w, d); /* of the other device at times: the stream's context counts */
        else
            stream_round(w, 0);
        for (d = 0; d < DEVICES; d++)
            compare(w, d);
    }
    tear_down(w);
    return NULL;
}

static unsigned long resident_kb(void)
{
    unsigned long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lu %lu", &pages, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static unsigned option(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

#if CUMU_ASAN || CUMU_TSAN
enum { GROWTH_KB = 320 << 10 }; /* quarantine, shadow memory */
#else
enum { GROWTH_KB = 24 << 10 };
#endif

int main(void)
{
    static struct worker workers[THREADS_MAX];
    pthread_t thread[THREADS_MAX];
    unsigned length = option("SOAK_SECONDS", 3), threads = option("SOAK_THREADS", 8), seed = option("SOAK_SEED", 1);
    unsigned long rounds = 0;
    threads = threads > THREADS_MAX ? THREADS_MAX : threads;
    setenv("CUMU_HOST_DEVICES", "2", 1);
    MUST(muInit(0));
    for (int d = DEVICES; d-- > 0;) {
        MUST(muDevicePrimaryCtxRetain(&context[d], d));
        MUST(muCtxSetCurrent(context[d]));
        fill[d] = kernel_function("fill");
        MUST(!fill[d]);
    }
    double from = seconds();
    for (unsigned i = 0; i < threads; i++) {
        workers[i].seed = 88172645463325252ull ^ ((uint64_t)seed << 32) ^ (i * 2654435761u);
        MUST(pthread_create(&thread[i], NULL, work, &workers[i]));
    }
    while (seconds() - from < length / 2.0 && !check_failures)
        sleep_ms(10);
    unsigned long half = resident_kb();
    while (seconds() - from < length && !check_failures)
        sleep_ms(10);
    unsigned long end = resident_kb();
    over = true;
    for (unsigned i = 0; i < threads; i++) {
        MUST(pthread_join(thread[i], NULL));
        rounds += workers[i].rounds;
    }
    check(end < half + GROWTH_KB,
          "soak: %u s, %u threads, seed %u: %lu rounds, %lu operations; %lu MB at half time, %lu at the end", length,
          threads, seed, rounds, operations, half >> 10, end >> 10);
    return check_end("soak");
}
