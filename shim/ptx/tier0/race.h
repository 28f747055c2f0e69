/* Racecheck: accesses of one word by two threads that nothing orders, one of which writes. "Orders" is happens-before
 * by vector clocks, as in FastTrack (Flanagan, Freund 2009): an access is an epoch, one clock of one thread, and only
 * what synchronises handles whole vectors. Shared memory is held to the threads of a cluster (race.c, race_clock.c),
 * global memory to those and to the other blocks of the launch (race_global.c), and to the launches, copies and fills
 * of other streams (race_history.c). All err on the side of silence: atomics and volatile accesses order whatever uses
 * the same word, collectives order their lanes. race_report.c tells what was found. */
#ifndef CUMU_PTX_TIER0_RACE_H
#define CUMU_PTX_TIER0_RACE_H

#include <pthread.h>

#include "ptx/tier0/race_clock.h"
#include "ptx/tier0/race_event.h"
#include "ptx/tier0/tools.h"

/* ---- a launch -------------------------------------------------------------------------------- */

struct race_place { /* of one access */
    uint32_t pc, thread;
    uint64_t block; /* number in the grid */
    uint8_t kind;   /* enum t0_access_kind */
    uint32_t op;    /* 0: the launch itself; else another one, which race_history.c knows */
};
struct race_hazard {
    struct race_place a, b; /* the first pair that was seen; a happened first, or writes where b reads */
    uint64_t count;         /* bytes */
    bool error;             /* not between lanes of a warp, and no store that leaves what is there and a read */
    bool same;              /* both write, and the same value */
    bool global, tensor;    /* neither: shared memory */
};
/* race_report.c: enters hazards of some bytes. */
void t0_race_found(struct t0_race *r, const struct race_hazard *h);

/* ---- a cluster, or a block without one: on one thread of the host ------------------------------- */

enum { RACE_WATCHED = 4, RACE_PAGES_LOG2 = 9, RACE_PAGES = 1 << RACE_PAGES_LOG2 };
struct race_watched {
    uint64_t object[RACE_WATCHED];
    uint32_t count;
};
struct race_block {
    uint64_t serial;              /* of the kernel that it was made for */
    uint32_t blocks;              /* of the cluster */
    uint32_t per_block;           /* slots of a block: threads up to a whole warp */
    uint32_t threads;             /* of all blocks */
    uint32_t slots;               /* as many as threads, and of each kind of enum t0_async that the kernel has */
    uint32_t first[T0_ASYNCS];    /* slot of it, T0_AT_ONCE's where the kernel has none */
    uint32_t words;               /* of shared memory of one block */
    uint64_t acquired;            /* race_global.c: the last release of another block that this one knows of */
    bool fenced;                  /* the same: a fence has been made, plain stores may be flags */
    uint64_t watched;             /* the same: what relaxed loads have seen, which a fence makes known */
    struct race_watched *pending; /* of each thread: objects it has read so, NULL: none has */
    bool listens;                 /* some instruction may acquire from words of shared memory */
    bool broken;                  /* memory ran out: nothing is looked at */
    uint64_t pages_of;            /* the same: the launch whose pages these are, which were accessed of late */
    struct race_near {
        uint64_t number;
        struct race_page *page; /* NULL: none */
    } near[RACE_PAGES];
    struct race_noted noted[EVENTS_NOTED]; /* the same launch's */
    uint32_t begun;                        /* the clocks' floor when the block began */
    uint8_t slot_bits;                     /* that number a slot */
    struct race_clocks *clocks;
    struct race_cell *cell;   /* race_shared.c */
    struct race_word *word;   /* the same: in place of cells; NULL in clusters */
    uint64_t *tag, *run;      /* the same: of each word, and of half a warp's; NULL in clusters */
    struct race_piece *piece; /* race_tensor.c; NULL: the kernel has no tensor memory */
    struct race_cell *split;  /* fours of them, of words that are accessed in parts */
    uint32_t splits, splits_room;
};

