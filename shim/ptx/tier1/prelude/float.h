/* Tier 1's prelude: floating point, its roundings, .ftz and .sat; bit for bit what tier 0 gives, NaN payloads aside. */
#define T1_F(x) ((pf32)(x))
#define T1_D(x) ((pf64)(x))
T1_INLINE pu32 t1_v_ftz(pu32 x)
{
#if T1_ISA == 2
    const t1_c32 denormal = (uint16_t)__builtin_ia32_fpclassps512_mask(T1_F(x), 0x20, -1);
#else
    const t1_c32 denormal = T1_C_U32(EQ, x & 0x7f800000u, (pu32){0});
#endif
    return t1_pick32(denormal, x & 0x80000000u, x);
}
T1_INLINE uint32_t t1_s_ftz(uint32_t x) { return x & 0x7f800000u ? x : x & 0x80000000u; }
T1_INLINE ph32 t1_h_ftz(ph32 x)
{
    ph32 low = (ph32)((x & 0x7f800000u) == 0);
    return (x & ~low) | (x & 0x80000000u);
}
#define T1_ONE32 t1_splat_u32(0x3f800000u)
/* a < b ? a : b and a > b ? a : b, which x86 has as one instruction: b where one is NaN and where both are 0 */
#if T1_ISA == 2 && defined(__clang__)
#define T1_LESSER(a, b) ((pu32)__builtin_ia32_minps512(T1_F(a), T1_F(b), 4))
#define T1_GREATER(a, b) ((pu32)__builtin_ia32_maxps512(T1_F(a), T1_F(b), 4))
#elif T1_ISA == 2
#define T1_LESSER(a, b) ((pu32)__builtin_ia32_minps512_mask(T1_F(a), T1_F(b), (pf32){0}, -1, 4))
#define T1_GREATER(a, b) ((pu32)__builtin_ia32_maxps512_mask(T1_F(a), T1_F(b), (pf32){0}, -1, 4))
#elif T1_ISA == 1
#define T1_LESSER(a, b) ((pu32)__builtin_ia32_minps256(T1_F(a), T1_F(b)))
#define T1_GREATER(a, b) ((pu32)__builtin_ia32_maxps256(T1_F(a), T1_F(b)))
#else
T1_INLINE pu32 T1_LESSER(pu32 a, pu32 b) { return t1_pick32(T1_C_F32(LT, a, b), a, b); }
T1_INLINE pu32 T1_GREATER(pu32 a, pu32 b) { return t1_pick32(T1_C_F32(GT, a, b), a, b); }
#endif
T1_INLINE pu32 t1_v_sat(pu32 x) /* NaN and -0 give +0 */ { return T1_LESSER(T1_GREATER(x, (pu32){0}), T1_ONE32); }
T1_INLINE pu64 t1_v_sat64(pu64 x)
{
    const pu64 one = t1_splat_u64(0x3ff0000000000000ul);
    pu64 r = t1_pick64(T1_C_F64(LT, x, one), x, one);
    return t1_pick64(T1_C_F64(GT, x, (pu64){0}), r, (pu64){0});
}
T1_INLINE uint32_t t1_s_sat(uint32_t x)
{
    float f = t1_f32(x);
    return f > 0 ? f < 1 ? x : 0x3f800000u : 0;
}
T1_INLINE pu32 t1_v_satftz(pu32 x) { return t1_v_sat(t1_v_ftz(x)); }
T1_INLINE uint32_t t1_s_satftz(uint32_t x) { return t1_s_sat(t1_s_ftz(x)); }

#define T1_BASIC(name, op) \
    T1_INLINE pu32 t1_v_##name##_f32(pu32 a, pu32 b) { return (pu32)(T1_F(a) op T1_F(b)); } \
    T1_INLINE pu64 t1_v_##name##_f64(pu64 a, pu64 b) { return (pu64)(T1_D(a) op T1_D(b)); } \
    T1_INLINE uint32_t t1_s_##name##_f32(uint32_t a, uint32_t b) { return t1_bits32(t1_f32(a) op t1_f32(b)); } \
    T1_INLINE uint64_t t1_s_##name##_f64(uint64_t a, uint64_t b) { return t1_bits64(t1_f64(a) op t1_f64(b)); }
