/* Lowering: products of warpgroups (wgmma), each as one LIR_WGMMA of each of their four warps. They are done when
 * issued; what a warp waits for is the other three: at the fence before them, as a product reads what all four have
 * stored in shared memory, and at the wait, as they read what a program may write again when one of them has waited. */
#include "ptx/lir/lower/tile.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t format;
} formats[] = {{"f16", LIR_TILE_F16},   {"bf16", LIR_TILE_BF16}, {"tf32", LIR_TILE_TF32}, {"e4m3", LIR_TILE_E4M3},
               {"e5m2", LIR_TILE_E5M2}, {"s8", LIR_TILE_S8},     {"u8", LIR_TILE_U8},     {"b1", LIR_TILE_B1},
               {"f32", LIR_TILE_F32},   {"s32", LIR_TILE_S32}};

/* Shape and types: .m64nNkK.D.A.B; wgmma of sub-byte and f16 types alike name all three. */
static void read_words(struct lir_lower *l, const struct ptx_instr *i, unsigned *m, unsigned *n, unsigned *k,
                       uint8_t type[3])
{
    unsigned types = 0;
    *m = *n = *k = 0;
    for (const char *p = strchr(i->opcode, '.'); p; p = strchr(p + 1, '.')) {
        const char *end = strchr(p + 1, '.');
        const size_t len = end ? (size_t)(end - p - 1) : strlen(p + 1);
        if (p[1] == 'm' && p[2] >= '0' && p[2] <= '9') {
            char *next;
            *m = (unsigned)strtoul(p + 2, &next, 10);
            if (*next == 'n')
                *n = (unsigned)strtoul(next + 1, &next, 10);
            if (*next == 'k')
                *k = (unsigned)strtoul(next + 1, &next, 10);
            continue;
        }
        for (unsigned f = 0; f < sizeof formats / sizeof *formats; f++)
            if (strlen(formats[f].name) == len && !strncmp(p + 1, formats[f].name, len) && types < 3)
                type[types++] = formats[f].format;
    }
    if (types != 3)
        lir_fail(l, "matrix types are missing");
}

static bool is_sign(const struct ptx_opnd *o, bool *negative)
{
    *negative = o->kind == PTX_O_IMM && (int32_t)o->imm == -1;
    return o->kind == PTX_O_IMM && (*negative || (int32_t)o->imm == 1);
}

static bool is_bit(const struct ptx_opnd *o) { return o->kind == PTX_O_IMM && o->imm < 2; }

static void put_list(struct lir_tile_maker *t, const struct ptx_opnd *o, unsigned want, bool dst)
{
    struct lir_lower *l = t->l;
    if (o->kind != PTX_O_VEC || o->n != want)
        lir_fail(l, "fragment of %u registers; this one has %u", want, o->kind == PTX_O_VEC ? o->n : 1u);
    for (unsigned k = 0; k < want; k++) {
        const struct ptx_opnd *e = &l->f->opnd[o->first + k];
        if (e->kind == PTX_O_REG && ptx_type_size(l->f->reg[e->reg].type) != 4)
            lir_fail(l, "fragment register of the wrong width");
        lir_tile_row(t, dst ? lir_dest(l, e) : lir_source(l, e, LIR_CLASS_32));
    }
}

static void check_form(struct lir_lower *l, const struct lir_tile *x, unsigned m, bool sparse)
{
    const unsigned n = x->p[1], a = x->p[3] & 255, b = x->p[3] >> 8 & 255, d = x->p[3] >> 16;
    const unsigned k = 256 / lir_tile_bits(a) << sparse;
    const bool eight = a == LIR_TILE_E4M3 || a == LIR_TILE_E5M2, whole = a == LIR_TILE_S8 || a == LIR_TILE_U8;
    const bool types = eight   ? b == LIR_TILE_E4M3 || b == LIR_TILE_E5M2
                       : whole ? b == LIR_TILE_S8 || b == LIR_TILE_U8
                               : a == b;
    const bool sums = whole || a == LIR_TILE_B1
                          ? d == LIR_TILE_S32
                          : d == LIR_TILE_F32 || (d == LIR_TILE_F16 && (eight || a == LIR_TILE_F16));
    if (m != 64 || !n || n > 256 || n % 8 || x->p[2] != k || !types || !sums || a > LIR_TILE_B1 ||
        (sparse && a == LIR_TILE_B1))
        lir_fail(l, "no such matrix shape for these types");
    if ((whole || a == LIR_TILE_B1) && n > 32 && n % 16)
        lir_fail(l, "no such matrix shape for these types");
}

