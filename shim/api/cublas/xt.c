/* cublasXt: products of matrices in host memory, whose dimensions are size_t. Each operand goes
 * whole to one device, the first that was selected, is worked on by muBLAS there and comes back; a
 * call ends when its result is there. Where tiles would be spread over devices is kept and told
 * back. */
#include <limits.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/object.h"
#include "api/visit.h"

#include "conv.h"
#include "cuda_enums.h"
#include "wraps.h"

struct xt {
    void *below;
    int device, block, pinning;
};
enum { BLOCK = 1024 };

static struct xt *live(void *handle) { return cumu_object(CUMU_XT, handle); }

/* ---- handles and settings ---------------------------------------------------------------------- */

int wrap_cublasXtCreate(void *to)
{
    struct xt *x = to ? cumu_object_new(CUMU_XT, sizeof *x) : NULL;
    if (!x)
        return to ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_INVALID_VALUE;
    x->block = BLOCK;
    int r = mu.musaGetDevice(&x->device) ? CUBLAS_STATUS_NOT_INITIALIZED : conv_cublasCreate_v2(&x->below);
    if (!r)
        *(void **)to = x;
    else if (cumu_object_end(CUMU_XT, x))
        free(x);
    return r;
}

int wrap_cublasXtDestroy(void *handle)
{
    struct xt *x = live(handle);
    if (!x || !cumu_object_end(CUMU_XT, x))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    int r = x->below ? wrap_cublasDestroy_v2(x->below) : CUBLAS_STATUS_SUCCESS;
    free(x);
    return r;
}

/* cublasXt on one device: the first of the list. Another one than before gets a handle of its own; the program's
 * handle stays. */
int wrap_cublasXtDeviceSelect(void *handle, int count, void *devices)
{
    struct xt *x = live(handle);
    int all = 0;
    if (!x)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    const int *device = devices;
    if (count < 1 || !device || mu.musaGetDeviceCount(&all))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < count; i++)
        if (device[i] < 0 || device[i] >= all)
            return CUBLAS_STATUS_INVALID_VALUE;
    if (device[0] == x->device)
        return CUBLAS_STATUS_SUCCESS;
    void *below;
    struct cumu_visit visit;
    if (cumu_visit(&visit, device[0]))
        return CUBLAS_STATUS_INVALID_VALUE;
    int r = conv_cublasCreate_v2(&below);
    cumu_visit_end(&visit);
    if (r)
        return r;
    wrap_cublasDestroy_v2(x->below);
    x->below = below;
    x->device = device[0];
    return CUBLAS_STATUS_SUCCESS;
}

