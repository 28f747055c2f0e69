/* What stands before and between the two products of attention: caches of pages, softmax of rows, masks of diagonal
 * bands, indices. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>

#include "abi/mudnn_graph.h"

/* Rows of a tensor: all but its last dimension. */
static int64_t count_rows(const struct mudnn_tensor *t) { return dnn_count(t) / t->dim[t->n - 1]; }

/* Where row `row` of a tensor of this shape begins in an operand, whose dimensions of 1 serve all. */
static int64_t row_place(const struct mudnn_tensor *t, const struct mudnn_tensor *shape, int64_t row)
{
    int64_t at = 0;
    for (int d = shape->n - 2; d >= 0; row /= shape->dim[d], d--)
        at += t->dim[d] == 1 ? 0 : row % shape->dim[d] * t->stride[d];
    return at;
}

enum { PARTS = 32 };

/* ---- softmax ----------------------------------------------------------------------------------- */

static void put_row(const struct mudnn_operand *o, const struct mudnn_tensor *shape, int64_t row, double v)
{
    if (o->at)
        dnn_put(o->at, o->t.type, row_place(&o->t, shape, row), v);
}

/* One row of `n` numbers, in v. */
static void softmax_row(const struct mudnn_row_softmax *s, int64_t row, double *v, int64_t n)
{
    const struct mudnn_tensor *x = &s->x.t, *y = &s->y.t;
    double most = -INFINITY, sum = 0, sink = 0;
    dnn_load(v, s->x.at, x->type, row_place(x, x, row), x->stride[x->n - 1], (size_t)n);
    if (s->sink.at) {
        sink = dnn_get(s->sink.at, s->sink.t.type, row_place(&s->sink.t, x, row));
        most = sink;
    }
    for (int64_t i = 0; i < n; i++)
        most = v[i] > most || v[i] != v[i] ? v[i] : most;
    double from = most == -INFINITY ? 0 : most; /* a row of nothing but -inf: no NaN in between */
    for (int64_t i = 0; i < n; i++) {
        v[i] = exp(v[i] - from);
        sum += v[i];
    }
    if (s->sink.at)
        sum += exp(sink - from);
    for (int64_t i = 0; i < n; i++)
        v[i] = sum > 0 || sum != sum ? v[i] / sum : 0; /* nothing counts in a row of sum 0 */
    dnn_store(s->y.at, v, y->type, row_place(y, x, row), y->stride[y->n - 1], (size_t)n);
    put_row(&s->max, x, row, most);
    put_row(&s->sum, x, row, sum);
    put_row(&s->stats, x, row, from + log(sum));
}

static void softmax_part(void *job, unsigned part)
{
    const struct mudnn_row_softmax *s = job;
    const int64_t rows = count_rows(&s->x.t), n = s->x.t.dim[s->x.t.n - 1];
    double *v = maths_alloc((size_t)n * sizeof *v);
    for (int64_t row = rows * part / PARTS; v && row < rows * (part + 1) / PARTS; row++)
        softmax_row(s, row, v, n);
    free(v);
}

static void run_softmax(const void *call)
{
    struct mudnn_row_softmax s = *(const struct mudnn_row_softmax *)call;
    dnn_parallel(PARTS, softmax_part, &s, 40.0 * (double)dnn_count(&s.x.t));
}

