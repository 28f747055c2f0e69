/* Templates of conversions, as tier0/alu_cvt.c and alu_cvtf.c define them, and of loads of kernel parameters. */
#include "ptx/base/lanes.h"

#include "ptx/lir/alu_aux.h"
#include "ptx/tier0/warp.h"

enum { UNORDERED = 3, ORDERED = 7, NOT_LESS = 0x1d };

static unsigned result(const struct lir_insn *i) { return i->aux >> LIR_CVT_DST_SHIFT & 7u; }
static unsigned rounding(const struct lir_insn *i) { return i->aux >> LIR_RND_SHIFT & 15u; }

/* The low bits of a word, extended to it by zeros or the sign. */
static void extend(struct lanes *l, int d, int a, unsigned bits, bool is_signed)
{
    if (bits == 32) {
        x86_v2(l->x, V_MOVAPS, d, x86_r(a));
    } else if (is_signed) {
        x86_shift(l->x, false, 6, d, a, 32 - bits);
        x86_shift(l->x, false, 4, d, d, 32 - bits);
    } else {
        x86_v3(l->x, V_PAND, d, a, lanes_c32(l, (1u << bits) - 1));
    }
}

/* Integers of up to 32 bits: read by their own width, then kept by that of the result. */
static bool narrow(struct lanes *l, const struct lir_insn *i, unsigned bits, bool is_signed)
{
    if (i->aux & LIR_SAT)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    extend(l, d, a, bits, is_signed);
    extend(l, d, d, 8u << (result(i) & 3), result(i) & LIR_CVT_DST_SIGNED);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool cvt_i32_u8(struct lanes *l, const struct lir_insn *i) { return narrow(l, i, 8, false); }
static bool cvt_i32_s8(struct lanes *l, const struct lir_insn *i) { return narrow(l, i, 8, true); }
static bool cvt_i32_u16(struct lanes *l, const struct lir_insn *i) { return narrow(l, i, 16, false); }
static bool cvt_i32_s16(struct lanes *l, const struct lir_insn *i) { return narrow(l, i, 16, true); }
static bool cvt_i32_32(struct lanes *l, const struct lir_insn *i) { return narrow(l, i, 32, false); }

static bool cvt_i32_64(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux & LIR_SAT)
        return false;
    if (!l->x)
        return true;
    const int low = lanes_use(l, i->a, LANES_LOW), high = lanes_use(l, i->a, LANES_HIGH);
    const int d = lanes_narrowed(l, low, high, false);
    if ((result(i) & 3) != 2)
        extend(l, d, d, 8u << (result(i) & 3), result(i) & LIR_CVT_DST_SIGNED);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool cvt_i64(struct lanes *l, const struct lir_insn *i, bool is_signed)
{
    if (i->aux & LIR_SAT)
        return false;
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++)
        lanes_set(l, i->d, h, lanes_widened(l, i->a, h, is_signed));
    return true;
}

static bool cvt_i64_u32(struct lanes *l, const struct lir_insn *i) { return cvt_i64(l, i, false); }
static bool cvt_i64_s32(struct lanes *l, const struct lir_insn *i) { return cvt_i64(l, i, true); }

static bool cvt_f32_s32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux & ~LIR_FTZ)
        return false;
    if (!l->x)
        return true;
    const struct x86_rm a = lanes_read(l, i->a, LANES_32);
    const int d = lanes_new(l);
    x86_v2(l->x, V_CVTDQ2PS, d, a);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* Both halves of 16 bits are exact, so that their sum is rounded once. */
static bool cvt_f32_u32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux & ~LIR_FTZ)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    x86_shift(l->x, false, 2, d, a, 16);
    x86_v2(l->x, V_CVTDQ2PS, d, x86_r(d));
    x86_v3(l->x, V_MULPS, d, d, lanes_c32(l, 0x47800000u)); /* 65536 */
    x86_v3(l->x, V_PAND, LANES_T0, a, lanes_c32(l, 0xffff));
    x86_v2(l->x, V_CVTDQ2PS, LANES_T0, x86_r(LANES_T0));
    x86_v3(l->x, V_ADDPS, d, d, x86_r(LANES_T0));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* A half of a 32-bit row in the lower 128 bits of a new register. */
