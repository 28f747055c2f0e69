/* Where the warps of a block get a turn each. On a CPU a warp runs from barrier to barrier before the next one does; a
 * GPU's warps start side by side. Kernels that fill shared memory with a constant, and write there again before the
 * next barrier, count on that without knowing it: the barrier between the two was forgotten, as in ggml's
 * flash_attn_vec_ext_f16 of 2024 and early 2025. What such a kernel means is what it does on a GPU, where all warps
 * have filled their part long before one of them comes to the second store. So the other warps of the block have a
 * turn after the first one. Any order of warps is right for a kernel without such races.
 *
 * So do kernels whose threads all read one place, the sum of a block as a rule, and write there again before the next
 * barrier, for the next sum (implicit's dot products, whose first warp wrote over what the others had not read yet;
 * CUTLASS's example 93, flashinfer's top k): the others have a turn, in which they read, behind such a load. Not where
 * some threads do it for all: who goes first behind a barrier stays first only if all warps have the same turns.
 *
 * The same holds where all warps wait for a phase of an mbarrier and one of them brings about the next phases: on a GPU
 * these take long enough for all to see each (CUTLASS's tutorial 02_mma_tma_sm100). Who missed one would wait for
 * ever, as a parity tells two phases apart, not three. So a wait that ends is a turn for the others. */
#include "ptx/front/front.h"
#include "ptx/analysis/graph.h"

#include <string.h>

enum { STEPS = 12, /* of arithmetic behind a constant or an address */ MOST = 64 /* accesses that are followed */ };
enum { NONE = -1, MANY = -2 };

