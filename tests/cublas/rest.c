/* The rest of cuBLAS against plain loops: rotations, batches of vectors and triangles, packed
 * triangles, f16, groups, QR, the interface without handles, cublasXt; and errors that must not be
 * seen. */
#include "blas.h"

#include <stdint.h>

typedef const void *V;

/* ---- rotations --------------------------------------------------------------------------------- */

static void rotations(int type)
{
    num a = value(type), b = value(type), was_a = a, was_b = b, c, s;
    char pa[16], pb[16], pc[16], ps[16];
    pack(type, &a, pa, 1), pack(type, &b, pb, 1);
    pointer_mode();
    char *at = NULL;
    if (on_device) {
        cudaMalloc((void **)&at, 64);
        cudaMemcpy(at, pa, 16, 1), cudaMemcpy(at + 16, pb, 16, 1);
    }
    OK(((int (*)(void *, V, V, V, V))symbol("cublas%crotg_v2", letter_of[type]))(
        handle, at ? at : pa, at ? at + 16 : pb, at ? at + 32 : pc, at ? at + 48 : ps));
    if (at) {
        cudaMemcpy(pa, at, 16, 2), cudaMemcpy(pc, at + 32, 16, 2), cudaMemcpy(ps, at + 48, 16, 2);
        cudaFree(at);
    }
    unpack(type, pa, &a, 1), unpack(type & 1, pc, &c, 1), unpack(type, ps, &s, 1);
    /* it turns (a, b) to (r, 0), and lengths stay */
    EXPECT(near(c * was_a + s * was_b, a, type, 10) && near(c * was_b - conj(s) * was_a, 0, type, 10) &&
               near(creal(c) * creal(c) + creal(s) * creal(s) + cimag(s) * cimag(s), 1, type, 10),
           "rotg %c", letter_of[type]);
    if (type > 1)
        return;
    /* a modified rotation: the second of (sqrt d1 x1, sqrt d2 y1) becomes 0, whatever form is chosen */
    num in[] = {upto(5) + 0.5, upto(5) + 0.25, value(type) + 2, value(type) + 3}, h[5];
    char raw[4][8], param[5 * 8];
    for (int i = 0; i < 4; i++)
        pack(type, &in[i], raw[i], 1);
    ((int (*)(void *, int))symbol("cublasSetPointerMode_v2"))(handle, 0);
    OK(((int (*)(void *, V, V, V, V, V))symbol("cublas%crotmg_v2", letter_of[type]))(handle, raw[0], raw[1], raw[2],
                                                                                     raw[3], param));
    unpack(type, param, h, 5);
    double flag = creal(h[0]), h11 = flag == 0 ? 1 : creal(h[1]), h21 = flag == 1 ? -1 : creal(h[2]);
    double h12 = flag == 1 ? 1 : creal(h[3]), h22 = flag == 0 ? 1 : creal(h[4]);
    if (flag == -2)
        h11 = h22 = 1, h12 = h21 = 0;
    EXPECT(near(h21 * in[2] + h22 * in[3], 0, type, 50), "rotmg %c: flag %g, %g left", letter_of[type], flag,
           creal(h21 * in[2] + h22 * in[3]));
    int n = upto(20) + 1, incx = upto(2) + 1, incy = upto(2) ? 1 : -2;
    struct buffer x = buffer(type, (size_t)(n * 2)), y = buffer(type, (size_t)(n * 2));
    upload(x), upload(y);
    OK(((int (*)(void *, int, V, int, V, int, V))symbol("cublas%crotm_v2", letter_of[type]))(handle, n, x.at, incx,
                                                                                             y.at, incy, param));
    for (int i = 0; i < n; i++) {
        num *p = &x.ref[i * incx], *q = &y.ref[incy > 0 ? i : (n - 1 - i) * 2], u = *p, v = *q;
        *p = h11 * u + h12 * v, *q = h21 * u + h22 * v;
    }
    COMPARE(x, 10, "rotm"), COMPARE(y, 10, "rotm");
    drop(x), drop(y);
}

/* ---- batches ----------------------------------------------------------------------------------- */

enum { BATCH = 3 };
static void *list_of(const struct buffer *b, long stride) /* addresses of the members of one buffer */
{
    void *list[BATCH], *at;
    for (int i = 0; i < BATCH; i++)
        list[i] = (char *)b->at + (size_t)(stride * i) * size_of(b->type);
    cudaMalloc(&at, sizeof list);
    cudaMemcpy(at, list, sizeof list, 1);
    return at;
}

