/* Tier 1 emitter: barriers and what the lanes of a warp do together. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

/* Opens a loop over the groups of lanes that name each other, `who` being one: source k is the member mask. Lanes
 * that are not here are left out. Without .sync, or with one mask for all, there is one group. */
static void open_groups(struct t1_emit *e, unsigned k)
{
    if (!(e->in->flags & PTX_F_SYNC) || k >= e->in->nsrc) {
        t1_put(e, "for (uint32_t who = %s, once = 1; once; once = 0) {\n", e->mask);
        return;
    }
    struct t1_arg a = t1_src(e, k, T1_K_32);
    if (t1_same_for_all(&a)) {
        t1_put(e, "for (uint32_t who = %s & %s, once = 1; once; once = 0) {\n", e->mask, a.s[0]);
        return;
    }
    const char *x = t1_lane(e, &a);
    t1_put(e,
           "for (uint32_t left = %s, who; left; left &= ~who) {\nconst unsigned l = (unsigned)__builtin_ctz(left);\n"
           "who = (left & %s) | 1u << l;\n",
           e->mask, x);
}

/* The value is computed group by group in `one`, or lane by lane in all[]. */
static bool is_one(const struct t1_emit *e, int32_t v) { return v >= 0 && e->value[v].rep != T1_V; }

static void define_all(struct t1_emit *e, int32_t v, const char *expr)
{
    struct t1_arg a = {.kind = e->value[v].kind, .rep = T1_U, .s = {expr}};
    t1_def_arg(e, v, &a);
}

/* A barrier's number or count, of the first lane that comes to it. */
static const char *barrier_operand(struct t1_emit *e, unsigned k)
{
    const struct t1_arg a = t1_src(e, k, T1_K_32);
    if (t1_same_for_all(&a))
        return a.s[0];
    const char *x = t1_lane(e, &a);
    const unsigned t = e->temps++;
    t1_put(e, "uint32_t t%u = 0;\nif (%s) {\nconst unsigned l = (unsigned)__builtin_ctz(%s);\nt%u = %s;\n}\n", t,
           e->mask, e->mask, t, x);
    return t1_str(e, "t%u", t);
}

/* Emits a barrier. A warp that waits is left for the next one, with all of its lanes, which all come to an aligned
 * barrier at once; unaligned ones where lanes have diverged are left to tier 0, which counts threads. */
static void barrier(struct t1_emit *e)
{
    const struct ptx_instr *in = e->in;
    if (in->sub == PTX_SUB_WARP_SYNC) {
        t1_race_collective(e, 0);
        t1_put(e, "T1_COMPILER_FENCE();\n");
        return;
    }
    const char *on = e->guarded ? t1_str(e, "if (%s) ", e->mask) : "";
    if (in->scope == PTX_SCOPE_CLUSTER) {
        if (!(in->flags & PTX_F_ALIGNED) && (e->info[e->block].div || e->guarded))
            t1_fail(e, "barrier of a cluster where lanes have diverged");
        t1_put(e, in->sub == PTX_SUB_ARRIVE ? "%st1_cluster_arrive(b);\n" : "%st1_cluster_wait(b);\n", on);
        return;
    }
    if (t1_of_part(in) && !e->f->is_entry) /* whose live lanes are those that called */
        t1_fail(e, "a barrier of part of a block in a function");
    if (in->op == PTX_OP_BARRIER && !(in->flags & PTX_F_ALIGNED) &&
        (e->info[e->block].div || (e->guarded && t1_of_part(in))))
        t1_fail(e, "unaligned barrier where lanes have diverged");
    const bool counted = in->nsrc > 1 && in->src[1].kind != PTX_O_NONE;
    const char *id = barrier_operand(e, 0), *count = counted ? barrier_operand(e, 1) : "0";
    if (in->sub != PTX_SUB_POPC && in->sub != PTX_SUB_AND && in->sub != PTX_SUB_OR) {
        if (t1_of_part(in))
            t1_put(e, "%st1_part(b, %s, %s, %s, live, %d, 0, 0);\n", on, id, count,
                   in->sub == PTX_SUB_ARRIVE ? e->mask : "~0u", in->sub != PTX_SUB_ARRIVE);
        else
            t1_put(e, "%st1_bar(b, %s, live);\n", on, id);
        return;
    }
    struct t1_arg p = t1_src(e, 2, T1_K_PRED);
    int32_t v = t1_dst(e, 0);
    unsigned t = e->temps++;
    t1_put(e, "uint32_t t%u = 0;\n%st%u = t1_bar_%s(b, %s, %s, %s, live, %s & %s);\n", t, on, t,
           in->sub == PTX_SUB_POPC  ? "popc"
           : in->sub == PTX_SUB_AND ? "and"
                                    : "or",
           id, count, e->mask, e->mask, t1_mask(e, &p));
    if (v >= 0)
        define_all(e, v, t1_str(e, "t%u", t));
}

