/* BLAS level 1 of the CPU muBLAS. */
#include <cblas.h>

#include "host/mublas/mublas.h"

typedef const int *Int;
MUBLAS_FORTRAN(axpy, Int, const void *, const void *, Int, void *, Int);
MUBLAS_FORTRAN(copy, Int, const void *, Int, void *, Int);
MUBLAS_FORTRAN(swap, Int, void *, Int, void *, Int);
MUBLAS_FORTRAN(scal, Int, const void *, void *, Int);
MUBLAS_FORTRAN(rotg, void *, void *, void *, void *);
MUBLAS_FORTRAN(rot, Int, void *, Int, void *, Int, const void *, const void *);
void csscal_(Int, const void *, void *, Int), zdscal_(Int, const void *, void *, Int);
void csrot_(Int, void *, Int, void *, Int, const void *, const void *);
void zdrot_(Int, void *, Int, void *, Int, const void *, const void *);
void srotm_(Int, void *, Int, void *, Int, const void *), drotm_(Int, void *, Int, void *, Int, const void *);
void srotmg_(void *, void *, void *, const void *, void *);
void drotmg_(void *, void *, void *, const void *, void *);

/* axpy, copy, swap: b is y. */
static void run_axpy(const struct mublas_call *c)
{
    axpy[c->type](&c->n, mublas_alpha(c), c->a.at, &c->a.ld, mublas_out(&c->b), &c->b.ld);
}
static void run_copy(const struct mublas_call *c)
{
    copy[c->type](&c->n, c->a.at, &c->a.ld, mublas_out(&c->b), &c->b.ld);
}
static void run_swap(const struct mublas_call *c)
{
    swap[c->type](&c->n, mublas_out(&c->a), &c->a.ld, mublas_out(&c->b), &c->b.ld);
}
static void run_scal(const struct mublas_call *c)
{
    void (*const *f)(Int, const void *, void *, Int) = c->blas;
    (*f)(&c->n, mublas_alpha(c), mublas_out(&c->a), &c->a.ld);
}
static void run_rot(const struct mublas_call *c)
{
    void (*const *f)(Int, void *, Int, void *, Int, const void *, const void *) = c->blas;
    (*f)(&c->n, mublas_out(&c->a), &c->a.ld, mublas_out(&c->b), &c->b.ld, mublas_alpha(c), mublas_beta(c));
}
static void run_rotm(const struct mublas_call *c)
{
    (c->type == S ? srotm_ : drotm_)(&c->n, mublas_out(&c->a), &c->a.ld, mublas_out(&c->b), &c->b.ld, mublas_alpha(c));
}

static mublasStatus_t vectors(mublasHandle_t h, struct mublas_call c, const void *alpha, size_t size, int n,
                              const void *x, int incx, const void *y, int incy, bool two)
{
    MUBLAS_LIVE(h);
    mublasStatus_t r = mublas_scalars(h, &c, alpha, size, NULL, 0);
    if (r || n <= 0)
        return r;
    if (!x || (two && !y))
        return MUBLAS_STATUS_INVALID_POINTER;
    c.n = n;
    c.a = (struct mublas_operand){.at = x, .ld = incx};
    c.b = (struct mublas_operand){.at = y, .ld = incy};
    return mublas_submit(h, &c, 8.0 * n);
}

static mublasStatus_t rotation(mublasHandle_t h, struct mublas_call c, int n, const void *x, int incx, const void *y,
                               int incy, const void *cosine, size_t csize, const void *sine, size_t ssize)
{
    MUBLAS_LIVE(h);
    mublasStatus_t r = mublas_scalars(h, &c, cosine, csize, sine, ssize);
    if (r || n <= 0)
        return r;
    if (!x || !y)
        return MUBLAS_STATUS_INVALID_POINTER;
    c.run = run_rot;
    c.n = n;
    c.a = (struct mublas_operand){.at = x, .ld = incx};
    c.b = (struct mublas_operand){.at = y, .ld = incy};
    return mublas_submit(h, &c, 8.0 * n);
}

/* Rotations to find: four or five places that are read and written. */
static void run_rotg(const struct mublas_call *c)
{
    rotg[c->type](mublas_out(&c->a), mublas_out(&c->b), mublas_out(&c->c), c->result);
}
static void run_rotmg(const struct mublas_call *c)
{
    (c->type == S ? srotmg_ : drotmg_)(mublas_out(&c->a), mublas_out(&c->b), mublas_out(&c->c), c->alpha_at, c->result);
}
static mublasStatus_t find(mublasHandle_t h, struct mublas_call c, const void *a, const void *b, const void *cc,
                           void *result)
{
    MUBLAS_LIVE(h);
    if (!a || !b || !cc || !result || (c.run == run_rotmg && !c.alpha_at))
        return MUBLAS_STATUS_INVALID_POINTER;
    c.a.at = a;
    c.b.at = b;
    c.c.at = cc;
    c.result = result;
    return mublas_submit_result(h, &c, 1);
}

