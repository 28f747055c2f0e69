/* cvt between integers and between integers and floats. Common forms are vector loops; the others
 * round in integer arithmetic (alu_pack.h), lane by lane. */
#include "ptx/tier0/alu_pack.h"

#define DST_OF(aux) ((aux) >> LIR_CVT_DST_SHIFT & 7u)
enum { DST_U32 = 2, DST_S32 = 6, DST_U64 = 3, DST_S64 = 7 };

/* Source rows: row type and how a lane reads as a 64-bit integer. */
#define READ_U8(x) ((u64)(uint8_t)(x))
#define READ_S8(x) ((u64)(s64)(int8_t)(x))
#define READ_U16(x) ((u64)(uint16_t)(x))
#define READ_S16(x) ((u64)(s64)(int16_t)(x))
#define READ_U32(x) ((u64)(u32)(x))
#define READ_S32(x) ((u64)(s64)(s32)(x))
#define READ_U64(x) ((u64)(x))
#define READ_S64(x) ((u64)(x))
#define INT_SOURCES(X) \
    X(U8, u32, false) \
    X(S8, u32, true) \
    X(U16, u32, false) X(S16, u32, true) X(U32, u32, false) X(S32, u32, true) X(U64, u64, false) X(S64, u64, true)

/* ---- integer to integer ---- */

static inline u64 saturate(u64 v, bool from_signed, unsigned dst)
{
    const unsigned bits = 8u << (dst & 3);
    const bool to_signed = dst & LIR_CVT_DST_SIGNED, below = from_signed && (s64)v < 0;
    const u64 top = ~0ull >> (64 - bits + (to_signed ? 1 : 0));
    if (!below)
        return v > top ? top : v;
    return !to_signed ? 0 : (s64)v < -(s64)top - 1 ? ~top : v;
}
/* What a row of dst holds: the type's bits, extended to 32 by its sign (PTX extends results to
 * wider registers; readers of narrow types truncate). */
