/* Tier 1's prelude: contiguous, gathered and scattered memory accesses of one piece. T is the
 * element: u8 s8 u16 s16 u32 (a pu32 of extended elements) or u64. Lanes whose bit is clear are not
 * touched and load 0; `bits` are the piece's own. */
#define T1_WIDE(T) \
    T1_INLINE pu32 t1_load_##T(const void *p) { return t1_wide_##T(*(const p##T##_m *)p); }
T1_WIDE(u8)
T1_WIDE(s8)
T1_WIDE(u16)
T1_WIDE(s16)
/* one access, at any address */
#define T1_ONE(T, E, R) \
    T1_INLINE R t1_ld_##T(const void *p) { return (R)(*(const t1_##E *)p); }
T1_ONE(u8, u8, uint32_t)
T1_ONE(s8, s8, uint32_t)
T1_ONE(u16, u16, uint32_t)
T1_ONE(s16, s16, uint32_t)
T1_ONE(u32, u32, uint32_t)
T1_ONE(u64, u64, uint64_t)
T1_INLINE void t1_st_u8(void *p, uint32_t v) { *(t1_u8 *)p = (uint8_t)v; }
T1_INLINE void t1_st_u16(void *p, uint32_t v) { *(t1_u16 *)p = (uint16_t)v; }
T1_INLINE void t1_st_u32(void *p, uint32_t v) { *(t1_u32 *)p = v; }
T1_INLINE void t1_st_u64(void *p, uint64_t v) { *(t1_u64 *)p = v; }

T1_INLINE pu32 t1_load_u32(const void *p) { return *(const pu32_m *)p; }
T1_INLINE pu64 t1_load_u64(const void *p) { return *(const pu64_m *)p; }
T1_INLINE void t1_store_u8(void *p, pu32 v) { *(pu8_m *)p = t1_narrow_u8(v); }
T1_INLINE void t1_store_u16(void *p, pu32 v) { *(pu16_m *)p = t1_narrow_u16(v); }
T1_INLINE void t1_store_u32(void *p, pu32 v) { *(pu32_m *)p = v; }
T1_INLINE void t1_store_u64(void *p, pu64 v) { *(pu64_m *)p = v; }

/* Lane by lane: the form every access has. ADDR sees lane l. */
#define T1_LANES_LOAD(V, E, n, ADDR) \
    union { \
        V v; \
        E e[n]; \
    } r_ = {{0}}; \
    T1_FOR_LANES(l, bits) r_.e[l] = (E)(ADDR); \
    return r_.v;

/* Lanes that do not run read these instead, so that a load has no branches. */
static const uint8_t t1_zeros[16] __attribute__((unused, aligned(16)));
static __attribute__((noinline, unused)) pu64 t1_safe64(uint32_t bits, pu64 a)
{
    return t1_blend_u64(bits, t1_splat_u64((uint64_t)t1_zeros), a);
}
static __attribute__((noinline, unused)) void t1_absent(const uint8_t **p, uint32_t m)
{
    for (int l = 0; l < 32; l++)
        if (!(m >> l & 1))
            p[l] = t1_zeros;
}
/* Pointers of a piece of 32 or 64 bits as they lie in memory: an element that is taken out of a vector is dearer. */
#define T1_SPILL_POINTERS(lo, hi) \
    union { \
        pu64 v[2]; \
        uint64_t e[T1_N]; \
    } a_ = {{lo, hi}}; \
    if (T1_UNLIKELY(bits != T1_ALL32)) { \
        a_.v[0] = t1_safe64(bits, lo); \
        a_.v[1] = t1_safe64(bits >> T1_H, hi); \
    }

/* Stores of a piece, lane by lane in their order, so that of those to one place the last stays. Large texts call them:
 * a compiler takes 3 times as long for 500 of them in a row, and a fifth longer for a sort of CUB. */
#ifdef T1_LARGE
#define T1_SCATTERS static __attribute__((noinline, unused))
#else
#define T1_SCATTERS T1_INLINE
#endif
#define T1_SCATTER(ALL, EACH, STORE) \
    if (T1_LIKELY(bits == (ALL))) { \
        (void)(EACH(STORE)); \
    } else { \
        T1_FOR_LANES(l, bits) STORE(l); \
    }
