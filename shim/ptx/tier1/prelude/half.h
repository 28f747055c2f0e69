/* Tier 1's prelude: f16 and bf16, one or two a register: exact to f32, to the nearest even back. */
#if T1_ISA == 2
typedef short t1_h16 __attribute__((vector_size(32)));
T1_INLINE pu32 t1_v_f32_f16(pu32 x)
{
    return (pu32)__builtin_ia32_vcvtph2ps512_mask((t1_h16)t1_narrow_u16(x), (pf32){0}, -1, 4);
}
T1_INLINE pu32 t1_v_f16_f32(pu32 x)
{
    return t1_wide_u16((pu16)__builtin_ia32_vcvtps2ph512_mask(T1_F(x), 0, (t1_h16){0}, -1));
}
#elif T1_ISA == 1
typedef short t1_h8 __attribute__((vector_size(16)));
T1_INLINE pu32 t1_v_f32_f16(pu32 x) { return (pu32)__builtin_ia32_vcvtph2ps256((t1_h8)t1_narrow_u16(x)); }
T1_INLINE pu32 t1_v_f16_f32(pu32 x) { return t1_wide_u16((pu16)__builtin_ia32_vcvtps2ph256(T1_F(x), 0)); }
#else
T1_INLINE pu32 t1_v_f32_f16(pu32 h)
{
    pu32 em = h & 0x7fff, sign = (h & 0x8000) << 16;
    pu32 normal = (em << 13) + ((127 - 15) << 23), inf = (em << 13) | 0x7f800000u;
    pu32 sub = (pu32)(__builtin_convertvector((ps32)em, pf32) * 0x1p-24f);
    pu32 u = t1_pick32(T1_C_U32(LT, em, t1_splat_u32(0x400)), sub,
                       t1_pick32(T1_C_U32(LT, em, t1_splat_u32(0x7c00)), normal, inf));
    return sign | u;
}
T1_INLINE pu32 t1_v_f16_f32(pu32 u)
{
    pu32 sign = (u >> 16) & 0x8000, a = u & 0x7fffffffu;
    pu32 sub = (pu32)((pf32)a + 0.5f) - 0x3f000000u;
    pu32 normal = (a + 0xfff + ((a >> 13) & 1) - ((127 - 15) << 23)) >> 13;
    pu32 h = t1_pick32(T1_C_U32(LT, a, t1_splat_u32(0x38800000u)), sub,
                       t1_pick32(T1_C_U32(LT, a, t1_splat_u32(0x47800000u)), normal, t1_splat_u32(0x7c00)));
    return t1_pick32(T1_C_U32(GT, a, t1_splat_u32(0x7f800000u)), t1_splat_u32(0x7fff), sign | h);
}
#endif
T1_INLINE pu32 t1_v_bf16_f32(pu32 u)
{
    return t1_pick32(T1_C_U32(GT, u & 0x7fffffffu, t1_splat_u32(0x7f800000u)), t1_splat_u32(0x7fff),
                     (u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
T1_INLINE pu32 t1_v_f32_bf16(pu32 x) { return x << 16; }
#if T1_ISA == 2
/* The sum rounded down and up: of two that differ one is odd, and what is rounded to odd can be rounded again. The
 * range of f32 has room for what bf16 rounds to 0 or infinity. */
T1_INLINE pu32 t1_fma16(pu32 a, pu32 b, pu32 c)
{
    const pu32 down = (pu32)__builtin_ia32_vfmaddps512_mask(T1_F(a), T1_F(b), T1_F(c), -1, 9);
    const pu32 up = (pu32)__builtin_ia32_vfmaddps512_mask(T1_F(a), T1_F(b), T1_F(c), -1, 10);
    return t1_pick32(T1_C_U32(NEU, down & 1, (pu32){0}), down, up);
}
T1_INLINE pu32 t1_fmabf(pu32 a, pu32 b, pu32 c) { return t1_fma16(a, b, c); }
#else
/* f64 to f32 rounded to odd: a second rounding is then right. */
T1_INLINE ph32 t1_odd(pf64 x)
{
    const pu64 mag = ~(pu64){0} >> 1;
    ph32 t = t1_v_f32_f64((pu64)x);
    pu64 back = t1_v_f64_f32(t) & mag, ax = (pu64)x & mag;
    ph32 fixed = t1_pickh(T1_C_F64(LT, back, ax), t + 1, t - 1);
    ph32 odd = (ph32)((t & 1) != 0);
    fixed = (t & odd) | (fixed & ~odd);
    return t1_pickh(T1_C_F64(NE, back, ax), fixed, t);
}
T1_INLINE ph32 t1_fmabf_half(ph32 a, ph32 b, ph32 c)
{
    pf64 p = T1_D(t1_v_f64_f32(a)) * T1_D(t1_v_f64_f32(b)), z = T1_D(t1_v_f64_f32(c)), s = p + z, part = s - p;
    pf64 err = (p - (s - part)) + (z - part);
    pu64 u = (pu64)s, pos = (pu64)(err > 0), neg = (pu64)(err < 0), same = ~(pos ^ (pu64)(s > 0));
    pu64 step = (same & (u + 1)) | (~same & (u - 1)), use = (pos | neg) & (pu64)((u & 1) == 0);
    return t1_odd((pf64)((step & use) | (u & ~use)));
}
/* A product of halves is exact in f32; of the sum what is lost, which tells the direction, is exact, too. */
T1_INLINE pu32 t1_fma16(pu32 a, pu32 b, pu32 c)
{
    const pf32 p = T1_F(a) * T1_F(b), z = T1_F(c), s = p + z, part = s - p, lost = (p - (s - part)) + (z - part);
    const pu32 u = (pu32)s, pos = (pu32)(lost > 0), neg = (pu32)(lost < 0), same = ~(pos ^ (pu32)(s > 0));
    const pu32 step = (same & (u + 1)) | (~same & (u - 1)), use = (pos | neg) & (pu32)((u & 1) == 0);
    return (step & use) | (u & ~use);
}
static __attribute__((noinline, unused)) pu32 t1_fmabf_wide(pu32 a, pu32 b, pu32 c)
{
    return t1_join_u32(t1_fmabf_half(t1_half0(a), t1_half0(b), t1_half0(c)),
                       t1_fmabf_half(t1_half1(a), t1_half1(b), t1_half1(c)));
}
/* One of bf16 is, too, but where it is below 2^-110 or overflows. */
T1_INLINE pu32 t1_fmabf(pu32 a, pu32 b, pu32 c)
{
    const pu32 low = t1_splat_u32(0x08800000u), size = (pu32)(T1_F(a) * T1_F(b)) & 0x7fffffffu;
    const uint32_t odd = t1_cbits32(T1_C_U32(GE, size - low, 0x7f800000u - low));
    if (odd & ~(t1_cbits32(T1_C_U32(EQ, a << 1, (pu32){0})) | t1_cbits32(T1_C_U32(EQ, b << 1, (pu32){0}))))
        return t1_fmabf_wide(a, b, c);
    return t1_fma16(a, b, c);
}
#endif
/* The pairs of a piece as two vectors of f32, and back: the first and the second of each pair, or, where the machine
 * converts 16 in a row, those of the first lanes and those of the others. */
#if T1_ISA == 2
T1_INLINE pu32 t1_one_f16(pu32 x)
{
    return (pu32)__builtin_ia32_vcvtph2ps512_mask((t1_h16)t1_half0(x), (pf32){0}, -1, 4);
}
T1_INLINE pu32 t1_two_f16(pu32 x)
{
    return (pu32)__builtin_ia32_vcvtph2ps512_mask((t1_h16)t1_half1(x), (pf32){0}, -1, 4);
}
T1_INLINE pu32 t1_both_f16(pu32 one, pu32 two)
{
    return t1_join_u32((ph32)__builtin_ia32_vcvtps2ph512_mask(T1_F(one), 0, (t1_h16){0}, -1),
                       (ph32)__builtin_ia32_vcvtps2ph512_mask(T1_F(two), 0, (t1_h16){0}, -1));
}
#elif T1_ISA == 1
T1_INLINE pu32 t1_one_f16(pu32 x) { return (pu32)__builtin_ia32_vcvtph2ps256((t1_h8)t1_half0(x)); }
T1_INLINE pu32 t1_two_f16(pu32 x) { return (pu32)__builtin_ia32_vcvtph2ps256((t1_h8)t1_half1(x)); }
T1_INLINE pu32 t1_both_f16(pu32 one, pu32 two)
{
    return t1_join_u32((ph32)__builtin_ia32_vcvtps2ph256(T1_F(one), 0),
                       (ph32)__builtin_ia32_vcvtps2ph256(T1_F(two), 0));
}
#else
T1_INLINE pu32 t1_one_f16(pu32 x) { return t1_v_f32_f16(x & 0xffffu); }
T1_INLINE pu32 t1_two_f16(pu32 x) { return t1_v_f32_f16(x >> 16); }
T1_INLINE pu32 t1_both_f16(pu32 one, pu32 two) { return t1_v_f16_f32(one) | t1_v_f16_f32(two) << 16; }
#endif
T1_INLINE pu32 t1_one_bf16(pu32 x) { return x << 16; }
T1_INLINE pu32 t1_two_bf16(pu32 x) { return x & 0xffff0000u; }
T1_INLINE pu32 t1_both_bf16(pu32 one, pu32 two) { return t1_v_bf16_f32(one) | t1_v_bf16_f32(two) << 16; }
#define T1_HALF2(name, H, OP) \
    T1_INLINE pu32 t1_v_##name##_##H(pu32 a, pu32 b) { return t1_v_##H##_f32(OP(t1_v_f32_##H(a), t1_v_f32_##H(b))); } \
    T1_INLINE pu32 t1_v_##name##_##H##x2(pu32 a, pu32 b) \
    { \
        return t1_both_##H(OP(t1_one_##H(a), t1_one_##H(b)), OP(t1_two_##H(a), t1_two_##H(b))); \
    }
T1_HALF2(add, f16, t1_v_add_f32)
T1_HALF2(sub, f16, t1_v_sub_f32)
T1_HALF2(mul, f16, t1_v_mul_f32)
T1_HALF2(min, f16, t1_v_min_f32)
T1_HALF2(max, f16, t1_v_max_f32)
T1_HALF2(add, bf16, t1_v_add_f32)
T1_HALF2(sub, bf16, t1_v_sub_f32)
T1_HALF2(mul, bf16, t1_v_mul_f32)
T1_HALF2(min, bf16, t1_v_min_f32)
T1_HALF2(max, bf16, t1_v_max_f32)
#define T1_HALF3(H, FMA) \
    T1_INLINE pu32 t1_v_fma_##H(pu32 a, pu32 b, pu32 c) \
    { \
        return t1_v_##H##_f32(FMA(t1_v_f32_##H(a), t1_v_f32_##H(b), t1_v_f32_##H(c))); \
    } \
    T1_INLINE pu32 t1_v_fma_##H##x2(pu32 a, pu32 b, pu32 c) \
    { \
        return t1_both_##H(FMA(t1_one_##H(a), t1_one_##H(b), t1_one_##H(c)), \
                           FMA(t1_two_##H(a), t1_two_##H(b), t1_two_##H(c))); \
    }
T1_HALF3(f16, t1_fma16)
T1_HALF3(bf16, t1_fmabf)
