/* cuDNN's transformations of tensors and filters: other layouts, padding, and the windows of a convolution. */
#include "api/cudnn/dnn.h"

int wrap_cudnnCreateTensorTransformDescriptor(void **d)
{
    return dnn_create(DNN_TRANSFORM, sizeof(struct dnn_transform), d);
}
int wrap_cudnnDestroyTensorTransformDescriptor(void *d) { return dnn_destroy(DNN_TRANSFORM, d); }

int wrap_cudnnSetTensorTransformDescriptor(void *desc, unsigned n, int format, const int *before, const int *after,
                                           const void *fold, int direction)
{
    struct dnn_transform *d = desc;
    const unsigned *folds = fold;
    DNN_BAD_UNLESS(dnn_is(DNN_TRANSFORM, d) && n >= 3 && n <= MUDNN_DIMS &&
                   (unsigned)format <= CUDNN_TENSOR_NCHW_VECT_C);
    DNN_BAD_UNLESS((unsigned)direction <= CUDNN_TRANSFORM_UNFOLD);
    for (unsigned i = 2; i < n; i++)
        DNN_BAD_UNLESS(!folds || folds[i - 2] > 0);
    for (unsigned i = 0; i < n; i++) {
        d->before[i] = before ? before[i] : 0;
        d->after[i] = after ? after[i] : 0;
        d->fold[i] = folds && i >= 2 ? folds[i - 2] : 1;
    }
    d->n = n;
    d->format = format;
    d->direction = direction;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetTensorTransformDescriptor(void *desc, unsigned wanted, int *format, int *before, int *after,
                                           unsigned *fold, int *direction)
{
    const struct dnn_transform *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_TRANSFORM, d) && d->n);
    if (format)
        *format = d->format;
    if (direction)
        *direction = d->direction;
    for (unsigned i = 0; i < wanted && i < d->n; i++) {
        if (before)
            before[i] = d->before[i];
        if (after)
            after[i] = d->after[i];
        if (fold && i >= 2)
            fold[i - 2] = d->fold[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

/* The shape behind a transformation. Folds move parts of the image into channels in an order that no public text
 * gives, so there are none; a padding below 0 cuts off. */
static int outcome(const struct dnn_transform *d, const struct mudnn_tensor *from, int64_t *dim)
{
    DNN_BAD_UNLESS(dnn_is(DNN_TRANSFORM, d) && d->n && from && (int)d->n == from->n);
    for (int i = 0; i < from->n; i++)
        if (d->fold[i] != 1)
            return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < from->n; i++) {
        dim[i] = from->dim[i] + d->before[i] + d->after[i];
        DNN_BAD_UNLESS(dim[i] > 0 && dim[i] <= INT32_MAX);
    }
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnInitTransformDest(void *desc, void *from, void *to, size_t *size)
{
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, from);
    int64_t dim[MUDNN_DIMS];
    int dims[MUDNN_DIMS];
    int r = outcome(desc, t, dim);
    if (r)
        return r;
    DNN_BAD_UNLESS(dnn_is(DNN_TENSOR, to) && size);
    for (int i = 0; i < t->n; i++)
        dims[i] = (int)dim[i];
    r = wrap_cudnnSetTensorNdDescriptorEx(to, ((const struct dnn_transform *)desc)->format,
                                          ((const struct dnn_tensor *)from)->given, t->n, dims);
    return r ? r : wrap_cudnnGetTensorSizeInBytes(to, size);
}

/* The part of both tensors that is the same one; what of `to` lies outside is padding. False: there is none. */
static bool overlap(const struct dnn_transform *d, const struct mudnn_tensor *from, struct mudnn_tensor *in,
                    struct mudnn_tensor *out, int64_t *in_first, int64_t *out_first)
{
    for (int i = 0; i < from->n; i++) {
        int64_t cut = d->before[i] < 0 ? -d->before[i] : 0, pad = d->before[i] > 0 ? d->before[i] : 0;
        int64_t left = in->dim[i] - cut + (d->after[i] < 0 ? d->after[i] : 0);
        if (left <= 0)
            return false;
        in->dim[i] = out->dim[i] = left;
        in_first[i] = cut;
        out_first[i] = pad;
    }
    return true;
}
static bool whole_vectors(const struct mudnn_tensor *t, int64_t first)
{
    return first % t->vector == 0 && t->dim[1] % t->vector == 0;
}
static size_t offset(const struct mudnn_tensor *t, const int64_t *first)
{
    int64_t at = 0;
    for (int i = 0; i < t->n; i++)
        at += first[i] / (i == 1 ? t->vector : 1) * t->stride[i];
    return (size_t)at * dnn_size(t->type);
}

/* to = alpha (from with padding of zeros) + beta to: first beta, then the part that is no padding. */
static int transform(void *handle, const struct dnn_transform *d, const void *alpha, const struct mudnn_tensor *from,
                     const void *from_at, const void *beta, const struct mudnn_tensor *to, void *to_at,
                     const char *symbol)
{
    int64_t dim[MUDNN_DIMS], in_first[MUDNN_DIMS], out_first[MUDNN_DIMS];
    DNN_HANDLE_OR_LEAVE(handle);
    int r = outcome(d, from, dim);
    if (r)
        return r;
    DNN_BAD_UNLESS(to && to->n == from->n && alpha && beta && from_at && to_at);
    for (int i = 0; i < to->n; i++)
        DNN_BAD_UNLESS(to->dim[i] == dim[i]);
    struct mudnn_tensor in = *from, out = *to;
    bool some = overlap(d, from, &in, &out, in_first, out_first);
    if (some && !(whole_vectors(&in, in_first[1]) && whole_vectors(&out, out_first[1])))
        return CUDNN_STATUS_NOT_SUPPORTED;
    double a = dnn_scalar(alpha, to->type), b = dnn_scalar(beta, to->type);
    struct mudnn_pointwise p = {.mode = CUDNN_POINTWISE_IDENTITY,
                                .scale = b,
                                .alpha = {1, 0},
                                .x = *to,
                                .y = *to,
                                .x_at = to_at,
                                .y_at = to_at};
    bool padded = !some || !dnn_same_shape(&out, to);
    static const unsigned char zero[8];
    if (padded && b == 0)
        r = dnn_done(mu.mudnnHostFill(dnn_stream(handle), to, to_at, zero), symbol);
    else if (padded && b != 1)
        r = dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), symbol);
    if (r || !some)
        return r;
    p = (struct mudnn_pointwise){.mode = CUDNN_POINTWISE_IDENTITY,
                                 .scale = a,
                                 .alpha = {1, 0},
                                 .beta = padded ? b != 0 : b,
                                 .x = in,
                                 .y = out,
                                 .x_at = (const char *)from_at + offset(from, in_first),
                                 .y_at = (char *)to_at + offset(to, out_first)};
    return dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), symbol);
}
int wrap_cudnnTransformTensorEx(void *handle, void *d, const void *alpha, void *from, const void *from_at,
                                const void *beta, void *to, void *to_at)
{
    return transform(handle, d, alpha, dnn_tensor_of(DNN_TENSOR, from), from_at, beta, dnn_tensor_of(DNN_TENSOR, to),
                     to_at, "cudnnTransformTensorEx");
}
int wrap_cudnnTransformFilter(void *handle, void *d, const void *alpha, void *from, const void *from_at,
                              const void *beta, void *to, void *to_at)
{
    return transform(handle, d, alpha, dnn_tensor_of(DNN_FILTER, from), from_at, beta, dnn_tensor_of(DNN_FILTER, to),
                     to_at, "cudnnTransformFilter");
}

/* Convolutions here take the filter as its descriptor says, reordered or not, so the reordered one is a copy. */
int wrap_cudnnReorderFilterAndBias(void *handle, void *w, int type, const void *from, void *to, int has_bias,
                                   const void *bias, void *bias_to)
{
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_FILTER, w);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(t && (unsigned)type <= CUDNN_NO_REORDER && from && to && (!has_bias || (bias && bias_to)));
    if (((const struct dnn_tensor *)w)->given != CUDNN_DATA_INT8x32)
        return CUDNN_STATUS_NOT_SUPPORTED;
    struct mudnn_pointwise p = {
        .mode = CUDNN_POINTWISE_IDENTITY, .scale = 1, .alpha = {1, 0}, .x = *t, .y = *t, .x_at = from, .y_at = to};
    int r = dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), "cudnnReorderFilterAndBias");
    if (r || !has_bias)
        return r;
    struct mudnn_tensor b = {.n = 1, .vector = 1, .dim = {t->dim[0]}, .stride = {1}};
    b.type = CUDNN_DATA_FLOAT;
    p.x = p.y = b, p.x_at = bias, p.y_at = bias_to;
    return dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), "cudnnReorderFilterAndBias");
}
