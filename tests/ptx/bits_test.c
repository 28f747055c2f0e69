/* Logic, shifts, bit fields, permutations, moves and packs, against bit-by-bit references. */
#include "insn.h"

#include <stdio.h>

static int width(const struct lane *x) { return (int)x->p; }
static bool bit(u64 v, int n) { return v >> n & 1; }

/* q: 0 and, 1 or, 2 xor, 3 not, 4 cnot */
static void r_logic(struct lane *x)
{
    x->d[0] = 0;
    for (int n = 0; n < width(x); n++) {
        bool a = bit(x->s[0], n), b = bit(x->s[1], n);
        bool v = x->q == 0 ? a && b : x->q == 1 ? a || b : x->q == 2 ? a != b : !a;
        x->d[0] |= (u64)v << n;
    }
    if (x->q == 4)
        x->d[0] = x->s[0] == 0;
}
static void r_lop3(struct lane *x)
{
    x->d[0] = 0;
    for (int n = 0; n < 32; n++) {
        int row = bit(x->s[0], n) * 4 + bit(x->s[1], n) * 2 + bit(x->s[2], n);
        x->d[0] |= (u64)bit((u64)x->q, row) << n;
    }
}
/* one step at a time: amounts above the width shift everything out */
static void r_shl(struct lane *x)
{
    x->d[0] = x->s[0];
    for (u64 n = 0; n < x->s[1] && n < 100; n++)
        x->d[0] <<= 1;
}
static void r_shr(struct lane *x) /* q: signed */
{
    bool sign = x->q && bit(x->s[0], width(x) - 1);
    x->d[0] = x->s[0];
    for (u64 n = 0; n < x->s[1] && n < 100; n++)
        x->d[0] = x->d[0] >> 1 | (u64)sign << (width(x) - 1);
}
static void r_shf(struct lane *x) /* p: left, q: wrap */
{
    u64 n = x->q ? x->s[2] & 31 : x->s[2] > 32 ? 32 : x->s[2], v = x->s[1] << 32 | x->s[0];
    x->d[0] = x->p ? (n == 32 ? v : v << n >> 32) : v >> n;
    if (x->p && n == 32)
        x->d[0] = x->s[0];
}
static void r_popc(struct lane *x)
{
    x->d[0] = 0;
    for (int n = 0; n < width(x); n++)
        x->d[0] += bit(x->s[0], n);
}
static void r_clz(struct lane *x)
{
    x->d[0] = 0;
    for (int n = width(x) - 1; n >= 0 && !bit(x->s[0], n); n--)
        x->d[0]++;
}
static void r_brev(struct lane *x)
{
    x->d[0] = 0;
    for (int n = 0; n < width(x); n++)
        x->d[0] |= (u64)bit(x->s[0], n) << (width(x) - 1 - n);
}
static void r_bfind(struct lane *x) /* q: bit 0 signed, bit 1 shiftamt */
{
    bool flip = (x->q & 1) && bit(x->s[0], width(x) - 1);
    x->d[0] = ~0ull;
    for (int n = width(x) - 1; n >= 0; n--)
        if (bit(x->s[0], n) != flip) {
            x->d[0] = (u64)(x->q & 2 ? width(x) - 1 - n : n);
            return;
        }
}
static void r_fns(struct lane *x)
{
    s64 base = (s64)x->s[1], offset = (s32)x->s[2], count = offset < 0 ? -offset : offset;
    x->d[0] = 0xffffffff;
    if (base > 31)
        return;
    if (offset == 0) {
        if (bit(x->s[0], (int)base))
            x->d[0] = (u64)base;
        return;
    }
    for (s64 n = base; n >= 0 && n<32; n += offset> 0 ? 1 : -1)
        if (bit(x->s[0], (int)n) && --count == 0) {
            x->d[0] = (u64)n;
            return;
        }
}
/* a position or length: a byte, but of 64-bit fields all 32 bits */
static s64 place(const struct lane *x, u64 v) { return (s64)(v & (width(x) == 32 ? 0xff : 0xffffffff)); }
static void r_bfe(struct lane *x) /* q: signed */
{
    const s64 msb = width(x) - 1, pos = place(x, x->s[1]), len = place(x, x->s[2]);
    bool sbit = !x->q || len == 0 ? false : bit(x->s[0], (int)(pos + len - 1 < msb ? pos + len - 1 : msb));
    x->d[0] = 0;
    for (int n = 0; n <= msb; n++)
        x->d[0] |= (u64)(n < len && pos + n <= msb ? bit(x->s[0], (int)(pos + n)) : sbit) << n;
}
static void r_bfi(struct lane *x)
{
    const s64 msb = width(x) - 1, pos = place(x, x->s[2]), len = place(x, x->s[3]);
    x->d[0] = x->s[1];
    for (int n = 0; n < len && pos + n <= msb; n++)
        x->d[0] = (x->d[0] & ~(1ull << (pos + n))) | (u64)bit(x->s[0], n) << (pos + n);
}
static void r_bmsk(struct lane *x) /* q: wrap */
{
    u64 a = x->q ? x->s[0] & 31 : x->s[0], b = x->q ? x->s[1] & 31 : x->s[1];
    x->d[0] = 0;
    for (u64 n = 0; n < 32; n++)
        x->d[0] |= (u64)(n >= a && n - a < b) << n;
}
static void r_szext(struct lane *x) /* p: signed, q: wrap */
{
    u64 n = x->q ? x->s[1] & 31 : x->s[1];
    bool sign = x->p && n > 0 && n < 32 && bit(x->s[0], (int)n - 1);
    x->d[0] = 0;
    for (u64 k = 0; k < 32; k++)
        x->d[0] |= (u64)(k < n ? bit(x->s[0], (int)k) : sign) << k;
}
/* prmt: the ISA's selector tables, most significant byte first */
static void r_prmt(struct lane *x)
{
    static const char *const mode[][4] = {{"3210", "4321", "5432", "6543"}, {"5670", "6701", "7012", "0123"},
                                          {"0000", "1111", "2222", "3333"}, {"3210", "3211", "3222", "3333"},
                                          {"0000", "1110", "2210", "3210"}, {"1010", "3232", "1010", "3232"}};
    x->d[0] = 0;
    for (int n = 0; n < 4; n++) {
        u64 sel = x->q ? (u64)(mode[x->q - 1][x->s[2] & 3][3 - n] - '0') : x->s[2] >> (4 * n) & 15;
        u64 from = (sel & 7) < 4 ? x->s[0] : x->s[1], byte = from >> (8 * (sel & 3)) & 0xff;
        if (sel & 8)
            byte = byte & 0x80 ? 0xff : 0;
        x->d[0] |= byte << (8 * n);
    }
}
static void r_mov(struct lane *x) { x->d[0] = x->s[0]; }
static void r_pack(struct lane *x) /* p parts of q bits */
{
    x->d[0] = 0;
    for (long n = 0; n < x->p; n++)
        x->d[0] |= (x->s[n] & ((1ull << x->q) - 1)) << (n * x->q);
}
static void r_unpack(struct lane *x)
{
    for (long n = 0; n < x->p; n++)
        x->d[n] = x->s[0] >> (n * x->q) & ((1ull << x->q) - 1);
}
static void r_selp(struct lane *x) { x->d[0] = x->s[2] ? x->s[0] : x->s[1]; }
static void r_slct_s32(struct lane *x) { x->d[0] = (s32)x->s[2] >= 0 ? x->s[0] : x->s[1]; }
static void r_slct_f32(struct lane *x) /* q: ftz */
{
    float c = bits_f32(x->s[2]);
    if (x->q && (x->s[2] & 0x7f800000) == 0)
        c = 0;
    x->d[0] = c >= 0 ? x->s[0] : x->s[1];
}
static void r_testp(struct lane *x) /* p: width, q: class */
{
    u64 abs = x->s[0] & (x->p == 64 ? ~0ull >> 1 : 0x7fffffffull);
    u64 inf = x->p == 64 ? 0x7ffull << 52 : 0x7f800000ull, least = x->p == 64 ? 1ull << 52 : 0x800000;
    const bool is[] = {abs<inf, abs == inf, abs <= inf, abs> inf, abs < inf && (abs >= least || abs == 0),
                       abs > 0 && abs < least};
    x->d[0] = is[x->q];
}

