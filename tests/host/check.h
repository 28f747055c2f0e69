/* The few lines every host test shares: ok / not ok lines, exit status, skip. */
#ifndef CUMU_TESTS_HOST_CHECK_H
#define CUMU_TESTS_HOST_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "abi/musa.h"

static int failures;

#define CHECK(what, condition) \
    do { \
        if (condition) { \
            printf("ok %s\n", what); \
        } else { \
            printf("not ok %s (%s:%d: %s)\n", what, __FILE__, __LINE__, #condition); \
            failures++; \
        } \
    } while (0)

/* A call that must give this result. */
#define IS(expected, call) \
    do { \
        MUresult got_ = (call); \
        if (got_ == (expected)) { \
            printf("ok %s\n", #call); \
        } else { \
            printf("not ok %s: %d, expected %s (%s:%d)\n", #call, got_, #expected, __FILE__, __LINE__); \
            failures++; \
        } \
    } while (0)

/* A call that must work, in loops and set-up: silent unless it fails. */
#define MUST(call) \
    do { \
        MUresult got_ = (call); \
        if (got_) { \
            printf("not ok %s: %d (%s:%d)\n", #call, got_, __FILE__, __LINE__); \
            exit(1); \
        } \
    } while (0)

static inline int result(void)
{
    fflush(stdout);
    return failures != 0;
}

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
