/* Factors of square matrices on the CPU muSOLVER, what they solve and their inverses: Cholesky, LU, L D L^T. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/musolver/musolver.h"

typedef const int *I;
typedef const char *L;
typedef const void *V;
typedef const struct musolver_call *call_t;
typedef struct musolver_room *room_t;
MUSOLVER_FORTRAN(potrf, L, I, void *, I, int *, size_t);
MUSOLVER_FORTRAN(potrs, L, I, I, V, I, void *, I, int *, size_t);
MUSOLVER_FORTRAN(potri, L, I, void *, I, int *, size_t);
MUSOLVER_FORTRAN(lauum, L, I, void *, I, int *, size_t);
MUSOLVER_FORTRAN(trtri, L, L, I, void *, I, int *, size_t, size_t);
MUSOLVER_FORTRAN(getrf, I, I, void *, I, int *, int *);
MUSOLVER_FORTRAN(getrs, L, I, I, V, I, I, void *, I, int *, size_t);
MUSOLVER_FORTRAN(laswp, I, void *, I, I, I, I, I);
MUSOLVER_FORTRAN(sytrf, L, I, void *, I, int *, void *, I, int *, size_t);
MUSOLVER_FORTRAN(sytrs, L, I, I, V, I, I, void *, I, int *, size_t);
MUSOLVER_FORTRAN(sytri, L, I, void *, I, I, void *, int *, size_t);
MUSOLVER_FORTRAN(trsm, L, L, L, L, I, I, V, V, I, void *, I, size_t, size_t, size_t, size_t);
MUSOLVER_FORTRAN(scal, I, V, void *, I);
MUSOLVER_FORTRAN2(geru, ger, geru, I, I, V, V, I, V, I, void *, I);
MUSOLVER_FORTRAN(syr, L, I, V, V, I, void *, I, size_t);

/* True, and no workspace wanted, in a query. */
static bool asked(room_t r)
{
    if (r->query)
        r->lwork = r->lrwork = r->liwork = 0;
    return r->query;
}
static void *at(call_t c, void *a, long long i, long long j)
{
    return (char *)a + (long long)musolver_size(c->type) * (i + j * c->a.ld);
}
static const union {
    float s[2];
    double d[2];
} ones[] = {{.s = {1}}, {.d = {1}}, {.s = {1}}, {.d = {1}}};

/* ---- Cholesky ---------------------------------------------------------------------------------- */

static void op_potrf(call_t c, room_t r)
{
    if (!asked(r))
        potrf[c->type](c->uplo, &c->n, c->a.at, &c->a.ld, &r->info, 1);
}
static void op_potrs(call_t c, room_t r)
{
    if (!asked(r))
        potrs[c->type](c->uplo, &c->n, &c->k, c->a.at, &c->a.ld, c->b.at, &c->b.ld, &r->info, 1);
}
/* One info for the whole batch: nothing of a solution can fail. */
static void op_potrs_batch(call_t c, room_t r)
{
    for (int i = 0; !asked(r) && i < c->form; i++)
        potrs[c->type](c->uplo, &c->n, &c->k, maths_member(((void **)c->a.at)[i]), &c->a.ld,
                       maths_member(((void **)c->b.at)[i]), &c->b.ld, &r->info, 1);
}
static void op_potri(call_t c, room_t r)
{
    if (!asked(r))
        potri[c->type](c->uplo, &c->n, c->a.at, &c->a.ld, &r->info, 1);
}
static void op_lauum(call_t c, room_t r)
{
    if (!asked(r))
        lauum[c->type](c->uplo, &c->n, c->a.at, &c->a.ld, &r->info, 1);
}
static void op_trtri(call_t c, room_t r)
{
    if (!asked(r))
        trtri[c->type](c->uplo, c->diag, &c->n, c->a.at, &c->a.ld, &r->info, 1, 1);
}

/* ---- LU ---------------------------------------------------------------------------------------- */

