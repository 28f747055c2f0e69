/* What the cuDNN wrappers share: descriptors as they lie on the host, handles, and checks. They answer in the numbers
 * of cuDNN 9; what a program of version 8 gets is made of them by the generated functions around the wrappers. */
#ifndef CUMU_API_CUDNN_DNN_H
#define CUMU_API_CUDNN_DNN_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/mudnn.h"
#include "api/api.h"
#include "conv.h"
#include "cuda_enums.h"
#include "wraps.h"

/* In front of each object, so that one of another kind, or none at all, is refused. */
enum dnn_kind {
    DNN_NONE,
    DNN_HANDLE,
    DNN_TENSOR,
    DNN_FILTER,
    DNN_CONVOLUTION,
    DNN_ACTIVATION,
    DNN_POOLING,
    DNN_LRN,
    DNN_DROPOUT,
    DNN_OP_TENSOR,
    DNN_REDUCE,
    DNN_TRANSFORM,
    DNN_RNN,
    DNN_RNN_DATA,
    DNN_CTC,
    DNN_SPATIAL,
    DNN_ATTENTION,
    DNN_SEQUENCE,
    DNN_BACKEND,
    DNN_FUSED_PLAN,
    DNN_FUSED_CONSTANTS,
    DNN_FUSED_VARIANTS,
    DNN_ALGORITHM,
    DNN_PERFORMANCE,
    DNN_PERSISTENT,
};
struct dnn_object {
    unsigned magic;
};

struct dnn_handle {
    struct dnn_object object;
    cudaStream_t stream;
};

/* Tensors and filters. `given` is the type as the program named it, vectors included; t.n is 0 until one is set. */
struct dnn_tensor {
    struct dnn_object object;
    int given, format; /* of a filter */
    struct mudnn_tensor t;
};

struct dnn_convolution {
    struct dnn_object object;
    int n, mode, compute, math, reorder; /* n: spatial dimensions, 0 until they are set */
    int groups;
    int pad[MUDNN_DIMS], stride[MUDNN_DIMS], dilation[MUDNN_DIMS];
};

struct dnn_activation {
    struct dnn_object object;
    int mode, nan;
    double coefficient, swish;
};

struct dnn_pooling {
    struct dnn_object object;
    int mode, nan, n;
    int window[MUDNN_DIMS], pad[MUDNN_DIMS], stride[MUDNN_DIMS];
};

struct dnn_lrn {
    struct dnn_object object;
    unsigned n;
    double alpha, beta, k;
};

struct dnn_op_tensor {
    struct dnn_object object;
    int op, compute, nan;
};

struct dnn_reduce {
    struct dnn_object object;
    int op, compute, nan, indices, index_type;
};

struct dnn_transform {
    struct dnn_object object;
    unsigned n;
    int format, direction;
    int before[MUDNN_DIMS], after[MUDNN_DIMS];
    unsigned fold[MUDNN_DIMS];
};

/* Is this a live object of that kind? Any value may be asked about. */
bool dnn_is(enum dnn_kind kind, const void *object);
/* Of `size` bytes, 512 at most, zeroed, into *out; a status. Destroying NULL is a success. */
int dnn_create(enum dnn_kind kind, size_t size, void **out);
int dnn_destroy(enum dnn_kind kind, void *object);

#define DNN_HANDLE_OR_LEAVE(h) \
    do { \
        if (!dnn_is(DNN_HANDLE, h)) \
            return (h) ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_NOT_INITIALIZED; \
    } while (0)
#define DNN_BAD_UNLESS(condition) \
    do { \
        if (!(condition)) \
            return CUDNN_STATUS_BAD_PARAM; \
    } while (0)

size_t dnn_size(int type); /* bytes of a number, 0 of a type that is unknown */
/* Do all begin where numbers of the type may? NULL does. */
static inline bool dnn_aligned(int type, unsigned n, const void *const at[])
{
    uintptr_t bits = 0;
    for (unsigned i = 0; i < n; i++)
        bits |= (uintptr_t)at[i];
    return !dnn_size(type) || bits % dnn_size(type) == 0;
}
/* Numbers of a type that lie across what the type may lie at. */
#define DNN_ALIGNED(type, ...) \
    do { \
        const void *const all_[] = {__VA_ARGS__}; \
        if (!dnn_aligned(type, sizeof all_ / sizeof *all_, all_)) \
            return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER; \
    } while (0)

static inline musaStream_t dnn_stream(const void *handle)
{
    return (musaStream_t)((const struct dnn_handle *)handle)->stream;
}
#define DNN(status) cumu_cudnnStatus_t_from_musa(status)
/* A line on what nobody computes, once of each symbol and text. */
void dnn_gap(const char *symbol, const char *what);
/* The same; what the library below cannot do is said once. */
int dnn_done(mudnnStatus_t status, const char *symbol);

/* A descriptor's tensor, or NULL when it is none, or nothing was set yet. */
static inline const struct mudnn_tensor *dnn_tensor_of(enum dnn_kind kind, const void *d)
{
    return dnn_is(kind, d) && ((const struct dnn_tensor *)d)->t.n ? &((const struct dnn_tensor *)d)->t : NULL;
}
/* Do two descriptors that have tensors name one type, vectors included? */
static inline bool dnn_same_type(const void *a, const void *b)
{
    return ((const struct dnn_tensor *)a)->given == ((const struct dnn_tensor *)b)->given;
}
/* The type that vectors consist of, and how many. */
int dnn_plain_type(int type, int *vector);
bool dnn_same_shape(const struct mudnn_tensor *a, const struct mudnn_tensor *b);
/* Are there n dimensions in their order, without gaps? More of 1 may follow: PyTorch makes all its tensors' five. */
bool dnn_is_dense(const struct mudnn_tensor *t, int n);
/* Each dimension of `small` is 1 or equal. */
bool dnn_serves(const struct mudnn_tensor *small, const struct mudnn_tensor *large);

/* The convolution that descriptors say; a status. */
int dnn_convolution_of(struct mudnn_convolution *c, const void *desc, const void *x, const void *w, const void *y);

/* Of a dropout descriptor; false for anything else. */
bool dnn_dropout_of(const void *desc, double *rate, uint64_t **state);

/* alpha or beta, which cuDNN takes as double where the result is double, else as float. p is not NULL. */
double dnn_scalar(const void *p, int type);

#endif
