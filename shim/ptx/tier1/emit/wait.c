/* Tier 1 emitter: loops that wait. Lanes of a warp that leave a loop early stay until the last has left; that
 * is right as long as the last does not wait for what they would do next. */
#include "ptx/tier1/emit/emit.h"

/* All threads of the block, or of the warp, meet here. */
static bool meets_all(const struct ptx_instr *in)
{
    if ((in->op != PTX_OP_BAR && in->op != PTX_OP_BARRIER) || in->guard >= 0 ||
        in->sub == PTX_SUB_ARRIVE)
        return false;
    if (in->sub == PTX_SUB_WARP_SYNC)
        return in->src[0].kind == PTX_O_IMM && (uint32_t)in->src[0].imm == ~0u;
    return in->nsrc < 2 || in->src[1].kind == PTX_O_NONE;
}

/* Nothing that another lane could see, whatever the operands. */
static bool private(const struct ptx_instr *in)
{
    switch (in->op) {
    case PTX_OP_ST: return in->space == PTX_SP_LOCAL || in->space == PTX_SP_PARAM;
    case PTX_OP_ATOM: case PTX_OP_RED: case PTX_OP_CALL: case PTX_OP_BAR: case PTX_OP_BARRIER:
    case PTX_OP_CP: case PTX_OP_MBARRIER: case PTX_OP_ST_ASYNC: case PTX_OP_ST_BULK:
    case PTX_OP_RED_ASYNC: case PTX_OP_STMATRIX: case PTX_OP_SUST: case PTX_OP_SURED: case PTX_OP_SHFL:
    case PTX_OP_VOTE: case PTX_OP_MATCH: case PTX_OP_REDUX: case PTX_OP_WMMA: case PTX_OP_BRX:
        return false;
    default:
        return true;
    }
}

static bool quiet(const struct ptx_func *f, uint32_t block, uint8_t *seen)
{
    const struct ptx_block *b = &f->block[block];
    if (seen[block])
        return true;
    seen[block] = 1;
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        if (meets_all(&f->instr[i]))
            return true;
        if (!private(&f->instr[i]))
            return false;
    }
    for (uint32_t s = 0; s < b->nsucc; s++)
        if (!quiet(f, (uint32_t)b->succ[s], seen))
            return false;
    return true;
}

bool t1_meets_before_acting(struct t1_emit *e, uint32_t block)
{
    return quiet(e->f, block, t1_alloc(e, e->f->nblock + 1, 1));
}

/* One value for the warp, as far as the block sees it. */
static bool uniform(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value, uint32_t block)
{
    return o->kind == PTX_O_IMM ||
           (o->kind == PTX_O_REG && value >= 0 && ptx_class_at(f, value, block) == PTX_C_UNIFORM);
}

static bool lanes_differ(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value, uint32_t block)
{
    return o->kind == PTX_O_REG && value >= 0 && f->value[value].stride != 0 &&
           f->value[value].stride < 1 << 20 && f->value[value].stride > -(1 << 20) &&
           ptx_class_at(f, value, block) == PTX_C_AFFINE;
}

/* Only a lane whose number fits takes the branch from `from` to `to`: `if (threadIdx.x == 0)`. */
static bool picks_one(const struct ptx_func *f, uint32_t from, uint32_t to)
{
    const struct ptx_block *b = &f->block[from];
    if (!b->count || b->nsucc != 2)
        return false;
    uint32_t last = b->first + b->count - 1;
    const struct ptx_instr *branch = &f->instr[last];
    int32_t p = branch->op == PTX_OP_BRA && branch->guard >= 0 ? f->instr_src[last][5] : -1;
    int32_t def = p >= 0 ? f->value[p].instr : -1;
    if (def < 0)
        return false;
    const struct ptx_instr *in = &f->instr[def];
    uint32_t at = (uint32_t)f->value[p].block;
    bool when = ((uint32_t)b->succ[0] == to) != branch->guard_neg; /* the predicate's value on this way */
    if (in->op != PTX_OP_SETP || in->guard >= 0 || in->nsrc != 2 || in->ndst != 1 ||
        in->cmp != (when ? PTX_EQ : PTX_NE) || in->type[0] == PTX_F32 || in->type[0] == PTX_F64)
        return false;
    const int32_t *v = f->instr_src[def];
    return (lanes_differ(f, &in->src[0], v[0], at) && uniform(f, &in->src[1], v[1], at)) ||
           (lanes_differ(f, &in->src[1], v[1], at) && uniform(f, &in->src[0], v[0], at));
}

bool t1_one_lane(const struct t1_emit *e, uint32_t block)
{
    const struct ptx_func *f = e->f;
    for (int32_t b = (int32_t)block; b > 0; b = f->block[b].idom) {
        int32_t from = f->block[b].idom;
        if (from >= 0 && f->block[b].npred == 1 && f->block[b].pred[0] == from &&
            picks_one(f, (uint32_t)from, (uint32_t)b))
            return true;
    }
    return false;
}
