/* Tier 1 emitter: values and operands as C expressions, and the assignments that define values. */
#include "ptx/tier1/emit/emit.h"

uint8_t t1_kind_of(struct t1_emit *e, unsigned type)
{
    if (type == PTX_PRED)
        return T1_K_PRED;
    unsigned size = ptx_type_size(type);
    if (size > 8)
        t1_fail(e, "128-bit values are not supported");
    return size == 8 ? T1_K_64 : T1_K_32;
}

static uint64_t low_bits(unsigned type, uint64_t v)
{
    unsigned size = ptx_type_size(type);
    return size && size < 8 ? v & ((1ull << (8 * size)) - 1) : v;
}

struct t1_arg t1_const(struct t1_emit *e, unsigned kind, uint64_t v)
{
    struct t1_arg a = {.kind = (uint8_t)kind, .rep = T1_U};
    if (kind == T1_K_PRED)
        a.s[0] = v & 1 ? "1u" : "0u";
    else if (kind == T1_K_32)
        a.s[0] = t1_str(e, "0x%xu", (unsigned)(uint32_t)v);
    else
        a.s[0] = t1_str(e, "0x%llxull", (unsigned long long)v);
    return a;
}

struct t1_arg t1_value_arg(struct t1_emit *e, int32_t value, uint32_t use_block)
{
    const struct ptx_value *v = &e->f->value[value];
    const struct t1_value *x = &e->value[value];
    struct t1_arg a = {.kind = x->kind, .rep = x->rep};
    if (v->block < 0)
        return t1_const(e, x->kind, 0); /* nobody defined it */
    if (x->rep == T1_U && v->has_range && v->lo == v->hi && x->kind != T1_K_PRED)
        return t1_const(e, x->kind, low_bits(e->f->reg[v->reg].type, (uint64_t)v->lo));
    bool copy = x->escapes && x->rep != T1_V && ptx_outside(e->f, v->block, (int32_t)use_block);
    a.stride = x->rep == T1_V || copy ? 0 : v->stride;
    if (copy)
        a.rep = T1_V;
    if (a.rep == T1_U) {
        a.s[0] = t1_str(e, "v%d", value);
    } else if (a.rep == T1_G) {
        a.s[0] = t1_str(e, "v%dg0", value);
        a.s[1] = t1_str(e, "v%dg1", value);
    } else {
        a.v = t1_str(e, x->kind == T1_K_PRED ? "%c%dm" : "%c%d", copy ? 'x' : 'v', value);
        a.c = x->pieces && v->block == (int32_t)e->block ? t1_str(e, "v%dc", value) : NULL;
        a.c_wide = x->pieces == 64;
    }
    return a;
}

/* Temporary pieces that hold an expression for each piece of a 64-bit value. */
static struct t1_arg widened(struct t1_emit *e, const struct t1_arg *a)
{
    struct t1_arg w = {.kind = T1_K_64, .rep = T1_V};
    w.v = t1_str(e, "t%u", e->temps++);
    for (unsigned q = 0; q < 2 * e->np; q++)
        t1_put(e, "pu64 %s_%u = t1_zext_u32(%s);\n", w.v, q, t1_half(e, a, q));
    return w;
}

static struct t1_arg as_kind(struct t1_emit *e, struct t1_arg a, unsigned kind)
{
    if (kind == T1_K_NONE || a.kind == kind)
        return a;
    if (a.kind == T1_K_PRED || kind == T1_K_PRED)
        t1_fail(e, "predicate and number mixed");
    if (kind == T1_K_32) {
        for (unsigned h = 0; h < 2 && a.rep != T1_V && a.s[h]; h++)
            a.s[h] = t1_str(e, "(uint32_t)(%s)", a.s[h]);
        a.narrowed = a.rep == T1_V;
    } else if (a.rep == T1_V || a.stride) {
        return widened(e, &a);
    } else {
        for (unsigned h = 0; h < 2 && a.s[h]; h++)
            a.s[h] = t1_str(e, "(uint64_t)(%s)", a.s[h]);
    }
    a.kind = (uint8_t)kind;
    return a;
}

/* ---- special registers ---- */

