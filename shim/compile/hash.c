/* SHA-256, after FIPS 180-4. */
#include "compile/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static inline void step(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f, uint32_t g,
                        uint32_t *h, uint32_t kw)
{
    uint32_t t = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + kw;
    *d += t;
    *h = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

#if defined(__x86_64__)
/* By the CPU's own rounds, four words at a time: a first launch hashes 100 kB. */
__attribute__((target("sha,sse4.1"))) static void absorb_ni(uint32_t state[8], const uint8_t *p)
{
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (unsigned i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)), order);
    for (unsigned i = 0; i < 16; i++) {
        __m128i *now = &w[i % 4], *last = &w[(i + 3) % 4];
        __m128i kw = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)(const void *)(k + 4 * i)));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, kw);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(kw, 0x0e));
        *now = _mm_sha256msg1_epu32(*now, w[(i + 1) % 4]);
        *now = _mm_add_epi32(*now, _mm_alignr_epi8(*last, w[(i + 2) % 4], 4));
        *now = _mm_sha256msg2_epu32(*now, *last);
    }
    abef = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
    cdgh = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(abef, cdgh, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(cdgh, abef, 8));
}

static bool has_rounds(void)
{
    static atomic_int known = -1; /* in a virtual machine the question is slow */
    unsigned a, b = 0, c, d;
    int is = atomic_load_explicit(&known, memory_order_relaxed);
    if (is < 0)
        is = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1);
    atomic_store_explicit(&known, is, memory_order_relaxed);
    return is;
}
#endif

static void absorb_plain(uint32_t state[8], const uint8_t *p)
{
    uint32_t w[64], s[8];
    for (unsigned i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (unsigned i = 0; i < 64; i += 8) {
        /* the variables change places instead of values */
        step(s[0], s[1], s[2], &s[3], s[4], s[5], s[6], &s[7], k[i] + w[i]);
        step(s[7], s[0], s[1], &s[2], s[3], s[4], s[5], &s[6], k[i + 1] + w[i + 1]);
        step(s[6], s[7], s[0], &s[1], s[2], s[3], s[4], &s[5], k[i + 2] + w[i + 2]);
        step(s[5], s[6], s[7], &s[0], s[1], s[2], s[3], &s[4], k[i + 3] + w[i + 3]);
        step(s[4], s[5], s[6], &s[7], s[0], s[1], s[2], &s[3], k[i + 4] + w[i + 4]);
        step(s[3], s[4], s[5], &s[6], s[7], s[0], s[1], &s[2], k[i + 5] + w[i + 5]);
        step(s[2], s[3], s[4], &s[5], s[6], s[7], s[0], &s[1], k[i + 6] + w[i + 6]);
        step(s[1], s[2], s[3], &s[4], s[5], s[6], s[7], &s[0], k[i + 7] + w[i + 7]);
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

static void absorb(uint32_t state[8], const uint8_t *p, size_t blocks)
{
    void (*one)(uint32_t *, const uint8_t *) = absorb_plain;
#if defined(__x86_64__)
    if (has_rounds())
        one = absorb_ni;
#endif
    for (; blocks; blocks--, p += 64)
        one(state, p);
}

void cumu_hash_start(struct cumu_hash *h)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(h->state, first, sizeof first);
    h->length = 0;
}

void cumu_hash_add(struct cumu_hash *h, const void *data, size_t size)
{
    const uint8_t *p = data;
    size_t have = h->length % 64;
    h->length += size;
    if (have + size < 64) {
        memcpy(h->block + have, p, size);
        return;
    }
    if (have) {
        memcpy(h->block + have, p, 64 - have);
        absorb(h->state, h->block, 1);
        p += 64 - have;
        size -= 64 - have;
    }
    absorb(h->state, p, size / 64);
    memcpy(h->block, p + size / 64 * 64, size % 64);
}

void cumu_hash_end(struct cumu_hash *h, uint8_t out[CUMU_HASH_BYTES])
{
    static const uint8_t pad[64] = {0x80};
    uint64_t bits = h->length * 8;
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    cumu_hash_add(h, pad, 1 + (119 - h->length % 64) % 64);
    cumu_hash_add(h, length, 8);
    for (unsigned i = 0; i < 32; i++)
        out[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}
