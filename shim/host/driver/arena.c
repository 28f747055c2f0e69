/* The books of memory: which ranges live, and for device memory which address space and pages are
 * free.
 *
 * A device is a sparse memfd mapped once over a reserved range. As CUDA's, it is cut into blocks of 2 MiB: a
 * block with a live allocation is accessible throughout, all others are not, so that a kernel's stray access
 * faults. Small allocations share blocks, large ones have their own, followed by one that stays inaccessible.
 * The address range is larger than the device's memory: capacity is counted exactly, and fragmentation hardly
 * matters. CUMU_HOST_STRICT=1 makes the blocks pages, so that most accesses outside of allocations fault. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/driver/internal.h"

#define PAGE ((size_t)4096)
#define UNIT ((size_t)512)         /* alignment and granularity of allocations */
#define SPARES 32                  /* freed allocations with a guard that keep their pages, */
#define SPARE_BYTES ((size_t)256 << 20) /* and how much they may be, at most a quarter of the device */
#define MAX_GUARDS 16000           /* while there are few: each costs two of the 65530 mappings */

/* What is made accessible at a time, the smallest allocation that has such blocks of its own, and the smallest
 * that is followed by one that stays inaccessible. */
static struct layout {
    size_t block, large, guarded;
} layout = { (size_t)2 << 20, (size_t)1 << 20, (size_t)1 << 20 };
static const struct layout strict = { PAGE, PAGE, (size_t)64 << 10 };

struct block { /* free address space */
    uintptr_t base;
    size_t size;
};

struct spare { /* freed, with its pages: what is asked for next is often as large */
    uintptr_t base;
    size_t extent; /* a guard included */
};

struct host_arena {
    int fd;
    bool retired;               /* nobody allocates here any more */
    uintptr_t base;
    size_t span;                /* of address space */
    size_t capacity, used;      /* bytes of memory */
    void *by_address, *by_size; /* tsearch trees of struct block */
    struct spare spare[SPARES]; /* oldest first; neither live nor free */
    unsigned spares;
    size_t spare_bytes;
    uintptr_t kept;             /* a free block that has its pages still, or 0 */
    struct host_arena *next;
};

