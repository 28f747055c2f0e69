/* The arithmetic of the reference: plain C on one thread's values, written from the PTX ISA. Half
 * precision, approximations and video instructions are left to tests/ptx. */
#include "random/scalar.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#if defined(__clang__) || !defined(__GNUC__)
#pragma STDC FENV_ACCESS ON
#endif

static bool is_signed(unsigned t) { return t == PTX_S8 || t == PTX_S16 || t == PTX_S32 || t == PTX_S64; }
static bool is_int(unsigned t) { return (t >= PTX_U8 && t <= PTX_S64) || (t >= PTX_B8 && t <= PTX_B64); }
static unsigned width(unsigned t) { return t == PTX_PRED ? 1 : 8 * ptx_type_size(t); }
static uint64_t low(uint64_t v, unsigned bits) { return bits >= 64 ? v : v & ((1ull << bits) - 1); }
static int64_t sext(uint64_t v, unsigned bits)
{
    return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
}

uint64_t extend(uint64_t v, unsigned type, unsigned size)
{
    v = low(v, width(type));
    return low(is_signed(type) ? (uint64_t)sext(v, width(type)) : v, 8 * size);
}

/* ---- floats: f32 and f64, both held in double where that is exact ---- */

static float f32_of(uint64_t u)
{
    uint32_t v = (uint32_t)u;
    float x;
    memcpy(&x, &v, 4);
    return x;
}
static double f64_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}
static uint64_t of_f32(float x)
{
    uint32_t v;
    memcpy(&v, &x, 4);
    return v;
}
static uint64_t of_f64(double x)
{
    uint64_t v;
    memcpy(&v, &x, 8);
    return v;
}
static float flush(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }

static int mode_of(const struct ptx_instr *in)
{
    switch (in->rnd) {
    case PTX_RZ:
    case PTX_RZI: return FE_TOWARDZERO;
    case PTX_RM:
    case PTX_RMI: return FE_DOWNWARD;
    case PTX_RP:
    case PTX_RPI: return FE_UPWARD;
    default: return FE_TONEAREST;
    }
}

static double lesser(double x, double y, bool nan)
{
    if (isnan(x) || isnan(y))
        return nan ? (double)NAN : isnan(x) ? y : x;
    return x == y ? (signbit(x) ? x : y) : x < y ? x : y;
}
static double greater(double x, double y, bool nan)
{
    if (isnan(x) || isnan(y))
        return nan ? (double)NAN : isnan(x) ? y : x;
    return x == y ? (signbit(x) ? y : x) : x > y ? x : y;
}

