/* Arithmetic that is put together of others: each becomes plain instructions in front of the one that it stands in. */
#include "ptx/front/expand.h"

#include <string.h>

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
        half[0] = ptx_imm_opnd(o->imm & 0xffffffffu);
        half[1] = ptx_imm_opnd(o->imm >> 32);
        return;
    }
    for (unsigned h = 0; h < 2; h++)
        half[h] = ptx_reg_opnd(ptx_new_reg(p, ptx_made_name(PTX_OP_MOV), 1, PTX_B32));
    struct ptx_instr *i = ptx_put_before(p, in, PTX_OP_MOV, PTX_B64, PTX_NONE, -1, *o);
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
        result[h] = ptx_reg_opnd(ptx_put_part(p, in, in->op, PTX_F32, in->flags, src, in->nsrc));
    }
    become_pack(p, in, PTX_B64, result);
}

/* min and max of three: of two, and of the result and the third. */
static void expand_three(struct ptx_parser *p, struct ptx_instr *in)
{
    if (in->type[0] != PTX_F32 || in->flags & (PTX_F_XORSIGN | PTX_F_RELU))
        ptx_fail(p->ctx, in->line, in->opcode, strlen(in->opcode), "%s: takes two sources", in->opcode);
    for (unsigned k = 0; k < 3 && in->flags & PTX_F_ABS; k++)
        in->src[k] = ptx_reg_opnd(ptx_put_part(p, in, PTX_OP_ABS, PTX_F32, 0, &in->src[k], 1));
    in->flags &= ~(uint32_t)PTX_F_ABS;
    in->src[0] = ptx_reg_opnd(ptx_put_part(p, in, in->op, PTX_F32, in->flags, in->src, 2));
    in->src[1] = in->src[2];
    in->nsrc = 2;
}

/* add, sub and fma of f32 with f16 or bf16: all but the last source are made f32, which is exact. */
static void expand_mixed(struct ptx_parser *p, struct ptx_instr *in)
{
    for (unsigned k = 0; k + 1u < in->nsrc; k++) {
        int32_t d = ptx_new_reg(p, ptx_made_name(PTX_OP_CVT), 1, PTX_F32);
        ptx_put_before(p, in, PTX_OP_CVT, PTX_F32, in->type[1], d, in->src[k]);
        in->src[k] = ptx_reg_opnd(d);
    }
    in->type[1] = PTX_NONE;
}

/* Bits of an f32 as an integer in the same order, and back. */
static int32_t ordered(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd a)
{
    const struct ptx_opnd sign[] = {a, ptx_imm_opnd(31)};
    struct ptx_opnd flip[] = {ptx_reg_opnd(ptx_put_part(p, in, PTX_OP_SHR, PTX_S32, 0, sign, 2)),
                              ptx_imm_opnd(0x7fffffff)};
    flip[1] = ptx_reg_opnd(ptx_put_part(p, in, PTX_OP_AND, PTX_B32, 0, flip, 2));
    flip[0] = a;
    return ptx_put_part(p, in, PTX_OP_XOR, PTX_B32, 0, flip, 2);
}

/* redux of f32: of integers in the same order, where a NaN stands behind all that it is not to win against. */
static void expand_redux(struct ptx_parser *p, struct ptx_instr *in)
{
    const bool nan_wins = in->flags & PTX_F_NAN, least = in->sub == PTX_SUB_MIN;
    const struct ptx_opnd size = ptx_imm_opnd(0x7fffffff);
    struct ptx_opnd a = in->src[0];
    if (in->flags & PTX_F_ABS)
        a = ptx_reg_opnd(ptx_put_part(p, in, PTX_OP_AND, PTX_B32, 0, (const struct ptx_opnd[]){a, size}, 2));
    int32_t odd = ptx_new_reg(p, ptx_made_name(PTX_OP_SETP), 1, PTX_PRED);
    struct ptx_instr *test = ptx_put_before(p, in, PTX_OP_SETP, PTX_F32, PTX_NONE, odd, a);
    test->src[test->nsrc++] = a;
    test->cmp = PTX_NAN;
    struct ptx_opnd key = ptx_reg_opnd(ordered(p, in, a));
    key = ptx_reg_opnd(ptx_put_part(
        p, in, PTX_OP_SELP, PTX_B32, 0,
        (const struct ptx_opnd[]){ptx_imm_opnd(least == nan_wins ? 0x80000000u : 0x7fffffffu), key, ptx_reg_opnd(odd)},
        3));
    const struct ptx_opnd src[] = {key, in->src[1]};
    int32_t best = ptx_put_part(p, in, PTX_OP_REDUX, PTX_S32, PTX_F_SYNC, src, 2);
    struct ptx_instr *redux = &p->f->instr[p->f->ninstr - 1];
    redux->sub = in->sub;
    redux->guard = in->guard;
    redux->guard_neg = in->guard_neg;
    const struct ptx_opnd value = ptx_reg_opnd(ordered(p, in, ptx_reg_opnd(best)));
    odd = ptx_new_reg(p, ptx_made_name(PTX_OP_SETP), 1, PTX_PRED);
    test = ptx_put_before(p, in, PTX_OP_SETP, PTX_F32, PTX_NONE, odd, value);
    test->src[test->nsrc++] = value;
    test->cmp = PTX_NAN;
    in->op = PTX_OP_SELP;
    in->type[0] = PTX_B32;
    in->flags = 0;
    in->sub = 0;
    in->src[0] = size;
    in->src[1] = value;
    in->src[2] = ptx_reg_opnd(odd);
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
        const struct ptx_opnd select[3] = {in->src[1], ptx_imm_opnd(0),
                                           ptx_imm_opnd(bytes ? (h ? 0x4431u : 0x4420u) : (h ? 0x4432u : 0x4410u))};
        int32_t random = ptx_put_part(p, in, PTX_OP_PRMT, PTX_B32, 0, select, 3);
        int32_t d = ptx_new_reg(p, ptx_made_name(PTX_OP_CVT), 1, bytes ? PTX_B8 : PTX_B16);
        struct ptx_instr *i = ptx_put_before(p, in, PTX_OP_CVT, to, PTX_F32, d, value[h ? 0 : 2]);
        i->src[1] = value[h ? 1 : 3];
        i->src[2] = ptx_reg_opnd(random);
        i->nsrc = 3;
        i->rnd = in->rnd;
        i->flags = in->flags;
        result[h] = ptx_reg_opnd(d);
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
            half[h] = ptx_reg_opnd(ptx_new_reg(p, ptx_made_name(PTX_OP_MOV), 1, PTX_B64));
        i = ptx_put_before(p, in, PTX_OP_MOV, PTX_B128, PTX_NONE, -1, in->src[0]);
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
        in->src[1] = ptx_imm_opnd(0);
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
                i = ptx_put_before(p, in, PTX_OP_MOV, PTX_B32, PTX_NONE, all[k].reg, word[k]);
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
            in->src[0] = ptx_reg_opnd(ptx_put_unary(p, in, PTX_OP_MOV, PTX_B32, ptx_imm_opnd(0)));
            in->nsrc = 2;
        }
        in->op = videos[k].video;
        in->type[0] = in->type[1] = in->type[2] = videos[k].as;
        return true;
    }
    return false;
}

void ptx_expand_arithmetic(struct ptx_parser *p, struct ptx_instr *in)
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
            in->src[in->nsrc++] = ptx_imm_opnd(0x7f7f); /* both scaled by 1 */
        return;
    default: return;
    }
}
