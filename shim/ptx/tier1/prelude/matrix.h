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
#if T1_ISA == 1
/* What a NaN becomes does not matter here, so that the machine's conversion will do. */
typedef short t1_h8 __attribute__((vector_size(16)));
#define t1_mx_f16(x, e) ((pu32)__builtin_ia32_vcvtph2ps256((t1_h8)t1_narrow_u16((e) ? (x) >> 16 : (x)&0xffff)))
#else
#define t1_mx_f16(x, e) t1_v_f32_f16((e) ? (x) >> 16 : (x)&0xffff)
#endif
#define t1_mx_bf16(x, e) ((e) ? (x)&0xffff0000u : (x) << 16)
#define t1_mx_tf32(x, e) ((x)&0xffffe000u)
#define t1_mx_u8 t1_bytes_u
#define t1_mx_s8 t1_bytes_s

/* The elements of a register, to[0] and to[step]. */
#define T1_MX_TWO(to, step, x, T) \
    { \
        const pu32 x_ = (x); \
        (to)[0] = t1_mx_##T(x_, 0); \
        (to)[4 * (step)] = t1_mx_##T(x_, 1); \
    }
#define T1_MX_TWO_f16(to, step, x) T1_MX_TWO(to, step, x, f16)
#define T1_MX_TWO_bf16(to, step, x) T1_MX_TWO(to, step, x, bf16)
#define T1_MX_TWO_tf32(to, step, x) (to)[0] = t1_mx_tf32(x, 0)
#define T1_MX_TWO_s8(to, step, x) T1_MX_TWO(to, step, x, s8)
#define T1_MX_TWO_u8(to, step, x) T1_MX_TWO(to, step, x, u8)

#define T1_MX_QUADS(a, x) \
    { \
        const pu32 v = (x); \
        (a)[0] = T1_QUAD(v, T1_Q0); \
        (a)[4] = T1_QUAD(v, T1_Q1); \
        (a)[8] = T1_QUAD(v, T1_Q2); \
        (a)[12] = T1_QUAD(v, T1_Q3); \
    }
