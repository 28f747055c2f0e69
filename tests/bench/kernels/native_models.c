/* The C beside the kernels of models, as one who cares writes it for a CPU: vectors where the compiler would not find
 * them, tiles that fit registers and caches, what is the same for many computed once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "bench.h"

#ifdef __AVX512F__
enum { WIDTH = 16 };
#elif defined __AVX__
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif
typedef float vec __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef int ivec __attribute__((vector_size(4 * WIDTH)));
enum { PANEL = 2 * WIDTH }; /* columns of a panel: what a pass of the product below makes of four rows */

/* n halves as floats */
static void widen(float *restrict to, const uint16_t *restrict from, int n)
{
    int i = 0;
#if defined __AVX2__ && defined __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
#endif
    for (; i < n; i++) {
        uint32_t bits = (uint32_t)(from[i] & 0x7fff) << 13;
        float magnitude;
        memcpy(&magnitude, &bits, sizeof bits);
        to[i] = (from[i] >> 15 ? -1.0f : 1.0f) * magnitude * 0x1p112f; /* the exponent's bias; all but infinities */
    }
}

static float *floats(size_t n)
{
    float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);
    if (!p)
        abort();
    return p;
}

/* c[4][PANEL] += or = a[4][k] times a panel of k rows. */
static inline void panel_product(float *c, size_t cstep, const float *a, size_t astep, const float *panel, int k,
                                 bool add)
{
    vec s[4][2];
    for (int r = 0; r < 4; r++)
        for (int h = 0; h < 2; h++)
            s[r][h] = add ? *(vec *)(c + r * cstep + h * WIDTH) : (vec){0};
    for (int i = 0; i < k; i++, panel += PANEL) {
        vec b0 = *(const vec *)panel, b1 = *(const vec *)(panel + WIDTH);
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            float u = a[r * astep + i];
            s[r][0] += u * b0;
            s[r][1] += u * b1;
        }
    }
    for (int r = 0; r < 4; r++)
        for (int h = 0; h < 2; h++)
            *(vec *)(c + r * cstep + h * WIDTH) = s[r][h];
}

void native_mma_f16(float *restrict c, const uint16_t *restrict a, const uint16_t *restrict b, int n)
{
    size_t all = (size_t)n * n;
    float *wide = floats(all), *row = floats((size_t)n), *panels = floats(all);
    widen(wide, a, n * n);
    for (size_t k = 0; k < (size_t)n; k++) {
        widen(row, b + k * n, n);
        for (size_t j = 0; j < (size_t)n; j += PANEL)
            memcpy(panels + j * n + k * PANEL, row + j, PANEL * sizeof *row);
    }
    for (size_t j = 0; j < (size_t)n; j += PANEL)
        for (size_t i = 0; i < (size_t)n; i += 4)
            panel_product(c + i * n + j, (size_t)n, wide + i * n, (size_t)n, panels + j * n, n, false);
    free(wide);
    free(row);
    free(panels);
}

/* Bytes as shorts, so that each product of the dot products is one instruction for two of them. */
void native_mma_s8(int *restrict c, const int8_t *restrict a, const int8_t *restrict b, int n)
{
    size_t all = (size_t)n * n;
    int16_t *wa = (int16_t *)floats(all / 2), *wb = (int16_t *)floats(all / 2);
    for (size_t i = 0; i < all; i++) {
        wa[i] = a[i];
        wb[i] = b[i];
    }
    for (int j = 0; j < n; j += 4)
        for (int i = 0; i < n; i += 2) {
            const int16_t *x = wa + (size_t)i * n, *y = wb + (size_t)j * n;
#ifdef __AVX2__
            __m256i s[2][4] = {{{0}}};
            for (int k = 0; k < n; k += 16)
#pragma GCC unroll 4
                for (int q = 0; q < 4; q++) {
                    __m256i v = _mm256_load_si256((const __m256i *)(y + (size_t)q * n + k));
                    for (int r = 0; r < 2; r++)
                        s[r][q] = _mm256_add_epi32(
                            s[r][q], _mm256_madd_epi16(_mm256_load_si256((const __m256i *)(x + (size_t)r * n + k)), v));
                }
            for (int r = 0; r < 2; r++) { /* four sums of eight numbers each */
                __m256i t = _mm256_hadd_epi32(_mm256_hadd_epi32(s[r][0], s[r][1]), _mm256_hadd_epi32(s[r][2], s[r][3]));
                _mm_storeu_si128((__m128i *)(c + (size_t)(i + r) * n + j),
                                 _mm_add_epi32(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1)));
            }
#else
            for (int r = 0; r < 2; r++)
                for (int q = 0; q < 4; q++) {
                    int sum = 0;
                    for (int k = 0; k < n; k++)
                        sum += x[r * n + k] * y[q * n + k];
                    c[(size_t)(i + r) * n + j + q] = sum;
                }
#endif
        }
    free(wa);
    free(wb);
}

