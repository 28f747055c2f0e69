/* Tier 1's prelude: floating point, conversions and the approximate functions; bit for bit what
 * tier 0 gives, NaN payloads aside. */
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
T1_INLINE pu32 t1_v_sat(pu32 x) /* NaN and -0 give +0 */
{
    return T1_LESSER(T1_GREATER(x, (pu32){0}), T1_ONE32);
}
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

#define T1_BASIC(name, op)                                                                         \
    T1_INLINE pu32 t1_v_##name##_f32(pu32 a, pu32 b)                                               \
    {                                                                                              \
        return (pu32)(T1_F(a) op T1_F(b));                                                         \
    }                                                                                              \
    T1_INLINE pu64 t1_v_##name##_f64(pu64 a, pu64 b)                                               \
    {                                                                                              \
        return (pu64)(T1_D(a) op T1_D(b));                                                         \
    }                                                                                              \
    T1_INLINE uint32_t t1_s_##name##_f32(uint32_t a, uint32_t b)                                   \
    {                                                                                              \
        return t1_bits32(t1_f32(a) op t1_f32(b));                                                  \
    }                                                                                              \
    T1_INLINE uint64_t t1_s_##name##_f64(uint64_t a, uint64_t b)                                   \
    {                                                                                              \
        return t1_bits64(t1_f64(a) op t1_f64(b));                                                  \
    }
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
 * that is less. Products, quotients and fma whose result is 2^-126 are done again, 2^24 times as large. */
