/* Integer arithmetic: add to rem, carry chains, dot products. Signed arithmetic is done unsigned,
 * so that it wraps; narrow sources are truncated here. */
#include "ptx/tier0/alu.h"

#define SX16(x) ((s32)(int16_t)(x))
#define ZX16(x) ((u32)(uint16_t)(x))

OP2(ADD_I16, u32, u32, u32, ZX16(a[l] + b[l]))
OP2(ADD_I32, u32, u32, u32, a[l] + b[l])
OP2(ADD_I64, u64, u64, u64, a[l] + b[l])
OP2(SUB_I16, u32, u32, u32, ZX16(a[l] - b[l]))
OP2(SUB_I32, u32, u32, u32, a[l] - b[l])
OP2(SUB_I64, u64, u64, u64, a[l] - b[l])
OP1(NEG_I16, u32, u32, ZX16(0 - a[l]))
OP1(NEG_I32, u32, u32, 0 - a[l])
OP1(NEG_I64, u64, u64, 0 - a[l])
OP1(ABS_S16, u32, u32, ZX16(SX16(a[l]) < 0 ? 0 - a[l] : a[l]))
OP1(ABS_S32, u32, u32, (s32)a[l] < 0 ? 0 - a[l] : a[l])
OP1(ABS_S64, u64, u64, (s64)a[l] < 0 ? 0 - a[l] : a[l])

/* .sat clamps to the s32 range */
static inline u32 clamp_s32(s64 x) { return (u32)(s32)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x); }
OP2(ADDSAT_S32, u32, s32, s32, clamp_s32((s64)a[l] + b[l]))
OP2(SUBSAT_S32, u32, s32, s32, clamp_s32((s64)a[l] - b[l]))

#define LESS(x, y) ((x) < (y) ? (x) : (y))
#define MORE(x, y) ((x) > (y) ? (x) : (y))
OP2(MIN_U16, u32, u32, u32, LESS(ZX16(a[l]), ZX16(b[l])))
OP2(MIN_S16, u32, u32, u32, ZX16(LESS(SX16(a[l]), SX16(b[l]))))
OP2(MIN_U32, u32, u32, u32, LESS(a[l], b[l]))
OP2(MIN_U64, u64, u64, u64, LESS(a[l], b[l]))
OP2(MIN_S64, s64, s64, s64, LESS(a[l], b[l]))
OP2(MAX_U16, u32, u32, u32, MORE(ZX16(a[l]), ZX16(b[l])))
OP2(MAX_S16, u32, u32, u32, ZX16(MORE(SX16(a[l]), SX16(b[l]))))
OP2(MAX_U32, u32, u32, u32, MORE(a[l], b[l]))
OP2(MAX_U64, u64, u64, u64, MORE(a[l], b[l]))
OP2(MAX_S64, s64, s64, s64, MORE(a[l], b[l]))
static inline s32 relu_s32(s32 x, unsigned relu) { return relu && x < 0 ? 0 : x; }
OP2(MIN_S32, s32, s32, s32, relu_s32(LESS(a[l], b[l]), i->aux &LIR_RELU))
OP2(MAX_S32, s32, s32, s32, relu_s32(MORE(a[l], b[l]), i->aux &LIR_RELU))

#define PAIR(lo, hi) (ZX16(lo) | (u32)(hi) << 16)
#define HI(x) ((x) >> 16)
OP2(ADD_I16X2, u32, u32, u32, PAIR(a[l] + b[l], HI(a[l]) + HI(b[l])))
OP2(MIN_U16X2, u32, u32, u32, PAIR(LESS(ZX16(a[l]), ZX16(b[l])), LESS(HI(a[l]), HI(b[l]))))
OP2(MAX_U16X2, u32, u32, u32, PAIR(MORE(ZX16(a[l]), ZX16(b[l])), MORE(HI(a[l]), HI(b[l]))))
OP2(MIN_S16X2, u32, u32, u32,
    PAIR(relu_s32(LESS(SX16(a[l]), SX16(b[l])), i->aux &LIR_RELU),
         relu_s32(LESS(SX16(HI(a[l])), SX16(HI(b[l]))), i->aux &LIR_RELU)))
OP2(MAX_S16X2, u32, u32, u32,
    PAIR(relu_s32(MORE(SX16(a[l]), SX16(b[l])), i->aux &LIR_RELU),
         relu_s32(MORE(SX16(HI(a[l])), SX16(HI(b[l]))), i->aux &LIR_RELU)))

