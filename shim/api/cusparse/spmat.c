/* cuSPARSE's sparse matrix descriptors. */
#include <stdlib.h>

#include "api/cusparse/spmat.h"

size_t cumu_cusparse_size(int type)
{
    switch (type) {
    case CUDA_R_8I: return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_C_16F:
    case CUDA_C_16BF: return 4;
    case CUDA_R_64F:
    case CUDA_C_32F: return 8;
    case CUDA_C_64F: return 16;
    default: return 0;
    }
}

int cumu_cusparse_format(const struct cumu_spmat *m, const char *function)
{
    static const char *const name[] = {"?", "CSR", "CSC", "COO", "?", "blocked ELL", "BSR", "sliced ELL"};
    cumu_gap("cusparse", function, "muSPARSE has no matrices of format %s", name[m->format & 7]);
    return CUSPARSE_STATUS_NOT_SUPPORTED;
}

/* Gives the descriptor to the program if muSPARSE took it. */
static int keep(void *out, struct cumu_spmat *m, int status)
{
    if (status) {
        free(m);
        return CUSPARSE(status);
    }
    m->batch = 1;
    *(struct cumu_spmat **)out = m;
    return CUSPARSE_STATUS_SUCCESS;
}

static struct cumu_spmat *make(struct cumu_spmat from)
{
    struct cumu_spmat *m = malloc(sizeof *m);
    if (m)
        *m = from;
    return m;
}

static int compressed(int format, void *out, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *indices,
                      void *values, int otype, int itype, int base, int type)
{
    CUSPARSE_CHECK(out);
    struct cumu_spmat *m = make((struct cumu_spmat){.format = format,
                                                    .rows = rows,
                                                    .cols = cols,
                                                    .nnz = nnz,
                                                    .offsets = offsets,
                                                    .indices = indices,
                                                    .values = values,
                                                    .offsets_type = otype,
                                                    .index_type = itype,
                                                    .base = base,
                                                    .type = type});
    if (!m)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    musparseSpMatDescr_t *mu_out = (musparseSpMatDescr_t *)&m->mu;
    int r = format == CUSPARSE_FORMAT_CSR
                ? mu.musparseCreateCsr(mu_out, rows, cols, nnz, offsets, indices, values, otype, itype, base, type)
            : format == CUSPARSE_FORMAT_CSC
                ? mu.musparseCreateCsc(mu_out, rows, cols, nnz, offsets, indices, values, otype, itype, base, type)
                : mu.musparseCreateCoo(mu_out, rows, cols, nnz, offsets, indices, values, itype, base, type);
    return keep(out, m, r);
}

int wrap_cusparseCreateCsr(void *out, long long rows, long long cols, long long nnz, void *offsets, void *columns,
                           void *values, int otype, int itype, int base, int type)
{
    return compressed(CUSPARSE_FORMAT_CSR, out, rows, cols, nnz, offsets, columns, values, otype, itype, base, type);
}

int wrap_cusparseCreateCsc(void *out, long long rows, long long cols, long long nnz, void *offsets, void *rowind,
                           void *values, int otype, int itype, int base, int type)
{
    return compressed(CUSPARSE_FORMAT_CSC, out, rows, cols, nnz, offsets, rowind, values, otype, itype, base, type);
}

int wrap_cusparseCreateCoo(void *out, long long rows, long long cols, long long nnz, void *rowind, void *columns,
                           void *values, int itype, int base, int type)
{
    return compressed(CUSPARSE_FORMAT_COO, out, rows, cols, nnz, rowind, columns, values, itype, itype, base, type);
}

int wrap_cusparseCreateBlockedEll(void *out, long long rows, long long cols, long long block, long long width,
                                  void *columns, void *values, int itype, int base, int type)
{
    CUSPARSE_CHECK(out);
    struct cumu_spmat *m = make((struct cumu_spmat){.format = CUSPARSE_FORMAT_BLOCKED_ELL,
                                                    .rows = rows,
                                                    .cols = cols,
                                                    .nnz = rows * width,
                                                    .block_rows = block,
                                                    .width = width,
                                                    .indices = columns,
                                                    .values = values,
                                                    .offsets_type = itype,
                                                    .index_type = itype,
                                                    .base = base,
                                                    .type = type});
    if (!m)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    return keep(out, m,
                mu.musparseCreateBlockedEll((musparseSpMatDescr_t *)&m->mu, rows, cols, block, width, columns, values,
                                            itype, base, type));
}

static bool index_type(int type) { return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }

