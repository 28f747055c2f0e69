/* cuSPARSE's triangular solves on muSPARSE's: a descriptor keeps what the solve is not given, and new values. */
#include <stdlib.h>

#include "api/cusparse/rows.h"

/* cusparseSpSVDescr_t and cusparseSpSMDescr_t. */
struct solver {
    void *buffer;               /* of the analysis: the program's, kept until it destroys this */
    const struct cumu_spmat *a; /* the analysed matrix */
    void *values;               /* of updateMatrix: our copy on the device, or NULL */
    struct cumu_rows *rows;     /* of a format that muSPARSE lacks: what was analysed instead */
};

static int make(void *out)
{
    CUSPARSE_CHECK(out);
    struct solver *s = calloc(1, sizeof *s);
    *(struct solver **)out = s;
    return s ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

/* Solves that have been queued read them. */
static void drop_rows(struct solver *s)
{
    if (s->rows)
        mu.musaDeviceSynchronize();
    cumu_cusparse_rows_free(s->rows);
    s->rows = NULL;
}

static int drop(struct solver *s)
{
    CUSPARSE_CHECK(s);
    int r = s->values && mu.musaFree(s->values) ? CUSPARSE_STATUS_INTERNAL_ERROR : CUSPARSE_STATUS_SUCCESS;
    drop_rows(s);
    free(s);
    return r;
}

int wrap_cusparseSpSV_createDescr(void *out) { return make(out); }
int wrap_cusparseSpSM_createDescr(void *out) { return make(out); }
int wrap_cusparseSpSV_destroyDescr(void *descr) { return drop(descr); }
int wrap_cusparseSpSM_destroyDescr(void *descr) { return drop(descr); }

/* Where the diagonal takes its new elements, found on the host: a rare call. */
static int put_diagonal(const struct cumu_spmat *a, void *values, const void *diagonal)
{
    size_t size = cumu_cusparse_size(a->type), n = (size_t)a->rows, nnz = (size_t)a->nnz;
    size_t osize = a->offsets_type == CUSPARSE_INDEX_64I ? 8 : 4, isize = a->index_type == CUSPARSE_INDEX_64I ? 8 : 4;
    bool coo = a->format == CUSPARSE_FORMAT_COO;
    size_t rows = coo ? nnz : n + 1;
    char *offsets = malloc(rows * osize + 1), *ind = malloc(nnz * isize + 1);
    int r = CUSPARSE_STATUS_ALLOC_FAILED;
    if (!offsets || !ind)
        goto out;
    r = CUSPARSE_STATUS_EXECUTION_FAILED;
    if (mu.musaMemcpy(offsets, a->offsets, rows * osize, musaMemcpyDeviceToHost) ||
        mu.musaMemcpy(ind, a->indices, nnz * isize, musaMemcpyDeviceToHost))
        goto out;
#define AT(array, width, i) ((width) == 8 ? ((const int64_t *)(array))[i] : ((const int32_t *)(array))[i])
    size_t row = 0;
    for (size_t k = 0; k < nnz; k++) {
        while (!coo && row < n && AT(offsets, osize, row + 1) - a->base <= (int64_t)k)
            row++;
        if (coo)
            row = (size_t)(AT(offsets, osize, k) - a->base);
        if (row < n && AT(ind, isize, k) - a->base == (int64_t)row &&
            mu.musaMemcpy((char *)values + k * size, (const char *)diagonal + row * size, size,
                          musaMemcpyDeviceToDevice))
            goto out;
    }
    r = CUSPARSE_STATUS_SUCCESS;
out:
    free(offsets);
    free(ind);
    return r;
}

/* The new elements are copied: what the program does with its array afterwards is not seen. */
static int update(void *h, struct solver *s, const void *values, int part)
{
    musaStream_t stream;
    CUSPARSE_CHECK(s && values && s->a);
    CUSPARSE_CHECK(part == CUSPARSE_SPSV_UPDATE_GENERAL || part == CUSPARSE_SPSV_UPDATE_DIAGONAL);
    int r = CUSPARSE(mu.musparseGetStream(h, &stream));
    if (r)
        return r;
    if (s->rows && part == CUSPARSE_SPSV_UPDATE_GENERAL)
        return cumu_cusparse_rows_set(h, s->rows, values);
    if (s->rows)
        return mu.musaStreamSynchronize(stream) ? CUSPARSE_STATUS_EXECUTION_FAILED
                                                : put_diagonal(s->a, s->a->values, values);
    size_t size = (size_t)s->a->nnz * cumu_cusparse_size(s->a->type);
    bool fresh = !s->values;
    if (fresh && mu.musaMalloc(&s->values, size ? size : 1))
        return CUSPARSE_STATUS_ALLOC_FAILED;
    const void *from = part == CUSPARSE_SPSV_UPDATE_GENERAL ? values : fresh ? s->a->values : NULL;
    if (from && mu.musaMemcpyAsync(s->values, from, size, musaMemcpyDeviceToDevice, stream))
        return CUSPARSE_STATUS_EXECUTION_FAILED;
    if (part == CUSPARSE_SPSV_UPDATE_GENERAL)
        return CUSPARSE_STATUS_SUCCESS;
    if (mu.musaStreamSynchronize(stream))
        return CUSPARSE_STATUS_EXECUTION_FAILED;
    return put_diagonal(s->a, s->values, values);
}

int wrap_cusparseSpSV_updateMatrix(void *h, void *descr, void *values, int part)
{
    return update(h, descr, values, part);
}
int wrap_cusparseSpSM_updateMatrix(void *h, void *descr, void *values, int part)
{
    return update(h, descr, values, part);
}

/* muSPARSE reads the values of the matrix: new ones stand in for the call, which takes down what it needs. */
#define WITH_VALUES(a, s, call) \
    do { \
        bool own_ = (s)->values && !mu.musparseSpMatSetValues((a)->mu, (s)->values); \
        int r_ = CUSPARSE(call); \
        if (own_) \
            mu.musparseSpMatSetValues((a)->mu, (a)->values); \
        return r_; \
    } while (0)

/* What muSPARSE solves with: the matrix, or the rows that the analysis makes of it. */
static int solved(void *h, struct solver *s, const struct cumu_spmat **a, int stage, const char *function,
                  unsigned formats)
{
    CUSPARSE_CHECK(s && *a);
    bool analysis = stage == MUSPARSE_SPSV_STAGE_PREPROCESS;
    if ((*a)->mu) {
        if (analysis)
            drop_rows(s);
    } else {
        if (!(formats >> (*a)->format & 1))
            return cumu_cusparse_format(*a, function);
        if (analysis || !s->rows) {
            drop_rows(s);
            int r = cumu_cusparse_rows(h, *a, function, &s->rows);
            if (r)
                return r;
        }
        *a = cumu_cusparse_rows_matrix(s->rows);
    }
    if (analysis) {
        if (s->values) /* those of another analysis */
            mu.musaFree(s->values);
        s->values = NULL;
        s->a = *a;
    }
    return CUSPARSE_STATUS_SUCCESS;
}

static int spsv(void *h, int op, const void *alpha, const struct cumu_spmat *a, const void *x, void *y, int compute,
                int alg, struct solver *s, int stage, size_t *size)
{
    int r = solved(h, s, &a, stage, "cusparseSpSV", CUSPARSE_SELL);
    if (r)
        return r;
    WITH_VALUES(a, s,
                mu.musparseSpSV(h, cumu_cusparse_op(op), alpha, a->mu, x, y, compute, alg, stage, size, s->buffer));
}

int wrap_cusparseSpSV_bufferSize(void *h, int op, const void *alpha, const void *a, const void *x, void *y, int compute,
                                 int alg, void *descr, void *size)
{
    return spsv(h, op, alpha, a, x, y, compute, alg, descr, MUSPARSE_SPSV_STAGE_BUFFER_SIZE, size);
}

int wrap_cusparseSpSV_analysis(void *h, int op, const void *alpha, const void *a, const void *x, void *y, int compute,
                               int alg, void *descr, void *buffer)
{
    struct solver *s = descr;
    size_t size = 0;
    CUSPARSE_CHECK(s);
    s->buffer = buffer;
    return spsv(h, op, alpha, a, x, y, compute, alg, s, MUSPARSE_SPSV_STAGE_PREPROCESS, &size);
}

int wrap_cusparseSpSV_solve(void *h, int op, const void *alpha, const void *a, const void *x, void *y, int compute,
                            int alg, void *descr)
{
    size_t size = 0;
    return spsv(h, op, alpha, a, x, y, compute, alg, descr, MUSPARSE_SPSV_STAGE_COMPUTE, &size);
}

static int spsm(void *h, int opa, int opb, const void *alpha, const struct cumu_spmat *a, const void *b, void *c,
                int compute, int alg, struct solver *s, int stage, size_t *size)
{
    int r = solved(h, s, &a, stage, "cusparseSpSM", 0);
    if (r)
        return r;
    WITH_VALUES(a, s,
                mu.musparseSpSM(h, cumu_cusparse_op(opa), cumu_cusparse_op(opb), alpha, a->mu, b, c, compute, alg,
                                stage, size, s->buffer));
}

int wrap_cusparseSpSM_bufferSize(void *h, int opa, int opb, const void *alpha, const void *a, const void *b, void *c,
                                 int compute, int alg, void *descr, void *size)
{
    return spsm(h, opa, opb, alpha, a, b, c, compute, alg, descr, MUSPARSE_SPSM_STAGE_BUFFER_SIZE, size);
}

int wrap_cusparseSpSM_analysis(void *h, int opa, int opb, const void *alpha, const void *a, const void *b, void *c,
                               int compute, int alg, void *descr, void *buffer)
{
    struct solver *s = descr;
    size_t size = 0;
    CUSPARSE_CHECK(s);
    s->buffer = buffer;
    return spsm(h, opa, opb, alpha, a, b, c, compute, alg, s, MUSPARSE_SPSM_STAGE_PREPROCESS, &size);
}

int wrap_cusparseSpSM_solve(void *h, int opa, int opb, const void *alpha, const void *a, const void *b, void *c,
                            int compute, int alg, void *descr)
{
    size_t size = 0;
    return spsm(h, opa, opb, alpha, a, b, c, compute, alg, descr, MUSPARSE_SPSM_STAGE_COMPUTE, &size);
}
