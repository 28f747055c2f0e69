/* Where lanes that a branch parts come together again, in the order in which tier 1 runs blocks: the one definition
 * of divergence that the analysis of values and the emitter of their code both take. */
#ifndef CUMU_PTX_RECONVERGE_H
#define CUMU_PTX_RECONVERGE_H

#include "ptx/ir.h"

/* The order. Blocks are numbered in reverse post-order with loops contiguous. Within one round of a loop its blocks
 * run by their numbers, a loop inside it as if it were one block, each for all lanes that have come to it; a lane
 * that jumps back to the header waits there for the next round, and one that leaves waits outside until no lane is
 * left in the loop. So one run of a block serves all lanes whose rounds of all loops around it have the same
 * numbers, and "uniform" means: the same for the lanes of one run.
 *
 * Why a value called uniform is uniform: as in Rosemann, Moll and Hack, "An Abstract Interpretation for SPMD
 * Divergence on Reducible Control Flow Graphs" (POPL 2021), and before it Karrenberg and Hack (CC 2012), a value
 * differs between lanes of one run only if an operand does, or
 *   - it is a phi of a join: two paths without a common block lead there from a divergent branch within one round of
 *     the innermost loop around that branch. Edges back to the header end the search; the header is a join where two
 *     such paths lead to it. This holds where several edges, those of nested loops even, share a header: what counts
 *     is the rounds of the loop as the emitter runs it, not what the source text meant;
 *   - or it is read outside a loop that lanes leave in different rounds (temporal divergence): each lane then has the
 *     value of its own last round.
 * By the same order a scalar variable may hold it: between two runs of its definition every lane that reads it has
 * read it, but for the lanes outside such a loop, which the emitter gives copies of their own.
 *
 * A block that is marked loose runs for any lanes at any time, so that what it makes varies outside it, and lanes
 * come together at none. In irreducible graphs everything varies. */

enum {
    PTX_MARK_DIVERGENT = 1, /* runs while some of the lanes are elsewhere */
    PTX_MARK_JOIN = 2,      /* lanes come to it by disjoint paths */
    PTX_MARK_LEFT = 4       /* header of a loop that lanes leave in different rounds */
};

struct ptx_divergence {
    const struct ptx_func *f;
    int32_t *block; /* what the last question has marked: n of them */
    uint32_t n;
    uint8_t *mark;     /* by block: PTX_PART_* */
    int32_t *loop_end; /* by header: last block of its loop */
    int32_t *label;    /* by block: which of the disjoint paths leads here */
    int32_t labels;    /* given out */
    uint64_t work;     /* blocks and edges looked at, over all questions */
};

/* Memory for it: so many words for a function with blocks. */
#define PTX_DIVERGENCE_WORDS(f) (4 * (size_t)(f)->nblock + 1)
void ptx_divergence_init(struct ptx_divergence *p, const struct ptx_func *f, int32_t *words);

/* Lanes leave block b through different edges: marks what follows. Returns the block where all of them that have not
 * ended come together, -1: nowhere before the function's end. */
int32_t ptx_diverge_at(struct ptx_divergence *p, int32_t b);

bool ptx_in_loop(const struct ptx_func *f, int32_t block, int32_t header);
/* A value made in def_block is, in use_block, that of each lane's own last run of def_block. */
bool ptx_outside(const struct ptx_func *f, int32_t def_block, int32_t use_block);

#endif
