/* Stream-ordered allocation. Memory is taken at the call and given back when the stream reaches the free: a pool holds
 * what is used and what is still to be freed. Its figures are CUDA's: used is what the program has not freed, reserved
 * what is held, in the pieces in which CUDA's pools take memory from the device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/driver/graph.h"
#include "host/driver/memcheck.h"

struct host_slab host_pools = HOST_SLAB(struct MUmemPoolHandle_st, "pool");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* default and current pools; a leaf */
static MUmemoryPool default_pool[HOST_MAX_DEVICES], current_pool[HOST_MAX_DEVICES];
static _Atomic int pending_frees;

/* Memory whose free is enqueued. The same stream may have it again before: what it does with it comes
 * after the free. */
struct pending {
    struct host_range range;
    MUstream stream;
    bool taken; /* it has a new owner: the free leaves it alone */
    struct pending *next;
};
static struct pending *pending; /* the lock's */

MUmemoryPool host_pool_new(struct host_device *d)
{
    MUmemoryPool p = host_slab_get(&host_pools);
    if (p) {
        p->device = d;
        p->fd = -1;
        p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
    }
    return p;
}

static MUmemoryPool pool_of(struct host_device *d, MUmemoryPool table[])
{
    pthread_mutex_lock(&lock);
    if (!default_pool[d->ordinal] && (default_pool[d->ordinal] = host_pool_new(d))) {
        default_pool[d->ordinal]->is_default = true;
        current_pool[d->ordinal] = default_pool[d->ordinal];
    }
    MUmemoryPool p = table[d->ordinal];
    pthread_mutex_unlock(&lock);
    return p;
}

void host_pool_unused(const struct host_range *r)
{
    if (r->pool)
        r->pool->used -= r->size;
}

void host_pool_freed(const struct host_range *r)
{
    r->pool->held -= r->size;
    if (!r->freeing) /* its context is gone */
        host_pool_unused(r);
}

MUcontext host_pool_owner(const struct host_device *d, MUcontext ctx) { return ctx == d->primary ? ctx : NULL; }

static uint64_t reserved(MUmemoryPool pool)
{
    const uint64_t piece = 32 << 20;
    const uint64_t all = (pool->held + piece - 1) / piece * piece;
    return pool->max_size && all > pool->max_size ? pool->max_size : all;
}

