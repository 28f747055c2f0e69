/* Random numbers, variables and conditions of random programs. */
#include "flow/generate.h"

struct program *prog;
uint64_t state;
uint32_t nint;

uint32_t rnd(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* ---- variables ---- */

int new_count(void) { return V_COUNT + (prog->ncount < NCOUNT - 1 ? prog->ncount++ : prog->ncount); }
int new_flag(void) { return V_FLAG + (prog->nflag < NFLAG - 1 ? prog->nflag++ : prog->nflag); }
/* A loop's counter: of 32 bits, or of another width now and then. */
int new_counter(void)
{
    const uint32_t what = rnd(8);
    if (what == 0 && prog->ncount64 < NCOUNT64)
        return V_COUNT64 + prog->ncount64++;
    if (what == 1 && prog->ncount16 < NCOUNT16)
        return V_COUNT16 + prog->ncount16++;
    return new_count();
}
int any_int(void) { return V_INT + (int)rnd(nint); }
int any_pred(void) { return V_PRED + (int)rnd(NPRED); }
int any_uniform(void) { return V_UNI + (int)rnd(NUNI); }
int any_source(void) { return rnd(4) ? any_int() : any_uniform(); }

struct op make(enum opcode op, int d, int a, int b, uint32_t imm)
{
    return (struct op){.op = (uint8_t)op, .d = d, .a = a, .b = b, .c = NONE, .guard = NONE, .imm = imm};
}

/* ---- conditions ---- */

void add(struct cond *c, struct op op)
{
    if (c->nop < COND_OPS)
        c->op[c->nop++] = op;
}

void add_setp(struct cond *c, enum compare cmp, int a, int b, uint32_t imm)
{
    struct op op = make(OP_SETP, c->flag, a, b, imm);
    op.sub = (uint8_t)cmp;
    add(c, op);
}

static void memory_cond(struct cond *c, struct place w)
{
    int v = new_count(), t = new_count();
    uint8_t space = w.kernel ? (uint8_t)rnd(3) : SP_GLOBAL;
    struct op op;
    switch (rnd(3)) {
    case 0: op = make(OP_INPUT, v, any_source(), NONE, rnd(INPUTS)); break;
    case 1: op = make(OP_LOAD, v, rnd(2) ? any_int() : NONE, NONE, rnd(SLOTS)); break;
    default: op = make(OP_ATOM, v, rnd(2) ? any_int() : NONE, any_int(), rnd(SLOTS * NATOMS)); break;
    }
    op.sub = op.op == OP_ATOM && space == SP_LOCAL ? SP_GLOBAL : space;
    op.vol = rnd(2);
    add(c, op);
    add(c, make(OP_AND, t, v, NONE, 1u << rnd(6)));
    add_setp(c, CMP_EQ, t, NONE, 0);
}

/* A condition that any thread may see its own way. */
struct cond own_cond(struct place w)
{
    struct cond c = {.flag = new_flag(), .not = rnd(2)};
    int t = new_count();
    switch (rnd(9)) {
    case 0: c.flag = any_pred(); break;
    case 1: add_setp(&c, (enum compare)rnd(6), any_int(), any_source(), 0); break;
    case 2: add_setp(&c, (enum compare)(2 + rnd(4)), V_WIDE + (int)rnd(NWIDE), V_WIDE + (int)rnd(NWIDE), 0); break;
    case 3: add_setp(&c, (enum compare)rnd(6), V_FLOAT + (int)rnd(NFLOAT), NONE, rnd(200)); break;
    case 4:
    case 5: memory_cond(&c, w); break;
    case 6: {
        int other = new_flag();
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

struct cond uniform_cond(void)
{
    struct cond c = {.flag = new_flag(), .not = rnd(2), .uniform = rnd(2)};
    int t = new_count();
    add(&c, make(OP_AND, t, any_uniform(), NONE, 1u << rnd(5)));
    add_setp(&c, rnd(2) ? CMP_EQ : CMP_NE, t, NONE, 0);
    return c;
}

/* --*fuel != 0 */
struct cond fuel_cond(int fuel)
{
    struct cond c = {.flag = new_flag()};
    add(&c, make(OP_SUB, fuel, fuel, NONE, 1));
    add_setp(&c, CMP_NE, fuel, NONE, 0);
    return c;
}

/* s = lcg(s), and then a bit of s: the waits that nvcc folds into the loop around. */
struct cond lcg_cond(int s)
{
    struct cond c = {.flag = new_flag()};
    int t = new_count();
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
struct cond counting(int i, bool uniform)
{
    struct cond c = {.flag = new_flag(), .uniform = uniform && rnd(2)};
    int limit = new_count();
    add(&c, make(OP_ADD, i, i, NONE, 1));
    const bool other_width = class_of(i) != C_COUNT;
    if (other_width || rnd(2)) {
        add_setp(&c, CMP_LT, i, NONE, 2 + rnd(4));
        if (other_width || uniform || rnd(3))
            return c;
        c.nop = 1;
    }
    add(&c, make(OP_AND, limit, uniform ? any_uniform() : any_int(), NONE, 3));
    add(&c, make(OP_MIN, limit, limit, NONE, 3)); /* against a change of the variable: at most so many */
    add_setp(&c, CMP_LE, i, limit, 0);
    return c;
}

/* ++i < limit, as long as any (or all, or the same) of the lanes in the mask have a predicate: they
 * leave together. */
struct cond voted(int i, int mask)
{
    struct cond c = {.flag = new_flag()};
    int vote = new_flag(), on = new_flag();
    struct op op = make(OP_VOTE, vote, any_pred(), NONE, 0);
    op.sub = (uint8_t)rnd(3);
    op.c = mask;
    add(&c, op);
    add(&c, make(OP_ADD, i, i, NONE, 1));
    op = make(OP_SETP, on, i, NONE, 2 + rnd(4));
    op.sub = CMP_LT;
    add(&c, op);
    add(&c, make(OP_AND, c.flag, vote, on, 0));
    return c;
}
