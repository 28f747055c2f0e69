/* cuSPARSE's generic interface on BSR, sliced ELL, blocked ELL and batches, against plain loops; element types that are
 * narrower than the sum. */
#include "bsr.h"

typedef int mv(void *, int, V, V, V, V, V, int, int, void *);
typedef int mm(void *, int, int, V, V, V, V, V, int, int, void *);
static void destroy(void *m) { OK(((int (*)(V))symbol("cusparseDestroySpMat"))(m)); }
static void *widened(const void *at, int n, int wide)
{
    int *i = host_ints(at, n);
    void *p = index_array(i, n, wide);
    free(i);
    return p;
}

/* A matrix of blocks as the generic interface has it; indices of 64 bits lie in arrays of their own. */
struct generic {
    void *descr, *ptr, *ind;
};
static struct generic of_blocks(const struct bsr *a, int wide)
{
    struct generic g = {NULL, widened(a->ptr, a->mb + 1, wide), widened(a->ind, a->nnzb, wide)};
    OK(((int (*)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, V, V, V, int, int, int, int, int))symbol(
        upto(2) ? "cusparseCreateBsr" : "cusparseCreateConstBsr"))(
        &g.descr, a->mb, a->nb, a->nnzb, a->high, a->wide, g.ptr, g.ind, a->val, wide ? I64 : I32, wide ? I64 : I32,
        a->base, cuda_type[a->type], a->dir ? COL : ROW));
    return g;
}
static void drop_generic(struct generic g) { destroy(g.descr), cudaFree(g.ptr), cudaFree(g.ind); }

static void blocks(int type)
{
    int high = 1 + upto(4), wide = upto(2) ? high : 1 + upto(4), mb = 1 + upto(5), nb = 1 + upto(5), op = upto(3),
        opb = upto(3), cols = 1 + upto(6), t = cuda_type[type];
    struct bsr a = bsr(type, mb, nb, high, wide, upto(2), upto(2), 50, 0, 0);
    struct generic g = of_blocks(&a, upto(2));
    int m = mb * high, n = nb * wide, out = op ? n : m, in = op ? m : n;
#define A(i, k) (op ? conj_if(op == 2, a.dense[(k)*n + (i)]) : a.dense[(i)*n + (k)])
    num alpha = special(type), beta = special(type);
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    struct buffer x = buffer(type, (size_t)in), y = buffer(type, (size_t)out);
    if (beta == 0)
        poison(y);
    upload(x), upload(y);
    void *dx = dnvec(x, in), *dy = dnvec(y, out);
    size_t size = 0;
    OK(((int (*)(void *, int, V, V, V, V, V, int, int, size_t *))symbol("cusparseSpMV_bufferSize"))(
        handle, op, pa, g.descr, dx, pb, dy, t, 6, &size));
    void *buf = device(NULL, size);
    OK(((mv *)symbol("cusparseSpMV"))(handle, op, pa, g.descr, dx, pb, dy, t, 6, buf));
    for (int i = 0; i < out; i++) {
        num sum = 0;
        for (int k = 0; k < in; k++)
            sum += A(i, k) * x.ref[k];
        y.ref[i] = alpha * sum + (beta == 0 ? 0 : beta * y.ref[i]);
    }
    COMPARE(y, in, "SpMV of BSR");
    drop_dnvec(dx), drop_dnvec(dy), drop(x), drop(y);

    struct matrix b = opb ? matrix(type, cols, in) : matrix(type, in, cols), c = matrix(type, out, cols);
    upload(b.b), upload(c.b);
    OK(((mm *)symbol("cusparseSpMM"))(handle, op, opb, pa, g.descr, b.descr, pb, c.descr, t, 14, buf));
    for (int i = 0; i < out; i++)
        for (int j = 0; j < cols; j++) {
            num sum = 0;
            for (int p = 0; p < in; p++)
                sum += A(i, p) * at_op(b, opb, p, j);
            *at(c, i, j) = alpha * sum + (beta == 0 ? 0 : beta * *at(c, i, j));
        }
    COMPARE(c.b, in, "SpMM of BSR");
    drop_matrix(b), drop_matrix(c);

    /* SDDMM into the blocks */
    int k = 1 + upto(8);
    struct matrix l = op ? matrix(type, k, m) : matrix(type, m, k), r = opb ? matrix(type, n, k) : matrix(type, k, n);
    upload(l.b), upload(r.b);
    OK(((int (*)(void *, int, int, V, V, V, V, V, int, int, size_t *))symbol("cusparseSDDMM_bufferSize"))(
        handle, op, opb, pa, l.descr, r.descr, pb, g.descr, t, 0, &size));
    OK(((mm *)symbol("cusparseSDDMM"))(handle, op, opb, pa, l.descr, r.descr, pb, g.descr, t, 0, buf));
    num *got = bsr_dense(&a);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            num sum = 0, want = 0;
            for (int p = 0; p < k; p++)
                sum += at_op(l, op, i, p) * at_op(r, opb, p, j);
            if (a.there[i / high * nb + j / wide])
                want = alpha * sum + beta * a.dense[i * n + j];
            EXPECT(near(got[i * n + j], want, type, k), "SDDMM of BSR: %g, expected %g", creal(got[i * n + j]),
                   creal(want));
        }
    free(got), drop_matrix(l), drop_matrix(r), drop_generic(g), cudaFree(buf), drop_bsr(a);
}