T1_BASIC(add, +)
T1_BASIC(sub, -)
T1_BASIC(mul, *)
T1_BASIC(div, /)
/* a times 1/b, which is 0 beyond 2^126: a divisor up there counts as infinite. */
T1_INLINE pu32 t1_v_div_approx_f32(pu32 a, pu32 b)
{
    const pu32 above = (b & 0x7fffffffu) - 0x7e800001u, inf = (b & 0x80000000u) | 0x7f800000u;
    return t1_v_div_f32(a, t1_pick32(T1_C_U32(LT, above, t1_splat_u32(0x00ffffffu)), inf, b));
}
#define T1_ONE64 t1_splat_u64(0x3ff0000000000000ul)
T1_INLINE pu32 t1_v_rcp_f32(pu32 a) { return t1_v_div_f32(T1_ONE32, a); }
T1_INLINE pu64 t1_v_rcp_f64(pu64 a) { return t1_v_div_f64(T1_ONE64, a); }
T1_INLINE uint32_t t1_s_fma_f32(uint32_t a, uint32_t b, uint32_t c)
{
    return t1_bits32(__builtin_fmaf(t1_f32(a), t1_f32(b), t1_f32(c)));
}
T1_INLINE uint64_t t1_s_fma_f64(uint64_t a, uint64_t b, uint64_t c)
{
    return t1_bits64(__builtin_fma(t1_f64(a), t1_f64(b), t1_f64(c)));
}
T1_INLINE uint32_t t1_s_rcp_f32(uint32_t a) { return t1_bits32(1.0f / t1_f32(a)); }

/* What .ftz flushes is told by the result as it is with 24 bits and exponents without an end: 2^-126 is flushed where
 * that is less. Products, quotients and fma whose result is 2^-126 are done again, 2^24 times as large. Both that and
 * flushing are out of the way: one test finds what is neither 0 nor above 2^-126. */
