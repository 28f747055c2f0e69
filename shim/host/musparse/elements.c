/* muSPARSE's legacy calls that look at each element of a matrix: counting, compressing, dense forms; and the sparse
 * vectors of CUDA 11. */
#include <string.h>

#include "host/musparse/legacy.h"

struct elements {
    int m, n, ld, dir, work, base, base_out;
    const void *a; /* dense, or the values of a sparse matrix */
    const int *ptr, *ind;
    int *counts, *total, *ptr_out, *ind_out;
    void *val_out;
    double tolerance;
    bool columns; /* the sparse matrix is by columns */
};

static double complex at(const struct elements *e, size_t k)
{
    double complex v = 0;
    musparse_widen(&v, Z, (const char *)e->a + k * work_size(e->work), work_type(e->work), 1);
    return v;
}

static void run_nnz(const void *call)
{
    const struct elements *e = call;
    int total = 0, lines = e->dir == MUSPARSE_DIRECTION_ROW ? e->m : e->n;
    memset(e->counts, 0, (size_t)lines * sizeof *e->counts);
    for (int j = 0; j < e->n; j++)
        for (int i = 0; i < e->m; i++)
            if (at(e, (size_t)j * (size_t)e->ld + (size_t)i) != 0) {
                e->counts[e->dir == MUSPARSE_DIRECTION_ROW ? i : j]++;
                total++;
            }
    *e->total = total;
}

/* A number stays if its modulus is above the tolerance. */
static bool stays(const struct elements *e, size_t k) { return cabs(at(e, k)) > e->tolerance; }

static void run_nnz_compress(const void *call)
{
    const struct elements *e = call;
    int total = 0;
    for (int i = 0; i < e->m; i++) {
        e->counts[i] = 0;
        for (int k = e->ptr[i] - e->base; k < e->ptr[i + 1] - e->base; k++)
            e->counts[i] += stays(e, (size_t)k);
        total += e->counts[i];
    }
    *e->total = total;
}

static void run_compress(const void *call)
{
    const struct elements *e = call;
    size_t size = work_size(e->work), to = 0;
    for (int i = 0; i < e->m; i++) {
        e->ptr_out[i] = (int)to + e->base;
        for (int k = e->ptr[i] - e->base; k < e->ptr[i + 1] - e->base; k++)
            if (stays(e, (size_t)k)) {
                e->ind_out[to] = e->ind[k];
                memcpy((char *)e->val_out + to++ * size, (const char *)e->a + (size_t)k * size, size);
            }
    }
    e->ptr_out[e->m] = (int)to + e->base;
}

static void run_to_sparse(const void *call)
{
    const struct elements *e = call;
    size_t size = work_size(e->work), to = 0;
    int lines = e->columns ? e->n : e->m, length = e->columns ? e->m : e->n;
    for (int i = 0; i < lines; i++) {
        e->ptr_out[i] = (int)to + e->base;
        for (int j = 0; j < length; j++) {
            size_t k = e->columns ? (size_t)i * (size_t)e->ld + (size_t)j : (size_t)j * (size_t)e->ld + (size_t)i;
            if (at(e, k) == 0)
                continue;
            e->ind_out[to] = j + e->base;
            memcpy((char *)e->val_out + to++ * size, (const char *)e->a + k * size, size);
        }
    }
    e->ptr_out[lines] = (int)to + e->base;
}

static void run_to_dense(const void *call)
{
    const struct elements *e = call;
    size_t size = work_size(e->work);
    int lines = e->columns ? e->n : e->m;
    for (int j = 0; j < e->n; j++)
        memset((char *)e->val_out + (size_t)j * (size_t)e->ld * size, 0, (size_t)e->m * size);
    for (int i = 0; i < lines; i++)
        for (int k = e->ptr[i] - e->base; k < e->ptr[i + 1] - e->base; k++) {
            int j = e->ind[k] - e->base;
            size_t to = e->columns ? (size_t)i * (size_t)e->ld + (size_t)j : (size_t)j * (size_t)e->ld + (size_t)i;
            memcpy((char *)e->val_out + to * size, (const char *)e->a + (size_t)k * size, size);
        }
}

static musparseStatus_t check(musparseHandle_t h, int m, int n, musparseConstMatDescr_t d, int ld)
{
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && ld >= m);
    DESCRIBED(d);
    return MUSPARSE_STATUS_SUCCESS;
}

#define START(m_, n_, ld_) \
    musparseStatus_t r = check(h, m_, n_, d, ld_); \
    if (r) \
    return r