/* ---- sliced ELL */
struct sell {
    int type, n, slice, base, size;
    num *dense, *val; /* the values, padding included */
    void *descr, *at[3];
    int *place; /* of element (i, j), or -1 */
};
static struct sell sell(int type, int rows, int cols, int density, int square)
{
    struct sell s = {.type = type, .n = cols, .slice = 1 + upto(4), .base = upto(2)};
    int slices = (rows + s.slice - 1) / s.slice, wide = upto(2), it = wide ? I64 : I32, nnz = 0;
    size_t room = (size_t)((rows + s.slice) * (cols + 1)) + 1;
    int *offsets = malloc((size_t)(slices + 1) * sizeof *offsets), *ind = malloc(room * sizeof *ind);
    s.dense = calloc(room, sizeof *s.dense), s.val = calloc(room, sizeof *s.val);
    s.place = malloc(room * sizeof *s.place);
    for (int i = 0; i < rows * cols; i++) {
        num v = value(type);
        int r = i / cols, c = i % cols;
        if (upto(100) < density || (square && r == c))
            s.dense[i] = !square ? (v == 0 ? 1 : v) : r == c ? rows + 2 : v == 0 ? 0.25 : v / 2;
    }
    for (int l = 0; l < slices; l++) {
        int width = 0;
        for (int in = 0; in < s.slice; in++) {
            int row = l * s.slice + in, k = 0;
            for (int c = 0; row < rows && c < cols; c++)
                k += s.dense[row * cols + c] != 0;
            width = k > width ? k : width;
        }
        offsets[l] = s.size + s.base;
        for (int in = 0; in < s.slice; in++) {
            int row = l * s.slice + in, k = 0;
            for (int c = 0; row < rows && c < cols; c++) {
                s.place[row * cols + c] = -1;
                if (s.dense[row * cols + c] == 0)
                    continue;
                int to = s.size + k++ * s.slice + in;
                ind[to] = c + s.base;
                s.val[to] = s.dense[row * cols + c];
                s.place[row * cols + c] = to;
                nnz++;
            }
            for (; k < width; k++) {
                ind[s.size + k * s.slice + in] = -1;
                s.val[s.size + k * s.slice + in] = NAN; /* nobody looks there */
            }
        }
        s.size += width * s.slice;
    }
    offsets[slices] = s.size + s.base;
    char *raw = malloc(room * 16);
    pack(type, s.val, raw, (size_t)s.size);
    s.at[0] = index_array(offsets, slices + 1, wide);
    s.at[1] = index_array(ind, s.size, wide);
    s.at[2] = device(raw, (size_t)s.size * size_of(type));
    OK(((int (*)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, V, V, V, int, int, int, int))symbol(
        upto(2) ? "cusparseCreateSlicedEll" : "cusparseCreateConstSlicedEll"))(
        &s.descr, rows, cols, nnz, s.size, s.slice, s.at[0], s.at[1], s.at[2], it, it, s.base, cuda_type[type]));
    free(offsets), free(ind), free(raw);
    return s;
}
static void drop_sell(struct sell s)
{
    destroy(s.descr);
    for (int i = 0; i < 3; i++)
        cudaFree(s.at[i]);
    free(s.dense), free(s.val), free(s.place);
}

