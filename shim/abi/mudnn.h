/* The functions below cuDNN's facade. Public sources show a C API of muDNN since SDK 5 without any number or
 * declaration (mapping/facts/musa.md 30), and only its convolution is known to take its arguments in cuDNN's order;
 * so nothing of it is called by guess. What is declared here has names that muDNN has not: cumu's libmudnn of the
 * CPU exports them, and over another muDNN they are found missing at run time and the facade answers
 * CUDNN_STATUS_NOT_SUPPORTED.
 *
 * There are no objects: a call gets a description by address, reads it at once, and is queued on its stream like a
 * kernel. All sizes are in elements unless a name says bytes. Shapes and types were checked above, in
 * shim/api/cudnn; what a function cannot compute is MUDNN_STATUS_NOT_SUPPORTED. Scalars are doubles, which hold
 * those of cuDNN. */
#ifndef CUMU_ABI_MUDNN_H
#define CUMU_ABI_MUDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/musa.h"
#include "musa_enums.h"

typedef int mudnnStatus_t;
enum { MUDNN_DIMS = 8 };

/* Products of what is not negative that stay far from an overflow. */
#define MUDNN_MOST ((int64_t)1 << 50)
static inline int64_t mudnn_times(int64_t a, int64_t b) { return a && b > MUDNN_MOST / a ? MUDNN_MOST : a * b; }
/* What is described has fewer numbers than this, and lies within as many: no memory is larger. */
#define MUDNN_LIMIT ((int64_t)1 << 40)
/* Dimensions greater than 0 and strides that are not negative: are they within the limit? */
static inline bool mudnn_within(int n, const int64_t *dim, const int64_t *stride)
{
    int64_t count = 1, last = 0;
    for (int i = 0; i < n; i++) {
        count = mudnn_times(count, dim[i]);
        last += mudnn_times(dim[i] - 1, stride[i]);
        if (dim[i] >= MUDNN_LIMIT || stride[i] >= MUDNN_LIMIT || count >= MUDNN_LIMIT || last >= MUDNN_LIMIT)
            return false;
    }
    return true;
}

struct mudnn_tensor {
    int type;   /* mudnnDataType_t of one number: never one of the vectors */
    int n;      /* dimensions; 0: there is no such tensor */
    int vector; /* channels (dimension 1) that lie together; 1, or 4 and 32 of NCHW_VECT_C, where element c is
                   c / vector * stride[1] + c % vector */
    int64_t dim[MUDNN_DIMS], stride[MUDNN_DIMS];
};

/* y[n, k, p] = sum over c, r of w[k, c, r] x[n, c, p stride - pad + r dilation]; w is (k, c / groups, r...). */
struct mudnn_convolution {
    int spatial; /* dimensions behind the second */
    int64_t pad[MUDNN_DIMS], pad_after[MUDNN_DIMS], stride[MUDNN_DIMS], dilation[MUDNN_DIMS];
    int64_t groups;
    bool flip; /* the filter is turned around: a convolution instead of a cross-correlation */
    struct mudnn_tensor x, w, y;
};

/* y = f(alpha convolution + alpha2 z + bias); z and bias may be none (n 0). */
struct mudnn_epilogue {
    struct mudnn_tensor z, bias;
    const void *z_at, *bias_at;
    double alpha2;
    int mode; /* mudnnActivationMode_t */
    double coefficient;
};

/* What a function's value goes through before it is stored. */
enum mudnn_then { MUDNN_THEN_NOTHING, MUDNN_THEN_EXP, MUDNN_THEN_MUL /* times t */ };

/* y = scale f(alpha[0] x, alpha[1] b, t) + beta y for each element; a dimension of 1 in x, b or t serves all. With
 * `then` f is of two operands, and what it is followed by is multiplied by one number: factor_at's, of type `factor`,
 * or 1 where that is NULL. */
