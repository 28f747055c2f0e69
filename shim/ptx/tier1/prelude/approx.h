/* Tier 1's prelude: the approximate functions. Those of ptx/lir/approx.h are computed in f64 on half a piece at a
 * time; here they become functions of pieces, and ex2 and rsqrt use what the instruction set has for them. */
#define T1_CALLED static __attribute__((noinline, unused))
/* The short ones are inlined: a call saves every vector register. */
#define T1_BY_HALVES(how, name, FN) \
    how pu32 t1_v_##name(pu32 x) \
    { \
        return t1_join_u32(t1_v_f32_f64((pu64)FN(T1_D(t1_v_f64_f32(t1_half0(x))))), \
                           t1_v_f32_f64((pu64)FN(T1_D(t1_v_f64_f32(t1_half1(x)))))); \
    }
T1_BY_HALVES(T1_CALLED, tanh_f32, approx_tanh_64)
T1_BY_HALVES(T1_CALLED, lg2_f32, approx_lg2_64)

T1_INLINE pu32 t1_v_ex2_f32(pu32 a)
{
    const pf32 zero = {0};
    a = T1_LESSER((pu32)(zero + APPROX_EX2_LIMIT), T1_GREATER((pu32)(zero - APPROX_EX2_LIMIT), a)); /* NaN stays */
    pf32 shifted = T1_F(a) + APPROX_ROUND32, whole = shifted - APPROX_ROUND32;
    pf32 p = approx_exp2_fraction(T1_F(a) - whole);
#if T1_ISA == 2
    return (pu32)__builtin_ia32_scalefps512_mask(p, whole, zero, -1, 4);
#else
    pu32 n = (pu32)shifted - APPROX_ROUND32_BITS, half = (pu32)((ps32)n >> 1);
    return (pu32)(p * T1_F((half + 127) << 23) * T1_F((n - half + 127) << 23));
#endif
}
#if T1_ISA
/* y + y e (1/2 + 3/8 e), where e is 1 - x y^2 */
T1_INLINE pu32 t1_rsqrt_step(pu32 y, pu32 e)
{
    const pf32 zero = {0};
    return t1_v_fma_f32(t1_v_mul_f32(y, e), t1_v_fma_f32(e, (pu32)(zero + 0.375f), (pu32)(zero + 0.5f)), y);
}
/* A step leaves the last bit in doubt; the second knows x y to twice the bits. From one unit off, either way, it
 * gives the bits of tier 0's division for all mantissas and both parities of the exponent (checked), so the
 * estimate, which differs between makers, does not show. */
T1_INLINE pu32 t1_rsqrt_steps(pu32 x, pu32 y0)
{
    const pu32 one = T1_ONE32, half = t1_splat_u32(0x3f000000u);
    pu32 e = t1_v_fma_f32(t1_v_neg_f32(t1_v_mul_f32(x, y0)), y0, one);
    const t1_c32 off = T1_C_F32(NAN, e, e); /* 0, infinity and below 0 */
    pu32 y = T1_ISA == 2 ? t1_v_fma_f32(t1_v_mul_f32(y0, half), e, y0) : t1_rsqrt_step(y0, e);
    pu32 h = t1_v_mul_f32(x, y), l = t1_v_fma_f32(t1_v_neg_f32(x), y, h);
    e = t1_v_fma_f32(l, y, t1_v_fma_f32(t1_v_neg_f32(h), y, one));
    return t1_pick32(off, y0, t1_rsqrt_step(y, e));
}
#if T1_ISA == 2
T1_INLINE pu32 t1_v_rsqrt_f32(pu32 x)
{
    return t1_rsqrt_steps(x, (pu32)__builtin_ia32_rsqrt14ps512_mask(T1_F(x), (pf32){0}, -1));
}
#else /* whose estimate takes denormals for 0 */
T1_INLINE pu32 t1_v_rsqrt_f32(pu32 x)
{
    const t1_c32 small = T1_C_F32(LT, x & 0x7fffffffu, t1_splat_u32(0x00800000u));
    x = t1_pick32(small, t1_v_mul_f32(x, t1_splat_u32(0x4b800000u)), x); /* 2^24 */
    pu32 y = t1_rsqrt_steps(x, (pu32)__builtin_ia32_rsqrtps256(T1_F(x)));
    return t1_pick32(small, t1_v_mul_f32(y, t1_splat_u32(0x45800000u)), y); /* 2^12 */
}
#endif
#else
T1_INLINE pf64 t1_rsqrt_64(pf64 x) { return 1.0 / (pf64)t1_v_sqrt_f64((pu64)x); }
T1_BY_HALVES(T1_INLINE, rsqrt_f32, t1_rsqrt_64)
#endif
T1_INLINE pf64 t1_sin_q0(pf64 x) { return approx_sin_64(x, (pu64){0}); }
T1_INLINE pf64 t1_sin_q1(pf64 x) { return approx_sin_64(x, t1_splat_u64(1)); }
T1_BY_HALVES(T1_CALLED, sin_q0, t1_sin_q0)
T1_BY_HALVES(T1_CALLED, sin_q1, t1_sin_q1)
/* Large arguments are rare and tier 0's. */
static __attribute__((noinline, unused)) pu32 t1_v_sin_slow(struct t1_block *b, pu32 x, uint32_t op)
{
    struct t1_rows r;
    t1_put_u32(&r, T1_SRC_ROW(0), 0, x);
    t1_alu(b, &r, op, 0, 0, T1_ALL32);
    return t1_get_u32(&r, T1_DST_ROW(0), 0);
}
T1_INLINE pu32 t1_v_sin_f32(struct t1_block *b, pu32 x, int quadrant, uint32_t op)
{
    if (T1_UNLIKELY(t1_v_cmp_f32(GT, x & 0x7fffffffu, t1_splat_u32(t1_bits32(APPROX_SIN_LIMIT)))))
        return t1_v_sin_slow(b, x, op);
    return quadrant ? t1_v_sin_q1(x) : t1_v_sin_q0(x);
}
