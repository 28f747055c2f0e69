/* Comparisons (setp, set, testp) and selection (selp, slct). A comparison yields a lane mask; each
 * relation is its own vectorised loop. */
#include "ptx/tier0/alu.h"

#define COMPARE(T, expr) \
    do { \
        T hit_ = 0; \
        EACH_LANE(l) hit_ |= (expr) ? (T)BIT_OF(T, l) : 0; \
        return (u32)hit_; \
    } while (0)

static inline bool relation(unsigned cmp, bool lt, bool eq, bool nan)
{
    static const uint8_t want[] = {
        /* bit 0: less, 1: equal, 2: greater, 3: unordered */
        [PTX_EQ] = 2,   [PTX_NE] = 5,  [PTX_LT] = 1,   [PTX_LE] = 3,   [PTX_GT] = 4,   [PTX_GE] = 6,  [PTX_EQU] = 10,
        [PTX_NEU] = 13, [PTX_LTU] = 9, [PTX_LEU] = 11, [PTX_GTU] = 12, [PTX_GEU] = 14, [PTX_NUM] = 7, [PTX_NAN] = 8};
    return want[cmp] >> (nan ? 3 : lt ? 0 : eq ? 1 : 2) & 1;
}

/* M is the unsigned type as wide as T, so that one vector holds compare result and lane bit alike.
 */
#define INT_COMPARE(name, T, M, READ) \
    static inline u32 cmp_##name(const T *a, const T *b, unsigned cmp) \
    { \
        switch (cmp) { \
        case PTX_EQ: COMPARE(M, READ(a[l]) == READ(b[l])); \
        case PTX_NE: COMPARE(M, READ(a[l]) != READ(b[l])); \
        case PTX_LT: COMPARE(M, READ(a[l]) < READ(b[l])); \
        case PTX_LE: COMPARE(M, READ(a[l]) <= READ(b[l])); \
        case PTX_GT: COMPARE(M, READ(a[l]) > READ(b[l])); \
        default: COMPARE(M, READ(a[l]) >= READ(b[l])); \
        } \
    }
#define FLOAT_COMPARE(name, T, M, READ) \
    static inline u32 cmp_##name(const T *a, const T *b, unsigned cmp) \
    { \
        switch (cmp) { \
        case PTX_EQ: COMPARE(M, READ(a[l]) == READ(b[l])); \
        case PTX_LT: COMPARE(M, READ(a[l]) < READ(b[l])); \
        case PTX_LE: COMPARE(M, READ(a[l]) <= READ(b[l])); \
        case PTX_GT: COMPARE(M, READ(a[l]) > READ(b[l])); \
        case PTX_GE: COMPARE(M, READ(a[l]) >= READ(b[l])); \
        case PTX_NEU: COMPARE(M, READ(a[l]) != READ(b[l])); \
        case PTX_LTU: COMPARE(M, !(READ(a[l]) >= READ(b[l]))); \
        case PTX_LEU: COMPARE(M, !(READ(a[l]) > READ(b[l]))); \
        case PTX_GTU: COMPARE(M, !(READ(a[l]) <= READ(b[l]))); \
        case PTX_GEU: COMPARE(M, !(READ(a[l]) < READ(b[l]))); \
        default: /* ne, equ, num, nan */ \
            COMPARE(M, relation(cmp, READ(a[l]) < READ(b[l]), READ(a[l]) == READ(b[l]), \
                                READ(a[l]) != READ(a[l]) || READ(b[l]) != READ(b[l]))); \
        } \
    }
#define SAME(x) (x)
#define ZX16(x) ((x)&0xffff)
#define SX16(x) ((s32)(int16_t)(x))
INT_COMPARE(u16, u32, u32, ZX16)
INT_COMPARE(s16, u32, u32, SX16)
INT_COMPARE(u32, u32, u32, SAME)
INT_COMPARE(s32, s32, u32, SAME)
INT_COMPARE(u64, u64, u64, SAME)
INT_COMPARE(s64, s64, u64, SAME)
FLOAT_COMPARE(f32, f32, u32, SAME)
FLOAT_COMPARE(f32_ftz, f32, u32, f32_flush)
FLOAT_COMPARE(f64, f64, u64, SAME)

