/* Device-side malloc: first fit in bins of powers of two, with boundary tags (Knuth, TAOCP 1, 2.5). The tags lie beside
 * the region and not in it, so that a kernel that writes beyond its block damages its neighbours' data and nothing
 * that an allocation relies on. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "host/driver/kernel.h"

#define BINS 32 /* lists of free blocks by power of two: all that 32 bits number */
#define UNIT 16 /* bytes; blocks are whole units, and named by their first one */
#define NONE UINT32_MAX

struct tag {             /* of a unit; what only some units have is not set for the others */
    uint32_t size;       /* in units, of the block that begins here; 0: none does */
    uint32_t first;      /* of the block that ends here */
    uint32_t next, prev; /* of the free block that begins here; next == LIVE: it is not free */
};
#define LIVE (UINT32_MAX - 1)

struct host_heap {
    pthread_mutex_t lock;
    char *base;
    uint32_t units;
    struct tag *tag;
    uint32_t bin[BINS]; /* bin i: 1 << i units or more, less than twice that */
};

static int bin_of(uint32_t size) { return 31 - __builtin_clz(size); }

static void set_block(struct host_heap *h, uint32_t at, uint32_t size)
{
    h->tag[at].size = size;
    h->tag[at + size - 1].first = at;
}

static void insert(struct host_heap *h, uint32_t at, uint32_t size)
{
    uint32_t *bin = &h->bin[bin_of(size)];
    set_block(h, at, size);
    h->tag[at].next = *bin;
    h->tag[at].prev = NONE;
    if (*bin != NONE)
        h->tag[*bin].prev = at;
    *bin = at;
}

static void take_out(struct host_heap *h, uint32_t at)
{
    const struct tag *t = &h->tag[at];
    if (t->next != NONE)
        h->tag[t->next].prev = t->prev;
    if (t->prev != NONE)
        h->tag[t->prev].next = t->next;
    else
        h->bin[bin_of(t->size)] = t->next;
    h->tag[at].next = LIVE;
}

static size_t tags_size(uint32_t units) { return units * sizeof(struct tag); }

struct host_heap *host_heap_new(void *base, size_t size)
{
    size_t most = (size_t)(LIVE - 1) * UNIT;
    uint32_t units = (uint32_t)((size < most ? size : most) / UNIT);
    struct host_heap *h = units ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return NULL;
    h->tag = mmap(NULL, tags_size(units), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h->tag == MAP_FAILED) {
        free(h);
        return NULL;
    }
    pthread_mutex_init(&h->lock, NULL);
    h->base = base;
    h->units = units;
    for (int i = 0; i < BINS; i++)
        h->bin[i] = NONE;
    insert(h, 0, units);
    return h;
}

void host_heap_delete(struct host_heap *h)
{
    if (!h)
        return;
    pthread_mutex_destroy(&h->lock);
    munmap(h->tag, tags_size(h->units));
    free(h);
}

void *host_heap_alloc(struct host_heap *h, size_t bytes)
{
    if (!bytes || bytes > (size_t)h->units * UNIT)
        return NULL;
    uint32_t size = (uint32_t)((bytes + UNIT - 1) / UNIT), at = NONE;
    pthread_mutex_lock(&h->lock);
    for (int i = bin_of(size); i < BINS && at == NONE; i++)
        for (at = h->bin[i]; at != NONE && h->tag[at].size < size; at = h->tag[at].next)
            ;
    if (at != NONE) {
        uint32_t whole = h->tag[at].size;
        take_out(h, at);
        set_block(h, at, size);
        if (whole > size)
            insert(h, at + size, whole - size);
    }
    pthread_mutex_unlock(&h->lock);
    return at == NONE ? NULL : h->base + (size_t)at * UNIT;
}

static bool is_free(const struct host_heap *h, uint32_t at) { return h->tag[at].next != LIVE; }

bool host_heap_free(struct host_heap *h, void *p)
{
    size_t offset = (size_t)((uintptr_t)p - (uintptr_t)h->base);
    if (offset % UNIT || offset / UNIT >= h->units)
        return false;
    uint32_t at = (uint32_t)(offset / UNIT);
    pthread_mutex_lock(&h->lock);
    uint32_t size = h->tag[at].size, above = at + size;
    bool live = size && !is_free(h, at);
    if (live) {
        if (above < h->units && is_free(h, above)) {
            take_out(h, above);
            size += h->tag[above].size;
            h->tag[above].size = 0;
        }
        if (at && is_free(h, h->tag[at - 1].first)) {
            h->tag[at].size = 0;
            at = h->tag[at - 1].first;
            take_out(h, at);
            size += h->tag[at].size;
        }
        insert(h, at, size);
    }
    pthread_mutex_unlock(&h->lock);
    return live;
}
