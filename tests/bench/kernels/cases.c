/* The table of kernels: data, shapes and the native call of each. */
#include <string.h>

#include "cases.h"

static const float scale = 1.5f;

static void make_saxpy(struct work *w)
{
    add_floats(w, INOUT, w->n);
    add_floats(w, IN, w->n);
    int bits;
    memcpy(&bits, &scale, sizeof bits);
    scalar(w, bits);
    scalar(w, (int)w->n);
    shape(w, (w->n + 255) / 256, 1, 256, 1);
}
static void run_saxpy(struct work *w) { native_saxpy(of(w, 0), of(w, 1), scale, (int)w->n); }

static void make_sgemm(struct work *w, unsigned tile, unsigned bx, unsigned by)
{
    size_t count = w->n * w->n;
    add_floats(w, OUT, count);
    add_floats(w, IN, count);
    add_floats(w, IN, count + 7);
    w->buf[2].shift = 7 * sizeof(float); /* rows of B are no cache lines, as in a real program */
    scalar(w, (int)w->n);
    shape(w, w->n / tile, w->n / tile, bx, by);
}
static void make_sgemm16(struct work *w) { make_sgemm(w, 16, 16, 16); }
static void make_sgemm32(struct work *w) { make_sgemm(w, 32, 32, 32); }
static void make_sgemm128(struct work *w) { make_sgemm(w, 128, 256, 1); }
static void run_sgemm(struct work *w) { native_sgemm(of(w, 0), of(w, 1), of(w, 2), (int)w->n); }

/* The kernel leaves one sum a block; folding them is checked in the driver by type 's'. */
static void make_reduce(struct work *w)
{
    add(w, OUT, 's', 256 * sizeof(float));
    add_floats(w, IN, w->n);
    scalar(w, (int)w->n);
    shape(w, 256, 1, 256, 1);
}
static void run_reduce(struct work *w) { *(float *)of(w, 0) = native_sum(of(w, 1), (int)w->n); }

enum { MANDEL_LIMIT = 256 };
static void make_mandelbrot(struct work *w)
{
    add(w, OUT, 'i', w->n * w->n * sizeof(int));
    scalar(w, (int)w->n);
    scalar(w, MANDEL_LIMIT);
    shape(w, w->n / 32, w->n / 8, 32, 8);
}
static void run_mandelbrot(struct work *w) { native_mandelbrot(of(w, 0), (int)w->n, MANDEL_LIMIT); }

static void make_collatz(struct work *w)
{
    add(w, OUT, 'i', w->n * sizeof(int));
    scalar(w, (int)w->n);
    shape(w, w->n / 256, 1, 256, 1);
}
static void run_collatz(struct work *w) { native_collatz(of(w, 0), (int)w->n); }

static void make_histogram(struct work *w)
{
    add(w, INOUT, 'i', 256 * sizeof(int));
    unsigned char *x = add(w, IN, 'i', w->n);
    for (size_t i = 0; i < w->n; i++)
        x[i] = (unsigned char)next();
    scalar(w, (int)w->n);
    shape(w, 256, 1, 256, 1);
}
static void run_histogram(struct work *w) { native_histogram(of(w, 0), of(w, 1), (int)w->n); }

static void make_nbody(struct work *w)
{
    add_floats(w, OUT, 4 * w->n);
    add_floats(w, IN, 4 * w->n);
    scalar(w, (int)w->n);
    shape(w, w->n / 256, 1, 256, 1);
}
static void run_nbody(struct work *w) { native_nbody(of(w, 0), of(w, 1), (int)w->n); }

enum { SOFTMAX_COLS = 1024 };
static void make_softmax(struct work *w)
{
    add_floats(w, OUT, w->n * SOFTMAX_COLS);
    float *in = add_floats(w, IN, w->n * SOFTMAX_COLS);
    for (size_t i = 0; i < w->n * SOFTMAX_COLS; i++)
        in[i] = 20 * in[i] - 10;
    scalar(w, SOFTMAX_COLS);
    shape(w, w->n, 1, 256, 1);
}
static void run_softmax(struct work *w) { native_softmax(of(w, 0), of(w, 1), (int)w->n, SOFTMAX_COLS); }

