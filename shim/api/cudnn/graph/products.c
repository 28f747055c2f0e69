/* Nodes of cuDNN's graphs: convolutions, products of matrices, reductions. */
#include "api/cudnn/graph/graph.h"

#define OPERAND(name) graph_operand_of(w, CUDNN_ATTR_OPERATION_##name)

/* ---- convolutions ------------------------------------------------------------------------------ */

static bool is_number(int type)
{
    return dnn_size(type) && type != CUDNN_DATA_BOOLEAN && type != CUDNN_DATA_INT64 && type != CUDNN_DATA_UINT32;
}

/* Dimension `first` and the next as one; false where they do not lie so that they are. */
static bool join_dims(struct mudnn_tensor *t, int first)
{
    if (t->vector > 1 ||
        (t->dim[first] != 1 && t->dim[first + 1] != 1 && t->stride[first] != t->dim[first + 1] * t->stride[first + 1]))
        return false;
    t->stride[first] = t->stride[t->dim[first + 1] == 1 ? first : first + 1];
    t->dim[first] *= t->dim[first + 1];
    t->n--;
    for (int i = first + 1; i < t->n; i++) {
        t->dim[i] = t->dim[i + 1];
        t->stride[i] = t->stride[i + 1];
    }
    return true;
}
/* Groups as a dimension of their own, in front of the channels and of a filter's maps. */
static int join_groups(struct mudnn_tensor *x, struct mudnn_tensor *f, struct mudnn_tensor *y)
{
    DNN_BAD_UNLESS(f->n == x->n && y->n == x->n && x->dim[1] == f->dim[0] && x->dim[1] == y->dim[1] &&
                   x->dim[2] == f->dim[2] && y->dim[2] == f->dim[1]);
    return join_dims(x, 1) && join_dims(f, 0) && join_dims(y, 1) ? CUDNN_STATUS_SUCCESS
                                                                 : CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
}

static int describe_convolution(const struct graph_node *n, const struct mudnn_tensor *x, const struct mudnn_tensor *f,
                                const struct mudnn_tensor *y, struct mudnn_convolution *c)
{
    const int sums = n->compute; /* of eight bits nothing is summed up */
    if (sums != CUDNN_DATA_FLOAT && sums != CUDNN_DATA_DOUBLE && sums != CUDNN_DATA_INT32 && sums != CUDNN_DATA_HALF &&
        sums != CUDNN_DATA_BFLOAT16)
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    DNN_BAD_UNLESS(x->n == n->spatial + 2 && f->n == x->n && y->n == x->n);
    DNN_BAD_UNLESS(x->dim[1] % f->dim[1] == 0 && y->dim[0] == x->dim[0] && y->dim[1] == f->dim[0]);
    *c = (struct mudnn_convolution){.spatial = n->spatial,
                                    .groups = x->dim[1] / f->dim[1],
                                    .flip = n->mode == CUDNN_CONVOLUTION,
                                    .x = *x,
                                    .w = *f,
                                    .y = *y};
    DNN_BAD_UNLESS(f->dim[0] % c->groups == 0);
    for (int i = 0; i < n->spatial; i++) {
        int64_t room = x->dim[i + 2] + n->pre[i] + n->post[i] - ((f->dim[i + 2] - 1) * n->window[i] + 1);
        DNN_BAD_UNLESS(n->stride[i] > 0 && n->window[i] > 0 && n->pre[i] >= 0 && n->post[i] >= 0);
        DNN_BAD_UNLESS(room >= 0 && y->dim[i + 2] == room / n->stride[i] + 1);
        c->pad[i] = n->pre[i];
        c->pad_after[i] = n->post[i];
        c->stride[i] = n->stride[i];
        c->dilation[i] = n->window[i];
    }
    return is_number(x->type) && is_number(f->type) && is_number(y->type) ? CUDNN_STATUS_SUCCESS
                                                                          : CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
}

int graph_convolution(struct graph_work *w)
{
    const struct graph_node *n = w->n;
    struct mudnn_convolution c;
    struct mudnn_operand x, f, y;
    bool forward = n->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    bool data = n->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    if (forward) {
        x = OPERAND(CONVOLUTION_FORWARD_X), f = OPERAND(CONVOLUTION_FORWARD_W), y = OPERAND(CONVOLUTION_FORWARD_Y);
    } else if (data) {
        x = OPERAND(CONVOLUTION_BWD_DATA_DX), f = OPERAND(CONVOLUTION_BWD_DATA_W);
        y = OPERAND(CONVOLUTION_BWD_DATA_DY);
    } else {
        x = OPERAND(CONVOLUTION_BWD_FILTER_X), f = OPERAND(CONVOLUTION_BWD_FILTER_DW);
        y = OPERAND(CONVOLUTION_BWD_FILTER_DY);
    }
    int r = x.t.n == n->spatial + 3 ? join_groups(&x.t, &f.t, &y.t) : CUDNN_STATUS_SUCCESS;
    if (!r)
        r = describe_convolution(n, &x.t, &f.t, &y.t, &c);
    if (r || !w->at)
        return r;
    if (forward)
        return GRAPH_DONE(mu.mudnnHostConvolutionForward(w->stream, &c, n->alpha, x.at, f.at, n->beta, y.at, NULL));
    return data ? GRAPH_DONE(mu.mudnnHostConvolutionBackwardData(w->stream, &c, n->alpha, f.at, y.at, n->beta, x.at))
                : GRAPH_DONE(mu.mudnnHostConvolutionBackwardFilter(w->stream, &c, n->alpha, x.at, y.at, n->beta, f.at));
}

