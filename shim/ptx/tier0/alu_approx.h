/* The approximate functions of the interpreter: those of ptx/lir/approx.h on scalars, in loops that the compiler
 * vectorises. */
#ifndef CUMU_PTX_TIER0_ALU_APPROX_H
#define CUMU_PTX_TIER0_ALU_APPROX_H

#include "ptx/tier0/alu.h"

#define APPROX_FN static inline
#define APPROX_F f64
#define APPROX_U u64
#define APPROX_BITS(x) f64_bits(x)
#define APPROX_F64(u) f64_from(u)
#define APPROX_K(c) (c)
#define APPROX_LT <
#define APPROX_GT >
#define APPROX_GE >=
#define APPROX_EQ ==
#define APPROX_IF(rel, a, b, yes, no) ((a)APPROX_##rel(b) ? (yes) : (no))
#define APPROX_F32 f32
#define APPROX_K32(c) (c)
#define APPROX_FMA32(a, b, c) __builtin_fmaf(a, b, c)
#include "ptx/lir/approx.h"

/* The scale is two factors, of which only the second can round. */
static inline f32 approx_ex2(f32 x)
{
    x = x < -APPROX_EX2_LIMIT ? -APPROX_EX2_LIMIT : x > APPROX_EX2_LIMIT ? APPROX_EX2_LIMIT : x;
    f32 shifted = x + APPROX_ROUND32, f = x - (shifted - APPROX_ROUND32);
    s32 n = (s32)(f32_bits(shifted) - APPROX_ROUND32_BITS), half = n >> 1;
    return approx_exp2_fraction(f) * f32_from((u32)(half + 127) << 23) * f32_from((u32)(n - half + 127) << 23);
}
static inline f32 approx_tanh(f32 x) { return (f32)approx_tanh_64((f64)x); }
static inline f32 approx_lg2(f32 x) { return (f32)approx_lg2_64((f64)x); }
static inline f32 approx_sin(f32 x, u64 quadrant) { return (f32)approx_sin_64((f64)x, quadrant); }
static inline f32 approx_rsqrt(f32 x) { return (f32)(1.0 / __builtin_sqrt((f64)x)); }

#endif
