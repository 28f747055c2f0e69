/* The MUSA emitter: a function's blocks as loops, conditions and switches, from its dominators and natural
 * loops. No block is written twice. A jump that is neither the end of a condition, nor a break, a continue or a
 * return is a goto: out of several loops at once, and in irreducible graphs. */
#include "ptx/musa/emit/blocks.h"

#include <string.h>

enum {
    NOWHERE = -1,
    NESTED = 60, /* braces: clang gives up at 256 */
    FRAMES = 2 * NESTED,
    RECURSION = 150 /* of tree(): the stacks of the program's threads may be small */
};

/* What a break leaves. header: of the loop; NOWHERE: a switch, or a block (`do` once), in which a continue is none of
 * the loop around it. */
struct frame {
    int32_t header, follow;
    bool block, broken, continued;
    size_t tail, end;    /* `if (...) break;` as the body's last statement */
    struct mu_str again; /* the condition to go round */
};

struct flow {
    struct mu_emit *e;
    struct mu_blocks b;
    uint32_t *depth, *size;      /* in the dominator tree; instructions of the subtree */
    uint32_t *escape;            /* least depth that a jump out of the subtree leads to */
    int32_t *pred;               /* the only predecessor that is not a latch, NOWHERE: several */
    uint8_t *inlined;            /* written where its predecessor jumps */
    int32_t *kid, *after, *next; /* lists: what follows inside a loop, and what follows the loop of this header */
    int32_t *wrap;               /* of these lists the member that a block before it lets break to */
    uint8_t *label;              /* somebody goes there */
    int32_t *later;              /* too deep where they belong: at the function's end */
    uint32_t nlater, nested, recursion, nframe;
    struct frame frame[FRAMES];
};

/* Depths, sizes and exits of the dominators' subtrees, and who comes from one place only. */
static void measure(struct flow *f, struct ptx_ctx *c)
{
    f->depth = PTX_NEW(c, uint32_t, f->b.n);
    f->size = PTX_NEW(c, uint32_t, f->b.n);
    f->escape = PTX_NEW(c, uint32_t, f->b.n);
    f->pred = PTX_NEW(c, int32_t, f->b.n);
    uint8_t *several = PTX_NEW(c, uint8_t, f->b.n);
    memset(f->pred, 0xff, f->b.n * sizeof *f->pred);
    for (uint32_t k = 0; k < f->b.count; k++) {
        const int32_t v = f->b.order[k];
        f->depth[v] = f->b.idom[v] < 0 ? 0 : f->depth[f->b.idom[v]] + 1;
        f->escape[v] = ~0u;
    }
    for (uint32_t k = f->b.count; k-- > 0;) {
        const int32_t v = f->b.order[k];
        f->size[v] += f->b.first[v + 1] - f->b.first[v];
        for (uint32_t s = f->b.g.first[v]; s < f->b.g.first[v + 1]; s++) {
            const int32_t w = f->b.g.succ[s];
            const bool latch = mu_is_header(&f->b, w) && mu_in_loop(&f->b, w, v);
            const uint32_t to = latch || f->b.idom[w] < 0 ? f->depth[w] : f->depth[f->b.idom[w]];
            f->escape[v] = to < f->escape[v] ? to : f->escape[v];
            if (latch)
                continue;
            several[w] |= f->pred[w] >= 0;
            f->pred[w] = v;
        }
        if (f->b.idom[v] >= 0) {
            const int32_t p = f->b.idom[v];
            f->size[p] += f->size[v];
            f->escape[p] = f->escape[v] < f->escape[p] ? f->escape[v] : f->escape[p];
        }
    }
    for (uint32_t v = 0; v < f->b.n; v++)
        if (several[v])
            f->pred[v] = NOWHERE;
}

/* The outermost loop that holds v's dominator and not v; NOWHERE: none. */
static int32_t left_loop(const struct flow *f, int32_t v)
{
    int32_t outermost = NOWHERE;
    for (int32_t h = f->b.loops.header[f->b.idom[v]]; h >= 0 && !mu_in_loop(&f->b, h, v); h = f->b.loops.parent[h])
        outermost = h;
    return outermost;
}

