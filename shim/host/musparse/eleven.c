/* muSPARSE's calls that only CUDA 11's programs make: sparse vectors as arrays, products of sparse matrices. */
#include <stdlib.h>
#include <string.h>

#include "host/musparse/legacy.h"
#include "host/musparse/spgemm.h"

/* The vectors as the generic interface has them. How long the dense one is was never said: that of the sparse one is
 * taken, since nothing is done to the elements that the indices do not name. */
#define VECTORS(nnz, xval, xind, y, base, W) \
    LIVE(h); \
    SIZES(nnz >= 0); \
    POINTERS(!nnz || (xval && xind && y)); \
    VALUES(base == 0 || base == 1); \
    struct musparse_spvec sv = { \
        nnz, nnz, (void *)(uintptr_t)xind, (void *)(uintptr_t)xval, MUSPARSE_INDEX_32I, base, work_type(W)}; \
    struct musparse_dnvec dv = {nnz, (void *)(uintptr_t)y, work_type(W)}

struct clearing {
    int nnz, base;
    const int *ind;
    char *y;
    size_t size;
};
static void run_clear(const void *call)
{
    const struct clearing *c = call;
    for (int k = 0; k < c->nnz; k++)
        memset(c->y + (size_t)(c->ind[k] - c->base) * c->size, 0, c->size);
}

static const float onef[2] = {1, 0};
static const double one[2] = {1, 0};

#define ARRAYS(X, T, W) \
    musparseStatus_t musparse##X##axpyi(musparseHandle_t h, int nnz, const T *alpha, const T *x, const int *ind, T *y, \
                                        musparseIndexBase_t base) \
    { \
        VECTORS(nnz, x, ind, y, base, W); \
        return musparseAxpby(h, alpha, &sv, W == S || W == C ? (const void *)onef : one, &dv); \
    } \
    musparseStatus_t musparse##X##gthr(musparseHandle_t h, int nnz, const T *y, T *x, const int *ind, \
                                       musparseIndexBase_t base) \
    { \
        VECTORS(nnz, x, ind, y, base, W); \
        return musparseGather(h, &dv, &sv); \
    } \
    musparseStatus_t musparse##X##gthrz(musparseHandle_t h, int nnz, T *y, T *x, const int *ind, \
                                        musparseIndexBase_t base) \
    { \
        VECTORS(nnz, x, ind, y, base, W); \
        struct clearing c = {nnz, base, ind, (char *)y, work_size(W)}; \
        musparseStatus_t r = musparseGather(h, &dv, &sv); \
        return r ? r : musparse_submit(h, run_clear, &c, sizeof c, (double)nnz * 8); \
    } \
    musparseStatus_t musparse##X##sctr(musparseHandle_t h, int nnz, const T *x, const int *ind, T *y, \
                                       musparseIndexBase_t base) \
    { \
        VECTORS(nnz, x, ind, y, base, W); \
        return musparseScatter(h, &sv, &dv); \
    }
FOUR(ARRAYS)

#define ROTI(X, T, W) \
    musparseStatus_t musparse##X##roti(musparseHandle_t h, int nnz, T *x, const int *ind, T *y, const T *c, \
                                       const T *s, musparseIndexBase_t base) \
    { \
        VECTORS(nnz, x, ind, y, base, W); \
        return musparseRot(h, c, s, &sv, &dv); \
    }
ROTI(S, float, S)
ROTI(D, double, D)

/* ---- alpha A B + beta D */
struct gemm2 {
    struct csr a, b, d;
    bool sum; /* D is added */
    int work, base;
    struct scalar alpha, beta;
    int *ptr, *ind, *total;
    void *val;
};

static void run_count2(const void *call)
{
    const struct gemm2 *g = call;
    *g->total = (int)musparse_count(&g->a, &g->b, g->sum ? &g->d : NULL, g->ptr, g->base, g->work);
}
static void run_gemm2(const void *call)
{
    const struct gemm2 *g = call;
    musparse_multiply(&g->a, &g->b, g->sum ? &g->d : NULL, g->ptr, g->ind, g->val, g->base, g->work,
                      musparse_read(&g->alpha), g->sum ? musparse_read(&g->beta) : 0);
}

