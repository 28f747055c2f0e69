/* XORWOW (Marsaglia 2003): five words of shift register, which is linear over bits, and a counter. Lanes are 2^67 draws
 * apart, which leaves the counter as it is; in the seeded order they have seeds of their own. */
#include <string.h>

#include "host/maths/submit.h"
#include "host/murand/murand.h"

enum { WORDS = 5, BITS = 32 * WORDS, STEP = 362437, APART = 67, LANES = 4096, SEEDS_APART = 0x2fd111 };

/* Column k is what bit k of the register becomes. */
struct matrix {
    uint32_t column[BITS][WORDS];
};
static struct matrix power[APART + 1]; /* of one step: 2^k steps */

static void apply(const struct matrix *m, uint32_t v[WORDS])
{
    uint32_t sum[WORDS] = {0};
    for (int w = 0; w < WORDS; w++)
        for (uint32_t bits = v[w]; bits; bits &= bits - 1) {
            const uint32_t *c = m->column[32 * w + __builtin_ctz(bits)];
            for (int i = 0; i < WORDS; i++)
                sum[i] ^= c[i];
        }
    memcpy(v, sum, sizeof sum);
}

static void step(uint32_t v[WORDS + 1])
{
    uint32_t t = v[0] ^ (v[0] >> 2);
    memmove(v, v + 1, (WORDS - 1) * sizeof *v);
    v[4] = (v[3] ^ (v[3] << 4)) ^ (t ^ (t << 1));
}

static void powers(void)
{
    for (int b = 0; b < BITS; b++) {
        power[0].column[b][b / 32] = 1u << b % 32;
        step(power[0].column[b]);
    }
    for (int k = 1; k <= APART; k++)
        for (int b = 0; b < BITS; b++) {
            memcpy(power[k].column[b], power[k - 1].column[b], sizeof power[k].column[b]);
            apply(&power[k - 1], power[k].column[b]);
        }
}

static unsigned lanes(int ordering)
{
    (void)ordering;
    return LANES;
}

/* The state of a seed after so many draws. */
static void seeded(unsigned long long seed, unsigned long long draws, uint32_t v[WORDS + 1])
{
    uint32_t low = (uint32_t)seed ^ 0xaad26b49, high = (uint32_t)(seed >> 32) ^ 0xf7dcefdd;
    uint32_t x = 1099087573u * low, y = 2591861531u * high;
    const uint32_t first[] = {123456789 + x, 362436069 ^ x, 521288629 + y, 88675123 ^ y, 5783321 + x, 6615241 + x + y};
    memcpy(v, first, sizeof first);
    for (int k = 0; draws >> k; k++)
        if (draws >> k & 1)
            apply(&power[k], v);
    v[WORDS] += (uint32_t)draws * STEP;
}

static bool begin(struct murand_sequence *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, powers);
    seeded(s->seed, s->row, s->next);
    s->state = maths_alloc(sizeof(uint32_t[WORDS + 1][LANES]));
    return s->state;
}

static bool prepare(struct murand_sequence *s, unsigned wanted)
{
    uint32_t(*state)[LANES] = s->state;
    for (unsigned lane = s->ready; lane < wanted; lane++) {
        uint32_t v[WORDS + 1];
        if (s->ordering == MURAND_ORDERING_PSEUDO_SEEDED)
            seeded(s->seed + (unsigned long long)SEEDS_APART * lane, s->offset / LANES, v);
        else {
            memcpy(v, s->next, sizeof v);
            apply(&power[APART], s->next);
        }
        if (lane < s->begun_before) {
            step(v);
            v[WORDS] += STEP;
        }
        for (int w = 0; w <= WORDS; w++)
            state[w][lane] = v[w];
    }
    s->ready = wanted;
    return true;
}

static inline void lanes_draw(uint32_t state[][LANES], unsigned lane, unsigned count, const unsigned draws,
                              uint32_t out[][MURAND_CHUNK])
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t *s = state[0] + lane + i;
        uint32_t a = s[0], b = s[LANES], c = s[2 * LANES], d = s[3 * LANES], e = s[4 * LANES], sum = s[5 * LANES];
        for (unsigned k = 0; k < draws; k++) {
            uint32_t t = a ^ a >> 2;
            a = b;
            b = c;
            c = d;
            d = e;
            e = (e ^ e << 4) ^ (t ^ t << 1);
            sum += STEP;
            out[k][i] = e + sum;
        }
        s[0] = a;
        s[LANES] = b;
        s[2 * LANES] = c;
        s[3 * LANES] = d;
        s[4 * LANES] = e;
        s[5 * LANES] = sum;
    }
}

MURAND_VECTOR static void draw(struct murand_sequence *s, unsigned long long row, unsigned lane, unsigned count,
                               unsigned draws, uint32_t out[][MURAND_CHUNK])
{
    (void)row;
    if (draws == 1)
        lanes_draw(s->state, lane, count, 1, out);
    else if (draws == 2)
        lanes_draw(s->state, lane, count, 2, out);
    else
        lanes_draw(s->state, lane, count, 4, out);
}

const struct murand_engine murand_xorwow = {.places = true,
                                            .precise = 2,
                                            .scale = &murand_full,
                                            .normal_from = 2000,
                                            .lanes = lanes,
                                            .begin = begin,
                                            .prepare = prepare,
                                            .draw = draw};
