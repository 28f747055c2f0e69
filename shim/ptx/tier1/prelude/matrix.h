/* Tier 1's prelude for kernels with matrix instructions. A register of all lanes is a tile: 8 rows of A
 * (columns of B) of four lanes each, the lane's elements following one another along k (matrix.h of
 * tier 0). Lanes thus see their row of A within their quad, and all quads the same columns of B.
 *
 * Factors are unpacked once, however many products use them:
 *   A: vector [(((group * ktiles + ktile) * E + e) * 4 + t) * 4 + unit]: of every quad the e-th element of
 *      its lane t, in all four lanes. A unit is a piece of 8 rows, four units a group.
 *   B: [((ktile * E + e) * 4 + t) * 8]: of the even columns, then of the odd ones, the same element
 * E elements fill a register; two s16 side by side count as one. */
/* Large kernels are compiled by -Og (isa.c), which unrolls no loop: sums of a product would lie on the stack. */
#if defined(__clang__)
#define T1_MX static __attribute__((noinline, unused))
#else
#define T1_MX static __attribute__((noinline, unused, optimize("O2")))
#endif
#define T1_Q0(n) ((n) & ~3)
#define T1_Q1(n) (((n) & ~3) + 1)
#define T1_Q2(n) (((n) & ~3) + 2)
#define T1_Q3(n) (((n) & ~3) + 3)
typedef uint32_t t1_quad __attribute__((vector_size(16), may_alias));
#if defined(__clang__) || __GNUC__ >= 12
#define T1_QUAD(x, q) __builtin_shufflevector(x, x, T1_LIST32(q))
#else
#define T1_QUAD(x, q) __builtin_shuffle(x, (pu32){T1_LIST32(q)})
#endif
/* Four words in every quad; said in assembly because compilers go by way of the stack. */
T1_INLINE pu32 t1_replicate(const uint32_t *p)
{
#if T1_ISA == 2
    pu32 r;
    __asm__("vbroadcasti32x4 %1, %0" : "=v"(r) : "m"(*(const t1_quad *)p));
    return r;
#elif T1_ISA == 1
    pu32 r;
    __asm__("vbroadcasti128 %1, %0" : "=x"(r) : "m"(*(const t1_quad *)p));
    return r;
#else
    return *(const pu32_m *)p;
#endif
}

/* ---- elements ---- */
#define T1_E_f16 2
#define T1_E_bf16 2
#define T1_E_tf32 1
#define T1_E_s8 2
#define T1_E_u8 2
#define t1_mx_f16(x, e) t1_v_f32_f16((e) ? (x) >> 16 : (x)&0xffff)
#define t1_mx_bf16(x, e) ((e) ? (x)&0xffff0000u : (x) << 16)
#define t1_mx_tf32(x, e) ((x)&0xffffe000u)
/* bytes 0 and 2, 1 and 3 as two s16 */
#define t1_mx_u8(x, e) ((e) ? (x) >> 8 & 0x00ff00ffu : (x)&0x00ff00ffu)
T1_VECTOR(int16_t, t1_shorts, T1_BYTES)
#define t1_mx_s8(x, e) ((pu32)((e) ? (t1_shorts)(x) >> 8 : (t1_shorts)(x) << 8 >> 8))

#define T1_MX_A(T) \
    T1_MX void t1_mx_a_##T(pu32 *a, pu32 x) \
    { \
        for (int e = 0; e < T1_E_##T; e++, a += 16) { \
            pu32 v = t1_mx_##T(x, e); \
            a[0] = T1_QUAD(v, T1_Q0); \
            a[4] = T1_QUAD(v, T1_Q1); \
            a[8] = T1_QUAD(v, T1_Q2); \
            a[12] = T1_QUAD(v, T1_Q3); \
        } \
    }
#if T1_ISA == 2
#define T1_COLUMNS(t) t, 8 + t, 16 + t, 24 + t, 4 + t, 12 + t, 20 + t, 28 + t
#define T1_MX_B(T) \
    T1_MX void t1_mx_b_##T(uint32_t *b, const pu32 *x) \
    { \
        for (int e = 0; e < T1_E_##T; e++, b += 32) { \
            pu32 lo = t1_mx_##T(x[0], e), hi = t1_mx_##T(x[1], e); \
            *(pu32_m *)b = t1_perm2(lo, hi, (pu32){T1_COLUMNS(0), T1_COLUMNS(1)}); \
            *(pu32_m *)(b + 16) = t1_perm2(lo, hi, (pu32){T1_COLUMNS(2), T1_COLUMNS(3)}); \
        } \
    }