int wrap_cusparseCreateBsr(void *out, long long brows, long long bcols, long long bnnz, long long block_rows,
                           long long block_cols, void *offsets, void *columns, void *values, int otype, int itype,
                           int base, int type, int order)
{
    CUSPARSE_CHECK(out && brows >= 0 && bcols >= 0 && bnnz >= 0 && block_rows > 0 && block_cols > 0);
    CUSPARSE_CHECK(index_type(otype) && index_type(itype) && (base == 0 || base == 1) && cumu_cusparse_size(type));
    CUSPARSE_CHECK(order == CUSPARSE_ORDER_COL || order == CUSPARSE_ORDER_ROW);
    struct cumu_spmat *m = make((struct cumu_spmat){.format = CUSPARSE_FORMAT_BSR,
                                                    .rows = brows * block_rows,
                                                    .cols = bcols * block_cols,
                                                    .nnz = bnnz * block_rows * block_cols,
                                                    .block_rows = block_rows,
                                                    .block_cols = block_cols,
                                                    .offsets = offsets,
                                                    .indices = columns,
                                                    .values = values,
                                                    .offsets_type = otype,
                                                    .index_type = itype,
                                                    .base = base,
                                                    .type = type,
                                                    .order = order});
    return m ? keep(out, m, 0) : CUSPARSE_STATUS_ALLOC_FAILED;
}

int wrap_cusparseCreateSlicedEll(void *out, long long rows, long long cols, long long nnz, long long size,
                                 long long slice, void *offsets, void *columns, void *values, int otype, int itype,
                                 int base, int type)
{
    CUSPARSE_CHECK(out && rows >= 0 && cols >= 0 && nnz >= 0 && size >= nnz && slice > 0);
    CUSPARSE_CHECK(index_type(otype) && index_type(itype) && (base == 0 || base == 1) && cumu_cusparse_size(type));
    struct cumu_spmat *m = make((struct cumu_spmat){.format = CUSPARSE_FORMAT_SLICED_ELLPACK,
                                                    .rows = rows,
                                                    .cols = cols,
                                                    .nnz = nnz,
                                                    .block_rows = slice,
                                                    .width = size,
                                                    .offsets = offsets,
                                                    .indices = columns,
                                                    .values = values,
                                                    .offsets_type = otype,
                                                    .index_type = itype,
                                                    .base = base,
                                                    .type = type});
    return m ? keep(out, m, 0) : CUSPARSE_STATUS_ALLOC_FAILED;
}

int wrap_cusparseDestroySpMat(const void *descr)
{
    CUSPARSE_CHECK(descr);
    const struct cumu_spmat *m = descr;
    int r = m->mu ? CUSPARSE(mu.musparseDestroySpMat(m->mu)) : CUSPARSE_STATUS_SUCCESS;
    free((void *)(uintptr_t)descr);
    return r;
}

/* ---- what they tell */

/* muSPARSE knows nnz better: products and conversions set it. */
static int64_t nnz_of(const struct cumu_spmat *m)
{
    int64_t rows, cols, nnz;
    if (m->mu && m->format != CUSPARSE_FORMAT_BLOCKED_ELL &&
        mu.musparseSpMatGetSize(m->mu, &rows, &cols, &nnz) == MUSPARSE_STATUS_SUCCESS)
        return nnz;
    return m->nnz;
}

static int get(const struct cumu_spmat *m, int format, int64_t *rows, int64_t *cols, int64_t *nnz, void **offsets,
               void **indices, void **values, int *otype, int *itype, int *base, int *type)
{
    CUSPARSE_CHECK(m && rows && cols && nnz && offsets && indices && values && otype && itype && base && type);
    CUSPARSE_CHECK(m->format == format);
    *rows = m->rows;
    *cols = m->cols;
    *nnz = nnz_of(m);
    *offsets = m->offsets;
    *indices = m->indices;
    *values = m->values;
    *otype = m->offsets_type;
    *itype = m->index_type;
    *base = m->base;
    *type = m->type;
    return CUSPARSE_STATUS_SUCCESS;
}

int wrap_cusparseCsrGet(const void *m, void *rows, void *cols, void *nnz, void *offsets, void *indices, void *values,
                        void *otype, void *itype, void *base, void *type)
{
    return get(m, CUSPARSE_FORMAT_CSR, rows, cols, nnz, offsets, indices, values, otype, itype, base, type);
}

int wrap_cusparseCscGet(const void *m, void *rows, void *cols, void *nnz, void *offsets, void *indices, void *values,
                        void *otype, void *itype, void *base, void *type)
{
    return get(m, CUSPARSE_FORMAT_CSC, rows, cols, nnz, offsets, indices, values, otype, itype, base, type);
}

int wrap_cusparseCooGet(const void *m, void *rows, void *cols, void *nnz, void *rowind, void *columns, void *values,
                        void *itype, void *base, void *type)
{
    int otype;
    return get(m, CUSPARSE_FORMAT_COO, rows, cols, nnz, rowind, columns, values, &otype, itype, base, type);
}

int wrap_cusparseBlockedEllGet(const void *descr, void *rows, void *cols, void *block, void *width, void *columns,
                               void *values, void *itype, void *base, void *type)
{
    const struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m && rows && cols && block && width && columns && values && itype && base && type);
    CUSPARSE_CHECK(m->format == CUSPARSE_FORMAT_BLOCKED_ELL);
    *(int64_t *)rows = m->rows;
    *(int64_t *)cols = m->cols;
    *(int64_t *)block = m->block_rows;
    *(int64_t *)width = m->width;
    *(void **)columns = m->indices;
    *(void **)values = m->values;
    *(int *)itype = m->index_type;
    *(int *)base = m->base;
    *(int *)type = m->type;
    return CUSPARSE_STATUS_SUCCESS;
}

