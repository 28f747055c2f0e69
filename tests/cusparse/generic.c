/* cuSPARSE's generic products and solves against plain loops: formats, index types and bases, operations, orders,
 * leading dimensions, scalars on host and device, NaN behind a beta of zero. */
#include "sparse.h"

static int some_format(void) { return (int[]){CSR, CSC, COO}[upto(3)]; }

static void spmv(int type)
{
    int op = upto(3), rows = upto(30), cols = upto(30);
    struct sparse a = sparse(type, rows, cols, some_format(), upto(2), upto(2), 20, 0);
    int nx = op ? rows : cols, ny = op ? cols : rows;
    struct buffer x = buffer(type, (size_t)nx), y = buffer(type, (size_t)ny);
    num alpha = special(type), beta = special(type);
    if (beta == 0)
        poison(y);
    upload(x), upload(y);
    void *dx = dnvec(x, nx), *dy = dnvec(y, ny);
    size_t size = 0;
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    OK(((int (*)(void *, int, V, V, V, V, V, int, int, size_t *))symbol("cusparseSpMV_bufferSize"))(
        handle, op, pa, a.descr, dx, pb, dy, cuda_type[type], 0, &size));
    void *buf = device(NULL, size);
    OK(((int (*)(void *, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpMV"))(handle, op, pa, a.descr, dx, pb,
                                                                                       dy, cuda_type[type], 0, buf));
    for (int i = 0; i < ny; i++) {
        num sum = 0;
        for (int k = 0; k < nx; k++)
            sum += el_op(a, op, i, k) * x.ref[k];
        y.ref[i] = alpha * sum + (beta == 0 ? 0 : beta * y.ref[i]);
    }
    COMPARE(y, nx, "SpMV");
    /* vectors of other sizes are refused */
    if (nx != ny)
        IS(((int (*)(void *, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpMV"))(
               handle, op, pa, a.descr, dy, pb, dx, cuda_type[type], 0, buf),
           3);
    IS(((int (*)(void *, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpMV"))(handle, 7, pa, a.descr, dx, pb,
                                                                                       dy, cuda_type[type], 0, buf),
       3);
    drop_dnvec(dx), drop_dnvec(dy);
    drop_sparse(a), drop(x), drop(y), cudaFree(buf);
}

static void spmm(int type)
{
    int opa = upto(3), opb = upto(3), rows = upto(20), cols = upto(20), n = upto(9);
    struct sparse a = sparse(type, rows, cols, some_format(), upto(2), upto(2), 25, 0);
    int m = opa ? cols : rows, k = opa ? rows : cols;
    struct matrix b = opb ? matrix(type, n, k) : matrix(type, k, n), c = matrix(type, m, n);
    num alpha = special(type), beta = special(type);
    if (beta == 0)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                *at(c, i, j) = NAN;
    upload(b.b), upload(c.b);
    size_t size = 0;
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    OK(((int (*)(void *, int, int, V, V, V, V, V, int, int, size_t *))symbol("cusparseSpMM_bufferSize"))(
        handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, cuda_type[type], 0, &size));
    void *buf = device(NULL, size);
    OK(((int (*)(void *, int, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpMM_preprocess"))(
        handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, cuda_type[type], 0, buf));
    OK(((int (*)(void *, int, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpMM"))(
        handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, cuda_type[type], 0, buf));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            num sum = 0;
            for (int p = 0; p < k; p++)
                sum += el_op(a, opa, i, p) * at_op(b, opb, p, j);
            *at(c, i, j) = alpha * sum + (beta == 0 ? 0 : beta * *at(c, i, j));
        }
    COMPARE(c.b, k, "SpMM");
    drop_sparse(a), drop_matrix(b), drop_matrix(c), cudaFree(buf);
}

static void solve(int type, bool many)
{
    int op = upto(3), opb = many ? upto(3) : 0, m = 1 + upto(20), n = many ? upto(6) : 1;
    int upper = upto(2), unit = upto(2);
    struct sparse a = sparse(type, m, m, some_format(), upto(2), upto(2), 30, 1);
    OK(((int (*)(void *, int, void *, size_t))symbol("cusparseSpMatSetAttribute"))(a.descr, 0, &upper, 4));
    OK(((int (*)(void *, int, void *, size_t))symbol("cusparseSpMatSetAttribute"))(a.descr, 1, &unit, 4));
    struct matrix b = opb ? matrix(type, n, m) : matrix(type, m, n), c = matrix(type, m, n);
    num alpha = special(type);
    upload(b.b), upload(c.b);
    size_t size = 0;
    void *s = NULL, *x = many ? b.descr : dnvec(b.b, m), *y = many ? c.descr : dnvec(c.b, m), *buf;
    if (!many) { /* vectors are columns without gaps */
        b.order = c.order = COL;
        b.ld = c.ld = m;
        if (b.b.n < (size_t)m || c.b.n < (size_t)m)
            exit(1);
    }
    V pa = scalar(type, alpha);
    if (many) {
        OK(((int (*)(void **))symbol("cusparseSpSM_createDescr"))(&s));
        OK(((int (*)(void *, int, int, V, V, V, V, int, int, void *, size_t *))symbol("cusparseSpSM_bufferSize"))(
            handle, op, opb, pa, a.descr, x, y, cuda_type[type], 0, s, &size));
        buf = device(NULL, size);
        OK(((int (*)(void *, int, int, V, V, V, V, int, int, void *, void *))symbol("cusparseSpSM_analysis"))(
            handle, op, opb, pa, a.descr, x, y, cuda_type[type], 0, s, buf));
        if (upto(2)) { /* other values for the same structure */
            struct buffer twice = buffer(type, (size_t)a.nnz);
            for (int k = 0; k < a.nnz; k++)
                twice.ref[k] = a.dense[a.place[2 * k] * m + a.place[2 * k + 1]] *= 2;
            upload(twice);
            OK(((int (*)(void *, void *, void *, int))symbol("cusparseSpSM_updateMatrix"))(handle, s, twice.at, 0));
            drop(twice);
        }
        OK(((int (*)(void *, int, int, V, V, V, V, int, int, void *))symbol("cusparseSpSM_solve"))(
            handle, op, opb, pa, a.descr, x, y, cuda_type[type], 0, s));
        OK(((int (*)(void *))symbol("cusparseSpSM_destroyDescr"))(s));
    } else {
        OK(((int (*)(void **))symbol("cusparseSpSV_createDescr"))(&s));
        OK(((int (*)(void *, int, V, V, V, V, int, int, void *, size_t *))symbol("cusparseSpSV_bufferSize"))(
            handle, op, pa, a.descr, x, y, cuda_type[type], 0, s, &size));
        buf = device(NULL, size);
        OK(((int (*)(void *, int, V, V, V, V, int, int, void *, void *))symbol("cusparseSpSV_analysis"))(
            handle, op, pa, a.descr, x, y, cuda_type[type], 0, s, buf));
        OK(((int (*)(void *, int, V, V, V, V, int, int, void *))symbol("cusparseSpSV_solve"))(
            handle, op, pa, a.descr, x, y, cuda_type[type], 0, s));
        OK(((int (*)(void *))symbol("cusparseSpSV_destroyDescr"))(s));
    }
    /* what was found solves the system: op(triangle) * c = alpha * op(b) */
    struct matrix want = b;
    char *raw = malloc(c.b.n * 16);
    cudaMemcpy(raw, c.b.at, c.b.n * size_of(type), 2);
    unpack(type, raw, c.b.ref, c.b.n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            num sum = 0;
            for (int k = 0; k < m; k++) {
                int r = op ? k : i, q = op ? i : k;
                num v = r == q ? (unit ? 1 : a.dense[r * m + q]) : (upper ? q > r : q < r) ? a.dense[r * m + q] : 0;
                sum += conj_if(op == 2, v) * *at(c, k, j);
            }
            num right = alpha * at_op(want, opb, i, j);
            EXPECT(near(sum, right, type, 4 * m), "solve %c: %g%+gi, expected %g%+gi", letter_of[type], creal(sum),
                   cimag(sum), creal(right), cimag(right));
        }
    free(raw);
    if (!many)
        drop_dnvec(x), drop_dnvec(y);
    drop_sparse(a), drop_matrix(b), drop_matrix(c), cudaFree(buf);
}

static void sddmm(int type)
{
    int opa = upto(3), opb = upto(3), m = upto(12), n = upto(12), k = upto(12);
    struct sparse c = sparse(type, m, n, upto(2) ? CSR : CSC, upto(2), upto(2), 40, 0);
    struct matrix a = opa ? matrix(type, k, m) : matrix(type, m, k), b = opb ? matrix(type, n, k) : matrix(type, k, n);
    num alpha = special(type), beta = special(type);
    upload(a.b), upload(b.b);
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    OK(((int (*)(void *, int, int, V, V, V, V, V, int, int, void *))symbol("cusparseSDDMM"))(
        handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, cuda_type[type], 0, NULL));
    struct buffer got = buffer(type, (size_t)c.nnz);
    cudaMemcpy(got.at, c.val, (size_t)c.nnz * size_of(type), 3);
    for (int e = 0; e < c.nnz; e++) {
        int i = c.place[2 * e], j = c.place[2 * e + 1];
        num sum = 0;
        for (int p = 0; p < k; p++)
            sum += at_op(a, opa, i, p) * at_op(b, opb, p, j);
        got.ref[e] = alpha * sum + beta * c.dense[i * n + j];
    }
    if (c.nnz)
        COMPARE(got, k, "SDDMM");
    drop(got), drop_sparse(c), drop_matrix(a), drop_matrix(b);
}

/* A dense matrix to sparse and back. */
static void there_and_back(int type)
{
    int m = upto(12), n = upto(12), format = some_format(), wide = upto(2), it = wide ? I64 : I32;
    struct matrix a = matrix(type, m, n), b = matrix(type, m, n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            *at(a, i, j) = upto(3) ? 0 : *at(a, i, j);
    upload(a.b), upload(b.b);
    void *s = NULL, *ptr = device(NULL, (size_t)(m + n + m * n) * 8), *ind = device(NULL, (size_t)(m * n) * 8),
         *val = device(NULL, (size_t)(m * n) * 16);
    if (format == COO)
        OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int))symbol("cusparseCreateCoo"))(
            &s, m, n, 0, ptr, ind, val, it, 1, cuda_type[type]));
    else
        OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int, int))symbol(
            format == CSR ? "cusparseCreateCsr" : "cusparseCreateCsc"))(&s, m, n, 0, ptr, ind, val, it, it, 1,
                                                                        cuda_type[type]));
    OK(((int (*)(void *, V, V, int, void *))symbol("cusparseDenseToSparse_analysis"))(handle, a.descr, s, 0, ptr));
    OK(((int (*)(void *, V, V, int, void *))symbol("cusparseDenseToSparse_convert"))(handle, a.descr, s, 0, ptr));
    OK(((int (*)(void *, V, V, int, void *))symbol("cusparseSparseToDense"))(handle, s, b.descr, 0, ptr));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            *at(b, i, j) = *at(a, i, j);
    COMPARE(b.b, 0, "dense to sparse and back");
    OK(((int (*)(V))symbol("cusparseDestroySpMat"))(s));
    cudaFree(ptr), cudaFree(ind), cudaFree(val), drop_matrix(a), drop_matrix(b);
}

static void vectors(int type)
{
    int n = upto(30), nnz = 0, base = upto(2), wide = upto(2), ind[32];
    struct buffer x = buffer(type, (size_t)n), y = buffer(type, (size_t)n);
    for (int i = 0; i < n; i++)
        if (upto(3) == 0)
            ind[nnz++] = i + base;
    void *dind = index_array(ind, nnz, wide), *dx = NULL, *dy = dnvec(y, n);
    OK(((int (*)(void **, int64_t, int64_t, V, V, int, int, int))symbol("cusparseCreateSpVec"))(
        &dx, n, nnz, dind, x.at, wide ? I64 : I32, base, cuda_type[type]));
    num alpha = special(type), beta = special(type), sum = 0;
    upload(x), upload(y);
    OK(((int (*)(void *, V, V, V, V))symbol("cusparseAxpby"))(handle, scalar(type, alpha), dx, scalar(type, beta), dy));
    for (int i = 0; i < n; i++)
        y.ref[i] *= beta;
    for (int k = 0; k < nnz; k++)
        y.ref[ind[k] - base] += alpha * x.ref[k];
    if (n)
        COMPARE(y, 1, "Axpby");
    num sine = type < 2 ? 0.8 : 0.48 + 0.64 * I;
    OK(((int (*)(void *, V, V, V, V))symbol("cusparseRot"))(handle, scalar(type, 0.6), scalar(type, sine), dx, dy));
    for (int k = 0; k < nnz; k++) {
        num *yk = &y.ref[ind[k] - base], a = x.ref[k], b = *yk;
        x.ref[k] = 0.6 * a + sine * b;
        *yk = 0.6 * b - conj(sine) * a;
    }
    if (n)
        COMPARE(y, 2, "Rot");
    COMPARE(x, 2, "Rot");
    int op = upto(2) ? 2 : 0;
    struct buffer dot = buffer(type, 1);
    char host[16];
    OK(((int (*)(void *, int, V, V, void *, int, void *))symbol("cusparseSpVV"))(
        handle, op, dx, dy, on_device ? dot.at : host, cuda_type[type], NULL));
    if (!on_device)
        cudaMemcpy(dot.at, host, size_of(type), 1);
    for (int k = 0; k < nnz; k++)
        sum += conj_if(op == 2, x.ref[k]) * y.ref[ind[k] - base];
    dot.ref[0] = sum;
    COMPARE(dot, n, "SpVV");
    OK(((int (*)(void *, V, V))symbol("cusparseGather"))(handle, dy, dx));
    for (int k = 0; k < nnz; k++)
        x.ref[k] = y.ref[ind[k] - base];
    COMPARE(x, 2, "Gather");
    for (int k = 0; k < nnz; k++)
        x.ref[k] = value(type);
    upload(x);
    OK(((int (*)(void *, V, V))symbol("cusparseScatter"))(handle, dx, dy));
    for (int k = 0; k < nnz; k++)
        y.ref[ind[k] - base] = x.ref[k];
    if (n)
        COMPARE(y, 2, "Scatter");
    OK(((int (*)(V))symbol("cusparseDestroySpVec"))(dx));
    drop_dnvec(dy), drop(x), drop(y), drop(dot), cudaFree(dind);
}

/* f16 and bf16 with sums in f32: 1 + 2^-11 ten times is more than f16 would add up to. */
static void narrow(void)
{
    unsigned short h[11], b[11], ones[11], y16[2] = {0};
    int ptr[] = {0, 11}, ind[11];
    for (int i = 0; i < 11; i++) {
        h[i] = i ? 0x1000 : 0x3c00; /* 1, then 2^-11 */
        b[i] = i ? 0x3a00 : 0x3f80;
        ind[i] = i;
    }
    for (int t = 0; t < 2; t++) {
        int type = t ? 14 : 2;
        float one = 1, zero = 0, got = 0;
        for (int i = 0; i < 11; i++)
            ones[i] = t ? 0x3f80 : 0x3c00;
        void *p = device(ptr, sizeof ptr), *j = device(ind, sizeof ind), *v = device(t ? b : h, sizeof h),
             *x = device(ones, sizeof ones), *y = device(y16, 4), *m = NULL, *dx = NULL, *dy = NULL;
        OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int, int))symbol("cusparseCreateCsr"))(
            &m, 1, 11, 11, p, j, v, I32, I32, 0, type));
        OK(((int (*)(void **, int64_t, void *, int))symbol("cusparseCreateDnVec"))(&dx, 11, x, type));
        OK(((int (*)(void **, int64_t, void *, int))symbol("cusparseCreateDnVec"))(&dy, 1, y, 0));
        OK(((int (*)(void *, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpMV"))(handle, 0, &one, m, dx,
                                                                                           &zero, dy, 0, 0, NULL));
        cudaMemcpy(&got, y, 4, 2);
        EXPECT(got == 1 + 10 * 0x1p-11f, "SpMV of type %d: %.9g", type, got);
        /* types that do not go together */
        IS(((int (*)(void *, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpMV"))(handle, 0, &one, m, dx,
                                                                                           &zero, dy, 1, 0, NULL),
           10);
        OK(((int (*)(V))symbol("cusparseDestroySpMat"))(m));
        drop_dnvec(dx), drop_dnvec(dy);
        cudaFree(p), cudaFree(j), cudaFree(v), cudaFree(x), cudaFree(y);
    }
}

static void bad_input(void)
{
    void *m = NULL, *v = NULL;
    typedef int create(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int, int);
    create *csr = (create *)symbol("cusparseCreateCsr");
    IS(csr(NULL, 1, 1, 0, NULL, NULL, NULL, I32, I32, 0, 0), 3);
    IS(csr(&m, -1, 1, 0, NULL, NULL, NULL, I32, I32, 0, 0), 3);
    IS(csr(&m, 1, 1, 2, NULL, NULL, NULL, I32, I32, 0, 0), 3);
    IS(csr(&m, 1, 1, 0, NULL, NULL, NULL, 9, I32, 0, 0), 3);
    IS(csr(&m, 1, 1, 0, NULL, NULL, NULL, I32, I32, 2, 0), 3);
    IS(csr(&m, 1, 1, 0, NULL, NULL, NULL, I32, I32, 0, 99), 3);
    IS(((int (*)(void **, int64_t, int64_t, int64_t, void *, int, int))symbol("cusparseCreateDnMat"))(&v, 4, 4, 3, &m,
                                                                                                      0, COL),
       3);
    IS(((int (*)(void **, int64_t, int64_t, int64_t, void *, int, int))symbol("cusparseCreateDnMat"))(&v, 4, 4, 4, &m,
                                                                                                      0, 3),
       3);
    IS(((int (*)(void **, int64_t, void *, int))symbol("cusparseCreateDnVec"))(&v, -1, &m, 0), 3);
    IS(((int (*)(V))symbol("cusparseDestroyDnVec"))(NULL), 3);
    IS(((int (*)(void *, int))symbol("cusparseSetPointerMode"))(NULL, 0), 1);
    IS(((int (*)(void *, int))symbol("cusparseSetPointerMode"))(handle, 5), 3);
    IS(((int (*)(void *))symbol("cusparseDestroy"))(&m), 1);
}

int main(void)
{
    OK(begin());
    narrow();
    bad_input();
    for (int round = 0; round < 60; round++)
        for (int type = 0; type < 4; type++) {
            pointer_mode();
            spmv(type), spmm(type), solve(type, false), solve(type, true), sddmm(type);
            there_and_back(type), vectors(type);
        }
    OK(((int (*)(void *))symbol("cusparseDestroy"))(handle));
    IS(((int (*)(void *))symbol("cusparseDestroy"))(handle), 1);
    return check_end("cuSPARSE's generic interface");
}
