/* cuSOLVER Sp, the functions that keep a factor: QR, LU and Cholesky, analysed, filled, asked and solved with. */
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/sp.h"
#include "api/object.h"

/* What csrqrInfo, csrluInfo and csrcholInfo are. A factor is made of the numbers that came last. */
struct info {
    int n, m, type;
    bool analysed;
    struct cumu_csr a; /* QR: what Setup handed in */
    struct cumu_factor *f;
};

int wrap_cusolverSpCreateCsrqrInfo(void *out)
{
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *(struct info **)out = cumu_object_new(CUMU_SP_INFO, sizeof(struct info));
    return *(struct info **)out ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}
static void drop_factor(struct info *i)
{
    if (i->f)
        cumu_sp_of(i->type)->release(i->f);
    i->f = NULL;
}
int wrap_cusolverSpDestroyCsrqrInfo(void *info)
{
    struct info *i = cumu_object(CUMU_SP_INFO, info);
    if (!i || !cumu_object_end(CUMU_SP_INFO, i))
        return info ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS;
    drop_factor(i);
    cumu_csr_free(&i->a);
    free(i);
    return CUSOLVER_STATUS_SUCCESS;
}

/* The pattern comes again with the numbers: analysis has nothing to keep but sizes. */
int wrap_cusolverSpXcsrqrAnalysis(void *h, int m, int n, int nnz, void *descr, const void *row, const void *col,
                                  void *info)
{
    struct cumu_sp from = {.h = h, .m = m, .n = n, .nnz = nnz, .descr = descr};
    struct info *i = cumu_object(CUMU_SP_INFO, info);
    int base, r = cumu_sp_check(&from, &base);
    if (!r && (!row || !col || !i || m < n))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (r)
        return r;
    drop_factor(i);
    cumu_csr_free(&i->a);
    i->m = m;
    i->n = n;
    i->analysed = true;
    return r;
}
int wrap_cusolverSpXcsrcholAnalysis(void *h, int n, int nnz, void *descr, const void *row, const void *col, void *info)
{
    return wrap_cusolverSpXcsrqrAnalysis(h, n, n, nnz, descr, row, col, info);
}

/* Factors are kept on the host; the sizes are what programs can afford and allocate. */
static int sizes(void *h, int m, int n, int nnz, const void *info, size_t *internal, size_t *work)
{
    const struct info *i = cumu_object(CUMU_SP_INFO, info);
    musaStream_t stream;
    int r = cumu_sp_stream(h, &stream);
    if (r)
        return r;
    if (!i || !i->analysed || m != i->m || n != i->n || nnz <= 0 || !internal || !work)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *internal = (size_t)nnz * 2 * sizeof(double);
    *work = ((size_t)m + (size_t)n) * 2 * sizeof(double);
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverSpDcsrqrBufferInfo(void *h, int m, int n, int nnz, void *descr, const void *val, const void *row,
                                    const void *col, void *info, void *internal, void *work)
{
    (void)descr, (void)val, (void)row, (void)col;
    return sizes(h, m, n, nnz, info, internal, work);
}
int wrap_cusolverSpDcsrqrBufferInfoBatched(void *h, int m, int n, int nnz, void *descr, const void *val,
                                           const void *row, const void *col, int batch, void *info, void *internal,
                                           void *work)
{
    (void)descr, (void)val, (void)row, (void)col;
    return batch > 0 ? sizes(h, m, n, nnz, info, internal, work) : CUSOLVER_STATUS_INVALID_VALUE;
}
int wrap_cusolverSpDcsrcholBufferInfo(void *h, int n, int nnz, void *descr, const void *val, const void *row,
                                      const void *col, void *info, void *internal, void *work)
{
    (void)descr, (void)val, (void)row, (void)col;
    return sizes(h, n, n, nnz, info, internal, work);
}

/* ---- Cholesky and LU --------------------------------------------------------------------------- */

static int fill(const struct cumu_sp *from, void *info, bool lu, double threshold, const void *buffer)
{
    struct info *i = cumu_object(CUMU_SP_INFO, info);
    const struct cumu_sparse *of = cumu_sp_of(from->type);
    struct cumu_csr a;
    struct cumu_factor *f;
    int base, r = cumu_sp_check(from, &base);
    if (!r && (!i || !i->analysed || i->n != from->n || !from->val || !buffer))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_sp_take(from, &a);
    if (r)
        return r;
    r = lu ? of->lu(&a, threshold, &f) : of->chol(&a, &f);
    cumu_csr_free(&a);
    if (r)
        return r;
    drop_factor(i);
    i->f = f;
    i->type = from->type;
    return r;
}
#define CHOL(X, t, name, on_device) \
    int wrap_cusolverSp##X##csrcholFactor##name(void *h, int n, int nnz, void *descr, const void *val, \
                                                const void *row, const void *col, void *info, void *buffer) \
    { \
        struct cumu_sp from = {h, t, n, n, nnz, on_device, descr, val, row, col}; \
        return fill(&from, info, false, 0, buffer); \
    }
