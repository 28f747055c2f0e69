/* cuDNN's pooling, softmax and reductions. */
#include "api/cudnn/dnn.h"

int wrap_cudnnCreatePoolingDescriptor(void **d) { return dnn_create(DNN_POOLING, sizeof(struct dnn_pooling), d); }
int wrap_cudnnDestroyPoolingDescriptor(void *d) { return dnn_destroy(DNN_POOLING, d); }

int wrap_cudnnSetPoolingNdDescriptor(void *desc, int mode, int nan, int n, const int *window, const int *pad,
                                     const int *stride)
{
    struct dnn_pooling *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_POOLING, d) && (unsigned)mode <= CUDNN_POOLING_MAX_DETERMINISTIC);
    DNN_BAD_UNLESS((unsigned)nan <= CUDNN_PROPAGATE_NAN && window && pad && stride && n > 0);
    if (n > MUDNN_DIMS - 2)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < n; i++)
        DNN_BAD_UNLESS(window[i] > 0 && stride[i] > 0 && pad[i] >= 0);
    for (int i = 0; i < n; i++) {
        d->window[i] = window[i];
        d->pad[i] = pad[i];
        d->stride[i] = stride[i];
    }
    d->n = n;
    d->mode = mode;
    d->nan = nan;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnSetPooling2dDescriptor(void *d, int mode, int nan, int height, int width, int pad_h, int pad_w,
                                     int stride_h, int stride_w)
{
    return wrap_cudnnSetPoolingNdDescriptor(d, mode, nan, 2, (const int[]){height, width}, (const int[]){pad_h, pad_w},
                                            (const int[]){stride_h, stride_w});
}

