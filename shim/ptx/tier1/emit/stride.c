/* Tier 1 emitter: kernel parameters that hold an array's stride in memory, as those of CuPy's kernels do. Arrays whose
 * elements follow one another are the common case, in which the addresses of a warp are a row; but only the
 * parameter's value says so. */
#include "ptx/tier1/emit/emit.h"

enum {
    MOST_VALUES = 64, /* that one address is made of */
    MOST_BYTES = 16   /* of an element */
};

struct walk {
    const struct ptx_func *f;
    int32_t seen[MOST_VALUES];
    unsigned nseen;
    unsigned bytes; /* of the access */
    struct ptx_given *given;
    uint32_t ngiven;
    bool differ[T1_MOST_GIVEN]; /* two accesses want different values of it */
};

static bool whole_number(const struct ptx_instr *in)
{
    return in->guard < 0 && in->type[0] >= PTX_U8 && in->type[0] <= PTX_B64 && ptx_type_size(in->type[0]) >= 4 &&
           !(in->flags & (PTX_F_SAT | PTX_F_HI));
}

static const struct ptx_instr *definition(const struct ptx_func *f, int32_t value)
{
    const int32_t i = value >= 0 ? f->value[value].instr : -1;
    return i >= 0 && whole_number(&f->instr[i]) && f->instr[i].ndst == 1 ? &f->instr[i] : NULL;
}

static bool by_constant(const struct ptx_instr *in)
{
    return in->src[0].kind == PTX_O_REG && in->src[1].kind == PTX_O_IMM;
}

bool t1_parameter(const struct ptx_func *f, int32_t value, struct ptx_parameter *p, int *shift)
{
    for (const struct ptx_instr *in; (in = definition(f, value));) {
        const int32_t *src = f->instr_src[f->value[value].instr];
        const struct ptx_opnd *o = &in->src[0];
        if (ptx_parameter_of(f, value, p))
            return true;
        if (in->op == PTX_OP_SHL && by_constant(in) && in->src[1].imm < 64)
            *shift += (int)in->src[1].imm;
        else if ((in->op != PTX_OP_MOV && in->op != PTX_OP_CVT) || o->kind != PTX_O_REG)
            return false;
        value = src[0];
    }
    return false;
}

static void give(struct walk *w, struct ptx_given g, int64_t scale, int shift)
{
    const int64_t bytes = (int64_t)w->bytes << (shift < 0 ? -shift : 0);
    if (shift > 4 || shift < -32 || scale <= 0 || scale > MOST_BYTES || bytes % (scale << (shift > 0 ? shift : 0)))
        return;
    g.value = bytes / (scale << (shift > 0 ? shift : 0));
    if (g.value > MOST_BYTES)
        return;
    for (uint32_t k = 0; k < w->ngiven; k++)
        if (w->given[k].offset == g.offset) {
            w->differ[k] |= w->given[k].value != g.value || w->given[k].size != g.size;
            return;
        }
    if (w->ngiven < T1_MOST_GIVEN)
        w->given[w->ngiven++] = g;
}

/* Looks at what an address is made of, from its end: value * scale * 2^shift is a part of it. */
static void follow(struct walk *w, int32_t value, int64_t scale, int shift)
{
    const struct ptx_func *f = w->f;
    if (value < 0 || w->nseen == MOST_VALUES)
        return;
    for (unsigned k = 0; k < w->nseen; k++)
        if (w->seen[k] == value)
            return;
    w->seen[w->nseen++] = value;
    if (f->value[value].instr < 0 && f->value[value].block >= 0) {
        const struct ptx_block *b = &f->block[f->value[value].block];
        for (uint32_t p = 0; p < b->nphi; p++)
            for (uint32_t s = 0; b->phi[p].dst == value && s < b->npred; s++)
                follow(w, b->phi[p].src[s], scale, shift);
        return;
    }
    const struct ptx_instr *in = definition(f, value);
    if (!in)
        return;
    const int32_t *src = f->instr_src[f->value[value].instr];
    switch (in->op) {
    case PTX_OP_ADD: follow(w, src[1], scale, shift); /* fall through */
    case PTX_OP_SUB:
    case PTX_OP_MOV:
    case PTX_OP_CVT:
    case PTX_OP_CVTA: follow(w, src[0], scale, shift); break;
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        if (by_constant(in) && in->src[1].imm < 64)
            follow(w, src[0], scale, shift + (in->op == PTX_OP_SHL ? 1 : -1) * (int)in->src[1].imm);
        break;
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        if (in->op == PTX_OP_MAD)
            follow(w, src[2], scale, shift);
        if (by_constant(in) && in->src[1].imm <= MOST_BYTES && scale <= MOST_BYTES)
            follow(w, src[0], scale * (int64_t)in->src[1].imm, shift);
        for (unsigned k = 0; k < 2 && in->src[0].kind == PTX_O_REG && in->src[1].kind == PTX_O_REG; k++) {
            struct ptx_parameter p;
            int by = shift;
            if (f->value[src[1 - k]].kind == PTX_C_AFFINE && t1_parameter(f, src[k], &p, &by))
                give(w, (struct ptx_given){.offset = p.offset, .size = p.size}, scale, by);
        }
        break;
    default: break;
    }
}

uint32_t t1_find_strides(const struct ptx_func *f, struct ptx_given given[T1_MOST_GIVEN])
{
    struct walk w = {.f = f, .given = given};
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        if ((in->op != PTX_OP_LD && in->op != PTX_OP_ST) || in->src[0].reg < 0 || in->src[0].sym >= 0)
            continue;
        w.nseen = 0;
        w.bytes = ptx_type_size(in->type[0]) * (in->vec ? in->vec : 1);
        follow(&w, f->instr_src[i][0], 1, 0);
    }
    for (uint32_t k = 0; k < w.ngiven; k++)
        if (!w.differ[k])
            given[n++] = given[k];
    return n;
}