static void sliced(int type)
{
    int rows = 1 + upto(15), cols = 1 + upto(15), t = cuda_type[type];
    struct sell a = sell(type, rows, cols, 30, 0);
    struct buffer x = buffer(type, (size_t)cols), y = buffer(type, (size_t)rows);
    num alpha = special(type), beta = special(type);
    upload(x), upload(y);
    void *dx = dnvec(x, cols), *dy = dnvec(y, rows);
    size_t size = 0;
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    OK(((int (*)(void *, int, V, V, V, V, V, int, int, size_t *))symbol("cusparseSpMV_bufferSize"))(
        handle, 0, pa, a.descr, dx, pb, dy, t, 5, &size));
    void *buf = device(NULL, size);
    OK(((mv *)symbol("cusparseSpMV_preprocess"))(handle, 0, pa, a.descr, dx, pb, dy, t, 5, buf));
    OK(((mv *)symbol("cusparseSpMV"))(handle, 0, pa, a.descr, dx, pb, dy, t, 5, buf));
    for (int i = 0; i < rows; i++) {
        num sum = 0;
        for (int k = 0; k < cols; k++)
            sum += a.dense[i * cols + k] * x.ref[k];
        y.ref[i] = alpha * sum + (beta == 0 ? 0 : beta * y.ref[i]);
    }
    COMPARE(y, cols, "SpMV of sliced ELL");
    int format = 0;
    OK(((int (*)(V, int *))symbol("cusparseSpMatGetFormat"))(a.descr, &format));
    IS(format, 7);
    /* products of matrices do not take it */
    struct matrix b = matrix(type, cols, 2), c = matrix(type, rows, 2);
    IS(((mm *)symbol("cusparseSpMM"))(handle, 0, 0, pa, a.descr, b.descr, pb, c.descr, t, 0, buf), 10);
    drop_matrix(b), drop_matrix(c), drop_dnvec(dx), drop_dnvec(dy), drop(x), drop(y), cudaFree(buf), drop_sell(a);
}

