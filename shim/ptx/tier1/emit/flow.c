/* Tier 1 emitter: a function's blocks, branches and phis. Blocks that all lanes run together are entered
 * by goto; the others stand in one line and each runs the lanes that wait for it. */
#include "ptx/tier1/emit/emit.h"

#include <stdlib.h>

enum { STRAIGHT = 32 }; /* instructions of the PTX between two T1_CUT */

static const struct ptx_instr *last_of(const struct ptx_func *f, uint32_t b)
{
    return f->block[b].count ? &f->instr[f->block[b].first + f->block[b].count - 1] : NULL;
}

static bool ends_block(const struct ptx_instr *in)
{
    return in && (in->op == PTX_OP_BRA || in->op == PTX_OP_BRX || in->op == PTX_OP_RET || in->op == PTX_OP_EXIT ||
                  in->op == PTX_OP_TRAP);
}

/* ---- phis ---- */

/* May lanes of this edge simply overwrite the phi? Yes if no other lane's value can be in it. */
static bool first_in(const struct t1_emit *e, uint32_t from, uint32_t to)
{
    const struct ptx_block *t = &e->f->block[to];
    uint32_t back = 0, least = UINT32_MAX;
    int32_t loop = e->f->block[from].loop_header;
    if (t->npred > 1 && (t->loose || e->f->block[from].loose))
        return false;
    if (loop >= 0 && !ptx_in_loop(e->f, (int32_t)to, loop))
        return false; /* lanes that left in earlier rounds wait there */
    for (uint32_t p = 0; p < t->npred; p++) {
        back += (uint32_t)t->pred[p] >= to;
        least = (uint32_t)t->pred[p] < least ? (uint32_t)t->pred[p] : least;
    }
    return back ? t->npred == 2 && back == 1 : from == least;
}

static struct t1_arg saved(struct t1_emit *e, const struct t1_arg *a)
{
    struct t1_arg t = *a;
    unsigned n = e->temps++;
    const char *type = a->kind == T1_K_64 ? "uint64_t" : "uint32_t";
    if (a->kind == T1_K_PRED && a->rep == T1_V) {
        t.v = t1_str(e, "t%u", n);
        t1_put(e, "uint32_t t%u = %s;\n", n, a->v);
    } else if (a->rep == T1_V) {
        t.v = t1_str(e, "t%u", n);
        for (unsigned k = 0; k < (a->kind == T1_K_64 ? 2 : 1) * e->np; k++)
            t1_put(e, "%s t%u_%u = %s;\n", a->kind == T1_K_64 ? "pu64" : "pu32", n, k, t1_piece(e, a, k));
    } else {
        for (unsigned h = 0; h < (a->rep == T1_G ? 2 : 1); h++) {
            t.s[h] = t1_str(e, "t%ug%u", n, h);
            t1_put(e, "%s t%ug%u = %s;\n", type, n, h, a->s[h]);
        }
    }
    return t;
}

static void copy(struct t1_emit *e, int32_t dst, const struct t1_arg *a, const char *mask, bool plain)
{
    const struct t1_value *x = &e->value[dst];
    const char *m = mask ? mask : e->info[e->block].div ? "m" : "live";
    if (x->rep != T1_V) {
        for (unsigned h = 0; h < (x->rep == T1_G ? 2 : 1); h++) {
            if (mask)
                t1_put(e, "if (%s) ", mask);
            t1_put(e, "v%d%s = %s;\n", dst, x->rep == T1_U ? "" : h ? "g1" : "g0", t1_scalar(e, a, h));
        }
    } else if (x->kind == T1_K_PRED) {
        if (plain)
            t1_put(e, "v%dm = %s;\n", dst, t1_mask(e, a));
        else
            t1_put(e, "v%dm = (v%dm & ~%s) | (%s & %s);\n", dst, dst, m, t1_mask(e, a), m);
    } else {
        bool wide = x->kind == T1_K_64;
        for (unsigned k = 0; k < (wide ? 2 : 1) * e->np; k++)
            if (plain)
                t1_put(e, "v%d_%u = %s;\n", dst, k, t1_piece(e, a, k));
            else
                t1_put(e, "v%d_%u = t1_blend_%s(%s(%s, %u), v%d_%u, %s);\n", dst, k, wide ? "u64" : "u32",
                       wide ? "T1_MASK64" : "T1_MASK32", m, k, dst, k, t1_piece(e, a, k));
    }
}

