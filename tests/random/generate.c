/* Generates random PTX kernels: arithmetic from the catalogue, memory, structured and unstructured
 * control flow, calls, and cross-lane operations whose member masks are exactly the lanes that
 * come. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "random/random.h"

const struct pool pools[NPOOLS] = {
    [POOL_INT] = {"r", "b32", 10},  [POOL_UNIFORM] = {"u", "b32", 4},
    [POOL_WIDE] = {"d", "b64", 5},  [POOL_SHORT] = {"h", "b16", 4},
    [POOL_F32] = {"f", "f32", 6},   [POOL_F64] = {"e", "f64", 4},
    [POOL_F16] = {"s", "b16", 4},   [POOL_BF16] = {"b", "b16", 4},
    [POOL_F16X2] = {"x", "b32", 4}, [POOL_BF16X2] = {"y", "b32", 4},
    [POOL_PRED] = {"p", "pred", 5},
};

static struct program *prog;
static uint64_t state;
static const struct opcode *ops;
static unsigned nops;

static uint32_t rnd(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}
static bool may(unsigned flag) { return prog->flags & flag; }

/* ---- items ---- */

static char text[8192];
static size_t at;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + at, sizeof text - at, fmt, ap);
    va_end(ap);
    if (n > 0 && at + (size_t)n < sizeof text)
        at += (size_t)n;
}
static int construct; /* around what is being said, -1 = none */

static void put(bool own)
{
    if (at && prog->nitem < MAX_ITEMS) {
        prog->owner[prog->nitem] = construct;
        prog->own[prog->nitem] = own;
        prog->item[prog->nitem++] = strdup(text);
    }
    at = 0;
}
static void done(void) { put(false); }
static void part(void) { put(true); } /* of the construct itself */


/* Where statements stand. */
struct place {
    int depth;
    int mask;       /* register of the lanes that are all here; -1: who is here is not known */
    bool uniform;   /* the whole block is here */
    int out, again; /* labels a lane may leave to, -1 = none */
};
static void statements(struct place w);

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
    case PTX_F32:
    case PTX_TF32: return POOL_F32;
    case PTX_F64: return POOL_F64;
    case PTX_PRED: return POOL_PRED;
    default: return POOL_INT;
    }
}
static unsigned any(unsigned pool) { return rnd(pools[pool].n); }
static const char *reg(unsigned pool)
{
    static char buf[8][16];
    static unsigned k;
    char *s = buf[k++ % 8];
    snprintf(s, sizeof buf[0], "%%%s%u", pools[pool].name, any(pool));
    return s;
}
static uint64_t number(unsigned bits)
{
    static const uint64_t edge[] = {0,          1,          2,          31,         32,     63,
                                    64,         255,        256,        0x7fff,     0x8000, 0xffff,
                                    0x7fffffff, 0x80000000, 0xffffffff, 1ull << 63, ~0ull};
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
        say("0x%llx", (unsigned long long)number(pool == POOL_WIDE    ? 64
                                                 : pool == POOL_SHORT ? 16
                                                                      : 32));
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
    case 'i': return POOL_INT;
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
                              (in->type[1] == PTX_F32 &&
                               (in->type[0] == PTX_F16X2 || in->type[0] == PTX_BF16X2 ||
                                in->type[0] == PTX_E4M3X2 || in->type[0] == PTX_E5M2X2)));
    if (in->op == PTX_OP_MIN || in->op == PTX_OP_MAX)
        return false;
    return in->sub != PTX_SUB_NONE;
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
        if (optional &&
            (!takes_optional(in, *s) || (nopt++ && !(in->op == PTX_OP_CVT && in->type[2]))))
            continue;
        unsigned pool = letter_pool(in, *s);
        if (s != op->sig)
            say(", ");
        if (*s == 'S' && (rnd(4) == 0 || packed)) {
            unsigned p = any(POOL_PRED); /* two results go to two registers */
            say("%%p%u|%%p%u", p, (p + 1) % pools[POOL_PRED].n);
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
    return in->flags & PTX_F_CC || in->op == PTX_OP_ADDC || in->op == PTX_OP_SUBC ||
           in->op == PTX_OP_MADC;
}
/* The sign of a NaN would show in the result: these sources must not be NaNs. */
static bool shows_nan(const struct ptx_instr *in)
{
    return in->op == PTX_OP_COPYSIGN || in->flags & PTX_F_XORSIGN;
}
static void scrub(unsigned pool, const char *type)
{
    for (unsigned i = 0; i < pools[pool].n; i++)
        say("setp.nan.%s %%q0, %%%s%u, %%%s%u;\n@%%q0 mov.b%u %%%s%u, 0;\n", type, pools[pool].name,
            i, pools[pool].name, i,
            pool == POOL_F64   ? 64u
            : pool == POOL_F32 ? 32u
                               : 16u,
            pools[pool].name, i);
}

