/* What the cuDNN tests share: numbers of all types by arithmetic, tensors of random shapes and strides on the device
 * with what they hold as doubles on the host. */
#ifndef CUMU_TESTS_DNN_H
#define CUMU_TESTS_DNN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "cuda_functions.h"

enum { F32, F64, F16, I8, I32, I8X4, U8, U8X4, I8X32, BF16, I64, BOOL, E4M3, E5M2 }; /* cudnnDataType_t */
enum { NCHW, NHWC, VECT };                                                           /* cudnnTensorFormat_t */
#ifdef BAD
enum { VERSION = 8 };
#else
enum { VERSION = 9, BAD = 2000, UNSUPPORTED = 3000, NOT_INITIALIZED = 1001 };
#endif

static unsigned seed = 2026; /* SEED=n: another */
static __attribute__((constructor)) void seed_by_user(void)
{
    const char *s = getenv("SEED");
    seed = s ? (unsigned)atoi(s) : seed;
}
static inline int upto(int n) /* 0..n-1 */
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)n);
}
static void *handle;

/* Channels that lie together in NCHW_VECT_C. */
static inline int vector_of(int t) { return t == I8X32 ? 32 : t == I8X4 || t == U8X4 ? 4 : 1; }
static inline size_t bytes(int t) /* of a number */
{
    return t == F64 || t == I64 ? 8 : t == F32 || t == I32 ? 4 : t == F16 || t == BF16 ? 2 : 1;
}
static inline double half(unsigned u, int digits) /* 10: f16; 7: bf16 */
{
    int bias = digits == 10 ? 15 : 127, e = (int)(u >> digits) & (digits == 10 ? 31 : 255);
    double m = u & ((1u << digits) - 1), v;
    if (e == (digits == 10 ? 31 : 255))
        v = m != 0 ? NAN : INFINITY;
    else
        v = e ? ldexp(1 + ldexp(m, -digits), e - bias) : ldexp(m, 1 - bias - digits);
    return u & 0x8000 ? -v : v;
}
static inline unsigned to_half(double v, int digits) /* numbers that it holds exactly */
{
    int e, bias = digits == 10 ? 15 : 127;
    unsigned sign = signbit(v) ? 0x8000 : 0;
    if (v == 0)
        return sign;
    if (!isfinite(v))
        return isnan(v) ? 0x7fff : sign | 0x7fffu >> digits << digits;
    double m = frexp(fabs(v), &e);
    e += bias - 1;
    if (e <= 0)
        return sign | (unsigned)rint(ldexp(fabs(v), bias - 1 + digits));
    return sign + ((unsigned)e << digits) + (unsigned)rint(ldexp(2 * m - 1, digits));
}
/* Of eight bits: e4m3 has no infinity, and one NaN of each sign. */
static inline double eighth(unsigned u, int t)
{
    int digits = t == E4M3 ? 3 : 2, bias = t == E4M3 ? 7 : 15, e = (int)(u >> digits) & (t == E4M3 ? 15 : 31);
    double m = u & ((1u << digits) - 1), v = e ? ldexp(1 + ldexp(m, -digits), e - bias) : ldexp(m, 1 - bias - digits);
    if (t == E4M3 ? (u & 127) == 127 : e == 31)
        v = t == E4M3 || m != 0 ? NAN : INFINITY;
    return u & 0x80 ? -v : v;
}
/* The nearest that there is, of two the even one; beyond the last the last. */
static inline unsigned to_eighth(double v, int t)
{
    unsigned best = 0, last = t == E4M3 ? 0x7e : 0x7b;
    if (isnan(v))
        return 0x7f;
    for (unsigned u = 0; u <= last; u++) {
        double far = fabs(fabs(v) - eighth(u, t)), least = fabs(fabs(v) - eighth(best, t));
        best = far < least || (far == least && !(u & 1)) ? u : best;
    }
    return best | (signbit(v) ? 0x80 : 0);
}
static inline double get(const void *p, int t, size_t i)
{
    switch (t) {
    case F32: return ((const float *)p)[i];
    case F64: return ((const double *)p)[i];
    case F16: return half(((const uint16_t *)p)[i], 10);
    case BF16: return half(((const uint16_t *)p)[i], 7);
    case I32: return ((const int *)p)[i];
    case I64: return (double)((const int64_t *)p)[i];
    case BOOL:
    case U8X4:
    case U8: return ((const uint8_t *)p)[i];
    case E4M3:
    case E5M2: return eighth(((const uint8_t *)p)[i], t);
    default: return ((const int8_t *)p)[i];
    }
}
static inline void put(void *p, int t, size_t i, double v)
{
    switch (t) {
    case F32: ((float *)p)[i] = (float)v; break;
    case F64: ((double *)p)[i] = v; break;
    case F16: ((uint16_t *)p)[i] = (uint16_t)to_half(v, 10); break;
    case BF16: ((uint16_t *)p)[i] = (uint16_t)to_half(v, 7); break;
    case I32: ((int *)p)[i] = (int)v; break;
    case I64: ((int64_t *)p)[i] = (int64_t)v; break;
    case BOOL: ((uint8_t *)p)[i] = v != 0; break;
    case U8X4:
    case U8: ((uint8_t *)p)[i] = (uint8_t)v; break;
    case E4M3:
    case E5M2: ((uint8_t *)p)[i] = (uint8_t)to_eighth(v, t); break;
    default: ((int8_t *)p)[i] = (int8_t)v;
    }
}
/* Exact in every type, and so are sums of a few products. */
static inline double number(int t)
{
    return t == I8 || t == I32 || t == I64 || t == I8X4 || t == I8X32 ? upto(255) - 127
           : t == U8 || t == U8X4                                     ? upto(255)
           : t == BOOL                                                ? upto(2)
           : t == E5M2                                                ? (upto(17) - 8) / 4.0
                                                                      : (upto(33) - 16) / 8.0;
}
/* What a result becomes in a type: integers are rounded to even, and bounded. */
static inline double held(int t, double v)
{
    double low = t == U8 || t == U8X4 ? 0 : -128, high = t == U8 || t == U8X4 ? 255 : 127;
    if (t == I8 || t == I8X4 || t == I8X32 || t == U8 || t == U8X4)
        return fmin(fmax(rint(v), low), high);
    return t == I32 ? rint(v) : v;
}
static inline double tolerance(int t)
{
    return t == F64    ? 1e-11
           : t == F16  ? 2e-3
           : t == BF16 ? 1.6e-2
           : t == F32  ? 1e-4
           : t == E4M3 ? 0.07
           : t == E5M2 ? 0.13
                       : 0;
}

