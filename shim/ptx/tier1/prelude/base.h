/* Tier 1's prelude, first part: types, pieces, masks, loads and stores. It is prepended to every
 * kernel, so it includes nothing and stays small: a header of intrinsics alone costs more than most
 * kernels. A warp of 32 lanes is T1_P pieces of T1_N lanes of 32 bits; 64-bit values take 2 * T1_P
 * pieces. Functions that a kernel does not need are left out (emit/prelude.c), which is why an item, or
 * a macro's use, defines functions or types and not both, and begins in the first column. */
typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef unsigned short uint16_t;
typedef short int16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long uint64_t;
typedef long int64_t;
typedef __SIZE_TYPE__ size_t;
_Static_assert(sizeof(long) == 8 && sizeof(void *) == 8, "LP64");

#ifndef T1_INLINE /* tests that compile many kernels do without */
#define T1_INLINE static inline __attribute__((always_inline, unused))
#endif
#define T1_CAT_(a, b) a##b
#define T1_CAT(a, b) T1_CAT_(a, b)
#define T1_LIKELY(x) __builtin_expect(!!(x), 1)
#define T1_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* From here on a vector is something: zeros, or what its place holds, which costs nothing. Without a word of it
 * compilers would take what masks put together for undefined as a whole. */
#define T1_ZEROS(x) \
    x = (__typeof__(x)) { 0 }
#if defined(__clang__) || !defined(__x86_64__)
#define T1_BEGIN(x) T1_ZEROS(x)
#elif T1_ISA == 2
#define T1_BEGIN(x) __asm__("" : "=vm"(x))
#else
#define T1_BEGIN(x) __asm__("" : "=xm"(x))
#endif
/* Ends a basic block of large texts, at no cost in instructions: gcc's combiner takes time that grows with the square
 * of a block's length. */
#if defined(T1_LARGE) && !defined(__clang__)
#define T1_CUT \
    { \
        __label__ here_; \
        __asm__ goto("" : : : : here_); \
    here_:; \
    }
#else
#define T1_CUT
#endif

#ifndef T1_ISA /* enum t1_isa; the flags that t1_isa_flags gives say the same */
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define T1_ISA 2
#elif defined(__AVX2__) && defined(__FMA__)
#define T1_ISA 1
#else
#define T1_ISA 0
#endif
#endif
/* Before the object is left for long, or often for a tool's service: at -O1 no compiler does it, and with the upper
 * halves of vector registers in use the process's next SSE instruction takes as long as a quarter of a small launch. */
T1_INLINE void t1_upper_clean(void)
{
#if T1_ISA
    __builtin_ia32_vzeroupper();
#endif
}
#if T1_ISA == 2
#define T1_N 16
#elif T1_ISA == 1
#define T1_N 8
#else
#define T1_N 4
#endif
#define T1_P (32 / T1_N)
#define T1_H (T1_N / 2)
#define T1_BYTES (4 * T1_N)
#define T1_ALL32 ((1u << T1_N) - 1)
#define T1_ALL64 ((1u << T1_H) - 1)

#define T1_VECTOR(T, name, bytes) \
    typedef T name __attribute__((vector_size(bytes))); \
    typedef T name##_m __attribute__((vector_size(bytes), aligned(1), may_alias));
T1_VECTOR(uint32_t, pu32, T1_BYTES)
T1_VECTOR(int32_t, ps32, T1_BYTES)
T1_VECTOR(float, pf32, T1_BYTES)
T1_VECTOR(uint64_t, pu64, T1_BYTES)
T1_VECTOR(int64_t, ps64, T1_BYTES)
T1_VECTOR(double, pf64, T1_BYTES)
/* half a piece of 32-bit lanes: what stands beside one 64-bit piece */
T1_VECTOR(uint32_t, ph32, T1_BYTES / 2)
T1_VECTOR(int32_t, phs32, T1_BYTES / 2)
T1_VECTOR(float, phf32, T1_BYTES / 2)
/* narrow elements of one 32-bit piece, in memory only */
T1_VECTOR(uint8_t, pu8, T1_N)
T1_VECTOR(int8_t, ps8, T1_N)
T1_VECTOR(uint16_t, pu16, 2 * T1_N)
T1_VECTOR(int16_t, ps16, 2 * T1_N)
typedef uint8_t t1_u8 __attribute__((may_alias, aligned(1)));
typedef uint16_t t1_u16 __attribute__((may_alias, aligned(1)));
typedef uint32_t t1_u32 __attribute__((may_alias, aligned(1)));
typedef uint64_t t1_u64 __attribute__((may_alias, aligned(1)));
typedef int8_t t1_s8 __attribute__((may_alias, aligned(1)));
typedef int16_t t1_s16 __attribute__((may_alias, aligned(1)));

