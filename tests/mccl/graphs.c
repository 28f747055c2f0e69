/* Collectives in graphs beside those that are not: on all ranks they have the order in which they were launched and
 * called, however late the streams come to them. Programs are drawn: graphs of calls on two streams, launches of them,
 * and calls in between, that wait for each other or not, while each rank has delays of its own. Every call has numbers
 * of its own, so that a result tells which ones met. `graphs SEED` for another one. */
#include "team.h"

#include "host/driver/callback.h"

#include <string.h>
#include <time.h>

enum { GRAPHS = 3, MOST = 4, STEPS = 60, COUNT = 8, SLOTS = GRAPHS * MOST + STEPS };

struct side {
    struct rank *r;
    musaStream_t stream[2];
    musaEvent_t event;
    int *in, *out; /* of all slots */
    bool used[SLOTS];
};

static unsigned seed = 1;

static unsigned draw(unsigned *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static int value(int slot, int rank, int i) { return slot * 1000 + rank * 31 + i; }

static void sleep_some(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, 700000}, NULL);
}

static void delay(struct side *s, unsigned *own, int which)
{
    if (draw(own, 3) == 0)
        RANK(s->r, musaLaunchHostFunc(s->stream[which], sleep_some, NULL) == 0);
}

static void follow(struct side *s, int first, int second)
{
    RANK(s->r, musaEventRecord(s->event, s->stream[first]) == 0);
    RANK(s->r, musaStreamWaitEvent(s->stream[second], s->event, 0) == 0);
}

/* The count is not always the same, so that two that must not meet are sometimes refused, sometimes not. */
static void call(struct side *s, int slot, int which)
{
    s->used[slot] = true;
    RANK(s->r, mcclAllReduce(s->in + (size_t)slot * COUNT, s->out + (size_t)slot * COUNT, COUNT - slot % 2, mcclInt32,
                             mcclSum, s->r->comm, s->stream[which]) == 0);
}

static musaGraphExec_t capture(struct side *s, unsigned *state, unsigned *own, int first_slot)
{
    musaGraph_t graph = NULL;
    musaGraphExec_t exec = NULL;
    RANK(s->r, musaStreamBeginCapture(s->stream[0], musaStreamCaptureModeThreadLocal) == 0);
    follow(s, 0, 1);
    for (int i = 0, n = 1 + (int)draw(state, MOST); i < n; i++) {
        const int which = (int)draw(state, 2);
        delay(s, own, which);
        call(s, first_slot + i, which);
    }
    follow(s, 1, 0);
    RANK(s->r, musaStreamEndCapture(s->stream[0], &graph) == 0);
    RANK(s->r, musaGraphInstantiate(&exec, graph, 0) == 0);
    RANK(s->r, musaGraphDestroy(graph) == 0);
    return exec;
}

static void body(struct rank *r)
{
    struct side s = {.r = r};
    unsigned state = seed * 7919u + (unsigned)r->nranks, own = state + 77u * (unsigned)(r->rank + 1);
    musaGraphExec_t exec[GRAPHS];
    for (int i = 0; i < 2; i++)
        RANK(r, musaStreamCreateWithFlags(&s.stream[i], musaStreamNonBlocking) == 0);
    RANK(r, musaEventCreate(&s.event) == 0);
    s.in = device_bytes(r, sizeof(int) * SLOTS * COUNT);
    s.out = device_bytes(r, sizeof(int) * SLOTS * COUNT);
    for (int i = 0; i < SLOTS * COUNT; i++)
        s.in[i] = value(i / COUNT, r->rank, i % COUNT);
    for (int i = 0; i < GRAPHS; i++)
        exec[i] = capture(&s, &state, &own, i * MOST);
    for (int k = 0; k < STEPS && !r->wrong; k++) {
        const int which = (int)draw(&state, 2);
        delay(&s, &own, which);
        switch (draw(&state, 4)) {
        case 0: RANK(r, musaGraphLaunch(exec[draw(&state, GRAPHS)], s.stream[which]) == 0); break;
        case 1: follow(&s, which, !which); break;
        case 2: call(&s, GRAPHS * MOST + k, which); break;
        default:
            if (draw(&own, 8) == 0)
                RANK(r, settled(&(struct rank){.stream = s.stream[which]}));
        }
    }
    for (int i = 0; i < GRAPHS; i++) /* those that were not drawn */
        RANK(r, musaGraphLaunch(exec[i], s.stream[0]) == 0);
    for (int i = 0; i < 2; i++)
        RANK(r, settled(&(struct rank){.stream = s.stream[i]}));
    for (int i = 0; i < SLOTS * COUNT && !r->wrong; i++) {
        int slot = i / COUNT, sum = 0;
        for (int q = 0; q < r->nranks; q++)
            sum += value(slot, q, i % COUNT);
        if (s.used[slot] && i % COUNT < COUNT - slot % 2 && s.out[i] != sum && r->wrong++ < 3)
            printf("# seed %u, rank %d of %d, call %d: %d, not %d\n", seed, r->rank, r->nranks, slot, s.out[i], sum);
    }
    for (int i = 0; i < GRAPHS; i++)
        RANK(r, musaGraphExecDestroy(exec[i]) == 0);
}

static void fail(void *unused)
{
    (void)unused;
    cumu_host_fail(MUSA_ERROR_ILLEGAL_STATE);
}

/* A graph that fails before its call: the others are told, and nobody waits for a turn that does not come. */
static void broken(struct rank *r)
{
    struct side s = {.r = r};
    musaGraph_t graph = NULL;
    musaGraphExec_t exec = NULL;
    RANK(r, musaStreamCreateWithFlags(&s.stream[0], musaStreamNonBlocking) == 0);
    s.in = device_bytes(r, sizeof(int) * SLOTS * COUNT);
    s.out = device_bytes(r, sizeof(int) * SLOTS * COUNT);
    if (r->rank) /* which may be late already */
        (void)mcclAllReduce(s.in, s.out, COUNT, mcclInt32, mcclSum, r->comm, s.stream[0]);
    else {
        RANK(r, musaStreamBeginCapture(s.stream[0], musaStreamCaptureModeThreadLocal) == 0);
        RANK(r, musaLaunchHostFunc(s.stream[0], fail, NULL) == 0);
        call(&s, 0, 0);
        RANK(r, musaStreamEndCapture(s.stream[0], &graph) == 0);
        RANK(r, musaGraphInstantiate(&exec, graph, 0) == 0);
        RANK(r, musaGraphLaunch(exec, s.stream[0]) == 0);
    }
    const double began = seconds();
    RANK(r, async_error(r, true) != mcclSuccess);
    RANK(r, seconds() - began < 5);
    RANK(r, settled(&(struct rank){.stream = s.stream[0]}));
    RANK(r, seconds() - began < 5);
}

int main(int argc, char **argv)
{
    setenv("CUMU_HOST_DEVICES", "4", 1);
    const unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : seed;
    for (int team = PROCESSES; team >= THREADS; team--) {
        const char *kind = team == PROCESSES ? "processes" : "threads";
        for (int n = 1; n <= 4; n++)
            for (seed = first; seed < first + 3; seed++)
                report(team_run((enum team)team, n, true, body, NULL), "collectives in graphs, %d %s, seed %u", n, kind,
                       seed);
        report(team_run((enum team)team, 3, true, broken, NULL), "a graph that fails before its call, 3 %s", kind);
    }
    return check_end("mccl graphs");
}
