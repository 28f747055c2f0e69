/* Order of work: streams, the default streams, events, host functions, and how long a round trip
 * takes. */
#include "device.h"

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
    IS(muStreamQuery(s), MUSA_ERROR_NOT_READY);
    MUST(muStreamSynchronize(s));
    check(saw("1234"), "a stream keeps its order");
    OK(muStreamQuery(s));
    MUST(muLaunchHostFunc(s, slow_note, id(5)));
    OK(muStreamDestroy(s));
    IS(muStreamDestroy(s), MUSA_ERROR_INVALID_HANDLE);
    IS(muStreamSynchronize(s), MUSA_ERROR_INVALID_HANDLE);
    for (int i = 0; i < 200 && steps < 5; i++)
        sleep_ms(5);
    check(saw("12345"), "a destroyed stream finishes its work");
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
        check(saw("12"), "who waits waits for a destroyed stream's work");
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
    check(saw("2"), "a blocked stream does not hold up another");
    gate = true;
    MUST(muStreamSynchronize(a));
    check(saw("21"), "and goes on when it may");
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
    check(saw("4123"), "the legacy stream waits for blocking streams and they for it, not for others");

    reset();
    MUST(muLaunchHostFunc(free_running, wait_gate, NULL));
    MUST(muLaunchHostFunc(NULL, note, id(1)));
    MUST(muStreamSynchronize(NULL));
    check(saw("1"), "the legacy stream does not wait for a non-blocking one");
    gate = true;

    reset();
    MUST(muLaunchHostFunc(MU_STREAM_PER_THREAD, slow_note, id(1)));
    MUST(muLaunchHostFunc(MU_STREAM_LEGACY, note, id(2)));
    MUST(muLaunchHostFunc(MU_STREAM_PER_THREAD, note, id(3)));
    MUST(muStreamSynchronize(MU_STREAM_PER_THREAD));
    check(saw("123"), "the per-thread stream is a blocking one");

    reset();
    MUST(muLaunchHostFunc_ptsz(NULL, wait_gate, NULL));
    IS(muStreamQuery_ptsz(NULL), MUSA_ERROR_NOT_READY);
    IS(muStreamQuery(MU_STREAM_PER_THREAD), MUSA_ERROR_NOT_READY);
    gate = true;
    MUST(muStreamSynchronize_ptsz(NULL));

    reset();
    MUST(muLaunchHostFunc(blocking, slow_note, id(1)));
    MUST(muStreamSynchronize(NULL));
    check(saw("1"), "waiting for the legacy stream waits for blocking streams");
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
        check(steps == 0, "nothing runs before the gate opens");
        gate = true;
        MUST(muStreamSynchronize(s));
        check(saw("12"), "a non-blocking stream comes after the allocation");
        if (pinned)
            MUST(muMemFreeHost(host));
        else
            MUST(muMemFree(p));
    }
    reset();
    MUST(muLaunchHostFunc(NULL, slow_note, id(1)));
    MUST(muLaunchHostFunc(s, note, id(2)));
    MUST(muStreamSynchronize(s));
    check(steps >= 1 && log_of[0] == 2, "without one it does not wait");
    MUST(muLaunchHostFunc(s, slow_note, id(3)));
    MUST(muMemFree(q));
    check(steps == 3, "a free waits for all streams");
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
    check(((unsigned char *)(uintptr_t)p)[BIG - 1] == 7, "a fill of an idle stream");
    MUST(muMemcpyDtoD(q, p, BIG));
    check(((unsigned char *)(uintptr_t)q)[BIG - 1] == 7, "a copy of an idle stream");
    MUST(muLaunchHostFunc(NULL, wait_gate, NULL));
    MUST(muMemsetD8(p, 8, BIG)); /* asynchronous, as documented: the gate is opened behind it */
    MUST(muMemcpyDtoD(q, p, BIG));
    check(((unsigned char *)(uintptr_t)q)[BIG - 1] == 7, "nor before its turn");
    gate = true;
    MUST(muCtxSynchronize());
    check(((unsigned char *)(uintptr_t)q)[BIG - 1] == 8, "but then");
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
    check(saw("7"), "threads have per-thread streams of their own");
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
    IS(muEventCreate(&e, MU_EVENT_INTERPROCESS), MUSA_ERROR_INVALID_VALUE);
    IS(muEventCreate(&e, 0x80), MUSA_ERROR_INVALID_VALUE);

    reset();
    MUST(muEventRecord(e, a));
    MUST(muLaunchHostFunc(a, slow_note, id(1)));
    MUST(muEventRecord(f, a));
    IS(muEventQuery(f), MUSA_ERROR_NOT_READY);
    IS(muEventElapsedTime(&ms, e, f), MUSA_ERROR_NOT_READY);
    MUST(muStreamWaitEvent(b, f, 0));
    MUST(muLaunchHostFunc(b, note, id(2)));
    MUST(muStreamSynchronize(b));
    check(saw("12"), "a stream waits for an event of another");
    OK(muEventQuery(f));
    OK(muEventElapsedTime(&ms, e, f));
    check(ms >= 29 && ms < 100000, "elapsed time is what passed");

    OK(muEventQuery(never));
    OK(muEventSynchronize(never));
    OK(muStreamWaitEvent(b, never, 0));
    IS(muEventElapsedTime(&ms, e, never), MUSA_ERROR_INVALID_HANDLE);
    MUST(muEventRecord(plain, a));
    MUST(muEventSynchronize(plain));
    IS(muEventElapsedTime(&ms, e, plain), MUSA_ERROR_INVALID_HANDLE);

    reset();
    MUST(muLaunchHostFunc(a, wait_gate, NULL));
    MUST(muLaunchHostFunc(a, note, id(1)));
    MUST(muEventRecord(e, a));
    MUST(muStreamWaitEvent(b, e, 0));
    MUST(muLaunchHostFunc(b, note, id(2)));
    OK(muEventDestroy(e)); /* pending: the wait stands */
    IS(muEventQuery(e), MUSA_ERROR_INVALID_HANDLE);
    IS(muEventDestroy(e), MUSA_ERROR_INVALID_HANDLE);
    gate = true;
    MUST(muStreamSynchronize(b));
    check(saw("12"), "a destroyed event still orders");

    reset();
    MUST(muLaunchHostFunc(a, slow_note, id(1)));
    MUST(muEventRecord(f, a));
    MUST(muStreamWaitEvent(b, f, 0));
    MUST(muEventRecord(f, b)); /* a new record does not move a wait that was placed before */
    MUST(muEventSynchronize(f));
    check(saw("1"), "a wait means the record before it");
    IS(muEventRecord((MUevent)0x1234, a), MUSA_ERROR_INVALID_HANDLE);
    IS(muEventRecord(f, (MUstream)0x12345678), MUSA_ERROR_INVALID_HANDLE);
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
    check(inside == MUSA_ERROR_NOT_PERMITTED, "a host function must not call the driver");
    check(seen == s, "a callback gets its stream and no error");
    IS(muLaunchHostFunc(s, NULL, NULL), MUSA_ERROR_INVALID_VALUE);
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
    check(saw("12"), "a value written by one stream lets another go on");
    MUST(muStreamWriteValue64(b, p + 8, 1ull << 40, 0));
    MUST(muStreamWaitValue64(a, p + 8, 1ull << 40, MU_STREAM_WAIT_VALUE_EQ));
    MUST(muStreamSynchronize(a));
    IS(muStreamWaitValue32(a, p + 2, 0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamWaitValue32(a, 4096, 0, 0), MUSA_ERROR_INVALID_VALUE);
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
    check(counted == 2 * N + 1, "every host function ran once");
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
    return check_end("host order");
}
