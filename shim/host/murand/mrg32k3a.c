/* MRG32k3a (L'Ecuyer 1999): two linear recurrences of order three, combined. Lanes are 2^76 draws apart. */
#include <string.h>

#include "host/maths/submit.h"
#include "host/murand/murand.h"

enum { ORDER = 3, APART = 76, LANES = 81920, LEGACY = 4096 };
static const uint64_t modulus[2] = {4294967087, 4294944443};

struct matrix {
    uint64_t at[ORDER][ORDER];
};
/* One step of each recurrence on (oldest, middle, newest). */
static const struct matrix one[2] = {
    {{{0, 1, 0}, {0, 0, 1}, {4294967087 - 810728, 1403580, 0}}},
    {{{0, 1, 0}, {0, 0, 1}, {4294944443 - 1370589, 0, 527612}}},
};
static struct matrix power[2][APART + 1]; /* 2^k steps */

static void apply(const struct matrix *m, uint64_t p, uint32_t v[ORDER])
{
    uint32_t out[ORDER];
    for (int i = 0; i < ORDER; i++) {
        uint64_t sum = 0;
        for (int j = 0; j < ORDER; j++)
            sum = (sum + m->at[i][j] * v[j]) % p;
        out[i] = (uint32_t)sum;
    }
    memcpy(v, out, sizeof out);
}

static void powers(void)
{
    for (int r = 0; r < 2; r++) {
        power[r][0] = one[r];
        for (int n = 1; n <= APART; n++)
            for (int i = 0; i < ORDER; i++)
                for (int j = 0; j < ORDER; j++)
                    for (int k = 0; k < ORDER; k++)
                        power[r][n].at[i][j] =
                            (power[r][n].at[i][j] + power[r][n - 1].at[i][k] * power[r][n - 1].at[k][j]) % modulus[r];
    }
}

static unsigned lanes(int ordering) { return ordering == MURAND_ORDERING_PSEUDO_LEGACY ? LEGACY : LANES; }

static bool begin(struct murand_sequence *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, powers);
    uint64_t low = (uint32_t)s->seed ^ 0x55555555u, high = (uint32_t)(s->seed >> 32) ^ 0xaaaaaaaau;
    for (int i = 0; i < 2 * ORDER; i++) {
        bool even = (i < ORDER ? i : i + 1 - ORDER) % 2 == 0;
        s->next[i] = s->seed ? (uint32_t)(12345 * (even ? low : high) % modulus[i / ORDER]) : 12345;
    }
    for (int k = 0; s->row >> k; k++)
        for (int r = 0; r < 2 && s->row >> k & 1; r++)
            apply(&power[r][k], modulus[r], s->next + ORDER * r);
    s->state = maths_alloc(sizeof(uint32_t[2 * ORDER][LANES]));
    return s->state;
}

/* What is above 2^32, which is `over` above the modulus, comes back as so many times `over`. */
static inline uint64_t fold(uint64_t x, uint64_t over) { return (uint32_t)x + (x >> 32) * over; }

/* The next words of both recurrences, and what they give: 1 to the first modulus. */
static inline uint32_t first(uint32_t old, uint32_t middle)
{
    const uint64_t m = 4294967087, over = (1ull << 32) - m;
    uint64_t x = fold(1403580ull * middle + 810728ull * (uint32_t)(m - old), over);
    return (uint32_t)(x >= m ? x - m : x);
}
static inline uint32_t second(uint32_t old, uint32_t latest)
{
    const uint64_t n = 4294944443, over = (1ull << 32) - n;
    uint64_t y = fold(fold(527612ull * latest + 1370589ull * (uint32_t)(n - old), over), over);
    return (uint32_t)(y >= n ? y - n : y);
}
static inline uint32_t difference(uint32_t x, uint32_t y) { return x - y - (x > y ? 0 : 209); }

static void once_more(uint32_t v[2 * ORDER])
{
    uint32_t x = first(v[0], v[1]), y = second(v[3], v[5]);
    v[0] = v[1], v[1] = v[2], v[2] = x;
    v[3] = v[4], v[4] = v[5], v[5] = y;
}

static bool prepare(struct murand_sequence *s, unsigned wanted)
{
    uint32_t(*state)[LANES] = s->state;
    for (unsigned lane = s->ready; lane < wanted; lane++) {
        uint32_t v[2 * ORDER];
        memcpy(v, s->next, sizeof v);
        if (lane < s->begun_before)
            once_more(v);
        for (int w = 0; w < 2 * ORDER; w++)
            state[w][lane] = v[w];
        for (int r = 0; r < 2; r++)
            apply(&power[r][APART], modulus[r], s->next + ORDER * r);
    }
    s->ready = wanted;
    return true;
}

static inline void lanes_draw(uint32_t *restrict s0, uint32_t *restrict s1, uint32_t *restrict s2,
                              uint32_t *restrict s3, uint32_t *restrict s4, uint32_t *restrict s5, unsigned count,
                              uint32_t *restrict out)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t x = first(s0[i], s1[i]), y = second(s3[i], s5[i]);
        s0[i] = s1[i];
        s1[i] = s2[i];
        s2[i] = x;
        s3[i] = s4[i];
        s4[i] = s5[i];
        s5[i] = y;
        out[i] = difference(x, y);
    }
}

MURAND_VECTOR static void draw(struct murand_sequence *s, unsigned long long row, unsigned lane, unsigned count,
                               unsigned draws, uint32_t out[][MURAND_CHUNK])
{
    uint32_t *at = (uint32_t *)s->state + lane;
    (void)row;
    for (unsigned k = 0; k < draws; k++)
        lanes_draw(at, at + LANES, at + 2 * LANES, at + 3 * LANES, at + 4 * LANES, at + 5 * LANES, count, out[k]);
}

static const struct murand_scale scale = {.bits = 1.000000048662, .step = 2.3283065498378288e-10};
const struct murand_engine murand_mrg32k3a = {.places = true,
                                              .precise = 1,
                                              .scale = &scale,
                                              .normal_from = 2000,
                                              .lanes = lanes,
                                              .begin = begin,
                                              .prepare = prepare,
                                              .draw = draw};
