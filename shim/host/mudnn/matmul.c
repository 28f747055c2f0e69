/* Products of matrices, one for each index of the dimensions before them, for attention and what else graphs multiply.
 * In doubles, by OpenBLAS, where an operand is a double or an integer; else in floats, by oneDNN where it is here: with
 * the short sums of attention it takes three quarters of OpenBLAS's time. bfloat16 as it is where the CPU has it. */
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

/* Copies `rows` rows of `columns` numbers as numbers of `type`. */
static void *copy_matrix(const struct mudnn_operand *o, int64_t first, int64_t rows, int64_t columns, int type)
{
    const struct mudnn_tensor *t = &o->t;
    char *to = maths_alloc((size_t)(rows * columns) * dnn_size(type));
    double v[DNN_ROW];
    for (int64_t r = 0; to && r < rows; r++) {
        const int64_t row = first + r * t->stride[t->n - 2];
        if (type == MUDNN_DATA_FLOAT && t->stride[t->n - 1] == 1 &&
            dnn_widen((float *)to + r * columns, o->at, t->type, row, (size_t)columns))
            continue;
        for (int64_t c = 0; c < columns; c += DNN_ROW) {
            size_t n = (size_t)(columns - c < DNN_ROW ? columns - c : DNN_ROW);
            dnn_load(v, o->at, t->type, row + c * t->stride[t->n - 1], t->stride[t->n - 1], n);
            dnn_store(to, v, type, r * columns + c, 1, n);
        }
    }
    return to;
}

/* An operand's matrix: where it lies, or a copy. False: no memory. */
static bool take_matrix(struct matrix *m, const struct mudnn_operand *o, int64_t first, int64_t rows, int64_t columns,
                        int type)
{
    const struct mudnn_tensor *t = &o->t;
    int64_t down = t->stride[t->n - 2], across = t->stride[t->n - 1];
    bool plain = t->type == type;
    *m = (struct matrix){.at = (const char *)o->at + first * (int64_t)dnn_size(t->type)};
    if (plain && across == 1 && down >= columns && down <= INT_MAX) {
        m->lead = down;
    } else if (plain && down == 1 && across >= rows && across <= INT_MAX) {
        m->lead = across;
        m->turned = true;
    } else {
        m->lead = columns;
        m->at = m->made = copy_matrix(o, first, rows, columns, type);
    }
    return m->at != NULL;
}

/* Are there subnormals in a matrix of bfloat16? */
static bool has_subnormals(const struct matrix *m, int64_t rows, int64_t columns)
{
    const int64_t runs = m->turned ? columns : rows, n = m->turned ? rows : columns;
    bool any = false;
    for (int64_t i = 0; i < runs && !any; i++)
        any = dnn_has_subnormals((const uint16_t *)m->at + i * m->lead, (size_t)n);
    return any;
}

/* Of numbers of `type`, the result of `c_type`. False: the CPU's products of bfloat16 are no way to get this one. */
static bool multiply(double scale, int type, int c_type, const struct matrix *a, const struct matrix *b, int64_t rows,
                     int64_t columns, int64_t inner, void *c, int64_t lead)
{
    const struct dnn_product p = {.a = a->at,
                                  .b = b->at,
                                  .c = c,
                                  .scale = (float)scale,
                                  .narrow = type == MUDNN_DATA_BFLOAT16,
                                  .c_narrow = c_type == MUDNN_DATA_BFLOAT16,
                                  .a_turned = a->turned,
                                  .b_turned = b->turned,
                                  .rows = rows,
                                  .columns = columns,
                                  .inner = inner,
                                  .a_lead = a->lead,
                                  .b_lead = b->lead,
                                  .c_lead = lead};
    if (p.narrow)
        return !has_subnormals(a, rows, inner) && !has_subnormals(b, inner, columns) && dnn_product_by_onednn(&p);
    if (type == MUDNN_DATA_FLOAT && dnn_product_by_onednn(&p))
        return true;
    /* BLAS's columns are our rows: c' = b' a' */
    const int M = (int)columns, N = (int)rows, K = (int)inner, lda = (int)a->lead, ldb = (int)b->lead, ldc = (int)lead;
    const char *ta = a->turned ? "T" : "N", *tb = b->turned ? "T" : "N";
    if (type == MUDNN_DATA_DOUBLE) {
        const double zero = 0;
        dgemm_(tb, ta, &M, &N, &K, &scale, b->at, &ldb, a->at, &lda, &zero, c, &ldc);
    } else {
        const float zero = 0;
        sgemm_(tb, ta, &M, &N, &K, &p.scale, b->at, &ldb, a->at, &lda, &zero, c, &ldc);
    }
    return true;
}

/* Writes the computed part of a matrix, of numbers of `type`, and the padding around it. `from` NULL: it is there
 * already. */
