/* Racecheck: vector clocks of the threads of a cluster, and what is read of them at each access. */
#ifndef CUMU_PTX_TIER0_RACE_CLOCK_H
#define CUMU_PTX_TIER0_RACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx/lir/image.h"

/* A stamp is a thread's slot and its clock. Slots from `threads` on are those of what threads start:
 * asynchronous copies, then reads by products of tiles, then loads and stores of tensor memory. */
struct race_stamp {
    uint32_t clock; /* 0: none */
    uint32_t slot;
};

/* What each thread knows of the others' clocks. Whenever all of them have met, all clocks are set to `floor`: what has
 * an earlier one is over for everybody. A warp is even until something orders single lanes of it: then its lanes still
 * have one clock, and know of this interval no more than what their own warp did before `since`. What a lane of it
 * releases takes all of them to another clock. */
struct race_vector { /* of clocks, one a slot */
    uint32_t refs;
    uint64_t version; /* changes with its contents, unique */
    struct race_vector *next_free;
    uint32_t clock[];
};
struct race_warp {
    uint32_t since;
    bool uneven;
    bool released; /* so that others may know what it has done since all met */
};
struct race_clocks {
    uint32_t threads, slots, barriers;
    uint32_t alive; /* threads that have not exited */
    uint32_t floor;
    struct race_warp *warp;
    uint64_t versions;
    uint32_t *clock;              /* of each slot, from 1 */
    struct race_vector **know;    /* of each thread; shared */
    uint64_t *seen;               /* version of what each thread acquired last */
    struct race_vector **arrived; /* of each barrier: what threads that did not wait knew; NULL: none */
    bool arrivals;                /* whether there was one in this block */
    struct race_vector *gone; /* what threads that exited knew, but for those in `exited`, which have done so of late */
    uint64_t gone_taken;
    uint32_t *exited, exits;
    struct race_vector *spare;
    struct race_object *object; /* open addressing, a power of two of them */
    uint32_t objects, objects_room;
};

struct race_clocks *race_clocks_new(uint32_t threads, uint32_t slots, uint32_t barriers);
void race_clocks_free(struct race_clocks *c);
/* A new block of `alive` threads: all that was is ordered before all that comes. */
bool race_clocks_begin(struct race_clocks *c, uint32_t alive);
static inline struct race_stamp race_now(const struct race_clocks *c, uint32_t slot)
{
    return (struct race_stamp){c->clock[slot], slot};
}
/* Whether `thread` knows that what has the stamp is over. */
static inline bool race_is_ordered(const struct race_clocks *c, struct race_stamp s, uint32_t thread)
{
    if (s.slot == thread || (s.clock < c->floor && s.slot < c->threads))
        return true;
    const struct race_warp *w = &c->warp[thread / LIR_LANES];
    if (!w->uneven && s.slot < c->threads)
        return s.slot / LIR_LANES == thread / LIR_LANES && s.clock < w->since;
    return c->know[thread]->clock[s.slot] >= s.clock;
}
static inline bool race_is_even(const struct race_clocks *c, uint32_t thread)
{
    return !c->warp[thread / LIR_LANES].uneven;
}

/* What orders. False: memory ran out. `thread` is a slot, an `object` any number that names it. */
bool race_meet(struct race_clocks *c, const uint32_t *thread, uint32_t count, bool with_gone, uint32_t barrier);
bool race_meet_warp(struct race_clocks *c, uint32_t first); /* the same of all lanes of a warp, at no barrier */
bool race_meet_all(struct race_clocks *c); /* every thread of them; where nothing is copied asynchronously */
bool race_arrive(struct race_clocks *c, uint32_t thread, uint32_t barrier); /* at a barrier, which `meet` takes up */
/* A warpgroup's threads are at wgmma.fence or wait_group: they learn of each other which products are over (their slots
 * are from `products` on, if there are any), and their next products know what all of them know (race_products_know).
 * What they do themselves is ordered by none of it. */
bool race_meet_products(struct race_clocks *c, const uint32_t *thread, uint32_t count, uint32_t products,
                        uint32_t barrier);
static inline bool race_products_know(const struct race_clocks *c, struct race_stamp s, uint32_t barrier)
{
    return c->arrived[barrier] && c->arrived[barrier]->clock[s.slot] >= s.clock;
}
void race_exit(struct race_clocks *c, uint32_t thread);
static inline bool race_is_unknown(const struct race_clocks *c, uint32_t thread) /* even, and nobody may know */
{
    const struct race_warp *w = &c->warp[thread / LIR_LANES];
    return !w->uneven && !w->released;
}
bool race_release(struct race_clocks *c, uint32_t thread, uint64_t object);
bool race_acquire(struct race_clocks *c, uint32_t thread, uint64_t object);
bool race_is_object(const struct race_clocks *c, uint64_t object);
/* Slots of what threads do asynchronously: what was done so far is a group; the thread waits for all groups but the
 * last ones; what was done so far releases. */
void race_commit(struct race_clocks *c, uint32_t slot);
bool race_wait(struct race_clocks *c, uint32_t thread, uint32_t slot, uint32_t pending);
bool race_async_release(struct race_clocks *c, uint32_t thread, uint32_t slot, uint64_t object);
enum { RACE_NO_BARRIER = UINT32_MAX };

#endif
