/* Eigenvalues of symmetric and Hermitian matrices on the CPU muSOLVER: the standard and the generalised problem, all
 * of them or those of a range. One method, LAPACK's divide and conquer, stands behind every name. */
#include <math.h>
#include <string.h>

#include "host/musolver/musolver.h"

typedef const int *I;
typedef const char *L;
typedef const void *V;
typedef const struct musolver_call *call_t;
typedef struct musolver_room *room_t;
MUSOLVER_FORTRAN_REAL(syevd, syevd, L, L, I, void *, I, void *, void *, I, int *, I, int *, size_t, size_t);
MUSOLVER_FORTRAN_COMPLEX(heevd, heevd, L, L, I, void *, I, void *, void *, I, void *, I, int *, I, int *, size_t,
                         size_t);
MUSOLVER_FORTRAN_REAL(sygvd, sygvd, I, L, L, I, void *, I, void *, I, void *, void *, I, int *, I, int *, size_t,
                      size_t);
MUSOLVER_FORTRAN_COMPLEX(hegvd, hegvd, I, L, L, I, void *, I, void *, I, void *, void *, I, void *, I, int *, I, int *,
                         size_t, size_t);
MUSOLVER_FORTRAN2(hemm, symm, hemm, L, L, I, I, V, V, I, V, I, V, void *, I, size_t, size_t);

static void solve(call_t c, room_t r)
{
    if (musolver_complex(c->type))
        heevd[c->type](c->job, c->uplo, &c->n, c->a.at, &c->a.ld, c->w, r->work, &r->lwork, r->rwork, &r->lrwork,
                       r->iwork, &r->liwork, &r->info, 1, 1);
    else
        syevd[c->type](c->job, c->uplo, &c->n, c->a.at, &c->a.ld, c->w, r->work, &r->lwork, r->iwork, &r->liwork,
                       &r->info, 1, 1);
    if (!musolver_complex(c->type))
        r->lrwork = 0;
}
static void solve_general(call_t c, room_t r)
{
    if (musolver_complex(c->type))
        hegvd[c->type](&c->form, c->job, c->uplo, &c->n, c->a.at, &c->a.ld, c->b.at, &c->b.ld, c->w, r->work, &r->lwork,
                       r->rwork, &r->lrwork, r->iwork, &r->liwork, &r->info, 1, 1);
    else
        sygvd[c->type](&c->form, c->job, c->uplo, &c->n, c->a.at, &c->a.ld, c->b.at, &c->b.ld, c->w, r->work, &r->lwork,
                       r->iwork, &r->liwork, &r->info, 1, 1);
    if (!musolver_complex(c->type))
        r->lrwork = 0;
}

/* Keeps what lies in the range, in front: values of (vl, vu], or the il-th to the iu-th. */
static void select_range(call_t c)
{
    int first = 0, count = c->n;
    size_t size = musolver_size(c->type), real = musolver_real(c->type);
    if (c->range == MUBLAS_ERANGE_INDEX) {
        first = c->il - 1;
        count = c->iu - c->il + 1;
    } else if (c->range == MUBLAS_ERANGE_VALUE) {
        while (first < c->n && musolver_get_real(c->w, c->type, (size_t)first) <= c->vl)
            first++;
        for (count = 0; first + count < c->n;)
            if (musolver_get_real(c->w, c->type, (size_t)(first + count)) > c->vu)
                break;
            else
                count++;
    }
    if (first) {
        memmove(c->w, (char *)c->w + real * (size_t)first, real * (size_t)count);
        for (int j = 0; c->job[0] == 'V' && j < count; j++)
            memmove((char *)c->a.at + size * (size_t)c->a.ld * (size_t)j,
                    (char *)c->a.at + size * (size_t)c->a.ld * (size_t)(j + first), size * (size_t)c->n);
    }
    if (c->meig)
        *c->meig = count;
}

static void op_evd(call_t c, room_t r)
{
    solve(c, r);
    if (!r->query && c->range && !r->info)
        select_range(c);
}
static void op_gvd(call_t c, room_t r)
{
    solve_general(c, r);
    if (!r->query && c->range && !r->info)
        select_range(c);
}

/* As evd; the extra room holds A and A V, from which the residual comes. */
static void op_evj(call_t c, room_t r)
{
    if (r->query) {
        solve(c, r);
        return;
    }
    size_t n = (size_t)c->n, size = musolver_size(c->type);
    char *copy = r->extra, *product = copy + n * n * size;
    bool vectors = c->job[0] == 'V';
    for (size_t j = 0; vectors && j < n; j++)
        memcpy(copy + size * n * j, (char *)c->a.at + size * (size_t)c->a.ld * j, size * n);
    solve(c, r);
    double sum = 0;
    if (vectors && !r->info) {
        static const union {
            float s[2];
            double d[2];
        } one[] = {{.s = {1}}, {.d = {1}}, {.s = {1}}, {.d = {1}}}, zero;
        hemm[c->type]("L", c->uplo, &c->n, &c->n, &one[c->type], copy, &c->n, c->a.at, &c->a.ld, &zero, product, &c->n,
                      1, 1);
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < n; i++) {
                musolver_number d = musolver_get(product, c->type, i + n * j) -
                                    musolver_get_real(c->w, c->type, j) *
                                        musolver_get(c->a.at, c->type, i + (size_t)c->a.ld * j);
                sum += __real__ d * __real__ d + __imag__ d * __imag__ d;
            }
    }
    musolver_told(c->params, sqrt(sum), c->batch > 0);
}

