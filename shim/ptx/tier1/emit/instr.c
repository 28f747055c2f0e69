/* Tier 1 emitter: one instruction. Arithmetic by the table of alu.c, moves, guards. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

/* ---- arithmetic ---- */

static bool carries(const struct t1_op *op) { return op->reads_cc || op->writes_cc; }

static const char *expand(struct t1_emit *e, const char *pattern, const char *const arg[5])
{
    size_t size = strlen(pattern) + 8;
    for (const char *p = pattern; *p; p++)
        if (*p == '$' && p[1] >= '0' && p[1] <= '4')
            size += strlen(arg[p[1] - '0']) + 4;
    return t1_alu_expand(t1_alloc(e, size, 1), size, pattern, arg);
}

/* A pattern over pieces of 32 bits for piece k. */
static const char *text_of(struct t1_emit *e, const struct t1_op *op, const char *pattern, const struct t1_arg *a,
                           unsigned k)
{
    const char *arg[5] = {"", "", "", "", ""};
    for (unsigned s = 0; s < op->nsrc; s++)
        arg[s] = t1_piece(e, &a[s], k);
    return expand(e, pattern, arg);
}

/* The expression for one piece; for operations on 64 bits k counts pieces of 64-bit values. */
static const char *piece_of(struct t1_emit *e, const struct t1_op *op, unsigned d, const struct t1_arg *a, unsigned k)
{
    const char *arg[5] = {"", "", "", "", ""};
    for (unsigned s = 0; s < op->nsrc + (op->reads_cc ? 1u : 0u); s++) {
        arg[s] = op->wide ? t1_half(e, &a[s], k) : t1_piece(e, &a[s], k);
    }
    if (e->in->op == PTX_OP_SELP && a[2].c && a[2].c_wide == op->wide)
        return t1_str(e, op->wide ? "t1_pick64(%s_%u, %s, %s)" : "t1_pick32(%s_%u, %s, %s)", a[2].c, k, arg[0], arg[1]);
    return t1_str(e, "(%s)", expand(e, op->dst[d].vector, arg));
}

/* Extends a 32-bit result to a register of 64 bits: cvt alone does that. */
static unsigned extension(const struct ptx_instr *in)
{
    switch (in->type[0]) {
    case PTX_S8: return 8;
    case PTX_S16: return 16;
    case PTX_S32: return 32;
    default: return 0;
    }
}

static const char *extend_scalar(struct t1_emit *e, const char *x)
{
    unsigned s = extension(e->in);
    return s ? t1_str(e, "(uint64_t)(int64_t)(int%u_t)(%s)", s, x) : t1_str(e, "(uint64_t)(%s)", x);
}

/* One piece of a 32-bit result as half q of a 64-bit one. */
static const char *extend_piece(struct t1_emit *e, const char *x, unsigned q)
{
    unsigned s = extension(e->in);
    if (s && s < 32)
        x = t1_str(e, "(pu32)((ps32)(%s << %u) >> %u)", x, 32 - s, 32 - s);
    return t1_str(e, s ? "t1_sext_u32(t1_half_u32(%s, %u))" : "t1_zext_u32(t1_half_u32(%s, %u))", x, q & 1);
}

/* A 32-bit result that is wanted in a wider register. */
static bool extends(const struct t1_emit *e, const struct t1_op *op, unsigned d, int32_t value)
{
    return op->dst[d].kind == T1_K_32 && e->value[value].kind == T1_K_64;
}

static void define_32(struct t1_emit *e, const struct t1_op *op, unsigned d, int32_t value, unsigned k, const char *x)
{
    if (!extends(e, op, d, value)) {
        t1_def_piece(e, value, k, x);
        return;
    }
    t1_def_piece(e, value, 2 * k, extend_piece(e, x, 0));
    t1_def_piece(e, value, 2 * k + 1, extend_piece(e, x, 1));
}

