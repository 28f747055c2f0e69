/* Batches of small systems on the CPU muBLAS: LU factors, solutions, inverses. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/mublas/mublas.h"

typedef const int *I;
typedef const void *V;
MUBLAS_FORTRAN(getrf, I, I, void *, I, int *, int *);
MUBLAS_FORTRAN(getrs, const char *, I, I, V, I, I, void *, I, int *, size_t);
MUBLAS_FORTRAN(trsm, const char *, const char *, const char *, const char *, I, I, V, V, I, void *, I);

typedef const struct mublas_call *call_t;
static void *address(call_t c, const struct mublas_operand *o, int i) /* of matrix i */
{
    (void)c;
    return maths_member(((const V *)o->at)[i]);
}

static V one(int type)
{
    static const float c[] = {1, 0};
    static const double z[] = {1, 0};
    return type == S || type == C ? (V)c : (V)z;
}

/* ---- without pivots: n steps on the matrix itself ---------------------------------------------- */

typedef double _Complex number;
static number get(V a, int type, size_t i)
{
    switch (type) {
    case S: return ((const float *)a)[i];
    case D: return ((const double *)a)[i];
    case C: return ((const float _Complex *)a)[i];
    default: return ((const number *)a)[i];
    }
}
static void put(void *a, int type, size_t i, number v)
{
    switch (type) {
    case S: ((float *)a)[i] = (float)__real__ v; break;
    case D: ((double *)a)[i] = __real__ v; break;
    case C: ((float _Complex *)a)[i] = (float _Complex)v; break;
    default: ((number *)a)[i] = v;
    }
}
static int factor(void *a, int type, size_t n, size_t ld)
{
    int info = 0;
    for (size_t k = 0; k < n; k++) {
        number pivot = get(a, type, k + ld * k);
        if (pivot == 0) {
            info = info ? info : (int)k + 1;
            continue;
        }
        for (size_t i = k + 1; i < n; i++)
            put(a, type, i + ld * k, get(a, type, i + ld * k) / pivot);
        for (size_t j = k + 1; j < n; j++)
            for (size_t i = k + 1; i < n; i++)
                put(a, type, i + ld * j,
                    get(a, type, i + ld * j) - get(a, type, i + ld * k) * get(a, type, k + ld * j));
    }
    return info;
}

static void run_getrf(call_t c)
{
    for (int i = 0; i < c->batch; i++) {
        void *a = address(c, &c->a, i);
        if (c->ints)
            getrf[c->type](&c->n, &c->n, a, &c->a.ld, c->ints + (size_t)i * (size_t)c->n, &c->info[i]);
        else
            c->info[i] = factor(a, c->type, (size_t)c->n, (size_t)c->a.ld);
    }
}

static void solve(call_t c, V a, const int *pivots, void *b, int nrhs, const int *ldb)
{
    int info;
    if (pivots) {
        getrs[c->type](c->t, &c->n, &nrhs, a, &c->a.ld, pivots, b, ldb, &info, 1);
        return;
    }
    bool plain = c->t[0] == 'N';
    const char *first = plain ? "L" : "U", *second = plain ? "U" : "L";
    trsm[c->type]("L", first, c->t, plain ? "U" : "N", &c->n, &nrhs, one(c->type), a, &c->a.ld, b, ldb);
    trsm[c->type]("L", second, c->t, plain ? "N" : "U", &c->n, &nrhs, one(c->type), a, &c->a.ld, b, ldb);
}

static const int *pivots_of(call_t c, int i) { return c->ints ? c->ints + (size_t)i * (size_t)c->n : NULL; }

static void run_getrs(call_t c)
{
    for (int i = 0; i < c->batch; i++)
        solve(c, address(c, &c->a, i), pivots_of(c, i), address(c, &c->b, i), c->k, &c->b.ld);
}

/* 0, or the first diagonal element of U that is 0, from 1. */
static int singular(call_t c, V a)
{
    for (size_t k = 0; k < (size_t)c->n; k++)
        if (get(a, c->type, k + (size_t)c->a.ld * k) == 0)
            return (int)k + 1;
    return 0;
}

/* The inverse solves for the identity. */
static void run_getri(call_t c)
{
    for (int i = 0; i < c->batch; i++) {
        V a = address(c, &c->a, i);
        void *to = address(c, &c->b, i);
        c->info[i] = singular(c, a);
        if (c->info[i])
            continue;
        for (size_t j = 0; j < (size_t)c->n; j++)
            for (size_t k = 0; k < (size_t)c->n; k++)
                put(to, c->type, k + (size_t)c->b.ld * j, j == k);
        solve(c, a, pivots_of(c, i), to, c->n, &c->b.ld);
    }
}

