/* setp and set on every type, relation, combination and result form. */
#include "insn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const relations[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge", "equ", "neu", "ltu",
                                        "leu", "gtu", "geu", "num", "nan", "lo", "ls",  "hi",  "hs"};
static const struct type {
    const char *name;
    char reg, kind;
    unsigned bits;
} types[] = {{"u16", 'h', 'u', 16}, {"s16", 'h', 's', 16},   {"b16", 'h', 'b', 16},   {"u32", 'r', 'u', 32},
             {"s32", 'r', 's', 32}, {"b32", 'r', 'b', 32},   {"u64", 'd', 'u', 64},   {"s64", 'd', 's', 64},
             {"b64", 'd', 'b', 64}, {"f16", 'e', 'f', 16},   {"bf16", 'g', 'f', 16},  {"f32", 'f', 'f', 32},
             {"f64", 'F', 'f', 64}, {"f16x2", 'E', 'x', 16}, {"bf16x2", 'G', 'x', 16}};

static double f16_value(u64 h)
{
    double m = (double)(h & 0x3ff), e = (double)(h >> 10 & 31);
    double v = e == 31 ? (m != 0 ? NAN : INFINITY) : e == 0 ? m * 0x1p-24 : ldexp(1024 + m, (int)e - 25);
    return h & 0x8000 ? -v : v;
}
static double number(const struct type *t, u64 u, bool ftz)
{
    double v;
    if (t->bits == 64)
        return bits_f64(u);
    if (t->bits == 32)
        v = (double)bits_f32(u);
    else
        v = t->name[0] == 'b' ? (double)bits_f32((u & 0xffff) << 16) : f16_value(u & 0xffff);
    double least = t->bits == 16 && t->name[0] == 'f' ? 0x1p-14 : 0x1p-126;
    return ftz && fabs(v) < least ? 0 : v;
}
static bool holds(const struct type *t, const char *rel, u64 a, u64 b, bool ftz)
{
    bool lt, eq, nan = false;
    if (t->kind == 'f' || t->kind == 'x') {
        double x = number(t, a, ftz), y = number(t, b, ftz);
        lt = x < y;
        eq = x == y;
        nan = isnan(x) || isnan(y);
    } else if (t->kind == 's') {
        s64 x = (s64)(a << (64 - t->bits)), y = (s64)(b << (64 - t->bits));
        lt = x < y;
        eq = x == y;
    } else {
        lt = a < b;
        eq = a == b;
    }
    if (!strcmp(rel, "num"))
        return !nan;
    if (!strcmp(rel, "nan"))
        return nan;
    if (nan) /* the ordered relations are false, the unordered ones true */
        return strlen(rel) == 3;
    bool e = rel[0] == 'e', n = rel[0] == 'n', l = rel[0] == 'l', or_equal = rel[1] == 'e' || rel[1] == 's';
    return e ? eq : n ? !eq : l ? lt || (or_equal && eq) : (!lt && !eq) || (or_equal && eq);
}
static bool combine(char logic, bool v, bool c)
{
    return logic == 'a' ? v && c : logic == 'o' ? v || c : logic == 'x' ? v != c : v;
}

/* What the running check is about. */
static struct {
    const struct type *t;
    const char *rel;
    char logic;
    bool ftz, negated;
    u64 yes;
} now;

static void r_setp(struct lane *x)
{
    bool c = x->s[2] != (u64)now.negated;
    if (now.t->kind == 'x') {
        for (unsigned n = 0; n < 2; n++)
            x->d[n] = combine(
                now.logic, holds(now.t, now.rel, x->s[0] >> (16 * n) & 0xffff, x->s[1] >> (16 * n) & 0xffff, now.ftz),
                c);
        return;
    }
    bool v = holds(now.t, now.rel, x->s[0], x->s[1], now.ftz);
    x->d[0] = combine(now.logic, v, c);
    x->d[1] = combine(now.logic, !v, c);
}
static void r_set(struct lane *x)
{
    r_setp(x);
    if (now.t->kind == 'x')
        x->d[0] = (x->d[0] ? now.yes : 0) | (x->d[1] ? now.yes << 16 : 0);
    else
        x->d[0] = x->d[0] ? now.yes : 0;
}

