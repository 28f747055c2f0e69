/* cuSOLVER's sparse functions that keep factors: QR, LU, Cholesky, batches, and refactorisation. */
#include "sparse.h"

static void *info_of(const char *kind)
{
    void *info = NULL;
    IS(F("cusolverSpCreateCsr%sInfo", kind)(&info), 0);
    return info;
}
static int zero_pivot(int type, const char *kind, void *info, double tol)
{
    int at = 7;
    void *f = symbol("cusolverSp%ccsr%sZeroPivot%s", LETTER, kind, kind[0] == 'l' ? "Host" : "");
    int r = type == 0 || type == 2 ? ((int (*)(void *, void *, float, int *))f)(handle, info, (float)tol, &at)
                                   : ((int (*)(void *, void *, double, int *))f)(handle, info, tol, &at);
    IS(r, 0);
    return at;
}
static void solved(struct mat a, int type, bool device, const void *x, struct mat b, const char *what)
{
    struct mat got = device ? brought(type, x, a.n) : unpacked(type, x, a.n);
    SMALL(distance(product(OP_N, a, OP_N, got), b), what);
}

static void kept(int type, int n, bool device)
{
    const char *host = device ? "" : "Host";
    struct mat q = scattered(type, n, n, 2, false), p = scattered_positive(type, n, 2);
    struct mat b = random_mat(type, n, 1);
    struct sp s = sparse_of(type, q, upto(2), true), t = sparse_of(type, p, upto(2), true);
    void *right = packed(type, b.at, n), *x = calloc((size_t)n, 16), *work;
    size_t internal = 0, size = 0;
    if (device)
        right = on_the_device(right, (size_t)n * size_of(type)), x = memory((size_t)n * 16);
#define OF(s) device ? s.d_val : s.val, device ? s.d_row : s.row, device ? s.d_col : s.col
    void *qr = info_of("qr"), *chol = info_of("chol");

    /* A - mu I for QR; mu by value, so by type. */
    IS(F("cusolverSpXcsrqrAnalysis%s", host)(handle, n, n, s.nnz, s.descr, device ? s.d_row : s.row,
                                             device ? s.d_col : s.col, qr),
       0);
    IS(F("cusolverSp%ccsrqrBufferInfo%s", LETTER, host)(handle, n, n, s.nnz, s.descr, OF(s), qr, &internal, &size), 0);
    work = device ? memory(size) : malloc(size);
    void *f = symbol("cusolverSp%ccsrqrSetup%s", LETTER, host);
    void *v = device ? s.d_val : s.val, *r = device ? s.d_row : s.row, *c = device ? s.d_col : s.col;
    double shift = upto(2) ? 0 : 0.25;
    IS(type == 0 ? ((int (*)(void *, int, int, int, void *, void *, void *, void *, float, void *))f)(
                       handle, n, n, s.nnz, s.descr, v, r, c, (float)shift, qr)
       : type == 1 ? ((int (*)(void *, int, int, int, void *, void *, void *, void *, double, void *))f)(
                         handle, n, n, s.nnz, s.descr, v, r, c, shift, qr)
       : type == 2 ? ((int (*)(void *, int, int, int, void *, void *, void *, void *, float complex, void *))f)(
                         handle, n, n, s.nnz, s.descr, v, r, c, (float)shift, qr)
                   : ((int (*)(void *, int, int, int, void *, void *, void *, void *, num, void *))f)(
                         handle, n, n, s.nnz, s.descr, v, r, c, shift, qr),
       0);
    struct mat moved = copied(q);
    for (int i = 0; i < n; i++)
        E(moved, i, i) -= shift;
    IS(F("cusolverSp%ccsrqrSolve%s", LETTER, host)(handle, n, n, right, x, qr, work), INVALID);
    IS(F("cusolverSp%ccsrqrFactor%s", LETTER, host)(handle, n, n, s.nnz, NULL, NULL, qr, work), 0);
    IS(zero_pivot(type, "qr", qr, 1e-6), -1);
    EXPECT(zero_pivot(type, "qr", qr, 1e6) == 0, "a pivot above a million");
    IS(F("cusolverSp%ccsrqrSolve%s", LETTER, host)(handle, n, n, right, x, qr, work), 0);
    solved(moved, type, device, x, b, "csrqr");
    IS(F("cusolverSp%ccsrqrFactor%s", LETTER, host)(handle, n, n, s.nnz, right, x, qr, work), 0);
    solved(moved, type, device, x, b, "csrqr at once");
    IS(F("cusolverSp%ccsrqrSolve%s", LETTER, host)(handle, n, n, right, x, qr, NULL), INVALID);
    IS(F("cusolverSp%ccsrqrSolve%s", LETTER, host)(handle, n + 1, n, right, x, qr, work), INVALID);

    IS(F("cusolverSpXcsrcholAnalysis%s", host)(handle, n, t.nnz, t.descr, device ? t.d_row : t.row,
                                               device ? t.d_col : t.col, chol),
       0);
    IS(F("cusolverSp%ccsrcholBufferInfo%s", LETTER, host)(handle, n, t.nnz, t.descr, OF(t), chol, &internal, &size), 0);
    IS(F("cusolverSp%ccsrcholFactor%s", LETTER, host)(handle, n, t.nnz, t.descr, OF(t), chol, work), 0);
    IS(zero_pivot(type, "chol", chol, 1e-6), -1);
    IS(F("cusolverSp%ccsrcholSolve%s", LETTER, host)(handle, n, right, x, chol, work), 0);
    solved(p, type, device, x, b, "csrchol");
    if (device) { /* the diagonal's squares multiply to the determinant: by elimination */
        void *d = memory((size_t)n * 8);
        double *got = calloc((size_t)n, sizeof *got), product = 0;
        struct mat e = copied(p);
        IS(F("cusolverSp%ccsrcholDiag", LETTER)(handle, chol, d), 0);
        reals(type, d, got, n);
        for (int k = 0; k < n; k++) {
            product += 2 * log(got[k]) - log(creal(E(e, k, k)));
            for (int i = k + 1; i < n; i++)
                for (int j = k + 1; j < n; j++)
                    E(e, i, j) -= E(e, i, k) * E(e, k, j) / E(e, k, k);
        }
        SMALL(fabs(product) / n, "csrcholDiag");
        cudaFree(d);
    }
    IS(F("cusolverSpDestroyCsrqrInfo%s", host)(qr), 0);
    IS(F("cusolverSpDestroyCsrcholInfo%s", host)(chol), 0);
    sparse_free(s), sparse_free(t);
}

