/* The MUSA emitter: barriers, shuffles, votes and what else the threads of a warp do together. */
#include "ptx/musa/emit/emit.h"

#include <stdio.h>

/* Member mask of a collective; without one, those who run now. */
static struct mu_str members(struct mu_emit *e)
{
    if (e->at->e)
        return mu_get(e, e->at->e, 'w');
    return (struct mu_str){"active_mask()"};
}

/* Writes a barrier. One of the whole block is the toolkit's own; others count in shared memory, as no toolkit is
 * known to have them. A cluster has one block here, so its barrier is the block's. */
static void barrier(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    const unsigned kind = i->aux & LIR_BAR_KIND;
    const bool counted = i->aux & LIR_BAR_COUNT;
    const char *neg = i->aux & LIR_BAR_NEG ? "!" : "", *way = counted ? "bar_count" : "bar";
    uint64_t id;
    struct mu_str at = mu_get(e, i->a, 'w'), n = counted ? mu_get(e, i->b, 'w') : (struct mu_str){"0u"};
    if (mu_constant(e, i->a, &id) && id == LIR_BARRIER_CLUSTER) { /* of one block: */
        if (kind == LIR_BAR_ARRIVE)
            return; /* its wait is the meeting point */
        at = (struct mu_str){"0u"};
    }
    switch (kind) {
    case LIR_BAR_ARRIVE: mu_put(e, "bar_arrive(%s, %s);\n", at.s, n.s); return;
    case LIR_BAR_SYNC:
        if (counted)
            mu_put(e, "%s(%s, %s);\n", e->arrives ? "bar_count" : "bar_some", at.s, n.s);
        else
            mu_put(e, "bar_all(%s);\n", at.s);
        return;
    default:
        mu_put(e, "%s = %s_%s(%s", mu_set(e, i->d, kind == LIR_BAR_RED_POPC ? 'w' : 'p').s, way,
               kind == LIR_BAR_RED_POPC  ? "popc"
               : kind == LIR_BAR_RED_AND ? "and"
                                         : "or",
               at.s);
        if (counted)
            mu_put(e, ", %s", n.s);
        mu_put(e, ", %s%s);\n", neg, mu_get(e, i->c, 'p').s);
    }
}

static void shuffle(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    struct mu_str m = members(e), a = mu_get(e, i->a, 'w'), b = mu_get(e, i->b, 'w'), c = mu_get(e, i->c, 'w');
    uint64_t bounds;
    mu_put(e, "{\nbool in;\n");
    if (mu_constant(e, i->c, &bounds))
        mu_put(e, "const u32 v = shuffle_within<%u, %u>(%s, %s, %s, in);\n", i->aux & LIR_SUB_MASK, (unsigned)bounds,
               m.s, a.s, b.s);
    else
        mu_put(e, "const u32 v = shuffle(%u, %s, %s, %s, %s, in);\n", i->aux & LIR_SUB_MASK, m.s, a.s, b.s, c.s);
    mu_put(e, "%s = v;\n", mu_set(e, i->d, 'w').s);
    mu_put(e, "%s = in;\n}\n", mu_set(e, (uint32_t)i->imm, 'p').s);
}

/* What lanes of a warp or block do together, by functions of the prelude's; false: another instruction. */
bool mu_warp(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    const unsigned sub = i->aux & LIR_SUB_MASK;
    struct mu_str m;
    switch (i->op) {
    case LIR_BAR: barrier(e); return true;
    case LIR_SHFL: shuffle(e); return true;
    case LIR_WARPSYNC: mu_put(e, "warp_sync(%s);\n", i->e ? mu_get(e, i->e, 'w').s : "~0u"); return true;
    case LIR_VOTE:
        m = members(e);
        mu_put(e, sub == PTX_SUB_BALLOT ? "%s = vote(%u, %s, %s, %s);\n" : "%s = vote(%u, %s, %s, %s) != 0;\n",
               mu_set(e, i->d, sub == PTX_SUB_BALLOT ? 'w' : 'p').s, sub, m.s, mu_get(e, i->a, 'p').s,
               i->aux & LIR_NEGATE ? "true" : "false");
        return true;
    case LIR_MATCH:
        m = members(e);
        mu_put(e, "{\nbool all;\nconst u32 v = match(%s, %s, %s, %s, all);\n", m.s,
               mu_get(e, i->a, i->aux & 2 ? 'l' : 'w').s, i->aux & 2 ? "true" : "false", i->aux & 1 ? "true" : "false");
        mu_put(e, "%s = v;\n", mu_set(e, i->d, 'w').s);
        if (i->aux & 1)
            mu_put(e, "%s = all;\n", mu_set(e, i->b, 'p').s);
        mu_put(e, "}\n");
        return true;
    case LIR_REDUX:
        m = members(e);
        mu_put(e, "%s = redux(%u, %s, %s, %s);\n", mu_set(e, i->d, 'w').s, sub,
               i->aux & LIR_SIGNED_OP ? "true" : "false", m.s, mu_get(e, i->a, 'w').s);
        return true;
    case LIR_ELECT:
        m = members(e);
        mu_put(e, "{\nconst u32 v = lowest(%s);\n%s = v;\n", m.s, mu_set(e, i->d, 'w').s);
        mu_put(e, "%s = v == lane_id();\n}\n", mu_set(e, i->b, 'p').s);
        return true;
    case LIR_ACTIVEMASK: mu_put(e, "%s = active_mask();\n", mu_set(e, i->d, 'w').s); return true;
    case LIR_SREG: {
        const bool timer = i->imm >= PTX_SR_GLOBALTIMER,
                   wide = i->imm == PTX_SR_CLOCK64 || i->imm == PTX_SR_GLOBALTIMER;
        const bool high = i->imm == PTX_SR_CLOCK_HI || i->imm == PTX_SR_GLOBALTIMER_HI;
        mu_put(e, "%s = %s(%s%s);\n", mu_set(e, i->d, i->aux & 1 ? 'l' : 'w').s, wide && i->aux & 1 ? "" : "(u32)",
               timer ? "timer()" : "clock_now()", high ? " >> 32" : "");
        return true;
    }
    case LIR_YIELD:
        if (!i->aux) /* a device's warps have their turns anyway */
            mu_put(e, "pause();\n");
        return true;
    default: return false;
    }
}
