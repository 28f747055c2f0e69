/* Chooses the tier-0 op of an arithmetic PTX instruction: one table of plain forms (instruction,
 * types, modifiers), and a function each for the few instructions whose modifiers mean more. */
#include "ptx/lir/lower/select_alu.h"

/* A form applies when all of `need` and nothing outside `need | may` is set. */
#define T(t) (1ull << PTX_##t)
#define TI16 (T(U16) | T(S16))
#define TI32 (T(U32) | T(S32))
#define TI64 (T(U64) | T(S64))
#define TW16 (TI16 | T(B16))
#define TW32 (TI32 | T(B32))
#define TW64 (TI64 | T(B64))
#define LO PTX_F_LO
#define HI PTX_F_HI
#define WIDE PTX_F_WIDE
#define SAT PTX_F_SAT
#define FTZ PTX_F_FTZ
#define CC PTX_F_CC
#define RELU PTX_F_RELU
#define APPROX (PTX_F_APPROX | PTX_F_FULL)
#define MINMAX (FTZ | PTX_F_NAN | PTX_F_XORSIGN | PTX_F_ABS)
#define RND (1u << 31) /* not a PTX flag: the form may round in a directed mode */

// clang-format off
static const struct form {
    uint16_t op, t0;
    uint64_t types;
    uint32_t need, may;
} forms[] = {
#define F(op, types, need, may, t0) {PTX_OP_##op, LIR_##t0, types, need, may},
/* the same instruction on 16, 32 and 64 bits, sign-agnostic and by sign */
#define F_I3(op, need, may, t0) \
    F(op, TW16, need, may, t0##_I16) F(op, TW32, need, may, t0##_I32) \
    F(op, TW64, need, may, t0##_I64)
#define F_U3(op, need, may, t0) \
    F(op, T(U16), need, may, t0##_U16) F(op, T(U32), need, may, t0##_U32) \
    F(op, T(U64), need, may, t0##_U64)
#define F_S3(op, need, may, t0) \
    F(op, T(S16), need, may, t0##_S16) F(op, T(S32), need, may, t0##_S32) \
    F(op, T(S64), need, may, t0##_S64)
#define F_US3(op, need, may, t0) F_U3(op, need, may, t0) F_S3(op, need, may, t0)
#define F_US2(op, need, may, t0) \
    F(op, T(U32), need, may, t0##_U32) F(op, T(S32), need, may, t0##_S32) \
    F(op, T(U64), need, may, t0##_U64) F(op, T(S64), need, may, t0##_S64)
#define F_B2(op, t0) F(op, TW32, 0, 0, t0##_B32) F(op, TW64, 0, 0, t0##_B64)
#define F_H4(op, may, t0) \
    F(op, T(F16), 0, may, t0##_F16) F(op, T(F16X2), 0, may, t0##_F16X2) \
    F(op, T(BF16), 0, may, t0##_BF16) F(op, T(BF16X2), 0, may, t0##_BF16X2)
#define F_F2(op, may32, may64, t0) \
    F(op, T(F32), 0, may32, t0##_F32) F(op, T(F64), 0, may64, t0##_F64)
    F_I3(ADD, 0, 0, ADD) F_I3(SUB, 0, 0, SUB) F_I3(NEG, 0, 0, NEG) F_S3(ABS, 0, 0, ABS)
    F(ADD, T(S32), SAT, 0, ADDSAT_S32) F(SUB, T(S32), SAT, 0, SUBSAT_S32)
    F(ADD, T(U16X2) | T(S16X2), 0, 0, ADD_I16X2)
    F_US3(MIN, 0, 0, MIN) F_US3(MAX, 0, 0, MAX)
    F(MIN, T(S32), RELU, 0, MIN_S32) F(MAX, T(S32), RELU, 0, MAX_S32)
    F(MIN, T(U16X2), 0, 0, MIN_U16X2) F(MAX, T(U16X2), 0, 0, MAX_U16X2)
    F(MIN, T(S16X2), 0, RELU, MIN_S16X2) F(MAX, T(S16X2), 0, RELU, MAX_S16X2)
    F_I3(MUL, LO, 0, MUL_LO) F_I3(MAD, LO, 0, MAD_LO)
    F_US3(MUL, HI, 0, MUL_HI) F_US3(MAD, HI, 0, MAD_HI) F(MAD, T(S32), HI | SAT, 0, MAD_HI_S32)
    F(MUL, T(U16), WIDE, 0, MUL_WIDE_U16) F(MUL, T(S16), WIDE, 0, MUL_WIDE_S16)
    F(MUL, T(U32), WIDE, 0, MUL_WIDE_U32) F(MUL, T(S32), WIDE, 0, MUL_WIDE_S32)
    F(MAD, T(U16), WIDE, 0, MAD_WIDE_U16) F(MAD, T(S16), WIDE, 0, MAD_WIDE_S16)
    F(MAD, T(U32), WIDE, 0, MAD_WIDE_U32) F(MAD, T(S32), WIDE, 0, MAD_WIDE_S32)
    F(MUL24, T(U32), LO, 0, MUL24_LO_U32) F(MUL24, T(S32), LO, 0, MUL24_LO_S32)
    F(MUL24, T(U32), HI, 0, MUL24_HI_U32) F(MUL24, T(S32), HI, 0, MUL24_HI_S32)
    F(MAD24, T(U32), LO, 0, MAD24_LO_U32) F(MAD24, T(S32), LO, 0, MAD24_LO_S32)
    F(MAD24, T(U32), HI, 0, MAD24_HI_U32) F(MAD24, T(S32), HI, SAT, MAD24_HI_S32)
    F_US3(SAD, 0, 0, SAD) F_US3(DIV, 0, 0, DIV) F_US3(REM, 0, 0, REM)
    /* carry: see carry_aux */
    F(ADD, TI32, CC, 0, ADDX_I32) F(ADD, TI64, CC, 0, ADDX_I64)
    F(ADDC, TI32, 0, CC, ADDX_I32) F(ADDC, TI64, 0, CC, ADDX_I64)
    F(SUB, TI32, CC, 0, SUBX_I32) F(SUB, TI64, CC, 0, SUBX_I64)
    F(SUBC, TI32, 0, CC, SUBX_I32) F(SUBC, TI64, 0, CC, SUBX_I64)
    F(MAD, TI32, CC | LO, 0, MADX_LO_I32) F(MAD, TI64, CC | LO, 0, MADX_LO_I64)
    F(MADC, TI32, LO, CC, MADX_LO_I32) F(MADC, TI64, LO, CC, MADX_LO_I64)
    F_US2(MAD, CC | HI, 0, MADX_HI) F_US2(MADC, HI, CC, MADX_HI)

    F(AND, T(B16) | T(B32), 0, 0, AND_B32) F(AND, T(B64), 0, 0, AND_B64)
    F(AND, T(PRED), 0, 0, AND_P)
    F(OR, T(B16) | T(B32), 0, 0, OR_B32) F(OR, T(B64), 0, 0, OR_B64) F(OR, T(PRED), 0, 0, OR_P)
    F(XOR, T(B16) | T(B32), 0, 0, XOR_B32) F(XOR, T(B64), 0, 0, XOR_B64)
    F(XOR, T(PRED), 0, 0, XOR_P)
    F(NOT, T(B16), 0, 0, NOT_B16) F_B2(NOT, NOT) F(NOT, T(PRED), 0, 0, NOT_P)
    F(CNOT, T(B16), 0, 0, CNOT_B16) F_B2(CNOT, CNOT)
    F(SHL, TW16, 0, 0, SHL_B16) F_B2(SHL, SHL)
    F_US3(SHR, 0, 0, SHR) F(SHR, T(B16), 0, 0, SHR_U16) F(SHR, T(B32), 0, 0, SHR_U32)
    F(SHR, T(B64), 0, 0, SHR_U64)
    F_B2(POPC, POPC) F_B2(CLZ, CLZ) F_B2(BREV, BREV) F_B2(BFI, BFI) F_US2(BFE, 0, 0, BFE)
    F(FNS, T(B32), 0, 0, FNS_B32)
    F(SELP, TW16 | TW32 | T(F16) | T(F32) | T(F16X2) | T(BF16) | T(BF16X2), 0, 0, SELP_B32)
    F(SELP, TW64 | T(F64), 0, 0, SELP_B64)

    F_F2(ADD, RND | FTZ | SAT, RND, ADD) F_F2(SUB, RND | FTZ | SAT, RND, SUB)
    F_F2(MUL, RND | FTZ | SAT, RND, MUL) F_F2(FMA, RND | FTZ | SAT, RND, FMA)
    F_F2(MAD, RND | FTZ | SAT, RND, FMA) F(DIV, T(F32), PTX_F_APPROX, FTZ, DIV_APPROX_F32)
    F_F2(DIV, RND | FTZ | PTX_F_FULL, RND, DIV)
    F(RCP, T(F32), 0, RND | FTZ | APPROX, RCP_F32) F(RCP, T(F64), 0, RND | FTZ, RCP_F64)
    F(RCP, T(F64), PTX_F_APPROX | FTZ, 0, RCP_APPROX_F64)
    F_F2(SQRT, RND | FTZ | APPROX, RND, SQRT) F_F2(RSQRT, FTZ | APPROX, FTZ | APPROX, RSQRT)
    F_F2(ABS, FTZ, 0, ABS) F_F2(NEG, FTZ, 0, NEG)
    F_F2(MIN, MINMAX, 0, MIN) F_F2(MAX, MINMAX, 0, MAX)
    F_F2(COPYSIGN, 0, 0, COPYSIGN)
    F(SIN, T(F32), 0, FTZ | APPROX, SIN_F32) F(COS, T(F32), 0, FTZ | APPROX, COS_F32)
    F(LG2, T(F32), 0, FTZ | APPROX, LG2_F32) F(EX2, T(F32), 0, FTZ | APPROX, EX2_F32)
    F(TANH, T(F32), 0, FTZ | APPROX, TANH_F32)
    F_H4(ADD, FTZ | SAT, ADD) F_H4(SUB, FTZ | SAT, SUB) F_H4(MUL, FTZ | SAT, MUL)
    F_H4(FMA, FTZ | SAT | RELU, FMA) F_H4(ABS, FTZ, ABS) F_H4(NEG, FTZ, NEG)
    F_H4(MIN, MINMAX, MIN) F_H4(MAX, MINMAX, MAX)
    F_H4(EX2, FTZ | APPROX, EX2) F_H4(TANH, FTZ | APPROX, TANH)
#undef F
};
// clang-format on
enum { NFORMS = sizeof forms / sizeof forms[0] };

/* Modifiers that the handlers know as bits. Nearest is the plain form of float arithmetic. */
unsigned lir_alu_aux(const struct ptx_instr *i)
{
    unsigned aux = 0;
    aux |= i->flags & FTZ ? LIR_FTZ : 0;
    aux |= i->flags & SAT ? LIR_SAT : 0;
    aux |= i->flags & PTX_F_NAN ? LIR_NANPROP : 0;
    aux |= i->flags & PTX_F_XORSIGN ? LIR_XORSIGN : 0;
    if (i->rnd != PTX_RN)
        aux |= (unsigned)i->rnd << LIR_RND_SHIFT;
    return aux;
}

/* .cc forms: bit 0 reads the carry, bit 1 writes it */
static unsigned carry_aux(const struct ptx_instr *i)
{
    bool reads = i->op == PTX_OP_ADDC || i->op == PTX_OP_SUBC || i->op == PTX_OP_MADC;
    return (reads ? 1u : 0) | (i->flags & CC ? 2u : 0);
}

static bool select_form(const struct ptx_instr *i, struct lir_insn *out)
{
    const uint64_t type = 1ull << i->type[0];
    const uint32_t has = i->flags | (i->rnd != PTX_RND_NONE && i->rnd != PTX_RN ? RND : 0);
    if (i->rnd > PTX_RP || i->type[1] || i->ndst > 1)
        return false;
    for (unsigned n = 0; n < NFORMS; n++) {
        const struct form *f = &forms[n];
        if (f->op != i->op || !(f->types & type) || (has & f->need) != f->need || (has & ~(f->need | f->may)))
            continue;
        out->op = f->t0;
        bool carry = f->t0 >= LIR_ADDX_I32 && f->t0 <= LIR_MADX_HI_S64;
        unsigned relu = i->flags & RELU ? LIR_RELU : 0;
        out->aux = (uint16_t)(carry ? carry_aux(i) : lir_alu_aux(i) | relu);
        return i->nsrc <= 3 || i->op == PTX_OP_BFI;
    }
    return false;
}

static bool select_minmax(const struct ptx_instr *i, struct lir_insn *out)
{
    return i->nsrc == 2 && select_form(i, out); /* the three-source forms of sm_100 are not here */
}

static bool select_lop3(const struct ptx_instr *i, struct lir_insn *out)
{
    if (i->sub || i->ndst != 1 || i->src[3].kind != PTX_O_IMM)
        return false; /* .and/.or with a second predicate result */
    out->op = LIR_LOP3_B32;
    out->imm = (int32_t)(i->src[3].imm & 0xff);
    return true;
}
static bool select_shf(const struct ptx_instr *i, struct lir_insn *out)
{
    out->op = i->sub == PTX_SUB_L ? LIR_SHF_L_B32 : LIR_SHF_R_B32;
    out->aux = i->flags & PTX_F_WRAP ? 1 : 0;
    return true;
}
static bool select_prmt(const struct ptx_instr *i, struct lir_insn *out)
{
    out->op = LIR_PRMT_B32;
    out->aux = (uint16_t)(i->sub ? i->sub - PTX_SUB_F4E + 1 : 0);
    return true;
}
static bool select_bfind(const struct ptx_instr *i, struct lir_insn *out)
{
    static const uint16_t op[PTX_NTYPES] = {
        [PTX_U32] = LIR_BFIND_U32, [PTX_S32] = LIR_BFIND_S32, [PTX_U64] = LIR_BFIND_U64, [PTX_S64] = LIR_BFIND_S64};
    out->op = op[i->type[0]];
    out->aux = i->flags & PTX_F_SHIFTAMT ? 1 : 0;
    return out->op != 0;
}
static bool select_mask(const struct ptx_instr *i, struct lir_insn *out)
{
    out->op = i->op == PTX_OP_BMSK ? LIR_BMSK_B32 : i->type[0] == PTX_S32 ? LIR_SZEXT_S32 : LIR_SZEXT_U32;
    out->aux = i->flags & PTX_F_WRAP ? 1 : 0;
    return true;
}
static bool select_dot(const struct ptx_instr *i, struct lir_insn *out)
{
    out->op = i->op == PTX_OP_DP4A ? LIR_DP4A : LIR_DP2A;
    out->aux = (uint16_t)((i->type[0] == PTX_S32 ? 1u : 0) | (i->type[1] == PTX_S32 ? 2u : 0) |
                          (i->flags & HI ? 4u : 0));
    return true;
}
static bool select_testp(const struct ptx_instr *i, struct lir_insn *out)
{
    out->op = i->type[0] == PTX_F64 ? LIR_TESTP_F64 : LIR_TESTP_F32;
    out->aux = (uint16_t)(i->sub - PTX_SUB_FINITE);
    return i->sub >= PTX_SUB_FINITE && i->sub <= PTX_SUB_SUBNORMAL;
}
static bool select_slct(const struct ptx_instr *i, struct lir_insn *out)
{
    static const uint16_t op[2][2] = {{LIR_SLCT_B32_S32, LIR_SLCT_B32_F32}, {LIR_SLCT_B64_S32, LIR_SLCT_B64_F32}};
    bool f32 = i->type[1] == PTX_F32;
    out->op = op[ptx_type_size(i->type[0]) == 8][f32];
    out->aux = i->flags & FTZ ? LIR_FTZ : 0;
    return f32 || i->type[1] == PTX_S32;
}

/* mov by size; vectors as packs and unpacks (mov.v2 has no op: it is two movs). */
static bool select_mov(const struct ptx_instr *i, struct lir_insn *out)
{
    static const struct {
        uint16_t mov, pack2, pack4, unpack2, unpack4;
    } by_size[] = {
        [1] = {LIR_MOV_B16, LIR_PACK2_B16, 0, LIR_UNPACK2_B16, 0},
        [2] = {LIR_MOV_B32, LIR_PACK2_B32, LIR_PACK4_B32, LIR_UNPACK2_B32, LIR_UNPACK4_B32},
        [3] = {LIR_MOV_B64, LIR_PACK2_B64, LIR_PACK4_B64, LIR_UNPACK2_B64, LIR_UNPACK4_B64},
        [4] = {LIR_MOV_B128, LIR_PACK2_B128, 0, LIR_UNPACK2_B128, 0},
    };
    unsigned size = ptx_type_size(i->type[0]), log2 = 0;
    if (i->vec > 1)
        return false;
    if (i->type[0] == PTX_PRED) {
        out->op = LIR_MOV_P;
        return true;
    }
    while (log2 < 4 && 1u << log2 < size)
        log2++;
    if (log2 < 1)
        return false;
    bool pack = i->src[0].kind == PTX_O_VEC, unpack = i->dst[0].kind == PTX_O_VEC;
    if (pack)
        out->op = i->src[0].n == 2 ? by_size[log2].pack2 : i->src[0].n == 4 ? by_size[log2].pack4 : 0;
    else if (unpack)
        out->op = i->dst[0].n == 2 ? by_size[log2].unpack2 : i->dst[0].n == 4 ? by_size[log2].unpack4 : 0;
    else
        out->op = by_size[log2].mov;
    return out->op != 0 && !(pack && unpack);
}

/* Comparisons: the op by source type. */
static const uint8_t compare_slot[PTX_NTYPES] = {
    /* position in LIR_US3, LIR_BY_FLOAT and the pairs, plus 1 */
    [PTX_U16] = 1,  [PTX_B16] = 1, [PTX_U32] = 2,  [PTX_B32] = 2,    [PTX_U64] = 3,
    [PTX_B64] = 3,  [PTX_S16] = 4, [PTX_S32] = 5,  [PTX_S64] = 6,    [PTX_F16] = 7,
    [PTX_BF16] = 8, [PTX_F32] = 9, [PTX_F64] = 10, [PTX_F16X2] = 11, [PTX_BF16X2] = 12};
_Static_assert(LIR_SETP_BF16X2 == LIR_SETP_U16 + 11 && LIR_SET_BF16X2 == LIR_SET_U16 + 11, "op order");

static bool compare_aux(const struct ptx_instr *i, struct lir_insn *out)
{
    unsigned logic = i->sub == PTX_SUB_AND ? 1 : i->sub == PTX_SUB_OR ? 2 : i->sub == PTX_SUB_XOR ? 3 : 0;
    if (i->cmp == PTX_CMP_NONE || (logic != 0) != (i->nsrc == 3))
        return false;
    out->aux = (uint16_t)(((unsigned)i->cmp << LIR_CMP_SHIFT) | logic << LIR_BOOL_SHIFT |
                          (i->flags & FTZ ? LIR_FTZ : 0) | (logic && i->src[2].neg ? LIR_CMP_NOTC : 0));
    return true;
}
static bool select_setp(const struct ptx_instr *i, struct lir_insn *out)
{
    unsigned slot = compare_slot[i->type[0]];
    if (!slot || !compare_aux(i, out))
        return false;
    out->op = (uint16_t)(LIR_SETP_U16 + slot - 1);
    if (i->ndst == 2 && i->dst[1].kind == PTX_O_REG)
        out->aux |= LIR_CMP_Q;
    return true;
}
static bool select_set(const struct ptx_instr *i, struct lir_insn *out)
{
    static const uint8_t result[PTX_NTYPES] = {
        /* what true is, plus 1 */
        [PTX_U32] = 1, [PTX_S32] = 1,   [PTX_F32] = 2,  [PTX_U16] = 3,   [PTX_S16] = 3,
        [PTX_F16] = 4, [PTX_F16X2] = 4, [PTX_BF16] = 5, [PTX_BF16X2] = 5};
    unsigned slot = compare_slot[i->type[1]], yes = result[i->type[0]];
    if (!slot || !yes || !compare_aux(i, out))
        return false;
    out->op = (uint16_t)(LIR_SET_U16 + slot - 1);
    out->aux |= (uint16_t)((yes - 1) << LIR_RND_SHIFT);
    return true;
}

static const struct {
    uint16_t op;
    bool (*select)(const struct ptx_instr *, struct lir_insn *);
} special[] = {{PTX_OP_MOV, select_mov},     {PTX_OP_SETP, select_setp},   {PTX_OP_SET, select_set},
               {PTX_OP_CVT, lir_select_cvt}, {PTX_OP_LOP3, select_lop3},   {PTX_OP_SHF, select_shf},
               {PTX_OP_PRMT, select_prmt},   {PTX_OP_BFIND, select_bfind}, {PTX_OP_BMSK, select_mask},
               {PTX_OP_SZEXT, select_mask},  {PTX_OP_DP4A, select_dot},    {PTX_OP_DP2A, select_dot},
               {PTX_OP_TESTP, select_testp}, {PTX_OP_SLCT, select_slct},   {PTX_OP_MIN, select_minmax},
               {PTX_OP_MAX, select_minmax}};

bool lir_select_alu(const struct ptx_instr *i, struct lir_insn *out)
{
    out->op = 0;
    out->aux = 0;
    for (unsigned n = 0; n < sizeof special / sizeof special[0]; n++)
        if (special[n].op == i->op)
            return special[n].select(i, out);
    return lir_select_video(i, out) || select_form(i, out);
}