/* P A Q^T = LU; what is extracted has the bases that were asked for. */
static struct mat extracted(const void *val, const int *row, const int *col, int type, int n, int base,
                            bool unit_diagonal)
{
    struct mat a = unit_diagonal ? identity(n, n) : mat(n, n);
    num *v = calloc((size_t)(row[n] - base) + 1, sizeof *v);
    unpack(type, val, v, (size_t)(row[n] - base));
    for (int i = 0; i < n; i++)
        for (int p = row[i] - base; p < row[i + 1] - base; p++)
            E(a, i, col[p] - base) = v[p];
    free(v);
    return a;
}
static void lu(int type, int n, double threshold)
{
    struct mat a = scattered(type, n, n, 2, false), b = random_mat(type, n, 1);
    struct sp s = sparse_of(type, a, upto(2), true), other = sparse_of(type, identity(2, 2), 1, false);
    void *right = packed(type, b.at, n), *x = calloc((size_t)n, 16), *info = NULL, *work;
    size_t internal = 0, size = 0;
    int nl = -1, nu = -1, *p = malloc(sizeof(int) * (size_t)n), *q = malloc(sizeof(int) * (size_t)n);
    IS(F("cusolverSpCreateCsrluInfoHost")(&info), 0);
    IS(F("cusolverSpXcsrluAnalysisHost")(handle, n, s.nnz, s.descr, s.row, s.col, info), 0);
    IS(F("cusolverSp%ccsrluBufferInfoHost", LETTER)(handle, n, s.nnz, s.descr, s.val, s.row, s.col, info, &internal,
                                                    &size),
       0);
    work = malloc(size);
    void *f = symbol("cusolverSp%ccsrluFactorHost", LETTER);
    IS(F("cusolverSpXcsrluNnzHost")(handle, &nl, &nu, info), INVALID);
    IS(type == 0 || type == 2 ? ((int (*)(void *, int, int, void *, void *, void *, void *, void *, float, void *))f)(
                                    handle, n, s.nnz, s.descr, s.val, s.row, s.col, info, (float)threshold, work)
                              : ((int (*)(void *, int, int, void *, void *, void *, void *, void *, double, void *))f)(
                                    handle, n, s.nnz, s.descr, s.val, s.row, s.col, info, threshold, work),
       0);
    IS(zero_pivot(type, "lu", info, 1e-9), -1);
    IS(F("cusolverSp%ccsrluSolveHost", LETTER)(handle, n, right, x, info, work), 0);
    solved(a, type, false, x, b, "csrlu");
    IS(F("cusolverSpXcsrluNnzHost")(handle, &nl, &nu, info), 0);
    void *vl = calloc((size_t)nl + 1, 16), *vu = calloc((size_t)nu + 1, 16);
    int *rl = calloc((size_t)n + 1, 4), *ru = calloc((size_t)n + 1, 4), *cl = calloc((size_t)nl + 1, 4);
    int *cu = calloc((size_t)nu + 1, 4);
    IS(F("cusolverSp%ccsrluExtractHost", LETTER)(handle, p, q, s.descr, vl, rl, cl, other.descr, vu, ru, cu, info,
                                                 work),
       0);
    EXPECT(is_permutation(p, n) && is_permutation(q, n), "csrlu: no permutations");
    IS(rl[n] - s.base, nl);
    IS(ru[n] - 1, nu);
    struct mat l = extracted(vl, rl, cl, type, n, s.base, true), u = extracted(vu, ru, cu, type, n, 1, false);
    struct mat want = mat(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            E(want, i, j) = E(a, p[i], q[j]);
            EXPECT((j >= i || E(u, i, j) == 0) && (j <= i || E(l, i, j) == 0), "csrlu: no triangles");
            EXPECT(threshold < 1 || cabs(E(l, i, j)) <= 1 + 1e-6, "csrlu: a factor above 1");
        }
    SAME(product(OP_N, l, OP_N, u), want, "csrluExtract");
    IS(F("cusolverSpDestroyCsrluInfoHost")(info), 0);
    sparse_free(s), sparse_free(other);
}