#define ALL(X, T, R) \
    mublasStatus_t mublas##X##axpy(mublasHandle_t h, int n, const T *alpha, const T *x, int incx, T *y, int incy) \
    { \
        return vectors(h, (struct mublas_call){.run = run_axpy, .type = X}, alpha, sizeof(T), n, x, incx, y, incy, \
                       true); \
    } \
    mublasStatus_t mublas##X##copy(mublasHandle_t h, int n, const T *x, int incx, T *y, int incy) \
    { \
        return vectors(h, (struct mublas_call){.run = run_copy, .type = X}, "", 0, n, x, incx, y, incy, true); \
    } \
    mublasStatus_t mublas##X##swap(mublasHandle_t h, int n, T *x, int incx, T *y, int incy) \
    { \
        return vectors(h, (struct mublas_call){.run = run_swap, .type = X}, "", 0, n, x, incx, y, incy, true); \
    } \
    mublasStatus_t mublas##X##scal(mublasHandle_t h, int n, const T *alpha, T *x, int incx) \
    { \
        return vectors(h, (struct mublas_call){.run = run_scal, .blas = &scal[X]}, alpha, sizeof(T), n, x, incx, NULL, \
                       0, false); \
    } \
    mublasStatus_t mublas##X##rotg(mublasHandle_t h, T *a, T *b, R *c, T *s) \
    { \
        return find(h, (struct mublas_call){.run = run_rotg, .type = X}, a, b, c, s); \
    } \
    mublasStatus_t mublas##X##rot(mublasHandle_t h, int n, T *x, int incx, T *y, int incy, const R *c, const T *s) \
    { \
        return rotation(h, (struct mublas_call){.blas = &rot[X]}, n, x, incx, y, incy, c, sizeof(R), s, sizeof(T)); \
    }
ALL(S, float, float)
ALL(D, double, double)
ALL(C, muComplex, float)
ALL(Z, muDoubleComplex, double)

#define REAL(X, T) \
    mublasStatus_t mublas##X##rotm(mublasHandle_t h, int n, T *x, int incx, T *y, int incy, const T *param) \
    { \
        return vectors(h, (struct mublas_call){.run = run_rotm, .type = X}, param, 5 * sizeof(T), n, x, incx, y, incy, \
                       true); \
    } \
    mublasStatus_t mublas##X##rotmg(mublasHandle_t h, T *d1, T *d2, T *x1, const T *y1, T *param) \
    { \
        return find(h, (struct mublas_call){.run = run_rotmg, .type = X, .alpha_at = y1}, d1, d2, x1, param); \
    }
REAL(S, float)
REAL(D, double)

mublasStatus_t mublasCsscal(mublasHandle_t h, int n, const float *alpha, muComplex *x, int incx)
{
    static void (*const f)(Int, const void *, void *, Int) = csscal_;
    return vectors(h, (struct mublas_call){.run = run_scal, .blas = &f}, alpha, sizeof *alpha, n, x, incx, NULL, 0,
                   false);
}
mublasStatus_t mublasZdscal(mublasHandle_t h, int n, const double *alpha, muDoubleComplex *x, int incx)
{
    static void (*const f)(Int, const void *, void *, Int) = zdscal_;
    return vectors(h, (struct mublas_call){.run = run_scal, .blas = &f}, alpha, sizeof *alpha, n, x, incx, NULL, 0,
                   false);
}
mublasStatus_t mublasCsrot(mublasHandle_t h, int n, muComplex *x, int incx, muComplex *y, int incy, const float *c,
                           const float *s)
{
    static void (*const f)(Int, void *, Int, void *, Int, const void *, const void *) = csrot_;
    return rotation(h, (struct mublas_call){.blas = &f}, n, x, incx, y, incy, c, sizeof *c, s, sizeof *s);
}
mublasStatus_t mublasZdrot(mublasHandle_t h, int n, muDoubleComplex *x, int incx, muDoubleComplex *y, int incy,
                           const double *c, const double *s)
{
    static void (*const f)(Int, void *, Int, void *, Int, const void *, const void *) = zdrot_;
    return rotation(h, (struct mublas_call){.blas = &f}, n, x, incx, y, incy, c, sizeof *c, s, sizeof *s);
}

/* ---- reductions: results are written by the run ---------------------------------------------- */

#define REDUCE(name, T, expression) \
    static void run_##name(const struct mublas_call *c) \
    { \
        int n = c->n, incx = c->a.ld, incy = c->b.ld; \
        const void *x = c->a.at, *y = c->b.at; \
        T *result = c->result; \
        (void)n, (void)incx, (void)incy, (void)x, (void)y; \
        expression; \
    }