static musparseStatus_t check_gemm2(musparseHandle_t h, int m, int n, int k, musparseConstMatDescr_t da, int nnza,
                                    const int *ptra, const int *inda, musparseConstMatDescr_t db, int nnzb,
                                    const int *ptrb, const int *indb)
{
    LIVE(h);
    SIZES(m >= 0 && n >= 0 && k >= 0 && nnza >= 0 && nnzb >= 0);
    DESCRIBED(da);
    DESCRIBED(db);
    POINTERS(ptra && ptrb && (!nnza || inda) && (!nnzb || indb));
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseXcsrgemm2Nnz(musparseHandle_t h, int m, int n, int k, musparseConstMatDescr_t da, int nnza,
                                      const int *ptra, const int *inda, musparseConstMatDescr_t db, int nnzb,
                                      const int *ptrb, const int *indb, musparseConstMatDescr_t dd, int nnzd,
                                      const int *ptrd, const int *indd, musparseConstMatDescr_t dc, int *ptrc,
                                      int *total, musparseConstInfo_t info, void *buffer)
{
    musparseStatus_t r = check_gemm2(h, m, n, k, da, nnza, ptra, inda, db, nnzb, ptrb, indb);
    (void)buffer;
    if (r)
        return r;
    DESCRIBED(dc);
    POINTERS(ptrc && total && info);
    struct gemm2 g = {.a = csr_of(m, k, nnza, da, NULL, ptra, inda),
                      .b = csr_of(k, n, nnzb, db, NULL, ptrb, indb),
                      .sum = dd && ptrd,
                      .base = dc->base,
                      .ptr = ptrc,
                      .total = total};
    if (g.sum)
        g.d = csr_of(m, n, nnzd, dd, NULL, ptrd, indd);
    return musparse_submit_result(h, run_count2, &g, sizeof g, 1e9);
}

#define GEMM2(X, T, W) \
    musparseStatus_t musparse##X##csrgemm2_bufferSizeExt( \
        musparseHandle_t h, int m, int n, int k, const T *alpha, musparseConstMatDescr_t da, int nnza, \
        const int *ptra, const int *inda, musparseConstMatDescr_t db, int nnzb, const int *ptrb, const int *indb, \
        const T *beta, musparseConstMatDescr_t dd, int nnzd, const int *ptrd, const int *indd, musparseInfo_t info, \
        size_t *size) \
    { \
        (void)beta, (void)dd, (void)nnzd, (void)ptrd, (void)indd; \
        musparseStatus_t r = check_gemm2(h, m, n, k, da, nnza, ptra, inda, db, nnzb, ptrb, indb); \
        if (r) \
            return r; \
        CHECK(alpha, NOT_IMPLEMENTED); \
        POINTERS(info &&size); \
        *size = 16; \
        return r; \
    } \
    musparseStatus_t musparse##X##csrgemm2( \
        musparseHandle_t h, int m, int n, int k, const T *alpha, musparseConstMatDescr_t da, int nnza, const T *vala, \
        const int *ptra, const int *inda, musparseConstMatDescr_t db, int nnzb, const T *valb, const int *ptrb, \
        const int *indb, const T *beta, musparseConstMatDescr_t dd, int nnzd, const T *vald, const int *ptrd, \
        const int *indd, musparseConstMatDescr_t dc, T *valc, const int *ptrc, int *indc, musparseConstInfo_t info, \
        void *buffer) \
    { \
        (void)buffer; \
        musparseStatus_t r = check_gemm2(h, m, n, k, da, nnza, ptra, inda, db, nnzb, ptrb, indb); \
        if (r) \
            return r; \
        CHECK(alpha, NOT_IMPLEMENTED); \
        DESCRIBED(dc); \
        POINTERS(info &&ptrc && (!nnza || vala) && (!nnzb || valb) && (!beta || !nnzd || vald)); \
        struct gemm2 g = {.a = csr_of(m, k, nnza, da, vala, ptra, inda), \
                          .b = csr_of(k, n, nnzb, db, valb, ptrb, indb), \
                          .sum = beta && dd && ptrd, \
                          .base = dc->base, \
                          .work = W, \
                          .alpha = musparse_scalar(h, alpha, work_type(W)), \
                          .ptr = (int *)(uintptr_t)ptrc, \
                          .ind = indc, \
                          .val = valc}; \
        if (g.sum) { \
            g.d = csr_of(m, n, nnzd, dd, vald, ptrd, indd); \
            g.beta = musparse_scalar(h, beta, work_type(W)); \
        } \
        return musparse_submit(h, run_gemm2, &g, sizeof g, ((double)nnza + nnzb + nnzd) * 64); \
    }
FOUR(GEMM2)

/* ---- SpMV with the arrays of a matrix, each type said */
#define CSRMV \
    musparseAlgMode_t alg, OP op, int m, int n, int nnz, const void *alpha, int alphatype, musparseConstMatDescr_t d, \
        const void *val, int valtype, const int *ptr, const int *ind, const void *x, int xtype, const void *beta, \
        int betatype, void *y, int ytype, int compute

static musparseStatus_t csrmv(musparseHandle_t h, CSRMV, size_t *size, void *buffer)
{
    LIVE(h);
    VALUES(alg == MUSPARSE_ALG_MERGE_PATH && op_valid(op));
    SIZES(m >= 0 && n >= 0 && nnz >= 0);
    DESCRIBED(d);
    POINTERS(ptr && (!nnz || (val && ind)));
    CHECK(op == MUSPARSE_OPERATION_NON_TRANSPOSE && alphatype == compute && betatype == compute, NOT_IMPLEMENTED);
    struct musparse_spmat a = {.format = CSR,
                               .rows = m,
                               .cols = n,
                               .nnz = nnz,
                               .offsets = (void *)(uintptr_t)ptr,
                               .indices = (void *)(uintptr_t)ind,
                               .values = (void *)(uintptr_t)val,
                               .otype = MUSPARSE_INDEX_32I,
                               .itype = MUSPARSE_INDEX_32I,
                               .base = d->base,
                               .type = valtype,
                               .batch = 1};
    struct musparse_dnvec xv = {n, (void *)(uintptr_t)x, xtype}, yv = {m, y, ytype};
    return size ? musparseSpMV_bufferSize(h, op, alpha, &a, &xv, beta, &yv, compute, 0, size)
                : musparseSpMV(h, op, alpha, &a, &xv, beta, &yv, compute, 0, buffer);
}
#define ARGUMENTS \
    alg, op, m, n, nnz, alpha, alphatype, d, val, valtype, ptr, ind, x, xtype, beta, betatype, y, ytype, compute
musparseStatus_t musparseCsrmvEx_bufferSize(musparseHandle_t h, CSRMV, size_t *size)
{
    POINTERS(size);
    return csrmv(h, ARGUMENTS, size, NULL);
}
musparseStatus_t musparseCsrmvEx(musparseHandle_t h, CSRMV, void *buffer) { return csrmv(h, ARGUMENTS, NULL, buffer); }
