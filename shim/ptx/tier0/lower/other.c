/* Tier 0 lowering: instructions that are hints on a CPU, and why some are refused. */
#include "ptx/tier0/lower/lower.h"

/* Needs of whole families that no single instruction shows. */
static const struct {
    uint16_t op;
    const char *why;
} refused[] = {
    {PTX_OP_CP, "bulk and tensor copies (TMA) are not supported"},
    {PTX_OP_MBARRIER, "mbarriers that count bytes (TMA) are not supported"},
    {PTX_OP_ST_ASYNC, "stores between blocks of a cluster are not supported"},
    {PTX_OP_RED_ASYNC, "reductions between blocks of a cluster are not supported"},
    {PTX_OP_ST_BULK, "needs sm_100; sm_90 is the last architecture supported"},
    {PTX_OP_WGMMA, "warpgroup matrices (sm_90a) are not supported"},
    {PTX_OP_TENSORMAP, "tensor maps (sm_90a) are not supported"},
    {PTX_OP_MULTIMEM, "multimem addresses are not supported"},
    {PTX_OP_TCGEN05, "needs sm_100a; sm_90 is the last architecture supported"},
    {PTX_OP_CLUSTERLAUNCHCONTROL, "needs sm_100; sm_90 is the last architecture supported"},
};

bool t0_lower_other(struct t0_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_CREATEPOLICY: { /* a cache policy is a hint: any value will do */
        uint32_t zero = t0_imm(l, T0_CLASS_64, 0);
        if (i->ndst != 1 || i->dst[0].kind != PTX_O_REG ||
            t0_reg_class(l, i->dst[0].reg) != T0_CLASS_64)
            t0_fail(l, "expected a 64-bit register");
        t0_emit_move(l, T0_CLASS_64, t0_dest(l, &i->dst[0]), zero);
        return true;
    }
    case PTX_OP_MEMBAR_PROXY: /* one proxy reaches all memory here */
        t0_emit(l, T0_FENCE)->aux = 1;
        return true;
    default: break;
    }
    for (unsigned k = 0; k < sizeof refused / sizeof *refused; k++)
        if (refused[k].op == i->op)
            t0_fail(l, "%s", refused[k].why);
    return false;
}
