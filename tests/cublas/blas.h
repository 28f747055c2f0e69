/* What the cuBLAS tests share: buffers that lie on the device in one of four types and beside it as complex
 * doubles, where the plain reference computes. Scalars are passed from the host or from the device. */
#ifndef CUMU_TESTS_BLAS_H
#define CUMU_TESTS_BLAS_H

#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "cuda_functions.h"

/* Other libraries' tests name theirs before. */
#ifndef TEST_LIBRARY
#define TEST_LIBRARY "libcublas.so.12"
#endif
#ifndef TEST_CREATE
#define TEST_CREATE "cublasCreate_v2"
#define TEST_POINTER_MODE "cublasSetPointerMode_v2"
#endif

typedef double complex num;

static void *handle;
static bool on_device; /* where scalars are */
static char letter_of[] = "SDCZ";

static void *symbol(const char *format, ...)
{
    static void *lib;
    char name[64];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    lib = lib ? lib : dlopen(TEST_LIBRARY, RTLD_NOW);
    void *f = lib ? dlsym(lib, name) : NULL;
    if (!EXPECT(f, "no %s: %s", name, dlerror())) {
        exit(1);
    }
    return f;
}
static unsigned seed = 12345;
static int upto(int n) /* 0..n-1 */
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)n);
}
static double unit(void) { return (double)(upto(2001) - 1000) / 1024; } /* exact in f32 */

static size_t size_of(int type) { return (size_t[]){4, 8, 8, 16}[type]; }
static num value(int type) { return type < 2 ? unit() : unit() + I * unit(); }

static void pack(int type, const num *from, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (type) {
        case 0: ((float *)to)[i] = (float)creal(from[i]); break;
        case 1: ((double *)to)[i] = creal(from[i]); break;
        case 2: ((float complex *)to)[i] = (float complex)from[i]; break;
        default: ((num *)to)[i] = from[i];
        }
}
static void unpack(int type, const void *from, num *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = type == 0   ? ((const float *)from)[i]
                : type == 1 ? ((const double *)from)[i]
                : type == 2 ? ((const float complex *)from)[i]
                            : ((const num *)from)[i];
}

struct buffer {
    int type;
    size_t n;
    void *at; /* on the device */
    num *ref;
};
static inline struct buffer buffer(int type, size_t n)
{
    struct buffer b = {type, n ? n : 1, NULL, NULL};
    b.ref = malloc(b.n * sizeof *b.ref);
    for (size_t i = 0; i < b.n; i++)
        b.ref[i] = value(type);
    if (cudaMalloc(&b.at, b.n * size_of(type)))
        exit(1);
    return b;
}
static inline void upload(struct buffer b)
{
    void *raw = malloc(b.n * size_of(b.type));
    pack(b.type, b.ref, raw, b.n);
    cudaMemcpy(b.at, raw, b.n * size_of(b.type), 1);
    free(raw);
}
static inline void poison(struct buffer b)
{
    for (size_t i = 0; i < b.n; i++)
        b.ref[i] = NAN;
}
static bool near(num got, num want, int type, double terms)
{
    if (isnan(creal(want)))
        return isnan(creal(got));
    double eps = type == 0 || type == 2 ? 1e-5 : 1e-13;
    return cabs(got - want) <= eps * (terms + 8) * (1 + cabs(want));
}
/* The device's elements against the reference: all of them, so that a write beside the result is seen. */
static inline void compare(struct buffer b, double terms, const char *what, int line)
{
    void *raw = malloc(b.n * size_of(b.type));
    num *got = malloc(b.n * sizeof *got);
    cudaMemcpy(raw, b.at, b.n * size_of(b.type), 2);
    unpack(b.type, raw, got, b.n);
    for (size_t i = 0; i < b.n; i++)
        if (!EXPECT(near(got[i], b.ref[i], b.type, terms),
                    "%s %c (line %d): element %zu of %zu is %g%+gi, expected %g%+gi", what, letter_of[b.type], line, i,
                    b.n, creal(got[i]), cimag(got[i]), creal(b.ref[i]), cimag(b.ref[i]))) {
            break;
        }
    free(raw);
    free(got);
}
#define COMPARE(b, terms, what) compare(b, terms, what, __LINE__)
static inline void drop(struct buffer b)
{
    cudaFree(b.at);
    free(b.ref);
}

/* A scalar of the type where the pointer mode wants it; eight may be in use at once. */
static inline const void *scalar(int type, num v)
{
    static char host[8][16];
    static void *device[8];
    static int next;
    int i = next++ % 8;
    pack(type, &v, host[i], 1);
    if (!on_device)
        return host[i];
    if (!device[i])
        cudaMalloc(&device[i], 16);
    cudaMemcpy(device[i], host[i], 16, 1);
    return device[i];
}
static inline num special(int type) /* 0, 1, -1 and others */
{
    int k = upto(6);
    return k == 0 ? 0 : k == 1 ? 1 : k == 2 ? -1 : value(type);
}
static inline void pointer_mode(void)
{
    on_device = upto(2);
    ((int (*)(void *, int))symbol(TEST_POINTER_MODE))(handle, on_device);
}
static inline num conj_if(bool c, num v) { return c ? conj(v) : v; }

static inline int begin(void)
{
    int r = ((int (*)(void **))symbol(TEST_CREATE))(&handle);
    if (r == 1) {
        printf("skip: built without OpenBLAS\n");
        exit(77);
    }
    return r;
}
#endif
