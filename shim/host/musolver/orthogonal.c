/* Orthogonal factors on the CPU muSOLVER: QR, the reductions to bidiagonal and tridiagonal form, and the matrices
 * that their reflectors make. */
#include "host/musolver/musolver.h"

typedef const int *I;
typedef const char *L;
typedef const void *V;
typedef const struct musolver_call *call_t;
typedef struct musolver_room *room_t;
MUSOLVER_FORTRAN(geqrf, I, I, void *, I, void *, void *, I, int *);
MUSOLVER_FORTRAN2(orgqr, orgqr, ungqr, I, I, I, void *, I, V, void *, I, int *);
MUSOLVER_FORTRAN2(ormqr, ormqr, unmqr, L, L, I, I, I, V, I, V, void *, I, void *, I, int *, size_t, size_t);
MUSOLVER_FORTRAN(gebrd, I, I, void *, I, void *, void *, void *, void *, void *, I, int *);
MUSOLVER_FORTRAN2(orgbr, orgbr, ungbr, L, I, I, I, void *, I, V, void *, I, int *, size_t);
MUSOLVER_FORTRAN2(sytrd, sytrd, hetrd, L, I, void *, I, void *, void *, void *, void *, I, int *, size_t);
MUSOLVER_FORTRAN2(orgtr, orgtr, ungtr, L, I, void *, I, V, void *, I, int *, size_t);
MUSOLVER_FORTRAN2(ormtr, ormtr, unmtr, L, L, L, I, I, V, I, V, void *, I, void *, I, int *, size_t, size_t, size_t);

static void one_workspace(room_t r) { r->lrwork = r->liwork = 0; }

static void op_geqrf(call_t c, room_t r)
{
    geqrf[c->type](&c->m, &c->n, c->a.at, &c->a.ld, c->tau, r->work, &r->lwork, &r->info);
    one_workspace(r);
}
static void op_orgqr(call_t c, room_t r)
{
    orgqr[c->type](&c->m, &c->n, &c->k, c->a.at, &c->a.ld, c->from_tau, r->work, &r->lwork, &r->info);
    one_workspace(r);
}
static void op_ormqr(call_t c, room_t r)
{
    ormqr[c->type](c->side, c->trans, &c->m, &c->n, &c->k, c->a.at, &c->a.ld, c->from_tau, c->b.at, &c->b.ld, r->work,
                   &r->lwork, &r->info, 1, 1);
    one_workspace(r);
}
static void op_gebrd(call_t c, room_t r)
{
    gebrd[c->type](&c->m, &c->n, c->a.at, &c->a.ld, c->w, c->e, c->tau, c->taup, r->work, &r->lwork, &r->info);
    one_workspace(r);
}
static void op_orgbr(call_t c, room_t r)
{
    orgbr[c->type](c->side[0] == 'L' ? "Q" : "P", &c->m, &c->n, &c->k, c->a.at, &c->a.ld, c->from_tau, r->work,
                   &r->lwork, &r->info, 1);
    one_workspace(r);
}
static void op_sytrd(call_t c, room_t r)
{
    sytrd[c->type](c->uplo, &c->n, c->a.at, &c->a.ld, c->w, c->e, c->tau, r->work, &r->lwork, &r->info, 1);
    one_workspace(r);
}
static void op_orgtr(call_t c, room_t r)
{
    orgtr[c->type](c->uplo, &c->n, c->a.at, &c->a.ld, c->from_tau, r->work, &r->lwork, &r->info, 1);
    one_workspace(r);
}
static void op_ormtr(call_t c, room_t r)
{
    ormtr[c->type](c->side, c->uplo, c->trans, &c->m, &c->n, c->a.at, &c->a.ld, c->from_tau, c->b.at, &c->b.ld, r->work,
                   &r->lwork, &r->info, 1, 1, 1);
    one_workspace(r);
}

static struct musolver_call call(void (*op)(call_t, room_t), int type, int m, int n, int k, const void *a, int lda,
                                 const void *tau, int *info)
{
    return (struct musolver_call){.op = op,
                                  .type = type,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .a = {.at = musolver_place(a), .ld = lda},
                                  .from_tau = tau,
                                  .tau = musolver_place(tau),
                                  .info = info};
}
static double operations(call_t c) { return (double)c->m * c->n * (c->k ? c->k : musolver_min(c->m, c->n)); }

static bool bad_shape(call_t c) { return c->m < 0 || c->n < 0 || c->a.ld < musolver_least(c->m); }
static bool bad_generate(call_t c) /* m >= n >= k */ { return bad_shape(c) || c->n > c->m || c->k < 0 || c->k > c->n; }
static bool bad_side(call_t c) /* of Q that has as many rows as one side of B, m x n */
{
    int order = c->side[0] == 'L' ? c->m : c->n;
    return !c->side[0] || !c->trans[0] || c->trans[0] == (musolver_complex(c->type) ? 'T' : 'C') || c->m < 0 ||
           c->n < 0 || c->k < 0 || c->k > order || c->a.ld < musolver_least(order) || c->b.ld < musolver_least(c->m);
}
static bool bad_bidiagonal(call_t c)
{
    bool q = c->side[0] == 'L';
    int big = q ? c->m : c->n, small = q ? c->n : c->m;
    return !c->side[0] || bad_shape(c) || c->k < 0 || small > big || small < musolver_min(big, c->k);
}
static bool bad_triangle(call_t c) { return !c->uplo[0] || bad_shape(c); }

