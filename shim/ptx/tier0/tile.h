/* Tier 0 execution: what instructions over tiles share: rows of a record, shared memory of a cluster's blocks. */
#ifndef CUMU_PTX_TIER0_TILE_H
#define CUMU_PTX_TIER0_TILE_H

#include "ptx/lir/tile.h"
#include "ptx/tier0/warp.h"

static inline const struct lir_tile *t0_tile_of(const struct t0_warp *w, const struct lir_insn *i)
{
    return LIR_AT(w->block->image, tiles, struct lir_tile) + i->imm;
}
static inline uint32_t t0_tile_row(const struct t0_warp *w, const struct lir_tile *x, unsigned row)
{
    return LIR_AT(w->block->image, operands, uint32_t)[x->first + row];
}
static inline uint32_t t0_tile_u32(struct t0_warp *w, const struct lir_tile *x, unsigned row, unsigned lane)
{
    return T0_U32(w, t0_tile_row(w, x, row))[lane];
}
static inline uint64_t t0_tile_u64(struct t0_warp *w, const struct lir_tile *x, unsigned row, unsigned lane)
{
    return T0_U64(w, t0_tile_row(w, x, row))[lane];
}
static inline uint64_t t0_tile_address(struct t0_warp *w, const struct lir_tile *x, unsigned row, unsigned lane,
                                       bool addr32)
{
    return addr32 ? t0_tile_u32(w, x, row, lane) : t0_tile_u64(w, x, row, lane);
}

/* The same place in the shared memory of another block of the cluster. */
static inline uint64_t t0_tile_far(uint64_t rank, uint64_t address)
{
    return LIR_CLUSTER_FAR | rank << LIR_CLUSTER_SHIFT | (address & (LIR_CLUSTER_STRIDE - 1));
}
static inline uint32_t t0_tile_own_rank(const struct t0_warp *w)
{
    return (uint32_t)((uint64_t)(w->shared - w->block->cluster->base) >> LIR_CLUSTER_SHIFT);
}
/* Which block of its pair a copy to `rank` tells, by an address as cta_group::2 takes it: one without a rank is the
 * even block's (programs clear the lowest bit of the rank in it), as there own addresses carry none. */
static inline uint64_t t0_tile_pair(const struct t0_warp *w, uint64_t address, uint64_t rank)
{
    (void)w;
    return (rank & ~(uint64_t)1) | (address >> 31 & 1 ? address >> LIR_CLUSTER_SHIFT & 1 : 0);
}

/* Tensor memory of a block, which lies behind its shared memory. */
enum { T0_TENSOR_LANES = 128, T0_TENSOR_COLUMNS = 512, T0_TENSOR_UNIT = 32 /* columns are given out by these */ };
struct t0_tensor {
    uint32_t used; /* columns given out, by 32 */
    uint32_t pad[15];
    uint32_t cell[T0_TENSOR_LANES][T0_TENSOR_COLUMNS];
};
_Static_assert(sizeof(struct t0_tensor) <= T0_TENSOR_BYTES, "room");
/* The window of a block of the cluster, and what lies in it. */
static inline uint8_t *t0_tile_window(const struct t0_warp *w, unsigned rank)
{
    return w->block->cluster->base + rank * LIR_CLUSTER_STRIDE;
}
static inline struct t0_tensor *t0_tensor_of(const struct t0_warp *w, unsigned rank)
{
    return (struct t0_tensor *)(void *)(t0_tile_window(w, rank) + T0_TENSOR_OFFSET);
}
void t0_tmem(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x);     /* core_tmem.c */
void t0_multimem(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x); /* core_multimem.c */

/* Memory of the worker, zeros at first, for one instruction after another; raises where there is none. core_tensor.c */
enum { T0_SCRATCH = 1 << 20 };
void *t0_scratch(struct t0_warp *w, const struct lir_insn *i);

/* Where tools look at the launch: the lane starts a read of 16 bytes of some block's shared memory; raises where it may
 * not. core_tensor.c */
void t0_tile_reads(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const uint8_t *at);

/* core_async.c. Host address of `size` bytes of shared memory, the block's own or another's of its cluster, aligned to
 * `align`; raises where there are none. */
uint8_t *t0_shared_at(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t a, uint32_t size,
                      unsigned align);
/* The mbarrier at a shared::cluster address: so many bytes have come; one has arrived. */
void t0_barrier_told(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t address, uint64_t bytes);
void t0_barrier_arrived(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t address);

#endif
