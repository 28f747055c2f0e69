/* cuSOLVER's sparse functions: solutions solve by plain products, orders keep factors small, what is
 * singular is told. */
#include "sparse.h"

typedef int lsv_f(void *, int, int, void *, const void *, const void *, const void *, const void *, float, int, void *,
                  int *);
typedef int lsv_d(void *, int, int, void *, const void *, const void *, const void *, const void *, double, int, void *,
                  int *);
static int lsv(const char *name, struct sp s, bool device, const void *b, double tol, int reorder, void *x, int *where)
{
    void *f = symbol("cusolverSp%ccsr%s", letter_of[s.type], name);
    const void *v = device ? s.d_val : s.val, *r = device ? s.d_row : s.row, *c = device ? s.d_col : s.col;
    if (s.type == 0 || s.type == 2)
        return ((lsv_f *)f)(handle, s.m, s.nnz, s.descr, v, r, c, b, (float)tol, reorder, x, where);
    return ((lsv_d *)f)(handle, s.m, s.nnz, s.descr, v, r, c, b, tol, reorder, x, where);
}

static void solutions(int type, int n)
{
    static const struct {
        const char *name;
        bool device, positive;
    } of[] = {{"lsvluHost", false, false},
              {"lsvqrHost", false, false},
              {"lsvqr", true, false},
              {"lsvcholHost", false, true},
              {"lsvchol", true, true}};
    for (int k = 0; k < 5; k++)
        for (int reorder = 0; reorder < 4; reorder++) {
            struct mat a = of[k].positive ? scattered_positive(type, n, 2) : scattered(type, n, n, 2, upto(2));
            struct sp s = sparse_of(type, a, upto(2), upto(2));
            struct mat x = random_mat(type, n, 1), b = product(OP_N, a, OP_N, x);
            void *right = packed(type, b.at, n), *left = calloc((size_t)n, 16);
            void *d_right = on_the_device(right, (size_t)n * size_of(type)), *d_left = memory((size_t)n * 16);
            int where = 5;
            IS(lsv(of[k].name, s, of[k].device, of[k].device ? d_right : right, 1e-6, reorder,
                   of[k].device ? d_left : left, &where),
               0);
            IS(where, -1);
            struct mat got = of[k].device ? brought(type, d_left, n) : unpacked(type, left, n);
            SMALL(distance(product(OP_N, a, OP_N, got), b), of[k].name);
            free(right), free(left), cudaFree(d_right), cudaFree(d_left);
            free(x.at), free(b.at), free(got.at);
            sparse_free(s);
        }
}

/* So large that QR orders columns itself: a grid, and least squares with three rows more for each column. */
static void large(int type, int side)
{
    int n = side * side, m = n + 300, where = 7, rank = 7, *p = malloc(sizeof(int) * (size_t)n);
    struct mat a = grid(side), x = random_mat(type, n, 1), b = product(OP_N, a, OP_N, x), tall = mat(m, n);
    struct sp s = sparse_of(type, a, 1, false);
    void *right = packed(type, b.at, n), *left = calloc((size_t)n, 16);
    IS(lsv("lsvqrHost", s, false, right, 1e-9, 0, left, &where), 0);
    IS(where, -1);
    SAME(unpacked(type, left, n), x, "lsvqr of a grid");
    for (int j = 0; j < n; j++) {
        E(tall, j, j) = 2;
        E(tall, (j * 7 + 1) % m, j) += value(type);
        E(tall, n + j % 300, j) = value(type);
        if (j == 77) /* depends on the one before */
            for (int i = 0; i < m; i++)
                E(tall, i, j) = 3 * E(tall, i, j - 1);
    }
    struct sp t = sparse_of(type, tall, 0, false);
    struct mat c = random_mat(type, m, 1);
    double norm = 0;
    free(right);
    right = packed(type, c.at, m);
    IS(((int (*)(void *, int, int, int, void *, void *, int *, int *, void *, double, int *, void *, int *,
                 double *))symbol("cusolverSp%ccsrlsqvqrHost", LETTER))(handle, m, n, t.nnz, t.descr, t.val, t.row,
                                                                        t.col, right, 1e-9, &rank, left, p, &norm),
       0);
    IS(rank, n - 1);
    EXPECT(is_permutation(p, n), "lsqvqr: no permutation");
    struct mat rest = product(OP_N, tall, OP_N, unpacked(type, left, n));
    for (int i = 0; i < m; i++)
        E(rest, i, 0) -= E(c, i, 0);
    struct mat none = product(OP_C, tall, OP_N, rest);
    SMALL(distance(none, mat(n, 1)), "lsqvqr of a large one");
    sparse_free(s), sparse_free(t);
    free(right), free(left), free(p);
}

