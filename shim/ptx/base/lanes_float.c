/* Templates of floating point, as tier0/alu_f32.c and alu_f64.c define it: rounded to nearest, and .ftz. */
#include "ptx/base/lanes.h"
#include "ptx/lir/alu_aux.h"

enum { UNORDERED = 3, EQUAL = 0, LESS = 0x11, SIGN = (int)0x80000000u, MAGNITUDE = 0x7fffffff };

void lanes_canonical(struct lanes *l, int d)
{
    x86_v3i(l->x, V_CMPPS, LANES_T0, d, x86_r(d), UNORDERED);
    x86_v3i(l->x, V_BLENDVPS, d, d, lanes_c32(l, 0x7fffffffu), LANES_T0 << 4);
}

/* Subnormals of a become zeros of their sign, in d. */
static void flush(struct lanes *l, int d, int a)
{
    x86_v3(l->x, V_ANDPS, LANES_T0, a, lanes_c32(l, MAGNITUDE));
    x86_v3i(l->x, V_CMPPS, LANES_T0, LANES_T0, lanes_c32(l, 0x00800000u), LESS);
    x86_v3(l->x, V_ANDPS, LANES_T0, LANES_T0, lanes_c32(l, MAGNITUDE));
    x86_v3(l->x, V_ANDNPS, d, LANES_T0, x86_r(a));
}

/* An operand, flushed where the instruction says so. */
static struct x86_rm operand(struct lanes *l, const struct lir_insn *i, uint32_t row)
{
    if (!(i->aux & LIR_FTZ))
        return lanes_read(l, row, LANES_32);
    const int a = lanes_use(l, row, LANES_32), d = lanes_new(l);
    flush(l, d, a);
    return x86_r(d);
}

static int operand_reg(struct lanes *l, const struct lir_insn *i, uint32_t row)
{
    return i->aux & LIR_FTZ ? operand(l, i, row).reg : lanes_use(l, row, LANES_32);
}

/* Where a product rounds up to 2^-126 and was less before, .ftz flushes it (alu.h, f32_edge): asked by the same product
 * 2^24 times as large. z < 0: no addend. */
static void flush_edges(struct lanes *l, int d, int x, int y, int z)
{
    const uint32_t none = x86_label(l->x);
    const int t = lanes_new(l);
    x86_v3(l->x, V_PADDD, LANES_T0, d, x86_r(d));
    x86_v3(l->x, V_PCMPEQD, LANES_T0, LANES_T0, lanes_c32(l, 0x01000000u));
    x86_v2(l->x, V_PTEST, LANES_T0, x86_r(LANES_T0));
    x86_jump_if(l->x, X86_E, none);
    x86_v3(l->x, V_MULPS, t, x, lanes_c32(l, 0x4b800000u)); /* 2^24 */
    if (z < 0) {
        x86_v3(l->x, V_MULPS, t, t, x86_r(y));
    } else {
        x86_v3(l->x, V_MULPS, LANES_T1, z, lanes_c32(l, 0x4b800000u));
        x86_v3(l->x, V_FMADD213PS, t, y, x86_r(LANES_T1));
    }
    x86_v3(l->x, V_PAND, t, t, lanes_c32(l, MAGNITUDE));
    x86_v2(l->x, V_MOVUPS, LANES_T1, lanes_c32(l, 0x0c800000u));
    x86_v3(l->x, V_PCMPGTD, t, LANES_T1, x86_r(t));
    x86_v3(l->x, V_PAND, t, t, x86_r(LANES_T0));
    x86_v3(l->x, V_PAND, t, t, lanes_c32(l, MAGNITUDE));
    x86_v3(l->x, V_ANDNPS, d, t, x86_r(d));
    x86_place(l->x, none);
}

static void finish(struct lanes *l, const struct lir_insn *i, int d)
{
    if (i->aux & LIR_FTZ)
        flush(l, d, d);
    lanes_canonical(l, d);
    lanes_set(l, i->d, LANES_32, d);
}

static bool two(struct lanes *l, const struct lir_insn *i, uint32_t what, bool tiny)
{
    if (i->aux & ~LIR_FTZ || (tiny && i->aux && what != V_MULPS))
        return false;
    if (!l->x)
        return true;
    const int a = operand_reg(l, i, i->a);
    if (tiny && i->aux) {
        const int b = operand_reg(l, i, i->b), d = lanes_new(l);
        x86_v3(l->x, what, d, a, x86_r(b));
        flush_edges(l, d, a, b, -1);
        finish(l, i, d);
        return true;
    }
    const struct x86_rm b = operand(l, i, i->b);
    const int d = lanes_new(l);
    x86_v3(l->x, what, d, a, b);
    finish(l, i, d);
    return true;
}

