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
#endif

#define T float
#define R float
#define MUL(a, b) ((a) * (b))
#define CONJ(a) (a)
#define ABS(a) fabsf(a)
#define REAL(a) (a)
#define I int32_t
#define N(name) name##_s32
#include KERNEL
#undef I
#undef N
#define I int64_t
#define N(name) name##_s64
#include KERNEL
#undef I
#undef N
#undef T
#undef R
#undef ABS

#define T double
#define R double
#define ABS(a) fabs(a)
#define I int32_t
#define N(name) name##_d32
#include KERNEL
#undef I
#undef N
#define I int64_t
#define N(name) name##_d64
#include KERNEL
#undef I
#undef N
#undef T
#undef R
#undef MUL
#undef CONJ
#undef ABS
#undef REAL

#define T float complex
#define R float
#define MUL(a, b) mul_c(a, b)
#define CONJ(a) conjf(a)
#define ABS(a) cabsf(a)
#define REAL(a) crealf(a)
#define I int32_t
#define N(name) name##_c32
#include KERNEL
#undef I
#undef N
#define I int64_t
#define N(name) name##_c64
#include KERNEL
#undef I
#undef N
#undef T
#undef R
#undef MUL
#undef CONJ
#undef ABS
#undef REAL

#define T double complex
#define R double
#define MUL(a, b) mul_z(a, b)
#define CONJ(a) conj(a)
#define ABS(a) cabs(a)
#define REAL(a) creal(a)
#define I int32_t
#define N(name) name##_z32
#include KERNEL
#undef I
#undef N
#define I int64_t
#define N(name) name##_z64
#include KERNEL
#undef I
#undef N
#undef T
#undef R
#undef MUL
#undef CONJ
#undef ABS
#undef REAL
#undef KERNEL
