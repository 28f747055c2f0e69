/* Order of work: streams, the default streams, events, host functions, and how long a round trip
 * takes. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

/* Host functions write down the order in which they ran. */
static _Atomic int steps;
static _Atomic int log_of[64];

static void note(void *p) { log_of[steps++] = (int)(intptr_t)p; }

static void slow_note(void *p)
{
    sleep_ms(30);
    note(p);
}

static _Atomic bool gate;

static void wait_gate(void *p)
{
    (void)p;
    while (!gate)
        sleep_ms(1);
}

static void *id(int i) { return (void *)(intptr_t)i; }

static void reset(void)
{
    MUST(muCtxSynchronize());
    steps = 0;
    gate = false;
}

static bool saw(const char *order)
{
    int n = (int)strlen(order);
    for (int i = 0; i < n; i++)
        if (log_of[i] != order[i] - '0')
            return false;
    return steps == n;
}

static void in_one_stream(void)
{
    MUstream s;
    MUST(muStreamCreate(&s, MU_STREAM_DEFAULT));
    reset();
    MUST(muLaunchHostFunc(s, slow_note, id(1)));
    MUST(muLaunchHostFunc(s, note, id(2)));
    MUST(muLaunchHostFunc(s, slow_note, id(3)));
    MUST(muLaunchHostFunc(s, note, id(4)));
    IS(MUSA_ERROR_NOT_READY, muStreamQuery(s));
    MUST(muStreamSynchronize(s));
    CHECK("a stream keeps its order", saw("1234"));
    IS(MUSA_SUCCESS, muStreamQuery(s));
    MUST(muLaunchHostFunc(s, slow_note, id(5)));
    IS(MUSA_SUCCESS, muStreamDestroy(s));
    IS(MUSA_ERROR_INVALID_HANDLE, muStreamDestroy(s));
    IS(MUSA_ERROR_INVALID_HANDLE, muStreamSynchronize(s));
    for (int i = 0; i < 200 && steps < 5; i++)
        sleep_ms(5);
    CHECK("a destroyed stream finishes its work", saw("12345"));
}

/* Its work is still the context's: memory and modules that it uses may be freed after a wait. */
static void destroyed_stream(void)
{
    MUstream s, other;
    MUdeviceptr p;
    for (int way = 0; way < 3; way++) {
        MUST(muStreamCreate(&s, way ? MU_STREAM_NON_BLOCKING : MU_STREAM_DEFAULT));
        MUST(muStreamCreate(&other, MU_STREAM_DEFAULT));
        MUST(muMemAlloc(&p, 64));
        reset();
        MUST(muLaunchHostFunc(s, slow_note, id(1)));
        MUST(muLaunchHostFunc(s, slow_note, id(2)));
        MUST(muStreamDestroy(s));
        switch (way) {
        case 0: MUST(muStreamSynchronize(NULL)); break; /* the legacy stream waits for blocking ones */
        case 1: MUST(muMemFree(p)); break;
        case 2: MUST(muCtxSynchronize()); break;
        }
        CHECK("who waits waits for a destroyed stream's work", saw("12"));
        if (way != 1)
            MUST(muMemFree(p));
        MUST(muStreamDestroy(other));
    }
}

static void streams_are_concurrent(void)
{
    MUstream a, b;
    MUST(muStreamCreate(&a, MU_STREAM_DEFAULT));
    MUST(muStreamCreate(&b, MU_STREAM_DEFAULT));
    reset();
    MUST(muLaunchHostFunc(a, wait_gate, NULL));
    MUST(muLaunchHostFunc(a, note, id(1)));
    MUST(muLaunchHostFunc(b, note, id(2)));
    MUST(muStreamSynchronize(b));
    CHECK("a blocked stream does not hold up another", saw("2"));
    gate = true;
    MUST(muStreamSynchronize(a));
    CHECK("and goes on when it may", saw("21"));
    MUST(muStreamDestroy(a));
    MUST(muStreamDestroy(b));
}

