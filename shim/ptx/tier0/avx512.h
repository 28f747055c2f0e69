/* Tier 0 execution by AVX-512: the addresses of a warp as vectors, and what is known about them. */
#ifndef CUMU_PTX_T0_AVX512_H
#define CUMU_PTX_T0_AVX512_H

#include <immintrin.h>

#include "ptx/tier0/warp.h"

#define WIDE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define HELPER static inline __attribute__((always_inline, target("avx512f,avx512dq,avx512bw,avx512vl")))

/* Loops over the vectors of a row: unrolled, so that arrays of vectors stay in registers. */
#if defined(__clang__)
#define EACH(k, n, step) _Pragma("unroll") for (unsigned k = 0; k < (n); k += (step))
#else
#define EACH(k, n, step) _Pragma("GCC unroll 4") for (unsigned k = 0; k < (n); k += (step))
#endif

/* The addresses of a warp, offset added, and what is known about the active ones. */
struct flat {
    __m512i a[4]; /* 8 lanes each */
    __mmask8 m[4];
    bool aligned, consecutive, same;
    uint64_t first; /* lane 0's address if consecutive, the first active lane's if the same */
};

HELPER struct flat flat_addresses(const struct t0_warp *w, const struct lir_insn *i, unsigned size)
{
    const uint64_t *p = (const void *)(w->l.regs + i->a);
    uint32_t mask = w->l.mask, lane = (uint32_t)__builtin_ctz(mask);
    __m512i imm = _mm512_set1_epi64(i->imm), ramp = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    struct flat f = {.first = p[lane] + (uint64_t)(int64_t)i->imm};
    __m512i base = _mm512_set1_epi64((long long)(f.first - (uint64_t)lane * size));
    __m512i one = _mm512_set1_epi64((long long)f.first);
    __m512i step = _mm512_set1_epi64((long long)(8 * size)), low = _mm512_set1_epi64(size - 1);
    __mmask8 odd = 0, scattered = 0, differ = 0;
    ramp = _mm512_mullo_epi64(ramp, _mm512_set1_epi64(size));
    base = _mm512_add_epi64(base, ramp);
    EACH(k, 4, 1)
    {
        f.m[k] = (__mmask8)(mask >> 8 * k);
        f.a[k] = _mm512_add_epi64(_mm512_load_si512((const void *)(p + 8 * k)), imm);
        odd |= _mm512_mask_test_epi64_mask(f.m[k], f.a[k], low);
        scattered |= _mm512_mask_cmpneq_epi64_mask(f.m[k], f.a[k], base);
        differ |= _mm512_mask_cmpneq_epi64_mask(f.m[k], f.a[k], one);
        base = _mm512_add_epi64(base, step);
    }
    f.aligned = !odd;
    f.consecutive = !scattered;
    f.same = !differ;
    if (f.consecutive)
        f.first -= (uint64_t)lane * size;
    return f;
}

struct shared {
    __m512i a[2]; /* 16 lanes each */
    __mmask16 m[2];
    bool good, consecutive, same; /* good: aligned and inside */
    uint32_t first;
};

HELPER struct shared shared_addresses(const struct t0_warp *w, const struct lir_insn *i, unsigned size)
{
    const uint32_t *p = (const void *)(w->l.regs + i->a);
    uint32_t mask = w->l.mask, lane = (uint32_t)__builtin_ctz(mask);
    __m512i ramp = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    struct shared s = {.first = p[lane] + (uint32_t)i->imm};
    __m512i imm = _mm512_set1_epi32(i->imm), low = _mm512_set1_epi32((int)size - 1);
    __m512i base = _mm512_set1_epi32((int)(s.first - lane * size)), one = _mm512_set1_epi32((int)s.first);
    __m512i last = _mm512_set1_epi32((int)(w->shared_size - size));
    __mmask16 bad = 0, scattered = 0, differ = 0;
    base = _mm512_add_epi32(base, _mm512_mullo_epi32(ramp, _mm512_set1_epi32((int)size)));
    EACH(k, 2, 1)
    {
        s.m[k] = (__mmask16)(mask >> 16 * k);
        s.a[k] = _mm512_add_epi32(_mm512_load_si512((const void *)(p + 16 * k)), imm);
        bad |= _mm512_mask_test_epi32_mask(s.m[k], s.a[k], low);
        bad |= _mm512_mask_cmpgt_epu32_mask(s.m[k], s.a[k], last);
        scattered |= _mm512_mask_cmpneq_epi32_mask(s.m[k], s.a[k], base);
        differ |= _mm512_mask_cmpneq_epi32_mask(s.m[k], s.a[k], one);
        base = _mm512_add_epi32(base, _mm512_set1_epi32((int)(16 * size)));
    }
    s.good = !bad && w->shared_size >= size;
    s.consecutive = !scattered;
    s.same = !differ;
    if (s.consecutive)
        s.first -= lane * size;
    return s;
}

#endif
