/* cuSPARSE's legacy interface against plain loops: conversions, sorting, sums, factorisations, bands, blocks. */
#include "sparse.h"

static void *descr;
static int *ints(int n) { return malloc((size_t)(n + 1) * sizeof(int)); }
/* n numbers of the device. */
static num *values(const void *p, int type, int n)
{
    char *raw = malloc((size_t)(n + 1) * 16);
    num *v = malloc((size_t)(n + 1) * sizeof *v);
    cudaMemcpy(raw, p, (size_t)n * size_of(type), 2);
    unpack(type, raw, v, (size_t)n);
    free(raw);
    return v;
}
static void same(num got, num want, int type, double terms, const char *what, int line)
{
    EXPECT(near(got, want, type, terms), "%s %c (line %d): %g%+gi, expected %g%+gi", what, letter_of[type], line,
           creal(got), cimag(got), creal(want), cimag(want));
}
#define SAME(got, want, type, terms, what) same(got, want, type, terms, what, __LINE__)
static int count(int status, void *dev, const int *host) /* where pointer mode put it */
{
    OK(status);
    if (!on_device)
        return *host;
    int n;
    cudaMemcpy(&n, dev, sizeof n, 2);
    return n;
}
/* A matrix by rows on the device as a dense one. */
static num *to_dense(const void *ptr, const void *ind, const void *val, int type, int m, int n, int base)
{
    int *p = host_ints(ptr, m + 1), nnz = p[m] - base, *j = host_ints(ind, nnz);
    num *v = values(val, type, nnz), *d = calloc((size_t)(m * n + 1), sizeof *d);
    for (int i = 0; i < m; i++)
        for (int k = p[i] - base; k < p[i + 1] - base; k++)
            d[i * n + j[k] - base] += v[k];
    free(p), free(j), free(v);
    return d;
}

static void indices(int type)
{
    int m = 1 + upto(12), n = 1 + upto(12), base = upto(2);
    struct sparse a = sparse(type, m, n, CSR, 0, base, 30, 0);
    void *rows = device(NULL, (size_t)a.nnz * 4), *ptr = device(NULL, (size_t)(m + 1) * 4);
    OK(((int (*)(void *, V, int, int, V, int))symbol("cusparseXcsr2coo"))(handle, a.ptr, a.nnz, m, rows, base));
    OK(((int (*)(void *, V, int, int, V, int))symbol("cusparseXcoo2csr"))(handle, rows, a.nnz, m, ptr, base));
    int *r = host_ints(rows, a.nnz), *p = host_ints(ptr, m + 1), *q = host_ints(a.ptr, m + 1);
    for (int k = 0; k < a.nnz; k++)
        IS(r[k], a.place[2 * k] + base);
    for (int i = 0; i <= m; i++)
        IS(p[i], q[i]);
    /* the transpose by way of csc */
    void *cptr = device(NULL, (size_t)(n + 1) * 4), *cind = device(NULL, (size_t)a.nnz * 4),
         *cval = device(NULL, (size_t)a.nnz * 16);
    size_t size = 0;
    OK(((int (*)(void *, int, int, int, V, V, V, V, V, V, int, int, int, int, size_t *))symbol(
        "cusparseCsr2cscEx2_bufferSize"))(handle, m, n, a.nnz, a.val, a.ptr, a.ind, cval, cptr, cind, cuda_type[type],
                                          1, base, 1, &size));
    OK(((int (*)(void *, int, int, int, V, V, V, V, V, V, int, int, int, int, void *))symbol("cusparseCsr2cscEx2"))(
        handle, m, n, a.nnz, a.val, a.ptr, a.ind, cval, cptr, cind, cuda_type[type], 1, base, 1, ptr));
    num *t = to_dense(cptr, cind, cval, type, n, m, base);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            SAME(t[j * m + i], a.dense[i * n + j], type, 0, "csr2csc");
    /* pairs in disorder, sorted by column, with the way there */
    int *x = ints(a.nnz), *y = ints(a.nnz);
    for (int k = 0; k < a.nnz; k++) {
        x[k] = upto(5);
        y[k] = upto(5);
    }
    void *dx = device(x, (size_t)a.nnz * 4), *dy = device(y, (size_t)a.nnz * 4),
         *perm = device(NULL, (size_t)a.nnz * 4);
    OK(((int (*)(void *, int, V))symbol("cusparseCreateIdentityPermutation"))(handle, a.nnz, perm));
    OK(((int (*)(void *, int, int, int, V, V, size_t *))symbol("cusparseXcoosort_bufferSizeExt"))(handle, 5, 5, a.nnz,
                                                                                                  dx, dy, &size));
    OK(((int (*)(void *, int, int, int, V, V, V, V))symbol("cusparseXcoosortByColumn"))(handle, 5, 5, a.nnz, dx, dy,
                                                                                        perm, ptr));
    int *sx = host_ints(dx, a.nnz), *sy = host_ints(dy, a.nnz), *sp = host_ints(perm, a.nnz);
    for (int k = 0; k < a.nnz; k++) {
        IS(sx[k], x[sp[k]]);
        IS(sy[k], y[sp[k]]);
        IS(k == 0 || sy[k - 1] < sy[k] || (sy[k - 1] == sy[k] && sx[k - 1] <= sx[k]), 1);
    }
    free(r), free(p), free(q), free(t), free(x), free(y), free(sx), free(sy), free(sp);
    cudaFree(rows), cudaFree(ptr), cudaFree(cptr), cudaFree(cind), cudaFree(cval), cudaFree(dx), cudaFree(dy);
    cudaFree(perm);
    drop_sparse(a);
}

