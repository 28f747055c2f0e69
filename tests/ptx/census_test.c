/* Every arithmetic instruction variant that was seen in compiled programs is selected. */
#include "../check.h"
#include "ptx/front/front.h"
#include "ptx/lir/lir.h"

#include <stdio.h>
#include <string.h>

static const char *const variants[] = {
#define V(text) text,
#include "census.def"
#undef V
};
enum { NVARIANTS = sizeof variants / sizeof variants[0] };

/* The instruction with operands of the kinds its pattern asks for: enough for selection. */
static bool selected(const char *text, const char **why)
{
    struct ptx_diag diag = {0};
    struct ptx_ctx ctx = {.diag = &diag};
    struct ptx_opcode out;
    struct lir_insn insn;
    if (setjmp(ctx.out)) {
        *why = "the front end does not know it";
        return false;
    }
    ptx_decode(&ctx, text, strlen(text), 1, &out);
    struct ptx_instr *in = &out.in;
    if (out.loose) {
        in->ndst = 1;
        in->nsrc = 3;
    }
    for (const char *s = out.sig; *s && *s != '?'; s++) {
        if (strchr("DPSQJIKWCMEV", *s))
            in->ndst++;
        else if (*s != '~')
            in->src[in->nsrc++].kind = PTX_O_REG;
    }
    if (in->op == PTX_OP_LOP3)
        in->src[3].kind = PTX_O_IMM;
    if (in->op == PTX_OP_CVT && in->type[2])
        in->nsrc = 3;
    if ((in->op == PTX_OP_SETP || in->op == PTX_OP_SET) && in->sub)
        in->nsrc = 3;
    *why = "lir_select_alu has no such form";
    return lir_select_alu(in, &insn) && insn.op > LIR_OP_INVALID && insn.op < LIR_NOPS;
}

int main(void)
{
    const char *why = NULL;
    for (unsigned n = 0; n < NVARIANTS; n++) {
        if (selected(variants[n], &why))
            continue;
        check(false, "%s: %s", variants[n], why);
    }
    return check_end("all variants of the census are selected");
}
