/* Random work on random streams, of three threads at once: short and long grids, graphs, host functions, events,
 * waits of streams and of the host, on the legacy default stream, own, blocking and non-blocking ones. Each piece
 * takes a number when it runs; what CUDA orders must have ascending ones. ORDER_ROUNDS (150), ORDER_SEED (1). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-launch/kernels.h"
#include "unit/unit.h"

enum { THREADS = 3, MARKS = 64, STREAMS = 7, EVENTS = 4, CHAIN = 3, UNSET = -1 };
enum { LEGACY, PER_THREAD, BLOCKING, NON_BLOCKING = 4 }; /* the first stream of each kind */

typedef uint64_t set; /* of marks */

struct host_mark { /* what a host function is given */
    uint32_t *clock, *out;
};

struct program {
    uint64_t seed;
    MUfunction mark;
    MUstream stream[STREAMS];
    MUevent event[EVENTS];
    MUgraphExec exec;      /* CHAIN marks, one behind the other */
    uint32_t chain[CHAIN]; /* their numbers, read at the launch */
    uint32_t *clock, *out; /* of the device */
    uint32_t turns;
    struct host_mark host[MARKS];
    /* What must be over: before the stream's next work, before an event, before all that the host does next. */
    set before[STREAMS], recorded[EVENTS], seen, must[MARKS];
    unsigned marks, events;
    bool failed;
};

static uint32_t rnd(struct program *p, uint32_t n)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->seed >> 33) % n;
}

static void need(struct program *p, MUresult r)
{
    if (r)
        p->failed = true;
}

/* What new work in a stream comes behind: its own, and by the rules of the legacy default stream. */
static set behind(const struct program *p, unsigned s)
{
    set all = p->seen | p->before[s];
    if (s == LEGACY)
        for (unsigned k = 0; k < NON_BLOCKING; k++)
            all |= p->before[k];
    else if (s < NON_BLOCKING)
        all |= p->before[LEGACY];
    return all;
}

static uint32_t new_mark(struct program *p, unsigned s)
{
    p->must[p->marks] = behind(p, s);
    p->before[s] = p->must[p->marks] | (set)1 << p->marks;
    return p->marks++;
}

static void run_host(void *arg)
{
    struct host_mark *m = arg;
    *m->out = __atomic_fetch_add(m->clock, 1, __ATOMIC_SEQ_CST);
}

static void launch_grid(struct program *p, unsigned s)
{
    uint32_t i = new_mark(p, s), turns = rnd(p, 8) ? 1 : rnd(p, 20000);
    void *params[] = {&p->clock, &p->out, &i, &turns};
    need(p, muLaunchKernel(p->mark, 1, 1, 1, 1, 1, 1, 0, p->stream[s], params, NULL));
}

static void one_step(struct program *p)
{
    const unsigned s = rnd(p, STREAMS), e = rnd(p, EVENTS);
    switch (rnd(p, 16)) {
    case 0: {
        uint32_t i = new_mark(p, s);
        p->host[i] = (struct host_mark){p->clock, p->out + i};
        need(p, muLaunchHostFunc(p->stream[s], run_host, &p->host[i]));
        break;
    }
    case 1:
        if (p->marks + CHAIN > MARKS)
            break;
        for (unsigned k = 0; k < CHAIN; k++)
            p->chain[k] = new_mark(p, s);
        need(p, muGraphLaunch(p->exec, p->stream[s]));
        break;
    case 2:
    case 3:
        p->before[s] = p->recorded[e] = behind(p, s);
        p->events |= 1u << e;
        need(p, muEventRecord(p->event[e], p->stream[s]));
        break;
    case 4:
    case 5:
        if (p->events >> e & 1) {
            p->before[s] |= p->recorded[e];
            need(p, muStreamWaitEvent(p->stream[s], p->event[e], 0));
        }
        break;
    case 6:
        if (rnd(p, 2)) {
            need(p, muStreamSynchronize(p->stream[s]));
            p->seen |= s == LEGACY ? behind(p, s) : p->before[s];
        } else if (p->events >> e & 1 && muEventQuery(p->event[e]) == MUSA_SUCCESS) {
            p->seen |= p->recorded[e];
        }
        break;
    default: launch_grid(p, s);
    }
}

