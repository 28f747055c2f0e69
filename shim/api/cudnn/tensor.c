/* cuDNN's descriptors of tensors and filters: shapes and strides, kept here. */
#include "api/cudnn/dnn.h"

size_t dnn_size(int type)
{
    switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64: return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_UINT32:
    case CUDNN_DATA_INT32: return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16: return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2: return 1;
    default: return 0;
    }
}

int dnn_plain_type(int type, int *vector)
{
    *vector = type == CUDNN_DATA_INT8x32 ? 32 : type == CUDNN_DATA_INT8x4 || type == CUDNN_DATA_UINT8x4 ? 4 : 1;
    return *vector == 1 ? type : type == CUDNN_DATA_UINT8x4 ? CUDNN_DATA_UINT8 : CUDNN_DATA_INT8;
}

bool dnn_same_shape(const struct mudnn_tensor *a, const struct mudnn_tensor *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = a->dim[i] == b->dim[i];
    return same;
}

bool dnn_is_dense(const struct mudnn_tensor *t, int n)
{
    int64_t step = 1;
    bool dense = t->n >= n;
    for (int i = n; dense && i < t->n; i++)
        dense = t->dim[i] == 1;
    for (int i = n; dense && i-- > 0; step *= t->dim[i])
        dense = t->dim[i] == 1 || t->stride[i] == step;
    return dense;
}

bool dnn_serves(const struct mudnn_tensor *small, const struct mudnn_tensor *large)
{
    bool serves = small->n == large->n;
    for (int i = 0; serves && i < small->n; i++)
        serves = small->dim[i] == 1 || small->dim[i] == large->dim[i];
    return serves;
}

double dnn_scalar(const void *p, int type)
{
    return type == CUDNN_DATA_DOUBLE ? *(const double *)p : (double)*(const float *)p;
}

/* ---- strides ----------------------------------------------------------------------------------- */

/* Elements from the first to the last and one, or MUDNN_MOST and more. Strides may be 0, as of a tensor that is
 * broadcast. */
static int64_t extent(const struct mudnn_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < t->n; i++)
        last += mudnn_times(i == 1 ? (t->dim[i] - 1) / t->vector : t->dim[i] - 1, t->stride[i]);
    return last + t->vector;
}

/* The strides of a tensor without gaps, in cuDNN's formats. */
static void pack(struct mudnn_tensor *t, int format)
{
    int64_t step = t->vector;
    if (format == CUDNN_TENSOR_NHWC && t->n > 1) {
        t->stride[1] = 1;
        step = t->dim[1];
    }
    for (int i = t->n - 1; i >= 0; i--) {
        if (format == CUDNN_TENSOR_NHWC && i == 1)
            continue;
        t->stride[i] = step;
        step *= i == 1 ? t->dim[1] / t->vector : t->dim[i];
    }
}

/* Types of descriptors that are no graph's: NVIDIA's refuse the others (mapping/facts/cuda.md F11). */
static bool is_legacy(int type)
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
           type == CUDNN_DATA_BFLOAT16 || type == CUDNN_DATA_INT8 || type == CUDNN_DATA_UINT8 ||
           type == CUDNN_DATA_INT32;
}

/* Fills in a tensor or filter from its dimensions; strides NULL: packed in a format. */
static int set(struct dnn_tensor *d, int type, int format, int n, const int *dims, const int *strides)
{
    struct mudnn_tensor t = {.n = n};
    int64_t count = 1;
    t.type = dnn_plain_type(type, &t.vector);
    DNN_BAD_UNLESS(dims && is_legacy(t.type) && (unsigned)format <= CUDNN_TENSOR_NCHW_VECT_C);
    if (n < 3 || n > MUDNN_DIMS)
        return CUDNN_STATUS_NOT_SUPPORTED;
    bool vectors = format == CUDNN_TENSOR_NCHW_VECT_C;
    for (int i = 0; i < n; i++) {
        DNN_BAD_UNLESS(dims[i] > 0 && (!strides || strides[i] >= 0));
        t.dim[i] = dims[i];
        count = mudnn_times(count, dims[i]);
        if (count >= MUDNN_LIMIT)
            return CUDNN_STATUS_NOT_SUPPORTED;
        if (strides)
            t.stride[i] = (int64_t)strides[i] * t.vector;
    }
    DNN_BAD_UNLESS(t.dim[1] % t.vector == 0 && (strides || vectors == (t.vector > 1)));
    if (!strides)
        pack(&t, format);
    if (extent(&t) > (int64_t)1 << 31)
        return CUDNN_STATUS_NOT_SUPPORTED;
    d->given = type;
    d->format = format;
    d->t = t;
    return CUDNN_STATUS_SUCCESS;
}

