/* Tier 1 emitter: what must be known of a function before it is written. Which blocks run under masks
 * of their own, which values leave their block, and which leave a loop lane by lane. */
#include "ptx/tier1/emit/emit.h"

static const struct ptx_instr *last_of(const struct ptx_func *f, uint32_t b)
{
    return f->block[b].count ? &f->instr[f->block[b].first + f->block[b].count - 1] : NULL;
}

bool t1_parts_lanes(const struct ptx_func *f, uint32_t b)
{
    const struct ptx_instr *in = last_of(f, b);
    if (!in || f->block[b].nsucc == 0)
        return false;
    uint32_t i = f->block[b].first + f->block[b].count - 1;
    if (in->op == PTX_OP_BRX)
        return in->src[0].kind == PTX_O_REG && ptx_class_at(f, f->instr_src[i][0], b) != PTX_C_UNIFORM;
    bool ends = in->op == PTX_OP_BRA || in->op == PTX_OP_RET || in->op == PTX_OP_EXIT || in->op == PTX_OP_TRAP;
    return ends && in->guard >= 0 && ptx_class_at(f, f->instr_src[i][5], b) != PTX_C_UNIFORM;
}

/* ---- blocks: divergent ones must stand together, and take whole loops with them ---- */

/* Widens the set of blocks that run under a mask until it is closed: a block of a divergent loop is divergent, and
 * so is what lies in the layout between a branch that parts lanes and the block that they are pending for, since the
 * text passes by there. Then marks where pending masks are needed. */
static void spread(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < f->nblock; k++) {
            int32_t h = f->block[k].loop_header;
            for (; h >= 0 && !e->info[k].div; h = f->block[h].loop_parent)
                changed |= e->info[k].div = e->info[h].div;
            if (!e->info[k].div && !t1_parts_lanes(f, k))
                continue;
            for (uint32_t s = 0; s < f->block[k].nsucc; s++) {
                uint32_t t = (uint32_t)f->block[k].succ[s];
                for (uint32_t j = k + 1; e->info[t].div && j < t; j++) {
                    changed |= !e->info[j].div;
                    e->info[j].div = true;
                }
            }
        }
    }
    for (uint32_t k = f->nblock; k-- > 0;)
        e->info[k].run = e->info[k].div && k + 1 < f->nblock && e->info[k + 1].div ? e->info[k + 1].run : k;
    for (uint32_t k = 0; k < f->nblock; k++)
        for (uint32_t s = 0; s < f->block[k].nsucc; s++) {
            uint32_t t = (uint32_t)f->block[k].succ[s];
            e->info[t].pend |= e->info[t].div || e->info[k].div || t1_parts_lanes(f, k);
        }
}

/* ---- values ---- */

static void use(struct t1_emit *e, int32_t value, uint32_t block)
{
    if (value < 0)
        return;
    if (e->read) {
        e->read[value] = 1;
        return;
    }
    const struct ptx_value *v = &e->f->value[value];
    struct t1_value *x = &e->value[value];
    x->again |= x->used;
    x->used = true;
    if (v->block != (int32_t)block)
        x->global = true;
    if (ptx_outside(e->f, v->block, (int32_t)block))
        x->escapes = x->global = true;
}

static void use_opnd(struct t1_emit *e, const struct ptx_opnd *o, int32_t value, uint32_t block)
{
    if (o->kind == PTX_O_REG || (o->kind == PTX_O_ADDR && o->reg >= 0))
        use(e, value, block);
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        use_opnd(e, &e->f->opnd[o->first + k], e->f->opnd_value[o->first + k], block);
}

static void use_old(struct t1_emit *e, const struct ptx_opnd *o, int32_t old, uint32_t block)
{
    if (o->kind == PTX_O_REG)
        use(e, old, block);
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        if (e->f->opnd[o->first + k].kind == PTX_O_REG)
            use(e, e->f->opnd_old[o->first + k], block);
}

