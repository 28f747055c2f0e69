/* cuBLASLt's descriptions: records of attributes in CUDA's values, with muBLASLt's object beside them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/cublaslt/lt.h"

/* In front of each record. A record of the program's memory is as large as its toolkit's struct, so fields stand in the
 * order in which releases brought them; what does not fit is refused. */
struct head {
    unsigned short magic, size;
};
enum { MAGIC = 0xc1b0, ALLOCATED = 8 }; /* and the kind */

struct desc { /* 88 bytes in 11.4, 184 in 11.8, 256 since 12.2 */
    struct head head;
    int compute, scale, pointers, op[3], fill, epilogue, processors;
    void *bias;
    int64_t bias_stride;
    void *aux;
    int64_t aux_ld, aux_stride, alpha_stride;
    void *a_scale, *b_scale, *c_scale, *d_scale, *d_amax, *aux_scale, *aux_amax;
    int aux_type, bias_type;
    signed char fast;
    int chunks[2];
    void *counters[2];
    int a_mode, b_mode, c_mode, d_mode, aux_mode, out_mode;
    void *out_scale, *emulation;
};
struct layout { /* 64 */
    struct head head;
    int type, order, batch, mode;
    uint64_t rows, cols;
    int64_t ld, stride, plane;
};
struct preference { /* 64; 80 before 12 */
    struct head head;
    unsigned search;
    uint64_t workspace, implementations;
    unsigned reduction, align[4];
    float waves;
    unsigned math, gaussian, pointers, epilogues;
    int processors;
};
struct transform {
    struct head head;
    int scale, pointers, op[2];
};
struct emulation {
    struct head head;
    int strategy, special, control, bits, offset;
    void *count;
};
_Static_assert(offsetof(struct desc, a_scale) == 88 && offsetof(struct desc, chunks) <= 184, "as 11.4 and 11.8");
_Static_assert(sizeof(struct desc) <= 256 && sizeof(struct layout) <= 64, "as 12.2");
_Static_assert(offsetof(struct preference, math) <= 64 && sizeof(struct preference) <= 80, "as 12 and 11");

/* What cublasLt...Create returns. */
struct object {
    union {
        struct head head;
        struct desc desc;
        struct layout layout;
        struct preference preference;
        struct transform transform;
        struct emulation emulation;
    } record;
    void *below;
};

/* OWN: only told back, for it changes speed alone. REFUSED: what muBLASLt can not do, but for the default. */
enum way { BELOW, OWN, REFUSED };
struct attribute {
    int id;
    unsigned char offset, size, way;
    int (*to_musa)(int);
};
#define ROW(id, T, field, ...) \
    { \
        id, offsetof(struct T, field), sizeof((struct T *)NULL)->field, __VA_ARGS__ \
    }
