/* cvt to and from pairs and fours of 8, 6 and 4 bits, and .rs, against a search among all codes of the format. */
#include "insn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct format {
    const char *name;
    unsigned bits, mant;
    int bias;
    unsigned greatest, nan; /* codes: the greatest finite number, what a NaN becomes */
    char reg;               /* of two */
} formats[] = {{"e4m3", 8, 3, 7, 0x7e, 0x7f, 'h'},
               {"e5m2", 8, 2, 15, 0x7b, 0x7f, 'h'},
               {"e2m3", 6, 3, 1, 0x1f, 0x1f, 'h'},
               {"e3m2", 6, 2, 3, 0x1f, 0x1f, 'h'},
               {"e2m1", 4, 1, 1, 7, 7, 'b'}},
  f16 = {"f16", 16, 10, 15, 0x7bff, 0x7fff, 'r'}, bf16 = {"bf16", 16, 7, 127, 0x7f7f, 0x7fff, 'r'};
enum { NFORMATS = sizeof formats / sizeof formats[0] };

static struct {
    const struct format *f;
    bool relu, satfinite, scaled, up;
} now;

static double magnitude(const struct format *f, unsigned code)
{
    const unsigned m = code & ((1u << f->mant) - 1), e = code >> f->mant;
    return e ? ldexp(1 + ldexp(m, -(int)f->mant), (int)e - f->bias) : ldexp(m, 1 - f->bias - (int)f->mant);
}
static unsigned sign_of(const struct format *f) { return 1u << (f->bits - 1); }
static unsigned step(const struct format *f) { return f->bits == 4 ? 4 : f->bits == 16 ? 16 : 8; }

