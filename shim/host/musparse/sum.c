/* muSPARSE's legacy sums and products with dense operands: csrgeam2, gemvi, gemmi. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/musparse/legacy.h"
#include "host/musparse/spgemm.h"

/* ---- alpha A + beta B: a product of A with one and a matrix that is added, which spgemm.c has */
struct sum {
    struct csr a, b, d;
    bool product, with_d; /* csrgemm2 */
    int work, base;
    struct scalar alpha, beta;
    int *ptr, *ind, *total;
    void *val;
};

/* An identity to multiply with. */
static struct csr identity(int n, int work, void **made)
{
    int *p = *made = maths_alloc(((size_t)n + 1) * sizeof *p + (size_t)n * work_size(work) + 16);
    struct csr one = {.rows = n, .cols = n, .nnz = n, .ptr = p, .ind = p};
    for (int i = 0; p && i <= n; i++)
        p[i] = i;
    size_t at = (((size_t)n + 1) * sizeof *p + 15) / 16 * 16;
    static const double complex unit = 1;
    static const float complex unitf = 1;
    for (size_t i = 0; p && i < (size_t)n; i++)
        memcpy((char *)p + at + i * work_size(work), work == S || work == C ? (const void *)&unitf : &unit,
               work_size(work));
    one.val = p ? (char *)p + at : NULL;
    return one;
}

static void run_sum_count(const void *call)
{
    const struct sum *s = call;
    void *made = NULL;
    struct csr b = s->product ? s->b : identity((int)s->a.cols, s->work, &made);
    const struct csr *d = !s->product ? &s->b : s->with_d ? &s->d : NULL;
    int64_t n = s->product || made ? musparse_count(&s->a, &b, d, s->ptr, s->base, s->work) : -1;
    if (s->total)
        *s->total = (int)n;
    free(made);
}

static void run_sum(const void *call)
{
    const struct sum *s = call;
    void *made = NULL;
    struct csr b = s->product ? s->b : identity((int)s->a.cols, s->work, &made);
    const struct csr *d = !s->product ? &s->b : s->with_d ? &s->d : NULL;
    if (s->product || made)
        musparse_multiply(&s->a, &b, d, s->ptr, s->ind, s->val, s->base, s->work, musparse_read(&s->alpha),
                          musparse_read(&s->beta));
    free(made);
}

static musparseStatus_t check_sum(musparseHandle_t h, int m, int n, musparseConstMatDescr_t da, int nnza,
                                  const int *ptra, const int *inda, musparseConstMatDescr_t db, int nnzb,
                                  const int *ptrb, const int *indb, musparseConstMatDescr_t dc, const int *ptrc)
{
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && nnza >= 0 && nnzb >= 0);
    DESCRIBED(da);
    DESCRIBED(db);
    DESCRIBED(dc);
    POINTERS(ptra && ptrb && ptrc && (!nnza || inda) && (!nnzb || indb));
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseXcsrgeam2Nnz(musparseHandle_t h, int m, int n, musparseConstMatDescr_t da, int nnza,
                                      const int *ptra, const int *inda, musparseConstMatDescr_t db, int nnzb,
                                      const int *ptrb, const int *indb, musparseConstMatDescr_t dc, int *ptrc,
                                      int *total, void *workspace)
{
    musparseStatus_t r = check_sum(h, m, n, da, nnza, ptra, inda, db, nnzb, ptrb, indb, dc, ptrc);
    (void)workspace;
    if (r)
        return r;
    struct sum s = {.a = csr_of(m, n, nnza, da, NULL, ptra, inda),
                    .b = csr_of(m, n, nnzb, db, NULL, ptrb, indb),
                    .base = dc->base,
                    .ptr = ptrc,
                    .total = total};
    return musparse_submit_result(h, run_sum_count, &s, sizeof s, 1e9);
}

#define GEAM(X, T, W) \
    musparseStatus_t musparse##X##csrgeam2_bufferSizeExt( \
        musparseHandle_t h, int m, int n, const T *alpha, musparseConstMatDescr_t da, int nnza, const T *vala, \
        const int *ptra, const int *inda, const T *beta, musparseConstMatDescr_t db, int nnzb, const T *valb, \
        const int *ptrb, const int *indb, musparseConstMatDescr_t dc, const T *valc, const int *ptrc, const int *indc, \
        size_t *size) \
    { \
        (void)alpha, (void)vala, (void)ptra, (void)inda, (void)beta, (void)valb, (void)ptrb, (void)indb; \
        (void)valc, (void)ptrc, (void)indc; \
        LIVE(h); \
        SIZES(m >= 0 && n >= 0 && nnza >= 0 && nnzb >= 0); \
        POINTERS(da &&db &&dc &&size); \
        *size = 16; \
        return MUSPARSE_STATUS_SUCCESS; \
    } \
    musparseStatus_t musparse##X##csrgeam2( \
        musparseHandle_t h, int m, int n, const T *alpha, musparseConstMatDescr_t da, int nnza, const T *vala, \
        const int *ptra, const int *inda, const T *beta, musparseConstMatDescr_t db, int nnzb, const T *valb, \
        const int *ptrb, const int *indb, musparseConstMatDescr_t dc, T *valc, int *ptrc, int *indc, void *buffer) \
    { \
        musparseStatus_t r = check_sum(h, m, n, da, nnza, ptra, inda, db, nnzb, ptrb, indb, dc, ptrc); \
        (void)buffer; \
        if (r) \
            return r; \
        POINTERS(alpha &&beta && (!nnza || vala) && (!nnzb || valb) && (!(nnza + nnzb) || (valc && indc))); \
        struct sum s = {.a = csr_of(m, n, nnza, da, vala, ptra, inda), \
                        .b = csr_of(m, n, nnzb, db, valb, ptrb, indb), \
                        .base = dc->base, \
                        .work = W, \
                        .alpha = musparse_scalar(h, alpha, work_type(W)), \
                        .beta = musparse_scalar(h, beta, work_type(W)), \
                        .ptr = ptrc, \
                        .ind = indc, \
                        .val = valc}; \
        return musparse_submit(h, run_sum, &s, sizeof s, ((double)nnza + nnzb) * 64); \
    }
