/* Templates of logic, shifts, bit fields and moves, as tier0/alu_logic.c and alu_bits.c define them. The variable
 * shifts of AVX2 give 0, or the sign, beyond the width, as PTX does. */
#include "ptx/base/lanes.h"

static void both(struct lanes *l, const struct lir_insn *i, uint32_t what, enum lanes_part part)
{
    const int a = lanes_use(l, i->a, part);
    const struct x86_rm b = lanes_read(l, i->b, part);
    const int d = lanes_new(l);
    x86_v3(l->x, what, d, a, b);
    lanes_set(l, i->d, part, d);
}

#define TWO(name, what) \
    static bool name##_32(struct lanes *l, const struct lir_insn *i) \
    { \
        if (l->x) \
            both(l, i, what, LANES_32); \
        return true; \
    } \
    static bool name##_64(struct lanes *l, const struct lir_insn *i) \
    { \
        for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) \
            both(l, i, what, h); \
        return true; \
    } \
    static bool name##_p(struct lanes *l, const struct lir_insn *i) \
    { \
        if (!l->x) \
            return true; \
        const int a = lanes_use(l, i->a, LANES_PRED), b = lanes_use(l, i->b, LANES_PRED), d = lanes_new(l); \
        x86_v3(l->x, what, d, a, x86_r(b)); \
        lanes_set(l, i->d, LANES_PRED, d); \
        return true; \
    }
TWO(and, V_PAND)
TWO(or, V_POR)
TWO(xor, V_PXOR)

static void invert(struct lanes *l, const struct lir_insn *i, enum lanes_part part, uint32_t bits)
{
    const int a = lanes_use(l, i->a, part), d = lanes_new(l);
    x86_v3(l->x, bits == ~0u ? V_PXOR : V_PANDN, d, a, lanes_c32(l, bits));
    lanes_set(l, i->d, part, d);
}

static bool not_16(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        invert(l, i, LANES_32, 0xffff);
    return true;
}

static bool not_32(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        invert(l, i, LANES_32, ~0u);
    return true;
}

static bool not_64(struct lanes *l, const struct lir_insn *i)
{
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++)
        invert(l, i, h, ~0u);
    return true;
}

static bool not_p(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        invert(l, i, LANES_PRED, ~0u);
    return true;
}

static bool mov_p(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        lanes_set(l, i->d, LANES_PRED, lanes_use(l, i->a, LANES_PRED));
    return true;
}

static bool mov_32(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        lanes_set(l, i->d, LANES_32, lanes_use(l, i->a, LANES_32));
    return true;
}

static bool mov_64(struct lanes *l, const struct lir_insn *i)
{
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++)
        lanes_set(l, i->d, h, lanes_use(l, i->a, h));
    return true;
}

