/* The exact arithmetic of exact.h. */
#include "exact.h"

#include <string.h>

const struct format F16 = {10, 5, 0x7fff, false}, BF16 = {7, 8, 0x7fff, false}, F32 = {23, 8, 0x7fffffff, false},
                    F64 = {52, 11, 0x7fffffffffffffff, false}, TF32 = {10, 8, 0x3ffff, false},
                    E4M3 = {3, 4, 0x7f, true}, E5M2 = {2, 5, 0x7f, false};

static u64 sign_bit(const struct format *f) { return 1ull << (f->mant + f->expo); }
static int bias(const struct format *f) { return (1 << (f->expo - 1)) - 1; }
static u64 inf_code(const struct format *f) { return f->no_inf ? f->nan : ((1ull << f->expo) - 1) << f->mant; }
u64 infinity(const struct format *f, bool neg) { return inf_code(f) | (neg ? sign_bit(f) : 0); }
u64 negated(const struct format *f, u64 bits) { return bits ^ sign_bit(f); }
bool is_nan(const struct format *f, u64 bits)
{
    u64 mag = bits & (sign_bit(f) - 1);
    return f->no_inf ? mag == f->nan : mag > inf_code(f);
}
u64 flush(const struct format *f, u64 bits)
{
    u64 expo = bits >> f->mant & ((1ull << f->expo) - 1);
    return expo ? bits : bits & sign_bit(f);
}

/* ---- long integers ---- */

static void big_put(struct big *b, u64 v, int exponent) /* adds v * 2^exponent; places are distinct */
{
    unsigned at = (unsigned)(exponent + BIG_FRACTION), word = at / 64, shift = at % 64;
    b->w[word] |= v << shift;
    if (shift)
        b->w[word + 1] |= v >> (64 - shift);
}
static int big_compare(const struct big *a, const struct big *b)
{
    for (int n = BIG_WORDS - 1; n >= 0; n--)
        if (a->w[n] != b->w[n])
            return a->w[n] < b->w[n] ? -1 : 1;
    return 0;
}
static int big_top(const struct big *b) /* position of the leading one, -1 for zero */
{
    for (int n = BIG_WORDS - 1; n >= 0; n--)
        if (b->w[n])
            return n * 64 + 63 - __builtin_clzll(b->w[n]);
    return -1;
}
static bool big_bit(const struct big *b, int n) { return n >= 0 && (b->w[n / 64] >> (n % 64) & 1); }
static bool big_any_below(const struct big *b, int n)
{
    for (int k = 0; k < n / 64; k++)
        if (b->w[k])
            return true;
    return n > 0 && n % 64 && (b->w[n / 64] & ((1ull << (n % 64)) - 1));
}
static void big_add_signed(struct big *sum, const struct big *a, const struct big *b)
{
    memset(sum, 0, sizeof *sum);
    unsigned __int128 carry = 0;
    if (a->neg == b->neg) {
        sum->neg = a->neg;
        for (int n = 0; n < BIG_WORDS; n++) {
            carry += (unsigned __int128)a->w[n] + b->w[n];
            sum->w[n] = (u64)carry;
            carry >>= 64;
        }
        return;
    }
    int order = big_compare(a, b);
    const struct big *more = order < 0 ? b : a, *less = order < 0 ? a : b;
    sum->neg = more->neg;
    bool borrow = false;
    for (int n = 0; n < BIG_WORDS; n++) {
        u64 x = more->w[n], y = less->w[n], d = x - y - borrow;
        borrow = x < y || (x == y && borrow);
        sum->w[n] = d;
    }
}

/* ---- formats ---- */

