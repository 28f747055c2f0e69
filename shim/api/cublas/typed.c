/* cuBLAS calls whose element types are arguments, of level 1 and rank updates: where all are one type, muBLAS's
 * function of it; f16 and bf16 with sums in f32 by half.c. */
#include "api/cublas/blas.h"
#include "api/cublas/half.h"

#include "wraps.h"

/* The letter of muBLAS's functions for one type of everything, 0 if there is none. */
static char letter(int type)
{
    switch (type) {
    case CUDA_R_32F: return 'S';
    case CUDA_R_64F: return 'D';
    case CUDA_C_32F: return 'C';
    case CUDA_C_64F: return 'Z';
    default: return 0;
    }
}

/* Vectors of f16 or bf16 whose sums are f32. */
static bool half(int type, int compute) { return (type == CUDA_R_16F || type == CUDA_R_16BF) && compute == CUDA_R_32F; }

static int real_of(int type) { return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type; }

static int refused(const char *name, long n, long incx, long incy)
{
    bool wide = n != (int)n || incx != (int)incx || incy != (int)incy;
    cumu_gap("cublas", name, "%s", wide ? "a size above 2147483647" : "elements, scalars and sums of several types");
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

static bool fits(long n, long incx, long incy) { return n == (int)n && incx == (int)incx && incy == (int)incy; }

static int axpy(void *h, long n, const void *alpha, int atype, const void *x, int xtype, long incx, void *y, int ytype,
                long incy, int compute)
{
    bool one = atype == xtype && ytype == xtype && compute == xtype && fits(n, incx, incy);
    int m = (int)n, ix = (int)incx, iy = (int)incy;
    if (half(xtype, compute) && atype == CUDA_R_32F && ytype == xtype && fits(n, incx, incy))
        return cublas_half_axpy(h, m, alpha, x, xtype, ix, y, iy);
    switch (one ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSaxpy(h, m, alpha, x, ix, y, iy));
    case 'D': return CUBLAS(mu.mublasDaxpy(h, m, alpha, x, ix, y, iy));
    case 'C': return CUBLAS(mu.mublasCaxpy(h, m, alpha, x, ix, y, iy));
    case 'Z': return CUBLAS(mu.mublasZaxpy(h, m, alpha, x, ix, y, iy));
    default: return refused("cublasAxpyEx", n, incx, incy);
    }
}

static int scal(void *h, long n, const void *alpha, int atype, void *x, int xtype, long incx, int compute)
{
    bool one = atype == xtype && compute == xtype && fits(n, incx, 1);
    int m = (int)n, ix = (int)incx;
    if (half(xtype, compute) && atype == CUDA_R_32F && fits(n, incx, 1))
        return cublas_half_scal(h, m, alpha, x, xtype, ix);
    switch (one ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSscal(h, m, alpha, x, ix));
    case 'D': return CUBLAS(mu.mublasDscal(h, m, alpha, x, ix));
    case 'C': return CUBLAS(mu.mublasCscal(h, m, alpha, x, ix));
    case 'Z': return CUBLAS(mu.mublasZscal(h, m, alpha, x, ix));
    default: return refused("cublasScalEx", n, incx, 1);
    }
}

static int dot(void *h, long n, const void *x, int xtype, long incx, const void *y, int ytype, long incy, void *result,
               int rtype, int compute, bool conjugate)
{
    bool one = ytype == xtype && rtype == xtype && compute == xtype && fits(n, incx, incy);
    int m = (int)n, ix = (int)incx, iy = (int)incy;
    if (half(xtype, compute) && ytype == xtype && rtype == xtype && fits(n, incx, incy))
        return cublas_half_dot(h, m, x, xtype, ix, y, iy, result);
    switch (one ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSdot(h, m, x, ix, y, iy, result));
    case 'D': return CUBLAS(mu.mublasDdot(h, m, x, ix, y, iy, result));
    case 'C': return CUBLAS((conjugate ? mu.mublasCdotc : mu.mublasCdotu)(h, m, x, ix, y, iy, result));
    case 'Z': return CUBLAS((conjugate ? mu.mublasZdotc : mu.mublasZdotu)(h, m, x, ix, y, iy, result));
    default: return refused(conjugate ? "cublasDotcEx" : "cublasDotEx", n, incx, incy);
    }
}

