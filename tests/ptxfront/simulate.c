/* The interpreter behind classes_test: slow, scalar, and written without a look at the analysis. */
#include "simulate.h"

enum { MAX_STEPS = 20000 };

uint64_t cut(const struct ptx_func *f, int32_t reg, uint64_t v)
{
    unsigned size = ptx_type_size(f->reg[reg].type);
    return size == 0 ? v & 1 : size >= 8 ? v : v & (((uint64_t)1 << 8 * size) - 1);
}

static uint64_t special(const struct thread *t, int32_t sreg)
{
    switch (sreg) {
    case PTX_SR_TID_X: return t->tid[0];
    case PTX_SR_TID_Y: return t->tid[1];
    case PTX_SR_TID_Z: return t->tid[2];
    case PTX_SR_NTID_X: return t->ntid[0];
    case PTX_SR_CTAID_X: return t->ctaid;
    case PTX_SR_LANEID: return t->lane;
    default: return 0;
    }
}

static uint64_t source(const struct thread *t, const struct ptx_opnd *o)
{
    if (o->kind == PTX_O_SREG)
        return special(t, o->reg);
    return o->kind == PTX_O_REG ? t->reg[o->reg] ^ o->neg : o->imm;
}

static int64_t as_signed(uint64_t v, unsigned size) { return size >= 8 ? (int64_t)v : (int32_t)v; }

static bool compare(unsigned cmp, unsigned type, uint64_t a, uint64_t b)
{
    int64_t x = as_signed(a, ptx_type_size(type)), y = as_signed(b, ptx_type_size(type));
    bool is_signed = type == PTX_S32 || type == PTX_S64;
    switch (cmp) {
    case PTX_EQ: return a == b;
    case PTX_NE: return a != b;
    case PTX_LT: return is_signed ? x < y : a < b;
    case PTX_LE: return is_signed ? x <= y : a <= b;
    case PTX_GT: return is_signed ? x > y : a > b;
    default: return is_signed ? x >= y : a >= b;
    }
}

/* Memory is a function of the address. */
static uint64_t load(uint64_t address, unsigned type)
{
    uint64_t v = (address + 77) * 0x9e3779b97f4a7c15u;
    v ^= v >> 29;
    return type == PTX_U8 ? v & 255 : type == PTX_S16 ? (uint32_t)(int16_t)v : v;
}