/* i < n and the like where i counts lanes: for most warps its two ends say that all lanes are on one side. */
static const char *all_or(struct t1_emit *e, unsigned d, const struct t1_arg *a, const char *pieces)
{
    const struct ptx_instr *in = e->in;
    unsigned cmp = in->cmp, type = in->type[0], size = ptx_type_size(type);
    bool swap = t1_same_for_all(&a[0]);
    const struct t1_arg *i = &a[swap], *n = &a[!swap];
    bool integer = type == PTX_S32 || type == PTX_U32 || type == PTX_S64 || type == PTX_U64;
    if (in->op != PTX_OP_SETP || in->sub || d || cmp < PTX_LT || cmp > PTX_GE || !integer || i->rep != T1_U ||
        i->stride <= 0 || i->stride > 1 << 20 || !t1_same_for_all(n) || i->kind != (size == 8 ? T1_K_64 : T1_K_32))
        return pieces;
    if (swap)
        cmp = cmp == PTX_LT ? PTX_GT : cmp == PTX_LE ? PTX_GE : cmp == PTX_GT ? PTX_LT : PTX_LE;
    bool below = cmp == PTX_LT || cmp == PTX_LE; /* all lanes, or else none, when the last is below n */
    return t1_str(e, "T1_BELOW(%s%u, %s, 0x%llxu, %s, %s, %s, %s)", type == PTX_S32 || type == PTX_S64 ? "s" : "u",
                  8 * size, i->s[0], (unsigned long long)(31 * i->stride),
                  cmp == PTX_LT || cmp == PTX_GE ? "<" : "<=", n->s[0], below ? "~0u" : "0u", pieces);
}

/* A comparison alone is kept by pieces too, for what selects by it: bits of a mask and back take longer than both. */
static bool keep_pieces(struct t1_emit *e, const struct t1_op *op, unsigned d, const struct t1_arg *a)
{
    static const char prefix[] = "t1_v_cmp_";
    const int32_t value = d ? -1 : t1_dst(e, 0);
    if (e->in->op != PTX_OP_SETP || value < 0 || e->in->sub || e->guarded || e->value[value].escapes ||
        strncmp(op->dst[0].vector, prefix, strlen(prefix)) != 0)
        return false;
    for (unsigned k = 0; k < (op->wide ? 2 : 1) * e->np; k++)
        t1_put(e, "const t1_c%u v%dc_%u = (t1_c%s;\n", op->wide ? 64 : 32, value, k,
               piece_of(e, op, 0, a, k) + strlen("(t1_v"));
    e->value[value].pieces = op->wide ? 64 : 32;
    return true;
}

/* A predicate's lanes, from the bits of its pieces. */
static const char *lanes_of(struct t1_emit *e, const struct t1_op *op, unsigned d, const struct t1_arg *a)
{
    const char *m = "";
    const bool kept = *all_or(e, d, a, "") == '\0' && keep_pieces(e, op, d, a);
    for (unsigned k = 0; k < (op->wide ? 2 : 1) * e->np; k++) {
        const char *bits = kept ? t1_str(e, "t1_cbits%u(v%dc_%u)", op->wide ? 64 : 32, t1_dst(e, 0), k)
                                : piece_of(e, op, d, a, k);
        m = k ? t1_str(e, "%s | (uint32_t)%s << %u", m, bits, k * (op->wide ? e->nl / 2 : e->nl))
              : t1_str(e, "(uint32_t)%s", bits);
    }
    return all_or(e, d, a, t1_str(e, "(%s)", m));
}

/* mul.lo of 64 bits of a number that all lanes share and one that counts lanes: a ramp of another stride. AVX2 has no
 * such multiplication, and programs that hold strides in memory begin with it. */
