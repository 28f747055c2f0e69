/* Tier 0 lowering: barriers and what the lanes of a warp do together. */
#include "ptx/tier0/lower/lower.h"

/* Predicate operand; a negated one comes as the flag. */
static uint32_t predicate(struct t0_lower *l, const struct ptx_opnd *o, bool *neg)
{
    *neg = o->kind == PTX_O_REG && o->neg;
    return t0_source(l, o, T0_CLASS_PRED);
}

static uint32_t member_mask(struct t0_lower *l, const struct ptx_instr *i, unsigned k)
{
    return i->flags & PTX_F_SYNC && k < i->nsrc ? t0_source(l, &i->src[k], T0_CLASS_32) : T0_SINK;
}

static void lower_bar(struct t0_lower *l, const struct ptx_instr *i)
{
    bool neg = false;
    uint32_t id, count = T0_SINK, pred = T0_SINK, d = T0_SINK;
    unsigned kind = T0_BAR_SYNC;
    if (i->sub == PTX_SUB_WARP_SYNC) {
        uint32_t mask = t0_source(l, &i->src[0], T0_CLASS_32);
        t0_emit(l, T0_WARPSYNC)->e = mask;
        return;
    }
    if (i->scope == PTX_SCOPE_CLUSTER) {
        id = t0_imm(l, T0_CLASS_32, T0_BARRIER_CLUSTER);
        struct t0_insn *o = t0_emit(l, T0_BAR);
        o->a = id;
        o->aux = i->sub == PTX_SUB_ARRIVE ? T0_BAR_ARRIVE : T0_BAR_SYNC;
        return;
    }
    id = t0_source(l, &i->src[0], T0_CLASS_32);
    bool counted = i->nsrc > 1 && i->src[1].kind != PTX_O_NONE;
    if (counted)
        count = t0_source(l, &i->src[1], T0_CLASS_32);
    switch (i->sub) {
    case PTX_SUB_ARRIVE: kind = T0_BAR_ARRIVE; break;
    case PTX_SUB_POPC: kind = T0_BAR_RED_POPC; break;
    case PTX_SUB_AND: kind = T0_BAR_RED_AND; break;
    case PTX_SUB_OR: kind = T0_BAR_RED_OR; break;
    default: break;
    }
    if (kind >= T0_BAR_RED_POPC) {
        pred = predicate(l, &i->src[2], &neg);
        d = t0_dest(l, &i->dst[0]);
    }
    struct t0_insn *o = t0_emit(l, T0_BAR);
    o->d = d;
    o->a = id;
    o->b = count;
    o->c = pred;
    o->aux = (uint16_t)(kind | (neg ? T0_BAR_NEG : 0) | (counted ? T0_BAR_COUNT : 0));
}

static void lower_shfl(struct t0_lower *l, const struct ptx_instr *i)
{
    uint32_t a = t0_source(l, &i->src[0], T0_CLASS_32), b = t0_source(l, &i->src[1], T0_CLASS_32);
    uint32_t c = t0_source(l, &i->src[2], T0_CLASS_32), mask = member_mask(l, i, 3);
    uint32_t d = t0_dest(l, &i->dst[0]), p = i->ndst > 1 ? t0_dest(l, &i->dst[1]) : T0_SINK;
    struct t0_insn *o = t0_emit(l, T0_SHFL);
    o->d = d;
    o->a = a;
    o->b = b;
    o->c = c;
    o->e = mask;
    o->imm = (int32_t)p;
    o->aux = i->sub;
}

static void lower_vote(struct t0_lower *l, const struct ptx_instr *i)
{
    bool neg;
    uint32_t a = predicate(l, &i->src[0], &neg), mask = member_mask(l, i, 1);
    uint32_t d = t0_dest(l, &i->dst[0]);
    struct t0_insn *o = t0_emit(l, T0_VOTE);
    o->d = d;
    o->a = a;
    o->e = mask;
    o->aux = (uint16_t)(i->sub | (neg ? T0_NEGATE : 0));
}

/* match, redux, elect: d, maybe a predicate, one source, the member mask. */
static void lower_other(struct t0_lower *l, const struct ptx_instr *i, unsigned op, unsigned aux)
{
    uint32_t a = T0_SINK, mask;
    if (op == T0_ELECT) {
        mask = member_mask(l, i, 0);
    } else {
        a = t0_source(l, &i->src[0], t0_class_of(i->type[0]));
        mask = member_mask(l, i, 1);
    }
    uint32_t d = t0_dest(l, &i->dst[0]), p = i->ndst > 1 ? t0_dest(l, &i->dst[1]) : T0_SINK;
    struct t0_insn *o = t0_emit(l, op);
    o->d = d;
    o->b = p;
    o->a = a;
    o->e = mask;
    o->aux = (uint16_t)aux;
}

bool t0_lower_warp(struct t0_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_BAR:
    case PTX_OP_BARRIER: lower_bar(l, i); return true;
    case PTX_OP_SHFL: lower_shfl(l, i); return true;
    case PTX_OP_VOTE: lower_vote(l, i); return true;
    case PTX_OP_MATCH:
        lower_other(l, i, T0_MATCH, (i->sub == PTX_SUB_ALL ? 1u : 0) |
                                        (ptx_type_size(i->type[0]) == 8 ? 2u : 0));
        return true;
    case PTX_OP_REDUX:
        if (i->type[0] == PTX_F32)
            t0_fail(l, "redux of floating-point values is not supported");
        lower_other(l, i, T0_REDUX, i->sub | (i->type[0] == PTX_S32 ? (unsigned)T0_SIGNED_OP : 0));
        return true;
    case PTX_OP_ELECT: lower_other(l, i, T0_ELECT, 0); return true;
    case PTX_OP_ACTIVEMASK: {
        uint32_t d = t0_dest(l, &i->dst[0]);
        t0_emit(l, T0_ACTIVEMASK)->d = d;
        return true;
    }
    case PTX_OP_NANOSLEEP: t0_emit(l, T0_YIELD), l->may_wait = true; return true;
    default: return false;
    }
}
