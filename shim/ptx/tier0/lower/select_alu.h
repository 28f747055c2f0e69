/* What the files that select arithmetic ops share. */
#ifndef CUMU_PTX_TIER0_SELECT_ALU_H
#define CUMU_PTX_TIER0_SELECT_ALU_H

#include "ptx/tier0/alu_aux.h"
#include "ptx/tier0/t0.h"

bool t0_select_cvt(const struct ptx_instr *i, struct t0_insn *out);
bool t0_select_video(const struct ptx_instr *i, struct t0_insn *out);
/* FTZ, SAT, NANPROP, XORSIGN and the rounding mode as aux bits */
unsigned t0_alu_aux(const struct ptx_instr *i);

#endif
