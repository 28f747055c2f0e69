/* Products of narrow numbers whose sums are made in f32 in the order of k, as matrix instructions make them. */
#ifndef CUMU_HOST_MATHS_PRODUCT_H
#define CUMU_HOST_MATHS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* Element (i, k) lies at i * lead + k where k is contiguous, else at k * lead + i. */
struct maths_factor {
    const void *at;
    size_t lead;
    int type; /* MUSA_R_32F, MUSA_R_16F, MUSA_R_16BF or MUSA_R_8I */
    bool contiguous;
};

/* sum[j * m + i] becomes the sum of a(i, k) b(j, k), k from 0 on, each rounded once. False: no memory. Any thread. */
bool maths_product(const struct maths_factor *a, const struct maths_factor *b, int m, int n, int k, float *sum);

#endif
