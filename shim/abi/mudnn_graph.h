/* More of the functions below cuDNN's facade: those that only its graph interface asks for. They are ours, like all of
 * abi/mudnn.h, whose conventions hold: muDNN has no graphs and no such names, and over it they are found missing. */
#ifndef CUMU_ABI_MUDNN_GRAPH_H
#define CUMU_ABI_MUDNN_GRAPH_H

#include "abi/mudnn.h"

/* A tensor and its memory; `at` NULL: there is none. */
struct mudnn_operand {
    struct mudnn_tensor t;
    void *at;
};

/* c[..., i, j] = scale sum over k of a[..., i, k] b[..., k, j] for each index of the dimensions before the last two.
 * Where a or b has fewer of such a dimension than c, each serves as many neighbours: one for all, or a group of heads.
 * scale: one number, or none for 1. rows, columns, inner: int32, how much of the matrices counts, one for each index
 * that they have; what is outside of rows and columns becomes `padding`. */
struct mudnn_matmul {
    struct mudnn_operand a, b, c, rows, columns, inner, scale;
    double padding;
};

/* Rows of tokens in groups, each row times the matrix of its group's expert: group g has the rows from first[g] to
 * before first[g + 1], the last group all behind, and the expert g modulo their number. Row r is that of token index[r]
 * where there is an index alone (gathered); with a place, too, its result is row index[r] top_k + place[r] (scattered).
 * Backward: weight[g] becomes the product of the group's rows of token, turned, and its rows of y, which are read. */
struct mudnn_grouped {
    int64_t top_k;
    bool backward;
    struct mudnn_operand token, weight, first, index, place, y;
};

/* y = exp(x - max) / sum over the last dimension, sum = sum of exp(x - max), stats = max + log(sum). A sink is one
 * more number of each row, which has no y. */
struct mudnn_row_softmax {
    struct mudnn_operand x, y, stats, max, sum, sink;
    bool log2;                 /* stats, and it alone, to the base 2 */
    struct mudnn_operand rows; /* or none: behind so many of each batch's, stats are -inf, whatever the sink */
};

/* What of the last two dimensions, rows and columns, is kept; all else becomes *fill. kv, q: lengths. */
enum mudnn_band_way {
    MUDNN_BAND_RIGHT,  /* compare(row + kv - q + shift, column) */
    MUDNN_BAND_LEFT,   /* compare(column + shift - kv + q, row) */
    MUDNN_BAND_LENGTHS /* row < q and column < kv */
};
struct mudnn_band {
    enum mudnn_band_way way;
    int compare; /* mudnnPointwiseMode_t: one of CMP */
    struct mudnn_operand x, y, fill, q, kv, shift;
};

/* y[b, h, s, d] = container[table[b, ., s / length of a page, .], h, s % length of a page, d] for s < length[b], beyond
 * that 0. container: pages, heads, length of a page, depth; table, length: int32, of each batch. Where the table names
 * no page of the container, y is 0. */
struct mudnn_paged {
    struct mudnn_operand container, table, length, y;
    bool turned; /* y: batch, head, depth, sequence */
};

/* Batches that lie behind one another, each as long as the way to the next. With offset[b] = unit times what the tensor
 * says, element (b, ...) of the ragged tensor is factor offset[b] behind its begin, and counts where index[dim] <
 * factor (offset[b + 1] - offset[b]) / stride[dim]. Loaded, the others are 0; stored, there are none. */
struct mudnn_ragged {
    bool store;
    int dim;
    int64_t step; /* stride[dim] / factor */
    int64_t unit;
    struct mudnn_operand ragged, dense, offsets;
};

/* y[i] = x[i] scale[i / block]; or, quantising, the least scale that leaves no x[i] / scale beyond y's type, and y of
 * that. FP4, INT4 and UINT4 are two numbers of a byte, the lower four bits first. */
struct mudnn_block_scale {
    bool quantize;
    bool swizzled; /* scales lie in tiles of 128 rows and 4 columns */
    int64_t block[MUDNN_DIMS];
    struct mudnn_operand x, y, scale;
};

/* y = scale (x - mean) inverse + bias, with mean and inverse = 1 / sqrt(variance + epsilon) of the part of x in which
 * `kept` has 1; without a mean where not centred. Scale and bias have 1 or x's length in each dimension. */
