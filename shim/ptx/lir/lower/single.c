/* Tier 0 lowering of one instruction outside its function. */
#include "ptx/lir/lower/single.h"

#include "ptx/lir/lower/lower.h"

#include <stdlib.h>
#include <string.h>

/* Handlers that look at nothing but rows, the block's memory and the record they name. */
static bool stands_alone(unsigned op)
{
    switch (op) {
    case LIR_LD_KPARAM:
    case LIR_LANE_LD:
    case LIR_LANE_ST:
    case LIR_LANE_ADDR:
    case LIR_LOCAL_ADDR:
    case LIR_ALLOCA:
    case LIR_STACKSAVE:
    case LIR_STACKRESTORE:
    case LIR_SREG:
    case LIR_SYSCALL: return false;
    case LIR_WARPSYNC: return true; /* left out by who runs it: the lanes have come */
    default: return op < LIR_SHFL;
    }
}

static void lower(struct lir_lower *l, const struct ptx_instr *i, const uint32_t *row)
{
    static const uint32_t bytes[LIR_CLASSES] = {LIR_ROW_ALIGN, 128, 256, 512};
    l->reg = calloc(l->f->nreg + 1, sizeof *l->reg);
    if (!l->reg)
        lir_out_of_memory(l);
    memcpy(l->reg, row, l->f->nreg * sizeof *row);
    for (unsigned c = 0; c < LIR_CLASSES; c++)
        for (unsigned k = 0; k < 3; k++)
            l->temp[c][k] = lir_take(l, bytes[c]);
    l->at = i;
    if (!lir_lower_memory(l, i) && !lir_lower_async(l, i) && !lir_lower_texture(l, i) && !lir_lower_matrix(l, i) &&
        !lir_lower_other(l, i))
        lir_lower_alu(l, i);
    const struct lir_insn *code = l->code.p;
    for (uint32_t k = 0; k < l->code.n; k++)
        if (!stands_alone(code[k].op))
            lir_fail(l, "needs more than rows");
    const struct lir_row *rows = l->rows.p;
    for (uint32_t k = 0; k < l->rows.n; k++)
        if (rows[k].kind != LIR_ROW_IMM || rows[k].index)
            lir_fail(l, "needs more than numbers");
}

int lir_lower_single(const struct ptx_module *m, struct ptx_func *f, const struct ptx_instr *i, const uint32_t *row,
                     uint32_t top, void **image, size_t *size, uint32_t *regs_size, struct ptx_diag *diag)
{
    struct lir_lower *l = malloc(sizeof *l);
    volatile int result = -1; /* survives the longjmp of an error */
    *image = NULL;
    *size = 0;
    memset(diag, 0, sizeof *diag);
    if (!l) {
        strcpy(diag->msg, "out of memory");
        return -1;
    }
    lir_lower_start(l, m, diag);
    if (!setjmp(l->out)) {
        l->f = f;
        l->regs_top = top > l->regs_top ? top : l->regs_top;
        lower(l, i, row);
        l->lines.n = 0;
        *regs_size = l->regs_top;
        lir_write_image(l, image, size);
        result = 0;
    }
    lir_lower_free(l);
    free(l);
    return result;
}
