/* Puts plain instructions in front of the one that is expanded (expand.c). */
#include "ptx/front/expand.h"

#include <stdio.h>

struct ptx_opnd ptx_reg_opnd(int32_t reg) { return (struct ptx_opnd){.kind = PTX_O_REG, .reg = reg, .sym = -1}; }

struct ptx_opnd ptx_imm_opnd(uint64_t imm)
{
    return (struct ptx_opnd){.kind = PTX_O_IMM, .reg = -1, .sym = -1, .imm = imm};
}

struct ptx_instr *ptx_put_before(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type,
                                 unsigned from, int32_t dst, struct ptx_opnd src)
{
    char text[40];
    int len = snprintf(text, sizeof text, "%s.%s%s%s", ptx_op_name(op), ptx_type_name(type), from ? "." : "",
                       from ? ptx_type_name(from) : "");
    struct ptx_instr *i = ptx_push_instr(p);
    *i = (struct ptx_instr){.op = (uint16_t)op,
                            .type = {(uint8_t)type, (uint8_t)from},
                            .vec = 1,
                            .guard = -1,
                            .line = in->line,
                            .ndst = 1,
                            .nsrc = 1};
    i->opcode = ptx_strdup(p->ctx, text, (size_t)len);
    i->dst[0] = ptx_reg_opnd(dst);
    i->src[0] = src;
    return i;
}

const char *ptx_made_name(unsigned op)
{
    return op == PTX_OP_NOT ? "!" : op == PTX_OP_ADD || op == PTX_OP_SUB ? "+" : "=";
}

struct ptx_instr *ptx_expand_move(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, struct ptx_opnd dst,
                                  struct ptx_opnd src)
{
    struct ptx_instr *i = ptx_put_before(p, in, PTX_OP_MOV, type, PTX_NONE, -1, src);
    i->dst[0] = dst;
    return i;
}

int32_t ptx_put_unary(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, struct ptx_opnd a)
{
    int32_t d = ptx_new_reg(p, ptx_made_name(op), 1, type);
    ptx_put_before(p, in, op, type, PTX_NONE, d, a);
    return d;
}

int32_t ptx_put_convert(struct ptx_parser *p, const struct ptx_instr *in, unsigned to, unsigned from, int32_t a)
{
    int32_t d = ptx_new_reg(p, ptx_made_name(PTX_OP_CVT), 1, to);
    ptx_put_before(p, in, PTX_OP_CVT, to, from, d, ptx_reg_opnd(a));
    return d;
}

int32_t ptx_put_binary(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, int32_t a,
                       struct ptx_opnd b)
{
    int32_t d = ptx_new_reg(p, ptx_made_name(op), 1, type);
    struct ptx_instr *i = ptx_put_before(p, in, op, type, PTX_NONE, d, ptx_reg_opnd(a));
    i->src[i->nsrc++] = b;
    return d;
}

int32_t ptx_put_part(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, uint32_t flags,
                     const struct ptx_opnd *src, unsigned n)
{
    int32_t d = ptx_new_reg(p, ptx_made_name(op), 1, type);
    struct ptx_instr *i = ptx_put_before(p, in, op, type, PTX_NONE, d, src[0]);
    for (unsigned k = 1; k < n; k++)
        i->src[i->nsrc++] = src[k];
    i->rnd = op == in->op ? in->rnd : 0;
    i->flags = flags;
    return d;
}