/* ---- products of matrices ---------------------------------------------------------------------- */

/* Dimensions before the last two: as many as c's, of which each divides it. */
static bool fits_batch(struct mudnn_operand *o, const struct mudnn_tensor *c)
{
    if (!o->t.n)
        return true;
    bool fits = graph_fit(&o->t, c->n);
    for (int i = 0; fits && i < c->n - 2; i++)
        fits = c->dim[i] % o->t.dim[i] == 0;
    return fits;
}

static void turn_matrix(struct mudnn_tensor *t)
{
    const int64_t dim = t->dim[t->n - 2], stride = t->stride[t->n - 2];
    t->dim[t->n - 2] = t->dim[t->n - 1], t->stride[t->n - 2] = t->stride[t->n - 1];
    t->dim[t->n - 1] = dim, t->stride[t->n - 1] = stride;
}

int graph_matmul(struct graph_work *w)
{
    struct mudnn_matmul m = {.a = OPERAND(MATMUL_ADESC),
                             .b = OPERAND(MATMUL_BDESC),
                             .c = OPERAND(MATMUL_CDESC),
                             .rows = OPERAND(MATMUL_GEMM_M_OVERRIDE_DESC),
                             .columns = OPERAND(MATMUL_GEMM_N_OVERRIDE_DESC),
                             .inner = OPERAND(MATMUL_GEMM_K_OVERRIDE_DESC),
                             .scale = graph_operand_of(w, GRAPH_OWN_SCALE),
                             .padding = w->n->number[0]};
    struct mudnn_operand *const lengths[] = {&m.rows, &m.columns, &m.inner};
    const int n = m.c.t.n;
    DNN_BAD_UNLESS(n >= 2 && fits_batch(&m.a, &m.c.t) && fits_batch(&m.b, &m.c.t));
    if (w->n->turned & GRAPH_TURNED_A)
        turn_matrix(&m.a.t);
    if (w->n->turned & GRAPH_TURNED_B)
        turn_matrix(&m.b.t);
    DNN_BAD_UNLESS(m.a.t.dim[n - 2] == m.c.t.dim[n - 2] && m.b.t.dim[n - 1] == m.c.t.dim[n - 1] &&
                   m.a.t.dim[n - 1] == m.b.t.dim[n - 2]);
    for (int i = 0; i < 3; i++)
        DNN_BAD_UNLESS(fits_batch(lengths[i], &m.c.t));
    for (int i = 0; i < m.scale.t.n; i++)
        DNN_BAD_UNLESS(m.scale.t.dim[i] == 1 && is_number(m.scale.t.type));
    if (graph_is_complex(m.c.t.type)) {
        if (m.a.t.type != m.c.t.type || m.b.t.type != m.c.t.type || m.rows.t.n || m.columns.t.n || m.inner.t.n ||
            m.scale.t.n)
            return CUDNN_STATUS_NOT_SUPPORTED;
        return w->at ? GRAPH_DONE(mu.mudnnHostComplexMatmul(w->stream, &m)) : CUDNN_STATUS_SUCCESS;
    }
    if (!is_number(m.a.t.type) || !is_number(m.b.t.type) || !is_number(m.c.t.type))
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    return w->at ? GRAPH_DONE(mu.mudnnHostMatmul(w->stream, &m)) : CUDNN_STATUS_SUCCESS;
}

/* ---- products in groups ------------------------------------------------------------------------ */

/* One number of 32 bits for each of `n` rows: [1, n, 1]. */
static bool is_column(const struct mudnn_operand *o, int64_t n)
{
    return o->t.n == 3 && o->t.type == CUDNN_DATA_INT32 && o->t.dim[0] == 1 && o->t.dim[1] == n && o->t.dim[2] == 1;
}

