/* The gradients of attention as one operation of cuDNN's graphs. */
#include "api/cudnn/graph/lowering.h"

#define NAME(name) CUDNN_ATTR_OPERATION_SDPA_BWD_##name

/* y = the sum of x over its dimensions where y has 1, or over groups of heads. */
static void reduce(struct lowering *l, int x, int y)
{
    struct graph_node *n = node(l, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    if (!n)
        return;
    n->mode = CUDNN_REDUCE_TENSOR_ADD;
    graph_set(n, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    graph_set(n, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
}

/* c = a' b with all of q's heads, of which the result may have fewer: those of a group are added up. */
static void turned_product(struct lowering *l, int a, int b, int c, int rows, int inner, int64_t heads)
{
    if (l->status)
        return;
    const struct mudnn_tensor *t = &l->p->tensor[c].t;
    const int64_t dims[] = {t->dim[0], heads, t->dim[2], t->dim[3]};
    int all = t->dim[1] == heads ? c : result_of(l, CUDNN_DATA_FLOAT, dims);
    product(l, a, b, all, rows, -1, inner);
    if (!l->status)
        l->p->node[l->p->nodes - 1].turned = GRAPH_TURNED_A;
    if (all != c)
        reduce(l, all, c);
}

/* p = exp(scale q k' - stats), ds = scale p (do v' - sum of do o): dv = p' do, dq = ds k, dk = ds' q. */
int graph_lower_attention_backward(struct graph_plan *p, const struct graph_body *operation)
{
    struct lowering l = {p, operation, CUDNN_STATUS_SUCCESS};
    int q = tensor_of(&l, NAME(QDESC)), k = tensor_of(&l, NAME(KDESC)), v = tensor_of(&l, NAME(VDESC));
    int o = tensor_of(&l, NAME(ODESC)), stats = tensor_of(&l, NAME(STATSDESC)), scale = tensor_of(&l, NAME(SCALEDESC));
    int rows = tensor_of(&l, NAME(SEQ_LEN_QDESC)), columns = tensor_of(&l, NAME(SEQ_LEN_KVDESC));
    int gradient = tensor_of(&l, NAME(DODDESC)), dq = tensor_of(&l, NAME(DQDESC)), dk = tensor_of(&l, NAME(DKDESC));
    int dv = tensor_of(&l, NAME(DVDESC));
    const int all[] = {q, k, v, o, stats, gradient, dq, dk, dv};
    const int inputs[] = {q, k, v, gradient};
    for (unsigned i = 0; !l.status && i < sizeof all / sizeof *all; i++)
        DNN_BAD_UNLESS(p->tensor[all[i]].t.n == 4);
    int key = transposed(&l, k), value = transposed(&l, v);
    if (l.status)
        return l.status;
    const int64_t *qd = p->tensor[q].t.dim, *od = p->tensor[o].t.dim;
    const int64_t dims[] = {qd[0], qd[1], qd[2], p->tensor[k].t.dim[2]}, out[] = {od[0], od[1], od[2], od[3]};
    const int64_t sums[] = {dims[0], dims[1], dims[2], 1};
    int score = result_of(&l, CUDNN_DATA_FLOAT, dims), less = result_of(&l, CUDNN_DATA_FLOAT, dims);
    /* what products of bfloat16 take is of it, as NVIDIA's matrix units want it: half the memory, and the CPU has such
     * products; halves, which it lacks, would lose small gradients for nothing */
    int type = CUDNN_DATA_BFLOAT16;
    for (unsigned i = 0; i < sizeof inputs / sizeof *inputs; i++)
        type = p->tensor[inputs[i]].t.type == CUDNN_DATA_BFLOAT16 ? type : CUDNN_DATA_FLOAT;
    int share = result_of(&l, type, dims);
    product(&l, q, key, score, rows, columns, -1);
    if (scale >= 0) {
        int scaled = result_of(&l, CUDNN_DATA_FLOAT, dims);
        multiply(&l, score, scale, scaled);
        score = scaled;
    }
    score = mask_lengths(&l, score, rows, columns, dims);
    pointwise(&l, CUDNN_POINTWISE_SUB, score, stats, less);
    pointwise(&l, CUDNN_POINTWISE_EXP, less, -1, share);
    turned_product(&l, share, gradient, dv, columns, rows, dims[1]);

    int both = result_of(&l, CUDNN_DATA_FLOAT, out), sum = result_of(&l, CUDNN_DATA_FLOAT, sums);
    int slope = result_of(&l, CUDNN_DATA_FLOAT, dims), rest = result_of(&l, CUDNN_DATA_FLOAT, dims);
    int ds = result_of(&l, scale >= 0 ? CUDNN_DATA_FLOAT : type, dims);
    multiply(&l, gradient, o, both);
    reduce(&l, both, sum);
    product(&l, gradient, value, slope, rows, columns, -1);
    pointwise(&l, CUDNN_POINTWISE_SUB, slope, sum, rest);
    multiply(&l, rest, share, ds);
    if (scale >= 0) {
        int scaled = result_of(&l, type, dims);
        multiply(&l, ds, scale, scaled);
        ds = scaled;
    }
    product(&l, ds, k, dq, rows, -1, columns);
    turned_product(&l, ds, q, dk, columns, rows, dims[1]);
    return l.status;
}
