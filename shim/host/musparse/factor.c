/* muSPARSE's legacy factorisations and triangular solves: csrilu02, csric02, csrsv2, csrsm2;
 * tridiagonal and pentadiagonal systems. */
#include <stdlib.h>

#include "host/maths/submit.h"
#include "host/musparse/legacy.h"

#define KERNEL "host/musparse/factor.inc"
#include "host/musparse/each.h"

struct factor {
    struct csr a;
    int work;
    musparseInfo_t info;
    bool incomplete_cholesky;
    bool upper, unit, need_diagonal;
    struct scalar alpha;
    struct dense x, y;
};

/* A diagonal element that is not there. */
static void run_analysis(const void *call)
{
    const struct factor *f = call;
    const int *ptr = f->a.ptr, *ind = f->a.ind;
    f->info->structural = f->info->numeric = -1;
    for (int i = 0; i < f->a.rows && f->need_diagonal; i++) {
        bool there = false;
        for (int k = ptr[i] - f->a.base; k < ptr[i + 1] - f->a.base; k++)
            there |= ind[k] - f->a.base == i;
        if (!there) {
            f->info->structural = i + f->a.base;
            return;
        }
    }
}

void musparse_factorise(const struct csr *a, int work, bool cholesky, struct musparse_info *info)
{
    typedef void kernel(const struct csr *, struct musparse_info *);
    static kernel *const ilu[4][2] = TABLE(ilu), *const ic[4][2] = TABLE(ic);
    info->numeric = -1;
    (cholesky ? ic : ilu)[work][0](a, info);
}
static void run_factor(const void *call)
{
    const struct factor *f = call;
    musparse_factorise(&f->a, f->work, f->incomplete_cholesky, f->info);
}

static musparseStatus_t square(musparseHandle_t h, struct factor *f, int work, int m, int nnz,
                               musparseConstMatDescr_t d, const void *val, const int *ptr, const int *ind,
                               musparseInfo_t info)
{
    LIVE(h);
    SIZES(m >= 0 && nnz >= 0);
    DESCRIBED(d);
    POINTERS(info && ptr && (!nnz || (val && ind)));
    *f = (struct factor){.a = csr_of(m, m, nnz, d, val, ptr, ind), .work = work, .info = info, .need_diagonal = true};
    return MUSPARSE_STATUS_SUCCESS;
}

static musparseStatus_t analyse(musparseHandle_t h, int work, int m, int nnz, musparseConstMatDescr_t d,
                                const void *val, const int *ptr, const int *ind, musparseInfo_t info, int policy,
                                bool need_diagonal)
{
    struct factor f;
    musparseStatus_t r = square(h, &f, work, m, nnz, d, val, ptr, ind, info);
    if (r)
        return r;
    VALUES(policy == MUSPARSE_SOLVE_POLICY_AUTO);
    f.need_diagonal = need_diagonal;
    return musparse_submit(h, run_analysis, &f, sizeof f, (double)nnz * 8);
}

static musparseStatus_t factorise(musparseHandle_t h, int work, int m, int nnz, musparseConstMatDescr_t d,
                                  const void *val, const int *ptr, const int *ind, musparseInfo_t info, int policy,
                                  bool cholesky)
{
    struct factor f;
    musparseStatus_t r = square(h, &f, work, m, nnz, d, val, ptr, ind, info);
    if (r)
        return r;
    VALUES(policy == MUSPARSE_SOLVE_POLICY_AUTO);
    f.incomplete_cholesky = cholesky;
    return musparse_submit(h, run_factor, &f, sizeof f, (double)nnz * 100);
}

static musparseStatus_t size_of(musparseHandle_t h, int m, int nnz, musparseConstMatDescr_t d, musparseInfo_t info,
                                int *size)
{
    LIVE(h);
    SIZES(m >= 0 && nnz >= 0);
    DESCRIBED(d);
    POINTERS(info && size);
    *size = 16;
    return MUSPARSE_STATUS_SUCCESS;
}

#define FACTOR(X, T, W, name, cholesky) \
    musparseStatus_t musparse##X##name##_bufferSize(musparseHandle_t h, int m, int nnz, musparseConstMatDescr_t d, \
                                                    T *val, const int *ptr, const int *ind, musparseInfo_t info, \
                                                    int *size) \
    { \
        (void)val, (void)ptr, (void)ind; \
        return size_of(h, m, nnz, d, info, size); \
    } \
    musparseStatus_t musparse##X##name##_analysis(musparseHandle_t h, int m, int nnz, musparseConstMatDescr_t d, \
                                                  const T *val, const int *ptr, const int *ind, musparseInfo_t info, \
                                                  musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        return analyse(h, W, m, nnz, d, val, ptr, ind, info, policy, true); \
    } \
    musparseStatus_t musparse##X##name(musparseHandle_t h, int m, int nnz, musparseConstMatDescr_t d, T *val, \
                                       const int *ptr, const int *ind, musparseInfo_t info, \
                                       musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        return factorise(h, W, m, nnz, d, val, ptr, ind, info, policy, cholesky); \
    }
