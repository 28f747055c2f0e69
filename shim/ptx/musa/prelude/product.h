/* The prelude: which way a matrix product takes. mp_31 multiplies 16 by 8 by 4, 8 or 16 at once, rows of A and columns
 * of B along k, with f32 or s32 sums (__musa_wmma_*, mapping/facts/musa.md D10). Its fragments lie in PTX's
 * lanes: A has its registers along k first and then by halves of 16 rows, B has PTX's, and C and D have of lane l and
 * register v the element of row l / 8 + 4 v and column l mod 8. In what order it sums is said nowhere: a type goes this
 * way where a probe on the device found it right (CM_USE_MMA_F16 and its like), any other product is MMA's. */
namespace cm
{
/* What the instruction calls the types of A and B. */
enum { CM_NO_UNIT = 99 };
template <u32 fa, u32 fb> struct unit {
    enum { type = CM_NO_UNIT, format = 0 };
};
#define CM_UNIT(fa, fb, number, signed8) \
    template <> struct unit<fa, fb> { \
        enum { type = number, format = signed8 }; \
    };
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
#define CM_STEP(K) \
    template <int format, int type> struct step<K, format, type> { \
        static CM_METHOD void run(int *d, const int *a, const int *b) \
        { \
            __musa_wmma_m16n8k##K##_mma(d, a, b, d, 0, 0, 0, 0, format, CM_ROW_COL, type); \
        } \
    };
#ifdef CM_USE_MMA_TF32
CM_STEP(4)
#endif
CM_STEP(8)
CM_STEP(16)
/* Between PTX's place of sums and the unit's: two shuffles give two registers, since a lane offers one word to lanes of
 * both kinds. PTX's lane l has the row l / 4 and the columns 2 (l mod 4) and the next. */
CM_FN void to_unit(const u32 *from, u32 *to)
{
    const u32 l = lane_id(), lane = (l & 24) / 2 + (l & 7) / 2, odd = l & 1;
    for (u32 half = 0; half < 2; half++) {
        const u32 low = from[2 * half], high = from[2 * half + 1];
        const u32 x = shfl_idx(~0u, l < 16 ? low : high, lane + 16 * odd);
        const u32 y = shfl_idx(~0u, l < 16 ? high : low, lane + 16 * (1 - odd));
        to[2 * half] = odd ? y : x;
        to[2 * half + 1] = odd ? x : y;
    }
}
CM_FN void from_unit(const u32 *from, u32 *to)
{
    const u32 l = lane_id(), lane = (l & 12) * 2 + (l & 3) * 2, lower = l < 16;
    for (u32 half = 0; half < 2; half++) {
        const u32 low = from[2 * half], high = from[2 * half + 1];
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
    d[fd == CM_MX_F16 ? r : 2 * r] = fd == CM_MX_F16 ? to_f16(as_f32(from[0])) | to_f16(as_f32(from[1])) << 16
                                                     : from[0];
    if (fd != CM_MX_F16)
        d[2 * r + 1] = from[1];
}
#endif
/* Sums of a product by a unit, or in plain code: brought to where the unit has them (take), continued there as often as
 * one likes (add), and brought back (give). q is their array there: with a unit four words of each part of 16 rows and
 * 8 columns, f32 or s32, else C's and D's registers as they are. */
template <bool by_unit, u32 m, u32 n, u32 fa, u32 fb> struct sums { /* in plain code */
    template <u32 f> static CM_METHOD void take(u32 *q, const u32 *c)
    {
        for (u32 k = 0; k < m * n / (f == CM_MX_F16 ? 64 : 32); k++)
            q[k] = c[k];
    }
    template <u32 k, u32 fc, u32 fd, u32 flags> static CM_METHOD void add(u32 *q, const u32 *a, const u32 *b)
    {
        const product p = {m, n, k, fa, fb, fc, fd, flags, 0};
        u32 d[m * n / 32];
        MMA(p, d, a, b, q, 0);
        take<fd>(q, d);
    }
    template <u32 f> static CM_METHOD void give(u32 *d, const u32 *q) { take<f>(d, q); }
};
#ifdef CM_ROW_COL
template <u32 m, u32 n, u32 fa, u32 fb> struct sums<true, m, n, fa, fb> {
    template <u32 f> static CM_METHOD void take(u32 *q, const u32 *c)
    {
        for (u32 t = 0; t < m / 16 * (n / 8); t++) {
            const u32 upper = tile_at(m, n / 8, t / (n / 8) * 2, t % (n / 8));
            u32 s[4];
            get_sums<f>(c, upper, s);
            get_sums<f>(c, upper + 1, s + 2);
            to_unit(s, q + 4 * t);
        }
    }
    template <u32 k, u32 fc, u32 fd, u32 flags> static CM_METHOD void add(u32 *q, const u32 *a, const u32 *b)
    {
        const u32 bits_of = fa == CM_MX_TF32 ? 32 : fa == CM_MX_F16 || fa == CM_MX_BF16 ? 16 : 8, per = 32 / bits_of;
        const u32 tiles = k / (4 * per), deep = bits_of == 8 || tiles % 2 ? 1 : 2, across = n / 8;
        for (u32 part = 0; part < m / 16 * across; part++) {
            const u32 row = part / across * 2, col = part % across;
            int x[4], y[2], s[4];
            for (u32 v = 0; v < 4; v++)
                s[v] = (int)q[4 * part + v];
            for (u32 t = 0; t < tiles; t += deep) {
                for (u32 v = 0; v < deep; v++) {
                    x[v] = (int)a[tile_at(m, tiles, row, t + v)];
                    x[deep + v] = (int)a[tile_at(m, tiles, row + 1, t + v)];
                    y[v] = (int)b[col * tiles + t + v];
                }
                step<4 * per * deep, unit<fa, fb>::format, unit<fa, fb>::type>::run(s, x, y);
            }
            for (u32 v = 0; v < 4; v++) /* as D's registers would have it */
                q[4 * part + v] = fd == CM_MX_S32   ? (u32)s[v]
                                  : fd == CM_MX_F16 ? bits(from_f16(to_f16(as_f32((u32)s[v]))))
                                                    : out32(as_f32((u32)s[v]), 0);
        }
    }
    template <u32 f> static CM_METHOD void give(u32 *d, const u32 *q)
    {
        for (u32 t = 0; t < m / 16 * (n / 8); t++) {
            const u32 upper = tile_at(m, n / 8, t / (n / 8) * 2, t % (n / 8));
            u32 s[4];
            from_unit(q + 4 * t, s);
            put_sums<f>(d, upper, s);
            put_sums<f>(d, upper + 1, s + 2);
        }
    }
};
#endif
template <u32 m, u32 n, u32 fa, u32 fb> struct products : sums<unit<fa, fb>::type != CM_NO_UNIT, m, n, fa, fb> {
};
} // namespace cm