static int half_of(struct lanes *l, int a, enum lanes_part h)
{
    const int d = lanes_new(l);
    x86_vex(l->x, V_EXTRACTI128, true, a, 0, x86_r(d), h == LANES_HIGH);
    return d;
}

static bool cvt_f64_s32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const int d = half_of(l, lanes_use(l, i->a, LANES_32), h);
        x86_v2(l->x, V_CVTDQ2PD, d, x86_r(d));
        lanes_set(l, i->d, h, d);
    }
    return true;
}

static bool cvt_f64_u32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const int d = half_of(l, lanes_use(l, i->a, LANES_32), h);
        x86_v3(l->x, V_PXOR, d, d, lanes_c32(l, 0x80000000u));
        x86_v2(l->x, V_CVTDQ2PD, d, x86_r(d));
        x86_v3(l->x, V_ADDPD, d, d, lanes_c64(l, 0x41e0000000000000u)); /* 2^31 */
        lanes_set(l, i->d, h, d);
    }
    return true;
}

static bool cvt_f64_f32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    for (enum lanes_part h = LANES_LOW; l->x && h <= LANES_HIGH; h++) {
        const int d = half_of(l, lanes_use(l, i->a, LANES_32), h);
        x86_v2(l->x, V_CVTPS2PD, d, x86_r(d));
        lanes_set(l, i->d, h, d);
    }
    return true;
}