#define DOT(name, T, expression) \
    REDUCE(name, T, expression) \
    mublasStatus_t mublas##name(mublasHandle_t h, int n, const T *x, int incx, const T *y, int incy, T *result) \
    { \
        return reduce(h, run_##name, n, x, incx, y, incy, true, result, sizeof(T)); \
    }
#define NORM(name, T, R, expression) \
    REDUCE(name, R, expression) \
    mublasStatus_t mublas##name(mublasHandle_t h, int n, const T *x, int incx, R *result) \
    { \
        return reduce(h, run_##name, n, x, incx, NULL, 1, false, result, sizeof(R)); \
    }

static void run_zero(const struct mublas_call *c)
{
    char *result = c->result;
    for (size_t i = 0; i < c->alpha_size; i++)
        result[i] = 0;
}

static mublasStatus_t reduce(mublasHandle_t h, void (*run)(const struct mublas_call *), int n, const void *x, int incx,
                             const void *y, int incy, bool two, void *result, size_t size)
{
    MUBLAS_LIVE(h);
    if (!result)
        return MUBLAS_STATUS_INVALID_POINTER;
    struct mublas_call c = {.run = run, .n = n, .a = {.at = x, .ld = incx}, .b = {.at = y, .ld = incy}};
    c.result = result;
    c.alpha_size = size;
    if (n <= 0 || (!two && incx <= 0))
        c.run = run_zero;
    else if (!x || (two && !y))
        return MUBLAS_STATUS_INVALID_POINTER;
    return mublas_submit_result(h, &c, 8.0 * n);
}

/* OpenBLAS's complex dot products read an element before vectors with negative increments, which may be no
 * memory of the device. sign: -1 conjugates x. */
#define STRIDED_DOT(name, T, R) \
    static T name(int n, const T *x, int incx, const T *y, int incy, R sign) \
    { \
        T sum = {0, 0}; \
        x -= incx < 0 ? (long long)incx * (n - 1) : 0; \
        y -= incy < 0 ? (long long)incy * (n - 1) : 0; \
        for (int i = 0; i < n; i++, x += incx, y += incy) { \
            sum.x += x->x * y->x - sign * x->y * y->y; \
            sum.y += x->x * y->y + sign * x->y * y->x; \
        } \
        return sum; \
    }
STRIDED_DOT(cdot, muComplex, float)
STRIDED_DOT(zdot, muDoubleComplex, double)

/* OpenBLAS 0.3.21 (Debian 12) sums wrongly from 9 elements on with its Cooper Lake kernel, which it chooses on
 * a Zen 4; its sum of real numbers is right. */
static float scasum(int n, const muComplex *x, int incx)
{
    const float *parts = (const float *)x;
    if (incx == 1)
        return cblas_sasum(2 * n, parts, 1);
    return cblas_sasum(n, parts, 2 * incx) + cblas_sasum(n, parts + 1, 2 * incx);
}

DOT(Sdot, float, *result = cblas_sdot(n, x, incx, y, incy))
DOT(Ddot, double, *result = cblas_ddot(n, x, incx, y, incy))
DOT(Cdotu, muComplex, if (incx == 1 && incy == 1) cblas_cdotu_sub(n, x, 1, y, 1, result);
    else *result = cdot(n, x, incx, y, incy, 1))
DOT(Cdotc, muComplex, if (incx == 1 && incy == 1) cblas_cdotc_sub(n, x, 1, y, 1, result);
    else *result = cdot(n, x, incx, y, incy, -1))
DOT(Zdotu, muDoubleComplex, if (incx == 1 && incy == 1) cblas_zdotu_sub(n, x, 1, y, 1, result);
    else *result = zdot(n, x, incx, y, incy, 1))
DOT(Zdotc, muDoubleComplex, if (incx == 1 && incy == 1) cblas_zdotc_sub(n, x, 1, y, 1, result);
    else *result = zdot(n, x, incx, y, incy, -1))
NORM(Snrm2, float, float, *result = cblas_snrm2(n, x, incx))
NORM(Dnrm2, double, double, *result = cblas_dnrm2(n, x, incx))
NORM(Scnrm2, muComplex, float, *result = cblas_scnrm2(n, x, incx))
NORM(Dznrm2, muDoubleComplex, double, *result = cblas_dznrm2(n, x, incx))
NORM(Sasum, float, float, *result = cblas_sasum(n, x, incx))
NORM(Dasum, double, double, *result = cblas_dasum(n, x, incx))
NORM(Scasum, muComplex, float, *result = scasum(n, x, incx))
NORM(Dzasum, muDoubleComplex, double, *result = cblas_dzasum(n, x, incx))
NORM(Isamax, float, int, *result = (int)cblas_isamax(n, x, incx) + 1)
NORM(Idamax, double, int, *result = (int)cblas_idamax(n, x, incx) + 1)
NORM(Icamax, muComplex, int, *result = (int)cblas_icamax(n, x, incx) + 1)
NORM(Izamax, muDoubleComplex, int, *result = (int)cblas_izamax(n, x, incx) + 1)
NORM(Isamin, float, int, *result = (int)cblas_isamin(n, x, incx) + 1)
NORM(Idamin, double, int, *result = (int)cblas_idamin(n, x, incx) + 1)
NORM(Icamin, muComplex, int, *result = (int)cblas_icamin(n, x, incx) + 1)
NORM(Izamin, muDoubleComplex, int, *result = (int)cblas_izamin(n, x, incx) + 1)
