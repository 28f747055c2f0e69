/* cuSPARSE's products on muSPARSE: SpMV by the SDK's form of it, SpMM with its stages, SDDMM; conversions with dense
 * matrices. */
#include "api/cusparse/spmat.h"
#include "core/resolve.h"

/* SDK 3.1's SpMV has one argument more: with no buffer it writes the size there. */
typedef int one_call_spmv(void *h, int op, const void *alpha, const void *a, const void *x, const void *beta, void *y,
                          int compute, int alg, size_t *size, void *buffer);

/* Which form is there does not change while the process lives. */
static bool two_calls(void)
{
    static _Atomic signed char known;
    if (!known)
        known = cumu_mu_has("musparseSpMV_bufferSize") ? 1 : -1;
    return known > 0;
}
static one_call_spmv *one_call(void)
{
    union {
        __typeof__(mu.musparseSpMV) two;
        one_call_spmv *one;
    } u = {mu.musparseSpMV};
    return u.one;
}

static int bsr_spmv(void *h, int op, const void *alpha, const struct cumu_spmat *a, const void *x, const void *beta,
                    void *y, int compute);

int wrap_cusparseSpMV_bufferSize(void *h, int op, const void *alpha, const void *descr, const void *x,
                                 const void *beta, void *y, int compute, int alg, void *size)
{
    const struct cumu_spmat *a = descr;
    CUSPARSE_CHECK(a);
    if (a->format == CUSPARSE_FORMAT_BSR) {
        CUSPARSE_CHECK(size);
        *(size_t *)size = 0;
        return CUSPARSE_STATUS_SUCCESS;
    }
    CUSPARSE_OWN(a, "cusparseSpMV");
    int mop = cumu_cusparse_op(op), malg = cumu_cusparseSpMVAlg_t_to_musa(alg);
    if (!two_calls())
        return CUSPARSE(one_call()(h, mop, alpha, a->mu, x, beta, y, compute, malg, size, NULL));
    return CUSPARSE(mu.musparseSpMV_bufferSize(h, mop, alpha, a->mu, x, beta, y, compute, malg, size));
}

int wrap_cusparseSpMV(void *h, int op, const void *alpha, const void *descr, const void *x, const void *beta, void *y,
                      int compute, int alg, void *buffer)
{
    const struct cumu_spmat *a = descr;
    CUSPARSE_CHECK(a);
    if (a->format == CUSPARSE_FORMAT_BSR)
        return bsr_spmv(h, op, alpha, a, x, beta, y, compute);
    CUSPARSE_OWN(a, "cusparseSpMV");
    int mop = cumu_cusparse_op(op), malg = cumu_cusparseSpMVAlg_t_to_musa(alg);
    if (two_calls())
        return CUSPARSE(mu.musparseSpMV(h, mop, alpha, a->mu, x, beta, y, compute, malg, buffer));
    /* a buffer that is NULL would ask for the size again */
    size_t size = 0;
    return CUSPARSE(one_call()(h, mop, alpha, a->mu, x, beta, y, compute, malg, &size, buffer ? buffer : &size));
}

int wrap_cusparseSpMV_preprocess(void *h, int op, const void *alpha, const void *descr, const void *x,
                                 const void *beta, void *y, int compute, int alg, void *buffer)
{
    size_t size; /* muSPARSE prepares nothing; the arguments are checked as it checks them */
    (void)buffer;
    return wrap_cusparseSpMV_bufferSize(h, op, alpha, descr, x, beta, y, compute, alg, &size);
}

/* One stage of muSPARSE's SpMM. */
static int spmm(void *h, int opa, int opb, const void *alpha, const struct cumu_spmat *a, const void *b,
                const void *beta, void *c, int compute, int alg, int stage, size_t *size, void *buffer)
{
    CUSPARSE_OWN(a, "cusparseSpMM");
    return CUSPARSE(mu.musparseSpMM(h, cumu_cusparse_op(opa), cumu_cusparse_op(opb), alpha, a->mu, b, beta, c, compute,
                                    cumu_cusparseSpMMAlg_t_to_musa(alg), stage, size, buffer));
}

int wrap_cusparseSpMM_bufferSize(void *h, int opa, int opb, const void *alpha, const void *a, const void *b,
                                 const void *beta, void *c, int compute, int alg, void *size)
{
    return spmm(h, opa, opb, alpha, a, b, beta, c, compute, alg, MUSPARSE_SPMM_STAGE_BUFFER_SIZE, size, NULL);
}

int wrap_cusparseSpMM_preprocess(void *h, int opa, int opb, const void *alpha, const void *a, const void *b,
                                 const void *beta, void *c, int compute, int alg, void *buffer)
{
    size_t size = 0;
    return spmm(h, opa, opb, alpha, a, b, beta, c, compute, alg, MUSPARSE_SPMM_STAGE_PREPROCESS, &size, buffer);
}

