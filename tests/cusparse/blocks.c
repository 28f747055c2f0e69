/* cuSPARSE's legacy interface on matrices of blocks, against plain loops over the dense matrix. */
#include "bsr.h"

static void *descr;

static void same(num got, num want, int type, double terms, const char *what, int line)
{
    EXPECT(near(got, want, type, terms), "%s %c (line %d): %g%+gi, expected %g%+gi", what, letter_of[type], line,
           creal(got), cimag(got), creal(want), cimag(want));
}
#define SAME(got, want, type, terms, what) same(got, want, type, terms, what, __LINE__)
static void set(const char *what, int to) { OK(((int (*)(void *, int))symbol("cusparseSetMat%s", what))(descr, to)); }
static int count(int status, void *dev, const int *host) /* where pointer mode put it */
{
    int n;
    OK(status);
    cudaMemcpy(&n, dev, sizeof n, 2);
    return on_device ? n : *host;
}
static num *values(struct buffer b)
{
    char *raw = malloc(b.n * 16);
    num *v = malloc(b.n * sizeof *v);
    cudaMemcpy(raw, b.at, b.n * size_of(b.type), 2);
    unpack(b.type, raw, v, b.n);
    free(raw);
    return v;
}

/* Incomplete factors reproduce the matrix in the blocks that it has. */
static void factor(int type, bool cholesky)
{
    int mb = 1 + upto(6), block = 1 + upto(4), base = upto(2), size = 0, position = 0, m = mb * block;
    struct bsr a = bsr(type, mb, mb, block, block, upto(2), base, 40, 1, cholesky);
    const char *name = cholesky ? "bsric02" : "bsrilu02", *object = cholesky ? "Bsric02" : "Bsrilu02";
    char c = letter_of[type];
    void *info = NULL, *buf;
    set("IndexBase", base);
    OK(((int (*)(void **))symbol("cusparseCreate%sInfo", object))(&info));
    typedef int query(void *, int, int, int, V, V, V, V, int, void *, int *);
    OK(((query *)symbol("cusparse%c%s_bufferSize", c, name))(handle, a.dir, mb, a.nnzb, descr, a.val, a.ptr, a.ind,
                                                             block, info, &size));
    buf = device(NULL, (size_t)size);
    typedef int step(void *, int, int, int, V, V, V, V, int, void *, int, void *);
    step *analysis = (step *)symbol("cusparse%c%s_analysis", c, name), *run = (step *)symbol("cusparse%c%s", c, name);
    OK(analysis(handle, a.dir, mb, a.nnzb, descr, a.val, a.ptr, a.ind, block, info, 1, buf));
    OK(run(handle, a.dir, mb, a.nnzb, descr, a.val, a.ptr, a.ind, block, info, 1, buf));
    OK(((int (*)(void *, void *, int *))symbol("cusparseX%s_zeroPivot", name))(handle, info, &position));
    IS(position, -1);
    num *f = bsr_dense(&a);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            num sum = 0;
            if (!a.there[i / block * mb + j / block] || (cholesky && j > i))
                continue;
            for (int p = 0; p <= (i < j ? i : j); p++) {
                num left = cholesky || p < i ? f[i * m + p] : 1, right = cholesky ? conj(f[j * m + p]) : f[p * m + j];
                sum += left * right;
            }
            SAME(sum, a.dense[i * m + j], type, 8 * m, name);
        }
    free(f);
    /* a singular diagonal block: its row of blocks is named */
    int bad = upto(mb);
    char *zero = calloc((size_t)(block * block), 16);
    int *ptr = host_ints(a.ptr, mb + 1), *ind = host_ints(a.ind, a.nnzb);
    for (int k = ptr[bad] - base; k < ptr[bad + 1] - base; k++)
        cudaMemcpy((char *)a.val + (size_t)(k * block * block) * size_of(type), zero,
                   (size_t)(block * block) * size_of(type), 1);
    for (int k = 0; k < a.nnzb; k++) /* nothing reaches it from other rows */
        if (ind[k] - base == bad)
            cudaMemcpy((char *)a.val + (size_t)(k * block * block) * size_of(type), zero,
                       (size_t)(block * block) * size_of(type), 1);
    OK(run(handle, a.dir, mb, a.nnzb, descr, a.val, a.ptr, a.ind, block, info, 0, buf));
    IS(((int (*)(void *, void *, int *))symbol("cusparseX%s_zeroPivot", name))(handle, info, &position), 9);
    IS(position, bad + base);
    if (!cholesky) { /* unless it is boosted */
        double tolerance = 1e-6;
        char boost[16];
        num one = 1;
        pack(type, &one, boost, 1);
        OK(((int (*)(void *, void *, int, double *, void *))symbol("cusparse%cbsrilu02_numericBoost", c))(
            handle, info, 1, &tolerance, boost));
        OK(run(handle, a.dir, mb, a.nnzb, descr, a.val, a.ptr, a.ind, block, info, 0, buf));
        OK(((int (*)(void *, void *, int *))symbol("cusparseX%s_zeroPivot", name))(handle, info, &position));
    }
    /* a diagonal block that is not there */
    int away[] = {base, base + 1, base + 1}, column[] = {base};
    void *p2 = device(away, sizeof away), *i2 = device(column, sizeof column);
    OK(analysis(handle, a.dir, 2, 1, descr, a.val, p2, i2, block, info, 0, buf));
    IS(((int (*)(void *, void *, int *))symbol("cusparseX%s_zeroPivot", name))(handle, info, &position), 9);
    IS(position, base + 1);
    IS(run(handle, 2, mb, a.nnzb, descr, a.val, a.ptr, a.ind, block, info, 0, buf), 3);
    IS(run(handle, a.dir, -1, a.nnzb, descr, a.val, a.ptr, a.ind, block, info, 0, buf), 3);
    IS(run(handle, a.dir, mb, a.nnzb, descr, a.val, a.ptr, a.ind, 0, info, 0, buf), 3);
    OK(((int (*)(void *))symbol("cusparseDestroy%sInfo", object))(info));
    set("IndexBase", 0);
    free(zero), free(ptr), free(ind);
    cudaFree(buf), cudaFree(p2), cudaFree(i2), drop_bsr(a);
}