static void vectors(int type)
{
    int m = upto(12) + 1, n = upto(12) + 1, op = upto(3), lda = m + upto(3), incx = upto(2) + 1, incy = upto(2) + 1;
    int in = op ? m : n, out = op ? n : m;
    long sa = (long)lda * n, sx = (long)in * incx + 1, sy = (long)out * incy + 2;
    struct buffer a = buffer(type, (size_t)sa * BATCH), x = buffer(type, (size_t)sx * BATCH);
    struct buffer y = buffer(type, (size_t)sy * BATCH);
    num alpha, beta;
    for (int form = 0; form < 2; form++) {
        pointer_mode();
        alpha = special(type), beta = special(type);
        if (beta == 0)
            for (int i = 0; i < BATCH * out; i++)
                y.ref[i / out * sy + i % out * incy] = NAN;
        upload(a), upload(x), upload(y);
        void *la = list_of(&a, sa), *lx = list_of(&x, sx), *ly = list_of(&y, sy);
        if (form)
            OK(((int (*)(void *, int, int, int, V, V, int, V, int, V, V, int, int))symbol(
                "cublas%cgemvBatched", letter_of[type]))(handle, op, m, n, scalar(type, alpha), la, lda, lx, incx,
                                                         scalar(type, beta), ly, incy, BATCH));
        else
            OK(((int (*)(void *, int, int, int, V, V, int, long long, V, int, long long, V, V, int, long long,
                         int))symbol("cublas%cgemvStridedBatched", letter_of[type]))(
                handle, op, m, n, scalar(type, alpha), a.at, lda, sa, x.at, incx, sx, scalar(type, beta), y.at, incy,
                sy, BATCH));
        for (int q = 0; q < BATCH; q++)
            for (int i = 0; i < out; i++) {
                num s = 0, *to = &y.ref[q * sy + i * incy];
                for (int k = 0; k < in; k++)
                    s += conj_if(op == 2, a.ref[q * sa + (op ? k + (long)i * lda : i + (long)k * lda)]) *
                         x.ref[q * sx + k * incx];
                *to = (alpha == 0 ? 0 : alpha * s) + (beta == 0 ? 0 : beta * *to);
            }
        COMPARE(y, 2 * in, form ? "gemvBatched" : "gemvStridedBatched");
        cudaFree(la), cudaFree(lx), cudaFree(ly);
    }
    drop(a), drop(x), drop(y);
}

