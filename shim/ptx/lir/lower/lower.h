/* Lowering PTX to a tier-0 image: what its parts share. Errors leave through lower->out. */
#ifndef CUMU_PTX_T0_LOWER_H
#define CUMU_PTX_T0_LOWER_H

#include <setjmp.h>

#include "ptx/analysis/calls.h"
#include "ptx/lir/image.h"

/* A growing array of one section's elements. */
struct lir_list {
    void *p;
    uint32_t n, cap;
};

enum lir_class { LIR_CLASS_PRED, LIR_CLASS_32, LIR_CLASS_64, LIR_CLASS_128, LIR_CLASSES };

struct lir_area { /* a .shared variable's place */
    const struct ptx_var *var;
    uint32_t offset;
};

struct lir_lower {
    const struct ptx_module *module;
    struct ptx_diag *diag;
    jmp_buf out;
#define LIR_SECTION(field, type) struct lir_list field;
    LIR_SECTIONS
#undef LIR_SECTION
    uint32_t regs_top;    /* bytes of the register file given out */
    uint32_t *row_bucket; /* hash of rows: index + 1 */
    uint32_t nbucket;
    struct lir_list areas; /* struct lir_area */
    uint32_t shared_top, dynamic_align;
    uint32_t reserved; /* offset + 1 of the shared memory that the system software owns */
    struct ptx_calls reached;
    bool has_indirect, has_alloca, uses_dynamic, uses_tensor, cancels;
    uint32_t num_regs;
    bool uses_grid_sync, may_wait, launches;

    /* the function being lowered */
    struct ptx_func *f;
    struct lir_fn fn; /* its record so far */
    uint32_t index;   /* its index */
    uint32_t *reg;    /* row of every PTX register */
    bool *read;       /* whether anything reads it */
    uint32_t *slot;   /* byte in the lane slot: params, then results, then .param locals */
    uint32_t arg_top; /* bytes of the slot given out */
    uint32_t temp[LIR_CLASSES][3], used[LIR_CLASSES];
    uint32_t *block_pc;         /* first instruction of each block */
    uint32_t *layout, *place;   /* blocks in order; position of each block */
    uint32_t *waits;            /* prefix sum over the layout: blocks that may wait for other threads */
    uint32_t *loop_def;         /* waits.c */
    struct lir_list fixups;     /* struct lir_fixup */
    const struct ptx_instr *at; /* for messages and line records */
};

struct lir_fixup {
    uint32_t code, block; /* instruction whose imm becomes the block's pc; code LIR_NONE: a target */
    uint32_t target;      /* index in targets */
};

