/* The natural plain C of each kernel, built with -O3 -march=native: what the figures are relative to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

void native_saxpy(float *restrict y, const float *restrict x, float a, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void native_sgemm(float *restrict c, const float *restrict a, const float *restrict b, int n)
{
    memset(c, 0, (size_t)n * n * sizeof *c);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            float u = a[i * n + k];
            for (int j = 0; j < n; j++)
                c[i * n + j] += u * b[k * n + j];
        }
}

float native_sum(const float *x, int n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

void native_mandelbrot(int *out, int n, int limit)
{
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            float cr = -2.0f + 3.0f * (float)x / (float)n, ci = -1.5f + 3.0f * (float)y / (float)n;
            float zr = 0, zi = 0;
            int i = 0;
            while (i < limit && zr * zr + zi * zi < 4.0f) {
                float t = zr * zr - zi * zi + cr;
                zi = 2.0f * zr * zi + ci;
                zr = t;
                i++;
            }
            out[y * n + x] = i;
        }
}

void native_collatz(int *out, int n)
{
    for (int i = 0; i < n; i++) {
        unsigned long long v = (unsigned long long)i + 1;
        int steps = 0;
        while (v != 1) {
            v = v & 1 ? 3 * v + 1 : v / 2;
            steps++;
        }
        out[i] = steps;
    }
}

void native_histogram(unsigned *bins, const unsigned char *x, int n)
{
    for (int i = 0; i < n; i++)
        bins[x[i]]++;
}

void native_nbody(float *restrict acc, const float *restrict body, int n)
{
    for (int i = 0; i < n; i++) {
        float x = body[4 * i], y = body[4 * i + 1], z = body[4 * i + 2], ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; j++) {
            float dx = body[4 * j] - x, dy = body[4 * j + 1] - y, dz = body[4 * j + 2] - z;
            float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = body[4 * j + 3] * r * r * r;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        acc[4 * i] = ax;
        acc[4 * i + 1] = ay;
        acc[4 * i + 2] = az;
        acc[4 * i + 3] = 0;
    }
}

void native_softmax(float *restrict out, const float *restrict in, int rows, int cols)
{
    for (int r = 0; r < rows; r++, in += cols, out += cols) {
        float top = -INFINITY, sum = 0;
#pragma omp simd reduction(max : top)
        for (int i = 0; i < cols; i++)
            top = in[i] > top ? in[i] : top;
        for (int i = 0; i < cols; i++)
            sum += out[i] = expf(in[i] - top);
        float scale = 1 / sum;
        for (int i = 0; i < cols; i++)
            out[i] *= scale;
    }
}

void native_spmv(float *restrict y, const int *start, const int *col, const float *val, const float *x, int rows)
{
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = start[r]; i < start[r + 1]; i++)
            sum += val[i] * x[col[i]];
        y[r] = sum;
    }
}

void native_jacobi(double *restrict out, const double *restrict in, int n)
{
    for (int y = 1; y < n - 1; y++)
        for (int x = 1; x < n - 1; x++)
            out[y * n + x] = 0.25 * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}

void native_transpose(float *restrict out, const float *restrict in, int n)
{
    for (int y = 0; y < n; y += 32)
        for (int x = 0; x < n; x += 32)
            for (int i = y; i < y + 32; i++)
                for (int j = x; j < x + 32; j++)
                    out[j * n + i] = in[i * n + j];
}

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

void native_sort_runs(int *data, int n)
{
    for (int i = 0; i < n; i += 1024)
        qsort(data + i, 1024, sizeof *data, ascending);
}

/* By bytes, of all four digits one pass of counting. */
void native_radix(unsigned *data, int n)
{
    enum { RUN = 2048 };
    unsigned other[RUN];
    for (int first = 0; first < n; first += RUN) {
        unsigned count[4][256] = {{0}}, *from = data + first, *to = other;
        for (int i = 0; i < RUN; i++)
            for (int d = 0; d < 4; d++)
                count[d][from[i] >> 8 * d & 255]++;
        for (int d = 0; d < 4; d++) {
            unsigned sum = 0, *swap = from;
            for (int k = 0; k < 256; k++) {
                unsigned c = count[d][k];
                count[d][k] = sum;
                sum += c;
            }
            for (int i = 0; i < RUN; i++)
                to[count[d][from[i] >> 8 * d & 255]++] = from[i];
            from = to;
            to = swap;
        }
    }
}

void native_scan(int *restrict out, const int *restrict in, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        out[i] = sum += in[i];
}

void native_spmm(float *restrict y, const int *start, const int *col, const float *val, const float *x, int rows)
{
    enum { COLS = 64 };
    for (int r = 0; r < rows; r++) {
        float sum[COLS] = {0};
        for (int i = start[r]; i < start[r + 1]; i++)
            for (int j = 0; j < COLS; j++)
                sum[j] += val[i] * x[(size_t)col[i] * COLS + j];
        memcpy(y + (size_t)r * COLS, sum, sizeof sum);
    }
}

/* Some points at a time, whose distances to a centre vectors hold. */
void native_kmeans(int *restrict nearest, float *restrict sums, int *restrict counts, const float *restrict points,
                   const float *restrict centres, int n)
{
    enum { DIMS = 16, CENTRES = 64, PART = 64 };
    for (int first = 0; first < n; first += PART) {
        float point[DIMS][PART], least[PART];
        int best[PART];
        for (int d = 0; d < DIMS; d++)
            memcpy(point[d], points + (size_t)d * n + first, sizeof point[d]);
        for (int i = 0; i < PART; i++) {
            least[i] = 3e38f;
            best[i] = 0;
        }
        for (int c = 0; c < CENTRES; c++) {
            float distance[PART] = {0};
            for (int d = 0; d < DIMS; d++)
                for (int i = 0; i < PART; i++) {
                    float u = point[d][i] - centres[c * DIMS + d];
                    distance[i] += u * u;
                }
            for (int i = 0; i < PART; i++) {
                best[i] = distance[i] < least[i] ? c : best[i];
                least[i] = distance[i] < least[i] ? distance[i] : least[i];
            }
        }
        memcpy(nearest + first, best, sizeof best);
        for (int i = 0; i < PART; i++) {
            counts[best[i]]++;
            for (int d = 0; d < DIMS; d++)
                sums[best[i] * DIMS + d] += point[d][i];
        }
    }
}
