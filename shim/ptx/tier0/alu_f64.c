/* f64 arithmetic: as alu_f32.c, but f64 never flushes and keeps NaN payloads as the FPU does. */
#include "ptx/tier0/alu.h"

struct scratch {
    f64 x[LIR_LANES], y[LIR_LANES], z[LIR_LANES], r[LIR_LANES];
};

#define F64_OP(id, n, EXPR) \
    HANDLER(id) \
    { \
        const f64 *a = CROW(f64, i->a), *b = CROW(f64, n > 1 ? i->b : i->a), *c = CROW(f64, n > 2 ? i->c : i->a); \
        f64 *d = ROW(f64, i->d); \
        if (i->aux == 0) { \
            WRITE(f64, d, EXPR(a[l], b[l], c[l])); \
        } else { \
            struct scratch s; \
            memcpy(s.x, a, sizeof s.x); \
            memcpy(s.y, b, sizeof s.y); \
            memcpy(s.z, c, sizeof s.z); \
            unsigned old = t0_round_set(AUX_RND(i->aux), &s, &s); \
            EACH_LANE(l) s.r[l] = EXPR(s.x[l], s.y[l], s.z[l]); \
            t0_round_restore(old, &s, &s); \
            WRITE(f64, d, s.r[l]); \
        } \
    }
#define ADD(x, y, z) ((x) + (y))
#define SUB(x, y, z) ((x) - (y))
#define MUL(x, y, z) ((x) * (y))
#define DIV(x, y, z) ((x) / (y))
#define FMA(x, y, z) __builtin_fma(x, y, z)
#define RCP(x, y, z) (1.0 / (x))
#define SQRT(x, y, z) __builtin_sqrt(x)
F64_OP(ADD_F64, 2, ADD)
F64_OP(SUB_F64, 2, SUB)
F64_OP(MUL_F64, 2, MUL)
F64_OP(DIV_F64, 2, DIV)
F64_OP(FMA_F64, 3, FMA)
F64_OP(RCP_F64, 1, RCP)
F64_OP(SQRT_F64, 1, SQRT)

#define SIGN (1ull << 63)
OP1(ABS_F64, u64, u64, a[l] & ~SIGN)
OP1(NEG_F64, u64, u64, a[l] ^ SIGN)
OP2(COPYSIGN_F64, u64, u64, u64, (a[l] & SIGN) | (b[l] & ~SIGN))

static inline f64 pick(f64 x, f64 y, bool first, f64 equal)
{
    return first ? x : x == y ? equal : x != x ? y : y != y ? x : y;
}
#define LEAST(x, y) pick(x, y, (x) < (y), f64_from(f64_bits(x) | f64_bits(y)))
#define MOST(x, y) pick(x, y, (x) > (y), f64_from(f64_bits(x) & f64_bits(y)))
OP2(MIN_F64, f64, f64, f64, LEAST(a[l], b[l]))
OP2(MAX_F64, f64, f64, f64, MOST(a[l], b[l]))