DNN_EXPORT mudnnStatus_t mudnnHostRowSoftmax(musaStream_t stream, const struct mudnn_row_softmax *s)
{
    if (!dnn_size(s->x.t.type) || !dnn_size(s->y.t.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_softmax, s, sizeof *s, 40.0 * (double)dnn_count(&s->x.t));
}

/* ---- bands ------------------------------------------------------------------------------------- */

/* A number that belongs to a row: a length of its batch, a bound; `none` where there is no such operand. */
static double get_row(const struct mudnn_operand *o, const struct mudnn_tensor *shape, int64_t row, double none)
{
    return o->at ? dnn_get(o->at, o->t.type, row_place(&o->t, shape, row)) : none;
}

static bool compare(int how, double a, double b)
{
    switch (how) {
    case MUDNN_POINTWISE_CMP_EQ: return a == b;
    case MUDNN_POINTWISE_CMP_NEQ: return a != b;
    case MUDNN_POINTWISE_CMP_GT: return a > b;
    case MUDNN_POINTWISE_CMP_GE: return a >= b;
    case MUDNN_POINTWISE_CMP_LT: return a < b;
    default: return a <= b;
    }
}

static void band_row(const struct mudnn_band *b, int64_t row, double *v, int64_t n)
{
    const struct mudnn_tensor *x = &b->x.t, *y = &b->y.t;
    const double kv = get_row(&b->kv, x, row, 0), q = get_row(&b->q, x, row, 0), shift = get_row(&b->shift, x, row, 0);
    const double fill = dnn_get(b->fill.at, b->fill.t.type, 0);
    const double r = x->n > 1 ? (double)(row % x->dim[x->n - 2]) : 0;
    dnn_load(v, b->x.at, x->type, row_place(x, x, row), x->stride[x->n - 1], (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const double c = (double)i;
        bool keep = b->way == MUDNN_BAND_RIGHT  ? compare(b->compare, r + kv - q + shift, c)
                    : b->way == MUDNN_BAND_LEFT ? compare(b->compare, c + shift - kv + q, r)
                                                : (!b->q.at || r < q) && (!b->kv.at || c < kv);
        v[i] = keep ? v[i] : fill;
    }
    dnn_store(b->y.at, v, y->type, row_place(y, x, row), y->stride[y->n - 1], (size_t)n);
}

static void band_part(void *job, unsigned part)
{
    const struct mudnn_band *b = job;
    const int64_t rows = count_rows(&b->x.t), n = b->x.t.dim[b->x.t.n - 1];
    double *v = maths_alloc((size_t)n * sizeof *v);
    for (int64_t row = rows * part / PARTS; v && row < rows * (part + 1) / PARTS; row++)
        band_row(b, row, v, n);
    free(v);
}

static void run_band(const void *call)
{
    struct mudnn_band b = *(const struct mudnn_band *)call;
    dnn_parallel(PARTS, band_part, &b, 10.0 * (double)dnn_count(&b.x.t));
}

DNN_EXPORT mudnnStatus_t mudnnHostBand(musaStream_t stream, const struct mudnn_band *b)
{
    if (!dnn_size(b->x.t.type) || !dnn_size(b->y.t.type) || !dnn_size(b->fill.t.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_band, b, sizeof *b, 10.0 * (double)dnn_count(&b->x.t));
}

/* ---- pages ------------------------------------------------------------------------------------- */

/* The page in which place s of a batch lies, or -1. */
static int64_t find_page(const struct mudnn_paged *p, int64_t b, int64_t s)
{
    const struct mudnn_tensor *t = &p->table.t;
    int64_t entry = s / p->container.t.dim[2];
    if (entry >= t->dim[2])
        return -1;
    int64_t page = (int64_t)dnn_get(p->table.at, t->type, b * t->stride[0] + entry * t->stride[2]);
    return page >= 0 && page < p->container.t.dim[0] ? page : -1;
}

static void page_part(void *job, unsigned part)
{
    const struct mudnn_paged *p = job;
    const struct mudnn_tensor *c = &p->container.t, *y = &p->y.t;
    const int sequence = p->turned ? 3 : 2, depth = p->turned ? 2 : 3;
    const int64_t rows = y->dim[0] * y->dim[sequence], n = y->dim[depth];
    double *v = maths_alloc((size_t)n * sizeof *v);
    for (int64_t row = rows * part / PARTS; v && row < rows * (part + 1) / PARTS; row++) {
        int64_t b = row / y->dim[sequence], s = row % y->dim[sequence];
        double length = p->length.at ? dnn_get(p->length.at, p->length.t.type, b * p->length.t.stride[0]) : INFINITY;
        int64_t page = (double)s < length ? find_page(p, b, s) : -1;
        for (int64_t h = 0; h < y->dim[1]; h++) {
            for (int64_t i = 0; i < n; i++)
                v[i] = 0;
            if (page >= 0)
                dnn_load(v, p->container.at, c->type,
                         page * c->stride[0] + h * c->stride[1] + s % c->dim[2] * c->stride[2], c->stride[3],
                         (size_t)n);
            dnn_store(p->y.at, v, y->type, b * y->stride[0] + h * y->stride[1] + s * y->stride[sequence],
                      y->stride[depth], (size_t)n);
        }
    }
    free(v);
}

static void run_paged(const void *call)
{
    struct mudnn_paged p = *(const struct mudnn_paged *)call;
    dnn_parallel(PARTS, page_part, &p, 8.0 * (double)dnn_count(&p.y.t));
}

DNN_EXPORT mudnnStatus_t mudnnHostPaged(musaStream_t stream, const struct mudnn_paged *p)
{
    if (!dnn_size(p->container.t.type) || !dnn_size(p->y.t.type) || !dnn_size(p->table.t.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_paged, p, sizeof *p, 8.0 * (double)dnn_count(&p->y.t));
}

/* ---- indices ----------------------------------------------------------------------------------- */

struct indexing {
    struct mudnn_operand y;
    int axis;
};

static void index_row(void *job, const int64_t *at, const int64_t *step, size_t n)
{
    const struct indexing *x = job;
    double v[DNN_ROW];
    for (size_t i = 0; i < n; i++)
        v[i] = (double)(at[1] + (int64_t)i * step[1]);
    dnn_store(x->y.at, v, x->y.t.type, at[0], step[0], n);
}

static void run_index(const void *call)
{
    struct indexing x = *(const struct indexing *)call;
    struct mudnn_tensor counter = x.y.t; /* its places are the indices */
    for (int d = 0; d < counter.n; d++)
        counter.stride[d] = d == x.axis;
    const struct mudnn_tensor *const all[] = {&x.y.t, &counter};
    struct dnn_walk w;
    dnn_plan(&w, &x.y.t, 2, all);
    dnn_walk(&w, true, index_row, &x);
}

DNN_EXPORT mudnnStatus_t mudnnHostIndex(musaStream_t stream, const struct mudnn_operand *y, int axis)
{
    struct indexing x = {*y, axis};
    if (!dnn_size(y->t.type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    return dnn_submit(stream, MATHS_OWN_CODE, run_index, &x, sizeof x, 8.0 * (double)dnn_count(&y->t));
}
