/* The one algorithm of the CPU muBLASLt: what it takes, and what it tells of itself. */
#include <string.h>

#include "host/mublaslt/mublaslt.h"

/* ---- which types ------------------------------------------------------------------------------- */

enum { COMPUTES = 3 };
static const struct product {
    unsigned char in, out, scale, compute[COMPUTES], work;
} products[] = {
    {MUSA_R_16F, MUSA_R_16F, MUSA_R_16F, {MUBLAS_COMPUTE_16F}, LT_S},
    {MUSA_R_8I, MUSA_R_32I, MUSA_R_32I, {MUBLAS_COMPUTE_32I}, LT_D},
    {MUSA_R_8I, MUSA_R_8I, MUSA_R_32F, {MUBLAS_COMPUTE_32I}, LT_D},
    {MUSA_R_16BF, MUSA_R_16BF, MUSA_R_32F, {MUBLAS_COMPUTE_32F}, LT_S},
    {MUSA_R_16F, MUSA_R_16F, MUSA_R_32F, {MUBLAS_COMPUTE_32F}, LT_S},
    {MUSA_R_8I, MUSA_R_32F, MUSA_R_32F, {MUBLAS_COMPUTE_32F}, LT_S},
    {MUSA_R_16BF, MUSA_R_32F, MUSA_R_32F, {MUBLAS_COMPUTE_32F}, LT_S},
    {MUSA_R_16F, MUSA_R_32F, MUSA_R_32F, {MUBLAS_COMPUTE_32F}, LT_S},
    {MUSA_R_32F, MUSA_R_32F, MUSA_R_32F, {MUBLAS_COMPUTE_32F, MUBLAS_COMPUTE_32F_FAST_TF32}, LT_S},
    {MUSA_C_8I, MUSA_C_32F, MUSA_C_32F, {MUBLAS_COMPUTE_32F}, LT_C},
    {MUSA_C_32F, MUSA_C_32F, MUSA_C_32F, {MUBLAS_COMPUTE_32F, MUBLAS_COMPUTE_32F_FAST_TF32}, LT_C},
    {MUSA_R_64F, MUSA_R_64F, MUSA_R_64F, {MUBLAS_COMPUTE_64F}, LT_D},
    {MUSA_C_64F, MUSA_C_64F, MUSA_C_64F, {MUBLAS_COMPUTE_64F}, LT_Z},
};

static bool eight(int type) { return type == MUSA_R_8F_E4M3 || type == MUSA_R_8F_E5M2; }
static bool sixteen(int type) { return type == MUSA_R_16F || type == MUSA_R_16BF; }

enum lt_work lt_work_of(struct lt_types t)
{
    if (t.a == MUSA_R_4F_E2M1 && t.b == MUSA_R_4F_E2M1) /* with block scales */
        return t.c == t.d && (sixteen(t.d) || t.d == MUSA_R_32F) && t.compute == MUBLAS_COMPUTE_32F &&
                       t.scale == MUSA_R_32F
                   ? LT_S
                   : LT_NONE;
    if (eight(t.a) && eight(t.b)) { /* c is d, or of sixteen bits where d has eight */
        bool wide = t.a == MUSA_R_8F_E5M2 && t.b == MUSA_R_8F_E5M2;
        bool five = t.a == MUSA_R_8F_E5M2 || t.b == MUSA_R_8F_E5M2;
        bool out = eight(t.d) ? sixteen(t.c) && (t.d == MUSA_R_8F_E4M3 || five)
                              : t.c == t.d && (sixteen(t.d) || t.d == MUSA_R_32F);
        return !wide && out && t.compute == MUBLAS_COMPUTE_32F && t.scale == MUSA_R_32F ? LT_S : LT_NONE;
    }
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const struct product *p = &products[i];
        bool types = t.a == p->in && t.b == p->in && t.c == p->out && t.d == p->out && t.scale == p->scale;
        for (int k = 0; types && k < COMPUTES; k++)
            if (p->compute[k] && t.compute == p->compute[k])
                return p->work;
    }
    return LT_NONE;
}

int lt_bias_type(const struct mublasLtMatmulDesc *desc, int c_type, int d_type)
{
    if (desc->bias_type >= 0)
        return desc->bias_type;
    return d_type == MUSA_R_8I ? MUSA_R_32F : eight(d_type) ? c_type : d_type;
}

int lt_aux_type(const struct mublasLtMatmulDesc *desc, int d_type)
{
    return desc->aux_type >= 0 ? desc->aux_type : d_type;
}

/* ---- which products ---------------------------------------------------------------------------- */

