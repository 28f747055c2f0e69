/* Elements of matrices as scalars, for the references of matrix tests. */
#ifndef CUMU_TESTS_TIER0_NUMBERS_H
#define CUMU_TESTS_TIER0_NUMBERS_H

#include <math.h>

#include "ptx/tier0/warp.h"
#include "tier0/harness.h"
#include "xorshift.h"

enum format { F16, BF16, TF32, F32, F64, E4M3, E5M2, S8, U8, S4, U4, B1, S32 };
static const struct {
    const char *name;
    unsigned bits;
    bool is_int;
} info[] = {{"f16", 16, 0}, {"bf16", 16, 0}, {"tf32", 32, 0}, {"f32", 32, 0}, {"f64", 64, 0},
            {"e4m3", 8, 0}, {"e5m2", 8, 0},  {"s8", 8, 1},    {"u8", 8, 1},   {"s4", 4, 1},
            {"u4", 4, 1},   {"b1", 1, 1},    {"s32", 32, 1}};

static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void) { return xorshift(&seed); }

/* ---- scalar values ---- */

/* Value of a small float: e exponent bits, m mantissa bits. */
static double small_float(uint32_t v, int e, int m)
{
    int exponent = (int)(v >> m & ((1u << e) - 1)), bias = (1 << (e - 1)) - 1;
    double mantissa = (double)(v & ((1u << m) - 1)), r;
    bool top = exponent == (1 << e) - 1;
    if (e == 4) /* e4m3 has no infinities and one NaN */
        top = top && mantissa == 7;
    if (top)
        r = e != 4 && mantissa == 0 ? INFINITY : NAN;
    else
        r = exponent ? ldexp(1 + ldexp(mantissa, -m), exponent - bias) : ldexp(mantissa, 1 - bias - m);
    return v >> (e + m) & 1 ? -r : r;
}

static double value(uint64_t bits, enum format f)
{
    uint32_t v = (uint32_t)bits;
    float x;
    double d;
    switch (f) {
    case F16: return small_float(v & 0xffff, 5, 10);
    case BF16: return small_float(v & 0xffff, 8, 7);
    case TF32: v &= ~0x1fffu; /* fall through */
    case F32: memcpy(&x, &v, 4); return (double)x;
    case F64: memcpy(&d, &bits, 8); return d;
    case E4M3: return small_float(v & 0xff, 4, 3);
    case E5M2: return small_float(v & 0xff, 5, 2);
    case S8: return (int8_t)v;
    case U8: return (uint8_t)v;
    case S4: return (int)((v & 15) ^ 8) - 8;
    case U4: return v & 15;
    case B1: return v & 1;
    default: return (int32_t)v;
    }
}

/* Nearest f16, ties to even, found by scaling: independent of the implementation's bit tricks. */
static uint16_t to_f16(float x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double a = fabs((double)x);
    int e;
    if (x != x)
        return 0x7fff;
    if (a >= 65520)
        return sign | 0x7c00;
    frexp(a, &e);
    e = e < -13 ? -13 : e;
    double unit = ldexp(1, e - 11), q = nearbyint(a / unit);
    uint32_t steps = (uint32_t)q; /* of 2^(e-11): 1024..2048 of a normal number */
    return sign | (uint16_t)(steps + (uint32_t)(e + 13) * 1024);
}

static uint64_t random_bits(enum format f, unsigned style)
{
    uint64_t v = rnd() >> 8;
    static const uint16_t odd16[] = {0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 1, 0x3ff, 0x400, 0x7bff, 0xfbff, 0x3c00};
    switch (style) {
    case 0: /* moderate numbers */
        if (f == F16)
            return (v & 0x83ff) | (0x3000 + (v >> 20 & 0xf) * 0x400);
        if (f == BF16)
            return (v & 0x807f) | (0x3d00 + (v >> 20 & 0x7) * 0x80);
        if (f == F32 || f == TF32)
            return (v & 0x807fffff) | (0x3d000000 + (v >> 40 & 0xf) * 0x800000);
        if (f == F64)
            return (rnd() & 0x800fffffffffffff) | (0x3fe + (v & 15)) << 52;
        return v;
    case 1: /* anything */ return f == F64 ? rnd() : v;
    default: /* edges among small numbers */
        if (v >> 32 & 7)
            return random_bits(f, 0);
        if (f == F16)
            return odd16[v % 11];
        if (f == BF16 || f == F32 || f == TF32) {
            static const uint32_t odd[] = {0,          1u << 31,   0x7f800000, 0xff800000,
                                           0x7fc00000, 0x00400000, 0x7f7f0000, 0x3f800000};
            return f == BF16 ? odd[v % 8] >> 16 : odd[v % 8];
        }
        return v & 1 ? ~(uint64_t)0 : (uint64_t)1 << (info[f].bits - 1);
    }
}

#endif
