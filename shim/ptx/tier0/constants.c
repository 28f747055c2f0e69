/* Which addresses are of constant variables: these lie among other memory, in modules of their own, and the ISA has
 * them in a window that isspacep knows. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/tier0/warp.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct extent {
    uint64_t base, size;
} * list; /* by address */
static size_t count, capacity;
static _Atomic uint64_t lowest = UINT64_MAX, highest; /* of all that there ever were: most addresses lie beyond */

/* The number of variables that begin at or below `address`. */
static size_t begun(uint64_t address)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (list[mid].base <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool t0_constant_add(const void *p, uint64_t size)
{
    const uint64_t base = (uint64_t)(uintptr_t)p;
    pthread_rwlock_wrlock(&lock);
    if (count == capacity) {
        const size_t more = capacity ? 2 * capacity : 16;
        struct extent *grown = realloc(list, more * sizeof *grown);
        if (!grown) {
            pthread_rwlock_unlock(&lock);
            return false;
        }
        list = grown;
        capacity = more;
    }
    const size_t at = begun(base);
    memmove(list + at + 1, list + at, (count++ - at) * sizeof *list);
    list[at] = (struct extent){base, size};
    if (base < lowest)
        lowest = base;
    if (base + size > highest)
        highest = base + size;
    pthread_rwlock_unlock(&lock);
    return true;
}

void t0_constant_remove(const void *p)
{
    const uint64_t base = (uint64_t)(uintptr_t)p;
    pthread_rwlock_wrlock(&lock);
    const size_t at = begun(base);
    if (at && list[at - 1].base == base)
        memmove(list + at - 1, list + at, (count-- - at) * sizeof *list);
    pthread_rwlock_unlock(&lock);
}

bool t0_constant(uint64_t address)
{
    if (address < lowest || address >= highest)
        return false;
    pthread_rwlock_rdlock(&lock);
    const size_t at = begun(address);
    const bool is = at && address - list[at - 1].base < list[at - 1].size;
    pthread_rwlock_unlock(&lock);
    return is;
}
