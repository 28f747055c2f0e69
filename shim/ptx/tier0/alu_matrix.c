/* Matrix products: the fragments of a warp become plain arrays, are multiplied, and what comes out
 * becomes fragments again. matrix.h says how fragments lie; sums are made in order of k. */
#include "ptx/tier0/alu.h"
#include "ptx/tier0/warp.h"
#include "ptx/lir/matrix.h"
#if T0_LEVEL >= 3
#include <immintrin.h>
#endif

/* Eight columns at once; the compiler makes of them what the level has. */
typedef f32 f32x8 __attribute__((vector_size(32)));
typedef s32 s32x8 __attribute__((vector_size(32)));

struct product { /* one mma: records and the rows of its fragments */
    const struct lir_matrix *x;
    const uint32_t *d, *a, *b, *c, *meta; /* meta: of a sparse A; then scales, as lir_mx_regs has them */
};

/* Row-major bytes of the tiles of A, or of B with its columns as rows: a tile's row is what four
 * lanes hold, 16 or 32 bytes in lane order. */
static void collect(struct t0_warp *w, uint8_t *out, const uint32_t *rows, unsigned height, unsigned k, unsigned format,
                    bool is_a)
{
    unsigned bytes = format == LIR_MX_F64 ? 32 : 16, line = k * lir_mx[format].bits / 8;
    unsigned n = lir_mx_tiles(height, k, format), ktiles = line / bytes;
    for (unsigned r = 0; r < n; r++) {
        struct lir_mx_tile t = is_a ? lir_mx_tile_a(height, ktiles, r) : lir_mx_tile_b(ktiles, r);
        const uint8_t *from = CROW(uint8_t, rows[r]);
        uint8_t *to = out + t.row * 8 * line + t.col * bytes;
        for (unsigned g = 0; g < 8; g++, to += line, from += bytes)
            if (bytes == 16)
                memcpy(to, from, 16);
            else
                memcpy(to, from, 32);
    }
}

/* ---- elements to what they are multiplied as ---- */

/* What has 6 and 4 bits: all finite. */
static f32 small_to_f32(u32 v, unsigned mant, int least)
{
    const u32 m = v & ((mant == 3 || mant == 2 ? 32u : 8u) - 1), sign = mant == 1 ? v >> 3 & 1 : v >> 5 & 1;
    const f32 x = m < 1u << mant ? (f32)(s32)m * f32_from((u32)(least - (int)mant + 127) << 23)
                                 : f32_from((m << (23 - mant)) + ((u32)(least - 1 + 127) << 23));
    return sign ? -x : x;
}

/* Elements of a fragment as floats. All formats but f64 and integers are exact in f32, so one multiplication serves
 * them all. */
static void widen_f32(f32 *out, const uint8_t *raw, unsigned n, unsigned format)
{
    const uint16_t *h = (const uint16_t *)(const void *)raw;
    const u32 *word = (const u32 *)(const void *)raw;
    switch (format) {
    case LIR_MX_F16:
        for (unsigned e = 0; e < n; e++)
            out[e] = f16_to_f32(h[e]);
        break;
    case LIR_MX_BF16:
        for (unsigned e = 0; e < n; e++)
            out[e] = bf16_to_f32(h[e]);
        break;
    case LIR_MX_E4M3:
        for (unsigned e = 0; e < n; e++)
            out[e] = e4m3_to_f32(raw[e]);
        break;
    case LIR_MX_E5M2: /* the upper byte of an f16 */
        for (unsigned e = 0; e < n; e++)
            out[e] = f16_to_f32((u32)raw[e] << 8);
        break;
    case LIR_MX_E2M3:
        for (unsigned e = 0; e < n; e++)
            out[e] = small_to_f32(raw[e] & 63, 3, 0);
        break;
    case LIR_MX_E3M2:
        for (unsigned e = 0; e < n; e++)
            out[e] = small_to_f32(raw[e] & 63, 2, -2);
        break;
    case LIR_MX_E2M1:
        for (unsigned e = 0; e < n; e++)
            out[e] = small_to_f32(raw[e] >> 2 & 15, 1, 0);
        break;
    case LIR_MX_E2M1_DENSE:
        for (unsigned e = 0; e < n; e++)
            out[e] = small_to_f32(raw[e / 2] >> 4 * (e % 2) & 15, 1, 0);
        break;
    default: /* tf32: the hardware does not look at the low 13 bits */
        for (unsigned e = 0; e < n; e++)
            out[e] = f32_from(word[e] & 0xffffe000u);
    }
}

