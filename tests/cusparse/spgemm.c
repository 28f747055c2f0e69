/* cuSPARSE's products of sparse matrices, in both of its ways, and what it tells of them, against plain loops. */
#include "sparse.h"

struct result {
    void *descr, *ptr, *ind, *val;
    int m, n, nnz;
};

static struct result empty(int type, int m, int n, int wide, int base)
{
    struct result c = {.m = m, .n = n, .ptr = device(NULL, (size_t)(m + 1) * 8)};
    int it = wide ? I64 : I32;
    OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int, int))symbol("cusparseCreateCsr"))(
        &c.descr, m, n, 0, NULL, NULL, NULL, it, it, base, cuda_type[type]));
    return c;
}
/* Arrays for as many elements as it has been told to have. */
static void give_arrays(struct result *c, int want)
{
    int64_t rows, cols, nnz = -1;
    OK(((int (*)(V, int64_t *, int64_t *, int64_t *))symbol("cusparseSpMatGetSize"))(c->descr, &rows, &cols, &nnz));
    IS((int)nnz, want);
    c->nnz = (int)nnz;
    c->ind = device(NULL, (size_t)(nnz + 1) * 8);
    c->val = device(NULL, (size_t)(nnz + 1) * 16);
    OK(((int (*)(void *, void *, void *, void *))symbol("cusparseCsrSetPointers"))(c->descr, c->ptr, c->ind, c->val));
}
static void compare_dense(struct result c, struct buffer full, int terms, const char *what)
{
    void *d = NULL, *buf = device(NULL, 64);
    OK(((int (*)(void **, int64_t, int64_t, int64_t, void *, int, int))symbol("cusparseCreateDnMat"))(
        &d, c.m, c.n, c.n ? c.n : 1, full.at, cuda_type[full.type], ROW));
    OK(((int (*)(void *, V, V, int, void *))symbol("cusparseSparseToDense"))(handle, c.descr, d, 0, buf));
    if (c.m && c.n)
        COMPARE(full, terms, what);
    OK(((int (*)(V))symbol("cusparseDestroyDnMat"))(d));
    cudaFree(buf);
}
static void drop_result(struct result c)
{
    OK(((int (*)(V))symbol("cusparseDestroySpMat"))(c.descr));
    cudaFree(c.ptr), cudaFree(c.ind), cudaFree(c.val);
}

/* full = alpha a b, and how many elements, and products of elements, that has. */
static int reference(struct sparse a, struct sparse b, num alpha, struct buffer full, int64_t *products)
{
    int hits = 0;
    *products = 0;
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < b.cols; j++) {
            num sum = 0;
            int hit = 0;
            for (int q = 0; q < a.cols; q++) {
                num x = a.dense[i * a.cols + q], y = b.dense[q * b.cols + j];
                sum += x * y;
                hit |= x != 0 && y != 0;
                *products += x != 0 && y != 0;
            }
            hits += hit;
            full.ref[i * b.cols + j] = alpha * sum;
        }
    return hits;
}