static inline u32 extend32(u64 v, unsigned dst)
{
    const unsigned drop = 32 - (8u << (dst & 3));
    return dst & LIR_CVT_DST_SIGNED ? (u32)((s32)((u32)v << drop) >> drop) : (u32)v << drop >> drop;
}
#define INT_TO_INT(S, T, is_signed) \
    HANDLER(CVT_I32_##S) \
    { \
        const T *a = CROW(T, i->a); \
        u32 *d = ROW(u32, i->d); \
        const unsigned dst = DST_OF(i->aux); \
        if (i->aux & LIR_SAT) \
            WRITE(u32, d, extend32(saturate(READ_##S(a[l]), is_signed, dst), dst)); \
        else if ((dst & 3) == 2) \
            WRITE(u32, d, READ_##S(a[l])); \
        else \
            WRITE(u32, d, extend32(READ_##S(a[l]), dst)); \
    } \
    HANDLER(CVT_I64_##S) \
    { \
        const T *a = CROW(T, i->a); \
        u64 *d = ROW(u64, i->d); \
        if (i->aux & LIR_SAT) \
            WRITE(u64, d, saturate(READ_##S(a[l]), is_signed, DST_OF(i->aux))); \
        else \
            WRITE(u64, d, READ_##S(a[l])); \
    }
INT_SOURCES(INT_TO_INT)

/* ---- integer to float ---- */

static u64 int_to_float(u64 v, bool is_signed, const struct t0_fmt *f, unsigned aux)
{
    bool neg = is_signed && (s64)v < 0;
    if (aux & LIR_SAT) /* to [0, 1] */
        v = v != 0 && !neg, neg = false;
    return t0_pack(f, neg, neg ? 0 - v : v, 0, AUX_RND(aux));
}
#define INT_TO_FLOAT(S, T, is_signed) \
    HANDLER(CVT_F16_##S) \
    { \
        const T *a = CROW(T, i->a); \
        u32 *d = ROW(u32, i->d); \
        WRITE_ACTIVE(u32, d, int_to_float(READ_##S(a[l]), is_signed, &t0_fmt_f16, i->aux)); \
    } \
    HANDLER(CVT_BF16_##S) \
    { \
        const T *a = CROW(T, i->a); \
        u32 *d = ROW(u32, i->d); \
        WRITE_ACTIVE(u32, d, int_to_float(READ_##S(a[l]), is_signed, &t0_fmt_bf16, i->aux)); \
    }
INT_SOURCES(INT_TO_FLOAT)

/* f32 and f64: the FPU rounds to nearest; C is the narrowest C type that holds S. */
#define INT_TO_FPU(S, T, C, is_signed) \
    HANDLER(CVT_F32_##S) \
    { \
        const T *a = CROW(T, i->a); \
        if (i->aux & ~LIR_FTZ) { \
            u32 *d = ROW(u32, i->d); \
            WRITE_ACTIVE(u32, d, int_to_float(READ_##S(a[l]), is_signed, &t0_fmt_f32, i->aux)); \
        } else { \
            f32 *d = ROW(f32, i->d); \
            WRITE(f32, d, (f32)(C)a[l]); \
        } \
    } \
    HANDLER(CVT_F64_##S) \
    { \
        const T *a = CROW(T, i->a); \
        if (i->aux) { \
            u64 *d = ROW(u64, i->d); \
            WRITE_ACTIVE(u64, d, int_to_float(READ_##S(a[l]), is_signed, &t0_fmt_f64, i->aux)); \
        } else { \
            f64 *d = ROW(f64, i->d); \
            WRITE(f64, d, (f64)(C)a[l]); \
        } \
    }
INT_TO_FPU(U8, u32, uint8_t, false)
INT_TO_FPU(S8, u32, int8_t, true)
INT_TO_FPU(U16, u32, uint16_t, false)
INT_TO_FPU(S16, u32, int16_t, true)
INT_TO_FPU(U32, u32, u32, false)
INT_TO_FPU(S32, u32, s32, true)
INT_TO_FPU(U64, u64, u64, false)
INT_TO_FPU(S64, u64, s64, true)

/* ---- float to integer: through f64, which holds all of them ---- */

static __attribute__((noinline)) void round_row(f64 *x, unsigned rnd)
{
    switch (rnd) {
    case PTX_RNI: EACH_LANE(l) x[l] = rint(x[l]); break;
    case PTX_RMI: EACH_LANE(l) x[l] = floor(x[l]); break;
    case PTX_RPI: EACH_LANE(l) x[l] = ceil(x[l]); break;
    default: break; /* the C conversion truncates */
    }
}
/* NaN: 0, but 1 << (width - 1) when the source is f64 or the result has 64 bits. */
static __attribute__((noinline)) void to_int32(struct t0_warp *w, const struct lir_insn *i, f64 *x, bool from_f64)
{
    u32 *d = ROW(u32, i->d);
    const unsigned dst = DST_OF(i->aux), bits = 8u << (dst & 3);
    const bool is_signed = dst & LIR_CVT_DST_SIGNED;
    const f64 hi = is_signed ? (f64)(u32)(~0u >> (33 - bits)) : (f64)(u32)(~0u >> (32 - bits));
    const f64 lo = is_signed ? -hi - 1 : 0, nan = !from_f64 ? 0 : is_signed ? lo : (f64)(1u << (bits - 1));
    round_row(x, AUX_RND(i->aux));
    EACH_LANE(l) x[l] = x[l] > hi ? hi : x[l] < lo ? lo : x[l] == x[l] ? x[l] : nan;
    if (dst == DST_U32)
        WRITE(u32, d, (u32)(s64)x[l]);
    else
        WRITE(u32, d, (u32)(s32)x[l]);
}
static __attribute__((noinline)) void to_int64(struct t0_warp *w, const struct lir_insn *i, f64 *x)
{
    u64 *d = ROW(u64, i->d);
    round_row(x, AUX_RND(i->aux));
    if (DST_OF(i->aux) == DST_S64)
        WRITE(u64, d, x[l] >= 0x1p63 ? (u64)INT64_MAX : x[l] >= -0x1p63 ? (u64)(s64)x[l] : 1ull << 63);
    else
        WRITE(u64, d, x[l] >= 0x1p64 ? ~0ull : x[l] > 0 ? (u64)x[l] : x[l] == x[l] ? 0 : 1ull << 63);
}
#define FLOAT_TO_INT(S, T, expr, is_f64) \
    HANDLER(CVT_I32_##S) \
    { \
        const T *a = CROW(T, i->a); \
        f64 x[LIR_LANES]; \
        EACH_LANE(l) x[l] = (f64)(expr); \
        to_int32(w, i, x, is_f64); \
    } \
    HANDLER(CVT_I64_##S) \
    { \
        const T *a = CROW(T, i->a); \
        f64 x[LIR_LANES]; \
        EACH_LANE(l) x[l] = (f64)(expr); \
        to_int64(w, i, x); \
    }
FLOAT_TO_INT(F16, u32, f16_to_f32(a[l] & 0xffff), false)
FLOAT_TO_INT(BF16, u32, bf16_to_f32(a[l] & 0xffff), false)
FLOAT_TO_INT(F32, f32, f32_in(a[l], i->aux &LIR_FTZ), false)
FLOAT_TO_INT(F64, f64, a[l], true)

/* ---- cvt.pack: d = {c's low bits, a, b}, a and b saturated to `bits` bits ---- */

static inline u32 pack_saturated(u64 v, bool from_signed, unsigned aux)
{
    const unsigned bits = aux & 31u;
    const bool to_signed = aux & 32u;
    const s64 hi = to_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, lo = to_signed ? -hi - 1 : 0;
    s64 x = from_signed ? (s64)(s32)v : (s64)(u32)v;
    return (u32)(x > hi ? hi : x < lo ? lo : x) & ((1u << bits) - 1);
}
#define PACK_OP(id, is_signed) \
    HANDLER(id) \
    { \
        const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b), *c = CROW(u32, i->c); \
        u32 *d = ROW(u32, i->d); \
        const unsigned bits = i->aux & 31u; \
        const bool with_c = i->aux & 64u; \
        WRITE(u32, d, \
              pack_saturated(b[l], is_signed, i->aux) | pack_saturated(a[l], is_signed, i->aux) << bits | \
                  (with_c ? (u32)((u64)c[l] << (2 * bits)) : 0)); \
    }
PACK_OP(CVT_PACK_S32, true)
PACK_OP(CVT_PACK_U32, false)
