/* Random items of memory, atomics, cross-lane operations and calls. */
#include <string.h>

#include "random/generate.h"

/* ---- memory ---- */

static const struct element elements[] = {
    {"u8", 1, POOL_SHORT}, {"s8", 1, POOL_SHORT}, {"s8", 1, POOL_INT},     {"u8", 1, POOL_INT},
    {"b8", 1, POOL_WIDE},  {"s8", 1, POOL_WIDE},  {"u16", 2, POOL_SHORT},  {"b16", 2, POOL_SHORT},
    {"s16", 2, POOL_INT},  {"u16", 2, POOL_INT},  {"s16", 2, POOL_WIDE},   {"u16", 2, POOL_WIDE},
    {"s32", 4, POOL_WIDE}, {"u32", 4, POOL_WIDE}, {"u32", 4, POOL_INT},    {"b32", 4, POOL_INT},
    {"s32", 4, POOL_INT},  {"u32", 4, POOL_INT},  {"b64", 8, POOL_WIDE},   {"s64", 8, POOL_WIDE},
    {"f32", 4, POOL_F32},  {"f64", 8, POOL_F64},  {"u32", 4, POOL_UNIFORM}};
enum { NELEMENTS = sizeof elements / sizeof *elements - 1 }; /* the last one is for uniform places */

/* What is stored may hold numbers; what is loaded leaves out some elements of a vector, never all. */
const struct element *any_element(void) { return &elements[rnd(NELEMENTS)]; }

void data(unsigned pool, unsigned count, bool store)
{
    unsigned first = any(pool);
    if (count > 1)
        say("{");
    for (unsigned k = 0; k < count; k++) {
        say("%s", k ? ", " : "");
        if (store && rnd(6) == 0)
            say("%d", (int)rnd(256) - 128);
        else if (!store && k != first % count && rnd(8) == 0)
            say("_");
        else
            say("%%%s%u", pools[pool].name, (first + k) % pools[pool].n);
    }
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
    case 2: say("mul.lo.u32 %%t0, %%lin, %u;\nand.b32 %%t0, %%t0, %u;\n", bytes << rnd(3), mask); break;
    default: say("mov.u32 %%t0, %u;\n", rnd(room) & mask);
    }
}

void guard(void)
{
    if (rnd(5) == 0)
        say("@%s%s ", rnd(2) ? "!" : "", reg(POOL_PRED));
}

void memory(bool uniform)
{
    static const char *const loads[] = {"ld.global", "ld.global.nc", "ld.const", "ld", "ld.volatile.global"};
    static const char *const orders[] = {".volatile", ".relaxed.cta", ".relaxed.gpu", ".relaxed.sys"};
    unsigned e = rnd(uniform ? NELEMENTS + 1 : NELEMENTS), pool = elements[e].pool;
    unsigned count = 1u << rnd(elements[e].size == 8 ? 2 : 3);
    unsigned bytes = elements[e].size * count, what = rnd(8);
    char vec[16] = "";
    if (count > 1)
        snprintf(vec, sizeof vec, ".v%u", count);
    if (pool == POOL_UNIFORM) { /* the address too is the block's */
        say("and.b32 %%t0, %%u%u, 252;\ncvt.u64.u32 %%w0, %%t0;\nadd.s64 %%w0, %%w0, %%bin;\n"
            "ld.global.u32 %%u%u, [%%w0];\n",
            any(POOL_UNIFORM), any(POOL_UNIFORM));
    } else if (what < 4) { /* read-only */
        unsigned space = rnd(5);
        offset(space == 2 ? 256 : 16384, bytes);
        say("cvt.u64.u32 %%w0, %%t0;\nadd.s64 %%w0, %%w0, %s;\n", space == 2 ? "%btab" : "%bin");
        guard();
        say("%s%s.%s ", loads[space], vec, elements[e].type);
        data(pool, count, false);
        say(", [%%w0];\n");
    } else { /* a thread's own */
        static const char *const base[] = {"%bown", "%bloc"};
        unsigned space = rnd(3), k = rnd(SLOT / bytes) * bytes;
        bool store = rnd(2);
        char where[48];
        if (space == 2 && rnd(2)) {
            snprintf(where, sizeof where, "[%%bsh+%u]", k);
        } else if (space == 2) {
            say("and.b32 %%t0, %s, %u;\nadd.u32 %%t0, %%t0, %%bsh;\n", reg(POOL_INT), (SLOT - 1) & ~(bytes - 1));
            snprintf(where, sizeof where, "[%%t0]");
        } else if (rnd(2)) {
            snprintf(where, sizeof where, "[%s+%u]", base[space], k);
        } else {
            offset(SLOT, bytes);
            say("cvt.u64.u32 %%w0, %%t0;\nadd.s64 %%w0, %%w0, %s;\n", base[space]);
            snprintf(where, sizeof where, "[%%w0]");
        }
        const char *name = space == 0 ? rnd(2) ? ".global" : "" : space == 1 ? ".local" : ".shared";
        const char *order = space == 1 || rnd(3) ? "" : orders[rnd(4)];
        /* what loads read as floats may have been stored as integers but never the other way round
         */
        if (store && (pool == POOL_F32 || pool == POOL_F64))
            pool = pool == POOL_F32 ? POOL_INT : POOL_WIDE;
        guard();
        if (store) {
            say("st%s%s%s.%s %s, ", order, name, vec,
                pool == elements[e].pool ? elements[e].type
                : bytes / count == 4     ? "b32"
                                         : "b64",
                where);
            data(pool, count, true);
            say(";\n");
        } else {
            say("ld%s%s%s.%s ", order, name, vec, elements[e].type);
            data(pool, count, false);
            say(", %s;\n", where);
        }
    }
    done();
}

