/* MT19937 (Matsumoto and Nishimura 1998): 8192 generators, 2^2048 steps apart, that give eight numbers a row each. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/parallel.h"
#include "host/maths/submit.h"
#include "host/murand/mt19937.h"
#include "host/murand/murand.h"

enum {
    GENERATORS = 8192,
    EIGHT = 8,
    ROWS = MT_WORDS / EIGHT, /* of a state */
    APART = 2048,
    TOGETHER = 64, /* generators that get ready together; a power of two */
    TOGETHER_POWER = 6,
};

struct generator {
    unsigned long long end; /* the row where its numbers end */
    uint32_t word[MT_WORDS];
};
struct state {
    uint32_t next[MT_WORDS]; /* where the next generators begin */
    struct generator generator[GENERATORS];
};

/* Which word of a state is number j of a row. Rows are in sevens, whose 56 words are taken column by column; what is
 * left between these are the eight words of row 0. */
static uint16_t place[ROWS][EIGHT];
static uint64_t leap[2][MT_TERMS]; /* to the next generator; to the next of those that get ready together */

static void begin_once(void)
{
    static const uint16_t first[EIGHT] = {0, 113, 170, 283, 340, 397, 510, 567};
    unsigned start = 1, passed = 1;
    memcpy(place[0], first, sizeof first);
    for (unsigned row = 1; row < ROWS; row += 7) {
        for (; passed < EIGHT && first[passed] == start; passed++)
            start++;
        for (unsigned r = 0; r < 7; r++)
            for (unsigned j = 0; j < EIGHT; j++)
                place[row + r][j] = (uint16_t)(start + r + 7 * j);
        start += 56;
    }
    leap[0][0] = 2; /* t: one step */
    mt_square(leap[0], APART);
    memcpy(leap[1], leap[0], sizeof leap[1]);
    mt_square(leap[1], TOGETHER_POWER);
}

static unsigned lanes(int ordering)
{
    (void)ordering;
    return GENERATORS * EIGHT;
}

static bool begin(struct murand_sequence *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct state *state = s->state = maths_alloc(sizeof *state);
    if (!state)
        return false;
    pthread_once(&once, begin_once);
    state->next[0] = (uint32_t)s->seed;
    for (uint32_t i = 1; i < MT_WORDS; i++)
        state->next[i] = 1812433253 * (state->next[i - 1] ^ state->next[i - 1] >> 30) + i;
    return true;
}

struct readying {
    struct generator *first;          /* the first of each that get ready together has its state */
    bool left[GENERATORS / TOGETHER]; /* for want of memory */
};

static void ready_together(struct generator *g, struct mt_buffer *buffer)
{
    for (unsigned k = 0; k < TOGETHER; k++) {
        g[k].end = 0;
        if (k + 1 < TOGETHER)
            mt_leap(leap[0], g[k].word, g[k + 1].word, buffer);
    }
}

static void together(void *job, unsigned i)
{
    struct readying *r = job;
    struct mt_buffer *buffer = malloc(sizeof *buffer);
    if (buffer)
        ready_together(r->first + i * TOGETHER, buffer);
    r->left[i] = !buffer;
    free(buffer);
}

static bool prepare(struct murand_sequence *s, unsigned wanted)
{
    struct state *state = s->state;
    unsigned first = s->ready / EIGHT, end = (wanted + EIGHT - 1) / EIGHT;
    struct readying r = {.first = state->generator + first};
    struct mt_buffer *buffer = maths_alloc(sizeof *buffer);
    if (!buffer)
        return false;
    end = (end + TOGETHER - 1) / TOGETHER * TOGETHER;
    for (unsigned g = first; g < end; g += TOGETHER) {
        memcpy(state->generator[g].word, state->next, sizeof state->next);
        if (g + TOGETHER < GENERATORS)
            mt_leap(leap[1], state->generator[g].word, state->next, buffer);
    }
    maths_parallel((end - first) / TOGETHER, together, &r);
    for (unsigned i = 0; i < (end - first) / TOGETHER; i++) /* all get ready now: `next` has moved on */
        if (r.left[i])
            ready_together(r.first + i * TOGETHER, buffer);
    free(buffer);
    s->ready = end * EIGHT;
    return true;
}

/* The next 624 words, in place. */
MURAND_VECTOR static void twist(uint32_t w[MT_WORDS])
{
    for (unsigned i = 0; i < MT_WORDS - MT_MIDDLE; i++)
        w[i] = mt_next(w[i], w[i + 1], w[i + MT_MIDDLE]);
    for (unsigned i = MT_WORDS - MT_MIDDLE; i < MT_WORDS - 1; i++)
        w[i] = mt_next(w[i], w[i + 1], w[i - (MT_WORDS - MT_MIDDLE)]);
    w[MT_WORDS - 1] = mt_next(w[MT_WORDS - 1], w[0], w[MT_MIDDLE - 1]);
}

static void draw(struct murand_sequence *s, unsigned long long row, unsigned lane, unsigned count, unsigned draws,
                 uint32_t out[][MURAND_CHUNK])
{
    struct state *state = s->state;
    const uint16_t *at = place[row % ROWS];
    (void)draws;
    for (unsigned i = 0; i < count; i++) {
        struct generator *g = &state->generator[(lane + i) / EIGHT];
        if (g->end <= row) {
            twist(g->word);
            g->end += ROWS;
        }
        out[0][i] = g->word[at[(lane + i) % EIGHT]];
    }
    for (unsigned i = 0; i < count; i++) { /* tempering */
        uint32_t y = out[0][i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680;
        y ^= y << 15 & 0xefc60000;
        out[0][i] = y ^ y >> 18;
    }
}

const struct murand_engine murand_mt19937 = {.single = true,
                                             .scale = &murand_full,
                                             .normal_from = 2000,
                                             .lanes = lanes,
                                             .begin = begin,
                                             .prepare = prepare,
                                             .draw = draw};