static void make_spmv(struct work *w)
{
    add_floats(w, OUT, w->n);
    int *start = add(w, IN, 'i', (w->n + 1) * sizeof *start);
    for (size_t i = 0; i < w->n; i++)
        start[i + 1] = start[i] + 8 + (int)(next() % 16);
    size_t entries = (size_t)start[w->n];
    int *col = add(w, IN, 'i', entries * sizeof *col);
    for (size_t i = 0; i < entries; i++)
        col[i] = (int)(next() % w->n);
    add_floats(w, IN, entries);
    add_floats(w, IN, w->n);
    scalar(w, (int)w->n);
    shape(w, w->n / 256, 1, 256, 1);
}
static void run_spmv(struct work *w) { native_spmv(of(w, 0), of(w, 1), of(w, 2), of(w, 3), of(w, 4), (int)w->n); }

static void make_jacobi(struct work *w)
{
    size_t count = w->n * w->n;
    add(w, OUT, 'd', count * sizeof(double));
    double *in = add(w, IN, 'd', count * sizeof *in);
    for (size_t i = 0; i < count; i++)
        in[i] = (double)next() / 1e6;
    scalar(w, (int)w->n);
    shape(w, w->n / 32, w->n / 8, 32, 8);
}
static void run_jacobi(struct work *w) { native_jacobi(of(w, 0), of(w, 1), (int)w->n); }

static void make_transpose(struct work *w)
{
    add_floats(w, OUT, w->n * w->n);
    add_floats(w, IN, w->n * w->n);
    scalar(w, (int)w->n);
    shape(w, w->n / 32, w->n / 32, 32, 8);
}
static void run_transpose(struct work *w) { native_transpose(of(w, 0), of(w, 1), (int)w->n); }

static void make_bitonic(struct work *w)
{
    int *data = add(w, INOUT, 'i', w->n * sizeof *data);
    for (size_t i = 0; i < w->n; i++)
        data[i] = (int)next();
    shape(w, w->n / 1024, 1, 512, 1);
}
static void run_bitonic(struct work *w) { native_sort_runs(of(w, 0), (int)w->n); }

static void make_radix(struct work *w)
{
    unsigned *data = add(w, INOUT, 'i', w->n * sizeof *data);
    for (size_t i = 0; i < w->n; i++)
        data[i] = next() << 8 ^ next();
    shape(w, w->n / 2048, 1, 256, 1);
}
static void run_radix(struct work *w) { native_radix(of(w, 0), (int)w->n); }

static void make_scan(struct work *w)
{
    add(w, OUT, 'i', w->n * sizeof(int));
    add(w, INOUT, '-', (w->n / 2048 + 1) * sizeof(uint64_t));
    int *in = add(w, IN, 'i', w->n * sizeof *in);
    for (size_t i = 0; i < w->n; i++)
        in[i] = (int)(next() % 1000);
    shape(w, w->n / 2048, 1, 256, 1);
}
static void run_scan(struct work *w) { native_scan(of(w, 0), of(w, 2), (int)w->n); }

enum { SPMM_COLS = 64 };
static void make_spmm(struct work *w)
{
    size_t rows = w->n;
    add_floats(w, OUT, rows * SPMM_COLS);
    int *start = add(w, IN, 'i', (rows + 1) * sizeof *start);
    for (size_t i = 0; i < rows; i++)
        start[i + 1] = start[i] + 8 + (int)(next() % 16);
    size_t entries = (size_t)start[rows];
    int *col = add(w, IN, 'i', entries * sizeof *col);
    for (size_t i = 0; i < entries; i++)
        col[i] = (int)(next() % rows);
    add_floats(w, IN, entries);
    add_floats(w, IN, rows * SPMM_COLS);
    shape(w, rows / 8, 1, 32, 8);
}
static void run_spmm(struct work *w) { native_spmm(of(w, 0), of(w, 1), of(w, 2), of(w, 3), of(w, 4), (int)w->n); }

