/* f16, bf16 and floats of 8 bits as every part of cumu converts them: exactly to f32; from f32 to the nearest even, any
 * NaN to 0x7fff, as cvt.rn of NVIDIA's devices does. Without branches, so that loops of them become vectors. */
#ifndef CUMU_HALF_H
#define CUMU_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}
static inline float f32_from(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline float f16_to_f32(uint32_t h)
{
    uint32_t rest = h & 0x7fff, sign = (h & 0x8000) << 16;
    uint32_t normal = (rest << 13) + ((127 - 15) << 23), special = (rest << 13) | 0x7f800000u;
    uint32_t sub = f32_bits((float)(int32_t)rest * 0x1p-24f); /* a subnormal is an integer times 2^-24 */
    return f32_from(sign | (rest < 0x0400 ? sub : rest < 0x7c00 ? normal : special));
}
/* The narrow ones are 32-bit words, so that who packs two of them shifts without a cast. */
static inline uint32_t f32_to_f16(float x)
{
    uint32_t u = f32_bits(x), sign = u >> 16 & 0x8000, rest = u & 0x7fffffffu;
    /* below 2^-14: adding 0.5 aligns the fraction so that the sum is rounded at 2^-24 */
    uint32_t sub = f32_bits(f32_from(rest) + 0.5f) - 0x3f000000u;
    uint32_t normal = (rest + 0xfff + (rest >> 13 & 1) - ((127u - 15) << 23)) >> 13;
    uint32_t h = rest < 0x38800000u ? sub : rest < 0x47800000u ? normal : 0x7c00; /* 65536 and above: infinite */
    return rest > 0x7f800000u ? 0x7fff : sign | h;
}

static inline float e4m3_to_f32(uint32_t b)
{
    uint32_t m = b & 0x7f, bits = m < 8 ? f32_bits((float)(int32_t)m * 0x1p-9f) : (m << 20) + ((127 - 7) << 23);
    return f32_from((m == 0x7f ? 0x7fc00000u : bits) | (b & 0x80) << 24);
}
static inline float e5m2_to_f32(uint32_t b) { return f16_to_f32(b << 8); }

static inline float bf16_to_f32(uint32_t h) { return f32_from(h << 16); }
static inline uint32_t f32_to_bf16(float x)
{
    uint32_t u = f32_bits(x);
    return (u & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

#endif
