/* Tier 0, internal: the bytecode and the warp's register file, shared by lower/ and exec/.
 *
 * A warp is 32 lanes. A register is a row: 8-, 16- and 32-bit values take 32 x u32 (narrow integers
 * zero-extended by whoever writes them; f16 in the low half), 64-bit values 32 x u64, b128 two
 * consecutive 64-bit rows (low, high), predicates one u32 lane mask (stored in its own 4-byte slot).
 * Immediates, special registers and symbol addresses are rows too, filled when the warp starts, so that
 * every operand of every handler is a row. Operands are byte offsets into the warp's register file.
 *
 * Handlers write only lanes in w->mask. Other lanes keep their value. */
#ifndef CUMU_PTX_LIR_H
#define CUMU_PTX_LIR_H

#include "ptx/tier0/tier0.h"

struct lir_insn {
    uint16_t op;              /* enum lir_op */
    uint16_t aux;             /* modifiers of this op: see LIR_AUX_* and each op's comment */
    uint32_t d, a, b, c, e;   /* row offsets; memory and control ops give them their own meaning */
    int32_t imm;
};

/* aux bits shared by the arithmetic handlers */
enum { LIR_FTZ = 1, LIR_SAT = 2, LIR_NANPROP = 4, LIR_XORSIGN = 8, LIR_RND_SHIFT = 4 /* 4 bits: enum ptx_rnd */,
       LIR_CMP_SHIFT = 8 /* 5 bits */, LIR_BOOL_SHIFT = 13 /* 2 bits: and or xor */ };

enum lir_op {
    LIR_OP_INVALID,
#define LIR_OP(id) LIR_##id,
#include "ptx/lir/alu_ops.def"  /* arithmetic, logic, conversion, compare: exec/alu_*.c, lower/select_alu.c */
#include "ptx/lir/core_ops.def" /* memory, atomics, control, warp collectives: exec/core_*.c, lower/ */
#undef LIR_OP
    LIR_NOPS
};

struct t0_warp; /* exec/warp.h: the fields handlers need first */
typedef void t0_handler(struct t0_warp *w, const struct lir_insn *i);

/* Fields of struct t0_warp that arithmetic handlers may use; exec/warp.h embeds this first. */
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

/* lower/select_alu.c: fills op and aux (not the operands, which follow the PTX order d, a, b, c; a second
 * destination or fourth source goes to e) for a non-memory, non-control instruction.
 * false = no such arithmetic instruction, or a form that tier 0 lacks. */
bool lir_select_alu(const struct ptx_instr *i, struct lir_insn *out);

/* exec/alu.c: handler tables per CPU level, chosen once; core handlers are entered by exec/core.c. */
void t0_alu_handlers(t0_handler *table[LIR_NOPS]);
/* The FPU mode handlers rely on: nearest, subnormals kept, no traps. enter gives what leave restores. */
unsigned t0_fp_enter(void);
void t0_fp_leave(unsigned old);
/* The CPU level this machine runs at (1, 3, 4 as in x86-64-vN) and the table of a given one, which the
 * machine must support: for tests. */
int t0_alu_level(void);
void t0_alu_handlers_level(t0_handler *table[LIR_NOPS], int level);

#endif
