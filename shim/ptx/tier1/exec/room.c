/* Tier 1 execution: the memory that a block runs in, kept from block to block. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ptx/tier1/exec/object.h"
#include "sanitize.h"

enum { PAGE = 4096, STAGGER = 16 * 640 /* see T1_MAIN: where a warp's frames begin */ };
_Static_assert(T1_SHARED_SLACK == T0_ROOM_SLACK, "arenas are as wide as rooms");

static uint8_t *reserve(size_t size, int access)
{
    void *p = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void release(uint8_t **p, size_t *size)
{
    if (*p)
        munmap(*p, *size);
    *p = NULL;
    *size = 0;
}

static bool shared_room(struct t1_room *r, size_t want)
{
    want = (want + PAGE - 1) & ~(size_t)(PAGE - 1);
    if (!r->shared) {
        r->shared = t0_reserve_shared(T1_SHARED_BELOW, T1_SHARED_RANGE);
        if (!r->shared)
            return false;
    }
    if (want > r->shared_room) {
        if (mprotect(r->shared, want, PROT_READ | PROT_WRITE))
            return false;
        r->shared_room = want;
    }
    r->block.shared = r->block.cluster_shared = r->shared;
    return true;
}

static bool local_room(struct t1_room *r, size_t want)
{
    if (want <= r->local_room)
        return true;
    release(&r->block.local, &r->local_room);
    r->block.local = reserve(want, PROT_READ | PROT_WRITE);
    r->local_room = r->block.local ? want : 0;
    return r->block.local != NULL;
}

/* The lowest page of every stack is closed: what runs over its end faults. */
static bool guard(struct t1_room *r, uint32_t warps)
{
    for (; r->guarded < warps; r->guarded++)
        if (mprotect(r->block.stacks + r->guarded * r->block.stack_size, PAGE, PROT_NONE))
            return false;
    return true;
}

static bool stack_room(struct t1_room *r, uint32_t warps, uint64_t each)
{
    uint64_t slots = r->few_stacks ? warps : T0_MAX_WARPS;
    each = (each < T1_STACK_LEAST ? T1_STACK_LEAST : each) + STAGGER + PAGE;
    each = (each + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    if (each <= r->block.stack_size && warps * r->block.stack_size <= r->stack_room)
        return guard(r, warps);
    if (each < r->block.stack_size)
        each = r->block.stack_size;
    release(&r->block.stacks, &r->stack_room);
    r->block.stacks = reserve(slots * each, PROT_READ | PROT_WRITE);
    if (!r->block.stacks)
        return false;
    r->stack_room = slots * each;
    r->block.stack_size = each;
    r->guarded = 0;
    return guard(r, warps);
}

/* What stays the same for all blocks of a launch. */
bool t1_room_prepare(struct t1_room *r, const struct t1_object *o, const struct t0_grid *g, uint32_t smid,
                     uint8_t *arena)
{
    const struct lir_kernel_rec *rec = g->kernel->rec;
    struct t1_block *b = &r->block;
    b->params = g->params;
    b->externs = o->externs;
    memcpy(b->nctaid, g->grid, sizeof b->nctaid);
    memcpy(b->ntid, g->block, sizeof b->ntid);
    b->nthreads = g->block[0] * g->block[1] * g->block[2];
    b->nwarps = (b->nthreads + LIR_LANES - 1) / LIR_LANES;
    b->dynamic_shared = g->dynamic_shared;
    b->shared_size = t0_shared_size(rec->dynamic_offset + g->dynamic_shared);
    b->smid = smid;
    b->nsm = g->nsm;
    b->grid_id = g->grid_id;
    for (unsigned k = 0; k < 3; k++)
        b->cluster[k] = g->cluster[0] ? g->cluster[k] : 1;
    b->cluster_size = t0_cluster_size(g);
    b->explicit_cluster = g->cluster[0] != 0;
    b->cluster_shared = arena; /* the block's own follows from its rank */
    b->envreg12 = g->envreg12;
    b->graph_exec = g->graph_exec;
    b->local_stride = rec->local_size ? rec->local_size + 64 : 0;
    if (b->stacks)
        cumu_stack_left(b->stacks, r->stack_room);
    return (arena || shared_room(r, t0_shared_room(rec, g->dynamic_shared))) &&
           local_room(r, b->local_stride * b->nwarps * LIR_LANES) &&
           (!o->info->barriers || stack_room(r, b->nwarps, o->info->stack_size));
}

void t1_room_start(struct t1_room *r, const struct t0_grid *g, uint64_t block)
{
    struct t1_block *b = &r->block;
    b->rank = 0;
    if (b->cluster_size > 1) {
        b->rank = (uint32_t)(block % b->cluster_size);
        b->shared = b->cluster_shared + b->rank * LIR_CLUSTER_STRIDE;
    }
    if (g->kernel->rec->uses_tensor)
        t0_tensor_clear(b->shared);
    if (b->cluster_size == 1 && block <= UINT32_MAX && b->nctaid[1] == 1 && b->nctaid[2] == 1) { /* spares divisions */
        b->ctaid[0] = (uint32_t)block;
        b->ctaid[1] = b->ctaid[2] = 0;
        return;
    }
    t0_block_index(g, block, b->ctaid);
}

void t1_room_free(struct t1_room *r)
{
    if (r->shared)
        munmap(r->shared - T1_SHARED_BELOW, T1_SHARED_RANGE);
    release(&r->block.local, &r->local_room);
    release(&r->block.stacks, &r->stack_room);
}
