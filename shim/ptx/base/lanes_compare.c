/* Templates of comparisons and selections, as tier0/alu_cmp.c defines them. */
#include "ptx/base/lanes.h"
#include "ptx/lir/alu_aux.h"

static unsigned relation(const struct lir_insn *i) { return i->aux >> LIR_CMP_SHIFT & 31u; }

/* A comparison of integers is one of equal and greater, perhaps with its operands exchanged, perhaps negated. */
struct order {
    bool equal, exchanged, negated;
};
static struct order order_of(const struct lir_insn *i)
{
    switch (relation(i)) {
    case PTX_EQ: return (struct order){true, false, false};
    case PTX_NE: return (struct order){true, false, true};
    case PTX_LT: return (struct order){false, true, false};
    case PTX_LE: return (struct order){false, false, true};
    case PTX_GT: return (struct order){false, false, false};
    default: return (struct order){false, true, true}; /* not less */
    }
}

static void negate(struct lanes *l, int mask) { x86_v3(l->x, V_PXOR, mask, mask, lanes_c32(l, ~0u)); }

/* All of these give a mask of the lanes where the relation holds. `bias` turns the order of unsigned numbers into that
 * of signed ones. */
static int compared_32(struct lanes *l, const struct lir_insn *i, uint32_t bias)
{
    const struct order o = order_of(i);
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), d = lanes_new(l);
    int x = o.exchanged ? b : a, y = o.exchanged ? a : b;
    if (bias && !o.equal) {
        x86_v3(l->x, V_PXOR, LANES_T0, x, lanes_c32(l, bias));
        x86_v3(l->x, V_PXOR, LANES_T1, y, lanes_c32(l, bias));
        x = LANES_T0;
        y = LANES_T1;
    }
    x86_v3(l->x, o.equal ? V_PCMPEQD : V_PCMPGTD, d, x, x86_r(y));
    if (o.negated)
        negate(l, d);
    return d;
}

/* 16 bits, which the reader truncates. */
static int compared_16(struct lanes *l, const struct lir_insn *i, bool is_signed)
{
    const struct order o = order_of(i);
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), d = lanes_new(l);
    x86_shift(l->x, false, 6, LANES_T0, o.exchanged ? b : a, 16);
    x86_shift(l->x, false, 6, LANES_T1, o.exchanged ? a : b, 16);
    if (!is_signed) {
        x86_shift(l->x, false, 2, LANES_T0, LANES_T0, 16);
        x86_shift(l->x, false, 2, LANES_T1, LANES_T1, 16);
    }
    x86_v3(l->x, o.equal ? V_PCMPEQD : V_PCMPGTD, d, LANES_T0, x86_r(LANES_T1));
    if (o.negated)
        negate(l, d);
    return d;
}

static int compared_64(struct lanes *l, const struct lir_insn *i, bool is_signed)
{
    const struct order o = order_of(i);
    int half[2];
    for (enum lanes_part h = LANES_LOW; h <= LANES_HIGH; h++) {
        const int a = lanes_use(l, i->a, h), b = lanes_use(l, i->b, h), d = lanes_new(l);
        int x = o.exchanged ? b : a, y = o.exchanged ? a : b;
        if (!is_signed && !o.equal) {
            x86_v3(l->x, V_PXOR, LANES_T0, x, lanes_c64(l, 1ull << 63));
            x86_v3(l->x, V_PXOR, LANES_T1, y, lanes_c64(l, 1ull << 63));
            x = LANES_T0;
            y = LANES_T1;
        }
        x86_v3(l->x, o.equal ? V_PCMPEQQ : V_PCMPGTQ, d, x, x86_r(y));
        half[h - LANES_LOW] = d;
    }
    const int d = lanes_narrowed(l, half[0], half[1], false);
    if (o.negated)
        negate(l, d);
    return d;
}

/* The predicate of cmpps for a relation of floats (Intel SDM, CMPPS; all quiet). */
static int predicate_of(unsigned relation)
{
    static const uint8_t code[] = {
        [PTX_EQ] = 0x00,  [PTX_NE] = 0x0c,  [PTX_LT] = 0x11,  [PTX_LE] = 0x12,  [PTX_GT] = 0x1e,
        [PTX_GE] = 0x1d,  [PTX_EQU] = 0x08, [PTX_NEU] = 0x04, [PTX_LTU] = 0x19, [PTX_LEU] = 0x1a,
        [PTX_GTU] = 0x16, [PTX_GEU] = 0x15, [PTX_NUM] = 0x07, [PTX_NAN] = 0x03};
    return code[relation];
}

static int compared_f32(struct lanes *l, const struct lir_insn *i)
{
    const int a = lanes_use(l, i->a, LANES_32);
    const struct x86_rm b = lanes_read(l, i->b, LANES_32);
    const int d = lanes_new(l);
    x86_v3i(l->x, V_CMPPS, d, a, b, predicate_of(relation(i)));
    return d;
}

static int compared_f64(struct lanes *l, const struct lir_insn *i)
{
    int half[2];
    for (enum lanes_part h = LANES_LOW; h <= LANES_HIGH; h++) {
        const int a = lanes_use(l, i->a, h);
        const struct x86_rm b = lanes_read(l, i->b, h);
        half[h - LANES_LOW] = lanes_new(l);
        x86_v3i(l->x, V_CMPPD, half[h - LANES_LOW], a, b, predicate_of(relation(i)));
    }
    return lanes_narrowed(l, half[0], half[1], false);
}