static void geam(int type)
{
    int m = 1 + upto(10), n = 1 + upto(10);
    struct sparse a = sparse(type, m, n, CSR, 0, 0, 30, 0), b = sparse(type, m, n, CSR, 0, 0, 30, 0);
    num alpha = special(type), beta = special(type);
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    char c = letter_of[type];
    void *ptr = device(NULL, (size_t)(m + 1) * 4), *ind = device(NULL, (size_t)(m * n) * 4),
         *val = device(NULL, (size_t)(m * n) * 16), *total = device(NULL, 4);
    size_t size = 0;
    int host = -1, want = 0;
    OK(((int (*)(void *, int, int, V, V, int, V, V, V, V, V, int, V, V, V, V, V, V, V, size_t *))symbol(
        "cusparse%ccsrgeam2_bufferSizeExt", c))(handle, m, n, pa, descr, a.nnz, a.val, a.ptr, a.ind, pb, descr, b.nnz,
                                                b.val, b.ptr, b.ind, descr, val, ptr, ind, &size));
    int got = count(((int (*)(void *, int, int, V, int, V, V, V, int, V, V, V, V, V, V))symbol("cusparseXcsrgeam2Nnz"))(
                        handle, m, n, descr, a.nnz, a.ptr, a.ind, descr, b.nnz, b.ptr, b.ind, descr, ptr,
                        on_device ? total : &host, total),
                    total, &host);
    for (int i = 0; i < m * n; i++)
        want += a.dense[i] != 0 || b.dense[i] != 0;
    IS(got, want);
    OK(((int (*)(void *, int, int, V, V, int, V, V, V, V, V, int, V, V, V, V, V, V, V, V))symbol(
        "cusparse%ccsrgeam2", c))(handle, m, n, pa, descr, a.nnz, a.val, a.ptr, a.ind, pb, descr, b.nnz, b.val, b.ptr,
                                  b.ind, descr, val, ptr, ind, total));
    num *d = to_dense(ptr, ind, val, type, m, n, 0);
    for (int i = 0; i < m * n; i++)
        SAME(d[i], alpha * a.dense[i] + beta * b.dense[i], type, 2, "csrgeam2");
    free(d);
    cudaFree(ptr), cudaFree(ind), cudaFree(val), cudaFree(total), drop_sparse(a), drop_sparse(b);
}