struct mudnn_pointwise {
    int mode;    /* mudnnPointwiseMode_t: the enumerators of cudnnPointwiseMode_t */
    bool from_y; /* backward of an activation: x is its result, not its argument */
    bool nan;    /* ReLU and its kin, minimum and maximum keep a NaN */
    bool masked; /* of a softmax in pieces, whose row may have nothing that counts: x - -inf = -inf, 0 / 0 = 0 */
    double scale, alpha[2], beta;
    double low, high, slope; /* ReLU: bounds, and the slope below the lower one */
    double elu, softplus, swish;
    int axis;         /* GEN_INDEX */
    int then, factor; /* mudnn_then; mudnnDataType_t */
    struct mudnn_tensor x, b, t, y;
    const void *x_at, *b_at, *t_at, *factor_at;
    void *y_at;
};

/* c = alpha reduction of a + beta c over the dimensions where c has 1; with b, which has a's shape, of a times b. */
struct mudnn_reduction {
    int operation; /* mudnnReduceTensorOp_t */
    bool nan;      /* minimum and maximum keep a NaN */
    double alpha, beta;
    struct mudnn_tensor a, b, c;
    const void *a_at, *b_at; /* b_at NULL: there is none */
    void *c_at;
    uint32_t *indices; /* of minimum, maximum, amax: where in the reduced part it lies; or NULL */
};

/* Windows of x (forward) or of dx (backward). */
struct mudnn_pooling {
    int mode; /* mudnnPoolingMode_t */
    bool nan;
    int spatial;
    int64_t window[MUDNN_DIMS], pad[MUDNN_DIMS], stride[MUDNN_DIMS];
    double alpha, beta;
    struct mudnn_tensor x, y, dx, dy;
    const void *x_at, *y_at, *dy_at;
    void *out; /* y forward, dx backward */
};

struct mudnn_softmax {
    int algorithm, mode; /* mudnnSoftmaxAlgorithm_t, mudnnSoftmaxMode_t */
    double alpha, beta;
    struct mudnn_tensor x, y; /* backward: dx in the place of x, and dy */
    struct mudnn_tensor dy;
    const void *x_at, *y_at, *dy_at;
    void *out;
};

/* x normalised over the dimensions where `s`, the shape of what is kept for each feature, has 1. Pointers of what is
 * not wanted are NULL. Forward: y = alpha f(scale (x - mean) / sqrt(variance + epsilon) + bias + z) + beta y. */
struct mudnn_norm {
    bool training; /* of the batch's own mean and variance; else those given */
    bool relu;     /* f, else the identity */
    double alpha, beta, alpha_s, beta_s, epsilon, factor;
    struct mudnn_tensor x, y, z, s, dy, dx, dz;
    const void *x_at, *z_at, *scale, *bias;
    void *y_at;                            /* backward with relu: read */
    void *running_mean, *running_variance; /* new = (1 - factor) old + factor batch; not training: read */
    void *mean, *inverse;                  /* of the batch: mean, and 1 / sqrt(variance + epsilon) */
    const void *dy_at;
    void *dx_at, *dz_at, *dscale, *dbias; /* dscale, dbias = alpha_s gradient + beta_s old */
};

/* Numbers are dropped with `rate`, the others divided by 1 - rate; what is kept is written to `mask`, a byte each, and
 * is read from there where `again`. */
struct mudnn_dropout {
    double rate;
    uint64_t *state; /* two words: seed and how many were drawn; advanced by the call */
    bool again;
    struct mudnn_tensor x, y;
    const void *x_at;
    void *y_at;
    unsigned char *mask;
};

/* Local response normalisation: y = alpha x D^-exponent + beta y, D = k + factor (sum of x^2 over a window), where the
 * window is of channels, or of all dimensions behind them; there with a mean of each element's, D has (x - mean)^2.
 * Backward: dx = alpha gradient + beta dx, and so for the means. */
