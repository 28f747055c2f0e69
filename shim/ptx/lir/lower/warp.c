/* Tier 0 lowering: barriers and what the lanes of a warp do together. */
#include "ptx/lir/lower/lower.h"

/* Predicate operand; a negated one comes as the flag. */
static uint32_t predicate(struct lir_lower *l, const struct ptx_opnd *o, bool *neg)
{
    *neg = o->kind == PTX_O_REG && o->neg;
    return lir_source(l, o, LIR_CLASS_PRED);
}

static uint32_t member_mask(struct lir_lower *l, const struct ptx_instr *i, unsigned k)
{
    return i->flags & PTX_F_SYNC && k < i->nsrc ? lir_source(l, &i->src[k], LIR_CLASS_32) : LIR_SINK;
}

/* Lowers bar, barrier, bar.warp.sync and barrier.cluster. A barrier of the cluster is one more number of barrier, so
 * that waiting, and what counts as arrived, is the same code. */
static void lower_bar(struct lir_lower *l, const struct ptx_instr *i)
{
    bool neg = false;
    uint32_t id, count = LIR_SINK, pred = LIR_SINK, d = LIR_SINK;
    unsigned kind = LIR_BAR_SYNC;
    if (i->sub == PTX_SUB_WARP_SYNC) {
        uint32_t mask = lir_source(l, &i->src[0], LIR_CLASS_32);
        lir_emit(l, LIR_WARPSYNC)->e = mask;
        return;
    }
    if (i->scope == PTX_SCOPE_CLUSTER) {
        id = lir_imm(l, LIR_CLASS_32, LIR_BARRIER_CLUSTER);
        struct lir_insn *o = lir_emit(l, LIR_BAR);
        o->a = id;
        o->aux = i->sub == PTX_SUB_ARRIVE ? LIR_BAR_ARRIVE : LIR_BAR_SYNC;
        return;
    }
    id = lir_source(l, &i->src[0], LIR_CLASS_32);
    bool counted = i->nsrc > 1 && i->src[1].kind != PTX_O_NONE;
    if (counted)
        count = lir_source(l, &i->src[1], LIR_CLASS_32);
    switch (i->sub) {
    case PTX_SUB_ARRIVE: kind = LIR_BAR_ARRIVE; break;
    case PTX_SUB_POPC: kind = LIR_BAR_RED_POPC; break;
    case PTX_SUB_AND: kind = LIR_BAR_RED_AND; break;
    case PTX_SUB_OR: kind = LIR_BAR_RED_OR; break;
    default: break;
    }
    if (kind >= LIR_BAR_RED_POPC) {
        pred = predicate(l, &i->src[2], &neg);
        d = lir_dest(l, &i->dst[0]);
    }
    struct lir_insn *o = lir_emit(l, LIR_BAR);
    o->d = d;
    o->a = id;
    o->b = count;
    o->c = pred;
    o->aux = (uint16_t)(kind | (neg ? LIR_BAR_NEG : 0) | (counted ? LIR_BAR_COUNT : 0));
}

static void lower_shfl(struct lir_lower *l, const struct ptx_instr *i)
{
    uint32_t a = lir_source(l, &i->src[0], LIR_CLASS_32), b = lir_source(l, &i->src[1], LIR_CLASS_32);
    uint32_t c = lir_source(l, &i->src[2], LIR_CLASS_32), mask = member_mask(l, i, 3);
    uint32_t d = lir_dest(l, &i->dst[0]), p = i->ndst > 1 ? lir_dest(l, &i->dst[1]) : LIR_SINK;
    struct lir_insn *o = lir_emit(l, LIR_SHFL);
    o->d = d;
    o->a = a;
    o->b = b;
    o->c = c;
    o->e = mask;
    o->imm = (int32_t)p;
    o->aux = i->sub;
}

static void lower_vote(struct lir_lower *l, const struct ptx_instr *i)
{
    bool neg;
    uint32_t a = predicate(l, &i->src[0], &neg), mask = member_mask(l, i, 1);
    uint32_t d = lir_dest(l, &i->dst[0]);
    struct lir_insn *o = lir_emit(l, LIR_VOTE);
    o->d = d;
    o->a = a;
    o->e = mask;
    o->aux = (uint16_t)(i->sub | (neg ? LIR_NEGATE : 0));
}

/* match, redux, elect: d, maybe a predicate, one source, the member mask. */
static void lower_other(struct lir_lower *l, const struct ptx_instr *i, unsigned op, unsigned aux)
{
    uint32_t a = LIR_SINK, mask;
    if (op == LIR_ELECT) {
        mask = member_mask(l, i, 0);
    } else {
        a = lir_source(l, &i->src[0], lir_class_of(i->type[0]));
        mask = member_mask(l, i, 1);
    }
    uint32_t d = lir_dest(l, &i->dst[0]), p = i->ndst > 1 ? lir_dest(l, &i->dst[1]) : LIR_SINK;
    struct lir_insn *o = lir_emit(l, op);
    o->d = d;
    o->b = p;
    o->a = a;
    o->e = mask;
    o->aux = (uint16_t)aux;
}

bool lir_lower_warp(struct lir_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_BAR:
    case PTX_OP_BARRIER: lower_bar(l, i); return true;
    case PTX_OP_SHFL: lower_shfl(l, i); return true;
    case PTX_OP_VOTE: lower_vote(l, i); return true;
    case PTX_OP_MATCH:
        lower_other(l, i, LIR_MATCH, (i->sub == PTX_SUB_ALL ? 1u : 0) | (ptx_type_size(i->type[0]) == 8 ? 2u : 0));
        return true;
    case PTX_OP_REDUX:
        lower_other(l, i, LIR_REDUX, i->sub | (i->type[0] == PTX_S32 ? (unsigned)LIR_SIGNED_OP : 0));
        return true;
    case PTX_OP_ELECT: lower_other(l, i, LIR_ELECT, 0); return true;
    case PTX_OP_ACTIVEMASK: {
        uint32_t d = lir_dest(l, &i->dst[0]);
        lir_emit(l, LIR_ACTIVEMASK)->d = d;
        return true;
    }
    case PTX_OP_NANOSLEEP: lir_emit(l, LIR_YIELD), l->may_wait = true; return true;
    default: return false;
    }
}
