/* What the cuBLASLt tests share: the library's functions, element types by arithmetic, buffers on the device. */
#ifndef CUMU_TESTS_LT_H
#define CUMU_TESTS_LT_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "cuda_functions.h"

typedef double complex num;
typedef const void *V;

enum { F32, F64, F16, I8, C32, C64, C8I = 7, I32 = 10, BF16 = 14, E4M3 = 28, E5M2 = 29 }; /* cudaDataType */
enum { COL, ROW, COL32, COL4, COL2R };                                                    /* orders */

static unsigned seed = 2024;
static int upto(int n) /* 0..n-1 */
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)n);
}

/* ---- elements ---------------------------------------------------------------------------------- */

static bool is_complex(int t) { return t == C32 || t == C64 || t == C8I; }
static size_t bytes(int t)
{
    return t == I8 || t == E4M3 || t == E5M2   ? 1
           : t == F16 || t == BF16 || t == C8I ? 2
           : t == F32 || t == I32              ? 4
           : t == C64                          ? 16
                                               : 8;
}
/* digits with the leading one, bias, and whether the highest exponent is infinite */
static void format(int t, int *digits, int *bias, bool *infinite)
{
    *digits = t == F16 ? 11 : t == BF16 ? 8 : t == E4M3 ? 4 : 3;
    *bias = t == BF16 ? 127 : t == E4M3 ? 7 : 15;
    *infinite = t != E4M3;
}
static unsigned encode(double v, int t) /* exact numbers, infinities and NaN */
{
    int digits, bias, e;
    bool infinite;
    format(t, &digits, &bias, &infinite);
    int width = (int)bytes(t) * 8;
    unsigned sign = signbit(v) ? 1u << (width - 1) : 0, top = (1u << (width - digits)) - 1;
    double m = fabs(v);
    if (isnan(v))
        return (1u << (width - 1)) - 1;
    if (isinf(v))
        return sign | top << (digits - 1);
    if (m == 0)
        return sign;
    frexp(m, &e);
    e = e - 1 < 1 - bias ? 1 - bias : e - 1;
    unsigned fraction = (unsigned)lrint(ldexp(m, digits - 1 - e)), hidden = 1u << (digits - 1);
    return sign | (fraction >= hidden ? (unsigned)(e + bias) << (digits - 1) : 0) | (fraction & (hidden - 1));
}
static double decode(unsigned u, int t)
{
    int digits, bias;
    bool infinite;
    format(t, &digits, &bias, &infinite);
    int width = (int)bytes(t) * 8;
    unsigned top = (1u << (width - digits)) - 1, exponent = u >> (digits - 1) & top,
             fraction = u & ((1u << (digits - 1)) - 1);
    double m = exponent ? ldexp(fraction + (1u << (digits - 1)), (int)exponent - bias - digits + 1)
                        : ldexp(fraction, 1 - bias - digits + 1);
    if (infinite && exponent == top)
        m = fraction ? NAN : INFINITY;
    if (!infinite && (u & 0x7f) == 0x7f)
        m = NAN;
    return u >> (width - 1) ? -m : m;
}
static void put(void *p, int t, size_t i, num v)
{
    switch (t) {
    case F32: ((float *)p)[i] = (float)creal(v); break;
    case F64: ((double *)p)[i] = creal(v); break;
    case C32: ((float complex *)p)[i] = (float complex)v; break;
    case C64: ((num *)p)[i] = v; break;
    case I8: ((signed char *)p)[i] = (signed char)creal(v); break;
    case C8I:
        ((signed char *)p)[2 * i] = (signed char)creal(v), ((signed char *)p)[2 * i + 1] = (signed char)cimag(v);
        break;
    case I32: ((int *)p)[i] = (int)creal(v); break;
    case E4M3:
    case E5M2: ((unsigned char *)p)[i] = (unsigned char)encode(creal(v), t); break;
    default: ((uint16_t *)p)[i] = (uint16_t)encode(creal(v), t);
    }
}
static num get(V p, int t, size_t i)
{
    switch (t) {
    case F32: return ((const float *)p)[i];
    case F64: return ((const double *)p)[i];
    case C32: return ((const float complex *)p)[i];
    case C64: return ((const num *)p)[i];
    case I8: return ((const signed char *)p)[i];
    case C8I: return ((const signed char *)p)[2 * i] + I * ((const signed char *)p)[2 * i + 1];
    case I32: return ((const int *)p)[i];
    case E4M3:
    case E5M2: return decode(((const unsigned char *)p)[i], t);
    default: return decode(((const uint16_t *)p)[i], t);
    }
}
/* Exact in every type, and so are their products. */
static num element(int t)
{
    if (t == I8 || t == I32)
        return upto(255) - 127;
    if (t == C8I)
        return upto(21) - 10 + I * (upto(21) - 10);
    double re = (upto(17) - 8) / 4.0;
    return is_complex(t) ? re + I * ((upto(17) - 8) / 4.0) : re;
}
static double tolerance(int t)
{
    switch (t) {
    case F16: return 0x1p-10;
    case BF16: return 0x1p-7;
    case E4M3: return 0x1p-3;
    case E5M2: return 0x1p-2;
    case F64:
    case C64: return 1e-12;
    case I32: return 0;
    case I8: return 0;
    default: return 1e-5;
    }
}
/* The number that the type holds for v: bounds, whole numbers. */
static inline num held(num v, int t)
{
    double r = creal(v);
    if (t == I8)
        return r > 127 ? 127 : r < -128 ? -128 : rint(r);
    if (t == E4M3 || t == E5M2) {
        double most = t == E4M3 ? 448 : 57344;
        return r > most ? most : r < -most ? -most : r;
    }
    return v;
}
static bool close_to(num got, num want, int t, double least)
{
    if (isnan(creal(want)))
        return isnan(creal(got));
    return cabs(got - want) <= tolerance(t) * cabs(want) + least;
}