/* The front end gives two lists: all sources in the order of the text, and the sums once more. */
static void lower_product(struct lir_lower *l, const struct ptx_instr *i)
{
    struct lir_tile_maker t = {.l = l, .i = i, .x = {.kind = LIR_TILE_WGMMA, .first = l->operands.n}};
    const bool sparse = lir_has(i, "sp"), whole = lir_has(i, "s32");
    unsigned m, n, k;
    uint8_t type[3];
    if (i->ndst != 1 || i->nsrc != 2 || i->src[0].kind != PTX_O_VEC || i->src[1].kind != PTX_O_VEC)
        lir_fail(l, "expected fragments, descriptors and scales");
    for (; t.n < i->src[0].n; t.n++)
        t.o[t.n] = &l->f->opnd[i->src[0].first + t.n];
    read_words(l, i, &m, &n, &k, type);
    t.x.p[1] = n;
    t.x.p[2] = k;
    t.x.p[3] = type[1] | (uint32_t)type[2] << 8 | (uint32_t)type[0] << 16;
    check_form(l, &t.x, m, sparse);
    t.x.p[0] |= (sparse ? LIR_WG_SPARSE : 0) | (lir_has(i, "satfinite") ? LIR_WG_SAT : 0);
    const unsigned nd = lir_wg_sums(&t.x);
    put_list(&t, &i->dst[0], nd, true);
    put_list(&t, &i->src[1], nd, false);
    const struct ptx_opnd *a = lir_tile_next(&t);
    if (a->kind == PTX_O_VEC) {
        t.x.p[0] |= LIR_WG_A_REGS;
        put_list(&t, a, 4, false);
    } else {
        lir_tile_value(&t, a, LIR_CLASS_64);
    }
    lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_64);
    uint32_t meta = LIR_SINK;
    if (sparse) {
        meta = lir_source(l, lir_tile_next(&t), LIR_CLASS_32);
        const struct ptx_opnd *selector = lir_tile_next(&t);
        if (selector->kind != PTX_O_IMM || selector->imm > 3)
            lir_refuse(l, "sparsity selector out of range");
        t.x.p[0] |= (uint32_t)selector->imm << LIR_WG_SELECTOR;
    }
    lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_PRED);
    lir_tile_row(&t, meta);
    if (!whole) {
        bool na, nb;
        if (!is_sign(lir_tile_next(&t), &na) || !is_sign(lir_tile_next(&t), &nb))
            lir_refuse(l, "scales of a and b are 1 or -1");
        t.x.p[0] |= (na ? LIR_WG_NEG_A : 0) | (nb ? LIR_WG_NEG_B : 0);
        if (type[1] == LIR_TILE_F16 || type[1] == LIR_TILE_BF16) {
            const struct ptx_opnd *ta = t.x.p[0] & LIR_WG_A_REGS ? NULL : lir_tile_next(&t), *tb = lir_tile_next(&t);
            if ((ta && !is_bit(ta)) || !is_bit(tb))
                lir_refuse(l, "transpositions of a and b are 0 or 1");
            t.x.p[0] |= (ta && ta->imm ? LIR_WG_TRANS_A : 0) | (tb->imm ? LIR_WG_TRANS_B : 0);
        }
    }
    lir_tile_end(&t, LIR_WGMMA, true);
}

/* The warps of a group meet at a barrier that no program can name. */
static void lower_meeting(struct lir_lower *l)
{
    uint32_t warp = lir_const_row(l, LIR_ROW_SREG, 0, PTX_SR_WARPID, 0), two = lir_imm(l, LIR_CLASS_32, 2);
    uint32_t base = lir_imm(l, LIR_CLASS_32, LIR_BARRIER_GROUP), threads = lir_imm(l, LIR_CLASS_32, 128);
    uint32_t id = lir_temp(l, LIR_CLASS_32), all = lir_imm(l, LIR_CLASS_32, ~0u);
    struct lir_insn *o = lir_emit(l, LIR_SHR_U32);
    o->d = id;
    o->a = warp;
    o->b = two;
    o = lir_emit(l, LIR_ADD_I32);
    o->d = id;
    o->a = id;
    o->b = base;
    lir_emit(l, LIR_WARPSYNC)->e = all;
    o = lir_emit(l, LIR_BAR);
    o->a = id;
    o->b = threads;
    o->aux = LIR_BAR_SYNC | LIR_BAR_COUNT;
}

/* Products are done already: only what checks their order looks at groups. */
static bool lower_group(struct lir_lower *l, const struct ptx_instr *i)
{
    const bool waits = lir_has(i, "wait_group");
    if (!waits && !lir_has(i, "commit_group"))
        return false;
    struct lir_insn *o = lir_emit(l, LIR_ASYNC_GROUP);
    o->aux = (waits ? LIR_GROUP_WAIT : LIR_GROUP_COMMIT) | LIR_GROUP_TILES;
    if (waits) {
        o->imm = i->src[0].imm > INT32_MAX ? INT32_MAX : (int32_t)i->src[0].imm;
        lower_meeting(l);
    }
    return true;
}

bool lir_lower_wgmma(struct lir_lower *l, const struct ptx_instr *i)
{
    if (i->op != PTX_OP_WGMMA)
        return false;
    if (lir_has(i, "mma_async"))
        lower_product(l, i);
    else if (lir_has(i, "fence"))
        lower_meeting(l);
    else
        return lower_group(l, i);
    return true;
}