static void triangles(int type)
{
    int m = upto(8) + 1, n = upto(8) + 1, side = upto(2), uplo = upto(2), op = upto(3), diag = upto(2);
    int order = side ? n : m, lda = order + upto(3), ldb = m + upto(3);
    long sa = (long)lda * order, sb = (long)ldb * n;
    struct buffer a = buffer(type, (size_t)sa * BATCH), b = buffer(type, (size_t)sb * BATCH);
    num alpha = value(type), *x = malloc(b.n * sizeof *x);
    pointer_mode();
    for (int q = 0; q < BATCH; q++)
        for (int i = 0; i < order; i++)
            a.ref[q * sa + i + i * lda] += 4 * order;
    memcpy(x, b.ref, b.n * sizeof *x);
    /* b = op(a) x or x op(a), so that alpha x is what is found */
    for (int q = 0; q < BATCH; q++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                num s = 0;
                for (int k = 0; k < order; k++) {
                    int r = side ? k : i, c = side ? j : k, row = op ? c : r, col = op ? r : c;
                    bool inside = uplo == 0 ? row >= col : row <= col;
                    num v = row == col && diag ? 1
                            : inside           ? conj_if(op == 2, a.ref[q * sa + row + (long)col * lda])
                                               : 0;
                    s += v * (side ? x[q * sb + i + (long)k * ldb] : x[q * sb + k + (long)j * ldb]);
                }
                b.ref[q * sb + i + (long)j * ldb] = s;
            }
    upload(a), upload(b);
    void *la = list_of(&a, sa), *lb = list_of(&b, sb);
    OK(((int (*)(void *, int, int, int, int, int, int, V, V, int, V, int, int))symbol(
        "cublas%ctrsmBatched", letter_of[type]))(handle, side, uplo, op, diag, m, n, scalar(type, alpha), la, lda, lb,
                                                 ldb, BATCH));
    for (int q = 0; q < BATCH; q++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                b.ref[q * sb + i + (long)j * ldb] = alpha * x[q * sb + i + (long)j * ldb];
    if (!diag) /* unit triangles of random numbers are too near to singular */
        COMPARE(b, 50 * order, "trsmBatched");
    cudaFree(la), cudaFree(lb), free(x);
    drop(a), drop(b);
}

static void packed(int type)
{
    int n = upto(12) + 1, lda = n + upto(3), uplo = upto(2), k = 0;
    struct buffer a = buffer(type, (size_t)(lda * n)), p = buffer(type, (size_t)(n * (n + 1) / 2));
    upload(a), upload(p);
    OK(((int (*)(void *, int, int, V, V, int))symbol("cublas%ctpttr", letter_of[type]))(handle, uplo, n, p.at, a.at,
                                                                                        lda));
    for (int j = 0; j < n; j++)
        for (int i = uplo ? 0 : j; i < (uplo ? j + 1 : n); i++)
            a.ref[i + j * lda] = p.ref[k++];
    COMPARE(a, 0, "tpttr");
    for (size_t i = 0; i < p.n; i++)
        p.ref[i] = NAN;
    upload(p);
    OK(((int (*)(void *, int, int, V, int, V))symbol("cublas%ctrttp", letter_of[type]))(handle, uplo, n, a.at, lda,
                                                                                        p.at));
    k = 0;
    for (int j = 0; j < n; j++)
        for (int i = uplo ? 0 : j; i < (uplo ? j + 1 : n); i++)
            p.ref[k++] = a.ref[i + j * lda];
    COMPARE(p, 0, "trttp");
    drop(a), drop(p);
}

/* R^H R is A^H A, and R is a triangle; least squares of systems whose solutions are known. */
static void orthogonal(int type)
{
    int n = upto(6) + 1, m = n + upto(5), nrhs = upto(3) + 1, lda = m + upto(3), info = -7, infos[BATCH];
    long sa = (long)lda * n, sb = (long)lda * nrhs;
    struct buffer a = buffer(type, (size_t)sa * BATCH), tau = buffer(type, (size_t)n * BATCH);
    struct buffer b = buffer(type, (size_t)sb * BATCH);
    num *x = malloc((size_t)(n * nrhs * BATCH) * sizeof *x), *got = malloc((a.n + b.n) * sizeof *got);
    char *raw = malloc((a.n + b.n) * 16);
    for (int i = 0; i < n * nrhs * BATCH; i++)
        x[i] = value(type);
    for (int q = 0; q < BATCH; q++) {
        for (int i = 0; i < n; i++)
            a.ref[q * sa + i + i * lda] += 3;
        for (int j = 0; j < nrhs; j++)
            for (int i = 0; i < m; i++) {
                num s = 0;
                for (int k = 0; k < n; k++)
                    s += a.ref[q * sa + i + k * lda] * x[(q * nrhs + j) * n + k];
                b.ref[q * sb + i + j * lda] = s;
            }
    }
    upload(a), upload(tau), upload(b);
    void *la = list_of(&a, sa), *lt = list_of(&tau, n), *lb = list_of(&b, sb), *where;
    cudaMalloc(&where, sizeof infos);
    typedef int geqrf(void *, int, int, V, int, V, int *, int);
    typedef int gels(void *, int, int, int, int, V, int, V, int, int *, int *, int);
    geqrf *factor = symbol("cublas%cgeqrfBatched", letter_of[type]);
    gels *solve = symbol("cublas%cgelsBatched", letter_of[type]);
    OK(factor(handle, m, n, la, lda, lt, &info, BATCH));
    OK(info);
    cudaMemcpy(raw, a.at, a.n * size_of(type), 2);
    unpack(type, raw, got, a.n);
    for (int q = 0; q < BATCH; q++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                num r = 0, s = 0;
                for (int k = 0; k < m; k++)
                    s += conj(a.ref[q * sa + k + i * lda]) * a.ref[q * sa + k + j * lda];
                for (int k = 0; k <= (i < j ? i : j); k++)
                    r += conj(got[q * sa + k + i * lda]) * got[q * sa + k + j * lda];
                EXPECT(near(r, s, type, 100), "geqrf %c: (%d, %d) is %g, not %g", letter_of[type], i, j, creal(r),
                       creal(s));
            }
    upload(a);
    info = -7;
    OK(solve(handle, 0, m, n, nrhs, la, lda, lb, lda, &info, where, BATCH));
    OK(info);
    cudaMemcpy(infos, where, sizeof infos, 2);
    cudaMemcpy(raw, b.at, b.n * size_of(type), 2);
    unpack(type, raw, got, b.n);
    for (int q = 0; q < BATCH; q++) {
        OK(infos[q]);
        for (int i = 0; i < n * nrhs; i++)
            EXPECT(near(got[q * sb + i % n + i / n * lda], x[q * n * nrhs + i], type, 500), "gels %c: %g, not %g",
                   letter_of[type], creal(got[q * sb + i % n + i / n * lda]), creal(x[q * n * nrhs + i]));
    }
    IS(factor(handle, -1, n, la, lda, lt, &info, BATCH), 7);
    IS(info, -1);
    IS(factor(handle, m, n, la, m - 1, lt, &info, BATCH), 7);
    IS(info, -4);
    IS(factor(handle, m, n, la, lda, lt, NULL, BATCH), 7);
    IS(solve(handle, 0, m, n, -1, la, lda, lb, lda, &info, NULL, BATCH), 7);
    IS(info, -4);
    IS(solve(handle, 1, m, n, nrhs, la, lda, lb, lda, &info, NULL, BATCH), 15);
    IS(solve(handle, 0, n, n + 1, nrhs, la, lda, lb, lda, &info, NULL, BATCH), 15);
    cudaFree(la), cudaFree(lt), cudaFree(lb), cudaFree(where);
    free(x), free(got), free(raw);
    drop(a), drop(tau), drop(b);
}

/* ---- f16 --------------------------------------------------------------------------------------- */

static uint16_t half(double v) /* whole numbers up to 2048 */
{
    int e;
    if (v == 0)
        return 0;
    double f = frexp(fabs(v), &e);
    return (uint16_t)((v < 0 ? 0x8000 : 0) | (e + 14) << 10 | ((int)ldexp(f, 11) & 0x3ff));
}
static double unhalf(uint16_t h)
{
    double m = h & 0x7fff ? ldexp((h & 0x3ff) + 1024, ((h >> 10) & 31) - 25) : 0;
    return h & 0x8000 ? -m : m;
}

static void fill(uint16_t *to, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = half(upto(9) - 4);
}

static void halves(int form) /* plain, batched, strided; whole numbers, so that results are exact */
{
    enum { M = 6, N = 5, K = 7 };
    uint16_t a[BATCH][K * M], b[BATCH][K * N], c[BATCH][M * N], was[BATCH][M * N];
    int ta = upto(2), tb = upto(2), lda = ta ? K : M, ldb = tb ? N : K;
    fill(*a, BATCH * K * M), fill(*b, BATCH * K * N), fill(*c, BATCH * M * N);
    memcpy(was, c, sizeof c);
    uint16_t alpha = half(2), beta = half(3);
    char *da, *db, *dc;
    cudaMalloc((void **)&da, sizeof a), cudaMalloc((void **)&db, sizeof b), cudaMalloc((void **)&dc, sizeof c);
    cudaMemcpy(da, a, sizeof a, 1), cudaMemcpy(db, b, sizeof b, 1), cudaMemcpy(dc, c, sizeof c, 1);
    ((int (*)(void *, int))symbol("cublasSetPointerMode_v2"))(handle, 0);
    if (form == 0) {
        OK(((int (*)(void *, int, int, int, int, int, V, V, int, V, int, V, V, int))symbol("cublasHgemm"))(
            handle, ta, tb, M, N, K, &alpha, da, lda, db, ldb, &beta, dc, M));
    } else if (form == 1) {
        void *list[3 * BATCH], *at;
        for (int i = 0; i < BATCH; i++)
            list[i] = da + sizeof *a * i, list[BATCH + i] = db + sizeof *b * i,
            list[2 * BATCH + i] = dc + sizeof *c * i;
        cudaMalloc(&at, sizeof list), cudaMemcpy(at, list, sizeof list, 1);
        void **l = at;
        OK(((int (*)(void *, int, int, int, int, int, V, V, int, V, int, V, V, int, int))symbol("cublasHgemmBatched"))(
            handle, ta, tb, M, N, K, &alpha, l, lda, l + BATCH, ldb, &beta, l + 2 * BATCH, M, BATCH));
        cudaMemcpy(c, dc, sizeof c, 2);
        cudaFree(at);
    } else {
        OK(((int (*)(void *, int, int, int, int, int, V, V, int, long long, V, int, long long, V, V, int, long long,
                     int))symbol("cublasHgemmStridedBatched"))(handle, ta, tb, M, N, K, &alpha, da, lda, K * M, db, ldb,
                                                               K * N, &beta, dc, M, M * N, BATCH));
    }
    cudaMemcpy(c, dc, sizeof c, 2);
    for (int q = 0; q < (form ? BATCH : 1); q++)
        for (int i = 0; i < M * N; i++) {
            double s = 0;
            for (int k = 0; k < K; k++)
                s += unhalf(a[q][ta ? k + i % M * K : i % M + k * M]) *
                     unhalf(b[q][tb ? i / M + k * N : k + i / M * K]);
            IS((int)unhalf(c[q][i]), (int)(2 * s + 3 * unhalf(was[q][i])));
        }
    cudaFree(da), cudaFree(db), cudaFree(dc);
}

/* y = a x of f16 and increments, on a batch with strides. */
static void half_vectors(void)
{
    enum { M = 5, N = 4 };
    int op = upto(2), in = op ? M : N, out = op ? N : M, incx = upto(3) + 1, incy = upto(3) + 1;
    uint16_t a[BATCH][M * N], x[BATCH][5 * 3], y[BATCH][5 * 3], was[BATCH][5 * 3];
    float alpha = 2, beta = (float)upto(2);
    fill(*a, BATCH * M * N), fill(*x, BATCH * 15), fill(*y, BATCH * 15);
    memcpy(was, y, sizeof y);
    char *da, *dx, *dy;
    cudaMalloc((void **)&da, sizeof a), cudaMalloc((void **)&dx, sizeof x), cudaMalloc((void **)&dy, sizeof y);
    cudaMemcpy(da, a, sizeof a, 1), cudaMemcpy(dx, x, sizeof x, 1), cudaMemcpy(dy, y, sizeof y, 1);
    OK(((int (*)(void *, int, int, int, V, V, int, long long, V, int, long long, V, V, int, long long, int))symbol(
        "cublasHSHgemvStridedBatched"))(handle, op, M, N, &alpha, da, M, M * N, dx, incx, 15, &beta, dy, incy, 15,
                                        BATCH));
    cudaMemcpy(y, dy, sizeof y, 2);
    for (int q = 0; q < BATCH; q++)
        for (int p = 0; p < 15; p++) {
            double s = unhalf(was[q][p]);
            if (p % incy == 0 && p / incy < out) {
                s *= beta;
                for (int k = 0; k < in; k++)
                    s += 2 * unhalf(a[q][op ? k + p / incy * M : p / incy + k * M]) * unhalf(x[q][k * incx]);
            }
            IS((int)unhalf(y[q][p]), (int)s);
        }
    cudaFree(da), cudaFree(dx), cudaFree(dy);
}

/* ---- without handles, and with matrices of the host --------------------------------------------- */

static void plain(int type) /* f32 and f64 */
{
    int m = upto(9) + 1, n = upto(9) + 1, k = upto(9) + 1, ta = upto(2), tb = upto(2);
    int lda = (ta ? k : m) + 1, ldb = (tb ? n : k) + 1, ldc = m + 1;
    struct buffer a = buffer(type, (size_t)(lda * (ta ? m : k))), b = buffer(type, (size_t)(ldb * (tb ? k : n)));
    struct buffer c = buffer(type, (size_t)(ldc * n));
    double alpha = 2, beta = 3, dot = 0;
    char op[] = "NTnt";
    upload(a), upload(b), upload(c);
    if (type)
        ((void (*)(char, char, int, int, int, double, V, int, V, int, double, V, int))symbol("cublasDgemm"))(
            op[ta], op[2 + tb], m, n, k, alpha, a.at, lda, b.at, ldb, beta, c.at, ldc);
    else
        ((void (*)(char, char, int, int, int, float, V, int, V, int, float, V, int))symbol("cublasSgemm"))(
            op[ta], op[2 + tb], m, n, k, 2, a.at, lda, b.at, ldb, 3, c.at, ldc);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            num s = 0;
            for (int x = 0; x < k; x++)
                s += a.ref[ta ? x + i * lda : i + x * lda] * b.ref[tb ? j + x * ldb : x + j * ldb];
            c.ref[i + j * ldc] = alpha * s + beta * c.ref[i + j * ldc];
        }
    COMPARE(c, 2 * k, "gemm without a handle");
    for (int i = 0; i < ldc * n / 2; i++)
        dot += creal(c.ref[2 * i] * c.ref[i]);
    double got = type ? ((double (*)(int, V, int, V, int))symbol("cublasDdot"))(ldc * n / 2, c.at, 2, c.at, 1)
                      : ((float (*)(int, V, int, V, int))symbol("cublasSdot"))(ldc * n / 2, c.at, 2, c.at, 1);
    EXPECT(near(got, dot, type, 1000), "dot without a handle: %g, not %g", got, dot);
    OK(((int (*)(void))symbol("cublasGetError"))());
    drop(a), drop(b), drop(c);
}

