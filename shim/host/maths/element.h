/* Element types of eight bits, of the CPU maths libraries. What becomes narrower is rounded to the nearest even.
 * Without branches where loops of them shall be vectorised. */
#ifndef CUMU_HOST_MATHS_ELEMENT_H
#define CUMU_HOST_MATHS_ELEMENT_H

#include "half/half.h"

/* e5m2 is the upper half of an f16; e4m3 has no infinity, and one NaN. */
static inline float maths_from_e5m2(unsigned b) { return f16_to_f32(b << 8); }
static inline float maths_from_e4m3(unsigned b)
{
    unsigned sign = (b & 0x80u) << 24, rest = b & 0x7fu;
    float f = f32_from(rest << 20) * 0x1p120f;
    return f32_from(sign | (rest == 0x7fu ? 0x7fc00000u : f32_bits(f)));
}

/* What is too large becomes the largest number. least: 2^(1 - bias); unit: a float whose last place is that of the
 * numbers below it. */
static inline unsigned char maths_to_byte(float f, int digits, unsigned bias, float least, float unit, unsigned largest)
{
    unsigned u = f32_bits(f), sign = u >> 24 & 0x80u, rest = u & 0x7fffffffu, shift = 23u - (unsigned)digits, r;
    if (rest > 0x7f800000u)
        return (unsigned char)(sign | 0x7fu);
    if (f32_from(rest) < least)
        r = f32_bits(f32_from(rest) + unit) - f32_bits(unit);
    else
        r = (rest - ((127u - bias) << 23) + (1u << (shift - 1)) - 1 + (rest >> shift & 1)) >> shift;
    return (unsigned char)(sign | (r < largest ? r : largest));
}
static inline unsigned char maths_to_e4m3(float f) { return maths_to_byte(f, 3, 7, 0x1p-6f, 0x1p14f, 0x7eu); }
static inline unsigned char maths_to_e5m2(float f) { return maths_to_byte(f, 2, 15, 0x1p-14f, 0x1p7f, 0x7bu); }

#endif