/* Source i as a number, written here or moved to a register before, as nvcc does. */
static bool known(const struct t1_emit *e, unsigned i, uint32_t *number)
{
    const struct ptx_opnd *o = &e->in->src[i];
    int32_t v = e->f->instr_src[e->at][i];
    const struct ptx_value *x = o->kind == PTX_O_REG && v >= 0 ? &e->f->value[v] : NULL;
    if (o->kind == PTX_O_IMM)
        *number = (uint32_t)o->imm;
    else if (x && x->kind == PTX_C_UNIFORM && x->has_range && x->lo == x->hi)
        *number = (uint32_t)x->lo;
    else
        return false;
    return true;
}

/* Source lane of each lane when everything is known now; false otherwise. */
static bool known_lanes(const struct t1_emit *e, uint8_t lane[32], uint32_t *inside)
{
    const struct ptx_instr *in = e->in;
    uint32_t d, control;
    if (!known(e, 1, &d) || !known(e, 2, &control))
        return false;
    uint32_t clamp = control & 31, segment = control >> 8 & 31;
    d &= 31;
    *inside = 0;
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t most = (l & segment) | (clamp & ~segment), j;
        bool ok;
        switch (in->sub) {
        case PTX_SUB_UP:
            j = l - d;
            ok = (int32_t)j >= (int32_t)most;
            break;
        case PTX_SUB_DOWN:
            j = l + d;
            ok = j <= most;
            break;
        case PTX_SUB_BFLY:
            j = l ^ d;
            ok = j <= most;
            break;
        default: j = (l & segment) | (d & ~segment); ok = j <= most;
        }
        lane[l] = (uint8_t)(ok ? j & 31 : l);
        *inside |= (uint32_t)ok << l;
    }
    return true;
}

/* Piece of the value t<t> whose lanes are known. NULL: they come from more than two pieces. */
static const char *picked(struct t1_emit *e, unsigned t, const uint8_t *lane)
{
    const unsigned first = lane[0] / e->nl;
    unsigned second = first;
    const char *s = "";
    for (unsigned l = 0; l < e->nl; l++) {
        const unsigned piece = lane[l] / e->nl;
        if (piece != first && second == first)
            second = piece;
        if (piece != first && piece != second)
            return NULL;
        s = t1_str(e, "%s, %u", s, lane[l] % e->nl + (piece == first ? 0 : e->nl));
    }
    return t1_str(e, "T1_PICK_LANES(t%u_%u, t%u_%u%s)", t, first, t, second, s);
}

/* lane: of each lane its source, or NULL if only the pieces named index know. */
static void permuted(struct t1_emit *e, int32_t v, const struct t1_arg *a, const char *index, const uint8_t *lane)
{
    unsigned t = e->temps++; /* lanes that take no part give 0 */
    for (unsigned k = 0; k < e->np; k++)
        t1_put(e, "pu32 t%u_%u = t1_blend_u32(T1_MASK32(%s, %u), (pu32){0}, %s);\n", t, k, e->mask, k,
               t1_piece(e, a, k));
    for (unsigned k = 0; k < e->np; k++) {
        const char *quick = lane ? picked(e, t, lane + k * e->nl) : NULL;
        if (quick) {
            t1_def_piece(e, v, k, quick);
            continue;
        }
        const char *s = lane ? "t1_perm_u32((pu32){" : t1_str(e, "t1_perm_u32(%s_%u", index, k);
        for (unsigned l = 0; lane && l < e->nl; l++)
            s = t1_str(e, "%s%u%s", s, lane[k * e->nl + l], l + 1 < e->nl ? ", " : "}");
        for (unsigned j = 0; j < e->np; j++)
            s = t1_str(e, "%s, t%u_%u", s, t, j);
        t1_def_piece(e, v, k, t1_str(e, "%s)", s));
    }
}

/* shfl: one lane's value, which is a scalar then; a permutation of pieces if the lanes are known when the text is
 * written; else indexes computed in each warp. */
