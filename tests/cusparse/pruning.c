/* cuSPARSE's pruning and colouring against plain loops. */
#include "sparse.h"

static void *descr, *out;
typedef unsigned short half_t;
enum { HALF = 4 }; /* the prune functions' third type */

static double from_half(half_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}
static half_t to_half(int sixteenths) /* of |sixteenths| < 1024: exact */
{
    int m = abs(sixteenths), e = 0;
    while (m >> (e + 1))
        e++;
    return (half_t)(m ? (sixteenths < 0 ? 0x8000 : 0) | (e + 11) << 10 | ((m << (10 - e)) & 1023) : 0);
}
static void put(int type, void *at, int i, int sixteenths)
{
    if (type == HALF)
        ((half_t *)at)[i] = to_half(sixteenths);
    else if (type == 0)
        ((float *)at)[i] = (float)sixteenths / 16;
    else
        ((double *)at)[i] = (double)sixteenths / 16;
}
static double get(int type, const void *at, int i)
{
    return type == HALF ? from_half(((const half_t *)at)[i])
           : type == 0  ? ((const float *)at)[i]
                        : ((const double *)at)[i];
}

static int by_size(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void prune(int type, int sparse_in, int percent)
{
    int m = 1 + upto(10), n = 1 + upto(10), ld = m + upto(3), base = upto(2), base_out = upto(2), nnz = 0, host = -1;
    int a[10 * 10], ptr[11], ind[100], sizes[100], all = 0, limit = upto(64);
    char letter = "SD??H"[type], dense[13 * 10 * 8], val[100 * 8], threshold[8];
    float percentage = (float)upto(101);
    memset(dense, 0, sizeof dense);
    for (int i = 0; i < m; i++) {
        ptr[i] = nnz + base;
        for (int j = 0; j < n; j++) {
            a[i * n + j] = upto(3) ? upto(129) - 64 : 0;
            put(type, dense, j * ld + i, a[i * n + j]);
            if (sparse_in && a[i * n + j] == 0)
                continue;
            sizes[all++] = abs(a[i * n + j]);
            put(type, val, nnz, a[i * n + j]);
            ind[nnz++] = j + base;
        }
    }
    ptr[m] = nnz + base;
    if (percent) { /* the one up to which so many go */
        qsort(sizes, (size_t)all, sizeof *sizes, by_size);
        int at = (int)ceil((double)all * ((double)percentage / 100)) - 1;
        limit = all ? sizes[at < 0 ? 0 : at >= all ? all - 1 : at] : 0;
    }
    put(type, threshold, 0, limit);
    void *dd = device(dense, sizeof dense), *dp = device(ptr, sizeof ptr), *di = device(ind, sizeof ind),
         *dv = device(val, sizeof val), *total = device(NULL, 4), *dt = device(threshold, 8), *info = NULL;
    void *op = device(NULL, sizeof ptr), *oi = device(NULL, sizeof ind), *ov = device(NULL, sizeof val),
         *where = on_device ? dt : threshold, *count = on_device ? total : &host;
    size_t size = 0;
    OK(((int (*)(void **))symbol("cusparseCreatePruneInfo"))(&info));
    OK(((int (*)(void *, int))symbol("cusparseSetMatIndexBase"))(descr, base));
    OK(((int (*)(void *, int))symbol("cusparseSetMatIndexBase"))(out, base_out));
#define F(type, name) ((type)symbol("cusparse%cprune%s", letter, name))
    if (!sparse_in && !percent) {
        OK(F(int (*)(void *, int, int, V, int, V, V, V, V, V, size_t *),
             "Dense2csr_bufferSizeExt")(handle, m, n, dd, ld, where, out, ov, op, oi, &size));
        OK(F(int (*)(void *, int, int, V, int, V, V, V, V, V), "Dense2csrNnz")(handle, m, n, dd, ld, where, out, op,
                                                                               count, total));
        OK(F(int (*)(void *, int, int, V, int, V, V, V, V, V, V), "Dense2csr")(handle, m, n, dd, ld, where, out, ov, op,
                                                                               oi, total));
        IS(F(int (*)(void *, int, int, V, int, V, V, V, V, V), "Dense2csrNnz")(handle, m, n, dd, m - 1, where, out, op,
                                                                               count, total),
           3);
    } else if (!sparse_in) {
        OK(F(int (*)(void *, int, int, V, int, float, V, V, V, V, void *, size_t *),
             "Dense2csrByPercentage_bufferSizeExt")(handle, m, n, dd, ld, percentage, out, ov, op, oi, info, &size));
        OK(F(int (*)(void *, int, int, V, int, float, V, V, V, void *, V),
             "Dense2csrNnzByPercentage")(handle, m, n, dd, ld, percentage, out, op, count, info, total));
        OK(F(int (*)(void *, int, int, V, int, float, V, V, V, V, void *, V),
             "Dense2csrByPercentage")(handle, m, n, dd, ld, percentage, out, ov, op, oi, info, total));
        IS(F(int (*)(void *, int, int, V, int, float, V, V, V, void *, V),
             "Dense2csrNnzByPercentage")(handle, m, n, dd, ld, 101, out, op, count, info, total),
           3);
    } else if (!percent) {
        OK(F(int (*)(void *, int, int, int, V, V, V, V, V, V, V, V, V, size_t *),
             "Csr2csr_bufferSizeExt")(handle, m, n, nnz, descr, dv, dp, di, where, out, ov, op, oi, &size));
        OK(F(int (*)(void *, int, int, int, V, V, V, V, V, V, V, V, V),
             "Csr2csrNnz")(handle, m, n, nnz, descr, dv, dp, di, where, out, op, count, total));
        OK(F(int (*)(void *, int, int, int, V, V, V, V, V, V, V, V, V, V),
             "Csr2csr")(handle, m, n, nnz, descr, dv, dp, di, where, out, ov, op, oi, total));
        IS(F(int (*)(void *, int, int, int, V, V, V, V, V, V, V, V, V), "Csr2csrNnz")(handle, m, n, -1, descr, dv, dp,
                                                                                      di, where, out, op, count, total),
           3);
    } else {
        OK(F(int (*)(void *, int, int, int, V, V, V, V, float, V, V, V, V, void *, size_t *),
             "Csr2csrByPercentage_bufferSizeExt")(handle, m, n, nnz, descr, dv, dp, di, percentage, out, ov, op, oi,
                                                  info, &size));
        OK(F(int (*)(void *, int, int, int, V, V, V, V, float, V, V, V, void *, V),
             "Csr2csrNnzByPercentage")(handle, m, n, nnz, descr, dv, dp, di, percentage, out, op, count, info, total));
        OK(F(int (*)(void *, int, int, int, V, V, V, V, float, V, V, V, V, void *, V),
             "Csr2csrByPercentage")(handle, m, n, nnz, descr, dv, dp, di, percentage, out, ov, op, oi, info, total));
    }
    if (on_device)
        cudaMemcpy(&host, total, 4, 2);
    int *p = host_ints(op, m + 1), k = 0, *q = host_ints(oi, p[m] - base_out);
    cudaMemcpy(val, ov, sizeof val, 2);
    for (int i = 0; i < m; i++) {
        IS(p[i], k + base_out);
        for (int j = 0; j < n; j++)
            if (abs(a[i * n + j]) > limit) {
                IS(q[k], j + base_out);
                IS(get(type, val, k) == (double)a[i * n + j] / 16, 1);
                k++;
            }
    }
    IS(p[m], k + base_out);
    IS(host, k);
    OK(((int (*)(void *))symbol("cusparseDestroyPruneInfo"))(info));
    free(p), free(q);
    cudaFree(dd), cudaFree(dp), cudaFree(di), cudaFree(dv), cudaFree(total), cudaFree(dt), cudaFree(op), cudaFree(oi);
    cudaFree(ov);
}

/* Rows that share an element, in either direction, differ; the rows in the order of their colours. */
static void color(int type)
{
    int m = 1 + upto(20), base = upto(2), host = -1, whole = upto(2);
    struct sparse a = sparse(type, m, m, CSR, 0, base, 15, upto(2));
    num fraction = whole ? 1 : 0.5;
    void *info = NULL, *count = device(NULL, 4), *colors = device(NULL, (size_t)m * 4),
         *order = device(NULL, (size_t)m * 4);
    typedef int fn(void *, int, int, V, V, V, V, V, V, V, V, void *);
    fn *csrcolor = (fn *)symbol("cusparse%ccsrcolor", letter_of[type]);
    V part = scalar(type % 2, fraction); /* real, also of complex matrices */
    OK(((int (*)(void **))symbol("cusparseCreateColorInfo"))(&info));
    OK(((int (*)(void *, int))symbol("cusparseSetMatIndexBase"))(descr, base));
    OK(csrcolor(handle, m, a.nnz, descr, a.val, a.ptr, a.ind, part, on_device ? count : &host, colors, order, info));
    if (on_device)
        cudaMemcpy(&host, count, 4, 2);
    int *c = host_ints(colors, m), *o = host_ints(order, m), *seen = calloc((size_t)m + 1, sizeof *seen), used = 0;
    for (int i = 0; i < m; i++) {
        IS(c[i] >= 0 && c[i] < host, 1);
        used += !seen[c[i]]++;
        for (int j = 0; j < m; j++)
            if (i != j && a.dense[i * m + j] != 0)
                IS(c[i] != c[j], 1);
        IS(i == 0 || c[o[i - 1]] <= c[o[i]], 1);
    }
    IS(used, host);
    memset(seen, 0, (size_t)m * sizeof *seen);
    for (int i = 0; i < m; i++)
        OK(seen[o[i]]++);
    if (!whole) /* the rest got colours of their own */
        IS(host >= m / 2, 1);
    IS(csrcolor(handle, -1, a.nnz, descr, a.val, a.ptr, a.ind, part, on_device ? count : &host, colors, order, info),
       3);
    OK(((int (*)(void *))symbol("cusparseDestroyColorInfo"))(info));
    free(c), free(o), free(seen), cudaFree(count), cudaFree(colors), cudaFree(order), drop_sparse(a);
}

int main(void)
{
    static const int types[] = {0, 1, HALF};
    OK(begin());
    OK(((int (*)(void **))symbol("cusparseCreateMatDescr"))(&descr));
    OK(((int (*)(void **))symbol("cusparseCreateMatDescr"))(&out));
    for (int round = 0; round < 40; round++) {
        pointer_mode();
        for (int k = 0; k < 12; k++)
            prune(types[k % 3], k / 3 & 1, k / 6);
        for (int type = 0; type < 4; type++)
            color(type);
    }
    OK(((int (*)(void *))symbol("cusparseDestroyMatDescr"))(descr));
    OK(((int (*)(void *))symbol("cusparseDestroyMatDescr"))(out));
    return check_end("cuSPARSE's pruning and colouring");
}
