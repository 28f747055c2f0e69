/* Tier 1 emitter: which loops may wait for other threads. One does if what decides over leaving it depends on memory
 * that others may write meanwhile, by data or by control, unless it ends by its own doing. Nothing is told by what a
 * lock looks like. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

enum { STEPS = 16 };                                 /* of a chain of copies, or of arithmetic that gives an address */
enum { READS = 1, MEETS = 2, WAITS = 4, KNOWN = 8 }; /* of a function and all that it calls */

struct depend { /* of one loop */
    struct t1_emit *e;
    const struct ptx_func *f;
    int32_t h;
    uint8_t *value;             /* depends on others */
    uint8_t *phis, *run, *done; /* by block: its phis do; whether it runs does; its branch has been followed */
    bool own_memory;            /* what threads keep for themselves does */
    bool changed;
    struct ptx_divergence p;
};

/* ---- functions that are called ---- */

static bool reads_others(const struct ptx_instr *in)
{
    return in->op == PTX_OP_ATOM || in->op == PTX_OP_MBARRIER || in->op == PTX_OP_MULTIMEM || ptx_allocates(in) ||
           (in->op == PTX_OP_LD && in->sem != PTX_WEAK);
}

static unsigned effects_of(struct t1_emit *e, const struct ptx_func *f);

/* The device's runtime (printf and the like) neither waits nor lets lanes meet; what is not known may do anything. */
static unsigned call_effects(struct t1_emit *e, const struct ptx_instr *in)
{
    if (in->src[0].kind != PTX_O_SYM || PTX_SYM_BAND(in->src[0].sym) != PTX_BAND_FUNC)
        return READS | MEETS | WAITS;
    const struct ptx_func *f = &e->module->func[PTX_SYM_INDEX(in->src[0].sym)];
    f = f->is_decl ? ptx_module_func(e->module, f->name) : f;
    return f && !f->is_decl ? effects_of(e, f) : 0;
}

static unsigned effects_of(struct t1_emit *e, const struct ptx_func *f)
{
    if (!e->effects)
        e->effects = t1_alloc(e, e->module->nfunc + 1, 1);
    if (e->effects[f->number])
        return e->effects[f->number];
    e->effects[f->number] = KNOWN;         /* should it call itself */
    const uint32_t index = t1_reach(e, f); /* which may move the list */
    struct ptx_func *g = e->reached.func[index];
    unsigned what = KNOWN;
    bool loops = false;
    struct ptx_diag diag;
    if (g->block || ptx_func_parse(g, &diag))
        return e->effects[f->number] = KNOWN | READS | MEETS | WAITS;
    for (uint32_t i = 0; i < g->ninstr; i++) {
        const struct ptx_instr *in = &g->instr[i];
        what |= in->op == PTX_OP_CALL ? call_effects(e, in) : ptx_waits_for_lanes(in) ? MEETS : 0;
        what |= reads_others(in) ? READS : 0;
        loops |= in->op == PTX_OP_BRX || (in->op == PTX_OP_BRA && g->label_instr[in->src[0].reg] <= (int32_t)i);
    }
    what |= loops && (what & READS) ? WAITS : 0;
    return e->effects[f->number] = (uint8_t)what;
}

bool t1_call_meets(struct t1_emit *e, const struct ptx_instr *in) { return call_effects(e, in) & MEETS; }

bool t1_call_waits(struct t1_emit *e, const struct ptx_instr *in) { return call_effects(e, in) & WAITS; }

/* ---- values ---- */

static const struct ptx_instr *maker(const struct ptx_func *f, int32_t v)
{
    return v >= 0 && f->value[v].instr >= 0 ? &f->instr[f->value[v].instr] : NULL;
}

