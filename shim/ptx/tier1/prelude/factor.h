/* Tier 1's prelude: a word a lane of a product's factor, from shared memory. Lane 4r + t of a factor that lies along k
 * reads word t of row r, 8 rows of 4; of one that lies across, word r of row t, 4 rows of 8. Such words are loaded row
 * by row, all others gathered. */
#if T1_ISA
enum { T1_MX_ANYHOW, T1_MX_ALONG, T1_MX_ACROSS };
struct t1_looked_at {
    pu32 a[T1_P];  /* the addresses: offsets in shared memory, */
    int64_t at[8]; /* those of the rows */
    uint32_t mask, lie;
};
#define T1_Q_FIRST(n) ((n)&3)
#if T1_ISA == 2
#define T1_PIECES pu32 a0, pu32 a1
#define T1_PIECES_GIVEN \
    { \
        a0, a1 \
    }
#else
#define T1_PIECES pu32 a0, pu32 a1, pu32 a2, pu32 a3
#define T1_PIECES_GIVEN \
    { \
        a0, a1, a2, a3 \
    }
#endif
/* m: the lanes that read; those that do not may have any address. */
T1_MX void t1_mx_look(struct t1_looked_at *f, uint32_t m, T1_PIECES)
{
    const pu32 a[] = T1_PIECES_GIVEN, first = T1_QUAD(a[0], T1_Q_FIRST);
    pu32 along = {0}, across = {0};
    for (int k = 0; k < T1_P; k++) {
        const pu32 lane = T1_LANE32 + (uint32_t)(k * T1_N);
        f->a[k] = a[k];
        along |= a[k] ^ (T1_QUAD(a[k], T1_Q0) + 4 * (lane & 3));
        across |= a[k] ^ (first + (lane & ~3u));
    }
    f->mask = m;
    f->lie = m != ~0u                                ? T1_MX_ANYHOW
             : !t1_v_cmp_u32(NEU, along, (pu32){0})  ? T1_MX_ALONG
             : !t1_v_cmp_u32(NEU, across, (pu32){0}) ? T1_MX_ACROSS
                                                     : T1_MX_ANYHOW;
    const uint32_t *const w = (const uint32_t *)f->a;
    for (int r = 0; r < 8; r++)
        f->at[r] = (int32_t)w[f->lie == T1_MX_ALONG ? 4 * r : r];
}
#define T1_ROW_OF(r) (p + f->at[r])
T1_MX void t1_mx_fetch(pu32 *v, const struct t1_looked_at *f, const uint8_t *p)
{
    if (T1_LIKELY(f->lie == T1_MX_ACROSS)) {
#if T1_ISA == 2
        const pu32 x = t1_join_u32(*(const ph32_m *)T1_ROW_OF(0), *(const ph32_m *)T1_ROW_OF(1));
        const pu32 y = t1_join_u32(*(const ph32_m *)T1_ROW_OF(2), *(const ph32_m *)T1_ROW_OF(3));
        v[0] = t1_perm2(x, y, (pu32){0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27});
        v[1] = t1_perm2(x, y, (pu32){4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31});
#else
        T1_TRANSPOSE(*(const pu32_m *)T1_ROW_OF(0), *(const pu32_m *)T1_ROW_OF(1), *(const pu32_m *)T1_ROW_OF(2),
                     *(const pu32_m *)T1_ROW_OF(3))
        v[0] = t1_join_u32(t1_half0(z0), t1_half0(z1)), v[1] = t1_join_u32(t1_half0(z2), t1_half0(z3));
        v[2] = t1_join_u32(t1_half1(z0), t1_half1(z1)), v[3] = t1_join_u32(t1_half1(z2), t1_half1(z3));
#endif
    } else if (T1_LIKELY(f->lie == T1_MX_ALONG)) {
#if T1_ISA == 2
        v[0] = T1_JOIN_4(T1_ROW_OF(0), T1_ROW_OF(1), T1_ROW_OF(2), T1_ROW_OF(3));
        v[1] = T1_JOIN_4(T1_ROW_OF(4), T1_ROW_OF(5), T1_ROW_OF(6), T1_ROW_OF(7));
#else
        for (int k = 0; k < 4; k++)
            v[k] = t1_join_u32(*(const ph32_m *)T1_ROW_OF(2 * k), *(const ph32_m *)T1_ROW_OF(2 * k + 1));
#endif
    } else {
        for (int k = 0; k < T1_P; k++)
            v[k] = t1_gather_u32(T1_MASK32(f->mask, k), p, f->a[k], 1);
    }
}
#endif