/* A triangle, then with new values, then with a new diagonal: each time what is found solves the system. */
static void sliced_solve(int type, int by_rows)
{
    int n = 1 + upto(12), t = cuda_type[type], op = upto(3), upper = upto(2), unit = upto(2);
    struct sell a = {.n = n};
    struct sparse rows = {.nnz = 0};
    if (by_rows)
        rows = sparse(type, n, n, upto(2) ? CSR : COO, upto(2), upto(2), 40, 1);
    else
        a = sell(type, n, n, 40, 1);
    void *descr = by_rows ? rows.descr : a.descr, *s = NULL;
    num *dense = by_rows ? rows.dense : a.dense;
    OK(((int (*)(void *, int, void *, size_t))symbol("cusparseSpMatSetAttribute"))(descr, 0, &upper, 4));
    OK(((int (*)(void *, int, void *, size_t))symbol("cusparseSpMatSetAttribute"))(descr, 1, &unit, 4));
    struct buffer x = buffer(type, (size_t)n), y = buffer(type, (size_t)n), v = buffer(type, (size_t)n);
    upload(x), upload(y);
    void *dx = dnvec(x, n), *dy = dnvec(y, n);
    num alpha = special(type);
    V pa = scalar(type, alpha);
    size_t size = 0;
    OK(((int (*)(void **))symbol("cusparseSpSV_createDescr"))(&s));
    OK(((int (*)(void *, int, V, V, V, V, int, int, void *, size_t *))symbol("cusparseSpSV_bufferSize"))(
        handle, op, pa, descr, dx, dy, t, 0, s, &size));
    void *buf = device(NULL, size);
    OK(((int (*)(void *, int, V, V, V, V, int, int, void *, void *))symbol("cusparseSpSV_analysis"))(
        handle, op, pa, descr, dx, dy, t, 0, s, buf));
    for (int round = 0; round < 3; round++) {
        int elements = by_rows ? rows.nnz : a.size;
        if (round == 1) { /* all of them twice as large */
            struct buffer twice = buffer(type, (size_t)elements);
            for (int k = 0; k < elements; k++)
                twice.ref[k] = by_rows ? 2 * dense[rows.place[2 * k] * n + rows.place[2 * k + 1]] : 2 * a.val[k];
            for (int i = 0; i < n * n; i++)
                dense[i] *= 2;
            upload(twice);
            OK(((int (*)(void *, void *, void *, int))symbol("cusparseSpSV_updateMatrix"))(handle, s, twice.at, 0));
            drop(twice);
        } else if (round == 2) {
            for (int i = 0; i < n; i++)
                dense[i * n + i] = v.ref[i] = 3 * n + upto(5);
            upload(v);
            OK(((int (*)(void *, void *, void *, int))symbol("cusparseSpSV_updateMatrix"))(handle, s, v.at, 1));
        }
        OK(((int (*)(void *, int, V, V, V, V, int, int, void *))symbol("cusparseSpSV_solve"))(handle, op, pa, descr, dx,
                                                                                              dy, t, 0, s));
        char *raw = malloc((size_t)n * 16);
        cudaMemcpy(raw, y.at, (size_t)n * size_of(type), 2);
        unpack(type, raw, y.ref, (size_t)n);
        free(raw);
        for (int i = 0; i < n; i++) {
            num sum = 0;
            for (int k = 0; k < n; k++) {
                int r = op ? k : i, q = op ? i : k;
                num w = r == q ? (unit ? 1 : dense[r * n + q]) : (upper ? q > r : q < r) ? dense[r * n + q] : 0;
                sum += conj_if(op == 2, w) * y.ref[k];
            }
            EXPECT(near(sum, alpha * x.ref[i], type, 50 * n), "SpSV %d, round %d: %g, expected %g", by_rows, round,
                   creal(sum), creal(alpha * x.ref[i]));
        }
    }
    IS(((int (*)(void *, void *, void *, int))symbol("cusparseSpSV_updateMatrix"))(handle, s, NULL, 0), 3);
    IS(((int (*)(void *, void *, void *, int))symbol("cusparseSpSV_updateMatrix"))(handle, s, v.at, 2), 3);
    OK(((int (*)(void *))symbol("cusparseSpSV_destroyDescr"))(s));
    drop_dnvec(dx), drop_dnvec(dy), drop(x), drop(y), drop(v), cudaFree(buf);
    if (by_rows)
        drop_sparse(rows);
    else
        drop_sell(a);
}

/* ---- blocked ELL: made of a dense matrix, multiplied, and made dense again */
static void ell(int type)
{
    int block = 1 + upto(3), mb = 1 + upto(4), nb = 1 + upto(4), width = 1 + upto(nb), m = mb * block, n = nb * block;
    int cols = 1 + upto(5), opb = upto(3), base = upto(2), t = cuda_type[type], *ind = malloc((size_t)(mb * width) * 4);
    struct matrix full = matrix(type, m, n), back = matrix(type, m, n);
    for (int r = 0; r < mb; r++)
        for (int k = 0, c = 0; k < width; k++, c++) { /* padding at the end of a row of blocks */
            c += c < nb ? upto(2) : 0;
            ind[r * width + k] = c < nb ? c + base : -1;
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int there = 0;
            for (int k = 0; k < width; k++)
                there |= ind[i / block * width + k] == j / block + base;
            *at(back, i, j) = there ? *at(full, i, j) : 0;
        }
    upload(full.b);
    void *di = device(ind, (size_t)(mb * width) * 4), *val = device(NULL, (size_t)(m * width * block) * 16), *a = NULL,
         *buf = device(NULL, 64);
    OK(((int (*)(void **, int64_t, int64_t, int64_t, int64_t, V, V, int, int, int))symbol("cusparseCreateBlockedEll"))(
        &a, m, n, block, width * block, di, val, I32, base, t));
    OK(((int (*)(void *, V, V, int, void *))symbol("cusparseDenseToSparse_analysis"))(handle, full.descr, a, 0, buf));
    OK(((int (*)(void *, V, V, int, void *))symbol("cusparseDenseToSparse_convert"))(handle, full.descr, a, 0, buf));
    struct matrix got = matrix(type, m, n);
    for (size_t i = 0; i < got.b.n; i++)
        got.b.ref[i] = 1;
    upload(got.b);
    OK(((int (*)(void *, V, V, int, void *))symbol("cusparseSparseToDense"))(handle, a, got.descr, 0, buf));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            *at(got, i, j) = *at(back, i, j);
    COMPARE(got.b, 0, "blocked ELL there and back");
    struct matrix b = opb ? matrix(type, cols, n) : matrix(type, n, cols), c = matrix(type, m, cols);
    num alpha = special(type), beta = special(type);
    upload(b.b), upload(c.b);
    OK(((mm *)symbol("cusparseSpMM"))(handle, 0, opb, scalar(type, alpha), a, b.descr, scalar(type, beta), c.descr, t,
                                      13, buf));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < cols; j++) {
            num sum = 0;
            for (int k = 0; k < n; k++)
                sum += *at(back, i, k) * at_op(b, opb, k, j);
            *at(c, i, j) = alpha * sum + (beta == 0 ? 0 : beta * *at(c, i, j));
        }
    COMPARE(c.b, n, "SpMM of blocked ELL");
    int64_t got_rows, got_cols, got_block, got_width;
    void *got_ind, *got_val;
    int got_type, got_base, got_data;
    OK(((int (*)(V, int64_t *, int64_t *, int64_t *, int64_t *, void **, void **, int *, int *, int *))symbol(
        "cusparseBlockedEllGet"))(a, &got_rows, &got_cols, &got_block, &got_width, &got_ind, &got_val, &got_type,
                                  &got_base, &got_data));
    IS(got_rows == m && got_cols == n && got_block == block && got_width == width * block && got_ind == di &&
           got_val == val && got_type == I32 && got_base == base && got_data == t,
       1);
    destroy(a), free(ind), cudaFree(di), cudaFree(val), cudaFree(buf);
    drop_matrix(full), drop_matrix(back), drop_matrix(got), drop_matrix(b), drop_matrix(c);
}