/* A column of zeros; a minor that is not positive; an element under the tolerance. */
static void singular(int type)
{
    int n = 12, k = 4, where = 5;
    struct mat a = scattered(type, n, n, 2, true), p = scattered_positive(type, n, 2), t = identity(n, n);
    void *b = calloc((size_t)n, 16), *x = calloc((size_t)n, 16);
    for (int i = 0; i < n; i++)
        E(a, i, k) = 0;
    E(p, k, k) = -1;
    E(t, k, k) = 1e-3;
    struct sp s = sparse_of(type, a, 0, false), q = sparse_of(type, p, 1, false), u = sparse_of(type, t, 0, false);
    IS(lsv("lsvluHost", s, false, b, 1e-6, 0, x, &where), 0);
    IS(where, k);
    IS(lsv("lsvqrHost", s, false, b, 1e-6, 0, x, &where), 0);
    IS(where, k);
    IS(lsv("lsvcholHost", q, false, b, 1e-6, 0, x, &where), 0);
    IS(where, k);
    IS(lsv("lsvqrHost", u, false, b, 1e-2, 0, x, &where), 0);
    IS(where, k);
    IS(lsv("lsvqrHost", u, false, b, 1e-4, 0, x, &where), 0);
    IS(where, -1);
    sparse_free(s), sparse_free(q), sparse_free(u);
    free(b), free(x);
}

/* Least squares: the residual is orthogonal to all columns, and as long as told. */
static void least(int type, int m, int n, int deficient)
{
    struct mat a = scattered(type, m, n, 3, true), b = random_mat(type, m, 1);
    int rank = -1, *p = malloc(sizeof(int) * (size_t)n);
    double min_norm = 0, tol = 1e-4;
    for (int i = 0; i < m; i++) /* a multiple of another, nothing at all, and again a multiple */
        for (int k = 0; k < deficient; k++)
            E(a, i, n - 1 - 3 * k) = k == 1 ? 0 : 2 * E(a, i, k);
    struct sp s = sparse_of(type, a, upto(2), true);
    void *right = packed(type, b.at, m), *x = calloc((size_t)n, 16);
    void *f = symbol("cusolverSp%ccsrlsqvqrHost", LETTER);
    int r;
    if (type == 0 || type == 2) {
        float norm = 0;
        r = ((int (*)(void *, int, int, int, void *, void *, int *, int *, void *, float, int *, void *, int *,
                      float *))f)(handle, m, n, s.nnz, s.descr, s.val, s.row, s.col, right, (float)tol, &rank, x, p,
                                  &norm);
        min_norm = norm;
    } else {
        r = ((int (*)(void *, int, int, int, void *, void *, int *, int *, void *, double, int *, void *, int *,
                      double *))f)(handle, m, n, s.nnz, s.descr, s.val, s.row, s.col, right, tol, &rank, x, p,
                                   &min_norm);
    }
    IS(r, 0);
    IS(rank, n - deficient);
    EXPECT(is_permutation(p, n), "lsqvqr: no permutation");
    struct mat left = product(OP_N, a, OP_N, unpacked(type, x, n));
    double sum = 0;
    for (int i = 0; i < m; i++) {
        E(left, i, 0) -= E(b, i, 0);
        sum += cabs(E(left, i, 0)) * cabs(E(left, i, 0));
    }
    SMALL(fabs(sqrt(sum) - min_norm), "lsqvqr's norm");
    struct mat none = product(OP_C, a, OP_N, left);
    for (int j = 0; j < n; j++)
        SMALL(cabs(E(none, j, 0)) / 20, "lsqvqr");
    sparse_free(s);
    free(right), free(x), free(p);
}

/* ---- orders ------------------------------------------------------------------------------------ */