#if T1_N == 16
#define T1_LIST32(F) \
    F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), F(9), F(10), F(11), F(12), F(13), F(14), F(15)
#define T1_LIST64(F) F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7)
#elif T1_N == 8
#define T1_LIST32(F) F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7)
#define T1_LIST64(F) F(0), F(1), F(2), F(3)
#else
#define T1_LIST32(F) F(0), F(1), F(2), F(3)
#define T1_LIST64(F) F(0), F(1)
#endif
#define T1_ID(n) n
#define T1_UPPER(n) (n + T1_H)
#define T1_BIT(n) 1u << n
#define T1_LANE32 ((pu32){T1_LIST32(T1_ID)})
#define T1_LANE64 ((pu64){T1_LIST64(T1_ID)})

T1_INLINE uint32_t t1_bits32(float x)
{
    union {
        float f;
        uint32_t u;
    } v = {x};
    return v.u;
}
T1_INLINE float t1_f32(uint32_t x)
{
    union {
        uint32_t u;
        float f;
    } v = {x};
    return v.f;
}
T1_INLINE uint64_t t1_bits64(double x)
{
    union {
        double f;
        uint64_t u;
    } v = {x};
    return v.u;
}
T1_INLINE double t1_f64(uint64_t x)
{
    union {
        uint64_t u;
        double f;
    } v = {x};
    return v.f;
}

/* ---- pieces ---- */
#define T1_MASK32(m, k) ((uint32_t)(m) >> ((k)*T1_N) & T1_ALL32)
#define T1_MASK64(m, q) ((uint32_t)(m) >> ((q)*T1_H) & T1_ALL64)

T1_INLINE pu32 t1_splat_u32(uint32_t x) { return x - (pu32){0}; }
T1_INLINE ph32 t1_splat_h32(uint32_t x) { return x - (ph32){0}; }
T1_INLINE pu64 t1_splat_u64(uint64_t x) { return x - (pu64){0}; }
/* lane i of piece k: base + (k * N + i) * stride */
#define t1_ramp_u32(base, stride, k) \
    (t1_splat_u32((base) + (uint32_t)(stride) * ((k)*T1_N)) + T1_LANE32 * (uint32_t)(stride))
#define t1_ramp_u64(base, stride, q) \
    (t1_splat_u64((base) + (uint64_t)(stride) * ((q)*T1_H)) + T1_LANE64 * (uint64_t)(stride))

/* Lanes of two vectors of type V by constants; I: the vector of integers of that width. */
#if defined(__clang__) || __GNUC__ >= 12
#define T1_SHUFFLE(V, I, a, b, ...) __builtin_shufflevector((V)(a), (V)(b), __VA_ARGS__)
#else
#define T1_SHUFFLE(V, I, a, b, ...) __builtin_shuffle((V)(a), (V)(b), (I){__VA_ARGS__})
#endif
#if T1_ISA == 1 /* within each 16 bytes, as the machine shuffles */
#define T1_UNPACK_LO(a, b) T1_SHUFFLE(pu32, pu32, a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define T1_UNPACK_HI(a, b) T1_SHUFFLE(pu32, pu32, a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define T1_PAIRS_LO(a, b) (pu32) T1_SHUFFLE(pf64, pu64, a, b, 0, 4, 2, 6)
#define T1_PAIRS_HI(a, b) (pu32) T1_SHUFFLE(pf64, pu64, a, b, 1, 5, 3, 7)
#elif T1_ISA == 2
#define T1_UNPACK_LO(a, b) T1_SHUFFLE(pu32, pu32, a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define T1_UNPACK_HI(a, b) T1_SHUFFLE(pu32, pu32, a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define T1_PAIRS_LO(a, b) (pu32) T1_SHUFFLE(pf64, pu64, a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define T1_PAIRS_HI(a, b) (pu32) T1_SHUFFLE(pf64, pu64, a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#endif
#if T1_ISA
/* z0 to z3: the transposition of 4 x 4 words in each 16 bytes of a row. */
#define T1_TRANSPOSE(x0, x1, x2, x3) \
    const pu32 y0 = T1_UNPACK_LO(x0, x1), y1 = T1_UNPACK_HI(x0, x1), y2 = T1_UNPACK_LO(x2, x3), \
               y3 = T1_UNPACK_HI(x2, x3), z0 = T1_PAIRS_LO(y0, y2), z1 = T1_PAIRS_HI(y0, y2), \
               z2 = T1_PAIRS_LO(y1, y3), z3 = T1_PAIRS_HI(y1, y3);
