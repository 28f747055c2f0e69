/* Tier 1's prelude: integer arithmetic, comparisons and selection. t1_v_* takes pieces, t1_s_*
 * scalars. A comparison within a piece is a t1_c: bits where the machine has mask registers, lanes
 * elsewhere. */
#define T1_REL_EQ(a, b) ((a) == (b))
#define T1_REL_LT(a, b) ((a) < (b))
#define T1_REL_LE(a, b) ((a) <= (b))
#define T1_REL_GT(a, b) ((a) > (b))
#define T1_REL_GE(a, b) ((a) >= (b))
#define T1_REL_NEU(a, b) ((a) != (b))
#define T1_REL_NE(a, b) (((a) < (b)) | ((a) > (b)))
#define T1_REL_EQU(a, b) (~T1_REL_NE(a, b))
#define T1_REL_LTU(a, b) (~((a) >= (b)))
#define T1_REL_LEU(a, b) (~((a) > (b)))
#define T1_REL_GTU(a, b) (~((a) <= (b)))
#define T1_REL_GEU(a, b) (~((a) < (b)))
#define T1_REL_NUM(a, b) (((a) == (a)) & ((b) == (b)))
#define T1_REL_NAN(a, b) (((a) != (a)) | ((b) != (b)))
/* For the mask instructions: integers, then floats (quiet). */
#define T1_IMM_EQ 0
#define T1_IMM_LT 1
#define T1_IMM_LE 2
#define T1_IMM_NEU 4
#define T1_IMM_GE 5
#define T1_IMM_GT 6
#define T1_FMM_EQ 0
#define T1_FMM_LT 0x11
#define T1_FMM_LE 0x12
#define T1_FMM_GT 0x1e
#define T1_FMM_GE 0x1d
#define T1_FMM_NEU 4
#define T1_FMM_NE 0xc
#define T1_FMM_EQU 8
#define T1_FMM_LTU 0x19
#define T1_FMM_LEU 0x1a
#define T1_FMM_GTU 0x16
#define T1_FMM_GEU 0x15
#define T1_FMM_NUM 7
#define T1_FMM_NAN 3
#if T1_ISA == 2
typedef uint32_t t1_c32, t1_c64;
#define T1_C_U32(REL, a, b) T1_CMP_U32(a, b, T1_IMM_##REL)
#define T1_C_S32(REL, a, b) T1_CMP_S32(a, b, T1_IMM_##REL)
#define T1_C_U64(REL, a, b) T1_CMP_U64(a, b, T1_IMM_##REL)
#define T1_C_S64(REL, a, b) T1_CMP_S64(a, b, T1_IMM_##REL)
#define T1_C_F32(REL, a, b) T1_CMP_F32(a, b, T1_FMM_##REL)
#define T1_C_F64(REL, a, b) T1_CMP_F64(a, b, T1_FMM_##REL)
T1_INLINE pu32 t1_pick32(t1_c32 c, pu32 yes, pu32 no) { return t1_blend_u32(c, no, yes); }
T1_INLINE pu64 t1_pick64(t1_c64 c, pu64 yes, pu64 no) { return t1_blend_u64(c, no, yes); }
T1_INLINE uint32_t t1_cbits32(t1_c32 c) { return c & T1_ALL32; }
T1_INLINE uint32_t t1_cbits64(t1_c64 c) { return c & T1_ALL64; }
#else
typedef pu32 t1_c32;
typedef pu64 t1_c64;
#define T1_C_U32(REL, a, b) ((pu32)T1_REL_##REL((pu32)(a), (pu32)(b)))
#define T1_C_S32(REL, a, b) ((pu32)T1_REL_##REL((ps32)(a), (ps32)(b)))
#define T1_C_U64(REL, a, b) ((pu64)T1_REL_##REL((pu64)(a), (pu64)(b)))
#define T1_C_S64(REL, a, b) ((pu64)T1_REL_##REL((ps64)(a), (ps64)(b)))
#define T1_C_F32(REL, a, b) ((pu32)T1_REL_##REL((pf32)(a), (pf32)(b)))
#define T1_C_F64(REL, a, b) ((pu64)T1_REL_##REL((pf64)(a), (pf64)(b)))
T1_INLINE pu32 t1_pick32(t1_c32 c, pu32 yes, pu32 no) { return (yes & c) | (no & ~c); }
T1_INLINE pu64 t1_pick64(t1_c64 c, pu64 yes, pu64 no) { return (yes & c) | (no & ~c); }
T1_INLINE uint32_t t1_cbits32(t1_c32 c) { return t1_bits_of32(c); }
T1_INLINE uint32_t t1_cbits64(t1_c64 c) { return t1_bits_of64(c); }
#endif
#define t1_c_cmp_u32(REL, a, b) T1_C_U32(REL, a, b)
#define t1_c_cmp_s32(REL, a, b) T1_C_S32(REL, a, b)
#define t1_c_cmp_u64(REL, a, b) T1_C_U64(REL, a, b)
#define t1_c_cmp_s64(REL, a, b) T1_C_S64(REL, a, b)
#define t1_c_cmp_f32(REL, a, b) T1_C_F32(REL, a, b)
#define t1_c_cmp_f64(REL, a, b) T1_C_F64(REL, a, b)
#define t1_v_cmp_u32(REL, a, b) t1_cbits32(T1_C_U32(REL, a, b))
#define t1_v_cmp_s32(REL, a, b) t1_cbits32(T1_C_S32(REL, a, b))
#define t1_v_cmp_u64(REL, a, b) t1_cbits64(T1_C_U64(REL, a, b))
#define t1_v_cmp_s64(REL, a, b) t1_cbits64(T1_C_S64(REL, a, b))
#define t1_v_cmp_f32(REL, a, b) t1_cbits32(T1_C_F32(REL, a, b))
#define t1_v_cmp_f64(REL, a, b) t1_cbits64(T1_C_F64(REL, a, b))
#define t1_s_cmp_u32(REL, a, b) (uint32_t)(T1_REL_##REL((uint32_t)(a), (uint32_t)(b)) & 1)
#define t1_s_cmp_s32(REL, a, b) (uint32_t)(T1_REL_##REL((int32_t)(a), (int32_t)(b)) & 1)
#define t1_s_cmp_u64(REL, a, b) (uint32_t)(T1_REL_##REL((uint64_t)(a), (uint64_t)(b)) & 1)
#define t1_s_cmp_s64(REL, a, b) (uint32_t)(T1_REL_##REL((int64_t)(a), (int64_t)(b)) & 1)
#define t1_s_cmp_f32(REL, a, b) (uint32_t)(T1_REL_##REL(t1_f32(a), t1_f32(b)) & 1)
#define t1_s_cmp_f64(REL, a, b) (uint32_t)(T1_REL_##REL(t1_f64(a), t1_f64(b)) & 1)

