/* muSPARSE's legacy factorisations and triangular solves of matrices of blocks: bsrilu02, bsric02, bsrsv2, bsrsm2. The
 * rows of their elements are factorised and solved as CSR's are: the same, block by block or row by row. */
#include "host/musparse/blocks.h"

struct block_factor {
    struct blocks a;
    musparseInfo_t info;
    bool cholesky, upper, unit, trans, conj;
    struct scalar alpha;
    struct dense x, y;
};

/* The first row of blocks without a diagonal one. */
static void run_analysis(const void *call)
{
    const struct block_factor *f = call;
    const struct blocks *b = &f->a;
    f->info->structural = f->info->numeric = -1;
    for (int i = 0; i < b->mb && !f->unit; i++) {
        bool there = false;
        for (int k = b->ptr[i] - b->base; k < b->ptr[i + 1] - b->base; k++)
            there |= b->ind[k] - b->base == i;
        if (!there) {
            f->info->structural = i + b->base;
            return;
        }
    }
}

static void run_factor(const void *call)
{
    const struct block_factor *f = call;
    struct csr rows;
    if (musparse_open_blocks(&rows, &f->a)) {
        musparse_factorise(&rows, f->a.work, f->cholesky, f->info);
        if (f->info->numeric >= 0)
            f->info->numeric = f->info->numeric / f->a.high + f->a.base;
        musparse_close_blocks(&f->a, &rows);
    }
    musparse_csr_free(&rows);
}

static void run_solve(const void *call)
{
    const struct block_factor *f = call;
    struct csr rows;
    f->info->numeric = -1;
    if (musparse_open_blocks(&rows, &f->a)) {
        rows.trans = f->trans;
        rows.conj = f->conj;
        int zero = f->unit ? -1 : musparse_zero_diagonal(&rows, f->a.work);
        if (zero >= 0)
            f->info->numeric = zero / f->a.high + f->a.base;
        musparse_fill(&f->y, &f->x, f->a.work, musparse_read(&f->alpha));
        musparse_solve(&rows, f->a.work, f->upper, f->unit, &f->y);
        if (f->y.conj) /* what was found is op() of what the caller gets */
            musparse_fill(&f->y, &f->y, f->a.work, 1);
    }
    musparse_csr_free(&rows);
}

static musparseStatus_t check(musparseHandle_t h, const struct blocks *b, musparseConstMatDescr_t d,
                              musparseConstInfo_t info)
{
    LIVE(h);
    VALUES(b->dir == MUSPARSE_DIRECTION_ROW || b->dir == MUSPARSE_DIRECTION_COLUMN);
    SIZES(b->mb >= 0 && b->nnzb >= 0 && b->high > 0);
    VALUES(d->type == MUSPARSE_MATRIX_TYPE_GENERAL || d->type == MUSPARSE_MATRIX_TYPE_TRIANGULAR);
    POINTERS(info && b->ptr && (!b->nnzb || (b->val && b->ind)));
    return MUSPARSE_STATUS_SUCCESS;
}

static musparseStatus_t size_of(musparseHandle_t h, const struct blocks *b, musparseConstMatDescr_t d,
                                musparseConstInfo_t info, int *size)
{
    musparseStatus_t r = check(h, b, d, info);
    if (r)
        return r;
    POINTERS(size);
    *size = 16;
    return r;
}

static musparseStatus_t analyse(musparseHandle_t h, const struct blocks *b, musparseConstMatDescr_t d,
                                musparseInfo_t info, int policy, bool unit)
{
    musparseStatus_t r = check(h, b, d, info);
    if (r)
        return r;
    VALUES(policy == MUSPARSE_SOLVE_POLICY_AUTO);
    struct block_factor f = {.a = *b, .info = info, .unit = unit};
    return musparse_submit(h, run_analysis, &f, sizeof f, (double)b->nnzb * 8);
}

static musparseStatus_t factorise(musparseHandle_t h, const struct blocks *b, musparseConstMatDescr_t d,
                                  musparseInfo_t info, int policy, bool cholesky)
{
    musparseStatus_t r = check(h, b, d, info);
    if (r)
        return r;
    VALUES(policy == MUSPARSE_SOLVE_POLICY_AUTO);
    struct block_factor f = {.a = *b, .info = info, .cholesky = cholesky};
    return musparse_submit(h, run_factor, &f, sizeof f, (double)b->nnzb * b->high * b->wide * 100);
}

static musparseStatus_t solve(musparseHandle_t h, const struct blocks *b, musparseConstMatDescr_t d,
                              musparseInfo_t info, int op, const void *alpha, const struct dense *x,
                              const struct dense *y, int policy)
{
    musparseStatus_t r = check(h, b, d, info);
    if (r)
        return r;
    VALUES(op_valid(op) && policy == MUSPARSE_SOLVE_POLICY_AUTO);
    POINTERS(alpha && (!b->mb || !y->cols || (x->at && y->at)));
    struct block_factor f = {.a = *b,
                             .info = info,
                             .upper = d->fill == MUSPARSE_FILL_MODE_UPPER,
                             .unit = d->diag == MUSPARSE_DIAG_TYPE_UNIT,
                             .trans = is_trans(op),
                             .conj = is_conj(op),
                             .alpha = musparse_scalar(h, alpha, work_type(b->work)),
                             .x = *x,
                             .y = *y};
    return musparse_submit(h, run_solve, &f, sizeof f, (double)b->nnzb * b->high * b->wide * 8 * (double)(y->cols + 1));
}

