/* What cuDNN's fused operations do: scaling of channels before a convolution and sums behind it, the finalisation of
 * batch normalisation, and normalisation with an addition and an activation, forward and backward. An operand whose
 * placeholder says NULL, as all do at first, is not there. */
#include "api/cudnn/fused.h"

/* Each placeholder, its pointer, and the descriptor of what it leads to. */
static const struct {
    int place, pointer, desc;
} operands[] = {
    {CUDNN_PARAM_XDATA_PLACEHOLDER, CUDNN_PTR_XDATA, CUDNN_PARAM_XDESC},
    {CUDNN_PARAM_BN_EQSCALE_PLACEHOLDER, CUDNN_PTR_BN_EQSCALE, CUDNN_PARAM_BN_EQSCALEBIAS_DESC},
    {CUDNN_PARAM_BN_EQBIAS_PLACEHOLDER, CUDNN_PTR_BN_EQBIAS, CUDNN_PARAM_BN_EQSCALEBIAS_DESC},
    {CUDNN_PARAM_WDATA_PLACEHOLDER, CUDNN_PTR_WDATA, CUDNN_PARAM_WDESC},
    {CUDNN_PARAM_DWDATA_PLACEHOLDER, CUDNN_PTR_DWDATA, CUDNN_PARAM_DWDESC},
    {CUDNN_PARAM_YDATA_PLACEHOLDER, CUDNN_PTR_YDATA, CUDNN_PARAM_YDESC},
    {CUDNN_PARAM_DYDATA_PLACEHOLDER, CUDNN_PTR_DYDATA, CUDNN_PARAM_DYDESC},
    {CUDNN_PARAM_YSUM_PLACEHOLDER, CUDNN_PTR_YSUM, CUDNN_PARAM_YSTATS_DESC},
    {CUDNN_PARAM_YSQSUM_PLACEHOLDER, CUDNN_PTR_YSQSUM, CUDNN_PARAM_YSTATS_DESC},
    {CUDNN_PARAM_BN_SCALE_PLACEHOLDER, CUDNN_PTR_BN_SCALE, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC},
    {CUDNN_PARAM_BN_BIAS_PLACEHOLDER, CUDNN_PTR_BN_BIAS, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC},
    {CUDNN_PARAM_BN_SAVED_MEAN_PLACEHOLDER, CUDNN_PTR_BN_SAVED_MEAN, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC},
    {CUDNN_PARAM_BN_SAVED_INVSTD_PLACEHOLDER, CUDNN_PTR_BN_SAVED_INVSTD, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC},
    {CUDNN_PARAM_BN_RUNNING_MEAN_PLACEHOLDER, CUDNN_PTR_BN_RUNNING_MEAN, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC},
    {CUDNN_PARAM_BN_RUNNING_VAR_PLACEHOLDER, CUDNN_PTR_BN_RUNNING_VAR, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC},
    {CUDNN_PARAM_ZDATA_PLACEHOLDER, CUDNN_PTR_ZDATA, CUDNN_PARAM_ZDESC},
    {CUDNN_PARAM_BN_Z_EQSCALE_PLACEHOLDER, CUDNN_PTR_BN_Z_EQSCALE, CUDNN_PARAM_BN_Z_EQSCALEBIAS_DESC},
    {CUDNN_PARAM_BN_Z_EQBIAS_PLACEHOLDER, CUDNN_PTR_BN_Z_EQBIAS, CUDNN_PARAM_BN_Z_EQSCALEBIAS_DESC},
    {CUDNN_PARAM_ACTIVATION_BITMASK_PLACEHOLDER, CUDNN_PTR_ACTIVATION_BITMASK, CUDNN_PARAM_ACTIVATION_BITMASK_DESC},
    {CUDNN_PARAM_DXDATA_PLACEHOLDER, CUDNN_PTR_DXDATA, CUDNN_PARAM_DXDESC},
    {CUDNN_PARAM_DZDATA_PLACEHOLDER, CUDNN_PTR_DZDATA, CUDNN_PARAM_DZDESC},
    {CUDNN_PARAM_BN_DSCALE_PLACEHOLDER, CUDNN_PTR_BN_DSCALE, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC},
    {CUDNN_PARAM_BN_DBIAS_PLACEHOLDER, CUDNN_PTR_BN_DBIAS, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC}};
