/* The prelude: which way a matrix product takes. mp_31 multiplies 16 by 8 by 4, 8 or 16 at once, rows of A and columns
 * of B along k, with f32 or s32 sums (__musa_wmma_*, mapping/facts/musa.md D10). Its fragments lie in PTX's
 * lanes: A has its registers along k first and then by halves of 16 rows, B has PTX's, and C and D have of lane l and
 * register v the element of row l / 8 + 4 v and column l mod 8. In what order it sums is said nowhere: a type goes this
 * way where a probe on the device found it right (CM_USE_MMA_F16 and its like), any other product is MMA's. */
namespace cm {
/* What the instruction calls the types of A and B. */
enum { CM_NO_UNIT = 99 };
template <u32 fa, u32 fb> struct unit { enum { type = CM_NO_UNIT, format = 0 }; };
#define CM_UNIT(fa, fb, number, signed8) \
    template <> struct unit<fa, fb> { enum { type = number, format = signed8 }; };
#ifdef CM_USE_MMA_F16
CM_UNIT(CM_MX_F16, CM_MX_F16, 2, 0)
#endif
#ifdef CM_USE_MMA_BF16
CM_UNIT(CM_MX_BF16, CM_MX_BF16, 3, 0)
#endif
#ifdef CM_USE_MMA_TF32
CM_UNIT(CM_MX_TF32, CM_MX_TF32, 4, 0)
#endif
#ifdef CM_USE_MMA_INT8
CM_UNIT(CM_MX_U8, CM_MX_U8, 0, 0)
CM_UNIT(CM_MX_S8, CM_MX_S8, 1, 1)
#endif
#ifdef CM_USE_MMA_FP8
CM_UNIT(CM_MX_E4M3, CM_MX_E4M3, 5, 0)
CM_UNIT(CM_MX_E5M2, CM_MX_E5M2, 6, 0)
CM_UNIT(CM_MX_E4M3, CM_MX_E5M2, 11, 0)
CM_UNIT(CM_MX_E5M2, CM_MX_E4M3, 12, 0)
#endif

#if defined(CM_USE_MMA_F16) || defined(CM_USE_MMA_BF16) || defined(CM_USE_MMA_TF32) || defined(CM_USE_MMA_INT8) || \
    defined(CM_USE_MMA_FP8)
#define CM_ROW_COL 1 /* the instruction's name for A and B as mma has them */
template <u32 k, int format, int type> struct step;
#define CM_STEP(K)                                                                                 \
    template <int format, int type> struct step<K, format, type> {                                 \
        static CM_METHOD void run(int *d, const int *a, const int *b)                              \
        {                                                                                          \
            __musa_wmma_m16n8k##K##_mma(d, a, b, d, 0, 0, 0, 0, format, CM_ROW_COL, type);         \
        }                                                                                          \
    };
#ifdef CM_USE_MMA_TF32
CM_STEP(4)
#endif
CM_STEP(8)
CM_STEP(16)
/* Between PTX's place of sums and the unit's: two shuffles give two registers, since a lane offers one word to lanes of
 * both kinds. PTX's lane l has the row l / 4 and the columns 2 (l mod 4) and the next. */
CM_FN void to_unit(const u32 *from, int *to)
{
    const u32 l = lane_id(), lane = (l & 24) / 2 + (l & 7) / 2, odd = l & 1;
    for (u32 half = 0; half < 2; half++) {
        const u32 low = from[2 * half], high = from[2 * half + 1];
        const u32 x = shfl_idx(~0u, l < 16 ? low : high, lane + 16 * odd);
        const u32 y = shfl_idx(~0u, l < 16 ? high : low, lane + 16 * (1 - odd));
        to[2 * half] = (int)(odd ? y : x);
        to[2 * half + 1] = (int)(odd ? x : y);
    }
}
CM_FN void from_unit(const int *from, u32 *to)
{
    const u32 l = lane_id(), lane = (l & 12) * 2 + (l & 3) * 2, lower = l < 16;
    for (u32 half = 0; half < 2; half++) {
        const u32 low = (u32)from[2 * half], high = (u32)from[2 * half + 1];
        const u32 x = shfl_idx(~0u, l & 1 ? high : low, lane + !lower);
        const u32 y = shfl_idx(~0u, l & 1 ? low : high, lane + lower);
        to[2 * half] = lower ? x : y;
        to[2 * half + 1] = lower ? y : x;
    }
}
/* Sums of the 8 by 8 tile whose pair of registers is r, as words. */
template <u32 fc> CM_FN void get_sums(const u32 *c, u32 r, u32 *to)
{
    to[0] = fc == CM_MX_F16 ? bits(from_f16(c[r] & 0xffff)) : c[fc == CM_MX_F16 ? r : 2 * r];
    to[1] = fc == CM_MX_F16 ? bits(from_f16(c[r] >> 16)) : c[fc == CM_MX_F16 ? r : 2 * r + 1];
}
template <u32 fd> CM_FN void put_sums(u32 *d, u32 r, const u32 *from)
{
    if (fd == CM_MX_F16) {
        d[r] = to_f16(as_f32(from[0])) | to_f16(as_f32(from[1])) << 16;
        return;
    }
    const bool ints = fd == CM_MX_S32;
    d[2 * r] = ints ? from[0] : out32(as_f32(from[0]), 0);
    d[2 * r + 1] = ints ? from[1] : out32(as_f32(from[1]), 0);
}
/* A product of any size, in parts of 16 rows and 8 columns whose sums stay with the unit along k. */
template <bool possible, u32 m, u32 n, u32 k, u32 fa, u32 fb, u32 fc, u32 fd> struct by_unit {
    static CM_METHOD void run(u32 *d, const u32 *a, const u32 *b, const u32 *c)
    {
        const u32 bits_of = fa == CM_MX_TF32 ? 32 : fa == CM_MX_F16 || fa == CM_MX_BF16 ? 16 : 8, per = 32 / bits_of;
        const u32 tiles = k / (4 * per), deep = bits_of == 8 || tiles % 2 ? 1 : 2, across = n / 8;
        for (u32 row = 0; row < m / 8; row += 2)
            for (u32 col = 0; col < across; col++) {
                const u32 upper = tile_at(m, across, row, col), lower = tile_at(m, across, row + 1, col);
                u32 sums[4];
                int x[4], y[2], s[4];
                get_sums<fc>(c, upper, sums);
                get_sums<fc>(c, lower, sums + 2);
                to_unit(sums, s);
                for (u32 t = 0; t < tiles; t += deep) {
                    for (u32 v = 0; v < deep; v++) {
                        x[v] = (int)a[tile_at(m, tiles, row, t + v)];
                        x[deep + v] = (int)a[tile_at(m, tiles, row + 1, t + v)];
                        y[v] = (int)b[col * tiles + t + v];
                    }
                    step<4 * per * deep, unit<fa, fb>::format, unit<fa, fb>::type>::run(s, x, y);
                }
                from_unit(s, sums);
                put_sums<fd>(d, upper, sums);
                put_sums<fd>(d, lower, sums + 2);
            }
    }
};
#else
template <bool possible, u32 m, u32 n, u32 k, u32 fa, u32 fb, u32 fc, u32 fd> struct by_unit {
    static CM_METHOD void run(u32 *, const u32 *, const u32 *, const u32 *) {}
};
#endif
template <u32 m, u32 n, u32 k, u32 fa, u32 fb, u32 fc, u32 fd> struct by_unit<false, m, n, k, fa, fb, fc, fd> {
    static CM_METHOD void run(u32 *, const u32 *, const u32 *, const u32 *) {}
};
template <u32 m, u32 n, u32 k, u32 fa, u32 fb, u32 fc, u32 fd, u32 flags>
CM_FN void mma(u32 *d, const u32 *a, const u32 *b, const u32 *c, u32 meta)
{
    enum { possible = unit<fa, fb>::type != CM_NO_UNIT && m % 16 == 0 && !(flags & (CM_MX_SPARSE | CM_MX_LIMIT)) };
    const product p = {m, n, k, fa, fb, fc, fd, flags, 0};
    if (possible)
        by_unit<possible, m, n, k, fa, fb, fc, fd>::run(d, a, b, c);
    else
        MMA(p, d, a, b, c, meta);
}
} // namespace cm
