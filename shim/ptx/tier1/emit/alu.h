/* What an arithmetic instruction becomes in C. Values travel in raw containers: predicates, 32 bits (also
 * everything narrower, zero-extended, and f32, f16x2 ...) and 64 bits. */
#ifndef CUMU_PTX_T1_ALU_H
#define CUMU_PTX_T1_ALU_H

#include "ptx/ir.h"

enum t1_kind { T1_K_NONE, T1_K_PRED, T1_K_32, T1_K_64 };
enum { T1_EXPR = 256 }; /* bytes of an expression's text */

/* Expressions have $0 .. $3 where the sources go. `vector` is for one piece: of 32-bit lanes, or, when
 * `wide`, of 64-bit ones, whose 32-bit operands and results are half pieces (ph32). Predicates are the
 * piece's bits. `scalar` is for one lane or a uniform value; predicates are 0 or 1 there. Empty: tier 0's
 * handler does it (struct t1_rows of the prelude), with op, aux and imm; an operation that reads or writes
 * the carry flag always goes there. */
struct t1_op {
    struct {
        uint8_t kind; /* enum t1_kind; T1_K_NONE = no such destination */
        char scalar[T1_EXPR], vector[T1_EXPR];
    } dst[4];
    char once[T1_EXPR],
        again[T1_EXPR]; /* dst[0].vector without its look for what .ftz flushes, which may be done for all
                                         * pieces at once, and the same 2^24 times as large; else empty */
    uint8_t nsrc;
    uint8_t src[4]; /* enum t1_kind, in the order of the PTX operands */
    bool wide, reads_cc, writes_cc;
    uint16_t op, aux;
    int32_t imm;
};

/* false: no arithmetic instruction, or a form that tier 1 lacks. cvt: the containers are those of the
 * types; the emitter widens or narrows where a register is wider than its type. */
bool t1_alu(const struct ptx_instr *i, struct t1_op *op);
/* The pattern with its operands; returns out. */
char *t1_alu_expand(char *out, size_t size, const char *pattern, const char *const arg[4]);

#endif