struct node { /* a live range */
    struct host_range r;
    size_t extent; /* address space it takes, guard included; memory of an arena only */
    bool guard;    /* the last block of that */
    struct host_arena *arena;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *live; /* tsearch tree of struct node */
static unsigned guards;
static struct host_arena *arenas;

uint64_t host_unique_id(void)
{
    static _Atomic uint64_t ids;
    return ++ids;
}

/* ---- trees: glibc's are balanced; ranges that overlap compare equal, so a search finds a
 * neighbour  */

static int cmp_block(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return x->base + x->size <= y->base ? -1 : y->base + y->size <= x->base;
}

static int cmp_size(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->base < y->base ? -1 : x->base > y->base;
}

static int cmp_node(const void *a, const void *b)
{
    const struct host_range *x = &((const struct node *)a)->r, *y = &((const struct node *)b)->r;
    return x->base + x->size <= y->base ? -1 : y->base + y->size <= x->base;
}

/* A search that never matches, leaving the smallest block that is large enough in *fit. */
struct fit {
    size_t size;
    struct block *best;
};

static int cmp_fit(const void *key, const void *at)
{
    struct fit *f = *(struct fit *const *)key;
    struct block *b = (struct block *)(uintptr_t)at;
    if (b->size < f->size)
        return 1;
    f->best = b;
    return -1;
}

static struct node *find(uintptr_t p, size_t size)
{
    struct node key = { .r = { .base = p, .size = size ? size : 1 } };
    void *found = tfind(&key, &live, cmp_node);
    return found ? *(struct node **)found : NULL;
}

static bool add_free(struct host_arena *a, uintptr_t base, size_t size)
{
    struct block *b = malloc(sizeof *b);
    if (!b)
        return false;
    *b = (struct block){ base, size };
    if (!tsearch(b, &a->by_address, cmp_block)) {
        free(b);
        return false;
    }
    if (!tsearch(b, &a->by_size, cmp_size)) {
        tdelete(b, &a->by_address, cmp_block);
        free(b);
        return false;
    }
    return true;
}

static void drop_free(struct host_arena *a, struct block *b)
{
    tdelete(b, &a->by_address, cmp_block);
    tdelete(b, &a->by_size, cmp_size);
    free(b);
}

/* ---- arenas ---------------------------------------------------------------------------------- */

static uintptr_t up(uintptr_t x, size_t to) { return (x + to - 1) & ~(uintptr_t)(to - 1); }
static uintptr_t down(uintptr_t x, size_t to) { return x & ~(uintptr_t)(to - 1); }

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

struct host_arena *host_arena_new(const char *name, size_t capacity)
{
    struct host_arena *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    if (host_config()->strict)
        layout = strict;
    a->fd = memfd_create(name, MFD_CLOEXEC);
    void *p = MAP_FAILED;
    /* Less address space does too where it is limited (RLIMIT_AS). */
    for (size_t times = 8; a->fd >= 0 && times && p == MAP_FAILED; times /= 2) {
        a->span = up(capacity * times, layout.block) + layout.block;
        if (!ftruncate(a->fd, (off_t)a->span))
            p = map_aligned(a->fd, a->span, layout.block);
    }
    if (p == MAP_FAILED || !add_free(a, (uintptr_t)p, a->span)) {
        if (a->fd >= 0)
            close(a->fd);
        free(a);
        return NULL;
    }
    madvise(p, a->span, MADV_DONTFORK); /* a child must not write the parent's device */
    a->base = (uintptr_t)p;
    a->capacity = capacity;
    pthread_mutex_lock(&lock);
    a->next = arenas;
    arenas = a;
    pthread_mutex_unlock(&lock);
    return a;
}

static void keep_block(void *block) { (void)block; }

static void free_arena(struct host_arena *a)
{
    for (struct host_arena **link = &arenas; *link; link = &(*link)->next)
        if (*link == a) {
            *link = a->next;
            break;
        }
    if (host_mended)
        host_mend_undo(a->base, a->base + a->span);
    tdestroy(a->by_size, keep_block);
    tdestroy(a->by_address, free);
    munmap((void *)a->base, a->span);
    close(a->fd);
    free(a);
}

void host_arena_retire(struct host_arena *a)
{
    pthread_mutex_lock(&lock);
    a->retired = true;
    if (!a->used)
        free_arena(a);
    pthread_mutex_unlock(&lock);
}

bool host_mem_fresh(size_t size) { return size >= layout.large; }

int host_arena_fd(const struct host_arena *a) { return a->fd; }

bool host_in_arena(const void *p, size_t size)
{
    uintptr_t from = (uintptr_t)p;
    bool in = false;
    pthread_mutex_lock(&lock);
    for (struct host_arena *a = arenas; a && !in; a = a->next)
        in = from < a->base + a->span && a->base < from + size;
    pthread_mutex_unlock(&lock);
    return in;
}

bool host_device_charge(struct host_device *d, size_t size)
{
    pthread_mutex_lock(&lock);
    bool ok = size <= d->arena->capacity - d->arena->used;
    d->arena->used += ok ? size : 0;
    pthread_mutex_unlock(&lock);
    return ok;
}

void host_device_refund(struct host_device *d, size_t size)
{
    pthread_mutex_lock(&lock);
    d->arena->used -= size;
    pthread_mutex_unlock(&lock);
}

void host_memory_info(struct host_device *d, size_t *free_bytes, size_t *total)
{
    pthread_mutex_lock(&lock);
    size_t left = d->arena->capacity - d->arena->used;
    if (free_bytes) /* by blocks, as CUDA, which has no memory of less */
        *free_bytes = d->arena->used && d->arena->capacity > layout.block ? down(left, layout.block) : left;
    if (total)
        *total = d->arena->capacity;
    pthread_mutex_unlock(&lock);
}

/* Cuts [base, base+extent) with the alignment out of the best fitting free block; 0 if there is
 * none. */
static uintptr_t carve(struct host_arena *a, size_t extent, size_t align)
{
    struct fit f = { .size = extent }, *key = &f;
    tfind(&key, &a->by_size, cmp_fit);
    if (f.best && up(f.best->base, align) + extent > f.best->base + f.best->size) {
        f = (struct fit){ .size = extent + align }; /* one that has room wherever it begins */
        tfind(&key, &a->by_size, cmp_fit);
    }
    if (!f.best)
        return 0;
    uintptr_t from = f.best->base, end = from + f.best->size, base = up(from, align);
    struct block *head = f.best;
    /* What is left in front and behind become blocks; the old one's struct goes last, so that a
     * failed malloc leaves the books as they were. */
    tdelete(head, &a->by_address, cmp_block);
    tdelete(head, &a->by_size, cmp_size);
    if ((base > from && !add_free(a, from, base - from)) ||
        (base + extent < end && !add_free(a, base + extent, end - base - extent))) {
        struct block key_block = { from, 1 };
        void *front = tfind(&key_block, &a->by_address, cmp_block);
        if (front)
            drop_free(a, *(struct block **)front);
        if (!tsearch(head, &a->by_address, cmp_block) || !tsearch(head, &a->by_size, cmp_size))
            host_log(1, "out of host memory: device address space is lost");
        return 0;
    }
    free(head);
    return base;
}

/* Returns address space, merged with free neighbours; *from and *end tell the whole free block. */
static void uncarve(struct host_arena *a, uintptr_t *from, uintptr_t *end)
{
    struct block before = { *from - 1, 1 }, after = { *end, 1 };
    void *found = tfind(&before, &a->by_address, cmp_block);
    if (found) {
        struct block *b = *(struct block **)found;
        *from = b->base;
        drop_free(a, b);
    }
    found = tfind(&after, &a->by_address, cmp_block);
    if (found) {
        struct block *b = *(struct block **)found;
        *end = b->base + b->size;
        drop_free(a, b);
    }
    if (!add_free(a, *from, *end - *from))
        host_log(1, "out of host memory: device address space is lost");
}

static bool insert(const struct host_range *r, struct host_arena *a, size_t extent, bool guard)
{
    struct node *n = malloc(sizeof *n);
    if (!n)
        return false;
    n->r = *r;
    n->extent = extent;
    n->guard = guard;
    n->arena = a;
    n->r.id = host_unique_id();
    n->r.preferred = n->r.prefetched = MU_DEVICE_INVALID;
    void *at = tsearch(n, &live, cmp_node);
    if (!at || *(struct node **)at != n) { /* no memory, or it overlaps a live range */
        free(n);
        return false;
    }
    return true;
}

bool host_range_add(const struct host_range *r)
{
    pthread_mutex_lock(&lock);
    bool ok = insert(r, NULL, 0, false);
    pthread_mutex_unlock(&lock);
    return ok;
}

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

/* Hides what lies in blocks of [base, base+extent) that are wholly free, within [from, end), and gives the pages
 * back. Of small allocations' blocks the latest keeps its pages: a program may have one such allocation at a
 * time, and get it again and again. */
static void release_pages(struct host_arena *a, uintptr_t base, size_t extent, uintptr_t from,
                          uintptr_t end)
{
    uintptr_t lo = down(base, layout.block), hi = up(base + extent, layout.block);
    if (lo < from)
        lo = up(from, layout.block);
    if (hi > end)
        hi = down(end, layout.block);
    if (lo >= hi)
        return;
    protect(lo, hi - lo, PROT_NONE);
    if (extent >= layout.large) {
        punch(a, lo, hi);
        return;
    }
    if (a->kept)
        punch(a, a->kept, a->kept + layout.block);
    a->kept = lo;
    if (lo + layout.block < hi) /* it lay across the border of two */
        punch(a, lo + layout.block, hi);
}

/* ---- spares: a page that is new costs ten times what writing it costs ------------------------- */

static void drop_spare(struct host_arena *a, unsigned i)
{
    a->spare_bytes -= a->spare[i].extent - layout.block;
    a->spares--;
    memmove(&a->spare[i], &a->spare[i + 1], (a->spares - i) * sizeof *a->spare);
}

static void release_spare(struct host_arena *a)
{
    uintptr_t base = a->spare[0].base, from = base, end = base + a->spare[0].extent;
    size_t extent = a->spare[0].extent;
    drop_spare(a, 0);
    uncarve(a, &from, &end);
    release_pages(a, base, extent, from, end);
}

/* Hides an allocation that is no longer live; false if it is none to keep. */
static bool keep_spare(struct host_arena *a, uintptr_t base, size_t extent)
{
    size_t most = SPARE_BYTES < a->capacity / 4 ? SPARE_BYTES : a->capacity / 4;
    size_t bytes = extent - layout.block; /* without its guard */
    if (a->retired || bytes > most || protect(base, extent, PROT_NONE))
        return false;
    while (a->spares == SPARES || a->spare_bytes + bytes > most)
        release_spare(a);
    a->spare[a->spares++] = (struct spare){ base, extent };
    a->spare_bytes += bytes;
    return true;
}

/* The latest spare of just that extent, or 0. */
static uintptr_t take_spare(struct host_arena *a, size_t extent, size_t align)
{
    for (unsigned i = a->spares; i-- > 0;)
        if (a->spare[i].extent == extent && !(a->spare[i].base & (align - 1))) {
            uintptr_t base = a->spare[i].base;
            drop_spare(a, i);
            return base;
        }
    return 0;
}

/* The address space that an allocation takes, and its alignment. */
static size_t extent_of(size_t size, bool guard, size_t *align)
{
    size_t unit = size < layout.large ? UNIT : layout.block;
    *align = *align < unit ? unit : *align;
    return up(size, unit) + (guard ? layout.block : 0);
}

/* Address space for so much, of a spare if it need not be zero. Spares give theirs back when they are in the way. */
static uintptr_t find_room(struct host_arena *a, size_t extent, size_t cost, size_t align, bool zero)
{
    uintptr_t base = zero ? 0 : take_spare(a, extent, align);
    while (!base && a->spares && cost + a->spare_bytes > a->capacity - a->used)
        release_spare(a);
    if (!base)
        base = carve(a, extent, align);
    while (!base && a->spares) {
        release_spare(a);
        base = carve(a, extent, align);
    }
    return base;
}

MUresult host_range_alloc(struct host_device *d, struct host_arena *a, MUcontext ctx, size_t size,
                          size_t align, enum host_mem_kind kind, MUmemoryPool pool, void **p)
{
    struct host_arena *own = d->arena;
    a = a ? a : own;
    if (!size || size > a->capacity)
        return size ? MUSA_ERROR_OUT_OF_MEMORY : MUSA_ERROR_INVALID_VALUE;
    size_t cost = up(size, UNIT), extent = 0;
    MUresult r = MUSA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    bool guard = size >= layout.guarded && guards < MAX_GUARDS;
    uintptr_t base = 0;
    if (cost <= a->capacity - a->used && cost <= own->capacity - own->used) {
        extent = extent_of(size, guard, &align);
        base = find_room(a, extent, cost, align, kind == HOST_MEM_INTERNAL);
        if (!base && guard) { /* little address space */
            guard = false;
            extent = extent_of(size, guard, &align);
            base = find_room(a, extent, cost, align, kind == HOST_MEM_INTERNAL);
        }
    }
    if (base) {
        uintptr_t lo = down(base, layout.block), hi = up(base + size, layout.block);
        if (a->kept >= lo && a->kept < hi) {
            if (size >= layout.large)
                punch(a, a->kept, a->kept + layout.block);
            a->kept = 0;
        }
        struct host_range range = {
            .base = base, .size = size, .kind = kind, .device = d, .ctx = ctx, .pool = pool
        };
        /* mprotect fails when the kernel's limit of mappings is reached: no memory, for the
         * caller. */
        if (protect(lo, hi - lo, PROT_READ | PROT_WRITE) || !insert(&range, a, extent, guard)) {
            uintptr_t from = base, end = base + extent;
            uncarve(a, &from, &end);
            release_pages(a, base, extent, from, end);
        } else {
            a->used += cost;
            own->used += a == own ? 0 : cost;
            guards += guard;
            *p = (void *)base;
            r = MUSA_SUCCESS;
        }
    }
    pthread_mutex_unlock(&lock);
    return r;
}

bool host_range_remove(const void *p, unsigned kinds, struct host_range *out)
{
    pthread_mutex_lock(&lock);
    struct node *n = find((uintptr_t)p, 1);
    bool ok = n && n->r.base == (uintptr_t)p && kinds & HOST_KIND(n->r.kind);
    if (ok) {
        tdelete(n, &live, cmp_node);
        if (n->extent) {
            struct host_arena *a = n->arena, *own = n->r.device->arena;
            size_t cost = up(n->r.size, UNIT);
            uintptr_t from = n->r.base, end = from + n->extent;
            if (n->r.kind == HOST_MEM_INTERNAL || !n->guard || !keep_spare(a, n->r.base, n->extent)) {
                uncarve(a, &from, &end);
                release_pages(a, n->r.base, n->extent, from, end);
            }
            a->used -= cost;
            own->used -= a == own ? 0 : cost;
            guards -= n->guard;
            if (a->retired && !a->used)
                free_arena(a);
        }
        if (out)
            *out = n->r;
        free(n);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

void host_books_lock(void) { pthread_mutex_lock(&lock); }
void host_books_unlock(void) { pthread_mutex_unlock(&lock); }
bool host_range_in(uintptr_t from, size_t size) { return find(from, size); }

bool host_arena_at(uintptr_t from, size_t size, int *fd, off_t *offset)
{
    for (const struct host_arena *a = arenas; a; a = a->next)
        if (from >= a->base && from - a->base < a->span && size <= a->span - (from - a->base)) {
            *fd = a->fd;
            *offset = (off_t)(from - a->base);
            return true;
        }
    return false;
}

bool host_mem_find(const void *p, struct host_range *out)
{
    pthread_mutex_lock(&lock);
    struct node *n = find((uintptr_t)p, 1);
    if (n)
        *out = n->r;
    pthread_mutex_unlock(&lock);
    return n != NULL;
}

size_t host_mem_device_extent(const void *p)
{
    struct host_range r;
    uintptr_t at = (uintptr_t)p;
    /* Mappings that lie side by side are as good as one. */
    while (host_mem_find((void *)at, &r) && (r.kind != HOST_MEM_MAPPED || r.access)) {
        at = r.base + r.size;
        if (r.kind != HOST_MEM_MAPPED)
            break;
    }
    return at - (uintptr_t)p;
}

bool host_mem_on_device(const void *p, size_t size) { return size <= host_mem_device_extent(p); }

void host_range_access(const void *p, unsigned access)
{
    pthread_mutex_lock(&lock);
    struct node *n = find((uintptr_t)p, 1);
    if (n)
        n->r.access = access;
    pthread_mutex_unlock(&lock);
}

bool host_range_claim(const void *p, unsigned kinds, struct host_range *out)
{
    pthread_mutex_lock(&lock);
    struct node *n = find((uintptr_t)p, 1);
    bool ok = n && n->r.base == (uintptr_t)p && kinds & HOST_KIND(n->r.kind) && !n->r.freeing;
    if (ok) {
        n->r.freeing = true;
        *out = n->r;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

void host_range_set_graph(const void *p, struct graph_memory *m)
{
    pthread_mutex_lock(&lock);
    struct node *n = find((uintptr_t)p, 1);
    if (n)
        n->r.graph = m;
    pthread_mutex_unlock(&lock);
}

void host_range_unclaim(const void *p)
{
    pthread_mutex_lock(&lock);
    struct node *n = find((uintptr_t)p, 1);
    if (n) {
        n->r.freeing = false;
        n->r.id = host_unique_id();
    }
    pthread_mutex_unlock(&lock);
}

void host_range_advise(const void *p, int advice, MUdevice dev)
{
    pthread_mutex_lock(&lock);
    struct node *n = find((uintptr_t)p, 1);
    if (n) {
        struct host_range *r = &n->r;
        switch (advice) {
        case MU_MEM_ADVISE_SET_READ_MOSTLY:
        case MU_MEM_ADVISE_UNSET_READ_MOSTLY:
            r->read_mostly = advice == MU_MEM_ADVISE_SET_READ_MOSTLY;
            break;
        case MU_MEM_ADVISE_SET_PREFERRED_LOCATION:
            r->preferred = dev;
            break;
        case MU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
            r->preferred = MU_DEVICE_INVALID;
            break;
        case MU_MEM_ADVISE_SET_ACCESSED_BY:
            r->accessed_by |= 1ull << ((unsigned)(dev + 1) & 63);
            break;
        case MU_MEM_ADVISE_UNSET_ACCESSED_BY:
            r->accessed_by &= ~(1ull << ((unsigned)(dev + 1) & 63));
            break;
        default: /* 0: a prefetch */
            r->prefetched = dev;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- walks ----------------------------------------------------------------------------------- */

static MUcontext walked_ctx; /* twalk has no argument; guarded by the lock */
static uintptr_t walked;

static void see(const void *at, VISIT visit, int depth)
{
    (void)depth;
    const struct node *n = *(struct node *const *)at;
    if ((visit == postorder || visit == leaf) && n->r.ctx == walked_ctx &&
        n->r.kind != HOST_MEM_INTERNAL)
        walked = n->r.base;
}

bool host_range_of_ctx(MUcontext ctx, struct host_range *out)
{
    pthread_mutex_lock(&lock);
    walked_ctx = ctx;
    walked = 0;
    twalk(live, see);
    struct node *n = walked ? find(walked, 1) : NULL;
    if (n)
        *out = n->r;
    pthread_mutex_unlock(&lock);
    return n != NULL;
}

bool host_arena_offset(const void *p, int *fd, size_t *offset)
{
    pthread_mutex_lock(&lock);
    struct node *n = find((uintptr_t)p, 1);
    bool ok = n && n->arena;
    if (ok) {
        *fd = n->arena->fd;
        *offset = (uintptr_t)p - n->arena->base;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}