/* image.c */
void *lir_push(struct lir_lower *l, struct lir_list *list, size_t element); /* zeroed */
uint32_t lir_string(struct lir_lower *l, const char *s);
/* What is right as far as we know, but more than we can do; what ptxas refuses, too; neither. */
_Noreturn void lir_fail(struct lir_lower *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void lir_refuse(struct lir_lower *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void lir_out_of_memory(struct lir_lower *l);
void lir_lower_start(struct lir_lower *l, const struct ptx_module *m, struct ptx_diag *diag);
void lir_lower_free(struct lir_lower *l);
void lir_write_image(struct lir_lower *l, void **image, size_t *size);

/* rows.c */
void lir_allocate_rows(struct lir_lower *l); /* l->reg, temps, fn.regs and row counts */
uint32_t lir_const_row(struct lir_lower *l, enum lir_row_kind kind, unsigned wide, uint32_t index, uint64_t value);
uint32_t lir_take(struct lir_lower *l, uint32_t bytes); /* bytes of the register file */
enum lir_class lir_class_of(unsigned type);
#define LIR_DYNAMIC 1u /* index of an immediate that is relative to the dynamic shared memory */

/* operand.c */
uint32_t lir_temp(struct lir_lower *l, enum lir_class c);
uint32_t lir_imm(struct lir_lower *l, enum lir_class c, uint64_t value);
/* Row of a source operand that the instruction reads as this class. */
uint32_t lir_source(struct lir_lower *l, const struct ptx_opnd *o, enum lir_class c);
uint32_t lir_dest(struct lir_lower *l, const struct ptx_opnd *o);
enum lir_class lir_reg_class(struct lir_lower *l, int32_t reg);
/* Address of a symbol as a row. */
uint32_t lir_symbol(struct lir_lower *l, int32_t sym, uint64_t offset, enum lir_class c);
uint32_t lir_shared_area(struct lir_lower *l, const struct ptx_var *v, bool *dynamic);
uint32_t lir_extern(struct lir_lower *l, const char *name); /* index of a variable, or of a kernel */
struct lir_insn *lir_emit(struct lir_lower *l, unsigned op);
void lir_emit_move(struct lir_lower *l, enum lir_class c, uint32_t d, uint32_t a);
/* mov, add and the like: whatever lir_select_alu knows. */
void lir_lower_alu(struct lir_lower *l, const struct ptx_instr *i);

struct lir_place { /* where an access goes */
    uint32_t row;  /* address row */
    int32_t imm;
    bool addr32, shared;
};

/* memory.c: true if the instruction was one of theirs */
bool lir_lower_memory(struct lir_lower *l, const struct ptx_instr *i);
bool lir_atom_known(unsigned op, unsigned type); /* an update (enum ptx_sub) that atom has */
struct lir_place lir_resolve(struct lir_lower *l, const struct ptx_opnd *o, unsigned space);
/* async.c */
bool lir_lower_async(struct lir_lower *l, const struct ptx_instr *i);
/* tile.c */
bool lir_has(const struct ptx_instr *i,
             const char *modifier); /* the opcode as written has it: "async", "tile::gather4" */
bool lir_lower_tensor(struct lir_lower *l, const struct ptx_instr *i);    /* cp.async.bulk.tensor */
bool lir_lower_tensormap(struct lir_lower *l, const struct ptx_instr *i); /* tensormap.replace, .cp_fenceproxy */
bool lir_lower_tcgen05(struct lir_lower *l, const struct ptx_instr *i);   /* tile_tcgen05.c */
bool lir_lower_wgmma(struct lir_lower *l, const struct ptx_instr *i);     /* tile_mma.c */
bool lir_lower_multimem(struct lir_lower *l, const struct ptx_instr *i);  /* tile_multimem.c */
void lir_lower_masked(struct lir_lower *l, const struct ptx_instr *i);    /* cp.async.bulk.cp_mask, there too */
/* texture.c */
bool lir_lower_texture(struct lir_lower *l, const struct ptx_instr *i);
/* matrix.c */
bool lir_lower_matrix(struct lir_lower *l, const struct ptx_instr *i);
/* other.c: after all of the above */
bool lir_lower_other(struct lir_lower *l, const struct ptx_instr *i);
/* warp.c */
bool lir_lower_warp(struct lir_lower *l, const struct ptx_instr *i);
/* call.c */
void lir_lower_call(struct lir_lower *l, const struct ptx_instr *i);
void lir_plan_slots(struct lir_lower *l); /* places of parameters, results and .param locals */
void lir_reg_params(struct lir_lower *l, bool at_entry);
uint32_t lir_reach(struct lir_lower *l, const struct ptx_func *f); /* index of a function, enlisting it */
void lir_reach_targets(struct lir_lower *l);                       /* every function an indirect call may name */
const struct ptx_func *lir_callee(struct lir_lower *l, int32_t sym);
/* waits.c */
bool lir_may_wait(const struct ptx_instr *i);                            /* a loop with it may */
bool lir_loop_waits(struct lir_lower *l, uint32_t first, uint32_t last); /* positions in the layout */
/* body.c */
void lir_lower_body(struct lir_lower *l);

#endif