/* Of what follows a loop the largest part stands behind it; a small one that ends by itself stays inside. */
static void place_all(struct flow *f, struct ptx_ctx *c)
{
    uint32_t *largest = PTX_NEW(c, uint32_t, f->b.n);
    f->inlined = PTX_NEW(c, uint8_t, f->b.n);
    f->label = PTX_NEW(c, uint8_t, f->b.n);
    f->kid = PTX_NEW(c, int32_t, f->b.n);
    f->after = PTX_NEW(c, int32_t, f->b.n);
    f->next = PTX_NEW(c, int32_t, f->b.n);
    f->later = PTX_NEW(c, int32_t, f->b.n);
    for (uint32_t v = 0; v < f->b.n; v++)
        f->kid[v] = f->after[v] = f->next[v] = NOWHERE;
    for (uint32_t k = 1; k < f->b.count; k++) {
        const int32_t v = f->b.order[k], h = left_loop(f, v);
        if (h >= 0 && f->size[v] > largest[h])
            largest[h] = f->size[v];
    }
    for (uint32_t k = f->b.count; k-- > 1;) { /* from the end: lists grow at their front */
        const int32_t v = f->b.order[k], h = left_loop(f, v);
        const bool alone = f->pred[v] >= 0;
        int32_t *list = &f->kid[f->b.idom[v]];
        if (h >= 0) {
            f->inlined[v] = alone && f->size[v] < largest[h] && f->escape[v] >= f->depth[v];
            list = &f->after[h];
        } else {
            f->inlined[v] = alone;
        }
        if (!f->inlined[v]) {
            f->next[v] = *list;
            *list = v;
        }
    }
}

/* Jumps from between v and member `to` of its list, of the same loop, that would leave v's part altogether: what
 * a block around that takes the break or the continue from. */
static uint32_t crossed(const struct flow *f, int32_t v, int32_t to)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < f->b.count; k++) {
        const int32_t u = f->b.order[k];
        bool behind = !mu_dominates(&f->b, v, u) || f->b.loops.header[u] != f->b.loops.header[to];
        for (int32_t m = to; m >= 0 && !behind; m = f->next[m])
            behind = mu_dominates(&f->b, m, u);
        for (uint32_t s = f->b.g.first[u]; !behind && s < f->b.g.first[u + 1]; s++)
            sum += f->b.g.succ[s] == v || !mu_dominates(&f->b, v, f->b.g.succ[s]);
    }
    return sum;
}

/* Of a list's members behind its first: who is jumped to most from before the one in front of it. */
static void choose_blocks(struct flow *f, struct ptx_ctx *c)
{
    uint32_t *wanted = PTX_NEW(c, uint32_t, f->b.n);
    int32_t *before = PTX_NEW(c, int32_t, f->b.n);
    f->wrap = PTX_NEW(c, int32_t, f->b.n);
    memset(before, 0xff, f->b.n * sizeof *before);
    for (uint32_t v = 0; v < f->b.n; v++) {
        f->wrap[v] = NOWHERE;
        for (int32_t m = f->kid[v]; m >= 0 && f->next[m] >= 0; m = f->next[m])
            before[f->next[m]] = m;
    }
    for (uint32_t k = 0; k < f->b.count; k++) {
        const int32_t u = f->b.order[k];
        for (uint32_t s = f->b.g.first[u]; s < f->b.g.first[u + 1]; s++) {
            const int32_t w = f->b.g.succ[s];
            wanted[w] += before[w] >= 0 && !mu_dominates(&f->b, before[w], u) && !mu_dominates(&f->b, w, u) &&
                         f->b.loops.header[u] == f->b.loops.header[w];
        }
    }
    for (uint32_t k = 0; k < f->b.count; k++) {
        const int32_t v = f->b.order[k];
        uint32_t most = 0;
        for (int32_t m = f->kid[v]; m >= 0; m = f->next[m])
            if (wanted[m] > most) {
                most = wanted[m];
                f->wrap[v] = m;
            }
        if (most && crossed(f, v, f->wrap[v]) >= most)
            f->wrap[v] = NOWHERE;
    }
}

/* ---- text ---- */

enum how { FALLS, BREAKS, CONTINUES, RETURNS, INLINE, GOES, LATER /* INLINE, were it not too deep */ };