static const unsigned epilogues[] = {
    MUBLASLT_EPILOGUE_DEFAULT,     MUBLASLT_EPILOGUE_RELU,          MUBLASLT_EPILOGUE_BIAS,
    MUBLASLT_EPILOGUE_RELU_BIAS,   MUBLASLT_EPILOGUE_GELU,          MUBLASLT_EPILOGUE_GELU_BIAS,
    MUBLASLT_EPILOGUE_RELU_AUX,    MUBLASLT_EPILOGUE_RELU_AUX_BIAS, MUBLASLT_EPILOGUE_DRELU,
    MUBLASLT_EPILOGUE_DRELU_BGRAD, MUBLASLT_EPILOGUE_GELU_AUX,      MUBLASLT_EPILOGUE_GELU_AUX_BIAS,
    MUBLASLT_EPILOGUE_DGELU,       MUBLASLT_EPILOGUE_DGELU_BGRAD,   MUBLASLT_EPILOGUE_BGRADA,
    MUBLASLT_EPILOGUE_BGRADB};

static bool known_epilogue(unsigned e)
{
    for (size_t i = 0; i < sizeof epilogues / sizeof *epilogues; i++)
        if (epilogues[i] == e)
            return true;
    return false;
}

static bool operation(int op) { return op >= MUBLAS_OP_N && op <= MUBLAS_OP_C; }

static mublasStatus_t check_epilogue(const struct mublasLtMatmulDesc *desc, const struct mublasLtMatrixLayout *d,
                                     enum lt_work work)
{
    enum { WITH_AUX = 128, WITH_BIAS = 4 | 16 | 256 | 512, BY_MASK = 2 | 8 };
    unsigned e = desc->epilogue;
    if (!known_epilogue(e))
        return MUBLAS_STATUS_INVALID_VALUE;
    bool real = work == LT_S || (work == LT_D && (d->type == MUSA_R_64F || d->type == MUSA_R_8I));
    if (e == MUBLASLT_EPILOGUE_DEFAULT)
        return MUBLAS_STATUS_SUCCESS;
    if (!real || d->order > MUBLASLT_ORDER_ROW)
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    int bias = lt_bias_type(desc, MUSA_R_16F, d->type);
    if (e & WITH_BIAS && (!lt_size(bias) || lt_complex(bias)))
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    if (!(e & WITH_AUX))
        return MUBLAS_STATUS_SUCCESS;
    uint64_t line = d->order == MUBLASLT_ORDER_ROW ? d->cols : d->rows;
    int64_t multiple = e & BY_MASK ? 128 : 8;
    if (desc->aux_ld < (int64_t)line || desc->aux_ld % multiple)
        return MUBLAS_STATUS_INVALID_VALUE;
    int aux = lt_aux_type(desc, d->type);
    return e & BY_MASK || (lt_size(aux) && !lt_complex(aux)) ? MUBLAS_STATUS_SUCCESS : MUBLAS_STATUS_NOT_IMPLEMENTED;
}

