/* Tier 0 execution: what the lanes of a warp do together. The dispatch loop has gathered the lanes
 * that an instruction waits for before a handler here runs. */
#include "ptx/tier0/warp.h"

static void set_pred(struct t0_warp *w, uint32_t row, uint32_t value)
{
    T0_PRED(w, row) = (T0_PRED(w, row) & ~w->l.mask) | (value & w->l.mask);
}

/* Source lane of each mode: c holds the clamp in bits 0-4 and the segment mask in bits 8-12. PTX leaves
 * the value of a lane that takes no part undefined; programs rely on 0 (NVIDIA's sample `reduction`
 * adds over a whole warp with eight lanes active). */
static void shfl(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t old[LIR_LANES], *d = T0_U32(w, i->d), in = 0;
    const uint32_t *a = T0_U32(w, i->a), *b = T0_U32(w, i->b), *c = T0_U32(w, i->c);
    for (unsigned l = 0; l < LIR_LANES; l++)
        old[l] = w->l.mask >> l & 1 ? a[l] : 0;
    T0_FOR_LANES(l, w->l.mask)
    {
        uint32_t lane = b[l] & 31, clamp = c[l] & 31, segment = c[l] >> 8 & 31;
        uint32_t most = (l & segment) | (clamp & ~segment), least = l & segment, j;
        bool ok;
        switch (i->aux & LIR_SUB_MASK) {
        case PTX_SUB_UP:
            j = l - lane;
            ok = (int32_t)j >= (int32_t)most;
            break;
        case PTX_SUB_DOWN:
            j = l + lane;
            ok = j <= most;
            break;
        case PTX_SUB_BFLY:
            j = l ^ lane;
            ok = j <= most;
            break;
        default: j = least | (lane & ~segment); ok = j <= most;
        }
        d[l] = old[ok ? j & 31 : l];
        in |= (uint32_t)ok << l;
    }
    set_pred(w, (uint32_t)i->imm, in);
}

/* The first of these lanes with those here that it names. */
static uint32_t group(struct t0_warp *w, const struct lir_insn *i, uint32_t left)
{
    unsigned first = (unsigned)__builtin_ctz(left);
    return i->e ? (T0_U32(w, i->e)[first] & left) | 1u << first : left;
}
#define GROUPS(who, w, i) \
    for (uint32_t left_ = (w)->l.mask, who; left_ && ((who = group(w, i, left_)), true); left_ &= ~who)

/* A ballot is what all lanes here say, as far as a lane's mask goes. PTX leaves open what a lane gets whose mask does
 * not name it; programs pass %lanemask_lt (HeCBench's bscan), and ptxas's code for sm_80 votes and then ands. */
static void vote(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t all = (i->aux & LIR_NEGATE ? ~T0_PRED(w, i->a) : T0_PRED(w, i->a)) & w->l.mask;
    uint32_t preds = 0, *d = T0_U32(w, i->d);
    unsigned kind = i->aux & LIR_SUB_MASK;
    if (kind == PTX_SUB_BALLOT) {
        T0_FOR_LANES(l, w->l.mask)
        d[l] = i->e ? all & T0_U32(w, i->e)[l] : all;
        return;
    }
    GROUPS(who, w, i)
    {
        uint32_t p = all & who;
        bool yes = kind == PTX_SUB_ALL ? p == who : kind == PTX_SUB_ANY ? p != 0 : !p || p == who;
        preds |= yes ? who : 0;
    }
    set_pred(w, i->d, preds);
}

static uint64_t value(struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    return i->aux & 2 ? T0_U64(w, i->a)[lane] : T0_U32(w, i->a)[lane];
}

static void match(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t *d = T0_U32(w, i->d), result[LIR_LANES] = {0}, all = 0;
    GROUPS(who, w, i)
    {
        T0_FOR_LANES(l, who)
        {
            uint32_t same = 0;
            for (unsigned k = 0; k < LIR_LANES; k++)
                if (who >> k & 1 && value(w, i, k) == value(w, i, l))
                    same |= 1u << k;
            if (i->aux & 1) { /* all: every lane or none */
                all |= (uint32_t)(same == who) << l;
                same = same == who ? who : 0;
            }
            result[l] = same;
        }
    }
    T0_FOR_LANES(l, w->l.mask)
    d[l] = result[l];
    if (i->aux & 1)
        set_pred(w, i->b, all);
}

static void redux(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t *d = T0_U32(w, i->d), result[LIR_LANES] = {0};
    const uint32_t *a = T0_U32(w, i->a);
    unsigned op = i->aux & LIR_SUB_MASK;
    bool sign = i->aux & LIR_SIGNED_OP;
    GROUPS(who, w, i)
    {
        uint32_t r = a[__builtin_ctz(who)];
        T0_FOR_LANES(l, who & (who - 1))
        {
            uint32_t v = a[l];
            bool more = sign ? (int32_t)v > (int32_t)r : v > r;
            r = op == PTX_SUB_ADD   ? r + v
                : op == PTX_SUB_AND ? r & v
                : op == PTX_SUB_OR  ? r | v
                : op == PTX_SUB_XOR ? r ^ v
                : op == PTX_SUB_MIN ? (more ? r : v)
                                    : (more ? v : r);
        }
        T0_FOR_LANES(l, who)
        result[l] = r;
    }
    T0_FOR_LANES(l, w->l.mask)
    d[l] = result[l];
}

static void elect(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t leaders = 0;
    GROUPS(who, w, i)
    {
        leaders |= who & (0u - who);
        T0_FOR_LANES(l, who)
        T0_U32(w, i->d)[l] = (uint32_t)__builtin_ctz(who);
    }
    set_pred(w, i->b, leaders);
}

static void activemask(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    T0_U32(w, i->d)[l] = w->l.mask;
}

static void warpsync(struct t0_warp *w, const struct lir_insn *i)
{
    (void)w;
    (void)i;
    atomic_thread_fence(memory_order_acq_rel);
}

void t0_warp_handlers(t0_handler *table[LIR_NOPS])
{
    table[LIR_SHFL] = shfl;
    table[LIR_VOTE] = vote;
    table[LIR_MATCH] = match;
    table[LIR_REDUX] = redux;
    table[LIR_ELECT] = elect;
    table[LIR_ACTIVEMASK] = activemask;
    table[LIR_WARPSYNC] = warpsync;
}
