/* CUMU_CHECK: what a program has said of its memory by NVTX's memory API: heaps that it divides itself, of which only
 * the regions may be touched, names, and what kernels may do. Counts from the call on, for launches in flight too. */
#include <stdlib.h>
#include <string.h>

#include "abi/report.h"
#include "host/driver/memcheck.h"

struct note { /* of memory from base on */
    uintptr_t base;
    size_t size; /* of heaps and regions */
    int device;  /* of rights; -1: all */
    unsigned rights;
    char *name;
};
struct notes {
    struct note *at; /* in ascending order of base, of rights of one base also of device */
    size_t count, room;
};
static struct notes heaps, regions, names, rights;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic bool any; /* heaps or rights were ever said */

/* Number of the first note behind p. */
static size_t behind(const struct notes *n, uintptr_t p)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (n->at[middle].base <= p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The note whose range holds p. */
static const struct note *holder(const struct notes *n, uintptr_t p)
{
    const size_t at = behind(n, p);
    return at && p - n->at[at - 1].base < n->at[at - 1].size ? &n->at[at - 1] : NULL;
}

/* The note of just this base and device. */
static struct note *exact(const struct notes *n, uintptr_t base, int device)
{
    for (size_t at = behind(n, base); at && n->at[at - 1].base == base; at--)
        if (n->at[at - 1].device == device)
            return &n->at[at - 1];
    return NULL;
}

/* Takes note's name. Without memory nothing is remembered: what is said then is less than the program wished for. */
static void put(struct notes *n, struct note note)
{
    struct note *old = exact(n, note.base, note.device);
    if (old) {
        free(old->name);
        *old = note;
        return;
    }
    if (n->count == n->room) {
        const size_t more = n->room ? 2 * n->room : 64;
        struct note *p = realloc(n->at, more * sizeof *p);
        if (!p) {
            free(note.name);
            return;
        }
        n->at = p;
        n->room = more;
    }
    const size_t at = behind(n, note.base);
    memmove(n->at + at + 1, n->at + at, (n->count - at) * sizeof *n->at);
    n->at[at] = note;
    n->count++;
}

/* Takes away what begins in [base, base + size) and stands for the device, or (ANY) for whichever. */
enum { ANY = -2 };
static void drop(struct notes *n, uintptr_t base, size_t size, int device)
{
    size_t to = base ? behind(n, base - 1) : 0, from = to;
    for (; from < n->count; from++)
        if (n->at[from].base - base < size && (device == ANY || n->at[from].device == device))
            free(n->at[from].name);
        else
            n->at[to++] = n->at[from];
    n->count = to;
}

/* A region, with what was said of it. */
static void drop_region(uintptr_t base)
{
    drop(&regions, base, 1, ANY);
    drop(&rights, base, 1, ANY);
    drop(&names, base, 1, ANY);
}

/* Regions of the heap at base, or of none. */
static void drop_regions(uintptr_t base)
{
    for (size_t k = regions.count; k--;) {
        const uintptr_t at = regions.at[k].base;
        const struct note *heap = holder(&heaps, at);
        if (base ? heap && heap->base == base : !heap)
            drop_region(at);
    }
}

static void take(const struct cumu_memory_note *a)
{
    const struct note note = {.base = a->base, .size = a->size, .device = a->device, .rights = a->rights};
    char *name;
    switch (a->kind) {
    case CUMU_NOTE_HEAP: put(&heaps, (struct note){.base = a->base, .size = a->size}); break;
    case CUMU_NOTE_HEAP_GONE:
        drop_regions(a->base);
        drop(&heaps, a->base, 1, ANY);
        break;
    case CUMU_NOTE_HEAP_RESET: drop_regions(a->base); break;
    case CUMU_NOTE_REGION: put(&regions, (struct note){.base = a->base, .size = a->size}); break;
    case CUMU_NOTE_REGION_GONE: drop_region(a->base); break;
    case CUMU_NOTE_NAME:
        if ((name = strdup(a->name)))
            put(&names, (struct note){.base = a->base, .name = name});
        break;
    case CUMU_NOTE_RIGHTS: put(&rights, note); break;
    case CUMU_NOTE_RIGHTS_GONE: drop(&rights, a->base, a->base ? 1 : SIZE_MAX, a->device); break;
    case CUMU_NOTE_WRITTEN: break;
    }
}

extern __attribute__((visibility("default"))) cumu_host_annotate_t cumu_host_annotate;

void cumu_host_annotate(const struct cumu_memory_note *a)
{
    if (!host_memcheck_on())
        return;
    if (a->kind == CUMU_NOTE_WRITTEN) {
        host_initcheck_filled((const void *)(uintptr_t)a->base, a->size);
        return;
    }
    pthread_rwlock_wrlock(&lock);
    take(a);
    any |= heaps.count || rights.count;
    pthread_rwlock_unlock(&lock);
    host_memcheck_changed();
}

void host_annotate_gone(uintptr_t base, size_t size)
{
    struct notes *const all[] = {&heaps, &regions, &names, &rights};
    pthread_rwlock_wrlock(&lock);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        drop(all[k], base, size, ANY);
    pthread_rwlock_unlock(&lock);
}

bool host_annotate_any(uintptr_t base, size_t size)
{
    bool in = false;
    if (!any)
        return false;
    pthread_rwlock_rdlock(&lock);
    const struct notes *const both[] = {&heaps, &rights};
    for (size_t k = 0; k < 2; k++) {
        const size_t at = behind(both[k], base + size - 1);
        in |= at && (both[k]->at[at - 1].base >= base || holder(both[k], base));
    }
    pthread_rwlock_unlock(&lock);
    return in;
}

/* What was said of the region, or the allocation, at base for this device. */
static const struct note *rights_of(uintptr_t base, int device)
{
    const struct note *own = exact(&rights, base, device);
    return own ? own : exact(&rights, base, -1);
}

const char *host_annotate_denies(uintptr_t base, uint64_t address, uint32_t size, enum t0_access_kind kind, int device)
{
    static const struct {
        unsigned right;
        const char *what;
    } need[] = {[T0_READS] = {CUMU_MAY_READ, "not readable"},
                [T0_WRITES] = {CUMU_MAY_WRITE, "not writable"},
                [T0_UPDATES] = {CUMU_MAY_UPDATE, "not readable/writable with atomic operations"}};
    const char *what = NULL;
    if (!any)
        return NULL;
    pthread_rwlock_rdlock(&lock);
    const struct note *region = holder(&regions, address), *may = NULL;
    if (holder(&heaps, address) && (!region || size > region->size - (address - region->base)))
        what = "out of bounds";
    if (region)
        may = rights_of(region->base, device);
    if (!may)
        may = rights_of(base, device);
    if (!what && may && !(may->rights & need[kind].right))
        what = need[kind].what;
    pthread_rwlock_unlock(&lock);
    return what;
}

bool host_annotate_piece(uint64_t *from, uint64_t end, uint64_t *to)
{
    pthread_rwlock_rdlock(&lock);
    bool found = false;
    while (!found && *from < end) {
        const struct note *heap = holder(&heaps, *from), *region = holder(&regions, *from);
        const struct notes *next = heap && !region ? &regions : &heaps;
        const size_t at = behind(next, *from);
        *to = heap && region ? region->base + region->size : at < next->count ? next->at[at].base : end;
        if (heap && heap->base + heap->size < *to)
            *to = heap->base + heap->size;
        *to = *to < end ? *to : end;
        found = !heap || region;
        *from = found ? *from : *to;
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

bool host_annotate_name(uintptr_t base, char *name, size_t room)
{
    pthread_rwlock_rdlock(&lock);
    const struct note *n = exact(&names, base, 0);
    if (n)
        snprintf(name, room, "%s", n->name);
    pthread_rwlock_unlock(&lock);
    return n != NULL;
}
