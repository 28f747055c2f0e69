/* Nodes of cuDNN's graphs that compute element by element, or move elements. */
#include "api/cudnn/graph/graph.h"

#define OPERAND(name) graph_operand_of(w, CUDNN_ATTR_OPERATION_##name)

/* ---- pointwise --------------------------------------------------------------------------------- */

/* How many operands a mode has; 0 of one that is none. */
int graph_pointwise_operands(int mode)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
    case CUDNN_POINTWISE_ADD_SQUARE:
    case CUDNN_POINTWISE_DIV:
    case CUDNN_POINTWISE_MAX:
    case CUDNN_POINTWISE_MIN:
    case CUDNN_POINTWISE_MOD:
    case CUDNN_POINTWISE_MUL:
    case CUDNN_POINTWISE_POW:
    case CUDNN_POINTWISE_SUB:
    case CUDNN_POINTWISE_ATAN2:
    case CUDNN_POINTWISE_LOGICAL_AND:
    case CUDNN_POINTWISE_LOGICAL_OR: return 2;
    case CUDNN_POINTWISE_LOGICAL_NOT:
    case CUDNN_POINTWISE_GEN_INDEX:
    case CUDNN_POINTWISE_SQRT: return 1;
    case CUDNN_POINTWISE_BINARY_SELECT: return 3;
    default: break;
    }
    bool backward = mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
    bool compares = mode >= CUDNN_POINTWISE_CMP_EQ && mode <= CUDNN_POINTWISE_CMP_LE;
    bool forward = mode >= CUDNN_POINTWISE_RELU_FWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
    bool function = mode >= CUDNN_POINTWISE_ABS && mode <= CUDNN_POINTWISE_RECIPROCAL;
    return backward || compares ? 2 : forward || function ? 1 : 0;
}

static int index_along(struct graph_work *w, const struct mudnn_operand *y)
{
    DNN_BAD_UNLESS(w->n->axis >= 0 && w->n->axis < y->t.n);
    return w->at ? GRAPH_DONE(mu.mudnnHostIndex(w->stream, y, w->n->axis)) : CUDNN_STATUS_SUCCESS;
}

int graph_pointwise(struct graph_work *w)
{
    const struct graph_node *n = w->n;
    const int count = graph_pointwise_operands(n->mode);
    bool backward = n->mode >= CUDNN_POINTWISE_RELU_BWD && n->mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
    struct mudnn_operand x = backward ? OPERAND(POINTWISE_DYDESC) : OPERAND(POINTWISE_XDESC);
    struct mudnn_operand b = backward ? OPERAND(POINTWISE_XDESC) : OPERAND(POINTWISE_BDESC);
    struct mudnn_operand t = OPERAND(POINTWISE_TDESC), factor = graph_operand_of(w, GRAPH_OWN_SCALE);
    const bool third = count > 2 || n->then == MUDNN_THEN_MUL;
    struct mudnn_operand y = backward ? OPERAND(POINTWISE_DXDESC) : OPERAND(POINTWISE_YDESC);
    bool from_y = backward && !b.t.n; /* a slope from the function's value instead of its argument */
    if (from_y)
        b = OPERAND(POINTWISE_YDESC);
    DNN_BAD_UNLESS(count && y.t.n);
    if (n->mode == CUDNN_POINTWISE_GEN_INDEX)
        return index_along(w, &y);
    DNN_BAD_UNLESS(x.t.n && (count < 2 || b.t.n) && (!third || t.t.n));
    DNN_BAD_UNLESS(graph_serves(&x, &y.t) && graph_serves(&b, &y.t) && graph_serves(&t, &y.t));
    if (from_y && n->mode != CUDNN_POINTWISE_RELU_BWD && n->mode != CUDNN_POINTWISE_TANH_BWD &&
        n->mode != CUDNN_POINTWISE_SIGMOID_BWD && n->mode != CUDNN_POINTWISE_ELU_BWD)
        return CUDNN_STATUS_NOT_SUPPORTED;
    DNN_BAD_UNLESS((unsigned)n->then <= MUDNN_THEN_MUL && (!n->then || count == 2) && (n->then || !factor.t.n));
    for (int i = 0; i < factor.t.n; i++)
        DNN_BAD_UNLESS(factor.t.dim[i] == 1 && dnn_size(factor.t.type));
    struct mudnn_pointwise p = {.mode = n->mode,
                                .from_y = from_y,
                                .nan = n->nan == CUDNN_PROPAGATE_NAN,
                                .masked = n->masked,
                                .then = n->then,
                                .scale = 1,
                                .alpha = {n->alpha, n->beta},
                                .low = n->low,
                                .high = n->high,
                                .slope = n->slope,
                                .elu = n->number[0],
                                .softplus = n->number[1],
                                .swish = n->number[2],
                                .factor = factor.t.type,
                                .x = x.t,
                                .b = count > 1 ? b.t : x.t,
                                .t = third ? t.t : x.t,
                                .y = y.t,
                                .x_at = x.at,
                                .b_at = count > 1 ? b.at : NULL,
                                .t_at = third ? t.at : NULL,
                                .factor_at = factor.at,
                                .y_at = y.at};
    return w->at ? GRAPH_DONE(mu.mudnnHostPointwise(w->stream, &p)) : CUDNN_STATUS_SUCCESS;
}

