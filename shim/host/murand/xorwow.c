/* XORWOW (Marsaglia 2003): five words of shift register, which is linear over bits, and a counter. Lanes are 2^67 draws
 * apart, which leaves the counter as it is. */
#include <stdlib.h>
#include <string.h>

#include "host/murand/murand.h"

enum { WORDS = 5, BITS = 32 * WORDS, STEP = 362437, APART = 67, LANES = 4096 };

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

static void step(uint32_t v[WORDS])
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

static bool begin(struct murand_sequence *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, powers);
    uint32_t low = (uint32_t)s->seed ^ 0xaad26b49, high = (uint32_t)(s->seed >> 32) ^ 0xf7dcefdd;
    uint32_t x = 1099087573u * low, y = 2591861531u * high;
    unsigned long long rows = s->offset / LANES;
    uint32_t first[] = {123456789 + x, 362436069 ^ x, 521288629 + y, 88675123 ^ y, 5783321 + x, 6615241 + x + y};
    for (int k = 0; rows >> k; k++)
        if (rows >> k & 1)
            apply(&power[k], first);
    first[WORDS] += (uint32_t)rows * STEP;
    memcpy(s->next, first, sizeof first);
    s->cursor = s->begun_before = (unsigned)(s->offset % LANES);
    s->state = malloc(s->lanes * sizeof(uint32_t[WORDS + 1]));
    return s->state;
}

static uint32_t once_more(uint32_t v[WORDS + 1])
{
    step(v);
    v[WORDS] += STEP;
    return v[WORDS - 1] + v[WORDS];
}

static void draw(struct murand_sequence *s, unsigned lane, unsigned count, unsigned draws,
                 uint32_t out[][2 * MURAND_CHUNK])
{
    uint32_t(*state)[WORDS + 1] = s->state;
    for (; s->ready < lane + count; s->ready++) {
        memcpy(state[s->ready], s->next, sizeof *state);
        if (s->ready < s->begun_before)
            once_more(state[s->ready]);
        apply(&power[APART], s->next);
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < draws; k++)
            out[k][i] = once_more(state[lane + i]);
}

static uint32_t bits(uint32_t draw) { return draw; }
static float uniform(uint32_t draw) { return (float)draw * 0x1p-32f + 0x1p-33f; }
static double uniform_double(const uint32_t *d)
{
    return (double)(d[0] ^ (uint64_t)d[1] << 21) * 0x1p-53 + 0x1p-54;
}

const struct murand_engine murand_xorwow = {
    .precise = 2, .lanes = lanes, .begin = begin, .draw = draw, .bits = bits, .uniform = uniform,
    .uniform_double = uniform_double,
};
