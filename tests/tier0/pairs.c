/* Matrix products in drawn order, of few factors and sums, so that many have an A or the sums of the one before: equal
 * bits to the same products one at a time, which a predicate that holds makes of them. */
#include "tier0/harness.h"

enum { LANES = 32, A = 2, B = 4, SUMS = 5, PRODUCTS = 40 };
static const struct {
    const char *mma, *reg;
    unsigned a, b; /* registers of them */
} types[] = {
    {"m16n8k8.row.col.f32.tf32.tf32.f32", "f32", 4, 2},
    {"m16n8k16.row.col.f32.f16.f16.f32", "f32", 4, 2},
    {"m16n8k16.row.col.s32.s8.u8.s32", "b32", 2, 1},
};
enum { TYPES = sizeof types / sizeof *types };

static uint32_t factors[LANES][4 * (A + B)], begin[LANES][4 * SUMS], got[2][LANES][4 * SUMS];
static char text[1 << 14];
static size_t at;
#define EMIT(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))

static uint64_t seed = 3;
static uint32_t any(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void list(char which, unsigned first, unsigned n, const char *behind)
{
    for (unsigned k = 0; k < n; k++)
        EMIT("%s%%%c%u", k ? ", " : "{", which, first + k);
    EMIT("}%s", behind);
}

struct product {
    unsigned a, b, sum;
};

/* Twice round a loop, so that sums come from the round before, too. */
static void emit(unsigned t, const struct product *p, const char *guard)
{
    at = 0;
    EMIT(".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 pf, .param .u64 pc, .param .u64 po)\n{\n"
         ".reg .b32 %%f<%u>, %%t, %%i;\n.reg .%s %%s<%u>;\n.reg .b64 %%p, %%c, %%o, %%w;\n.reg .pred %%q, %%l;\n"
         "ld.param.u64 %%p, [pf];\nld.param.u64 %%c, [pc];\nld.param.u64 %%o, [po];\nmov.u32 %%t, %%tid.x;\n"
         "mul.wide.u32 %%w, %%t, %u;\nadd.u64 %%p, %%p, %%w;\nmul.wide.u32 %%w, %%t, %u;\nadd.u64 %%c, %%c, %%w;\n"
         "add.u64 %%o, %%o, %%w;\nsetp.ne.u64 %%q, %%p, 0;\n",
         4 * (A + B), types[t].reg, 4 * SUMS, 16 * (A + B), 16 * SUMS);
    for (unsigned k = 0; k < 4 * (A + B); k++)
        EMIT("ld.global.b32 %%f%u, [%%p+%u];\n", k, 4 * k);
    for (unsigned k = 0; k < 4 * SUMS; k++)
        EMIT("ld.global.%s %%s%u, [%%c+%u];\n", types[t].reg, k, 4 * k);
    EMIT("mov.u32 %%i, 0;\nLOOP:\n");
    for (unsigned k = 0; k < PRODUCTS; k++) {
        EMIT("%smma.sync.aligned.%s ", guard, types[t].mma);
        list('s', 4 * p[k].sum, 4, ", ");
        list('f', 4 * p[k].a, types[t].a, ", ");
        list('f', 4 * (A + p[k].b), types[t].b, ", ");
        list('s', 4 * p[k].sum, 4, ";\n");
    }
    EMIT("add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%l, %%i, 2;\n@%%l bra LOOP;\n");
    for (unsigned k = 0; k < 4 * SUMS; k++)
        EMIT("st.global.%s [%%o+%u], %%s%u;\n", types[t].reg, 4 * k, k);
    EMIT("ret;\n}\n");
}

static bool launch(uint32_t (*to)[4 * SUMS])
{
    struct {
        void *f, *c, *o;
    } params = {factors, begin, to};
    return t0t_once(text, "k", 1, LANES, &params, NULL) || check(false, "products run");
}

int main(void)
{
    struct product p[PRODUCTS];
    for (unsigned t = 0; t < TYPES; t++) {
        uint32_t *const f = &factors[0][0], *const c = &begin[0][0];
        for (unsigned k = 0; k < sizeof factors / sizeof *f; k++) /* halves, bytes, and floats of 2^-4 to 2 */
            f[k] = t == 0   ? (123 + any(5)) << 23 | any(1 << 23) | any(2) << 31
                   : t == 1 ? 0x2c002c00u + (any(0x1400) | any(0x1400) << 16)
                            : any(1u << 31) * 2;
        for (unsigned k = 0; k < sizeof begin / sizeof *c; k++)
            c[k] = t == 2 ? any(1000) : 0x3f800000u + any(1 << 23);
        for (unsigned k = 0; k < PRODUCTS; k++)
            p[k] = (struct product){k && any(3) ? p[k - 1].a : any(A), any(B), any(SUMS)};
        emit(t, p, "@%q ");
        bool both = launch(got[0]);
        emit(t, p, "");
        both = launch(got[1]) && both;
        check(both && !memcmp(got[0], got[1], sizeof got[0]), "drawn products of %s", types[t].mma);
        check(memcmp(got[0], begin, sizeof begin) != 0, "products of %s add", types[t].mma);
    }
    return t0t_done();
}