static int get(const struct dnn_tensor *d, int wanted, int *type, int *n, int *dims, int *strides)
{
    if (type)
        *type = d->given;
    if (n)
        *n = d->t.n;
    for (int i = 0; i < wanted && i < d->t.n; i++) {
        if (dims)
            dims[i] = (int)d->t.dim[i];
        if (strides)
            strides[i] = (int)(d->t.stride[i] / d->t.vector);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* ---- tensors ----------------------------------------------------------------------------------- */

int wrap_cudnnCreateTensorDescriptor(void **d) { return dnn_create(DNN_TENSOR, sizeof(struct dnn_tensor), d); }
int wrap_cudnnDestroyTensorDescriptor(void *d) { return dnn_destroy(DNN_TENSOR, d); }

int wrap_cudnnSetTensor4dDescriptor(void *d, int format, int type, int n, int c, int h, int w)
{
    DNN_BAD_UNLESS(dnn_is(DNN_TENSOR, d));
    return set(d, type, format, 4, (const int[]){n, c, h, w}, NULL);
}

int wrap_cudnnSetTensor4dDescriptorEx(void *d, int type, int n, int c, int h, int w, int sn, int sc, int sh, int sw)
{
    DNN_BAD_UNLESS(dnn_is(DNN_TENSOR, d));
    return set(d, type, CUDNN_TENSOR_NCHW, 4, (const int[]){n, c, h, w}, (const int[]){sn, sc, sh, sw});
}

int wrap_cudnnSetTensorNdDescriptor(void *d, int type, int n, const int *dims, const int *strides)
{
    DNN_BAD_UNLESS(dnn_is(DNN_TENSOR, d) && strides);
    return set(d, type, CUDNN_TENSOR_NCHW, n, dims, strides);
}

int wrap_cudnnSetTensorNdDescriptorEx(void *d, int format, int type, int n, const int *dims)
{
    DNN_BAD_UNLESS(dnn_is(DNN_TENSOR, d));
    return set(d, type, format, n, dims, NULL);
}

int wrap_cudnnGetTensor4dDescriptor(void *d, int *type, int *n, int *c, int *h, int *w, int *sn, int *sc, int *sh,
                                    int *sw)
{
    int dims[4], strides[4], *const to[] = {n, c, h, w, sn, sc, sh, sw};
    DNN_BAD_UNLESS(dnn_tensor_of(DNN_TENSOR, d) && ((struct dnn_tensor *)d)->t.n == 4);
    get(d, 4, type, NULL, dims, strides);
    for (int i = 0; i < 8; i++)
        if (to[i])
            *to[i] = i < 4 ? dims[i] : strides[i - 4];
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetTensorNdDescriptor(void *d, int wanted, int *type, int *n, int *dims, int *strides)
{
    DNN_BAD_UNLESS(dnn_is(DNN_TENSOR, d));
    return get(d, wanted, type, n, dims, strides);
}

int wrap_cudnnGetTensorSizeInBytes(void *d, size_t *size)
{
    DNN_BAD_UNLESS(dnn_is(DNN_TENSOR, d) && size);
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, d);
    *size = t ? (size_t)extent(t) * dnn_size(t->type) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- filters ----------------------------------------------------------------------------------- */

int wrap_cudnnCreateFilterDescriptor(void **d) { return dnn_create(DNN_FILTER, sizeof(struct dnn_tensor), d); }
int wrap_cudnnDestroyFilterDescriptor(void *d) { return dnn_destroy(DNN_FILTER, d); }

int wrap_cudnnSetFilter4dDescriptor(void *d, int type, int format, int k, int c, int h, int w)
{
    DNN_BAD_UNLESS(dnn_is(DNN_FILTER, d));
    return set(d, type, format, 4, (const int[]){k, c, h, w}, NULL);
}

int wrap_cudnnSetFilterNdDescriptor(void *d, int type, int format, int n, const int *dims)
{
    DNN_BAD_UNLESS(dnn_is(DNN_FILTER, d));
    return set(d, type, format, n, dims, NULL);
}

int wrap_cudnnGetFilter4dDescriptor(void *d, int *type, int *format, int *k, int *c, int *h, int *w)
{
    int dims[4], *const to[] = {k, c, h, w};
    DNN_BAD_UNLESS(dnn_tensor_of(DNN_FILTER, d) && ((struct dnn_tensor *)d)->t.n == 4);
    get(d, 4, type, NULL, dims, NULL);
    if (format)
        *format = ((struct dnn_tensor *)d)->format;
    for (int i = 0; i < 4; i++)
        if (to[i])
            *to[i] = dims[i];
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetFilterNdDescriptor(void *d, int wanted, int *type, int *format, int *n, int *dims)
{
    DNN_BAD_UNLESS(dnn_is(DNN_FILTER, d));
    if (format)
        *format = ((struct dnn_tensor *)d)->format;
    return get(d, wanted, type, n, dims, NULL);
}

int wrap_cudnnGetFilterSizeInBytes(void *d, size_t *size)
{
    DNN_BAD_UNLESS(dnn_is(DNN_FILTER, d) && size);
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_FILTER, d);
    *size = t ? (size_t)extent(t) * dnn_size(t->type) : 0;
    return CUDNN_STATUS_SUCCESS;
}
