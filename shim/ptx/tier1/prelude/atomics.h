/* Tier 1's prelude: atomic operations of one lane. Values are raw bits; each returns the old one.
 * t1_atom_* is for memory other threads see, t1_satom_* for the block's own shared memory, which
 * one thread runs. */
#define T1_RMW(NAME, U, EXPR) \
    T1_INLINE U t1_atom_##NAME(void *p, U b) \
    { \
        U a = __atomic_load_n((U *)p, __ATOMIC_RELAXED); \
        while (!__atomic_compare_exchange_n((U *)p, &a, (U)(EXPR), 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) \
            ; \
        return a; \
    } \
    T1_PLAIN_RMW(NAME, U, EXPR)
#define T1_PLAIN_RMW(NAME, U, EXPR) \
    T1_INLINE U t1_satom_##NAME(void *p, U b) \
    { \
        U a = *(U *)p; \
        *(U *)p = (U)(EXPR); \
        return a; \
    }
/* the host has an instruction */
#define T1_FETCH(NAME, U, BUILTIN, EXPR) \
    T1_INLINE U t1_atom_##NAME(void *p, U b) { return BUILTIN((U *)p, b, __ATOMIC_SEQ_CST); } \
    T1_PLAIN_RMW(NAME, U, EXPR)
#define T1_CAS(T, U) \
    T1_INLINE U t1_atom_cas_##T(void *p, U b, U c) \
    { \
        __atomic_compare_exchange_n((U *)p, &b, c, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return b; \
    } \
    T1_INLINE U t1_satom_cas_##T(void *p, U b, U c) \
    { \
        U a = *(U *)p; \
        if (a == b) \
            *(U *)p = c; \
        return a; \
    }
#define T1_ATOMICS(T, U) \
    T1_FETCH(add_##T, U, __atomic_fetch_add, a + b) \
    T1_FETCH(and_##T, U, __atomic_fetch_and, a &b) \
    T1_FETCH(or_##T, U, __atomic_fetch_or, a | b) \
    T1_FETCH(xor_##T, U, __atomic_fetch_xor, a ^ b) \
    T1_FETCH(exch_##T, U, __atomic_exchange_n, b) \
    T1_CAS(T, U) \
    T1_RMW(min_##T, U, a < b ? a : b) \
    T1_RMW(max_##T, U, a > b ? a : b)
T1_ATOMICS(u32, uint32_t)
T1_ATOMICS(u64, uint64_t)
T1_CAS(u16, uint16_t)
T1_RMW(inc_u32, uint32_t, a >= b ? 0 : a + 1)
T1_RMW(dec_u32, uint32_t, a == 0 || a > b ? b : a - 1)
T1_RMW(min_s32, uint32_t, (int32_t)a < (int32_t)b ? a : b)
T1_RMW(max_s32, uint32_t, (int32_t)a > (int32_t)b ? a : b)
T1_RMW(min_s64, uint64_t, (int64_t)a < (int64_t)b ? a : b)
T1_RMW(max_s64, uint64_t, (int64_t)a > (int64_t)b ? a : b)
T1_RMW(add_f32, uint32_t, t1_bits32(t1_f32(a) + t1_f32(b)))
T1_RMW(add_f64, uint64_t, t1_bits64(t1_f64(a) + t1_f64(b)))
#define T1_HALF_SUM(T) t1_lane0(t1_v_add_##T(t1_splat_u32(a), t1_splat_u32(b)))
T1_RMW(add_f16, uint16_t, T1_HALF_SUM(f16))
T1_RMW(add_bf16, uint16_t, T1_HALF_SUM(bf16))
T1_RMW(add_f16x2, uint32_t, T1_HALF_SUM(f16x2))
T1_RMW(add_bf16x2, uint32_t, T1_HALF_SUM(bf16x2))
#define t1_atom_add_s32 t1_atom_add_u32
#define t1_atom_add_s64 t1_atom_add_u64
#define t1_satom_add_s32 t1_satom_add_u32
#define t1_satom_add_s64 t1_satom_add_u64

/* All lanes at one address: each does its operation on r_, in order, and one atomic step brings the
 * result home, as if nobody had come between. */
#define T1_ATOM_ONE(T, p, lanes) \
    do { \
        T1_CAT(T1_CAT(uint, T1_BITS_##T), _t) *at_ = (void *)(p), a_ = __atomic_load_n(at_, __ATOMIC_RELAXED), r_; \
        do { \
            r_ = a_; \
            lanes; \
        } while (!__atomic_compare_exchange_n(at_, &a_, r_, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
    } while (0)
#define T1_SATOM_ONE(T, p, lanes) \
    do { \
        T1_CAT(T1_CAT(uint, T1_BITS_##T), _t) *at_ = (void *)(p), r_ = *at_; \
        lanes; \
        *at_ = r_; \
    } while (0)
#define T1_BITS_u16 16
#define T1_BITS_u32 32
#define T1_BITS_u64 64
