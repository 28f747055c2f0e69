/* Lowering: which loops may wait for other threads, so that their back edges let these run. Atomics, fences,
 * calls and loads that are volatile or ordered tell it at once. A weak load does where its address stays the same and
 * a branch of the loop depends on it: a compiler would have moved it out of the loop if it did not have to be read
 * again, and without another thread that writes there the branch would go the same way for ever. By the memory model
 * such a poll is a data race, but devices read again, and a barrier, a store, an asm with a memory clobber or no
 * optimisation at all is enough for nvcc to emit it. */
#include "ptx/lir/lower/lower.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 8, /* of arithmetic that gives an address */ MANY = 0xfffffffe /* instructions write a register */ };

struct loop {
    struct lir_lower *l;
    const struct ptx_func *f;
    uint32_t first, last; /* positions of its blocks in the layout */
    uint32_t *def;        /* by register: the instruction of the loop that writes it, MANY or LIR_NONE */
    uint32_t *follows;    /* by register: it depends on what is polled */
    bool stored, changed; /* some of that is in memory now */
};

bool lir_may_wait(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_LD: return i->sem != PTX_WEAK;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_NANOSLEEP:
    case PTX_OP_CALL:
    case PTX_OP_MBARRIER:
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
    case PTX_OP_MULTIMEM: return true;
    case PTX_OP_TCGEN05: return ptx_allocates(i);
    default: return false;
    }
}

/* Calls visit with every instruction of the loop, until it says that it is done. */
static bool any_instr(struct loop *p, bool (*visit)(struct loop *p, uint32_t i))
{
    for (uint32_t k = p->first; k <= p->last; k++) {
        const struct ptx_block *b = &p->f->block[p->l->layout[k]];
        for (uint32_t i = b->first; i < b->first + b->count; i++)
            if (visit(p, i))
                return true;
    }
    return false;
}

/* Calls visit with every register of an operand, until it says that it is done. */
static bool any_register(struct loop *p, const struct ptx_opnd *o, uint32_t i,
                         bool (*visit)(struct loop *p, int32_t reg, uint32_t i))
{
    if (o->kind == PTX_O_REG || (o->kind == PTX_O_ADDR && o->reg >= 0))
        return visit(p, o->reg, i);
    for (uint32_t k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        if (any_register(p, &p->f->opnd[o->first + k], i, visit))
            return true;
    return false;
}

static bool note_definition(struct loop *p, int32_t reg, uint32_t i)
{
    p->def[reg] = p->def[reg] == LIR_NONE ? i : MANY;
    return false;
}

static bool note_definitions(struct loop *p, uint32_t i)
{
    for (unsigned n = 0; n < p->f->instr[i].ndst; n++)
        any_register(p, &p->f->instr[i].dst[n], i, note_definition);
    return false;
}

static bool is_invariant(const struct loop *p, int32_t reg, unsigned steps)
{
    const uint32_t at = p->def[reg];
    if (at == LIR_NONE)
        return true;
    const struct ptx_instr *in = at == MANY || !steps ? NULL : &p->f->instr[at];
    if (!in || in->guard >= 0 || in->dst[0].kind != PTX_O_REG)
        return false;
    switch (in->op) {
    case PTX_OP_MOV:
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_SHL:
    case PTX_OP_CVT:
    case PTX_OP_CVTA:
    case PTX_OP_AND:
    case PTX_OP_OR: break;
    default: return in->op == PTX_OP_LD && in->space == PTX_SP_PARAM;
    }
    for (unsigned s = 0; s < in->nsrc; s++)
        if (in->src[s].kind == PTX_O_VEC ||
            (in->src[s].kind == PTX_O_REG && !is_invariant(p, in->src[s].reg, steps - 1)))
            return false;
    return true;
}

static bool is_poll(struct loop *p, uint32_t i)
{
    const struct ptx_instr *in = &p->f->instr[i];
    return in->op == PTX_OP_LD && in->space != PTX_SP_LOCAL && in->space != PTX_SP_PARAM && in->space != PTX_SP_CONST &&
           !(in->flags & PTX_F_NC) && (in->src[0].reg < 0 || is_invariant(p, in->src[0].reg, STEPS));
}

static bool is_followed(struct loop *p, int32_t reg, uint32_t i)
{
    (void)i;
    return p->follows[reg] != 0;
}

static bool set_followed(struct loop *p, int32_t reg, uint32_t i)
{
    (void)i;
    p->changed |= !p->follows[reg];
    p->follows[reg] = 1;
    return false;
}

/* Carries on what depends on a poll; true at a branch that does. */
static bool follow(struct loop *p, uint32_t i)
{
    const struct ptx_instr *in = &p->f->instr[i];
    bool any = is_poll(p, i) || (in->op == PTX_OP_LD && p->stored) || (in->guard >= 0 && p->follows[in->guard]);
    for (unsigned s = 0; s < in->nsrc && !any; s++)
        any = any_register(p, &in->src[s], i, is_followed);
    if (!any)
        return false;
    if (in->op == PTX_OP_BRA || in->op == PTX_OP_BRX || in->op == PTX_OP_RET || in->op == PTX_OP_EXIT)
        return true;
    p->changed |= in->op == PTX_OP_ST && !p->stored;
    p->stored |= in->op == PTX_OP_ST;
    for (unsigned n = 0; n < in->ndst; n++)
        any_register(p, &in->dst[n], i, set_followed);
    return false;
}

bool lir_loop_waits(struct lir_lower *l, uint32_t first, uint32_t last)
{
    if (l->waits[last + 1] != l->waits[first])
        return true;
    struct loop p = {.l = l, .f = l->f, .first = first, .last = last};
    const size_t size = (size_t)(l->f->nreg + 1) * sizeof *p.def;
    p.def = l->loop_def = realloc(l->loop_def, 2 * size);
    if (!p.def)
        lir_out_of_memory(l);
    p.follows = p.def + l->f->nreg + 1;
    memset(p.def, 0xff, size);
    any_instr(&p, note_definitions);
    if (!any_instr(&p, is_poll))
        return false;
    memset(p.follows, 0, size);
    do {
        p.changed = false;
        if (any_instr(&p, follow))
            return true;
    } while (p.changed);
    return false;
}
