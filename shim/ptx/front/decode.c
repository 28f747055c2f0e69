/* Table-driven decoding of opcodes: every modifier spelling is a row of mods.def, every opcode a
 * row of opinfo.def. Opcodes without a row (tensor, texture, cluster) are kept with their text and the
 * modifiers that could be understood; how modifiers go together is held against forms.def. */
#include "ptx/front/front.h"

#include <string.h>

#define BIT(n) ((uint64_t)1 << (n))
// clang-format off
enum mod_class {
    RND_, IRND_, FTZ_, SAT_, APPROX_, HALF_, CC_, NAN_, RELU_, NOFTZ_, SHIFTAMT_, CLAMP_, UNI_, TO_,
    NC_, SYNC_, PACK_, CMP_, LOGIC_, ATOM_, SHFL_, IDX_, VOTE_, PRMT_, SHF_, TESTP_, BAR_, MEMBAR_,
    SPACE_, SEM_, SCOPE_, VEC_, CACHE_, SCALE_, SCALED_
};
// clang-format on
#define RND BIT(RND_)
#define IRND BIT(IRND_)
#define FTZ BIT(FTZ_)
#define SAT BIT(SAT_)
#define APPROX BIT(APPROX_)
#define HALF BIT(HALF_)
#define CC BIT(CC_)
#define NAN BIT(NAN_)
#define RELU BIT(RELU_)
#define NOFTZ BIT(NOFTZ_)
#define SHIFTAMT BIT(SHIFTAMT_)
#define CLAMP BIT(CLAMP_)
#define UNI BIT(UNI_)
#define TO BIT(TO_)
#define NC BIT(NC_)
#define SYNC BIT(SYNC_)
#define PACK BIT(PACK_)
#define CMP BIT(CMP_)
#define LOGIC BIT(LOGIC_)
#define ATOM BIT(ATOM_)
#define SHFL BIT(SHFL_)
#define IDX BIT(IDX_)
#define VOTE BIT(VOTE_)
#define PRMT BIT(PRMT_)
#define SHF BIT(SHF_)
#define TESTP BIT(TESTP_)
#define BAR BIT(BAR_)
#define MEMBAR BIT(MEMBAR_)
#define SPACE BIT(SPACE_)
#define SEM BIT(SEM_)
#define SCOPE BIT(SCOPE_)
#define VEC BIT(VEC_)
#define CACHE BIT(CACHE_)
#define SCALE BIT(SCALE_)
#define SCALED BIT(SCALED_)

enum mod_field { F_RND, F_FLAG, F_CMP, F_SUB, F_SPACE, F_SEM, F_SCOPE, F_VEC, F_IGNORE };

static const struct mod {
    const char *text;
    uint64_t cls;
    uint8_t field;
    uint32_t value;
} mods[] = {
#define MOD(text, cls, field, value) {text, BIT(cls##_), F_##field, value},
#include "ptx/front/mods.def"
#undef MOD
};
enum { NMODS = sizeof mods / sizeof mods[0] };

#define T(t) BIT(PTX_##t)
#define T_S (T(S16) | T(S32) | T(S64))
#define T_I (T_S | T(U16) | T(U32) | T(U64))
#define T_I32 (T(U32) | T(S32))
#define T_I64 (T(U64) | T(S64))
#define T_B (T(B16) | T(B32) | T(B64))
#define T_F (T(F32) | T(F64))
#define T_H (T(F16) | T(F16X2) | T(BF16) | T(BF16X2))
#define T_X2 (T(U16X2) | T(S16X2))
#define T_X4 (T(U8X4) | T(S8X4))
#define T_MEM (T_I | T_B | T_F | T(U8) | T(S8) | T(B8) | T(B128))
#define T_ATOM (T_I32 | T_I64 | T(B16) | T(B32) | T(B64) | T(B128) | T_F | T_H)

static const struct op_info {
    const char *sig; /* NULL: no row, kept loosely */
    uint64_t mods, need, types;
    uint8_t least, most;
} infos[PTX_NOPS] = {
#define OPI(op, mods, need, types, least, most, sig) [PTX_OP_##op] = {sig, mods, need, types, least, most},
#include "ptx/front/opinfo.def"
#undef OPI
};

