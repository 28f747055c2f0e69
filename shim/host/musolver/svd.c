/* Singular values on the CPU muSOLVER. gesvd answers V^H as LAPACK does; the others V, and a measure of the result:
 * the Frobenius norm of A V - U S. */
#include <math.h>
#include <string.h>

#include "host/musolver/musolver.h"

typedef const int *I;
typedef const char *L;
typedef const void *V;
typedef const struct musolver_call *call_t;
typedef struct musolver_room *room_t;
MUSOLVER_FORTRAN_REAL(gesvd, gesvd, L, L, I, I, void *, I, void *, void *, I, void *, I, void *, I, int *, size_t,
                      size_t);
MUSOLVER_FORTRAN_COMPLEX(cgesvd, gesvd, L, L, I, I, void *, I, void *, void *, I, void *, I, void *, I, void *, int *,
                         size_t, size_t);
MUSOLVER_FORTRAN_REAL(gesdd, gesdd, L, I, I, void *, I, void *, void *, I, void *, I, void *, I, int *, int *, size_t);
MUSOLVER_FORTRAN_COMPLEX(cgesdd, gesdd, L, I, I, void *, I, void *, void *, I, void *, I, void *, I, void *, int *,
                         int *, size_t);
MUSOLVER_FORTRAN(gemm, L, L, I, I, I, V, V, I, V, I, V, void *, I, size_t, size_t);

/* What did not converge is told as LAPACK tells it: in the workspace, of which the program gets a copy. */
static void op_gesvd(call_t c, room_t r)
{
    int least = musolver_min(c->m, c->n);
    size_t real = musolver_real(c->type);
    if (musolver_complex(c->type))
        cgesvd[c->type](c->job, c->job2, &c->m, &c->n, c->a.at, &c->a.ld, c->w, c->u.at, &c->u.ld, c->v.at, &c->v.ld,
                        r->work, &r->lwork, r->rwork, &r->info, 1, 1);
    else
        gesvd[c->type](c->job, c->job2, &c->m, &c->n, c->a.at, &c->a.ld, c->w, c->u.at, &c->u.ld, c->v.at, &c->v.ld,
                       r->work, &r->lwork, &r->info, 1, 1);
    if (r->query) {
        r->lrwork = musolver_complex(c->type) ? 5 * least : 0;
        r->liwork = 0;
    } else if (least > 1) {
        const char *from = musolver_complex(c->type) ? r->rwork : (char *)r->work + real;
        memcpy(c->e, from, real * (size_t)(least - 1));
    }
}

/* A V - U S, of a copy of A and the first `k` columns of U and V. */
static double residual(call_t c, char *copy, char *product, int k)
{
    static const union {
        float s[2];
        double d[2];
    } one[] = {{.s = {1}}, {.d = {1}}, {.s = {1}}, {.d = {1}}}, zero;
    gemm[c->type]("N", "N", &c->m, &k, &c->n, &one[c->type], copy, &c->m, c->v.at, &c->v.ld, &zero, product, &c->m, 1,
                  1);
    double sum = 0;
    for (size_t j = 0; j < (size_t)k; j++)
        for (size_t i = 0; i < (size_t)c->m; i++) {
            musolver_number d = musolver_get(product, c->type, i + (size_t)c->m * j) -
                                musolver_get_real(c->w, c->type, j) *
                                    musolver_get(c->u.at, c->type, i + (size_t)c->u.ld * j);
            sum += __real__ d * __real__ d + __imag__ d * __imag__ d;
        }
    return sqrt(sum);
}

/* Columns of V from rows of V^H. */
static void transpose(call_t c, const void *vt, int ldvt, void *v, int ldv, int columns)
{
    for (size_t j = 0; j < (size_t)columns; j++)
        for (size_t i = 0; i < (size_t)c->n; i++) {
            musolver_number z = musolver_get(vt, c->type, j + (size_t)ldvt * i);
            musolver_put(v, c->type, i + (size_t)ldv * j, __builtin_conj(z));
        }
}

