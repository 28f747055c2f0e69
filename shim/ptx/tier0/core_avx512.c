/* Tier 0 execution: frequent core handlers by AVX-512: 32- and 64-bit loads and stores, and shfl.
 * Consecutive addresses move as one block under the mask, others by gather and scatter; whatever
 * would fault goes to the plain handlers, which name the lane. */
#include "ptx/tier0/warp.h"

#include <string.h>

#if defined(__x86_64__)
#include "ptx/tier0/avx512.h"

static t0_handler *plain[LIR_NOPS]; /* the portable handlers */

/* Rows of 32-bit lanes are two vectors, of 64-bit lanes four; p is where lane 0's element is or
 * would be. */
HELPER void load_row32(uint32_t *d, const uint8_t *p, uint32_t mask)
{
    EACH(k, 2, 1)
    {
        __mmask16 m = (__mmask16)(mask >> 16 * k);
        __m512i old = _mm512_load_si512(d + 16 * k);
        _mm512_store_si512(d + 16 * k, _mm512_mask_loadu_epi32(old, m, p + 64 * k));
    }
}
HELPER void load_row64(uint64_t *d, const uint8_t *p, uint32_t mask)
{
    EACH(k, 4, 1)
    {
        __mmask8 m = (__mmask8)(mask >> 8 * k);
        __m512i old = _mm512_load_si512(d + 8 * k);
        _mm512_store_si512(d + 8 * k, _mm512_mask_loadu_epi64(old, m, p + 64 * k));
    }
}
HELPER void fill_row32(uint32_t *d, uint32_t v, uint32_t mask)
{
    EACH(k, 2, 1)
    _mm512_store_si512(d + 16 * k,
                       _mm512_mask_set1_epi32(_mm512_load_si512(d + 16 * k), (__mmask16)(mask >> 16 * k), (int)v));
}
HELPER void fill_row64(uint64_t *d, uint64_t v, uint32_t mask)
{
    EACH(k, 4, 1)
    _mm512_store_si512(d + 8 * k,
                       _mm512_mask_set1_epi64(_mm512_load_si512(d + 8 * k), (__mmask8)(mask >> 8 * k), (long long)v));
}

/* What the next warps are likely to read: a warp runs alone from barrier to barrier, so that its own
 * loads are far apart and the CPU's prefetcher sees no stream. */
HELPER void expect(uint64_t p, unsigned lines)
{
    EACH(k, lines, 1)
    _mm_prefetch((const char *)(uintptr_t)p + 64 * k, _MM_HINT_T0);
}

/* Loads 32 bits a lane. Addresses that are consecutive or all equal, in the warp or in one half of it, are one load:
 * kernels mostly do that, and a gather costs several times as much. Others are gathered; a misaligned address goes
 * to the plain handler, which faults on the right lane. */
WIDE static void ldg_32(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t *d = T0_U32(w, i->d);
    struct flat f = flat_addresses(w, i, 4);
    w->at = i;
    if (!f.aligned) {
        plain[LIR_LDG_32](w, i);
    } else if (f.consecutive) {
        load_row32(d, (const uint8_t *)(uintptr_t)f.first, w->l.mask);
        expect(f.first + 128, 2);
    } else if (f.same) {
        fill_row32(d, *(volatile uint32_t *)(uintptr_t)f.first, w->l.mask);
    } else {
        __m512i ramp = _mm512_set_epi64(28, 24, 20, 16, 12, 8, 4, 0), more = _mm512_set1_epi64(32);
        EACH(k, 4, 2)
        { /* by halves, as in lds_32 */
            uint32_t m = w->l.mask >> 8 * k & 0xffff, lane = m ? (uint32_t)__builtin_ctz(m) : 0;
            uint64_t first = T0_U64(w, i->a)[8 * k + lane] + (uint64_t)(int64_t)i->imm - 4 * lane;
            __m512i base = _mm512_add_epi64(_mm512_set1_epi64((long long)first), ramp);
            if (!m)
                continue;
            if (!(_mm512_mask_cmpneq_epi64_mask(f.m[k], f.a[k], base) |
                  _mm512_mask_cmpneq_epi64_mask(f.m[k + 1], f.a[k + 1], _mm512_add_epi64(base, more)))) {
                __m512i old = _mm512_load_si512(d + 8 * k);
                _mm512_store_si512(d + 8 * k,
                                   _mm512_mask_loadu_epi32(old, (__mmask16)m, (const void *)(uintptr_t)first));
                continue;
            }
            EACH(n, 2, 1)
            {
                unsigned j = k + n;
                __m256i old = _mm256_load_si256((const void *)(d + 8 * j));
                old = _mm512_mask_i64gather_epi32(old, f.m[j], f.a[j], NULL, 1);
                _mm256_store_si256((void *)(d + 8 * j), old);
            }
        }
    }
}

