/* Tier 1's prelude: members of structures and vectors of two or four words that follow one another, one a lane, by
 * whole rows of memory and permutes in registers. */
/* Members of small structures, one a thread: whole vectors and permutes, several times as fast as a
 * gather (with a stride of 32 it costs more registers than it is worth). Nothing behind the last
 * lane's element is read. */
#if T1_ISA == 2
/* Lanes of two pieces by index. */
#if defined(__clang__)
#define T1_PERMUTE(V, L, builtin, a, b, idx) (V) builtin((L)(a), (L)(idx), (L)(b))
#else
#define T1_PERMUTE(V, L, builtin, a, b, idx) __builtin_shuffle(a, b, idx)
#endif
T1_INLINE pu32 t1_perm2(pu32 a, pu32 b, pu32 idx)
{
    return T1_PERMUTE(pu32, t1_i16, __builtin_ia32_vpermi2vard512, a, b, idx);
}
/* Lower and upper words of two pieces. */
T1_INLINE pu32 t1_lows_u64(pu64 a, pu64 b) { return t1_perm2((pu32)a, (pu32)b, T1_LANE32 * 2); }
T1_INLINE pu32 t1_highs_u64(pu64 a, pu64 b) { return t1_perm2((pu32)a, (pu32)b, T1_LANE32 * 2 + 1); }
T1_INLINE pu64 t1_perm2_64(pu64 a, pu64 b, pu64 idx)
{
    return T1_PERMUTE(pu64, t1_q8, __builtin_ia32_vpermi2varq512, a, b, idx);
}
#define T1_STRIDED(bytes, FAST) \
    T1_INLINE pu32 t1_strided##bytes##_u32(uint32_t bits, const void *p) \
    { \
        if (T1_UNLIKELY(bits != T1_ALL32)) \
            return t1_gather_u32(bits, p, t1_ramp_u32(0u, bytes, 0), 1); \
        const char *at = (const char *)p; \
        return FAST; \
    }
#define T1_PAIR(at, last, step) t1_perm2(t1_load_u32(at), t1_maskload_u32(last, (at) + 64), T1_LANE32 *step)
#define T1_EVEN(a, b) t1_join_u32(t1_half0(a), t1_half0(b))
T1_STRIDED(8, T1_PAIR(at, 0x7fff, 2))
T1_STRIDED(16, T1_EVEN(T1_PAIR(at, 0xffff, 4), T1_PAIR(at + 128, 0x1fff, 4)))
/* and stored: a line a step, a scatter takes a step for each lane */
#define T1_STRIDED_PUT(bytes, spread) \
    T1_INLINE void t1_strided##bytes##_put_u32(uint32_t bits, void *p, pu32 v) \
    { \
        _Pragma("GCC unroll 4") for (uint32_t k = 0; k < bytes / 4; k++) __builtin_ia32_storedqusi512_mask( \
            (void *)((char *)p + 64 * k), (t1_i16)t1_perm2(v, v, (T1_LANE32 + 16 * k) / (bytes / 4)), \
            (uint16_t)__builtin_ia32_pdep_si(bits >> 64 / bytes * k, spread)); \
    }
T1_STRIDED_PUT(8, 0x5555)
T1_STRIDED_PUT(16, 0x1111)
/* Vectors of two or four, one a lane, that follow one another: element k of piece j, and pieces j of all elements.
 * Whole lines move. */
