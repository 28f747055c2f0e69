/* The MUSA emitter: arithmetic, moves and comparisons, by a table. */
#include "ptx/musa/emit/emit.h"

#include <stdio.h>
#include <string.h>

#include "ptx/lir/alu_aux.h"

enum {
    X = 1,
    I = 2,
    CC = 4,
    V = 8,
    SH = 16 /* plain where the amount is a constant below the width */,
    R = 32 /* has a function of its own for roundings that are not to the nearest */,
    H = 64 /* by hand */,
    P = 128 /* needs prelude/packed.h */
};

static const struct row {
    const char *name, *expr;
    uint8_t flags;
} rows[LIR_NOPS] = {
#define ROW(op, flags, expr) [LIR_##op] = {#op, expr, flags},
#include "ptx/musa/emit/alu_rows.def"
#undef ROW
};
/* An op without a row does not compile. */
enum {
#define ROW(op, flags, expr) HAS_##op,
#include "ptx/musa/emit/alu_rows.def"
#undef ROW
#define LIR_OP(op, operands) NEEDS_##op = HAS_##op,
#include "ptx/lir/alu_ops.def"
#undef LIR_OP
};

/* By position in LIR_SETP_*: the operands' kind and what the prelude calls their type. */
// clang-format off
static const struct { const char *type, *plain; char kind; bool pair; } compared[] = {
    {"U16", NULL, 'w', false}, {"U32", "%s %s %s", 'w', false}, {"U64", "%s %s %s", 'l', false},
    {"S16", NULL, 'w', false}, {"S32", "(s32)%s %s (s32)%s", 'w', false}, {"S64", "(s64)%s %s (s64)%s", 'l', false},
    {"F16", NULL, 'w', false}, {"BF16", NULL, 'w', false}, {"F32", "as_f32(%s) %s as_f32(%s)", 'w', false},
    {"F64", "as_f64(%s) %s as_f64(%s)", 'l', false}, {"F16", NULL, 'w', true}, {"BF16", NULL, 'w', true}
};
// clang-format on
enum { NCOMPARED = sizeof compared / sizeof compared[0], FIRST_FLOAT = 6 };

/* The comparison itself, of elements `up` bits above the lowest. */
static void comparison(struct mu_emit *e, unsigned slot, unsigned up, char *text, size_t size)
{
    static const char *const plain[] = {
        [PTX_EQ] = "==", [PTX_LT] = "<", [PTX_LE] = "<=", [PTX_GT] = ">", [PTX_GE] = ">=", [PTX_NEU] = "!="};
    const struct lir_insn *i = e->at;
    const unsigned cmp = i->aux >> LIR_CMP_SHIFT & 31u;
    struct mu_str a = mu_get(e, i->a, compared[slot].kind), b = mu_get(e, i->b, compared[slot].kind);
    const char *op = cmp < sizeof plain / sizeof *plain ? plain[cmp] : NULL;
    op = slot < FIRST_FLOAT && cmp == PTX_NE ? "!=" : op;
    if (compared[slot].plain && op && !(i->aux & LIR_FTZ && slot >= FIRST_FLOAT))
        snprintf(text, size, compared[slot].plain, a.s, op, b.s);
    else if (up)
        snprintf(text, size, "hit_%s(%s >> %u, %s >> %u, %u)", compared[slot].type, a.s, up, b.s, up, i->aux);
    else
        snprintf(text, size, "hit_%s(%s, %s, %u)", compared[slot].type, a.s, b.s, i->aux);
}

static struct mu_str hit(struct mu_emit *e, unsigned slot, unsigned up)
{
    struct mu_str r;
    char text[300];
    comparison(e, slot, up, text, sizeof text);
    mu_put(e, "const bool h%u = %s;\n", up, text);
    snprintf(r.s, sizeof r.s, "h%u", up);
    return r;
}

/* setp: p by the comparison, q by its negation or, of a pair, by the upper halves' */
static void setp(struct mu_emit *e, unsigned slot)
{
    const struct lir_insn *i = e->at;
    const bool logic = i->aux >> LIR_BOOL_SHIFT & 3, two = i->aux & LIR_CMP_Q;
    if (!logic && !two) {
        char text[300];
        comparison(e, slot, 0, text, sizeof text);
        mu_put(e, "%s = %s;\n", mu_set(e, i->d, 'p').s, text);
        return;
    }
    mu_put(e, "{\n");
    struct mu_str h = hit(e, slot, 0), c = logic ? mu_get(e, i->c, 'p') : h;
    mu_put(e, "const bool c = %s;\n", c.s);
    if (two && compared[slot].pair)
        hit(e, slot, 16);
    mu_put(e, logic ? "%s = joined(h0, c, %u);\n" : "%s = h0;\n", mu_set(e, i->d, 'p').s, i->aux);
    if (two) {
        const char *q = compared[slot].pair ? "h16" : "!h0";
        if (logic)
            mu_put(e, "%s = joined(%s, c, %u);\n", mu_set(e, i->e, 'p').s, q, i->aux);
        else
            mu_put(e, "%s = %s;\n", mu_set(e, i->e, 'p').s, q);
    }
    mu_put(e, "(void)c;\n}\n");
}