static bool float_op(const struct ptx_instr *in, const uint64_t s[4], uint64_t *d)
{
    bool single = in->type[0] == PTX_F32, ftz = in->flags & PTX_F_FTZ;
    volatile double x[3], r;
    volatile float e[3], g = 0;
    if (in->flags & (PTX_F_APPROX | PTX_F_FULL))
        return false;
    for (unsigned k = 0; k < 3; k++) {
        e[k] = ftz ? flush(f32_of(s[k])) : f32_of(s[k]);
        x[k] = single ? (double)e[k] : f64_of(s[k]);
    }
    int old = fegetround();
    fesetround(mode_of(in));
    bool known = true;
    r = 0;
    switch (in->op) {
    case PTX_OP_ADD:
        g = e[0] + e[1];
        r = x[0] + x[1];
        break;
    case PTX_OP_SUB:
        g = e[0] - e[1];
        r = x[0] - x[1];
        break;
    case PTX_OP_MUL:
        g = e[0] * e[1];
        r = x[0] * x[1];
        break;
    case PTX_OP_FMA:
    case PTX_OP_MAD:
        if (single)
            g = fmaf(e[0], e[1], e[2]);
        else
            r = fma(x[0], x[1], x[2]);
        break;
    case PTX_OP_DIV:
        g = e[0] / e[1];
        r = x[0] / x[1];
        break;
    case PTX_OP_RCP:
        g = 1 / e[0];
        r = 1 / x[0];
        break;
    case PTX_OP_SQRT:
        g = sqrtf(e[0]);
        r = sqrt(x[0]);
        break;
    case PTX_OP_ABS:
        r = fabs(x[0]);
        g = (float)r;
        break;
    case PTX_OP_NEG:
        r = -x[0];
        g = (float)r;
        break;
    case PTX_OP_MIN:
    case PTX_OP_MAX: {
        bool xorsign = in->flags & PTX_F_XORSIGN, nan = in->flags & PTX_F_NAN;
        double p = xorsign ? fabs(x[0]) : x[0], q = xorsign ? fabs(x[1]) : x[1];
        r = in->op == PTX_OP_MIN ? lesser(p, q, nan) : greater(p, q, nan);
        if (xorsign)
            r = copysign(r, signbit(x[0]) != signbit(x[1]) ? -1.0 : 1.0);
        g = (float)r;
        break;
    }
    case PTX_OP_COPYSIGN:
        r = copysign(x[1], x[0]);
        g = (float)r;
        break;
    default: known = false;
    }
    if (ftz && fabsf(g) == 0x1p-126f) { /* was it less, with 24 bits? */
        volatile float more = e[0] * 0x1p24f, up = in->op == PTX_OP_MUL   ? more * e[1]
                                                   : in->op == PTX_OP_DIV ? more / e[1]
                                                   : in->op == PTX_OP_FMA || in->op == PTX_OP_MAD
                                                       ? fmaf(more, e[1], e[2] * 0x1p24f)
                                                       : g * 0x1p24f;
        g = fabsf(up) < 0x1p-102f ? copysignf(0, g) : g;
    }
    fesetround(old);
    if (ftz)
        g = flush(g);
    if (in->flags & PTX_F_SAT)
        g = g > 0 ? (g < 1 ? g : 1) : 0;
    *d = single ? of_f32(g) : of_f64(r);
    return known;
}

static bool ordered(unsigned cmp, int order) /* order: -1, 0, 1 */
{
    switch (cmp) {
    case PTX_EQ:
    case PTX_EQU: return order == 0;
    case PTX_NE:
    case PTX_NEU: return order != 0;
    case PTX_LT:
    case PTX_LTU: return order < 0;
    case PTX_LE:
    case PTX_LEU: return order <= 0;
    case PTX_GT:
    case PTX_GTU: return order > 0;
    case PTX_GE:
    case PTX_GEU: return order >= 0;
    default: return cmp == PTX_NUM;
    }
}

static bool compare(const struct ptx_instr *in, unsigned type, const uint64_t s[4], bool *yes)
{
    unsigned bits = width(type);
    if (is_int(type)) {
        int64_t x = sext(s[0], bits), y = sext(s[1], bits);
        uint64_t a = low(s[0], bits), b = low(s[1], bits);
        *yes = ordered(in->cmp, is_signed(type) ? (x > y) - (x < y) : (a > b) - (a < b));
        return true;
    }
    if (type != PTX_F32 && type != PTX_F64)
        return false;
    double x = type == PTX_F32 ? (double)f32_of(s[0]) : f64_of(s[0]);
    double y = type == PTX_F32 ? (double)f32_of(s[1]) : f64_of(s[1]);
    if (in->flags & PTX_F_FTZ) {
        x = flush((float)x);
        y = flush((float)y);
    }
    if (isnan(x) || isnan(y))
        *yes = in->cmp >= PTX_EQU && in->cmp <= PTX_GEU ? true : in->cmp == PTX_NAN;
    else
        *yes = ordered(in->cmp, (x > y) - (x < y));
    return true;
}

static bool compare_op(const struct ptx_instr *in, const uint64_t s[4], uint64_t d[2])
{
    bool yes, p, q;
    if (!compare(in, in->type[in->op == PTX_OP_SET], s, &yes))
        return false;
    bool c = s[2] & 1;
    switch (in->sub) {
    case PTX_SUB_AND:
        p = yes && c;
        q = !yes && c;
        break;
    case PTX_SUB_OR:
        p = yes || c;
        q = !yes || c;
        break;
    case PTX_SUB_XOR:
        p = yes != c;
        q = yes == c;
        break;
    default: p = yes; q = !yes;
    }
    d[0] = in->op == PTX_OP_SETP ? p : !p ? 0 : in->type[0] == PTX_F32 ? 0x3f800000 : 0xffffffff;
    d[1] = q;
    return in->op == PTX_OP_SETP || width(in->type[0]) == 32;
}

