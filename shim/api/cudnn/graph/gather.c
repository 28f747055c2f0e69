/* What an operation of cuDNN's graphs says beside its tensors: modes, scalars, paddings. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "api/cudnn/graph/graph.h"

#define INTEGER(b, name, none) integer_of(b, CUDNN_ATTR_##name, none)
#define NUMBER(b, name, none) graph_number(b, CUDNN_ATTR_##name, none)
#define MEMBER(b, name) graph_member(b, CUDNN_ATTR_##name)

/* INT_MIN, which is no mode, axis or count, where int has no such number. */
static int integer_of(const struct graph_body *b, int name, int none)
{
    const int64_t v = graph_integer(b, name, none);
    return v >= INT_MIN && v <= INT_MAX ? (int)v : INT_MIN;
}

static int gather_convolution(struct graph_node *n, const struct graph_body *op, int desc, int alpha, int beta)
{
    const struct graph_body *c = graph_member(op, desc);
    n->mode = INTEGER(c, CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    n->compute = INTEGER(c, CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    n->spatial = graph_integers(c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, n->pre);
    graph_integers(c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, n->post);
    graph_integers(c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, n->stride);
    graph_integers(c, CUDNN_ATTR_CONVOLUTION_DILATIONS, n->window);
    n->alpha = graph_number(op, alpha, 1);
    n->beta = graph_number(op, beta, 0);
    return CUDNN_STATUS_SUCCESS;
}

/* Are the operands there that its mode has? Of an index along a dimension only the result counts. */
static bool has_operands(const struct graph_body *op, int mode)
{
#define HAS(name) (graph_find(op, CUDNN_ATTR_OPERATION_POINTWISE_##name) != NULL)
    const int count = mode == CUDNN_POINTWISE_GEN_INDEX ? 0 : graph_pointwise_operands(mode);
    if (mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD)
        return HAS(DYDESC) && HAS(DXDESC) && (HAS(XDESC) || HAS(YDESC));
    return HAS(YDESC) && (count < 1 || HAS(XDESC)) && (count < 2 || HAS(BDESC)) && (count < 3 || HAS(TDESC));
#undef HAS
}

static int gather_pointwise(struct graph_node *n, const struct graph_body *op)
{
    const struct graph_body *p = MEMBER(op, OPERATION_POINTWISE_PW_DESCRIPTOR);
    n->mode = INTEGER(p, POINTWISE_MODE, 0);
    n->compute = INTEGER(p, POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    n->nan = INTEGER(p, POINTWISE_NAN_PROPAGATION, CUDNN_PROPAGATE_NAN);
    n->axis = INTEGER(p, POINTWISE_AXIS, -1);
    n->low = NUMBER(p, POINTWISE_RELU_LOWER_CLIP, 0);
    n->high = NUMBER(p, POINTWISE_RELU_UPPER_CLIP, INFINITY);
    if (n->high >= FLT_MAX) /* how programs say that there is none */
        n->high = INFINITY;
    n->slope = NUMBER(p, POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
    n->number[0] = NUMBER(p, POINTWISE_ELU_ALPHA, 1);
    n->number[1] = NUMBER(p, POINTWISE_SOFTPLUS_BETA, 1);
    n->number[2] = NUMBER(p, POINTWISE_SWISH_BETA, 1);
    n->alpha = NUMBER(op, OPERATION_POINTWISE_ALPHA1, 1);
    n->beta = NUMBER(op, OPERATION_POINTWISE_ALPHA2, 1);
    return has_operands(op, n->mode) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static int gather_resample(struct graph_node *n, const struct graph_body *op, int desc, int alpha, int beta)
{
    const struct graph_body *r = graph_member(op, desc);
    n->mode = INTEGER(r, RESAMPLE_MODE, 0);
    n->nan = INTEGER(r, RESAMPLE_NAN_PROPAGATION, CUDNN_PROPAGATE_NAN);
    n->way = INTEGER(r, RESAMPLE_PADDING_MODE, CUDNN_ZERO_PAD);
    n->alpha = graph_number(op, alpha, 1);
    n->beta = graph_number(op, beta, 0);
    n->spatial = graph_integers(r, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, n->window);
    return n->spatial < 0 || graph_integers(r, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, n->pre) < 0 ||
                   graph_integers(r, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, n->post) < 0 ||
                   graph_integers(r, CUDNN_ATTR_RESAMPLE_STRIDES, n->stride) < 0 || n->mode == CUDNN_RESAMPLE_NEAREST ||
                   n->mode == CUDNN_RESAMPLE_BILINEAR
               ? graph_refuse(CUDNN_STATUS_NOT_SUPPORTED, "interpolation, windows or paddings between elements")
               : CUDNN_STATUS_SUCCESS;
}

static int gather_rng(struct graph_node *n, const struct graph_body *op)
{
    const struct graph_body *r = MEMBER(op, OPERATION_RNG_DESC);
    const struct graph_attr *seed = graph_find(op, CUDNN_ATTR_OPERATION_RNG_SEED);
    n->mode = INTEGER(r, RNG_DISTRIBUTION, 0);
    switch (n->mode) {
    case CUDNN_RNG_DISTRIBUTION_BERNOULLI: n->number[0] = NUMBER(r, RNG_BERNOULLI_DIST_PROBABILITY, 0.5); break;
    case CUDNN_RNG_DISTRIBUTION_UNIFORM:
        n->number[0] = NUMBER(r, RNG_UNIFORM_DIST_MINIMUM, 0);
        n->number[1] = NUMBER(r, RNG_UNIFORM_DIST_MAXIMUM, 1);
        break;
    case CUDNN_RNG_DISTRIBUTION_NORMAL:
        n->number[0] = NUMBER(r, RNG_NORMAL_DIST_MEAN, 0);
        n->number[1] = NUMBER(r, RNG_NORMAL_DIST_STANDARD_DEVIATION, 1);
        break;
    default: return CUDNN_STATUS_BAD_PARAM;
    }
    if (seed && seed->type == CUDNN_TYPE_INT64)
        n->pre[0] = *(int64_t *)seed->data;
    return CUDNN_STATUS_SUCCESS;
}

/* start, limit, stride: in pre, post, stride. */
static int gather_slice(struct graph_node *n, const struct graph_body *op)
{
    int rank = graph_integers(op, CUDNN_ATTR_OPERATION_SLICE_START_INDICES, n->pre);
    DNN_BAD_UNLESS(rank == graph_integers(op, CUDNN_ATTR_OPERATION_SLICE_LIMIT_INDICES, n->post));
    n->spatial = rank;
    if (graph_integers(op, CUDNN_ATTR_OPERATION_SLICE_STRIDES, n->stride) != rank)
        for (int i = 0; i < rank; i++)
            n->stride[i] = 1;
    return CUDNN_STATUS_SUCCESS;
}

/* How devices exchange their batches' statistics through those tensors is documented nowhere. */
static int check_norm(const struct graph_node *n, const struct graph_body *op, int peers)
{
    return n->mode == CUDNN_GROUP_NORM ? graph_refuse(CUDNN_STATUS_NOT_SUPPORTED, "normalisation over groups")
           : graph_find(op, peers) ? graph_refuse(CUDNN_STATUS_NOT_SUPPORTED, "normalisation with statistics of peers")
                                   : CUDNN_STATUS_SUCCESS;
}

int graph_gather(struct graph_node *n, const struct graph_body *op)
{
    switch (op->kind) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return gather_convolution(n, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return gather_convolution(n, op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        return gather_convolution(n, op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return gather_pointwise(n, op);
    case CUDNN_BACKEND_OPERATION_MOE_GROUPED_MATMUL_DESCRIPTOR:
        n->mode = INTEGER(op, OPERATION_MOE_GROUPED_MATMUL_MODE, 0);
        n->pre[0] = INTEGER(op, OPERATION_MOE_GROUPED_MATMUL_TOP_K, 0);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        n->number[0] = NUMBER(MEMBER(op, OPERATION_MATMUL_DESC), MATMUL_PADDING_VALUE, 0);
        return INTEGER(op, OPERATION_MATMUL_IRREGULARLY_STRIDED_BATCH_COUNT, 1) == 1
                   ? CUDNN_STATUS_SUCCESS
                   : graph_refuse(CUDNN_STATUS_NOT_SUPPORTED, "batches of products with strides of their own");
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        n->mode = INTEGER(MEMBER(op, OPERATION_REDUCTION_DESC), REDUCTION_OPERATOR, 0);
        if (graph_find(op, CUDNN_ATTR_OPERATION_REDUCTION_GROUP_OFFSET_DESC))
            return graph_refuse(CUDNN_STATUS_NOT_SUPPORTED, "reductions of groups whose begins a tensor says");
        return (unsigned)n->mode <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
    case CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR:
        n->way = INTEGER(op, OPERATION_SOFTMAX_STATS_LOG2, 0);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
        return INTEGER(op, OPERATION_GENSTATS_MODE, 0) == CUDNN_GENSTATS_SUM_SQSUM ? CUDNN_STATUS_SUCCESS
                                                                                   : CUDNN_STATUS_BAD_PARAM;
    case CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR:
        n->mode = INTEGER(op, OPERATION_BN_FINALIZE_STATS_MODE, 0);
        return (unsigned)n->mode <= CUDNN_BN_FINALIZE_STATISTICS_INFERENCE ? CUDNN_STATUS_SUCCESS
                                                                           : CUDNN_STATUS_BAD_PARAM;
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
        return gather_resample(n, op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_ALPHA,
                               CUDNN_ATTR_OPERATION_RESAMPLE_FWD_BETA);
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
        return gather_resample(n, op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_ALPHA,
                               CUDNN_ATTR_OPERATION_RESAMPLE_BWD_BETA);
    case CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR:
        n->axis = INTEGER(op, OPERATION_CONCAT_AXIS, -1);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
        n->mode = INTEGER(op, OPERATION_NORM_FWD_MODE, -1);
        n->way = INTEGER(op, OPERATION_NORM_FWD_PHASE, -1);
        DNN_BAD_UNLESS((unsigned)n->mode <= CUDNN_ADA_LAYER_NORM && (unsigned)n->way <= CUDNN_NORM_FWD_TRAINING);
        return check_norm(n, op, CUDNN_ATTR_OPERATION_NORM_FWD_PEER_STAT_DESCS);
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
        n->mode = INTEGER(op, OPERATION_NORM_BWD_MODE, -1);
        DNN_BAD_UNLESS((unsigned)n->mode <= CUDNN_ADA_LAYER_NORM);
        return check_norm(n, op, CUDNN_ATTR_OPERATION_NORM_BWD_PEER_STAT_DESCS);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        n->mode = INTEGER(op, OPERATION_RESHAPE_MODE, CUDNN_RESHAPE_VIEW_ONLY);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR:
        n->spatial = graph_integers(op, CUDNN_ATTR_OPERATION_TRANSPOSE_PERMUTATION, n->pre);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR: return gather_slice(n, op);
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR: return gather_rng(n, op);
    case CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR:
        return graph_find(op, CUDNN_ATTR_OPERATION_SDPA_BWD_SINK_DESC) ||
                       graph_find(op, CUDNN_ATTR_OPERATION_SDPA_BWD_DSINK_DESC) ||
                       graph_find(op, CUDNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH)
                   ? graph_refuse(CUDNN_STATUS_NOT_SUPPORTED,
                                  "attention's gradients with a sink or other operations inside")
                   : CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_BLOCK_SCALE_QUANTIZE_DESCRIPTOR:
        n->spatial = graph_integers(op, CUDNN_ATTR_OPERATION_BLOCK_SCALE_QUANTIZE_BLOCK_SIZE, n->window);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_BLOCK_SCALE_DEQUANTIZE_DESCRIPTOR:
        n->spatial = graph_integers(op, CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE, n->window);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR:
        n->mode = INTEGER(op, OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE, 0);
        n->way = graph_find(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC) ? MUDNN_BAND_LEFT
                                                                                         : MUDNN_BAND_RIGHT;
        return n->mode >= CUDNN_POINTWISE_CMP_EQ && n->mode <= CUDNN_POINTWISE_CMP_LE ? CUDNN_STATUS_SUCCESS
                                                                                      : CUDNN_STATUS_BAD_PARAM;
    default: return CUDNN_STATUS_SUCCESS;
    }
}