#define ELEMENTS(X, T, W) \
    musparseStatus_t musparse##X##nnz(musparseHandle_t h, musparseDirection_t dir, int m, int n, \
                                      musparseConstMatDescr_t d, const T *a, int lda, int *counts, int *total) \
    { \
        START(m, n, lda); \
        VALUES(dir == MUSPARSE_DIRECTION_ROW || dir == MUSPARSE_DIRECTION_COLUMN); \
        POINTERS(counts &&total && (a || !m || !n)); \
        struct elements e = { \
            .m = m, .n = n, .ld = lda, .dir = dir, .work = W, .a = a, .counts = counts, .total = total}; \
        return musparse_submit_result(h, run_nnz, &e, sizeof e, 1e9); \
    } \
    musparseStatus_t musparse##X##dense2csr(musparseHandle_t h, int m, int n, musparseConstMatDescr_t d, const T *a, \
                                            int lda, const int *counts, T *val, int *ptr, int *ind) \
    { \
        START(m, n, lda); \
        POINTERS(counts &&val &&ptr &&ind && (a || !m || !n)); \
        struct elements e = {.m = m, \
                             .n = n, \
                             .ld = lda, \
                             .work = W, \
                             .base = d->base, \
                             .a = a, \
                             .ptr_out = ptr, \
                             .ind_out = ind, \
                             .val_out = val}; \
        return musparse_submit(h, run_to_sparse, &e, sizeof e, (double)m * n * 8); \
    } \
    musparseStatus_t musparse##X##dense2csc(musparseHandle_t h, int m, int n, musparseConstMatDescr_t d, const T *a, \
                                            int lda, const int *counts, T *val, int *ind, int *ptr) \
    { \
        START(m, n, lda); \
        POINTERS(counts &&val &&ptr &&ind && (a || !m || !n)); \
        struct elements e = {.m = m, \
                             .n = n, \
                             .ld = lda, \
                             .work = W, \
                             .base = d->base, \
                             .a = a, \
                             .ptr_out = ptr, \
                             .ind_out = ind, \
                             .val_out = val, \
                             .columns = true}; \
        return musparse_submit(h, run_to_sparse, &e, sizeof e, (double)m * n * 8); \
    } \
    musparseStatus_t musparse##X##csr2dense(musparseHandle_t h, int m, int n, musparseConstMatDescr_t d, const T *val, \
                                            const int *ptr, const int *ind, T *a, int lda) \
    { \
        START(m, n, lda); \
        POINTERS(val &&ptr &&ind && (a || !m || !n)); \
        struct elements e = { \
            .m = m, .n = n, .ld = lda, .work = W, .base = d->base, .a = val, .ptr = ptr, .ind = ind, .val_out = a}; \
        return musparse_submit(h, run_to_dense, &e, sizeof e, (double)m * n * 8); \
    } \
    musparseStatus_t musparse##X##csc2dense(musparseHandle_t h, int m, int n, musparseConstMatDescr_t d, const T *val, \
                                            const int *ind, const int *ptr, T *a, int lda) \
    { \
        START(m, n, lda); \
        POINTERS(val &&ptr &&ind && (a || !m || !n)); \
        struct elements e = {.m = m, \
                             .n = n, \
                             .ld = lda, \
                             .work = W, \
                             .base = d->base, \
                             .a = val, \
                             .ptr = ptr, \
                             .ind = ind, \
                             .val_out = a, \
                             .columns = true}; \
        return musparse_submit(h, run_to_dense, &e, sizeof e, (double)m * n * 8); \
    }
FOUR(ELEMENTS)

/* Tolerances are of the element's type; of a complex one the real part counts. */
static double real_part(const void *value, int work)
{
    double complex v = 0;
    musparse_widen(&v, Z, value, work_type(work), 1);
    return creal(v);
}
#define COMPRESS(X, T, W, P) \
    musparseStatus_t musparse##X##nnz_compress(musparseHandle_t h, int m, musparseConstMatDescr_t d, const T *val, \
                                               const int *ptr, int *counts, int *total, P tol) \
    { \
        START(m, 0, m); \
        POINTERS(ptr &&counts &&total); \
        struct elements e = {.m = m, \
                             .work = W, \
                             .base = d->base, \
                             .a = val, \
                             .ptr = ptr, \
                             .counts = counts, \
                             .total = total, \
                             .tolerance = real_part(&tol, W)}; \
        VALUES(e.tolerance >= 0); \
        return musparse_submit_result(h, run_nnz_compress, &e, sizeof e, 1e9); \
    } \
    musparseStatus_t musparse##X##csr2csr_compress(musparseHandle_t h, int m, int n, musparseConstMatDescr_t d, \
                                                   const T *val, const int *ind, const int *ptr, int nnz, \
                                                   const int *counts, T *valc, int *indc, int *ptrc, P tol) \
    { \
        START(m, n, m); \
        SIZES(nnz >= 0); \
        POINTERS(ptr &&counts &&ptrc && (!nnz || (val && ind && valc && indc))); \
        struct elements e = {.m = m, \
                             .work = W, \
                             .base = d->base, \
                             .a = val, \
                             .ptr = ptr, \
                             .ind = ind, \
                             .ptr_out = ptrc, \
                             .ind_out = indc, \
                             .val_out = valc, \
                             .tolerance = real_part(&tol, W)}; \
        VALUES(e.tolerance >= 0); \
        return musparse_submit(h, run_compress, &e, sizeof e, (double)nnz * 8); \
    }
COMPRESS(S, float, S, float)
COMPRESS(D, double, D, double)
COMPRESS(C, muComplex, C, struct cumu_f8)
COMPRESS(Z, muDoubleComplex, Z, struct cumu_f16)