T1_INLINE uint32_t t1_v_at_edge(pu32 r) { return t1_cbits32(T1_C_U32(EQ, r + r, t1_splat_u32(0x01000000u))); }
T1_INLINE pu32 t1_v_edge(pu32 r, pu32 scaled)
{
    const t1_c32 tiny = T1_C_U32(LT, scaled & 0x7fffffffu, t1_splat_u32(0x0c800000u)),
                 edge = T1_C_U32(EQ, r + r, t1_splat_u32(0x01000000u));
    return t1_pick32(edge, t1_pick32(tiny, r & 0x80000000u, r), r);
}
T1_INLINE pu32 t1_v_scale(pu32 x) { return (pu32)(T1_F(x) * 0x1p24f); }
T1_INLINE uint32_t t1_s_at_edge(uint32_t r) { return r << 1 == 0x01000000u; }
T1_INLINE uint32_t t1_s_edge(uint32_t r, uint32_t scaled)
{
    return (scaled & 0x7fffffffu) < 0x0c800000u ? r & 0x80000000u : r;
}
T1_INLINE uint32_t t1_s_scale(uint32_t x) { return t1_bits32(t1_f32(x) * 0x1p24f); }
#define T1_TINY(W, T, call, again)                                                                 \
    T t1_r = call;                                                                                 \
    if (T1_UNLIKELY(t1_##W##_at_edge(t1_r)))                                                       \
        t1_r = t1_##W##_edge(t1_r, again);                                                         \
    t1_r;
#define T1_TINY2(W, T, fn, a, b, ...)                                                              \
    ({                                                                                             \
        const T t1_x = a, t1_y = b;                                                                \
        T1_TINY(W, T, fn(t1_x, t1_y, ##__VA_ARGS__), fn(t1_##W##_scale(t1_x), t1_y, ##__VA_ARGS__)) \
    })
#define T1_TINY3(W, T, fn, a, b, c, ...)                                                           \
    ({                                                                                             \
        const T t1_x = a, t1_y = b, t1_z = c;                                                      \
        T1_TINY(W, T, fn(t1_x, t1_y, t1_z, ##__VA_ARGS__),                                         \
                fn(t1_##W##_scale(t1_x), t1_y, t1_##W##_scale(t1_z), ##__VA_ARGS__))               \
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
#define t1_v_fma_f32(a, b, c)                                                                      \
    ((pu32)__builtin_ia32_vfmaddps512_mask(T1_F(a), T1_F(b), T1_F(c), -1, 4))
#define t1_v_fma_f64(a, b, c)                                                                      \
    ((pu64)__builtin_ia32_vfmaddpd512_mask(T1_D(a), T1_D(b), T1_D(c), -1, 4))
#define t1_v_sqrt_f32(a) ((pu32)T1_ARITH1(sqrtps, pf32, T1_F(a), 4))
#define t1_v_sqrt_f64(a) ((pu64)T1_ARITH1(sqrtpd, pf64, T1_D(a), 4))
#define t1_v_fma_f32_r(a, b, c, m) \
    ((pu32)__builtin_ia32_vfmaddps512_mask(T1_F(a), T1_F(b), T1_F(c), -1, T1_MXR(m)))
#define t1_v_fma_f64_r(a, b, c, m) \
    ((pu64)__builtin_ia32_vfmaddpd512_mask(T1_D(a), T1_D(b), T1_D(c), -1, T1_MXR(m)))
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
#define t1_v_int_f32(a, m) \
    ((pu32)__builtin_ia32_rndscaleps_mask(T1_F(a), T1_ROUND_IMM(m), (pf32){0}, -1, 4))
#define t1_v_int_f64(a, m) \
    ((pu64)__builtin_ia32_rndscalepd_mask(T1_D(a), T1_ROUND_IMM(m), (pf64){0}, -1, 4))
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
T1_INTEGRAL(pu64, pf64, 64, f64, T1_C_F64, 0x4330000000000000ul, 0x8000000000000000ul, \
            0x3ff0000000000000ul, t1_splat_u64)
#endif
#if defined(__x86_64__)
/* The mode is switched around one operation; the empty asm keeps it from moving out. What the register held before is
 * known (t0_fp_enter), and loading a constant takes a third of the time of changing what is read from it. */
#define T1_MXCSR 0x1f80u
T1_INLINE void t1_round(int m)
{
    __builtin_ia32_ldmxcsr(T1_MXCSR | (m == 2 ? 0x6000u : m == 3 ? 0x2000u : 0x4000u));
}
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
T1_INLINE pu32 t1_v_neg_f32(pu32 x) { return (pu32) - T1_F(x); }
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

/* ---- conversions ---- */
#if T1_ISA == 2
T1_INLINE ph32 t1_pickh(t1_c64 c, ph32 yes, ph32 no) { return t1_blend_h32(c, no, yes); }
#else
T1_INLINE ph32 t1_pickh(t1_c64 c, ph32 yes, ph32 no)
{
    ph32 m = t1_trunc_u64(c);
    return (yes & m) | (no & ~m);
}
#endif
T1_INLINE pu32 t1_v_f32_s32(pu32 x) { return (pu32)__builtin_convertvector((ps32)x, pf32); }
T1_INLINE pu32 t1_v_f32_u32(pu32 x) { return (pu32)__builtin_convertvector(x, pf32); }
T1_INLINE ph32 t1_v_f32_s64(pu64 x) { return (ph32)__builtin_convertvector((ps64)x, phf32); }
T1_INLINE ph32 t1_v_f32_u64(pu64 x) { return (ph32)__builtin_convertvector(x, phf32); }
T1_INLINE pu64 t1_v_f64_s32(ph32 x) { return (pu64)__builtin_convertvector((phs32)x, pf64); }
T1_INLINE pu64 t1_v_f64_u32(ph32 x) { return (pu64)__builtin_convertvector(x, pf64); }
T1_INLINE pu64 t1_v_f64_s64(pu64 x) { return (pu64)__builtin_convertvector((ps64)x, pf64); }
T1_INLINE pu64 t1_v_f64_u64(pu64 x) { return (pu64)__builtin_convertvector(x, pf64); }
#if T1_ISA == 2 && !defined(__clang__) /* as T1_CONVERT */
T1_INLINE pu64 t1_v_f64_f32(ph32 x)
{
    return (pu64)__builtin_ia32_cvtps2pd512_mask((phf32)x, (pf64){0}, -1, 4);
}
T1_INLINE ph32 t1_v_f32_f64(pu64 x)
{
    return (ph32)__builtin_ia32_cvtpd2ps512_mask(T1_D(x), (phf32){0}, -1, 4);
}
#else
T1_INLINE pu64 t1_v_f64_f32(ph32 x) { return (pu64)__builtin_convertvector((phf32)x, pf64); }
T1_INLINE ph32 t1_v_f32_f64(pu64 x) { return (ph32)__builtin_convertvector(T1_D(x), phf32); }
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
    return t1_pickh(T1_C_F64(GE, x, t1_splat_u64(0x41e0000000000000ul)), t1_splat_h32(0x7fffffffu),
                    r);
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
T1_INLINE uint64_t t1_to_int(double x, double lo, double hi, uint64_t least, uint64_t most,
                             uint64_t nan)
{
    return x != x    ? nan
           : x >= hi ? most
           : x <= lo ? least
           : x < 0   ? (uint64_t)(int64_t)x
                     : (uint64_t)x;
}
#define T1_TO_INT(name, V, A, E, n, lo, hi, least, most, nan) \
    T1_INLINE V t1_cvt_##name(A x) \
    { \
        union { A v; E e[sizeof(A) / sizeof(E)]; } from = {x}; \
        union { V v; T1_CAT(uint, n) e[sizeof(V) / sizeof(T1_CAT(uint, n))]; } to; \
        for (unsigned l = 0; l < sizeof(A) / sizeof(E); l++) \
            to.e[l] = (T1_CAT(uint, n))t1_to_int((double)from.e[l], lo, hi, least, most, nan); \
        return to.v; \
    }
T1_TO_INT(s32_f32, pu32, pu32, float, 32_t, -0x1p31, 0x1p31, 0x80000000u, 0x7fffffffu, 0)
T1_TO_INT(u32_f32, pu32, pu32, float, 32_t, 0, 0x1p32, 0, ~0u, 0)
T1_TO_INT(s32_f64, ph32, pu64, double, 32_t, -0x1p31, 0x1p31, 0x80000000u, 0x7fffffffu, 0x80000000u)
T1_TO_INT(u32_f64, ph32, pu64, double, 32_t, 0, 0x1p32, 0, ~0u, 0x80000000u)
T1_TO_INT(s64_f64, pu64, pu64, double, 64_t, -0x1p63, 0x1p63, 1ul << 63, ~0ul >> 1, 1ul << 63)
T1_TO_INT(u64_f64, pu64, pu64, double, 64_t, 0, 0x1p64, 0, ~0ul, 1ul << 63)
#endif

/* f16 and bf16: exact to f32, nearest even back. */
#if T1_ISA == 2
typedef short t1_h16 __attribute__((vector_size(32)));
T1_INLINE pu32 t1_v_f32_f16(pu32 x)
{
    return (pu32)__builtin_ia32_vcvtph2ps512_mask((t1_h16) __builtin_convertvector(x, pu16),
                                                  (pf32){0}, -1, 4);
}
T1_INLINE pu32 t1_v_f16_f32(pu32 x)
{
    return __builtin_convertvector(
        (pu16)__builtin_ia32_vcvtps2ph512_mask(T1_F(x), 0, (t1_h16){0}, -1), pu32);
}
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
    pu32 h = t1_pick32(
        T1_C_U32(LT, a, t1_splat_u32(0x38800000u)), sub,
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
T1_INLINE ph32 t1_fma16_half(ph32 a, ph32 b, ph32 c)
{
    return t1_odd(T1_D(t1_v_f64_f32(a)) * T1_D(t1_v_f64_f32(b)) + T1_D(t1_v_f64_f32(c)));
}
T1_INLINE ph32 t1_fmabf_half(ph32 a, ph32 b, ph32 c)
{
    pf64 p = T1_D(t1_v_f64_f32(a)) * T1_D(t1_v_f64_f32(b)), z = T1_D(t1_v_f64_f32(c)), s = p + z,
         part = s - p;
    pf64 err = (p - (s - part)) + (z - part);
    pu64 u = (pu64)s, pos = (pu64)(err > 0), neg = (pu64)(err < 0), same = ~(pos ^ (pu64)(s > 0));
    pu64 step = (same & (u + 1)) | (~same & (u - 1)), use = (pos | neg) & (pu64)((u & 1) == 0);
    return t1_odd((pf64)((step & use) | (u & ~use)));
}
static __attribute__((noinline, unused)) pu32 t1_fma16(pu32 a, pu32 b, pu32 c)
{
    return t1_join_u32(t1_fma16_half(t1_half0(a), t1_half0(b), t1_half0(c)),
                       t1_fma16_half(t1_half1(a), t1_half1(b), t1_half1(c)));
}
static __attribute__((noinline, unused)) pu32 t1_fmabf(pu32 a, pu32 b, pu32 c)
{
    return t1_join_u32(t1_fmabf_half(t1_half0(a), t1_half0(b), t1_half0(c)),
                       t1_fmabf_half(t1_half1(a), t1_half1(b), t1_half1(c)));
}
#define T1_HALF2(name, H, OP)                                                                      \
    T1_INLINE pu32 t1_v_##name##_##H(pu32 a, pu32 b)                                               \
    {                                                                                              \
        return t1_v_##H##_f32(OP(t1_v_f32_##H(a), t1_v_f32_##H(b)));                               \
    }                                                                                              \
    T1_INLINE pu32 t1_v_##name##_##H##x2(pu32 a, pu32 b)                                           \
    {                                                                                              \
        return t1_v_##name##_##H(a & 0xffffu, b & 0xffffu) | t1_v_##name##_##H(a >> 16, b >> 16)   \
                                                                 << 16;                            \
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
        return t1_v_fma_##H(a & 0xffffu, b & 0xffffu, c & 0xffffu) | \
               t1_v_fma_##H(a >> 16, b >> 16, c >> 16) << 16; \
    }
T1_HALF3(f16, t1_fma16)
T1_HALF3(bf16, t1_fmabf)

/* ---- approximations: a few terms in f64, as in tier 0 ---- */
#define T1_CALLED static __attribute__((noinline, unused))
/* The short ones are inlined: a call saves every vector register. */
#define T1_BY_HALVES(how, name, FN) \
    how pu32 t1_v_##name(pu32 x) \
    { \
        return t1_join_u32(t1_v_f32_f64((pu64)FN(T1_D(t1_v_f64_f32(t1_half0(x))))), \
                           t1_v_f32_f64((pu64)FN(T1_D(t1_v_f64_f32(t1_half1(x)))))); \
    }
#define T1_MAGIC 0x1.8p52
T1_INLINE pf64 t1_exp2_core(pf64 x)
{
    pf64 shifted = x + T1_MAGIC, f = x - (shifted - T1_MAGIC),
         p = 1.3215486790144307e-6 - (pf64){0};
    p = p * f + 1.5252733804059840e-5;
    p = p * f + 1.5403530393381609e-4;
    p = p * f + 1.3333558146428443e-3;
    p = p * f + 9.6181291076284771e-3;
    p = p * f + 5.5504108664821580e-2;
    p = p * f + 2.4022650695910071e-1;
    p = p * f + 6.9314718055994531e-1;
    p = p * f + 1.0;
    return p * (pf64)(((pu64)shifted << 52) + (1023ul << 52));
}
T1_INLINE pf64 t1_clamp200(pf64 x)
{
    const pu64 lo = (pu64)((pf64){0} - 200.0), hi = (pu64)((pf64){0} + 200.0);
    pu64 v = t1_pick64(T1_C_F64(GT, (pu64)x, hi), hi, (pu64)x);
    return (pf64)t1_pick64(T1_C_F64(LT, (pu64)x, lo), lo, v);
}
#define T1_TERM(p, f, c) t1_v_fma_f32(p, f, (pu32)(zero + (c)))
T1_INLINE pu32 t1_v_ex2_f32(pu32 a)
{
    const pf32 zero = {0};
    a = T1_LESSER((pu32)(zero + 200.0f), T1_GREATER((pu32)(zero - 200.0f), a)); /* NaN stays */
    pf32 shifted = T1_F(a) + 0x1.8p23f, whole = shifted - 0x1.8p23f;
    pu32 f = (pu32)(T1_F(a) - whole), p = (pu32)(zero + 0.0001546144470f);
    p = T1_TERM(p, f, 0.001340042818f);
    p = T1_TERM(p, f, 0.009618056679f);
    p = T1_TERM(p, f, 0.05550327227f);
    p = T1_TERM(p, f, 0.2402265092f);
    p = T1_TERM(p, f, 0.6931472067f);
    p = T1_TERM(p, f, 1.0f);
#if T1_ISA == 2
    return (pu32)__builtin_ia32_scalefps512_mask(T1_F(p), whole, zero, -1, 4);
#else
    pu32 n = (pu32)shifted - 0x4b400000u, half = (pu32)((ps32)n >> 1);
    return (pu32)(T1_F(p) * T1_F((half + 127) << 23) * T1_F((n - half + 127) << 23));
#endif
}
T1_INLINE pf64 t1_tanh_64(pf64 x)
{
    pf64 t = t1_exp2_core(t1_clamp200(x * 2.8853900817779268)), z = x * x,
         far = (t - 1.0) / (t + 1.0);
    pf64 near = x * (1.0 - z * (0.33333333333333333 - z * 0.13333333333333333));
    return (pf64)t1_pick64(T1_C_F64(LT, (pu64)z, (pu64)((pf64){0} + 0.0004)), (pu64)near,
                           (pu64)far);
}
T1_BY_HALVES(T1_CALLED, tanh_f32, t1_tanh_64)
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
T1_INLINE pf64 t1_lg2_64(pf64 x)
{
    const pf64 zero = {0}, one = zero + 1.0;
    pu64 u = (pu64)x, mu = (u & 0xffffffffffffful) | 1023ul << 52;
    t1_c64 high = T1_C_F64(GT, mu, (pu64)(zero + 1.4142135623730951));
    pf64 m = (pf64)mu, e = __builtin_convertvector((ps64)(u >> 52 & 0x7ff) - 1023, pf64);
    e = e + (pf64)t1_pick64(high, (pu64)one, (pu64)zero);
    m = (pf64)t1_pick64(high, (pu64)(m * 0.5), mu);
    pf64 s = (m - 1.0) / (m + 1.0), z = s * s, p = 0.26230818925253879 - zero;
    p = p * z + 0.32059889797532519;
    p = p * z + 0.41219858311113238;
    p = p * z + 0.57707801635558530;
    p = p * z + 0.96179669392597558;
    p = p * z + 2.8853900817779268;
    pu64 r = (pu64)(e + s * p);
    r = t1_pick64(T1_C_F64(EQ, u, (pu64)zero), t1_splat_u64(0xfff0000000000000ul), r);
    r = t1_pick64(T1_C_F64(GT, u, (pu64)(zero + 3.5e38)), u, r);
    return (pf64)t1_pick64(T1_C_F64(GE, u, (pu64)zero), r, t1_splat_u64(0x7ff8000000000000ul));
}
T1_BY_HALVES(T1_CALLED, lg2_f32, t1_lg2_64)
T1_INLINE pf64 t1_sin_64(pf64 x, uint64_t quadrant)
{
    pf64 shifted = x * 0.63661977236758134 + T1_MAGIC, q = shifted - T1_MAGIC, zero = {0};
    pf64 r = (x - q * 0x1.921fb544p+0) - q * 0x1.0b4611a626331p-34, z = r * r;
    pf64 s = -2.5052108385441719e-8 - zero;
    s = s * z + 2.7557319223985891e-6;
    s = s * z - 1.9841269841269841e-4;
    s = s * z + 8.3333333333333333e-3;
    s = s * z - 1.6666666666666667e-1;
    s = r * (1.0 + z * s);
    pf64 c = -2.7557319223985888e-7 - zero;
    c = c * z + 2.4801587301587302e-5;
    c = c * z - 1.3888888888888889e-3;
    c = c * z + 4.1666666666666667e-2;
    c = c * z - 0.5;
    c = 1.0 + z * c;
    pu64 k = (pu64)shifted + quadrant;
    pu64 y = t1_pick64(T1_C_U64(NEU, k & 1, (pu64)zero), (pu64)c, (pu64)s);
    return (pf64)(y ^ (k & 2) << 62);
}
T1_INLINE pf64 t1_sin_q0(pf64 x) { return t1_sin_64(x, 0); }
T1_INLINE pf64 t1_sin_q1(pf64 x) { return t1_sin_64(x, 1); }
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
    if (T1_UNLIKELY(t1_v_cmp_f32(GT, x & 0x7fffffffu, t1_splat_u32(0x49800000u))))
        return t1_v_sin_slow(b, x, op);
    return quadrant ? t1_v_sin_q1(x) : t1_v_sin_q0(x);
}
