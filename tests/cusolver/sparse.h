/* What the tests of cuSOLVER's sparse functions share: random matrices, sparse as the library takes them and dense as
 * the reference has them. */
#ifndef CUMU_TESTS_SPARSE_H
#define CUMU_TESTS_SPARSE_H

#include "solver.h"

/* In rows, on the host and on the device, with its descriptor. */
struct sp {
    int type, m, n, nnz, base;
    int *row, *col;
    void *val, *descr;
    int *d_row, *d_col;
    void *d_val;
    struct mat dense;
};

static inline void *sparse_symbol(const char *name)
{
    static void *lib;
    lib = lib ? lib : dlopen("libcusparse.so.12", RTLD_NOW);
    void *f = lib ? dlsym(lib, name) : NULL;
    if (!EXPECT(f, "no %s", name)) {
        exit(1);
    }
    return f;
}
static inline void *on_the_device(const void *from, size_t bytes)
{
    void *to = memory(bytes + 8);
    cudaMemcpy(to, from, bytes, 1);
    return to;
}
static inline void *packed(int type, const num *from, int n)
{
    void *raw = malloc((size_t)n * 16 + 16);
    pack(type, (num *)from, raw, (size_t)n);
    return raw;
}

/* What is not zero in `a`, and explicit zeros here and there; some rows are not in order when `shuffled`. */
static inline struct sp sparse_of(int type, struct mat a, int base, bool shuffled)
{
    struct sp s = {.type = type, .m = a.m, .n = a.n, .base = base, .dense = a};
    num *val = malloc(sizeof(num) * ((size_t)a.m * (size_t)a.n + 1));
    s.row = malloc(((size_t)a.m + 1) * sizeof(int));
    s.col = malloc(((size_t)a.m * (size_t)a.n + 1) * sizeof(int));
    for (int i = 0; i < a.m; i++) {
        int first = s.nnz;
        s.row[i] = s.nnz + base;
        for (int j = 0; j < a.n; j++)
            if (E(a, i, j) != 0 || (shuffled && upto(40) == 0)) {
                s.col[s.nnz] = j + base;
                val[s.nnz++] = E(a, i, j);
            }
        if (shuffled && s.nnz > first + 1) {
            int c = s.col[first];
            num v = val[first];
            s.col[first] = s.col[s.nnz - 1], val[first] = val[s.nnz - 1];
            s.col[s.nnz - 1] = c, val[s.nnz - 1] = v;
        }
    }
    s.row[a.m] = s.nnz + base;
    s.val = packed(type, val, s.nnz);
    free(val);
    s.d_row = on_the_device(s.row, ((size_t)a.m + 1) * sizeof(int));
    s.d_col = on_the_device(s.col, (size_t)s.nnz * sizeof(int));
    s.d_val = on_the_device(s.val, (size_t)s.nnz * size_of(type));
    ((int (*)(void **))sparse_symbol("cusparseCreateMatDescr"))(&s.descr);
    ((int (*)(void *, int))sparse_symbol("cusparseSetMatIndexBase"))(s.descr, base);
    return s;
}
static inline void sparse_free(struct sp s)
{
    ((int (*)(void *))sparse_symbol("cusparseDestroyMatDescr"))(s.descr);
    cudaFree(s.d_row), cudaFree(s.d_col), cudaFree(s.d_val);
    free(s.row), free(s.col), free(s.val), free(s.dense.at);
}

/* About `each` elements a row beside a diagonal that some rows lack, so that pivots must be sought. */
static inline struct mat scattered(int type, int m, int n, int each, bool whole_diagonal)
{
    struct mat a = mat(m, n);
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < each; k++)
            E(a, i, upto(n)) = value(type);
        if (i < n && (whole_diagonal || i % 7))
            E(a, i, i) = 3 * each + value(type);
    }
    for (int i = 0; !whole_diagonal && i < n && i < m; i += 7) /* a cycle keeps it regular */
        E(a, i, (i + 7) < n && (i + 7) < m ? i + 7 : 0) += 4 * each;
    return a;
}
static inline struct mat scattered_positive(int type, int n, int each)
{
    struct mat a = mat(n, n);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < each; k++) {
            int j = upto(n);
            num v = value(type);
            if (j != i)
                E(a, i, j) = v, E(a, j, i) = conj(v);
        }
    }
    for (int i = 0; i < n; i++) {
        double sum = 1;
        for (int j = 0; j < n; j++)
            sum += i == j ? 0 : cabs(E(a, i, j));
        E(a, i, i) = sum;
    }
    return a;
}
/* The five-point star on a side x side grid, whose points are counted in a random order. */
static inline struct mat grid(int side)
{
    int n = side * side, *at = malloc(sizeof(int) * (size_t)n);
    struct mat a = mat(n, n);
    for (int i = 0; i < n; i++)
        at[i] = i;
    for (int i = n; i-- > 1;) {
        int j = upto(i + 1), swap = at[i];
        at[i] = at[j];
        at[j] = swap;
    }
    for (int i = 0; i < n; i++) {
        E(a, at[i], at[i]) = 4;
        if (i % side)
            E(a, at[i], at[i - 1]) = E(a, at[i - 1], at[i]) = -1;
        if (i >= side)
            E(a, at[i], at[i - side]) = E(a, at[i - side], at[i]) = -1;
    }
    free(at);
    return a;
}

static inline struct mat unpacked(int type, const void *raw, int n)
{
    struct mat x = mat(n, 1);
    unpack(type, raw, x.at, (size_t)n);
    return x;
}
static inline struct mat brought(int type, const void *at, int n)
{
    void *raw = malloc((size_t)n * 16 + 16);
    cudaMemcpy(raw, at, (size_t)n * size_of(type), 2);
    struct mat x = unpacked(type, raw, n);
    free(raw);
    return x;
}
static inline bool is_permutation(const int *p, int n)
{
    char *seen = calloc((size_t)n + 1, 1);
    bool good = true;
    for (int i = 0; i < n; i++) {
        good = good && p[i] >= 0 && p[i] < n && !seen[p[i]];
        if (p[i] >= 0 && p[i] < n)
            seen[p[i]] = 1;
    }
    free(seen);
    return good;
}
/* Whether SuiteSparse is here: without it most functions answer that they are not supported (9). */
static inline bool suitesparse(void)
{
    int row[] = {0, 1}, col[] = {0}, p[1];
    void *descr;
    ((int (*)())sparse_symbol("cusparseCreateMatDescr"))(&descr);
    return F("cusolverSpXcsrsymamdHost")(handle, 1, 1, descr, row, col, p) != 9;
}

#endif