/* Phi copies of one edge for the lanes of mask (NULL: every lane that runs). */
static void edge(struct t1_emit *e, uint32_t from, uint32_t to, const char *mask)
{
    const struct ptx_block *t = &e->f->block[to];
    uint32_t p = 0;
    bool open = false, first = first_in(e, from, to);
    while (p < t->npred && t->pred[p] != (int32_t)from)
        p++;
    struct t1_arg *a = t1_alloc(e, t->nphi + 1, sizeof *a);
    for (uint32_t k = 0; k < t->nphi; k++) {
        int32_t src = t->phi[k].src[p], dst = t->phi[k].dst;
        if (!e->value[dst].used || src == dst)
            continue;
        a[k] = t1_value_arg(e, src, from);
        const struct ptx_value *v = &e->f->value[src];
        if (v->instr < 0 && v->block == (int32_t)to) { /* copies are made at once */
            if (!open)
                t1_put(e, "{\n");
            open = true;
            a[k] = saved(e, &a[k]);
        }
    }
    for (uint32_t k = 0; k < t->nphi; k++) {
        int32_t src = t->phi[k].src[p], dst = t->phi[k].dst;
        if (e->value[dst].used && src != dst)
            t1_check_copy(e, dst, &a[k], mask);
    }
    for (uint32_t k = 0; k < t->nphi; k++) {
        int32_t src = t->phi[k].src[p], dst = t->phi[k].dst;
        if (e->value[dst].used && src != dst)
            copy(e, dst, &a[k], mask, !e->value[dst].escapes && (!mask || first));
    }
    if (open)
        t1_put(e, "}\n");
}

void t1_phi_copies(struct t1_emit *e, uint32_t from, uint32_t to) { edge(e, from, to, NULL); }

/* ---- ends of blocks ---- */

bool t1_may_rest(const struct t1_emit *e, int32_t header)
{
    const struct ptx_func *f = e->f;
    if (header < 0)
        return false;
    for (uint32_t k = (uint32_t)header; k < f->nblock && ptx_in_loop(f, (int32_t)k, header); k++)
        for (uint32_t i = f->block[k].first; i < f->block[k].first + f->block[k].count; i++)
            if (f->instr[i].op == PTX_OP_BAR || f->instr[i].op == PTX_OP_BARRIER || f->instr[i].op == PTX_OP_CALL)
                return false;
    return true;
}

/* A loop without barriers that streams through memory, such as a grid-stride one: each warp alone would
 * read short rows far apart, which share cache sets when the step is a power of two. */
static unsigned turn_of(const struct t1_emit *e, uint32_t header)
{
    const struct ptx_func *f = e->f;
    unsigned turn = 0;
    for (uint32_t k = header; k < f->nblock && ptx_in_loop(f, (int32_t)k, (int32_t)header); k++)
        if (e->info[k].turn > turn && f->block[k].loop_header == (int32_t)header)
            turn = e->info[k].turn;
    return turn;
}

/* Before a loop's next round: the other warps' turn, if they may have to be waited for, or now and then so
 * that all of them read what is close together. */
static const char *next_round(struct t1_emit *e, uint32_t header)
{
    if (e->waits[header] & T1_WAITS)
        return "t1_yield(b); ";
    unsigned turn = turn_of(e, header);
    if (!turn)
        return "";
    e->yields = true;
    return t1_str(e, "T1_REST(b, rounds, %u); ", turn);
}