static void legacy_default(void)
{
    MUstream blocking, free_running;
    MUST(muStreamCreate(&blocking, MU_STREAM_DEFAULT));
    MUST(muStreamCreate(&free_running, MU_STREAM_NON_BLOCKING));
    reset();
    MUST(muLaunchHostFunc(blocking, slow_note, id(1)));
    MUST(muLaunchHostFunc(NULL, slow_note, id(2)));    /* after 1 */
    MUST(muLaunchHostFunc(blocking, note, id(3)));     /* after 2 */
    MUST(muLaunchHostFunc(free_running, note, id(4))); /* at once */
    MUST(muStreamSynchronize(blocking));
    CHECK("the legacy stream waits for blocking streams and they for it, not for others", saw("4123"));

    reset();
    MUST(muLaunchHostFunc(free_running, wait_gate, NULL));
    MUST(muLaunchHostFunc(NULL, note, id(1)));
    MUST(muStreamSynchronize(NULL));
    CHECK("the legacy stream does not wait for a non-blocking one", saw("1"));
    gate = true;

    reset();
    MUST(muLaunchHostFunc(MU_STREAM_PER_THREAD, slow_note, id(1)));
    MUST(muLaunchHostFunc(MU_STREAM_LEGACY, note, id(2)));
    MUST(muLaunchHostFunc(MU_STREAM_PER_THREAD, note, id(3)));
    MUST(muStreamSynchronize(MU_STREAM_PER_THREAD));
    CHECK("the per-thread stream is a blocking one", saw("123"));

    reset();
    MUST(muLaunchHostFunc_ptsz(NULL, wait_gate, NULL));
    IS(MUSA_ERROR_NOT_READY, muStreamQuery_ptsz(NULL));
    IS(MUSA_ERROR_NOT_READY, muStreamQuery(MU_STREAM_PER_THREAD));
    gate = true;
    MUST(muStreamSynchronize_ptsz(NULL));

    reset();
    MUST(muLaunchHostFunc(blocking, slow_note, id(1)));
    MUST(muStreamSynchronize(NULL));
    CHECK("waiting for the legacy stream waits for blocking streams", saw("1"));
    MUST(muStreamDestroy(blocking));
    MUST(muStreamDestroy(free_running));
}

/* Memory is allocated between what the legacy stream was given before and what non-blocking streams get after;
 * freeing it waits for everything. */
static void allocations(void)
{
    MUstream s;
    MUdeviceptr p, q;
    void *host;
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muMemAlloc(&q, 64));
    for (int pinned = 0; pinned < 2; pinned++) {
        reset();
        MUST(muLaunchHostFunc(NULL, wait_gate, NULL));
        MUST(muLaunchHostFunc(NULL, note, id(1)));
        if (pinned)
            MUST(muMemHostAlloc(&host, 64, 0));
        else
            MUST(muMemAlloc(&p, 64)); /* returns, though the gate is shut */
        MUST(muLaunchHostFunc(s, note, id(2)));
        sleep_ms(5);
        CHECK("nothing runs before the gate opens", steps == 0);
        gate = true;
        MUST(muStreamSynchronize(s));
        CHECK("a non-blocking stream comes after the allocation", saw("12"));
        if (pinned)
            MUST(muMemFreeHost(host));
        else
            MUST(muMemFree(p));
    }
    reset();
    MUST(muLaunchHostFunc(NULL, slow_note, id(1)));
    MUST(muLaunchHostFunc(s, note, id(2)));
    MUST(muStreamSynchronize(s));
    CHECK("without one it does not wait", steps >= 1 && log_of[0] == 2);
    MUST(muLaunchHostFunc(s, slow_note, id(3)));
    MUST(muMemFree(q));
    CHECK("a free waits for all streams", steps == 3);
    MUST(muStreamDestroy(s));
}

/* Plain copies and fills of device memory are done when they return, unless something is before them. */
static void plain_forms(void)
{
    enum { BIG = 8 << 20 };
    MUdeviceptr p, q;
    MUST(muMemAlloc(&p, BIG));
    MUST(muMemAlloc(&q, BIG));
    reset();
    MUST(muMemsetD8(p, 7, BIG));
    CHECK("a fill of an idle stream", ((unsigned char *)(uintptr_t)p)[BIG - 1] == 7);
    MUST(muMemcpyDtoD(q, p, BIG));
    CHECK("a copy of an idle stream", ((unsigned char *)(uintptr_t)q)[BIG - 1] == 7);
    MUST(muLaunchHostFunc(NULL, wait_gate, NULL));
    MUST(muMemsetD8(p, 8, BIG)); /* asynchronous, as documented: the gate is opened behind it */
    MUST(muMemcpyDtoD(q, p, BIG));
    CHECK("nor before its turn", ((unsigned char *)(uintptr_t)q)[BIG - 1] == 7);
    gate = true;
    MUST(muCtxSynchronize());
    CHECK("but then", ((unsigned char *)(uintptr_t)q)[BIG - 1] == 8);
    MUST(muMemFree(p));
    MUST(muMemFree(q));
}