enum { OPERANDS = sizeof operands / sizeof *operands };

/* An execution: the pointers of the operands that are there, in the places of their labels. */
struct run {
    void *handle;
    const struct dnn_fused *p;
    const struct dnn_fused_variants *v;
    void *at[FUSED_POINTERS];
    char *space;
};

static int take_operands(struct run *r)
{
    for (int i = 0; i < OPERANDS; i++) {
        void *at = r->v->at[operands[i].pointer];
        const struct mudnn_tensor *t = fused_tensor(r->p, operands[i].desc);
        if (!fused_has(r->p, operands[i].place) || !t)
            continue;
        uintptr_t unit = r->p->param[operands[i].place].value == CUDNN_PTR_16B_ALIGNED ? 16 : dnn_size(t->type);
        DNN_BAD_UNLESS(at && (uintptr_t)at % unit == 0);
        r->at[operands[i].pointer] = at;
    }
    return CUDNN_STATUS_SUCCESS;
}
static struct mudnn_channel channel(const struct run *r, int pointer, int desc)
{
    const struct mudnn_tensor *t = fused_tensor(r->p, desc);
    return (struct mudnn_channel){t ? t->type : 0, r->at[pointer]};
}
#define CHANNEL(name, desc) channel(r, CUDNN_PTR_##name, CUDNN_PARAM_##desc)
static int done(mudnnStatus_t status) { return dnn_done(status, "cudnnFusedOpsExecute"); }

static void set_activation(struct mudnn_scaled *s, const struct dnn_fused *p)
{
    const struct dnn_activation *a;
    fused_activates(p, false, &a);
    s->activates = a != NULL;
    if (a) {
        s->mode = a->mode;
        s->coefficient = a->mode == CUDNN_ACTIVATION_SWISH ? a->swish : a->coefficient;
    }
}

/* The input of a convolution, scaled into the workspace, if there is anything to do with it. */
static int scale_input(const struct run *r, const struct mudnn_tensor *x, const void **x_at, char **space)
{
    if (!fused_scales(r->p))
        return CUDNN_STATUS_SUCCESS;
    struct mudnn_scaled s = {.x = *x,
                             .y = *x,
                             .x_at = *x_at,
                             .y_at = *space,
                             .scale = CHANNEL(BN_EQSCALE, BN_EQSCALEBIAS_DESC),
                             .bias = CHANNEL(BN_EQBIAS, BN_EQSCALEBIAS_DESC)};
    set_activation(&s, r->p);
    *x_at = *space;
    *space += fused_extent(x, x->type);
    return done(mu.mudnnHostScaled(dnn_stream(r->handle), &s));
}

static int take_convolution(const struct run *r, struct mudnn_convolution *c, const void **x, char **space)
{
    *x = r->at[CUDNN_PTR_XDATA];
    *space = r->space;
    int e = dnn_fused_convolution(r->p, c);
    return e ? e : scale_input(r, &c->x, x, space);
}

static int run_convolution_statistics(const struct run *r)
{
    struct mudnn_convolution c;
    const void *x;
    char *space;
    int e = take_convolution(r, &c, &x, &space);
    void *y = r->at[CUDNN_PTR_YDATA] ? r->at[CUDNN_PTR_YDATA] : (void *)space;
    if (!e)
        e = done(mu.mudnnHostConvolutionForward(dnn_stream(r->handle), &c, 1, x, r->at[CUDNN_PTR_WDATA], 0, y, NULL));
    struct mudnn_statistics s = {c.y, y, CHANNEL(YSUM, YSTATS_DESC), CHANNEL(YSQSUM, YSTATS_DESC)};
    return e ? e : done(mu.mudnnHostStatistics(dnn_stream(r->handle), &s));
}

static int run_filter_gradient(const struct run *r)
{
    struct mudnn_convolution c;
    const void *x;
    char *space;
    int e = take_convolution(r, &c, &x, &space);
    return e ? e
             : done(mu.mudnnHostConvolutionBackwardFilter(dnn_stream(r->handle), &c, 1, x, r->at[CUDNN_PTR_DYDATA], 0,
                                                          r->at[CUDNN_PTR_DWDATA]));
}

