/* Lowering PTX to a tier-0 image: what its parts share. Errors leave through lower->out. */
#ifndef CUMU_PTX_T0_LOWER_H
#define CUMU_PTX_T0_LOWER_H

#include <setjmp.h>

#include "ptx/calls.h"
#include "ptx/tier0/image.h"

/* A growing array of one section's elements. */
struct t0_list {
    void *p;
    uint32_t n, cap;
};

enum t0_class { T0_CLASS_PRED, T0_CLASS_32, T0_CLASS_64, T0_CLASS_128, T0_CLASSES };

struct t0_area { /* a .shared variable's place */
    const struct ptx_var *var;
    uint32_t offset;
};

struct t0_lower {
    const struct ptx_module *module;
    struct ptx_diag *diag;
    jmp_buf out;
#define T0_SECTION(field, type) struct t0_list field;
    T0_SECTIONS
#undef T0_SECTION
    uint32_t regs_top;       /* bytes of the register file given out */
    uint32_t *row_bucket;    /* hash of rows: index + 1 */
    uint32_t nbucket;
    struct t0_list areas;    /* struct t0_area */
    uint32_t shared_top, dynamic_align;
    uint32_t reserved;       /* offset + 1 of the shared memory that the system software owns */
    struct ptx_calls reached;
    bool has_indirect, has_alloca, uses_dynamic;
    uint32_t num_regs;
    bool uses_grid_sync, may_wait;

    /* the function being lowered */
    struct ptx_func *f;
    struct t0_fn fn;         /* its record so far */
    uint32_t index;          /* its index */
    uint32_t *reg;           /* row of every PTX register */
    uint32_t *slot;          /* byte in the lane slot: params, then results, then .param locals */
    uint32_t arg_top;        /* bytes of the slot given out */
    uint32_t temp[T0_CLASSES][3], used[T0_CLASSES];
    uint32_t *block_pc;      /* first instruction of each block */
    uint32_t *layout, *place; /* blocks in order; position of each block */
    uint32_t *waits; /* prefix sum over the layout: blocks that may wait for other threads */
    struct t0_list fixups;   /* struct t0_fixup */
    const struct ptx_instr *at; /* for messages and line records */
};

struct t0_fixup {
    uint32_t code, block; /* instruction whose imm becomes the block's pc; code T0_NONE: a target */
    uint32_t target;      /* index in targets */
};

/* image.c */
void *t0_push(struct t0_lower *l, struct t0_list *list, size_t element); /* zeroed */
uint32_t t0_string(struct t0_lower *l, const char *s);
/* What is right as far as we know, but more than we can do; what ptxas refuses, too; neither. */
_Noreturn void t0_fail(struct t0_lower *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void t0_refuse(struct t0_lower *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void t0_out_of_memory(struct t0_lower *l);
void t0_lower_start(struct t0_lower *l, const struct ptx_module *m, struct ptx_diag *diag);
void t0_lower_free(struct t0_lower *l);
void t0_write_image(struct t0_lower *l, void **image, size_t *size);

/* rows.c */
void t0_allocate_rows(struct t0_lower *l); /* l->reg, temps, fn.regs and row counts */
uint32_t t0_const_row(struct t0_lower *l, enum t0_row_kind kind, unsigned wide, uint32_t index,
                      uint64_t value);
uint32_t t0_take(struct t0_lower *l, uint32_t bytes); /* bytes of the register file */
enum t0_class t0_class_of(unsigned type);
#define T0_DYNAMIC 1u /* index of an immediate that is relative to the dynamic shared memory */

/* operand.c */
uint32_t t0_temp(struct t0_lower *l, enum t0_class c);
uint32_t t0_imm(struct t0_lower *l, enum t0_class c, uint64_t value);
/* Row of a source operand that the instruction reads as this class. */
uint32_t t0_source(struct t0_lower *l, const struct ptx_opnd *o, enum t0_class c);
uint32_t t0_dest(struct t0_lower *l, const struct ptx_opnd *o);
enum t0_class t0_reg_class(struct t0_lower *l, int32_t reg);
/* Address of a symbol as a row. */
uint32_t t0_symbol(struct t0_lower *l, int32_t sym, uint64_t offset, enum t0_class c);
uint32_t t0_shared_area(struct t0_lower *l, const struct ptx_var *v, bool *dynamic);
struct t0_insn *t0_emit(struct t0_lower *l, unsigned op);
void t0_emit_move(struct t0_lower *l, enum t0_class c, uint32_t d, uint32_t a);
/* mov, add and the like: whatever t0_select_alu knows. */
void t0_lower_alu(struct t0_lower *l, const struct ptx_instr *i);

struct t0_place {        /* where an access goes */
    uint32_t row;        /* address row */
    int32_t imm;
    bool addr32, shared;
};

/* memory.c: true if the instruction was one of theirs */
bool t0_lower_memory(struct t0_lower *l, const struct ptx_instr *i);
bool t0_atom_known(unsigned op, unsigned type); /* an update (enum ptx_sub) that atom has */
struct t0_place t0_resolve(struct t0_lower *l, const struct ptx_opnd *o, unsigned space);
/* async.c */
bool t0_lower_async(struct t0_lower *l, const struct ptx_instr *i);
/* texture.c */
bool t0_lower_texture(struct t0_lower *l, const struct ptx_instr *i);
/* matrix.c */
bool t0_lower_matrix(struct t0_lower *l, const struct ptx_instr *i);
/* other.c: after all of the above */
bool t0_lower_other(struct t0_lower *l, const struct ptx_instr *i);
/* warp.c */
bool t0_lower_warp(struct t0_lower *l, const struct ptx_instr *i);
/* call.c */
void t0_lower_call(struct t0_lower *l, const struct ptx_instr *i);
void t0_plan_slots(struct t0_lower *l); /* places of parameters, results and .param locals */
void t0_reg_params(struct t0_lower *l, bool at_entry);
uint32_t t0_reach(struct t0_lower *l, const struct ptx_func *f); /* index of a function, enlisting it */
void t0_reach_targets(struct t0_lower *l); /* every function an indirect call may name */
const struct ptx_func *t0_callee(struct t0_lower *l, int32_t sym);
/* body.c */
void t0_lower_body(struct t0_lower *l);

#endif
