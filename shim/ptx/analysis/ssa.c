/* Pruned SSA form beside the registers: every operand gets the number of the value it reads or
 * makes; the instructions themselves keep their registers. A guarded definition is also a use of
 * the value that stays where the guard is false. */
#include "ptx/analysis/ssa.h"

#include <string.h>

struct build {
    struct ptx_ctx *c;
    struct ptx_func *f;
    struct ptx_slots slots;
    struct cell {
        int32_t block;
        uint32_t next;
    } * cell; /* lists of blocks; index 0 ends a list */
    uint32_t ncell, cell_cap;
    uint32_t *defs, *uses; /* by register: blocks that define it; that read it before defining it */
    uint32_t *df_first;    /* dominance frontiers */
    int32_t *df;
    uint32_t *dom_in, *dom_out;
    int32_t *child, *sibling;        /* dominator tree */
    uint32_t *edge_first, *edge_pos; /* k-th successor of b: where b stands among its predecessors */
    struct phi_cell {
        int32_t reg;
        uint32_t next;
    } * phi_cell;
    uint32_t nphi_cell, phi_cell_cap, *phis;
    uint64_t phi_sources;
    uint32_t value_cap;
    int32_t *current, *undefined; /* by register */
};

/* Beyond this a function is not code but a way to exhaust memory. */
static const uint64_t max_phi_sources = 32 * 1000 * 1000;

/* ---- registers of an instruction ------------------------------------------------------------- */

static void add_slot(struct ptx_ctx *c, struct ptx_slots *s, int32_t reg, int32_t *value, uint8_t role)
{
    PTX_PUSH(c, s->slot, s->n, s->cap);
    s->slot[s->n++] = (struct ptx_slot){reg, value, role};
}

static void opnd_slots(struct ptx_ctx *c, struct ptx_func *f, const struct ptx_opnd *o, int32_t *value, int32_t *values,
                       uint8_t role, struct ptx_slots *s)
{
    if ((o->kind == PTX_O_REG || o->kind == PTX_O_ADDR) && o->reg >= 0)
        add_slot(c, s, o->reg, value, role);
    if (o->kind != PTX_O_VEC)
        return;
    for (unsigned i = 0; i < o->n; i++)
        opnd_slots(c, f, &f->opnd[o->first + i], values ? &values[o->first + i] : NULL, values, role, s);
}

void ptx_slots_of(struct ptx_ctx *c, struct ptx_func *f, uint32_t i, struct ptx_slots *s)
{
    const struct ptx_instr *in = &f->instr[i];
    s->n = 0;
    for (unsigned k = 0; k < in->nsrc; k++)
        opnd_slots(c, f, &in->src[k], f->instr_src ? &f->instr_src[i][k] : NULL, f->opnd_value, PTX_USE, s);
    if (in->op == PTX_OP_RET && f->params_in_regs) /* .reg results are read by the caller */
        for (uint32_t k = 0; k < f->nret && k < 5; k++)
            if (f->ret[k].reg >= 0)
                add_slot(c, s, f->ret[k].reg, f->instr_src ? &f->instr_src[i][k] : NULL, PTX_USE);
    if (in->guard >= 0)
        add_slot(c, s, in->guard, f->instr_src ? &f->instr_src[i][5] : NULL, PTX_USE);
    if (in->guard >= 0)
        for (unsigned k = 0; k < in->ndst; k++)
            opnd_slots(c, f, &in->dst[k], f->instr_old ? &f->instr_old[i][k] : NULL, f->opnd_old, PTX_OLD, s);
    for (unsigned k = 0; k < in->ndst; k++)
        opnd_slots(c, f, &in->dst[k], f->instr_dst ? &f->instr_dst[i][k] : NULL, f->opnd_value, PTX_DEF, s);
}

/* ---- what the placement of phis needs -------------------------------------------------------- */

static void push_block(struct build *b, uint32_t *list, uint32_t block)
{
    PTX_PUSH(b->c, b->cell, b->ncell, b->cell_cap);
    b->cell[b->ncell] = (struct cell){(int32_t)block, *list};
    *list = b->ncell++;
}

