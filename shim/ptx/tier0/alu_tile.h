/* What products of tiles share (wgmma in alu_wgmma.c, tcgen05.mma in alu_tcgen05.c): factors, widened by alu_factor.h,
 * are multiplied in order of k. Integers stay below 2^24 within an instruction. */
#ifndef CUMU_PTX_TIER0_ALU_TILE_H
#define CUMU_PTX_TIER0_ALU_TILE_H

#include "ptx/lir/matrix.h"
#include "ptx/tier0/alu_kept.h"

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
    f32 quads[128 * 64];       /* wgmma's A: 64 lanes for each k */
    uint8_t raw[256 * 32];     /* A's chunks; columns of a sparse one */
    uint8_t right[MOST_BYTES]; /* B's */
    struct kept_columns kept;  /* wgmma's */
};
_Static_assert(sizeof(struct scratch) <= T0_SCRATCH, "room");

/* How a product is made of 32 bits of each factor: fma of floats, which where the product is exact may be made in two
 * steps; or two s16 side by side. */
enum step { STEP_EXACT, STEP_FLOAT, STEP_PAIRS };

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
    return (f32xn)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
#elif T0_LEVEL >= 3
    if (how == STEP_PAIRS)
        return (f32xn)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16((__m256i)a, (__m256i)b));
    return (f32xn)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
#else
    if (how == STEP_PAIRS) {
        const u32xn x = (u32xn)a << 16, y = (u32xn)b << 16;
        const s32xn low = ((s32xn)x >> 16) * ((s32xn)y >> 16), high = ((s32xn)a >> 16) * ((s32xn)b >> 16);
        return (f32xn)((u32xn)sum + (u32xn)low + (u32xn)high);
    }
    if (how == STEP_EXACT)
        return sum + a * b;
    for (unsigned e = 0; e < WIDTH; e++)
        sum[e] = __builtin_fmaf(a[e], b[e], sum[e]);
    return sum;
#endif
}