/* Incomplete factors reproduce the matrix where it has elements. */
static void factor(int type, bool cholesky)
{
    int m = 1 + upto(12), base = upto(2), position = 0;
    struct sparse a = sparse(type, m, m, CSR, 0, base, cholesky ? 0 : 30, 1);
    char c = letter_of[type];
    void *info = NULL;
    const char *name = cholesky ? "csric02" : "csrilu02";
    OK(((int (*)(void *, int))symbol("cusparseSetMatIndexBase"))(descr, base));
    if (cholesky) { /* tridiagonal and Hermitian */
        drop_sparse(a);
        a = sparse(type, m, m, CSR, 0, base, 100, 1);
        num *v = malloc((size_t)a.nnz * sizeof *v);
        for (int k = 0; k < a.nnz; k++) {
            int i = a.place[2 * k], j = a.place[2 * k + 1];
            num w = i == j ? m + 1 : i > j ? a.dense[i * m + j] : conj(a.dense[j * m + i]);
            v[k] = w;
        }
        for (int k = 0; k < a.nnz; k++)
            a.dense[a.place[2 * k] * m + a.place[2 * k + 1]] = v[k];
        char *raw = malloc((size_t)a.nnz * 16);
        pack(type, v, raw, (size_t)a.nnz);
        cudaMemcpy(a.val, raw, (size_t)a.nnz * size_of(type), 1);
        free(raw), free(v);
    }
    OK(((int (*)(void **))symbol("cusparseCreate%sInfo", cholesky ? "Csric02" : "Csrilu02"))(&info));
    OK(((int (*)(void *, int, int, V, V, V, V, void *, int *))symbol("cusparse%c%s_bufferSize", c, name))(
        handle, m, a.nnz, descr, a.val, a.ptr, a.ind, info, &position));
    void *buf = device(NULL, (size_t)position);
    OK(((int (*)(void *, int, int, V, V, V, V, void *, int, void *))symbol("cusparse%c%s_analysis", c, name))(
        handle, m, a.nnz, descr, a.val, a.ptr, a.ind, info, 1, buf));
    OK(((int (*)(void *, int, int, V, V, V, V, void *, int, void *))symbol("cusparse%c%s", c, name))(
        handle, m, a.nnz, descr, a.val, a.ptr, a.ind, info, 0, buf));
    OK(((int (*)(void *, void *, int *))symbol("cusparseX%s_zeroPivot", name))(handle, info, &position));
    IS(position, -1);
    num *f = to_dense(a.ptr, a.ind, a.val, type, m, m, base);
    for (int k = 0; k < a.nnz; k++) {
        int i = a.place[2 * k], j = a.place[2 * k + 1];
        num sum = 0;
        if (cholesky && j > i)
            continue;
        for (int p = 0; p <= (i < j ? i : j); p++)
            sum += cholesky ? f[i * m + p] * conj(f[j * m + p]) : (p == i ? 1 : f[i * m + p]) * f[p * m + j];
        SAME(sum, a.dense[i * m + j], type, 8 * m, name);
    }
    free(f);
    /* a matrix without a diagonal */
    int zero_ptr[] = {base, base + 1}, away[] = {base};
    void *zp = device(zero_ptr, sizeof zero_ptr);
    (void)away;
    OK(((int (*)(void *, int, int, V, V, V, V, void *, int, void *))symbol("cusparse%c%s_analysis", c, name))(
        handle, 1, 1, descr, a.val, zp, device((int[]){base + 1}, 4), info, 0, buf));
    IS(((int (*)(void *, void *, int *))symbol("cusparseX%s_zeroPivot", name))(handle, info, &position), 9);
    IS(position, base);
    OK(((int (*)(void *))symbol("cusparseDestroy%sInfo", cholesky ? "Csric02" : "Csrilu02"))(info));
    OK(((int (*)(void *, int))symbol("cusparseSetMatIndexBase"))(descr, 0));
    cudaFree(buf), cudaFree(zp), drop_sparse(a);
}