/* Extension of narrow values; h: on half a piece. */
T1_INLINE pu32 t1_v_sx16(pu32 x) { return (pu32)((ps32)(x << 16) >> 16); }
T1_INLINE pu32 t1_v_sx8(pu32 x) { return (pu32)((ps32)(x << 24) >> 24); }
T1_INLINE ph32 t1_h_sx16(ph32 x) { return (ph32)((phs32)(x << 16) >> 16); }
T1_INLINE ph32 t1_h_sx8(ph32 x) { return (ph32)((phs32)(x << 24) >> 24); }
T1_INLINE uint32_t t1_s_sx16(uint32_t x) { return (uint32_t)(int32_t)(int16_t)x; }
T1_INLINE uint32_t t1_s_sx8(uint32_t x) { return (uint32_t)(int32_t)(int8_t)x; }
T1_INLINE uint64_t t1_s_sext(uint32_t x) { return (uint64_t)(int64_t)(int32_t)x; }

T1_INLINE pu32 t1_v_abs_s32(pu32 x)
{
    pu32 s = (pu32)((ps32)x >> 31);
    return (x ^ s) - s;
}
T1_INLINE pu64 t1_v_abs_s64(pu64 x)
{
    pu64 s = (pu64)((ps64)x >> 63);
    return (x ^ s) - s;
}
T1_INLINE uint32_t t1_s_abs_s32(uint32_t x) { return (int32_t)x < 0 ? 0 - x : x; }
T1_INLINE uint64_t t1_s_abs_s64(uint64_t x) { return (int64_t)x < 0 ? 0 - x : x; }

#define T1_MINMAX(T, w, V, U, S) \
    T1_INLINE V t1_v_min_##T(V a, V b) { return t1_pick##w(T1_CAT(T1_C_, S)(LT, a, b), a, b); } \
    T1_INLINE V t1_v_max_##T(V a, V b) { return t1_pick##w(T1_CAT(T1_C_, S)(GT, a, b), a, b); } \
    T1_INLINE U t1_s_min_##T(U a, U b) { return t1_s_cmp_##T(LT, a, b) ? a : b; } \
    T1_INLINE U t1_s_max_##T(U a, U b) { return t1_s_cmp_##T(GT, a, b) ? a : b; }
