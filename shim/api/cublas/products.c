/* cuBLAS's products that muBLAS has under no name: matrices of f16 and bf16 times vectors, as products of one row, and
 * groups of batches, one batch after the other. */
#include "api/cublas/blas.h"

static bool wide(long v) { return v != (int)v; }

/* ---- y = alpha op(a) x + beta y ---------------------------------------------------------------- */

/* A vector with an increment is a matrix of one row: y^T = x^T op(a)^T. */
struct gemv {
    const char *name;
    long m, n, lda, incx, incy, batch;
    long long stridea, stridex, stridey;
    int in, out;
    bool pointers;
};

/* Batched matrix-vector products of mixed types as matrix products with one row, since muBLAS has no such gemv: y' =
 * alpha x' op(A)' + beta y'. In this form the increments of x and y are leading dimensions, which cannot be
 * negative. */
static int gemv(void *h, int op, const struct gemv *g, const void *alpha, const void *a, const void *x,
                const void *beta, void *y)
{
    int r = cublas_live(h);
    if (r)
        return r;
    if (op < CUBLAS_OP_N || op > CUBLAS_OP_C || g->m < 0 || g->n < 0 || g->batch < 0 || !g->incx || !g->incy ||
        g->lda < (g->m > 1 ? g->m : 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!g->m || !g->n || !g->batch)
        return CUBLAS_STATUS_SUCCESS;
    bool large = wide(g->m) || wide(g->n) || wide(g->lda) || wide(g->incx) || wide(g->incy) || wide(g->batch);
    if (large || g->incx < 0 || g->incy < 0) {
        cumu_gap("cublas", g->name, large ? "a size above 2147483647" : "a negative increment");
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    bool plain = op == CUBLAS_OP_N;
    int n = (int)(plain ? g->m : g->n), k = (int)(plain ? g->n : g->m), ta = plain ? MUBLAS_OP_T : MUBLAS_OP_N;
    int lda = (int)g->lda, incx = (int)g->incx, incy = (int)g->incy, batch = (int)g->batch;
    if (g->pointers)
        r = mu.MUBLAS_GEMM_BATCHED_EX(h, MUBLAS_OP_N, ta, 1, n, k, alpha, x, g->in, incx, a, g->in, lda, beta, y,
                                      g->out, incy, batch, MUBLAS_COMPUTE_32F, MUBLAS_GEMM_DEFAULT);
    else
        r = mu.MUBLAS_GEMM_STRIDED_BATCHED_EX(h, MUBLAS_OP_N, ta, 1, n, k, alpha, x, g->in, incx, g->stridex, a, g->in,
                                              lda, g->stridea, beta, y, g->out, incy, g->stridey, batch,
                                              MUBLAS_COMPUTE_32F, MUBLAS_GEMM_DEFAULT);
    return CUBLAS(r);
}

#define GEMV(X, from, to, suffix, size) \
    int wrap_cublas##X##gemvBatched##suffix(void *h, int op, size m, size n, const void *alpha, const void *a, \
                                            size lda, const void *x, size incx, const void *beta, const void *y, \
                                            size incy, size batch) \
    { \
        struct gemv g = {"cublas" #X "gemvBatched", m, n, lda, incx, incy, batch, 0, 0, 0, from, to, true}; \
        return gemv(h, op, &g, alpha, a, x, beta, (void *)(size_t)y); \
    } \
    int wrap_cublas##X##gemvStridedBatched##suffix( \
        void *h, int op, size m, size n, const void *alpha, const void *a, size lda, long long stridea, const void *x, \
        size incx, long long stridex, const void *beta, void *y, size incy, long long stridey, size batch) \
    { \
        struct gemv g = {"cublas" #X "gemvStridedBatched", \
                         m, \
                         n, \
                         lda, \
                         incx, \
                         incy, \
                         batch, \
                         stridea, \
                         stridex, \
                         stridey, \
                         from, \
                         to, \
                         false}; \
        return gemv(h, op, &g, alpha, a, x, beta, y); \
    }
#define GEMVS(X, from, to) GEMV(X, from, to, , int) GEMV(X, from, to, _64, long)
GEMVS(HSH, MUSA_R_16F, MUSA_R_16F)
GEMVS(HSS, MUSA_R_16F, MUSA_R_32F)
GEMVS(TST, MUSA_R_16BF, MUSA_R_16BF)
GEMVS(TSS, MUSA_R_16BF, MUSA_R_32F)

/* ---- groups ------------------------------------------------------------------------------------ */

/* Arrays by group: operations, sizes, scalars; arrays of addresses on the device go through all groups. */
struct groups {
    const int *ta, *tb;
    const void *m, *n, *k, *lda, *ldb, *ldc, *count; /* of int or, where `wide`, of int64_t */
    bool wide;
    const char *alpha, *beta;
    size_t scalar;
    const void *const *a, *const *b;
    void *const *c;
    int atype, btype, ctype, compute;
};

static bool number(const struct groups *g, const void *array, long i, int *out)
{
    long v = g->wide ? ((const long *)array)[i] : ((const int *)array)[i];
    *out = (int)v;
    return v == *out;
}

/* Grouped products as one batched product a group. The groups may differ in everything; arrays of alpha and beta
 * step by the size of the scalar. */
static int grouped(void *h, const struct groups *g, long groups)
{
    long done = 0;
    int r = cublas_live(h);
    if (r || groups < 0)
        return r ? r : CUBLAS_STATUS_INVALID_VALUE;
    if (groups && (!g->ta || !g->tb || !g->m || !g->n || !g->k || !g->alpha || !g->beta || !g->lda || !g->ldb ||
                   !g->ldc || !g->count))
        return CUBLAS_STATUS_INVALID_VALUE;
    int compute = cumu_cublasComputeType_t_to_musa(g->compute);
    for (long i = 0; i < groups && !r; i++) {
        int m, n, k, lda, ldb, ldc, count;
        if (!number(g, g->m, i, &m) || !number(g, g->n, i, &n) || !number(g, g->k, i, &k) ||
            !number(g, g->lda, i, &lda) || !number(g, g->ldb, i, &ldb) || !number(g, g->ldc, i, &ldc) ||
            !number(g, g->count, i, &count)) {
            cumu_gap("cublas", "cublasGemmGroupedBatchedEx", "a size above 2147483647");
            return CUBLAS_STATUS_NOT_SUPPORTED;
        }
        size_t at = g->scalar * (size_t)i;
        r = CUBLAS(mu.MUBLAS_GEMM_BATCHED_EX(
            h, cumu_cublasOperation_t_to_musa(g->ta[i]), cumu_cublasOperation_t_to_musa(g->tb[i]), m, n, k,
            g->alpha + at, g->a ? g->a + done : NULL, g->atype, lda, g->b ? g->b + done : NULL, g->btype, ldb,
            g->beta + at, g->c ? g->c + done : NULL, g->ctype, ldc, count, compute, MUBLAS_GEMM_DEFAULT));
        done += count;
    }
    return r;
}

static size_t scalar_of(int compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return 2;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return 8;
    default: return 4;
    }
}

