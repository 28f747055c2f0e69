/* f32 and f64 arithmetic in every rounding mode with .ftz and .sat, min, max and signs, against
 * exact arithmetic; round to nearest also against the compiler's own operators. */
#include "exact.h"

#include <stdio.h>
#include <string.h>

/* p: rounding mode; q: bit 0 ftz, 1 sat, 2 f64 */
static const struct format *format(const struct lane *x) { return x->q & 4 ? &F64 : &F32; }
static u64 in(const struct lane *x, unsigned n) { return x->q & 1 ? flush(format(x), x->s[n]) : x->s[n]; }
/* f32 with more exponents than it has: .ftz flushes what is below 2^-126 there, even where f32 itself would round it
 * up to that. ptxas folds constants so. */
static const struct format WIDE = {23, 10, 0x1ffffffff, false};
static u64 wide(u64 a) { return exact_cvt(&WIDE, &F32, a, RN); }
static u64 flush_tiny(const struct lane *x, u64 r, u64 in_wide)
{
    const u64 size = in_wide & 0x1ffffffff;
    return (x->q & 5) == 1 && size < wide(0x00800000) ? r & 0x80000000 : r;
}
static void out(struct lane *x, u64 r)
{
    if (x->q & 1)
        r = flush(format(x), r);
    x->d[0] = x->q & 2 ? saturate01(format(x), r) : r;
}
#define MODE(x) ((enum mode)(x)->p)
static void r_add(struct lane *x) { out(x, exact_add(format(x), in(x, 0), in(x, 1), MODE(x))); }
static void r_sub(struct lane *x)
{
    u64 b = in(x, 1);
    out(x, exact_add(format(x), in(x, 0), is_nan(format(x), b) ? b : negated(format(x), b), MODE(x)));
}
static void r_mul(struct lane *x)
{
    const u64 a = in(x, 0), b = in(x, 1);
    out(x, flush_tiny(x, exact_mul(format(x), a, b, MODE(x)), exact_mul(&WIDE, wide(a), wide(b), MODE(x))));
}
static void r_div(struct lane *x)
{
    const u64 a = in(x, 0), b = in(x, 1);
    out(x, flush_tiny(x, exact_div(format(x), a, b, MODE(x)), exact_div(&WIDE, wide(a), wide(b), MODE(x))));
}
static void r_div_approx(struct lane *x) /* beyond 2^126 the reciprocal is 0 */
{
    const u64 size = x->s[1] & 0x7fffffff;
    if (size > 0x7e800000 && size < 0x7f800000)
        x->s[1] = (x->s[1] & 0x80000000) | 0x7f800000;
    r_div(x);
}
static void r_fma(struct lane *x)
{
    const u64 a = in(x, 0), b = in(x, 1), c = in(x, 2);
    out(x, flush_tiny(x, exact_fma(format(x), a, b, c, MODE(x)), exact_fma(&WIDE, wide(a), wide(b), wide(c), MODE(x))));
}
static void r_sqrt(struct lane *x) { out(x, exact_sqrt(format(x), in(x, 0), MODE(x))); }
static void r_rcp(struct lane *x) /* with .ftz what is too small is flushed before it is rounded */
{
    const u64 size = x->s[0] & 0x7fffffff;
    if ((x->q & 5) == 1 && size > 0x7e800000 && size < 0x7f800000)
        x->s[0] = (x->s[0] & 0x80000000) | 0x7f800000;
    out(x, exact_div(format(x), x->q & 4 ? f64_u(1) : f32_u(1), in(x, 0), MODE(x)));
}

/* the compiler's operators, to nearest */
static void n_f32(struct lane *x)
{
    float a = bits_f32(x->s[0]), b = bits_f32(x->s[1]);
    float r = x->p == 0 ? a + b : x->p == 1 ? a - b : x->p == 2 ? a * b : a / b;
    x->d[0] = r == r ? f32_u(r) : NAN_F32;
}
static void n_f64(struct lane *x)
{
    double a = bits_f64(x->s[0]), b = bits_f64(x->s[1]);
    x->d[0] = f64_u(x->p == 0 ? a + b : x->p == 1 ? a - b : x->p == 2 ? a * b : a / b);
}

/* signs; q: bit 0 ftz, 2 f64 */
static u64 top_bit(const struct lane *x) { return x->q & 4 ? 1ull << 63 : 1ull << 31; }
static void sign_out(struct lane *x, u64 r) { x->d[0] = x->q & 1 ? flush(format(x), r) : r; }
static void r_neg(struct lane *x) { sign_out(x, x->s[0] ^ top_bit(x)); }
static void r_abs(struct lane *x) { sign_out(x, x->s[0] & ~top_bit(x)); }
static void r_copysign(struct lane *x) { x->d[0] = (x->s[0] & top_bit(x)) | (x->s[1] & ~top_bit(x)); }

