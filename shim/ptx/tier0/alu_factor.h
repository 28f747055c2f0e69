/* Factors of products of tiles: matrices in shared memory are found by descriptors and widened to f32, in which
 * products of two elements are exact, or to pairs of s16. */
#ifndef CUMU_PTX_TIER0_ALU_FACTOR_H
#define CUMU_PTX_TIER0_ALU_FACTOR_H

#include "ptx/lir/tensor_map.h"
#include "ptx/tier0/alu.h"
#include "ptx/tier0/tile.h"

#if T0_LEVEL >= 3
#include <immintrin.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))

/* ---- elements ---- */

/* Bytes that become two s16 of one word, beside the formats of lir/tile.h */
enum { TILE_PAIRS_S8 = 64, TILE_PAIRS_U8 };
static inline unsigned per_chunk(unsigned format) { return format >= TILE_PAIRS_S8 ? 8 : lir_tile_per_chunk(format); }

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

/* Chunks of sixteen bytes to floats, or to pairs. */
static void widen_chunks(unsigned format, f32 *out, const uint8_t *p, unsigned chunks)
{
    uint8_t v[32];
    switch (format) {
    case LIR_TILE_F16:
        for (unsigned c = 0; c < chunks; c++) {
#if T0_LEVEL >= 3
            _mm256_storeu_ps(out + 8 * c,
                             _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * c))));
#else
            uint16_t h[8];
            memcpy(h, p + 16 * c, sizeof h);
            for (unsigned e = 0; e < 8; e++)
                out[8 * c + e] = f16_to_f32(h[e]);
#endif
        }
        break;
    case LIR_TILE_BF16:
        for (unsigned e = 0; e < 8 * chunks; e++) {
            uint16_t h;
            memcpy(&h, p + 2 * e, sizeof h);
            out[e] = bf16_to_f32(h);
        }
        break;
    case LIR_TILE_TF32: /* the low 13 bits are not looked at */
        for (unsigned e = 0; e < 4 * chunks; e++) {
            u32 word;
            memcpy(&word, p + 4 * e, sizeof word);
            out[e] = f32_from(word & 0xffffe000u);
        }
        break;
    case LIR_TILE_E2M1_PACKED:
        for (unsigned c = 0; c < chunks; c++, p += 16, out += 32) {
            for (unsigned e = 0; e < 32; e++)
                v[e] = p[e / 2] >> 4 * (e % 2) & 15;
            widen_bytes(format, out, v, 32);
        }
        break;
    case LIR_TILE_E2M1: /* 16 elements in 8 bytes, then 8 that are not looked at */
        for (unsigned c = 0; c < chunks; c++, p += 16, out += 16) {
            for (unsigned e = 0; e < 16; e++)
                v[e] = p[e / 2] >> 4 * (e % 2) & 15;
            widen_bytes(format, out, v, 16);
        }
        break;
    case LIR_TILE_E2M3:
    case LIR_TILE_E3M2: /* 16 elements in 12 bytes, then 4 */
        for (unsigned c = 0; c < chunks; c++, p += 16, out += 16) {
            for (unsigned e = 0; e < 16; e++) {
                const unsigned at = 6 * e;
                v[e] = (uint8_t)((p[at / 8] | (u32)p[at / 8 + 1] << 8) >> at % 8 & 0x3f);
            }
            widen_bytes(format, out, v, 16);
        }
        break;
    case TILE_PAIRS_S8:
    case TILE_PAIRS_U8: /* without a sign they are s16, too */
        for (unsigned c = 0; c < chunks; c++) {
#if T0_LEVEL >= 3
            const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * c));
            const __m256i pairs = format == TILE_PAIRS_S8 ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
            _mm256_storeu_si256((__m256i *)(void *)(out + 8 * c), pairs);
#else
            uint16_t pair[16];
            for (unsigned e = 0; e < 16; e++)
                pair[e] = (uint16_t)(format == TILE_PAIRS_S8 ? (int8_t)p[16 * c + e] : p[16 * c + e]);
            memcpy(out + 8 * c, pair, sizeof pair);
#endif
        }
        break;
    default: widen_bytes(format, out, p, 16 * chunks);
    }
}

/* ---- matrices in shared memory ---- */

struct matrix {
    struct t0_warp *w;
    const struct lir_insn *i;
    unsigned lane;
    const uint8_t *window; /* of the block's shared memory */
    u32 start, lead, stride, base;
    u32 span, shift, mask; /* bytes that lie together; bits of the address that a swizzle adds to lower ones */
    bool by_four;          /* columns repeat by four, not by eight */
    bool absolute;         /* lead is where a row goes on whose line of 128 bytes ends */
};
/* Most chunks of a line, and bytes of a matrix: 256 columns and 32 that a mask of columns shifts in. */
enum { MOST_CHUNKS = 288 / 4, MOST_BYTES = 288 * 64 };