static bool ramp_of_product(struct t1_emit *e, const struct t1_op *op, int32_t value, const struct t1_arg *a)
{
    const bool swap = t1_same_for_all(&a[0]);
    const struct t1_arg *i = &a[!!swap], *n = &a[!swap];
    if (op->op != LIR_MUL_LO_I64 || e->isa != T1_AVX2 || i->rep != T1_U || !i->stride || !t1_same_for_all(n))
        return false;
    const unsigned t = e->temps++;
    t1_put(e, "const uint64_t t%u_s = %s * 0x%llxull, t%u_b = %s * %s;\n", t, n->s[0], (unsigned long long)i->stride, t,
           n->s[0], i->s[0]);
    t1_put(e, "const pu64 t%u_l = {0, t%u_s, 2 * t%u_s, 3 * t%u_s};\n", t, t, t, t);
    for (unsigned q = 0; q < 2 * e->np; q++)
        t1_def_piece(e, value, q, t1_str(e, "t1_splat_u64(t%u_b + %u * t%u_s) + t%u_l", t, q * e->nl / 2, t, t));
    return true;
}

/* A result that .ftz flushes: one test for all pieces finds whether any lane's is as small as that, which is rare. */
static void flushed_together(struct t1_emit *e, const struct t1_op *op, int32_t value, const struct t1_arg *a)
{
    const unsigned t = e->temps++;
    const char *all = "";
    for (unsigned k = 0; k < e->np; k++) {
        t1_put(e, "pu32 t%u_%u = %s;\n", t, k, text_of(e, op, op->once, a, k));
        all = t1_str(e, "%s%st%u_%u", all, k ? ", " : "", t, k);
    }
    t1_put(e, "if (T1_UNLIKELY(t1_v_edges(%s))) {\n", all);
    for (unsigned k = 0; k < e->np; k++)
        t1_put(e, "t%u_%u = t1_v_edge(t%u_%u, %s);\n", t, k, t, k, text_of(e, op, op->again, a, k));
    t1_put(e, "}\n");
    for (unsigned k = 0; k < e->np; k++)
        define_32(e, op, 0, value, k, t1_str(e, op->aux & LIR_SAT ? "t1_v_sat(t%u_%u)" : "t%u_%u", t, k));
}

/* A quotient or remainder by a number that all lanes share; NULL: another operation. */
static const char *by_one_number(struct t1_emit *e, const struct t1_op *op, const struct t1_arg *a, unsigned k)
{
    const char *name = op->op == LIR_DIV_U32   ? "div_by_u32"
                       : op->op == LIR_DIV_S32 ? "div_by_s32"
                       : op->op == LIR_REM_U32 ? "rem_by_u32"
                       : op->op == LIR_REM_S32 ? "rem_by_s32"
                                               : NULL;
    return name && t1_same_for_all(&a[1])
               ? t1_str(e, "(t1_v_%s(%s, %s))", name, t1_piece(e, &a[0], k), t1_scalar(e, &a[1], 0))
               : NULL;
}

/* Source k is of four bytes below 128: bits were cut off. */
static bool small_bytes(const struct t1_emit *e, unsigned k)
{
    const struct ptx_opnd *o = &e->in->src[k];
    if (o->kind == PTX_O_REG) {
        const int32_t instr = e->f->value[e->f->instr_src[e->at][k]].instr;
        const struct ptx_instr *in = instr >= 0 ? &e->f->instr[instr] : NULL;
        o = in && in->op == PTX_OP_AND && in->guard < 0 ? &in->src[1] : o;
    }
    return o->kind == PTX_O_IMM && !(o->imm & 0x80808080u);
}

/* A sum of products of bytes, one factor of which is small, the other signed; NULL: another operation. */
static const char *of_small_bytes(struct t1_emit *e, const struct t1_op *op, const struct t1_arg *a, unsigned k)
{
    for (unsigned s = 0; s < 2 && op->op == LIR_DP4A; s++)
        if (small_bytes(e, s) && (op->aux >> (1 - s) & 1 || small_bytes(e, 1 - s)))
            return t1_str(e, "(t1_v_dp4a_small(%s, %s, %s))", t1_piece(e, &a[s], k), t1_piece(e, &a[1 - s], k),
                          t1_piece(e, &a[2], k));
    return NULL;
}