/* A channel's number each, in their order; `channels` also where there are none. */
static struct mudnn_operand numbers(struct mudnn_channel c, int64_t channels)
{
    return (struct mudnn_operand){{.type = c.type, .n = 1, .vector = 1, .dim = {channels}, .stride = {1}}, c.at};
}
#define NUMBERS(name, desc) numbers(CHANNEL(name, desc), channels)

static int run_finalize(const struct run *r)
{
    const bool training = r->p->ops == CUDNN_FUSED_BN_FINALIZE_STATISTICS_TRAINING;
    const int64_t channels = fused_tensor(r->p, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC)->dim[1];
    struct mudnn_finalize f = {.of = {.training = training,
                                      .sum = NUMBERS(YSUM, YSTATS_DESC),
                                      .square = NUMBERS(YSQSUM, YSTATS_DESC),
                                      .scale = NUMBERS(BN_SCALE, BN_SCALEBIAS_MEANVAR_DESC),
                                      .bias = NUMBERS(BN_BIAS, BN_SCALEBIAS_MEANVAR_DESC),
                                      .mean_in = NUMBERS(BN_RUNNING_MEAN, BN_SCALEBIAS_MEANVAR_DESC),
                                      .variance_in = NUMBERS(BN_RUNNING_VAR, BN_SCALEBIAS_MEANVAR_DESC),
                                      .mean = NUMBERS(BN_SAVED_MEAN, BN_SCALEBIAS_MEANVAR_DESC),
                                      .inverse = NUMBERS(BN_SAVED_INVSTD, BN_SCALEBIAS_MEANVAR_DESC),
                                      .eq_scale = NUMBERS(BN_EQSCALE, BN_EQSCALEBIAS_DESC),
                                      .eq_bias = NUMBERS(BN_EQBIAS, BN_EQSCALEBIAS_DESC)},
                               .count = (double)r->v->count,
                               .epsilon = r->v->epsilon,
                               .factor = r->v->factor};
    if (training) {
        f.of.mean_out = f.of.mean_in;
        f.of.variance_out = f.of.variance_in;
    }
    DNN_BAD_UNLESS(f.epsilon >= 0 && (!training || f.count > 0));
    return done(mu.mudnnHostFinalize(dnn_stream(r->handle), &f));
}

/* f(scale x + bias + z), of a tensor of the program's or of a convolution's result. */
static int run_sum(const struct run *r)
{
    const struct mudnn_tensor *z = fused_tensor(r->p, CUDNN_PARAM_ZDESC);
    struct mudnn_scaled s = {.x_at = r->at[CUDNN_PTR_XDATA],
                             .y = *fused_tensor(r->p, CUDNN_PARAM_YDESC),
                             .y_at = r->at[CUDNN_PTR_YDATA],
                             .z_at = z ? r->at[CUDNN_PTR_ZDATA] : NULL,
                             .scale = CHANNEL(BN_EQSCALE, BN_EQSCALEBIAS_DESC),
                             .bias = CHANNEL(BN_EQBIAS, BN_EQSCALEBIAS_DESC),
                             .z_scale = CHANNEL(BN_Z_EQSCALE, BN_Z_EQSCALEBIAS_DESC),
                             .z_bias = CHANNEL(BN_Z_EQBIAS, BN_Z_EQSCALEBIAS_DESC),
                             .mask = r->at[CUDNN_PTR_ACTIVATION_BITMASK]};
    int e = CUDNN_STATUS_SUCCESS;
    if (z)
        s.z = *z;
    set_activation(&s, r->p);
    if (r->p->ops == CUDNN_FUSED_CONV_SCALE_BIAS_ADD_ACTIVATION) {
        struct mudnn_convolution c;
        e = dnn_fused_convolution(r->p, &c);
        s.x = s.y;
        s.x_at = r->space;
        s.mask = NULL;
        if (!e)
            e = done(mu.mudnnHostConvolutionForward(dnn_stream(r->handle), &c, 1, r->at[CUDNN_PTR_XDATA],
                                                    r->at[CUDNN_PTR_WDATA], 0, r->space, NULL));
    } else {
        s.x = *fused_tensor(r->p, CUDNN_PARAM_XDESC);
    }
    return e ? e : done(mu.mudnnHostScaled(dnn_stream(r->handle), &s));
}