#if T1_ISA != 0 && !defined(__clang__) /* gcc 12 does not see them in the comparison and the choice */
#if T1_ISA == 1
typedef int t1_d8 __attribute__((vector_size(32)));
#define T1_LESS(op, a, b) ((pu32)__builtin_ia32_##op##d256((t1_d8)(a), (t1_d8)(b)))
#else
#define T1_LESS(op, a, b) ((pu32)__builtin_ia32_##op##d512_mask((t1_i16)(a), (t1_i16)(b), (t1_i16){0}, (uint16_t)-1))
#endif
#define T1_MINMAX_X86(T, S, letter) \
    T1_INLINE pu32 t1_v_min_##T(pu32 a, pu32 b) { return T1_LESS(pmin##letter, a, b); } \
    T1_INLINE pu32 t1_v_max_##T(pu32 a, pu32 b) { return T1_LESS(pmax##letter, a, b); } \
    T1_INLINE uint32_t t1_s_min_##T(uint32_t a, uint32_t b) { return t1_s_cmp_##T(LT, a, b) ? a : b; } \
    T1_INLINE uint32_t t1_s_max_##T(uint32_t a, uint32_t b) { return t1_s_cmp_##T(GT, a, b) ? a : b; }
T1_MINMAX_X86(u32, U32, u)
T1_MINMAX_X86(s32, S32, s)
#else
T1_MINMAX(u32, 32, pu32, uint32_t, U32)
T1_MINMAX(s32, 32, pu32, uint32_t, S32)
#endif
T1_MINMAX(u64, 64, pu64, uint64_t, U64)
T1_MINMAX(s64, 64, pu64, uint64_t, S64)

/* Shifts stop at the width, as the variable shifts of AVX do and C's do not. */
#if T1_ISA == 2 && defined(__clang__)
#define T1_SHIFT(OP, w, t, n, a, b) (pu##w) __builtin_ia32_##OP((t)(a), (t)(b))
#elif T1_ISA == 2
#define T1_SHIFT(OP, w, t, n, a, b) (pu##w) __builtin_ia32_##OP##_mask((t)(a), (t)(b), (t){0}, (n)-1)
#endif
#if T1_ISA == 2
T1_INLINE pu32 t1_v_shl32(pu32 a, pu32 b) { return T1_SHIFT(psllv16si, 32, t1_i16, uint16_t, a, b); }
T1_INLINE pu32 t1_v_shr32(pu32 a, pu32 b) { return T1_SHIFT(psrlv16si, 32, t1_i16, uint16_t, a, b); }
T1_INLINE pu32 t1_v_sar32(pu32 a, pu32 b) { return T1_SHIFT(psrav16si, 32, t1_i16, uint16_t, a, b); }
T1_INLINE pu64 t1_v_shl64_(pu64 a, pu64 b) { return T1_SHIFT(psllv8di, 64, t1_q8, uint8_t, a, b); }
T1_INLINE pu64 t1_v_shr64_(pu64 a, pu64 b) { return T1_SHIFT(psrlv8di, 64, t1_q8, uint8_t, a, b); }
T1_INLINE pu64 t1_v_sar64_(pu64 a, pu64 b) { return T1_SHIFT(psrav8di, 64, t1_q8, uint8_t, a, b); }
#else
#if T1_ISA == 1 /* the machine's stop at the width; of constants the compiler knows more */
typedef int t1_s8i __attribute__((vector_size(32)));
#define T1_SHIFTS_BY(op, a, b) \
    if (!__builtin_constant_p((b)[0])) \
        return (pu32)__builtin_ia32_##op((t1_s8i)(a), (t1_s8i)(b));