static void varying(struct t1_emit *e, const struct t1_op *op, unsigned d, int32_t value, const struct t1_arg *a)
{
    if (!d && *op->once) {
        flushed_together(e, op, value, a);
        return;
    }
    if (op->dst[d].kind == T1_K_64 && ramp_of_product(e, op, value, a))
        return;
    if (op->dst[d].kind == T1_K_PRED) {
        t1_def_mask(e, value, lanes_of(e, op, d, a));
    } else if (op->dst[d].kind == T1_K_64) {
        for (unsigned q = 0; q < 2 * e->np; q++)
            t1_def_piece(e, value, q, piece_of(e, op, d, a, q));
    } else {
        for (unsigned k = 0; k < e->np; k++) {
            const char *one = by_one_number(e, op, a, k);
            one = one ? one : of_small_bytes(e, op, a, k);
            const char *x = one         ? one
                            : !op->wide ? piece_of(e, op, d, a, k)
                                        : t1_str(e, "t1_join_u32(%s, %s)", piece_of(e, op, d, a, 2 * k),
                                                 piece_of(e, op, d, a, 2 * k + 1));
            define_32(e, op, d, value, k, x);
        }
    }
}

/* A quotient that is the same for all lanes, of products and sums that are not. */
static bool prepared_quotient(struct t1_emit *e, int32_t value)
{
    struct ptx_prepared p;
    if (e->in->op != PTX_OP_SHR || !ptx_prepared_division(e->f, e->at, &p))
        return false;
    const struct t1_arg number = t1_value_arg(e, p.number, e->block), magic = t1_value_arg(e, p.magic_value, e->block);
    const struct t1_arg shift = t1_value_arg(e, p.shift_value, e->block);
    if (number.rep == T1_V || !number.stride)
        return false;
    for (unsigned h = 0; h < (e->value[value].rep == T1_G ? 2 : 1); h++)
        t1_def_scalar(e, value, h,
                      t1_str(e, "((uint32_t)(((uint64_t)%s * %s >> 32) + %s) >> %s)", t1_scalar(e, &number, h),
                             t1_scalar(e, &magic, 0), t1_scalar(e, &number, h), t1_scalar(e, &shift, 0)));
    return true;
}

static void uniform(struct t1_emit *e, const struct t1_op *op, unsigned d, int32_t value, const struct t1_arg *a)
{
    if (prepared_quotient(e, value))
        return;
    for (unsigned h = 0; h < (e->value[value].rep == T1_G ? 2 : 1); h++) {
        const char *arg[5] = {"", "", "", "", ""};
        for (unsigned s = 0; s < op->nsrc; s++)
            arg[s] = t1_scalar(e, &a[s], h);
        const char *x = t1_str(e, "(%s)", expand(e, op->dst[d].scalar, arg));
        t1_def_scalar(e, value, h, extends(e, op, d, value) ? extend_scalar(e, x) : x);
    }
}

/* Its value is known whatever the sources are. */
static bool known(const struct t1_emit *e, int32_t value)
{
    const struct ptx_value *v = &e->f->value[value];
    return e->value[value].rep == T1_U && e->value[value].kind != T1_K_PRED && v->has_range && v->lo == v->hi;
}

/* ---- through tier 0's handler ---- */

static void put_row(struct t1_emit *e, const struct t1_arg *a, unsigned n, int h)
{
    bool wide = a->kind == T1_K_64;
    if (a->kind == T1_K_PRED)
        t1_put(e, "t1_put_pred(&r, T1_SRC_ROW(%u), %s);\n", n, t1_mask(e, a));
    else if (a->rep != T1_V && (h >= 0 || t1_same_for_all(a)))
        t1_put(e, "t1_put_all_%s(&r, T1_SRC_ROW(%u), %s);\n", wide ? "u64" : "u32", n,
               t1_scalar(e, a, h < 0 ? 0 : (unsigned)h));
    else
        for (unsigned k = 0; k < (wide ? 2 : 1) * e->np; k++)
            t1_put(e, "t1_put_%s(&r, T1_SRC_ROW(%u), %u, %s);\n", wide ? "u64" : "u32", n, k, t1_piece(e, a, k));
}

