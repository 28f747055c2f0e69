/* cvt between every pair of types with every rounding mode and modifier the pair takes. */
#include "exact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef __int128 s128;

static const struct type {
    const char *name;
    char kind;
    unsigned bits;
    const struct format *f;
} types[] = {{"u8", 'u', 8, 0},      {"s8", 's', 8, 0},        {"u16", 'u', 16, 0},    {"s16", 's', 16, 0},
             {"u32", 'u', 32, 0},    {"s32", 's', 32, 0},      {"u64", 'u', 64, 0},    {"s64", 's', 64, 0},
             {"f16", 'f', 16, &F16}, {"bf16", 'f', 16, &BF16}, {"f32", 'f', 32, &F32}, {"f64", 'f', 64, &F64}};
enum { NTYPES = sizeof types / sizeof types[0] };

/* What the running check is about. */
static struct {
    const struct type *to, *from;
    int mode;
    bool ftz, sat, relu, satfinite;
} now;
enum { RNI = 10, RZI, RMI, RPI, NONE }; /* integral modes, beside exact.h's */

static s128 int_value(const struct type *t, u64 u)
{
    u64 m = t->bits == 64 ? u : u & ((1ull << t->bits) - 1);
    return t->kind == 's' && m >> (t->bits - 1) ? (s128)m - ((s128)1 << t->bits) : (s128)m;
}
static s128 int_max(const struct type *t) { return ((s128)1 << (t->bits - (t->kind == 's'))) - 1; }
static s128 int_min(const struct type *t) { return t->kind == 's' ? -int_max(t) - 1 : 0; }

static void r_int_int(struct lane *x)
{
    s128 v = int_value(now.from, x->s[0]);
    if (now.sat)
        v = v > int_max(now.to) ? int_max(now.to) : v < int_min(now.to) ? int_min(now.to) : v;
    x->d[0] = (u64)int_value(now.to, (u64)v); /* extended by its sign to the register */
}
static void r_int_float(struct lane *x)
{
    s128 v = int_value(now.from, x->s[0]);
    if (now.sat)
        v = v > 0;
    struct value big = value_of_int((u64)(v < 0 ? -v : v), v < 0);
    x->d[0] = round_to(now.to->f, &big, now.mode == NONE ? RN : (enum mode)now.mode);
}
static double to_double(const struct format *f, u64 bits) { return bits_f64(exact_cvt(&F64, f, bits, RN)); }
static double integral(double v, int mode)
{
    return mode == RNI ? nearbyint(v) : mode == RZI ? trunc(v) : mode == RMI ? floor(v) : mode == RPI ? ceil(v) : v;
}
static void r_float_int(struct lane *x)
{
    const struct format *f = now.from->f;
    u64 a = now.ftz ? flush(f, x->s[0]) : x->s[0];
    if (is_nan(f, a)) {
        bool zero = now.from->bits != 64 && now.to->bits != 64;
        x->d[0] = zero ? 0 : (u64)int_value(now.to, 1ull << (now.to->bits - 1));
        return;
    }
    double v = integral(to_double(f, a), now.mode);
    s128 lo = int_min(now.to), hi = int_max(now.to);
    /* |v| below 2^100 fits; anything larger saturates */
    s128 n = v >= 0x1p100 ? hi : v <= -0x1p100 ? lo : (s128)v;
    x->d[0] = (u64)(n > hi ? hi : n < lo ? lo : n);
}
/* The finishing touches of a float result. */
static u64 finish(const struct format *f, u64 r)
{
    if (now.ftz && f == &F32)
        r = flush(f, r);
    if (now.sat)
        return saturate01(f, r);
    if (now.relu && !is_nan(f, r) && (r >> (f->mant + f->expo)))
        return 0;
    if (now.satfinite && (r == infinity(f, false) || r == infinity(f, true)))
        r -= 1;
    return r;
}
static u64 float_to(const struct format *to, const struct format *from, u64 a)
{
    if (now.ftz && from == &F32 && to != &F16)
        a = flush(from, a);
    if (now.mode >= RNI && now.mode < NONE && !is_nan(from, a)) {
        double v = integral(to_double(from, a), now.mode);
        struct value big = value_of(&F64, f64_u(v));
        return finish(to, round_to(to, &big, RN));
    }
    enum mode m = now.mode == NONE ? RN : (enum mode)now.mode;
    if (is_nan(from, a))
        return now.sat ? 0 : to->nan;
    if (now.relu && (a >> (from->mant + from->expo) & 1))
        return 0;
    u64 r = exact_cvt(to, from, a, m);
    if (now.ftz && to == &F32 && from == &F64) { /* f32 with more exponents, as in float_test.c */
        static const struct format wide = {23, 10, 0x1ffffffff, false};
        if ((exact_cvt(&wide, &F64, a, m) & 0x1ffffffff) < exact_cvt(&wide, &F32, 0x00800000, RN))
            r &= 0x80000000;
    }
    if (to->no_inf && now.satfinite && (r & 0x7f) == 0x7f) /* e4m3 has no infinity to saturate from */
        return r - 1;
    return finish(to, r);
}
static void r_float_float(struct lane *x) { x->d[0] = float_to(now.to->f, now.from->f, x->s[0]); }

