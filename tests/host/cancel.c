/* A thread that is cancelled while it allocates and frees leaves no lock behind. */
#include "check.h"

#include <pthread.h>

static MUcontext ctx;

static void *churn(void *unused)
{
    (void)unused;
    MUST(muCtxSetCurrent(ctx));
    for (;;) {
        MUdeviceptr p;
        if (!muMemAlloc(&p, 3 << 20))
            (void)muMemFree(p);
    }
    return NULL;
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "8M", 1); /* too small to keep what is freed: its pages are given back */
    MUST(muInit(0));
    MUST(muDevicePrimaryCtxRetain(&ctx, 0));
    MUST(muCtxSetCurrent(ctx));
    pthread_t thread;
    struct timespec end;
    MUdeviceptr p;
    pthread_create(&thread, NULL, churn, NULL);
    sleep_ms(5);
    pthread_cancel(thread);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1; /* it may come to no such point and run on, which does no harm */
    (void)pthread_timedjoin_np(thread, NULL, &end);
    MUST(muMemAlloc(&p, 1000));
    MUST(muMemFree(p));
    CHECK("a thread that was cancelled left no lock behind", true);
    return result();
}
