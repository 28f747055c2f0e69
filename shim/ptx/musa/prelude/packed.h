/* The prelude: conversions to and from two numbers of 8, 6 and 4 bits, in integer arithmetic. f: the format, an index
 * of CM_PACKED. */
namespace cm
{
CM_FN format packed_format(u32 f)
{
    const format all[] = {
        CM_F16, CM_BF16, CM_E4M3, CM_E5M2, {3, 0, 0x20, 0x1f, 0x20}, {2, -2, 0x20, 0x1f, 0x20}, {1, 0, 0x8, 0x7, 0x8}};
    return all[f];
}
CM_FN u32 packed_width(u32 f) { return f == CM_PACKED_E2M1 ? 4 : f <= CM_PACKED_BF16 ? 16 : 8; }
CM_FN u32 packed_end(format f, u64 code, bool neg, u32 x)
{
    if (code >= f.inf)
        code = x & CM_SATFINITE ? f.inf - 1 : f.inf;
    return (u32)(code | (neg ? f.sign : 0));
}
CM_FN u32 to_ue8m0(u32 u, u32 x)
{
    const u32 most = x & CM_SATFINITE ? 254 : 255;
    const bool up = CM_RND(x) == CM_RP;
    u &= 0x7fffffff;
    if (u > 0x7f800000u)
        return 255;
    u32 code = u >> 23;
    if (code ? up && u & 0x7fffff : up && u > 0x400000)
        code++;
    return code > most ? most : code;
}
/* A negative number under .relu. */
CM_FN u32 packed_source(u32 u, u32 x) { return x & CM_CVT_RELU && u >> 31 && (u & 0x7fffffff) <= 0x7f800000u ? 0 : u; }
CM_FN u32 to_packed(u32 u, u32 x, u32 i)
{
    const format f = packed_format(i == CM_PACKED_UE8M0 ? 0 : i);
    u = packed_source(u, x);
    const u32 size = u & 0x7fffffff, e = size >> 23;
    if (i == CM_PACKED_UE8M0)
        return to_ue8m0(u, x);
    if (size > 0x7f800000u)
        return (u32)f.nan;
    if (size == 0x7f800000u)
        return packed_end(f, f.inf, u >> 31, x);
    return packed_end(f, pack(f, false, (size & 0x7fffff) | (e ? 0x800000 : 0), (s32)(e ? e : 1) - 150, 0), u >> 31, x);
}
CM_FN u32 to_packed_random(u32 u, u32 x, u32 i, u32 random, u32 n)
{
    const format f = packed_format(i);
    u = packed_source(u, x);
    const u32 size = u & 0x7fffffff, e = size >> 23;
    if (size >= 0x7f800000u)
        return size > 0x7f800000u ? (u32)f.nan : packed_end(f, f.inf, u >> 31, x);
    const s32 exp = e ? (s32)e - 127 : -126, below = exp < f.least ? f.least - exp : 0;
    const s32 drop = 23 - (s32)f.mantissa + below;
    const u64 m = (size & 0x7fffff) | (e ? 0x800000 : 0);
    const u64 kept = drop > 40 ? 0 : (m + ((u64)random << (drop - (s32)n))) >> drop;
    return packed_end(f, below ? kept : ((u64)(exp - f.least) << f.mantissa) + kept, u >> 31, x);
}
CM_FN u32 CVT_X2_F32(u32 a, u32 b, u32 x, u32 i) { return to_packed(b, x, i) | to_packed(a, x, i) << packed_width(i); }
CM_FN u32 CVT_X2_F16X2(u32 a, u32 x, u32 i)
{
    return CVT_X2_F32(bits(from_f16(a >> 16)), bits(from_f16(a & 0xffff)), x, i);
}
CM_FN u32 CVT_X2_BF16X2(u32 a, u32 x, u32 i) { return CVT_X2_F32(a & 0xffff0000u, a << 16, x, i); }
CM_FN u32 reversed16(u32 v)
{
    u32 r = 0;
    for (u32 k = 0; k < 16; k++)
        r |= (v >> k & 1) << (15 - k);
    return r;
}
CM_FN u32 CVT_RS_X2_F32(u32 a, u32 b, u32 c, u32 x, u32 i)
{
    const u32 w = packed_width(i), n = i == CM_PACKED_F16 ? 13 : 16, each = (1u << n) - 1;
    const u32 first = w == 16 ? c >> 16 & each : reversed16(c & 0xffff);
    return to_packed_random(b, x, i, c & each, n) | to_packed_random(a, x, i, first, n) << w;
}
/* In format `to`, times 2^(scale - 127). */
CM_FN u32 from_packed(u32 v, u32 scale, u32 x, u32 i, format to)
{
    u32 h;
    if (i == CM_PACKED_UE8M0) {
        h = v == 255 ? (u32)to.nan : (u32)pack(to, false, 1, (s32)v - 127, 0);
    } else if (i == CM_PACKED_S2F6) {
        const bool neg = v & 128;
        h = scale == 255 ? (u32)to.nan : (u32)pack(to, neg, neg ? 256 - v : v, (s32)scale - 133, 0);
    } else {
        const format f = packed_format(i);
        const u32 m = v & ((u32)f.sign - 1), e = m >> f.mantissa;
        const bool neg = v & f.sign, odd = f.inf != f.sign && m >= f.inf;
        if (scale == 255 || (odd && (i != CM_PACKED_E5M2 || m != f.inf)))
            return (u32)to.nan;
        const u64 n = (m & ((1u << f.mantissa) - 1)) | (e ? 1u << f.mantissa : 0);
        h = odd ? (u32)(to.inf | (neg ? to.sign : 0))
                : (u32)pack(to, neg, n, f.least + (s32)(e ? e : 1) - 1 - (s32)f.mantissa + (s32)scale - 127, 0);
    }
    if (x & CM_SATFINITE && (h & 0x7fff) == to.inf)
        h--;
    return x & CM_CVT_RELU && h & 0x8000 && (h & 0x7fff) <= to.inf ? 0 : h;
}
CM_FN u32 CVT_F16X2_X2(u32 a, u32 x, u32 i)
{
    const u32 w = packed_width(i), each = (1u << w) - 1;
    return from_packed(a & each, 127, x, i, CM_F16) | from_packed(a >> w & each, 127, x, i, CM_F16) << 16;
}
CM_FN u32 CVT_BF16X2_X2(u32 a, u32 b, u32 x, u32 i)
{
    const u32 w = packed_width(i), each = (1u << w) - 1;
    return from_packed(a & each, b & 255, x, i, CM_BF16) | from_packed(a >> w & each, b >> 8 & 255, x, i, CM_BF16)
                                                               << 16;
}
} // namespace cm
