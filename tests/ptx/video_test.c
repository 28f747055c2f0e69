/* Video instructions with named bytes and halves, masks, comparisons and vmad, against the ISA's
 * definitions written out in 128-bit arithmetic. int_test.c has the plain forms. */
#include "insn.h"

#include <stdio.h>
#include <string.h>

typedef __int128 wide;

/* What the case at hand says; the reference of a lane looks here. */
static struct {
    const char *op;        /* vadd ... or the comparison */
    char a[8], b[8], d[8]; /* selectors without the dot, or "" */
    bool as, bs, ds, sat;
    int second; /* 0, '+', '<', '>' */
    unsigned parts;
    bool minus_a, minus_b, minus_c, po;
    unsigned shift;
} now;

static wide piece(u64 word, unsigned at, unsigned bits, bool is_signed)
{
    wide v = (word >> at) & ((1ull << bits) - 1);
    return is_signed && v >> (bits - 1) & 1 ? v - ((wide)1 << bits) : v;
}
static unsigned width_of(const char *sel) { return !*sel ? 32 : *sel == 'b' ? 8 : 16; }
static unsigned place_of(const char *sel) { return *sel ? (unsigned)(sel[1] - '0') * width_of(sel) : 0; }
static wide limited(wide v, wide lo, wide hi) { return v < lo ? lo : v > hi ? hi : v; }