/* ---- tensors ----------------------------------------------------------------------------------- */

struct tensor {
    int type, n, dim[8], stride[8];
    size_t size; /* numbers with gaps */
    void *desc, *at;
    char *host; /* what was written there */
    double *v;  /* the elements in order of their index */
    bool is_filter;
    int unit; /* of offsets: how many numbers each counts, or 0 */
};
static inline int count(const struct tensor *t)
{
    int n = 1;
    for (int i = 0; i < t->n; i++)
        n *= t->dim[i];
    return n;
}
static inline size_t place(const struct tensor *t, int i) /* of element i */
{
    size_t at = 0;
    for (int d = t->n - 1; d >= 0; i /= t->dim[d], d--) {
        int k = i % t->dim[d], vector = d == 1 ? vector_of(t->type) : 1;
        at += (size_t)(k / vector) * (size_t)t->stride[d] + (size_t)(k % vector);
    }
    return at;
}
static inline void upload(struct tensor *t)
{
    for (int i = 0; i < count(t); i++) {
        put(t->host, t->type, place(t, i), t->v[i]);
        t->v[i] = get(t->host, t->type, place(t, i)); /* as the type holds it */
    }
    OK(cudaMemcpy(t->at, t->host, t->size * bytes(t->type), 1));
}
static inline void download(struct tensor *t)
{
    char *now = malloc(t->size * bytes(t->type) + 1);
    OK(cudaMemcpy(now, t->at, t->size * bytes(t->type), 2));
    for (int i = 0; i < count(t); i++)
        t->v[i] = get(now, t->type, place(t, i));
    free(now);
}
/* Strides of a format, or (gaps) of a random order of the dimensions with room between. */
static inline void lay_out(struct tensor *t, int format, bool gaps)
{
    const int vector = vector_of(t->type);
    int order[8], step = vector;
    for (int i = 0; i < t->n; i++)
        order[i] = i;
    if (format == NHWC && t->n > 2) {
        for (int i = 1; i < t->n - 1; i++)
            order[i] = i + 1;
        order[t->n - 1] = 1;
    }
    for (int i = t->n - 1; gaps && i > 0; i--) {
        int k = upto(i + 1), o = order[i];
        order[i] = order[k], order[k] = o;
    }
    for (int i = t->n; i-- > 0;) {
        t->stride[order[i]] = step;
        step = step * (order[i] == 1 ? t->dim[1] / vector : t->dim[order[i]]) + (gaps ? upto(3) * vector : 0);
    }
    t->size = (size_t)step;
}
static inline struct tensor make(int type, int n, const int *dim, int format, bool gaps, bool filter)
{
    struct tensor t = {.type = type, .n = n, .is_filter = filter};
    memcpy(t.dim, dim, sizeof(int) * (size_t)n);
    lay_out(&t, format, gaps);
    t.host = calloc(t.size, bytes(type));
    t.v = calloc((size_t)count(&t), sizeof(double));
    for (int i = 0; i < count(&t); i++)
        t.v[i] = number(type);
    for (size_t i = 0; i < t.size; i++)
        put(t.host, type, i, 7);
    MUST(cudaMalloc(&t.at, t.size * bytes(type)));
    const int status = type == I64 || type == BOOL || type == E4M3 || type == E5M2 ? BAD : 0; /* those are graphs' */
    if (filter) {
        OK(cudnnCreateFilterDescriptor(&t.desc));
        IS(cudnnSetFilterNdDescriptor(t.desc, type, format, n, dim), status);
    } else {
        OK(cudnnCreateTensorDescriptor(&t.desc));
        int steps[8]; /* cuDNN counts in vectors */
        for (int i = 0; i < n; i++)
            steps[i] = t.stride[i] / vector_of(type);
        IS(format == VECT && !gaps ? cudnnSetTensorNdDescriptorEx(t.desc, VECT, type, n, dim)
                                   : cudnnSetTensorNdDescriptor(t.desc, type, n, dim, steps),
           status);
    }
    upload(&t);
    return t;
}
static inline void drop(struct tensor *t)
{
    if (t->is_filter)
        OK(cudnnDestroyFilterDescriptor(t->desc));
    else
        OK(cudnnDestroyTensorDescriptor(t->desc));
    cudaFree(t->at);
    free(t->host);
    free(t->v);
}