bool host_pool_drain(MUcontext ctx)
{
    if (!pending_frees)
        return false;
    host_ctx_drain(ctx);
    return true;
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void raise_high(_Atomic uint64_t *high, uint64_t value)
{
    uint64_t seen = *high;
    while (seen < value && !atomic_compare_exchange_weak(high, &seen, value))
        ;
}

/* The program has memory of the pool that it did not have. */
static void count_used(MUmemoryPool pool, size_t size)
{
    raise_high(&pool->used_high, atomic_fetch_add(&pool->used, size) + size);
    raise_high(&pool->reserved_high, reserved(pool));
}

static MUresult capture_alloc(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream s)
{
    MUgraphNodeParams n = {.type = MU_GRAPH_NODE_TYPE_MEM_ALLOC,
                           .alloc = {.poolProps = {.allocType = MU_MEM_ALLOCATION_TYPE_PINNED,
                                                   .location = {MU_MEM_LOCATION_TYPE_DEVICE, pool->device->ordinal}},
                                     .bytesize = size}};
    MUresult r = host_capture_add(s, &n, NULL);
    if (!r)
        *p = n.alloc.dptr;
    return r;
}

/* Memory of that size that the stream is about to free; 0 if there is none. */
static MUdeviceptr reuse(MUmemoryPool pool, size_t size, MUstream s)
{
    MUdeviceptr p = 0;
    pthread_mutex_lock(&lock);
    for (struct pending **link = &pending; *link; link = &(*link)->next) {
        struct pending *f = *link;
        if (f->stream == s && f->range.pool == pool && f->range.size == size) {
            *link = f->next;
            f->taken = true;
            host_range_unclaim((void *)f->range.base);
            p = f->range.base;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return p;
}

/* Allocates in the order of a stream: memory that the same stream has freed into the pool is taken again without
 * waiting; else new memory, and if there is none, what pending frees give back. */
static MUresult alloc(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream stream)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    MUcontext ctx = s->ctx;
    if (!pool)
        pool = pool_of(ctx->device, current_pool);
    if (!p || !host_slab_live(&host_pools, pool) || pool->imported)
        return MUSA_ERROR_INVALID_VALUE;
    if (!size) { /* unlike muMemAlloc: frameworks ask pools for workspaces of no bytes (nvmath-python's FFTs) */
        *p = 0;
        return MUSA_SUCCESS;
    }
    if (host_capturing(s))
        return capture_alloc(p, size, pool, s);
    if ((r = host_capture_refuse(s)))
        return r;
    MUdeviceptr again = reuse(pool, size, s);
    if (again) {
        count_used(pool, size);
        host_memcheck_pooled(again, s);
        *p = again;
        return MUSA_SUCCESS;
    }
    if (pool->max_size && pool->held + size > pool->max_size)
        return MUSA_ERROR_OUT_OF_MEMORY;
    MUcontext owner = host_pool_owner(pool->device, ctx);
    void *base;
    r = host_range_alloc(pool->device, pool->arena, owner, size, 0, HOST_MEM_DEVICE, pool, &base);
    if (r == MUSA_ERROR_OUT_OF_MEMORY && host_pool_drain(ctx))
        r = host_range_alloc(pool->device, pool->arena, owner, size, 0, HOST_MEM_DEVICE, pool, &base);
    if (r)
        return r;
    pool->held += size;
    count_used(pool, size);
    host_memcheck_pooled((uintptr_t)base, s);
    *p = (MUdeviceptr)(uintptr_t)base;
    return MUSA_SUCCESS;
}

MUresult muMemAllocAsync(MUdeviceptr *p, size_t size, MUstream stream) { return alloc(p, size, NULL, stream); }

MUresult muMemAllocFromPoolAsync(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream stream)
{
    return pool ? alloc(p, size, pool, stream) : MUSA_ERROR_INVALID_VALUE;
}

static void unlink_pending(struct pending *f)
{
    pthread_mutex_lock(&lock);
    for (struct pending **link = &pending; *link; link = &(*link)->next)
        if (*link == f) {
            *link = f->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

/* The stream has come to the free; its memory may have found a new owner on the way. */
static MUresult run_free(void *arg)
{
    struct pending *f = arg;
    unlink_pending(f);
    if (!f->taken)
        host_range_release(&f->range);
    return MUSA_SUCCESS;
}

static void drop_free(void *arg)
{
    unlink_pending(arg); /* if it never ran */
    free(arg);
    pending_frees--;
}

unsigned host_pool_kinds(MUdeviceptr p)
{
    struct host_range r;
    bool imported = host_mem_find((void *)(uintptr_t)p, &r) && r.kind == HOST_MEM_IPC && r.pool;
    return HOST_KIND(HOST_MEM_DEVICE) | (imported ? HOST_KIND(HOST_MEM_IPC) : 0u);
}

/* Frees in the order of a stream. The range is claimed at once, so that freeing it twice is an error; the memory is
 * returned when the stream gets here, or reused by the same stream before. */
MUresult muMemFreeAsync(MUdeviceptr p, MUstream stream)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        host_memcheck_given_back((void *)(uintptr_t)p);
    if (r || !p)
        return r;
    if (host_capturing(s))
        return host_capture_add(s, &(MUgraphNodeParams){.type = MU_GRAPH_NODE_TYPE_MEM_FREE, .free.dptr = p}, NULL);
    if ((r = host_capture_refuse(s)))
        return r;
    struct graph_memory *memory = graph_memory_at(p);
    if (memory) { /* of a graph: its books say that it is free, later launches follow in the stream */
        r = graph_memory_free(memory);
        graph_memory_unref(memory);
        if (!r)
            host_memcheck_unpooled(p, s);
        return r;
    }
    struct pending *f = calloc(1, sizeof *f);
    if (!f)
        return MUSA_ERROR_OUT_OF_MEMORY;
    if (!host_range_claim((void *)(uintptr_t)p, host_pool_kinds(p), &f->range)) {
        free(f);
        return MUSA_ERROR_INVALID_VALUE;
    }
    f->stream = s;
    host_memcheck_unpooled(p, s);
    host_pool_unused(&f->range);
    pending_frees++;
    if (f->range.pool && f->range.kind == HOST_MEM_DEVICE) {
        pthread_mutex_lock(&lock);
        f->next = pending;
        pending = f;
        pthread_mutex_unlock(&lock);
    }
    struct host_op op = {run_free, drop_free, f, "free", HOST_OP_ALWAYS};
    return host_enqueue(stream, &op);
}

MUresult muMemAllocAsync_ptsz(MUdeviceptr *p, size_t size, MUstream s) { return alloc(p, size, NULL, host_ptsz(s)); }
MUresult muMemAllocFromPoolAsync_ptsz(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream s)
{
    return muMemAllocFromPoolAsync(p, size, pool, host_ptsz(s));
}
MUresult muMemFreeAsync_ptsz(MUdeviceptr p, MUstream s) { return muMemFreeAsync(p, host_ptsz(s)); }

/* ---- pools ----------------------------------------------------------------------------------- */

static MUresult get_pool(MUmemoryPool *pool, MUdevice dev, MUmemoryPool table[])
{
    MUresult r = host_ready();
    if (r)
        return r;
    struct host_device *d = host_device(dev);
    if (!d)
        return MUSA_ERROR_INVALID_DEVICE;
    if (!pool)
        return MUSA_ERROR_INVALID_VALUE;
    *pool = pool_of(d, table);
    return *pool ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
}

MUresult muDeviceGetDefaultMemPool(MUmemoryPool *pool, MUdevice dev) { return get_pool(pool, dev, default_pool); }

MUresult muDeviceGetMemPool(MUmemoryPool *pool, MUdevice dev) { return get_pool(pool, dev, current_pool); }

MUresult muDeviceSetMemPool(MUdevice dev, MUmemoryPool pool)
{
    MUmemoryPool old;
    MUresult r = get_pool(&old, dev, current_pool);
    if (r)
        return r;
    if (!host_slab_live(&host_pools, pool) || pool->device->ordinal != dev)
        return MUSA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    current_pool[dev] = pool;
    pthread_mutex_unlock(&lock);
    return MUSA_SUCCESS;
}

/* Makes a pool. One that other processes may import gets an arena of its own, whose file they map; its name carries
 * the device and an id, by which they recognise it. */
MUresult muMemPoolCreate(MUmemoryPool *pool, const MUmemPoolProps *props)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!pool || !props || props->allocType != MU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != MU_MEM_LOCATION_TYPE_DEVICE)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_device *d = host_device(props->location.id);
    if (!d)
        return MUSA_ERROR_INVALID_DEVICE;
    if (props->handleTypes & ~(unsigned)MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return MUSA_ERROR_NOT_SUPPORTED; /* MEMPOOL_SUPPORTED_HANDLE_TYPES says so */
    MUmemoryPool new = host_pool_new(d);
    if (!new)
        return MUSA_ERROR_OUT_OF_MEMORY;
    new->max_size = props->maxSize;
    if (props->handleTypes) {
        size_t total;
        char name[96];
        new->pid = getpid();
        new->id = host_unique_id();
        host_memory_info(d, NULL, &total);
        snprintf(name, sizeof name, HOST_POOL_NAME "-%d-%d.%llu", d->number, new->pid, new->id);
        new->arena = host_arena_new(name, total);
        if (!new->arena) {
            host_slab_put(&host_pools, new);
            return MUSA_ERROR_OUT_OF_MEMORY;
        }
        new->fd = host_arena_fd(new->arena);
    }
    *pool = new;
    return MUSA_SUCCESS;
}

MUresult muMemPoolDestroy(MUmemoryPool pool)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_slab_live(&host_pools, pool) || pool->is_default)
        return MUSA_ERROR_INVALID_VALUE;
    int at = pool->device->ordinal;
    pthread_mutex_lock(&lock);
    if (current_pool[at] == pool)
        current_pool[at] = default_pool[at];
    pthread_mutex_unlock(&lock);
    if (pool->arena)
        host_arena_retire(pool->arena);
    else if (pool->fd >= 0)
        close(pool->fd);
    host_slab_put(&host_pools, pool); /* live allocations count down in the dead struct: harmless */
    return MUSA_SUCCESS;
}

