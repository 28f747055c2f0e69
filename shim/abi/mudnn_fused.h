/* The operations of channels below cuDNN's fused ones. Ours, like all of abi/mudnn.h, whose conventions hold. */
#ifndef CUMU_ABI_MUDNN_FUSED_H
#define CUMU_ABI_MUDNN_FUSED_H

#include "abi/mudnn_graph.h"

/* One number of each channel; `at` NULL: there are none. */
struct mudnn_channel {
    int type;
    void *at;
};

/* y = f(scale x + bias + z_scale z + z_bias), where each operand but x may not be there. `mask` gets a bit of each
 * element, in the order of their indices: was what f got above 0? Without f all are set. */
struct mudnn_scaled {
    struct mudnn_tensor x, z, y;
    const void *x_at, *z_at;
    void *y_at;
    struct mudnn_channel scale, bias, z_scale, z_bias;
    bool activates;
    int mode; /* mudnnActivationMode_t */
    double coefficient;
    uint32_t *mask;
};
/* The same bits: y = x where they are set, else 0. */
struct mudnn_masked {
    struct mudnn_tensor x, y;
    const void *x_at;
    void *y_at;
    const uint32_t *mask;
};
static inline int64_t mudnn_mask_words(int64_t elements) { return (elements + 31) / 32; }

/* Sums of each channel, and of its squares. */
struct mudnn_statistics {
    struct mudnn_tensor x;
    const void *x_at;
    struct mudnn_channel sum, square;
};

/* mudnnHostBnFinalize with its three numbers by value. */
struct mudnn_finalize {
    struct mudnn_bn_finalize of; /* count, epsilon and factor are not read */
    double count, epsilon, factor;
};

#pragma GCC visibility push(default)
mudnnStatus_t mudnnHostScaled(musaStream_t stream, const struct mudnn_scaled *s);
mudnnStatus_t mudnnHostMasked(musaStream_t stream, const struct mudnn_masked *m);
mudnnStatus_t mudnnHostStatistics(musaStream_t stream, const struct mudnn_statistics *s);
mudnnStatus_t mudnnHostFinalize(musaStream_t stream, const struct mudnn_finalize *f);
#pragma GCC visibility pop

#endif
