/* Tier 1 emitter: loads and stores by the form of their address, address conversion, fences. */
#include "ptx/tier1/emit/access.h"

static const char *type_name(const struct t1_emit *e, const struct ptx_instr *in, bool store,
                             const struct ptx_opnd *data)
{
    bool narrow = data->kind == PTX_O_REG && ptx_type_size(e->f->reg[data->reg].type) <= 2;
    bool sign = !store && (in->type[0] == PTX_S8 || (in->type[0] == PTX_S16 && !narrow));
    switch (ptx_type_size(in->type[0])) {
    case 1: return sign ? "s8" : "u8";
    case 2: return sign ? "s16" : "u16";
    case 4: return "u32";
    default: return "u64";
    }
}

/* Pointer to lane `lane` of the half h of an address that is a scalar and a stride. */
const char *t1_pointer(struct t1_emit *e, const struct t1_access *x, unsigned h, int64_t lane)
{
    uint64_t off = x->imm + (uint64_t)(x->address.stride * lane);
    const char *s = x->address.rep == T1_G ? x->address.s[h] : x->address.s[0];
    if (x->address.kind == T1_K_32)
        return t1_in_shared(e, s, off);
    return t1_str(e, x->shared ? "(smem + (%s + 0x%llxull))" : "((uint8_t *)(%s + 0x%llxull))", s,
                  (unsigned long long)off);
}

/* First lane, within its scalar's lanes, of piece k; which scalar in *h. */
static unsigned first_lane(const struct t1_emit *e, const struct t1_access *x, unsigned k, unsigned *h)
{
    unsigned n = x->wide ? 2 * e->np : e->np, lanes = x->wide ? e->nl / 2 : e->nl;
    *h = x->address.rep == T1_G ? t1_group(e, n, k) : 0;
    return (x->address.rep == T1_G ? k % (n / 2) : k) * lanes;
}

static const char *bits(struct t1_emit *e, const struct t1_access *x, unsigned k)
{
    return t1_str(e, x->wide ? "T1_MASK64(%s, %u)" : "T1_MASK32(%s, %u)", e->mask, k);
}

/* Index pieces of a scatter or gather: for 64-bit elements half pieces. */
static const char *index_piece(struct t1_emit *e, const struct t1_access *x, const struct t1_arg *index, unsigned k)
{
    return x->wide ? t1_half(e, index, k) : t1_piece(e, index, k);
}