int wrap_cudnnGetPoolingNdDescriptor(void *desc, int wanted, int *mode, int *nan, int *n, int *window, int *pad,
                                     int *stride)
{
    const struct dnn_pooling *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_POOLING, d) && wanted >= 0);
    if (mode)
        *mode = d->mode;
    if (nan)
        *nan = d->nan;
    if (n)
        *n = d->n;
    for (int i = 0; i < wanted && i < d->n; i++) {
        if (window)
            window[i] = d->window[i];
        if (pad)
            pad[i] = d->pad[i];
        if (stride)
            stride[i] = d->stride[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetPooling2dDescriptor(void *desc, int *mode, int *nan, int *height, int *width, int *pad_h, int *pad_w,
                                     int *stride_h, int *stride_w)
{
    const struct dnn_pooling *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_POOLING, d) && d->n == 2);
    int *const to[] = {mode, nan, height, width, pad_h, pad_w, stride_h, stride_w};
    const int from[] = {d->mode, d->nan, d->window[0], d->window[1], d->pad[0], d->pad[1], d->stride[0], d->stride[1]};
    for (int i = 0; i < 8; i++)
        if (to[i])
            *to[i] = from[i];
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetPoolingNdForwardOutputDim(void *desc, void *x, int n, int *dims)
{
    const struct dnn_pooling *d = desc;
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, x);
    DNN_BAD_UNLESS(dnn_is(DNN_POOLING, d) && t && dims && d->n && n == t->n && n == d->n + 2);
    for (int i = 0; i < n; i++) {
        int k = i - 2;
        int64_t room = i < 2 ? 0 : t->dim[i] + 2 * (int64_t)d->pad[k] - d->window[k];
        DNN_BAD_UNLESS(room >= 0 && (i < 2 || room / d->stride[k] < INT32_MAX));
        dims[i] = i < 2 ? (int)t->dim[i] : (int)(room / d->stride[k] + 1);
    }
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetPooling2dForwardOutputDim(void *d, void *x, int *n, int *c, int *h, int *w)
{
    int dims[4];
    DNN_BAD_UNLESS(n && c && h && w);
    int r = wrap_cudnnGetPoolingNdForwardOutputDim(d, x, 4, dims);
    if (!r)
        *n = dims[0], *c = dims[1], *h = dims[2], *w = dims[3];
    return r;
}

/* Batch and channels must agree. The result may be smaller or larger than cuDNN's own rule makes it, as long as every
 * window has an element of x. */
static int describe(struct mudnn_pooling *p, const struct dnn_pooling *d, const void *x, const void *y,
                    const void *alpha, const void *beta)
{
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *yt = dnn_tensor_of(DNN_TENSOR, y);
    DNN_BAD_UNLESS(dnn_is(DNN_POOLING, d) && d->n && xt && yt && alpha && beta);
    DNN_BAD_UNLESS(xt->n == d->n + 2 && yt->n == xt->n && dnn_same_type(x, y));
    DNN_BAD_UNLESS(xt->dim[0] == yt->dim[0] && xt->dim[1] == yt->dim[1]);
    *p = (struct mudnn_pooling){.mode = d->mode,
                                .nan = d->nan == CUDNN_PROPAGATE_NAN,
                                .spatial = d->n,
                                .alpha = dnn_scalar(alpha, xt->type),
                                .beta = dnn_scalar(beta, xt->type),
                                .x = *xt,
                                .y = *yt};
    for (int i = 0; i < d->n; i++) {
        p->window[i] = d->window[i];
        p->pad[i] = d->pad[i];
        p->stride[i] = d->stride[i];
        DNN_BAD_UNLESS(d->pad[i] < d->window[i]);
        DNN_BAD_UNLESS((yt->dim[i + 2] - 1) * d->stride[i] - d->pad[i] < xt->dim[i + 2]);
    }
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnPoolingForward(void *handle, void *desc, const void *alpha, void *x, const void *x_at, const void *beta,
                             void *y, void *y_at)
{
    struct mudnn_pooling p;
    DNN_HANDLE_OR_LEAVE(handle);
    int r = describe(&p, desc, x, y, alpha, beta);
    if (r)
        return r;
    DNN_BAD_UNLESS(x_at && y_at);
    DNN_ALIGNED(p.x.type, x_at);
    DNN_ALIGNED(p.y.type, y_at);
    p.x_at = x_at;
    p.out = y_at;
    return dnn_done(mu.mudnnHostPoolingForward(dnn_stream(handle), &p), "cudnnPoolingForward");
}

int wrap_cudnnPoolingBackward(void *handle, void *desc, const void *alpha, void *y, const void *y_at, void *dy,
                              const void *dy_at, void *x, const void *x_at, const void *beta, void *dx, void *dx_at)
{
    struct mudnn_pooling p;
    DNN_HANDLE_OR_LEAVE(handle);
    int r = describe(&p, desc, x, y, alpha, beta);
    if (r)
        return r;
    const struct mudnn_tensor *dyt = dnn_tensor_of(DNN_TENSOR, dy), *dxt = dnn_tensor_of(DNN_TENSOR, dx);
    bool max = p.mode == CUDNN_POOLING_MAX || p.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    DNN_BAD_UNLESS(dyt && dxt && dnn_same_shape(dyt, &p.y) && dnn_same_shape(dxt, &p.x));
    DNN_BAD_UNLESS(dyt->type == p.y.type && dxt->type == p.x.type);
    DNN_BAD_UNLESS(dy_at && dx_at && (!max || (x_at && y_at)));
    DNN_ALIGNED(p.x.type, x_at, dx_at);
    DNN_ALIGNED(p.y.type, y_at, dy_at);
    p.dx = *dxt, p.dy = *dyt;
    p.x_at = x_at, p.y_at = y_at, p.dy_at = dy_at;
    p.out = dx_at;
    return dnn_done(mu.mudnnHostPoolingBackward(dnn_stream(handle), &p), "cudnnPoolingBackward");
}

/* ---- softmax ----------------------------------------------------------------------------------- */

int wrap_cudnnSoftmaxForward(void *handle, int algorithm, int mode, const void *alpha, void *x, const void *x_at,
                             const void *beta, void *y, void *y_at)
{
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *yt = dnn_tensor_of(DNN_TENSOR, y);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS((unsigned)algorithm <= CUDNN_SOFTMAX_LOG && (unsigned)mode <= CUDNN_SOFTMAX_MODE_CHANNEL);
    DNN_BAD_UNLESS(alpha && beta && xt && yt && x_at && y_at && dnn_same_shape(xt, yt) && dnn_same_type(x, y));
    DNN_ALIGNED(xt->type, x_at, y_at);
    struct mudnn_softmax s = {.algorithm = algorithm,
                              .mode = mode,
                              .alpha = dnn_scalar(alpha, yt->type),
                              .beta = dnn_scalar(beta, yt->type),
                              .x = *xt,
                              .y = *yt,
                              .x_at = x_at,
                              .out = y_at};
    return dnn_done(mu.mudnnHostSoftmaxForward(dnn_stream(handle), &s), "cudnnSoftmaxForward");
}

int wrap_cudnnSoftmaxBackward(void *handle, int algorithm, int mode, const void *alpha, void *y, const void *y_at,
                              void *dy, const void *dy_at, const void *beta, void *dx, void *dx_at)
{
    const struct mudnn_tensor *yt = dnn_tensor_of(DNN_TENSOR, y), *dyt = dnn_tensor_of(DNN_TENSOR, dy);
    const struct mudnn_tensor *dxt = dnn_tensor_of(DNN_TENSOR, dx);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS((unsigned)algorithm <= CUDNN_SOFTMAX_LOG && (unsigned)mode <= CUDNN_SOFTMAX_MODE_CHANNEL);
    DNN_BAD_UNLESS(alpha && beta && yt && dyt && dxt && y_at && dy_at && dx_at);
    DNN_BAD_UNLESS(dnn_same_shape(yt, dyt) && dnn_same_shape(yt, dxt) && dyt->type == yt->type &&
                   dxt->type == yt->type);
    DNN_ALIGNED(yt->type, y_at, dy_at, dx_at);
    struct mudnn_softmax s = {.algorithm = algorithm,
                              .mode = mode,
                              .alpha = dnn_scalar(alpha, dxt->type),
                              .beta = dnn_scalar(beta, dxt->type),
                              .x = *dxt,
                              .y = *yt,
                              .dy = *dyt,
                              .y_at = y_at,
                              .dy_at = dy_at,
                              .out = dx_at};
    return dnn_done(mu.mudnnHostSoftmaxBackward(dnn_stream(handle), &s), "cudnnSoftmaxBackward");
}

/* ---- reductions -------------------------------------------------------------------------------- */

int wrap_cudnnCreateReduceTensorDescriptor(void **d) { return dnn_create(DNN_REDUCE, sizeof(struct dnn_reduce), d); }
int wrap_cudnnDestroyReduceTensorDescriptor(void *d) { return dnn_destroy(DNN_REDUCE, d); }

int wrap_cudnnSetReduceTensorDescriptor(void *desc, int op, int compute, int nan, int indices, int index_type)
{
    struct dnn_reduce *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_REDUCE, d) && (unsigned)op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS && dnn_size(compute));
    DNN_BAD_UNLESS((unsigned)nan <= CUDNN_PROPAGATE_NAN && (unsigned)indices <= CUDNN_REDUCE_TENSOR_FLATTENED_INDICES);
    DNN_BAD_UNLESS((unsigned)index_type <= CUDNN_8BIT_INDICES);
    d->op = op;
    d->compute = compute;
    d->nan = nan;
    d->indices = indices;
    d->index_type = index_type;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetReduceTensorDescriptor(void *desc, int *op, int *compute, int *nan, int *indices, int *index_type)
{
    const struct dnn_reduce *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_REDUCE, d));
    int *const to[] = {op, compute, nan, indices, index_type};
    const int from[] = {d->op, d->compute, d->nan, d->indices, d->index_type};
    for (int i = 0; i < 5; i++)
        if (to[i])
            *to[i] = from[i];
    return CUDNN_STATUS_SUCCESS;
}