#define T1_PUT_INDEXED(n) *(T1_E_ *)(base + (int64_t)i_.e[n] * scale) = (T1_E_)x_.e[n]
#define T1_PUT_AT(n) *(T1_E_ *)a_.e[n] = (T1_E_)x_.e[n]
#define T1_SPILL(name, V, E, n, value) \
    const union { \
        V v; \
        E e[n]; \
    } name = {value};
#define T1_SPILL_TWO(lo, hi) \
    const union { \
        pu64 v[2]; \
        uint64_t e[T1_N]; \
    } a_ = {{lo, hi}};

#if T1_ISA != 0
/* Whether the lanes' pointers, in pieces of 64 bits, follow one another by `size` bytes: strides that programs hold in
 * memory cannot be known before they run. */
#if T1_ISA == 1
typedef long long t1_q4_ __attribute__((vector_size(32)));
T1_INLINE int t1_in_row(pu64 p0, pu64 p1, pu64 p2, pu64 p3, pu64 p4, pu64 p5, pu64 p6, pu64 p7, uint64_t size)
{
    const pu64 x = t1_splat_u64(p0[0]) + T1_LANE64 * size, d = t1_splat_u64(4 * size), d2 = d + d, x2 = x + d2;
    const pu64 x4 = x2 + d2, x6 = x4 + d2;
    const pu64 off = (p0 ^ x) | (p1 ^ (x + d)) | (p2 ^ x2) | (p3 ^ (x2 + d)) | (p4 ^ x4) | (p5 ^ (x4 + d)) | (p6 ^ x6) |
                     (p7 ^ (x6 + d));
    return __builtin_ia32_ptestz256((t1_q4_)off, (t1_q4_)off);
}
T1_INLINE int t1_index_in_row(pu32 a, pu32 b, pu32 c, pu32 d, uint32_t step, uint32_t most)
{
    const pu32 x = t1_splat_u32(a[0]) + T1_LANE32 * step, x2 = x + 16 * step;
    const pu64 off = (pu64)((a ^ x) | (b ^ (x + 8 * step)) | (c ^ x2) | (d ^ (x2 + 8 * step)));
    return most - a[0] >= 31 * step && __builtin_ia32_ptestz256((t1_q4_)off, (t1_q4_)off);
}
#else
T1_INLINE int t1_in_row(pu64 p0, pu64 p1, pu64 p2, pu64 p3, uint64_t size)
{
    const pu64 x = t1_splat_u64(p0[0]) + T1_LANE64 * size, d = t1_splat_u64(8 * size), x2 = x + d + d;
    const pu64 off = (p0 ^ x) | (p1 ^ (x + d)) | (p2 ^ x2) | (p3 ^ (x2 + d));
    return !T1_CMP_U64(off, (pu64){0}, 4); /* no lane differs */
}
/* The same of indices of 32 bits that are widened: none may be beyond `most`, the end of their range. */
T1_INLINE int t1_index_in_row(pu32 a, pu32 b, uint32_t step, uint32_t most)
{
    const pu32 x = t1_splat_u32(a[0]) + T1_LANE32 * step;
    return most - a[0] >= 31 * step && !T1_CMP_U32((a ^ x) | (b ^ (x + 16 * step)), (pu32){0}, 4);
}
#endif
#endif

/* The lines of `bytes` at p. */
T1_INLINE void t1_prefetch(const char *p, int bytes)
{
    __builtin_prefetch(p);
    if (bytes > 64)
        __builtin_prefetch(p + 64);
    if (bytes > 128) {
        __builtin_prefetch(p + 128);
        __builtin_prefetch(p + 192);
    }
}
/* What the next round of a loop reads, as far from here as this one is from the round before at `last`: tiles of a
 * matrix lie too far apart for the CPU's prefetcher. */
#define T1_AHEAD_ROUND(p, bytes, last) \
    do { \
        const uint64_t at_ = (uint64_t)(p); \
        const char *next_ = (const char *)(last ? 2 * at_ - last : at_); \
        t1_prefetch(next_, bytes); \
        __builtin_prefetch(next_ + (bytes)-1); \
        last = at_; \
    } while (0)

/* What the next warp is likely to read, where this one reads `bytes` in a row at p: a warp runs
 * alone from barrier to barrier, so its own loads are far apart and the CPU's prefetcher sees no
 * stream. */
T1_INLINE void t1_ahead(const void *p, int bytes) { t1_prefetch((const char *)p + bytes, bytes); }
#define t1_walk_ahead(p, bytes, store) \
    _Pragma("GCC unroll 1") for (int k_ = 0; k_ < (bytes); k_ += 64) __builtin_prefetch((const char *)(p) + k_, store)
