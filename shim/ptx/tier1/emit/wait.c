/* Tier 1 emitter: lanes of a warp that wait for each other. While some lanes run a loop, the others stand where they
 * diverged from them; that is right as long as the loop does not wait for what they would do next (depend.c). Where
 * it may, the blocks that they run are made loose. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

/* All threads of the block, or of the warp, meet here: nobody gets past an aligned one without its warp. */
bool t1_meets_all(const struct ptx_instr *in)
{
    if ((in->op != PTX_OP_BAR && in->op != PTX_OP_BARRIER) || in->guard >= 0)
        return false;
    if (in->sub == PTX_SUB_WARP_SYNC)
        return in->src[0].kind == PTX_O_IMM && (uint32_t)in->src[0].imm == ~0u;
    return in->op == PTX_OP_BAR || in->flags & PTX_F_ALIGNED ||
           (in->sub != PTX_SUB_ARRIVE && (in->nsrc < 2 || in->src[1].kind == PTX_O_NONE));
}

/* Nothing that another lane could see, whatever the operands. */
static bool private(const struct ptx_instr *in)
{
    switch (in->op) {
    case PTX_OP_ST: return in->space == PTX_SP_LOCAL || in->space == PTX_SP_PARAM;
    case PTX_OP_MBARRIER: return strstr(in->opcode, "_wait");
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_CALL:
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
    case PTX_OP_CP:
    case PTX_OP_MULTIMEM:
    case PTX_OP_TCGEN05:
    case PTX_OP_CLUSTERLAUNCHCONTROL:
    case PTX_OP_ST_ASYNC:
    case PTX_OP_ST_BULK:
    case PTX_OP_RED_ASYNC:
    case PTX_OP_STMATRIX:
    case PTX_OP_SUST:
    case PTX_OP_SURED:
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_WMMA:
    case PTX_OP_BRX: return false;
    default: return true;
    }
}

static bool quiet(const struct ptx_func *f, uint32_t block, uint8_t *seen)
{
    const struct ptx_block *b = &f->block[block];
    if (seen[block])
        return true;
    seen[block] = 1;
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        if (t1_meets_all(&f->instr[i]))
            return true;
        if (!private(&f->instr[i]) || (f->instr[i].op == PTX_OP_RET && !f->is_entry))
            return false; /* its caller goes on */
    }
    if (!b->nsucc && !f->is_entry && (!b->count || f->instr[b->first + b->count - 1].op != PTX_OP_EXIT))
        return false;
    for (uint32_t s = 0; s < b->nsucc; s++)
        if (!quiet(f, (uint32_t)b->succ[s], seen))
            return false;
    return true;
}

/* From this block on, a lane does what others can see before it meets all of them or ends. */
static bool acts(struct t1_emit *e, uint32_t block, uint8_t *seen)
{
    memset(seen, 0, e->f->nblock);
    return !quiet(e->f, block, seen);
}

/* One value for the warp, as far as the block sees it. */
static bool uniform(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value, uint32_t block)
{
    return o->kind == PTX_O_IMM ||
           (o->kind == PTX_O_REG && value >= 0 && ptx_class_at(f, value, block) == PTX_C_UNIFORM);
}

static bool lanes_differ(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value, uint32_t block)
{
    return o->kind == PTX_O_REG && value >= 0 && f->value[value].stride != 0 && f->value[value].stride < 1 << 20 &&
           f->value[value].stride > -(1 << 20) && ptx_class_at(f, value, block) == PTX_C_AFFINE;
}

static bool is_const(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value, uint32_t number)
{
    if (o->kind == PTX_O_IMM)
        return (uint32_t)o->imm == number;
    const struct ptx_value *x = o->kind == PTX_O_REG && value >= 0 ? &f->value[value] : NULL;
    return x && x->has_range && x->lo == x->hi && (uint32_t)x->lo == number;
}

static bool single(const struct ptx_func *f, int32_t p, bool when, unsigned steps);