/* Bands: what is found solves the system. form 0: gtsv2, 1: without exchanges, 2: strided, 3: interleaved,
        4: five bands */
static void bands(int type, int form)
{
    int m = 3 + upto(12), n = 1 + upto(4), algo = form == 3 ? upto(3) : 0, stride = m + upto(3),
        size32 = m * n * 2 + 16;
    bool rows = form == 3 || form == 4;
    struct buffer b[6];
    char c = letter_of[type];
    for (int k = 0; k < 6; k++)
        b[k] = buffer(type, (size_t)(form == 2 ? stride * n : form < 2 ? (k == 5 ? stride * n : m) : m * n));
    for (int s = 0; s < (form < 2 ? 1 : n); s++)
        for (int i = 0; i < m; i++) {
            size_t at = (size_t)(rows ? i * n + s : form == 2 ? s * stride + i : i);
            if (form != 0 && !(form == 3 && algo))
                b[2].ref[at] += 5; /* dominant, where rows are not exchanged */
            if (form == 4 && upto(2))
                b[2].ref[at] = 0.25;
            if (i == 0)
                b[1].ref[at] = b[0].ref[at] = 0;
            if (i == 1)
                b[0].ref[at] = 0;
            if (i == m - 1)
                b[3].ref[at] = b[4].ref[at] = 0;
            if (i == m - 2)
                b[4].ref[at] = 0;
        }
    for (int k = 0; k < 6; k++)
        upload(b[k]);
    size_t size = 0;
    void *buf = device(NULL, (size_t)size32);
    if (form < 2) {
        const char *name = form ? "gtsv2_nopivot" : "gtsv2";
        OK(((int (*)(void *, int, int, V, V, V, V, int, size_t *))symbol("cusparse%c%s_bufferSizeExt", c, name))(
            handle, m, n, b[1].at, b[2].at, b[3].at, b[5].at, stride, &size));
        OK(((int (*)(void *, int, int, V, V, V, V, int, void *))symbol("cusparse%c%s", c, name))(
            handle, m, n, b[1].at, b[2].at, b[3].at, b[5].at, stride, buf));
        IS(((int (*)(void *, int, int, V, V, V, V, int, void *))symbol("cusparse%c%s", c, name))(
               handle, 2, n, b[1].at, b[2].at, b[3].at, b[5].at, stride, buf),
           3);
    } else if (form == 2) {
        OK(((int (*)(void *, int, V, V, V, V, int, int, void *))symbol("cusparse%cgtsv2StridedBatch", c))(
            handle, m, b[1].at, b[2].at, b[3].at, b[5].at, n, stride, buf));
    } else if (form == 3) {
        OK(((int (*)(void *, int, int, V, V, V, V, int, void *))symbol("cusparse%cgtsvInterleavedBatch", c))(
            handle, algo, m, b[1].at, b[2].at, b[3].at, b[5].at, n, buf));
    } else {
        OK(((int (*)(void *, int, int, V, V, V, V, V, V, int, void *))symbol("cusparse%cgpsvInterleavedBatch", c))(
            handle, 0, m, b[0].at, b[1].at, b[2].at, b[3].at, b[4].at, b[5].at, n, buf));
    }
    num *x = values(b[5].at, type, (int)b[5].n);
    for (int s = 0; s < n; s++) {
        double grown = 1;
        for (int i = 0; i < m; i++)
            grown = fmax(grown, cabs(x[rows ? i * n + s : s * stride + i]));
        for (int i = 0; i < m; i++) {
#define X(i) x[rows ? (i)*n + s : s * stride + (i)]
            size_t at = (size_t)(rows ? i * n + s : form == 2 ? s * stride + i : i);
            num sum = b[2].ref[at] * X(i);
            sum += i > 0 ? b[1].ref[at] * X(i - 1) : 0;
            sum += i + 1 < m ? b[3].ref[at] * X(i + 1) : 0;
            if (form == 4) {
                sum += i > 1 ? b[0].ref[at] * X(i - 2) : 0;
                sum += i + 2 < m ? b[4].ref[at] * X(i + 2) : 0;
            }
            SAME(sum, b[5].ref[rows ? i * n + s : s * stride + i], type, 100 * grown, "bands");
        }
    }
    free(x), cudaFree(buf);
    for (int k = 0; k < 6; k++)
        drop(b[k]);
}

