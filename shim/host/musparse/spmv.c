/* muSPARSE's products with dense vectors and matrices: SpMV, SpMM, SDDMM. */
#include <stdlib.h>

#include "host/musparse/legacy.h"

#define KERNEL "host/musparse/product.inc"
#include "host/musparse/each.h"

struct product {
    struct musparse_spmat a;
    struct musparse_dnvec x, y;
    struct musparse_dnmat b, c;
    musparseOperation_t opa, opb;
    struct scalar alpha, beta;
    int work, batch;
};

enum { BUFFER = 16 }; /* bytes that are asked for: no workspace is used, but a program may refuse a size of 0 */

static void run_spmv(const void *call)
{
    typedef void kernel(const struct csr *, const void *, void *, double complex, double complex);
    static kernel *const spmv[4][2] = TABLE(spmv);
    const struct product *p = call;
    struct csr a;
    void *xmade = NULL, *ymade = NULL;
    if (musparse_csr_wide(&a, &p->a, 0, p->opa, p->work)) {
        const void *x = musparse_wide(p->x.values, p->x.type, p->work, (size_t)p->x.size, &xmade);
        const void *y = musparse_wide(p->y.values, p->y.type, p->work, (size_t)p->y.size, &ymade);
        if ((x || !p->x.size) && y && (!ymade || musparse_sound(&a))) {
            spmv[p->work][a.wide](&a, x, (void *)(uintptr_t)y, musparse_read(&p->alpha), musparse_read(&p->beta));
            if (ymade)
                musparse_narrow(p->y.values, p->y.type, ymade, p->work, (size_t)p->y.size);
        }
    }
    free(xmade);
    free(ymade);
    musparse_csr_free(&a);
}

