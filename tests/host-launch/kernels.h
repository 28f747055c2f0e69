/* Kernels of the launch tests, written in PTX, and what loads them into the CPU driver. */
#ifndef CUMU_TEST_KERNELS_H
#define CUMU_TEST_KERNELS_H

#include "abi/musa.h"

/* Image of a kernel of kernels.c; malloc'ed. NULL after printing why. */
void *kernel_image(const char *name);
/* Loads it into the current context. NULL after printing why. */
MUfunction kernel_function(const char *name);
/* muInit and the primary context of device 0, current. */
MUcontext kernels_start(void);

#endif
