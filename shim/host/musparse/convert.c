/* muSPARSE's conversions between sparse and dense matrices. Elements move as they are, whatever their type. */
#include <stdlib.h>
#include <string.h>

#include "host/musparse/musparse.h"

struct conversion {
    struct musparse_spmat sparse;
    struct musparse_dnmat dense;
    musparseSpMatDescr_t descr; /* of the analysis: the descriptor that gets its nnz */
};

static char *element(const struct musparse_dnmat *m, int64_t i, int64_t j, size_t size)
{
    int64_t at = m->order == MUSPARSE_ORDER_COLUMN ? j * m->ld + i : i * m->ld + j;
    return (char *)m->values + (size_t)at * size;
}

static void run_to_dense(const void *call)
{
    const struct conversion *v = call;
    size_t size = musparse_size(v->sparse.type);
    struct csr c;
    if (musparse_csr(&c, &v->sparse, 0, MUSPARSE_OPERATION_NON_TRANSPOSE)) {
        int64_t lines = v->dense.order == MUSPARSE_ORDER_COLUMN ? v->dense.cols : v->dense.rows;
        int64_t length = v->dense.order == MUSPARSE_ORDER_COLUMN ? v->dense.rows : v->dense.cols;
        musparseIndexType_t type = c.wide ? MUSPARSE_INDEX_64I : MUSPARSE_INDEX_32I;
        for (int64_t i = 0; i < lines; i++)
            memset((char *)v->dense.values + (size_t)(i * v->dense.ld) * size, 0, (size_t)length * size);
        for (int64_t i = 0; i < c.rows; i++)
            for (int64_t k = musparse_index(c.ptr, type, (size_t)i) - c.base;
                 k < musparse_index(c.ptr, type, (size_t)i + 1) - c.base; k++) {
                int64_t j = musparse_index(c.ind, type, (size_t)k) - c.base;
                memcpy(element(&v->dense, c.trans ? j : i, c.trans ? i : j, size),
                       (const char *)c.val + (size_t)k * size, size);
            }
    }
    musparse_csr_free(&c);
}

static musparseStatus_t check(musparseHandle_t h, musparseConstSpMatDescr_t s, musparseConstDnMatDescr_t d, int alg)
{
    LIVE(h);
    POINTERS(s && d);
    VALUES(alg == 0 && s->type == d->type);
    SIZES(s->rows == d->rows && s->cols == d->cols);
    CHECK(s->batch == 1 && d->batch == 1, NOT_IMPLEMENTED);
    return MUSPARSE_STATUS_SUCCESS;
}

static musparseStatus_t size_of(musparseHandle_t h, musparseConstSpMatDescr_t s, musparseConstDnMatDescr_t d, int alg,
                                size_t *size)
{
    musparseStatus_t r = check(h, s, d, alg);
    if (r)
        return r;
    POINTERS(size);
    *size = 16;
    return r;
}

musparseStatus_t musparseSparseToDense_bufferSize(musparseHandle_t h, musparseConstSpMatDescr_t a,
                                                  musparseDnMatDescr_t b, musparseSparseToDenseAlg_t alg, size_t *size)
{
    return size_of(h, a, b, alg, size);
}

musparseStatus_t musparseSparseToDense(musparseHandle_t h, musparseConstSpMatDescr_t a, musparseDnMatDescr_t b,
                                       musparseSparseToDenseAlg_t alg, void *buffer)
{
    musparseStatus_t r = check(h, a, b, alg);
    (void)buffer;
    if (r)
        return r;
    struct conversion v = {.sparse = *a, .dense = *b};
    return musparse_submit(h, run_to_dense, &v, sizeof v, ((double)a->nnz + (double)a->rows * (double)a->cols) * 8);
}

/* By rows of CSR and COO, by columns of CSC: line `i` of the sparse matrix, its place `j`. */
static const char *place(const struct conversion *v, int64_t i, int64_t j, size_t size)
{
    bool flip = v->sparse.format == CSC;
    return element(&v->dense, flip ? j : i, flip ? i : j, size);
}

/* A zero of any type is all bits zero but the sign of its parts. */
static bool is_zero(const char *at, musaDataType_t type)
{
    double complex v = 0;
    return musparse_widen(&v, Z, at, type, 1) && v == 0;
}