struct mudnn_lrn {
    bool spatial;
    int64_t behind, ahead; /* of the element, in each dimension of the window */
    double k, factor, exponent, alpha, beta;
    struct mudnn_tensor x, out, dy;
    const void *x_at, *dy_at; /* dy_at NULL: forward */
    const void *means_at;     /* of x's shape and type; NULL: zeros */
    void *out_at, *dmeans_at;
};

/* Connectionist temporal classification (Graves et al. 2006); class 0 is the blank. costs[n] = -ln p(labels | probs);
 * the gradient is that of the numbers before the softmax. A sequence too short for its labels costs 0. */
struct mudnn_ctc {
    bool softmax;                     /* probs are to be normalised; else they are probabilities */
    bool skip;                        /* of a sequence too short for its labels no gradient is written; else zeros */
    bool host;                        /* labels and lengths are the host's, and read at once */
    int64_t most;                     /* labels of a sequence: a longer one costs NaN */
    struct mudnn_tensor probs, grads; /* (time, batch, classes); floats; grads.n 0: none */
    const void *probs_at;
    void *grads_at;
    float *costs;
    const int *labels, *label_length, *input_length; /* of one sequence after the other */
    double *space;                                   /* mudnn_ctc_space() of them */
};
static inline int64_t mudnn_ctc_space(int64_t time, int64_t batch, int64_t classes, int64_t most)
{
    return batch * (time * (2 * most + 1) + 2 * (2 * most + 1) + time * classes);
}

/* Spatial transformer of images (N, C, H, W). The grid is (N, H, W, 2) of y's shape, packed, of x's type: places of x
 * from -1, the first element's middle, to 1, the last one's, the width's first. */
struct mudnn_grid {
    int type;
    bool backward; /* theta is written, the grid read */
    int64_t batch, height, width;
    void *theta, *grid; /* theta: (N, 2, 3) */
};
struct mudnn_sampler {
    bool backward;
    double alpha, beta, alpha_grid, beta_grid;
    struct mudnn_tensor x, y, dx; /* y forward, dy backward */
    const void *x_at, *grid, *dy_at;
    void *y_at, *dx_at, *dgrid;
};

/* A convolution of each channel with taps of its own: y[t] = f(b + sum over k of w[k] x[t - (taps - 1) + k]), where x
 * is 0 before its beginning, of packed (batch, channels, length) and (channels, taps). Backward: f's argument is
 * computed again; dx is written, dw and db are added to what is there. */
enum { MUDNN_CAUSAL_IDENTITY, MUDNN_CAUSAL_SILU };
struct mudnn_causal {
    bool backward;
    int type, weight_type; /* float, half or bfloat16; weight_type: of dw and db */
    int activation;
    int64_t batch, channels, length, taps;
    const void *x, *w, *b, *dy;
    void *y, *dx, *dw, *db;
};

/* Column (c, tap) of a packed column-major matrix: for each image and output place the number of x in channel c that
 * this tap of the window lies on; padding is 0. */
struct mudnn_im2col {
    struct mudnn_convolution c;
    const void *x_at;
    void *to;
};

/* Structured sparsity: lines (rows of the left operand, columns of the right one) of which two of each four numbers
 * are kept, or one of each two floats. Steps in numbers. */
struct mudnn_structured {
    int type;
    int64_t lines, length, line_step, step; /* lines: a multiple of 4; length: of 8 */
    int64_t batches, batch_step;            /* batch_step 0: one for all */
};
/* Bytes of a compressed matrix, whose layout is cumu's own. */
static inline size_t mudnn_structured_bytes(const struct mudnn_structured *m, size_t size)
{
    return (size_t)(m->lines * m->length / 2) * size + (size_t)(m->lines * m->length / 8);
}
enum mudnn_structure {
    MUDNN_STRUCTURE_TILE,  /* out: in, the largest half of each tile of 4 x 4 (2 x 2), balanced in lines and across */
    MUDNN_STRUCTURE_STRIP, /* out: in, the largest half of each four (two) numbers of a line */
    MUDNN_STRUCTURE_CHECK, /* out: an int, 0 where no four (two) have more than their half */
    MUDNN_STRUCTURE_COMPRESS
};
/* d = f(alpha a b + beta c + bias), of which one of a and b is compressed. Of `dense`, c and d, a line is one of the
 * sum's dimension, and a row. */
