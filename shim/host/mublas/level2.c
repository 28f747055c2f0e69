/* BLAS level 2 of the CPU muBLAS: matrix a, vectors b (x) and c (y). */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/mublas/mublas.h"

typedef const int *I;
typedef const char *L;
typedef const void *V;
MUBLAS_FORTRAN(gemv, L, I, I, V, V, I, V, I, V, void *, I);
MUBLAS_FORTRAN(gbmv, L, I, I, I, I, V, V, I, V, I, V, void *, I);
MUBLAS_FORTRAN(symv, L, I, V, V, I, V, I, V, void *, I);
MUBLAS_FORTRAN(syr, L, I, V, V, I, void *, I);
MUBLAS_FORTRAN(syr2k, L, L, I, I, V, V, I, V, I, V, void *, I);
MUBLAS_FORTRAN(trmv, L, L, L, I, V, I, void *, I);
MUBLAS_FORTRAN(trsv, L, L, L, I, V, I, void *, I);
MUBLAS_FORTRAN(tbmv, L, L, L, I, I, V, I, void *, I);
MUBLAS_FORTRAN(tbsv, L, L, L, I, I, V, I, void *, I);
MUBLAS_FORTRAN(tpmv, L, L, L, I, V, void *, I);
MUBLAS_FORTRAN(tpsv, L, L, L, I, V, void *, I);
/* Of real or of complex numbers only: two tables, one for each kind. */
#define PAIR(name, one, other, ...) \
    void one##_(__VA_ARGS__), other##_(__VA_ARGS__); \
    static void (*const name[])(__VA_ARGS__) = {one##_, other##_}
PAIR(ger, sger, dger, I, I, V, V, I, V, I, void *, I);
PAIR(geru, cgeru, zgeru, I, I, V, V, I, V, I, void *, I);
PAIR(gerc, cgerc, zgerc, I, I, V, V, I, V, I, void *, I);
PAIR(sbmv, ssbmv, dsbmv, L, I, I, V, V, I, V, I, V, void *, I);
PAIR(hbmv, chbmv, zhbmv, L, I, I, V, V, I, V, I, V, void *, I);
PAIR(spmv, sspmv, dspmv, L, I, V, V, V, I, V, void *, I);
PAIR(hpmv, chpmv, zhpmv, L, I, V, V, V, I, V, void *, I);
PAIR(hemv, chemv, zhemv, L, I, V, V, I, V, I, V, void *, I);
PAIR(her, cher, zher, L, I, V, V, I, void *, I);
PAIR(syr2, ssyr2, dsyr2, L, I, V, V, I, V, I, void *, I);
PAIR(her2, cher2, zher2, L, I, V, V, I, V, I, void *, I);
PAIR(spr, sspr, dspr, L, I, V, V, I, void *);
PAIR(hpr, chpr, zhpr, L, I, V, V, I, void *);
PAIR(spr2, sspr2, dspr2, L, I, V, V, I, V, I, void *);
PAIR(hpr2, chpr2, zhpr2, L, I, V, V, I, V, I, void *);

typedef const struct mublas_call *call_t;
static void *y(call_t c) { return mublas_out(&c->c); }
static void *out_a(call_t c) { return mublas_out(&c->a); }
static void *out_x(call_t c) { return mublas_out(&c->b); }
#define X c->b.at, &c->b.ld
#define Y y(c), &c->c.ld
#define IN_Y c->c.at, &c->c.ld
#define A c->a.at, &c->a.ld
#define OUT_A out_a(c), &c->a.ld

static void one_gemv(call_t c) { gemv[c->type](&c->t[0], &c->m, &c->n, mublas_alpha(c), A, X, mublas_beta(c), Y); }
static void run_gemv(call_t c)
{
    size_t size = mublas_size(c->type);
    mublas_each(c, (size_t[]){size, size, size}, one_gemv);
}
static void run_gbmv(call_t c)
{
    gbmv[c->type](&c->t[0], &c->m, &c->n, &c->kl, &c->ku, mublas_alpha(c), A, X, mublas_beta(c), Y);
}
#define RUN(name, ...) \
    static void run_##name(call_t c) { name[c->type](__VA_ARGS__); }
#define RUN2(name, ...) /* of a pair */ \
    static void run_##name(call_t c) { name[c->type & 1](__VA_ARGS__); }
#define UPLO &c->uplo, &c->n
#define ALPHA mublas_alpha(c)
#define BETA mublas_beta(c)
#define TRIANGLE &c->uplo, &c->t[0], &c->diag, &c->n
#define OUT_X out_x(c), &c->b.ld
RUN(symv, UPLO, ALPHA, A, X, BETA, Y)
RUN2(hemv, UPLO, ALPHA, A, X, BETA, Y)
RUN2(sbmv, UPLO, &c->k, ALPHA, A, X, BETA, Y)
RUN2(hbmv, UPLO, &c->k, ALPHA, A, X, BETA, Y)
RUN2(spmv, UPLO, ALPHA, c->a.at, X, BETA, Y)
RUN2(hpmv, UPLO, ALPHA, c->a.at, X, BETA, Y)
RUN2(ger, &c->m, &c->n, ALPHA, X, IN_Y, OUT_A)
RUN2(geru, &c->m, &c->n, ALPHA, X, IN_Y, OUT_A)
RUN2(gerc, &c->m, &c->n, ALPHA, X, IN_Y, OUT_A)
RUN(syr, UPLO, ALPHA, X, OUT_A)
RUN2(her, UPLO, ALPHA, X, OUT_A)
RUN2(her2, UPLO, ALPHA, X, IN_Y, OUT_A)
RUN2(spr, UPLO, ALPHA, X, out_a(c))
RUN2(hpr, UPLO, ALPHA, X, out_a(c))
RUN2(spr2, UPLO, ALPHA, X, IN_Y, out_a(c))
RUN2(hpr2, UPLO, ALPHA, X, IN_Y, out_a(c))
RUN(trmv, TRIANGLE, A, OUT_X)
RUN(trsv, TRIANGLE, A, OUT_X)
RUN(tbmv, TRIANGLE, &c->k, A, OUT_X)
RUN(tbsv, TRIANGLE, &c->k, A, OUT_X)
RUN(tpmv, TRIANGLE, c->a.at, OUT_X)
RUN(tpsv, TRIANGLE, c->a.at, OUT_X)

/* A vector without gaps, first element first. */
static void *packed(call_t c, const struct mublas_operand *v)
{
    size_t size = mublas_size(c->type), n = (size_t)c->n;
    char *copy = maths_alloc(n * size);
    const char *from = v->at;
    if (v->ld < 0)
        from -= (long long)size * v->ld * (c->n - 1);
    for (size_t i = 0; copy && i < n; i++)
        memcpy(copy + i * size, from + (long long)size * v->ld * (long long)i, size);
    return copy;
}

/* There is no csyr2 in BLAS: it is syr2k of one column. */
static void run_syr2(call_t c)
{
    if (c->type < C) {
        syr2[c->type](UPLO, ALPHA, X, IN_Y, OUT_A);
        return;
    }
    static const float one[] = {1, 0};
    static const double one_z[] = {1, 0};
    void *x = packed(c, &c->b), *v = packed(c, &c->c);
    if (x && v)
        syr2k[c->type](&c->uplo, "N", &c->n, &(int){1}, ALPHA, x, &c->n, v, &c->n, c->type == C ? (V)one : (V)one_z,
                       OUT_A);
    free(x);
    free(v);
}

/* Checks what all have: letters, sizes, increments, addresses, the scalars. `rows`: least leading dimension,
 * 0 for packed matrices. `writes_a`: alpha is the only scalar. */
struct shape {
    bool letters;
    int m, n, k, rows, lda;
    bool two; /* c is used */
};
static mublasStatus_t submit(mublasHandle_t h, struct mublas_call *c, struct shape s, V alpha, size_t asize, V beta,
                             size_t bsize)
{
    MUBLAS_LIVE(h);
    if (!s.letters)
        return MUBLAS_STATUS_INVALID_VALUE;
    if (s.m < 0 || s.n < 0 || s.k < 0 || !c->b.ld || (s.two && !c->c.ld) || c->batch < 0 ||
        (s.rows >= 0 && s.lda < (s.rows > 1 ? s.rows : 1)))
        return MUBLAS_STATUS_INVALID_SIZE;
    mublasStatus_t r = mublas_scalars(h, c, alpha, asize, beta, bsize);
    if (r || !s.m || !s.n || !c->batch)
        return r;
    if (!c->a.at || !c->b.at || (s.two && !c->c.at))
        return MUBLAS_STATUS_INVALID_POINTER;
    return mublas_submit(h, c, 8.0 * s.m * s.n * c->batch);
}

static mublasStatus_t do_gemv(mublasHandle_t h, struct mublas_call c, int op, V alpha, V beta)
{
    size_t size = mublas_size(c.type);
    c.run = run_gemv;
    c.t[0] = mublas_op(op);
    struct shape s = {c.t[0], c.m, c.n, 0, c.m, c.a.ld, true};
    return submit(h, &c, s, alpha, size, beta, size);
}

#define OPERAND(p, l, st) \
    { \
        .at = (p), .ld = (l), .stride = (st) \
    }
#define SIMPLE(p, l) \
    { \
        .at = (p), .ld = (l) \
    }
#define CALL(...) \
    (struct mublas_call) { .batch = 1, __VA_ARGS__ }
#define VECTORS .b = SIMPLE(x, incx), .c = SIMPLE(yy, incy)

/* a symmetric, x, y: `packed` has no leading dimension; k: diagonals of a band. */
static mublasStatus_t do_symmetric(mublasHandle_t h, struct mublas_call c, int uplo, int band, V alpha, V beta)
{
    size_t size = mublas_size(c.type);
    c.uplo = mublas_fill(uplo);
    c.k = band;
    int rows = c.run == run_spmv || c.run == run_hpmv ? -1 : c.run == run_sbmv || c.run == run_hbmv ? band + 1 : c.n;
    return submit(h, &c, (struct shape){c.uplo, c.n, c.n, band, rows, c.a.ld, true}, alpha, size, beta, size);
}
/* Updates of a by x and y. */
static mublasStatus_t do_update(mublasHandle_t h, struct mublas_call c, int uplo, V alpha, size_t size)
{
    c.uplo = mublas_fill(uplo);
    bool without_ld = c.run == run_spr || c.run == run_hpr || c.run == run_spr2 || c.run == run_hpr2;
    return submit(h, &c, (struct shape){c.uplo, c.n, c.n, 0, without_ld ? -1 : c.n, c.a.ld, c.c.ld != 0 || c.kl}, alpha,
                  size, NULL, 0);
}
static mublasStatus_t do_general(mublasHandle_t h, struct mublas_call c, V alpha)
{
    return submit(h, &c, (struct shape){true, c.m, c.n, 0, c.m, c.a.ld, true}, alpha, mublas_size(c.type), NULL, 0);
}
static mublasStatus_t do_triangle(mublasHandle_t h, struct mublas_call c, int uplo, int op, int diag, int band)
{
    c.uplo = mublas_fill(uplo);
    c.t[0] = mublas_op(op);
    c.diag = mublas_diag(diag);
    c.k = band;
    int rows = c.run == run_tpmv || c.run == run_tpsv ? -1 : c.run == run_tbmv || c.run == run_tbsv ? band + 1 : c.n;
    struct shape s = {c.uplo && c.t[0] && c.diag, c.n, c.n, band, rows, c.a.ld, false};
    return submit(h, &c, s, "", 0, NULL, 0);
}

#define FN(name, ...) mublasStatus_t mublas##name(mublasHandle_t h, __VA_ARGS__)
#define TRIANGULAR(W, T, name) \
    FN(W##name, int uplo, int t, int diag, int n, const T *a, int lda, T *x, int incx) \
    { \
        return do_triangle(h, CALL(.run = run_##name, .type = W, .n = n, .a = SIMPLE(a, lda), .b = SIMPLE(x, incx)), \
                           uplo, t, diag, 0); \
    }
#define TRIANGULAR_BAND(W, T, name) \
    FN(W##name, int uplo, int t, int diag, int n, int k, const T *a, int lda, T *x, int incx) \
    { \
        return do_triangle(h, CALL(.run = run_##name, .type = W, .n = n, .a = SIMPLE(a, lda), .b = SIMPLE(x, incx)), \
                           uplo, t, diag, k); \
    }
#define TRIANGULAR_PACKED(W, T, name) \
    FN(W##name, int uplo, int t, int diag, int n, const T *a, T *x, int incx) \
    { \
        return do_triangle(h, CALL(.run = run_##name, .type = W, .n = n, .a = SIMPLE(a, 0), .b = SIMPLE(x, incx)), \
                           uplo, t, diag, 0); \
    }
#define SYMMETRIC(W, T, name) \
    FN(W##name, int uplo, int n, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, T *yy, \
       int incy) \
    { \
        return do_symmetric(h, CALL(.run = run_##name, .type = W, .n = n, .a = SIMPLE(a, lda), VECTORS), uplo, 0, \
                            alpha, beta); \
    }
#define SYMMETRIC_BAND(W, T, name) \
    FN(W##name, int uplo, int n, int k, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, \
       T *yy, int incy) \
    { \
        return do_symmetric(h, CALL(.run = run_##name, .type = W, .n = n, .a = SIMPLE(a, lda), VECTORS), uplo, k, \
                            alpha, beta); \
    }
#define SYMMETRIC_PACKED(W, T, name) \
    FN(W##name, int uplo, int n, const T *alpha, const T *a, const T *x, int incx, const T *beta, T *yy, int incy) \
    { \
        return do_symmetric(h, CALL(.run = run_##name, .type = W, .n = n, .a = SIMPLE(a, 0), VECTORS), uplo, 0, alpha, \
                            beta); \
    }
#define UPDATE(W, T, R, name) \
    FN(W##name, int uplo, int n, const R *alpha, const T *x, int incx, T *a, int lda) \
    { \
        return do_update(h, CALL(.run = run_##name, .type = W, .n = n, .a = SIMPLE(a, lda), .b = SIMPLE(x, incx)), \
                         uplo, alpha, sizeof(R)); \
    }
#define UPDATE_PACKED(W, T, R, name) \
    FN(W##name, int uplo, int n, const R *alpha, const T *x, int incx, T *a) \
    { \
        return do_update(h, CALL(.run = run_##name, .type = W, .n = n, .a = SIMPLE(a, 0), .b = SIMPLE(x, incx)), uplo, \
                         alpha, sizeof(R)); \
    }
#define UPDATE2(W, T, name) \
    FN(W##name, int uplo, int n, const T *alpha, const T *x, int incx, const T *yy, int incy, T *a, int lda) \
    { \
        return do_update(h, CALL(.run = run_##name, .type = W, .n = n, .kl = 1, .a = SIMPLE(a, lda), VECTORS), uplo, \
                         alpha, sizeof(T)); \
    }
#define UPDATE2_PACKED(W, T, name) \
    FN(W##name, int uplo, int n, const T *alpha, const T *x, int incx, const T *yy, int incy, T *a) \
    { \
        return do_update(h, CALL(.run = run_##name, .type = W, .n = n, .kl = 1, .a = SIMPLE(a, 0), VECTORS), uplo, \
                         alpha, sizeof(T)); \
    }
#define GENERAL(W, T, name) \
    FN(W##name, int m, int n, const T *alpha, const T *x, int incx, const T *yy, int incy, T *a, int lda) \
    { \
        return do_general(h, CALL(.run = run_##name, .type = W, .m = m, .n = n, .a = SIMPLE(a, lda), VECTORS), alpha); \
    }

#define ALL(W, T) \
    FN(W##gemv, int t, int m, int n, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, T *yy, \
       int incy) \
    { \
        return do_gemv(h, CALL(.type = W, .m = m, .n = n, .a = SIMPLE(a, lda), VECTORS), t, alpha, beta); \
    } \
    FN(W##gemvBatched, int t, int m, int n, const T *alpha, const T *const *a, int lda, const T *const *x, int incx, \
       const T *beta, T *const *yy, int incy, int count) \
    { \
        struct mublas_call c = {.type = W, .m = m, .n = n, .a = SIMPLE(a, lda), VECTORS, .batch = count}; \
        c.pointers = true; \
        return do_gemv(h, c, t, alpha, beta); \
    } \
    FN(W##gemvStridedBatched, int t, int m, int n, const T *alpha, const T *a, int lda, long long stridea, const T *x, \
       int incx, long long stridex, const T *beta, T *yy, int incy, long long stridey, int count) \
    { \
        struct mublas_call c = {.type = W, .m = m, .n = n, .a = OPERAND(a, lda, stridea), .batch = count}; \
        c.b = (struct mublas_operand)OPERAND(x, incx, stridex); \
        c.c = (struct mublas_operand)OPERAND(yy, incy, stridey); \
        return do_gemv(h, c, t, alpha, beta); \
    } \
    FN(W##gbmv, int t, int m, int n, int kl, int ku, const T *alpha, const T *a, int lda, const T *x, int incx, \
       const T *beta, T *yy, int incy) \
    { \
        struct mublas_call c = CALL(.run = run_gbmv, .type = W, .m = m, .n = n, .kl = kl, .ku = ku, \
                                    .a = SIMPLE(a, lda), VECTORS); \
        c.t[0] = mublas_op(t); \
        struct shape s = {c.t[0], m, n, kl < 0 ? kl : ku, kl + ku + 1, lda, true}; \
        return submit(h, &c, s, alpha, sizeof(T), beta, sizeof(T)); \
    } \
    SYMMETRIC(W, T, symv) \
    UPDATE(W, T, T, syr) \
    UPDATE2(W, T, syr2) \
    TRIANGULAR(W, T, trmv) \
    TRIANGULAR(W, T, trsv) \
    TRIANGULAR_BAND(W, T, tbmv) \
    TRIANGULAR_BAND(W, T, tbsv) \
    TRIANGULAR_PACKED(W, T, tpmv) \
    TRIANGULAR_PACKED(W, T, tpsv)
#define REAL(W, T) \
    GENERAL(W, T, ger) \
    SYMMETRIC_BAND(W, T, sbmv) \
    SYMMETRIC_PACKED(W, T, spmv) \
    UPDATE_PACKED(W, T, T, spr) \
    UPDATE2_PACKED(W, T, spr2)
#define COMPLEX(W, T, R) \
    GENERAL(W, T, geru) \
    GENERAL(W, T, gerc) \
    SYMMETRIC(W, T, hemv) \
    SYMMETRIC_BAND(W, T, hbmv) \
    SYMMETRIC_PACKED(W, T, hpmv) \
    UPDATE(W, T, R, her) \
    UPDATE2(W, T, her2) \
    UPDATE_PACKED(W, T, R, hpr) \
    UPDATE2_PACKED(W, T, hpr2)
ALL(S, float)
ALL(D, double)
ALL(C, muComplex)
ALL(Z, muDoubleComplex)
REAL(S, float)
REAL(D, double)
COMPLEX(C, muComplex, float)
COMPLEX(Z, muDoubleComplex, double)