/* Powers of two of what is not positive, to 2e-7: a polynomial on [-1/2, 1/2] and the exponent. */
static inline vec exp2_of(vec x)
{
    ivec small = x < -126.0f;
    x = (vec)(((ivec)x & ~small) | ((ivec)((vec){0} - 126.0f) & small));
    ivec whole = __builtin_convertvector(x - 0.5f, ivec); /* towards zero: rounded, as x is not positive */
    vec f = x - __builtin_convertvector(whole, vec);
    vec p = 1.5403530e-4f * f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    return p * (vec)((whole + 127) << 23);
}

enum { SIZE = 64, KEYS = 64, QUERIES = 32 };

/* Some keys at a time, so that their tiles stay in the first cache; sums are rescaled as the greatest score grows. */
static void attend(float *restrict out, const float *q, const float *key, const float *value, int length)
{
    float s[QUERIES][KEYS] __attribute__((aligned(64))), top[QUERIES], total[QUERIES] = {0};
    memset(out, 0, QUERIES * SIZE * sizeof *out);
    for (int r = 0; r < QUERIES; r++)
        top[r] = -INFINITY;
    for (int j = 0; j < length; j += KEYS, key += KEYS * SIZE, value += KEYS * SIZE) {
        for (int n = 0; n < KEYS; n += PANEL)
            for (int r = 0; r < QUERIES; r += 4)
                panel_product(&s[r][n], KEYS, q + r * SIZE, SIZE, key + n * SIZE, SIZE, false);
        for (int r = 0; r < QUERIES; r++) {
            float now = top[r], part = 0;
#pragma omp simd reduction(max : now)
            for (int n = 0; n < KEYS; n++)
                now = s[r][n] > now ? s[r][n] : now;
            float shrink = exp2f(top[r] - now);
            top[r] = now;
            vec sums = {0};
            for (int n = 0; n < KEYS; n += WIDTH)
                sums += *(vec *)&s[r][n] = exp2_of(*(vec *)&s[r][n] - now);
            for (int n = 0; n < WIDTH; n++)
                part += sums[n];
            total[r] = total[r] * shrink + part;
            for (int d = 0; d < SIZE; d++)
                out[r * SIZE + d] *= shrink;
        }
        for (int d = 0; d < SIZE; d += PANEL)
            for (int r = 0; r < QUERIES; r += 4)
                panel_product(out + r * SIZE + d, SIZE, s[r], KEYS, value + d * KEYS, KEYS, true);
    }
    for (int r = 0; r < QUERIES; r++)
        for (int d = 0; d < SIZE; d++)
            out[r * SIZE + d] /= total[r];
}

void native_attention(float *restrict out, const uint16_t *q, const uint16_t *k, const uint16_t *v, int length,
                      int heads)
{
    size_t all = (size_t)length * SIZE;
    float *key = floats(all), *value = floats(all), *queries = floats(QUERIES * SIZE), *rows = floats(KEYS * SIZE);
    for (int h = 0; h < heads; h++, q += all, k += all, v += all, out += all) {
        for (int j = 0; j < length; j += KEYS) { /* panels of the product: of keys, and of elements of values */
            float *to = key + j * SIZE;
            widen(rows, k + j * SIZE, KEYS * SIZE);
            for (int n = 0; n < KEYS; n += PANEL)
                for (int d = 0; d < SIZE; d++)
                    for (int x = 0; x < PANEL; x++)
                        *to++ = rows[(n + x) * SIZE + d];
            widen(rows, v + j * SIZE, KEYS * SIZE);
            for (int d = 0; d < SIZE; d += PANEL)
                for (int n = 0; n < KEYS; n++)
                    memcpy(value + (size_t)j * SIZE + d * KEYS + n * PANEL, rows + n * SIZE + d, PANEL * sizeof *rows);
        }
        for (int i = 0; i < length; i += QUERIES) {
            widen(queries, q + i * SIZE, QUERIES * SIZE);
            for (int x = 0; x < QUERIES * SIZE; x++)
                queries[x] *= 0.125f * 1.44269504f;
            attend(out + i * SIZE, queries, key, value, length);
        }
    }
    free(key);
    free(value);
    free(queries);
    free(rows);
}

