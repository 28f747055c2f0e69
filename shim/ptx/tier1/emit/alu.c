/* The table of tier 1's arithmetic: the lowering chooses the op, the table says how it is written in C. */
#include "ptx/tier1/emit/alu.h"

#include <stdio.h>
#include <string.h>

#include "ptx/lir/alu_aux.h"
#include "ptx/lir/lir.h"

/* Modifiers a row copes with; with any other bit in aux the op goes to tier 0's handler. */
enum { PART = 208 }; /* room for what an expression is composed of */
enum {
    FTZ32 = 1,
    SAT32 = 2,
    ROUND = 4,
    ANY_FTZ = 8 /* ftz changes nothing */,
    PRIMITIVE = 16,
    SC = 32,
    FTZ_RESULT = 64, /* FTZ32, where a denormal source gives what 0 gives */
    BY_HAND = 128,
    TINY = 256 /* FTZ32, where what is below the least normal number is rounded */
};

static const struct row {
    const char *vec;    /* for pieces; NULL = none */
    const char *scalar; /* NULL = derived from vec */
    uint16_t mods;
} rows[LIR_NOPS] = {
#define ROW(op, vec, scalar, mods) [LIR_##op] = {vec, scalar, mods},
#include "ptx/tier1/emit/alu_rows.def"
#undef ROW
};
/* An op without a row does not compile. */
enum {
#define ROW(op, vec, scalar, mods) HAS_##op,
#include "ptx/tier1/emit/alu_rows.def"
#undef ROW
#define LIR_OP(op, operands) NEEDS_##op = HAS_##op,
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
};

/* ---- composing ---- */

static void fill(char *out, const char *pattern, char letter)
{
    size_t n = 0;
    for (const char *p = pattern; *p && n + 1 < T1_EXPR; p++)
        out[n++] = *p == '@' ? letter : *p;
    out[n] = '\0';
}

static const char *splat_of(const struct t1_op *op, unsigned k)
{
    if (op->src[k] == T1_K_PRED)
        return "(0u - $%u)";
    return op->src[k] == T1_K_64 ? "t1_splat_u64($%u)" : op->wide ? "t1_splat_h32($%u)" : "t1_splat_u32($%u)";
}

/* The scalar form of an expression over pieces: splat, compute, take lane 0. */
static void derive(struct t1_op *op, unsigned d)
{
    const bool pred = op->dst[d].kind == T1_K_PRED;
    char *out = op->dst[d].scalar;
    size_t n = (size_t)snprintf(out, T1_EXPR, pred ? "(" : "t1_lane0((");
    for (const char *p = op->dst[d].vector; *p && n < T1_EXPR; p++) {
        if (p[0] == '$') {
            unsigned k = (unsigned)(*++p - '0');
            n += (size_t)snprintf(out + n, T1_EXPR - n, splat_of(op, k), k);
        } else {
            out[n++] = *p;
        }
    }
    if (n < T1_EXPR - 8)
        snprintf(out + n, T1_EXPR - n, pred ? ") & 1u" : "))");
}

static uint8_t width_of(char c) { return c == 'w' ? T1_K_32 : c == 'l' ? T1_K_64 : T1_K_PRED; }

static void shape(struct t1_op *op, const char *sig)
{
    op->wide = strchr(sig, 'l');
    for (unsigned d = 0; *sig != ':'; sig++)
        op->dst[d++].kind = width_of(*sig);
    while (*++sig)
        op->src[op->nsrc++] = width_of(*sig);
}

/* A call of the operands through ftz; scaled: of those that the result grows with, 2^24 times as large. */
static void call_of(const struct t1_op *op, const struct row *r, char letter, bool scaled, char *out, size_t size)
{
    const unsigned rnd = op->aux >> LIR_RND_SHIFT & 15;
    const bool sources = op->aux & LIR_FTZ && !(r->mods & FTZ_RESULT);
    size_t n = (size_t)snprintf(out, size, "t1_%c_%s%s(", letter, r->vec, rnd ? "_r" : "");
    for (unsigned k = 0; k < op->nsrc; k++) {
        const bool scale = scaled && k != 1;
        n += (size_t)snprintf(out + n, size - n, "%s%s", k ? ", " : "", scale ? "t1_v_scale(" : "");
        if (sources)
            n += (size_t)snprintf(out + n, size - n, letter == 's' ? "t1_s_ftz(" : "t1_v_ftz(");
        n += (size_t)snprintf(out + n, size - n, "$%u%s%s", k, sources ? ")" : "", scale ? ")" : "");
    }
    if (rnd)
        n += (size_t)snprintf(out + n, size - n, ", %u", rnd);
    snprintf(out + n, size - n, ")");
}

