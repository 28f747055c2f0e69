/* Tier 0 lowering of one instruction outside its function. */
#include "ptx/tier0/lower/single.h"

#include "ptx/tier0/lower/lower.h"

#include <stdlib.h>
#include <string.h>

/* Handlers that look at nothing but rows, the block's memory and the record they name. */
static bool stands_alone(unsigned op)
{
    switch (op) {
    case T0_LD_KPARAM: case T0_LANE_LD: case T0_LANE_ST: case T0_LANE_ADDR: case T0_LOCAL_ADDR:
    case T0_ALLOCA: case T0_STACKSAVE: case T0_STACKRESTORE: case T0_SREG: case T0_SYSCALL:
        return false;
    case T0_WARPSYNC: return true; /* left out by who runs it: the lanes have come */
    default: return op < T0_SHFL;
    }
}

static void lower(struct t0_lower *l, const struct ptx_instr *i, const uint32_t *row)
{
    static const uint32_t bytes[T0_CLASSES] = {T0_ROW_ALIGN, 128, 256, 512};
    l->reg = calloc(l->f->nreg + 1, sizeof *l->reg);
    if (!l->reg)
        t0_out_of_memory(l);
    memcpy(l->reg, row, l->f->nreg * sizeof *row);
    for (unsigned c = 0; c < T0_CLASSES; c++)
        for (unsigned k = 0; k < 3; k++)
            l->temp[c][k] = t0_take(l, bytes[c]);
    l->at = i;
    if (!t0_lower_memory(l, i) && !t0_lower_async(l, i) && !t0_lower_texture(l, i) &&
        !t0_lower_matrix(l, i) && !t0_lower_other(l, i))
        t0_lower_alu(l, i);
    const struct t0_insn *code = l->code.p;
    for (uint32_t k = 0; k < l->code.n; k++)
        if (!stands_alone(code[k].op))
            t0_fail(l, "needs more than rows");
    const struct t0_row *rows = l->rows.p;
    for (uint32_t k = 0; k < l->rows.n; k++)
        if (rows[k].kind != T0_ROW_IMM || rows[k].index)
            t0_fail(l, "needs more than numbers");
}

int t0_lower_single(const struct ptx_module *m, struct ptx_func *f, const struct ptx_instr *i,
                    const uint32_t *row, uint32_t top, void **image, size_t *size,
                    uint32_t *regs_size, struct ptx_diag *diag)
{
    struct t0_lower *l = malloc(sizeof *l);
    volatile int result = -1; /* survives the longjmp of an error */
    *image = NULL;
    *size = 0;
    memset(diag, 0, sizeof *diag);
    if (!l) {
        strcpy(diag->msg, "out of memory");
        return -1;
    }
    t0_lower_start(l, m, diag);
    if (!setjmp(l->out)) {
        l->f = f;
        l->regs_top = top > l->regs_top ? top : l->regs_top;
        lower(l, i, row);
        l->lines.n = 0;
        *regs_size = l->regs_top;
        t0_write_image(l, image, size);
        result = 0;
    }
    t0_lower_free(l);
    free(l);
    return result;
}
