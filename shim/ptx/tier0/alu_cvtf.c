/* cvt between float formats: rounding to a narrower one or to an integral value, .sat, .relu, packs
 * of two. The frequent pairs are vector loops, the rest goes lane by lane through f64. */
#include "ptx/tier0/alu_pack.h"

static inline f64 to_integral(f64 x, unsigned rnd)
{
    switch (rnd) {
    case PTX_RNI: return rint(x);
    case PTX_RZI: return trunc(x);
    case PTX_RMI: return floor(x);
    case PTX_RPI: return ceil(x);
    default: return x;
    }
}
/* A widened source x as bits of format f, with every modifier of cvt. */
static u64 convert(f64 x, const struct t0_fmt *f, unsigned aux)
{
    const unsigned rnd = AUX_RND(aux);
    x = to_integral(x, rnd);
    if (aux & LIR_SAT)
        x = f64_sat(x);
    if ((aux & LIR_CVT_RELU) && !(x > 0) && x == x)
        x = 0;
    u64 r = t0_pack_f64(f, x, rnd);
    if ((aux & LIR_CVT_SATFINITE) && x == x && (r & ~f->sign) >= f->inf)
        r = (r & f->sign) | (f->inf - 1);
    return r;
}
static u64 convert_f32(f64 x, unsigned aux)
{
    const f32 r = f32_from((u32)convert(x, &t0_fmt_f32, aux));
    if (!(aux & LIR_FTZ))
        return f32_bits(r);
    return f32_bits(f32_flush(f32_at_edge(r) ? f32_edge(r, f32_from((u32)convert(0x1p24 * x, &t0_fmt_f32, aux))) : r));
}
static u64 convert_f64(f64 x, unsigned aux)
{
    return x == x || (aux & LIR_SAT) ? convert(x, &t0_fmt_f64, aux) : f64_bits(x);
}
#define TO_F16(x, aux) convert(x, &t0_fmt_f16, aux)
#define TO_BF16(x, aux) convert(x, &t0_fmt_bf16, aux)
#define TO_F32(x, aux) convert_f32(x, aux)
#define TO_F64(x, aux) convert_f64(x, aux)
#define FROM_F16(u) f16_to_f32((u)&0xffff)
#define FROM_BF16(u) bf16_to_f32((u)&0xffff)
#define FROM_F32(u) f32_in(f32_from(u), i->aux &LIR_FTZ)
#define FROM_F64(u) f64_from(u)

/* FAST is a vector expression for the plain form (aux == 0). */
#define CVT_OP(TO, FROM, D, A, FAST) \
    HANDLER(CVT_##TO##_##FROM) \
    { \
        const A *a = CROW(A, i->a); \
        D *d = ROW(D, i->d); \
        if (i->aux == 0) \
            WRITE(D, d, FAST); \
        else \
            WRITE_ACTIVE(D, d, TO_##TO((f64)FROM_##FROM(a[l]), i->aux)); \
    }
#define CVT_OP_SLOW(TO, FROM, D, A) \
    HANDLER(CVT_##TO##_##FROM) \
    { \
        const A *a = CROW(A, i->a); \
        D *d = ROW(D, i->d); \
        WRITE_ACTIVE(D, d, TO_##TO((f64)FROM_##FROM(a[l]), i->aux)); \
    }
#define CANON_F32(x) f32_bits(f32_canon(x))
CVT_OP(F16, F32, u32, u32, f32_to_f16(f32_from(a[l])))
CVT_OP(BF16, F32, u32, u32, f32_to_bf16(f32_from(a[l])))
CVT_OP(F32, F16, u32, u32, CANON_F32(f16_to_f32(a[l] & 0xffff)))
CVT_OP(F32, BF16, u32, u32, CANON_F32(bf16_to_f32(a[l] & 0xffff)))
CVT_OP(F32, F64, u32, u64, CANON_F32((f32)f64_from(a[l])))
CVT_OP(F64, F32, u64, u32, f64_bits((f64)f32_from(a[l])))
CVT_OP(F64, F16, u64, u32, f64_bits((f64)f16_to_f32(a[l] & 0xffff)))
CVT_OP_SLOW(F16, F16, u32, u32)
CVT_OP_SLOW(F16, BF16, u32, u32)
CVT_OP_SLOW(F16, F64, u32, u64)
CVT_OP_SLOW(BF16, F16, u32, u32)
CVT_OP_SLOW(BF16, BF16, u32, u32)
CVT_OP_SLOW(BF16, F64, u32, u64)
CVT_OP_SLOW(F64, BF16, u64, u32)

/* Rounding to an integral value stays in its format and is vector code where the CPU has it. */
#define INTEGRAL(T, E, IN, OUT) \
    switch (AUX_RND(i->aux)) { \
    case PTX_RNI: WRITE(T, d, OUT(__builtin_rint##E(IN(a[l])))); break; \
    case PTX_RZI: WRITE(T, d, OUT(__builtin_trunc##E(IN(a[l])))); break; \
    case PTX_RMI: WRITE(T, d, OUT(__builtin_floor##E(IN(a[l])))); break; \
    case PTX_RPI: WRITE(T, d, OUT(__builtin_ceil##E(IN(a[l])))); break; \
    default: WRITE(T, d, OUT(IN(a[l]))); break; \
    }
HANDLER(CVT_F32_F32)
{
    const f32 *a = CROW(f32, i->a);
    f32 *d = ROW(f32, i->d);
    const unsigned aux = i->aux;
#define IN(x) f32_in(x, aux &LIR_FTZ)
#define OUT(x) f32_out(x, aux)
    INTEGRAL(f32, f, IN, OUT)
#undef IN
#undef OUT
}
HANDLER(CVT_F64_F64)
{
    const f64 *a = CROW(f64, i->a);
    f64 *d = ROW(f64, i->d);
    const unsigned aux = i->aux;
#define IN(x) (x)
#define OUT(x) (aux & LIR_SAT ? f64_sat(x) : (x))
    INTEGRAL(f64, , IN, OUT)
#undef IN
#undef OUT
}

/* tf32 is an f32 whose low 13 bits are zero */
HANDLER(CVT_TF32_F32)
{
    const u32 *a = CROW(u32, i->a);
    u32 *d = ROW(u32, i->d);
    WRITE_ACTIVE(u32, d, convert((f64)f32_from(a[l]), &t0_fmt_tf32, i->aux) << 13);
}

/* Packs of two: a gives the upper half. */
#define CVT_X2_OP(id, fmt, FAST) \
    HANDLER(id) \
    { \
        const f32 *a = CROW(f32, i->a), *b = CROW(f32, i->b); \
        u32 *d = ROW(u32, i->d); \
        if (i->aux == 0) \
            WRITE(u32, d, FAST(b[l]) | FAST(a[l]) << 16); \
        else \
            WRITE_ACTIVE(u32, d, convert((f64)b[l], &fmt, i->aux) | convert((f64)a[l], &fmt, i->aux) << 16); \
    }
CVT_X2_OP(CVT_F16X2_F32, t0_fmt_f16, f32_to_f16)
CVT_X2_OP(CVT_BF16X2_F32, t0_fmt_bf16, f32_to_bf16)