static musparseStatus_t check_spmv(struct product *p, musparseHandle_t h, musparseOperation_t op, const void *alpha,
                                   musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x, const void *beta,
                                   musparseDnVecDescr_t y, musaDataType_t compute, musparseSpMVAlg_t alg)
{
    LIVE(h);
    POINTERS(alpha && a && x && beta && y);
    VALUES(op_valid(op) && alg >= 0 && alg <= 7);
    *p = (struct product){.a = *a, .x = *x, .y = *y, .opa = op};
    SIZES(x->size == (is_trans(op) ? a->rows : a->cols) && y->size == (is_trans(op) ? a->cols : a->rows));
    p->work = musparse_types(a->type, x->type, y->type, compute);
    CHECK(p->work >= 0, NOT_IMPLEMENTED);
    CHECK(a->format != BELL, NOT_IMPLEMENTED);
    POINTERS((a->offsets || !a->nnz) && (!a->nnz || (a->indices && a->values)));
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseSpMV_bufferSize(musparseHandle_t h, musparseOperation_t op, const void *alpha,
                                         musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x, const void *beta,
                                         musparseDnVecDescr_t y, musaDataType_t compute, musparseSpMVAlg_t alg,
                                         size_t *size)
{
    struct product p;
    musparseStatus_t r = check_spmv(&p, h, op, alpha, a, x, beta, y, compute, alg);
    if (r)
        return r;
    POINTERS(size);
    *size = BUFFER;
    return r;
}

musparseStatus_t musparseSpMV(musparseHandle_t h, musparseOperation_t op, const void *alpha,
                              musparseConstSpMatDescr_t a, musparseConstDnVecDescr_t x, const void *beta,
                              musparseDnVecDescr_t y, musaDataType_t compute, musparseSpMVAlg_t alg, void *buffer)
{
    struct product p;
    musparseStatus_t r = check_spmv(&p, h, op, alpha, a, x, beta, y, compute, alg);
    (void)buffer;
    if (r || !y->size)
        return r;
    p.alpha = musparse_scalar(h, alpha, compute);
    p.beta = musparse_scalar(h, beta, compute);
    return musparse_submit(h, run_spmv, &p, sizeof p, (double)(a->nnz + a->rows) * 8);
}

void musparse_spmm(const struct csr *a, int work, const struct dense *b, const struct dense *c, double complex alpha,
                   double complex beta)
{
    typedef void kernel(const struct csr *, const struct dense *, const struct dense *, double complex, double complex);
    static kernel *const spmm[4][2] = TABLE(spmm);
    spmm[work][a->wide](a, b, c, alpha, beta);
}

static void run_spmm(const void *call)
{
    const struct product *p = call;
    for (int i = 0; i < p->batch; i++) {
        struct csr a;
        struct dense b = {.made = NULL}, c = {.made = NULL};
        bool ready = musparse_csr_wide(&a, &p->a, p->a.batch > 1 ? i : 0, p->opa, p->work) &&
                     dense_in(&b, &p->b, p->b.batch > 1 ? i : 0, p->opb, p->work) &&
                     dense_in(&c, &p->c, i, MUSPARSE_OPERATION_NON_TRANSPOSE, p->work) &&
                     (!c.made || musparse_sound(&a));
        if (ready) {
            musparse_spmm(&a, p->work, &b, &c, musparse_read(&p->alpha), musparse_read(&p->beta));
            dense_out(&c, &p->c, i, p->work);
        } else {
            free(c.made);
        }
        free(b.made);
        musparse_csr_free(&a);
    }
}

static int64_t rows_of(musparseOperation_t op, int64_t rows, int64_t cols) { return is_trans(op) ? cols : rows; }

/* A sparse matrix times a dense one, by stages as SDK 4.3.5 has them. All argument checks come first, in every
 * stage, as programs test for errors in the first one. */
musparseStatus_t musparseSpMM(musparseHandle_t h, musparseOperation_t opa, musparseOperation_t opb, const void *alpha,
                              musparseConstSpMatDescr_t a, musparseConstDnMatDescr_t b, const void *beta,
                              musparseDnMatDescr_t c, musaDataType_t compute, musparseSpMMAlg_t alg,
                              musparseSpMMStage_t stage, size_t *size, void *buffer)
{
    LIVE(h);
    (void)buffer;
    POINTERS(alpha && a && b && beta && c);
    VALUES(op_valid(opa) && op_valid(opb) && alg >= 0 && alg <= 14);
    VALUES(stage >= MUSPARSE_SPMM_STAGE_AUTO && stage <= MUSPARSE_SPMM_STAGE_COMPUTE);
    SIZES(rows_of(opa, a->rows, a->cols) == c->rows && rows_of(opb, b->cols, b->rows) == c->cols &&
          rows_of(opa, a->cols, a->rows) == rows_of(opb, b->rows, b->cols));
    struct product p = {.a = *a, .b = *b, .c = *c, .opa = opa, .opb = opb, .batch = c->batch};
    VALUES((a->batch == 1 || a->batch == c->batch) && (b->batch == 1 || b->batch == c->batch));
    p.work = musparse_types(a->type, b->type, c->type, compute);
    CHECK(p.work >= 0, NOT_IMPLEMENTED);
    POINTERS(!a->nnz || (a->indices && a->values));
    /* AUTO without a buffer asks for its size, as every two-phase call does */
    if (stage == MUSPARSE_SPMM_STAGE_BUFFER_SIZE || (stage == MUSPARSE_SPMM_STAGE_AUTO && !buffer && size)) {
        POINTERS(size);
        *size = BUFFER;
        return MUSPARSE_STATUS_SUCCESS;
    }
    if (stage == MUSPARSE_SPMM_STAGE_PREPROCESS || !c->rows || !c->cols)
        return MUSPARSE_STATUS_SUCCESS;
    p.alpha = musparse_scalar(h, alpha, compute);
    p.beta = musparse_scalar(h, beta, compute);
    return musparse_submit(h, run_spmm, &p, sizeof p,
                           ((double)a->nnz * (double)c->cols + (double)c->rows * (double)c->cols) * 8);
}

static void run_sddmm(const void *call)
{
    typedef void kernel(const struct csr *, void *, const struct dense *, const struct dense *, double complex,
                        double complex);
    static kernel *const sddmm[4][2] = TABLE(sddmm);
    const struct product *p = call;
    size_t size = musparse_size(p->a.type);
    for (int i = 0; i < p->batch; i++) {
        struct csr c;
        struct dense a = {.made = NULL}, b = {.made = NULL};
        if (musparse_csr_wide(&c, &p->a, i, MUSPARSE_OPERATION_NON_TRANSPOSE, p->work) &&
            dense_in(&a, &p->b, p->b.batch > 1 ? i : 0, p->opa, p->work) &&
            dense_in(&b, &p->c, p->c.batch > 1 ? i : 0, p->opb, p->work)) {
            void *val = (void *)(uintptr_t)c.val, *out = (char *)p->a.values + (int64_t)size * p->a.values_stride * i;
            if (val == out || musparse_sound(&c))
                sddmm[p->work][c.wide](&c, val, &a, &b, musparse_read(&p->alpha), musparse_read(&p->beta));
            if (val != out)
                musparse_narrow(out, p->a.type, val, p->work, (size_t)c.nnz);
        }
        free(a.made);
        free(b.made);
        musparse_csr_free(&c);
    }
}

static musparseStatus_t check_sddmm(struct product *p, musparseHandle_t h, musparseOperation_t opa,
                                    musparseOperation_t opb, const void *alpha, musparseConstDnMatDescr_t a,
                                    musparseConstDnMatDescr_t b, const void *beta, musparseSpMatDescr_t c,
                                    musaDataType_t compute, musparseSDDMMAlg_t alg)
{
    LIVE(h);
    POINTERS(alpha && a && b && beta && c);
    VALUES(op_valid(opa) && op_valid(opb) && alg == 0);
    SIZES(rows_of(opa, a->rows, a->cols) == c->rows && rows_of(opb, b->cols, b->rows) == c->cols &&
          rows_of(opa, a->cols, a->rows) == rows_of(opb, b->rows, b->cols));
    *p = (struct product){.a = *c, .b = *a, .c = *b, .opa = opa, .opb = opb, .batch = c->batch};
    VALUES((a->batch == 1 || a->batch == c->batch) && (b->batch == 1 || b->batch == c->batch));
    p->work = musparse_types(a->type, b->type, c->type, compute);
    CHECK(p->work >= 0 && c->type != MUSA_R_32I, NOT_IMPLEMENTED);
    CHECK(c->format == CSR || c->format == CSC, NOT_IMPLEMENTED);
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseSDDMM_bufferSize(musparseHandle_t h, musparseOperation_t opa, musparseOperation_t opb,
                                          const void *alpha, musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b,
                                          const void *beta, musparseSpMatDescr_t c, musaDataType_t compute,
                                          musparseSDDMMAlg_t alg, size_t *size)
{
    struct product p;
    musparseStatus_t r = check_sddmm(&p, h, opa, opb, alpha, a, b, beta, c, compute, alg);
    if (r)
        return r;
    POINTERS(size);
    *size = BUFFER;
    return r;
}

musparseStatus_t musparseSDDMM_preprocess(musparseHandle_t h, musparseOperation_t opa, musparseOperation_t opb,
                                          const void *alpha, musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b,
                                          const void *beta, musparseSpMatDescr_t c, musaDataType_t compute,
                                          musparseSDDMMAlg_t alg, void *buffer)
{
    struct product p;
    (void)buffer;
    return check_sddmm(&p, h, opa, opb, alpha, a, b, beta, c, compute, alg);
}

musparseStatus_t musparseSDDMM(musparseHandle_t h, musparseOperation_t opa, musparseOperation_t opb, const void *alpha,
                               musparseConstDnMatDescr_t a, musparseConstDnMatDescr_t b, const void *beta,
                               musparseSpMatDescr_t c, musaDataType_t compute, musparseSDDMMAlg_t alg, void *buffer)
{
    struct product p;
    musparseStatus_t r = check_sddmm(&p, h, opa, opb, alpha, a, b, beta, c, compute, alg);
    (void)buffer;
    if (r || !c->nnz)
        return r;
    POINTERS(c->offsets && c->indices && c->values);
    p.alpha = musparse_scalar(h, alpha, compute);
    p.beta = musparse_scalar(h, beta, compute);
    return musparse_submit(h, run_sddmm, &p, sizeof p, (double)c->nnz * 8 * (double)(a->rows + a->cols));
}
