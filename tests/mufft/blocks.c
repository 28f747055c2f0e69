/* Transforms that the CPU muFFT does by blocks of columns (long columns, two dimensions and more), and those of f16 and
 * bf16, against the definition, dimension by dimension, in double. */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "abi/mufft.h"
#include "host/maths/element.h"
#include "musa_enums.h"

typedef double complex num;

static double noise(void)
{
    static unsigned seed = 5;
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 23) - 1;
}

enum width { F16, BF16, F32, F64 };
static const struct {
    int real, pair;
    size_t bytes;
    double eps; /* of one number of a result of size 1 */
} widths[] = {{MUSA_R_16F, MUSA_C_16F, 2, 2e-3},
              {MUSA_R_16BF, MUSA_C_16BF, 2, 1.2e-2},
              {MUSA_R_32F, MUSA_C_32F, 4, 2e-6},
              {MUSA_R_64F, MUSA_C_64F, 8, 1e-14}};

static double load(enum width w, const char *at)
{
    unsigned short h;
    float f;
    double d;
    memcpy(&h, at, 2);
    if (w == F16 || w == BF16)
        return w == F16 ? f16_to_f32(h) : bf16_to_f32(h);
    memcpy(&f, at, 4);
    if (w == F32)
        return f;
    memcpy(&d, at, 8);
    return d;
}
static void store(enum width w, char *at, double v)
{
    unsigned short h = w == F16 ? f32_to_f16((float)v) : f32_to_bf16((float)v);
    float f = (float)v;
    memcpy(at, w == F64 ? (void *)&v : w == F32 ? (void *)&f : (void *)&h, widths[w].bytes);
}

/* In place, along one dimension of n0 x n1 x n2. */
static void along(num *x, const int *n, int d, int sign)
{
    int stride = 1, len = n[d], total = n[0] * n[1] * n[2];
    for (int i = 2; i > d; i--)
        stride *= n[i];
    num *root = malloc((size_t)len * sizeof *root), *line = malloc((size_t)len * sizeof *line);
    for (int i = 0; i < len; i++)
        root[i] = cexp(sign * 2 * M_PI * I * i / len);
    for (int at = 0; at < total; at++) {
        if (at / stride % len)
            continue;
        for (int i = 0; i < len; i++)
            line[i] = x[at + i * stride];
        for (int k = 0; k < len; k++) {
            double re = 0, im = 0;
            for (int i = 0, r = 0; i < len; i++, r += k - (r + k >= len ? len : 0)) {
                re += creal(line[i]) * creal(root[r]) - cimag(line[i]) * cimag(root[r]);
                im += creal(line[i]) * cimag(root[r]) + cimag(line[i]) * creal(root[r]);
            }
            x[at + k * stride] = re + I * im;
        }
    }
    free(root);
    free(line);
}

enum kind { C2C, R2C, C2R };
struct job {
    enum width width;
    enum kind kind;
    int rank, n[3], batch, direction; /* n: the first 3 - rank are 1 */
    bool in_place;
    int stride, pad; /* 0: without embedding */
};

/* One side: rows of its last dimension, in elements. */
struct side {
    int row, parts, stride, embed; /* numbers of a row that count; embed: of a row in all */
    size_t dist, element;
};
static struct side side_of(const struct job *j, int out)
{
    bool real = j->kind == (out ? C2R : R2C);
    struct side s = {.row = j->kind == C2C || real ? j->n[2] : j->n[2] / 2 + 1, .parts = real ? 1 : 2};
    s.stride = j->stride && j->kind == C2C ? j->stride : 1;
    s.embed = s.row + j->pad * (j->in_place && real ? 2 : 1);
    if (j->in_place && real)
        s.embed = 2 * (j->n[2] / 2 + 1 + j->pad);
    s.dist = (size_t)(j->n[0] * j->n[1] * s.embed * s.stride);
    s.element = widths[j->width].bytes * (size_t)s.parts;
    return s;
}
static char *at(const struct side *s, char *data, int b, int row, int x)
{
    return data + ((size_t)b * s->dist + (size_t)((row * s->embed + x) * s->stride)) * s->element;
}

