/* Attention in cuDNN's graphs: its parts as nodes, and the operation that is all of them. */
#include <math.h>
#include <string.h>

#include "api/cudnn/graph/lowering.h"

#define OPERAND(name) graph_operand_of(w, CUDNN_ATTR_OPERATION_##name)

/* ---- parts ------------------------------------------------------------------------------------- */

/* One number of each row, or none. */
static bool of_rows(struct mudnn_operand *o, const struct mudnn_tensor *x)
{
    return graph_serves(o, x) && (!o->t.n || o->t.dim[x->n - 1] == 1);
}

int graph_softmax(struct graph_work *w)
{
    struct mudnn_row_softmax s = {OPERAND(SOFTMAX_XDESC),
                                  OPERAND(SOFTMAX_YDESC),
                                  OPERAND(SOFTMAX_STATS_DESC),
                                  OPERAND(SOFTMAX_MAX_DESC),
                                  OPERAND(SOFTMAX_SUM_EXP_DESC),
                                  OPERAND(SOFTMAX_SINK_DESC),
                                  w->n->way != 0,
                                  graph_operand_of(w, GRAPH_OWN_OFFSETS)};
    struct mudnn_operand *const results[] = {&s.stats, &s.max, &s.sum};
    struct mudnn_tensor rows = s.x.t;
    rows.dim[rows.n - 1] = 1;
    DNN_BAD_UNLESS(graph_alike(&s.y, &s.x.t) && of_rows(&s.sink, &s.x.t) && of_rows(&s.rows, &s.x.t));
    for (int i = 0; i < 3; i++)
        DNN_BAD_UNLESS(!results[i]->t.n || graph_alike(results[i], &rows));
    return w->at ? GRAPH_DONE(mu.mudnnHostRowSoftmax(w->stream, &s)) : CUDNN_STATUS_SUCCESS;
}

int graph_band(struct graph_work *w)
{
    struct mudnn_band b = {.way = (enum mudnn_band_way)w->n->way,
                           .compare = w->n->mode,
                           .x = OPERAND(DIAGONAL_BAND_MASK_XDESC),
                           .y = OPERAND(DIAGONAL_BAND_MASK_YDESC),
                           .fill = OPERAND(DIAGONAL_BAND_MASK_BDESC),
                           .q = OPERAND(DIAGONAL_BAND_MASK_SEQ_LEN_QDESC),
                           .kv = OPERAND(DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC)};
    b.shift = b.way == MUDNN_BAND_LEFT ? OPERAND(DIAGONAL_BAND_MASK_LEFT_BOUND_DESC)
                                       : OPERAND(DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC);
    DNN_BAD_UNLESS(b.x.t.n >= 2 && graph_alike(&b.y, &b.x.t) && of_rows(&b.q, &b.x.t) && of_rows(&b.kv, &b.x.t) &&
                   of_rows(&b.shift, &b.x.t));
    for (int i = 0; i < b.fill.t.n; i++)
        DNN_BAD_UNLESS(b.fill.t.dim[i] == 1);
    return w->at ? GRAPH_DONE(mu.mudnnHostBand(w->stream, &b)) : CUDNN_STATUS_SUCCESS;
}

