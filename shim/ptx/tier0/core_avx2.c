/* Tier 0 execution: loads and stores of whole warps by AVX2. Eight lanes at a time whose addresses are consecutive, or
 * all the same, are one access; others go lane by lane. What would fault, and warps of which some lanes do not run, go
 * to the plain handlers, which name the lane. */
#include "ptx/tier0/warp.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* Kernels access what they like: what is wrong with that is theirs, and told by the driver. */
#define FAST __attribute__((target("avx2"), no_sanitize("address"), no_sanitize("undefined")))
#define HELPER static inline __attribute__((always_inline)) FAST

static t0_handler *plain[LIR_NOPS];

/* The addresses of a warp, offset added: of host memory. */
struct places {
    _Alignas(32) uint64_t a[LIR_LANES];
    bool good, consecutive; /* aligned, and of shared memory inside; one behind the other, size apart */
};

HELPER void flat_places(struct places *p, const struct t0_warp *w, const struct lir_insn *i, unsigned size)
{
    const uint64_t *row = (const void *)(w->l.regs + i->a);
    const __m256i imm = _mm256_set1_epi64x(i->imm), step = _mm256_set1_epi64x(4 * (int)size);
    __m256i next = _mm256_add_epi64(_mm256_set1_epi64x((long long)row[0]),
                                    _mm256_set_epi64x(3 * (int)size, 2 * (int)size, size, 0));
    __m256i odd = _mm256_setzero_si256(), differ = odd;
    for (unsigned k = 0; k < LIR_LANES; k += 4) {
        const __m256i a = _mm256_load_si256((const void *)(row + k)), at = _mm256_add_epi64(a, imm);
        differ = _mm256_or_si256(differ, _mm256_xor_si256(a, next));
        odd = _mm256_or_si256(odd, at);
        next = _mm256_add_epi64(next, step);
        _mm256_store_si256((void *)(p->a + k), at);
    }
    p->good = _mm256_testz_si256(odd, _mm256_set1_epi64x((int)size - 1));
    p->consecutive = _mm256_testz_si256(differ, differ);
}

HELPER void shared_places(struct places *p, const struct t0_warp *w, const struct lir_insn *i, unsigned size)
{
    const uint32_t *row = (const void *)(w->l.regs + i->a);
    const __m256i imm = _mm256_set1_epi32(i->imm), step = _mm256_set1_epi32(8 * (int)size);
    const __m256i base = _mm256_set1_epi64x((long long)(uintptr_t)w->shared);
    __m256i next = _mm256_add_epi32(
        _mm256_set1_epi32((int)row[0]),
        _mm256_mullo_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32((int)size)));
    __m256i odd = _mm256_setzero_si256(), differ = odd, most = odd;
    for (unsigned k = 0; k < LIR_LANES; k += 8) {
        const __m256i a = _mm256_load_si256((const void *)(row + k)), at = _mm256_add_epi32(a, imm);
        differ = _mm256_or_si256(differ, _mm256_xor_si256(a, next));
        odd = _mm256_or_si256(odd, at);
        most = _mm256_max_epu32(most, at);
        next = _mm256_add_epi32(next, step);
        _mm256_store_si256((void *)(p->a + k),
                           _mm256_add_epi64(base, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(at))));
        _mm256_store_si256((void *)(p->a + k + 4),
                           _mm256_add_epi64(base, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(at, 1))));
    }
    const __m256i last = _mm256_set1_epi32((int)(w->shared_size - size));
    const __m256i inside = _mm256_cmpeq_epi32(_mm256_max_epu32(most, last), last);
    p->good = w->shared_size >= size && _mm256_testz_si256(odd, _mm256_set1_epi32((int)size - 1)) &&
              _mm256_movemask_epi8(inside) == -1;
    p->consecutive = _mm256_testz_si256(differ, differ) && p->a[LIR_LANES - 1] - p->a[0] == (LIR_LANES - 1) * size;
}

enum lie { SCATTERED, IN_A_ROW, ONE };
/* How eight of them lie. */
HELPER enum lie eight(const uint64_t *a, unsigned size)
{
    const __m256i x = _mm256_load_si256((const void *)a), y = _mm256_load_si256((const void *)(a + 4));
    const __m256i first = _mm256_set1_epi64x((long long)a[0]);
    const __m256i ramp = _mm256_add_epi64(first, _mm256_set_epi64x(3 * (int)size, 2 * (int)size, size, 0));
    const __m256i far = _mm256_add_epi64(ramp, _mm256_set1_epi64x(4 * (int)size));
    const __m256i one = _mm256_or_si256(_mm256_xor_si256(x, first), _mm256_xor_si256(y, first));
    const __m256i row = _mm256_or_si256(_mm256_xor_si256(x, ramp), _mm256_xor_si256(y, far));
    return _mm256_testz_si256(row, row) ? IN_A_ROW : _mm256_testz_si256(one, one) ? ONE : SCATTERED;
}