static void once(int type, int alg)
{
    int m = upto(12), k = upto(12), n = upto(12), wide = upto(2), base = upto(2), t = cuda_type[type];
    struct sparse a = sparse(type, m, k, CSR, wide, base, 30, 0), b = sparse(type, k, n, CSR, wide, upto(2), 30, 0);
    struct buffer full = buffer(type, (size_t)(m * n));
    struct result c = empty(type, m, n, wide, base);
    num alpha = special(type);
    V pa = scalar(type, alpha), pb = scalar(type, 0);
    int64_t products, told = -1;
    int want = reference(a, b, alpha, full, &products);
    void *p = NULL;
    typedef int step(void *, int, int, V, V, V, V, V, int, int, void *, size_t *, void *);
    step *estimate = (step *)symbol("cusparseSpGEMM_workEstimation");
    step *compute = (step *)symbol("cusparseSpGEMM_compute");
    size_t size1 = 0, size2 = 0, size3 = 0;
    OK(((int (*)(void **))symbol("cusparseSpGEMM_createDescr"))(&p));
    OK(estimate(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, alg, p, &size1, NULL));
    void *buf1 = device(NULL, size1);
    OK(estimate(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, alg, p, &size1, buf1));
    OK(((int (*)(void *, int64_t *))symbol("cusparseSpGEMM_getNumProducts"))(p, &told));
    IS(told == products, 1);
    if (alg >= 4) { /* less memory is asked for in a step more */
        typedef int memory(void *, int, int, V, V, V, V, V, int, int, void *, float, size_t *, void *, size_t *);
        memory *f = (memory *)symbol("cusparseSpGEMM_estimateMemory");
        OK(f(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, alg, p, 0.2f, &size3, NULL, NULL));
        void *buf3 = device(NULL, size3);
        OK(f(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, alg, p, 0.2f, &size3, buf3, &size2));
        IS(f(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, alg, p, 2, &size3, buf3, &size2), 3);
        cudaFree(buf3);
    } else {
        OK(compute(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, alg, p, &size2, NULL));
    }
    void *buf2 = device(NULL, size2);
    OK(compute(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, alg, p, &size2, buf2));
    give_arrays(&c, want);
    OK(((int (*)(void *, int, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpGEMM_copy"))(
        handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, alg, p));
    compare_dense(c, full, k, "SpGEMM");
    IS(compute(handle, 0, 0, NULL, a.descr, b.descr, pb, c.descr, t, alg, p, &size2, buf2), 3);
    IS(compute(handle, 0, 0, pa, a.descr, NULL, pb, c.descr, t, alg, p, &size2, buf2), 3);
    IS(compute(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, 77, p, &size2, buf2), 3);
    OK(((int (*)(void *))symbol("cusparseSpGEMM_destroyDescr"))(p));
    IS(((int (*)(void *))symbol("cusparseSpGEMM_destroyDescr"))(NULL), 3);
    cudaFree(buf1), cudaFree(buf2), drop_result(c), drop(full), drop_sparse(a), drop_sparse(b);
}

/* The structure once, the values as often as they change. */
static void again(int type)
{
    int m = 1 + upto(12), k = 1 + upto(12), n = 1 + upto(12), wide = upto(2), base = upto(2), t = cuda_type[type];
    struct sparse a = sparse(type, m, k, CSR, wide, base, 30, 0), b = sparse(type, k, n, CSR, wide, upto(2), 30, 0);
    struct buffer full = buffer(type, (size_t)(m * n)), was = buffer(type, (size_t)(m * n));
    struct result c = empty(type, m, n, wide, base);
    int64_t products;
    int want = reference(a, b, 1, was, &products);
    void *p = NULL;
    size_t s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0;
    OK(((int (*)(void **))symbol("cusparseSpGEMM_createDescr"))(&p));
    typedef int one(void *, int, int, V, V, void *, int, void *, size_t *, void *);
    typedef int three(void *, int, int, V, V, void *, int, void *, size_t *, void *, size_t *, void *, size_t *,
                      void *);
    one *estimate = (one *)symbol("cusparseSpGEMMreuse_workEstimation");
    one *copy = (one *)symbol("cusparseSpGEMMreuse_copy");
    three *count = (three *)symbol("cusparseSpGEMMreuse_nnz");
    OK(estimate(handle, 0, 0, a.descr, b.descr, c.descr, 0, p, &s1, NULL));
    void *b1 = device(NULL, s1);
    OK(estimate(handle, 0, 0, a.descr, b.descr, c.descr, 0, p, &s1, b1));
    OK(count(handle, 0, 0, a.descr, b.descr, c.descr, 0, p, &s2, NULL, &s3, NULL, &s4, NULL));
    void *b2 = device(NULL, s2), *b3 = device(NULL, s3), *b4 = device(NULL, s4);
    OK(count(handle, 0, 0, a.descr, b.descr, c.descr, 0, p, &s2, b2, &s3, b3, &s4, b4));
    cudaFree(b1), cudaFree(b2);
    give_arrays(&c, want);
    OK(copy(handle, 0, 0, a.descr, b.descr, c.descr, 0, p, &s5, NULL));
    void *b5 = device(NULL, s5);
    OK(copy(handle, 0, 0, a.descr, b.descr, c.descr, 0, p, &s5, b5));
    cudaFree(b3);
    for (int round = 0; round < 3; round++) {
        num alpha = special(type), beta = round ? special(type) : 0;
        struct buffer v = buffer(type, (size_t)a.nnz);
        for (int e = 0; e < a.nnz; e++) {
            v.ref[e] = v.ref[e] == 0 ? 1 : v.ref[e];
            a.dense[a.place[2 * e] * k + a.place[2 * e + 1]] = v.ref[e];
        }
        upload(v);
        cudaMemcpy(a.val, v.at, (size_t)a.nnz * size_of(type), 3);
        OK(((int (*)(void *, int, int, V, V, V, V, void *, int, int, void *))symbol("cusparseSpGEMMreuse_compute"))(
            handle, 0, 0, scalar(type, alpha), a.descr, b.descr, scalar(type, beta), c.descr, t, 0, p));
        reference(a, b, alpha, full, &products);
        for (int i = 0; i < m * n; i++) {
            full.ref[i] += round ? beta * was.ref[i] : 0;
            was.ref[i] = full.ref[i];
        }
        compare_dense(c, full, 3 * k, "SpGEMMreuse");
        drop(v);
    }
    OK(((int (*)(void *))symbol("cusparseSpGEMM_destroyDescr"))(p));
    cudaFree(b4), cudaFree(b5), drop_result(c), drop(full), drop(was), drop_sparse(a), drop_sparse(b);
}

/* A column times a row: more elements than indices of 32 bits can count. */
static void too_many(void)
{
    enum { N = 46341 }; /* its square is above 2^31 */
    int *ones = calloc(N + 1, sizeof *ones), *up = malloc((N + 1) * sizeof *up), ends[] = {0, N};
    for (int i = 0; i <= N; i++)
        up[i] = i;
    void *line = device(up, (N + 1) * 4), *zero = device(ones, N * 4), *end = device(ends, sizeof ends), *a = NULL,
         *b = NULL, *p = NULL, *val = device(NULL, N * 4);
    typedef int create(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int, int);
    create *csr = (create *)symbol("cusparseCreateCsr");
    OK(csr(&a, N, 1, N, line, zero, val, I32, I32, 0, 0));
    OK(csr(&b, 1, N, N, end, line, val, I32, I32, 0, 0));
    struct result c = empty(0, N, N, 0, 0);
    typedef int step(void *, int, int, V, V, V, V, V, int, int, void *, size_t *, void *);
    float one = 1, none = 0;
    size_t size = 0;
    ((int (*)(void *, int))symbol("cusparseSetPointerMode"))(handle, 0);
    OK(((int (*)(void **))symbol("cusparseSpGEMM_createDescr"))(&p));
    step *estimate = (step *)symbol("cusparseSpGEMM_workEstimation");
    step *compute = (step *)symbol("cusparseSpGEMM_compute");
    OK(estimate(handle, 0, 0, &one, a, b, &none, c.descr, 0, 0, p, &size, NULL));
    void *buf = device(NULL, size);
    OK(estimate(handle, 0, 0, &one, a, b, &none, c.descr, 0, 0, p, &size, buf));
    IS(compute(handle, 0, 0, &one, a, b, &none, c.descr, 0, 0, p, &size, val), 2); /* no memory could hold it */
    OK(((int (*)(void *))symbol("cusparseSpGEMM_destroyDescr"))(p));
    OK(((int (*)(V))symbol("cusparseDestroySpMat"))(a));
    OK(((int (*)(V))symbol("cusparseDestroySpMat"))(b));
    drop_result(c), free(ones), free(up), cudaFree(line), cudaFree(zero), cudaFree(end), cudaFree(val), cudaFree(buf);
}

int main(void)
{
    OK(begin());
    too_many();
    for (int round = 0; round < 40; round++)
        for (int type = 0; type < 4; type++) {
            pointer_mode();
            once(type, upto(6)), again(type);
        }
    OK(((int (*)(void *))symbol("cusparseDestroy"))(handle));
    return check_end("cuSPARSE's products of sparse matrices");
}