/* Blocks that define each register, and those that read it before any definition of their own. */
static void collect(struct build *b)
{
    struct ptx_func *f = b->f;
    uint32_t *defined = PTX_NEW(b->c, uint32_t, f->nreg), *read = PTX_NEW(b->c, uint32_t, f->nreg);
    b->defs = PTX_NEW(b->c, uint32_t, f->nreg);
    b->uses = PTX_NEW(b->c, uint32_t, f->nreg);
    PTX_PUSH(b->c, b->cell, b->ncell, b->cell_cap);
    b->ncell = 1;
    for (uint32_t k = 0; k < f->nblock; k++) {
        for (uint32_t i = f->block[k].first; i < f->block[k].first + f->block[k].count; i++) {
            ptx_slots_of(b->c, f, i, &b->slots);
            for (uint32_t s = 0; s < b->slots.n; s++) {
                int32_t r = b->slots.slot[s].reg;
                if (b->slots.slot[s].role != PTX_DEF) {
                    if (defined[r] != k + 1 && read[r] != k + 1) {
                        read[r] = k + 1;
                        push_block(b, &b->uses[r], k);
                    }
                } else if (defined[r] != k + 1) {
                    defined[r] = k + 1;
                    push_block(b, &b->defs[r], k);
                }
            }
        }
    }
}

/* Makes the children's lists of the dominator tree and numbers it in pre- and post-order. A child list ends with -1,
 * as block 0 is nobody's child. */
static void dominator_tree(struct build *b)
{
    struct ptx_func *f = b->f;
    uint32_t n = f->nblock, depth = 0, at = 0;
    int32_t *stack = PTX_NEW(b->c, int32_t, n + 1), *next = PTX_NEW(b->c, int32_t, n);
    b->child = PTX_NEW(b->c, int32_t, n);
    b->sibling = PTX_NEW(b->c, int32_t, n);
    b->dom_in = PTX_NEW(b->c, uint32_t, n);
    b->dom_out = PTX_NEW(b->c, uint32_t, n);
    memset(b->child, -1, n * sizeof *b->child);
    for (uint32_t k = n; k-- > 1;) {
        b->sibling[k] = b->child[f->block[k].idom];
        b->child[f->block[k].idom] = (int32_t)k;
    }
    for (uint32_t k = 0; k < n; k++)
        if (b->sibling[k] == 0)
            b->sibling[k] = -1;
    memcpy(next, b->child, n * sizeof *next);
    stack[depth++] = 0;
    b->dom_in[0] = ++at;
    while (depth) {
        int32_t v = stack[depth - 1], w = next[v];
        if (w < 0) {
            b->dom_out[v] = ++at;
            depth--;
            continue;
        }
        next[v] = b->sibling[w];
        b->dom_in[w] = ++at;
        stack[depth++] = w;
    }
}

/* Joins k in the frontier of v: v dominates a predecessor of k, but not strictly k itself. Two
 * passes: count, then fill. */
static void frontiers(struct build *b)
{
    struct ptx_func *f = b->f;
    uint32_t n = f->nblock;
    uint64_t total = 0;
    uint32_t *last = PTX_NEW(b->c, uint32_t, n);
    b->df_first = PTX_NEW(b->c, uint32_t, n + 2);
    for (int pass = 0; pass < 2; pass++) {
        memset(last, 0, n * sizeof *last);
        for (uint32_t k = 0; k < n; k++) {
            const struct ptx_block *j = &f->block[k];
            if (j->npred < 2)
                continue;
            for (uint32_t p = 0; p < j->npred; p++) {
                for (int32_t v = j->pred[p]; v >= 0 && v != j->idom; v = f->block[v].idom) {
                    if (last[v] == k + 1)
                        break;
                    last[v] = k + 1;
                    if (!pass) {
                        b->df_first[v + 2]++;
                        if (++total > max_phi_sources)
                            ptx_fail(b->c, f->line, f->name, strlen(f->name), "control flow too large for SSA form");
                    } else {
                        b->df[b->df_first[v + 1]++] = (int32_t)k;
                    }
                }
            }
        }
        if (pass)
            break;
        for (uint32_t v = 0; v < n; v++)
            b->df_first[v + 2] += b->df_first[v + 1];
        b->df = PTX_NEW(b->c, int32_t, total);
    }
}

static void edge_positions(struct build *b)
{
    struct ptx_func *f = b->f;
    uint32_t *fill = PTX_NEW(b->c, uint32_t, f->nblock), m = 0;
    b->edge_first = PTX_NEW(b->c, uint32_t, f->nblock + 1);
    for (uint32_t k = 0; k < f->nblock; k++) {
        b->edge_first[k] = m;
        m += f->block[k].nsucc;
    }
    b->edge_pos = PTX_NEW(b->c, uint32_t, m);
    for (uint32_t k = 0; k < f->nblock; k++) /* cfg.c filled predecessors in this very order */
        for (uint32_t s = 0; s < f->block[k].nsucc; s++)
            b->edge_pos[b->edge_first[k] + s] = fill[f->block[k].succ[s]]++;
}

/* ---- phis ------------------------------------------------------------------------------------ */