static struct t1_arg tid(struct t1_emit *e, unsigned sreg)
{
    unsigned axis = sreg - PTX_SR_TID_X;
    struct t1_arg a = {.kind = T1_K_32, .rep = T1_U};
    e->sregs |= 1ull << axis;
    if (e->shape == T1_SHAPE_ANY) {
        a.rep = T1_V;
        a.v = t1_str(e, "tid%u", axis);
    } else if (e->shape == T1_SHAPE_HALF) {
        a.rep = T1_G;
        a.s[0] = t1_str(e, "tid%ug0", axis);
        a.s[1] = t1_str(e, "tid%ug1", axis);
        a.stride = axis == 0;
    } else {
        a.s[0] = t1_str(e, "tid%u", axis);
        a.stride = axis == 0;
    }
    return a;
}

static struct t1_arg lane_mask(struct t1_emit *e, unsigned sreg)
{
    static const char *const form[] = {"%s", "(%s | (%s - 1u))", "(%s - 1u)", "~(%s - 1u)", "~(%s | (%s - 1u))"};
    struct t1_arg a = {.kind = T1_K_32, .rep = T1_V, .v = t1_str(e, "t%u", e->temps++)};
    for (unsigned k = 0; k < e->np; k++) {
        const char *bit = t1_str(e, "(t1_splat_u32(1u) << t1_ramp_u32(0u, 1u, %u))", k);
        const char *f = form[sreg - PTX_SR_LANEMASK_EQ];
        t1_put(e, "pu32 %s_%u = ", a.v, k);
        for (; *f; f++) {
            if (f[0] == '%' && f[1] == 's') {
                t1_put(e, "%s", bit);
                f++;
            } else {
                t1_put(e, "%c", *f);
            }
        }
        t1_put(e, ";\n");
    }
    return a;
}

/* The text of a special register. Most are fields of the block's context and the same for all lanes; envreg1 and 2
 * are the halves of the pointer to a cooperative grid's workspace, all other envregs are 0. */
