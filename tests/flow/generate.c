/* Makes random programs. Every loop ends soon: it counts, burns fuel, or waits for a bit of a
 * generator of random numbers of full period; what still runs long the reference refuses. */
#include <string.h>

#include "flow/flow.h"

static struct program *prog;
static uint64_t state;
static int budget;              /* of nodes */
static uint32_t nint;           /* variables in use: the others stay what they are */
static bool counted[MAX_LOOPS]; /* a next round of the loop is one of few */

static uint32_t rnd(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Where statements stand. */
struct place {
    int depth;
    bool kernel;  /* not a function */
    bool uniform; /* all threads of the block take the same way here */
    int mask;     /* of the lanes that are here, all of which come by; NONE: not known */
    int loops[8]; /* that may be left from here, the innermost last */
    int nloop;
    bool may_leave;
};

/* ---- variables ---- */

static int count(void)
{
    return V_COUNT + (prog->ncount < NCOUNT - 1 ? prog->ncount++ : prog->ncount);
}
static int flag(void)
{
    return V_FLAG + (prog->nflag < NFLAG - 1 ? prog->nflag++ : prog->nflag);
}
static int any_int(void)
{
    return V_INT + (int)rnd(nint);
}
static int any_pred(void)
{
    return V_PRED + (int)rnd(NPRED);
}
static int any_uniform(void)
{
    return V_UNI + (int)rnd(NUNI);
}
static int any_source(void)
{
    return rnd(4) ? any_int() : any_uniform();
}

static struct op make(enum opcode op, int d, int a, int b, uint32_t imm)
{
    return (struct op){
        .op = (uint8_t)op, .d = d, .a = a, .b = b, .c = NONE, .guard = NONE, .imm = imm};
}

/* ---- conditions ---- */

static void add(struct cond *c, struct op op)
{
    if (c->nop < COND_OPS)
        c->op[c->nop++] = op;
}

static void add_setp(struct cond *c, enum compare cmp, int a, int b, uint32_t imm)
{
    struct op op = make(OP_SETP, c->flag, a, b, imm);
    op.sub = (uint8_t)cmp;
    add(c, op);
}

static void memory_cond(struct cond *c, struct place w)
{
    int v = count(), t = count();
    uint8_t space = w.kernel ? (uint8_t)rnd(3) : SP_GLOBAL;
    struct op op;
    switch (rnd(3)) {
    case 0:
        op = make(OP_INPUT, v, any_source(), NONE, rnd(INPUTS));
        break;
    case 1:
        op = make(OP_LOAD, v, rnd(2) ? any_int() : NONE, NONE, rnd(SLOTS));
        break;
    default:
        op = make(OP_ATOM, v, rnd(2) ? any_int() : NONE, any_int(), rnd(SLOTS));
        break;
    }
    op.sub = op.op == OP_ATOM && space == SP_LOCAL ? SP_GLOBAL : space;
    op.vol = rnd(2);
    add(c, op);
    add(c, make(OP_AND, t, v, NONE, 1u << rnd(6)));
    add_setp(c, CMP_EQ, t, NONE, 0);
}

/* A condition that any thread may see its own way. */
static struct cond own_cond(struct place w)
{
    struct cond c = {.flag = flag(), .not = rnd(2)};
    int t = count();
    switch (rnd(9)) {
    case 0:
        c.flag = any_pred();
        break;
    case 1:
        add_setp(&c, (enum compare)rnd(6), any_int(), any_source(), 0);
        break;
    case 2:
        add_setp(&c, (enum compare)(2 + rnd(4)), V_WIDE + (int)rnd(NWIDE), V_WIDE + (int)rnd(NWIDE),
                 0);
        break;
    case 3:
        add_setp(&c, (enum compare)rnd(6), V_FLOAT + (int)rnd(NFLOAT), NONE, rnd(200));
        break;
    case 4:
    case 5:
        memory_cond(&c, w);
        break;
    case 6: {
        int other = flag();
        add_setp(&c, (enum compare)rnd(6), any_int(), any_source(), 0);
        add(&c, make(rnd(2) ? OP_AND : rnd(2) ? OP_OR : OP_XOR, other, c.flag, any_pred(), 0));
        c.flag = other;
        break;
    }
    default:
        add(&c, make(OP_AND, t, any_int(), NONE, 1u << rnd(12) | (rnd(2) ? 1u << rnd(32) : 0)));
        add_setp(&c, rnd(2) ? CMP_EQ : CMP_NE, t, NONE, 0);
    }
    return c;
}

static struct cond uniform_cond(void)
{
    struct cond c = {.flag = flag(), .not = rnd(2), .uniform = rnd(2)};
    int t = count();
    add(&c, make(OP_AND, t, any_uniform(), NONE, 1u << rnd(5)));
    add_setp(&c, rnd(2) ? CMP_EQ : CMP_NE, t, NONE, 0);
    return c;
}

/* --*fuel != 0 */
static struct cond fuel_cond(int fuel)
{
    struct cond c = {.flag = flag()};
    add(&c, make(OP_SUB, fuel, fuel, NONE, 1));
    add_setp(&c, CMP_NE, fuel, NONE, 0);
    return c;
}

/* s = lcg(s), and then a bit of s: the waits that nvcc folds into the loop around. */
static struct cond lcg_cond(int s)
{
    struct cond c = {.flag = flag()};
    int t = count();
    uint32_t bit = 1u << (12 + rnd(18));
    add(&c, make(OP_MUL, s, s, NONE, 1664525));
    add(&c, make(OP_ADD, s, s, NONE, 1013904223));
    add(&c, make(OP_AND, t, s, NONE, rnd(3) ? bit : bit | bit << 1));
    add_setp(&c, rnd(4) ? CMP_NE : CMP_EQ, t, NONE, 0);
    if (c.op[3].sub == CMP_EQ)
        c.op[2].imm = bit;
    return c;
}

/* ++i < limit, for rounds of a loop; uniform: as many in every thread. */
static struct cond counting(int i, bool uniform)
{
    struct cond c = {.flag = flag(), .uniform = uniform && rnd(2)};
    int limit = count();
    add(&c, make(OP_ADD, i, i, NONE, 1));
    if (rnd(2)) {
        add_setp(&c, CMP_LT, i, NONE, 2 + rnd(4));
        if (uniform || rnd(3))
            return c;
        c.nop = 1;
    }
    add(&c, make(OP_AND, limit, uniform ? any_uniform() : any_int(), NONE, 3));
    add(&c, make(OP_MIN, limit, limit, NONE,
                 3)); /* against a change of the variable: at most so many */
    add_setp(&c, CMP_LE, i, limit, 0);
    return c;
}

/* ---- statements ---- */

static struct node *node(enum kind kind)
{
    struct node *n = &prog->node[prog->nnode++];
    memset(n, 0, sizeof *n);
    n->kind = kind;
    n->op = make(OP_MOVE, NONE, NONE, NONE, 0);
    budget--;
    return n;
}

static struct node *instruction(struct op op)
{
    struct node *n = node(N_OP);
    n->op = op;
    return n;
}

static struct op arithmetic(struct place w)
{
    uint32_t what = rnd(20);
    enum opcode op = (enum opcode)rnd(OP_MOVE);
    bool shift = op == OP_SHR || op == OP_SHL;
    int v;
    if (w.uniform && what < 3)
        return make(op, any_uniform(), any_uniform(), shift || rnd(2) ? NONE : any_uniform(),
                    shift ? rnd(8) : rnd(100));
    switch (what) {
    case 3:
        v = V_WIDE;
        return make(op, v + (int)rnd(NWIDE), v + (int)rnd(NWIDE),
                    shift || rnd(2) ? NONE : v + (int)rnd(NWIDE), rnd(30));
    case 4:
        v = V_SHORT;
        return make(op, v + (int)rnd(NSHORT), v + (int)rnd(NSHORT),
                    shift || rnd(2) ? NONE : v + (int)rnd(NSHORT), rnd(15));
    case 5:
    case 6:
        v = V_FLOAT;
        return make(op, v + (int)rnd(NFLOAT), v + (int)rnd(NFLOAT),
                    rnd(2) ? NONE : v + (int)rnd(NFLOAT), rnd(30));
    case 7:
        return make(OP_MOVE, V_WIDE + (int)rnd(NWIDE), any_int(), NONE, 0);
    case 8:
        return make(OP_MOVE, any_int(), (int)(rnd(2) ? V_WIDE + rnd(NWIDE) : V_SHORT + rnd(NSHORT)),
                    NONE, 0);
    case 9:
        return make(OP_MOVE, V_SHORT + (int)rnd(NSHORT), any_int(), NONE, 0);
    case 10:
        return make(OP_MOVE, rnd(2) ? V_FLOAT + (int)rnd(NFLOAT) : any_int(),
                    rnd(2) ? any_int() : V_FLOAT + (int)rnd(NFLOAT), NONE, 0);
    case 11: {
        struct op s = make(OP_SETP, any_pred(), any_int(), rnd(2) ? any_source() : NONE, rnd(300));
        s.sub = (uint8_t)rnd(6);
        return s;
    }
    case 12:
        return make(rnd(2)   ? OP_XOR
                    : rnd(2) ? OP_AND
                             : OP_OR,
                    any_pred(), any_pred(), any_pred(), 0);
    case 13: {
        struct op s = make(OP_SELECT, any_int(), any_int(), any_source(), 0);
        s.c = any_pred();
        return s;
    }
    case 14:
        return make(OP_MOVE, any_int(), rnd(2) ? any_uniform() : NONE, NONE, rnd(1000));
    default:
        return make(op, any_int(), any_int(), shift || rnd(3) == 0 ? NONE : any_source(),
                    shift ? rnd(32) : rnd(1000));
    }
}

static struct op memory(struct place w)
{
    uint8_t space = w.kernel ? (uint8_t)rnd(3) : SP_GLOBAL;
    struct op op;
    switch (rnd(6)) {
    case 0:
        op = make(OP_INPUT, any_int(), any_source(), NONE, rnd(INPUTS));
        break;
    case 1:
    case 2:
        op = make(OP_LOAD, any_int(), rnd(2) ? any_int() : NONE, NONE, rnd(SLOTS));
        break;
    case 3:
        op = make(OP_STORE, NONE, rnd(2) ? any_int() : NONE, any_source(), rnd(SLOTS));
        break;
    case 4:
        op = make(OP_ATOM, any_int(), rnd(2) ? any_int() : NONE, any_source(), rnd(SLOTS));
        break;
    default:
        return make(OP_RED, NONE, any_source(), any_source(), rnd(ACC_KINDS));
    }
    op.sub = op.op == OP_ATOM && space == SP_LOCAL ? SP_SHARED : space;
    op.vol = rnd(3) == 0;
    return op;
}

/* Lanes together, then the block together, where it is known who is here. */
static struct node *collective(struct place w)
{
    struct op op;
    if (w.uniform && rnd(2)) {
        uint32_t what = rnd(4);
        if (what == 0)
            return instruction(make(OP_PEER, any_int(), any_int(), any_int(), rnd(SLOTS)));
        if (what == 1)
            return instruction(make(OP_BAR, NONE, NONE, NONE, 0));
        op = make(OP_BAR_RED, what == 2 ? any_uniform() : any_pred(), any_pred(), NONE, 0);
        op.sub = what == 2 ? 2 : (uint8_t)rnd(2);
        return instruction(op);
    }
    switch (rnd(5)) {
    case 0:
        op = make(OP_SYNC, NONE, NONE, NONE, 0);
        break;
    case 1:
        op = make(OP_BALLOT, any_int(), any_pred(), NONE, 0);
        break;
    case 2:
        op = make(OP_VOTE, any_pred(), any_pred(), NONE, 0);
        break;
    case 3:
        op = make(OP_REDUX, any_int(), any_int(), NONE, 0);
        break;
    default:
        op = make(OP_SHUFFLE, any_int(), any_int(), any_int(), 0);
    }
    op.sub = (uint8_t)rnd(3);
    op.c = w.mask;
    return instruction(op);
}

static struct node *statements(struct place w);
static struct node *statements_of(struct place w, int most);

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

static struct node *branch(struct place w)
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

static struct node *jump(struct place w)
{
    struct node *n = node(N_JUMP);
    n->cond[0] = own_cond(w);
    n->loop = w.loops[rnd(3) ? w.nloop - 1 : (int)rnd((uint32_t)w.nloop)];
    n->form = (int)rnd(3);
    if (n->form && !counted[n->loop])
        n->cond[0] = lcg_cond(any_int());
    return n;
}

static struct node *leave(struct place w)
{
    struct node *n = node(N_LEAVE);
    n->cond[0] = own_cond(w);
    n->form = (int)rnd(2);
    n->op = make(rnd(2) ? OP_RETURN : OP_EXIT, NONE, NONE, NONE, 0);
    return n;
}

static struct node *loop(struct place w)
{
    struct node *n = node(N_LOOP);
    bool uniform = w.uniform && rnd(2);
    int i = count();
    n->loop = prog->nloop++;
    n->form = (int)rnd(4);
    n->op = make(OP_MOVE, i, NONE, NONE, 0);
    n->nkid = 1;
    n->cond[0] = !uniform && rnd(4) == 0 && n->form != LOOP_FOREVER ? lcg_cond(any_int())
                                                                    : counting(i, uniform);
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
static struct node *share(struct place w)
{
    struct node *n = node(N_SHARE);
    int i = count(), fuel = NONE;
    n->loop = prog->nloop++;
    n->op = make(OP_MOVE, i, NONE, NONE, 0);
    n->nkid = 2 + (int)rnd(2);
    counted[n->loop] = false;
    struct place in = inside(w, n->loop, false, true);
    for (int k = 0; k < n->nkid; k++) {
        bool last = k + 1 == n->nkid;
        n->cond[k] = last     ? counting(i, w.uniform && rnd(2))
                     : rnd(3) ? lcg_cond(any_int())
                              : own_cond(w);
        n->cond[k].uniform = false;
        if (!last && n->cond[k].op[0].op != OP_MUL) { /* what may stay true needs an end */
            fuel = fuel == NONE ? count() : fuel;
            n->cond[k] = fuel_cond(fuel);
            n->cond[k].op[0] = make(OP_ADD, fuel, fuel, NONE, 1);
            n->cond[k].op[1] = make(OP_AND, count(), fuel, NONE, 1 + 2 * rnd(2));
            n->cond[k].op[2] = make(OP_SETP, n->cond[k].flag, n->cond[k].op[1].d, NONE, 0);
            n->cond[k].op[2].sub = CMP_NE;
            n->cond[k].nop = 3;
        }
        n->kid[k] = rnd(3) || last ? statements_of(in, last ? 4 : 2) : NULL;
    }
    return n;
}

static struct node *tangle(struct place w)
{
    struct node *n = node(N_TANGLE);
    int fuel = count();
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

static struct node *knot(struct place w)
{
    struct node *n = node(N_GRAPH);
    int fuel = count();
    n->nkid = 2 + (int)rnd(KIDS - 1);
    n->op = make(OP_MOVE, fuel, NONE, NONE, 3 + rnd(12));
    struct place in = inside(w, NONE, false, false);
    for (int k = 0; k < n->nkid; k++) {
        struct cond *c = &n->cond[k];
        int t = count();
        *c = fuel_cond(fuel);
        add(c, make(OP_SHR, t, any_int(), NONE, rnd(12)));
        add(c, make(OP_AND, t, t, NONE, 3));
        struct op two = make(OP_SETP, flag(), t, NONE, 1 + rnd(2));
        two.sub = CMP_LT;
        add(c, two);
        n->table[k] = rnd(5) == 0;
        for (int i = 0; i < 3; i++)
            n->target[k][i] = (int8_t)((int)rnd((uint32_t)n->nkid + 1) - 1);
        n->kid[k] = statements_of(in, 2);
    }
    return n;
}

static struct node *cases(struct place w)
{
    struct node *n = node(N_SWITCH);
    int t = count();
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
            n->cond[k].flag = flag();
        n->target[k][0] = rnd(3) == 0;
        n->kid[k] = statements_of(in, 3);
    }
    return n;
}

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
        return branch(w);
    if (what < 7 && deep)
        return loop(w);
    if (what < 9 && deep)
        return share(w);
    if (what == 9 && deep)
        return rnd(2) ? tangle(w) : knot(w);
    if (what == 10 && deep)
        return cases(w);
    if (what < 13 && w.nloop)
        return jump(w);
    if (what == 13 && w.may_leave && rnd(3) == 0)
        return leave(w);
    if (what < 16 && w.mask != NONE)
        return collective(w);
    if (what == 16 && prog->nfunc && w.kernel && budget > 0)
        return call(w);
    return simple(w);
}

static struct node *statements_of(struct place w, int most)
{
    struct node *first = NULL, **end = &first;
    for (int n = 1 + (int)rnd((uint32_t)most); n-- && prog->nnode < ENOUGH_NODES;) {
        *end = statement(w);
        while (*end)
            end = &(*end)->next;
    }
    return first ? first : instruction(arithmetic(w));
}

static struct node *statements(struct place w)
{
    return statements_of(w, 5);
}

void generate(struct program *p, uint64_t seed)
{
    static const uint32_t shapes[][3] = {
        {32, 1, 1}, {64, 1, 1}, {96, 1, 1},  {128, 1, 1}, {32, 2, 1}, {16, 4, 1}, {48, 2, 1},
        {17, 1, 1}, {40, 1, 1}, {100, 1, 1}, {1, 1, 1},   {8, 4, 1},  {10, 5, 1}, {7, 2, 3}};
    memset(p, 0, sizeof *p);
    prog = p;
    p->seed = seed;
    state = seed * 2654435761u + 777;
    for (int k = 0; k < 5; k++)
        rnd(2);
    p->nmask = 1;
    memcpy(p->block, shapes[rnd(2) ? rnd(4) : rnd(sizeof shapes / sizeof shapes[0])],
           sizeof p->block);
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
        p->body[k] =
            statements_of((struct place){.depth = 2, .mask = NONE, .may_leave = rnd(2)}, 6);
        p->nfunc = k; /* the kernel alone calls */
    }
    p->nfunc = nfunc;
    budget = small ? 4 + (int)rnd(14) : 10 + (int)rnd(50);
    p->body[NFUNCS] = statements_of((struct place){.depth = 3,
                                                   .kernel = true,
                                                   .uniform = true,
                                                   .mask = together ? V_MASK : NONE,
                                                   .may_leave = !together},
                                    8);
}