static bool mov_16(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    x86_v3(l->x, V_PAND, d, a, lanes_c32(l, 0xffff));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* d = one of the 16 functions of b and c, by its table (bit 2b + c); d is neither of them. */
static void function_of_two(struct lanes *l, unsigned table, int d, int b, int c)
{
    const struct x86_rm ones = lanes_c32(l, ~0u);
    const bool inverted = table & 1; /* of 0 and 0: then the opposite is one instruction */
    switch (inverted ? ~table & 15 : table) {
    case 0: x86_v3(l->x, V_PXOR, d, d, x86_r(d)); break;
    case 2: x86_v3(l->x, V_PANDN, d, b, x86_r(c)); break;
    case 4: x86_v3(l->x, V_PANDN, d, c, x86_r(b)); break;
    case 6: x86_v3(l->x, V_PXOR, d, b, x86_r(c)); break;
    case 8: x86_v3(l->x, V_PAND, d, b, x86_r(c)); break;
    case 10: x86_v2(l->x, V_MOVAPS, d, x86_r(c)); break;
    case 12: x86_v2(l->x, V_MOVAPS, d, x86_r(b)); break;
    default: x86_v3(l->x, V_POR, d, b, x86_r(c)); break; /* 14 */
    }
    if (inverted)
        x86_v3(l->x, V_PXOR, d, d, ones);
}

/* By Shannon's expansion: f(b, c) where a is 0, and what changes where it is 1. */
static bool lop3(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const unsigned table = (uint32_t)i->imm & 0xff, zero = table & 15, change = zero ^ table >> 4;
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), c = lanes_use(l, i->c, LANES_32);
    const int d = lanes_new(l);
    if (change == 15 && !(zero & 1)) { /* a ^ f */
        function_of_two(l, zero, d, b, c);
        x86_v3(l->x, V_PXOR, d, d, x86_r(a));
    } else {
        function_of_two(l, change, d, b, c);
        x86_v3(l->x, V_PAND, d, d, x86_r(a));
        if (zero) {
            function_of_two(l, zero, LANES_T0, b, c);
            x86_v3(l->x, V_PXOR, d, d, x86_r(LANES_T0));
        }
    }
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static void shift_64(struct lanes *l, const struct lir_insn *i, uint32_t what, bool is_signed)
{
    for (enum lanes_part h = LANES_LOW; h <= LANES_HIGH; h++) {
        const int a = lanes_use(l, i->a, h), n = lanes_widened(l, i->b, h, false), d = lanes_new(l);
        if (is_signed) { /* the sign's bits are 0 while it is shifted */
            x86_v3(l->x, V_PXOR, LANES_T0, LANES_T0, x86_r(LANES_T0));
            x86_v3(l->x, V_PCMPGTQ, LANES_T0, LANES_T0, x86_r(a));
            x86_v3(l->x, V_PXOR, d, a, x86_r(LANES_T0));
            x86_v3(l->x, what, d, d, x86_r(n));
            x86_v3(l->x, V_PXOR, d, d, x86_r(LANES_T0));
        } else {
            x86_v3(l->x, what, d, a, x86_r(n));
        }
        lanes_set(l, i->d, h, d);
    }
}

#define SHIFT(name, what, wide_what, is_signed) \
    static bool name##_32(struct lanes *l, const struct lir_insn *i) \
    { \
        if (l->x) \
            both(l, i, what, LANES_32); \
        return true; \
    } \
    static bool name##_64(struct lanes *l, const struct lir_insn *i) \
    { \
        if (l->x) \
            shift_64(l, i, wide_what, is_signed); \
        return true; \
    }
SHIFT(shl, V_PSLLVD, V_PSLLVQ, false)
SHIFT(shr_u, V_PSRLVD, V_PSRLVQ, false)
SHIFT(shr_s, V_PSRAVD, V_PSRLVQ, true)

/* Funnel shifts of b:a by 0 to 32. */
static void funnel(struct lanes *l, const struct lir_insn *i, bool left)
{
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), c = lanes_use(l, i->c, LANES_32);
    const int d = lanes_new(l);
    if (i->aux)
        x86_v3(l->x, V_PAND, LANES_T0, c, lanes_c32(l, 31));
    else
        x86_v3(l->x, V_PMINUD, LANES_T0, c, lanes_c32(l, 32));
    x86_v3(l->x, left ? V_PSLLVD : V_PSRLVD, d, left ? b : a, x86_r(LANES_T0));
    x86_v2(l->x, V_MOVUPS, LANES_T1, lanes_c32(l, 32));
    x86_v3(l->x, V_PSUBD, LANES_T0, LANES_T1, x86_r(LANES_T0));
    x86_v3(l->x, left ? V_PSRLVD : V_PSLLVD, LANES_T0, left ? a : b, x86_r(LANES_T0));
    x86_v3(l->x, V_POR, d, d, x86_r(LANES_T0));
    lanes_set(l, i->d, LANES_32, d);
}

static bool shf_l(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        funnel(l, i, true);
    return true;
}

static bool shf_r(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        funnel(l, i, false);
    return true;
}

/* (a & keep_a) | (b & keep_b) << shift */
static void packed(struct lanes *l, const struct lir_insn *i, uint32_t low, unsigned shift, uint32_t up)
{
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), d = lanes_new(l);
    x86_v3(l->x, V_PAND, d, a, lanes_c32(l, low));
    x86_shift(l->x, false, 6, LANES_T0, b, shift);
    if (up)
        x86_v3(l->x, V_PAND, LANES_T0, LANES_T0, lanes_c32(l, up));
    x86_v3(l->x, V_POR, d, d, x86_r(LANES_T0));
    lanes_set(l, i->d, LANES_32, d);
}

static bool pack2_16(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        packed(l, i, 0xff, 8, 0xff00);
    return true;
}

static bool pack2_32(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        packed(l, i, 0xffff, 16, 0);
    return true;
}

static bool pack2_64(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32);
    const int low = lanes_new(l), high = lanes_new(l);
    x86_v3(l->x, V_PUNPCKLDQ, LANES_T0, a, x86_r(b));
    x86_v3(l->x, V_PUNPCKHDQ, LANES_T1, a, x86_r(b));
    x86_v3i(l->x, V_PERM2I128, low, LANES_T0, x86_r(LANES_T1), 0x20);
    x86_v3i(l->x, V_PERM2I128, high, LANES_T0, x86_r(LANES_T1), 0x31);
    lanes_set(l, i->d, LANES_LOW, low); /* uses T0, T1 where only some lanes run, or under a guard */
    lanes_set(l, i->d, LANES_HIGH, high);
    return true;
}

/* d and e, of which either may be the source. */
static bool unpack2_32(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l), e = lanes_new(l);
    x86_v3(l->x, V_PAND, d, a, lanes_c32(l, 0xffff));
    x86_shift(l->x, false, 2, e, a, 16);
    lanes_set(l, i->d, LANES_32, d);
    lanes_set(l, i->e, LANES_32, e);
    return true;
}

