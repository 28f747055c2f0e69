/* Registers of 128 bits as two of 64: what back ends are given has the wide ones only around instructions that need
 * all bits at once, which are strong accesses and atomics. So what a program loads, moves and asks
 * clusterlaunchcontrol about is plain to compiled code. */
#include "ptx/front/expand.h"

static bool is_wide(const struct ptx_parser *p, const struct ptx_opnd *o)
{
    return o->kind == PTX_O_REG && p->f->reg[o->reg].type == PTX_B128;
}

/* The two that stand for it. */
static void halves_of(struct ptx_parser *p, const struct ptx_opnd *o, struct ptx_opnd half[2])
{
    if (!p->f->reg[o->reg].low) {
        const int32_t low = ptx_new_reg(p, "=", 1, PTX_B64), high = ptx_new_reg(p, "=", 1, PTX_B64);
        p->f->reg[o->reg].low = low;
        p->f->reg[o->reg].high = high;
    }
    half[0] = (struct ptx_opnd){.kind = PTX_O_REG, .reg = p->f->reg[o->reg].low, .sym = -1};
    half[1] = (struct ptx_opnd){.kind = PTX_O_REG, .reg = p->f->reg[o->reg].high, .sym = -1};
}

/* The 64-bit parts of an operand of a mov.b128. */
static bool parts_of(struct ptx_parser *p, const struct ptx_opnd *o, struct ptx_opnd part[2])
{
    if (o->kind == PTX_O_VEC && o->n == 2) {
        part[0] = p->f->opnd[o->first];
        part[1] = p->f->opnd[o->first + 1];
        return true;
    }
    if (!is_wide(p, o))
        return false;
    halves_of(p, o, part);
    return true;
}

/* mov.b128: both parts; one that goes nowhere needs no move. */
static bool split_move(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_opnd to[2], from[2];
    if (!parts_of(p, &in->dst[0], to) || !parts_of(p, &in->src[0], from))
        return false;
    const unsigned last = to[1].kind == PTX_O_REG ? 1 : 0;
    in->type[0] = PTX_B64;
    in->vec = 1;
    if (last == 1 && to[0].kind == PTX_O_REG) {
        /* {a, b} of a register whose half is b's source stays right: the halves are nobody else's */
        struct ptx_instr *first = ptx_expand_move(p, in, PTX_B64, to[0], from[0]);
        first->guard = in->guard;
        first->guard_neg = in->guard_neg;
    }
    in->dst[0] = to[last];
    in->src[0] = from[last];
    return true;
}

/* Weak loads and stores of one wide register access two of 64 bits. */
static bool split_access(struct ptx_parser *p, struct ptx_instr *in)
{
    const bool load = in->op == PTX_OP_LD || in->op == PTX_OP_LDU;
    struct ptx_opnd half[2], *o = load ? &in->dst[0] : &in->src[1];
    if (in->vec != 1 || (in->sem && in->sem != PTX_WEAK) || !is_wide(p, o))
        return false;
    halves_of(p, o, half);
    in->type[0] = PTX_B64;
    in->vec = 2;
    ptx_make_vec(p, o, half, 2);
    return true;
}

/* Puts the wide registers that this operand reads together in front of the instruction. */
static void join_source(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o)
{
    struct ptx_opnd half[2], whole = *o;
    if (o->kind == PTX_O_VEC) {
        for (unsigned k = 0; k < o->n; k++) {
            struct ptx_opnd e = p->f->opnd[o->first + k];
            join_source(p, in, &e);
            p->f->opnd[o->first + k] = e;
        }
        return;
    }
    if (!is_wide(p, o))
        return;
    halves_of(p, o, half);
    whole.reg = ptx_new_reg(p, "=", 1, PTX_B128);
    ptx_make_vec(p, &ptx_expand_move(p, in, PTX_B128, whole, whole)->src[0], half, 2);
    *o = whole;
}

/* Any other instruction has wide registers of its own; its results are taken apart behind it, the last by what *in
 * becomes. */