static bool has_indices(const struct dnn_reduce *d)
{
    return d->indices == CUDNN_REDUCE_TENSOR_FLATTENED_INDICES &&
           (d->op == CUDNN_REDUCE_TENSOR_MIN || d->op == CUDNN_REDUCE_TENSOR_MAX || d->op == CUDNN_REDUCE_TENSOR_AMAX);
}

static size_t index_bytes(const struct dnn_reduce *d, const struct mudnn_tensor *c)
{
    size_t count = has_indices(d) ? sizeof(uint32_t) : 0;
    for (int i = 0; i < c->n; i++)
        count *= (size_t)c->dim[i];
    return count;
}

/* No workspace is needed: sums are kept by the library below. */
int wrap_cudnnGetReductionWorkspaceSize(void *handle, void *d, void *a, void *c, size_t *size)
{
    const struct mudnn_tensor *at = dnn_tensor_of(DNN_TENSOR, a), *ct = dnn_tensor_of(DNN_TENSOR, c);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_REDUCE, d) && at && ct && size && dnn_serves(ct, at));
    *size = 0;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetReductionIndicesSize(void *handle, void *d, void *a, void *c, size_t *size)
{
    const struct mudnn_tensor *at = dnn_tensor_of(DNN_TENSOR, a), *ct = dnn_tensor_of(DNN_TENSOR, c);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_REDUCE, d) && at && ct && size && dnn_serves(ct, at));
    *size = index_bytes(d, ct);
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnReduceTensor(void *handle, void *desc, void *indices, size_t index_size, void *space, size_t size,
                           const void *alpha, void *a, const void *a_at, const void *beta, void *c, void *c_at)
{
    const struct dnn_reduce *d = desc;
    const struct mudnn_tensor *at = dnn_tensor_of(DNN_TENSOR, a), *ct = dnn_tensor_of(DNN_TENSOR, c);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_REDUCE, d) && at && ct && alpha && beta && a_at && c_at && dnn_serves(ct, at));
    DNN_ALIGNED(at->type, a_at);
    DNN_ALIGNED(ct->type, c_at);
    DNN_BAD_UNLESS((!size || space) && (!has_indices(d) || (indices && index_size >= index_bytes(d, ct))));
    if (has_indices(d) && d->index_type != CUDNN_32BIT_INDICES)
        return CUDNN_STATUS_NOT_SUPPORTED;
    struct mudnn_reduction r = {.operation = d->op,
                                .nan = d->nan == CUDNN_PROPAGATE_NAN,
                                .alpha = dnn_scalar(alpha, ct->type),
                                .beta = dnn_scalar(beta, ct->type),
                                .a = *at,
                                .c = *ct,
                                .a_at = a_at,
                                .c_at = c_at,
                                .indices = has_indices(d) ? indices : NULL};
    return dnn_done(mu.mudnnHostReduce(dnn_stream(handle), &r), "cudnnReduceTensor");
}
