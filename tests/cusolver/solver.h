/* What the cuSOLVER tests share beside the buffers of cuBLAS's: matrices, plain products of them, and measures.
 * Functions are called without prototypes, so that one line serves four types: no float passes by value so. */
#ifndef CUMU_TESTS_SOLVER_H
#define CUMU_TESTS_SOLVER_H

#ifndef TEST_LIBRARY
#define TEST_LIBRARY "libcusolver.so.11"
#endif
#include "blas.h"

enum { LOWER, UPPER };
enum { OP_N, OP_T, OP_C };
enum { INVALID = 3, NOT_INITIALIZED = 1 };

#define F(...) ((int (*)())symbol(__VA_ARGS__))
#define LETTER letter_of[type]
static inline const char *sy(int type) { return type < 2 ? "sy" : "he"; }
static inline const char * or (int type) { return type < 2 ? "or" : "un"; }
static inline int cuda_type(int type) { return (int[]){0, 1, 4, 5}[type]; }

/* A matrix on the host, packed by columns; and one on the device, whose columns lie `ld` apart. */
struct mat {
    int m, n;
    num *at;
};
#define E(a, i, j) (a).at[(size_t)(i) + (size_t)(j) * (size_t)(a).m]
static struct mat mat(int m, int n)
{
    return (struct mat){m, n, calloc((size_t)(m > 0 && n > 0 ? m * n : 1), sizeof(num))};
}
static inline struct mat identity(int m, int n)
{
    struct mat a = mat(m, n);
    for (int i = 0; i < m && i < n; i++)
        E(a, i, i) = 1;
    return a;
}
static struct mat random_mat(int type, int m, int n)
{
    struct mat a = mat(m, n);
    for (int i = 0; i < m * n; i++)
        a.at[i] = value(type);
    return a;
}
static inline struct mat copied(struct mat a)
{
    struct mat b = mat(a.m, a.n);
    memcpy(b.at, a.at, sizeof(num) * (size_t)(a.m * a.n));
    return b;
}
static num entry(struct mat a, int op, int i, int j)
{
    return op == OP_N ? E(a, i, j) : op == OP_T ? E(a, j, i) : conj(E(a, j, i));
}
static struct mat product(int opa, struct mat a, int opb, struct mat b)
{
    int m = opa ? a.n : a.m, k = opa ? a.m : a.n, n = opb ? b.m : b.n;
    struct mat c = mat(m, n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < k; l++)
                E(c, i, j) += entry(a, opa, i, l) * entry(b, opb, l, j);
    return c;
}
/* A A^H with more on the diagonal: Hermitian and positive. */
static inline struct mat positive(int type, int n)
{
    struct mat a = random_mat(type, n, n), p = product(OP_N, a, OP_C, a);
    for (int i = 0; i < n; i++)
        E(p, i, i) = creal(E(p, i, i)) + 1;
    free(a.at);
    return p;
}
/* Symmetric, or Hermitian; neither positive nor negative. */
static inline struct mat symmetric(int type, int n, bool hermitian)
{
    struct mat a = random_mat(type, n, n);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            E(a, j, i) = hermitian ? conj(E(a, i, j)) : E(a, i, j);
        if (hermitian)
            E(a, i, i) = creal(E(a, i, i));
    }
    return a;
}

/* Onto the device; everything beside the matrix is `fence`, which must still be there afterwards. */
static const double fence = 77;
struct dev {
    int type, m, n, ld;
    void *at;
};
static void put(struct dev d, struct mat a)
{
    size_t n = (size_t)d.ld * (size_t)d.n;
    num *wide = malloc((n + 1) * sizeof *wide);
    void *raw = malloc((n + 1) * 16);
    for (size_t i = 0; i < n; i++)
        wide[i] = (int)(i % (size_t)d.ld) < a.m ? E(a, i % (size_t)d.ld, i / (size_t)d.ld) : fence;
    pack(d.type, wide, raw, n);
    cudaMemcpy(d.at, raw, n * size_of(d.type), 1);
    free(wide);
    free(raw);
}
static inline struct dev device(int type, struct mat a)
{
    struct dev d = {type, a.m, a.n, (a.m > 1 ? a.m : 1) + upto(3), NULL};
    if (cudaMalloc(&d.at, ((size_t)d.ld * (size_t)d.n + 4) * 16))
        exit(1);
    put(d, a);
    return d;
}
static struct mat fetch(struct dev d)
{
    size_t n = (size_t)d.ld * (size_t)d.n;
    num *wide = malloc((n + 1) * sizeof *wide);
    void *raw = malloc((n + 1) * 16);
    struct mat a = mat(d.m, d.n);
    cudaMemcpy(raw, d.at, n * size_of(d.type), 2);
    unpack(d.type, raw, wide, n);
    for (size_t i = 0; i < n; i++)
        if ((int)(i % (size_t)d.ld) < d.m)
            E(a, i % (size_t)d.ld, i / (size_t)d.ld) = wide[i];
        else if (!EXPECT(wide[i] == fence, "a write between the columns")) {
            break;
        }
    free(wide);
    free(raw);
    return a;
}
static inline struct mat fetched(struct dev d) /* the device's is given back */
{
    struct mat a = fetch(d);
    cudaFree(d.at);
    return a;
}
static void *memory(size_t bytes)
{
    void *p = NULL;
    if (cudaMalloc(&p, bytes + 64))
        exit(1);
    return p;
}
static inline int number(void *at)
{
    int n = -1;
    cudaMemcpy(&n, at, sizeof n, 2);
    return n;
}
static inline void reals(int type, const void *at, double *out, int n)
{
    for (int i = 0; i < n; i++) {
        float f;
        if (type == 0 || type == 2) {
            cudaMemcpy(&f, (const float *)at + i, sizeof f, 2);
            out[i] = f;
        } else {
            cudaMemcpy(&out[i], (const double *)at + i, sizeof *out, 2);
        }
    }
}

static double distance(struct mat a, struct mat b)
{
    double most = 0, size = 1;
    for (int i = 0; i < a.m * a.n; i++) {
        double d = cabs(a.at[i] - b.at[i]);
        most = !(d <= most) ? d : most;
        size = cabs(b.at[i]) > size ? cabs(b.at[i]) : size;
    }
    return most / size;
}
static double bound(int type) { return type == 0 || type == 2 ? 3e-4 : 1e-11; }
static void small(double error, int type, const char *what, int line)
{
    EXPECT(error <= bound(type), "%s %c (line %d): off by %g", what, LETTER, line, error);
}
#define SMALL(error, what) small(error, type, what, __LINE__)
#define SAME(a, b, what) SMALL(distance(a, b), what)
/* Q^H Q = I. */
static inline double not_orthogonal(struct mat q)
{
    struct mat p = product(OP_C, q, OP_N, q), one = identity(q.n, q.n);
    double d = distance(p, one);
    free(p.at);
    free(one.at);
    return d;
}
static inline struct mat triangle(struct mat a, bool upper, bool unit, int m, int n)
{
    struct mat t = mat(m, n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            if (i < a.m && j < a.n && (upper ? i <= j : i >= j))
                E(t, i, j) = unit && i == j ? 1 : E(a, i, j);
            else if (unit && i == j)
                E(t, i, j) = 1;
    return t;
}
enum { SIZES = 6 };
static const int sizes[SIZES] __attribute__((unused)) = {1, 2, 3, 8, 21, 40};

static inline int start(void)
{
    int r = F("cusolverDnCreate")(&handle);
    if (r == 1) {
        printf("skip: built without OpenBLAS\n");
        exit(77);
    }
    return r;
}
#endif