static void shuffle(struct t1_emit *e)
{
    const struct ptx_instr *in = e->in;
    int32_t v = t1_dst(e, 0), p = t1_dst(e, 1);
    struct t1_arg a = t1_src(e, 0, T1_K_32);
    uint8_t lane[32];
    uint32_t inside, control;
    t1_put(e, "{\n");
    if (is_one(e, v) || is_one(e, p)) { /* the analysis found that all read this lane */
        struct t1_arg b = t1_src(e, 1, T1_K_32);
        t1_put(e, "const unsigned l = %s & 31;\n", t1_lane(e, &b));
        if (v >= 0)
            define_all(e, v, t1_str(e, "(%s >> l & 1 ? %s : 0)", e->mask, t1_lane(e, &a)));
        if (p >= 0)
            define_all(e, p, "1");
    } else if (known_lanes(e, lane, &inside)) {
        if (v >= 0)
            permuted(e, v, &a, NULL, lane);
        if (p >= 0)
            t1_def_mask(e, p, t1_str(e, "0x%xu", inside));
    } else {
        const char *index = t1_str(e, "t%u", e->temps++);
        struct t1_arg b = t1_src(e, 1, T1_K_32), c = t1_src(e, 2, T1_K_32);
        unsigned mode = in->sub == PTX_SUB_UP ? 0 : in->sub == PTX_SUB_DOWN ? 1 : in->sub == PTX_SUB_BFLY ? 2 : 3;
        const bool any = mode == 3 && known(e, 2, &control) && (control & 0x1f1f) == 31; /* permutations take 5 bits */
        t1_put(e, any ? "uint32_t in = ~0u;\n(void)in;\n" : "uint32_t in = 0, ok;\n(void)in;\n");
        for (unsigned k = 0; k < e->np; k++) {
            const char *from = t1_piece(e, &b, k);
            t1_put(e, "pu32 %s_%u = %s;\n", index, k,
                   any ? from
                       : t1_str(e, "t1_shfl_lanes(%u, T1_LANE32 + %uu, %s, %s, &ok)", mode, k * e->nl, from,
                                t1_piece(e, &c, k)));
            if (!any)
                t1_put(e, "in |= ok << %u;\n", k * e->nl);
        }
        if (v >= 0)
            permuted(e, v, &a, index, NULL);
        if (p >= 0)
            t1_def_mask(e, p, "in");
    }
    t1_put(e, "}\n");
}

/* Where give() collects the answers; unoptimised code clears each array that is declared. */
static void begin_answers(struct t1_emit *e, int32_t v)
{
    t1_put(e, is_one(e, v)                              ? "{\nuint32_t one = 0;\n"
              : v >= 0 && e->value[v].kind == T1_K_PRED ? "{\nuint32_t pred = 0;\n"
              : v >= 0                                  ? "{\nuint32_t all[32] = {0};\n"
                                                        : "{\n");
}

/* Gives the lanes of `who` the number or the predicate `expr`. */
static void give(struct t1_emit *e, int32_t v, const char *expr)
{
    if (is_one(e, v))
        t1_put(e, "one = %s;\n", expr);
    else if (e->value[v].kind == T1_K_PRED)
        t1_put(e, "pred |= %s ? who : 0;\n", expr);
    else
        t1_put(e, "{ const uint32_t x = %s;\nT1_FOR_LANES(i, who) all[i] = x; }\n", expr);
}

static void take(struct t1_emit *e, int32_t v)
{
    if (is_one(e, v))
        define_all(e, v, "one");
    else if (e->value[v].kind == T1_K_PRED)
        t1_def_mask(e, v, "pred");
    else
        t1_def_lanes(e, v, "all");
    if (!is_one(e, v))
        t1_def_done(e, v);
}

/* A ballot with masks of the lanes' own: what all lanes here say, as far as each one's mask goes (core_warp.c). */
static bool masked_ballot(struct t1_emit *e, int32_t v, const struct t1_arg *a)
{
    const struct ptx_instr *in = e->in;
    if (in->sub == PTX_SUB_ALL || in->sub == PTX_SUB_ANY || in->sub == PTX_SUB_UNI || is_one(e, v) ||
        !(in->flags & PTX_F_SYNC) || in->nsrc < 2)
        return false;
    struct t1_arg m = t1_src(e, 1, T1_K_32);
    if (t1_same_for_all(&m))
        return false;
    const char *x = t1_lane(e, &m);
    t1_put(e, "const uint32_t set = %s & %s;\nT1_FOR_LANES(l, %s) all[l] = set & %s;\n", t1_mask(e, a), e->mask,
           e->mask, x);
    return true;
}

static void vote(struct t1_emit *e)
{
    int32_t v = t1_dst(e, 0);
    const char *p = "set";
    if (v < 0)
        return;
    begin_answers(e, v);
    struct t1_arg a = t1_src(e, 0, T1_K_PRED);
    if (!masked_ballot(e, v, &a)) {
        open_groups(e, 1);
        t1_put(e, "const uint32_t set = %s & who;\n", t1_mask(e, &a));
        switch (e->in->sub) {
        case PTX_SUB_ALL: p = "(uint32_t)(set == who)"; break;
        case PTX_SUB_ANY: p = "(uint32_t)(set != 0)"; break;
        case PTX_SUB_UNI: p = "(uint32_t)(!set || set == who)"; break;
        default: break;
        }
        give(e, v, p);
        t1_put(e, "}\n");
    }
    take(e, v);
    t1_put(e, "}\n");
}

