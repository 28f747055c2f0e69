/* f16 and bf16 arithmetic, single and in pairs: widen to f32, compute, round back. 24 bits are more
 * than twice 11, so the second rounding of add, sub, mul is harmless; fma goes through f64 rounded
 * to odd. */
#include "ptx/tier0/alu_approx.h"

static inline f32 f16_in(u32 h, unsigned aux)
{
    h &= 0xffff;
    return f16_to_f32((aux & LIR_FTZ) && (h & 0x7c00) == 0 ? h & 0x8000 : h);
}
static inline f32 bf16_in(u32 h, unsigned aux) { return f32_in(bf16_to_f32(h & 0xffff), aux & LIR_FTZ); }

static inline f32 limit(f32 x, unsigned aux)
{
    x = aux & LIR_SAT ? f32_sat(x) : x;
    return (aux & LIR_RELU) && !(x > 0) && x == x ? 0 : x;
}
static inline u32 f16_out(f32 x, unsigned aux)
{
    u32 h = f32_to_f16(limit(x, aux));
    return (aux & LIR_FTZ) && (h & 0x7c00) == 0 ? h & 0x8000 : h;
}
static inline u32 bf16_out(f32 x, unsigned aux) { return f32_to_bf16(f32_in(limit(x, aux), aux & LIR_FTZ)); }

/* EXPR sees x, y, z: lanes of a, b, c. The plain form is its own loop: the compiler then drops
 * every modifier from it and can vectorise. */
#define HALF_LANES(EXPR, IN, OUT, X2, mods) \
    do { \
        const unsigned aux = mods; \
        EACH_LANE(l) r[l] = OUT(EXPR(IN(a[l], aux), IN(b[l], aux), IN(c[l], aux)), aux); \
        if (X2) \
            EACH_LANE(l) \
        r[l] |= OUT(EXPR(IN(a[l] >> 16, aux), IN(b[l] >> 16, aux), IN(c[l] >> 16, aux)), aux) << 16; \
    } while (0)
#define HALF_BODY(EXPR, IN, OUT, X2) \
    { \
        const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b), *c = CROW(u32, i->c); \
        u32 *d = ROW(u32, i->d), r[LIR_LANES]; \
        (void)b; \
        (void)c; \
        if (i->aux == 0) \
            HALF_LANES(EXPR, IN, OUT, X2, 0); \
        else \
            HALF_LANES(EXPR, IN, OUT, X2, i->aux); \
        WRITE(u32, d, r[l]); \
    }
#define F16_OPS(id, EXPR) \
    HANDLER(id##_F16) HALF_BODY(EXPR, f16_in, f16_out, false) HANDLER(id##_F16X2) HALF_BODY(EXPR, f16_in, f16_out, true)
#define BF16_OPS(id, EXPR) \
    HANDLER(id##_BF16) \
    HALF_BODY(EXPR, bf16_in, bf16_out, false) HANDLER(id##_BF16X2) HALF_BODY(EXPR, bf16_in, bf16_out, true)
#define HALF_OPS(id, EXPR) F16_OPS(id, EXPR) BF16_OPS(id, EXPR)

/* x * y is exact in f64. An f16 sum that f64 cannot hold is never near a tie of f16: one operand is
 * then far below the other's last bit. */
static inline f32 fma_f16(f32 x, f32 y, f32 z) { return f64_to_f32_odd((f64)x * (f64)y + (f64)z); }
/* bf16 has the exponents of f32, so there the sum's rounding error decides the odd bit. */
static inline f32 fma_bf16(f32 x, f32 y, f32 z)
{
    f64 p = (f64)x * (f64)y, c = (f64)z, s = p + c, part = s - p;
    f64 err = (p - (s - part)) + (c - part);
    u64 u = f64_bits(s), step = (err > 0) == (s > 0) ? u + 1 : u - 1;
    return f64_to_f32_odd(f64_from((err > 0 || err < 0) && !(u & 1) ? step : u));
}
#define ADD(x, y, z) ((x) + (y))
#define SUB(x, y, z) ((x) - (y))
#define MUL(x, y, z) ((x) * (y))
#define FMA16(x, y, z) fma_f16(x, y, z)
#define FMAB16(x, y, z) fma_bf16(x, y, z)
#define EX2(x, y, z) approx_ex2(x)
#define TANH(x, y, z) approx_tanh(x)
HALF_OPS(ADD, ADD)
HALF_OPS(SUB, SUB)
HALF_OPS(MUL, MUL)
F16_OPS(FMA, FMA16)
BF16_OPS(FMA, FMAB16)
HALF_OPS(EX2, EX2)
HALF_OPS(TANH, TANH)

static inline f32 pick(f32 x, f32 y, bool first, f32 equal, unsigned aux)
{
    f32 r = first ? x : x == y ? equal : x != x ? y : y != y ? x : y;
    return (aux & LIR_NANPROP) && !(x == x && y == y) ? f32_from(0x7fffffffu) : r;
}
/* .xorsign.abs: magnitudes are compared, and the signs' product is put on the result */
#define MINMAX(x, y, REL, JOIN) \
    minmax_sign(x, y, \
                pick(magnitude(x, aux), magnitude(y, aux), magnitude(x, aux) REL magnitude(y, aux), \
                     f32_from(f32_bits(magnitude(x, aux)) JOIN f32_bits(magnitude(y, aux))), aux), \
                aux)
static inline f32 magnitude(f32 x, unsigned aux) { return aux & LIR_XORSIGN ? f32_from(f32_bits(x) & 0x7fffffffu) : x; }
static inline f32 minmax_sign(f32 x, f32 y, f32 r, unsigned aux)
{
    u32 sign = aux & LIR_XORSIGN ? (f32_bits(x) ^ f32_bits(y)) & 0x80000000u : 0;
    return f32_from(f32_bits(r) | sign);
}
#define MIN(x, y, z) MINMAX(x, y, <, |)
#define MAX(x, y, z) MINMAX(x, y, >, &)
HALF_OPS(MIN, MIN)
HALF_OPS(MAX, MAX)

#define FLUSH16(h) ((h)&0x7c00u ? (h) : (h)&0x8000u)
static inline u32 flush_x2(u32 h, unsigned aux)
{
    return aux & LIR_FTZ ? FLUSH16(h & 0xffff) | FLUSH16(h >> 16) << 16 : h;
}
OP1(ABS_F16, u32, u32, flush_x2(a[l] & 0x7fff, i->aux))
OP1(ABS_F16X2, u32, u32, flush_x2(a[l] & 0x7fff7fff, i->aux))
OP1(ABS_BF16, u32, u32, a[l] & 0x7fff)
OP1(ABS_BF16X2, u32, u32, a[l] & 0x7fff7fff)
OP1(NEG_F16, u32, u32, flush_x2((a[l] ^ 0x8000) & 0xffff, i->aux))
OP1(NEG_F16X2, u32, u32, flush_x2(a[l] ^ 0x80008000u, i->aux))
OP1(NEG_BF16, u32, u32, (a[l] ^ 0x8000) & 0xffff)
OP1(NEG_BF16X2, u32, u32, a[l] ^ 0x80008000u)
