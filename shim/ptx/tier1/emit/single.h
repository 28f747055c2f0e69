/* An instruction on its way to tier 0's handlers, lowered to their bytecode. What has a better form in C
 * is recognised by that bytecode. */
#ifndef CUMU_PTX_T1_SINGLE_H
#define CUMU_PTX_T1_SINGLE_H

#include "ptx/lir/image.h"
#include "ptx/tier1/emit/emit.h"

enum { T1_OPERANDS = 288 }; /* the most is 256 sums in and out of a product of warpgroups, and what it multiplies */

struct t1_single {
    struct ptx_func f; /* registers and lists of this instruction alone */
    struct ptx_reg reg[T1_OPERANDS];
    struct ptx_opnd list[T1_OPERANDS];
    uint32_t row[T1_OPERANDS], top;
    bool framed;                    /* rows are those of the function's frame (home.c) */
    struct t1_arg src[T1_OPERANDS]; /* kind NONE: a destination */
    int32_t value[T1_OPERANDS];     /* the source's SSA value; -1: it has none */
    int32_t dst[T1_OPERANDS];       /* the destination's, if somebody reads it, or -1 */
    const struct lir_image *image;
};

/* What lies in this row: an operand or a number; kind NONE: neither. */
struct t1_arg t1_single_arg(struct t1_emit *e, const struct t1_single *x, uint32_t row);
int32_t t1_single_value(const struct t1_single *x, uint32_t row, bool dst);

/* matrix.c, async.c: true if they wrote it. */
bool t1_matrix(struct t1_emit *e, const struct t1_single *x);
bool t1_copy_async(struct t1_emit *e, const struct t1_single *x);

#endif
