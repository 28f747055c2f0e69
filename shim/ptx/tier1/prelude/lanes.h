/* Tier 1's prelude: what the lanes of a warp do together. */
#define T1_COMPILER_FENCE() __asm__ volatile("" : : : "memory")
T1_INLINE void t1_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/* to and from arrays of 32 lanes */
T1_INLINE void t1_spill_u32(uint32_t *to, int k, pu32 v) { *(pu32_m *)(to + k * T1_N) = v; }
T1_INLINE pu32 t1_fill_u32(const uint32_t *from, int k) { return *(const pu32_m *)(from + k * T1_N); }
T1_INLINE void t1_spill_u64(uint64_t *to, int q, pu64 v) { *(pu64_m *)(to + q * T1_H) = v; }
T1_INLINE pu64 t1_fill_u64(const uint64_t *from, int q) { return *(const pu64_m *)(from + q * T1_H); }

/* One piece of lanes idx[i] (modulo 32) of a whole value, given by its T1_P pieces. */
#if T1_ISA == 2
T1_INLINE pu32 t1_perm_u32(pu32 idx, pu32 v0, pu32 v1) { return t1_perm2(v0, v1, idx); }
#elif T1_ISA == 1
typedef int t1_i8 __attribute__((vector_size(32)));
T1_INLINE pf32 t1_perm_of(pu32 v, pu32 idx) { return (pf32)__builtin_ia32_permvarsi256((t1_i8)v, (t1_i8)idx); }
T1_INLINE pu32 t1_perm_u32(pu32 idx, pu32 v0, pu32 v1, pu32 v2, pu32 v3)
{
    const pf32 odd = (pf32)(idx << 28), upper = (pf32)(idx << 27); /* which piece, in the sign */
    const pf32 low = __builtin_ia32_blendvps256(t1_perm_of(v0, idx), t1_perm_of(v1, idx), odd);
    const pf32 high = __builtin_ia32_blendvps256(t1_perm_of(v2, idx), t1_perm_of(v3, idx), odd);
    return (pu32)__builtin_ia32_blendvps256(low, high, upper);
}
#else
T1_INLINE pu32 t1_perm_u32(pu32 idx, pu32 v0, pu32 v1, pu32 v2, pu32 v3, pu32 v4, pu32 v5, pu32 v6, pu32 v7)
{
    const pu32 v[8] = {v0, v1, v2, v3, v4, v5, v6, v7};
    union {
        pu32 v;
        uint32_t e[T1_N];
    } i = {idx & 31}, r;
    uint32_t all[32];
    for (int k = 0; k < T1_P; k++)
        t1_spill_u32(all, k, v[k]);
    for (int l = 0; l < T1_N; l++)
        r.e[l] = all[i.e[l]];
    return r.v;
}
#endif
/* The same where the lanes are known and lie in two pieces; those of b count from T1_N on. */
#if defined(__clang__) || __GNUC__ >= 12
#define T1_PICK_LANES(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define T1_PICK_LANES(a, b, ...) __builtin_shuffle(a, b, (pu32){__VA_ARGS__})
#endif

/* Source lane of each shfl mode (0 up, 1 down, 2 bfly, 3 idx) for the lanes l of a piece; c holds the clamp in bits 0-4
 * and the segment mask in bits 8-12. Lanes out of range read themselves; *ok: which are in range. */
T1_INLINE pu32 t1_shfl_lanes(int mode, pu32 l, pu32 b, pu32 c, uint32_t *ok)
{
    const pu32 lane = b & 31, segment = c >> 8 & 31, least = l & segment, most = least | (c & 31 & ~segment);
    const pu32 j = mode == 0 ? l - lane : mode == 1 ? l + lane : mode == 2 ? l ^ lane : least | (lane & ~segment);
    const pu32 in = mode == 0 ? (pu32)((ps32)j >= (ps32)most) : (pu32)((ps32)j <= (ps32)most); /* -31 <= j < 64 */
    *ok = t1_bits_of32(in);
    return (in & j) | (~in & l);
}

#define T1_MATCH(T, U) \
    T1_INLINE void t1_match_any_##T(uint32_t m, const U *a, uint32_t *d) \
    { \
        T1_FOR_LANES(l, m) \
        { \
            uint32_t same = 0; \
            T1_FOR_LANES(k, m) same |= (uint32_t)(a[k] == a[l]) << k; \
            d[l] = same; \
        } \
    } \
    T1_INLINE uint32_t t1_match_all_##T(uint32_t m, const U *a, uint32_t *d) \
    { \
        uint32_t same = 0; \
        T1_FOR_LANES(k, m) same |= (uint32_t)(a[k] == a[__builtin_ctz(m)]) << k; \
        T1_FOR_LANES(l, m) d[l] = same == m ? m : 0; \
        return same == m ? m : 0; \
    }
T1_MATCH(u32, uint32_t)
T1_MATCH(u64, uint64_t)

#define T1_REDUX(NAME, S, EXPR) \
    T1_INLINE uint32_t t1_redux_##NAME(uint32_t m, const uint32_t *a) \
    { \
        S r = (S)a[__builtin_ctz(m)]; \
        T1_FOR_LANES(l, m &(m - 1)) \
        { \
            S v = (S)a[l]; \
            r = EXPR; \
        } \
        return (uint32_t)r; \
    }
T1_REDUX(add_u32, uint32_t, r + v)
T1_REDUX(and_u32, uint32_t, r &v)
T1_REDUX(or_u32, uint32_t, r | v)
T1_REDUX(xor_u32, uint32_t, r ^ v)
T1_REDUX(min_u32, uint32_t, v < r ? v : r)
T1_REDUX(max_u32, uint32_t, v > r ? v : r)
T1_REDUX(min_s32, int32_t, v < r ? v : r)
T1_REDUX(max_s32, int32_t, v > r ? v : r)
#define t1_redux_add_s32 t1_redux_add_u32
