/* Nodes of cuDNN's graphs: normalisation, the parts that batch normalisation is made of, windows. */
#include "api/cudnn/graph/graph.h"

#define OPERAND(name) graph_operand_of(w, CUDNN_ATTR_OPERATION_##name)

/* ---- normalisation ----------------------------------------------------------------------------- */

/* The shape of statistics: what a tensor of them says, else by the mode. */
static int find_kept(int mode, const struct mudnn_tensor *x, const struct mudnn_operand *statistic,
                     const struct mudnn_operand *scale, struct mudnn_tensor *kept)
{
    *kept = *x;
    for (int i = 0; i < x->n; i++) {
        bool reduced = mode == CUDNN_INSTANCE_NORM ? i > 1
                       : mode == CUDNN_BATCH_NORM  ? i != 1
                       : scale->t.n                ? scale->t.dim[i] != 1 && (mode != CUDNN_ADA_LAYER_NORM || i > 0)
                                                   : i > 0;
        if (statistic->t.n)
            kept->dim[i] = statistic->t.dim[i];
        else if (reduced)
            kept->dim[i] = 1;
    }
    return CUDNN_STATUS_SUCCESS;
}

static bool is_scalar(const struct mudnn_operand *o)
{
    for (int i = 0; i < o->t.n; i++)
        if (o->t.dim[i] != 1)
            return false;
    return true;
}

int graph_norm_forward(struct graph_work *w)
{
    struct mudnn_normalize n = {.centred = w->n->mode != CUDNN_RMS_NORM,
                                .x = OPERAND(NORM_FWD_XDESC),
                                .y = OPERAND(NORM_FWD_YDESC),
                                .mean = OPERAND(NORM_FWD_MEAN_DESC),
                                .inverse = OPERAND(NORM_FWD_INV_VARIANCE_DESC),
                                .scale = OPERAND(NORM_FWD_SCALE_DESC),
                                .bias = OPERAND(NORM_FWD_BIAS_DESC),
                                .epsilon = OPERAND(NORM_FWD_EPSILON_DESC),
                                .factor = OPERAND(NORM_FWD_EXP_AVG_FACTOR_DESC),
                                .mean_in = OPERAND(NORM_FWD_INPUT_RUNNING_MEAN_DESC),
                                .variance_in = OPERAND(NORM_FWD_INPUT_RUNNING_VAR_DESC),
                                .mean_out = OPERAND(NORM_FWD_OUTPUT_RUNNING_MEAN_DESC),
                                .variance_out = OPERAND(NORM_FWD_OUTPUT_RUNNING_VAR_DESC)};
    const struct mudnn_tensor *x = &n.x.t;
    struct mudnn_operand *const like_x[] = {&n.mean, &n.inverse, &n.scale, &n.bias};
    struct mudnn_operand *const running[] = {&n.mean_in, &n.variance_in, &n.mean_out, &n.variance_out};
    DNN_BAD_UNLESS(graph_alike(&n.y, x));
    for (int i = 0; i < 4; i++)
        DNN_BAD_UNLESS(graph_serves(like_x[i], x));
    find_kept(w->n->mode, x, n.inverse.t.n ? &n.inverse : &n.mean, &n.scale, &n.kept);
    for (int i = 0; i < 2; i++)
        DNN_BAD_UNLESS(!like_x[i]->t.n || dnn_same_shape(&like_x[i]->t, &n.kept));
    for (int i = 0; i < 4; i++)
        DNN_BAD_UNLESS(!running[i]->t.n || graph_alike(running[i], &n.kept));
    n.given = w->n->way == CUDNN_NORM_FWD_INFERENCE && n.inverse.t.n;
    DNN_BAD_UNLESS(!n.given || !n.centred || n.mean.t.n);
    DNN_BAD_UNLESS(is_scalar(&n.epsilon) && is_scalar(&n.factor) && (n.given || n.epsilon.t.n));
    DNN_BAD_UNLESS(!n.mean_out.t.n || (n.mean_in.t.n && n.factor.t.n));
    DNN_BAD_UNLESS(!n.variance_out.t.n || (n.variance_in.t.n && n.factor.t.n));
    return w->at ? GRAPH_DONE(mu.mudnnHostNormalize(w->stream, &n)) : CUDNN_STATUS_SUCCESS;
}