/* "base, index, scale" of piece k, or the addresses themselves; NULL: one contiguous row. */
static const char *place(struct t1_emit *e, const struct t1_access *x, unsigned k, const char **fn)
{
    const struct t1_arg *a = &x->address;
    if (x->local) {
        *fn = "";
        const char *ramp = t1_str(e, "t1_ramp_u32(0u, (uint32_t)b->local_stride, %u)", x->wide ? k / 2 : k);
        return t1_str(e,
                      x->wide ? "(b->local + ((uint64_t)warp * 32u * b->local_stride + %s + 0x%llxull)), "
                                "t1_half_u32(%s, %u), 1"
                              : "(b->local + ((uint64_t)warp * 32u * b->local_stride + %s + 0x%llxull)), %s, 1",
                      a->s[0], (unsigned long long)x->imm, ramp, k & 1);
    }
    if (a->rep != T1_V) {
        unsigned h, lane = first_lane(e, x, k, &h);
        *fn = "";
        if (a->stride == (int64_t)x->size)
            return NULL;
        if (a->stride > INT32_MAX / 32 || a->stride < INT32_MIN / 32)
            t1_fail(e, "stride of lanes is too large");
        const char *ramp = t1_str(e, "t1_ramp_u32(0u, 0x%xu, 0)", (unsigned)(uint32_t)a->stride);
        return t1_str(e, x->wide ? "%s, t1_half_u32(%s, 0), 1" : "%s, %s, 1", t1_pointer(e, x, h, lane), ramp);
    }
    *fn = "";
    if (a->kind == T1_K_32)
        return t1_str(e, "smem + (int32_t)0x%x, %s, 1", (unsigned)(uint32_t)x->imm, index_piece(e, x, a, k));
    if (x->has_gather) {
        struct t1_arg base = t1_value_arg(e, x->gather.base, e->block);
        struct t1_arg index = t1_value_arg(e, x->gather.index, e->block);
        return t1_str(e, "%s(%s + 0x%llxull), %s, %u", x->shared ? "smem + " : "(uint8_t *)", base.s[0],
                      (unsigned long long)x->imm, index_piece(e, x, &index, k), x->gather.scale);
    }
    *fn = "64";
    if (x->has_index && !x->shared) { /* made here alone: most often the lanes' addresses are a row */
        const char *low = t1_index_address(e, &x->gather, x->imm, x->wide ? k : 2 * k);
        return x->wide ? low : t1_str(e, "%s, %s", low, t1_index_address(e, &x->gather, x->imm, 2 * k + 1));
    }
    uint64_t imm = x->imm;
    const char *add = x->shared ? t1_str(e, " + ((uint64_t)smem + 0x%llxul)", (unsigned long long)imm)
                      : imm     ? t1_str(e, " + 0x%llxull", (unsigned long long)imm)
                                : "";
    if (x->wide)
        return t1_str(e, "%s%s", t1_piece(e, a, k), add);
    return t1_str(e, "%s%s, %s%s", t1_piece(e, a, 2 * k), add, t1_piece(e, a, 2 * k + 1), add);
}

/* An element of words that are loaded already. */
static const char *cut_piece(struct t1_emit *e, const struct t1_access *x, unsigned k)
{
    const char *word = t1_str(e, "%s_%u_%u", x->words, x->byte / (x->wide ? 8 : 4), k);
    const unsigned bits = 8 * x->size, low = x->byte % 4 * 8;
    if (bits >= 32)
        return word;
    if (*x->t == 's')
        return t1_str(e, "(pu32)((ps32)(%s << %u) >> %u)", word, 32 - bits - low, 32 - bits);
    return t1_str(e, "(%s >> %u & 0x%xu)", word, low, (1u << bits) - 1);
}

/* Words a fixed small step apart: members of structures, one a lane. */
bool t1_in_structures(const struct t1_access *x)
{
    const int64_t stride = x->address.stride;
    return !x->local && x->address.rep != T1_V && x->size == 4 && (stride == 8 || stride == 16);
}

const char *t1_load_piece(struct t1_emit *e, const struct t1_access *x, unsigned k)
{
    if (x->words)
        return cut_piece(e, x, k);
    const char *fn, *at = place(e, x, k, &fn);
    const int64_t stride = x->address.stride;
    unsigned h, lane = first_lane(e, x, k, &h);
    if (at && t1_in_structures(x))
        return t1_str(e, "t1_strided%u_u32(%s, %s)", (unsigned)stride, bits(e, x, k), t1_pointer(e, x, h, lane));
    if (at)
        return t1_str(e, "t1_gather%s_%s(%s, %s)", fn, x->t, bits(e, x, k), at);
    return t1_str(e, "t1_maskload_%s(%s, %s)", x->t, bits(e, x, k), t1_pointer(e, x, h, lane));
}

static unsigned register_size(const struct t1_emit *e, const struct ptx_opnd *o)
{
    return o->kind == PTX_O_REG ? ptx_type_size(e->f->reg[o->reg].type) : 0;
}

/* Tests whether addresses that differ from lane to lane follow one another after all, as they do where a program's
 * strides are parameters, or their indices do; the name of the answer, or NULL: not worth asking. */
