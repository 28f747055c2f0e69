/* Tier 0 execution: clusters. Which blocks form one, where their shared memory lies, and their barrier. All blocks of a
 * cluster are resident on one worker, so that nothing here is atomic. */
#include "ptx/tier0/tools.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

/* ---- numbers --------------------------------------------------------------------------------- */

uint32_t t0_cluster_size(const struct t0_grid *g)
{
    return g->cluster[0] ? g->cluster[0] * g->cluster[1] * g->cluster[2] : 1;
}

static void split(uint64_t number, uint64_t nx, uint64_t ny, uint32_t out[3])
{
    out[0] = (uint32_t)(number % nx);
    out[1] = (uint32_t)(number / nx % ny);
    out[2] = (uint32_t)(number / nx / ny);
}

void t0_block_index(const struct t0_grid *g, uint64_t number, uint32_t index[3])
{
    const uint32_t *n = g->cluster, size = t0_cluster_size(g);
    uint32_t rank[3];
    if (size == 1) {
        split(number, g->grid[0], g->grid[1], index);
        return;
    }
    split(number % size, n[0], n[1], rank);
    split(number / size, g->grid[0] / n[0], g->grid[1] / n[1], index);
    for (unsigned k = 0; k < 3; k++)
        index[k] = index[k] * n[k] + rank[k];
}

uint64_t t0_block_number(const struct t0_grid *g, const uint32_t index[3])
{
    const uint64_t x = g->grid[0], y = g->grid[1];
    const uint32_t *n = g->cluster, size = t0_cluster_size(g);
    if (size == 1)
        return index[0] + x * (index[1] + y * index[2]);
    const uint64_t cluster = index[0] / n[0] + x / n[0] * (index[1] / n[1] + y / n[1] * (index[2] / n[2]));
    return cluster * size + index[0] % n[0] + n[0] * (index[1] % n[1] + n[1] * (index[2] % n[2]));
}

uint32_t t0_cluster_rank(const struct t0_grid *g, const uint32_t index[3])
{
    const uint32_t *n = g->cluster;
    return t0_cluster_size(g) == 1 ? 0 : index[0] % n[0] + n[0] * (index[1] % n[1] + n[1] * (index[2] % n[2]));
}

/* ---- shared memory --------------------------------------------------------------------------- */

/* Tier 1 does not check addresses: whatever 32 bits reach from a block's shared memory, in either direction, is
 * reserved and, but for the blocks' own memory, not accessible. */
#define BELOW (((size_t)2 << 30) + T0_ROOM_SLACK)
#define RANGE (BELOW + LIR_CLUSTER_MAX * LIR_CLUSTER_STRIDE + ((size_t)4 << 30) + T0_ROOM_SLACK)

struct t0_arena { /* of one resident cluster */
    uint8_t *base;
    size_t open[LIR_CLUSTER_MAX]; /* bytes of each block that are accessible */
};

/* Programs take a place in shared memory from the low bits of its generic address (ThunderKittens, for matrix
 * descriptors), so that the windows begin at multiples of their size. */
