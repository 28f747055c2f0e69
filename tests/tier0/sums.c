/* Matrix products whose sums go straight from one to the next: in a row, round loops, and where something reads them
 * on the way. What is wanted comes of the same products one at a time, each through memory. */
#include "tier0/harness.h"

#ifndef SHUFFLES /* a back end that brings sums from one place to another says how often it did */
#define SHUFFLES() 0ul
#define SHUFFLES_ARE_COUNTED false
#endif

enum { LANES = 32, STEPS = 3, ROUNDS = 5 };
enum type { F32, F16, S32 };
static const struct {
    const char *mma, *reg, *zero;
    unsigned sums; /* registers of them */
} types[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", "f32", "0f00000000", 4},
    {"m16n8k16.row.col.f16.f16.f16.f16", "b32", "0", 2},
    {"m16n8k16.row.col.s32.s8.s8.s32", "b32", "0", 4},
};

static uint32_t factors[STEPS][LANES][8], begin[LANES][4], got[3][LANES][4], want[3][LANES][4];
static char text[1 << 14];
static size_t at;
#define EMIT(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))

static void list(char which, unsigned first, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        EMIT("%s%%%c%u", k ? ", " : "{", which, first + k);
    EMIT("}");
}

/* d.. = a, b of the step times, plus c.. ; s8 has two registers of A and one of B. */
static void emit_mma(enum type t, unsigned d, unsigned step, unsigned c)
{
    EMIT("mma.sync.aligned.%s ", types[t].mma);
    list('s', d, types[t].sums);
    EMIT(", ");
    list('a', 8 * step, t == S32 ? 2 : 4);
    EMIT(", ");
    list('a', 8 * step + 4, t == S32 ? 1 : 2);
    EMIT(", ");
    list('s', c, types[t].sums);
    EMIT(";\n");
}

static void emit_load(enum type t, unsigned c)
{
    for (unsigned k = 0; k < types[t].sums; k++)
        EMIT("ld.global.%s %%s%u, [%%c+%u];\n", types[t].reg, c + k, 4 * k);
}

static void emit_end(void) { EMIT("ret;\n}\n"); }

static void emit_store(enum type t, unsigned where, unsigned d)
{
    for (unsigned k = 0; k < types[t].sums; k++)
        EMIT("st.global.%s [%%o+%u], %%s%u;\n", types[t].reg, where * 16 * LANES + 4 * k, d + k);
}

static void emit_zero(enum type t, unsigned d)
{
    for (unsigned k = 0; k < types[t].sums; k++)
        EMIT("mov.%s %%s%u, %s;\n", types[t].reg, d + k, types[t].zero);
}

static void emit_head(enum type t)
{
    at = 0;
    EMIT(
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 pf, .param .u64 pc, .param .u64 po, .param .u32 pn)\n{\n"
        ".reg .b32 %%a<32>, %%t, %%n, %%i, %%j;\n.reg .%s %%s<32>;\n.reg .b64 %%f, %%c, %%o, %%w;\n.reg .pred %%p, %%q;\n"
        "ld.param.u64 %%f, [pf];\nld.param.u64 %%c, [pc];\nld.param.u64 %%o, [po];\nld.param.u32 %%n, [pn];\n"
        "mov.u32 %%t, %%tid.x;\nmul.wide.u32 %%w, %%t, 32;\nadd.u64 %%f, %%f, %%w;\nmul.wide.u32 %%w, %%t, 16;\n"
        "add.u64 %%c, %%c, %%w;\nadd.u64 %%o, %%o, %%w;\n",
        types[t].reg);
    for (unsigned s = 0; s < STEPS; s++)
        for (unsigned k = 0; k < 8; k++)
            EMIT("ld.global.b32 %%a%u, [%%f+%u];\n", 8 * s + k, s * 32 * LANES + 4 * k);
}

static bool launch(const char *name, uint32_t n)
{
    struct {
        void *f, *c, *o;
        uint32_t n;
    } params = {factors, begin, got, n};
    memset(got, 0, sizeof got);
    return t0t_once(text, "k", 1, LANES, &params, NULL) || check(false, "%s runs", name);
}

/* One product, from `sums` to them. */
static void one(enum type t, unsigned step, uint32_t sums[LANES][4])
{
    emit_head(t);
    emit_load(t, 0);
    emit_mma(t, 4, step, 0);
    emit_store(t, 0, 4);
    emit_end();
    memcpy(begin, sums, sizeof begin);
    if (launch("one product", 0))
        memcpy(sums, got[0], sizeof got[0]);
}

static uint32_t first_sums[LANES][4];

/* What is stored is what is wanted, and the sums were moved so often: twice two shuffles each time. */
static void expect(enum type t, const char *name, uint32_t n, unsigned moves)
{
    memcpy(begin, first_sums, sizeof begin);
    if (!launch(name, n))
        return;
    check(!memcmp(got, want, sizeof got), "%s of %s", name, types[t].mma);
    if (SHUFFLES_ARE_COUNTED)
        check(SHUFFLES() == 4ul * LANES * moves, "%s of %s: %lu shuffles a lane, should be %u", name, types[t].mma,
              SHUFFLES() / LANES, 4 * moves);
}

static void start(void)
{
    memset(want, 0, sizeof want);
    memcpy(want[0], first_sums, sizeof want[0]);
}

