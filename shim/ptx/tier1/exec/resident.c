/* Tier 1 execution: blocks of a cooperative launch or a cluster, resident. Each has a stack and a room of its own; a
 * spin loop that has waited a little asks whether to stop, and that is where the next block of the
 * thread goes on. */
#undef _FORTIFY_SOURCE /* its longjmp takes a jump from a block's stack for an error */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/tier0/stack.h"
#include "ptx/tier1/exec/object.h"

enum {
    PATIENCE = 3, /* turns of a spin loop, less one: what it waits for is most likely in another block */
    ROUNDS = 8    /* times that all blocks have spun until another thread may have the CPU */
};

struct t1_resident {
    struct t1_room room;
    void *sp;       /* where it was left */
    uint8_t *stack; /* its lowest page is closed */
    size_t stack_size;
    uint64_t index;           /* of the block */
    struct t1_resident *next; /* of those that are not done: a ring */
    struct t1_resident *prev;
    struct launch *launch;
    struct t1_cluster cluster; /* of rank 0: its cluster's barrier */
};

struct launch {
    struct t1_worker *t;
    const struct t1_object *o;
    uint64_t first, count;
    uint32_t rounds;
    void *home; /* the worker's own stack */
};

/* A block's first frame. */
static _Noreturn void run_resident(void *arg)
{
    struct t1_resident *r = arg;
    struct launch *l = r->launch;
    l->o->run(&r->room.block, 1);
    if (r->next == r) {
        t0_stack_switch(&r->sp, l->home);
    } else {
        r->next->prev = r->prev;
        r->prev->next = r->next;
        l->t->now = &r->next->room;
        t0_stack_switch(&r->sp, r->next->sp);
    }
    __builtin_unreachable();
}

bool t1_resident_stopped(struct t1_block *b)
{
    struct t1_resident *r = (struct t1_resident *)(void *)b; /* the first member of its first member */
    struct t1_resident *next = r->next;
    struct launch *l = r->launch;
    if (next->index <= r->index && ++l->rounds % ROUNDS == 0) { /* what they wait for may run elsewhere */
        struct t0_rest none = {0, 0};
        if (l->t->grid->yield)
            (void)l->t->grid->yield(&none);
        else
            sched_yield();
    }
    if (next != r) {
        l->t->now = &next->room;
        t0_stack_switch(&r->sp, next->sp);
    }
    return t1_stopped(l->t);
}

static void run_all(void *arg)
{
    struct launch *l = arg;
    struct t1_resident *all = l->t->resident;
    l->t->now = &all->room;
    t0_stack_switch(&l->home, all->sp);
}

/* ---- preparation ----------------------------------------------------------------------------- */

static bool grow(struct t1_worker *t, uint64_t count)
{
    if (count <= t->nresident)
        return true;
    struct t1_resident *more = realloc(t->resident, count * sizeof *more);
    if (!more)
        return false;
    memset(more + t->nresident, 0, (count - t->nresident) * sizeof *more);
    t->resident = more;
    t->nresident = count;
    return true;
}

static bool stack_of(struct t1_resident *r, size_t want)
{
    want = want < T1_STACK_LEAST ? T1_STACK_LEAST : want;
    if (want < r->stack_size)
        return true;
    if (r->stack)
        t0_stack_unmap(r->stack, r->stack_size);
    r->stack = t0_stack_map(&want);
    r->stack_size = r->stack ? want : 0;
    return r->stack != NULL;
}

/* Makes all blocks of a cooperative launch (or of several clusters) resident: each gets a stack and is linked into a
 * ring, in which a worker goes round whenever a block waits. */
static bool prepare(struct launch *l, const struct t0_grid *g)
{
    struct t1_worker *t = l->t;
    const uint32_t size = t0_cluster_size(g);
    if (l->count > UINT32_MAX || !grow(t, l->count) || (size > 1 && !t0_arenas_prepare(t->owner, g, l->count)))
        return false;
    for (uint64_t k = 0; k < l->count; k++) {
        struct t1_resident *r = &t->resident[k];
        r->room.few_stacks = true;
        if (!t1_room_prepare(&r->room, l->o, g, t->owner->smid, size > 1 ? t0_arena_base(t->owner, k / size) : NULL) ||
            !stack_of(r, (size_t)l->o->info->stack_size))
            return false;
        t1_room_start(&r->room, g, l->first + k);
        r->cluster = (struct t1_cluster){.live = size * r->room.block.nwarps};
        r->room.block.cluster_barrier = &t->resident[k - k % size].cluster;
        r->room.block.worker = t;
        r->room.block.services = &t1_resident_services;
        r->room.block.patience = PATIENCE;
        r->launch = l;
        r->index = l->first + k;
        r->next = &t->resident[k + 1 < l->count ? k + 1 : 0];
        r->prev = &t->resident[k ? k - 1 : l->count - 1];
        r->sp = t0_stack_start(r->stack, r->stack_size, run_resident, r);
    }
    return true;
}

enum t0_fault_kind t1_blocks_run_resident(struct t0_worker *w, const struct t1_object *o, const struct t0_grid *g,
                                          uint64_t first, uint64_t count, struct t0_fault *fault)
{
    struct t1_worker *t = t1_worker_of(w);
    struct launch l = {t, o, first, count, 0, NULL};
    if (!count)
        return T0_OK;
    if (!t || !prepare(&l, g)) /* no memory: tier 0 needs less */
        return t0_blocks_run_resident(w, g, first, count, fault);
    t->grid = g;
    return t1_guarded(t, run_all, &l) ? T0_OK : t1_fault_tell(t, g, fault);
}

void t1_resident_free(struct t1_worker *t)
{
    for (uint64_t k = 0; k < t->nresident; k++) {
        t1_room_free(&t->resident[k].room);
        if (t->resident[k].stack)
            t0_stack_unmap(t->resident[k].stack, t->resident[k].stack_size);
    }
    free(t->resident);
}
