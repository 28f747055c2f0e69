/* Templates of integer arithmetic, as tier0/alu_int.c defines it. */
#include "ptx/base/lanes.h"
#include "ptx/lir/alu_aux.h"

/* d = op(a, b) of one machine instruction. */
static void plain(struct lanes *l, const struct lir_insn *i, uint32_t what)
{
    const int a = lanes_use(l, i->a, LANES_32);
    const struct x86_rm b = lanes_read(l, i->b, LANES_32);
    const int d = lanes_new(l);
    x86_v3(l->x, what, d, a, b);
    lanes_set(l, i->d, LANES_32, d);
}

static void plain64(struct lanes *l, const struct lir_insn *i, uint32_t what)
{
    for (enum lanes_part h = LANES_LOW; h <= LANES_HIGH; h++) {
        const int a = lanes_use(l, i->a, h);
        const struct x86_rm b = lanes_read(l, i->b, h);
        const int d = lanes_new(l);
        x86_v3(l->x, what, d, a, b);
        lanes_set(l, i->d, h, d);
    }
}

#define PLAIN(name, what) \
    static bool name(struct lanes *l, const struct lir_insn *i) \
    { \
        if (i->aux) \
            return false; \
        if (l->x) \
            plain(l, i, what); \
        return true; \
    }
#define PLAIN64(name, what) \
    static bool name(struct lanes *l, const struct lir_insn *i) \
    { \
        if (l->x) \
            plain64(l, i, what); \
        return true; \
    }
PLAIN(add_32, V_PADDD)
PLAIN(sub_32, V_PSUBD)
PLAIN(mul_lo_32, V_PMULLD)
PLAIN(min_u32, V_PMINUD)
PLAIN(min_s32, V_PMINSD)
PLAIN(max_u32, V_PMAXUD)
PLAIN(max_s32, V_PMAXSD)
PLAIN64(add_64, V_PADDQ)
PLAIN64(sub_64, V_PSUBQ)

/* The same of 16 bits, whose rows are zero-extended. */
static void narrow(struct lanes *l, const struct lir_insn *i, uint32_t what)
{
    const int a = lanes_use(l, i->a, LANES_32);
    const struct x86_rm b = lanes_read(l, i->b, LANES_32);
    const int d = lanes_new(l);
    x86_v3(l->x, what, d, a, b);
    x86_v3(l->x, V_PAND, d, d, lanes_c32(l, 0xffff));
    lanes_set(l, i->d, LANES_32, d);
}
#define NARROW(name, what) \
    static bool name(struct lanes *l, const struct lir_insn *i) \
    { \
        if (l->x) \
            narrow(l, i, what); \
        return true; \
    }
NARROW(add_16, V_PADDD)
NARROW(sub_16, V_PSUBD)
NARROW(mul_lo_16, V_PMULLD)

static bool neg_32(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const struct x86_rm a = lanes_read(l, i->a, LANES_32);
    const int d = lanes_new(l);
    x86_v3(l->x, V_PXOR, d, d, x86_r(d));
    x86_v3(l->x, V_PSUBD, d, d, a);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool neg_64(struct lanes *l, const struct lir_insn *i)
{
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const struct x86_rm a = lanes_read(l, i->a, h);
        const int d = lanes_new(l);
        x86_v3(l->x, V_PXOR, d, d, x86_r(d));
        x86_v3(l->x, V_PSUBQ, d, d, a);
        lanes_set(l, i->d, h, d);
    }
    return true;
}

static bool abs_32(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const struct x86_rm a = lanes_read(l, i->a, LANES_32);
    const int d = lanes_new(l);
    x86_v2(l->x, V_PABSD, d, a);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool mad_lo_32(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32);
    const struct x86_rm b = lanes_read(l, i->b, LANES_32);
    const int d = lanes_new(l);
    x86_v3(l->x, V_PMULLD, d, a, b);
    x86_v3(l->x, V_PADDD, d, d, lanes_read(l, i->c, LANES_32));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* Products of 32 bits, 64 bits wide; with c added. */
static void wide(struct lanes *l, const struct lir_insn *i, bool is_signed, bool with_c)
{
    for (enum lanes_part h = LANES_LOW; h <= LANES_HIGH; h++) {
        const int a = lanes_widened(l, i->a, h, is_signed), b = lanes_widened(l, i->b, h, is_signed);
        x86_v3(l->x, is_signed ? V_PMULDQ : V_PMULUDQ, a, a, x86_r(b));
        if (with_c)
            x86_v3(l->x, V_PADDQ, a, a, lanes_read(l, i->c, h));
        lanes_set(l, i->d, h, a);
    }
}
#define WIDE(name, is_signed, with_c) \
    static bool name(struct lanes *l, const struct lir_insn *i) \
    { \
        if (l->x) \
            wide(l, i, is_signed, with_c); \
        return true; \
    }
WIDE(mul_wide_u32, false, false)
WIDE(mul_wide_s32, true, false)
WIDE(mad_wide_u32, false, true)
WIDE(mad_wide_s32, true, true)

/* The upper halves of such products: of lanes 0, 2, 4, 6 and of 1, 3, 5, 7. */
static int high(struct lanes *l, const struct lir_insn *i, bool is_signed)
{
    const uint32_t what = is_signed ? V_PMULDQ : V_PMULUDQ;
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32);
    const int even = lanes_new(l), odd = lanes_new(l);
    x86_v3(l->x, what, even, a, x86_r(b));
    x86_shift(l->x, true, 2, odd, a, 32);
    x86_shift(l->x, true, 2, LANES_T0, b, 32);
    x86_v3(l->x, what, odd, odd, x86_r(LANES_T0));
    x86_shift(l->x, true, 2, even, even, 32);
    x86_v3i(l->x, V_PBLENDD, even, even, x86_r(odd), 0xaa);
    return even;
}