static void widen_s32(s32 *out, const uint8_t *raw, unsigned n, unsigned format)
{
    switch (format) {
    case LIR_MX_S8:
        for (unsigned e = 0; e < n; e++)
            out[e] = (int8_t)raw[e];
        break;
    case LIR_MX_U8:
        for (unsigned e = 0; e < n; e++)
            out[e] = raw[e];
        break;
    case LIR_MX_S4:
        for (unsigned e = 0; e < n; e++)
            out[e] = ((raw[e / 2] >> 4 * (e % 2) & 15) ^ 8) - 8;
        break;
    default:
        for (unsigned e = 0; e < n; e++)
            out[e] = raw[e / 2] >> 4 * (e % 2) & 15;
    }
}

/* b[k][n] from rows of k elements */
#define TRANSPOSE(out, in, n, k) \
    for (unsigned j_ = 0; j_ < (n); j_++) \
        for (unsigned k_ = 0; k_ < (k); k_++) \
    (out)[k_ * (n) + j_] = (in)[j_ * (k) + k_]

/* fma of eight columns; where there is none, of one after the other: products that are exact have a shorter way. */
#if T0_LEVEL >= 3
#define STEP_FUSED(a, b, sum) ((f32x8)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(sum)))
#else
#define FMA_AT(a, b, sum, e) __builtin_fmaf((a)[e], (b)[e], (sum)[e])
#define STEP_FUSED(a, b, sum) \
    (f32x8) \
    { \
        FMA_AT(a, b, sum, 0), FMA_AT(a, b, sum, 1), FMA_AT(a, b, sum, 2), FMA_AT(a, b, sum, 3), FMA_AT(a, b, sum, 4), \
            FMA_AT(a, b, sum, 5), FMA_AT(a, b, sum, 6), FMA_AT(a, b, sum, 7) \
    }
#endif
#define STEP_TWO(a, b, sum) ((sum) + (a) * (b))

/* sum[m][n] += a[m][k] * b[k][n]: blocks of 8 x 8, eight independent chains of additions. */
#define MULTIPLY(NAME, T, V, STEP) \
    static void NAME(T *sum, const T *a, const T *b, unsigned m, unsigned n, unsigned k) \
    { \
        for (unsigned i = 0; i < m; i += 8) \
            for (unsigned j = 0; j < n; j += 8) { \
                V s[8], line; \
                for (unsigned r = 0; r < 8; r++) \
                    memcpy(&s[r], sum + (i + r) * n + j, sizeof line); \
                for (unsigned kk = 0; kk < k; kk++) { \
                    memcpy(&line, b + kk * n + j, sizeof line); \
                    for (unsigned r = 0; r < 8; r++) { \
                        T v = a[(i + r) * k + kk]; \
                        s[r] = STEP(((V){v, v, v, v, v, v, v, v}), line, s[r]); \
                    } \
                } \
                for (unsigned r = 0; r < 8; r++) \
                    memcpy(sum + (i + r) * n + j, &s[r], sizeof line); \
            } \
    }
MULTIPLY(multiply_f32, f32, f32x8, STEP_TWO)
MULTIPLY(multiply_fused, f32, f32x8, STEP_FUSED)
MULTIPLY(multiply_s32, s32, s32x8, STEP_TWO)

static void multiply_f64(f64 *sum, const f64 *a, const f64 *b, unsigned m, unsigned n, unsigned k)
{
    for (unsigned i = 0; i < m; i++)
        for (unsigned kk = 0; kk < k; kk++)
            for (unsigned j = 0; j < n; j++)
                sum[i * n + j] = fma(a[i * k + kk], b[kk * n + j], sum[i * n + j]);
}

