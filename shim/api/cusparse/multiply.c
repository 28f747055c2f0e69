/* cuSPARSE's products on muSPARSE: SpMV by the SDK's form of it, SpMM with its stages, SDDMM; conversions with dense
 * matrices. */
#include "api/cusparse/rows.h"
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

/* A dense operand by columns; a vector is one. */
struct columns {
    int64_t rows, cols, ld;
    void *values;
    int type;
};
static bool vector(const void *descr, struct columns *c)
{
    c->cols = 1;
    if (mu.musparseDnVecGet(descr, &c->rows, &c->values, &c->type))
        return false;
    c->ld = c->rows ? c->rows : 1;
    return true;
}
static bool by_columns(const void *descr, struct columns *c)
{
    int order, batch;
    int64_t stride;
    return !mu.musparseDnMatGet(descr, &c->rows, &c->cols, &c->ld, &c->values, &c->type, &order) &&
           order == MUSPARSE_ORDER_COLUMN && !mu.musparseDnMatGetStridedBatch(descr, &batch, &stride) && batch == 1;
}

/* The legacy product takes BSR as it is, if its blocks are square, its indices of 32 bits and all of one type. */
static bool legacy(const struct cumu_spmat *a, int opa, int opb, const struct columns *b, const struct columns *c,
                   int compute)
{
    int64_t block = a->block_rows;
    bool flip = opb != CUSPARSE_OPERATION_NON_TRANSPOSE;
    return a->format == CUSPARSE_FORMAT_BSR && block == a->block_cols && a->batch == 1 &&
           a->offsets_type == CUSPARSE_INDEX_32I && a->index_type == CUSPARSE_INDEX_32I &&
           opa == CUSPARSE_OPERATION_NON_TRANSPOSE && b->type == a->type && c->type == a->type && compute == a->type &&
           c->rows == a->rows && (flip ? b->cols : b->rows) == a->cols && (flip ? b->rows : b->cols) == c->cols &&
           a->rows <= INT32_MAX && a->cols <= INT32_MAX && a->nnz / (block * block) <= INT32_MAX &&
           b->ld <= INT32_MAX && c->ld <= INT32_MAX && c->cols <= INT32_MAX;
}
static int bsrmm(void *h, int opb, const void *alpha, const struct cumu_spmat *a, const struct columns *b,
                 const void *beta, const struct columns *c)
{
    musparseMatDescr_t descr;
    int r = CUSPARSE(mu.musparseCreateMatDescr(&descr));
    if (r)
        return r;
    mu.musparseSetMatIndexBase(descr, a->base);
    int dir = a->order == CUSPARSE_ORDER_ROW ? MUSPARSE_DIRECTION_ROW : MUSPARSE_DIRECTION_COLUMN;
    int64_t block = a->block_rows;
#define BSRMM(X) \
    mu.musparse##X##bsrmm(h, dir, MUSPARSE_OPERATION_NON_TRANSPOSE, cumu_cusparse_op(opb), (int)(a->rows / block), \
                          (int)c->cols, (int)(a->cols / block), (int)(a->nnz / (block * block)), alpha, descr, \
                          a->values, a->offsets, a->indices, (int)block, b->values, (int)b->ld, beta, c->values, \
                          (int)c->ld)
    switch (a->type) {
    case CUDA_R_32F: r = CUSPARSE(BSRMM(S)); break;
    case CUDA_R_64F: r = CUSPARSE(BSRMM(D)); break;
    case CUDA_C_32F: r = CUSPARSE(BSRMM(C)); break;
    case CUDA_C_64F: r = CUSPARSE(BSRMM(Z)); break;
    default: r = CUSPARSE_STATUS_NOT_SUPPORTED;
    }
    mu.musparseDestroyMatDescr(descr);
    return r;
}
static bool plain(int type)
{
    return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F || type == CUDA_C_64F;
}

/* One call of the SDK's SpMV: with `size` the query, else the product. */
static int spmv(void *h, int op, const void *alpha, const struct cumu_spmat *a, const void *x, const void *beta,
                void *y, int compute, int alg, size_t *size, void *buffer)
{
    struct cumu_view v;
    int r = cumu_cusparse_view(h, a, "cusparseSpMV", CUSPARSE_BSR | CUSPARSE_SELL, &v);
    if (r)
        return r;
    int mop = cumu_cusparse_op(op), malg = cumu_cusparseSpMVAlg_t_to_musa(alg);
    size_t unread = 0;
    if (!two_calls()) /* there a buffer that is NULL asks for the size */
        r = one_call()(h, mop, alpha, v.mu, x, beta, y, compute, malg, size ? size : &unread,
                       size     ? NULL
                       : buffer ? buffer
                                : &unread);
    else if (size)
        r = mu.musparseSpMV_bufferSize(h, mop, alpha, v.mu, x, beta, y, compute, malg, size);
    else
        r = mu.musparseSpMV(h, mop, alpha, v.mu, x, beta, y, compute, malg, buffer);
    return cumu_cusparse_viewed(h, &v, CUSPARSE(r));
}