MUresult muMemPoolTrimTo(MUmemoryPool pool, size_t keep)
{
    (void)keep;
    MUresult r = host_ready();
    if (r)
        return r;
    return host_slab_live(&host_pools, pool) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

/* Sets what a pool may reuse and keep. High marks may only be reset. */
MUresult muMemPoolSetAttribute(MUmemoryPool pool, MUmemPool_attribute attr, void *value)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_slab_live(&host_pools, pool) || !value)
        return MUSA_ERROR_INVALID_VALUE;
    switch (attr) {
    case MU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case MU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case MU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: pool->reuse[attr - 1] = *(int *)value; return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->release_threshold = *(uint64_t *)value; return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case MU_MEMPOOL_ATTR_USED_MEM_HIGH: /* may only be reset, to what is current */
        if (*(uint64_t *)value)
            return MUSA_ERROR_INVALID_VALUE;
        if (attr == MU_MEMPOOL_ATTR_USED_MEM_HIGH)
            pool->used_high = pool->used;
        else
            pool->reserved_high = reserved(pool);
        return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}

/* What a pool uses. What is reserved beyond is a figure only: arenas give memory back at once. */
MUresult muMemPoolGetAttribute(MUmemoryPool pool, MUmemPool_attribute attr, void *value)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_slab_live(&host_pools, pool) || !value)
        return MUSA_ERROR_INVALID_VALUE;
    switch (attr) {
    case MU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case MU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case MU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *(int *)value = pool->reuse[attr - 1]; return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(uint64_t *)value = pool->release_threshold; return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(uint64_t *)value = reserved(pool); return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(uint64_t *)value = pool->used; return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(uint64_t *)value = pool->reserved_high; return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_USED_MEM_HIGH: *(uint64_t *)value = pool->used_high; return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}