static void complex_plain(void)
{
    float complex x[] = {1 + 2 * I, 3 - I}, y[] = {2 - I, -1 + 4 * I};
    struct pair {
        float re, im;
    } alpha = {0, 1};
    char *at;
    cudaMalloc((void **)&at, 64);
    cudaMemcpy(at, x, sizeof x, 1), cudaMemcpy(at + 16, y, sizeof y, 1);
    struct pair dot = ((struct pair(*)(int, V, int, V, int))symbol("cublasCdotc"))(2, at, 1, at + 16, 1);
    float complex want = conjf(x[0]) * y[0] + conjf(x[1]) * y[1];
    IS((int)dot.re, (int)crealf(want));
    IS((int)dot.im, (int)cimagf(want));
    ((void (*)(int, struct pair, V, int, V, int))symbol("cublasCaxpy"))(2, alpha, at, 1, at + 16, 1);
    cudaMemcpy(y, at + 16, sizeof y, 2);
    IS(y[0] == (2 - I) + I * x[0] && y[1] == (-1 + 4 * I) + I * x[1], 1);
    cudaFree(at);
}

static void of_the_host(void)
{
    enum { M = 30, N = 20, K = 25 };
    static double a[M * K], b[K * N], c[(M + 3) * N], want[(M + 3) * N];
    double alpha = 2, beta = 0.5;
    void *xt;
    OK(((int (*)(void **))symbol("cublasXtCreate"))(&xt));
    for (int i = 0; i < M * K; i++)
        a[i] = unit();
    for (int i = 0; i < K * N; i++)
        b[i] = unit();
    for (int i = 0; i < (M + 3) * N; i++)
        want[i] = c[i] = unit();
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            double s = 0;
            for (int k = 0; k < K; k++)
                s += a[k + i * K] * b[k + j * K];
            want[i + j * (M + 3)] = alpha * s + beta * want[i + j * (M + 3)];
        }
    OK(((int (*)(void *, int, int, size_t, size_t, size_t, V, V, size_t, V, size_t, V, V, size_t))symbol(
        "cublasXtDgemm"))(xt, 1, 0, M, N, K, &alpha, a, K, b, K, &beta, c, M + 3));
    for (int i = 0; i < (M + 3) * N; i++)
        if (!EXPECT(fabs(c[i] - want[i]) <= 1e-12, "cublasXtDgemm: element %d is %g, not %g", i, c[i], want[i])) {
            break;
        }
    OK(((int (*)(void *))symbol("cublasXtDestroy"))(xt));
}

/* An error of the program stays; a failing call of the library adds none. */
static void errors(void)
{
    typedef int scal(void *, int, V, V, int);
    scal *f = symbol("cublasSscal_v2");
    float one = 1;
    cudaGetLastError();
    IS(f(handle, 1, NULL, &one, 1), 7);
    OK(cudaGetLastError());
    IS(cudaSetDevice(99), 101);
    OK(f(handle, 0, &one, NULL, 1));
    IS(cudaGetLastError(), 101);
    OK(cudaGetLastError());
}

int main(void)
{
    OK(begin());
    OK(((int (*)(void))symbol("cublasInit"))());
    for (int round = 0; round < 25; round++) {
        for (int type = 0; type < 4; type++)
            rotations(type), vectors(type), triangles(type), packed(type), orthogonal(type);
        halves(round % 3), half_vectors();
        plain(round % 2);
    }
    complex_plain();
    OK(((int (*)(void))symbol("cublasShutdown"))());
    of_the_host();
    errors();
    return check_end("rest");
}