static const char *const op_names[PTX_NOPS] = {
#define PTX_OP(id, text) [PTX_OP_##id] = text,
#include "ptx/front/ops.def"
#undef PTX_OP
};

const char *ptx_op_name(unsigned op) { return op && op < PTX_NOPS ? op_names[op] : "?"; }

static unsigned op_find(const char *s, size_t len)
{
    for (unsigned i = 1; i < PTX_NOPS; i++)
        if (*op_names[i] == *s && strlen(op_names[i]) == len && !memcmp(op_names[i], s, len))
            return i;
    return PTX_OP_INVALID;
}

static void apply(struct ptx_instr *in, const struct mod *m)
{
    switch (m->field) {
    case F_RND: in->rnd = (uint8_t)m->value; break;
    case F_FLAG: in->flags |= m->value; break;
    case F_CMP: in->cmp = (uint8_t)m->value; break;
    case F_SUB:
        if (in->sub != PTX_SUB_WARP_SYNC)
            in->sub = (uint8_t)m->value;
        break;
    case F_SPACE: in->space = (uint8_t)m->value; break;
    case F_SEM:
        if (in->sem != PTX_MMIO) /* ld.mmio.relaxed */
            in->sem = (uint8_t)m->value;
        break;
    case F_SCOPE: in->scope = (uint8_t)m->value; break;
    case F_VEC: in->vec = (uint8_t)m->value; break;
    default: break;
    }
}

/* Classes of modifiers that exclude each other. */
#define ONE_OF \
    (RND | IRND | HALF | CMP | LOGIC | ATOM | SHFL | VOTE | PRMT | SHF | TESTP | SPACE | SCOPE | VEC | CLAMP | MEMBAR)

/* One modifier, without its dot. 0 = unknown to every opcode, 1 = not for this one, 2 = done, 3 = not with another. */
static int modifier(struct ptx_instr *in, uint64_t allowed, uint64_t *seen, const char *s, size_t len)
{
    int known = 0;
    if (len > 4 && s[0] == 'L' && (s[1] == '1' || s[1] == '2') && s[2] == ':')
        len = 2; /* L1::evict_last, L2::128B */
    for (unsigned i = 0; i < NMODS; i++) {
        if (*mods[i].text != *s || strlen(mods[i].text) != len || memcmp(mods[i].text, s, len))
            continue;
        known = 1;
        if (!(mods[i].cls & allowed))
            continue;
        if (*seen & ONE_OF & (mods[i].cls & (RND | IRND) ? RND | IRND : mods[i].cls))
            return 3;
        apply(in, &mods[i]);
        *seen |= mods[i].cls;
        return 2;
    }
    return known;
}

/* Types of two or four numbers of 8 bits and less. */
static bool is_packed_x2(unsigned type)
{
    return type == PTX_E4M3X2 || type == PTX_E5M2X2 || (type >= PTX_E2M3X2 && type <= PTX_UE8M0X2) ||
           type == PTX_S2F6X2;
}
static bool is_packed_x4(unsigned type) { return type >= PTX_E4M3X4 && type <= PTX_E2M1X4; }

/* Of a conversion by what it packs: one f32 a number, or numbers that are packed already. */
static const char *cvt_pattern(const struct ptx_instr *in)
{
    const bool from_f32 = in->type[1] == PTX_F32, random = in->rnd == PTX_RS, scaled = in->flags & PTX_F_SCALED;
    if (in->sub == PTX_SUB_PACK)
        return in->type[2] ? "Rccc" : "Rcc";
    if (is_packed_x4(in->type[0]))
        return "Dqr";
    if (in->type[0] == PTX_F16X2 || in->type[0] == PTX_BF16X2)
        return !from_f32                   ? scaled ? "D1h" : "D1"
               : in->type[0] == PTX_BF16X2 ? random ? "D11r" : "D11"
               : random                    ? "Cccr"
                                           : "Ccc";
    if (is_packed_x2(in->type[0]))
        return from_f32 ? scaled ? "D11h" : "D11" : scaled ? "D1h" : "D1";
    if (in->type[0] == PTX_BF16 || in->type[1] == PTX_BF16) /* bytes are in registers of bytes */
        return ptx_type_size(in->type[0]) == 1 ? "Dc" : ptx_type_size(in->type[1]) == 1 ? "C1" : "Cc";
    return "Cc";
}

