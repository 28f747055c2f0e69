/* Tier 1 emitter: accesses that are not aligned to their size, which PTX promises to fault and x86 takes. */
#include "ptx/tier1/emit/emit.h"

static const char *pieces(struct t1_emit *e, const struct t1_arg *a, const char *format, const char *between)
{
    const char *all = "";
    for (unsigned k = 0; k < (a->kind == T1_K_64 ? 2 : 1) * e->np; k++)
        all = t1_str(e, "%s%s%s", all, k ? between : "", t1_str(e, format, t1_piece(e, a, k), k));
    return all;
}

static void test_scalars(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, unsigned low)
{
    for (unsigned h = 0; h < (a->rep == T1_G ? 2 : 1); h++) {
        const char *on = a->rep != T1_G ? e->mask : t1_str(e, "(%s & 0x%xu)", e->mask, 0xffffu << 16 * h);
        const bool empty = e->guarded || a->rep == T1_G; /* it may be */
        const char *at = imm & low ? t1_str(e, "(uint32_t)(%s) + %uu", a->s[h], (unsigned)imm & low)
                                   : t1_str(e, "(uint32_t)(%s)", a->s[h]);
        t1_put(e,
               empty ? "if (T1_UNLIKELY((%s) & %uu) && %s) T1_MISALIGNED(b, warp, %s);\n"
                     : "if (T1_UNLIKELY((%s) & %uu)) T1_MISALIGNED(b, warp, %.0s%s);\n",
               at, low, on, on);
    }
}

/* A stride that is no multiple of the size: hardly any two lanes are both right. */
static void test_lanes(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, unsigned low)
{
    const char *base = a->rep == T1_G ? t1_str(e, "(l < 16 ? %s : %s)", a->s[0], a->s[1]) : a->s[0];
    t1_put(e,
           "{\nuint32_t bad = 0;\nT1_FOR_LANES(l, %s)\nif (((uint32_t)%s + 0x%xu + 0x%xu * (l & %uu)) & %uu)"
           " bad |= 1u << l;\nif (bad) T1_MISALIGNED(b, warp, bad);\n}\n",
           e->mask, base, (unsigned)(uint32_t)imm, (unsigned)(uint32_t)a->stride, a->rep == T1_G ? 15u : 31u, low);
}

static bool integer(const struct ptx_instr *in) { return in->type[0] >= PTX_U8 && in->type[0] <= PTX_S64; }

/* A multiple of `bytes` in every lane. */
static bool multiple(const struct ptx_func *f, int32_t value, unsigned bytes)
{
    const struct ptx_value *v = &f->value[value];
    const struct ptx_instr *in = v->instr >= 0 ? &f->instr[v->instr] : NULL;
    if ((v->kind == PTX_C_UNIFORM || v->kind == PTX_C_AFFINE) && v->stride % bytes == 0 &&
        1ull << (v->align_log2 & 63) >= bytes)
        return true;
    if (!in || in->guard >= 0 || in->src[1].kind != PTX_O_IMM)
        return false;
    uint64_t c = in->src[1].imm;
    return (in->op == PTX_OP_AND && c % bytes == 0) ||
           (in->op == PTX_OP_MUL && integer(in) && !(in->flags & PTX_F_HI) && c % bytes == 0) ||
           (in->op == PTX_OP_SHL && c < 32 && 1ull << c >= bytes);
}

/* A sum of such, of not too many parts. */
static bool sum_of_multiples(const struct ptx_func *f, int32_t value, unsigned bytes, unsigned depth)
{
    if (value < 0 || f->value[value].block < 0)
        return false;
    if (multiple(f, value, bytes))
        return true;
    const struct ptx_instr *in = f->value[value].instr >= 0 ? &f->instr[f->value[value].instr] : NULL;
    if (!in || in->guard >= 0 || in->op != PTX_OP_ADD || !integer(in) || !depth)
        return false;
    for (unsigned k = 0; k < 2; k++)
        if (in->src[k].kind == PTX_O_IMM
                ? in->src[k].imm % bytes != 0
                : in->src[k].kind != PTX_O_REG ||
                      !sum_of_multiples(f, f->instr_src[f->value[value].instr][k], bytes, depth - 1))
            return false;
    return true;
}

/* Sums of something aligned and something else: it is the latter that counts, and it is known earlier (before
 * the loop, or for all warps). */
