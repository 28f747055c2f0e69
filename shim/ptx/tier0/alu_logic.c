/* Logic, shifts and moves between registers, packing and unpacking included. */
#include "ptx/tier0/alu.h"

OP2(AND_B32, u32, u32, u32, a[l] & b[l])
OP2(AND_B64, u64, u64, u64, a[l] & b[l])
OP2(OR_B32, u32, u32, u32, a[l] | b[l])
OP2(OR_B64, u64, u64, u64, a[l] | b[l])
OP2(XOR_B32, u32, u32, u32, a[l] ^ b[l])
OP2(XOR_B64, u64, u64, u64, a[l] ^ b[l])
OP1(NOT_B16, u32, u32, ~a[l] & 0xffff)
OP1(NOT_B32, u32, u32, ~a[l])
OP1(NOT_B64, u64, u64, ~a[l])
OP1(CNOT_B16, u32, u32, (a[l] & 0xffff) == 0)
OP1(CNOT_B32, u32, u32, a[l] == 0)
OP1(CNOT_B64, u64, u64, a[l] == 0)

HANDLER(AND_P) { WRITE_PRED(i->d, T0_PRED(w, i->a) & T0_PRED(w, i->b)); }
HANDLER(OR_P) { WRITE_PRED(i->d, T0_PRED(w, i->a) | T0_PRED(w, i->b)); }
HANDLER(XOR_P) { WRITE_PRED(i->d, T0_PRED(w, i->a) ^ T0_PRED(w, i->b)); }
HANDLER(NOT_P) { WRITE_PRED(i->d, ~T0_PRED(w, i->a)); }
HANDLER(MOV_P) { WRITE_PRED(i->d, T0_PRED(w, i->a)); }

/* Bit n of the table is the result for a, b, c = bits 2, 1, 0 of n. As masks, so that one loop does
 * all 256 tables: sum of products over the eight rows. */
HANDLER(LOP3_B32)
{
    const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b), *c = CROW(u32, i->c);
    u32 *d = ROW(u32, i->d), t[8];
    for (unsigned n = 0; n < 8; n++)
        t[n] = 0 - ((u32)i->imm >> n & 1);
    WRITE(u32, d,
          (~a[l] & ((~b[l] & ((~c[l] & t[0]) | (c[l] & t[1]))) | (b[l] & ((~c[l] & t[2]) | (c[l] & t[3]))))) |
              (a[l] & ((~b[l] & ((~c[l] & t[4]) | (c[l] & t[5]))) | (b[l] & ((~c[l] & t[6]) | (c[l] & t[7]))))));
}

/* Amounts beyond the width give 0, or the sign: hence the test before the C shift. */
#define SHIFT_LEFT(x, n, width) ((n) < (width) ? (x) << ((n) & ((width)-1)) : 0)
#define SHIFT_RIGHT(x, n, width) ((n) < (width) ? (x) >> ((n) & ((width)-1)) : 0)
#define SHIFT_SIGNED(x, n, width) ((x) >> ((n) < (width) ? (n) : (width)-1))
OP2(SHL_B16, u32, u32, u32, SHIFT_LEFT(a[l], b[l], 16u) & 0xffff)
OP2(SHL_B32, u32, u32, u32, SHIFT_LEFT(a[l], b[l], 32u))
OP2(SHL_B64, u64, u64, u32, SHIFT_LEFT(a[l], b[l], 64u))
OP2(SHR_U16, u32, u32, u32, SHIFT_RIGHT(a[l] & 0xffff, b[l], 16u))
OP2(SHR_U32, u32, u32, u32, SHIFT_RIGHT(a[l], b[l], 32u))
OP2(SHR_U64, u64, u64, u32, SHIFT_RIGHT(a[l], b[l], 64u))
OP2(SHR_S16, u32, u32, u32, (u32)SHIFT_SIGNED((s32)(int16_t)a[l], b[l], 16u) & 0xffff)
OP2(SHR_S32, s32, s32, u32, SHIFT_SIGNED(a[l], b[l], 32u))
OP2(SHR_S64, s64, s64, u32, SHIFT_SIGNED(a[l], b[l], 64u))