static void logic(void)
{
    static const char *const name[] = {"and", "or", "xor", "not", "cnot"};
    static const struct {
        long bits;
        char r;
        const char *sfx;
    } w[] = {{16, 'h', "b16"}, {32, 'r', "b32"}, {64, 'd', "b64"}, {1, 'p', "pred"}};
    for (long op = 0; op < 5; op++)
        for (unsigned k = 0; k < (op == 4 ? 3 : 4); k++) {
            char sig[8];
            snprintf(sig, sizeof sig, op < 3 ? "%c:%c%c" : "%c:%c", w[k].r, w[k].r, w[k].r);
            insn_check(sig, r_logic, w[k].bits, op, "%s.%s", name[op], w[k].sfx);
        }
    for (long lut = 0; lut < 256; lut++)
        insn_check("r:rrr", r_lop3, 0, lut, "lop3.b32 $d, $a, $b, $c, %ld", lut);
}
static void shifts(void)
{
    insn_check("h:hs", r_shl, 16, 0, "shl.b16");
    insn_check("r:rs", r_shl, 32, 0, "shl.b32");
    insn_check("d:ds", r_shl, 64, 0, "shl.b64");
    insn_check("r:rr", r_shl, 32, 0, "shl.b32");
    static const struct {
        const char *t, *sig;
        long bits, is_signed;
    } s[] = {{"u16", "h:hs", 16, 0}, {"s16", "h:hs", 16, 1}, {"b16", "h:hs", 16, 0},
             {"u32", "r:rs", 32, 0}, {"s32", "r:rs", 32, 1}, {"b32", "r:rs", 32, 0},
             {"u64", "d:ds", 64, 0}, {"s64", "d:ds", 64, 1}, {"b64", "d:ds", 64, 0}};
    for (unsigned n = 0; n < sizeof s / sizeof s[0]; n++)
        insn_check(s[n].sig, r_shr, s[n].bits, s[n].is_signed, "shr.%s", s[n].t);
    for (long left = 0; left < 2; left++)
        for (long wrap = 0; wrap < 2; wrap++)
            insn_check("r:rrs", r_shf, left, wrap, "shf.%c.%s.b32", left ? 'l' : 'r', wrap ? "wrap" : "clamp");
}
static void fields(void)
{
    insn_check("r:r", r_popc, 32, 0, "popc.b32");
    insn_check("r:d", r_popc, 64, 0, "popc.b64");
    insn_check("r:r", r_clz, 32, 0, "clz.b32");
    insn_check("r:d", r_clz, 64, 0, "clz.b64");
    insn_check("r:r", r_brev, 32, 0, "brev.b32");
    insn_check("d:d", r_brev, 64, 0, "brev.b64");
    for (long s = 0; s < 2; s++)
        for (long amt = 0; amt < 2; amt++) {
            insn_check("r:r", r_bfind, 32, s | amt << 1, "bfind%s.%c32", amt ? ".shiftamt" : "", s ? 's' : 'u');
            insn_check("r:d", r_bfind, 64, s | amt << 1, "bfind%s.%c64", amt ? ".shiftamt" : "", s ? 's' : 'u');
        }
    for (long s = 0; s < 2; s++) {
        insn_check("r:rss", r_bfe, 32, s, "bfe.%c32", s ? 's' : 'u');
        insn_check("d:dss", r_bfe, 64, s, "bfe.%c64", s ? 's' : 'u');
        insn_check("r:rrr", r_bfe, 32, s, "bfe.%c32", s ? 's' : 'u');
        insn_check("d:drr", r_bfe, 64, s, "bfe.%c64", s ? 's' : 'u');
        for (long wrap = 0; wrap < 2; wrap++)
            insn_check("r:rk", r_szext, s, wrap, "szext.%s.%c32", wrap ? "wrap" : "clamp", s ? 's' : 'u');
    }
    insn_check("r:rrss", r_bfi, 32, 0, "bfi.b32");
    insn_check("d:ddss", r_bfi, 64, 0, "bfi.b64");
    insn_check("r:rrrr", r_bfi, 32, 0, "bfi.b32");
    insn_check("d:ddrr", r_bfi, 64, 0, "bfi.b64");
    insn_check("r:kk", r_bmsk, 0, 0, "bmsk.clamp.b32");
    insn_check("r:kk", r_bmsk, 0, 1, "bmsk.wrap.b32");
    insn_check("r:rkk", r_fns, 0, 0, "fns.b32");
    insn_check("r:rrr", r_fns, 0, 0, "fns.b32");
    static const char *const mode[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    for (long m = 0; m < 7; m++)
        insn_check("r:rrr", r_prmt, 0, m, "prmt.b32%s", mode[m]);
}
static void moves(void)
{
    static const char *const t32[] = {"b32", "u32", "s32", "f32"}, *const t64[] = {"b64", "u64", "s64", "f64"};
    for (unsigned n = 0; n < 4; n++) {
        insn_check("r:r", r_mov, 0, 0, "mov.%s", t32[n]);
        insn_check("d:d", r_mov, 0, 0, "mov.%s", t64[n]);
        insn_check("r:rrp", r_selp, 0, 0, "selp.%s", t32[n]);
        insn_check("d:ddp", r_selp, 0, 0, "selp.%s", t64[n]);
        insn_check("r:rrr", r_slct_s32, 0, 0, "slct.%s.s32", t32[n]);
        insn_check("d:ddr", r_slct_s32, 0, 0, "slct.%s.s32", t64[n]);
        for (long ftz = 0; ftz < 2; ftz++) {
            insn_check("r:rrf", r_slct_f32, 0, ftz, "slct%s.%s.f32", ftz ? ".ftz" : "", t32[n]);
            insn_check("d:ddf", r_slct_f32, 0, ftz, "slct%s.%s.f32", ftz ? ".ftz" : "", t64[n]);
        }
    }
    static const char *const t16[] = {"b16", "u16", "s16"};
    for (unsigned n = 0; n < 3; n++) {
        insn_check("h:h", r_mov, 0, 0, "mov.%s", t16[n]);
        insn_check("h:hhp", r_selp, 0, 0, "selp.%s", t16[n]);
        insn_check("h:hhr", r_slct_s32, 0, 0, "slct.%s.s32", t16[n]);
        insn_check("h:hhf", r_slct_f32, 0, 1, "slct.ftz.%s.f32", t16[n]);
    }
    insn_check("p:p", r_mov, 0, 0, "mov.pred");
    insn_check("r:hh", r_pack, 2, 16, "mov.b32 $d, {$a, $b}");
    insn_check("d:rr", r_pack, 2, 32, "mov.b64 $d, {$a, $b}");
    insn_check("d:hhhh", r_pack, 4, 16, "mov.b64 $d, {$a, $b, $c, $h}");
    insn_check("hh:r", r_unpack, 2, 16, "mov.b32 {$d, $e}, $a");
    insn_check("rr:d", r_unpack, 2, 32, "mov.b64 {$d, $e}, $a");
    insn_check("hhhh:d", r_unpack, 4, 16, "mov.b64 {$d, $e, $f, $g}, $a");
}
static void classes(void)
{
    static const char *const name[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    for (long c = 0; c < 6; c++) {
        insn_check("p:f", r_testp, 32, c, "testp.%s.f32", name[c]);
        insn_check("p:F", r_testp, 64, c, "testp.%s.f64", name[c]);
    }
}

int main(void)
{
    logic();
    shifts();
    fields();
    moves();
    classes();
    return insn_done();
}