#define DESC(name, field, ...) ROW(CUBLASLT_MATMUL_DESC_##name, desc, field, __VA_ARGS__)
static const struct attribute desc_rows[] = {DESC(COMPUTE_TYPE, compute, BELOW, cumu_cublasComputeType_t_to_musa),
                                             DESC(SCALE_TYPE, scale, BELOW, NULL),
                                             DESC(POINTER_MODE, pointers, BELOW, NULL),
                                             DESC(TRANSA, op[0], BELOW, cumu_cublasOperation_t_to_musa),
                                             DESC(TRANSB, op[1], BELOW, cumu_cublasOperation_t_to_musa),
                                             DESC(TRANSC, op[2], BELOW, cumu_cublasOperation_t_to_musa),
                                             DESC(FILL_MODE, fill, BELOW, cumu_cublasFillMode_t_to_musa),
                                             DESC(EPILOGUE, epilogue, BELOW, NULL),
                                             DESC(BIAS_POINTER, bias, BELOW, NULL),
                                             DESC(BIAS_BATCH_STRIDE, bias_stride, BELOW, NULL),
                                             DESC(EPILOGUE_AUX_POINTER, aux, BELOW, NULL),
                                             DESC(EPILOGUE_AUX_LD, aux_ld, BELOW, NULL),
                                             DESC(EPILOGUE_AUX_BATCH_STRIDE, aux_stride, BELOW, NULL),
                                             DESC(ALPHA_VECTOR_BATCH_STRIDE, alpha_stride, BELOW, NULL),
                                             DESC(SM_COUNT_TARGET, processors, OWN, NULL),
                                             DESC(A_SCALE_POINTER, a_scale, BELOW, NULL),
                                             DESC(B_SCALE_POINTER, b_scale, BELOW, NULL),
                                             DESC(C_SCALE_POINTER, c_scale, BELOW, NULL),
                                             DESC(D_SCALE_POINTER, d_scale, BELOW, NULL),
                                             DESC(AMAX_D_POINTER, d_amax, BELOW, NULL),
                                             DESC(EPILOGUE_AUX_DATA_TYPE, aux_type, BELOW, NULL),
                                             DESC(EPILOGUE_AUX_SCALE_POINTER, aux_scale, BELOW, NULL),
                                             DESC(EPILOGUE_AUX_AMAX_POINTER, aux_amax, BELOW, NULL),
                                             DESC(FAST_ACCUM, fast, OWN, NULL),
                                             DESC(BIAS_DATA_TYPE, bias_type, BELOW, NULL),
                                             DESC(ATOMIC_SYNC_NUM_CHUNKS_D_ROWS, chunks[0], REFUSED, NULL),
                                             DESC(ATOMIC_SYNC_NUM_CHUNKS_D_COLS, chunks[1], REFUSED, NULL),
                                             DESC(ATOMIC_SYNC_IN_COUNTERS_POINTER, counters[0], REFUSED, NULL),
                                             DESC(ATOMIC_SYNC_OUT_COUNTERS_POINTER, counters[1], REFUSED, NULL),
                                             DESC(A_SCALE_MODE, a_mode, BELOW, NULL),
                                             DESC(B_SCALE_MODE, b_mode, BELOW, NULL),
                                             DESC(C_SCALE_MODE, c_mode, BELOW, NULL),
                                             DESC(D_SCALE_MODE, d_mode, BELOW, NULL),
                                             DESC(EPILOGUE_AUX_SCALE_MODE, aux_mode, BELOW, NULL),
                                             DESC(D_OUT_SCALE_POINTER, out_scale, BELOW, NULL),
                                             DESC(D_OUT_SCALE_MODE, out_mode, BELOW, NULL),
                                             DESC(EMULATION_DESCRIPTOR, emulation, OWN, NULL),
                                             {0}};
#define LAYOUT(name, field) ROW(CUBLASLT_MATRIX_LAYOUT_##name, layout, field, BELOW, NULL)
static const struct attribute layout_rows[] = {LAYOUT(TYPE, type),
                                               LAYOUT(ORDER, order),
                                               LAYOUT(ROWS, rows),
                                               LAYOUT(COLS, cols),
                                               LAYOUT(LD, ld),
                                               LAYOUT(BATCH_COUNT, batch),
                                               LAYOUT(STRIDED_BATCH_OFFSET, stride),
                                               LAYOUT(PLANE_OFFSET, plane),
                                               LAYOUT(BATCH_MODE, mode),
                                               {0}};
#define WISH(name, field, way) ROW(CUBLASLT_MATMUL_PREF_##name, preference, field, way, NULL)
static const struct attribute preference_rows[] = {WISH(SEARCH_MODE, search, OWN),
                                                   WISH(MAX_WORKSPACE_BYTES, workspace, BELOW),
                                                   WISH(MATH_MODE_MASK, math, OWN),
                                                   WISH(REDUCTION_SCHEME_MASK, reduction, OWN),
                                                   WISH(GAUSSIAN_MODE_MASK, gaussian, OWN),
                                                   WISH(MIN_ALIGNMENT_A_BYTES, align[0], BELOW),
                                                   WISH(MIN_ALIGNMENT_B_BYTES, align[1], BELOW),
                                                   WISH(MIN_ALIGNMENT_C_BYTES, align[2], BELOW),
                                                   WISH(MIN_ALIGNMENT_D_BYTES, align[3], BELOW),
                                                   WISH(MAX_WAVES_COUNT, waves, OWN),
                                                   WISH(POINTER_MODE_MASK, pointers, OWN),
                                                   WISH(EPILOGUE_MASK, epilogues, OWN),
                                                   WISH(IMPL_MASK, implementations, OWN),
                                                   WISH(SM_COUNT_TARGET, processors, OWN),
                                                   {0}};
