/* The size of the synthetic library: what the largest one measured holds (143 modules, 6,731 kernels, 266 MB
 * of PTX). A kernel adds LINES constants, each drawn from its module, number and line. */
#ifndef BENCH_LAZY_H
#define BENCH_LAZY_H

#include <stdint.h>

enum { MODULES = 143, KERNELS = 6731, LINES = 1276 };

static inline unsigned module_of(unsigned kernel) { return kernel % MODULES; }

static inline uint32_t constant(unsigned kernel, unsigned line)
{
    uint32_t x = kernel * 2654435761u + line * 40503u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ x >> 13;
}

#endif