#endif

#if defined(__clang__) || __GNUC__ >= 12
T1_INLINE ph32 t1_half0(pu32 x) { return __builtin_shufflevector(x, x, T1_LIST64(T1_ID)); }
T1_INLINE ph32 t1_half1(pu32 x) { return __builtin_shufflevector(x, x, T1_LIST64(T1_UPPER)); }
T1_INLINE pu32 t1_join_u32(ph32 lo, ph32 hi) { return __builtin_shufflevector(lo, hi, T1_LIST32(T1_ID)); }
#else
union t1_halves {
    pu32 v;
    ph32 h[2];
};
T1_INLINE ph32 t1_half0(pu32 x) { return (union t1_halves){x}.h[0]; }
T1_INLINE ph32 t1_half1(pu32 x) { return (union t1_halves){x}.h[1]; }
T1_INLINE pu32 t1_join_u32(ph32 lo, ph32 hi)
{
    union t1_halves u;
    u.h[0] = lo;
    u.h[1] = hi;
    return u.v;
}
#endif
#define t1_half_u32(x, h) ((h) ? t1_half1(x) : t1_half0(x))
/* To other widths. gcc takes some of its own conversions apart, lane by lane. */
#if T1_ISA == 2
typedef int t1_i16 __attribute__((vector_size(64)));
typedef long long t1_q8 __attribute__((vector_size(64)));
typedef int t1_i8 __attribute__((vector_size(32)));
typedef char t1_c16 __attribute__((vector_size(16)));
typedef short t1_w16 __attribute__((vector_size(32)));
#endif
#if T1_ISA == 2 && !defined(__clang__)
#define T1_CONVERT(to, from, V, op, T, Z) (V) __builtin_ia32_##op##512_mask((T)x, (Z){0}, -1)
#else
#define T1_CONVERT(to, from, V, op, T, Z) (V) __builtin_convertvector((from)x, to)
#endif
T1_INLINE pu32 t1_wide_u8(pu8 x) { return T1_CONVERT(pu32, pu8, pu32, pmovzxbd, t1_c16, t1_i16); }
T1_INLINE pu32 t1_wide_s8(ps8 x) { return T1_CONVERT(ps32, ps8, pu32, pmovsxbd, t1_c16, t1_i16); }
T1_INLINE pu32 t1_wide_u16(pu16 x) { return T1_CONVERT(pu32, pu16, pu32, pmovzxwd, t1_w16, t1_i16); }
T1_INLINE pu32 t1_wide_s16(ps16 x) { return T1_CONVERT(ps32, ps16, pu32, pmovsxwd, t1_w16, t1_i16); }
T1_INLINE pu8 t1_narrow_u8(pu32 x) { return T1_CONVERT(pu8, pu32, pu8, pmovdb, t1_i16, t1_c16); }
T1_INLINE pu16 t1_narrow_u16(pu32 x) { return T1_CONVERT(pu16, pu32, pu16, pmovdw, t1_i16, t1_w16); }
T1_INLINE pu64 t1_zext_u32(ph32 x) { return T1_CONVERT(pu64, ph32, pu64, pmovzxdq, t1_i8, t1_q8); }
T1_INLINE pu64 t1_sext_u32(ph32 x) { return T1_CONVERT(ps64, phs32, pu64, pmovsxdq, t1_i8, t1_q8); }
T1_INLINE ph32 t1_trunc_u64(pu64 x) { return T1_CONVERT(ph32, pu64, ph32, pmovqd, t1_q8, t1_i8); }
T1_INLINE ph32 t1_high_u64(pu64 x) { return t1_trunc_u64(x >> 32); }
#define t1_lane0(x) ((x)[0])