/* The value that this one is a copy of. */
static int32_t original(const struct ptx_func *f, int32_t v)
{
    for (unsigned step = 0; step < STEPS && v >= 0; step++) {
        const struct ptx_instr *in = maker(f, v);
        int32_t from = -1;
        if (in && in->op == PTX_OP_MOV && in->guard < 0 && in->src[0].kind == PTX_O_REG && in->dst[0].kind == PTX_O_REG)
            from = f->instr_src[f->value[v].instr][0];
        const struct ptx_block *b = !in && f->value[v].block >= 0 ? &f->block[f->value[v].block] : NULL;
        for (uint32_t p = 0; b && p < b->nphi; p++)
            for (uint32_t s = 0; b->phi[p].dst == v && s < b->npred; s++) {
                int32_t x = b->phi[p].src[s];
                if (x != v)
                    from = from == -1 || from == x ? x : -2;
            }
        if (from < 0)
            break;
        v = from;
    }
    return v;
}

/* The same in every round of the loop. */
static bool is_invariant(const struct ptx_func *f, int32_t v, int32_t h, unsigned steps)
{
    if (v < 0 || f->value[v].block < 0 || !ptx_in_loop(f, f->value[v].block, h))
        return true;
    const struct ptx_instr *in = maker(f, v);
    if (!in || !steps || in->guard >= 0 || in->dst[0].kind != PTX_O_REG)
        return false;
    switch (in->op) {
    case PTX_OP_MOV:
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_SHL:
    case PTX_OP_CVT:
    case PTX_OP_CVTA:
    case PTX_OP_AND:
    case PTX_OP_OR: break;
    default: return false;
    }
    for (unsigned s = 0; s < in->nsrc; s++)
        if (in->src[s].kind == PTX_O_VEC || in->src[s].kind == PTX_O_SREG ||
            (in->src[s].kind == PTX_O_REG && !is_invariant(f, f->instr_src[f->value[v].instr][s], h, steps - 1)))
            return false;
    return true;
}

/* An address in the thread's own local memory. */
static bool is_private(const struct ptx_func *f, int32_t v, unsigned steps)
{
    const struct ptx_instr *in = maker(f, v);
    if (!in || !steps)
        return false;
    if (in->op == PTX_OP_CVTA && in->space == PTX_SP_LOCAL)
        return true;
    if (in->op != PTX_OP_ADD && in->op != PTX_OP_SUB && in->op != PTX_OP_MOV)
        return false;
    for (unsigned s = 0; s < in->nsrc; s++)
        if (in->src[s].kind == PTX_O_REG && is_private(f, f->instr_src[f->value[v].instr][s], steps - 1))
            return true;
    return false;
}

static unsigned space_of(const struct ptx_func *f, uint32_t i)
{
    const struct ptx_instr *in = &f->instr[i];
    const struct ptx_opnd *a = &in->src[0];
    const struct ptx_var *v = a->sym >= 0 ? ptx_symbol(f, a->sym) : NULL;
    unsigned space = in->space ? in->space : v ? v->space : PTX_SP_NONE;
    return a->kind == PTX_O_ADDR && a->reg >= 0 && is_private(f, f->instr_src[i][0], STEPS) ? PTX_SP_LOCAL : space;
}

/* A weak load counts where its address stays the same: the compiler had reason not to move it out of the loop. */
static bool depends_on_others(struct depend *d, uint32_t i)
{
    const struct ptx_instr *in = &d->f->instr[i];
    const unsigned space = in->op == PTX_OP_LD || in->op == PTX_OP_LDU ? space_of(d->f, i) : PTX_SP_NONE;
    if (in->op == PTX_OP_CALL)
        return call_effects(d->e, in) & READS;
    if (in->op != PTX_OP_LD)
        return reads_others(in);
    if (space == PTX_SP_LOCAL || space == PTX_SP_PARAM || space == PTX_SP_CONST || (in->flags & PTX_F_NC))
        return false;
    return in->sem != PTX_WEAK || in->src[0].reg < 0 || is_invariant(d->f, d->f->instr_src[i][0], d->h, STEPS);
}