/* The same of lanes that gather, if what the first and the last read lies close together. */
#define t1_ahead_of(first, last, bytes) t1_ahead_of_((first)[0], (last)[T1_H - 1] + (bytes))
T1_INLINE void t1_ahead_of_(uint64_t from, uint64_t to)
{
    if (to - from <= 512)
        for (uint64_t k = 0; k < to - from; k += 64)
            __builtin_prefetch((const char *)to + k);
}

/* The whole piece moves by plain loads and stores: masked ones stop the CPU from running ahead
 * (saxpy from memory takes three times as long). */
#if T1_ISA == 2
T1_INLINE pu32 t1_maskload_u32(uint32_t bits, const void *p)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        return t1_load_u32(p);
    return (pu32)__builtin_ia32_loaddqusi512_mask((const void *)p, (t1_i16){0}, (uint16_t)bits);
}
T1_INLINE pu64 t1_maskload_u64(uint32_t bits, const void *p)
{
    if (__builtin_expect(bits == T1_ALL64, 1))
        return t1_load_u64(p);
    return (pu64)__builtin_ia32_loaddqudi512_mask((const void *)p, (t1_q8){0}, (uint8_t)bits);
}
T1_INLINE void t1_maskstore_u32(uint32_t bits, void *p, pu32 v)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        t1_store_u32(p, v);
    else
        __builtin_ia32_storedqusi512_mask((void *)p, (t1_i16)v, (uint16_t)bits);
}
T1_INLINE void t1_maskstore_u64(uint32_t bits, void *p, pu64 v)
{
    if (__builtin_expect(bits == T1_ALL64, 1))
        t1_store_u64(p, v);
    else
        __builtin_ia32_storedqudi512_mask((void *)p, (t1_q8)v, (uint8_t)bits);
}
typedef pu8 t1_pu8_m __attribute__((aligned(1), may_alias));
typedef pu16 t1_pu16_m __attribute__((aligned(1), may_alias));
T1_INLINE pu8 t1_maskbytes(uint32_t bits, const void *p)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        return *(const t1_pu8_m *)p;
    return (pu8)__builtin_ia32_loaddquqi128_mask((const void *)p, (t1_c16){0}, (uint16_t)bits);
}
T1_INLINE pu16 t1_maskwords(uint32_t bits, const void *p)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        return *(const t1_pu16_m *)p;
    return (pu16)__builtin_ia32_loaddquhi256_mask((const void *)p, (t1_w16){0}, (uint16_t)bits);
}
T1_INLINE void t1_maskstore_u8(uint32_t bits, void *p, pu32 v)
{
    if (__builtin_expect(bits == T1_ALL32, 1)) {
        t1_store_u8(p, v);
        return;
    }
    __builtin_ia32_storedquqi128_mask((void *)p, (t1_c16)t1_narrow_u8(v), (uint16_t)bits);
}
T1_INLINE void t1_maskstore_u16(uint32_t bits, void *p, pu32 v)
{
    if (__builtin_expect(bits == T1_ALL32, 1)) {
        t1_store_u16(p, v);
        return;
    }
    __builtin_ia32_storedquhi256_mask((void *)p, (t1_w16)t1_narrow_u16(v), (uint16_t)bits);
}
/* scale is 1, 2, 4 or 8; 32-bit indices are signed */
#define t1_gather_u32(bits, base, idx, scale) \
    ((pu32)__builtin_ia32_gathersiv16si((t1_i16){0}, (const void *)(base), (t1_i16)(idx), (short)(bits), scale))
#define t1_gather_u64(bits, base, idx, scale) \
    ((pu64)__builtin_ia32_gathersiv8di((t1_q8){0}, (const void *)(base), (t1_i8)(idx), (char)(bits), scale))
#define t1_scatter_u32(bits, base, idx, v, scale) \
    __builtin_ia32_scattersiv16si((void *)(base), (short)(bits), (t1_i16)(idx), (t1_i16)(v), scale)
#define t1_scatter_u64(bits, base, idx, v, scale) \
    __builtin_ia32_scattersiv8di((void *)(base), (char)(bits), (t1_i8)(idx), (t1_q8)(v), scale)
#define T1_GATHER64(bits, a) \
    (ph32) __builtin_ia32_gatherdiv16si((t1_i8){0}, (const void *)0, (t1_q8)(a), (char)(bits), 1)
