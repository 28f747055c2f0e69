/* What only CUDA 11's cuSPARSE has, through its facade, against plain loops. */
#define TEST_LIBRARY "libcusparse.so.11"
#include "sparse.h"

static void *descr;

static void vectors(int type)
{
    int n = 1 + upto(30), nnz = 0, base = upto(2), ind[32];
    char c = letter_of[type];
    struct buffer x = buffer(type, (size_t)n), y = buffer(type, (size_t)n);
    for (int i = 0; i < n; i++)
        if (upto(3) == 0)
            ind[nnz++] = i + base;
    void *di = index_array(ind, nnz, 0);
    num alpha = special(type);
    upload(x), upload(y);
    OK(((int (*)(void *, int, V, V, V, V, int))symbol("cusparse%caxpyi", c))(handle, nnz, scalar(type, alpha), x.at, di,
                                                                             y.at, base));
    for (int k = 0; k < nnz; k++)
        y.ref[ind[k] - base] += alpha * x.ref[k];
    COMPARE(y, 1, "axpyi");
    OK(((int (*)(void *, int, V, V, V, int))symbol("cusparse%cgthr", c))(handle, nnz, y.at, x.at, di, base));
    for (int k = 0; k < nnz; k++)
        x.ref[k] = y.ref[ind[k] - base];
    COMPARE(x, 1, "gthr");
    OK(((int (*)(void *, int, V, V, V, int))symbol("cusparse%cgthrz", c))(handle, nnz, y.at, x.at, di, base));
    for (int k = 0; k < nnz; k++)
        y.ref[ind[k] - base] = 0;
    COMPARE(x, 1, "gthrz"), COMPARE(y, 1, "gthrz");
    OK(((int (*)(void *, int, V, V, V, int))symbol("cusparse%csctr", c))(handle, nnz, x.at, di, y.at, base));
    for (int k = 0; k < nnz; k++)
        y.ref[ind[k] - base] = x.ref[k];
    COMPARE(y, 1, "sctr");
    IS(((int (*)(void *, int, V, V, V, int))symbol("cusparse%csctr", c))(handle, -1, x.at, di, y.at, base), 3);
    cudaFree(di), drop(x), drop(y);
}

static void dense_forms(int type, int columns)
{
    int m = 1 + upto(10), n = 1 + upto(10), ld = m + upto(3), nnz = 0, lines = columns ? n : m;
    char c = letter_of[type];
    struct buffer a = buffer(type, (size_t)(ld * n)), b = buffer(type, (size_t)(ld * n));
    for (size_t i = 0; i < a.n; i++)
        if (upto(2))
            a.ref[i] = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            nnz += a.ref[j * ld + i] != 0;
            b.ref[j * ld + i] = a.ref[j * ld + i];
        }
    upload(a);
    void *ptr = device(NULL, (size_t)(lines + 1) * 4), *ind = device(NULL, (size_t)nnz * 4),
         *val = device(NULL, (size_t)nnz * 16), *counts = device(NULL, (size_t)lines * 4), *total = device(NULL, 4);
    int host;
    OK(((int (*)(void *, int, int, int, V, V, int, V, V))symbol("cusparse%cnnz", c))(
        handle, columns, m, n, descr, a.at, ld, counts, on_device ? total : &host));
    OK(((int (*)(void *, int, int, V, V, int, V, V, V, V))symbol("cusparse%cdense2%s", c, columns ? "csc" : "csr"))(
        handle, m, n, descr, a.at, ld, counts, val, columns ? ind : ptr, columns ? ptr : ind));
    IS(host_ints(ptr, lines + 1)[lines], nnz);
    struct buffer back = b;
    for (int j = 0; j < n; j++)
        for (int i = m; i < ld; i++)
            back.ref[j * ld + i] = 1; /* the gaps stay as they are */
    upload(back);
    OK(((int (*)(void *, int, int, V, V, V, V, V, int))symbol("cusparse%c%s2dense", c, columns ? "csc" : "csr"))(
        handle, m, n, descr, val, columns ? ind : ptr, columns ? ptr : ind, b.at, ld));
    COMPARE(b, 0, "dense form and back");
    cudaFree(ptr), cudaFree(ind), cudaFree(val), cudaFree(counts), cudaFree(total), drop(a), drop(b);
}

