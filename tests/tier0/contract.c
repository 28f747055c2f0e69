/* Products and sums that become one fma and those that do not (ptx/front/contract.c), for each type, on drawn numbers,
 * beside plain C: a case says what is rounded once. SEED=n draws other numbers. */
#include "tier0/harness.h"

#include <math.h>

enum { LANES = 32, IN = 4 };

static const struct type {
    const char *name, *bits;
    unsigned precision, bytes, halves; /* halves: values of a register */
    int least;                         /* exponent of the smallest number there is */
} types[] = {{"f32", "b32", 24, 4, 1, -149}, {"f64", "b64", 53, 8, 1, -1074}, {"f16", "b16", 11, 2, 1, -24},
             {"bf16", "b16", 8, 2, 1, -133}, {"f16x2", "b32", 11, 4, 2, -24}, {"bf16x2", "b32", 8, 4, 2, -133}};

/* In a case's text $ is a dot and the type, # a dot and its bits, ~ the same as $ behind .ftz; %a to %d have numbers,
 * %s goes out. Of %q and %t programs do with as they like. */
static const struct {
    const char *what, *text;
    enum {
        ONCE,
        ONCE_LESS,
        LESS_ONCE,
        TWICE,
        TWICE_LESS,
        LESS_TWICE,
        TWO_LESS,
        TWO_MORE,
        GUARD,
        GUARD_LESS,
        BOTH,
        CHAIN,
        HALF,
        HALF_LESS,
        SAT,
        SAT_ONCE
    } want;
    enum { ALL, FLUSHED, F32 } only; /* types */
} cases[] = {
    {"a product and a sum", "mul$ %p, %a, %b; add$ %s, %p, %c;", ONCE, ALL},
    {"a sum with its product behind", "mul$ %p, %a, %b; add$ %s, %c, %p;", ONCE, ALL},
    {"a product less something", "mul$ %p, %a, %b; sub$ %s, %p, %c;", ONCE_LESS, ALL},
    {"something less a product", "mul$ %p, %a, %b; sub$ %s, %c, %p;", LESS_ONCE, ALL},
    {"a product whose rounding is told", "mul.rn$ %p, %a, %b; add$ %s, %p, %c;", TWICE, ALL},
    {"a sum whose rounding is told", "mul$ %p, %a, %b; add.rn$ %s, %p, %c;", TWICE, ALL},
    {"a difference whose rounding is told", "mul$ %p, %a, %b; sub.rn$ %s, %c, %p;", LESS_TWICE, ALL},
    {"a product that two sums take", "mul$ %p, %a, %b; add$ %s, %p, %c; sub$ %t, %p, %d;", TWICE, ALL},
    {"a product that goes out", "mul$ %p, %a, %b; sub$ %s, %p, %c; mov# %t, %p;", TWICE_LESS, ALL},
    {"a sum of a product and itself", "mul$ %p, %a, %b; add$ %t, %p, %p; mul$ %q, %a, %b; sub.rn$ %s, %q, %c;",
     TWICE_LESS, ALL},
    {"two products, one less the other", "mul$ %p, %a, %b; mul$ %q, %c, %d; sub$ %s, %p, %q;", TWO_LESS, ALL},
    {"two products and their sum", "mul$ %q, %c, %d; mul$ %p, %a, %b; add$ %s, %p, %q;", TWO_MORE, ALL},
    {"a factor that changes in between", "mul$ %p, %a, %b; mov# %a, %d; add$ %s, %p, %c;", TWICE, ALL},
    {"a label in between", "mul$ %p, %a, %b; L: add$ %s, %p, %c; @%never bra L;", TWICE, ALL},
    {"a label behind", "mul$ %p, %a, %b; add$ %s, %p, %c; L: @%never bra L;", ONCE, ALL},
    {"a label in front", "L: mul$ %p, %a, %b; sub$ %s, %c, %p; @%never bra L;", LESS_ONCE, ALL},
    {"labels around several",
     "@%never bra L; mul$ %q, %c, %d; sub$ %t, %q, %a; bra M; L: mov# %t, %d; M: mul$ %p, %a, %b; "
     "sub$ %s, %p, %c; @%never bra L;",
     ONCE_LESS, ALL},
    {"a branch in between", "mul$ %p, %a, %b; @%never bra L; sub$ %s, %p, %c; L:", ONCE_LESS, ALL},
    {"a product of two ways", "mul$ %p, %a, %b; @%never mov# %p, %d; sub$ %s, %p, %c;", TWICE_LESS, ALL},
    {"a sum under a guard", "mov# %s, %d; mul$ %p, %a, %b; @%odd add$ %s, %p, %c;", GUARD, ALL},
    {"a difference under a guard", "mov# %s, %d; mul$ %p, %b, %a; @%odd sub$ %s, %p, %c;", GUARD_LESS, ALL},
    {"a product under a guard", "mov# %p, %d; @%always mul$ %p, %a, %b; add$ %s, %p, %c;", TWICE, ALL},
    {"flushed, both", "mul~ %p, %a, %b; sub~ %s, %c, %p;", LESS_ONCE, FLUSHED},
    {"flushed, the product only", "mul~ %p, %a, %b; sub$ %s, %c, %p;", LESS_TWICE, FLUSHED},
    {"flushed, the sum only", "mul$ %p, %a, %b; sub~ %s, %p, %c;", TWICE_LESS, FLUSHED},
    {"a product that is saturated", "mul.sat$ %p, %a, %b; add$ %s, %p, %c;", SAT, FLUSHED},
    {"a sum that is saturated", "mul$ %p, %a, %b; add.sat$ %s, %p, %c;", SAT_ONCE, FLUSHED},
    {"a product of a product", "mul$ %q, %a, %b; mul$ %p, %q, %c; add$ %s, %p, %d;", CHAIN, ALL},
    {"two sums of products in a row", "mul$ %p, %a, %b; sub$ %q, %p, %c; mul$ %t, %d, %a; add$ %s, %t, %q;", BOTH, ALL},
    {"half a number less something", "mul$ %p, 0f3F000000, %a; sub$ %s, %c, %p;", HALF, F32},
    {"half a number less something, behind", "mul$ %p, %a, 0f3F000000; sub$ %s, %c, %p;", HALF, F32},
    {"a product less a number", "mul$ %p, %a, %b; sub$ %s, %p, 0f3F000000;", HALF_LESS, F32},
};