T1_INLINE pu32 t1_gather64_u32(uint32_t bits, pu64 lo, pu64 hi)
{
    return t1_join_u32(T1_GATHER64(bits, lo), T1_GATHER64(bits >> 8, hi));
}
T1_INLINE void t1_scatter64_u32(uint32_t bits, pu64 lo, pu64 hi, pu32 v)
{
    __builtin_ia32_scatterdiv16si((void *)0, (char)bits, (t1_q8)lo, (t1_i8)t1_half0(v), 1);
    __builtin_ia32_scatterdiv16si((void *)0, (char)(bits >> 8), (t1_q8)hi, (t1_i8)t1_half1(v), 1);
}
T1_INLINE pu64 t1_gather64_u64(uint32_t bits, pu64 a)
{
    return (pu64)__builtin_ia32_gatherdiv8di((t1_q8){0}, (const void *)0, (t1_q8)a, (char)bits, 1);
}
T1_INLINE void t1_scatter64_u64(uint32_t bits, pu64 a, pu64 v)
{
    __builtin_ia32_scatterdiv8di((void *)0, (char)bits, (t1_q8)a, (t1_q8)v, 1);
}
#else
#if T1_ISA == 1
/* A branch on the mask would cost more than a masked load, with 16 registers to spill at it; masked stores are
 * slow. */
typedef int t1_i8 __attribute__((vector_size(32)));
typedef long long t1_q4 __attribute__((vector_size(32)));
T1_INLINE pu32 t1_maskload_u32(uint32_t bits, const void *p)
{
    if (__builtin_constant_p(bits) && bits == T1_ALL32)
        return t1_load_u32(p);
    return (pu32)__builtin_ia32_maskloadd256((const void *)p, (t1_i8)t1_lanes32(bits));
}
T1_INLINE pu64 t1_maskload_u64(uint32_t bits, const void *p)
{
    if (__builtin_constant_p(bits) && bits == T1_ALL64)
        return t1_load_u64(p);
    return (pu64)__builtin_ia32_maskloadq256((const void *)p, (t1_q4)t1_lanes64(bits));
}
T1_INLINE void t1_maskstore_u32(uint32_t bits, void *p, pu32 v)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        t1_store_u32(p, v);
    else
        __builtin_ia32_maskstored256((void *)p, (t1_i8)t1_lanes32(bits), (t1_i8)v);
}
T1_INLINE void t1_maskstore_u64(uint32_t bits, void *p, pu64 v)
{
    if (__builtin_expect(bits == T1_ALL64, 1))
        t1_store_u64(p, v);
    else
        __builtin_ia32_maskstoreq256((void *)p, (t1_q4)t1_lanes64(bits), (t1_q4)v);
}
#if defined(__clang__)
#define T1_GATHERD __builtin_ia32_gatherd_d256
#else
#define T1_GATHERD __builtin_ia32_gathersiv8si
#endif
#define t1_gather_u32(bits, base, idx, scale) \
    ((pu32)T1_GATHERD((t1_i8){0}, (const void *)(base), (t1_i8)(idx), (t1_i8)t1_lanes32(bits), scale))
#else
T1_INLINE pu32 t1_maskload_u32(uint32_t bits, const void *p)
{
    if (bits == T1_ALL32)
        return t1_load_u32(p);
    T1_LANES_LOAD(pu32, uint32_t, T1_N, ((const t1_u32 *)p)[l])
}
T1_INLINE pu64 t1_maskload_u64(uint32_t bits, const void *p)
{
    if (bits == T1_ALL64)
        return t1_load_u64(p);
    T1_LANES_LOAD(pu64, uint64_t, T1_H, ((const t1_u64 *)p)[l])
}
T1_INLINE void t1_maskstore_u32(uint32_t bits, void *p, pu32 v)
{
    if (bits == T1_ALL32)
        t1_store_u32(p, v);
    else
        T1_FOR_LANES(l, bits)((t1_u32 *)p)[l] = v[l];
}
T1_INLINE void t1_maskstore_u64(uint32_t bits, void *p, pu64 v)
{
    if (bits == T1_ALL64)
        t1_store_u64(p, v);
    else
        T1_FOR_LANES(l, bits)((t1_u64 *)p)[l] = v[l];
}
T1_INLINE pu32 t1_gather32_(uint32_t bits, const void *base, ps32 idx, int scale){
    T1_LANES_LOAD(pu32, uint32_t, T1_N, *(const t1_u32 *)((const char *)base + (int64_t)idx[l] * scale))}
