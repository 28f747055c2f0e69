/* Element types narrower than float, of the CPU maths libraries: f16, bf16 and the two of eight bits. What becomes
 * narrower is rounded to the nearest even. Without branches where loops of them shall be vectorised. */
#ifndef CUMU_HOST_MATHS_ELEMENT_H
#define CUMU_HOST_MATHS_ELEMENT_H

#include <string.h>

static inline float maths_bits(unsigned u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline unsigned maths_bits_of(float f)
{
    unsigned u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* A normal number is rebiased by a multiplication. */
static inline float maths_from_half(unsigned h)
{
    unsigned sign = (h & 0x8000u) << 16, rest = (h & 0x7fffu) << 13;
    float f = maths_bits(rest) * 0x1p112f;
    return maths_bits(sign | (rest >= 0x7c00u << 13 ? rest | 0x7f800000u : maths_bits_of(f)));
}
static inline unsigned short maths_to_half(float f)
{
    unsigned u = maths_bits_of(f), sign = u >> 16 & 0x8000u, rest = u & 0x7fffffffu, r;
    if (rest > 0x7f800000u)
        r = 0x7e00u;
    else if (rest >= 0x477ff000u) /* 65520 and more */
        r = 0x7c00u;
    else if (rest < 0x38800000u) /* below 2^-14: in units of 2^-24 */
        r = maths_bits_of(maths_bits(rest) + 0.5f) - maths_bits_of(0.5f);
    else
        r = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1)) >> 13;
    return (unsigned short)(sign | r);
}

static inline float maths_from_bf16(unsigned h) { return maths_bits(h << 16); }
static inline unsigned short maths_to_bf16(float f)
{
    unsigned u = maths_bits_of(f);
    return (unsigned short)((u & 0x7fffffffu) > 0x7f800000u ? u >> 16 | 0x40u
                                                            : (u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

/* e5m2 is the upper half of an f16; e4m3 has no infinity, and one NaN. */
static inline float maths_from_e5m2(unsigned b) { return maths_from_half(b << 8); }
static inline float maths_from_e4m3(unsigned b)
{
    unsigned sign = (b & 0x80u) << 24, rest = b & 0x7fu;
    float f = maths_bits(rest << 20) * 0x1p120f;
    return maths_bits(sign | (rest == 0x7fu ? 0x7fc00000u : maths_bits_of(f)));
}

/* What is too large becomes the largest number. least: 2^(1 - bias); unit: a float whose last place is that of the
 * numbers below it. */
static inline unsigned char maths_to_byte(float f, int digits, unsigned bias, float least, float unit, unsigned largest)
{
    unsigned u = maths_bits_of(f), sign = u >> 24 & 0x80u, rest = u & 0x7fffffffu, shift = 23u - (unsigned)digits, r;
    if (rest > 0x7f800000u)
        return (unsigned char)(sign | 0x7fu);
    if (maths_bits(rest) < least)
        r = maths_bits_of(maths_bits(rest) + unit) - maths_bits_of(unit);
    else
        r = (rest - ((127u - bias) << 23) + (1u << (shift - 1)) - 1 + (rest >> shift & 1)) >> shift;
    return (unsigned char)(sign | (r < largest ? r : largest));
}
static inline unsigned char maths_to_e4m3(float f) { return maths_to_byte(f, 3, 7, 0x1p-6f, 0x1p14f, 0x7eu); }
static inline unsigned char maths_to_e5m2(float f) { return maths_to_byte(f, 2, 15, 0x1p-14f, 0x1p7f, 0x7bu); }

#endif