struct mudnn_structured_product {
    struct mudnn_structured sparse, dense, c, d;
    bool sparse_is_a;
    int64_t rows, columns, batches; /* of d */
    const void *sparse_at, *dense_at, *c_at;
    void *d_at;
    double alpha, beta;
    const float *alpha_at, *beta_at; /* one for each row, in their place */
    const void *bias_at;             /* one for each row */
    int bias_type;
    int64_t bias_step; /* of the batch */
    bool relu, gelu;
    double threshold, upper, gelu_scale; /* ReLU: 0 up to the first, never above the second */
};

/* Recurrent layers. Weights lie in one space: for each pseudo-layer (layer, then direction) the input's matrices of all
 * gates, the recurrent ones, the projection; behind all matrices the biases in the same order (mudnn_rnn_weights). */
enum mudnn_rnn_way { MUDNN_RNN_WAY_FORWARD, MUDNN_RNN_WAY_DATA, MUDNN_RNN_WAY_WEIGHTS };
struct mudnn_rnn_shape {
    int cell, bias, directions,
        skip;  /* mudnnRNNMode_t, mudnnRNNBiasMode_t; skip: the input goes to the gates as it is */
    int gates; /* of the cell: LSTM 4, GRU 3, the others 1 */
    int type;
    int64_t input, hidden, out, layers; /* out: of one direction, smaller than hidden where there is a projection */
};
struct mudnn_rnn {
    enum mudnn_rnn_way way;
    bool training; /* forward: the reserve is written */
    bool add;      /* weights: gradients are added to what is there */
    struct mudnn_rnn_shape s;
    double dropout;
    uint64_t *dropout_state;
    bool clip;
    double clip_low, clip_high;
    int layout; /* mudnnRNNDataLayout_t */
    int64_t time, batch;
    const void *x, *y, *dy, *hx, *cx, *dhy, *dcy, *weights;
    void *out, *hy, *cy, *dx, *dhx, *dcx, *dweights;
    unsigned char fill[8]; /* of places of `out` and dx behind a sequence's end: a number of s.type */
    double *reserve;
};
static inline int64_t mudnn_rnn_width(const struct mudnn_rnn_shape *s, int64_t layer) /* of its input */
{
    return layer ? s->directions * s->out : s->input;
}
/* Numbers before what is asked for: a pseudo-layer's matrices (which 0: input, 1: recurrent, 2: projection) and biases
 * (3: input, 4: recurrent). Of layers * directions, which 0: all matrices; which 3: the whole space. */
static inline int64_t mudnn_rnn_weights(const struct mudnn_rnn_shape *s, int64_t pseudo, int which)
{
    const int64_t rows = s->gates * s->hidden, projection = s->out != s->hidden ? s->out * s->hidden : 0;
    const int64_t all = s->layers * s->directions, biases = s->bias == 0 ? 0 : s->bias == 2 ? 2 : 1;
    const int64_t before = which < 3 ? pseudo : all, first = before < s->directions ? before : s->directions;
    int64_t at = before * (rows * s->out + projection) + (before - first) * rows * mudnn_rnn_width(s, 1) +
                 first * (s->skip ? 0 : rows * s->input);
    if (which >= 3)
        return at + pseudo * biases * rows + (which == 4 && s->bias == 2 ? rows : 0);
    int64_t layer = pseudo / s->directions;
    if (which >= 1)
        at += s->skip && !layer ? 0 : rows * mudnn_rnn_width(s, layer);
    return at + (which == 2 ? rows * s->out : 0);
}
/* Doubles of the reserve: of each pseudo-layer the gates, their gradients, the cell's state or the GRU's recurrent
 * term, the output before its projection and that output's gradient; of each layer what it gave and what was kept
 * of it. MUDNN_MOST: more than there can be. */