static void store_matrix(const struct mudnn_matmul *m, int64_t first, const void *from, int type, int64_t rows,
                         int64_t columns)
{
    const struct mudnn_tensor *t = &m->c.t;
    const int64_t all_rows = t->dim[t->n - 2], all = t->dim[t->n - 1];
    double v[DNN_ROW];
    for (int64_t r = 0; r < all_rows; r++) {
        int64_t filled = r < rows ? columns : 0;
        if (from && type == MUDNN_DATA_FLOAT && filled == all && t->stride[t->n - 1] == 1 &&
            dnn_narrow(m->c.at, (const float *)from + r * columns, t->type, first + r * t->stride[t->n - 2],
                       (size_t)all))
            continue;
        for (int64_t c = from ? 0 : filled; c < all; c += DNN_ROW) {
            size_t n = (size_t)(all - c < DNN_ROW ? all - c : DNN_ROW), known = 0;
            if (c < filled) {
                known = (size_t)(filled - c) < n ? (size_t)(filled - c) : n;
                dnn_load(v, from, type, r * columns + c, 1, known);
            }
            for (size_t i = known; i < n; i++)
                v[i] = m->padding;
            dnn_store(m->c.at, v, t->type, first + r * t->stride[t->n - 2] + c * t->stride[t->n - 1],
                      t->stride[t->n - 1], n);
        }
    }
}

/* A product in numbers of `type`. False: it is none of those that the CPU has for bfloat16, and nothing was done. */
static bool one_product(const struct mudnn_matmul *m, int64_t batch, int type)
{
    const struct mudnn_tensor *t = &m->c.t;
    const int64_t rows = length_of(&m->rows, t, batch, t->dim[t->n - 2]);
    const int64_t columns = length_of(&m->columns, t, batch, t->dim[t->n - 1]);
    const int64_t inner = length_of(&m->inner, t, batch, m->a.t.dim[m->a.t.n - 1]);
    const int64_t first = batch_place(t, t, batch);
    const int made_type = type == MUDNN_DATA_DOUBLE ? type : MUDNN_DATA_FLOAT;
    struct matrix a = {0}, b = {0};
    bool done = true;
    bool plain = (t->type == type || t->type == made_type) && t->stride[t->n - 1] == 1 &&
                 t->stride[t->n - 2] >= t->dim[t->n - 1] && t->stride[t->n - 2] <= INT_MAX;
    void *c = plain ? (char *)m->c.at + first * (int64_t)dnn_size(t->type) : NULL;
    if (rows && columns && inner) {
        void *made = plain ? NULL : maths_alloc((size_t)(rows * columns) * dnn_size(made_type));
        if ((plain || made) && take_matrix(&a, &m->a, batch_place(&m->a.t, t, batch), rows, inner, type) &&
            take_matrix(&b, &m->b, batch_place(&m->b.t, t, batch), inner, columns, type)) {
            done = multiply(m->scale.at ? dnn_get(m->scale.at, m->scale.t.type, 0) : 1, type,
                            plain ? t->type : made_type, &a, &b, rows, columns, inner, plain ? c : made,
                            plain ? t->stride[t->n - 2] : columns);
            if (done && (made || rows < t->dim[t->n - 2] || columns < t->dim[t->n - 1]))
                store_matrix(m, first, made, made_type, rows, columns);
        }
        free(made);
    } else { /* a sum of nothing */
        const int64_t count = rows * columns;
        void *zeros = maths_zeroed((size_t)(count ? count : 1), sizeof(double));
        if (zeros)
            store_matrix(m, first, zeros, MUDNN_DATA_DOUBLE, rows, columns);
        free(zeros);
    }
    free(a.made);
    free(b.made);
    return done;
}

static bool computes_in_doubles(const struct mudnn_matmul *m)
{
    /* sums of products of bytes are exact in doubles alone */
    return in_doubles(m->a.t.type) || in_doubles(m->b.t.type) || in_doubles(m->c.t.type) || in_bytes(m->a.t.type) ||
           in_bytes(m->b.t.type);
}

/* Where the CPU multiplies bfloat16, oneDNN's products of it take half the time of floats', elsewhere more. */
static bool computes_in_bfloats(const struct mudnn_matmul *m)
{
#ifdef __x86_64__
    return m->a.t.type == MUDNN_DATA_BFLOAT16 && m->b.t.type == MUDNN_DATA_BFLOAT16 &&
           __builtin_cpu_supports("avx512bf16");
#else
    return (void)m, false;
#endif
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
    const int type = computes_in_doubles(m) ? MUDNN_DATA_DOUBLE : MUDNN_DATA_FLOAT;
    const bool narrow = computes_in_bfloats(m);
    touch(&m->a, false);
    touch(&m->b, false);
    touch(&m->rows, false);
    touch(&m->columns, false);
    touch(&m->inner, false);
    touch(&m->scale, false);
    touch(&m->c, true);
    for (int64_t i = 0; i < batches; i++)
        if (!narrow || !one_product(m, i, MUDNN_DATA_BFLOAT16))
            (void)one_product(m, i, type);
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