/* Operands through ftz, the call with its rounding mode, the result through ftz and sat. */
static void primitive(struct t1_op *op, const struct row *r, char letter, char *out)
{
    const unsigned rnd = op->aux >> LIR_RND_SHIFT & 15;
    const bool ftz = op->aux & LIR_FTZ, sat = op->aux & LIR_SAT, tiny = ftz && r->mods & TINY;
    char call[PART], around[32] = "";
    call_of(op, r, letter, false, call, sizeof call);
    if (sat || (ftz && !tiny))
        snprintf(around, sizeof around, "t1_%c_%s%s", letter,
                 ftz && sat ? "satftz"
                 : sat      ? "sat"
                            : "ftz",
                 op->wide ? "64" : "");
    if (tiny && letter == 'v') {
        snprintf(op->once, T1_EXPR, "%s", call);
        call_of(op, r, letter, true, op->again, T1_EXPR);
    }
    if (tiny) {
        const char *args = strchr(call, '(') + 1;
        snprintf(out, T1_EXPR, "%s(T1_TINY%u(%c, %s, t1_%c_%s%s, %s)", around, op->nsrc, letter,
                 letter == 's' ? "uint32_t" : "pu32", letter, r->vec, rnd ? "_r" : "", args);
    } else {
        snprintf(out, T1_EXPR, "%s(%s)", around, call);
    }
}

/* ---- comparisons ---- */

static const char *const relation[] = {
    [PTX_EQ] = "EQ",   [PTX_NE] = "NE",   [PTX_LT] = "LT",   [PTX_LE] = "LE",   [PTX_GT] = "GT",
    [PTX_GE] = "GE",   [PTX_EQU] = "EQU", [PTX_NEU] = "NEU", [PTX_LTU] = "LTU", [PTX_LEU] = "LEU",
    [PTX_GTU] = "GTU", [PTX_GEU] = "GEU", [PTX_NUM] = "NUM", [PTX_NAN] = "NAN"};
/* By position in LIR_SETP_*: the type compared and how an operand is read. */
// clang-format off
static const struct { const char *sig, *type, *read, *read_ftz; } compared[] = {
    {"ww", "u32", "(%s & 0xffffu)", NULL}, {"ww", "u32", "%s", NULL}, {"ll", "u64", "%s", NULL},
    {"ww", "s32", "t1_@_sx16(%s)", NULL}, {"ww", "s32", "%s", NULL}, {"ll", "s64", "%s", NULL},
    {"ww", NULL, NULL, NULL}, {"ww", NULL, NULL, NULL}, {"ww", "f32", "%s", "t1_@_ftz(%s)"},
    {"ll", "f64", "%s", "%s"}, {"ww", NULL, NULL, NULL}, {"ww", NULL, NULL, NULL}
};
// clang-format on
enum { NCOMPARED = sizeof compared / sizeof compared[0] };

/* The predicate of a comparison as text: a comparison by the prelude, negated for setp's second result, joined with
 * the third operand. letter: 'v' of pieces, 's' of single values. Only of types that `compared` has text for. */
static void comparison(const struct t1_op *op, unsigned slot, bool negated, char letter, char *out)
{
    static const char *const join[] = {"", " & ", " | ", " ^ "};
    const unsigned cmp = op->aux >> LIR_CMP_SHIFT & 31, logic = op->aux >> LIR_BOOL_SHIFT & 3;
    const bool is_float = slot >= 6;
    const char *read = op->aux & LIR_FTZ && is_float ? compared[slot].read_ftz : compared[slot].read;
    const char *all = letter == 's' ? "1" : op->wide ? "T1_ALL64" : "T1_ALL32";
    char pattern[PART], a[40], b[40], tail[64] = "";
    snprintf(a, sizeof a, read, "$0");
    snprintf(b, sizeof b, read, "$1");
    if (logic)
        snprintf(tail, sizeof tail, "%s%s", join[logic], op->aux & LIR_CMP_NOTC ? "($2 ^ " : "$2");
    if (logic && op->aux & LIR_CMP_NOTC)
        snprintf(tail + strlen(tail), sizeof tail - strlen(tail), "%s)", all);
    snprintf(pattern, sizeof pattern, "%st1_@_cmp_%s(%s, %s, %s)%s%s", negated ? "(" : "", compared[slot].type,
             !is_float && cmp == PTX_NE ? "NEU" : relation[cmp], a, b, negated ? " ^ " : "", negated ? all : "");
    if (negated)
        strncat(pattern, ")", sizeof pattern - strlen(pattern) - 1);
    strncat(pattern, tail, sizeof pattern - strlen(pattern) - 1);
    fill(out, pattern, letter);
}