/* What is found solves the system with the triangle. */
static void solve(int type, bool many)
{
    int mb = 1 + upto(6), block = 1 + upto(4), base = upto(2), m = mb * block, n = many ? 1 + upto(4) : 1;
    int op = upto(3), opx = many ? upto(3) : 0, upper = upto(2), one = upto(2), size = 0, position = 0;
    int lines = opx ? m : n, ldf = (opx ? n : m) + upto(3) * many, ldx = (opx ? n : m) + upto(3) * many;
    struct bsr a = bsr(type, mb, mb, block, block, upto(2), base, 40, 1, 0);
    struct buffer f = buffer(type, (size_t)(ldf * lines)), x = buffer(type, (size_t)(ldx * lines));
    char c = letter_of[type];
    num alpha = special(type);
    V pa = scalar(type, alpha);
    void *info = NULL, *buf;
    upload(f), upload(x);
    set("IndexBase", base), set("FillMode", upper), set("DiagType", one);
    if (many) {
        OK(((int (*)(void **))symbol("cusparseCreateBsrsm2Info"))(&info));
        OK(((int (*)(void *, int, int, int, int, int, int, V, V, V, V, int, void *, int *))symbol(
            "cusparse%cbsrsm2_bufferSize", c))(handle, a.dir, op, opx, mb, n, a.nnzb, descr, a.val, a.ptr, a.ind, block,
                                               info, &size));
        buf = device(NULL, (size_t)size);
        OK(((int (*)(void *, int, int, int, int, int, int, V, V, V, V, int, void *, int, void *))symbol(
            "cusparse%cbsrsm2_analysis", c))(handle, a.dir, op, opx, mb, n, a.nnzb, descr, a.val, a.ptr, a.ind, block,
                                             info, 0, buf));
        OK(((int (*)(void *, int, int, int, int, int, int, V, V, V, V, V, int, void *, V, int, V, int, int, void *))
                symbol("cusparse%cbsrsm2_solve", c))(handle, a.dir, op, opx, mb, n, a.nnzb, pa, descr, a.val, a.ptr,
                                                     a.ind, block, info, f.at, ldf, x.at, ldx, 0, buf));
        OK(((int (*)(void *, void *, int *))symbol("cusparseXbsrsm2_zeroPivot"))(handle, info, &position));
        OK(((int (*)(void *))symbol("cusparseDestroyBsrsm2Info"))(info));
    } else {
        OK(((int (*)(void **))symbol("cusparseCreateBsrsv2Info"))(&info));
        OK(((int (*)(void *, int, int, int, int, V, V, V, V, int, void *, int *))symbol(
            "cusparse%cbsrsv2_bufferSize", c))(handle, a.dir, op, mb, a.nnzb, descr, a.val, a.ptr, a.ind, block, info,
                                               &size));
        buf = device(NULL, (size_t)size);
        OK(((int (*)(void *, int, int, int, int, V, V, V, V, int, void *, int, void *))symbol(
            "cusparse%cbsrsv2_analysis", c))(handle, a.dir, op, mb, a.nnzb, descr, a.val, a.ptr, a.ind, block, info, 0,
                                             buf));
        OK(((int (*)(void *, int, int, int, int, V, V, V, V, V, int, void *, V, V, int, void *))symbol(
            "cusparse%cbsrsv2_solve", c))(handle, a.dir, op, mb, a.nnzb, pa, descr, a.val, a.ptr, a.ind, block, info,
                                          f.at, x.at, 0, buf));
        OK(((int (*)(void *, void *, int *))symbol("cusparseXbsrsv2_zeroPivot"))(handle, info, &position));
        OK(((int (*)(void *))symbol("cusparseDestroyBsrsv2Info"))(info));
    }
    IS(position, -1);
    num *got = values(x);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            num sum = 0;
            for (int k = 0; k < m; k++) {
                int r = op ? k : i, q = op ? i : k;
                num v = r == q ? (one ? 1 : a.dense[r * m + q]) : (upper ? q > r : q < r) ? a.dense[r * m + q] : 0;
                sum += conj_if(op == 2, v) * conj_if(opx == 2, got[opx ? k * ldx + j : j * ldx + k]);
            }
            SAME(sum, alpha * conj_if(opx == 2, f.ref[opx ? i * ldf + j : j * ldf + i]), type, 50 * m, "bsrsv, bsrsm");
        }
    set("IndexBase", 0), set("FillMode", 0), set("DiagType", 0);
    free(got), cudaFree(buf), drop(f), drop(x), drop_bsr(a);
}

