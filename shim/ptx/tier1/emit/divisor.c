/* Tier 1 emitter: kernel parameters by which numbers that count lanes are divided, as a matrix's width is where a
 * thread asks which row and column it has. If it is a multiple of a warp's lanes, all lanes of a warp have one row, and
 * columns that follow one another. */
#include "ptx/tier1/emit/emit.h"

/* Lanes that step by a power of two: those of a warp may have one quotient. */
static bool counts(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value)
{
    const struct ptx_value *v = value >= 0 ? &f->value[value] : NULL;
    return o->kind == PTX_O_REG && v && (v->kind == PTX_C_AFFINE || v->kind == PTX_C_AFFINE_G) && v->stride > 0 &&
           !(v->stride & (v->stride - 1));
}

/* Whether it is a parameter, converted or not. */
static bool parameter(const struct ptx_func *f, int32_t value, struct ptx_parameter *p)
{
    int shift = 0;
    return t1_parameter(f, value, p, &shift) && !shift;
}

/* The parameter by which a division multiplies its quotient to take it from its number. */
static bool divisor_of(const struct ptx_func *f, int32_t quotient, struct ptx_parameter *p)
{
    for (uint32_t i = 0; i < f->ninstr; i++)
        for (unsigned k = 0; k < 2 && (f->instr[i].op == PTX_OP_MUL || f->instr[i].op == PTX_OP_MAD); k++)
            if (f->instr[i].src[k].kind == PTX_O_REG && f->instr_src[i][k] == quotient &&
                f->instr[i].src[1 - k].kind == PTX_O_REG && parameter(f, f->instr_src[i][1 - k], p))
                return true;
    return false;
}

static uint32_t give(struct ptx_given *given, uint32_t n, struct ptx_given g)
{
    for (uint32_t k = 0; k < n; k++)
        if (given[k].offset == g.offset) {
            if (g.prepared && !given[k].prepared && given[k].kind == g.kind && given[k].size == g.size)
                given[k] = g;
            return n;
        }
    if (n < T1_MOST_GIVEN)
        given[n++] = g;
    return n;
}

/* What lanes' numbers are compared with, as a matrix's elements are counted: a warp's lanes are on one side of it. */
static uint32_t bounds(const struct ptx_func *f, struct ptx_given *given, uint32_t n)
{
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        const unsigned k = in->cmp == PTX_GT || in->cmp == PTX_LE;
        struct ptx_parameter p;
        if (in->op == PTX_OP_SETP && (k || in->cmp == PTX_LT || in->cmp == PTX_GE) && !ptx_type_is_float(in->type[0]) &&
            counts(f, &in->src[k], f->instr_src[i][k]) && in->src[1 - k].kind == PTX_O_REG &&
            parameter(f, f->instr_src[i][1 - k], &p))
            n = give(given, n, (struct ptx_given){.offset = p.offset, .size = p.size, .kind = PTX_GIVEN_WARPS});
    }
    return n;
}

uint32_t t1_find_divisors(const struct ptx_func *f, struct ptx_given given[T1_MOST_GIVEN])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        const int32_t *src = f->instr_src[i];
        struct ptx_prepared q;
        struct ptx_parameter p;
        if ((in->op == PTX_OP_DIV || in->op == PTX_OP_REM) && !ptx_type_is_float(in->type[0]) &&
            counts(f, &in->src[0], src[0]) && in->src[1].kind == PTX_O_REG && parameter(f, src[1], &p))
            n = give(given, n, (struct ptx_given){.offset = p.offset, .size = p.size, .kind = PTX_GIVEN_WARPS});
        if (in->op == PTX_OP_SHR && ptx_prepared_division(f, i, &q) && counts(f, &in->src[0], q.number) &&
            divisor_of(f, f->instr_dst[i][0], &p) && p.size == 4)
            n = give(given, n,
                     (struct ptx_given){.offset = p.offset,
                                        .size = 4,
                                        .kind = PTX_GIVEN_WARPS,
                                        .prepared = true,
                                        .magic = q.magic.offset,
                                        .shift = q.shift.offset});
    }
    return n ? bounds(f, given, n) : 0;
}
