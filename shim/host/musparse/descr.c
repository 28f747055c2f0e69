/* Descriptors of the CPU muSPARSE: vectors, matrices, the legacy matrix description. */
#include <stdlib.h>

#include "host/musparse/musparse.h"

static bool base_valid(musparseIndexBase_t b) { return b == MUSPARSE_INDEX_BASE_ZERO || b == MUSPARSE_INDEX_BASE_ONE; }

/* A copy of the filled-in descriptor for the caller. */
#define MAKE(out, ...) \
    do { \
        __typeof__(*(out)) made_ = malloc(sizeof *made_); \
        CHECK(made_, MEMORY_ERROR); \
        *made_ = (__typeof__(*made_))__VA_ARGS__; \
        *(out) = made_; \
        return MUSPARSE_STATUS_SUCCESS; \
    } while (0)
#define DESTROY(name, type) \
    musparseStatus_t musparseDestroy##name(type descr) \
    { \
        POINTERS(descr); \
        free((void *)(uintptr_t)descr); \
        return MUSPARSE_STATUS_SUCCESS; \
    }

musparseStatus_t musparseCreateMatDescr(musparseMatDescr_t *descr)
{
    POINTERS(descr);
    MAKE(descr, {0});
}
DESTROY(MatDescr, musparseMatDescr_t)

#define PART(name, type, field, last) \
    musparseStatus_t musparseSet##name(musparseMatDescr_t descr, type value) \
    { \
        POINTERS(descr); \
        VALUES(value >= 0 && value <= last); \
        descr->field = value; \
        return MUSPARSE_STATUS_SUCCESS; \
    } \
    type musparseGet##name(musparseConstMatDescr_t descr) { return descr ? descr->field : 0; }
PART(MatType, musparseMatrixType_t, type, MUSPARSE_MATRIX_TYPE_TRIANGULAR)
PART(MatFillMode, musparseFillMode_t, fill, MUSPARSE_FILL_MODE_UPPER)
PART(MatDiagType, musparseDiagType_t, diag, MUSPARSE_DIAG_TYPE_UNIT)
PART(MatIndexBase, musparseIndexBase_t, base, MUSPARSE_INDEX_BASE_ONE)

musparseStatus_t musparseCreateSpVec(musparseSpVecDescr_t *descr, int64_t size, int64_t nnz, void *indices,
                                     void *values, musparseIndexType_t itype, musparseIndexBase_t base,
                                     musaDataType_t type)
{
    POINTERS(descr);
    SIZES(size >= 0 && nnz >= 0 && nnz <= size);
    POINTERS(!nnz || (indices && values));
    VALUES(musparse_index_size(itype) && base_valid(base) && musparse_size(type));
    MAKE(descr, {size, nnz, indices, values, itype, base, type});
}
DESTROY(SpVec, musparseConstSpVecDescr_t)

musparseStatus_t musparseSpVecGet(musparseConstSpVecDescr_t v, int64_t *size, int64_t *nnz, void **indices,
                                  void **values, musparseIndexType_t *itype, musparseIndexBase_t *base,
                                  musaDataType_t *type)
{
    POINTERS(v && size && nnz && indices && values && itype && base && type);
    *size = v->size;
    *nnz = v->nnz;
    *indices = v->indices;
    *values = v->values;
    *itype = v->itype;
    *base = v->base;
    *type = v->type;
    return MUSPARSE_STATUS_SUCCESS;
}

#define GET(name, type, out, field) \
    musparseStatus_t musparse##name(type descr, out *to) \
    { \
        POINTERS(descr &&to); \
        *to = descr->field; \
        return MUSPARSE_STATUS_SUCCESS; \
    }
#define SET(name, type) \
    musparseStatus_t musparse##name(type descr, void *values) \
    { \
        POINTERS(descr &&values); \
        descr->values = values; \
        return MUSPARSE_STATUS_SUCCESS; \
    }