#define CHANGE(name, field, to) ROW(CUBLASLT_MATRIX_TRANSFORM_DESC_##name, transform, field, BELOW, to)
static const struct attribute transform_rows[] = {CHANGE(SCALE_TYPE, scale, NULL),
                                                  CHANGE(POINTER_MODE, pointers, NULL),
                                                  CHANGE(TRANSA, op[0], cumu_cublasOperation_t_to_musa),
                                                  CHANGE(TRANSB, op[1], cumu_cublasOperation_t_to_musa),
                                                  {0}};
/* Another way to the same product: the CPU's, and muBLASLt's own, is as exact. */
#define EMULATE(name, field) ROW(CUBLASLT_EMULATION_DESC_##name, emulation, field, OWN, NULL)
static const struct attribute emulation_rows[] = {EMULATE(STRATEGY, strategy),
                                                  EMULATE(SPECIAL_VALUES_SUPPORT, special),
                                                  EMULATE(FIXEDPOINT_MANTISSA_CONTROL, control),
                                                  EMULATE(FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, bits),
                                                  EMULATE(FIXEDPOINT_MANTISSA_BIT_OFFSET, offset),
                                                  EMULATE(FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER, count),
                                                  {0}};

/* ---- muBLASLt's objects ------------------------------------------------------------------------ */

static int make_desc(const void *record, void **below)
{
    const struct desc *d = record;
    return mu.mublasLtMatmulDescCreate((mublasLtMatmulDesc_t *)below, cumu_cublasComputeType_t_to_musa(d->compute),
                                       d->scale);
}
static int make_layout(const void *record, void **below)
{
    const struct layout *l = record;
    return mu.mublasLtMatrixLayoutCreate((mublasLtMatrixLayout_t *)below, l->type, l->rows, l->cols, l->ld);
}
static int make_preference(const void *record, void **below)
{
    (void)record;
    return mu.mublasLtMatmulPreferenceCreate((mublasLtMatmulPreference_t *)below);
}
static int make_transform(const void *record, void **below)
{
    const struct transform *t = record;
    return mu.mublasLtMatrixTransformDescCreate((mublasLtMatrixTransformDesc_t *)below, t->scale);
}
#define OBJECT(name, T) \
    static int drop_##name(void *below) { return mu.mublasLt##T##Destroy(below); } \
    static int set_##name(void *below, int id, const void *buf, size_t size) \
    { \
        return mu.mublasLt##T##SetAttribute(below, id, buf, size); \
    }
OBJECT(desc, MatmulDesc)
OBJECT(layout, MatrixLayout)
OBJECT(preference, MatmulPreference)
OBJECT(transform, MatrixTransformDesc)

static const struct desc new_desc = {
    .fill = CUBLAS_FILL_MODE_FULL, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .aux_type = -1, .bias_type = -1};
static const struct layout new_layout = {.batch = 1};
static const struct preference new_preference = {
    .reduction = 7, .align = {256, 256, 256, 256}, .implementations = ~(uint64_t)0};
static const struct transform new_transform;
static const struct emulation new_emulation;

#define KIND(name) name##_rows, &new_##name, sizeof new_##name, make_##name, drop_##name, set_##name
static const struct kind {
    unsigned least; /* bytes of the smallest release */
    const struct attribute *rows;
    const void *fresh;
    size_t size;
    int (*make)(const void *record, void **below), (*drop)(void *below);
    int (*set)(void *below, int id, const void *buf, size_t size);
} kinds[] = {
    [CUMU_LT_DESC] = {88, KIND(desc)},
    [CUMU_LT_LAYOUT] = {64, KIND(layout)},
    [CUMU_LT_PREFERENCE] = {64, KIND(preference)},
    [CUMU_LT_TRANSFORM] = {64, KIND(transform)},
    [CUMU_LT_EMULATION] = {64, emulation_rows, &new_emulation, sizeof new_emulation, NULL, NULL, NULL},
};

