/* Where the warps of a block get a turn each. On a CPU a warp runs from barrier to barrier before the next one does; a
 * GPU's warps start side by side. Kernels that fill shared memory with a constant, and write there again before the
 * next barrier, count on that without knowing it: the barrier between the two was forgotten, as in ggml's
 * flash_attn_vec_ext_f16 of 2024 and early 2025. What such a kernel means is what it does on a GPU, where all warps
 * have filled their part long before one of them comes to the second store. So the other warps of the block have a
 * turn after the first one. Any order of warps is right for a kernel without such races.
 *
 * The same holds where all warps wait for a phase of an mbarrier and one of them brings about the next phases: on a GPU
 * these take long enough for all to see each (CUTLASS's tutorial 02_mma_tma_sm100). Who missed one would wait for
 * ever, as a parity tells two phases apart, not three. So a wait that ends is a turn for the others. */
#include "ptx/front/front.h"
#include "ptx/analysis/graph.h"

#include <string.h>

enum { STEPS = 12, /* of arithmetic behind a constant or an address */ MOST = 64 /* stores that are followed */ };
enum { NONE = -1, MANY = -2 };

struct turns {
    struct ptx_func *f;
    int32_t *def;  /* by register: the only instruction that writes it, NONE or MANY */
    uint8_t *seen; /* by block */
    uint32_t *todo;
};

static bool meets_block(const struct ptx_instr *in)
{
    return (in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER) && in->sub != PTX_SUB_WARP_SYNC &&
           in->sub != PTX_SUB_ARRIVE;
}

static bool writes_shared(const struct ptx_instr *in)
{
    return (in->op == PTX_OP_ST || in->op == PTX_OP_ATOM || in->op == PTX_OP_RED) && in->space == PTX_SP_SHARED;
}

static void note_definition(struct turns *t, const struct ptx_opnd *o, int32_t i)
{
    if (o->kind == PTX_O_REG)
        t->def[o->reg] = t->def[o->reg] == NONE ? i : MANY;
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        note_definition(t, &t->f->opnd[o->first + k], i);
}

/* The arithmetic that makes a register, if one instruction does it; NULL: what is not known. */
static const struct ptx_instr *origin(const struct turns *t, int32_t reg)
{
    const int32_t at = t->def[reg];
    const struct ptx_instr *in = at >= 0 ? &t->f->instr[at] : NULL;
    if (!in || in->guard >= 0)
        return NULL;
    switch (in->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVT:
    case PTX_OP_CVTA:
    case PTX_OP_NEG:
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_SHL:
    case PTX_OP_OR: return in;
    default: return NULL;
    }
}

static bool is_constant(const struct turns *t, const struct ptx_opnd *o, unsigned steps)
{
    if (o->kind == PTX_O_IMM)
        return true;
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        if (!is_constant(t, &t->f->opnd[o->first + k], steps))
            return false;
    const struct ptx_instr *in = o->kind == PTX_O_REG && steps ? origin(t, o->reg) : NULL;
    for (unsigned s = 0; in && s < in->nsrc; s++)
        if (!is_constant(t, &in->src[s], steps - 1))
            return false;
    return o->kind == PTX_O_VEC || in;
}

/* The variable of shared memory that an address is counted from; -1: not known. */
static int32_t variable(const struct turns *t, const struct ptx_opnd *o, unsigned steps)
{
    if (o->kind == PTX_O_SYM || (o->kind == PTX_O_ADDR && o->sym >= 0))
        return o->sym;
    const bool reg = o->kind == PTX_O_REG || (o->kind == PTX_O_ADDR && o->reg >= 0);
    const struct ptx_instr *in = reg && steps ? origin(t, o->reg) : NULL;
    int32_t found = -1;
    for (unsigned s = 0; in && s < in->nsrc && found < 0; s++)
        found = variable(t, &in->src[s], steps - 1);
    return found;
}

/* Whether two addresses may be one, of two threads. Two variables are apart, but for those whose size the launch gives:
 * these all begin at one place. */