uint8_t *t0_reserve_shared(size_t below, size_t range)
{
    const size_t align = LIR_CLUSTER_STRIDE, most = range + align;
    uint8_t *p = mmap(NULL, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    const size_t spare = (0 - (uintptr_t)(p + below)) & (align - 1);
    if (spare)
        munmap(p, spare);
    munmap(p + spare + range, align - spare);
    return p + spare + below;
}

static bool open_memory(struct t0_arena *a, uint32_t blocks, size_t want)
{
    if (!a->base && !(a->base = t0_reserve_shared(BELOW, RANGE)))
        return false;
    want = (want + PAGE - 1) & ~(size_t)(PAGE - 1);
    for (uint32_t k = 0; k < blocks; k++) {
        if (want <= a->open[k])
            continue;
        if (mprotect(a->base + k * LIR_CLUSTER_STRIDE, want, PROT_READ | PROT_WRITE))
            return false;
        a->open[k] = want;
    }
    for (uint32_t k = blocks; k < LIR_CLUSTER_MAX; k++) /* of a larger cluster before: no rank of this one */
        if (a->open[k] && !mprotect(a->base + k * LIR_CLUSTER_STRIDE, a->open[k], PROT_NONE))
            a->open[k] = 0;
    return true;
}

bool t0_arenas_prepare(struct t0_worker *w, const struct t0_grid *g, uint64_t count)
{
    const uint32_t size = t0_cluster_size(g);
    const uint64_t clusters = count / size;
    if (clusters > w->narena) {
        struct t0_arena *more = realloc(w->arena, clusters * sizeof *more);
        if (!more)
            return false;
        memset(more + w->narena, 0, (clusters - w->narena) * sizeof *more);
        w->arena = more;
        w->narena = clusters;
    }
    const size_t want = t0_shared_room(g->kernel->rec, g->dynamic_shared);
    for (uint64_t k = 0; k < clusters; k++)
        if (!open_memory(&w->arena[k], size, want))
            return false;
    return true;
}

uint8_t *t0_arena_base(const struct t0_worker *w, uint64_t cluster) { return w->arena[cluster].base; }

bool t0_arena_holds(const struct t0_worker *w, const void *p)
{
    for (uint64_t k = 0; k < w->narena; k++)
        if (w->arena[k].base && (size_t)((const uint8_t *)p - (w->arena[k].base - BELOW)) < RANGE)
            return true;
    return false;
}

void t0_arenas_free(struct t0_worker *w)
{
    for (uint64_t k = 0; k < w->narena; k++)
        if (w->arena[k].base)
            munmap(w->arena[k].base - BELOW, RANGE);
    free(w->arena);
}

/* ---- addresses ------------------------------------------------------------------------------- */

uint8_t *t0_far_shared(const struct t0_warp *w, uint64_t a, uint64_t size)
{
    const struct t0_cluster *c = w->block->cluster;
    const uint64_t rank = a >> LIR_CLUSTER_SHIFT & LIR_CLUSTER_RANK, offset = a & (LIR_CLUSTER_STRIDE - 1);
    if (a >> 31 != 1 || rank >= c->size || size > w->shared_size || offset > w->shared_size - size)
        return NULL;
    return c->base + rank * LIR_CLUSTER_STRIDE + offset;
}

/* The block of the cluster whose shared memory holds a generic address, and the offset there; false: none does. */
static bool find_owner(const struct t0_warp *w, uint64_t a, uint32_t *rank, uint64_t *offset)
{
    const struct t0_cluster *c = w->block->cluster;
    const uint64_t at = a - (uint64_t)(uintptr_t)c->base;
    *rank = (uint32_t)(at >> LIR_CLUSTER_SHIFT);
    *offset = at & (LIR_CLUSTER_STRIDE - 1);
    return at >> LIR_CLUSTER_SHIFT < c->size;
}

uint8_t *t0_generic_shared(const struct t0_warp *w, uint64_t a, uint64_t size)
{
    uint64_t offset;
    uint32_t rank;
    if (!find_owner(w, a, &rank, &offset) || size > w->shared_size || offset > w->shared_size - size)
        return NULL;
    return (uint8_t *)(uintptr_t)a;
}

static uint32_t own_rank(const struct t0_warp *w)
{
    return (uint32_t)((uint64_t)(w->shared - w->block->cluster->base) >> LIR_CLUSTER_SHIFT);
}

static bool is_far(uint64_t a) { return a >> 31 == 1; }

static void mapa(struct t0_warp *w, const struct lir_insn *i)
{
    const uint64_t base = (uint64_t)(uintptr_t)w->block->cluster->base, low = LIR_CLUSTER_STRIDE - 1;
    T0_FOR_LANES(l, w->l.mask)
    {
        const uint64_t rank = T0_U32(w, i->b)[l] & LIR_CLUSTER_RANK;
        if (i->aux & LIR_MEM_ADDR32)
            T0_U32(w, i->d)[l] = (uint32_t)(LIR_CLUSTER_FAR | rank << LIR_CLUSTER_SHIFT | (T0_U32(w, i->a)[l] & low));
        else if (i->aux & LIR_MEM_SHARED)
            T0_U64(w, i->d)[l] = LIR_CLUSTER_FAR | rank << LIR_CLUSTER_SHIFT | (T0_U64(w, i->a)[l] & low);
        else
            T0_U64(w, i->d)[l] = base + (rank << LIR_CLUSTER_SHIFT) + ((T0_U64(w, i->a)[l] - base) & low);
    }
}

static void ctarank(struct t0_warp *w, const struct lir_insn *i)
{
    const uint64_t base = (uint64_t)(uintptr_t)w->block->cluster->base;
    T0_FOR_LANES(l, w->l.mask)
    {
        const uint64_t a = i->aux & LIR_MEM_ADDR32 ? T0_U32(w, i->a)[l] : T0_U64(w, i->a)[l];
        uint64_t rank = a - base;
        if (i->aux & LIR_MEM_SHARED)
            rank = is_far(a) ? (a & ~LIR_CLUSTER_FAR) : (uint64_t)own_rank(w) << LIR_CLUSTER_SHIFT;
        T0_U32(w, i->d)[l] = (uint32_t)(rank >> LIR_CLUSTER_SHIFT);
    }
}

/* Generic addresses of another block's memory and back: shared::cluster addresses that mapa gave. */
static void cvta_shared(struct t0_warp *w, const struct lir_insn *i)
{
    const uint64_t own = (uint64_t)(uintptr_t)w->shared, base = (uint64_t)(uintptr_t)w->block->cluster->base;
    T0_FOR_LANES(l, w->l.mask)
    {
        const uint64_t a = i->aux & 1 ? T0_U32(w, i->a)[l] : T0_U64(w, i->a)[l];
        T0_U64(w, i->d)[l] = is_far(a) ? base + (a & ~(uint64_t)LIR_CLUSTER_FAR) : own + a;
    }
}

static void cvta_to_shared(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    {
        uint64_t a = T0_U64(w, i->a)[l], offset, v = a - (uint64_t)(uintptr_t)w->shared;
        uint32_t rank;
        if (v >> LIR_CLUSTER_SHIFT && find_owner(w, a, &rank, &offset))
            v = LIR_CLUSTER_FAR | (uint64_t)rank << LIR_CLUSTER_SHIFT | offset;
        if (i->aux & 1)
            T0_U32(w, i->d)[l] = (uint32_t)v;
        else
            T0_U64(w, i->d)[l] = v;
    }
}

/* The windows of .const, .local and .shared are no global memory; that of .param is (PTX ISA, isspacep). */
static void isspacep(struct t0_warp *w, const struct lir_insn *i)
{
    const struct t0_block *b = w->block;
    uint32_t result = 0;
    T0_FOR_LANES(l, w->l.mask)
    {
        const uint8_t *p = (const uint8_t *)(uintptr_t)T0_U64(w, i->a)[l];
        uint64_t offset;
        uint32_t rank;
        bool cluster = find_owner(w, (uint64_t)(uintptr_t)p, &rank, &offset) && offset < w->shared_size;
        bool shared = cluster && (i->aux & 1 || rank == own_rank(w));
        bool local = b->local && p >= b->local && p < b->local + b->local_room;
        bool param = p >= w->params && p < w->params + b->rec->param_size;
        bool in = i->imm == PTX_SP_SHARED  ? shared
                  : i->imm == PTX_SP_LOCAL ? local
                  : i->imm == PTX_SP_PARAM ? param
                  : i->imm == PTX_SP_CONST ? t0_constant((uint64_t)(uintptr_t)p)
                                           : !cluster && !local && !t0_constant((uint64_t)(uintptr_t)p);
        result |= (uint32_t)in << l;
    }
    T0_PRED(w, i->d) = (T0_PRED(w, i->d) & ~w->l.mask) | result;
}

void t0_cluster_handlers(t0_handler *table[LIR_NOPS])
{
    table[LIR_MAPA] = mapa;
    table[LIR_CTARANK] = ctarank;
    table[LIR_CVTA_SHARED] = cvta_shared;
    table[LIR_CVTA_TO_SHARED] = cvta_to_shared;
    table[LIR_ISSPACEP] = isspacep;
}

/* ---- barrier --------------------------------------------------------------------------------- */

/* Every lane that has not exited has arrived. */
static bool complete(const struct t0_cluster *c)
{
    uint32_t alive = 0;
    for (uint32_t n = 0; n < c->size; n++)
        alive += c->block[n]->alive;
    if (c->arrivals < alive)
        return false;
    for (uint32_t n = 0; n < c->size; n++)
        for (uint32_t k = 0; k < c->block[n]->nwarp; k++)
            if (~(c->block[n]->barrier[LIR_BARRIER_CLUSTER].arrived[k] | c->block[n]->warp[k].dead))
                return false;
    return true;
}

static void release(struct t0_cluster *c)
{
    c->arrivals = 0;
    for (uint32_t n = 0; n < c->size; n++) {
        struct t0_block *b = c->block[n];
        for (uint32_t k = 0; k < b->nwarp; k++) {
            struct t0_warp *w = &b->warp[k];
            b->barrier[LIR_BARRIER_CLUSTER].arrived[k] = 0;
            for (uint32_t s = 0; s < w->nsplit; s++) {
                if (w->split[s].state != T0_WAIT_BARRIER || w->split[s].want != LIR_BARRIER_CLUSTER)
                    continue;
                if (b->grid->watch)
                    t0_tools_waited(w, w->split[s].mask);
                w->split[s].state = T0_READY;
                w->split[s].pc++;
            }
        }
    }
}

/* A lane's arrival stands until the phase ends, so a lane that waits and whose arrival stands has to wait, and for one
 * whose arrival does not the phase is over. */
bool t0_cluster_arrive(struct t0_warp *w, bool waits)
{
    struct t0_cluster *c = w->block->cluster;
    uint32_t *arrived = &w->block->barrier[LIR_BARRIER_CLUSTER].arrived[w->index];
    const bool watched = w->block->grid->watch;
    if (waits && watched && !(*arrived & w->l.mask))
        t0_tools_waited(w, w->l.mask);
    if (waits)
        return !(*arrived & w->l.mask);
    if (watched)
        t0_tools_arrive(w, NULL, LIR_BARRIER_CLUSTER);
    *arrived |= w->l.mask;
    w->block->barrier[LIR_BARRIER_CLUSTER].in_use = true; /* to be cleared for the next block */
    c->arrivals++;
    if (complete(c))
        release(c);
    return true;
}

void t0_cluster_exited(struct t0_cluster *c)
{
    if (c->arrivals && complete(c))
        release(c);
}