/* Operand patterns that depend on modifiers. */
static const char *pattern(const struct ptx_instr *in, const struct op_info *info, bool hint)
{
    bool wide = in->flags & PTX_F_WIDE, sync = in->flags & PTX_F_SYNC;
    switch (in->op) {
    case PTX_OP_CVT: return cvt_pattern(in);
    case PTX_OP_ADD:
    case PTX_OP_SUB: return in->type[1] ? "D10" : info->sig;
    case PTX_OP_FMA: return in->type[1] ? "D110" : info->sig;
    case PTX_OP_MUL: return wide ? "W00" : info->sig;
    case PTX_OP_MAD: return wide ? "W00w" : info->sig;
    case PTX_OP_REDUX: return in->type[0] == PTX_F32 ? info->sig : "Iuu";
    case PTX_OP_SHFL: return sync ? "Q0iiu" : info->sig;
    case PTX_OP_LD: return hint ? "Mal" : "Ma";
    case PTX_OP_ST: return hint ? "aml" : "am";
    case PTX_OP_RED: return hint ? "ael" : "ae";
    case PTX_OP_ATOM: return in->sub == PTX_SUB_CAS ? hint ? "Eaeel" : "Eaee" : hint ? "Eael" : "Eae";
    case PTX_OP_VOTE:
        if (in->sub == PTX_SUB_BALLOT)
            return sync ? "Dpu" : "Dp";
        return sync ? "Ppu" : "Pp";
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        if (in->scope == PTX_SCOPE_CLUSTER)
            return "";
        switch (in->sub) {
        case PTX_SUB_ARRIVE: return "uu";
        case PTX_SUB_WARP_SYNC: return "u";
        case PTX_SUB_SYNC: return "u?u";
        case PTX_SUB_POPC: return "Duop";
        default: return "Puop";
        }
    case PTX_OP_VADD:
    case PTX_OP_VSUB:
    case PTX_OP_VABSDIFF:
    case PTX_OP_VMIN:
    case PTX_OP_VMAX:
    case PTX_OP_VSHL:
    case PTX_OP_VSHR: return in->sub ? "Kkky" : info->sig;
    case PTX_OP_VSET: return in->sub ? "Kkku" : info->sig; /* a second operation has an operand */
    default: return info->sig;
    }
}

#define R(rnd) BIT(PTX_##rnd)
#define R_ANY (R(RN) | R(RZ) | R(RM) | R(RP))
#define R_WHOLE (R(RNI) | R(RZI) | R(RMI) | R(RPI)) /* to an integer */
#define T_ALL_I (T_I | T(U8) | T(S8))
#define T_X2_FLOAT (T(E4M3X2) | T(E5M2X2) | T(E2M3X2) | T(E3M2X2) | T(E2M1X2))
#define T_X4_FLOAT (T(E4M3X4) | T(E5M2X4) | T(E2M3X4) | T(E3M2X4) | T(E2M1X4))
#define T_X2_HALF (T(F16X2) | T(BF16X2))

/* Conversions that ptxas takes (13.0 and 13.2, sm_90 to sm_120a; 980 of 23,600 spellings). .ftz needs an f32
 * besides, .sat between integers a value that may not fit. */
