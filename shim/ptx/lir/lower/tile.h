/* Lowering of instructions over tiles: what makes their records. */
#ifndef CUMU_PTX_LIR_LOWER_TILE_H
#define CUMU_PTX_LIR_LOWER_TILE_H

#include "ptx/lir/lower/lower.h"
#include "ptx/lir/tile.h"

enum { LIR_TILE_OPERANDS = 40 };

struct lir_tile_maker {
    struct lir_lower *l;
    const struct ptx_instr *i;
    struct lir_tile x;
    const struct ptx_opnd *o[LIR_TILE_OPERANDS]; /* sources in the order of the text */
    unsigned n, at;
};

/* Starts a record; then its rows in their order, and the end: an operation with the record, of whole warps if said. */
void lir_tile_begin(struct lir_lower *l, const struct ptx_instr *i, struct lir_tile_maker *t, unsigned kind);
void lir_tile_end(struct lir_tile_maker *t, unsigned op, bool warp);
/* The next operand of the text; fails if there is none. */
const struct ptx_opnd *lir_tile_next(struct lir_tile_maker *t);
void lir_tile_row(struct lir_tile_maker *t, uint32_t row);
void lir_tile_value(struct lir_tile_maker *t, const struct ptx_opnd *o, enum lir_class c);
/* [address]: sets flag32 in p[0] if it has 32 bits. */
void lir_tile_address(struct lir_tile_maker *t, const struct ptx_opnd *o, unsigned space, unsigned flag32);

#endif