_Noreturn static inline void refuse(struct t0_warp *w, const struct lir_insn *i, const char *why)
{
    t0_raise_text(w, i, T0_FAULT_INSTRUCTION, (unsigned)__builtin_ctz(MASK), why);
}

static inline struct matrix open_matrix(struct t0_warp *w, const struct lir_insn *i, u64 d, bool blackwell)
{
    static const uint8_t hopper[4] = {LIR_TMAP_PLAIN, LIR_TMAP_128B, LIR_TMAP_64B, LIR_TMAP_32B};
    static const uint8_t later[8] = {
        LIR_TMAP_PLAIN, LIR_TMAP_128B_ATOM_32B, LIR_TMAP_128B, 255, LIR_TMAP_64B, 255, LIR_TMAP_32B, 255};
    const unsigned swizzle = blackwell ? later[d >> 61] : hopper[d >> 62];
    struct matrix m = {.w = w, .i = i, .lane = (unsigned)__builtin_ctz(MASK), .window = w->shared};
    m.start = (u32)(d & 0x3fff) << 4;
    m.lead = (u32)(d >> 16 & 0x3fff) << 4;
    m.stride = (u32)(d >> 32 & 0x3fff) << 4;
    m.base = (u32)(d >> 49 & 7) << 7;
    if (swizzle == 255)
        refuse(w, i, "matrix descriptor: no such swizzle");
    m.absolute = blackwell && d >> 52 & 1;
    m.span = lir_tmap_span(swizzle) ? lir_tmap_span(swizzle) : 16;
    m.by_four = swizzle == LIR_TMAP_128B_ATOM_32B;
    m.shift = m.by_four ? 2 : 3;
    m.mask = m.by_four ? 0x60 : m.span - 16;
    return m;
}

/* Sixteen bytes that would lie `off` behind the start without a swizzle, which follows the address itself. */
static inline const uint8_t *chunk_at(const struct matrix *m, u32 off)
{
    const u32 at = (m->start + off) & 0x3ffff, a = at ^ ((at - m->base) >> m->shift & m->mask);
    if (a + 16 > m->w->shared_size)
        t0_raise(m->w, m->i, T0_FAULT_SHARED, m->lane, a);
    return m->window + a;
}

/* The places that CuTe calls canonical (mma_traits_sm90_gmma.hpp): by rows of 16 bytes along k ... */
static inline u32 along_k(const struct matrix *m, unsigned row, unsigned chunk)
{
    const u32 along = m->start % 128 / 16 + chunk; /* chunk of a line of 128 bytes */
    if (m->absolute && along >= 8)
        return row % 8 * m->span + row / 8 * m->stride + (along - 8) * 16 + m->lead - m->start;
    return row % 8 * m->span + row / 8 * m->stride + chunk * 16 % m->span + chunk * 16 / m->span * m->lead;
}
/* ... or along m or n, where without a swizzle both distances have changed their places. */
static inline u32 across_k(const struct matrix *m, unsigned chunk, unsigned k)
{
    const u32 rows = m->by_four ? 4 : 8, of_chunk = m->span == 16 ? m->stride : m->lead;
    const u32 of_rows = m->span == 16 ? m->lead : m->stride;
    return chunk * 16 % m->span + chunk * 16 / m->span * of_chunk + k % rows * m->span + k / rows * of_rows;
}

/* Lines repeat by eight (or four), a stride further on, which mostly does not change the bits that swizzles look at:
 * the places of the first of them in at[line][chunk], where all are in shared memory. */
enum { MOST_PERIOD = 8 };
struct places {
    u32 at[MOST_PERIOD][MOST_CHUNKS], period, stride;
};
static inline bool find_places(const struct matrix *m, struct places *p, unsigned lines, unsigned chunks, bool across)
{
    u32 most = 0;
    p->period = across && m->by_four ? 4 : 8;
    p->stride = !across ? m->stride : m->span == 16 ? m->lead : m->stride;
    if (m->mask && p->stride % ((m->mask << m->shift) + 128) && lines > p->period)
        return false;
    for (unsigned l = 0; l < p->period && l < lines; l++)
        for (unsigned c = 0; c < chunks; c++) {
            const u32 at = m->start +
                           (across ? across_k(m, 0, l) + across_k(m, c, 0) : along_k(m, l, 0) + along_k(m, 0, c));
            p->at[l][c] = at ^ ((at - m->base) >> m->shift & m->mask);
            most = most < (at | 127) ? at | 127 : most;
        }
    most += (lines - 1) / p->period * p->stride;
    return most < m->w->shared_size && most < 0x40000;
}

