/* Tier 1's prelude: where a thread and an address are, and accesses that other threads may watch. */
T1_INLINE void t1_tids(const struct t1_block *b, uint32_t warp, uint32_t tid[3][32])
{
    uint32_t at = warp * 32, x = at % b->ntid[0], rest = at / b->ntid[0];
    uint32_t y = rest % b->ntid[1], z = rest / b->ntid[1];
    for (uint32_t l = 0; l < 32; l++) {
        tid[0][l] = x;
        tid[1][l] = y;
        tid[2][l] = z;
        if (++x == b->ntid[0]) {
            x = 0;
            if (++y == b->ntid[1]) {
                y = 0;
                z++;
            }
        }
    }
}

/* space: enum ptx_space; cluster: of all blocks of the cluster. As tier 0's isspacep. */
T1_INLINE uint32_t t1_isspacep(const struct t1_block *b, int space, int cluster, uint64_t p)
{
    uint32_t any = (p - (uint64_t)b->cluster_shared) >> 24 < b->cluster_size;
    uint32_t shared = cluster ? any : (p - (uint64_t)b->shared) >> 24 == 0;
    uint32_t local = p - (uint64_t)b->local < b->local_stride * b->nwarps * 32;
    return space == 4     ? shared
           : space == 6   ? local
           : any || local ? 0
           : space == 2   ? b->services->parameter(b, p)
           : space == 5   ? b->services->constant(p)
                          : !b->services->constant(p);
}

/* Addresses of a cluster's shared memory, as ptx/lir/image.h has them: blocks lie 16 MB apart, an address of 32 bits
 * with the highest bit names one by its rank. Without branches, and of scalars as of pieces. */
#define T1_CLUSTER_BASE(b) ((uint64_t)(b)->cluster_shared)
#define T1_FAR(b, a) \
    ({ \
        __auto_type a_ = (a); \
        (uint64_t)(b)->shared + (a_ & 0x7fffffffull) + \
            ((0 - (a_ >> 31 & 1)) & (T1_CLUSTER_BASE(b) - (uint64_t)(b)->shared)); \
    })
#define T1_NEAR(b, a) \
    ({ \
        __auto_type own_ = (a) - (uint64_t)(b)->shared; \
        __auto_type far_ = 0 - (((own_ >> 24) | (0 - (own_ >> 24))) >> 63); \
        (own_ & ~far_) | ((((a)-T1_CLUSTER_BASE(b)) | 0x80000000ull) & far_); \
    })
#define T1_MAPA(b, a, rank) (T1_CLUSTER_BASE(b) + (((a)-T1_CLUSTER_BASE(b)) & 0xffffffull) + (((rank)&0x7f) << 24))
#define T1_MAPA_FAR(b, a, rank) (((a)&0xffffff) | (((rank)&0x7f) << 24) | 0x80000000u)
#define T1_RANK_OF(b, a) (((a)-T1_CLUSTER_BASE(b)) >> 24)
#define T1_FAR_RANK(b, a) \
    ({ \
        __auto_type a_ = (a); \
        ((a_ >> 24) & 0x7f & (0 - (a_ >> 31 & 1))) | ((b)->rank & ((a_ >> 31 & 1) - 1)); \
    })

/* One access of all bytes: status words that other blocks wait for. */
typedef uint64_t t1_v16 __attribute__((vector_size(16), may_alias));
T1_INLINE void t1_ldv_16(const void *p, void *to)
{
    *(t1_v16 *)__builtin_assume_aligned(to, 16) = *(const volatile t1_v16 *)p;
}
T1_INLINE void t1_stv_16(void *p, const void *from)
{
    *(volatile t1_v16 *)p = *(const t1_v16 *)__builtin_assume_aligned(from, 16);
}
#define T1_WHOLE(bytes, type, plain) \
    T1_INLINE void t1_ldv_##bytes(const void *p, void *to) { *(plain *)to = *(const volatile type *)p; } \
    T1_INLINE void t1_stv_##bytes(void *p, const void *from) { *(volatile type *)p = *(const plain *)from; }
T1_WHOLE(2, uint16_t, t1_u16)
T1_WHOLE(4, uint32_t, t1_u32)
T1_WHOLE(8, uint64_t, t1_u64)