static void one(struct job j)
{
    struct side in = side_of(&j, 0), out = side_of(&j, 1);
    int rows = j.n[0] * j.n[1], points = rows * j.n[2], first = 3 - j.rank;
    size_t in_bytes = in.dist * in.element * (size_t)j.batch, out_bytes = out.dist * out.element * (size_t)j.batch;
    size_t width = widths[j.width].bytes, bytes = in_bytes > out_bytes ? in_bytes : out_bytes;
    char *data[2];
    OK(musaMalloc((void **)&data[0], bytes));
    OK(musaMalloc((void **)&data[1], bytes));
    memset(data[0], 0, bytes);
    memset(data[1], 0x3c, bytes);
    num *want = malloc((size_t)(points * j.batch) * sizeof *want);
    double scale = 1 / sqrt(points);
    for (int b = 0; b < j.batch; b++) { /* numbers as the width has them; of real ones for the real kinds */
        num *x = want + b * points;
        for (int i = 0; i < points; i++)
            x[i] = noise() + (j.kind == C2C ? I * noise() : 0);
        if (j.kind == C2R) /* the input is a spectrum, and what comes back is n times what it is of */
            for (int d = first; d < 3; d++)
                along(x, j.n, d, -1);
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < in.row; i++) {
                num v = x[r * j.n[2] + i] * (j.kind == C2R ? scale : 1);
                char *p = at(&in, data[0], b, r, i);
                store(j.width, p, creal(v));
                if (in.parts == 2)
                    store(j.width, p + width, cimag(v));
                if (j.kind != C2R)
                    x[r * j.n[2] + i] = load(j.width, p) + (in.parts == 2 ? I * load(j.width, p + width) : 0);
            }
        int sign = j.kind == C2C ? j.direction : j.kind == R2C ? -1 : 1;
        for (int d = first; d < 3; d++)
            along(x, j.n, d, sign);
    }
    long long n[3], inembed[3], onembed[3];
    for (int d = 0; d < j.rank; d++)
        n[d] = inembed[d] = onembed[d] = j.n[first + d];
    inembed[j.rank - 1] = in.embed;
    onembed[j.rank - 1] = out.embed;
    bool embedded = j.stride || j.pad;
    int real = widths[j.width].real, pair = widths[j.width].pair;
    mufftHandle plan;
    size_t size;
    OK(mufftCreate(&plan));
    OK(mufftXtMakePlanMany(plan, j.rank, n, embedded ? inembed : NULL, in.stride, (long long)in.dist,
                           j.kind == R2C ? real : pair, embedded ? onembed : NULL, out.stride, (long long)out.dist,
                           j.kind == C2R ? real : pair, j.batch, &size, pair));
    char *result = data[j.in_place ? 0 : 1];
    OK(mufftXtExec(plan, data[0], result, j.direction));
    OK(musaDeviceSynchronize());
    OK(mufftDestroy(plan));
    double worst = 0, unit = (j.kind == C2R ? scale : 1);
    size_t written = 0, kept = 0;
    for (int b = 0; b < j.batch; b++)
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < out.row; i++) {
                const char *p = at(&out, result, b, r, i);
                num w = want[b * points + r * j.n[2] + i] * unit;
                double re = load(j.width, p), im = out.parts == 2 ? load(j.width, p + width) : 0;
                double off = fmax(fabs(re - creal(w)), out.parts == 2 ? fabs(im - cimag(w)) : 0);
                worst = fmax(worst, isnan(off) ? INFINITY : off);
                written += out.element;
            }
    if (!j.in_place) /* what lies between the elements */
        for (size_t i = 0; i < out_bytes; i++)
            kept += result[i] == 0x3c;
    bool gaps = j.in_place || kept + written >= out_bytes;
    double eps = widths[j.width].eps * sqrt(points) * (j.width == F32 || j.width == F64 ? 4 : 8);
    EXPECT(worst <= eps && gaps,
           "width %d kind %d rank %d %d,%d,%d batch %d direction %d%s stride %d pad %d: off by %g "
           "(%g)%s",
           j.width, j.kind, j.rank, j.n[0], j.n[1], j.n[2], j.batch, j.direction, j.in_place ? " in place" : "",
           j.stride, j.pad, worst, eps, gaps ? "" : ", gaps written");
    free(want);
    musaFree(data[0]);
    musaFree(data[1]);
}

