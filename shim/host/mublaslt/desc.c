/* Handles and descriptions of the CPU muBLASLt: tables of attributes. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/places.h"
#include "host/mublaslt/mublaslt.h"

/* ---- handles ----------------------------------------------------------------------------------- */

enum { HANDLES = 1024 };

struct mublasLtContext {
    struct maths_place place;
};
static struct mublasLtContext handles[HANDLES];
static struct maths_places places = MATHS_PLACES(handles);

bool lt_live(mublasLtHandle_t h) { return maths_live(&places, h); }

mublasStatus_t mublasLtCreate(mublasLtHandle_t *handle)
{
    if (!handle)
        return MUBLAS_STATUS_INVALID_POINTER;
    if (!maths_context())
        return MUBLAS_STATUS_INVALID_HANDLE;
    struct mublasLtContext *h = maths_take(&places);
    if (!h)
        return MUBLAS_STATUS_MEMORY_ERROR;
    h->place.live = true;
    *handle = h;
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublasLtDestroy(mublasLtHandle_t h)
{
    if (!maths_end(&places, h))
        return MUBLAS_STATUS_INVALID_HANDLE;
    maths_free(h);
    return MUBLAS_STATUS_SUCCESS;
}

/* ---- attributes -------------------------------------------------------------------------------- */

static const struct lt_attribute *find(const struct lt_attribute *table, int id)
{
    while (table->size && table->id != id)
        table++;
    return table->size ? table : NULL;
}

mublasStatus_t lt_set(const struct lt_attribute *table, void *object, int id, const void *buf, size_t size)
{
    const struct lt_attribute *a = find(table, id);
    if (!object || !buf || !a || size != a->size)
        return MUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)object + a->offset, buf, size);
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t lt_get(const struct lt_attribute *table, const void *object, int id, void *buf, size_t size,
                      size_t *written)
{
    const struct lt_attribute *a = find(table, id);
    if (!object || !a || (size ? !buf || size != a->size : !written))
        return MUBLAS_STATUS_INVALID_VALUE;
    if (written)
        *written = a->size;
    if (size)
        memcpy(buf, (const char *)object + a->offset, size);
    return MUBLAS_STATUS_SUCCESS;
}

#define ROW(id, T, field) \
    { \
        id, offsetof(struct T, field), sizeof((struct T *)NULL)->field \
    }

#define OP(name, field) ROW(MUBLASLT_MATMUL_DESC_##name, mublasLtMatmulDesc, field)
static const struct lt_attribute desc_table[] = {OP(COMPUTE_TYPE, compute),
                                                 OP(SCALE_TYPE, scale),
                                                 OP(POINTER_MODE, pointers),
                                                 OP(TRANSA, op[0]),
                                                 OP(TRANSB, op[1]),
                                                 OP(TRANSC, op[2]),
                                                 OP(FILL_MODE, fill),
                                                 OP(EPILOGUE, epilogue),
                                                 OP(BIAS_POINTER, bias),
                                                 OP(BIAS_BATCH_STRIDE, bias_stride),
                                                 OP(EPILOGUE_AUX_POINTER, aux),
                                                 OP(EPILOGUE_AUX_LD, aux_ld),
                                                 OP(EPILOGUE_AUX_BATCH_STRIDE, aux_stride),
                                                 OP(ALPHA_VECTOR_BATCH_STRIDE, alpha_stride),
                                                 OP(A_SCALE_POINTER, a_scale),
                                                 OP(B_SCALE_POINTER, b_scale),
                                                 OP(C_SCALE_POINTER, c_scale),
                                                 OP(D_SCALE_POINTER, d_scale),
                                                 OP(AMAX_D_POINTER, d_amax),
                                                 OP(EPILOGUE_AUX_DATA_TYPE, aux_type),
                                                 OP(EPILOGUE_AUX_SCALE_POINTER, aux_scale),
                                                 OP(EPILOGUE_AUX_AMAX_POINTER, aux_amax),
                                                 OP(BIAS_DATA_TYPE, bias_type),
                                                 OP(A_SCALE_MODE, a_mode),
                                                 OP(B_SCALE_MODE, b_mode),
                                                 OP(C_SCALE_MODE, c_mode),
                                                 OP(D_SCALE_MODE, d_mode),
                                                 OP(EPILOGUE_AUX_SCALE_MODE, aux_mode),
                                                 OP(D_OUT_SCALE_POINTER, out_scale),
                                                 OP(D_OUT_SCALE_MODE, out_mode),
                                                 {0, 0, 0}};

