/* The prelude: video instructions, which only kernels that use them carry. x and imm as the LIR has them. */
namespace cm
{
CM_FN s64 part(u32 v, u32 n, u32 bits, bool sign)
{
    u32 up = v << (32 - bits * (n + 1));
    return sign ? (s64)((s32)up >> (32 - bits)) : (s64)(up >> (32 - bits));
}
CM_FN u32 part_bits(u32 k) { return k == 0 ? 32 : k < 5 ? 8 : 16; }
CM_FN u32 part_index(u32 k) { return k == 0 ? 0 : k < 5 ? (k - 1) & 3 : (k - 5) & 1; }
CM_FN s64 named_part(u32 v, u32 k, bool sign) { return part(v, part_index(k), part_bits(k), sign); }
CM_FN s64 combine(s64 p, s64 q, u32 x)
{
    s64 n = x & CM_V_WRAP ? q & 31 : q < 0 || q > 32 ? 32 : q;
    switch (x & 15) {
    case CM_V_ADD: return p + q;
    case CM_V_SUB: return p - q;
    case CM_V_AVRG: return (p + q + (p + q >= 0)) >> 1;
    case CM_V_ABSDIFF: return p > q ? p - q : q - p;
    case CM_V_MIN: return p < q ? p : q;
    case CM_V_MAX: return p > q ? p : q;
    case CM_V_SHL: return (s64)((u64)p << n);
    case CM_V_SHR: return p >> n;
    case CM_V_SET: return p == q;
    case CM_V_SET + 1: return p != q;
    case CM_V_SET + 2: return p < q;
    case CM_V_SET + 3: return p <= q;
    case CM_V_SET + 4: return p > q;
    default: return p >= q;
    }
}
CM_FN s64 video_limit(s64 v, u32 n, u32 x)
{
    s64 hi = x & CM_V_DS ? (1ll << (n - 1)) - 1 : (1ll << n) - 1, lo = x & CM_V_DS ? -hi - 1 : 0;
    return !(x & CM_V_SAT) ? v : v > hi ? hi : v < lo ? lo : v;
}
CM_FN u32 VIDEO(u32 a, u32 b, u32 c, u32 x, u32 imm)
{
    u32 d = imm >> 24, n = part_bits(d), up = n * part_index(d);
    u32 t = (u32)video_limit(
        combine(named_part(a, imm & 0xfff, x & CM_V_AS), named_part(b, imm >> 12 & 0xfff, x & CM_V_BS), x), n, x);
    bool less = x & CM_V_DS ? (s32)t < (s32)c : t < c;
    if (n < 32) {
        u32 ones = ((1u << n) - 1) << up;
        return (t << up & ones) | (c & ~ones);
    }
    switch (x & CM_V_SECOND) {
    case CM_V_PLUS: return t + c;
    case CM_V_SECOND_MIN: return less ? t : c;
    case CM_V_SECOND: return less ? c : t;
    default: return t;
    }
}
CM_FN u32 video_parts(u32 a, u32 b, u32 c, u32 x, u32 imm, u32 n)
{
    u32 bits = 32 / n, sum = c, merged = 0;
    for (u32 k = 0; k < n; k++) {
        u32 ones = ((1u << bits) - 1) << bits * k, p = imm >> 3 * k & (2 * n - 1), q = imm >> 12 >> 3 * k & (2 * n - 1);
        if (!(imm >> 24 >> k & 1)) {
            merged |= c & ones;
            continue;
        }
        s64 t = video_limit(combine(part(p < n ? a : b, p & (n - 1), bits, x & CM_V_AS),
                                    part(q < n ? a : b, q & (n - 1), bits, x & CM_V_BS), x),
                            bits, x);
        sum += (u32)t;
        merged |= (u32)t << bits * k & ones;
    }
    return (x & CM_V_SECOND) == CM_V_PLUS ? sum : merged;
}
CM_FN u32 VIDEO2(u32 a, u32 b, u32 c, u32 x, u32 imm) { return video_parts(a, b, c, x, imm, 2); }
CM_FN u32 VIDEO4(u32 a, u32 b, u32 c, u32 x, u32 imm) { return video_parts(a, b, c, x, imm, 4); }
/* A product of two parts of 32 bits and an addend take 66 bits: low 64 and what is above. */
CM_FN u32 VMAD(u32 a, u32 b, u32 c, u32 x, u32 imm)
{
    bool sign = x & (CM_V_AS | CM_V_BS | CM_M_MINUS_AB | CM_M_MINUS_C);
    s64 p = named_part(a, imm & 0xfff, x & CM_V_AS), q = named_part(b, imm >> 12 & 0xfff, x & CM_V_BS);
    u64 lo = (u64)p * (u64)q;
    s64 hi = (p < 0) != (q < 0) && lo ? -1 : 0;
    if (x & CM_M_MINUS_AB) {
        lo = 0 - lo;
        hi = lo ? ~hi : 0;
    }
    u32 z = x & CM_M_MINUS_C ? ~c : c;
    s64 add = (sign ? (s64)(s32)z : (s64)z);
    u64 sum = lo + (u64)add;
    hi += (add < 0 ? -1 : 0) + (sum < lo ? 1 : 0);
    if (x & (CM_M_PO | CM_M_MINUS_C)) {
        sum++;
        hi += sum == 0;
    }
    u32 n = x & CM_M_SHR7 ? 7 : x & CM_M_SHR15 ? 15 : 0;
    if (n) {
        sum = sum >> n | (u64)hi << (64 - n);
        hi >>= n;
    }
    if (x & CM_V_SAT) {
        const s64 least = sign ? -2147483648ll : 0, most = sign ? 2147483647ll : 4294967295ll;
        bool fits = hi == ((s64)sum < 0 ? -1 : 0);
        s64 v = (s64)sum;
        sum = (u64)(!fits ? hi < 0 ? least : most : v < least ? least : v > most ? most : v);
    }
    return (u32)sum;
}
} // namespace cm
