/* What the baseline generator knows of an image before it writes code: basic blocks of the LIR, which rows each
 * instruction reads and writes, and which rows are live. */
#ifndef CUMU_PTX_BASE_PLAN_H
#define CUMU_PTX_BASE_PLAN_H

#include "ptx/lir/image.h"

/* Rows as offsets into the register file. */
struct base_operands {
    uint32_t use[12], def[5];
    unsigned nuse, ndef;
    const uint32_t *more; /* rows of a record: read, and perhaps written */
    uint32_t nmore;
};
void base_operands(const struct lir_image *m, const struct lir_insn *i, struct base_operands *o);

struct base_plan {
    const struct lir_image *image;
    const struct lir_insn *code;
    uint32_t n;
    uint32_t nblock, *start; /* nblock + 1 first instructions */
    uint32_t *block;         /* of each instruction */
    uint32_t words;          /* of a set of rows */
    uint64_t *in;            /* rows live at each block's begin */
};

struct base_plan *base_plan_make(const struct lir_image *image);
void base_plan_free(struct base_plan *p);
/* Rows that are live behind block b. */
void base_live_out(const struct base_plan *p, uint32_t b, uint64_t *set);
/* From behind the instruction to before it; guarded: its results may not be written. */
void base_live_step(const struct base_plan *p, const struct lir_insn *i, bool guarded, uint64_t *set);

static inline bool base_live(const uint64_t *set, uint32_t row)
{
    return row != LIR_SINK && set[row / LIR_ROW_ALIGN / 64] >> (row / LIR_ROW_ALIGN % 64) & 1;
}

#endif