static bool add_f32(struct lanes *l, const struct lir_insn *i) { return two(l, i, V_ADDPS, false); }
static bool sub_f32(struct lanes *l, const struct lir_insn *i) { return two(l, i, V_SUBPS, false); }
static bool mul_f32(struct lanes *l, const struct lir_insn *i) { return two(l, i, V_MULPS, true); }
static bool div_f32(struct lanes *l, const struct lir_insn *i) { return two(l, i, V_DIVPS, true); }

static bool fma_f32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux & ~LIR_FTZ)
        return false;
    if (!l->x)
        return true;
    const int a = operand_reg(l, i, i->a), b = operand_reg(l, i, i->b);
    if (i->aux) {
        const int c = operand_reg(l, i, i->c), d = lanes_new(l);
        x86_v2(l->x, V_MOVAPS, d, x86_r(a));
        x86_v3(l->x, V_FMADD213PS, d, b, x86_r(c));
        flush_edges(l, d, a, b, c);
        finish(l, i, d);
        return true;
    }
    const struct x86_rm c = operand(l, i, i->c);
    const int d = lanes_new(l);
    x86_v2(l->x, V_MOVAPS, d, x86_r(a));
    x86_v3(l->x, V_FMADD213PS, d, b, c);
    finish(l, i, d);
    return true;
}

static bool sqrt_f32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const struct x86_rm a = lanes_read(l, i->a, LANES_32);
    const int d = lanes_new(l);
    x86_v2(l->x, V_SQRTPS, d, a);
    finish(l, i, d);
    return true;
}

/* A divisor beyond 2^126 counts as infinite (alu_f32.c, far_divisor): y, or that, in d. */
static void far_divisor(struct lanes *l, int d, int y)
{
    x86_v3(l->x, V_PAND, LANES_T0, y, lanes_c32(l, MAGNITUDE));
    x86_v2(l->x, V_MOVUPS, LANES_T1, lanes_c32(l, 0x7f800000u));
    x86_v3(l->x, V_PCMPGTD, LANES_T1, LANES_T1, x86_r(LANES_T0));
    x86_v3(l->x, V_PCMPGTD, LANES_T0, LANES_T0, lanes_c32(l, 0x7e800000u));
    x86_v3(l->x, V_PAND, LANES_T0, LANES_T0, x86_r(LANES_T1));
    x86_v3(l->x, V_PAND, LANES_T1, y, lanes_c32(l, (uint32_t)SIGN));
    x86_v3(l->x, V_POR, LANES_T1, LANES_T1, lanes_c32(l, 0x7f800000u));
    x86_v3i(l->x, V_BLENDVPS, d, y, x86_r(LANES_T1), LANES_T0 << 4);
}

static bool rcp_f32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux & ~LIR_FTZ)
        return false;
    if (!l->x)
        return true;
    const int a = operand_reg(l, i, i->a), d = lanes_new(l);
    if (i->aux & LIR_FTZ) {
        const int far = lanes_new(l);
        far_divisor(l, far, a);
        x86_v2(l->x, V_MOVUPS, d, lanes_c32(l, 0x3f800000u));
        x86_v3(l->x, V_DIVPS, d, d, x86_r(far));
    } else {
        x86_v2(l->x, V_MOVUPS, d, lanes_c32(l, 0x3f800000u));
        x86_v3(l->x, V_DIVPS, d, d, x86_r(a));
    }
    finish(l, i, d);
    return true;
}

static bool div_approx(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), d = lanes_new(l);
    far_divisor(l, d, b);
    x86_v3(l->x, V_DIVPS, d, a, x86_r(d));
    finish(l, i, d);
    return true;
}

/* The operand that is no NaN wins, and -0 is below +0: of equal ones the bits are joined. */
static bool least_or_most(struct lanes *l, const struct lir_insn *i, uint32_t what, uint32_t join)
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32), d = lanes_new(l);
    x86_v3(l->x, what, d, a, x86_r(b)); /* b where either is a NaN */
    x86_v3i(l->x, V_CMPPS, LANES_T0, b, x86_r(b), UNORDERED);
    x86_v3i(l->x, V_BLENDVPS, d, d, x86_r(a), LANES_T0 << 4);
    x86_v3i(l->x, V_CMPPS, LANES_T0, a, x86_r(b), EQUAL);
    x86_v3(l->x, join, LANES_T1, a, x86_r(b));
    x86_v3i(l->x, V_BLENDVPS, d, d, x86_r(LANES_T1), LANES_T0 << 4);
    finish(l, i, d);
    return true;
}

