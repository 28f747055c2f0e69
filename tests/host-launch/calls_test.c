/* What kernels call in the driver: printf, assert, malloc and free. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-launch/kernels.h"
#include "unit/unit.h"

static MUresult run(const char *name, unsigned blocks, unsigned threads, void **params)
{
    MUfunction f = kernel_function(name);
    MUresult r = muLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
    return r ? r : muCtxSynchronize();
}

/* In children, whose stdout is a pipe that the parent reads as their stderr. */
static void print_child(void)
{
    dup2(2, 1);
    if (!kernels_start())
        _exit(1);
    printf("before\n");
    MUresult r = run("say", 1, 1, NULL);
    printf("after %d\n", r);
    fflush(stdout);
}

static void assert_child(void)
{
    if (!kernels_start() || run("claims", 4, 32, NULL) != MUSA_ERROR_ASSERT)
        _exit(1);
}

/* The context has failed before the program synchronises. */
static void late_child(void)
{
    unsigned flags;
    dup2(2, 1);
    if (!kernels_start() || muLaunchKernel(kernel_function("say"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) ||
        muLaunchKernel(kernel_function("claims"), 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
        _exit(1);
    for (int ms = 0; ms < 20000 && !muCtxGetFlags(&flags); ms++)
        usleep(1000);
    if (muCtxSynchronize() != MUSA_ERROR_ASSERT)
        _exit(1);
    fflush(stdout);
}

static void assert_flood_child(void)
{
    if (!kernels_start() || muCtxSetLimit(MU_LIMIT_PRINTF_FIFO_SIZE, 4096) ||
        run("claims", 4, 1024, NULL) != MUSA_ERROR_ASSERT)
        _exit(1);
}

/* How often it stands there. */
static int count(const char *text, const char *word)
{
    int n = 0;
    while ((text = strstr(text, word))) {
        text += strlen(word);
        n++;
    }
    return n;
}

static void flood_child(void)
{
    dup2(2, 1);
    if (!kernels_start() || muCtxSetLimit(MU_LIMIT_PRINTF_FIFO_SIZE, 4096) || run("say", 2000, 1, NULL))
        _exit(1);
    fflush(stdout);
}

static void test_malloc(void)
{
    enum { BLOCKS = 16, THREADS = 64, N = BLOCKS * THREADS };
    static uint64_t got[N];
    MUdeviceptr out;
    uint64_t size = 1000;
    uint32_t again = 0;
    size_t heap = 0;
    void *params[] = {&out, &size, &again};
    check(!muCtxSetLimit(MU_LIMIT_MALLOC_HEAP_SIZE, 4 << 20) && !muCtxGetLimit(&heap, MU_LIMIT_MALLOC_HEAP_SIZE) &&
              !muMemAlloc(&out, sizeof got),
          "a heap of 4 MiB");
    check(!run("take", BLOCKS, THREADS, params) && !muMemcpyDtoH(got, out, sizeof got), "1024 blocks");
    bool apart = true;
    for (int i = 0; i < N; i++) {
        apart = apart && got[i] && got[i] % 16 == 0;
        for (int k = 0; k < i; k++)
            apart = apart && (got[i] >= got[k] + size || got[k] >= got[i] + size);
    }
    check(apart, "none overlaps another");
    check(!run("give", BLOCKS, THREADS, params), "are given back");
    size = heap - 4096;
    check(!run("take", 1, 1, params) && !muMemcpyDtoH(got, out, 8) && got[0], "in one piece");
    size = 16;
    uint64_t whole = got[0];
    MUresult r = run("take", 1, 1, params);
    muMemcpyDtoH(got, out, 8);
    check(!r && got[0] && got[0] != whole, "what is left serves a small one");
    size = heap;
    check(!run("take", 1, 1, params) && !muMemcpyDtoH(got, out, 8) && !got[0], "a full heap gives NULL");
    uint64_t odd = whole + 8;
    muMemcpyHtoD(out, &odd, 8);
    check(!run("give", 1, 1, params), "freeing what is no block does nothing");
    muMemcpyHtoD(out, &whole, 8);
    check(!run("give", 1, 1, params) && !run("give", 1, 1, params), "freeing twice neither");
    size = 200;
    again = 1;
    bool good = true;
    for (int i = 0; i < 20; i++)
        good = good && !run("take", BLOCKS, THREADS, params);
    size = heap - 8192;
    again = 0;
    check(good && !run("take", 1, 1, params) && !muMemcpyDtoH(got, out, 8) && got[0],
          "taking and freeing from many blocks leaves it whole");
}

/* A kernel that writes over everything beside its block: later calls neither hang nor crash nor give memory twice. */
static void test_damage(void)
{
    enum { THREADS = 64 };
    static uint64_t got[THREADS], again[THREADS];
    MUdeviceptr out;
    uint64_t size = 1000, n = 1 << 20, middle;
    uint32_t at_once = 0;
    void *params[] = {&out, &size, &at_once}, *smash[] = {&middle, &n};
    check(!muCtxSetLimit(MU_LIMIT_MALLOC_HEAP_SIZE, 4 << 20) && !muMemAlloc(&out, sizeof got) &&
              !run("take", 1, THREADS, params) && !muMemcpyDtoH(got, out, sizeof got),
          "64 blocks");
    middle = got[0] < got[THREADS - 1] ? got[0] : got[THREADS - 1];
    check(!run("smash", 1, 1, smash), "all of them and what lies between and behind is written over");
    bool apart = !run("take", 1, THREADS, params) && !muMemcpyDtoH(again, out, sizeof again);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < THREADS; k++) {
            apart = apart && again[i] && (again[i] >= got[k] + size || got[k] >= again[i] + size);
            apart = apart && (i == k || again[i] >= again[k] + size || again[k] >= again[i] + size);
        }
    check(apart, "and more can be had");
    check(!run("give", 1, THREADS, params) && !muMemcpyHtoD(out, got, sizeof got) && !run("give", 1, THREADS, params),
          "all are given back");
}

int main(void)
{
    check_text(stderr_of(print_child), "before\nblock 0!\nafter 0\n", "printf keeps its place");
    const char *said = stderr_of(assert_child);
    check(!strncmp(said, "a.cu:17: f(): block: [1,0,0], thread: [3,0,0] Assertion `x < 1` failed.\n", 71),
          "an assertion prints CUDA's line");
    check(count(said, "a.cu:17: f(): block: [1,0,0], thread: [") == 4 && strstr(said, "thread: [27,0,0] A"),
          "for each thread");
    check(count(said, "kernel claims: assertion: block [1,0,0], thread [3,0,0]") == 1, "and ours names the kernel");
    check(strstr(stderr_of(late_child), "block 0!\n") != NULL, "what was printed before is not lost");
    said = stderr_of(assert_flood_child);
    check(count(said, " failed.\n") < 60 && strstr(said, "lines beyond the limit of device printf were lost") &&
              strstr(said, "kernel claims: assertion"),
          "as many as the printf limit holds");
    said = stderr_of(flood_child);
    size_t length = strlen(said);
    check(length > 2000 && length <= 4096 && !strcmp(said + length - 2, "!\n"),
          "printf beyond the limit is cut between lines");
    if (!kernels_start())
        return 1;
    test_damage();
    test_malloc();
    return check_end("host-launch calls");
}