/* Without pivots: a step for each column, which scales it and takes it from those at its right. */
static int without_pivots(call_t c)
{
    const int one = 1;
    int info = 0;
    for (int k = 0; k < musolver_min(c->m, c->n); k++) {
        void *pivot = at(c, c->a.at, k, k);
        musolver_number p = musolver_get(pivot, c->type, 0), scale[1], minus[1];
        if (p == 0) {
            info = info ? info : k + 1;
            continue;
        }
        musolver_put(scale, c->type, 0, 1 / p);
        musolver_put(minus, c->type, 0, -1);
        int below = c->m - k - 1, right = c->n - k - 1;
        if (below)
            scal[c->type](&below, scale, at(c, c->a.at, k + 1, k), &one);
        if (below && right)
            geru[c->type](&below, &right, minus, at(c, c->a.at, k + 1, k), &one, at(c, c->a.at, k, k + 1), &c->a.ld,
                          at(c, c->a.at, k + 1, k + 1), &c->a.ld);
    }
    return info;
}
static void op_getrf(call_t c, room_t r)
{
    if (asked(r))
        return;
    if (c->ints)
        getrf[c->type](&c->m, &c->n, c->a.at, &c->a.ld, c->ints, &r->info);
    else
        r->info = without_pivots(c);
}
static void op_getrs(call_t c, room_t r)
{
    if (asked(r))
        return;
    if (c->from_ints) {
        getrs[c->type](c->trans, &c->n, &c->k, c->a.at, &c->a.ld, c->from_ints, c->b.at, &c->b.ld, &r->info, 1);
        return;
    }
    bool plain = c->trans[0] == 'N';
    for (int step = 0; step < 2; step++) {
        bool lower = plain == (step == 0);
        trsm[c->type]("L", lower ? "L" : "U", c->trans, lower ? "U" : "N", &c->n, &c->k, &ones[c->type], c->a.at,
                      &c->a.ld, c->b.at, &c->b.ld, 1, 1, 1, 1);
    }
}
static void op_laswp(call_t c, room_t r)
{
    if (!asked(r))
        laswp[c->type](&c->n, c->a.at, &c->a.ld, &c->il, &c->iu, c->from_ints, &c->k);
}

/* ---- symmetric, not definite ------------------------------------------------------------------- */

/* A = L D L^T or U D U^T without pivots. */
static int symmetric(call_t c)
{
    const int one = 1;
    bool lower = c->uplo[0] == 'L';
    int info = 0;
    for (int s = 0; s < c->n; s++) {
        int k = lower ? s : c->n - 1 - s, rest = c->n - 1 - s;
        musolver_number p = musolver_get(at(c, c->a.at, k, k), c->type, 0), number[1];
        void *column = lower ? at(c, c->a.at, k + 1, k) : at(c, c->a.at, 0, k);
        void *block = lower ? at(c, c->a.at, k + 1, k + 1) : c->a.at;
        if (p == 0) {
            info = info ? info : k + 1;
            continue;
        }
        if (!rest)
            break;
        musolver_put(number, c->type, 0, -1 / p);
        syr[c->type](c->uplo, &rest, number, column, &one, block, &c->a.ld, 1);
        musolver_put(number, c->type, 0, 1 / p);
        scal[c->type](&rest, number, column, &one);
    }
    return info;
}
static void op_sytrf(call_t c, room_t r)
{
    if (c->ints || r->query) {
        int none = 0;
        sytrf[c->type](c->uplo, &c->n, c->a.at, &c->a.ld, c->ints ? c->ints : &none, r->work, &r->lwork, &r->info, 1);
        if (r->query)
            r->lrwork = r->liwork = 0;
    } else {
        r->info = symmetric(c);
    }
}
/* No pivots are pivots that stay where they are; they lie in liwork. */
static const int *pivots_of(call_t c, room_t r)
{
    for (int i = 0; !c->from_ints && i < c->n; i++)
        r->iwork[i] = i + 1;
    return c->from_ints ? c->from_ints : r->iwork;
}
static void op_sytrs(call_t c, room_t r)
{
    if (asked(r))
        r->liwork = c->n;
    else
        sytrs[c->type](c->uplo, &c->n, &c->k, c->a.at, &c->a.ld, pivots_of(c, r), c->b.at, &c->b.ld, &r->info, 1);
}
static void op_sytri(call_t c, room_t r)
{
    if (asked(r)) {
        r->lwork = 2 * c->n;
        r->liwork = c->n;
    } else {
        sytri[c->type](c->uplo, &c->n, c->a.at, &c->a.ld, pivots_of(c, r), r->work, &r->info, 1);
    }
}
/* 64-bit pivots, which follow the 32-bit ones in liwork. */
static void op_sytrs_wide(call_t c, room_t r)
{
    if (asked(r)) {
        r->liwork = 2 * c->n;
        return;
    }
    struct musolver_call narrow = *c;
    const long long *wide = c->from_tau;
    int *ints = r->iwork + c->n;
    for (int i = 0; wide && i < c->n; i++)
        ints[i] = (int)wide[i];
    narrow.from_ints = wide ? ints : NULL;
    op_sytrs(&narrow, r);
}