T1_INLINE pu32 t1_row2_u32(const uint8_t *p, uint32_t k, uint32_t j)
{
    p += 128 * j;
    return t1_perm2(t1_load_u32(p), t1_load_u32(p + 64), T1_LANE32 * 2 + k);
}
T1_INLINE pu32 t1_row4_u32(const uint8_t *p, uint32_t k, uint32_t j)
{
    p += 256 * j;
    return T1_EVEN(t1_perm2(t1_load_u32(p), t1_load_u32(p + 64), T1_LANE32 * 4 + k),
                   t1_perm2(t1_load_u32(p + 128), t1_load_u32(p + 192), T1_LANE32 * 4 + k));
}
T1_INLINE pu64 t1_row2_u64(const uint8_t *p, uint32_t k, uint32_t j)
{
    p += 128 * j;
    return t1_perm2_64(t1_load_u64(p), t1_load_u64(p + 64), T1_LANE64 * 2 + k);
}
#define T1_ZIP(h) (T1_LANE32 / 2 + 8 * h + T1_LANE32 % 2 * 16)
#define T1_ZIP_64(h) (T1_LANE64 / 2 + 4 * h + T1_LANE64 % 2 * 8)
T1_INLINE void t1_row2_put_u32(uint8_t *p, uint32_t j, pu32 x, pu32 y)
{
    p += 128 * j;
    t1_store_u32(p, t1_perm2(x, y, T1_ZIP(0)));
    t1_store_u32(p + 64, t1_perm2(x, y, T1_ZIP(1)));
}
T1_INLINE void t1_row2_put_u64(uint8_t *p, uint32_t j, pu64 x, pu64 y)
{
    p += 128 * j;
    t1_store_u64(p, t1_perm2_64(x, y, T1_ZIP_64(0)));
    t1_store_u64(p + 64, t1_perm2_64(x, y, T1_ZIP_64(1)));
}
T1_INLINE void t1_row4_put_u32(uint8_t *p, uint32_t j, pu32 x, pu32 y, pu32 z, pu32 w)
{
    p += 256 * j;
    t1_row2_put_u64(p, 0, (pu64)t1_perm2(x, y, T1_ZIP(0)), (pu64)t1_perm2(z, w, T1_ZIP(0)));
    t1_row2_put_u64(p, 1, (pu64)t1_perm2(x, y, T1_ZIP(1)), (pu64)t1_perm2(z, w, T1_ZIP(1)));
}
#else
#define t1_lows_u64(a, b) t1_join_u32(t1_trunc_u64(a), t1_trunc_u64(b))
#define t1_highs_u64(a, b) t1_join_u32(t1_high_u64(a), t1_high_u64(b))
#define t1_strided8_put_u32(bits, p, v) t1_scatter_u32(bits, p, t1_ramp_u32(0u, 8, 0), v, 1)
#define t1_strided16_put_u32(bits, p, v) t1_scatter_u32(bits, p, t1_ramp_u32(0u, 16, 0), v, 1)
#define t1_strided8_u32(bits, p) t1_gather_u32(bits, p, t1_ramp_u32(0u, 8, 0), 1)
#define t1_strided16_u32(bits, p) t1_gather_u32(bits, p, t1_ramp_u32(0u, 16, 0), 1)
#endif

#if T1_ISA == 1
/* Two or four words of each lane that follow one another. Element k of piece j is v[4 k + j]. */
#define T1_ROWS_AT(l) *(const ph32_m *)(p + 16 * (l))
static __attribute__((noinline, unused)) void t1_row_get4(pu32 *v, const uint8_t *p)
{
    for (int j = 0; j < 4; j++, v++, p += 128) {
        T1_TRANSPOSE(t1_join_u32(T1_ROWS_AT(0), T1_ROWS_AT(4)), t1_join_u32(T1_ROWS_AT(1), T1_ROWS_AT(5)),
                     t1_join_u32(T1_ROWS_AT(2), T1_ROWS_AT(6)), t1_join_u32(T1_ROWS_AT(3), T1_ROWS_AT(7)))
        v[0] = z0, v[4] = z1, v[8] = z2, v[12] = z3;
    }
}
static __attribute__((noinline, unused)) void t1_row_get2(pu32 *v, const uint8_t *p)
{
    for (int j = 0; j < 4; j++, v++, p += 64) {
        const pu32 a = t1_join_u32(T1_ROWS_AT(0), T1_ROWS_AT(2)), b = t1_join_u32(T1_ROWS_AT(1), T1_ROWS_AT(3));
        v[0] = (pu32)T1_SHUFFLE(pf32, pu32, a, b, 0, 2, 8, 10, 4, 6, 12, 14);
        v[4] = (pu32)T1_SHUFFLE(pf32, pu32, a, b, 1, 3, 9, 11, 5, 7, 13, 15);
    }
}
static __attribute__((noinline, unused)) void t1_row_put4(uint8_t *p, const pu32 *v)
{
    for (int j = 0; j < 4; j++, v++, p += 128) {
        T1_TRANSPOSE(v[0], v[4], v[8], v[12])
        t1_store_u32(p, t1_join_u32(t1_half0(z0), t1_half0(z1)));
        t1_store_u32(p + 32, t1_join_u32(t1_half0(z2), t1_half0(z3)));
        t1_store_u32(p + 64, t1_join_u32(t1_half1(z0), t1_half1(z1)));
        t1_store_u32(p + 96, t1_join_u32(t1_half1(z2), t1_half1(z3)));
    }
}
static __attribute__((noinline, unused)) void t1_row_put2(uint8_t *p, const pu32 *v)
{
    for (int j = 0; j < 4; j++, v++, p += 64) {
        const pu32 a = T1_UNPACK_LO(v[0], v[4]), b = T1_UNPACK_HI(v[0], v[4]);
        t1_store_u32(p, t1_join_u32(t1_half0(a), t1_half0(b)));
        t1_store_u32(p + 32, t1_join_u32(t1_half1(a), t1_half1(b)));
    }
}
#endif