/* Rows of blocks that a mask names; what it does not name stays. */
static void masked(int type)
{
    int mb = 1 + upto(6), nb = 1 + upto(6), block = 2 + upto(3), base = upto(2), masks = 0, *mask, *end, *ptr;
    struct bsr a = bsr(type, mb, nb, block, block, upto(2), base, 50, 0, 0);
    struct buffer x = buffer(type, (size_t)(nb * block)), y = buffer(type, (size_t)(mb * block));
    num alpha = special(type), beta = special(type);
    int cols = nb * block, *ind = host_ints(a.ind, a.nnzb);
    mask = malloc((size_t)mb * sizeof *mask), end = malloc((size_t)mb * sizeof *end), ptr = host_ints(a.ptr, mb + 1);
    upload(x), upload(y);
    for (int r = 0; r < mb; r++) {
        end[r] = ptr[r] + (ptr[r + 1] > ptr[r] ? upto(ptr[r + 1] - ptr[r] + 1) : 0); /* rows may end before the next */
        if (!upto(2))
            continue;
        mask[masks++] = r + base;
        for (int i = 0; i < block; i++) {
            num sum = 0;
            for (int k = ptr[r] - base; k < end[r] - base; k++)
                for (int j = 0; j < block; j++) {
                    int column = (ind[k] - base) * block + j;
                    sum += a.dense[(r * block + i) * cols + column] * x.ref[column];
                }
            num *to = &y.ref[r * block + i];
            *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
        }
    }
    void *dm = device(mask, (size_t)masks * 4), *de = device(end, (size_t)mb * 4);
    typedef int fn(void *, int, int, int, int, int, int, V, V, V, V, V, V, V, int, V, V, V);
    fn *bsrxmv = (fn *)symbol("cusparse%cbsrxmv", letter_of[type]);
    set("IndexBase", base);
    OK(bsrxmv(handle, a.dir, 0, masks, mb, nb, a.nnzb, scalar(type, alpha), descr, a.val, dm, a.ptr, de, a.ind, block,
              x.at, scalar(type, beta), y.at));
    COMPARE(y, cols, "bsrxmv");
    IS(bsrxmv(handle, a.dir, 0, mb + 1, mb, nb, a.nnzb, scalar(type, alpha), descr, a.val, dm, a.ptr, de, a.ind, block,
              x.at, scalar(type, beta), y.at),
       3);
    set("IndexBase", 0);
    free(mask), free(end), free(ptr), free(ind);
    cudaFree(dm), cudaFree(de), drop(x), drop(y), drop_bsr(a);
}