static void use_instr(struct t1_emit *e, uint32_t i, uint32_t block)
{
    const struct ptx_func *f = e->f;
    const struct ptx_instr *in = &f->instr[i];
    struct t1_gather g;
    for (unsigned s = 0; s < in->nsrc; s++)
        use_opnd(e, &in->src[s], f->instr_src[i][s], block);
    if (in->guard >= 0) {
        use(e, f->instr_src[i][5], block);
        for (unsigned d = 0; d < in->ndst; d++)
            use_old(e, &in->dst[d], f->instr_old[i][d], block);
    }
    bool memory = in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ST;
    if (memory && in->src[0].kind == PTX_O_ADDR && in->src[0].reg >= 0 &&
        t1_gather_form(f, f->instr_src[i][0], block, &g)) {
        use(e, g.index, block);
        if (g.base >= 0)
            use(e, g.base, block);
    }
}

static void use_block(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[k];
    for (uint32_t i = b->first; i < b->first + b->count; i++)
        use_instr(e, i, k);
    for (uint32_t s = 0; s < b->nsucc; s++) {
        const struct ptx_block *t = &f->block[b->succ[s]];
        for (uint32_t q = 0; q < t->npred; q++)
            for (uint32_t p = 0; t->pred[q] == (int32_t)k && p < t->nphi; p++)
                if (t->phi[p].src[q] != t->phi[p].dst)
                    use(e, t->phi[p].src[q], k);
    }
}

void t1_values_read(struct t1_emit *e, uint32_t block, uint8_t *read)
{
    e->read = read;
    use_block(e, block);
    e->read = NULL;
}

static void classify(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    for (uint32_t v = 0; v < f->nvalue; v++) {
        struct t1_value *x = &e->value[v];
        unsigned c = f->value[v].kind, type = f->reg[f->value[v].reg].type;
        x->rep = c == PTX_C_UNIFORM || c == PTX_C_AFFINE       ? T1_U
                 : c == PTX_C_UNIFORM_G || c == PTX_C_AFFINE_G ? T1_G
                                                               : T1_V;
        x->kind = ptx_type_size(type) > 8 ? T1_K_NONE : t1_kind_of(e, type);
        x->global = f->value[v].instr < 0;
        if (x->rep == T1_V && f->value[v].block < 0)
            x->rep = T1_U; /* a constant stands for it */
    }
    for (uint32_t k = 0; k < f->nblock; k++)
        use_block(e, k);
    for (uint32_t v = 0; v < f->nvalue; v++)
        if (e->value[v].used && e->value[v].kind == T1_K_NONE && f->value[v].block >= 0)
            t1_fail(e, "128-bit values are not supported");
}

/* ---- where values begin ---- */

/* What lanes make of a value one after the other is put together by masks, in what must have been something before:
 * zeros, or for integers whatever is there (T1_BEGIN), while floats of no meaning may take a hundred times as long. A
 * kernel of many ways, of which a launch takes one, would spend its time on the zeros of all others if these were
 * made at its top: they are made at the block that dominates all places where the value is assigned, outside of
 * loops. Few are made at the top, where they cost nothing and compilers see that they are zeros. */

static void mark_float(struct t1_emit *e, const struct ptx_opnd *o, int32_t value)
{
    if (o->kind == PTX_O_REG && value >= 0)
        e->value[value].floats = true;
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        mark_float(e, &e->f->opnd[o->first + k], e->f->opnd_value[o->first + k]);
}

static void find_floats(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        bool floats = in->op == PTX_OP_MMA || in->op == PTX_OP_WMMA;
        for (unsigned t = 0; t < sizeof in->type / sizeof *in->type; t++)
            floats |= ptx_type_is_float(in->type[t]);
        for (unsigned s = 0; floats && s < in->nsrc; s++)
            mark_float(e, &in->src[s], f->instr_src[i][s]);
        for (unsigned d = 0; floats && d < in->ndst; d++)
            mark_float(e, &in->dst[d], f->instr_dst[i][d]);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < f->nblock; k++)
            for (uint32_t p = 0; p < f->block[k].nphi; p++) {
                const struct ptx_phi *phi = &f->block[k].phi[p];
                bool any = e->value[phi->dst].floats;
                for (uint32_t q = 0; q < f->block[k].npred; q++)
                    any |= phi->src[q] >= 0 && e->value[phi->src[q]].floats;
                changed |= any && !e->value[phi->dst].floats;
                e->value[phi->dst].floats = any;
                for (uint32_t q = 0; any && q < f->block[k].npred; q++)
                    if (phi->src[q] >= 0 && !e->value[phi->src[q]].floats)
                        changed = e->value[phi->src[q]].floats = true;
            }
    }
}

