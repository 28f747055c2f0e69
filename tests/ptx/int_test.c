/* Integer arithmetic, carry chains, dot products and video, against the ISA's definitions written
 * out in 128-bit arithmetic. */
#include "insn.h"

#include <stdio.h>

typedef __int128 s128;
typedef unsigned __int128 u128;

/* Operand n as a number: p is the width in bits, negative when signed. */
static s128 num(const struct lane *x, unsigned n)
{
    int bits = (int)(x->p < 0 ? -x->p : x->p);
    u64 u = bits == 64 ? x->s[n] : x->s[n] & ((1ull << bits) - 1);
    if (x->p < 0 && (u >> (bits - 1) & 1))
        return (s128)u - ((s128)1 << bits);
    return (s128)u;
}
static s128 wide_c(const struct lane *x) /* the addend of mad.wide: any value modulo 2^2bits */
{
    return (s128)x->s[2];
}
static int bits_of(const struct lane *x) { return (int)(x->p < 0 ? -x->p : x->p); }
static s128 magnitude(s128 v) { return v < 0 ? -v : v; }
static s128 clamp(s128 v, s128 lo, s128 hi) { return v < lo ? lo : v > hi ? hi : v; }
static s128 clamp32(s128 v) { return clamp(v, INT32_MIN, INT32_MAX); }

static void r_add(struct lane *x) { x->d[0] = (u64)(num(x, 0) + num(x, 1)); }
static void r_sub(struct lane *x) { x->d[0] = (u64)(num(x, 0) - num(x, 1)); }
static void r_addsat(struct lane *x) { x->d[0] = (u64)clamp32(num(x, 0) + num(x, 1)); }
static void r_subsat(struct lane *x) { x->d[0] = (u64)clamp32(num(x, 0) - num(x, 1)); }
static void r_neg(struct lane *x) { x->d[0] = (u64)-num(x, 0); }
static void r_abs(struct lane *x) { x->d[0] = (u64)magnitude(num(x, 0)); }
static void r_min(struct lane *x) { x->d[0] = (u64)(num(x, 0) < num(x, 1) ? num(x, 0) : num(x, 1)); }
static void r_max(struct lane *x) { x->d[0] = (u64)(num(x, 0) > num(x, 1) ? num(x, 0) : num(x, 1)); }
static void r_min_relu(struct lane *x)
{
    r_min(x);
    x->d[0] = (s32)x->d[0] < 0 ? 0 : x->d[0];
}
static void r_max_relu(struct lane *x)
{
    r_max(x);
    x->d[0] = (s32)x->d[0] < 0 ? 0 : x->d[0];
}
static s128 product(const struct lane *x) /* of two 64-bit unsigned numbers it wraps into the sign */
{
    return (s128)((u128)num(x, 0) * (u128)num(x, 1));
}
static u64 high(const struct lane *x) /* arithmetic shift of a signed product, logical otherwise */
{
    return x->p < 0 ? (u64)(product(x) >> bits_of(x)) : (u64)((u128)product(x) >> bits_of(x));
}
static void r_mul_lo(struct lane *x) { x->d[0] = (u64)product(x); }
static void r_mad_lo(struct lane *x) { x->d[0] = (u64)(product(x) + num(x, 2)); }
static void r_mul_hi(struct lane *x) { x->d[0] = high(x); }
static void r_mad_hi(struct lane *x) { x->d[0] = high(x) + (u64)num(x, 2); }
static void r_mad_hi_sat(struct lane *x) { x->d[0] = (u64)clamp32((s128)(s32)high(x) + num(x, 2)); }
static void r_mul_wide(struct lane *x) { x->d[0] = (u64)product(x); }
static void r_mad_wide(struct lane *x) { x->d[0] = (u64)(product(x) + wide_c(x)); }
static s128 num24(const struct lane *x, unsigned n)
{
    struct lane y = *x;
    y.p = x->p < 0 ? -24 : 24;
    return num(&y, n);
}
static void r_mul24_lo(struct lane *x) { x->d[0] = (u64)(num24(x, 0) * num24(x, 1)); }
static void r_mul24_hi(struct lane *x) { x->d[0] = (u64)((num24(x, 0) * num24(x, 1)) >> 16); }
static void r_mad24_lo(struct lane *x)
{
    r_mul24_lo(x);
    x->d[0] += x->s[2];
}
static void r_mad24_hi(struct lane *x)
{
    r_mul24_hi(x);
    x->d[0] += x->s[2];
}
static void r_mad24_hi_sat(struct lane *x)
{
    r_mul24_hi(x);
    x->d[0] = (u64)clamp32((s128)(s32)x->d[0] + num(x, 2));
}
static void r_sad(struct lane *x) { x->d[0] = (u64)(num(x, 2) + magnitude(num(x, 0) - num(x, 1))); }
/* unspecified for 0 in PTX; what we promise is all ones and no trap */
static void r_div(struct lane *x) { x->d[0] = num(x, 1) == 0 ? ~0ull : (u64)(num(x, 0) / num(x, 1)); }
static void r_rem(struct lane *x) { x->d[0] = num(x, 1) == 0 ? x->s[0] : (u64)(num(x, 0) % num(x, 1)); }

