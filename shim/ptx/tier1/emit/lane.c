/* Tier 1 emitter: a value of one lane, computed from a load of its own. Addresses of a shared atomic that are loaded
 * as a row must come out of vector registers again, lane by lane; 32 small loads where they are used spare a
 * histogram of bytes 8 % of its time with AVX-512 and 34 % with AVX2, one of words 15 %. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

enum { MOST_STEPS = 3 }; /* four are as fast in vectors, six a fifth faster */

struct anew {
    struct t1_emit *e;
    const char *text; /* declarations made so far */
    unsigned steps;
};

/* From there to here nothing writes and no lanes meet. A lane's load may then come after what lanes below it do here:
 * PTX gives no order between them, and the lane's own order stays, as its address depends on the load. */
static bool quiet(const struct t1_emit *e, uint32_t from)
{
    const struct ptx_func *f = e->f;
    for (uint32_t i = from + 1; i < e->at; i++) {
        const struct ptx_instr *in = &f->instr[i];
        struct t1_op op = {0};
        const bool reads = (in->op == PTX_OP_LD || in->op == PTX_OP_LDU) && in->sem == PTX_WEAK;
        if (!reads && in->op != PTX_OP_MOV && in->op != PTX_OP_CVTA && !t1_alu(in, &op))
            return false;
    }
    return true;
}

/* Of a row of global memory, which no shared atomic changes. */
static const char *load(struct anew *w, const struct ptx_instr *in, uint32_t i)
{
    struct t1_emit *e = w->e;
    const struct ptx_opnd *o = &in->src[0];
    const unsigned size = ptx_type_size(in->type[0]);
    bool shared = false;
    uint64_t imm;
    if ((in->space != PTX_SP_GLOBAL && in->space != PTX_SP_CONST) || in->sem != PTX_WEAK || size > 4 ||
        in->dst[0].kind != PTX_O_REG || o->kind != PTX_O_ADDR || o->reg < 0 || !quiet(e, i))
        return NULL;
    const struct t1_arg a = t1_address(e, o, e->f->instr_src[i][0], &shared, &imm);
    if (a.rep == T1_V || a.kind != T1_K_64 || a.stride != (int64_t)size)
        return NULL;
    const char sign = in->type[0] == PTX_S8 || in->type[0] == PTX_S16 ? 's' : 'u';
    const bool narrow = ptx_type_size(e->f->reg[in->dst[0].reg].type) <= 2;
    return t1_str(e, "t1_ld_%c%u(%s)%s", sign, 8 * size, t1_lane_pointer(e, &a, false, imm),
                  narrow ? " & 0xffffu" : "");
}

/* The greatest it can be, as a number without sign that no operation has wrapped. */
static uint64_t most(const struct t1_emit *e, int32_t value)
{
    const struct ptx_value *v = &e->f->value[value];
    const struct ptx_instr *in = v->instr >= 0 ? &e->f->instr[v->instr] : NULL;
    if (v->has_range)
        return v->lo >= 0 ? (uint64_t)v->hi : UINT64_MAX;
    if (in && in->guard < 0 && in->op == PTX_OP_MOV && in->src[0].kind == PTX_O_SYM && !in->src[0].imm)
        return 1u << 21; /* in shared memory, as it has 32 bits */
    return UINT64_MAX;
}

/* Its operator in C if nothing wraps, with these as the greatest sources; narrows the result's bound. */
static const char *exact_form(const struct ptx_instr *in, const uint64_t *high, uint64_t *top)
{
    const unsigned type = in->type[0], size = ptx_type_size(type);
    const bool wide = in->op == PTX_OP_MUL && in->flags & PTX_F_WIDE;
    const uint64_t limit = type == PTX_S16 ? INT16_MAX : size == 2 ? UINT16_MAX : INT32_MAX;
    if (type > PTX_B64 || size != (wide ? 2 : 4) || high[0] > limit || high[1] > limit)
        return NULL;
    const uint64_t t = in->op == PTX_OP_ADD                              ? high[0] + high[1]
                       : in->op == PTX_OP_MUL && !(in->flags & PTX_F_HI) ? high[0] * high[1]
                       : in->op == PTX_OP_SHL && high[1] < 31            ? high[0] << high[1]
                                                                         : UINT64_MAX;
    if (t > INT32_MAX)
        return NULL;
    *top = t;
    return in->op == PTX_OP_ADD ? "+" : in->op == PTX_OP_MUL ? "*" : "<<";
}