#define MATRIX(name, field) ROW(MUBLASLT_MATRIX_LAYOUT_##name, mublasLtMatrixLayout, field)
static const struct lt_attribute layout_table[] = {MATRIX(TYPE, type),
                                                   MATRIX(ORDER, order),
                                                   MATRIX(ROWS, rows),
                                                   MATRIX(COLS, cols),
                                                   MATRIX(LD, ld),
                                                   MATRIX(BATCH_COUNT, batch),
                                                   MATRIX(BATCH_MODE, mode),
                                                   MATRIX(STRIDED_BATCH_OFFSET, stride),
                                                   MATRIX(PLANE_OFFSET, plane),
                                                   {0, 0, 0}};

#define WISH(name, field) ROW(MUBLASLT_MATMUL_PREF_##name, mublasLtMatmulPreference, field)
static const struct lt_attribute preference_table[] = {
    WISH(MAX_WORKSPACE_BYTES, workspace),  WISH(MIN_ALIGNMENT_A_BYTES, align[0]), WISH(MIN_ALIGNMENT_B_BYTES, align[1]),
    WISH(MIN_ALIGNMENT_C_BYTES, align[2]), WISH(MIN_ALIGNMENT_D_BYTES, align[3]), {0, 0, 0}};

#define CHANGE(name, field) ROW(MUBLASLT_MATRIX_TRANSFORM_DESC_##name, mublasLtMatrixTransformDesc, field)
static const struct lt_attribute transform_table[] = {
    CHANGE(SCALE_TYPE, scale), CHANGE(POINTER_MODE, pointers), CHANGE(TRANSA, op[0]), CHANGE(TRANSB, op[1]), {0, 0, 0}};

/* ---- descriptions ------------------------------------------------------------------------------ */

static mublasStatus_t make(void *handle, const void *object, size_t size)
{
    void *copy = malloc(size);
    if (!copy)
        return MUBLAS_STATUS_MEMORY_ERROR;
    memcpy(copy, object, size);
    *(void **)handle = copy;
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublasLtMatmulDescCreate(mublasLtMatmulDesc_t *desc, mublasComputeType_t compute, int scale_type)
{
    struct mublasLtMatmulDesc d = {
        .compute = compute,
        .scale = scale_type,
        .op = {MUBLAS_OP_N, MUBLAS_OP_N, MUBLAS_OP_N},
        .fill = MUBLAS_FILL_MODE_FULL,
        .epilogue = MUBLASLT_EPILOGUE_DEFAULT,
        .aux_type = -1,
        .bias_type = -1,
    };
    return desc && compute ? make(desc, &d, sizeof d) : MUBLAS_STATUS_INVALID_VALUE;
}

mublasStatus_t mublasLtMatrixLayoutCreate(mublasLtMatrixLayout_t *layout, int type, uint64_t rows, uint64_t cols,
                                          int64_t ld)
{
    struct mublasLtMatrixLayout l = {.type = type, .rows = rows, .cols = cols, .ld = ld, .batch = 1};
    return layout ? make(layout, &l, sizeof l) : MUBLAS_STATUS_INVALID_VALUE;
}

mublasStatus_t mublasLtMatmulPreferenceCreate(mublasLtMatmulPreference_t *preference)
{
    struct mublasLtMatmulPreference p = {.align = {256, 256, 256, 256}};
    return preference ? make(preference, &p, sizeof p) : MUBLAS_STATUS_INVALID_VALUE;
}

mublasStatus_t mublasLtMatrixTransformDescCreate(mublasLtMatrixTransformDesc_t *desc, int scale_type)
{
    struct mublasLtMatrixTransformDesc d = {.scale = scale_type, .op = {MUBLAS_OP_N, MUBLAS_OP_N}};
    return desc ? make(desc, &d, sizeof d) : MUBLAS_STATUS_INVALID_VALUE;
}

#define KIND(name, T, table) \
    mublasStatus_t mublasLt##name##Destroy(T object) \
    { \
        free(object); \
        return MUBLAS_STATUS_SUCCESS; \
    } \
    mublasStatus_t mublasLt##name##SetAttribute(T object, int id, const void *buf, size_t size) \
    { \
        return lt_set(table, object, id, buf, size); \
    }
#define READ(name, T, table) \
    mublasStatus_t mublasLt##name##GetAttribute(T object, int id, void *buf, size_t size, size_t *written) \
    { \
        return lt_get(table, object, id, buf, size, written); \
    }
KIND(MatmulDesc, mublasLtMatmulDesc_t, desc_table)
KIND(MatrixLayout, mublasLtMatrixLayout_t, layout_table)
KIND(MatmulPreference, mublasLtMatmulPreference_t, preference_table)
KIND(MatrixTransformDesc, mublasLtMatrixTransformDesc_t, transform_table)
READ(MatmulDesc, mublasLtMatmulDesc_t, desc_table)
READ(MatrixLayout, mublasLtMatrixLayout_t, layout_table)