static void enter(struct t1_emit *e, uint32_t from, uint32_t to, bool may_fall)
{
    if (e->info[to].div)
        t1_put(e, "p%u |= live;\n", to);
    if (to <= from)
        t1_put(e, "%s\n", next_round(e, to));
    if (!may_fall || to != from + 1)
        t1_put(e, "goto B%u;\n", to);
}

/* Lanes of an exiting instruction are gone. */
static void leave(struct t1_emit *e, const struct ptx_instr *in, const char *mask)
{
    if (in->op == PTX_OP_TRAP)
        t1_put(e, "if (%s) T1_TRAP(b, warp, %s);\n", mask, mask);
    else if (e->f->is_entry)
        t1_put(e, "live &= ~%s;\n", mask);
    else if (in->op == PTX_OP_EXIT)
        t1_put(e, "gone |= %s;\n", mask);
}

/* Few rounds of a loop have lanes that leave it. */
static bool leaves_loop(const struct ptx_func *f, uint32_t from, uint32_t to)
{
    int32_t h = f->block[from].loop_header;
    return h >= 0 && !ptx_in_loop(f, (int32_t)to, h);
}

static void add_pending(struct t1_emit *e, uint32_t from, uint32_t to, const char *mask)
{
    bool rare = leaves_loop(e->f, from, to);
    if (rare)
        t1_put(e, "if (T1_UNLIKELY(%s)) {\n", mask);
    edge(e, from, to, mask);
    t1_put(e, rare ? "p%u |= %s;\n}\n" : "p%u |= %s;\n", to, mask);
}

static struct t1_arg guard_of(struct t1_emit *e, uint32_t i)
{
    const struct ptx_instr *in = &e->f->instr[i];
    struct ptx_opnd o = {.kind = PTX_O_REG, .neg = in->guard_neg, .reg = in->guard, .sym = -1};
    return t1_source(e, &o, e->f->instr_src[i][5], T1_K_PRED);
}

/* The end of a block that every live lane runs. */
static void end_together(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[k];
    const struct ptx_instr *in = last_of(f, k);
    in = ends_block(in) ? in : NULL;
    if (!in || in->guard < 0) {
        if (in && in->op == PTX_OP_TRAP)
            leave(e, in, "live");
        if (!b->nsucc) {
            t1_put(e, "goto done;\n");
            return;
        }
        edge(e, k, (uint32_t)b->succ[0], NULL);
        enter(e, k, (uint32_t)b->succ[0], true);
        return;
    }
    struct t1_arg c = guard_of(e, b->first + b->count - 1);
    if (in->op != PTX_OP_BRA) {
        if (c.rep == T1_U && in->op == PTX_OP_TRAP)
            t1_put(e, "if (%s) T1_TRAP(b, warp, live);\n", c.s[0]);
        else if (c.rep == T1_U)
            t1_put(e, "if (%s) goto done;\n", c.s[0]);
        if (c.rep == T1_V) {
            t1_put(e, "{ uint32_t out = live & %s;\n", t1_mask(e, &c));
            leave(e, in, "out");
            t1_put(e, "}\nif (!live) goto done;\n");
        }
        if (!b->nsucc) {
            t1_put(e, "goto done;\n");
            return;
        }
        edge(e, k, (uint32_t)b->succ[0], NULL);
        enter(e, k, (uint32_t)b->succ[0], true);
        return;
    }
    uint32_t taken = (uint32_t)b->succ[0], other = (uint32_t)b->succ[b->nsucc - 1];
    if (taken == other) {
        edge(e, k, taken, NULL);
        enter(e, k, taken, true);
    } else if (c.rep == T1_U) {
        t1_put(e, "if (%s) {\n", c.s[0]);
        edge(e, k, taken, NULL);
        enter(e, k, taken, false);
        t1_put(e, "}\n");
        edge(e, k, other, NULL);
        enter(e, k, other, true);
    } else {
        const char *cond = t1_mask(e, &c);
        t1_put(e, "{ uint32_t t = live & %s, f = live & ~%s;\n", cond, cond);
        add_pending(e, k, taken, "t");
        add_pending(e, k, other, "f");
        uint32_t first = taken < other ? taken : other, last = taken < other ? other : taken;
        t1_put(e, "}\n");
        t1_put(e, "goto B%u;\n", e->info[first].div ? first : last);
        if (!e->info[first].div && !e->info[last].div)
            t1_fail(e, "divergent branch without a divergent block");
    }
}

