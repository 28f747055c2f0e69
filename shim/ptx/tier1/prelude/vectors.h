/* Tier 1's prelude: vectors of two or four words, one a lane, wherever they lie: each lane's moves at once, and they
 * are transposed in registers, as what costs in a gather or scatter is elements. p: a pointer a lane, to zeros where a
 * lane does not load; m: the lanes that store. Element k of piece j is v[P k + j], P pieces of a warp. Lanes that store
 * to one address: the last one stays. */
#define T1_CALLED static __attribute__((noinline, unused))
#if T1_ISA == 1
#define T1_JOIN_ROWS(l) t1_join_u32(*(const ph32_m *)p[l], *(const ph32_m *)p[(l) + 4])
T1_CALLED void t1_get4_u32(pu32 *v, const uint8_t *const *p)
{
    for (int j = 0; j < 4; j++, v++, p += 8) {
        T1_TRANSPOSE(T1_JOIN_ROWS(0), T1_JOIN_ROWS(1), T1_JOIN_ROWS(2), T1_JOIN_ROWS(3))
        v[0] = z0, v[4] = z1, v[8] = z2, v[12] = z3;
    }
}
#define T1_WORDS_AT(l) *(const t1_u64 *)p[l]
T1_CALLED void t1_get2_u32(pu32 *v, const uint8_t *const *p)
{
    for (int j = 0; j < 4; j++, v++, p += 8) {
        const pu64 a = {T1_WORDS_AT(0), T1_WORDS_AT(1), T1_WORDS_AT(4), T1_WORDS_AT(5)};
        const pu64 b = {T1_WORDS_AT(2), T1_WORDS_AT(3), T1_WORDS_AT(6), T1_WORDS_AT(7)};
        v[0] = (pu32)T1_SHUFFLE(pf32, pu32, a, b, 0, 2, 8, 10, 4, 6, 12, 14);
        v[4] = (pu32)T1_SHUFFLE(pf32, pu32, a, b, 1, 3, 9, 11, 5, 7, 13, 15);
    }
}
T1_CALLED void t1_put4_u32(uint8_t *const *p, const pu32 *v, uint32_t m)
{
    for (int j = 0; j < 4; j++, v++, p += 8, m >>= 8) {
        T1_TRANSPOSE(v[0], v[4], v[8], v[12])
        if (T1_LIKELY((m & 255) == 255)) {
            *(ph32_m *)p[0] = t1_half0(z0), *(ph32_m *)p[1] = t1_half0(z1);
            *(ph32_m *)p[2] = t1_half0(z2), *(ph32_m *)p[3] = t1_half0(z3);
            *(ph32_m *)p[4] = t1_half1(z0), *(ph32_m *)p[5] = t1_half1(z1);
            *(ph32_m *)p[6] = t1_half1(z2), *(ph32_m *)p[7] = t1_half1(z3);
        } else {
            const pu32 z[4] = {z0, z1, z2, z3};
            T1_FOR_LANES(l, m & 255)
            *(ph32_m *)p[l] = l < 4 ? t1_half0(z[l]) : t1_half1(z[l - 4]);
        }
    }
}
T1_CALLED void t1_put2_u32(uint8_t *const *p, const pu32 *v, uint32_t m)
{
    for (int j = 0; j < 4; j++, v++, p += 8, m >>= 8) {
        const pu64 a = (pu64)T1_UNPACK_LO(v[0], v[4]), b = (pu64)T1_UNPACK_HI(v[0], v[4]);
        const uint64_t w[8] = {a[0], a[1], b[0], b[1], a[2], a[3], b[2], b[3]};
        T1_FOR_LANES(l, m & 255)
        *(t1_u64 *)p[l] = w[l];
    }
}
#elif T1_ISA == 2
typedef uint32_t t1_q32 __attribute__((vector_size(16)));
typedef uint32_t t1_q32_m __attribute__((vector_size(16), aligned(1), may_alias));
union t1_quarters {
    pu32 v;
    t1_q32 q[4];
};
#if defined(__clang__) || __GNUC__ >= 12
#define T1_JOIN_QUARTERS(a, b) \
    __builtin_shufflevector(*(const t1_q32_m *)(a), *(const t1_q32_m *)(b), 0, 1, 2, 3, 4, 5, 6, 7)
#define T1_JOIN_4(a, b, c, d) t1_join_u32(T1_JOIN_QUARTERS(a, b), T1_JOIN_QUARTERS(c, d))
#define T1_QUARTER(v, k) __builtin_shufflevector(v, v, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3)
#else
#define T1_JOIN_4(a, b, c, d) \
    ((union t1_quarters){ \
        .q = {*(const t1_q32_m *)(a), *(const t1_q32_m *)(b), *(const t1_q32_m *)(c), *(const t1_q32_m *)(d)}} \
         .v)