static const struct opcode *pick(void)
{
    const struct opcode *op;
    do {
        /* first an instruction at random, so that cvt and vset with their many forms stay in bounds
         */
        op = &ops[rnd(nops)];
        if (rnd(6) && (op->in.op == PTX_OP_CVT || op->in.op == PTX_OP_SET ||
                       op->in.op == PTX_OP_SETP || strchr("v", op->text[0])))
            op = NULL;
    } while (!op || (may(GEN_KNOWN) && !op->known));
    return op;
}

static void carry_chain(const struct opcode *op)
{
    bool sub = op->in.op == PTX_OP_SUBC, wide = ptx_type_size(op->in.type[0]) == 8;
    static const char *const last[2][2] = {{"addc.u32", "addc.u64"}, {"subc.u32", "subc.u64"}};
    static const char *const first[2][2] = {{"add.cc.u32", "add.cc.u64"},
                                            {"sub.cc.u32", "sub.cc.u64"}};
    unsigned pool = wide ? POOL_WIDE : POOL_INT;
    say("%s %s, %s, %s;\n", first[sub][wide], reg(pool), reg(pool), reg(pool));
    instruction(op);
    if (op->in.flags & PTX_F_CC)
        say("%s %s, %s, %s;\n", last[sub][wide], reg(pool), reg(pool), reg(pool));
}

static void arithmetic(void)
{
    const struct opcode *op = pick();
    if (carries(&op->in)) {
        carry_chain(op);
    } else {
        if (shows_nan(&op->in))
            scrub(pool_of(op->in.type[0]),
                  ptx_type_name(op->in.type[0]) + (ptx_type_name(op->in.type[0])[0] == '.'));
        if (rnd(6) == 0)
            say("@%s%s ", rnd(2) ? "!" : "", reg(POOL_PRED));
        instruction(op);
    }
    done();
}

/* Moves between classes, packs and what is written with special operands. */
static void move(void)
{
    static const char *const special[] = {
        "%tid.x",       "%tid.y",       "%tid.z",       "%laneid",     "%ctaid.x",
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
        say("setp.%s.u32 %s, %s, %u;\n", rnd(2) ? "lt" : "ge", reg(POOL_PRED),
            rnd(2) ? "%lane" : "%lin", rnd(100));
    }
    done();
}

/* ---- memory ---- */

/* Element types by what register holds them. */
static const struct {
    const char *type;
    unsigned size, pool;
    bool vector;
} elements[] = {
    {"u8", 1, POOL_SHORT, 0},  {"s8", 1, POOL_INT, 0},    {"u8", 1, POOL_INT, 0},
    {"u16", 2, POOL_SHORT, 1}, {"s16", 2, POOL_INT, 0},   {"u16", 2, POOL_WIDE, 0},
    {"s32", 4, POOL_WIDE, 0},  {"u32", 4, POOL_INT, 1},   {"b32", 4, POOL_INT, 1},
    {"b64", 8, POOL_WIDE, 1},  {"f32", 4, POOL_F32, 1},   {"f64", 8, POOL_F64, 1},
    {"u32", 4, POOL_INT, 1},   {"b16", 2, POOL_SHORT, 1}, {"u32", 4, POOL_UNIFORM, 0},
};
enum { NELEMENTS = 14 }; /* the last one is for uniform places */

static void data(unsigned pool, unsigned count)
{
    unsigned first = any(pool);
    if (count > 1)
        say("{");
    for (unsigned k = 0; k < count; k++)
        say("%s%%%s%u", k ? ", " : "", pools[pool].name, (first + k) % pools[pool].n);
    if (count > 1)
        say("}");
}

/* Computes %w0 (64 bits) or %t0 (shared) = a place for `bytes`, aligned, in `room` bytes from
 * `base`. */
static void offset(unsigned room, unsigned bytes)
{
    uint32_t mask = (room - 1) & ~(bytes - 1);
    switch (rnd(4)) {
    case 0: say("and.b32 %%t0, %s, %u;\n", reg(POOL_INT), mask); break;
    case 1: say("and.b32 %%t0, %%u%u, %u;\n", any(POOL_UNIFORM), mask); break;
    case 2:
        say("mul.lo.u32 %%t0, %%lin, %u;\nand.b32 %%t0, %%t0, %u;\n", bytes << rnd(3), mask);
        break;
    default: say("mov.u32 %%t0, %u;\n", rnd(room) & mask);
    }
}

static void guard(void)
{
    if (rnd(5) == 0)
        say("@%s%s ", rnd(2) ? "!" : "", reg(POOL_PRED));
}