#define FACTORS(X, T, W) \
    FACTOR(X, T, W, csrilu02, false) \
    FACTOR(X, T, W, csric02, true)
FOUR(FACTORS)

int musparse_zero_diagonal(const struct csr *a, int work)
{
    const int *ptr = a->ptr, *ind = a->ind;
    for (int i = 0; i < a->rows; i++)
        for (int k = ptr[i] - a->base; k < ptr[i + 1] - a->base; k++) {
            double complex v = 0;
            if (ind[k] - a->base == i &&
                musparse_widen(&v, Z, (const char *)a->val + (size_t)k * work_size(work), work_type(work), 1) && v == 0)
                return i + a->base;
        }
    return -1;
}

static void run_solve(const void *call)
{
    const struct factor *f = call;
    f->info->numeric = f->unit ? -1 : musparse_zero_diagonal(&f->a, f->work);
    musparse_fill(&f->y, &f->x, f->work, musparse_read(&f->alpha));
    musparse_solve(&f->a, f->work, f->upper, f->unit, &f->y);
    if (f->y.conj) /* what was found is op() of what the caller gets */
        musparse_fill(&f->y, &f->y, f->work, 1);
}

static musparseStatus_t solve(musparseHandle_t h, int work, int op, int m, int nnz, const void *alpha,
                              musparseConstMatDescr_t d, const void *val, const int *ptr, const int *ind,
                              musparseInfo_t info, const struct dense *x, const struct dense *y)
{
    struct factor f;
    LIVE(h);
    SIZES(m >= 0 && nnz >= 0);
    VALUES(op_valid(op));
    POINTERS(d && alpha && info && ptr && (!nnz || (val && ind)) && (!m || (x->at && y->at)));
    VALUES(d->type == MUSPARSE_MATRIX_TYPE_GENERAL || d->type == MUSPARSE_MATRIX_TYPE_TRIANGULAR);
    f = (struct factor){.a = csr_of(m, m, nnz, d, val, ptr, ind),
                        .work = work,
                        .info = info,
                        .x = *x,
                        .y = *y,
                        .upper = d->fill == MUSPARSE_FILL_MODE_UPPER,
                        .unit = d->diag == MUSPARSE_DIAG_TYPE_UNIT};
    f.a.trans = is_trans(op);
    f.a.conj = is_conj(op);
    f.alpha = musparse_scalar(h, alpha, work_type(work));
    return musparse_submit(h, run_solve, &f, sizeof f, ((double)nnz + m) * 8 * (double)y->cols);
}