static bool may_meet(const struct turns *t, const struct ptx_opnd *a, const struct ptx_opnd *b)
{
    if (a->reg == b->reg && a->sym == b->sym && a->imm == b->imm)
        return false; /* each thread has its own */
    const int32_t x = variable(t, a, STEPS), y = variable(t, b, STEPS);
    if (x < 0 || y < 0 || x == y)
        return true;
    const struct ptx_var *v = ptx_symbol(t->f, x), *w = ptx_symbol(t->f, y);
    return !v || !w || (v->is_extern && w->is_extern);
}

enum what { GOES_ON, MEETS, WRITES };

/* What comes first from instruction i of the block on: the warps meet, something else than a constant may be written to
 * where `first` writes, or neither. */
static enum what follow(const struct turns *t, const struct ptx_instr *first, const struct ptx_block *b, uint32_t i)
{
    for (; i < b->first + b->count; i++) {
        const struct ptx_instr *in = &t->f->instr[i];
        if (meets_block(in))
            return MEETS;
        if (writes_shared(in) && (in->op != PTX_OP_ST || !is_constant(t, &in->src[1], STEPS)) &&
            may_meet(t, &first->src[0], &in->src[0]))
            return WRITES;
    }
    return GOES_ON;
}

/* The same on all ways behind instruction i; whether one of them writes. */
static bool written_again(struct turns *t, uint32_t block, uint32_t i)
{
    const struct ptx_instr *first = &t->f->instr[i];
    const struct ptx_block *b = &t->f->block[block];
    enum what what = follow(t, first, b, i + 1);
    uint32_t n = 0;
    memset(t->seen, 0, t->f->nblock);
    for (;;) {
        if (what == WRITES)
            return true;
        for (uint32_t s = 0; what == GOES_ON && s < b->nsucc; s++) {
            if (!t->seen[b->succ[s]])
                t->todo[n++] = (uint32_t)b->succ[s];
            t->seen[b->succ[s]] = 1;
        }
        if (!n)
            return false;
        b = &t->f->block[t->todo[--n]];
        what = follow(t, first, b, b->first);
    }
}

static bool fills(const struct turns *t, const struct ptx_instr *in)
{
    return in->op == PTX_OP_ST && in->space == PTX_SP_SHARED && in->guard < 0 && in->src[0].reg >= 0 &&
           is_constant(t, &in->src[1], STEPS);
}

static bool waits_for_phase(const struct ptx_instr *in)
{
    return in->op == PTX_OP_MBARRIER && in->ndst == 1 && in->dst[0].kind == PTX_O_REG && strstr(in->opcode, "_wait");
}

void ptx_mark_turns(struct ptx_ctx *c, struct ptx_func *f)
{
    struct turns t = {.f = f};
    unsigned meets = 0, writes = 0, left = MOST;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        if (waits_for_phase(&f->instr[i]))
            f->instr[i].flags |= PTX_F_TURN;
        meets += meets_block(&f->instr[i]);
        writes += writes_shared(&f->instr[i]);
    }
    if (!f->is_entry || !meets || writes < 2)
        return;
    t.def = PTX_NEW(c, int32_t, f->nreg + 1);
    t.seen = PTX_NEW(c, uint8_t, f->nblock + 1);
    t.todo = PTX_NEW(c, uint32_t, f->nblock + 1);
    memset(t.def, 0xff, (f->nreg + 1) * sizeof *t.def);
    for (uint32_t i = 0; i < f->ninstr; i++)
        for (unsigned d = 0; d < f->instr[i].ndst; d++)
            note_definition(&t, &f->instr[i].dst[d], (int32_t)i);
    for (uint32_t k = 0; k < f->nblock; k++)
        for (uint32_t i = f->block[k].first + f->block[k].count; i-- > f->block[k].first;) {
            struct ptx_instr *in = &f->instr[i];
            if (!fills(&t, in))
                continue;
            if (left-- && written_again(&t, k, i))
                in->flags |= PTX_F_TURN;
            if (!left || in->flags & PTX_F_TURN)
                break; /* the last one of a block is enough */
        }
}
