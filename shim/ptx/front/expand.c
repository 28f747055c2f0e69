/* Spellings that ptxas takes and no back end needs to know: each becomes plain instructions in front of the one that
 * it stands in. */
#include "ptx/front/front.h"

#include <stdio.h>
#include <string.h>

static struct ptx_opnd reg_opnd(int32_t reg) { return (struct ptx_opnd){.kind = PTX_O_REG, .reg = reg, .sym = -1}; }

static struct ptx_opnd imm_opnd(uint64_t imm)
{
    return (struct ptx_opnd){.kind = PTX_O_IMM, .reg = -1, .sym = -1, .imm = imm};
}

/* An unguarded instruction of one source in front of *in; its result is a register of nobody else's. */
static struct ptx_instr *push(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type,
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
    i->dst[0] = reg_opnd(dst);
    i->src[0] = src;
    return i;
}

/* What a dump shows of a register that no text declares. */
static const char *made_name(unsigned op)
{
    return op == PTX_OP_NOT ? "!" : op == PTX_OP_ADD || op == PTX_OP_SUB ? "+" : "=";
}

static int32_t unary(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, struct ptx_opnd a)
{
    int32_t d = ptx_new_reg(p, made_name(op), 1, type);
    push(p, in, op, type, PTX_NONE, d, a);
    return d;
}

static int32_t convert(struct ptx_parser *p, const struct ptx_instr *in, unsigned to, unsigned from, int32_t a)
{
    int32_t d = ptx_new_reg(p, made_name(PTX_OP_CVT), 1, to);
    push(p, in, PTX_OP_CVT, to, from, d, reg_opnd(a));
    return d;
}

static int32_t binary(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, int32_t a,
                      struct ptx_opnd b)
{
    int32_t d = ptx_new_reg(p, made_name(op), 1, type);
    struct ptx_instr *i = push(p, in, op, type, PTX_NONE, d, reg_opnd(a));
    i->src[i->nsrc++] = b;
    return d;
}

/* ptxas takes !p wherever a predicate is read, the ISA only in compares, votes and barriers.
 * Elsewhere a not.pred in front makes it plain. */
static void expand_negations(struct ptx_parser *p, struct ptx_instr *in)
{
    if (in->op == PTX_OP_SETP || in->op == PTX_OP_SET || in->op == PTX_OP_VOTE || in->op == PTX_OP_BAR ||
        in->op == PTX_OP_BARRIER || in->op == PTX_OP_VMAD)
        return;
    for (unsigned k = 0; k < in->nsrc; k++) {
        struct ptx_opnd *o = &in->src[k];
        if (o->kind != PTX_O_REG || !o->neg)
            continue;
        o->neg = 0;
        o->reg = unary(p, in, PTX_OP_NOT, PTX_PRED, *o);
    }
}

/* mov.u32 %r1, %r2+4: the sum has the register's width. */
static void expand_offsets(struct ptx_parser *p, struct ptx_instr *in)
{
    for (unsigned k = 0; k < in->nsrc; k++) {
        struct ptx_opnd *o = &in->src[k];
        if (o->kind != PTX_O_REG || !o->imm)
            continue;
        const struct ptx_reg *r = &p->f->reg[o->reg];
        if (r->type == PTX_PRED || ptx_type_is_float(r->type))
            ptx_fail(p->ctx, in->line, r->name, strlen(r->name), "constant behind a register that holds no integer");
        unsigned size = ptx_type_size(r->type), type = size == 2 ? PTX_U16 : size == 4 ? PTX_U32 : PTX_U64;
        uint64_t imm = size >= 8 ? o->imm : o->imm & (((uint64_t)1 << 8 * size) - 1);
        *o = reg_opnd(binary(p, in, PTX_OP_ADD, type, o->reg, imm_opnd(imm)));
    }
}

/* A texture or surface reference is a variable that holds the handle of a texture or surface object:
 * [name, {x, y}] becomes a load of the handle and [register, {x, y}]. */
static void expand_reference(struct ptx_parser *p, struct ptx_instr *in)
{
    static const uint16_t users[] = {PTX_OP_TEX,  PTX_OP_TLD4,  PTX_OP_TXQ, PTX_OP_SULD,
                                     PTX_OP_SUST, PTX_OP_SURED, PTX_OP_SUQ};
    struct ptx_opnd *o = &in->src[0];
    bool uses = false;
    for (unsigned i = 0; i < sizeof users / sizeof *users; i++)
        uses |= in->op == users[i];
    if (!uses || !in->nsrc)
        return;
    if (o->kind == PTX_O_VEC)
        o = &p->f->opnd[o->first];
    const struct ptx_var *v = o->kind == PTX_O_ADDR && o->sym >= 0 ? ptx_symbol(p->f, o->sym) : NULL;
    if (!v || v->size < 8 || (v->space != PTX_SP_GLOBAL && v->space != PTX_SP_PARAM))
        return;
    int32_t reg = ptx_new_reg(p, v->name, strlen(v->name), PTX_B64);
    struct ptx_instr *load = push(p, in, PTX_OP_LD, PTX_U64, PTX_NONE, reg, *o);
    load->space = v->space;
    load->opcode = v->space == PTX_SP_GLOBAL ? "ld.global.u64" : "ld.param.u64";
    *o = (struct ptx_opnd){.kind = PTX_O_ADDR, .reg = reg, .sym = -1};
}