static bool unpack2_64(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const int low = lanes_use(l, i->a, LANES_LOW), high = lanes_use(l, i->a, LANES_HIGH);
    const int d = lanes_narrowed(l, low, high, false), e = lanes_narrowed(l, low, high, true);
    lanes_set(l, i->d, LANES_32, d);
    lanes_set(l, i->e, LANES_32, e);
    return true;
}

/* Fields whose place is known and that lie inside the word. */
static bool field(const struct lanes *l, uint32_t at_row, uint32_t length_row, unsigned *at, unsigned *length)
{
    uint64_t p, n;
    if (!lanes_constant(l, at_row, &p) || !lanes_constant(l, length_row, &n))
        return false;
    *at = p & 0xff;
    *length = n & 0xff;
    return *length && *at + *length <= 32;
}

static bool extract(struct lanes *l, const struct lir_insn *i, unsigned right)
{
    unsigned at, length;
    if (!field(l, i->b, i->c, &at, &length))
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    x86_shift(l->x, false, 6, d, a, 32 - at - length);
    x86_shift(l->x, false, right, d, d, 32 - length);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool bfe_u32(struct lanes *l, const struct lir_insn *i) { return extract(l, i, 2); }
static bool bfe_s32(struct lanes *l, const struct lir_insn *i) { return extract(l, i, 4); }

static bool bfi_32(struct lanes *l, const struct lir_insn *i)
{
    unsigned at, length;
    if (!field(l, i->c, i->e, &at, &length))
        return false;
    if (!l->x)
        return true;
    const uint32_t mask = (~0u >> (32 - length)) << at;
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), d = lanes_new(l);
    x86_shift(l->x, false, 6, LANES_T0, a, at);
    x86_v3(l->x, V_PAND, LANES_T0, LANES_T0, lanes_c32(l, mask));
    x86_v3(l->x, V_PAND, d, b, lanes_c32(l, ~mask));
    x86_v3(l->x, V_POR, d, d, x86_r(LANES_T0));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* prmt whose selector is known and replicates no sign: bytes of a, or those of b. */
static bool prmt(struct lanes *l, const struct lir_insn *i)
{
    uint64_t select;
    uint8_t of_a[32], of_b[32];
    if (i->aux || !lanes_constant(l, i->c, &select) || select & 0x8888)
        return false;
    if (!l->x)
        return true;
    for (unsigned k = 0; k < 32; k++) {
        const unsigned s = select >> (4 * (k % 4)) & 7, from = (k & 12) + (s & 3);
        of_a[k] = (uint8_t)(s < 4 ? from : 0x80);
        of_b[k] = (uint8_t)(s < 4 ? 0x80 : from);
    }
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), d = lanes_new(l);
    x86_v3(l->x, V_PSHUFB, d, a, x86_c(x86_constant(l->x, of_a)));
    x86_v3(l->x, V_PSHUFB, LANES_T0, b, x86_c(x86_constant(l->x, of_b)));
    x86_v3(l->x, V_POR, d, d, x86_r(LANES_T0));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

lanes_template *const lanes_logic[LIR_NOPS] = {
    [LIR_AND_B32] = and_32,
    [LIR_AND_B64] = and_64,
    [LIR_AND_P] = and_p,
    [LIR_OR_B32] = or_32,
    [LIR_OR_B64] = or_64,
    [LIR_OR_P] = or_p,
    [LIR_XOR_B32] = xor_32,
    [LIR_XOR_B64] = xor_64,
    [LIR_XOR_P] = xor_p,
    [LIR_NOT_B16] = not_16,
    [LIR_NOT_B32] = not_32,
    [LIR_NOT_B64] = not_64,
    [LIR_NOT_P] = not_p,
    [LIR_MOV_P] = mov_p,
    [LIR_MOV_B16] = mov_16,
    [LIR_MOV_B32] = mov_32,
    [LIR_MOV_B64] = mov_64,
    [LIR_LOP3_B32] = lop3,
    [LIR_SHL_B32] = shl_32,
    [LIR_SHL_B64] = shl_64,
    [LIR_SHR_U32] = shr_u_32,
    [LIR_SHR_U64] = shr_u_64,
    [LIR_SHR_S32] = shr_s_32,
    [LIR_SHR_S64] = shr_s_64,
    [LIR_SHF_L_B32] = shf_l,
    [LIR_SHF_R_B32] = shf_r,
    [LIR_PACK2_B16] = pack2_16,
    [LIR_PACK2_B32] = pack2_32,
    [LIR_PACK2_B64] = pack2_64,
    [LIR_UNPACK2_B32] = unpack2_32,
    [LIR_UNPACK2_B64] = unpack2_64,
    [LIR_BFE_U32] = bfe_u32,
    [LIR_BFE_S32] = bfe_s32,
    [LIR_BFI_B32] = bfi_32,
    [LIR_PRMT_B32] = prmt,
};
