/* muBLAS's functions that nothing public shows, over those that are seen: norms by inner products, products with a
 * diagonal matrix by many small products of matrices. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/init.h"
#include "core/resolve.h"

#include "musa_enums.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls whose scalars lie on the host ---------------------------------------------------------- */

/* What a handle had before, to be given back. */
struct before {
    mublasPointerMode_t mode;
    mublasMath_t math;
    bool changed, precise;
};

/* From here to leave(): scalars on the host and, if `precise`, no arithmetic narrower than the type's. */
static mublasStatus_t enter(mublasHandle_t h, struct before *b, bool precise)
{
    *b = (struct before){0};
    mublasStatus_t r = mu.mublasGetPointerMode(h, &b->mode);
    if (!r && b->mode != MUBLAS_POINTER_MODE_HOST) {
        r = mu.mublasSetPointerMode(h, MUBLAS_POINTER_MODE_HOST);
        b->changed = !r;
    }
    b->precise = !r && precise && !mu.mublasGetMathMode(h, &b->math) && b->math != CUBLAS_DEFAULT_MATH &&
                 !mu.mublasSetMathMode(h, CUBLAS_DEFAULT_MATH);
    return r;
}

static void leave(mublasHandle_t h, const struct before *b)
{
    if (b->precise)
        (void)mu.mublasSetMathMode(h, b->math);
    if (b->changed)
        (void)mu.mublasSetPointerMode(h, b->mode);
}

/* ---- Euclidean norms ------------------------------------------------------------------------------ */

/* A vector whose squares overflow, underflow or are all 0 is fetched: no sum of squares of doubles leaves the range of
 * long double, and none of floats that of double. */
enum { PIECE = 1 << 20 };
static mublasStatus_t norm_on_host(int n, const char *x, size_t stride, size_t size, unsigned parts, double *norm)
{
    char *piece = malloc(PIECE * parts * size);
    long double sum = 0;
    mublasStatus_t r = piece ? MUBLAS_STATUS_SUCCESS : MUBLAS_STATUS_MEMORY_ERROR;
    for (int at = 0, count; !r && at < n; at += count) {
        size_t width = parts * size;
        count = n - at < PIECE ? n - at : PIECE;
        const char *from = x + (size_t)at * stride;
        if (mu.musaMemcpy2D(piece, width, from, stride, width, (size_t)count, musaMemcpyDeviceToHost))
            r = MUBLAS_STATUS_INTERNAL_ERROR;
        for (size_t i = 0; !r && i < (size_t)count * parts; i++) {
            const void *p = piece + i * size;
            long double v = size == sizeof(float) ? (long double)*(const float *)p : (long double)*(const double *)p;
            sum += v * v;
        }
    }
    free(piece);
    *norm = (double)sqrtl(sum);
    return r;
}

/* The inner products with the host's scalars have waited for the handle's stream: what lies before this call in it is
 * done, and a copy that has ended is seen by all that comes after. */
static mublasStatus_t give(bool on_device, void *result, const void *norm, size_t size)
{
    if (!on_device)
        memcpy(result, norm, size);
    else if (mu.musaMemcpy(result, norm, size, musaMemcpyHostToDevice) || mu.musaStreamSynchronize(NULL))
        return MUBLAS_STATUS_INTERNAL_ERROR;
    return MUBLAS_STATUS_SUCCESS;
}

/* A complex vector is one of its real and one of its imaginary parts. */
#define NORM(name, dot, type, real, parts, least, most) \
    static mublasStatus_t name(mublasHandle_t h, int n, const type *x, int incx, real *result) \
    { \
        struct before b; \
        real sum = 0, part, norm = 0; \
        bool none = n <= 0 || incx <= 0; \
        mublasStatus_t r = !result || (!x && !none)       ? MUBLAS_STATUS_INVALID_POINTER \
                           : incx > __INT_MAX__ / (parts) ? MUBLAS_STATUS_INVALID_SIZE \
                                                          : enter(h, &b, false); \
        if (r) \
            return r; \
        for (int k = 0; !r && !none && k < (parts); k++) { \
            const real *p = (const real *)x + k; \
            r = mu.dot(h, n, p, (parts)*incx, p, (parts)*incx, &part); \
            sum += part; \
        } \
        leave(h, &b); \
        if (!r && !none && (sum < (least) || sum > (most))) { \
            double wide = 0; \
            r = norm_on_host(n, (const char *)x, (size_t)incx * sizeof *x, sizeof(real), parts, &wide); \
            norm = (real)wide; \
        } else { \
            norm = (real)sqrt((double)sum); \
        } \
        return r ? r : give(b.changed, result, &norm, sizeof norm); \
    }
NORM(snrm2, mublasSdot, float, float, 1, FLT_MIN / FLT_EPSILON, FLT_MAX)
NORM(dnrm2, mublasDdot, double, double, 1, DBL_MIN / DBL_EPSILON, DBL_MAX)
NORM(scnrm2, mublasSdot, muComplex, float, 2, FLT_MIN / FLT_EPSILON, FLT_MAX)
NORM(dznrm2, mublasDdot, muDoubleComplex, double, 2, DBL_MIN / DBL_EPSILON, DBL_MAX)

/* ---- a matrix times a diagonal one ----------------------------------------------------------------- */

/* Each column (or row) times its number is a product of matrices with one inner index: no sum in which a NaN or an
 * infinity of a neighbour could take part. C is not read, as beta is 0. A matrix that is scaled in place is copied
 * first, as products may write C before they have read A. */
