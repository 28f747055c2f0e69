/* The approximate functions: the largest error over a dense sample of floats, against long double
 * libm, must stay within what the ISA documents; special values are checked one by one. */
#include "../check.h"
#include "ptx/ir.h"
#include "ptx/tier0/handler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_BYTES = 512 };
static _Alignas(64) uint8_t regs[4 * ROW_BYTES];
static struct {
    struct t0_lanes lanes;
    uint8_t rest[4096];
} warp = {.lanes = {.regs = regs, .mask = ~0u}};
static t0_handler *table[3][LIR_NOPS];
static int nlevel;

static bool report(bool ok, const char *what, const char *fmt, double value, double bound)
{
    char text[200];
    (void)snprintf(text, sizeof text, fmt, value, bound);
    return check(ok, "%s: %s", what, text);
}

/* The op and aux of an instruction given as text. */
static struct lir_insn chosen(const char *text)
{
    char module[512];
    struct ptx_diag diag = {0};
    struct lir_insn insn = {0};
    snprintf(module, sizeof module,
             ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b16 %%h<4>;\n"
             ".reg .b32 %%r<4>;\n.reg .b64 %%d<4>;\n%s;\nret;\n}\n",
             text);
    struct ptx_module *m = ptx_module_open(module, strlen(module), &diag);
    if (!m || ptx_func_parse(&m->func[0], &diag) || !lir_select_alu(&m->func[0].instr[0], &insn)) {
        check(false, "%s: not selected (%s)", text, diag.msg);
        exit(1);
    }
    ptx_module_close(m);
    insn.d = 0;
    insn.a = ROW_BYTES;
    insn.b = 2 * ROW_BYTES;
    return insn;
}
/* Runs 32 lanes on every level; they must agree bit for bit. */
static bool run(const struct lir_insn *insn, unsigned bytes)
{
    uint8_t first[ROW_BYTES];
    for (int v = 0; v < nlevel; v++) {
        table[v][insn->op]((struct t0_warp *)(void *)&warp, insn);
        if (v == 0)
            memcpy(first, regs, sizeof first);
        else if (memcmp(first, regs, bytes))
            return false;
    }
    return true;
}

/* An f32 function: its reference, the measure of its error and the documented bound. */
static float from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static uint32_t to_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
static long double ulp_of(long double exact) /* of f32 */
{
    int e;
    frexpl(exact, &e);
    return ldexpl(1, e - 24 < -149 ? -149 : e - 24);
}
static long double in_ulp(long double got, long double exact) { return fabsl(got - exact) / ulp_of(exact); }
static long double relative(long double got, long double exact)
{
    return exact == 0 ? fabsl(got) : fabsl((got - exact) / exact);
}
static long double absolute(long double got, long double exact) { return fabsl(got - exact); }

static long double f_rcp(long double x) { return 1 / x; }
static long double f_rsqrt(long double x) { return 1 / sqrtl(x); }

static const struct function {
    const char *text;
    long double (*exact)(long double);
    float lo, hi; /* magnitudes sampled, both signs if `both` */
    bool both;
    long double (*error)(long double, long double);
    double bound; /* what PTX documents */
    bool ftz;
} functions[] = {
    {"rcp.approx.f32 %r0, %r1", f_rcp, 0x1p-126f, 0x1p126f, true, in_ulp, 1, false},
    {"rcp.approx.ftz.f32 %r0, %r1", f_rcp, 0x1p-126f, 0x1p126f, true, in_ulp, 1, true},
    {"sqrt.approx.f32 %r0, %r1", sqrtl, 0, 0x1.fffffep127f, false, relative, 0x1p-23, false},
    {"sqrt.approx.ftz.f32 %r0, %r1", sqrtl, 0x1p-126f, 0x1.fffffep127f, false, relative, 0x1p-23, true},
    {"rsqrt.approx.f32 %r0, %r1", f_rsqrt, 0x1p-149f, 0x1.fffffep127f, false, relative, 0x1.12p-23, false},
    {"rsqrt.approx.ftz.f32 %r0, %r1", f_rsqrt, 0x1p-126f, 0x1.fffffep127f, false, relative, 0x1.12p-23, true},
    {"ex2.approx.f32 %r0, %r1", exp2l, 0, 126, true, in_ulp, 2, false},
    {"ex2.approx.ftz.f32 %r0, %r1", exp2l, 0, 126, true, in_ulp, 2, true},
    {"ex2.approx.f32 %r0, %r1", exp2l, 0, 126, true, relative, 0x1.6ap-23, false}, /* 2^-22.5 */
    {"lg2.approx.f32 %r0, %r1", log2l, 0.5f, 2, false, absolute, 0x1.51p-23, false},
    {"lg2.approx.f32 %r0, %r1", log2l, 2, 0x1.fffffep127f, false, relative, 0x1.51p-23, false},
    {"lg2.approx.f32 %r0, %r1", log2l, 0x1p-149f, 0.5f, false, relative, 0x1.51p-23, false},
    {"lg2.approx.ftz.f32 %r0, %r1", log2l, 0x1p-126f, 0.5f, false, relative, 0x1.51p-23, true},
    {"sin.approx.f32 %r0, %r1", sinl, 0, 6.2831855f, true, absolute, 0x1.6ap-21, false},
    {"cos.approx.f32 %r0, %r1", cosl, 0, 6.2831855f, true, absolute, 0x1.6ap-21, false},
    {"sin.approx.ftz.f32 %r0, %r1", sinl, 0, 6.2831855f, true, absolute, 0x1.6ap-21, true},
    {"cos.approx.ftz.f32 %r0, %r1", cosl, 0, 6.2831855f, true, absolute, 0x1.6ap-21, true},
    /* to 100 pi 2^-14.7 is documented, beyond it nothing: ours is better */
    {"sin.approx.f32 %r0, %r1", sinl, 6.2831855f, 0x1p64f, true, absolute, 0x1p-20, false},
    {"cos.approx.f32 %r0, %r1", cosl, 6.2831855f, 0x1p64f, true, absolute, 0x1p-20, false},
    {"tanh.approx.f32 %r0, %r1", tanhl, 0, 0x1.fffffep127f, true, relative, 0x1p-11, false},
};
/* Bit patterns between samples; APPROX_STEP=1 in the environment takes every float there is. */
static uint32_t sample_step = 1021;