/* LAPACK's query and its fixed sizes. */
static void divide(call_t c, room_t r, void *a, int lda, void *s, void *u, int ldu, void *vt, int ldvt)
{
    int least = musolver_min(c->m, c->n), most = c->m + c->n - least;
    if (musolver_complex(c->type))
        cgesdd[c->type](c->job, &c->m, &c->n, a, &lda, s, u, &ldu, vt, &ldvt, r->work, &r->lwork, r->rwork, r->iwork,
                        &r->info, 1);
    else
        gesdd[c->type](c->job, &c->m, &c->n, a, &lda, s, u, &ldu, vt, &ldvt, r->work, &r->lwork, r->iwork, &r->info, 1);
    if (!r->query)
        return;
    r->liwork = 8 * least;
    int fixed = c->job[0] == 'N' ? 7 * least : 0;
    if (c->job[0] != 'N') {
        int a1 = 5 * least * least + 5 * least, a2 = 2 * most * least + 2 * least * least + least;
        fixed = a1 > a2 ? a1 : a2;
    }
    r->lrwork = musolver_complex(c->type) ? fixed : 0;
}

/* The extra room: a copy of A, A V, V^H. */
static void op_gesvdj(call_t c, room_t r)
{
    size_t size = musolver_size(c->type), m = (size_t)c->m, n = (size_t)c->n;
    int least = musolver_min(c->m, c->n), columns = c->job[0] == 'A' ? c->n : least, ld = columns > 0 ? columns : 1;
    if (r->query) {
        divide(c, r, c->a.at, c->a.ld, c->w, c->u.at, c->u.ld, NULL, ld);
        return;
    }
    char *copy = r->extra, *product = copy + size * m * n, *vt = product + size * m * n;
    bool vectors = c->job[0] != 'N';
    for (size_t j = 0; vectors && j < n; j++)
        memcpy(copy + size * m * j, (char *)c->a.at + size * (size_t)c->a.ld * j, size * m);
    divide(c, r, c->a.at, c->a.ld, c->w, c->u.at, c->u.ld, vt, ld);
    double rest = 0;
    if (vectors) {
        transpose(c, vt, columns, c->v.at, c->v.ld, columns);
        rest = residual(c, copy, product, least);
    }
    musolver_told(c->params, rest, c->batch > 0);
}

/* The `k` greatest; A stays as it is. The extra room: a copy of A, another, A V, U, V^H, values. */
static void op_gesvda(call_t c, room_t r)
{
    size_t size = musolver_size(c->type), real = musolver_real(c->type), m = (size_t)c->m, n = (size_t)c->n;
    int least = musolver_min(c->m, c->n);
    if (r->query) {
        divide(c, r, NULL, c->m, NULL, NULL, c->m, NULL, musolver_least(least));
        return;
    }
    char *copy = r->extra, *kept = copy + size * m * n, *product = kept + size * m * n;
    char *u = product + size * m * n, *vt = u + size * m * (size_t)least, *s = vt + size * n * (size_t)least;
    for (size_t j = 0; j < n; j++) {
        memcpy(copy + size * m * j, (char *)c->a.at + size * (size_t)c->a.ld * j, size * m);
        memcpy(kept + size * m * j, copy + size * m * j, size * m);
    }
    divide(c, r, copy, c->m, s, u, c->m, vt, musolver_least(least));
    memcpy(c->w, s, real * (size_t)c->k);
    if (c->job[0] == 'N')
        return;
    for (size_t j = 0; j < (size_t)c->k; j++)
        memcpy((char *)c->u.at + size * (size_t)c->u.ld * j, u + size * m * j, size * m);
    transpose(c, vt, least, c->v.at, c->v.ld, c->k);
    if (!c->residuals)
        return;
    /* |A - U S V^H|^2 = |A V - U S|^2 + |A|^2 - |A V|^2, and the last two differ by the values left out */
    double rest = residual(c, kept, product, c->k), sum = rest * rest;
    for (size_t i = (size_t)c->k; i < (size_t)least; i++) {
        double v = musolver_get_real(s, c->type, i);
        sum += v * v;
    }
    *c->residuals = sqrt(sum);
}

struct matrices {
    const void *a;
    int lda;
    const void *s, *u;
    int ldu;
    const void *v;
    int ldv;
};
static struct musolver_call call(void (*op)(call_t, room_t), int type, int m, int n, struct matrices x, int *info)
{
    return (struct musolver_call){.op = op,
                                  .type = type,
                                  .m = m,
                                  .n = n,
                                  .a = {.at = musolver_place(x.a), .ld = x.lda},
                                  .w = musolver_place(x.s),
                                  .u = {.at = musolver_place(x.u), .ld = x.ldu},
                                  .v = {.at = musolver_place(x.v), .ld = x.ldv},
                                  .info = info};
}
static size_t matrix_bytes(call_t c) { return musolver_size(c->type) * (size_t)c->m * (size_t)c->n; }

