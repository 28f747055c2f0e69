/* The .approx instructions of f32 and the coarse reciprocals of f64. */
#include "ptx/tier0/alu_approx.h"

#define APPROX_OP(id, FN) \
    HANDLER(id) \
    { \
        const f32 *a = CROW(f32, i->a); \
        f32 *d = ROW(f32, i->d); \
        if (i->aux & LIR_FTZ) \
            WRITE(f32, d, f32_canon(f32_flush(FN(f32_flush(a[l]))))); \
        else \
            WRITE(f32, d, f32_canon(FN(a[l]))); \
    }
APPROX_OP(RSQRT_F32, approx_rsqrt)
APPROX_OP(LG2_F32, approx_lg2)
APPROX_OP(EX2_F32, approx_ex2)
APPROX_OP(TANH_F32, approx_tanh)

/* Arguments too large for the short reduction are rare: they go to libm one by one. */
#define SINCOS_OP(id, quadrant, LIBM) \
    HANDLER(id) \
    { \
        f32 x[LIR_LANES], r[LIR_LANES]; \
        const f32 *a = CROW(f32, i->a); \
        f32 *d = ROW(f32, i->d); \
        u32 large = 0; \
        const bool ftz = i->aux & LIR_FTZ; \
        EACH_LANE(l) x[l] = f32_in(a[l], ftz); \
        EACH_LANE(l) r[l] = approx_sin(x[l], quadrant); \
        EACH_LANE(l) large |= fabsf(x[l]) > APPROX_SIN_LIMIT ? t0_bit32[l] : 0; \
        EACH_ACTIVE(l, large &MASK) r[l] = (f32)LIBM((f64)x[l]); \
        EACH_LANE(l) r[l] = f32_canon(f32_in(r[l], ftz)); \
        WRITE(f32, d, r[l]); \
    }
SINCOS_OP(SIN_F32, 0, sin)
SINCOS_OP(COS_F32, 1, cos)

/* .approx.ftz.f64 looks at and yields the upper 32 bits only; the rest is zero. */
static inline f64 upper(u64 u)
{
    bool subnormal = (u >> 52 & 0x7ff) == 0;
    return f64_from(u & (subnormal ? 1ull << 63 : 0xffffffff00000000ull));
}
static inline u64 upper_result(f64 x)
{
    u64 u = f64_bits(x);
    if (x != x)
        return 0x7fffffff00000000ull;
    if ((u >> 52 & 0x7ff) == 0)
        return u & 1ull << 63;
    return (u + 0x80000000u) & 0xffffffff00000000ull;
}
OP1(RCP_APPROX_F64, u64, u64, upper_result(1.0 / upper(a[l])))
HANDLER(RSQRT_F64)
{
    const u64 *a = CROW(u64, i->a);
    u64 *d = ROW(u64, i->d);
    if (i->aux & LIR_FTZ)
        WRITE(u64, d, upper_result(1.0 / __builtin_sqrt(upper(a[l]))));
    else
        WRITE(u64, d, f64_bits(1.0 / __builtin_sqrt(f64_from(a[l]))));
}
