/* Which values are the same for all lanes of a warp, which step evenly from lane to lane, and where
 * lanes part and meet: an optimistic fixpoint over SSA form, for one launch shape. */
#include "ptx/analysis/analyse.h"

#include "ptx/front/front.h"
#include "ptx/analysis/reconverge.h"

#include <string.h>

/* A range that has grown so often has no bound; passes over the blocks after which all varies. */
enum { MAX_WIDEN = 3, MAX_ROUNDS = 150 };
static const uint64_t work_limit = 50 * 1000 * 1000; /* beyond it: everything varies */

/* ---- values ---------------------------------------------------------------------------------- */

static struct ptx_fact fact_at(const struct ptx_run *r, int32_t value, uint32_t block)
{
    struct ptx_fact f = r->fact[value];
    if (f.state == PTX_FACT_LANES && ptx_outside(r->f, r->f->value[value].block, (int32_t)block)) {
        f.state = PTX_FACT_VARYING;
        f.stride = 0;
        f.grouped = false;
        f.align = 0;
    }
    return f;
}

static struct ptx_fact symbol_fact(const struct ptx_run *r, int32_t sym)
{
    const struct ptx_var *v = ptx_symbol(r->f, sym);
    struct ptx_fact f = ptx_fact_uniform();
    if (v && v->align && v->space != PTX_SP_PARAM)
        f.align = (uint8_t)__builtin_ctz(v->align);
    return f;
}

/* The literal as the signed number of the operand's width. */
static struct ptx_fact imm_fact(const struct ptx_instr *in, const struct ptx_opnd *o)
{
    unsigned type = in->op == PTX_OP_CVT ? in->type[1] : in->type[0], size = ptx_type_size(type);
    bool wide = (in->flags & PTX_F_WIDE) && o == &in->src[2];
    int64_t v = (int64_t)o->imm;
    if (ptx_type_is_float(type))
        return ptx_fact_uniform();
    return ptx_fact_const(wide ? v : size == 4 ? (int32_t)v : size == 2 ? (int16_t)v : v);
}

static struct ptx_fact opnd_fact(const struct ptx_run *r, const struct ptx_instr *in, const struct ptx_opnd *o,
                                 int32_t value, uint32_t block)
{
    switch (o->kind) {
    case PTX_O_REG: return fact_at(r, value, block);
    case PTX_O_IMM: return imm_fact(in, o);
    case PTX_O_SREG: return ptx_fact_sreg((unsigned)o->reg, r->shape);
    case PTX_O_SYM: {
        struct ptx_fact f = symbol_fact(r, o->sym), c = ptx_fact_const((int64_t)o->imm);
        f.align = f.align < c.align ? f.align : c.align;
        return f;
    }
    default: return ptx_fact_varying();
    }
}

/* A load: one value for the warp when all lanes read one address that is not their own memory. */
static struct ptx_fact load_fact(const struct ptx_run *r, const struct ptx_instr *in, uint32_t i, uint32_t block)
{
    const struct ptx_opnd *a = &in->src[0];
    const struct ptx_var *v = a->sym >= 0 ? ptx_symbol(r->f, a->sym) : NULL;
    unsigned space = in->space ? in->space : v ? v->space : PTX_SP_NONE;
    struct ptx_fact base = a->reg >= 0 ? fact_at(r, r->f->instr_src[i][0], block) : ptx_fact_uniform();
    struct ptx_fact f = ptx_fact_varying();
    bool own_param = space == PTX_SP_PARAM && (!r->f->is_entry || (v && PTX_SYM_BAND(a->sym) != PTX_BAND_PARAM));
    if (base.state == PTX_FACT_NONE)
        return base;
    if (base.state == PTX_FACT_LANES && !base.stride && space != PTX_SP_LOCAL && !own_param && in->sem == PTX_WEAK) {
        f = ptx_fact_uniform();
        f.grouped = base.grouped;
    }
    if (in->vec > 1 || in->ndst != 1)
        return f;
    switch (in->type[0]) { /* narrow loads are extended to the register */
    case PTX_U8:
    case PTX_B8: return ptx_fact_range(f, 0, 255);
    case PTX_S8: return ptx_fact_range(f, -128, 127);
    case PTX_U16: return ptx_fact_range(f, 0, 65535);
    case PTX_S16: return ptx_fact_range(f, -32768, 32767);
    default: return f;
    }
}

