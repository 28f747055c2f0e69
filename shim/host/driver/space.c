/* Address space and pages of an arena.
 *
 * A device is a sparse memfd mapped once over a reserved range. As CUDA's, it is cut into blocks of 2 MiB: a
 * block with a live allocation is accessible throughout, all others are not, so that a kernel's stray access
 * faults. Small allocations share blocks, large ones have their own and lie side by side: what reads a row
 * beyond its matrix reads the next allocation (Rodinia's srad_v2 does, and devices let it). The address range
 * is larger than the device's memory: capacity is counted exactly, and fragmentation hardly matters.
 * CUMU_HOST_STRICT=1 makes the blocks pages, so that most accesses outside of allocations fault. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/driver/limits.h"
#include "host/driver/memcheck.h"
#include "host/driver/space.h"

#define PAGE ((size_t)4096)
#define UNIT ((size_t)512) /* alignment and granularity of allocations */
#define MAX_GUARDS 16000   /* each splits a mapping in two, and Linux allows a process 65530 (vm.max_map_count) */
#define SPARE_BYTES ((size_t)256 << 20) /* of all spares, at most a quarter of the device */

struct host_layout host_layout = {(size_t)2 << 20, (size_t)1 << 20, (size_t)1 << 20, 0};
static const struct host_layout strict = {PAGE, PAGE, (size_t)64 << 10, PAGE};
static unsigned guards; /* of live allocations */

static uintptr_t up(uintptr_t x, size_t to) { return (x + to - 1) & ~(uintptr_t)(to - 1); }
static uintptr_t down(uintptr_t x, size_t to) { return x & ~(uintptr_t)(to - 1); }

/* ---- free pieces ------------------------------------------------------------------------------ */

/* glibc's trees are balanced; pieces that overlap compare equal, so a search finds a neighbour. */
static int cmp_address(const void *a, const void *b)
{
    const struct host_piece *x = a, *y = b;
    return x->base + x->size <= y->base ? -1 : y->base + y->size <= x->base;
}

static int cmp_size(const void *a, const void *b)
{
    const struct host_piece *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->base < y->base ? -1 : x->base > y->base;
}

/* A search that never matches, leaving the smallest piece that is large enough in *fit. */
struct fit {
    size_t size;
    struct host_piece *best;
};

static int cmp_fit(const void *key, const void *at)
{
    struct fit *f = *(struct fit *const *)key;
    struct host_piece *p = (struct host_piece *)(uintptr_t)at;
    if (p->size < f->size)
        return 1;
    f->best = p;
    return -1;
}

static bool insert(struct host_arena *a, struct host_piece *p)
{
    if (!tsearch(p, &a->by_address, cmp_address))
        return false;
    if (tsearch(p, &a->by_size, cmp_size))
        return true;
    tdelete(p, &a->by_address, cmp_address);
    return false;
}

static void extract(struct host_arena *a, struct host_piece *p)
{
    tdelete(p, &a->by_address, cmp_address);
    tdelete(p, &a->by_size, cmp_size);
}

static struct host_piece *add(struct host_arena *a, uintptr_t base, uintptr_t end)
{
    struct host_piece *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = (struct host_piece){.base = base, .size = end - base};
    if (insert(a, p))
        return p;
    free(p);
    return NULL;
}

static void insert_or_say(struct host_arena *a, struct host_piece *p)
{
    if (insert(a, p))
        return;
    host_log(1, "out of host memory: device address space is lost");
    free(p);
}

/* Cuts [base, base+extent) with the alignment out of the best fitting free piece; NULL if there is none. */
static struct host_piece *carve(struct host_arena *a, size_t extent, size_t align)
{
    struct fit f = {.size = extent}, *key = &f;
    tfind(&key, &a->by_size, cmp_fit);
    if (f.best && up(f.best->base, align) + extent > f.best->base + f.best->size) {
        f = (struct fit){.size = extent + align}; /* one that has room wherever it begins */
        tfind(&key, &a->by_size, cmp_fit);
    }
    struct host_piece *p = f.best, *front = NULL;
    if (!p)
        return NULL;
    uintptr_t from = p->base, end = from + p->size, base = up(from, align);
    extract(a, p); /* what is left in front and behind become pieces of their own */
    if ((base > from && !(front = add(a, from, base))) || (base + extent < end && !add(a, base + extent, end))) {
        if (front)
            extract(a, front);
        free(front);
        insert_or_say(a, p);
        return NULL;
    }
    *p = (struct host_piece){.base = base, .size = extent};
    return p;
}

