/* Batches of small systems on the CPU muBLAS: QR factors, least squares. */
#include <stdlib.h>

#include "host/maths/submit.h"
#include "host/mublas/mublas.h"

typedef const int *I;
MUBLAS_FORTRAN(geqrf, I, I, void *, I, void *, void *, I, int *);
MUBLAS_FORTRAN(gels, const char *, I, I, I, void *, I, void *, I, void *, I, int *, size_t);

static void *address(const struct mublas_operand *o, int i) /* of matrix i */
{
    return maths_member(((const void *const *)o->at)[i]);
}

/* LAPACK says how much room it wants in the first element. */
static int wanted(const void *room, int type)
{
    return type == S || type == C ? (int)*(const float *)room : (int)*(const double *)room;
}

/* a: matrices, b: the factors of their reflectors */
static void run_geqrf(const struct mublas_call *c)
{
    char first[16];
    int info, room = -1;
    geqrf[c->type](&c->m, &c->n, address(&c->a, 0), &c->a.ld, address(&c->b, 0), first, &room, &info);
    room = wanted(first, c->type);
    void *work = maths_alloc(mublas_size(c->type) * (size_t)room);
    for (int i = 0; work && i < c->batch; i++)
        geqrf[c->type](&c->m, &c->n, address(&c->a, i), &c->a.ld, address(&c->b, i), work, &room, &info);
    free(work);
}

/* k: right sides */
static void run_gels(const struct mublas_call *c)
{
    char first[16];
    int info, room = -1;
    gels[c->type]("N", &c->m, &c->n, &c->k, address(&c->a, 0), &c->a.ld, address(&c->b, 0), &c->b.ld, first, &room,
                  &info, 1);
    room = wanted(first, c->type);
    void *work = maths_alloc(mublas_size(c->type) * (size_t)room);
    for (int i = 0; work && i < c->batch; i++) {
        gels[c->type]("N", &c->m, &c->n, &c->k, address(&c->a, i), &c->a.ld, address(&c->b, i), &c->b.ld, work, &room,
                      &info, 1);
        if (c->info)
            c->info[i] = info;
    }
    free(work);
}

static mublasStatus_t submit(mublasHandle_t h, const struct mublas_call *c)
{
    if (!c->m || !c->n || !c->batch)
        return MUBLAS_STATUS_SUCCESS;
    if (!c->a.at || !c->b.at)
        return MUBLAS_STATUS_INVALID_POINTER;
    return mublas_submit(h, c, 2.0 * c->m * c->n * c->n * c->batch);
}

static int least(int n) { return n > 1 ? n : 1; }

/* info: which argument is wrong, negative, told at once. */
#define FN(name, ...) mublasStatus_t mublas##name(mublasHandle_t h, __VA_ARGS__)
#define AT(p, l) \
    { \
        .at = (p), .ld = (l) \
    }
#define ALL(W, T) \
    FN(W##geqrfBatched, int m, int n, T *const *a, int lda, T *const *tau, int *info, int count) \
    { \
        struct mublas_call c = { \
            .run = run_geqrf, .type = W, .m = m, .n = n, .a = AT(a, lda), .b = AT(tau, 1), .batch = count}; \
        MUBLAS_LIVE(h); \
        if (!info) \
            return MUBLAS_STATUS_INVALID_POINTER; \
        *info = m < 0 ? -1 : n < 0 ? -2 : lda < least(m) ? -4 : count < 0 ? -7 : 0; \
        return *info ? MUBLAS_STATUS_INVALID_VALUE : submit(h, &c); \
    } \
    FN(W##gelsBatched, int t, int m, int n, int nrhs, T *const *a, int lda, T *const *b, int ldb, int *info, \
       int *infos, int count) \
    { \
        struct mublas_call c = {.run = run_gels, \
                                .type = W, \
                                .m = m, \
                                .n = n, \
                                .k = nrhs, \
                                .a = AT(a, lda), \
                                .b = AT(b, ldb), \
                                .info = infos, \
                                .batch = count}; \
        MUBLAS_LIVE(h); \
        if (!info) \
            return MUBLAS_STATUS_INVALID_POINTER; \
        *info = !mublas_op(t)    ? -1 \
                : m < 0          ? -2 \
                : n < 0          ? -3 \
                : nrhs < 0       ? -4 \
                : lda < least(m) ? -6 \
                : ldb < least(m) ? -8 \
                : count < 0      ? -11 \
                                 : 0; \
        if (*info) \
            return MUBLAS_STATUS_INVALID_VALUE; \
        if (mublas_op(t) != 'N' || m < n) /* more unknowns than equations */ \
            return MUBLAS_STATUS_NOT_IMPLEMENTED; \
        return nrhs ? submit(h, &c) : MUBLAS_STATUS_SUCCESS; \
    }
ALL(S, float)
ALL(D, double)
ALL(C, muComplex)
ALL(Z, muDoubleComplex)
