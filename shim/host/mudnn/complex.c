/* Products of matrices of complex numbers, one for each index of the dimensions before them. OpenBLAS computes them. */
#include "host/mudnn/mudnn.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "abi/mudnn_graph.h"

void cgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc);
void zgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc);

static size_t size_of(int type)
{
    return type == MUDNN_DATA_COMPLEX_FP32   ? 2 * sizeof(float)
           : type == MUDNN_DATA_COMPLEX_FP64 ? 2 * sizeof(double)
                                             : 0;
}

/* Where matrix `batch` of c lies in an operand with the same or fewer of each dimension. */
static int64_t batch_place(const struct mudnn_tensor *t, const struct mudnn_tensor *c, int64_t batch)
{
    int64_t at = 0;
    for (int d = c->n - 3; d >= 0; batch /= c->dim[d], d--)
        at += batch % c->dim[d] / (c->dim[d] / t->dim[d]) * t->stride[d];
    return at;
}

/* Between an operand's matrix and one of packed rows. */
static void copy_matrix(const struct mudnn_operand *o, int64_t first, char *packed, bool back)
{
    const struct mudnn_tensor *t = &o->t;
    const int64_t rows = t->dim[t->n - 2], columns = t->dim[t->n - 1];
    const size_t size = size_of(t->type);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            char *at = (char *)o->at + (first + r * t->stride[t->n - 2] + c * t->stride[t->n - 1]) * (int64_t)size;
            char *to = packed + (r * columns + c) * (int64_t)size;
            memcpy(back ? at : to, back ? to : at, size);
        }
}

/* Reads each page as pairs of real numbers: see dnn_touch. */
static void touch(const struct mudnn_operand *o, bool write)
{
    struct mudnn_tensor t = o->t;
    t.type = t.type == MUDNN_DATA_COMPLEX_FP32 ? MUDNN_DATA_FLOAT : MUDNN_DATA_DOUBLE;
    for (int i = 0; i < t.n; i++)
        t.stride[i] *= 2;
    t.dim[t.n] = 2;
    t.stride[t.n++] = 1;
    dnn_touch(&t, o->at, write);
}

static void run(const void *call)
{
    const struct mudnn_matmul *m = call;
    const struct mudnn_tensor *t = &m->c.t;
    const int rows = (int)t->dim[t->n - 2], columns = (int)t->dim[t->n - 1], inner = (int)m->a.t.dim[m->a.t.n - 1];
    const size_t size = size_of(t->type);
    touch(&m->a, false);
    touch(&m->b, false);
    touch(&m->c, true);
    char *a = maths_alloc((size_t)rows * (size_t)inner * size),
         *b = maths_alloc((size_t)inner * (size_t)columns * size);
    char *c = maths_alloc((size_t)rows * (size_t)columns * size);
    for (int64_t i = 0, n = dnn_count(t) / rows / columns; a && b && c && i < n; i++) {
        copy_matrix(&m->a, batch_place(&m->a.t, t, i), a, false);
        copy_matrix(&m->b, batch_place(&m->b.t, t, i), b, false);
        /* BLAS's columns are our rows: c' = b' a' */
        if (t->type == MUDNN_DATA_COMPLEX_FP64) {
            const double one[] = {1, 0}, zero[] = {0, 0};
            zgemm_("N", "N", &columns, &rows, &inner, one, (double *)(void *)b, &columns, (double *)(void *)a, &inner,
                   zero, (double *)(void *)c, &columns);
        } else {
            const float one[] = {1, 0}, zero[] = {0, 0};
            cgemm_("N", "N", &columns, &rows, &inner, one, (float *)(void *)b, &columns, (float *)(void *)a, &inner,
                   zero, (float *)(void *)c, &columns);
        }
        copy_matrix(&m->c, batch_place(t, t, i), c, true);
    }
    free(a), free(b), free(c);
}

DNN_EXPORT mudnnStatus_t mudnnHostComplexMatmul(musaStream_t stream, const struct mudnn_matmul *m)
{
    struct mudnn_matmul call = *m;
    struct mudnn_operand *const all[] = {&call.a, &call.b, &call.c};
    const struct mudnn_tensor *c = &m->c.t;
    if (c->n == MUDNN_DIMS || !size_of(c->type) || m->a.t.type != c->type || m->b.t.type != c->type)
        return MUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < 2; i++) /* BLAS counts in int */
        if (c->dim[c->n - 1 - i] > INT_MAX || m->a.t.dim[m->a.t.n - 1 - i] > INT_MAX)
            return MUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < 3; i++)
        all[i]->at = maths_operand(all[i]->at);
    return dnn_submit(stream, MATHS_LIBRARY, run, &call, sizeof call,
                      8.0 * (double)dnn_count(c) * (double)m->a.t.dim[m->a.t.n - 1]);
}