static uint32_t state = 1;
static uint32_t draw(uint32_t n)
{
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state % n;
}

/* To the nearest even of the type; x has to be exact. */
static double rounded(const struct type *t, double x)
{
    int e;
    if (x == 0 || t->precision == 53)
        return x;
    frexp(x, &e);
    e = e - (int)t->precision > t->least ? e - (int)t->precision : t->least;
    return ldexp(nearbyint(ldexp(x, -e)), e);
}

static double mul(const struct type *t, double a, double b) { return rounded(t, a * b); }
static double add(const struct type *t, double a, double b)
{
    return t->precision == 24 ? (double)((float)a + (float)b) : rounded(t, a + b);
}
static double fma_of(const struct type *t, double a, double b, double c)
{
    return t->precision == 53   ? fma(a, b, c)
           : t->precision == 24 ? (double)fmaf((float)a, (float)b, (float)c)
                                : rounded(t, a * b + c);
}

static double saturated(double x) { return x > 0 ? x < 1 ? x : 1 : 0; }

static double wanted(const struct type *t, int want, const double *v, bool odd)
{
    const double a = v[0], b = v[1], c = v[2], d = v[3];
    switch (want) {
    case ONCE: return fma_of(t, a, b, c);
    case ONCE_LESS: return fma_of(t, a, b, -c);
    case LESS_ONCE: return fma_of(t, -a, b, c);
    case TWICE: return add(t, mul(t, a, b), c);
    case TWICE_LESS: return add(t, mul(t, a, b), -c);
    case LESS_TWICE: return add(t, c, -mul(t, a, b));
    case TWO_LESS: return fma_of(t, a, b, -mul(t, c, d));
    case TWO_MORE: return fma_of(t, a, b, mul(t, c, d));
    case GUARD: return odd ? fma_of(t, a, b, c) : d;
    case GUARD_LESS: return odd ? fma_of(t, a, b, -c) : d;
    case BOTH: return fma_of(t, d, a, fma_of(t, a, b, -c));
    case CHAIN: return fma_of(t, mul(t, a, b), c, d);
    case HALF: return fma_of(t, -0.5, a, c);
    case SAT: return add(t, saturated(mul(t, a, b)), c);
    case SAT_ONCE: return saturated(fma_of(t, a, b, c));
    default: return fma_of(t, a, b, -0.5);
    }
}

