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

/* Sums of a register that come in, where they are not added to at once. */
static void load_sums(struct t0_warp *w, const struct lir_tile *x, f32 *sum, unsigned nd, bool half)
{
    for (unsigned reg = 0; reg < nd; reg++) {
        const u32 *from = CROW(u32, t0_tile_row(w, x, nd + reg));
        if (!half) {
            memcpy(sum + reg * LIR_LANES, from, LIR_LANES * sizeof *from);
            continue;
        }
        EACH_LANE(l)
        {
            sum[2 * reg * LIR_LANES + l] = f16_to_f32(from[l] & 0xffff);
            sum[(2 * reg + 1) * LIR_LANES + l] = f16_to_f32(from[l] >> 16);
        }
    }
}

/* Pairs that do not saturate have been added to what came in. */
static bool adds_in_place(const struct lir_tile *x, bool pairs) { return pairs && !(x->p[0] & LIR_WG_SAT); }

static void store_sums(struct t0_warp *w, const struct lir_tile *x, const f32 *sum, unsigned nd, bool add, bool pairs)
{
    const unsigned fd = x->p[3] >> 16;
    const bool saturate = x->p[0] & LIR_WG_SAT;
    for (unsigned reg = 0; reg < nd; reg++) {
        u32 *d = ROW(u32, t0_tile_row(w, x, reg));
        const u32 *old = CROW(u32, t0_tile_row(w, x, nd + reg));
        const f32 *s = sum + reg * LIR_LANES, *two = sum + 2 * reg * LIR_LANES;
        if (fd == LIR_TILE_F16)
            WRITE(u32, d, f32_to_f16(two[l]) | f32_to_f16(two[LIR_LANES + l]) << 16);
        else if (adds_in_place(x, pairs))
            WRITE(u32, d, f32_bits(s[l]));
        else if (fd == LIR_TILE_S32)
            WRITE(u32, d, whole_sum(s[l], pairs, add ? (s32)old[l] : 0, saturate));
        else
            WRITE(u32, d, f32_bits(f32_canon(s[l])));
    }
}

/* Whether the sums' registers lie one after another, the same ones in and out: products add to them where they are. */
static bool lie_in_order(const uint32_t *rows, unsigned nd)
{
    uint32_t differ = 0;
    for (unsigned reg = 0; reg < nd; reg++)
        differ |= (rows[reg] ^ (rows[0] + reg * LIR_LANES * 4)) | (rows[reg] ^ rows[nd + reg]);
    return !differ;
}

/* The warp's 16 rows of A; k: how many 32 bits of each. */
static void read_rows(struct t0_warp *w, const struct lir_tile *x, struct scratch *s, struct matrix *m, unsigned k,
                      unsigned format)
{
    const unsigned first = w->index % 4 * 16;
    const bool across = m && x->p[0] & LIR_WG_TRANS_A;
    if (m) { /* the warp's rows are whole chunks: 16 of 16 bits are two */
        m->start += across ? across_k(m, first / per_chunk(format), 0) : along_k(m, first, 0);
        tell_rows(m, 16, k, format, across);
        gather_rows(m, s->raw, 16, k, format, across);
    }
    widen_left(s->a, s->raw, 16, k, format, across);
}

/* A as multiply_lanes takes it. */
static void repeat_rows(f32 *quads, const f32 *a, unsigned k)
{
#if T0_LEVEL >= 4
    const __m512i quad = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    f32 turned[8 * 16];
    for (unsigned kk = 0; kk < k; kk++) {
        if (kk % 8 == 0) { /* k is a multiple of 8 */
            transpose_eight(turned, 16, a + kk, k);
            transpose_eight(turned + 8, 16, a + 8 * k + kk, k);
        }
        const __m512 v = _mm512_loadu_ps(turned + kk % 8 * 16);
        for (int r = 0; r < 16; r += 4)
            _mm512_storeu_ps(quads + (16 * kk + (unsigned)r) * 4,
                             _mm512_permutexvar_ps(_mm512_add_epi32(quad, _mm512_set1_epi32(r)), v));
    }
    return;
#endif
    for (unsigned kk = 0; kk < k; kk++)
        for (unsigned r = 0; r < 16; r++) {
            const f32 v = a[r * k + kk], four[4] = {v, v, v, v};
            memcpy(quads + (16 * kk + r) * 4, four, sizeof four);
        }
}

/* B as it takes it: of each eight columns the even ones first. */
static void part_columns(f32 *b, unsigned count)
{
    for (unsigned e = 0; e < count; e += 8) {
#if T0_LEVEL >= 3
        const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
        _mm256_storeu_ps(b + e, _mm256_permutevar8x32_ps(_mm256_loadu_ps(b + e), order));
#else
        const f32 all[8] = {b[e], b[e + 2], b[e + 4], b[e + 6], b[e + 1], b[e + 3], b[e + 5], b[e + 7]};
        memcpy(b + e, all, sizeof all);
#endif
    }
}