ALWAYS f32xn load(const f32 *p)
{
    f32xn v;
    memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS void store(f32 *p, f32xn v) { memcpy(p, &v, sizeof v); }

/* f32_canon() of each. */
ALWAYS f32xn canon(f32xn v)
{
    const s32xn is_number = v == v;
    return (f32xn)(((s32xn)v & is_number) | (~is_number & 0x7fffffff));
}

/* Sums have names of their own, as compilers keep what is indexed in memory: eight, or sixteen where there are 32
 * registers, as two of these are begun while one takes four. */
#define EACH_SUM(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define EACH_OF_16(DO) EACH_SUM(DO) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
/* All of them over k. FACTORS: what the steps of one kk share. */
#define ADD_UP(EACH) \
    { \
        EACH(LOAD) \
        for (unsigned kk = 0; kk < k; kk++) { \
            FACTORS(EACH) \
            EACH(STEP) \
        } \
        EACH(STORE) \
    }

/* sum[m][n] += a[m][k] * b[k][n]: two vectors of four rows, or one of eight; NaNs are all one. by: sums from row to
 * row. */
#define ROW_OF(x) ((x) / vectors)
#define AT(x) (sum + ROW_OF(x) * by + (x) % vectors * WIDTH)
#define LOAD(x) f32xn s##x = load(AT(x));
#define FACTORS(EACH) const f32xn first = load(b + kk * n), second = vectors == 2 ? load(b + kk * n + WIDTH) : first;
#define STEP(x) s##x = step(how, splat(a[ROW_OF(x) * k + kk]), (x) % vectors ? second : first, s##x);
#define STORE(x) store(AT(x), how == STEP_PAIRS ? s##x : canon(s##x));
ALWAYS void multiply_rows(enum step how, f32 *sum, unsigned by, const f32 *a, const f32 *b, unsigned n, unsigned k,
                          unsigned vectors)
{
    ADD_UP(EACH_SUM);
}
/* Two vectors of eight rows. */
ALWAYS void multiply_eight_rows(enum step how, f32 *sum, unsigned by, const f32 *a, const f32 *b, unsigned n,
                                unsigned k)
{
    enum { vectors = 2 };
#if T0_LEVEL >= 4
    ADD_UP(EACH_OF_16);
#else
    multiply_rows(how, sum, by, a, b, n, k, vectors);
    multiply_rows(how, sum + 4 * by, by, a + 4 * k, b, n, k, vectors);
#endif
}
#undef ROW_OF
#undef AT
#undef LOAD
#undef FACTORS
#undef STEP
#undef STORE

/* The eight columns that wider vectors leave. */
ALWAYS void multiply_eight(enum step how, f32 *sum, unsigned by, const f32 *a, const f32 *b, unsigned n, unsigned k)
{
    for (unsigned r = 0; r < 8; r++)
        for (unsigned kk = 0; kk < k; kk++)
            for (unsigned c = 0; c < 8; c++) {
                f32 *to = &sum[r * by + c];
                const u32 x = f32_bits(a[r * k + kk]), y = f32_bits(b[kk * n + c]);
                if (how == STEP_PAIRS)
                    *to = f32_from(f32_bits(*to) + (u32)((int16_t)x * (int16_t)y) +
                                   (u32)((int16_t)(x >> 16) * (int16_t)(y >> 16)));
                else /* what may be fused is exact */
                    *to = f32_canon(*to + a[r * k + kk] * b[kk * n + c]);
            }
}

ALWAYS void multiply_by(enum step how, f32 *sum, unsigned by, const f32 *a, const f32 *b, unsigned m, unsigned n,
                        unsigned k)
{
    for (unsigned i = 0; i < m; i += 8) {
        unsigned j = 0;
        for (; j + 2 * WIDTH <= n; j += 2 * WIDTH)
            multiply_eight_rows(how, sum + i * by + j, by, a + i * k, b + j, n, k);
        for (; j + WIDTH <= n; j += WIDTH)
            multiply_rows(how, sum + i * by + j, by, a + i * k, b + j, n, k, 1);
        if (j < n)
            multiply_eight(how, sum + i * by + j, by, a + i * k, b + j, n, k);
    }
}

/* m and n are multiples of 8; k counts 32 bits of a factor. */
static inline void multiply(enum step how, f32 *sum, unsigned by, const f32 *a, const f32 *b, unsigned m, unsigned n,
                            unsigned k)
{
    switch (how) {
    case STEP_EXACT: multiply_by(STEP_EXACT, sum, by, a, b, m, n, k); break;
    case STEP_FLOAT: multiply_by(STEP_FLOAT, sum, by, a, b, m, n, k); break;
    case STEP_PAIRS: multiply_by(STEP_PAIRS, sum, by, a, b, m, n, k); break;
    }
}

/* The same for the fragments of a warp's 16 rows, in which every lane has a row and a column of its own:
 * sums[4 * (c / 8) + 2 * half + odd][lane] += the sum over k of
 * A[8 * half + lane / 4][k] * B[k][8 * (c / 8) + 2 * (lane % 4) + odd].
 * quads: of each k, A's column with every row four times; b: of each k, of each eight columns the even ones first. */
ALWAYS void multiply_lanes_by(enum step how, f32 *sums, const f32 *quads, const f32 *b, unsigned n, unsigned k)
{
    /* The sums x of a time: vectors of a register, registers of both halves, groups of four columns, as many as fit. */
    enum { VECTORS = 32 / WIDTH, HALVES = VECTORS < 4 ? 2 : 1, GROUPS = 8 / (VECTORS * HALVES) };
    unsigned c = 0;
#define HALF_OF(x) ((x) / VECTORS % HALVES + half)
#define GROUP_OF(x) ((x) / (VECTORS * HALVES))
#define LANE_OF(x) ((x) % VECTORS * WIDTH)
#define SUM_OF(x) ((c / 4 + GROUP_OF(x)) / 2 * 4 + (c / 4 + GROUP_OF(x)) % 2 + 2 * HALF_OF(x))
#define LOAD(x) f32xn s##x = load(sums + SUM_OF(x) * LIR_LANES + LANE_OF(x));
#define STORE(x) store(sums + SUM_OF(x) * LIR_LANES + LANE_OF(x), how == STEP_PAIRS ? s##x : canon(s##x));
#define STEP(x) s##x = step(how, load(line + HALF_OF(x) * LIR_LANES + LANE_OF(x)), group##x, s##x);
#define GROUP(x) const f32xn group##x = repeat_four(four + 4 * GROUP_OF(x));
#define FACTORS(EACH) \
    const f32 *four = b + kk * n + c, *line = quads + 2 * kk * LIR_LANES; \
    EACH(GROUP)
#if T0_LEVEL >= 4
    for (; c + 16 <= n; c += 16) {
        const unsigned half = 0;
        ADD_UP(EACH_OF_16);
    }
#endif
    for (; c < n; c += 4 * GROUPS)
        for (unsigned half = 0; half < 2; half += HALVES)
            ADD_UP(EACH_SUM);
#undef HALF_OF
#undef GROUP_OF
#undef LANE_OF
#undef SUM_OF
#undef LOAD
#undef GROUP
#undef FACTORS
#undef STEP
#undef STORE
}

static inline void multiply_lanes(enum step how, f32 *sums, const f32 *quads, const f32 *b, unsigned n, unsigned k)
{
    switch (how) {
    case STEP_EXACT: multiply_lanes_by(STEP_EXACT, sums, quads, b, n, k); break;
    case STEP_FLOAT: multiply_lanes_by(STEP_FLOAT, sums, quads, b, n, k); break;
    case STEP_PAIRS: multiply_lanes_by(STEP_PAIRS, sums, quads, b, n, k); break;
    }
}

/* How elements of these formats are multiplied. */
static inline enum step step_of(unsigned format)
{
    return format >= TILE_PAIRS_S8                              ? STEP_PAIRS
           : format == LIR_TILE_BF16 || format == LIR_TILE_TF32 ? STEP_FLOAT /* may be too large or small for f32 */
                                                                : STEP_EXACT;
}

static inline u32 whole_sum(f32 sum, bool is_pairs, s32 old, bool saturate)
{
    s64 v = (is_pairs ? (s64)(s32)f32_bits(sum) : (s64)(s32)sum) + old;
    if (saturate)
        v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
    return (u32)v;
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

/* Whether any is infinite or no number: then a product with the zeros that spread() left would be none, while the
 * hardware multiplies only what a sparse matrix has. */
static inline bool has_special(const f32 *x, unsigned n)
{
    u32 any = 0;
    for (unsigned e = 0; e < n; e++)
        any |= (f32_bits(x[e]) & 0x7f800000u) == 0x7f800000u;
    return any;
}

static inline void negate(f32 *x, unsigned n)
{
    for (unsigned e = 0; e < n; e++)
        x[e] = -x[e];
}

#endif
