/* The MUSA emitter: what its parts share. Errors leave through emit->out. */
#ifndef CUMU_PTX_MUSA_EMIT_H
#define CUMU_PTX_MUSA_EMIT_H

#include <setjmp.h>

#include "ptx/arena.h"
#include "ptx/buffer.h"
#include "ptx/musa/musa.h"
#include "ptx/lir/image.h"

/* of the prelude, beyond the base */
enum { MU_ASYNC = 1, MU_VIDEO = 2, MU_MATRIX = 4, MU_BARRIER = 8, MU_WIDE = 16, MU_WORKSPACE = 32, MU_PACKED = 64 };

/* Where the sums of a product are (sums.c). */
struct mu_sums {
    uint32_t array, first; /* that they stay in, and the product that it begins with: its instruction; + 1, 0: none */
    uint32_t flag;         /* of the loop round which they stay, + 1: whether they are in the array already */
    bool taken;            /* C is there: a product before left it */
    bool kept;             /* the next product takes D from there */
    bool quiet;            /* nobody reads D's registers */
    bool sets;             /* the flag, behind it */
    uint32_t next;         /* product whose sums leave the loop where these do, + 1 */
};

struct mu_emit {
    const struct ptx_module *module;
    const struct ptx_func *entry;
    const struct lir_image *image;
    bool any, flat; /* of its target */
    struct mu_info *info;
    struct ptx_diag *diag;
    jmp_buf out;
    struct ptx_ctx graph; /* its memory goes when the kernel is done */
    struct ptx_text text;
    struct ptx_text above, below; /* what stands around it, while it is put together */
    unsigned parts;               /* MU_ASYNC ... that are needed */
    uint32_t *row;                /* by offset / LIR_ROW_ALIGN: constant row + 1 */
    uint8_t *label;               /* by instruction: a block begins; once a function is written: somebody goes there */
    uint32_t *block;              /* by instruction that begins a block: its number in the function */
    uint8_t *used;                /* by offset / LIR_ROW_ALIGN: the function's register is named */
    bool uses_cc, uses_stack, arrives; /* arrives: some thread passes a barrier without waiting */

    /* the function being written */
    uint32_t function, end; /* its index; the instruction behind it */
    const struct lir_fn *fn;
    const struct lir_insn *at;
    bool copies;           /* asynchronous ones, begun and not waited for */
    struct mu_sums *sums;  /* by instruction; NULL: no product */
    uint32_t nsums, nflag; /* arrays and flags */
    uint32_t *exit;        /* by block: the first product whose sums get to registers there, + 1 */
};

/* kernel.c, flow.c, flat.c */
void mu_instruction(struct mu_emit *e); /* e->at, unless it is a branch */
void mu_end_copies(struct mu_emit *e);  /* a block ends: asynchronous copies that it began are waited for */
void mu_flow(struct mu_emit *e);        /* the function's statements */
void mu_flat(struct mu_emit *e);        /* the same without nesting (flat.c) */

/* text.c */
_Noreturn void mu_fail(struct mu_emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mu_put(struct mu_emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mu_write(struct mu_emit *e, const char *s, size_t n);
/* The same lines indented, without labels that nobody goes to. */
void mu_write_indented(struct mu_emit *e, const char *s, size_t n);

/* value.c: rows as expressions. A kind is w (32 bits and less), l (64) or p (predicate). */
struct mu_str {
    char s[80];
};
struct mu_str mu_get(struct mu_emit *e, uint32_t row, char kind);
/* Name of a register to assign to; an unwanted result goes to a variable of that kind. */
struct mu_str mu_set(struct mu_emit *e, uint32_t row, char kind);
bool mu_constant(const struct mu_emit *e, uint32_t row, uint64_t *value);
void mu_declare(struct mu_emit *e); /* of all registers the text names so far */

/* sums.c: where sums of products stay; what stands in front of a block; declarations */
struct mu_blocks;
struct lir_matrix;
void mu_plan_sums(struct mu_emit *e, struct ptx_ctx *c, const struct mu_blocks *b);
void mu_leave_sums(struct mu_emit *e, int32_t block);
void mu_declare_sums(struct mu_emit *e);
bool mu_by_unit(const struct lir_matrix *x); /* a device may have a unit for it */
const struct lir_matrix *mu_matrix_of(const struct mu_emit *e, const struct lir_insn *i);
void mu_give_sums(struct mu_emit *e, const struct lir_insn *i, const char *array); /* matrix.c */

/* alu.c, memory.c, warp.c, matrix.c, texture.c: true if the instruction was one of theirs */
bool mu_alu(struct mu_emit *e);
bool mu_memory(struct mu_emit *e);
bool mu_warp(struct mu_emit *e);
bool mu_matrix(struct mu_emit *e);
bool mu_texture(struct mu_emit *e);
/* call.c */
void mu_call(struct mu_emit *e);
void mu_syscall(struct mu_emit *e);
void mu_signature(struct mu_emit *e, uint32_t function, const char *end);
void mu_params(struct mu_emit *e); /* the kernel's, with their types */
/* Parameter of the kernel that byte `offset` of the launch buffer lies in, and its place there. */
const struct ptx_var *mu_param_at(struct mu_emit *e, uint64_t offset, uint32_t *index, uint32_t *rest);
bool mu_param_scalar(const struct ptx_var *v);

/* constants.c: the numbers that emitted modifiers are made of, as the prelude names them */
void mu_constants(struct mu_emit *e);

#endif