static void memory(bool uniform)
{
    static const char *const loads[] = {"ld.global", "ld.global.nc", "ld.const", "ld",
                                        "ld.volatile.global"};
    unsigned e = rnd(uniform ? NELEMENTS + 1 : NELEMENTS), pool = elements[e].pool;
    unsigned count = elements[e].vector ? 1u << rnd(elements[e].size == 8 ? 2 : 3) : 1;
    unsigned bytes = elements[e].size * count, what = rnd(8);
    bool two_pools = count > 1 && pools[pool].n < count; /* a register twice would be undefined */
    char vec[16] = "";
    if (two_pools)
        count = 1, bytes = elements[e].size;
    if (count > 1)
        snprintf(vec, sizeof vec, ".v%u", count);
    if (pool == POOL_UNIFORM) { /* the address too is the block's */
        say("and.b32 %%t0, %%u%u, 252;\ncvt.u64.u32 %%w0, %%t0;\nadd.s64 %%w0, %%w0, %%bin;\n"
            "ld.global.u32 %%u%u, [%%w0];\n",
            any(POOL_UNIFORM), any(POOL_UNIFORM));
    } else if (what < 4) { /* read-only */
        unsigned space = rnd(elements[e].size < 4 && !may(GEN_ODD) ? 4 : 5);
        offset(space == 2 ? 256 : 16384, bytes);
        say("cvt.u64.u32 %%w0, %%t0;\nadd.s64 %%w0, %%w0, %s;\n", space == 2 ? "%btab" : "%bin");
        guard();
        say("%s%s.%s ", loads[space], vec, elements[e].type);
        data(pool, count);
        say(", [%%w0];\n");
    } else { /* a thread's own */
        static const char *const base[] = {"%bown", "%bloc"};
        unsigned space = rnd(3), k = rnd(SLOT / bytes) * bytes;
        bool store = rnd(2);
        char where[48];
        if (space == 2 && rnd(2)) {
            snprintf(where, sizeof where, "[%%bsh+%u]", k);
        } else if (space == 2) {
            say("and.b32 %%t0, %s, %u;\nadd.u32 %%t0, %%t0, %%bsh;\n", reg(POOL_INT),
                (SLOT - 1) & ~(bytes - 1));
            snprintf(where, sizeof where, "[%%t0]");
        } else if (rnd(2)) {
            snprintf(where, sizeof where, "[%s+%u]", base[space], k);
        } else {
            offset(SLOT, bytes);
            say("cvt.u64.u32 %%w0, %%t0;\nadd.s64 %%w0, %%w0, %s;\n", base[space]);
            snprintf(where, sizeof where, "[%%w0]");
        }
        const char *name = space == 0 ? rnd(2) ? ".global" : "" : space == 1 ? ".local" : ".shared";
        /* what loads read as floats may have been stored as integers but never the other way round
         */
        if (store && (pool == POOL_F32 || pool == POOL_F64))
            pool = pool == POOL_F32 ? POOL_INT : POOL_WIDE;
        guard();
        if (store) {
            say("st%s%s.%s %s, ", name, vec,
                pool == elements[e].pool ? elements[e].type
                : bytes / count == 4     ? "b32"
                                         : "b64",
                where);
            data(pool, count);
            say(";\n");
        } else {
            say("ld%s%s.%s ", name, vec, elements[e].type);
            data(pool, count);
            say(", %s;\n", where);
        }
    }
    done();
}

/* Sums into words of their own per operation: the order of threads does not show. */
static void atomic(void)
{
    static const char *const op[] = {"add.u32", "min.s32", "max.s32", "min.u32",
                                     "max.u32", "and.b32", "or.b32",  "xor.b32",
                                     "add.u64", "max.u64", "min.s64", "xor.b64"};
    static const char *const own[] = {"add.u32", "exch.b32", "inc.u32", "dec.u32",
                                      "min.s32", "xor.b32",  "cas.b32"};
    unsigned k = rnd(12);
    if (rnd(3)) {
        say("and.b32 %%t0, %s, %u;\n", reg(rnd(3) ? POOL_INT : POOL_UNIFORM), k >= 8 ? 120u : 124u);
        say("cvt.u64.u32 %%w0, %%t0;\nadd.s64 %%w0, %%w0, %%bacc;\n");
        guard();
        if (rnd(3))
            say("red.global.%s [%%w0+%u], %s;\n", op[k], k * 128,
                reg(k >= 8 ? POOL_WIDE : POOL_INT));
        else
            say("atom.global.%s %s, [%%w0+%u], %s;\n", op[k], k >= 8 ? "%w1" : "%t1", k * 128,
                reg(k >= 8 ? POOL_WIDE : POOL_INT));
    } else {
        k = rnd(7);
        bool shared = rnd(2);
        guard();
        say("atom.%s.%s %s, [%s+%u], %s%s%s;\n", shared ? "shared" : "global", own[k],
            reg(POOL_INT), shared ? "%bsh" : "%bown", 4 * rnd(SLOT / 4), reg(POOL_INT),
            k == 6 ? ", " : "", k == 6 ? reg(POOL_INT) : "");
    }
    done();
}