#define SOLVES(X, T, W) \
    musparseStatus_t musparse##X##csrsv2_bufferSize(musparseHandle_t h, OP ta, int m, int nnz, \
                                                    musparseConstMatDescr_t d, T *val, const int *ptr, const int *ind, \
                                                    musparseInfo_t info, int *size) \
    { \
        (void)val, (void)ptr, (void)ind; \
        VALUES(op_valid(ta)); \
        return size_of(h, m, nnz, d, info, size); \
    } \
    musparseStatus_t musparse##X##csrsv2_analysis( \
        musparseHandle_t h, OP ta, int m, int nnz, musparseConstMatDescr_t d, const T *val, const int *ptr, \
        const int *ind, musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        VALUES(op_valid(ta)); \
        POINTERS(d); \
        return analyse(h, W, m, nnz, d, val, ptr, ind, info, policy, d->diag == MUSPARSE_DIAG_TYPE_NON_UNIT); \
    } \
    musparseStatus_t musparse##X##csrsv2_solve(musparseHandle_t h, OP ta, int m, int nnz, const T *alpha, \
                                               musparseConstMatDescr_t d, const T *val, const int *ptr, \
                                               const int *ind, musparseInfo_t info, const T *f, T *x, \
                                               musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        VALUES(policy == MUSPARSE_SOLVE_POLICY_AUTO); \
        struct dense in = dense_of(f, m, 1, m, MUSPARSE_OPERATION_NON_TRANSPOSE); \
        struct dense out = dense_of(x, m, 1, m, MUSPARSE_OPERATION_NON_TRANSPOSE); \
        return solve(h, W, ta, m, nnz, alpha, d, val, ptr, ind, info, &in, &out); \
    } \
    musparseStatus_t musparse##X##csrsm2_bufferSizeExt( \
        musparseHandle_t h, int algo, OP ta, OP tb, int m, int nrhs, int nnz, const T *alpha, \
        musparseConstMatDescr_t d, const T *val, const int *ptr, const int *ind, const T *b, int ldb, \
        musparseInfo_t info, musparseSolvePolicy_t policy, size_t *size) \
    { \
        int narrow; \
        (void)alpha, (void)val, (void)ptr, (void)ind, (void)b; \
        VALUES(op_valid(ta) && op_valid(tb) && (algo == 0 || algo == 1) && policy == MUSPARSE_SOLVE_POLICY_AUTO); \
        SIZES(nrhs >= 0 && ldb >= (is_trans(tb) ? nrhs : m)); \
        POINTERS(size); \
        musparseStatus_t r = size_of(h, m, nnz, d, info, &narrow); \
        if (!r) \
            *size = (size_t)narrow; \
        return r; \
    } \
    musparseStatus_t musparse##X##csrsm2_analysis(musparseHandle_t h, int algo, OP ta, OP tb, int m, int nrhs, \
                                                  int nnz, const T *alpha, musparseConstMatDescr_t d, const T *val, \
                                                  const int *ptr, const int *ind, const T *b, int ldb, \
                                                  musparseInfo_t info, musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)alpha, (void)b, (void)buffer; \
        VALUES(op_valid(ta) && op_valid(tb) && (algo == 0 || algo == 1)); \
        SIZES(nrhs >= 0 && ldb >= (is_trans(tb) ? nrhs : m)); \
        POINTERS(d); \
        return analyse(h, W, m, nnz, d, val, ptr, ind, info, policy, d->diag == MUSPARSE_DIAG_TYPE_NON_UNIT); \
    } \
    musparseStatus_t musparse##X##csrsm2_solve(musparseHandle_t h, int algo, OP ta, OP tb, int m, int nrhs, int nnz, \
                                               const T *alpha, musparseConstMatDescr_t d, const T *val, \
                                               const int *ptr, const int *ind, T *b, int ldb, musparseInfo_t info, \
                                               musparseSolvePolicy_t policy, void *buffer) \
    { \
        (void)buffer; \
        VALUES(op_valid(ta) && op_valid(tb) && (algo == 0 || algo == 1) && policy == MUSPARSE_SOLVE_POLICY_AUTO); \
        SIZES(nrhs >= 0 && ldb >= (is_trans(tb) ? nrhs : m)); \
        struct dense x = dense_of(b, m, nrhs, ldb, tb); \
        return solve(h, W, ta, m, nnz, alpha, d, val, ptr, ind, info, &x, &x); \
    }
FOUR(SOLVES)

/* ---- bands */
struct bands {
    int m, n, batch, work, ldb;
    const void *dl, *d, *du, *ds, *dw;
    void *b;
    int64_t step, batch_step; /* between elements of a band, between systems */
    bool pivot;
};

static void run_bands(const void *call)
{
    typedef void tri(int, int, const void *, const void *, const void *, int64_t, void *, int64_t, int64_t, bool,
                     void *);
    typedef void penta(int, const void *const[5], int64_t, void *, void *);
    static tri *const gtsv[4][2] = TABLE(gtsv);
    static penta *const gpsv[4][2] = TABLE(gpsv);
    const struct bands *c = call;
    size_t size = work_size(c->work);
    void *work = maths_alloc((size_t)c->m * 5 * size + 1);
    for (int i = 0; work && i < c->batch; i++) {
        size_t at = (size_t)(c->batch_step * i) * size;
#define AT(p) ((const char *)(p) + at)
        if (c->ds) {
            const void *const band[5] = {AT(c->ds), AT(c->dl), AT(c->d), AT(c->du), AT(c->dw)};
            gpsv[c->work][0](c->m, band, c->step, (char *)c->b + at, work);
        } else {
            gtsv[c->work][0](c->m, c->n, AT(c->dl), AT(c->d), AT(c->du), c->step, (char *)c->b + at, c->ldb, c->step,
                             c->pivot, work);
        }
    }
    free(work);
}

static musparseStatus_t submit_bands(musparseHandle_t h, const struct bands *c)
{
    LIVE(h);
    POINTERS(!c->m || !c->batch || (c->dl && c->d && c->du && c->b));
    return musparse_submit(h, run_bands, c, sizeof *c, (double)c->m * 40 * (c->n + 1) * c->batch);
}

static musparseStatus_t bands_size(musparseHandle_t h, bool right, size_t *size)
{
    LIVE(h);
    SIZES(right);
    POINTERS(size);
    *size = 16;
    return MUSPARSE_STATUS_SUCCESS;
}