static bool needs_phis(const struct build *b, int32_t r)
{
    uint32_t d = b->defs[r];
    if (!d || !b->uses[r])
        return false;
    if (b->cell[d].next)
        return true;
    int32_t v = b->cell[d].block;
    for (uint32_t u = b->uses[r]; u; u = b->cell[u].next) {
        int32_t w = b->cell[u].block;
        if (v == w || b->dom_in[v] > b->dom_in[w] || b->dom_out[v] < b->dom_out[w])
            return true; /* some path misses the only definition */
    }
    return false;
}

/* Where the register is live on entry, walking back from its uses; then the iterated dominance
 * frontier of its definitions, within that. */
static void place(struct build *b, int32_t r, uint32_t *live, uint32_t *def, uint32_t *has, int32_t *work)
{
    struct ptx_func *f = b->f;
    uint32_t mark = (uint32_t)r + 1, n = 0;
    for (uint32_t d = b->defs[r]; d; d = b->cell[d].next)
        def[b->cell[d].block] = mark;
    for (uint32_t u = b->uses[r]; u; u = b->cell[u].next) {
        live[b->cell[u].block] = mark;
        work[n++] = b->cell[u].block;
    }
    while (n) {
        const struct ptx_block *k = &f->block[work[--n]];
        for (uint32_t p = 0; p < k->npred; p++) {
            if (live[k->pred[p]] == mark || def[k->pred[p]] == mark)
                continue;
            live[k->pred[p]] = mark;
            work[n++] = k->pred[p];
        }
    }
    for (uint32_t d = b->defs[r]; d; d = b->cell[d].next)
        work[n++] = b->cell[d].block;
    while (n) {
        int32_t v = work[--n];
        for (uint32_t i = b->df_first[v]; i < b->df_first[v + 1]; i++) {
            int32_t k = b->df[i];
            if (has[k] == mark || live[k] != mark)
                continue;
            has[k] = mark;
            b->phi_sources += f->block[k].npred;
            if (b->phi_sources > max_phi_sources)
                ptx_fail(b->c, f->line, f->name, strlen(f->name), "function too large for SSA form");
            PTX_PUSH(b->c, b->phi_cell, b->nphi_cell, b->phi_cell_cap);
            b->phi_cell[b->nphi_cell] = (struct phi_cell){r, b->phis[k]};
            b->phis[k] = b->nphi_cell++;
            f->block[k].nphi++;
            if (def[k] != mark) {
                def[k] = mark;
                work[n++] = k;
            }
        }
    }
}

static int32_t new_value(struct build *b, int32_t reg, int32_t block, int32_t instr)
{
    struct ptx_func *f = b->f;
    PTX_PUSH(b->c, f->value, f->nvalue, b->value_cap);
    f->value[f->nvalue] = (struct ptx_value){.reg = reg, .block = block, .instr = instr};
    return (int32_t)f->nvalue++;
}

/* Places phis for every register that is live across blocks: pruned SSA, by iterated dominance frontiers (Cytron and
 * others 1991) restricted to where the register is live-in. */
static void place_phis(struct build *b)
{
    struct ptx_func *f = b->f;
    uint32_t n = f->nblock;
    uint32_t *live = PTX_NEW(b->c, uint32_t, n), *def = PTX_NEW(b->c, uint32_t, n);
    uint32_t *has = PTX_NEW(b->c, uint32_t, n);
    int32_t *work = PTX_NEW(b->c, int32_t, 2 * (size_t)n + 2);
    b->phis = PTX_NEW(b->c, uint32_t, n);
    PTX_PUSH(b->c, b->phi_cell, b->nphi_cell, b->phi_cell_cap);
    b->nphi_cell = 1;
    for (uint32_t r = 0; r < f->nreg; r++)
        if (needs_phis(b, (int32_t)r))
            place(b, (int32_t)r, live, def, has, work);
    for (uint32_t k = 0; k < n; k++) {
        struct ptx_block *blk = &f->block[k];
        uint32_t i = blk->nphi;
        blk->phi = PTX_NEW(b->c, struct ptx_phi, blk->nphi);
        for (uint32_t p = b->phis[k]; p; p = b->phi_cell[p].next) { /* lists hold the newest first */
            struct ptx_phi *phi = &blk->phi[--i];
            phi->reg = b->phi_cell[p].reg;
            phi->src = PTX_NEW(b->c, int32_t, blk->npred);
            phi->dst = new_value(b, phi->reg, (int32_t)k, -1);
        }
    }
}

/* ---- renaming -------------------------------------------------------------------------------- */

