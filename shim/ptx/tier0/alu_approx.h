/* The approximate functions as branch-free code that gives the same bits on every CPU, mostly in f64: a few terms
 * in f64 are within half a unit of f32 plus a hair and need no fused multiply-add. */
#ifndef CUMU_PTX_TIER0_ALU_APPROX_H
#define CUMU_PTX_TIER0_ALU_APPROX_H

#include "ptx/tier0/alu.h"

#define ROUND_MAGIC 0x1.8p52 /* adding it leaves the nearest integer in the low mantissa bits */

/* 2^x for |x| <= 1000; NaN stays. Taylor terms to f^8 on [-0.5, 0.5]: relative error below 2^-32.
 */
static inline f64 exp2_core(f64 x)
{
    f64 shifted = x + ROUND_MAGIC, f = x - (shifted - ROUND_MAGIC);
    f64 p = 1.3215486790144307e-6;
    p = p * f + 1.5252733804059840e-5;
    p = p * f + 1.5403530393381609e-4;
    p = p * f + 1.3333558146428443e-3;
    p = p * f + 9.6181291076284771e-3;
    p = p * f + 5.5504108664821580e-2;
    p = p * f + 2.4022650695910071e-1;
    p = p * f + 6.9314718055994531e-1;
    p = p * f + 1.0;
    return p * f64_from((f64_bits(shifted) << 52) + (1023ull << 52));
}
static inline f64 clamp(f64 x, f64 lo, f64 hi) { return x < lo ? lo : x > hi ? hi : x; }
/* 2^x in f32, as it is the one that kernels call most (every expf): a Chebyshev polynomial on [-0.5, 0.5]
 * and a scale in two factors, of which only the second can round. Adding 1.5 * 2^23 rounds to an integer, which is what
 * its bits are above 0x4b400000. The coefficients: mapping/facts/ptx.md M7. */
static inline f32 approx_ex2(f32 x)
{
    x = x < -200 ? -200 : x > 200 ? 200 : x;
    f32 shifted = x + 0x1.8p23f, f = x - (shifted - 0x1.8p23f);
    s32 n = (s32)(f32_bits(shifted) - 0x4b400000u), half = n >> 1;
    f32 p = 0.0001546144470f;
    p = __builtin_fmaf(p, f, 0.001340042818f);
    p = __builtin_fmaf(p, f, 0.009618056679f);
    p = __builtin_fmaf(p, f, 0.05550327227f);
    p = __builtin_fmaf(p, f, 0.2402265092f);
    p = __builtin_fmaf(p, f, 0.6931472067f);
    p = __builtin_fmaf(p, f, 1.0f);
    return p * f32_from((u32)(half + 127) << 23) * f32_from((u32)(n - half + 127) << 23);
}

/* tanh = (t - 1) / (t + 1), t = e^2x; the series near 0, where that cancels */
static inline f32 approx_tanh(f32 v)
{
    f64 x = (f64)v, t = exp2_core(clamp(x * 2.8853900817779268, -200, 200)), z = x * x;
    f64 far = (t - 1) / (t + 1),
        near = x * (1 - z * (0.33333333333333333 - z * 0.13333333333333333));
    return (f32)(z < 0.0004 ? near : far);
}

static inline f32 approx_rsqrt(f32 x) { return (f32)(1.0 / __builtin_sqrt((f64)x)); }

/* log2: x = m 2^e with m near 1, then the series of the area tangent */
static inline f32 approx_lg2(f32 v)
{
    f64 x = (f64)v;
    u64 u = f64_bits(x);
    f64 m = f64_from((u & 0xfffffffffffffull) | 1023ull << 52);
    bool high = m > 1.4142135623730951;
    f64 e = (f64)((s32)(u >> 52 & 0x7ff) - 1023 + (high ? 1 : 0));
    m = high ? m * 0.5 : m;
    f64 s = (m - 1) / (m + 1), z = s * s;
    f64 p = 0.26230818925253879;
    p = p * z + 0.32059889797532519;
    p = p * z + 0.41219858311113238;
    p = p * z + 0.57707801635558530;
    p = p * z + 0.96179669392597558;
    p = p * z + 2.8853900817779268;
    f64 r = e + s * p;
    r = x == 0 ? -(f64)INFINITY : r;
    r = x > 3.5e38 ? x : r; /* inf */
    return x >= 0 ? (f32)r : (f32)NAN;
}

/* sine of x + quadrant * pi/2 for |x| up to SIN_LIMIT: reduction by pi/2 in two parts */
#define SIN_LIMIT 0x1p20f
static inline f32 approx_sin(f32 v, u64 quadrant)
{
    f64 x = (f64)v, shifted = x * 0.63661977236758134 + ROUND_MAGIC, q = shifted - ROUND_MAGIC;
    f64 r = (x - q * 0x1.921fb544p+0) - q * 0x1.0b4611a626331p-34, z = r * r;
    f64 s = -2.5052108385441719e-8;
    s = s * z + 2.7557319223985891e-6;
    s = s * z - 1.9841269841269841e-4;
    s = s * z + 8.3333333333333333e-3;
    s = s * z - 1.6666666666666667e-1;
    s = r * (1.0 + z * s); /* a product, so that -0 stays -0 */
    f64 c = -2.7557319223985888e-7;
    c = c * z + 2.4801587301587302e-5;
    c = c * z - 1.3888888888888889e-3;
    c = c * z + 4.1666666666666667e-2;
    c = c * z - 0.5;
    c = 1.0 + z * c;
    u64 k = f64_bits(shifted) + quadrant;
    f64 y = k & 1 ? c : s;
    return (f32)f64_from(f64_bits(y) ^ (k & 2) << 62);
}

#endif
