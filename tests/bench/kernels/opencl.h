/* The OpenCL of this machine's CPU (POCL), looked up at run time: the third way the bench runs a kernel. */
#ifndef BENCH_OPENCL_H
#define BENCH_OPENCL_H

#include "bench.h"

struct opencl_kernel; /* one kernel with its buffers */

/* Opens a CPU device; NULL, or why there is none. Once a process, before anything starts threads. */
const char *opencl_open(void);
/* Builds file.cl of `folder` and makes the buffers of w, filled; ends the program on failure. */
struct opencl_kernel *opencl_kernel(const char *folder, const char *file, const struct work *w);
void opencl_reset(struct opencl_kernel *k, const struct work *w); /* INOUT buffers as they were made */
void opencl_launch(struct opencl_kernel *k, const struct work *w, unsigned repeats); /* and waits */
const void *opencl_data(const struct opencl_kernel *k, unsigned i);                  /* of buffer i */
void opencl_drop(struct opencl_kernel *k);

#endif