T1_INLINE uint32_t t1_v_small(pu32 twice) { return t1_cbits32(T1_C_U32(LT, twice, t1_splat_u32(0x01000000u))); }
T1_INLINE uint32_t t1_v_at_edge(pu32 r) { return t1_v_small(r + r - 1); }
/* The same of all pieces of a warp. */
#define T1_TWICE_LESS(a, b) t1_v_min_u32((a) + (a)-1, (b) + (b)-1)
#if T1_P == 2
T1_INLINE uint32_t t1_v_edges(pu32 a, pu32 b) { return t1_v_small(T1_TWICE_LESS(a, b)); }
#elif T1_P == 4
T1_INLINE uint32_t t1_v_edges(pu32 a, pu32 b, pu32 c, pu32 d)
{
    return t1_v_small(t1_v_min_u32(T1_TWICE_LESS(a, b), T1_TWICE_LESS(c, d)));
}
#else
T1_INLINE uint32_t t1_v_edges(pu32 a, pu32 b, pu32 c, pu32 d, pu32 e, pu32 f, pu32 g, pu32 h)
{
    return t1_v_small(t1_v_min_u32(t1_v_min_u32(T1_TWICE_LESS(a, b), T1_TWICE_LESS(c, d)),
                                   t1_v_min_u32(T1_TWICE_LESS(e, f), T1_TWICE_LESS(g, h))));
}
#endif
T1_INLINE pu32 t1_v_edge(pu32 r, pu32 scaled)
{
    const t1_c32 tiny = T1_C_U32(LT, scaled & 0x7fffffffu, t1_splat_u32(0x0c800000u)),
                 edge = T1_C_U32(EQ, r + r, t1_splat_u32(0x01000000u));
    return t1_v_ftz(t1_pick32(edge, t1_pick32(tiny, r & 0x80000000u, r), r));
}
T1_INLINE pu32 t1_v_scale(pu32 x) { return (pu32)(T1_F(x) * 0x1p24f); }
T1_INLINE uint32_t t1_s_at_edge(uint32_t r) { return (r << 1) - 1 < 0x01000000u; }
T1_INLINE uint32_t t1_s_edge(uint32_t r, uint32_t scaled)
{
    const int tiny = r << 1 < 0x01000000u || (scaled & 0x7fffffffu) < 0x0c800000u;
    return tiny ? r & 0x80000000u : r;
}
T1_INLINE uint32_t t1_s_scale(uint32_t x) { return t1_bits32(t1_f32(x) * 0x1p24f); }
#define T1_TINY(W, T, call, again) \
    T t1_r = call; \
    if (T1_UNLIKELY(t1_##W##_at_edge(t1_r))) \
        t1_r = t1_##W##_edge(t1_r, again); \
    t1_r;
#define T1_TINY2(W, T, fn, a, b, ...) \
    ({ \
        const T t1_x = a, t1_y = b; \
        T1_TINY(W, T, fn(t1_x, t1_y, ##__VA_ARGS__), fn(t1_##W##_scale(t1_x), t1_y, ##__VA_ARGS__)) \
    })
#define T1_TINY3(W, T, fn, a, b, c, ...) \
    ({ \
        const T t1_x = a, t1_y = b, t1_z = c; \
        T1_TINY(W, T, fn(t1_x, t1_y, t1_z, ##__VA_ARGS__), \
                fn(t1_##W##_scale(t1_x), t1_y, t1_##W##_scale(t1_z), ##__VA_ARGS__)) \
    })
/* The same for an f64 that becomes an f32. */
T1_INLINE pu64 t1_v_tiny64(pu64 x)
{
    const pu64 least = t1_splat_u64(0x380ffffff0000000ul);
    return t1_pick64(T1_C_U64(LT, x & 0x7ffffffffffffffful, least), x & 0x8000000000000000ul, x);
}

/* fma, square root and directed rounding; modes 2 zero, 3 down, 4 up as in enum ptx_rnd */
#if T1_ISA == 2
#define T1_MXR(m) ((m) == 2 ? 11 : (m) == 3 ? 9 : 10)
#if defined(__clang__)
#define T1_ARITH2(op, t, a, b, m) __builtin_ia32_##op##512(a, b, m)
#define T1_ARITH1(op, t, a, m) __builtin_ia32_##op##512(a, m)
#else
#define T1_ARITH2(op, t, a, b, m) __builtin_ia32_##op##512_mask(a, b, (t){0}, -1, m)
#define T1_ARITH1(op, t, a, m) __builtin_ia32_##op##512_mask(a, (t){0}, -1, m)
#endif
#define t1_v_fma_f32(a, b, c) ((pu32)__builtin_ia32_vfmaddps512_mask(T1_F(a), T1_F(b), T1_F(c), -1, 4))
#define t1_v_fma_f64(a, b, c) ((pu64)__builtin_ia32_vfmaddpd512_mask(T1_D(a), T1_D(b), T1_D(c), -1, 4))
#define t1_v_sqrt_f32(a) ((pu32)T1_ARITH1(sqrtps, pf32, T1_F(a), 4))
#define t1_v_sqrt_f64(a) ((pu64)T1_ARITH1(sqrtpd, pf64, T1_D(a), 4))
#define t1_v_fma_f32_r(a, b, c, m) ((pu32)__builtin_ia32_vfmaddps512_mask(T1_F(a), T1_F(b), T1_F(c), -1, T1_MXR(m)))
#define t1_v_fma_f64_r(a, b, c, m) ((pu64)__builtin_ia32_vfmaddpd512_mask(T1_D(a), T1_D(b), T1_D(c), -1, T1_MXR(m)))
#define t1_v_add_f32_r(a, b, m) ((pu32)T1_ARITH2(addps, pf32, T1_F(a), T1_F(b), T1_MXR(m)))
#define t1_v_sub_f32_r(a, b, m) ((pu32)T1_ARITH2(subps, pf32, T1_F(a), T1_F(b), T1_MXR(m)))
#define t1_v_mul_f32_r(a, b, m) ((pu32)T1_ARITH2(mulps, pf32, T1_F(a), T1_F(b), T1_MXR(m)))
#define t1_v_div_f32_r(a, b, m) ((pu32)T1_ARITH2(divps, pf32, T1_F(a), T1_F(b), T1_MXR(m)))
#define t1_v_sqrt_f32_r(a, m) ((pu32)T1_ARITH1(sqrtps, pf32, T1_F(a), T1_MXR(m)))
#define t1_v_add_f64_r(a, b, m) ((pu64)T1_ARITH2(addpd, pf64, T1_D(a), T1_D(b), T1_MXR(m)))
#define t1_v_sub_f64_r(a, b, m) ((pu64)T1_ARITH2(subpd, pf64, T1_D(a), T1_D(b), T1_MXR(m)))
#define t1_v_mul_f64_r(a, b, m) ((pu64)T1_ARITH2(mulpd, pf64, T1_D(a), T1_D(b), T1_MXR(m)))
#define t1_v_div_f64_r(a, b, m) ((pu64)T1_ARITH2(divpd, pf64, T1_D(a), T1_D(b), T1_MXR(m)))
#define t1_v_sqrt_f64_r(a, m) ((pu64)T1_ARITH1(sqrtpd, pf64, T1_D(a), T1_MXR(m)))
#define T1_ROUND_IMM(m) ((m) == 0 ? 8 : (m) == 1 ? 11 : (m) == 2 ? 9 : 10)
#define t1_v_int_f32(a, m) ((pu32)__builtin_ia32_rndscaleps_mask(T1_F(a), T1_ROUND_IMM(m), (pf32){0}, -1, 4))
#define t1_v_int_f64(a, m) ((pu64)__builtin_ia32_rndscalepd_mask(T1_D(a), T1_ROUND_IMM(m), (pf64){0}, -1, 4))
#else
#if T1_ISA == 1
T1_INLINE pu32 t1_v_fma_f32(pu32 a, pu32 b, pu32 c)
{
    return (pu32)__builtin_ia32_vfmaddps256(T1_F(a), T1_F(b), T1_F(c));
}
T1_INLINE pu64 t1_v_fma_f64(pu64 a, pu64 b, pu64 c)
{
    return (pu64)__builtin_ia32_vfmaddpd256(T1_D(a), T1_D(b), T1_D(c));
}
T1_INLINE pu32 t1_v_sqrt_f32(pu32 a) { return (pu32)__builtin_ia32_sqrtps256(T1_F(a)); }
T1_INLINE pu64 t1_v_sqrt_f64(pu64 a) { return (pu64)__builtin_ia32_sqrtpd256(T1_D(a)); }
#define T1_ROUND_IMM(m) ((m) == 0 ? 8 : (m) == 1 ? 11 : (m) == 2 ? 9 : 10)
#define t1_v_int_f32(a, m) ((pu32)__builtin_ia32_roundps256(T1_F(a), T1_ROUND_IMM(m)))
#define t1_v_int_f64(a, m) ((pu64)__builtin_ia32_roundpd256(T1_D(a), T1_ROUND_IMM(m)))
#else
T1_INLINE pu32 t1_v_fma_f32(pu32 a, pu32 b, pu32 c)
{
    pf32 x = T1_F(a), y = T1_F(b), z = T1_F(c);
    for (int l = 0; l < T1_N; l++)
        x[l] = __builtin_fmaf(x[l], y[l], z[l]);
    return (pu32)x;
}
T1_INLINE pu64 t1_v_fma_f64(pu64 a, pu64 b, pu64 c)
{
    pf64 x = T1_D(a), y = T1_D(b), z = T1_D(c);
    for (int l = 0; l < T1_H; l++)
        x[l] = __builtin_fma(x[l], y[l], z[l]);
    return (pu64)x;
}
#if defined(__SSE2__)
T1_INLINE pu32 t1_v_sqrt_f32(pu32 a) { return (pu32)__builtin_ia32_sqrtps(T1_F(a)); }
T1_INLINE pu64 t1_v_sqrt_f64(pu64 a) { return (pu64)__builtin_ia32_sqrtpd(T1_D(a)); }
#else
T1_INLINE pu32 t1_v_sqrt_f32(pu32 a)
{
    pf32 x = T1_F(a);
    for (int l = 0; l < T1_N; l++)
        x[l] = __builtin_sqrtf(x[l]);
    return (pu32)x;
}
T1_INLINE pu64 t1_v_sqrt_f64(pu64 a)
{
    pf64 x = T1_D(a);
    for (int l = 0; l < T1_H; l++)
        x[l] = __builtin_sqrt(x[l]);
    return (pu64)x;
}
#endif
/* Adding and taking away a number whose last bit is 1 rounds to nearest; the rest is one step. */
#define T1_INTEGRAL(V, F, w, name, C, MAGIC, SIGN, ONE, SPLAT) \
    T1_INLINE V t1_v_int_##name(V a, int mode) \
    { \
        const V sign = a & SIGN; \
        F x = (F)(a ^ sign), magic = (F)SPLAT(MAGIC), n = (x + magic) - magic; \
        V up = mode == 2 ? sign : mode == 3 ? sign ^ SIGN : (V){0}; \
        V high = (V)(n > x), low = (V)(n < x), toward_zero = (V)((F)up == 0) & (V)(up == 0); \
        F one = (F)SPLAT(ONE); \
        if (mode == 1) \
            n = n - (F)((V)one & high); \
        else if (mode) \
            n = n - (F)((V)one & high & toward_zero) + (F)((V)one & low & ~toward_zero); \
        return t1_pick##w(C(LT, (V)x, SPLAT(MAGIC)), (V)n | sign, a); \
    }
T1_INTEGRAL(pu32, pf32, 32, f32, T1_C_F32, 0x4b000000u, 0x80000000u, 0x3f800000u, t1_splat_u32)
T1_INTEGRAL(pu64, pf64, 64, f64, T1_C_F64, 0x4330000000000000ul, 0x8000000000000000ul, 0x3ff0000000000000ul,
            t1_splat_u64)
#endif
#if defined(__x86_64__)
/* The mode is switched around one operation; the empty asm keeps it from moving out. What the register held before is
 * known (t0_fp_enter), and loading a constant takes a third of the time of changing what is read from it. */
#define T1_MXCSR 0x1f80u
T1_INLINE void t1_round(int m) { __builtin_ia32_ldmxcsr(T1_MXCSR | (m == 2 ? 0x6000u : m == 3 ? 0x2000u : 0x4000u)); }
#define T1_ROUNDED(name, V, params, hold, expr) \
    T1_INLINE V t1_v_##name##_r params \
    { \
        t1_round(m); \
        __asm__ volatile("" : hold); \
        V r = expr; \
        __asm__ volatile("" : "+x"(r)); \
        __builtin_ia32_ldmxcsr(T1_MXCSR); \
        return r; \
    }
#define T1_HOLD1 "+x"(a)
#define T1_HOLD2 "+x"(a), "+x"(b)
#define T1_HOLD3 "+x"(a), "+x"(b), "+x"(c)
#define T1_ROUNDED_ALL(f, V) \
    T1_ROUNDED(add_##f, V, (V a, V b, int m), T1_HOLD2, t1_v_add_##f(a, b)) \
    T1_ROUNDED(sub_##f, V, (V a, V b, int m), T1_HOLD2, t1_v_sub_##f(a, b)) \
    T1_ROUNDED(mul_##f, V, (V a, V b, int m), T1_HOLD2, t1_v_mul_##f(a, b)) \
    T1_ROUNDED(div_##f, V, (V a, V b, int m), T1_HOLD2, t1_v_div_##f(a, b)) \
    T1_ROUNDED(fma_##f, V, (V a, V b, V c, int m), T1_HOLD3, t1_v_fma_##f(a, b, c)) \
    T1_ROUNDED(sqrt_##f, V, (V a, int m), T1_HOLD1, t1_v_sqrt_##f(a))
T1_ROUNDED_ALL(f32, pu32)
T1_ROUNDED_ALL(f64, pu64)
#endif
#endif
#define t1_v_rcp_f32_r(a, m) t1_v_div_f32_r(T1_ONE32, a, m)
#define t1_v_rcp_f64_r(a, m) t1_v_div_f64_r(T1_ONE64, a, m)

T1_INLINE pu32 t1_v_abs_f32(pu32 x) { return x & 0x7fffffffu; }
T1_INLINE pu32 t1_v_neg_f32(pu32 x) { return (pu32)-T1_F(x); }
/* The operand that is no NaN wins, and -0 is below +0: equal ones differ at most in the sign. */
#define T1_FMINMAX(name, w, V, C, PICK, JOIN) \
    T1_INLINE V t1_v_##name(V a, V b) \
    { \
        V r = t1_pick##w(C(NAN, b, b), a, PICK); \
        return t1_pick##w(C(EQ, a, b), a JOIN b, r); \
    }
T1_FMINMAX(min_f32, 32, pu32, T1_C_F32, T1_LESSER(a, b), |)
T1_FMINMAX(max_f32, 32, pu32, T1_C_F32, T1_GREATER(a, b), &)
T1_FMINMAX(min_f64, 64, pu64, T1_C_F64, t1_pick64(T1_C_F64(LT, a, b), a, b), |)
T1_FMINMAX(max_f64, 64, pu64, T1_C_F64, t1_pick64(T1_C_F64(GT, a, b), a, b), &)
/* .approx.ftz.f64 looks at and yields the upper 32 bits only; the rest is zero. */
T1_INLINE pu64 t1_v_upper(pu64 x)
{
    const t1_c64 tiny = T1_C_U64(EQ, x & 0x7ff0000000000000ul, (pu64){0});
    return x & t1_pick64(tiny, t1_splat_u64(1ul << 63), t1_splat_u64(0xffffffff00000000ul));
}
T1_INLINE pu64 t1_v_upper_result(pu64 r)
{
    const t1_c64 tiny = T1_C_U64(EQ, r & 0x7ff0000000000000ul, (pu64){0});
    const pu64 y = t1_pick64(tiny, r & 1ul << 63, (r + 0x80000000u) & 0xffffffff00000000ul);
    return t1_pick64(T1_C_F64(NAN, r, r), t1_splat_u64(0x7fffffff00000000ul), y);
}
T1_INLINE pu64 t1_v_rcp_approx_f64(pu64 a) { return t1_v_upper_result(t1_v_rcp_f64(t1_v_upper(a))); }
T1_INLINE pu64 t1_v_rsqrt_f64(pu64 a) { return t1_v_rcp_f64(t1_v_sqrt_f64(a)); }
T1_INLINE pu64 t1_v_rsqrt_approx_f64(pu64 a) { return t1_v_upper_result(t1_v_rsqrt_f64(t1_v_upper(a))); }