/* The matrix, from the arguments that all calls name so. */
#define SQUARE(W) \
    POINTERS(d); \
    struct blocks b = BLOCKS_OF(mb, mb, nnzb, dir, block, block, W, d, val, ptr, ind)
#define MATRIX(Q, T) \
    int mb, int nnzb, musparseConstMatDescr_t d, Q T *val, const int *ptr, const int *ind, int block, \
        musparseInfo_t info

#define FACTOR(X, T, W, name, Q, is_cholesky) \
    musparseStatus_t musparse##X##name##_bufferSize(musparseHandle_t h, musparseDirection_t dir, MATRIX(, T), \
                                                    int *size) \
    { \
        SQUARE(W); \
        return size_of(h, &b, d, info, size); \
    } \
    musparseStatus_t musparse##X##name##_analysis(musparseHandle_t h, musparseDirection_t dir, MATRIX(Q, T), \
                                                  musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        SQUARE(W); \
        return analyse(h, &b, d, info, policy, false); \
    } \
    musparseStatus_t musparse##X##name(musparseHandle_t h, musparseDirection_t dir, MATRIX(, T), \
                                       musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        SQUARE(W); \
        return factorise(h, &b, d, info, policy, is_cholesky); \
    }
#define SOLVES(X, T, W) \
    FACTOR(X, T, W, bsrilu02, , false) \
    FACTOR(X, T, W, bsric02, const, true) \
    musparseStatus_t musparse##X##bsrsv2_bufferSize(musparseHandle_t h, musparseDirection_t dir, OP ta, MATRIX(, T), \
                                                    int *size) \
    { \
        SQUARE(W); \
        VALUES(op_valid(ta)); \
        return size_of(h, &b, d, info, size); \
    } \
    musparseStatus_t musparse##X##bsrsv2_analysis(musparseHandle_t h, musparseDirection_t dir, OP ta, \
                                                  MATRIX(const, T), musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        SQUARE(W); \
        VALUES(op_valid(ta)); \
        return analyse(h, &b, d, info, policy, d->diag == MUSPARSE_DIAG_TYPE_UNIT); \
    } \
    musparseStatus_t musparse##X##bsrsv2_solve(musparseHandle_t h, musparseDirection_t dir, OP ta, int mb, int nnzb, \
                                               const T *alpha, musparseConstMatDescr_t d, const T *val, \
                                               const int *ptr, const int *ind, int block, musparseInfo_t info, \
                                               const T *f, T *x, musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        SQUARE(W); \
        struct dense in = dense_of(f, mb * block, 1, 1, MUSPARSE_OPERATION_NON_TRANSPOSE); \
        struct dense out = dense_of(x, mb * block, 1, 1, MUSPARSE_OPERATION_NON_TRANSPOSE); \
        return solve(h, &b, d, info, ta, alpha, &in, &out, policy); \
    } \
    musparseStatus_t musparse##X##bsrsm2_bufferSize( \
        musparseHandle_t h, musparseDirection_t dir, OP ta, OP txy, int mb, int n, int nnzb, \
        musparseConstMatDescr_t d, T *val, const int *ptr, const int *ind, int block, musparseInfo_t info, int *size) \
    { \
        SQUARE(W); \
        VALUES(op_valid(ta) && op_valid(txy)); \
        SIZES(n >= 0); \
        return size_of(h, &b, d, info, size); \
    } \
    musparseStatus_t musparse##X##bsrsm2_analysis(musparseHandle_t h, musparseDirection_t dir, OP ta, OP txy, int mb, \
                                                  int n, int nnzb, musparseConstMatDescr_t d, const T *val, \
                                                  const int *ptr, const int *ind, int block, musparseInfo_t info, \
                                                  musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        SQUARE(W); \
        VALUES(op_valid(ta) && op_valid(txy)); \
        SIZES(n >= 0); \
        return analyse(h, &b, d, info, policy, d->diag == MUSPARSE_DIAG_TYPE_UNIT); \
    } \
    musparseStatus_t musparse##X##bsrsm2_solve( \
        musparseHandle_t h, musparseDirection_t dir, OP ta, OP txy, int mb, int n, int nnzb, const T *alpha, \
        musparseConstMatDescr_t d, const T *val, const int *ptr, const int *ind, int block, musparseInfo_t info, \
        const T *f, int ldf, T *x, int ldx, musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        SQUARE(W); \
        VALUES(op_valid(txy)); \
        int least = is_trans(txy) ? n : mb * block; \
        SIZES(n >= 0 && ldf >= least && ldx >= least); \
        struct dense in = dense_of(f, mb * block, n, ldf, txy), out = dense_of(x, mb * block, n, ldx, txy); \
        return solve(h, &b, d, info, ta, alpha, &in, &out, policy); \
    }
FOUR(SOLVES)
