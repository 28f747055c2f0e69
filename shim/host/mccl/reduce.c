/* The arithmetic of reductions: loops for the vectoriser, compiled once per CPU level. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "half/half.h"
#include "host/mccl/reduce.h"

/* A destination may be a source at the same index, which a vector loop handles: it reads before it
 * writes. */
#if defined __clang__
#define LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define LOOP _Pragma("GCC ivdep")
#endif

#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

#define PAIR(name, type, wide, what) \
    static void name(void *out, const void *x, const void *y, size_t n) \
    { \
        type *o = out; \
        const type *a = x, *b = y; \
        LOOP for (size_t i = 0; i < n; i++) o[i] = (type)what((wide)a[i], (wide)b[i]); \
    }
#define MUL(name, type, wide) \
    static void name(void *out, const void *x, const void *factor, size_t n) \
    { \
        type *o = out, f; \
        const type *a = x; \
        memcpy(&f, factor, sizeof f); \
        LOOP for (size_t i = 0; i < n; i++) o[i] = (type)((wide)a[i] * (wide)f); \
    }
#define DIV(name, type) \
    static void name(void *out, const void *x, int parts, size_t n) \
    { \
        type *o = out; \
        const type *a = x; \
        const type d = (type)parts; \
        LOOP for (size_t i = 0; i < n; i++) o[i] = (type)(a[i] / d); \
    }
/* Sums and products of integers wrap: computed unsigned. */
#define TYPE(t, type, wide) \
    PAIR(sum_##t, type, wide, SUM) \
    PAIR(prod_##t, type, wide, PROD) \
    PAIR(max_##t, type, type, MAX) \
    PAIR(min_##t, type, type, MIN) \
    MUL(mul_##t, type, wide) \
    DIV(div_##t, type)
TYPE(i8, int8_t, unsigned)
TYPE(u8, uint8_t, unsigned)
TYPE(i32, int32_t, uint32_t)
TYPE(u32, uint32_t, uint32_t)
TYPE(i64, int64_t, uint64_t)
TYPE(u64, uint64_t, uint64_t)
TYPE(f32, float, float)
TYPE(f64, double, double)

/* ---- halves ---------------------------------------------------------------------------------- */

#if defined __F16C__
#include <immintrin.h>
static void widen_f16(float *o, const uint16_t *a, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(o + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(a + i))));
    for (; i < n; i++)
        o[i] = f16_to_f32(a[i]);
}
static void narrow_f16(uint16_t *o, const float *a, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        /* The instruction keeps what a NaN carries: here and in the rest below all become one. */
        __m256 v = _mm256_loadu_ps(a + i);
        __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
        __m128i narrow = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extractf128_si256(nan, 1));
        _mm_storeu_si128((void *)(o + i), _mm_blendv_epi8(_mm256_cvtps_ph(v, 0), _mm_set1_epi16(0x7fff), narrow));
    }
    for (; i < n; i++)
        o[i] = f32_to_f16(a[i]);
}
#else
static void widen_f16(float *o, const uint16_t *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o[i] = f16_to_f32(a[i]);
}
static void narrow_f16(uint16_t *o, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o[i] = f32_to_f16(a[i]);
}
#endif

static void widen_bf16(float *o, const uint16_t *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o[i] = bf16_to_f32(a[i]);
}

static void narrow_bf16(uint16_t *o, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o[i] = f32_to_bf16(a[i]);
}

#define ROW(t) \
    { \
        sum_##t, prod_##t, max_##t, min_##t, sum_##t, sum_##t \
    }
const struct mccl_arithmetic MCCL_ARITHMETIC = {
    .pair = {[mcclInt8] = ROW(i8),
             [mcclUint8] = ROW(u8),
             [mcclInt32] = ROW(i32),
             [mcclUint32] = ROW(u32),
             [mcclInt64] = ROW(i64),
             [mcclUint64] = ROW(u64),
             [mcclFloat16] = ROW(f32), /* of the widened values */
             [mcclFloat32] = ROW(f32),
             [mcclFloat64] = ROW(f64),
             [mcclBfloat16] = ROW(f32)},
    .mul = {[mcclInt8] = mul_i8,
            [mcclUint8] = mul_u8,
            [mcclInt32] = mul_i32,
            [mcclUint32] = mul_u32,
            [mcclInt64] = mul_i64,
            [mcclUint64] = mul_u64,
            [mcclFloat16] = mul_f32,
            [mcclFloat32] = mul_f32,
            [mcclFloat64] = mul_f64,
            [mcclBfloat16] = mul_f32},
    .div = {[mcclInt8] = div_i8,
            [mcclUint8] = div_u8,
            [mcclInt32] = div_i32,
            [mcclUint32] = div_u32,
            [mcclInt64] = div_i64,
            [mcclUint64] = div_u64,
            [mcclFloat16] = div_f32,
            [mcclFloat32] = div_f32,
            [mcclFloat64] = div_f64,
            [mcclBfloat16] = div_f32},
    .widen = {[mcclFloat16] = widen_f16, [mcclBfloat16] = widen_bf16},
    .narrow = {[mcclFloat16] = narrow_f16, [mcclBfloat16] = narrow_bf16},
};
