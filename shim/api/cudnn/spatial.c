/* cuDNN's spatial transformers: grids of affine maps, and bilinear samples at their places. */
#include "api/cudnn/dnn.h"

struct dnn_spatial {
    struct dnn_object object;
    int type, n, dim[4]; /* of the result */
};

int wrap_cudnnCreateSpatialTransformerDescriptor(void **d)
{
    return dnn_create(DNN_SPATIAL, sizeof(struct dnn_spatial), d);
}
int wrap_cudnnDestroySpatialTransformerDescriptor(void *d) { return dnn_destroy(DNN_SPATIAL, d); }

int wrap_cudnnSetSpatialTransformerNdDescriptor(void *desc, int sampler, int type, int n, const int *dims)
{
    struct dnn_spatial *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_SPATIAL, d) && dims && sampler == CUDNN_SAMPLER_BILINEAR && dnn_size(type));
    if (n != 4 || (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF &&
                   type != CUDNN_DATA_BFLOAT16))
        return CUDNN_STATUS_NOT_SUPPORTED;
    int64_t count = 1;
    for (int i = 0; i < 4; i++)
        DNN_BAD_UNLESS(dims[i] > 0);
    for (int i = 0; i < 4; i++)
        count = mudnn_times(count, dims[i]);
    if (count > INT32_MAX)
        return CUDNN_STATUS_NOT_SUPPORTED; /* as a tensor of these dimensions is not */
    for (int i = 0; i < 4; i++)
        d->dim[i] = dims[i];
    d->type = type;
    d->n = n;
    return CUDNN_STATUS_SUCCESS;
}

static int grid(void *handle, const void *desc, bool backward, const void *theta, const void *at, const char *symbol)
{
    const struct dnn_spatial *d = desc;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_SPATIAL, d) && d->n && theta && at);
    DNN_ALIGNED(d->type, theta, at);
    struct mudnn_grid g = {.backward = backward,
                           .batch = d->dim[0],
                           .height = d->dim[2],
                           .width = d->dim[3],
                           .theta = (void *)(uintptr_t)theta,
                           .grid = (void *)(uintptr_t)at};
    g.type = d->type;
    return dnn_done(mu.mudnnHostGrid(dnn_stream(handle), &g), symbol);
}
int wrap_cudnnSpatialTfGridGeneratorForward(void *handle, void *d, const void *theta, void *at)
{
    return grid(handle, d, false, theta, at, "cudnnSpatialTfGridGeneratorForward");
}
int wrap_cudnnSpatialTfGridGeneratorBackward(void *handle, void *d, const void *at, void *theta)
{
    return grid(handle, d, true, theta, at, "cudnnSpatialTfGridGeneratorBackward");
}

/* x and y fit the descriptor: images and channels of both, y's size. */
static int begin(struct mudnn_sampler *s, void *handle, const void *desc, const void *x, const void *y,
                 const void *alpha, const void *beta)
{
    const struct dnn_spatial *d = desc;
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *yt = dnn_tensor_of(DNN_TENSOR, y);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_SPATIAL, d) && d->n && alpha && beta && xt && yt && xt->n == 4 && yt->n == 4);
    DNN_BAD_UNLESS(xt->dim[0] == yt->dim[0] && xt->dim[1] == yt->dim[1] && xt->type == d->type && yt->type == d->type);
    for (int i = 0; i < 4; i++)
        DNN_BAD_UNLESS(yt->dim[i] == d->dim[i]);
    *s = (struct mudnn_sampler){
        .alpha = dnn_scalar(alpha, d->type), .beta = dnn_scalar(beta, d->type), .x = *xt, .y = *yt};
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnSpatialTfSamplerForward(void *handle, void *d, const void *alpha, void *x, const void *x_at,
                                      const void *at, const void *beta, void *y, void *y_at)
{
    struct mudnn_sampler s;
    int r = begin(&s, handle, d, x, y, alpha, beta);
    if (r)
        return r;
    DNN_BAD_UNLESS(x_at && at && y_at);
    DNN_ALIGNED(s.x.type, x_at, at, y_at);
    s.x_at = x_at, s.grid = at, s.y_at = y_at;
    return dnn_done(mu.mudnnHostSampler(dnn_stream(handle), &s), "cudnnSpatialTfSamplerForward");
}

int wrap_cudnnSpatialTfSamplerBackward(void *handle, void *d, const void *alpha, void *x, const void *x_at,
                                       const void *beta, void *dx, void *dx_at, const void *alpha_grid, void *dy,
                                       const void *dy_at, const void *at, const void *beta_grid, void *dgrid)
{
    struct mudnn_sampler s;
    int r = begin(&s, handle, d, x, dy, alpha, beta);
    const struct mudnn_tensor *dxt = dnn_tensor_of(DNN_TENSOR, dx);
    if (r)
        return r;
    DNN_BAD_UNLESS(dxt && dnn_same_shape(dxt, &s.x) && dxt->type == s.x.type && alpha_grid && beta_grid);
    DNN_BAD_UNLESS(x_at && dx_at && dy_at && at && dgrid);
    DNN_ALIGNED(s.x.type, x_at, dx_at, dy_at, at, dgrid);
    s.backward = true;
    s.alpha_grid = dnn_scalar(alpha_grid, s.x.type), s.beta_grid = dnn_scalar(beta_grid, s.x.type);
    s.dx = *dxt;
    s.x_at = x_at, s.dx_at = dx_at, s.dy_at = dy_at, s.grid = at, s.dgrid = dgrid;
    return dnn_done(mu.mudnnHostSampler(dnn_stream(handle), &s), "cudnnSpatialTfSamplerBackward");
}
