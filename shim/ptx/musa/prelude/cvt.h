/* The prelude: conversions. What a device converts by itself is written plainly; other formats and roundings
 * are packed in integer arithmetic. */
namespace cm
{
/* ---- halves ---- */
CM_FN f32 from_f16(u32 h)
{
    u32 m = h & 0x7fff, sign = (h & 0x8000) << 16;
    u32 u = m < 0x0400   ? bits((f32)(s32)m * 5.9604644775390625e-8f) /* 2^-24 */
            : m < 0x7c00 ? (m << 13) + ((127 - 15) << 23)
                         : (m << 13) | 0x7f800000u;
    return as_f32(sign | u);
}
CM_FN f32 from_bf16(u32 h) { return as_f32(h << 16); }
CM_FN u32 to_f16(f32 v)
{
    u32 u = bits(v), sign = (u >> 16) & 0x8000, a = u & 0x7fffffffu;
    u32 sub = bits(as_f32(a) + 0.5f) - 0x3f000000u;
    u32 normal = (a + 0xfff + ((a >> 13) & 1) - ((127 - 15) << 23)) >> 13;
    u32 h = a < 0x38800000u ? sub : a < 0x47800000u ? normal : 0x7c00;
    return a > 0x7f800000u ? 0x7fff : sign | h;
}
CM_FN u32 to_bf16(f32 v)
{
    u32 u = bits(v);
    return (u & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (u + 0x7fff + ((u >> 16) & 1)) >> 16;
}

/* ---- integers ---- */
CM_FN u64 read_U8(u32 a) { return (u8)a; }
CM_FN u64 read_S8(u32 a) { return (u64)(s64)(s8)a; }
CM_FN u64 read_U16(u32 a) { return (u16)a; }
CM_FN u64 read_S16(u32 a) { return (u64)(s64)(s16)a; }
CM_FN u64 read_U32(u32 a) { return a; }
CM_FN u64 read_S32(u32 a) { return (u64)(s64)(s32)a; }
CM_FN u64 read_U64(u64 a) { return a; }
CM_FN u64 read_S64(u64 a) { return a; }
/* `to`: log2 of the bytes, plus CM_SIGNED */
CM_FN u64 limit(u64 v, bool sign, u32 to)
{
    u32 n = 8u << (to & 3);
    u64 top = ~0ull >> (64 - n + (to & CM_SIGNED ? 1 : 0));
    if (!(sign && (s64)v < 0))
        return v > top ? top : v;
    return !(to & CM_SIGNED) ? 0 : (s64)v < -(s64)top - 1 ? ~top : v;
}
CM_FN u32 extend(u64 v, u32 to)
{
    u32 drop = 32 - (8u << (to & 3));
    return to & CM_SIGNED ? (u32)((s32)((u32)v << drop) >> drop) : (u32)v << drop >> drop;
}
#define CM_TO(x) ((x) >> CM_DST_SHIFT & 7)
CM_FN u32 int_to_i32(u64 v, bool sign, u32 x) { return extend(x & CM_SAT ? limit(v, sign, CM_TO(x)) : v, CM_TO(x)); }
CM_FN u64 int_to_i64(u64 v, bool sign, u32 x) { return x & CM_SAT ? limit(v, sign, CM_TO(x)) : v; }
CM_FN u64 int_to_float(format f, u64 v, bool sign, u32 x)
{
    bool neg = sign && (s64)v < 0;
    if (x & CM_SAT) {
        v = v != 0 && !neg;
        neg = false;
    }
    return pack(f, neg, neg ? 0 - v : v, 0, CM_RND(x));
}
CM_FN u32 int_to_f32(u64 v, bool sign, bool wide, u32 x)
{
    if (x & ~(u32)CM_FTZ)
        return (u32)int_to_float(CM_F32, v, sign, x);
    return bits(sign ? wide ? (f32)(s64)v : (f32)(s32)v : wide ? (f32)v : (f32)(u32)v);
}
CM_FN u64 int_to_f64(u64 v, bool sign, bool wide, u32 x)
{
    if (x)
        return int_to_float(CM_F64, v, sign, x);
    return bits(sign ? wide ? (f64)(s64)v : (f64)(s32)v : wide ? (f64)v : (f64)(u32)v);
}
#define CM_FROM_INT(S, T, sign) \
    CM_FN u32 CVT_I32_##S(T a, u32 x) { return int_to_i32(read_##S(a), sign, x); } \
    CM_FN u64 CVT_I64_##S(T a, u32 x) { return int_to_i64(read_##S(a), sign, x); } \
    CM_FN u32 CVT_F16_##S(T a, u32 x) { return (u32)int_to_float(CM_F16, read_##S(a), sign, x); } \
    CM_FN u32 CVT_BF16_##S(T a, u32 x) { return (u32)int_to_float(CM_BF16, read_##S(a), sign, x); } \
    CM_FN u32 CVT_F32_##S(T a, u32 x) { return int_to_f32(read_##S(a), sign, sizeof a == 8, x); } \
    CM_FN u64 CVT_F64_##S(T a, u32 x) { return int_to_f64(read_##S(a), sign, sizeof a == 8, x); }
CM_FROM_INT(U8, u32, false)
CM_FROM_INT(S8, u32, true)
CM_FROM_INT(U16, u32, false)
CM_FROM_INT(S16, u32, true)
CM_FROM_INT(U32, u32, false)
CM_FROM_INT(S32, u32, true)
CM_FROM_INT(U64, u64, false)
CM_FROM_INT(S64, u64, true)

/* ---- floats to integers: saturated. A NaN is 0, or half the range from f64 or to 64 bits. ---- */
CM_FN f32 integral(f32 v, u32 r)
{
    return r == CM_RNI ? rintf(v) : r == CM_RMI ? floorf(v) : r == CM_RPI ? ceilf(v) : r == CM_RZI ? truncf(v) : v;
}
CM_FN f64 integral(f64 v, u32 r)
{
    return r == CM_RNI ? rint(v) : r == CM_RMI ? floor(v) : r == CM_RPI ? ceil(v) : r == CM_RZI ? trunc(v) : v;
}
template <class T> CM_FN u64 to_int(T v, u32 to, bool from64)
{
    const u32 n = 8u << (to & 3);
    const u64 half = 1ull << (n - 1), ones = n == 64 ? ~0ull : (1ull << n) - 1;
    const T top = (T)half * (to & CM_SIGNED ? 1 : 2); /* the first value that is too large */
    if (v != v)
        return !from64 && n < 64 ? 0 : to & CM_SIGNED ? 0 - half : half;
    if (to & CM_SIGNED)
        return v >= top ? half - 1 : v < -top ? 0 - half : (u64)(n == 64 ? (s64)v : (s64)(s32)v);
    return v >= top ? ones : v <= 0 ? 0 : n == 64 ? (u64)v : (u64)(u32)v;
}
#define CM_TO_INT(S, T, value, f64s) \
    CM_FN u32 CVT_I32_##S(T a, u32 x) { return (u32)to_int(integral(value, CM_RND(x)), CM_TO(x), f64s); } \
    CM_FN u64 CVT_I64_##S(T a, u32 x) { return to_int(integral(value, CM_RND(x)), CM_TO(x), f64s); }
CM_TO_INT(F16, u32, from_f16(a & 0xffff), false)
CM_TO_INT(BF16, u32, from_bf16(a & 0xffff), false)
CM_TO_INT(F32, u32, in32(a, x), false)
CM_TO_INT(F64, u64, as_f64(a), true)

/* ---- floats to floats ---- */
CM_FN u64 convert(format f, f64 v, u32 x)
{
    u32 r = CM_RND(x);
    v = r >= CM_RNI ? integral(v, r) : v;
    v = x & CM_SAT ? saturate(v) : v;
    if (x & CM_CVT_RELU && !(v > 0) && v == v)
        v = 0;
    u64 u = pack(f, v, r);
    if (x & CM_SATFINITE && v == v && (u & ~f.sign) >= f.inf)
        u = (u & f.sign) | (f.inf - 1);
    return u;
}
CM_FN u32 convert_f16(f64 v, u32 x) { return (u32)convert(CM_F16, v, x); }
CM_FN u32 convert_bf16(f64 v, u32 x) { return (u32)convert(CM_BF16, v, x); }
CM_FN u32 convert_f32(f64 v, u32 x)
{
    u32 u = (u32)convert(CM_F32, v, x);
    if (x & CM_FTZ && at_edge(u))
        u = edge(u, (u32)convert(CM_F32, CM_SCALE * v, x));
    return x & CM_FTZ ? flush(u) : u;
}
CM_FN u64 convert_f64(f64 v, u32 x) { return v == v || x & CM_SAT ? convert(CM_F64, v, x) : bits(v); }
#define CM_VALUE_F16 (f64) from_f16(a & 0xffff)
#define CM_VALUE_BF16 (f64) from_bf16(a & 0xffff)
#define CM_VALUE_F32 (f64) in32(a, x)
#define CM_VALUE_F64 as_f64(a)
/* plain: without modifiers */
#define CM_CVT(TO, FROM, to, D, A, plain) \
    CM_FN D CVT_##TO##_##FROM(A a, u32 x) { return x == 0 ? (plain) : convert_##to(CM_VALUE_##FROM, x); }
#define CM_CVT_SLOW(TO, FROM, to, D, A) \
    CM_FN D CVT_##TO##_##FROM(A a, u32 x) { return convert_##to(CM_VALUE_##FROM, x); }
/* A conversion is no arithmetic, which machines might give the NaN of. */
CM_FN u32 one_nan(u32 u) { return (u & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : u; }
CM_FN u32 plain32(f32 v) { return one_nan(bits(v)); }
CM_CVT(F16, F32, f16, u32, u32, to_f16(as_f32(a)))
CM_CVT(BF16, F32, bf16, u32, u32, to_bf16(as_f32(a)))
CM_CVT(F32, F16, f32, u32, u32, plain32(from_f16(a & 0xffff)))
CM_CVT(F32, BF16, f32, u32, u32, plain32(from_bf16(a & 0xffff)))
CM_CVT(F32, F64, f32, u32, u64, plain32((f32)as_f64(a)))
CM_CVT(F64, F32, f64, u64, u32, bits((f64)as_f32(a)))
CM_CVT(F64, F16, f64, u64, u32, bits((f64)from_f16(a & 0xffff)))
CM_CVT_SLOW(F16, F16, f16, u32, u32)
CM_CVT_SLOW(F16, BF16, f16, u32, u32)
CM_CVT_SLOW(F16, F64, f16, u32, u64)
CM_CVT_SLOW(BF16, F16, bf16, u32, u32)
CM_CVT_SLOW(BF16, BF16, bf16, u32, u32)
CM_CVT_SLOW(BF16, F64, bf16, u32, u64)
CM_CVT_SLOW(F64, BF16, f64, u64, u32)
CM_FN u32 CVT_F32_F32(u32 a, u32 x) { return one_nan(out32(integral(in32(a, x), CM_RND(x)), x)); }
CM_FN u64 CVT_F64_F64(u64 a, u32 x) { return out64(integral(as_f64(a), CM_RND(x)), x); }
CM_FN u32 CVT_TF32_F32(u32 a, u32 x) { return (u32)convert(CM_TF32, (f64)as_f32(a), x) << 13; }
CM_FN u32 CVT_F16X2_F32(u32 a, u32 b, u32 x) { return CVT_F16_F32(b, x) | CVT_F16_F32(a, x) << 16; }
CM_FN u32 CVT_BF16X2_F32(u32 a, u32 b, u32 x) { return CVT_BF16_F32(b, x) | CVT_BF16_F32(a, x) << 16; }
CM_FN f32 from_e4m3(u32 v)
{
    u32 m = v & 0x7f;
    f32 r = m >= 8 ? as_f32((m << 20) + ((127 - 7) << 23)) : (f32)(s32)m * 0.001953125f; /* 2^-9 */
    return as_f32(bits(m == 0x7f ? as_f32(0x7fc00000u) : r) | (v & 0x80) << 24);
}

/* x: bits 0-4 the element's bits, 5 signed, 6 with c */
CM_FN u32 pack_limit(s64 v, u32 x)
{
    u32 n = x & 31;
    s64 hi = x & 32 ? (1 << (n - 1)) - 1 : (1 << n) - 1, lo = x & 32 ? -hi - 1 : 0;
    return (u32)(v > hi ? hi : v < lo ? lo : v) & ((1u << n) - 1);
}
CM_FN u32 pack_two(s64 a, s64 b, u32 c, u32 x)
{
    return pack_limit(b, x) | pack_limit(a, x) << (x & 31) | (x & 64 ? (u32)((u64)c << 2 * (x & 31)) : 0);
}
CM_OP3X(CVT_PACK_S32, u32, u32, u32, u32, pack_two((s32)a, (s32)b, c, x))
CM_OP3X(CVT_PACK_U32, u32, u32, u32, u32, pack_two(a, b, c, x))

/* ---- arithmetic of halves: through f32, fma through f64 rounded to odd ---- */
CM_FN f32 in_f16(u32 h, u32 x)
{
    h &= 0xffff;
    return from_f16(x & CM_FTZ && !(h & 0x7c00) ? h & 0x8000 : h);
}
CM_FN f32 in_bf16(u32 h, u32 x) { return in32(h << 16, x); }
CM_FN f32 limited(f32 v, u32 x)
{
    v = x & CM_SAT ? saturate(v) : v;
    return x & CM_RELU && !(v > 0) && v == v ? 0.0f : v;
}
CM_FN u32 out_f16(f32 v, u32 x)
{
    u32 h = to_f16(limited(v, x));
    return x & CM_FTZ && !(h & 0x7c00) ? h & 0x8000 : h;
}
CM_FN u32 out_bf16(f32 v, u32 x) { return to_bf16(in32(bits(limited(v, x)), x)); }
CM_FN f32 to_odd(f64 v)
{
    f32 t = (f32)v;
    f64 size = v < 0 ? -v : v, back = t < 0 ? -(f64)t : (f64)t;
    u32 u = bits(t);
    return as_f32(back == size || u & 1 || v != v ? u : back < size ? u + 1 : u - 1);
}
CM_FN f32 fma_f16(f32 a, f32 b, f32 c) { return to_odd((f64)a * (f64)b + (f64)c); }
CM_FN f32 fma_bf16(f32 a, f32 b, f32 c)
{
    f64 p = (f64)a * (f64)b, z = c, s = p + z, part = s - p;
    f64 err = (p - (s - part)) + (z - part);
    u64 u = bits(s), step = (err > 0) == (s > 0) ? u + 1 : u - 1;
    return to_odd(as_f64((err > 0 || err < 0) && !(u & 1) ? step : u));
}
CM_FN f32 half_min_max(f32 a, f32 b, u32 x, bool max)
{
    u32 sign = x & CM_XORSIGN ? (bits(a) ^ bits(b)) & 0x80000000u : 0;
    if (x & CM_XORSIGN) {
        a = as_f32(bits(a) & 0x7fffffffu);
        b = as_f32(bits(b) & 0x7fffffffu);
    }
    f32 r = max ? most(a, b) : least(a, b);
    if (x & CM_NANPROP && (a != a || b != b))
        r = as_f32(0x7fffffffu);
    return as_f32(bits(r) | sign);
}
/* Two f16 at once, where the toolkit's operators do it (plain ones: they know no modifiers). */
#ifdef CM_USE_HALF2
union pair_f16 {
    u32 u;
    __half2 h;
};
#define CM_PAIR(name, op) \
    CM_FN u32 name(u32 a, u32 b) \
    { \
        pair_f16 p, q; \
        p.u = a; \
        q.u = b; \
        p.h = op(p.h, q.h); \
        return p.u; \
    }
CM_PAIR(pair_ADD, __hadd2)
CM_PAIR(pair_SUB, __hsub2)
CM_PAIR(pair_MUL, __hmul2)
CM_FN u32 pair_FMA(u32 a, u32 b, u32 c)
{
    pair_f16 p, q, r;
    p.u = a;
    q.u = b;
    r.u = c;
    p.h = __hfma2(p.h, q.h, r.h);
    return p.u;
}
#define CM_PAIR_F16(id, x, args, slow) ((x) == 0 ? pair_##id args : (slow))
#else
#define CM_PAIR_F16(id, x, args, slow) (slow)
#endif
#define CM_PAIR_BF16(id, x, args, slow) (slow)
#define CM_HALF2(id, H, sfx, op) \
    CM_FN u32 id##_##H(u32 a, u32 b, u32 x) \
    { \
        f32 p = in_##sfx(a, x), q = in_##sfx(b, x); \
        return out_##sfx(op, x); \
    } \
    CM_FN u32 id##_##H##X2(u32 a, u32 b, u32 x) { return id##_##H(a, b, x) | id##_##H(a >> 16, b >> 16, x) << 16; }
#define CM_SUM2(id, H, sfx, op) \
    CM_FN u32 id##_##H(u32 a, u32 b, u32 x) \
    { \
        f32 p = in_##sfx(a, x), q = in_##sfx(b, x); \
        return out_##sfx(op, x); \
    } \
    CM_FN u32 id##_##H##X2(u32 a, u32 b, u32 x) \
    { \
        return CM_PAIR_##H(id, x, (a, b), id##_##H(a, b, x) | id##_##H(a >> 16, b >> 16, x) << 16); \
    }
#define CM_HALF1(id, H, sfx, op) \
    CM_FN u32 id##_##H(u32 a, u32 x) \
    { \
        f32 p = in_##sfx(a, x); \
        return out_##sfx(op, x); \
    } \
    CM_FN u32 id##_##H##X2(u32 a, u32 x) { return id##_##H(a, x) | id##_##H(a >> 16, x) << 16; }
#define CM_HALVES(H, sfx) \
    CM_SUM2(ADD, H, sfx, p + q) \
    CM_SUM2(SUB, H, sfx, p - q) \
    CM_SUM2(MUL, H, sfx, p *q) \
    CM_HALF2(MIN, H, sfx, half_min_max(p, q, x, false)) \
    CM_HALF2(MAX, H, sfx, half_min_max(p, q, x, true)) \
    CM_HALF1(EX2, H, sfx, approx_ex2(p)) \
    CM_HALF1(TANH, H, sfx, approx_tanh(p)) \
    CM_FN u32 FMA_##H(u32 a, u32 b, u32 c, u32 x) \
    { \
        return out_##sfx(fma_##sfx(in_##sfx(a, x), in_##sfx(b, x), in_##sfx(c, x)), x); \
    } \
    CM_FN u32 FMA_##H##X2(u32 a, u32 b, u32 c, u32 x) \
    { \
        return CM_PAIR_##H(FMA, x, (a, b, c), FMA_##H(a, b, c, x) | FMA_##H(a >> 16, b >> 16, c >> 16, x) << 16); \
    }
CM_HALVES(F16, f16)
CM_HALVES(BF16, bf16)
CM_FN u32 flush_f16(u32 h) { return h & 0x7c00 ? h : h & 0x8000; }
CM_FN u32 flush_x2(u32 h, u32 x) { return x & CM_FTZ ? flush_f16(h & 0xffff) | flush_f16(h >> 16) << 16 : h; }
CM_OP1X(ABS_F16, u32, u32, flush_x2(a & 0x7fff, x))
CM_OP1X(ABS_F16X2, u32, u32, flush_x2(a & 0x7fff7fffu, x))
CM_OP1X(NEG_F16, u32, u32, flush_x2((a ^ 0x8000) & 0xffff, x))
CM_OP1X(NEG_F16X2, u32, u32, flush_x2(a ^ 0x80008000u, x))
CM_FN bool hit_F16(u32 a, u32 b, u32 x) { return compare(in_f16(a, x), in_f16(b, x), x); }
CM_FN bool hit_BF16(u32 a, u32 b, u32 x) { return compare(in_bf16(a, x), in_bf16(b, x), x); }
} // namespace cm