static void run_rows(struct t1_emit *e, const struct t1_op *op, const struct t1_arg *a, int h)
{
    for (unsigned s = 0; s < op->nsrc; s++)
        put_row(e, &a[s], s, h);
    if (carries(op))
        t1_put(e, "r.carry = cc;\n");
    t1_put(e, "t1_alu(b, &r, %u, %u, %d, ~0u);\n", op->op, op->aux, op->imm);
    if (carries(op) && e->guarded)
        t1_put(e, "cc = (cc & ~%s) | (r.carry & %s);\n", e->mask, e->mask);
    else if (carries(op))
        t1_put(e, "cc = r.carry;\n");
}

static void get_row(struct t1_emit *e, const struct t1_op *op, unsigned d, int32_t value, int h)
{
    bool wide = op->dst[d].kind == T1_K_64;
    if (op->dst[d].kind == T1_K_PRED && e->value[value].rep == T1_V) {
        t1_def_mask(e, value, t1_str(e, "t1_get_pred(&r, T1_DST_ROW(%u))", d));
    } else if (op->dst[d].kind == T1_K_PRED) {
        t1_def_scalar(e, value, 0, t1_str(e, "(t1_get_pred(&r, T1_DST_ROW(%u)) & 1u)", d));
    } else if (h >= 0) {
        const char *x = t1_str(e, "*(t1_u%s *)r.row[T1_DST_ROW(%u)]", wide ? "64" : "32", d);
        t1_def_scalar(e, value, (unsigned)h, extends(e, op, d, value) ? extend_scalar(e, x) : x);
    } else if (wide) {
        for (unsigned q = 0; q < 2 * e->np; q++)
            t1_def_piece(e, value, q, t1_str(e, "t1_get_u64(&r, T1_DST_ROW(%u), %u)", d, q));
    } else {
        for (unsigned k = 0; k < e->np; k++)
            define_32(e, op, d, value, k, t1_str(e, "t1_get_u32(&r, T1_DST_ROW(%u), %u)", d, k));
    }
}

static void by_handler(struct t1_emit *e, const struct t1_op *op, const int32_t *value, const struct t1_arg *a)
{
    unsigned rep = T1_V;
    for (unsigned d = 0; d < 2; d++)
        if (value[d] >= 0)
            rep = e->value[value[d]].rep;
    e->uses_cc |= carries(op);
    t1_put(e, "{ struct t1_rows r;\n");
    for (int h = rep == T1_V ? -1 : 0; h < (rep == T1_G ? 2 : rep == T1_U ? 1 : 0); h++) {
        run_rows(e, op, a, h);
        for (unsigned d = 0; d < 2; d++)
            if (value[d] >= 0)
                get_row(e, op, d, value[d], h);
    }
    t1_put(e, "}\n");
}

/* Emits an arithmetic instruction by its row of the table: the vector text for varying results, the scalar one for
 * uniform ones, piece by piece. Without a text for what is needed tier 0's handler is called on rows in memory. */
