/* Tier 1 emitter: loops that run lane by lane. A counted loop that reads memory at an address of each lane's own
 * and does little else is faster so: a gather takes as long as its scalar loads, and lanes with few rounds wait
 * for none with many. Values of the loop are scalars there, by the names of uniform ones. */
#include "ptx/tier1/emit/emit.h"

#include <stdlib.h>

/* Of a loop that runs lane by lane: at most so many instructions, and so many for each of its gathers. */
enum { MOST_INSTRUCTIONS = 64, INSTRUCTIONS_A_GATHER = 6, LEAST_GATHERS = 2 };

/* ---- which loops ---- */

struct facts { /* of the loop's block */
    struct t1_emit *e;
    const struct ptx_func *f;
    uint32_t k;
    uint8_t *loaded; /* by value: depends on what the loop has read, in this round or an earlier one */
    bool changed;
};

static bool inside(const struct facts *l, int32_t value)
{
    return value >= 0 && l->f->value[value].block == (int32_t)l->k;
}

static void mark(struct facts *l, int32_t value)
{
    if (value < 0 || l->loaded[value])
        return;
    l->loaded[value] = 1;
    l->changed = true;
}

static bool reads_loaded(const struct facts *l, uint32_t i)
{
    const struct ptx_instr *in = &l->f->instr[i];
    bool any = in->guard >= 0 && l->loaded[l->f->instr_src[i][5]];
    for (unsigned s = 0; s < in->nsrc; s++)
        if ((in->src[s].kind == PTX_O_REG || (in->src[s].kind == PTX_O_ADDR && in->src[s].reg >= 0)) &&
            l->f->instr_src[i][s] >= 0)
            any |= l->loaded[l->f->instr_src[i][s]];
    return any;
}

static void follow_loads(struct facts *l)
{
    const struct ptx_block *b = &l->f->block[l->k];
    uint32_t back = 0;
    while (b->pred[back] != (int32_t)l->k)
        back++;
    do {
        l->changed = false;
        for (uint32_t p = 0; p < b->nphi; p++)
            if (l->loaded[b->phi[p].src[back]])
                mark(l, b->phi[p].dst);
        for (uint32_t i = b->first; i < b->first + b->count; i++) {
            const struct ptx_instr *in = &l->f->instr[i];
            if (in->op != PTX_OP_LD && in->op != PTX_OP_LDU && !reads_loaded(l, i))
                continue;
            for (unsigned d = 0; d < in->ndst; d++) {
                mark(l, in->dst[d].kind == PTX_O_REG ? l->f->instr_dst[i][d] : -1);
                for (unsigned n = 0; in->dst[d].kind == PTX_O_VEC && n < in->dst[d].n; n++)
                    mark(l, l->f->opnd_value[in->dst[d].first + n]);
            }
        }
    } while (l->changed);
}

/* An address may come from a load of the same round, but a round must not wait for the one before. */
static bool chases(struct facts *l)
{
    const struct ptx_block *b = &l->f->block[l->k];
    bool any = false;
    for (uint32_t p = 0; p < b->nphi; p++) {
        if (!l->loaded[b->phi[p].dst])
            continue;
        uint8_t *all = l->loaded, *carried = t1_alloc(l->e, l->f->nvalue + 1, 1);
        l->loaded = carried;
        carried[b->phi[p].dst] = 1;
        for (uint32_t i = b->first; i < b->first + b->count; i++) {
            const struct ptx_instr *in = &l->f->instr[i];
            bool depends = reads_loaded(l, i);
            if (depends && (in->op == PTX_OP_LD || in->op == PTX_OP_LDU))
                any = true;
            for (unsigned d = 0; depends && d < in->ndst; d++)
                mark(l, in->dst[d].kind == PTX_O_REG ? l->f->instr_dst[i][d] : -1);
        }
        l->loaded = all;
    }
    return any;
}