static bool reads(const struct depend *d, const struct ptx_opnd *o, int32_t v)
{
    if (o->kind == PTX_O_REG || (o->kind == PTX_O_ADDR && o->reg >= 0))
        return v >= 0 && d->value[v];
    for (unsigned k = 0; o->kind == PTX_O_VEC && k < o->n; k++)
        if (reads(d, &d->f->opnd[o->first + k], d->f->opnd_value[o->first + k]))
            return true;
    return false;
}

static void set(struct depend *d, uint8_t *flag)
{
    d->changed |= !*flag;
    *flag = 1;
}

static void follow_instr(struct depend *d, uint32_t i, uint32_t k)
{
    const struct ptx_func *f = d->f;
    const struct ptx_instr *in = &f->instr[i];
    bool any = depends_on_others(d, i) || (in->guard >= 0 && d->value[f->instr_src[i][5]]);
    for (unsigned s = 0; s < in->nsrc && !any; s++)
        any = reads(d, &in->src[s], f->instr_src[i][s]);
    const bool memory = in->op == PTX_OP_LD || in->op == PTX_OP_ST;
    const unsigned space = memory && (any || d->own_memory || d->run[k]) ? space_of(f, i) : PTX_SP_NONE;
    const bool own = space == PTX_SP_LOCAL || space == PTX_SP_PARAM;
    if (((in->op == PTX_OP_ST && own && (any || d->run[k])) || (in->op == PTX_OP_CALL && any)) && !d->own_memory)
        d->own_memory = d->changed = true;
    if (!any && !(in->op == PTX_OP_LD && own && d->own_memory))
        return;
    for (unsigned n = 0; n < in->ndst; n++) {
        if (in->dst[n].kind == PTX_O_REG && f->instr_dst[i][n] >= 0)
            set(d, &d->value[f->instr_dst[i][n]]);
        for (unsigned m = 0; in->dst[n].kind == PTX_O_VEC && m < in->dst[n].n; m++)
            if (f->opnd_value[in->dst[n].first + m] >= 0)
                set(d, &d->value[f->opnd_value[in->dst[n].first + m]]);
    }
}

static bool branch_depends(const struct depend *d, uint32_t k)
{
    const struct ptx_block *b = &d->f->block[k];
    if (!b->count || b->nsucc < 2)
        return false;
    const uint32_t i = b->first + b->count - 1;
    const struct ptx_instr *in = &d->f->instr[i];
    return (in->guard >= 0 && d->value[d->f->instr_src[i][5]]) ||
           (in->op == PTX_OP_BRX && reads(d, &in->src[0], d->f->instr_src[i][0]));
}

/* What runs, and which phis are chosen, by a branch that depends on others; rounds of an inner loop count as well. */
static void follow_branch(struct depend *d, uint32_t k)
{
    if (d->done[k] || !branch_depends(d, k))
        return;
    d->done[k] = 1;
    ptx_diverge_at(&d->p, (int32_t)k);
    for (uint32_t n = 0; n < d->p.n; n++) {
        const int32_t t = d->p.block[n];
        if (!ptx_in_loop(d->f, t, d->h))
            continue;
        if (d->p.mark[t] & (PTX_MARK_JOIN | (t == d->h ? 0 : PTX_MARK_LEFT)))
            set(d, &d->phis[t]);
        if (d->p.mark[t] & PTX_MARK_DIVERGENT && !(d->p.mark[d->h] & PTX_MARK_LEFT))
            set(d, &d->run[t]);
    }
}

static void follow_phis(struct depend *d, uint32_t k)
{
    const struct ptx_block *b = &d->f->block[k];
    for (uint32_t p = 0; p < b->nphi; p++) {
        bool any = d->phis[k];
        for (uint32_t s = 0; s < b->npred; s++)
            any |= b->phi[p].src[s] >= 0 && d->value[b->phi[p].src[s]];
        if (any)
            set(d, &d->value[b->phi[p].dst]);
    }
}

