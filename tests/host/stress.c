/* Many threads, streams and events at once: for races (built with TSan) and lost wake-ups. */
#include "device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 300, STREAMS = 4, N = 512 };

static MUcontext ctx;
static _Atomic int errors;
static MUevent shared[THREADS]; /* one a thread records, others wait for */

static void bump(void *p) { ++*(int *)p; /* ordered by the streams alone: a race here is a race of theirs */ }

static void *work(void *arg)
{
    int me = (int)(intptr_t)arg, counter = 0, expect = 0;
    unsigned seed = (unsigned)me + 1;
    MUstream s[STREAMS];
    MUevent e[STREAMS];
    MUdeviceptr d[STREAMS];
    unsigned char *pinned;
    MUST(muCtxSetCurrent(ctx));
    MUST(muMemHostAlloc((void **)&pinned, STREAMS * N, 0));
    for (int i = 0; i < STREAMS; i++) {
        MUST(muStreamCreate(&s[i], i % 2 ? MU_STREAM_NON_BLOCKING : MU_STREAM_DEFAULT));
        MUST(muEventCreate(&e[i], i % 2 ? MU_EVENT_DISABLE_TIMING : 0));
        MUST(muMemAlloc(&d[i], N));
    }
    for (int r = 0; r < ROUNDS; r++) {
        int last = -1;
        for (int k = 0; k < STREAMS; k++) { /* a chain through the streams in random order */
            seed = seed * 1664525u + 1013904223u;
            int i = (int)(seed >> 10) % STREAMS;
            if (last >= 0 && last != i) {
                MUST(muEventRecord(e[last], s[last]));
                MUST(muStreamWaitEvent(s[i], e[last], 0));
            }
            MUST(muLaunchHostFunc(s[i], bump, &counter));
            MUST(muMemsetD8Async(d[i], (unsigned char)r, N, s[i]));
            MUST(muMemcpyDtoHAsync(pinned + i * N, d[i], N, s[i]));
            expect++;
            last = i;
        }
        MUST(muEventRecord(shared[me], s[last]));
        MUST(muStreamWaitEvent(s[last], shared[(me + 1) % THREADS], 0));
        switch (r % 5) {
        case 0: MUST(muStreamSynchronize(s[last])); break;
        case 1: MUST(muEventSynchronize(shared[me])); break;
        case 2:
            MUST(muMemsetD8(d[0], 1, N)); /* legacy stream: joins everybody's blocking streams */
            MUST(muCtxSynchronize());
            break;
        case 3: {
            MUdeviceptr p;
            MUST(muMemAllocAsync(&p, 3000, s[last]));
            MUST(muMemsetD8Async(p, 2, 3000, s[last]));
            MUST(muMemFreeAsync(p, s[last]));
            while (muStreamQuery(s[last]) == MUSA_ERROR_NOT_READY)
                sched_yield();
            break;
        }
        default: {
            MUstream fresh;
            MUST(muStreamCreate(&fresh, 0));
            MUST(muStreamWaitEvent(fresh, shared[me], 0));
            MUST(muStreamDestroy(fresh));
            MUST(muStreamSynchronize(s[last]));
        }
        }
        if (counter != expect || pinned[last * N + N - 1] != (unsigned char)r)
            errors++;
    }
    for (int i = 0; i < STREAMS; i++) {
        MUST(muEventDestroy(e[i]));
        MUST(muStreamDestroy(s[i]));
        MUST(muMemFree(d[i]));
    }
    MUST(muMemFreeHost(pinned));
    return NULL;
}

static void linger(void *p)
{
    (void)p;
    sleep(30);
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "64M", 1);
    setenv("CUMU_HOST_THREADS", "4", 1);
    ctx = start_device();
    for (int i = 0; i < THREADS; i++)
        MUST(muEventCreate(&shared[i], 0));
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    check(errors == 0, "every thread saw its own work done, in order");
    size_t left, total;
    MUST(muMemGetInfo(&left, &total));
    check(left == total, "no memory is lost");
    /* The process ends with work under way: it must neither hang nor crash. */
    MUstream s;
    MUST(muStreamCreate(&s, 0));
    MUST(muLaunchHostFunc(s, linger, NULL));
    return check_end("host stress");
}
