/* Straight runs of arithmetic as a loop over a warp's pieces of 8 lanes: which registers hold which rows, and what the
 * templates of lanes_*.c are written with. */
#ifndef CUMU_PTX_BASE_LANES_H
#define CUMU_PTX_BASE_LANES_H

#include "ptx/base/plan.h"
#include "ptx/base/x86.h"

/* While such code runs: */
enum {
    LANES_WARP = RBX,   /* struct t0_warp */
    LANES_REGS = R14,   /* its rows */
    LANES_PIECE = R13,  /* 0 to 3 */
    LANES_OFFSET = R15, /* 32 * piece: bytes into a row of 32 bits; twice that of 64 */
    LANES_ON = R11,     /* a bit for each lane of the piece that runs, and */
    LANES_OFF = R10,    /* those that do not: where some do not */
    LANES_NREG = 13,    /* vector registers that hold rows */
    LANES_T0 = 13,      /* two of no one's, and the running lanes as a mask of 32 bits each */
    LANES_T1 = 14,
    LANES_MASK = 15
};

/* What a register holds: of a row of 32 bits its piece, of one of 64 lanes 0 to 3 or 4 to 7 of the piece, of a
 * predicate all ones or zeros for each lane. */
enum lanes_part { LANES_32, LANES_LOW, LANES_HIGH, LANES_PRED };
struct lanes_reg {
    uint32_t row; /* LIR_NONE: none */
    uint8_t part;
    bool dirty;  /* the row in memory is older */
    bool pinned; /* the instruction under way has it */
};

struct lanes_op {
    const struct lir_insn *i;
    uint32_t guard; /* row of a predicate, LIR_NONE: none */
    bool negated;
    struct base_operands o;
};

struct lanes {
    struct x86 *x;
    bool partial; /* some lanes do not run: their rows keep what they have */
    struct lanes_op *op;
    uint32_t nop, op_room, at; /* at: the one under way */
    int guard;                 /* register of its guard, which its results may be written over; or -1 */
    const uint64_t *live;      /* behind the run */
    const uint8_t *constant;   /* by row / LIR_ROW_ALIGN: whether it is one, and its value */
    const uint64_t *value;
    struct lanes_reg reg[LANES_NREG];
};

/* Writes the loop for l->op[0 .. nop). */
void lanes_write(struct lanes *l);

/* A template: writes the instruction; with l->x NULL it only says whether it can. */
typedef bool lanes_template(struct lanes *l, const struct lir_insn *i);
bool lanes_can(const struct lanes *l, const struct lir_insn *i);
extern lanes_template *const lanes_integer[LIR_NOPS],
    *const lanes_logic[LIR_NOPS], *const lanes_compare[LIR_NOPS], *const lanes_float[LIR_NOPS],
                                                                      *const lanes_convert[LIR_NOPS];

/* For templates. Registers stay as they are until the instruction is done; who writes a row is done with its old
 * value. */
int lanes_use(struct lanes *l, uint32_t row, enum lanes_part part);            /* in a register, not to be changed */
struct x86_rm lanes_read(struct lanes *l, uint32_t row, enum lanes_part part); /* there, or in memory; no predicates */
int lanes_new(struct lanes *l);                                                /* a register for a result */
void lanes_set(struct lanes *l, uint32_t row, enum lanes_part part, int reg);
/* All ones for each 64-bit lane of this half that is set in a mask of 32-bit lanes. */
int lanes_widen_mask(struct lanes *l, int mask, enum lanes_part half);
/* Four lanes of 64 bits of this half, from a row of 32, with zeros or their sign. */
int lanes_widened(struct lanes *l, uint32_t row, enum lanes_part half, bool is_signed);
/* The lower (or upper) halves of 64-bit lanes, as a piece of 32. */
int lanes_narrowed(struct lanes *l, int low, int high, bool upper);
bool lanes_constant(const struct lanes *l, uint32_t row, uint64_t *value);

/* NVIDIA devices have one f32 NaN as a result: of a piece, by T0. */
void lanes_canonical(struct lanes *l, int d);

/* Constants: of 32 and of 64 bits in all lanes. */
struct x86_rm lanes_c32(struct lanes *l, uint32_t value);
struct x86_rm lanes_c64(struct lanes *l, uint64_t value);

#endif
