/* A MUSA library of a few lines for the tests of shim/kernel: contexts are numbers, images are counted,
 * variables get memory of the process. */
#ifndef CUMU_TESTS_KERNEL_MOCK_H
#define CUMU_TESTS_KERNEL_MOCK_H

#include <stdatomic.h>
#include "../check.h"
#include "kernel/kernel.h"

extern _Atomic(int) mock_loads, mock_unloads, mock_launches;
extern __thread MUcontext mock_ctx; /* current context of the thread */
extern int mock_load_error, mock_launch_error;
extern struct mock_launch {
    MUfunction function;
    unsigned grid[3], block[3], shared;
    MUstream stream;
    int cooperative;
} mock_last;
void mock_install(void);

/* A container with one raw PTX entry, and a wrapper around containers; static storage is the caller's. */
size_t mock_container(unsigned char *out, unsigned kind, unsigned arch, const void *payload, size_t n);
struct mock_wrapper {
    uint32_t magic, version;
    const void *data, *more;
};

#endif