static void parts(const struct format *f, u64 bits, u64 *mant, int *exponent)
{
    u64 expo = bits >> f->mant & ((1ull << f->expo) - 1), m = bits & ((1ull << f->mant) - 1);
    *mant = expo ? m | 1ull << f->mant : m;
    *exponent = (expo ? (int)expo : 1) - bias(f) - (int)f->mant;
}
struct value value_of(const struct format *f, u64 bits)
{
    struct value v = {.neg = bits & sign_bit(f)};
    u64 mag = bits & (sign_bit(f) - 1), mant;
    int exponent;
    v.kind = is_nan(f, bits) ? NOT_A_NUMBER : mag == inf_code(f) ? INFINITE : mag == 0 ? ZERO : FINITE;
    if (v.kind == FINITE) {
        parts(f, bits, &mant, &exponent);
        v.big.neg = v.neg;
        big_put(&v.big, mant, exponent);
    }
    return v;
}
struct value value_of_int(u64 magnitude, bool neg)
{
    struct value v = {.kind = magnitude ? FINITE : ZERO, .neg = neg, .big = {.neg = neg}};
    if (magnitude)
        big_put(&v.big, magnitude, 0);
    return v;
}
u64 round_to(const struct format *f, const struct value *v, enum mode m)
{
    const u64 sign = v->neg ? sign_bit(f) : 0;
    if (v->kind == NOT_A_NUMBER)
        return f->nan;
    if (v->kind == INFINITE)
        return infinity(f, v->neg);
    int top = v->kind == ZERO ? -1 : big_top(&v->big);
    if (top < 0)
        return sign;
    /* the unit in the last place: by the leading bit, but no finer than the subnormals' */
    int finest = 1 - bias(f) - (int)f->mant, ulp = top - BIG_FRACTION - (int)f->mant;
    if (ulp < finest)
        ulp = finest;
    int cut = ulp + BIG_FRACTION;
    u64 q = 0;
    for (int n = (int)f->mant + 1; n >= 0; n--)
        q = q << 1 | big_bit(&v->big, cut + n);
    bool half = big_bit(&v->big, cut - 1), rest = v->big.tiny || big_any_below(&v->big, cut - 1);
    bool inexact = half || rest, up = false;
    switch (m) {
    case RN: up = half && (rest || (q & 1)); break;
    case RNA: up = half; break;
    case RZ: break;
    case RM: up = v->neg && inexact; break;
    case RP: up = !v->neg && inexact; break;
    }
    q += up;
    if (q >> (f->mant + 1)) { /* the next power of two */
        q >>= 1;
        ulp++;
    }
    if (!(q >> f->mant))
        return sign | q; /* subnormal */
    u64 r = (u64)(ulp + (int)f->mant + bias(f)) << f->mant | (q & ((1ull << f->mant) - 1));
    if (r >= inf_code(f)) {
        bool to_inf = m == RN || m == RNA || (m == RP && !v->neg) || (m == RM && v->neg);
        r = to_inf ? inf_code(f) : inf_code(f) - 1;
    }
    return sign | r;
}

/* ---- operations ---- */