int graph_norm_backward(struct graph_work *w)
{
    struct mudnn_normalize_backward n = {.centred = w->n->mode != CUDNN_RMS_NORM,
                                         .x = OPERAND(NORM_BWD_XDESC),
                                         .dy = OPERAND(NORM_BWD_DYDESC),
                                         .mean = OPERAND(NORM_BWD_MEAN_DESC),
                                         .inverse = OPERAND(NORM_BWD_INV_VARIANCE_DESC),
                                         .scale = OPERAND(NORM_BWD_SCALE_DESC),
                                         .dx = OPERAND(NORM_BWD_DXDESC),
                                         .dscale = OPERAND(NORM_BWD_DSCALE_DESC),
                                         .dbias = OPERAND(NORM_BWD_DBIAS_DESC)};
    const struct mudnn_tensor *x = &n.x.t;
    struct mudnn_operand *const like_x[] = {&n.mean, &n.inverse, &n.scale, &n.dscale, &n.dbias};
    DNN_BAD_UNLESS(graph_alike(&n.dy, x) && graph_alike(&n.dx, x));
    for (int i = 0; i < 5; i++)
        DNN_BAD_UNLESS(graph_serves(like_x[i], x));
    DNN_BAD_UNLESS(!n.dscale.t.n || !n.dbias.t.n || dnn_same_shape(&n.dscale.t, &n.dbias.t));
    if (!n.inverse.t.n || (n.centred && !n.mean.t.n)) /* statistics anew: no caller asks for that */
        return CUDNN_STATUS_NOT_SUPPORTED;
    n.kept = n.inverse.t;
    DNN_BAD_UNLESS(!n.mean.t.n || dnn_same_shape(&n.mean.t, &n.kept));
    return w->at ? GRAPH_DONE(mu.mudnnHostNormalizeBackward(w->stream, &n)) : CUDNN_STATUS_SUCCESS;
}

/* ---- parts of batch normalisation -------------------------------------------------------------- */

/* Sums, and sums of squares, of which the squares are made in the workspace. */
int graph_gen_stats(struct graph_work *w)
{
    struct mudnn_operand x = OPERAND(GENSTATS_XDESC), sum = OPERAND(GENSTATS_SUMDESC), square = x;
    struct mudnn_operand squares = OPERAND(GENSTATS_SQSUMDESC);
    int64_t step = 1;
    DNN_BAD_UNLESS(graph_fit(&sum.t, x.t.n) && graph_alike(&squares, &sum.t) && dnn_serves(&sum.t, &x.t));
    square.t.type = CUDNN_DATA_FLOAT;
    for (int i = x.t.n; i-- > 0; step *= x.t.dim[i])
        square.t.stride[i] = step;
    w->scratch = (size_t)step * sizeof(float);
    if (!w->at)
        return CUDNN_STATUS_SUCCESS;
    square.at = w->workspace;
    struct mudnn_reduction r = {
        .operation = CUDNN_REDUCE_TENSOR_ADD, .alpha = 1, .a = x.t, .c = sum.t, .a_at = x.at, .c_at = sum.at};
    struct mudnn_pointwise p = {.mode = CUDNN_POINTWISE_MUL,
                                .scale = 1,
                                .alpha = {1, 1},
                                .x = x.t,
                                .b = x.t,
                                .t = x.t,
                                .y = square.t,
                                .x_at = x.at,
                                .b_at = x.at,
                                .y_at = square.at};
    int status = GRAPH_DONE(mu.mudnnHostReduce(w->stream, &r));
    if (!status)
        status = GRAPH_DONE(mu.mudnnHostPointwise(w->stream, &p));
    r.a = square.t, r.a_at = square.at;
    r.c = squares.t, r.c_at = squares.at;
    return status ? status : GRAPH_DONE(mu.mudnnHostReduce(w->stream, &r));
}

int graph_bn_finalize(struct graph_work *w)
{
    struct mudnn_bn_finalize b = {.training = w->n->mode == CUDNN_BN_FINALIZE_STATISTICS_TRAINING,
                                  .sum = OPERAND(BN_FINALIZE_Y_SUM_DESC),
                                  .square = OPERAND(BN_FINALIZE_Y_SQ_SUM_DESC),
                                  .scale = OPERAND(BN_FINALIZE_SCALE_DESC),
                                  .bias = OPERAND(BN_FINALIZE_BIAS_DESC),
                                  .mean_in = OPERAND(BN_FINALIZE_PREV_RUNNING_MEAN_DESC),
                                  .variance_in = OPERAND(BN_FINALIZE_PREV_RUNNING_VAR_DESC),
                                  .mean_out = OPERAND(BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC),
                                  .variance_out = OPERAND(BN_FINALIZE_UPDATED_RUNNING_VAR_DESC),
                                  .mean = OPERAND(BN_FINALIZE_SAVED_MEAN_DESC),
                                  .inverse = OPERAND(BN_FINALIZE_SAVED_INV_STD_DESC),
                                  .eq_scale = OPERAND(BN_FINALIZE_EQ_SCALE_DESC),
                                  .eq_bias = OPERAND(BN_FINALIZE_EQ_BIAS_DESC),
                                  .count = OPERAND(BN_FINALIZE_ACCUM_COUNT_DESC),
                                  .epsilon = OPERAND(BN_FINALIZE_EPSILON_DESC),
                                  .factor = OPERAND(BN_FINALIZE_EXP_AVERATE_FACTOR_DESC)};
    struct mudnn_operand *const alike[] = {&b.square,      &b.scale,    &b.bias,         &b.mean_in,
                                           &b.variance_in, &b.mean_out, &b.variance_out, &b.mean,
                                           &b.inverse,     &b.eq_scale, &b.eq_bias};
    for (unsigned i = 0; i < sizeof alike / sizeof *alike; i++)
        DNN_BAD_UNLESS(!alike[i]->t.n || graph_alike(alike[i], &b.sum.t));
    DNN_BAD_UNLESS(is_scalar(&b.count) && is_scalar(&b.epsilon) && is_scalar(&b.factor));
    DNN_BAD_UNLESS(b.training || (b.mean_in.t.n && b.variance_in.t.n));
    DNN_BAD_UNLESS(!(b.mean_out.t.n || b.variance_out.t.n) || (b.mean_in.t.n && b.variance_in.t.n && b.factor.t.n));
    return w->at ? GRAPH_DONE(mu.mudnnHostBnFinalize(w->stream, &b)) : CUDNN_STATUS_SUCCESS;
}