/* q: bit 0 = reads the carry, bit 1 = writes it */
static void with_carry(struct lane *x, u128 sum)
{
    x->d[0] = (u64)sum;
    if (x->q & 2)
        x->carry = (sum >> bits_of(x)) & 1;
}
static u128 raw(const struct lane *x, unsigned n) { return bits_of(x) == 64 ? x->s[n] : (u32)x->s[n]; }
static unsigned carry_in(const struct lane *x) { return x->q & 1 ? x->carry : 0; }
static u64 trim(const struct lane *x, u64 v) { return bits_of(x) == 64 ? v : (u32)v; }
static void r_addx(struct lane *x) { with_carry(x, raw(x, 0) + raw(x, 1) + carry_in(x)); }
static void r_subx(struct lane *x) /* a + ~b + 1: the carry is set where nothing is borrowed */
{
    with_carry(x, raw(x, 0) + trim(x, ~x->s[1]) + (x->q & 1 ? x->carry : 1));
}
static void r_madx_lo(struct lane *x) { with_carry(x, (u128)trim(x, (u64)product(x)) + raw(x, 2) + carry_in(x)); }
static void r_madx_hi(struct lane *x) { with_carry(x, (u128)trim(x, high(x)) + raw(x, 2) + carry_in(x)); }

static s64 lane_part(u64 v, unsigned n, unsigned bits, bool is_signed)
{
    u64 u = v >> (n * bits) & ((1ull << bits) - 1);
    return is_signed && u >> (bits - 1) ? (s64)u - (1ll << bits) : (s64)u;
}
/* p: bit 0 a signed, bit 1 b signed, bit 2 dp2a.hi */
static void r_dp4a(struct lane *x)
{
    s64 sum = (s64)x->s[2];
    for (unsigned n = 0; n < 4; n++)
        sum += lane_part(x->s[0], n, 8, x->p & 1) * lane_part(x->s[1], n, 8, x->p & 2);
    x->d[0] = (u64)sum;
}
static void r_dp2a(struct lane *x)
{
    s64 sum = (s64)x->s[2];
    for (unsigned n = 0; n < 2; n++)
        sum += lane_part(x->s[0], n, 16, x->p & 1) * lane_part(x->s[1], n + (x->p & 4 ? 2 : 0), 8, x->p & 2);
    x->d[0] = (u64)sum;
}

/* 16-bit pairs: p = 0 add, 1 min, 2 max; q = signed, 2 = relu */
static void r_pair(struct lane *x)
{
    x->d[0] = 0;
    for (unsigned n = 0; n < 2; n++) {
        s64 a = lane_part(x->s[0], n, 16, x->q), b = lane_part(x->s[1], n, 16, x->q);
        s64 v = x->p == 0 ? a + b : x->p == 1 ? (a < b ? a : b) : a > b ? a : b;
        x->d[0] |= (u64)((x->q == 2 && v < 0 ? 0 : v) & 0xffff) << (16 * n);
    }
}

