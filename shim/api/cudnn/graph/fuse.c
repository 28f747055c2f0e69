/* Nodes of a plan that become part of another: a factor of a product's, a transposition that a product reads through,
 * and what attention does to its scores in several passes, of which each costs as much as reading them from memory. */
#include <string.h>

#include "api/cudnn/graph/rewrite.h"

static bool is_used_once(const struct graph_plan *p, int tensor, const struct graph_node *writer)
{
    int users = 0;
    for (unsigned i = 0; i < p->nodes; i++)
        for (int k = 0; k < GRAPH_OPERANDS; k++)
            users += &p->node[i] != writer && graph_same_tensor(p, p->node[i].operand[k], tensor);
    return users == 1;
}

/* A number for all: of a shape of ones. */
static bool is_number(const struct graph_plan *p, int tensor)
{
    bool one = tensor >= 0 && dnn_size(p->tensor[tensor].t.type) && p->tensor[tensor].t.type != CUDNN_DATA_BOOLEAN;
    for (int i = 0; one && i < p->tensor[tensor].t.n; i++)
        one = p->tensor[tensor].t.dim[i] == 1;
    return one;
}

/* Floats that one node writes and one reads, element by element: nothing is lost if they are never stored, neither
 * digits of a narrower type nor what lies elsewhere. What the reader writes may be ragged: others store that. */
static bool is_passed_on(const struct graph_plan *p, const struct graph_node *writer, int x, int y)
{
    const struct graph_tensor *t = &p->tensor[x];
    return t->place == GRAPH_VIRTUAL && t->t.type == CUDNN_DATA_FLOAT && dnn_same_shape(&t->t, &p->tensor[y].t) &&
           is_used_once(p, x, writer);
}

/* ---- a factor ---------------------------------------------------------------------------------- */

/* Sums of bytes and wide numbers are exact before they are scaled; others may be scaled where they are computed. */
static bool is_product_of_floats(const struct graph_plan *p, const struct graph_node *product)
{
    for (int k = 0; k < 2; k++) {
        const int operand = graph_operand(product,
                                          k ? CUDNN_ATTR_OPERATION_MATMUL_BDESC : CUDNN_ATTR_OPERATION_MATMUL_ADESC);
        const int type = p->tensor[operand].t.type;
        if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16)
            return false;
    }
    return product->number[0] == 0; /* a padding's value is scaled, too */
}

