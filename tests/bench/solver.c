/* cuSOLVER on the CPU muSOLVER beside LAPACK called directly, on the same memory in the same process: LU and Cholesky
 * factors as ratios of times, each waited for. */
#include "library.h"

#include <stdbool.h>
#include <string.h>

typedef int size_f(void *, int, int, void *, int, int *);
typedef int lu_f(void *, int, int, void *, int, void *, int *, int *);
typedef int cholesky_f(void *, int, int, void *, int, void *, int, int *);
typedef void fortran_lu(const int *, const int *, void *, const int *, int *, int *);
typedef void fortran_cholesky(const char *, const int *, void *, const int *, int *, size_t);

static double now(void) { return seconds(CLOCK_MONOTONIC); }

/* The round that others disturbed least, of each; they take turns. */
static void factor(void *handle, bool cholesky, int n)
{
    enum { ROUNDS = 9 };
    size_t bytes = sizeof(double) * (size_t)n * (size_t)n;
    int (*allocate)(void **, size_t) = in("libcudart.so.12", "cudaMalloc");
    int (*release)(void *) = in("libcudart.so.12", "cudaFree");
    int (*synchronize)(void) = in("libcudart.so.12", "cudaDeviceSynchronize");
    size_f *size = in("libcusolver.so.11", cholesky ? "cusolverDnDpotrf_bufferSize" : "cusolverDnDgetrf_bufferSize");
    void *ours = in("libcusolver.so.11", cholesky ? "cusolverDnDpotrf" : "cusolverDnDgetrf");
    void *direct = in("libopenblas.so.0", cholesky ? "dpotrf_" : "dgetrf_");
    double *matrix = malloc(bytes), best[2] = {1e9, 1e9};
    void *a = NULL, *work = NULL;
    int *ints = NULL, lwork = 0, info;
    if (!matrix || allocate(&a, bytes) || allocate((void **)&ints, sizeof(int) * (size_t)(n + 1)))
        exit(1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            matrix[i + j * n] = i == j ? n : 1.0 / (1 + i + j);
    if (size(handle, cholesky ? 0 : n, n, a, n, &lwork) || allocate(&work, sizeof(double) * (size_t)lwork))
        exit(1);
    for (int round = 0; round < ROUNDS; round++)
        for (int side = 0; side < 2; side++) {
            memcpy(a, matrix, bytes); /* the device's memory is the host's here */
            double start = now();
            if (side && cholesky)
                ((fortran_cholesky *)direct)("L", &n, a, &n, &info, 1);
            else if (side)
                ((fortran_lu *)direct)(&n, &n, a, &n, ints, &info);
            else if (cholesky)
                ((cholesky_f *)ours)(handle, 0, n, a, n, work, lwork, ints + n);
            else
                ((lu_f *)ours)(handle, n, n, a, n, work, ints, ints + n);
            synchronize();
            double took = now() - start;
            best[side] = took < best[side] ? took : best[side];
        }
    printf("bench musolver.%s_%d_vs_lapack %.2f ratio\n", cholesky ? "dpotrf" : "dgetrf", n, best[0] / best[1]);
    release(a);
    release(ints);
    release(work);
    free(matrix);
}

int main(void)
{
    int (*create)(void **) = in("libcusolver.so.11", "cusolverDnCreate");
    void *handle = NULL;
    int r = create(&handle);
    if (r) {
        printf("# musolver: cusolverDnCreate answers %d\n", r);
        return r == 1 ? 0 : 1; /* built without OpenBLAS */
    }
    for (int n = 64; n <= 1024; n *= 4)
        for (int cholesky = 0; cholesky < 2; cholesky++)
            factor(handle, cholesky, n);
    return 0;
}
