/* What is changed in a plan before its nodes are ordered. cuDNN's fused engines take a graph of operations for what it
 * stands for, and so do we where that tells: a softmax in pieces, of which a row may have nothing that counts. And
 * ragged tensors become dense ones, by nodes that load and store them, so that all other nodes know only those. */
#include "api/cudnn/graph/rewrite.h"

/* ---- softmax in pieces ------------------------------------------------------------------------- */

enum { DEEP = 8 }; /* masks between a difference and its exponential */

/* Does a tensor become an exponential, if need be behind masks? */
static bool leads_to_exponential(const struct graph_plan *p, int tensor, int deep)
{
    for (unsigned i = 0; deep && i < p->nodes; i++) {
        const struct graph_node *n = &p->node[i];
        bool band = n->kind == CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR;
        int from = graph_operand(n, band ? CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC
                                         : CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
        if (!graph_same_tensor(p, from, tensor))
            continue;
        if (graph_is_pointwise(n, CUDNN_POINTWISE_EXP))
            return true;
        if ((band || graph_is_pointwise(n, CUDNN_POINTWISE_BINARY_SELECT)) &&
            leads_to_exponential(p,
                                 graph_operand(n, band ? CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC
                                                       : CUDNN_ATTR_OPERATION_POINTWISE_YDESC),
                                 deep - 1))
            return true;
    }
    return false;
}

/* Is a divisor the sum of what it divides, or that and a sink's share, and are those exponentials? */
static bool divides_by_sum(const struct graph_plan *p, const struct graph_node *quotient)
{
    int x = graph_operand(quotient, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    int sum = graph_operand(quotient, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const struct graph_node *exponential = graph_writer_of(p, x, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    const struct graph_node *more = graph_writer_of(p, sum, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    if (more && graph_is_pointwise(more, CUDNN_POINTWISE_ADD))
        sum = graph_operand(more, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const struct graph_node *reduction = graph_writer_of(p, sum, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    return exponential && graph_is_pointwise(exponential, CUDNN_POINTWISE_EXP) && reduction &&
           reduction->mode == CUDNN_REDUCE_TENSOR_ADD &&
           graph_same_tensor(p, graph_operand(reduction, CUDNN_ATTR_OPERATION_REDUCTION_XDESC), x);
}

/* The greatest of rows with a sink: cudnn-frontend gives the former the shape of the rows, whose numbers would not fit
 * into the latter. */
static void mend_greatest(struct graph_plan *p, const struct graph_node *n)
{
    int x = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    int y = graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    const struct graph_node *from = x < 0 || y < 0 ? NULL : graph_writer_of(p, x, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    if (!from || from->mode != CUDNN_REDUCE_TENSOR_MAX || p->tensor[x].place != GRAPH_VIRTUAL)
        return;
    struct mudnn_tensor *t = &p->tensor[x].t;
    const struct mudnn_tensor *rows = &p->tensor[y].t;
    if (t->n != rows->n || t->n < 2 || t->dim[t->n - 1] == 1 || rows->dim[t->n - 1] != 1)
        return;
    for (int i = 0; i < t->n - 1; i++)
        if (t->dim[i] != rows->dim[i])
            return;
    t->dim[t->n - 1] = 1;
    graph_make_dense(t);
}

static void mark_masked(struct graph_plan *p)
{
    for (unsigned i = 0; i < p->nodes; i++) {
        struct graph_node *n = &p->node[i];
        if (graph_is_pointwise(n, CUDNN_POINTWISE_MAX))
            mend_greatest(p, n);
        if (graph_is_pointwise(n, CUDNN_POINTWISE_SUB))
            n->masked = leads_to_exponential(p, graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_YDESC), DEEP);
        else if (graph_is_pointwise(n, CUDNN_POINTWISE_DIV))
            n->masked = divides_by_sum(p, n);
    }
}

/* ---- gradients of sinks ------------------------------------------------------------------------ */

/* Is it what rows' statistics are subtracted from scores as? */
static bool is_statistics(const struct graph_plan *p, int tensor, const struct graph_node *but)
{
    for (unsigned i = 0; i < p->nodes; i++) {
        const struct graph_node *n = &p->node[i];
        if (n != but && n->masked && graph_is_pointwise(n, CUDNN_POINTWISE_SUB) &&
            graph_same_tensor(p, graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_BDESC), tensor))
            return true;
    }
    return false;
}

/* Attention's backward graph sums exp(sink - statistics) times the rows' sums of dO O, of which the gradient is the
 * negative; cuDNN's engine gives the gradient (mapping/facts/cuda.md F11). */
static void mend_sinks(struct graph_plan *p)
{
    for (unsigned i = 0; i < p->nodes; i++) {
        struct graph_node *share = &p->node[i];
        if (!graph_is_pointwise(share, CUDNN_POINTWISE_MUL))
            continue;
        const int x = graph_operand(share, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
        const int y = graph_operand(share, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
        const struct graph_node *e = graph_writer_of(p, x, CUDNN_ATTR_OPERATION_POINTWISE_YDESC), *difference,
                                *sum = NULL;
        for (unsigned k = 0; k < p->nodes; k++)
            if (p->node[k].kind == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR &&
                graph_same_tensor(p, graph_operand(&p->node[k], CUDNN_ATTR_OPERATION_REDUCTION_XDESC), y))
                sum = &p->node[k];
        if (!e || !graph_is_pointwise(e, CUDNN_POINTWISE_EXP) || !sum || sum->mode != CUDNN_REDUCE_TENSOR_ADD)
            continue;
        difference = graph_writer_of(p, graph_operand(e, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                                     CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
        if (!difference || !graph_is_pointwise(difference, CUDNN_POINTWISE_SUB))
            continue;
        const int sink = graph_operand(difference, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
        const int statistics = graph_operand(difference, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
        if (sink >= 0 && p->tensor[sink].place == GRAPH_REAL && is_statistics(p, statistics, difference))
            share->alpha = -share->alpha;
    }
}

/* ---- ragged tensors ---------------------------------------------------------------------------- */

void graph_make_dense(struct mudnn_tensor *t)
{
    bool used[MUDNN_DIMS] = {false};
    int64_t step = 1;
    for (int i = 1; i < t->n; i++) {
        int least = -1;
        for (int k = t->n - 1; k > 0; k--)
            if (!used[k] && (least < 0 || t->stride[k] < t->stride[least]))
                least = k;
        used[least] = true;
        t->stride[least] = step;
        step *= t->dim[least];
    }
    t->stride[0] = step;
}

/* The dimension of a batch that is as long as the batch's memory: the one of the longest steps. */
static int longest_dim(const struct mudnn_tensor *t)
{
    int longest = 1;
    for (int i = 2; i < t->n; i++)
        if (t->dim[i] > 1 && (t->dim[longest] == 1 || t->stride[i] > t->stride[longest]))
            longest = i;
    return longest;
}

/* Offsets count elements of the tensor of shorter steps where two share them: cudnn-frontend gives those of dK and dV
 * to copies with all the heads of q. */
static int64_t step_of_offsets(const struct graph_plan *p, int offsets, int64_t step)
{
    for (unsigned i = 0; i < p->tensors; i++) {
        const struct mudnn_tensor *t = &p->tensor[i].t;
        if (p->tensor[i].ragged < 0 || p->tensor[i].ragged_unit ||
            !graph_same_tensor(p, p->tensor[i].ragged, offsets) || t->n < 3)
            continue;
        int64_t other = t->stride[longest_dim(t)];
        step = other > 0 && other < step ? other : step;
    }
    return step;
}

/* A node between a ragged tensor and its dense copy, of which every other node knows only the latter. */
static int make_dense(struct graph_plan *p, unsigned tensor)
{
    const unsigned nodes = p->nodes;
    struct graph_tensor *t = &p->tensor[tensor], dense = {.uid = INT64_MIN + p->tensors, .place = GRAPH_VIRTUAL};
    bool used = false, written = false;
    const struct mudnn_tensor *o = &p->tensor[t->ragged].t;
    DNN_BAD_UNLESS(t->t.n >= 3 && o->n >= 1 && o->dim[0] >= t->t.dim[0] + 1);
    for (int i = 1; i < o->n; i++)
        DNN_BAD_UNLESS(o->dim[i] == 1);
    if (o->type != CUDNN_DATA_INT32 && o->type != CUDNN_DATA_INT64)
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    t->ragged_dim = longest_dim(&t->t);
    DNN_BAD_UNLESS(t->t.stride[t->ragged_dim] > 0);
    t->ragged_step = t->ragged_unit ? t->t.stride[t->ragged_dim]
                                    : step_of_offsets(p, t->ragged, t->t.stride[t->ragged_dim]);
    DNN_BAD_UNLESS(t->t.stride[t->ragged_dim] % t->ragged_step == 0);
    dense.ragged = -1;
    dense.t = t->t;
    graph_make_dense(&dense.t);
    const int offsets = t->ragged, copy = graph_add_tensor(p, &dense);
    if (copy < 0)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    for (unsigned i = 0; i < nodes; i++) {
        struct graph_node *n = &p->node[i];
        const struct graph_kind *k = graph_kind_of(n->kind);
        int slot = 0;
        for (unsigned r = 0; r < k->rules && n->kind < GRAPH_RAGGED_LOAD; r++) {
            if (!(k->rule[r].flags & (GRAPH_INPUT | GRAPH_OUTPUT)))
                continue;
            for (int m = 0; m < k->rule[r].most; m++, slot++)
                if (n->operand[slot] == (int)tensor) {
                    n->operand[slot] = copy;
                    used = true;
                    written |= graph_writes(n, &k->rule[r]);
                }
        }
    }
    if (!used)
        return CUDNN_STATUS_SUCCESS;
    struct graph_node *n = graph_add_node(p, written ? GRAPH_RAGGED_STORE : GRAPH_RAGGED_LOAD);
    if (!n)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    graph_set(n, GRAPH_OWN_X, written ? copy : (int)tensor);
    graph_set(n, GRAPH_OWN_Y, written ? (int)tensor : copy);
    graph_set(n, GRAPH_OWN_OFFSETS, offsets);
    return CUDNN_STATUS_SUCCESS;
}

int graph_rewrite(struct graph_plan *p)
{
    int r = CUDNN_STATUS_SUCCESS;
    mark_masked(p);
    mend_sinks(p);
    graph_fuse(p);
    for (unsigned i = 0, all = p->tensors; !r && i < all; i++)
        if (p->tensor[i].ragged >= 0)
            r = make_dense(p, i);
    return r;
}

int graph_ragged(struct graph_work *w)
{
    bool store = w->n->kind == GRAPH_RAGGED_STORE;
    struct mudnn_operand x = graph_operand_of(w, GRAPH_OWN_X), y = graph_operand_of(w, GRAPH_OWN_Y);
    const struct graph_tensor *t = &w->p->tensor[graph_operand(w->n, store ? GRAPH_OWN_Y : GRAPH_OWN_X)];
    struct mudnn_ragged r = {.store = store,
                             .dim = t->ragged_dim,
                             .step = t->ragged_step,
                             .unit = t->ragged_unit ? t->ragged_unit : 1,
                             .ragged = store ? y : x,
                             .dense = store ? x : y,
                             .offsets = graph_operand_of(w, GRAPH_OWN_OFFSETS)};
    DNN_BAD_UNLESS(graph_alike(&x, &y.t) && x.t.type == y.t.type && t->ragged >= 0 && r.offsets.t.n);
    DNN_BAD_UNLESS(r.dim > 0 && r.dim < t->t.n && r.step > 0 && t->t.stride[r.dim] % r.step == 0);
    DNN_BAD_UNLESS(r.offsets.t.dim[0] > x.t.dim[0]);
    return w->at ? GRAPH_DONE(mu.mudnnHostRagged(w->stream, &r)) : CUDNN_STATUS_SUCCESS;
}
