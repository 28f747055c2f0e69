/* Products of warpgroups: each of the four warps computes its 16 rows of the 64. */
#include "ptx/tier0/alu_tile.h"

static u32 row_word(struct t0_warp *w, const struct lir_tile *x, unsigned row, unsigned lane)
{
    return CROW(u32, t0_tile_row(w, x, row))[lane];
}

/* Bytes of A's rows in registers: as mma has them (lir/matrix.h). */
static void collect(struct t0_warp *w, const struct lir_tile *x, unsigned first, uint8_t *raw)
{
    for (unsigned r = 0; r < 4; r++)
        for (unsigned l = 0; l < LIR_LANES; l++) {
            const u32 v = row_word(w, x, first + r, l);
            memcpy(raw + (r % 2 * 8 + l / 4) * 32 + r / 2 * 16 + l % 4 * 4, &v, 4);
        }
}

/* Columns of the elements that a row of a sparse A has, as mma.sp tells them. */
static void find_columns(struct t0_warp *w, const struct lir_tile *x, unsigned meta, uint8_t *column)
{
    const unsigned bits = lir_tile_bits(x->p[3] & 255), chunk = bits == 32 ? 2 : 4, chunks = x->p[2] / chunk;
    const unsigned first = x->p[0] >> LIR_WG_SELECTOR & 3, words = chunks / 4;
    for (unsigned row = 0; row < 16; row++)
        for (unsigned c = 0; c < chunks; c++) {
            const unsigned word = bits > 8 ? c / 4 : c / 8 * 2 + row / 8;
            const unsigned shift = bits > 8 ? row / 8 * 16 + c % 4 * 4 : c % 8 * 4;
            const unsigned lane = row % 8 * 4 + ((first * words + word) & 3);
            column += lir_mx_kept(bits, c, row_word(w, x, meta, lane) >> shift, column);
        }
}

static void multiply_bits(f32 *sum, const struct matrix *ma, const uint8_t *raw, const struct matrix *mb, unsigned n,
                          unsigned first)
{
    u64 a[2], b[2];
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < n; j++) {
            unsigned s = 0;
            for (unsigned c = 0; c < 2; c++) {
                memcpy(a, ma ? chunk_at(ma, along_k(ma, first + i, c)) : raw + i * 32 + c * 16, 16);
                memcpy(b, chunk_at(mb, along_k(mb, j, c)), 16);
                s += (unsigned)(__builtin_popcountll(a[0] & b[0]) + __builtin_popcountll(a[1] & b[1]));
            }
            sum[i * n + j] = (f32)s;
        }
}

HANDLER(WGMMA)
{
    const struct lir_tile *x = t0_tile_of(w, i);
    const unsigned n = x->p[1], k = x->p[2], fa = x->p[3] & 255, fb = x->p[3] >> 8 & 255, fd = x->p[3] >> 16;
    const unsigned nd = lir_wg_sums(x), na = x->p[0] & LIR_WG_A_REGS ? 4 : 1, lane = (unsigned)__builtin_ctz(MASK);
    const unsigned ra = 2 * nd, rb = ra + na, rs = rb + 1, rm = rs + 1, first = w->index % 4 * 16;
    const bool sparse = x->p[0] & LIR_WG_SPARSE, a_regs = x->p[0] & LIR_WG_A_REGS, whole = fd == LIR_TILE_S32;
    const bool add = T0_PRED(w, t0_tile_row(w, x, rs)) >> lane & 1;
    const unsigned ka = sparse ? k / 2 : k;
    struct scratch *s = t0_scratch(w, i);
    struct matrix mb = open_matrix(w, i, t0_tile_u64(w, x, rb, lane), false), ma = mb;
    w->at = i;
    if (a_regs)
        collect(w, x, ra, s->raw);
    else
        ma = open_matrix(w, i, t0_tile_u64(w, x, ra, lane), false);
    memset(s->sum, 0, 16 * n * sizeof *s->sum);
    for (unsigned r = 0; add && !whole && r < 16; r++)
        for (unsigned c = 0; c < n; c++) {
            const unsigned l = r % 8 * 4 + c % 8 / 2, reg = c / 8 * 2 + r / 8;
            s->sum[r * n + c] = fd == LIR_TILE_F16 ? f16_to_f32(row_word(w, x, nd + reg, l) >> 16 * (c % 2) & 0xffff)
                                                   : f32_from(row_word(w, x, nd + 2 * reg + c % 2, l));
        }
    if (fa == LIR_TILE_B1) {
        multiply_bits(s->sum, a_regs ? NULL : &ma, s->raw, &mb, n, first);
    } else {
        if (a_regs) {
            struct widen t;
            f32 e[32];
            widen_make(&t, fa);
            for (unsigned r = 0; r < 16; r++)
                for (unsigned c = 0; c < 2; c++) {
                    widen_chunk(&t, e, s->raw + r * 32 + c * 16);
                    memcpy(s->a + r * ka + c * t.n, e, t.n * sizeof *e);
                }
        } else {
            const unsigned per = lir_tile_per_chunk(fa);
            const bool across = x->p[0] & LIR_WG_TRANS_A;
            ma.start += across ? 0 : along_k(&ma, first, 0);
            if (across) { /* the warp's rows are whole chunks: 16 of 16 bits are two */
                const unsigned chunk = first / per;
                struct widen t;
                f32 e[32];
                widen_make(&t, fa);
                for (unsigned kk = 0; kk < ka; kk++)
                    for (unsigned c = 0; c < 16 / per; c++) {
                        widen_chunk(&t, e, chunk_at(&ma, across_k(&ma, chunk + c, kk)));
                        for (unsigned y = 0; y < per; y++)
                            s->a[(c * per + y) * ka + kk] = e[y];
                    }
            } else {
                read_matrix(&ma, s->a, 16, ka, ka, 1, fa, false);
            }
        }
        if (sparse) {
            find_columns(w, x, rm, s->raw);
            spread(s->a, s->raw, 16, k);
        }
        read_matrix(&mb, s->b, n, k, 1, n, fb, x->p[0] & LIR_WG_TRANS_B);
        if (x->p[0] & LIR_WG_NEG_A)
            negate(s->a, 16 * k);
        if (x->p[0] & LIR_WG_NEG_B)
            negate(s->b, n * k);
        multiply(s->sum, s->a, s->b, 16, n, k);
    }
    for (unsigned reg = 0; reg < nd; reg++) {
        u32 *d = ROW(u32, t0_tile_row(w, x, reg));
        const u32 *old = CROW(u32, t0_tile_row(w, x, nd + reg));
        const unsigned pair = fd == LIR_TILE_F16 ? reg : reg / 2;
        for (unsigned l = 0; l < LIR_LANES; l++) {
            const f32 *p = s->sum + (pair % 2 * 8 + l / 4) * n + pair / 2 * 8 + l % 4 * 2;
            u32 v;
            if (fd == LIR_TILE_F16) {
                v = f32_to_f16(p[0]) | f32_to_f16(p[1]) << 16;
            } else if (whole) {
                s64 sum = (s64)(s32)p[reg % 2] + (add ? (s32)old[l] : 0);
                if (x->p[0] & LIR_WG_SAT)
                    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                v = (u32)sum;
            } else {
                v = f32_bits(f32_canon(p[reg % 2]));
            }
            if (MASK >> l & 1)
                d[l] = v;
        }
    }
}