static bool cvt_f32_f64(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const int low = lanes_use(l, i->a, LANES_LOW), high = lanes_use(l, i->a, LANES_HIGH), d = lanes_new(l);
    x86_v2(l->x, V_CVTPD2PS, d, x86_r(low));
    x86_v2(l->x, V_CVTPD2PS, LANES_T0, x86_r(high));
    x86_v3i(l->x, V_INSERTI128, d, d, x86_r(LANES_T0), 1);
    lanes_canonical(l, d);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* To s32, towards zero or to the nearest even: the FPU gives 0x80000000 for what does not fit, which is right for what
 * is too small. */
static bool cvt_s32_f32(struct lanes *l, const struct lir_insn *i)
{
    const unsigned r = rounding(i);
    if (result(i) != 6 || i->aux & LIR_FTZ || r == PTX_RMI || r == PTX_RPI)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    x86_v2(l->x, r == PTX_RNI ? V_CVTPS2DQ : V_CVTTPS2DQ, d, x86_r(a));
    x86_v3i(l->x, V_CMPPS, LANES_T0, a, lanes_c32(l, 0x4f000000u), NOT_LESS); /* 2^31 */
    x86_v3(l->x, V_PXOR, d, d, x86_r(LANES_T0));
    x86_v3i(l->x, V_CMPPS, LANES_T0, a, x86_r(a), ORDERED);
    x86_v3(l->x, V_PAND, d, d, x86_r(LANES_T0));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool cvt_f32_f16(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    x86_v3(l->x, V_PAND, d, a, lanes_c32(l, 0xffff));
    x86_v3(l->x, V_PACKUSDW, d, d, x86_r(d));
    x86_vex(l->x, V_PERMQ, true, d, 0, x86_r(d), 0xd8);
    x86_v2(l->x, V_CVTPH2PS, d, x86_r(d));
    lanes_canonical(l, d);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool cvt_f32_bf16(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    x86_shift(l->x, false, 6, d, a, 16);
    lanes_canonical(l, d);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* The f16 of a, any NaN as 0x7fff, in the low half of each lane of d. */
static void to_f16(struct lanes *l, int d, int a)
{
    x86_vex(l->x, V_CVTPS2PH, true, a, 0, x86_r(d), 0);
    x86_v2(l->x, V_PMOVZXWD, d, x86_r(d));
    x86_v3i(l->x, V_CMPPS, LANES_T0, a, x86_r(a), UNORDERED);
    x86_v3i(l->x, V_BLENDVPS, d, d, lanes_c32(l, 0x7fff), LANES_T0 << 4);
}

static bool cvt_f16_f32(struct lanes *l, const struct lir_insn *i)
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), d = lanes_new(l);
    to_f16(l, d, a);
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

static bool cvt_f16x2_f32(struct lanes *l, const struct lir_insn *i) /* a is the upper half */
{
    if (i->aux)
        return false;
    if (!l->x)
        return true;
    const int a = lanes_use(l, i->a, LANES_32), b = lanes_use(l, i->b, LANES_32);
    const int d = lanes_new(l), low = lanes_new(l);
    to_f16(l, d, a);
    to_f16(l, low, b);
    x86_shift(l->x, false, 6, d, d, 16);
    x86_v3(l->x, V_POR, d, d, x86_r(low));
    lanes_set(l, i->d, LANES_32, d);
    return true;
}

/* A word of the launch's arguments in all lanes. */
static bool ld_kparam(struct lanes *l, const struct lir_insn *i)
{
    const unsigned log2 = i->aux & LIR_MEM_LOG2_SIZE, row = i->aux >> LIR_MEM_DST_SHIFT & 3;
    if (!((log2 == 2 && row == 1) || (log2 == 3 && row == 2)) || i->aux & LIR_MEM_SIGNED)
        return false;
    if (!l->x)
        return true;
    const int low = lanes_new(l);
    x86_op(l->x, true, 0x8b, RAX, x86_at(LANES_WARP, (int32_t)offsetof(struct t0_warp, params)));
    x86_v2(l->x, log2 == 2 ? V_PBROADCASTD : V_PBROADCASTQ, low, x86_at(RAX, i->imm));
    if (log2 == 2) {
        lanes_set(l, i->d, LANES_32, low);
        return true;
    }
    const int high = lanes_new(l);
    x86_v2(l->x, V_MOVAPS, high, x86_r(low));
    lanes_set(l, i->d, LANES_LOW, low);
    lanes_set(l, i->d, LANES_HIGH, high);
    return true;
}

lanes_template *const lanes_convert[LIR_NOPS] = {
    [LIR_CVT_I32_U8] = cvt_i32_u8,     [LIR_CVT_I32_S8] = cvt_i32_s8,   [LIR_CVT_I32_U16] = cvt_i32_u16,
    [LIR_CVT_I32_S16] = cvt_i32_s16,   [LIR_CVT_I32_U32] = cvt_i32_32,  [LIR_CVT_I32_S32] = cvt_i32_32,
    [LIR_CVT_I32_U64] = cvt_i32_64,    [LIR_CVT_I32_S64] = cvt_i32_64,  [LIR_CVT_I64_U32] = cvt_i64_u32,
    [LIR_CVT_I64_S32] = cvt_i64_s32,   [LIR_CVT_F32_S32] = cvt_f32_s32, [LIR_CVT_F32_U32] = cvt_f32_u32,
    [LIR_CVT_F64_S32] = cvt_f64_s32,   [LIR_CVT_F64_U32] = cvt_f64_u32, [LIR_CVT_F64_F32] = cvt_f64_f32,
    [LIR_CVT_F32_F64] = cvt_f32_f64,   [LIR_CVT_I32_F32] = cvt_s32_f32, [LIR_CVT_F32_F16] = cvt_f32_f16,
    [LIR_CVT_F32_BF16] = cvt_f32_bf16, [LIR_CVT_F16_F32] = cvt_f16_f32, [LIR_CVT_F16X2_F32] = cvt_f16x2_f32,
    [LIR_LD_KPARAM] = ld_kparam,
};