/* Lanes that ask at once for the phase of one mbarrier are answered at once. */
static struct ptx_fact mbarrier_fact(const struct ptx_run *r, const struct ptx_instr *in, uint32_t i, uint32_t block)
{
    struct ptx_fact f = strstr(in->opcode, "_wait") ? ptx_fact_uniform() : ptx_fact_varying();
    for (unsigned k = 0; k < in->nsrc; k++) {
        const struct ptx_opnd *o = &in->src[k];
        struct ptx_fact a = ptx_fact_uniform();
        if (o->kind != PTX_O_NONE && (o->kind != PTX_O_ADDR || o->reg >= 0))
            a = o->kind == PTX_O_ADDR ? fact_at(r, r->f->instr_src[i][k], block)
                                      : opnd_fact(r, in, o, r->f->instr_src[i][k], block);
        if (a.state == PTX_FACT_NONE)
            return a;
        if (!ptx_fact_is_uniform(&a))
            f = ptx_fact_varying();
    }
    return f;
}

/* Address conversions keep the lanes' pattern, except that each lane has local memory of its own.
 */
static struct ptx_fact cvta_fact(const struct ptx_instr *in, struct ptx_fact a)
{
    if (a.state == PTX_FACT_NONE)
        return a;
    if (in->space == PTX_SP_LOCAL)
        return ptx_fact_varying();
    a.has_range = false;
    if (in->space != PTX_SP_GLOBAL && a.align > 4)
        a.align = 4; /* what the machine below aligns its arenas to */
    return a;
}

/* shfl.idx whose lanes all read the same one, as frameworks write it to tell the compiler that a value is uniform. */
static bool reads_one_lane(const struct ptx_instr *in, const struct ptx_fact *src)
{
    int64_t control; /* the clamp, the mask of segments in bits 8 to 12 */
    return in->sub == PTX_SUB_IDX && ptx_fact_is_uniform(&src[1]) && ptx_fact_is_const(&src[2], &control) &&
           (control & 0x1f1f) == 31 && (in->nsrc < 4 || ptx_fact_is_uniform(&src[3]));
}

/* The fact that an instruction's result has (uniform, affine with a stride, varying; range and alignment) from the
 * facts of its sources: the transfer function of the fixpoint. What reads other lanes or memory that lanes share is
 * varying unless the ISA makes it the same for all; a result is left undefined until all its sources have been
 * visited. */