u64 exact_cvt(const struct format *to, const struct format *from, u64 a, enum mode m)
{
    struct value v = value_of(from, a);
    return round_to(to, &v, m);
}
static u64 sum_of(const struct format *f, const struct value *a, const struct value *b, enum mode m)
{
    if (a->kind == NOT_A_NUMBER || b->kind == NOT_A_NUMBER)
        return f->nan;
    if (a->kind == INFINITE || b->kind == INFINITE) {
        if (a->kind == b->kind && a->neg != b->neg)
            return f->nan;
        return infinity(f, a->kind == INFINITE ? a->neg : b->neg);
    }
    struct value s = {.kind = FINITE};
    struct big x = a->big, y = b->big; /* zeros have no bits but a sign */
    x.neg = a->neg;
    y.neg = b->neg;
    big_add_signed(&s.big, &x, &y);
    s.neg = s.big.neg;
    if (big_top(&s.big) < 0) /* an exact zero is +0, or -0 when rounding down, unless the signs agree */
        s.neg = a->neg == b->neg ? a->neg : m == RM;
    return round_to(f, &s, m);
}
u64 exact_add(const struct format *f, u64 a, u64 b, enum mode m)
{
    struct value x = value_of(f, a), y = value_of(f, b);
    return sum_of(f, &x, &y, m);
}
static struct value product_of(const struct format *f, u64 a, u64 b)
{
    struct value x = value_of(f, a), y = value_of(f, b), p = {.kind = FINITE, .neg = x.neg != y.neg};
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER || (x.kind == INFINITE && y.kind == ZERO) ||
        (x.kind == ZERO && y.kind == INFINITE)) {
        p.kind = NOT_A_NUMBER;
    } else if (x.kind == INFINITE || y.kind == INFINITE) {
        p.kind = INFINITE;
    } else if (x.kind == ZERO || y.kind == ZERO) {
        p.kind = ZERO;
    } else {
        u64 ma, mb;
        int ea, eb;
        parts(f, a, &ma, &ea);
        parts(f, b, &mb, &eb);
        unsigned __int128 m = (unsigned __int128)ma * mb;
        big_put(&p.big, (u64)m, ea + eb);
        big_put(&p.big, (u64)(m >> 64), ea + eb + 64);
        p.big.neg = p.neg;
    }
    return p;
}
u64 exact_mul(const struct format *f, u64 a, u64 b, enum mode m)
{
    struct value p = product_of(f, a, b);
    return round_to(f, &p, m);
}
u64 exact_fma(const struct format *f, u64 a, u64 b, u64 c, enum mode m)
{
    struct value p = product_of(f, a, b), z = value_of(f, c);
    return sum_of(f, &p, &z, m);
}
u64 exact_div(const struct format *f, u64 a, u64 b, enum mode m)
{
    struct value x = value_of(f, a), y = value_of(f, b), q = {.kind = FINITE, .neg = x.neg != y.neg};
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER || (x.kind == INFINITE && y.kind == INFINITE) ||
        (x.kind == ZERO && y.kind == ZERO))
        return f->nan;
    if (x.kind == INFINITE || y.kind == ZERO)
        return infinity(f, q.neg);
    if (x.kind == ZERO || y.kind == INFINITE) {
        q.kind = ZERO;
    } else {
        u64 ma, mb;
        int ea, eb;
        parts(f, a, &ma, &ea);
        parts(f, b, &mb, &eb);
        int za = __builtin_clzll(ma) - 11, zb = __builtin_clzll(mb) - 11; /* to 53 bits */
        unsigned __int128 n = (unsigned __int128)(ma << za) << 64, quotient = n / (mb << zb);
        q.big.tiny = n % (mb << zb) != 0;
        big_put(&q.big, (u64)quotient, ea - za - (eb - zb) - 64);
        big_put(&q.big, (u64)(quotient >> 64), ea - za - (eb - zb));
    }
    return round_to(f, &q, m);
}
u64 exact_sqrt(const struct format *f, u64 a, enum mode m)
{
    struct value x = value_of(f, a), r = {.kind = FINITE};
    if (x.kind == ZERO)
        return a;
    if (x.kind == NOT_A_NUMBER || x.neg)
        return f->nan;
    if (x.kind == INFINITE)
        return a;
    u64 mant;
    int e;
    parts(f, a, &mant, &e);
    int z = __builtin_clzll(mant) - 11;
    z += (e - z) & 1; /* an even exponent; 53 or 54 bits */
    unsigned __int128 n = (unsigned __int128)(mant << z) << 70, root = 0;
    for (int bit = 62; bit >= 0; bit--) {
        unsigned __int128 try = root | (unsigned __int128)1 << bit;
        if (try * try <= n)
            root = try;
    }
    r.big.tiny = root * root != n;
    big_put(&r.big, (u64)root, (e - z - 70) / 2);
    return round_to(f, &r, m);
}
u64 saturate01(const struct format *f, u64 bits)
{
    u64 one = (u64)bias(f) << f->mant;
    if (is_nan(f, bits) || (bits & sign_bit(f)))
        return 0;
    return bits > one ? one : bits;
}
