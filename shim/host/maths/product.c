/* Products of f16, bf16 and bytes with sums in f32, one product after the other in the order of k: what mma, wgmma and
 * tcgen05 of the CPU give (and NVIDIA's cuBLAS, whose kernels are made of these), to the last bit. BLAS instead sums
 * blocks of k apart, and programs compare their own kernels with cuBLAS's result to less than such a difference.
 *
 * Goto's blocking (Goto, van de Geijn 2008) but for one thing: sums go on from where the block of k before left them.
 * Factors are widened while they are packed. The products of these types are exact in f32, so that fused or not is the
 * same but for bf16's subnormal ones. */
#include "host/maths/product.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "half/half.h"
#include "host/maths/parallel.h"
#include "host/maths/submit.h"
#include "musa_enums.h"
#include "sanitize.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12 && !CUMU_ASAN && !CUMU_TSAN
#pragma GCC optimize("O3", "fp-contract=fast")
#define WIDE __attribute__((target("arch=x86-64-v4")))
#define HALVES __attribute__((target("avx,f16c")))
#define NARROW __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define NARROW
#endif

enum {
    ROWS = 32,    /* of a panel of a: two vectors */
    COLUMNS = 12, /* of a tile of b: 24 vectors of sums at 64 bytes each */
    BLOCK_K = 192,
    BLOCK_M = 8 * ROWS,
    BLOCK_N = 16 * COLUMNS,
    EACH_TURN = 4 /* lines that are transposed at once */
};

/* A tile: `count` columns of ROWS sums, of which the panel has the factors for each k. */
#define TILE(name, bytes, count, target) \
    target static void name(const float *a, const float *b, int k, float *sum) \
    { \
        typedef float vector __attribute__((vector_size(bytes), aligned(4), may_alias)); \
        enum { EACH = bytes / 4, STEP = 2 * EACH }; \
        for (int r = 0; r < ROWS; r += STEP) { \
            vector s[count], t[count]; \
            for (int j = 0; j < count; j++) { \
                s[j] = *(const vector *)(sum + ROWS * j + r); \
                t[j] = *(const vector *)(sum + ROWS * j + r + EACH); \
            } \
            for (int p = 0; p < k; p++) { \
                const vector v = *(const vector *)(a + ROWS * p + r), w = *(const vector *)(a + ROWS * p + r + EACH); \
                for (int j = 0; j < count; j++) { \
                    s[j] += v * b[count * p + j]; \
                    t[j] += w * b[count * p + j]; \
                } \
            } \
            for (int j = 0; j < count; j++) { \
                *(vector *)(sum + ROWS * j + r) = s[j]; \
                *(vector *)(sum + ROWS * j + r + EACH) = t[j]; \
            } \
        } \
    }

typedef void tile_f(const float *a, const float *b, int k, float *sum);
/* Narrow vectors: of the 16 registers 12 hold sums of six columns; twelve are two times six to the caller. */
TILE(tile_6_narrow, 32, 6, NARROW)
TILE(tile_4_narrow, 32, 4, NARROW)
TILE(tile_1_narrow, 32, 1, NARROW)
#ifdef WIDE
TILE(tile_12_wide, 64, 12, WIDE)
TILE(tile_4_wide, 64, 4, WIDE)
TILE(tile_1_wide, 64, 1, WIDE)
#endif

static size_t size_of(int type) { return type == MUSA_R_32F ? 4 : type == MUSA_R_8I ? 1 : 2; }

typedef void widen_f(float *to, const void *from, int type, size_t n);

NARROW static void widen_narrow(float *to, const void *from, int type, size_t n)
{
    const unsigned short *h = from;
    const signed char *b = from;
    if (type == MUSA_R_32F)
        memcpy(to, from, n * sizeof *to);
    else if (type == MUSA_R_16F)
        for (size_t i = 0; i < n; i++)
            to[i] = f16_to_f32(h[i]);
    else if (type == MUSA_R_16BF)
        for (size_t i = 0; i < n; i++)
            to[i] = bf16_to_f32(h[i]);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = b[i];
}

#ifdef HALVES
HALVES static void widen_halves(float *to, const void *from, int type, size_t n)
{
    const unsigned short *h = from;
    size_t i = 0;
    if (type != MUSA_R_16F) {
        widen_narrow(to, from, type, n);
        return;
    }
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(h + i))));
    for (; i < n; i++)
        to[i] = _cvtsh_ss(h[i]);
}
#endif

struct tiles {
    widen_f *widen;
    int columns[3];
    tile_f *tile[3];
};
static const struct tiles narrow_tiles = {widen_narrow, {6, 4, 1}, {tile_6_narrow, tile_4_narrow, tile_1_narrow}};
#ifdef HALVES
static const struct tiles halves_tiles = {widen_halves, {6, 4, 1}, {tile_6_narrow, tile_4_narrow, tile_1_narrow}};
#endif
#ifdef WIDE
static const struct tiles wide_tiles = {widen_halves, {COLUMNS, 4, 1}, {tile_12_wide, tile_4_wide, tile_1_wide}};
#endif

static const struct tiles *choose_tiles(void)
{
#ifdef WIDE
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        return &wide_tiles;
#endif
#ifdef HALVES
    if (__builtin_cpu_supports("f16c"))
        return &halves_tiles;
#endif
    return &narrow_tiles;
}

