/* cuSPARSELt: the handle, and descriptors of matrices, products and algorithms. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "api/cusparselt/lt.h"
#include "api/release.h"

static const struct cumu_release release = {0, 8, 1};

enum { LT_CONFIGS = 4 }; /* numbers of algorithms that a program may choose: they are the same one */

bool lt_take(enum lt_kind kind, const void *from, void *to, size_t size)
{
    unsigned is;
    if (!from)
        return false;
    memcpy(&is, from, sizeof is);
    if (is != (unsigned)kind)
        return false;
    memcpy(to, from, size);
    return true;
}
int lt_forget(enum lt_kind kind, const void *what)
{
    unsigned is, none = 0;
    LT_BAD_UNLESS(lt_take(kind, what, &is, sizeof is));
    memcpy((void *)(uintptr_t)what, &none, sizeof none);
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- the library ------------------------------------------------------------------------------- */

int wrap_cusparseLtInit(void *handle)
{
    int device;
    struct lt_handle h = {LT_HANDLE};
    LT_BAD_UNLESS(handle);
    if (mu.musaGetDevice(&device))
        return CUSPARSE_STATUS_NOT_INITIALIZED;
    memcpy(handle, &h, sizeof h);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtDestroy(const void *handle)
{
    LT_HANDLE_OR_LEAVE(handle);
    return lt_forget(LT_HANDLE, handle);
}
int wrap_cusparseLtGetVersion(const void *handle, int *version)
{
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(version);
    *version = release.major * 1000 + release.minor * 100 + release.patch;
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtGetProperty(int which, int *value)
{
    return cumu_release_property(release, which, value) ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}
const char *wrap_cusparseLtGetErrorName(int status) { return wrap_cusparseGetErrorName(status); }
const char *wrap_cusparseLtGetErrorString(int status) { return wrap_cusparseGetErrorString(status); }

/* ---- matrices ---------------------------------------------------------------------------------- */

/* Types of matrices: what rows and columns are multiples of, those of structured ones of twice that. */
static const struct {
    int type, below, multiple;
} types[] = {{CUDA_R_32F, MUDNN_DATA_FLOAT, 4},        {CUDA_R_16F, MUDNN_DATA_HALF, 8},
             {CUDA_R_16BF, MUDNN_DATA_BFLOAT16, 8},    {CUDA_R_8I, MUDNN_DATA_INT8, 16},
             {CUDA_R_32I, MUDNN_DATA_INT32, 4},        {CUDA_R_8F_E4M3, MUDNN_DATA_FP8_E4M3, 16},
             {CUDA_R_8F_E5M2, MUDNN_DATA_FP8_E5M2, 16}};
enum { TYPES = sizeof types / sizeof *types };

int lt_type(int type)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type)
            return types[i].below;
    return -1;
}

/* No more numbers than memory has, however they lie. */
static bool fits(const struct lt_matrix *m)
{
    const int64_t whole = mudnn_times(m->rows, m->columns);
    return mudnn_times(m->ld, m->order == CUSPARSE_ORDER_ROW ? m->rows : m->columns) <= MUDNN_LIMIT &&
           mudnn_times(m->batches, whole) <= MUDNN_LIMIT && mudnn_times(m->batches, m->stride) <= MUDNN_LIMIT;
}

static int describe(const void *handle, void *to, int64_t rows, int64_t columns, int64_t ld, unsigned alignment,
                    int type, int order, bool structured)
{
    int i = 0;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(to && rows > 0 && columns > 0 && (order == CUSPARSE_ORDER_COL || order == CUSPARSE_ORDER_ROW));
    LT_BAD_UNLESS(alignment && alignment % 16 == 0);
    while (i < TYPES && types[i].type != type)
        i++;
    if (i == TYPES || (structured && type == CUDA_R_32I))
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    int64_t multiple = types[i].multiple * (structured ? 2 : 1);
    LT_BAD_UNLESS(ld >= (order == CUSPARSE_ORDER_ROW ? columns : rows));
    if (rows % multiple || columns % multiple || ld % types[i].multiple || rows > INT32_MAX || columns > INT32_MAX)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    struct lt_matrix m = {LT_MATRIX, type, order, 1, structured, rows, columns, ld, 0};
    if (!fits(&m))
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    memcpy(to, &m, sizeof m);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtDenseDescriptorInit(const void *handle, void *m, int64_t rows, int64_t columns, int64_t ld,
                                       unsigned alignment, int type, int order)
{
    return describe(handle, m, rows, columns, ld, alignment, type, order, false);
}
int wrap_cusparseLtStructuredDescriptorInit(const void *handle, void *m, int64_t rows, int64_t columns, int64_t ld,
                                            unsigned alignment, int type, int order, int sparsity)
{
    LT_BAD_UNLESS(sparsity == CUSPARSELT_SPARSITY_50_PERCENT);
    return describe(handle, m, rows, columns, ld, alignment, type, order, true);
}
int wrap_cusparseLtMatDescriptorDestroy(const void *m) { return lt_forget(LT_MATRIX, m); }

struct mudnn_structured lt_lines(const struct lt_matrix *m, bool transposed, bool columns)
{
    int64_t step[] = {m->order == CUSPARSE_ORDER_ROW ? m->ld : 1, m->order == CUSPARSE_ORDER_ROW ? 1 : m->ld};
    int64_t size[] = {m->rows, m->columns};
    int line = transposed != columns; /* the dimension that counts the lines */
    struct mudnn_structured s = {.lines = size[line],
                                 .length = size[!line],
                                 .line_step = step[line],
                                 .step = step[!line],
                                 .batches = m->batches,
                                 .batch_step = m->stride};
    s.type = lt_type(m->type);
    return s;
}

/* ---- attributes -------------------------------------------------------------------------------- */

/* Where an attribute lies in its descriptor: what programs set and get as they are. */
struct attribute {
    size_t at, size;
};
#define MEMBER(type, name) \
    { \
        offsetof(struct type, name), sizeof(((struct type *)0)->name) \
    }
static const struct attribute of_matrix[] = {[CUSPARSELT_MAT_NUM_BATCHES] = MEMBER(lt_matrix, batches),
                                             [CUSPARSELT_MAT_BATCH_STRIDE] = MEMBER(lt_matrix, stride)};
static const struct attribute of_matmul[] = {
    [CUSPARSELT_MATMUL_ACTIVATION_RELU] = MEMBER(lt_matmul, relu),
    [CUSPARSELT_MATMUL_ACTIVATION_RELU_UPPERBOUND] = MEMBER(lt_matmul, upper),
    [CUSPARSELT_MATMUL_ACTIVATION_RELU_THRESHOLD] = MEMBER(lt_matmul, threshold),
    [CUSPARSELT_MATMUL_ACTIVATION_GELU] = MEMBER(lt_matmul, gelu),
    [CUSPARSELT_MATMUL_ACTIVATION_GELU_SCALING] = MEMBER(lt_matmul, gelu_scale),
    [CUSPARSELT_MATMUL_ALPHA_VECTOR_SCALING] = MEMBER(lt_matmul, alpha_vector),
    [CUSPARSELT_MATMUL_BETA_VECTOR_SCALING] = MEMBER(lt_matmul, beta_vector),
    [CUSPARSELT_MATMUL_BIAS_STRIDE] = MEMBER(lt_matmul, bias_stride),
    [CUSPARSELT_MATMUL_BIAS_POINTER] = MEMBER(lt_matmul, bias),
    [CUSPARSELT_MATMUL_SPARSE_MAT_POINTER] = MEMBER(lt_matmul, sparse)};
static const struct attribute of_choice[] = {[CUSPARSELT_MATMUL_ALG_CONFIG_ID] = MEMBER(lt_choice, id),
                                             [CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID] = {0, 0}, /* read only */
                                             [CUSPARSELT_MATMUL_SEARCH_ITERATIONS] = MEMBER(lt_choice, iterations),
                                             [CUSPARSELT_MATMUL_SPLIT_K] = MEMBER(lt_choice, split),
                                             [CUSPARSELT_MATMUL_SPLIT_K_MODE] = MEMBER(lt_choice, split_mode),
                                             [CUSPARSELT_MATMUL_SPLIT_K_BUFFERS] = MEMBER(lt_choice, split_buffers)};
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* A status, and where in the descriptor the attribute is. */
static int find(const struct attribute *all, int count, int which, const void *data, size_t size, size_t *at)
{
    LT_BAD_UNLESS(data && which >= 0);
    if (which >= count)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    LT_BAD_UNLESS(all[which].size && size == all[which].size);
    *at = all[which].at;
    return CUSPARSE_STATUS_SUCCESS;
}

int wrap_cusparseLtMatDescSetAttribute(const void *handle, void *desc, int which, const void *data, size_t size)
{
    struct lt_matrix m;
    size_t at;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_MATRIX, desc, &m, sizeof m));
    int r = find(of_matrix, COUNT(of_matrix), which, data, size, &at);
    if (r)
        return r;
    memcpy((char *)&m + at, data, size);
    LT_BAD_UNLESS(m.batches > 0 && m.stride >= 0);
    if (!fits(&m))
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    memcpy(desc, &m, sizeof m);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtMatDescGetAttribute(const void *handle, const void *desc, int which, void *data, size_t size)
{
    struct lt_matrix m;
    size_t at;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_MATRIX, desc, &m, sizeof m));
    int r = find(of_matrix, COUNT(of_matrix), which, data, size, &at);
    if (!r)
        memcpy(data, (char *)&m + at, size);
    return r;
}

