/* MRG32k3a (L'Ecuyer 1999): two linear recurrences of order three, combined. Lanes are 2^76 draws apart. */
#include <stdlib.h>
#include <string.h>

#include "host/murand/murand.h"

enum { ORDER = 3, APART = 76 };
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
                        power[r][n].at[i][j] = (power[r][n].at[i][j] + power[r][n - 1].at[i][k] *
                                                                           power[r][n - 1].at[k][j]) % modulus[r];
    }
}

static unsigned lanes(int ordering) { return ordering == MURAND_ORDERING_PSEUDO_LEGACY ? 4096 : 81920; }

static bool begin(struct murand_sequence *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, powers);
    uint64_t low = (uint32_t)s->seed ^ 0x55555555u, high = (uint32_t)(s->seed >> 32) ^ 0xaaaaaaaau;
    unsigned long long rows = s->offset / s->lanes;
    for (int i = 0; i < 2 * ORDER; i++) {
        bool even = (i < ORDER ? i : i + 1 - ORDER) % 2 == 0;
        s->next[i] = s->seed ? (uint32_t)(12345 * (even ? low : high) % modulus[i / ORDER]) : 12345;
    }
    for (int k = 0; rows >> k; k++)
        for (int r = 0; r < 2 && rows >> k & 1; r++)
            apply(&power[r][k], modulus[r], s->next + ORDER * r);
    s->cursor = s->begun_before = (unsigned)(s->offset % s->lanes);
    s->state = malloc(s->lanes * sizeof(uint32_t[2 * ORDER]));
    return s->state;
}

static uint32_t once_more(uint32_t v[2 * ORDER])
{
    uint32_t x = (uint32_t)((1403580 * (uint64_t)v[1] + 810728 * (modulus[0] - v[0])) % modulus[0]);
    uint32_t y = (uint32_t)((527612 * (uint64_t)v[5] + 1370589 * (modulus[1] - v[3])) % modulus[1]);
    v[0] = v[1], v[1] = v[2], v[2] = x;
    v[3] = v[4], v[4] = v[5], v[5] = y;
    return x > y ? x - y : (uint32_t)(x + modulus[0] - y);
}

static void draw(struct murand_sequence *s, unsigned lane, unsigned count, unsigned draws,
                 uint32_t out[][2 * MURAND_CHUNK])
{
    uint32_t(*state)[2 * ORDER] = s->state;
    for (; s->ready < lane + count; s->ready++) {
        memcpy(state[s->ready], s->next, sizeof *state);
        if (s->ready < s->begun_before)
            once_more(state[s->ready]);
        for (int r = 0; r < 2; r++)
            apply(&power[r][APART], modulus[r], s->next + ORDER * r);
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < draws; k++)
            out[k][i] = once_more(state[lane + i]);
}

/* Draws are 1 to the modulus: floats lie in (0, 1), doubles in (0, 1]. */
static uint32_t bits(uint32_t draw) { return (uint32_t)((double)draw * 1.000000048662); }
static float uniform(uint32_t draw) { return (float)((double)draw * 2.328306549295727688e-10); }
static double uniform_double(const uint32_t *draws) { return (double)draws[0] * 2.3283065498378288e-10; }

const struct murand_engine murand_mrg32k3a = {
    .precise = 1, .lanes = lanes, .begin = begin, .draw = draw, .bits = bits, .uniform = uniform,
    .uniform_double = uniform_double,
};