static void setp(struct t1_op *op, unsigned slot)
{
    const bool logic = op->aux >> LIR_BOOL_SHIFT & 3, two = op->aux & LIR_CMP_Q;
    char sig[8];
    snprintf(sig, sizeof sig, "%s:%s%s", two ? "pp" : "p", compared[slot].sig, logic ? "p" : "");
    shape(op, sig);
    for (unsigned d = 0; compared[slot].type && d < (two ? 2u : 1u); d++) {
        comparison(op, slot, d == 1, 'v', op->dst[d].vector);
        comparison(op, slot, d == 1, 's', op->dst[d].scalar);
    }
}

static void set(struct t1_op *op, unsigned slot)
{
    static const char *const yes[] = {"~0u", "0x3f800000u", "0xffffu", "0x3c00u", "0x3f80u"};
    const unsigned which = op->aux >> LIR_RND_SHIFT & 15;
    char sig[8], c[PART], w;
    snprintf(sig, sizeof sig, "w:%s%s", compared[slot].sig, op->aux >> LIR_BOOL_SHIFT & 3 ? "p" : "");
    shape(op, sig);
    w = op->wide ? 'h' : 'u';
    if (!compared[slot].type || which >= sizeof yes / sizeof yes[0])
        return;
    comparison(op, slot, false, 'v', c);
    snprintf(op->dst[0].vector, T1_EXPR, "t1_blend_%c32(%s, (p%c32){0}, t1_splat_%c32(%s))", w, c, w, w, yes[which]);
    comparison(op, slot, false, 's', c);
    snprintf(op->dst[0].scalar, T1_EXPR, "(%s) ? %s : 0u", c, yes[which]);
}

/* ---- conversions ---- */

/* By position in LIR_BY_INT: the source's width, how it reads as 32 (or 64) bits, its signedness. */
static const struct {
    char width;
    const char *read;
    bool is_signed;
} ints[] = {
    {'w', "(%s & 0xffu)", false},
    {'w', "t1_@_sx8(%s)", true},
    {'w', "(%s & 0xffffu)", false},
    {'w', "%s", false},
    {'l', "%s", false},
    {'w', "t1_@_sx16(%s)", true},
    {'w', "%s", true},
    {'l', "%s", true},
};
enum { TO_U16 = 1, TO_U32 = 2, TO_S16 = 5, TO_S32 = 6 };

/* Integer conversions as text. The vector form of a 64-bit source is two half pieces; below 32 bits the value is cut
 * or extended within its 32-bit lane. The scalar form is C's own conversion. A saturating one is left to the
 * handler. */
static void cvt_int_to_int(struct t1_op *op, unsigned from, bool wide)
{
    const bool half = wide != (ints[from].width == 'l'); /* 32-bit lanes in half pieces */
    const unsigned to = op->aux >> LIR_CVT_DST_SHIFT & 7;
    static const char *const narrow[] = {"(%s) & 0xffu", "(%s) & 0xffffu", "%s", "%s",
                                         "t1_@_sx8(%s)", "t1_@_sx16(%s)",  "%s", "%s"};
    char read[40], pattern[PART];
    shape(op, lir_operands[op->op]);
    if (op->aux & LIR_SAT)
        return;
    snprintf(read, sizeof read, ints[from].read, "$0");
    for (unsigned s = 0; s < 2; s++) {
        const char *extend = ints[from].width == 'l'     ? "%s"
                             : s && ints[from].is_signed ? "t1_s_sext(%s)"
                             : s                         ? "(uint64_t)(%s)"
                             : ints[from].is_signed      ? "t1_sext_u32(%s)"
                                                         : "t1_zext_u32(%s)";
        const char *cut = ints[from].width != 'l' ? "%s" : s ? "(uint32_t)%s" : "t1_trunc_u64(%s)";
        if (wide) {
            snprintf(pattern, sizeof pattern, extend, read);
        } else {
            char low[60];
            snprintf(low, sizeof low, cut, read);
            snprintf(pattern, sizeof pattern, narrow[to], low);
        }
        fill(s ? op->dst[0].scalar : op->dst[0].vector, pattern, s ? 's' : half ? 'h' : 'v');
    }
}

