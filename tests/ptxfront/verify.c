/* Independent check of control-flow graph and SSA form: dominators by removing blocks, liveness by
 * fixpoint, values by following every edge. Quadratic on purpose; for functions of test size. */
#include "verify.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct check {
    struct ptx_func *f;
    char *why;
    size_t size;
    uint8_t *dom, *pdom; /* [n][n]: dom[a * n + b] = a dominates b */
    int32_t *out;        /* [n][nreg]: value at the end of a block, -1 = not known yet */
    uint8_t *live;       /* [n][nreg]: live on entry */
};

static int __attribute__((format(printf, 2, 3))) wrong(struct check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->why, c->size, fmt, ap);
    va_end(ap);
    return -1;
}

/* ---- graph ----------------------------------------------------------------------------------- */

/* Blocks that can be reached from `from` without passing `without`, along edges or against them. */
static void reach(const struct ptx_func *f, int32_t from, int32_t without, bool back, uint8_t *seen)
{
    int32_t *stack = malloc((f->nblock + 1) * sizeof *stack);
    uint32_t n = 0;
    if (from == without || seen[from]) {
        free(stack);
        return;
    }
    seen[from] = 1;
    stack[n++] = from;
    while (n) {
        const struct ptx_block *b = &f->block[stack[--n]];
        uint32_t count = back ? b->npred : b->nsucc;
        for (uint32_t i = 0; i < count; i++) {
            int32_t to = back ? b->pred[i] : b->succ[i];
            if (to == without || seen[to])
                continue;
            seen[to] = 1;
            stack[n++] = to;
        }
    }
    free(stack);
}

static bool leaves(const struct ptx_func *f, const struct ptx_block *b)
{
    if (!b->count)
        return false;
    unsigned op = f->instr[b->first + b->count - 1].op;
    return op == PTX_OP_RET || op == PTX_OP_EXIT || op == PTX_OP_TRAP;
}

static bool endless(const struct ptx_func *f)
{
    uint8_t *seen = calloc(f->nblock, 1);
    bool all = true;
    for (uint32_t i = 0; i < f->nblock; i++)
        if (leaves(f, &f->block[i]))
            reach(f, (int32_t)i, -1, true, seen);
    for (uint32_t i = 0; i < f->nblock; i++)
        all &= seen[i];
    free(seen);
    return !all;
}

static void dominance(struct check *c)
{
    struct ptx_func *f = c->f;
    uint32_t n = f->nblock;
    uint8_t *seen = malloc(n);
    for (uint32_t a = 0; a < n; a++) {
        memset(seen, 0, n);
        reach(f, 0, (int32_t)a, false, seen);
        for (uint32_t b = 0; b < n; b++)
            c->dom[a * n + b] = !seen[b];
        memset(seen, 0, n);
        for (uint32_t b = 0; b < n; b++)
            if (leaves(f, &f->block[b]))
                reach(f, (int32_t)b, (int32_t)a, true, seen);
        for (uint32_t b = 0; b < n; b++)
            c->pdom[a * n + b] = !seen[b];
    }
    free(seen);
}

/* The immediate one: dominates b, and every other strict dominator of b dominates it. */
static bool immediate(const uint8_t *dom, uint32_t n, int32_t a, uint32_t b)
{
    for (uint32_t x = 0; x < n; x++) {
        if (x == b || !dom[x * n + b])
            continue;
        if (a < 0 || !dom[x * n + (uint32_t)a])
            return false;
    }
    return a < 0 || ((uint32_t)a != b && dom[(uint32_t)a * n + b]);
}

static bool has_edge(const struct ptx_func *f, int32_t from, int32_t to)
{
    for (uint32_t i = 0; i < f->block[from].nsucc; i++)
        if (f->block[from].succ[i] == to)
            return true;
    return false;
}