/* ---- cross-lane ---- */

static void shuffle(int mask)
{
    static const char *const mode[] = {"idx", "up", "down", "bfly"};
    static const uint32_t segment[] = {0, 0x10, 0x18, 0x1c, 0x1e};
    unsigned m = rnd(4);
    uint32_t seg = segment[rnd(5)], d = any(POOL_INT);
    const char *a = reg(POOL_INT), *b = rnd(2) ? reg(POOL_INT) : NULL;
    /* lanes of the mask that are still there; a value from another lane is nobody's */
    say("vote.sync.ballot.b32 %%t0, 1, %%m%d;\nmov.b32 %%t3, %s;\n", mask, a);
    if (b)
        say("and.b32 %%t1, %s, 31;\n", b);
    else
        say("mov.u32 %%t1, %u;\n", rnd(32));
    say("shfl.sync.%s.b32 %%r%u|%%q0, %%t3, %%t1, %u, %%m%d;\n", mode[m], d,
        seg << 8 | (m == 1 ? 0u : 31u), mask);
    if (m == 0)
        say("and.b32 %%t2, %%lane, %u;\nand.b32 %%t1, %%t1, %u;\nor.b32 %%t1, %%t1, %%t2;\n", seg,
            ~seg & 31);
    else
        say("%s %%t1, %%lane, %%t1;\nselp.b32 %%t1, %%t1, %%lane, %%q0;\n", m == 1   ? "sub.s32"
                                                                            : m == 2 ? "add.s32"
                                                                                     : "xor.b32");
    say("shr.u32 %%t0, %%t0, %%t1;\nand.b32 %%t0, %%t0, 1;\nsetp.eq.u32 %%q1, %%t0, 0;\n"
        "@%%q1 mov.u32 %%r%u, 85;\n",
        d);
    if (rnd(2))
        say("mov.pred %s, %%q0;\n", reg(POOL_PRED));
    done();
}

static void collective(const struct place *w)
{
    static const char *const vote[] = {"all", "any", "uni"};
    static const char *const redux[] = {"add.u32", "add.s32", "min.u32", "max.s32", "and.b32",
                                        "or.b32",  "xor.b32", "max.u32", "min.s32"};
    unsigned r = any(POOL_INT), p = any(POOL_PRED);
    switch (rnd(w->uniform ? 11 : 8)) {
    case 0:
    case 1: shuffle(w->mask); return;
    case 2:
        say("vote.sync.ballot.b32 %%r%u, %s%s, %%m%d;\n", r, rnd(3) ? "" : "!", reg(POOL_PRED),
            w->mask);
        break;
    case 3:
        say("vote.sync.%s.pred %%p%u, %s%s, %%m%d;\n", vote[rnd(3)], p, rnd(3) ? "" : "!",
            reg(POOL_PRED), w->mask);
        break;
    case 4:
        say("redux.sync.%s %%r%u, %s, %%m%d;\n", redux[rnd(9)], r, reg(POOL_INT), w->mask);
        break;
    case 5:
        say("and.b32 %%t0, %s, 3;\nmatch.any.sync.b32 %%r%u, %%t0, %%m%d;\n", reg(POOL_INT), r,
            w->mask);
        break;
    case 6:
        say("match.all.sync.b32 %%r%u|%%p%u, %s, %%m%d;\n", r, p, reg(POOL_INT), w->mask);
        break;
    case 7:
        say(rnd(2) ? "bar.warp.sync %%m%d;\n" : "match.any.sync.b64 %%t0, %%d0, %%m%d;\n", w->mask);
        break;
    case 8: { /* the block's threads exchange a word through shared memory */
        unsigned k = 4 * rnd(SLOT / 4);
        say("bar.sync 0;\nst.shared.u32 [%%bsh+%u], %s;\nbar.sync 0;\nrem.u32 %%t0, %s, %%nlin;\n"
            "mad.lo.u32 %%t0, %%t0, %u, %u;\nmov.u32 %%t1, sh;\nadd.u32 %%t0, %%t0, %%t1;\n"
            "ld.shared.u32 %%r%u, [%%t0];\nbar.sync 0;\n",
            k, reg(POOL_INT), reg(POOL_INT), SLOT, k, r);
        break;
    }
    case 9: say("bar.red.%s.pred %%p%u, 0, %s;\n", rnd(2) ? "and" : "or", p, reg(POOL_PRED)); break;
    default: say("bar.red.popc.u32 %s, 0, %s;\n", rnd(2) ? "%u0" : "%t0", reg(POOL_PRED));
    }
    done();
}

/* ---- control flow ---- */

static void label(unsigned l)
{
    say("L%u:\n", l);
    part();
}

