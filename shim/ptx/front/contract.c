/* A product that one sum takes becomes an fma with it, as ptxas has it unless it is told otherwise: mul, add and sub
 * without a rounding modifier may be fused (PTX ISA, floating point instructions), and NVIDIA's compilers leave
 * a*b - c, c - a*b and all of f16 to that. What they must not fuse they write with .rn. */
#include "ptx/front/front.h"

#include <stdio.h>
#include <string.h>

struct use { /* of a register */
    uint32_t writes, reads;
    uint32_t written; /* one more than the last instruction so far that writes it; 0: none */
};

struct fusion {
    uint32_t sum;              /* the instruction that becomes an fma */
    uint8_t product;           /* its source that is one */
    struct ptx_opnd factor[2]; /* of it */
};

struct contract {
    struct ptx_parser *p;
    struct ptx_func *f;
    struct use *use;       /* by register */
    bool *dead, *begins;   /* by instruction: products that are gone; a label stands in front of it */
    struct fusion *fusion; /* in the order of the sums */
    uint32_t nfusion, room;
};

/* Sums and products that may be fused: neither's rounding is told. */
static bool is_free(const struct ptx_instr *in, bool product)
{
    const unsigned t = in->type[0];
    return (product ? in->op == PTX_OP_MUL && !(in->flags & PTX_F_SAT) && in->guard < 0
                    : in->op == PTX_OP_ADD || in->op == PTX_OP_SUB) &&
           in->rnd == PTX_RND_NONE && in->type[1] == PTX_NONE && in->ndst == 1 && in->dst[0].kind == PTX_O_REG &&
           in->nsrc == 2 &&
           (t == PTX_F32 || t == PTX_F64 || t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2);
}

static void visit(struct contract *c, const struct ptx_opnd *o, bool writes, uint32_t now)
{
    if (o->kind == PTX_O_VEC)
        for (unsigned k = 0; k < o->n; k++)
            visit(c, &c->f->opnd[o->first + k], writes, now);
    if ((o->kind != PTX_O_REG && o->kind != PTX_O_ADDR) || o->reg < 0)
        return;
    struct use *u = &c->use[o->reg];
    if (now)
        u->written = now;
    else if (writes)
        u->writes++;
    else
        u->reads++;
}

static void count(struct contract *c)
{
    const struct ptx_func *f = c->f;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        for (unsigned k = 0; k < in->nsrc; k++)
            visit(c, &in->src[k], false, 0);
        for (unsigned k = 0; k < in->ndst; k++)
            visit(c, &in->dst[k], true, 0);
        if (in->guard >= 0)
            c->use[in->guard].reads++;
    }
    for (uint32_t k = 0; k < f->nparam + f->nret; k++) { /* registers that somebody else writes or reads */
        const struct ptx_var *v = k < f->nparam ? &f->param[k] : &f->ret[k - f->nparam];
        if (v->space == PTX_SP_REG && v->reg >= 0)
            c->use[v->reg].writes = 2;
    }
}

/* Whether the source of a sum is a product of its own, made since `begin`, whose factors are what they were. */
static bool is_product(const struct contract *c, const struct ptx_instr *in, unsigned k, uint32_t begin)
{
    const struct ptx_opnd *o = &in->src[k];
    const struct use *u = o->kind == PTX_O_REG ? &c->use[o->reg] : NULL;
    if (!u || u->writes != 1 || u->reads != 1 || u->written <= begin)
        return false;
    const struct ptx_instr *m = &c->f->instr[u->written - 1];
    if (!is_free(m, true) || m->type[0] != in->type[0] || (m->flags ^ in->flags) & PTX_F_FTZ)
        return false;
    for (unsigned s = 0; s < 2; s++)
        if (m->src[s].kind == PTX_O_REG && c->use[m->src[s].reg].written >= u->written)
            return false;
    return m->src[0].kind == PTX_O_REG || m->src[1].kind == PTX_O_REG;
}