#else
#define T1_SHIFTS_BY(op, a, b)
#endif
T1_INLINE pu32 t1_v_shl32(pu32 a, pu32 b)
{
    T1_SHIFTS_BY(psllv8si, a, b)
    return (a << (b & 31)) & (pu32)(b < 32);
}
T1_INLINE pu32 t1_v_shr32(pu32 a, pu32 b)
{
    T1_SHIFTS_BY(psrlv8si, a, b)
    return (a >> (b & 31)) & (pu32)(b < 32);
}
T1_INLINE pu32 t1_v_sar32(pu32 a, pu32 b) { return (pu32)((ps32)a >> (ps32)t1_v_min_u32(b, t1_splat_u32(31))); }
T1_INLINE pu64 t1_v_shl64_(pu64 a, pu64 b) { return (a << (b & 63)) & (pu64)(b < 64); }
T1_INLINE pu64 t1_v_shr64_(pu64 a, pu64 b) { return (a >> (b & 63)) & (pu64)(b < 64); }
T1_INLINE pu64 t1_v_sar64_(pu64 a, pu64 b) { return (pu64)((ps64)a >> (ps64)t1_v_min_u64(b, t1_splat_u64(63))); }
#endif
T1_INLINE pu64 t1_v_shl64(pu64 a, ph32 b) { return t1_v_shl64_(a, t1_zext_u32(b)); }
T1_INLINE pu64 t1_v_shr64(pu64 a, ph32 b) { return t1_v_shr64_(a, t1_zext_u32(b)); }
T1_INLINE pu64 t1_v_sar64(pu64 a, ph32 b) { return t1_v_sar64_(a, t1_zext_u32(b)); }
T1_INLINE uint32_t t1_s_shl32(uint32_t a, uint32_t b) { return b < 32 ? a << b : 0; }
T1_INLINE uint32_t t1_s_shr32(uint32_t a, uint32_t b) { return b < 32 ? a >> b : 0; }
T1_INLINE uint32_t t1_s_sar32(uint32_t a, uint32_t b) { return (uint32_t)((int32_t)a >> (b < 32 ? b : 31)); }
T1_INLINE uint64_t t1_s_shl64(uint64_t a, uint32_t b) { return b < 64 ? a << b : 0; }
T1_INLINE uint64_t t1_s_shr64(uint64_t a, uint32_t b) { return b < 64 ? a >> b : 0; }
T1_INLINE uint64_t t1_s_sar64(uint64_t a, uint32_t b) { return (uint64_t)((int64_t)a >> (b < 64 ? b : 63)); }
/* amount n <= 32 */
T1_INLINE pu32 t1_v_shfl_(pu32 lo, pu32 hi, pu32 n) { return t1_v_shl32(hi, n) | t1_v_shr32(lo, 32 - n); }
T1_INLINE pu32 t1_v_shfr_(pu32 lo, pu32 hi, pu32 n) { return t1_v_shr32(lo, n) | t1_v_shl32(hi, 32 - n); }
T1_INLINE pu32 t1_v_upto32(pu32 n) { return t1_v_min_u32(n, t1_splat_u32(32)); }

/* Products: of the low halves of 64-bit lanes, and what is built from it. */
#if T1_ISA == 2 && !defined(__clang__)
T1_INLINE pu64 t1_mul_lo_u(pu64 a, pu64 b)
{
    return (pu64)__builtin_ia32_pmuludq512_mask((t1_i16)a, (t1_i16)b, (t1_q8){0}, (uint8_t)-1);
}
T1_INLINE pu64 t1_mul_lo_s(pu64 a, pu64 b)
{
    return (pu64)__builtin_ia32_pmuldq512_mask((t1_i16)a, (t1_i16)b, (t1_q8){0}, (uint8_t)-1);
}
#elif T1_ISA == 1 && !defined(__clang__)
T1_INLINE pu64 t1_mul_lo_u(pu64 a, pu64 b) { return (pu64)__builtin_ia32_pmuludq256((t1_i8)a, (t1_i8)b); }
T1_INLINE pu64 t1_mul_lo_s(pu64 a, pu64 b) { return (pu64)__builtin_ia32_pmuldq256((t1_i8)a, (t1_i8)b); }
#else
T1_INLINE pu64 t1_mul_lo_u(pu64 a, pu64 b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }
T1_INLINE pu64 t1_mul_lo_s(pu64 a, pu64 b) { return (pu64)(((ps64)(a << 32) >> 32) * ((ps64)(b << 32) >> 32)); }
#endif
T1_INLINE pu64 t1_v_mulw_u32(ph32 a, ph32 b) { return t1_mul_lo_u(t1_zext_u32(a), t1_zext_u32(b)); }
T1_INLINE pu64 t1_v_mulw_s32(ph32 a, ph32 b) { return t1_mul_lo_s(t1_sext_u32(a), t1_sext_u32(b)); }
/* upper halves: even lanes, odd lanes, put together again */
#define T1_ODD ((pu64){0} + 0xffffffff00000000ul)
T1_INLINE pu32 t1_v_mulhi_u32(pu32 a, pu32 b)
{
    pu64 even = t1_mul_lo_u((pu64)a, (pu64)b), odd = t1_mul_lo_u((pu64)a >> 32, (pu64)b >> 32);
    return (pu32)((even >> 32) | (odd & T1_ODD));
}
T1_INLINE pu32 t1_v_mulhi_s32(pu32 a, pu32 b)
{
    pu64 even = t1_mul_lo_s((pu64)a, (pu64)b), odd = t1_mul_lo_s((pu64)a >> 32, (pu64)b >> 32);
    return (pu32)((even >> 32) | (odd & T1_ODD));
}
T1_INLINE pu64 t1_v_mulhi_u64(pu64 a, pu64 b)
{
    pu64 ah = a >> 32, bh = b >> 32, low = t1_mul_lo_u(a, b);
    pu64 m1 = t1_mul_lo_u(ah, b) + (low >> 32), m2 = t1_mul_lo_u(a, bh) + (m1 & 0xffffffffu);
    return t1_mul_lo_u(ah, bh) + (m1 >> 32) + (m2 >> 32);
}
T1_INLINE pu64 t1_v_mulhi_s64(pu64 a, pu64 b)
{
    return t1_v_mulhi_u64(a, b) - (b & (pu64)((ps64)a >> 63)) - (a & (pu64)((ps64)b >> 63));
}
T1_INLINE uint32_t t1_s_mulhi_u32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
T1_INLINE uint32_t t1_s_mulhi_s32(uint32_t a, uint32_t b) { return (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32); }
T1_INLINE uint64_t t1_s_mulhi_u64(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
T1_INLINE uint64_t t1_s_mulhi_s64(uint64_t a, uint64_t b)
{
    return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);
}
T1_INLINE uint64_t t1_s_mulw_s32(uint32_t a, uint32_t b) { return (uint64_t)((int64_t)(int32_t)a * (int32_t)b); }