/* A norm is real. */
static int norm(void *h, long n, const void *x, int xtype, long incx, void *result, int rtype, int compute)
{
    bool one = rtype == real_of(xtype) && compute == real_of(xtype) && fits(n, incx, 1);
    int m = (int)n, ix = (int)incx;
    if (half(xtype, compute) && rtype == xtype && fits(n, incx, 1))
        return cublas_half_norm(h, m, x, xtype, ix, result);
    switch (one ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSnrm2(h, m, x, ix, result));
    case 'D': return CUBLAS(mu.mublasDnrm2(h, m, x, ix, result));
    case 'C': return CUBLAS(mu.mublasScnrm2(h, m, x, ix, result));
    case 'Z': return CUBLAS(mu.mublasDznrm2(h, m, x, ix, result));
    default: return refused("cublasNrm2Ex", n, incx, 1);
    }
}

/* syrk and herk of complex f32; the forms with three real products differ in speed alone. */
static int rank(bool hermitian, void *h, int uplo, int op, long n, long k, const void *alpha, const void *a, int atype,
                long lda, const void *beta, void *c, int ctype, long ldc)
{
    if (atype != CUDA_C_32F || ctype != atype || !fits(n, lda, ldc) || k != (int)k)
        return refused(hermitian ? "cublasCherkEx" : "cublasCsyrkEx", n, lda, ldc);
    int u = cumu_cublasFillMode_t_to_musa(uplo), t = cumu_cublasOperation_t_to_musa(op);
    int m = (int)n, mk = (int)k, la = (int)lda, lc = (int)ldc;
    return CUBLAS(hermitian ? mu.mublasCherk(h, u, t, m, mk, alpha, a, la, beta, c, lc)
                            : mu.mublasCsyrk(h, u, t, m, mk, alpha, a, la, beta, c, lc));
}

#define RANK(name, hermitian, size) \
    int wrap_cublas##name(void *h, int uplo, int op, size n, size k, const void *alpha, const void *a, int atype, \
                          size lda, const void *beta, void *c, int ctype, size ldc) \
    { \
        return rank(hermitian, h, uplo, op, n, k, alpha, a, atype, lda, beta, c, ctype, ldc); \
    }
RANK(CsyrkEx, false, int)
RANK(Csyrk3mEx, false, int)
RANK(CherkEx, true, int)
RANK(Cherk3mEx, true, int)
RANK(CsyrkEx_64, false, long)
RANK(Csyrk3mEx_64, false, long)
RANK(CherkEx_64, true, long)
RANK(Cherk3mEx_64, true, long)

#define FORMS(suffix, size) \
    int wrap_cublasAxpyEx##suffix(void *h, size n, const void *alpha, int atype, const void *x, int xtype, size incx, \
                                  void *y, int ytype, size incy, int compute) \
    { \
        return axpy(h, n, alpha, atype, x, xtype, incx, y, ytype, incy, compute); \
    } \
    int wrap_cublasScalEx##suffix(void *h, size n, const void *alpha, int atype, void *x, int xtype, size incx, \
                                  int compute) \
    { \
        return scal(h, n, alpha, atype, x, xtype, incx, compute); \
    } \
    int wrap_cublasDotEx##suffix(void *h, size n, const void *x, int xtype, size incx, const void *y, int ytype, \
                                 size incy, void *result, int rtype, int compute) \
    { \
        return dot(h, n, x, xtype, incx, y, ytype, incy, result, rtype, compute, false); \
    } \
    int wrap_cublasDotcEx##suffix(void *h, size n, const void *x, int xtype, size incx, const void *y, int ytype, \
                                  size incy, void *result, int rtype, int compute) \
    { \
        return dot(h, n, x, xtype, incx, y, ytype, incy, result, rtype, compute, true); \
    } \
    int wrap_cublasNrm2Ex##suffix(void *h, size n, const void *x, int xtype, size incx, void *result, int rtype, \
                                  int compute) \
    { \
        return norm(h, n, x, xtype, incx, result, rtype, compute); \
    }
FORMS(, int)
FORMS(_64, long)

/* ---- those that came later: rotations, copies, sums, places of extremes ------------------------- */