static void *other_thread(void *ctx)
{
    MUST(muCtxSetCurrent(ctx));
    MUST(muLaunchHostFunc(MU_STREAM_PER_THREAD, note, id(7)));
    MUST(muStreamSynchronize(MU_STREAM_PER_THREAD));
    return NULL;
}

static void per_thread(MUcontext ctx)
{
    pthread_t t;
    reset();
    MUST(muLaunchHostFunc(MU_STREAM_PER_THREAD, wait_gate, NULL));
    pthread_create(&t, NULL, other_thread, ctx);
    pthread_join(t, NULL);
    CHECK("threads have per-thread streams of their own", saw("7"));
    gate = true;
    MUST(muCtxSynchronize());
}

static void events(void)
{
    MUstream a, b;
    MUevent e, f, never, plain;
    float ms;
    MUST(muStreamCreate(&a, MU_STREAM_NON_BLOCKING));
    MUST(muStreamCreate(&b, MU_STREAM_NON_BLOCKING));
    MUST(muEventCreate(&e, MU_EVENT_DEFAULT));
    MUST(muEventCreate(&f, MU_EVENT_DEFAULT));
    MUST(muEventCreate(&never, MU_EVENT_DEFAULT));
    MUST(muEventCreate(&plain, MU_EVENT_DISABLE_TIMING));
    IS(MUSA_ERROR_INVALID_VALUE, muEventCreate(&e, MU_EVENT_INTERPROCESS));
    IS(MUSA_ERROR_INVALID_VALUE, muEventCreate(&e, 0x80));

    reset();
    MUST(muEventRecord(e, a));
    MUST(muLaunchHostFunc(a, slow_note, id(1)));
    MUST(muEventRecord(f, a));
    IS(MUSA_ERROR_NOT_READY, muEventQuery(f));
    IS(MUSA_ERROR_NOT_READY, muEventElapsedTime(&ms, e, f));
    MUST(muStreamWaitEvent(b, f, 0));
    MUST(muLaunchHostFunc(b, note, id(2)));
    MUST(muStreamSynchronize(b));
    CHECK("a stream waits for an event of another", saw("12"));
    IS(MUSA_SUCCESS, muEventQuery(f));
    IS(MUSA_SUCCESS, muEventElapsedTime(&ms, e, f));
    CHECK("elapsed time is what passed", ms >= 29 && ms < 3000);

    IS(MUSA_SUCCESS, muEventQuery(never));
    IS(MUSA_SUCCESS, muEventSynchronize(never));
    IS(MUSA_SUCCESS, muStreamWaitEvent(b, never, 0));
    IS(MUSA_ERROR_INVALID_HANDLE, muEventElapsedTime(&ms, e, never));
    MUST(muEventRecord(plain, a));
    MUST(muEventSynchronize(plain));
    IS(MUSA_ERROR_INVALID_HANDLE, muEventElapsedTime(&ms, e, plain));

    reset();
    MUST(muLaunchHostFunc(a, wait_gate, NULL));
    MUST(muLaunchHostFunc(a, note, id(1)));
    MUST(muEventRecord(e, a));
    MUST(muStreamWaitEvent(b, e, 0));
    MUST(muLaunchHostFunc(b, note, id(2)));
    IS(MUSA_SUCCESS, muEventDestroy(e)); /* pending: the wait stands */
    IS(MUSA_ERROR_INVALID_HANDLE, muEventQuery(e));
    IS(MUSA_ERROR_INVALID_HANDLE, muEventDestroy(e));
    gate = true;
    MUST(muStreamSynchronize(b));
    CHECK("a destroyed event still orders", saw("12"));

    reset();
    MUST(muLaunchHostFunc(a, slow_note, id(1)));
    MUST(muEventRecord(f, a));
    MUST(muStreamWaitEvent(b, f, 0));
    MUST(muEventRecord(f, b)); /* a new record does not move a wait that was placed before */
    MUST(muEventSynchronize(f));
    CHECK("a wait means the record before it", saw("1"));
    IS(MUSA_ERROR_INVALID_HANDLE, muEventRecord((MUevent)0x1234, a));
    IS(MUSA_ERROR_INVALID_HANDLE, muEventRecord(f, (MUstream)0x12345678));
    MUST(muEventDestroy(f));
    MUST(muEventDestroy(never));
    MUST(muEventDestroy(plain));
    MUST(muStreamDestroy(a));
    MUST(muStreamDestroy(b));
}