/* Whose sequence is y's third dimension, or, with a stride of 1 there as of a transposed key, its fourth. */
int graph_paged_load(struct graph_work *w)
{
    struct mudnn_paged p = {OPERAND(PAGED_CACHE_LOAD_CONTAINER_DESC), OPERAND(PAGED_CACHE_LOAD_PAGE_TABLE_DESC),
                            OPERAND(PAGED_CACHE_LOAD_SEQUENCE_DESC), OPERAND(PAGED_CACHE_LOAD_YDESC), false};
    const struct mudnn_tensor *c = &p.container.t, *y = &p.y.t, *t = &p.table.t, *l = &p.length.t;
    DNN_BAD_UNLESS(c->n == 4 && y->n == 4 && t->n == 4 && (!l->n || l->n == 4));
    p.turned = y->dim[3] != c->dim[3] || (y->dim[2] == c->dim[3] && y->stride[2] == 1 && y->stride[3] != 1);
    int64_t depth = y->dim[p.turned ? 2 : 3], sequence = y->dim[p.turned ? 3 : 2];
    DNN_BAD_UNLESS(depth == c->dim[3] && y->dim[1] == c->dim[1] && sequence <= t->dim[2] * c->dim[2]);
    DNN_BAD_UNLESS(t->dim[0] == y->dim[0] && t->dim[1] == 1 && t->dim[3] == 1);
    DNN_BAD_UNLESS(!l->n || (l->dim[0] == y->dim[0] && l->dim[1] == 1 && l->dim[2] == 1 && l->dim[3] == 1));
    if (t->type != CUDNN_DATA_INT32 || (l->n && l->type != CUDNN_DATA_INT32))
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    return w->at ? GRAPH_DONE(mu.mudnnHostPaged(w->stream, &p)) : CUDNN_STATUS_SUCCESS;
}

int graph_random(struct graph_work *w)
{
    const struct graph_node *n = w->n;
    struct mudnn_random r = {.distribution = n->mode,
                             .a = n->number[0],
                             .b = n->number[1],
                             .y = OPERAND(RNG_YDESC),
                             .seed = OPERAND(RNG_SEED),
                             .offset = OPERAND(RNG_OFFSET_DESC),
                             .fixed = (uint64_t)n->pre[0]};
    const int64_t rows = r.y.t.n == 4 ? r.y.t.dim[2] * r.y.t.dim[3] : 0; /* of one head */
    r.first = (uint64_t)((w->index[0] * n->heads[1] + w->index[1]) * rows);
    return w->at ? GRAPH_DONE(mu.mudnnHostRandom(w->stream, &r)) : CUDNN_STATUS_SUCCESS;
}

/* ---- all of it --------------------------------------------------------------------------------- */

/* How many keys a row of scores has where they lie in pages, of which the last need not be full: by what the program's
 * own operations and its softmax say of their tensors. 0: they say nothing. */
static int64_t count_keys(const struct graph_body *op)
{
    const struct graph_body *softmax = graph_member(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SOFTMAX_DESC);
    const struct graph_body *scores = softmax ? graph_member(softmax, CUDNN_ATTR_OPERATION_SOFTMAX_XDESC) : NULL;
    const struct graph_body *graph = graph_member(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH);
    const struct graph_attr *ops = graph ? graph_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS) : NULL;
    const int64_t uid = graph_integer(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID, 0);
    int64_t dim[MUDNN_DIMS];
    for (int64_t i = 0; ops && i < ops->count && !scores; i++) {
        const struct graph_body *o = ((struct graph_body **)ops->data)[i];
        for (unsigned k = 0; k < o->attrs && !scores; k++) {
            const struct graph_body *t = graph_member(o, o->attr[k].name);
            if (t && t->kind == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
                graph_integer(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0) == uid)
                scores = t;
        }
    }
    return scores && graph_integers(scores, CUDNN_ATTR_TENSOR_DIMENSIONS, dim) == 4 ? dim[3] : 0;
}

/* The sequences that lie in pages, together again; `turned`: as the transposed matrices. */
static int gather_pages(struct lowering *l, int container, int table, int lengths, int64_t keys, bool turned)
{
    if (l->status || container < 0 || table < 0)
        return -1;
    const struct mudnn_tensor *c = &l->p->tensor[container].t, *t = &l->p->tensor[table].t;
    if (c->n != 4 || t->n != 4) {
        l->status = CUDNN_STATUS_BAD_PARAM;
        return -1;
    }
    const int64_t whole = t->dim[2] * c->dim[2], sequence = keys && keys < whole ? keys : whole, depth = c->dim[3];
    const int64_t dims[] = {t->dim[0], c->dim[1], turned ? depth : sequence, turned ? sequence : depth};
    int to = result_of(l, c->type, dims);
    struct graph_node *n = node(l, CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR);
    if (!n)
        return -1;
    if (turned) {
        l->p->tensor[to].t.stride[2] = 1;
        l->p->tensor[to].t.stride[3] = depth;
    }
    graph_set(n, CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC, container);
    graph_set(n, CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC, table);
    graph_set(n, CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC, lengths);
    graph_set(n, CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC, to);
    return to;
}