static int least(int a, int b) { return a < b ? a : b; }

/* `rows` lines of k numbers become k groups of them, `width` apart. */
static void turn(float *to, int width, float (*line)[BLOCK_K], int rows, int k)
{
    int p = 0;
#ifdef __SSE2__
    for (; rows == EACH_TURN && p + 4 <= k; p += 4, to += 4 * width) {
        __m128 a = _mm_loadu_ps(line[0] + p), b = _mm_loadu_ps(line[1] + p);
        __m128 c = _mm_loadu_ps(line[2] + p), d = _mm_loadu_ps(line[3] + p);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps(to, a);
        _mm_storeu_ps(to + width, b);
        _mm_storeu_ps(to + 2 * width, c);
        _mm_storeu_ps(to + 3 * width, d);
    }
#endif
    for (; p < k; p++, to += width)
        for (int i = 0; i < rows; i++)
            to[i] = line[i][p];
}

/* The factors of k from `from` on of `have` rows, `width` of them for each k; those beyond `have` are zeros. */
static void pack(float *to, const struct maths_factor *f, widen_f *widen, int row, int have, int width, int from, int k)
{
    const char *at = f->at;
    size_t size = size_of(f->type);
    float line[EACH_TURN][BLOCK_K];
    if (have < width)
        memset(to, 0, sizeof *to * (size_t)width * (size_t)k);
    if (!f->contiguous) {
        for (int p = 0; p < k; p++)
            widen(to + width * p, at + size * ((size_t)(from + p) * f->lead + (size_t)row), f->type, (size_t)have);
        return;
    }
    for (int i = 0; i < have; i += EACH_TURN) {
        const int rows = least(have - i, EACH_TURN);
        for (int j = 0; j < rows; j++)
            widen(line[j], at + size * ((size_t)(row + i + j) * f->lead + (size_t)from), f->type, (size_t)k);
        turn(to + i, width, line, rows, k);
    }
}

struct product {
    const struct maths_factor *a, *b;
    const struct tiles *tiles;
    int m, n, k, parts_m;
    float *sum;
    atomic_bool failed;
};

/* Columns of the tile that begins at j, by the largest that fit: `t` is the last tile's, 0 at first. */
static int next_tile(const struct product *p, int columns, int j, int *t)
{
    while (columns - j < p->tiles->columns[*t])
        ++*t;
    return p->tiles->columns[*t];
}

static void pack_tiles(const struct product *p, float *to, int column, int columns, int from, int k)
{
    for (int j = 0, t = 0, count; j < columns; j += count) {
        count = next_tile(p, columns, j, &t);
        pack(to + j * k, p->b, p->tiles->widen, column + j, count, count, from, k);
    }
}

/* BLOCK_M rows by BLOCK_N columns of the result, summed in memory of its own: each panel's sums lie together, as those
 * of the result would share few lines of the first cache. */
static void multiply_part(void *job, unsigned i)
{
    struct product *p = job;
    int row = (int)i % p->parts_m * BLOCK_M, column = (int)i / p->parts_m * BLOCK_N;
    int rows = least(BLOCK_M, p->m - row), columns = least(BLOCK_N, p->n - column);
    float *a = maths_alloc(sizeof(float) * (BLOCK_K * (ROWS + BLOCK_N) + BLOCK_M * BLOCK_N));
    float *b = a + BLOCK_K * ROWS, *sum = b + BLOCK_K * BLOCK_N;
    if (!a) {
        p->failed = true;
        return;
    }
    memset(sum, 0, sizeof *sum * (size_t)columns * (size_t)((rows + ROWS - 1) / ROWS * ROWS));
    for (int from = 0; from < p->k; from += BLOCK_K) {
        int k = least(BLOCK_K, p->k - from);
        pack_tiles(p, b, column, columns, from, k);
        for (int r = 0; r < rows; r += ROWS) {
            pack(a, p->a, p->tiles->widen, row + r, least(ROWS, rows - r), ROWS, from, k);
            for (int j = 0, t = 0, count; j < columns; j += count) {
                count = next_tile(p, columns, j, &t);
                p->tiles->tile[t](a, b + j * k, k, sum + r * columns + j * ROWS);
            }
        }
    }
    for (int j = 0; j < columns; j++)
        for (int r = 0; r < rows; r += ROWS)
            memcpy(p->sum + (size_t)(column + j) * (size_t)p->m + (size_t)(row + r), sum + r * columns + j * ROWS,
                   sizeof *sum * (size_t)least(ROWS, rows - r));
    free(a);
}

bool maths_product(const struct maths_factor *a, const struct maths_factor *b, int m, int n, int k, float *sum)
{
    struct product p = {a, b, choose_tiles(), m, n, k, 0, sum, false};
    if (m == 1) { /* a vector: the same memory transposed, and no panel of one row */
        p.a = b, p.b = a;
        p.m = n, p.n = 1;
    }
    if (m < 1 || n < 1)
        return true;
    p.parts_m = (p.m + BLOCK_M - 1) / BLOCK_M;
    maths_parallel((unsigned)p.parts_m * (unsigned)((p.n + BLOCK_N - 1) / BLOCK_N), multiply_part, &p);
    return !p.failed;
}