static void find(struct contract *c)
{
    struct ptx_func *f = c->f;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        begin = c->begins[i] ? i : begin;
        for (unsigned k = 0; k < 2 && is_free(in, false); k++)
            if (is_product(c, in, k, begin)) {
                const uint32_t m = c->use[in->src[k].reg].written - 1;
                PTX_PUSH(c->p->ctx, c->fusion, c->nfusion, c->room);
                c->fusion[c->nfusion] = (struct fusion){.sum = i, .product = (uint8_t)k};
                memcpy(c->fusion[c->nfusion++].factor, f->instr[m].src, sizeof c->fusion->factor);
                c->dead[m] = true;
                break;
            }
        for (unsigned k = 0; k < in->ndst; k++)
            visit(c, &in->dst[k], true, i + 1);
    }
}

/* -x in the product's register, which is free now: an instruction in front of the fma. */
static void put_negation(struct contract *c, struct ptx_instr *to, const struct ptx_instr *sum, int32_t reg,
                         struct ptx_opnd *x)
{
    char text[16];
    const int n = snprintf(text, sizeof text, "neg.%s", ptx_type_name(sum->type[0]));
    *to = (struct ptx_instr){.op = PTX_OP_NEG,
                             .type = {sum->type[0]},
                             .opcode = ptx_strdup(c->p->ctx, text, (size_t)n),
                             .vec = 1,
                             .guard = -1,
                             .line = sum->line,
                             .ndst = 1,
                             .nsrc = 1,
                             .dst = {{.kind = PTX_O_REG, .reg = reg, .sym = -1}},
                             .src = {*x}};
    *x = to->dst[0];
}

/* Writes the fma, behind a negation if it needs one, from `to` on; their number. There is room, as the product in front
 * of it is gone. */
static uint32_t put_fma(struct contract *c, struct ptx_instr *to, struct ptx_instr sum, const struct fusion *u)
{
    const int32_t reg = sum.src[u->product].reg;
    struct ptx_opnd a = u->factor[0], b = u->factor[1], other = sum.src[!u->product];
    uint32_t n = 0;
    if (sum.op == PTX_OP_SUB) /* of the factors one that is no number */
        put_negation(c, &to[n++], &sum, reg, u->product == 0 ? &other : a.kind == PTX_O_REG ? &a : &b);
    char text[32];
    const int len = snprintf(text, sizeof text, "fma.rn%s%s.%s", sum.flags & PTX_F_FTZ ? ".ftz" : "",
                             sum.flags & PTX_F_SAT ? ".sat" : "", ptx_type_name(sum.type[0]));
    sum.op = PTX_OP_FMA;
    sum.rnd = PTX_RN;
    sum.opcode = ptx_strdup(c->p->ctx, text, (size_t)len);
    sum.nsrc = 3;
    sum.src[0] = a;
    sum.src[1] = b;
    sum.src[2] = other;
    to[n++] = sum;
    return n;
}

static void rewrite(struct contract *c)
{
    struct ptx_func *f = c->f;
    uint32_t *at = PTX_NEW(c->p->ctx, uint32_t, f->ninstr + 1), n = 0;
    const struct fusion *next = c->fusion, *const end = next + c->nfusion;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        at[i] = n;
        if (next < end && next->sum == i)
            n += put_fma(c, &f->instr[n], f->instr[i], next++);
        else if (!c->dead[i])
            f->instr[n++] = f->instr[i];
    }
    at[f->ninstr] = n;
    for (uint32_t k = 0; k < f->nlabel; k++)
        f->label_instr[k] = (int32_t)at[f->label_instr[k]];
    f->ninstr = n;
}

void ptx_contract(struct ptx_parser *p)
{
    struct ptx_func *f = p->f;
    uint32_t products = 0, sums = 0;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        products += is_free(&f->instr[i], true);
        sums += is_free(&f->instr[i], false);
    }
    if (!products || !sums)
        return;
    struct contract c = {.p = p,
                         .f = f,
                         .use = PTX_NEW(p->ctx, struct use, f->nreg),
                         .dead = PTX_NEW(p->ctx, bool, f->ninstr),
                         .begins = PTX_NEW(p->ctx, bool, f->ninstr + 1)};
    for (uint32_t k = 0; k < f->nlabel; k++)
        c.begins[f->label_instr[k]] = true;
    count(&c);
    find(&c);
    if (c.nfusion)
        rewrite(&c);
}
