/* JIT options of the load and link calls: the log buffers are served, the limit of registers bounds what is told of
 * kernels, the rest steers a compiler that is not there. */
#ifndef CUMU_API_JIT_H
#define CUMU_API_JIT_H

#include "kernel/kernel.h"

/* Lists may be NULL when n is 0. CUDA_ERROR_INVALID_VALUE if they are missing. */
int cumu_jit_options(struct cumu_jit_request *log, unsigned n, const int *options, void *const *values);
/* Tells the caller how much of its buffers was used (the size options are in and out). */
void cumu_jit_done(const struct cumu_jit_request *log, unsigned n, const int *options, void **values);

#endif