/* dz = dy where the bits say so; dx, dscale and dbias are batch normalisation's of it. */
static int run_norm_gradient(const struct run *r)
{
    const struct dnn_fused *p = r->p;
    const struct mudnn_tensor *x = fused_tensor(p, CUDNN_PARAM_XDESC), *dy = fused_tensor(p, CUDNN_PARAM_DYDESC);
    const struct mudnn_tensor *given = fused_tensor(p, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC), *dz = dy;
    const struct dnn_activation *a;
    const void *dz_at = r->at[CUDNN_PTR_DYDATA];
    int e = CUDNN_STATUS_SUCCESS;
    fused_activates(p, true, &a);
    if (a || r->at[CUDNN_PTR_DZDATA]) {
        void *to = r->at[CUDNN_PTR_DZDATA] ? r->at[CUDNN_PTR_DZDATA] : (void *)r->space;
        dz = r->at[CUDNN_PTR_DZDATA] ? fused_tensor(p, CUDNN_PARAM_DZDESC) : dy;
        struct mudnn_masked m = {*dy, *dz, dz_at, to, r->at[CUDNN_PTR_ACTIVATION_BITMASK]};
        struct mudnn_scaled copy = {.x = *dy, .y = *dz, .x_at = dz_at, .y_at = to};
        e = done(a ? mu.mudnnHostMasked(dnn_stream(r->handle), &m) : mu.mudnnHostScaled(dnn_stream(r->handle), &copy));
        dz_at = to;
    }
    struct mudnn_norm n = {.training = true,
                           .alpha = 1,
                           .alpha_s = 1,
                           .epsilon = r->v->epsilon,
                           .x = *x,
                           .dy = *dz,
                           .dx = *fused_tensor(p, CUDNN_PARAM_DXDESC),
                           .s = *x,
                           .x_at = r->at[CUDNN_PTR_XDATA],
                           .scale = r->at[CUDNN_PTR_BN_SCALE],
                           .mean = r->at[CUDNN_PTR_BN_SAVED_MEAN],
                           .inverse = r->at[CUDNN_PTR_BN_SAVED_INVSTD],
                           .dy_at = dz_at,
                           .dx_at = r->at[CUDNN_PTR_DXDATA],
                           .dscale = r->at[CUDNN_PTR_BN_DSCALE],
                           .dbias = r->at[CUDNN_PTR_BN_DBIAS]};
    n.s.type = given->type;
    for (int i = 0; i < n.s.n; i++) {
        n.s.dim[i] = i == 1 ? x->dim[1] : 1;
        n.s.stride[i] = i == 0 ? x->dim[1] : 1;
    }
    return e ? e : done(mu.mudnnHostNormBackward(dnn_stream(r->handle), &n));
}

int dnn_fused_run(void *handle, const struct dnn_fused *p, const struct dnn_fused_variants *v)
{
    static int (*const runs[])(const struct run *) = {
        [CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS] = run_convolution_statistics,
        [CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD] = run_filter_gradient,
        [CUDNN_FUSED_BN_FINALIZE_STATISTICS_TRAINING] = run_finalize,
        [CUDNN_FUSED_BN_FINALIZE_STATISTICS_INFERENCE] = run_finalize,
        [CUDNN_FUSED_CONV_SCALE_BIAS_ADD_ACTIVATION] = run_sum,
        [CUDNN_FUSED_SCALE_BIAS_ADD_ACTIVATION_GEN_BITMASK] = run_sum,
        [CUDNN_FUSED_DACTIVATION_FORK_DBATCHNORM] = run_norm_gradient};
    struct run r = {.handle = handle, .p = p, .v = v, .space = v->at[CUDNN_PTR_WORKSPACE]};
    size_t size;
    int e = dnn_fused_check(p, &size);
    if (e)
        return e;
    DNN_BAD_UNLESS(v->space >= size && (!size || (r.space && (uintptr_t)r.space % 16 == 0)));
    e = take_operands(&r);
    return e ? e : runs[p->ops](&r);
}
