/* The MUSA emitter: a function's blocks with their control flow flattened, for compilers that break down on nested
 * conditions, breaks or returns. A variable says which block is next; the blocks stand in one row, each under `if`, and
 * a natural loop is a `while` around its part of the row. So threads that go apart meet again behind every `if` and
 * every loop, as in the usual form: a barrier has all of them, which a switch in a loop would not promise. */
#include "ptx/musa/emit/blocks.h"

#include <string.h>

enum { NESTED = 200 /* braces: clang gives up at 256 */ };

struct flat {
    struct mu_emit *e;
    struct mu_blocks b;
    uint32_t *place; /* by block: in the row */
    unsigned nested;
};

static uint32_t place_of(const struct flat *f, uint32_t insn) { return f->place[f->e->block[insn]]; }

static void choice(struct flat *f, const struct lir_insn *i)
{
    struct mu_emit *e = f->e;
    const struct lir_table *t = LIR_AT(e->image, tables, struct lir_table) + i->imm;
    const uint32_t *target = LIR_AT(e->image, targets, uint32_t) + t->first;
    mu_put(e, "switch (%s) {\n", mu_get(e, i->a, 'w').s);
    for (uint32_t k = 0; k < t->count; k++)
        mu_put(e, "case %u: block = %u; break;\n", k, place_of(f, target[k]));
    mu_put(e, "default: trap(); block = %u;\n}\n", f->b.count);
}

/* What becomes of the thread: `block` behind the row ends its loops, and what is below them. */
static void leave(struct flat *f, const struct lir_insn *i)
{
    struct mu_emit *e = f->e;
    if (i->op == LIR_TRAP)
        mu_put(e, "trap();\n");
    if (i->op == LIR_RET && e->function && e->fn->ret_size)
        mu_put(e, "copy(out, slot + %u, %u);\n", e->fn->ret, e->fn->ret_size);
    if (i->op != LIR_RET && e->function)
        mu_put(e, "over = 1;\n");
    mu_put(e, "block = %u;\n", f->b.count);
}

static void body(struct flat *f, int32_t v)
{
    struct mu_emit *e = f->e;
    const struct lir_insn *code = mu_code(e);
    const uint32_t last = f->b.first[v + 1] - 1;
    mu_put(e, "if (block == %u) {\n", f->place[v]);
    mu_leave_sums(e, v);
    for (uint32_t k = f->b.first[v]; k <= last; k++) {
        e->at = &code[k];
        if (!mu_ends(code[k].op))
            mu_instruction(e);
    }
    mu_end_copies(e);
    const struct lir_insn *i = e->at = &code[last];
    switch (i->op) {
    case LIR_RET:
    case LIR_EXIT:
    case LIR_TRAP: leave(f, i); break;
    case LIR_BRX: choice(f, i); break;
    case LIR_BRP:
        mu_put(e, "block = %s%s ? %u : %u;\n", i->aux & LIR_BR_NEG ? "!" : "", mu_get(e, i->a, 'p').s,
               place_of(f, (uint32_t)i->imm), place_of(f, last + 1));
        break;
    default: mu_put(e, "block = %u;\n", place_of(f, i->op == LIR_BRA ? (uint32_t)i->imm : last + 1));
    }
    mu_put(e, "}\n");
}

static uint32_t end_of_loop(const struct flat *f, uint32_t k)
{
    uint32_t end = k;
    while (end < f->b.count && mu_in_loop(&f->b, f->b.order[k], f->b.order[end]))
        end++;
    return end;
}

/* Blocks from..end - 1 of the row, all of them in the loop of `header` (-1: the function). */
static void row(struct flat *f, uint32_t from, uint32_t end, int32_t header)
{
    if (f->nested++ >= NESTED)
        mu_fail(f->e, "loops nested too deep");
    for (uint32_t k = from; k < end;) {
        const int32_t v = f->b.order[k];
        if (mu_is_header(&f->b, v) && v != header) {
            const uint32_t behind = end_of_loop(f, k);
            mu_put(f->e, "while (block >= %u && block < %u) {\n", k, behind);
            row(f, k, behind, v);
            mu_put(f->e, "}\n");
            k = behind;
        } else {
            body(f, v);
            k++;
        }
    }
    f->nested--;
}

/* Somebody jumps back to a block that is no header of a loop around it. */
static bool irreducible(const struct flat *f)
{
    for (uint32_t k = 0; k < f->b.count; k++) {
        const int32_t v = f->b.order[k];
        for (uint32_t s = f->b.g.first[v]; s < f->b.g.first[v + 1]; s++) {
            const int32_t w = f->b.g.succ[s];
            if (f->place[w] <= k && !(mu_is_header(&f->b, w) && mu_in_loop(&f->b, w, v)))
                return true;
        }
    }
    return false;
}

void mu_flat(struct mu_emit *e)
{
    struct ptx_ctx *c = &e->graph;
    struct flat *f = PTX_NEW(c, struct flat, 1);
    f->e = e;
    mu_find_blocks(e, c, &f->b);
    f->place = PTX_NEW(c, uint32_t, f->b.n);
    for (uint32_t k = 0; k < f->b.count; k++)
        f->place[f->b.order[k]] = k;
    const bool again = irreducible(f);
    mu_put(e, e->function ? "u32 block = 0, over = 0;\n" : "u32 block = 0;\n");
    if (again)
        mu_put(e, "while (block < %u) {\n", f->b.count);
    row(f, 0, f->b.count, -1);
    mu_put(e, again ? "}\n" : "");
    if (e->function)
        mu_put(e, "return over;\n");
    e->at = NULL;
}
