/* Tier 0 execution: atom and red. Lanes take turns in ascending order; every access is a host
 * atomic, since other blocks run on other threads. */
#include "ptx/tier0/warp.h"

#include <math.h>
#include <string.h>

#include "half/half.h"

/* New value for `old`, operands in their raw bits. */
typedef uint64_t update(unsigned op, uint64_t old, uint64_t b, uint64_t c);

#define INTEGER(NAME, U, S) \
    static uint64_t NAME(unsigned op, uint64_t old, uint64_t b, uint64_t c) \
    { \
        U o = (U)old, v = (U)b; \
        switch (op) { \
        case PTX_SUB_ADD: return (U)(o + v); \
        case PTX_SUB_AND: return o & v; \
        case PTX_SUB_OR: return o | v; \
        case PTX_SUB_XOR: return o ^ v; \
        case PTX_SUB_EXCH: return v; \
        case PTX_SUB_CAS: return o == v ? (U)c : o; \
        case PTX_SUB_INC: return o >= v ? 0 : (U)(o + 1); \
        case PTX_SUB_DEC: return o == 0 || o > v ? v : (U)(o - 1); \
        case PTX_SUB_MIN: return (S)o < (S)v ? o : v; \
        case PTX_SUB_MAX: return (S)o > (S)v ? o : v; \
        default: return o; \
        } \
    }
INTEGER(update_u16, uint16_t, uint16_t)
INTEGER(update_u32, uint32_t, uint32_t)
INTEGER(update_s32, uint32_t, int32_t)
INTEGER(update_u64, uint64_t, uint64_t)
INTEGER(update_s64, uint64_t, int64_t)

static uint64_t update_f32(unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    float o, v, r;
    uint32_t bits = (uint32_t)old, add = (uint32_t)b;
    (void)c;
    memcpy(&o, &bits, 4);
    memcpy(&v, &add, 4);
    r = op == PTX_SUB_ADD ? o + v : op == PTX_SUB_MIN ? fminf(o, v) : op == PTX_SUB_MAX ? fmaxf(o, v) : v;
    memcpy(&bits, &r, 4);
    return bits;
}

static uint64_t update_f64(unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    double o, v;
    (void)c;
    memcpy(&o, &old, 8);
    memcpy(&v, &b, 8);
    o = op == PTX_SUB_ADD ? o + v : v;
    memcpy(&old, &o, 8);
    return old;
}

/* The lesser of two numbers; -0 is less than +0, and a NaN yields to a number. */
static float lesser(float x, float y) { return x < y || y != y || (x == y && signbit(x)) ? x : y; }

static uint16_t half_op(unsigned op, uint16_t old, uint16_t b, bool bf16)
{
    float o = bf16 ? bf16_to_f32(old) : f16_to_f32(old);
    float v = bf16 ? bf16_to_f32(b) : f16_to_f32(b);
    float r = op == PTX_SUB_ADD ? o + v : op == PTX_SUB_MIN ? lesser(o, v) : op == PTX_SUB_MAX ? -lesser(-o, -v) : v;
    return bf16 ? f32_to_bf16(r) : f32_to_f16(r);
}

static uint64_t update_f16(unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    (void)c;
    return half_op(op, (uint16_t)old, (uint16_t)b, false);
}
static uint64_t update_bf16(unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    (void)c;
    return half_op(op, (uint16_t)old, (uint16_t)b, true);
}
static uint64_t update_f16x2(unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    return update_f16(op, old, b, c) | update_f16(op, old >> 16, b >> 16, c) << 16;
}
static uint64_t update_bf16x2(unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    return update_bf16(op, old, b, c) | update_bf16(op, old >> 16, b >> 16, c) << 16;
}