/* What the next warps are likely to read: as core_avx512.c's expect. */
HELPER void expect(const struct places *p, unsigned size)
{
    if (p->consecutive)
        for (unsigned k = 0; k < size / 2; k++)
            _mm_prefetch((const char *)(uintptr_t)(p->a[0] + 32 * size + 64 * k), _MM_HINT_T0);
}

#define AT(type, address) (*(volatile type *)(uintptr_t)(address))

HELPER void load_32(uint32_t *d, const struct places *p)
{
    for (unsigned k = 0; k < LIR_LANES; k += 8) {
        const uint64_t *a = p->a + k;
        switch (p->consecutive ? IN_A_ROW : eight(a, 4)) {
        case IN_A_ROW: _mm256_store_si256((void *)(d + k), _mm256_loadu_si256((const void *)(uintptr_t)a[0])); break;
        case ONE: _mm256_store_si256((void *)(d + k), _mm256_set1_epi32((int)AT(uint32_t, a[0]))); break;
        default:
            for (unsigned l = 0; l < 8; l++)
                d[k + l] = AT(uint32_t, a[l]);
        }
    }
}

HELPER void load_64(uint64_t *d, const struct places *p)
{
    for (unsigned k = 0; k < LIR_LANES; k += 8) {
        const uint64_t *a = p->a + k;
        __m256i low, high;
        switch (p->consecutive ? IN_A_ROW : eight(a, 8)) {
        case IN_A_ROW:
            low = _mm256_loadu_si256((const void *)(uintptr_t)a[0]);
            high = _mm256_loadu_si256((const void *)(uintptr_t)a[4]);
            break;
        case ONE: low = high = _mm256_set1_epi64x((long long)AT(uint64_t, a[0])); break;
        default:
            for (unsigned l = 0; l < 8; l++)
                d[k + l] = AT(uint64_t, a[l]);
            continue;
        }
        _mm256_store_si256((void *)(d + k), low);
        _mm256_store_si256((void *)(d + k + 4), high);
    }
}

HELPER void store_32(const uint32_t *d, const struct places *p)
{
    for (unsigned k = 0; k < LIR_LANES; k += 8) {
        if (p->consecutive || eight(p->a + k, 4) == IN_A_ROW)
            _mm256_storeu_si256((void *)(uintptr_t)p->a[k], _mm256_load_si256((const void *)(d + k)));
        else
            for (unsigned l = 0; l < 8; l++)
                AT(uint32_t, p->a[k + l]) = d[k + l];
    }
}

HELPER void store_64(const uint64_t *d, const struct places *p)
{
    for (unsigned k = 0; k < LIR_LANES; k += 4) {
        if (p->consecutive)
            _mm256_storeu_si256((void *)(uintptr_t)p->a[k], _mm256_load_si256((const void *)(d + k)));
        else
            for (unsigned l = 0; l < 4; l++)
                AT(uint64_t, p->a[k + l]) = d[k + l];
    }
}

#define ACCESS(NAME, OP, PLACES, SIZE, MOVE, ROW) \
    FAST static void NAME(struct t0_warp *w, const struct lir_insn *i) \
    { \
        struct places p; \
        if (w->l.mask == ~0u) { \
            PLACES(&p, w, i, SIZE); \
            if (p.good) { \
                w->at = i; \
                MOVE(ROW(w, i->d), &p); \
                return; \
            } \
        } \
        plain[OP](w, i); \
    }
HELPER void fetch_32(uint32_t *d, const struct places *p)
{
    load_32(d, p);
    expect(p, 4);
}
HELPER void fetch_64(uint64_t *d, const struct places *p)
{
    load_64(d, p);
    expect(p, 8);
}
ACCESS(ldg_32, LIR_LDG_32, flat_places, 4, fetch_32, T0_U32)
ACCESS(ldg_64, LIR_LDG_64, flat_places, 8, fetch_64, T0_U64)
ACCESS(lds_32, LIR_LDS_32, shared_places, 4, load_32, T0_U32)
ACCESS(lds_64, LIR_LDS_64, shared_places, 8, load_64, T0_U64)
ACCESS(stg_32, LIR_STG_32, flat_places, 4, store_32, T0_U32)
ACCESS(stg_64, LIR_STG_64, flat_places, 8, store_64, T0_U64)
ACCESS(sts_32, LIR_STS_32, shared_places, 4, store_32, T0_U32)
ACCESS(sts_64, LIR_STS_64, shared_places, 8, store_64, T0_U64)

/* ---- vectors of two and four words ---- */

enum {
    FORM = LIR_MEM_LOG2_SIZE | 3 << LIR_MEM_VEC_SHIFT | 3 << LIR_MEM_DST_SHIFT | LIR_MEM_ACQUIRE | LIR_MEM_RELEASE |
           LIR_MEM_SC,
    V2 = 2 | 1 << LIR_MEM_VEC_SHIFT | 1 << LIR_MEM_DST_SHIFT,
    V4 = 2 | 2 << LIR_MEM_VEC_SHIFT | 1 << LIR_MEM_DST_SHIFT
};

