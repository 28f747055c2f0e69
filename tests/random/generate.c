/* Generates random PTX kernels: the control flow, structured and not, and what stands in it. Member
 * masks name exactly the lanes that come. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "random/generate.h"

struct program *prog;
static uint64_t state;

uint32_t rnd(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* ---- items ---- */

static char text[8192];
static size_t at;

void say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + at, sizeof text - at, fmt, ap);
    va_end(ap);
    if (n > 0 && at + (size_t)n < sizeof text)
        at += (size_t)n;
}
static int construct; /* around what is being said, -1 = none */

static void put(bool own)
{
    if (at && prog->nitem < MAX_ITEMS) {
        prog->owner[prog->nitem] = construct;
        prog->own[prog->nitem] = own;
        prog->item[prog->nitem++] = strdup(text);
    }
    at = 0;
}
void done(void) { put(false); }
void part(void) { put(true); } /* of the construct itself */

/* Where statements stand. */
struct place {
    int depth;
    int mask;       /* register of the lanes that are all here; -1: who is here is not known */
    bool uniform;   /* the whole block is here */
    int out, again; /* labels a lane may leave to, -1 = none */
};
static void statements(struct place w);

/* ---- control flow ---- */

static void label(unsigned l)
{
    say("L%u:\n", l);
    part();
}

static void branch(struct place w)
{
    unsigned other = prog->nlabel++, end = prog->nlabel++, p = any(POOL_PRED);
    struct place then = w, otherwise = w;
    then.depth = otherwise.depth = w.depth - 1;
    if (w.uniform && rnd(2)) { /* the block goes one way */
        say("and.b32 %%t0, %%u%u, %u;\nsetp.eq.u32 %%q0, %%t0, 0;\n@%%q0 bra%s L%u;\n", any(POOL_UNIFORM), 1u << rnd(4),
            rnd(2) ? ".uni" : "", other);
    } else {
        then.uniform = otherwise.uniform = false;
        if (w.mask >= 0) {
            then.mask = (int)prog->nmask++;
            otherwise.mask = (int)prog->nmask++;
            say("vote.sync.ballot.b32 %%m%d, %%p%u, %%m%d;\nnot.b32 %%m%d, %%m%d;\nand.b32 %%m%d, "
                "%%m%d, %%m%d;\n",
                then.mask, p, w.mask, otherwise.mask, then.mask, otherwise.mask, otherwise.mask, w.mask);
        }
        say("@!%%p%u bra L%u;\n", p, other);
    }
    part();
    statements(then);
    if (rnd(2)) {
        say("bra L%u;\n", end);
        part();
        label(other);
        statements(otherwise);
    } else {
        label(other);
    }
    label(end);
}

/* At most four rounds, how many may differ from block to block or lane to lane. */
static void loop(struct place w)
{
    unsigned top = prog->nlabel++, out = prog->nlabel++, again = prog->nlabel++, c = prog->ncount++;
    bool uniform = w.uniform && rnd(2), known = w.mask >= 0 && rnd(4);
    struct place in = w;
    in.depth--;
    if (!uniform) {
        in.uniform = false;
        in.mask = known ? (int)prog->nmask++ : -1;
        if (!known && may(GEN_JUMPS)) {
            in.out = (int)out;
            in.again = (int)again;
        }
        if (known)
            say("mov.u32 %%m%d, %%m%d;\n", in.mask, w.mask);
    }
    say("mov.u32 %%c%u, 0;\nL%u:\n", c, top);
    part();
    if (uniform && rnd(2)) {
        say("@%%q2 bra L%u;\n", out); /* %q2 is false: a way out that is never taken */
        part();
    }
    statements(in);
    if (in.again >= 0 && in.again == (int)again)
        label(again);
    if (uniform)
        say("and.b32 %%t0, %%u%u, 3;\n", any(POOL_UNIFORM));
    else
        say("and.b32 %%t0, %s, 3;\n", reg(POOL_INT));
    say("add.u32 %%c%u, %%c%u, 1;\nsetp.lt.u32 %%q0, %%c%u, %%t0;\n", c, c, c);
    /* a bound of its own: rounds end though the body changes the registers */
    say("setp.lt.u32 %%q1, %%c%u, 4;\nand.pred %%q0, %%q0, %%q1;\n", c);
    if (known && !uniform)
        say("vote.sync.ballot.b32 %%m%d, %%q0, %%m%d;\n", in.mask, in.mask);
    say("@%%q0 bra L%u;\n", top);
    part();
    if (rnd(3) == 0) {
        say("add.u32 %s, %%c%u, %s;\n", reg(POOL_INT), c, reg(POOL_INT));
        part();
    }
    label(out);
}