static void match(struct t1_emit *e)
{
    bool wide = ptx_type_size(e->in->type[0]) == 8, all = e->in->sub == PTX_SUB_ALL;
    const char *type = wide ? "u64" : "u32";
    int32_t v = t1_dst(e, 0), p = t1_dst(e, 1);
    struct t1_arg a = t1_src(e, 0, wide ? T1_K_64 : T1_K_32);
    t1_put(e, "{\n");
    const char *x = t1_lane(e, &a);
    t1_put(e,
           "uint%s_t al[32];\nuint32_t d[32] = {0}, in = 0;\n(void)in;\n"
           "for (unsigned l = 0; l < 32; l++) al[l] = %s;\n",
           wide ? "64" : "32", x);
    open_groups(e, 1);
    t1_put(e, all ? "in |= t1_match_all_%s(who, al, d);\n}\n" : "t1_match_any_%s(who, al, d);\n}\n", type);
    if (v >= 0)
        t1_def_lanes(e, v, "d");
    if (p >= 0)
        t1_def_mask(e, p, all ? "in" : "0u");
    t1_put(e, "}\n");
}

static void reduce(struct t1_emit *e)
{
    static const char *const names[] = {[PTX_SUB_AND] = "and", [PTX_SUB_OR] = "or",   [PTX_SUB_XOR] = "xor",
                                        [PTX_SUB_ADD] = "add", [PTX_SUB_MIN] = "min", [PTX_SUB_MAX] = "max"};
    int32_t v = t1_dst(e, 0);
    if (e->in->type[0] == PTX_F32 || e->in->sub >= sizeof names / sizeof *names || !names[e->in->sub])
        t1_fail(e, "reduction is not supported");
    if (v < 0)
        return;
    struct t1_arg a = t1_src(e, 0, T1_K_32);
    begin_answers(e, v);
    const char *x = t1_lane(e, &a);
    t1_put(e, "uint32_t al[32];\nfor (unsigned l = 0; l < 32; l++) al[l] = %s;\n", x);
    open_groups(e, 1);
    give(e, v, t1_str(e, "t1_redux_%s_%s(who, al)", names[e->in->sub], e->in->type[0] == PTX_S32 ? "s32" : "u32"));
    t1_put(e, "}\n");
    take(e, v);
    t1_put(e, "}\n");
}

static void elect(struct t1_emit *e)
{
    int32_t v = t1_dst(e, 0), p = t1_dst(e, 1);
    begin_answers(e, v);
    t1_put(e, "uint32_t leaders = 0;\n");
    open_groups(e, 0);
    t1_put(e, "leaders |= who & (0u - who);\n");
    if (v >= 0)
        give(e, v, "(uint32_t)__builtin_ctz(who | 0x80000000u)");
    t1_put(e, "}\n");
    if (v >= 0)
        take(e, v);
    if (p >= 0)
        t1_def_mask(e, p, "leaders");
    t1_put(e, "}\n");
}

/* The source that names the lanes which a collective waits for; -1: those that are here. */
static int members(const struct ptx_instr *in)
{
    const bool sync = in->flags & PTX_F_SYNC;
    switch (in->op) {
    case PTX_OP_SHFL: return sync ? 3 : -1;
    case PTX_OP_ELECT: return sync ? 0 : -1;
    default: return sync ? 1 : -1;
    }
}

bool t1_warp_op(struct t1_emit *e)
{
    switch (e->in->op) {
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_ELECT: t1_race_collective(e, members(e->in)); break;
    case PTX_OP_WGMMA:
    case PTX_OP_NANOSLEEP: t1_race_refuse(e, "waits"); break;
    default: break;
    }
    switch (e->in->op) {
    case PTX_OP_BAR:
    case PTX_OP_BARRIER: barrier(e); return true;
    case PTX_OP_WGMMA:
        if (!e->in->opcode || strstr(e->in->opcode, "mma_async"))
            return false;
        if (!strstr(e->in->opcode, "commit_group"))
            t1_put(e, "t1_bar_group(b, warp, live);\n");
        return true;
    case PTX_OP_SHFL: shuffle(e); return true;
    case PTX_OP_VOTE: vote(e); return true;
    case PTX_OP_MATCH: match(e); return true;
    case PTX_OP_REDUX: reduce(e); return true;
    case PTX_OP_ACTIVEMASK:
        if (t1_dst(e, 0) >= 0)
            define_all(e, t1_dst(e, 0), e->mask);
        return true;
    case PTX_OP_ELECT: elect(e); return true;
    case PTX_OP_NANOSLEEP:
        t1_put(e, "t1_yield(b);\n");
        e->spins = true;
        return true;
    default: return false;
    }
}