/* race.c: the state of the warp's block or cluster, NULL: nothing is looked at; its threads. */
static inline struct race_block *race_state_of(const struct t0_warp *w)
{
    struct race_block *r = w->block->cluster->block[0]->race;
    return r && !r->broken ? r : NULL;
}
uint32_t race_rank_of(const struct t0_warp *w);
static inline uint32_t race_slot_of(const struct t0_warp *w, const struct race_block *r, unsigned lane)
{
    return (r->blocks > 1 ? race_rank_of(w) * r->per_block : 0) + w->index * LIR_LANES + lane;
}
/* The slot of what the thread starts of this kind; the thread's own, where its kernel starts none. */
static inline uint32_t race_async_slot(const struct race_block *r, uint32_t thread, enum t0_async what)
{
    return r->first[what] + thread;
}
uint32_t race_barrier_of(const struct t0_block *b, uint32_t id); /* its number in the cluster */
struct race_place race_place_of(const struct t0_warp *w, const struct race_block *r, uint32_t slot, uint32_t pc,
                                uint8_t kind);

bool race_pieces_new(struct race_block *r); /* race_tensor.c: the shadow of tensor memory; false: no memory */
/* race_shared.c: the shadow of `words` of shared memory in each block; false: no memory. */
bool race_cells_new(struct race_block *r);
void race_cells_free(struct race_block *r);

/* ---- race_global.c, race_visit.c ---------------------------------------------------------------------------- */

struct race_global;
struct race_global *race_global_new(uint64_t blocks); /* NULL: nothing is looked at */
void race_global_free(struct race_global *g);
struct race_access {
    uint64_t address;
    uint32_t size, pc, slot;
    uint8_t kind;
    bool strong;     /* atomic, volatile or with a scope: may race with its like */
    uint32_t silent; /* of a store: lanes that store what is there, a bit each */
    /* Whether the store writes what is there, or, if before is no NULL, what that lane of the same store does. */
    bool (*same)(const struct race_access *a, const unsigned *before);
    struct t0_warp *w;
    const struct lir_insn *i;
    unsigned lane;
};
/* One access of global memory by a block (of a cluster, its first block). */
void race_global_access(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                        const struct race_access *a);
/* The same by `lanes` lanes of an even warp, which lie side by side in memory; a is the first one's. */
void race_global_side_by_side(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                              const struct race_access *a, unsigned lanes);
/* The same by lanes of an even warp that lie anywhere; a is what lane 0's would be, but for its address. */
void race_global_lanes(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                       const struct race_access *a, const uint64_t *address, uint32_t lanes);
/* Of these lanes those whose plain reads change something. */
uint32_t race_global_unsettled(struct race_global *g, struct race_block *b, const uint64_t *address, uint32_t lanes,
                               uint32_t size);
/* At T0_RACE_ANYWHERE: a release that whoever acquires at any word knows, and what knows all releases. */
void race_global_release(struct race_global *g, uint64_t block, uint64_t address);
uint64_t race_global_seen(struct race_global *g, uint64_t address); /* the count of the last release there */
bool race_global_anywhere(const struct race_global *g);             /* whether somebody has released so */
/* The launch is over: what it did goes to race_history_add. */
void race_global_close(struct t0_race *r, struct race_global *g);

/* ---- race_history.c --------------------------------------------------------------------------- */

/* What one launch, copy or fill did to a piece of memory, by the kinds that race with each other. */
enum { RACE_CHUNK = 256 /* bytes */, RACE_CLASSES = 4 };
static inline unsigned race_class(enum t0_access_kind kind, bool strong)
{
    return (kind == T0_READS ? 0 : 1) + (strong ? 2 : 0); /* reads, writes, strong reads, strong writes */
}
struct race_first { /* the first access */
    uint64_t block;
    uint32_t pc;
    uint16_t thread;
    uint8_t kind;
};
struct race_use {
    uint64_t chunk;  /* number of it in the address space */
    uint8_t classes; /* a bit each; what is kept of the others is not set */
    struct race_part {
        struct race_first first;
        uint64_t bits[RACE_CHUNK / 64]; /* bytes */
    } part[RACE_CLASSES];
};
/* Holds uses to those of others before, and keeps them. */
void race_history_add(struct t0_race *r, const struct race_use *u, unsigned count);
/* Whether two operations are told as one: launches of one kernel are. */
bool race_history_alike(uint32_t a, uint32_t b);
bool race_history_place(uint32_t op, const struct race_place *from, struct t0_place *to, const char **copy);

struct t0_race { /* one launch */
    const struct t0_grid *grid;
    pthread_mutex_t lock;
    struct race_hazard *hazard; /* by places */
    uint32_t hazards, room;
    struct race_global *global;
    uint32_t op; /* number of the launch among all that touch memory; 0: unknown */
};

#endif