/* The upper half of a 64 x 64 product from 32-bit parts, as there is no vector instruction for it.
 */
static inline u64 mulhi_u64(u64 x, u64 y)
{
    u64 xl = (u32)x, xh = x >> 32, yl = (u32)y, yh = y >> 32;
    u64 low = xl * yl, m1 = xh * yl + (low >> 32), m2 = xl * yh + (u32)m1;
    return xh * yh + (m1 >> 32) + (m2 >> 32);
}
static inline u64 mulhi_s64(u64 x, u64 y) { return mulhi_u64(x, y) - ((s64)x < 0 ? y : 0) - ((s64)y < 0 ? x : 0); }
#define MULHI_U16(x, y) ((ZX16(x) * ZX16(y)) >> 16)
#define MULHI_S16(x, y) ((u32)(SX16(x) * SX16(y)) >> 16)
#define WIDE_U32(x, y) ((u64)(u32)(x) * (u32)(y))
#define WIDE_S32(x, y) ((u64)((s64)(s32)(x) * (s32)(y)))

OP2(MUL_LO_I16, u32, u32, u32, ZX16(a[l] * b[l]))
OP2(MUL_LO_I32, u32, u32, u32, a[l] * b[l])
OP2(MUL_LO_I64, u64, u64, u64, a[l] * b[l])
OP3(MAD_LO_I16, u32, u32, u32, u32, ZX16(a[l] * b[l] + c[l]))
OP3(MAD_LO_I32, u32, u32, u32, u32, a[l] * b[l] + c[l])
OP3(MAD_LO_I64, u64, u64, u64, u64, a[l] * b[l] + c[l])
OP2(MUL_HI_U16, u32, u32, u32, MULHI_U16(a[l], b[l]))
OP2(MUL_HI_S16, u32, u32, u32, MULHI_S16(a[l], b[l]))
OP2(MUL_HI_U32, u32, u32, u32, WIDE_U32(a[l], b[l]) >> 32)
OP2(MUL_HI_S32, u32, u32, u32, WIDE_S32(a[l], b[l]) >> 32)
OP2(MUL_HI_U64, u64, u64, u64, mulhi_u64(a[l], b[l]))
OP2(MUL_HI_S64, u64, u64, u64, mulhi_s64(a[l], b[l]))
OP3(MAD_HI_U16, u32, u32, u32, u32, ZX16(MULHI_U16(a[l], b[l]) + c[l]))
OP3(MAD_HI_S16, u32, u32, u32, u32, ZX16(MULHI_S16(a[l], b[l]) + c[l]))
OP3(MAD_HI_U32, u32, u32, u32, u32, (u32)(WIDE_U32(a[l], b[l]) >> 32) + c[l])
OP3(MAD_HI_S32, u32, u32, u32, s32,
    i->aux &LIR_SAT ? clamp_s32((s64)(s32)(WIDE_S32(a[l], b[l]) >> 32) + c[l])
                    : (u32)(WIDE_S32(a[l], b[l]) >> 32) + (u32)c[l])
OP3(MAD_HI_U64, u64, u64, u64, u64, mulhi_u64(a[l], b[l]) + c[l])
OP3(MAD_HI_S64, u64, u64, u64, u64, mulhi_s64(a[l], b[l]) + c[l])
OP2(MUL_WIDE_U16, u32, u32, u32, ZX16(a[l]) * ZX16(b[l]))
OP2(MUL_WIDE_S16, u32, u32, u32, SX16(a[l]) * SX16(b[l]))
OP2(MUL_WIDE_U32, u64, u32, u32, WIDE_U32(a[l], b[l]))
OP2(MUL_WIDE_S32, u64, u32, u32, WIDE_S32(a[l], b[l]))
OP3(MAD_WIDE_U16, u32, u32, u32, u32, ZX16(a[l]) * ZX16(b[l]) + c[l])
OP3(MAD_WIDE_S16, u32, u32, u32, u32, (u32)(SX16(a[l]) * SX16(b[l])) + c[l])
OP3(MAD_WIDE_U32, u64, u32, u32, u64, WIDE_U32(a[l], b[l]) + c[l])
OP3(MAD_WIDE_S32, u64, u32, u32, u64, WIDE_S32(a[l], b[l]) + c[l])