static struct head *head_of(enum cumu_lt_kind kind, void *object)
{
    struct head *h = object;
    return h && (h->magic & ~ALLOCATED) == (MAGIC | (int)kind) ? h : NULL;
}
static void *below_of(struct head *h) { return h->magic & ALLOCATED ? ((struct object *)(void *)h)->below : NULL; }

/* The value that muBLASLt gets. */
static int send(const struct kind *k, const struct attribute *a, const void *record, void *below)
{
    const void *value = (const char *)record + a->offset;
    int number;
    if (a->to_musa) {
        memcpy(&number, value, sizeof number);
        number = a->to_musa(number);
        value = &number;
    }
    return CUBLAS(k->set(below, a->id, value, a->size));
}

int cumu_lt_use(enum cumu_lt_kind kind, void *object, void **below, bool *made)
{
    const struct kind *k = &kinds[kind];
    struct head *h = head_of(kind, object);
    *made = false;
    if (!h)
        return CUBLAS_STATUS_INVALID_VALUE;
    *below = below_of(h);
    if (*below)
        return CUBLAS_STATUS_SUCCESS;
    int r = CUBLAS(k->make(object, below));
    if (r)
        return r;
    *made = true;
    for (const struct attribute *a = k->rows; a->size && !r; a++)
        if (a->way == BELOW && a->offset + a->size <= h->size &&
            memcmp((char *)object + a->offset, (const char *)k->fresh + a->offset, a->size))
            r = send(k, a, object, *below);
    if (r)
        cumu_lt_leave(kind, *below, true);
    return r;
}

void cumu_lt_leave(enum cumu_lt_kind kind, void *below, bool made)
{
    if (made)
        kinds[kind].drop(below);
}

/* ---- CUDA's functions -------------------------------------------------------------------------- */

/* `fresh`: the record as it begins, without its head. */
static int init(enum cumu_lt_kind kind, void *object, size_t size, const void *fresh)
{
    const struct kind *k = &kinds[kind];
    if (!object || size < k->least)
        return CUBLAS_STATUS_INVALID_VALUE;
    struct head h = {(unsigned short)(MAGIC | (int)kind), (unsigned short)(size < k->size ? size : k->size)};
    memset(object, 0, size);
    memcpy(object, fresh, h.size);
    memcpy(object, &h, sizeof h);
    return CUBLAS_STATUS_SUCCESS;
}

static int create(enum cumu_lt_kind kind, void *to, const void *fresh)
{
    const struct kind *k = &kinds[kind];
    if (!to)
        return CUBLAS_STATUS_INVALID_VALUE;
    struct object *o = calloc(1, sizeof *o);
    if (!o)
        return CUBLAS_STATUS_ALLOC_FAILED;
    memcpy(&o->record, fresh, k->size);
    o->record.head = (struct head){(unsigned short)(MAGIC | ALLOCATED | (int)kind), (unsigned short)k->size};
    int r = k->make ? CUBLAS(k->make(&o->record, &o->below)) : CUBLAS_STATUS_SUCCESS;
    if (r)
        free(o);
    else
        *(void **)to = o;
    return r;
}

static int destroy(enum cumu_lt_kind kind, void *object)
{
    struct head *h = head_of(kind, object);
    if (!object)
        return CUBLAS_STATUS_SUCCESS;
    if (!h || !(h->magic & ALLOCATED))
        return CUBLAS_STATUS_INVALID_VALUE;
    void *below = below_of(h);
    int r = below ? CUBLAS(kinds[kind].drop(below)) : CUBLAS_STATUS_SUCCESS;
    h->magic = 0;
    free(object);
    return r;
}

static const struct attribute *row_of(enum cumu_lt_kind kind, const struct head *h, int id)
{
    const struct attribute *a = kinds[kind].rows;
    while (a->size && a->id != id)
        a++;
    return h && a->size && a->offset + a->size <= h->size ? a : NULL;
}

