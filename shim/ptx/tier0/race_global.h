/* Racecheck: global memory, while one launch runs: what its pages and releases (race_global.c) and its accesses
 * (race_visit.c) share. */
#ifndef CUMU_PTX_TIER0_RACE_GLOBAL_H
#define CUMU_PTX_TIER0_RACE_GLOBAL_H

#include "ptx/tier0/race_page.h"

enum { RACE_BUCKETS = 1 << 14, RACE_WORDS_WATCHED = 1 << 14 };
struct race_global {
    uint64_t serial; /* unique */
    _Atomic uint64_t releases;
    _Atomic uint64_t *released;                       /* of each block: the count of its last one */
    uint64_t blocks;                                  /* of those at most */
    _Atomic uint64_t at[RACE_WORDS_WATCHED];          /* of words, by hash: of the last one there */
    _Atomic(struct race_page *) bucket[RACE_BUCKETS]; /* pages only ever come */
    _Atomic(struct race_page *) pages;                /* all of them */
    struct race_events events;
    struct race_global *next;
};

/* The page of that number; NULL: there is no memory. */
struct race_page *race_global_page(struct race_global *g, uint64_t number);

#endif
