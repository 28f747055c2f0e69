/* Tier 0 lowering: instructions that are hints on a CPU, and why some are refused. */
#include "ptx/lir/alu_aux.h"
#include "ptx/lir/lower/lower.h"

/* Needs of whole families that no single instruction shows. */
static const struct {
    uint16_t op;
    const char *why;
} refused[] = {
    {PTX_OP_CP, "no such copy"},
    {PTX_OP_ISTYPEP, "pointers to opaque variables are not told apart"},
    {PTX_OP_MBARRIER, "no such operation on mbarriers"},
    {PTX_OP_ST_BULK, "no such bulk store"},
    {PTX_OP_WGMMA, "no such operation of warpgroups"},
    {PTX_OP_TENSORMAP, "no such operation on tensor maps"},
    {PTX_OP_MULTIMEM, "no such operation on multimem addresses"},
    {PTX_OP_TCGEN05, "no such operation of tensor memory"},
    {PTX_OP_CLUSTERLAUNCHCONTROL, "no such request or answer"},
};

/* lop3.BoolOp d|p, a, b, c, table, q: p = (d != 0) BoolOp q. False if it is the plain form. */
static bool lower_lop3(struct lir_lower *l, const struct ptx_instr *i)
{
    unsigned logic = i->sub == PTX_SUB_AND ? 1 : i->sub == PTX_SUB_OR ? 2 : 3;
    if (!i->sub || i->ndst != 2 || i->nsrc != 5 || i->src[3].kind != PTX_O_IMM)
        return false;
    uint32_t a = lir_source(l, &i->src[0], LIR_CLASS_32), b = lir_source(l, &i->src[1], LIR_CLASS_32);
    uint32_t c = lir_source(l, &i->src[2], LIR_CLASS_32), q = lir_source(l, &i->src[4], LIR_CLASS_PRED);
    uint32_t zero = lir_imm(l, LIR_CLASS_32, 0), p = lir_dest(l, &i->dst[1]);
    uint32_t d = i->dst[0].kind == PTX_O_REG ? lir_dest(l, &i->dst[0]) : lir_temp(l, LIR_CLASS_32);
    struct lir_insn *o = lir_emit(l, LIR_LOP3_B32);
    *o = (struct lir_insn){.op = LIR_LOP3_B32, .d = d, .a = a, .b = b, .c = c, .imm = (int32_t)(i->src[3].imm & 0xff)};
    o = lir_emit(l, LIR_SETP_U32);
    *o = (struct lir_insn){.op = LIR_SETP_U32, .d = p, .a = d, .b = zero, .c = q};
    o->aux = (uint16_t)(PTX_NE << LIR_CMP_SHIFT | logic << LIR_BOOL_SHIFT | (i->src[4].neg ? LIR_CMP_NOTC : 0));
    return true;
}

bool lir_lower_other(struct lir_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_LOP3: return lower_lop3(l, i);
    case PTX_OP_FMA:
        if (i->flags & PTX_F_OOB)
            lir_fail(l, "no public text has the bits of the NaN that fma.oob looks for");
        return false;
    case PTX_OP_CVT:
        if (i->type[0] == PTX_S2F6X2)
            lir_fail(l, "no public text says what becomes of numbers at and below -2");
        return false;
    case PTX_OP_CREATEPOLICY: { /* a cache policy is a hint: any value will do */
        uint32_t zero = lir_imm(l, LIR_CLASS_64, 0);
        if (i->ndst != 1 || i->dst[0].kind != PTX_O_REG || lir_reg_class(l, i->dst[0].reg) != LIR_CLASS_64)
            lir_fail(l, "expected a 64-bit register");
        lir_emit_move(l, LIR_CLASS_64, lir_dest(l, &i->dst[0]), zero);
        return true;
    }
    case PTX_OP_MEMBAR_PROXY: /* one proxy reaches all memory here */ lir_emit(l, LIR_FENCE)->aux = 1; return true;
    default: break;
    }
    for (unsigned k = 0; k < sizeof refused / sizeof *refused; k++)
        if (refused[k].op == i->op)
            lir_fail(l, "%s", refused[k].why);
    return false;
}