/* 24-bit factors give a 48-bit product, of which .lo is bits 0-31 and .hi bits 16-47. */
#define P24_U(x, y) ((u64)((x)&0xffffffu) * ((y)&0xffffffu))
#define SX24(x) ((s64)((s32)((x) << 8) >> 8))
#define P24_S(x, y) ((u64)(SX24(x) * SX24(y)))
OP2(MUL24_LO_U32, u32, u32, u32, P24_U(a[l], b[l]))
OP2(MUL24_LO_S32, u32, u32, u32, P24_S(a[l], b[l]))
OP2(MUL24_HI_U32, u32, u32, u32, P24_U(a[l], b[l]) >> 16)
OP2(MUL24_HI_S32, u32, u32, u32, P24_S(a[l], b[l]) >> 16)
OP3(MAD24_LO_U32, u32, u32, u32, u32, P24_U(a[l], b[l]) + c[l])
OP3(MAD24_LO_S32, u32, u32, u32, u32, P24_S(a[l], b[l]) + c[l])
OP3(MAD24_HI_U32, u32, u32, u32, u32, (P24_U(a[l], b[l]) >> 16) + c[l])
OP3(MAD24_HI_S32, u32, u32, u32, s32,
    i->aux &LIR_SAT ? clamp_s32((s64)(s32)(P24_S(a[l], b[l]) >> 16) + c[l])
                    : (u32)(P24_S(a[l], b[l]) >> 16) + (u32)c[l])

#define DISTANCE(x, y) ((x) < (y) ? (u64)(y) - (u64)(x) : (u64)(x) - (u64)(y))
OP3(SAD_U16, u32, u32, u32, u32, ZX16(c[l] + (u32)DISTANCE(ZX16(a[l]), ZX16(b[l]))))
OP3(SAD_S16, u32, u32, u32, u32, ZX16(c[l] + (u32)DISTANCE(SX16(a[l]), SX16(b[l]))))
OP3(SAD_U32, u32, u32, u32, u32, c[l] + (u32)DISTANCE(a[l], b[l]))
OP3(SAD_S32, u32, s32, s32, u32, c[l] + (u32)DISTANCE(a[l], b[l]))
OP3(SAD_U64, u64, u64, u64, u64, c[l] + DISTANCE(a[l], b[l]))
OP3(SAD_S64, u64, s64, s64, u64, c[l] + DISTANCE(a[l], b[l]))

/* Division by zero gives all ones and the dividend as remainder; INT_MIN / -1 wraps. x86 would
 * trap. Up to 32 bits it goes through f64, which vectorises: the quotient of two 32-bit integers is
 * never so close below an integer that f64 would round it up. */
static inline f64 f64_of(u32 x) /* by the signed conversion, the only one that SSE2 and AVX2 have */
{
    return (f64)(s32)(x & 0x7fffffffu) + ((s32)x < 0 ? 0x1p31 : 0.0);
}
static inline u32 div_u32(u32 x, u32 y)
{
    u32 q = (u32)(s32)(f64_of(x) / f64_of(y > 1 ? y : 2)); /* 0 and 1 are done apart: q is below 2^31 */
    return y == 0 ? ~0u : y == 1 ? x : q;
}
static inline u32 div_s32(s32 x, s32 y)
{
    s32 q = (s32)((f64)x / (f64)(y == 0 || y == -1 ? 1 : y));
    return y == 0 ? ~0u : y == -1 ? 0 - (u32)x : (u32)q;
}
static inline u64 div_u64(u64 x, u64 y) { return y ? x / y : ~0ull; }
static inline u64 div_s64(s64 x, s64 y) { return y == 0 ? ~0ull : y == -1 ? 0 - (u64)x : (u64)(x / y); }
/* With y = 0 the product is 0, so the remainder is x. */
#define REMAINDER(T, x, y, DIV) ((T)(x) - (T)(y) * (T)DIV(x, y))
OP2(DIV_U16, u32, u32, u32, ZX16(div_u32(ZX16(a[l]), ZX16(b[l]))))
OP2(DIV_S16, u32, u32, u32, ZX16(div_s32(SX16(a[l]), SX16(b[l]))))
OP2(DIV_U32, u32, u32, u32, div_u32(a[l], b[l]))
OP2(DIV_S32, u32, s32, s32, div_s32(a[l], b[l]))
OP2(REM_U16, u32, u32, u32, ZX16(REMAINDER(u32, ZX16(a[l]), ZX16(b[l]), div_u32)))
OP2(REM_S16, u32, u32, u32, ZX16(REMAINDER(u32, SX16(a[l]), SX16(b[l]), div_s32)))
OP2(REM_U32, u32, u32, u32, REMAINDER(u32, a[l], b[l], div_u32))
OP2(REM_S32, u32, s32, s32, REMAINDER(u32, a[l], b[l], div_s32))
#define DIV64_OP(id, T, expr) \
    HANDLER(id) \
    { \
        const T *a = CROW(T, i->a), *b = CROW(T, i->b); \
        u64 *d = ROW(u64, i->d); \
        WRITE_ACTIVE(u64, d, expr); \
    }
