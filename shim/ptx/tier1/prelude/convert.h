/* Tier 1's prelude: conversions between integers and floating point. */
#if T1_ISA == 2
T1_INLINE ph32 t1_pickh(t1_c64 c, ph32 yes, ph32 no) { return t1_blend_h32(c, no, yes); }
#else
T1_INLINE ph32 t1_pickh(t1_c64 c, ph32 yes, ph32 no)
{
    ph32 m = t1_trunc_u64(c);
    return (yes & m) | (no & ~m);
}
#endif
T1_INLINE pu32 t1_v_f32_s32(pu32 x) { return (pu32) __builtin_convertvector((ps32)x, pf32); }
T1_INLINE pu32 t1_v_f32_u32(pu32 x) { return (pu32) __builtin_convertvector(x, pf32); }
T1_INLINE ph32 t1_v_f32_s64(pu64 x) { return (ph32) __builtin_convertvector((ps64)x, phf32); }
T1_INLINE ph32 t1_v_f32_u64(pu64 x) { return (ph32) __builtin_convertvector(x, phf32); }
T1_INLINE pu64 t1_v_f64_s32(ph32 x) { return (pu64) __builtin_convertvector((phs32)x, pf64); }
T1_INLINE pu64 t1_v_f64_u32(ph32 x) { return (pu64) __builtin_convertvector(x, pf64); }
T1_INLINE pu64 t1_v_f64_s64(pu64 x) { return (pu64) __builtin_convertvector((ps64)x, pf64); }
T1_INLINE pu64 t1_v_f64_u64(pu64 x) { return (pu64) __builtin_convertvector(x, pf64); }
#if T1_ISA == 2 && !defined(__clang__) /* as T1_CONVERT */
T1_INLINE pu64 t1_v_f64_f32(ph32 x) { return (pu64)__builtin_ia32_cvtps2pd512_mask((phf32)x, (pf64){0}, -1, 4); }
T1_INLINE ph32 t1_v_f32_f64(pu64 x) { return (ph32)__builtin_ia32_cvtpd2ps512_mask(T1_D(x), (phf32){0}, -1, 4); }
#else
T1_INLINE pu64 t1_v_f64_f32(ph32 x) { return (pu64) __builtin_convertvector((phf32)x, pf64); }
T1_INLINE ph32 t1_v_f32_f64(pu64 x) { return (ph32) __builtin_convertvector(T1_D(x), phf32); }
#endif
T1_INLINE uint32_t t1_s_f32_s32(uint32_t x) { return t1_bits32((float)(int32_t)x); }
T1_INLINE uint32_t t1_s_f32_u32(uint32_t x) { return t1_bits32((float)x); }
T1_INLINE uint32_t t1_s_f32_s64(uint64_t x) { return t1_bits32((float)(int64_t)x); }
T1_INLINE uint32_t t1_s_f32_u64(uint64_t x) { return t1_bits32((float)x); }
T1_INLINE uint64_t t1_s_f64_s32(uint32_t x) { return t1_bits64((double)(int32_t)x); }
T1_INLINE uint64_t t1_s_f64_u32(uint32_t x) { return t1_bits64((double)x); }
T1_INLINE uint64_t t1_s_f64_s64(uint64_t x) { return t1_bits64((double)(int64_t)x); }
T1_INLINE uint64_t t1_s_f64_u64(uint64_t x) { return t1_bits64((double)x); }

/* To integers: saturated; NaN gives 0, but 1 << (width - 1) when the source is f64 or the result 64
 * bits. mode: 0 nearest, 1 zero, 2 down, 3 up. */