const char *t1_ask_for_row(struct t1_emit *e, const struct t1_access *x, unsigned step)
{
    const struct t1_arg *a = &x->address, index = x->has_index ? t1_value_arg(e, x->gather.index, e->block) : *a;
    if (e->isa == T1_PLAIN || a->rep != T1_V || a->kind != T1_K_64 || x->shared || x->local || x->words ||
        x->size < 4 || e->guarded || (x->has_index ? step % x->gather.scale != 0 : x->has_gather))
        return NULL;
    const char *t = t1_str(e, "t%u", e->temps++);
    if (index.rep == T1_U) { /* of 32 bits, and widened: does it count to the end of them? */
        const uint32_t by = step / x->gather.scale;
        if (index.stride != (int64_t)by)
            return NULL;
        t1_put(e, "const int %s = %s <= 0x%xu%s%s;\n", t, index.s[0],
               (x->gather.is_signed ? 0x7fffffffu : ~0u) - 31 * by, step > x->size ? " & -!~" : "",
               step > x->size ? e->mask : "");
        return t;
    }
    t1_put(e, "const int %s = t1_%sin_row(", t, x->has_index ? "index_" : "");
    for (unsigned q = 0; q < (x->has_index ? 1 : 2) * e->np; q++)
        t1_put(e, "%s, ", t1_piece(e, &index, q));
    t1_put(e, "%u%s)%s%s;\n", x->has_index ? step / x->gather.scale : step,
           !x->has_index         ? ""
           : x->gather.is_signed ? ", 0x7fffffffu"
                                 : ", ~0u",
           step > x->size ? " & -!~" : "", step > x->size ? e->mask : "");
    return t;
}

/* Place of piece k of such a row. */
const char *t1_in_row(struct t1_emit *e, const struct t1_access *x, unsigned k)
{
    const unsigned lanes = x->wide ? e->nl / 2 : e->nl;
    const unsigned long long off = x->imm + k * lanes * x->size;
    if (!x->has_index)
        return t1_str(e, "(uint8_t *)(t1_lane0(%s) + 0x%llxull)", t1_piece(e, &x->address, 0), off);
    struct t1_arg base = t1_value_arg(e, x->gather.base, e->block), index = t1_value_arg(e, x->gather.index, e->block);
    const char *first = index.rep == T1_U ? index.s[0] : t1_str(e, "t1_lane0(%s)", t1_piece(e, &index, 0));
    return t1_str(e, "(uint8_t *)(%s + (uint64_t)%s(%s) * %uu + 0x%llxull)", base.s[0],
                  x->gather.is_signed ? "(int64_t)(int32_t)" : "", first, x->gather.scale, off);
}

/* A loaded expression as the register holds it. */
static const char *fit(struct t1_emit *e, const struct ptx_opnd *o, const char *s, bool wide)
{
    bool sign = ptx_extends_sign(e->in->type[0]);
    if (register_size(e, o) == 8 && !wide)
        return t1_str(e, sign ? "(uint64_t)(int64_t)(int32_t)%s" : "(uint64_t)%s", s);
    return register_size(e, o) <= 2 && sign ? t1_str(e, "(%s & 0xffffu)", s) : s;
}

/* Prefetches what is likely to be read next: in the loop's next round, or else by the next warp. */
static void read_ahead(struct t1_emit *e, const struct t1_access *x)
{
    const int32_t loop = e->f->block[e->block].loop_header;
    const unsigned bytes = (x->address.rep == T1_G ? 16 : 32) * x->size;
    if (x->address.rep == T1_U && t1_may_rest(e, loop)) {
        const uint8_t turn = bytes > 64 ? 8 : 2; /* short rows share lines, and a line's neighbours its cache set */
        t1_put(e, "T1_AHEAD_IN_LOOP(%s, %u, row%u, %u);\n", t1_pointer(e, x, 0, 0), bytes, e->rows++, turn);
        e->info[e->block].turn = turn > e->info[e->block].turn ? turn : e->info[e->block].turn;
        return;
    }
    for (unsigned h = 0; loop >= 0 && h < (x->address.rep == T1_G ? 2 : 1); h++)
        t1_put(e, "T1_AHEAD_ROUND(%s, %u, row%u);\n", t1_pointer(e, x, h, 0), bytes, e->rows++);
    if (loop < 0 && x->address.rep == T1_U)
        t1_put(e, "t1_ahead(%s, %u);\n", t1_pointer(e, x, 0, 0), bytes);
}