static wide combined(wide a, wide b)
{
    static const char *const compare[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const bool is[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    for (unsigned k = 0; k < 6; k++)
        if (!strcmp(now.op, compare[k]))
            return is[k];
    if (!strcmp(now.op, "vadd"))
        return a + b;
    if (!strcmp(now.op, "vsub"))
        return a - b;
    if (!strcmp(now.op, "vavrg"))
        return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    if (!strcmp(now.op, "vabsdiff"))
        return a < b ? b - a : a - b;
    if (!strcmp(now.op, "vmin"))
        return a < b ? a : b;
    return a < b ? b : a;
}

static void r_scalar(struct lane *x)
{
    unsigned bits = width_of(now.d), at = place_of(now.d);
    wide t = combined(piece(x->s[0], place_of(now.a), width_of(now.a), now.as),
                      piece(x->s[1], place_of(now.b), width_of(now.b), now.bs));
    wide c = piece(x->s[2], 0, 32, now.ds);
    if (now.sat)
        t = limited(t, now.ds ? -((wide)1 << (bits - 1)) : 0, ((wide)1 << (now.ds ? bits - 1 : bits)) - 1);
    u64 ones = ((1ull << bits) - 1) << at, low = (u64)t;
    if (*now.d)
        x->d[0] = (low << at & ones) | (x->s[2] & ~ones);
    else if (now.second == '+')
        x->d[0] = (u32)(low + x->s[2]);
    else if (now.second)
        x->d[0] = (u32)(((piece((u64)t, 0, 32, now.ds) < c) == (now.second == '<')) ? low : x->s[2]);
    else
        x->d[0] = (u32)low;
}

/* Element k of a selector such as h31 or b7000: parts of a, then of b. */
static wide element(const struct lane *x, const char *sel, unsigned k, unsigned standard, bool sign)
{
    unsigned n = now.parts, bits = 32 / n;
    unsigned which = *sel ? (unsigned)(sel[n - k] - '0') : standard + k;
    return piece(x->s[which / n], which % n * bits, bits, sign);
}
static void r_simd(struct lane *x)
{
    unsigned n = now.parts, bits = 32 / n;
    u64 sum = x->s[2], merged = 0;
    for (unsigned k = 0; k < n; k++) {
        u64 ones = ((1ull << bits) - 1) << k * bits;
        char digit = (char)('0' + k);
        if (*now.d && !strchr(now.d, digit)) {
            merged |= x->s[2] & ones;
            continue;
        }
        wide t = combined(element(x, now.a, k, 0, now.as), element(x, now.b, k, n, now.bs));
        if (now.sat)
            t = limited(t, now.ds ? -((wide)1 << (bits - 1)) : 0, ((wide)1 << (now.ds ? bits - 1 : bits)) - 1);
        sum += (u64)t;
        merged |= (u64)t << k * bits & ones;
    }
    x->d[0] = now.second ? (u32)sum : merged;
}

static void r_vmad(struct lane *x)
{
    bool sign = now.as || now.bs || now.minus_a != now.minus_b || now.minus_c;
    wide a = piece(x->s[0], place_of(now.a), width_of(now.a), now.as);
    wide b = piece(x->s[1], place_of(now.b), width_of(now.b), now.bs);
    wide c = now.minus_c ? piece(~x->s[2], 0, 32, true) + 1 : piece(x->s[2], 0, 32, sign);
    wide t = (now.minus_a != now.minus_b ? -(a * b) : a * b) + c + now.po;
    t >>= now.shift;
    if (now.sat)
        t = limited(t, sign ? -((wide)1 << 31) : 0, sign ? ((wide)1 << 31) - 1 : ((wide)1 << 32) - 1);
    x->d[0] = (u32)t;
}

static const char *dot(char *out, const char *sel)
{
    out[0] = '.';
    strcpy(out + (*sel != 0), sel);
    return out;
}
static const char *type(bool is_signed) { return is_signed ? ".s32" : ".u32"; }

static void scalars(void)
{
    static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset"};
    static const char *const compare[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const sels[] = {"", "b0", "b1", "b2", "b3", "h0", "h1"};
    for (unsigned turn = 0; turn < 260; turn++) {
        char a[9], b[9], d[9], name[64];
        unsigned op = turn % 6, q = (unsigned)test_random();
        memset(&now, 0, sizeof now);
        strcpy(now.a, sels[q % 7]);
        strcpy(now.b, sels[q / 7 % 7]);
        strcpy(now.d, sels[q >> 8 & 1 ? (q >> 9) % 7 : 0]);
        now.as = q >> 16 & 1;
        now.bs = q >> 17 & 1;
        now.ds = op < 5 && (q >> 18 & 1);
        now.sat = op < 5 && (q >> 19 & 1);
        now.second = *now.d ? 0 : "\0+<>"[q >> 20 & 3];
        now.op = op < 5 ? ops[op] : compare[turn / 6 % 6];
        snprintf(name, sizeof name, "%s%s%s%s%s%s%s", ops[op], op < 5 ? type(now.ds) : "", type(now.as), type(now.bs),
                 now.sat ? ".sat" : "", op < 5 ? "" : ".", op < 5 ? "" : now.op);
        insn_check("r:rrr", r_scalar, 0, 0, "%s%s $d%s, $a%s, $b%s, $c", name,
                   now.second == '+'   ? ".add"
                   : now.second == '<' ? ".min"
                   : now.second        ? ".max"
                                       : "",
                   dot(d, now.d), dot(a, now.a), dot(b, now.b));
    }
}

static void select_parts(char *out, unsigned n)
{
    out[0] = n == 2 ? 'h' : 'b';
    for (unsigned k = 0; k < n; k++)
        out[1 + k] = (char)('0' + test_random() % (2 * n));
    out[1 + n] = 0;
}
static void simd(void)
{
    static const char *const ops[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"};
    static const char *const compare[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    for (unsigned turn = 0; turn < 320; turn++) {
        char a[9], b[9], d[9], name[64];
        unsigned op = turn % 7, q = (unsigned)test_random(), n = q & 1 ? 2 : 4, bits = 0;
        memset(&now, 0, sizeof now);
        now.parts = n;
        if (q & 2)
            select_parts(now.a, n);
        if (q & 4)
            select_parts(now.b, n);
        if (q & 8) {
            unsigned mask = 1 + (unsigned)(test_random() % ((1u << n) - 1));
            now.d[bits++] = n == 2 ? 'h' : 'b';
            for (unsigned k = n; k--;)
                if (mask >> k & 1)
                    now.d[bits++] = (char)('0' + k);
        }
        now.as = q >> 16 & 1;
        now.bs = q >> 17 & 1;
        now.ds = op < 6 && (q >> 18 & 1);
        now.second = q >> 19 & 1;
        now.sat = op < 6 && !now.second && (q >> 20 & 1);
        now.op = op < 6 ? ops[op] : compare[turn / 7 % 6];
        snprintf(name, sizeof name, "%s%u%s%s%s%s%s%s%s", ops[op], n, op < 6 ? type(now.ds) : "", type(now.as),
                 type(now.bs), now.sat ? ".sat" : "", op < 6 ? "" : ".", op < 6 ? "" : now.op,
                 now.second ? ".add" : "");
        insn_check("r:rrr", r_simd, 0, 0, "%s $d%s, $a%s, $b%s, $c", name, dot(d, now.d), dot(a, now.a), dot(b, now.b));
    }
}

static void vmad(void)
{
    static const char *const sels[] = {"", "b0", "b1", "b2", "b3", "h0", "h1"};
    static const char *const scale[] = {"", ".shr7", ".shr15"};
    static const unsigned shift[] = {0, 7, 15};
    for (unsigned turn = 0; turn < 160; turn++) {
        char a[9], b[9];
        unsigned q = (unsigned)test_random(), s = q % 3;
        memset(&now, 0, sizeof now);
        if (turn % 4) {
            strcpy(now.a, sels[q / 3 % 7]);
            strcpy(now.b, sels[q / 21 % 7]);
        }
        now.as = q >> 16 & 1;
        now.bs = q >> 17 & 1;
        now.sat = q >> 18 & 1;
        now.shift = shift[s];
        switch (q >> 20 & 7) {
        case 0: now.po = true; break;
        case 1: now.minus_c = true; break;
        case 2: now.minus_a = true; break;
        case 3: now.minus_b = true; break;
        case 4: now.minus_a = now.minus_b = true; break;
        default: break;
        }
        insn_check("r:rrr", r_vmad, 0, 0, "vmad%s%s%s%s%s%s $d, %s$a%s, %s$b%s, %s$c", type(q >> 24 & 1), type(now.as),
                   type(now.bs), now.po ? ".po" : "", now.sat ? ".sat" : "", scale[s], now.minus_a ? "-" : "",
                   dot(a, now.a), now.minus_b ? "-" : "", dot(b, now.b), now.minus_c ? "-" : "");
    }
}

int main(void)
{
    scalars();
    simd();
    vmad();
    return insn_done();
}