static bool has(const struct type *t, unsigned rel)
{
    if (t->kind == 'b')
        return rel < 2;
    if (t->kind == 'f' || t->kind == 'x')
        return rel < 14;
    return rel < 6 || (rel >= 14 && t->kind == 'u');
}
static void setp_forms(const struct type *t, const char *rel, const char *ftz)
{
    static const char *const logic[] = {"", ".and", ".or", ".xor"};
    for (unsigned k = 0; k < 4; k++) {
        char sig[8];
        now.logic = k ? logic[k][1] : 0;
        now.negated = false;
        const char *const pq = t->kind == 'x' ? "pp" : "p";
        snprintf(sig, sizeof sig, "%s:%c%c%s", pq, t->reg, t->reg, k ? "p" : "");
        insn_check(sig, r_setp, 0, 0, "setp.%s%s%s.%s", rel, logic[k], ftz, t->name);
        if (t->kind != 'x') {
            snprintf(sig, sizeof sig, "pp:%c%c%s", t->reg, t->reg, k ? "p" : "");
            insn_check(sig, r_setp, 0, 0, "setp.%s%s%s.%s", rel, logic[k], ftz, t->name);
        }
        if (k && t->kind != 'x') {
            now.negated = true;
            insn_check(sig, r_setp, 0, 0, "setp.%s%s%s.%s $d|$e, $a, $b, !$c", rel, logic[k], ftz, t->name);
        }
    }
}
static void set_forms(const struct type *t, const char *rel, const char *ftz)
{
    static const struct {
        const char *name, *types;
        char reg;
        u64 yes;
    } out[] = {{"u32", "usbf", 'r', 0xffffffff}, {"s32", "usbf", 'r', 0xffffffff}, {"f32", "usbf", 'r', 0x3f800000},
               {"f16", "usbf", 'h', 0x3c00},     {"bf16", "usbf", 'h', 0x3f80},    {"u16", "f", 'h', 0xffff},
               {"s16", "f", 'h', 0xffff},        {"f16x2", "x", 'r', 0x3c00},      {"bf16x2", "x", 'r', 0x3f80},
               {"u32", "x", 'r', 0xffff},        {"s32", "x", 'r', 0xffff}};
    for (unsigned k = 0; k < sizeof out / sizeof out[0]; k++) {
        char sig[8];
        if (!strchr(out[k].types, t->kind))
            continue;
        if (t->kind == 'x' && out[k].name[1] != '3' && strcmp(out[k].name, t->name))
            continue;
        if (t->bits != 16 && !strcmp(out[k].types, "f")) /* integers of 16 bits are made of halves alone */
            continue;
        now.yes = out[k].yes;
        now.negated = false;
        now.logic = 0;
        snprintf(sig, sizeof sig, "%c:%c%c", out[k].reg, t->reg, t->reg);
        insn_check(sig, r_set, 0, 0, "set.%s%s.%s.%s", rel, ftz, out[k].name, t->name);
        snprintf(sig, sizeof sig, "%c:%c%cp", out[k].reg, t->reg, t->reg);
        for (unsigned l = 0; l < 3; l++) {
            static const char *const logic[] = {"and", "or", "xor"};
            now.logic = logic[l][0];
            insn_check(sig, r_set, 0, 0, "set.%s.%s%s.%s.%s", rel, logic[l], ftz, out[k].name, t->name);
        }
    }
}

int main(void)
{
    for (unsigned n = 0; n < sizeof types / sizeof types[0]; n++)
        for (unsigned rel = 0; rel < sizeof relations / sizeof relations[0]; rel++) {
            now.t = &types[n];
            now.rel = relations[rel];
            if (!has(now.t, rel))
                continue;
            const bool may_flush = (now.t->kind == 'f' && now.t->bits < 64 && now.t->reg != 'g') || now.t->reg == 'E';
            for (int ftz = 0; ftz <= may_flush; ftz++) {
                now.ftz = ftz;
                setp_forms(now.t, now.rel, ftz ? ".ftz" : "");
                set_forms(now.t, now.rel, ftz ? ".ftz" : "");
            }
        }
    return insn_done();
}
