/* What the tests of the CPU driver share: device 0, its addresses as pointers, time. */
#ifndef CUMU_TESTS_HOST_DEVICE_H
#define CUMU_TESTS_HOST_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../check.h"
#include "abi/musa.h"

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void sleep_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

/* Device 0 with its primary context current. Variables must be set before. */
static inline MUcontext start_device(void)
{
    MUcontext ctx;
    MUST(muInit(0));
    MUST(muDevicePrimaryCtxRetain(&ctx, 0));
    MUST(muCtxSetCurrent(ctx));
    return ctx;
}

static inline void *at(MUdeviceptr p) { return (void *)(uintptr_t)p; }

static inline MUdeviceptr dev(const void *p) { return (MUdeviceptr)(uintptr_t)p; }

#endif
