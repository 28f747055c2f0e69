/* Questions about single launches: the first of a kernel, what one instruction costs, and a launch that
 * does nothing beside the hand-off between two threads. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cuda.h"

static const char empty_ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n";

/* From PTX text to the end of its first launch, a small one; median over the kernels. */
int ask_first(char **names)
{
    double ms[CASES];
    unsigned count = 0;
    cuda_open();
    void *empty = cuda_kernel(empty_ptx, "k");
    struct work none = {.grid = {1, 1}, .block = {32, 1}};
    launch(&none, empty, 1); /* threads started */
    for (const struct bench_case *c = bench_cases; c->name; c++) {
        if (!chosen(c, names) || !strcmp(c->name, "saxpy_cache")) /* its text is saxpy_dram's */
            continue;
        struct work w = {.n = c->tiny};
        c->make(&w);
        char *ptx = read_ptx(c->file);
        upload(&w);
        double start = now_ms(CLOCK_MONOTONIC);
        launch(&w, cuda_kernel(ptx, "kernel"), 1);
        ms[count++] = now_ms(CLOCK_MONOTONIC) - start;
        if (names[0])
            printf("%s %.3f ms\n", c->name, ms[count - 1]);
        drop(&w);
    }
    printf("%.3f\n", median(ms, count));
    return 0;
}

