/* Random items of arithmetic: instructions of the catalogue with random operands, moves between
 * the classes of registers. */
#include <string.h>

#include "random/generate.h"

const struct pool pools[NPOOLS] = {
    [POOL_INT] = {"r", "b32", 10},   [POOL_UNIFORM] = {"u", "b32", 4}, [POOL_WIDE] = {"d", "b64", 5},
    [POOL_SHORT] = {"h", "b16", 4},  [POOL_F32] = {"f", "f32", 6},     [POOL_F64] = {"e", "f64", 4},
    [POOL_F16] = {"s", "b16", 4},    [POOL_BF16] = {"b", "b16", 4},    [POOL_F16X2] = {"x", "b32", 4},
    [POOL_BF16X2] = {"y", "b32", 4}, [POOL_PRED] = {"p", "pred", 5}};
/* ---- operands ---- */

static unsigned pool_of(unsigned type)
{
    switch (type) {
    case PTX_U8:
    case PTX_S8:
    case PTX_B8:
    case PTX_U16:
    case PTX_S16:
    case PTX_B16:
    case PTX_E4M3X2:
    case PTX_E5M2X2: return POOL_SHORT;
    case PTX_U64:
    case PTX_S64:
    case PTX_B64: return POOL_WIDE;
    case PTX_F16: return POOL_F16;
    case PTX_BF16: return POOL_BF16;
    case PTX_F16X2: return POOL_F16X2;
    case PTX_BF16X2: return POOL_BF16X2;
    case PTX_F32: return POOL_F32;
    case PTX_F64: return POOL_F64;
    case PTX_PRED: return POOL_PRED;
    default: return POOL_INT;
    }
}
const char *reg(unsigned pool)
{
    static char buf[8][16];
    static unsigned k;
    char *s = buf[k++ % 8];
    snprintf(s, sizeof buf[0], "%%%s%u", pools[pool].name, any(pool));
    return s;
}
static uint64_t number(unsigned bits)
{
    static const uint64_t edge[] = {0,      1,      2,      31,         32,         63,         64,         255,  256,
                                    0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 63, ~0ull};
    uint64_t v = rnd(2) ? edge[rnd(17)] : rnd(3) ? rnd(40) : (uint64_t)rnd(~0u) << 32 | rnd(~0u);
    return bits == 64 ? v : v & ((1ull << bits) - 1);
}
static void source(unsigned pool)
{
    if (pool == POOL_INT && rnd(6) == 0)
        say("%%u%u", any(POOL_UNIFORM));
    else if (rnd(5) || pool > POOL_F64)
        say("%s", reg(pool));
    else if (pool == POOL_F32)
        say("0f%08x", rnd(4) ? 0x3f800000u + (rnd(64) << 18) : (uint32_t)number(32));
    else if (pool == POOL_F64)
        say("0d%08x00000000", rnd(4) ? 0x3ff00000u + (rnd(64) << 15) : (uint32_t)number(32));
    else
        say("0x%llx", (unsigned long long)number(pool == POOL_WIDE ? 64 : pool == POOL_SHORT ? 16 : 32));
}

static unsigned letter_pool(const struct ptx_instr *in, char c)
{
    unsigned type = in->type[c == '1' || c == 'c'];
    switch (c) {
    case 'P':
    case 'S':
    case 'p': return POOL_PRED;
    case 'I':
    case 'J':
    case 'R':
    case 'i':
    case 'u': return POOL_INT;
    case 'W':
    case 'w': return type == PTX_U16 || type == PTX_S16 ? POOL_INT : POOL_WIDE;
    default: return pool_of(type);
    }
}

/* The instruction's optional sources: present or not by its modifiers. */
static bool takes_optional(const struct ptx_instr *in, char c)
{
    if (in->op == PTX_OP_CVT)
        return (c == 'c') && (in->type[2] || in->sub == PTX_SUB_PACK ||
                              (in->type[1] == PTX_F32 && (in->type[0] == PTX_F16X2 || in->type[0] == PTX_BF16X2 ||
                                                          in->type[0] == PTX_E4M3X2 || in->type[0] == PTX_E5M2X2)));
    if (in->op == PTX_OP_MIN || in->op == PTX_OP_MAX)
        return false;
    return in->sub != PTX_SUB_NONE;
}