/* ---- addresses of 32 bits in local and constant memory (LLVM's short pointers) and of a kernel's parameters ----
 * Windows of these spaces begin at 0 here, so that an address there is a generic one, of 64 bits. A short one is its
 * lower half. What is meant is the address with that lower half that is nearest to some place in the same window:
 * windows are far smaller than 2 GiB. */

static bool is_short_space(unsigned space)
{
    return space == PTX_SP_LOCAL || space == PTX_SP_CONST || space == PTX_SP_PARAM;
}

/* A symbol in the window: a constant of the module, a parameter of the kernel, or local memory of this function, which
 * is made if need be. */
static int32_t window_symbol(struct ptx_parser *p, unsigned space)
{
    struct ptx_func *f = p->f;
    for (uint32_t k = 0; space == PTX_SP_CONST && k < f->module->nvar; k++)
        if (f->module->var[k].space == PTX_SP_CONST && !f->module->var[k].is_extern)
            return (int32_t)k;
    for (uint32_t k = 0; space == PTX_SP_LOCAL && k < f->nlocal; k++)
        if (f->local[k].space == PTX_SP_LOCAL)
            return PTX_SYM_LOCAL((int32_t)k);
    if (space == PTX_SP_PARAM && f->is_entry && f->nparam)
        return PTX_SYM_PARAM(0);
    if (space != PTX_SP_LOCAL)
        return -1;
    PTX_PUSH(p->ctx, f->local, f->nlocal, p->local_cap);
    f->local[f->nlocal] = (struct ptx_var){
        .name = "", .space = PTX_SP_LOCAL, .type = PTX_B64, .vec = 1, .align = 8, .size = 8, .reg = -1};
    f->local_size = 8;
    return PTX_SYM_LOCAL((int32_t)f->nlocal++);
}

static struct ptx_opnd symbol_opnd(int32_t sym, uint64_t offset)
{
    return (struct ptx_opnd){.kind = PTX_O_SYM, .reg = -1, .sym = sym, .imm = offset};
}

/* The whole address of a short one. */
static int32_t widen(struct ptx_parser *p, const struct ptx_instr *in, unsigned space, int32_t narrow)
{
    int32_t sym = window_symbol(p, space);
    if (sym < 0)
        ptx_fail(p->ctx, in->line, in->opcode, strlen(in->opcode), "short address where there is no such variable");
    int32_t base = unary(p, in, PTX_OP_MOV, PTX_U64, symbol_opnd(sym, 0));
    int32_t low = convert(p, in, PTX_U32, PTX_U64, base);
    int32_t far = binary(p, in, PTX_OP_SUB, PTX_U32, narrow, reg_opnd(low));
    return binary(p, in, PTX_OP_ADD, PTX_U64, base, reg_opnd(convert(p, in, PTX_S64, PTX_S32, far)));
}

/* Makes 64-bit addresses of 32-bit ones. Modules of .address_size 64 may keep addresses of shared, local and
 * constant variables in 32-bit registers; back ends know one width only. A register that was widened by cvt is
 * remembered: cvta takes it as such an address. */
static void expand_short_addresses(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_opnd *o = &in->src[0];
    const unsigned size = o->kind == PTX_O_REG || (o->kind == PTX_O_ADDR && o->reg >= 0)
                              ? ptx_type_size(p->f->reg[o->reg].type)
                              : 0;
    switch (in->op) {
    case PTX_OP_MOV: {
        const struct ptx_var *v = o->kind == PTX_O_SYM ? ptx_symbol(p->f, o->sym) : NULL;
        if (v && is_short_space(v->space) && (v->space != PTX_SP_PARAM || p->f->is_entry) &&
            ptx_type_size(in->type[0]) == 4)
            *o = reg_opnd(convert(p, in, PTX_U32, PTX_U64, unary(p, in, PTX_OP_MOV, PTX_U64, *o)));
        return;
    }
    case PTX_OP_CVT: /* what cvta may be given */
        if (size == 4 && ptx_type_size(in->type[0]) == 8 && in->dst[0].kind == PTX_O_REG)
            p->f->reg[in->dst[0].reg].widened = true;
        return;
    case PTX_OP_CVTA:
        if (size == 8 && is_short_space(in->space) && !(in->flags & PTX_F_TO) && p->f->reg[o->reg].widened)
            *o = reg_opnd(widen(p, in, in->space, convert(p, in, PTX_U32, PTX_U64, o->reg)));
        return;
    case PTX_OP_LD:
    case PTX_OP_ST:
    case PTX_OP_LDU:
        if (size == 4 && is_short_space(in->space))
            o->reg = widen(p, in, in->space, o->reg);
        return;
    default: return;
    }
}

void ptx_expand(struct ptx_parser *p, struct ptx_instr *in)
{
    expand_offsets(p, in);
    expand_negations(p, in);
    expand_reference(p, in);
    expand_short_addresses(p, in);
}