/* Division by zero gives all ones, and INT_MIN / -1 wraps. 32 bits go through f64: the quotient of
 * two 32-bit integers is never so close below an integer that it would round up to it. */
T1_INLINE uint32_t t1_s_div_u32(uint32_t a, uint32_t b) { return b ? a / b : ~0u; }
T1_INLINE uint32_t t1_s_div_s32(uint32_t a, uint32_t b)
{
    return b == 0 ? ~0u : b == ~0u ? 0 - a : (uint32_t)((int32_t)a / (int32_t)b);
}
T1_INLINE uint64_t t1_s_div_u64(uint64_t a, uint64_t b) { return b ? a / b : ~0ul; }
T1_INLINE uint64_t t1_s_div_s64(uint64_t a, uint64_t b)
{
    return b == 0 ? ~0ul : b == ~0ul ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}
#define T1_U32_F64(x) (__builtin_convertvector((phs32)((x) ^ 0x80000000u), pf64) + 0x1p31)
T1_INLINE ph32 t1_div_half_u(ph32 a, ph32 b) /* the quotient is below 2^31, as b > 1 */
{
    return (ph32) __builtin_convertvector(T1_U32_F64(a) / T1_U32_F64(b), phs32);
}
T1_INLINE ph32 t1_div_half_s(ph32 a, ph32 b)
{
    return (ph32) __builtin_convertvector(
        __builtin_convertvector((phs32)a, pf64) / __builtin_convertvector((phs32)b, pf64), phs32);
}
static __attribute__((noinline, unused)) pu32 t1_v_div_u32(pu32 a, pu32 b)
{
    pu32 y = t1_v_max_u32(b, t1_splat_u32(2));
    pu32 q = t1_join_u32(t1_div_half_u(t1_half0(a), t1_half0(y)), t1_div_half_u(t1_half1(a), t1_half1(y)));
    return t1_pick32(T1_C_U32(EQ, b, (pu32){0}), ~(pu32){0}, t1_pick32(T1_C_U32(EQ, b, t1_splat_u32(1)), a, q));
}
static __attribute__((noinline, unused)) pu32 t1_v_div_s32(pu32 a, pu32 b)
{
    const pu32 zero = {0};
    pu32 y = t1_pick32(T1_C_U32(EQ, b, zero) | T1_C_U32(EQ, b, ~zero), t1_splat_u32(1), b);
    pu32 q = t1_join_u32(t1_div_half_s(t1_half0(a), t1_half0(y)), t1_div_half_s(t1_half1(a), t1_half1(y)));
    return t1_pick32(T1_C_U32(EQ, b, zero), ~zero, t1_pick32(T1_C_U32(EQ, b, ~zero), -a, q));
}
/* By a number that all lanes share: times its reciprocal. (a + 1/2) / b is at least 1/(2 b) away from integers, and is
 * found to 2^-20 / b. */
