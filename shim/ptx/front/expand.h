/* What the files share that expand instructions (expand.c). Instructions are put in front of *in, unguarded, and have
 * results of their own, in registers of nobody else's: the number of such a register comes back. */
#ifndef CUMU_PTX_FRONT_EXPAND_H
#define CUMU_PTX_FRONT_EXPAND_H

#include "ptx/front/front.h"

struct ptx_opnd ptx_reg_opnd(int32_t reg);
struct ptx_opnd ptx_imm_opnd(uint64_t imm);

/* What a dump shows of the register of such a result. */
const char *ptx_made_name(unsigned op);
/* One of one source, whose result is dst; more sources may be added. from: the second type, or PTX_NONE. */
struct ptx_instr *ptx_put_before(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type,
                                 unsigned from, int32_t dst, struct ptx_opnd src);
int32_t ptx_put_unary(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, struct ptx_opnd a);
int32_t ptx_put_convert(struct ptx_parser *p, const struct ptx_instr *in, unsigned to, unsigned from, int32_t a);
int32_t ptx_put_binary(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, int32_t a,
                       struct ptx_opnd b);
/* One like *in, but of this type, these sources and, where it is not its own, operation. */
int32_t ptx_put_part(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, uint32_t flags,
                     const struct ptx_opnd *src, unsigned n);

void ptx_expand_arithmetic(struct ptx_parser *p, struct ptx_instr *in);

#endif
