/* Ends children by signals while they are inside CUDA calls that would never return: each must be gone within a
 * second, by the signal that was sent. Usage: signals STATE..., by cumu run; linked with the facades of libcuda.so.1,
 * libnccl.so.2, libcublas.so.12 and libcurand.so.10. `grid`: every way to keep the device busy with every call that may
 * wait for it, each with a signal that differs from run to run. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_functions.h"

enum { MS = 1000000, GRACE_MS = 1000, HANGS_MS = 20000, SETTLE_MS = 150, READY_MS = 60000 };
enum outcome { RIGHT, LATE, WRONG };

static const char endless[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                              ".visible .entry wait(.param .u64 p) {\n .reg .b64 %d; .reg .b32 %r; .reg .pred %q;\n"
                              " ld.param.u64 %d, [p];\n"
                              "again: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %q, %r, 0; @%q bra again; ret; }\n";

static int ready[2];
static void say_ready(void)
{
    if (write(ready[1], "r", 1) != 1)
        _exit(3);
}

static void need(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "%s: %d\n", what, result);
    _exit(4);
}

static void *context;
static void start(void)
{
    need(cuInit(0), "cuInit");
    need(cuDevicePrimaryCtxRetain(&context, 0), "context");
    need(cuCtxSetCurrent(context), "current");
}

static void launch(void)
{
    void *module, *kernel;
    uint64_t p;
    start();
    need(cuModuleLoadData(&module, endless), "module");
    need(cuModuleGetFunction(&kernel, module, "wait"), "function");
    need(cuMemAlloc_v2(&p, 4), "memory");
    need(cuMemsetD32_v2(p, 0, 1), "memset");
    need(cuLaunchKernel(kernel, 4, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&p}, NULL), "launch");
}

static void in_kernel(void)
{
    launch();
    say_ready();
    (void)cuCtxSynchronize();
}
static void in_compiler(void)
{
    say_ready(); /* the launch waits for a compiler that never ends */
    launch();
}
static void in_reset(void)
{
    launch();
    say_ready();
    (void)cuDevicePrimaryCtxReset_v2(0);
}
static void in_free(void)
{
    uint64_t p;
    start();
    need(cuMemAlloc_v2(&p, 4), "memory");
    launch();
    say_ready();
    (void)cuMemFree_v2(p);
}
static void sleep_long(void *unused)
{
    (void)unused;
    say_ready();
    sleep(1000);
}
static void in_callback(void)
{
    start();
    need(cuLaunchHostFunc(NULL, (void *)sleep_long, NULL), "host function");
    (void)cuCtxSynchronize();
}
static void in_nccl(void)
{
    struct id {
        char bytes[128];
    } id;
    void *comm;
    start();
    need(ncclGetUniqueId(&id), "id");
    say_ready();
    int ncclCommInitRank(void **, int, struct id, int);
    (void)ncclCommInitRank(&comm, 2, id, 0);
}
static void at_exit_sleep(void) { sleep_long(NULL); }
static void in_exit(void)
{
    (void)atexit(at_exit_sleep);
    launch();
    exit(0);
}
static void leaves(void)
{
    launch();
    say_ready();
    exit(0);
}

/* ---- the grid ---- */

static void *module, *kernel;
static uint64_t word, block;
enum { BLOCK = 1 << 20, MATHS_N = 2048 };

static void busy_kernel(void)
{
    need(cuLaunchKernel(kernel, 4, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&word}, NULL), "launch");
}
static void busy_graph(void)
{
    void *stream, *graph, *exec;
    need(cuStreamCreate(&stream, 0), "stream");
    need(cuStreamBeginCapture_v2(stream, 2), "capture");
    need(cuLaunchKernel(kernel, 4, 1, 1, 64, 1, 1, 0, stream, (void *[]){&word}, NULL), "captured launch");
    need(cuStreamEndCapture(stream, &graph), "end of capture");
    need(cuGraphInstantiateWithFlags(&exec, graph, 0), "graph");
    need(cuGraphLaunch(exec, NULL), "graph's launch");
}
static void sleep_silently(void *unused)
{
    (void)unused;
    sleep(1000);
}
static void busy_callback(void) { need(cuLaunchHostFunc(NULL, (void *)sleep_silently, NULL), "host function"); }
static void busy_wait_value(void) { need(cuStreamWaitValue32_v2(NULL, word, 1, 1), "wait for a value"); }
static void busy_not(void) {}

