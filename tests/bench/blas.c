/* cuBLAS on the CPU muBLAS beside OpenBLAS called directly, on the same memory in the same process: products of
 * 64 to 2048 as ratios of times, waited for one by one; and what a small call costs more. */
#include "library.h"

#include <string.h>

typedef const void *V;
typedef int gemm_f(void *, int, int, int, int, int, V, V, int, V, int, V, void *, int);
typedef int scal_f(void *, int, V, void *, int);
typedef void fortran_gemm(const char *, const char *, const int *, const int *, const int *, V, V, const int *, V,
                          const int *, V, void *, const int *);
typedef void fortran_scal(const int *, V, void *, const int *);

static double now(void) { return seconds(CLOCK_MONOTONIC); }
static int by_value(V a, V b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
/* Of the rounds the one that others disturbed least: products take all CPUs. */
static double best(double *at, int n)
{
    qsort(at, (size_t)n, sizeof *at, by_value);
    return at[0];
}

static void *handle;
static int (*synchronize)(void *);

static void products(char type, int n)
{
    enum { ROUNDS = 9 };
    char name[32], direct_name[32];
    size_t size = type == 'S' ? 4 : 8, bytes = size * (size_t)n * (size_t)n;
    snprintf(name, sizeof name, "cublas%cgemm_v2", type);
    snprintf(direct_name, sizeof direct_name, "%cgemm_", type == 'S' ? 's' : 'd');
    gemm_f *ours = in("libcublas.so.12", name);
    fortran_gemm *direct = in("libopenblas.so.0", direct_name);
    int (*allocate)(void **, size_t) = in("libcudart.so.12", "cudaMalloc");
    int (*release)(void *) = in("libcudart.so.12", "cudaFree");
    void *m[3];
    for (int i = 0; i < 3; i++) {
        if (allocate(&m[i], bytes))
            exit(1);
        for (size_t k = 0; k < (size_t)n * (size_t)n; k++)
            if (type == 'S')
                ((float *)m[i])[k] = (float)(k % 13);
            else
                ((double *)m[i])[k] = (double)(k % 13);
    }
    static const float one_s = 1, zero_s = 0;
    static const double one_d = 1, zero_d = 0;
    V one = type == 'S' ? (V)&one_s : &one_d, zero = type == 'S' ? (V)&zero_s : &zero_d;
    int calls = (int)(2e8 / (2.0 * n * n * n));
    calls = calls > 1 ? calls : 1;
    double a[ROUNDS], b[ROUNDS];
    for (int r = -1; r < ROUNDS; r++) {
        double t = now();
        for (int i = 0; i < calls; i++)
            direct("N", "T", &n, &n, &n, one, m[0], &n, m[1], &n, zero, m[2], &n);
        double half = now();
        for (int i = 0; i < calls; i++) {
            if (ours(handle, 0, 1, n, n, n, one, m[0], n, m[1], n, zero, m[2], n))
                exit(1);
            synchronize(NULL);
        }
        if (r >= 0) {
            a[r] = half - t;
            b[r] = now() - half;
        }
    }
    double x = best(a, ROUNDS) / calls, y = best(b, ROUNDS) / calls;
    printf("# %cgemm %4d: OpenBLAS %.1f us (%.1f GFLOPS), cuBLAS %.1f us\n", type, n, x * 1e6, 2e-9 * n * n * n / x,
           y * 1e6);
    printf("bench mublas.%cgemm_%d_vs_openblas %.3f ratio\n", type == 'S' ? 's' : 'd', n, y / x);
    for (int i = 0; i < 3; i++)
        release(m[i]);
}

/* The least work there is: one number times one. */
static void small(void)
{
    enum { ROUNDS = 11, CALLS = 20000 };
    scal_f *ours = in("libcublas.so.12", "cublasSscal_v2"), *below = in("libmublas.so.1", "mublasSscal");
    fortran_scal *direct = in("libopenblas.so.0", "sscal_");
    float one = 1, *x;
    int n = 1;
    if (((int (*)(void *, size_t))in("libcudart.so.12", "cudaMalloc"))(&x, 4))
        exit(1);
    double t[3][ROUNDS];
    for (int r = -1; r < ROUNDS; r++)
        for (int way = 0; way < 3; way++) {
            double start = now();
            for (int i = 0; i < CALLS; i++)
                if (way == 0)
                    direct(&n, &one, x, &n);
                else
                    (way == 1 ? below : ours)(handle, n, &one, x, n);
            if (r >= 0)
                t[way][r] = (now() - start) / CALLS * 1e9;
        }
    double d = best(t[0], ROUNDS), m = best(t[1], ROUNDS), o = best(t[2], ROUNDS);
    printf("# scal of 1: OpenBLAS %.1f ns, muBLAS %.1f ns, cuBLAS %.1f ns\n", d, m, o);
    printf("bench mublas.small_call_added %.1f ns\n", o - d);
    printf("bench mublas.conversion_added %.2f ns\n", o - m);
}

int main(void)
{
    int (*create)(void **) = in("libcublas.so.12", "cublasCreate_v2");
    synchronize = in("libcudart.so.12", "cudaStreamSynchronize");
    if (create(&handle)) {
        printf("# blas: built without OpenBLAS\n");
        return 0;
    }
    static const int sizes[] = {64, 128, 256, 512, 1024, 2048};
    for (int type = 0; type < 2; type++)
        for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
            products("SD"[type], sizes[i]);
    small();
    return 0;
}