static void arithmetic(struct t1_emit *e)
{
    struct t1_op op = {0};
    struct t1_arg a[5];
    if (!t1_alu(e->in, &op) || op.nsrc > 4) {
        if (ptx_allocates(e->in))
            t1_put(e, "t1_look_for_others(b);\n");
        t1_escape(e);
        return;
    }
    t1_spare_flushes(e, &op);
    bool second = op.dst[1].kind && !op.writes_cc, written = true;
    int32_t value[2] = {t1_dst(e, 0), second ? t1_dst(e, 1) : -1};
    if (value[0] < 0 && value[1] < 0 && !op.writes_cc)
        return;
    for (unsigned d = 0; d < 2; d++)
        written &= value[d] < 0 || known(e, value[d]) ||
                   (e->value[value[d]].rep == T1_V ? op.dst[d].vector[0] : op.dst[d].scalar[0]);
    written &= !op.writes_cc || op.dst[1].vector[0];
    for (unsigned s = 0; s < op.nsrc; s++) {
        struct ptx_opnd o = e->in->src[s];
        o.neg = 0; /* the operation itself negates: LIR_CMP_NOTC */
        a[s] = s < e->in->nsrc ? t1_source(e, &o, e->f->instr_src[e->at][s], op.src[s])
                               : t1_const(e, op.src[s], 0); /* left out: of video and cvt.pack */
    }
    e->uses_cc |= op.reads_cc || op.writes_cc;
    if (op.reads_cc)
        a[op.nsrc] = (struct t1_arg){.kind = T1_K_PRED, .rep = T1_V, .v = "cc"};
    if (!written) {
        by_handler(e, &op, value, a);
    }
    unsigned carry = e->temps++;
    if (written && op.writes_cc)
        t1_put(e, "uint32_t t%u = %s;\n", carry, lanes_of(e, &op, 1, a));
    for (unsigned d = 0; written && d < 2; d++)
        if (value[d] >= 0 && e->value[value[d]].rep == T1_V)
            varying(e, &op, d, value[d], a);
        else if (value[d] >= 0 && !known(e, value[d]))
            uniform(e, &op, d, value[d], a);
    if (written && op.writes_cc && e->guarded)
        t1_put(e, "cc = (cc & ~%s) | (t%u & %s);\n", e->mask, carry, e->mask);
    else if (written && op.writes_cc)
        t1_put(e, "cc = t%u;\n", carry);
    for (unsigned d = 0; d < 2; d++)
        if (value[d] >= 0)
            t1_def_done(e, value[d]);
}

/* ---- moves ---- */

static int32_t part_value(struct t1_emit *e, const struct ptx_opnd *vec, unsigned k)
{
    const struct ptx_opnd *o = &e->f->opnd[vec->first + k];
    int32_t v = e->f->opnd_value[vec->first + k];
    return o->kind == PTX_O_REG && v >= 0 && e->value[v].used ? v : -1;
}

static struct t1_arg part_arg(struct t1_emit *e, const struct ptx_opnd *vec, unsigned k, unsigned kind)
{
    return t1_source(e, &e->f->opnd[vec->first + k], e->f->opnd_value[vec->first + k], kind);
}

/* Element k of `bits` bits of a 32-bit expression. */
static const char *cut(struct t1_emit *e, const char *x, unsigned k, unsigned bits)
{
    if (bits == 32)
        return x;
    x = k ? t1_str(e, "(%s >> %u)", x, k * bits) : x;
    return (k + 1) * bits == 32 ? x : t1_str(e, "(%s & 0x%xu)", x, (1u << bits) - 1);
}

/* Emits `mov {a, b}, c`: each part cut out of the value, by shifts of 32-bit lanes. Of a 64-bit value the low and
 * high halves lie in pairs of pieces, which are joined first. */
static void unpack(struct t1_emit *e)
{
    const struct ptx_opnd *d = &e->in->dst[0];
    unsigned size = ptx_type_size(e->in->type[0]), bits = 8 * size / d->n;
    if (size > 8 || bits > 32)
        t1_fail(e, "128-bit values are not supported");
    struct t1_arg a = t1_src(e, 0, size == 8 ? T1_K_64 : T1_K_32);
    for (unsigned k = 0; k < d->n; k++) {
        int32_t v = part_value(e, d, k);
        if (v < 0)
            continue;
        unsigned low = k * bits, in_word = low % 32 / bits;
        if (e->value[v].rep != T1_V) {
            for (unsigned h = 0; h < (e->value[v].rep == T1_G ? 2 : 1); h++) {
                const char *x = t1_scalar(e, &a, h);
                if (size == 8)
                    x = t1_str(e, low >= 32 ? "(uint32_t)(%s >> 32)" : "(uint32_t)(%s)", x);
                t1_def_scalar(e, v, h, cut(e, x, in_word, bits));
            }
        } else {
            for (unsigned p = 0; p < e->np; p++) {
                const char *x;
                if (size == 8 && low < 32)
                    x = t1_str(e, "t1_lows_u64(%s, %s)", t1_piece(e, &a, 2 * p), t1_piece(e, &a, 2 * p + 1));
                else if (size == 8)
                    x = t1_str(e, "t1_highs_u64(%s, %s)", t1_piece(e, &a, 2 * p), t1_piece(e, &a, 2 * p + 1));
                else
                    x = t1_piece(e, &a, p);
                t1_def_piece(e, v, p, cut(e, x, in_word, bits));
            }
        }
        t1_def_done(e, v);
    }
}