/* What is on the device is what is wanted, element by element; and the gaps are as they were. */
static inline bool same(const struct tensor *t, const double *want, double scale, const char *what)
{
    char *now = malloc(t->size * bytes(t->type) + 1);
    bool *used = calloc(t->size + 1, sizeof *used), good = true;
    OK(cudaMemcpy(now, t->at, t->size * bytes(t->type), 2));
    for (int i = 0; i < count(t) && good; i++) {
        double got = get(now, t->type, place(t, i)), far = fabs(got - want[i]);
        used[place(t, i)] = true;
        good = isnan(want[i])   ? isnan(got)
               : isinf(want[i]) ? got == want[i]
                                : far <= tolerance(t->type) * (fabs(want[i]) + scale);
        EXPECT(good, "%s: type %d, element %d of %d: %g, not %g", what, t->type, i, count(t), got, want[i]);
    }
    for (size_t i = 0; i < t->size && good; i++) {
        good = used[i] || !memcmp(now + i * bytes(t->type), t->host + i * bytes(t->type), bytes(t->type));
        EXPECT(good, "%s: type %d: a gap was written", what, t->type);
    }
    free(now);
    free(used);
    return good;
}

/* alpha or beta as the call takes it for a type. */
union scalar {
    float f;
    double d;
};
static inline union scalar scalar(int type, double v)
{
    union scalar s;
    memset(&s, 0, sizeof s);
    if (type == F64)
        s.d = v;
    else
        s.f = (float)v;
    return s;
}

#endif