static struct ptx_fact compute(struct ptx_run *r, const struct ptx_instr *in, uint32_t i, uint32_t block)
{
    struct ptx_fact src[5], any = {0};
    if (in->op == PTX_OP_LD || in->op == PTX_OP_LDU)
        return load_fact(r, in, i, block);
    if (in->op == PTX_OP_MBARRIER)
        return mbarrier_fact(r, in, i, block);
    bool varies = false, none = false, vector = false;
    for (unsigned k = 0; k < in->nsrc; k++) {
        src[k] = ptx_fact_varying();
        if (in->src[k].kind == PTX_O_VEC) {
            src[k] = ptx_fact_uniform();
            vector = true;
            for (unsigned e = 0; e < in->src[k].n; e++) {
                uint32_t at = in->src[k].first + e;
                struct ptx_fact f = opnd_fact(r, in, &r->f->opnd[at], r->f->opnd_value[at], block);
                none |= f.state == PTX_FACT_NONE;
                if (f.stride)
                    f = ptx_fact_varying();
                f.has_range = false;
                f.align = 0;
                src[k] = ptx_fact_join(src[k], f);
            }
            src[k].align = 0;
        } else if (in->src[k].kind != PTX_O_NONE) {
            src[k] = opnd_fact(r, in, &in->src[k], r->f->instr_src[i][k], block);
        } else {
            src[k] = ptx_fact_uniform();
        }
        none |= src[k].state == PTX_FACT_NONE;
        varies |= !ptx_fact_is_uniform(&src[k]);
    }
    if (none)
        return any;
    switch (in->op) {
    case PTX_OP_CVTA: return cvta_fact(in, src[0]);
    case PTX_OP_ACTIVEMASK: return ptx_fact_uniform();
    case PTX_OP_VOTE: /* the predicate may vary, the mask of lanes may not */
        if (in->nsrc < 2)
            return ptx_fact_uniform();
        return ptx_fact_is_uniform(&src[1]) ? ptx_fact_uniform() : ptx_fact_varying();
    case PTX_OP_REDUX: return ptx_fact_is_uniform(&src[1]) ? ptx_fact_uniform() : ptx_fact_varying();
    case PTX_OP_BAR:
    case PTX_OP_BARRIER: return ptx_fact_uniform();
    case PTX_OP_SHFL: return reads_one_lane(in, src) ? ptx_fact_uniform() : ptx_fact_varying();
    case PTX_OP_ATOM:
    case PTX_OP_MATCH:
    case PTX_OP_CALL:
    case PTX_OP_ELECT:
    case PTX_OP_ALLOCA:
    case PTX_OP_STACKSAVE:
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
    case PTX_OP_SULD:
    case PTX_OP_MMA:
    case PTX_OP_WMMA:
    case PTX_OP_LDMATRIX:
    case PTX_OP_MOVMATRIX:
    case PTX_OP_WGMMA:
    case PTX_OP_CP:
    case PTX_OP_MULTIMEM: return ptx_fact_varying();
    case PTX_OP_TCGEN05: /* whether the warp has got columns, or what lies in them */
        return ptx_allocates(in) ? ptx_fact_uniform() : ptx_fact_varying();
    case PTX_OP_ADDC:
    case PTX_OP_SUBC:
    case PTX_OP_MADC: /* read a flag that has no value number */ return ptx_fact_varying();
    default: break;
    }
    struct ptx_prepared p;
    if (in->op == PTX_OP_SHR && r->shape->ngiven && ptx_prepared_division(r->f, i, &p) &&
        ptx_division_given(r->shape, &p)) {
        struct ptx_fact number = fact_at(r, p.number, block), by = ptx_fact_uniform();
        by.align = 5;
        any = ptx_fact_quotient(&number, &by, false);
        if (any.state == PTX_FACT_LANES)
            return any;
    }
    int32_t number, by;
    if (ptx_left_over(r->f, i, &number, &by)) {
        const struct ptx_fact a = fact_at(r, number, block), b = fact_at(r, by, block);
        any = ptx_fact_apply(in, src, in->nsrc);
        return a.has_range && a.lo >= 0 && b.has_range && b.lo > 0
                   ? ptx_fact_range(any, 0, a.hi < b.hi ? a.hi : b.hi - 1)
                   : any;
    }
    bool parts = in->dst[0].kind == PTX_O_VEC;
    if (in->op == PTX_OP_MOV && (vector || parts)) {
        if (varies && (src[0].state != PTX_FACT_LANES || src[0].stride))
            return ptx_fact_varying();
        any = ptx_fact_uniform();
        any.grouped = src[0].grouped;
        return any;
    }
    return !parts && !vector ? ptx_fact_apply(in, src, in->nsrc) : ptx_fact_varying();
}

static bool same(const struct ptx_fact *a, const struct ptx_fact *b)
{
    return a->state == b->state && a->grouped == b->grouped && a->stride == b->stride && a->align == b->align &&
           a->has_range == b->has_range && a->lo == b->lo && a->hi == b->hi;
}

/* Facts only ever get weaker, so that the passes end. */
static void update(struct ptx_run *r, int32_t value, struct ptx_fact f)
{
    struct ptx_fact *old = &r->fact[value];
    if (f.state == PTX_FACT_NONE)
        return;
    if (r->f->reg[r->f->value[value].reg].type == PTX_PRED && f.grouped)
        f = ptx_fact_varying();
    if (old->state != PTX_FACT_NONE) {
        bool grew = old->has_range && (!f.has_range || f.lo < old->lo || f.hi > old->hi);
        f = ptx_fact_join(*old, f);
        if (!old->has_range || (grew && ++r->widened[value] > MAX_WIDEN))
            f.has_range = false;
        if (!f.has_range)
            f.lo = f.hi = 0;
    }
    if (f.state == PTX_FACT_VARYING)
        f.align = 0;
    if (same(old, &f))
        return;
    *old = f;
    r->changed = true;
}