struct t1_pieces t1_load_pieces(struct t1_emit *e, const struct t1_access *x)
{
    const struct t1_arg *a = &x->address;
    struct t1_pieces p = {0};
    if (x->words)
        return p;
    const bool follow = a->rep != T1_V && a->stride == (int64_t)x->size;
    if (follow && !x->shared && !x->local)
        read_ahead(e, x);
    e->info[e->block].masked += follow;
    p.first = e->temps;
    p.row = t1_ask_for_row(e, x, x->size);
    if (p.row && e->f->block[e->block].loop_header >= 0)
        t1_put(e, "if (%s)\nT1_AHEAD_ROUND(%s, %u, row%u);\n", p.row, t1_in_row(e, x, 0), 32 * x->size, e->rows++);
    p.halves = a->rep == T1_G && !follow && !x->wide;
    e->temps += p.halves ? e->np : 0;
    return p;
}

/* Piece k, to be asked for in order. */
const char *t1_next_piece(struct t1_emit *e, const struct t1_access *x, const struct t1_pieces *p, unsigned k)
{
    const struct t1_arg *a = &x->address;
    const char *s = t1_load_piece(e, x, k);
    if (p->row)
        s = t1_str(e, "(%s ? t1_maskload_%s(%s, %s) : %s)", p->row, x->t, bits(e, x, k), t1_in_row(e, x, k), s);
    if (!p->halves)
        return s;
    const unsigned half = e->np / 2, t = p->first + k;
    if (k < half)
        t1_put(e, "const pu32 t%u = %s;\n", t, s);
    else
        t1_put(e, "const pu32 t%u = %s == %s && %s == %s ? t%u : %s;\n", t, a->s[0], a->s[1], bits(e, x, k),
               bits(e, x, k - half), t - half, s);
    return t1_str(e, "t%u", t);
}

/* Emits a load by the class of its address: one scalar access for a uniform address (one for each half of the warp
 * where halves differ), full-width accesses for consecutive lanes, else gathers. */
static void load(struct t1_emit *e, struct t1_access *x, const struct ptx_opnd *o, int32_t value)
{
    const struct t1_arg *a = &x->address;
    bool grouped = a->rep == T1_G, same = a->rep != T1_V && !a->stride && !x->local;
    unsigned n = x->wide ? 2 * e->np : e->np;
    if (same) { /* one access for all lanes, or for each half */
        struct t1_arg v = {.kind = e->value[value].kind, .rep = a->rep};
        for (unsigned h = 0; h < (grouped ? 2 : 1); h++) {
            const char *s = x->param ? t1_kernel_param(e, x->imm, x->t)
                                     : t1_str(e, "t1_ld_%s(%s)", x->t, t1_pointer(e, x, h, 0));
            v.s[h] = t1_str(e, "t%u", e->temps++);
            const char *on = grouped ? t1_str(e, "(%s %s)", e->mask, h ? ">> 16" : "& 0xffffu") : e->mask;
            s = fit(e, o, s, x->wide);
            t1_put(e, grouped || e->guarded ? "%s %s = %s ? %s : 0;\n" : "%s %s = %.0s%s;\n",
                   v.kind == T1_K_64 ? "uint64_t" : "uint32_t", v.s[h], on, s);
        }
        t1_def_arg(e, value, &v);
        return;
    }
    const bool extend = e->value[value].kind == T1_K_64 && !x->wide;
    const bool sign = ptx_extends_sign(e->in->type[0]);
    struct t1_pieces p = t1_load_pieces(e, x);
    for (unsigned k = 0; k < n; k++) {
        const char *s = t1_next_piece(e, x, &p, k);
        if (!extend) {
            if (register_size(e, o) <= 2 && sign)
                s = t1_str(e, "(%s & 0xffffu)", s);
            t1_def_piece(e, value, k, s);
            continue;
        }
        unsigned t = e->temps++;
        t1_put(e, "pu32 t%u = %s;\n", t, s);
        for (unsigned h = 0; h < 2; h++)
            t1_def_piece(e, value, 2 * k + h, t1_str(e, "t1_%sext_u32(t1_half_u32(t%u, %u))", sign ? "s" : "z", t, h));
    }
    t1_def_done(e, value);
}

