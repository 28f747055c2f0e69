/* cuSOLVER Sp, the functions of one call: linear systems, least squares, one eigenvalue, how many are in a box. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/sp.h"

enum { BY_LU, BY_QR, BY_CHOLESKY };

static int factor(int how, const struct cumu_sparse *of, const struct cumu_csr *a, struct cumu_factor **out)
{
    return how == BY_LU ? of->lu(a, 1, out) : how == BY_QR ? of->qr(a, -1, out) : of->chol(a, out);
}

/* Ax = b with rows and columns in the order that was asked for. singularity is told about the matrix so ordered; x is
 * written when there is one. */
static int solve_ordered(int how, const struct cumu_sparse *of, const struct cumu_csr *a, const char *b, double tol,
                         int reorder, char *x, int *singularity)
{
    size_t n = (size_t)a->n, size = of->size;
    struct cumu_csr ordered = {0};
    struct cumu_factor *f = NULL;
    int *order = malloc((n + 1) * sizeof(int));
    char *moved = malloc(n * size + 1);
    int r = order && moved ? cumu_sparse_order(reorder, a, order) : CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r)
        r = cumu_sp_permuted(a, of, order, &ordered);
    if (!r)
        r = factor(how, of, &ordered, &f);
    if (!r) {
        *singularity = of->pivot(f, tol);
        if (of->pivot(f, 0) < 0) {
            for (size_t i = 0; i < n; i++)
                memcpy(moved + i * size, b + (size_t)order[i] * size, size);
            r = of->solve(f, moved, moved, NULL);
            for (size_t i = 0; i < n; i++)
                memcpy(x + (size_t)order[i] * size, moved + i * size, size);
        }
    }
    of->release(f);
    cumu_csr_free(&ordered);
    free(order);
    free(moved);
    return r;
}

/* One sparse linear system: matrix and right-hand side to the host, ordered, factored, solved. A singular matrix is
 * a success with the row in `singularity`, and the solution is not a number. */
static int lsv(int how, const struct cumu_sp *from, const void *b, double tol, int reorder, void *x, int *singularity)
{
    const struct cumu_sparse *of = cumu_sp_of(from->type);
    struct cumu_csr a;
    void *right = NULL, *found = NULL;
    size_t n = (size_t)from->n;
    int base, r = cumu_sp_check(from, &base);
    if (!r && (!from->val || !b || !x || !singularity || reorder < 0 || reorder >= CUMU_ORDERS))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_sp_take(from, &a);
    if (r)
        return r;
    r = cumu_sp_numbers(from->h, from->type, from->device, b, n, &right);
    if (!r && !(found = malloc(n * of->size)))
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    int where = -1;
    if (!r) {
        memset(found, 0xff, n * of->size); /* not a number, where there is no solution */
        r = solve_ordered(how, of, &a, right, tol, reorder, found, &where);
    }
    if (!r)
        r = cumu_sp_results(from->h, from->type, from->device, x, found, n);
    if (!r)
        *singularity = where;
    cumu_csr_free(&a);
    free(right);
    free(found);
    return r;
}

#define LSV(X, t, R, name, how, on_device) \
    int wrap_cusolverSp##X##csr##name(void *h, int m, int nnz, void *descr, const void *val, const void *row, \
                                      const void *col, const void *b, R tol, int reorder, void *x, void *singularity) \
    { \
        struct cumu_sp from = {h, t, m, m, nnz, on_device, descr, val, row, col}; \
        return lsv(how, &from, b, (double)tol, reorder, x, singularity); \
    }
#define LSVS(X, t, R) \
    LSV(X, t, R, lsvluHost, BY_LU, false) \
    LSV(X, t, R, lsvqrHost, BY_QR, false) \
    LSV(X, t, R, lsvqr, BY_QR, true) \
    LSV(X, t, R, lsvcholHost, BY_CHOLESKY, false) \
    LSV(X, t, R, lsvchol, BY_CHOLESKY, true)
LSVS(S, S, float)
LSVS(D, D, double)
LSVS(C, C, float)
LSVS(Z, Z, double)