static void batches(int type)
{
    enum { BATCH = 5 };
    int m = 18, n = 14;
    struct mat pattern = scattered(type, m, n, 2, true), a[BATCH], b[BATCH];
    struct sp s = sparse_of(type, pattern, upto(2), false);
    size_t each = size_of(type), internal = 0, size = 0;
    char *val = malloc(BATCH * (size_t)s.nnz * each), *right = malloc(BATCH * (size_t)m * each);
    void *info = info_of("qr"), *d_val, *d_right, *x = memory(BATCH * (size_t)n * 16);
    for (int k = 0; k < BATCH; k++) {
        a[k] = mat(m, n);
        b[k] = random_mat(type, m, 1);
        num *numbers = malloc(sizeof(num) * (size_t)s.nnz);
        for (int i = 0, at = 0; i < m; i++)
            for (; at < s.row[i + 1] - s.base; at++)
                numbers[at] = E(a[k], i, s.col[at] - s.base) = E(pattern, i, s.col[at] - s.base) * (1 + unit() / 8);
        pack(type, numbers, val + (size_t)k * (size_t)s.nnz * each, (size_t)s.nnz);
        pack(type, b[k].at, right + (size_t)k * (size_t)m * each, (size_t)m);
    }
    d_val = on_the_device(val, BATCH * (size_t)s.nnz * each);
    d_right = on_the_device(right, BATCH * (size_t)m * each);
    IS(F("cusolverSpXcsrqrAnalysisBatched")(handle, m, n, s.nnz, s.descr, s.d_row, s.d_col, info), 0);
    IS(F("cusolverSp%ccsrqrBufferInfoBatched", LETTER)(handle, m, n, s.nnz, s.descr, d_val, s.d_row, s.d_col, BATCH,
                                                       info, &internal, &size),
       0);
    void *work = memory(size);
    IS(F("cusolverSp%ccsrqrsvBatched", LETTER)(handle, m, n, s.nnz, s.descr, d_val, s.d_row, s.d_col, d_right, x, BATCH,
                                               info, work),
       0);
    for (int k = 0; k < BATCH; k++) { /* least squares: what is left is orthogonal to the columns */
        struct mat left = product(OP_N, a[k], OP_N, brought(type, (char *)x + (size_t)k * (size_t)n * each, n));
        for (int i = 0; i < m; i++)
            E(left, i, 0) -= E(b[k], i, 0);
        struct mat none = product(OP_C, a[k], OP_N, left);
        for (int j = 0; j < n; j++)
            SMALL(cabs(E(none, j, 0)) / 20, "csrqrsvBatched");
    }
    IS(F("cusolverSp%ccsrqrsvBatched", LETTER)(handle, m, n, s.nnz, s.descr, d_val, s.d_row, s.d_col, d_right, x, 0,
                                               info, work),
       INVALID);
    IS(F("cusolverSpDestroyCsrqrInfo")(info), 0);
    sparse_free(s);
}