/* Blocks are in reverse postorder: a dominator's number is less. */
static uint32_t common_dominator(const struct ptx_func *f, uint32_t a, uint32_t b)
{
    while (a != b) {
        const int32_t up = f->block[a > b ? a : b].idom;
        if (up < 0)
            return 0;
        *(a > b ? &a : &b) = (uint32_t)up;
    }
    return a;
}

/* By value: the block that dominates all places where it is assigned, outside of loops. */
static uint32_t *find_beginnings(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    int32_t *back = t1_alloc(e, f->nblock + 1, sizeof *back); /* by block: +1, -1 where edges back begin and end */
    uint32_t *at = t1_alloc(e, f->nvalue + 1, sizeof *at);
    for (uint32_t k = 0; k < f->nblock; k++)
        for (uint32_t s = 0; s < f->block[k].nsucc; s++)
            if (f->block[k].succ[s] <= (int32_t)k) {
                back[f->block[k].succ[s]]++;
                back[k + 1]--;
            }
    for (uint32_t k = 1; k < f->nblock; k++)
        back[k] += back[k - 1];
    for (uint32_t v = 0; v < f->nvalue; v++)
        at[v] = f->value[v].block >= 0 ? (uint32_t)f->value[v].block : 0;
    for (uint32_t k = 0; k < f->nblock; k++) /* phis are assigned at the ends of the blocks before */
        for (uint32_t p = 0; p < f->block[k].nphi; p++)
            for (uint32_t q = 0; q < f->block[k].npred; q++) {
                uint32_t *const x = &at[f->block[k].phi[p].dst];
                *x = common_dominator(f, *x, (uint32_t)f->block[k].pred[q]);
            }
    for (uint32_t v = 0; v < f->nvalue; v++)
        while (at[v] && back[at[v]])
            at[v] = (uint32_t)f->block[at[v]].idom;
    return at;
}

static bool is_declared(const struct t1_emit *e, uint32_t v)
{
    return e->value[v].used && e->value[v].global && !e->value[v].home && e->f->value[v].block >= 0;
}

static void place_beginnings(struct t1_emit *e)
{
    enum { FEW = 96 };
    const struct ptx_func *f = e->f;
    uint32_t pieces = 0;
    for (uint32_t v = 0; v < f->nvalue; v++)
        if (is_declared(e, v) && e->value[v].rep == T1_V && e->value[v].kind != T1_K_PRED)
            pieces += (e->value[v].kind == T1_K_64 ? 2 : 1) * e->np;
    e->zeros = pieces <= FEW;
    if (!e->zeros)
        find_floats(e);
    const uint32_t *at = e->zeros || e->loose ? NULL : find_beginnings(e);
    for (uint32_t k = 0; k < f->nblock; k++)
        e->info[k].begun = -1;
    for (uint32_t v = f->nvalue; v-- > 0;) {
        const uint32_t b = at ? at[v] : 0;
        if (!is_declared(e, v))
            continue;
        e->value[v].next = e->info[b].begun;
        e->info[b].begun = (int32_t)v;
    }
}

void t1_plan(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    e->value = t1_alloc(e, f->nvalue + 1, sizeof *e->value);
    e->info = t1_alloc(e, f->nblock + 1, sizeof *e->info);
    for (uint32_t k = 0; k < f->nblock; k++)
        e->info[k].div = f->block[k].divergent;
    spread(e);
    classify(e);
    t1_find_homes(e);
    place_beginnings(e);
    for (uint32_t k = 0; k < f->nblock; k++)
        e->info[k].pend |= f->block[k].loose;
}