/* B as multiply_lanes takes it: kept, or widened. */
static const f32 *read_columns(const struct lir_tile *x, struct scratch *s, const struct matrix *m, u64 descriptor,
                               unsigned n, unsigned k, unsigned format)
{
    const bool across = x->p[0] & LIR_WG_TRANS_B, minus = x->p[0] & LIR_WG_NEG_B, wide = n * k > KEPT_WORDS;
    const u64 form = 1 | (u64)across << 1 | (u64)minus << 2 | (u64)format << 8 | (u64)n << 16 | (u64)k << 32 |
                     (u64)wide << 63;
    const unsigned at = find_kept(&s->kept, form, descriptor, wide);
    struct kept *kept = &s->kept.entry[at];
    f32 *b = s->kept.b[at];
    tell_rows(m, n, k, format, across);
    if (kept->form && m->w->shared_size >= kept->shared && is_same(kept, m->window, s->kept.seen[at]))
        return b;
    kept->form = 0; /* what raises leaves half of the chunks */
    gather_rows(m, s->right, n, k, format, across);
    widen_right(b, s->right, n, k, n, format, across);
    if (minus)
        negate(b, n * k);
    part_columns(b, n * k);
    if (note(m, kept, s->kept.seen[at], across ? k : n, (across ? n : k) / per_chunk(format), across)) {
        kept->form = form;
        kept->descriptor = descriptor;
    }
    return b;
}

/* Single bits: s->sum by rows, to lanes. */
static void to_lanes(f32 *out, const f32 *in, unsigned n)
{
    for (unsigned reg = 0; reg < n / 2; reg++)
        for (unsigned l = 0; l < LIR_LANES; l++)
            out[reg * LIR_LANES + l] = in[(reg / 2 % 2 * 8 + l / 4) * n + reg / 4 * 8 + l % 4 * 2 + reg % 2];
}

/* The same sums as multiply_lanes(), with A's columns that are there, one element after the other. */
static void multiply_kept(f32 *sums, const f32 *a, const uint8_t *column, const f32 *b, unsigned n, unsigned k)
{
    for (unsigned r = 0; r < 16; r++)
        for (unsigned e = 0; e < k / 2; e++) {
            const unsigned kk = column[r * k / 2 + e];
            for (unsigned c = 0; c < n; c++) { /* columns lie as part_columns() left them */
                f32 *sum = sums + (c / 8 * 4 + r / 8 * 2 + c % 8 / 4) * LIR_LANES + r % 8 * 4 + c % 4;
                *sum = f32_canon(*sum + a[r * k + kk] * b[kk * n + c]);
            }
        }
}

HANDLER(WGMMA)
{
    const struct lir_tile *x = t0_tile_of(w, i);
    const unsigned n = x->p[1], format = x->p[3] & 255, fd = x->p[3] >> 16, lane = (unsigned)__builtin_ctz(MASK);
    const unsigned nd = lir_wg_sums(x), na = x->p[0] & LIR_WG_A_REGS ? 4 : 1;
    const unsigned ra = 2 * nd, rb = ra + na, rs = rb + 1, rm = rs + 1;
    const bool sparse = x->p[0] & LIR_WG_SPARSE, a_regs = x->p[0] & LIR_WG_A_REGS, whole = fd == LIR_TILE_S32;
    const bool add = T0_PRED(w, t0_tile_row(w, x, rs)) >> lane & 1;
    const bool pairs = whole && !sparse && format != LIR_TILE_B1;
    unsigned fa = format, fb = x->p[3] >> 8 & 255, k = x->p[2];
    struct scratch *s = t0_scratch(w, i);
    const u64 right = t0_tile_u64(w, x, rb, lane);
    const uint32_t *rows = LIR_AT(w->block->image, operands, uint32_t) + x->first;
    struct matrix mb = open_matrix(w, i, right, false), ma;
    w->at = i;
    if (a_regs)
        collect(w, x, ra, s->raw);
    else /* where A is in registers nobody looks at it */
        ma = open_matrix(w, i, t0_tile_u64(w, x, ra, lane), false);
    const bool direct = MASK == ~0u && (fd == LIR_TILE_F32 || adds_in_place(x, pairs)) && lie_in_order(rows, nd);
    f32 *sums = direct ? ROW(f32, rows[0]) : s->sum;
    if (!add || (whole && !adds_in_place(x, pairs)))
        memset(sums, 0, 16 * n * sizeof *sums);
    else if (!direct)
        load_sums(w, x, sums, nd, fd == LIR_TILE_F16);
    if (format == LIR_TILE_B1) {
        tell_rows(&mb, n, k, format, false);
        multiply_bits(s->a, a_regs ? NULL : &ma, s->raw, &mb, n, w->index % 4 * 16);
        to_lanes(s->sum, s->a, n);
    } else {
        if (pairs) {
            fa = fa == LIR_TILE_S8 ? TILE_PAIRS_S8 : TILE_PAIRS_U8;
            fb = fb == LIR_TILE_S8 ? TILE_PAIRS_S8 : TILE_PAIRS_U8;
            k /= 2;
        }
        read_rows(w, x, s, a_regs ? NULL : &ma, sparse ? k / 2 : k, fa);
        if (sparse) {
            find_columns(w, x, rm, s->raw);
            spread(s->a, s->raw, 16, k);
        }
        if (x->p[0] & LIR_WG_NEG_A)
            negate(s->a, 16 * k);
        const f32 *b = read_columns(x, s, &mb, right, n, k, fb);
        if (sparse && has_special(b, n * k)) {
            multiply_kept(sums, s->a, s->raw, b, n, k);
        } else {
            repeat_rows(s->quads, s->a, k);
            multiply_lanes(step_of(fa), sums, s->quads, b, n, k);
        }
    }
    if (!direct)
        store_sums(w, x, s->sum, nd, add, pairs);
}