/* One that has a form for a single lane. */
static bool simple(struct t1_emit *e, uint32_t i, uint32_t *gathers)
{
    const struct ptx_func *f = e->f;
    const struct ptx_instr *in = &f->instr[i];
    for (unsigned s = 0; s < in->nsrc; s++)
        if (in->src[s].kind == PTX_O_SREG || in->src[s].kind == PTX_O_VEC)
            return false;
    switch (in->op) {
    case PTX_OP_BRA: return true;
    case PTX_OP_MOV: return in->dst[0].kind == PTX_O_REG;
    case PTX_OP_CVTA: return in->space != PTX_SP_LOCAL;
    case PTX_OP_LD:
    case PTX_OP_LDU: {
        const struct ptx_opnd *a = &in->src[0];
        if (in->sem != PTX_WEAK || in->space == PTX_SP_LOCAL || in->space == PTX_SP_PARAM || a->reg < 0)
            return false;
        unsigned n = in->dst[0].kind == PTX_O_VEC ? in->dst[0].n : 1;
        *gathers += f->value[f->instr_src[i][0]].kind == PTX_C_VARYING ? n : 0;
        return ptx_type_size(in->type[0]) <= 8;
    }
    default: break;
    }
    struct t1_op op = {0};
    return in->ndst && t1_alu(in, &op) && !op.reads_cc && !op.writes_cc && op.dst[0].scalar[0] &&
           (op.dst[1].kind == T1_K_NONE || op.dst[1].scalar[0]);
}

/* Whether a loop of one block is written lane by lane: one that lanes leave at different times and that mostly
 * gathers, where a vector would wait for its slowest lane in each round. Not one whose next address is what it has
 * just loaded. */
bool t1_serial(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[k];
    uint32_t gathers = 0;
    if (e->checked || e->raced || !e->info[k].div || b->loop_header != (int32_t)k || !b->left_divergently ||
        b->nsucc != 2 || b->succ[0] == b->succ[1] || (b->succ[0] != (int32_t)k && b->succ[1] != (int32_t)k) ||
        !b->count || b->count > MOST_INSTRUCTIONS)
        return false;
    if (k + 1 < f->nblock && ptx_in_loop(f, (int32_t)k + 1, (int32_t)k))
        return false; /* more than this block */
    const struct ptx_instr *last = &f->instr[b->first + b->count - 1];
    if (last->op != PTX_OP_BRA || last->guard < 0)
        return false;
    for (uint32_t i = b->first; i < b->first + b->count; i++)
        if (!simple(e, i, &gathers))
            return false;
    if (gathers < LEAST_GATHERS || b->count > INSTRUCTIONS_A_GATHER * gathers)
        return false;
    for (uint32_t v = 0; v < f->nvalue; v++)
        if (f->value[v].block == (int32_t)k && e->value[v].used && e->value[v].kind == T1_K_NONE)
            return false;
    const struct ptx_block *t = &f->block[b->succ[b->succ[0] == (int32_t)k]];
    for (uint32_t p = 0; p < t->nphi; p++)
        if (e->value[t->phi[p].dst].used && e->value[t->phi[p].dst].rep != T1_V)
            return false;
    struct facts l = {.e = e, .f = f, .k = k, .loaded = t1_alloc(e, f->nvalue + 1, 1)};
    follow_loads(&l);
    int32_t leaves = f->instr_src[b->first + b->count - 1][5]; /* the way on must be known early */
    return !(inside(&l, leaves) && l.loaded[leaves]) && !chases(&l);
}

/* ---- one lane's values ---- */

struct kept {
    struct ptx_value value;
    struct t1_value x;
};

static const char *type_of(const struct t1_value *x) { return x->kind == T1_K_64 ? "uint64_t" : "uint32_t"; }

/* Makes a scalar `v12` of lane l out of what value 12 is outside. In front of the loop over lanes: where it comes
 * from; inside: its declaration. */
static void load_live_in(struct t1_emit *e, struct ptx_text *inner, int32_t v)
{
    struct t1_arg a = t1_value_arg(e, v, e->block);
    struct ptx_text outer = e->text;
    const char *from;
    if (a.rep == T1_V) {
        from = t1_lane(e, &a);
    } else { /* by another name, as the inner one hides it */
        for (unsigned h = 0; h < (a.rep == T1_G ? 2 : 1); h++) {
            const char *name = t1_str(e, "t%u", e->temps++);
            t1_put(e, "const %s %s = %s;\n", type_of(&e->value[v]), name, a.s[h]);
            a.s[h] = name;
        }
        from = t1_lane(e, &a);
    }
    outer = e->text;
    e->text = *inner;
    t1_put(e, "%s v%d = %s;\n", type_of(&e->value[v]), v, from);
    *inner = e->text;
    e->text = outer;
}