/* Bits of a number of the type, and back. */
static uint64_t encoded(const struct type *t, double x)
{
    const float f = (float)x;
    uint64_t u = 0;
    if (t->precision == 53)
        return memcpy(&u, &x, 8), u;
    if (t->precision != 11)
        return memcpy(&u, &f, 4), t->precision == 8 ? u >> 16 : u;
    const uint64_t sign = signbit(x) ? 0x8000 : 0;
    int e;
    x = fabs(x);
    if (x < 0x1p-14)
        return sign | (uint64_t)ldexp(x, 24);
    const double m = frexp(x, &e);
    return sign | ((uint64_t)(e + 14) << 10 | ((uint64_t)ldexp(m, 11) & 0x3ff));
}

/* Near 1, where the double that C computes with is exact for all but f32 and f64. */
static double draw_number(const struct type *t)
{
    const double x = ldexp(1 + (double)draw(1u << 30) / (1u << 30), (int)draw(4) - 2);
    return (draw(2) ? x : -x) * (t->precision == 53 ? 1 + 0x1p-30 * draw(1u << 22) * 0x1p-22 : 1);
}

static size_t write_text(char *to, size_t room, const struct type *t, const char *from)
{
    size_t n = 0;
    for (; *from; from++) {
        const bool type = *from == '$' || *from == '~';
        n += (size_t)(type           ? snprintf(to + n, room - n, "%s.%s", *from == '~' ? ".ftz" : "", t->name)
                      : *from == '#' ? snprintf(to + n, room - n, ".%s", t->bits)
                                     : snprintf(to + n, room - n, "%c", *from));
    }
    return n;
}

static void run_case(const struct type *t, unsigned number)
{
    static char text[4096];
    static unsigned char in[IN][LANES * 8], got[LANES * 8];
    static double v[LANES][2][IN];
    struct {
        void *in, *out;
    } args = {in, got};
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned k = 0; k < IN; k++) {
            uint64_t u = 0;
            for (unsigned h = 0; h < t->halves; h++) {
                v[l][h][k] = t->precision == 24 ? (float)draw_number(t) : rounded(t, draw_number(t));
                u |= encoded(t, v[l][h][k]) << 16 * h;
            }
            memcpy(in[k] + l * t->bytes, &u, t->bytes);
        }
    size_t n = (size_t)snprintf(
        text, sizeof text,
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 from, .param "
        ".u64 to)\n{\n.reg .pred %%odd, %%never, %%always; .reg .b32 %%r<3>; .reg .b64 %%rd<4>; "
        ".reg .%s %%a, %%b, %%c, %%d, %%p, %%q, %%s, %%t;\nld.param.u64 %%rd0, [from]; "
        "ld.param.u64 %%rd1, [to]; mov.u32 %%r0, %%tid.x; mul.wide.u32 %%rd2, %%r0, %u; "
        "add.u64 %%rd0, %%rd0, %%rd2; add.u64 %%rd1, %%rd1, %%rd2;\nand.b32 %%r1, %%r0, 1; "
        "setp.ne.u32 %%odd, %%r1, 0; setp.gt.u32 %%never, %%r0, 99; setp.lt.u32 %%always, %%r0, 99;\n",
        t->bits, t->bytes);
    for (unsigned k = 0; k < IN; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "ld.global.%s %%%c, [%%rd0+%u];\n", t->bits, 'a' + (int)k,
                              k * LANES * 8);
    n += write_text(text + n, sizeof text - n, t, cases[number].text);
    n += (size_t)snprintf(text + n, sizeof text - n, "\nst.global.%s [%%rd1], %%s;\nret;\n}\n", t->bits);
    memset(got, 0xee, sizeof got);
    const bool ran = t0t_once(text, "k", 1, LANES, &args, NULL);
    unsigned bad = 0;
    for (unsigned l = 0; l < LANES; l++) {
        uint64_t u = 0, want = 0;
        memcpy(&u, got + l * t->bytes, t->bytes);
        for (unsigned h = 0; h < t->halves; h++)
            want |= encoded(t, wanted(t, cases[number].want, v[l][h], l & 1)) << 16 * h;
        bad += u != want;
    }
    check(ran && !bad, "%s: %s (%u lanes wrong)%s%s", t->name, cases[number].what, bad, bad ? "\n" : "",
          bad ? text : "");
}

int main(void)
{
    const char *seed = getenv("SEED");
    state = seed ? (uint32_t)strtoul(seed, NULL, 10) * 2654435761u + 1 : 1;
    for (unsigned k = 0; k < sizeof types / sizeof *types; k++)
        for (unsigned n = 0; n < sizeof cases / sizeof *cases; n++)
            if (cases[n].only == ALL || k == 0 || (cases[n].only == FLUSHED && (k == 2 || k == 4)))
                run_case(&types[k], n);
    return t0t_done();
}