static MUresult inside;

static void calls_back(void *p)
{
    (void)p;
    inside = muCtxSynchronize();
}

static void with_status(MUstream s, MUresult status, void *p) { *(MUstream *)p = status ? NULL : s; }

static void callbacks(void)
{
    MUstream s, seen = NULL;
    MUST(muStreamCreate(&s, MU_STREAM_DEFAULT));
    MUST(muLaunchHostFunc(s, calls_back, NULL));
    MUST(muStreamAddCallback(s, with_status, &seen, 0));
    MUST(muStreamSynchronize(s));
    CHECK("a host function must not call the driver", inside == MUSA_ERROR_NOT_PERMITTED);
    CHECK("a callback gets its stream and no error", seen == s);
    IS(MUSA_ERROR_INVALID_VALUE, muLaunchHostFunc(s, NULL, NULL));
    MUST(muStreamDestroy(s));
}

static void values(void)
{
    MUstream a, b;
    MUdeviceptr p;
    MUST(muStreamCreate(&a, MU_STREAM_NON_BLOCKING));
    MUST(muStreamCreate(&b, MU_STREAM_NON_BLOCKING));
    MUST(muMemAlloc(&p, 64));
    MUST(muMemsetD8(p, 0, 64));
    reset();
    MUST(muStreamWaitValue32(a, p, 5, MU_STREAM_WAIT_VALUE_GEQ));
    MUST(muLaunchHostFunc(a, note, id(2)));
    MUST(muLaunchHostFunc(b, slow_note, id(1)));
    MUST(muStreamWriteValue32(b, p, 6, 0));
    MUST(muStreamSynchronize(a));
    CHECK("a value written by one stream lets another go on", saw("12"));
    MUST(muStreamWriteValue64(b, p + 8, 1ull << 40, 0));
    MUST(muStreamWaitValue64(a, p + 8, 1ull << 40, MU_STREAM_WAIT_VALUE_EQ));
    MUST(muStreamSynchronize(a));
    IS(MUSA_ERROR_INVALID_VALUE, muStreamWaitValue32(a, p + 2, 0, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muStreamWaitValue32(a, 4096, 0, 0));
    MUST(muMemFree(p));
    MUST(muStreamDestroy(a));
    MUST(muStreamDestroy(b));
}

static _Atomic int counted;

static void count(void *p)
{
    (void)p;
    counted++;
}

/* Not a pass or fail figure: the machine is shared. Printed for whoever reads the log. */
static void latency(void)
{
    MUstream s;
    enum { N = 2000 };
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muLaunchHostFunc(s, count, NULL));
    MUST(muStreamSynchronize(s));
    double t = seconds();
    for (int i = 0; i < N; i++) {
        MUST(muLaunchHostFunc(s, count, NULL));
        MUST(muStreamSynchronize(s));
    }
    double pair = (seconds() - t) / N;
    t = seconds();
    for (int i = 0; i < N; i++)
        MUST(muLaunchHostFunc(s, count, NULL));
    MUST(muStreamSynchronize(s));
    double stream = (seconds() - t) / N;
    printf("# enqueue and wait %.1f us, enqueue in a row %.2f us each\n", pair * 1e6, stream * 1e6);
    CHECK("every host function ran once", counted == 2 * N + 1);
    MUST(muStreamDestroy(s));
}

int main(void)
{
    MUcontext ctx = start_device();
    in_one_stream();
    destroyed_stream();
    streams_are_concurrent();
    legacy_default();
    allocations();
    plain_forms();
    per_thread(ctx);
    events();
    callbacks();
    values();
    latency();
    return result();
}