static void visit_phis(struct ptx_run *r, uint32_t k)
{
    const struct ptx_block *b = &r->f->block[k];
    for (uint32_t p = 0; p < b->nphi; p++) {
        struct ptx_fact f = {0};
        bool different = false;
        int32_t one = -1;
        for (uint32_t s = 0; s < b->npred; s++) {
            int32_t v = b->phi[p].src[s];
            f = ptx_fact_join(f, fact_at(r, v, k));
            if (v == b->phi[p].dst)
                continue;
            different |= one >= 0 && v != one;
            one = v;
        }
        if (b->join && different && f.state == PTX_FACT_LANES) {
            f.state = PTX_FACT_VARYING;
            f.stride = 0;
            f.grouped = false;
        }
        update(r, b->phi[p].dst, f);
    }
}

/* Updates the facts of what one instruction defines. Under a guard the old value shows through where the guard is
 * false, so the result is joined with it, and is varying if lanes may disagree on the guard. Only vote's first
 * result is the same for all lanes. */
static void visit_instr(struct ptx_run *r, uint32_t i, uint32_t k)
{
    struct ptx_func *f = r->f;
    const struct ptx_instr *in = &f->instr[i];
    ptx_slots_of(r->c, f, i, &r->slots);
    bool any = false;
    for (uint32_t s = 0; s < r->slots.n; s++)
        any |= r->slots.slot[s].role == PTX_DEF;
    if (!any)
        return;
    struct ptx_fact made = compute(r, in, i, k);
    uint32_t nth = 0, olds = 0;
    for (uint32_t s = 0; s < r->slots.n; s++)
        olds += r->slots.slot[s].role == PTX_USE;
    for (uint32_t s = 0; s < r->slots.n; s++) {
        if (r->slots.slot[s].role != PTX_DEF)
            continue;
        struct ptx_fact f2 = made;
        if (nth && in->op == PTX_OP_VOTE)
            f2 = ptx_fact_varying();
        if (in->op == PTX_OP_LD && made.state != PTX_FACT_NONE)
            ptx_fact_given(r, *r->slots.slot[s].value, &f2);
        if (in->guard >= 0 && made.state != PTX_FACT_NONE) {
            struct ptx_fact guard = fact_at(r, f->instr_src[i][5], k);
            struct ptx_fact old = fact_at(r, *r->slots.slot[olds + nth].value, k);
            f2 = ptx_fact_join(made, old);
            if (!ptx_fact_is_uniform(&guard)) {
                f2.state = PTX_FACT_VARYING;
                f2.stride = 0;
                f2.grouped = false;
            }
        }
        nth++;
        update(r, *r->slots.slot[s].value, f2);
    }
}

static void set(struct ptx_run *r, bool *flag)
{
    r->changed |= !*flag;
    *flag = true;
}

/* Lanes diverge at the end of block k: what the one definition of reconvergence says of that. */
static void mark_divergence(struct ptx_run *r, uint32_t k)
{
    struct ptx_divergence *p = &r->divergence;
    ptx_diverge_at(p, (int32_t)k);
    for (uint32_t i = 0; i < p->n; i++) {
        struct ptx_block *b = &r->f->block[p->block[i]];
        const unsigned mark = p->mark[p->block[i]];
        if (mark & PTX_MARK_DIVERGENT)
            set(r, &b->divergent);
        if (mark & PTX_MARK_JOIN)
            set(r, &b->join);
        if (mark & PTX_MARK_LEFT)
            set(r, &b->left_divergently);
    }
}

static void visit_end(struct ptx_run *r, uint32_t k)
{
    struct ptx_func *f = r->f;
    const struct ptx_block *b = &f->block[k];
    if (!b->count || r->diverges[k])
        return;
    uint32_t i = b->first + b->count - 1;
    const struct ptx_instr *in = &f->instr[i];
    bool leaves = in->op == PTX_OP_RET || in->op == PTX_OP_EXIT || in->op == PTX_OP_TRAP;
    struct ptx_fact g = ptx_fact_uniform();
    if (in->guard >= 0 && (b->nsucc > 1 || (leaves && b->nsucc)))
        g = fact_at(r, f->instr_src[i][5], k);
    if (in->op == PTX_OP_BRX && in->src[0].kind == PTX_O_REG && b->nsucc > 1)
        g = ptx_fact_join(g, fact_at(r, f->instr_src[i][0], k));
    if (g.state == PTX_FACT_NONE || ptx_fact_is_uniform(&g))
        return;
    r->diverges[k] = 1;
    r->changed = true;
    mark_divergence(r, k);
}