/* Elements first .. first + n - 1 of the arguments as one 32-bit expression; h < 0: piece p. */
static const char *glue(struct t1_emit *e, const struct t1_arg *a, unsigned n, unsigned bits, int h, unsigned p)
{
    const char *s = NULL;
    for (unsigned k = 0; k < n; k++) {
        const char *x = h >= 0 ? t1_scalar(e, &a[k], (unsigned)h) : t1_piece(e, &a[k], p);
        if (bits < 32)
            x = t1_str(e, "((%s & 0x%xu) << %u)", x, (1u << bits) - 1, k * bits);
        s = s ? t1_str(e, "%s | %s", s, x) : x;
    }
    return t1_str(e, "(%s)", s);
}

/* mov.b d, {a, b, ...}: elements shifted into place, as scalars, pieces of 32 bits, or pieces of 64. */
static void pack(struct t1_emit *e)
{
    const struct ptx_opnd *s = &e->in->src[0];
    unsigned size = ptx_type_size(e->in->type[0]), bits = 8 * size / s->n;
    int32_t v = t1_dst(e, 0);
    struct t1_arg a[4];
    if (size > 8 || bits > 32 || s->n > 4)
        t1_fail(e, "128-bit values are not supported");
    for (unsigned k = 0; k < s->n; k++)
        a[k] = part_arg(e, s, k, T1_K_32);
    if (v < 0)
        return;
    unsigned half = s->n / 2; /* of 64 bits: elements in the low word */
    if (e->value[v].rep != T1_V) {
        for (unsigned h = 0; h < (e->value[v].rep == T1_G ? 2 : 1); h++)
            t1_def_scalar(e, v, h,
                          size < 8 ? glue(e, a, s->n, bits, (int)h, 0)
                                   : t1_str(e, "((uint64_t)%s | (uint64_t)%s << 32)", glue(e, a, half, bits, (int)h, 0),
                                            glue(e, a + half, half, bits, (int)h, 0)));
    } else if (size < 8) {
        for (unsigned p = 0; p < e->np; p++)
            t1_def_piece(e, v, p, glue(e, a, s->n, bits, -1, p));
    } else {
        for (unsigned q = 0; q < 2 * e->np; q++)
            t1_def_piece(e, v, q,
                         t1_str(e, "(t1_zext_u32(t1_half_u32(%s, %u)) | t1_zext_u32(t1_half_u32(%s, %u)) << 32)",
                                glue(e, a, half, bits, -1, q / 2), q & 1, glue(e, a + half, half, bits, -1, q / 2),
                                q & 1));
    }
    t1_def_done(e, v);
}

static void move(struct t1_emit *e)
{
    const struct ptx_opnd *d = &e->in->dst[0], *s = &e->in->src[0];
    if (d->kind == PTX_O_VEC && s->kind == PTX_O_VEC) {
        struct t1_arg a[8];
        if (d->n != s->n || d->n > 8)
            t1_fail(e, "vectors of different lengths");
        for (unsigned k = 0; k < d->n; k++)
            a[k] = part_arg(e, s, k, t1_kind_of(e, e->in->type[0]));
        for (unsigned k = 0; k < d->n; k++)
            if (part_value(e, d, k) >= 0)
                t1_def_arg(e, part_value(e, d, k), &a[k]);
    } else if (d->kind == PTX_O_VEC) {
        unpack(e);
    } else if (s->kind == PTX_O_VEC) {
        pack(e);
    } else if (t1_dst(e, 0) >= 0) {
        int32_t v = t1_dst(e, 0);
        struct t1_arg a = t1_src(e, 0, e->value[v].kind);
        t1_def_arg(e, v, &a);
    }
}