static void refused(void)
{
    long long three[1] = {24}, eight[1] = {8};
    mufftHandle plan;
    size_t size;
    OK(mufftCreate(&plan));
    IS(mufftXtMakePlanMany(plan, 1, three, NULL, 1, 1, MUSA_C_16F, NULL, 1, 1, MUSA_C_16F, 1, &size, MUSA_C_16F),
       MUFFT_NOT_SUPPORTED);
    IS(mufftXtMakePlanMany(plan, 1, eight, eight, 2, 16, MUSA_R_16BF, eight, 1, 8, MUSA_C_16BF, 1, &size, MUSA_C_16BF),
       MUFFT_NOT_SUPPORTED);
    IS(mufftXtMakePlanMany(plan, 1, eight, NULL, 1, 1, MUSA_R_16F, NULL, 1, 1, MUSA_C_16BF, 1, &size, MUSA_C_16BF),
       MUFFT_INVALID_VALUE);
    IS(mufftXtMakePlanMany(plan, 1, eight, NULL, 1, 1, MUSA_C_16F, NULL, 1, 1, MUSA_C_16F, 1, &size, MUSA_C_32F),
       MUFFT_INVALID_VALUE);
    OK(mufftXtGetSizeMany(plan, 1, eight, NULL, 1, 1, MUSA_C_16F, NULL, 1, 1, MUSA_C_16F, 1, &size, MUSA_C_16F));
    OK(mufftXtMakePlanMany(plan, 1, eight, NULL, 1, 1, MUSA_C_16F, NULL, 1, 1, MUSA_C_16F, 1, &size, MUSA_C_16F));
    mufftComplex data[8];
    IS(mufftExecC2C(plan, data, data, MUFFT_FORWARD), MUFFT_INVALID_PLAN); /* that is float's */
    OK(mufftDestroy(plan));
}

int main(void)
{
    static const int sizes[][4] = {/* rank, n */ {2, 1, 256, 128}, {2, 1, 301, 133}, {3, 5, 260, 33}, {3, 257, 3, 43}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int k = 0; k < 6; k++) {
            const int *s = sizes[i];
            struct job j = {.width = k % 2 ? F64 : F32,
                            .kind = (enum kind)(k / 2),
                            .rank = s[0],
                            .n = {s[1], s[2], s[3]},
                            .batch = 1 + (k + (int)i) % 2,
                            .direction = k % 2 ? 1 : -1};
            one(j);
            j.in_place = true;
            j.batch = 1;
            one(j);
            j.in_place = k == 1;
            j.stride = 1 + k % 2;
            j.pad = 3;
            one(j);
        }
    for (int k = 0; k < 96; k++) {
        struct job j = {.width = k % 2 ? BF16 : F16,
                        .kind = (enum kind)(k / 2 % 3),
                        .rank = 1 + k / 6 % 3,
                        .n = {1, 1, 16 << k % 3},
                        .batch = 1 + k % 3,
                        .direction = k / 3 % 2 ? 1 : -1,
                        .in_place = k / 18 % 2,
                        .stride = k / 36 % 2 * 2,
                        .pad = k / 36 % 2};
        for (int d = 3 - j.rank; d < 2; d++)
            j.n[d] = 1 << (k + d) % 4;
        one(j);
    }
    refused();
    return check_end("transforms by columns and of halves");
}