#define T1_MX_A(T) \
    T1_MX void t1_mx_a_##T(pu32 *a, pu32 x) \
    { \
        T1_MX_QUADS(a, t1_mx_##T(x, 0)) \
        if (T1_E_##T > 1) \
            T1_MX_QUADS(a + 16, t1_mx_##T(x, T1_E_##T - 1)) \
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
/* A piece has an even column and the odd one behind it in its halves, so that a transposition of 4 x 4 in each half
 * gives for each t the even columns, then the odd ones. */
#define T1_MX_B(T) \
    T1_MX void t1_mx_b_##T(uint32_t *b, const pu32 *x) \
    { \
        pu32 *const to = (pu32 *)b; \
        T1_TRANSPOSE(x[0], x[1], x[2], x[3]) \
        T1_MX_TWO_##T(to, 1, z0); \
        T1_MX_TWO_##T(to + 1, 1, z1); \
        T1_MX_TWO_##T(to + 2, 1, z2); \
        T1_MX_TWO_##T(to + 3, 1, z3); \
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

/* Products of f16 are exact in f32, so that two steps, where there is no fma, give the same bits. */
#if T1_ISA
#define t1_mx_step_exact(a, b, c) t1_v_fma_f32(a, b, c)
#else
#define t1_mx_step_exact(a, b, c) ((pu32)((pf32)(c) + (pf32)(a) * (pf32)(b)))
#endif
#define t1_mx_step_int(a, b, c) ((c) + t1_v_madd(a, b))

#define t1_mx_nan(x) t1_pick32(T1_C_F32(NAN, x, x), t1_splat_u32(0x7fffffffu), x)
#define t1_mx_same(x) (x)

/* Sums in order of k. They come in registers, of which a call has eight: units of even columns, then of
 * odd ones; c takes the results, the odd ones at 4. Or they lie there already (.._on). */
#define T1_SUMS_4 pu32 x0, pu32 x1, pu32 x2, pu32 x3, pu32 y0, pu32 y1, pu32 y2, pu32 y3
#define T1_SUMS_2 pu32 x0, pu32 x1, pu32 y0, pu32 y1
/* Written out: compilers that are asked for little time keep what is indexed in memory. */
#define T1_MX_UNIT(STEP, s, u) \
    { \
        const pu32 v = a[4 * (s) + u]; \
        x##u = STEP(v, b0, x##u); \
        y##u = STEP(v, b1, y##u); \
    }
#define T1_MX_UNITS_2(STEP, s) T1_MX_UNIT(STEP, s, 0) T1_MX_UNIT(STEP, s, 1)
#define T1_MX_UNITS_4(STEP, s) T1_MX_UNITS_2(STEP, s) T1_MX_UNIT(STEP, s, 2) T1_MX_UNIT(STEP, s, 3)
#define T1_MX_K(UNITS, STEP, s) \
    { \
        const pu32 b0 = t1_replicate(b + 8 * (s)), b1 = t1_replicate(b + 8 * (s) + 4); \
        T1_MX_UNITS_##UNITS(STEP, s) \
    }
#define T1_MX_KTILE_1(UNITS, STEP) \
    T1_MX_K(UNITS, STEP, 0) T1_MX_K(UNITS, STEP, 1) T1_MX_K(UNITS, STEP, 2) T1_MX_K(UNITS, STEP, 3)
#define T1_MX_KTILE_2(UNITS, STEP) \
    T1_MX_K(UNITS, STEP, 0) \
    T1_MX_K(UNITS, STEP, 4) \
    T1_MX_K(UNITS, STEP, 1) \
    T1_MX_K(UNITS, STEP, 5) \
    T1_MX_K(UNITS, STEP, 2) T1_MX_K(UNITS, STEP, 6) T1_MX_K(UNITS, STEP, 3) T1_MX_K(UNITS, STEP, 7)
#define T1_MX_LOAD_2 pu32 x0 = c[0], x1 = c[1], y0 = c[4], y1 = c[5]
#define T1_MX_LOAD_4 \
    T1_MX_LOAD_2; \
    pu32 x2 = c[2], x3 = c[3], y2 = c[6], y3 = c[7]
#define T1_MX_STORE_2(f) \
    c[0] = f(x0); \
    c[1] = f(x1); \
    c[4] = f(y0); \
    c[5] = f(y1);
#define T1_MX_STORE_4(f) \
    T1_MX_STORE_2(f) \
    c[2] = f(x2); \
    c[3] = f(x3); \
    c[6] = f(y2); \
    c[7] = f(y3);
/* NaNs are rare: their sum says whether there is one. */
#define T1_MX_SUM_2 (T1_F(x0) + T1_F(y0) + (T1_F(x1) + T1_F(y1)))
#define T1_MX_SUM_4 (T1_MX_SUM_2 + (T1_F(x2) + T1_F(y2) + (T1_F(x3) + T1_F(y3))))
#define T1_MX_END_FLOAT(UNITS) \
    { \
        const pf32 all = T1_MX_SUM_##UNITS; \
        if (T1_UNLIKELY(t1_cbits32(T1_C_F32(NAN, all, all)))) { \
            T1_MX_STORE_##UNITS(t1_mx_nan) \
        } else { \
            T1_MX_STORE_##UNITS(t1_mx_same) \
        } \
    }
#define T1_MX_END_INT(UNITS) T1_MX_STORE_##UNITS(t1_mx_same)
#define T1_MX_MULTIPLY(E, UNITS, STEP, END) \
    for (; ktiles--; a += E * 16, b += E * 32) { \
        T1_MX_KTILE_##E(UNITS, STEP) \
    } \
    T1_MX_END_##END(UNITS)
#define T1_MX_PRODUCT(NAME, E, UNITS, STEP, END) \
    T1_MX void NAME(pu32 *c, const pu32 *a, const uint32_t *b, unsigned ktiles, T1_SUMS_##UNITS) \
    { \
        T1_MX_MULTIPLY(E, UNITS, STEP, END); \
    } \
    T1_MX void NAME##_on(pu32 *c, const pu32 *a, const uint32_t *b, unsigned ktiles) \
    { \
        T1_MX_LOAD_##UNITS; \
        T1_MX_MULTIPLY(E, UNITS, STEP, END); \
    }
#define T1_MX_PRODUCTS(T, E, STEP, END) \
    T1_MX_PRODUCT(t1_mx_##T##_4, E, 4, STEP, END) \
    T1_MX_PRODUCT(t1_mx_##T##_2, E, 2, STEP, END) \
    T1_MX_TWO_PRODUCTS(t1_mx_##T##_4, E, STEP, END)
/* Two products of one A, whose sums lie in c and d: AVX-512 has registers for both. */
#if T1_ISA == 2
#define T1_MX_UNIT_OF_TWO(STEP, s, u) \
    { \
        const pu32 v = a[4 * (s) + u]; \
        x##u = STEP(v, b0, x##u); \
        y##u = STEP(v, b1, y##u); \
        z##u = STEP(v, d0, z##u); \
        w##u = STEP(v, d1, w##u); \
    }
#define T1_MX_UNITS_two(STEP, s) \
    const pu32 d0 = t1_replicate(g + 8 * (s)), d1 = t1_replicate(g + 8 * (s) + 4); \
    T1_MX_UNIT_OF_TWO(STEP, s, 0) \
    T1_MX_UNIT_OF_TWO(STEP, s, 1) T1_MX_UNIT_OF_TWO(STEP, s, 2) T1_MX_UNIT_OF_TWO(STEP, s, 3)
#define T1_MX_TWO_PRODUCTS(NAME, E, STEP, END) \
    T1_MX void NAME##_two(pu32 *c, pu32 *d, const pu32 *a, const uint32_t *b, const uint32_t *g, unsigned ktiles) \
    { \
        T1_MX_LOAD_4; \
        pu32 z0 = d[0], z1 = d[1], z2 = d[2], z3 = d[3], w0 = d[4], w1 = d[5], w2 = d[6], w3 = d[7]; \
        for (; ktiles--; a += E * 16, b += E * 32, g += E * 32) { \
            T1_MX_KTILE_##E(two, STEP) \
        } \
        T1_MX_END_##END(4); \
        x0 = z0, x1 = z1, x2 = z2, x3 = z3, y0 = w0, y1 = w1, y2 = w2, y3 = w3, c = d; \
        T1_MX_END_##END(4); \
    }
#else
#define T1_MX_TWO_PRODUCTS(NAME, E, STEP, END)
#endif
T1_MX_PRODUCTS(f16, 2, t1_mx_step_exact, FLOAT)
T1_MX_PRODUCTS(bf16, 2, t1_v_fma_f32, FLOAT)
T1_MX_PRODUCTS(tf32, 1, t1_v_fma_f32, FLOAT)
T1_MX_PRODUCTS(s8, 2, t1_mx_step_int, INT)

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
#define T1_ZIP(x, y) \
    y##0 = T1_ZIP_LO(x##0, x##4), y##1 = T1_ZIP_HI(x##0, x##4), y##2 = T1_ZIP_LO(x##1, x##5), \
    y##3 = T1_ZIP_HI(x##1, x##5), y##4 = T1_ZIP_LO(x##2, x##6), y##5 = T1_ZIP_HI(x##2, x##6), \
    y##6 = T1_ZIP_LO(x##3, x##7), y##7 = T1_ZIP_HI(x##3, x##7)
/* z0 to z7 are the columns of the rows that ROW gives. */
#define T1_TURN(ROW) \
    const t1_e8 x0 = ROW(0), x1 = ROW(1), x2 = ROW(2), x3 = ROW(3), x4 = ROW(4), x5 = ROW(5), x6 = ROW(6), \
                x7 = ROW(7), T1_ZIP(x, u), T1_ZIP(u, v), T1_ZIP(v, z);
#define T1_ROW_OF_TILE(k) ((t1_e8 *)w)[k]
T1_MX void t1_mx_turn(uint32_t *w)
{
    T1_TURN(T1_ROW_OF_TILE)
    t1_e8 *const m = (t1_e8 *)w;
    m[0] = z0, m[1] = z1, m[2] = z2, m[3] = z3, m[4] = z4, m[5] = z5, m[6] = z6, m[7] = z7;
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
/* n matrices of 8 rows of 16 bytes, at p, as registers; turned, their columns. */
#if T1_ISA == 1 && (defined(__clang__) || __GNUC__ >= 12)
#define T1_ROW_AT(k) (*(const t1_e8 *)p[k])
#define T1_TWO_ROWS(a, b) t1_join_u32((ph32)(a), (ph32)(b))
T1_MX void t1_mx_get(pu32 *out, const uint8_t *const *p, unsigned n)
{
    for (; n--; p += 8, out += 4) {
        out[0] = T1_TWO_ROWS(T1_ROW_AT(0), T1_ROW_AT(1));
        out[1] = T1_TWO_ROWS(T1_ROW_AT(2), T1_ROW_AT(3));
        out[2] = T1_TWO_ROWS(T1_ROW_AT(4), T1_ROW_AT(5));
        out[3] = T1_TWO_ROWS(T1_ROW_AT(6), T1_ROW_AT(7));
    }
}
T1_MX void t1_mx_get_turned(pu32 *out, const uint8_t *const *p, unsigned n)
{
    for (; n--; p += 8, out += 4) {
        T1_TURN(T1_ROW_AT)
        out[0] = T1_TWO_ROWS(z0, z1);
        out[1] = T1_TWO_ROWS(z2, z3);
        out[2] = T1_TWO_ROWS(z4, z5);
        out[3] = T1_TWO_ROWS(z6, z7);
    }
}
#else
T1_MX void t1_mx_get(pu32 *out, const uint8_t *const *p, unsigned n)
{
    for (unsigned r = 0; r < 8 * n; r++)
        t1_copy16((uint8_t *)out + 16 * r, p[r]);
}
T1_MX void t1_mx_get_turned(pu32 *out, const uint8_t *const *p, unsigned n)
{
    t1_mx_get(out, p, n);
    for (unsigned q = 0; q < n; q++)
        t1_mx_turn((uint32_t *)out + 32 * q);
}
#endif