/* Names bytes or halves of a video operand, now and then. */
static void parts(const struct ptx_instr *in, char letter)
{
    const size_t len = strcspn(ptx_op_name(in->op), "24");
    const char way = ptx_op_name(in->op)[len]; /* of two or four parts at once */
    const unsigned n = way == '2' ? 2 : 4;
    if (rnd(2))
        return;
    if (letter == 'K' && (!way || !in->sub))
        return; /* would need a third source */
    if (!way) {
        const unsigned which = rnd(6);
        say(which < 4 ? ".b%u" : ".h%u", which % 4);
        return;
    }
    say(way == '2' ? ".h" : ".b");
    if (letter == 'K') {
        unsigned mask = 1 + rnd((1u << n) - 1);
        for (unsigned k = n; k--;)
            if (mask >> k & 1)
                say("%u", k);
        return;
    }
    for (unsigned k = 0; k < n; k++)
        say("%u", rnd(2 * n));
}

static void instruction(const struct opcode *op)
{
    const struct ptx_instr *in = &op->in;
    unsigned nopt = 0;
    bool optional = false, packed = in->type[0] == PTX_F16X2 || in->type[0] == PTX_BF16X2;
    say("%s ", op->text);
    for (const char *s = op->sig; *s; s++) {
        if (*s == '?') {
            optional = true;
            continue;
        }
        /* one optional source, a second one only where cvt.pack has a third type */
        if (optional && (!takes_optional(in, *s) || (nopt++ && !(in->op == PTX_OP_CVT && in->type[2]))))
            continue;
        unsigned pool = letter_pool(in, *s);
        if (s != op->sig)
            say(", ");
        if (*s == 'S' && (rnd(4) == 0 || packed)) {
            unsigned p = any(POOL_PRED); /* two results go to two registers */
            say("%%p%u|%%p%u", p, (p + 1) % pools[POOL_PRED].n);
        } else if (*s == 'n' || *s == 'k' || *s == 'K') {
            bool minus = *s == 'n' && !(in->flags & PTX_F_PO) && !s[1] && rnd(3) == 0;
            say("%s%s", minus ? "-" : "", reg(pool));
            if (*s != 'n' || s[1])
                parts(in, *s);
        } else if (*s >= 'A' && *s <= 'Z') {
            say("%s", reg(pool));
        } else if (*s == 'p') {
            bool negated = (in->op == PTX_OP_SETP || in->op == PTX_OP_SET) && rnd(4) == 0;
            say("%s%s", negated ? "!" : "", reg(POOL_PRED));
        } else if (in->op == PTX_OP_LOP3 && s[1] == '?') {
            say("0x%x", rnd(256));
        } else if (pool == POOL_PRED) {
            say("%s", reg(POOL_PRED));
        } else if (in->op == PTX_OP_CVT) {
            say("%s", reg(pool)); /* a literal's type would be a question of its own */
        } else {
            source(pool);
        }
    }
    say(";\n");
}

static bool carries(const struct ptx_instr *in)
{
    return in->flags & PTX_F_CC || in->op == PTX_OP_ADDC || in->op == PTX_OP_SUBC || in->op == PTX_OP_MADC;
}
/* The sign of a NaN would show in the result: these sources must not be NaNs. */
static bool shows_nan(const struct ptx_instr *in) { return in->op == PTX_OP_COPYSIGN || in->flags & PTX_F_XORSIGN; }
static void scrub(unsigned pool, const char *type)
{
    for (unsigned i = 0; i < pools[pool].n; i++)
        say("setp.nan.%s %%q0, %%%s%u, %%%s%u;\n@%%q0 mov.b%u %%%s%u, 0;\n", type, pools[pool].name, i,
            pools[pool].name, i,
            pool == POOL_F64   ? 64u
            : pool == POOL_F32 ? 32u
                               : 16u,
            pools[pool].name, i);
}

static const struct opcode *pick(void)
{
    unsigned nops, refused;
    const struct opcode *op, *ops = catalogue(&nops, &refused);
    do {
        /* first an instruction at random, so that cvt and vset with their many forms stay in bounds
         */
        op = &ops[rnd(nops)];
        if (rnd(6) && (op->in.op == PTX_OP_CVT || op->in.op == PTX_OP_SET || op->in.op == PTX_OP_SETP ||
                       strchr("v", op->text[0])))
            op = NULL;
    } while (!op || (may(GEN_KNOWN) && !op->known));
    return op;
}