static const struct {
    uint64_t to, from, rnd;
    uint32_t flags, need;
} conversions[] = {
    {T_ALL_I, T_ALL_I, R(RND_NONE), PTX_F_SAT, 0},
    {T_ALL_I, T_F | T(F16), R_WHOLE, PTX_F_SAT | PTX_F_FTZ, 0},
    {T_F | T(F16), T_ALL_I, R_ANY, PTX_F_SAT | PTX_F_FTZ, 0},
    {T_ALL_I, T(BF16), R_WHOLE, 0, 0},
    {T(BF16), T_ALL_I | T(F16) | T_F, R_ANY, PTX_F_FTZ, 0},
    {T(F16), T(F16), R(RND_NONE) | R_WHOLE, PTX_F_SAT, 0},
    {T(BF16), T(BF16), R(RND_NONE) | R_WHOLE, 0, 0},
    {T(F32), T(F32), R(RND_NONE) | R_WHOLE, PTX_F_SAT | PTX_F_FTZ, 0},
    {T(F64), T(F64), R(RND_NONE) | R_WHOLE, PTX_F_SAT, 0},
    {T_F, T(F16), R(RND_NONE), PTX_F_SAT | PTX_F_FTZ, 0},
    {T(F64), T(F32), R(RND_NONE), PTX_F_SAT | PTX_F_FTZ, 0},
    {T(F16), T_F, R_ANY, PTX_F_SAT | PTX_F_FTZ, 0},
    {T(F32), T(F64), R_ANY, PTX_F_SAT | PTX_F_FTZ, 0},
    {T_F | T(F16), T(BF16), R(RND_NONE) | R_ANY, PTX_F_FTZ, 0},
    {T(BF16), T(F16), R(RND_NONE), 0, 0},
    {T_H | T(TF32), T(F32), R(RN) | R(RZ), PTX_F_RELU | PTX_F_SATFINITE, 0},
    {T(TF32), T(F32), R(RNA), PTX_F_SATFINITE, 0},
    {T_X2_HALF, T(F32), R(RS), PTX_F_RELU | PTX_F_SATFINITE, 0},
    {T(F16X2), T_X2_FLOAT, R(RN), PTX_F_RELU, 0},
    {T(BF16X2), T_X2_FLOAT | T(S2F6X2), R(RN), PTX_F_RELU | PTX_F_SATFINITE | PTX_F_SCALED, 0},
    {T_X2_FLOAT, T(F32) | T_X2_HALF, R(RN), PTX_F_RELU | PTX_F_SATFINITE, PTX_F_SATFINITE},
    {T_X4_FLOAT, T(F32), R(RS), PTX_F_RELU | PTX_F_SATFINITE, PTX_F_SATFINITE},
    {T(S2F6X2), T(F32) | T(BF16X2), R(RN), PTX_F_RELU | PTX_F_SATFINITE | PTX_F_SCALED, PTX_F_SATFINITE}, /* ISA */
    {T(UE8M0X2), T(F32) | T(BF16X2), R(RZ) | R(RP), PTX_F_SATFINITE, 0},
    {T(BF16X2), T(UE8M0X2), R(RN), 0, 0},
};

static bool cvt_may_not_fit(unsigned to, unsigned from)
{
    const unsigned size = ptx_type_size(to), old = ptx_type_size(from);
    const bool is_signed = ptx_type_is_signed(to);
    return is_signed == ptx_type_is_signed(from) ? size < old : !is_signed || size <= old;
}

/* The row that fits is the answer; what comes nearest says what is wrong. */
static const char *cvt_inconsistent(const struct ptx_instr *in)
{
    const uint64_t to = BIT(in->type[0]), from = BIT(in->type[1]);
    const char *why = "does not convert between these types";
    if (in->sub) /* cvt.pack */
        return NULL;
    if (in->type[2])
        return "takes two types";
    if (in->flags & PTX_F_FTZ && !((to | from) & T(F32)))
        return "takes .ftz with .f32 only";
    if (in->flags & PTX_F_SAT && to & T_ALL_I && from & T_ALL_I && !cvt_may_not_fit(in->type[0], in->type[1]))
        return "has nothing to saturate";
    for (size_t k = 0; k < sizeof conversions / sizeof conversions[0]; k++) {
        if (!(conversions[k].to & to) || !(conversions[k].from & from))
            continue;
        if (!(conversions[k].rnd & BIT(in->rnd)))
            why = in->rnd ? "takes no such rounding between these types" : "needs a rounding modifier";
        else if (in->flags & ~conversions[k].flags || ~in->flags & conversions[k].need)
            why = "has a modifier, or lacks one, that these types do not take";
        else
            return NULL;
    }
    return why;
}