static struct t1_arg sreg(struct t1_emit *e, unsigned r)
{
    struct t1_arg a = {.kind = T1_K_32, .rep = T1_U};
    if (r <= PTX_SR_TID_Z)
        return tid(e, r);
    if (r >= PTX_SR_LANEMASK_EQ && r <= PTX_SR_LANEMASK_GT)
        return lane_mask(e, r);
    if (r >= PTX_SR_ENVREG0 && r <= PTX_SR_ENVREG31) {
        if (r != PTX_SR_ENVREG0 + 1 && r != PTX_SR_ENVREG0 + 2)
            return t1_const(e, T1_K_32, 0);
        /* the workspace of the grid's barrier, its high half first */
        a.s[0] = r == PTX_SR_ENVREG0 + 1 ? "(uint32_t)(b->envreg12 >> 32)" : "(uint32_t)b->envreg12";
        return a;
    }
    switch (r) {
    case PTX_SR_NTID_X:
    case PTX_SR_NTID_Y:
    case PTX_SR_NTID_Z: a.s[0] = t1_str(e, "g->ntid[%u]", r - PTX_SR_NTID_X); break;
    case PTX_SR_CTAID_X:
    case PTX_SR_CTAID_Y:
    case PTX_SR_CTAID_Z: a.s[0] = t1_str(e, "g->ctaid[%u]", r - PTX_SR_CTAID_X); break;
    case PTX_SR_CLUSTERID_X:
    case PTX_SR_CLUSTERID_Y:
    case PTX_SR_CLUSTERID_Z:
        a.s[0] = t1_str(e, "(g->ctaid[%u] / g->cluster[%u])", r - PTX_SR_CLUSTERID_X, r - PTX_SR_CLUSTERID_X);
        break;
    case PTX_SR_NCTAID_X:
    case PTX_SR_NCTAID_Y:
    case PTX_SR_NCTAID_Z: a.s[0] = t1_str(e, "g->nctaid[%u]", r - PTX_SR_NCTAID_X); break;
    case PTX_SR_NCLUSTERID_X:
    case PTX_SR_NCLUSTERID_Y:
    case PTX_SR_NCLUSTERID_Z:
        a.s[0] = t1_str(e, "(g->nctaid[%u] / g->cluster[%u])", r - PTX_SR_NCLUSTERID_X, r - PTX_SR_NCLUSTERID_X);
        break;
    case PTX_SR_CLUSTER_CTAID_X:
    case PTX_SR_CLUSTER_CTAID_Y:
    case PTX_SR_CLUSTER_CTAID_Z:
        a.s[0] = t1_str(e, "(g->ctaid[%u] %% g->cluster[%u])", r - PTX_SR_CLUSTER_CTAID_X, r - PTX_SR_CLUSTER_CTAID_X);
        break;
    case PTX_SR_CLUSTER_NCTAID_X:
    case PTX_SR_CLUSTER_NCTAID_Y:
    case PTX_SR_CLUSTER_NCTAID_Z: a.s[0] = t1_str(e, "g->cluster[%u]", r - PTX_SR_CLUSTER_NCTAID_X); break;
    case PTX_SR_CLUSTER_CTARANK: a.s[0] = "g->rank"; break;
    case PTX_SR_CLUSTER_NCTARANK: a.s[0] = "g->cluster_size"; break;
    case PTX_SR_LANEID:
        a.s[0] = "0u";
        a.stride = 1;
        break;
    case PTX_SR_WARPID: a.s[0] = "warp"; break;
    case PTX_SR_NWARPID: return t1_const(e, T1_K_32, 32);
    case PTX_SR_SMID: a.s[0] = "g->smid"; break;
    case PTX_SR_NSMID: a.s[0] = "g->nsm"; break;
    case PTX_SR_GRIDID:
        a.kind = T1_K_64;
        a.s[0] = "g->grid_id";
        break;
    case PTX_SR_CLOCK: a.s[0] = "(uint32_t)b->services->clock()"; break;
    case PTX_SR_CLOCK_HI: a.s[0] = "(uint32_t)(b->services->clock() >> 32)"; break;
    case PTX_SR_CLOCK64:
        a.kind = T1_K_64;
        a.s[0] = "b->services->clock()";
        break;
    case PTX_SR_GLOBALTIMER:
        a.kind = T1_K_64;
        a.s[0] = "b->services->globaltimer()";
        break;
    case PTX_SR_GLOBALTIMER_LO: a.s[0] = "(uint32_t)b->services->globaltimer()"; break;
    case PTX_SR_GLOBALTIMER_HI: a.s[0] = "(uint32_t)(b->services->globaltimer() >> 32)"; break;
    case PTX_SR_DYNAMIC_SMEM_SIZE: a.s[0] = "g->dynamic_shared"; break;
    case PTX_SR_TOTAL_SMEM_SIZE: a.s[0] = "g->shared_size"; break;
    case PTX_SR_IS_EXPLICIT_CLUSTER:
        a.kind = T1_K_PRED;
        a.s[0] = "g->explicit_cluster";
        break;
    case PTX_SR_CURRENT_GRAPH_EXEC:
        a.kind = T1_K_64;
        a.s[0] = "g->graph_exec";
        break;
    case PTX_SR_RESERVED_SMEM_BEGIN:
    case PTX_SR_RESERVED_SMEM_END:
    case PTX_SR_RESERVED_SMEM_CAP:
    case PTX_SR_RESERVED_SMEM_0:
    case PTX_SR_RESERVED_SMEM_1: t1_fail(e, "the shared memory of the system software");
    default: return t1_const(e, T1_K_32, 0); /* %pm and their like */
    }
    return a;
}

struct t1_arg t1_source(struct t1_emit *e, const struct ptx_opnd *o, int32_t value, unsigned kind)
{
    struct t1_arg a;
    switch (o->kind) {
    case PTX_O_REG:
        a = t1_value_arg(e, value, e->block);
        if (o->neg && a.kind == T1_K_PRED) {
            a.c = NULL;
            if (a.rep == T1_V)
                a.v = t1_str(e, "(~%s)", a.v);
            else
                a.s[0] = t1_str(e, "(1u ^ %s)", a.s[0]);
        }
        return as_kind(e, a, kind);
    case PTX_O_IMM: return t1_const(e, kind ? kind : (unsigned)T1_K_32, o->neg ? !o->imm : o->imm);
    case PTX_O_SREG: return as_kind(e, sreg(e, (unsigned)o->reg), kind);
    case PTX_O_SYM:
        kind = kind ? kind : (unsigned)T1_K_64;
        return (struct t1_arg){.kind = (uint8_t)kind, .rep = T1_U, .s = {t1_symbol(e, o->sym, o->imm, kind)}};
    default: t1_fail(e, "operand of a kind that is not supported here");
    }
}