/* A loop with two entries. */
static void irreducible(struct place w)
{
    unsigned a = prog->nlabel++, b = prog->nlabel++, c = prog->ncount++;
    struct place in = {.depth = w.depth - 1, .mask = -1, .out = -1, .again = -1};
    say("mov.u32 %%c%u, 0;\n@%s bra L%u;\n", c, reg(POOL_PRED), b);
    part();
    label(a);
    statements(in);
    label(b);
    statements(in);
    say("add.u32 %%c%u, %%c%u, 1;\nand.b32 %%t0, %s, 3;\nmin.u32 %%t0, %%t0, 3;\n"
        "setp.lt.u32 %%q0, %%c%u, %%t0;\n@%%q0 bra L%u;\n",
        c, c, reg(POOL_INT), c, a);
    part();
}

static void table(struct place w)
{
    unsigned n = 2 + rnd(4), first = prog->nlabel, end;
    struct place in = {.depth = w.depth - 1, .mask = -1, .out = -1, .again = -1};
    prog->nlabel += n + 2;
    end = first + n;
    say("T%u: .branchtargets ", first);
    for (unsigned k = 0; k < n; k++)
        say("%sL%u", k ? ", " : "", first + k);
    say(";\nrem.u32 %%t0, %s, %u;\nbrx.idx %%t0, T%u;\n", reg(rnd(4) ? POOL_INT : POOL_UNIFORM), n, first);
    part();
    for (unsigned k = 0; k < n; k++) {
        label(first + k);
        statements(in);
        if (rnd(3)) {
            say("bra L%u;\n", end);
            part();
        }
    }
    label(end);
}

static void inside(void (*kind)(struct place), struct place w)
{
    if (prog->nconstruct == MAX_ITEMS)
        return;
    prog->parent[prog->nconstruct] = construct;
    construct = (int)prog->nconstruct++;
    kind(w);
    construct = prog->parent[construct];
}

static void statements(struct place w)
{
    for (int n = 1 + (int)rnd(5); n--;) {
        uint32_t what = rnd(24);
        if (what == 0 && w.depth > 0)
            inside(loop, w);
        else if (what <= 2 && w.depth > 0)
            inside(branch, w);
        else if (what == 3 && w.depth > 0 && may(GEN_ODD))
            inside(rnd(2) ? irreducible : table, w);
        else if (what == 4 && w.out >= 0) {
            say("@%s bra L%d;\n", reg(POOL_PRED), rnd(3) ? w.out : w.again);
            done();
        } else if (what == 5 && may(GEN_JUMPS) && rnd(12) == 0) {
            say("@%s %s;\n", reg(POOL_PRED), rnd(2) ? "ret" : "exit");
            done();
        } else if (what <= 7 && may(GEN_CROSS) && w.mask >= 0)
            collective(w.mask, w.uniform);
        else if (what == 8 && may(GEN_CALLS))
            call();
        else if (what == 9 && may(GEN_ATOMICS))
            atomic();
        else if (what == 10 && w.uniform) {
            say("mad.lo.u32 %%u%u, %%u%u, %u, %%u%u;\n", any(POOL_UNIFORM), any(POOL_UNIFORM), rnd(99),
                any(POOL_UNIFORM));
            done();
        } else if (what > 4 && may(GEN_PLACES) && rnd(2))
            places(w.uniform);
        else if (what <= 13)
            memory(w.uniform);
        else if (what <= 15)
            move();
        else
            arithmetic();
    }
}

/* ---- a program ---- */

void generate(struct program *p, uint64_t seed, unsigned flags)
{
    memset(p, 0, sizeof *p);
    prog = p;
    p->seed = seed;
    p->flags = flags;
    state = seed * 2654435761u + 12345;
    at = 0;
    p->nmask = 1;
    construct = -1;
    choose_layouts();
    functions();
    memcpy(p->functions, text, at + 1);
    at = 0;
    for (int i = 0; i < (may(GEN_SMALL) ? 3 : 5); i++)
        statements((struct place){.depth = may(GEN_SMALL) ? 2 : 3, .mask = 0, .uniform = true, .out = -1, .again = -1});
}