static bool ordered(const struct program *p)
{
    for (unsigned i = 0; i < p->marks; i++)
        for (unsigned k = 0; k < p->marks; k++)
            if (p->out[i] == (uint32_t)UNSET || (p->must[i] >> k & 1 && p->out[k] >= p->out[i])) {
                printf("    mark %u took %d, mark %u %d\n", i, (int)p->out[i], k, (int)p->out[k]);
                return false;
            }
    return *p->clock == p->marks;
}

static bool one_round(struct program *p, uint64_t seed)
{
    p->seed = seed;
    p->marks = p->events = 0;
    p->seen = 0;
    memset(p->before, 0, sizeof p->before);
    memset(p->out, 0xff, MARKS * sizeof *p->out);
    *p->clock = 0;
    while (p->marks < MARKS && !p->failed)
        one_step(p);
    for (unsigned s = 0; s < STREAMS; s++)
        need(p, muStreamSynchronize(p->stream[s]));
    return !p->failed && ordered(p);
}

static void make_chain(struct program *p)
{
    MUgraph g = NULL;
    p->turns = 1;
    need(p, muStreamBeginCapture(p->stream[BLOCKING], MU_STREAM_CAPTURE_MODE_RELAXED));
    static _Thread_local void *params[CHAIN][4];
    for (unsigned k = 0; k < CHAIN; k++) {
        params[k][0] = &p->clock;
        params[k][1] = &p->out;
        params[k][2] = &p->chain[k];
        params[k][3] = &p->turns;
        need(p, muLaunchKernel(p->mark, 1, 1, 1, 1, 1, 1, 0, p->stream[BLOCKING], params[k], NULL));
    }
    need(p, muStreamEndCapture(p->stream[BLOCKING], &g));
    need(p, muGraphInstantiate(&p->exec, g, NULL, NULL, 0));
}

/* While one of them captures a stream that waits for the legacy one, nobody may use that one. */
static pthread_barrier_t captured;

static int number(const char *name, int usual)
{
    const char *text = getenv(name);
    return text ? atoi(text) : usual;
}

static void *thread(void *arg)
{
    static _Thread_local struct program p;
    const uint64_t me = (uint64_t)(uintptr_t)arg, seed = (uint64_t)number("ORDER_SEED", 1);
    const unsigned rounds = (unsigned)number("ORDER_ROUNDS", 150);
    MUcontext ctx;
    muDevicePrimaryCtxRetain(&ctx, 0);
    muCtxSetCurrent(ctx);
    p.mark = kernel_function("mark");
    p.failed = !p.mark;
    need(&p, muMemAllocHost((void **)&p.clock, 64));
    need(&p, muMemAllocHost((void **)&p.out, MARKS * sizeof *p.out));
    p.stream[PER_THREAD] = MU_STREAM_PER_THREAD;
    for (unsigned s = BLOCKING; s < STREAMS; s++)
        need(&p, muStreamCreate(&p.stream[s], s < NON_BLOCKING ? MU_STREAM_DEFAULT : MU_STREAM_NON_BLOCKING));
    for (unsigned e = 0; e < EVENTS; e++)
        need(&p, muEventCreate(&p.event[e], MU_EVENT_DISABLE_TIMING));
    make_chain(&p);
    pthread_barrier_wait(&captured);
    unsigned good = 0;
    while (!p.failed && good < rounds && one_round(&p, (seed * THREADS + me) * 1000003u + good))
        good++;
    check(good == rounds, "thread %u: %u of %u random programs in order", (unsigned)me, good, rounds);
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    kernels_start();
    pthread_barrier_init(&captured, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, thread, (void *)i); /* NOLINT: a number */
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    return check_end("host-launch order");
}
