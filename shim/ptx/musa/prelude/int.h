/* The prelude: types, integer arithmetic and bits. A function is named by the LIR's operation and does to one
 * thread's value what that does to a lane. Narrow values arrive with anything above them. */
namespace cm
{
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef float f32;
typedef double f64;

/* Threads count along x, then y, then z; 32 by 32 they are a warp of PTX, whatever the machine's is. */
CM_FN u32 thread_id() { return tid(0) + ntid(0) * (tid(1) + ntid(1) * tid(2)); }
CM_FN u32 lane_id() { return thread_id() & 31; }
CM_FN u32 warp_id() { return thread_id() >> 5; }

#define CM_OP1(id, D, A, expr) \
    CM_FN D id(A a) { return (D)(expr); }
#define CM_OP2(id, D, A, B, expr) \
    CM_FN D id(A a, B b) { return (D)(expr); }
#define CM_OP3(id, D, A, B, C, expr) \
    CM_FN D id(A a, B b, C c) { return (D)(expr); }
/* x: the operation's modifiers */
#define CM_OP1X(id, D, A, expr) \
    CM_FN D id(A a, u32 x) { return (D)(expr); }
#define CM_OP2X(id, D, A, B, expr) \
    CM_FN D id(A a, B b, u32 x) { return (D)(expr); }
#define CM_OP3X(id, D, A, B, C, expr) \
    CM_FN D id(A a, B b, C c, u32 x) { return (D)(expr); }

CM_FN s32 sx16(u32 x) { return (s32)(s16)x; }
CM_FN u32 zx16(u32 x) { return x & 0xffff; }
template <class T> CM_FN T lesser(T a, T b) { return a < b ? a : b; }
template <class T> CM_FN T greater(T a, T b) { return a > b ? a : b; }
CM_FN u32 pair16(u32 lo, u32 hi) { return (lo & 0xffff) | hi << 16; }
CM_FN u32 clamp_s32(s64 v) { return (u32)(v > 2147483647ll ? 2147483647ll : v < -2147483648ll ? -2147483648ll : v); }
CM_FN s32 relu_s32(s32 v, u32 x) { return x & CM_RELU && v < 0 ? 0 : v; }

CM_OP1(ABS_S16, u32, u32, zx16(sx16(a) < 0 ? 0 - a : a))
CM_OP1(ABS_S32, u32, u32, (s32)a < 0 ? 0 - a : a)
CM_OP1(ABS_S64, u64, u64, (s64)a < 0 ? 0 - a : a)
CM_OP2(ADDSAT_S32, u32, s32, s32, clamp_s32((s64)a + b))
CM_OP2(SUBSAT_S32, u32, s32, s32, clamp_s32((s64)a - b))
CM_OP2(MIN_U16, u32, u32, u32, lesser(zx16(a), zx16(b)))
CM_OP2(MAX_U16, u32, u32, u32, greater(zx16(a), zx16(b)))
CM_OP2(MIN_S16, u32, u32, u32, zx16((u32)lesser(sx16(a), sx16(b))))
CM_OP2(MAX_S16, u32, u32, u32, zx16((u32)greater(sx16(a), sx16(b))))
CM_OP2(MIN_U32, u32, u32, u32, lesser(a, b))
CM_OP2(MAX_U32, u32, u32, u32, greater(a, b))
CM_OP2X(MIN_S32, u32, s32, s32, relu_s32(lesser(a, b), x))
CM_OP2X(MAX_S32, u32, s32, s32, relu_s32(greater(a, b), x))
CM_OP2(MIN_U64, u64, u64, u64, lesser(a, b))
CM_OP2(MAX_U64, u64, u64, u64, greater(a, b))
CM_OP2(MIN_S64, u64, s64, s64, lesser(a, b))
CM_OP2(MAX_S64, u64, s64, s64, greater(a, b))
CM_OP2(ADD_I16X2, u32, u32, u32, pair16(a + b, (a >> 16) + (b >> 16)))
CM_OP2(MIN_U16X2, u32, u32, u32, pair16(lesser(zx16(a), zx16(b)), lesser(a >> 16, b >> 16)))
CM_OP2(MAX_U16X2, u32, u32, u32, pair16(greater(zx16(a), zx16(b)), greater(a >> 16, b >> 16)))
CM_OP2X(MIN_S16X2, u32, u32, u32,
        pair16((u32)relu_s32(lesser(sx16(a), sx16(b)), x), (u32)relu_s32(lesser(sx16(a >> 16), sx16(b >> 16)), x)))
CM_OP2X(MAX_S16X2, u32, u32, u32,
        pair16((u32)relu_s32(greater(sx16(a), sx16(b)), x), (u32)relu_s32(greater(sx16(a >> 16), sx16(b >> 16)), x)))

/* From 32-bit parts: no builtin is needed. */
CM_FN u64 MUL_HI_U64(u64 a, u64 b)
{
    u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
    u64 low = al * bl, m1 = ah * bl + (low >> 32), m2 = al * bh + (u32)m1;
    return ah * bh + (m1 >> 32) + (m2 >> 32);
}
CM_OP2(MUL_HI_S64, u64, u64, u64, MUL_HI_U64(a, b) - ((s64)a < 0 ? b : 0) - ((s64)b < 0 ? a : 0))
CM_OP2(wide_u32, u64, u32, u32, (u64)a *b)
CM_OP2(wide_s32, u64, u32, u32, (s64)(s32)a *(s32)b)
CM_OP2(MUL_HI_U16, u32, u32, u32, (zx16(a) * zx16(b)) >> 16)
CM_OP2(MUL_HI_S16, u32, u32, u32, (u32)(sx16(a) * sx16(b)) >> 16)
CM_OP2(MUL_HI_U32, u32, u32, u32, wide_u32(a, b) >> 32)
CM_OP2(MUL_HI_S32, u32, u32, u32, wide_s32(a, b) >> 32)
CM_OP3(MAD_HI_U16, u32, u32, u32, u32, zx16(MUL_HI_U16(a, b) + c))
CM_OP3(MAD_HI_S16, u32, u32, u32, u32, zx16(MUL_HI_S16(a, b) + c))
CM_OP3(MAD_HI_U32, u32, u32, u32, u32, MUL_HI_U32(a, b) + c)
CM_OP3X(MAD_HI_S32, u32, u32, u32, u32,
        x &CM_SAT ? clamp_s32((s64)(s32)MUL_HI_S32(a, b) + (s32)c) : MUL_HI_S32(a, b) + c)
CM_OP3(MAD_HI_U64, u64, u64, u64, u64, MUL_HI_U64(a, b) + c)
CM_OP3(MAD_HI_S64, u64, u64, u64, u64, MUL_HI_S64(a, b) + c)
CM_OP2(MUL_WIDE_U16, u32, u32, u32, zx16(a) * zx16(b))
CM_OP2(MUL_WIDE_S16, u32, u32, u32, sx16(a) * sx16(b))
CM_OP3(MAD_WIDE_U16, u32, u32, u32, u32, zx16(a) * zx16(b) + c)
CM_OP3(MAD_WIDE_S16, u32, u32, u32, u32, (u32)(sx16(a) * sx16(b)) + c)

/* Of the 48 bits of a product of 24-bit factors, .lo is bits 0-31 and .hi bits 16-47. */
CM_OP2(p24_u, u64, u32, u32, (u64)(a & 0xffffff) * (b & 0xffffff))
CM_OP2(p24_s, u64, u32, u32, (s64)((s32)(a << 8) >> 8) * ((s32)(b << 8) >> 8))
CM_OP2(MUL24_LO_U32, u32, u32, u32, p24_u(a, b))
CM_OP2(MUL24_LO_S32, u32, u32, u32, p24_s(a, b))
CM_OP2(MUL24_HI_U32, u32, u32, u32, p24_u(a, b) >> 16)
CM_OP2(MUL24_HI_S32, u32, u32, u32, p24_s(a, b) >> 16)
CM_OP3(MAD24_LO_U32, u32, u32, u32, u32, (u32)p24_u(a, b) + c)
CM_OP3(MAD24_LO_S32, u32, u32, u32, u32, (u32)p24_s(a, b) + c)
CM_OP3(MAD24_HI_U32, u32, u32, u32, u32, (u32)(p24_u(a, b) >> 16) + c)
CM_OP3X(MAD24_HI_S32, u32, u32, u32, u32,
        x &CM_SAT ? clamp_s32((s64)(s32)(p24_s(a, b) >> 16) + (s32)c) : (u32)(p24_s(a, b) >> 16) + c)

template <class T> CM_FN u64 distance(T a, T b) { return a < b ? (u64)b - (u64)a : (u64)a - (u64)b; }
CM_OP3(SAD_U16, u32, u32, u32, u32, zx16(c + (u32)distance(zx16(a), zx16(b))))
CM_OP3(SAD_S16, u32, u32, u32, u32, zx16(c + (u32)distance(sx16(a), sx16(b))))
CM_OP3(SAD_U32, u32, u32, u32, u32, c + (u32)distance(a, b))
CM_OP3(SAD_S32, u32, s32, s32, u32, c + (u32)distance(a, b))
CM_OP3(SAD_U64, u64, u64, u64, u64, c + distance(a, b))
CM_OP3(SAD_S64, u64, s64, s64, u64, c + distance(a, b))

/* By zero: all ones, and the dividend as remainder; the least number by -1 wraps. */
CM_OP2(DIV_U32, u32, u32, u32, b ? a / b : ~0u)
CM_OP2(REM_U32, u32, u32, u32, b ? a % b : a)
CM_OP2(DIV_S32, u32, s32, s32, b == 0 ? ~0u : b == -1 ? 0u - (u32)a : (u32)(a / b))
CM_OP2(REM_S32, u32, s32, s32, b == 0 ? a : b == -1 ? 0 : a % b)
CM_OP2(DIV_U64, u64, u64, u64, b ? a / b : ~0ull)
CM_OP2(REM_U64, u64, u64, u64, b ? a % b : a)
CM_OP2(DIV_S64, u64, s64, s64, b == 0 ? ~0ull : b == -1 ? 0ull - (u64)a : (u64)(a / b))
CM_OP2(REM_S64, u64, s64, s64, b == 0 ? a : b == -1 ? 0 : a % b)
CM_OP2(DIV_U16, u32, u32, u32, zx16(DIV_U32(zx16(a), zx16(b))))
CM_OP2(REM_U16, u32, u32, u32, zx16(REM_U32(zx16(a), zx16(b))))
CM_OP2(DIV_S16, u32, u32, u32, zx16(DIV_S32(sx16(a), sx16(b))))
CM_OP2(REM_S16, u32, u32, u32, zx16(REM_S32(sx16(a), sx16(b))))

/* a + b + carry; bit 0 of x: the carry is read (else it is `first`), bit 1: written. A subtraction adds ~b and 1,
 * and its flag is the carry of that. */
template <class T> CM_FN T add_carry(T a, T b, bool &cc, u32 x, bool first)
{
    T in = (T)(x & 1 ? cc : first), sum = a + b, all = sum + in;
    if (x & 2)
        cc = sum < a || all < sum;
    return all;
}
CM_FN u32 ADDX_I32(u32 a, u32 b, bool &cc, u32 x) { return add_carry<u32>(a, b, cc, x, false); }
CM_FN u64 ADDX_I64(u64 a, u64 b, bool &cc, u32 x) { return add_carry<u64>(a, b, cc, x, false); }
CM_FN u32 SUBX_I32(u32 a, u32 b, bool &cc, u32 x) { return add_carry<u32>(a, ~b, cc, x, true); }
CM_FN u64 SUBX_I64(u64 a, u64 b, bool &cc, u32 x) { return add_carry<u64>(a, ~b, cc, x, true); }
#define CM_MADX(id, T, product) \
    CM_FN T id(T a, T b, T c, bool &cc, u32 x) { return add_carry<T>(product, c, cc, x, false); }
CM_MADX(MADX_LO_I32, u32, a *b)
CM_MADX(MADX_LO_I64, u64, a *b)
CM_MADX(MADX_HI_U32, u32, MUL_HI_U32(a, b))
CM_MADX(MADX_HI_S32, u32, MUL_HI_S32(a, b))
CM_MADX(MADX_HI_U64, u64, MUL_HI_U64(a, b))
CM_MADX(MADX_HI_S64, u64, MUL_HI_S64(a, b))

CM_FN s32 element(u32 v, u32 n, u32 bits, bool sign)
{
    u32 up = v << (32 - bits * (n + 1));
    return sign ? (s32)up >> (32 - bits) : (s32)(up >> (32 - bits));
}
CM_FN u32 DP4A(u32 a, u32 b, u32 c, u32 x)
{
    for (u32 n = 0; n < 4; n++)
        c += (u32)(element(a, n, 8, x & 1) * element(b, n, 8, x & 2));
    return c;
}
CM_FN u32 DP2A(u32 a, u32 b, u32 c, u32 x)
{
    for (u32 n = 0; n < 2; n++)
        c += (u32)element(a, n, 16, x & 1) * (u32)element(b, n + (x & 4 ? 2 : 0), 8, x & 2);
    return c;
}

/* ---- shifts: amounts beyond the width give 0, or the sign ---- */
CM_OP2(SHL_B16, u32, u32, u32, b < 16 ? zx16(a << b) : 0)
CM_OP2(SHL_B32, u32, u32, u32, b < 32 ? a << b : 0)
CM_OP2(SHL_B64, u64, u64, u32, b < 64 ? a << b : 0)
CM_OP2(SHR_U16, u32, u32, u32, b < 16 ? zx16(a) >> b : 0)
CM_OP2(SHR_U32, u32, u32, u32, b < 32 ? a >> b : 0)
CM_OP2(SHR_U64, u64, u64, u32, b < 64 ? a >> b : 0)
CM_OP2(SHR_S16, u32, u32, u32, zx16((u32)(sx16(a) >> (b < 16 ? b : 15))))
CM_OP2(SHR_S32, u32, s32, u32, a >> (b < 32 ? b : 31))
CM_OP2(SHR_S64, u64, s64, u32, a >> (b < 64 ? b : 63))
CM_FN u32 funnel_amount(u32 n, u32 x) { return x ? n & 31 : n < 32 ? n : 32; }
CM_OP3X(SHF_L_B32, u32, u32, u32, u32, (((u64)b << 32 | a) << funnel_amount(c, x)) >> 32)
CM_OP3X(SHF_R_B32, u32, u32, u32, u32, ((u64)b << 32 | a) >> funnel_amount(c, x))

/* ---- bits ---- */
CM_FN u32 POPC_B32(u32 a)
{
    a -= a >> 1 & 0x55555555u;
    a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
    return ((a + (a >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
CM_FN u32 smear(u32 a) /* ones below the topmost one */
{
    a |= a >> 1;
    a |= a >> 2;
    a |= a >> 4;
    a |= a >> 8;
    return a | a >> 16;
}
CM_OP1(POPC_B64, u32, u64, POPC_B32((u32)a) + POPC_B32((u32)(a >> 32)))
CM_OP1(CLZ_B32, u32, u32, 32 - POPC_B32(smear(a)))
CM_OP1(CLZ_B64, u32, u64, a >> 32 ? CLZ_B32((u32)(a >> 32)) : 32 + CLZ_B32((u32)a))
CM_FN u32 lowest(u32 a) { return a ? POPC_B32((a & (0 - a)) - 1) : 32; }
CM_FN u32 BREV_B32(u32 a)
{
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
    return a >> 16 | a << 16;
}
CM_OP1(BREV_B64, u64, u64, (u64)BREV_B32((u32)a) << 32 | BREV_B32((u32)(a >> 32)))
CM_FN u32 found(u32 zeros, u32 width, u32 x) { return zeros == width ? ~0u : x ? zeros : width - 1 - zeros; }
CM_OP1X(BFIND_U32, u32, u32, found(CLZ_B32(a), 32, x))
CM_OP1X(BFIND_U64, u32, u64, found(CLZ_B64(a), 64, x))
CM_OP1X(BFIND_S32, u32, s32, found(CLZ_B32((u32)(a ^ (a >> 31))), 32, x))
CM_OP1X(BFIND_S64, u32, s64, found(CLZ_B64((u64)(a ^ (a >> 63))), 64, x))
CM_FN u32 FNS_B32(u32 a, u32 b, s32 c)
{
    s64 left = c < 0 ? -(s64)c : c;
    if (b > 31)
        return ~0u;
    if (left == 0)
        return a >> b & 1 ? b : ~0u;
    for (s32 at = (s32)b; at >= 0 && at < 32; at += c < 0 ? -1 : 1)
        if ((a >> at & 1) && --left == 0)
            return (u32)at;
    return ~0u;
}
CM_FN u64 low_ones(u32 n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }
CM_FN u64 field(u64 v, u32 at, u32 len, u32 width, bool sign)
{
    at &= width == 32 ? 0xff : ~0u; /* of 64-bit fields all bits count */
    len &= width == 32 ? 0xff : ~0u;
    u64 last = (u64)at + len - 1;
    u64 value = at < width ? v >> (at & 63) & low_ones(len) : 0;
    u32 top = last < width - 1 ? (u32)last : width - 1;
    u32 have = at >= width ? 0 : len < width - at ? len : width - at;
    return sign && len != 0 && (v >> top & 1) ? value | ~low_ones(have) : value;
}
CM_OP3(BFE_U32, u32, u32, u32, u32, field(a, b, c, 32, false))
CM_OP3(BFE_S32, u32, u32, u32, u32, field(a, b, c, 32, true))
CM_OP3(BFE_U64, u64, u64, u32, u32, field(a, b, c, 64, false))
CM_OP3(BFE_S64, u64, u64, u32, u32, field(a, b, c, 64, true))
CM_FN u64 insert(u64 from, u64 into, u32 at, u32 len, u32 width)
{
    at &= width == 32 ? 0xff : ~0u;
    len &= width == 32 ? 0xff : ~0u;
    u64 mask = at < width ? low_ones(len) << (at & 63) : 0;
    return (into & ~mask) | (at < width ? from << (at & 63) & mask : 0);
}
CM_FN u32 BFI_B32(u32 a, u32 b, u32 c, u32 d) { return (u32)insert(a, b, c, d, 32); }
CM_FN u64 BFI_B64(u64 a, u64 b, u32 c, u32 d) { return insert(a, b, c, d, 64); }
CM_FN u32 BMSK_B32(u32 a, u32 b, u32 x)
{
    a = x ? a & 31 : a;
    b = x ? b & 31 : b;
    return a > 31 ? 0 : (u32)low_ones(b < 32 ? b : 32) << a;
}
CM_FN u32 size_extend(u32 a, u32 n, u32 x, bool sign)
{
    n = x ? n & 31 : n < 32 ? n : 32;
    u32 low = a & (u32)low_ones(n);
    return sign && n != 0 && (a >> ((n - 1) & 31) & 1) ? low | ~(u32)low_ones(n) : low;
}
CM_OP2X(SZEXT_U32, u32, u32, u32, size_extend(a, b, x, false))
CM_OP2X(SZEXT_S32, u32, u32, u32, size_extend(a, b, x, true))
CM_FN u32 PRMT_B32(u32 a, u32 b, u32 c, u32 x)
{
    u32 k = c & 3, r = 0;
    switch (x) { /* the modes choose four of the eight bytes by two bits */
    case 0: break;
    case 1: c = 0x3210 + 0x1111 * k; break;
    case 2: c = k == 0 ? 0x5670 : k == 1 ? 0x6701 : k == 2 ? 0x7012 : 0x0123; break;
    case 3: c = 0x1111 * k; break;
    case 4: c = k == 0 ? 0x3210 : k == 1 ? 0x3211 : k == 2 ? 0x3222 : 0x3333; break;
    case 5: c = k == 0 ? 0x0000 : k == 1 ? 0x1110 : k == 2 ? 0x2210 : 0x3210; break;
    default: c = k & 1 ? 0x3232 : 0x1010;
    }
    for (u32 n = 0; n < 4; n++) {
        u32 s = c >> 4 * n, byte = (u32)(((u64)b << 32 | a) >> 8 * (s & 7)) & 0xff;
        r |= (s & 8 ? 0xff & (0 - (byte >> 7)) : byte) << 8 * n;
    }
    return r;
}
CM_FN u32 LOP3_B32(u32 a, u32 b, u32 c, u32 table)
{
    u32 r = 0;
    for (u32 n = 0; n < 8; n++)
        if (table >> n & 1)
            r |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
    return r;
}
} // namespace cm
