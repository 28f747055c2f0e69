/* Nodes of cuDNN's graphs that scale blocks: numbers of few bits to others and back. */
#include "api/cudnn/graph/graph.h"

#define OPERAND(name) graph_operand_of(w, CUDNN_ATTR_OPERATION_BLOCK_SCALE_##name)

/* Types that no other node computes with. */
static bool is_narrow(int type)
{
    return type == CUDNN_DATA_FP4_E2M1 || type == CUDNN_DATA_INT4 || type == CUDNN_DATA_UINT4 ||
           type == CUDNN_DATA_FP8_E8M0;
}

/* Does a node know a tensor's type and order, whatever they are? */
static bool knows(const struct graph_node *n, const struct graph_tensor *t)
{
    if (graph_is_complex(t->t.type))
        return n->kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR && !t->swizzled;
    return n->kind == CUDNN_BACKEND_OPERATION_BLOCK_SCALE_QUANTIZE_DESCRIPTOR ||
           n->kind == CUDNN_BACKEND_OPERATION_BLOCK_SCALE_DEQUANTIZE_DESCRIPTOR;
}

bool graph_is_special(const struct graph_plan *p, int tensor)
{
    const struct graph_tensor *t = &p->tensor[tensor];
    if (t->place != GRAPH_REAL || !(is_narrow(t->t.type) || graph_is_complex(t->t.type) || dnn_size(t->t.type)))
        return false;
    for (unsigned i = 0; i < p->nodes; i++)
        for (int k = 0; k < GRAPH_OPERANDS; k++)
            if (p->node[i].operand[k] == tensor && !knows(&p->node[i], t))
                return false;
    return true;
}

/* Are there as many scales as such blocks have? Of those in tiles of 128 rows and 4 columns there may be more. */
static bool fits(const struct mudnn_block_scale *b, const int64_t *block)
{
    enum { TILE = 128 };
    const struct mudnn_tensor *x = &b->x.t, *s = &b->scale.t;
    for (int i = 0; i < x->n; i++) {
        int64_t count = (x->dim[i] - 1) / block[i] + 1;
        if (s->dim[i] < count || s->dim[i] >= count + (b->swizzled && i >= x->n - 2 ? TILE : 1))
            return false;
    }
    return true;
}

/* Blocks of the sizes named, which are those of the last dimensions; or, of a matrix that was turned around and of a
 * single size, of those where the scales are fewer. */
static bool find_blocks(struct mudnn_block_scale *b, const int64_t *size, int sizes)
{
    const int n = b->x.t.n;
    for (int move = 0; move < n; move++) {
        for (int i = 0; i < n; i++)
            b->block[i] = 1;
        if (sizes == 1)
            b->block[n - 1 - move] = size[0];
        for (int i = 0; sizes > 1 && i < sizes; i++)
            b->block[n - sizes + i] = size[move ? sizes - 1 - i : i];
        if (fits(b, b->block))
            return true;
        if (sizes > 1 && move)
            return false;
    }
    return false;
}

int graph_block_scale(struct graph_work *w)
{
    const bool quantize = w->n->kind == CUDNN_BACKEND_OPERATION_BLOCK_SCALE_QUANTIZE_DESCRIPTOR;
    struct mudnn_block_scale b = {.quantize = quantize,
                                  .x = quantize ? OPERAND(QUANTIZE_XDESC) : OPERAND(DEQUANTIZE_XDESC),
                                  .y = quantize ? OPERAND(QUANTIZE_YDESC) : OPERAND(DEQUANTIZE_YDESC),
                                  .scale = quantize ? OPERAND(QUANTIZE_SCALE_DESC) : OPERAND(DEQUANTIZE_SCALE_DESC)};
    const int name = quantize ? CUDNN_ATTR_OPERATION_BLOCK_SCALE_QUANTIZE_SCALE_DESC
                              : CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC;
    const int many = quantize ? b.x.t.type : b.y.t.type, few = quantize ? b.y.t.type : b.x.t.type;
    const int scale = b.scale.t.type, n = b.x.t.n;
    b.swizzled = w->p->tensor[graph_operand(w->n, name)].swizzled;
    DNN_BAD_UNLESS(graph_alike(&b.y, &b.x.t) && b.scale.t.n == n && n >= 2);
    for (int i = 0; i < w->n->spatial; i++)
        DNN_BAD_UNLESS(w->n->window[i] > 0);
    DNN_BAD_UNLESS(w->n->spatial >= 1 && w->n->spatial <= n && find_blocks(&b, w->n->window, w->n->spatial));
    for (int i = 0; i < 3; i++) { /* only scales are in the order of tiles */
        const struct graph_tensor *t = &w->p->tensor[w->n->operand[i]];
        if (t->swizzled && w->n->operand[i] != graph_operand(w->n, name))
            return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
    }
    if (!dnn_size(many) || is_narrow(many) || few == CUDNN_DATA_FP8_E8M0)
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    if (quantize && few != CUDNN_DATA_FP8_E4M3 && few != CUDNN_DATA_FP8_E5M2 && few != CUDNN_DATA_FP4_E2M1)
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    if (quantize ? scale != CUDNN_DATA_FP8_E8M0 && scale != CUDNN_DATA_FP8_E4M3 && scale != CUDNN_DATA_FLOAT
                 : scale != CUDNN_DATA_FP8_E8M0 && !dnn_size(scale))
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    return w->at ? GRAPH_DONE(mu.mudnnHostBlockScale(w->stream, &b)) : CUDNN_STATUS_SUCCESS;
}