T1_INLINE ph32 t1_div_by_half_u(ph32 a, double r)
{
    return (ph32) __builtin_convertvector((__builtin_convertvector((phs32)(a ^ 0x80000000u), pf64) + 2147483648.5) * r,
                                          phs32);
}
T1_INLINE ph32 t1_div_by_half_s(ph32 a, double r)
{
    const pf64 x = __builtin_convertvector((phs32)a, pf64);
    return (ph32) __builtin_convertvector((x + (pf64)(((pu64)x & 0x8000000000000000ul) | 0x3fe0000000000000ul)) * r,
                                          phs32);
}
/* Whether (x * magic >> 32) + x >> shift, of 33 bits on the way, is x / by for every x of 32 bits. */
T1_INLINE uint32_t t1_prepared(uint32_t by, uint32_t magic, uint32_t shift)
{
    const uint64_t power = 1ull << (shift & 31);
    return shift < 32 && power >= by && power < 2ull * by && magic == (uint32_t)(((power - by) << 32) / by + 1);
}
T1_INLINE pu32 t1_v_div_by_u32(pu32 a, uint32_t b)
{
    if (T1_UNLIKELY(b < 2))
        return b ? a : ~(pu32){0};
    const double r = 1 / (double)b;
    return t1_join_u32(t1_div_by_half_u(t1_half0(a), r), t1_div_by_half_u(t1_half1(a), r));
}
T1_INLINE pu32 t1_v_div_by_s32(pu32 a, uint32_t b)
{
    if (T1_UNLIKELY(b + 1 < 2))
        return b ? -a : ~(pu32){0};
    const double r = 1 / (double)(int32_t)b;
    return t1_join_u32(t1_div_by_half_s(t1_half0(a), r), t1_div_by_half_s(t1_half1(a), r));
}
#define t1_v_rem_by_u32(a, b) ((a)-t1_splat_u32(b) * t1_v_div_by_u32(a, b))
#define t1_v_rem_by_s32(a, b) ((a)-t1_splat_u32(b) * t1_v_div_by_s32(a, b))
#define T1_DIV64(T) \
    static __attribute__((noinline, unused)) pu64 t1_v_div_##T(pu64 a, pu64 b) \
    { \
        union { \
            pu64 v; \
            uint64_t e[T1_H]; \
        } x = {a}, y = {b}, r; \
        for (int l = 0; l < T1_H; l++) \
            r.e[l] = t1_s_div_##T(x.e[l], y.e[l]); \
        return r.v; \
    }
T1_DIV64(u64)
T1_DIV64(s64)
#define T1_REM(T, V, U) \
    T1_INLINE V t1_v_rem_##T(V a, V b) { return a - b * t1_v_div_##T(a, b); } \
    T1_INLINE U t1_s_rem_##T(U a, U b) { return a - b * t1_s_div_##T(a, b); }
T1_REM(u32, pu32, uint32_t)
T1_REM(s32, pu32, uint32_t)
T1_REM(u64, pu64, uint64_t)
T1_REM(s64, pu64, uint64_t)

/* Bits */
#define T1_LOP3(a, b, c, t) \
    ((~(a) & ((~(b) & ((~(c)&T1_T(t, 0)) | ((c)&T1_T(t, 1)))) | ((b) & ((~(c)&T1_T(t, 2)) | ((c)&T1_T(t, 3)))))) | \
     ((a) & ((~(b) & ((~(c)&T1_T(t, 4)) | ((c)&T1_T(t, 5)))) | ((b) & ((~(c)&T1_T(t, 6)) | ((c)&T1_T(t, 7)))))))
#define T1_T(t, n) (0u - ((t) >> (n)&1u))
#if T1_ISA == 2
#define t1_v_lop3(a, b, c, t) \
    ((pu32)__builtin_ia32_pternlogd512_mask((t1_i16)(a), (t1_i16)(b), (t1_i16)(c), t, (uint16_t)-1))
#else
#define t1_v_lop3(a, b, c, t) T1_LOP3(a, b, c, t)
#endif
#define T1_POPC(U, name) \
    T1_INLINE U name(U x) \
    { \
        x -= x >> 1 & 0x55555555u; \
        x = (x & 0x33333333u) + (x >> 2 & 0x33333333u); \
        return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24; \
    }
T1_POPC(pu32, t1_v_popc32)
T1_POPC(ph32, t1_h_popc32)
T1_POPC(uint32_t, t1_s_popc32)
T1_INLINE uint32_t t1_s_popc64(uint64_t x) { return t1_s_popc32((uint32_t)x) + t1_s_popc32((uint32_t)(x >> 32)); }
#define T1_BREV(U, name) \
    T1_INLINE U name(U x) \
    { \
        x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1; \
        x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2; \
        x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4; \
        x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8; \
        return x >> 16 | x << 16; \
    }
T1_BREV(pu32, t1_v_brev32)
T1_BREV(uint32_t, t1_s_brev32)
#define T1_CLZ(U, name, popc) \
    T1_INLINE U name(U x) \
    { \
        x |= x >> 1; \
        x |= x >> 2; \
        x |= x >> 4; \
        x |= x >> 8; \
        x |= x >> 16; \
        return popc(~x); \
    }
