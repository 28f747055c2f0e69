/* Tier 1's prelude: cp.async, whose copies are made at once. */

/* n bytes, and zeroes up to size */
static __attribute__((noinline, unused)) void t1_copy_part(uint8_t *p, const uint8_t *q, uint32_t n, uint32_t size)
{
    for (uint32_t k = 0; k < size; k++)
        p[k] = k < n ? q[k] : 0;
}

/* cp.async of the lanes of m; of a part: of each lane the first n bytes. Nearly always all lanes copy all their bytes.
 * Written out, as -Og unrolls nothing. */
#define T1_COPY_ONE(SIZE, l) __builtin_memcpy(to[l], from[l], SIZE)
#define T1_COPY_ALL(SIZE) \
    for (uint32_t l = 0; l < 32; l += 4) { \
        T1_COPY_ONE(SIZE, l); \
        T1_COPY_ONE(SIZE, l + 1); \
        T1_COPY_ONE(SIZE, l + 2); \
        T1_COPY_ONE(SIZE, l + 3); \
    }
#define T1_COPY(SIZE) \
    static __attribute__((noinline, unused)) void t1_copy_##SIZE(uint8_t *const *to, const uint8_t *const *from, \
                                                                 uint32_t m) \
    { \
        if (T1_LIKELY(m == ~0u)) { \
            T1_COPY_ALL(SIZE) \
        } else { \
            T1_FOR_LANES(l, m) T1_COPY_ONE(SIZE, l); \
        } \
    } \
    static __attribute__((noinline, unused)) void t1_copy_parts_##SIZE(uint8_t *const *to, const uint8_t *const *from, \
                                                                       const uint32_t *n, uint32_t m) \
    { \
        uint32_t whole = m; \
        for (int k = 0; k < T1_P; k++) \
            whole &= ~(t1_v_cmp_u32(LT, t1_load_u32(n + k * T1_N), t1_splat_u32(SIZE)) << k * T1_N); \
        if (T1_LIKELY(whole == ~0u)) { \
            T1_COPY_ALL(SIZE) \
        } else { \
            T1_FOR_LANES(l, m) \
            { \
                if (whole >> l & 1) \
                    T1_COPY_ONE(SIZE, l); \
                else \
                    t1_copy_part(to[l], from[l], n[l], SIZE); \
            } \
        } \
    }
T1_COPY(4)
T1_COPY(8)
T1_COPY(16)