/* ---- a sparse A ---- */

/* Column of every element that a row of A has. */
static void find_columns(struct t0_warp *w, const struct product *p, uint8_t *column)
{
    const struct lir_matrix *x = p->x;
    const struct lir_mx_sparse s = lir_mx_sparse(x);
    const unsigned bits = lir_mx[x->a].bits, first = x->flags >> LIR_MX_SELECTOR_SHIFT & 3;
    const u32 *meta = CROW(u32, p->meta[0]);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned c = 0; c < s.chunks; c++) {
            const unsigned word = bits > 8 ? c / 4 : c / 8 * 2 + row / 8;
            const unsigned shift = bits > 8 ? row / 8 * 16 + c % 4 * 4 : c % 8 * 4;
            const unsigned lane = row % 8 * 4 + ((first * s.words + word) & 3);
            column += lir_mx_kept(bits, c, meta[lane] >> shift, column);
        }
}
/* sum[m][n] += a[m][.] * b[column][n]; what A lacks is not multiplied. */
#define MULTIPLY_SPARSE(NAME, T, STEP) \
    static void NAME(T *sum, const T *a, const uint8_t *column, const T *b, unsigned m, unsigned n, unsigned k) \
    { \
        for (unsigned i = 0; i < m; i++) \
            for (unsigned e = 0; e < k; e++) \
                for (unsigned j = 0; j < n; j++) \
                    sum[i * n + j] = STEP(a[i * k + e], b[column[i * k + e] * n + j], sum[i * n + j]); \
    }
MULTIPLY_SPARSE(sparse_f32, f32, __builtin_fmaf)
MULTIPLY_SPARSE(sparse_s32, s32, STEP_TWO)

/* ---- scales of blocks ---- */

static f32 scale_value(u32 v, bool ue4m3)
{
    if (ue4m3)
        return e4m3_to_f32(v & 0x7f);
    return f32_from(v == 255 ? 0x7fffffff : v ? v << 23 : 0x400000);
}

/* Scales of rows of A, or of columns of B: of each, one after another along k. A quad of lanes has those of row or
 * column g; `thread` says which of its lanes, of A the second of two has row g + 8; `byte` where they begin. */
static void read_scales(struct t0_warp *w, const struct lir_matrix *x, const uint32_t *rows, bool is_a, f32 *out)
{
    const u32 *data = CROW(u32, rows[0]), *byte = CROW(u32, rows[1]), *thread = CROW(u32, rows[2]);
    const unsigned n = lir_mx_scales(x);
    for (unsigned r = 0; r < (is_a ? 16u : 8u); r++) {
        const unsigned t = thread[r % 8 * 4];
        const unsigned lane = r % 8 * 4 + (is_a ? (t & 1) * 2 + r / 8 : t & 3);
        for (unsigned g = 0; g < n; g++)
            *out++ = scale_value(data[lane] >> ((byte[lane] + g) & 3) * 8 & 255, x->flags & LIR_MX_UE4M3);
    }
}

/* Sums of each block are scaled by both and added in order of k; columns of a sparse A, else NULL. */
static void multiply_scaled(struct t0_warp *w, const struct product *p, f32 *sum, const f32 *a, const uint8_t *column,
                            const f32 *b, unsigned ka)
{
    const struct lir_matrix *x = p->x;
    const unsigned n = lir_mx_scales(x), block = x->k / n;
    f32 of_a[16 * 4], of_b[8 * 4];
    const uint32_t *rows = p->meta + !!(x->flags & LIR_MX_SPARSE);
    read_scales(w, x, rows, true, of_a);
    read_scales(w, x, rows + 3, false, of_b);
    for (unsigned i = 0; i < x->m; i++) {
        f32 dot[4][8] = {{0}};
        for (unsigned e = 0; e < ka; e++) {
            const unsigned at = column ? column[i * ka + e] : e;
            for (unsigned j = 0; j < 8; j++)
                dot[at / block][j] += a[i * ka + e] * b[at * 8 + j];
        }
        for (unsigned g = 0; g < n; g++)
            for (unsigned j = 0; j < 8; j++)
                sum[i * 8 + j] += (f32)((f64)dot[g][j] * (f64)of_a[i * n + g] * (f64)of_b[j * n + g]);
    }
}

