/* Tier 1 emitter: .ftz flushes denormal sources to 0, which costs more than the arithmetic. Those that are known to be
 * no denormal, as most are that an instruction with .ftz has made, are read as they are. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

enum { MOST_SOURCES = 24 }; /* values that are looked at */

static bool flushes(const struct ptx_instr *in)
{
    switch (in->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_FMA:
    case PTX_OP_MAD:
    case PTX_OP_ABS:
    case PTX_OP_NEG:
    case PTX_OP_MIN:
    case PTX_OP_MAX: return in->type[0] == PTX_F32 && in->flags & PTX_F_FTZ;
    case PTX_OP_CVT: /* a half's denormals are numbers like others there */
        return in->type[0] == PTX_F32 && ((in->type[1] >= PTX_U8 && in->type[1] <= PTX_S64) || in->type[1] == PTX_F16);
    default: return false;
    }
}

static bool is_flushed_constant(uint64_t bits) { return bits & 0x7f800000 || !(bits & 0x7fffffff); }

/* Whether a value is no denormal, whatever the lane. Values that depend on themselves, in loops, are none if all they
 * begin with are none. */
static bool is_flushed(const struct ptx_func *f, const struct ptx_opnd *o, int32_t value, int32_t *seen, unsigned *n)
{
    if (o && o->kind == PTX_O_IMM)
        return is_flushed_constant(o->imm);
    if ((o && o->kind != PTX_O_REG) || value < 0)
        return false;
    for (unsigned k = 0; k < *n; k++)
        if (seen[k] == value)
            return true;
    if (*n == MOST_SOURCES)
        return false;
    seen[(*n)++] = value;
    const struct ptx_value *v = &f->value[value];
    if (v->block < 0)
        return true; /* nobody defined it: 0 */
    if (v->instr < 0) {
        const struct ptx_block *b = &f->block[v->block];
        for (uint32_t p = 0; p < b->nphi; p++)
            for (uint32_t s = 0; b->phi[p].dst == value && s < b->npred; s++)
                if (!is_flushed(f, NULL, b->phi[p].src[s], seen, n))
                    return false;
        return true;
    }
    const struct ptx_instr *in = &f->instr[v->instr];
    const bool shuffle = in->op == PTX_OP_SHFL; /* lanes that take no part give 0 */
    const unsigned sources = in->op == PTX_OP_MOV || shuffle ? 1 : in->op == PTX_OP_SELP ? 2 : 0;
    if (in->guard >= 0 || (in->ndst != 1 && !shuffle) || in->dst[0].kind != PTX_O_REG ||
        ptx_type_size(in->type[0]) != 4)
        return false;
    for (unsigned s = 0; s < sources; s++)
        if (!is_flushed(f, &in->src[s], f->instr_src[v->instr][s], seen, n))
            return false;
    return sources || flushes(in);
}

/* Whether a denormal compares as 0 does: with a number that is none of both. */
static bool compared_with_normal(const struct ptx_instr *in, unsigned source)
{
    const struct ptx_opnd *other = &in->src[!source];
    return in->op == PTX_OP_SETP && source < 2 && other->kind == PTX_O_IMM && other->imm & 0x7f800000;
}

/* Whether the result is one of the sources but for its sign. */
static bool chooses(const struct ptx_instr *in)
{
    return in->op == PTX_OP_ABS || in->op == PTX_OP_NEG || in->op == PTX_OP_MIN || in->op == PTX_OP_MAX;
}

/* Takes a call out of a pattern; its argument stays. */
static void spare(struct t1_op *op, const char *call)
{
    char *const text[] = {op->dst[0].vector, op->dst[0].scalar, op->dst[1].vector,
                          op->dst[1].scalar, op->once,          op->again};
    const size_t name = (size_t)(strchr(call, '(') - call);
    for (unsigned t = 0; t < sizeof text / sizeof *text; t++)
        for (char *at; (at = strstr(text[t], call));)
            memmove(at, at + name, strlen(at + name) + 1);
}

/* The pattern without the flushes of such sources: "t1_v_ftz($0)", of vectors, scalars and halves alike; and without
 * that of a result which is one of them. */
void t1_spare_flushes(struct t1_emit *e, struct t1_op *op)
{
    if (!(e->in->flags & PTX_F_FTZ))
        return;
    unsigned spared = 0;
    for (unsigned s = 0; s < op->nsrc; s++) {
        int32_t seen[MOST_SOURCES];
        unsigned n = 0;
        if (op->src[s] != T1_K_32 ||
            !(compared_with_normal(e->in, s) || is_flushed(e->f, &e->in->src[s], e->f->instr_src[e->at][s], seen, &n)))
            continue;
        spared++;
        for (unsigned d = 0; d < 3; d++)
            spare(op, (const char[]){'t', '1', '_', "vsh"[d], '_', 'f', 't', 'z', '(', '$', (char)('0' + s), ')', 0});
    }
    if (spared == op->nsrc && chooses(e->in)) {
        spare(op, "t1_v_ftz(");
        spare(op, "t1_s_ftz(");
    }
}
