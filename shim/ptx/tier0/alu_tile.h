/* What products of tiles share (wgmma in alu_wgmma.c, tcgen05.mma in alu_tcgen05.c): matrices in shared memory are
 * found by descriptors and widened to f32, in which products of two elements are exact, and multiplied in order of k.
 * Integers stay below 2^24 within an instruction. */
#ifndef CUMU_PTX_TIER0_ALU_TILE_H
#define CUMU_PTX_TIER0_ALU_TILE_H

#include "ptx/lir/matrix.h"
#include "ptx/lir/tensor_map.h"
#include "ptx/tier0/alu.h"
#include "ptx/tier0/tile.h"

#if T0_LEVEL >= 3
#include <immintrin.h>
#endif

/* What the level has at once, and how many of them. */
#if T0_LEVEL >= 4
enum { WIDTH = 16 };
#elif T0_LEVEL >= 3
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif
typedef f32 f32xn __attribute__((vector_size(4 * WIDTH)));
typedef s32 s32xn __attribute__((vector_size(4 * WIDTH)));
typedef u32 u32xn __attribute__((vector_size(4 * WIDTH)));

/* Scratch memory of one product, of the worker: too much for a fibre's stack. */
struct scratch {
    f32 sum[256 * 256], a[256 * 64], b[128 * 256];
    f32 quads[128 * 64]; /* wgmma's A: 64 lanes for each k */
    uint8_t raw[256 * 32];
};
_Static_assert(sizeof(struct scratch) <= T0_SCRATCH, "room");

/* How a product is made of 32 bits of each factor: floats, whose product is exact, so that it may be fused with the
 * sum, or may not be; or two s16 side by side. */
enum step { STEP_EXACT, STEP_FLOAT, STEP_PAIRS };

#define ALWAYS static inline __attribute__((always_inline))

/* Bits stay what they are: no arithmetic on what may be two s16. */
ALWAYS f32xn splat(f32 x)
{
#if T0_LEVEL >= 4
    return (f32xn)_mm512_set1_ps(x);
#elif T0_LEVEL >= 3
    return (f32xn)_mm256_set1_ps(x);
#else
    return (f32xn){x, x, x, x};
#endif
}

/* Four values again and again. */
ALWAYS f32xn repeat_four(const f32 *p)
{
#if T0_LEVEL >= 4
    return (f32xn)_mm512_broadcast_f32x4(_mm_loadu_ps(p));
#elif T0_LEVEL >= 3
    return (f32xn)_mm256_broadcast_ps((const __m128 *)(const void *)p);
#else
    return (f32xn){p[0], p[1], p[2], p[3]};
#endif
}

ALWAYS f32xn step(enum step how, f32xn a, f32xn b, f32xn sum)
{
#if T0_LEVEL >= 4
    if (how == STEP_PAIRS)
        return (f32xn)_mm512_add_epi32((__m512i)sum, _mm512_madd_epi16((__m512i)a, (__m512i)b));
    if (how == STEP_EXACT)
        return (f32xn)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
#elif T0_LEVEL >= 3
    if (how == STEP_PAIRS)
        return (f32xn)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16((__m256i)a, (__m256i)b));
    if (how == STEP_EXACT)
        return (f32xn)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
#else
    if (how == STEP_PAIRS) {
        const u32xn x = (u32xn)a << 16, y = (u32xn)b << 16;
        const s32xn low = ((s32xn)x >> 16) * ((s32xn)y >> 16), high = ((s32xn)a >> 16) * ((s32xn)b >> 16);
        return (f32xn)((u32xn)sum + (u32xn)low + (u32xn)high);
    }
#endif
    return sum + a * b;
}