FOUR(GEAM)

/* ---- a dense matrix with a sparse vector */
struct gemvi {
    int work, rows, cols, nnz, base;
    struct dense a;
    const void *x;
    const int *ind;
    void *y;
    struct scalar alpha, beta;
};

static void run_gemvi(const void *call)
{
    const struct gemvi *g = call;
    /* the vector as a matrix of one row, whose product with the transpose is the row y */
    int ptr[2] = {g->base, g->nnz + g->base};
    struct csr x = {.rows = 1, .cols = g->cols, .nnz = g->nnz, .base = g->base, .ptr = ptr, .ind = g->ind, .val = g->x};
    struct dense at = {
        .rows = g->cols, .cols = g->rows, .rs = g->a.cs, .cs = g->a.rs, .at = g->a.at, .conj = g->a.conj};
    struct dense y = {.rows = 1, .cols = g->rows, .rs = g->rows, .cs = 1, .at = g->y};
    musparse_spmm(&x, g->work, &at, &y, musparse_read(&g->alpha), musparse_read(&g->beta));
}

#define GEMVI(X, T, W) \
    musparseStatus_t musparse##X##gemvi_bufferSize(musparseHandle_t h, OP ta, int m, int n, int nnz, int *size) \
    { \
        LIVE(h); \
        VALUES(op_valid(ta)); \
        SIZES(m >= 0 && n >= 0 && nnz >= 0); \
        POINTERS(size); \
        *size = 16; \
        return MUSPARSE_STATUS_SUCCESS; \
    } \
    musparseStatus_t musparse##X##gemvi(musparseHandle_t h, OP ta, int m, int n, const T *alpha, const T *a, int lda, \
                                        int nnz, const T *x, const int *ind, const T *beta, T *y, \
                                        musparseIndexBase_t base, void *buffer) \
    { \
        (void)buffer; \
        LIVE(h); \
        VALUES(op_valid(ta) && (base == 0 || base == 1)); \
        SIZES(m >= 0 && n >= 0 && nnz >= 0 && lda >= m); \
        POINTERS(alpha &&beta && (!m || !n || (a && y)) && (!nnz || (x && ind))); \
        int rows = is_trans(ta) ? n : m, cols = is_trans(ta) ? m : n; \
        struct gemvi g = {.work = W, \
                          .rows = rows, \
                          .cols = cols, \
                          .nnz = nnz, \
                          .base = base, \
                          .a = dense_of(a, rows, cols, lda, ta), \
                          .x = x, \
                          .ind = ind, \
                          .y = y, \
                          .alpha = musparse_scalar(h, alpha, work_type(W)), \
                          .beta = musparse_scalar(h, beta, work_type(W))}; \
        return musparse_submit(h, run_gemvi, &g, sizeof g, ((double)nnz * rows + rows) * 8); \
    }
FOUR(GEMVI)

/* ---- a dense matrix with a sparse one by columns: of its transpose, which is by rows, the product is transposed */
struct gemmi {
    int work;
    struct csr b;
    struct dense a, c;
    struct scalar alpha, beta;
};
static void run_gemmi(const void *call)
{
    const struct gemmi *g = call;
    musparse_spmm(&g->b, g->work, &g->a, &g->c, musparse_read(&g->alpha), musparse_read(&g->beta));
}

#define GEMMI(X, T, W) \
    musparseStatus_t musparse##X##gemmi(musparseHandle_t h, int m, int n, int k, int nnz, const T *alpha, const T *a, \
                                        int lda, const T *valb, const int *ptrb, const int *indb, const T *beta, T *c, \
                                        int ldc) \
    { \
        LIVE(h); \
        SIZES(m >= 0 && n >= 0 && k >= 0 && nnz >= 0 && lda >= m && ldc >= m); \
        POINTERS(alpha &&beta &&ptrb && (!nnz || (valb && indb && a)) && (!m || !n || c)); \
        struct gemmi g = {.work = W, \
                          .b = {.rows = n, .cols = k, .nnz = nnz, .ptr = ptrb, .ind = indb, .val = valb}, \
                          .a = dense_of(a, k, m, lda, MUSPARSE_OPERATION_TRANSPOSE), \
                          .c = dense_of(c, n, m, ldc, MUSPARSE_OPERATION_TRANSPOSE), \
                          .alpha = musparse_scalar(h, alpha, work_type(W)), \
                          .beta = musparse_scalar(h, beta, work_type(W))}; \
        return musparse_submit(h, run_gemmi, &g, sizeof g, ((double)nnz * m + (double)m * n) * 8); \
    }
FOUR(GEMMI)
