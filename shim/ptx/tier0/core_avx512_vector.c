/* Tier 0 execution: ld and st of .v2 and .v4 vectors of 32-bit elements by AVX-512. Lanes whose
 * vectors lie one behind the other are moved as whole cache lines and transposed; other loads
 * gather. */
#include "ptx/tier0/warp.h"

#if defined(__x86_64__)
#include "ptx/tier0/avx512.h"

static t0_handler *plain_load, *plain_store;

enum {
    FORM = LIR_MEM_LOG2_SIZE | 3 << LIR_MEM_VEC_SHIFT | 3 << LIR_MEM_DST_SHIFT | LIR_MEM_ACQUIRE | LIR_MEM_RELEASE |
           LIR_MEM_SC | LIR_MEM_STRONG,
    V2 = 2 | 1 << LIR_MEM_VEC_SHIFT | 1 << LIR_MEM_DST_SHIFT,
    V4 = 2 | 2 << LIR_MEM_VEC_SHIFT | 1 << LIR_MEM_DST_SHIFT
};

/* One access as the rest of this file needs it. */
struct access {
    bool good, consecutive, same;
    uint8_t *first; /* lane 0's vector, or everybody's */
    __m512i low[4]; /* flat addresses of 8 lanes each, or in [0] and [1] shared offsets of 16 */
};

HELPER struct access look(struct t0_warp *w, const struct lir_insn *i, unsigned size)
{
    struct access a = {0};
    if (i->aux & LIR_MEM_SHARED) {
        struct shared s = shared_addresses(w, i, size);
        a = (struct access){s.good && i->aux & LIR_MEM_ADDR32,
                            s.consecutive,
                            s.same,
                            w->shared + (int64_t)(int32_t)s.first,
                            {s.a[0], s.a[1], s.a[0], s.a[0]}};
    } else {
        struct flat f = flat_addresses(w, i, size);
        a = (struct access){f.aligned && !(i->aux & LIR_MEM_ADDR32),
                            f.consecutive,
                            f.same,
                            (uint8_t *)(uintptr_t)f.first,
                            {f.a[0], f.a[1], f.a[2], f.a[3]}};
    }
    return a;
}

/* Lane bits, each repeated n times. */
HELPER __mmask16 spread4(uint32_t lanes)
{
    uint32_t x = lanes & 15;
    return (__mmask16)(((x | x << 3 | x << 6 | x << 9) & 0x1111) * 15);
}
HELPER __mmask16 spread2(uint32_t lanes)
{
    uint32_t x = lanes & 255;
    x = (x | x << 4) & 0x0f0f;
    x = (x | x << 2) & 0x3333;
    x = (x | x << 1) & 0x5555;
    return (__mmask16)(x * 3);
}

HELPER void put(uint32_t *row, unsigned half, __m512i v, uint32_t mask)
{
    __m512i old = _mm512_load_si512(row + 16 * half);
    _mm512_store_si512(row + 16 * half, _mm512_mask_mov_epi32(old, (__mmask16)(mask >> 16 * half), v));
}

HELPER void load4(uint32_t *const row[4], const uint8_t *p, unsigned half, uint32_t mask)
{
    const __m512i first = _mm512_set_epi32(29, 25, 21, 17, 13, 9, 5, 1, 28, 24, 20, 16, 12, 8, 4, 0);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(2));
    uint32_t m = mask >> 16 * half;
    __m512i z0 = _mm512_maskz_loadu_epi32(spread4(m), p);
    __m512i z1 = _mm512_maskz_loadu_epi32(spread4(m >> 4), p + 64);
    __m512i z2 = _mm512_maskz_loadu_epi32(spread4(m >> 8), p + 128);
    __m512i z3 = _mm512_maskz_loadu_epi32(spread4(m >> 12), p + 192);
    __m512i a = _mm512_permutex2var_epi32(z0, first, z1), b = _mm512_permutex2var_epi32(z2, first, z3);
    __m512i c = _mm512_permutex2var_epi32(z0, second, z1), d = _mm512_permutex2var_epi32(z2, second, z3);
    put(row[0], half, _mm512_shuffle_i64x2(a, b, 0x44), mask);
    put(row[1], half, _mm512_shuffle_i64x2(a, b, 0xee), mask);
    put(row[2], half, _mm512_shuffle_i64x2(c, d, 0x44), mask);
    put(row[3], half, _mm512_shuffle_i64x2(c, d, 0xee), mask);
}

HELPER void load2(uint32_t *const row[4], const uint8_t *p, unsigned half, uint32_t mask)
{
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    uint32_t m = mask >> 16 * half;
    __m512i z0 = _mm512_maskz_loadu_epi32(spread2(m), p);
    __m512i z1 = _mm512_maskz_loadu_epi32(spread2(m >> 8), p + 64);
    put(row[0], half, _mm512_permutex2var_epi32(z0, even, z1), mask);
    put(row[1], half, _mm512_permutex2var_epi32(z0, _mm512_add_epi32(even, _mm512_set1_epi32(1)), z1), mask);
}