/* All devices share one address space; access flags are kept so that they read back. */
MUresult muMemPoolSetAccess(MUmemoryPool pool, const MUmemAccessDesc *desc, size_t count)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_slab_live(&host_pools, pool) || (count && !desc))
        return MUSA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (desc[i].location.type != MU_MEM_LOCATION_TYPE_DEVICE)
            return MUSA_ERROR_INVALID_VALUE;
        struct host_device *d = host_device(desc[i].location.id);
        if (!d)
            return MUSA_ERROR_INVALID_DEVICE;
        if (d == pool->device && desc[i].flags != MU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return MUSA_ERROR_INVALID_DEVICE; /* its own pool is a device's for ever */
        pool->access[d->ordinal] = (unsigned char)desc[i].flags;
    }
    return MUSA_SUCCESS;
}

MUresult muMemPoolGetAccess(MUmemAccess_flags *flags, MUmemoryPool pool, MUmemLocation *location)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!flags || !location || !host_slab_live(&host_pools, pool) || location->type != MU_MEM_LOCATION_TYPE_DEVICE)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_device *d = host_device(location->id);
    if (!d)
        return MUSA_ERROR_INVALID_DEVICE;
    *flags = d == pool->device ? MU_MEM_ACCESS_FLAGS_PROT_READWRITE : pool->access[d->ordinal];
    return MUSA_SUCCESS;
}
