/* What an arithmetic instruction becomes: names of prelude functions and the containers of operands.
 *
 * Values travel in raw containers: predicates, 32 bits (also everything narrower, zero-extended, and
 * f32, f16x2 ...) and 64 bits. The prelude gives for each operation
 *   scalar  uint32_t / uint64_t in and out (predicates: uint32_t 0 or 1), for one lane or a uniform value
 *   vector  the same for one piece; NULL = the emitter loops over lanes with `scalar`
 * Calls are NAME(src0, src1, ... EXTRA). Both names may be macros.
 *
 * Pieces: when every operand has 32 bits or is a predicate, the vector function works on pu32 (T1_N
 * lanes). When any operand has 64 bits it works on pu64 (T1_N / 2 lanes), and its 32-bit operands and
 * results are half pieces, ph32 (T1_N / 2 lanes of 32 bits). Predicate operands and results are the
 * piece's bits, in the low bits of a uint32_t. */
#ifndef CUMU_PTX_T1_ALU_H
#define CUMU_PTX_T1_ALU_H

#include "ptx/ir.h"

enum t1_kind { T1_K_NONE, T1_K_PRED, T1_K_32, T1_K_64 };

struct t1_op {
    struct {
        uint8_t kind;       /* enum t1_kind; T1_K_NONE = no such destination */
        const char *scalar; /* "t1_s_add_f32" */
        const char *vector; /* "t1_add_f32", or NULL */
    } dst[2];               /* the second is a function of its own on the same sources: setp's q; carry */
    uint8_t nsrc;
    uint8_t src[4];      /* enum t1_kind; in the order of the PTX operands */
    uint8_t negated;     /* bit k: source k is a predicate written !p is handled by the emitter already */
    bool reads_cc;       /* one more source behind the others: the carry, as a predicate */
    bool writes_cc;      /* dst[1] is the carry out, a predicate */
    char extra[48];      /* constant arguments: ", 3" */
};

/* false: no arithmetic instruction, or a form that tier 1 lacks. cvt: the containers are those of the
 * types; the emitter widens or narrows where a register is wider than its type. mov and vectors are the
 * emitter's. */
bool t1_alu(const struct ptx_instr *i, struct t1_op *op);

#endif