GET(SpVecGetIndexBase, musparseConstSpVecDescr_t, musparseIndexBase_t, base)
GET(SpVecGetValues, musparseConstSpVecDescr_t, void *, values)
SET(SpVecSetValues, musparseSpVecDescr_t)
GET(DnVecGetValues, musparseConstDnVecDescr_t, void *, values)
SET(DnVecSetValues, musparseDnVecDescr_t)
GET(DnMatGetValues, musparseConstDnMatDescr_t, void *, values)
SET(DnMatSetValues, musparseDnMatDescr_t)
SET(SpMatSetValues, musparseSpMatDescr_t)

musparseStatus_t musparseCreateDnVec(musparseDnVecDescr_t *descr, int64_t size, void *values, musaDataType_t type)
{
    POINTERS(descr && (values || !size));
    SIZES(size >= 0);
    VALUES(musparse_size(type));
    MAKE(descr, {size, values, type});
}
DESTROY(DnVec, musparseConstDnVecDescr_t)

musparseStatus_t musparseDnVecGet(musparseConstDnVecDescr_t v, int64_t *size, void **values, musaDataType_t *type)
{
    POINTERS(v && size && values && type);
    *size = v->size;
    *values = v->values;
    *type = v->type;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseCreateDnMat(musparseDnMatDescr_t *descr, int64_t rows, int64_t cols, int64_t ld, void *values,
                                     musaDataType_t type, musparseOrder_t order)
{
    POINTERS(descr && (values || !rows || !cols));
    VALUES(musparse_size(type) && (order == MUSPARSE_ORDER_COLUMN || order == MUSPARSE_ORDER_ROW));
    SIZES(rows >= 0 && cols >= 0 && ld >= (order == MUSPARSE_ORDER_COLUMN ? rows : cols));
    MAKE(descr, {rows, cols, ld, 0, values, type, order, 1});
}
DESTROY(DnMat, musparseConstDnMatDescr_t)

musparseStatus_t musparseDnMatGet(musparseConstDnMatDescr_t m, int64_t *rows, int64_t *cols, int64_t *ld, void **values,
                                  musaDataType_t *type, musparseOrder_t *order)
{
    POINTERS(m && rows && cols && ld && values && type && order);
    *rows = m->rows;
    *cols = m->cols;
    *ld = m->ld;
    *values = m->values;
    *type = m->type;
    *order = m->order;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseDnMatSetStridedBatch(musparseDnMatDescr_t m, int batch, int64_t stride)
{
    POINTERS(m);
    SIZES(batch > 0 && stride >= 0);
    m->batch = batch;
    m->stride = stride;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseDnMatGetStridedBatch(musparseConstDnMatDescr_t m, int *batch, int64_t *stride)
{
    POINTERS(m && batch && stride);
    *batch = m->batch;
    *stride = m->stride;
    return MUSPARSE_STATUS_SUCCESS;
}

/* Arrays may be missing until a call that reads them: results get theirs later. */
static musparseStatus_t compressed(musparseSpMatDescr_t *descr, enum format format, int64_t rows, int64_t cols,
                                   int64_t nnz, void *offsets, void *indices, void *values, musparseIndexType_t otype,
                                   musparseIndexType_t itype, musparseIndexBase_t base, musaDataType_t type)
{
    POINTERS(descr);
    SIZES(rows >= 0 && cols >= 0 && nnz >= 0);
    SIZES(nnz == 0 || nnz / (rows ? rows : 1) <= cols);
    VALUES(musparse_index_size(otype) && musparse_index_size(itype) && base_valid(base) && musparse_size(type));
    VALUES(otype != MUSPARSE_INDEX_16U && itype <= otype);
    MAKE(descr, {.format = format,
                 .rows = rows,
                 .cols = cols,
                 .nnz = nnz,
                 .offsets = offsets,
                 .indices = indices,
                 .values = values,
                 .otype = otype,
                 .itype = itype,
                 .base = base,
                 .type = type,
                 .batch = 1});
}

musparseStatus_t musparseCreateCsr(musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *offsets,
                                   void *columns, void *values, musparseIndexType_t otype, musparseIndexType_t itype,
                                   musparseIndexBase_t base, musaDataType_t type)
{
    return compressed(descr, CSR, rows, cols, nnz, offsets, columns, values, otype, itype, base, type);
}

musparseStatus_t musparseCreateCsc(musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *offsets,
                                   void *rowind, void *values, musparseIndexType_t otype, musparseIndexType_t itype,
                                   musparseIndexBase_t base, musaDataType_t type)
{
    return compressed(descr, CSC, rows, cols, nnz, offsets, rowind, values, otype, itype, base, type);
}

musparseStatus_t musparseCreateCoo(musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *rowind,
                                   void *columns, void *values, musparseIndexType_t itype, musparseIndexBase_t base,
                                   musaDataType_t type)
{
    return compressed(descr, COO, rows, cols, nnz, rowind, columns, values, itype, itype, base, type);
}

musparseStatus_t musparseCreateBlockedEll(musparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t block,
                                          int64_t ellcols, void *columns, void *values, musparseIndexType_t itype,
                                          musparseIndexBase_t base, musaDataType_t type)
{
    POINTERS(descr && ((columns && values) || !rows || !ellcols));
    SIZES(rows >= 0 && cols >= 0 && block > 0 && ellcols >= 0 && ellcols <= cols);
    SIZES(rows % block == 0 && cols % block == 0 && ellcols % block == 0);
    VALUES(musparse_index_size(itype) && base_valid(base) && musparse_size(type));
    MAKE(descr, {.format = BELL,
                 .rows = rows,
                 .cols = cols,
                 .nnz = rows * ellcols,
                 .indices = columns,
                 .values = values,
                 .otype = itype,
                 .itype = itype,
                 .base = base,
                 .type = type,
                 .block = block,
                 .ellcols = ellcols,
                 .batch = 1});
}
DESTROY(SpMat, musparseConstSpMatDescr_t)

musparseStatus_t musparseSpMatGetSize(musparseConstSpMatDescr_t m, int64_t *rows, int64_t *cols, int64_t *nnz)
{
    POINTERS(m && rows && cols && nnz);
    *rows = m->rows;
    *cols = m->cols;
    *nnz = m->nnz;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseSpMatSetAttribute(musparseSpMatDescr_t m, musparseSpMatAttribute_t what, const void *data,
                                           size_t size)
{
    POINTERS(m && data);
    SIZES(size == sizeof(int));
    int value = *(const int *)data;
    VALUES(value == 0 || value == 1);
    switch (what) {
    case MUSPARSE_SPMAT_FILL_MODE: m->fill = value; break;
    case MUSPARSE_SPMAT_DIAG_TYPE: m->diag = value; break;
    default: return MUSPARSE_STATUS_INVALID_VALUE;
    }
    return MUSPARSE_STATUS_SUCCESS;
}

#define POINTERS_OF(name, kind) \
    musparseStatus_t musparse##name##SetPointers(musparseSpMatDescr_t m, void *offsets, void *indices, void *values) \
    { \
        POINTERS(m &&offsets); \
        CHECK(m->format == kind, INVALID_VALUE); \
        m->offsets = offsets; \
        m->indices = indices; \
        m->values = values; \
        return MUSPARSE_STATUS_SUCCESS; \
    }
POINTERS_OF(Csr, CSR)
POINTERS_OF(Csc, CSC)
POINTERS_OF(Coo, COO)

static musparseStatus_t batched(musparseSpMatDescr_t m, enum format format, int batch, int64_t offsets, int64_t values)
{
    POINTERS(m);
    VALUES(m->format == format);
    SIZES(batch > 0 && offsets >= 0 && values >= 0);
    m->batch = batch;
    m->offsets_stride = offsets;
    m->values_stride = values;
    return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseCsrSetStridedBatch(musparseSpMatDescr_t m, int batch, int64_t offsets, int64_t values)
{
    return batched(m, CSR, batch, offsets, values);
}

musparseStatus_t musparseCooSetStridedBatch(musparseSpMatDescr_t m, int batch, int64_t stride)
{
    return batched(m, COO, batch, stride, stride);
}
