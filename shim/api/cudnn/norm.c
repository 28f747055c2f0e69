/* cuDNN's batch normalisation, and dropout. */
#include "api/cudnn/dnn.h"

struct dnn_dropout {
    struct dnn_object object;
    float rate;
    unsigned long long seed;
    uint64_t *state;
};

/* The shape of what is kept for each feature: all of an image's elements, or the channels. */
static struct mudnn_tensor features(const struct mudnn_tensor *x, int mode)
{
    struct mudnn_tensor s = {.n = x->n, .vector = 1};
    int64_t step = 1;
    s.type = x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    for (int i = x->n; i-- > 0; step *= s.dim[i]) {
        s.dim[i] = i == 1 || (i > 1 && mode == CUDNN_BATCHNORM_PER_ACTIVATION) ? x->dim[i] : 1;
        s.stride[i] = step;
    }
    return s;
}

int wrap_cudnnDeriveBNTensorDescriptor(void *derived, void *x, int mode)
{
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, x);
    struct dnn_tensor *d = derived;
    DNN_BAD_UNLESS(dnn_is(DNN_TENSOR, d) && t && (unsigned)mode <= CUDNN_BATCHNORM_SPATIAL_PERSISTENT);
    d->t = features(t, mode);
    d->given = d->t.type;
    return CUDNN_STATUS_SUCCESS;
}

/* What every call gives: x and the features' shape. The program's descriptor of the latter must have the shape that is
 * derived of x. */
static int begin(struct mudnn_norm *n, void *handle, int mode, const void *x, const void *s, double epsilon)
{
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *st = dnn_tensor_of(DNN_TENSOR, s);
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS((unsigned)mode <= CUDNN_BATCHNORM_SPATIAL_PERSISTENT && xt && st && epsilon >= 0);
    struct mudnn_tensor want = features(xt, mode);
    DNN_BAD_UNLESS(dnn_same_shape(&want, st) && want.type == st->type);
    *n = (struct mudnn_norm){.x = *xt, .s = want, .alpha_s = 1, .epsilon = epsilon};
    return CUDNN_STATUS_SUCCESS;
}
static bool fits(struct mudnn_tensor *to, const struct mudnn_norm *n, const void *d)
{
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, d);
    if (!t || !dnn_same_shape(t, &n->x) || t->type != n->x.type)
        return false;
    *to = *t;
    return true;
}