#define T1_MODE32(x, m) ((m) == 1 ? (x) : t1_v_int_f32(x, m))
#define T1_MODE64(x, m) ((m) == 1 ? (x) : t1_v_int_f64(x, m))
#define t1_v_s32_f32(x, m) t1_cvt_s32_f32(T1_MODE32(x, m))
#define t1_v_u32_f32(x, m) t1_cvt_u32_f32(T1_MODE32(x, m))
#define t1_v_s32_f64(x, m) t1_cvt_s32_f64(T1_MODE64(x, m))
#define t1_v_u32_f64(x, m) t1_cvt_u32_f64(T1_MODE64(x, m))
#define t1_v_s64_f64(x, m) t1_cvt_s64_f64(T1_MODE64(x, m))
#define t1_v_u64_f64(x, m) t1_cvt_u64_f64(T1_MODE64(x, m))
#define t1_v_s64_f32(x, m) t1_v_s64_f64(t1_v_f64_f32(x), m)
#define t1_v_u64_f32(x, m) t1_v_u64_f64(t1_v_f64_f32(x), m)
#if T1_ISA == 2
T1_INLINE pu32 t1_cvt_s32_f32(pu32 x)
{
    pu32 r = (pu32)__builtin_ia32_cvttps2dq512_mask(T1_F(x), (t1_i16){0}, -1, 4);
    r = t1_pick32(T1_C_F32(GE, x, t1_splat_u32(0x4f000000u)), t1_splat_u32(0x7fffffffu), r);
    return t1_pick32(T1_C_F32(NAN, x, x), (pu32){0}, r);
}
T1_INLINE pu32 t1_cvt_u32_f32(pu32 x)
{
    pu32 r = (pu32)__builtin_ia32_cvttps2udq512_mask(T1_F(x), (t1_i16){0}, -1, 4);
    return t1_pick32(T1_C_F32(GT, x, (pu32){0}), r, (pu32){0});
}
T1_INLINE ph32 t1_cvt_s32_f64(pu64 x)
{
    ph32 r = (ph32)__builtin_ia32_cvttpd2dq512_mask(T1_D(x), (t1_i8){0}, -1, 4);
    return t1_pickh(T1_C_F64(GE, x, t1_splat_u64(0x41e0000000000000ul)), t1_splat_h32(0x7fffffffu), r);
}
T1_INLINE ph32 t1_cvt_u32_f64(pu64 x)
{
    ph32 r = (ph32)__builtin_ia32_cvttpd2udq512_mask(T1_D(x), (t1_i8){0}, -1, 4);
    r = t1_pickh(T1_C_F64(GT, x, (pu64){0}), r, (ph32){0});
    return t1_pickh(T1_C_F64(NAN, x, x), t1_splat_h32(0x80000000u), r);
}
T1_INLINE pu64 t1_cvt_s64_f64(pu64 x)
{
    pu64 r = (pu64)__builtin_ia32_cvttpd2qq512_mask(T1_D(x), (t1_q8){0}, -1, 4);
    return t1_pick64(T1_C_F64(GE, x, t1_splat_u64(0x43e0000000000000ul)), ~(pu64){0} >> 1, r);
}
T1_INLINE pu64 t1_cvt_u64_f64(pu64 x)
{
    pu64 r = (pu64)__builtin_ia32_cvttpd2uqq512_mask(T1_D(x), (t1_q8){0}, -1, 4);
    r = t1_pick64(T1_C_F64(GT, x, (pu64){0}), r, (pu64){0});
    return t1_pick64(T1_C_F64(NAN, x, x), t1_splat_u64(1ul << 63), r);
}
#else
T1_INLINE uint64_t t1_to_int(double x, double lo, double hi, uint64_t least, uint64_t most, uint64_t nan)
{
    return x != x ? nan : x >= hi ? most : x <= lo ? least : x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}
#define T1_TO_INT(name, V, A, E, n, lo, hi, least, most, nan) \
    T1_INLINE V t1_cvt_##name(A x) \
    { \
        union { \
            A v; \
            E e[sizeof(A) / sizeof(E)]; \
        } from = {x}; \
        union { \
            V v; \
            T1_CAT(uint, n) e[sizeof(V) / sizeof(T1_CAT(uint, n))]; \
        } to; \
        for (unsigned l = 0; l < sizeof(A) / sizeof(E); l++) \
            to.e[l] = (T1_CAT(uint, n))t1_to_int((double)from.e[l], lo, hi, least, most, nan); \
        return to.v; \
    }
