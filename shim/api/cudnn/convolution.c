/* cuDNN's convolutions: descriptors, algorithms, and the calls. The library below chooses how it computes, so that
 * every algorithm is the same one, which needs no workspace of the program's. */
#include <stddef.h>

#include "api/cudnn/dnn.h"

int wrap_cudnnCreateConvolutionDescriptor(void **d)
{
    int r = dnn_create(DNN_CONVOLUTION, sizeof(struct dnn_convolution), d);
    if (!r)
        ((struct dnn_convolution *)*d)->groups = 1;
    return r;
}
int wrap_cudnnDestroyConvolutionDescriptor(void *d) { return dnn_destroy(DNN_CONVOLUTION, d); }

int wrap_cudnnSetConvolutionNdDescriptor(void *desc, int n, const int *pad, const int *stride, const int *dilation,
                                         int mode, int compute)
{
    struct dnn_convolution *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_CONVOLUTION, d) && pad && stride && dilation && n >= 0);
    DNN_BAD_UNLESS((unsigned)mode <= CUDNN_CROSS_CORRELATION && dnn_size(compute));
    if (n < 1 || n > MUDNN_DIMS - 2)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < n; i++)
        DNN_BAD_UNLESS(pad[i] >= 0 && stride[i] > 0 && dilation[i] > 0);
    for (int i = 0; i < n; i++) {
        d->pad[i] = pad[i];
        d->stride[i] = stride[i];
        d->dilation[i] = dilation[i];
    }
    d->n = n;
    d->mode = mode;
    d->compute = compute;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnSetConvolution2dDescriptor(void *d, int pad_h, int pad_w, int u, int v, int dilation_h, int dilation_w,
                                         int mode, int compute)
{
    return wrap_cudnnSetConvolutionNdDescriptor(d, 2, (const int[]){pad_h, pad_w}, (const int[]){u, v},
                                                (const int[]){dilation_h, dilation_w}, mode, compute);
}

int wrap_cudnnGetConvolutionNdDescriptor(void *desc, int wanted, int *n, int *pad, int *stride, int *dilation,
                                         int *mode, int *compute)
{
    const struct dnn_convolution *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_CONVOLUTION, d) && wanted >= 0);
    if (n)
        *n = d->n;
    if (mode)
        *mode = d->mode;
    if (compute)
        *compute = d->compute;
    for (int i = 0; i < wanted && i < d->n; i++) {
        if (pad)
            pad[i] = d->pad[i];
        if (stride)
            stride[i] = d->stride[i];
        if (dilation)
            dilation[i] = d->dilation[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetConvolution2dDescriptor(void *desc, int *pad_h, int *pad_w, int *u, int *v, int *dilation_h,
                                         int *dilation_w, int *mode, int *compute)
{
    const struct dnn_convolution *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_CONVOLUTION, d) && d->n == 2);
    int *const to[] = {pad_h, pad_w, u, v, dilation_h, dilation_w, mode, compute};
    const int from[] = {d->pad[0],      d->pad[1],      d->stride[0], d->stride[1],
                        d->dilation[0], d->dilation[1], d->mode,      d->compute};
    for (int i = 0; i < 8; i++)
        if (to[i])
            *to[i] = from[i];
    return CUDNN_STATUS_SUCCESS;
}

/* A member of the descriptor: what it may be, and where it is. */
#define MEMBER(Name, field, good) \
    int wrap_cudnnSetConvolution##Name(void *d, int value) \
    { \
        DNN_BAD_UNLESS(dnn_is(DNN_CONVOLUTION, d) && (good)); \
        ((struct dnn_convolution *)d)->field = value; \
        return CUDNN_STATUS_SUCCESS; \
    } \
    int wrap_cudnnGetConvolution##Name(void *d, int *value) \
    { \
        DNN_BAD_UNLESS(dnn_is(DNN_CONVOLUTION, d) && value); \
        *value = ((struct dnn_convolution *)d)->field; \
        return CUDNN_STATUS_SUCCESS; \
    }