ALWAYS f32xn load(const f32 *p)
{
    f32xn v;
    memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS void store(f32 *p, f32xn v) { memcpy(p, &v, sizeof v); }

/* Eight sums have names of their own, as compilers keep what is indexed in memory. */
#define EACH_SUM(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)

/* sum[m][n] += a[m][k] * b[k][n]: two vectors of four rows, or one of eight. */
ALWAYS void multiply_rows(enum step how, f32 *sum, const f32 *a, const f32 *b, unsigned n, unsigned k, unsigned vectors)
{
#define ROW_OF(x) ((x) / vectors)
#define AT(x) (sum + ROW_OF(x) * n + (x) % vectors * WIDTH)
#define LOAD(x) f32xn s##x = load(AT(x));
#define STEP(x) s##x = step(how, splat(a[ROW_OF(x) * k + kk]), (x) % vectors ? second : first, s##x);
#define STORE(x) store(AT(x), s##x);
    EACH_SUM(LOAD)
    for (unsigned kk = 0; kk < k; kk++) {
        const f32xn first = load(b + kk * n), second = vectors == 2 ? load(b + kk * n + WIDTH) : first;
        EACH_SUM(STEP)
    }
    EACH_SUM(STORE)
#undef ROW_OF
#undef AT
#undef STEP
}

/* The eight columns that wider vectors leave. */
ALWAYS void multiply_eight(enum step how, f32 *sum, const f32 *a, const f32 *b, unsigned n, unsigned k)
{
    for (unsigned r = 0; r < 8; r++)
        for (unsigned kk = 0; kk < k; kk++)
            for (unsigned c = 0; c < 8; c++) {
                f32 *to = &sum[r * n + c];
                const u32 x = f32_bits(a[r * k + kk]), y = f32_bits(b[kk * n + c]);
                if (how == STEP_PAIRS)
                    *to = f32_from(f32_bits(*to) + (u32)((int16_t)x * (int16_t)y) +
                                   (u32)((int16_t)(x >> 16) * (int16_t)(y >> 16)));
                else /* what may be fused is exact */
                    *to += a[r * k + kk] * b[kk * n + c];
            }
}

ALWAYS void multiply_by(enum step how, f32 *sum, const f32 *a, const f32 *b, unsigned m, unsigned n, unsigned k)
{
    for (unsigned i = 0; i < m; i += 8) {
        unsigned j = 0;
        for (; j + 2 * WIDTH <= n; j += 2 * WIDTH) {
            multiply_rows(how, sum + i * n + j, a + i * k, b + j, n, k, 2);
            multiply_rows(how, sum + (i + 4) * n + j, a + (i + 4) * k, b + j, n, k, 2);
        }
        for (; j + WIDTH <= n; j += WIDTH)
            multiply_rows(how, sum + i * n + j, a + i * k, b + j, n, k, 1);
        if (j < n)
            multiply_eight(how, sum + i * n + j, a + i * k, b + j, n, k);
    }
}

/* m and n are multiples of 8; k counts 32 bits of a factor. */
static inline void multiply(enum step how, f32 *sum, const f32 *a, const f32 *b, unsigned m, unsigned n, unsigned k)
{
    switch (how) {
    case STEP_EXACT: multiply_by(STEP_EXACT, sum, a, b, m, n, k); break;
    case STEP_FLOAT: multiply_by(STEP_FLOAT, sum, a, b, m, n, k); break;
    case STEP_PAIRS: multiply_by(STEP_PAIRS, sum, a, b, m, n, k); break;
    }
}

/* The same for the fragments of a warp's 16 rows, in which every lane has a row and a column of its own:
 * sum[4 * (c / 8) + 2 * half + odd][lane] += A[8 * half + lane / 4][k] * B[k][8 * (c / 8) + 2 * (lane % 4) + odd].
 * quads: of each k, A's column with every row four times; b: of each k, of each eight columns the even ones first. */
ALWAYS void multiply_lanes_by(enum step how, f32 *sum, const f32 *quads, const f32 *b, unsigned n, unsigned k)
{
    /* The sums x of a time: vectors of a register, registers of both halves, groups of four columns, as many as fit. */
    enum { VECTORS = 32 / WIDTH, HALVES = VECTORS < 8 ? 2 : 1, GROUPS = 8 / (VECTORS * HALVES) };
#define HALF_OF(x) ((x) / VECTORS % HALVES + half)
#define GROUP_OF(x) ((x) / (VECTORS * HALVES))
#define LANE_OF(x) ((x) % VECTORS * WIDTH)
#define AT(x) (sum + (c / 8 * 4 + (c / 4 + GROUP_OF(x)) % 2 + 2 * HALF_OF(x)) * LIR_LANES + LANE_OF(x))
#define STEP(x) s##x = step(how, load(line + HALF_OF(x) * LIR_LANES + LANE_OF(x)), GROUP_OF(x) ? second : first, s##x);
    for (unsigned c = 0; c < n; c += 4 * GROUPS)
        for (unsigned half = 0; half < 2; half += HALVES) {
            EACH_SUM(LOAD)
            for (unsigned kk = 0; kk < k; kk++) {
                const f32 *four = b + kk * n + c, *line = quads + 2 * kk * LIR_LANES;
                const f32xn first = repeat_four(four), second = GROUPS == 2 ? repeat_four(four + 4) : first;
                EACH_SUM(STEP)
            }
            EACH_SUM(STORE)
        }
#undef HALF_OF
#undef GROUP_OF
#undef LANE_OF
#undef AT
#undef LOAD
#undef STEP
#undef STORE
}

static inline void multiply_lanes(enum step how, f32 *sum, const f32 *quads, const f32 *b, unsigned n, unsigned k)
{
    switch (how) {
    case STEP_EXACT: multiply_lanes_by(STEP_EXACT, sum, quads, b, n, k); break;
    case STEP_FLOAT: multiply_lanes_by(STEP_FLOAT, sum, quads, b, n, k); break;
    case STEP_PAIRS: multiply_lanes_by(STEP_PAIRS, sum, quads, b, n, k); break;
    }
}

/* ---- elements ---- */

/* Bytes that become two s16 of one word, beside the formats of lir/tile.h */
enum { TILE_PAIRS_S8 = 64, TILE_PAIRS_U8 };
static inline unsigned per_chunk(unsigned format) { return format >= TILE_PAIRS_S8 ? 8 : lir_tile_per_chunk(format); }

/* How elements of these formats are multiplied. */
static inline enum step step_of(unsigned format)
{
    return format >= TILE_PAIRS_S8                              ? STEP_PAIRS
           : format == LIR_TILE_BF16 || format == LIR_TILE_TF32 ? STEP_FLOAT /* may be too large or small for f32 */
                                                                : STEP_EXACT;
}

/* All finite, with a sign above exponent and fraction. */
ALWAYS f32 small_float(u32 v, unsigned exponent, unsigned fraction)
{
    const u32 rest = v & ((1u << (exponent + fraction)) - 1), bias = (1u << (exponent - 1)) - 1;
    const u32 normal = (rest << (23 - fraction)) + ((127 - bias) << 23);
    const u32 sub = f32_bits((f32)(s32)rest * f32_from((128 - bias - fraction) << 23)); /* 2^(1 - bias - fraction) */
    return f32_from((rest >> fraction ? normal : sub) | v >> (exponent + fraction) << 31);
}

/* Values below 256 to floats; loops that become vectors. */
static inline void widen_bytes(unsigned format, f32 *out, const uint8_t *v, unsigned n)
{
#define EACH(expr) \
    for (unsigned e = 0; e < n; e++) \
        out[e] = expr; \
    break
    switch (format) {
    case LIR_TILE_E4M3: EACH(e4m3_to_f32(v[e]));
    case LIR_TILE_E5M2: EACH(e5m2_to_f32(v[e]));
    case LIR_TILE_E2M3: EACH(small_float(v[e], 2, 3));
    case LIR_TILE_E3M2: EACH(small_float(v[e], 3, 2));
    case LIR_TILE_E2M1:
    case LIR_TILE_E2M1_PACKED: EACH(small_float(v[e], 2, 1));
    case LIR_TILE_S8: EACH((f32)(int8_t)v[e]);
    default: EACH((f32)v[e]);
    }
#undef EACH
}

/* Sixteen bytes to floats, or to pairs. */
static inline void widen_chunk(unsigned format, f32 out[32], const uint8_t *p)
{
    uint8_t v[32];
    u32 word[4];
    switch (format) {
    case LIR_TILE_F16:
    case LIR_TILE_BF16: {
        uint16_t h[8];
        memcpy(h, p, 16);
#if T0_LEVEL >= 3
        if (format == LIR_TILE_F16) {
            _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)));
            break;
        }
#endif
        for (unsigned e = 0; e < 8; e++)
            out[e] = format == LIR_TILE_F16 ? f16_to_f32(h[e]) : bf16_to_f32(h[e]);
        break;
    }
    case LIR_TILE_TF32: /* the low 13 bits are not looked at */
        memcpy(word, p, 16);
        for (unsigned e = 0; e < 4; e++)
            out[e] = f32_from(word[e] & 0xffffe000u);
        break;
    case LIR_TILE_E2M1_PACKED:
        for (unsigned e = 0; e < 32; e++)
            v[e] = p[e / 2] >> 4 * (e % 2) & 15;
        widen_bytes(format, out, v, 32);
        break;
    case LIR_TILE_E2M1: /* 16 elements in 8 bytes, then 8 that are not looked at */
        for (unsigned e = 0; e < 16; e++)
            v[e] = p[e / 2] >> 4 * (e % 2) & 15;
        widen_bytes(format, out, v, 16);
        break;
    case LIR_TILE_E2M3:
    case LIR_TILE_E3M2: /* 16 elements in 12 bytes, then 4 */
        for (unsigned e = 0; e < 16; e++) {
            const unsigned at = 6 * e;
            v[e] = (uint8_t)((p[at / 8] | (u32)p[at / 8 + 1] << 8) >> at % 8 & 0x3f);
        }
        widen_bytes(format, out, v, 16);
        break;
    case TILE_PAIRS_S8:
    case TILE_PAIRS_U8: {
        uint16_t pair[16];
        for (unsigned e = 0; e < 16; e++)
            pair[e] = (uint16_t)(format == TILE_PAIRS_S8 ? (int8_t)p[e] : p[e]);
        memcpy(out, pair, sizeof pair);
        break;
    }
    default: widen_bytes(format, out, p, 16);
    }
}