int wrap_cusparseSpMatGetSize(const void *descr, void *rows, void *cols, void *nnz)
{
    const struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m && rows && cols && nnz);
    *(int64_t *)rows = m->rows;
    *(int64_t *)cols = m->cols;
    *(int64_t *)nnz = nnz_of(m);
    return CUSPARSE_STATUS_SUCCESS;
}

#define FIELD(name, out_type, field) \
    int wrap_cusparseSpMatGet##name(const void *descr, void *out) \
    { \
        const struct cumu_spmat *m = descr; \
        CUSPARSE_CHECK(m &&out); \
        *(out_type *)out = m->field; \
        return CUSPARSE_STATUS_SUCCESS; \
    }
FIELD(Format, int, format)
FIELD(IndexBase, int, base)
FIELD(Values, void *, values)
FIELD(StridedBatch, int, batch)

int wrap_cusparseSpMatGetAttribute(const void *descr, int attribute, void *data, size_t size)
{
    const struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m && data && size == sizeof(int));
    CUSPARSE_CHECK(attribute == CUSPARSE_SPMAT_FILL_MODE || attribute == CUSPARSE_SPMAT_DIAG_TYPE);
    *(int *)data = attribute == CUSPARSE_SPMAT_FILL_MODE ? m->fill : m->diag;
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- what is told them */

int wrap_cusparseSpMatSetAttribute(void *descr, int attribute, void *data, size_t size)
{
    struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m && data && size == sizeof(int) && (*(int *)data == 0 || *(int *)data == 1));
    CUSPARSE_CHECK(attribute == CUSPARSE_SPMAT_FILL_MODE || attribute == CUSPARSE_SPMAT_DIAG_TYPE);
    int r = m->mu ? CUSPARSE(mu.musparseSpMatSetAttribute(m->mu, attribute, data, size)) : 0;
    if (!r)
        *(attribute == CUSPARSE_SPMAT_FILL_MODE ? &m->fill : &m->diag) = *(int *)data;
    return r;
}

int wrap_cusparseSpMatSetValues(void *descr, void *values)
{
    struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m && values);
    int r = m->mu ? CUSPARSE(mu.musparseSpMatSetValues(m->mu, values)) : 0;
    if (!r)
        m->values = values;
    return r;
}

#define SET_POINTERS(name, kind) \
    int wrap_cusparse##name##SetPointers(void *descr, void *offsets, void *indices, void *values) \
    { \
        struct cumu_spmat *m = descr; \
        CUSPARSE_CHECK(m && m->format == kind); \
        int r = CUSPARSE(mu.musparse##name##SetPointers(m->mu, offsets, indices, values)); \
        if (!r) { \
            m->offsets = offsets; \
            m->indices = indices; \
            m->values = values; \
        } \
        return r; \
    }
SET_POINTERS(Csr, CUSPARSE_FORMAT_CSR)
SET_POINTERS(Csc, CUSPARSE_FORMAT_CSC)
SET_POINTERS(Coo, CUSPARSE_FORMAT_COO)

static int batched(struct cumu_spmat *m, int batch, int64_t stride, int r)
{
    if (!r) {
        m->batch = batch;
        m->batch_stride = stride;
    }
    return r;
}

int wrap_cusparseCsrSetStridedBatch(void *descr, int batch, long long offsets, long long values)
{
    struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m && m->format == CUSPARSE_FORMAT_CSR);
    return batched(m, batch, values, CUSPARSE(mu.musparseCsrSetStridedBatch(m->mu, batch, offsets, values)));
}

int wrap_cusparseCooSetStridedBatch(void *descr, int batch, long long stride)
{
    struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m && m->format == CUSPARSE_FORMAT_COO);
    return batched(m, batch, stride, CUSPARSE(mu.musparseCooSetStridedBatch(m->mu, batch, stride)));
}

/* CUDA 11's first form: COO whose arrays follow each other. */
int wrap_cusparseSpMatSetStridedBatch(void *descr, int batch)
{
    struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m);
    return m->format == CUSPARSE_FORMAT_COO ? wrap_cusparseCooSetStridedBatch(m, batch, m->nnz)
                                            : cumu_cusparse_format(m, "cusparseSpMatSetStridedBatch");
}

int wrap_cusparseBsrSetStridedBatch(void *descr, int batch, long long offsets, long long columns, long long values)
{
    struct cumu_spmat *m = descr;
    CUSPARSE_CHECK(m && m->format == CUSPARSE_FORMAT_BSR && batch > 0);
    CUSPARSE_CHECK(offsets >= 0 && columns >= 0 && values >= 0);
    m->batch_offsets = offsets;
    m->batch_columns = columns;
    return batched(m, batch, values, CUSPARSE_STATUS_SUCCESS);
}