HELPER void store4(uint32_t *const row[4], uint8_t *p, unsigned half, uint32_t mask)
{
    const __m512i near = _mm512_set_epi32(27, 19, 11, 3, 26, 18, 10, 2, 25, 17, 9, 1, 24, 16, 8, 0);
    const __m512i far = _mm512_add_epi32(near, _mm512_set1_epi32(4));
    uint32_t m = mask >> 16 * half;
    __m512i e0 = _mm512_load_si512(row[0] + 16 * half), e1 = _mm512_load_si512(row[1] + 16 * half);
    __m512i e2 = _mm512_load_si512(row[2] + 16 * half), e3 = _mm512_load_si512(row[3] + 16 * half);
    __m512i a = _mm512_shuffle_i64x2(e0, e1, 0x44), b = _mm512_shuffle_i64x2(e2, e3, 0x44);
    __m512i c = _mm512_shuffle_i64x2(e0, e1, 0xee), d = _mm512_shuffle_i64x2(e2, e3, 0xee);
    _mm512_mask_storeu_epi32(p, spread4(m), _mm512_permutex2var_epi32(a, near, b));
    _mm512_mask_storeu_epi32(p + 64, spread4(m >> 4), _mm512_permutex2var_epi32(a, far, b));
    _mm512_mask_storeu_epi32(p + 128, spread4(m >> 8), _mm512_permutex2var_epi32(c, near, d));
    _mm512_mask_storeu_epi32(p + 192, spread4(m >> 12), _mm512_permutex2var_epi32(c, far, d));
}

HELPER void store2(uint32_t *const row[4], uint8_t *p, unsigned half, uint32_t mask)
{
    const __m512i near = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i far = _mm512_add_epi32(near, _mm512_set1_epi32(8));
    uint32_t m = mask >> 16 * half;
    __m512i e0 = _mm512_load_si512(row[0] + 16 * half), e1 = _mm512_load_si512(row[1] + 16 * half);
    _mm512_mask_storeu_epi32(p, spread2(m), _mm512_permutex2var_epi32(e0, near, e1));
    _mm512_mask_storeu_epi32(p + 64, spread2(m >> 8), _mm512_permutex2var_epi32(e0, far, e1));
}

/* Every lane from its own address; the addresses are in registers, so rows may overlap them. */
HELPER void gather_rows(struct t0_warp *w, const struct lir_insn *i, const struct access *a, uint32_t *const row[4],
                        unsigned n)
{
    uint32_t mask = w->l.mask;
    for (unsigned e = 0; e < n; e++) {
        EACH(k, 2, 1)
        {
            __m512i v, old = _mm512_load_si512(row[e] + 16 * k);
            __mmask16 m = (__mmask16)(mask >> 16 * k);
            if (i->aux & LIR_MEM_SHARED) {
                v = _mm512_mask_i32gather_epi32(old, m, a->low[k], w->shared + 4 * e, 1);
            } else {
                const void *base = (const void *)(uintptr_t)(4 * e);
                __m256i lo = _mm512_mask_i64gather_epi32(_mm512_castsi512_si256(old), (__mmask8)m, a->low[2 * k], base,
                                                         1);
                __m256i hi = _mm512_mask_i64gather_epi32(_mm512_extracti64x4_epi64(old, 1), (__mmask8)(m >> 8),
                                                         a->low[2 * k + 1], base, 1);
                v = _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
            }
            _mm512_store_si512(row[e] + 16 * k, v);
        }
    }
}

/* Loads vectors of two and four words a lane: consecutive ones by full-width loads that are transposed in registers,
 * equal ones once, others gathered. What is misaligned or of another size goes to the plain handler. */
WIDE static void load(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t *const row[4] = {T0_U32(w, i->d), T0_U32(w, i->b), T0_U32(w, i->c), T0_U32(w, i->e)};
    unsigned form = i->aux & FORM, n = form == V4 ? 4 : 2;
    struct access a;
    if (form != V4 && form != V2) {
        plain_load(w, i);
        return;
    }
    w->at = i;
    a = look(w, i, 4 * n);
    if (!a.good) {
        plain_load(w, i);
    } else if (a.consecutive) {
        EACH(k, 2, 1)
        {
            if (n == 4)
                load4(row, a.first + 256 * k, k, w->l.mask);
            else
                load2(row, a.first + 128 * k, k, w->l.mask);
        }
    } else if (a.same) {
        uint32_t v[4] = {0};
        for (unsigned e = 0; e < n; e++)
            v[e] = ((volatile uint32_t *)(void *)a.first)[e];
        for (unsigned e = 0; e < n; e++)
            EACH(k, 2, 1)
        put(row[e], k, _mm512_set1_epi32((int)v[e]), w->l.mask);
    } else {
        gather_rows(w, i, &a, row, n);
    }
}

WIDE static void store(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t *const row[4] = {T0_U32(w, i->d), T0_U32(w, i->b), T0_U32(w, i->c), T0_U32(w, i->e)};
    unsigned form = i->aux & FORM;
    struct access a;
    if (form != V4 && form != V2) {
        plain_store(w, i);
        return;
    }
    w->at = i;
    a = look(w, i, form == V4 ? 16 : 8);
    if (!a.good || !a.consecutive) {
        plain_store(w, i);
        return;
    }
    EACH(k, 2, 1)
    {
        if (form == V4)
            store4(row, a.first + 256 * k, k, w->l.mask);
        else
            store2(row, a.first + 128 * k, k, w->l.mask);
    }
}

void t0_vector_avx512(t0_handler *table[LIR_NOPS])
{
    plain_load = table[LIR_LD_ANY];
    plain_store = table[LIR_ST_ANY];
    table[LIR_LD_ANY] = load;
    table[LIR_ST_ANY] = store;
}
#else
void t0_vector_avx512(t0_handler *table[LIR_NOPS]) { (void)table; }
#endif
