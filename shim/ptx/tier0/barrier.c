/* Tier 0 execution: bar.sync, bar.arrive and bar.red. A barrier counts threads: lanes that exited
 * count as arrived, as do the lanes that a partial last warp never had. */
#include "ptx/tier0/tools.h"

#include <string.h>

/* A barrier of the whole block completes when no live lane is missing; one with a count when the
 * warps that take part bring that many threads. */
static bool complete(const struct t0_block *b, const struct t0_barrier *bar)
{
    uint32_t threads = bar->again;
    for (uint32_t k = 0; k < b->nwarp; k++) {
        uint32_t here = bar->arrived[k] | b->warp[k].dead;
        if (!bar->count && ~here)
            return false;
        if (bar->arrived[k])
            threads += (uint32_t)__builtin_popcount(here);
    }
    return threads >= bar->count;
}

static void give_result(struct t0_warp *w, const struct t0_barrier *bar, const struct lir_insn *i, uint32_t mask)
{
    unsigned kind = i->aux & LIR_BAR_KIND;
    if (kind == LIR_BAR_RED_POPC) {
        T0_FOR_LANES(l, mask)
        T0_U32(w, i->d)[l] = bar->popc;
    } else if (kind == LIR_BAR_RED_AND || kind == LIR_BAR_RED_OR) {
        bool v = kind == LIR_BAR_RED_AND ? bar->all : bar->any;
        T0_PRED(w, i->d) = v ? T0_PRED(w, i->d) | mask : T0_PRED(w, i->d) & ~mask;
    }
}

/* By the running lanes of w at instruction i, or (NULL) because others have exited. */
static void release(struct t0_block *b, uint32_t id, struct t0_warp *by, const struct lir_insn *i)
{
    struct t0_barrier *bar = &b->barrier[id];
    const struct lir_insn *code = LIR_AT(b->image, code, struct lir_insn);
    if (b->grid->watch)
        t0_tools_released(b, by, i, id);
    for (uint32_t k = 0; k < b->nwarp; k++) {
        struct t0_warp *w = &b->warp[k];
        for (uint32_t s = 0; s < w->nsplit; s++) {
            struct t0_split *split = &w->split[s];
            if (split->state != T0_WAIT_BARRIER || split->want != id)
                continue;
            give_result(w, bar, &code[split->pc], split->mask);
            split->state = T0_READY;
            split->pc++;
        }
        if (w->nsplit > 1)
            t0_splits_merge(w);
        bar->arrived[k] = 0;
    }
    bar->in_use = false;
}

/* A warp has arrived and comes again, while others have yet to come: they have one turn first. The other order is
 * right, too, but programs that count arrivals twice (flashinfer's epilogue for Hopper) rely on warps that keep
 * pace. */
bool t0_bar_early(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t id = T0_U32(w, i->a)[__builtin_ctz(w->l.mask)] % T0_BARRIERS;
    const struct t0_barrier *bar = &w->block->barrier[id];
    w->early = !w->early && id != LIR_BARRIER_CLUSTER && bar->in_use && bar->arrived[w->index] & w->l.mask;
    return w->early;
}

/* A split of a warp arrives at a barrier of its block. True: it goes on, because it only arrives or is the last. */
bool t0_bar_arrive(struct t0_warp *w, const struct lir_insn *i)
{
    struct t0_block *b = w->block;
    unsigned lane = (unsigned)__builtin_ctz(w->l.mask), kind = i->aux & LIR_BAR_KIND;
    uint32_t id = T0_U32(w, i->a)[lane] % T0_BARRIERS;
    if (id == LIR_BARRIER_CLUSTER)
        return t0_cluster_arrive(w, kind != LIR_BAR_ARRIVE);
    struct t0_barrier *bar = &b->barrier[id];
    uint32_t p = T0_PRED(w, i->c);

    if (b->grid->watch)
        t0_tools_arrive(w, i, id);
    if (!bar->in_use) {
        bar->in_use = bar->all = true;
        bar->any = false;
        bar->popc = bar->arrivals = bar->again = 0;
        bar->count = i->aux & LIR_BAR_COUNT ? T0_U32(w, i->b)[lane] : 0;
    }
    if (kind >= LIR_BAR_RED_POPC) {
        p = (i->aux & LIR_BAR_NEG ? ~p : p) & w->l.mask;
        bar->popc += (uint32_t)__builtin_popcount(p);
        bar->any |= p != 0;
        bar->all &= p == w->l.mask;
    }
    const uint32_t twice = bar->arrived[w->index] & w->l.mask;
    bar->again += (uint32_t)__builtin_popcount(~(twice | w->dead) ? twice : ~0u);
    bar->arrived[w->index] |= w->l.mask;
    bar->arrivals++;
    if ((!bar->count && bar->arrivals < b->alive) || !complete(b, bar))
        return kind == LIR_BAR_ARRIVE;
    release(b, id, kind == LIR_BAR_ARRIVE ? NULL : w, i);
    give_result(w, bar, i, w->l.mask);
    return true;
}

void t0_bar_exited(struct t0_block *b)
{
    for (uint32_t id = 0; id < LIR_BARRIER_CLUSTER; id++)
        if (b->barrier[id].in_use && complete(b, &b->barrier[id]))
            release(b, id, NULL, NULL);
    t0_cluster_exited(b->cluster);
}
