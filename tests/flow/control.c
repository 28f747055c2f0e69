/* Random statements: branches, loops, switches, and what leaves them. */
#include <string.h>

#include "flow/generate.h"

int budget;
static bool counted[MAX_LOOPS]; /* a next round of the loop is one of few */

static struct node *node(enum kind kind)
{
    struct node *n = &prog->node[prog->nnode++];
    memset(n, 0, sizeof *n);
    n->kind = kind;
    n->op = make(OP_MOVE, NONE, NONE, NONE, 0);
    budget--;
    return n;
}

struct node *instruction(struct op op)
{
    struct node *n = node(N_OP);
    n->op = op;
    return n;
}

/* The lanes' masks on the two sides of a condition; statements that compute them stand in front. */
static int split(struct cond *c, int mask, bool not )
{
    int m = V_MASK + prog->nmask;
    if (prog->nmask + 2 > NMASK || c->nop + 2 > COND_OPS)
        return NONE;
    prog->nmask++;
    struct op ballot = make(OP_BALLOT, m, c->flag, NONE, 0);
    ballot.c = mask;
    add(c, ballot);
    if (not )
        add(c, make(OP_XOR, m, m, mask, 0));
    return m;
}

struct node *make_branch(struct place w)
{
    struct node *n = node(N_IF);
    struct place in = w;
    in.depth--;
    if (w.kernel && rnd(3) == 0) {
        n->cond[0] = uniform_cond();
    } else {
        n->cond[0] = own_cond(w);
        in.uniform = false;
        in.mask = NONE;
    }
    n->nkid = 1 + (int)rnd(2);
    struct place other = in;
    if (!in.uniform && w.mask != NONE && !n->cond[0].uniform && rnd(2))
        in.mask = split(&n->cond[0], w.mask, n->cond[0].not );
    for (int k = 0; k < n->nkid; k++)
        n->kid[k] = statements(k ? other : in);
    return n;
}

static struct place inside(struct place w, int loop, bool uniform, bool exits)
{
    w.depth--;
    if (!uniform) {
        w.uniform = false;
        w.mask = NONE;
    }
    if (exits && w.nloop < 8 && !uniform)
        w.loops[w.nloop++] = loop;
    if (uniform) { /* nobody leaves it alone */
        w.nloop = 0;
        w.may_leave = false;
    }
    return w;
}

struct node *make_jump(struct place w)
{
    struct node *n = node(N_JUMP);
    n->cond[0] = own_cond(w);
    n->loop = w.loops[rnd(3) ? w.nloop - 1 : (int)rnd((uint32_t)w.nloop)];
    n->form = (int)rnd(3);
    if (n->form && !counted[n->loop])
        n->cond[0] = lcg_cond(any_int());
    return n;
}

struct node *make_leave(struct place w)
{
    struct node *n = node(N_LEAVE);
    n->cond[0] = own_cond(w);
    n->form = (int)rnd(2);
    n->op = make(rnd(2) ? OP_RETURN : OP_EXIT, NONE, NONE, NONE, 0);
    return n;
}

struct node *make_loop(struct place w)
{
    struct node *n = node(N_LOOP);
    bool uniform = w.uniform && rnd(2), by_vote = !uniform && w.mask != NONE && rnd(2);
    int i = new_counter();
    n->loop = prog->nloop++;
    n->form = (int)rnd(4);
    n->op = make(OP_MOVE, i, NONE, NONE, 0);
    n->nkid = 1;
    if (by_vote) { /* the lanes of the mask stay together */
        struct place in = inside(w, n->loop, true, false);
        n->form = rnd(2) ? LOOP_WHILE : LOOP_DO;
        n->cond[0] = voted(i, w.mask);
        in.uniform = false;
        in.mask = w.mask;
        n->kid[0] = statements(in);
        return n;
    }
    n->cond[0] = !uniform && rnd(4) == 0 && n->form != LOOP_FOREVER ? lcg_cond(any_int()) : counting(i, uniform);
    n->cond[1] = uniform ? uniform_cond() : own_cond(w);
    counted[n->loop] = n->form != LOOP_FOREVER;
    struct place in = inside(w, n->loop, uniform, true);
    n->kid[0] = statements(in);
    if (n->form == LOOP_FOREVER) { /* ends by a break, in front of the body or after it */
        struct node *out = node(N_JUMP), *last = n->kid[0];
        out->cond[0] = n->cond[0];
        out->cond[0].not = !out->cond[0].not ;
        out->loop = n->loop;
        if (rnd(2)) {
            out->next = n->kid[0];
            n->kid[0] = out;
        } else {
            while (last->next)
                last = last->next;
            last->next = out;
        }
    }
    return n;
}