/* ---- least squares ----------------------------------------------------------------------------- */

/* The solution is basic: 0 for columns that depend on others. */
static int lsq(const struct cumu_sp *from, const void *b, double tol, int *rank, void *x, int *pick, void *min_norm)
{
    const struct cumu_sparse *of = cumu_sp_of(from->type);
    struct cumu_csr a;
    struct cumu_factor *f = NULL;
    void *right = NULL, *found = NULL;
    double residual = 0;
    int base, r = cumu_sp_check(from, &base);
    if (!r && (!from->val || !b || !x || !rank || !pick || !min_norm || from->m < from->n))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_sp_take(from, &a);
    if (r)
        return r;
    r = cumu_sp_numbers(from->h, from->type, false, b, (size_t)from->m, &right);
    if (!r && !(found = malloc((size_t)from->n * of->size)))
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r)
        r = of->qr(&a, tol > 0 ? tol : 0, &f);
    if (!r)
        r = of->solve(f, right, found, &residual);
    if (!r)
        *rank = of->rank(f, pick);
    if (!r)
        r = cumu_sp_results(from->h, from->type, false, x, found, (size_t)from->n);
    if (!r && cumu_sp_single(from->type))
        *(float *)min_norm = (float)residual;
    else if (!r)
        *(double *)min_norm = residual;
    of->release(f);
    cumu_csr_free(&a);
    free(right);
    free(found);
    return r;
}
#define LSQ(X, t, R) \
    int wrap_cusolverSp##X##csrlsqvqrHost(void *h, int m, int n, int nnz, void *descr, const void *val, \
                                          const void *row, const void *col, const void *b, R tol, void *rank, void *x, \
                                          void *p, void *min_norm) \
    { \
        struct cumu_sp from = {h, t, m, n, nnz, false, descr, val, row, col}; \
        return lsq(&from, b, (double)tol, rank, x, p, min_norm); \
    }
LSQ(S, S, float)
LSQ(D, D, double)
LSQ(C, C, float)
LSQ(Z, Z, double)

/* ---- the eigenvalue next to a shift ------------------------------------------------------------ */

/* Inverse iteration in complex numbers, one or two doubles each: x is normed, y = (A - shift)^-1 x, and the value is
 * shift + 1 / (x^H y). */
struct iterate {
    const struct cumu_sparse *of;
    size_t parts, n;
};
static double norm(const struct iterate *t, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < t->n * t->parts; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}
static double scale(const struct iterate *t, double *x)
{
    double size = norm(t, x);
    for (size_t i = 0; i < t->n * t->parts; i++)
        x[i] /= size;
    return size;
}
static void inner(const struct iterate *t, const double *x, const double *y, double out[2])
{
    out[0] = out[1] = 0;
    for (size_t i = 0; i < t->n * t->parts; i += t->parts) {
        out[0] += x[i] * y[i];
        if (t->parts == 2) {
            out[0] += x[i + 1] * y[i + 1];
            out[1] += x[i] * y[i + 1] - x[i + 1] * y[i];
        }
    }
}
/* ||Ax - value x|| */
static double off(const struct iterate *t, const struct cumu_csr *a, const double *x, const double value[2], double *y)
{
    t->of->multiply(a, x, y);
    for (size_t i = 0; i < t->n * t->parts; i += t->parts) {
        if (t->parts == 2) {
            y[i] -= value[0] * x[i] - value[1] * x[i + 1];
            y[i + 1] -= value[0] * x[i + 1] + value[1] * x[i];
        } else {
            y[i] -= value[0] * x[i];
        }
    }
    return norm(t, y);
}

/* Inverse iteration with a fixed shift: each step solves with the same factors, and the Rayleigh quotient gives the
 * eigenvalue. At a shift that is an eigenvalue the matrix is singular: a shift next to it converges as well. */
