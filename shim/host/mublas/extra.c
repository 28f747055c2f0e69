/* What muBLAS has beside BLAS: sums of matrices, products with diagonal ones, packed triangles. */
#include <string.h>

#include "host/mublas/mublas.h"

/* One element, in the widest type; a float survives the way there and back. */
struct number {
    double re, im;
};
static struct number load(const void *p, int type, size_t i)
{
    const float *f = p;
    const double *d = p;
    switch (type) {
    case S: return (struct number){f[i], 0};
    case D: return (struct number){d[i], 0};
    case C: return (struct number){f[2 * i], f[2 * i + 1]};
    default: return (struct number){d[2 * i], d[2 * i + 1]};
    }
}
static void store(void *p, int type, size_t i, struct number v)
{
    float *f = p;
    double *d = p;
    switch (type) {
    case S: f[i] = (float)v.re; break;
    case D: d[i] = v.re; break;
    case C: f[2 * i] = (float)v.re, f[2 * i + 1] = (float)v.im; break;
    default: d[2 * i] = v.re, d[2 * i + 1] = v.im;
    }
}
static struct number times(struct number a, struct number b)
{
    return (struct number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static bool is_zero(struct number v) { return v.re == 0 && v.im == 0; }

/* Element (i, j) of op(o). */
static struct number element(const struct mublas_operand *o, int type, char op, int i, int j)
{
    size_t at = op == 'N' ? (size_t)i + (size_t)o->ld * (size_t)j : (size_t)j + (size_t)o->ld * (size_t)i;
    struct number v = load(o->at, type, at);
    if (op == 'C')
        v.im = -v.im;
    return v;
}

/* A matrix whose factor is 0 is not read. */
static void run_geam(const struct mublas_call *c)
{
    struct number alpha = load(mublas_alpha(c), c->type, 0), beta = load(mublas_beta(c), c->type, 0);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++) {
            struct number a = {0}, b = {0};
            if (!is_zero(alpha))
                a = times(alpha, element(&c->a, c->type, c->t[0], i, j));
            if (!is_zero(beta))
                b = times(beta, element(&c->b, c->type, c->t[1], i, j));
            store(mublas_out(&c->c), c->type, (size_t)i + (size_t)c->c.ld * (size_t)j,
                  (struct number){a.re + b.re, a.im + b.im});
        }
}

static void run_dgmm(const struct mublas_call *c)
{
    int count = c->side == 'L' ? c->m : c->n, first = c->b.ld < 0 ? -c->b.ld * (count - 1) : 0;
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++) {
            int k = first + c->b.ld * (c->side == 'L' ? i : j);
            struct number x = load(c->b.at, c->type, (size_t)k);
            store(mublas_out(&c->c), c->type, (size_t)i + (size_t)c->c.ld * (size_t)j,
                  times(x, element(&c->a, c->type, 'N', i, j)));
        }
}

/* Between packed and full: a is what is read. */
static void run_pack(const struct mublas_call *c)
{
    size_t size = mublas_size(c->type), packed = 0;
    for (int j = 0; j < c->n; j++) {
        size_t first = c->uplo == 'L' ? (size_t)j : 0;
        size_t rows = c->uplo == 'L' ? (size_t)(c->n - j) : (size_t)j + 1;
        bool full_in = c->a.ld > 0;
        size_t full = first + (size_t)(full_in ? c->a.ld : c->c.ld) * (size_t)j;
        memcpy((char *)mublas_out(&c->c) + size * (full_in ? packed : full),
               (const char *)c->a.at + size * (full_in ? full : packed), size * rows);
        packed += rows;
    }
}

static bool small(int ld, int rows) { return ld < (rows > 1 ? rows : 1); }

static mublasStatus_t submit(mublasHandle_t h, const struct mublas_call *c)
{
    if (!c->m || !c->n)
        return MUBLAS_STATUS_SUCCESS;
    return c->c.at ? mublas_submit(h, c, 16.0 * c->m * c->n) : MUBLAS_STATUS_INVALID_POINTER;
}

