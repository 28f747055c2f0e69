/* What every arithmetic handler of tier 0 is written with: rows, lane loops, write masks, rounding
 * modes and the small bit tricks of the float formats. The alu_*.c files are compiled once per CPU
 * level (T0_LEVEL); a handler is a loop over 32 lanes that the compiler vectorises for that level.
 * Results are the same bits at every level: nothing here depends on the width or on contraction. */
#ifndef CUMU_PTX_TIER0_ALU_H
#define CUMU_PTX_TIER0_ALU_H

#include "half/half.h"
#include "ptx/lir/alu_aux.h"
#include "ptx/tier0/handler.h"

#include <math.h>
#include <string.h>

#ifndef T0_LEVEL
#define T0_LEVEL 1
#endif
#define T0_CAT_(a, b) a##b
#define T0_CAT(a, b) T0_CAT_(a, b)
#define T0_NAME(id) T0_CAT(T0_CAT(t0_alu_l, T0_LEVEL), _##id)

#define LIR_OP(id, operands) t0_handler T0_NAME(id);
#include "ptx/lir/alu_ops.def"
#undef LIR_OP

#define HANDLER(id) void T0_NAME(id)(struct t0_warp * w, const struct lir_insn *i)

/* Lanes are independent even when d is one of the sources, so the vectoriser needs no alias check.
 */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* some levels have no vector form: that is fine */
#define EACH_LANE(l) _Pragma("clang loop vectorize(assume_safety)") for (unsigned l = 0; l < LIR_LANES; l++)
#else
#define EACH_LANE(l) _Pragma("GCC ivdep") for (unsigned l = 0; l < LIR_LANES; l++)
#endif
/* For bodies that cannot be vectorised (calls, table lookups): the active lanes only. */
#define EACH_ACTIVE(l, mask) \
    for (uint32_t left_ = (mask), l; left_ && (l = (uint32_t)__builtin_ctz(left_), true); left_ &= left_ - 1)

/* Bit of a lane as a table: variable shifts of a constant need AVX2, a load does not. */
#define T0_BITS4(n) 1u << (n), 2u << (n), 4u << (n), 8u << (n)
#define T0_BITS32 \
    T0_BITS4(0), T0_BITS4(4), T0_BITS4(8), T0_BITS4(12), T0_BITS4(16), T0_BITS4(20), T0_BITS4(24), T0_BITS4(28)
static const uint32_t t0_bit32[LIR_LANES] __attribute__((aligned(64), unused)) = {T0_BITS32};
static const uint64_t t0_bit64[LIR_LANES] __attribute__((aligned(64), unused)) = {T0_BITS32};

/* Rows of 32- and 64-bit lanes, and the lane's bit in the matching width. */
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;
#define ROW(T, off) ((T *)(void *)__builtin_assume_aligned(((struct t0_lanes *)(void *)w)->regs + (off), 64))
#define CROW(T, off) ((const T *)ROW(T, off))
#define MASK (((struct t0_lanes *)(void *)w)->mask)
#define CARRY (((struct t0_lanes *)(void *)w)->carry)
#define BIT_OF(T, l) (sizeof(T) == 8 ? t0_bit64[l] : t0_bit32[l])

/* d[l] = expr for the active lanes; the others are blended back in rather than skipped, as masked
 * stores neither vectorise everywhere nor forward. */
#define WRITE(T, d, expr) \
    do { \
        const u32 mask_ = MASK; \
        if (mask_ == ~0u) { \
            EACH_LANE(l) d[l] = (T)(expr); \
        } else { \
            EACH_LANE(l) \
            { \
                T new_ = (T)(expr), old_ = d[l]; \
                d[l] = (mask_ & BIT_OF(T, l)) ? new_ : old_; \
            } \
        } \
    } while (0)
#define WRITE_ACTIVE(T, d, expr) \
    do { \
        const u32 mask_ = MASK; \
        EACH_ACTIVE(l, mask_) d[l] = (T)(expr); \
    } while (0)
#define WRITE_PRED(off, value) (T0_PRED(w, off) = (T0_PRED(w, off) & ~MASK) | ((value)&MASK))

/* The common handler shapes; the expression sees a, b, c and the lane l. */
#define OP1(id, D, A, expr) \
    HANDLER(id) \
    { \
        const A *a = CROW(A, i->a); \
        D *d = ROW(D, i->d); \
        WRITE(D, d, expr); \
    }