static void branch(struct place w)
{
    unsigned other = prog->nlabel++, end = prog->nlabel++, p = any(POOL_PRED);
    struct place then = w, otherwise = w;
    then.depth = otherwise.depth = w.depth - 1;
    if (w.uniform && rnd(2)) { /* the block goes one way */
        say("and.b32 %%t0, %%u%u, %u;\nsetp.eq.u32 %%q0, %%t0, 0;\n@%%q0 bra%s L%u;\n",
            any(POOL_UNIFORM), 1u << rnd(4), rnd(2) ? ".uni" : "", other);
    } else {
        then.uniform = otherwise.uniform = false;
        if (w.mask >= 0) {
            then.mask = (int)prog->nmask++;
            otherwise.mask = (int)prog->nmask++;
            say("vote.sync.ballot.b32 %%m%d, %%p%u, %%m%d;\nnot.b32 %%m%d, %%m%d;\nand.b32 %%m%d, "
                "%%m%d, %%m%d;\n",
                then.mask, p, w.mask, otherwise.mask, then.mask, otherwise.mask, otherwise.mask,
                w.mask);
        }
        say("@!%%p%u bra L%u;\n", p, other);
    }
    part();
    statements(then);
    if (rnd(2)) {
        say("bra L%u;\n", end);
        part();
        label(other);
        statements(otherwise);
    } else {
        label(other);
    }
    label(end);
}

/* At most four rounds, how many may differ from block to block or lane to lane. */
static void loop(struct place w)
{
    unsigned top = prog->nlabel++, out = prog->nlabel++, again = prog->nlabel++, c = prog->ncount++;
    bool uniform = w.uniform && rnd(2), known = w.mask >= 0 && rnd(4);
    struct place in = w;
    in.depth--;
    if (!uniform) {
        in.uniform = false;
        in.mask = known ? (int)prog->nmask++ : -1;
        if (!known && may(GEN_JUMPS)) {
            in.out = (int)out;
            in.again = (int)again;
        }
        if (known)
            say("mov.u32 %%m%d, %%m%d;\n", in.mask, w.mask);
    }
    say("mov.u32 %%c%u, 0;\nL%u:\n", c, top);
    part();
    if (uniform && rnd(2)) {
        say("@%%q2 bra L%u;\n", out); /* %q2 is false: a way out that is never taken */
        part();
    }
    statements(in);
    if (in.again >= 0 && in.again == (int)again)
        label(again);
    if (uniform)
        say("and.b32 %%t0, %%u%u, 3;\n", any(POOL_UNIFORM));
    else
        say("and.b32 %%t0, %s, 3;\n", reg(POOL_INT));
    say("add.u32 %%c%u, %%c%u, 1;\nsetp.lt.u32 %%q0, %%c%u, %%t0;\n", c, c, c);
    /* a bound of its own: rounds end though the body changes the registers */
    say("setp.lt.u32 %%q1, %%c%u, 4;\nand.pred %%q0, %%q0, %%q1;\n", c);
    if (known && !uniform)
        say("vote.sync.ballot.b32 %%m%d, %%q0, %%m%d;\n", in.mask, in.mask);
    say("@%%q0 bra L%u;\n", top);
    part();
    if (rnd(3) == 0) {
        say("add.u32 %s, %%c%u, %s;\n", reg(POOL_INT), c, reg(POOL_INT));
        part();
    }
    label(out);
}

/* A loop with two entries. */
static void irreducible(struct place w)
{
    unsigned a = prog->nlabel++, b = prog->nlabel++, c = prog->ncount++;
    struct place in = {.depth = w.depth - 1, .mask = -1, .out = -1, .again = -1};
    say("mov.u32 %%c%u, 0;\n@%s bra L%u;\n", c, reg(POOL_PRED), b);
    part();
    label(a);
    statements(in);
    label(b);
    statements(in);
    say("add.u32 %%c%u, %%c%u, 1;\nand.b32 %%t0, %s, 3;\nmin.u32 %%t0, %%t0, 3;\n"
        "setp.lt.u32 %%q0, %%c%u, %%t0;\n@%%q0 bra L%u;\n",
        c, c, reg(POOL_INT), c, a);
    part();
}

static void table(struct place w)
{
    unsigned n = 2 + rnd(4), first = prog->nlabel, end;
    struct place in = {.depth = w.depth - 1, .mask = -1, .out = -1, .again = -1};
    prog->nlabel += n + 2;
    end = first + n;
    say("T%u: .branchtargets ", first);
    for (unsigned k = 0; k < n; k++)
        say("%sL%u", k ? ", " : "", first + k);
    say(";\nrem.u32 %%t0, %s, %u;\nbrx.idx %%t0, T%u;\n", reg(rnd(4) ? POOL_INT : POOL_UNIFORM), n,
        first);
    part();
    for (unsigned k = 0; k < n; k++) {
        label(first + k);
        statements(in);
        if (rnd(3)) {
            say("bra L%u;\n", end);
            part();
        }
    }
    label(end);
}