struct t1_arg t1_src(struct t1_emit *e, unsigned k, unsigned kind)
{
    return t1_source(e, &e->in->src[k], e->f->instr_src[e->at][k], kind);
}

bool t1_same_for_all(const struct t1_arg *a) { return a->rep == T1_U && !a->stride; }

unsigned t1_group(const struct t1_emit *e, unsigned pieces, unsigned k)
{
    (void)e;
    return k >= pieces / 2;
}

const char *t1_scalar(struct t1_emit *e, const struct t1_arg *a, unsigned h)
{
    if (a->rep == T1_V)
        t1_fail(e, "varying operand of a uniform value");
    if (a->rep == T1_G)
        return a->s[h];
    if (!h || !a->stride)
        return a->s[0];
    return t1_str(e, a->kind == T1_K_64 ? "(%s + 0x%llxull)" : "(%s + 0x%llxu)", a->s[0],
                  a->kind == T1_K_64 ? (unsigned long long)(uint64_t)(16 * a->stride)
                                     : (unsigned long long)(uint32_t)(16 * a->stride));
}

const char *t1_mask(struct t1_emit *e, const struct t1_arg *a)
{
    if (a->kind != T1_K_PRED)
        t1_fail(e, "expected a predicate");
    return a->rep == T1_V ? a->v : t1_str(e, "(0u - %s)", a->s[0]);
}

const char *t1_piece(struct t1_emit *e, const struct t1_arg *a, unsigned k)
{
    if (a->kind == T1_K_PRED)
        return t1_str(e, "T1_MASK32(%s, %u)", t1_mask(e, a), k);
    bool wide = a->kind == T1_K_64;
    unsigned n = wide ? 2 * e->np : e->np, h = t1_group(e, n, k);
    if (a->rep == T1_V) {
        if (a->narrowed)
            return t1_str(e, "t1_lows_u64(%s_%u, %s_%u)", a->v, 2 * k, a->v, 2 * k + 1);
        return t1_str(e, "%s_%u", a->v, k);
    }
    const char *s = a->rep == T1_G ? a->s[h] : a->s[0];
    if (!a->stride)
        return t1_str(e, wide ? "t1_splat_u64(%s)" : "t1_splat_u32(%s)", s);
    k = a->rep == T1_G ? k % (n / 2) : k;
    return wide ? t1_str(e, "t1_ramp_u64(%s, 0x%llxull, %u)", s, (unsigned long long)a->stride, k)
                : t1_str(e, "t1_ramp_u32(%s, 0x%xu, %u)", s, (unsigned)(uint32_t)a->stride, k);
}

const char *t1_half(struct t1_emit *e, const struct t1_arg *a, unsigned q)
{
    if (a->kind == T1_K_PRED)
        return t1_str(e, "T1_MASK64(%s, %u)", t1_mask(e, a), q);
    if (a->kind == T1_K_64)
        return t1_piece(e, a, q);
    if (a->rep == T1_V && a->narrowed)
        return t1_str(e, "t1_trunc_u64(%s_%u)", a->v, q);
    return t1_str(e, "t1_half_u32(%s, %u)", t1_piece(e, a, q / 2), q & 1);
}

const char *t1_lane(struct t1_emit *e, const struct t1_arg *a)
{
    if (t1_same_for_all(a))
        return a->s[0];
    if (a->kind == T1_K_PRED)
        return t1_str(e, "(%s >> l & 1u)", t1_mask(e, a));
    bool wide = a->kind == T1_K_64;
    if (a->rep == T1_V) {
        unsigned t = e->temps++, n = wide ? 2 * e->np : e->np;
        t1_put(e, "%s t%u[32];\n", wide ? "uint64_t" : "uint32_t", t);
        for (unsigned k = 0; k < n; k++)
            t1_put(e, "t1_spill_%s(t%u, %u, %s);\n", wide ? "u64" : "u32", t, k, t1_piece(e, a, k));
        return t1_str(e, "t%u[l]", t);
    }
    const char *c = wide ? t1_str(e, "0x%llxull", (unsigned long long)a->stride)
                         : t1_str(e, "0x%xu", (unsigned)(uint32_t)a->stride);
    if (a->rep == T1_U)
        return t1_str(e, "(%s + %s * l)", a->s[0], c);
    return t1_str(e, "((l < 16 ? %s : %s) + %s * (l & 15))", a->s[0], a->s[1], c);
}
