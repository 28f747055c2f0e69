/* Makes random programs. Every loop ends soon: it counts, burns fuel, or waits for a bit of a
 * generator of random numbers of full period; what still runs long the reference refuses. */
#include <string.h>

#include "flow/generate.h"

static struct node *simple(struct place w)
{
    struct op op = rnd(4) ? arithmetic(w) : memory(w);
    if (op.d != NONE && class_of(op.d) == C_UNI)
        return instruction(op);
    if (rnd(7) == 0) {
        op.guard = any_pred();
        op.not = rnd(2);
    }
    return instruction(op);
}

static struct node *call(struct place w)
{
    struct op op = make(OP_CALL, any_int(), any_source(), any_int(), rnd((uint32_t)prog->nfunc));
    (void)w;
    if (rnd(6) == 0) {
        op.guard = any_pred();
        op.not = rnd(2);
    }
    return instruction(op);
}

static struct node *statement(struct place w)
{
    uint32_t what = rnd(32);
    bool deep = w.depth > 0 && budget > 0 && prog->nloop < MAX_LOOPS - 1;
    if (what < 4 && deep)
        return make_branch(w);
    if (what < 7 && deep)
        return make_loop(w);
    if (what < 9 && deep)
        return make_share(w);
    if (what == 9 && deep)
        return rnd(2) ? make_tangle(w) : make_knot(w);
    if ((what == 10 || what == 17) && deep)
        return make_switch(w);
    if (what < 13 && w.nloop)
        return make_jump(w);
    if (what == 13 && w.may_leave && rnd(3) == 0)
        return make_leave(w);
    if (what < 16 && w.mask != NONE)
        return instruction(collective(w));
    if ((what == 16 || what == 18) && prog->nfunc && budget > 0)
        return call(w);
    return simple(w);
}

struct node *statements_of(struct place w, int most)
{
    struct node *first = NULL, **end = &first;
    for (int n = 1 + (int)rnd((uint32_t)most); n-- && prog->nnode < ENOUGH_NODES;) {
        *end = statement(w);
        while (*end)
            end = &(*end)->next;
    }
    return first ? first : instruction(arithmetic(w));
}

struct node *statements(struct place w) { return statements_of(w, 5); }

void generate(struct program *p, uint64_t seed)
{
    static const uint32_t shapes[][3] = {{32, 1, 1}, {64, 1, 1}, {96, 1, 1}, {128, 1, 1}, {32, 2, 1},
                                         {16, 4, 1}, {48, 2, 1}, {17, 1, 1}, {40, 1, 1},  {100, 1, 1},
                                         {1, 1, 1},  {8, 4, 1},  {10, 5, 1}, {7, 2, 3}};
    memset(p, 0, sizeof *p);
    prog = p;
    p->seed = seed;
    state = seed * 2654435761u + 777;
    for (int k = 0; k < 5; k++)
        rnd(2);
    p->nmask = 1;
    memcpy(p->block, shapes[rnd(2) ? rnd(4) : rnd(sizeof shapes / sizeof shapes[0])], sizeof p->block);
    p->grid = 1 + rnd(MAX_GRID);
    p->shuffled = rnd(3) == 0;
    bool small = rnd(8) > 0;
    nint = small ? 2 + rnd(4) : NINT;
    for (int v = 0; v < V_STORED; v++)
        p->keep[v] = rnd(small ? 2 : 3) > 0 && (v >= NINT || v < (int)nint);
    bool together = rnd(3) == 0; /* collectives, or threads that leave */
    int nfunc = rnd(3) ? 0 : 1 + (int)rnd(NFUNCS);
    for (int k = 0; k < nfunc; k++) {
        budget = small ? 6 : 14;
        p->body[k] = statements_of((struct place){.depth = 2, .mask = NONE, .may_leave = rnd(2)}, 6);
        p->nfunc = k + 1; /* those that come later may call it */
    }
    p->nfunc = nfunc;
    budget = small ? 4 + (int)rnd(14) : 10 + (int)rnd(50);
    p->body[NFUNCS] = statements_of(
        (struct place){
            .depth = 3, .kernel = true, .uniform = true, .mask = together ? V_MASK : NONE, .may_leave = !together},
        8);
}