static int32_t what_counts(const struct t1_emit *e, int32_t value, unsigned bytes)
{
    const struct ptx_func *f = e->f;
    const struct ptx_value *v = &f->value[value];
    const struct ptx_instr *in = v->instr >= 0 ? &f->instr[v->instr] : NULL;
    if (!in || in->guard >= 0 || in->op != PTX_OP_ADD || ptx_type_size(in->type[0]) != 8 ||
        in->src[0].kind != PTX_O_REG || in->src[1].kind != PTX_O_REG)
        return value;
    for (unsigned k = 0; k < 2; k++) {
        int32_t a = f->instr_src[v->instr][k], b = f->instr_src[v->instr][1 - k];
        const struct ptx_value *other = &f->value[b];
        if (multiple(f, a, bytes) && other->block >= 0 && !ptx_outside(f, other->block, (int32_t)e->block) &&
            e->value[b].rep == T1_U && e->value[b].used && other->stride % bytes == 0 && e->value[b].kind == T1_K_64 &&
            (e->value[b].global || other->block == (int32_t)e->block))
            return what_counts(e, b, bytes);
    }
    return value;
}

/* Whether the block has tested it already, for all its lanes. */
static bool tested(struct t1_emit *e, int32_t value, uint64_t imm, unsigned low)
{
    for (uint32_t k = 0; k < e->ntested; k++)
        if (e->tested[k].value == value && e->tested[k].imm == (imm & low) && e->tested[k].low >= low)
            return true;
    if (!e->guarded && e->ntested < sizeof e->tested / sizeof *e->tested) {
        e->tested[e->ntested].value = value;
        e->tested[e->ntested].imm = (uint32_t)(imm & low);
        e->tested[e->ntested++].low = low;
    }
    return false;
}

/* All lanes first, in one go; then those that take part. */
static void test_vectors(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, unsigned low)
{
    const char *width = a->kind == T1_K_64 ? "64" : "32";
    const char *add = imm & low ? t1_str(e, " + t1_splat_u%s(%lluu)", width, (unsigned long long)(imm & low)) : "";
    const char *each = t1_str(e, "(%%s%s)", add);
    t1_put(
        e, "if (T1_UNLIKELY(t1_low_u%s(%s, %u))) {\nuint32_t bad = (%s) & %s;\n", width, pieces(e, a, each, " | "), low,
        pieces(e, a,
               t1_str(e, "t1_low_u%s((%%s%s), %u) << (%%u * T1_%s)", width, add, low, a->kind == T1_K_64 ? "H" : "N"),
               " | "),
        e->mask);
    t1_put(e, "if (bad) T1_MISALIGNED(b, warp, bad);\n}\n");
}

/* Writes the test that an access is aligned, unless analysis proves it: a misaligned address faults in CUDA. Affine
 * addresses are tested by their base where the stride keeps the alignment, gathers all lanes at once. */
void t1_aligned(struct t1_emit *e, const struct t1_arg *a, const struct t1_gather *g, int32_t value, uint64_t imm,
                unsigned bytes)
{
    unsigned low = bytes - 1;
    if (bytes <= 1 || value < 0) /* variables are aligned as declared */
        return;
    if (a->rep != T1_V) {
        struct t1_arg part = *a;
        if (a->stride % bytes) {
            test_lanes(e, a, imm, low);
        } else if (imm % bytes || 1ull << (e->f->value[value].align_log2 & 63) < bytes) {
            if (a->rep == T1_U && a->kind == T1_K_64 && (value = what_counts(e, value, bytes)) >= 0)
                part = t1_value_arg(e, value, e->block);
            if (!tested(e, value, imm, low))
                test_scalars(e, &part, imm, low);
        }
        return;
    }
    if (g && g->scale % bytes == 0) {
        struct t1_arg base = t1_value_arg(e, g->base, e->block);
        if (base.rep == T1_U) {
            test_scalars(e, &base, imm, low);
            return;
        }
    }
    if ((imm % bytes == 0 && sum_of_multiples(e->f, value, bytes, 3)) || tested(e, value, imm, low))
        return;
    const struct t1_arg index = g ? t1_value_arg(e, g->index, e->block) : *a;
    if (!g || index.rep == T1_G || (index.rep == T1_U && index.stride % bytes)) {
        test_vectors(e, a, imm, low);
        return;
    }
    struct t1_arg base = t1_value_arg(e, g->base, e->block);
    struct t1_arg made = {.kind = T1_K_64, .rep = T1_V, .v = t1_str(e, "t%u", e->temps++)};
    t1_put(e, "if (T1_UNLIKELY((((uint32_t)(%s) + %uu) & %u) | ", base.s[0], (unsigned)(imm & low), low);
    if (index.rep == T1_U)
        t1_put(e, "(%s & %u))) {\n", index.s[0], low);
    else
        t1_put(e, "t1_low_u32(%s, %u))) {\n", pieces(e, &index, "%s", " | "), low);
    for (unsigned q = 0; q < 2 * e->np; q++)
        t1_put(e, "const pu64 %s_%u = %s;\n", made.v, q, t1_index_address(e, g, 0, q));
    test_vectors(e, &made, imm, low);
    t1_put(e, "}\n");
}