/* From now on the value is one lane's. */
static void make_scalar(struct t1_emit *e, int32_t v)
{
    struct ptx_value *x = &e->f->value[v];
    unsigned steps = x->stride ? (unsigned)__builtin_ctzll((unsigned long long)x->stride) : 63;
    if (x->kind == PTX_C_VARYING)
        x->align_log2 = 0;
    else if (steps < x->align_log2)
        x->align_log2 = (uint8_t)steps;
    if (x->kind == PTX_C_UNIFORM_G || x->kind == PTX_C_AFFINE_G) /* the halves' bases */
        x->align_log2 = 0;
    if (x->stride)
        x->has_range = false;
    x->kind = PTX_C_UNIFORM;
    x->stride = 0;
    e->value[v].rep = T1_U;
    e->value[v].global = true;
    e->value[v].escapes = false;
}

static bool needs(const struct t1_emit *e, int32_t v)
{
    return v >= 0 && e->f->value[v].block >= 0 && e->value[v].used;
}

/* Every value that the loop reads or makes, each once. */
static uint32_t find_values(struct t1_emit *e, uint32_t k, uint32_t next, int32_t *list)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[k], *t = &f->block[next];
    uint8_t *seen = t1_alloc(e, f->nvalue + 1, 1);
    uint32_t n = 0;
#define SEE(v_) \
    do { \
        int32_t v = (v_); \
        if (needs(e, v) && !seen[v]) { \
            seen[v] = 1; \
            list[n++] = v; \
        } \
    } while (0)
    for (uint32_t p = 0; p < b->nphi; p++) {
        SEE(b->phi[p].dst);
        for (uint32_t s = 0; s < b->npred; s++)
            if (b->pred[s] == (int32_t)k)
                SEE(b->phi[p].src[s]);
    }
    for (uint32_t p = 0; p < t->nphi; p++)
        for (uint32_t s = 0; s < t->npred; s++)
            if (t->pred[s] == (int32_t)k && e->value[t->phi[p].dst].used)
                SEE(t->phi[p].src[s]);
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const struct ptx_instr *in = &f->instr[i];
        for (unsigned s = 0; s < 6; s++)
            if (s == 5 ? in->guard >= 0
                       : s < in->nsrc &&
                             (in->src[s].kind == PTX_O_REG || (in->src[s].kind == PTX_O_ADDR && in->src[s].reg >= 0)))
                SEE(f->instr_src[i][s]);
        for (unsigned d = 0; d < in->ndst; d++) {
            if (in->dst[d].kind == PTX_O_REG) {
                SEE(f->instr_dst[i][d]);
                if (in->guard >= 0)
                    SEE(f->instr_old[i][d]);
            }
            for (unsigned m = 0; in->dst[d].kind == PTX_O_VEC && m < in->dst[d].n; m++)
                if (f->opnd[in->dst[d].first + m].kind == PTX_O_REG) {
                    SEE(f->opnd_value[in->dst[d].first + m]);
                    if (in->guard >= 0)
                        SEE(f->opnd_old[in->dst[d].first + m]);
                }
        }
    }
#undef SEE
    return n;
}

/* ---- the loop ---- */

/* Lanes leave with values in arrays, from where they go to the phis that wait for them, and to what reads them
 * as they are. */
static void store_live_out(struct t1_emit *e, int32_t name, const struct t1_value *x, const struct t1_arg *a)
{
    t1_put(e, x->kind == T1_K_PRED ? "o%d |= %s << l;\n" : "o%d[l] = %s;\n", name, t1_scalar(e, a, 0));
}

static void load_live_out(struct t1_emit *e, int32_t name, const struct t1_value *x)
{
    const char c = x->rep == T1_V ? 'v' : 'x';
    if (x->kind == T1_K_PRED) {
        t1_put(e, "%c%dm = (%c%dm & ~m) | (o%d & m);\n", c, name, c, name, name);
        return;
    }
    bool wide = x->kind == T1_K_64;
    for (unsigned q = 0; q < (wide ? 2 : 1) * e->np; q++)
        t1_put(e,
               wide ? "%c%d_%u = t1_blend_u64(T1_MASK64(m, %u), %c%d_%u, t1_fill_u64(o%d, %u));\n"
                    : "%c%d_%u = t1_blend_u32(T1_MASK32(m, %u), %c%d_%u, t1_fill_u32(o%d, %u));\n",
               c, name, q, q, c, name, q, name, q);
}

/* What has to be done for each of them. */
enum stage { DECLARE, STORE_OUT, LOAD_OUT };