/* Blocks of one shape, rows of elements, blocks of another, and their transposes. */
static void conversions(int type)
{
    int mb = 1 + upto(5), nb = 1 + upto(5), high = 1 + upto(4), wide = 1 + upto(4), base = upto(2), size = 0, host = -1;
    struct bsr a = bsr(type, mb, nb, high, wide, upto(2), base, 40, 0, 0);
    int m = mb * high, n = nb * wide;
    size_t each = (size_t)(high * wide), elements = (size_t)a.nnzb * each;
    char c = letter_of[type];
    set("IndexBase", base);
    void *p = device(NULL, (size_t)(m + 1) * 4), *j = device(NULL, elements * 4), *v = device(NULL, elements * 16),
         *total = device(NULL, 4), *buf = device(NULL, 64);
    OK(((int (*)(void *, int, int, int, V, V, V, V, int, int, V, V, V, V))symbol("cusparse%cgebsr2csr", c))(
        handle, a.dir, mb, nb, descr, a.val, a.ptr, a.ind, high, wide, descr, v, p, j));
    struct bsr rows = {.type = type,
                       .mb = m,
                       .nb = n,
                       .high = 1,
                       .wide = 1,
                       .base = base,
                       .nnzb = (int)elements,
                       .ptr = p,
                       .ind = j,
                       .val = v};
    num *d = bsr_dense(&rows);
    for (int i = 0; i < m * n; i++)
        SAME(d[i], a.dense[i], type, 0, "gebsr2csr");
    free(d);
    for (int from_blocks = 0; from_blocks < 2; from_blocks++) {
        int high2 = 1 + upto(4), wide2 = 1 + upto(4);
        struct bsr t = {.type = type,
                        .mb = (m + high2 - 1) / high2,
                        .nb = (n + wide2 - 1) / wide2,
                        .high = high2,
                        .wide = wide2,
                        .dir = a.dir,
                        .base = base};
        t.ptr = device(NULL, (size_t)(t.mb + 1) * 4);
        if (from_blocks) {
            OK(((int (*)(void *, int, int, int, int, V, V, V, V, int, int, int, int, int *))symbol(
                "cusparse%cgebsr2gebsr_bufferSize", c))(handle, a.dir, mb, nb, a.nnzb, descr, a.val, a.ptr, a.ind, high,
                                                        wide, high2, wide2, &size));
            t.nnzb = count(((int (*)(void *, int, int, int, int, V, V, V, int, int, V, V, int, int, V, V))symbol(
                               "cusparseXgebsr2gebsrNnz"))(handle, a.dir, mb, nb, a.nnzb, descr, a.ptr, a.ind, high,
                                                           wide, descr, t.ptr, high2, wide2, on_device ? total : &host,
                                                           buf),
                           total, &host);
        } else {
            OK(((int (*)(void *, int, int, int, V, V, V, V, int, int, int *))symbol(
                "cusparse%ccsr2gebsr_bufferSize", c))(handle, a.dir, m, n, descr, v, p, j, high2, wide2, &size));
            t.nnzb = count(
                ((int (*)(void *, int, int, int, V, V, V, V, V, int, int, V, V))symbol("cusparseXcsr2gebsrNnz"))(
                    handle, a.dir, m, n, descr, p, j, descr, t.ptr, high2, wide2, on_device ? total : &host, buf),
                total, &host);
        }
        int want = 0;
        for (int r = 0; r < t.mb; r++)
            for (int q = 0; q < t.nb; q++) {
                int any = 0;
                for (int i = 0; i < high2 * wide2; i++) {
                    int row = r * high2 + i / wide2, col = q * wide2 + i % wide2;
                    any |= row < m && col < n && a.there[row / high * nb + col / wide];
                }
                want += any;
            }
        IS(t.nnzb, want);
        t.ind = device(NULL, (size_t)t.nnzb * 4);
        t.val = device(NULL, (size_t)(t.nnzb * high2 * wide2) * 16);
        if (from_blocks)
            OK(((int (*)(void *, int, int, int, int, V, V, V, V, int, int, V, V, V, V, int, int, V))symbol(
                "cusparse%cgebsr2gebsr", c))(handle, a.dir, mb, nb, a.nnzb, descr, a.val, a.ptr, a.ind, high, wide,
                                             descr, t.val, t.ptr, t.ind, high2, wide2, buf));
        else
            OK(((int (*)(void *, int, int, int, V, V, V, V, V, V, V, V, int, int, V))symbol("cusparse%ccsr2gebsr", c))(
                handle, a.dir, m, n, descr, v, p, j, descr, t.val, t.ptr, t.ind, high2, wide2, buf));
        d = bsr_dense(&t);
        for (int i = 0; i < t.mb * high2; i++)
            for (int q = 0; q < t.nb * wide2; q++)
                SAME(d[i * t.nb * wide2 + q], i < m && q < n ? a.dense[i * n + q] : 0, type, 0, "gebsr2gebsr");
        free(d), cudaFree(t.ptr), cudaFree(t.ind), cudaFree(t.val);
    }
    /* blocks by columns: the transpose of the places, blocks as they were */
    struct bsr t = {.type = type,
                    .mb = nb,
                    .nb = mb,
                    .high = high,
                    .wide = wide,
                    .dir = a.dir,
                    .base = base,
                    .nnzb = a.nnzb,
                    .ptr = device(NULL, (size_t)(nb + 1) * 4),
                    .ind = device(NULL, (size_t)a.nnzb * 4),
                    .val = device(NULL, elements * 16)};
    OK(((int (*)(void *, int, int, int, V, V, V, int, int, int *))symbol("cusparse%cgebsr2gebsc_bufferSize", c))(
        handle, mb, nb, a.nnzb, a.val, a.ptr, a.ind, high, wide, &size));
    OK(((int (*)(void *, int, int, int, V, V, V, int, int, V, V, V, int, int, V))symbol("cusparse%cgebsr2gebsc", c))(
        handle, mb, nb, a.nnzb, a.val, a.ptr, a.ind, high, wide, t.val, t.ind, t.ptr, 1, base, buf));
    d = bsr_dense(&t);
    for (int r = 0; r < mb * nb; r++)
        for (int i = 0; i < high * wide; i++)
            SAME(d[(r % nb * high + i / wide) * mb * wide + r / nb * wide + i % wide],
                 a.dense[(r / nb * high + i / wide) * n + r % nb * wide + i % wide], type, 0, "gebsr2gebsc");
    free(d), cudaFree(t.ptr), cudaFree(t.ind), cudaFree(t.val);
    IS(((int (*)(void *, int, int, int, V, V, V, V, int, int, V, V, V, V))symbol("cusparse%cgebsr2csr", c))(
           handle, a.dir, mb, nb, descr, a.val, a.ptr, a.ind, 0, wide, descr, v, p, j),
       3);
    set("IndexBase", 0);
    cudaFree(p), cudaFree(j), cudaFree(v), cudaFree(total), cudaFree(buf), drop_bsr(a);
}

int main(void)
{
    OK(begin());
    OK(((int (*)(void **))symbol("cusparseCreateMatDescr"))(&descr));
    for (int round = 0; round < 40; round++)
        for (int type = 0; type < 4; type++) {
            pointer_mode();
            factor(type, false), factor(type, true), solve(type, false), solve(type, true), masked(type);
            conversions(type);
        }
    OK(((int (*)(void *))symbol("cusparseDestroyMatDescr"))(descr));
    OK(((int (*)(void *))symbol("cusparseDestroy"))(handle));
    return check_end("cuSPARSE's matrices of blocks");
}