#define OP2(id, D, A, B, expr) \
    HANDLER(id) \
    { \
        const A *a = CROW(A, i->a); \
        const B *b = CROW(B, i->b); \
        D *d = ROW(D, i->d); \
        WRITE(D, d, expr); \
    }
#define OP3(id, D, A, B, C, expr) \
    HANDLER(id) \
    { \
        const A *a = CROW(A, i->a); \
        const B *b = CROW(B, i->b); \
        const C *c = CROW(C, i->c); \
        D *d = ROW(D, i->d); \
        WRITE(D, d, expr); \
    }

#define AUX_RND(aux) (((aux) >> LIR_RND_SHIFT) & 15u)

static inline u64 f64_bits(f64 x)
{
    u64 u;
    memcpy(&u, &x, 8);
    return u;
}
static inline f64 f64_from(u64 u)
{
    f64 x;
    memcpy(&x, &u, 8);
    return x;
}

/* Subnormals become zero of the same sign. */
static inline f32 f32_flush(f32 x)
{
    u32 u = f32_bits(x);
    return f32_from((u & 0x7fffffffu) < 0x00800000u ? u & 0x80000000u : u);
}
/* What .ftz flushes is told by the result as it is with 24 bits and exponents without an end: 2^-126 is
 * flushed where that is less, as ptxas folds constants. `scaled` is the same operation's result 2^24
 * times as large, where nothing is lost. */
static inline bool f32_at_edge(f32 x) { return f32_bits(x) << 1 == 0x01000000u; }
static inline f32 f32_edge(f32 x, f32 scaled)
{
    return f32_at_edge(x) && (f32_bits(scaled) & 0x7fffffffu) < 0x0c800000u ? f32_from(f32_bits(x) & 0x80000000u) : x;
}
/* NVIDIA devices have one f32 NaN as a result. */
static inline f32 f32_canon(f32 x) { return x == x ? x : f32_from(0x7fffffffu); }
static inline f32 f32_sat(f32 x) { return x > 0 ? (x < 1 ? x : 1) : 0; } /* NaN and -0 give +0 */
static inline f64 f64_sat(f64 x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
static inline f32 f32_in(f32 x, bool ftz) { return ftz ? f32_flush(x) : x; }
static inline f32 f32_out(f32 x, unsigned aux)
{
    if (aux & LIR_FTZ)
        x = f32_flush(x);
    return aux & LIR_SAT ? f32_sat(x) : f32_canon(x);
}

/* f64 to f32 rounded to odd: a second rounding to a narrower format is then correct. */
static inline f32 f64_to_f32_odd(f64 x)
{
    f32 t = (f32)x;
    f64 back = (f64)t, ax = fabs(x), ab = fabs(back);
    u32 u = f32_bits(t), fixed = ab < ax ? u + 1 : u - 1;
    return f32_from(ab == ax || (u & 1) || x != x ? u : fixed);
}

/* Directed rounding: sets the thread's mode, gives back what to restore. The pointers make the
 * compiler believe that the arrays are read and written by the switch, which pins the arithmetic
 * between the two calls. */
#if defined(__x86_64__)
#include <xmmintrin.h>
static inline unsigned t0_round_set(unsigned rnd, const void *in, const void *out)
{
    /* MXCSR bits 13-14: 0 nearest, 1 down, 2 up, 3 zero */
    unsigned mode = rnd == PTX_RM ? 1 : rnd == PTX_RP ? 2 : rnd == PTX_RZ ? 3 : 0;
    unsigned old = _mm_getcsr();
    _mm_setcsr((old & ~0x6000u) | mode << 13);
    __asm__ volatile("" : : "r"(in), "r"(out) : "memory");
    return old;
}
static inline void t0_round_restore(unsigned old, const void *in, const void *out)
{
    __asm__ volatile("" : : "r"(in), "r"(out) : "memory");
    _mm_setcsr(old);
}
#else
#include <fenv.h>
static inline unsigned t0_round_set(unsigned rnd, const void *in, const void *out)
{
    unsigned old = (unsigned)fegetround();
    fesetround(rnd == PTX_RM ? FE_DOWNWARD : rnd == PTX_RP ? FE_UPWARD : rnd == PTX_RZ ? FE_TOWARDZERO : FE_TONEAREST);
    __asm__ volatile("" : : "r"(in), "r"(out) : "memory");
    return old;
}
static inline void t0_round_restore(unsigned old, const void *in, const void *out)
{
    __asm__ volatile("" : : "r"(in), "r"(out) : "memory");
    fesetround((int)old);
}
#endif

#endif