static void in_a_row(enum type t)
{
    start();
    for (unsigned s = 0; s < STEPS; s++)
        one(t, s, want[0]);
    emit_head(t);
    emit_load(t, 0);
    for (unsigned s = 0; s < STEPS; s++)
        emit_mma(t, 4 * s + 4, s, 4 * s);
    emit_store(t, 0, 4 * STEPS);
    emit_end();
    expect(t, "three in a row", 0, 2);

    emit_head(t);
    emit_load(t, 0);
    for (unsigned s = 0; s < STEPS; s++)
        emit_mma(t, 0, s, 0);
    emit_store(t, 0, 0);
    emit_end();
    expect(t, "three in a row, in place", 0, 2);

    start();
    one(t, 0, want[0]);
    memcpy(want[1], want[0], sizeof want[1]);
    one(t, 1, want[0]);
    emit_head(t);
    emit_load(t, 0);
    emit_mma(t, 4, 0, 0);
    emit_mma(t, 8, 1, 4);
    emit_store(t, 0, 8);
    emit_store(t, 1, 4);
    emit_end();
    expect(t, "two, both of which are read", 0, 3);
}

/* Two sums side by side, each of two products a round. */
static void round_a_loop(enum type t)
{
    start();
    memset(want[0], 0, sizeof want[0]);
    memcpy(want[1], first_sums, sizeof want[1]);
    for (unsigned k = 0; k < ROUNDS; k++)
        for (unsigned s = 0; s < 2; s++) {
            one(t, s, want[0]);
            one(t, s + 1, want[1]);
        }
    emit_head(t);
    emit_zero(t, 0);
    emit_load(t, 4);
    EMIT("mov.u32 %%i, 0;\nLOOP:\n");
    emit_mma(t, 8, 0, 0);
    emit_mma(t, 12, 1, 4);
    emit_mma(t, 0, 1, 8);
    emit_mma(t, 4, 2, 12);
    EMIT("add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, %%n;\n@%%p bra LOOP;\n");
    emit_store(t, 0, 0);
    emit_store(t, 1, 4);
    emit_end();
    expect(t, "round a loop", ROUNDS, 4);
}

/* The loop inside another, which begins anew; with a way past it, and a condition at its head. */
static void nested(enum type t)
{
    start();
    memset(want[0], 0, sizeof want[0]);
    for (unsigned k = 0; k < ROUNDS; k++)
        one(t, 0, want[0]);
    memcpy(want[1], want[0], sizeof want[1]);
    for (unsigned head = 0; head < 2; head++) {
        emit_head(t);
        EMIT("mov.u32 %%j, 0;\nOUTER:\n");
        emit_zero(t, 0);
        EMIT("mov.u32 %%i, 0;\nsetp.eq.u32 %%q, %%n, 0;\n@%%q bra DONE;\nLOOP:\n");
        if (head)
            EMIT("setp.ge.u32 %%p, %%i, %%n;\n@%%p bra DONE;\n");
        emit_mma(t, 0, 0, 0);
        EMIT("add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, %%n;\n%sbra LOOP;\nDONE:\n", head ? "" : "@%p ");
        emit_store(t, 0, 0);
        EMIT("add.u64 %%o, %%o, %u;\nadd.u32 %%j, %%j, 1;\nsetp.lt.u32 %%p, %%j, 2;\n@%%p bra OUTER;\n", 16 * LANES);
        emit_end();
        expect(t, head ? "a test at the loop's head" : "a loop in a loop", ROUNDS, head ? 4 * ROUNDS : 4);
    }
    memset(want, 0, sizeof want);
    expect(t, "no round at all", 0, 0);
}

/* What reads the sums inside the loop sees them. */
static void read_inside(enum type t)
{
    start();
    for (unsigned k = 0; k < 3; k++) {
        one(t, 1, want[k]);
        if (k < 2)
            memcpy(want[k + 1], want[k], sizeof want[0]);
    }
    emit_head(t);
    emit_load(t, 0);
    EMIT("mov.u32 %%i, 0;\nLOOP:\n");
    emit_mma(t, 0, 1, 0);
    emit_store(t, 0, 0);
    EMIT("add.u64 %%o, %%o, %u;\nadd.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, %%n;\n@%%p bra LOOP;\n", 16 * LANES);
    emit_end();
    expect(t, "a loop that stores its sums", 3, 6);
}

int main(void)
{
    static const uint32_t small_halves[] = {0, 0x3c00, 0xbc00, 0x4000, 0x3800};
    uint32_t seed = 7;
    for (enum type t = F32; t <= S32; t++) {
        for (unsigned k = 0; k < STEPS * LANES * 8; k++) {
            seed = seed * 1664525 + 1013904223;
            (&factors[0][0][0])[k] = t == S32 ? seed & 0x83838383
                                              : small_halves[(seed >> 16) % 5] | small_halves[(seed >> 24) % 5] << 16;
        }
        for (unsigned k = 0; k < LANES * 4; k++)
            (&first_sums[0][0])[k] = k % 4 >= types[t].sums ? 0
                                     : t == S32             ? k - 60
                                     : t == F16             ? 0x3c004000u + (k & 7) * 0x400
                                                            : 0x3f800000u + (k & 15) * 0x100000;
        in_a_row(t);
        round_a_loop(t);
        nested(t);
        read_inside(t);
    }
    return t0t_done();
}
