/* cusparseSpMV of CSR matrices on the CPU muSPARSE beside the plain loop (-O3 -march=native), on the same memory in
 * the same process, waited for one by one: as ratios of the process's CPU time, that of all threads. */
#include "library.h"

#include <math.h>
#include <stdint.h>

enum { ROUNDS = 15, I32 = 2, F32 = 0 };

static double now(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

static void plain(int rows, const int *row, const int *column, const float *value, const float *x, float *y)
{
    for (int i = 0; i < rows; i++) {
        float sum = 0;
        for (int k = row[i]; k < row[i + 1]; k++)
            sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}

/* Rows of 8 to 23 numbers; far: in random columns, else near the diagonal. */
static void compare(const char *name, int rows, int far)
{
    int (*allocate)(void **, size_t) = in("libcudart.so.12", "cudaMalloc");
    int (*release)(void *) = in("libcudart.so.12", "cudaFree");
    int (*synchronize)(void *) = in("libcudart.so.12", "cudaStreamSynchronize");
    int (*create)(void **) = in("libcusparse.so.12", "cusparseCreate");
    int (*destroy)(void *) = in("libcusparse.so.12", "cusparseDestroy");
    int (*matrix)(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int,
                  int) = in("libcusparse.so.12", "cusparseCreateCsr");
    int (*vector)(void **, int64_t, void *, int) = in("libcusparse.so.12", "cusparseCreateDnVec");
    int (*size)(void *, int, const void *, void *, void *, const void *, void *, int, int,
                size_t *) = in("libcusparse.so.12", "cusparseSpMV_bufferSize");
    int (*multiply)(void *, int, const void *, void *, void *, const void *, void *, int, int,
                    void *) = in("libcusparse.so.12", "cusparseSpMV");
    const size_t most = (size_t)rows * 23;
    void *p[6], *handle, *a, *x, *y, *buffer = NULL;
    const size_t bytes[6] = {((size_t)rows + 1) * 4, most * 4,         most * 4,
                             (size_t)rows * 4,       (size_t)rows * 4, (size_t)rows * 4};
    const float one = 1, zero = 0;
    size_t need = 0;
    for (int i = 0; i < 6; i++)
        if (allocate(&p[i], bytes[i]))
            exit(1);
    int *row = p[0], *column = p[1], count = 0;
    float *value = p[2], *left = p[3], *want = p[4], *got = p[5];
    srand(1);
    for (int i = 0; i < rows; i++) {
        row[i] = count;
        for (int k = 0, n = 8 + rand() % 16; k < n; k++, count++) {
            column[count] = far ? (int)((unsigned)rand() % (unsigned)rows) : (i + k * 3) % rows;
            value[count] = (float)(rand() % 100) / 100;
        }
        left[i] = (float)(rand() % 100) / 100;
    }
    row[rows] = count;
    if (create(&handle) || matrix(&a, rows, rows, count, row, column, value, I32, I32, 0, F32) ||
        vector(&x, rows, left, F32) || vector(&y, rows, got, F32) ||
        size(handle, 0, &one, a, x, &zero, y, F32, 0, &need) || (need && allocate(&buffer, need)))
        exit(1);
    double best[2] = {1e9, 1e9};
    for (int r = -1; r < ROUNDS; r++) {
        double t = now();
        plain(rows, row, column, value, left, want);
        double half = now();
        if (multiply(handle, 0, &one, a, x, &zero, y, F32, 0, buffer) || synchronize(NULL))
            exit(1);
        double took[2] = {half - t, now() - half};
        for (int k = 0; k < 2 && r >= 0; k++)
            best[k] = took[k] < best[k] ? took[k] : best[k];
    }
    for (int i = 0; i < rows; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-4f * fabsf(want[i]) + 1e-6f)) {
            fprintf(stderr, "spmv: row %d: %g, expected %g\n", i, (double)got[i], (double)want[i]);
            exit(1);
        }
    printf("# spmv %s: plain C %.2f ms, cuSPARSE %.2f ms, %.1f GB/s\n", name, best[0] * 1e3, best[1] * 1e3,
           (double)count * 8 / best[1] * 1e-9);
    printf("bench musparse.%s_vs_plain %.3f ratio\n", name, best[1] / best[0]);
    destroy(handle);
    for (int i = 0; i < 6; i++)
        release(p[i]);
}

int main(void)
{
    compare("spmv_csr_random_256k", 1 << 18, 1);
    compare("spmv_csr_banded_1m", 1 << 20, 0);
    return 0;
}