/* Halves become f32 rows first; ftz flushes their subnormals. */
static inline void widen(f32 *x, const u32 *h, unsigned shift, bool bf16, bool ftz)
{
    if (bf16) {
        EACH_LANE(l) x[l] = bf16_to_f32(h[l] >> shift & 0xffff);
    } else if (ftz) {
        EACH_LANE(l)
        {
            u32 v = h[l] >> shift & 0xffff;
            x[l] = f16_to_f32((v & 0x7c00) ? v : v & 0x8000);
        }
    } else {
        EACH_LANE(l) x[l] = f16_to_f32(h[l] >> shift & 0xffff);
    }
}
static u32 cmp_half(const u32 *a, const u32 *b, unsigned cmp, unsigned shift, bool bf16, bool ftz)
{
    f32 x[LIR_LANES], y[LIR_LANES];
    widen(x, a, shift, bf16, ftz);
    widen(y, b, shift, bf16, ftz);
    return bf16 && ftz ? cmp_f32_ftz(x, y, cmp) : cmp_f32(x, y, cmp);
}

/* What every comparison does with its masks: combine with predicate c, write p and q = the same
 * with the comparison negated. */
static inline u32 combine(struct t0_warp *w, const struct lir_insn *i, u32 hit)
{
    u32 c = (i->aux >> LIR_BOOL_SHIFT & 3) ? T0_PRED(w, i->c) : 0;
    c = i->aux & LIR_CMP_NOTC ? ~c : c;
    switch (i->aux >> LIR_BOOL_SHIFT & 3) {
    case 1: return hit & c;
    case 2: return hit | c;
    case 3: return hit ^ c;
    default: return hit;
    }
}
static void finish_setp(struct t0_warp *w, const struct lir_insn *i, u32 hit)
{
    u32 p = combine(w, i, hit), q = combine(w, i, ~hit); /* c may be one of the results */
    WRITE_PRED(i->d, p);
    if (i->aux & LIR_CMP_Q)
        WRITE_PRED(i->e, q);
}
/* What set writes for true, by the type of its result: 32-bit integers, f32, 16-bit integers, f16, bf16. */
static const u32 set_true[] = {~0u, 0x3f800000u, 0xffff, 0x3c00, 0x3f80};
static void finish_set(struct t0_warp *w, const struct lir_insn *i, u32 hit)
{
    u32 *d = ROW(u32, i->d), yes = set_true[AUX_RND(i->aux)];
    hit = combine(w, i, hit);
    WRITE(u32, d, hit & t0_bit32[l] ? yes : 0);
}