static void set(struct mu_emit *e, unsigned slot)
{
    const struct lir_insn *i = e->at;
    mu_put(e, "{\n");
    hit(e, slot, 0);
    struct mu_str c = i->aux >> LIR_BOOL_SHIFT & 3 ? mu_get(e, i->c, 'p') : (struct mu_str){"false"};
    if (compared[slot].pair) {
        hit(e, slot, 16);
        mu_put(e, "%s = pair16(joined(h0, %s, %u) ? yes(%u) : 0, joined(h16, %s, %u) ? yes(%u) : 0);\n}\n",
               mu_set(e, i->d, 'w').s, c.s, i->aux, i->aux, c.s, i->aux, i->aux);
    } else {
        mu_put(e, "%s = joined(h0, %s, %u) ? yes(%u) : 0;\n}\n", mu_set(e, i->d, 'w').s, c.s, i->aux, i->aux);
    }
}

/* mov.b {d, e, b, c}, a */
static void unpack(struct mu_emit *e, unsigned n, unsigned bits, char kind)
{
    const struct lir_insn *i = e->at;
    const uint32_t to[4] = {i->d, i->e, i->b, i->c};
    mu_put(e, "{\nconst %s v = %s;\n", kind == 'l' ? "u64" : "u32", mu_get(e, i->a, kind).s);
    for (unsigned k = 0; k < n; k++)
        mu_put(e, bits < 32 ? "%s = (u32)(v >> %u) & 0x%xu;\n" : "%s = (u32)(v >> %u);\n", mu_set(e, to[k], 'w').s,
               k * bits, (1u << (bits & 31)) - 1);
    mu_put(e, "}\n");
}

static bool move(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    switch (i->op) {
    case LIR_UNPACK2_B16: unpack(e, 2, 8, 'w'); return true;
    case LIR_UNPACK2_B32: unpack(e, 2, 16, 'w'); return true;
    case LIR_UNPACK4_B32: unpack(e, 4, 8, 'w'); return true;
    case LIR_UNPACK2_B64: unpack(e, 2, 32, 'l'); return true;
    case LIR_UNPACK4_B64: unpack(e, 4, 16, 'l'); return true;
    case LIR_MOV_B128:
        mu_put(e, "{\nconst u64 h = %s;\n%s = %s;\n", mu_get(e, i->a + 256, 'l').s, mu_set(e, i->d, 'l').s,
               mu_get(e, i->a, 'l').s);
        mu_put(e, "%s = h;\n}\n", mu_set(e, i->d + 256, 'l').s);
        return true;
    case LIR_PACK2_B128:
    case LIR_UNPACK2_B128: {
        const bool pack = i->op == LIR_PACK2_B128;
        mu_put(e, "{\nconst u64 h = %s;\n%s = %s;\n", mu_get(e, pack ? i->b : i->a + 256, 'l').s,
               mu_set(e, i->d, 'l').s, mu_get(e, i->a, 'l').s);
        mu_put(e, "%s = h;\n}\n", mu_set(e, pack ? i->d + 256 : i->e, 'l').s);
        return true;
    }
    default: return false;
    }
}

static void expand(struct mu_emit *e, const char *expr, const struct mu_str *arg)
{
    for (const char *p = expr; *p; p++)
        if (*p == '$')
            mu_put(e, "%s", arg[*++p - '0'].s);
        else
            mu_write(e, p, 1);
}

static bool is_directed(unsigned aux)
{
    const unsigned rounding = aux >> LIR_RND_SHIFT & 15u;
    return rounding == PTX_RZ || rounding == PTX_RM || rounding == PTX_RP;
}

/* Writes an arithmetic operation by its row: the expression with its operands, or a call of the prelude's function
 * with the modifiers that the row says it takes. False: another instruction. */
bool mu_alu(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    const uint32_t from[4] = {i->a, i->b, i->c, i->e};
    struct mu_str arg[4];
    uint64_t amount;
    if (i->op >= LIR_SETP_U16 && i->op < LIR_SETP_U16 + NCOMPARED)
        return setp(e, i->op - LIR_SETP_U16), true;
    if (i->op >= LIR_SET_U16 && i->op < LIR_SET_U16 + NCOMPARED)
        return set(e, i->op - LIR_SET_U16), true;
    const struct row *r = &rows[i->op];
    if (!r->name || r->flags & H)
        return move(e);
    const char *operands = lir_operands[i->op], *s = operands + 2, *expr = r->expr;
    unsigned n = (unsigned)strlen(s);
    for (unsigned k = 0; k < n; k++)
        arg[k] = mu_get(e, from[k], s[k]);
    if (r->flags & SH && (!mu_constant(e, i->b, &amount) || (uint32_t)amount >= (operands[0] == 'l' ? 64 : 32)))
        expr = NULL;
    e->parts |= (r->flags & V ? MU_VIDEO : 0) | (r->flags & P ? MU_PACKED : 0);
    mu_put(e, "%s = ", mu_set(e, i->d, operands[0]).s);
    if (expr) {
        expand(e, expr, arg);
    } else {
        mu_put(e, r->flags & R && is_directed(i->aux) ? "%s_DIRECTED(" : "%s(", r->name);
        for (unsigned k = 0; k < n; k++)
            mu_put(e, k ? ", %s" : "%s", arg[k].s);
        if (r->flags & CC) {
            mu_put(e, ", cc");
            e->uses_cc = true;
        }
        if (r->flags & X)
            mu_put(e, ", %u", i->aux);
        if (r->flags & I)
            mu_put(e, ", 0x%xu", (unsigned)i->imm);
        mu_put(e, ")");
    }
    mu_put(e, ";\n");
    return true;
}