static struct host_piece *free_at(struct host_arena *a, uintptr_t address)
{
    struct host_piece key = {.base = address, .size = 1};
    void *found = tfind(&key, &a->by_address, cmp_address);
    return found ? *(struct host_piece **)found : NULL;
}

/* Returns address space, merged with free neighbours into one piece, which is the answer. */
static struct host_piece uncarve(struct host_arena *a, struct host_piece *p)
{
    struct host_piece *neighbours[] = {free_at(a, p->base - 1), free_at(a, p->base + p->size)};
    for (int i = 0; i < 2; i++)
        if (neighbours[i]) {
            extract(a, neighbours[i]);
            p->base = i ? p->base : neighbours[i]->base;
            p->size += neighbours[i]->size;
            free(neighbours[i]);
        }
    struct host_piece whole = *p;
    insert_or_say(a, p);
    return whole;
}

/* ---- pages ------------------------------------------------------------------------------------ */

/* mprotect. A call of a maths library that is at fault may have put something there (mend.c). */
static int protect(uintptr_t at, size_t size, int to)
{
    if (host_mended)
        host_mend_undo(at, at + size);
    return mprotect((void *)at, size, to);
}

static void punch(struct host_arena *a, uintptr_t lo, uintptr_t hi)
{
    fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(lo - a->base), (off_t)(hi - lo));
}

/* Hides what lies in blocks of [base, base+extent) that are wholly free, within `whole`, and gives the pages
 * back. Of small allocations' blocks the latest keeps its pages: a program may have one such allocation at a
 * time, and get it again and again. */
static void release_pages(struct host_arena *a, uintptr_t base, size_t extent, struct host_piece whole)
{
    const size_t block = host_layout.block;
    uintptr_t lo = down(base, block), hi = up(base + extent, block);
    if (lo < whole.base)
        lo = up(whole.base, block);
    if (hi > whole.base + whole.size)
        hi = down(whole.base + whole.size, block);
    if (lo >= hi)
        return;
    protect(lo, hi - lo, PROT_NONE);
    if (extent >= host_layout.large) {
        punch(a, lo, hi);
        return;
    }
    if (a->kept)
        punch(a, a->kept, a->kept + block);
    a->kept = lo;
    if (lo + block < hi) /* it lay across the border of two */
        punch(a, lo + block, hi);
}

static void release(struct host_arena *a, struct host_piece *p)
{
    uintptr_t base = p->base;
    size_t extent = p->size;
    release_pages(a, base, extent, uncarve(a, p));
}

bool host_space_show(struct host_arena *a, const struct host_piece *piece, size_t size)
{
    const size_t block = host_layout.block;
    uintptr_t lo = down(piece->base, block), hi = up(piece->base + size, block);
    if (a->kept >= lo && a->kept < hi) {
        if (size >= host_layout.large)
            punch(a, a->kept, a->kept + block);
        a->kept = 0;
    }
    return !protect(lo, hi - lo, PROT_READ | PROT_WRITE);
}

/* ---- spares: a page that is new costs ten times what writing it costs ------------------------- */

static struct host_piece *remove_spare(struct host_arena *a, unsigned i)
{
    struct host_piece *p = a->spare[i];
    a->spare_bytes -= p->size - p->guard;
    a->spares--;
    memmove(&a->spare[i], &a->spare[i + 1], (a->spares - i) * sizeof *a->spare);
    return p;
}

/* Hides an allocation that is no longer live; false if it is none to keep. */
static bool keep_spare(struct host_arena *a, struct host_piece *p)
{
    size_t most = SPARE_BYTES < a->capacity / 4 ? SPARE_BYTES : a->capacity / 4;
    size_t bytes = p->size - p->guard;
    if (a->retired || bytes > most || protect(p->base, p->size, PROT_NONE))
        return false;
    while (a->spares == HOST_SPARES || a->spare_bytes + bytes > most)
        release(a, remove_spare(a, 0));
    a->spare[a->spares++] = p;
    a->spare_bytes += bytes;
    return true;
}

/* The latest spare of just that extent, or NULL. */
static struct host_piece *take_spare(struct host_arena *a, size_t extent, size_t align)
{
    for (unsigned i = a->spares; i-- > 0;)
        if (a->spare[i]->size == extent && !(a->spare[i]->base & (align - 1)))
            return remove_spare(a, i);
    return NULL;
}

void host_space_give(struct host_arena *a, struct host_piece *piece, bool keep)
{
    guards -= piece->guard != 0;
    if (!keep || !keep_spare(a, piece))
        release(a, piece);
}

/* ---- what allocations take --------------------------------------------------------------------- */