struct mudnn_normalize {
    bool centred;
    bool given; /* mean and inverse are read, else written where they are asked for */
    struct mudnn_tensor kept;
    struct mudnn_operand x, y, mean, inverse, scale, bias, epsilon;
    struct mudnn_operand factor, mean_in, variance_in, mean_out, variance_out; /* running; of the unbiased variance */
};
/* Its gradients, of the mean and inverse that forward wrote. */
struct mudnn_normalize_backward {
    bool centred;
    struct mudnn_tensor kept;
    struct mudnn_operand x, dy, mean, inverse, scale, dx, dscale, dbias;
};

/* Of sums and sums of squares of `count` numbers a channel; all but the first two may be none. */
struct mudnn_bn_finalize {
    bool training; /* else of the running mean and variance */
    struct mudnn_operand sum, square, scale, bias, mean_in, variance_in, mean_out, variance_out, mean, inverse,
        eq_scale, eq_bias, count, epsilon, factor;
};
/* dscale, dbias, and dx = eq_dy dy + eq_x x + eq_bias. */
struct mudnn_bn_weights {
    struct mudnn_operand x, dy, mean, inverse, scale, dscale, dbias, eq_dy, eq_x, eq_bias;
};

/* Windows: their greatest, or their mean. */
struct mudnn_resample {
    int mode, padding; /* mudnnResampleMode_t: maximum or a mean; mudnnPaddingMode_t */
    bool nan, backward;
    int spatial;
    int64_t window[MUDNN_DIMS], pad[MUDNN_DIMS], stride[MUDNN_DIMS];
    double alpha, beta;
    struct mudnn_operand x, y, index; /* backward: x is dx, y is dy; index: of the greatest within its window */
    struct mudnn_operand old_x;       /* backward of a maximum without an index */
};

/* Numbers of a counter: the same for the same seed, offset and place. */
struct mudnn_random {
    int distribution; /* mudnnRngDistribution_t */
    double a, b;      /* Bernoulli: probability of 1; uniform: least, most; normal: mean, deviation */
    struct mudnn_operand y, seed, offset;
    uint64_t fixed; /* the seed where there is no tensor of it */
    uint64_t first; /* the place of y's first element */
};

#pragma GCC visibility push(default)
mudnnStatus_t mudnnHostMatmul(musaStream_t stream, const struct mudnn_matmul *m);
mudnnStatus_t mudnnHostGroupedMatmul(musaStream_t stream, const struct mudnn_grouped *g);
/* Of complex numbers, which all three have; without lengths. */
mudnnStatus_t mudnnHostComplexMatmul(musaStream_t stream, const struct mudnn_matmul *m);
mudnnStatus_t mudnnHostRowSoftmax(musaStream_t stream, const struct mudnn_row_softmax *s);
mudnnStatus_t mudnnHostBand(musaStream_t stream, const struct mudnn_band *b);
mudnnStatus_t mudnnHostPaged(musaStream_t stream, const struct mudnn_paged *p);
mudnnStatus_t mudnnHostRagged(musaStream_t stream, const struct mudnn_ragged *r);
mudnnStatus_t mudnnHostBlockScale(musaStream_t stream, const struct mudnn_block_scale *b);
/* Each element becomes its own index along the axis. */
mudnnStatus_t mudnnHostIndex(musaStream_t stream, const struct mudnn_operand *y, int axis);
mudnnStatus_t mudnnHostNormalize(musaStream_t stream, const struct mudnn_normalize *n);
mudnnStatus_t mudnnHostNormalizeBackward(musaStream_t stream, const struct mudnn_normalize_backward *n);
mudnnStatus_t mudnnHostBnFinalize(musaStream_t stream, const struct mudnn_bn_finalize *b);
mudnnStatus_t mudnnHostBnWeights(musaStream_t stream, const struct mudnn_bn_weights *b);
mudnnStatus_t mudnnHostResample(musaStream_t stream, const struct mudnn_resample *r);
mudnnStatus_t mudnnHostRandom(musaStream_t stream, const struct mudnn_random *r);
#pragma GCC visibility pop

#endif