/* brx.idx, by one number for all or lane by lane. */
static void table(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[k];
    const struct ptx_branch_table *t = &f->btab[PTX_SYM_INDEX(e->in->src[1].sym)];
    struct t1_arg a = t1_src(e, 0, T1_K_32), c = t1_const(e, T1_K_PRED, 1);
    bool div = e->info[k].div, guarded = e->in->guard >= 0;
    uint32_t first = UINT32_MAX;
    if (guarded)
        c = guard_of(e, e->at);
    if (!div && t1_same_for_all(&a) && c.rep == T1_U) {
        t1_put(e, "if (%s) switch (%s) {\n", c.s[0], a.s[0]);
        for (uint32_t s = 0; s < b->nsucc; s++) {
            for (uint32_t n = 0; n < t->n; n++)
                if (t->block[n] == b->succ[s])
                    t1_put(e, "case %u: ", n);
            t1_put(e, "if (1) {\n"); /* the fall-through may have no number */
            edge(e, k, (uint32_t)b->succ[s], NULL);
            enter(e, k, (uint32_t)b->succ[s], false);
            t1_put(e, "}\n");
        }
        t1_put(e, "default: T1_NO_TARGET(b, warp, live);\n}\n");
        if (guarded) {
            edge(e, k, (uint32_t)b->succ[b->nsucc - 1], NULL);
            enter(e, k, (uint32_t)b->succ[b->nsucc - 1], true);
        }
        return;
    }
    const char *mask = div ? "m" : "live", *cond = t1_mask(e, &c);
    t1_put(e, "{\nstatic const uint16_t to[] = {");
    for (uint32_t n = 0; n < t->n; n++) {
        uint32_t s = 0;
        while (b->succ[s] != t->block[n])
            s++;
        t1_put(e, "%s%u", n ? "," : "", s);
    }
    t1_put(e, "};\nuint32_t t[%u] = {0};\n", b->nsucc);
    const char *x = t1_lane(e, &a);
    t1_put(e,
           "T1_FOR_LANES(l, %s & %s) {\nuint32_t i = %s;\nif (i >= %uu) T1_NO_TARGET(b, warp, 1u << l);\n"
           "t[to[i]] |= 1u << l;\n}\n",
           mask, cond, x, t->n);
    if (guarded)
        t1_put(e, "t[%u] |= %s & ~%s;\n", b->nsucc - 1, mask, cond);
    for (uint32_t s = 0; s < b->nsucc; s++) {
        add_pending(e, k, (uint32_t)b->succ[s], t1_str(e, "t[%u]", s));
        if (e->info[b->succ[s]].div && (uint32_t)b->succ[s] < first)
            first = (uint32_t)b->succ[s];
    }
    t1_put(e, "}\n");
    if (!div && first == UINT32_MAX)
        t1_fail(e, "divergent branch without a divergent block");
    if (!div)
        t1_put(e, "goto B%u;\n", first);
}

/* Ends a divergent block: the lanes that leave along an edge are added to the pending mask of its target, which runs
 * when its turn in the layout comes. With a guard both edges get their share of the block's mask m. */