typedef u64 bytes16 __attribute__((vector_size(16)));
/* Chunks of the lines of a matrix, which are rows, or with `across` columns, one after another to `raw`. A chunk's
 * place is the sum of what its line and its place in the line say. */
ALWAYS void copy_chunk(uint8_t *raw, const uint8_t *from)
{
    bytes16 v;
    memcpy(&v, from, 16);
    memcpy(raw, &v, 16);
}
static void gather(const struct matrix *m, uint8_t *raw, unsigned lines, unsigned chunks, bool across)
{
    struct places places;
    const uint8_t *from = m->window;
    if (find_places(m, &places, lines, chunks, across)) {
        for (unsigned first = 0; first < lines; first += places.period, from += places.stride)
            for (unsigned l = 0; l < places.period && first + l < lines; l++)
                for (unsigned c = 0; c < chunks; c++, raw += 16)
                    copy_chunk(raw, from + places.at[l][c]);
        return;
    }
    const struct matrix place = *m; /* stays in registers, as `raw` may be anything's bytes */
    u32 of_chunk[MOST_CHUNKS];
    for (unsigned c = 0; c < chunks; c++)
        of_chunk[c] = across ? across_k(m, c, 0) : along_k(m, 0, c);
    for (unsigned l = 0; l < lines; l++) {
        const u32 of_line = across ? across_k(m, 0, l) : along_k(m, l, 0);
        for (unsigned c = 0; c < chunks; c++, raw += 16)
            copy_chunk(raw, chunk_at(&place, of_line + of_chunk[c]));
    }
}

/* What tools hear of such chunks before they are read. */
static inline void tell_chunks(const struct matrix *m, unsigned lines, unsigned chunks, bool across)
{
    for (unsigned l = 0; l < lines; l++)
        for (unsigned c = 0; c < chunks; c++)
            t0_tile_reads(m->w, m->i, m->lane, chunk_at(m, across ? across_k(m, c, l) : along_k(m, l, c)));
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

/* Such chunks to elements: `length` of a line (a multiple of 8), to out[line * by + element], or, with `turn`, to
 * out[element * by + line]. */
static void widen_lines(f32 *out, const uint8_t *raw, unsigned lines, unsigned length, unsigned by, unsigned format,
                        bool turn)
{
    f32 some[8 * 128];
    const unsigned chunks = length / per_chunk(format);
    if (!turn && length == by) {
        widen_chunks(format, out, raw, lines * chunks);
        return;
    }
    for (unsigned first = 0; first < lines; first += 8, raw += 8 * 16 * chunks) {
        const unsigned left = lines - first < 8 ? lines - first : 8;
        for (unsigned l = 0; !turn && l < left; l++)
            widen_chunks(format, out + (first + l) * by, raw + l * 16 * chunks, chunks);
        if (turn)
            widen_chunks(format, some, raw, left * chunks);
        for (unsigned x = 0; turn && left == 8 && x < length; x += 8)
            transpose_eight(out + x * by + first, by, some + x, length);
        for (unsigned l = 0; turn && left < 8 && l < left; l++)
            for (unsigned x = 0; x < length; x++)
                out[x * by + first + l] = some[l * length + x];
    }
}

static inline void check_across(const struct matrix *m, unsigned rows, unsigned format)
{
    if (rows % per_chunk(format))
        refuse(m->w, m->i, "matrix along m or n: rows are no whole 16 bytes");
}
/* The chunks of a factor of rows of k elements. */
static inline void gather_rows(const struct matrix *m, uint8_t *raw, unsigned rows, unsigned k, unsigned format,
                               bool across)
{
    if (across)
        check_across(m, rows, format);
    gather(m, raw, across ? k : rows, (across ? rows : k) / per_chunk(format), across);
}
static inline void tell_rows(const struct matrix *m, unsigned rows, unsigned k, unsigned format, bool across)
{
    if (m->w->block->grid->watch)
        tell_chunks(m, across ? k : rows, (across ? rows : k) / per_chunk(format), across);
}
/* Then elements (row, k) to out[row * k + ..]: a left factor ... */
static inline void widen_left(f32 *out, const uint8_t *raw, unsigned rows, unsigned k, unsigned format, bool across)
{
    widen_lines(out, raw, across ? k : rows, across ? rows : k, k, format, across);
}
/* ... or to out[k * by + row], a right one. */
static inline void widen_right(f32 *out, const uint8_t *raw, unsigned rows, unsigned k, unsigned by, unsigned format,
                               bool across)
{
    widen_lines(out, raw, across ? k : rows, across ? rows : k, by, format, !across);
}

#endif
