/* What products of tiles share (wgmma in alu_wgmma.c, tcgen05.mma in alu_tcgen05.c): matrices in shared memory are
 * found by descriptors and widened to f32, in which products of two elements are exact, and multiplied in order of k.
 * Integers stay below 2^24 within an instruction. */
#ifndef CUMU_PTX_TIER0_ALU_TILE_H
#define CUMU_PTX_TIER0_ALU_TILE_H

#include "ptx/lir/matrix.h"
#include "ptx/lir/tensor_map.h"
#include "ptx/tier0/alu.h"
#include "ptx/tier0/tile.h"

typedef f32 f32x8 __attribute__((vector_size(32)));

/* Scratch memory of one product, of the worker: too much for a fibre's stack. */
struct scratch {
    f32 sum[256 * 256], a[256 * 64], b[128 * 256];
    uint8_t raw[256 * 32];
};
_Static_assert(sizeof(struct scratch) <= T0_SCRATCH, "room");

/* sum[m][n] += a[m][k] * b[k][n]; m and n are multiples of 8. */
static inline void multiply(f32 *sum, const f32 *a, const f32 *b, unsigned m, unsigned n, unsigned k)
{
    for (unsigned i = 0; i < m; i += 8)
        for (unsigned j = 0; j < n; j += 8) {
            f32x8 s[8], line;
            for (unsigned r = 0; r < 8; r++)
                memcpy(&s[r], sum + (i + r) * n + j, sizeof line);
            for (unsigned kk = 0; kk < k; kk++) {
                memcpy(&line, b + kk * n + j, sizeof line);
                for (unsigned r = 0; r < 8; r++) {
                    const f32 v = a[(i + r) * k + kk];
                    s[r] += (f32x8){v, v, v, v, v, v, v, v} * line;
                }
            }
            for (unsigned r = 0; r < 8; r++)
                memcpy(sum + (i + r) * n + j, &s[r], sizeof line);
        }
}

/* ---- elements ---- */

static inline f32 small_float(u32 v, unsigned exponent, unsigned fraction)
{
    const u32 all = exponent + fraction, e = v >> fraction & ((1u << exponent) - 1), f = v & ((1u << fraction) - 1);
    const int bias = (1 << (exponent - 1)) - 1;
    const f32 x = e ? ldexpf((f32)((1u << fraction) + f), (int)e - bias - (int)fraction)
                    : ldexpf((f32)f, 1 - bias - (int)fraction);
    return v >> all & 1 ? -x : x;
}

static inline f32 byte_to_f32(unsigned format, u32 v)
{
    switch (format) {
    case LIR_TILE_E4M3: return (v & 0x7f) == 0x7f ? NAN : small_float(v, 4, 3);
    case LIR_TILE_E5M2: return f16_to_f32(v << 8);
    case LIR_TILE_E2M3: return small_float(v & 0x3f, 2, 3);
    case LIR_TILE_E3M2: return small_float(v & 0x3f, 3, 2);
    case LIR_TILE_E2M1:
    case LIR_TILE_E2M1_PACKED: return small_float(v & 15, 2, 1);
    case LIR_TILE_S8: return (f32)(int8_t)v;
    default: return (f32)(v & 255);
    }
}

struct widen { /* how 16 bytes become floats */
    unsigned format, n;
    f32 of[256];
};

static inline void widen_make(struct widen *t, unsigned format)
{
    t->format = format;
    t->n = lir_tile_per_chunk(format);
    if (lir_tile_bits(format) <= 8)
        for (unsigned v = 0; v < 256; v++)
            t->of[v] = byte_to_f32(format, v);
}

static inline void widen_chunk(const struct widen *t, f32 out[32], const uint8_t *p)
{
    u32 word[4];
    switch (t->format) {
    case LIR_TILE_F16:
    case LIR_TILE_BF16: {
        uint16_t h[8];
        memcpy(h, p, 16);
        for (unsigned e = 0; e < 8; e++)
            out[e] = t->format == LIR_TILE_F16 ? f16_to_f32(h[e]) : bf16_to_f32(h[e]);
        break;
    }
    case LIR_TILE_TF32: /* the low 13 bits are not looked at */
        memcpy(word, p, 16);
        for (unsigned e = 0; e < 4; e++)
            out[e] = f32_from(word[e] & 0xffffe000u);
        break;
    case LIR_TILE_E2M1_PACKED:
        for (unsigned e = 0; e < 32; e++)
            out[e] = t->of[p[e / 2] >> 4 * (e % 2) & 15];
        break;
    case LIR_TILE_E2M1: /* 16 elements in 8 bytes, then 8 that are not looked at */
        for (unsigned e = 0; e < 16; e++)
            out[e] = t->of[p[e / 2] >> 4 * (e % 2) & 15];
        break;
    case LIR_TILE_E2M3:
    case LIR_TILE_E3M2: /* 16 elements in 12 bytes, then 4 */
        for (unsigned e = 0; e < 16; e++) {
            const unsigned at = 6 * e;
            const u32 two = p[at / 8] | (u32)p[at / 8 + 1] << 8;
            out[e] = t->of[two >> at % 8 & 0x3f];
        }
        break;
    default:
        for (unsigned e = 0; e < 16; e++)
            out[e] = t->of[p[e]];
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

/* Elements (row, k) to out[row * by_row + k * by_k]. */
static inline void read_matrix(const struct matrix *m, f32 *out, unsigned rows, unsigned k, unsigned by_row,
                               unsigned by_k, unsigned format, bool across)
{
    struct widen t;
    f32 e[32];
    widen_make(&t, format);
    if (!across) {
        for (unsigned r = 0; r < rows; r++)
            for (unsigned c = 0; c < k / t.n; c++) {
                widen_chunk(&t, e, chunk_at(m, along_k(m, r, c)));
                for (unsigned x = 0; x < t.n; x++)
                    out[r * by_row + (c * t.n + x) * by_k] = e[x];
            }
    } else {
        if (rows % t.n)
            refuse(m->w, m->i, "matrix along m or n: rows are no whole 16 bytes");
        for (unsigned kk = 0; kk < k; kk++)
            for (unsigned c = 0; c < rows / t.n; c++) {
                widen_chunk(&t, e, chunk_at(m, across_k(m, c, kk)));
                for (unsigned x = 0; x < t.n; x++)
                    out[(c * t.n + x) * by_row + kk * by_k] = e[x];
            }
    }
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
