/* The MUSA emitter: whether anything reads a register behind an instruction. Rows serve one register after the
 * other, so that to be named elsewhere says little. */
#include "ptx/musa/emit/blocks.h"

#include "ptx/lir/matrix.h"

enum role { UNTOUCHED, READ, WRITTEN };

static enum role role_in_matrix(const struct mu_emit *e, const struct lir_insn *i, uint32_t row)
{
    const struct lir_matrix *x = mu_matrix_of(e, i);
    const uint32_t *rows = LIR_AT(e->image, operands, uint32_t) + x->first;
    const unsigned written = i->op == LIR_MMA ? lir_mx_regs_c(x, x->d) : i->op == LIR_WMMA_LD ? lir_mx_regs(x) : 0;
    enum role r = i->op != LIR_MMA && (i->a == row || i->b == row) ? READ : UNTOUCHED;
    for (unsigned k = 0; k < lir_mx_regs(x); k++)
        if (rows[k] == row && r != READ)
            r = k < written ? WRITTEN : READ;
    return r;
}

/* What an instruction does to the row; who is not known to write it reads it. */
static enum role role_of(const struct mu_emit *e, const struct lir_insn *i, uint32_t row)
{
    if (i->op == LIR_MMA || i->op == LIR_WMMA_LD || i->op == LIR_WMMA_ST)
        return role_in_matrix(e, i, row);
    const bool load = (i->op >= LIR_LDG_8 && i->op <= LIR_LDG_64) || (i->op >= LIR_LDS_8 && i->op <= LIR_LDS_64) ||
                      i->op == LIR_LD_ANY,
               named = i->b == row || i->c == row || i->e == row;
    if (i->a == row || (named && !load) || (i->op == LIR_SHFL && (uint32_t)i->imm == row))
        return READ;
    if (i->d != row && !named)
        return UNTOUCHED;
    return load || lir_operands[i->op] ? WRITTEN : READ;
}

/* Along the block from instruction k: an instruction under a guard may leave the row as it was. */
static enum role role_from(const struct mu_emit *e, uint32_t k, uint32_t end, uint32_t row)
{
    const struct lir_insn *code = mu_code(e);
    for (; k < end; k++) {
        const enum role r = role_of(e, &code[k], row);
        if (r == READ || (r == WRITTEN && !(k > e->fn->entry && code[k - 1].op == LIR_GUARD)))
            return r;
    }
    return UNTOUCHED;
}

bool mu_is_dead(struct mu_emit *e, struct ptx_ctx *c, const struct mu_blocks *b, uint32_t k, uint32_t row)
{
    int32_t *stack = PTX_NEW(c, int32_t, b->n);
    uint8_t *seen = PTX_NEW(c, uint8_t, b->n);
    uint32_t n = 0, v = 0;
    while (b->first[v + 1] <= k)
        v++;
    enum role r = role_from(e, k + 1, b->first[v + 1], row);
    for (;;) {
        for (uint32_t s = b->g.first[v]; r == UNTOUCHED && s < b->g.first[v + 1]; s++)
            if (!seen[b->g.succ[s]]) {
                seen[b->g.succ[s]] = 1;
                stack[n++] = b->g.succ[s];
            }
        if (r == READ || !n)
            return r != READ;
        v = (uint32_t)stack[--n];
        r = role_from(e, b->first[v], b->first[v + 1], row);
    }
}