static void result(struct t1_emit *e, enum stage stage, int32_t name, const struct t1_value *x, int32_t source,
                   uint32_t k)
{
    struct t1_arg a;
    switch (stage) {
    case DECLARE: t1_put(e, "%s o%d%s;\n", type_of(x), name, x->kind == T1_K_PRED ? " = 0" : "[32]"); break;
    case STORE_OUT:
        a = t1_value_arg(e, source, k);
        store_live_out(e, name, x, &a);
        break;
    case LOAD_OUT: load_live_out(e, name, x); break;
    }
}

static void results(struct t1_emit *e, enum stage stage, uint32_t k, uint32_t next, const int32_t *list,
                    const struct kept *kept, uint32_t n)
{
    const struct ptx_block *t = &e->f->block[next];
    uint32_t s = 0;
    while (t->pred[s] != (int32_t)k)
        s++;
    for (uint32_t p = 0; p < t->nphi; p++)
        if (e->value[t->phi[p].dst].used && t->phi[p].src[s] != t->phi[p].dst)
            result(e, stage, t->phi[p].dst, &e->value[t->phi[p].dst], t->phi[p].src[s], k);
    for (uint32_t i = 0; i < n; i++)
        if (kept[i].x.escapes && kept[i].value.block == (int32_t)k)
            result(e, stage, list[i], &kept[i].x, list[i], k);
}

/* Writes such a loop: pieces to arrays in front of it, for each lane the loop in scalars, arrays to pieces behind
 * it. */
void t1_serial_loop(struct t1_emit *e, uint32_t k)
{
    struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[k];
    const struct ptx_instr *last = &f->instr[b->first + b->count - 1];
    uint32_t next = (uint32_t)b->succ[b->succ[0] == (int32_t)k];
    int32_t *list = t1_alloc(e, f->nvalue + 1, sizeof *list);
    uint32_t n = find_values(e, k, next, list);
    struct kept *kept = t1_alloc(e, n + 1, sizeof *kept);
    struct ptx_text inner = {0};
    e->block = k;
    t1_forget(e);
    t1_put(e, "B%u:;\nif (!p%u) goto S%u;\n{ const uint32_t m = p%u; p%u = 0;\n", k, k, k, k, k);
    for (uint32_t i = 0; i < n; i++)
        kept[i] = (struct kept){f->value[list[i]], e->value[list[i]]};
    results(e, DECLARE, k, next, list, kept, n);
    for (uint32_t i = 0; i < n; i++) {
        int32_t v = list[i];
        bool phi = f->value[v].instr < 0 && f->value[v].block == (int32_t)k;
        if (phi || f->value[v].block != (int32_t)k)
            load_live_in(e, &inner, v);
    }
    t1_put(e, "for (uint32_t left = m; left; left &= left - 1) {\n"
              "const uint32_t l = (uint32_t)__builtin_ctz(left), m = 1u << l;\n");
    if (inner.p)
        t1_write(e, &e->text, inner.p, inner.n);
    free(inner.p);
    for (uint32_t i = 0; i < n; i++) {
        int32_t v = list[i];
        if (f->value[v].block == (int32_t)k && f->value[v].instr >= 0)
            t1_put(e, "%s v%d;\n", type_of(&e->value[v]), v);
    }
    for (uint32_t i = 0; i < n; i++)
        make_scalar(e, list[i]);
    t1_put(e, "for (;;) {\n");
    for (uint32_t i = b->first; i + 1 < b->first + b->count; i++)
        t1_instr(e, i);
    t1_mark_line(e, last);
    e->in = last;
    e->at = b->first + b->count - 1;
    struct ptx_opnd o = {.kind = PTX_O_REG, .neg = last->guard_neg, .reg = last->guard, .sym = -1};
    struct t1_arg c = t1_source(e, &o, f->instr_src[e->at][5], T1_K_PRED);
    t1_put(e, "if (%s%s) break;\n", b->succ[0] == (int32_t)k ? "!" : "", c.s[0]);
    t1_phi_copies(e, k, k);
    t1_put(e, "}\n");
    results(e, STORE_OUT, k, next, list, kept, n);
    e->in = NULL;
    for (uint32_t i = 0; i < n; i++) {
        f->value[list[i]] = kept[i].value;
        e->value[list[i]] = kept[i].x;
    }
    t1_put(e, "}\n");
    results(e, LOAD_OUT, k, next, list, kept, n);
    t1_put(e, "p%u |= m;\n}\nS%u:;\n", next, k);
}