/* hit, joined with predicate c as the instruction says. */
static int combined(struct lanes *l, const struct lir_insn *i, int hit)
{
    static const uint32_t join[] = {0, V_PAND, V_POR, V_PXOR};
    const unsigned how = i->aux >> LIR_BOOL_SHIFT & 3;
    if (!how)
        return hit;
    int c = lanes_use(l, i->c, LANES_PRED);
    const int d = lanes_new(l);
    if (i->aux & LIR_CMP_NOTC) {
        x86_v3(l->x, V_PXOR, d, c, lanes_c32(l, ~0u));
        c = d;
    }
    x86_v3(l->x, join[how], d, c, x86_r(hit));
    return d;
}

static void set_predicates(struct lanes *l, const struct lir_insn *i, int hit)
{
    int q = -1;
    if (i->aux & LIR_CMP_Q) {
        const int miss = lanes_new(l);
        x86_v3(l->x, V_PXOR, miss, hit, lanes_c32(l, ~0u));
        q = combined(l, i, miss);
    }
    const int p = combined(l, i, hit); /* c may be one of the results */
    lanes_set(l, i->d, LANES_PRED, p);
    if (q >= 0)
        lanes_set(l, i->e, LANES_PRED, q);
}

static void set_value(struct lanes *l, const struct lir_insn *i, int hit)
{
    static const uint32_t yes[] = {~0u, 0x3f800000u, 0xffff, 0x3c00, 0x3f80}; /* as alu_cmp.c's set_true */
    const int p = combined(l, i, hit), d = lanes_new(l);
    x86_v3(l->x, V_PAND, d, p, lanes_c32(l, yes[i->aux >> LIR_RND_SHIFT & 15u]));
    lanes_set(l, i->d, LANES_32, d);
}

#define COMPARE(name, can, mask) \
    static bool setp_##name(struct lanes *l, const struct lir_insn *i) \
    { \
        if (!(can)) \
            return false; \
        if (l->x) \
            set_predicates(l, i, mask); \
        return true; \
    } \
    static bool set_##name(struct lanes *l, const struct lir_insn *i) \
    { \
        if (!(can) || (i->aux >> LIR_RND_SHIFT & 15u) > 4) \
            return false; \
        if (l->x) \
            set_value(l, i, mask); \
        return true; \
    }
COMPARE(u16, true, compared_16(l, i, false))
COMPARE(s16, true, compared_16(l, i, true))
COMPARE(u32, true, compared_32(l, i, 0x80000000u))
COMPARE(s32, true, compared_32(l, i, 0))
COMPARE(u64, true, compared_64(l, i, false))
COMPARE(s64, true, compared_64(l, i, true))
COMPARE(f32, !(i->aux & LIR_FTZ) && relation(i) >= PTX_EQ && relation(i) <= PTX_NAN, compared_f32(l, i))
COMPARE(f64, relation(i) >= PTX_EQ && relation(i) <= PTX_NAN, compared_f64(l, i))

static bool selp_32(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const int p = lanes_use(l, i->c, LANES_PRED), b = lanes_use(l, i->b, LANES_32);
    const struct x86_rm a = lanes_read(l, i->a, LANES_32);
    const int d = lanes_new(l);
    x86_v3i(l->x, V_BLENDVPS, d, b, a, p << 4);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool selp_64(struct lanes *l, const struct lir_insn *i)
{
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const int p = lanes_use(l, i->c, LANES_PRED), b = lanes_use(l, i->b, h);
        const struct x86_rm a = lanes_read(l, i->a, h);
        const int mask = lanes_widen_mask(l, p, h), d = lanes_new(l);
        x86_v3i(l->x, V_BLENDVPD, d, b, a, mask << 4);
        lanes_set(l, i->d, h, d);
    }
    return true;
}

/* a where c is not negative */
static bool slct_32(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const int c = lanes_use(l, i->c, LANES_32), a = lanes_use(l, i->a, LANES_32);
    const struct x86_rm b = lanes_read(l, i->b, LANES_32);
    const int d = lanes_new(l);
    x86_v3i(l->x, V_BLENDVPS, d, a, b, c << 4);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

lanes_template *const lanes_compare[LIR_NOPS] = {
    [LIR_SETP_U16] = setp_u16, [LIR_SETP_S16] = setp_s16, [LIR_SETP_U32] = setp_u32,    [LIR_SETP_S32] = setp_s32,
    [LIR_SETP_U64] = setp_u64, [LIR_SETP_S64] = setp_s64, [LIR_SETP_F32] = setp_f32,    [LIR_SETP_F64] = setp_f64,
    [LIR_SET_U16] = set_u16,   [LIR_SET_S16] = set_s16,   [LIR_SET_U32] = set_u32,      [LIR_SET_S32] = set_s32,
    [LIR_SET_U64] = set_u64,   [LIR_SET_S64] = set_s64,   [LIR_SET_F32] = set_f32,      [LIR_SET_F64] = set_f64,
    [LIR_SELP_B32] = selp_32,  [LIR_SELP_B64] = selp_64,  [LIR_SLCT_B32_S32] = slct_32,
};