static void solves(int type, int many)
{
    int m = 1 + upto(15), n = many ? 1 + upto(5) : 1, op = upto(3), opb = many ? upto(3) : 0, upper = upto(2);
    int unit = upto(2), position = 0, ld = (opb ? n : m) + upto(3) * many;
    char c = letter_of[type];
    struct sparse a = sparse(type, m, m, CSR, 0, 0, 30, 1);
    struct buffer f = buffer(type, (size_t)(ld * (opb ? m : n))), x = buffer(type, (size_t)(ld * (opb ? m : n)));
    num alpha = special(type);
    void *info = NULL, *buf;
    V pa = scalar(type, alpha);
    upload(f), upload(x);
    OK(((int (*)(void *, int))symbol("cusparseSetMatFillMode"))(descr, upper));
    OK(((int (*)(void *, int))symbol("cusparseSetMatDiagType"))(descr, unit));
    if (many) {
        size_t size = 0;
        OK(((int (*)(void **))symbol("cusparseCreateCsrsm2Info"))(&info));
        OK(((int (*)(void *, int, int, int, int, int, int, V, V, V, V, V, V, int, void *, int, size_t *))symbol(
            "cusparse%ccsrsm2_bufferSizeExt", c))(handle, 0, op, opb, m, n, a.nnz, pa, descr, a.val, a.ptr, a.ind, x.at,
                                                  ld, info, 0, &size));
        buf = device(NULL, size);
        OK(((int (*)(void *, int, int, int, int, int, int, V, V, V, V, V, V, int, void *, int, void *))symbol(
            "cusparse%ccsrsm2_analysis", c))(handle, 0, op, opb, m, n, a.nnz, pa, descr, a.val, a.ptr, a.ind, x.at, ld,
                                             info, 0, buf));
        for (size_t i = 0; i < x.n; i++)
            f.ref[i] = x.ref[i];
        OK(((int (*)(void *, int, int, int, int, int, int, V, V, V, V, V, V, int, void *, int, void *))symbol(
            "cusparse%ccsrsm2_solve", c))(handle, 0, op, opb, m, n, a.nnz, pa, descr, a.val, a.ptr, a.ind, x.at, ld,
                                          info, 0, buf));
        OK(((int (*)(void *, void *, int *))symbol("cusparseXcsrsm2_zeroPivot"))(handle, info, &position));
        OK(((int (*)(void *))symbol("cusparseDestroyCsrsm2Info"))(info));
    } else {
        int size = 0;
        OK(((int (*)(void **))symbol("cusparseCreateCsrsv2Info"))(&info));
        OK(((int (*)(void *, int, int, int, V, V, V, V, void *, int *))symbol("cusparse%ccsrsv2_bufferSize", c))(
            handle, op, m, a.nnz, descr, a.val, a.ptr, a.ind, info, &size));
        buf = device(NULL, (size_t)size);
        OK(((int (*)(void *, int, int, int, V, V, V, V, void *, int, void *))symbol("cusparse%ccsrsv2_analysis", c))(
            handle, op, m, a.nnz, descr, a.val, a.ptr, a.ind, info, 1, buf));
        OK(((int (*)(void *, int, int, int, V, V, V, V, V, void *, V, V, int, void *))symbol(
            "cusparse%ccsrsv2_solve", c))(handle, op, m, a.nnz, pa, descr, a.val, a.ptr, a.ind, info, f.at, x.at, 1,
                                          buf));
        OK(((int (*)(void *, void *, int *))symbol("cusparseXcsrsv2_zeroPivot"))(handle, info, &position));
        OK(((int (*)(void *))symbol("cusparseDestroyCsrsv2Info"))(info));
    }
    IS(position, -1);
    char *raw = malloc(x.n * 16);
    cudaMemcpy(raw, x.at, x.n * size_of(type), 2);
    unpack(type, raw, x.ref, x.n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            num sum = 0;
            for (int k = 0; k < m; k++) {
                int r = op ? k : i, q = op ? i : k;
                num v = r == q ? (unit ? 1 : a.dense[r * m + q]) : (upper ? q > r : q < r) ? a.dense[r * m + q] : 0;
                sum += conj_if(op == 2, v) * conj_if(opb == 2, x.ref[opb ? k * ld + j : j * ld + k]);
            }
            num want = alpha * conj_if(opb == 2, f.ref[opb ? i * ld + j : j * ld + i]);
            EXPECT(near(sum, want, type, 4 * m), "csrs%c2 %c: %g%+gi, expected %g%+gi", many ? 'm' : 'v', c, creal(sum),
                   cimag(sum), creal(want), cimag(want));
        }
    OK(((int (*)(void *, int))symbol("cusparseSetMatFillMode"))(descr, 0));
    OK(((int (*)(void *, int))symbol("cusparseSetMatDiagType"))(descr, 0));
    free(raw), cudaFree(buf), drop_sparse(a), drop(f), drop(x);
}

