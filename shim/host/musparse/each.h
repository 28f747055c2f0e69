/* Includes the file that KERNEL names once for each element type and each type of indices.
 *
 * There T is the element's type, R the real one beside it, I the index's, N(name) the instance's name; MUL is a
 * product without C's rules for infinities (which would be a call for each), CONJ the conjugate, ABS the modulus,
 * REAL the real part. TABLE(name) of musparse.h lists the instances for [type][wide]. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#undef I

#ifndef CUMU_HOST_MUSPARSE_EACH_H
#define CUMU_HOST_MUSPARSE_EACH_H
static inline float mul_s(float a, float b) { return a * b; }
static inline double mul_d(double a, double b) { return a * b; }
static inline float complex mul_c(float complex a, float complex b)
{
    float re = crealf(a) * crealf(b) - cimagf(a) * cimagf(b), im = crealf(a) * cimagf(b) + cimagf(a) * crealf(b);
    return __builtin_complex(re, im);
}
static inline double complex mul_z(double complex a, double complex b)
{
    double re = creal(a) * creal(b) - cimag(a) * cimag(b), im = creal(a) * cimag(b) + cimag(a) * creal(b);
    return __builtin_complex(re, im);
}
#define EACH_PASTE(a, b) a##b
#define EACH_NAME(a, b) EACH_PASTE(a, b)
#endif

/* LETTER names the instances. */
#define T float
#define R float
#define LETTER s
#define CONJ(a) (a)
#define ABS(a) fabsf(a)
#define REAL(a) (a)
#include "host/musparse/each_index.h"

#define T double
#define R double
#define LETTER d
#define CONJ(a) (a)
#define ABS(a) fabs(a)
#define REAL(a) (a)
#include "host/musparse/each_index.h"

#define T float complex
#define R float
#define LETTER c
#define CONJ(a) conjf(a)
#define ABS(a) cabsf(a)
#define REAL(a) crealf(a)
#include "host/musparse/each_index.h"

#define T double complex
#define R double
#define LETTER z
#define CONJ(a) conj(a)
#define ABS(a) cabs(a)
#define REAL(a) creal(a)
#include "host/musparse/each_index.h"
#undef KERNEL
