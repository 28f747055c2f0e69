/* Graph algorithms under the control-flow graph: dominators, natural loops, block layout. */
#ifndef CUMU_PTX_GRAPH_H
#define CUMU_PTX_GRAPH_H

#include "ptx/arena.h"

struct ptx_graph { /* successors of node v: succ[first[v] .. first[v + 1]) */
    uint32_t n;
    const uint32_t *first;
    const int32_t *succ;
};

/* Immediate dominators from the root (Lengauer-Tarjan); -1 for the root and what it does not reach.
 */
void ptx_dominators(struct ptx_ctx *c, const struct ptx_graph *g, uint32_t root, int32_t *idom);

struct ptx_loops {   /* by node */
    int32_t *header; /* innermost loop's header, -1 = none */
    int32_t *parent; /* of a header: enclosing loop's header */
    bool irreducible;
};
/* Natural loops of what the root (node 0) reaches. */
void ptx_find_loops(struct ptx_ctx *c, const struct ptx_graph *g, const int32_t *idom, struct ptx_loops *out);
/* Reverse post-order in which each loop's nodes stand together; returns how many are reachable. */
uint32_t ptx_layout(struct ptx_ctx *c, const struct ptx_graph *g, const struct ptx_loops *loops, int32_t *order);
/* latch.c: how many empty nodes give every loop of a reducible graph one back edge, and nested loops that share a
 * header one each. *succ: the edges anew, behind them one of each added node. start: the nodes' first instructions. */
uint32_t ptx_separate_loops(struct ptx_ctx *c, struct ptx_func *f, const uint32_t *start, const struct ptx_graph *g,
                            const struct ptx_loops *loops, int32_t **succ);

/* turn.c: sets PTX_F_TURN where the warps of a block are to have a turn each; f has its blocks. */
void ptx_mark_turns(struct ptx_ctx *c, struct ptx_func *f);

#endif
