/* Facts about values that the analysis computes, and the rules that carry them through
 * instructions. */
#ifndef CUMU_PTX_ANALYSE_H
#define CUMU_PTX_ANALYSE_H

#include "ptx/arena.h"
#include "ptx/analysis/reconverge.h"
#include "ptx/analysis/ssa.h"

/* One value as a function of the lane: base + stride * lane, the same base for the warp, or with
 * `grouped` one base for each 16 lanes (lane then counts within its 16). Bits are those of the
 * value's register; the range is one integer that the bits stand for, whatever the signedness. */
struct ptx_fact {
    uint8_t state; /* below */
    bool grouped;
    int64_t stride;
    uint8_t align; /* known zero bits at the bottom of the base */
    bool has_range;
    int64_t lo, hi;
};
enum { PTX_FACT_NONE, /* not reached yet: stands for anything */ PTX_FACT_LANES, PTX_FACT_VARYING };

/* Ranges are kept within this, so that no 32-bit operation on them can wrap unnoticed. */
#define PTX_RANGE_MAX ((int64_t)1 << 30)

struct ptx_fact ptx_fact_varying(void);
struct ptx_fact ptx_fact_uniform(void);
struct ptx_fact ptx_fact_const(int64_t v);
/* base known to lie in [lo, hi] for every lane */
struct ptx_fact ptx_fact_range(struct ptx_fact f, int64_t lo, int64_t hi);
bool ptx_fact_is_const(const struct ptx_fact *f, int64_t *v);
bool ptx_fact_is_uniform(const struct ptx_fact *f); /* one value per warp */
/* Either of two values: what holds for both. */
struct ptx_fact ptx_fact_join(struct ptx_fact a, struct ptx_fact b);

/* Where a launch of this shape starts: tid and the like. */
struct ptx_fact ptx_fact_sreg(unsigned sreg, const struct ptx_shape *shape);
/* dst[0] of an arithmetic instruction from its sources; memory, control and collectives are not for
 * it. */
struct ptx_fact ptx_fact_apply(const struct ptx_instr *in, const struct ptx_fact *src, unsigned n);

/* What lanes that step by a power of two get when all divide by one number, a multiple of all lanes' steps: one
 * quotient, and remainders that step as they do. VARYING where that is not known. */
struct ptx_fact ptx_fact_quotient(const struct ptx_fact *number, const struct ptx_fact *by, bool is_signed);
struct ptx_fact ptx_fact_remainder(const struct ptx_fact *number, const struct ptx_fact *by, bool is_signed);

struct ptx_run { /* one analysis of one function */
    struct ptx_ctx *c;
    struct ptx_func *f;
    const struct ptx_shape *shape;
    struct ptx_slots slots;
    struct ptx_fact *fact; /* by value */
    uint8_t *widened;      /* by value: how often a phi's range grew */
    uint8_t *diverges;     /* by block: its branch is known to be divergent */
    struct ptx_divergence divergence;
    bool changed;
};

/* given.c */
struct ptx_parameter { /* of a kernel, by its offset and bytes */
    uint32_t offset, size;
};
/* The value is one, as it was loaded: an integer of 4 or 8 bytes that fills its register. */
bool ptx_parameter_of(const struct ptx_func *f, int32_t value, struct ptx_parameter *p);
/* (number * magic >> 32) + number >> shift, as hosts prepare it for a divisor (Granlund and Montgomery, "Division by
 * invariant integers using multiplication", 1994), in one block. */
struct ptx_prepared {
    struct ptx_parameter magic, shift;
    int32_t number, magic_value, shift_value;
};
bool ptx_prepared_division(const struct ptx_func *f, uint32_t instr, struct ptx_prepared *p);
/* What is left of a number when a divisor's multiple is taken from it: x - x / by * by, where the operands of SUB, MUL
 * and DIV are the values *number and *by. */
bool ptx_left_over(const struct ptx_func *f, uint32_t instr, int32_t *number, int32_t *by);
/* It divides by a parameter that the launch is known to have prepared it for, and that is a multiple of 32. */
bool ptx_division_given(const struct ptx_shape *shape, const struct ptx_prepared *p);
/* What is assumed of the value if it is a parameter. */
bool ptx_fact_given(const struct ptx_run *r, int32_t value, struct ptx_fact *fact);

#endif