static void cvt_int_to_float(struct t1_op *op, unsigned from, bool f64)
{
    const bool l = ints[from].width == 'l', half = f64 != l;
    char read[40], pattern[PART];
    shape(op, lir_operands[op->op]);
    if (op->aux & ~(f64 ? 0u : (unsigned)LIR_FTZ))
        return;
    snprintf(read, sizeof read, ints[from].read, "$0");
    /* what fits a signed 32-bit integer converts as one */
    const bool as_signed = ints[from].is_signed || from == 0 || from == 2;
    snprintf(pattern, sizeof pattern, "t1_%%c_f%s_%c%s(%s)", f64 ? "64" : "32", as_signed ? 's' : 'u', l ? "64" : "32",
             read);
    for (unsigned s = 0; s < 2; s++) {
        char named[PART];
        snprintf(named, sizeof named, pattern, s ? 's' : 'v');
        fill(s ? op->dst[0].scalar : op->dst[0].vector, named, s ? 's' : half ? 'h' : 'v');
    }
}

static void cvt_float_to_int(struct t1_op *op, unsigned from, bool wide)
{
    const unsigned to = op->aux >> LIR_CVT_DST_SHIFT & 7, rnd = op->aux >> LIR_RND_SHIFT & 15;
    const bool f64 = from == 3, is_signed = to & LIR_CVT_DST_SIGNED;
    shape(op, lir_operands[op->op]);
    if (from < 2 || (!wide && to != TO_U32 && to != TO_S32) || rnd < PTX_RNI || rnd > PTX_RPI)
        return;
    const char *name = f64 ? (wide ? "64_f64" : "32_f64") : wide ? "64_f32" : "32_f32";
    const bool ftz = op->aux & LIR_FTZ && !f64;
    snprintf(op->dst[0].vector, T1_EXPR, "t1_v_%c%s(%s, %u)", is_signed ? 's' : 'u', name,
             !ftz   ? "$0"
             : wide ? "t1_h_ftz($0)"
                    : "t1_v_ftz($0)",
             rnd - PTX_RNI);
    derive(op, 0);
}

/* Conversions between floats as text, where the machine's own rounding is the one asked for, with what flushing and
 * saturation add. What is left without a text goes to tier 0's handler. */
static void cvt_float_to_float(struct t1_op *op, unsigned to, unsigned from)
{
    const unsigned rnd = op->aux >> LIR_RND_SHIFT & 15, other = op->aux & ~(unsigned)(LIR_FTZ | LIR_SAT | 0xf0);
    const bool ftz = op->aux & LIR_FTZ, sat = op->aux & LIR_SAT;
    char *v = op->dst[0].vector, x[PART], y[PART];
    shape(op, lir_operands[op->op]);
    if (other)
        return;
    if (to == 2 && from == 2 && (!rnd || rnd >= PTX_RNI)) {
        snprintf(x, sizeof x, ftz ? "t1_v_ftz($0)" : "$0");
        if (rnd)
            snprintf(y, sizeof y, "t1_v_int_f32(%.100s, %u)", x, rnd - PTX_RNI);
        else
            snprintf(y, sizeof y, "%s", x);
        snprintf(v, T1_EXPR, ftz && sat ? "t1_v_satftz(%s)" : sat ? "t1_v_sat(%s)" : ftz ? "t1_v_ftz(%s)" : "%s", y);
    } else if (to == 3 && from == 3 && (!rnd || rnd >= PTX_RNI)) {
        snprintf(x, sizeof x, rnd ? "t1_v_int_f64($0, %u)" : "$0", rnd - PTX_RNI);
        snprintf(v, T1_EXPR, sat ? "t1_v_sat64(%s)" : "%s", x);
    } else if (to == 3 && from == 2 && !rnd && !sat) {
        snprintf(v, T1_EXPR, ftz ? "t1_v_f64_f32(t1_h_ftz($0))" : "t1_v_f64_f32($0)");
    } else if (to == 2 && from == 3 && !rnd && !sat) {
        snprintf(v, T1_EXPR, ftz ? "t1_v_f32_f64(t1_v_tiny64($0))" : "t1_v_f32_f64($0)");
    } else if (to == 2 && from < 2 && !op->aux) {
        snprintf(v, T1_EXPR, from ? "$0 << 16" : "t1_v_f32_f16($0)");
    } else if (to < 2 && from == 2 && !op->aux) {
        snprintf(v, T1_EXPR, to ? "t1_v_bf16_f32($0)" : "t1_v_f16_f32($0)");
    } else {
        return;
    }
    derive(op, 0);
}