static void put(void *at, musparseIndexType_t type, size_t i, int64_t value)
{
    if (type == MUSPARSE_INDEX_64I)
        ((int64_t *)at)[i] = value;
    else if (type == MUSPARSE_INDEX_32I)
        ((int32_t *)at)[i] = (int32_t)value;
    else
        ((uint16_t *)at)[i] = (uint16_t)value;
}

/* Counts, and, if `fill`, writes. Of CSR and CSC the count writes the offsets. */
static int64_t from_dense(const struct conversion *v, bool fill)
{
    const struct musparse_spmat *s = &v->sparse;
    int64_t lines = s->format == CSC ? s->cols : s->rows, length = s->format == CSC ? s->rows : s->cols, n = 0;
    size_t size = musparse_size(s->type);
    for (int64_t i = 0; i < lines; i++) {
        if (!fill && s->format != COO)
            put(s->offsets, s->otype, (size_t)i, n + s->base);
        for (int64_t j = 0; j < length; j++) {
            const char *at = place(v, i, j, size);
            if (is_zero(at, s->type))
                continue;
            if (fill) {
                if (s->format == COO)
                    put(s->offsets, s->itype, (size_t)n, i + s->base);
                put(s->indices, s->itype, (size_t)n, j + s->base);
                memcpy((char *)s->values + (size_t)n * size, at, size);
            }
            n++;
        }
    }
    if (!fill && s->format != COO)
        put(s->offsets, s->otype, (size_t)lines, n + s->base);
    return n;
}

/* The block columns are the program's: blocks are read from where they say, padding becomes zero. */
static void fill_blocks(const struct conversion *v)
{
    const struct musparse_spmat *s = &v->sparse;
    size_t size = musparse_size(s->type), b = (size_t)s->block, width = (size_t)s->ellcols / b;
    for (size_t r = 0; r < (size_t)s->rows; r++)
        for (size_t k = 0; k < width; k++) {
            int64_t col = musparse_index(s->indices, s->itype, r / b * width + k) - s->base;
            char *to = (char *)s->values + (r * (size_t)s->ellcols + k * b) * size;
            for (size_t j = 0; j < b; j++, to += size)
                if (col < 0)
                    memset(to, 0, size);
                else
                    memcpy(to, element(&v->dense, (int64_t)r, col * (int64_t)b + (int64_t)j, size), size);
        }
}

static void run_analysis(const void *call)
{
    const struct conversion *v = call;
    if (v->sparse.format != BELL)
        v->descr->nnz = from_dense(v, false);
}
static void run_convert(const void *call)
{
    const struct conversion *v = call;
    if (v->sparse.format == BELL)
        fill_blocks(v);
    else
        from_dense(v, true);
}

musparseStatus_t musparseDenseToSparse_bufferSize(musparseHandle_t h, musparseConstDnMatDescr_t a,
                                                  musparseSpMatDescr_t b, musparseDenseToSparseAlg_t alg, size_t *size)
{
    return size_of(h, b, a, alg, size);
}

musparseStatus_t musparseDenseToSparse_analysis(musparseHandle_t h, musparseConstDnMatDescr_t a, musparseSpMatDescr_t b,
                                                musparseDenseToSparseAlg_t alg, void *buffer)
{
    musparseStatus_t r = check(h, b, a, alg);
    (void)buffer;
    if (r)
        return r;
    POINTERS(b->offsets || b->format == COO || b->format == BELL);
    struct conversion v = {.sparse = *b, .dense = *a, .descr = b};
    return musparse_submit_wait(h, run_analysis, &v, sizeof v);
}

musparseStatus_t musparseDenseToSparse_convert(musparseHandle_t h, musparseConstDnMatDescr_t a, musparseSpMatDescr_t b,
                                               musparseDenseToSparseAlg_t alg, void *buffer)
{
    musparseStatus_t r = check(h, b, a, alg);
    (void)buffer;
    if (r)
        return r;
    POINTERS(!b->nnz || (b->indices && b->values && (b->offsets || b->format == BELL)));
    struct conversion v = {.sparse = *b, .dense = *a};
    return musparse_submit(h, run_convert, &v, sizeof v, (double)b->rows * (double)b->cols * 8);
}
