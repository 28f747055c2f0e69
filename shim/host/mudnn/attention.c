/* What stands before and between the two products of attention: caches of pages, masks of diagonal bands, indices. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/mudnn_graph.h"

enum { PARTS = 32 };

/* ---- bands ------------------------------------------------------------------------------------- */

/* A number that belongs to a row: a length of its batch, a bound; `none` where there is no such operand. */
static double get_row(const struct mudnn_operand *o, const struct mudnn_tensor *shape, int64_t row, double none)
{
    return o->at ? dnn_get(o->at, o->t.type, dnn_row_place(&o->t, shape, row)) : none;
}

/* What of a row is kept: columns from `first` to before `end`, or all but those. */
struct kept {
    int64_t first, end;
    bool others;
};

/* Columns c below n for which t compares so with c. */
static struct kept compare_columns(int how, double t, int64_t n)
{
    const double bound = t != t ? -1 : fmin(fmax(t, -1), (double)n); /* with a NaN nothing compares but as unequal */
    const int64_t below = (int64_t)ceil(bound), up_to = (int64_t)floor(bound) + 1, last = up_to < n ? up_to : n;
    const bool whole = bound == t && floor(bound) == bound;
    switch (how) {
    case MUDNN_POINTWISE_CMP_EQ:
    case MUDNN_POINTWISE_CMP_NEQ: return (struct kept){below, whole ? last : below, how == MUDNN_POINTWISE_CMP_NEQ};
    case MUDNN_POINTWISE_CMP_GT: return (struct kept){0, below, false};
    case MUDNN_POINTWISE_CMP_GE: return (struct kept){0, last, false};
    case MUDNN_POINTWISE_CMP_LT: return (struct kept){t != t ? n : up_to, n, false};
    default: return (struct kept){t != t ? n : below, n, false};
    }
}
/* The comparison whose sides are the other way around. */
static int turn(int how)
{
    return how == MUDNN_POINTWISE_CMP_GT   ? MUDNN_POINTWISE_CMP_LT
           : how == MUDNN_POINTWISE_CMP_GE ? MUDNN_POINTWISE_CMP_LE
           : how == MUDNN_POINTWISE_CMP_LT ? MUDNN_POINTWISE_CMP_GT
           : how == MUDNN_POINTWISE_CMP_LE ? MUDNN_POINTWISE_CMP_GE
                                           : how;
}

static struct kept keep_columns(const struct mudnn_band *b, int64_t row, int64_t n)
{
    const struct mudnn_tensor *x = &b->x.t;
    const double kv = get_row(&b->kv, x, row, 0), q = get_row(&b->q, x, row, 0), shift = get_row(&b->shift, x, row, 0);
    const double r = x->n > 1 ? (double)(row % x->dim[x->n - 2]) : 0;
    if (b->way == MUDNN_BAND_RIGHT)
        return compare_columns(b->compare, r + kv - q + shift, n);
    if (b->way == MUDNN_BAND_LEFT)
        return compare_columns(turn(b->compare), r - shift + kv - q, n);
    if (b->q.at && r >= q)
        return (struct kept){0, 0, false};
    return b->kv.at ? compare_columns(MUDNN_POINTWISE_CMP_GT, kv, n) : (struct kept){0, n, false};
}

/* Columns from `first` to before `end` of a row: x's, or the fill. */
static void take_columns(const struct mudnn_band *b, int64_t from, int64_t to, int64_t first, int64_t end, bool keep,
                         double *v)
{
    const struct mudnn_tensor *x = &b->x.t, *y = &b->y.t;
    const int64_t xs = x->stride[x->n - 1], ys = y->stride[y->n - 1], size = (int64_t)dnn_size(y->type);
    char *at = (char *)b->y.at + (to + first * ys) * size;
    if (first >= end)
        return;
    if (keep && x->type == y->type && xs == 1 && ys == 1) {
        if (at != (char *)b->x.at + (from + first) * size)
            memmove(at, (char *)b->x.at + (from + first) * size, (size_t)((end - first) * size));
        return;
    }
    const double fill = keep ? 0 : dnn_get(b->fill.at, b->fill.t.type, 0);
    if (!keep && y->type == MUDNN_DATA_FLOAT && ys == 1) {
        for (int64_t i = 0; i < end - first; i++)
            ((float *)at)[i] = (float)fill;
        return;
    }
    if (keep)
        dnn_load(v, b->x.at, x->type, from + first * xs, xs, (size_t)(end - first));
    for (int64_t i = 0; !keep && i < end - first; i++)
        v[i] = fill;
    dnn_store(b->y.at, v, y->type, to + first * ys, ys, (size_t)(end - first));
}

static void band_row(const struct mudnn_band *b, int64_t row, double *v, int64_t n)
{
    const int64_t from = dnn_row_place(&b->x.t, &b->x.t, row), to = dnn_row_place(&b->y.t, &b->x.t, row);
    const struct kept k = keep_columns(b, row, n);
    const int64_t first = k.first < 0 ? 0 : k.first > n ? n : k.first, end = k.end < first ? first : k.end;
    take_columns(b, from, to, 0, first, k.others, v);
    take_columns(b, from, to, first, end, !k.others, v);
    take_columns(b, from, to, end, n, k.others, v);
}

static void band_part(void *job, unsigned part)
{
    const struct mudnn_band *b = job;
    const int64_t rows = dnn_count_rows(&b->x.t), n = b->x.t.dim[b->x.t.n - 1];
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
    const bool as_memory = c->type == y->type && c->stride[3] == 1 && y->stride[depth] == 1;
    const size_t size = dnn_size(y->type);
    double *v = maths_alloc((size_t)n * sizeof *v);
    for (int64_t row = rows * part / PARTS; v && row < rows * (part + 1) / PARTS; row++) {
        int64_t b = row / y->dim[sequence], s = row % y->dim[sequence];
        double length = p->length.at ? dnn_get(p->length.at, p->length.t.type, b * p->length.t.stride[0]) : INFINITY;
        int64_t page = (double)s < length ? find_page(p, b, s) : -1;
        for (int64_t h = 0; h < y->dim[1]; h++) {
            const int64_t from = page * c->stride[0] + h * c->stride[1] + s % c->dim[2] * c->stride[2];
            const int64_t to = b * y->stride[0] + h * y->stride[1] + s * y->stride[sequence];
            if (as_memory) {
                char *at = (char *)p->y.at + (size_t)to * size;
                if (page < 0)
                    memset(at, 0, (size_t)n * size);
                else
                    memcpy(at, (char *)p->container.at + (size_t)from * size, (size_t)n * size);
                continue;
            }
            memset(v, 0, (size_t)n * sizeof *v);
            if (page >= 0)
                dnn_load(v, p->container.at, c->type, from, c->stride[3], (size_t)n);
            dnn_store(p->y.at, v, y->type, to, y->stride[depth], (size_t)n);
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
    if (x->y.t.type == MUDNN_DATA_INT32 && step[0] == 1 && at[1] + (int64_t)n * step[1] <= INT32_MAX) {
        int32_t *to = (int32_t *)x->y.at + at[0];
        const int32_t first = (int32_t)at[1], more = (int32_t)step[1];
        for (int32_t i = 0; i < (int32_t)n; i++)
            to[i] = first + i * more;
        return;
    }
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
