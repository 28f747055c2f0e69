/* Tier 1 execution, internal: objects, and what a worker keeps to run them. */
#ifndef CUMU_PTX_T1_OBJECT_H
#define CUMU_PTX_T1_OBJECT_H

#include "ptx/tier0/exec/warp.h"
#include "ptx/tier1/tier1.h"

struct t1_object {
    void *handle; /* of dlopen */
    t1_entry *run;
    const struct t1_info *info;
    uint64_t serial;   /* unique in the process: what a worker remembers instead of the pointer */
    uint64_t *externs; /* addresses, in the image's order */
};

struct t1_worker { /* owned by a struct t0_worker */
    struct t1_block block;
    struct t0_worker *owner;
    const struct t0_grid *grid;   /* runs now */
    struct t0_grid last;          /* what `block` was filled for */
    uint64_t last_serial;
    volatile uint64_t at;         /* linear index of the block that runs */
    size_t shared_room;           /* accessible, out of all that 32 bits reach */
    size_t local_room, stack_room;
    struct t0_fault fault;        /* what a service reported, before the second run */
};

#endif