/* Video. p: operation; q: bits 0-2 d, a, b signed, 3 sat, 4-5 second operation, 8 and up parts */
static s64 video_op(long op, s64 a, s64 b)
{
    switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case 3: return a < b ? b - a : a - b;
    case 4: return a < b ? a : b;
    case 5: return a < b ? b : a;
    case 6: return (s64)((u64)a << (b < 0 || b > 32 ? 32 : b)); /* vshl.clamp */
    case 7: return a >> (b < 0 || b > 32 ? 32 : b);             /* vshr.clamp */
    case 8: return (s64)((u64)a << (b & 31));
    default: return a >> (b & 31);
    }
}
static void r_video(struct lane *x)
{
    const unsigned parts = (unsigned)(x->q >> 8), bits = 32 / parts;
    const bool sat = x->q & 8, dsigned = x->q & 1;
    const long second = x->q >> 4 & 3;
    u32 sum = (u32)x->s[2], merged = 0;
    for (unsigned n = 0; n < parts; n++) {
        s64 t = video_op(x->p, lane_part(x->s[0], n, bits, x->q & 2), lane_part(x->s[1], n, bits, x->q & 4));
        if (sat)
            t = (s64)clamp(t, dsigned ? -(1ll << (bits - 1)) : 0,
                           dsigned ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1);
        sum += (u32)t;
        merged |= (u32)((u64)t & ((1ull << bits) - 1)) << (n * bits);
    }
    if (second == 1) {
        x->d[0] = sum;
    } else if (second) {
        bool less = dsigned ? (s32)merged < (s32)x->s[2] : merged < (u32)x->s[2];
        x->d[0] = less == (second == 2) ? merged : x->s[2];
    } else {
        x->d[0] = merged;
    }
}

static const struct {
    const char *name;
    long p;
    char reg;
} types[] = {{"u16", 16, 'h'},  {"s16", -16, 'h'}, {"u32", 32, 'r'},
             {"s32", -32, 'r'}, {"u64", 64, 'd'},  {"s64", -64, 'd'}};

static const char *regs(char d, char s, unsigned n, char c)
{
    static char sig[8];
    snprintf(sig, sizeof sig, "%c:%c%c%c", d, s, n > 1 ? s : 0, n > 2 ? c : 0);
    return sig;
}

static void plain(void)
{
    for (unsigned n = 0; n < 6; n++) {
        const char *t = types[n].name;
        const char r = types[n].reg;
        const long p = types[n].p;
        insn_check(regs(r, r, 2, 0), r_add, p, 0, "add.%s", t);
        insn_check(regs(r, r, 2, 0), r_sub, p, 0, "sub.%s", t);
        insn_check(regs(r, r, 2, 0), r_min, p, 0, "min.%s", t);
        insn_check(regs(r, r, 2, 0), r_max, p, 0, "max.%s", t);
        insn_check(regs(r, r, 2, 0), r_mul_lo, p, 0, "mul.lo.%s", t);
        insn_check(regs(r, r, 3, r), r_mad_lo, p, 0, "mad.lo.%s", t);
        insn_check(regs(r, r, 2, 0), r_mul_hi, p, 0, "mul.hi.%s", t);
        insn_check(regs(r, r, 3, r), r_mad_hi, p, 0, "mad.hi.%s", t);
        insn_check(regs(r, r, 3, r), r_sad, p, 0, "sad.%s", t);
        insn_check(regs(r, r, 2, 0), r_div, p, 0, "div.%s", t);
        insn_check(regs(r, r, 2, 0), r_rem, p, 0, "rem.%s", t);
        if (p < 0) {
            insn_check(regs(r, r, 1, 0), r_neg, p, 0, "neg.%s", t);
            insn_check(regs(r, r, 1, 0), r_abs, p, 0, "abs.%s", t);
        }
        if (r != 'd') {
            const char w = r == 'h' ? 'r' : 'd';
            insn_check(regs(w, r, 2, 0), r_mul_wide, p, 0, "mul.wide.%s", t);
            insn_check(regs(w, r, 3, w), r_mad_wide, p, 0, "mad.wide.%s", t);
        }
        if (r == 'r') {
            insn_check("r:rr", r_mul24_lo, p, 0, "mul24.lo.%s", t);
            insn_check("r:rr", r_mul24_hi, p, 0, "mul24.hi.%s", t);
            insn_check("r:rrr", r_mad24_lo, p, 0, "mad24.lo.%s", t);
            insn_check("r:rrr", r_mad24_hi, p, 0, "mad24.hi.%s", t);
        }
    }
    insn_check("r:rr", r_addsat, -32, 0, "add.sat.s32");
    insn_check("r:rr", r_subsat, -32, 0, "sub.sat.s32");
    insn_check("r:rrr", r_mad_hi_sat, -32, 0, "mad.hi.sat.s32");
    insn_check("r:rrr", r_mad24_hi_sat, -32, 0, "mad24.hi.sat.s32");
    insn_check("r:rr", r_min_relu, -32, 0, "min.relu.s32");
    insn_check("r:rr", r_max_relu, -32, 0, "max.relu.s32");
    insn_check("r:rr", r_pair, 0, 0, "add.u16x2");
    insn_check("r:rr", r_pair, 0, 1, "add.s16x2");
    insn_check("r:rr", r_pair, 1, 0, "min.u16x2");
    insn_check("r:rr", r_pair, 1, 1, "min.s16x2");
    insn_check("r:rr", r_pair, 1, 2, "min.relu.s16x2");
    insn_check("r:rr", r_pair, 2, 0, "max.u16x2");
    insn_check("r:rr", r_pair, 2, 1, "max.s16x2");
    insn_check("r:rr", r_pair, 2, 2, "max.relu.s16x2");
}