static struct musolver_call jacobi(int type, mublasEvect_t job, int econ, int m, int n, struct matrices x, int *info,
                                   musolverJacobi_t params, int batch)
{
    struct musolver_call c = call(op_gesvdj, type, m, n, x, info);
    int least = musolver_min(m, n);
    MUSOLVER_SET(c.job, musolver_evect(job));
    if (c.job[0] == 'V')
        c.job[0] = econ ? 'S' : 'A';
    c.params = params;
    c.batch = batch;
    c.a.stride = (long long)x.lda * n;
    c.stridew = least;
    c.u.stride = (long long)x.ldu * m;
    c.v.stride = (long long)x.ldv * n;
    if (m > 0 && n > 0)
        c.extra = 2 * matrix_bytes(&c) + musolver_size(type) * (size_t)n * (size_t)n;
    return c;
}
static struct musolver_call approximate(int type, mublasEvect_t job, int rank, int m, int n, struct matrices x,
                                        const long long strides[4], int *info, double *residuals, int batch)
{
    struct musolver_call c = call(op_gesvda, type, m, n, x, info);
    size_t size = musolver_size(type), least = (size_t)musolver_min(m, n);
    MUSOLVER_SET(c.job, musolver_evect(job));
    if (c.job[0] == 'V')
        c.job[0] = 'S';
    c.k = rank;
    c.batch = batch;
    c.residuals = residuals;
    c.a.stride = strides[0];
    c.stridew = strides[1];
    c.u.stride = strides[2];
    c.v.stride = strides[3];
    if (m > 0 && n > 0)
        c.extra = 3 * matrix_bytes(&c) + size * least * ((size_t)m + (size_t)n + 1);
    return c;
}
static struct musolver_call classic(int type, mublasSvect_t left, mublasSvect_t right, int m, int n, struct matrices x,
                                    void *e, int *info)
{
    struct musolver_call c = call(op_gesvd, type, m, n, x, info);
    MUSOLVER_SET(c.job, musolver_svect(left));
    MUSOLVER_SET(c.job2, musolver_svect(right));
    c.e = e;
    return c;
}

static bool bad_shape(call_t c) { return !c->job[0] || c->m < 0 || c->n < 0 || c->a.ld < musolver_least(c->m); }
static bool bad_jacobi(call_t c)
{
    bool vectors = c->job[0] != 'N';
    return bad_shape(c) || !musolver_params(c->params) || c->batch < 0 ||
           (vectors && (c->u.ld < musolver_least(c->m) || c->v.ld < musolver_least(c->n)));
}
static bool bad_approximate(call_t c)
{
    bool vectors = c->job[0] != 'N';
    return bad_shape(c) || c->batch < 0 || c->k < 0 || c->k > musolver_min(c->m, c->n) ||
           (vectors && (c->u.ld < musolver_least(c->m) || c->v.ld < musolver_least(c->n)));
}
static bool bad_classic(call_t c)
{
    int least = musolver_min(c->m, c->n);
    bool u = c->job[0] == 'A' || c->job[0] == 'S', v = c->job2[0] == 'A' || c->job2[0] == 'S';
    return bad_shape(c) || !c->job2[0] || (c->job[0] == 'O' && c->job2[0] == 'O') || c->u.ld < 1 || c->v.ld < 1 ||
           (u && c->u.ld < musolver_least(c->m)) || (v && c->v.ld < musolver_least(c->job2[0] == 'A' ? c->n : least));
}

static musolverStatus_t submit(musolverDnHandle_t h, struct musolver_call *c, bool bad, void *work, int lwork)
{
    bool empty = !c->m || !c->n, vectors = c->op != op_gesvd && c->job[0] != 'N';
    bool missing = !empty && (!c->a.at || !c->w || (vectors && (!c->u.at || !c->v.at)));
    return musolver_submit(h, c, bad || missing, empty, work, lwork,
                           20.0 * c->m * c->n * musolver_min(c->m, c->n) * (c->batch ? c->batch : 1));
}
/* An empty batch is none, not a single matrix. */
static musolverStatus_t submit_batch(musolverDnHandle_t h, struct musolver_call *c, bool bad, void *work, int lwork)
{
    if (!c->batch && !bad)
        return musolver_live(h) ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_NOT_INITIALIZED;
    return submit(h, c, bad, work, lwork < 0 ? 0 : lwork);
}