#if T1_ISA == 1
/* The machine's conversion gives 0x80000000 for what does not fit, and for NaN. */
T1_INLINE pu32 t1_cvt_s32_f32(pu32 x)
{
    const pu32 r = (pu32)__builtin_ia32_cvttps2dq256(T1_F(x));
    return (r ^ T1_C_F32(GE, x, t1_splat_u32(0x4f000000u))) & T1_C_F32(NUM, x, x);
}
T1_INLINE pu32 t1_cvt_u32_f32(pu32 x)
{
    const pu32 upper = T1_C_F32(GE, x, t1_splat_u32(0x4f000000u)); /* 2^31 */
    const pu32 rest = (pu32)(T1_F(x) - T1_F(upper & 0x4f000000u));
    const pu32 r = (pu32)__builtin_ia32_cvttps2dq256(T1_F(rest)) ^ (upper & 0x80000000u);
    return (r | T1_C_F32(GE, x, t1_splat_u32(0x4f800000u))) & T1_C_F32(GT, x, (pu32){0});
}
T1_INLINE ph32 t1_cvt_s32_f64(pu64 x)
{
    const ph32 r = (ph32)__builtin_ia32_cvttpd2dq256(T1_D(x));
    return r ^ t1_trunc_u64(T1_C_F64(GE, x, t1_splat_u64(0x41e0000000000000ul)));
}
T1_INLINE ph32 t1_cvt_u32_f64(pu64 x)
{
    const pu64 upper = T1_C_F64(GE, x, t1_splat_u64(0x41e0000000000000ul)), /* 2^31 */
        all = T1_C_F64(GE, x, t1_splat_u64(0x41f0000000000000ul)), fits = T1_C_F64(GT, x, (pu64){0});
    const pu64 rest = (pu64)(T1_D(x) - T1_D(upper & 0x41e0000000000000ul));
    const ph32 r = (ph32)__builtin_ia32_cvttpd2dq256(T1_D(rest)) ^ (t1_trunc_u64(upper) & 0x80000000u);
    const ph32 nan = t1_trunc_u64(T1_C_F64(NAN, x, x)) & 0x80000000u;
    return ((r | t1_trunc_u64(all)) & t1_trunc_u64(fits)) | nan;
}
/* Added to 2^52 a whole number stands in the lower bits; few are as large as those that need another way. */
T1_TO_INT(large_s64_f64, pu64, pu64, double, 64_t, -0x1p63, 0x1p63, 1ul << 63, ~0ul >> 1, 1ul << 63)
T1_TO_INT(large_u64_f64, pu64, pu64, double, 64_t, 0, 0x1p64, 0, ~0ul, 1ul << 63)
T1_INLINE pu64 t1_cvt_s64_f64(pu64 x)
{
    const pu64 fits = T1_C_F64(LT, x & 0x7ffffffffffffffful, t1_splat_u64(0x4320000000000000ul)); /* 2^51 */
    if (T1_UNLIKELY(t1_bits_of64(fits) != T1_ALL64))
        return t1_cvt_large_s64_f64(x);
    return (pu64)(T1_D(t1_v_int_f64(x, 1)) + 0x1.8p52) - 0x4338000000000000ul;
}
T1_INLINE pu64 t1_cvt_u64_f64(pu64 x)
{
    const pu64 fits = T1_C_F64(LT, x, t1_splat_u64(0x4330000000000000ul)) & /* 2^52 */
                      T1_C_F64(GT, x, t1_splat_u64(0xbff0000000000000ul));
    if (T1_UNLIKELY(t1_bits_of64(fits) != T1_ALL64))
        return t1_cvt_large_u64_f64(x);
    return (pu64)(T1_D(t1_v_int_f64(x, 1)) + 0x1p52) - 0x4330000000000000ul;
}
#else
T1_TO_INT(s32_f32, pu32, pu32, float, 32_t, -0x1p31, 0x1p31, 0x80000000u, 0x7fffffffu, 0)
T1_TO_INT(u32_f32, pu32, pu32, float, 32_t, 0, 0x1p32, 0, ~0u, 0)
T1_TO_INT(s32_f64, ph32, pu64, double, 32_t, -0x1p31, 0x1p31, 0x80000000u, 0x7fffffffu, 0x80000000u)
T1_TO_INT(u32_f64, ph32, pu64, double, 32_t, 0, 0x1p32, 0, ~0u, 0x80000000u)
T1_TO_INT(s64_f64, pu64, pu64, double, 64_t, -0x1p63, 0x1p63, 1ul << 63, ~0ul >> 1, 1ul << 63)
T1_TO_INT(u64_f64, pu64, pu64, double, 64_t, 0, 0x1p64, 0, ~0ul, 1ul << 63)
#endif
#endif