static void wait_context(void) { (void)cuCtxSynchronize(); }
static void wait_stream(void) { (void)cuStreamSynchronize(NULL); }
static void wait_event(void)
{
    void *event;
    need(cuEventCreate(&event, 1), "event");
    need(cuEventRecord(event, NULL), "record");
    (void)cuEventSynchronize(event);
}
static void wait_query(void)
{
    while (cuStreamQuery(NULL) == 600)
        ;
}
static char pageable[BLOCK];
static void wait_copy_out(void) { (void)cuMemcpyDtoH_v2(pageable, block, BLOCK); }
static void wait_copy_in(void) { (void)cuMemcpyHtoD_v2(block, pageable, BLOCK); }
static void wait_copy_async(void) { (void)cuMemcpyDtoHAsync_v2(pageable, block, BLOCK, NULL); }
static void wait_free(void) { (void)cuMemFree_v2(block); }
static void wait_unload(void) { (void)cuModuleUnload(module); }
static void wait_release(void) { (void)cuDevicePrimaryCtxRelease_v2(0); }
static void wait_reset(void) { (void)cuDevicePrimaryCtxReset_v2(0); }
static void wait_pinned(void)
{
    void *p;
    need(cuMemHostAlloc(&p, BLOCK, 0), "pinned memory");
    (void)cuMemFreeHost(p);
}
static void wait_managed(void)
{
    uint64_t p;
    need(cuMemAllocManaged(&p, BLOCK, 1), "managed memory");
    (void)cuMemFree_v2(p);
}
static void wait_launches(void)
{
    for (int i = 0; i < 100000; i++)
        busy_kernel();
}
static void wait_load(void)
{
    for (int i = 0; i < 100000; i++)
        need(cuModuleLoadData(&module, endless), "module");
}
/* Calls of the maths libraries: with an idle device they are in their own work all the time. */
static void wait_gemm(void)
{
    void *handle;
    uint64_t a;
    const float one = 1;
    need(cublasCreate_v2(&handle), "cuBLAS");
    need(cuMemAlloc_v2(&a, 3 * sizeof(float) * MATHS_N * MATHS_N), "matrices");
    float *m = (float *)(uintptr_t)a; /* NOLINT: an address of the device */
    for (int i = 0; i < 1000; i++)
        need(cublasSgemm_v2(handle, 0, 0, MATHS_N, MATHS_N, MATHS_N, &one, m, MATHS_N, m + MATHS_N * MATHS_N, MATHS_N,
                            &one, m + 2 * MATHS_N * MATHS_N, MATHS_N),
             "gemm");
}
static void wait_random(void)
{
    void *generator;
    uint64_t a;
    need(curandCreateGenerator(&generator, 100), "cuRAND");
    need(cuMemAlloc_v2(&a, 64 << 20), "memory");
    for (int i = 0; i < 10000; i++)
        need(curandGenerateUniform(generator, (void *)(uintptr_t)a, 16 << 20), "numbers");
}

#define NAMED(prefix, f) \
    { \
#f, prefix##f \
    }
static const struct named {
    const char *name;
    void (*run)(void);
} busy[] = {NAMED(busy_, not ), NAMED(busy_, kernel), NAMED(busy_, graph), NAMED(busy_, callback),
            NAMED(busy_, wait_value)},
  waits[] = {NAMED(wait_, context),  NAMED(wait_, stream),   NAMED(wait_, event),      NAMED(wait_, query),
             NAMED(wait_, copy_out), NAMED(wait_, copy_in),  NAMED(wait_, copy_async), NAMED(wait_, free),
             NAMED(wait_, unload),   NAMED(wait_, release),  NAMED(wait_, reset),      NAMED(wait_, pinned),
             NAMED(wait_, managed),  NAMED(wait_, launches), NAMED(wait_, load),       NAMED(wait_, gemm),
             NAMED(wait_, random)};
enum { BUSY = sizeof busy / sizeof *busy, WAITS = sizeof waits / sizeof *waits };
static unsigned grid_at; /* which of BUSY * WAITS */