int graph_bn_weights(struct graph_work *w)
{
    struct mudnn_bn_weights b = {OPERAND(BN_BWD_WEIGHTS_X_DESC),          OPERAND(BN_BWD_WEIGHTS_DY_DESC),
                                 OPERAND(BN_BWD_WEIGHTS_MEAN_DESC),       OPERAND(BN_BWD_WEIGHTS_INVSTD_DESC),
                                 OPERAND(BN_BWD_WEIGHTS_BN_SCALE_DESC),   OPERAND(BN_BWD_WEIGHTS_DBN_SCALE_DESC),
                                 OPERAND(BN_BWD_WEIGHTS_DBN_BIAS_DESC),   OPERAND(BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC),
                                 OPERAND(BN_BWD_WEIGHTS_EQ_X_SCALE_DESC), OPERAND(BN_BWD_WEIGHTS_EQ_BIAS)};
    struct mudnn_operand *const alike[] = {&b.inverse, &b.scale, &b.dscale, &b.dbias, &b.eq_dy, &b.eq_x, &b.eq_bias};
    DNN_BAD_UNLESS(graph_alike(&b.dy, &b.x.t) && graph_serves(&b.mean, &b.x.t));
    for (unsigned i = 0; i < sizeof alike / sizeof *alike; i++)
        DNN_BAD_UNLESS(!alike[i]->t.n || graph_alike(alike[i], &b.mean.t));
    return w->at ? GRAPH_DONE(mu.mudnnHostBnWeights(w->stream, &b)) : CUDNN_STATUS_SUCCESS;
}

/* ---- windows ----------------------------------------------------------------------------------- */

int graph_resample(struct graph_work *w)
{
    const struct graph_node *n = w->n;
    struct mudnn_resample r = {.mode = n->mode,
                               .padding = n->way,
                               .nan = n->nan == CUDNN_PROPAGATE_NAN,
                               .backward = n->kind == CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR,
                               .spatial = n->spatial,
                               .alpha = n->alpha,
                               .beta = n->beta};
    r.x = r.backward ? OPERAND(RESAMPLE_BWD_DXDESC) : OPERAND(RESAMPLE_FWD_XDESC);
    r.y = r.backward ? OPERAND(RESAMPLE_BWD_DYDESC) : OPERAND(RESAMPLE_FWD_YDESC);
    r.index = r.backward ? OPERAND(RESAMPLE_BWD_IDXDESC) : OPERAND(RESAMPLE_FWD_IDXDESC);
    if (r.backward)
        r.old_x = OPERAND(RESAMPLE_BWD_XDESC);
    const struct mudnn_tensor *x = &r.x.t, *y = &r.y.t;
    DNN_BAD_UNLESS(x->n == n->spatial + 2 && y->n == x->n && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1]);
    DNN_BAD_UNLESS(!r.index.t.n || (graph_alike(&r.index, y) && r.mode == CUDNN_RESAMPLE_MAXPOOL));
    DNN_BAD_UNLESS(!r.old_x.t.n || graph_alike(&r.old_x, x));
    for (int i = 0; i < n->spatial; i++) {
        int64_t room = x->dim[i + 2] + n->pre[i] + n->post[i] - n->window[i];
        DNN_BAD_UNLESS(n->window[i] > 0 && n->stride[i] > 0 && n->pre[i] >= 0 && n->post[i] >= 0);
        DNN_BAD_UNLESS(room >= 0 && y->dim[i + 2] == room / n->stride[i] + 1);
        r.window[i] = n->window[i];
        r.pad[i] = n->pre[i];
        r.stride[i] = n->stride[i];
    }
    if (r.backward && r.mode == CUDNN_RESAMPLE_MAXPOOL && !r.index.t.n && !r.old_x.t.n)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return w->at ? GRAPH_DONE(mu.mudnnHostResample(w->stream, &r)) : CUDNN_STATUS_SUCCESS;
}