static struct musolver_call call(void (*op)(call_t, room_t), int type, mublasEvect_t job, mublasFillMode_t u, int n,
                                 const void *a, int lda, const void *w, int *info)
{
    struct musolver_call c = {.op = op,
                              .type = type,
                              .m = n,
                              .n = n,
                              .a = {.at = musolver_place(a), .ld = lda},
                              .w = musolver_place(w),
                              .info = info};
    MUSOLVER_SET(c.job, musolver_evect(job));
    MUSOLVER_SET(c.uplo, musolver_fill(u));
    return c;
}
static struct musolver_call general(mublasEform_t form, int type, mublasEvect_t job, mublasFillMode_t u, int n,
                                    const void *a, int lda, const void *b, int ldb, const void *w, int *info)
{
    struct musolver_call c = call(op_gvd, type, job, u, n, a, lda, w, info);
    c.form = form - MUBLAS_EFORM_AX + 1;
    c.b = (struct musolver_operand){.at = musolver_place(b), .ld = ldb};
    return c;
}
static struct musolver_call jacobi(int type, mublasEvect_t job, mublasFillMode_t u, int n, const void *a, int lda,
                                   const void *w, int *info, musolverJacobi_t params, int batch)
{
    struct musolver_call c = call(op_evj, type, job, u, n, a, lda, w, info);
    c.params = params;
    c.batch = batch;
    c.a.stride = (long long)lda * n;
    c.stridew = n;
    if (n > 0)
        c.extra = 2 * (size_t)n * (size_t)n * musolver_size(type);
    return c;
}
static void limit(struct musolver_call *c, mublasErange_t range, double vl, double vu, int il, int iu, int *meig)
{
    c->range = range;
    c->vl = vl;
    c->vu = vu;
    c->il = il;
    c->iu = iu;
    c->meig = meig;
}

static bool bad(call_t c) { return !c->job[0] || !c->uplo[0] || c->n < 0 || c->a.ld < musolver_least(c->n); }
static bool bad_general(call_t c) { return bad(c) || c->form < 1 || c->form > 3 || c->b.ld < musolver_least(c->n); }
static bool bad_range(call_t c)
{
    switch (c->range) {
    case MUBLAS_ERANGE_ALL: return false;
    case MUBLAS_ERANGE_VALUE: return !(c->vl < c->vu);
    case MUBLAS_ERANGE_INDEX: return c->n && (c->il < 1 || c->iu < c->il || c->iu > c->n);
    default: return true;
    }
}
static bool bad_jacobi(call_t c) { return bad(c) || !musolver_params(c->params) || c->batch < 0; }

static musolverStatus_t submit(musolverDnHandle_t h, struct musolver_call *c, bool wrong, void *work, int lwork)
{
    bool two = c->op == op_gvd, missing = c->n && (!c->a.at || !c->w || (two && !c->b.at));
    return musolver_submit(h, c, wrong || missing, !c->n, work, lwork,
                           10.0 * c->n * c->n * c->n * (c->batch ? c->batch : 1));
}
/* An empty batch is none, not a single matrix. */
static musolverStatus_t submit_batch(musolverDnHandle_t h, struct musolver_call *c, void *work, int lwork)
{
    if (!c->batch && !bad_jacobi(c))
        return musolver_live(h) ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_NOT_INITIALIZED;
    return submit(h, c, bad_jacobi(c), work, lwork);
}