/* Nothing but the end of the thread, or of a function without results. */
static bool only_returns(const struct flow *f, int32_t v)
{
    const struct lir_insn *code = mu_code(f->e);
    uint32_t k = f->b.first[v];
    while (k + 1 < f->b.first[v + 1] && code[k].op == LIR_JOIN)
        k++;
    return k + 1 == f->b.first[v + 1] &&
           (code[k].op == LIR_EXIT || (code[k].op == LIR_RET && !(f->e->function && f->e->fn->ret_size)));
}

static struct frame *innermost_loop(struct flow *f)
{
    uint32_t k = f->nframe;
    while (k && f->frame[k - 1].header < 0 && !f->frame[k - 1].block)
        k--;
    return k && !f->frame[k - 1].block ? &f->frame[k - 1] : NULL;
}

static void push(struct flow *f, struct frame frame)
{
    if (f->nframe == FRAMES)
        mu_fail(f->e, "loops and switches nested too deep");
    f->frame[f->nframe++] = frame;
    f->nested++;
}

static enum how choose_jump(struct flow *f, int32_t from, int32_t to, int32_t next)
{
    struct frame *loop = innermost_loop(f);
    if (to == next)
        return FALLS;
    if (loop && loop->header == to)
        return CONTINUES;
    if (f->nframe && f->frame[f->nframe - 1].follow == to)
        return BREAKS;
    if (f->inlined[to] && f->pred[to] == from)
        return f->nested < NESTED && f->recursion < RECURSION ? INLINE : LATER;
    return only_returns(f, to) ? RETURNS : GOES;
}

/* Writes the way to a block: nothing where control falls there or the block follows in place, else break, continue,
 * return or goto. */
static void jump(struct flow *f, int32_t to, enum how how)
{
    struct mu_emit *e = f->e;
    switch (how) {
    case FALLS:
    case INLINE: return;
    case BREAKS:
        f->frame[f->nframe - 1].broken = true;
        mu_put(e, "break;\n");
        return;
    case CONTINUES:
        innermost_loop(f)->continued = true;
        mu_put(e, "continue;\n");
        return;
    case RETURNS:
        mu_put(e, !e->function                                           ? "return;\n"
                  : mu_code(f->e)[f->b.first[to + 1] - 1].op == LIR_EXIT ? "return 1;\n"
                                                                         : "return 0;\n");
        return;
    case LATER:
        f->later[f->nlater++] = to;
        /* fall through */
    case GOES:
        f->label[to] = 1;
        e->info->gotos++;
        mu_put(e, "goto L%u;\n", f->b.first[to]);
    }
}

/* All of these write code that goes on at `next` if it gets to its end, and say whether it may. */
static bool tree(struct flow *f, int32_t v, int32_t next);

static bool nested_tree(struct flow *f, int32_t v, int32_t next)
{
    f->nested++;
    f->recursion++;
    bool falls = tree(f, v, next);
    f->recursion--;
    f->nested--;
    return falls;
}

/* A block with its place in a list. */
static bool listed(struct flow *f, int32_t v, int32_t next)
{
    if (f->recursion >= RECURSION) {
        f->label[v] = 1;
        f->later[f->nlater++] = v;
        f->e->info->gotos++;
        mu_put(f->e, "goto L%u;\n", f->b.first[v]);
        return false;
    }
    f->recursion++;
    bool falls = tree(f, v, next);
    f->recursion--;
    return falls;
}

/* One arm as a statement in braces, or as the jump it is. */
static bool arm(struct flow *f, const char *no, const char *condition, int32_t to, enum how how, int32_t next)
{
    bool falls = how == FALLS;
    mu_put(f->e, "if (%s%s) {\n", no, condition);
    if (how == INLINE)
        falls = nested_tree(f, to, next);
    else
        jump(f, to, how);
    mu_put(f->e, "}\n");
    return falls;
}

/* Writes a conditional branch as `if`: the arm that jumps comes first, so that what is large stands outside of
 * braces. A loop whose last statement is such a test keeps it, to become `do ... while`. `then`: a block that goes
 * on in place. */
