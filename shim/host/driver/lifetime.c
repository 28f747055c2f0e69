/* CUMU_CHECK=memory: stream-ordered memory lives between two points in the order of streams, its allocation and its
 * free, whenever those calls run: what nothing puts between them may find it gone, or not there yet. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/order.h"

struct host_life {
    struct host_order *from, *until; /* until: NULL while it lives */
    bool first;
    pthread_mutex_t lock; /* of what follows; a leaf */
    uint32_t *used;       /* of each stream the clock of its last use */
    uint32_t n;
};

struct host_life *host_life_new(struct host_order *from, bool first)
{
    struct host_life *l = from ? calloc(1, sizeof *l) : NULL;
    if (!l) {
        host_order_unref(from);
        return NULL;
    }
    l->from = from;
    l->first = first;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void host_life_free(struct host_life *l)
{
    if (!l)
        return;
    host_order_unref(l->from);
    host_order_unref(l->until);
    pthread_mutex_destroy(&l->lock);
    free(l->used);
    free(l);
}

/* Without memory a use is forgotten, and nothing wrong is said. */
static void keep(struct host_life *l, const struct host_order *now)
{
    pthread_mutex_lock(&l->lock);
    if (now->slot >= l->n) {
        const uint32_t n = now->slot + 1;
        uint32_t *p = realloc(l->used, n * sizeof *p);
        if (p) {
            memset(p + l->n, 0, (n - l->n) * sizeof *p);
            l->used = p;
            l->n = n;
        }
    }
    if (now->slot < l->n && l->used[now->slot] < now->clock)
        l->used[now->slot] = now->clock;
    pthread_mutex_unlock(&l->lock);
}

/* Who stands before the allocation uses what was there before it, in order. */
bool host_life_holds(struct host_life *l, const struct host_order *now)
{
    if (!now)
        return true;
    if (l->first && l->from->slot == now->slot
            ? now->clock < l->from->clock
            : !host_order_knows(now, l->from) && (l->first || !host_order_knows(l->from, now)))
        return false;
    if (l->until &&
        (l->until->slot == now->slot ? now->clock > l->until->clock : !now->all && !host_order_knows(l->until, now)))
        return false;
    keep(l, now);
    return true;
}

bool host_life_ended(const struct host_life *l) { return l && l->until; }

bool host_life_end(struct host_life *l, struct host_order *until)
{
    host_order_unref(l->until);
    l->until = until;
    if (!until || until->all)
        return true;
    bool right = host_order_knows(until, l->from);
    pthread_mutex_lock(&l->lock);
    for (uint32_t k = 0; k < l->n; k++)
        right = right && (k == until->slot || !l->used[k] || (k < until->n && until->known[k] >= l->used[k]));
    pthread_mutex_unlock(&l->lock);
    return right;
}