static int asum(void *h, long n, const void *x, int xtype, long incx, void *result, int rtype, int compute)
{
    bool one = rtype == real_of(xtype) && compute == real_of(xtype) && fits(n, incx, 1);
    int m = (int)n, ix = (int)incx;
    switch (one ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSasum(h, m, x, ix, result));
    case 'D': return CUBLAS(mu.mublasDasum(h, m, x, ix, result));
    case 'C': return CUBLAS(mu.mublasScasum(h, m, x, ix, result));
    case 'Z': return CUBLAS(mu.mublasDzasum(h, m, x, ix, result));
    default: return refused("cublasAsumEx", n, incx, 1);
    }
}

static int swap(void *h, long n, void *x, int xtype, long incx, void *y, int ytype, long incy)
{
    bool one = ytype == xtype && fits(n, incx, incy);
    int m = (int)n, ix = (int)incx, iy = (int)incy;
    switch (one ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSswap(h, m, x, ix, y, iy));
    case 'D': return CUBLAS(mu.mublasDswap(h, m, x, ix, y, iy));
    case 'C': return CUBLAS(mu.mublasCswap(h, m, x, ix, y, iy));
    case 'Z': return CUBLAS(mu.mublasZswap(h, m, x, ix, y, iy));
    default: return refused("cublasSwapEx", n, incx, incy);
    }
}

static int copy(void *h, long n, const void *x, int xtype, long incx, void *y, int ytype, long incy)
{
    bool one = ytype == xtype && fits(n, incx, incy);
    int m = (int)n, ix = (int)incx, iy = (int)incy;
    switch (one ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasScopy(h, m, x, ix, y, iy));
    case 'D': return CUBLAS(mu.mublasDcopy(h, m, x, ix, y, iy));
    case 'C': return CUBLAS(mu.mublasCcopy(h, m, x, ix, y, iy));
    case 'Z': return CUBLAS(mu.mublasZcopy(h, m, x, ix, y, iy));
    default: return refused("cublasCopyEx", n, incx, incy);
    }
}

/* c is real; s is real (Csrot) or of x's type. */
static int rot(void *h, long n, void *x, int xtype, long incx, void *y, int ytype, long incy, const void *c,
               const void *s, int cstype, int compute)
{
    bool same = ytype == xtype && compute == xtype && fits(n, incx, incy);
    bool real_s = cstype == real_of(xtype) && cstype != xtype;
    int m = (int)n, ix = (int)incx, iy = (int)incy;
    switch (same && (real_s || cstype == xtype) ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSrot(h, m, x, ix, y, iy, c, s));
    case 'D': return CUBLAS(mu.mublasDrot(h, m, x, ix, y, iy, c, s));
    case 'C':
        return real_s ? CUBLAS(mu.mublasCsrot(h, m, x, ix, y, iy, c, s))
                      : CUBLAS(mu.mublasCrot(h, m, x, ix, y, iy, c, s));
    case 'Z':
        return real_s ? CUBLAS(mu.mublasZdrot(h, m, x, ix, y, iy, c, s))
                      : CUBLAS(mu.mublasZrot(h, m, x, ix, y, iy, c, s));
    default: return refused("cublasRotEx", n, incx, incy);
    }
}

int wrap_cublasRotgEx(void *h, void *a, void *b, int abtype, void *c, void *s, int cstype, int compute)
{
    bool one = compute == abtype && cstype == abtype;
    switch (one ? letter(abtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSrotg(h, a, b, c, s));
    case 'D': return CUBLAS(mu.mublasDrotg(h, a, b, c, s));
    case 'C': return CUBLAS(mu.mublasCrotg(h, a, b, c, s));
    case 'Z': return CUBLAS(mu.mublasZrotg(h, a, b, c, s));
    default: return refused("cublasRotgEx", 0, 0, 0);
    }
}

static int rotm(void *h, long n, void *x, int xtype, long incx, void *y, int ytype, long incy, const void *param,
                int ptype, int compute)
{
    bool one = ytype == xtype && ptype == xtype && compute == xtype && fits(n, incx, incy);
    int m = (int)n, ix = (int)incx, iy = (int)incy;
    switch (one ? letter(xtype) : 0) {
    case 'S': return CUBLAS(mu.mublasSrotm(h, m, x, ix, y, iy, param));
    case 'D': return CUBLAS(mu.mublasDrotm(h, m, x, ix, y, iy, param));
    default: return refused("cublasRotmEx", n, incx, incy);
    }
}

