/* The prelude: f32 and f64 arithmetic, comparisons and selection. .ftz is written out. Values travel as their bits. */
namespace cm
{
CM_FN u32 flush(u32 u) { return (u & 0x7fffffffu) < 0x00800000u ? u & 0x80000000u : u; }
CM_FN f32 in32(u32 u, u32 x) { return as_f32(x & CM_FTZ ? flush(u) : u); }
/* What .ftz flushes is told by the result as it is with 24 bits and exponents without an end: 2^-126 is flushed where
 * that is less. `scaled` is the same operation's result 2^24 times as large. */
CM_FN bool at_edge(u32 u) { return u << 1 == 0x01000000u; }
CM_FN u32 edge(u32 u, u32 scaled) { return at_edge(u) && (scaled & 0x7fffffffu) < 0x0c800000u ? u & 0x80000000u : u; }
#define CM_SCALE 16777216.0f
#define CM_TINY(v, scaled, x) ((x)&CM_FTZ && at_edge(bits(v)) ? as_f32(edge(bits(v), bits(scaled))) : (v))
CM_FN f32 saturate(f32 v) { return v > 0 ? v < 1 ? v : 1.0f : 0.0f; }
CM_FN f64 saturate(f64 v) { return v > 0 ? v < 1 ? v : 1.0 : 0.0; }
CM_FN u32 out32(f32 v, u32 x)
{
    u32 u = x & CM_FTZ ? flush(bits(v)) : bits(v);
    return x & CM_SAT ? bits(saturate(as_f32(u))) : v != v ? CM_NAN32(u) : u;
}
CM_FN u64 out64(f64 v, u32 x) { return bits(x & CM_SAT ? saturate(v) : v); }

/* To the nearest even by the language's own operators, which every toolkit has; a text is compiled without contraction,
 * so that they round once each. Anything else in software (round.h), or by what a probe found right: CM_USE_DIRECTED
 * the builtins of CUDA's names, CM_USE_DIV32, DIV64, SQRT32, SQRT64 the operator and the function. */
#define CM_BY_MODE(fn, r, args) ((r) == CM_RZ ? fn##_rz args : (r) == CM_RM ? fn##_rd args : fn##_ru args)
#ifdef CM_USE_DIRECTED
#define CM_DIRECTED(fn, r, args, soft) CM_BY_MODE(fn, r, args)
#else
#define CM_DIRECTED(fn, r, args, soft) (soft)
#endif
/* TINY: tiny results are rounded; those of sums are exact. */
#define CM_SUM(id, fn32, fn64, op, tiny, soft) \
    CM_FN u32 id##_F32(u32 u, u32 v, u32 x) \
    { \
        const f32 a = in32(u, x), b = in32(v, x), r = a op b; \
        return out32(tiny ? CM_TINY(r, (CM_SCALE * a) op b, x) : r, x); \
    } \
    CM_FN f32 id##_f32_directed(f32 a, f32 b, u32 r) { return CM_DIRECTED(fn32, r, (a, b), soft); } \
    CM_FN u64 id##_F64(u64 a, u64 b, u32 x) { return out64(as_f64(a) op as_f64(b), x); } \
    CM_FN u32 id##_F32_DIRECTED(u32 u, u32 v, u32 x) \
    { \
        const f32 a = in32(u, x), b = in32(v, x), d = id##_f32_directed(a, b, CM_RND(x)); \
        return out32(tiny ? CM_TINY(d, id##_f32_directed(CM_SCALE * a, b, CM_RND(x)), x) : d, x); \
    } \
    CM_FN u64 id##_F64_DIRECTED(u64 u, u64 v, u32 x) \
    { \
        const f64 a = as_f64(u), b = as_f64(v); \
        const u32 r = CM_RND(x); \
        return out64(CM_DIRECTED(fn64, r, (a, b), soft), x); \
    }
CM_SUM(ADD, __fadd, __dadd, +, false, directed_sum(a, b, r))
CM_SUM(SUB, __fsub, __dsub, -, false, directed_sum(a, -b, r))
CM_SUM(MUL, __fmul, __dmul, *, true, directed_product(a, b, r))
CM_FN u32 FMA_F32(u32 u, u32 v, u32 w, u32 x)
{
    const f32 a = in32(u, x), b = in32(v, x), c = in32(w, x), r = fmaf(a, b, c);
    return out32(CM_TINY(r, fmaf(CM_SCALE * a, b, CM_SCALE * c), x), x);
}
CM_FN u64 FMA_F64(u64 a, u64 b, u64 c, u32 x) { return out64(fma(as_f64(a), as_f64(b), as_f64(c)), x); }
CM_FN f64 fma_directed(f64 a, f64 b, f64 c, u32 r)
{
    return CM_DIRECTED(__fma, r, (a, b, c), directed_fma(a, b, c, r));
}
CM_FN f32 fmaf_directed(f32 a, f32 b, f32 c, u32 r)
{
    return CM_DIRECTED(__fmaf, r, (a, b, c), directed_fma(a, b, c, r));
}
CM_FN u32 FMA_F32_DIRECTED(u32 u, u32 v, u32 w, u32 x)
{
    const f32 a = in32(u, x), b = in32(v, x), c = in32(w, x), r = fmaf_directed(a, b, c, CM_RND(x));
    return out32(CM_TINY(r, fmaf_directed(CM_SCALE * a, b, CM_SCALE * c, CM_RND(x)), x), x);
}
CM_FN u64 FMA_F64_DIRECTED(u64 a, u64 b, u64 c, u32 x)
{
    return out64(fma_directed(as_f64(a), as_f64(b), as_f64(c), CM_RND(x)), x);
}

#ifdef CM_USE_DIV32
CM_FN f32 nearest_quotient(f32 a, f32 b) { return a / b; }
#else
CM_FN f32 nearest_quotient(f32 a, f32 b) { return divided(a, b); }
#endif
#ifdef CM_USE_DIV64
CM_FN f64 nearest_quotient(f64 a, f64 b) { return a / b; }
#else
CM_FN f64 nearest_quotient(f64 a, f64 b) { return divided(a, b); }
#endif
#ifdef CM_USE_SQRT32
CM_FN f32 nearest_root(f32 a) { return sqrtf(a); }
#else
CM_FN f32 nearest_root(f32 a) { return rooted(a); }
#endif
#ifdef CM_USE_SQRT64
CM_FN f64 nearest_root(f64 a) { return sqrt(a); }
#else
CM_FN f64 nearest_root(f64 a) { return rooted(a); }
#endif
CM_FN f32 quotient(f32 a, f32 b, u32 r)
{
    return CM_IS_DIRECTED(r) ? CM_DIRECTED(__fdiv, r, (a, b), divided(a, b, r)) : nearest_quotient(a, b);
}
CM_FN f64 quotient(f64 a, f64 b, u32 r)
{
    return CM_IS_DIRECTED(r) ? CM_DIRECTED(__ddiv, r, (a, b), divided(a, b, r)) : nearest_quotient(a, b);
}
CM_FN f32 root(f32 a, u32 r)
{
    return CM_IS_DIRECTED(r) ? CM_DIRECTED(__fsqrt, r, (a), rooted(a, r)) : nearest_root(a);
}
CM_FN f64 root(f64 a, u32 r)
{
    return CM_IS_DIRECTED(r) ? CM_DIRECTED(__dsqrt, r, (a), rooted(a, r)) : nearest_root(a);
}
CM_FN u32 DIV_F32(u32 u, u32 v, u32 x)
{
    const f32 a = in32(u, x), b = in32(v, x), r = quotient(a, b, CM_RND(x));
    return out32(CM_TINY(r, quotient(CM_SCALE * a, b, CM_RND(x)), x), x);
}
CM_FN u64 DIV_F64(u64 a, u64 b, u32 x) { return out64(quotient(as_f64(a), as_f64(b), CM_RND(x)), x); }
/* a times 1/b, which is 0 beyond 2^126: a divisor up there counts as infinite. */
CM_FN u32 far_divisor(u32 b)
{
    const u32 size = b & 0x7fffffffu;
    return size > 0x7e800000u && size < 0x7f800000u ? (b & 0x80000000u) | 0x7f800000u : b;
}
CM_FN u32 DIV_APPROX_F32(u32 u, u32 v, u32 x)
{
    const f32 a = in32(u, x), b = in32(far_divisor(v), x), r = a / b;
    return out32(CM_TINY(r, CM_SCALE * a / b, x), x);
}
CM_FN u32 RCP_F32(u32 a, u32 x)
{
    a = x & CM_FTZ ? far_divisor(a) : a; /* what is too small is flushed before it is rounded */
    return out32(quotient(1.0f, in32(a, x), CM_RND(x)), x);
}
CM_FN u64 RCP_F64(u64 a, u32 x) { return out64(quotient(1.0, as_f64(a), CM_RND(x)), x); }
CM_FN u32 SQRT_F32(u32 a, u32 x) { return out32(root(in32(a, x), CM_RND(x)), x); }
CM_FN u64 SQRT_F64(u64 a, u32 x) { return out64(root(as_f64(a), CM_RND(x)), x); }

CM_FN u32 ABS_F32(u32 a, u32 x)
{
    a &= 0x7fffffffu;
    return x & CM_FTZ ? flush(a) : a;
}
CM_FN u32 NEG_F32(u32 a, u32 x)
{
    a ^= 0x80000000u;
    return x & CM_FTZ ? flush(a) : a;
}

/* The operand that is no NaN wins, and -0 is below +0. */
CM_FN f32 least(f32 a, f32 b) { return a < b ? a : a == b ? as_f32(bits(a) | bits(b)) : a != a ? b : b != b ? a : b; }
CM_FN f32 most(f32 a, f32 b) { return a > b ? a : a == b ? as_f32(bits(a) & bits(b)) : a != a ? b : b != b ? a : b; }
CM_FN u32 min_max(u32 a, u32 b, u32 x, bool max)
{
    f32 p = in32(a, x), q = in32(b, x);
    u32 sign = x & CM_XORSIGN ? (bits(p) ^ bits(q)) & 0x80000000u : 0;
    if (x & CM_XORSIGN) {
        p = as_f32(bits(p) & 0x7fffffffu);
        q = as_f32(bits(q) & 0x7fffffffu);
    }
    f32 r = max ? most(p, q) : least(p, q);
    if (x & CM_NANPROP && (p != p || q != q))
        r = as_f32(0x7fffffffu);
    return r != r ? 0x7fffffffu : bits(r) | sign;
}
CM_FN u32 MIN_F32(u32 a, u32 b, u32 x) { return min_max(a, b, x, false); }
CM_FN u32 MAX_F32(u32 a, u32 b, u32 x) { return min_max(a, b, x, true); }
CM_FN u64 MIN_F64(u64 u, u64 v)
{
    f64 a = as_f64(u), b = as_f64(v);
    return a < b ? u : a == b ? u | v : a != a ? v : b != b ? u : v;
}
CM_FN u64 MAX_F64(u64 u, u64 v)
{
    f64 a = as_f64(u), b = as_f64(v);
    return a > b ? u : a == b ? u & v : a != a ? v : b != b ? u : v;
}

#define CM_APPROX(id, fn) \
    CM_FN u32 id(u32 a, u32 x) { return out32(fn(in32(a, x)), x & CM_FTZ); }
CM_APPROX(RSQRT_F32, approx_rsqrt)
CM_APPROX(LG2_F32, approx_lg2)
CM_APPROX(EX2_F32, approx_ex2)
CM_APPROX(TANH_F32, approx_tanh)
CM_APPROX(SIN_F32, approx_sin)
CM_APPROX(COS_F32, approx_cos)
/* .approx.ftz.f64 looks at the upper 32 bits and yields no more. */
CM_FN f64 upper(u64 u) { return as_f64(u & ((u >> 52 & 0x7ff) == 0 ? 1ull << 63 : 0xffffffff00000000ull)); }
CM_FN u64 upper_result(f64 v)
{
    u64 u = bits(v);
    return v != v                   ? 0x7fffffff00000000ull
           : (u >> 52 & 0x7ff) == 0 ? u & 1ull << 63
                                    : (u + 0x80000000u) & 0xffffffff00000000ull;
}
CM_FN u64 RCP_APPROX_F64(u64 a) { return upper_result(1.0 / upper(a)); }
CM_FN u64 RSQRT_F64(u64 a, u32 x)
{
    return x & CM_FTZ ? upper_result(1.0 / sqrt(upper(a))) : bits(approx_rsqrt64(as_f64(a)));
}

/* ---- comparisons ---- */
#define CM_CMP(x) ((x) >> CM_CMP_SHIFT & 31)
template <class T> CM_FN bool compare(T a, T b, u32 x)
{
    switch (CM_CMP(x)) { /* the frequent ones as the language has them */
    case CM_EQ: return a == b;
    case CM_LT: return a < b;
    case CM_LE: return a <= b;
    case CM_GT: return a > b;
    case CM_GE: return a >= b;
    case CM_NEU: return a != b;
    case CM_LTU: return !(a >= b);
    case CM_LEU: return !(a > b);
    case CM_GTU: return !(a <= b);
    case CM_GEU: return !(a < b);
    case CM_NE: return a < b || a > b;
    case CM_EQU: return !(a < b || a > b);
    case CM_NUM: return a == a && b == b;
    default: return a != a || b != b;
    }
}
CM_FN bool joined(bool hit, bool c, u32 x)
{
    c = x & CM_CMP_NOTC ? !c : c;
    switch (x >> CM_BOOL_SHIFT & 3) {
    case 1: return hit && c;
    case 2: return hit || c;
    case 3: return hit != c;
    default: return hit;
    }
}
CM_FN u32 yes(u32 x)
{
    u32 r = CM_RND(x);
    return r == 0 ? ~0u : r == 1 ? 0x3f800000u : r == 2 ? 0xffffu : r == 3 ? 0x3c00u : 0x3f80u;
}
/* hit_S(a, b, x) compares; p is what setp and set begin with, its negation what the second result does. */
CM_FN bool hit_U16(u32 a, u32 b, u32 x) { return compare(zx16(a), zx16(b), x); }
CM_FN bool hit_S16(u32 a, u32 b, u32 x) { return compare(sx16(a), sx16(b), x); }
CM_FN bool hit_U32(u32 a, u32 b, u32 x) { return compare(a, b, x); }
CM_FN bool hit_S32(u32 a, u32 b, u32 x) { return compare((s32)a, (s32)b, x); }
CM_FN bool hit_U64(u64 a, u64 b, u32 x) { return compare(a, b, x); }
CM_FN bool hit_S64(u64 a, u64 b, u32 x) { return compare((s64)a, (s64)b, x); }
CM_FN bool hit_F32(u32 a, u32 b, u32 x) { return compare(in32(a, x), in32(b, x), x); }
CM_FN bool hit_F64(u64 a, u64 b, u32 x) { return compare(as_f64(a), as_f64(b), x); }

/* ---- selection and classes ---- */
CM_OP3(SLCT_B32_S32, u32, u32, u32, s32, c >= 0 ? a : b)
CM_OP3(SLCT_B64_S32, u64, u64, u64, s32, c >= 0 ? a : b)
CM_OP3X(SLCT_B32_F32, u32, u32, u32, u32, in32(c, x) >= 0 ? a : b)
CM_OP3X(SLCT_B64_F32, u64, u64, u64, u32, in32(c, x) >= 0 ? a : b)
CM_FN bool in_class(u64 size, u64 normal, u64 inf, u32 x)
{
    switch (x) {
    case 0: return size < inf;
    case 1: return size == inf;
    case 2: return size <= inf;
    case 3: return size > inf;
    case 4: return size < inf && (size >= normal || !size);
    default: return size != 0 && size < normal;
    }
}
CM_FN bool TESTP_F32(u32 a, u32 x) { return in_class(a & 0x7fffffffu, 0x00800000u, 0x7f800000u, x); }
CM_FN bool TESTP_F64(u64 a, u32 x) { return in_class(a & ~(1ull << 63), 1ull << 52, 0x7ffull << 52, x); }
} // namespace cm