int wrap_cusparseSpMV_bufferSize(void *h, int op, const void *alpha, const void *a, const void *x, const void *beta,
                                 void *y, int compute, int alg, void *size)
{
    CUSPARSE_CHECK(size);
    return spmv(h, op, alpha, a, x, beta, y, compute, alg, size, NULL);
}

int wrap_cusparseSpMV(void *h, int op, const void *alpha, const void *descr, const void *x, const void *beta, void *y,
                      int compute, int alg, void *buffer)
{
    const struct cumu_spmat *a = descr;
    struct columns b, c;
    CUSPARSE_CHECK(a);
    if (!a->mu && plain(a->type) && vector(x, &b) && vector(y, &c) && legacy(a, op, 0, &b, &c, compute))
        return bsrmm(h, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, &b, beta, &c);
    return spmv(h, op, alpha, a, x, beta, y, compute, alg, NULL, buffer);
}

int wrap_cusparseSpMV_preprocess(void *h, int op, const void *alpha, const void *a, const void *x, const void *beta,
                                 void *y, int compute, int alg, void *buffer)
{
    size_t size; /* muSPARSE prepares nothing; the arguments are checked as it checks them */
    (void)buffer;
    return wrap_cusparseSpMV_bufferSize(h, op, alpha, a, x, beta, y, compute, alg, &size);
}

/* One stage of muSPARSE's SpMM. */
static int spmm(void *h, int opa, int opb, const void *alpha, const struct cumu_spmat *a, const void *b,
                const void *beta, void *c, int compute, int alg, int stage, size_t *size, void *buffer)
{
    struct cumu_view v;
    int r = cumu_cusparse_view(h, a, "cusparseSpMM", CUSPARSE_BSR, &v);
    if (r)
        return r;
    r = CUSPARSE(mu.musparseSpMM(h, cumu_cusparse_op(opa), cumu_cusparse_op(opb), alpha, v.mu, b, beta, c, compute,
                                 cumu_cusparseSpMMAlg_t_to_musa(alg), stage, size, buffer));
    return cumu_cusparse_viewed(h, &v, r);
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

int wrap_cusparseSpMM(void *h, int opa, int opb, const void *alpha, const void *descr, const void *b, const void *beta,
                      void *c, int compute, int alg, void *buffer)
{
    const struct cumu_spmat *a = descr;
    struct columns bc, cc;
    size_t size = 0;
    CUSPARSE_CHECK(a);
    if (!a->mu && plain(a->type) && by_columns(b, &bc) && by_columns(c, &cc) && legacy(a, opa, opb, &bc, &cc, compute))
        return bsrmm(h, opb, alpha, a, &bc, beta, &cc);
    return spmm(h, opa, opb, alpha, a, b, beta, c, compute, alg, MUSPARSE_SPMM_STAGE_COMPUTE, &size, buffer);
}

/* SDDMM and the conversions have one form on both sides. */
#define SDDMM(name, last, result) \
    int wrap_cusparse##name(void *h, int opa, int opb, const void *alpha, const void *a, const void *b, \
                            const void *beta, void *descr, int compute, int alg, void *last) \
    { \
        const struct cumu_spmat *c = descr; \
        struct cumu_view v; \
        int r = cumu_cusparse_view(h, c, "cusparse" #name, CUSPARSE_BSR, &v); \
        if (r) \
            return r; \
        r = CUSPARSE(mu.musparse##name(h, cumu_cusparse_op(opa), cumu_cusparse_op(opb), alpha, a, b, beta, v.mu, \
                                       compute, alg, last)); \
        if (result && !r && v.rows) \
            r = cumu_cusparse_rows_back(h, v.rows, c->values); \
        return cumu_cusparse_viewed(h, &v, r); \
    }
SDDMM(SDDMM_bufferSize, size, false)
SDDMM(SDDMM_preprocess, buffer, false)
SDDMM(SDDMM, buffer, true)

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
        CUSPARSE_OWN(m, "cusparse" #name); \
        return CUSPARSE(mu.musparse##name(h, first, alg, last)); \
    }
#define FROM_SPARSE m->mu, b
#define TO_SPARSE a, m->mu
CONVERT(SparseToDense_bufferSize, FROM_SPARSE, a, size)
CONVERT(SparseToDense, FROM_SPARSE, a, buffer)
CONVERT(DenseToSparse_bufferSize, TO_SPARSE, b, size)
CONVERT(DenseToSparse_analysis, TO_SPARSE, b, buffer)
CONVERT(DenseToSparse_convert, TO_SPARSE, b, buffer)