/* ---- accumulators ---- */

/* Place in a row-major m x n matrix of the first of two neighbours that a lane has in pair r. */
static inline unsigned pair_at(unsigned m, unsigned n, unsigned r, unsigned lane)
{
    struct lir_mx_tile t = lir_mx_tile_c(m, n, r);
    return (t.row * 8 + lane / 4) * n + t.col * 8 + lane % 4 * 2;
}

static void read_f32(struct t0_warp *w, f32 *sum, const struct product *p)
{
    unsigned m = p->x->m, n = p->x->n, pairs = m / 8 * (n / 8);
    for (unsigned r = 0; r < pairs; r++)
        for (unsigned l = 0; l < LIR_LANES; l++) {
            f32 *to = sum + pair_at(m, n, r, l);
            if (p->x->c == LIR_MX_F16) {
                u32 both = CROW(u32, p->c[r])[l];
                to[0] = f16_to_f32(both & 0xffff);
                to[1] = f16_to_f32(both >> 16);
            } else {
                to[0] = CROW(f32, p->c[2 * r])[l];
                to[1] = CROW(f32, p->c[2 * r + 1])[l];
            }
        }
}

static void write_f32(struct t0_warp *w, const f32 *sum, const struct product *p)
{
    unsigned m = p->x->m, n = p->x->n, pairs = m / 8 * (n / 8);
    for (unsigned r = 0; r < pairs; r++) {
        u32 low[LIR_LANES], high[LIR_LANES];
        for (unsigned l = 0; l < LIR_LANES; l++) {
            const f32 *from = sum + pair_at(m, n, r, l);
            low[l] = f32_bits(f32_canon(from[0]));
            high[l] = f32_bits(f32_canon(from[1]));
        }
        if (p->x->d == LIR_MX_F16) {
            u32 *d = ROW(u32, p->d[r]);
            WRITE(u32, d, f32_to_f16(f32_from(low[l])) | f32_to_f16(f32_from(high[l])) << 16);
        } else {
            u32 *d = ROW(u32, p->d[2 * r]), *e = ROW(u32, p->d[2 * r + 1]);
            WRITE(u32, d, low[l]);
            WRITE(u32, e, high[l]);
        }
    }
}

static void by_f32(struct t0_warp *w, const struct product *p)
{
    unsigned m = p->x->m, n = p->x->n, k = p->x->k;
    uint8_t raw[LIR_MX_BYTES] __attribute__((aligned(64)));
    f32 a[LIR_MX_ELEMENTS], bt[LIR_MX_ELEMENTS], b[LIR_MX_ELEMENTS], sum[LIR_MX_SUMS];
    const bool sparse = p->x->flags & LIR_MX_SPARSE;
    const unsigned ka = sparse ? k / 2 : k; /* columns that A has */
    collect(w, raw, p->a, m, ka, p->x->a, true);
    widen_f32(a, raw, m * ka, p->x->a);
    collect(w, raw, p->b, n, k, p->x->b, false);
    widen_f32(bt, raw, n * k, p->x->b);
    TRANSPOSE(b, bt, n, k);
    read_f32(w, sum, p);
    if (sparse)
        find_columns(w, p, raw);
    if (lir_mx_scales(p->x)) {
        multiply_scaled(w, p, sum, a, sparse ? raw : NULL, b, ka);
    } else if (sparse) {
        sparse_f32(sum, a, raw, b, m, n, ka);
    } else {
        (lir_mx_exact(p->x->a) ? multiply_f32 : multiply_fused)(sum, a, b, m, n, k);
    }
    write_f32(w, sum, p);
}

