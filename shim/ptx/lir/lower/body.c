/* Tier 0 lowering: a function's blocks, branches and guards. */
#include "ptx/lir/lower/lower.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *array(struct lir_lower *l, uint32_t **p, uint32_t n)
{
    uint32_t *q = realloc(*p, (n + 1) * sizeof *q);
    if (!q)
        lir_out_of_memory(l);
    *p = q;
    memset(q, 0xff, (n + 1) * sizeof *q);
    return q;
}

/* Orders reachable blocks by reverse post-order and counts, before each, how many of the blocks so far may wait for
 * another thread: two sums tell whether a range of the layout, such as a loop, may wait. */
static void lay_out(struct lir_lower *l)
{
    const struct ptx_func *f = l->f;
    uint32_t n = 0, sum = 0;
    uint32_t *at = array(l, &l->place, f->nblock); /* first: block by rpo position */
    array(l, &l->layout, f->nblock);
    array(l, &l->block_pc, f->nblock);
    array(l, &l->waits, f->nblock);
    for (uint32_t b = 0; b < f->nblock; b++)
        if (f->block[b].reachable && f->block[b].rpo < f->nblock)
            at[f->block[b].rpo] = b;
    for (uint32_t k = 0; k < f->nblock; k++)
        if (at[k] != LIR_NONE)
            l->layout[n++] = at[k];
    memset(l->place, 0xff, f->nblock * sizeof *l->place);
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_block *b = &f->block[l->layout[k]];
        bool waits = false;
        l->place[l->layout[k]] = k;
        l->waits[k] = sum;
        for (uint32_t j = 0; j < b->count; j++)
            waits |= lir_may_wait(&f->instr[b->first + j]);
        sum += waits;
    }
    l->waits[n] = sum;
}

/* The branch just emitted goes to this block; from = position of its own block. */
static void aim(struct lir_lower *l, uint32_t block, uint32_t from)
{
    struct lir_insn *i = (struct lir_insn *)l->code.p + l->code.n - 1;
    struct lir_fixup *fix;
    uint32_t to = l->place[block];
    if (to <= from && lir_loop_waits(l, to, from)) {
        i->aux |= LIR_BR_SPIN;
        l->may_wait = true;
    }
    fix = lir_push(l, &l->fixups, sizeof *fix);
    *fix = (struct lir_fixup){l->code.n - 1, block, 0};
}

static void branch_table(struct lir_lower *l, const struct ptx_instr *i)
{
    const struct ptx_branch_table *t = &l->f->btab[PTX_SYM_INDEX(i->src[1].sym)];
    uint32_t row = lir_source(l, &i->src[0], LIR_CLASS_32), first = l->targets.n;
    for (uint32_t k = 0; k < t->n; k++) {
        struct lir_fixup *fix = lir_push(l, &l->fixups, sizeof *fix);
        uint32_t block = LIR_NONE, at = (uint32_t)l->f->label_instr[t->label[k]];
        for (uint32_t b = 0; b < l->f->nblock; b++)
            if (l->f->block[b].first == at && l->f->block[b].count)
                block = b;
        if (block == LIR_NONE)
            lir_fail(l, "branch table names a label that starts no block");
        lir_push(l, &l->targets, sizeof(uint32_t));
        *fix = (struct lir_fixup){LIR_NONE, block, l->targets.n - 1};
    }
    struct lir_table *table = lir_push(l, &l->tables, sizeof *table);
    *table = (struct lir_table){first, t->n};
    l->may_wait = true; /* targets behind it are not looked at */
    struct lir_insn *o = lir_emit(l, LIR_BRX);
    o->a = row;
    o->imm = (int32_t)(l->tables.n - 1);
}

/* Fault reports show the instruction. */
static void attach_text(struct lir_lower *l, const struct ptx_instr *i, uint32_t from)
{
    char text[160];
    switch (i->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_CALL:
    case PTX_OP_TRAP:
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
    case PTX_OP_BRX:
    case PTX_OP_ALLOCA:
    case PTX_OP_CP:
    case PTX_OP_ST_BULK:
    case PTX_OP_CLUSTERLAUNCHCONTROL:
    case PTX_OP_MBARRIER:
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
    case PTX_OP_SULD:
    case PTX_OP_SUST:
    case PTX_OP_SURED:
    case PTX_OP_WMMA:
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
    case PTX_OP_TENSORMAP:
    case PTX_OP_WGMMA:
    case PTX_OP_TCGEN05:
    case PTX_OP_MULTIMEM: break;
    default: return;
    }
    if (i->op == PTX_OP_LD && i->space == PTX_SP_PARAM)
        return;
    uint32_t s = lir_string(l, ptx_instr_text(l->f, i, text, sizeof text));
    for (uint32_t k = from; k < l->lines.n; k++)
        ((struct lir_line *)l->lines.p)[k].text = s;
}

static void lower_op(struct lir_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_BRX: branch_table(l, i); return;
    case PTX_OP_CALL: lir_lower_call(l, i); return;
    case PTX_OP_RET:
        lir_reg_params(l, false);
        lir_emit(l, LIR_RET);
        return;
    case PTX_OP_EXIT: lir_emit(l, LIR_EXIT); return;
    case PTX_OP_TRAP: lir_emit(l, LIR_TRAP); return;
    case PTX_OP_BRKPT: /* no debugger is attached */
    case PTX_OP_PMEVENT:
    case PTX_OP_SETMAXNREG:
    case PTX_OP_GRIDDEPCONTROL: return;
    default: break;
    }
    if (!lir_lower_memory(l, i) && !lir_lower_warp(l, i) && !lir_lower_async(l, i) && !lir_lower_texture(l, i) &&
        !lir_lower_matrix(l, i) && !lir_lower_other(l, i))
        lir_lower_alu(l, i);
}

