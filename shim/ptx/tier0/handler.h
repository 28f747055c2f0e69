/* What a handler of the interpreter sees of its warp, and the tables of handlers. */
#ifndef CUMU_PTX_TIER0_HANDLER_H
#define CUMU_PTX_TIER0_HANDLER_H

#include "ptx/lir/lir.h"

struct t0_warp; /* warp.h: the fields handlers need first */
typedef void t0_handler(struct t0_warp *w, const struct lir_insn *i);

/* Fields of struct t0_warp that arithmetic handlers may use; warp.h embeds this first. */
struct t0_lanes {
    uint8_t *regs;  /* register file, 64-byte aligned rows */
    uint32_t mask;  /* active lanes of what runs now; never 0 inside a handler */
    uint32_t carry; /* .cc flag, one bit a lane */
};

#define T0_U32(w, off) ((uint32_t *)(void *)(((struct t0_lanes *)(void *)(w))->regs + (off)))
#define T0_U64(w, off) ((uint64_t *)(void *)(((struct t0_lanes *)(void *)(w))->regs + (off)))
#define T0_F32(w, off) ((float *)(void *)(((struct t0_lanes *)(void *)(w))->regs + (off)))
#define T0_F64(w, off) ((double *)(void *)(((struct t0_lanes *)(void *)(w))->regs + (off)))
#define T0_PRED(w, off) (*T0_U32(w, off))

/* alu.c: handler tables per CPU level, chosen once; the core_*.c files enter theirs. */
void t0_alu_handlers(t0_handler *table[LIR_NOPS]);
/* The FPU mode handlers rely on: nearest, subnormals kept, no traps. enter gives what leave restores. */
unsigned t0_fp_enter(void);
void t0_fp_leave(unsigned old);
/* The CPU level this machine runs at (1, 3, 4 as in x86-64-vN) and the table of a given one, which the
 * machine must support: for tests. */
int t0_alu_level(void);
void t0_alu_handlers_level(t0_handler *table[LIR_NOPS], int level);

#endif