/* ---- masks: bits to lanes and back, blends ---- */
#if T1_ISA == 2
#if defined(__clang__)
T1_INLINE pu32 t1_blend_u32(uint32_t m, pu32 off, pu32 on)
{
    return (pu32)__builtin_ia32_selectd_512((uint16_t)m, (t1_i16)on, (t1_i16)off);
}
T1_INLINE pu64 t1_blend_u64(uint32_t m, pu64 off, pu64 on)
{
    return (pu64)__builtin_ia32_selectq_512((uint8_t)m, (t1_q8)on, (t1_q8)off);
}
T1_INLINE ph32 t1_blend_h32(uint32_t m, ph32 off, ph32 on)
{
    return (ph32)__builtin_ia32_selectd_256((uint8_t)m, (t1_i8)on, (t1_i8)off);
}
#else
T1_INLINE pu32 t1_blend_u32(uint32_t m, pu32 off, pu32 on)
{
    return (pu32)__builtin_ia32_blendmd_512_mask((t1_i16)off, (t1_i16)on, (uint16_t)m);
}
T1_INLINE pu64 t1_blend_u64(uint32_t m, pu64 off, pu64 on)
{
    return (pu64)__builtin_ia32_blendmq_512_mask((t1_q8)off, (t1_q8)on, (uint8_t)m);
}
T1_INLINE ph32 t1_blend_h32(uint32_t m, ph32 off, ph32 on)
{
    return (ph32)__builtin_ia32_blendmd_256_mask((t1_i8)off, (t1_i8)on, (uint8_t)m);
}
#endif
/* comparisons: immediate 0 eq, 1 lt, 2 le, 4 ne, 5 ge, 6 gt */
#define T1_CMP_U32(a, b, c) (uint32_t)(uint16_t) __builtin_ia32_ucmpd512_mask((t1_i16)(a), (t1_i16)(b), c, (uint16_t)-1)
#define T1_CMP_S32(a, b, c) (uint32_t)(uint16_t) __builtin_ia32_cmpd512_mask((t1_i16)(a), (t1_i16)(b), c, (uint16_t)-1)
#define T1_CMP_U64(a, b, c) (uint32_t)(uint8_t) __builtin_ia32_ucmpq512_mask((t1_q8)(a), (t1_q8)(b), c, (uint8_t)-1)
#define T1_CMP_S64(a, b, c) (uint32_t)(uint8_t) __builtin_ia32_cmpq512_mask((t1_q8)(a), (t1_q8)(b), c, (uint8_t)-1)
#define T1_CMP_F32(a, b, c) (uint32_t)(uint16_t) __builtin_ia32_cmpps512_mask((pf32)(a), (pf32)(b), c, (uint16_t)-1, 4)
#define T1_CMP_F64(a, b, c) (uint32_t)(uint8_t) __builtin_ia32_cmppd512_mask((pf64)(a), (pf64)(b), c, (uint8_t)-1, 4)
/* sign bits of the lanes */
T1_INLINE uint32_t t1_bits_of32(pu32 x) { return T1_CMP_S32(x, (pu32){0}, 1); }
T1_INLINE uint32_t t1_bits_of64(pu64 x) { return T1_CMP_S64(x, (pu64){0}, 1); }
T1_INLINE pu32 t1_lanes32(uint32_t m) { return t1_blend_u32(m, (pu32){0}, ~(pu32){0}); }
T1_INLINE pu64 t1_lanes64(uint32_t m) { return t1_blend_u64(m, (pu64){0}, ~(pu64){0}); }
#else
T1_INLINE pu32 t1_lanes32(uint32_t m) { return (pu32)((t1_splat_u32(m) & (pu32){T1_LIST32(T1_BIT)}) != 0); }
T1_INLINE pu64 t1_lanes64(uint32_t m) { return (pu64)((t1_splat_u64(m) & (pu64){T1_LIST64(T1_BIT)}) != 0); }
T1_INLINE ph32 t1_lanesh(uint32_t m) { return (ph32)((t1_splat_h32(m) & (ph32){T1_LIST64(T1_BIT)}) != 0); }
T1_INLINE pu32 t1_blend_u32(uint32_t m, pu32 off, pu32 on)
{
    pu32 l = t1_lanes32(m);
    return (on & l) | (off & ~l);
}
T1_INLINE pu64 t1_blend_u64(uint32_t m, pu64 off, pu64 on)
{
    pu64 l = t1_lanes64(m);
    return (on & l) | (off & ~l);
}
T1_INLINE ph32 t1_blend_h32(uint32_t m, ph32 off, ph32 on)
{
    ph32 l = t1_lanesh(m);
    return (on & l) | (off & ~l);
}
#if T1_ISA == 1
T1_INLINE uint32_t t1_bits_of32(pu32 x) { return (uint32_t)__builtin_ia32_movmskps256((pf32)x); }
T1_INLINE uint32_t t1_bits_of64(pu64 x) { return (uint32_t)__builtin_ia32_movmskpd256((pf64)x); }
#elif defined(__SSE2__)
T1_INLINE uint32_t t1_bits_of32(pu32 x) { return (uint32_t)__builtin_ia32_movmskps((pf32)x); }
T1_INLINE uint32_t t1_bits_of64(pu64 x) { return (uint32_t)__builtin_ia32_movmskpd((pf64)x); }
#else
T1_INLINE uint32_t t1_bits_of32(pu32 x) { return x[0] >> 31 | x[1] >> 31 << 1 | x[2] >> 31 << 2 | x[3] >> 31 << 3; }
T1_INLINE uint32_t t1_bits_of64(pu64 x) { return (uint32_t)(x[0] >> 63 | x[1] >> 63 << 1); }
#endif
#endif