/* What a table row cannot say. NULL = fine. */
static const char *inconsistent(const struct ptx_instr *in)
{
    bool is_float = ptx_type_is_float(in->type[0]);
    bool half = in->flags & (PTX_F_WIDE | PTX_F_HI | PTX_F_LO);
    if ((in->op == PTX_OP_MUL || in->op == PTX_OP_MAD) && half == is_float)
        return is_float ? "takes no .lo, .hi or .wide with a float type"
                        : "needs .lo, .hi or .wide with an integer type";
    if ((in->flags & PTX_F_WIDE) && ptx_type_size(in->type[0]) == 8)
        return "has no .wide form of 64-bit operands";
    if (in->op == PTX_OP_CVT)
        return cvt_inconsistent(in);
    if (in->op == PTX_OP_SLCT && in->type[1] != PTX_S32 && in->type[1] != PTX_F32)
        return "selects by .s32 or .f32 only";
    const bool arithmetic = in->op == PTX_OP_ADD || in->op == PTX_OP_SUB || in->op == PTX_OP_MUL ||
                            in->op == PTX_OP_FMA;
    const bool extreme = in->op == PTX_OP_MIN || in->op == PTX_OP_MAX;
    if ((arithmetic || extreme) && (in->type[0] == PTX_BF16 || in->type[0] == PTX_BF16X2) &&
        in->flags & (PTX_F_FTZ | PTX_F_SAT))
        return "takes no .ftz and no .sat with .bf16";
    if (in->op == PTX_OP_FMA && in->flags & PTX_F_SAT && in->flags & PTX_F_RELU)
        return "takes .sat or .relu, not both";
    if (extreme && in->flags & PTX_F_XORSIGN && !(in->flags & PTX_F_ABS))
        return "takes .xorsign with .abs only";
    if (in->op == PTX_OP_REDUX && in->flags & (PTX_F_ABS | PTX_F_NAN | PTX_F_XORSIGN) &&
        (in->type[0] != PTX_F32 || in->flags & PTX_F_XORSIGN))
        return "takes .abs and .NaN with .f32 only";
    if (in->op == PTX_OP_REDUX && (in->type[0] == PTX_F32   ? in->sub != PTX_SUB_MIN && in->sub != PTX_SUB_MAX
                                   : in->type[0] == PTX_B32 ? in->sub > PTX_SUB_XOR
                                                            : false))
        return "does not reduce this type so";
    if ((in->type[0] == PTX_U8X4 || in->type[0] == PTX_S8X4) && (in->rnd || in->flags & ~(uint32_t)PTX_F_SAT))
        return "takes nothing but .sat with packed bytes";
    if (in->type[0] == PTX_F32X2 && in->flags & ~(uint32_t)PTX_F_FTZ)
        return "takes a rounding and .ftz with .f32x2, nothing else";
    if (in->type[1] && (in->op == PTX_OP_ADD || in->op == PTX_OP_SUB || in->op == PTX_OP_FMA)) {
        if (in->type[0] != PTX_F32 || (in->type[1] != PTX_F16 && in->type[1] != PTX_BF16))
            return "mixes .f32 with .f16 or .bf16 only";
        if (in->flags & ~(uint32_t)PTX_F_SAT)
            return "takes a rounding and .sat with mixed types, nothing else";
    }
    if (in->op == PTX_OP_LD || in->op == PTX_OP_ST) {
        const unsigned size = ptx_type_size(in->type[0]), all = in->vec * size;
        if (all > 16 && (all != 32 || size > 8))
            return "has no vector of this size";
        if (all > 16 && in->space != PTX_SP_NONE && in->space != PTX_SP_GLOBAL)
            return "takes vectors of 256 bits in global memory only";
    }
    if ((in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER) && in->sub == PTX_SUB_RED)
        return "needs .popc, .and or .or";
    return NULL;
}

/* Texture geometry and matrix shapes are read from the text by whoever implements them. */
static void decode_loose(struct ptx_instr *in, const char *s, size_t len, unsigned *ntype)
{
    uint64_t seen = 0;
    unsigned type = ptx_type_find(s, len);
    if (!type)
        modifier(in, ~(BAR | MEMBAR | IDX | SHF | CMP), &seen, s, len);
    else if (*ntype < 4)
        in->type[(*ntype)++] = (uint8_t)type;
}