static bool calculate(const struct ptx_func *f, const struct thread *t, const struct ptx_instr *in, uint64_t *out)
{
    uint64_t a = in->nsrc > 0 ? source(t, &in->src[0]) : 0;
    uint64_t b = in->nsrc > 1 ? source(t, &in->src[1]) : 0;
    uint64_t c = in->nsrc > 2 ? source(t, &in->src[2]) : 0;
    unsigned type = in->type[0], size = ptx_type_size(type), bits = 8 * size;
    bool is_signed = type == PTX_S32 || type == PTX_S64;
    int64_t x = as_signed(a, size), y = as_signed(b, size);
    switch (in->op) {
    case PTX_OP_MOV: *out = a; return true;
    case PTX_OP_ADD: *out = a + b; return true;
    case PTX_OP_SUB: *out = a - b; return true;
    case PTX_OP_NEG: *out = 0 - a; return true;
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        *out = in->flags & PTX_F_WIDE && is_signed ? (uint64_t)(x * y) : a * b;
        *out += in->op == PTX_OP_MAD ? c : 0;
        return true;
    case PTX_OP_SHL: *out = (uint32_t)b >= bits ? 0 : a << (uint32_t)b; return true;
    case PTX_OP_SHR:
        b = (uint32_t)b;
        if (is_signed)
            *out = (uint64_t)(x >> (b >= bits ? bits - 1 : b));
        else
            *out = b >= bits ? 0 : a >> b;
        return true;
    case PTX_OP_AND: *out = a & b; return true;
    case PTX_OP_OR: *out = a | b; return true;
    case PTX_OP_XOR: *out = a ^ b; return true;
    case PTX_OP_NOT: *out = ~a; return true;
    case PTX_OP_MIN: *out = (is_signed ? x < y : a < b) ? a : b; return true;
    case PTX_OP_MAX: *out = (is_signed ? x > y : a > b) ? a : b; return true;
    case PTX_OP_DIV: /* the generator divides by positive constants only */
        *out = is_signed ? (uint64_t)(x / y) : a / b;
        return true;
    case PTX_OP_REM: *out = is_signed ? (uint64_t)(x % y) : a % b; return true;
    case PTX_OP_BFE: *out = a >> (uint8_t)b & (((uint64_t)1 << (uint8_t)c) - 1); return true;
    case PTX_OP_POPC: *out = (uint64_t)__builtin_popcountll(a); return true;
    case PTX_OP_SELP: *out = c & 1 ? a : b; return true;
    case PTX_OP_SETP: *out = compare(in->cmp, type, a, b); return true;
    case PTX_OP_CVT:
        a = cut(f, in->src[0].reg, a);
        switch (in->type[1]) { /* what the source type keeps of the register */
        case PTX_S32: a = (uint64_t)(int32_t)a; break;
        case PTX_U32: a = (uint32_t)a; break;
        case PTX_U16: a = (uint16_t)a; break;
        case PTX_S16: a = (uint64_t)(int16_t)a; break;
        case PTX_U8: a = (uint8_t)a; break;
        case PTX_S8: a = (uint64_t)(int8_t)a; break;
        default: break;
        }
        switch (in->type[0]) { /* a narrow result is extended to the register */
        case PTX_U8: *out = (uint8_t)a; break;
        case PTX_S8: *out = (uint64_t)(int8_t)a; break;
        case PTX_U16: *out = (uint16_t)a; break;
        case PTX_S16: *out = (uint64_t)(int16_t)a; break;
        default: *out = a; break;
        }
        return true;
    case PTX_OP_LD:
        *out = in->space == PTX_SP_PARAM ? t->n : load(t->reg[in->src[0].reg] + in->src[0].imm, type);
        return true;
    default: return false;
    }
}

static bool step(const struct ptx_func *f, struct thread *t, uint32_t i, observe *fn, void *ctx, bool *taken)
{
    const struct ptx_instr *in = &f->instr[i];
    uint64_t v = 0;
    *taken = in->guard < 0 || (t->reg[in->guard] & 1) != in->guard_neg;
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == PTX_O_REG || (in->src[k].kind == PTX_O_ADDR && in->src[k].reg >= 0))
            fn(ctx, t, f->instr_src[i][k], false);
    if (in->guard >= 0)
        fn(ctx, t, f->instr_src[i][5], false);
    if (in->op == PTX_OP_BRA || in->op == PTX_OP_RET)
        return true;
    if (*taken) {
        if (!calculate(f, t, in, &v))
            return false;
        t->reg[in->dst[0].reg] = cut(f, in->dst[0].reg, v);
    }
    fn(ctx, t, f->instr_dst[i][0], true);
    return true;
}

static bool inside(const struct ptx_func *f, int32_t block, int32_t header)
{
    int32_t h = f->block[block].loop_header;
    while (h >= 0 && h != header)
        h = f->block[h].loop_parent;
    return h == header;
}

bool simulate(const struct ptx_func *f, struct thread *t, observe *fn, void *ctx)
{
    int32_t from = -1;
    for (int32_t b = 0;;) {
        const struct ptx_block *k = &f->block[b];
        t->block = b;
        if (k->loop_header == b)
            t->round[b] = from >= 0 && inside(f, from, b) ? t->round[b] + 1 : 0;
        for (uint32_t p = 0; p < k->nphi; p++) /* all read before any is made: registers do that */
            fn(ctx, t, k->phi[p].dst, true);
        bool taken = false;
        for (uint32_t i = k->first; i < k->first + k->count; i++)
            if (++t->steps > MAX_STEPS || !step(f, t, i, fn, ctx, &taken))
                return false;
        const struct ptx_instr *last = k->count ? &f->instr[k->first + k->count - 1] : NULL;
        bool jump = last && taken && last->op == PTX_OP_BRA;
        if ((last && taken && last->op == PTX_OP_RET) || !k->nsucc)
            return true;
        from = b;
        b = jump ? last->src[0].reg : k->succ[k->nsucc - 1];
    }
}