static void measure(const struct function *f)
{
    struct lir_insn insn = chosen(f->text);
    float *a = (float *)(void *)(regs + ROW_BYTES), *d = (float *)(void *)regs;
    long double worst = 0;
    unsigned n = 0;
    for (int sign = 0; sign <= f->both; sign++)
        for (uint32_t u = to_bits(f->lo); u <= to_bits(f->hi); u += sample_step) {
            a[n++] = from_bits(u | (uint32_t)sign << 31);
            if (n < LIR_LANES)
                continue;
            n = 0;
            if (!run(&insn, LIR_LANES * 4)) {
                report(false, f->text, "CPU levels differ near %.9g", (double)a[0], 0);
                return;
            }
            for (unsigned l = 0; l < LIR_LANES; l++) {
                long double exact = f->exact((long double)a[l]);
                if (f->ftz && fabsl(exact) < 0x1p-126L)
                    exact = 0;
                long double e = f->error((long double)d[l], exact);
                if (!(e <= worst)) /* catches NaN */
                    worst = e;
            }
        }
    report(worst <= (long double)f->bound, f->text,
           f->error == in_ulp ? "largest error %.4f ulp, bound %g" : "largest error %.4g, bound %.4g", (double)worst,
           f->bound);
}

static void div_approx(const char *text, bool full)
{
    struct lir_insn insn = chosen(text);
    float *d = (float *)(void *)regs, *a = (float *)(void *)(regs + ROW_BYTES),
          *b = (float *)(void *)(regs + 2 * ROW_BYTES);
    long double worst = 0;
    uint64_t state = 88172645463325252ull;
    for (unsigned k = 0; k < 20000; k++) {
        for (unsigned l = 0; l < LIR_LANES; l++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            a[l] = from_bits((uint32_t)(state & 0x807fffff) | (uint32_t)(64 + (state >> 32) % 128) << 23);
            b[l] = from_bits((uint32_t)(state >> 24 & 0x807fffff) | (uint32_t)(90 + (state >> 50) % 70) << 23);
        }
        if (!run(&insn, LIR_LANES * 4)) {
            report(false, text, "CPU levels differ", 0, 0);
            return;
        }
        for (unsigned l = 0; l < LIR_LANES; l++) {
            long double e = in_ulp((long double)d[l], (long double)a[l] / (long double)b[l]);
            worst = e <= worst ? worst : e;
        }
    }
    report(worst <= 2, text, full ? "largest error %.4f ulp, bound %g" : "largest error %.4f ulp, bound %g",
           (double)worst, 2);
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: 2^-20 relative, lower word zero */
static void coarse_f64(const char *text, bool root)
{
    struct lir_insn insn = chosen(text);
    double *d = (double *)(void *)regs, *a = (double *)(void *)(regs + ROW_BYTES);
    const bool ftz = strstr(text, "ftz");
    double worst = 0;
    bool low_zero = true;
    uint64_t state = 88172645463325252ull;
    for (unsigned k = 0; k < 5000; k++) {
        for (unsigned l = 0; l < LIR_LANES; l++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            uint64_t u = (state & 0xfffffffffffffull) | (uint64_t)(100 + (state >> 52) % 1800) << 52;
            memcpy(&a[l], &u, 8);
        }
        if (!run(&insn, LIR_LANES * 8)) {
            report(false, text, "CPU levels differ", 0, 0);
            return;
        }
        for (unsigned l = 0; l < LIR_LANES; l++) {
            uint64_t u;
            double in = a[l];
            memcpy(&u, &d[l], 8);
            low_zero &= (uint32_t)u == 0;
            memcpy(&u, &in, 8);
            u &= ftz ? 0xffffffff00000000ull : ~0ull; /* the lower word is not looked at */
            memcpy(&in, &u, 8);
            double exact = root ? 1 / sqrt(in) : 1 / in, e = fabs(d[l] / exact - 1);
            worst = e <= worst ? worst : e;
        }
    }
    report(worst <= (ftz ? 0x1p-20 : 0x1p-51) && (low_zero || !ftz), text, "largest error %.4g, bound %.4g", worst,
           ftz ? 0x1p-20 : 0x1p-51);
}

/* Exact special cases: instruction, input bits, result bits. */
static const struct {
    const char *text;
    uint32_t in, out;
} specials[] = {
    {"rcp.approx.f32 %r0, %r1", 0x80000000, 0xff800000},
    {"rcp.approx.f32 %r0, %r1", 0x7f800000, 0},
    {"rcp.approx.f32 %r0, %r1", 0x7fc00001, 0x7fffffff},
    {"rcp.approx.ftz.f32 %r0, %r1", 0x807fffff, 0xff800000}, /* a subnormal counts as zero */
    {"rcp.approx.ftz.f32 %r0, %r1", 0x7e800001, 0},          /* and a subnormal result is one */
    {"sqrt.approx.f32 %r0, %r1", 0x80000000, 0x80000000},
    {"sqrt.approx.f32 %r0, %r1", 0xbf800000, 0x7fffffff},
    {"sqrt.approx.f32 %r0, %r1", 0x7f800000, 0x7f800000},
    {"sqrt.approx.ftz.f32 %r0, %r1", 1, 0},
    {"rsqrt.approx.f32 %r0, %r1", 0, 0x7f800000},
    {"rsqrt.approx.f32 %r0, %r1", 0x80000000, 0xff800000},
    {"rsqrt.approx.f32 %r0, %r1", 0xbf800000, 0x7fffffff},
    {"rsqrt.approx.f32 %r0, %r1", 0x7f800000, 0},
    {"rsqrt.approx.ftz.f32 %r0, %r1", 0x80000001, 0xff800000},
    {"ex2.approx.f32 %r0, %r1", 0xff800000, 0},
    {"ex2.approx.f32 %r0, %r1", 0x7f800000, 0x7f800000},
    {"ex2.approx.f32 %r0, %r1", 0x80000000, 0x3f800000},
    {"ex2.approx.f32 %r0, %r1", 0x43000000, 0x7f800000},
    {"ex2.approx.f32 %r0, %r1", 0xc3150000, 1},
    {"ex2.approx.ftz.f32 %r0, %r1", 0xc3000000, 0},
    {"ex2.approx.f32 %r0, %r1", 0x41200000, 0x44800000},
    {"ex2.approx.f32 %r0, %r1", 0xffc00000, 0x7fffffff},
    {"lg2.approx.f32 %r0, %r1", 0, 0xff800000},
    {"lg2.approx.f32 %r0, %r1", 0x80000000, 0xff800000},
    {"lg2.approx.f32 %r0, %r1", 0xbf800000, 0x7fffffff},
    {"lg2.approx.f32 %r0, %r1", 0x7f800000, 0x7f800000},
    {"lg2.approx.f32 %r0, %r1", 0x3f800000, 0},
    {"lg2.approx.f32 %r0, %r1", 0x44800000, 0x41200000},
    {"lg2.approx.ftz.f32 %r0, %r1", 0x007fffff, 0xff800000},
    {"lg2.approx.f32 %r0, %r1", 1, 0xc3150000},
    {"sin.approx.f32 %r0, %r1", 0x80000000, 0x80000000},
    {"sin.approx.f32 %r0, %r1", 0x7f800000, 0x7fffffff},
    {"sin.approx.ftz.f32 %r0, %r1", 0x80000001, 0x80000000},
    {"cos.approx.f32 %r0, %r1", 0x80000000, 0x3f800000},
    {"cos.approx.f32 %r0, %r1", 0xff800000, 0x7fffffff},
    {"tanh.approx.f32 %r0, %r1", 0x7f800000, 0x3f800000},
    {"tanh.approx.f32 %r0, %r1", 0xff800000, 0xbf800000},
    {"tanh.approx.f32 %r0, %r1", 0x80000000, 0x80000000},
    {"tanh.approx.f32 %r0, %r1", 0x7fc00000, 0x7fffffff},
    {"tanh.approx.f32 %r0, %r1", 1, 1},
};

/* Every f16 or bf16 value; bounds as documented for the type. */
static float half_value(uint32_t h, bool bf16)
{
    if (bf16)
        return from_bits(h << 16);
    int e = (int)(h >> 10 & 31);
    float m = (float)(h & 0x3ff);
    float v = e == 31 ? (m != 0 ? NAN : INFINITY) : e == 0 ? m * 0x1p-24f : ldexpf(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}
static void half(const char *text, long double (*fn)(long double), bool bf16,
                 long double (*error)(long double, long double), double bound)
{
    struct lir_insn insn = chosen(text);
    uint32_t *d = (uint32_t *)(void *)regs, *a = (uint32_t *)(void *)(regs + ROW_BYTES);
    const bool pair = strstr(text, "16x2"), flush = strstr(text, "ftz");
    const long double least = bf16 ? 0x1p-126L : 0x1p-14L, step = bf16 ? 0x1p-133L : 0x1p-24L,
                      most = bf16 ? 0x1.ffp127L : 65520;
    long double worst = 0;
    bool nans = true;
    for (uint32_t h = 0; h < 0x10000; h += LIR_LANES) {
        for (uint32_t l = 0; l < LIR_LANES; l++)
            a[l] = pair ? (h + l) << 16 | (h + l) : h + l;
        if (!run(&insn, LIR_LANES * 4)) {
            report(false, text, "CPU levels differ", 0, 0);
            return;
        }
        for (uint32_t l = 0; l < LIR_LANES; l++) {
            if (pair && d[l] >> 16 != (d[l] & 0xffff))
                worst = INFINITY;
            float in = half_value(h + l, bf16), got = half_value(d[l] & 0xffff, bf16);
            long double exact = fn((long double)in);
            if (in != in) {
                nans &= (d[l] & 0xffff) == 0x7fff;
            } else if (fabsl(exact) >= most) {
                nans &= isinf(got) != 0;
            } else {
                long double slack = flush ? least : step; /* subnormals have fewer digits */
                long double e = fabsl((long double)got - exact) <= slack && fabsl(exact) < least
                                    ? 0
                                    : error((long double)got, exact);
                worst = e <= worst ? worst : e;
            }
        }
    }
    report(worst <= (long double)bound && nans, text, "largest error %.4g, bound %.4g", (double)worst, bound);
}

int main(void)
{
    const char *step = getenv("APPROX_STEP");
    if (step && atoi(step) > 0)
        sample_step = (uint32_t)atoi(step);
    printf("# every %u. bit pattern\n", sample_step);
    for (int level = 1; level <= t0_alu_level(); level++)
        if (level != 2)
            t0_alu_handlers_level(table[nlevel++], level);
    for (unsigned n = 0; n < sizeof functions / sizeof functions[0]; n++)
        measure(&functions[n]);
    div_approx("div.approx.f32 %r0, %r1, %r2", false);
    div_approx("div.approx.ftz.f32 %r0, %r1, %r2", false);
    div_approx("div.full.f32 %r0, %r1, %r2", true);
    coarse_f64("rcp.approx.ftz.f64 %d0, %d1", false);
    coarse_f64("rsqrt.approx.ftz.f64 %d0, %d1", true);
    coarse_f64("rsqrt.approx.f64 %d0, %d1", true);
    for (unsigned n = 0; n < sizeof specials / sizeof specials[0]; n++) {
        struct lir_insn insn = chosen(specials[n].text);
        uint32_t *d = (uint32_t *)(void *)regs, *a = (uint32_t *)(void *)(regs + ROW_BYTES);
        for (unsigned l = 0; l < LIR_LANES; l++)
            a[l] = specials[n].in;
        bool ok = run(&insn, LIR_LANES * 4) && d[0] == specials[n].out && d[31] == specials[n].out;
        check(ok, "%s of %#x is %#x", specials[n].text, specials[n].in, d[0]);
    }
    half("ex2.approx.f16 %h0, %h1", exp2l, false, relative, 0x1.13p-10);
    half("ex2.approx.f16x2 %r0, %r1", exp2l, false, relative, 0x1.13p-10);
    half("ex2.approx.ftz.bf16 %h0, %h1", exp2l, true, relative, 0x1p-7);
    half("ex2.approx.ftz.bf16x2 %r0, %r1", exp2l, true, relative, 0x1p-7);
    half("tanh.approx.f16 %h0, %h1", tanhl, false, absolute, 0x1.02p-11);
    half("tanh.approx.f16x2 %r0, %r1", tanhl, false, absolute, 0x1.02p-11);
    half("tanh.approx.bf16 %h0, %h1", tanhl, true, absolute, 0x1p-8);
    half("tanh.approx.bf16x2 %r0, %r1", tanhl, true, absolute, 0x1p-8);
    return check_end("approximations");
}
