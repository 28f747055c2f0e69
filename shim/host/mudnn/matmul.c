/* Products of matrices, one for each index of the dimensions before them, for attention and what else graphs multiply.
 * In doubles, by OpenBLAS, where an operand is a double or an integer; else in floats, by oneDNN where it is here: with
 * the short sums of attention it takes three quarters of OpenBLAS's time. */
#include "host/mudnn/mudnn.h"

#include <limits.h>
#include <stdlib.h>

#include "abi/mudnn_graph.h"

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc);
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc);

/* A matrix as BLAS takes it: rows of `lead` numbers, or columns where `turned`. */
struct matrix {
    const void *at;
    int64_t lead;
    bool turned;
    void *made; /* its own memory, for an operand that had to be copied */
};

static bool in_doubles(int type)
{
    return type == MUDNN_DATA_DOUBLE || type == MUDNN_DATA_INT32 || type == MUDNN_DATA_INT64 ||
           type == MUDNN_DATA_UINT32;
}
static bool in_bytes(int type) { return type == MUDNN_DATA_INT8 || type == MUDNN_DATA_UINT8; }

/* Where matrix `batch` of c lies in an operand with the same or fewer of each dimension. */
static int64_t batch_place(const struct mudnn_tensor *t, const struct mudnn_tensor *c, int64_t batch)
{
    int64_t at = 0;
    for (int d = c->n - 3; d >= 0; batch /= c->dim[d], d--) {
        int64_t index = batch % c->dim[d];
        at += index / (c->dim[d] / t->dim[d]) * t->stride[d];
    }
    return at;
}

/* A length of matrix `batch`: what a tensor says, within 0 and `most`. */
static int64_t length_of(const struct mudnn_operand *o, const struct mudnn_tensor *c, int64_t batch, int64_t most)
{
    if (!o->at)
        return most;
    int64_t v = (int64_t)dnn_get(o->at, o->t.type, batch_place(&o->t, c, batch));
    return v < 0 ? 0 : v > most ? most : v;
}

/* Copies `rows` rows of `columns` numbers as doubles, or as floats. */
static void *copy_matrix(const struct mudnn_operand *o, int64_t first, int64_t rows, int64_t columns, bool doubles)
{
    const struct mudnn_tensor *t = &o->t;
    char *to = maths_alloc((size_t)(rows * columns) * (doubles ? sizeof(double) : sizeof(float)));
    double v[DNN_ROW];
    for (int64_t r = 0; to && r < rows; r++) {
        const int64_t row = first + r * t->stride[t->n - 2];
        if (!doubles && t->stride[t->n - 1] == 1 &&
            dnn_widen((float *)to + r * columns, o->at, t->type, row, (size_t)columns))
            continue;
        for (int64_t c = 0; c < columns; c += DNN_ROW) {
            size_t n = (size_t)(columns - c < DNN_ROW ? columns - c : DNN_ROW);
            dnn_load(v, o->at, t->type, row + c * t->stride[t->n - 1], t->stride[t->n - 1], n);
            dnn_store(to, v, doubles ? MUDNN_DATA_DOUBLE : MUDNN_DATA_FLOAT, r * columns + c, 1, n);
        }
    }
    return to;
}

/* An operand's matrix: where it lies, or a copy. False: no memory. */
static bool take_matrix(struct matrix *m, const struct mudnn_operand *o, int64_t first, int64_t rows, int64_t columns,
                        bool doubles)
{
    const struct mudnn_tensor *t = &o->t;
    int64_t down = t->stride[t->n - 2], across = t->stride[t->n - 1];
    bool plain = t->type == (doubles ? MUDNN_DATA_DOUBLE : MUDNN_DATA_FLOAT);
    *m = (struct matrix){.at = (const char *)o->at + first * (int64_t)dnn_size(t->type)};
    if (plain && across == 1 && down >= columns && down <= INT_MAX) {
        m->lead = down;
    } else if (plain && down == 1 && across >= rows && across <= INT_MAX) {
        m->lead = across;
        m->turned = true;
    } else {
        m->lead = columns;
        m->at = m->made = copy_matrix(o, first, rows, columns, doubles);
    }
    return m->at != NULL;
}

static void multiply(double scale, bool doubles, const struct matrix *a, const struct matrix *b, int64_t rows,
                     int64_t columns, int64_t inner, void *c, int64_t lead)
{
    const struct dnn_product p = {.a = a->at,
                                  .b = b->at,
                                  .c = c,
                                  .scale = (float)scale,
                                  .a_turned = a->turned,
                                  .b_turned = b->turned,
                                  .rows = rows,
                                  .columns = columns,
                                  .inner = inner,
                                  .a_lead = a->lead,
                                  .b_lead = b->lead,
                                  .c_lead = lead};
    if (!doubles && dnn_product_by_onednn(&p))
        return;
    /* BLAS's columns are our rows: c' = b' a' */
    const int M = (int)columns, N = (int)rows, K = (int)inner, lda = (int)a->lead, ldb = (int)b->lead, ldc = (int)lead;
    const char *ta = a->turned ? "T" : "N", *tb = b->turned ? "T" : "N";
    if (doubles) {
        const double zero = 0;
        dgemm_(tb, ta, &M, &N, &K, &scale, b->at, &ldb, a->at, &lda, &zero, c, &ldc);
    } else {
        const float zero = 0;
        sgemm_(tb, ta, &M, &N, &K, &p.scale, b->at, &ldb, a->at, &lda, &zero, c, &ldc);
    }
}