/* A number that no more than one lane has but zero: the flag that CuTe makes of who is elected. */
static bool single_flag(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value, unsigned steps)
{
    const int32_t def = o->kind == PTX_O_REG && value >= 0 ? f->value[value].instr : -1;
    if (def < 0)
        return false;
    const struct ptx_instr *in = &f->instr[def];
    const int32_t *v = f->instr_src[def];
    if (in->op == PTX_OP_SELP && in->guard < 0)
        return (is_const(f, &in->src[1], v[1], 0) && single(f, v[2], !in->src[2].neg, steps)) ||
               (is_const(f, &in->src[0], v[0], 0) && single(f, v[2], in->src[2].neg, steps));
    if (in->op != PTX_OP_MOV || in->guard < 0 || !single(f, v[5], !in->guard_neg, steps))
        return false;
    return in->dst[0].kind == PTX_O_REG && is_const(f, &in->dst[0], f->instr_old[def][0], 0);
}

/* No more than one lane of a warp has this value, `when`, for its predicate. */
static bool single(const struct ptx_func *f, int32_t p, bool when, unsigned steps)
{
    const int32_t def = p >= 0 ? f->value[p].instr : -1;
    if (def < 0 || !steps)
        return false;
    const struct ptx_instr *in = &f->instr[def];
    const uint32_t at = (uint32_t)f->value[p].block;
    const int32_t *v = f->instr_src[def];
    if (in->guard >= 0)
        return false;
    switch (in->op) {
    case PTX_OP_ELECT: return when && is_const(f, &in->src[0], v[0], ~0u);
    case PTX_OP_NOT: return single(f, v[0], when == in->src[0].neg, steps - 1);
    case PTX_OP_AND: /* both, or, when it is not, neither */
    case PTX_OP_OR:
        return when == (in->op == PTX_OP_AND) && (single(f, v[0], when != in->src[0].neg, steps - 1) ||
                                                  single(f, v[1], when != in->src[1].neg, steps - 1));
    case PTX_OP_SETP: break;
    default: return false;
    }
    if (in->nsrc != 2 || in->ndst != 1 || in->type[0] == PTX_F32 || in->type[0] == PTX_F64)
        return false;
    if (in->cmp == (when ? PTX_EQ : PTX_NE)) /* `if (threadIdx.x == 0)` */
        return (lanes_differ(f, &in->src[0], v[0], at) && uniform(f, &in->src[1], v[1], at)) ||
               (lanes_differ(f, &in->src[1], v[1], at) && uniform(f, &in->src[0], v[0], at));
    return in->cmp == (when ? PTX_NE : PTX_EQ) && is_const(f, &in->src[1], v[1], 0) &&
           single_flag(f, &in->src[0], v[0], steps - 1);
}

/* Only one lane, whatever the launch, takes the branch from `from` to `to`. */
static bool picks_one(const struct ptx_func *f, uint32_t from, uint32_t to)
{
    const struct ptx_block *b = &f->block[from];
    if (!b->count || b->nsucc != 2)
        return false;
    const uint32_t last = b->first + b->count - 1;
    const struct ptx_instr *branch = &f->instr[last];
    if (branch->op != PTX_OP_BRA || branch->guard < 0)
        return false;
    enum { STEPS = 6 }; /* from a branch back to what elects */
    return single(f, f->instr_src[last][5], ((uint32_t)b->succ[0] == to) != branch->guard_neg, STEPS);
}

/* Behind a loop that a branch of it lets one lane leave in each round there are many. */
bool t1_one_lane(const struct t1_emit *e, uint32_t block)
{
    const struct ptx_func *f = e->f;
    for (int32_t b = (int32_t)block; b > 0; b = f->block[b].idom) {
        int32_t from = f->block[b].idom;
        if (from >= 0 && f->block[b].npred == 1 && f->block[b].pred[0] == from &&
            (f->block[from].loop_header < 0 || ptx_in_loop(f, (int32_t)block, f->block[from].loop_header)) &&
            picks_one(f, (uint32_t)from, (uint32_t)b))
            return true;
    }
    return false;
}

/* ---- who waits for whom ---- */

struct divergence {
    struct t1_emit *e;
    struct ptx_divergence p;
    uint8_t *seen, *ahead;
};

