/* Chooses the op of cvt, a matrix of target and source types. */
#include "ptx/lir/lower/select_alu.h"

/* Order of LIR_BY_INT and LIR_BY_FLOAT in alu_ops.def, plus 1. */
static const uint8_t int_slot[PTX_NTYPES] = {[PTX_U8] = 1,  [PTX_S8] = 2,  [PTX_U16] = 3, [PTX_U32] = 4,
                                             [PTX_U64] = 5, [PTX_S16] = 6, [PTX_S32] = 7, [PTX_S64] = 8};
static const uint8_t float_slot[PTX_NTYPES] = {[PTX_F16] = 1, [PTX_BF16] = 2, [PTX_F32] = 3, [PTX_F64] = 4};
_Static_assert(LIR_CVT_I32_S64 == LIR_CVT_I32_U8 + 7 && LIR_CVT_F64_S64 == LIR_CVT_F64_U8 + 7 &&
                   LIR_CVT_F64_F64 == LIR_CVT_F64_F16 + 3,
               "op order");

static unsigned log2_size(unsigned type)
{
    unsigned size = ptx_type_size(type);
    return size == 8 ? 3 : size == 4 ? 2 : size == 2 ? 1 : 0;
}

/* Packs of two: the source is one type and there is no rounding mode to choose from but .rn, .rz */
static const struct pack {
    uint8_t to, from;
    uint16_t op;
} packs[] = {
    {PTX_TF32, PTX_F32, LIR_CVT_TF32_F32},
    {PTX_F16X2, PTX_F32, LIR_CVT_F16X2_F32},
    {PTX_BF16X2, PTX_F32, LIR_CVT_BF16X2_F32},
};

/* Formats of two numbers, plus 1. */
static const uint8_t packed[PTX_NTYPES] = {
    [PTX_F16X2] = LIR_PACKED_F16 + 1,   [PTX_BF16X2] = LIR_PACKED_BF16 + 1,   [PTX_E4M3X2] = LIR_PACKED_E4M3 + 1,
    [PTX_E5M2X2] = LIR_PACKED_E5M2 + 1, [PTX_E2M3X2] = LIR_PACKED_E2M3 + 1,   [PTX_E3M2X2] = LIR_PACKED_E3M2 + 1,
    [PTX_E2M1X2] = LIR_PACKED_E2M1 + 1, [PTX_UE8M0X2] = LIR_PACKED_UE8M0 + 1, [PTX_S2F6X2] = LIR_PACKED_S2F6 + 1};

/* Conversions to and from two numbers of 8 bits and less, and all that round by random bits. */
static bool select_packed(const struct ptx_instr *i, struct lir_insn *out)
{
    const unsigned to = packed[i->type[0]], from = packed[i->type[1]];
    const bool up = from > LIR_PACKED_BF16 + 1;
    if (i->rnd == PTX_RS && to && i->type[1] == PTX_F32)
        out->op = LIR_CVT_RS_X2_F32;
    else if (to > LIR_PACKED_BF16 + 1)
        out->op = i->type[1] == PTX_F32      ? LIR_CVT_X2_F32
                  : i->type[1] == PTX_F16X2  ? LIR_CVT_X2_F16X2
                  : i->type[1] == PTX_BF16X2 ? LIR_CVT_X2_BF16X2
                                             : 0;
    else if (up && to)
        out->op = i->type[0] == PTX_F16X2 ? LIR_CVT_F16X2_X2 : LIR_CVT_BF16X2_X2;
    if (!out->op)
        return false;
    out->imm = (int32_t)(up ? from : to) - 1;
    out->aux = (uint16_t)((i->flags & PTX_F_RELU ? LIR_CVT_RELU : 0) |
                          (i->flags & PTX_F_SATFINITE ? LIR_CVT_SATFINITE : 0) |
                          (i->rnd == PTX_RS || i->rnd == PTX_RN ? 0 : (unsigned)i->rnd << LIR_RND_SHIFT));
    return true;
}