/* for (i < n) { do s = lcg(s); while (bit); ... }: both back edges go to one label; or three. */
struct node *make_share(struct place w)
{
    struct node *n = node(N_SHARE);
    int i = new_count(), fuel = NONE;
    n->loop = prog->nloop++;
    n->op = make(OP_MOVE, i, NONE, NONE, 0);
    n->nkid = 2 + (int)rnd(rnd(3) ? 2 : KIDS - 2);
    counted[n->loop] = false;
    struct place in = inside(w, n->loop, false, true);
    for (int k = 0; k < n->nkid; k++) {
        bool last = k + 1 == n->nkid;
        n->cond[k] = last ? counting(i, w.uniform && rnd(2)) : rnd(3) ? lcg_cond(any_int()) : own_cond(w);
        n->cond[k].uniform = false;
        if (!last && n->cond[k].op[0].op != OP_MUL) { /* what may stay true needs an end */
            fuel = fuel == NONE ? new_count() : fuel;
            n->cond[k] = fuel_cond(fuel);
            n->cond[k].op[0] = make(OP_ADD, fuel, fuel, NONE, 1);
            n->cond[k].op[1] = make(OP_AND, new_count(), fuel, NONE, 1 + 2 * rnd(2));
            n->cond[k].op[2] = make(OP_SETP, n->cond[k].flag, n->cond[k].op[1].d, NONE, 0);
            n->cond[k].op[2].sub = CMP_NE;
            n->cond[k].nop = 3;
        }
        n->kid[k] = rnd(3) || last ? statements_of(in, last ? 4 : 2) : NULL;
    }
    return n;
}

struct node *make_tangle(struct place w)
{
    struct node *n = node(N_TANGLE);
    int fuel = new_count();
    n->nkid = 2 + (int)rnd(2);
    n->form = 1 + (int)rnd((uint32_t)n->nkid - 1);
    n->op = make(OP_MOVE, fuel, NONE, NONE, 0);
    n->cond[0] = counting(fuel, false);
    n->cond[0].uniform = false;
    n->cond[1] = own_cond(w);
    struct place in = inside(w, NONE, false, false);
    for (int k = 0; k < n->nkid; k++)
        n->kid[k] = statements_of(in, 3);
    return n;
}

struct node *make_knot(struct place w)
{
    struct node *n = node(N_GRAPH);
    int fuel = new_count();
    n->nkid = 2 + (int)rnd(KIDS - 1);
    n->op = make(OP_MOVE, fuel, NONE, NONE, 3 + rnd(12));
    struct place in = inside(w, NONE, false, false);
    for (int k = 0; k < n->nkid; k++) {
        struct cond *c = &n->cond[k];
        int t = new_count();
        *c = fuel_cond(fuel);
        add(c, make(OP_SHR, t, any_int(), NONE, rnd(12)));
        add(c, make(OP_AND, t, t, NONE, 3));
        struct op two = make(OP_SETP, new_flag(), t, NONE, 1 + rnd(2));
        two.sub = CMP_LT;
        add(c, two);
        n->table[k] = rnd(5) == 0;
        for (int i = 0; i < 3; i++)
            n->target[k][i] = (int8_t)((int)rnd((uint32_t)n->nkid + 1) - 1);
        n->kid[k] = statements_of(in, 2);
    }
    return n;
}

struct node *make_switch(struct place w)
{
    struct node *n = node(N_SWITCH);
    int t = new_count();
    n->nkid = 2 + (int)rnd(KIDS - 1);
    bool uniform = w.kernel && rnd(4) == 0;
    int v = uniform ? any_uniform() : any_int();
    add(&n->cond[0], make(OP_AND, t, v, NONE, 7));
    add(&n->cond[0], make(OP_MIN, t, t, NONE, (uint32_t)n->nkid - 1));
    n->cond[0].flag = t;
    n->table[0] = rnd(2);
    n->through = rnd(2);
    struct place in = w;
    in.depth--;
    if (!uniform) {
        in.uniform = false;
        in.mask = NONE;
    }
    for (int k = 0; k < n->nkid; k++) {
        if (k)
            n->cond[k].flag = new_flag();
        n->target[k][0] = rnd(3) == 0;
        n->kid[k] = statements_of(in, 3);
    }
    return n;
}