#define CMP_OF(aux) ((aux) >> LIR_CMP_SHIFT & 31u)
#define COMPARE_OPS(TYPE, T, call) \
    HANDLER(SETP_##TYPE) \
    { \
        const T *a = CROW(T, i->a), *b = CROW(T, i->b); \
        const unsigned cmp = CMP_OF(i->aux); \
        finish_setp(w, i, call); \
    } \
    HANDLER(SET_##TYPE) \
    { \
        const T *a = CROW(T, i->a), *b = CROW(T, i->b); \
        const unsigned cmp = CMP_OF(i->aux); \
        finish_set(w, i, call); \
    }
#define FTZ (i->aux & LIR_FTZ)
COMPARE_OPS(U16, u32, cmp_u16(a, b, cmp))
COMPARE_OPS(S16, u32, cmp_s16(a, b, cmp))
COMPARE_OPS(U32, u32, cmp_u32(a, b, cmp))
COMPARE_OPS(S32, s32, cmp_s32(a, b, cmp))
COMPARE_OPS(U64, u64, cmp_u64(a, b, cmp))
COMPARE_OPS(S64, s64, cmp_s64(a, b, cmp))
COMPARE_OPS(F32, f32, FTZ ? cmp_f32_ftz(a, b, cmp) : cmp_f32(a, b, cmp))
COMPARE_OPS(F64, f64, cmp_f64(a, b, cmp))
COMPARE_OPS(F16, u32, cmp_half(a, b, cmp, 0, false, FTZ))
COMPARE_OPS(BF16, u32, cmp_half(a, b, cmp, 0, true, FTZ))

/* x2: setp gives one predicate a half, set a pair of values */
static void finish_setp_x2(struct t0_warp *w, const struct lir_insn *i, u32 lo, u32 hi)
{
    u32 p = combine(w, i, lo), q = combine(w, i, hi);
    WRITE_PRED(i->d, p);
    if (i->aux & LIR_CMP_Q)
        WRITE_PRED(i->e, q);
}
static void finish_set_x2(struct t0_warp *w, const struct lir_insn *i, u32 lo, u32 hi)
{
    u32 *d = ROW(u32, i->d), yes = set_true[AUX_RND(i->aux)] & 0xffff;
    lo = combine(w, i, lo);
    hi = combine(w, i, hi);
    WRITE(u32, d, (lo & t0_bit32[l] ? yes : 0) | (hi & t0_bit32[l] ? yes << 16 : 0));
}
#define COMPARE_X2_OPS(TYPE, bf16) \
    HANDLER(SETP_##TYPE) \
    { \
        const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b); \
        finish_setp_x2(w, i, cmp_half(a, b, CMP_OF(i->aux), 0, bf16, FTZ), \
                       cmp_half(a, b, CMP_OF(i->aux), 16, bf16, FTZ)); \
    } \
    HANDLER(SET_##TYPE) \
    { \
        const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b); \
        finish_set_x2(w, i, cmp_half(a, b, CMP_OF(i->aux), 0, bf16, FTZ), \
                      cmp_half(a, b, CMP_OF(i->aux), 16, bf16, FTZ)); \
    }
COMPARE_X2_OPS(F16X2, false)
COMPARE_X2_OPS(BF16X2, true)

#define SELP_OP(id, T) \
    HANDLER(id) \
    { \
        const T *a = CROW(T, i->a), *b = CROW(T, i->b); \
        T *d = ROW(T, i->d); \
        const u32 p = T0_PRED(w, i->c); \
        WRITE(T, d, p &BIT_OF(T, l) ? a[l] : b[l]); \
    }
SELP_OP(SELP_B32, u32)
SELP_OP(SELP_B64, u64)

/* slct: a if c >= 0. -0 counts as 0, a NaN selects b. */
OP3(SLCT_B32_S32, u32, u32, u32, s32, c[l] >= 0 ? a[l] : b[l])
OP3(SLCT_B64_S32, u64, u64, u64, s32, c[l] >= 0 ? a[l] : b[l])
OP3(SLCT_B32_F32, u32, u32, u32, f32, f32_in(c[l], i->aux &LIR_FTZ) >= 0 ? a[l] : b[l])
OP3(SLCT_B64_F32, u64, u64, u64, f32, f32_in(c[l], i->aux &LIR_FTZ) >= 0 ? a[l] : b[l])

/* testp: classes by exponent and mantissa; `least` is the smallest normal, `inf` the infinity. Zeros count as
 * normal. */
static inline bool in_class(u64 magnitude, u64 least, u64 inf, unsigned kind)
{
    switch (kind + PTX_SUB_FINITE) {
    case PTX_SUB_FINITE: return magnitude < inf;
    case PTX_SUB_INFINITE: return magnitude == inf;
    case PTX_SUB_NUMBER: return magnitude <= inf;
    case PTX_SUB_NOTANUMBER: return magnitude > inf;
    case PTX_SUB_NORMAL: return magnitude < inf && (magnitude >= least || !magnitude);
    default: return magnitude != 0 && magnitude < least;
    }
}
#define TESTP_OP(id, T, sign, least, inf) \
    HANDLER(id) \
    { \
        const T *a = CROW(T, i->a); \
        u32 hit = 0; \
        for (unsigned l = 0; l < LIR_LANES; l++) \
            hit |= (u32)in_class(a[l] & ~(sign), least, inf, i->aux) << l; \
        WRITE_PRED(i->d, hit); \
    }
TESTP_OP(TESTP_F32, u32, 0x80000000u, 0x00800000u, 0x7f800000u)
TESTP_OP(TESTP_F64, u64, 1ull << 63, 1ull << 52, 0x7ffull << 52)
