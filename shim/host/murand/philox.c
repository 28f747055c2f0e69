/* Philox4x32-10 (Salmon and others 2011): ten rounds over a counter give four numbers. A group of four lanes has them;
 * the group's number is the upper half of the counter, its draws are the lower. */
#include <string.h>

#include "host/maths/submit.h"
#include "host/murand/murand.h"

enum { GROUPS = 65536, FOUR = 4, ROUNDS = 10, MOST = MURAND_CHUNK / FOUR + 2 };

/* Blocks of `count` groups from `first` on, each at its own place: out[j][g] is the block's number j. */
MURAND_VECTOR static void blocks(unsigned long long key, const uint64_t *at, unsigned first, unsigned count,
                                 uint32_t out[FOUR][MOST])
{
    for (unsigned g = 0; g < count; g++) {
        uint32_t a = (uint32_t)at[g], b = (uint32_t)(at[g] >> 32), c = first + g, d = 0;
        uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
        for (int r = 0; r < ROUNDS; r++) {
            uint64_t x = 0xd2511f53ull * a, y = 0xcd9e8d57ull * c;
            a = (uint32_t)(y >> 32) ^ b ^ low;
            b = (uint32_t)y;
            c = (uint32_t)(x >> 32) ^ d ^ high;
            d = (uint32_t)x;
            low += 0x9e3779b9;
            high += 0xbb67ae85;
        }
        out[0][g] = a;
        out[1][g] = b;
        out[2][g] = c;
        out[3][g] = d;
    }
}

static unsigned lanes(int ordering)
{
    (void)ordering;
    return GROUPS * FOUR;
}

static bool begin(struct murand_sequence *s)
{
    s->state = maths_zeroed(GROUPS, sizeof(uint32_t));
    return s->state;
}

/* Of a group's numbers in this row, each lane has `draws` in succession. Doubles take two blocks of a group: what is
 * beyond one a row is counted. */
static void draw(struct murand_sequence *s, unsigned long long row, unsigned lane, unsigned count, unsigned draws,
                 uint32_t out[][MURAND_CHUNK])
{
    uint32_t *beyond = s->state, numbers[2][FOUR][MOST];
    unsigned group = lane / FOUR, groups = (lane + count - 1) / FOUR - group + 1;
    uint64_t at[MOST];
    for (unsigned half = 0; half < draws; half++) {
        for (unsigned g = 0; g < groups; g++)
            at[g] = row + beyond[group + g] + half;
        blocks(s->seed, at, group, groups, numbers[half]);
    }
    if (draws == 1 && lane % FOUR == 0 && count % FOUR == 0) {
        for (unsigned g = 0; g < groups; g++)
            for (unsigned i = 0; i < FOUR; i++)
                out[0][g * FOUR + i] = numbers[0][i][g];
        return;
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < draws; k++) {
            unsigned number = (lane + i) % FOUR * draws + k;
            out[k][i] = numbers[number / FOUR][number % FOUR][(lane + i) / FOUR - group];
        }
}

static void passed(struct murand_sequence *s, unsigned lane, unsigned count, unsigned draws)
{
    uint32_t *beyond = s->state;
    for (unsigned g = lane / FOUR; draws == 2 && (g + 1) * FOUR <= lane + count; g++)
        beyond[g]++; /* its last lane has drawn */
}

const struct murand_engine murand_philox = {.neighbours = true,
                                            .places = true,
                                            .precise = 2,
                                            .scale = &murand_full,
                                            .normal_from = 2000,
                                            .lanes = lanes,
                                            .begin = begin,
                                            .draw = draw,
                                            .passed = passed};