static const struct {
    uint8_t size;
    update *next;
} types[PTX_NTYPES] = {
    [PTX_B16] = {2, update_u16},     [PTX_U16] = {2, update_u16},       [PTX_B32] = {4, update_u32},
    [PTX_U32] = {4, update_u32},     [PTX_S32] = {4, update_s32},       [PTX_B64] = {8, update_u64},
    [PTX_U64] = {8, update_u64},     [PTX_S64] = {8, update_s64},       [PTX_F32] = {4, update_f32},
    [PTX_F64] = {8, update_f64},     [PTX_F16] = {2, update_f16},       [PTX_BF16] = {2, update_bf16},
    [PTX_F16X2] = {4, update_f16x2}, [PTX_BF16X2] = {4, update_bf16x2}, [PTX_B128] = {16, NULL}};

/* The loop that turns an update into an atomic read-modify-write; returns the old value. */
#define RMW(NAME, U) \
    static uint64_t NAME(uint8_t *p, update *next, unsigned op, uint64_t b, uint64_t c) \
    { \
        U *at = (U *)(void *)p, old = __atomic_load_n(at, __ATOMIC_RELAXED); \
        while ( \
            !__atomic_compare_exchange_n(at, &old, (U)next(op, old, b, c), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) \
            ; \
        return old; \
    }
RMW(rmw_16, uint16_t)
RMW(rmw_32, uint32_t)
RMW(rmw_64, uint64_t)

/* Host instructions for the frequent cases. One that leaves the word as it is only reads it: threads that poll would
 * otherwise take its cache line from each other, and from the one that they wait for. */
static uint64_t one_32(uint8_t *p, update *next, unsigned op, uint64_t b, uint64_t c)
{
    uint32_t *at = (uint32_t *)(void *)p, v = (uint32_t)b, old;
    switch (op) {
    case PTX_SUB_ADD: return v ? __atomic_fetch_add(at, v, __ATOMIC_SEQ_CST) : __atomic_load_n(at, __ATOMIC_SEQ_CST);
    case PTX_SUB_EXCH: return __atomic_exchange_n(at, v, __ATOMIC_SEQ_CST);
    case PTX_SUB_CAS:
        old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
        if (old == v)
            __atomic_compare_exchange_n(at, &old, (uint32_t)c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return old;
    default: return rmw_32(p, next, op, b, c);
    }
}

static uint64_t one_64(uint8_t *p, update *next, unsigned op, uint64_t b, uint64_t c)
{
    uint64_t *at = (uint64_t *)(void *)p, v = b, old;
    switch (op) {
    case PTX_SUB_ADD: return v ? __atomic_fetch_add(at, v, __ATOMIC_SEQ_CST) : __atomic_load_n(at, __ATOMIC_SEQ_CST);
    case PTX_SUB_EXCH: return __atomic_exchange_n(at, v, __ATOMIC_SEQ_CST);
    case PTX_SUB_CAS:
        old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
        if (old == v)
            __atomic_compare_exchange_n(at, &old, c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return old;
    default: return rmw_64(p, next, op, b, c);
    }
}

/* 16 bytes are guarded by a lock: only other 16-byte atomics of this process compete for them. */
static void wide(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint8_t *p, unsigned op)
{
    static atomic_flag lock = ATOMIC_FLAG_INIT;
    uint64_t old[2], want[2] = {T0_U64(w, i->b)[lane], T0_U64(w, i->b + 256)[lane]};
    uint64_t with[2] = {T0_U64(w, i->c)[lane], T0_U64(w, i->c + 256)[lane]};
    *(volatile uint8_t *)p; /* fault before the lock is taken, not under it */
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        ;
    memcpy(old, p, 16);
    if (op == PTX_SUB_EXCH)
        memcpy(p, want, 16);
    else if (old[0] == want[0] && old[1] == want[1])
        memcpy(p, with, 16);
    atomic_flag_clear_explicit(&lock, memory_order_release);
    T0_U64(w, i->d)[lane] = old[0];
    T0_U64(w, i->d + 256)[lane] = old[1];
}

uint64_t t0_atomic_one(void *p, unsigned type, unsigned op, uint64_t b, uint64_t c)
{
    update *next = types[type].next;
    const bool is_float = type == PTX_F32 || type == PTX_F64;
    switch (types[type].size) {
    case 2: return rmw_16(p, next, op, b, c);
    case 4:
        return is_float || type == PTX_F16X2 || type == PTX_BF16X2 ? rmw_32(p, next, op, b, c)
                                                                   : one_32(p, next, op, b, c);
    case 8: return is_float ? rmw_64(p, next, op, b, c) : one_64(p, next, op, b, c);
    default: return 0;
    }
}

unsigned t0_atomic_size(unsigned type) { return type < PTX_NTYPES ? types[type].size : 0; }

/* The frequent case: integer addition in shared memory, which only this thread touches. */
static bool shared_add(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t *a = T0_U32(w, i->a), *b = T0_U32(w, i->b), mask = w->l.mask;
    uint32_t at[LIR_LANES], bad[LIR_LANES], any = 0, *d = T0_U32(w, i->d);
    uint32_t limit = w->shared_size & ~3u;
    for (unsigned l = 0; l < LIR_LANES; l++) {
        at[l] = a[l] + (uint32_t)i->imm;
        bad[l] = (at[l] & 3) | (at[l] >= limit);
    }
    T0_FOR_LANES(l, mask)
    any |= bad[l];
    if (any)
        return false; /* the plain loop names the lane */
    if (i->aux & LIR_ATOM_NORET) {
        T0_FOR_LANES(l, mask)
        *(uint32_t *)(void *)(w->shared + at[l]) += b[l];
        return true;
    }
    T0_FOR_LANES(l, mask)
    {
        uint32_t *p = (uint32_t *)(void *)(w->shared + at[l]), old = *p;
        *p = old + b[l];
        d[l] = old;
    }
    return true;
}

/* Atomics, lane after lane in ascending order, which is one of the orders that the ISA allows. Sums in shared memory
 * have a faster way: no other thread of the host touches a block's shared memory. */
static void atom(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned op = i->aux & LIR_ATOM_OP, type = i->aux >> LIR_ATOM_TYPE_SHIFT & 0x1f;
    unsigned size = type < PTX_NTYPES ? types[type].size : 0;
    w->at = i;
    if (!size)
        return;
    if (op == PTX_SUB_ADD && (type == PTX_U32 || type == PTX_S32) && i->aux & LIR_ATOM_SHARED &&
        i->aux & LIR_ATOM_ADDR32 && shared_add(w, i))
        return;
    T0_FOR_LANES(l, w->l.mask)
    {
        uint64_t a = i->aux & LIR_ATOM_ADDR32 ? (uint32_t)(T0_U32(w, i->a)[l] + (uint32_t)i->imm)
                                              : T0_U64(w, i->a)[l] + (uint64_t)(int64_t)i->imm;
        uint64_t b, c, old;
        uint8_t *p = (uint8_t *)(uintptr_t)a;
        if (a & (size - 1))
            t0_raise(w, i, T0_FAULT_MISALIGNED, l, a);
        if (i->aux & LIR_ATOM_SHARED) {
            p = a < w->shared_size && size <= w->shared_size - a ? w->shared + a : t0_far_shared(w, a, size);
            if (!p)
                t0_raise(w, i, T0_FAULT_SHARED, l, a);
        }
        if (size == 16) {
            wide(w, i, l, p, op);
            continue;
        }
        b = size == 8 ? T0_U64(w, i->b)[l] : T0_U32(w, i->b)[l];
        c = size == 8 ? T0_U64(w, i->c)[l] : T0_U32(w, i->c)[l];
        old = t0_atomic_one(p, type, op, b, c);
        if (i->aux & LIR_ATOM_NORET)
            continue;
        if (size == 8)
            T0_U64(w, i->d)[l] = old;
        else
            T0_U32(w, i->d)[l] = (uint32_t)old;
    }
}

void t0_atomic_handlers(t0_handler *table[LIR_NOPS]) { table[LIR_ATOM] = atom; }
