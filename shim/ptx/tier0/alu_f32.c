/* f32 arithmetic. Round to nearest and its .ftz form are plain vector loops; the directed modes and
 * .sat go through buffers, with the FPU's mode switched around the one loop that rounds. */
#include "ptx/tier0/alu.h"

struct scratch {
    f32 x[LIR_LANES], y[LIR_LANES], z[LIR_LANES], r[LIR_LANES];
};

static __attribute__((noinline)) void load(f32 *x, const f32 *row, unsigned aux)
{
    if (aux & LIR_FTZ)
        EACH_LANE(l) x[l] = f32_flush(row[l]);
    else
        memcpy(x, row, LIR_LANES * sizeof *x);
}
static __attribute__((noinline)) void store(struct t0_warp *w, const struct lir_insn *i, f32 *r)
{
    f32 *d = ROW(f32, i->d);
    const unsigned aux = i->aux;
    EACH_LANE(l) r[l] = f32_out(r[l], aux);
    WRITE(f32, d, r[l]);
}

static bool any_at_edge(const f32 *r)
{
    u32 any = 0;
    EACH_LANE(l) any |= f32_at_edge(r[l]);
    return any;
}

/* EXPR sees x, y, z, the lanes of a, b, c. TINY: it may round what is below the least normal number. */
#define F32_OP(id, n, EXPR, TINY) \
    HANDLER(id) \
    { \
        const f32 *a = CROW(f32, i->a), *b = CROW(f32, n > 1 ? i->b : i->a), *c = CROW(f32, n > 2 ? i->c : i->a); \
        f32 *d = ROW(f32, i->d); \
        if (i->aux == 0) { \
            WRITE(f32, d, f32_canon(EXPR(a[l], b[l], c[l]))); \
        } else if (i->aux == LIR_FTZ && !(TINY)) { \
            WRITE(f32, d, f32_canon(f32_flush(EXPR(f32_flush(a[l]), f32_flush(b[l]), f32_flush(c[l]))))); \
        } else { \
            struct scratch s; \
            load(s.x, a, i->aux); \
            load(s.y, b, i->aux); \
            load(s.z, c, i->aux); \
            unsigned old = t0_round_set(AUX_RND(i->aux), &s, &s); \
            EACH_LANE(l) s.r[l] = EXPR(s.x[l], s.y[l], s.z[l]); \
            if ((TINY) && i->aux & LIR_FTZ && any_at_edge(s.r)) \
                EACH_LANE(l) \
            s.r[l] = f32_edge(s.r[l], EXPR(0x1p24f * s.x[l], s.y[l], 0x1p24f * s.z[l])); \
            t0_round_restore(old, &s, &s); \
            store(w, i, s.r); \
        } \
    }
#define ADD(x, y, z) ((x) + (y))
#define SUB(x, y, z) ((x) - (y))
#define MUL(x, y, z) ((x) * (y))
#define DIV(x, y, z) ((x) / (y))
/* div.approx is a times 1/b, and 1/b is 0 beyond 2^126: a divisor up there (bits 0x7e800000 are 2^126) counts as
 * infinite. */
static inline f32 far_divisor(f32 x)
{
    const u32 u = f32_bits(x), most = 0x7e800000u, inf = 0x7f800000u;
    return (u & 0x7fffffffu) - (most + 1) < inf - (most + 1) ? f32_from((u & 0x80000000u) | inf) : x;
}
#define DIV_APPROX(x, y, z) ((x) / far_divisor(y))
#define FMA(x, y, z) __builtin_fmaf(x, y, z)
/* What is too small is flushed before it is rounded: 1/x of anything beyond 2^126. */
#define RCP(x, y, z) (1.0f / (i->aux & LIR_FTZ ? far_divisor(x) : (x)))
#define SQRT(x, y, z) __builtin_sqrtf(x)
F32_OP(ADD_F32, 2, ADD, false)
F32_OP(SUB_F32, 2, SUB, false)
F32_OP(MUL_F32, 2, MUL, true)
F32_OP(DIV_F32, 2, DIV, true)
F32_OP(DIV_APPROX_F32, 2, DIV_APPROX, true)
F32_OP(FMA_F32, 3, FMA, true)
F32_OP(RCP_F32, 1, RCP, false)
F32_OP(SQRT_F32, 1, SQRT, false)

/* Sign operations keep NaN payloads. */
OP1(ABS_F32, u32, u32, f32_bits(f32_in(f32_from(a[l] & 0x7fffffffu), i->aux &LIR_FTZ)))
OP1(NEG_F32, u32, u32, f32_bits(f32_in(f32_from(a[l] ^ 0x80000000u), i->aux &LIR_FTZ)))
/* copysign d, a, b: the sign of a on the magnitude of b */
OP2(COPYSIGN_F32, u32, u32, u32, (a[l] & 0x80000000u) | (b[l] & 0x7fffffffu))

/* The operand that is not a NaN wins, and -0 is below +0: equal operands differ at most in the
 * sign. */
static inline f32 pick(f32 x, f32 y, bool less, f32 equal, unsigned aux)
{
    bool xnan = x != x, ynan = y != y;
    f32 r = less ? x : x == y ? equal : xnan ? y : ynan ? x : y;
    return (aux & LIR_NANPROP) && xnan ? x : (aux & LIR_NANPROP) && ynan ? y : r;
}
static inline f32 least(f32 x, f32 y, unsigned aux)
{
    return pick(x, y, x < y, f32_from(f32_bits(x) | f32_bits(y)), aux);
}
static inline f32 most(f32 x, f32 y, unsigned aux)
{
    return pick(x, y, x > y, f32_from(f32_bits(x) & f32_bits(y)), aux);
}
#define F32_MINMAX(id, FN) \
    HANDLER(id) \
    { \
        const f32 *a = CROW(f32, i->a), *b = CROW(f32, i->b); \
        f32 *d = ROW(f32, i->d); \
        const unsigned aux = i->aux; \
        if (aux == 0) { \
            WRITE(f32, d, f32_canon(FN(a[l], b[l], 0))); \
        } else { \
            f32 x[LIR_LANES], y[LIR_LANES], r[LIR_LANES]; \
            load(x, a, aux); \
            load(y, b, aux); \
            const u32 keep = aux & LIR_XORSIGN ? 0x7fffffffu : ~0u; \
            EACH_LANE(l) \
            { \
                u32 sign = (f32_bits(x[l]) ^ f32_bits(y[l])) & ~keep; \
                f32 v = f32_canon(FN(f32_from(f32_bits(x[l]) & keep), f32_from(f32_bits(y[l]) & keep), aux)); \
                r[l] = v == v ? f32_from(f32_bits(v) | sign) : v; \
            } \
            WRITE(f32, d, r[l]); \
        } \
    }
F32_MINMAX(MIN_F32, least)
F32_MINMAX(MAX_F32, most)