struct turns {
    struct ptx_func *f;
    int32_t *def;    /* by register: the only instruction that writes it, NONE or MANY */
    uint8_t *varies; /* by register: threads of a block may have different values, by what it is computed from */
    uint8_t *parted; /* by block: some threads may not come by */
    uint8_t *seen;   /* by block */
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

/* Whether what one thread writes at b may be where another one accesses a. Two variables are apart, but for those whose
 * size the launch gives: these all begin at one place. */
static bool may_meet(const struct turns *t, const struct ptx_opnd *a, const struct ptx_opnd *b)
{
    if (a->reg == b->reg && a->sym == b->sym && a->imm == b->imm)
        return a->reg < 0 || !t->varies[a->reg]; /* else each thread has its own */
    const int32_t x = variable(t, a, STEPS), y = variable(t, b, STEPS);
    if (x < 0 || y < 0 || x == y)
        return true;
    const struct ptx_var *v = ptx_symbol(t->f, x), *w = ptx_symbol(t->f, y);
    return !v || !w || (v->is_extern && w->is_extern);
}

enum what { GOES_ON, MEETS, WRITES };

/* What comes first from instruction i of the block on: the warps meet, something may be written to where `first` reads,
 * or something else than a constant to where it writes, or neither. */
static enum what follow(const struct turns *t, const struct ptx_instr *first, const struct ptx_block *b, uint32_t i)
{
    for (; i < b->first + b->count; i++) {
        const struct ptx_instr *in = &t->f->instr[i];
        if (meets_block(in))
            return MEETS;
        const bool constant = in->op == PTX_OP_ST && first->op == PTX_OP_ST && is_constant(t, &in->src[1], STEPS);
        if (writes_shared(in) && !constant && may_meet(t, &first->src[0], &in->src[0]))
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

/* A load of one place by all threads. One that looks again and again has its turns by its loop. */
static bool reads_at_one_place(const struct turns *t, const struct ptx_instr *in)
{
    const struct ptx_opnd *at = &in->src[0];
    return in->op == PTX_OP_LD && in->space == PTX_SP_SHARED && in->sem == PTX_WEAK && in->guard < 0 &&
           (at->reg < 0 || !t->varies[at->reg]);
}

/* ---- what varies within a block -------------------------------------------------------------------- */

static bool is_of_block(uint32_t sreg)
{
    return (sreg >= PTX_SR_NTID_X && sreg <= PTX_SR_NCTAID_Z) || sreg == PTX_SR_NWARPID ||
           (sreg >= PTX_SR_CLUSTERID_X && sreg <= PTX_SR_IS_EXPLICIT_CLUSTER);
}
static bool operand_varies(const struct turns *t, const struct ptx_opnd *o)
{
    bool any = o->kind == PTX_O_SREG && !is_of_block((uint32_t)o->reg);
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        any = any || operand_varies(t, &t->f->opnd[o->first + k]);
    return any || ((o->kind == PTX_O_REG || o->kind == PTX_O_ADDR) && o->reg >= 0 && t->varies[o->reg]);
}
static bool result_varies(const struct turns *t, const struct ptx_instr *in)
{
    bool any = in->op == PTX_OP_ATOM || in->op == PTX_OP_CALL || in->op == PTX_OP_ACTIVEMASK ||
               (in->guard >= 0 && t->varies[in->guard]);
    for (unsigned s = 0; s < in->nsrc; s++)
        any = any || operand_varies(t, &in->src[s]);
    return any;
}
/* Whether that is news. */
static bool let_vary(struct turns *t, const struct ptx_opnd *o)
{
    bool news = o->kind == PTX_O_REG && !t->varies[o->reg];
    if (o->kind == PTX_O_REG)
        t->varies[o->reg] = 1;
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        news |= let_vary(t, &t->f->opnd[o->first + k]);
    return news;
}
/* By instructions alone: what depends on the way that a thread has come may count as one, which costs a turn. */
static void find_varying(struct turns *t)
{
    for (bool news = true; news;) {
        news = false;
        for (uint32_t i = 0; i < t->f->ninstr; i++) {
            const struct ptx_instr *in = &t->f->instr[i];
            if (!in->ndst || !result_varies(t, in))
                continue;
            for (unsigned d = 0; d < in->ndst; d++)
                news |= let_vary(t, &in->dst[d]);
        }
    }
}

/* From a branch of which threads take different ways, or which not all threads reach, to where its ways are one again.
 * Whether a block is new among those. */
static bool part_from(struct turns *t, const struct ptx_block *b)
{
    bool news = false;
    for (uint32_t s = 0; s < b->nsucc; s++)
        for (int32_t k = b->succ[s]; k >= 0 && k != b->ipdom; k = t->f->block[k].ipdom) {
            news |= !t->parted[k];
            t->parted[k] = 1;
        }
    return news;
}
static bool may_part(const struct turns *t, uint32_t k)
{
    const struct ptx_block *b = &t->f->block[k];
    const struct ptx_instr *last = b->count ? &t->f->instr[b->first + b->count - 1] : NULL;
    return b->nsucc > 1 && (t->parted[k] || !last || last->guard < 0 || t->varies[last->guard]);
}
static void find_parted(struct turns *t)
{
    for (bool news = true; news;) {
        news = false;
        for (uint32_t k = 0; k < t->f->nblock; k++)
            news |= may_part(t, k) && part_from(t, &t->f->block[k]);
    }
}

static bool waits_for_phase(const struct ptx_instr *in)
{
    return in->op == PTX_OP_MBARRIER && in->ndst == 1 && in->dst[0].kind == PTX_O_REG && strstr(in->opcode, "_wait");
}

/* The last one of each block that needs it is enough. */
static void mark(struct turns *t, bool (*is_first)(const struct turns *t, const struct ptx_instr *in), bool of_all)
{
    unsigned left = MOST;
    for (uint32_t k = 0; k < t->f->nblock; k++)
        for (uint32_t i = t->f->block[k].first + t->f->block[k].count; i-- > t->f->block[k].first;) {
            struct ptx_instr *in = &t->f->instr[i];
            if ((of_all && t->parted[k]) || !is_first(t, in))
                continue;
            if (!left)
                return;
            left--;
            if (written_again(t, k, i)) {
                in->flags |= PTX_F_TURN;
                break;
            }
        }
}

void ptx_mark_turns(struct ptx_ctx *c, struct ptx_func *f)
{
    struct turns t = {.f = f};
    unsigned meets = 0, writes = 0;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        if (waits_for_phase(&f->instr[i]))
            f->instr[i].flags |= PTX_F_TURN;
        meets += meets_block(&f->instr[i]);
        writes += writes_shared(&f->instr[i]);
    }
    if (!f->is_entry || !meets || !writes)
        return;
    t.def = PTX_NEW(c, int32_t, f->nreg + 1);
    t.varies = PTX_NEW(c, uint8_t, f->nreg + 1);
    t.parted = PTX_NEW(c, uint8_t, f->nblock + 1);
    t.seen = PTX_NEW(c, uint8_t, f->nblock + 1);
    t.todo = PTX_NEW(c, uint32_t, f->nblock + 1);
    memset(t.def, 0xff, (f->nreg + 1) * sizeof *t.def);
    for (uint32_t i = 0; i < f->ninstr; i++)
        for (unsigned d = 0; d < f->instr[i].ndst; d++)
            note_definition(&t, &f->instr[i].dst[d], (int32_t)i);
    find_varying(&t);
    find_parted(&t);
    mark(&t, fills, false);
    mark(&t, reads_at_one_place, true);
}