static bool min_f32(struct lanes *l, const struct lir_insn *i) { return least_or_most(l, i, V_MINPS, V_ORPS); }
static bool max_f32(struct lanes *l, const struct lir_insn *i) { return least_or_most(l, i, V_MAXPS, V_ANDPS); }

/* Operations on the sign, which keep what a NaN carries. */
static bool sign(struct lanes *l, const struct lir_insn *i, uint32_t what, uint32_t bits)
{
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    x86_v3(l->x, what, d, a, lanes_c32(l, bits));
    if (i->aux & LIR_FTZ)
        flush(l, d, d);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool abs_f32(struct lanes *l, const struct lir_insn *i) { return sign(l, i, V_ANDPS, MAGNITUDE); }
static bool neg_f32(struct lanes *l, const struct lir_insn *i) { return sign(l, i, V_XORPS, (uint32_t)SIGN); }

static bool two_64(struct lanes *l, const struct lir_insn *i, uint32_t what)
{
    if (i->aux)
        return false;
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const int a = lanes_use(l, i->a, h);
        const struct x86_rm b = lanes_read(l, i->b, h);
        const int d = lanes_new(l);
        x86_v3(l->x, what, d, a, b);
        lanes_set(l, i->d, h, d);
    }
    return true;
}

static bool add_f64(struct lanes *l, const struct lir_insn *i) { return two_64(l, i, V_ADDPD); }
static bool sub_f64(struct lanes *l, const struct lir_insn *i) { return two_64(l, i, V_SUBPD); }
static bool mul_f64(struct lanes *l, const struct lir_insn *i) { return two_64(l, i, V_MULPD); }
static bool div_f64(struct lanes *l, const struct lir_insn *i) { return two_64(l, i, V_DIVPD); }

static bool fma_f64(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const int a = lanes_use(l, i->a, h), b = lanes_use(l, i->b, h);
        const struct x86_rm c = lanes_read(l, i->c, h);
        const int d = lanes_new(l);
        x86_v2(l->x, V_MOVAPS, d, x86_r(a));
        x86_v3(l->x, V_FMADD213PD, d, b, c);
        lanes_set(l, i->d, h, d);
    }
    return true;
}

static bool sqrt_f64(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const struct x86_rm a = lanes_read(l, i->a, h);
        const int d = lanes_new(l);
        x86_v2(l->x, V_SQRTPD, d, a);
        lanes_set(l, i->d, h, d);
    }
    return true;
}

static bool sign_64(struct lanes *l, const struct lir_insn *i, uint32_t what, uint64_t bits)
{
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const int a = lanes_use(l, i->a, h), d = lanes_new(l);
        x86_v3(l->x, what, d, a, lanes_c64(l, bits));
        lanes_set(l, i->d, h, d);
    }
    return true;
}

static bool abs_f64(struct lanes *l, const struct lir_insn *i) { return sign_64(l, i, V_ANDPS, ~(1ull << 63)); }
static bool neg_f64(struct lanes *l, const struct lir_insn *i) { return sign_64(l, i, V_XORPS, 1ull << 63); }

lanes_template *const lanes_float[LIR_NOPS] = {
    [LIR_ADD_F32] = add_f32, [LIR_SUB_F32] = sub_f32, [LIR_MUL_F32] = mul_f32,   [LIR_FMA_F32] = fma_f32,
    [LIR_DIV_F32] = div_f32, [LIR_RCP_F32] = rcp_f32, [LIR_MIN_F32] = min_f32,   [LIR_MAX_F32] = max_f32,
    [LIR_ABS_F32] = abs_f32, [LIR_NEG_F32] = neg_f32, [LIR_ADD_F64] = add_f64,   [LIR_SUB_F64] = sub_f64,
    [LIR_MUL_F64] = mul_f64, [LIR_FMA_F64] = fma_f64, [LIR_DIV_F64] = div_f64,   [LIR_SQRT_F64] = sqrt_f64,
    [LIR_ABS_F64] = abs_f64, [LIR_NEG_F64] = neg_f64, [LIR_SQRT_F32] = sqrt_f32, [LIR_DIV_APPROX_F32] = div_approx,
};