static int32_t value_of(struct build *b, int32_t reg)
{
    if (b->current[reg] >= 0)
        return b->current[reg];
    if (b->undefined[reg] < 0)
        b->undefined[reg] = new_value(b, reg, -1, -1);
    return b->undefined[reg];
}

struct undo {
    int32_t reg, value;
};

struct rename {
    struct undo *undo;
    uint32_t n, cap;
};

static void define(struct build *b, struct rename *u, int32_t reg, int32_t value)
{
    PTX_PUSH(b->c, u->undo, u->n, u->cap);
    u->undo[u->n++] = (struct undo){reg, b->current[reg]};
    b->current[reg] = value;
}

static void rename_block(struct build *b, struct rename *u, uint32_t k)
{
    struct ptx_func *f = b->f;
    const struct ptx_block *blk = &f->block[k];
    for (uint32_t p = 0; p < blk->nphi; p++)
        define(b, u, blk->phi[p].reg, blk->phi[p].dst);
    for (uint32_t i = blk->first; i < blk->first + blk->count; i++) {
        ptx_slots_of(b->c, f, i, &b->slots);
        for (uint32_t s = 0; s < b->slots.n; s++) {
            struct ptx_slot *sl = &b->slots.slot[s];
            if (sl->role == PTX_DEF) {
                *sl->value = new_value(b, sl->reg, (int32_t)k, (int32_t)i);
                define(b, u, sl->reg, *sl->value);
            } else {
                *sl->value = value_of(b, sl->reg);
            }
        }
    }
    for (uint32_t s = 0; s < blk->nsucc; s++) {
        struct ptx_block *to = &f->block[blk->succ[s]];
        for (uint32_t p = 0; p < to->nphi; p++)
            to->phi[p].src[b->edge_pos[b->edge_first[k] + s]] = value_of(b, to->phi[p].reg);
    }
}

/* Gives every use the value that reaches it, by a walk over the dominator tree with the current value of each
 * register; what a block has changed is undone when its subtree is left (Cytron and others 1991). Iterative, because
 * the tree may be deep. */
static void rename_all(struct build *b)
{
    struct ptx_func *f = b->f;
    struct frame {
        int32_t block;
        uint32_t undo;
    } *stack = PTX_NEW(b->c, struct frame, f->nblock + 1);
    struct rename u = {0};
    uint32_t depth = 0;
    stack[depth++] = (struct frame){0, 0};
    rename_block(b, &u, 0);
    while (depth) {
        int32_t v = stack[depth - 1].block, w = b->child[v];
        if (w < 0) {
            while (u.n > stack[depth - 1].undo) {
                u.n--;
                b->current[u.undo[u.n].reg] = u.undo[u.n].value;
            }
            depth--;
            continue;
        }
        b->child[v] = b->sibling[w];
        stack[depth++] = (struct frame){w, u.n};
        rename_block(b, &u, (uint32_t)w);
    }
}

/* The steps of the construction in order. Values of all operands start as -1, "reads no value", since renaming meets
 * reachable blocks only. */
static void build(struct ptx_ctx *c, struct ptx_func *f)
{
    struct build state = {.c = c, .f = f}, *b = &state;
    collect(b);
    dominator_tree(b);
    frontiers(b);
    edge_positions(b);
    place_phis(b);
    b->current = PTX_NEW(c, int32_t, f->nreg);
    b->undefined = PTX_NEW(c, int32_t, f->nreg);
    memset(b->current, -1, f->nreg * sizeof *b->current);
    memset(b->undefined, -1, f->nreg * sizeof *b->undefined);
    f->instr_src = ptx_alloc(c, f->ninstr, sizeof *f->instr_src);
    f->instr_dst = ptx_alloc(c, f->ninstr, sizeof *f->instr_dst);
    f->instr_old = ptx_alloc(c, f->ninstr, sizeof *f->instr_old);
    f->opnd_value = PTX_NEW(c, int32_t, f->nopnd);
    f->opnd_old = PTX_NEW(c, int32_t, f->nopnd);
    memset(f->instr_src, -1, f->ninstr * sizeof *f->instr_src);
    memset(f->instr_dst, -1, f->ninstr * sizeof *f->instr_dst);
    memset(f->instr_old, -1, f->ninstr * sizeof *f->instr_old);
    if (f->nopnd) {
        memset(f->opnd_value, -1, f->nopnd * sizeof *f->opnd_value);
        memset(f->opnd_old, -1, f->nopnd * sizeof *f->opnd_old);
    }
    rename_all(b);
}

int ptx_ssa_build(struct ptx_func *f, struct ptx_diag *diag)
{
    if (ptx_cfg_build(f, diag))
        return -1;
    return f->instr_src ? 0 : ptx_phase(f, diag, build);
}