static char source_reg(const struct type *t, bool wide, bool byte)
{
    if (byte)
        return 'b';
    if (t->kind == 'f')
        return t->f == &F16 ? 'e' : t->f == &BF16 ? 'g' : t->bits == 32 ? 'f' : 'F';
    return t->bits == 64 ? 'd' : t->bits == 32 || wide ? 'r' : 'h';
}
static char result_reg(const struct type *t, bool wide, bool byte)
{
    if (byte)
        return 'b';
    if (t->kind == 'f')
        return t->f == &F64 ? 'F' : t->bits == 32 ? 'f' : 'h';
    return t->bits == 64 ? 'd' : t->bits == 32 || wide ? 'r' : 'h';
}
static const char *mode_name(int mode)
{
    return mode == NONE  ? ""
           : mode == RN  ? ".rn"
           : mode == RZ  ? ".rz"
           : mode == RM  ? ".rm"
           : mode == RP  ? ".rp"
           : mode == RNA ? ".rna"
           : mode == RNI ? ".rni"
           : mode == RZI ? ".rzi"
           : mode == RMI ? ".rmi"
                         : ".rpi";
}
static void check(insn_ref *ref, int mode, bool ftz, bool sat)
{
    now.mode = mode;
    now.ftz = ftz;
    now.sat = sat;
    const bool exact = now.from->f == &BF16 || now.to->f == &BF16;
    const bool byte_to = now.to->bits == 8 && exact, byte_from = now.from->bits == 8 && exact;
    for (int wide = 0; wide < 4; wide++) { /* narrow integers also in 32-bit registers */
        bool wide_to = wide & 1, wide_from = wide & 2;
        if ((wide_to && (now.to->kind == 'f' || now.to->bits > 16 || exact)) ||
            (wide_from && (now.from->kind == 'f' || now.from->bits > 16 || exact)))
            continue;
        char sig[8];
        snprintf(sig, sizeof sig, "%c:%c", result_reg(now.to, wide_to, byte_to),
                 source_reg(now.from, wide_from, byte_from));
        insn_check(sig, ref, 0, 0, "cvt%s%s%s%s%s.%s.%s", mode_name(mode), ftz ? ".ftz" : "", sat ? ".sat" : "",
                   now.relu ? ".relu" : "", now.satfinite ? ".satfinite" : "", now.to->name, now.from->name);
    }
}

/* ptxas takes .sat where a value of the one integer type may not fit the other. */
static bool may_not_fit(const struct type *to, const struct type *from)
{
    return to->kind == from->kind ? to->bits < from->bits : to->kind == 'u' || to->bits <= from->bits;
}

/* bf16 saturates nowhere, and is converted from and to integers in registers of their width. */
static void pair(const struct type *to, const struct type *from)
{
    const bool f32 = (to->f == &F32) || (from->f == &F32), bf16 = to->f == &BF16 || from->f == &BF16;
    now.to = to;
    now.from = from;
    if (to->kind != 'f' && from->kind != 'f') {
        check(r_int_int, NONE, false, false);
        if (may_not_fit(to, from))
            check(r_int_int, NONE, false, true);
    } else if (to->kind == 'f' && from->kind != 'f') {
        for (int m = RN; m <= RP; m++)
            for (int q = 0; q < (f32 ? 4 : 2); q += 1 + bf16)
                check(r_int_float, m, q & 2, q & 1);
    } else if (from->kind == 'f' && to->kind != 'f') {
        for (int m = RNI; m <= RPI; m++)
            for (int q = 0; q < (f32 ? 4 : 2); q += 1 + bf16)
                check(r_float_int, m, q & 2, q & 1);
    } else if (to == from) {
        for (int m = RNI; m <= NONE; m++)
            for (int q = 0; q < (f32 ? 4 : 2); q += 1 + bf16)
                check(r_float_float, m, q & 2, q & 1);
    } else { /* a mode is needed only where the target cannot hold every source */
        if (from->f == &BF16 && to->f != &F16)
            for (int m = RN; m <= RP; m++)
                check(r_float_float, m, false, false);
        const bool exact = to->f->mant >= from->f->mant && to->f->expo >= from->f->expo;
        for (int m = exact ? NONE : RN; m <= (exact ? NONE : RP); m++)
            for (int q = 0; q < (f32 ? 4 : 2); q += 1 + bf16)
                check(r_float_float, m, q & 2, q & 1);
    }
}

