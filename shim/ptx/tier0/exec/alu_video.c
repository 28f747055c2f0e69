/* Video instructions: one, two or four signed or unsigned parts, optional saturation, and a second
 * operation or merge with c. Rare, so lane by lane; the aux bits are in alu_aux.h. */
#include "ptx/tier0/exec/alu.h"

static inline s64 part(u32 x, unsigned n, unsigned bits, bool is_signed)
{
    u32 up = x << (32 - bits * (n + 1));
    return is_signed ? (s64)((s32)up >> (32 - bits)) : (s64)(up >> (32 - bits));
}
static s64 combine(s64 x, s64 y, unsigned aux)
{
    const s64 amount = aux & T0_VIDEO_WRAP ? y & 31 : y < 0 || y > 32 ? 32 : y;
    switch (aux & T0_VIDEO_OP) {
    case T0_VADD: return x + y;
    case T0_VSUB: return x - y;
    case T0_VAVRG: return (x + y + (x + y >= 0)) >> 1;
    case T0_VABSDIFF: return x > y ? x - y : y - x;
    case T0_VMIN: return x < y ? x : y;
    case T0_VMAX: return x > y ? x : y;
    case T0_VSHL: return (s64)((u64)x << amount);
    default: return x >> amount; /* T0_VSHR */
    }
}
static s64 saturate(s64 x, unsigned bits, unsigned aux)
{
    const s64 hi = aux & T0_VIDEO_DS ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
    const s64 lo = aux & T0_VIDEO_DS ? -hi - 1 : 0;
    return !(aux & T0_VIDEO_SAT) ? x : x > hi ? hi : x < lo ? lo : x;
}
static u32 scalar(u32 x, u32 y, u32 c, unsigned aux)
{
    u32 t = (u32)saturate(combine(part(x, 0, 32, aux & T0_VIDEO_AS),
                                  part(y, 0, 32, aux & T0_VIDEO_BS), aux), 32, aux);
    const bool less = aux & T0_VIDEO_DS ? (s32)t < (s32)c : t < c;
    switch (aux & T0_VIDEO_SECOND) {
    case T0_VIDEO_PLUS: return t + c;
    case T0_VIDEO_MIN: return less ? t : c;
    case T0_VIDEO_MAX: return less ? c : t;
    default: return t;
    }
}
static u32 parts(u32 x, u32 y, u32 c, unsigned aux, unsigned n)
{
    const unsigned bits = 32 / n;
    u32 sum = c, merged = 0;
    for (unsigned k = 0; k < n; k++) {
        s64 t = saturate(combine(part(x, k, bits, aux & T0_VIDEO_AS),
                                 part(y, k, bits, aux & T0_VIDEO_BS), aux), bits, aux);
        sum += (u32)t;
        merged |= ((u32)t & ((1u << bits) - 1)) << (bits * k);
    }
    return (aux & T0_VIDEO_SECOND) == T0_VIDEO_PLUS ? sum : merged;
}
#define VIDEO_OP(id, expr) \
    HANDLER(id) \
    { \
        const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b), *c = CROW(u32, i->c); \
        u32 *d = ROW(u32, i->d); \
        WRITE_ACTIVE(u32, d, expr); \
    }
VIDEO_OP(VIDEO, scalar(a[l], b[l], c[l], i->aux))
VIDEO_OP(VIDEO2, parts(a[l], b[l], c[l], i->aux, 2))
VIDEO_OP(VIDEO4, parts(a[l], b[l], c[l], i->aux, 4))
