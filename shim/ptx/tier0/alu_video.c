/* Video instructions: one, two or four signed or unsigned parts, optional saturation, and a second
 * operation or merge with c. Rare, so lane by lane; aux and imm are in alu_aux.h. */
#include "ptx/tier0/alu.h"

static inline s64 part(u32 x, unsigned n, unsigned bits, bool is_signed)
{
    u32 up = x << (32 - bits * (n + 1));
    return is_signed ? (s64)((s32)up >> (32 - bits)) : (s64)(up >> (32 - bits));
}
/* Bits of a part by its number, LIR_VIDEO_WORD and so on, and how far up it is. */
static unsigned part_bits(unsigned which) { return which == LIR_VIDEO_WORD ? 32 : which < LIR_VIDEO_HALF ? 8 : 16; }
static unsigned part_index(unsigned which)
{
    return which == LIR_VIDEO_WORD  ? 0
           : which < LIR_VIDEO_HALF ? (which - LIR_VIDEO_BYTE) & 3
                                    : (which - LIR_VIDEO_HALF) & 1;
}
static s64 named_part(u32 x, unsigned which, bool is_signed)
{
    return part(x, part_index(which), part_bits(which), is_signed);
}
static s64 combine(s64 x, s64 y, unsigned aux)
{
    const s64 amount = aux & LIR_VIDEO_WRAP ? y & 31 : y < 0 || y > 32 ? 32 : y;
    switch (aux & LIR_VIDEO_OP) {
    case LIR_VADD: return x + y;
    case LIR_VSUB: return x - y;
    case LIR_VAVRG: return (x + y + (x + y >= 0)) >> 1;
    case LIR_VABSDIFF: return x > y ? x - y : y - x;
    case LIR_VMIN: return x < y ? x : y;
    case LIR_VMAX: return x > y ? x : y;
    case LIR_VSHL: return (s64)((u64)x << amount);
    case LIR_VSHR: return x >> amount;
    case LIR_VSET: return x == y;
    case LIR_VSET + 1: return x != y;
    case LIR_VSET + 2: return x < y;
    case LIR_VSET + 3: return x <= y;
    case LIR_VSET + 4: return x > y;
    default: return x >= y;
    }
}
static s64 saturate(s64 x, unsigned bits, unsigned aux)
{
    const s64 hi = aux & LIR_VIDEO_DS ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
    const s64 lo = aux & LIR_VIDEO_DS ? -hi - 1 : 0;
    return !(aux & LIR_VIDEO_SAT) ? x : x > hi ? hi : x < lo ? lo : x;
}
static u32 scalar(u32 x, u32 y, u32 c, unsigned aux, u32 imm)
{
    const unsigned d = imm >> LIR_VIDEO_D_SHIFT, bits = part_bits(d), up = bits * part_index(d);
    s64 full = combine(named_part(x, imm & LIR_VIDEO_PARTS, aux & LIR_VIDEO_AS),
                       named_part(y, imm >> LIR_VIDEO_B_SHIFT & LIR_VIDEO_PARTS, aux & LIR_VIDEO_BS), aux);
    u32 t = (u32)saturate(full, bits, aux);
    const bool less = aux & LIR_VIDEO_DS ? (s32)t < (s32)c : t < c;
    if (bits < 32) {
        const u32 ones = ((1u << bits) - 1) << up;
        return (t << up & ones) | (c & ~ones);
    }
    switch (aux & LIR_VIDEO_SECOND) {
    case LIR_VIDEO_PLUS: return t + c;
    case LIR_VIDEO_MIN: return less ? t : c;
    case LIR_VIDEO_MAX: return less ? c : t;
    default: return t;
    }
}
/* Element k of an operand: one of the parts of a and b together. */
static s64 picked(u32 x, u32 y, u32 parts, unsigned k, unsigned n, bool is_signed)
{
    const unsigned which = parts >> 3 * k & (2 * n - 1);
    return part(which < n ? x : y, which & (n - 1), 32 / n, is_signed);
}
static u32 parts(u32 x, u32 y, u32 c, unsigned aux, u32 imm, unsigned n)
{
    const unsigned bits = 32 / n;
    u32 sum = c, merged = 0;
    for (unsigned k = 0; k < n; k++) {
        const u32 ones = ((1u << bits) - 1) << bits * k;
        if (!(imm >> LIR_VIDEO_D_SHIFT >> k & 1)) {
            merged |= c & ones;
            continue;
        }
        s64 t = saturate(combine(picked(x, y, imm, k, n, aux & LIR_VIDEO_AS),
                                 picked(x, y, imm >> LIR_VIDEO_B_SHIFT, k, n, aux & LIR_VIDEO_BS), aux),
                         bits, aux);
        sum += (u32)t;
        merged |= (u32)t << bits * k & ones;
    }
    return (aux & LIR_VIDEO_SECOND) == LIR_VIDEO_PLUS ? sum : merged;
}

/* a * b + c with one of the two negated, or one more, then shifted and limited to 32 bits. A
 * negated x is ~x + 1, so that the sign of the result alone tells how wide things are. */
static u32 multiply_add(u32 x, u32 y, u32 z, unsigned aux, u32 imm)
{
    const bool is_signed = aux & (LIR_VIDEO_AS | LIR_VIDEO_BS | LIR_VMAD_MINUS_AB | LIR_VMAD_MINUS_C);
    __int128 ab = (__int128)named_part(x, imm & LIR_VIDEO_PARTS, aux & LIR_VIDEO_AS) *
                  named_part(y, imm >> LIR_VIDEO_B_SHIFT & LIR_VIDEO_PARTS, aux & LIR_VIDEO_BS);
    if (aux & LIR_VMAD_MINUS_AB)
        ab = -ab;
    if (aux & LIR_VMAD_MINUS_C)
        z = ~z;
    ab += is_signed ? (s64)(s32)z : (s64)z;
    ab += aux & (LIR_VMAD_PO | LIR_VMAD_MINUS_C) ? 1 : 0;
    ab >>= aux & LIR_VMAD_SHR7 ? 7 : aux & LIR_VMAD_SHR15 ? 15 : 0;
    const s64 lo = is_signed ? INT32_MIN : 0, hi = is_signed ? INT32_MAX : (s64)UINT32_MAX;
    if (aux & LIR_VIDEO_SAT)
        ab = ab < lo ? lo : ab > hi ? hi : ab;
    return (u32)ab;
}

#define VIDEO_OP(id, expr) \
    HANDLER(id) \
    { \
        const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b), *c = CROW(u32, i->c); \
        u32 *d = ROW(u32, i->d); \
        WRITE_ACTIVE(u32, d, expr); \
    }
VIDEO_OP(VIDEO, scalar(a[l], b[l], c[l], i->aux, (u32)i->imm))
VIDEO_OP(VIDEO2, parts(a[l], b[l], c[l], i->aux, (u32)i->imm, 2))
VIDEO_OP(VIDEO4, parts(a[l], b[l], c[l], i->aux, (u32)i->imm, 4))
VIDEO_OP(VMAD, multiply_add(a[l], b[l], c[l], i->aux, (u32)i->imm))