/* ---- loops that end by their own doing ---- */

static bool dominates(const struct ptx_func *f, int32_t a, int32_t b)
{
    while (b > a)
        b = f->block[b].idom;
    return a == b;
}

static bool every_round(const struct ptx_func *f, int32_t k, int32_t h)
{
    const struct ptx_block *b = &f->block[h];
    for (uint32_t p = 0; p < b->npred; p++)
        if (ptx_in_loop(f, b->pred[p], h) && !dominates(f, k, b->pred[p]))
            return false;
    return true;
}

/* A compare-and-swap that retries with what it has read fails only where another one has succeeded. */
static bool is_retry(const struct ptx_func *f, int32_t h, int32_t result, int32_t compared)
{
    const struct ptx_instr *in = maker(f, result);
    const int32_t i = in ? f->value[result].instr : -1, at = in ? f->value[result].block : -1;
    if (!in || in->op != PTX_OP_ATOM || in->sub != PTX_SUB_CAS || in->guard >= 0 || !ptx_in_loop(f, at, h) ||
        in->src[1].kind != PTX_O_REG || original(f, f->instr_src[i][1]) != compared || compared < 0 ||
        f->value[compared].block != h || f->value[compared].instr >= 0 || !every_round(f, at, h) ||
        (in->src[0].reg >= 0 && !is_invariant(f, f->instr_src[i][0], h, STEPS)))
        return false;
    const struct ptx_block *b = &f->block[h];
    for (uint32_t p = 0; p < b->nphi; p++)
        for (uint32_t s = 0; b->phi[p].dst == compared && s < b->npred; s++)
            if (ptx_in_loop(f, b->pred[s], h) && original(f, b->phi[p].src[s]) != result)
                return false;
    return true;
}

/* A counter that every round moves on reaches its limit. */
static bool is_counter(const struct ptx_func *f, int32_t h, int32_t result, const struct ptx_opnd *limit, int32_t v)
{
    const struct ptx_instr *in = maker(f, result);
    const int32_t i = in ? f->value[result].instr : -1, at = in ? f->value[result].block : -1;
    if (!in || in->op != PTX_OP_ATOM || in->sub != PTX_SUB_ADD || in->guard >= 0 || !ptx_in_loop(f, at, h) ||
        !every_round(f, at, h) || (in->src[0].reg >= 0 && !is_invariant(f, f->instr_src[i][0], h, STEPS)) ||
        (limit->kind != PTX_O_IMM && (limit->kind != PTX_O_REG || !is_invariant(f, v, h, STEPS))))
        return false;
    if (in->src[1].kind == PTX_O_IMM)
        return (int32_t)in->src[1].imm > 0;
    const int32_t by = in->src[1].kind == PTX_O_REG ? f->instr_src[i][1] : -1;
    return by >= 0 && f->value[by].has_range && f->value[by].lo > 0;
}

/* Does the loop end, whatever the others do not do, by the exit at the end of block k? A lane stays only where the
 * comparison at its end says so, and that cannot be for ever. */