/* ---- ops whose modifiers are their own ---- */

/* Operations whose text depends on more than operands, as a look-up table or a mode that is known when it is
 * emitted: folded into the text, they cost no test when they run. */
static void special(struct t1_op *op)
{
    const unsigned aux = op->aux;
    char *v = op->dst[0].vector;
    switch (op->op) {
    case LIR_LOP3_B32:
        shape(op, lir_operands[op->op]);
        snprintf(v, T1_EXPR, "t1_v_lop3($0, $1, $2, 0x%x)", (unsigned)op->imm & 0xff);
        snprintf(op->dst[0].scalar, T1_EXPR, "T1_LOP3($0, $1, $2, 0x%x)", (unsigned)op->imm & 0xff);
        return;
    case LIR_SHF_L_B32:
    case LIR_SHF_R_B32:
        shape(op, lir_operands[op->op]);
        snprintf(v, T1_EXPR, aux ? "t1_v_shf%c_($0, $1, $2 & 31)" : "t1_v_shf%c_($0, $1, t1_v_upto32($2))",
                 op->op == LIR_SHF_L_B32 ? 'l' : 'r');
        derive(op, 0);
        return;
    case LIR_RCP_APPROX_F64:
        snprintf(v, T1_EXPR, "t1_v_rcp_approx_f64($0)");
        derive(op, 0);
        return;
    case LIR_RSQRT_F64:
        snprintf(v, T1_EXPR, aux & LIR_FTZ ? "t1_v_rsqrt_approx_f64($0)" : "t1_v_rsqrt_f64($0)");
        derive(op, 0);
        return;
    case LIR_PRMT_B32:
        if (!aux) {
            snprintf(v, T1_EXPR, "t1_v_prmt($0, $1, $2)");
            derive(op, 0);
        }
        return;
    case LIR_DP4A:
        snprintf(v, T1_EXPR, "t1_v_dp4a_%c%c($0, $1, $2)", aux & 1 ? 's' : 'u', aux & 2 ? 's' : 'u');
        derive(op, 0);
        return;
    case LIR_DP2A:
        snprintf(v, T1_EXPR, "t1_v_dp2a_%c%c($0, $1 >> %u, $2)", aux & 1 ? 's' : 'u', aux & 2 ? 's' : 'u',
                 aux & 4 ? 16 : 0);
        derive(op, 0);
        return;
    case LIR_BMSK_B32:
        snprintf(v, T1_EXPR, aux ? "t1_v_bmsk($0 & 31, $1 & 31)" : "t1_v_bmsk($0, $1)");
        derive(op, 0);
        return;
    case LIR_SZEXT_U32:
    case LIR_SZEXT_S32:
        snprintf(v, T1_EXPR, aux ? "t1_v_szext_%s($0, $1 & 31)" : "t1_v_szext_%s($0, $1)",
                 op->op == LIR_SZEXT_S32 ? "s32" : "u32");
        derive(op, 0);
        return;
    case LIR_BFIND_U32:
    case LIR_BFIND_S32:
        snprintf(v, T1_EXPR, "t1_v_bfind(t1_v_clz32(%s), 32, %u)",
                 op->op == LIR_BFIND_S32 ? "$0 ^ (pu32)((ps32)$0 >> 31)" : "$0", aux);
        derive(op, 0);
        return;
    case LIR_BFIND_U64:
    case LIR_BFIND_S64:
        snprintf(v, T1_EXPR, "t1_h_bfind(t1_v_clz64(%s), 64, %u)",
                 op->op == LIR_BFIND_S64 ? "$0 ^ (pu64)((ps64)$0 >> 63)" : "$0", aux);
        derive(op, 0);
        return;
    case LIR_SIN_F32:
    case LIR_COS_F32:
        snprintf(v, T1_EXPR,
                 aux & LIR_FTZ ? "t1_v_ftz(t1_v_sin_f32(b, t1_v_ftz($0), %u, %u))" : "t1_v_sin_f32(b, $0, %u, %u)",
                 op->op == LIR_COS_F32, (unsigned)op->op);
        derive(op, 0);
        return;
    default: return;
    }
}