/* Emits a store by the class of its address. Of lanes that store to one address the last active one wins: the ISA
 * allows any, and tier 0 leaves the same. */
void t1_store_element(struct t1_emit *e, const struct t1_access *x, const struct t1_arg *v)
{
    const struct t1_arg *a = &x->address;
    unsigned n = x->wide ? 2 * e->np : e->np;
    if (a->rep != T1_V && !a->stride && !x->local) { /* the last lane's value stays */
        for (unsigned h = 0; h < (a->rep == T1_G ? 2 : 1); h++) {
            const char *on = a->rep == T1_U ? e->mask : t1_str(e, h ? "(%s & 0xffff0000u)" : "(%s & 0xffffu)", e->mask);
            bool sure = a->rep == T1_U && !e->guarded;
            t1_put(e, sure ? "{\n" : "if (%s) {\n", on);
            const char *s;
            if (t1_same_for_all(v)) {
                s = v->s[0];
            } else {
                t1_put(e, "unsigned l = 31 - (unsigned)__builtin_clz(%s);\n", on);
                s = t1_lane(e, v);
            }
            t1_put(e, "t1_st_%s(%s, %s);\n}\n", x->t, t1_pointer(e, x, h, 0), s);
        }
        return;
    }
    e->info[e->block].masked += a->rep != T1_V && a->stride == (int64_t)x->size;
    const char *row = t1_ask_for_row(e, x, x->size);
    for (unsigned k = 0; k < n; k++) {
        const char *fn, *at = place(e, x, k, &fn), *p = t1_piece(e, v, k);
        if (row)
            t1_put(e, "if (%s) t1_maskstore_%s(%s, %s, %s);\nelse ", row, x->t, bits(e, x, k), t1_in_row(e, x, k), p);
        unsigned h, lane = first_lane(e, x, k, &h);
        if (at && t1_in_structures(x)) {
            t1_put(e, "t1_strided%u_put_u32(%s, %s, %s);\n", (unsigned)x->address.stride, bits(e, x, k),
                   t1_pointer(e, x, h, lane), p);
        } else if (at) {
            t1_put(e, "t1_scatter%s_%s(%s, ", fn, x->t, bits(e, x, k));
            if (*fn)
                t1_put(e, "%s, %s);\n", at, p);
            else { /* base, index, value, scale */
                const char *c = at;
                for (const char *q = at; *q; q++)
                    c = *q == ',' ? q : c;
                t1_put(e, "%.*s, %s%s);\n", (int)(c - at), at, p, c);
            }
        } else {
            t1_put(e, "t1_maskstore_%s(%s, %s, %s);\n", x->t, bits(e, x, k), t1_pointer(e, x, h, lane), p);
        }
    }
}