static void blocks(int type)
{
    int m = 1 + upto(10), n = 1 + upto(10), block = 1 + upto(4), dir = upto(2), mb = (m + block - 1) / block;
    int nb = (n + block - 1) / block, host = -1, cols = 1 + upto(4);
    struct sparse a = sparse(type, m, n, CSR, 0, 0, 25, 0);
    char c = letter_of[type];
    void *ptr = device(NULL, (size_t)(mb + 1) * 4), *total = device(NULL, 4);
    int nnzb = count(((int (*)(void *, int, int, int, V, V, V, int, V, V, V))symbol("cusparseXcsr2bsrNnz"))(
                         handle, dir, m, n, descr, a.ptr, a.ind, block, descr, ptr, on_device ? total : &host),
                     total, &host);
    void *ind = device(NULL, (size_t)nnzb * 4), *val = device(NULL, (size_t)(nnzb * block * block) * 16);
    OK(((int (*)(void *, int, int, int, V, V, V, V, int, V, V, V, V))symbol("cusparse%ccsr2bsr", c))(
        handle, dir, m, n, descr, a.val, a.ptr, a.ind, block, descr, val, ptr, ind));
    int big = mb * block, wide = nb * block;
    void *p = device(NULL, (size_t)(big + 1) * 4), *j = device(NULL, (size_t)(nnzb * block * block) * 4),
         *v = device(NULL, (size_t)(nnzb * block * block) * 16);
    OK(((int (*)(void *, int, int, int, V, V, V, V, int, V, V, V, V))symbol("cusparse%cbsr2csr", c))(
        handle, dir, mb, nb, descr, val, ptr, ind, block, descr, v, p, j));
    num *d = to_dense(p, j, v, type, big, wide, 0);
    for (int i = 0; i < m; i++)
        for (int k = 0; k < n; k++)
            SAME(d[i * wide + k], a.dense[i * n + k], type, 0, "csr2bsr and back");
    int op = upto(2);
    num alpha = special(type), beta = special(type);
    struct buffer x = buffer(type, (size_t)(wide * cols)), y = buffer(type, (size_t)(big * cols));
    if (beta == 0)
        poison(y);
    upload(x), upload(y);
    OK(((int (*)(void *, int, int, int, int, int, int, int, V, V, V, V, V, int, V, int, V, V, int))symbol(
        "cusparse%cbsrmm", c))(handle, dir, 0, op, mb, cols, nb, nnzb, scalar(type, alpha), descr, val, ptr, ind, block,
                               x.at, op ? cols : wide, scalar(type, beta), y.at, big));
    for (int i = 0; i < big; i++)
        for (int k = 0; k < cols; k++) {
            num sum = 0;
            for (int q = 0; q < wide; q++)
                sum += d[i * wide + q] * x.ref[op ? q * cols + k : k * wide + q];
            y.ref[k * big + i] = alpha * sum + (beta == 0 ? 0 : beta * y.ref[k * big + i]);
        }
    COMPARE(y, wide, "bsrmm");
    /* the same as the generic interface's matrix of blocks */
    if (nnzb) {
        void *m2 = NULL, *dx = dnvec(x, wide), *dy = dnvec(y, big);
        OK(((int (*)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, V, V, V, int, int, int, int, int))symbol(
            "cusparseCreateBsr"))(&m2, mb, nb, nnzb, block, block, ptr, ind, val, I32, I32, 0, cuda_type[type],
                                  dir ? COL : ROW));
        upload(y);
        OK(((int (*)(void *, int, V, V, V, V, V, int, int, void *))symbol("cusparseSpMV"))(
            handle, 0, scalar(type, 1), m2, dx, scalar(type, 0), dy, cuda_type[type], 0, NULL));
        for (int i = 0; i < big; i++) {
            num sum = 0;
            for (int q = 0; q < wide; q++)
                sum += d[i * wide + q] * x.ref[q];
            y.ref[i] = sum;
        }
        COMPARE(y, wide, "SpMV of blocks");
        OK(((int (*)(V))symbol("cusparseDestroySpMat"))(m2));
        drop_dnvec(dx), drop_dnvec(dy);
    }
    free(d), drop(x), drop(y), drop_sparse(a);
    cudaFree(ptr), cudaFree(total), cudaFree(ind), cudaFree(val), cudaFree(p), cudaFree(j), cudaFree(v);
}