DIV64_OP(DIV_U64, u64, div_u64(a[l], b[l]))
DIV64_OP(DIV_S64, s64, div_s64(a[l], b[l]))
DIV64_OP(REM_U64, u64, REMAINDER(u64, a[l], b[l], div_u64))
DIV64_OP(REM_S64, s64, REMAINDER(u64, a[l], b[l], div_s64))

/* Carry chains: value and carry of x + y + in, where in is the flag, or `first` where the instruction
 * does not read it. A subtraction is x + ~y + 1 and the flag its carry, so 1 says that nothing was
 * borrowed: the hardware has one flag for both, and nvcc reads that of sub.cc by addc and madc. */
#define CARRY_OP(id, T, X, Y, first) \
    HANDLER(id) \
    { \
        const T *a = CROW(T, i->a), *b = CROW(T, i->b), *c = CROW(T, i->c); \
        T *d = ROW(T, i->d); \
        const u32 mask = MASK, in = i->aux & 1 ? CARRY : (first); \
        u32 out = 0; \
        (void)b; \
        (void)c; \
        EACH_ACTIVE(l, mask) \
        { \
            const T x = (X), y = (Y); \
            T sum; \
            bool over = __builtin_add_overflow(x, y, &sum); \
            over |= __builtin_add_overflow(sum, (T)(in >> l & 1), &sum); \
            d[l] = sum; \
            out |= (u32)over << l; \
        } \
        if (i->aux & 2) \
            CARRY = (CARRY & ~mask) | (out & mask); \
    }
CARRY_OP(ADDX_I32, u32, a[l], b[l], 0u)
CARRY_OP(ADDX_I64, u64, a[l], b[l], 0u)
CARRY_OP(SUBX_I32, u32, a[l], (u32)~b[l], ~0u)
CARRY_OP(SUBX_I64, u64, a[l], ~b[l], ~0u)
CARRY_OP(MADX_LO_I32, u32, a[l] * b[l], c[l], 0u)
CARRY_OP(MADX_LO_I64, u64, a[l] * b[l], c[l], 0u)
CARRY_OP(MADX_HI_U32, u32, (u32)(WIDE_U32(a[l], b[l]) >> 32), c[l], 0u)
CARRY_OP(MADX_HI_S32, u32, (u32)(WIDE_S32(a[l], b[l]) >> 32), c[l], 0u)
CARRY_OP(MADX_HI_U64, u64, mulhi_u64(a[l], b[l]), c[l], 0u)
CARRY_OP(MADX_HI_S64, u64, mulhi_s64(a[l], b[l]), c[l], 0u)

/* One element of a dot product's packed source. */
static inline s32 element(u32 x, unsigned n, unsigned bits, unsigned is_signed)
{
    u32 up = x << (32 - bits * (n + 1));
    return is_signed ? (s32)up >> (32 - bits) : (s32)(up >> (32 - bits));
}
static inline u32 dot4(u32 x, u32 y, unsigned aux)
{
    s32 sum = 0;
    for (unsigned n = 0; n < 4; n++)
        sum += element(x, n, 8, aux & 1) * element(y, n, 8, aux & 2);
    return (u32)sum;
}
static inline u32 dot2(u32 x, u32 y, unsigned aux)
{
    u32 sum = 0, from = aux & 4 ? 2 : 0;
    for (unsigned n = 0; n < 2; n++)
        sum += (u32)element(x, n, 16, aux & 1) * (u32)element(y, from + n, 8, aux & 2);
    return sum;
}
OP3(DP4A, u32, u32, u32, u32, c[l] + dot4(a[l], b[l], i->aux))
OP3(DP2A, u32, u32, u32, u32, c[l] + dot2(a[l], b[l], i->aux))