static void call(void)
{
    const char *r = reg(POOL_INT);
    switch (may(GEN_ODD) ? rnd(4) : 1) {
    case 0:
        say("and.b32 %%t0, %s, %u;\n{ .param .b32 a; .param .b32 b; .param .b32 v; st.param.b32 "
            "[a], %%t0;\n"
            "st.param.b32 [b], %s; call (v), walk, (a, b); ld.param.b32 %s, [v]; }\n",
            reg(POOL_INT), 1 + rnd(7), reg(POOL_INT), r);
        break;
    case 1:
        say("{ .param .align 8 .b8 s[16]; .param .b64 v; st.param.b32 [s], %s; st.param.b32 [s+4], "
            "%s;\n"
            "st.param.b64 [s+8], %s; call.uni (v), fold, (s); ld.param.b64 %s, [v]; }\n",
            reg(POOL_INT), reg(POOL_INT), reg(POOL_WIDE), reg(POOL_WIDE));
        break;
    default: say("call (%s), pure%u, (%s, %s);\n", r, rnd(2), reg(POOL_INT), reg(POOL_INT));
    }
    done();
}

static void inside(void (*kind)(struct place), struct place w)
{
    if (prog->nconstruct == MAX_ITEMS)
        return;
    prog->parent[prog->nconstruct] = construct;
    construct = (int)prog->nconstruct++;
    kind(w);
    construct = prog->parent[construct];
}

static void statements(struct place w)
{
    for (int n = 1 + (int)rnd(5); n--;) {
        uint32_t what = rnd(24);
        if (what == 0 && w.depth > 0)
            inside(loop, w);
        else if (what <= 2 && w.depth > 0)
            inside(branch, w);
        else if (what == 3 && w.depth > 0 && may(GEN_ODD))
            inside(rnd(2) ? irreducible : table, w);
        else if (what == 4 && w.out >= 0) {
            say("@%s bra L%d;\n", reg(POOL_PRED), rnd(3) ? w.out : w.again);
            done();
        } else if (what == 5 && may(GEN_JUMPS) && rnd(12) == 0) {
            say("@%s %s;\n", reg(POOL_PRED), rnd(2) ? "ret" : "exit");
            done();
        } else if (what <= 7 && may(GEN_CROSS) && w.mask >= 0)
            collective(&w);
        else if (what == 8 && may(GEN_CALLS))
            call();
        else if (what == 9 && may(GEN_ATOMICS))
            atomic();
        else if (what == 10 && w.uniform) {
            say("mad.lo.u32 %%u%u, %%u%u, %u, %%u%u;\n", any(POOL_UNIFORM), any(POOL_UNIFORM),
                rnd(99), any(POOL_UNIFORM));
            done();
        } else if (what <= 13)
            memory(w.uniform);
        else if (what <= 15)
            move();
        else
            arithmetic();
    }
}

/* ---- the frame around the items ---- */

/* walk: recursion whose depth differs from lane to lane; pure0, pure1: parameters in registers. */
static void functions(void)
{
    static const char *const op[] = {"add.s32", "xor.b32", "mul.lo.s32", "sub.s32", "max.u32"};
    say(".func (.param .b32 v) walk(.param .b32 n, .param .b32 x)\n{\n.reg .b32 %%a<9>; .reg .pred "
        "%%p;\n"
        "ld.param.b32 %%a0, [n]; ld.param.b32 %%a1, [x]; setp.eq.u32 %%p, %%a0, 0; @%%p bra E;\n"
        "sub.u32 %%a2, %%a0, 1; mad.lo.s32 %%a3, %%a1, %u, %%a0;\n"
        "{ .param .b32 m; .param .b32 y; .param .b32 w; st.param.b32 [m], %%a2; st.param.b32 [y], "
        "%%a3;\n"
        "call (w), walk, (m, y); ld.param.b32 %%a4, [w]; }\n%s %%a1, %%a4, %%a1;\nE: st.param.b32 "
        "[v], %%a1; ret;\n}\n",
        rnd(100), op[rnd(5)]);
    say(".func (.param .b64 v) fold(.param .align 8 .b8 s[16])\n{\n.reg .b32 %%a<5>; .reg .b64 "
        "%%d<5>; .reg .pred %%p;\n"
        "ld.param.b32 %%a0, [s]; ld.param.b32 %%a1, [s+4]; ld.param.b64 %%d0, [s+8];\n"
        "mul.wide.u32 %%d1, %%a0, %%a1; setp.%s.s32 %%p, %%a0, %%a1; @%%p bra X; add.s64 %%d0, "
        "%%d0, %%d1; bra Y;\n"
        "X: xor.b64 %%d0, %%d0, %%d1;\nY: st.param.b64 [v], %%d0; ret;\n}\n",
        rnd(2) ? "lt" : "ge");
    for (unsigned k = 0; k < 2; k++)
        say(".func (.reg .b32 v) pure%u(.reg .b32 x, .reg .b32 y)\n{\n.reg .b32 %%a<5>; .reg .pred "
            "%%p;\n"
            "%s %%a0, x, y; setp.gt.u32 %%p, %%a0, y; @%%p %s %%a0, %%a0, x; shf.l.wrap.b32 v, "
            "%%a0, y, %u; ret;\n}\n",
            k, op[rnd(5)], op[rnd(5)], rnd(32));
    memcpy(prog->functions, text, at + 1);
    at = 0;
}