static void elements(int type)
{
    int m = 1 + upto(10), n = 1 + upto(10), ld = m + upto(3), dir = upto(2), host = -1, want = 0, nnz = 0, op = upto(3);
    struct buffer a = buffer(type, (size_t)(ld * n));
    char c = letter_of[type];
    for (size_t i = 0; i < a.n; i++)
        if (upto(2))
            a.ref[i] = 0;
    upload(a);
    int lines = dir ? n : m;
    void *counts = device(NULL, (size_t)lines * 4), *total = device(NULL, 4);
    int got = count(((int (*)(void *, int, int, int, V, V, int, V, V))symbol("cusparse%cnnz", c))(
                        handle, dir, m, n, descr, a.at, ld, counts, on_device ? total : &host),
                    total, &host);
    int *per = host_ints(counts, lines);
    for (int l = 0; l < lines; l++) {
        int one = 0;
        for (int k = 0; k < (dir ? m : n); k++)
            one += a.ref[dir ? l * ld + k : k * ld + l] != 0;
        IS(per[l], one);
        want += one;
    }
    IS(got, want);
    /* a dense matrix with a sparse vector */
    int in = op ? m : n, out = op ? n : m, *ind = ints(in);
    struct buffer x = buffer(type, (size_t)in), y = buffer(type, (size_t)out);
    for (int i = 0; i < in; i++)
        if (upto(2))
            ind[nnz++] = i + 1;
    num alpha = special(type), beta = special(type);
    if (beta == 0)
        poison(y);
    upload(x), upload(y);
    void *di = device(ind, (size_t)nnz * 4);
    OK(((int (*)(void *, int, int, int, V, V, int, int, V, V, V, V, int, void *))symbol("cusparse%cgemvi", c))(
        handle, op, m, n, scalar(type, alpha), a.at, ld, nnz, x.at, di, scalar(type, beta), y.at, 1, total));
    for (int i = 0; i < out; i++) {
        num sum = 0;
        for (int k = 0; k < nnz; k++) {
            int j = ind[k] - 1;
            sum += (op == 0 ? a.ref[j * ld + i] : conj_if(op == 2, a.ref[i * ld + j])) * x.ref[k];
        }
        y.ref[i] = alpha * sum + (beta == 0 ? 0 : beta * y.ref[i]);
    }
    COMPARE(y, in, "gemvi");
    free(per), free(ind), cudaFree(counts), cudaFree(total), cudaFree(di), drop(a), drop(x), drop(y);
}

int main(void)
{
    OK(begin());
    OK(((int (*)(void **))symbol("cusparseCreateMatDescr"))(&descr));
    IS(((int (*)(void *, int))symbol("cusparseSetMatIndexBase"))(descr, 2), 3);
    OK(((int (*)(V))symbol("cusparseGetMatType"))(descr));
    for (int round = 0; round < 40; round++)
        for (int type = 0; type < 4; type++) {
            pointer_mode();
            indices(type), geam(type), factor(type, false), factor(type, true), blocks(type), elements(type);
            for (int form = 0; form < 5; form++)
                bands(type, form);
        }
    OK(((int (*)(void *))symbol("cusparseDestroyMatDescr"))(descr));
    OK(((int (*)(void *))symbol("cusparseDestroy"))(handle));
    return check_end("cuSPARSE's legacy interface");
}
