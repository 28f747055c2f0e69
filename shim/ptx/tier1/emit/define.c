/* Tier 1 emitter: assignments that define values, under guards and for lanes that left a loop. */
#include "ptx/tier1/emit/emit.h"

/* The value that the destination keeps where the guard is false. */
static struct t1_arg old_arg(struct t1_emit *e, int32_t value)
{
    const struct ptx_instr *in = e->in;
    for (unsigned d = 0; d < in->ndst; d++) {
        const struct ptx_opnd *o = &in->dst[d];
        if (o->kind == PTX_O_REG && e->f->instr_dst[e->at][d] == value)
            return t1_value_arg(e, e->f->instr_old[e->at][d], e->block);
        for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
            if (e->f->opnd_value[o->first + k] == value)
                return t1_value_arg(e, e->f->opnd_old[o->first + k], e->block);
    }
    t1_fail(e, "guarded result without an old value");
}

static const char *block_mask(const struct t1_emit *e) { return e->info[e->block].div ? "m" : "live"; }

int32_t t1_dst(struct t1_emit *e, unsigned d)
{
    if (d >= e->in->ndst || e->in->dst[d].kind != PTX_O_REG)
        return -1;
    int32_t v = e->f->instr_dst[e->at][d];
    return v >= 0 && e->value[v].used ? v : -1;
}

void t1_def_scalar(struct t1_emit *e, int32_t value, unsigned h, const char *expr)
{
    bool grouped = e->value[value].rep == T1_G;
    t1_put(e, grouped ? "v%dg%u = " : "v%d = ", value, h);
    if (e->guarded && e->in) {
        struct t1_arg old = old_arg(e, value);
        t1_put(e, "%s ? %s : %s;\n", e->mask, expr, t1_scalar(e, &old, h));
    } else {
        t1_put(e, "%s;\n", expr);
    }
}

void t1_def_piece(struct t1_emit *e, int32_t value, unsigned k, const char *expr)
{
    bool wide = e->value[value].kind == T1_K_64;
    const char *t = wide ? "u64" : "u32", *bits = wide ? "T1_MASK64" : "T1_MASK32";
    if (e->guarded && e->in) {
        struct t1_arg old = old_arg(e, value);
        expr = t1_str(e, "t1_blend_%s(%s(%s, %u), %s, %s)", t, bits, e->mask, k, t1_piece(e, &old, k), expr);
    }
    if (e->value[value].escapes)
        expr = t1_str(e, "t1_blend_%s(%s(%s, %u), v%d_%u, %s)", t, bits, block_mask(e), k, value, k, expr);
    t1_put(e, "v%d_%u = %s;\n", value, k, expr);
}

void t1_def_mask(struct t1_emit *e, int32_t value, const char *expr)
{
    if (e->guarded && e->in) {
        struct t1_arg old = old_arg(e, value);
        expr = t1_str(e, "((%s & ~%s) | ((%s) & %s))", t1_mask(e, &old), e->mask, expr, e->mask);
    }
    if (e->value[value].escapes)
        expr = t1_str(e, "((v%dm & ~%s) | ((%s) & %s))", value, block_mask(e), expr, block_mask(e));
    t1_put(e, "v%dm = %s;\n", value, expr);
}

void t1_def_arg(struct t1_emit *e, int32_t value, const struct t1_arg *a)
{
    const struct t1_value *x = &e->value[value];
    if (x->kind != a->kind)
        t1_fail(e, "register is of another width than its value");
    if (x->rep == T1_U) {
        t1_def_scalar(e, value, 0, t1_scalar(e, a, 0));
    } else if (x->rep == T1_G) {
        t1_def_scalar(e, value, 0, t1_scalar(e, a, 0));
        t1_def_scalar(e, value, 1, t1_scalar(e, a, 1));
    } else if (x->kind == T1_K_PRED) {
        t1_def_mask(e, value, t1_mask(e, a));
    } else {
        for (unsigned k = 0; k < (x->kind == T1_K_64 ? 2 : 1) * e->np; k++)
            t1_def_piece(e, value, k, t1_piece(e, a, k));
    }
    t1_def_done(e, value);
}

void t1_def_lanes(struct t1_emit *e, int32_t value, const char *array)
{
    const struct t1_value *x = &e->value[value];
    bool wide = x->kind == T1_K_64;
    if (x->rep != T1_V)
        t1_fail(e, "uniform value computed lane by lane");
    if (x->kind == T1_K_PRED) {
        t1_def_mask(e, value, array);
        return;
    }
    for (unsigned k = 0; k < (wide ? 2 : 1) * e->np; k++)
        t1_def_piece(e, value, k, t1_str(e, "t1_fill_%s(%s, %u)", wide ? "u64" : "u32", array, k));
}

/* Lanes that leave the loop in an earlier round keep the value of their own last one. */
void t1_def_done(struct t1_emit *e, int32_t value)
{
    const struct t1_value *x = &e->value[value];
    if (!x->escapes || x->rep == T1_V)
        return;
    struct t1_arg a = t1_value_arg(e, value, (uint32_t)e->f->value[value].block);
    const char *m = block_mask(e);
    if (x->kind == T1_K_PRED) {
        t1_put(e, "x%dm = (x%dm & ~%s) | (%s & %s);\n", value, value, m, t1_mask(e, &a), m);
        return;
    }
    bool wide = x->kind == T1_K_64;
    for (unsigned k = 0; k < (wide ? 2 : 1) * e->np; k++)
        t1_put(e, "x%d_%u = t1_blend_%s(%s(%s, %u), x%d_%u, %s);\n", value, k, wide ? "u64" : "u32",
               wide ? "T1_MASK64" : "T1_MASK32", m, k, value, k, t1_piece(e, &a, k));
}
