/* From cuDNN's operation graphs to plans: tensors by their numbers, a node an operation. */
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/graph/graph.h"

void graph_plan_free(struct graph_plan *p)
{
    if (p) {
        free(p->tensor);
        free(p->node);
        free(p);
    }
}

/* ---- tensors ----------------------------------------------------------------------------------- */

int graph_add_tensor(struct graph_plan *p, const struct graph_tensor *t)
{
    struct graph_tensor *more = realloc(p->tensor, (p->tensors + 1) * sizeof *more);
    if (!more)
        return -1;
    p->tensor = more;
    more[p->tensors] = *t;
    return (int)p->tensors++;
}

static void pack_strides(struct mudnn_tensor *t)
{
    int64_t step = 1;
    for (int i = t->n; i-- > 0; step *= t->dim[i])
        t->stride[i] = step;
}

/* Has each element a place of its own? By the strides in their order. */
static bool is_injective(const struct mudnn_tensor *t)
{
    bool used[MUDNN_DIMS] = {false};
    int64_t reach = 1;
    for (int i = 0; i < t->n; i++) {
        int least = -1;
        for (int k = 0; k < t->n; k++)
            if (!used[k] && (least < 0 || t->stride[k] < t->stride[least] ||
                             (t->stride[k] == t->stride[least] && t->dim[k] < t->dim[least])))
                least = k;
        used[least] = true;
        if (t->dim[least] == 1)
            continue;
        if (t->stride[least] < reach)
            return false;
        reach = t->stride[least] * t->dim[least];
    }
    return true;
}

/* What a by-value tensor's constant says, as its type. */
static double constant_of(int type, const void *at)
{
    double d;
    float f;
    int32_t i;
    int64_t l;
    switch (type) {
    case CUDNN_DATA_FLOAT: memcpy(&f, at, sizeof f); return f;
    case CUDNN_DATA_DOUBLE: memcpy(&d, at, sizeof d); return d;
    case CUDNN_DATA_INT32: memcpy(&i, at, sizeof i); return i;
    case CUDNN_DATA_INT64: memcpy(&l, at, sizeof l); return (double)l;
    default: return 0;
    }
}

/* Vectors of channels: the description counts vectors, and here it is numbers (mapping/facts/cuda.md F11). */
static bool take_vectors(struct mudnn_tensor *t, int64_t count, int64_t along)
{
    if (count == 1)
        return true;
    if ((count != 4 && count != 32) || along != 1 || t->n < 3)
        return false;
    t->vector = (int)count;
    t->dim[1] *= count;
    for (int i = 0; i < t->n; i++)
        t->stride[i] *= count;
    return true;
}

static struct graph_tensor describe(const struct graph_body *b, const struct graph_body *overrides)
{
    struct graph_tensor t = {.uid = graph_integer(b, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0)};
    const struct graph_attr *constant = graph_find(b, CUDNN_ATTR_TENSOR_CONSTANT_VALUE);
    t.t.type = (int)graph_integer(b, CUDNN_ATTR_TENSOR_DATA_TYPE, 0);
    t.t.vector = 1;
    t.t.n = graph_integers(b, CUDNN_ATTR_TENSOR_DIMENSIONS, t.t.dim);
    graph_integers(b, CUDNN_ATTR_TENSOR_STRIDES, t.t.stride);
    if (overrides)
        (void)graph_override(overrides, &t);
    t.place = graph_integer(b, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0)    ? GRAPH_VIRTUAL
              : constant                                           ? GRAPH_CONSTANT
              : graph_integer(b, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0) ? GRAPH_VALUE
                                                                   : GRAPH_REAL;
    t.ragged = -1;
    t.ragged_unit = graph_integer(b, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_MULTIPLIER, 0);
    int64_t order = graph_integer(b, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TENSOR_REORDERING_NONE);
    t.swizzled = order == CUDNN_TENSOR_REORDERING_F8_128x4;
    t.odd |= order != CUDNN_TENSOR_REORDERING_NONE && !t.swizzled;
    if (constant) {
        t.constant = constant_of(t.t.type, constant->data);
        /* narrow types' bits are nobody's numbers here */
        t.odd |= t.t.type != CUDNN_DATA_FLOAT && t.t.type != CUDNN_DATA_DOUBLE && t.t.type != CUDNN_DATA_INT32 &&
                 t.t.type != CUDNN_DATA_INT64;
        t.t.type = CUDNN_DATA_FLOAT;
    }
    if (t.place == GRAPH_VIRTUAL && graph_find(b, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC))
        graph_make_dense(&t.t);                               /* as what it is made of */
    else if (t.place == GRAPH_VIRTUAL && !is_injective(&t.t)) /* nobody looks into it, so that any layout will do */
        pack_strides(&t.t);
    if (!take_vectors(&t.t, graph_integer(b, CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1),
                      graph_integer(b, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, -1)))
        t.odd = true;
    return t;
}