#if T1_ISA == 2 && !defined(__clang__)
T1_INLINE pu32 t1_v_clz32(pu32 x) { return (pu32)__builtin_ia32_vplzcntd_512_mask((t1_i16)x, (t1_i16)x, (uint16_t)-1); }
#else
T1_CLZ(pu32, t1_v_clz32, t1_v_popc32)
#endif
T1_CLZ(ph32, t1_h_clz32, t1_h_popc32)
T1_INLINE ph32 t1_v_popc64(pu64 x) { return t1_h_popc32(t1_trunc_u64(x)) + t1_h_popc32(t1_high_u64(x)); }
T1_INLINE ph32 t1_v_clz64(pu64 x)
{
    ph32 h = t1_h_clz32(t1_high_u64(x));
    return h + (t1_h_clz32(t1_trunc_u64(x)) & (ph32)(h == 32));
}
T1_INLINE uint32_t t1_s_clz32(uint32_t x) { return x ? (uint32_t)__builtin_clz(x) : 32; }
T1_INLINE uint32_t t1_s_clz64(uint64_t x) { return x ? (uint32_t)__builtin_clzl(x) : 64; }
/* bfe, bfi: positions and lengths are bytes; a field may reach past the top */
T1_INLINE pu32 t1_v_ones(pu32 n) { return ~t1_v_shl32(~(pu32){0}, n); }
T1_INLINE pu32 t1_v_bfe_u32(pu32 x, pu32 pos, pu32 len) { return t1_v_shr32(x, pos & 255) & t1_v_ones(len & 255); }
T1_INLINE pu32 t1_v_bfe_s32(pu32 x, pu32 pos, pu32 len)
{
    pos &= 255;
    len &= 255;
    const pu32 zero = {0}, m31 = t1_splat_u32(31);
    pu32 top = t1_v_min_u32(pos + len - 1, m31);
    pu32 have = t1_v_min_u32(len, 32 - t1_v_upto32(pos));
    pu32 fill = -(t1_v_shr32(x, top) & 1) & ~t1_v_ones(have);
    fill = t1_pick32(T1_C_U32(EQ, len, zero), zero, fill);
    return (t1_v_shr32(x, pos) & t1_v_ones(len)) | fill;
}
T1_INLINE pu32 t1_v_bfi_b32(pu32 from, pu32 into, pu32 pos, pu32 len)
{
    pu32 mask = t1_v_shl32(t1_v_ones(len & 255), pos & 255);
    return (into & ~mask) | (t1_v_shl32(from, pos & 255) & mask);
}
/* prmt: bytes of b:a by four bits each; the fourth of them spreads the byte's sign. */
#if T1_ISA
T1_VECTOR(char, t1_chars, T1_BYTES)
#define T1_BYTES_OF(n) 0x01010101u * (4 * ((n)&3))
#if T1_ISA == 1
#define T1_PSHUFB(x, i) ((pu32)__builtin_ia32_pshufb256((t1_chars)(x), (t1_chars)(i)))
#elif defined(__clang__)
#define T1_PSHUFB(x, i) ((pu32)__builtin_ia32_pshufb512((t1_chars)(x), (t1_chars)(i)))
#else
#define T1_PSHUFB(x, i) \
    ((pu32)__builtin_ia32_pshufb512_mask((t1_chars)(x), (t1_chars)(i), (t1_chars){0}, (unsigned long long)-1))