/* Elements of the factor of a symmetric pattern in an order, by elimination on the dense matrix. */
static int filled(struct mat a, const int *p)
{
    int n = a.n, count = 0;
    char *at = calloc((size_t)n * (size_t)n, 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            at[i * n + j] = E(a, p[i], p[j]) != 0;
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            if (at[i * n + k]) {
                count++;
                for (int j = k + 1; j < n; j++)
                    at[i * n + j] |= at[k * n + j];
            }
    free(at);
    return count;
}
static int band(struct mat a, const int *p)
{
    int most = 0;
    for (int i = 0; i < a.n; i++)
        for (int j = 0; j < i; j++)
            if (E(a, p[i], p[j]) != 0 && i - j > most)
                most = i - j;
    return most;
}
static void orders(int side, bool pieces)
{
    struct mat a = grid(side);
    int n = a.n, *p = malloc(sizeof(int) * (size_t)n), *plain = malloc(sizeof(int) * (size_t)n);
    for (int i = 0; i < n; i++)
        plain[i] = i;
    for (int i = 0; pieces && i < n; i++) /* what belongs to none, and a cut through the rest */
        for (int j = 0; j < n; j++)
            if (i != j && (i % 5 == 0 || j % 5 == 0))
                E(a, i, j) = 0;
    struct sp s = sparse_of(1, a, upto(2), false);
    int natural = filled(a, plain), found[3];
    IS(F("cusolverSpXcsrsymrcmHost")(handle, n, s.nnz, s.descr, s.row, s.col, p), 0);
    EXPECT(is_permutation(p, n), "symrcm: no permutation");
    EXPECT(band(a, p) <= 2 * side, "symrcm: the band of a grid of %d is %d wide", side, band(a, p));
    const char *name[] = {"symamd", "symmdq", "metisnd"};
    for (int k = 0; k < 3; k++) {
        void *f = symbol("cusolverSpXcsr%sHost", name[k]);
        int r = k == 2 ? ((int (*)())f)(handle, n, s.nnz, s.descr, s.row, s.col, NULL, p)
                       : ((int (*)())f)(handle, n, s.nnz, s.descr, s.row, s.col, p);
        IS(r, 0);
        EXPECT(is_permutation(p, n), "%s: no permutation", name[k]);
        found[k] = filled(a, p);
        EXPECT(pieces || found[k] * 2 < natural, "%s: %d elements, %d without", name[k], found[k], natural);
    }
    if (!pieces && side == 24) /* what the methods are known to reach on a grid: some 5000 to 8000 */
        EXPECT(found[0] < 6500 && found[2] < 8500, "a grid of 24: symamd %d, metisnd %d", found[0], found[2]);
    sparse_free(s);
    free(p), free(plain);
}

static void permuted(int m, int n)
{
    struct mat a = scattered(1, m, n, 3, false);
    struct sp s = sparse_of(1, a, upto(2), true);
    int *p = malloc(sizeof(int) * (size_t)m), *q = malloc(sizeof(int) * (size_t)n);
    int *map = malloc(sizeof(int) * (size_t)s.nnz), *row = malloc(sizeof(int) * (size_t)(m + 1));
    int *col = malloc(sizeof(int) * (size_t)s.nnz);
    size_t bytes = 0;
    for (int i = 0; i < m; i++)
        p[i] = (i * 5 + 2) % m; /* m is no multiple of 5 */
    for (int i = 0; i < n; i++)
        q[i] = n - 1 - i;
    for (int i = 0; i < s.nnz; i++)
        map[i] = i;
    memcpy(row, s.row, sizeof(int) * (size_t)(m + 1));
    memcpy(col, s.col, sizeof(int) * (size_t)s.nnz);
    IS(F("cusolverSpXcsrperm_bufferSizeHost")(handle, m, n, s.nnz, s.descr, row, col, p, q, &bytes), 0);
    void *work = malloc(bytes);
    IS(F("cusolverSpXcsrpermHost")(handle, m, n, s.nnz, s.descr, row, col, p, q, map, work), 0);
    struct mat b = mat(m, n), want = mat(m, n);
    for (int i = 0; i < m; i++)
        for (int k = row[i] - s.base; k < row[i + 1] - s.base; k++) {
            E(b, i, col[k] - s.base) += ((double *)s.val)[map[k]];
            EXPECT(k == row[i] - s.base || col[k - 1] < col[k], "csrperm: a row is not in order");
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            E(want, i, j) = E(a, p[i], q[j]);
    int type = 1;
    SAME(b, want, "csrperm");
    IS(F("cusolverSpXcsrpermHost")(handle, m, n, s.nnz, s.descr, row, col, p, q, map, NULL), INVALID);
    p[0] = p[1];
    IS(F("cusolverSpXcsrpermHost")(handle, m, n, s.nnz, s.descr, row, col, p, q, map, work), INVALID);
    sparse_free(s);
    free(p), free(q), free(map), free(row), free(col), free(work), free(b.at), free(want.at);
}

static void diagonals(int type, int n, int missing)
{
    struct mat a = scattered(type, n, n, 1, false);
    int *p = malloc(sizeof(int) * (size_t)n), found = -1;
    for (int i = 0; i < n; i++) { /* a hidden diagonal, and columns that have nothing */
        E(a, i, i) = 0;
        E(a, i, (i * 3 + 1) % n) = 2; /* n is no multiple of 3 */
    }
    for (int j = 0; j < missing; j++)
        for (int i = 0; i < n; i++)
            E(a, i, j) = 0;
    struct sp s = sparse_of(type, a, upto(2), true);
    IS(F("cusolverSp%ccsrzfdHost", LETTER)(handle, n, s.nnz, s.descr, s.val, s.row, s.col, p, &found), 0);
    EXPECT(is_permutation(p, n), "csrzfd: no permutation");
    IS(found, n - missing);
    int there = 0;
    for (int i = 0; i < n; i++)
        there += E(a, p[i], i) != 0;
    EXPECT(there >= found, "csrzfd: %d elements on the diagonal of %d", there, found);
    sparse_free(s);
    free(p);
}

static void symmetry(void)
{
    struct mat a = scattered_positive(1, 20, 2);
    struct sp s = sparse_of(1, a, 1, false);
    int is = 5;
    IS(F("cusolverSpXcsrissymHost")(handle, 20, s.nnz, s.descr, s.row, s.row + 1, s.col, &is), 0);
    IS(is, 1);
    struct mat b = copied(a);
    for (int j = 19, done = 0; j >= 0 && !done; j--)
        if (E(b, 0, j) == 0)
            E(b, 0, j) = 1, done = 1;
    struct sp t = sparse_of(1, b, 0, false);
    IS(F("cusolverSpXcsrissymHost")(handle, 20, t.nnz, t.descr, t.row, t.row + 1, t.col, &is), 0);
    IS(is, 0);
    sparse_free(s), sparse_free(t);
}

/* ---- eigenvalues ------------------------------------------------------------------------------- */

#define VSI(T, R) __typeof__(int(void *, int, int, void *, void *, void *, void *, T, void *, int, R, void *, void *))
static void nearest(int type, bool device)
{
    int n = 30;
    struct mat a = scattered_positive(type, n, 1), start = mat(n, 1);
    for (int i = 0; i < n; i++)
        E(a, i, i) += i, E(start, i, 0) = 1;
    struct sp s = sparse_of(type, a, upto(2), true);
    void *x0 = packed(type, start.at, n), *x = calloc((size_t)n, 16), *value = calloc(1, 16);
    if (device)
        x0 = on_the_device(x0, (size_t)n * size_of(type)), x = memory((size_t)n * 16), value = memory(16);
    void *f = symbol("cusolverSp%ccsreigvsi%s", LETTER, device ? "" : "Host");
    void *v = device ? s.d_val : s.val, *r = device ? s.d_row : s.row, *c = device ? s.d_col : s.col;
    int got, steps = 500;
    if (type == 0)
        got = ((VSI(float, float) *)f)(handle, n, s.nnz, s.descr, v, r, c, 12.25f, x0, steps, 1e-4f, value, x);
    else if (type == 1)
        got = ((VSI(double, double) *)f)(handle, n, s.nnz, s.descr, v, r, c, 12.25, x0, steps, 1e-11, value, x);
    else if (type == 2)
        got = ((VSI(float complex, float) *)f)(handle, n, s.nnz, s.descr, v, r, c, 12.25f, x0, steps, 1e-4f, value, x);
    else
        got = ((VSI(num, double) *)f)(handle, n, s.nnz, s.descr, v, r, c, 12.25, x0, steps, 1e-11, value, x);
    IS(got, 0);
    struct mat vector = device ? brought(type, x, n) : unpacked(type, x, n);
    num mu = (device ? brought(type, value, 1) : unpacked(type, value, 1)).at[0];
    struct mat left = product(OP_N, a, OP_N, vector);
    double size = 0, off = 0;
    for (int i = 0; i < n; i++) {
        size += cabs(E(vector, i, 0)) * cabs(E(vector, i, 0));
        off += cabs(E(left, i, 0) - mu * E(vector, i, 0));
    }
    SMALL(fabs(size - 1) / 10, "csreigvsi's norm");
    SMALL(off / n, "csreigvsi");
    sparse_free(s);
}

/* A triangle has its eigenvalues on the diagonal. */
static void counted(int type)
{
    int n = 25, count = -1, inside = 0;
    struct mat a = mat(n, n);
    for (int i = 0; i < n; i++) {
        E(a, i, i) = 5 * value(type);
        for (int j = i + 1; j < n; j += 4)
            E(a, i, j) = value(type) / 4;
        num z = E(a, i, i);
        inside += creal(z) > -2.03 && creal(z) < 3.01 && cimag(z) > -1.57 && cimag(z) < 4.1;
    }
    struct sp s = sparse_of(type, a, upto(2), true);
    void *f = symbol("cusolverSp%ccsreigsHost", LETTER);
    int r = type == 0 || type == 2
                ? ((int (*)(void *, int, int, void *, void *, void *, void *, float complex, float complex, int *))f)(
                      handle, n, s.nnz, s.descr, s.val, s.row, s.col, -2.03f - 1.57f * I, 3.01f + 4.1f * I, &count)
                : ((int (*)(void *, int, int, void *, void *, void *, void *, num, num, int *))f)(
                      handle, n, s.nnz, s.descr, s.val, s.row, s.col, -2.03 - 1.57 * I, 3.01 + 4.1 * I, &count);
    IS(r, 0);
    IS(count, inside);
    sparse_free(s);
}

static void bad_input(void)
{
    struct sp s = sparse_of(1, identity(3, 3), 0, false);
    double b[3] = {1, 2, 3}, x[3] = {0};
    int where = 7, p[3], kept = s.row[1];
    void *h = handle, *other = NULL;
    handle = NULL;
    IS(lsv("lsvqrHost", s, false, b, 0, 0, x, &where), NOT_INITIALIZED);
    handle = h;
    IS(lsv("lsvqrHost", s, false, b, 0, 4, x, &where), INVALID);
    IS(lsv("lsvqrHost", s, false, NULL, 0, 0, x, &where), INVALID);
    IS(lsv("lsvqrHost", s, false, b, 0, 0, x, NULL), INVALID);
    IS(F("cusolverSpXcsrsymrcmHost")(handle, 0, s.nnz, s.descr, s.row, s.col, p), INVALID);
    IS(F("cusolverSpXcsrsymrcmHost")(handle, 3, s.nnz, NULL, s.row, s.col, p), INVALID);
    IS(F("cusolverSpXcsrsymrcmHost")(handle, 3, s.nnz, s.descr, s.row, s.col, NULL), INVALID);
    s.row[1] = 9;
    IS(lsv("lsvqrHost", s, false, b, 0, 0, x, &where), INVALID);
    s.row[1] = kept;
    s.col[1] = 3;
    IS(lsv("lsvqrHost", s, false, b, 0, 0, x, &where), INVALID);
    s.col[1] = -1;
    IS(lsv("lsvqrHost", s, false, b, 0, 0, x, &where), INVALID);
    s.col[1] = 1;
    ((int (*)(void *, int))sparse_symbol("cusparseSetMatType"))(s.descr, 1);
    IS(lsv("lsvqrHost", s, false, b, 0, 0, x, &where), 8);
    ((int (*)(void *, int))sparse_symbol("cusparseSetMatType"))(s.descr, 0);
    IS(where, 7);
    IS(lsv("lsvqrHost", s, false, b, 0, 0, x, &where), 0);
    IS(x[2] == 3, 1);
    IS(F("cusolverSpSetStream")(NULL, NULL), NOT_INITIALIZED);
    IS(F("cusolverSpGetStream")(handle, &other), 0);
    IS(other == NULL, 1);
    IS(F("cusolverSpCreate")(NULL), INVALID);
    sparse_free(s);
}

int main(void)
{
    IS(F("cusolverSpCreate")(&handle), 0);
    if (!suitesparse()) {
        puts("skip cuSOLVER's sparse systems: no SuiteSparse (package libsuitesparse-dev)");
        return 0;
    }
    for (int type = 0; type < 4; type++) {
        static const int n[] = {1, 2, 3, 8, 23, 90};
        if (type % 2)
            large(type, 26);
        for (int i = 0; i < 6; i++)
            solutions(type, n[i]);
        singular(type);
        least(type, 30, 12, 0);
        least(type, 20, 20, 0);
        least(type, 40, 11, 1);
        least(type, 40, 12, 3);
        least(type, 15, 15, 2);
        diagonals(type, 40, 0);
        diagonals(type, 61, 4);
        nearest(type, false);
        nearest(type, true);
        counted(type);
    }
    orders(12, false);
    orders(24, false);
    orders(15, true);
    permuted(12, 12);
    permuted(33, 20);
    symmetry();
    bad_input();
    IS(F("cusolverSpDestroy")(handle), 0);
    return check_end("cuSOLVER's sparse systems, orders and eigenvalues");
}