static bool ends_alone(const struct ptx_func *f, int32_t h, uint32_t k)
{
    const struct ptx_block *b = &f->block[k];
    if (!b->count || b->nsucc != 2 || !every_round(f, (int32_t)k, h))
        return false;
    const uint32_t last = b->first + b->count - 1;
    const struct ptx_instr *branch = &f->instr[last];
    const bool first = ptx_in_loop(f, b->succ[0], h), second = ptx_in_loop(f, b->succ[1], h);
    if (branch->op != PTX_OP_BRA || branch->guard < 0 || first == second)
        return false;
    bool stay = first != branch->guard_neg; /* what the predicate is in a lane that stays */
    int32_t p = original(f, f->instr_src[last][5]);
    const struct ptx_instr *in = maker(f, p);
    if (in && in->op == PTX_OP_NOT && in->guard < 0) {
        stay = !stay;
        p = original(f, f->instr_src[f->value[p].instr][0]);
        in = maker(f, p);
    }
    if (!in || in->op != PTX_OP_SETP || in->guard >= 0 || in->nsrc != 2 || in->ndst != 1 || in->type[0] == PTX_F32 ||
        in->type[0] == PTX_F64 || in->type[0] == PTX_F16)
        return false;
    const int32_t *v = f->instr_src[f->value[p].instr];
    int32_t o[2];
    for (unsigned s = 0; s < 2; s++)
        o[s] = in->src[s].kind == PTX_O_REG ? original(f, v[s]) : -1;
    if (in->cmp == (stay ? PTX_NE : PTX_EQ))
        return is_retry(f, h, o[0], o[1]) || is_retry(f, h, o[1], o[0]);
    if (in->cmp == (stay ? PTX_LT : PTX_GE) || in->cmp == (stay ? PTX_LE : PTX_GT))
        return is_counter(f, h, o[0], &in->src[1], v[1]);
    if (in->cmp == (stay ? PTX_GT : PTX_LE) || in->cmp == (stay ? PTX_GE : PTX_LT))
        return is_counter(f, h, o[1], &in->src[0], v[0]);
    return false;
}

/* ---- the loops of a function ---- */

/* Follows what depends on others through the values, the branches and the thread's own memory of the loop, up to its
 * exits: a loop without any such instruction is done at once. */
static bool waits(struct depend *d, uint32_t h)
{
    const struct ptx_func *f = d->f;
    const uint32_t end = (uint32_t)d->p.loop_end[h];
    bool any = false;
    d->h = (int32_t)h;
    d->own_memory = false;
    memset(d->value, 0, f->nvalue);
    memset(d->phis, 0, 3 * (size_t)f->nblock);
    for (uint32_t k = h; k <= end && !any; k++)
        for (uint32_t i = f->block[k].first; i < f->block[k].first + f->block[k].count; i++)
            any |= depends_on_others(d, i);
    if (!any)
        return false;
    do {
        d->changed = false;
        for (uint32_t k = h; k <= end; k++) {
            follow_phis(d, k);
            for (uint32_t i = f->block[k].first; i < f->block[k].first + f->block[k].count; i++)
                follow_instr(d, i, k);
            follow_branch(d, k);
        }
    } while (d->changed);
    any = false;
    for (uint32_t k = h; k <= end; k++)
        for (uint32_t s = 0; s < f->block[k].nsucc; s++)
            any |= !ptx_in_loop(f, f->block[k].succ[s], d->h) && (branch_depends(d, k) || d->run[k]);
    for (uint32_t k = h; any && k <= end; k++)
        any = !ends_alone(f, d->h, k);
    return any;
}

void t1_find_waits(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    uint8_t *flags = t1_alloc(e, 3 * (size_t)f->nblock + 1, 1);
    struct depend d = {.e = e,
                       .f = f,
                       .value = t1_alloc(e, f->nvalue + 1, 1),
                       .phis = flags,
                       .run = flags + f->nblock,
                       .done = flags + 2 * (size_t)f->nblock};
    ptx_divergence_init(&d.p, f, t1_alloc(e, PTX_DIVERGENCE_WORDS(f), sizeof(int32_t)));
    e->waits = t1_alloc(e, f->nblock + 1, 1);
    for (uint32_t h = 0; h < f->nblock; h++) {
        if (f->block[h].loop_header != (int32_t)h || !waits(&d, h))
            continue;
        e->spins = true;
        e->waits[h] |= T1_WAITS;
        for (int32_t o = (int32_t)h; o >= 0; o = f->block[o].loop_parent)
            e->waits[o] |= T1_WAITS_WITHIN;
    }
    for (uint32_t i = 0; f->irreducible && i < f->ninstr; i++) /* its cycles are no loops here */
        e->spins |= reads_others(&f->instr[i]);
}