static void carry_chain(const struct opcode *op)
{
    bool sub = op->in.op == PTX_OP_SUBC, wide = ptx_type_size(op->in.type[0]) == 8;
    static const char *const last[2][2] = {{"addc.u32", "addc.u64"}, {"subc.u32", "subc.u64"}};
    static const char *const first[2][2] = {{"add.cc.u32", "add.cc.u64"}, {"sub.cc.u32", "sub.cc.u64"}};
    unsigned pool = wide ? POOL_WIDE : POOL_INT;
    say("%s %s, %s, %s;\n", first[sub][wide], reg(pool), reg(pool), reg(pool));
    instruction(op);
    if (op->in.flags & PTX_F_CC)
        say("%s %s, %s, %s;\n", last[sub][wide], reg(pool), reg(pool), reg(pool));
}

void arithmetic(void)
{
    const struct opcode *op = pick();
    if (carries(&op->in)) {
        carry_chain(op);
    } else {
        if (shows_nan(&op->in))
            scrub(pool_of(op->in.type[0]), ptx_type_name(op->in.type[0]) + (ptx_type_name(op->in.type[0])[0] == '.'));
        if (rnd(6) == 0)
            say("@%s%s ", rnd(2) ? "!" : "", reg(POOL_PRED));
        instruction(op);
    }
    done();
}

/* Moves between classes, packs and what is written with special operands. */
void move(void)
{
    static const char *const special[] = {"%tid.x",       "%tid.y",       "%tid.z",       "%laneid",     "%ctaid.x",
                                          "%ntid.x",      "%ntid.y",      "%nctaid.x",    "%warpid",     "%lanemask_lt",
                                          "%lanemask_ge", "%lanemask_eq", "%lanemask_le", "%lanemask_gt"};
    switch (rnd(18)) {
    case 0: say("mov.b64 %s, {%s, %s};\n", reg(POOL_WIDE), reg(POOL_INT), reg(POOL_INT)); break;
    case 1: {
        unsigned r = any(POOL_INT);
        say("mov.b64 {%%r%u, %%r%u}, %s;\n", r, (r + 1) % pools[POOL_INT].n, reg(POOL_WIDE));
        break;
    }
    case 2: say("mov.b32 %s, {%s, %s};\n", reg(POOL_INT), reg(POOL_SHORT), reg(POOL_SHORT)); break;
    case 3: {
        unsigned h = any(POOL_SHORT);
        say("mov.b32 {%%h%u, %%h%u}, %s;\n", h, (h + 1) % pools[POOL_SHORT].n, reg(POOL_INT));
        break;
    }
    case 4: say("mov.b32 %s, {%s, %s};\n", reg(POOL_F16X2), reg(POOL_F16), reg(POOL_F16)); break;
    case 5: say("mov.b32 %s, %s;\n", reg(POOL_F32), reg(POOL_INT)); break;
    case 6: say("mov.b64 %s, %s;\n", reg(POOL_F64), reg(POOL_WIDE)); break;
    case 7: say("mov.b16 %s, %s;\n", reg(rnd(2) ? POOL_F16 : POOL_BF16), reg(POOL_SHORT)); break;
    case 8: say("mov.b32 %s, %s;\n", reg(rnd(2) ? POOL_F16X2 : POOL_BF16X2), reg(POOL_INT)); break;
    case 9: {
        const char *f = reg(POOL_F32), *r = reg(POOL_INT);
        say("mov.b32 %s, %s;\nsetp.nan.f32 %%q0, %s, %s;\n@%%q0 mov.u32 %s, 7;\n", r, f, f, f, r);
        break;
    }
    case 10: {
        const char *f = reg(POOL_F64), *r = reg(POOL_WIDE);
        say("mov.b64 %s, %s;\nsetp.nan.f64 %%q0, %s, %s;\n@%%q0 mov.u64 %s, 7;\n", r, f, f, f, r);
        break;
    }
    case 11:
    case 12: say("mov.u32 %s, %s;\n", reg(POOL_INT), special[rnd(14)]); break;
    case 13: say("mov.u32 %s, %%u%u;\n", reg(POOL_INT), any(POOL_UNIFORM)); break;
    case 14: say("mov.pred %s, %s;\n", reg(POOL_PRED), reg(POOL_PRED)); break;
    case 15: /* affine values, kept affine */
        say("mad.lo.s32 %s, %%lin, %u, %%u%u;\n", reg(POOL_INT), rnd(9), any(POOL_UNIFORM));
        break;
    case 16: say("add.s32 %s, %%lin, %d;\n", reg(POOL_INT), (int)rnd(65) - 32); break;
    default:
        say("setp.%s.u32 %s, %s, %u;\n", rnd(2) ? "lt" : "ge", reg(POOL_PRED), rnd(2) ? "%lane" : "%lin", rnd(100));
    }
    done();
}
