/* The MUSA emitter: a function's basic blocks, its loops and their order, which both ways to write it start from. */
#ifndef CUMU_PTX_MUSA_BLOCKS_H
#define CUMU_PTX_MUSA_BLOCKS_H

#include "ptx/analysis/graph.h"
#include "ptx/musa/emit/emit.h"

struct mu_blocks {
    uint32_t n;
    uint32_t *first; /* instruction, n + 1 of them */
    struct ptx_graph g;
    int32_t *idom;
    struct ptx_loops loops;
    int32_t *order; /* of the text, `count` that are reached */
    uint32_t count;
    uint32_t *pre, *nodes; /* in the dominator tree: a block's place in preorder, the blocks it dominates */
};

void mu_find_blocks(struct mu_emit *e, struct ptx_ctx *c, struct mu_blocks *b); /* and e->block */
const struct lir_insn *mu_code(const struct mu_emit *e);
bool mu_ends(unsigned op); /* a block */
bool mu_in_loop(const struct mu_blocks *b, int32_t header, int32_t v);
bool mu_dominates(const struct mu_blocks *b, int32_t a, int32_t v); /* of reachable blocks */
bool mu_is_header(const struct mu_blocks *b, int32_t v);
bool mu_is_dead(struct mu_emit *e, struct ptx_ctx *c, const struct mu_blocks *b, uint32_t k, uint32_t row); /* live.c */

#endif