int wrap_cublasXtMaxBoards(void *out)
{
    int count;
    if (!out)
        return CUBLAS_STATUS_INVALID_VALUE;
    *(int *)out = mu.musaGetDeviceCount(&count) ? 0 : count;
    return CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasXtGetNumBoards(int count, void *devices, void *out)
{
    if (count < 1 || !devices || !out)
        return CUBLAS_STATUS_INVALID_VALUE;
    *(int *)out = count; /* each device is a board of its own */
    return CUBLAS_STATUS_SUCCESS;
}

#define KEPT(name, field, valid) \
    int wrap_cublasXtSet##name(void *handle, int value) \
    { \
        struct xt *x = live(handle); \
        if (!x) \
            return CUBLAS_STATUS_NOT_INITIALIZED; \
        if (!(valid)) \
            return CUBLAS_STATUS_INVALID_VALUE; \
        x->field = value; \
        return CUBLAS_STATUS_SUCCESS; \
    } \
    int wrap_cublasXtGet##name(void *handle, void *out) \
    { \
        struct xt *x = live(handle); \
        if (!x) \
            return CUBLAS_STATUS_NOT_INITIALIZED; \
        if (!out) \
            return CUBLAS_STATUS_INVALID_VALUE; \
        *(int *)out = x->field; \
        return CUBLAS_STATUS_SUCCESS; \
    }
KEPT(BlockDim, block, value > 0)
KEPT(PinningMemMode, pinning, value == 0 || value == 1)

/* What share of a product the host would do, and by which BLAS: none of it, so that neither matters. */
int wrap_cublasXtSetCpuRoutine(void *handle, int blas, int type, void *routine)
{
    (void)routine;
    if (!live(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return blas < 0 || type < 0 || type > 3 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasXtSetCpuRatio(void *handle, int blas, int type, float ratio)
{
    if (!live(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return blas < 0 || type < 0 || type > 3 || !(ratio >= 0 && ratio <= 1) ? CUBLAS_STATUS_INVALID_VALUE
                                                                           : CUBLAS_STATUS_SUCCESS;
}

/* ---- operands ---------------------------------------------------------------------------------- */

/* A matrix of the host, or of a device, and its copy without gaps. */
struct operand {
    const void *host;
    size_t rows, cols, ld;
    void *there;
    int lead; /* of the copy */
};
struct job {
    struct xt *xt;
    size_t size; /* of an element */
    struct cumu_visit visit;
    struct operand o[3]; /* the last is the result */
    int n;
};

static int transfer(const struct job *j, const struct operand *o, bool back)
{
    size_t wide = j->size * o->rows, host = j->size * o->ld;
    if (!o->rows || !o->cols)
        return 0;
    return back ? mu.musaMemcpy2D((void *)(size_t)o->host, host, o->there, wide, wide, o->cols, musaMemcpyDefault)
                : mu.musaMemcpy2D(o->there, wide, o->host, host, wide, o->cols, musaMemcpyDefault);
}

static int finish(struct job *j, int status)
{
    if (!status && transfer(j, &j->o[j->n - 1], true))
        status = CUBLAS_STATUS_EXECUTION_FAILED;
    for (int i = 0; i < j->n; i++)
        mu.musaFree(j->o[i].there);
    cumu_visit_end(&j->visit);
    return status;
}

/* On success all operands are on the device, and finish() must follow. */
static int start(struct job *j, void *handle)
{
    j->xt = live(handle);
    if (!j->xt)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    while (j->n < 3 && j->o[j->n].ld)
        j->n++;
    for (int i = 0; i < j->n; i++) {
        struct operand *o = &j->o[i];
        if (o->ld < o->rows || (!o->host && o->rows && o->cols))
            return CUBLAS_STATUS_INVALID_VALUE;
        if (o->rows > INT_MAX || o->cols > INT_MAX) {
            cumu_gap("cublas", "cublasXt", "a size above 2147483647");
            return CUBLAS_STATUS_NOT_SUPPORTED;
        }
        o->lead = o->rows > 1 ? (int)o->rows : 1;
    }
    if (j->n < 2 || cumu_visit(&j->visit, j->xt->device))
        return CUBLAS_STATUS_INVALID_VALUE;
    int r = 0;
    for (int i = 0; i < j->n && !r; i++) {
        struct operand *o = &j->o[i];
        r = mu.musaMalloc(&o->there, j->size * o->rows * o->cols + 1) ? CUBLAS_STATUS_ALLOC_FAILED
            : transfer(j, o, false)                                   ? CUBLAS_STATUS_MAPPING_ERROR
                                                                      : 0;
    }
    if (!r)
        return r;
    for (int i = 0; i < j->n; i++)
        mu.musaFree(j->o[i].there);
    cumu_visit_end(&j->visit);
    return r;
}

#define DIM(plain, rows, cols) (plain) ? (rows) : (cols), (plain) ? (cols) : (rows)
#define IS_N(op) ((op) == CUBLAS_OP_N)
#define LEFT(side) ((side) == CUBLAS_SIDE_LEFT)
#define TO(i) j.o[i].there, j.o[i].lead
#define RUN(T, call, ...) \
    struct job j = {.size = sizeof(T), .o = {__VA_ARGS__}}; \
    int r = start(&j, handle); \
    return r ? r : finish(&j, call)
#define AT (j.xt->below)

#define RANK_K(X, T, name) /* syrk, herk */ \
    int wrap_cublasXt##X##name(void *handle, int uplo, int op, size_t n, size_t k, const void *alpha, const void *a, \
                               size_t lda, const void *beta, void *c, size_t ldc) \
    { \
        RUN(T, conv_cublas##X##name##_v2(AT, uplo, op, (int)n, (int)k, alpha, TO(0), beta, TO(1)), \
            {a, DIM(IS_N(op), n, k), lda, NULL, 0}, {c, n, n, ldc, NULL, 0}); \
    }
#define RANK_2K(X, T, name, newer) /* syr2k, her2k, syrkx, herkx */ \
    int wrap_cublasXt##X##name(void *handle, int uplo, int op, size_t n, size_t k, const void *alpha, const void *a, \
                               size_t lda, const void *b, size_t ldb, const void *beta, void *c, size_t ldc) \
    { \
        RUN(T, conv_cublas##X##newer(AT, uplo, op, (int)n, (int)k, alpha, TO(0), TO(1), beta, TO(2)), \
            {a, DIM(IS_N(op), n, k), lda, NULL, 0}, {b, DIM(IS_N(op), n, k), ldb, NULL, 0}, {c, n, n, ldc, NULL, 0}); \
    }
#define SYMMETRIC(X, T, name) /* symm, hemm */ \
    int wrap_cublasXt##X##name(void *handle, int side, int uplo, size_t m, size_t n, const void *alpha, const void *a, \
                               size_t lda, const void *b, size_t ldb, const void *beta, void *c, size_t ldc) \
    { \
        size_t order = LEFT(side) ? m : n; \
        RUN(T, conv_cublas##X##name##_v2(AT, side, uplo, (int)m, (int)n, alpha, TO(0), TO(1), beta, TO(2)), \
            {a, order, order, lda, NULL, 0}, {b, m, n, ldb, NULL, 0}, {c, m, n, ldc, NULL, 0}); \
    }
/* A packed triangle becomes a matrix first. */
#define PACKED(X, T) \
    static int packed_##X(struct job *j, int side, int uplo, size_t m, size_t n, const void *alpha, const void *beta) \
    { \
        int order = (int)(LEFT(side) ? m : n), lead = order > 1 ? order : 1; \
        void *full; \
        if (mu.musaMalloc(&full, j->size * (size_t)order * (size_t)order + 1)) \
            return CUBLAS_STATUS_ALLOC_FAILED; \
        int r = conv_cublas##X##tpttr(j->xt->below, uplo, order, j->o[0].there, full, lead); \
        if (!r) \
            r = conv_cublas##X##symm_v2(j->xt->below, side, uplo, (int)m, (int)n, alpha, full, lead, j->o[1].there, \
                                        j->o[1].lead, beta, j->o[2].there, j->o[2].lead); \
        mu.musaStreamSynchronize(NULL); \
        mu.musaFree(full); \
        return r; \
    } \
    int wrap_cublasXt##X##spmm(void *handle, int side, int uplo, size_t m, size_t n, const void *alpha, \
                               const void *ap, const void *b, size_t ldb, const void *beta, void *c, size_t ldc) \
    { \
        size_t order = LEFT(side) ? m : n, length = order * (order + 1) / 2; \
        RUN(T, packed_##X(&j, side, uplo, m, n, alpha, beta), {ap, length, 1, length ? length : 1, NULL, 0}, \
            {b, m, n, ldb, NULL, 0}, {c, m, n, ldc, NULL, 0}); \
    }
#define ALL(X, T) \
    int wrap_cublasXt##X##gemm(void *handle, int ta, int tb, size_t m, size_t n, size_t k, const void *alpha, \
                               const void *a, size_t lda, const void *b, size_t ldb, const void *beta, void *c, \
                               size_t ldc) \
    { \
        RUN(T, conv_cublas##X##gemm_v2(AT, ta, tb, (int)m, (int)n, (int)k, alpha, TO(0), TO(1), beta, TO(2)), \
            {a, DIM(IS_N(ta), m, k), lda, NULL, 0}, {b, DIM(IS_N(tb), k, n), ldb, NULL, 0}, {c, m, n, ldc, NULL, 0}); \
    } \
    int wrap_cublasXt##X##trsm(void *handle, int side, int uplo, int op, int diag, size_t m, size_t n, \
                               const void *alpha, const void *a, size_t lda, void *b, size_t ldb) \
    { \
        size_t order = LEFT(side) ? m : n; \
        RUN(T, conv_cublas##X##trsm_v2(AT, side, uplo, op, diag, (int)m, (int)n, alpha, TO(0), TO(1)), \
            {a, order, order, lda, NULL, 0}, {b, m, n, ldb, NULL, 0}); \
    } \
    int wrap_cublasXt##X##trmm(void *handle, int side, int uplo, int op, int diag, size_t m, size_t n, \
                               const void *alpha, const void *a, size_t lda, const void *b, size_t ldb, void *c, \
                               size_t ldc) \
    { \
        size_t order = LEFT(side) ? m : n; \
        RUN(T, conv_cublas##X##trmm_v2(AT, side, uplo, op, diag, (int)m, (int)n, alpha, TO(0), TO(1), TO(2)), \
            {a, order, order, lda, NULL, 0}, {b, m, n, ldb, NULL, 0}, {c, m, n, ldc, NULL, 0}); \
    } \
    RANK_K(X, T, syrk) \
    RANK_2K(X, T, syr2k, syr2k_v2) \
    RANK_2K(X, T, syrkx, syrkx) \
    SYMMETRIC(X, T, symm) \
    PACKED(X, T)
#define COMPLEX(X, T) \
    RANK_K(X, T, herk) \
    RANK_2K(X, T, her2k, her2k_v2) \
    RANK_2K(X, T, herkx, herkx) \
    SYMMETRIC(X, T, hemm)
ALL(S, float)
ALL(D, double)
ALL(C, float[2])
ALL(Z, double[2])
COMPLEX(C, float[2])
COMPLEX(Z, double[2])