int wrap_cublasRotmgEx(void *h, void *d1, int d1type, void *d2, int d2type, void *x1, int x1type, const void *y1,
                       int y1type, void *param, int ptype, int compute)
{
    bool one = d2type == d1type && x1type == d1type && y1type == d1type && ptype == d1type && compute == d1type;
    switch (one ? letter(d1type) : 0) {
    case 'S': return CUBLAS(mu.mublasSrotmg(h, d1, d2, x1, y1, param));
    case 'D': return CUBLAS(mu.mublasDrotmg(h, d1, d2, x1, y1, param));
    default: return refused("cublasRotmgEx", 0, 0, 0);
    }
}

int wrap_cublasIamaxEx(void *h, int n, const void *x, int xtype, int incx, void *result)
{
    switch (letter(xtype)) {
    case 'S': return CUBLAS(mu.mublasIsamax(h, n, x, incx, result));
    case 'D': return CUBLAS(mu.mublasIdamax(h, n, x, incx, result));
    case 'C': return CUBLAS(mu.mublasIcamax(h, n, x, incx, result));
    case 'Z': return CUBLAS(mu.mublasIzamax(h, n, x, incx, result));
    default: return refused("cublasIamaxEx", n, incx, 1);
    }
}
int wrap_cublasIaminEx(void *h, int n, const void *x, int xtype, int incx, void *result)
{
    switch (letter(xtype)) {
    case 'S': return CUBLAS(mu.mublasIsamin(h, n, x, incx, result));
    case 'D': return CUBLAS(mu.mublasIdamin(h, n, x, incx, result));
    case 'C': return CUBLAS(mu.mublasIcamin(h, n, x, incx, result));
    case 'Z': return CUBLAS(mu.mublasIzamin(h, n, x, incx, result));
    default: return refused("cublasIaminEx", n, incx, 1);
    }
}
#define EXTREME(which) \
    int wrap_cublasIa##which##Ex_64(void *h, long n, const void *x, int xtype, long incx, void *result) \
    { \
        switch (letter(xtype)) { \
        case 'S': return wrap_cublasIsa##which##_v2_64(h, n, x, incx, result); \
        case 'D': return wrap_cublasIda##which##_v2_64(h, n, x, incx, result); \
        case 'C': return wrap_cublasIca##which##_v2_64(h, n, x, incx, result); \
        case 'Z': return wrap_cublasIza##which##_v2_64(h, n, x, incx, result); \
        default: return refused("cublasIa" #which "Ex", 0, 0, 0); \
        } \
    }
EXTREME(max)
EXTREME(min)

#define LATER(suffix, size) \
    int wrap_cublasAsumEx##suffix(void *h, size n, const void *x, int xtype, size incx, void *result, int rtype, \
                                  int compute) \
    { \
        return asum(h, n, x, xtype, incx, result, rtype, compute); \
    } \
    int wrap_cublasSwapEx##suffix(void *h, size n, void *x, int xtype, size incx, void *y, int ytype, size incy) \
    { \
        return swap(h, n, x, xtype, incx, y, ytype, incy); \
    } \
    int wrap_cublasCopyEx##suffix(void *h, size n, const void *x, int xtype, size incx, void *y, int ytype, size incy) \
    { \
        return copy(h, n, x, xtype, incx, y, ytype, incy); \
    } \
    int wrap_cublasRotEx##suffix(void *h, size n, void *x, int xtype, size incx, void *y, int ytype, size incy, \
                                 const void *c, const void *s, int cstype, int compute) \
    { \
        return rot(h, n, x, xtype, incx, y, ytype, incy, c, s, cstype, compute); \
    } \
    int wrap_cublasRotmEx##suffix(void *h, size n, void *x, int xtype, size incx, void *y, int ytype, size incy, \
                                  const void *param, int ptype, int compute) \
    { \
        return rotm(h, n, x, xtype, incx, y, ytype, incy, param, ptype, compute); \
    }
LATER(, int)
LATER(_64, long)
