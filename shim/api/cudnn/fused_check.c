/* What the plans of cuDNN's fused operations need: which operands must be there, of which shapes and types, and how
 * much workspace. */
#include "api/cudnn/fused.h"

/* A number of each of the channels of x, one behind the other, where the placeholder says that they are there. */
static int check_channels(const struct dnn_fused *p, int place, int desc, int64_t channels)
{
    const struct mudnn_tensor *t = fused_tensor(p, desc);
    int64_t count = 1;
    if (!fused_has(p, place))
        return CUDNN_STATUS_SUCCESS;
    DNN_BAD_UNLESS(t);
    for (int i = 0; i < t->n; i++)
        count *= t->dim[i];
    DNN_BAD_UNLESS(count == channels && t->dim[1] == channels);
    if (t->vector != 1 || (channels > 1 && t->stride[1] != 1))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return t->type == CUDNN_DATA_FLOAT || t->type == CUDNN_DATA_DOUBLE || t->type == CUDNN_DATA_HALF ||
                   t->type == CUDNN_DATA_BFLOAT16
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}
static int check_all_channels(const struct dnn_fused *p, const int (*list)[2], size_t n, int64_t channels)
{
    int r = CUDNN_STATUS_SUCCESS;
    for (size_t i = 0; !r && i < n; i++)
        r = check_channels(p, list[i][0], list[i][1], channels);
    return r;
}
#define CHANNELS(p, channels, ...) \
    check_all_channels(p, (const int[][2]){__VA_ARGS__}, sizeof(const int[][2]){__VA_ARGS__} / sizeof(int[2]), channels)
#define EQ_SCALE \
    { \
        CUDNN_PARAM_BN_EQSCALE_PLACEHOLDER, CUDNN_PARAM_BN_EQSCALEBIAS_DESC \
    }
#define EQ_BIAS \
    { \
        CUDNN_PARAM_BN_EQBIAS_PLACEHOLDER, CUDNN_PARAM_BN_EQSCALEBIAS_DESC \
    }
#define Z_SCALE \
    { \
        CUDNN_PARAM_BN_Z_EQSCALE_PLACEHOLDER, CUDNN_PARAM_BN_Z_EQSCALEBIAS_DESC \
    }
#define Z_BIAS \
    { \
        CUDNN_PARAM_BN_Z_EQBIAS_PLACEHOLDER, CUDNN_PARAM_BN_Z_EQSCALEBIAS_DESC \
    }
#define OF_BN(name) \
    { \
        CUDNN_PARAM_BN_##name##_PLACEHOLDER, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC \
    }

/* A tensor of a floating-point type without vectors. */
static bool is_plain(const struct mudnn_tensor *t)
{
    return t && t->vector == 1 &&
           (t->type == CUDNN_DATA_FLOAT || t->type == CUDNN_DATA_DOUBLE || t->type == CUDNN_DATA_HALF ||
            t->type == CUDNN_DATA_BFLOAT16);
}
/* Of batch normalisation only that of channels is fused. */
static bool is_spatial(const struct dnn_fused *p)
{
    return p->param[CUDNN_PARAM_BN_MODE].value != CUDNN_BATCHNORM_PER_ACTIVATION;
}
int dnn_fused_convolution(const struct dnn_fused *p, struct mudnn_convolution *c)
{
    const bool wgrad = p->ops == CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD;
    int r = dnn_convolution_of(c, p->param[CUDNN_PARAM_CONV_DESC].desc, p->param[CUDNN_PARAM_XDESC].desc,
                               p->param[wgrad ? CUDNN_PARAM_DWDESC : CUDNN_PARAM_WDESC].desc,
                               p->param[wgrad ? CUDNN_PARAM_DYDESC : CUDNN_PARAM_YDESC].desc);
    if (r)
        return r;
    if (!is_plain(&c->x) || !is_plain(&c->w) || !is_plain(&c->y) || c->x.type != c->w.type || c->x.type != c->y.type)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return CUDNN_STATUS_SUCCESS;
}
static bool is_convolution(int ops)
{
    return ops == CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS || ops == CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD ||
           ops == CUDNN_FUSED_CONV_SCALE_BIAS_ADD_ACTIVATION;
}