static struct musolver_call multiply(int type, mublasSideMode_t s, mublasOperation_t t, int m, int n, int k,
                                     const void *a, int lda, const void *tau, const void *b, int ldb, int *info)
{
    struct musolver_call c = call(op_ormqr, type, m, n, k, a, lda, tau, info);
    c.b = (struct musolver_operand){.at = musolver_place(b), .ld = ldb};
    MUSOLVER_SET(c.side, musolver_side(s));
    MUSOLVER_SET(c.trans, musolver_op(t, type));
    return c;
}
static struct musolver_call bidiagonal(int type, mublasSideMode_t s, int m, int n, int k, const void *a, int lda,
                                       const void *tau, int *info)
{
    struct musolver_call c = call(op_orgbr, type, m, n, k, a, lda, tau, info);
    MUSOLVER_SET(c.side, musolver_side(s));
    return c;
}
static struct musolver_call tridiagonal(void (*op)(call_t, room_t), int type, mublasFillMode_t u, int n, const void *a,
                                        int lda, const void *tau, int *info)
{
    struct musolver_call c = call(op, type, n, n, 0, a, lda, tau, info);
    MUSOLVER_SET(c.uplo, musolver_fill(u));
    return c;
}
static struct musolver_call tridiagonal_multiply(int type, mublasSideMode_t s, mublasFillMode_t u, mublasOperation_t t,
                                                 int m, int n, const void *a, int lda, const void *tau, const void *b,
                                                 int ldb, int *info)
{
    struct musolver_call c = multiply(type, s, t, m, n, 0, a, lda, tau, b, ldb, info);
    c.op = op_ormtr;
    MUSOLVER_SET(c.uplo, musolver_fill(u));
    return c;
}

