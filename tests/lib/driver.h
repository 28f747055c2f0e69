/* The driver API as small programs of tests use it: what must go well, and the first device's context. */
#ifndef CUMU_TESTS_LIB_DRIVER_H
#define CUMU_TESTS_LIB_DRIVER_H

#include <stdio.h>
#include <stdlib.h>

#include "cuda_functions.h"

static inline void need(int status, const char *what)
{
    if (!status)
        return;
    printf("%s: status %d\n", what, status);
    exit(3);
}

/* The primary context of device 0 is current from here on. */
static inline void open_device(void)
{
    int device;
    void *context;
    need(cuInit(0), "cuInit");
    need(cuDeviceGet(&device, 0), "cuDeviceGet");
    need(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

#endif