static bool mul_hi_u32(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        lanes_set(l, i->d, LANES_32, high(l, i, false));
    return true;
}

static bool mul_hi_s32(struct lanes *l, const struct lir_insn *i)
{
    if (l->x)
        lanes_set(l, i->d, LANES_32, high(l, i, true));
    return true;
}

static bool mad_hi_u32(struct lanes *l, const struct lir_insn *i)
{
    if (!l->x)
        return true;
    const int d = high(l, i, false);
    x86_v3(l->x, V_PADDD, d, d, lanes_read(l, i->c, LANES_32));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool mad_hi_s32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const int d = high(l, i, true);
    x86_v3(l->x, V_PADDD, d, d, lanes_read(l, i->c, LANES_32));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* 64 bits from products of 32: low * low + ((low * high + high * low) << 32). */
static int product_64(struct lanes *l, const struct lir_insn *i, enum lanes_part h)
{
    const int a = lanes_use(l, i->a, h), b = lanes_use(l, i->b, h), d = lanes_new(l);
    x86_shift(l->x, true, 2, d, a, 32);
    x86_v3(l->x, V_PMULUDQ, d, d, x86_r(b));
    x86_shift(l->x, true, 2, LANES_T0, b, 32);
    x86_v3(l->x, V_PMULUDQ, LANES_T0, LANES_T0, x86_r(a));
    x86_v3(l->x, V_PADDQ, d, d, x86_r(LANES_T0));
    x86_shift(l->x, true, 6, d, d, 32);
    x86_v3(l->x, V_PMULUDQ, LANES_T0, a, x86_r(b));
    x86_v3(l->x, V_PADDQ, d, d, x86_r(LANES_T0));
    return d;
}

static bool mul_lo_64(struct lanes *l, const struct lir_insn *i)
{
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++)
        lanes_set(l, i->d, h, product_64(l, i, h));
    return true;
}

static bool mad_lo_64(struct lanes *l, const struct lir_insn *i)
{
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const int d = product_64(l, i, h);
        x86_v3(l->x, V_PADDQ, d, d, lanes_read(l, i->c, h));
        lanes_set(l, i->d, h, d);
    }
    return true;
}

lanes_template *const lanes_integer[LIR_NOPS] = {
    [LIR_ADD_I16] = add_16,
    [LIR_ADD_I32] = add_32,
    [LIR_ADD_I64] = add_64,
    [LIR_SUB_I16] = sub_16,
    [LIR_SUB_I32] = sub_32,
    [LIR_SUB_I64] = sub_64,
    [LIR_NEG_I32] = neg_32,
    [LIR_NEG_I64] = neg_64,
    [LIR_ABS_S32] = abs_32,
    [LIR_MIN_U32] = min_u32,
    [LIR_MIN_S32] = min_s32,
    [LIR_MAX_U32] = max_u32,
    [LIR_MAX_S32] = max_s32,
    [LIR_MUL_LO_I16] = mul_lo_16,
    [LIR_MUL_LO_I32] = mul_lo_32,
    [LIR_MUL_LO_I64] = mul_lo_64,
    [LIR_MAD_LO_I32] = mad_lo_32,
    [LIR_MAD_LO_I64] = mad_lo_64,
    [LIR_MUL_HI_U32] = mul_hi_u32,
    [LIR_MUL_HI_S32] = mul_hi_s32,
    [LIR_MAD_HI_U32] = mad_hi_u32,
    [LIR_MAD_HI_S32] = mad_hi_s32,
    [LIR_MUL_WIDE_U32] = mul_wide_u32,
    [LIR_MUL_WIDE_S32] = mul_wide_s32,
    [LIR_MAD_WIDE_U32] = mad_wide_u32,
    [LIR_MAD_WIDE_S32] = mad_wide_s32,
};
