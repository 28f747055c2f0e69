/* Exponentials of floats without branches, of whose loops the compiler makes vectors: for files of such loops alone, as
 * it lets the compiler contract products and sums there. */
#ifndef CUMU_HOST_MUDNN_REAL_H
#define CUMU_HOST_MUDNN_REAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sanitize.h"

/* A copy of the loops for each level of CPU. */
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12 && !CUMU_ASAN && !CUMU_TSAN
#pragma GCC optimize("fp-contract=fast")
#define REAL_VECTOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
/* And the two parts of that for loops that are written apart for vectors of 64 bytes. */
#define REAL_WIDE __attribute__((target("arch=x86-64-v4")))
#define REAL_NARROW __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define REAL_VECTOR
#define REAL_NARROW
#endif

/* e^x, within 2 units of the last place: x = n ln 2 + r, and e^r by its series to r^6, |r| <= 0.35. Beyond the floats'
 * range the last of it; a NaN stays one. */
static inline float real_exp(float x)
{
    const float most = 88.0f,
                magic = 12582912.0f; /* adding 1.5 * 2^23 leaves the nearest whole number in the last bits */
    float v = x > most ? most : x;
    v = v < 1 - most ? 1 - most : v;
    float shifted = v * 1.44269504088896341f + magic, n = shifted - magic;
    float r = (v - n * 0.693359375f) - n * -2.12194440e-4f;
    float e = 1 + r * (1 + r * (0.5f + r * (1 / 6.0f + r * (1 / 24.0f + r * (1 / 120.0f + r * (1 / 720.0f))))));
    int32_t bits;
    float power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (int32_t)((uint32_t)bits << 23) + 0x3f800000;
    memcpy(&power, &bits, sizeof power);
    return e * power;
}

#endif