HELPER bool vector_places(struct places *p, const struct t0_warp *w, const struct lir_insn *i, unsigned size)
{
    const bool shared = i->aux & LIR_MEM_SHARED, narrow = i->aux & LIR_MEM_ADDR32;
    if (w->l.mask != ~0u || shared != narrow)
        return false;
    if (shared)
        shared_places(p, w, i, size);
    else
        flat_places(p, w, i, size);
    return p->good;
}

/* Four lanes' vectors of four words, each one access, as four rows' words. */
HELPER void turn_four(const uint64_t *a, __m128i out[4])
{
    const __m128i x = _mm_loadu_si128((const void *)(uintptr_t)a[0]);
    const __m128i y = _mm_loadu_si128((const void *)(uintptr_t)a[1]);
    const __m128i z = _mm_loadu_si128((const void *)(uintptr_t)a[2]);
    const __m128i u = _mm_loadu_si128((const void *)(uintptr_t)a[3]);
    const __m128i xy = _mm_unpacklo_epi32(x, y), zu = _mm_unpacklo_epi32(z, u);
    const __m128i XY = _mm_unpackhi_epi32(x, y), ZU = _mm_unpackhi_epi32(z, u);
    out[0] = _mm_unpacklo_epi64(xy, zu);
    out[1] = _mm_unpackhi_epi64(xy, zu);
    out[2] = _mm_unpacklo_epi64(XY, ZU);
    out[3] = _mm_unpackhi_epi64(XY, ZU);
}

FAST static void load_vector(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t *const row[4] = {T0_U32(w, i->d), T0_U32(w, i->b), T0_U32(w, i->c), T0_U32(w, i->e)};
    const unsigned form = i->aux & FORM;
    struct places p;
    if ((form != V4 && form != V2) || !vector_places(&p, w, i, form == V4 ? 16 : 8)) {
        plain[LIR_LD_ANY](w, i);
        return;
    }
    w->at = i;
    if (form == V2) {
        for (unsigned l = 0; l < LIR_LANES; l++) {
            const uint64_t v = AT(uint64_t, p.a[l]);
            row[0][l] = (uint32_t)v;
            row[1][l] = (uint32_t)(v >> 32);
        }
        return;
    }
    for (unsigned k = 0; k < LIR_LANES; k += 8) {
        if (eight(p.a + k, 16) == ONE) {
            const __m128i v = _mm_loadu_si128((const void *)(uintptr_t)p.a[k]);
            _mm256_store_si256((void *)(row[0] + k), _mm256_broadcastd_epi32(v));
            _mm256_store_si256((void *)(row[1] + k), _mm256_broadcastd_epi32(_mm_srli_si128(v, 4)));
            _mm256_store_si256((void *)(row[2] + k), _mm256_broadcastd_epi32(_mm_srli_si128(v, 8)));
            _mm256_store_si256((void *)(row[3] + k), _mm256_broadcastd_epi32(_mm_srli_si128(v, 12)));
            continue;
        }
        __m128i low[4], high[4];
        turn_four(p.a + k, low);
        turn_four(p.a + k + 4, high);
        for (unsigned e = 0; e < 4; e++)
            _mm256_store_si256((void *)(row[e] + k),
                               _mm256_inserti128_si256(_mm256_castsi128_si256(low[e]), high[e], 1));
    }
}

FAST static void store_vector(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t *const row[4] = {T0_U32(w, i->d), T0_U32(w, i->b), T0_U32(w, i->c), T0_U32(w, i->e)};
    const unsigned form = i->aux & FORM;
    struct places p;
    if ((form != V4 && form != V2) || !vector_places(&p, w, i, form == V4 ? 16 : 8)) {
        plain[LIR_ST_ANY](w, i);
        return;
    }
    w->at = i;
    for (unsigned l = 0; l < LIR_LANES; l++) {
        if (form == V4)
            _mm_storeu_si128((void *)(uintptr_t)p.a[l],
                             _mm_set_epi32((int)row[3][l], (int)row[2][l], (int)row[1][l], (int)row[0][l]));
        else
            AT(uint64_t, p.a[l]) = row[0][l] | (uint64_t)row[1][l] << 32;
    }
}

void t0_core_avx2(t0_handler *table[LIR_NOPS])
{
    static const struct {
        uint16_t op;
        t0_handler *handler;
    } all[] = {{LIR_LDG_32, ldg_32},      {LIR_LDG_64, ldg_64},      {LIR_LDS_32, lds_32}, {LIR_LDS_64, lds_64},
               {LIR_STG_32, stg_32},      {LIR_STG_64, stg_64},      {LIR_STS_32, sts_32}, {LIR_STS_64, sts_64},
               {LIR_LD_ANY, load_vector}, {LIR_ST_ANY, store_vector}};
    memcpy(plain, table, sizeof plain);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        table[all[k].op] = all[k].handler;
}
#else
void t0_core_avx2(t0_handler *table[LIR_NOPS]) { (void)table; }
#endif