#define GROUPED(size, suffix, is_wide) \
    int wrap_cublasGemmGroupedBatchedEx##suffix( \
        void *h, const void *ta, const void *tb, const void *m, const void *n, const void *k, const void *alpha, \
        const void *a, int atype, const void *lda, const void *b, int btype, const void *ldb, const void *beta, \
        const void *c, int ctype, const void *ldc, size groups, const void *count, int compute) \
    { \
        struct groups g = {ta, \
                           tb, \
                           m, \
                           n, \
                           k, \
                           lda, \
                           ldb, \
                           ldc, \
                           count, \
                           is_wide, \
                           alpha, \
                           beta, \
                           scalar_of(compute), \
                           a, \
                           b, \
                           (void *const *)c, \
                           atype, \
                           btype, \
                           ctype, \
                           compute}; \
        return grouped(h, &g, groups); \
    }
GROUPED(int, , false)
GROUPED(long, _64, true)

#define GROUPED_OF(X, type, scalar_size, compute_type, size, suffix, is_wide) \
    int wrap_cublas##X##gemmGroupedBatched##suffix(void *h, const void *ta, const void *tb, const void *m, \
                                                   const void *n, const void *k, const void *alpha, const void *a, \
                                                   const void *lda, const void *b, const void *ldb, const void *beta, \
                                                   const void *c, const void *ldc, size groups, const void *count) \
    { \
        struct groups g = {ta,    tb,      m,     n,           k,           lda, ldb, ldc, \
                           count, is_wide, alpha, beta,        scalar_size, a,   b,   (void *const *)c, \
                           type,  type,    type,  compute_type}; \
        return grouped(h, &g, groups); \
    }
GROUPED_OF(S, CUDA_R_32F, 4, CUBLAS_COMPUTE_32F, int, , false)
GROUPED_OF(S, CUDA_R_32F, 4, CUBLAS_COMPUTE_32F, long, _64, true)
GROUPED_OF(D, CUDA_R_64F, 8, CUBLAS_COMPUTE_64F, int, , false)
GROUPED_OF(D, CUDA_R_64F, 8, CUBLAS_COMPUTE_64F, long, _64, true)
