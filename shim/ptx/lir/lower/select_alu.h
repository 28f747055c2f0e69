/* What the files that select arithmetic ops share. */
#ifndef CUMU_PTX_TIER0_SELECT_ALU_H
#define CUMU_PTX_TIER0_SELECT_ALU_H

#include "ptx/lir/alu_aux.h"
#include "ptx/lir/lir.h"

bool lir_select_cvt(const struct ptx_instr *i, struct lir_insn *out);
bool lir_select_video(const struct ptx_instr *i, struct lir_insn *out);
/* FTZ, SAT, NANPROP, XORSIGN and the rounding mode as aux bits */
unsigned lir_alu_aux(const struct ptx_instr *i);

#endif
