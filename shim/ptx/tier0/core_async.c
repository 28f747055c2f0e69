/* Tier 0 execution: cp.async, done when issued, and mbarrier objects. */
#include "ptx/tier0/tile.h"
#include "ptx/tier0/tools.h"

#include <string.h>

uint8_t *t0_shared_at(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t a, uint32_t size,
                      unsigned align)
{
    uint8_t *p = a < w->shared_size && size <= w->shared_size - a ? w->shared + a : t0_far_shared(w, a, size);
    if (!p && a >> 32) /* a generic address where one of shared memory belongs: devices take its low bits */
        p = t0_generic_shared(w, a, size);
    if (!p)
        t0_raise(w, i, T0_FAULT_SHARED, lane, a);
    if (a & (align - 1))
        t0_raise(w, i, T0_FAULT_MISALIGNED, lane, a);
    return p;
}

static void cp_async(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned size = 1u << (i->aux & LIR_CP_LOG2);
    w->at = i;
    if (size > 16)
        return;
    T0_FOR_LANES(l, w->l.mask)
    {
        uint64_t to = i->aux & LIR_CP_ADDR32 ? (uint32_t)(T0_U32(w, i->a)[l] + (uint32_t)i->imm)
                                             : T0_U64(w, i->a)[l] + (uint64_t)(int64_t)i->imm;
        uint64_t from = T0_U64(w, i->b)[l];
        unsigned n = i->aux & LIR_CP_PARTIAL ? T0_U32(w, i->c)[l] : size;
        uint8_t *p = t0_shared_at(w, i, l, to, size, size), bytes[16] = {0};
        n = n < size ? n : size;
        if (n && from & (size - 1))
            t0_raise(w, i, T0_FAULT_MISALIGNED, l, from);
        memcpy(bytes, (const void *)(uintptr_t)from, n);
        memcpy(p, bytes, size);
    }
}

/* The word of an mbarrier, whose form PTX leaves open: arrivals missing in 20 bits (PTX has counts up to 2^20 - 1),
 * arrivals of a phase in 20, bytes missing in 21, the phase in 3. */
enum { COUNT = 0xfffff, BYTES = 0x1fffff, PHASE = 61 };

/* Arrivals and bytes; a phase ends when none of both is missing. */
static uint64_t arrive(uint64_t word, uint64_t n, bool drop, uint32_t bytes)
{
    uint64_t left = word & COUNT, all = word >> 20 & COUNT, phase = word >> PHASE;
    uint64_t missing = ((word >> 40) + bytes) & BYTES;
    if (drop)
        all -= n < all ? n : all;
    left -= n < left ? n : left;
    if (!left && !missing) {
        left = all;
        phase++;
    }
    return left | all << 20 | missing << 40 | phase << PHASE;
}

void t0_barrier_told(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t address, uint64_t bytes)
{
    uint64_t *word = (uint64_t *)(void *)t0_shared_at(w, i, lane, address, 8, 8);
    *word = arrive(*word, 0, false, 0u - (uint32_t)bytes);
    t0_tools_heard(w, lane, address, T0_FETCHING);
}

void t0_barrier_arrived(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t address)
{
    uint64_t *word = (uint64_t *)(void *)t0_shared_at(w, i, lane, address, 8, 8);
    *word = arrive(*word, 1, false, 0);
    t0_tools_heard(w, lane, address, T0_MULTIPLYING);
}

static uint64_t shared_offset(struct t0_warp *w, uint32_t row, unsigned lane, bool addr32)
{
    return addr32 ? T0_U32(w, row)[lane] : T0_U64(w, row)[lane];
}