static bool condition(struct flow *f, int32_t v, const struct lir_insn *i, int32_t other, int32_t next, int32_t *then)
{
    struct mu_emit *e = f->e;
    int32_t to[2] = {(int32_t)e->block[i->imm], other};
    enum how how[2] = {choose_jump(f, v, to[0], next), choose_jump(f, v, to[1], next)};
    const char *no[2] = {i->aux & LIR_BR_NEG ? "!" : "", i->aux & LIR_BR_NEG ? "" : "!"};
    struct mu_str p = mu_get(e, i->a, 'p');
    unsigned first = 0;
    if (to[0] == to[1]) {
        jump(f, to[0], how[0]);
        *then = how[0] == INLINE ? to[0] : NOWHERE;
        return how[0] == FALLS;
    }
    /* a jump before a nest, and what ends before what goes on */
    if (how[0] == FALLS || (how[0] == INLINE && how[1] != FALLS && how[1] != INLINE) ||
        (how[0] == INLINE && how[1] == INLINE && f->escape[to[1]] >= f->depth[to[1]] &&
         f->escape[to[0]] < f->depth[to[0]]))
        first = 1;
    const unsigned last = !first;
    const size_t at = e->text.n;
    bool falls = arm(f, no[first], p.s, to[first], how[first], next);
    if (how[last] == FALLS) {
        struct frame *t = f->nframe ? &f->frame[f->nframe - 1] : NULL;
        if (t && how[first] == BREAKS && t->header == next && t->header >= 0) {
            t->tail = at;
            t->end = e->text.n;
            snprintf(t->again.s, sizeof t->again.s, "%s%.60s", no[last], p.s);
        }
        return true;
    }
    if (how[last] == INLINE && falls) {
        e->text.n -= 2; /* "}\n" */
        mu_put(e, "} else {\n");
        nested_tree(f, to[last], next);
        mu_put(e, "}\n");
        return true;
    }
    if (how[last] == INLINE)
        *then = to[last];
    else
        jump(f, to[last], how[last]);
    return false;
}

/* Writes brx.idx as a switch, one case a distinct target. An index outside the table is undefined in PTX; here it
 * ends the kernel. */
static void choice(struct flow *f, int32_t v, const struct lir_insn *i, int32_t next)
{
    struct mu_emit *e = f->e;
    const struct lir_table *t = LIR_AT(e->image, tables, struct lir_table) + i->imm;
    const uint32_t *target = LIR_AT(e->image, targets, uint32_t) + t->first;
    push(f, (struct frame){.header = NOWHERE, .follow = next});
    mu_put(e, "switch (%s) {\n", mu_get(e, i->a, 'w').s);
    for (uint32_t k = 0; k < t->count; k++) {
        bool written = false, falls;
        for (uint32_t j = 0; j < k && !written; j++)
            written = target[j] == target[k];
        if (written)
            continue;
        for (uint32_t j = k; j < t->count; j++)
            if (target[j] == target[k])
                mu_put(e, "case %u:\n", j);
        const int32_t to = (int32_t)e->block[target[k]];
        const enum how how = choose_jump(f, v, to, next);
        falls = how == FALLS;
        mu_put(e, "{\n");
        if (how == INLINE)
            falls = nested_tree(f, to, next);
        else
            jump(f, to, how);
        mu_put(e, falls ? "break;\n}\n" : "}\n");
    }
    mu_put(e, "default: trap();\nreturn%s;\n}\n", e->function ? " 1" : "");
    f->nframe--;
    f->nested--;
}

/* A block's own statements and what it ends in; *then: a block that goes on right here. */
static bool body(struct flow *f, int32_t v, int32_t next, int32_t *then)
{
    struct mu_emit *e = f->e;
    const struct lir_insn *code = mu_code(f->e);
    const uint32_t last = f->b.first[v + 1] - 1;
    *then = NOWHERE;
    mu_leave_sums(e, v);
    for (uint32_t k = f->b.first[v]; k <= last; k++) {
        e->at = &code[k];
        const unsigned op = code[k].op;
        if (k < last || !mu_ends(op) || op == LIR_RET || op == LIR_EXIT || op == LIR_TRAP)
            mu_instruction(e);
    }
    mu_end_copies(e);
    const struct lir_insn *i = e->at = &code[last];
    if (i->op == LIR_RET || i->op == LIR_EXIT || i->op == LIR_TRAP)
        return false;
    if (i->op == LIR_BRP)
        return condition(f, v, i, (int32_t)e->block[last + 1], next, then);
    if (i->op == LIR_BRX) {
        choice(f, v, i, next);
        return true;
    }
    const int32_t to = (int32_t)e->block[i->op == LIR_BRA ? (uint32_t)i->imm : last + 1];
    const enum how how = choose_jump(f, v, to, next);
    jump(f, to, how);
    *then = how == INLINE ? to : NOWHERE;
    return how == FALLS;
}