/* Packs: p = source format is f16x2; q bits: target and modifiers are in `now` */
static const struct format *pack_to;
static void r_pack(struct lane *x) /* a is the upper half */
{
    unsigned bits = pack_to->mant + pack_to->expo + 1;
    x->d[0] = float_to(pack_to, &F32, x->s[1]) | float_to(pack_to, &F32, x->s[0]) << bits;
}
static void r_pack_f16(struct lane *x)
{
    x->d[0] = float_to(pack_to, &F16, x->s[0] & 0xffff) | float_to(pack_to, &F16, x->s[0] >> 16) << 8;
}
static void r_unpack(struct lane *x)
{
    x->d[0] = float_to(&F16, pack_to, x->s[0] & 0xff) | float_to(&F16, pack_to, x->s[0] >> 8 & 0xff) << 16;
}
static void r_tf32(struct lane *x) { x->d[0] = float_to(&TF32, &F32, x->s[0]) << 13; }

static void packs(void)
{
    static const struct {
        const char *name;
        const struct format *f;
    } x2[] = {{"f16x2", &F16}, {"bf16x2", &BF16}}, x8[] = {{"e4m3x2", &E4M3}, {"e5m2x2", &E5M2}};
    static const struct type f32 = {"f32", 'f', 32, &F32};
    memset(&now, 0, sizeof now);
    for (int relu = 0; relu < 2; relu++) {
        const char *r = relu ? ".relu" : "";
        now.relu = relu;
        for (int m = RN; m <= RZ; m++) {
            now.mode = m;
            now.satfinite = false;
            for (unsigned n = 0; n < 2; n++) {
                pack_to = x2[n].f;
                insn_check("r:ff", r_pack, 0, 0, "cvt%s%s.%s.f32", mode_name(m), r, x2[n].name);
            }
            now.satfinite = true;
            for (unsigned n = 0; n < 2; n++)
                insn_check("r:ff", (pack_to = x2[n].f, r_pack), 0, 0, "cvt%s%s.satfinite.%s.f32", mode_name(m), r,
                           x2[n].name);
            /* one value: f16 and bf16 with .relu and .satfinite, tf32 */
            for (now.satfinite = false;; now.satfinite = true) {
                insn_check("r:f", r_tf32, 0, 0, "cvt%s%s%s.tf32.f32", mode_name(m), now.satfinite ? ".satfinite" : "",
                           r);
                for (unsigned n = 8; n < 10; n++) {
                    now.to = &types[n];
                    now.from = &f32;
                    insn_check("h:f", r_float_float, 0, 0, "cvt%s%s%s.%s.f32", mode_name(m), r,
                               now.satfinite ? ".satfinite" : "", types[n].name);
                }
                if (now.satfinite)
                    break;
            }
        }
        now.mode = RN;
        now.satfinite = true;
        for (unsigned n = 0; n < 2; n++) {
            pack_to = x8[n].f;
            insn_check("h:ff", r_pack, 0, 0, "cvt.rn.satfinite%s.%s.f32", r, x8[n].name);
            insn_check("h:E", r_pack_f16, 0, 0, "cvt.rn.satfinite%s.%s.f16x2", r, x8[n].name);
        }
        now.satfinite = false;
        for (unsigned n = 0; n < 2; n++) {
            pack_to = x8[n].f;
            insn_check("r:h", r_unpack, 0, 0, "cvt.rn%s.f16x2.%s", r, x8[n].name);
        }
    }
    now.relu = false;
    now.mode = RNA;
    insn_check("r:f", r_tf32, 0, 0, "cvt.rna.tf32.f32");
    now.satfinite = true;
    insn_check("r:f", r_tf32, 0, 0, "cvt.rna.satfinite.tf32.f32");
}

/* cvt.pack: p = bits of an element, negative if signed; q: with c */
static void r_cvt_pack(struct lane *x)
{
    unsigned bits = (unsigned)(x->p < 0 ? -x->p : x->p);
    s64 hi = (1ll << (bits - (x->p < 0))) - 1, lo = x->p < 0 ? -hi - 1 : 0;
    u64 r = x->q ? x->s[2] << (2 * bits) : 0;
    for (unsigned n = 0; n < 2; n++) {
        s64 v = (s32)x->s[1 - n];
        v = v > hi ? hi : v < lo ? lo : v;
        r |= ((u64)v & ((1ull << bits) - 1)) << (n * bits);
    }
    x->d[0] = (u32)r;
}
static void cvt_packs(void)
{
    static const struct {
        const char *name;
        long p;
    } t[] = {{"u4", 4}, {"s4", -4}, {"u8", 8}, {"s8", -8}, {"u2", 2}, {"s2", -2}, {"u16", 16}, {"s16", -16}};
    for (unsigned n = 0; n < 8; n++)
        if (n >= 6)
            insn_check("r:rr", r_cvt_pack, t[n].p, 0, "cvt.pack.sat.%s.s32", t[n].name);
        else
            insn_check("r:rrr", r_cvt_pack, t[n].p, 1, "cvt.pack.sat.%s.s32.b32", t[n].name);
}

int main(void)
{
    for (unsigned to = 0; to < NTYPES; to++)
        for (unsigned from = 0; from < NTYPES; from++)
            pair(&types[to], &types[from]);
    packs();
    cvt_packs();
    return insn_done();
}