/* Too tangled to finish in reasonable time: the answer that is always right. */
static void give_up(struct ptx_run *r)
{
    for (uint32_t v = 0; v < r->f->nvalue; v++)
        r->fact[v] = ptx_fact_varying();
    for (uint32_t k = 0; k < r->f->nblock; k++) {
        struct ptx_block *b = &r->f->block[k];
        b->divergent = b->join = true;
        b->left_divergently = b->loop_header == (int32_t)k;
    }
}

static void store(struct ptx_run *r)
{
    struct ptx_func *f = r->f;
    for (uint32_t v = 0; v < f->nvalue; v++) {
        const struct ptx_fact *a = &r->fact[v];
        struct ptx_value *out = &f->value[v];
        if (a->state == PTX_FACT_VARYING)
            out->kind = PTX_C_VARYING;
        else if (a->stride)
            out->kind = a->grouped ? PTX_C_AFFINE_G : PTX_C_AFFINE;
        else
            out->kind = a->grouped ? PTX_C_UNIFORM_G : PTX_C_UNIFORM;
        out->stride = a->stride;
        out->align_log2 = a->align;
        out->has_range = a->has_range;
        out->lo = a->lo;
        out->hi = a->hi;
    }
}

/* Runs the fixpoint: all facts start at the top of the lattice and only go down, and so does the set of divergent
 * blocks, each of which may make phis varying and so more branches divergent. Both limits exist because the cost is
 * quadratic in odd graphs; giving up means that all is varying, which is always right. */
static void analyse(struct ptx_run *r)
{
    struct ptx_func *f = r->f;
    r->fact = PTX_NEW(r->c, struct ptx_fact, f->nvalue);
    r->widened = PTX_NEW(r->c, uint8_t, f->nvalue);
    r->diverges = PTX_NEW(r->c, uint8_t, f->nblock);
    ptx_divergence_init(&r->divergence, f, PTX_NEW(r->c, int32_t, PTX_DIVERGENCE_WORDS(f)));
    for (uint32_t v = 0; v < f->nvalue; v++) /* what nobody defined: a parameter, or garbage */
        if (f->value[v].block < 0)
            r->fact[v] = f->is_entry ? ptx_fact_uniform() : ptx_fact_varying();
    for (uint32_t k = 0; k < f->nblock; k++) {
        struct ptx_block *b = &f->block[k];
        b->divergent = !f->is_entry || b->loose; /* a function is called under the caller's mask */
        b->join = b->loose;
        for (uint32_t p = 0; p < b->npred; p++)
            b->join |= f->block[b->pred[p]].loose;
        b->left_divergently = false;
    }
    unsigned passes = 0;
    do {
        r->changed = false;
        if (++passes > MAX_ROUNDS || r->divergence.work > work_limit) {
            give_up(r);
            break;
        }
        for (uint32_t k = 0; k < f->nblock && r->divergence.work <= work_limit; k++) {
            visit_phis(r, k);
            for (uint32_t i = 0; i < f->block[k].count; i++)
                visit_instr(r, f->block[k].first + i, k);
            visit_end(r, k);
        }
    } while (r->changed || r->divergence.work > work_limit);
    store(r);
}

int ptx_analyse(struct ptx_func *f, const struct ptx_shape *shape, struct ptx_diag *diag)
{
    struct ptx_diag local;
    struct ptx_ctx c = {.diag = diag ? diag : &local};
    if (ptx_ssa_build(f, diag))
        return -1;
    *c.diag = (struct ptx_diag){0};
    c.arena = ptx_arena_new(); /* nothing of it outlives the call */
    struct ptx_arena *own = c.arena;
    if (!own) {
        strcpy(c.diag->msg, "out of memory");
        return -1;
    }
    if (setjmp(c.out)) {
        ptx_arena_free(own);
        return -1;
    }
    analyse(&(struct ptx_run){.c = &c, .f = f, .shape = shape});
    ptx_arena_free(own);
    return 0;
}

unsigned ptx_class_at(const struct ptx_func *f, int32_t value, uint32_t block)
{
    const struct ptx_value *v = &f->value[value];
    return ptx_outside(f, v->block, (int32_t)block) ? PTX_C_VARYING : v->kind;
}