struct diagonal {
    struct before before;
    bool left;
    musaStream_t stream;
    void *copy; /* of A, where C lies on it */
    const char *a, *x;
};

static bool overlap(const char *a, size_t bytes, const char *c, size_t c_bytes)
{
    return a < c + c_bytes && c < a + bytes;
}

static size_t span(int m, int n, int ld, size_t size) { return ((size_t)ld * (size_t)(n - 1) + (size_t)m) * size; }

static mublasStatus_t copy_aside(mublasHandle_t h, struct diagonal *d, size_t bytes)
{
    mublasStatus_t r = mu.mublasGetStream(h, &d->stream);
    if (r)
        return r;
    if (mu.musaMalloc(&d->copy, bytes))
        return MUBLAS_STATUS_MEMORY_ERROR;
    if (mu.musaMemcpyAsync(d->copy, d->a, bytes, musaMemcpyDeviceToDevice, d->stream))
        return MUBLAS_STATUS_INTERNAL_ERROR;
    d->a = d->copy;
    return MUBLAS_STATUS_SUCCESS;
}

/* Where incx is negative the vector is read from its end, as cuBLAS has it. */
static mublasStatus_t begin(mublasHandle_t h, struct diagonal *d, int side, int m, int n, const void *a, int lda,
                            const void *x, int incx, const void *c, int ldc, size_t size)
{
    int count = side == MUBLAS_SIDE_LEFT ? m : n;
    if (side != MUBLAS_SIDE_LEFT && side != MUBLAS_SIDE_RIGHT)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (m < 0 || n < 0 || lda < (m > 1 ? m : 1) || ldc < (m > 1 ? m : 1))
        return MUBLAS_STATUS_INVALID_SIZE;
    if (m && n && (!a || !x || !c))
        return MUBLAS_STATUS_INVALID_POINTER;
    *d = (struct diagonal){.left = side == MUBLAS_SIDE_LEFT, .a = a, .x = x};
    if (incx < 0 && count > 0)
        d->x += (size_t) - (long long)incx * (size_t)(count - 1) * size;
    mublasStatus_t r = enter(h, &d->before, true);
    if (!r && m && n && overlap(a, span(m, n, lda, size), c, span(m, n, ldc, size)))
        r = copy_aside(h, d, span(m, n, lda, size));
    return r;
}

static mublasStatus_t end(mublasHandle_t h, struct diagonal *d, mublasStatus_t r)
{
    leave(h, &d->before);
    if (d->copy) {
        if (mu.musaStreamSynchronize(d->stream) && !r)
            r = MUBLAS_STATUS_INTERNAL_ERROR;
        (void)mu.musaFree(d->copy);
    }
    return r;
}

#define DIAGONAL(name, gemm, type, ...) \
    static mublasStatus_t name(mublasHandle_t h, mublasSideMode_t side, int m, int n, const type *a, int lda, \
                               const type *x, int incx, type *c, int ldc) \
    { \
        static const type one = {__VA_ARGS__}, zero; \
        struct diagonal d = {0}; \
        mublasStatus_t r = begin(h, &d, side, m, n, a, lda, x, incx, c, ldc, sizeof *c); \
        const type *from = (const void *)d.a, *numbers = (const void *)d.x; \
        if (!r && m && n) \
            r = d.left ? mu.gemm(h, MUBLAS_OP_N, MUBLAS_OP_N, 1, n, 1, &one, numbers, 1, incx, from, lda, 1, &zero, c, \
                                 ldc, 1, m) \
                       : mu.gemm(h, MUBLAS_OP_N, MUBLAS_OP_N, m, 1, 1, &one, from, lda, lda, numbers, 1, incx, &zero, \
                                 c, ldc, ldc, n); \
        return end(h, &d, r); \
    }
DIAGONAL(sdgmm, mublasSgemmStridedBatched, float, 1)
DIAGONAL(ddgmm, mublasDgemmStridedBatched, double, 1)
DIAGONAL(cdgmm, mublasCgemmStridedBatched, muComplex, 1, 0)
DIAGONAL(zdgmm, mublasZgemmStridedBatched, muDoubleComplex, 1, 0)

/* ---- the family ------------------------------------------------------------------------------------ */

#define STAND_IN(function) (void (*)(void))(function)
static const struct {
    const char *name, *over;
    void (*function)(void);
} rows[] = {
    {"mublasCdgmm", "mublasCgemmStridedBatched", STAND_IN(cdgmm)},
    {"mublasDdgmm", "mublasDgemmStridedBatched", STAND_IN(ddgmm)},
    {"mublasDnrm2", "mublasDdot", STAND_IN(dnrm2)},
    {"mublasDznrm2", "mublasDdot", STAND_IN(dznrm2)},
    {"mublasScnrm2", "mublasSdot", STAND_IN(scnrm2)},
    {"mublasSdgmm", "mublasSgemmStridedBatched", STAND_IN(sdgmm)},
    {"mublasSnrm2", "mublasSdot", STAND_IN(snrm2)},
    {"mublasZdgmm", "mublasZgemmStridedBatched", STAND_IN(zdgmm)},
};

void *cumu_blas_stand_in(const char *symbol)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, symbol) == 0)
            return !cumu_below_has("mublas", symbol) && cumu_below_has("mublas", rows[i].over)
                       ? cumu_code_address(rows[i].function)
                       : NULL;
    return NULL;
}