static const char loop_ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u32 n) {\n"
                               ".reg .u32 %n, %a, %b, %i; .reg .pred %p;\n"
                               "ld.param.u32 %n, [n]; mov.u32 %a, %tid.x; mov.u32 %b, %laneid; mov.u32 %i, 0;\n"
                               "LOOP:\n"
#define STEP "xor.b32 %a, %a, %b; mad.lo.u32 %b, %b, %a, 7; sub.u32 %a, %a, %b; or.b32 %b, %b, 1;\n"
    STEP STEP STEP STEP STEP STEP STEP "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra LOOP;\n"
                               "setp.ne.u32 %p, %a, 0x12345; @%p bra DONE; st.global.u32 [0], %a;\nDONE: ret; }\n";

/* What one warp instruction costs in a loop of integer arithmetic. */
int ask_instruction(char **names)
{
    enum { LOOPS = 20000, ROUNDS = 15, STEPS = 7 * 4 + 3 };
    double ns[ROUNDS];
    struct work one = {.grid = {1, 1}, .block = {32, 1}, .nscalars = 1, .scalars = {LOOPS}};
    (void)names;
    set_one_cpu();
    cuda_open();
    void *loop = cuda_kernel(loop_ptx, "k");
    launch(&one, loop, 1);
    for (int r = 0; r < ROUNDS; r++) {
        double start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        launch(&one, loop, 1);
        ns[r] = (now_ms(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e6 / LOOPS / STEPS;
    }
    printf("%.3f\n", median(ns, ROUNDS));
    return 0;
}

/* Two threads that wake each other in turn: what handing a launch to another thread costs at least. */
static struct handoff {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned turn;
} handoff = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

enum { LAUNCHES = 200, ROUNDS = 31 };

static void take_turns(unsigned mine, unsigned turns)
{
    pthread_mutex_lock(&handoff.lock);
    for (unsigned i = 0; i < turns; i++) {
        while (handoff.turn % 2 != mine)
            pthread_cond_wait(&handoff.change, &handoff.lock);
        handoff.turn++;
        pthread_cond_signal(&handoff.change);
    }
    pthread_mutex_unlock(&handoff.lock);
}

static void *other_thread(void *unused)
{
    take_turns(1, LAUNCHES * ROUNDS);
    return unused;
}

/* There and back, as a launch and its synchronisation. */
static double time_handoff(void)
{
    double us[ROUNDS];
    pthread_t thread;
    if (pthread_create(&thread, NULL, other_thread, NULL))
        return NAN;
    for (int r = 0; r < ROUNDS; r++) {
        double start = now_ms(CLOCK_MONOTONIC);
        take_turns(0, LAUNCHES);
        us[r] = (now_ms(CLOCK_MONOTONIC) - start) * 1e3 / LAUNCHES;
    }
    pthread_join(thread, NULL);
    return median(us, ROUNDS);
}

static double time_launch(void *kernel)
{
    double us[ROUNDS];
    struct work small = {.grid = {8, 1}, .block = {128, 1}};
    launch(&small, kernel, 1);
    for (int r = 0; r < ROUNDS; r++) {
        double start = now_ms(CLOCK_MONOTONIC);
        for (int i = 0; i < LAUNCHES; i++)
            launch(&small, kernel, 1);
        us[r] = (now_ms(CLOCK_MONOTONIC) - start) * 1e3 / LAUNCHES;
    }
    return median(us, ROUNDS);
}

/* Might wait for the host, so it never runs on the calling thread. */
static const char waiting_ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n.global .u32 v;\n.visible .entry k() {\n"
    ".reg .b64 %a; .reg .u32 %r; .reg .pred %p; mov.u64 %a, v;\n"
    "L: ld.volatile.global.u32 %r, [%a]; setp.ne.u32 %p, %r, 0; @%p bra L; ret; }\n";

static double by_launch(double begin) { return (now_ms(CLOCK_MONOTONIC) - begin) * 1e3 / LAUNCHES; }

static void launch_block(void *kernel, void *stream, void **args)
{
    cuda_check(cu.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL), "cuLaunchKernel");
}

enum { STREAMS = 64 };
static void *streams[STREAMS];

/* One block that does nothing, LAUNCHES times before a synchronisation: in one stream, and in many in turn. */
static double time_small(void *kernel, unsigned nstreams)
{
    double us[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now_ms(CLOCK_MONOTONIC);
        for (unsigned i = 0; i < LAUNCHES; i++)
            launch_block(kernel, nstreams ? streams[i % nstreams] : NULL, NULL);
        cuda_check(cu.cuCtxSynchronize(), "cuCtxSynchronize");
        us[r] = by_launch(begin);
    }
    return median(us, ROUNDS);
}

/* A graph of LAUNCHES such nodes, one behind the other, and what one of them costs. */
static double time_graph(void *kernel)
{
    double us[ROUNDS];
    void *graph, *exec;
    cuda_check(cu.cuStreamBeginCapture_v2(streams[0], 0), "cuStreamBeginCapture");
    for (int i = 0; i < LAUNCHES; i++)
        launch_block(kernel, streams[0], NULL);
    cuda_check(cu.cuStreamEndCapture(streams[0], &graph), "cuStreamEndCapture");
    cuda_check(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now_ms(CLOCK_MONOTONIC);
        cuda_check(cu.cuGraphLaunch(exec, streams[0]), "cuGraphLaunch");
        cuda_check(cu.cuStreamSynchronize(streams[0]), "cuStreamSynchronize");
        us[r] = by_launch(begin);
    }
    return median(us, ROUNDS);
}

/* Stream-ordered allocation of 4 KiB, a launch that might use it, and its release. */
static double time_allocation(void *kernel)
{
    double us[ROUNDS];
    uint64_t p;
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now_ms(CLOCK_MONOTONIC);
        for (int i = 0; i < LAUNCHES; i++) {
            cuda_check(cu.cuMemAllocAsync(&p, 4096, streams[0]), "cuMemAllocAsync");
            launch_block(kernel, streams[0], NULL);
            cuda_check(cu.cuMemFreeAsync(p, streams[0]), "cuMemFreeAsync");
        }
        cuda_check(cu.cuStreamSynchronize(streams[0]), "cuStreamSynchronize");
        us[r] = by_launch(begin);
    }
    return median(us, ROUNDS);
}

/* Grids of one long block, each in a stream of its own, to the same in one stream: less is better, down to one by
 * the number of CPUs. */
static double time_beside(void *kernel)
{
    enum { GRIDS = 8, TIMES = 7 };
    double ratio[TIMES];
    int loops = 20000;
    void *args[] = {&loops};
    launch_block(kernel, NULL, args);
    cuda_check(cu.cuCtxSynchronize(), "cuCtxSynchronize");
    for (int r = 0; r < TIMES; r++) {
        double ms[2];
        for (int many = 0; many < 2; many++) {
            double begin = now_ms(CLOCK_MONOTONIC);
            for (int i = 0; i < GRIDS; i++)
                launch_block(kernel, streams[many * i], args);
            cuda_check(cu.cuCtxSynchronize(), "cuCtxSynchronize");
            ms[many] = now_ms(CLOCK_MONOTONIC) - begin;
        }
        ratio[r] = ms[1] / ms[0];
    }
    return median(ratio, TIMES);
}

/* Launch and synchronisation of a small grid: of a kernel that does nothing, of one that must run on
 * another thread, and two plain threads. */
int ask_launch(char **names)
{
    (void)names;
    cuda_open();
    void *empty = cuda_kernel(empty_ptx, "k");
    printf("bench launch.small_grid_sync %.2f us\n", time_launch(empty));
    printf("bench launch.small %.3f us\n", time_small(empty, 0));
    for (int i = 0; i < STREAMS; i++)
        cuda_check(cu.cuStreamCreate(&streams[i], 1), "cuStreamCreate");
    printf("bench launch.small_64_streams %.3f us\n", time_small(empty, STREAMS));
    printf("bench launch.graph_node %.3f us\n", time_graph(empty));
    printf("bench launch.async_allocation %.3f us\n", time_allocation(empty));
    printf("bench launch.one_block_grids_beside %.2f ratio\n", time_beside(cuda_kernel(loop_ptx, "k")));
    printf("bench launch.handed_over_sync %.2f us\n", time_launch(cuda_kernel(waiting_ptx, "k")));
    printf("bench launch.thread_handoff %.2f us\n", time_handoff());
    return 0;
}
