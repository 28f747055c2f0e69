/* Arithmetic of sm_100 and sm_120: pairs of f32, f32 with f16 and bf16, the least and greatest of three; integers of
 * 8 bits by four, and sums that saturate. */
#include "exact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FTZ = 1, SAT = 2, ABS = 4, NANS = 8 };
enum op { ADD, SUB, MUL, FMA, MIN, MAX };
static enum mode mode;
static const struct format *small; /* of what is mixed in */

static u64 clean(u64 u, long q)
{
    if (is_nan(&F32, u))
        return q & SAT ? 0 : NAN_F32;
    u = q & FTZ ? flush(&F32, u) : u;
    return q & SAT ? saturate01(&F32, u) : u;
}
/* One f32 operation; what is tiny is told before rounding to 24 bits of f32's exponents, as in float_test.c. */
static u64 one(long p, long q, u64 a, u64 b, u64 c)
{
    static const struct format wide = {23, 10, 0x1ffffffff, false};
    if (q & FTZ) {
        a = flush(&F32, a);
        b = flush(&F32, b);
        c = flush(&F32, c);
    }
    u64 r = p == ADD   ? exact_add(&F32, a, b, mode)
            : p == SUB ? exact_add(&F32, a, is_nan(&F32, b) ? b : negated(&F32, b), mode)
            : p == MUL ? exact_mul(&F32, a, b, mode)
                       : exact_fma(&F32, a, b, c, mode);
    if (q & FTZ && (p == MUL || p == FMA) && !is_nan(&F32, r)) {
        u64 w[3] = {exact_cvt(&wide, &F32, a, RN), exact_cvt(&wide, &F32, b, RN), exact_cvt(&wide, &F32, c, RN)};
        u64 e = p == MUL ? exact_mul(&wide, w[0], w[1], mode) : exact_fma(&wide, w[0], w[1], w[2], mode);
        if ((e & 0x1ffffffff) < exact_cvt(&wide, &F32, 0x00800000, RN))
            r &= 0x80000000;
    }
    return clean(r, q);
}
static void r_pair(struct lane *x)
{
    x->d[0] = 0;
    for (unsigned h = 0; h < 64; h += 32)
        x->d[0] |= one(x->p, x->q, (u32)(x->s[0] >> h), (u32)(x->s[1] >> h), (u32)(x->s[2] >> h)) << h;
}
static u64 grown(u64 h) { return is_nan(small, h) ? NAN_F32 : exact_cvt(&F32, small, h, RN); }
static void r_mixed(struct lane *x)
{
    if (x->p == FMA)
        x->d[0] = one(FMA, x->q, grown(x->s[0]), grown(x->s[1]), x->s[2]);
    else
        x->d[0] = one(x->p, x->q, grown(x->s[0]), x->s[1], 0);
}

static s64 order(u64 v) { return v & 0x80000000 ? -(s64)(v & 0x7fffffff) - 1 : (s64)v; }
static void r_three(struct lane *x)
{
    u64 best = NAN_F32;
    for (unsigned k = 0; k < 3; k++) {
        u64 v = x->s[k];
        if (x->q & ABS)
            v &= 0x7fffffff;
        if (x->q & FTZ)
            v = flush(&F32, v);
        if (is_nan(&F32, v)) {
            if (x->q & NANS) {
                x->d[0] = NAN_F32;
                return;
            }
            continue;
        }
        if (is_nan(&F32, best) || (x->p == MIN ? order(v) < order(best) : order(v) > order(best)))
            best = v;
    }
    x->d[0] = best;
}

/* Elements of `bits`, signed or not; p is the operation, q: 1 saturates, 2 is signed, the rest the element's bits. */
enum { NEG = MAX + 1, SATURATES = 1, SIGNED = 2 };
static void r_integers(struct lane *x)
{
    const unsigned bits = (unsigned)x->q >> 2;
    const s64 least = x->q & SIGNED ? -((s64)1 << (bits - 1)) : 0;
    const s64 most = least + ((s64)1 << bits) - 1;
    x->d[0] = 0;
    for (unsigned at = 0; at < 32; at += bits) {
        s64 v[2];
        for (unsigned k = 0; k < 2; k++) {
            v[k] = (s64)(x->s[k] >> at & (((u64)1 << bits) - 1));
            v[k] -= v[k] > most ? (s64)1 << bits : 0;
        }
        s64 r = x->p == ADD   ? v[0] + v[1]
                : x->p == SUB ? v[0] - v[1]
                : x->p == NEG ? -v[0]
                : x->p == MIN ? (v[0] < v[1] ? v[0] : v[1])
                              : (v[0] > v[1] ? v[0] : v[1]);
        if (x->q & SATURATES)
            r = r < least ? least : r > most ? most : r;
        x->d[0] |= ((u64)r & (((u64)1 << bits) - 1)) << at;
    }
}
static void check_integers(const char *const *names)
{
    for (long is_signed = 0; is_signed < 2; is_signed++) {
        const char *type = is_signed ? "s8x4" : "u8x4";
        const long q = 8 << 2 | (is_signed ? SIGNED : 0);
        insn_check("r:rr", r_integers, ADD, q, "add.%s", type);
        insn_check("r:rr", r_integers, ADD, q | SATURATES, "add.sat.%s", type);
        insn_check("r:rr", r_integers, SUB, q, "sub.%s", type);
        insn_check("r:r", r_integers, NEG, q, "neg.%s", type);
        for (long p = MIN; p <= MAX; p++)
            insn_check("r:rr", r_integers, p, q, "%s.%s", names[p], type);
        insn_check("r:rr", r_integers, ADD, 16 << 2 | SATURATES | (is_signed ? SIGNED : 0), "add.sat.%s",
                   is_signed ? "s16x2" : "u16x2");
    }
    insn_check("r:rr", r_integers, ADD, 32 << 2 | SATURATES, "add.sat.u32");
}

int main(void)
{
    static const char *const names[] = {"add", "sub", "mul", "fma", "min", "max"}, *const rounds[] = {"rn", "rz", "rm",
                                                                                                      "rp"};
    for (unsigned m = RN; m <= RP; m++) {
        mode = (enum mode)m;
        for (long p = ADD; p <= FMA; p++)
            for (long ftz = 0; ftz < 2; ftz++)
                insn_check(p == FMA ? "P:PPP" : "P:PP", r_pair, p, ftz, "%s.%s%s.f32x2", names[p], rounds[m],
                           ftz ? ".ftz" : "");
        for (long p = ADD; p <= FMA; p++)
            for (long k = 0; k < 4 && p != MUL; k++) {
                small = k & 1 ? &BF16 : &F16;
                insn_check(p == FMA ? (k & 1 ? "f:ggf" : "f:eef")
                           : k & 1  ? "f:gf"
                                    : "f:ef",
                           r_mixed, p, k & 2 ? SAT : 0, "%s.%s%s.f32.%s", names[p], rounds[m], k & 2 ? ".sat" : "",
                           k & 1 ? "bf16" : "f16");
            }
    }
    for (long p = MIN; p <= MAX; p++)
        for (long q = 0; q < 8; q++)
            insn_check("f:fff", r_three, p, (q & 1 ? FTZ : 0) | (q & 2 ? NANS : 0) | (q & 4 ? ABS : 0), "%s%s%s%s.f32",
                       names[p], q & 1 ? ".ftz" : "", q & 2 ? ".NaN" : "", q & 4 ? ".abs" : "");
    check_integers(names);
    return insn_done();
}
