/* Between the arithmetic of reductions, built once per CPU level, and who chooses among the levels. */
#ifndef CUMU_HOST_MCCL_REDUCE_H
#define CUMU_HOST_MCCL_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/mccl.h"

struct mccl_arithmetic {
    /* By type and operation; halves work on widened values. out may be x or y. */
    void (*pair[mcclNumTypes][mcclNumOps + 1])(void *out, const void *x, const void *y, size_t n);
    void (*mul[mcclNumTypes])(void *out, const void *x, const void *factor, size_t n);
    void (*div[mcclNumTypes])(void *out, const void *x, int parts, size_t n);
    void (*widen[mcclNumTypes])(float *out, const uint16_t *x, size_t n); /* halves only */
    void (*narrow[mcclNumTypes])(uint16_t *out, const float *x, size_t n);
};

extern const struct mccl_arithmetic mccl_arithmetic_1, mccl_arithmetic_3, mccl_arithmetic_4;

#define MCCL_CAT_(a, b) a##b
#define MCCL_CAT(a, b) MCCL_CAT_(a, b)
#define MCCL_ARITHMETIC MCCL_CAT(mccl_arithmetic_, T0_LEVEL)

#endif