#endif
/* a bit of each byte as the whole byte */
T1_INLINE pu32 t1_spread(pu32 x, int bit)
{
    x = x >> bit & 0x01010101u;
    return (x << 8) - x;
}
T1_INLINE pu32 t1_v_prmt(pu32 a, pu32 b, pu32 c)
{
    const pu32 n = (c & 0xf) | (c << 4 & 0xf00) | (c << 8 & 0xf0000) | (c << 12 & 0xf000000);
    const pu32 i = (n & 0x03030303u) + (pu32){T1_LIST32(T1_BYTES_OF)}, of_b = t1_spread(n, 2), sign = t1_spread(n, 3);
    const pu32 r = (T1_PSHUFB(a, i) & ~of_b) | (T1_PSHUFB(b, i) & of_b);
    return (r & ~sign) | (t1_spread(r, 7) & sign);
}
#else
T1_INLINE pu32 t1_prmt_byte(pu32 a, pu32 b, pu32 s)
{
    pu32 word = t1_pick32(T1_C_U32(NEU, s & 4, (pu32){0}), b, a), byte = t1_v_shr32(word, (s & 3) * 8) & 255;
    return t1_pick32(T1_C_U32(NEU, s & 8, (pu32){0}), -(byte >> 7) & 255, byte);
}
T1_INLINE pu32 t1_v_prmt(pu32 a, pu32 b, pu32 c)
{
    return t1_prmt_byte(a, b, c) | t1_prmt_byte(a, b, c >> 4) << 8 | t1_prmt_byte(a, b, c >> 8) << 16 |
           t1_prmt_byte(a, b, c >> 12) << 24;
}
#endif
/* Products of signed shorts, two added. */
#if T1_ISA == 2 && defined(__clang__)
typedef short t1_h32 __attribute__((vector_size(64)));
#define t1_v_madd(a, b) ((pu32)__builtin_ia32_pmaddwd512((t1_h32)(a), (t1_h32)(b)))
#elif T1_ISA == 2
typedef short t1_h32 __attribute__((vector_size(64)));
#define t1_v_madd(a, b) ((pu32)__builtin_ia32_pmaddwd512_mask((t1_h32)(a), (t1_h32)(b), (t1_i16){0}, -1))
#elif T1_ISA == 1
typedef short t1_h16 __attribute__((vector_size(32)));
#define t1_v_madd(a, b) ((pu32)__builtin_ia32_pmaddwd256((t1_h16)(a), (t1_h16)(b)))
#else
T1_INLINE pu32 t1_v_madd(pu32 a, pu32 b)
{
    ps32 x = (ps32)a, y = (ps32)b;
    return (pu32)((x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16));
}
#endif
/* bytes 0 and 2, 1 and 3 as two shorts */
T1_VECTOR(int16_t, t1_shorts, T1_BYTES)
#define t1_bytes_u(x, e) ((e) ? (x) >> 8 & 0x00ff00ffu : (x)&0x00ff00ffu)
#define t1_bytes_s(x, e) ((pu32)((e) ? (t1_shorts)(x) >> 8 : (t1_shorts)(x) << 8 >> 8))
#define T1_DOT(S, R) \
    T1_INLINE pu32 t1_v_dp4a_##S##R(pu32 a, pu32 b, pu32 c) \
    { \
        return c + t1_v_madd(t1_bytes_##S(a, 0), t1_bytes_##R(b, 0)) + \
               t1_v_madd(t1_bytes_##S(a, 1), t1_bytes_##R(b, 1)); \
    } \
    T1_INLINE pu32 t1_v_dp2a_##S##R(pu32 a, pu32 b, pu32 c) \
    { \
        return c + T1_HALF_##S(a, 0) * T1_BYTE_##R(b, 0) + T1_HALF_##S(a, 1) * T1_BYTE_##R(b, 1); \
    }
/* Bytes of a are below 128, so that no sum of two products leaves 16 bits. */
#if T1_ISA == 2 && defined(__clang__)
#define t1_v_madd_bytes(a, b) ((pu32)__builtin_ia32_pmaddubsw512((t1_chars)(a), (t1_chars)(b)))
#elif T1_ISA == 2
#define t1_v_madd_bytes(a, b) \
    ((pu32)__builtin_ia32_pmaddubsw512_mask((t1_chars)(a), (t1_chars)(b), (t1_h32){0}, (uint32_t)-1))
#elif T1_ISA == 1
#define t1_v_madd_bytes(a, b) ((pu32)__builtin_ia32_pmaddubsw256((t1_chars)(a), (t1_chars)(b)))
#endif
#if T1_ISA
#define t1_v_dp4a_small(a, b, c) ((c) + t1_v_madd(t1_v_madd_bytes(a, b), t1_splat_u32(0x00010001u)))
#else
#define t1_v_dp4a_small(a, b, c) t1_v_dp4a_us(a, b, c)
#endif
#define T1_HALF_u(x, n) ((n) ? (x) >> 16 : (x)&0xffff)
#define T1_HALF_s(x, n) ((pu32)((n) ? (ps32)(x) >> 16 : (ps32)(x) << 16 >> 16))
#define T1_BYTE_u(x, n) ((x) >> (8 * (n)) & 255)
#define T1_BYTE_s(x, n) ((pu32)((ps32)((x) << (24 - 8 * (n))) >> 24))
T1_DOT(u, u)
T1_DOT(u, s)
T1_DOT(s, u)
T1_DOT(s, s)
/* bmsk, szext: lengths and positions from the width on are as the width; bfind: the leading bit that is no sign */
T1_INLINE pu32 t1_v_bmsk(pu32 pos, pu32 len) { return t1_v_shl32(t1_v_ones(len), pos); }
T1_INLINE pu32 t1_v_szext_u32(pu32 x, pu32 n) { return x & t1_v_ones(n); }
T1_INLINE pu32 t1_v_szext_s32(pu32 x, pu32 n)
{
    n = 32 - t1_v_upto32(n);
    return t1_v_sar32(t1_v_shl32(x, n), n);
}
#define T1_BFIND(U, name) \
    T1_INLINE U name(U zeros, unsigned width, int shift) \
    { \
        const U none = (U)(zeros == width); \
        return shift ? zeros | none : width - 1 - zeros; \
    }
T1_BFIND(pu32, t1_v_bfind)
T1_BFIND(ph32, t1_h_bfind)
