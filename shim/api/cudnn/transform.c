/* cuDNN's transformations of tensors and filters: other layouts, padding, and the windows of a convolution. */
#include <string.h>

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

static int64_t product_of_folds(const struct dnn_transform *d)
{
    int64_t product = 1;
    for (unsigned i = 2; i < d->n && product <= INT32_MAX; i++)
        product *= d->fold[i];
    return product <= INT32_MAX ? product : (int64_t)INT32_MAX + 1;
}
static bool is_padded(const struct dnn_transform *d)
{
    bool padded = false;
    for (unsigned i = 0; i < d->n; i++)
        padded |= d->before[i] || d->after[i];
    return padded;
}

/* The shape behind a transformation. To fold is to pad, and then to cut each dimension behind the channels into blocks
 * of its fold: the places in a block become channels, place * C + c of C channels, behind those that pad them. To
 * unfold is the way back, and a padding below 0 cuts off what folding had padded (mapping/facts/cuda.md F11). What is
 * said nowhere is not supported: to cut channels off before folding, and to pad what was unfolded. */
static int outcome(const struct dnn_transform *d, const struct mudnn_tensor *from, int64_t *dim)
{
    DNN_BAD_UNLESS(dnn_is(DNN_TRANSFORM, d) && d->n && from && (int)d->n == from->n);
    const int64_t folds = product_of_folds(d);
    const bool unfolds = d->direction == CUDNN_TRANSFORM_UNFOLD;
    for (int i = 0; i < from->n; i++) {
        int64_t fold = i < 2 ? 1 : d->fold[i], pad = (int64_t)d->before[i] + d->after[i];
        if (unfolds) {
            if (d->before[i] > 0 || d->after[i] > 0)
                return CUDNN_STATUS_NOT_SUPPORTED;
            DNN_BAD_UNLESS(i != 1 || from->dim[i] % folds == 0);
            dim[i] = (i == 1 ? from->dim[i] / folds : from->dim[i] * fold) + pad;
        } else {
            if (i == 1 && folds > 1 && (d->before[i] < 0 || d->after[i] < 0))
                return CUDNN_STATUS_NOT_SUPPORTED;
            dim[i] = from->dim[i] + pad;
            DNN_BAD_UNLESS(dim[i] > 0 && dim[i] <= INT32_MAX);
            dim[i] = i == 1 ? dim[i] * folds : (dim[i] + fold - 1) / fold;
        }
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

static size_t offset(const struct mudnn_tensor *t, const int64_t *first)
{
    int64_t at = 0;
    for (int i = 0; i < t->n; i++)
        at += first[i] / (i == 1 ? t->vector : 1) * t->stride[i];
    return (size_t)at * dnn_size(t->type);
}

/* The wide side has the image as it was, the folded one its blocks as channels: elements of the wide side, the first of
 * each dimension at `low`, and the last before `high`. Padding in front is `before`, whichever side it is that lacks
 * it. */
struct fold {
    const struct dnn_transform *d;
    const struct mudnn_tensor *wide, *folded;
    int64_t before[MUDNN_DIMS], low[MUDNN_DIMS], high[MUDNN_DIMS];
};
static void fold_of(struct fold *f, const struct dnn_transform *d, const struct mudnn_tensor *from,
                    const struct mudnn_tensor *to)
{
    const bool unfolds = d->direction == CUDNN_TRANSFORM_UNFOLD;
    *f = (struct fold){.d = d, .wide = unfolds ? to : from, .folded = unfolds ? from : to};
    for (int i = 0; i < from->n; i++) {
        f->before[i] = unfolds ? -(int64_t)d->before[i] : d->before[i];
        f->low[i] = f->before[i] < 0 ? -f->before[i] : 0;
        f->high[i] = f->wide->dim[i] + (!unfolds && d->after[i] < 0 ? d->after[i] : 0);
    }
}

/* The elements of one place in the blocks, whose first ones are at `first` of the wide side, as a part of either.
 * False: there are none. */
static bool parts(const struct fold *f, const int64_t *first, struct mudnn_tensor *wide, struct mudnn_tensor *folded,
                  int64_t *folded_first)
{
    int64_t place = 0;
    *wide = *f->wide, *folded = *f->folded;
    for (int i = 2; i < wide->n; i++)
        place = place * f->d->fold[i] + (first[i] + f->before[i]) % f->d->fold[i];
    for (int i = 0; i < wide->n; i++) {
        int64_t fold = i < 2 ? 1 : f->d->fold[i], left = f->high[i] - first[i];
        if (left <= 0)
            return false;
        wide->dim[i] = folded->dim[i] = (left + fold - 1) / fold;
        wide->stride[i] *= fold;
        folded_first[i] = (first[i] + f->before[i]) / fold;
    }
    folded_first[1] += place * f->wide->dim[1];
    return true;
}

static bool whole_vectors(const struct mudnn_tensor *t, int64_t first)
{
    return first % t->vector == 0 && t->dim[1] % t->vector == 0;
}

/* Each place of the blocks is a copy of its own, in order of the image: `first` counts through them. */
static int copy_places(void *handle, const struct fold *f, bool unfolds, double alpha, const void *from_at, double beta,
                       void *to_at, const char *symbol)
{
    int64_t first[MUDNN_DIMS];
    int n = f->wide->n, i = n;
    memcpy(first, f->low, sizeof first);
    while (i >= 2) {
        struct mudnn_tensor wide, folded;
        int64_t at[MUDNN_DIMS];
        if (parts(f, first, &wide, &folded, at)) {
            if (!whole_vectors(&wide, first[1]) || !whole_vectors(&folded, at[1]))
                return CUDNN_STATUS_NOT_SUPPORTED;
            struct mudnn_pointwise p = {.mode = CUDNN_POINTWISE_IDENTITY,
                                        .scale = alpha,
                                        .alpha = {1, 0},
                                        .beta = beta,
                                        .x = unfolds ? folded : wide,
                                        .y = unfolds ? wide : folded};
            p.x_at = (const char *)from_at + (unfolds ? offset(f->folded, at) : offset(f->wide, first));
            p.y_at = (char *)to_at + (unfolds ? offset(f->wide, first) : offset(f->folded, at));
            int r = dnn_done(mu.mudnnHostPointwise(dnn_stream(handle), &p), symbol);
            if (r)
                return r;
        }
        for (i = n - 1; i >= 2; i--) {
            if (++first[i] < f->low[i] + f->d->fold[i] && first[i] < f->high[i])
                break;
            first[i] = f->low[i];
        }
    }
    return CUDNN_STATUS_SUCCESS;
}

/* to = alpha (what `from` becomes) + beta to; where it is padded or folded, and zeros are between, without beta. */
static int transform(void *handle, const struct dnn_transform *d, const void *alpha, const struct mudnn_tensor *from,
                     const void *from_at, const void *beta, const struct mudnn_tensor *to, void *to_at,
                     const char *symbol)
{
    static const unsigned char zero[8];
    int64_t dim[MUDNN_DIMS];
    DNN_HANDLE_OR_LEAVE(handle);
    int r = outcome(d, from, dim);
    if (r)
        return r;
    DNN_BAD_UNLESS(to && to->n == from->n && alpha && beta && from_at && to_at);
    DNN_ALIGNED(from->type, from_at);
    DNN_ALIGNED(to->type, to_at);
    for (int i = 0; i < to->n; i++)
        DNN_BAD_UNLESS(to->dim[i] == dim[i]);
    const bool folds = product_of_folds(d) > 1, unfolds = d->direction == CUDNN_TRANSFORM_UNFOLD;
    if ((folds && (from->vector > 1 || to->vector > 1)) ||
        (!unfolds && (folds || is_padded(d)) && dnn_scalar(beta, to->type) != 0))
        return CUDNN_STATUS_NOT_SUPPORTED;
    struct fold f;
    fold_of(&f, d, from, to);
    if (!unfolds && (folds || is_padded(d)))
        r = dnn_done(mu.mudnnHostFill(dnn_stream(handle), to, to_at, zero), symbol);
    return r ? r
             : copy_places(handle, &f, unfolds, dnn_scalar(alpha, to->type), from_at, dnn_scalar(beta, to->type), to_at,
                           symbol);
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