/* ---- matrices ---------------------------------------------------------------------------------- */

struct matrix {
    int type, order, rows, cols, batch;
    int64_t ld, stride;
    size_t n;   /* elements with all gaps */
    char *host; /* what was written to the device */
    void *at;   /* there */
    void *layout;
    uint64_t own[8]; /* the layout, where it lies in the program's memory */
    bool created, pointers;
    void **list; /* addresses on the device, of pointer batches */
};
static size_t place(const struct matrix *m, int row, int col)
{
    int64_t group = m->ld * (col / 32);
    int c = col % 32;
    switch (m->order) {
    case COL: return (size_t)(row + m->ld * col);
    case ROW: return (size_t)(col + m->ld * row);
    case COL32: return (size_t)(group + 32 * row + c);
    case COL4:
        return (size_t)(group + row / 8 * 256 + (row & 1) * 128 + (c / 8) * 32 + (c % 8 >= 4 ? 16 : 0) +
                        row % 8 / 2 * 4 + (c & 3));
    default:
        return (size_t)(group + row / 32 * 1024 + (((row % 32) % 8 / 2 * 4 + (row % 32) / 8) * 2 + row % 2) * 32 + c);
    }
}
static num at(const struct matrix *m, V from, int member, int row, int col)
{
    return get(from, m->type, (size_t)(m->stride * member) + place(m, row, col));
}
static void *to_device(V from, size_t size)
{
    void *d;
    if (cudaMalloc(&d, size + 16))
        exit(1);
    cudaMemcpy(d, from, size, 1);
    return d;
}
static struct matrix matrix(int type, int order, int rows, int cols, int batch, bool pointers)
{
    struct matrix m = {.type = type, .order = order, .rows = rows, .cols = cols, .batch = batch, .pointers = pointers};
    int tile = order == COL4 ? 8 : order == COL2R ? 32 : 1, lines = (rows + tile - 1) / tile * tile;
    m.ld = (order == ROW ? cols : order == COL ? rows : lines * 32) + (order > ROW ? 32 * tile * upto(2) : upto(4));
    int64_t size = m.ld * (order == ROW ? rows : order == COL ? cols : (cols + 31) / 32);
    m.stride = size + upto(3);
    m.n = (size_t)(m.stride * batch);
    m.host = malloc(m.n * bytes(type));
    for (size_t i = 0; i < m.n; i++)
        put(m.host, type, i, element(type));
    return m;
}
/* Takes what `host` holds to the device, and makes the layout. */
static void upload(struct matrix *m)
{
    m->at = to_device(m->host, m->n * bytes(m->type));
    m->created = upto(2);
    m->layout = m->own;
    if (m->created)
        OK(cublasLtMatrixLayoutCreate(&m->layout, m->type, (uint64_t)m->rows, (uint64_t)m->cols, m->ld));
    else
        OK(cublasLtMatrixLayoutInit_internal(m->own, sizeof m->own, m->type, (uint64_t)m->rows, (uint64_t)m->cols,
                                             m->ld));
    OK(cublasLtMatrixLayoutSetAttribute(m->layout, 1, &m->order, 4));
    if (m->batch > 1 || m->pointers) {
        int mode = m->pointers;
        OK(cublasLtMatrixLayoutSetAttribute(m->layout, 5, &m->batch, 4));
        OK(cublasLtMatrixLayoutSetAttribute(m->layout, 6, &m->stride, 8));
        OK(cublasLtMatrixLayoutSetAttribute(m->layout, 8, &mode, 4));
    }
    if (m->pointers) {
        void *list[8];
        for (int i = 0; i < m->batch; i++)
            list[i] = (char *)m->at + (size_t)(m->stride * i) * bytes(m->type);
        m->list = to_device(list, sizeof list);
    }
}
/* The library's handle; a build without OpenBLAS has none. */
static void *handle;
static inline bool opened(void)
{
    int r = cublasLtCreate(&handle);
    if (r == 1)
        printf("skip: built without OpenBLAS\n");
    else
        OK(r);
    return r != 1;
}
static inline void *data(const struct matrix *m) { return m->pointers ? (void *)m->list : m->at; }
static void drop(struct matrix *m)
{
    if (m->created)
        OK(cublasLtMatrixLayoutDestroy(m->layout));
    cudaFree(m->at);
    cudaFree(m->list);
    free(m->host);
}

#endif