/* cp.reduce.async.bulk: the elements one after the other. */
static void reduce(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint8_t *p, const uint8_t *q,
                   uint32_t bytes)
{
    const unsigned op = (unsigned)i->imm & LIR_ATOM_OP;
    const unsigned type = (unsigned)i->imm >> LIR_ATOM_TYPE_SHIFT & 0x1f, size = t0_atomic_size(type);
    if (!size || size > 8)
        t0_raise(w, i, T0_FAULT_TRAP, lane, 0);
    for (uint32_t at = 0; at < bytes; at += size) {
        uint64_t v = 0;
        memcpy(&v, q + at, size);
        t0_atomic_one(p + at, type, op, v, 0);
    }
}

/* One copy of cp.async.bulk to a block, and the news of it to that block's mbarrier. */
static void copy_bulk(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t to, uint64_t barrier,
                      const uint8_t *q, uint32_t size)
{
    uint8_t *p = i->aux & LIR_BULK_TO_SHARED ? t0_shared_at(w, i, lane, to, size, 16) : (uint8_t *)(uintptr_t)to;
    if (i->imm)
        reduce(w, i, lane, p, q, size);
    else
        memmove(p, q, size);
    if (i->aux & LIR_BULK_BARRIER)
        t0_barrier_told(w, i, lane, barrier, size);
}

/* To the same place in each block of the mask. */
static void multicast(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t to, uint64_t barrier,
                      const uint8_t *q, uint32_t size)
{
    const uint64_t low = LIR_CLUSTER_STRIDE - 1;
    uint32_t mask = T0_U32(w, i->d)[lane] & 0xffff;
    if (i->aux & LIR_BULK_ZERO)
        mask &= (1u << t0_cluster_size(w->block->grid)) - 1;
    T0_FOR_LANES(rank, mask)
    {
        const uint64_t block = LIR_CLUSTER_FAR | (uint64_t)rank << LIR_CLUSTER_SHIFT;
        copy_bulk(w, i, lane, block | (to & low), block | (barrier & low), q, size);
    }
}

/* The answer of clusterlaunchcontrol: the index of the first block of a cluster that now never begins, and 1; zeros if
 * none was left. */
static void cancel_cluster(const struct t0_grid *g, uint32_t answer[4])
{
    uint64_t first;
    memset(answer, 0, 4 * sizeof *answer);
    if (g->cancel && g->cancel(&first)) {
        t0_block_index(g, first, answer);
        answer[3] = 1;
    }
}

/* st.bulk, and with an mbarrier clusterlaunchcontrol.try_cancel. */
static void zero_bulk(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    {
        const uint32_t size = T0_U32(w, i->c)[l];
        const uint64_t to = shared_offset(w, i->a, l, i->aux & LIR_BULK_TO32);
        if (i->aux & LIR_BULK_BARRIER) {
            const uint64_t barrier = shared_offset(w, i->e, l, i->aux & LIR_BULK_BARRIER32);
            uint32_t answer[4];
            if (to & 15 || size > sizeof answer)
                t0_raise(w, i, T0_FAULT_MISALIGNED, l, to);
            cancel_cluster(w->block->grid, answer);
            (i->aux & LIR_BULK_MULTICAST ? multicast : copy_bulk)(w, i, l, to, barrier, (const uint8_t *)answer, size);
        } else {
            if ((to | size) & 7)
                t0_raise(w, i, T0_FAULT_MISALIGNED, l, to);
            if (size)
                memset(t0_shared_at(w, i, l, to, size, 8), 0, size);
        }
    }
}

/* cp.async.bulk, done when issued. */
static void bulk(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned aux = i->aux;
    w->at = i;
    if (aux & LIR_BULK_ZERO) {
        zero_bulk(w, i);
        return;
    }
    T0_FOR_LANES(l, w->l.mask)
    {
        uint32_t size = T0_U32(w, i->c)[l];
        uint64_t to = shared_offset(w, i->a, l, aux & LIR_BULK_TO32);
        uint64_t from = shared_offset(w, i->b, l, aux & LIR_BULK_FROM32);
        uint64_t barrier = aux & LIR_BULK_BARRIER ? shared_offset(w, i->e, l, aux & LIR_BULK_BARRIER32) : 0;
        if (!size) /* CUB's merge then has any address */
            continue;
        if ((to | from | size) & 15)
            t0_raise(w, i, T0_FAULT_MISALIGNED, l, (to | size) & 15 ? to : from);
        const uint8_t *q = aux & LIR_BULK_FROM_SHARED ? t0_shared_at(w, i, l, from, size, 16)
                                                      : (uint8_t *)(uintptr_t)from;
        (aux & LIR_BULK_MULTICAST ? multicast : copy_bulk)(w, i, l, to, barrier, q, size);
    }
}