static void by_f64(struct t0_warp *w, const struct product *p)
{
    unsigned m = p->x->m, n = p->x->n, k = p->x->k, pairs = m / 8 * (n / 8);
    enum { MOST = LIR_MX_BYTES / 8 };
    f64 a[MOST], bt[MOST], b[MOST], sum[LIR_MX_SUMS];
    collect(w, (uint8_t *)a, p->a, m, k, LIR_MX_F64, true);
    collect(w, (uint8_t *)bt, p->b, n, k, LIR_MX_F64, false);
    TRANSPOSE(b, bt, n, k);
    for (unsigned r = 0; r < 2 * pairs; r++)
        for (unsigned l = 0; l < LIR_LANES; l++)
            sum[pair_at(m, n, r / 2, l) + r % 2] = CROW(f64, p->c[r])[l];
    unsigned old = t0_round_set(p->x->rnd, a, sum);
    multiply_f64(sum, a, b, m, n, k);
    t0_round_restore(old, b, sum);
    for (unsigned r = 0; r < 2 * pairs; r++) {
        f64 *d = ROW(f64, p->d[r]);
        WRITE_ACTIVE(f64, d, sum[pair_at(m, n, r / 2, l) + r % 2]);
    }
}

/* dot[m][n] is small enough for 32 bits; only its sum with c is not. */
static void add_s32(struct t0_warp *w, const s32 *dot, const struct product *p)
{
    unsigned m = p->x->m, n = p->x->n, pairs = m / 8 * (n / 8);
    bool limit = p->x->flags & LIR_MX_SATFINITE;
    for (unsigned r = 0; r < 2 * pairs; r++) {
        const u32 *c = CROW(u32, p->c[r]);
        u32 *d = ROW(u32, p->d[r]), out[LIR_LANES];
        for (unsigned l = 0; l < LIR_LANES; l++) {
            s64 s = (s64)(s32)c[l] + dot[pair_at(m, n, r / 2, l) + r % 2];
            if (limit)
                s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
            out[l] = (u32)s;
        }
        WRITE(u32, d, out[l]);
    }
}

static void by_int(struct t0_warp *w, const struct product *p)
{
    unsigned m = p->x->m, n = p->x->n, k = p->x->k;
    uint8_t raw[LIR_MX_BYTES] __attribute__((aligned(64)));
    s32 a[LIR_MX_ELEMENTS], bt[LIR_MX_ELEMENTS], b[LIR_MX_ELEMENTS], dot[LIR_MX_SUMS] = {0};
    const bool sparse = p->x->flags & LIR_MX_SPARSE;
    const unsigned ka = sparse ? k / 2 : k; /* columns that A has */
    collect(w, raw, p->a, m, ka, p->x->a, true);
    widen_s32(a, raw, m * ka, p->x->a);
    collect(w, raw, p->b, n, k, p->x->b, false);
    widen_s32(bt, raw, n * k, p->x->b);
    TRANSPOSE(b, bt, n, k);
    if (sparse) {
        find_columns(w, p, raw);
        sparse_s32(dot, a, raw, b, m, n, ka);
    } else {
        multiply_s32(dot, a, b, m, n, k);
    }
    add_s32(w, dot, p);
}

static void by_bit(struct t0_warp *w, const struct product *p)
{
    unsigned m = p->x->m, n = p->x->n, words = p->x->k / 32;
    u32 a[LIR_MX_BYTES / 4], b[LIR_MX_BYTES / 4];
    s32 dot[LIR_MX_SUMS];
    bool both = p->x->flags & LIR_MX_AND;
    collect(w, (uint8_t *)a, p->a, m, p->x->k, LIR_MX_B1, true);
    collect(w, (uint8_t *)b, p->b, n, p->x->k, LIR_MX_B1, false);
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j++) {
            s32 s = 0;
            for (unsigned k = 0; k < words; k++) {
                u32 u = a[i * words + k], v = b[j * words + k];
                s += __builtin_popcount(both ? u & v : u ^ v);
            }
            dot[i * n + j] = s;
        }
    add_s32(w, dot, p);
}