static inline int64_t mudnn_rnn_reserve(const struct mudnn_rnn_shape *s, int64_t time, int64_t batch)
{
    const int64_t each = 2 * s->gates * s->hidden + 2 * s->hidden + 3 * s->out;
    return mudnn_times(mudnn_times(s->layers * s->directions, each), mudnn_times(time, batch));
}

#pragma GCC visibility push(default)
/* lengths: of each sequence, read at once. */
mudnnStatus_t mudnnHostRnn(musaStream_t stream, const struct mudnn_rnn *r, const int *lengths);
/* y = alpha conv(x, w) + beta y, or with an epilogue f(alpha conv(x, w) + alpha2 z + bias). */
mudnnStatus_t mudnnHostConvolutionForward(musaStream_t stream, const struct mudnn_convolution *c, double alpha,
                                          const void *x, const void *w, double beta, void *y,
                                          const struct mudnn_epilogue *e);
/* x is written: the gradient of the data. */
mudnnStatus_t mudnnHostConvolutionBackwardData(musaStream_t stream, const struct mudnn_convolution *c, double alpha,
                                               const void *w, const void *y, double beta, void *x);
/* w is written: the gradient of the filter. */
mudnnStatus_t mudnnHostConvolutionBackwardFilter(musaStream_t stream, const struct mudnn_convolution *c, double alpha,
                                                 const void *x, const void *y, double beta, void *w);
mudnnStatus_t mudnnHostPointwise(musaStream_t stream, const struct mudnn_pointwise *p);
/* Every element of y becomes *value, a number of y's type, which is read at once. */
mudnnStatus_t mudnnHostFill(musaStream_t stream, const struct mudnn_tensor *y, void *y_at, const void *value);
mudnnStatus_t mudnnHostReduce(musaStream_t stream, const struct mudnn_reduction *r);
mudnnStatus_t mudnnHostPoolingForward(musaStream_t stream, const struct mudnn_pooling *p);
mudnnStatus_t mudnnHostPoolingBackward(musaStream_t stream, const struct mudnn_pooling *p);
mudnnStatus_t mudnnHostSoftmaxForward(musaStream_t stream, const struct mudnn_softmax *s);
mudnnStatus_t mudnnHostSoftmaxBackward(musaStream_t stream, const struct mudnn_softmax *s);
mudnnStatus_t mudnnHostNormForward(musaStream_t stream, const struct mudnn_norm *n);
mudnnStatus_t mudnnHostNormBackward(musaStream_t stream, const struct mudnn_norm *n);
mudnnStatus_t mudnnHostDropout(musaStream_t stream, const struct mudnn_dropout *d);
mudnnStatus_t mudnnHostLrn(musaStream_t stream, const struct mudnn_lrn *l);
mudnnStatus_t mudnnHostCtc(musaStream_t stream, const struct mudnn_ctc *c);
mudnnStatus_t mudnnHostGrid(musaStream_t stream, const struct mudnn_grid *g);
mudnnStatus_t mudnnHostSampler(musaStream_t stream, const struct mudnn_sampler *s);
mudnnStatus_t mudnnHostCausal(musaStream_t stream, const struct mudnn_causal *c);
mudnnStatus_t mudnnHostIm2col(musaStream_t stream, const struct mudnn_im2col *i);
/* what: enum mudnn_structure. */
mudnnStatus_t mudnnHostStructure(musaStream_t stream, int what, const struct mudnn_structured *m, const void *in,
                                 void *out);
mudnnStatus_t mudnnHostStructuredProduct(musaStream_t stream, const struct mudnn_structured_product *p);
/* state[0] = seed, state[1] = 0, in order of the stream. */
mudnnStatus_t mudnnHostDropoutSeed(musaStream_t stream, uint64_t *state, uint64_t seed);
#pragma GCC visibility pop

#endif
