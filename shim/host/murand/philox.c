/* Philox4x32-10 (Salmon and others 2011): ten rounds over a counter give four numbers. A group of four lanes has them;
 * the group's number is the upper half of the counter, its draws are the lower. */
#include <stdlib.h>

#include "host/murand/murand.h"

enum { GROUPS = 65536, FOUR = 4, ROUNDS = 10 };

static void block(unsigned long long key, unsigned long long low, unsigned long long high, uint32_t out[FOUR])
{
    uint32_t c[FOUR] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t x = 0xd2511f53ull * c[0], y = 0xcd9e8d57ull * c[2];
        c[0] = (uint32_t)(y >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)y;
        c[2] = (uint32_t)(x >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)x;
        k[0] += 0x9e3779b9;
        k[1] += 0xbb67ae85;
    }
    for (int i = 0; i < FOUR; i++)
        out[i] = c[i];
}

static unsigned lanes(int ordering)
{
    (void)ordering;
    return GROUPS * FOUR;
}

static bool begin(struct murand_sequence *s)
{
    s->row = s->offset / s->lanes;
    s->cursor = (unsigned)(s->offset % s->lanes);
    s->state = calloc(GROUPS, sizeof(uint32_t));
    return s->state;
}

/* Of a group's numbers in this row, each lane has `draws` in succession. Doubles take two blocks of a group: what is
 * beyond one a row is counted. */
static void draw(struct murand_sequence *s, unsigned lane, unsigned count, unsigned draws,
                 uint32_t out[][2 * MURAND_CHUNK])
{
    uint32_t numbers[FOUR], *beyond = s->state;
    unsigned long long of = ~0ull;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < draws; k++) {
            unsigned group = (lane + i) / FOUR, number = (lane + i) % FOUR * draws + k;
            unsigned long long which = group * 8ull + number / FOUR;
            if (which != of)
                block(s->seed, s->row + beyond[group] + number / FOUR, group, numbers);
            of = which;
            out[k][i] = numbers[number % FOUR];
            beyond[group] += number == 2 * FOUR - 1;
        }
    if (lane + count == s->lanes)
        s->row++;
}

static uint32_t bits(uint32_t draw) { return draw; }
static float uniform(uint32_t draw) { return (float)draw * 0x1p-32f + 0x1p-33f; }
static double uniform_double(const uint32_t *d)
{
    return (double)(d[0] ^ (uint64_t)d[1] << 21) * 0x1p-53 + 0x1p-54;
}

const struct murand_engine murand_philox = {
    .neighbours = true, .precise = 2, .lanes = lanes, .begin = begin, .draw = draw, .bits = bits, .uniform = uniform,
    .uniform_double = uniform_double,
};