/* `all` if lanes that count up from first to first + span are all OP n, else the mask `lanes`. */
#define T1_BELOW(T, first, span, OP, n, all, lanes) \
    ({ \
        T1_CAT(t1_n, T) i_ = (T1_CAT(t1_n, T))(first), l_ = (T1_CAT(t1_n, T))((T1_CAT(t1_w, T))i_ + (span)); \
        T1_LIKELY(i_ <= l_ && l_ OP(T1_CAT(t1_n, T))(n)) ? (all) : (lanes); \
    })
typedef int32_t t1_ns32;
typedef int64_t t1_ns64;
typedef uint32_t t1_nu32, t1_ws32, t1_wu32;
typedef uint64_t t1_nu64, t1_ws64, t1_wu64;

/* Loop over the set bits of a mask, lowest first. */
#define T1_FOR_LANES(l, m) \
    for (uint32_t left_##l = (m), l; left_##l && (l = (uint32_t)__builtin_ctz(left_##l), 1); left_##l &= left_##l - 1)
/* The lanes of one piece, whose element is `at`, two a move out of the vector. */
#define T1_TWO_OF(at, l, first, pair, body) \
    { \
        const uint64_t both_ = pairs_[pair]; \
        { \
            const uint32_t l = (first) + 2 * (pair), at = (uint32_t)both_; \
            body; \
        } \
        { \
            const uint32_t l = (first) + 2 * (pair) + 1, at = (uint32_t)(both_ >> 32); \
            body; \
        } \
    }
#define T1_PAIRS_4(at, l, first, body) T1_TWO_OF(at, l, first, 0, body) T1_TWO_OF(at, l, first, 1, body)
#define T1_PAIRS_8(at, l, first, body) \
    T1_PAIRS_4(at, l, first, body) T1_TWO_OF(at, l, first, 2, body) T1_TWO_OF(at, l, first, 3, body)
#define T1_PAIRS_16(at, l, first, body) \
    T1_PAIRS_8(at, l, first, body) \
    T1_TWO_OF(at, l, first, 4, body) \
    T1_TWO_OF(at, l, first, 5, body) T1_TWO_OF(at, l, first, 6, body) T1_TWO_OF(at, l, first, 7, body)
#define T1_EACH_OF(at, l, first, piece, body) \
    do { \
        const pu64 pairs_ = (pu64)(piece); \
        T1_CAT(T1_PAIRS_, T1_N)(at, l, first, body) \
    } while (0)
/* The loop over a mask with a loop of its own for a full warp, which is what most often comes. */
#define T1_EACH(l, m, body) \
    do { \
        if ((m) == ~0u) { \
            _Pragma("GCC unroll 8") for (uint32_t l = 0; l < 32; l++) body; \
        } else { \
            T1_FOR_LANES(l, m) body; \
        } \
    } while (0)