/* min and max; p: bit 0 max, 1 NaN, 2 xorsign.abs; q as above. Numbers order as sign-magnitude. */
static s64 order(const struct lane *x, u64 v)
{
    s64 mag = (s64)(v & ~top_bit(x));
    return v & top_bit(x) ? -mag - 1 : mag;
}
static void r_minmax(struct lane *x)
{
    u64 a = in(x, 0), b = in(x, 1), sign = (a ^ b) & top_bit(x);
    bool anan = is_nan(format(x), a), bnan = is_nan(format(x), b);
    if (x->p & 4) {
        a &= ~top_bit(x);
        b &= ~top_bit(x);
    }
    u64 r = (order(x, a) < order(x, b)) != (x->p & 1) ? a : b;
    if ((anan && bnan) || ((x->p & 2) && (anan || bnan))) {
        x->d[0] = format(x)->nan;
        return;
    }
    r = anan ? b : bnan ? a : r;
    x->d[0] = x->p & 4 ? (r & ~top_bit(x)) | sign : r;
}

int main(void)
{
    static const struct {
        const char *name, *sig32, *sig64;
        insn_ref *ref;
        bool sat;
    } ops[] = {{"add", "f:ff", "F:FF", r_add, true},   {"sub", "f:ff", "F:FF", r_sub, true},
               {"mul", "f:ff", "F:FF", r_mul, true},   {"div", "f:ff", "F:FF", r_div, false},
               {"fma", "f:fff", "F:FFF", r_fma, true}, {"mad", "f:fff", "F:FFF", r_fma, true},
               {"rcp", "f:f", "F:F", r_rcp, false},    {"sqrt", "f:f", "F:F", r_sqrt, false}};
    static const char *const mode[] = {".rn", ".rz", ".rm", ".rp"};
    for (unsigned n = 0; n < sizeof ops / sizeof ops[0]; n++) {
        for (long m = 0; m < 4; m++) {
            for (long q = 0; q < (ops[n].sat ? 4 : 2); q++)
                insn_check(ops[n].sig32, ops[n].ref, m, q, "%s%s%s%s.f32", ops[n].name, mode[m], q & 1 ? ".ftz" : "",
                           q & 2 ? ".sat" : "");
            insn_check(ops[n].sig64, ops[n].ref, m, 4, "%s%s.f64", ops[n].name, mode[m]);
        }
    }
    for (long m = 0; m < 4; m++) /* ptxas takes it, and makes the same code of it */
        insn_check("F:F", r_rcp, m, 4, "rcp%s.ftz.f64", mode[m]);
    for (unsigned n = 0; n < 3; n++)
        for (long q = 1; q < 4; q++) /* nearest is what they do without a mode */
            insn_check(ops[n].sig32, ops[n].ref, 0, q, "%s%s%s.f32", ops[n].name, q & 1 ? ".ftz" : "",
                       q & 2 ? ".sat" : "");
    for (long k = 0; k < 4; k++) { /* the forms without a mode, and div.full */
        static const char *const name[] = {"add", "sub", "mul", "div.full"};
        insn_check("f:ff", n_f32, k, 0, "%s.f32", name[k]);
        if (k == 3)
            insn_check("f:ff", r_div, 0, 1, "div.full.ftz.f32");
        else
            insn_check("F:FF", n_f64, k, 0, "%s.f64", name[k]);
    }
    for (long q = 0; q < 2; q++)
        insn_check("f:ff", r_div_approx, 0, q, "div.approx%s.f32", q ? ".ftz" : "");
    static const char *const minmax[] = {"min", "max"};
    for (long p = 0; p < 8; p++)
        for (long q = 0; q < 2; q++)
            insn_check("f:ff", r_minmax, p, q, "%s%s%s%s.f32", minmax[p & 1], q ? ".ftz" : "", p & 2 ? ".NaN" : "",
                       p & 4 ? ".xorsign.abs" : "");
    for (long p = 0; p < 2; p++)
        insn_check("F:FF", r_minmax, p, 4, "%s.f64", minmax[p]);
    for (long q = 0; q < 2; q++) {
        insn_check("r:f", r_neg, 0, q, "neg%s.f32", q ? ".ftz" : "");
        insn_check("r:f", r_abs, 0, q, "abs%s.f32", q ? ".ftz" : "");
    }
    insn_check("d:F", r_neg, 0, 4, "neg.f64");
    insn_check("d:F", r_abs, 0, 4, "abs.f64");
    insn_check("r:ff", r_copysign, 0, 0, "copysign.f32");
    insn_check("d:FF", r_copysign, 0, 4, "copysign.f64");
    return insn_done();
}
