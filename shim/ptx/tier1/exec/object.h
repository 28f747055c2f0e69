/* Tier 1 execution, internal: objects, and what a worker keeps to run them. */
#ifndef CUMU_PTX_T1_OBJECT_H
#define CUMU_PTX_T1_OBJECT_H

#include <sys/types.h>

#include "ptx/tier0/warp.h"
#include "ptx/tier1/tier1.h"

struct t1_object {
    void *handle; /* of dlopen */
    int fd;       /* of its file in memory, -1: closed; which file that is */
    dev_t device;
    ino_t inode;
    t1_entry *run;
    const struct t1_info *info;
    uint64_t serial;   /* unique in the process: what a worker remembers instead of the pointer */
    uint64_t *externs; /* addresses, in the image's order */
};

/* Shared addresses are 32 bits, and objects do not check them: whether they take them as signed or as
 * unsigned, all of them stay in this range, which has the arena at T1_SHARED_BELOW. */
#define T1_SHARED_BELOW (((size_t)2 << 30) + T1_SHARED_SLACK)
#define T1_SHARED_RANGE (T1_SHARED_BELOW + ((size_t)4 << 30) + T1_SHARED_SLACK)
#define T1_STACK_LEAST 65536

struct t1_room { /* where a block runs */
    struct t1_block block;
    uint8_t *shared;    /* its own; blocks of a cluster have theirs in an arena of the worker's */
    size_t shared_room; /* accessible, out of all that 32 bits reach */
    size_t local_room, stack_room;
    uint32_t guarded; /* stacks whose lowest page is closed: for what launches have needed, as each
                                      takes a system call */
    bool few_stacks;  /* room for as many as the launch needs, not as many as one may */
};

struct t1_worker {       /* owned by a struct t0_worker */
    struct t1_room room; /* of ordinary launches */
    struct t0_worker *owner;
    const struct t0_grid *grid; /* runs now */
    struct t0_grid last;        /* what `room` was filled for */
    uint64_t last_serial;
    struct t1_room *volatile now; /* of the block that runs */
    struct t0_fault fault;        /* what a service reported, before the second run */
    struct t1_resident *resident; /* resident.c: blocks of cooperative launches */
    uint64_t nresident;
    struct t0_block *stand_in; /* what handlers see: escape.c */
    struct t0_block *raced;    /* what racecheck sees: race.c; whether that is the block that runs */
    bool race_begun;
    struct t1_range *ranges; /* of watched objects */
    struct t1_wrong {        /* the access that ended a block; at: NULL without one */
        const struct t1_watched *at;
        uint32_t warp, lanes;
        uint64_t address[32];
    } wrong;
};

/* room.c: fills the block for a launch; false without memory, and later launches may try again. arena: shared memory
 * of rank 0 of the block's cluster; NULL without. */
bool t1_room_prepare(struct t1_room *r, const struct t1_object *o, const struct t0_grid *g, uint32_t smid,
                     uint8_t *arena);
void t1_room_start(struct t1_room *r, const struct t0_grid *g, uint64_t block); /* its index */
void t1_room_free(struct t1_room *r);

/* run.c */
extern const struct t1_services t1_resident_services;
struct t1_worker *t1_worker_of(struct t0_worker *w); /* made on first use, or NULL */
bool t1_stopped(const struct t1_worker *t);
void t1_thread_at(const struct t1_block *b, uint32_t linear, uint32_t out[3]);
_Noreturn void t1_raise(struct t1_block *b, uint32_t kind, uint32_t warp, uint32_t lane, const char *text);
/* Runs the block again on tier 0. Where that faults, *fault says how. */
void t1_find_fault(struct t0_worker *w, const struct t0_grid *g, uint64_t block, struct t0_fault *fault);
/* Calls body, whose blocks may fault; false after a fault, of the block in t->now. */
bool t1_guarded(struct t1_worker *t, void (*body)(void *), void *arg);
/* What the fault was, with tier 0's help. */
enum t0_fault_kind t1_fault_tell(struct t1_worker *t, const struct t0_grid *g, struct t0_fault *fault);
/* watch.c */
bool t1_watch_prepare(struct t1_worker *t, const struct t0_grid *g); /* for a launch; false without memory */
void t1_service_watch(struct t1_block *b, uint32_t warp, uint32_t mask, const uint64_t address[32],
                      const struct t1_watched *at, struct t1_range *range);
/* A block of a watched launch has faulted as *fault says, in `lane`'s thread: runs it again in the interpreter, which
 * reports. True: something was, so that the launch goes on with other blocks. */
bool t1_watch_again(struct t1_worker *t, const struct t0_grid *g, struct t0_fault *fault);
/* race.c */
bool t1_race_prepare(struct t1_worker *t, const struct t0_grid *g); /* for a launch; false without memory */
void t1_race_free(struct t1_worker *t);
bool t1_service_reads(struct t1_block *b, uint32_t warp, uint32_t mask, uint64_t first, uint64_t second,
                      const struct t1_watched *at);
void t1_service_race(struct t1_block *b, uint32_t warp, uint32_t mask, const struct t1_row *row,
                     const struct t1_watched *at);
void t1_service_gather(struct t1_block *b, uint32_t warp, uint32_t mask, uint32_t live, const uint32_t named[32]);
void t1_service_met(struct t1_block *b);
/* resident.c */
void t1_resident_free(struct t1_worker *t);
bool t1_resident_stopped(struct t1_block *b);
/* escape.c */
void t1_service_exec(struct t1_block *b, const void *image, uint8_t *regs, uint32_t warp, uint32_t mask);

#endif
