/* Grids so short that they run inside the launch: nobody can tell, but by the time. Kernels that wait for
 * the host are never among them, faults are contained on the application's thread too, and streams keep
 * their order when many threads launch. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host-launch/kernels.h"
#include "unit/unit.h"

static MUresult one(MUfunction f, void **params) { return muLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL); }

/* Quick as often as the host has written first; then the host writes after the launch. */
static void test_waiting(void)
{
    MUfunction f = kernel_function("meet");
    volatile uint32_t *word = NULL;
    uint32_t n = 2;
    bool good = f && !muMemAllocHost((void **)&word, 64);
    void *params[] = {&word, &n};
    for (int i = 0; good && i < 20; i++) {
        *word = 1;
        good = !one(f, params) && !muCtxSynchronize();
    }
    check(good, "a kernel that finds what it waits for");
    *word = 0;
    good = !one(f, params);
    check(good && muStreamQuery(NULL) == MUSA_ERROR_NOT_READY, "the launch returns while it waits");
    *word = 5;
    check(!muCtxSynchronize(), "and the kernel ends when the host has written");
    muMemFreeHost((void *)word);
}

static void *launch_some(void *arg)
{
    MUcontext ctx;
    muDevicePrimaryCtxRetain(&ctx, 0);
    muCtxSetCurrent(ctx);
    void **params = arg;
    for (int i = 0; i < 300; i++)
        if (one(params[0], params + 1))
            return arg;
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 4 };
    MUfunction f = kernel_function("meet"), g = kernel_function("fill");
    MUdeviceptr counter = 0, out = 0;
    uint32_t n = 1, got = 0, many = 32, seven = 7;
    bool good = f && g && !muMemAlloc(&counter, 4) && !muMemAlloc(&out, 128) && !muMemsetD32(counter, 0, 1);
    void *count[] = {f, &counter, &n}, *fill[] = {g, &out, &many, &seven};
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, launch_some, i % 2 ? count : fill);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        good &= !failed;
    }
    check(good && !muMemcpyDtoH(&got, counter, 4) && got == 600, "launches of four threads all run");
    muMemFree(counter);
    muMemFree(out);
}

static MUresult fault_after_good(void)
{
    MUfunction f = kernel_function("wild");
    MUdeviceptr p = 0;
    void *params[] = {&p};
    MUresult r = muMemAlloc(&p, 64);
    for (int i = 0; !r && i < 20; i++)
        if (!(r = one(f, params)))
            r = muCtxSynchronize();
    if (r)
        return r;
    p = 64;
    r = one(f, params);
    check(r == MUSA_SUCCESS, "a launch that will fault succeeds as a call");
    return muCtxSynchronize();
}

static void fresh_context(void)
{
    MUcontext ctx;
    muDevicePrimaryCtxReset(0);
    muDevicePrimaryCtxRelease(0);
    muDevicePrimaryCtxRetain(&ctx, 0);
    muCtxSetCurrent(ctx);
}

static void *with_signals_blocked(void *unused)
{
    sigset_t all;
    MUcontext ctx;
    (void)unused;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    muDevicePrimaryCtxRetain(&ctx, 0);
    muCtxSetCurrent(ctx);
    check(fault_after_good() == MUSA_ERROR_ILLEGAL_ADDRESS, "on a thread that blocks all signals");
    return NULL;
}

static void *on_a_small_stack(void *result)
{
    MUcontext ctx;
    muDevicePrimaryCtxRetain(&ctx, 0);
    muCtxSetCurrent(ctx);
    MUfunction f = kernel_function("empty");
    bool good = f != NULL;
    for (int i = 0; i < 20 && good; i++)
        good = !one(f, NULL) && !muCtxSynchronize();
    *(bool *)result = good;
    return NULL;
}

static void test_small_stack(void)
{
    pthread_t t;
    pthread_attr_t attr;
    bool good = false;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 << 10);
    if (!pthread_create(&t, &attr, on_a_small_stack, &good))
        pthread_join(t, NULL);
    check(good, "launches of a thread with a small stack");
    pthread_attr_destroy(&attr);
}

static void test_faults(void)
{
    pthread_t t;
    check(fault_after_good() == MUSA_ERROR_ILLEGAL_ADDRESS, "a fault is contained on this thread");
    fresh_context();
    pthread_create(&t, NULL, with_signals_blocked, NULL);
    pthread_join(t, NULL);
    fresh_context();
    check(one(kernel_function("empty"), NULL) == MUSA_SUCCESS && !muCtxSynchronize(), "a healthy kernel after that");
}

int main(void)
{
    if (!kernels_start())
        return 1;
    test_waiting();
    test_threads();
    test_small_stack();
    test_faults();
    return check_end("host-launch brief");
}