static void end_masked(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[k];
    const struct ptx_instr *in = last_of(f, k);
    in = ends_block(in) ? in : NULL;
    if (!in || in->guard < 0) {
        if (in && in->op != PTX_OP_BRA)
            leave(e, in, "m");
        else if (!b->nsucc && f->is_entry)
            t1_put(e, "live &= ~m;\n");
        if (b->nsucc)
            add_pending(e, k, (uint32_t)b->succ[0], "m");
        return;
    }
    struct t1_arg c = guard_of(e, b->first + b->count - 1);
    const char *cond = t1_mask(e, &c);
    t1_put(e, "{ uint32_t t = m & %s, f = m & ~%s;\n", cond, cond);
    if (in->op != PTX_OP_BRA) {
        leave(e, in, "t");
        if (b->nsucc)
            add_pending(e, k, (uint32_t)b->succ[0], "f");
        else if (f->is_entry)
            t1_put(e, "live &= ~m;\n");
    } else if (b->succ[0] == b->succ[b->nsucc - 1]) {
        add_pending(e, k, (uint32_t)b->succ[0], "m");
    } else {
        add_pending(e, k, (uint32_t)b->succ[0], "t");
        add_pending(e, k, (uint32_t)b->succ[b->nsucc - 1], "f");
    }
    t1_put(e, "}\n");
}

void t1_next_rounds(struct t1_emit *e, uint32_t k, uint32_t before)
{
    const struct ptx_func *f = e->f;
    for (int32_t h = f->block[k].loop_header; h >= 0; h = f->block[h].loop_parent)
        if (e->info[h].div && (uint32_t)h < before && (k + 1 == f->nblock || !ptx_in_loop(f, (int32_t)k + 1, h)))
            t1_put(e, "if (p%d) { %sgoto B%d; }\n", h, next_round(e, (uint32_t)h), h);
}

/* Behind block k: rounds of loops that end with it, and at the end of a run the way on. */
static void after_masked(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    if (f->block[k].loose)
        t1_loose_after(e, k);
    else
        t1_next_rounds(e, k, f->nblock);
    if (e->info[k].run != k)
        return;
    for (uint32_t t = 0; t < f->nblock; t++)
        if (!e->info[t].div && e->info[t].pend) {
            bool from_here = false;
            for (uint32_t p = 0; p < f->block[t].npred; p++) {
                uint32_t from = (uint32_t)f->block[t].pred[p];
                from_here |= e->info[from].div && e->info[from].run == k;
                for (uint32_t s = 0; !e->info[from].div && s < f->block[from].nsucc; s++) {
                    uint32_t other = (uint32_t)f->block[from].succ[s];
                    from_here |= e->info[other].div && e->info[other].run == k;
                }
            }
            if (from_here)
                t1_put(e, "if (p%u) { p%u = 0; %sgoto B%u; }\n", t, t, t <= k ? next_round(e, t) : "", t);
        }
    t1_put(e, "goto done;\n");
}

/* Declares the value's variables, or makes them something. */
static void put_value(struct t1_emit *e, uint32_t v, bool declared)
{
    const struct t1_value *x = &e->value[v];
    const bool wide = x->kind == T1_K_64;
    const unsigned n = (wide ? 2 : 1) * e->np;
    const char *s = !declared ? "" : wide ? "uint64_t " : "uint32_t ", *p = !declared ? "" : wide ? "pu64 " : "pu32 ";
    const char *zero = declared ? "" : " = 0";
    const char *piece = declared                ? "%s%c%u_%u;\n"
                        : x->floats || e->zeros ? "%sT1_ZEROS(%c%u_%u);\n"
                                                : "%sT1_BEGIN(%c%u_%u);\n";
    if (x->rep == T1_U)
        t1_put(e, "%sv%u%s;\n", s, v, zero);
    else if (x->rep == T1_G)
        t1_put(e, "%sv%ug0%s;\n%sv%ug1%s;\n", s, v, zero, s, v, zero);
    for (unsigned copy_ = 0; copy_ < 2; copy_++) {
        const char name = copy_ ? 'x' : 'v';
        if (copy_ ? !x->escapes || x->rep == T1_V : x->rep != T1_V)
            continue;
        if (x->kind == T1_K_PRED)
            t1_put(e, "%s%c%um%s;\n", declared ? "uint32_t " : "", name, v, zero);
        for (unsigned k = 0; x->kind != T1_K_PRED && k < n; k++)
            t1_put(e, piece, p, name, v, k);
    }
}

