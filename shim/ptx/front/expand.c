/* Spellings that ptxas takes and no back end needs to know: each becomes plain instructions in front of the one that
 * it stands in. Arithmetic is in expand_arithmetic.c. */
#include "ptx/front/expand.h"

#include <stdio.h>
#include <string.h>

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
        o->reg = ptx_put_unary(p, in, PTX_OP_NOT, PTX_PRED, *o);
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
        *o = ptx_reg_opnd(ptx_put_binary(p, in, PTX_OP_ADD, type, o->reg, ptx_imm_opnd(imm)));
    }
}

/* table[register+constant] is an address of its own; the offset is one of 32 bits, without a sign. */
static void expand_index(struct ptx_parser *p, struct ptx_instr *in)
{
    for (unsigned k = 0; k < in->nsrc; k++) {
        struct ptx_opnd *o = &in->src[k], base = {.kind = PTX_O_SYM, .reg = -1, .sym = o->sym};
        const struct ptx_var *v = o->sym >= 0 ? ptx_symbol(p->f, o->sym) : NULL;
        if ((o->kind != PTX_O_ADDR && o->kind != PTX_O_SYM) || o->sym < 0 || o->reg < 0)
            continue;
        const struct ptx_reg *r = &p->f->reg[o->reg];
        const unsigned size = ptx_type_size(r->type);
        if (!v || (size != 4 && size != 8) || ptx_type_is_float(r->type))
            ptx_fail(p->ctx, in->line, r->name, strlen(r->name),
                     "an index is a register of 32 or 64 bits, of an array");
        if (o->kind == PTX_O_ADDR && in->space == PTX_SP_NONE && v->space != PTX_SP_GLOBAL)
            ptx_fail(p->ctx, in->line, r->name, strlen(r->name), "an element by a register needs the state space");
        int32_t at = size == 8 ? ptx_put_convert(p, in, PTX_U32, PTX_U64, o->reg) : o->reg;
        const struct ptx_opnd by[] = {ptx_reg_opnd(at), ptx_imm_opnd(ptx_type_size(v->type)),
                                      ptx_imm_opnd((uint32_t)o->imm)};
        at = ptx_put_part(p, in, PTX_OP_MAD, PTX_U32, PTX_F_LO, by, 3);
        const bool narrow = o->kind == PTX_O_SYM && ptx_type_size(in->type[0]) == 4;
        const unsigned type = narrow ? PTX_U32 : PTX_U64;
        at = narrow ? at : ptx_put_convert(p, in, PTX_U64, PTX_U32, at);
        at = ptx_put_binary(p, in, PTX_OP_ADD, type, at, ptx_reg_opnd(ptx_put_unary(p, in, PTX_OP_MOV, type, base)));
        *o = (struct ptx_opnd){.kind = o->kind == PTX_O_SYM ? PTX_O_REG : PTX_O_ADDR, .reg = at, .sym = -1};
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
    struct ptx_instr *load = ptx_put_before(p, in, PTX_OP_LD, PTX_U64, PTX_NONE, reg, *o);
    load->space = v->space;
    load->opcode = v->space == PTX_SP_GLOBAL ? "ld.global.u64" : "ld.param.u64";
    *o = (struct ptx_opnd){.kind = PTX_O_ADDR, .reg = reg, .sym = -1};
}

/* An address in a register that is narrower than those of the state space is extended by zeros, as the ISA has it of
 * ld. Of a tensor map it is the first of a list. */
void ptx_extend_address(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o, unsigned type)
{
    if (o->kind == PTX_O_VEC && o->n)
        o = &p->f->opnd[o->first];
    if (o->kind != PTX_O_ADDR || o->reg < 0 || o->sym >= 0)
        return;
    const unsigned size = ptx_type_size(p->f->reg[o->reg].type);
    if (size && size < ptx_type_size(type))
        o->reg = ptx_put_convert(p, in, type, size == 1 ? PTX_U8 : size == 2 ? PTX_U16 : PTX_U32, o->reg);
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
    int32_t base = ptx_put_unary(p, in, PTX_OP_MOV, PTX_U64, symbol_opnd(sym, 0));
    int32_t low = ptx_put_convert(p, in, PTX_U32, PTX_U64, base);
    int32_t far = ptx_put_binary(p, in, PTX_OP_SUB, PTX_U32, narrow, ptx_reg_opnd(low));
    return ptx_put_binary(p, in, PTX_OP_ADD, PTX_U64, base,
                          ptx_reg_opnd(ptx_put_convert(p, in, PTX_S64, PTX_S32, far)));
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
            *o = ptx_reg_opnd(ptx_put_convert(p, in, PTX_U32, PTX_U64, ptx_put_unary(p, in, PTX_OP_MOV, PTX_U64, *o)));
        return;
    }
    case PTX_OP_CVT: /* what cvta may be given */
        if (size == 4 && ptx_type_size(in->type[0]) == 8 && in->dst[0].kind == PTX_O_REG)
            p->f->reg[in->dst[0].reg].widened = true;
        return;
    case PTX_OP_CVTA:
        if (size == 8 && is_short_space(in->space) && !(in->flags & PTX_F_TO) && p->f->reg[o->reg].widened)
            *o = ptx_reg_opnd(widen(p, in, in->space, ptx_put_convert(p, in, PTX_U32, PTX_U64, o->reg)));
        return;
    case PTX_OP_ISSPACEP:
        if (size == 4)
            o->reg = ptx_put_convert(p, in, PTX_U64, PTX_U32, o->reg);
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

/* wgmma adds to the registers that it writes: its sources become a list of what the text has, and a list of those. */
static void expand_sums(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_opnd list[48];
    uint32_t n = 0;
    if (in->op != PTX_OP_WGMMA || in->ndst != 1 || in->dst[0].kind != PTX_O_VEC)
        return;
    for (unsigned s = 0; s < in->nsrc; s++) {
        const struct ptx_opnd *o = &in->src[s];
        const bool rest = s == 4 && o->kind == PTX_O_VEC;
        for (unsigned k = 0; k < (rest ? o->n : 1u) && n < sizeof list / sizeof *list; k++)
            list[n++] = rest ? p->f->opnd[o->first + k] : *o;
    }
    ptx_make_vec(p, &in->src[0], list, n);
    struct ptx_opnd sums[255];
    memcpy(sums, &p->f->opnd[in->dst[0].first], in->dst[0].n * sizeof *sums);
    ptx_make_vec(p, &in->src[1], sums, in->dst[0].n);
    in->nsrc = 2;
}

/* The instruction before the one of this number that wrote a register last, in the order of the text; its number, or 0
 * and NULL. */
static const struct ptx_instr *writer_of(const struct ptx_parser *p, int32_t reg, uint32_t *before)
{
    for (; *before > 0; (*before)--) {
        const struct ptx_instr *i = &p->f->instr[*before - 1];
        if (i->ndst && i->dst[0].kind == PTX_O_REG && i->dst[0].reg == reg) {
            (*before)--;
            return i;
        }
    }
    return NULL;
}

/* The value of an operand that a mov made, or its own. */
static bool constant_of(const struct ptx_parser *p, const struct ptx_opnd *o, uint32_t before, uint64_t *v)
{
    const struct ptx_instr *i = o->kind == PTX_O_REG ? writer_of(p, o->reg, &before) : NULL;
    if (i && i->op == PTX_OP_MOV && i->nsrc == 1)
        o = &i->src[0];
    *v = o->imm;
    return o->kind == PTX_O_IMM;
}

/* Bit 24 of an address was cleared, and no more was done with it than to add something or to move it. */
static bool lost_bit_24(const struct ptx_parser *p, int32_t reg, uint32_t before, unsigned depth)
{
    const uint64_t aligned = 0xff, cleared = 0xfeffff00; /* compilers leave out bits that are clear anyway */
    const struct ptx_instr *i = depth ? writer_of(p, reg, &before) : NULL;
    uint64_t mask;
    if (!i)
        return false;
    if (i->op == PTX_OP_AND)
        for (unsigned k = 0; k < i->nsrc; k++)
            if (constant_of(p, &i->src[k], before, &mask) && (mask & 0xffffffff & ~aligned) == cleared)
                return true;
    if (i->op != PTX_OP_MOV && i->op != PTX_OP_ADD && i->op != PTX_OP_SUB)
        return false;
    for (unsigned k = 0; k < i->nsrc; k++)
        if (i->src[k].kind == PTX_O_REG && lost_bit_24(p, i->src[k].reg, before, depth - 1))
            return true;
    return false;
}

/* Programs of pairs of blocks (tcgen05 with .cta_group::2) arrive at the even block's mbarrier by clearing bit 24 of
 * their own one's address, where devices have the lowest bit of the block's rank. Own addresses have no rank here: one
 * that was made so gets the even block's. Tensor copies know that by themselves (tier0/tile.h). */
static void expand_even_block(struct ptx_parser *p, struct ptx_instr *in)
{
    enum { DEPTH = 6 };
    struct ptx_opnd *o = &in->src[0];
    if (in->op != PTX_OP_MBARRIER || !in->nsrc || o->kind != PTX_O_ADDR || o->reg < 0 ||
        !strstr(in->opcode, "shared::cluster") || ptx_type_size(p->f->reg[o->reg].type) != 4 ||
        !lost_bit_24(p, o->reg, p->f->ninstr, DEPTH))
        return;
    const struct ptx_opnd own = ptx_reg_opnd(o->reg),
                          rank = {.kind = PTX_O_SREG, .reg = PTX_SR_CLUSTER_CTARANK, .sym = -1};
    const int32_t even = ptx_put_binary(p, in, PTX_OP_AND, PTX_B32, ptx_put_unary(p, in, PTX_OP_MOV, PTX_U32, rank),
                                        ptx_imm_opnd(~1u));
    const int32_t mapped = ptx_new_reg(p, ptx_made_name(PTX_OP_MAPA), 1, PTX_U32),
                  far = ptx_new_reg(p, "!", 1, PTX_PRED);
    struct ptx_instr *map = ptx_put_before(p, in, PTX_OP_MAPA, PTX_U32, PTX_NONE, mapped, own);
    map->src[map->nsrc++] = ptx_reg_opnd(even);
    map->space = PTX_SP_SHARED;
    map->opcode = "mapa.shared::cluster.u32";
    struct ptx_instr *test = ptx_put_before(p, in, PTX_OP_SETP, PTX_S32, PTX_NONE, far, own); /* has a rank already */
    test->src[test->nsrc++] = ptx_imm_opnd(0);
    test->cmp = PTX_LT;
    const struct ptx_opnd either[] = {own, ptx_reg_opnd(mapped), ptx_reg_opnd(far)};
    o->reg = ptx_put_part(p, in, PTX_OP_SELP, PTX_B32, 0, either, 3);
}

/* tcgen05.alloc waits until other warps have given back enough columns: it says whether it has got them, and a branch
 * goes back to it. */
static void expand_allocation(struct ptx_parser *p, struct ptx_instr *in)
{
    if (!ptx_allocates(in))
        return;
    const int32_t got = ptx_new_reg(p, "?", 1, PTX_PRED); /* true where a guard says no */
    struct ptx_instr *yes = ptx_put_before(p, in, PTX_OP_SETP, PTX_U32, PTX_NONE, got, ptx_imm_opnd(0));
    yes->src[yes->nsrc++] = ptx_imm_opnd(0);
    yes->cmp = PTX_EQ;
    const struct ptx_opnd again = {.kind = PTX_O_BLOCK, .reg = ptx_label_here(p, "alloc"), .sym = -1};
    struct ptx_instr *alloc = ptx_push_instr(p);
    *alloc = *in;
    alloc->ndst = 1;
    alloc->dst[0] = ptx_reg_opnd(got);
    *in = (struct ptx_instr){.op = PTX_OP_BRA,
                             .opcode = "bra.uni",
                             .flags = PTX_F_UNI,
                             .vec = 1,
                             .guard = got,
                             .guard_neg = true,
                             .line = in->line,
                             .nsrc = 1,
                             .src = {again}};
}

void ptx_expand(struct ptx_parser *p, struct ptx_instr *in)
{
    expand_even_block(p, in);
    expand_sums(p, in);
    expand_index(p, in);
    expand_offsets(p, in);
    expand_negations(p, in);
    expand_reference(p, in);
    expand_short_addresses(p, in);
    ptx_expand_arithmetic(p, in);
    ptx_expand_wide(p, in);
    expand_allocation(p, in);
}
