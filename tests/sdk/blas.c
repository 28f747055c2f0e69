/* cuBLAS over a muBLAS of which only some names are seen: norms, products with diagonal matrices, a handle's stream. */
#include <math.h>
#include <string.h>

#include "maths.h"

static void *h;
static char *device;
enum { TO = 1, FROM = 2 };

static void put(const void *from, size_t n) { OK(cudaMemcpy(device, from, n, TO)); }

static int near(double a, double b) { return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-6 * fabs(b); }

/* The norm of n numbers by each road: n and increment, where the result lies, and both widths of sizes. */
static int norm_is(const double *x, int n, int incx, double want)
{
    double got = -1, wide = -1, there = -1;
    int mode = 7, bad;
    put(x, 64 * sizeof *x);
    bad = cublasDnrm2_v2(h, n, device, incx, &got) || cublasDnrm2_v2_64(h, n, device, incx, &wide) ||
          cublasSetPointerMode_v2(h, CUBLAS_POINTER_MODE_DEVICE) || cublasDnrm2_v2(h, n, device, incx, device + 2048) ||
          cublasGetPointerMode_v2(h, &mode) || cudaMemcpy(&there, device + 2048, sizeof there, FROM) ||
          cublasSetPointerMode_v2(h, CUBLAS_POINTER_MODE_HOST);
    return !bad && mode == CUBLAS_POINTER_MODE_DEVICE && near(got, want) && near(wide, want) && near(there, want);
}

static void norms(void)
{
    double x[64] = {3, 1e9, 4, 1e9, 12, 1e9}, big[64] = {3e200, 4e200}, little[64] = {3e-200, 4e-200}, none[64] = {0};
    double end[64] = {1, INFINITY}, odd[64] = {1, NAN, INFINITY}, got = 0, zs[] = {3, 4, 1e9, 1e9, 12, 0};
    float f[64] = {3e30f, 4e30f}, cs[] = {3e-30f, 4e-30f, 9, 9, 0, 12e-30f}, single = 0;
    check(norm_is(x, 3, 2, 13) && norm_is(x, 1, 1, 3) && norm_is(x, 0, 1, 0) && norm_is(x, 3, -1, 0),
          "norms, with increments");
    check(norm_is(big, 2, 1, 5e200) && norm_is(little, 2, 1, 5e-200) && norm_is(none, 64, 1, 0),
          "norms whose squares leave a double's range");
    check(norm_is(end, 2, 1, INFINITY) && norm_is(odd, 3, 1, NAN), "norms of what is no finite number");
    put(f, sizeof f);
    int bad = cublasSnrm2_v2(h, 2, device, 1, &single) || !near((double)single, 5e30);
    put(cs, sizeof cs);
    bad |= cublasScnrm2_v2(h, 2, device, 2, &single) || !near((double)single, 13e-30);
    put(zs, sizeof zs);
    bad |= cublasDznrm2_v2(h, 2, device, 2, &got) || !near(got, 13);
    check(!bad, "norms of floats and complex numbers");
    check(cublasDnrm2_v2(h, 2, device, 1, NULL) != 0 && cublasDnrm2_v2(NULL, 2, device, 1, &got) != 0,
          "norms of nothing are refused");
}

enum { M = 3, N = 4, LDA = 5, LDC = 6 };

/* What dgmm gives for one matrix: against the definition, with C elsewhere and, where the leading dimensions are one,
 * in place. Numbers are pairs of which the second is 0 for real types. */
static int product_is(int side, int incx, int in_place, int complex,
                      int (*gmm)(void *, int, int, int, const void *, int, const void *, int, void *, int))
{
    double a[2 * LDA * N], x[64], c[2 * LDC * N], want[2 * LDC * N];
    int width = complex ? 2 : 1, count = side == CUBLAS_SIDE_LEFT ? M : N, ldc = in_place ? LDA : LDC;
    for (int i = 0; i < width * LDA * N; i++)
        a[i] = i + 1;
    a[width * 6] = NAN, a[width * 2] = INFINITY; /* column 1 row 1, column 0 row 2 */
    for (int i = 0; i < 64; i++)
        x[i] = i % 7 == 3 ? 0 : i - 5;
    for (int i = 0; i < width * ldc * N; i++)
        c[i] = want[i] = in_place ? a[i] : NAN;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            int k = side == CUBLAS_SIDE_LEFT ? i : j;
            const double *v = x + width * (incx < 0 ? (count - 1 - k) * -incx : k * incx);
            const double *e = a + width * (i + j * LDA);
            double *w = want + width * (i + j * ldc);
            w[0] = e[0] * v[0] - (complex ? e[1] * v[1] : 0);
            if (complex)
                w[1] = e[0] * v[1] + e[1] * v[0];
        }
    char *at = device + 4096, *to = in_place ? device : device + 8192;
    put(a, sizeof a);
    int bad = cudaMemcpy(at, x, sizeof x, TO) || cudaMemcpy(device + 8192, c, sizeof c, TO) ||
              gmm(h, side, M, N, device, LDA, at, incx, to, ldc) || cudaMemcpy(c, to, sizeof c, FROM);
    for (int i = 0; i < width * ldc * N; i++) {
        int special = complex && (isnan(want[i]) || isinf(want[i])); /* which part is what differs by library */
        bad |= special ? isfinite(c[i]) : !near(c[i], want[i]);
    }
    return !bad;
}

