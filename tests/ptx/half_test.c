/* f16, f16x2, bf16 and bf16x2 arithmetic against exact numbers rounded once. */
#include "exact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FTZ = 1, SAT = 2, IS_BF16 = 4, PAIR = 8, RELU = 16, NANS = 32, XORSIGN = 64 };

static const struct format *format(const struct lane *x) { return x->q & IS_BF16 ? &BF16 : &F16; }

/* One half at a time: x->p names the operation. */
enum op { ADD, SUB, MUL, FMA, NEG, ABS, MIN, MAX };
static s64 order(u64 v) { return v & 0x8000 ? -(s64)(v & 0x7fff) - 1 : (s64)(v & 0x7fff); }
static u64 minmax(const struct lane *x, u64 a, u64 b)
{
    const struct format *f = format(x);
    bool anan = is_nan(f, a), bnan = is_nan(f, b);
    u64 sign = (a ^ b) & 0x8000;
    if ((anan && bnan) || ((x->q & NANS) && (anan || bnan)))
        return f->nan; /* no sign is put on a NaN */
    if (x->q & XORSIGN) {
        a &= 0x7fff;
        b &= 0x7fff;
    }
    u64 r = anan ? b : bnan ? a : (order(a) < order(b)) == (x->p == MIN) ? a : b;
    return x->q & XORSIGN ? (r & 0x7fff) | sign : r;
}
static u64 one(const struct lane *x, unsigned shift)
{
    const struct format *f = format(x);
    u64 v[3];
    for (unsigned n = 0; n < 3; n++) {
        v[n] = x->s[n] >> shift & 0xffff;
        if (x->q & FTZ && x->p != NEG && x->p != ABS)
            v[n] = flush(f, v[n]);
    }
    u64 r;
    switch (x->p) {
    case ADD: r = exact_add(f, v[0], v[1], RN); break;
    case SUB: r = is_nan(f, v[1]) ? f->nan : exact_add(f, v[0], negated(f, v[1]), RN); break;
    case MUL: r = exact_mul(f, v[0], v[1], RN); break;
    case FMA: r = exact_fma(f, v[0], v[1], v[2], RN); break;
    case NEG: r = v[0] ^ 0x8000; break;
    case ABS: r = v[0] & 0x7fff; break;
    default: r = minmax(x, v[0], v[1]); break;
    }
    if (x->q & FTZ)
        r = flush(f, r);
    if (x->q & SAT)
        r = saturate01(f, r);
    if ((x->q & RELU) && (r & 0x8000) && !is_nan(f, r))
        r = 0;
    return r & 0xffff;
}
static void r_half(struct lane *x)
{
    x->d[0] = one(x, 0);
    if (x->q & PAIR)
        x->d[0] |= one(x, 16) << 16;
}

static void check(const char *name, enum op op, unsigned nsrc, long q, const char *type)
{
    char r = q & PAIR ? (q & IS_BF16 ? 'G' : 'E') : q & IS_BF16 ? 'g' : 'e', sig[8];
    /* signs keep payloads: integers there */
    char d = op == NEG || op == ABS ? (q & PAIR ? 'r' : 'h') : r;
    snprintf(sig, sizeof sig, "%c:%c%c%c", d, r, nsrc > 1 ? r : 0, nsrc > 2 ? r : 0);
    insn_check(sig, r_half, op, q, "%s%s%s%s%s%s.%s", name, q & FTZ ? ".ftz" : "", q & SAT ? ".sat" : "",
               q & RELU ? ".relu" : "", q & NANS ? ".NaN" : "", q & XORSIGN ? ".xorsign.abs" : "", type);
}

int main(void)
{
    static const struct {
        const char *name;
        long q;
    } types[] = {{"f16", 0}, {"f16x2", PAIR}, {"bf16", IS_BF16}, {"bf16x2", IS_BF16 | PAIR}};
    for (unsigned n = 0; n < 4; n++) {
        const char *t = types[n].name;
        const long base = types[n].q;
        for (long m = 0; m < (base & IS_BF16 ? 1 : 4); m++) { /* .ftz and .sat are f16's */
            check("add", ADD, 2, base | m, t);
            check("add.rn", ADD, 2, base | m, t);
            check("sub", SUB, 2, base | m, t);
            check("sub.rn", SUB, 2, base | m, t);
            check("mul", MUL, 2, base | m, t);
            check("mul.rn", MUL, 2, base | m, t);
            check("fma.rn", FMA, 3, base | m, t);
        }
        check("fma.rn", FMA, 3, base | RELU, t);
        if (!(base & IS_BF16)) {
            check("fma.rn", FMA, 3, base | RELU | FTZ, t);
            check("neg", NEG, 1, base | FTZ, t);
            check("abs", ABS, 1, base | FTZ, t);
        }
        check("neg", NEG, 1, base, t);
        check("abs", ABS, 1, base, t);
        for (long m = 0; m < 4; m++) {
            long q = base | (m & 1 ? NANS : 0) | (m & 2 ? XORSIGN : 0);
            for (long ftz = 0; ftz <= (base & IS_BF16 ? 0 : FTZ); ftz += FTZ) {
                check("min", MIN, 2, q | ftz, t);
                check("max", MAX, 2, q | ftz, t);
            }
        }
    }
    return insn_done();
}
