/* The low-level IR (LIR) that all back ends are made from: PTX lowered to a flat instruction set over a warp's
 * register file, as an image without pointers. The interpreter runs it, the emitters of C and of MUSA C++ follow it.
 *
 * A warp is 32 lanes. A register is a row: 8-, 16- and 32-bit values take 32 x u32 (narrow integers
 * zero-extended by whoever writes them; f16 in the low half), 64-bit values 32 x u64, b128 two
 * consecutive 64-bit rows (low, high), predicates one u32 lane mask (stored in its own 4-byte slot).
 * Immediates, special registers and symbol addresses are rows too, filled when the warp starts, so that
 * every operand is a row. Operands are byte offsets into the warp's register file. An instruction writes
 * active lanes only; others keep their value. */
#ifndef CUMU_PTX_LIR_H
#define CUMU_PTX_LIR_H

#include "ptx/ir.h"

#define LIR_LANES 32

struct lir_insn {
    uint16_t op;            /* enum lir_op */
    uint16_t aux;           /* modifiers of this op: see LIR_AUX_* and each op's comment */
    uint32_t d, a, b, c, e; /* row offsets; memory and control ops give them their own meaning */
    int32_t imm;
};

/* aux bits that arithmetic ops share */
enum {
    LIR_FTZ = 1,
    LIR_SAT = 2,
    LIR_NANPROP = 4,
    LIR_XORSIGN = 8,
    LIR_RND_SHIFT = 4 /* 4 bits: enum ptx_rnd */,
    LIR_CMP_SHIFT = 8 /* 5 bits */,
    LIR_BOOL_SHIFT = 13 /* 2 bits: and or xor */
};

enum lir_op {
    LIR_OP_INVALID,
#define LIR_OP(id, ...) LIR_##id,
#include "ptx/lir/alu_ops.def"  /* arithmetic, logic, conversion, compare: lower/select_alu.c */
#include "ptx/lir/core_ops.def" /* memory, atomics, control, warp collectives: lower/ */
#undef LIR_OP
    LIR_NOPS
};

/* Operands of an arithmetic op, as alu_ops.def has them; NULL of others (ops.c, in the shim). */
extern const char *const lir_operands[LIR_NOPS];

struct lir_param {
    uint32_t offset, size;
};
struct lir_cluster_info {      /* what the kernel says about its clusters */
    uint32_t dims[3];          /* .reqnctapercluster; 0 = the launch says */
    uint32_t max;              /* .maxclusterrank; 0 = not given */
    uint32_t must_be_set;      /* .explicitcluster: never launched without */
    uint32_t grid_of_clusters; /* .blocksareclusters: the launch's grid counts clusters */
};

/* lower/select_alu.c: fills op and aux (not the operands, which follow the PTX order d, a, b, c; a second
 * destination or fourth source goes to e) for a non-memory, non-control instruction.
 * false = no such arithmetic instruction, or a form that the LIR lacks. */
bool lir_select_alu(const struct ptx_instr *i, struct lir_insn *out);

/* ---- lowering (lower/, in the shim) ----------------------------------------------------------- */

/* A driver whose muModuleLoadData takes images exports this name: its version of them. */
#define LIR_TAKES_IMAGES "cumu_host_images"

/* Image of one kernel with every function it can reach; *image is malloc'ed, caller frees.
 * Module-scope variables are externs of the image, bound by lir_image_bind before it is loaded.
 * 0, or -1 with *diag naming the instruction that has no lowering. */
int lir_lower_kernel(const struct ptx_module *m, const char *kernel, void **image, size_t *size, struct ptx_diag *diag);
/* Image that defines the module's .global and .const variables (no code). *image = NULL, 0 if none. */
int lir_lower_data(const struct ptx_module *m, void **image, size_t *size, struct ptx_diag *diag);

/* Externs of an image: i-th name or NULL past the end; bind gives one its device address. */
const char *lir_image_extern(const void *image, unsigned i);
void lir_image_bind(void *image, unsigned i, uint64_t address);

#endif