static const char *find(struct anew *w, int32_t value, uint64_t *top);

/* In 64 bits if nothing can wrap: an index register takes the sum and the factor as they are. */
static const char *step(struct anew *w, const struct ptx_instr *in, uint32_t i, uint64_t *top)
{
    struct t1_emit *e = w->e;
    struct t1_op op = {0};
    const char *arg[4] = {"", "", "", ""};
    char text[1024];
    uint64_t high[4] = {0};
    if (w->steps++ == MOST_STEPS || !t1_alu(in, &op) || op.wide || op.reads_cc || op.writes_cc ||
        op.dst[0].kind != T1_K_32 || op.dst[1].kind || op.nsrc > in->nsrc || !op.dst[0].scalar[0] ||
        strstr(op.dst[0].scalar, "t1_lane0"))
        return NULL;
    for (unsigned s = 0; s < op.nsrc; s++) {
        const struct ptx_opnd *o = &in->src[s];
        if (op.src[s] != T1_K_32 || (o->kind != PTX_O_REG && o->kind != PTX_O_IMM))
            return NULL;
        high[s] = o->imm;
        arg[s] = o->kind == PTX_O_REG ? find(w, e->f->instr_src[i][s], &high[s]) : t1_const(e, T1_K_32, o->imm).s[0];
        if (!arg[s])
            return NULL;
    }
    const char *exact = exact_form(in, high, top);
    if (exact)
        return t1_str(e, "(uint64_t)%s %s %s", arg[0], exact, arg[1]);
    for (unsigned s = 0; s < op.nsrc; s++)
        arg[s] = t1_str(e, "(uint32_t)%s", arg[s]);
    return t1_str(e, "(uint32_t)(%s)", t1_alu_expand(text, sizeof text, op.dst[0].scalar, arg));
}

/* Name or expression of the value in lane `l`, and the greatest that it can be; NULL: not to be had so. */
static const char *find(struct anew *w, int32_t value, uint64_t *top)
{
    struct t1_emit *e = w->e;
    const struct ptx_value *v = &e->f->value[value];
    *top = most(e, value);
    if (e->value[value].kind != T1_K_32)
        return NULL;
    if (e->value[value].rep != T1_V) {
        const struct t1_arg a = t1_value_arg(e, value, e->block);
        return a.rep == T1_V ? NULL : t1_lane(e, &a);
    }
    if (v->block != (int32_t)e->block || v->instr < 0 || e->value[value].again)
        return NULL; /* a value read elsewhere too is loaded there, and must be the same here */
    const struct ptx_instr *in = &e->f->instr[v->instr];
    const uint32_t i = (uint32_t)v->instr;
    const char *x = in->guard >= 0                                ? NULL
                    : in->op == PTX_OP_LD || in->op == PTX_OP_LDU ? load(w, in, i)
                                                                  : step(w, in, i, top);
    if (!x)
        return NULL;
    w->text = t1_str(e, "%sconst uint64_t l%d = %s;\n", w->text, value, x);
    return t1_str(e, "l%d", value);
}

const char *t1_lane_anew(struct t1_emit *e, int32_t value, const char *name)
{
    struct anew w = {.e = e, .text = ""};
    uint64_t top;
    const char *x = value >= 0 && e->value[value].rep == T1_V ? find(&w, value, &top) : NULL;
    return x ? t1_str(e, "%sconst uint64_t %s = %s;\n", w.text, name, x) : NULL;
}
