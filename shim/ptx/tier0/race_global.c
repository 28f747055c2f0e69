/* Racecheck: global memory, while one launch runs. Threads of a block are ordered by their vector clocks, as for shared
 * memory. Blocks are many, and few of them talk to each other, so that one number stands for what a block knows of all
 * others: the launch counts releases, an access is stamped with the count, and a block that acquires from a word learns
 * the count of the release there. An access is ordered before another block's if its block has released since and the
 * other has acquired since: that takes some pairs for ordered which are not, and none the other way round. */
#include "ptx/tier0/race_global.h"

#include <stdlib.h>
#include <string.h>

/* Those of launches that are over, empty: a short launch would cost less than to make one, and to look at all of it. */
enum { SPARES = 4 };
static struct race_global *spare;
static unsigned spares;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash(uint64_t n) { return n * 0x9e3779b97f4a7c15u >> 32; }

struct race_global *race_global_new(uint64_t blocks)
{
    static uint64_t serial;
    struct race_global *g = NULL;
    if (blocks >= UINT32_MAX)
        return NULL;
    pthread_mutex_lock(&spare_lock);
    const uint64_t number = ++serial;
    if ((g = spare)) {
        spare = g->next;
        spares--;
    }
    pthread_mutex_unlock(&spare_lock);
    if (!g) {
        if (!(g = calloc(1, sizeof *g)))
            return NULL;
        pthread_mutex_init(&g->events.lock, NULL);
    }
    g->serial = number;
    if (g->blocks < blocks) {
        free((void *)g->released);
        g->released = calloc(blocks, sizeof *g->released);
        g->blocks = g->released ? blocks : 0;
    }
    if (g->blocks >= blocks && race_events_begin(&g->events))
        return g;
    race_events_free(&g->events);
    free((void *)g->released);
    free(g);
    return NULL;
}

void race_global_free(struct race_global *g)
{
    if (!g)
        return;
    for (struct race_page *p = g->pages, *next; p; p = next) {
        next = p->beside;
        g->bucket[hash(p->number) % RACE_BUCKETS] = NULL;
        race_page_drop(p);
    }
    g->pages = NULL;
    if (g->releases) {
        memset((void *)g->released, 0, g->blocks * sizeof *g->released);
        memset((void *)g->at, 0, sizeof g->at);
        g->releases = 0;
    }
    race_events_end(&g->events);
    pthread_mutex_lock(&spare_lock);
    const bool keeps = spares < SPARES;
    if (keeps) {
        g->next = spare;
        spare = g;
        spares++;
    }
    pthread_mutex_unlock(&spare_lock);
    if (keeps)
        return;
    race_events_free(&g->events);
    free((void *)g->released);
    free(g);
}

struct race_page *race_global_page(struct race_global *g, uint64_t number)
{
    _Atomic(struct race_page *) *bucket = &g->bucket[hash(number) % RACE_BUCKETS];
    struct race_page *first = *bucket, *fresh = NULL;
    for (;;) {
        for (struct race_page *p = first; p; p = p->next)
            if (p->number == number) {
                if (fresh)
                    race_page_drop(fresh);
                return p;
            }
        if (!fresh) {
            if (!(fresh = race_page_new()))
                return NULL;
            fresh->number = number;
        }
        fresh->next = first;
        if (!atomic_compare_exchange_strong(bucket, &first, fresh))
            continue;
        fresh->beside = g->pages;
        while (!atomic_compare_exchange_weak(&g->pages, &fresh->beside, fresh))
            ;
        return fresh;
    }
}

static _Atomic uint64_t *watched_word(struct race_global *g, uint64_t address)
{
    return &g->at[hash(address / 4) % RACE_WORDS_WATCHED];
}

void race_global_release(struct race_global *g, uint64_t block, uint64_t address)
{
    _Atomic uint64_t *at = watched_word(g, address);
    const uint64_t count = ++g->releases;
    g->released[block] = count;
    for (uint64_t old = *at; old < count && !atomic_compare_exchange_weak(at, &old, count);)
        ;
}

uint64_t race_global_seen(struct race_global *g, uint64_t address)
{
    const uint64_t anywhere = *watched_word(g, T0_RACE_ANYWHERE), there = *watched_word(g, address);
    return address == T0_RACE_ANYWHERE ? (uint64_t)g->releases : there > anywhere ? there : anywhere;
}

bool race_global_anywhere(const struct race_global *g)
{
    return g->at[hash(T0_RACE_ANYWHERE / 4) % RACE_WORDS_WATCHED] != 0;
}

static void close_page(struct t0_race *r, const struct race_page *p)
{
    struct race_use use[PAGE_CHUNKS];
    unsigned n = 0;
    for (unsigned chunk = 0; chunk < PAGE_CHUNKS; chunk++) {
        struct race_use *u = &use[n];
        if (!(u->classes = p->classes[chunk]))
            continue;
        u->chunk = p->number * PAGE_CHUNKS + chunk;
        for (unsigned class = 0; class < RACE_CLASSES; class ++)
            if (u->classes >> class & 1) {
                u->part[class].first = p->first[chunk][class];
                memcpy(u->part[class].bits, &p->used[class][chunk * CHUNK_WORDS / 16], sizeof u->part[class].bits);
            }
        n++;
    }
    race_history_add(r, use, n);
}

/* Merges lists in the order of addresses: blocks make their pages in any order, and reports shall not depend on it. */
static struct race_page *merge(struct race_page *a, struct race_page *b)
{
    struct race_page *first = NULL, **end = &first;
    while (a && b) {
        struct race_page **less = a->number < b->number ? &a : &b;
        *end = *less;
        *less = (*less)->beside;
        end = &(*end)->beside;
    }
    *end = a ? a : b;
    return first;
}

static struct race_page *sort_pages(struct race_page *left)
{
    enum { LISTS = 48 }; /* the k-th has 1 << k pages, or none */
    struct race_page *list[LISTS] = {NULL}, *all = NULL;
    while (left) {
        struct race_page *p = left;
        unsigned k = 0;
        left = left->beside;
        p->beside = NULL;
        for (; list[k]; k++) {
            p = merge(list[k], p);
            list[k] = NULL;
        }
        list[k] = p;
    }
    for (unsigned k = 0; k < LISTS; k++)
        all = merge(list[k], all);
    return all;
}

void race_global_close(struct t0_race *r, struct race_global *g)
{
    g->pages = sort_pages(g->pages);
    for (const struct race_page *p = g->pages; p; p = p->beside)
        close_page(r, p);
}
