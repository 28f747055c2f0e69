/* Scalar conversions between half, bfloat16 and float, rounding to nearest even. */
#ifndef CUMU_PTX_T0_HALF_H
#define CUMU_PTX_T0_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t t0_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

static inline float t0_float(uint32_t b)
{
    float f;
    memcpy(&f, &b, 4);
    return f;
}

static inline float t0_from_bf16(uint16_t h)
{
    return t0_float((uint32_t)h << 16);
}

static inline uint16_t t0_to_bf16(float f)
{
    uint32_t b = t0_bits(f);
    if (f != f)
        return 0x7fff;
    return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

static inline float t0_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 31)
        return t0_float(sign | 0x7f800000 | m << 13);
    if (e)
        return t0_float(sign | (e + 112) << 23 | m << 13);
    float f = (float)m * 0x1p-24f;
    return sign ? -f : f;
}

static inline uint16_t t0_to_f16(float f)
{
    uint32_t b = t0_bits(f), sign = b >> 16 & 0x8000, m = b & 0x7fffffff;
    if (m > 0x7f800000)
        return 0x7fff;
    if (m >= 0x477ff000) /* rounds to 2^16 or more */
        return (uint16_t)(sign | 0x7c00);
    if (m < 0x38800000) { /* subnormal: the addition rounds at 2^-24 */
        uint32_t r = t0_bits(t0_float(m) + 0.5f) - t0_bits(0.5f);
        return (uint16_t)(sign | r);
    }
    m += 0xfff + (m >> 13 & 1);
    return (uint16_t)(sign | ((m - (112u << 23)) >> 13));
}

#endif
