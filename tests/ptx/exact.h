/* Exact arithmetic for references: numbers as very long fixed-point integers, rounded once into a
 * format in a mode. Slow, simple, and nothing like what the handlers do. */
#ifndef CUMU_TESTS_PTX_EXACT_H
#define CUMU_TESTS_PTX_EXACT_H

#include "insn.h"

enum mode { RN, RZ, RM, RP, RNA }; /* nearest even, to zero, down, up, nearest with ties away */

struct format {
    unsigned mant, expo;
    u64 nan;
    bool no_inf;
}; /* widths; the canonical NaN */
extern const struct format F16, BF16, F32, F64, TF32, E4M3, E5M2;

/* A finite number: (-1)^neg * words * 2^-BIG_FRACTION. tiny: plus an amount below the last bit. */
enum { BIG_WORDS = 76, BIG_FRACTION = 2400 };
struct big {
    bool neg, tiny;
    u64 w[BIG_WORDS];
};

enum kind { ZERO, FINITE, INFINITE, NOT_A_NUMBER };
struct value {
    enum kind kind;
    bool neg;
    struct big big;
};

struct value value_of(const struct format *f, u64 bits);
struct value value_of_int(u64 magnitude, bool neg);
/* Subnormals become zero of their sign. */
u64 flush(const struct format *f, u64 bits);
u64 round_to(const struct format *f, const struct value *v, enum mode m);
u64 infinity(const struct format *f, bool neg);

u64 exact_add(const struct format *f, u64 a, u64 b, enum mode m);
u64 exact_mul(const struct format *f, u64 a, u64 b, enum mode m);
u64 exact_fma(const struct format *f, u64 a, u64 b, u64 c, enum mode m);
u64 exact_div(const struct format *f, u64 a, u64 b, enum mode m);
u64 exact_sqrt(const struct format *f, u64 a, enum mode m);
u64 exact_cvt(const struct format *to, const struct format *from, u64 a, enum mode m);
/* sat: to [0, 1], NaN to +0 */
u64 saturate01(const struct format *f, u64 bits);
u64 negated(const struct format *f, u64 bits);
bool is_nan(const struct format *f, u64 bits);

#endif