void generate(struct program *p, uint64_t seed, unsigned flags)
{
    unsigned refused;
    memset(p, 0, sizeof *p);
    prog = p;
    p->seed = seed;
    p->flags = flags;
    state = seed * 2654435761u + 12345;
    ops = catalogue(&nops, &refused);
    at = 0;
    p->nmask = 1;
    construct = -1;
    functions();
    for (int i = 0; i < 5; i++)
        statements((struct place){.depth = 3, .mask = 0, .uniform = true, .out = -1, .again = -1});
}

void program_free(struct program *p)
{
    for (unsigned i = 0; i < p->nitem; i++)
        free(p->item[i]);
    p->nitem = 0;
}

static void head(FILE *f, const struct program *p)
{
    fprintf(f, ".version 8.3\n.target sm_90\n.address_size 64\n%s",
            p->flags & GEN_CALLS ? p->functions : "");
    fprintf(f, ".const .align 16 .b32 tab[64] = {");
    for (unsigned i = 0; i < 64; i++)
        fprintf(f, "%s%u", i ? ", " : "", (i * 2654435761u) >> (i % 29));
    fprintf(f,
            "};\n.visible .entry k(.param .u64 pout, .param .u64 pin, .param .u64 pacc, .param "
            ".u64 pown, "
            ".param .u32 pn)\n{\n.shared .align 16 .b8 sh[%u];\n.local .align 16 .b8 loc[%u];\n",
            MAX_THREADS * SLOT, SLOT);
    for (unsigned k = 0; k < NPOOLS; k++)
        fprintf(f, ".reg .%s %%%s<%u>;\n", pools[k].type, pools[k].name, pools[k].n);
    fprintf(f,
            ".reg .b32 %%t<4>, %%m<%u>, %%c<%u>, %%lin, %%nlin, %%lane, %%gid, %%bsh;\n.reg .pred "
            "%%q<3>;\n"
            ".reg .b64 %%w<2>, %%bout, %%bin, %%bacc, %%bown, %%bloc, %%btab;\n",
            p->nmask + 1, p->ncount + 1);
    fprintf(
        f,
        "mov.u32 %%t0, %%tid.x; mov.u32 %%t1, %%tid.y; mov.u32 %%t2, %%ntid.x; mov.u32 %%t3, "
        "%%ntid.y;\n"
        "mov.u32 %%lin, %%tid.z; mad.lo.u32 %%lin, %%lin, %%t3, %%t1; mad.lo.u32 %%lin, %%lin, "
        "%%t2, %%t0;\n"
        "mul.lo.u32 %%nlin, %%t2, %%t3; mov.u32 %%t3, %%ntid.z; mul.lo.u32 %%nlin, %%nlin, %%t3;\n"
        "mov.u32 %%lane, %%laneid; mov.u32 %%r5, %%ctaid.x; mad.lo.u32 %%gid, %%r5, %u, %%lin;\n"
        "ld.param.u64 %%bout, [pout]; ld.param.u64 %%bin, [pin]; ld.param.u64 %%bacc, [pacc];\n"
        "ld.param.u64 %%bown, [pown]; mul.wide.u32 %%w0, %%gid, %u; add.s64 %%bout, %%bout, %%w0;\n"
        "mul.wide.u32 %%w0, %%gid, %u; add.s64 %%bown, %%bown, %%w0; mov.u64 %%bloc, loc;\n"
        "mov.u64 %%btab, tab; mov.u32 %%bsh, sh; mad.lo.u32 %%bsh, %%lin, %u, %%bsh;\n"
        "mov.u32 %%m0, -1; setp.ne.u32 %%q0, %%lin, %%lin; mov.pred %%q2, %%q0; mov.pred %%q1, "
        "%%q0;\n",
        MAX_THREADS, RECORD, SLOT, SLOT);
    for (unsigned i = 1; i < p->nmask; i++)
        fprintf(f, "mov.u32 %%m%u, -1;\n", i);
    for (unsigned i = 0; i < p->ncount; i++)
        fprintf(f, "mov.u32 %%c%u, 0;\n", i);
    for (unsigned k = 0; k < SLOT; k += 16)
        fprintf(f,
                "st.local.v4.u32 [%%bloc+%u], {%%lin, %%lane, %%t2, %%r5};\n"
                "st.shared.v4.u32 [%%bsh+%u], {%%lane, %%t2, %%lin, %%t0};\n",
                k, k);
    /* registers start as thread numbers, parameters, inputs and constants of every class */
    fprintf(f,
            "mov.u32 %%u0, %%r5; ld.param.u32 %%u1, [pn]; mov.u32 %%u2, %%t2; mov.u32 %%u3, 0x%x;\n"
            "mov.u32 %%r0, %%t0; mov.u32 %%r1, %%t1; mov.u32 %%r2, %%lin; mov.u32 %%r3, %%lane; "
            "mov.u32 %%r4, %%u1;\n"
            "mul.wide.u32 %%w0, %%gid, 4; add.s64 %%w0, %%w0, %%bin;\n",
            (unsigned)(p->seed * 40503u));
    for (unsigned i = 6; i < pools[POOL_INT].n; i++)
        fprintf(f, "ld.global.u32 %%r%u, [%%w0+%u];\n", i, (i - 6) * 2048);
    for (unsigned i = 0; i < pools[POOL_WIDE].n; i++)
        fprintf(f, "mov.b64 %%d%u, {%%r%u, %%r%u};\n", i, (2 * i + 6) % 10, (i * 3 + 7) % 10);
    for (unsigned i = 0; i < pools[POOL_SHORT].n; i++)
        fprintf(f,
                "cvt.u16.u32 %%h%u, %%r%u;\nmov.b16 %%s%u, %%h%u;\nmov.b16 %%b%u, %%h%u;\n"
                "mov.b32 %%x%u, %%r%u;\nmov.b32 %%y%u, %%r%u;\ncvt.rn.f64.s32 %%e%u, %%r%u;\n",
                i, i + 4, i, i, i, i, i, i + 6, i, i + 6, i, i + 5);
    for (unsigned i = 0; i < pools[POOL_F32].n; i++)
        fprintf(f, i < 3 ? "cvt.rn.f32.s32 %%f%u, %%r%u;\n" : "mov.b32 %%f%u, %%r%u;\n", i, i + 3);
    for (unsigned i = 0; i < pools[POOL_PRED].n; i++)
        fprintf(f, "and.b32 %%t0, %%r%u, %u;\nsetp.ne.u32 %%p%u, %%t0, 0;\n", i ? i + 4 : 2,
                i ? 1u : 8u, i);
}