#define T1_QUARTER(x, k) ((union t1_quarters){x}).q[k]
#endif
/* Lane l of sixteen; or its vector lies s bytes behind the one before: "walk". */
#define T1_AT(l) (p ? p[l] : b + (l)*s)
T1_INLINE void t1_get4_(pu32 *v, const uint8_t *const *p, const uint8_t *b, int64_t s)
{
    const pu32 x0 = T1_JOIN_4(T1_AT(0), T1_AT(4), T1_AT(8), T1_AT(12));
    const pu32 x1 = T1_JOIN_4(T1_AT(1), T1_AT(5), T1_AT(9), T1_AT(13));
    const pu32 x2 = T1_JOIN_4(T1_AT(2), T1_AT(6), T1_AT(10), T1_AT(14));
    const pu32 x3 = T1_JOIN_4(T1_AT(3), T1_AT(7), T1_AT(11), T1_AT(15));
    T1_TRANSPOSE(x0, x1, x2, x3)
    v[0] = z0, v[2] = z1, v[4] = z2, v[6] = z3;
}
T1_INLINE void t1_get2_(pu64 *v, const uint8_t *const *p, const uint8_t *b, int64_t s)
{
    for (int q = 0; q < 2; q++) {
        const pu32 x0 = T1_JOIN_4(T1_AT(8 * q), T1_AT(8 * q + 2), T1_AT(8 * q + 4), T1_AT(8 * q + 6));
        const pu32 x1 = T1_JOIN_4(T1_AT(8 * q + 1), T1_AT(8 * q + 3), T1_AT(8 * q + 5), T1_AT(8 * q + 7));
        v[q] = (pu64)T1_PAIRS_LO(x0, x1), v[4 + q] = (pu64)T1_PAIRS_HI(x0, x1);
    }
}
T1_CALLED void t1_get4_u32(pu32 *v, const uint8_t *const *p)
{
    for (int j = 0; j < 2; j++)
        t1_get4_(v + j, p + 16 * j, 0, 0);
}
T1_CALLED void t1_get2_u64(pu64 *v, const uint8_t *const *p)
{
    for (int j = 0; j < 2; j++)
        t1_get2_(v + 2 * j, p + 16 * j, 0, 0);
}
T1_CALLED void t1_walk_get4_u32(pu32 *v, const uint8_t *b, int64_t s)
{
    for (int j = 0; j < 2; j++)
        t1_get4_(v + j, 0, b + 16 * j * s, s);
}
T1_CALLED void t1_walk_get2_u64(pu64 *v, const uint8_t *b, int64_t s)
{
    for (int j = 0; j < 2; j++)
        t1_get2_(v + 2 * j, 0, b + 16 * j * s, s);
}
T1_CALLED void t1_get2_u32(pu32 *v, const uint8_t *const *p)
{
    for (int j = 0; j < 2; j++, v++, p += 16) {
        const pu32 a = (pu32)t1_gather64_u64(T1_ALL64, *(const pu64_m *)p);
        const pu32 c = (pu32)t1_gather64_u64(T1_ALL64, *(const pu64_m *)(p + 8));
        v[0] = t1_perm2(a, c, T1_LANE32 * 2), v[2] = t1_perm2(a, c, T1_LANE32 * 2 + 1);
    }
}
/* Quarters of the `rows` vectors z: quarter q of vector k is of lane rows q + k. */
#define T1_PUT_QUARTER(q) \
    for (int k = 0; k < rows; k++) \
        *(t1_q32_m *)T1_AT((q)*rows + k) = T1_QUARTER(z[k], q);
T1_INLINE void t1_put_quarters(uint8_t *const *p, uint8_t *b, int64_t s, const pu32 *z, int rows, uint32_t m)
{
    if (T1_LIKELY(m == (1u << 4 * rows) - 1)) {
        T1_PUT_QUARTER(0)
        T1_PUT_QUARTER(1)
        T1_PUT_QUARTER(2)
        T1_PUT_QUARTER(3)
    } else {
        T1_FOR_LANES(l, m)
        *(t1_q32_m *)T1_AT(l) = ((const t1_q32 *)&z[l % rows])[l / rows];
    }
}
T1_INLINE void t1_put4_(uint8_t *const *p, uint8_t *b, int64_t s, const pu32 *v, uint32_t m)
{
    T1_TRANSPOSE(v[0], v[2], v[4], v[6])
    const pu32 z[4] = {z0, z1, z2, z3};
    t1_put_quarters(p, b, s, z, 4, m & 0xffff);
}
T1_INLINE void t1_put2_(uint8_t *const *p, uint8_t *b, int64_t s, const pu64 *v, uint32_t m)
{
    const pu32 z[2] = {T1_PAIRS_LO(v[0], v[4]), T1_PAIRS_HI(v[0], v[4])};
    t1_put_quarters(p, b, s, z, 2, m & 0xff);
}
T1_CALLED void t1_put4_u32(uint8_t *const *p, const pu32 *v, uint32_t m)
{
    for (int j = 0; j < 2; j++)
        t1_put4_(p + 16 * j, 0, 0, v + j, m >> 16 * j);
}
T1_CALLED void t1_put2_u64(uint8_t *const *p, const pu64 *v, uint32_t m)
{
    for (int q = 0; q < 4; q++)
        t1_put2_(p + 8 * q, 0, 0, v + q, m >> 8 * q);
}
T1_CALLED void t1_walk_put4_u32(uint8_t *b, int64_t s, const pu32 *v, uint32_t m)
{
    for (int j = 0; j < 2; j++)
        t1_put4_(0, b + 16 * j * s, s, v + j, m >> 16 * j);
}
T1_CALLED void t1_walk_put2_u64(uint8_t *b, int64_t s, const pu64 *v, uint32_t m)
{
    for (int q = 0; q < 4; q++)
        t1_put2_(0, b + 8 * q * s, s, v + q, m >> 8 * q);
}
T1_CALLED void t1_put2_u32(uint8_t *const *p, const pu32 *v, uint32_t m)
{
    for (int j = 0; j < 2; j++, v++, p += 16, m >>= 16) {
        t1_scatter64_u64(m & 0xff, *(const pu64_m *)p, (pu64)t1_perm2(v[0], v[2], T1_ZIP(0)));
        t1_scatter64_u64(m >> 8 & 0xff, *(const pu64_m *)(p + 8), (pu64)t1_perm2(v[0], v[2], T1_ZIP(1)));
    }
}
/* Eight words a lane, which follow one another: whole lines, two lanes in each. Transposed in three steps: four lanes'
 * words side by side, eight lanes', all; stores go the other way. */