#define FILLED(X, t, R) \
    CHOL(X, t, Host, false) \
    CHOL(X, t, , true) \
    int wrap_cusolverSp##X##csrluFactorHost(void *h, int n, int nnz, void *descr, const void *val, const void *row, \
                                            const void *col, void *info, R threshold, void *buffer) \
    { \
        struct cumu_sp from = {h, t, n, n, nnz, false, descr, val, row, col}; \
        return fill(&from, info, true, (double)threshold, buffer); \
    }
FILLED(S, S, float)
FILLED(D, D, double)
FILLED(C, C, float)
FILLED(Z, Z, double)

/* A factor to ask or solve with; ZERO_PIVOT where there was no pivot to go on with. */
static int ready(void *h, const struct info *i, int m, int n, bool whole)
{
    musaStream_t stream;
    int r = cumu_sp_stream(h, &stream);
    if (r)
        return r;
    if (!i || !i->f || m != i->m || n != i->n)
        return CUSOLVER_STATUS_INVALID_VALUE;
    return whole && cumu_sp_of(i->type)->pivot(i->f, 0) >= 0 ? CUSOLVER_STATUS_ZERO_PIVOT : CUSOLVER_STATUS_SUCCESS;
}

static int zero_pivot(void *h, const void *info, double tol, int *position)
{
    const struct info *i = cumu_object(CUMU_SP_INFO, info);
    int r = ready(h, i, i ? i->m : 0, i ? i->n : 0, false);
    if (!r && !position)
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        *position = cumu_sp_of(i->type)->pivot(i->f, tol);
    return r;
}
int wrap_cusolverSpScsrqrZeroPivot(void *h, void *info, float tol, void *position)
{
    return zero_pivot(h, info, (double)tol, position);
}
int wrap_cusolverSpDcsrqrZeroPivot(void *h, void *info, double tol, void *position)
{
    return zero_pivot(h, info, tol, position);
}

static int solve(void *h, bool device, int m, int n, const void *b, void *x, const void *info, const void *buffer)
{
    const struct info *i = cumu_object(CUMU_SP_INFO, info);
    int r = ready(h, i, m, n, true);
    if (!r && (!b || !x || !buffer))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    return r ? r : cumu_sp_solve(h, i->type, device, i->f, m, n, b, x);
}
int wrap_cusolverSpDcsrcholSolve(void *h, int n, const void *b, void *x, void *info, void *buffer)
{
    return solve(h, true, n, n, b, x, info, buffer);
}
int wrap_cusolverSpDcsrcholSolveHost(void *h, int n, const void *b, void *x, void *info, void *buffer)
{
    return solve(h, false, n, n, b, x, info, buffer);
}
/* The diagonal is real, and lies on the device. */
int wrap_cusolverSpDcsrcholDiag(void *h, void *info, void *out)
{
    struct info *i = cumu_object(CUMU_SP_INFO, info);
    int r = ready(h, i, i ? i->m : 0, i ? i->n : 0, true);
    double *d = r ? NULL : malloc((size_t)i->n * sizeof *d);
    if (!r && !out)
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r && !d)
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r) {
        cumu_sp_of(i->type)->diagonal(i->f, d);
        r = cumu_sp_results(h, cumu_sp_single(i->type) ? S : D, true, out, d, (size_t)i->n);
    }
    free(d);
    return r;
}