/* Base opcode, modifiers and types of one instruction, by the row that its opcode has in opinfo.def. diag->gap tells
 * PTX that we do not know from what is no PTX. */
void ptx_decode(struct ptx_ctx *c, const char *s, size_t len, uint32_t line, struct ptx_opcode *out)
{
    const char *end = s + len, *dot = memchr(s, '.', len);
    const char *base_end = dot ? dot : end;
    *out = (struct ptx_opcode){.in = {.vec = 1, .guard = -1}};
    struct ptx_instr *in = &out->in;
    const char *two = dot ? memchr(dot + 1, '.', (size_t)(end - dot - 1)) : NULL;
    in->op = (uint16_t)op_find(s, (size_t)((two ? two : end) - s));
    if (in->op != PTX_OP_INVALID) /* st.async shares only its first word with st */
        base_end = two ? two : end;
    else
        in->op = (uint16_t)op_find(s, (size_t)(base_end - s));
    if (in->op == PTX_OP_INVALID)
        ptx_fail(c, line, s, len, "unknown instruction");
    const struct op_info *info = &infos[in->op];
    out->loose = !info->sig;
    unsigned ntype = 0;
    uint64_t seen = 0;
    for (const char *m = base_end; m < end; m = dot) {
        m++;
        dot = memchr(m, '.', (size_t)(end - m));
        if (!dot)
            dot = end;
        size_t n = (size_t)(dot - m);
        if (out->loose) {
            decode_loose(in, m, n, &ntype);
            continue;
        }
        int r = modifier(in, info->mods, &seen, m, n);
        if (r == 2)
            continue;
        if (r == 3)
            ptx_fail(c, line, s, len, "%s takes one modifier of the kind of .%.*s", op_names[in->op], (int)n, m);
        unsigned type = ptx_type_find(m, n);
        /* products of bytes and video instructions have one kind of all their types */
        bool taken = type && ntype < info->most && ((ntype && info->types != T_I32) || info->types & BIT(type));
        c->diag->gap = !taken && (r || type); /* PTX has it, if not here as far as the tables know */
        if (!type)
            ptx_fail(c, line, s, len, r ? "%s does not take the modifier .%.*s" : "%s: unknown modifier .%.*s",
                     op_names[in->op], (int)(n < 40 ? n : 40), m);
        if (!taken)
            ptx_fail(c, line, s, len, "%s does not take the type .%.*s%s", op_names[in->op], (int)n, m,
                     ntype ? " here" : "");
        in->type[ntype++] = (uint8_t)type;
    }
    out->sig = "~";
    if (in->op == PTX_OP_CVT && in->sub && (len < 9 || memcmp(s, "cvt.pack.", 9) != 0))
        ptx_fail(c, line, s, len, "cvt.pack is one word");
    if (out->loose) {
        ptx_check_form(c, s, len, line, out);
        return;
    }
    if (ntype < info->least)
        ptx_fail(c, line, s, len, "%s needs %u type modifier%s", op_names[in->op], info->least,
                 info->least > 1 ? "s" : "");
    if (info->need && !(seen & info->need))
        ptx_fail(c, line, s, len, "%s lacks the modifier that says which form is meant", op_names[in->op]);
    const char *why = inconsistent(in);
    if (why)
        ptx_fail(c, line, s, len, "%s %s", op_names[in->op], why);
    ptx_check_form(c, s, len, line, out);
    out->sig = pattern(in, info, out->has_hint);
}

int ptx_decode_check(const char *opcode, struct ptx_diag *diag)
{
    struct ptx_ctx c = {.diag = diag};
    struct ptx_opcode out;
    if (setjmp(c.out))
        return -1;
    ptx_decode(&c, opcode, strlen(opcode), 1, &out);
    return 0;
}

bool ptx_allocates(const struct ptx_instr *in)
{
    return in->op == PTX_OP_TCGEN05 && !strncmp(in->opcode, "tcgen05.alloc", 13);
}
