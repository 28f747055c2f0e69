/* Lowering one instruction by itself, for tier 1: what emitted code cannot say it leaves to the handlers
 * of the interpreter, one instruction at a time. */
#ifndef CUMU_PTX_T0_SINGLE_H
#define CUMU_PTX_T0_SINGLE_H

#include "ptx/lir/image.h"

/* An image of the bytecode of `i` alone, whose guard is not looked at: sections rows, code, matrices and
 * operands. Its operands are registers of f, of which f->reg says the types and row[] where they lie in
 * the register file, immediates and lists in f->opnd; below `top` the register file is the caller's.
 * *image is malloc'ed; *regs_size: bytes of the register file. 0, or -1 with *diag: no lowering, or one
 * that needs more of a warp than its rows (frames, waiting for other lanes). */
int lir_lower_single(const struct ptx_module *m, struct ptx_func *f, const struct ptx_instr *i, const uint32_t *row,
                     uint32_t top, void **image, size_t *size, uint32_t *regs_size, struct ptx_diag *diag);

#endif