int wrap_cusolverSpXcsrluNnzHost(void *h, void *l, void *u, void *info)
{
    struct info *i = cumu_object(CUMU_SP_INFO, info);
    int r = ready(h, i, i ? i->m : 0, i ? i->n : 0, true);
    if (!r)
        cumu_sp_of(i->type)->sizes(i->f, l, u);
    return r;
}
static int told(const struct cumu_csr *a, int type, const void *descr, char *val, int *row, int *col)
{
    int base = (int)mu.musparseGetMatIndexBase((musparseMatDescr_t)descr);
    for (int i = 0; i <= a->n; i++)
        row[i] = a->row[i] + base;
    for (int p = 0; p < a->row[a->n]; p++)
        col[p] = a->col[p] + base;
    cumu_sp_of(type)->out(val, a->val, (size_t)a->row[a->n], cumu_sp_single(type));
    return CUSOLVER_STATUS_SUCCESS;
}
/* P A Q^T = LU, L without its unit diagonal; columns stay where they are. */
int wrap_cusolverSpDcsrluExtractHost(void *h, void *p, void *q, void *descr_l, void *val_l, void *row_l, void *col_l,
                                     void *descr_u, void *val_u, void *row_u, void *col_u, void *info, void *buffer)
{
    struct info *i = cumu_object(CUMU_SP_INFO, info);
    struct cumu_csr l, u;
    int r = ready(h, i, i ? i->m : 0, i ? i->n : 0, true);
    if (!r && (!p || !q || !descr_l || !val_l || !row_l || !col_l || !descr_u || !val_u || !row_u || !col_u || !buffer))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_sp_of(i->type)->extract(i->f, p, &l, &u);
    if (r)
        return r;
    for (int j = 0; j < i->n; j++)
        ((int *)q)[j] = j;
    r = told(&l, i->type, descr_l, val_l, row_l, col_l);
    if (!r)
        r = told(&u, i->type, descr_u, val_u, row_u, col_u);
    cumu_csr_free(&l);
    cumu_csr_free(&u);
    return r;
}

/* ---- QR ---------------------------------------------------------------------------------------- */