int wrap_cusparseSpMM(void *h, int opa, int opb, const void *alpha, const void *a, const void *b, const void *beta,
                      void *c, int compute, int alg, void *buffer)
{
    size_t size = 0;
    return spmm(h, opa, opb, alpha, a, b, beta, c, compute, alg, MUSPARSE_SPMM_STAGE_COMPUTE, &size, buffer);
}

/* SDDMM and the conversions have one form on both sides. */
#define SDDMM(name, last) \
    int wrap_cusparse##name(void *h, int opa, int opb, const void *alpha, const void *a, const void *b, \
                            const void *beta, void *descr, int compute, int alg, void *last) \
    { \
        const struct cumu_spmat *c = descr; \
        CUSPARSE_OWN(c, #name); \
        return CUSPARSE(mu.musparse##name(h, cumu_cusparse_op(opa), cumu_cusparse_op(opb), alpha, a, b, beta, c->mu, \
                                          compute, alg, last)); \
    }
SDDMM(SDDMM_bufferSize, size)
SDDMM(SDDMM_preprocess, buffer)
SDDMM(SDDMM, buffer)

/* CUDA 11's first name of SDDMM, without an algorithm. */
int wrap_cusparseConstrainedGeMM(void *h, int opa, int opb, const void *alpha, void *a, void *b, const void *beta,
                                 void *c, int compute, void *buffer)
{
    return wrap_cusparseSDDMM(h, opa, opb, alpha, a, b, beta, c, compute, CUSPARSE_SDDMM_ALG_DEFAULT, buffer);
}

int wrap_cusparseConstrainedGeMM_bufferSize(void *h, int opa, int opb, const void *alpha, void *a, void *b,
                                            const void *beta, void *c, int compute, void *size)
{
    return wrap_cusparseSDDMM_bufferSize(h, opa, opb, alpha, a, b, beta, c, compute, CUSPARSE_SDDMM_ALG_DEFAULT, size);
}

#define CONVERT(name, first, sparse, last) \
    int wrap_cusparse##name(void *h, const void *a, void *b, int alg, void *last) \
    { \
        const struct cumu_spmat *m = sparse; \
        CUSPARSE_OWN(m, #name); \
        return CUSPARSE(mu.musparse##name(h, first, alg, last)); \
    }
#define FROM_SPARSE m->mu, b
#define TO_SPARSE a, m->mu
CONVERT(SparseToDense_bufferSize, FROM_SPARSE, a, size)
CONVERT(SparseToDense, FROM_SPARSE, a, buffer)
CONVERT(DenseToSparse_bufferSize, TO_SPARSE, b, size)
CONVERT(DenseToSparse_analysis, TO_SPARSE, b, buffer)
CONVERT(DenseToSparse_convert, TO_SPARSE, b, buffer)

/* A BSR matrix goes to the legacy product, which takes square blocks, 32-bit indices and one type. */
static int bsr_spmv(void *h, int op, const void *alpha, const struct cumu_spmat *a, const void *x, const void *beta,
                    void *y, int compute)
{
    int64_t xn, yn;
    void *xv, *yv;
    int xtype, ytype;
    int r = CUSPARSE(mu.musparseDnVecGet(x, &xn, &xv, &xtype));
    r = r ? r : CUSPARSE(mu.musparseDnVecGet(y, &yn, &yv, &ytype));
    if (r)
        return r;
    CUSPARSE_CHECK(xn == a->cols && yn == a->rows);
    int64_t block = a->block_rows, blocks = a->nnz / (block * a->block_cols);
    if (block != a->block_cols || a->offsets_type != CUSPARSE_INDEX_32I || a->index_type != CUSPARSE_INDEX_32I ||
        op != CUSPARSE_OPERATION_NON_TRANSPOSE || xtype != a->type || ytype != a->type || compute != a->type ||
        a->rows > INT32_MAX || a->cols > INT32_MAX || blocks > INT32_MAX)
        return cumu_cusparse_format(a, "cusparseSpMV");
    musparseMatDescr_t descr;
    r = CUSPARSE(mu.musparseCreateMatDescr(&descr));
    if (r)
        return r;
    mu.musparseSetMatIndexBase(descr, a->base);
    int dir = a->order == CUSPARSE_ORDER_ROW ? MUSPARSE_DIRECTION_ROW : MUSPARSE_DIRECTION_COLUMN;
#define BSRMV(X) \
    mu.musparse##X##bsrmv(h, dir, MUSPARSE_OPERATION_NON_TRANSPOSE, (int)(a->rows / block), (int)(a->cols / block), \
                          (int)blocks, alpha, descr, a->values, a->offsets, a->indices, (int)block, xv, beta, yv)
    switch (compute) {
    case CUDA_R_32F: r = CUSPARSE(BSRMV(S)); break;
    case CUDA_R_64F: r = CUSPARSE(BSRMV(D)); break;
    case CUDA_C_32F: r = CUSPARSE(BSRMV(C)); break;
    case CUDA_C_64F: r = CUSPARSE(BSRMV(Z)); break;
    default: r = cumu_cusparse_format(a, "cusparseSpMV");
    }
    mu.musparseDestroyMatDescr(descr);
    return r;
}