/* Scales of narrow types (the attributes behind those of the table) are none yet, which is their default. */
int wrap_cusparseLtMatmulDescSetAttribute(const void *handle, void *desc, int which, const void *data, size_t size)
{
    struct lt_matmul m;
    size_t at;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_MATMUL, desc, &m, sizeof m));
    int r = find(of_matmul, COUNT(of_matmul), which, data, size, &at);
    if (r == CUSPARSE_STATUS_NOT_SUPPORTED)
        cumu_gap("cusparselt", "cusparseLtMatmulDescSetAttribute", "attribute %d: scales are not here", which);
    if (r)
        return r;
    memcpy((char *)&m + at, data, size);
    memcpy(desc, &m, sizeof m);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtMatmulDescGetAttribute(const void *handle, const void *desc, int which, void *data, size_t size)
{
    struct lt_matmul m;
    size_t at;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_MATMUL, desc, &m, sizeof m));
    int r = find(of_matmul, COUNT(of_matmul), which, data, size, &at);
    if (!r)
        memcpy(data, (char *)&m + at, size);
    return r;
}

int wrap_cusparseLtMatmulAlgSelectionInit(const void *handle, void *choice, const void *matmul, int alg)
{
    struct lt_matmul m;
    struct lt_choice c = {LT_CHOICE, 0, 5, 1, CUSPARSELT_SPLIT_K_MODE_ONE_KERNEL, 0};
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(choice && lt_take(LT_MATMUL, matmul, &m, sizeof m) && alg == CUSPARSELT_MATMUL_ALG_DEFAULT);
    memcpy(choice, &c, sizeof c);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtMatmulAlgSelectionDestroy(const void *choice) { return lt_forget(LT_CHOICE, choice); }

int wrap_cusparseLtMatmulAlgSetAttribute(const void *handle, void *choice, int which, const void *data, size_t size)
{
    struct lt_choice c;
    size_t at;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_CHOICE, choice, &c, sizeof c));
    int r = find(of_choice, COUNT(of_choice), which, data, size, &at);
    if (r)
        return r;
    memcpy((char *)&c + at, data, size);
    LT_BAD_UNLESS(c.id >= 0 && c.id < LT_CONFIGS && c.iterations > 0 && c.split_buffers >= 0);
    LT_BAD_UNLESS(c.split >= -1 && (unsigned)c.split_mode <= CUSPARSELT_STREAMK);
    memcpy(choice, &c, sizeof c);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLtMatmulAlgGetAttribute(const void *handle, const void *choice, int which, void *data, size_t size)
{
    static const int configs = LT_CONFIGS;
    struct lt_choice c;
    size_t at;
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(lt_take(LT_CHOICE, choice, &c, sizeof c));
    if (which == CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID) {
        LT_BAD_UNLESS(data && size == sizeof configs);
        memcpy(data, &configs, size);
        return CUSPARSE_STATUS_SUCCESS;
    }
    int r = find(of_choice, COUNT(of_choice), which, data, size, &at);
    if (!r)
        memcpy(data, (char *)&c + at, size);
    return r;
}