/* ---- conversions ---- */

static void bounds(unsigned type, int64_t *least, uint64_t *most)
{
    unsigned bits = width(type);
    *most = is_signed(type) ? (1ull << (bits - 1)) - 1 : low(~0ull, bits);
    *least = is_signed(type) ? -(int64_t)*most - 1 : 0;
}

/* NaN becomes 0, but 1 << (width - 1) where either side has 64 bits. */
static uint64_t to_int(double x, unsigned from, unsigned type)
{
    int64_t least;
    uint64_t most;
    bounds(type, &least, &most);
    if (isnan(x))
        return from == PTX_F64 || width(type) == 64 ? 1ull << (width(type) - 1) : 0;
    x = nearbyint(x);
    if (x >= (is_signed(type) ? ldexp(1, (int)width(type) - 1) : ldexp(1, (int)width(type))))
        return most;
    if (x <= (double)least)
        return (uint64_t)least;
    return is_signed(type) ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static bool convert(const struct ptx_instr *in, uint64_t s, uint64_t *d)
{
    unsigned to = in->type[0], from = in->type[1];
    bool ftz = in->flags & PTX_F_FTZ, sat = in->flags & PTX_F_SAT;
    bool from_float = from == PTX_F32 || from == PTX_F64, to_float = to == PTX_F32 || to == PTX_F64;
    if ((!from_float && !is_int(from)) || (!to_float && !is_int(to)) || in->sub || in->type[2] ||
        in->flags & PTX_F_RELU)
        return false;
    int64_t least;
    uint64_t most, u = low(s, width(from));
    int64_t i = sext(u, width(from));
    bool neg = is_signed(from) && i < 0;
    if (is_int(from) && is_int(to)) {
        bounds(to, &least, &most);
        *d = is_signed(from) ? (uint64_t)i : u;
        if (sat && neg && i < least)
            *d = (uint64_t)least;
        else if (sat && !neg && *d > most)
            *d = most;
        return true;
    }
    volatile float e = from == PTX_F32 ? f32_of(u) : 0;
    if (ftz)
        e = flush(e);
    volatile double x = from == PTX_F32 ? (double)e : from == PTX_F64 ? f64_of(u) : 0;
    volatile float g = 0;
    int old = fegetround();
    fesetround(mode_of(in));
    if (from_float && !to_float) {
        *d = to_int(x, from, to);
    } else if (from_float) {
        if (in->rnd >= PTX_RNI)
            x = nearbyint(x);
        g = (float)x;
    } else {
        g = is_signed(from) ? (float)i : (float)u;
        x = is_signed(from) ? (double)i : (double)u;
    }
    fesetround(old);
    if (!to_float)
        return true;
    if (ftz)
        g = flush(g);
    if (sat) {
        g = g > 0 ? (g < 1 ? g : 1) : 0;
        x = x > 0 ? (x < 1 ? x : 1) : 0;
    }
    *d = to == PTX_F32 ? of_f32(g) : of_f64(x);
    return true;
}

/* ---- integers ---- */

typedef unsigned __int128 u128;
typedef __int128 s128;

static uint64_t product(const struct ptx_instr *in, unsigned bits, uint64_t a, uint64_t b)
{
    u128 p = is_signed(in->type[0]) ? (u128)((s128)sext(a, bits) * sext(b, bits)) : (u128)a * b;
    return (uint64_t)(in->flags & PTX_F_HI ? p >> bits : p);
}

static uint64_t divide(unsigned type, uint64_t a, uint64_t b) /* by zero: all ones, as the GPU gives */
{
    unsigned bits = width(type);
    int64_t x = sext(a, bits), y = sext(b, bits);
    if (!b)
        return ~0ull;
    if (!is_signed(type))
        return a / b;
    return y == -1 ? 0 - (uint64_t)x : (uint64_t)(x / y);
}

static uint64_t shift_right(unsigned type, uint64_t a, uint64_t n)
{
    unsigned bits = width(type);
    if (is_signed(type))
        return (uint64_t)(sext(a, bits) >> (n >= bits ? bits - 1 : n));
    return n >= bits ? 0 : a >> n;
}

static uint64_t reverse(uint64_t a, unsigned bits)
{
    uint64_t r = 0;
    for (unsigned k = 0; k < bits; k++)
        r |= (a >> k & 1) << (bits - 1 - k);
    return r;
}

static uint64_t find_top(const struct ptx_instr *in, uint64_t a, unsigned bits)
{
    if (is_signed(in->type[0]) && sext(a, bits) < 0)
        a = low(~a, bits);
    for (unsigned k = bits; k-- > 0;)
        if (a >> k & 1)
            return in->flags & PTX_F_SHIFTAMT ? bits - 1 - k : k;
    return 0xffffffff;
}

/* A field's position or length: a byte, but of 64-bit fields all 32 bits. */
static uint64_t field_part(unsigned bits, uint64_t v) { return bits == 64 ? (uint32_t)v : v & 255; }

static uint64_t field(unsigned type, uint64_t a, uint64_t b, uint64_t c)
{
    unsigned bits = width(type);
    uint64_t pos = field_part(bits, b), len = field_part(bits, c);
    uint64_t sign = !is_signed(type) || !len ? 0 : a >> (pos + len - 1 < bits ? pos + len - 1 : bits - 1) & 1;
    uint64_t r = 0;
    for (unsigned k = 0; k < bits; k++)
        r |= (k < len && pos + k < bits ? a >> (pos + k) & 1 : sign) << k;
    return r;
}

static uint64_t insert(unsigned bits, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t pos = field_part(bits, c), len = field_part(bits, d);
    for (unsigned k = 0; k < len && pos + k < bits; k++)
        b = (b & ~(1ull << (pos + k))) | (a >> k & 1) << (pos + k);
    return b;
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t sel)
{
    uint64_t all = a | b << 32, r = 0;
    for (unsigned k = 0; k < 4; k++) {
        uint64_t byte = all >> 8 * (sel >> 4 * k & 7) & 255;
        if (sel >> 4 * k & 8)
            byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * k;
    }
    return r;
}

static uint64_t lut(const uint64_t s[4])
{
    uint64_t r = 0;
    for (unsigned k = 0; k < 32; k++)
        r |= (s[3] >> ((s[0] >> k & 1) << 2 | (s[1] >> k & 1) << 1 | (s[2] >> k & 1)) & 1) << k;
    return r;
}

static bool carry_op(const struct ptx_instr *in, unsigned bits, const uint64_t s[4], uint64_t *d, bool *cc)
{
    bool reads = in->op == PTX_OP_ADDC || in->op == PTX_OP_SUBC || in->op == PTX_OP_MADC;
    bool sub = in->op == PTX_OP_SUB || in->op == PTX_OP_SUBC;
    uint64_t a = s[0], b = s[1];
    if (in->op == PTX_OP_MAD || in->op == PTX_OP_MADC) {
        a = low(product(in, bits, a, b), bits);
        b = s[2];
    }
    u128 r = (u128)a + (sub ? low(~b, bits) : b) + (reads ? *cc : sub);
    *d = (uint64_t)r;
    if (in->flags & PTX_F_CC)
        *cc = r >> bits & 1;
    return true;
}

static bool int_op(const struct ptx_instr *in, const uint64_t s[4], uint64_t *d, bool *cc)
{
    unsigned type = in->type[0], bits = width(type);
    bool sg = is_signed(type);
    uint64_t a = low(s[0], bits), b = low(s[1], bits), c = low(s[2], bits);
    int64_t x = sext(a, bits), y = sext(b, bits);
    if (in->flags & PTX_F_CC || in->op == PTX_OP_ADDC || in->op == PTX_OP_SUBC || in->op == PTX_OP_MADC)
        return carry_op(in, bits, s, d, cc);
    if (in->flags & (PTX_F_SAT | PTX_F_RELU))
        return false;
    switch (in->op) {
    case PTX_OP_ADD: *d = a + b; return true;
    case PTX_OP_SUB: *d = a - b; return true;
    case PTX_OP_NEG: *d = 0 - a; return true;
    case PTX_OP_ABS: *d = x < 0 ? 0 - a : a; return true;
    case PTX_OP_MIN: *d = (sg ? x < y : a < b) ? a : b; return true;
    case PTX_OP_MAX: *d = (sg ? x > y : a > b) ? a : b; return true;
    case PTX_OP_MUL: *d = product(in, bits, a, b); return true;
    case PTX_OP_MAD: *d = product(in, bits, a, b) + (in->flags & PTX_F_WIDE ? s[2] : c); return true;
    case PTX_OP_MUL24:
    case PTX_OP_MAD24: {
        uint64_t p = sg ? (uint64_t)(sext(a, 24) * sext(b, 24)) : low(a, 24) * low(b, 24);
        *d = (in->flags & PTX_F_HI ? p >> 16 : p) + (in->op == PTX_OP_MAD24 ? c : 0);
        return true;
    }
    case PTX_OP_SAD: *d = c + ((sg ? x < y : a < b) ? b - a : a - b); return true;
    case PTX_OP_DIV: *d = divide(type, a, b); return true;
    case PTX_OP_REM: *d = a - b * divide(type, a, b); return true;
    case PTX_OP_AND: *d = a & b; return true;
    case PTX_OP_OR: *d = a | b; return true;
    case PTX_OP_XOR: *d = a ^ b; return true;
    case PTX_OP_NOT: *d = ~a; return true;
    case PTX_OP_CNOT: *d = !a; return true;
    case PTX_OP_SHL: *d = (uint32_t)s[1] >= bits ? 0 : a << (uint32_t)s[1]; return true;
    case PTX_OP_SHR: *d = shift_right(type, a, (uint32_t)s[1]); return true;
    case PTX_OP_POPC: *d = (uint64_t)__builtin_popcountll(a); return true;
    case PTX_OP_CLZ: *d = a ? (uint64_t)__builtin_clzll(a) - (64 - bits) : bits; return true;
    case PTX_OP_BREV: *d = reverse(a, bits); return true;
    case PTX_OP_BFIND: *d = find_top(in, a, bits); return true;
    case PTX_OP_BFE: *d = field(type, a, s[1], s[2]); return true;
    case PTX_OP_BFI: *d = insert(bits, a, b, s[2], s[3]); return true;
    case PTX_OP_SELP: *d = s[2] & 1 ? a : b; return true;
    case PTX_OP_SLCT:
        if (in->type[1] != PTX_S32)
            return false;
        *d = (int32_t)s[2] >= 0 ? a : b;
        return true;
    case PTX_OP_LOP3: *d = lut(s); return true;
    case PTX_OP_PRMT: *d = permute(a, b, s[2]); return in->sub == PTX_SUB_NONE;
    case PTX_OP_SHF: {
        uint32_t n = (uint32_t)s[2];
        n = in->flags & PTX_F_WRAP ? n & 31 : n > 32 ? 32 : n;
        uint64_t both = b << 32 | a;
        *d = in->sub == PTX_SUB_L ? (n == 32 ? a : both << n >> 32) : both >> n;
        return true;
    }
    default: return false;
    }
}

bool scalar(const struct ptx_instr *in, const uint64_t s[4], uint64_t d[2], bool *cc)
{
    unsigned type = in->type[0];
    d[0] = d[1] = 0;
    if (in->op == PTX_OP_SETP || in->op == PTX_OP_SET)
        return compare_op(in, s, d);
    if (in->op == PTX_OP_CVT)
        return convert(in, s[0], d);
    if (in->op == PTX_OP_SELP || in->op == PTX_OP_SLCT) {
        struct ptx_instr as_bits = *in;
        as_bits.type[0] = ptx_type_size(type) == 8 ? PTX_B64 : ptx_type_size(type) == 4 ? PTX_B32 : PTX_B16;
        return int_op(&as_bits, s, d, cc);
    }
    if (is_int(type) || type == PTX_PRED)
        return int_op(in, s, d, cc);
    return (type == PTX_F32 || type == PTX_F64) && float_op(in, s, d);
}