/* Operations on an mbarrier, lane after lane: pending arrivals, expected arrivals, pending bytes and the phase lie
 * in its 64 bits as `arrive` lays them out. No atomic is needed, since the threads of a block and the blocks of a
 * cluster take turns. */
static void mbarrier(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned kind = i->aux & LIR_MB_KIND;
    uint32_t done = 0;
    w->at = i;
    T0_FOR_LANES(l, w->l.mask)
    {
        if (kind == LIR_MB_PENDING) {
            T0_U32(w, i->d)[l] = T0_U64(w, i->b)[l] & COUNT;
            continue;
        }
        uint64_t a = i->aux & LIR_MEM_ADDR32 ? (uint32_t)(T0_U32(w, i->a)[l] + (uint32_t)i->imm)
                                             : T0_U64(w, i->a)[l] + (uint64_t)(int64_t)i->imm;
        uint64_t *p, word;
        if (i->aux & LIR_MEM_SHARED)
            p = (uint64_t *)(void *)t0_shared_at(w, i, l, a, 8, 8);
        else if (!(p = (uint64_t *)(void *)t0_generic_shared(w, a, 8)))
            t0_raise(w, i, T0_FAULT_SHARED, l, a);
        if (a & 7)
            t0_raise(w, i, T0_FAULT_MISALIGNED, l, a);
        word = *p;
        switch (kind) {
        case LIR_MB_INIT: {
            uint64_t n = T0_U32(w, i->b)[l] & COUNT;
            *p = n | n << 20;
            break;
        }
        case LIR_MB_ARRIVE:
        case LIR_MB_DROP:
            *p = arrive(word, T0_U32(w, i->b)[l], kind == LIR_MB_DROP, 0);
            T0_U64(w, i->d)[l] = word;
            break;
        case LIR_MB_EXPECT: *p = arrive(word, 0, false, T0_U32(w, i->b)[l]); break;
        case LIR_MB_ARRIVE_EXPECT:
            *p = arrive(word, 1, false, T0_U32(w, i->b)[l]);
            T0_U64(w, i->d)[l] = word;
            break;
        case LIR_MB_DROP_EXPECT:
            *p = arrive(word, 1, true, T0_U32(w, i->b)[l]);
            T0_U64(w, i->d)[l] = word;
            break;
        case LIR_MB_COMPLETE: *p = arrive(word, 0, false, 0u - T0_U32(w, i->b)[l]); break;
        case LIR_MB_INVAL: break; /* plain shared memory again */
        case LIR_MB_TEST: done |= (uint32_t)(word >> PHASE != T0_U64(w, i->b)[l] >> PHASE) << l; break;
        default: done |= (uint32_t)((word >> PHASE & 1) != (T0_U32(w, i->b)[l] & 1)) << l;
        }
    }
    if (kind == LIR_MB_TEST || kind == LIR_MB_TEST_PARITY)
        T0_PRED(w, i->d) = (T0_PRED(w, i->d) & ~w->l.mask) | done;
}

static void group(struct t0_warp *w, const struct lir_insn *i) /* copies are done when issued */
{
    (void)w;
    (void)i;
}

void t0_async_handlers(t0_handler *table[LIR_NOPS])
{
    table[LIR_CP_ASYNC] = cp_async;
    table[LIR_ASYNC_GROUP] = group;
    table[LIR_MBARRIER] = mbarrier;
    table[LIR_BULK] = bulk;
}