/* What follows the normalisation: an addition of z, an activation. */
static int operations(struct mudnn_norm *n, int ops, const void *act, const void *z, const void *z_at)
{
    DNN_BAD_UNLESS((unsigned)ops <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION);
    n->relu = ops != CUDNN_BATCHNORM_OPS_BN;
    if (n->relu) {
        const struct dnn_activation *a = act;
        DNN_BAD_UNLESS(dnn_is(DNN_ACTIVATION, a));
        if (a->mode != CUDNN_ACTIVATION_RELU)
            return CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION) {
        DNN_BAD_UNLESS(z_at && fits(&n->z, n, z));
        DNN_ALIGNED(n->x.type, z_at);
        n->z_at = z_at;
    }
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnBatchNormalizationForwardTrainingEx(void *handle, int mode, int ops, const void *alpha, const void *beta,
                                                  void *x, const void *x_at, void *z, const void *z_at, void *y,
                                                  void *y_at, void *s, const void *scale, const void *bias,
                                                  double factor, void *running_mean, void *running_variance,
                                                  double epsilon, void *mean, void *inverse, void *act, void *space,
                                                  size_t size, void *reserve, size_t reserve_size)
{
    struct mudnn_norm n;
    int r = begin(&n, handle, mode, x, s, epsilon);
    (void)reserve, (void)reserve_size;
    if (r)
        return r;
    DNN_BAD_UNLESS((unsigned)ops <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION && alpha && beta && x_at && y_at && scale &&
                   bias && (!size || space) && fits(&n.y, &n, y) && !running_mean == !running_variance &&
                   !mean == !inverse);
    DNN_ALIGNED(n.x.type, x_at, y_at);
    DNN_ALIGNED(n.s.type, scale, bias, running_mean, running_variance, mean, inverse);
    n.training = true;
    n.alpha = dnn_scalar(alpha, n.x.type), n.beta = dnn_scalar(beta, n.x.type);
    n.factor = factor;
    r = operations(&n, ops, act, z, z_at);
    if (r)
        return r;
    n.x_at = x_at, n.y_at = y_at, n.scale = scale, n.bias = bias;
    n.running_mean = running_mean, n.running_variance = running_variance;
    n.mean = mean, n.inverse = inverse;
    return dnn_done(mu.mudnnHostNormForward(dnn_stream(handle), &n), "cudnnBatchNormalizationForwardTrainingEx");
}

int wrap_cudnnBatchNormalizationForwardTraining(void *handle, int mode, const void *alpha, const void *beta, void *x,
                                                const void *x_at, void *y, void *y_at, void *s, const void *scale,
                                                const void *bias, double factor, void *running_mean,
                                                void *running_variance, double epsilon, void *mean, void *inverse)
{
    return wrap_cudnnBatchNormalizationForwardTrainingEx(
        handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, x, x_at, NULL, NULL, y, y_at, s, scale, bias, factor,
        running_mean, running_variance, epsilon, mean, inverse, NULL, NULL, 0, NULL, 0);
}

static int infer(struct mudnn_norm *n, void *handle, int mode, const void *alpha, const void *beta, const void *x,
                 const void *x_at, const void *y, void *y_at, const void *s, const void *scale, const void *bias,
                 const void *mean, const void *variance, double epsilon)
{
    int r = begin(n, handle, mode, x, s, epsilon);
    if (r)
        return r;
    DNN_BAD_UNLESS(alpha && beta && x_at && y_at && scale && bias && mean && variance && fits(&n->y, n, y));
    DNN_ALIGNED(n->x.type, x_at, y_at);
    DNN_ALIGNED(n->s.type, scale, bias, mean, variance);
    n->alpha = dnn_scalar(alpha, n->x.type), n->beta = dnn_scalar(beta, n->x.type);
    n->x_at = x_at, n->y_at = y_at, n->scale = scale, n->bias = bias;
    n->running_mean = (void *)(uintptr_t)mean, n->running_variance = (void *)(uintptr_t)variance;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnBatchNormalizationForwardInference(void *handle, int mode, const void *alpha, const void *beta, void *x,
                                                 const void *x_at, void *y, void *y_at, void *s, const void *scale,
                                                 const void *bias, const void *mean, const void *variance,
                                                 double epsilon)
{
    struct mudnn_norm n;
    int r = infer(&n, handle, mode, alpha, beta, x, x_at, y, y_at, s, scale, bias, mean, variance, epsilon);
    return r ? r : dnn_done(mu.mudnnHostNormForward(dnn_stream(handle), &n), "cudnnBatchNormalizationForwardInference");
}

int wrap_cudnnBatchNormalizationBackwardEx(void *handle, int mode, int ops, const void *alpha, const void *beta,
                                           const void *alpha_s, const void *beta_s, void *x, const void *x_at, void *y,
                                           const void *y_at, void *dy, const void *dy_at, void *dz, void *dz_at,
                                           void *dx, void *dx_at, void *s, const void *scale, const void *bias,
                                           void *dscale, void *dbias, double epsilon, const void *mean,
                                           const void *inverse, void *act, void *space, size_t size, void *reserve,
                                           size_t reserve_size)
{
    struct mudnn_norm n;
    int r = begin(&n, handle, mode, x, s, epsilon);
    (void)reserve, (void)reserve_size, (void)bias;
    if (r)
        return r;
    DNN_BAD_UNLESS((unsigned)ops <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION && alpha && beta && alpha_s && beta_s &&
                   x_at && dy_at && dx_at && scale && dscale && dbias && (!size || space) && !mean == !inverse);
    DNN_BAD_UNLESS(fits(&n.dy, &n, dy) && fits(&n.dx, &n, dx));
    DNN_ALIGNED(n.x.type, x_at, dy_at, dx_at, y_at, dz_at);
    DNN_ALIGNED(n.s.type, scale, dscale, dbias, mean, inverse);
    n.training = true;
    n.alpha = dnn_scalar(alpha, n.x.type), n.beta = dnn_scalar(beta, n.x.type);
    n.alpha_s = dnn_scalar(alpha_s, n.x.type), n.beta_s = dnn_scalar(beta_s, n.x.type);
    n.relu = ops != CUDNN_BATCHNORM_OPS_BN;
    if (n.relu) {
        DNN_BAD_UNLESS(dnn_is(DNN_ACTIVATION, act) && y_at && fits(&n.y, &n, y));
        n.y_at = (void *)(uintptr_t)y_at;
    }
    if (ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION) {
        DNN_BAD_UNLESS(dz_at && fits(&n.dz, &n, dz));
        n.dz_at = dz_at;
    }
    n.x_at = x_at, n.dy_at = dy_at, n.dx_at = dx_at, n.scale = scale, n.dscale = dscale, n.dbias = dbias;
    n.mean = (void *)(uintptr_t)mean, n.inverse = (void *)(uintptr_t)inverse;
    return dnn_done(mu.mudnnHostNormBackward(dnn_stream(handle), &n), "cudnnBatchNormalizationBackwardEx");
}

int wrap_cudnnBatchNormalizationBackward(void *handle, int mode, const void *alpha, const void *beta,
                                         const void *alpha_s, const void *beta_s, void *x, const void *x_at, void *dy,
                                         const void *dy_at, void *dx, void *dx_at, void *s, const void *scale,
                                         void *dscale, void *dbias, double epsilon, const void *mean,
                                         const void *inverse)
{
    return wrap_cudnnBatchNormalizationBackwardEx(handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, alpha_s, beta_s, x,
                                                  x_at, NULL, NULL, dy, dy_at, NULL, NULL, dx, dx_at, s, scale, NULL,
                                                  dscale, dbias, epsilon, mean, inverse, NULL, NULL, 0, NULL, 0);
}

/* Neither workspace nor reserve is needed: gradients are made of the result and the saved statistics. */
static int none(void *handle, int mode, int ops, const void *x, size_t *size)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS((unsigned)mode <= CUDNN_BATCHNORM_SPATIAL_PERSISTENT && dnn_tensor_of(DNN_TENSOR, x) && size &&
                   (unsigned)ops <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION);
    *size = 0;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *h, int mode, int ops, void *x, void *z, void *y,
                                                                  void *s, void *act, size_t *size)
{
    (void)z, (void)y, (void)s, (void)act;
    return none(h, mode, ops, x, size);
}
int wrap_cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *h, int mode, int ops, void *x, void *y, void *dy,
                                                           void *dz, void *dx, void *s, void *act, size_t *size)
{
    (void)y, (void)dy, (void)dz, (void)dx, (void)s, (void)act;
    return none(h, mode, ops, x, size);
}
int wrap_cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *h, int mode, int ops, void *act, void *x,
                                                              size_t *size)
{
    (void)act;
    return none(h, mode, ops, x, size);
}

