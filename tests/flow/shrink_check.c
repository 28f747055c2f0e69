/* The reducer checked by itself: whatever it takes away, what is laid out afterwards is a graph of its own blocks. */
#include "flow/shrink.h"

enum { SEEDS = 40, ENOUGH_BLOCKS = 6 };
static int wild; /* edges to blocks that are none */

static void count_wild(const struct graph *g)
{
    for (int k = 0; k < g->nblock; k++)
        for (int i = 0; i < g->block[k].nto; i++)
            wild += g->block[k].to[i] < 0 || g->block[k].to[i] >= g->nblock;
}

/* A tail of a switch that lost cases must not select one of those: its value is at most the number of the last. */
static void count_beyond(const struct graph *g)
{
    for (int k = 0; k < g->nblock; k++) {
        const struct block *b = &g->block[k];
        for (int i = 0; i < b->n && b->end == END_TABLE; i++) {
            const struct op *o = &g->op[b->first + i];
            wild += o->op == OP_MIN && o->d == b->index && o->imm >= (uint32_t)b->nto;
        }
    }
}

/* Says that a program fails as long as there is much of it, so that the reducer tries everything it has. */
static bool is_large(const struct program *p, void *arg)
{
    struct graphs *g = arg;
    if (!lay_out(p, g))
        return false;
    for (int f = 0; f <= NFUNCS; f++) {
        count_wild(&g->of[f]);
        count_beyond(&g->of[f]);
    }
    return g->of[NFUNCS].nblock >= ENOUGH_BLOCKS;
}

bool shrink_is_sound(void)
{
    static struct program p;
    static struct graphs g;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        generate(&p, seed);
        shrink(&p, is_large, &g, 20);
    }
    printf("%s %d programs are reduced to programs: %d edges lead nowhere\n", wild ? "not ok" : "ok", SEEDS, wild);
    return !wild;
}
