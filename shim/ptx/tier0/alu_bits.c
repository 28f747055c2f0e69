/* Bit fields, counts and byte permutation. */
#include "ptx/tier0/alu.h"

static inline u32 popc32(u32 x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
static inline u32 clz32(u32 x) { return x ? (u32)__builtin_clz(x) : 32; }
static inline u32 clz64(u64 x) { return x >> 32 ? clz32((u32)(x >> 32)) : 32 + clz32((u32)x); }
static inline u32 brev32(u32 x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
}
OP1(POPC_B32, u32, u32, popc32(a[l]))
OP1(POPC_B64, u32, u64, popc32((u32)a[l]) + popc32((u32)(a[l] >> 32)))
OP1(CLZ_B32, u32, u32, clz32(a[l]))
OP1(CLZ_B64, u32, u64, clz64(a[l]))
OP1(BREV_B32, u32, u32, brev32(a[l]))
OP1(BREV_B64, u64, u64, (u64)brev32((u32)a[l]) << 32 | brev32((u32)(a[l] >> 32)))

/* Position of the leading non-sign bit, or the shift that brings it to the top; all ones if none.
 */
static inline u32 bfind(u32 zeros, u32 width, unsigned shiftamt)
{
    return zeros == width ? ~0u : shiftamt ? zeros : width - 1 - zeros;
}
OP1(BFIND_U32, u32, u32, bfind(clz32(a[l]), 32, i->aux))
OP1(BFIND_U64, u32, u64, bfind(clz64(a[l]), 64, i->aux))
OP1(BFIND_S32, u32, s32, bfind(clz32((u32)(a[l] ^ (a[l] >> 31))), 32, i->aux))
OP1(BFIND_S64, u32, s64, bfind(clz64((u64)(a[l] ^ (a[l] >> 63))), 64, i->aux))

/* The offset-th set bit of mask, counting from base upwards (offset > 0) or downwards; all ones if
 * there is none. Offset 0 is base itself. */
static u32 find_nth_set(u32 mask, u32 base, s32 offset)
{
    s64 left = offset < 0 ? -(s64)offset : offset;
    int step = offset < 0 ? -1 : 1;
    if (base > 31)
        return ~0u;
    if (left == 0)
        return mask >> base & 1 ? base : ~0u;
    for (int pos = (int)base; pos >= 0 && pos < 32; pos += step)
        if ((mask >> pos & 1) && --left == 0)
            return (u32)pos;
    return ~0u;
}
HANDLER(FNS_B32)
{
    const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b);
    const s32 *c = CROW(s32, i->c);
    u32 *d = ROW(u32, i->d);
    WRITE_ACTIVE(u32, d, find_nth_set(a[l], b[l], c[l]));
}

/* pos and len are bytes; of 64-bit fields the hardware looks at all their bits.
 * The field may reach past the top: unsigned fills with 0, signed with the
 * sign of the topmost bit that is still inside. */
static inline u64 low_ones(u32 n) { return n >= 64 ? ~0ull : (1ull << (n & 63)) - 1; }
static inline u64 field(u64 x, u32 pos, u32 len, u32 width, bool is_signed)
{
    pos &= width == 32 ? 0xff : ~0u;
    len &= width == 32 ? 0xff : ~0u;
    const u64 last = (u64)pos + len - 1;
    u64 value = pos < width ? x >> (pos & 63) & low_ones(len) : 0;
    u32 top = last < width - 1 ? (u32)last : width - 1;
    bool fill = is_signed && len != 0 && (x >> top & 1);
    u32 have = pos >= width ? 0 : len < width - pos ? len : width - pos;
    return fill ? value | ~low_ones(have) : value;
}
OP3(BFE_U32, u32, u32, u32, u32, field(a[l], b[l], c[l], 32, false))
OP3(BFE_S32, u32, u32, u32, u32, field(a[l], b[l], c[l], 32, true))
OP3(BFE_U64, u64, u64, u32, u32, field(a[l], b[l], c[l], 64, false))
OP3(BFE_S64, u64, u64, u32, u32, field(a[l], b[l], c[l], 64, true))

/* bfi d, a, b, c(pos), e(len): a's low bits into b */
static inline u64 insert(u64 from, u64 into, u32 pos, u32 len, u32 width)
{
    pos &= width == 32 ? 0xff : ~0u;
    len &= width == 32 ? 0xff : ~0u;
    u64 mask = pos < width ? low_ones(len) << (pos & 63) : 0;
    return (into & ~mask) | (pos < width ? from << (pos & 63) & mask : 0);
}
#define BFI_OP(id, T, width) \
    HANDLER(id) \
    { \
        const T *a = CROW(T, i->a), *b = CROW(T, i->b); \
        const u32 *c = CROW(u32, i->c), *e = CROW(u32, i->e); \
        T *d = ROW(T, i->d); \
        WRITE(T, d, insert(a[l], b[l], c[l], e[l], width)); \
    }
BFI_OP(BFI_B32, u32, 32)
BFI_OP(BFI_B64, u64, 64)

/* bmsk: b ones from bit a on. clamp limits both to 32, wrap takes them modulo 32. */
static inline u32 bit_mask(u32 pos, u32 len, unsigned wrap)
{
    pos = wrap ? pos & 31 : pos;
    len = wrap ? len & 31 : len;
    return pos > 31 ? 0 : (u32)low_ones(len < 32 ? len : 32) << (pos & 31);
}
/* szext: sign- or zero-extends the low b bits of a. */
static inline u32 extend(u32 x, u32 n, unsigned wrap, bool is_signed)
{
    n = wrap ? n & 31 : n < 32 ? n : 32;
    u32 low = x & (u32)low_ones(n);
    bool fill = is_signed && n != 0 && (x >> ((n - 1) & 31) & 1);
    return fill ? low | ~(u32)low_ones(n) : low;
}
OP2(BMSK_B32, u32, u32, u32, bit_mask(a[l], b[l], i->aux))
OP2(SZEXT_U32, u32, u32, u32, extend(a[l], b[l], i->aux, false))
OP2(SZEXT_S32, u32, u32, u32, extend(a[l], b[l], i->aux, true))

/* prmt: four selector nibbles over the eight bytes of b:a; bit 3 replicates the byte's sign. The
 * other modes choose the nibbles by c's low two bits, which are tables here. */
static const u32 prmt_select[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
    {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
    {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
    {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
    {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
    {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
};
static inline u32 permute(u32 lo, u32 hi, u32 select)
{
    u64 bytes = (u64)hi << 32 | lo;
    u32 r = 0;
    for (unsigned n = 0; n < 4; n++) {
        u32 s = select >> (4 * n), byte = (u32)(bytes >> (8 * (s & 7))) & 0xff;
        u32 sign = 0xff & (0 - (byte >> 7));
        r |= (s & 8 ? sign : byte) << (8 * n);
    }
    return r;
}
HANDLER(PRMT_B32)
{
    const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b), *c = CROW(u32, i->c);
    u32 *d = ROW(u32, i->d), select[LIR_LANES];
    const u32 *table = prmt_select[i->aux ? i->aux - 1 : 0];
    for (unsigned l = 0; l < LIR_LANES; l++)
        select[l] = i->aux ? table[c[l] & 3] : c[l];
    WRITE(u32, d, permute(a[l], b[l], select[l]));
}