/* Masked loads and stores test for the full mask each; where there are several, the text behind `from` is
 * written once more for full warps. */
static void twice(struct t1_emit *e, uint32_t k, size_t from)
{
    enum { LEAST = 2, MOST_INSTRUCTIONS = 48, MOST_TEXT = 16384 };
    if (e->info[k].masked < LEAST || e->info[k].loses || e->f->block[k].count > MOST_INSTRUCTIONS ||
        e->text.n - from > MOST_TEXT)
        return;
    const char *body = t1_str(e, "%.*s", (int)(e->text.n - from), e->text.p + from);
    e->text.n = from;
    t1_put(e, "if (T1_LIKELY(m == ~0u)) {\nconst uint32_t m = ~0u;\n%s} else {\n%s}\n", body, body);
}

static void begin_values(struct t1_emit *e, uint32_t block)
{
    for (int32_t v = e->info[block].begun; v >= 0; v = e->value[v].next)
        put_value(e, (uint32_t)v, false);
}

/* Emits a block. A divergent one tests its pending mask p, skips when no lane is pending, and runs with m as its
 * mask; one in which lanes may wait for each other (loose) runs only those of `who`, so that lanes that spin do not
 * keep the others away. */
static void block(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    const struct ptx_block *b = &f->block[k];
    const struct ptx_instr *last = last_of(f, k);
    bool div = e->info[k].div;
    if (t1_serial(e, k)) {
        t1_serial_loop(e, k);
        after_masked(e, k);
        return;
    }
    e->block = k;
    t1_matrix_block(e);
    t1_put(e, "B%u:;\n", k);
    if (b->loose && t1_held(e, k))
        t1_put(e, "goto S%u;\nC%u:;\n", k, k);
    if (b->loose)
        t1_put(e, "if (!p%u) goto S%u;\n{ uint32_t m = p%u & who; p%u &= ~who; who = ~0u;\n", k, k, k, k);
    else
        t1_put(e, div ? "if (!p%u) goto S%u;\n{ uint32_t m = p%u; p%u = 0;\n" : "{\n", k, k, k, k);
    if (k)
        begin_values(e, k);
    size_t from = e->text.n;
    t1_forget(e);
    for (uint32_t p = 0; p < b->nphi; p++)
        if (e->value[b->phi[p].dst].used)
            t1_def_done(e, b->phi[p].dst);
    t1_check_read(e, k);
    uint32_t n = ends_block(last) ? b->count - 1 : b->count;
    for (uint32_t i = 0; i < n; i++) {
        t1_instr(e, b->first + i);
        if (i % STRAIGHT == STRAIGHT - 1)
            t1_put(e, "T1_CUT\n");
    }
    t1_check_made(e, k);
    t1_mark_line(e, last);
    e->in = last;
    e->mask = div ? "m" : "live";
    e->guarded = false;
    e->at = b->first + b->count - 1;
    (last && last->op == PTX_OP_BRX ? table : div ? end_masked : end_together)(e, k);
    e->in = NULL;
    if (div)
        twice(e, k, from);
    t1_put(e, "}\n");
    if (div) {
        t1_put(e, "S%u:;\n", k);
        after_masked(e, k);
    }
}

/* ---- the function around them ---- */

/* Values are declared at the top: blocks are labels, and C forbids a goto into the scope of what is declared behind it.
 * Values of a loop that lanes leave at different times have a second copy per lane (x), which keeps what each lane left
 * with. */