#elif T1_ISA == 1
/* A piece holds an even and an odd column: transposes of four by four words in both halves. */
#if defined(__clang__) || __GNUC__ >= 12
#define T1_HALVES(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4)
#else
#define T1_HALVES(a, b, i, j, k, l) __builtin_shuffle(a, b, (pu32){i, j, k, l, i + 4, j + 4, k + 4, l + 4})
#endif
#define T1_MX_B(T) \
    T1_MX void t1_mx_b_##T(uint32_t *b, const pu32 *x) \
    { \
        for (int e = 0; e < T1_E_##T; e++, b += 32) { \
            pu32 x0 = t1_mx_##T(x[0], e), x1 = t1_mx_##T(x[1], e), x2 = t1_mx_##T(x[2], e), x3 = t1_mx_##T(x[3], e); \
            pu32 lo = T1_HALVES(x0, x1, 0, 8, 1, 9), hi = T1_HALVES(x0, x1, 2, 10, 3, 11); \
            pu32 lo2 = T1_HALVES(x2, x3, 0, 8, 1, 9), hi2 = T1_HALVES(x2, x3, 2, 10, 3, 11); \
            *(pu32_m *)b = T1_HALVES(lo, lo2, 0, 1, 8, 9); \
            *(pu32_m *)(b + 8) = T1_HALVES(lo, lo2, 2, 3, 10, 11); \
            *(pu32_m *)(b + 16) = T1_HALVES(hi, hi2, 0, 1, 8, 9); \
            *(pu32_m *)(b + 24) = T1_HALVES(hi, hi2, 2, 3, 10, 11); \
        } \
    }