static int wide_ddgmm(void *handle, int side, int m, int n, const void *a, int lda, const void *x, int incx, void *c,
                      int ldc)
{
    return cublasDdgmm_64(handle, side, m, n, a, lda, x, incx, c, ldc);
}

static void diagonals(void)
{
    static const int sides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}, steps[] = {1, 2, 0, -1, -3};
    int bad = 0, mode = 0;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 5; i++)
            for (int place = 0; place < 2; place++)
                bad |= !product_is(sides[s], steps[i], place, 0, cublasDdgmm) ||
                       !product_is(sides[s], steps[i], place, 0, wide_ddgmm) ||
                       !product_is(sides[s], steps[i], place, 1, cublasZdgmm);
    check(!bad, "a matrix times a diagonal one, with NaN and infinity, increments of all signs, in place");
    float a[] = {1, 2, 3, 4}, c[4] = {0}, x[] = {10, 100};
    put(a, sizeof a);
    bad = cudaMemcpy(device + 4096, x, sizeof x, TO) || cublasSetPointerMode_v2(h, CUBLAS_POINTER_MODE_DEVICE) ||
          cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH) ||
          cublasSdgmm(h, CUBLAS_SIDE_RIGHT, 2, 2, device, 2, device + 4096, 1, device + 8192, 2) ||
          cudaMemcpy(c, device + 8192, sizeof c, FROM) || c[0] != 10 || c[1] != 20 || c[2] != 300 || c[3] != 400 ||
          cublasCdgmm(h, CUBLAS_SIDE_LEFT, 1, 2, device, 1, device + 4096, 1, device + 8192, 1) ||
          cudaMemcpy(c, device + 8192, sizeof c, FROM) || c[0] != -190 || c[1] != 120 || c[2] != -370 || c[3] != 340;
    check(!bad && !cublasGetMathMode(h, &mode) && mode == CUBLAS_TF32_TENSOR_OP_MATH &&
              !cublasGetPointerMode_v2(h, &mode) && mode == CUBLAS_POINTER_MODE_DEVICE &&
              !cublasSetPointerMode_v2(h, CUBLAS_POINTER_MODE_HOST),
          "and of floats; the handle's modes stay");
    check(cublasDdgmm(h, 7, 1, 1, device, 1, device, 1, device, 1) == CUBLAS_STATUS_INVALID_VALUE &&
              cublasDdgmm(h, CUBLAS_SIDE_LEFT, 2, 1, device, 1, device, 1, device, 2) == CUBLAS_STATUS_INVALID_VALUE &&
              !cublasDdgmm(h, CUBLAS_SIDE_LEFT, 0, 1, NULL, 1, NULL, 1, NULL, 1),
          "arguments are looked at");
}

static void streams(void)
{
    void *stream = NULL, *got = &stream, *other = NULL;
    int bad = cudaStreamCreateWithFlags(&stream, 1) || cublasGetStream_v2(h, &got) || got ||
              cublasSetStream_v2(h, stream) || cublasGetStream_v2(h, &got) || got != stream ||
              cublasCreate_v2(&other) || cublasGetStream_v2(other, &got) || got || cublasDestroy_v2(other);
    norms(); /* on that stream, too */
    diagonals();
    check(!bad && !cublasSetStream_v2(h, NULL) && !cublasGetStream_v2(h, &got) && !got && !cudaStreamDestroy(stream),
          "a handle's stream is known");
}

void blas(void)
{
    void *p = NULL;
    check(!cublasCreate_v2(&h) && !cudaMalloc(&p, 65536), "a handle");
    device = p;
    norms();
    diagonals();
    streams();
    check(!cublasDestroy_v2(h) && !cudaFree(p), "which goes");
}