/* ---- the same by its later name ------------------------------------------------------------------ */

/* cudnnNormalization* are batch normalisations whose two kinds of parameters have a descriptor each; modes and
 * operations have the same numbers, and groups there is one. */
static int later(int mode, int algo, const void *s, const void *statistics, int groups)
{
    const struct mudnn_tensor *a = dnn_tensor_of(DNN_TENSOR, s), *b = dnn_tensor_of(DNN_TENSOR, statistics);
    DNN_BAD_UNLESS((unsigned)mode <= CUDNN_NORM_PER_CHANNEL && (unsigned)algo <= CUDNN_NORM_ALGO_PERSIST);
    DNN_BAD_UNLESS(!s == !a && !statistics == !b && groups > 0);
    DNN_BAD_UNLESS(!a || !b || (dnn_same_shape(a, b) && a->type == b->type));
    return groups == 1 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

int wrap_cudnnDeriveNormTensorDescriptor(void *scale, void *statistics, void *x, int mode, int groups)
{
    int r = later(mode, 0, NULL, NULL, groups);
    if (!r)
        r = wrap_cudnnDeriveBNTensorDescriptor(scale, x, mode);
    return r ? r : wrap_cudnnDeriveBNTensorDescriptor(statistics, x, mode);
}

int wrap_cudnnNormalizationForwardTraining(void *handle, int mode, int ops, int algo, const void *alpha,
                                           const void *beta, void *x, const void *x_at, void *s, const void *scale,
                                           const void *bias, double factor, void *statistics, void *running_mean,
                                           void *running_variance, double epsilon, void *mean, void *inverse, void *act,
                                           void *z, const void *z_at, void *y, void *y_at, void *space, size_t size,
                                           void *reserve, size_t reserve_size, int groups)
{
    DNN_HANDLE_OR_LEAVE(handle);
    int r = later(mode, algo, s, statistics, groups);
    return r ? r
             : wrap_cudnnBatchNormalizationForwardTrainingEx(
                   handle, mode, ops, alpha, beta, x, x_at, z, z_at, y, y_at, s, scale, bias, factor, running_mean,
                   running_variance, epsilon, mean, inverse, act, space, size, reserve, reserve_size);
}

int wrap_cudnnNormalizationForwardInference(void *handle, int mode, int ops, int algo, const void *alpha,
                                            const void *beta, void *x, const void *x_at, void *s, const void *scale,
                                            const void *bias, void *statistics, const void *mean, const void *variance,
                                            void *z, const void *z_at, void *act, void *y, void *y_at, double epsilon,
                                            int groups)
{
    struct mudnn_norm n;
    DNN_HANDLE_OR_LEAVE(handle);
    int r = later(mode, algo, s, statistics, groups);
    if (!r)
        r = infer(&n, handle, mode, alpha, beta, x, x_at, y, y_at, s, scale, bias, mean, variance, epsilon);
    if (!r)
        r = operations(&n, ops, act, z, z_at);
    return r ? r : dnn_done(mu.mudnnHostNormForward(dnn_stream(handle), &n), "cudnnNormalizationForwardInference");
}

int wrap_cudnnNormalizationBackward(void *handle, int mode, int ops, int algo, const void *alpha, const void *beta,
                                    const void *alpha_s, const void *beta_s, void *x, const void *x_at, void *y,
                                    const void *y_at, void *dy, const void *dy_at, void *dz, void *dz_at, void *dx,
                                    void *dx_at, void *s, const void *scale, const void *bias, void *dscale,
                                    void *dbias, double epsilon, void *statistics, const void *mean,
                                    const void *inverse, void *act, void *space, size_t size, void *reserve,
                                    size_t reserve_size, int groups)
{
    DNN_HANDLE_OR_LEAVE(handle);
    int r = later(mode, algo, s, statistics, groups);
    return r ? r
             : wrap_cudnnBatchNormalizationBackwardEx(handle, mode, ops, alpha, beta, alpha_s, beta_s, x, x_at, y, y_at,
                                                      dy, dy_at, dz, dz_at, dx, dx_at, s, scale, bias, dscale, dbias,
                                                      epsilon, mean, inverse, act, space, size, reserve, reserve_size);
}

int wrap_cudnnGetNormalizationForwardTrainingWorkspaceSize(void *h, int mode, int ops, int algo, void *x, void *z,
                                                           void *y, void *s, void *act, void *statistics, size_t *size,
                                                           int groups)
{
    (void)z, (void)y, (void)act;
    DNN_HANDLE_OR_LEAVE(h);
    int r = later(mode, algo, s, statistics, groups);
    return r ? r : none(h, mode, ops, x, size);
}
int wrap_cudnnGetNormalizationBackwardWorkspaceSize(void *h, int mode, int ops, int algo, void *x, void *y, void *dy,
                                                    void *dz, void *dx, void *s, void *act, void *statistics,
                                                    size_t *size, int groups)
{
    (void)y, (void)dy, (void)dz, (void)dx, (void)act;
    DNN_HANDLE_OR_LEAVE(h);
    int r = later(mode, algo, s, statistics, groups);
    return r ? r : none(h, mode, ops, x, size);
}
int wrap_cudnnGetNormalizationTrainingReserveSpaceSize(void *h, int mode, int ops, int algo, void *act, void *x,
                                                       size_t *size, int groups)
{
    (void)act;
    DNN_HANDLE_OR_LEAVE(h);
    int r = later(mode, algo, NULL, NULL, groups);
    return r ? r : none(h, mode, ops, x, size);
}

/* ---- dropout ----------------------------------------------------------------------------------- */

enum { STATE = 2 * sizeof(uint64_t) };

int wrap_cudnnCreateDropoutDescriptor(void **d) { return dnn_create(DNN_DROPOUT, sizeof(struct dnn_dropout), d); }
int wrap_cudnnDestroyDropoutDescriptor(void *d) { return dnn_destroy(DNN_DROPOUT, d); }

int wrap_cudnnDropoutGetStatesSize(void *handle, size_t *size)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(size);
    *size = STATE;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnDropoutGetReserveSpaceSize(void *x, size_t *size)
{
    const struct mudnn_tensor *t = dnn_tensor_of(DNN_TENSOR, x);
    DNN_BAD_UNLESS(t && size);
    *size = 1;
    for (int i = 0; i < t->n; i++)
        *size *= (size_t)t->dim[i];
    return CUDNN_STATUS_SUCCESS;
}

/* Without a state the rate must be 0. */
int wrap_cudnnRestoreDropoutDescriptor(void *desc, void *handle, float rate, void *state, size_t size,
                                       unsigned long long seed)
{
    struct dnn_dropout *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_DROPOUT, d) && rate >= 0 && rate <= 1);
    DNN_HANDLE_OR_LEAVE(handle);
    if (state && size < STATE)
        return CUDNN_STATUS_INVALID_VALUE;
    DNN_BAD_UNLESS((uintptr_t)state % sizeof(uint64_t) == 0);
    d->rate = rate;
    d->state = state;
    d->seed = seed;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnSetDropoutDescriptor(void *desc, void *handle, float rate, void *state, size_t size,
                                   unsigned long long seed)
{
    int r = wrap_cudnnRestoreDropoutDescriptor(desc, handle, rate, state, size, seed);
    if (!r && state)
        r = dnn_done(mu.mudnnHostDropoutSeed(dnn_stream(handle), state, seed), "cudnnSetDropoutDescriptor");
    return r;
}
int wrap_cudnnGetDropoutDescriptor(void *desc, void *handle, float *rate, void **state, unsigned long long *seed)
{
    const struct dnn_dropout *d = desc;
    DNN_BAD_UNLESS(dnn_is(DNN_DROPOUT, d));
    DNN_HANDLE_OR_LEAVE(handle);
    if (rate)
        *rate = d->rate;
    if (state)
        *state = d->state;
    if (seed)
        *seed = d->seed;
    return CUDNN_STATUS_SUCCESS;
}