/* Sums into words of their own per operation: the order of threads does not show. */
void atomic(void)
{
    static const char *const op[] = {"add.u32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32",
                                     "or.b32",  "xor.b32", "add.u64", "max.u64", "min.s64", "xor.b64"};
    static const char *const own[] = {"add.u32", "exch.b32", "inc.u32", "dec.u32", "min.s32", "xor.b32", "cas.b32"};
    unsigned k = rnd(12);
    if (rnd(3)) {
        say("and.b32 %%t0, %s, %u;\n", reg(rnd(3) ? POOL_INT : POOL_UNIFORM), k >= 8 ? 120u : 124u);
        say("cvt.u64.u32 %%w0, %%t0;\nadd.s64 %%w0, %%w0, %%bacc;\n");
        guard();
        if (rnd(3))
            say("red.global.%s [%%w0+%u], %s;\n", op[k], k * 128, reg(k >= 8 ? POOL_WIDE : POOL_INT));
        else
            say("atom.global.%s %s, [%%w0+%u], %s;\n", op[k], k >= 8 ? "%w1" : "%t1", k * 128,
                reg(k >= 8 ? POOL_WIDE : POOL_INT));
    } else {
        k = rnd(7);
        bool shared = rnd(2);
        guard();
        say("atom.%s.%s %s, [%s+%u], %s%s%s;\n", shared ? "shared" : "global", own[k], reg(POOL_INT),
            shared ? "%bsh" : "%bown", 4 * rnd(SLOT / 4), reg(POOL_INT), k == 6 ? ", " : "",
            k == 6 ? reg(POOL_INT) : "");
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
    say("shfl.sync.%s.b32 %%r%u|%%q0, %%t3, %%t1, %u, %%m%d;\n", mode[m], d, seg << 8 | (m == 1 ? 0u : 31u), mask);
    if (m == 0)
        say("and.b32 %%t2, %%lane, %u;\nand.b32 %%t1, %%t1, %u;\nor.b32 %%t1, %%t1, %%t2;\n", seg, ~seg & 31);
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

void collective(int mask, bool uniform)
{
    static const char *const vote[] = {"all", "any", "uni"};
    static const char *const redux[] = {"add.u32", "add.s32", "min.u32", "max.s32", "and.b32",
                                        "or.b32",  "xor.b32", "max.u32", "min.s32"};
    unsigned r = any(POOL_INT), p = any(POOL_PRED);
    switch (rnd(uniform ? 11 : 8)) {
    case 0:
    case 1: shuffle(mask); return;
    case 2: say("vote.sync.ballot.b32 %%r%u, %s%s, %%m%d;\n", r, rnd(3) ? "" : "!", reg(POOL_PRED), mask); break;
    case 3:
        say("vote.sync.%s.pred %%p%u, %s%s, %%m%d;\n", vote[rnd(3)], p, rnd(3) ? "" : "!", reg(POOL_PRED), mask);
        break;
    case 4: say("redux.sync.%s %%r%u, %s, %%m%d;\n", redux[rnd(9)], r, reg(POOL_INT), mask); break;
    case 5: say("and.b32 %%t0, %s, 3;\nmatch.any.sync.b32 %%r%u, %%t0, %%m%d;\n", reg(POOL_INT), r, mask); break;
    case 6: say("match.all.sync.b32 %%r%u|%%p%u, %s, %%m%d;\n", r, p, reg(POOL_INT), mask); break;
    case 7: say(rnd(2) ? "bar.warp.sync %%m%d;\n" : "match.any.sync.b64 %%t0, %%d0, %%m%d;\n", mask); break;
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
/* ---- calls ---- */

void call(void)
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

/* walk: recursion whose depth differs from lane to lane; pure0, pure1: parameters in registers. */
void functions(void)
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
}