/* The same from the matrix itself, which stays as it is. */
static void run_matinv(call_t c)
{
    size_t size = mublas_size(c->type), n = (size_t)c->n;
    char *copy = maths_alloc(n * n * size);
    int *pivots = maths_alloc(n * sizeof *pivots);
    for (int i = 0; i < c->batch && copy && pivots; i++) {
        const char *a = address(c, &c->a, i);
        for (size_t j = 0; j < n; j++)
            memcpy(copy + size * n * j, a + size * (size_t)c->a.ld * j, size * n);
        getrf[c->type](&c->n, &c->n, copy, &c->n, pivots, &c->info[i]);
        if (c->info[i])
            continue;
        struct mublas_call one_call = *c;
        const void *from = copy, *to = address(c, &c->b, i);
        one_call.a = (struct mublas_operand){.at = &from, .ld = c->n};
        one_call.b.at = &to;
        one_call.ints = pivots;
        one_call.info = &c->info[i];
        one_call.batch = 1;
        run_getri(&one_call);
    }
    free(copy);
    free(pivots);
}

static mublasStatus_t submit(mublasHandle_t h, struct mublas_call *c, bool needs_b, bool needs_info)
{
    MUBLAS_LIVE(h);
    if (c->n < 0 || c->k < 0 || c->batch < 0 || c->a.ld < (c->n > 1 ? c->n : 1) ||
        (needs_b && c->b.ld < (c->n > 1 ? c->n : 1)))
        return MUBLAS_STATUS_INVALID_SIZE;
    if (!c->n || !c->batch)
        return MUBLAS_STATUS_SUCCESS;
    if (!c->a.at || (needs_b && !c->b.at) || (needs_info && !c->info))
        return MUBLAS_STATUS_INVALID_POINTER;
    return mublas_submit(h, c, (double)c->n * c->n * c->n * c->batch);
}

#define FN(name, ...) mublasStatus_t mublas##name(mublasHandle_t h, __VA_ARGS__)
#define AT(p, l) \
    { \
        .at = (p), .ld = (l) \
    }
#define ALL(W, T) \
    FN(W##getrfBatched, int n, T *const *a, int lda, int *pivots, int *info, int count) \
    { \
        struct mublas_call c = { \
            .run = run_getrf, .type = W, .n = n, .a = AT(a, lda), .ints = pivots, .info = info, .batch = count}; \
        return submit(h, &c, false, true); \
    } \
    FN(W##getrsBatched, int t, int n, int nrhs, const T *const *a, int lda, const int *pivots, T *const *b, int ldb, \
       int *info, int count) \
    { \
        struct mublas_call c = {.run = run_getrs, \
                                .type = W, \
                                .n = n, \
                                .k = nrhs, \
                                .a = AT(a, lda), \
                                .b = AT(b, ldb), \
                                .ints = (int *)(size_t)pivots, \
                                .batch = count}; \
        MUBLAS_LIVE(h); \
        if (!info) \
            return MUBLAS_STATUS_INVALID_POINTER; \
        c.t[0] = mublas_op(t); \
        int rows = n > 1 ? n : 1; /* info: which argument is wrong, negative */ \
        *info = !c.t[0] ? -1 : n < 0 ? -2 : nrhs < 0 ? -3 : lda < rows ? -5 : ldb < rows ? -8 : 0; \
        if (*info) \
            return MUBLAS_STATUS_INVALID_VALUE; \
        return nrhs ? submit(h, &c, true, false) : MUBLAS_STATUS_SUCCESS; \
    } \
    FN(W##getriBatched, int n, const T *const *a, int lda, const int *pivots, T *const *to, int ldc, int *info, \
       int count) \
    { \
        struct mublas_call c = {.run = run_getri, \
                                .type = W, \
                                .n = n, \
                                .a = AT(a, lda), \
                                .b = AT(to, ldc), \
                                .ints = (int *)(size_t)pivots, \
                                .info = info, \
                                .batch = count, \
                                .t = "N"}; \
        return submit(h, &c, true, true); \
    } \
    FN(W##matinvBatched, int n, const T *const *a, int lda, T *const *to, int ldainv, int *info, int count) \
    { \
        struct mublas_call c = {.run = run_matinv, \
                                .type = W, \
                                .n = n, \
                                .a = AT(a, lda), \
                                .b = AT(to, ldainv), \
                                .info = info, \
                                .batch = count, \
                                .t = "N"}; \
        return n > 32 ? MUBLAS_STATUS_INVALID_SIZE : submit(h, &c, true, true); \
    }
ALL(S, float)
ALL(D, double)
ALL(C, muComplex)
ALL(Z, muDoubleComplex)