static void gemm2(int type)
{
    int m = 1 + upto(10), n = 1 + upto(10), k = 1 + upto(10), host = -1, want = 0, add = upto(2);
    char c = letter_of[type];
    struct sparse a = sparse(type, m, k, CSR, 0, 0, 30, 0), b = sparse(type, k, n, CSR, 0, 0, 30, 0),
                  d = sparse(type, m, n, CSR, 0, 0, 20, 0);
    num alpha = special(type), beta = special(type);
    V pa = scalar(type, alpha), pb = add ? scalar(type, beta) : NULL;
    void *info = NULL, *ptr = device(NULL, (size_t)(m + 1) * 4), *total = device(NULL, 4);
    size_t size = 0;
    OK(((int (*)(void **))symbol("cusparseCreateCsrgemm2Info"))(&info));
    OK(((int (*)(void *, int, int, int, V, V, int, V, V, V, int, V, V, V, V, int, V, V, void *, size_t *))symbol(
        "cusparse%ccsrgemm2_bufferSizeExt", c))(handle, m, n, k, pa, descr, a.nnz, a.ptr, a.ind, descr, b.nnz, b.ptr,
                                                b.ind, pb, add ? descr : NULL, d.nnz, add ? d.ptr : NULL, d.ind, info,
                                                &size));
    OK(((int (*)(void *, int, int, int, V, int, V, V, V, int, V, V, V, int, V, V, V, V, V, V, V))symbol(
        "cusparseXcsrgemm2Nnz"))(handle, m, n, k, descr, a.nnz, a.ptr, a.ind, descr, b.nnz, b.ptr, b.ind,
                                 add ? descr : NULL, d.nnz, add ? d.ptr : NULL, d.ind, descr, ptr,
                                 on_device ? total : &host, info, total));
    if (on_device)
        cudaMemcpy(&host, total, 4, 2);
    struct buffer full = buffer(type, (size_t)(m * n));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            num sum = 0;
            int hit = add && d.dense[i * n + j] != 0;
            for (int q = 0; q < k; q++) {
                sum += a.dense[i * k + q] * b.dense[q * n + j];
                hit |= a.dense[i * k + q] != 0 && b.dense[q * n + j] != 0;
            }
            want += hit;
            full.ref[j * m + i] = alpha * sum + (add ? beta * d.dense[i * n + j] : 0);
        }
    IS(host, want);
    void *ind = device(NULL, (size_t)want * 4), *val = device(NULL, (size_t)want * 16);
    OK(((int (*)(void *, int, int, int, V, V, int, V, V, V, V, int, V, V, V, V, V, int, V, V, V, V, V, V, V, V,
                 V))symbol("cusparse%ccsrgemm2", c))(handle, m, n, k, pa, descr, a.nnz, a.val, a.ptr, a.ind, descr,
                                                     b.nnz, b.val, b.ptr, b.ind, pb, add ? descr : NULL, d.nnz, d.val,
                                                     add ? d.ptr : NULL, d.ind, descr, val, ptr, ind, info, total));
    OK(((int (*)(void *, int, int, V, V, V, V, V, int))symbol("cusparse%ccsr2dense", c))(handle, m, n, descr, val, ptr,
                                                                                         ind, full.at, m));
    if (want)
        COMPARE(full, k, "csrgemm2");
    OK(((int (*)(void *))symbol("cusparseDestroyCsrgemm2Info"))(info));
    cudaFree(ptr), cudaFree(total), cudaFree(ind), cudaFree(val);
    drop(full), drop_sparse(a), drop_sparse(b), drop_sparse(d);
}