/* ---- matrices in shared memory ---- */

struct matrix {
    struct t0_warp *w;
    const struct lir_insn *i;
    unsigned lane;
    const uint8_t *window; /* of the block's shared memory */
    u32 start, lead, stride, base;
    unsigned swizzle;
};

_Noreturn static inline void refuse(struct t0_warp *w, const struct lir_insn *i, const char *why)
{
    t0_raise_text(w, i, T0_FAULT_INSTRUCTION, (unsigned)__builtin_ctz(MASK), why);
}

static inline struct matrix open_matrix(struct t0_warp *w, const struct lir_insn *i, u64 d, bool blackwell)
{
    static const uint8_t hopper[4] = {LIR_TMAP_PLAIN, LIR_TMAP_128B, LIR_TMAP_64B, LIR_TMAP_32B};
    static const uint8_t later[8] = {
        LIR_TMAP_PLAIN, LIR_TMAP_128B_ATOM_32B, LIR_TMAP_128B, 255, LIR_TMAP_64B, 255, LIR_TMAP_32B, 255};
    struct matrix m = {.w = w, .i = i, .lane = (unsigned)__builtin_ctz(MASK), .window = w->shared};
    m.start = (u32)(d & 0x3fff) << 4;
    m.lead = (u32)(d >> 16 & 0x3fff) << 4;
    m.stride = (u32)(d >> 32 & 0x3fff) << 4;
    m.base = (u32)(d >> 49 & 7) << 7;
    m.swizzle = blackwell ? later[d >> 61] : hopper[d >> 62];
    if (m.swizzle == 255)
        refuse(w, i, "matrix descriptor: no such swizzle");
    if (blackwell && d >> 52 & 1)
        refuse(w, i, "matrix descriptor: absolute leading dimension is not supported");
    return m;
}