/* ---- batches: matrices that follow each other, their dense operands too */
static void batched(int type, int format)
{
    enum { N = 3 };
    int rows = 2 + upto(6), cols = 2 + upto(6), n = 1 + upto(4), t = cuda_type[type], shared = upto(2);
    struct sparse s[N];
    struct buffer b = buffer(type, (size_t)(N * cols * n)), c = buffer(type, (size_t)(N * rows * n));
    unsigned was = seed; /* members have as many elements each: the same structure */
    for (int i = 0; i < N; i++) {
        seed = was;
        s[i] = sparse(type, rows, cols, format, 0, 0, 50, 0);
    }
    int nnz = s[0].nnz, lines = format == COO ? nnz : rows + 1;
    size_t es = size_of(type);
    char *ptr = device(NULL, (size_t)(N * lines) * 4), *ind = device(NULL, (size_t)(N * nnz) * 4),
         *val = device(NULL, (size_t)(N * nnz) * es + 16);
    for (int i = 0; i < N; i++) {
        struct buffer v = buffer(type, (size_t)nnz);
        for (int k = 0; k < nnz; k++)
            s[i].dense[s[i].place[2 * k] * cols + s[i].place[2 * k + 1]] = v.ref[k];
        upload(v);
        cudaMemcpy(val + (size_t)(i * nnz) * es, v.at, (size_t)nnz * es, 3);
        cudaMemcpy(ptr + (size_t)(i * lines) * 4, s[i].ptr, (size_t)lines * 4, 3);
        cudaMemcpy(ind + (size_t)(i * nnz) * 4, s[i].ind, (size_t)nnz * 4, 3);
        drop(v);
    }
    upload(b), upload(c);
    void *a = NULL, *db = NULL, *dc = NULL;
    if (format == COO) {
        OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int))symbol("cusparseCreateCoo"))(
            &a, rows, cols, nnz, ptr, ind, val, I32, 0, t));
        OK(((int (*)(void *, int, int64_t))symbol("cusparseCooSetStridedBatch"))(a, N, nnz));
    } else {
        OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int, int))symbol("cusparseCreateCsr"))(
            &a, rows, cols, nnz, ptr, ind, val, I32, I32, 0, t));
        OK(((int (*)(void *, int, int64_t, int64_t))symbol("cusparseCsrSetStridedBatch"))(a, N, lines, nnz));
    }
    typedef int create(void **, int64_t, int64_t, int64_t, void *, int, int);
    OK(((create *)symbol("cusparseCreateDnMat"))(&db, cols, n, cols, b.at, t, COL));
    OK(((create *)symbol("cusparseCreateDnMat"))(&dc, rows, n, rows, c.at, t, COL));
    if (!shared)
        OK(((int (*)(void *, int, int64_t))symbol("cusparseDnMatSetStridedBatch"))(db, N, cols * n));
    OK(((int (*)(void *, int, int64_t))symbol("cusparseDnMatSetStridedBatch"))(dc, N, rows * n));
    num alpha = special(type), beta = special(type);
    OK(((mm *)symbol("cusparseSpMM"))(handle, 0, 0, scalar(type, alpha), a, db, scalar(type, beta), dc, t, 0, a));
    for (int l = 0; l < N; l++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < n; j++) {
                num sum = 0, *to = &c.ref[l * rows * n + j * rows + i];
                for (int k = 0; k < cols; k++)
                    sum += s[l].dense[i * cols + k] * b.ref[(shared ? 0 : l * cols * n) + j * cols + k];
                *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
            }
    COMPARE(c, cols, "SpMM of a batch");
    if (format == CSR) { /* SDDMM: C is the batch of sparse ones, of dense ones with as many rows and columns */
        struct buffer l = buffer(type, (size_t)(N * rows * n)), r = buffer(type, (size_t)(N * n * cols));
        struct buffer got = buffer(type, (size_t)(N * nnz));
        void *dl = NULL, *dr = NULL;
        upload(l), upload(r);
        OK(((create *)symbol("cusparseCreateDnMat"))(&dl, rows, n, n, l.at, t, ROW));
        OK(((create *)symbol("cusparseCreateDnMat"))(&dr, n, cols, n, r.at, t, COL));
        OK(((int (*)(void *, int, int64_t))symbol("cusparseDnMatSetStridedBatch"))(dl, N, rows * n));
        OK(((int (*)(void *, int, int64_t))symbol("cusparseDnMatSetStridedBatch"))(dr, N, n * cols));
        OK(((mm *)symbol("cusparseSDDMM"))(handle, 0, 0, scalar(type, alpha), dl, dr, scalar(type, beta), a, t, 0, a));
        for (int i = 0; i < N; i++)
            for (int k = 0; k < nnz; k++) {
                int row = s[i].place[2 * k], col = s[i].place[2 * k + 1];
                num sum = 0;
                for (int p = 0; p < n; p++)
                    sum += l.ref[i * rows * n + row * n + p] * r.ref[i * n * cols + col * n + p];
                got.ref[i * nnz + k] = alpha * sum + beta * s[i].dense[row * cols + col];
            }
        cudaMemcpy(got.at, val, (size_t)(N * nnz) * es, 3);
        if (nnz)
            COMPARE(got, n, "SDDMM of a batch");
        OK(((int (*)(V))symbol("cusparseDestroyDnMat"))(dl));
        OK(((int (*)(V))symbol("cusparseDestroyDnMat"))(dr));
        drop(l), drop(r), drop(got);
    }
    OK(((int (*)(V))symbol("cusparseDestroyDnMat"))(db));
    OK(((int (*)(V))symbol("cusparseDestroyDnMat"))(dc));
    destroy(a), cudaFree(ptr), cudaFree(ind), cudaFree(val), drop(b), drop(c);
    for (int i = 0; i < N; i++)
        drop_sparse(s[i]);
}