/* Blocks one after the other, but for the last, which is the caller's: it goes on there without recursion. */
static int32_t all_but_last(struct flow *f, int32_t v)
{
    for (; f->next[v] >= 0; v = f->next[v])
        listed(f, v, f->next[v]);
    return v;
}

/* A block and what follows it up to wrap[v], as one statement that a break leaves; returns wrap[v]. */
static int32_t block(struct flow *f, int32_t v)
{
    const int32_t kid = f->kid[v], to = f->wrap[v];
    int32_t then;
    push(f, (struct frame){.header = NOWHERE, .follow = to, .block = true});
    mu_put(f->e, "do {\n");
    body(f, v, kid, &then);
    if (then >= 0)
        listed(f, then, kid);
    for (int32_t m = kid; m != to; m = f->next[m])
        listed(f, m, f->next[m]);
    f->nframe--;
    f->nested--;
    mu_put(f->e, "} while (0);\n");
    return to;
}

static bool wrapped(const struct flow *f, int32_t v)
{
    return f->wrap[v] >= 0 && f->nested < NESTED && f->recursion < RECURSION;
}

/* Writes a loop: its header's block and the tree below it between the braces, what follows it behind them. If the
 * last thing in it is the test that goes back, the text becomes `do { } while`, as compilers see a counted loop in
 * it. */
static bool loop(struct flow *f, int32_t v, int32_t follow)
{
    struct mu_emit *e = f->e;
    static const char head[] = "for (;;) {\n", other[] = "do {\n";
    const int32_t kid = f->kid[v], next = kid >= 0 ? kid : v;
    const size_t at = e->text.n;
    int32_t then = NOWHERE;
    push(f, (struct frame){.header = v, .follow = follow});
    mu_put(e, "%s", head);
    if (wrapped(f, v)) {
        listed(f, all_but_last(f, block(f, v)), v);
    } else {
        body(f, v, next, &then);
        if (then >= 0)
            listed(f, then, next);
        if (kid >= 0)
            listed(f, all_but_last(f, kid), v);
    }
    f->nested--;
    const struct frame done = f->frame[--f->nframe];
    if (done.end && done.end == e->text.n && !done.continued) {
        e->text.n = done.tail;
        memmove(e->text.p + at, other, sizeof other - 1);
        memmove(e->text.p + at + sizeof other - 1, e->text.p + at + sizeof head - 1,
                e->text.n - at - (sizeof head - 1));
        e->text.n -= sizeof head - sizeof other;
        mu_put(e, "} while (%s);\n", done.again.s);
    } else {
        mu_put(e, "}\n");
    }
    return done.broken;
}

static bool tree(struct flow *f, int32_t v, int32_t next)
{
    for (;;) {
        const bool header = mu_is_header(&f->b, v);
        const int32_t rest = header ? f->after[v] : f->kid[v], follow = rest >= 0 ? rest : next;
        int32_t then = NOWHERE;
        bool falls;
        mu_put(f->e, "L%u:;\n", f->b.first[v]);
        if (!header && wrapped(f, v)) {
            v = all_but_last(f, block(f, v));
            continue;
        }
        falls = header ? loop(f, v, follow) : body(f, v, follow, &then);
        if (then >= 0 && rest < 0) {
            v = then;
            continue;
        }
        if (then >= 0)
            falls = listed(f, then, follow);
        if (rest < 0)
            return falls;
        v = all_but_last(f, rest);
    }
}

void mu_flow(struct mu_emit *e)
{
    struct ptx_ctx *c = &e->graph;
    struct flow *f = PTX_NEW(c, struct flow, 1);
    f->e = e;
    mu_find_blocks(e, c, &f->b);
    measure(f, c);
    place_all(f, c);
    choose_blocks(f, c);
    tree(f, 0, NOWHERE);
    for (uint32_t k = 0; k < f->nlater; k++)
        tree(f, f->later[k], NOWHERE);
    e->at = NULL;
    for (uint32_t b = 0; b < f->b.n; b++)
        e->label[f->b.first[b]] = f->label[b];
}