/* Sixteen bytes that would lie `off` behind the start without a swizzle, which follows the address itself. */
static inline const uint8_t *chunk_at(const struct matrix *m, u32 off)
{
    const u32 at = (m->start + off) & 0x3ffff, phase = at - m->base;
    const u32 a = at ^ lir_tmap_swizzled(m->swizzle, phase) ^ phase;
    if (a + 16 > m->w->shared_size)
        t0_raise(m->w, m->i, T0_FAULT_SHARED, m->lane, a);
    return m->window + a;
}

/* The places that CuTe calls canonical (mma_traits_sm90_gmma.hpp): by rows of 16 bytes along k ... */
static inline u32 along_k(const struct matrix *m, unsigned row, unsigned chunk)
{
    const u32 span = lir_tmap_span(m->swizzle);
    if (!span)
        return row % 8 * 16 + row / 8 * m->stride + chunk * m->lead;
    return row % 8 * span + row / 8 * m->stride + chunk * 16 % span + chunk * 16 / span * m->lead;
}
/* ... or along m or n. */
static inline u32 across_k(const struct matrix *m, unsigned chunk, unsigned k)
{
    const u32 span = lir_tmap_span(m->swizzle), rows = m->swizzle == LIR_TMAP_128B_ATOM_32B ? 4 : 8;
    if (!span)
        return chunk * m->stride + k % 8 * 16 + k / 8 * m->lead;
    return chunk * 16 % span + chunk * 16 / span * m->lead + k % rows * span + k / rows * m->stride;
}