/* A batch of block matrices, each with a structure of its own. */
static void batched_blocks(int type)
{
    enum { N = 2 };
    int block = 2 + upto(2), mb = 2, nb = 2 + upto(2), t = cuda_type[type], n = 1 + upto(3), dir = upto(2);
    struct bsr a[N] = {{0}};
    for (int i = 0; i < N; i++)
        do {
            if (a[i].ptr)
                drop_bsr(a[i]);
            a[i] = bsr(type, mb, nb, block, block, dir, 0, 50, 0, 0);
        } while ((i && a[i].nnzb != a[0].nnzb) || !a[i].nnzb);
    int blocks = a[0].nnzb, each = blocks * block * block, m = mb * block, k = nb * block;
    size_t es = size_of(type);
    char *ptr = device(NULL, (size_t)(N * (mb + 1)) * 4), *ind = device(NULL, (size_t)(N * blocks) * 4),
         *val = device(NULL, (size_t)(N * each) * es);
    for (int i = 0; i < N; i++) {
        cudaMemcpy(ptr + (size_t)(i * (mb + 1)) * 4, a[i].ptr, (size_t)(mb + 1) * 4, 3);
        cudaMemcpy(ind + (size_t)(i * blocks) * 4, a[i].ind, (size_t)blocks * 4, 3);
        cudaMemcpy(val + (size_t)(i * each) * es, a[i].val, (size_t)each * es, 3);
    }
    struct buffer b = buffer(type, (size_t)(k * n)), c = buffer(type, (size_t)(N * m * n));
    upload(b), upload(c);
    void *d = NULL, *db = NULL, *dc = NULL;
    OK(((int (*)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, V, V, V, int, int, int, int, int))symbol(
        "cusparseCreateBsr"))(&d, mb, nb, blocks, block, block, ptr, ind, val, I32, I32, 0, t, dir ? COL : ROW));
    OK(((int (*)(void *, int, int64_t, int64_t, int64_t))symbol("cusparseBsrSetStridedBatch"))(d, N, mb + 1, blocks,
                                                                                               each));
    typedef int create(void **, int64_t, int64_t, int64_t, void *, int, int);
    OK(((create *)symbol("cusparseCreateDnMat"))(&db, k, n, k, b.at, t, COL));
    OK(((create *)symbol("cusparseCreateDnMat"))(&dc, m, n, m, c.at, t, COL));
    OK(((int (*)(void *, int, int64_t))symbol("cusparseDnMatSetStridedBatch"))(dc, N, m * n));
    num alpha = special(type), beta = special(type);
    OK(((mm *)symbol("cusparseSpMM"))(handle, 0, 0, scalar(type, alpha), d, db, scalar(type, beta), dc, t, 0, d));
    for (int l = 0; l < N; l++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                num sum = 0, *to = &c.ref[l * m * n + j * m + i];
                for (int p = 0; p < k; p++)
                    sum += a[l].dense[i * k + p] * b.ref[j * k + p];
                *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
            }
    COMPARE(c, k, "SpMM of a batch of BSR");
    OK(((int (*)(V))symbol("cusparseDestroyDnMat"))(db));
    OK(((int (*)(V))symbol("cusparseDestroyDnMat"))(dc));
    destroy(d), cudaFree(ptr), cudaFree(ind), cudaFree(val), drop(b), drop(c);
    for (int i = 0; i < N; i++)
        drop_bsr(a[i]);
}