static void tail(FILE *f)
{
    unsigned place = 0;
    for (unsigned k = 0; k < NPOOLS; k++)
        for (unsigned i = 0; i < pools[k].n; i++, place += 8) {
            if (k == POOL_PRED)
                fprintf(f, "selp.u32 %%t0, 1, 0, %%p%u;\nst.global.u32 [%%bout+%u], %%t0;\n", i,
                        place);
            else
                fprintf(f, "st.global.%s [%%bout+%u], %%%s%u;\n", pools[k].type, place,
                        pools[k].name, i);
        }
    for (unsigned k = 0; k < SLOT;
         k += 8) /* what the thread's own places hold goes to memory that is compared */
        fprintf(f,
                "ld.local.u64 %%w0, [%%bloc+%u]; ld.shared.u64 %%w1, [%%bsh+%u];\nadd.s64 %%d0, "
                "%%d0, %%w0;\n"
                "xor.b64 %%d0, %%d0, %%w1;\n",
                k, k);
    fprintf(f, "st.global.u64 [%%bout+%u], %%d0;\nret;\n}\n", place);
    _Static_assert(RECORD >= 8 * 60, "a record holds every register");
}

char *program_text(const struct program *p, const bool *drop)
{
    char *s = NULL;
    size_t size;
    FILE *f = open_memstream(&s, &size);
    head(f, p);
    for (unsigned i = 0; i < p->nitem; i++)
        if (!drop || !drop[i])
            fputs(p->item[i], f);
    tail(f);
    fclose(f);
    return s;
}

/* A construct goes with all its own items. Its body may stay only where no construct around it does:
 * the masks of the body then name the lanes that are there, which are all. */
void program_close(const struct program *p, bool *drop)
{
    static bool gone[MAX_ITEMS], empty[MAX_ITEMS];
    memset(gone, 0, sizeof gone);
    for (unsigned i = 0; i < p->nitem; i++)
        if (drop[i] && p->own[i])
            gone[p->owner[i]] = true;
    for (unsigned c = 0; c < p->nconstruct; c++) { /* outer ones come first */
        int up = p->parent[c];
        empty[c] = up >= 0 && empty[up];
        for (; gone[c] && up >= 0 && p->flags & GEN_CROSS; up = p->parent[up])
            empty[c] |= !gone[up];
    }
    for (unsigned i = 0; i < p->nitem; i++)
        if (p->owner[i] >= 0)
            drop[i] |= empty[p->owner[i]] || (p->own[i] && gone[p->owner[i]]);
}