/* Eight lines of eight to columns. */
static inline void transpose_eight(f32 *out, unsigned by, const f32 *in, unsigned line)
{
#if T0_LEVEL >= 3
    __m256 r[8], t[8];
    for (unsigned e = 0; e < 8; e++)
        r[e] = _mm256_loadu_ps(in + e * line);
    for (unsigned e = 0; e < 8; e += 2) {
        t[e] = _mm256_unpacklo_ps(r[e], r[e + 1]);
        t[e + 1] = _mm256_unpackhi_ps(r[e], r[e + 1]);
    }
    for (unsigned e = 0; e < 8; e += 4)
        for (unsigned h = 0; h < 2; h++) {
            r[e + 2 * h] = _mm256_shuffle_ps(t[e + h], t[e + 2 + h], 0x44);
            r[e + 2 * h + 1] = _mm256_shuffle_ps(t[e + h], t[e + 2 + h], 0xee);
        }
    for (unsigned e = 0; e < 4; e++) {
        _mm256_storeu_ps(out + e * by, _mm256_permute2f128_ps(r[e], r[e + 4], 0x20));
        _mm256_storeu_ps(out + (e + 4) * by, _mm256_permute2f128_ps(r[e], r[e + 4], 0x31));
    }
#else
    for (unsigned x = 0; x < 8; x++)
        for (unsigned e = 0; e < 8; e++)
            out[x * by + e] = in[e * line + x];
#endif
}

/* The lines of a matrix, which are rows, or with `across` columns, of `length` elements (multiples of 8), to
 * out[line * by + element], or, with `turn`, to out[element * by + line]. */
static inline void read_lines(const struct matrix *m, f32 *out, unsigned lines, unsigned length, unsigned by,
                              unsigned format, bool across, bool turn)
{
    f32 some[8][288], *to;
    const unsigned per = per_chunk(format);
    for (unsigned first = 0; first < lines; first += 8) {
        const unsigned left = lines - first < 8 ? lines - first : 8;
        for (unsigned l = 0; l < left; l++) {
            to = turn ? some[l] : out + (first + l) * by;
            for (unsigned c = 0; c < length / per; c++)
                widen_chunk(format, to + c * per,
                            chunk_at(m, across ? across_k(m, c, first + l) : along_k(m, first + l, c)));
        }
        for (unsigned x = 0; turn && left == 8 && x < length; x += 8)
            transpose_eight(out + x * by + first, by, &some[0][x], sizeof some[0] / sizeof some[0][0]);
        for (unsigned l = 0; turn && left < 8 && l < left; l++)
            for (unsigned x = 0; x < length; x++)
                out[x * by + first + l] = some[l][x];
    }
}

static inline void check_across(const struct matrix *m, unsigned rows, unsigned format)
{
    if (rows % per_chunk(format))
        refuse(m->w, m->i, "matrix along m or n: rows are no whole 16 bytes");
}

/* Elements (row, k) to out[row * k + ..]: a left factor ... */
static inline void read_left(const struct matrix *m, f32 *out, unsigned rows, unsigned k, unsigned format, bool across)
{
    if (across)
        check_across(m, rows, format);
    read_lines(m, out, across ? k : rows, across ? rows : k, k, format, across, across);
}
/* ... or to out[k * by + row], a right one. */
static inline void read_right(const struct matrix *m, f32 *out, unsigned rows, unsigned k, unsigned by, unsigned format,
                              bool across)
{
    if (across)
        check_across(m, rows, format);
    read_lines(m, out, across ? k : rows, across ? rows : k, by, format, across, !across);
}

/* Rows of a sparse matrix: what is stored of each, k / 2 elements, goes to its columns, where the others are 0. */
static inline void spread(f32 *a, const uint8_t *column, unsigned rows, unsigned k)
{
    const unsigned stored = k / 2;
    for (unsigned r = rows; r-- > 0;) {
        f32 whole[128] = {0};
        for (unsigned e = 0; e < stored; e++)
            whole[column[r * stored + e] & 127] = a[r * stored + e];
        memcpy(a + r * k, whole, k * sizeof *a);
    }
}

static inline void negate(f32 *x, unsigned n)
{
    for (unsigned e = 0; e < n; e++)
        x[e] = -x[e];
}

#endif
