/* The prelude: values as bits, and IEEE 754's roundings made of what every toolkit has: operators and fma to the
 * nearest, and integers. Nothing public says how mcc rounds `/` and sqrt, or that it has the builtins of directed
 * roundings; CM_USE_DIV32 and its like say that a probe on the device found them right. */
namespace cm
{
CM_FN f32 as_f32(u32 u)
{
    union {
        u32 u;
        f32 f;
    } v;
    v.u = u;
    return v.f;
}
CM_FN u32 bits(f32 f)
{
    union {
        u32 u;
        f32 f;
    } v;
    v.f = f;
    return v.u;
}
CM_FN f64 as_f64(u64 u)
{
    union {
        u64 u;
        f64 f;
    } v;
    v.u = u;
    return v.f;
}
CM_FN u64 bits(f64 f)
{
    union {
        u64 u;
        f64 f;
    } v;
    v.f = f;
    return v.u;
}
#define CM_RND(x) ((x) >> CM_RND_SHIFT & 15)
#define CM_IS_DIRECTED(r) ((r) == CM_RZ || (r) == CM_RM || (r) == CM_RP)

struct format {
    u32 mantissa;
    s32 least;
    u64 inf, nan, sign;
};
#define CM_F16 \
    format { 10, -14, 0x7c00, 0x7fff, 0x8000 }
#define CM_BF16 \
    format { 7, -126, 0x7f80, 0x7fff, 0x8000 }
#define CM_F32 \
    format { 23, -126, 0x7f800000, 0x7fffffff, 0x80000000 }
#define CM_F64 \
    format { 52, -1022, 0x7ff0000000000000ull, 0x7fffffffffffffffull, 0x8000000000000000ull }
#define CM_TF32 \
    format { 10, -126, 0x3fc00, 0x3ffff, 0x40000 }
#define CM_E4M3 \
    format { 3, -6, 0x7f, 0x7f, 0x80 } /* no infinity */
#define CM_E5M2 \
    format { 2, -14, 0x7c, 0x7f, 0x80 }

/* (-1)^neg * m * 2^exp */
CM_FN u64 pack(format f, bool neg, u64 m, s32 exp, u32 rnd)
{
    u64 sign = neg ? f.sign : 0;
    if (m == 0)
        return sign;
    s32 zeros = (s32)CLZ_B64(m), top = exp + 63 - zeros;
    m <<= zeros;
    s32 keep = (s32)f.mantissa + 1 - (top < f.least ? f.least - top : 0), drop = 64 - keep;
    u64 q = drop >= 64 ? 0 : m >> drop;
    bool half = drop > 64 ? false : m >> (drop - 1) & 1;
    bool rest = drop > 64 ? true : (m & ((1ull << (drop - 1)) - 1)) != 0;
    bool away = rnd == CM_RM ? neg : rnd == CM_RP ? !neg : false;
    q += rnd == CM_RZ                   ? false
         : rnd == CM_RM || rnd == CM_RP ? away && (half || rest)
         : rnd == CM_RNA                ? half
                                        : half && (rest || (q & 1));
    u64 r = top < f.least ? q : ((u64)(top - f.least) << f.mantissa) + q;
    if (r >= f.inf)
        r = rnd == CM_RZ || ((rnd == CM_RM || rnd == CM_RP) && !away) ? f.inf - 1 : f.inf;
    return sign | r;
}
CM_FN u64 pack(format f, f64 v, u32 rnd)
{
    u64 u = bits(v), m = u & 0xfffffffffffffull;
    s32 exp = (s32)(u >> 52 & 0x7ff);
    if (exp == 0x7ff)
        return m ? f.nan : (u >> 63 ? f.sign : 0) | f.inf;
    return pack(f, u >> 63, exp ? m | 1ull << 52 : m, (exp ? exp : 1) - 1075, rnd);
}

/* ---- the parts of a value ---- */
template <class T> struct real;
template <> struct real<f32> {
    typedef u32 U;
    enum { P = 24, BIAS = 127 };
    static CM_METHOD f32 of(u64 u) { return as_f32((u32)u); }
    static CM_METHOD format form() { return CM_F32; }
};
template <> struct real<f64> {
    typedef u64 U;
    enum { P = 53, BIAS = 1023 };
    static CM_METHOD f64 of(u64 u) { return as_f64(u); }
    static CM_METHOD format form() { return CM_F64; }
};
template <class T> CM_FN u32 exponent(T v) { return (u32)(bits(v) >> (real<T>::P - 1)) & (2 * real<T>::BIAS + 1); }
template <class T> CM_FN bool negative(T v) { return bits(v) >> (8 * sizeof(T) - 1) != 0; }
template <class T> CM_FN bool finite(T v) { return exponent(v) != 2 * real<T>::BIAS + 1; }
template <class T> CM_FN T power(s32 e) { return real<T>::of((u64)(e + real<T>::BIAS) << (real<T>::P - 1)); }
template <class T> CM_FN T size_of(T v) { return v < 0 ? -v : v; }
template <class T> CM_FN s32 order(T a, T b) { return (a > b) - (a < b); }
/* |v| = result * 2^e with 2^(P - 1) <= result < 2^P; v is finite and not 0 */
template <class T> CM_FN u64 significand(T v, s32 &e)
{
    const u64 one = 1ull << (real<T>::P - 1), m = bits(v) & (one - 1);
    const s32 field = (s32)exponent(v), up = field ? 0 : (s32)CLZ_B64(m) - (64 - real<T>::P);
    e = (field ? field : 1 - up) - real<T>::BIAS - (real<T>::P - 1);
    return field ? m | one : m << up;
}
/* The exponent of v, which becomes 1 <= |v| < 2. */
template <class T> CM_FN s32 split(T &v)
{
    s32 e;
    const u64 m = significand(v, e), one = 1ull << (real<T>::P - 1);
    const T size = real<T>::of((u64)real<T>::BIAS << (real<T>::P - 1) | (m & (one - 1)));
    v = negative(v) ? -size : size;
    return e + real<T>::P - 1;
}

/* ---- sums and products: to the nearest by the machine, then by the exact error's sign ---- */
CM_FN f32 fused(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
CM_FN f64 fused(f64 a, f64 b, f64 c) { return fma(a, b, c); }
/* a + b = result + low (TwoSum, Knuth) */
template <class T> CM_FN T two_sum(T a, T b, T &low)
{
    const T s = a + b, t = s - a;
    low = (a - (s - t)) + (b - t);
    return s;
}
/* The sign of a * b + c - r, where r is a * b + c rounded. Everything is scaled by a * b, so that nothing overflows or
 * is lost below; a c that is far smaller only counts by its sign. The four parts of the sum are added as expansions
 * (Shewchuk 1997), whose largest part that is not 0 has the sign of the whole. */
template <class T> CM_FN s32 error_sign(T a, T b, T c, T r)
{
    const s32 far = 3 * real<T>::P, by_far = c == r ? (negative(a) != negative(b) ? -1 : 1) : order(c, r);
    if (a == 0 || b == 0)
        return order(c, r);
    const s32 base = split(a) + split(b), of_c = c == 0 ? 0 : split(c) - base, of_r = r == 0 ? 0 : split(r) - base;
    if (of_c > far)
        return by_far;
    const T high = a * b;
    T x[3], y[3], q = c * power<T>(of_c < -far ? -far : of_c);
    q = two_sum(q, fused(a, b, -high), x[0]);
    x[2] = two_sum(q, high, x[1]);
    q = -r * power<T>(of_r);
    for (u32 k = 0; k < 3; k++)
        q = two_sum(q, x[k], y[k]);
    return q != 0 ? order(q, (T)0) : y[2] != 0 ? order(y[2], (T)0) : y[1] != 0 ? order(y[1], (T)0) : order(y[0], (T)0);
}
/* a * b + c towards 0, down or up: the neighbour of what is nearest, where that lies on the wrong side. */
template <class T> CM_FN T directed_fma(T a, T b, T c, u32 rnd)
{
    const T r = fused(a, b, c);
    if (!finite(a) || !finite(b) || !finite(c))
        return r;
    const s32 e = finite(r) ? error_sign(a, b, c, r) : negative(r) ? 1 : -1;
    const bool minus = negative(r), up = rnd != CM_RM && e > 0 && (rnd == CM_RP || minus),
               down = rnd != CM_RP && e < 0 && (rnd == CM_RM || !minus);
    if (e == 0 && r == 0 && rnd == CM_RM && (negative(a) != negative(b)) != negative(c))
        return -(T)0; /* of opposite zeros, or of what cancels */
    if (down && !minus && r == 0)
        return real<T>::of((u64)1 << (8 * sizeof(T) - 1) | 1); /* below +0 */
    return real<T>::of(bits(r) + (up || down ? (up != minus ? 1 : ~0ull) : 0));
}
template <class T> CM_FN T directed_sum(T a, T b, u32 rnd) { return directed_fma(a, (T)1, b, rnd); }
template <class T> CM_FN T directed_product(T a, T b, u32 rnd)
{
    return directed_fma(a, b, negative(a) != negative(b) ? -(T)0 : (T)0, rnd); /* a 0 that leaves the product's sign */
}

/* ---- quotients and roots ---- */
/* In integers, bit by bit; finite and not 0. */
template <class T> CM_CALLED T long_division(T a, T b, u32 rnd)
{
    const s32 n = real<T>::P + 3;
    s32 of_a, of_b;
    u64 rest = significand(a, of_a), q = 0;
    const u64 m = significand(b, of_b);
    for (s32 k = 0; k < n; k++) {
        const bool in = rest >= m;
        q = q << 1 | in;
        rest = (in ? rest - m : rest) << 1;
    }
    return real<T>::of(pack(real<T>::form(), negative(a) != negative(b), q | (rest != 0), of_a - of_b - (n - 1), rnd));
}
template <class T> CM_CALLED T long_root(T a, u32 rnd)
{
    const s32 n = real<T>::P + 3;
    s32 e;
    u64 m = significand(a, e), rest = 0, q = 0;
    const s32 up = 64 - real<T>::P - ((e + real<T>::P) & 1); /* so that the exponent is even */
    m <<= up;
    for (s32 k = 0; k < n; k++) {
        const u64 next = q << 2 | 1;
        rest = rest << 2 | m >> 62;
        m <<= 2;
        const bool in = rest >= next;
        q = q << 1 | in;
        rest = in ? rest - next : rest;
    }
    return real<T>::of(pack(real<T>::form(), false, q | (rest != 0 || m != 0), (e - up) / 2 + 32 - n, rnd));
}
template <class T> CM_FN T divided(T a, T b, u32 rnd)
{
    const u64 sign = negative(a) != negative(b) ? (u64)1 << (8 * sizeof(T) - 1) : 0;
    if (a != a || b != b || (a == 0 && b == 0) || (!finite(a) && !finite(b)))
        return (a - a) / (b - b); /* NaN by whatever the machine's is */
    if (a == 0 || !finite(b))
        return real<T>::of(sign);
    if (b == 0 || !finite(a))
        return real<T>::of(sign | real<T>::form().inf);
    return long_division(a, b, rnd);
}
template <class T> CM_FN T rooted(T a, u32 rnd)
{
    if (!(a > 0) || !finite(a))
        return a < 0 || a != a ? (a - a) / (a - a) : a; /* 0 keeps its sign */
    return long_root(a, rnd);
}
/* The machine's own, of which only a few correct bits are asked; a test makes them worse. */
#ifndef CM_ROUGH
#define CM_ROUGH(x) (x)
#endif
CM_FN f32 rough_root(f32 a) { return CM_ROUGH(sqrtf(a)); }
CM_FN f64 rough_root(f64 a) { return CM_ROUGH(sqrt(a)); }
template <class T> CM_FN T rough_quotient(T a, T b) { return CM_ROUGH(a / b); }
/* Half a unit in the last place of q */
template <class T> CM_FN T half_unit(T q) { return power<T>((s32)exponent(q) - real<T>::BIAS) * power<T>(-real<T>::P); }
/* Below a power of two values lie twice as close. */
template <class T> CM_FN bool is_power(T q) { return !(bits(q) & (((u64)1 << (real<T>::P - 1)) - 1)); }
/* To the nearest, whatever the machine's own division is worth: one step of Newton's, and the exact remainder says
 * whether there is a nearer one (Markstein 1990). Ends of the range and doubts are left to integers. */
template <class T> CM_FN T divided(T a, T b)
{
    const s32 ea = (s32)exponent(a), eb = (s32)exponent(b), bias = real<T>::BIAS;
    if (ea > 2 * real<T>::P && ea <= 2 * bias && eb > 0 && eb < 2 * bias - 3 && ea - eb < bias - 4 &&
        eb - ea < bias - 4) {
        const T y = rough_quotient((T)1, b), first = a * y, q = fused(fused(-first, b, a), y, first);
        const T rest = size_of(fused(-q, b, a));
        if (rest == 0 || (rest < half_unit(q) * size_of(b) && !is_power(q)))
            return q;
    }
    return divided(a, b, 0u);
}
template <class T> CM_FN T rooted(T a)
{
    const s32 ea = (s32)exponent(a);
    if (ea > 2 * real<T>::P && ea <= 2 * real<T>::BIAS && a > 0) {
        const T first = rough_root(a), q = fused(fused(-first, first, a), rough_quotient((T)0.5, first), first);
        const T rest = fused(-q, q, a), unit = 2 * half_unit(q) * q;
        if (rest == 0 || (-unit < rest && rest <= unit && !is_power(q)))
            return q;
    }
    return rooted(a, 0u);
}
} // namespace cm