WIDE static void ldg_64(struct t0_warp *w, const struct lir_insn *i)
{
    uint64_t *d = T0_U64(w, i->d);
    struct flat f = flat_addresses(w, i, 8);
    w->at = i;
    if (!f.aligned) {
        plain[LIR_LDG_64](w, i);
    } else if (f.consecutive) {
        load_row64(d, (const uint8_t *)(uintptr_t)f.first, w->l.mask);
        expect(f.first + 256, 4);
    } else if (f.same) {
        fill_row64(d, *(volatile uint64_t *)(uintptr_t)f.first, w->l.mask);
    } else {
        EACH(k, 4, 1)
        _mm512_store_si512(d + 8 * k,
                           _mm512_mask_i64gather_epi64(_mm512_load_si512(d + 8 * k), f.m[k], f.a[k], NULL, 1));
    }
}

WIDE static void stg_32(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t *d = T0_U32(w, i->d);
    struct flat f = flat_addresses(w, i, 4);
    w->at = i;
    if (!f.aligned) {
        plain[LIR_STG_32](w, i);
    } else if (f.consecutive) {
        EACH(k, 2, 1)
        _mm512_mask_storeu_epi32((uint8_t *)(uintptr_t)f.first + 64 * k, (__mmask16)(w->l.mask >> 16 * k),
                                 _mm512_load_si512(d + 16 * k));
    } else {
        EACH(k, 4, 1)
        _mm512_mask_i64scatter_epi32(NULL, f.m[k], f.a[k], _mm256_load_si256((const void *)(d + 8 * k)), 1);
    }
}

WIDE static void stg_64(struct t0_warp *w, const struct lir_insn *i)
{
    const uint64_t *d = T0_U64(w, i->d);
    struct flat f = flat_addresses(w, i, 8);
    w->at = i;
    if (!f.aligned) {
        plain[LIR_STG_64](w, i);
        return;
    }
    EACH(k, 4, 1)
    {
        __m512i v = _mm512_load_si512(d + 8 * k);
        if (f.consecutive)
            _mm512_mask_storeu_epi64((uint8_t *)(uintptr_t)f.first + 64 * k, f.m[k], v);
        else
            _mm512_mask_i64scatter_epi64(NULL, f.m[k], f.a[k], v, 1);
    }
}

/* 16 lanes at a time: blocks 16 threads wide put two rows of a tile in one warp, each consecutive
 * or the same by itself. */
WIDE static void lds_32(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t *d = T0_U32(w, i->d);
    struct shared s = shared_addresses(w, i, 4);
    if (!s.good) {
        plain[LIR_LDS_32](w, i);
        return;
    }
    if (s.consecutive) {
        load_row32(d, w->shared + (int64_t)(int32_t)s.first, w->l.mask);
        return;
    }
    if (s.same) {
        fill_row32(d, *(volatile uint32_t *)(void *)(w->shared + s.first), w->l.mask);
        return;
    }
    const uint32_t *p = T0_U32(w, i->a);
    __m512i ramp = _mm512_set_epi32(60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0);
    EACH(k, 2, 1)
    {
        if (!s.m[k])
            continue;
        uint32_t lane = (uint32_t)__builtin_ctz(s.m[k]), first = p[16 * k + lane] + (uint32_t)i->imm;
        __m512i one = _mm512_set1_epi32((int)first), v = _mm512_load_si512(d + 16 * k);
        __m512i base = _mm512_add_epi32(_mm512_set1_epi32((int)(first - 4 * lane)), ramp);
        if (!_mm512_mask_cmpneq_epi32_mask(s.m[k], s.a[k], base))
            v = _mm512_mask_loadu_epi32(v, s.m[k], w->shared + (int64_t)(int32_t)(first - 4 * lane));
        else if (!_mm512_mask_cmpneq_epi32_mask(s.m[k], s.a[k], one))
            v = _mm512_mask_set1_epi32(v, s.m[k], *(volatile int *)(void *)(w->shared + first));
        else
            v = _mm512_mask_i32gather_epi32(v, s.m[k], s.a[k], w->shared, 1);
        _mm512_store_si512(d + 16 * k, v);
    }
}

WIDE static void sts_32(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t *d = T0_U32(w, i->d);
    struct shared s = shared_addresses(w, i, 4);
    if (!s.good) {
        plain[LIR_STS_32](w, i);
        return;
    }
    EACH(k, 2, 1)
    {
        __m512i v = _mm512_load_si512(d + 16 * k);
        if (s.consecutive)
            _mm512_mask_storeu_epi32(w->shared + (int64_t)(int32_t)s.first + 64 * k, s.m[k], v);
        else
            _mm512_mask_i32scatter_epi32(w->shared, s.m[k], s.a[k], v, 1);
    }
}

WIDE static void ld_kparam(struct t0_warp *w, const struct lir_insn *i)
{
    const uint8_t *p = w->params + i->imm;
    unsigned size = i->aux & LIR_MEM_LOG2_SIZE;
    uint32_t half;
    uint64_t whole;
    if (size == 2 && (i->aux >> LIR_MEM_DST_SHIFT & 3) == 1) {
        memcpy(&half, p, 4);
        fill_row32(T0_U32(w, i->d), half, w->l.mask);
    } else if (size == 3) {
        memcpy(&whole, p, 8);
        fill_row64(T0_U64(w, i->d), whole, w->l.mask);
    } else {
        plain[LIR_LD_KPARAM](w, i);
    }
}