static void make_kmeans(struct work *w)
{
    enum { DIMS = 16, CENTRES = 64 };
    add(w, OUT, 'i', w->n * sizeof(int));
    memset(add_floats(w, INOUT, CENTRES * DIMS), 0, CENTRES * DIMS * sizeof(float));
    add(w, INOUT, 'i', CENTRES * sizeof(int));
    add_floats(w, IN, DIMS * w->n);
    add_floats(w, IN, CENTRES * DIMS);
    scalar(w, (int)w->n);
    shape(w, w->n / 256, 1, 256, 1);
}
static void run_kmeans(struct work *w) { native_kmeans(of(w, 0), of(w, 1), of(w, 2), of(w, 3), of(w, 4), (int)w->n); }

const struct bench_case bench_cases[] = {
    {"saxpy_dram", "saxpy", 1 << 24, 1 << 10, 1, 1e-6, false, make_saxpy, run_saxpy},
    {"saxpy_cache", "saxpy", 1 << 15, 1 << 10, 1000, 1e-5, false, make_saxpy, run_saxpy},
    {"sgemm16", "sgemm16", 512, 128, 1, 1e-6, true, make_sgemm16, run_sgemm},
    {"sgemm32", "sgemm32", 512, 128, 1, 1e-6, true, make_sgemm32, run_sgemm},
    {"sgemm128", "sgemm128", 512, 128, 1, 1e-6, true, make_sgemm128, run_sgemm},
    {"reduce", "reduce", 1 << 24, 1 << 10, 1, 1e-4, false, make_reduce, run_reduce},
    {"mandelbrot", "mandelbrot", 1024, 32, 1, 2e-3, true, make_mandelbrot, run_mandelbrot},
    {"collatz", "collatz", 1 << 20, 256, 1, 0, true, make_collatz, run_collatz},
    {"histogram", "histogram", 1 << 24, 1 << 10, 1, 0, false, make_histogram, run_histogram},
    {"nbody", "nbody", 8192, 256, 1, 1e-4, true, make_nbody, run_nbody},
    {"softmax", "softmax", 4096, 1, 1, 1e-5, true, make_softmax, run_softmax},
    {"spmv", "spmv", 1 << 18, 256, 1, 1e-6, false, make_spmv, run_spmv},
    {"jacobi", "jacobi", 2048, 32, 1, 0, false, make_jacobi, run_jacobi},
    {"transpose", "transpose", 2048, 32, 1, 0, false, make_transpose, run_transpose},
    {"bitonic", "bitonic", 1 << 20, 1024, 1, 0, true, make_bitonic, run_bitonic},
    {"radix", "radix", 1 << 20, 2048, 1, 0, true, make_radix, run_radix},
    {"scan", "scan", 1 << 22, 2048, 1, 0, false, make_scan, run_scan},
    {"spmm", "spmm", 1 << 14, 256, 1, 1e-6, false, make_spmm, run_spmm},
    {"kmeans", "kmeans", 1 << 17, 256, 1, 1e-4, true, make_kmeans, run_kmeans},
    {"attention", "attention", 1024, 64, 1, 2e-3, true, make_attention, run_attention},
    {"layernorm", "layernorm", 4096, 1, 1, 1e-5, false, make_layernorm, run_layernorm},
    {"mma_f16", "mma_f16", 512, 64, 1, 1e-6, true, make_mma_f16, run_mma_f16},
    {"mma_s8", "mma_s8", 512, 64, 1, 0, true, make_mma_s8, run_mma_s8},
    {"topk", "topk", 1 << 14, 8, 1, 0, true, make_topk, run_topk},
    {"rope", "rope", 512, 1, 1, 1e-4, true, make_rope, run_rope},
    {"matvec_q4", "matvec_q4", 4096, 4, 1, 1e-5, true, make_matvec_q4, run_matvec_q4},
    {0},
};
