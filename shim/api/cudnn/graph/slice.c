/* Slices of plans. The scores of attention take more memory than all else together, and where all nodes between two
 * products compute each batch and head by itself, a slice of them at a time is enough: such nodes run in turn for the
 * first head, then for the next, and what is between them needs the room of one. */
#include "api/cudnn/graph/graph.h"

enum { MOST_SLICES = 4096, LEAST_BYTES = 8 << 20 };

static bool is_one(const struct mudnn_tensor *t)
{
    for (int i = 0; i < t->n; i++)
        if (t->dim[i] != 1)
            return false;
    return true;
}

/* Are the last two dimensions the same, or turned around with their strides? */
static bool is_view(const struct mudnn_tensor *x, const struct mudnn_tensor *y)
{
    for (int turned = 0; turned < 2; turned++) {
        bool same = x->n == 4 && y->n == 4;
        for (int i = 0; same && i < 2; i++)
            same = x->dim[2 + i] == y->dim[2 + (i ^ turned)] && x->stride[2 + i] == y->stride[2 + (i ^ turned)];
        for (int i = 0; same && i < 2; i++)
            same = x->dim[i] == y->dim[i] && x->stride[i] == y->stride[i];
        if (same)
            return true;
    }
    return false;
}

static bool computes_by_heads(const struct graph_plan *p, const struct graph_node *n)
{
    switch (n->kind) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR: return true;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return n->mode != CUDNN_POINTWISE_GEN_INDEX || n->axis == 2 || n->axis == 3;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return n->mode == CUDNN_RESHAPE_VIEW_ONLY &&
               is_view(&p->tensor[graph_operand(n, CUDNN_ATTR_OPERATION_RESHAPE_XDESC)].t,
                       &p->tensor[graph_operand(n, CUDNN_ATTR_OPERATION_RESHAPE_YDESC)].t);
    default: return false;
    }
}

/* Its results have these batches and heads; what it reads has them too, or one for all, or of a product one for each
 * group of heads. */
bool graph_has_heads(const struct graph_plan *p, const struct graph_node *n, int64_t *heads)
{
    const struct graph_kind *k = graph_kind_of(n->kind);
    heads[0] = heads[1] = 0;
    if (!computes_by_heads(p, n))
        return false;
    for (int written = 1; written >= 0; written--) {
        int slot = 0;
        for (unsigned i = 0; i < k->rules; i++) {
            const struct graph_rule *r = &k->rule[i];
            if (!(r->flags & (GRAPH_INPUT | GRAPH_OUTPUT)))
                continue;
            for (int m = 0; m < r->most; m++, slot++) {
                if (n->operand[slot] < 0 || graph_writes(n, r) != (written == 1))
                    continue;
                const struct mudnn_tensor *t = &p->tensor[n->operand[slot]].t;
                if (!dnn_size(t->type) || t->vector > 1 || (t->n != 4 && (written || !is_one(t))))
                    return false;
                for (int d = 0; t->n == 4 && d < 2; d++) {
                    if (written && !heads[d])
                        heads[d] = t->dim[d];
                    bool group = n->kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR && heads[d] % t->dim[d] == 0;
                    bool whole = n->kind == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR;
                    if (t->dim[d] != heads[d] && (written || whole || (t->dim[d] != 1 && !group)))
                        return false;
                }
            }
        }
    }
    return heads[0] > 0 && heads[0] * heads[1] > 1;
}

/* ---- bands of nodes ---------------------------------------------------------------------------- */

struct band {
    unsigned first, end; /* nodes */
};

static bool uses(const struct graph_node *n, int tensor)
{
    for (int k = 0; k < GRAPH_OPERANDS; k++)
        if (n->operand[k] == tensor)
            return true;
    return false;
}

/* Is a tensor of no one else? */
static bool is_inside(const struct graph_plan *p, struct band b, int tensor)
{
    if (p->tensor[tensor].place != GRAPH_VIRTUAL)
        return false;
    for (unsigned i = 0; i < p->nodes; i++)
        if ((i < b.first || i >= b.end) && uses(&p->node[i], tensor))
            return false;
    return true;
}

