/* Chooses the op of video instructions: aux says what is done, imm which parts of the words. */
#include "ptx/lir/lower/select_alu.h"

/* How many parts a word has; 1 = one byte, half or word of it. */
static const struct video {
    uint16_t op;
    uint8_t parts, kind;
} videos[] = {{PTX_OP_VADD, 1, LIR_VADD},          {PTX_OP_VSUB, 1, LIR_VSUB},    {PTX_OP_VABSDIFF, 1, LIR_VABSDIFF},
              {PTX_OP_VMIN, 1, LIR_VMIN},          {PTX_OP_VMAX, 1, LIR_VMAX},    {PTX_OP_VSHL, 1, LIR_VSHL},
              {PTX_OP_VSHR, 1, LIR_VSHR},          {PTX_OP_VSET, 1, LIR_VSET},    {PTX_OP_VADD2, 2, LIR_VADD},
              {PTX_OP_VSUB2, 2, LIR_VSUB},         {PTX_OP_VAVRG2, 2, LIR_VAVRG}, {PTX_OP_VABSDIFF2, 2, LIR_VABSDIFF},
              {PTX_OP_VMIN2, 2, LIR_VMIN},         {PTX_OP_VMAX2, 2, LIR_VMAX},   {PTX_OP_VSET2, 2, LIR_VSET},
              {PTX_OP_VADD4, 4, LIR_VADD},         {PTX_OP_VSUB4, 4, LIR_VSUB},   {PTX_OP_VAVRG4, 4, LIR_VAVRG},
              {PTX_OP_VABSDIFF4, 4, LIR_VABSDIFF}, {PTX_OP_VMIN4, 4, LIR_VMIN},   {PTX_OP_VMAX4, 4, LIR_VMAX},
              {PTX_OP_VSET4, 4, LIR_VSET}};

static bool one_part(const struct ptx_opnd *o, unsigned *part)
{
    const unsigned digit = o->sel & PTX_SEL_DIGITS;
    *part = LIR_VIDEO_WORD;
    if (!o->sel)
        return true;
    *part = digit + (o->sel & PTX_SEL_BYTES ? LIR_VIDEO_BYTE : LIR_VIDEO_HALF);
    return PTX_SEL_COUNT(o->sel) == 1 && digit < (o->sel & PTX_SEL_BYTES ? 4 : 2);
}

/* The parts of a and b together that make the operand: .h32 of 2, .b7654 of 4; three bits each. */
static bool many_parts(const struct ptx_opnd *o, unsigned n, unsigned base, unsigned *parts)
{
    *parts = 0;
    if (!o->sel) {
        for (unsigned k = 0; k < n; k++)
            *parts |= (base + k) << 3 * k;
        return true;
    }
    for (unsigned k = 0; k < n; k++)
        if ((o->sel >> 3 * k & 7) >= 2 * n)
            return false;
    *parts = o->sel & PTX_SEL_DIGITS;
    return PTX_SEL_COUNT(o->sel) == n && !(o->sel & PTX_SEL_BYTES) == (n == 2);
}

/* The parts of the result that are made: .h1, .b320, each once, from the top. */
static bool mask(const struct ptx_opnd *d, unsigned n, unsigned *bits)
{
    unsigned below = n;
    *bits = d->sel ? 0 : (1u << n) - 1;
    for (unsigned k = PTX_SEL_COUNT(d->sel); k--;) {
        const unsigned digit = d->sel >> 3 * k & 7;
        if (digit >= below)
            return false;
        below = digit;
        *bits |= 1u << digit;
    }
    return !d->sel || !(d->sel & PTX_SEL_BYTES) == (n == 2);
}

static bool select_vmad(const struct ptx_instr *i, struct lir_insn *out)
{
    unsigned a, b;
    const bool product = i->src[0].neg != i->src[1].neg, sum = i->src[2].neg;
    const bool negated = i->src[0].neg || i->src[1].neg || i->src[2].neg;
    if (!one_part(&i->src[0], &a) || !one_part(&i->src[1], &b) || i->src[2].sel || (product && sum) ||
        (negated && i->flags & PTX_F_PO))
        return false;
    out->op = LIR_VMAD;
    out->aux = (uint16_t)((i->flags & PTX_F_PO ? LIR_VMAD_PO : 0) | (product ? LIR_VMAD_MINUS_AB : 0) |
                          (sum ? LIR_VMAD_MINUS_C : 0) | (i->flags & PTX_F_SHR7 ? LIR_VMAD_SHR7 : 0) |
                          (i->flags & PTX_F_SHR15 ? LIR_VMAD_SHR15 : 0) | (i->type[1] == PTX_S32 ? LIR_VIDEO_AS : 0) |
                          (i->type[2] == PTX_S32 ? LIR_VIDEO_BS : 0) | (i->flags & PTX_F_SAT ? LIR_VIDEO_SAT : 0));
    out->imm = (int32_t)(a | b << LIR_VIDEO_B_SHIFT);
    return true;
}

/* Chooses a video instruction: which parts of a word each operand takes, signs, saturation and what happens to the
 * third operand are bits of `aux` and `imm`, because there are too many combinations for operations of their own. */
bool lir_select_video(const struct ptx_instr *i, struct lir_insn *out)
{
    const struct video *v = NULL;
    unsigned a, b, d;
    if (i->op == PTX_OP_VMAD)
        return select_vmad(i, out);
    for (unsigned n = 0; n < sizeof videos / sizeof videos[0]; n++)
        if (videos[n].op == i->op)
            v = &videos[n];
    if (!v)
        return false;
    const bool set = v->kind == LIR_VSET; /* has no type of d, which is unsigned */
    if (v->parts == 1
            ? !one_part(&i->src[0], &a) || !one_part(&i->src[1], &b) || !one_part(&i->dst[0], &d) || (d && i->sub)
            : !many_parts(&i->src[0], v->parts, 0, &a) || !many_parts(&i->src[1], v->parts, v->parts, &b) ||
                  !mask(&i->dst[0], v->parts, &d))
        return false;
    if (i->nsrc < 3 && d != (v->parts == 1 ? 0 : (1u << v->parts) - 1))
        return false; /* what is merged is missing */
    out->op = v->parts == 1 ? LIR_VIDEO : v->parts == 2 ? LIR_VIDEO2 : LIR_VIDEO4;
    out->aux = (uint16_t)((set ? LIR_VSET + i->cmp - PTX_EQ : v->kind) |
                          (!set && i->type[0] == PTX_S32 ? LIR_VIDEO_DS : 0) |
                          (i->type[!set] == PTX_S32 ? LIR_VIDEO_AS : 0) |
                          (i->type[set ? 1 : 2] == PTX_S32 ? LIR_VIDEO_BS : 0) |
                          (i->flags & PTX_F_SAT ? LIR_VIDEO_SAT : 0) | (i->flags & PTX_F_WRAP ? LIR_VIDEO_WRAP : 0) |
                          (i->sub == PTX_SUB_ADD   ? LIR_VIDEO_PLUS
                           : i->sub == PTX_SUB_MIN ? LIR_VIDEO_MIN
                           : i->sub == PTX_SUB_MAX ? LIR_VIDEO_MAX
                                                   : 0));
    out->imm = (int32_t)(a | b << LIR_VIDEO_B_SHIFT | d << LIR_VIDEO_D_SHIFT);
    return !set || (i->cmp >= PTX_EQ && i->cmp <= PTX_GE);
}