/* ---- products ---------------------------------------------------------------------------------- */

bool lt_transposed(const struct lt_matmul *m, int operand)
{
    return m->op[operand] != CUSPARSE_OPERATION_NON_TRANSPOSE;
}

static bool is_one_of(int type, const int *list)
{
    for (; *list >= 0; list++)
        if (*list == type)
            return true;
    return false;
}
/* The types of C and D for those of A and B, which are the same. */
static bool types_fit(const struct lt_matrix *m)
{
    static const int of_ints[] = {CUDA_R_8I, CUDA_R_32I, CUDA_R_16F, CUDA_R_16BF, -1};
    static const int c_of_eight[] = {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, -1};
    static const int d_of_eight[] = {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, -1};
    int a = m[0].type, c = m[2].type, d = m[3].type;
    if (a != m[1].type)
        return false;
    switch (a) {
    case CUDA_R_32F:
    case CUDA_R_16F:
    case CUDA_R_16BF: return c == a && d == a;
    case CUDA_R_8I: return c == d && is_one_of(d, of_ints);
    default: return is_one_of(c, c_of_eight) && is_one_of(d, d_of_eight);
    }
}

/* The arithmetic follows the matrices' types: the compute types had other numbers in releases before 0.5. */
int wrap_cusparseLtMatmulDescriptorInit(const void *handle, void *to, int op_a, int op_b, const void *a, const void *b,
                                        const void *c, const void *d, int compute)
{
    struct lt_matmul m = {.kind = LT_MATMUL, .op = {op_a, op_b}, .upper = INFINITY, .gelu_scale = 1};
    const void *const all[] = {a, b, c, d};
    LT_HANDLE_OR_LEAVE(handle);
    LT_BAD_UNLESS(to && compute >= 0 && compute <= 3);
    for (int i = 0; i < 4; i++)
        LT_BAD_UNLESS(lt_take(LT_MATRIX, all[i], &m.m[i], sizeof m.m[i]));
    for (int i = 0; i < 2; i++)
        LT_BAD_UNLESS(m.op[i] == CUSPARSE_OPERATION_NON_TRANSPOSE || m.op[i] == CUSPARSE_OPERATION_TRANSPOSE);
    LT_BAD_UNLESS(m.m[0].structured != m.m[1].structured && !m.m[2].structured && !m.m[3].structured);
    struct mudnn_structured left = lt_lines(&m.m[0], lt_transposed(&m, 0), false);
    struct mudnn_structured right = lt_lines(&m.m[1], lt_transposed(&m, 1), true);
    LT_BAD_UNLESS(left.length == right.length);
    for (int i = 2; i < 4; i++)
        LT_BAD_UNLESS(m.m[i].rows == left.lines && m.m[i].columns == right.lines);
    for (int i = 0; i < 3; i++)
        LT_BAD_UNLESS(m.m[i].batches == m.m[3].batches);
    if (!types_fit(m.m))
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    memcpy(to, &m, sizeof m);
    return CUSPARSE_STATUS_SUCCESS;
}