/* The program's own operations between the product and softmax: its graph's input becomes `from`. Its output. */
static int insert_graph(struct lowering *l, int from, const int64_t *dims)
{
    const struct graph_body *graph = graph_member(l->op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH);
    int64_t in = graph_integer(l->op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID, 0);
    int64_t out = graph_integer(l->op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID, 0);
    if (l->status || !graph)
        return from;
    unsigned first = l->p->nodes;
    int input = -1, output = -1;
    l->status = graph_lower_operations(l->p, graph);
    for (unsigned i = 0; !l->status && i < l->p->tensors; i++) {
        if (l->p->tensor[i].uid == in)
            input = (int)i;
        if (l->p->tensor[i].uid == out)
            output = (int)i;
    }
    for (unsigned i = first; !l->status && i < l->p->nodes; i++)
        for (int k = 0; k < GRAPH_OPERANDS; k++)
            if (l->p->node[i].operand[k] == input && input >= 0)
                l->p->node[i].operand[k] = from;
    if (!l->status && l->p->overrides)
        l->status = graph_infer(l->p);
    if (!l->status &&
        (input < 0 || output < 0 || l->p->tensor[output].place != GRAPH_VIRTUAL || l->p->tensor[output].t.n != 4 ||
         memcmp(l->p->tensor[output].t.dim, dims, 4 * sizeof *dims) != 0))
        l->status = CUDNN_STATUS_BAD_PARAM;
    return output;
}

/* Softmax, with what its own descriptor asks for where there is one. */
static int normalise_rows(struct lowering *l, int from, int type, const int64_t *dims, int rows)
{
    static const int names[] = {CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC, CUDNN_ATTR_OPERATION_SOFTMAX_MAX_DESC,
                                CUDNN_ATTR_OPERATION_SOFTMAX_SUM_EXP_DESC, CUDNN_ATTR_OPERATION_SOFTMAX_SINK_DESC};
    const struct graph_body *op = l->op, *softmax = graph_member(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SOFTMAX_DESC);
    int to = result_of(l, type, dims), more[] = {tensor_of(l, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC), -1, -1, -1};
    for (int i = 0; softmax && i < 4; i++) {
        l->op = softmax;
        int t = tensor_of(l, names[i]);
        l->op = op;
        more[i] = t >= 0 ? t : more[i];
    }
    struct graph_node *n = node(l, CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR);
    if (!n)
        return -1;
    n->way = softmax ? (int)graph_integer(softmax, CUDNN_ATTR_OPERATION_SOFTMAX_STATS_LOG2, 0) : 0;
    graph_set(n, CUDNN_ATTR_OPERATION_SOFTMAX_XDESC, from);
    graph_set(n, CUDNN_ATTR_OPERATION_SOFTMAX_YDESC, to);
    for (int i = 0; i < 4; i++)
        graph_set(n, names[i], more[i]);
    graph_set(n, GRAPH_OWN_OFFSETS, rows);
    return to;
}

