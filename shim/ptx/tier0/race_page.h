/* Racecheck: a page of the shadow of global memory, while one launch runs: who accessed its words last (race_global.c),
 * by rows of a warp as long as nobody parts them, then by units of 32 bytes, words and bytes. */
#ifndef CUMU_PTX_TIER0_RACE_PAGE_H
#define CUMU_PTX_TIER0_RACE_PAGE_H

#include "ptx/tier0/race.h"
#include "ptx/tier0/race_event.h"

#include <sched.h>
#include <stdatomic.h>

enum { PAGE_WORDS = 1024, READERS = 2 };
enum { PAGE_CHUNKS = PAGE_WORDS * 4 / RACE_CHUNK, CHUNK_WORDS = RACE_CHUNK / 4 };
enum { UNIT_WORDS = 8, PAGE_UNITS = PAGE_WORDS / UNIT_WORDS };
enum {
    ROW_UNITS = 4,
    ROW_WORDS = ROW_UNITS * UNIT_WORDS,
    PAGE_ROWS = PAGE_WORDS / ROW_WORDS,
    CHUNK_ROWS = CHUNK_WORDS / ROW_WORDS
};

/* A word, or a byte of one that is accessed in parts. */
struct word {
    struct stamp write, read[READERS];
};
/* A unit that has only been accessed as a whole, by lanes side by side: the first one's stamps stand for all, whose
 * slots count up, one every 1 << shift bytes. Others are split into words of their own. A row is the same of four
 * units: those of a row that has not been divided hold nothing. */
struct piece {
    struct word all;
    uint16_t words; /* of a unit: where they are in the page's, and 1; 0: it is not split. Of a row: it is divided */
    uint8_t shift;
    bool used;
};
struct race_page {
    _Alignas(64) struct piece row[PAGE_ROWS];
    struct piece unit[PAGE_UNITS];
    uint64_t used[RACE_CLASSES][PAGE_WORDS / 16]; /* bytes that were accessed, a bit each */
    /* Of each chunk the classes that have accessed it, a bit each; what is of others may be an earlier launch's. */
    uint8_t classes[PAGE_CHUNKS];
    /* Words that two blocks have read and nobody has written, so that plain reads change nothing while no block
     * orders another. Whoever looks holds no lock: both blocks race with a write that comes meanwhile. */
    _Atomic uint64_t settled[PAGE_WORDS / 64];
    uint64_t number;
    struct race_page *next, *beside; /* in its bucket; of the launch */
    _Atomic bool locked;
    struct race_first first[PAGE_CHUNKS][RACE_CLASSES];
    struct word (*word)[UNIT_WORDS]; /* of units that are split */
    struct word (*byte)[4];          /* of words that are accessed in parts */
    unsigned words, words_room, bytes, bytes_room;
    uint16_t *parted; /* of each word: where its bytes are, and 1; NULL: none is */
};

struct race_page *race_page_new(void); /* without any access; NULL: there is no memory */
void race_page_drop(struct race_page *p);
/* Where accesses of a class to a chunk are noted; *first says whether this is the first one. */
uint64_t *race_page_use(struct race_page *p, unsigned chunk, unsigned class, bool *first);
/* Held for some accesses: a mutex would cost as much as they do. */
static inline void race_page_lock(struct race_page *p)
{
    while (atomic_exchange_explicit(&p->locked, true, memory_order_acquire))
        (void)sched_yield();
}
static inline void race_page_unlock(struct race_page *p)
{
    atomic_store_explicit(&p->locked, false, memory_order_release);
}

/* A row that is accessed in parts becomes units. */
void race_page_divide(struct race_page *p, uint32_t row);
/* The words of a unit; NULL: there is no memory for them. */
struct word *race_page_split(struct race_page *p, uint32_t unit);
/* The bytes of a word that is accessed in parts, made of what is known of the word; NULL: there is no memory. */
struct word *race_page_bytes(struct race_page *p, uint32_t word, const struct word *whole);

#endif