/* Writes the computed part of a matrix, and the padding around it. `from` NULL: it is there already. */
static void store_matrix(const struct mudnn_matmul *m, int64_t first, const void *from, bool doubles, int64_t rows,
                         int64_t columns)
{
    const struct mudnn_tensor *t = &m->c.t;
    const int64_t all_rows = t->dim[t->n - 2], all = t->dim[t->n - 1];
    double v[DNN_ROW];
    for (int64_t r = 0; r < all_rows; r++) {
        int64_t filled = r < rows ? columns : 0;
        if (from && !doubles && filled == all && t->stride[t->n - 1] == 1 &&
            dnn_narrow(m->c.at, (const float *)from + r * columns, t->type, first + r * t->stride[t->n - 2],
                       (size_t)all))
            continue;
        for (int64_t c = from ? 0 : filled; c < all; c += DNN_ROW) {
            size_t n = (size_t)(all - c < DNN_ROW ? all - c : DNN_ROW), known = 0;
            if (c < filled) {
                known = (size_t)(filled - c) < n ? (size_t)(filled - c) : n;
                dnn_load(v, from, doubles ? MUDNN_DATA_DOUBLE : MUDNN_DATA_FLOAT, r * columns + c, 1, known);
            }
            for (size_t i = known; i < n; i++)
                v[i] = m->padding;
            dnn_store(m->c.at, v, t->type, first + r * t->stride[t->n - 2] + c * t->stride[t->n - 1],
                      t->stride[t->n - 1], n);
        }
    }
}

static void one_product(const struct mudnn_matmul *m, int64_t batch, bool doubles)
{
    const struct mudnn_tensor *t = &m->c.t;
    const int64_t rows = length_of(&m->rows, t, batch, t->dim[t->n - 2]);
    const int64_t columns = length_of(&m->columns, t, batch, t->dim[t->n - 1]);
    const int64_t inner = length_of(&m->inner, t, batch, m->a.t.dim[m->a.t.n - 1]);
    const int64_t first = batch_place(t, t, batch);
    struct matrix a = {0}, b = {0};
    bool plain = t->type == (doubles ? MUDNN_DATA_DOUBLE : MUDNN_DATA_FLOAT) && t->stride[t->n - 1] == 1 &&
                 t->stride[t->n - 2] >= t->dim[t->n - 1] && t->stride[t->n - 2] <= INT_MAX;
    void *c = plain ? (char *)m->c.at + first * (int64_t)dnn_size(t->type) : NULL;
    if (rows && columns && inner) {
        void *made = plain ? NULL : maths_alloc((size_t)(rows * columns) * (doubles ? sizeof(double) : sizeof(float)));
        if ((plain || made) && take_matrix(&a, &m->a, batch_place(&m->a.t, t, batch), rows, inner, doubles) &&
            take_matrix(&b, &m->b, batch_place(&m->b.t, t, batch), inner, columns, doubles)) {
            multiply(m->scale.at ? dnn_get(m->scale.at, m->scale.t.type, 0) : 1, doubles, &a, &b, rows, columns, inner,
                     plain ? c : made, plain ? t->stride[t->n - 2] : columns);
            if (made || rows < t->dim[t->n - 2] || columns < t->dim[t->n - 1])
                store_matrix(m, first, made, doubles, rows, columns);
        }
        free(made);
    } else { /* a sum of nothing */
        const int64_t count = rows * columns;
        void *zeros = maths_zeroed((size_t)(count ? count : 1), sizeof(double));
        if (zeros)
            store_matrix(m, first, zeros, true, rows, columns);
        free(zeros);
    }
    free(a.made);
    free(b.made);
}

static bool computes_in_doubles(const struct mudnn_matmul *m)
{
    /* sums of products of bytes are exact in doubles alone */
    return in_doubles(m->a.t.type) || in_doubles(m->b.t.type) || in_doubles(m->c.t.type) || in_bytes(m->a.t.type) ||
           in_bytes(m->b.t.type);
}

static void touch(const struct mudnn_operand *o, bool write)
{
    if (o->at)
        dnn_touch(&o->t, o->at, write);
}

void dnn_matmul(const void *call)
{
    const struct mudnn_matmul *m = call;
    const struct mudnn_tensor *t = &m->c.t;
    int64_t batches = dnn_count(t) / (t->dim[t->n - 2] * t->dim[t->n - 1]);
    bool doubles = computes_in_doubles(m);
    touch(&m->a, false);
    touch(&m->b, false);
    touch(&m->rows, false);
    touch(&m->columns, false);
    touch(&m->inner, false);
    touch(&m->scale, false);
    touch(&m->c, true);
    for (int64_t i = 0; i < batches; i++)
        one_product(m, i, doubles);
}

DNN_EXPORT mudnnStatus_t mudnnHostMatmul(musaStream_t stream, const struct mudnn_matmul *m)
{
    struct mudnn_matmul call = *m;
    const struct mudnn_tensor *c = &m->c.t;
    struct mudnn_operand *const all[] = {&call.a,       &call.b,     &call.c,    &call.rows,
                                         &call.columns, &call.inner, &call.scale};
    if (!dnn_size(m->a.t.type) || !dnn_size(m->b.t.type) || !dnn_size(c->type))
        return MUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < 2; i++) /* BLAS counts in int */
        if (c->dim[c->n - 1 - i] > INT_MAX || m->a.t.dim[m->a.t.n - 1 - i] > INT_MAX)
            return MUDNN_STATUS_NOT_SUPPORTED;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        all[i]->at = maths_operand(all[i]->at);
    return dnn_submit(stream, MATHS_LIBRARY, dnn_matmul, &call, sizeof call,
                      2.0 * (double)dnn_count(c) * (double)m->a.t.dim[m->a.t.n - 1]);
}
