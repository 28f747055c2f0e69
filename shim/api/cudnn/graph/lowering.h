/* Steps that put attention together of nodes, forward and backward. */
#ifndef CUMU_API_CUDNN_LOWERING_H
#define CUMU_API_CUDNN_LOWERING_H

#include <math.h>

#include "api/cudnn/graph/graph.h"

/* What is being put together. Any step that fails leaves its status, and the steps behind it do nothing. */
struct lowering {
    struct graph_plan *p;
    const struct graph_body *op;
    int status;
};

static inline int checked(struct lowering *l, int tensor)
{
    if (!l->status && tensor < 0)
        l->status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    return tensor;
}
static inline int tensor_of(struct lowering *l, int name) /* -1: there is none */
{
    const struct graph_body *b = graph_member(l->op, name);
    int status = CUDNN_STATUS_SUCCESS, t = b ? graph_tensor_of(l->p, b, &status) : -1;
    if (!l->status)
        l->status = status;
    return t;
}
static inline int result_of(struct lowering *l, int type, const int64_t *dims)
{
    return checked(l, graph_add_virtual(l->p, type, 4, dims));
}
static inline struct graph_node *node(struct lowering *l, int kind)
{
    struct graph_node *n = l->status ? NULL : graph_add_node(l->p, kind);
    if (!n && !l->status)
        l->status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    return n;
}

static inline void pointwise(struct lowering *l, int mode, int x, int b, int y)
{
    struct graph_node *n = node(l, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    if (!n)
        return;
    n->mode = mode;
    graph_set(n, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    graph_set(n, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    graph_set(n, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
}
static inline void multiply(struct lowering *l, int x, int b, int y) { pointwise(l, CUDNN_POINTWISE_MUL, x, b, y); }

/* The same memory, as the transposed matrices. */
static inline int transposed(struct lowering *l, int tensor)
{
    if (l->status || tensor < 0)
        return -1;
    struct graph_tensor t = l->p->tensor[tensor];
    if (t.place != GRAPH_REAL || t.t.n != 4) {
        l->status = CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
        return -1;
    }
    int64_t d = t.t.dim[2], s = t.t.stride[2];
    t.t.dim[2] = t.t.dim[3], t.t.stride[2] = t.t.stride[3];
    t.t.dim[3] = d, t.t.stride[3] = s;
    return checked(l, graph_add_tensor(l->p, &t));
}

static inline void product(struct lowering *l, int a, int b, int c, int rows, int columns, int inner)
{
    struct graph_node *n = node(l, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    if (!n)
        return;
    graph_set(n, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    graph_set(n, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    graph_set(n, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    graph_set(n, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, rows);
    graph_set(n, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, columns);
    graph_set(n, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, inner);
}

/* Beyond the lengths of a batch nothing counts. */
static inline int mask_lengths(struct lowering *l, int from, int q, int kv, const int64_t *dims)
{
    if (q < 0 && kv < 0)
        return from;
    int to = result_of(l, CUDNN_DATA_FLOAT, dims), fill = checked(l, graph_add_constant(l->p, 4, -INFINITY));
    struct graph_node *n = node(l, CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR);
    if (!n)
        return -1;
    n->way = MUDNN_BAND_LENGTHS;
    n->mode = CUDNN_POINTWISE_CMP_LT;
    graph_set(n, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC, from);
    graph_set(n, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_BDESC, fill);
    graph_set(n, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC, to);
    graph_set(n, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_QDESC, q);
    graph_set(n, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC, kv);
    return to;
}

#endif