/* A - shift I is what is factored. */
static int setup(const struct cumu_sp *from, const double shift[2], void *info)
{
    struct info *i = cumu_object(CUMU_SP_INFO, info);
    const struct cumu_sparse *of = cumu_sp_of(from->type);
    const double minus[2] = {-shift[0], -shift[1]};
    struct cumu_csr a;
    int base, r = cumu_sp_check(from, &base);
    if (!r && (!i || !i->analysed || i->m != from->m || i->n != from->n || !from->val))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_sp_take(from, &a);
    if (r)
        return r;
    drop_factor(i);
    cumu_csr_free(&i->a);
    i->type = from->type;
    if (shift[0] == 0 && shift[1] == 0) {
        i->a = a;
        return r;
    }
    r = of->shifted(&a, minus, &i->a);
    cumu_csr_free(&a);
    return r;
}
#define SETUP(X, t, T, name, on_device) \
    int wrap_cusolverSp##X##csrqrSetup##name(void *h, int m, int n, int nnz, void *descr, const void *val, \
                                             const void *row, const void *col, T mu0, void *info) \
    { \
        struct cumu_sp from = {h, t, m, n, nnz, on_device, descr, val, row, col}; \
        return setup(&from, cumu_sp_##X(mu0).at, info); \
    }
#define SETUPS(X, t, T) \
    SETUP(X, t, T, Host, false) \
    SETUP(X, t, T, , true)
SETUPS(S, S, float)
SETUPS(D, D, double)
SETUPS(C, C, struct cumu_f8)
SETUPS(Z, Z, struct cumu_f16)

/* b and x, where they are given, are solved for at once. */
static int qr(void *h, bool device, int m, int n, int nnz, const void *b, void *x, void *info, const void *buffer)
{
    struct info *i = cumu_object(CUMU_SP_INFO, info);
    musaStream_t stream;
    struct cumu_factor *f;
    int r = cumu_sp_stream(h, &stream);
    if (r)
        return r;
    if (!i || !i->a.row || m != i->m || n != i->n || nnz <= 0 || !buffer || !b != !x)
        return CUSOLVER_STATUS_INVALID_VALUE;
    r = cumu_sp_of(i->type)->qr(&i->a, -1, &f);
    if (r)
        return r;
    drop_factor(i);
    i->f = f;
    return b ? solve(h, device, m, n, b, x, i, buffer) : r;
}
int wrap_cusolverSpDcsrqrFactor(void *h, int m, int n, int nnz, void *b, void *x, void *info, void *buffer)
{
    return qr(h, true, m, n, nnz, b, x, info, buffer);
}
int wrap_cusolverSpDcsrqrFactorHost(void *h, int m, int n, int nnz, void *b, void *x, void *info, void *buffer)
{
    return qr(h, false, m, n, nnz, b, x, info, buffer);
}
int wrap_cusolverSpDcsrqrSolve(void *h, int m, int n, void *b, void *x, void *info, void *buffer)
{
    return solve(h, true, m, n, b, x, info, buffer);
}
int wrap_cusolverSpDcsrqrSolveHost(void *h, int m, int n, void *b, void *x, void *info, void *buffer)
{
    return solve(h, false, m, n, b, x, info, buffer);
}

/* Many matrices of one pattern, each its own right-hand side. What is singular gets no numbers, as on a GPU. */
static int batched(const struct cumu_sp *first, const void *b, void *x, int batch, const void *info, const void *buffer)
{
    const struct info *i = cumu_object(CUMU_SP_INFO, info);
    const struct cumu_sparse *of = cumu_sp_of(first->type);
    size_t size = cumu_solver_size(first->type);
    int base, r = cumu_sp_check(first, &base);
    if (!r && (!i || !i->analysed || i->m != first->m || i->n != first->n || !first->val || !b || !x || batch <= 0 ||
               !buffer))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    for (int k = 0; !r && k < batch; k++) {
        struct cumu_sp from = *first;
        struct cumu_csr a;
        struct cumu_factor *f = NULL;
        size_t at = (size_t)k * size;
        from.val = (const char *)first->val + at * (size_t)first->nnz;
        r = cumu_sp_take(&from, &a);
        if (r)
            break;
        r = of->qr(&a, -1, &f);
        cumu_csr_free(&a);
        if (!r)
            r = cumu_sp_solve(first->h, first->type, true, f, first->m, first->n,
                              (const char *)b + at * (size_t)first->m, (char *)x + at * (size_t)first->n);
        of->release(f);
    }
    return r;
}
#define BATCHED(X, t) \
    int wrap_cusolverSp##X##csrqrsvBatched(void *h, int m, int n, int nnz, void *descr, const void *val, \
                                           const void *row, const void *col, const void *b, void *x, int batch, \
                                           void *info, void *buffer) \
    { \
        struct cumu_sp from = {h, t, m, n, nnz, true, descr, val, row, col}; \
        return batched(&from, b, x, batch, info, buffer); \
    }
BATCHED(S, S)
BATCHED(D, D)
BATCHED(C, C)
BATCHED(Z, Z)