static void declare(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    for (uint32_t v = 0; v < f->nvalue; v++)
        if (e->value[v].used && e->value[v].global && !e->value[v].home && f->value[v].block >= 0)
            put_value(e, v, true);
    begin_values(e, 0); /* not in the first block, which may be a loop */
    for (uint32_t k = 0; k < f->nblock; k++)
        if (e->info[k].pend || (e->info[k].div && k == 0))
            t1_put(e, "uint32_t p%u = 0;\n", k);
    if (e->uses_cc)
        t1_put(e, "uint32_t cc = 0;\n");
    if (e->loose)
        t1_put(e, "uint32_t who = ~0u; /* lanes that run the next block */\n");
    if (e->yields)
        t1_put(e, "uint32_t rounds = 0; (void)rounds;\n");
    for (uint32_t k = 0; k < e->rows; k++)
        t1_put(e, "uint64_t row%u = 0; (void)row%u;\n", k, k);
}

static void declare_tid(struct t1_emit *e)
{
    if (!(e->sregs & 7))
        return;
    if (e->shape == T1_SHAPE_ANY) {
        t1_put(e, "uint32_t tids[3][32];\nt1_tids(b, warp, tids);\n");
        for (unsigned axis = 0; axis < 3; axis++)
            for (unsigned k = 0; e->sregs >> axis & 1 && k < e->np; k++)
                t1_put(e, "pu32 tid%u_%u = t1_fill_u32(tids[%u], %u);\n", axis, k, axis, k);
        return;
    }
    unsigned groups = e->shape == T1_SHAPE_HALF ? 2 : 1;
    for (unsigned g = 0; g < groups; g++) {
        const char *s = groups == 1 ? "" : g ? "g1" : "g0";
        t1_put(e, "uint32_t tid0%s = warp * 32u + %uu, tid1%s = 0, tid2%s = 0;\n", s, 16 * g, s, s);
        t1_put(e, "if (g->ntid[1] * g->ntid[2] != 1) { tid1%s = tid0%s / g->ntid[0]; tid0%s %%= g->ntid[0];\n", s, s,
               s);
        t1_put(e, "if (g->ntid[2] != 1) { tid2%s = tid1%s / g->ntid[1]; tid1%s %%= g->ntid[1]; } }\n", s, s, s);
    }
}

/* Text of a function: the blocks in their order first, since they say what has to be declared in front of them. */
void t1_function(struct t1_emit *e, struct ptx_func *f, uint32_t index)
{
    e->sregs = 0;
    e->index = index;
    e->uses_cc = e->yields = false;
    e->rows = 0;
    e->text.n = 0;
    t1_param_plan(e);
    for (uint32_t k = 0; k < f->nblock; k++)
        block(e, k);
    struct ptx_text body = e->text;
    e->text = (struct ptx_text){0};
    e->in = NULL;
    t1_mark_line(e, f->ninstr ? f->instr : NULL);
    if (f->is_entry)
        t1_put(e, "%s" T1_KERNEL_PARAMETERS "\n{\n", e->heading);
    else
        t1_put(e,
               "static __attribute__((noinline)) uint32_t "
               "f_%u(struct t1_block *b, uint32_t warp, uint32_t live, pu32 *args, "
               "pu32 *rets, uint64_t frame)\n{\nuint32_t gone = 0;\n"
               "const struct t1_block *const g = b;\n",
               index);
    t1_put(e, "uint8_t *const smem = g->shared;\nconst uint8_t *const params = b->params;\n"
              "(void)smem; (void)params;\n");
    if (f->is_entry)
        t1_put(e, "const uint64_t frame = 0; (void)frame;\n");
    if (f->is_entry && (e->shape == T1_SHAPE_LINEAR || e->shape == T1_SHAPE_HALF))
        t1_put(e, "live = ~0u;\n"); /* known to the compiler, it spares the masks */
    declare_tid(e);
    t1_param_declare(e);
    t1_matrix_declare(e);
    t1_factor_declare(e);
    t1_put_homes(e);
    declare(e);
    t1_check_declare(e);
    if (e->info[0].div)
        t1_put(e, "p0 = live;\n");
    t1_write(e, &e->text, body.p, body.n);
    free(body.p);
    t1_put(e, f->is_entry ? "done:;\n}\n" : "done:;\nreturn gone;\n}\n");
    t1_end_homes(e);
    t1_write(e, &e->top, e->text.p, e->text.n);
}