#define t1_gather_u32(bits, base, idx, scale) t1_gather32_(bits, (const void *)(base), (ps32)(idx), scale)
#endif
T1_INLINE pu8 t1_maskbytes(uint32_t bits, const void *p)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        return *(const pu8_m *)p;
    T1_LANES_LOAD(pu8, uint8_t, T1_N, ((const t1_u8 *)p)[l])
}
T1_INLINE pu16 t1_maskwords(uint32_t bits, const void *p)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        return *(const pu16_m *)p;
    T1_LANES_LOAD(pu16, uint16_t, T1_N, ((const t1_u16 *)p)[l])
}
T1_INLINE void t1_maskstore_u8(uint32_t bits, void *p, pu32 v)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        t1_store_u8(p, v);
    else
        T1_FOR_LANES(l, bits)((t1_u8 *)p)[l] = (uint8_t)v[l];
}
T1_INLINE void t1_maskstore_u16(uint32_t bits, void *p, pu32 v)
{
    if (__builtin_expect(bits == T1_ALL32, 1))
        t1_store_u16(p, v);
    else
        T1_FOR_LANES(l, bits)((t1_u16 *)p)[l] = (uint16_t)v[l];
}
#define T1_AT_u32(n) *(const t1_u32 *)a_.e[n]
#define T1_AT_u64(n) *(const t1_u64 *)a_.e[n]
T1_INLINE pu32 t1_gather64_u32(uint32_t bits, pu64 lo, pu64 hi)
{
    T1_SPILL_POINTERS(lo, hi)
    return (pu32){T1_LIST32(T1_AT_u32)};
}
T1_INLINE pu64 t1_gather64_u64(uint32_t bits, pu64 a)
{
    union {
        pu64 v;
        uint64_t e[T1_H];
    } a_ = {a};
    if (T1_UNLIKELY(bits != T1_ALL64))
        a_.v = t1_safe64(bits, a);
    return (pu64){T1_LIST64(T1_AT_u64)};
}
#define t1_gather_u64(bits, base, idx, scale) \
    t1_gather64_u64(bits, (uint64_t)(base) + (t1_sext_u32(idx) << __builtin_ctz(scale)))
T1_SCATTERS void t1_scatter32_(uint32_t bits, char *base, ps32 idx, int scale, pu32 v)
{
    typedef t1_u32 T1_E_;
    T1_SPILL(i_, ps32, int32_t, T1_N, idx)
    T1_SPILL(x_, pu32, uint32_t, T1_N, v)
    T1_SCATTER(T1_ALL32, T1_LIST32, T1_PUT_INDEXED)
}
#define t1_scatter_u32(bits, base, idx, v, scale) t1_scatter32_(bits, (char *)(base), (ps32)(idx), scale, v)
T1_SCATTERS void t1_scatter64_(uint32_t bits, char *base, phs32 idx, int scale, pu64 v)
{
    typedef t1_u64 T1_E_;
    T1_SPILL(i_, phs32, int32_t, T1_H, idx)
    T1_SPILL(x_, pu64, uint64_t, T1_H, v)
    T1_SCATTER(T1_ALL64, T1_LIST64, T1_PUT_INDEXED)
}
#define t1_scatter_u64(bits, base, idx, v, scale) t1_scatter64_(bits, (char *)(base), (phs32)(idx), scale, v)
T1_SCATTERS void t1_scatter64_u32(uint32_t bits, pu64 lo, pu64 hi, pu32 v)
{
    typedef t1_u32 T1_E_;
    T1_SPILL_TWO(lo, hi)
    T1_SPILL(x_, pu32, uint32_t, T1_N, v)
    T1_SCATTER(T1_ALL32, T1_LIST32, T1_PUT_AT)
}
T1_SCATTERS void t1_scatter64_u64(uint32_t bits, pu64 a, pu64 v)
{
    typedef t1_u64 T1_E_;
    T1_SPILL(a_, pu64, uint64_t, T1_H, a)
    T1_SPILL(x_, pu64, uint64_t, T1_H, v)
    T1_SCATTER(T1_ALL64, T1_LIST64, T1_PUT_AT)
}
#endif