/* What is gathered and what is scattered the operands say: an index alone, or with places. */
int graph_grouped(struct graph_work *w)
{
    struct mudnn_grouped g = {.top_k = w->n->pre[0],
                              .token = OPERAND(MOE_GROUPED_MATMUL_TOKEN_DESC),
                              .weight = OPERAND(MOE_GROUPED_MATMUL_WEIGHT_DESC),
                              .first = OPERAND(MOE_GROUPED_MATMUL_FIRST_TOKEN_OFFSET_DESC),
                              .index = OPERAND(MOE_GROUPED_MATMUL_TOKEN_INDEX_DESC),
                              .place = OPERAND(MOE_GROUPED_MATMUL_TOKEN_KS_DESC),
                              .y = OPERAND(MOE_GROUPED_MATMUL_OUTPUT_DESC)};
    const struct mudnn_tensor *t = &g.token.t, *e = &g.weight.t, *y = &g.y.t, *f = &g.first.t;
    DNN_BAD_UNLESS(t->n == 3 && e->n == 3 && y->n == 3 && f->n == 3 && t->dim[0] == 1 && y->dim[0] == 1);
    DNN_BAD_UNLESS(t->dim[2] == e->dim[1] && y->dim[2] == e->dim[2] && f->dim[0] % e->dim[0] == 0);
    DNN_BAD_UNLESS(f->dim[1] == 1 && f->dim[2] == 1 && f->type == CUDNN_DATA_INT32);
    DNN_BAD_UNLESS((w->n->mode != 0) == (g.index.t.n != 0) && (!g.place.t.n || (g.index.t.n && g.top_k > 0)));
    DNN_BAD_UNLESS(!g.index.t.n || is_column(&g.index, y->dim[1]));
    DNN_BAD_UNLESS(!g.place.t.n || is_column(&g.place, y->dim[1]));
    DNN_BAD_UNLESS((g.index.t.n && !g.place.t.n) || t->dim[1] == y->dim[1]);
    if (!is_number(t->type) || !is_number(e->type) || !is_number(y->type))
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    return w->at ? GRAPH_DONE(mu.mudnnHostGroupedMatmul(w->stream, &g)) : CUDNN_STATUS_SUCCESS;
}

/* The experts' gradients: rows of tokens, turned, times rows of the result's gradient. */
int graph_grouped_backward(struct graph_work *w)
{
    struct mudnn_grouped g = {.backward = true,
                              .token = OPERAND(MOE_GROUPED_MATMUL_BWD_TOKEN_DESC),
                              .weight = OPERAND(MOE_GROUPED_MATMUL_BWD_DWEIGHT_DESC),
                              .first = OPERAND(MOE_GROUPED_MATMUL_BWD_FIRST_TOKEN_OFFSET_DESC),
                              .y = OPERAND(MOE_GROUPED_MATMUL_BWD_DOUTPUT_DESC)};
    const struct mudnn_tensor *t = &g.token.t, *e = &g.weight.t, *y = &g.y.t, *f = &g.first.t;
    DNN_BAD_UNLESS(t->n == 3 && e->n == 3 && y->n == 3 && f->n == 3 && t->dim[0] == 1 && y->dim[0] == 1);
    DNN_BAD_UNLESS(t->dim[1] == y->dim[1] && t->dim[2] == e->dim[1] && y->dim[2] == e->dim[2]);
    DNN_BAD_UNLESS(f->dim[0] == e->dim[0] && f->dim[1] == 1 && f->dim[2] == 1 && f->type == CUDNN_DATA_INT32);
    if (!is_number(t->type) || !is_number(e->type) || !is_number(y->type))
        return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    return w->at ? GRAPH_DONE(mu.mudnnHostGroupedMatmul(w->stream, &g)) : CUDNN_STATUS_SUCCESS;
}

/* ---- reductions -------------------------------------------------------------------------------- */

/* A dimension that becomes several times shorter, as heads that share a key, is two: groups, and members of each. */
static bool split_groups(struct mudnn_tensor *a, struct mudnn_tensor *c)
{
    for (int i = 0; i < a->n; i++) {
        if (c->dim[i] == 1 || c->dim[i] == a->dim[i])
            continue;
        if (a->dim[i] % c->dim[i] || a->n == MUDNN_DIMS)
            return false;
        for (int k = a->n++; k > i + 1; k--) {
            a->dim[k] = a->dim[k - 1], a->stride[k] = a->stride[k - 1];
            c->dim[k] = c->dim[k - 1], c->stride[k] = c->stride[k - 1];
        }
        c->n++;
        a->dim[i + 1] = a->dim[i] / c->dim[i];
        a->stride[i + 1] = a->stride[i];
        a->dim[i] = c->dim[i];
        a->stride[i] *= a->dim[i + 1];
        c->dim[i + 1] = 1;
        c->stride[i + 1] = 0;
    }
    return true;
}

int graph_reduction(struct graph_work *w)
{
    struct mudnn_operand x = OPERAND(REDUCTION_XDESC), y = OPERAND(REDUCTION_YDESC);
    struct mudnn_operand b = graph_operand_of(w, GRAPH_OWN_X);
    DNN_BAD_UNLESS(graph_fit(&y.t, x.t.n));
    struct mudnn_tensor groups = y.t;
    if (b.t.n)
        DNN_BAD_UNLESS(graph_alike(&b, &x.t) && split_groups(&b.t, &groups));
    DNN_BAD_UNLESS(split_groups(&x.t, &y.t));
    struct mudnn_reduction r = {.operation = w->n->mode,
                                .nan = true,
                                .alpha = 1,
                                .a = x.t,
                                .b = b.t,
                                .c = y.t,
                                .a_at = x.at,
                                .b_at = b.at,
                                .c_at = y.at};
    return w->at ? GRAPH_DONE(mu.mudnnHostReduce(w->stream, &r)) : CUDNN_STATUS_SUCCESS;
}
