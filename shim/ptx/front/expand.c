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

struct ptx_instr *ptx_expand_move(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, struct ptx_opnd dst,
                                  struct ptx_opnd src)
{
    struct ptx_instr *i = push(p, in, PTX_OP_MOV, type, PTX_NONE, -1, src);
    i->dst[0] = dst;
    return i;
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

/* ---- arithmetic that is put together of others' ---- */

/* An instruction in front of *in like it, but of this type, these sources and, where it is not its own, operation. */
static int32_t part(struct ptx_parser *p, const struct ptx_instr *in, unsigned op, unsigned type, uint32_t flags,
                    const struct ptx_opnd *src, unsigned n)
{
    int32_t d = ptx_new_reg(p, made_name(op), 1, type);
    struct ptx_instr *i = push(p, in, op, type, PTX_NONE, d, src[0]);
    for (unsigned k = 1; k < n; k++)
        i->src[i->nsrc++] = src[k];
    i->rnd = op == in->op ? in->rnd : 0;
    i->flags = flags;
    return d;
}

/* *in becomes a move of these parts. */
static void become_pack(struct ptx_parser *p, struct ptx_instr *in, unsigned type, const struct ptx_opnd *parts)
{
    in->op = PTX_OP_MOV;
    in->type[0] = (uint8_t)type;
    in->type[1] = PTX_NONE;
    in->rnd = 0;
    in->flags = 0;
    in->nsrc = 1;
    ptx_make_vec(p, &in->src[0], parts, 2);
}

/* The halves of a 64-bit operand. */
static void split(struct ptx_parser *p, const struct ptx_instr *in, const struct ptx_opnd *o, struct ptx_opnd half[2])
{
    if (o->kind == PTX_O_IMM) {
        half[0] = imm_opnd(o->imm & 0xffffffffu);
        half[1] = imm_opnd(o->imm >> 32);
        return;
    }
    for (unsigned h = 0; h < 2; h++)
        half[h] = reg_opnd(ptx_new_reg(p, made_name(PTX_OP_MOV), 1, PTX_B32));
    struct ptx_instr *i = push(p, in, PTX_OP_MOV, PTX_B64, PTX_NONE, -1, *o);
    ptx_make_vec(p, &i->dst[0], half, 2);
}

/* add, sub, mul and fma .f32x2: the same of both halves. */
static void expand_pairs(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_opnd half[3][2], result[2];
    for (unsigned k = 0; k < in->nsrc; k++)
        split(p, in, &in->src[k], half[k]);
    for (unsigned h = 0; h < 2; h++) {
        const struct ptx_opnd src[3] = {half[0][h], half[1][h], half[2][h]};
        result[h] = reg_opnd(part(p, in, in->op, PTX_F32, in->flags, src, in->nsrc));
    }
    become_pack(p, in, PTX_B64, result);
}

/* min and max of three: of two, and of the result and the third. */
static void expand_three(struct ptx_parser *p, struct ptx_instr *in)
{
    if (in->type[0] != PTX_F32 || in->flags & (PTX_F_XORSIGN | PTX_F_RELU))
        ptx_fail(p->ctx, in->line, in->opcode, strlen(in->opcode), "%s: takes two sources", in->opcode);
    for (unsigned k = 0; k < 3 && in->flags & PTX_F_ABS; k++)
        in->src[k] = reg_opnd(part(p, in, PTX_OP_ABS, PTX_F32, 0, &in->src[k], 1));
    in->flags &= ~(uint32_t)PTX_F_ABS;
    in->src[0] = reg_opnd(part(p, in, in->op, PTX_F32, in->flags, in->src, 2));
    in->src[1] = in->src[2];
    in->nsrc = 2;
}

/* add, sub and fma of f32 with f16 or bf16: all but the last source are made f32, which is exact. */
static void expand_mixed(struct ptx_parser *p, struct ptx_instr *in)
{
    for (unsigned k = 0; k + 1u < in->nsrc; k++) {
        int32_t d = ptx_new_reg(p, made_name(PTX_OP_CVT), 1, PTX_F32);
        push(p, in, PTX_OP_CVT, PTX_F32, in->type[1], d, in->src[k]);
        in->src[k] = reg_opnd(d);
    }
    in->type[1] = PTX_NONE;
}

/* Bits of an f32 as an integer in the same order, and back. */
static int32_t ordered(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd a)
{
    const struct ptx_opnd sign[] = {a, imm_opnd(31)};
    struct ptx_opnd flip[] = {reg_opnd(part(p, in, PTX_OP_SHR, PTX_S32, 0, sign, 2)), imm_opnd(0x7fffffff)};
    flip[1] = reg_opnd(part(p, in, PTX_OP_AND, PTX_B32, 0, flip, 2));
    flip[0] = a;
    return part(p, in, PTX_OP_XOR, PTX_B32, 0, flip, 2);
}

/* redux of f32: of integers in the same order, where a NaN stands behind all that it is not to win against. */
static void expand_redux(struct ptx_parser *p, struct ptx_instr *in)
{
    const bool nan_wins = in->flags & PTX_F_NAN, least = in->sub == PTX_SUB_MIN;
    const struct ptx_opnd size = imm_opnd(0x7fffffff);
    struct ptx_opnd a = in->src[0];
    if (in->flags & PTX_F_ABS)
        a = reg_opnd(part(p, in, PTX_OP_AND, PTX_B32, 0, (const struct ptx_opnd[]){a, size}, 2));
    int32_t odd = ptx_new_reg(p, made_name(PTX_OP_SETP), 1, PTX_PRED);
    struct ptx_instr *test = push(p, in, PTX_OP_SETP, PTX_F32, PTX_NONE, odd, a);
    test->src[test->nsrc++] = a;
    test->cmp = PTX_NAN;
    struct ptx_opnd key = reg_opnd(ordered(p, in, a));
    key = reg_opnd(part(
        p, in, PTX_OP_SELP, PTX_B32, 0,
        (const struct ptx_opnd[]){imm_opnd(least == nan_wins ? 0x80000000u : 0x7fffffffu), key, reg_opnd(odd)}, 3));
    const struct ptx_opnd src[] = {key, in->src[1]};
    int32_t best = part(p, in, PTX_OP_REDUX, PTX_S32, PTX_F_SYNC, src, 2);
    struct ptx_instr *redux = &p->f->instr[p->f->ninstr - 1];
    redux->sub = in->sub;
    redux->guard = in->guard;
    redux->guard_neg = in->guard_neg;
    const struct ptx_opnd value = reg_opnd(ordered(p, in, reg_opnd(best)));
    odd = ptx_new_reg(p, made_name(PTX_OP_SETP), 1, PTX_PRED);
    test = push(p, in, PTX_OP_SETP, PTX_F32, PTX_NONE, odd, value);
    test->src[test->nsrc++] = value;
    test->cmp = PTX_NAN;
    in->op = PTX_OP_SELP;
    in->type[0] = PTX_B32;
    in->flags = 0;
    in->sub = 0;
    in->src[0] = size;
    in->src[1] = value;
    in->src[2] = reg_opnd(odd);
    in->nsrc = 3;
}

/* cvt.rs to four numbers: two of them twice. What stands for random bits are 16 for each pair, of e2m1 a byte of
 * either half of the register (measured on a B200: mapping/facts/ptx.md M9). */
static void expand_four(struct ptx_parser *p, struct ptx_instr *in)
{
    static const uint8_t two[] = {PTX_E4M3X2, PTX_E5M2X2, PTX_E2M3X2, PTX_E3M2X2, PTX_E2M1X2};
    const unsigned to = two[in->type[0] - PTX_E4M3X4];
    const bool bytes = to == PTX_E2M1X2;
    const struct ptx_opnd *x = &p->f->opnd[in->src[0].first];
    const struct ptx_opnd value[4] = {x[0], x[1], x[2], x[3]};
    struct ptx_opnd result[2];
    for (unsigned h = 0; h < 2; h++) { /* the lower half of the result is of the last two */
        const struct ptx_opnd select[3] = {in->src[1], imm_opnd(0),
                                           imm_opnd(bytes ? (h ? 0x4431u : 0x4420u) : (h ? 0x4432u : 0x4410u))};
        int32_t random = part(p, in, PTX_OP_PRMT, PTX_B32, 0, select, 3);
        int32_t d = ptx_new_reg(p, made_name(PTX_OP_CVT), 1, bytes ? PTX_B8 : PTX_B16);
        struct ptx_instr *i = push(p, in, PTX_OP_CVT, to, PTX_F32, d, value[h ? 0 : 2]);
        i->src[1] = value[h ? 1 : 3];
        i->src[2] = reg_opnd(random);
        i->nsrc = 3;
        i->rnd = in->rnd;
        i->flags = in->flags;
        result[h] = reg_opnd(d);
    }
    become_pack(p, in, bytes ? PTX_B16 : PTX_B32, result);
}

/* clusterlaunchcontrol.query_cancel: the answer's words are x, y and z of the block that was cancelled, and whether one
 * was. */
static void expand_answer(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_opnd half[2], word[4];
    struct ptx_instr *i;
    const char *form = strstr(in->opcode, ".query_cancel.");
    if (!form || in->ndst != 1 || in->nsrc != 1 || in->src[0].kind != PTX_O_REG ||
        p->f->reg[in->src[0].reg].type != PTX_B128)
        return;
    if (!ptx_wide_halves(p, &in->src[0], half)) {
        for (unsigned h = 0; h < 2; h++)
            half[h] = reg_opnd(ptx_new_reg(p, made_name(PTX_OP_MOV), 1, PTX_B64));
        i = push(p, in, PTX_OP_MOV, PTX_B128, PTX_NONE, -1, in->src[0]);
        ptx_make_vec(p, &i->dst[0], half, 2);
    }
    for (unsigned h = 0; h < 2; h++)
        split(p, in, &half[h], word + 2 * h);
    const struct ptx_opnd *d = &in->dst[0];
    const char *dim = strstr(form, "get_first_ctaid::");
    in->type[1] = in->type[2] = PTX_NONE;
    if (strstr(form, ".is_canceled.") && d->kind == PTX_O_REG) {
        in->op = PTX_OP_SETP;
        in->type[0] = PTX_U32;
        in->cmp = PTX_NE;
        in->src[0] = word[3];
        in->src[1] = imm_opnd(0);
        in->nsrc = 2;
    } else if (dim && d->kind == PTX_O_REG && dim[17] >= 'x' && dim[17] <= 'z') {
        in->op = PTX_OP_MOV;
        in->type[0] = PTX_B32;
        in->src[0] = word[dim[17] - 'x'];
    } else if (strstr(form, ".v4.") && d->kind == PTX_O_VEC && d->n == 4) {
        const struct ptx_opnd *to = &p->f->opnd[d->first];
        const struct ptx_opnd all[4] = {to[0], to[1], to[2], to[3]};
        unsigned last = 4;
        for (unsigned k = 0; k < 4; k++)
            last = all[k].kind == PTX_O_REG ? k : last;
        for (unsigned k = 0; k < last && last < 4; k++)
            if (all[k].kind == PTX_O_REG) {
                i = push(p, in, PTX_OP_MOV, PTX_B32, PTX_NONE, all[k].reg, word[k]);
                i->guard = in->guard;
                i->guard_neg = in->guard_neg;
            }
        if (last == 4)
            return;
        in->op = PTX_OP_MOV;
        in->type[0] = PTX_B32;
        in->vec = 1;
        in->dst[0] = all[last];
        in->src[0] = word[last];
    }
}

/* Sums, differences and extremes of packed integers and saturated sums are video instructions by another name. */
static bool become_video(struct ptx_parser *p, struct ptx_instr *in)
{
    static const struct {
        uint16_t op, video;
        uint8_t type, as; /* the video instruction's type of all three */
        bool saturated;   /* without .sat there is a plain one */
    } videos[] = {
        {PTX_OP_ADD, PTX_OP_VADD4, PTX_U8X4, PTX_U32, false}, {PTX_OP_ADD, PTX_OP_VADD4, PTX_S8X4, PTX_S32, false},
        {PTX_OP_SUB, PTX_OP_VSUB4, PTX_U8X4, PTX_U32, false}, {PTX_OP_SUB, PTX_OP_VSUB4, PTX_S8X4, PTX_S32, false},
        {PTX_OP_MIN, PTX_OP_VMIN4, PTX_U8X4, PTX_U32, false}, {PTX_OP_MIN, PTX_OP_VMIN4, PTX_S8X4, PTX_S32, false},
        {PTX_OP_MAX, PTX_OP_VMAX4, PTX_U8X4, PTX_U32, false}, {PTX_OP_MAX, PTX_OP_VMAX4, PTX_S8X4, PTX_S32, false},
        {PTX_OP_NEG, PTX_OP_VSUB4, PTX_S8X4, PTX_S32, false}, {PTX_OP_NEG, PTX_OP_VSUB4, PTX_U8X4, PTX_U32, false},
        {PTX_OP_ADD, PTX_OP_VADD2, PTX_U16X2, PTX_U32, true}, {PTX_OP_ADD, PTX_OP_VADD2, PTX_S16X2, PTX_S32, true},
        {PTX_OP_ADD, PTX_OP_VADD, PTX_U32, PTX_U32, true}};
    for (unsigned k = 0; k < sizeof videos / sizeof *videos; k++) {
        if (in->op != videos[k].op || in->type[0] != videos[k].type ||
            (videos[k].saturated && !(in->flags & PTX_F_SAT)) || in->nsrc > 2)
            continue;
        if (in->op == PTX_OP_NEG) {
            in->src[1] = in->src[0];
            in->src[0] = reg_opnd(unary(p, in, PTX_OP_MOV, PTX_B32, imm_opnd(0)));
            in->nsrc = 2;
        }
        in->op = videos[k].video;
        in->type[0] = in->type[1] = in->type[2] = videos[k].as;
        return true;
    }
    return false;
}

static void expand_arithmetic(struct ptx_parser *p, struct ptx_instr *in)
{
    if (become_video(p, in))
        return;
    switch (in->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_FMA:
        if (in->type[0] == PTX_F32X2)
            expand_pairs(p, in);
        else if (in->type[1])
            expand_mixed(p, in);
        return;
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        if (in->nsrc == 3)
            expand_three(p, in);
        else if (in->flags & PTX_F_ABS && !(in->flags & PTX_F_XORSIGN))
            ptx_fail(p->ctx, in->line, in->opcode, strlen(in->opcode), "%s: .abs of two sources needs .xorsign",
                     in->opcode);
        return;
    case PTX_OP_CLUSTERLAUNCHCONTROL: expand_answer(p, in); return;
    case PTX_OP_REDUX:
        if (in->type[0] == PTX_F32)
            expand_redux(p, in);
        return;
    case PTX_OP_CVT:
        if (in->type[0] >= PTX_E4M3X4 && in->type[0] <= PTX_E2M1X4)
            expand_four(p, in);
        else if (in->type[0] == PTX_BF16X2 && in->type[1] != PTX_F32 && in->nsrc == 1)
            in->src[in->nsrc++] = imm_opnd(0x7f7f); /* both scaled by 1 */
        return;
    default: return;
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
        int32_t at = size == 8 ? convert(p, in, PTX_U32, PTX_U64, o->reg) : o->reg;
        const struct ptx_opnd by[] = {reg_opnd(at), imm_opnd(ptx_type_size(v->type)), imm_opnd((uint32_t)o->imm)};
        at = part(p, in, PTX_OP_MAD, PTX_U32, PTX_F_LO, by, 3);
        const bool narrow = o->kind == PTX_O_SYM && ptx_type_size(in->type[0]) == 4;
        const unsigned type = narrow ? PTX_U32 : PTX_U64;
        at = narrow ? at : convert(p, in, PTX_U64, PTX_U32, at);
        at = binary(p, in, PTX_OP_ADD, type, at, reg_opnd(unary(p, in, PTX_OP_MOV, type, base)));
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
    const struct ptx_opnd own = reg_opnd(o->reg), rank = {.kind = PTX_O_SREG, .reg = PTX_SR_CLUSTER_CTARANK, .sym = -1};
    const int32_t even = binary(p, in, PTX_OP_AND, PTX_B32, unary(p, in, PTX_OP_MOV, PTX_U32, rank), imm_opnd(~1u));
    const int32_t mapped = ptx_new_reg(p, made_name(PTX_OP_MAPA), 1, PTX_U32), far = ptx_new_reg(p, "!", 1, PTX_PRED);
    struct ptx_instr *map = push(p, in, PTX_OP_MAPA, PTX_U32, PTX_NONE, mapped, own);
    map->src[map->nsrc++] = reg_opnd(even);
    map->space = PTX_SP_SHARED;
    map->opcode = "mapa.shared::cluster.u32";
    struct ptx_instr *test = push(p, in, PTX_OP_SETP, PTX_S32, PTX_NONE, far, own); /* has a rank already */
    test->src[test->nsrc++] = imm_opnd(0);
    test->cmp = PTX_LT;
    const struct ptx_opnd either[] = {own, reg_opnd(mapped), reg_opnd(far)};
    o->reg = part(p, in, PTX_OP_SELP, PTX_B32, 0, either, 3);
}

/* tcgen05.alloc waits until other warps have given back enough columns: it says whether it has got them, and a branch
 * goes back to it. */
static void expand_allocation(struct ptx_parser *p, struct ptx_instr *in)
{
    if (!ptx_allocates(in))
        return;
    const int32_t got = ptx_new_reg(p, "?", 1, PTX_PRED); /* true where a guard says no */
    struct ptx_instr *yes = push(p, in, PTX_OP_SETP, PTX_U32, PTX_NONE, got, imm_opnd(0));
    yes->src[yes->nsrc++] = imm_opnd(0);
    yes->cmp = PTX_EQ;
    const struct ptx_opnd again = {.kind = PTX_O_BLOCK, .reg = ptx_label_here(p, "alloc"), .sym = -1};
    struct ptx_instr *alloc = ptx_push_instr(p);
    *alloc = *in;
    alloc->ndst = 1;
    alloc->dst[0] = reg_opnd(got);
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
    expand_arithmetic(p, in);
    ptx_expand_wide(p, in);
    expand_allocation(p, in);
}