/* WRAPS: cudnnSetConvolutionGroupCount cudnnGetConvolutionGroupCount cudnnSetConvolutionMathType */
/* WRAPS: cudnnGetConvolutionMathType cudnnSetConvolutionReorderType cudnnGetConvolutionReorderType */
MEMBER(GroupCount, groups, value > 0)
MEMBER(MathType, math, (unsigned)value <= CUDNN_FMA_MATH)
MEMBER(ReorderType, reorder, (unsigned)value <= CUDNN_NO_REORDER)

/* ---- shapes ------------------------------------------------------------------------------------ */

/* Length of the result of one dimension; not above 0 where nothing fits. */
static int64_t outcome(const struct dnn_convolution *d, int i, int64_t in, int64_t window)
{
    int64_t room = in + 2 * (int64_t)d->pad[i] - ((window - 1) * d->dilation[i] + 1);
    return room < 0 ? 0 : room / d->stride[i] + 1;
}

/* The convolution that descriptors say; the result's shape must be what they give, where there is a result. */
int dnn_convolution_of(struct mudnn_convolution *c, const void *desc, const void *x_desc, const void *w_desc,
                       const void *y_desc)
{
    const struct dnn_convolution *d = desc;
    const struct mudnn_tensor *x = dnn_tensor_of(DNN_TENSOR, x_desc), *w = dnn_tensor_of(DNN_FILTER, w_desc);
    const struct mudnn_tensor *y = dnn_tensor_of(DNN_TENSOR, y_desc);
    DNN_BAD_UNLESS(dnn_is(DNN_CONVOLUTION, d) && d->n && x && w && y);
    DNN_BAD_UNLESS(x->n == d->n + 2 && w->n == x->n && y->n == x->n);
    DNN_BAD_UNLESS(x->dim[1] == w->dim[1] * d->groups && w->dim[0] % d->groups == 0);
    DNN_BAD_UNLESS(y->dim[0] == x->dim[0] && y->dim[1] == w->dim[0]);
    *c = (struct mudnn_convolution){
        .spatial = d->n, .groups = d->groups, .flip = d->mode == CUDNN_CONVOLUTION, .x = *x, .w = *w, .y = *y};
    for (int i = 0; i < d->n; i++) {
        c->pad[i] = c->pad_after[i] = d->pad[i];
        c->stride[i] = d->stride[i];
        c->dilation[i] = d->dilation[i];
        DNN_BAD_UNLESS(y->dim[i + 2] == outcome(d, i, x->dim[i + 2], w->dim[i + 2]));
    }
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetConvolutionNdForwardOutputDim(void *desc, void *x_desc, void *w_desc, int n, int *dims)
{
    const struct dnn_convolution *d = desc;
    const struct mudnn_tensor *x = dnn_tensor_of(DNN_TENSOR, x_desc), *w = dnn_tensor_of(DNN_FILTER, w_desc);
    DNN_BAD_UNLESS(dnn_is(DNN_CONVOLUTION, d) && x && w && dims && x->n == d->n + 2 && w->n == x->n && n == x->n);
    DNN_BAD_UNLESS(x->dim[1] == w->dim[1] * d->groups && w->dim[0] % d->groups == 0);
    for (int i = 0; i < d->n; i++) {
        const int64_t o = outcome(d, i, x->dim[i + 2], w->dim[i + 2]);
        DNN_BAD_UNLESS(o > 0 && o <= INT32_MAX);
    }
    dims[0] = (int)x->dim[0];
    dims[1] = (int)w->dim[0];
    for (int i = 0; i < d->n; i++)
        dims[i + 2] = (int)outcome(d, i, x->dim[i + 2], w->dim[i + 2]);
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnGetConvolution2dForwardOutputDim(void *desc, void *x, void *w, int *n, int *c, int *h, int *width)
{
    int dims[4];
    DNN_BAD_UNLESS(n && c && h && width);
    int r = wrap_cudnnGetConvolutionNdForwardOutputDim(desc, x, w, 4, dims);
    if (!r)
        *n = dims[0], *c = dims[1], *h = dims[2], *width = dims[3];
    return r;
}

/* ---- algorithms -------------------------------------------------------------------------------- */

/* cudnnConvolutionFwdAlgoPerf_t and its two kin. */
struct performance {
    int algo, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
};

enum way { FORWARD, BACKWARD_DATA, BACKWARD_FILTER };
static const struct {
    int count, first; /* algorithms, and the one that stands for all: implicit GEMM, or the deterministic one */
} ways[] = {{CUDNN_CONVOLUTION_FWD_ALGO_COUNT, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM},
            {CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1},
            {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1}};

/* Vectors of 4 give vectors of 4 or floats, those of 32 vectors of 32, without dilation, as sums of 32 bits; the same
 * of NVIDIA's (mapping/facts/cuda.md F11). */
static bool has_vectors_right(const struct mudnn_convolution *c, const struct dnn_convolution *d)
{
    bool good = d->compute == CUDNN_DATA_INT32 && c->x.vector == c->w.vector;
    for (int i = 0; i < d->n; i++)
        good = good && d->dilation[i] == 1;
    if (c->y.type == CUDNN_DATA_FLOAT)
        return good && c->x.vector == 4;
    return good && c->y.type == CUDNN_DATA_INT8 && c->y.vector == c->x.vector;
}

/* Forward convolutions of numbers of eight bits are computed as INT32 and give floats, integers or eight bits; all
 * others stay in their type, and are computed in a type with a fraction. */
static int supported(const struct mudnn_convolution *c, enum way way, const struct dnn_convolution *d)
{
    int x = c->x.type, w = c->w.type, y = c->y.type;
    if ((c->x.vector > 1 || c->w.vector > 1 || c->y.vector > 1) && !has_vectors_right(c, d))
        return CUDNN_STATUS_NOT_SUPPORTED;
    bool floats = x == w && x == y &&
                  (x == CUDNN_DATA_FLOAT || x == CUDNN_DATA_DOUBLE || x == CUDNN_DATA_HALF || x == CUDNN_DATA_BFLOAT16);
    bool bytes = way == FORWARD && (x == CUDNN_DATA_INT8 || x == CUDNN_DATA_UINT8) && w == CUDNN_DATA_INT8 &&
                 (y == CUDNN_DATA_INT8 || y == CUDNN_DATA_FLOAT || y == CUDNN_DATA_INT32);
    floats = floats && (d->compute == CUDNN_DATA_FLOAT || d->compute == CUDNN_DATA_DOUBLE || d->compute == x);
    bytes = bytes && d->compute == CUDNN_DATA_INT32;
    return floats || bytes ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

static int algorithms(void *handle, enum way way, const void *desc, const void *x, const void *w, const void *y,
                      int wanted, int *returned, void *results)
{
    struct performance *p = results;
    struct mudnn_convolution c;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(returned && p && wanted > 0);
    int r = dnn_convolution_of(&c, desc, x, w, y);
    if (!r)
        r = supported(&c, way, desc);
    if (r)
        return r;
    *p = (struct performance){.algo = ways[way].first,
                              .status = CUDNN_STATUS_SUCCESS,
                              .time = 1,
                              .determinism = CUDNN_DETERMINISTIC,
                              .math = ((const struct dnn_convolution *)desc)->math};
    *returned = 1;
    return CUDNN_STATUS_SUCCESS;
}

static int count_of(void *handle, enum way way, int *count)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(count);
    *count = ways[way].count;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetConvolutionForwardAlgorithmMaxCount(void *h, int *n) { return count_of(h, FORWARD, n); }
int wrap_cudnnGetConvolutionBackwardDataAlgorithmMaxCount(void *h, int *n) { return count_of(h, BACKWARD_DATA, n); }
int wrap_cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(void *h, int *n) { return count_of(h, BACKWARD_FILTER, n); }

int wrap_cudnnGetConvolutionForwardAlgorithm_v7(void *h, void *x, void *w, void *d, void *y, int wanted, int *returned,
                                                void *results)
{
    return algorithms(h, FORWARD, d, x, w, y, wanted, returned, results);
}
int wrap_cudnnGetConvolutionBackwardDataAlgorithm_v7(void *h, void *w, void *y, void *d, void *x, int wanted,
                                                     int *returned, void *results)
{
    return algorithms(h, BACKWARD_DATA, d, x, w, y, wanted, returned, results);
}
int wrap_cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *h, void *x, void *y, void *d, void *w, int wanted,
                                                       int *returned, void *results)
{
    return algorithms(h, BACKWARD_FILTER, d, x, w, y, wanted, returned, results);
}
int wrap_cudnnFindConvolutionForwardAlgorithm(void *h, void *x, void *w, void *d, void *y, int wanted, int *returned,
                                              void *results)
{
    return algorithms(h, FORWARD, d, x, w, y, wanted, returned, results);
}
int wrap_cudnnFindConvolutionBackwardDataAlgorithm(void *h, void *w, void *y, void *d, void *x, int wanted,
                                                   int *returned, void *results)
{
    return algorithms(h, BACKWARD_DATA, d, x, w, y, wanted, returned, results);
}
int wrap_cudnnFindConvolutionBackwardFilterAlgorithm(void *h, void *x, void *y, void *d, void *w, int wanted,
                                                     int *returned, void *results)
{
    return algorithms(h, BACKWARD_FILTER, d, x, w, y, wanted, returned, results);
}
/* With one algorithm there is nothing to measure, so the program's memory is left alone. */
int wrap_cudnnFindConvolutionForwardAlgorithmEx(void *h, void *x, const void *x_at, void *w, const void *w_at, void *d,
                                                void *y, void *y_at, int wanted, int *returned, void *results,
                                                void *space, size_t size)
{
    (void)space, (void)size;
    DNN_BAD_UNLESS(x_at && w_at && y_at);
    return algorithms(h, FORWARD, d, x, w, y, wanted, returned, results);
}
int wrap_cudnnFindConvolutionBackwardDataAlgorithmEx(void *h, void *w, const void *w_at, void *y, const void *y_at,
                                                     void *d, void *x, void *x_at, int wanted, int *returned,
                                                     void *results, void *space, size_t size)
{
    (void)space, (void)size;
    DNN_BAD_UNLESS(x_at && w_at && y_at);
    return algorithms(h, BACKWARD_DATA, d, x, w, y, wanted, returned, results);
}
int wrap_cudnnFindConvolutionBackwardFilterAlgorithmEx(void *h, void *x, const void *x_at, void *y, const void *y_at,
                                                       void *d, void *w, void *w_at, int wanted, int *returned,
                                                       void *results, void *space, size_t size)
{
    (void)space, (void)size;
    DNN_BAD_UNLESS(x_at && w_at && y_at);
    return algorithms(h, BACKWARD_FILTER, d, x, w, y, wanted, returned, results);
}

static int workspace(void *handle, enum way way, const void *desc, const void *x, const void *w, const void *y,
                     int algo, size_t *size)
{
    struct mudnn_convolution c;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(size && algo >= 0 && algo < ways[way].count);
    int r = dnn_convolution_of(&c, desc, x, w, y);
    if (!r)
        r = supported(&c, way, desc);
    if (!r)
        *size = 0;
    return r;
}
int wrap_cudnnGetConvolutionForwardWorkspaceSize(void *h, void *x, void *w, void *d, void *y, int algo, size_t *size)
{
    return workspace(h, FORWARD, d, x, w, y, algo, size);
}
int wrap_cudnnGetConvolutionBackwardDataWorkspaceSize(void *h, void *w, void *y, void *d, void *x, int algo,
                                                      size_t *size)
{
    return workspace(h, BACKWARD_DATA, d, x, w, y, algo, size);
}
int wrap_cudnnGetConvolutionBackwardFilterWorkspaceSize(void *h, void *x, void *y, void *d, void *w, int algo,
                                                        size_t *size)
{
    return workspace(h, BACKWARD_FILTER, d, x, w, y, algo, size);
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* What every call checks: the shapes, the types, and that the pointers it reads are there. */
static int prepare(struct mudnn_convolution *c, void *handle, enum way way, const void *desc, const void *x,
                   const void *w, const void *y, int algo, const void *space, size_t size)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(algo >= 0 && algo < ways[way].count && (!size || space));
    int r = dnn_convolution_of(c, desc, x, w, y);
    return r ? r : supported(c, way, desc);
}

static int check_places(const struct mudnn_convolution *c, const void *x_at, const void *w_at, const void *y_at)
{
    DNN_ALIGNED(c->x.type, x_at);
    DNN_ALIGNED(c->w.type, w_at);
    DNN_ALIGNED(c->y.type, y_at);
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnConvolutionForward(void *handle, const void *alpha, void *x, const void *x_at, void *w, const void *w_at,
                                 void *d, int algo, void *space, size_t size, const void *beta, void *y, void *y_at)
{
    struct mudnn_convolution c;
    int r = prepare(&c, handle, FORWARD, d, x, w, y, algo, space, size);
    if (r)
        return r;
    DNN_BAD_UNLESS(alpha && beta && x_at && w_at && y_at);
    r = check_places(&c, x_at, w_at, y_at);
    if (r)
        return r;
    return dnn_done(mu.mudnnHostConvolutionForward(dnn_stream(handle), &c, dnn_scalar(alpha, c.y.type), x_at, w_at,
                                                   dnn_scalar(beta, c.y.type), y_at, NULL),
                    "cudnnConvolutionForward");
}

int wrap_cudnnConvolutionBackwardData(void *handle, const void *alpha, void *w, const void *w_at, void *y,
                                      const void *y_at, void *d, int algo, void *space, size_t size, const void *beta,
                                      void *x, void *x_at)
{
    struct mudnn_convolution c;
    int r = prepare(&c, handle, BACKWARD_DATA, d, x, w, y, algo, space, size);
    if (r)
        return r;
    DNN_BAD_UNLESS(alpha && beta && x_at && w_at && y_at);
    r = check_places(&c, x_at, w_at, y_at);
    if (r)
        return r;
    return dnn_done(mu.mudnnHostConvolutionBackwardData(dnn_stream(handle), &c, dnn_scalar(alpha, c.x.type), w_at, y_at,
                                                        dnn_scalar(beta, c.x.type), x_at),
                    "cudnnConvolutionBackwardData");
}

int wrap_cudnnConvolutionBackwardFilter(void *handle, const void *alpha, void *x, const void *x_at, void *y,
                                        const void *y_at, void *d, int algo, void *space, size_t size, const void *beta,
                                        void *w, void *w_at)
{
    struct mudnn_convolution c;
    int r = prepare(&c, handle, BACKWARD_FILTER, d, x, w, y, algo, space, size);
    if (r)
        return r;
    DNN_BAD_UNLESS(alpha && beta && x_at && w_at && y_at);
    r = check_places(&c, x_at, w_at, y_at);
    if (r)
        return r;
    return dnn_done(mu.mudnnHostConvolutionBackwardFilter(dnn_stream(handle), &c, dnn_scalar(alpha, c.w.type), x_at,
                                                          y_at, dnn_scalar(beta, c.w.type), w_at),
                    "cudnnConvolutionBackwardFilter");
}

/* cuDNN allows the identity and ReLU here; the others cost nothing more. */
int wrap_cudnnConvolutionBiasActivationForward(void *handle, const void *alpha1, void *x, const void *x_at, void *w,
                                               const void *w_at, void *d, int algo, void *space, size_t size,
                                               const void *alpha2, void *z, const void *z_at, void *bias,
                                               const void *bias_at, void *act, void *y, void *y_at)
{
    struct mudnn_convolution c;
    const struct dnn_activation *a = act;
    const struct mudnn_tensor *zt = dnn_tensor_of(DNN_TENSOR, z), *bt = dnn_tensor_of(DNN_TENSOR, bias);
    int r = prepare(&c, handle, FORWARD, d, x, w, y, algo, space, size);
    if (r)
        return r;
    DNN_BAD_UNLESS(alpha1 && alpha2 && x_at && w_at && y_at && zt && bt && bias_at && dnn_is(DNN_ACTIVATION, a));
    r = check_places(&c, x_at, w_at, y_at);
    if (r)
        return r;
    DNN_ALIGNED(zt->type, z_at);
    DNN_ALIGNED(bt->type, bias_at);
    double scale = dnn_scalar(alpha2, c.y.type);
    DNN_BAD_UNLESS(dnn_same_shape(zt, &c.y) && (z_at || scale == 0));
    DNN_BAD_UNLESS(dnn_serves(bt, &c.y) && bt->dim[1] == c.y.dim[1]);
    struct mudnn_epilogue e = {.bias = *bt,
                               .bias_at = bias_at,
                               .alpha2 = scale,
                               .mode = a->mode,
                               .coefficient = a->mode == CUDNN_ACTIVATION_SWISH ? a->swish : a->coefficient};
    if (scale != 0)
        e.z = *zt, e.z_at = z_at;
    return dnn_done(
        mu.mudnnHostConvolutionForward(dnn_stream(handle), &c, dnn_scalar(alpha1, c.y.type), x_at, w_at, 0, y_at, &e),
        "cudnnConvolutionBiasActivationForward");
}

/* The bias's gradient is a sum over all but the channels. */
int wrap_cudnnConvolutionBackwardBias(void *handle, const void *alpha, void *y, const void *y_at, const void *beta,
                                      void *b, void *b_at)
{
    const struct mudnn_tensor *yt = dnn_tensor_of(DNN_TENSOR, y), *bt = dnn_tensor_of(DNN_TENSOR, b);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(yt && bt && alpha && beta && y_at && b_at && bt->type == yt->type && dnn_serves(bt, yt));
    DNN_ALIGNED(yt->type, y_at, b_at);
    for (int i = 0; i < bt->n; i++)
        DNN_BAD_UNLESS(bt->dim[i] == (i == 1 ? yt->dim[1] : 1));
    struct mudnn_reduction r = {.operation = MUDNN_REDUCE_TENSOR_ADD,
                                .nan = true,
                                .alpha = dnn_scalar(alpha, bt->type),
                                .beta = dnn_scalar(beta, bt->type),
                                .a = *yt,
                                .c = *bt,
                                .a_at = y_at,
                                .c_at = b_at};
    return dnn_done(mu.mudnnHostReduce(dnn_stream(handle), &r), "cudnnConvolutionBackwardBias");
}

/* The matrix of x's windows: a row for each image and output place, as long as one filter; column-major, and turned
 * around as the filter would be (seen of cuDNN 9's kernel). */
int wrap_cudnnIm2Col(void *handle, void *x, const void *x_at, void *w, void *desc, void *to)
{
    const struct dnn_convolution *d = desc;
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *wt = dnn_tensor_of(DNN_FILTER, w);
    int dims[MUDNN_DIMS];
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_CONVOLUTION, d) && d->n && xt && wt && x_at && to);
    int r = wrap_cudnnGetConvolutionNdForwardOutputDim(desc, x, w, d->n + 2, dims);
    if (r)
        return r;
    if (d->groups != 1 || wt->vector != 1)
        return CUDNN_STATUS_NOT_SUPPORTED;
    struct mudnn_im2col m = {.c = {.spatial = d->n,
                                   .groups = 1,
                                   .flip = d->mode == CUDNN_CONVOLUTION,
                                   .x = *xt,
                                   .w = *wt,
                                   .y = {.n = xt->n, .vector = 1}},
                             .x_at = x_at,
                             .to = to};
    for (int i = 0; i < xt->n; i++)
        m.c.y.dim[i] = dims[i];
    for (int i = 0; i < d->n; i++)
        m.c.pad[i] = d->pad[i], m.c.stride[i] = d->stride[i], m.c.dilation[i] = d->dilation[i];
    return dnn_done(mu.mudnnHostIm2col(dnn_stream(handle), &m), "cudnnIm2Col");
}