/* Systems of at least 3 rows, as cuSPARSE asks. */
#define GTSV2(X, T, W, name, with_pivot) \
    musparseStatus_t musparse##X##name##_bufferSizeExt(musparseHandle_t h, int m, int n, const T *dl, const T *d, \
                                                       const T *du, const T *b, int ldb, size_t *size) \
    { \
        (void)dl, (void)d, (void)du, (void)b; \
        return bands_size(h, m >= 3 && n >= 0 && ldb >= m, size); \
    } \
    musparseStatus_t musparse##X##name(musparseHandle_t h, int m, int n, const T *dl, const T *d, const T *du, T *b, \
                                       int ldb, void *buffer) \
    { \
        (void)buffer; \
        SIZES(m >= 3 && n >= 0 && ldb >= m); \
        struct bands c = {.m = m, \
                          .n = n, \
                          .batch = 1, \
                          .work = W, \
                          .ldb = ldb, \
                          .dl = dl, \
                          .d = d, \
                          .du = du, \
                          .b = b, \
                          .step = 1, \
                          .pivot = with_pivot}; \
        return submit_bands(h, &c); \
    }
#define BANDS(X, T, W) \
    GTSV2(X, T, W, gtsv2, true) \
    GTSV2(X, T, W, gtsv2_nopivot, false) \
    musparseStatus_t musparse##X##gtsv2StridedBatch_bufferSizeExt(musparseHandle_t h, int m, const T *dl, const T *d, \
                                                                  const T *du, const T *x, int batch, int stride, \
                                                                  size_t *size) \
    { \
        (void)dl, (void)d, (void)du, (void)x; \
        return bands_size(h, m >= 3 && batch >= 0 && stride >= m, size); \
    } \
    musparseStatus_t musparse##X##gtsv2StridedBatch(musparseHandle_t h, int m, const T *dl, const T *d, const T *du, \
                                                    T *x, int batch, int stride, void *buffer) \
    { \
        (void)buffer; \
        SIZES(m >= 3 && batch >= 0 && stride >= m); \
        struct bands c = {.m = m, \
                          .n = 1, \
                          .batch = batch, \
                          .work = W, \
                          .ldb = m, \
                          .dl = dl, \
                          .d = d, \
                          .du = du, \
                          .b = x, \
                          .step = 1, \
                          .batch_step = stride, \
                          .pivot = false}; \
        return submit_bands(h, &c); \
    } \
    musparseStatus_t musparse##X##gtsvInterleavedBatch_bufferSizeExt(musparseHandle_t h, int algo, int m, const T *dl, \
                                                                     const T *d, const T *du, const T *x, int batch, \
                                                                     size_t *size) \
    { \
        (void)dl, (void)d, (void)du, (void)x; \
        VALUES(algo >= 0 && algo <= 2); \
        return bands_size(h, m >= 3 && batch >= 0, size); \
    } \
    musparseStatus_t musparse##X##gtsvInterleavedBatch(musparseHandle_t h, int algo, int m, T *dl, T *d, T *du, T *x, \
                                                       int batch, void *buffer) \
    { \
        (void)buffer; \
        VALUES(algo >= 0 && algo <= 2); \
        SIZES(m >= 3 && batch >= 0); \
        struct bands c = {.m = m, \
                          .n = 1, \
                          .batch = batch, \
                          .work = W, \
                          .ldb = m, \
                          .dl = dl, \
                          .d = d, \
                          .du = du, \
                          .b = x, \
                          .step = batch, \
                          .batch_step = 1, \
                          .pivot = algo != 0}; \
        return submit_bands(h, &c); \
    } \
    musparseStatus_t musparse##X##gpsvInterleavedBatch_bufferSizeExt(musparseHandle_t h, int algo, int m, const T *ds, \
                                                                     const T *dl, const T *d, const T *du, \
                                                                     const T *dw, const T *x, int batch, size_t *size) \
    { \
        (void)ds, (void)dl, (void)d, (void)du, (void)dw, (void)x; \
        VALUES(algo == 0); \
        return bands_size(h, m >= 3 && batch >= 0, size); \
    } \
    musparseStatus_t musparse##X##gpsvInterleavedBatch(musparseHandle_t h, int algo, int m, T *ds, T *dl, T *d, T *du, \
                                                       T *dw, T *x, int batch, void *buffer) \
    { \
        (void)buffer; \
        VALUES(algo == 0); \
        SIZES(m >= 3 && batch >= 0); \
        POINTERS(!batch || (ds && dw)); \
        struct bands c = {.m = m, \
                          .n = 1, \
                          .batch = batch, \
                          .work = W, \
                          .ds = ds, \
                          .dl = dl, \
                          .d = d, \
                          .du = du, \
                          .dw = dw, \
                          .b = x, \
                          .step = batch, \
                          .batch_step = 1}; \
        return submit_bands(h, &c); \
    }
FOUR(BANDS)
