/* The books of memory: which ranges live. Where they lie in a device's address space is space.c's. */
#include <search.h>
#include <stdlib.h>

#include "host/driver/callback.h"
#include "host/driver/internal.h"
#include "host/driver/memcheck.h"
#include "host/driver/space.h"

struct node { /* a live range */
    struct host_range r;
    struct host_arena *arena; /* memory of an arena only, */
    struct host_piece *piece; /* and its address space */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *live; /* tsearch tree of struct node */
static struct host_arena *arenas;

uint64_t host_unique_id(void)
{
    static _Atomic uint64_t ids;
    return ++ids;
}

static _Atomic uint64_t forgotten; /* ranges so far */

const _Atomic uint64_t *cumu_host_forgotten(void) { return &forgotten; }

static int cmp_node(const void *a, const void *b)
{
    const struct host_range *x = &((const struct node *)a)->r, *y = &((const struct node *)b)->r;
    return x->base + x->size <= y->base ? -1 : y->base + y->size <= x->base;
}

static struct node *find(uintptr_t p, size_t size)
{
    struct node key = {.r = {.base = p, .size = size ? size : 1}};
    void *found = tfind(&key, &live, cmp_node);
    return found ? *(struct node **)found : NULL;
}

/* ---- arenas ---------------------------------------------------------------------------------- */

struct host_arena *host_arena_new(const char *name, size_t capacity)
{
    struct host_arena *a = calloc(1, sizeof *a);
    if (!a || !host_space_open(a, name, capacity)) {
        free(a);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    a->next = arenas;
    arenas = a;
    pthread_mutex_unlock(&lock);
    return a;
}

void host_arena_show(struct host_arena *a) { host_space_show_books(a); }

static void free_arena(struct host_arena *a)
{
    for (struct host_arena **link = &arenas; *link; link = &(*link)->next)
        if (*link == a) {
            *link = a->next;
            break;
        }
    host_space_close(a);
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

/* What is left, by blocks: as CUDA, which has no memory of less. */
static size_t left(const struct host_arena *a)
{
    size_t bytes = a->capacity - a->used;
    return a->used && a->capacity > host_layout.block ? bytes & ~(host_layout.block - 1) : bytes;
}

/* Under the books' lock. */
static void set_used(struct host_arena *a, size_t used)
{
    a->used = used;
    if (a->books)
        __atomic_store_n(&a->books->used, a->capacity - left(a), __ATOMIC_RELAXED);
}

bool host_device_charge(struct host_device *d, size_t size)
{
    pthread_mutex_lock(&lock);
    bool ok = size <= d->arena->capacity - d->arena->used;
    set_used(d->arena, d->arena->used + (ok ? size : 0));
    pthread_mutex_unlock(&lock);
    return ok;
}

void host_device_refund(struct host_device *d, size_t size)
{
    pthread_mutex_lock(&lock);
    set_used(d->arena, d->arena->used - size);
    pthread_mutex_unlock(&lock);
}

void host_memory_info(struct host_device *d, size_t *free_bytes, size_t *total)
{
    pthread_mutex_lock(&lock);
    const struct host_arena *a = d->arena;
    if (free_bytes)
        *free_bytes = left(a);
    if (total)
        *total = a->capacity;
    pthread_mutex_unlock(&lock);
}

static bool insert(const struct host_range *r, struct host_arena *a, struct host_piece *piece)
{
    struct node *n = malloc(sizeof *n);
    if (!n)
        return false;
    n->r = *r;
    n->arena = a;
    n->piece = piece;
    n->r.id = host_unique_id();
    n->r.preferred = n->r.prefetched = MU_DEVICE_INVALID;
    void *at = tsearch(n, &live, cmp_node);
    if (!at || *(struct node **)at != n) { /* no memory, or it overlaps a live range */
        free(n);
        return false;
    }
    host_memcheck_made(&n->r);
    return true;
}

bool host_range_add(const struct host_range *r)
{
    pthread_mutex_lock(&lock);
    bool ok = insert(r, NULL, NULL);
    pthread_mutex_unlock(&lock);
    return ok;
}

MUresult host_range_alloc(struct host_device *d, struct host_arena *a, MUcontext ctx, size_t size, size_t align,
                          enum host_mem_kind kind, MUmemoryPool pool, void **p)
{
    struct host_arena *own = d->arena;
    a = a ? a : own;
    if (!size || size > a->capacity)
        return size ? MUSA_ERROR_OUT_OF_MEMORY : MUSA_ERROR_INVALID_VALUE;
    size_t cost = host_space_cost(size);
    MUresult r = MUSA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    struct host_piece *piece = NULL;
    if (cost <= a->capacity - a->used && cost <= own->capacity - own->used)
        piece = host_space_take(a, size, align, kind == HOST_MEM_INTERNAL);
    if (piece) {
        struct host_range range = {
            .base = piece->base, .size = size, .kind = kind, .device = d, .ctx = ctx, .pool = pool};
        if (!host_space_show(a, piece, size) || !insert(&range, a, piece)) {
            host_space_give(a, piece, false);
        } else {
            set_used(a, a->used + cost);
            if (a != own)
                set_used(own, own->used + cost);
            *p = (void *)piece->base;
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
        atomic_fetch_add_explicit(&forgotten, 1, memory_order_release);
        host_memcheck_gone(&n->r);
        if (n->piece) {
            struct host_arena *a = n->arena, *own = n->r.device->arena;
            size_t cost = host_space_cost(n->r.size);
            host_space_give(a, n->piece, n->r.size >= host_layout.kept && n->r.kind != HOST_MEM_INTERNAL);
            set_used(a, a->used - cost);
            if (a != own)
                set_used(own, own->used - cost);
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
        case MU_MEM_ADVISE_UNSET_READ_MOSTLY: r->read_mostly = advice == MU_MEM_ADVISE_SET_READ_MOSTLY; break;
        case MU_MEM_ADVISE_SET_PREFERRED_LOCATION: r->preferred = dev; break;
        case MU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: r->preferred = MU_DEVICE_INVALID; break;
        case MU_MEM_ADVISE_SET_ACCESSED_BY: r->accessed_by |= 1ull << ((unsigned)(dev + 1) & 63); break;
        case MU_MEM_ADVISE_UNSET_ACCESSED_BY: r->accessed_by &= ~(1ull << ((unsigned)(dev + 1) & 63)); break;
        default: /* 0: a prefetch */ r->prefetched = dev;
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
    if ((visit == postorder || visit == leaf) && n->r.ctx == walked_ctx && n->r.kind != HOST_MEM_INTERNAL)
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