#define T1_BY_4 (((T1_LANE32 & 3) << 3) + (T1_LANE32 >> 2))
#define T1_BY_8 ((T1_LANE32 >> 3 << 2) + (T1_LANE32 & 3) + ((T1_LANE32 & 4) << 2))
#define T1_OF_8 (((T1_LANE32 & 4) << 1) + (T1_LANE32 & 3) + (T1_LANE32 >> 3 << 4))
#define T1_OF_4 (((T1_LANE32 & 3) << 2) + (T1_LANE32 >> 3) + ((T1_LANE32 & 4) << 2))
/* Written out, as -Og unrolls nothing: k of four pairs of lines, of halves of words 0 to 3 (l) and 4 to 7 (h). */
#define T1_ROWS_LOAD(k) \
    const pu32 x##k = t1_load_u32(p + 128 * k), y##k = t1_load_u32(p + 128 * k + 64); \
    const pu32 l##k = t1_perm2(x##k, y##k, T1_BY_4), h##k = t1_perm2(x##k, y##k, T1_BY_4 + 4);
#define T1_ROWS_JOIN(f, w, n) \
    { \
        const pu32 x = t1_perm2(f##0, f##1, T1_BY_8 + n), y = t1_perm2(f##2, f##3, T1_BY_8 + n); \
        v[2 * w] = t1_join_u32(t1_half0(x), t1_half0(y)), v[2 * w + 2] = t1_join_u32(t1_half1(x), t1_half1(y)); \
    }
T1_CALLED void t1_rows_get8(pu32 *v, const uint8_t *p)
{
    for (int j = 0; j < 2; j++, v++, p += 512) {
        T1_ROWS_LOAD(0)
        T1_ROWS_LOAD(1)
        T1_ROWS_LOAD(2)
        T1_ROWS_LOAD(3)
        T1_ROWS_JOIN(l, 0, 0)
        T1_ROWS_JOIN(l, 2, 8)
        T1_ROWS_JOIN(h, 4, 0)
        T1_ROWS_JOIN(h, 6, 8)
    }
}
#define T1_ROWS_PART(f, w) \
    const pu32 f##x##w = t1_join_u32(t1_half0(v[2 * w]), t1_half0(v[2 * w + 2])); \
    const pu32 f##y##w = t1_join_u32(t1_half1(v[2 * w]), t1_half1(v[2 * w + 2]));
#define T1_ROWS_STORE(k, l, h) \
    t1_store_u32(p + 128 * k, t1_perm2(l, h, T1_OF_4)); \
    t1_store_u32(p + 128 * k + 64, t1_perm2(l, h, T1_OF_4 + 2));
T1_CALLED void t1_rows_put8(uint8_t *p, const pu32 *v)
{
    for (int j = 0; j < 2; j++, v++, p += 512) {
        T1_ROWS_PART(l, 0)
        T1_ROWS_PART(l, 2)
        T1_ROWS_PART(h, 4)
        T1_ROWS_PART(h, 6)
        const pu32 l0 = t1_perm2(lx0, lx2, T1_OF_8), l1 = t1_perm2(lx0, lx2, T1_OF_8 + 4);
        const pu32 l2 = t1_perm2(ly0, ly2, T1_OF_8), l3 = t1_perm2(ly0, ly2, T1_OF_8 + 4);
        const pu32 h0 = t1_perm2(hx4, hx6, T1_OF_8), h1 = t1_perm2(hx4, hx6, T1_OF_8 + 4);
        const pu32 h2 = t1_perm2(hy4, hy6, T1_OF_8), h3 = t1_perm2(hy4, hy6, T1_OF_8 + 4);
        T1_ROWS_STORE(0, l0, h0)
        T1_ROWS_STORE(1, l1, h1)
        T1_ROWS_STORE(2, l2, h2)
        T1_ROWS_STORE(3, l3, h3)
    }
}
#endif