/* Status words that other threads read must move in one piece: a lane's vector at once, of up to 16 bytes. */
static void whole_words(struct t1_emit *e, struct t1_access *x, const struct ptx_opnd *data, const int32_t *value,
                        unsigned n, bool is_store)
{
    const unsigned bytes = n * x->size, bits = 8 * x->size;
    const bool sign = ptx_extends_sign(e->in->type[0]);
    if (bytes > 16)
        t1_fail(e, "ordered access of this size is not supported");
    t1_put(e, "{\n");
    const char *lane[8];
    for (unsigned k = 0; k < n; k++)
        if (is_store) {
            struct t1_arg v = t1_source(e, &data[k], value[k], x->size == 8 ? T1_K_64 : T1_K_32);
            lane[k] = t1_lane(e, &v);
        } else {
            lane[k] = t1_str(e, "t%u", e->temps++);
            t1_put(e, "%s %s[32] = {0};\n", register_size(e, &data[k]) == 8 ? "uint64_t" : "uint32_t", lane[k]);
        }
    const char *p = t1_lane_pointer(e, &x->address, x->shared, x->imm);
    t1_put(e, "T1_FOR_LANES(l, %s) {\nuint%u_t w[%u] __attribute__((aligned(16)));\n", e->mask, bits, n);
    if (is_store) {
        for (unsigned k = 0; k < n; k++)
            t1_put(e, "w[%u] = (uint%u_t)%s;\n", k, bits, lane[k]);
        t1_put(e, "t1_stv_%u(%s, w);\n}\n}\n", bytes, p);
        return;
    }
    t1_put(e, "t1_ldv_%u(%s, w);\n", bytes, p);
    for (unsigned k = 0; k < n; k++) {
        const unsigned size = register_size(e, &data[k]); /* 8 and 16 bits lie in 32, those above them zero */
        t1_put(e, "%s[l] = (uint%u_t)(%sint%u_t)w[%u];\n", lane[k],
               size == 8   ? 64
               : size == 4 ? 32
                           : 16,
               sign ? "" : "u", bits, k);
    }
    t1_put(e, "}\n");
    for (unsigned k = 0; k < n; k++)
        if (data[k].kind == PTX_O_REG && e->value[value[k]].used)
            t1_def_lanes(e, value[k], lane[k]);
    t1_put(e, "}\n");
}

/* A bit for each element that somebody reads. */
static unsigned used_ones(const struct t1_emit *e, const struct ptx_opnd *data, const int32_t *value, unsigned n)
{
    unsigned used = 0;
    for (unsigned k = 0; k < n; k++)
        used |= (unsigned)(data[k].kind == PTX_O_REG && e->value[value[k]].used) << k;
    return used;
}

static const struct ptx_var *kernel_parameter(struct t1_emit *e, const struct ptx_opnd *o)
{
    const struct ptx_var *v = o->sym >= 0 ? ptx_symbol(e->f, o->sym) : NULL;
    return v && v->space == PTX_SP_PARAM && e->f->is_entry && PTX_SYM_BAND(o->sym) == PTX_BAND_PARAM ? v : NULL;
}

/* An offset in local memory as a flat address, or back. */
struct t1_arg t1_in_local(struct t1_emit *e, const struct t1_arg *a, char sign)
{
    struct t1_arg base = t1_local_base(e), sum = {.kind = T1_K_64, .rep = T1_V};
    sum.v = t1_str(e, "t%u", e->temps++);
    for (unsigned q = 0; q < 2 * e->np; q++)
        t1_put(e, "pu64 %s_%u = %s %c %s;\n", sum.v, q, t1_piece(e, a, q), sign, t1_piece(e, &base, q));
    return sum;
}

/* Emits ld or st: finds the space, the address and its class, the forms that gathers with 32-bit indices can take,
 * and checks alignment where it is not proved; each element of a vector is then an access of its own. */