static void carries(void)
{
    for (unsigned n = 2; n < 6; n++) {
        const char *t = types[n].name;
        const char r = types[n].reg;
        const long p = types[n].p;
        insn_check(regs(r, r, 2, 0), r_addx, p, 2, "add.cc.%s", t);
        insn_check(regs(r, r, 2, 0), r_addx, p, 1, "addc.%s", t);
        insn_check(regs(r, r, 2, 0), r_addx, p, 3, "addc.cc.%s", t);
        insn_check(regs(r, r, 2, 0), r_subx, p, 2, "sub.cc.%s", t);
        insn_check(regs(r, r, 2, 0), r_subx, p, 1, "subc.%s", t);
        insn_check(regs(r, r, 2, 0), r_subx, p, 3, "subc.cc.%s", t);
        insn_check(regs(r, r, 3, r), r_madx_lo, p, 2, "mad.lo.cc.%s", t);
        insn_check(regs(r, r, 3, r), r_madx_hi, p, 2, "mad.hi.cc.%s", t);
        insn_check(regs(r, r, 3, r), r_madx_lo, p, 1, "madc.lo.%s", t);
        insn_check(regs(r, r, 3, r), r_madx_lo, p, 3, "madc.lo.cc.%s", t);
        insn_check(regs(r, r, 3, r), r_madx_hi, p, 1, "madc.hi.%s", t);
        insn_check(regs(r, r, 3, r), r_madx_hi, p, 3, "madc.hi.cc.%s", t);
    }
}

static void dots_and_video(void)
{
    static const char *const name[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
    static const char *const second[] = {"", ".add", ".min", ".max"};
    for (long s = 0; s < 4; s++) {
        const char *a = s & 1 ? "s32" : "u32", *b = s & 2 ? "s32" : "u32";
        insn_check("r:rrr", r_dp4a, s, 0, "dp4a.%s.%s", a, b);
        insn_check("r:rrr", r_dp2a, s, 0, "dp2a.lo.%s.%s", a, b);
        insn_check("r:rrr", r_dp2a, s | 4, 0, "dp2a.hi.%s.%s", a, b);
    }
    for (long op = 0; op < 6; op++)
        for (long q = 0; q < 16; q++) {
            const char *d = q & 1 ? "s32" : "u32", *a = q & 2 ? "s32" : "u32", *b = q & 4 ? "s32" : "u32";
            const char *sat = q & 8 ? ".sat" : "";
            for (long s = 0; op != 2 && s < 4; s++)
                insn_check(s ? "r:rrr" : "r:rr", r_video, op, q | s << 4 | 1 << 8, "%s.%s.%s.%s%s%s", name[op], d, a, b,
                           sat, second[s]);
            for (int parts = 2; parts <= 4; parts += 2)
                for (long s = 0; s < 2; s++)
                    insn_check("r:rrr", r_video, op, q | s << 4 | (long)parts << 8, "%s%d.%s.%s.%s%s%s", name[op],
                               parts, d, a, b, sat, second[s]);
        }
    for (long s = 0; s < 4; s++) {
        const char *const sig = s ? "r:rsr" : "r:rs";
        insn_check(sig, r_video, 6, s << 4 | 1 << 8, "vshl.u32.u32.u32.clamp%s", second[s]);
        insn_check(sig, r_video, 7, s << 4 | 1 << 8, "vshr.u32.u32.u32.clamp%s", second[s]);
        insn_check(sig, r_video, 8, s << 4 | 1 << 8, "vshl.u32.u32.u32.wrap%s", second[s]);
        insn_check(sig, r_video, 9, 2 | 1 | s << 4 | 1 << 8, "vshr.s32.s32.u32.wrap%s", second[s]);
    }
}

int main(void)
{
    plain();
    carries();
    dots_and_video();
    return insn_done();
}