static bool writes(const struct graph_node *n, int tensor)
{
    const struct graph_kind *k = graph_kind_of(n->kind);
    int slot = 0;
    for (unsigned i = 0; i < k->rules; i++)
        for (int m = 0; k->rule[i].flags & (GRAPH_INPUT | GRAPH_OUTPUT) && m < k->rule[i].most; m++, slot++)
            if (n->operand[slot] == tensor && graph_writes(n, &k->rule[i]))
                return true;
    return false;
}

/* Memory that is written and has two descriptions is not cut, as slices of one need not be slices of the other. Keys
 * that are read as they are and turned around may be. */
static bool is_described_twice(const struct graph_plan *p, struct band b, unsigned tensor)
{
    bool twice = false, written = false;
    for (unsigned t = 0; t < p->tensors; t++)
        for (unsigned i = b.first; p->tensor[t].uid == p->tensor[tensor].uid && i < b.end; i++) {
            twice |= t != tensor && uses(&p->node[i], (int)t);
            written |= writes(&p->node[i], (int)t);
        }
    return twice && written;
}

static void slice_band(struct graph_plan *p, struct band b, const int64_t *heads)
{
    double bytes = 0;
    int64_t slices[] = {heads[0], heads[1]};
    for (unsigned t = 0; t < p->tensors; t++) {
        bool used = false;
        for (unsigned i = b.first; i < b.end; i++)
            used |= uses(&p->node[i], (int)t);
        if (used && p->tensor[t].place == GRAPH_REAL && is_described_twice(p, b, t))
            return;
        if (used && is_inside(p, b, (int)t)) {
            double size = (double)dnn_size(p->tensor[t].t.type);
            for (int d = 0; d < p->tensor[t].t.n; d++)
                size *= (double)p->tensor[t].t.dim[d];
            bytes += size;
        }
    }
    if (slices[0] > MOST_SLICES / slices[1])
        slices[1] = 1; /* batches alone: a CUDA graph of it has a node for each call */
    if (bytes < LEAST_BYTES || slices[0] > MOST_SLICES || slices[0] * slices[1] == 1)
        return;
    for (unsigned t = 0; t < p->tensors; t++)
        for (unsigned i = b.first; i < b.end; i++)
            if (uses(&p->node[i], (int)t) && is_inside(p, b, (int)t))
                for (int d = 0; d < 2; d++)
                    p->tensor[t].cut[d] = slices[d] > 1;
    for (unsigned i = b.first; i < b.end; i++)
        for (int d = 0; d < 2; d++) {
            p->node[i].slices[d] = slices[d];
            p->node[i].heads[d] = heads[d];
        }
}

void graph_slice_plan(struct graph_plan *p)
{
    for (unsigned i = 0; i < p->tensors; i++)
        p->tensor[i].cut[0] = p->tensor[i].cut[1] = false;
    for (unsigned i = 0; i < p->nodes; i++)
        p->node[i].slices[0] = p->node[i].slices[1] = 0;
    for (struct band b = {0, 0}; b.first < p->nodes; b.first = b.end) {
        int64_t heads[2], next[2];
        b.end = b.first + 1;
        if (!graph_has_heads(p, &p->node[b.first], heads))
            continue;
        while (b.end < p->nodes && graph_has_heads(p, &p->node[b.end], next) && next[0] == heads[0] &&
               next[1] == heads[1])
            b.end++;
        if (b.end > b.first + 1)
            slice_band(p, b, heads);
    }
}

unsigned graph_slice_end(const struct graph_plan *p, unsigned node)
{
    unsigned end = node + 1;
    const struct graph_node *n = &p->node[node];
    while (n->slices[0] && end < p->nodes && p->node[end].slices[0] == n->slices[0] &&
           p->node[end].slices[1] == n->slices[1] && p->node[end].heads[0] == n->heads[0] &&
           p->node[end].heads[1] == n->heads[1])
        end++;
    return end;
}

void graph_take_slice(const struct graph_work *w, const struct graph_tensor *t, struct mudnn_operand *o)
{
    for (int d = 0; d < 2 && w->n->slices[0] && o->t.n == 4; d++) {
        if (w->n->slices[d] <= 1 || o->t.dim[d] == 1)
            continue;
        int64_t index = w->index[d] / (w->n->heads[d] / o->t.dim[d]);
        if (o->at && !t->cut[d])
            o->at = (char *)o->at + index * o->t.stride[d] * (int64_t)dnn_size(o->t.type);
        o->t.dim[d] = 1;
    }
}