HELPER __m256i half_of(__m512i v, unsigned k)
{
    return k ? _mm512_extracti64x4_epi64(v, 1) : _mm512_castsi512_si256(v);
}

WIDE static void lds_64(struct t0_warp *w, const struct lir_insn *i)
{
    uint64_t *d = T0_U64(w, i->d);
    struct shared s = shared_addresses(w, i, 8);
    if (!s.good) {
        plain[LIR_LDS_64](w, i);
    } else if (s.consecutive) {
        load_row64(d, w->shared + (int64_t)(int32_t)s.first, w->l.mask);
    } else if (s.same) {
        fill_row64(d, *(volatile uint64_t *)(void *)(w->shared + s.first), w->l.mask);
    } else {
        EACH(k, 4, 1)
        _mm512_store_si512(d + 8 * k,
                           _mm512_mask_i32gather_epi64(_mm512_load_si512(d + 8 * k), (__mmask8)(w->l.mask >> 8 * k),
                                                       half_of(s.a[k / 2], k & 1), w->shared, 1));
    }
}

WIDE static void sts_64(struct t0_warp *w, const struct lir_insn *i)
{
    const uint64_t *d = T0_U64(w, i->d);
    struct shared s = shared_addresses(w, i, 8);
    if (!s.good) {
        plain[LIR_STS_64](w, i);
        return;
    }
    EACH(k, 4, 1)
    {
        __mmask8 m = (__mmask8)(w->l.mask >> 8 * k);
        __m512i v = _mm512_load_si512(d + 8 * k);
        if (s.consecutive)
            _mm512_mask_storeu_epi64(w->shared + (int64_t)(int32_t)s.first + 64 * k, m, v);
        else
            _mm512_mask_i32scatter_epi64(w->shared, m, half_of(s.a[k / 2], k & 1), v, 1);
    }
}

/* See shfl in core_warp.c for the rules. */
WIDE static void shfl(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t *a = T0_U32(w, i->a), *b = T0_U32(w, i->b), *c = T0_U32(w, i->c);
    uint32_t *d = T0_U32(w, i->d), mask = w->l.mask, in = 0;
    __m512i low = _mm512_maskz_load_epi32((__mmask16)mask, a),
            high = _mm512_maskz_load_epi32((__mmask16)(mask >> 16), a + 16), m31 = _mm512_set1_epi32(31);
    __m512i self = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    EACH(k, 2, 1)
    {
        __m512i lane = _mm512_and_si512(_mm512_load_si512(b + 16 * k), m31);
        __m512i control = _mm512_load_si512(c + 16 * k);
        __m512i segment = _mm512_and_si512(_mm512_srli_epi32(control, 8), m31);
        __m512i least = _mm512_and_si512(self, segment);
        __m512i most = _mm512_or_si512(least, _mm512_andnot_si512(segment, _mm512_and_si512(control, m31)));
        __m512i from;
        __mmask16 ok;
        switch (i->aux & LIR_SUB_MASK) {
        case PTX_SUB_UP: from = _mm512_sub_epi32(self, lane); break;
        case PTX_SUB_DOWN: from = _mm512_add_epi32(self, lane); break;
        case PTX_SUB_BFLY: from = _mm512_xor_si512(self, lane); break;
        default: from = _mm512_or_si512(least, _mm512_andnot_si512(segment, lane));
        }
        ok = (i->aux & LIR_SUB_MASK) == PTX_SUB_UP ? _mm512_cmpge_epi32_mask(from, most)
                                                   : _mm512_cmple_epi32_mask(from, most);
        from = _mm512_mask_mov_epi32(self, ok, from);
        from = _mm512_permutex2var_epi32(low, from, high);
        _mm512_store_si512(d + 16 * k,
                           _mm512_mask_mov_epi32(_mm512_load_si512(d + 16 * k), (__mmask16)(mask >> 16 * k), from));
        in |= (uint32_t)ok << 16 * k;
        self = _mm512_add_epi32(self, _mm512_set1_epi32(16));
    }
    T0_PRED(w, (uint32_t)i->imm) = (T0_PRED(w, (uint32_t)i->imm) & ~mask) | (in & mask);
}

void t0_core_avx512(t0_handler *table[LIR_NOPS])
{
    static const struct {
        uint16_t op;
        t0_handler *handler;
    } all[] = {{LIR_LDG_32, ldg_32}, {LIR_LDG_64, ldg_64},      {LIR_STG_32, stg_32}, {LIR_STG_64, stg_64},
               {LIR_LDS_32, lds_32}, {LIR_LDS_64, lds_64},      {LIR_STS_32, sts_32}, {LIR_STS_64, sts_64},
               {LIR_SHFL, shfl},     {LIR_LD_KPARAM, ld_kparam}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        plain[all[k].op] = table[all[k].op];
        table[all[k].op] = all[k].handler;
    }
    t0_vector_avx512(table);
}
#else
void t0_core_avx512(t0_handler *table[LIR_NOPS]) { (void)table; }
#endif
