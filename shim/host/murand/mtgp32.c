/* MTGP32 (Saito and Matsumoto 2013): Mersenne twisters of exponent 11213, each with parameters of its own, that give
 * 256 numbers a row each. */
#include <math.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/murand/murand.h"

enum { WORDS = 351, TOGETHER = 256, GENERATORS = 192, LEGACY = 64, BASIS = 4 };

static const struct set {
    uint8_t pick, left, right;
    uint32_t recursion[BASIS], tempering[BASIS];
} sets[GENERATORS] = {
#define SET(pick, left, right, a, b, c, d, e, f, g, h) {pick, left, right, {a, b, c, d}, {e, f, g, h}},
#include "host/murand/mtgp32.def"
#undef SET
};

struct generator {
    unsigned long long end; /* the row where its numbers end */
    uint32_t number[TOGETHER];
    uint32_t word[WORDS];
};

static unsigned lanes(int ordering)
{
    return (ordering == MURAND_ORDERING_PSEUDO_LEGACY ? LEGACY : GENERATORS) * TOGETHER;
}

/* Generator g begins as the MTGP library's with parameters g and seed + g + 1. */
static bool begin(struct murand_sequence *s)
{
    struct generator *generators = s->state = maths_alloc(GENERATORS * sizeof *generators);
    if (!generators)
        return false;
    for (uint32_t g = 0; g < GENERATORS; g++) {
        uint32_t *w = generators[g].word, hidden = sets[g].recursion[2] ^ sets[g].recursion[3] << 16, fill = hidden;
        fill += fill >> 16;
        fill += fill >> 8;
        memset(w, (int)(fill & 0xff), WORDS * sizeof *w);
        w[0] = (uint32_t)(s->seed ^ s->seed >> 32) + g + 1;
        w[1] = hidden;
        for (uint32_t i = 1; i < WORDS; i++)
            w[i] ^= 1812433253 * (w[i - 1] ^ w[i - 1] >> 30) + i;
        generators[g].end = 0;
    }
    return true;
}

static inline uint32_t entry(const uint32_t basis[BASIS], uint32_t which)
{
    return (basis[0] & (0 - (which & 1))) ^ (basis[1] & (0 - (which >> 1 & 1))) ^ (basis[2] & (0 - (which >> 2 & 1))) ^
           (basis[3] & (0 - (which >> 3 & 1)));
}

/* 256 steps from the words `w`: none that they need is younger than these, as none is picked up from beyond word 94. */
static inline void steps(const struct set *set, const uint32_t *restrict w, uint32_t *restrict fresh,
                         uint32_t *restrict number)
{
    const struct set p = *set;
    for (unsigned i = 0; i < TOGETHER; i++) {
        uint32_t x = (w[i] & 0xfff80000) ^ w[i + 1], t = w[i + p.pick - 1u];
        x ^= x << p.left;
        x ^= w[i + p.pick] >> p.right;
        x ^= entry(p.recursion, x);
        t ^= t >> 16;
        t ^= t >> 8;
        number[i] = x ^ entry(p.tempering, t);
        fresh[i] = x;
    }
}

MURAND_VECTOR static void more(const struct set *set, struct generator *g)
{
    uint32_t fresh[TOGETHER];
    steps(set, g->word, fresh, g->number);
    memmove(g->word, g->word + TOGETHER, (WORDS - TOGETHER) * sizeof *g->word);
    memcpy(g->word + WORDS - TOGETHER, fresh, sizeof fresh);
    g->end++;
}

static void draw(struct murand_sequence *s, unsigned long long row, unsigned lane, unsigned count, unsigned draws,
                 uint32_t out[][MURAND_CHUNK])
{
    (void)draws;
    for (unsigned i = 0, n; i < count; i += n) {
        unsigned which = (lane + i) / TOGETHER, at = (lane + i) % TOGETHER;
        struct generator *g = (struct generator *)s->state + which;
        if (g->end <= row)
            more(&sets[which], g);
        n = TOGETHER - at < count - i ? TOGETHER - at : count - i;
        memcpy(&out[0][i], g->number + at, n * sizeof **out);
    }
}

const struct murand_engine murand_mtgp32 = {.single = true,
                                            .coarse = true,
                                            .scale = &murand_above,
                                            .normal_from = HUGE_VAL,
                                            .lanes = lanes,
                                            .begin = begin,
                                            .draw = draw};