static bool same_layout(const struct graph_tensor *a, const struct graph_tensor *b)
{
    bool same = a->place == b->place && a->t.type == b->t.type && a->ragged == b->ragged &&
                a->ragged_unit == b->ragged_unit && a->swizzled == b->swizzled && a->t.vector == b->t.vector &&
                dnn_same_shape(&a->t, &b->t);
    for (int i = 0; same && i < a->t.n; i++)
        same = a->t.stride[i] == b->t.stride[i];
    return same;
}

/* The program's own memory may be described twice, as a matrix and its transpose; what is here may not. */
int graph_tensor_of(struct graph_plan *p, const struct graph_body *tensor, int *status)
{
    struct graph_tensor t = describe(tensor, p->overrides);
    const struct graph_body *offsets = graph_member(tensor, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
    if (offsets && t.place == GRAPH_REAL) { /* offsets of offsets are nobody's */
        const struct graph_tensor o = describe(offsets, p->overrides);
        t.ragged = graph_find(offsets, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC) || o.place != GRAPH_REAL
                       ? -1
                       : graph_tensor_of(p, offsets, status);
        if (t.ragged < 0) {
            *status = *status ? *status : CUDNN_STATUS_BAD_PARAM;
            return -1;
        }
    }
    for (unsigned i = 0; i < p->tensors; i++) {
        if (p->tensor[i].uid != t.uid)
            continue;
        if (same_layout(&p->tensor[i], &t))
            return (int)i;
        if (p->tensor[i].place != GRAPH_REAL || t.place != GRAPH_REAL) {
            *status = CUDNN_STATUS_BAD_PARAM;
            return -1;
        }
    }
    int made = graph_add_tensor(p, &t);
    if (made < 0)
        *status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    return made;
}

/* Numbers below all that programs give: cuDNN-frontend counts from 1. */
static int64_t own_uid(const struct graph_plan *p) { return INT64_MIN + p->tensors; }

int graph_add_virtual(struct graph_plan *p, int type, int n, const int64_t *dims)
{
    struct graph_tensor t = {
        .uid = own_uid(p), .place = GRAPH_VIRTUAL, .ragged = -1, .t = {.type = type, .n = n, .vector = 1}};
    memcpy(t.t.dim, dims, sizeof *dims * (size_t)n);
    pack_strides(&t.t);
    return graph_add_tensor(p, &t);
}

int graph_add_constant(struct graph_plan *p, int n, double value)
{
    struct graph_tensor t = {.uid = own_uid(p), .place = GRAPH_CONSTANT, .ragged = -1, .constant = value};
    t.t = (struct mudnn_tensor){.type = CUDNN_DATA_FLOAT, .n = n, .vector = 1};
    for (int i = 0; i < n; i++)
        t.t.dim[i] = t.t.stride[i] = 1;
    return graph_add_tensor(p, &t);
}

int graph_lengths(struct graph_plan *p, int cumulative, int64_t batches, int *status)
{
    const struct mudnn_tensor all = p->tensor[cumulative].t;
    struct mudnn_tensor part = all;
    int of[3];
    *status = CUDNN_STATUS_BAD_PARAM;
    if (all.n < 1 || all.dim[0] <= batches)
        return -1;
    *status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    part.dim[0] = batches;
    for (int i = 0; i < 3; i++) {
        struct graph_node *n;
        of[i] = graph_add_virtual(p, all.type, all.n, part.dim);
        n = of[i] < 0 ? NULL
                      : graph_add_node(p, i < 2 ? CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR
                                                : CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
        if (!n)
            return -1;
        if (i == 2) { /* the later less the earlier */
            n->mode = CUDNN_POINTWISE_SUB;
            graph_set(n, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, of[1]);
            graph_set(n, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, of[0]);
            graph_set(n, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of[2]);
            break;
        }
        n->spatial = all.n;
        for (int d = 0; d < all.n; d++) {
            n->pre[d] = d ? 0 : i;
            n->post[d] = n->pre[d] + part.dim[d];
            n->stride[d] = 1;
        }
        graph_set(n, CUDNN_ATTR_OPERATION_SLICE_XDESC, cumulative);
        graph_set(n, CUDNN_ATTR_OPERATION_SLICE_YDESC, of[i]);
    }
    *status = CUDNN_STATUS_SUCCESS;
    return of[2];
}

/* ---- nodes ------------------------------------------------------------------------------------- */

struct graph_node *graph_add_node(struct graph_plan *p, int kind)
{
    struct graph_node *more = realloc(p->node, (p->nodes + 1) * sizeof *more);
    if (!more)
        return NULL;
    p->node = more;
    struct graph_node *n = &more[p->nodes++];
    memset(n, 0, sizeof *n);
    n->kind = kind;
    for (int i = 0; i < GRAPH_OPERANDS; i++)
        n->operand[i] = -1;
    n->alpha = n->beta = 1;
    return n;
}

bool graph_set(struct graph_node *n, int name, int tensor)
{
    int slot = graph_slot(n->kind, name);
    if (slot < 0 || tensor < 0)
        return false;
    n->operand[slot] = tensor;
    return true;
}

/* A node's tensors, by the rules of its kind. */
static int take_operands(struct graph_plan *p, unsigned node, const struct graph_body *operation)
{
    const struct graph_kind *k = graph_kind_of(operation->kind);
    int slot = 0;
    for (unsigned i = 0; i < k->rules; i++) {
        const struct graph_rule *r = &k->rule[i];
        const struct graph_attr *a = graph_find(operation, r->name);
        if (!(r->flags & (GRAPH_INPUT | GRAPH_OUTPUT)))
            continue;
        for (int64_t m = 0; a && a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && m < a->count; m++) {
            int status = CUDNN_STATUS_SUCCESS, t = graph_tensor_of(p, ((struct graph_body **)a->data)[m], &status);
            if (status)
                return status;
            p->node[node].operand[slot + m] = t;
        }
        slot += r->most;
    }
    return CUDNN_STATUS_SUCCESS;
}

/* A mask by lengths that add up becomes one by lengths. */
static int take_lengths(struct graph_plan *p, unsigned node)
{
    static const int names[][2] = {{CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC,
                                    CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_QDESC},
                                   {CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_CU_SEQ_LEN_KVDESC,
                                    CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC}};
    const int x = graph_operand(&p->node[node], CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC);
    for (int i = 0; i < 2; i++) {
        int status, cumulative = graph_operand(&p->node[node], names[i][0]);
        if (cumulative < 0)
            continue;
        DNN_BAD_UNLESS(graph_operand(&p->node[node], names[i][1]) < 0 && x >= 0);
        const int lengths = graph_lengths(p, cumulative, p->tensor[x].t.dim[0], &status);
        if (status)
            return status;
        p->node[node].operand[graph_slot(p->node[node].kind, names[i][0])] = -1;
        graph_set(&p->node[node], names[i][1], lengths);
    }
    return CUDNN_STATUS_SUCCESS;
}

int graph_lower_operations(struct graph_plan *p, const struct graph_body *graph)
{
    const struct graph_attr *ops = graph_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    struct graph_body **op = ops->data;
    int r = CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; !r && i < ops->count; i++) {
        if (op[i]->kind == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR) {
            r = graph_lower_attention(p, op[i]);
            continue;
        }
        if (op[i]->kind == CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR) {
            r = graph_lower_attention_backward(p, op[i]);
            continue;
        }
        const unsigned node = p->nodes;
        struct graph_node *n = graph_add_node(p, op[i]->kind);
        r = n ? graph_gather(n, op[i]) : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
        if (!r)
            r = take_operands(p, node, op[i]);
        if (!r && op[i]->kind == CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR)
            r = take_lengths(p, node);
    }
    return r;
}

int graph_lower(const struct graph_body *graph, const struct graph_body *overrides, struct graph_plan **out)
{
    struct graph_plan *p = calloc(1, sizeof *p);
    int r = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (p) {
        p->overrides = overrides;
        r = graph_lower_operations(p, graph);
        if (!r && overrides)
            r = graph_infer(p);
        p->overrides = NULL;
        if (!r)
            r = graph_rewrite(p);
        if (!r)
            r = graph_arrange(p);
    }
    if (r) {
        graph_plan_free(p);
        p = NULL;
    }
    graph_plan_free(*out);
    *out = p;
    return r;
}