static mublasStatus_t do_geam(mublasHandle_t h, struct mublas_call c, int ta, int tb, const void *alpha,
                              const void *beta)
{
    MUBLAS_LIVE(h);
    c.run = run_geam;
    c.t[0] = mublas_op(ta);
    c.t[1] = mublas_op(tb);
    if (!c.t[0] || !c.t[1])
        return MUBLAS_STATUS_INVALID_VALUE;
    if (c.m < 0 || c.n < 0 || small(c.a.ld, c.t[0] == 'N' ? c.m : c.n) || small(c.b.ld, c.t[1] == 'N' ? c.m : c.n) ||
        small(c.c.ld, c.m))
        return MUBLAS_STATUS_INVALID_SIZE;
    /* In place only where no element is read after it was written. */
    if (c.c.at && ((c.c.at == c.a.at && (c.t[0] != 'N' || c.a.ld != c.c.ld)) ||
                   (c.c.at == c.b.at && (c.t[1] != 'N' || c.b.ld != c.c.ld))))
        return MUBLAS_STATUS_INVALID_VALUE;
    size_t size = mublas_size(c.type);
    mublasStatus_t r = mublas_scalars(h, &c, alpha, size, beta, size);
    if (r)
        return r;
    if (!mublas_on_device(h) && c.m && c.n &&
        ((!c.a.at && !is_zero(load(alpha, c.type, 0))) || (!c.b.at && !is_zero(load(beta, c.type, 0)))))
        return MUBLAS_STATUS_INVALID_POINTER;
    return submit(h, &c);
}

static mublasStatus_t do_dgmm(mublasHandle_t h, struct mublas_call c, int side)
{
    MUBLAS_LIVE(h);
    c.run = run_dgmm;
    c.side = mublas_side(side);
    if (!c.side)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (c.m < 0 || c.n < 0 || small(c.a.ld, c.m) || small(c.c.ld, c.m))
        return MUBLAS_STATUS_INVALID_SIZE;
    if (c.m && c.n && (!c.a.at || !c.b.at))
        return MUBLAS_STATUS_INVALID_POINTER;
    return submit(h, &c);
}

static mublasStatus_t do_pack(mublasHandle_t h, struct mublas_call c, int uplo, int ld)
{
    MUBLAS_LIVE(h);
    c.run = run_pack;
    c.uplo = mublas_fill(uplo);
    c.m = c.n;
    if (!c.uplo)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (c.n < 0 || small(ld, c.n))
        return MUBLAS_STATUS_INVALID_SIZE;
    if (c.n && !c.a.at)
        return MUBLAS_STATUS_INVALID_POINTER;
    return submit(h, &c);
}

#define FN(name, ...) mublasStatus_t mublas##name(mublasHandle_t h, __VA_ARGS__)
#define AT(p, l) \
    { \
        .at = (p), .ld = (l) \
    }
#define ALL(W, T) \
    FN(W##geam, int ta, int tb, int m, int n, const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb, \
       T *c, int ldc) \
    { \
        struct mublas_call call = {.type = W, .m = m, .n = n, .a = AT(a, lda), .b = AT(b, ldb), .c = AT(c, ldc)}; \
        return do_geam(h, call, ta, tb, alpha, beta); \
    } \
    FN(W##dgmm, int side, int m, int n, const T *a, int lda, const T *x, int incx, T *c, int ldc) \
    { \
        struct mublas_call call = {.type = W, .m = m, .n = n, .a = AT(a, lda), .b = AT(x, incx), .c = AT(c, ldc)}; \
        return do_dgmm(h, call, side); \
    } \
    FN(W##tpttr, int uplo, int n, const T *ap, T *a, int lda) \
    { \
        return do_pack(h, (struct mublas_call){.type = W, .n = n, .a = AT(ap, 0), .c = AT(a, lda)}, uplo, lda); \
    } \
    FN(W##trttp, int uplo, int n, const T *a, int lda, T *ap) \
    { \
        return do_pack(h, (struct mublas_call){.type = W, .n = n, .a = AT(a, lda), .c = AT(ap, 0)}, uplo, lda); \
    }
ALL(S, float)
ALL(D, double)
ALL(C, muComplex)
ALL(Z, muDoubleComplex)