static int check_graph(struct check *c)
{
    struct ptx_func *f = c->f;
    uint32_t n = f->nblock, total = 0, edges = 0;
    bool exact = !endless(f);
    if (f->block[0].npred)
        return wrong(c, "entry has predecessors");
    for (uint32_t b = 0; b < n; b++) {
        const struct ptx_block *k = &f->block[b];
        total += k->count;
        edges += k->nsucc;
        if (!immediate(c->dom, n, k->idom, b))
            return wrong(c, "B%u: idom B%d is not it", b, (int)k->idom);
        if (exact && !immediate(c->pdom, n, k->ipdom, b))
            return wrong(c, "B%u: ipdom B%d is not it", b, (int)k->ipdom);
        for (uint32_t p = 0; p < k->npred; p++) {
            if (!has_edge(f, k->pred[p], (int32_t)b))
                return wrong(c, "B%u: predecessor B%d has no edge here", b, (int)k->pred[p]);
            if (k->pred[p] >= (int32_t)b && !c->dom[b * n + (uint32_t)k->pred[p]] && !f->irreducible)
                return wrong(c, "B%u: edge from later B%d is no back edge", b, (int)k->pred[p]);
        }
        edges -= k->npred;
        int32_t h = k->loop_header;
        if (h >= 0 && (h > (int32_t)b || !c->dom[(uint32_t)h * n + b]))
            return wrong(c, "B%u: header B%d does not dominate it", b, (int)h);
    }
    if (edges)
        return wrong(c, "successors and predecessors do not pair up");
    for (uint32_t h = 0; h < n; h++) { /* a loop's blocks stand together */
        if (f->block[h].loop_header != (int32_t)h)
            continue;
        bool over = false;
        for (uint32_t b = h; b < n; b++) {
            int32_t l = f->block[b].loop_header;
            while (l >= 0 && l != (int32_t)h)
                l = f->block[l].loop_parent;
            if (l < 0)
                over = true;
            else if (over)
                return wrong(c, "loop B%u is not contiguous at B%u", h, b);
        }
    }
    return total > f->ninstr ? wrong(c, "blocks overlap") : 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef int visit(struct check *c, const struct ptx_opnd *o, int32_t value, uint32_t block, int32_t *now);

static int each_opnd(struct check *c, const struct ptx_opnd *o, int32_t value, const int32_t *values, uint32_t b,
                     int32_t *now, visit *fn)
{
    if ((o->kind == PTX_O_REG || o->kind == PTX_O_ADDR) && o->reg >= 0)
        return fn(c, o, value, b, now);
    if (o->kind != PTX_O_VEC)
        return 0;
    for (uint32_t i = 0; i < o->n; i++)
        if (each_opnd(c, &c->f->opnd[o->first + i], values[o->first + i], values, b, now, fn))
            return -1;
    return 0;
}

static int use_reg(struct check *c, const struct ptx_opnd *o, int32_t value, uint32_t b, int32_t *now)
{
    const struct ptx_func *f = c->f;
    uint32_t n = f->nblock;
    if (value < 0 || value >= (int32_t)f->nvalue || f->value[value].reg != o->reg)
        return wrong(c, "B%u: use of %s has no value of it", b, f->reg[o->reg].name);
    if (now[o->reg] != value)
        return wrong(c, "B%u: use of %s reads v%d, but v%d reaches it", b, f->reg[o->reg].name, (int)value,
                     (int)now[o->reg]);
    int32_t d = f->value[value].block;
    if (d >= 0 && !c->dom[(uint32_t)d * n + b])
        return wrong(c, "B%u: v%d is used where B%d does not dominate", b, (int)value, (int)d);
    return 0;
}

static int def_reg(struct check *c, const struct ptx_opnd *o, int32_t value, uint32_t b, int32_t *now)
{
    const struct ptx_func *f = c->f;
    if (value < 0 || value >= (int32_t)f->nvalue || f->value[value].reg != o->reg ||
        f->value[value].block != (int32_t)b)
        return wrong(c, "B%u: definition of %s has a wrong value", b, f->reg[o->reg].name);
    now[o->reg] = value;
    return 0;
}

static int mark_live(struct check *c, const struct ptx_opnd *o, int32_t value, uint32_t b, int32_t *now)
{
    (void)value;
    if (now[o->reg] != (int32_t)b)
        c->live[(size_t)b * c->f->nreg + (uint32_t)o->reg] = 1;
    return 0;
}

static int mark_dead(struct check *c, const struct ptx_opnd *o, int32_t value, uint32_t b, int32_t *now)
{
    (void)c;
    (void)value;
    now[o->reg] = (int32_t)b;
    return 0;
}

static int walk(struct check *c, uint32_t b, int32_t *now, visit *use, visit *def)
{
    struct ptx_func *f = c->f;
    for (uint32_t i = f->block[b].first; i < f->block[b].first + f->block[b].count; i++) {
        const struct ptx_instr *in = &f->instr[i];
        struct ptx_opnd guard = {.kind = PTX_O_REG, .reg = in->guard};
        int bad = 0;
        for (unsigned k = 0; k < in->nsrc; k++)
            bad |= each_opnd(c, &in->src[k], f->instr_src[i][k], f->opnd_value, b, now, use);
        for (unsigned k = 0; in->op == PTX_OP_RET && k < f->nret && k < 5; k++) {
            struct ptx_opnd result = {.kind = PTX_O_REG, .reg = f->ret[k].reg};
            bad |= each_opnd(c, &result, f->instr_src[i][k], NULL, b, now, use);
        }
        if (in->guard >= 0) {
            bad |= each_opnd(c, &guard, f->instr_src[i][5], NULL, b, now, use);
            for (unsigned k = 0; k < in->ndst; k++)
                bad |= each_opnd(c, &in->dst[k], f->instr_old[i][k], f->opnd_old, b, now, use);
        }
        for (unsigned k = 0; k < in->ndst; k++)
            bad |= each_opnd(c, &in->dst[k], f->instr_dst[i][k], f->opnd_value, b, now, def);
        if (bad)
            return -1;
    }
    return 0;
}

static void liveness(struct check *c)
{
    struct ptx_func *f = c->f;
    uint32_t r = f->nreg;
    int32_t *killed = malloc((r + 1) * sizeof *killed);
    uint8_t *kill = calloc((size_t)f->nblock * r + 1, 1);
    memset(killed, -1, (r + 1) * sizeof *killed);
    for (uint32_t b = 0; b < f->nblock; b++) {
        walk(c, b, killed, mark_live, mark_dead);
        for (uint32_t i = 0; i < r; i++)
            kill[(size_t)b * r + i] = killed[i] == (int32_t)b;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = f->nblock; b-- > 0;)
            for (uint32_t s = 0; s < f->block[b].nsucc; s++)
                for (uint32_t i = 0; i < r; i++)
                    if (c->live[(size_t)f->block[b].succ[s] * r + i] && !kill[(size_t)b * r + i] &&
                        !c->live[(size_t)b * r + i])
                        c->live[(size_t)b * r + i] = 1, changed = true;
    }
    free(killed);
    free(kill);
}