/* Does the way from block k lead to block `to` before the diverged lanes reconverge? */
static bool leads_to(struct divergence *x, int32_t k, int32_t to)
{
    const struct ptx_block *b = &x->e->f->block[k];
    if (k == to)
        return true;
    if (x->ahead[k] || !(x->p.mark[k] & PTX_MARK_DIVERGENT))
        return false;
    x->ahead[k] = 1;
    for (uint32_t s = 0; s < b->nsucc; s++)
        if (leads_to(x, b->succ[s], to))
            return true;
    return false;
}

/* Block b lets lanes diverge, of which some run block k: may others of them do what those wait for? */
static bool others_act(struct divergence *x, uint32_t b, uint32_t k)
{
    const struct ptx_block *branch = &x->e->f->block[b];
    unsigned ways = 0;
    int32_t only = -1;
    for (uint32_t s = 0; s < branch->nsucc; s++) {
        memset(x->ahead, 0, x->e->f->nblock);
        if (!leads_to(x, branch->succ[s], (int32_t)k))
            continue;
        ways++;
        only = branch->succ[s];
    }
    for (uint32_t s = 0; s < branch->nsucc; s++)
        if ((ways > 1 || branch->succ[s] != only) && acts(x->e, (uint32_t)branch->succ[s], x->seen))
            return true;
    return false;
}

/* The loop waits, and lanes have diverged at block b. True if what others of them do next had to be made loose. */
static bool make_loose(struct divergence *x, uint32_t b, uint32_t h)
{
    struct t1_emit *e = x->e;
    const struct ptx_func *f = e->f;
    bool found = false;
    if (ptx_in_loop(f, (int32_t)b, (int32_t)h)) { /* by leaving it */
        for (uint32_t k = h; k <= (uint32_t)x->p.loop_end[h]; k++)
            for (uint32_t s = 0; s < f->block[k].nsucc; s++) {
                const uint32_t t = (uint32_t)f->block[k].succ[s];
                if (ptx_in_loop(f, (int32_t)t, (int32_t)h) || !acts(e, t, x->seen))
                    continue;
                found = true;
                if (f->split_at_waits)
                    t1_loosen(e, h, t);
            }
    } else if (others_act(x, b, h)) {
        found = true;
        for (uint32_t s = 0; f->split_at_waits && s < f->block[b].nsucc; s++)
            t1_loosen(e, h, (uint32_t)f->block[b].succ[s]);
    }
    if (found && !f->is_entry)
        t1_fail(e, "lanes of a called function may wait for each other");
    return found;
}

static bool calls_waiting(struct t1_emit *e, uint32_t k)
{
    const struct ptx_block *b = &e->f->block[k];
    for (uint32_t i = b->first; i < b->first + b->count; i++)
        if (e->f->instr[i].op == PTX_OP_CALL && t1_call_waits(e, &e->f->instr[i]))
            return true;
    return false;
}

static bool lanes_wait(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    struct divergence x = {.e = e, .seen = t1_alloc(e, f->nblock + 1, 1), .ahead = t1_alloc(e, f->nblock + 1, 1)};
    bool wait = false, any = false;
    for (uint32_t k = 0; k < f->nblock && !any; k++)
        any = e->waits[k] || calls_waiting(e, k);
    if (!any)
        return false;
    ptx_divergence_init(&x.p, f, t1_alloc(e, PTX_DIVERGENCE_WORDS(f), sizeof(int32_t)));
    for (uint32_t b = 0; b < f->nblock; b++) {
        if (f->block[b].nsucc < 2 || !t1_parts_lanes(f, b) || t1_one_lane(e, b))
            continue;
        ptx_diverge_at(&x.p, (int32_t)b);
        for (uint32_t k = 0; k < f->nblock; k++) {
            if (!(x.p.mark[k] & PTX_MARK_DIVERGENT))
                continue;
            if (e->waits[k] & T1_WAITS && !f->block[k].loose)
                wait |= make_loose(&x, b, k);
            if (calls_waiting(e, k) && others_act(&x, b, k)) /* all lanes return from a call at once */
                t1_fail(e, "lanes may wait for each other in a function");
        }
    }
    return wait;
}

bool t1_must_be_loose(struct t1_emit *e)
{
    t1_find_waits(e);
    return e->f->irreducible ? !e->f->block[0].loose : lanes_wait(e);
}