static int iterate(const struct iterate *t, const struct cumu_csr *a, const double shift[2], int most, double tol,
                   double *x, double value[2])
{
    struct cumu_csr moved = {0};
    struct cumu_factor *f = NULL;
    const double minus[2] = {-shift[0], -shift[1]};
    double *y = malloc((t->n * t->parts + 1) * sizeof *y);
    int r = y ? t->of->shifted(a, minus, &moved) : CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r)
        r = t->of->lu(&moved, 1, &f);
    if (!r && t->of->pivot(f, 0) >= 0) { /* the shift is an eigenvalue: next to it the solution is as good */
        double size = 1e-14 * (fabs(shift[0]) + fabs(shift[1]) + 1);
        const double nearby[2] = {minus[0] - size, minus[1]};
        t->of->release(f);
        f = NULL;
        cumu_csr_free(&moved);
        r = t->of->shifted(a, nearby, &moved);
        if (!r)
            r = t->of->lu(&moved, 1, &f);
    }
    value[0] = shift[0];
    value[1] = shift[1];
    if (!r)
        scale(t, x);
    for (int i = 0; !r && i < most && t->of->pivot(f, 0) < 0; i++) {
        double dot[2], along[2];
        r = t->of->solve(f, x, y, NULL);
        if (r)
            break;
        inner(t, x, y, dot);
        double square = dot[0] * dot[0] + dot[1] * dot[1];
        along[0] = dot[0] / square;
        along[1] = -dot[1] / square;
        memcpy(x, y, t->n * t->parts * sizeof *x);
        scale(t, x);
        value[0] = shift[0] + along[0];
        value[1] = shift[1] + along[1];
        if (off(t, a, x, value, y) <= tol)
            break;
    }
    t->of->release(f);
    cumu_csr_free(&moved);
    free(y);
    return r;
}