/* ---- one instruction ---- */

static void declare(struct t1_emit *e, int32_t v)
{
    if (v < 0 || !e->value[v].used || e->value[v].global || e->value[v].home)
        return;
    const struct t1_value *x = &e->value[v];
    bool wide = x->kind == T1_K_64;
    if (x->rep == T1_U) {
        t1_put(e, "%s v%d;\n", wide ? "uint64_t" : "uint32_t", v);
    } else if (x->rep == T1_G) {
        t1_put(e, "%s v%dg0, v%dg1;\n", wide ? "uint64_t" : "uint32_t", v, v);
    } else if (x->kind == T1_K_PRED) {
        t1_put(e, "uint32_t v%dm;\n", v);
    } else {
        t1_put(e, wide ? "pu64 v%d_0" : "pu32 v%d_0", v);
        for (unsigned k = 1; k < (wide ? 2 : 1) * e->np; k++)
            t1_put(e, ", v%d_%u", v, k);
        t1_put(e, ";\n");
    }
}

static void declare_results(struct t1_emit *e)
{
    const struct ptx_instr *in = e->in;
    for (unsigned d = 0; d < in->ndst; d++) {
        if (in->dst[d].kind == PTX_O_REG)
            declare(e, e->f->instr_dst[e->at][d]);
        for (unsigned k = 0; in->dst[d].kind == PTX_O_VEC && k < in->dst[d].n; k++)
            if (e->f->opnd[in->dst[d].first + k].kind == PTX_O_REG)
                declare(e, e->f->opnd_value[in->dst[d].first + k]);
    }
}

/* After an access of such a kernel (PTX_F_TURN), or where a wait at an mbarrier has ended. */
static void give_turn(struct t1_emit *e)
{
    const int32_t done = e->in->op == PTX_OP_MBARRIER ? t1_dst(e, 0) : -1;
    if (done >= 0) {
        struct t1_arg a = t1_value_arg(e, done, (uint32_t)e->block);
        t1_put(e, "if (%s & %s)\n", t1_mask(e, &a), e->mask);
    }
    t1_put(e, done >= 0 ? "t1_turn_of_cluster(b);\n" : "t1_turn(b);\n");
}

/* Text of an instruction; its guard narrows the mask that it runs under. */
void t1_instr(struct t1_emit *e, uint32_t i)
{
    const struct ptx_instr *in = &e->f->instr[i];
    e->at = i;
    e->in = in;
    e->mask = e->info[e->block].div ? "m" : "live";
    e->guarded = false;
    t1_mark_line(e, in);
    declare_results(e);
    if (in->guard >= 0) {
        struct ptx_opnd o = {.kind = PTX_O_REG, .neg = in->guard_neg, .reg = in->guard, .sym = -1};
        struct t1_arg g = t1_source(e, &o, e->f->instr_src[i][5], T1_K_PRED);
        t1_put(e, "uint32_t g%u = %s & %s;\n", i, e->mask, t1_mask(e, &g));
        e->mask = t1_str(e, "g%u", i);
        e->guarded = true;
    }
    switch (in->op) {
    case PTX_OP_MOV: move(e); break;
    case PTX_OP_CALL: t1_call(e); break;
    case PTX_OP_BRKPT: /* no debugger is attached */
    case PTX_OP_PMEVENT:
    case PTX_OP_SETMAXNREG:
    case PTX_OP_GRIDDEPCONTROL:
    case PTX_OP_PREFETCH: /* hints */
    case PTX_OP_PREFETCHU:
    case PTX_OP_DISCARD:
    case PTX_OP_APPLYPRIORITY: break;
    default:
        if (!t1_memory(e) && !t1_atomic(e) && !t1_warp_op(e) && !t1_cluster_op(e))
            arithmetic(e);
    }
    if (in->flags & PTX_F_TURN)
        give_turn(e);
    e->in = NULL;
}