#define FN(name, ...) musolverStatus_t musolverDn##name(musolverDnHandle_t h, __VA_ARGS__)
#define X_OF(a, s, u, v) ((struct matrices){a, ld##a, s, u, ld##u, v, ld##v})
#define EV mublasEvect_t
#define ALL(X, type, T, R) \
    musolverStatus_t musolverDn##X##gesvd_bufferSize(mublasSvect_t left, mublasSvect_t right, int m, int n, int batch, \
                                                     mublasWorkmode_t mode, size_t *size) \
    { \
        struct matrices x = {.lda = musolver_least(m), .ldu = musolver_least(m), .ldv = musolver_least(n)}; \
        struct musolver_call c = classic(type, left, right, m, n, x, NULL, NULL); \
        bool known = mode == MUBLAS_OUTOFPLACE || mode == MUBLAS_INPLACE; \
        if (bad_classic(&c) || batch < 1 || !known || !size) \
            return MUSOLVER_STATUS_INVALID_VALUE; \
        *size = musolver_bytes(&c) * (size_t)batch; \
        return MUSOLVER_STATUS_SUCCESS; \
    } \
    FN(X##gesvd, mublasSvect_t left, mublasSvect_t right, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, \
       int ldv, R *e, mublasWorkmode_t mode, int *info, void *buffer) \
    { \
        struct musolver_call c = classic(type, left, right, m, n, X_OF(a, s, u, v), e, info); \
        bool known = mode == MUBLAS_OUTOFPLACE || mode == MUBLAS_INPLACE; \
        bool missing = m && n && \
                       (!e || !buffer || (!u && (c.job[0] == 'A' || c.job[0] == 'S')) || \
                        (!v && (c.job2[0] == 'A' || c.job2[0] == 'S'))); \
        return submit(h, &c, bad_classic(&c) || !known || missing, buffer, -1); \
    } \
    FN(X##gesvdj_bufferSize, EV job, int econ, int m, int n, const T *a, int lda, const R *s, const T *u, int ldu, \
       const T *v, int ldv, int *lwork, musolverJacobi_t params) \
    { \
        struct musolver_call c = jacobi(type, job, econ, m, n, X_OF(a, s, u, v), NULL, params, 0); \
        return musolver_lwork(h, &c, bad_jacobi(&c), lwork); \
    } \
    FN(X##gesvdj, EV job, int econ, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, int ldv, T *work, \
       int lwork, int *info, musolverJacobi_t params) \
    { \
        struct musolver_call c = jacobi(type, job, econ, m, n, X_OF(a, s, u, v), info, params, 0); \
        return submit(h, &c, bad_jacobi(&c) || lwork < 0, work, lwork); \
    } \
    FN(X##gesvdjBatched_bufferSize, EV job, int m, int n, const T *a, int lda, const R *s, const T *u, int ldu, \
       const T *v, int ldv, int *lwork, musolverJacobi_t params, int batch) \
    { \
        struct musolver_call c = jacobi(type, job, 0, m, n, X_OF(a, s, u, v), NULL, params, batch); \
        return musolver_lwork(h, &c, bad_jacobi(&c), lwork); \
    } \
    FN(X##gesvdjBatched, EV job, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, int ldv, T *work, int lwork, \
       int *info, musolverJacobi_t params, int batch) \
    { \
        struct musolver_call c = jacobi(type, job, 0, m, n, X_OF(a, s, u, v), info, params, batch); \
        return submit_batch(h, &c, bad_jacobi(&c), work, lwork); \
    } \
    FN(X##gesvdaStridedBatched_bufferSize, EV job, int rank, int m, int n, const T *a, int lda, long long stridea, \
       const R *s, long long strides, const T *u, int ldu, long long strideu, const T *v, int ldv, long long stridev, \
       int *lwork, int batch) \
    { \
        const long long all[] = {stridea, strides, strideu, stridev}; \
        struct musolver_call c = approximate(type, job, rank, m, n, X_OF(a, s, u, v), all, NULL, NULL, batch); \
        return musolver_lwork(h, &c, bad_approximate(&c), lwork); \
    } \
    FN(X##gesvdaStridedBatched, EV job, int rank, int m, int n, const T *a, int lda, long long stridea, R *s, \
       long long strides, T *u, int ldu, long long strideu, T *v, int ldv, long long stridev, T *work, int lwork, \
       int *info, double *residuals, int batch) \
    { \
        const long long all[] = {stridea, strides, strideu, stridev}; \
        struct musolver_call c = approximate(type, job, rank, m, n, X_OF(a, s, u, v), all, info, residuals, batch); \
        return submit_batch(h, &c, bad_approximate(&c), work, lwork); \
    }
ALL(S, S, float, float)
ALL(D, D, double, double)
ALL(C, C, muComplex, float)
ALL(Z, Z, muDoubleComplex, double)