/* What returns waits for the context, and where that has nothing to wait for, for the signal. */
static void in_grid(void)
{
    start();
    need(cuModuleLoadData(&module, endless), "module");
    need(cuModuleGetFunction(&kernel, module, "wait"), "function");
    need(cuMemAlloc_v2(&word, 4), "memory");
    need(cuMemAlloc_v2(&block, BLOCK), "memory");
    need(cuMemsetD32_v2(word, 0, 1), "memset");
    need(cuCtxSynchronize(), "memset's end");
    busy[grid_at / WAITS].run();
    say_ready();
    waits[grid_at % WAITS].run();
    (void)cuCtxSynchronize();
    sleep(1000);
}

static const struct {
    const char *name;
    void (*run)(void);
    bool by_itself;
} states[] = {{"kernel", in_kernel, false}, {"compiler", in_compiler, false}, {"reset", in_reset, false},
              {"free", in_free, false},     {"callback", in_callback, false}, {"nccl", in_nccl, false},
              {"exit", in_exit, false},     {"leave", leaves, true},          {"grid", in_grid, false}};

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * MS};
    nanosleep(&t, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Has the child ended within so many milliseconds? */
static bool ended(pid_t pid, int *status, long ms)
{
    for (double end = now() + (double)ms / 1000; now() < end; pause_ms(5))
        if (waitpid(pid, status, WNOHANG) == pid)
            return true;
    return waitpid(pid, status, WNOHANG) == pid;
}

/* One child, one signal. LATE: it ended as it should, but took longer than GRACE_MS. */
static enum outcome attempt(unsigned s, int sig, const char *name)
{
    char byte;
    int status = 0;
    if (pipe(ready))
        return false;
    pid_t pid = fork();
    if (!pid) {
        close(ready[0]);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        alarm(READY_MS / 1000);
        states[s].run();
        _exit(5);
    }
    close(ready[1]);
    bool there = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    /* Of the grid at any moment, also before the call waits. */
    pause_ms(states[s].run == in_grid ? (grid_at * 2654435761u >> 16) % (SETTLE_MS / 2) : SETTLE_MS);
    double from = now();
    if (there && !states[s].by_itself)
        kill(pid, sig);
    bool gone = ended(pid, &status, HANGS_MS);
    double took = now() - from;
    if (!gone) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    bool right = states[s].by_itself ? WIFEXITED(status) && !WEXITSTATUS(status)
                                     : WIFSIGNALED(status) && WTERMSIG(status) == sig;
    if (there && gone && right)
        return took * 1000 <= GRACE_MS ? RIGHT : LATE;
    printf("not ok %s in %s %s %s: %s, status %#x after %.2f s\n", name, states[s].name,
           states[s].run == in_grid ? busy[grid_at / WAITS].name : "",
           states[s].run == in_grid ? waits[grid_at % WAITS].name : "",
           !there ? "never ready"
           : gone ? "ends otherwise"
                  : "does not end",
           (unsigned)status, took);
    return WRONG;
}

/* Late three times is too late: once it may be the machine, which others load. */
static bool one(unsigned s, int sig, const char *name)
{
    enum outcome o = LATE;
    for (int i = 0; i < 3 && o == LATE; i++)
        o = attempt(s, sig, name);
    if (o == LATE)
        printf("not ok %s in %s: takes more than %d ms\n", name, states[s].name, GRACE_MS);
    return o == RIGHT;
}

int main(int argc, char **argv)
{
    static const struct {
        int number;
        const char *name;
    } sent[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}};
    bool all = true;
    enum { SENT = sizeof sent / sizeof *sent };
    unsigned day = (unsigned)(time(NULL) / 86400);
    for (int a = 1; a < argc; a++)
        for (grid_at = 0; !strcmp(argv[a], "grid") && grid_at < BUSY * WAITS; grid_at++) {
            unsigned k = (grid_at * 2654435761u + day) % SENT;
            all &= one(sizeof states / sizeof *states - 1, sent[k].number, sent[k].name);
        }
    for (int a = 1; a < argc; a++)
        for (unsigned s = 0; s < sizeof states / sizeof *states; s++)
            for (unsigned k = 0;
                 states[s].run != in_grid && !strcmp(states[s].name, argv[a]) && k < sizeof sent / sizeof *sent; k++) {
                if (k && states[s].by_itself)
                    break;
                all &= one(s, sent[k].number, states[s].by_itself ? "an exit" : sent[k].name);
            }
    if (all)
        puts("done");
    return !all;
}
