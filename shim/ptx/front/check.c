/* What the operands of an instruction have to be besides their kinds: numbers of barriers and their threads. */
#include "ptx/front/front.h"

/* There are 16 barriers, for whole warps; who arrives without waiting says for how many. */
static void check_barrier(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in)
{
    const struct ptx_opnd *number = &in->src[0], *threads = &in->src[1];
    if ((in->op != PTX_OP_BAR && in->op != PTX_OP_BARRIER) || in->sub == PTX_SUB_WARP_SYNC ||
        in->scope == PTX_SCOPE_CLUSTER)
        return;
    if (in->nsrc > 0 && number->kind == PTX_O_IMM && (uint64_t)number->imm > 15)
        ptx_bad_operand(p, t, in, "barriers have the numbers 0 to 15");
    if (in->nsrc > 1 && threads->kind == PTX_O_IMM &&
        (threads->imm % 32 || (!threads->imm && in->sub == PTX_SUB_ARRIVE)))
        ptx_bad_operand(p, t, in, "the threads of a barrier are whole warps");
}

void ptx_check_together(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in)
{
    check_barrier(p, t, in);
    if (in->op == PTX_OP_ELECT && in->ndst < 2)
        ptx_bad_operand(p, t, in, "lacks the predicate of who is elected");
}