/* y's shape, and z's where it is there. */
static int check_sum(const struct dnn_fused *p, const struct mudnn_tensor *y, int z_place, int z_desc)
{
    const struct mudnn_tensor *z = fused_tensor(p, z_desc);
    if (!is_plain(y))
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (!fused_has(p, z_place))
        return CUDNN_STATUS_SUCCESS;
    DNN_BAD_UNLESS(z && dnn_same_shape(z, y));
    return is_plain(z) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
static int check_mask(const struct dnn_fused *p, const struct mudnn_tensor *y)
{
    const struct mudnn_tensor *m = fused_tensor(p, CUDNN_PARAM_ACTIVATION_BITMASK_DESC);
    int64_t words = 1, count = 1;
    if (!fused_has(p, CUDNN_PARAM_ACTIVATION_BITMASK_PLACEHOLDER))
        return CUDNN_STATUS_SUCCESS;
    DNN_BAD_UNLESS(m && m->type == CUDNN_DATA_INT32 && dnn_is_dense(m, m->n));
    for (int i = 0; i < m->n; i++)
        words *= m->dim[i];
    for (int i = 0; i < y->n; i++)
        count *= y->dim[i];
    DNN_BAD_UNLESS(words >= mudnn_mask_words(count));
    return CUDNN_STATUS_SUCCESS;
}

static int check_convolution(const struct dnn_fused *p, size_t *size)
{
    const struct dnn_activation *a;
    struct mudnn_convolution c;
    int r = dnn_fused_convolution(p, &c);
    if (r)
        return r;
    fused_activates(p, false, &a);
    if (p->ops == CUDNN_FUSED_CONV_SCALE_BIAS_ADD_ACTIVATION) {
        r = CHANNELS(p, c.y.dim[1], EQ_SCALE, EQ_BIAS, Z_SCALE, Z_BIAS);
        *size = fused_extent(&c.y, c.y.type);
        return r ? r : check_sum(p, &c.y, CUDNN_PARAM_ZDATA_PLACEHOLDER, CUDNN_PARAM_ZDESC);
    }
    *size = fused_scales(p) ? fused_extent(&c.x, c.x.type) : 0;
    if (p->ops == CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS && !fused_has(p, CUDNN_PARAM_YDATA_PLACEHOLDER))
        *size += fused_extent(&c.y, c.y.type);
    r = CHANNELS(p, c.x.dim[1], EQ_SCALE, EQ_BIAS);
    return r || p->ops == CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD
               ? r
               : CHANNELS(p, c.y.dim[1], {CUDNN_PARAM_YSUM_PLACEHOLDER, CUDNN_PARAM_YSTATS_DESC},
                          {CUDNN_PARAM_YSQSUM_PLACEHOLDER, CUDNN_PARAM_YSTATS_DESC});
}

static int check_finalize(const struct dnn_fused *p)
{
    const struct mudnn_tensor *t = fused_tensor(p, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC);
    DNN_BAD_UNLESS(t);
    if (!is_spatial(p))
        return CUDNN_STATUS_NOT_SUPPORTED;
    const bool training = p->ops == CUDNN_FUSED_BN_FINALIZE_STATISTICS_TRAINING;
    /* that of which all is made must be there */
    DNN_BAD_UNLESS(training ? fused_has(p, CUDNN_PARAM_YSUM_PLACEHOLDER) && fused_has(p, CUDNN_PARAM_YSQSUM_PLACEHOLDER)
                            : fused_has(p, CUDNN_PARAM_BN_RUNNING_MEAN_PLACEHOLDER) &&
                                  fused_has(p, CUDNN_PARAM_BN_RUNNING_VAR_PLACEHOLDER));
    int r = CHANNELS(p, t->dim[1], EQ_SCALE, EQ_BIAS, OF_BN(SCALE), OF_BN(BIAS), OF_BN(RUNNING_MEAN),
                     OF_BN(RUNNING_VAR));
    return r || !training ? r
                          : CHANNELS(p, t->dim[1], {CUDNN_PARAM_YSUM_PLACEHOLDER, CUDNN_PARAM_YSTATS_DESC},
                                     {CUDNN_PARAM_YSQSUM_PLACEHOLDER, CUDNN_PARAM_YSTATS_DESC}, OF_BN(SAVED_MEAN),
                                     OF_BN(SAVED_INVSTD));
}

/* The normalisation and its way back: x and y, dy and dx of one shape. */
static int check_norm(const struct dnn_fused *p, size_t *size)
{
    const bool back = p->ops == CUDNN_FUSED_DACTIVATION_FORK_DBATCHNORM;
    const struct mudnn_tensor *x = fused_tensor(p, CUDNN_PARAM_XDESC);
    const struct mudnn_tensor *y = fused_tensor(p, back ? CUDNN_PARAM_DYDESC : CUDNN_PARAM_YDESC);
    const struct mudnn_tensor *dx = back ? fused_tensor(p, CUDNN_PARAM_DXDESC) : x;
    const struct dnn_activation *a;
    DNN_BAD_UNLESS(x && y && dx && dnn_same_shape(x, y) && dnn_same_shape(x, dx));
    if (!is_plain(x) || !is_plain(dx) || !is_spatial(p) || !fused_activates(p, true, &a))
        return CUDNN_STATUS_NOT_SUPPORTED;
    int r = check_sum(p, y, back ? CUDNN_PARAM_DZDATA_PLACEHOLDER : CUDNN_PARAM_ZDATA_PLACEHOLDER,
                      back ? CUDNN_PARAM_DZDESC : CUDNN_PARAM_ZDESC);
    if (!r)
        r = check_mask(p, y);
    if (!back)
        return r ? r : CHANNELS(p, x->dim[1], EQ_SCALE, EQ_BIAS, Z_SCALE, Z_BIAS);
    DNN_BAD_UNLESS(fused_has(p, CUDNN_PARAM_BN_SCALE_PLACEHOLDER) &&
                   fused_has(p, CUDNN_PARAM_BN_SAVED_MEAN_PLACEHOLDER) &&
                   fused_has(p, CUDNN_PARAM_BN_SAVED_INVSTD_PLACEHOLDER) &&
                   fused_has(p, CUDNN_PARAM_BN_DSCALE_PLACEHOLDER) && fused_has(p, CUDNN_PARAM_BN_DBIAS_PLACEHOLDER));
    DNN_BAD_UNLESS(!a || fused_has(p, CUDNN_PARAM_ACTIVATION_BITMASK_PLACEHOLDER));
    if (a && !fused_has(p, CUDNN_PARAM_DZDATA_PLACEHOLDER))
        *size = fused_extent(y, y->type);
    return r ? r
             : CHANNELS(p, x->dim[1], OF_BN(SCALE), OF_BN(BIAS), OF_BN(SAVED_MEAN), OF_BN(SAVED_INVSTD), OF_BN(DSCALE),
                        OF_BN(DBIAS));
}

/* Operands without which there is nothing to do. */
static bool has_operands(const struct dnn_fused *p)
{
    static const int needed[][4] = {
        [CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS] = {CUDNN_PARAM_XDATA_PLACEHOLDER,
                                                            CUDNN_PARAM_WDATA_PLACEHOLDER},
        [CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD] = {CUDNN_PARAM_XDATA_PLACEHOLDER, CUDNN_PARAM_DYDATA_PLACEHOLDER,
                                                     CUDNN_PARAM_DWDATA_PLACEHOLDER},
        [CUDNN_FUSED_CONV_SCALE_BIAS_ADD_ACTIVATION] = {CUDNN_PARAM_XDATA_PLACEHOLDER, CUDNN_PARAM_WDATA_PLACEHOLDER,
                                                        CUDNN_PARAM_YDATA_PLACEHOLDER},
        [CUDNN_FUSED_SCALE_BIAS_ADD_ACTIVATION_GEN_BITMASK] = {CUDNN_PARAM_XDATA_PLACEHOLDER,
                                                               CUDNN_PARAM_YDATA_PLACEHOLDER},
        [CUDNN_FUSED_DACTIVATION_FORK_DBATCHNORM] = {CUDNN_PARAM_XDATA_PLACEHOLDER, CUDNN_PARAM_DYDATA_PLACEHOLDER,
                                                     CUDNN_PARAM_DXDATA_PLACEHOLDER}};
    bool all = true;
    for (int i = 0; i < 4; i++)
        all &= !needed[p->ops][i] || fused_has(p, needed[p->ops][i]);
    return all;
}

int dnn_fused_check(const struct dnn_fused *p, size_t *size)
{
    *size = 0;
    DNN_BAD_UNLESS(has_operands(p));
    if (is_convolution(p->ops))
        return check_convolution(p, size);
    return p->ops == CUDNN_FUSED_BN_FINALIZE_STATISTICS_TRAINING ||
                   p->ops == CUDNN_FUSED_BN_FINALIZE_STATISTICS_INFERENCE
               ? check_finalize(p)
               : check_norm(p, size);
}