/* A dense matrix with a sparse one by columns; a rotation of vectors; SpMV with every type said. */
static void products(int type)
{
    int m = 1 + upto(8), n = 1 + upto(8), k = 1 + upto(8), lda = m + upto(3), ldc = m + upto(3), base = upto(2);
    char c = letter_of[type];
    struct sparse b = sparse(type, k, n, CSC, 0, 0, 40, 0);
    struct buffer a = buffer(type, (size_t)(lda * k)), r = buffer(type, (size_t)(ldc * n));
    num alpha = special(type), beta = special(type);
    upload(a);
    typedef int gemmi(void *, int, int, int, int, V, V, int, V, V, V, V, V, int);
    gemmi *f = (gemmi *)symbol("cusparse%cgemmi", c);
    if (beta == 0)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                r.ref[j * ldc + i] = NAN;
    upload(r);
    OK(f(handle, m, n, k, b.nnz, scalar(type, alpha), a.at, lda, b.val, b.ptr, b.ind, scalar(type, beta), r.at, ldc));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            num sum = 0, *to = &r.ref[j * ldc + i];
            for (int p = 0; p < k; p++)
                sum += a.ref[p * lda + i] * b.dense[p * n + j];
            *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
        }
    COMPARE(r, k, "gemmi");
    IS(f(handle, m, n, k, b.nnz, scalar(type, alpha), a.at, m - 1, b.val, b.ptr, b.ind, scalar(type, beta), r.at, ldc),
       3);
    drop_sparse(b), drop(a), drop(r);

    b = sparse(type, m, n, CSR, 0, base, 40, 0);
    a = buffer(type, (size_t)n), r = buffer(type, (size_t)m);
    upload(a), upload(r);
    int t = cuda_type[type];
    size_t size = 0;
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    OK(((int (*)(void *, int))symbol("cusparseSetMatIndexBase"))(descr, base));
    typedef int ex(void *, int, int, int, int, int, V, int, V, V, int, V, V, V, int, V, int, V, int, int, V);
    OK(((ex *)symbol("cusparseCsrmvEx_bufferSize"))(handle, 0, 0, m, n, b.nnz, pa, t, descr, b.val, t, b.ptr, b.ind,
                                                    a.at, t, pb, t, r.at, t, t, &size));
    ex *csrmv = (ex *)symbol("cusparseCsrmvEx");
    OK(csrmv(handle, 0, 0, m, n, b.nnz, pa, t, descr, b.val, t, b.ptr, b.ind, a.at, t, pb, t, r.at, t, t, NULL));
    for (int i = 0; i < m; i++) {
        num sum = 0;
        for (int p = 0; p < n; p++)
            sum += b.dense[i * n + p] * a.ref[p];
        r.ref[i] = alpha * sum + (beta == 0 ? 0 : beta * r.ref[i]);
    }
    COMPARE(r, n, "csrmvEx");
    IS(csrmv(handle, 1, 0, m, n, b.nnz, pa, t, descr, b.val, t, b.ptr, b.ind, a.at, t, pb, t, r.at, t, t, NULL), 3);
    IS(csrmv(handle, 0, 1, m, n, b.nnz, pa, t, descr, b.val, t, b.ptr, b.ind, a.at, t, pb, t, r.at, t, t, NULL), 10);
    OK(((int (*)(void *, int))symbol("cusparseSetMatIndexBase"))(descr, 0));
    drop_sparse(b), drop(a), drop(r);
    if (type > 1)
        return;

    int ind[16], nnz = 0;
    struct buffer x = buffer(type, 16), y = buffer(type, 16);
    for (int i = 0; i < 16; i++)
        if (upto(2))
            ind[nnz++] = i + base;
    void *di = device(ind, (size_t)nnz * 4);
    upload(x), upload(y);
    OK(((int (*)(void *, int, V, V, V, V, V, int))symbol("cusparse%croti", c))(
        handle, nnz, x.at, di, y.at, scalar(type, 0.6), scalar(type, 0.8), base));
    for (int i = 0; i < nnz; i++) {
        num *yi = &y.ref[ind[i] - base], was = x.ref[i];
        x.ref[i] = 0.6 * was + 0.8 * *yi;
        *yi = 0.6 * *yi - 0.8 * was;
    }
    COMPARE(x, 2, "roti"), COMPARE(y, 2, "roti");
    cudaFree(di), drop(x), drop(y);
}

int main(void)
{
    OK(begin());
    OK(((int (*)(void **))symbol("cusparseCreateMatDescr"))(&descr));
    for (int round = 0; round < 40; round++)
        for (int type = 0; type < 4; type++) {
            pointer_mode();
            vectors(type), dense_forms(type, 0), dense_forms(type, 1), solves(type, 0), solves(type, 1), gemm2(type);
            products(type);
        }
    OK(((int (*)(void *))symbol("cusparseDestroyMatDescr"))(descr));
    OK(((int (*)(void *))symbol("cusparseDestroy"))(handle));
    return check_end("what CUDA 11's cuSPARSE has alone");
}
