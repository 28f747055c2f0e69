/* Tier 0 execution: special registers. Those that do not change while a block runs are rows; the
 * clocks and activemask are instructions. */
#include "ptx/tier0/warp.h"

#include <time.h>

static uint32_t cluster_dim(const struct t0_grid *g, unsigned axis) { return g->cluster[0] ? g->cluster[axis] : 1; }

/* Special registers that do not change while a block runs: they fill rows before its warps start. */
uint64_t t0_sreg_fixed(const struct t0_block *b, unsigned warp, unsigned lane, unsigned sreg)
{
    const struct t0_grid *g = b->grid;
    uint32_t tid[3], linear = warp * LIR_LANES + lane;
    if (sreg >= PTX_SR_ENVREG0 && sreg <= PTX_SR_ENVREG31) {
        unsigned n = sreg - PTX_SR_ENVREG0; /* %envreg1 is the high half of the workspace pointer */
        return n == 1 ? g->envreg12 >> 32 : n == 2 ? (uint32_t)g->envreg12 : 0;
    }
    switch (sreg) {
    case PTX_SR_TID_X:
    case PTX_SR_TID_Y:
    case PTX_SR_TID_Z: t0_thread_index(b, linear, tid); return tid[sreg - PTX_SR_TID_X];
    case PTX_SR_NTID_X:
    case PTX_SR_NTID_Y:
    case PTX_SR_NTID_Z: return g->block[sreg - PTX_SR_NTID_X];
    case PTX_SR_CTAID_X:
    case PTX_SR_CTAID_Y:
    case PTX_SR_CTAID_Z: return b->index[sreg - PTX_SR_CTAID_X];
    case PTX_SR_CLUSTERID_X:
    case PTX_SR_CLUSTERID_Y:
    case PTX_SR_CLUSTERID_Z: return b->index[sreg - PTX_SR_CLUSTERID_X] / cluster_dim(g, sreg - PTX_SR_CLUSTERID_X);
    case PTX_SR_CLUSTER_CTAID_X:
    case PTX_SR_CLUSTER_CTAID_Y:
    case PTX_SR_CLUSTER_CTAID_Z:
        return b->index[sreg - PTX_SR_CLUSTER_CTAID_X] % cluster_dim(g, sreg - PTX_SR_CLUSTER_CTAID_X);
    case PTX_SR_CLUSTER_CTARANK: return t0_cluster_rank(g, b->index);
    case PTX_SR_NCTAID_X:
    case PTX_SR_NCTAID_Y:
    case PTX_SR_NCTAID_Z: return g->grid[sreg - PTX_SR_NCTAID_X];
    case PTX_SR_NCLUSTERID_X:
    case PTX_SR_NCLUSTERID_Y:
    case PTX_SR_NCLUSTERID_Z: return g->grid[sreg - PTX_SR_NCLUSTERID_X] / cluster_dim(g, sreg - PTX_SR_NCLUSTERID_X);
    case PTX_SR_CLUSTER_NCTAID_X:
    case PTX_SR_CLUSTER_NCTAID_Y:
    case PTX_SR_CLUSTER_NCTAID_Z: return cluster_dim(g, sreg - PTX_SR_CLUSTER_NCTAID_X);
    case PTX_SR_CLUSTER_NCTARANK: return t0_cluster_size(g);
    case PTX_SR_IS_EXPLICIT_CLUSTER: return g->cluster[0] ? ~0u : 0; /* a predicate: all lanes */
    case PTX_SR_LANEID: return lane;
    case PTX_SR_WARPID: return warp;
    case PTX_SR_NWARPID: return T0_MAX_WARPS;
    case PTX_SR_SMID: return b->worker->smid;
    case PTX_SR_NSMID: return g->nsm;
    case PTX_SR_GRIDID: return g->grid_id;
    case PTX_SR_CURRENT_GRAPH_EXEC: return g->graph_exec;
    case PTX_SR_LANEMASK_EQ: return 1u << lane;
    case PTX_SR_LANEMASK_LT: return (1u << lane) - 1;
    case PTX_SR_LANEMASK_LE: return ((1u << lane) - 1) | 1u << lane;
    case PTX_SR_LANEMASK_GT: return (uint32_t) ~(((1u << lane) - 1) | 1u << lane);
    case PTX_SR_LANEMASK_GE: return (uint32_t) ~((1u << lane) - 1);
    case PTX_SR_DYNAMIC_SMEM_SIZE: return g->dynamic_shared;
    case PTX_SR_AGGR_SMEM_SIZE:
    case PTX_SR_TOTAL_SMEM_SIZE: return b->rec->shared_size + g->dynamic_shared;
    default: return 0; /* the graph that is not there, %pm */
    }
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A clock of one tick a nanosecond: it grows, and it agrees with the clock rate that devices
 * report. */
static void sreg(struct t0_warp *w, const struct lir_insn *i)
{
    bool timer = i->imm >= PTX_SR_GLOBALTIMER;
    bool wide = i->imm == PTX_SR_CLOCK64 || i->imm == PTX_SR_GLOBALTIMER;
    uint64_t v = nanoseconds(timer ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    if (i->imm == PTX_SR_CLOCK_HI || i->imm == PTX_SR_GLOBALTIMER_HI)
        v >>= 32;
    if (i->aux & 1) /* the destination has 64-bit lanes */
        T0_FOR_LANES(l, w->l.mask)
    T0_U64(w, i->d)[l] = wide ? v : (uint32_t)v;
    else T0_FOR_LANES(l, w->l.mask) T0_U32(w, i->d)[l] = (uint32_t)v;
}

static void fence(struct t0_warp *w, const struct lir_insn *i)
{
    (void)w;
    if (i->aux)
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_acq_rel);
}

void t0_misc_handlers(t0_handler *table[LIR_NOPS])
{
    table[LIR_SREG] = sreg;
    table[LIR_FENCE] = fence;
}