/* The greatest code whose number is not above x. */
static unsigned below(const struct format *f, double x)
{
    unsigned low = 0, high = f->greatest;
    while (low < high) {
        unsigned mid = (low + high + 1) / 2;
        if (magnitude(f, mid) <= x)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}
/* x at or above 0 in units between the code and the one behind it. */
static double fraction(const struct format *f, unsigned code, double x)
{
    return (x - magnitude(f, code)) / (magnitude(f, code + 1) - magnitude(f, code));
}

/* random < 0: to the nearest, else carries with so many bits of random number. */
static u64 narrow(const struct format *f, double x, long random, unsigned bits)
{
    if (isnan(x))
        return f->nan;
    if (now.relu && (x < 0 || (x == 0 && signbit(x))))
        return 0;
    const unsigned sign = signbit(x) ? sign_of(f) : 0;
    x = fabs(x);
    const unsigned over = now.satfinite ? f->greatest : f->greatest + 1;
    if (isinf(x))
        return over | sign;
    unsigned code = below(f, x);
    if (code == f->greatest && f->nan == f->greatest && x > magnitude(f, code))
        return code | sign;
    const double part = code == f->greatest && f->nan != f->greatest
                            ? (x - magnitude(f, code)) / (magnitude(f, code) - magnitude(f, code - 1))
                            : fraction(f, code, x);
    if (part >= 1)
        return over | sign;
    if (random < 0)
        code += part > 0.5 || (part == 0.5 && code & 1);
    else
        code += ldexp(part, (int)bits) + (double)random >= ldexp(1, (int)bits);
    return (code > f->greatest ? over : code) | sign;
}

static u64 ue8m0(double x)
{
    const bool up = now.up;
    if (isnan(x))
        return 255;
    x = fabs(x);
    int code = -1;
    while (code < 254 && ldexp(1, code + 1 - 127) <= x)
        code++;
    if (up && (code < 0 ? x > 0 : ldexp(1, code - 127) < x || isinf(x)))
        code++;
    if (!up && isinf(x))
        code = 255;
    code = code < 0 ? 0 : code;
    return (u64)(now.satfinite && code > 254 ? 254 : code);
}

/* ---- to two numbers ---- */

static double half(const struct format *f, u64 h)
{
    const unsigned m = h & 0x7fff;
    const double x = m > f->greatest + 1 ? NAN : m == f->greatest + 1 ? INFINITY : magnitude(f, m);
    return h & 0x8000 ? -x : x;
}
static double source(const struct lane *x, unsigned k) /* p: 0 f32, 1 f16x2, 2 bf16x2 */
{
    return x->p == 0 ? bits_f32(x->s[k]) : half(x->p == 1 ? &f16 : &bf16, x->s[0] >> 16 * (1 - k) & 0xffff);
}
static void r_down(struct lane *x)
{
    x->d[0] = narrow(now.f, source(x, 1), -1, 0) | narrow(now.f, source(x, 0), -1, 0) << step(now.f);
}
static void r_exponents(struct lane *x) { x->d[0] = ue8m0(source(x, 1)) | ue8m0(source(x, 0)) << 8; }

/* ---- by random bits ---- */

static void r_random(struct lane *x) /* f16 and bf16: half of the random bits each */
{
    const unsigned bits = now.f == &f16 ? 13 : 16, mask = (1u << bits) - 1;
    x->d[0] = narrow(now.f, bits_f32(x->s[1]), (long)(x->s[2] & mask), bits) |
              narrow(now.f, bits_f32(x->s[0]), (long)(x->s[2] >> 16 & mask), bits) << 16;
}
static long backwards(long v)
{
    long r = 0;
    for (unsigned k = 0; k < 16; k++)
        r |= (v >> k & 1) << (15 - k);
    return r;
}
static void r_four(struct lane *x)
{
    const u64 r = x->s[4];
    const long high = (long)(now.f->bits == 4 ? (r >> 24) << 8 | (r >> 8 & 0xff) : r >> 16);
    const long low = (long)(now.f->bits == 4 ? (r >> 16 & 0xff) << 8 | (r & 0xff) : r & 0xffff);
    const long random[4] = {backwards(high), high, backwards(low), low};
    x->d[0] = 0;
    for (unsigned k = 0; k < 4; k++)
        x->d[0] |= narrow(now.f, bits_f32(x->s[k]), random[k], 16) << step(now.f) * (3 - k);
}

/* ---- from two numbers ---- */

static u64 widen(const struct format *to, u64 code, u64 scale)
{
    const struct format *f = now.f;
    const unsigned m = code & (sign_of(f) - 1);
    const unsigned was = now.satfinite;
    double x = m > f->greatest ? NAN : magnitude(f, m);
    if (f->bits == 8 && f->mant == 2 && m == f->greatest + 1)
        x = INFINITY;
    x *= scale == 255 ? NAN : ldexp(1, (int)scale - 127);
    u64 r = narrow(to, code & sign_of(f) && !isnan(x) ? -x : x, -1, 0);
    now.satfinite = was;
    return r;
}
static void r_up(struct lane *x) /* p: 1 to f16x2, 2 to bf16x2 */
{
    const struct format *to = x->p == 1 ? &f16 : &bf16;
    const u64 mask = (1u << step(now.f)) - 1;
    x->d[0] = widen(to, x->s[0] & mask & (2 * sign_of(now.f) - 1), now.scaled ? x->s[1] & 0xff : 127) |
              widen(to, x->s[0] >> step(now.f) & (2 * sign_of(now.f) - 1), now.scaled ? x->s[1] >> 8 : 127) << 16;
}
static u64 power(u64 code) { return code == 255 ? 0x7fff : code ? code << 7 : 0x40; }
static void r_powers(struct lane *x) { x->d[0] = power(x->s[0] & 0xff) | power(x->s[0] >> 8) << 16; }

static void r_fixed(struct lane *x) /* s2f6 to bf16: 64ths, times each its power of two */
{
    x->d[0] = 0;
    for (unsigned k = 0; k < 2; k++) {
        const u64 scale = now.scaled ? x->s[1] >> 8 * k & 255 : 127;
        const double v = (int8_t)(x->s[0] >> 8 * k) / 64.0 * ldexp(1, (int)scale - 127);
        x->d[0] |= narrow(&bf16, scale == 255 ? NAN : v, -1, 0) << 16 * k;
    }
}

static void modifiers(char *text)
{
    sprintf(text, "%s%s%s", now.satfinite ? ".satfinite" : "", now.relu ? ".relu" : "",
            now.scaled ? ".scaled::n2::ue8m0" : "");
}

static void of_format(const struct format *f)
{
    char sig[12], mods[60], down[3][8];
    now.f = f;
    for (unsigned m = 0; m < 2; m++) {
        now.relu = m & 1;
        now.satfinite = true;
        modifiers(mods);
        snprintf(down[0], sizeof down[0], "%c:ff", f->reg);
        snprintf(down[1], sizeof down[1], "%c:E", f->reg);
        snprintf(down[2], sizeof down[2], "%c:G", f->reg);
        insn_check(down[0], r_down, 0, 0, "cvt.rn%s.%sx2.f32", mods, f->name);
        insn_check(down[1], r_down, 1, 0, "cvt.rn%s.%sx2.f16x2", mods, f->name);
        insn_check(down[2], r_down, 2, 0, "cvt.rn%s.%sx2.bf16x2", mods, f->name);
        insn_check(f->bits == 4 ? "h:ffffr" : "r:ffffr", r_four, 0, 0, "cvt.rs%s.%sx4.f32 $d, {$a, $b, $c, $h}, $i",
                   mods, f->name);
        now.satfinite = false;
        modifiers(mods);
        snprintf(sig, sizeof sig, "r:%c", f->reg);
        insn_check(sig, r_up, 1, 0, "cvt.rn%s.f16x2.%sx2", mods, f->name);
        for (unsigned k = 0; k < 4; k++) {
            now.satfinite = k & 1;
            now.scaled = k & 2;
            modifiers(mods);
            snprintf(sig, sizeof sig, "r:%c%s", f->reg, now.scaled ? "h" : "");
            insn_check(sig, r_up, 2, 0, "cvt.rn%s.bf16x2.%sx2", mods, f->name);
        }
        now.scaled = false;
    }
    now.relu = false;
}

int main(void)
{
    for (unsigned k = 0; k < NFORMATS; k++)
        of_format(&formats[k]);
    for (unsigned m = 0; m < 4; m++) {
        char mods[60];
        now.satfinite = m & 1;
        now.relu = m & 2;
        modifiers(mods);
        now.f = &f16;
        insn_check("r:ffr", r_random, 0, 0, "cvt.rs%s.f16x2.f32 $d, $a, $b, $c", mods);
        now.f = &bf16;
        insn_check("r:ffr", r_random, 0, 0, "cvt.rs%s.bf16x2.f32 $d, $a, $b, $c", mods);
    }
    now.relu = false;
    for (unsigned m = 0; m < 4; m++) {
        char mods[60];
        now.satfinite = m & 1;
        now.up = m & 2;
        modifiers(mods);
        insn_check("h:ff", r_exponents, 0, 0, "cvt.%s%s.ue8m0x2.f32", now.up ? "rp" : "rz", mods);
        insn_check("h:G", r_exponents, 2, 0, "cvt.%s%s.ue8m0x2.bf16x2", now.up ? "rp" : "rz", mods);
    }
    insn_check("r:h", r_powers, 0, 0, "cvt.rn.bf16x2.ue8m0x2");
    for (unsigned m = 0; m < 8; m++) {
        char mods[60];
        now.satfinite = m & 1;
        now.relu = m & 2;
        now.scaled = m & 4;
        modifiers(mods);
        insn_check(now.scaled ? "r:hh" : "r:h", r_fixed, 0, 0, "cvt.rn%s.bf16x2.s2f6x2", mods);
    }
    return insn_done();
}