static int eigvsi(const struct cumu_sp *from, const double shift[2], const void *x0, int most, double tol, void *mu_out,
                  void *x)
{
    struct iterate t = {cumu_sp_of(from->type), cumu_sp_of(from->type)->size / sizeof(double), (size_t)from->n};
    struct cumu_csr a;
    double value[2];
    void *at = NULL;
    int base, r = cumu_sp_check(from, &base);
    if (!r && (!from->val || !x0 || !mu_out || !x || most < 0))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_sp_take(from, &a);
    if (r)
        return r;
    r = cumu_sp_numbers(from->h, from->type, from->device, x0, t.n, &at);
    if (!r)
        r = iterate(&t, &a, shift, most, tol, at, value);
    if (!r)
        r = cumu_sp_results(from->h, from->type, from->device, x, at, t.n);
    if (!r)
        r = cumu_sp_results(from->h, from->type, from->device, mu_out, value, 1);
    cumu_csr_free(&a);
    free(at);
    return r;
}
#define EIGVSI(X, t, T, R, name, on_device) \
    int wrap_cusolverSp##X##csreigvsi##name(void *h, int m, int nnz, void *descr, const void *val, const void *row, \
                                            const void *col, T mu0, const void *x0, int most, R tol, void *mu_out, \
                                            void *x) \
    { \
        struct cumu_sp from = {h, t, m, m, nnz, on_device, descr, val, row, col}; \
        return eigvsi(&from, cumu_sp_##X(mu0).at, x0, most, (double)tol, mu_out, x); \
    }
#define EIGVSIS(X, t, T, R) \
    EIGVSI(X, t, T, R, Host, false) \
    EIGVSI(X, t, T, R, , true)
EIGVSIS(S, S, float, float)
EIGVSIS(D, D, double, double)
EIGVSIS(C, C, struct cumu_f8, float)
EIGVSIS(Z, Z, struct cumu_f16, double)

/* ---- how many eigenvalues are in a box --------------------------------------------------------- */

/* As many as det(A - zI) turns about zero while z goes round the box once. */
static int angle(const struct cumu_csr *a, const double z[2], double *out)
{
    const struct cumu_sparse *of = &cumu_sparse_complex;
    const double minus[2] = {-z[0], -z[1]};
    struct cumu_csr moved;
    struct cumu_factor *f = NULL;
    int r = of->shifted(a, minus, &moved);
    if (!r)
        r = of->lu(&moved, 1, &f);
    if (!r && of->pivot(f, 0) >= 0) /* on the side itself */
        r = CUSOLVER_STATUS_EXECUTION_FAILED;
    if (!r)
        *out = of->argument(f);
    of->release(f);
    cumu_csr_free(&moved);
    return r;
}
static double turned(double from, double to) { return remainder(to - from, 2 * M_PI); }

static int along(const struct cumu_csr *a, const double p[2], double at_p, const double q[2], double at_q, int depth,
                 double *sum)
{
    const double middle[2] = {(p[0] + q[0]) / 2, (p[1] + q[1]) / 2};
    double at, few = M_PI / 4;
    int r = angle(a, middle, &at);
    if (r)
        return r;
    if (depth == 0 || (fabs(turned(at_p, at)) < few && fabs(turned(at, at_q)) < few)) {
        *sum += turned(at_p, at) + turned(at, at_q);
        return CUSOLVER_STATUS_SUCCESS;
    }
    r = along(a, p, at_p, middle, at, depth - 1, sum);
    return r ? r : along(a, middle, at, q, at_q, depth - 1, sum);
}

/* A side is cut into as many parts as there are eigenvalues, so that those farther off than its length turn by less
 * than one round together within each; nearer ones show as a step that is halved again. */
static int round_box(const struct cumu_csr *a, const double low[2], const double high[2], int *count)
{
    const double corner[5][2] = {
        {low[0], low[1]}, {high[0], low[1]}, {high[0], high[1]}, {low[0], high[1]}, {low[0], low[1]}};
    int parts = a->n < 16 ? 16 : a->n, r = CUSOLVER_STATUS_SUCCESS;
    double sum = 0, at_p, at_q, p[2], q[2] = {low[0], low[1]};
    r = angle(a, q, &at_q);
    for (int side = 0; side < 4; side++)
        for (int k = 1; !r && k <= parts; k++) {
            double t = (double)k / parts;
            memcpy(p, q, sizeof p);
            at_p = at_q;
            for (int i = 0; i < 2; i++)
                q[i] = k == parts ? corner[side + 1][i] : corner[side][i] + t * (corner[side + 1][i] - corner[side][i]);
            r = angle(a, q, &at_q);
            if (!r)
                r = along(a, p, at_p, q, at_q, 40, &sum);
        }
    if (!r)
        *count = (int)lround(sum / (2 * M_PI));
    return r;
}

static int eigs(const struct cumu_sp *from, const double low[2], const double high[2], int *count)
{
    struct cumu_csr a;
    int base, r = cumu_sp_check(from, &base);
    if (!r && (!from->val || !count || low[0] > high[0] || low[1] > high[1]))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = cumu_sp_take(from, &a);
    if (r)
        return r;
    if (cumu_sp_of(from->type) == &cumu_sparse_real) {
        size_t n = (size_t)a.row[a.m];
        double *wide = malloc((2 * n + 1) * sizeof *wide);
        for (size_t i = 0; wide && i < n; i++) {
            wide[2 * i] = ((double *)a.val)[i];
            wide[2 * i + 1] = 0;
        }
        free(a.val);
        a.val = wide;
    }
    r = a.val ? round_box(&a, low, high, count) : CUSOLVER_STATUS_ALLOC_FAILED;
    cumu_csr_free(&a);
    return r;
}
#define EIGS(X, t, T, COMPLEX) \
    int wrap_cusolverSp##X##csreigsHost(void *h, int m, int nnz, void *descr, const void *val, const void *row, \
                                        const void *col, T low, T high, void *count) \
    { \
        struct cumu_sp from = {h, t, m, m, nnz, false, descr, val, row, col}; \
        const struct cumu_f16 l = COMPLEX(low), u = COMPLEX(high); \
        return eigs(&from, l.at, u.at, count); \
    }
EIGS(S, S, struct cumu_f8, cumu_sp_C)
EIGS(D, D, struct cumu_f16, cumu_sp_Z)
EIGS(C, C, struct cumu_f8, cumu_sp_C)
EIGS(Z, Z, struct cumu_f16, cumu_sp_Z)