bool dnn_dropout_of(const void *desc, double *rate, uint64_t **state)
{
    const struct dnn_dropout *d = desc;
    if (!dnn_is(DNN_DROPOUT, d))
        return false;
    *rate = d->rate;
    *state = d->state;
    return true;
}

static int drop(void *handle, const void *desc, const void *x, const void *x_at, const void *y, void *y_at, void *mask,
                size_t size, bool again, const char *symbol)
{
    const struct dnn_dropout *d = desc;
    const struct mudnn_tensor *xt = dnn_tensor_of(DNN_TENSOR, x), *yt = dnn_tensor_of(DNN_TENSOR, y);
    size_t needed;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_DROPOUT, d) && xt && yt && x_at && y_at && mask && dnn_same_shape(xt, yt));
    int r = wrap_cudnnDropoutGetReserveSpaceSize((void *)(uintptr_t)x, &needed);
    DNN_BAD_UNLESS(!r && size >= needed && (again || d->state));
    DNN_ALIGNED(xt->type, x_at);
    DNN_ALIGNED(yt->type, y_at);
    struct mudnn_dropout o = {d->rate, d->state, again, *xt, *yt, x_at, y_at, mask};
    return dnn_done(mu.mudnnHostDropout(dnn_stream(handle), &o), symbol);
}
int wrap_cudnnDropoutForward(void *handle, void *d, void *x, const void *x_at, void *y, void *y_at, void *mask,
                             size_t size)
{
    return drop(handle, d, x, x_at, y, y_at, mask, size, false, "cudnnDropoutForward");
}
int wrap_cudnnDropoutBackward(void *handle, void *d, void *y, const void *y_at, void *x, void *x_at, void *mask,
                              size_t size)
{
    return drop(handle, d, y, y_at, x, x_at, mask, size, true, "cudnnDropoutBackward");
}