static bool never_falls(unsigned op)
{
    return op == LIR_RET || op == LIR_EXIT || op == LIR_TRAP || op == LIR_BRX || op == LIR_BRA;
}

/* A single handler under a guard runs with a narrower mask; anything longer is branched around. */
static void finish_guard(struct lir_lower *l, const struct ptx_instr *i, uint32_t at)
{
    struct lir_insn *g = (struct lir_insn *)l->code.p + at;
    uint32_t n = l->code.n - at - 1;
    if (!n) {
        l->code.n = l->lines.n = at;
    } else if (n > 1 || g[1].op >= LIR_SHFL) {
        g->op = LIR_BRP;
        g->aux = i->guard_neg ? 0 : LIR_BR_NEG;
        g->imm = (int32_t)l->code.n;
        if (!never_falls(g[n].op))
            lir_emit(l, LIR_JOIN);
    }
}

/* Lowers one instruction. A guarded branch is a conditional branch; any other guarded instruction gets LIR_GUARD in
 * front, which masks what follows; a jump to the block that comes next is left out. */
static void lower_instr(struct lir_lower *l, const struct ptx_instr *i, uint32_t place)
{
    uint32_t at = l->code.n;
    l->at = i;
    memset(l->used, 0, sizeof l->used);
    if (i->op == PTX_OP_BRA) {
        struct lir_insn *o = lir_emit(l, i->guard >= 0 ? LIR_BRP : LIR_BRA);
        if (i->guard >= 0) {
            o->a = l->reg[i->guard];
            o->aux = i->guard_neg ? LIR_BR_NEG : 0;
        } else if (l->place[i->src[0].reg] == place + 1) {
            l->code.n = l->lines.n = at; /* to the next instruction */
            return;
        }
        aim(l, (uint32_t)i->src[0].reg, place);
        return;
    }
    if (i->guard >= 0) {
        struct lir_insn *o = lir_emit(l, LIR_GUARD);
        o->a = l->reg[i->guard];
        o->aux = i->guard_neg;
    }
    lower_op(l, i);
    if (i->flags & PTX_F_TURN) {
        struct lir_insn *o = lir_emit(l, LIR_YIELD);
        o->aux = i->op == PTX_OP_MBARRIER ? 2 : 1;
        o->a = i->op == PTX_OP_MBARRIER ? l->reg[i->dst[0].reg] : 0;
    }
    if (i->guard >= 0)
        finish_guard(l, i, at);
    attach_text(l, i, at);
}

static bool ends_block(const struct ptx_instr *i)
{
    return i->guard < 0 && (i->op == PTX_OP_BRA || i->op == PTX_OP_BRX || i->op == PTX_OP_RET || i->op == PTX_OP_EXIT ||
                            i->op == PTX_OP_TRAP);
}

static void lower_block(struct lir_lower *l, uint32_t place)
{
    uint32_t b = l->layout[place];
    const struct ptx_block *block = &l->f->block[b];
    uint32_t npred = 0;
    for (uint32_t k = 0; k < block->npred; k++)
        npred += l->f->block[block->pred[k]].reachable;
    l->block_pc[b] = l->code.n;
    l->at = block->count ? &l->f->instr[block->first] : NULL;
    if (npred > 1 || (b == 0 && npred))
        lir_emit(l, LIR_JOIN);
    if (b == 0)
        lir_reg_params(l, true);
    for (uint32_t k = 0; k < block->count; k++)
        lower_instr(l, &l->f->instr[block->first + k], place);
    if (block->count && ends_block(&l->f->instr[block->first + block->count - 1]))
        return;
    if (!block->nsucc) {
        lir_emit(l, LIR_RET);
    } else if (l->place[block->succ[block->nsucc - 1]] != place + 1) {
        lir_emit(l, LIR_BRA);
        aim(l, (uint32_t)block->succ[block->nsucc - 1], place);
    }
}

void lir_lower_body(struct lir_lower *l)
{
    struct ptx_func *f = l->f;
    lay_out(l);
    lir_plan_slots(l);
    lir_allocate_rows(l);
    l->fixups.n = 0;
    l->fn.entry = l->code.n;
    for (uint32_t k = 0; k < f->nblock && l->layout[k] != LIR_NONE; k++)
        lower_block(l, k);
    l->at = NULL;
    lir_emit(l, LIR_TRAP)->imm = 1; /* nothing falls off the end */
    const struct lir_fixup *fix = l->fixups.p;
    for (uint32_t k = 0; k < l->fixups.n; k++) {
        uint32_t pc = l->block_pc[fix[k].block];
        if (fix[k].code == LIR_NONE)
            ((uint32_t *)l->targets.p)[fix[k].target] = pc;
        else
            ((struct lir_insn *)l->code.p)[fix[k].code].imm = (int32_t)pc;
    }
    if (f->local_size > LIR_LOCAL_LIMIT)
        lir_fail(l, "local memory passes %u MiB", LIR_LOCAL_LIMIT >> 20);
    l->fn.local_size = ((uint32_t)f->local_size + 15) & ~15u;
}
