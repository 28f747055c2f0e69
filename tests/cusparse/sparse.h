/* What the cuSPARSE tests share: random sparse matrices on the device in every format, with a dense copy beside them
 * where the plain reference computes. */
#ifndef CUMU_TESTS_SPARSE_H
#define CUMU_TESTS_SPARSE_H

#include <stdint.h>

#ifndef TEST_LIBRARY
#define TEST_LIBRARY "libcusparse.so.12"
#endif
#define TEST_CREATE "cusparseCreate"
#define TEST_POINTER_MODE "cusparseSetPointerMode"
#include "../cublas/blas.h"

/* CUDA's numbers, from its headers. */
enum { I32 = 2, I64 = 3, COL = 1, ROW = 2, CSR = 1, CSC = 2, COO = 3 };
static const int cuda_type[] = {0, 1, 4, 5};
typedef const void *V;

struct sparse {
    int format, type, wide, base, rows, cols, nnz;
    num *dense; /* rows by columns */
    void *ptr, *ind, *val, *descr;
    int *place; /* row and column of each element */
};

static inline void *device(const void *from, size_t size)
{
    void *p;
    if (cudaMalloc(&p, size + 16))
        exit(1);
    if (from)
        cudaMemcpy(p, from, size, 1);
    return p;
}
static inline void *index_array(const int *from, int n, int wide)
{
    int64_t *l = malloc((size_t)(n + 1) * sizeof *l);
    for (int i = 0; i < n && wide; i++)
        l[i] = from[i];
    void *p = device(wide ? (V)l : from, (size_t)n * (wide ? 8 : 4));
    free(l);
    return p;
}
static inline int *host_ints(const void *at, int n)
{
    int *p = malloc((size_t)(n + 1) * sizeof *p);
    cudaMemcpy(p, at, (size_t)n * sizeof *p, 2);
    return p;
}

/* density in percent. A triangle (1 lower, 2 upper) gets a dominant diagonal, and elements beyond it all the same. */
static inline struct sparse sparse(int type, int rows, int cols, int format, int wide, int base, int density,
                                   int triangle)
{
    struct sparse s = {format, type, wide, base, rows, cols, 0, NULL, NULL, NULL, NULL, NULL, NULL};
    int lines = format == CSC ? cols : rows, length = format == CSC ? rows : cols;
    size_t room = (size_t)(rows * cols) + 1;
    int *ptr = malloc((size_t)(lines + 1) * sizeof *ptr), *ind = malloc(room * sizeof *ind);
    int *line = malloc(room * sizeof *line);
    num *val = calloc(room, sizeof *val);
    char *raw = malloc(room * 16);
    s.dense = calloc(room, sizeof *s.dense);
    s.place = malloc(2 * room * sizeof *s.place);
    for (int i = 0; i < lines; i++) {
        ptr[i] = s.nnz + base;
        for (int j = 0; j < length; j++) {
            if (upto(100) >= density && !(triangle && i == j))
                continue;
            num v = value(type);
            if (v == 0)
                v = 1;
            if (triangle)
                v = i == j ? 4 + v : v / 8;
            int r = format == CSC ? j : i, c = format == CSC ? i : j;
            s.dense[r * cols + c] = v;
            s.place[2 * s.nnz] = r;
            s.place[2 * s.nnz + 1] = c;
            line[s.nnz] = i + base;
            ind[s.nnz] = j + base;
            val[s.nnz++] = v;
        }
    }
    ptr[lines] = s.nnz + base;
    pack(type, val, raw, (size_t)s.nnz);
    s.ptr = format == COO ? index_array(line, s.nnz, wide) : index_array(ptr, lines + 1, wide);
    s.ind = index_array(ind, s.nnz, wide);
    s.val = device(raw, (size_t)s.nnz * size_of(type));
    int it = wide ? I64 : I32;
    if (format == COO)
        OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int))symbol("cusparseCreateCoo"))(
            &s.descr, rows, cols, s.nnz, s.ptr, s.ind, s.val, it, base, cuda_type[type]));
    else
        OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int, int))symbol(
            format == CSR ? "cusparseCreateCsr" : "cusparseCreateCsc"))(&s.descr, rows, cols, s.nnz, s.ptr, s.ind,
                                                                        s.val, it, it, base, cuda_type[type]));
    free(ptr), free(ind), free(line), free(val), free(raw);
    return s;
}
static inline void drop_sparse(struct sparse s)
{
    OK(((int (*)(V))symbol("cusparseDestroySpMat"))(s.descr));
    cudaFree(s.ptr), cudaFree(s.ind), cudaFree(s.val);
    free(s.dense), free(s.place);
}
static inline void *dnvec(struct buffer b, int n)
{
    void *d = NULL;
    OK(((int (*)(void **, int64_t, void *, int))symbol("cusparseCreateDnVec"))(&d, n, b.at, cuda_type[b.type]));
    return d;
}
static inline void drop_dnvec(void *d) { OK(((int (*)(V))symbol("cusparseDestroyDnVec"))(d)); }
/* A dense matrix in either order, and where its elements are. */
struct matrix {
    struct buffer b;
    int rows, cols, ld, order;
    void *descr;
};
static inline struct matrix matrix(int type, int rows, int cols)
{
    struct matrix m = {.rows = rows, .cols = cols, .order = upto(2) ? COL : ROW};
    int length = m.order == COL ? rows : cols, lines = m.order == COL ? cols : rows;
    m.ld = length + upto(3) + (length == 0);
    m.b = buffer(type, (size_t)(m.ld * lines));
    OK(((int (*)(void **, int64_t, int64_t, int64_t, void *, int, int))symbol("cusparseCreateDnMat"))(
        &m.descr, rows, cols, m.ld, m.b.at, cuda_type[type], m.order));
    return m;
}
static inline num *at(struct matrix m, int i, int j) { return &m.b.ref[m.order == COL ? j * m.ld + i : i * m.ld + j]; }
static inline num at_op(struct matrix m, int op, int i, int j)
{
    return op == 0 ? *at(m, i, j) : conj_if(op == 2, *at(m, j, i));
}
static inline void drop_matrix(struct matrix m)
{
    OK(((int (*)(V))symbol("cusparseDestroyDnMat"))(m.descr));
    drop(m.b);
}
/* Element (i, j) of op(s). */
static inline num el_op(struct sparse s, int op, int i, int j)
{
    return op == 0 ? s.dense[i * s.cols + j] : conj_if(op == 2, s.dense[j * s.cols + i]);
}

#endif