/* orgqr's size is told for more columns than rows, too: cuPyNumeric asks so for QR of a wide matrix. */
#define FN(name, ...) musolverStatus_t musolverDn##name(musolverDnHandle_t h, __VA_ARGS__)
#define ALL(X, type, T, R, SY, OR) \
    FN(X##geqrf_bufferSize, int m, int n, T *a, int lda, int *lwork) \
    { \
        struct musolver_call c = call(op_geqrf, type, m, n, 0, a, lda, NULL, NULL); \
        return musolver_lwork(h, &c, bad_shape(&c), lwork); \
    } \
    FN(X##geqrf, int m, int n, T *a, int lda, T *tau, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = call(op_geqrf, type, m, n, 0, a, lda, tau, info); \
        bool empty = !m || !n; \
        return musolver_submit(h, &c, bad_shape(&c) || (!empty && (!a || !tau)), empty, work, lwork, operations(&c)); \
    } \
    FN(X##OR##gqr_bufferSize, int m, int n, int k, const T *a, int lda, const T *tau, int *lwork) \
    { \
        struct musolver_call c = call(op_orgqr, type, m, musolver_min(m, n), k, a, lda, tau, NULL); \
        return musolver_lwork(h, &c, bad_generate(&c), lwork); \
    } \
    FN(X##OR##gqr, int m, int n, int k, T *a, int lda, const T *tau, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = call(op_orgqr, type, m, n, k, a, lda, tau, info); \
        return musolver_submit(h, &c, bad_generate(&c) || (n && (!a || (k && !tau))), !n, work, lwork, \
                               operations(&c)); \
    } \
    FN(X##gebrd_bufferSize, int m, int n, int *lwork) \
    { \
        struct musolver_call c = call(op_gebrd, type, m, n, 0, NULL, musolver_least(m), NULL, NULL); \
        return musolver_lwork(h, &c, bad_shape(&c), lwork); \
    } \
    FN(X##gebrd, int m, int n, T *a, int lda, R *d, R *e, T *tauq, T *taup, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = call(op_gebrd, type, m, n, 0, a, lda, tauq, info); \
        bool empty = !m || !n, missing = !a || !d || !e || !tauq || !taup; \
        c.w = d; \
        c.e = e; \
        c.taup = taup; \
        return musolver_submit(h, &c, bad_shape(&c) || (!empty && missing), empty, work, lwork, operations(&c)); \
    } \
    FN(X##OR##gbr_bufferSize, mublasSideMode_t s, int m, int n, int k, const T *a, int lda, const T *tau, int *lwork) \
    { \
        struct musolver_call c = bidiagonal(type, s, m, n, k, a, lda, tau, NULL); \
        return musolver_lwork(h, &c, bad_bidiagonal(&c), lwork); \
    } \
    FN(X##OR##gbr, mublasSideMode_t s, int m, int n, int k, T *a, int lda, const T *tau, T *work, int lwork, \
       int *info) \
    { \
        struct musolver_call c = bidiagonal(type, s, m, n, k, a, lda, tau, info); \
        bool empty = !m || !n; \
        return musolver_submit(h, &c, bad_bidiagonal(&c) || (!empty && (!a || !tau)), empty, work, lwork, \
                               operations(&c)); \
    } \
    FN(X##SY##trd_bufferSize, mublasFillMode_t u, int n, const T *a, int lda, const R *d, const R *e, const T *tau, \
       int *lwork) \
    { \
        struct musolver_call c = tridiagonal(op_sytrd, type, u, n, a, lda, tau, NULL); \
        (void)d, (void)e; \
        return musolver_lwork(h, &c, bad_triangle(&c), lwork); \
    } \
    FN(X##SY##trd, mublasFillMode_t u, int n, T *a, int lda, R *d, R *e, T *tau, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = tridiagonal(op_sytrd, type, u, n, a, lda, tau, info); \
        c.w = d; \
        c.e = e; \
        return musolver_submit(h, &c, bad_triangle(&c) || (n && (!a || !d || !e || !tau)), !n, work, lwork, \
                               operations(&c)); \
    } \
    FN(X##OR##gtr_bufferSize, mublasFillMode_t u, int n, const T *a, int lda, const T *tau, int *lwork) \
    { \
        struct musolver_call c = tridiagonal(op_orgtr, type, u, n, a, lda, tau, NULL); \
        return musolver_lwork(h, &c, bad_triangle(&c), lwork); \
    } \
    FN(X##OR##gtr, mublasFillMode_t u, int n, T *a, int lda, const T *tau, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = tridiagonal(op_orgtr, type, u, n, a, lda, tau, info); \
        return musolver_submit(h, &c, bad_triangle(&c) || (n && (!a || !tau)), !n, work, lwork, operations(&c)); \
    } \
    FN(X##OR##mtr_bufferSize, mublasSideMode_t s, mublasFillMode_t u, mublasOperation_t t, int m, int n, const T *a, \
       int lda, const T *tau, const T *b, int ldb, int *lwork) \
    { \
        struct musolver_call c = tridiagonal_multiply(type, s, u, t, m, n, a, lda, tau, b, ldb, NULL); \
        return musolver_lwork(h, &c, bad_side(&c) || !c.uplo[0], lwork); \
    } \
    FN(X##OR##mtr, mublasSideMode_t s, mublasFillMode_t u, mublasOperation_t t, int m, int n, T *a, int lda, T *tau, \
       T *b, int ldb, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = tridiagonal_multiply(type, s, u, t, m, n, a, lda, tau, b, ldb, info); \
        bool empty = !m || !n; \
        return musolver_submit(h, &c, bad_side(&c) || !c.uplo[0] || (!empty && (!a || !tau || !b)), empty, work, \
                               lwork, operations(&c)); \
    }
ALL(S, S, float, float, sy, or)
ALL(D, D, double, double, sy, or)
ALL(C, C, muComplex, float, he, un)
ALL(Z, Z, muDoubleComplex, double, he, un)

static musolverStatus_t multiplied(musolverDnHandle_t h, struct musolver_call *c, void *work, int lwork)
{
    bool empty = !c->m || !c->n || !c->k;
    return musolver_submit(h, c, bad_side(c) || (!empty && (!c->a.at || !c->b.at || !c->from_tau)), empty, work, lwork,
                           operations(c));
}
#define ORMQR(X, type, T) \
    FN(X##ormqr_bufferSize, mublasSideMode_t s, mublasOperation_t t, int m, int n, int k, const T *a, int lda, \
       const T *tau, const T *b, int ldb, int *lwork) \
    { \
        struct musolver_call c = multiply(type, s, t, m, n, k, a, lda, tau, b, ldb, NULL); \
        return musolver_lwork(h, &c, bad_side(&c), lwork); \
    } \
    FN(X##ormqr, mublasSideMode_t s, mublasOperation_t t, int m, int n, int k, const T *a, int lda, const T *tau, \
       T *b, int ldb, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = multiply(type, s, t, m, n, k, a, lda, tau, b, ldb, info); \
        return multiplied(h, &c, work, lwork < 0 ? 0 : lwork); \
    }
#define UNMQR(X, type, T) \
    FN(X##unmqr, mublasSideMode_t s, mublasOperation_t t, int m, int n, int k, const T *a, int lda, const T *tau, \
       T *b, int ldb) \
    { \
        struct musolver_call c = multiply(type, s, t, m, n, k, a, lda, tau, b, ldb, NULL); \
        return multiplied(h, &c, NULL, -1); \
    }
ORMQR(S, S, float)
ORMQR(D, D, double)
UNMQR(C, C, muComplex)
UNMQR(Z, Z, muDoubleComplex)