static int drop_out(struct lowering *l, int from, int type, const int64_t *dims)
{
    double rate = graph_number(l->op, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_PROBABILITY, 0);
    int seed = tensor_of(l, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_SEED_DESC);
    int offset = tensor_of(l, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_OFFSET_DESC);
    int mask = tensor_of(l, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC);
    if (rate == 0 || l->status)
        return from;
    if (!(rate > 0 && rate < 1)) {
        l->status = CUDNN_STATUS_BAD_PARAM;
        return -1;
    }
    if (mask < 0)
        mask = result_of(l, CUDNN_DATA_FLOAT, dims);
    struct graph_node *n = node(l, CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
    if (!n)
        return -1;
    n->mode = CUDNN_RNG_DISTRIBUTION_BERNOULLI;
    n->number[0] = 1 - rate;
    graph_set(n, CUDNN_ATTR_OPERATION_RNG_YDESC, mask);
    graph_set(n, CUDNN_ATTR_OPERATION_RNG_SEED, seed);
    graph_set(n, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, offset);
    int kept = result_of(l, CUDNN_DATA_FLOAT, dims), scaled = result_of(l, type, dims);
    multiply(l, from, mask, kept);
    multiply(l, kept, checked(l, graph_add_constant(l->p, 4, 1 / (1 - rate))), scaled);
    return scaled;
}

/* How many rows of each batch count: a tensor says it, or one of the sums of all lengths before. */
static int lengths_of(struct lowering *l, int name, int cumulative, const struct mudnn_tensor *q)
{
    const int64_t batches = q->dim[0];
    int given = tensor_of(l, name), sums = tensor_of(l, cumulative);
    if (l->status || sums < 0)
        return given;
    if (given >= 0)
        l->status = CUDNN_STATUS_BAD_PARAM;
    else
        given = graph_lengths(l->p, sums, batches, &l->status);
    return given;
}

/* o = dropout(softmax(mask(scale q k'))) v, as cudnn-frontend's composite of the same is. */
int graph_lower_attention(struct graph_plan *p, const struct graph_body *operation)
{
    struct lowering l = {p, operation, CUDNN_STATUS_SUCCESS};
    int q = tensor_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC), k = tensor_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC);
    int v = tensor_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC);
    int k_pages = tensor_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC);
    int v_pages = tensor_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC);
    int o = tensor_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC);
    int scale = tensor_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC);
    if (l.status)
        return l.status;
    int rows = lengths_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC,
                          CUDNN_ATTR_OPERATION_SDPA_FWD_CU_SEQ_LEN_QDESC, &p->tensor[q].t);
    int columns = lengths_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC,
                             CUDNN_ATTR_OPERATION_SDPA_FWD_CU_SEQ_LEN_KVDESC, &p->tensor[q].t);
    if (l.status)
        return l.status;
    if (graph_find(operation, CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC))
        return CUDNN_STATUS_NOT_SUPPORTED;
    const int mask = tensor_of(&l, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC);
    if (l.status)
        return l.status;
    int64_t keys = p->overrides ? 0 : count_keys(operation);
    if (!keys && mask >= 0 && p->tensor[mask].t.n == 4) /* dropout's mask says it, too */
        keys = p->tensor[mask].t.dim[3];
    k = k_pages >= 0 ? gather_pages(&l, k, k_pages, columns, keys, true) : transposed(&l, k);
    v = v_pages >= 0 ? gather_pages(&l, v, v_pages, columns, keys, false) : v;
    if (l.status)
        return l.status;
    DNN_BAD_UNLESS(p->tensor[q].t.n == 4 && p->tensor[v].t.n == 4 && p->tensor[o].t.n == 4);
    const struct mudnn_tensor *qt = &p->tensor[q].t;
    const int64_t dims[] = {qt->dim[0], qt->dim[1], qt->dim[2], p->tensor[k].t.dim[3]};
    const int type = qt->type;
    int score = result_of(&l, CUDNN_DATA_FLOAT, dims);
    product(&l, q, k, score, rows, columns, -1);
    if (scale >= 0) {
        int scaled = result_of(&l, CUDNN_DATA_FLOAT, dims);
        multiply(&l, score, scale, scaled);
        score = scaled;
    }
    score = insert_graph(&l, score, dims);
    score = mask_lengths(&l, score, rows, columns, dims);
    score = normalise_rows(&l, score, type, dims, rows);
    score = drop_out(&l, score, type, dims);
    product(&l, score, v, o, rows, -1, columns);
    return l.status;
}