size_t host_space_cost(size_t size) { return up(size, UNIT); }
bool host_mem_fresh(size_t size) { return size >= host_layout.large; }

/* Address space for so much, of a spare if it need not be zero. Spares give theirs back when they are in the way. */
static struct host_piece *find_room(struct host_arena *a, size_t extent, size_t cost, size_t align, bool zero)
{
    struct host_piece *p = zero ? NULL : take_spare(a, extent, align);
    while (!p && a->spares && cost + a->spare_bytes > a->capacity - a->used)
        release(a, remove_spare(a, 0));
    if (!p)
        p = carve(a, extent, align);
    while (!p && a->spares) {
        release(a, remove_spare(a, 0));
        p = carve(a, extent, align);
    }
    return p;
}

struct host_piece *host_space_take(struct host_arena *a, size_t size, size_t align, bool zero)
{
    size_t guard = size >= host_layout.kept && guards < MAX_GUARDS ? host_layout.guard : 0;
    size_t unit = size < host_layout.large ? UNIT : host_layout.block, cost = host_space_cost(size);
    size_t extent = up(size, unit), zone = 0;
    if (host_memcheck_on()) /* so that no index leads to a neighbour */
        zone = UNIT + host_config()->check_padding;
    align = align < unit ? unit : align;
    struct host_piece *p = find_room(a, up(size + zone, unit) + guard, cost, align, zero);
    if (!p && (guard || zone)) { /* little address space is left: better without */
        guard = 0;
        p = find_room(a, extent, cost, align, zero);
    }
    if (p)
        p->guard = guard;
    guards += p && guard;
    return p;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void *map_aligned(int fd, size_t size, size_t align)
{
    char *room = mmap(NULL, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return MAP_FAILED;
    char *at = (char *)up((uintptr_t)room, align);
    void *p = mmap(at, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    if (p == MAP_FAILED) {
        munmap(room, size + align);
        return p;
    }
    if (at > room)
        munmap(room, (size_t)(at - room));
    if (at < room + align)
        munmap(at + size, (size_t)(room + align - at));
    return p;
}

/* Which limit it most likely was. */
static const char *advice(int why)
{
    return why == EFBIG    ? " (ulimit -f; CUMU_HOST_MEMORY)"
           : why == ENOMEM ? " (ulimit -v; CUMU_HOST_MEMORY)"
           : why == EMFILE ? " (ulimit -n)"
                           : "";
}

bool host_space_open(struct host_arena *a, const char *name, size_t capacity)
{
    if (host_config()->strict)
        host_layout = strict;
    const size_t block = host_layout.block;
    const char *what = "memfd_create";
    a->fd = memfd_create(name, MFD_CLOEXEC);
    void *p = MAP_FAILED;
    /* Less address space does too where it is limited: others want of it, too. */
    size_t times = host_limit_address_space() == SIZE_MAX ? 8 : 2;
    for (; a->fd >= 0 && times && p == MAP_FAILED; times /= 2) {
        a->span = up(capacity * times, block) + block;
        what = "a file in memory of that size";
        if (!cumu_host_grow(a->fd, a->span + PAGE)) { /* for the books */
            what = "its address space";
            p = map_aligned(a->fd, a->span, block);
        }
    }
    const int why = errno;
    a->base = (uintptr_t)p;
    a->capacity = capacity;
    if (p != MAP_FAILED && add(a, a->base, a->base + a->span)) {
        madvise(p, a->span, MADV_DONTFORK); /* a child must not write the parent's device */
        return true;
    }
    if (p != MAP_FAILED)
        munmap(p, a->span);
    if (a->fd >= 0)
        close(a->fd);
    host_say("%zu MiB of device memory cannot be had: %s: %s%s", capacity >> 20, what, strerror(why), advice(why));
    return false;
}

void host_space_show_books(struct host_arena *a)
{
    void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, (off_t)a->span);
    if (p == MAP_FAILED)
        return;
    madvise(p, PAGE, MADV_DONTFORK);
    a->books = p;
    *a->books = (struct cumu_machine_books){CUMU_MACHINE_MARK, (uint64_t)getpid(), a->capacity, 0};
}

static void keep_piece(void *piece) { (void)piece; }

void host_space_close(struct host_arena *a)
{
    if (host_mended)
        host_mend_undo(a->base, a->base + a->span);
    while (a->spares)
        free(remove_spare(a, 0));
    tdestroy(a->by_size, keep_piece);
    tdestroy(a->by_address, free);
    munmap((void *)a->base, a->span);
    if (a->books)
        munmap(a->books, PAGE);
    close(a->fd);
}