static int32_t undefined_value(const struct ptx_func *f, uint32_t reg)
{
    for (uint32_t v = 0; v < f->nvalue; v++)
        if (f->value[v].reg == (int32_t)reg && f->value[v].block < 0)
            return (int32_t)v;
    return -1;
}

static const struct ptx_phi *phi_of(const struct ptx_block *b, uint32_t reg)
{
    for (uint32_t p = 0; p < b->nphi; p++)
        if (b->phi[p].reg == (int32_t)reg)
            return &b->phi[p];
    return NULL;
}

/* What each register holds on entry to b: its phi's value, or what the immediate dominator leaves.
 */
static void enter(struct check *c, uint32_t b, int32_t *now)
{
    struct ptx_func *f = c->f;
    for (uint32_t r = 0; r < f->nreg; r++) {
        const struct ptx_phi *p = phi_of(&f->block[b], r);
        if (p)
            now[r] = p->dst;
        else if (f->block[b].idom >= 0)
            now[r] = c->out[(size_t)f->block[b].idom * f->nreg + r];
        else
            now[r] = undefined_value(f, r);
    }
}

/* Every edge carries to each live register the value its block expects. */
static int check_edges(struct check *c, uint32_t b)
{
    struct ptx_func *f = c->f;
    const struct ptx_block *k = &f->block[b];
    for (uint32_t r = 0; r < f->nreg; r++) {
        const struct ptx_phi *p = phi_of(k, r);
        bool live = c->live[(size_t)b * f->nreg + r];
        if (p && !live)
            return wrong(c, "B%u: phi of %s, which is not live", b, f->reg[r].name);
        if (!live || !k->npred)
            continue;
        for (uint32_t e = 0; e < k->npred; e++) {
            int32_t have = c->out[(size_t)k->pred[e] * f->nreg + r];
            int32_t want = p ? p->src[e] : c->out[(size_t)k->idom * f->nreg + r];
            if (have != want)
                return wrong(c, "B%u: %s is v%d from B%d; expected v%d", b, f->reg[r].name, (int)have, (int)k->pred[e],
                             (int)want);
        }
    }
    return 0;
}

static int check_values(struct check *c)
{
    struct ptx_func *f = c->f;
    liveness(c);
    for (uint32_t b = 0; b < f->nblock; b++) { /* idom stands before b */
        int32_t *now = &c->out[(size_t)b * f->nreg];
        enter(c, b, now);
        if (walk(c, b, now, use_reg, def_reg))
            return -1;
    }
    for (uint32_t b = 0; b < f->nblock; b++)
        if (check_edges(c, b))
            return -1;
    return 0;
}

int verify_ssa(struct ptx_func *f, char *why, size_t size)
{
    struct check c = {.f = f, .why = why, .size = size};
    size_t n = f->nblock;
    c.dom = malloc(n * n);
    c.pdom = malloc(n * n);
    c.out = malloc((n * f->nreg + 1) * sizeof *c.out);
    c.live = calloc(n * f->nreg + 1, 1);
    dominance(&c);
    int bad = check_graph(&c) || check_values(&c) ? -1 : 0;
    free(c.dom);
    free(c.pdom);
    free(c.out);
    free(c.live);
    return bad;
}
