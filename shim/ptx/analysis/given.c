/* What the analysis is told to assume of a kernel's parameters: which values are parameters, which of them divide, and
 * what follows from an assumption. */
#include "ptx/analysis/analyse.h"

#include "ptx/front/front.h"

static const struct ptx_instr *definition(const struct ptx_func *f, int32_t value)
{
    const int32_t i = value >= 0 ? f->value[value].instr : -1;
    return i >= 0 && f->instr[i].guard < 0 ? &f->instr[i] : NULL;
}

/* A constant distance behind the first byte of the kernel's parameters: their own address, and sums with it. */
static bool place_of(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value, uint64_t *offset)
{
    enum { MOST_SUMS = 8 };
    for (unsigned n = 0; n < MOST_SUMS; n++) {
        if (o->kind != PTX_O_REG && o->sym >= 0) {
            const struct ptx_var *v = ptx_symbol(f, o->sym);
            *offset += o->imm + (v ? v->offset : 0);
            return v && PTX_SYM_BAND(o->sym) == PTX_BAND_PARAM;
        }
        if (o->kind != PTX_O_REG && o->reg < 0)
            return false;
        *offset += o->kind == PTX_O_ADDR ? o->imm : 0;
        const struct ptx_instr *in = definition(f, value);
        if (!in || (in->op != PTX_OP_MOV && in->op != PTX_OP_ADD) || ptx_type_size(in->type[0]) != 8 ||
            in->src[0].kind == PTX_O_VEC || in->dst[0].kind == PTX_O_VEC ||
            (in->op == PTX_OP_ADD && in->src[1].kind != PTX_O_IMM))
            return false;
        *offset += in->op == PTX_OP_ADD ? in->src[1].imm : 0;
        o = &in->src[0];
        value = f->instr_src[f->value[value].instr][0];
    }
    return false;
}

bool ptx_parameter_of(const struct ptx_func *f, int32_t value, struct ptx_parameter *p)
{
    const struct ptx_instr *in = definition(f, value);
    uint64_t offset = 0;
    uint32_t element = 0;
    if (!f->is_entry || !in || in->op != PTX_OP_LD || in->space != PTX_SP_PARAM || in->sem != PTX_WEAK ||
        ptx_type_is_float(in->type[0]) || ptx_type_size(in->type[0]) < 4 || in->src[0].kind != PTX_O_ADDR ||
        !place_of(f, &in->src[0], f->instr_src[f->value[value].instr][0], &offset))
        return false;
    if (in->dst[0].kind == PTX_O_VEC)
        while (element < in->dst[0].n && f->opnd_value[in->dst[0].first + element] != value)
            element++;
    p->size = ptx_type_size(in->type[0]);
    p->offset = (uint32_t)(offset + element * p->size);
    return ptx_type_size(f->reg[f->value[value].reg].type) == p->size && offset < UINT32_MAX / 2 &&
           (in->dst[0].kind == PTX_O_REG || element < in->dst[0].n);
}

bool ptx_prepared_division(const struct ptx_func *f, uint32_t i, struct ptx_prepared *p)
{
    const struct ptx_instr *shift = &f->instr[i];
    if (shift->op != PTX_OP_SHR || ptx_type_size(shift->type[0]) != 4 || ptx_type_is_signed(shift->type[0]) ||
        shift->guard >= 0 || shift->src[0].kind != PTX_O_REG || shift->src[1].kind != PTX_O_REG ||
        !ptx_parameter_of(f, f->instr_src[i][1], &p->shift) || p->shift.size != 4)
        return false;
    const int32_t total = f->instr_src[i][0], block = f->value[f->instr_dst[i][0]].block;
    const struct ptx_instr *add = definition(f, total);
    if (!add || f->value[total].block != block || add->op != PTX_OP_ADD || ptx_type_size(add->type[0]) != 4 ||
        ptx_type_is_float(add->type[0]) || add->flags || add->type[0] == PTX_U16X2 || add->type[0] == PTX_S16X2)
        return false;
    for (unsigned k = 0; k < 2 && add->src[0].kind == PTX_O_REG && add->src[1].kind == PTX_O_REG; k++) {
        const int32_t *part = f->instr_src[f->value[total].instr];
        const struct ptx_instr *high = definition(f, part[k]);
        if (!high || f->value[part[k]].block != f->value[total].block || high->op != PTX_OP_MUL ||
            !(high->flags & PTX_F_HI) || high->type[0] != PTX_U32 || high->src[0].kind != PTX_O_REG ||
            high->src[1].kind != PTX_O_REG)
            continue;
        for (unsigned s = 0; s < 2; s++) {
            const int32_t *factor = f->instr_src[f->value[part[k]].instr];
            p->number = factor[s];
            p->magic_value = factor[1 - s];
            p->shift_value = f->instr_src[i][1];
            if (factor[s] == part[1 - k] && ptx_parameter_of(f, factor[1 - s], &p->magic) && p->magic.size == 4)
                return true;
        }
    }
    return false;
}

bool ptx_left_over(const struct ptx_func *f, uint32_t i, int32_t *number, int32_t *by)
{
    const struct ptx_instr *in = &f->instr[i];
    const unsigned size = ptx_type_size(in->type[0]);
    if (in->op != PTX_OP_SUB || in->guard >= 0 || in->flags || ptx_type_is_float(in->type[0]) || size < 4 ||
        in->src[0].kind != PTX_O_REG || in->src[1].kind != PTX_O_REG)
        return false;
    const int32_t whole = f->instr_src[i][1];
    const struct ptx_instr *mul = definition(f, whole);
    if (!mul || mul->op != PTX_OP_MUL || mul->flags & (PTX_F_HI | PTX_F_WIDE) || ptx_type_is_float(mul->type[0]) ||
        ptx_type_size(mul->type[0]) != size || mul->src[0].kind != PTX_O_REG || mul->src[1].kind != PTX_O_REG)
        return false;
    const int32_t *factor = f->instr_src[f->value[whole].instr];
    for (unsigned k = 0; k < 2; k++) {
        const struct ptx_instr *div = definition(f, factor[k]);
        if (!div || div->op != PTX_OP_DIV || ptx_type_is_float(div->type[0]) || ptx_type_size(div->type[0]) != size ||
            div->src[0].kind != PTX_O_REG || div->src[1].kind != PTX_O_REG)
            continue;
        const int32_t *src = f->instr_src[f->value[factor[k]].instr];
        *number = src[0];
        *by = src[1];
        if (*number == f->instr_src[i][0] && *by == factor[1 - k])
            return true;
    }
    return false;
}

bool ptx_division_given(const struct ptx_shape *shape, const struct ptx_prepared *p)
{
    for (uint32_t k = 0; k < shape->ngiven; k++)
        if (shape->given[k].prepared && shape->given[k].magic == p->magic.offset &&
            shape->given[k].shift == p->shift.offset)
            return true;
    return false;
}

bool ptx_fact_given(const struct ptx_run *r, int32_t value, struct ptx_fact *fact)
{
    struct ptx_parameter p;
    if (!r->shape->ngiven || !ptx_parameter_of(r->f, value, &p))
        return false;
    for (uint32_t k = 0; k < r->shape->ngiven; k++) {
        const struct ptx_given *g = &r->shape->given[k];
        if (g->offset != p.offset || g->size != p.size)
            continue;
        *fact = g->kind == PTX_GIVEN_VALUE ? ptx_fact_const(g->value)
                                           : ptx_fact_range(ptx_fact_uniform(), 32, PTX_MOST_GIVEN);
        if (g->kind == PTX_GIVEN_WARPS)
            fact->align = 5;
        return true;
    }
    return false;
}