/* ---- what is exported -------------------------------------------------------------------------- */

static double cube(int n) { return (double)n * n * n; }
static bool bad_square(call_t c) { return !c->uplo[0] || c->n < 0 || c->a.ld < musolver_least(c->n); }
static bool bad_solution(call_t c)
{
    return c->n < 0 || c->k < 0 || c->a.ld < musolver_least(c->n) || c->b.ld < musolver_least(c->n) ||
           (c->n && c->k && (!c->a.at || !c->b.at));
}

/* A function of one triangle with a workspace. */
static struct musolver_call triangle(int type, void (*op)(call_t, room_t), mublasFillMode_t u, int n, void *a, int lda,
                                     int *info)
{
    struct musolver_call c = {.op = op, .type = type, .m = n, .n = n, .a = {.at = a, .ld = lda}, .info = info};
    MUSOLVER_SET(c.uplo, musolver_fill(u));
    return c;
}
#define FN(name, ...) musolverStatus_t musolverDn##name(musolverDnHandle_t h, __VA_ARGS__)
#define TRIANGLE(name, X, type, T) \
    FN(X##name##_bufferSize, mublasFillMode_t u, int n, T *a, int lda, int *lwork) \
    { \
        struct musolver_call c = triangle(type, op_##name, u, n, a, lda, NULL); \
        return musolver_lwork(h, &c, bad_square(&c), lwork); \
    } \
    FN(X##name, mublasFillMode_t u, int n, T *a, int lda, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = triangle(type, op_##name, u, n, a, lda, info); \
        return musolver_submit(h, &c, bad_square(&c) || (n && !a), !n, work, lwork, cube(n)); \
    }

static musolverStatus_t potrf_batch(musolverDnHandle_t h, int type, mublasFillMode_t u, int n, void *a, int lda,
                                    int *info, int batch)
{
    struct musolver_call c = triangle(type, op_potrf, u, n, a, lda, info);
    c.batch = batch;
    c.pointers = true;
    return musolver_submit(h, &c, bad_square(&c) || batch < 0 || (n && batch && !a), !n || !batch, NULL, -1,
                           cube(n) * batch);
}
static musolverStatus_t solve(musolverDnHandle_t h, struct musolver_call *c, const void *a, int lda, void *b, int ldb,
                              int nrhs, bool bad)
{
    c->a = (struct musolver_operand){.at = musolver_place(a), .ld = lda};
    c->b = (struct musolver_operand){.at = b, .ld = ldb};
    c->k = nrhs;
    c->m = c->n;
    return musolver_submit(h, c, bad || bad_solution(c), !c->n || !nrhs, NULL, -1, (double)c->n * c->n * nrhs);
}
static musolverStatus_t potrs_any(musolverDnHandle_t h, int type, mublasFillMode_t u, int n, int nrhs, const void *a,
                                  int lda, void *b, int ldb, int *info, int batch)
{
    struct musolver_call c = triangle(type, batch < 0 ? op_potrs : op_potrs_batch, u, n, NULL, lda, info);
    c.form = batch;
    return solve(h, &c, a, lda, b, ldb, nrhs, !c.uplo[0]);
}
static struct musolver_call lu(int type, int m, int n, void *a, int lda, int *ipiv, int *info)
{
    return (struct musolver_call){
        .op = op_getrf, .type = type, .m = m, .n = n, .a = {.at = a, .ld = lda}, .ints = ipiv, .info = info};
}
static bool bad_lu(call_t c) { return c->m < 0 || c->n < 0 || c->a.ld < musolver_least(c->m); }
static struct musolver_call ldl(int type, void (*op)(call_t, room_t), mublasFillMode_t u, int n, void *a, int lda,
                                int *ipiv, const int *from, int *info)
{
    struct musolver_call c = triangle(type, op, u, n, a, lda, info);
    c.ints = ipiv;
    c.from_ints = from;
    return c;
}
static musolverStatus_t swap_rows(musolverDnHandle_t h, int type, int n, void *a, int lda, int k1, int k2,
                                  const int *ipiv, int incx)
{
    struct musolver_call c = {.op = op_laswp,
                              .type = type,
                              .n = n,
                              .k = incx,
                              .a = {.at = a, .ld = lda},
                              .from_ints = ipiv,
                              .il = k1,
                              .iu = k2};
    bool bad = n < 0 || k1 < 1 || k2 < k1 || lda < k2 || !incx || (n && (!a || !ipiv));
    return musolver_submit(h, &c, bad, !n, NULL, -1, (double)n * (k2 - k1 + 1));
}

#define ALL(X, kind, T) \
    TRIANGLE(potrf, X, kind, T) \
    TRIANGLE(potri, X, kind, T) \
    TRIANGLE(lauum, X, kind, T) \
    FN(X##trtri, mublasFillMode_t u, mublasDiagType_t d, int n, T *a, int lda, int *info) \
    { \
        struct musolver_call c = triangle(kind, op_trtri, u, n, a, lda, info); \
        MUSOLVER_SET(c.diag, musolver_diag(d)); \
        return musolver_submit(h, &c, bad_square(&c) || !c.diag[0] || (n && !a), !n, NULL, -1, cube(n)); \
    } \
    FN(X##potrfBatched, mublasFillMode_t u, int n, T *const *a, int lda, int *info, int batch) \
    { \
        return potrf_batch(h, kind, u, n, (void *)a, lda, info, batch); \
    } \
    FN(X##potrs, mublasFillMode_t u, int n, int nrhs, const T *a, int lda, T *b, int ldb, int *info) \
    { \
        return potrs_any(h, kind, u, n, nrhs, a, lda, b, ldb, info, -1); \
    } \
    FN(X##potrsBatched, mublasFillMode_t u, int n, int nrhs, T *const *a, int lda, T *const *b, int ldb, int *info, \
       int batch) \
    { \
        if (musolver_live(h) && batch < 0) \
            return MUSOLVER_STATUS_INVALID_VALUE; \
        return potrs_any(h, kind, u, n, nrhs, a, lda, (void *)b, ldb, info, batch); \
    } \
    FN(X##getrf_bufferSize, int m, int n, T *a, int lda, int *lwork) \
    { \
        struct musolver_call c = lu(kind, m, n, a, lda, NULL, NULL); \
        return musolver_lwork(h, &c, bad_lu(&c), lwork); \
    } \
    FN(X##getrf, int m, int n, T *a, int lda, T *work, int *ipiv, int *info) \
    { \
        struct musolver_call c = lu(kind, m, n, a, lda, ipiv, info); \
        bool empty = !m || !n; \
        return musolver_submit(h, &c, bad_lu(&c) || (!empty && !a), empty, work, -1, (double)m * n * (m < n ? m : n)); \
    } \
    FN(X##getrs, mublasOperation_t t, int n, int nrhs, const T *a, int lda, const int *ipiv, T *b, int ldb, int *info) \
    { \
        struct musolver_call c = {.op = op_getrs, .type = kind, .n = n, .from_ints = ipiv, .info = info}; \
        MUSOLVER_SET(c.trans, musolver_op(t, kind)); \
        return solve(h, &c, a, lda, b, ldb, nrhs, !c.trans[0]); \
    } \
    FN(X##laswp, int n, T *a, int lda, int k1, int k2, const int *ipiv, int incx) \
    { \
        return swap_rows(h, kind, n, a, lda, k1, k2, ipiv, incx); \
    } \
    FN(X##sytrf_bufferSize, int n, T *a, int lda, int *lwork) \
    { \
        struct musolver_call c = ldl(kind, op_sytrf, MUBLAS_FILL_MODE_LOWER, n, a, lda, NULL, NULL, NULL); \
        return musolver_lwork(h, &c, bad_square(&c), lwork); \
    } \
    FN(X##sytrf, mublasFillMode_t u, int n, T *a, int lda, int *ipiv, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = ldl(kind, op_sytrf, u, n, a, lda, ipiv, NULL, info); \
        return musolver_submit(h, &c, bad_square(&c) || (n && !a), !n, work, lwork, cube(n)); \
    } \
    FN(X##sytri_bufferSize, mublasFillMode_t u, int n, T *a, int lda, const int *ipiv, int *lwork) \
    { \
        struct musolver_call c = ldl(kind, op_sytri, u, n, a, lda, NULL, ipiv, NULL); \
        return musolver_lwork(h, &c, bad_square(&c), lwork); \
    } \
    FN(X##sytri, mublasFillMode_t u, int n, T *a, int lda, const int *ipiv, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = ldl(kind, op_sytri, u, n, a, lda, NULL, ipiv, info); \
        return musolver_submit(h, &c, bad_square(&c) || (n && !a), !n, work, lwork, cube(n)); \
    }
ALL(S, S, float)
ALL(D, D, double)
ALL(C, C, muComplex)
ALL(Z, Z, muDoubleComplex)

static bool wide_call(struct musolver_call *c, mublasFillMode_t u, long long n, long long nrhs, int atype,
                      const void *a, long long lda, const long long *ipiv, int btype, void *b, long long ldb)
{
    static const int types[] = {[MUSA_R_32F] = S, [MUSA_R_64F] = D, [MUSA_C_32F] = C, [MUSA_C_64F] = Z};
    bool known = atype == MUSA_R_32F || atype == MUSA_R_64F || atype == MUSA_C_32F || atype == MUSA_C_64F;
    if (!known || btype != atype || n != (int)n || nrhs != (int)nrhs || lda != (int)lda || ldb != (int)ldb)
        return false;
    *c = triangle(types[atype], op_sytrs_wide, u, (int)n, musolver_place(a), (int)lda, NULL);
    c->k = (int)nrhs;
    c->b = (struct musolver_operand){.at = b, .ld = (int)ldb};
    c->from_tau = ipiv;
    return c->uplo[0] && !bad_solution(c);
}

musolverStatus_t musolverDnXsytrs_bufferSize(musolverDnHandle_t h, mublasFillMode_t u, long long n, long long nrhs,
                                             int atype, const void *a, long long lda, const long long *ipiv, int btype,
                                             void *b, long long ldb, size_t *device, size_t *host)
{
    struct musolver_call c;
    if (!musolver_live(h))
        return MUSOLVER_STATUS_NOT_INITIALIZED;
    if (!device || !host || !wide_call(&c, u, n, nrhs, atype, a, lda, ipiv, btype, b, ldb))
        return MUSOLVER_STATUS_INVALID_VALUE;
    *device = musolver_bytes(&c);
    *host = 0;
    return MUSOLVER_STATUS_SUCCESS;
}

musolverStatus_t musolverDnXsytrs(musolverDnHandle_t h, mublasFillMode_t u, long long n, long long nrhs, int atype,
                                  const void *a, long long lda, const long long *ipiv, int btype, void *b,
                                  long long ldb, void *device, size_t device_size, void *host, size_t host_size,
                                  int *info)
{
    struct musolver_call c;
    (void)host, (void)host_size;
    if (!musolver_live(h))
        return MUSOLVER_STATUS_NOT_INITIALIZED;
    if (!wide_call(&c, u, n, nrhs, atype, a, lda, ipiv, btype, b, ldb))
        return MUSOLVER_STATUS_INVALID_VALUE;
    c.info = info;
    bool empty = !n || !nrhs, small = !empty && (!device || device_size < musolver_bytes(&c));
    return musolver_submit(h, &c, small, empty, device, -1, (double)n * (double)n * (double)nrhs);
}