/* ---- moves ------------------------------------------------------------------------------------- */

static int64_t count_of(const struct mudnn_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->n; i++)
        n *= t->dim[i];
    return n;
}
static int64_t extent_of(const struct mudnn_tensor *t)
{
    int64_t last = 1;
    for (int i = 0; i < t->n; i++)
        last += (t->dim[i] - 1) * t->stride[i];
    return last;
}
static void pack_strides(struct mudnn_tensor *t)
{
    int64_t step = 1;
    for (int i = t->n; i-- > 0; step *= t->dim[i])
        t->stride[i] = step;
}

/* Strides without gaps, in the order of those that there are. */
static struct mudnn_tensor close_gaps(const struct mudnn_tensor *t)
{
    struct mudnn_tensor p = *t;
    bool used[MUDNN_DIMS] = {false};
    int64_t step = 1;
    for (int i = 0; i < t->n; i++) {
        int least = -1;
        for (int k = t->n - 1; k >= 0; k--)
            if (!used[k] && (least < 0 || t->stride[k] < t->stride[least]))
                least = k;
        used[least] = true;
        p.stride[least] = step;
        step *= t->dim[least];
    }
    return p;
}

/* Do both have the same dimensions with the same strides, in some order? Then one is a view of the other. */
static bool same_steps(const struct mudnn_tensor *a, const struct mudnn_tensor *b)
{
    bool used[MUDNN_DIMS] = {false};
    for (int i = 0; i < a->n; i++) {
        int k = 0;
        while (k < b->n && (used[k] || a->dim[i] != b->dim[k] || (a->dim[i] > 1 && a->stride[i] != b->stride[k])))
            k++;
        if (k == b->n)
            return false;
        used[k] = true;
    }
    return a->n == b->n;
}

/* A view takes memory as it lies, in y's order of strides; a logical reshape takes elements in order of their index,
 * for which x is packed first. */
int graph_reshape(struct graph_work *w)
{
    struct mudnn_operand x = OPERAND(RESHAPE_XDESC), y = OPERAND(RESHAPE_YDESC), view = y;
    DNN_BAD_UNLESS(count_of(&x.t) == count_of(&y.t));
    view.t.type = x.t.type;
    view.at = x.at;
    if (w->n->mode == CUDNN_RESHAPE_LOGICAL) {
        struct mudnn_operand packed = {x.t, w->workspace};
        pack_strides(&packed.t);
        pack_strides(&view.t);
        view.at = w->workspace;
        w->scratch = (size_t)count_of(&x.t) * dnn_size(x.t.type);
        int r = w->at ? graph_copy(w, &x, &packed) : CUDNN_STATUS_SUCCESS;
        return r || !w->at ? r : graph_copy(w, &view, &y);
    }
    if (!same_steps(&x.t, &y.t)) {
        if (extent_of(&x.t) != count_of(&x.t))
            return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
        view.t = close_gaps(&view.t);
    }
    return w->at ? graph_copy(w, &view, &y) : CUDNN_STATUS_SUCCESS;
}

