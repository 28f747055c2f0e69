/* Nodes of cuDNN's graphs become calls of the library below: which function does each kind, and what those share. */
#include "api/cudnn/graph/graph.h"

static const struct {
    int kind;
    graph_worker *work;
} workers[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, graph_convolution},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, graph_convolution},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, graph_convolution},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, graph_matmul},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, graph_reduction},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, graph_pointwise},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, graph_reshape},
    {CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR, graph_transpose},
    {CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR, graph_slice},
    {CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR, graph_concat},
    {CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR, graph_softmax},
    {CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR, graph_band},
    {CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR, graph_paged_load},
    {CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, graph_random},
    {CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, graph_norm_forward},
    {CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, graph_norm_backward},
    {CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, graph_gen_stats},
    {CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR, graph_bn_finalize},
    {CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR, graph_bn_weights},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, graph_resample},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR, graph_resample},
    {CUDNN_BACKEND_OPERATION_BLOCK_SCALE_QUANTIZE_DESCRIPTOR, graph_block_scale},
    {CUDNN_BACKEND_OPERATION_BLOCK_SCALE_DEQUANTIZE_DESCRIPTOR, graph_block_scale},
    {CUDNN_BACKEND_OPERATION_MOE_GROUPED_MATMUL_DESCRIPTOR, graph_grouped},
    {CUDNN_BACKEND_OPERATION_MOE_GROUPED_MATMUL_BWD_DESCRIPTOR, graph_grouped_backward},
    {GRAPH_RAGGED_LOAD, graph_ragged},
    {GRAPH_RAGGED_STORE, graph_ragged},
};

int graph_work(struct graph_work *w)
{
    for (unsigned i = 0; i < sizeof workers / sizeof *workers; i++)
        if (workers[i].kind == w->n->kind)
            return workers[i].work(w);
    return CUDNN_STATUS_NOT_SUPPORTED;
}

struct mudnn_operand graph_operand_of(const struct graph_work *w, int name)
{
    int slot = graph_slot(w->n->kind, name), tensor = slot < 0 ? -1 : w->n->operand[slot];
    if (tensor < 0)
        return (struct mudnn_operand){.t = {.vector = 1}};
    struct mudnn_operand o = {w->p->tensor[tensor].t, w->at ? w->at[tensor] : NULL};
    graph_take_slice(w, &w->p->tensor[tensor], &o);
    return o;
}

bool graph_fit(struct mudnn_tensor *t, int n)
{
    if (n > MUDNN_DIMS || (t->vector > 1 && t->n != n))
        return false;
    for (; t->n > n; t->n--) {
        if (t->dim[0] != 1)
            return false;
        for (int i = 1; i < t->n; i++) {
            t->dim[i - 1] = t->dim[i];
            t->stride[i - 1] = t->stride[i];
        }
    }
    for (; t->n < n; t->n++) {
        for (int i = t->n; i > 0; i--) {
            t->dim[i] = t->dim[i - 1];
            t->stride[i] = t->stride[i - 1];
        }
        t->dim[0] = 1;
        t->stride[0] = 0;
    }
    return true;
}

bool graph_serves(struct mudnn_operand *small, const struct mudnn_tensor *large)
{
    return !small->t.n || (graph_fit(&small->t, large->n) && dnn_serves(&small->t, large));
}

bool graph_alike(struct mudnn_operand *a, const struct mudnn_tensor *b)
{
    return a->t.n && graph_fit(&a->t, b->n) && dnn_same_shape(&a->t, b);
}

int graph_copy(struct graph_work *w, const struct mudnn_operand *from, const struct mudnn_operand *to)
{
    struct mudnn_pointwise p = {.mode = CUDNN_POINTWISE_IDENTITY,
                                .scale = 1,
                                .alpha = {1, 1},
                                .x = from->t,
                                .b = from->t,
                                .t = from->t,
                                .y = to->t,
                                .x_at = from->at,
                                .y_at = to->at};
    return GRAPH_DONE(mu.mudnnHostPointwise(w->stream, &p));
}