#else
#define T1_MX_B(T) \
    T1_MX void t1_mx_b_##T(uint32_t *b, const pu32 *x) \
    { \
        for (int e = 0; e < T1_E_##T; e++, b += 32) { \
            uint32_t all[32]; \
            for (int k = 0; k < T1_P; k++) \
                t1_spill_u32(all, k, t1_mx_##T(x[k], e)); \
            for (int t = 0; t < 4; t++) \
                for (int n = 0; n < 8; n++) \
                    b[8 * t + (n & 1) * 4 + n / 2] = all[4 * n + t]; \
        } \
    }
#endif
T1_MX_A(f16)
T1_MX_A(bf16)
T1_MX_A(tf32)
T1_MX_A(s8)
T1_MX_A(u8)
T1_MX_B(f16)
T1_MX_B(bf16)
T1_MX_B(tf32)
T1_MX_B(s8)
T1_MX_B(u8)

/* ---- products ---- */

/* Products of f16 are exact in f32, so that the fused form, where there is one, gives the same bits. */
#if T1_ISA
#define t1_mx_step_exact(a, b, c) t1_v_fma_f32(a, b, c)
#else
#define t1_mx_step_exact(a, b, c) t1_mx_step_two(a, b, c)
#endif
#define t1_mx_step_two(a, b, c) ((pu32)((pf32)(c) + (pf32)(a) * (pf32)(b)))
#if T1_ISA == 2 && defined(__clang__)
typedef short t1_h32 __attribute__((vector_size(64)));
#define t1_mx_dot(a, b) ((pu32)__builtin_ia32_pmaddwd512((t1_h32)(a), (t1_h32)(b)))
#elif T1_ISA == 2
typedef short t1_h32 __attribute__((vector_size(64)));
#define t1_mx_dot(a, b) ((pu32)__builtin_ia32_pmaddwd512_mask((t1_h32)(a), (t1_h32)(b), (t1_i16){0}, -1))
#elif T1_ISA == 1
typedef short t1_h16 __attribute__((vector_size(32)));
#define t1_mx_dot(a, b) ((pu32)__builtin_ia32_pmaddwd256((t1_h16)(a), (t1_h16)(b)))
#else
T1_INLINE pu32 t1_mx_dot(pu32 a, pu32 b)
{
    ps32 x = (ps32)a, y = (ps32)b;
    return (pu32)((x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16));
}
#endif
#define t1_mx_step_int(a, b, c) ((c) + t1_mx_dot(a, b))

#define t1_mx_nan(x) t1_pick32(T1_C_F32(NAN, x, x), t1_splat_u32(0x7fffffffu), x)
#define t1_mx_same(x) (x)

/* Sums in order of k. They come in registers, of which a call has eight: units of even columns, then of
 * odd ones; c takes the results, the odd ones at 4. */
#define T1_SUMS_4 pu32 x0, pu32 x1, pu32 x2, pu32 x3, pu32 y0, pu32 y1, pu32 y2, pu32 y3
#define T1_SUMS_2 pu32 x0, pu32 x1, pu32 y0, pu32 y1
#define T1_EVEN_4 \
    { \
        x0, x1, x2, x3 \
    }
#define T1_EVEN_2 \
    { \
        x0, x1 \
    }
#define T1_ODD_4 \
    { \
        y0, y1, y2, y3 \
    }
#define T1_ODD_2 \
    { \
        y0, y1 \
    }
#define T1_MX_PRODUCT(NAME, E, UNITS, STEP, END) \
    T1_MX void NAME(pu32 *c, const pu32 *a, const uint32_t *b, unsigned ktiles, T1_SUMS_##UNITS) \
    { \
        pu32 c0[] = T1_EVEN_##UNITS, c1[] = T1_ODD_##UNITS; \
        for (; ktiles--; a += E * 16, b += E * 32) \
            _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) _Pragma("GCC unroll 2") for (int e = 0; e < E; e++) \
            { \
                pu32 b0 = t1_replicate(b + (4 * e + t) * 8); \
                pu32 b1 = t1_replicate(b + (4 * e + t) * 8 + 4); \
                _Pragma("GCC unroll 4") for (int u = 0; u < UNITS; u++) \
                { \
                    pu32 v = a[(4 * e + t) * 4 + u]; \
                    c0[u] = STEP(v, b0, c0[u]); \
                    c1[u] = STEP(v, b1, c1[u]); \
                } \
            } \
        _Pragma("GCC unroll 4") for (int u = 0; u < UNITS; u++) \
        { \
            c[u] = END(c0[u]); \
            c[4 + u] = END(c1[u]); \
        } \
    }
#define T1_MX_PRODUCTS(T, STEP, END) \
    T1_MX_PRODUCT(t1_mx_##T##_4, T1_E_##T, 4, STEP, END) \
    T1_MX_PRODUCT(t1_mx_##T##_2, T1_E_##T, 2, STEP, END)
T1_MX_PRODUCTS(f16, t1_mx_step_exact, t1_mx_nan)
T1_MX_PRODUCTS(bf16, t1_mx_step_two, t1_mx_nan)
T1_MX_PRODUCTS(tf32, t1_mx_step_two, t1_mx_nan)
T1_MX_PRODUCTS(s8, t1_mx_step_int, t1_mx_same)

/* two neighbours of a lane, as f16 */
#define t1_mx_pair(lo, hi) (t1_v_f16_f32(lo) | t1_v_f16_f32(hi) << 16)

/* ---- between memory and registers: words of a tile in the order of the lanes ---- */

T1_INLINE void t1_copy16(void *to, const void *from)
{
    typedef uint32_t v __attribute__((vector_size(16), may_alias, aligned(1)));
    *(v *)to = *(const v *)from;
}
/* 8 rows of 16 bytes */
T1_MX void t1_mx_load(uint32_t *w, const uint8_t *p, uint64_t step)
{
    for (int r = 0; r < 8; r++)
        t1_copy16(w + 4 * r, p + r * step);
}
T1_MX void t1_mx_store(const uint32_t *w, uint8_t *p, uint64_t step)
{
    for (int r = 0; r < 8; r++)
        t1_copy16(p + r * step, w + 4 * r);
}
/* 8 x 8 elements of 16 bits, transposed in place */
#if defined(__clang__) || __GNUC__ >= 12
typedef uint16_t t1_e8 __attribute__((vector_size(16), may_alias, aligned(4)));
#define T1_ZIP_LO(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define T1_ZIP_HI(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
T1_MX void t1_mx_turn(uint32_t *w)
{
    t1_e8 *m = (t1_e8 *)w, x[8], y[8];
    for (int k = 0; k < 8; k++)
        x[k] = m[k];
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 4; k++) {
            y[2 * k] = T1_ZIP_LO(x[k], x[k + 4]);
            y[2 * k + 1] = T1_ZIP_HI(x[k], x[k + 4]);
        }
        for (int k = 0; k < 8; k++)
            x[k] = y[k];
    }
    for (int k = 0; k < 8; k++)
        m[k] = x[k];
}
#else
T1_MX void t1_mx_turn(uint32_t *w)
{
    t1_u16 *m = (t1_u16 *)w;
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < r; c++) {
            uint16_t x = m[8 * r + c];
            m[8 * r + c] = m[8 * c + r];
            m[8 * c + r] = x;
        }
}
#endif
/* Sums of 32 bits: 8 lines of 8, of which a lane has two neighbours in the line or, when the lines are
 * columns (col), across them. */
T1_MX void t1_mx_load_sum(uint32_t *even, uint32_t *odd, const uint8_t *p, uint64_t step, int col)
{
    for (int l = 0; l < 32; l++) {
        int row = l / 4, at = l % 4 * 2;
        even[l] = col ? *(const t1_u32 *)(p + at * step + 4 * row) : *(const t1_u32 *)(p + row * step + 4 * at);
        odd[l] = col ? *(const t1_u32 *)(p + (at + 1) * step + 4 * row)
                     : *(const t1_u32 *)(p + row * step + 4 * at + 4);
    }
}
T1_MX void t1_mx_store_sum(const uint32_t *even, const uint32_t *odd, uint8_t *p, uint64_t step, int col)
{
    for (int l = 0; l < 32; l++) {
        int row = l / 4, at = l % 4 * 2;
        *(t1_u32 *)(col ? p + at * step + 4 * row : p + row * step + 4 * at) = even[l];
        *(t1_u32 *)(col ? p + (at + 1) * step + 4 * row : p + row * step + 4 * at + 4) = odd[l];
    }
}