#define FN(name, ...) musolverStatus_t musolverDn##name(musolverDnHandle_t h, __VA_ARGS__)
#define EV mublasEvect_t
#define UP mublasFillMode_t
#define ALL(X, type, T, R, SY) \
    musolverStatus_t musolverDn##X##SY##evd_bufferSize(EV job, UP u, int n, size_t *size) \
    { \
        struct musolver_call c = call(op_evd, type, job, u, n, NULL, musolver_least(n), NULL, NULL); \
        if (bad(&c) || !size) \
            return MUSOLVER_STATUS_INVALID_VALUE; \
        *size = musolver_bytes(&c); \
        return MUSOLVER_STATUS_SUCCESS; \
    } \
    FN(X##SY##evd, EV job, UP u, int n, T *a, int lda, R *w, R *e, int *info, void *buffer) \
    { \
        struct musolver_call c = call(op_evd, type, job, u, n, a, lda, w, info); \
        return submit(h, &c, bad(&c) || (n && (!e || !buffer)), buffer, -1); \
    } \
    FN(X##SY##evdx_bufferSize, EV job, mublasErange_t range, UP u, int n, const T *a, int lda, R vl, R vu, int il, \
       int iu, int *meig, const R *w, int *lwork) \
    { \
        struct musolver_call c = call(op_evd, type, job, u, n, a, lda, w, NULL); \
        limit(&c, range, vl, vu, il, iu, meig); \
        return musolver_lwork(h, &c, bad(&c) || bad_range(&c), lwork); \
    } \
    FN(X##SY##evdx, EV job, mublasErange_t range, UP u, int n, T *a, int lda, R vl, R vu, int il, int iu, int *meig, \
       R *w, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = call(op_evd, type, job, u, n, a, lda, w, info); \
        limit(&c, range, vl, vu, il, iu, meig); \
        return submit(h, &c, bad(&c) || bad_range(&c) || lwork < 0, work, lwork); \
    } \
    FN(X##SY##gvd_bufferSize, mublasEform_t form, EV job, UP u, int n, const T *a, int lda, const T *b, int ldb, \
       const R *w, int *lwork) \
    { \
        struct musolver_call c = general(form, type, job, u, n, a, lda, b, ldb, w, NULL); \
        return musolver_lwork(h, &c, bad_general(&c), lwork); \
    } \
    FN(X##SY##gvd, mublasEform_t form, EV job, UP u, int n, T *a, int lda, T *b, int ldb, R *w, T *work, int lwork, \
       int *info) \
    { \
        struct musolver_call c = general(form, type, job, u, n, a, lda, b, ldb, w, info); \
        return submit(h, &c, bad_general(&c) || lwork < 0, work, lwork); \
    } \
    FN(X##SY##gvdx_bufferSize, mublasEform_t form, EV job, mublasErange_t range, UP u, int n, const T *a, int lda, \
       const T *b, int ldb, R vl, R vu, int il, int iu, int *meig, const R *w, int *lwork) \
    { \
        struct musolver_call c = general(form, type, job, u, n, a, lda, b, ldb, w, NULL); \
        limit(&c, range, vl, vu, il, iu, meig); \
        return musolver_lwork(h, &c, bad_general(&c) || bad_range(&c), lwork); \
    } \
    FN(X##SY##gvdx, mublasEform_t form, EV job, mublasErange_t range, UP u, int n, T *a, int lda, T *b, int ldb, R vl, \
       R vu, int il, int iu, int *meig, R *w, T *work, int lwork, int *info) \
    { \
        struct musolver_call c = general(form, type, job, u, n, a, lda, b, ldb, w, info); \
        limit(&c, range, vl, vu, il, iu, meig); \
        return submit(h, &c, bad_general(&c) || bad_range(&c) || lwork < 0, work, lwork); \
    } \
    FN(X##SY##evj_bufferSize, EV job, UP u, int n, const T *a, int lda, const R *w, int *lwork, \
       musolverJacobi_t params) \
    { \
        struct musolver_call c = jacobi(type, job, u, n, a, lda, w, NULL, params, 0); \
        return musolver_lwork(h, &c, bad_jacobi(&c), lwork); \
    } \
    FN(X##SY##evj, EV job, UP u, int n, T *a, int lda, R *w, T *work, int lwork, int *info, musolverJacobi_t params) \
    { \
        struct musolver_call c = jacobi(type, job, u, n, a, lda, w, info, params, 0); \
        return submit(h, &c, bad_jacobi(&c) || lwork < 0, work, lwork); \
    } \
    FN(X##SY##evjBatched_bufferSize, EV job, UP u, int n, const T *a, int lda, const R *w, int *lwork, \
       musolverJacobi_t params, int batch) \
    { \
        struct musolver_call c = jacobi(type, job, u, n, a, lda, w, NULL, params, batch); \
        return musolver_lwork(h, &c, bad_jacobi(&c), lwork); \
    } \
    FN(X##SY##evjBatched, EV job, UP u, int n, T *a, int lda, R *w, T *work, int lwork, int *info, \
       musolverJacobi_t params, int batch) \
    { \
        struct musolver_call c = jacobi(type, job, u, n, a, lda, w, info, params, batch); \
        return submit_batch(h, &c, work, lwork < 0 ? 0 : lwork); \
    } \
    FN(X##SY##gvj_bufferSize, mublasEform_t form, EV job, UP u, int n, const T *a, int lda, const T *b, int ldb, \
       const R *w, int *lwork, musolverJacobi_t params) \
    { \
        struct musolver_call c = general(form, type, job, u, n, a, lda, b, ldb, w, NULL); \
        return musolver_lwork(h, &c, bad_general(&c) || !musolver_params(params), lwork); \
    } \
    FN(X##SY##gvj, mublasEform_t form, EV job, UP u, int n, T *a, int lda, T *b, int ldb, R *w, T *work, int lwork, \
       int *info, musolverJacobi_t params) \
    { \
        struct musolver_call c = general(form, type, job, u, n, a, lda, b, ldb, w, info); \
        return submit(h, &c, bad_general(&c) || !musolver_params(params) || lwork < 0, work, lwork); \
    }
ALL(S, S, float, float, sy)
ALL(D, D, double, double, sy)
ALL(C, C, muComplex, float, he)
ALL(Z, Z, muDoubleComplex, double, he)
