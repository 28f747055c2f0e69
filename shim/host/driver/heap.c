/* Device-side malloc: blocks with boundary tags and free lists by power of two, inside one region
 * of device memory. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/kernel.h"

#define BINS 48
#define LIVE 0x6c697665u
#define FREE 0x66726565u

struct block { /* in front of every block; the next one starts at this + 1 + size */
    uint32_t state, pad;
    size_t size;          /* of the payload, a multiple of 16 */
    struct block *before; /* neighbour below, NULL for the first */
    void *align;
};
struct list { /* in the payload of a free block */
    struct block *next, *prev;
};
_Static_assert(sizeof(struct block) % 16 == 0 && sizeof(struct list) <= 16, "alignment");

struct host_heap {
    pthread_mutex_t lock;
    char *base, *end;
    struct block *bin[BINS]; /* bin i: 16 << i bytes or more, less than twice that */
};

static struct list *list_of(struct block *b) { return (struct list *)(void *)(b + 1); }
static struct block *above(struct block *b)
{
    return (struct block *)(void *)((char *)(b + 1) + b->size);
}

static int bin_of(size_t size)
{
    int i = 63 - __builtin_clzll((unsigned long long)size >> 4);
    return i < BINS ? i : BINS - 1;
}

static void insert(struct host_heap *h, struct block *b)
{
    int i = bin_of(b->size);
    b->state = FREE;
    *list_of(b) = (struct list){ .next = h->bin[i] };
    if (h->bin[i])
        list_of(h->bin[i])->prev = b;
    h->bin[i] = b;
}

static void take_out(struct host_heap *h, struct block *b)
{
    struct list *l = list_of(b);
    if (l->next)
        list_of(l->next)->prev = l->prev;
    if (l->prev)
        list_of(l->prev)->next = l->next;
    else
        h->bin[bin_of(b->size)] = l->next;
}

struct host_heap *host_heap_new(void *base, size_t size)
{
    struct host_heap *h = size >= 4 * sizeof(struct block) ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    size &= ~(size_t)15;
    h->base = base;
    h->end = h->base + size;
    struct block *b = base;
    *b = (struct block){ .size = size - sizeof *b };
    insert(h, b);
    return h;
}

void host_heap_delete(struct host_heap *h)
{
    if (h)
        pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Cuts b to `size` if what is left can hold a block. */
static void split(struct host_heap *h, struct block *b, size_t size)
{
    if (b->size - size < sizeof(struct block) + 16)
        return;
    size_t rest = b->size - size - sizeof(struct block);
    b->size = size;
    struct block *r = above(b);
    *r = (struct block){ .size = rest, .before = b };
    if ((char *)above(r) < h->end)
        above(r)->before = r;
    insert(h, r);
}

void *host_heap_alloc(struct host_heap *h, size_t size)
{
    if (!size || size > (size_t)(h->end - h->base))
        return NULL;
    size = (size + 15) & ~(size_t)15;
    pthread_mutex_lock(&h->lock);
    struct block *b = NULL;
    for (int i = bin_of(size); i < BINS && !b; i++)
        for (b = h->bin[i]; b && b->size < size; b = list_of(b)->next)
            ;
    if (b) {
        take_out(h, b);
        split(h, b, size);
        b->state = LIVE;
    }
    pthread_mutex_unlock(&h->lock);
    return b ? b + 1 : NULL;
}

/* Swallows the neighbour above, which must be free. */
static void join_above(struct host_heap *h, struct block *b)
{
    struct block *a = above(b);
    take_out(h, a);
    a->state = 0;
    b->size += sizeof *a + a->size;
    if ((char *)above(b) < h->end)
        above(b)->before = b;
}

bool host_heap_free(struct host_heap *h, void *p)
{
    struct block *b = (struct block *)p - 1;
    if ((uintptr_t)p % 16 || (char *)b < h->base || (char *)p >= h->end)
        return false;
    pthread_mutex_lock(&h->lock);
    bool live = b->state == LIVE;
    if (live) {
        if ((char *)above(b) < h->end && above(b)->state == FREE)
            join_above(h, b);
        if (b->before && b->before->state == FREE) {
            b->state = 0;
            struct block *low = b->before;
            take_out(h, low);
            low->size += sizeof *b + b->size;
            if ((char *)above(low) < h->end)
                above(low)->before = low;
            b = low;
        }
        insert(h, b);
    }
    pthread_mutex_unlock(&h->lock);
    return live;
}