/* Funnel shift of b:a; the amount wraps at 32 or stops there. */
static inline u32 funnel_amount(u32 n, unsigned wrap) { return wrap ? n & 31 : n < 32 ? n : 32; }
static inline u64 funnel(u32 lo, u32 hi) { return (u64)hi << 32 | lo; }
OP3(SHF_L_B32, u32, u32, u32, u32, (funnel(a[l], b[l]) << funnel_amount(c[l], i->aux)) >> 32)
OP3(SHF_R_B32, u32, u32, u32, u32, funnel(a[l], b[l]) >> funnel_amount(c[l], i->aux))

OP1(MOV_B16, u32, u32, a[l] & 0xffff)
OP1(MOV_B32, u32, u32, a[l])
OP1(MOV_B64, u64, u64, a[l])
HANDLER(MOV_B128)
{
    const u64 *a = CROW(u64, i->a), *ahi = a + LIR_LANES;
    u64 *d = ROW(u64, i->d), *dhi = d + LIR_LANES;
    WRITE(u64, d, a[l]);
    WRITE(u64, dhi, ahi[l]);
}

OP2(PACK2_B16, u32, u32, u32, (a[l] & 0xff) | (b[l] & 0xff) << 8)
OP2(PACK2_B32, u32, u32, u32, (a[l] & 0xffff) | b[l] << 16)
OP2(PACK2_B64, u64, u32, u32, (u64)a[l] | (u64)b[l] << 32)
HANDLER(PACK2_B128)
{
    const u64 *a = CROW(u64, i->a), *b = CROW(u64, i->b);
    u64 *d = ROW(u64, i->d), *dhi = d + LIR_LANES;
    for (unsigned l = 0; l < LIR_LANES; l++) { /* d may be the pair that starts at a or at b */
        u64 lo = a[l], hi = b[l];
        if (MASK >> l & 1) {
            d[l] = lo;
            dhi[l] = hi;
        }
    }
}
HANDLER(PACK4_B32)
{
    const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b), *c = CROW(u32, i->c), *e = CROW(u32, i->e);
    u32 *d = ROW(u32, i->d);
    WRITE(u32, d, (a[l] & 0xff) | (b[l] & 0xff) << 8 | (c[l] & 0xff) << 16 | e[l] << 24);
}
HANDLER(PACK4_B64)
{
    const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b), *c = CROW(u32, i->c), *e = CROW(u32, i->e);
    u64 *d = ROW(u64, i->d);
    WRITE(u64, d, (u64)((a[l] & 0xffff) | b[l] << 16) | (u64)((c[l] & 0xffff) | e[l] << 16) << 32);
}

/* The source may be one of the destinations, so it is read whole before the first is written. */
#define UNPACK_OP(id, A, D, n, bits, mask_of) \
    HANDLER(id) \
    { \
        A a[LIR_LANES]; \
        const u32 to[4] = {i->d, i->e, i->b, i->c}; \
        memcpy(a, CROW(A, i->a), sizeof a); \
        for (unsigned k = 0; k < n; k++) { \
            D *d = ROW(D, to[k]); \
            WRITE(D, d, a[l] >> (bits * k) & (mask_of)); \
        } \
    }
UNPACK_OP(UNPACK2_B16, u32, u32, 2, 8, 0xff)
UNPACK_OP(UNPACK2_B32, u32, u32, 2, 16, 0xffff)
UNPACK_OP(UNPACK2_B64, u64, u32, 2, 32, 0xffffffffu)
UNPACK_OP(UNPACK4_B32, u32, u32, 4, 8, 0xff)
UNPACK_OP(UNPACK4_B64, u64, u32, 4, 16, 0xffff)
HANDLER(UNPACK2_B128)
{
    const u64 *a = CROW(u64, i->a), *ahi = a + LIR_LANES;
    u64 *d = ROW(u64, i->d), *e = ROW(u64, i->e);
    for (unsigned l = 0; l < LIR_LANES; l++) {
        u64 lo = a[l], hi = ahi[l];
        if (MASK >> l & 1) {
            d[l] = lo;
            e[l] = hi;
        }
    }
}