/* Scores of attention and their gradients are scaled by an operation of its own, which costs as much as a product. */
static bool take_factor(struct graph_plan *p, const struct graph_node *n)
{
    const int x = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const int scale = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const int y = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    if (!graph_is_pointwise(n, CUDNN_POINTWISE_MUL) || n->alpha != 1 || n->beta != 1 || n->then || x < 0 || y < 0 ||
        !is_number(p, scale))
        return false;
    struct graph_node *product = graph_writer_of(p, x, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    struct graph_node *pair = graph_writer_of(p, x, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    struct graph_node *writer = product ? product : pair;
    if (!writer || graph_operand(writer, GRAPH_OWN_SCALE) >= 0 || !is_passed_on(p, writer, x, y) ||
        (product ? !is_product_of_floats(p, product) : pair->then != MUDNN_THEN_MUL))
        return false;
    return graph_set(writer, GRAPH_OWN_SCALE, scale) &&
           graph_set(writer, product ? CUDNN_ATTR_OPERATION_MATMUL_CDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
}

/* ---- what follows a difference ----------------------------------------------------------------- */

/* e^(x - b), and (x - b) t: a softmax in pieces, and its gradient. */
static bool follow_difference(struct graph_plan *p, const struct graph_node *n)
{
    const bool times = graph_is_pointwise(n, CUDNN_POINTWISE_MUL);
    const int y = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    int x = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    int other = times ? graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_BDESC) : -1;
    if ((!times && !graph_is_pointwise(n, CUDNN_POINTWISE_EXP)) || n->alpha != 1 || n->beta != 1 || n->then || y < 0)
        return false;
    for (int k = 0; k < (times ? 2 : 1); k++) {
        struct graph_node *difference = graph_writer_of(p, x, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
        if (difference && graph_is_pointwise(difference, CUDNN_POINTWISE_SUB) && !difference->then &&
            is_passed_on(p, difference, x, y)) {
            difference->then = times ? MUDNN_THEN_MUL : MUDNN_THEN_EXP;
            graph_set(difference, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, other);
            return graph_set(difference, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
        }
        const int first = x;
        x = other, other = first;
    }
    return false;
}

/* ---- sums of products -------------------------------------------------------------------------- */

/* A sum of what a product of two tensors, element by element, was made for. */
static bool sum_products(struct graph_plan *p, const struct graph_node *n)
{
    const int x = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const int b = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const int y = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    if (!graph_is_pointwise(n, CUDNN_POINTWISE_MUL) || n->alpha != 1 || n->beta != 1 || n->then || x < 0 || b < 0 ||
        y < 0 || !is_passed_on(p, n, y, x) || !is_passed_on(p, n, y, b))
        return false;
    struct graph_node *sum = graph_writer_of(p, y, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    if (!sum || sum->mode != CUDNN_REDUCE_TENSOR_ADD || graph_operand(sum, GRAPH_OWN_X) >= 0)
        return false;
    return graph_set(sum, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x) && graph_set(sum, GRAPH_OWN_X, b);
}

/* ---- transpositions ---------------------------------------------------------------------------- */

/* The last two dimensions are turned around with their strides, and nothing else is. */
static bool is_turned(const struct graph_tensor *x, const struct graph_tensor *y)
{
    const int n = x->t.n;
    bool turned = n >= 2 && y->t.n == n && x->t.type == y->t.type;
    for (int i = 0; turned && i < n; i++) {
        const int k = i < n - 2 ? i : 2 * n - 3 - i;
        turned = x->t.dim[i] == y->t.dim[k] && x->t.stride[i] == y->t.stride[k];
    }
    return turned;
}

/* Products read a matrix that another tensor has the transpose of where that lies, in place of a copy. */
static bool read_through(struct graph_plan *p, const struct graph_node *n)
{
    const int x = graph_operand(n, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    const int y = graph_operand(n, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    const int slot[] = {graph_slot(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                        graph_slot(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_BDESC)};
    if (n->kind != CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR || n->mode != CUDNN_RESHAPE_VIEW_ONLY || x < 0 || y < 0 ||
        p->tensor[x].place != GRAPH_VIRTUAL || p->tensor[y].place != GRAPH_VIRTUAL ||
        !is_turned(&p->tensor[x], &p->tensor[y]))
        return false;
    bool used = false;
    for (int change = 0; change < 2; change++)
        for (unsigned i = 0; i < p->nodes; i++)
            for (int k = 0; &p->node[i] != n && k < GRAPH_OPERANDS; k++) {
                struct graph_node *user = &p->node[i];
                if (!graph_same_tensor(p, user->operand[k], y))
                    continue;
                const bool product = user->kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
                if (!product || (k != slot[0] && k != slot[1]))
                    return false; /* in the first round, which changes nothing */
                used = true;
                if (change) {
                    user->operand[k] = x;
                    user->turned ^= k == slot[0] ? GRAPH_TURNED_A : GRAPH_TURNED_B;
                }
            }
    return used;
}

void graph_fuse(struct graph_plan *p)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = 0; i < p->nodes;) {
            if (take_factor(p, &p->node[i]) || follow_difference(p, &p->node[i]) || sum_products(p, &p->node[i]) ||
                read_through(p, &p->node[i])) {
                memmove(&p->node[i], &p->node[i + 1], (--p->nodes - i) * sizeof *p->node);
                changed = true;
            } else {
                i++;
            }
        }
    }
}