void native_layernorm(float *restrict out, const float *restrict in, const float *restrict gain,
                      const float *restrict bias, int rows, int cols)
{
    for (int r = 0; r < rows; r++, in += cols, out += cols) {
        float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < cols; i++)
            sum += in[i];
        float mean = sum / (float)cols;
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < cols; i++)
            squares += (in[i] - mean) * (in[i] - mean);
        float scale = 1 / sqrtf(squares / (float)cols + 1e-5f);
        for (int i = 0; i < cols; i++)
            out[i] = (in[i] - mean) * scale * gain[i] + bias[i];
    }
}

/* Those kept are sorted; most numbers are smaller than the least of them. */
void native_topk(float *restrict value, int *restrict column, const float *restrict in, int rows)
{
    enum { COLS = 256, K = 8 };
    for (int r = 0; r < rows; r++, in += COLS, value += K, column += K) {
        for (int k = 0; k < K; k++)
            value[k] = -INFINITY;
        for (int i = 0; i < COLS; i++) {
            if (in[i] <= value[K - 1])
                continue;
            int k = K - 1;
            for (; k && in[i] > value[k - 1]; k--) {
                value[k] = value[k - 1];
                column[k] = column[k - 1];
            }
            value[k] = in[i];
            column[k] = i;
        }
    }
}

void native_rope(float *restrict x, const int *position, int tokens, int heads)
{
    enum { HALF = 64 };
    float power[HALF], s[HALF], c[HALF];
    for (int i = 0; i < HALF; i++)
        power[i] = powf(10000.0f, -2.0f * (float)i / (2 * HALF));
    for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < HALF; i++)
            sincosf((float)position[t] * power[i], &s[i], &c[i]);
        for (int h = 0; h < heads; h++, x += 2 * HALF)
            for (int i = 0; i < HALF; i++) {
                float u = x[i], v = x[HALF + i];
                x[i] = u * c[i] - v * s[i];
                x[HALF + i] = u * s[i] + v * c[i];
            }
    }
}

void native_matvec_q4(float *restrict y, const uint8_t *restrict w, const int8_t *restrict x,
                      const float *restrict scale, int rows, int cols)
{
    for (int r = 0; r < rows; r++) {
        float sum = 0;
#if defined __AVX2__ && defined __F16C__
        const __m256i low = _mm256_set1_epi8(15), eight = _mm256_set1_epi8(8), ones = _mm256_set1_epi16(1);
        __m256 sums = _mm256_setzero_ps();
        for (int b = 0; b < cols / 32; b++, w += 18) {
            __m128i raw = _mm_loadu_si128((const __m128i *)(w + 2));
            __m256i u = _mm256_loadu_si256((const __m256i *)(x + 32 * b));
            __m256i v = _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(raw, 4), raw), low);
            v = _mm256_sub_epi8(v, eight); /* at most 8: two products fit 16 bits */
            v = _mm256_maddubs_epi16(_mm256_sign_epi8(v, v), _mm256_sign_epi8(u, v));
            uint16_t half;
            memcpy(&half, w, sizeof half);
            sums = _mm256_fmadd_ps(_mm256_set1_ps(_cvtsh_ss(half) * scale[2 * b]),
                                   _mm256_cvtepi32_ps(_mm256_madd_epi16(v, ones)), sums);
        }
        for (int k = 0; k < 8; k++)
            sum += sums[k];
#else
        for (int b = 0; b < cols / 32; b++, w += 18) {
            int dot = 0;
            float factor;
            for (int k = 0; k < 16; k++)
                dot += ((w[2 + k] & 15) - 8) * x[32 * b + k] + ((w[2 + k] >> 4) - 8) * x[32 * b + 16 + k];
            widen(&factor, (const uint16_t *)w, 1);
            sum += factor * scale[2 * b] * (float)dot;
        }
#endif
        y[r] = sum;
    }
}