mublasStatus_t lt_check(const struct mublasLtMatmulDesc *desc, const struct mublasLtMatrixLayout *a,
                        const struct mublasLtMatrixLayout *b, const struct mublasLtMatrixLayout *c,
                        const struct mublasLtMatrixLayout *d, enum lt_work *work)
{
    if (!desc || !a || !b || !c || !d || !desc->compute)
        return MUBLAS_STATUS_INVALID_VALUE;
    *work = lt_work_of((struct lt_types){desc->compute, desc->scale, a->type, b->type, c->type, d->type});
    if (*work == LT_NONE)
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    const struct mublasLtMatrixLayout *all[] = {a, b, c, d};
    for (int i = 0; i < 4; i++) {
        struct mublasLtMatrixLayout l = *all[i];
        if (i == 2 && !l.ld && l.order <= MUBLASLT_ORDER_ROW) /* one line of C is added to all of D's */
            l.ld = (int64_t)(l.order == MUBLASLT_ORDER_ROW ? l.cols : l.rows);
        if (!lt_layout_good(&l) || all[i]->batch != d->batch || all[i]->batch < 1)
            return MUBLAS_STATUS_INVALID_VALUE;
        if (all[i]->plane || all[i]->mode != d->mode || all[i]->mode > MUBLASLT_BATCH_MODE_POINTER_ARRAY)
            return MUBLAS_STATUS_NOT_IMPLEMENTED;
    }
    bool ta = desc->op[0] != MUBLAS_OP_N, tb = desc->op[1] != MUBLAS_OP_N;
    if (!operation(desc->op[0]) || !operation(desc->op[1]) || !operation(desc->op[2]) ||
        desc->pointers < MUBLASLT_POINTER_MODE_HOST ||
        desc->pointers > MUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
        return MUBLAS_STATUS_INVALID_VALUE;
    uint64_t m = ta ? a->cols : a->rows, k = ta ? a->rows : a->cols, n = tb ? b->rows : b->cols;
    if ((tb ? b->cols : b->rows) != k || d->rows != m || d->cols != n || c->rows != m || c->cols != n)
        return MUBLAS_STATUS_INVALID_VALUE;
    bool vectors = desc->pointers >= MUBLASLT_POINTER_MODE_DEVICE_VECTOR;
    if (desc->op[2] != MUBLAS_OP_N || desc->fill != MUBLAS_FILL_MODE_FULL ||
        (lt_complex(d->type) && (vectors || d->order > MUBLASLT_ORDER_ROW)))
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    mublasStatus_t r = check_epilogue(desc, d, *work);
    return r ? r : lt_check_scales(desc, a, b, d, work);
}

/* ---- the algorithm ----------------------------------------------------------------------------- */

enum { ALGO = 1, MAGIC = 0x6d754c74 };

/* What of a mublasLtMatmulAlgo_t is used. Nothing but the number matters here; the rest is kept. */
struct algo {
    int magic, id;
    unsigned tile;
    int splits;
    unsigned reduction, swizzle, custom, stages;
    unsigned short inner, cluster;
};
_Static_assert(sizeof(struct algo) <= sizeof(mublasLtMatmulAlgo_t), "an algorithm fits");

#define CONFIG(name, field) \
    { \
        MUBLASLT_ALGO_CONFIG_##name, offsetof(struct algo, field), sizeof((struct algo *)NULL)->field \
    }
static const struct lt_attribute config_table[] = {CONFIG(ID, id),
                                                   CONFIG(TILE_ID, tile),
                                                   CONFIG(SPLITK_NUM, splits),
                                                   CONFIG(REDUCTION_SCHEME, reduction),
                                                   CONFIG(CTA_SWIZZLING, swizzle),
                                                   CONFIG(CUSTOM_OPTION, custom),
                                                   CONFIG(STAGES_ID, stages),
                                                   CONFIG(INNER_SHAPE_ID, inner),
                                                   CONFIG(CLUSTER_SHAPE_ID, cluster),
                                                   {0, 0, 0}};

bool lt_algo_made(const mublasLtMatmulAlgo_t *algo)
{
    struct algo a;
    if (!algo)
        return false;
    memcpy(&a, algo, sizeof a);
    return a.magic == MAGIC && a.id == ALGO;
}

static void fill(mublasLtMatmulAlgo_t *algo)
{
    struct algo a = {.magic = MAGIC, .id = ALGO, .splits = 1};
    memset(algo, 0, sizeof *algo);
    memcpy(algo, &a, sizeof a);
}

static mublasLtMatmulHeuristicResult_t result(const mublasLtMatmulAlgo_t *algo, mublasStatus_t state)
{
    mublasLtMatmulHeuristicResult_t r = {.state = state, .wavesCount = 1};
    if (algo)
        r.algo = *algo;
    else
        fill(&r.algo);
    return r;
}

mublasStatus_t mublasLtMatmulAlgoGetHeuristic(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc,
                                              mublasLtMatrixLayout_t a, mublasLtMatrixLayout_t b,
                                              mublasLtMatrixLayout_t c, mublasLtMatrixLayout_t d,
                                              mublasLtMatmulPreference_t preference, int requested,
                                              mublasLtMatmulHeuristicResult_t *results, int *returned)
{
    enum lt_work work;
    if (!lt_live(handle))
        return MUBLAS_STATUS_INVALID_HANDLE;
    if (!preference || requested < 1 || !results || !returned)
        return MUBLAS_STATUS_INVALID_VALUE;
    *returned = 0;
    mublasStatus_t r = lt_check(desc, a, b, c, d, &work);
    if (!r) {
        results[0] = result(NULL, r);
        *returned = 1;
    }
    return r;
}

mublasStatus_t mublasLtMatmulAlgoGetIds(mublasLtHandle_t handle, mublasComputeType_t compute, int scale_type,
                                        int a_type, int b_type, int c_type, int d_type, int requested, int *ids,
                                        int *returned)
{
    if (!lt_live(handle))
        return MUBLAS_STATUS_INVALID_HANDLE;
    if (requested < 1 || !ids)
        return MUBLAS_STATUS_INVALID_VALUE;
    bool can = lt_work_of((struct lt_types){compute, scale_type, a_type, b_type, c_type, d_type}) != LT_NONE;
    if (can)
        ids[0] = ALGO;
    if (returned)
        *returned = can;
    return can ? MUBLAS_STATUS_SUCCESS : MUBLAS_STATUS_NOT_IMPLEMENTED;
}

mublasStatus_t mublasLtMatmulAlgoInit(mublasLtHandle_t handle, mublasComputeType_t compute, int scale_type, int a_type,
                                      int b_type, int c_type, int d_type, int id, mublasLtMatmulAlgo_t *algo)
{
    if (!lt_live(handle))
        return MUBLAS_STATUS_INVALID_HANDLE;
    if (!algo || id != ALGO)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (lt_work_of((struct lt_types){compute, scale_type, a_type, b_type, c_type, d_type}) == LT_NONE)
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    fill(algo);
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublasLtMatmulAlgoCheck(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc, mublasLtMatrixLayout_t a,
                                       mublasLtMatrixLayout_t b, mublasLtMatrixLayout_t c, mublasLtMatrixLayout_t d,
                                       const mublasLtMatmulAlgo_t *algo, mublasLtMatmulHeuristicResult_t *out)
{
    enum lt_work work;
    if (!lt_live(handle))
        return MUBLAS_STATUS_INVALID_HANDLE;
    if (!out || !lt_algo_made(algo))
        return MUBLAS_STATUS_INVALID_VALUE;
    mublasLtMatmulAlgo_t same = *algo; /* it may lie in the result */
    mublasStatus_t r = lt_check(desc, a, b, c, d, &work);
    *out = result(&same, r);
    return r;
}

/* What the one algorithm there is can do; numbers are cuBLASLt's, as muBLASLt publishes none (mapping/facts/musa.md
 * A4). */
mublasStatus_t mublasLtMatmulAlgoCapGetAttribute(const mublasLtMatmulAlgo_t *algo, int attribute, void *buf,
                                                 size_t size, size_t *written)
{
    static const struct {
        int id;
        unsigned char size;
        uint64_t value;
    } table[] = {
        {MUBLASLT_ALGO_CAP_SPLITK_SUPPORT, 4, 0},
        {MUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK, 4, 0},
        {MUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT, 4, 0},
        {MUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, 4, 1},
        {MUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, 4, 1},
        {MUBLASLT_ALGO_CAP_UPLO_SUPPORT, 4, 0},
        {MUBLASLT_ALGO_CAP_TILE_IDS, 0, 0}, /* no tiles, no stages to choose from */
        {MUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, 4, 0},
        {MUBLASLT_ALGO_CAP_MATHMODE_IMPL, 4, 0},
        {MUBLASLT_ALGO_CAP_GAUSSIAN_IMPL, 4, 0},
        {MUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER, 4, 1},
        {MUBLASLT_ALGO_CAP_POINTER_MODE_MASK, 4, 31},
        {MUBLASLT_ALGO_CAP_EPILOGUE_MASK, 4, 0x3ff},
        {MUBLASLT_ALGO_CAP_STAGES_IDS, 0, 0},
        {MUBLASLT_ALGO_CAP_LD_NEGATIVE, 4, 0},
        {MUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, 8, 1}, /* fused multiply and add */
        {MUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, 4, 1},
        {MUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, 4, 1},
        {MUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, 4, 1},
        {MUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, 4, 1},
        {MUBLASLT_ALGO_CAP_ATOMIC_SYNC, 4, 0},
        {MUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT, 4, 1},
        {MUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT, 4, 0},
    };
    size_t i = 0;
    while (i < sizeof table / sizeof *table && table[i].id != attribute)
        i++;
    if (!lt_algo_made(algo) || i == sizeof table / sizeof *table)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (size ? !buf || (table[i].size && size != table[i].size) : !written)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (written)
        *written = table[i].size;
    if (size)
        memcpy(buf, &table[i].value, table[i].size);
    return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublasLtMatmulAlgoConfigSetAttribute(mublasLtMatmulAlgo_t *algo, int attribute, const void *buf,
                                                    size_t size)
{
    if (!lt_algo_made(algo) || attribute == MUBLASLT_ALGO_CONFIG_ID)
        return MUBLAS_STATUS_INVALID_VALUE;
    return lt_set(config_table, algo, attribute, buf, size);
}

mublasStatus_t mublasLtMatmulAlgoConfigGetAttribute(const mublasLtMatmulAlgo_t *algo, int attribute, void *buf,
                                                    size_t size, size_t *written)
{
    return lt_algo_made(algo) ? lt_get(config_table, algo, attribute, buf, size, written) : MUBLAS_STATUS_INVALID_VALUE;
}