/* ---- refactorisation --------------------------------------------------------------------------- */

/* Factors of a matrix as cusolverRf takes them, by rows or by columns. */
struct input {
    int nnz, *row, *col;
    double *val;
};
static struct input input(struct mat a, bool by_columns, bool (*want)(int, int, num))
{
    struct input in = {0, calloc((size_t)a.n + 1, 4), malloc(4 * (size_t)(a.m * a.n)), malloc(8 * (size_t)(a.m * a.n))};
    for (int i = 0; i < a.n; i++) {
        for (int j = 0; j < a.n; j++) {
            int row = by_columns ? j : i, col = by_columns ? i : j;
            if (want(row, col, E(a, row, col))) {
                in.col[in.nnz] = j;
                in.val[in.nnz++] = creal(E(a, row, col));
            }
        }
        in.row[i + 1] = in.nnz;
    }
    return in;
}
static bool any(int i, int j, num v) { return (void)i, (void)j, v != 0; }
static bool lower(int i, int j, num v) { return i > j && v != 0; }
static bool lower_and_ones(int i, int j, num v) { return i == j || lower(i, j, v); }
static bool upper(int i, int j, num v) { return i == j || (i < j && v != 0); }

/* LU without pivots of A(p, q) on the dense matrix, in one. */
static struct mat eliminated(struct mat a, const int *p, const int *q)
{
    int n = a.n;
    struct mat m = mat(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            E(m, i, j) = E(a, p[i], q[j]);
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            if (E(m, i, k) != 0) {
                E(m, i, k) /= E(m, k, k);
                for (int j = k + 1; j < n; j++)
                    E(m, i, j) -= E(m, i, k) * E(m, k, j);
            }
    return m;
}
static void refactored(int n, bool by_columns, int unit_where, bool from_device)
{
    int type = 1, *p = malloc(sizeof(int) * (size_t)n), *q = malloc(sizeof(int) * (size_t)n), got[2] = {-1, -1};
    struct mat a = scattered(type, n, n, 2, true), second = copied(a);
    for (int i = 0; i < n; i++) { /* a symmetric order and one turn: the diagonal's blocks stay strong enough */
        p[i] = (i * 7 + 3) % n;   /* n is no multiple of 7 */
        q[i] = p[i];
    }
    for (int i = 0; i < n * n; i++)
        second.at[i] *= 1 + unit() / 8;
    struct mat f = eliminated(a, p, q);
    struct input in = input(a, by_columns, any), l = input(f, by_columns, unit_where == 0 ? lower_and_ones : lower);
    struct input u = input(f, by_columns, upper), next = {0};
    void *h = NULL, *dp = on_the_device(p, sizeof(int) * (size_t)n), *dq = on_the_device(q, sizeof(int) * (size_t)n);
    IS(F("cusolverRfCreate")(&h), 0);
    IS(F("cusolverRfSetMatrixFormat")(h, by_columns, unit_where), 0);
    IS(F("cusolverRfGetMatrixFormat")(h, &got[0], &got[1]), 0);
    IS(got[0] * 10 + got[1], by_columns * 10 + unit_where);
    IS(F("cusolverRfSetMatrixFormat")(h, 2, 0), INVALID);
    IS(F("cusolverRfSetAlgs")(h, 1, 2), 0);
    IS(F("cusolverRfGetAlgs")(h, &got[0], &got[1]), 0);
    IS(got[0] * 10 + got[1], 12);
    IS(F("cusolverRfSetAlgs")(h, 0, 0), INVALID);
    IS(F("cusolverRfSetResetValuesFastMode")(h, 1), 0);
    IS(F("cusolverRfGetResetValuesFastMode")(h, &got[0]), 0);
    IS(got[0], 1);
#define DEV(x, bytes) (from_device ? on_the_device(x, bytes) : (void *)(x))
    size_t rows = sizeof(int) * (size_t)(n + 1);
    IS(F(from_device ? "cusolverRfSetupDevice" : "cusolverRfSetupHost")(
           n, in.nnz, DEV(in.row, rows), DEV(in.col, 4 * (size_t)in.nnz), DEV(in.val, 8 * (size_t)in.nnz), l.nnz,
           DEV(l.row, rows), DEV(l.col, 4 * (size_t)l.nnz), DEV(l.val, 8 * (size_t)l.nnz), u.nnz, DEV(u.row, rows),
           DEV(u.col, 4 * (size_t)u.nnz), DEV(u.val, 8 * (size_t)u.nnz), from_device ? dp : p, from_device ? dq : q, h),
       0);
    IS(F("cusolverRfRefactor")(h), INVALID);
    IS(F("cusolverRfAnalyze")(h), 0);
    IS(F("cusolverRfRefactor")(h), 0);
    void *temp = memory(8 * (size_t)n * 2), *d_row = on_the_device(in.row, rows);
    void *d_col = on_the_device(in.col, 4 * (size_t)in.nnz);
    for (int round = 0; round < 2; round++) {
        struct mat now = round ? second : a, b = random_mat(type, n, 2);
        struct dev x = device(type, b);
        if (round) {
            /* Values of the second matrix in the places of the first: zeros do not come and go. */
            free(next.val);
            next = input(a, by_columns, any);
            for (int i = 0; i < n; i++)
                for (int k = next.row[i]; k < next.row[i + 1]; k++)
                    next.val[k] = creal(by_columns ? E(second, next.col[k], i) : E(second, i, next.col[k]));
            IS(F("cusolverRfResetValues")(n, in.nnz, d_row, d_col, on_the_device(next.val, 8 * (size_t)in.nnz), dp, dq,
                                          h),
               0);
            IS(F("cusolverRfResetValues")(n, in.nnz + 1, d_row, d_col, next.val, dp, dq, h), INVALID);
            IS(F("cusolverRfSolve")(h, dp, dq, 2, temp, n, x.at, x.ld), INVALID);
            IS(F("cusolverRfRefactor")(h), 0);
        }
        IS(F("cusolverRfSolve")(h, dp, dq, 2, temp, n, x.at, x.ld), 0);
        SMALL(distance(product(OP_N, now, OP_N, fetched(x)), b), "cusolverRf");
    }
    IS(F("cusolverRfSolve")(h, dp, dq, 2, temp, n - 1, temp, n), INVALID);

    /* What is shown of the factors multiplies to the matrix in its order. */
    struct input sl, su, m;
    IS(F("cusolverRfExtractSplitFactorsHost")(h, &sl.nnz, &sl.row, &sl.col, &sl.val, &su.nnz, &su.row, &su.col,
                                              &su.val),
       0);
    struct mat fl = extracted(sl.val, sl.row, sl.col, type, n, 0, unit_where == 2);
    struct mat fu = extracted(su.val, su.row, su.col, type, n, 0, unit_where == 3), want = mat(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            E(want, i, j) = E(second, p[i], q[j]);
    SAME(by_columns ? product(OP_T, fl, OP_T, fu) : product(OP_N, fl, OP_N, fu), want, "ExtractSplitFactors");
    for (int i = 0; i < n; i++)
        EXPECT(creal(E(unit_where % 2 ? fu : fl, i, i)) == 1, "the unit diagonal is the other's");
    IS(F("cusolverRfExtractBundledFactorsHost")(h, &m.nnz, &m.row, &m.col, &m.val), 0);
    void *device_row, *device_col, *device_val;
    int nnz = 0, *seen_row = malloc(rows), *seen_col = malloc(4 * (size_t)m.nnz);
    double *seen = malloc(8 * (size_t)m.nnz);
    IS(F("cusolverRfAccessBundledFactorsDevice")(h, &nnz, &device_row, &device_col, &device_val), 0);
    IS(nnz, m.nnz);
    cudaMemcpy(seen_row, device_row, rows, 2);
    cudaMemcpy(seen_col, device_col, 4 * (size_t)nnz, 2);
    cudaMemcpy(seen, device_val, 8 * (size_t)nnz, 2);
    IS(memcmp(seen_row, m.row, rows) || memcmp(seen_col, m.col, 4 * (size_t)nnz), 0);
    IS(memcmp(seen, m.val, 8 * (size_t)nnz), 0);
    struct mat bundled = extracted(m.val, m.row, m.col, type, n, 0, false);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j)
                EXPECT(E(bundled, i, j) == E(fl, i, j) + E(fu, i, j), "bundled factors are not the split ones");
    free(sl.row), free(sl.col), free(sl.val), free(su.row), free(su.col), free(su.val), free(m.row), free(m.col);
    free(m.val);
    IS(F("cusolverRfDestroy")(h), 0);
}

/* A pivot that is zero is told, and one below the bound is raised where that was asked for. */
static void pivots(void)
{
    int row[] = {0, 2, 4}, col[] = {0, 1, 0, 1}, lrow[] = {0, 0, 1}, lcol[] = {0}, urow[] = {0, 2, 3}, order[] = {0, 1};
    int ucol[] = {0, 1, 1}, report = 7;
    double a[] = {2, 4, 1, 2}, any[3] = {1, 1, 1}, zero = 7, boost = 7;
    void *h = NULL;
    IS(F("cusolverRfCreate")(&h), 0);
    IS(F("cusolverRfSetupHost")(2, 4, row, col, a, 1, lrow, lcol, any, 3, urow, ucol, any, order, order, h), 0);
    IS(F("cusolverRfAnalyze")(h), 0);
    IS(F("cusolverRfRefactor")(h), 10);
    IS(((int (*)(void *, double, double))symbol("cusolverRfSetNumericProperties"))(h, 1e-8, 1e-3), 0);
    IS(F("cusolverRfGetNumericProperties")(h, &zero, &boost), 0);
    IS(zero == 1e-8 && boost == 1e-3, 1);
    IS(F("cusolverRfRefactor")(h), 0);
    IS(F("cusolverRfGetNumericBoostReport")(h, &report), 0);
    IS(report, 1);
    lcol[0] = 5;
    IS(F("cusolverRfSetupHost")(2, 4, row, col, a, 1, lrow, lcol, any, 3, urow, ucol, any, order, order, h), INVALID);
    lcol[0] = 0;
    urow[1] = 1, urow[2] = 2, ucol[1] = 1; /* no place for the element at (0, 1) */
    IS(F("cusolverRfSetupHost")(2, 4, row, col, a, 1, lrow, lcol, any, 2, urow, ucol, any, order, order, h), 0);
    IS(F("cusolverRfAnalyze")(h), INVALID);
    IS(F("cusolverRfDestroy")(h), 0);
    IS(F("cusolverRfDestroy")(NULL), NOT_INITIALIZED);
    IS(F("cusolverRfRefactor")(NULL), NOT_INITIALIZED);
    IS(F("cusolverRfCreate")(NULL), INVALID);
}

static void batch_refactored(bool arrays_on_device)
{
    enum { BATCH = 4 };
    int n = 20, type = 1, order[20], at[BATCH] = {7, 7, 7, 7};
    struct mat a = scattered(type, n, n, 2, true), many[BATCH], b[BATCH];
    for (int i = 0; i < n; i++)
        order[i] = i;
    struct input in = input(a, false, any);
    struct mat f = eliminated(a, order, order);
    struct input l = input(f, false, lower), u = input(f, false, upper);
    double *host[BATCH], *values[BATCH], *x[BATCH];
    struct dev right[BATCH];
    for (int k = 0; k < BATCH; k++) {
        host[k] = malloc(8 * (size_t)in.nnz);
        many[k] = mat(n, n);
        for (int i = 0; i < n; i++)
            for (int p = in.row[i]; p < in.row[i + 1]; p++)
                E(many[k], i, in.col[p]) = host[k][p] = k == 2 && i == 0 ? 0 : in.val[p] * (1 + unit() / 8);
        values[k] = on_the_device(host[k], 8 * (size_t)in.nnz);
        b[k] = random_mat(type, n, 1);
        right[k] = device(type, b[k]);
        right[k].ld = n;
        put(right[k], b[k]);
        x[k] = right[k].at;
    }
    void *h = NULL, *d = on_the_device(order, sizeof order), *temp = memory(8 * 2 * (size_t)n * BATCH);
    void *d_row = on_the_device(in.row, 4 * (size_t)(n + 1)), *d_col = on_the_device(in.col, 4 * (size_t)in.nnz);
    void *array = arrays_on_device ? on_the_device(values, sizeof values) : (void *)values;
    void *solutions = arrays_on_device ? on_the_device(x, sizeof x) : (void *)x;
    IS(F("cusolverRfCreate")(&h), 0);
    IS(F("cusolverRfBatchSetupHost")(BATCH, n, in.nnz, in.row, in.col, host, l.nnz, l.row, l.col, l.val, u.nnz, u.row,
                                     u.col, u.val, order, order, h),
       0);
    IS(F("cusolverRfAnalyze")(h), INVALID);
    IS(F("cusolverRfBatchAnalyze")(h), 0);
    IS(F("cusolverRfBatchResetValues")(BATCH, n, in.nnz, d_row, d_col, array, d, d, h), 0);
    IS(F("cusolverRfBatchRefactor")(h), 0);
    IS(F("cusolverRfBatchZeroPivot")(h, at), 0);
    for (int k = 0; k < BATCH; k++)
        IS(at[k], k == 2 ? 0 : -1);
    IS(F("cusolverRfBatchSolve")(h, d, d, 1, temp, n, solutions, n), 0);
    for (int k = 0; k < BATCH; k++)
        if (k != 2)
            SMALL(distance(product(OP_N, many[k], OP_N, fetched(right[k])), b[k]), "cusolverRfBatchSolve");
    IS(F("cusolverRfBatchResetValues")(BATCH + 1, n, in.nnz, d_row, d_col, array, d, d, h), INVALID);
    IS(F("cusolverRfDestroy")(h), 0);
}

int main(void)
{
    IS(F("cusolverSpCreate")(&handle), 0);
    bool there = suitesparse();
    for (int type = 0; there && type < 4; type++) {
        for (int n = 1; n < 70; n = n * 2 + 3) {
            kept(type, n, false);
            kept(type, n, true);
            lu(type, n, 1);
            lu(type, n, 0.1);
        }
        batches(type);
    }
    for (int unit_where = 0; unit_where < 4; unit_where++)
        for (int k = 0; k < 4; k++)
            refactored(k < 2 ? 11 : 40, k % 2, unit_where, k == 1 || k == 2);
    pivots();
    batch_refactored(false);
    batch_refactored(true);
    IS(F("cusolverSpDestroy")(handle), 0);
    return check_end(there ? "cuSOLVER's sparse factors that are kept"
                           : "cuSOLVER's refactorisation; cusolverSp not, for there is no SuiteSparse");
}