static int set(enum cumu_lt_kind kind, void *object, int id, const void *buf, size_t size)
{
    const struct kind *k = &kinds[kind];
    struct head *h = head_of(kind, object);
    const struct attribute *a = row_of(kind, h, id);
    if (!a || !buf || size != a->size)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a->way == REFUSED && memcmp(buf, (const char *)k->fresh + a->offset, size)) {
        cumu_gap("cublaslt", "cublasLtMatmulDescSetAttribute", "attribute %d: no counters between kernels", id);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    memcpy((char *)object + a->offset, buf, size);
    void *below = below_of(h);
    return below && a->way == BELOW ? send(k, a, object, below) : CUBLAS_STATUS_SUCCESS;
}

static int get(enum cumu_lt_kind kind, void *object, int id, void *buf, size_t size, size_t *written)
{
    const struct attribute *a = row_of(kind, head_of(kind, object), id);
    if (!a || (size ? !buf || size != a->size : !written))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (written)
        *written = a->size;
    if (size)
        memcpy(buf, (char *)object + a->offset, size);
    return CUBLAS_STATUS_SUCCESS;
}

static struct desc fresh_desc(int compute, int scale)
{
    struct desc d = new_desc;
    d.compute = compute, d.scale = scale;
    return d;
}
int wrap_cublasLtMatmulDescInit_internal(void *desc, size_t size, int compute, int scale)
{
    struct desc d = fresh_desc(compute, scale);
    return init(CUMU_LT_DESC, desc, size, &d);
}
int wrap_cublasLtMatmulDescCreate(void *desc, int compute, int scale)
{
    struct desc d = fresh_desc(compute, scale);
    return create(CUMU_LT_DESC, desc, &d);
}

static struct layout fresh_layout(int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    struct layout l = new_layout;
    l.type = type, l.rows = rows, l.cols = cols, l.ld = ld;
    return l;
}
int wrap_cublasLtMatrixLayoutInit_internal(void *layout, size_t size, int type, uint64_t rows, uint64_t cols,
                                           long long ld)
{
    struct layout l = fresh_layout(type, rows, cols, ld);
    return init(CUMU_LT_LAYOUT, layout, size, &l);
}
int wrap_cublasLtMatrixLayoutCreate(void *layout, int type, uint64_t rows, uint64_t cols, long long ld)
{
    struct layout l = fresh_layout(type, rows, cols, ld);
    return create(CUMU_LT_LAYOUT, layout, &l);
}

int wrap_cublasLtMatrixTransformDescInit_internal(void *desc, size_t size, int scale)
{
    struct transform t = {.scale = scale};
    return init(CUMU_LT_TRANSFORM, desc, size, &t);
}
int wrap_cublasLtMatrixTransformDescCreate(void *desc, int scale)
{
    struct transform t = {.scale = scale};
    return create(CUMU_LT_TRANSFORM, desc, &t);
}

int wrap_cublasLtMatmulPreferenceInit_internal(void *preference, size_t size)
{
    return init(CUMU_LT_PREFERENCE, preference, size, &new_preference);
}
int wrap_cublasLtMatmulPreferenceCreate(void *preference)
{
    return create(CUMU_LT_PREFERENCE, preference, &new_preference);
}

int wrap_cublasLtEmulationDescInit_internal(void *desc, size_t size)
{
    return init(CUMU_LT_EMULATION, desc, size, &new_emulation);
}
int wrap_cublasLtEmulationDescCreate(void *desc) { return create(CUMU_LT_EMULATION, desc, &new_emulation); }

#define FUNCTIONS(name, kind) \
    int wrap_cublasLt##name##Destroy(void *object) { return destroy(kind, object); } \
    int wrap_cublasLt##name##SetAttribute(void *object, int id, const void *buf, size_t size) \
    { \
        return set(kind, object, id, buf, size); \
    } \
    int wrap_cublasLt##name##GetAttribute(void *object, int id, void *buf, size_t size, size_t *written) \
    { \
        return get(kind, object, id, buf, size, written); \
    }
FUNCTIONS(MatmulDesc, CUMU_LT_DESC)
FUNCTIONS(MatrixLayout, CUMU_LT_LAYOUT)
FUNCTIONS(MatmulPreference, CUMU_LT_PREFERENCE)
FUNCTIONS(MatrixTransformDesc, CUMU_LT_TRANSFORM)
FUNCTIONS(EmulationDesc, CUMU_LT_EMULATION)