/* ---- types that go together: small integers, which all of them hold, so that results are exact */
static int half(int v) /* of |v| < 2048 */
{
    int e = 0, m = abs(v);
    while (m >> (e + 1))
        e++;
    return v ? (v < 0) << 15 | (e + 15) << 10 | ((m << (10 - e)) & 0x3ff) : 0;
}
static void store(int type, void *at, int i, int v)
{
    float f = (float)v;
    unsigned bits;
    memcpy(&bits, &f, 4);
    switch (type) {
    case 0: ((float *)at)[i] = f; break;
    case 1: ((double *)at)[i] = v; break;
    case 2: ((unsigned short *)at)[i] = (unsigned short)half(v); break;
    case 3: ((signed char *)at)[i] = (signed char)v; break;
    case 4: ((float *)at)[2 * i] = f, ((float *)at)[2 * i + 1] = 0; break;
    case 5: ((double *)at)[2 * i] = v, ((double *)at)[2 * i + 1] = 0; break;
    case 10: ((int *)at)[i] = v; break;
    case 14: ((unsigned short *)at)[i] = (unsigned short)(bits >> 16); break;
    }
}
static void together(int ta, int tx, int ty, int compute)
{
    enum { N = 12 };
    static const int bytes[] = {4, 8, 2, 1, 8, 16, 0, 0, 0, 0, 4, 0, 0, 0, 2};
    int ptr[N + 1] = {0}, ind[N * N], nnz = 0, a[N * N] = {0}, x[N];
    char av[N * N * 16], xv[N * 16], yv[N * 16], got[N * 16], alpha[16], beta[16];
    for (int i = 0; i < N; i++) {
        x[i] = upto(7) - 3;
        store(tx, xv, i, x[i]);
        for (int j = 0; j < N; j++)
            if (upto(2)) {
                a[i * N + j] = upto(7) - 3;
                store(ta, av, nnz, a[i * N + j]);
                ind[nnz++] = j;
            }
        ptr[i + 1] = nnz;
        store(ty, yv, i, i);
    }
    store(compute, alpha, 0, 2), store(compute, beta, 0, 3);
    ((int (*)(void *, int))symbol("cusparseSetPointerMode"))(handle, 0);
    void *dp = device(ptr, sizeof ptr), *di = device(ind, sizeof ind), *dv = device(av, sizeof av),
         *px = device(xv, sizeof xv), *py = device(yv, sizeof yv), *m = NULL, *dx = NULL, *dy = NULL;
    OK(((int (*)(void **, int64_t, int64_t, int64_t, V, V, V, int, int, int, int))symbol("cusparseCreateCsr"))(
        &m, N, N, nnz, dp, di, dv, I32, I32, 0, ta));
    OK(((int (*)(void **, int64_t, void *, int))symbol("cusparseCreateDnVec"))(&dx, N, px, tx));
    OK(((int (*)(void **, int64_t, void *, int))symbol("cusparseCreateDnVec"))(&dy, N, py, ty));
    OK(((mv *)symbol("cusparseSpMV"))(handle, 0, alpha, m, dx, beta, dy, compute, 0, m));
    cudaMemcpy(got, py, sizeof got, 2);
    for (int i = 0; i < N; i++) {
        int sum = 0;
        for (int j = 0; j < N; j++)
            sum += a[i * N + j] * x[j];
        store(ty, yv, i, 2 * sum + 3 * i);
    }
    EXPECT(!memcmp(got, yv, (size_t)(N * bytes[ty])), "SpMV of types %d %d %d %d", ta, tx, ty, compute);
    destroy(m), drop_dnvec(dx), drop_dnvec(dy);
    cudaFree(dp), cudaFree(di), cudaFree(dv), cudaFree(px), cudaFree(py);
}