static void join(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_opnd from[8], to[8];
    unsigned n = 0;
    for (unsigned k = 0; k < in->nsrc; k++)
        join_source(p, in, &in->src[k]);
    for (unsigned k = 0; k < in->ndst; k++) {
        const bool list = in->dst[k].kind == PTX_O_VEC;
        for (unsigned e = 0; e < (list ? in->dst[k].n : 1u); e++) {
            struct ptx_opnd *o = list ? &p->f->opnd[in->dst[k].first + e] : &in->dst[k];
            if (!is_wide(p, o) || n == sizeof to / sizeof *to)
                continue;
            to[n] = *o;
            o->reg = ptx_new_reg(p, "=", 1, PTX_B128);
            from[n++] = *o;
        }
    }
    if (!n)
        return;
    const struct ptx_instr whole = *in;
    *ptx_push_instr(p) = whole;
    for (unsigned k = 0; k < n; k++) {
        struct ptx_opnd half[2];
        halves_of(p, &to[k], half);
        struct ptx_instr *apart = ptx_expand_move(p, &whole, PTX_B128, to[k], from[k]);
        apart->guard = whole.guard;
        apart->guard_neg = whole.guard_neg;
        ptx_make_vec(p, &apart->dst[0], half, 2);
    }
    *in = p->f->instr[--p->f->ninstr];
}

/* What loads, stores and conversions of narrower types read of a wide register is in its low half. */
static void read_low(struct ptx_parser *p, struct ptx_opnd *o)
{
    struct ptx_opnd half[2];
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++) {
        struct ptx_opnd e = p->f->opnd[o->first + k];
        read_low(p, &e);
        p->f->opnd[o->first + k] = e;
    }
    if (is_wide(p, o)) {
        halves_of(p, o, half);
        *o = half[0];
    }
}

/* Their results go there, and behind them their signs, or zeros, to the high half. */
static void split_narrow(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_opnd half[8][2];
    unsigned n = 0;
    for (unsigned k = 0; k < in->nsrc; k++)
        read_low(p, &in->src[k]);
    for (unsigned k = 0; k < in->ndst; k++) {
        const bool list = in->dst[k].kind == PTX_O_VEC;
        for (unsigned e = 0; e < (list ? in->dst[k].n : 1u); e++) {
            const struct ptx_opnd o = list ? p->f->opnd[in->dst[k].first + e] : in->dst[k];
            if (!is_wide(p, &o) || n == sizeof half / sizeof *half)
                continue;
            halves_of(p, &o, half[n]);
            *(list ? &p->f->opnd[in->dst[k].first + e] : &in->dst[k]) = half[n][0];
            n++;
        }
    }
    if (!n)
        return;
    const struct ptx_instr whole = *in;
    const bool is_signed = ptx_type_kind(in->type[0]) == PTX_KIND_INTEGER && ptx_type_is_signed(in->type[0]) &&
                           in->sub != PTX_SUB_PACK;
    *ptx_push_instr(p) = whole;
    for (unsigned k = 0; k < n; k++) {
        struct ptx_instr *rest = is_signed ? ptx_put_before(p, &whole, PTX_OP_SHR, PTX_S64, PTX_NONE, half[k][1].reg,
                                                            half[k][0])
                                           : ptx_expand_move(p, &whole, PTX_B64, half[k][1], ptx_imm_opnd(0));
        if (is_signed)
            rest->src[rest->nsrc++] = ptx_imm_opnd(63);
        rest->guard = whole.guard;
        rest->guard_neg = whole.guard_neg;
    }
    *in = p->f->instr[--p->f->ninstr];
}

bool ptx_wide_halves(struct ptx_parser *p, const struct ptx_opnd *o, struct ptx_opnd half[2])
{
    if (p->f->params_in_regs || !is_wide(p, o))
        return false;
    halves_of(p, o, half);
    return true;
}

void ptx_expand_wide(struct ptx_parser *p, struct ptx_instr *in)
{
    if (p->f->params_in_regs) /* a function of an old compiler, whose parameters may be wide registers */
        return;
    switch (in->op) {
    case PTX_OP_MOV:
        if (in->type[0] == PTX_B128 && split_move(p, in))
            return;
        break;
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
        if (ptx_type_size(in->type[0]) < 16) {
            split_narrow(p, in);
            return;
        }
        if (split_access(p, in))
            return;
        break;
    case PTX_OP_CVT: split_narrow(p, in); return;
    case PTX_OP_ST_ASYNC: /* one of two parts is one for the mbarrier, too */
        if (in->type[0] == PTX_B128 && in->nsrc == 3 && in->vec == 1 && is_wide(p, &in->src[1])) {
            struct ptx_opnd half[2];
            halves_of(p, &in->src[1], half);
            in->type[0] = PTX_B64;
            in->vec = 2;
            ptx_make_vec(p, &in->src[1], half, 2);
            return;
        }
        break;
    default: break;
    }
    join(p, in);
}