T1_INLINE pu32 t1_maskload_u8(uint32_t bits, const void *p) { return t1_wide_u8(t1_maskbytes(bits, p)); }
T1_INLINE pu32 t1_maskload_s8(uint32_t bits, const void *p) { return t1_wide_s8((ps8)t1_maskbytes(bits, p)); }
T1_INLINE pu32 t1_maskload_u16(uint32_t bits, const void *p) { return t1_wide_u16(t1_maskwords(bits, p)); }
T1_INLINE pu32 t1_maskload_s16(uint32_t bits, const void *p) { return t1_wide_s16((ps16)t1_maskwords(bits, p)); }

/* There are no gathers of narrow elements, and wider ones might leave the mapping. */
#define T1_AT_u8(n) (uint32_t) * (const t1_u8 *)a_.e[n]
#define T1_AT_s8(n) (uint32_t) * (const t1_s8 *)a_.e[n]
#define T1_AT_u16(n) (uint32_t) * (const t1_u16 *)a_.e[n]
#define T1_AT_s16(n) (uint32_t) * (const t1_s16 *)a_.e[n]
#if T1_ISA == 2
/* Out of the aligned word around each, which ends no page. */
T1_INLINE pu32 t1_words_around(uint32_t bits, pu64 lo, pu64 hi)
{
    return t1_gather64_u32(bits, lo & ~(uint64_t)3, hi & ~(uint64_t)3) >>
           (t1_join_u32(t1_trunc_u64(lo), t1_trunc_u64(hi)) << 3 & 24);
}
#define t1_cut_u8(x) ((x)&0xff)
#define t1_cut_s8(x) ((pu32)((ps32)((x) << 24) >> 24))
#define t1_cut_u16(x) ((x)&0xffff)
#define t1_cut_s16(x) ((pu32)((ps32)((x) << 16) >> 16))
#define T1_GATHER_NARROW(T) return t1_cut_##T(t1_words_around(bits, lo, hi))
#else
#define T1_GATHER_NARROW(T) \
    T1_SPILL_POINTERS(lo, hi) return (pu32) { T1_LIST32(T1_AT_##T) }
#endif
#define T1_NARROW(T) \
    T1_INLINE pu32 t1_gather64_##T(uint32_t bits, pu64 lo, pu64 hi) { T1_GATHER_NARROW(T); } \
    T1_INLINE pu32 t1_gather_##T##_(uint32_t bits, uint64_t base, pu32 idx, int shift) \
    { \
        return t1_gather64_##T(bits, base + (t1_sext_u32(t1_half0(idx)) << shift), \
                               base + (t1_sext_u32(t1_half1(idx)) << shift)); \
    }
#define T1_NARROW_STORE(T) \
    T1_SCATTERS void t1_scatter_##T##_(uint32_t bits, char *base, ps32 idx, int scale, pu32 v) \
    { \
        typedef t1_##T T1_E_; \
        T1_SPILL(i_, ps32, int32_t, T1_N, idx) \
        T1_SPILL(x_, pu32, uint32_t, T1_N, v) \
        T1_SCATTER(T1_ALL32, T1_LIST32, T1_PUT_INDEXED) \
    } \
    T1_SCATTERS void t1_scatter64_##T(uint32_t bits, pu64 lo, pu64 hi, pu32 v) \
    { \
        typedef t1_##T T1_E_; \
        T1_SPILL_TWO(lo, hi) \
        T1_SPILL(x_, pu32, uint32_t, T1_N, v) \
        T1_SCATTER(T1_ALL32, T1_LIST32, T1_PUT_AT) \
    }
T1_NARROW(u8)
T1_NARROW(s8)
T1_NARROW(u16)
T1_NARROW(s16)
T1_NARROW_STORE(u8)
T1_NARROW_STORE(u16)
#define t1_gather_u8(bits, base, idx, scale) t1_gather_u8_(bits, (uint64_t)(base), idx, __builtin_ctz(scale))
#define t1_gather_s8(bits, base, idx, scale) t1_gather_s8_(bits, (uint64_t)(base), idx, __builtin_ctz(scale))
#define t1_gather_u16(bits, base, idx, scale) t1_gather_u16_(bits, (uint64_t)(base), idx, __builtin_ctz(scale))
#define t1_gather_s16(bits, base, idx, scale) t1_gather_s16_(bits, (uint64_t)(base), idx, __builtin_ctz(scale))
#define t1_scatter_u8(bits, base, idx, v, scale) t1_scatter_u8_(bits, (char *)(base), (ps32)(idx), scale, v)
#define t1_scatter_u16(bits, base, idx, v, scale) t1_scatter_u16_(bits, (char *)(base), (ps32)(idx), scale, v)