int graph_transpose(struct graph_work *w)
{
    struct mudnn_operand x = OPERAND(TRANSPOSE_XDESC), y = OPERAND(TRANSPOSE_YDESC), turned = x;
    unsigned seen = 0;
    DNN_BAD_UNLESS(w->n->spatial == x.t.n);
    for (int i = 0; i < x.t.n; i++) {
        int64_t from = w->n->pre[i];
        DNN_BAD_UNLESS(from >= 0 && from < x.t.n && !(seen >> from & 1));
        seen |= 1u << from;
        turned.t.dim[i] = x.t.dim[from];
        turned.t.stride[i] = x.t.stride[from];
    }
    DNN_BAD_UNLESS(graph_alike(&turned, &y.t));
    return w->at ? graph_copy(w, &turned, &y) : CUDNN_STATUS_SUCCESS;
}

/* Moves an operand's begin by so many elements. */
static void advance(struct mudnn_operand *o, int64_t elements)
{
    if (o->at)
        o->at = (char *)o->at + elements * (int64_t)dnn_size(o->t.type);
}

int graph_slice(struct graph_work *w)
{
    const struct graph_node *n = w->n;
    struct mudnn_operand x = OPERAND(SLICE_XDESC), y = OPERAND(SLICE_YDESC), part = x;
    int64_t first = 0;
    DNN_BAD_UNLESS(n->spatial == x.t.n);
    for (int i = 0; i < x.t.n; i++) {
        DNN_BAD_UNLESS(n->pre[i] >= 0 && n->pre[i] < n->post[i] && n->post[i] <= x.t.dim[i] && n->stride[i] > 0);
        first += n->pre[i] * x.t.stride[i];
        part.t.dim[i] = (n->post[i] - n->pre[i] - 1) / n->stride[i] + 1;
        part.t.stride[i] = x.t.stride[i] * (part.t.dim[i] > 1 ? n->stride[i] : 1);
    }
    DNN_BAD_UNLESS(graph_alike(&part, &y.t));
    advance(&part, first);
    return w->at ? graph_copy(w, &part, &y) : CUDNN_STATUS_SUCCESS;
}

/* Inputs are copied one behind the other; one that is the output's own memory copies onto itself. */
int graph_concat(struct graph_work *w)
{
    const int first = graph_slot(w->n->kind, CUDNN_ATTR_OPERATION_CONCAT_INPUT_DESCS), axis = w->n->axis;
    struct mudnn_operand y = OPERAND(CONCAT_OUTPUT_DESC);
    int64_t at = 0;
    int r = CUDNN_STATUS_SUCCESS;
    DNN_BAD_UNLESS(axis >= 0 && axis < y.t.n);
    for (int i = 0; !r && i < GRAPH_OPERANDS - 1 && w->n->operand[first + i] >= 0; i++) {
        int tensor = w->n->operand[first + i];
        struct mudnn_operand x = {w->p->tensor[tensor].t, w->at ? w->at[tensor] : NULL}, part = y;
        DNN_BAD_UNLESS(x.t.n == y.t.n && x.t.dim[axis] <= y.t.dim[axis] - at);
        part.t.dim[axis] = x.t.dim[axis];
        DNN_BAD_UNLESS(dnn_same_shape(&x.t, &part.t));
        advance(&part, at * y.t.stride[axis]);
        at += x.t.dim[axis];
        r = w->at ? graph_copy(w, &x, &part) : CUDNN_STATUS_SUCCESS;
    }
    DNN_BAD_UNLESS(at == y.t.dim[axis]);
    return r;
}