/* Nothing in it: what is there is scaled. */
static void nothing(int type)
{
    int t = cuda_type[type], rows = 1 + upto(6), some = 0;
    struct buffer x = buffer(type, 4), y = buffer(type, (size_t)rows);
    num beta = special(type);
    int zeros[8] = {0};
    void *m = NULL, *dx = dnvec(x, 4), *dy = dnvec(y, rows), *ptr = device(zeros, sizeof zeros);
    upload(x), upload(y);
    for (; some < 2; some++) {
        V pa = scalar(type, 1), pb = scalar(type, beta);
        if (some)
            OK(((int (*)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, V, V, V, int, int, int, int, int))symbol(
                "cusparseCreateBsr"))(&m, rows, 1, 0, 1, 4, ptr, NULL, NULL, I32, I32, 0, t, ROW));
        else
            OK(((int (*)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, V, V, V, int, int, int, int))symbol(
                "cusparseCreateSlicedEll"))(&m, rows, 4, 0, 0, 2, ptr, NULL, NULL, I32, I32, 0, t));
        OK(((mv *)symbol("cusparseSpMV"))(handle, 0, pa, m, dx, pb, dy, t, 0, ptr));
        for (int i = 0; i < rows; i++)
            y.ref[i] *= beta;
        COMPARE(y, 1, "SpMV with nothing");
        destroy(m);
    }
    drop_dnvec(dx), drop_dnvec(dy), drop(x), drop(y), cudaFree(ptr);
}

int main(void)
{
    static const int types[][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {4, 4, 4, 4},   {5, 5, 5, 5}, {3, 3, 10, 10},
                                   {3, 3, 0, 0}, {2, 2, 0, 0}, {14, 14, 0, 0}, {2, 2, 2, 0}, {14, 14, 14, 0},
                                   {0, 4, 4, 4}, {1, 5, 5, 5}, {0, 1, 1, 1}};
    OK(begin());
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        together(types[i][0], types[i][1], types[i][2], types[i][3]);
    for (int round = 0; round < 40; round++)
        for (int type = 0; type < 4; type++) {
            pointer_mode();
            blocks(type), sliced(type), sliced_solve(type, 0), sliced_solve(type, 1), ell(type);
            batched(type, CSR), batched(type, COO), batched_blocks(type);
            nothing(type);
        }
    OK(((int (*)(void *))symbol("cusparseDestroy"))(handle));
    return check_end("cuSPARSE's other formats, batches and types");
}