static void plain(struct t1_op *op, const struct row *r)
{
    const unsigned allowed = (r->mods & (FTZ32 | ANY_FTZ) ? (unsigned)LIR_FTZ : 0) |
                             (r->mods & SAT32 ? (unsigned)LIR_SAT : 0) | (r->mods & ROUND ? 15u << LIR_RND_SHIFT : 0);
    const bool rounds = op->aux >> LIR_RND_SHIFT & 15;
    shape(op, lir_operands[op->op]);
    if (!r->vec || op->aux & ~allowed || (op->op == LIR_RCP_F32 && rounds && op->aux & LIR_FTZ))
        return; /* rcp.ftz flushes before it rounds, which only directed modes show */
    if (r->mods & PRIMITIVE) {
        primitive(op, r, 'v', op->dst[0].vector);
        if (r->mods & SC && !rounds)
            primitive(op, r, 's', op->dst[0].scalar);
        else
            derive(op, 0);
        return;
    }
    fill(op->dst[0].vector, r->vec, 'v');
    if (r->scalar)
        fill(op->dst[0].scalar, r->scalar, 's');
    else
        derive(op, 0);
}

/* Selects the operation as lowering does and writes it by its row; conversions, comparisons and moves have functions
 * of their own. False: no arithmetic. */
bool t1_alu(const struct ptx_instr *i, struct t1_op *op)
{
    struct lir_insn insn = {0};
    memset(op, 0, sizeof *op);
    if (!lir_select_alu(i, &insn) || !insn.op || insn.op >= LIR_NOPS)
        return false;
    op->op = insn.op;
    op->aux = insn.aux;
    op->imm = insn.imm;
    if (insn.op >= LIR_ADDX_I32 && insn.op <= LIR_MADX_HI_S64) {
        op->reads_cc = insn.aux & 1;
        op->writes_cc = insn.aux & 2;
    }
#define IN(x, first, n) ((x) >= (first) && (x) < (first) + (n))
    if (IN(op->op, LIR_SETP_U16, NCOMPARED))
        setp(op, op->op - LIR_SETP_U16);
    else if (IN(op->op, LIR_SET_U16, NCOMPARED))
        set(op, op->op - LIR_SET_U16);
    else if (IN(op->op, LIR_CVT_I32_U8, 8) || IN(op->op, LIR_CVT_I64_U8, 8))
        cvt_int_to_int(op, (op->op - LIR_CVT_I32_U8) % 8, op->op >= LIR_CVT_I64_U8);
    else if (IN(op->op, LIR_CVT_I32_F16, 4) || IN(op->op, LIR_CVT_I64_F16, 4))
        cvt_float_to_int(op, (op->op - LIR_CVT_I32_F16) % 4, op->op >= LIR_CVT_I64_F16);
    else if (IN(op->op, LIR_CVT_F16_U8, 16)) {
        shape(op, lir_operands[op->op]);
    } else if (IN(op->op, LIR_CVT_F32_U8, 16))
        cvt_int_to_float(op, (op->op - LIR_CVT_F32_U8) % 8, op->op >= LIR_CVT_F64_U8);
    else if (IN(op->op, LIR_CVT_F16_F16, 16))
        cvt_float_to_float(op, (op->op - LIR_CVT_F16_F16) / 4u, (op->op - LIR_CVT_F16_F16) % 4u);
    else if (!(rows[op->op].mods & BY_HAND))
        plain(op, &rows[op->op]);
    else if (op->op != LIR_LOP3_B32 && op->op != LIR_SHF_L_B32 && op->op != LIR_SHF_R_B32)
        return false; /* a move */
    special(op);
    return true;
}

char *t1_alu_expand(char *out, size_t size, const char *pattern, const char *const arg[4])
{
    size_t n = 0;
    for (const char *p = pattern; *p && n + 1 < size; p++) {
        if (*p != '$') {
            out[n++] = *p;
            continue;
        }
        n += (size_t)snprintf(out + n, size - n, "%s", arg[*++p - '0']);
        n = n < size ? n : size - 1;
    }
    if (size)
        out[n] = '\0';
    return out;
}