/* cvt.pack.sat.T.{s32,u32}[.b32] */
static bool select_pack(const struct ptx_instr *i, struct lir_insn *out)
{
    static const struct {
        uint8_t type, bits, is_signed;
    } element[] = {{PTX_U4, 4, 0},   {PTX_S4, 4, 1},   {PTX_U8, 8, 0}, {PTX_S8, 8, 1},
                   {PTX_U16, 16, 0}, {PTX_S16, 16, 1}, {PTX_U2, 2, 0}, {PTX_S2, 2, 1}};
    for (unsigned n = 0; n < sizeof element / sizeof element[0]; n++) {
        if (element[n].type != i->type[0])
            continue;
        out->op = i->type[1] == PTX_S32 ? LIR_CVT_PACK_S32 : LIR_CVT_PACK_U32;
        out->aux = (uint16_t)(element[n].bits | (element[n].is_signed ? 32u : 0) | (i->nsrc == 3 ? 64u : 0));
        return i->type[1] == PTX_S32 || i->type[1] == PTX_U32;
    }
    return false;
}

/* Chooses the conversion: by pairs that pack two values, else by the classes of both sides, whose operations are
 * laid out as tables of (destination, source). False where the ISA asks for a rounding that the pair does not have.
 * */
bool lir_select_cvt(const struct ptx_instr *i, struct lir_insn *out)
{
    const unsigned to = i->type[0], from = i->type[1];
    const unsigned cvt_bits = (i->flags & PTX_F_RELU ? LIR_CVT_RELU : 0) |
                              (i->flags & PTX_F_SATFINITE ? LIR_CVT_SATFINITE : 0);
    const unsigned aux = lir_alu_aux(i);
    if (i->sub == PTX_SUB_PACK)
        return select_pack(i, out);
    if (select_packed(i, out))
        return true;
    for (unsigned n = 0; n < sizeof packs / sizeof packs[0]; n++) {
        if (packs[n].to == to && packs[n].from == from) {
            out->op = packs[n].op;
            out->aux = (uint16_t)(aux | cvt_bits);
            return true;
        }
    }
    const unsigned ti = int_slot[to], tf = float_slot[to], si = int_slot[from], sf = float_slot[from];
    if (ti && (si || sf)) {
        const bool wide = ptx_type_size(to) == 8;
        const bool is_signed = to == PTX_S8 || to == PTX_S16 || to == PTX_S32 || to == PTX_S64;
        out->op = (uint16_t)(si ? (wide ? LIR_CVT_I64_U8 : LIR_CVT_I32_U8) + si - 1
                                : (wide ? LIR_CVT_I64_F16 : LIR_CVT_I32_F16) + sf - 1);
        out->aux = (uint16_t)(aux | (log2_size(to) | (is_signed ? 4u : 0)) << 8);
        return si || i->rnd >= PTX_RNI;
    }
    if (tf && si) {
        static const uint16_t base[] = {LIR_CVT_F16_U8, LIR_CVT_BF16_U8, LIR_CVT_F32_U8, LIR_CVT_F64_U8};
        /* an exact conversion has nothing to round */
        const bool exact = ptx_type_size(from) < ptx_type_size(to) && tf >= 3;
        out->op = (uint16_t)(base[tf - 1] + si - 1);
        out->aux = (uint16_t)(exact ? aux & LIR_SAT : aux & ~(unsigned)LIR_FTZ);
        return i->rnd <= PTX_RP;
    }
    if (tf && sf) {
        static const uint16_t base[] = {LIR_CVT_F16_F16, LIR_CVT_BF16_F16, LIR_CVT_F32_F16, LIR_CVT_F64_F16};
        out->op = (uint16_t)(base[tf - 1] + sf - 1);
        /* .ftz flushes f32, but not what is on its way to f16: directed modes see subnormal sources */
        out->aux = (uint16_t)((to == PTX_F16 ? aux & ~(unsigned)LIR_FTZ : aux) | cvt_bits);
        return true;
    }
    return false;
}