static void access(struct t1_emit *e, bool is_store)
{
    const struct ptx_instr *in = e->in;
    const struct ptx_opnd *o = &in->src[0], *data = is_store ? &in->src[1] : &in->dst[0];
    const int32_t *value = is_store ? &e->f->instr_src[e->at][1] : &e->f->instr_dst[e->at][0];
    unsigned n = 1;
    struct t1_access x = {.shared = in->space == PTX_SP_SHARED, .size = ptx_type_size(in->type[0])};
    if (data->kind == PTX_O_VEC) {
        n = data->n;
        value = &e->f->opnd_value[data->first];
        data = &e->f->opnd[data->first];
    }
    if (x.size > 8 || n > 8)
        t1_fail(e, "128-bit values are not supported");
    if (t1_param_access(e, is_store))
        return;
    const struct ptx_var *parameter = kernel_parameter(e, o);
    if (parameter && is_store)
        t1_fail(e, "store to a kernel parameter");
    bool ordered = in->sem != PTX_WEAK;
    if (ordered)
        t1_race_refuse(e, "ordered accesses");
    x.value = o->reg >= 0 ? e->f->instr_src[e->at][0] : -1;
    x.address = t1_address(e, o, e->f->instr_src[e->at][0], &x.shared, &x.imm);
    x.has_index = x.address.rep == T1_V && x.address.kind == T1_K_64 && o->reg >= 0 && !t1_of_cluster(in) &&
                  t1_gather_form(e->f, e->f->instr_src[e->at][0], e->block, &x.gather);
    x.has_gather = x.has_index && x.gather.is_signed && x.gather.scale <= 8 && !(x.gather.scale & (x.gather.scale - 1));
    const struct ptx_var *var = o->sym >= 0 ? ptx_symbol(e->f, o->sym) : NULL;
    const bool local = in->space == PTX_SP_LOCAL || (var && var->space == PTX_SP_LOCAL);
    if (!parameter || ordered || o->imm + (uint64_t)x.size * n > parameter->size) {
        const unsigned what = (is_store ? T1_WATCH_WRITES : 0) | (x.shared ? T1_WATCH_SHARED : 0) |
                              (local ? T1_WATCH_LOCAL : 0) | (in->space == PTX_SP_GLOBAL ? T1_WATCH_GLOBAL : 0);
        struct t1_arg v[8];
        for (unsigned k = 0; e->raced && is_store && k < n; k++)
            v[k] = t1_source(e, &data[k], value[k], x.size == 8 ? T1_K_64 : T1_K_32);
        t1_watch(e, &x.address, x.has_gather && !local ? &x.gather : NULL, x.imm, x.size * n, what, e->mask);
        t1_race(e, &x.address, x.imm, x.size * n, what, v, is_store ? n : 0);
    }
    if (local) {
        x.has_index = x.has_gather = false;
        x.local = t1_same_for_all(&x.address) && !ordered;
        if (!x.local)
            x.address = t1_in_local(e, &x.address, '+');
    }
    t1_aligned(e, &x.address, x.has_index ? &x.gather : NULL, o->reg >= 0 ? e->f->instr_src[e->at][0] : -1, x.imm,
               x.size * n);
    x.has_index = x.has_index && t1_value_arg(e, x.gather.index, e->block).rep != T1_G;
    if (parameter && !ordered && o->imm + (uint64_t)x.size * n <= parameter->size) {
        x.param = true;
        x.imm = parameter->offset + o->imm;
    }
    if (ordered)
        t1_put(e, in->sem == PTX_SC ? "t1_fence();\n" : "T1_COMPILER_FENCE();\n");
    if (ordered && n > 1) {
        whole_words(e, &x, data, value, n, is_store);
    } else {
        struct t1_arg v[8];
        for (unsigned k = 0; is_store && k < n; k++)
            v[k] = t1_source(e, &data[k], value[k], x.size == 8 ? T1_K_64 : T1_K_32);
        x.wide = x.size == 8;
        x.t = type_name(e, in, is_store, &data[0]);
        const bool groups = !ordered && !local && !parameter;
        if (!is_store && groups && n == 1 && o->reg >= 0)
            x.words = t1_factor(e, &x);
        if (!is_store && groups && !x.words)
            x.words = t1_load_together(e, &x, &x.byte);
        const bool whole = n > 1 && !ordered && (x.address.rep == T1_V || x.address.stride || x.local);
        if (is_store) {
            const bool done = groups && t1_store_together(e, &x);
            if (whole && !done)
                t1_store_vector(e, &x, v, n);
            for (unsigned k = 0; !whole && !done && k < n; k++, x.imm += x.size)
                t1_store_element(e, &x, &v[k]);
        } else {
            if (whole && !x.words)
                x.words = t1_load_vector(e, &x, n, used_ones(e, data, value, n));
            for (unsigned k = 0; k < n; k++, x.imm += x.size, x.byte += x.size) {
                x.t = type_name(e, in, is_store, &data[k]);
                if (data[k].kind == PTX_O_REG && e->value[value[k]].used)
                    load(e, &x, &data[k], value[k]);
            }
        }
    }
    if (ordered)
        t1_put(e, in->sem == PTX_SC ? "t1_fence();\n" : "T1_COMPILER_FENCE();\n");
}