/* ---- mma.m8n8k4.f16 ---- */

/* Four products at once; lanes 4q..4q+3 and 16+4q..16+4q+3 hold the matrices of the q-th. Slot s of
 * 8 is lane s of the first four or of the others. */
static unsigned quad_lane(unsigned q, unsigned s) { return 4 * q + (s & 3) + (s & 4 ? 16 : 0); }
static f32 half_of(struct t0_warp *w, const uint32_t *rows, unsigned lane, unsigned i)
{
    return f16_to_f32(CROW(u32, rows[i / 2])[lane] >> 16 * (i % 2) & 0xffff);
}
/* Where element i of slot s is in C or D: f16 has a row a lane, f32 two rows by two columns. */
static unsigned quad_at(unsigned format, unsigned s, unsigned i)
{
    if (format == LIR_MX_F16)
        return s * 8 + i;
    return ((s & 1) + (i & 2) + (s & 4)) * 8 + (i & 4) + (s & 2) + (i & 1);
}

/* m8n8k4 of f16: four independent products of 8 by 8, each of the lanes of two groups of four (quad_lane), of which
 * each lane holds a row of a and a column of b. Summed in order of k in f32, as all products here are. */
static void quads(struct t0_warp *w, const struct product *p)
{
    f32 sum[4][64], a[32], b[32];
    for (unsigned q = 0; q < 4; q++) {
        for (unsigned s = 0; s < 8; s++) {
            unsigned lane = quad_lane(q, s), half = s & 4;
            for (unsigned i = 0; i < 4; i++) {
                f32 u = half_of(w, p->a, lane, i), v = half_of(w, p->b, lane, i);
                a[p->x->flags & LIR_MX_COL ? (half + i) * 4 + (s & 3) : s * 4 + i] = u;
                b[p->x->flags & LIR_MX_COL_B ? i * 8 + s : (s & 3) * 8 + half + i] = v;
            }
            for (unsigned i = 0; i < 8; i++)
                sum[q][quad_at(p->x->c, s, i)] = p->x->c == LIR_MX_F16 ? half_of(w, p->c, lane, i)
                                                                       : CROW(f32, p->c[i])[lane];
        }
        multiply_f32(sum[q], a, b, 8, 8, 4);
    }
    for (unsigned lane = 0; lane < LIR_LANES; lane++) {
        unsigned q = lane / 4 % 4, s = (lane & 3) + (lane & 16 ? 4 : 0);
        if (!(MASK >> lane & 1))
            continue;
        for (unsigned i = 0; i < 8; i += 2) {
            f32 low = f32_canon(sum[q][quad_at(p->x->d, s, i)]);
            f32 high = f32_canon(sum[q][quad_at(p->x->d, s, i + 1)]);
            if (p->x->d == LIR_MX_F16) {
                ROW(u32, p->d[i / 2])[lane] = f32_to_f16(low) | f32_to_f16(high) << 16;
            } else {
                ROW(f32, p->d[i])[lane] = low;
                ROW(f32, p->d[i + 1])[lane] = high;
            }
        }
    }
}

HANDLER(MMA)
{
    static void (*const by[])(struct t0_warp *, const struct product *) = {by_f32, by_f64, by_int, by_bit};
    const struct lir_image *m = w->block->image;
    const struct lir_matrix *x = LIR_AT(m, matrices, struct lir_matrix) + i->imm;
    struct product p = {.x = x, .d = LIR_AT(m, operands, uint32_t) + x->first};
    p.a = p.d + lir_mx_regs_c(x, x->d);
    p.b = p.a + lir_mx_regs_a(x);
    p.c = p.b + lir_mx_regs_ab(x, x->n, x->b);
    p.meta = p.c + lir_mx_regs_c(x, x->c);
    if (x->flags & LIR_MX_QUADS)
        quads(w, &p);
    else
        by[lir_mx[x->a].product](w, &p);
}
