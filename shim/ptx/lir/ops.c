/* Operands of the LIR's arithmetic, for the emitters. */
#include "ptx/lir/lir.h"

const char *const lir_operands[LIR_NOPS] = {
#define LIR_OP(id, operands) [LIR_##id] = operands,
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
};