/* Emits cvta: generic addresses are host addresses, so that global ones stay, and shared and local ones have the
 * base of the block's memory or the lane's stack added or taken away. */
static void convert_address(struct t1_emit *e)
{
    int32_t v = t1_dst(e, 0);
    if (v < 0)
        return;
    struct t1_arg a = t1_src(e, 0, e->value[v].kind);
    if (e->in->space == PTX_SP_LOCAL) {
        a = t1_in_local(e, &a, e->in->flags & PTX_F_TO ? '-' : '+');
    } else if (e->in->space == PTX_SP_SHARED) {
        if (a.kind != T1_K_64)
            t1_fail(e, "generic addresses have 64 bits");
        char sign = e->in->flags & PTX_F_TO ? '-' : '+';
        if (t1_of_cluster(e->in)) {
            a = e->in->flags & PTX_F_TO ? t1_near_address(e, &a) : t1_far_address(e, &a, 0);
        } else if (a.rep != T1_V) {
            for (unsigned h = 0; h < 2 && a.s[h]; h++)
                a.s[h] = t1_str(e, "(%s %c (uint64_t)smem)", a.s[h], sign);
        } else {
            const char *t = t1_str(e, "t%u", e->temps++);
            for (unsigned q = 0; q < 2 * e->np; q++)
                t1_put(e, "pu64 %s_%u = %s %c (uint64_t)smem;\n", t, q, t1_piece(e, &a, q), sign);
            a.v = t;
            a.narrowed = false;
        }
    }
    t1_def_arg(e, v, &a);
}

static void which_space(struct t1_emit *e)
{
    int32_t v = t1_dst(e, 0);
    if (v < 0)
        return;
    struct t1_arg a = t1_src(e, 0, T1_K_64);
    if (e->value[v].rep != T1_V) {
        t1_def_scalar(e, v, 0,
                      t1_str(e, "t1_isspacep(b, %u, %d, %s)", e->in->space, t1_of_cluster(e->in), t1_scalar(e, &a, 0)));
        t1_def_done(e, v);
        return;
    }
    t1_put(e, "{\n");
    const char *x = t1_lane(e, &a);
    t1_put(e, "uint32_t d = 0;\nfor (unsigned l = 0; l < 32; l++) d |= t1_isspacep(b, %u, %d, %s) << l;\n",
           e->in->space, t1_of_cluster(e->in), x);
    t1_def_mask(e, v, "d");
    t1_put(e, "}\n");
}

bool t1_memory(struct t1_emit *e)
{
    switch (e->in->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU: access(e, false); return true;
    case PTX_OP_ST: access(e, true); return true;
    case PTX_OP_CVTA: convert_address(e); return true;
    case PTX_OP_ISSPACEP: which_space(e); return true;
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
        t1_race_refuse(e, "fences");
        t1_put(e, "t1_fence();\n");
        return true;
    case PTX_OP_ALLOCA:
    case PTX_OP_STACKSAVE:
    case PTX_OP_STACKRESTORE: t1_fail(e, "dynamic local memory is not supported");
    default: return false;
    }
}
