/* Rounds any number into any binary float format in any mode, in integer arithmetic: what
 * conversions use when there is no vector instruction that rounds the right way. */
#ifndef CUMU_PTX_TIER0_ALU_PACK_H
#define CUMU_PTX_TIER0_ALU_PACK_H

#include "ptx/tier0/alu.h"

struct t0_fmt {
    unsigned mant; /* explicit mantissa bits */
    int emin;      /* exponent of the smallest normal */
    u64 inf;       /* first encoding that is not finite */
    u64 nan, sign;
};
static const struct t0_fmt t0_fmt_f16 __attribute__((unused)) = {10, -14, 0x7c00, 0x7fff, 0x8000};
static const struct t0_fmt t0_fmt_bf16 __attribute__((unused)) = {7, -126, 0x7f80, 0x7fff, 0x8000};
static const struct t0_fmt t0_fmt_f32 __attribute__((unused)) = {23, -126, 0x7f800000, 0x7fffffff, 0x80000000};
static const struct t0_fmt t0_fmt_f64
    __attribute__((unused)) = {52, -1022, 0x7ff0000000000000, 0x7fffffffffffffff, 0x8000000000000000};
/* tf32 as 19 bits */
static const struct t0_fmt t0_fmt_tf32 __attribute__((unused)) = {10, -126, 0x3fc00, 0x3ffff, 0x40000};

/* (-1)^neg * mant * 2^exp; rnd is PTX_RN (or 0), PTX_RNA, PTX_RZ, PTX_RM or PTX_RP. */
static inline u64 t0_pack(const struct t0_fmt *f, bool neg, u64 mant, int exp, unsigned rnd)
{
    const u64 sign = neg ? f->sign : 0;
    if (mant == 0)
        return sign;
    const int zeros = __builtin_clzll(mant), top = exp + 63 - zeros; /* exponent of the leading bit */
    mant <<= zeros;
    const int keep = (int)f->mant + 1 - (top < f->emin ? f->emin - top : 0), drop = 64 - keep;
    u64 q = drop >= 64 ? 0 : mant >> drop;
    bool half = drop > 64 ? false : mant >> (drop - 1) & 1;
    bool rest = drop > 64 ? true : (mant & ((1ull << (drop - 1)) - 1)) != 0;
    bool away = rnd == PTX_RZ ? false : rnd == PTX_RM ? neg : rnd == PTX_RP ? !neg : false;
    bool up = rnd == PTX_RZ                    ? false
              : rnd == PTX_RM || rnd == PTX_RP ? away && (half || rest)
              : rnd == PTX_RNA                 ? half
                                               : half && (rest || (q & 1));
    q += up;
    u64 r = top < f->emin ? q : ((u64)(top - f->emin) << f->mant) + q;
    if (r >= f->inf)
        r = rnd == PTX_RZ || ((rnd == PTX_RM || rnd == PTX_RP) && !away) ? f->inf - 1 : f->inf;
    return sign | r;
}

/* The same for a number held as f64 (every narrower format fits). */
static inline u64 t0_pack_f64(const struct t0_fmt *f, f64 x, unsigned rnd)
{
    const u64 u = f64_bits(x), mant = u & 0xfffffffffffffull;
    const int exp = (int)(u >> 52 & 0x7ff);
    const bool neg = u >> 63;
    if (exp == 0x7ff)
        return mant ? f->nan : (neg ? f->sign : 0) | f->inf;
    return t0_pack(f, neg, exp ? mant | 1ull << 52 : mant, (exp ? exp : 1) - 1075, rnd);
}

#endif
