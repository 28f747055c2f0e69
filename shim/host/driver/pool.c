/* Stream-ordered allocation. Memory is taken at the call and given back when the stream reaches
 * the free, so a pool keeps nothing: reserved and used are the same number. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/internal.h"

struct MUmemPoolHandle_st {
    uint64_t slab_;
    struct host_device *device;
    bool is_default;
    size_t max_size; /* 0 = no limit */
    uint64_t release_threshold;
    int reuse[3]; /* by attribute - 1: hints */
    _Atomic uint64_t used, used_high, reserved_high;
    unsigned char access[HOST_MAX_DEVICES]; /* flags given to other devices */
};

struct host_slab host_pools = HOST_SLAB(struct MUmemPoolHandle_st, "pool");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* default and current pools; a leaf */
static MUmemoryPool default_pool[HOST_MAX_DEVICES], current_pool[HOST_MAX_DEVICES];
static _Atomic int pending_frees;

static MUmemoryPool new_pool(struct host_device *d)
{
    MUmemoryPool p = host_slab_get(&host_pools);
    if (p) {
        p->device = d;
        p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
    }
    return p;
}

static MUmemoryPool pool_of(struct host_device *d, MUmemoryPool table[])
{
    pthread_mutex_lock(&lock);
    if (!default_pool[d->ordinal] && (default_pool[d->ordinal] = new_pool(d))) {
        default_pool[d->ordinal]->is_default = true;
        current_pool[d->ordinal] = default_pool[d->ordinal];
    }
    MUmemoryPool p = table[d->ordinal];
    pthread_mutex_unlock(&lock);
    return p;
}

void host_pool_freed(MUmemoryPool pool, size_t size) { pool->used -= size; }

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

static MUresult alloc(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream stream)
{
    MUcontext ctx;
    MUresult r = host_stream_ctx(stream, &ctx);
    if (r)
        return r;
    if (!pool)
        pool = pool_of(ctx->device, current_pool);
    if (!p || !size || !host_slab_live(&host_pools, pool))
        return MUSA_ERROR_INVALID_VALUE;
    if (pool->max_size && pool->used + size > pool->max_size)
        return MUSA_ERROR_OUT_OF_MEMORY;
    void *base;
    r = host_range_alloc(pool->device, ctx, size, 0, HOST_MEM_DEVICE, pool, &base);
    if (r == MUSA_ERROR_OUT_OF_MEMORY && host_pool_drain(ctx))
        r = host_range_alloc(pool->device, ctx, size, 0, HOST_MEM_DEVICE, pool, &base);
    if (r)
        return r;
    uint64_t used = atomic_fetch_add(&pool->used, size) + size;
    raise_high(&pool->used_high, used);
    raise_high(&pool->reserved_high, used);
    *p = (MUdeviceptr)(uintptr_t)base;
    return MUSA_SUCCESS;
}

MUresult muMemAllocAsync(MUdeviceptr *p, size_t size, MUstream stream)
{
    return alloc(p, size, NULL, stream);
}

MUresult muMemAllocFromPoolAsync(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream stream)
{
    return pool ? alloc(p, size, pool, stream) : MUSA_ERROR_INVALID_VALUE;
}

static MUresult run_free(void *arg)
{
    host_range_release(arg);
    return MUSA_SUCCESS;
}

static void drop_free(void *arg)
{
    free(arg);
    pending_frees--;
}

MUresult muMemFreeAsync(MUdeviceptr p, MUstream stream)
{
    MUresult r = host_stream_ctx(stream, NULL);
    if (r || !p)
        return r;
    struct host_range *range = malloc(sizeof *range);
    if (!range)
        return MUSA_ERROR_OUT_OF_MEMORY;
    if (!host_range_claim((void *)(uintptr_t)p, HOST_KIND(HOST_MEM_DEVICE), range)) {
        free(range);
        return MUSA_ERROR_INVALID_VALUE;
    }
    pending_frees++;
    struct host_op op = { run_free, drop_free, range, "free", HOST_OP_ALWAYS };
    return host_enqueue(stream, &op);
}

MUresult muMemAllocAsync_ptsz(MUdeviceptr *p, size_t size, MUstream s)
{
    return alloc(p, size, NULL, host_ptsz(s));
}
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

MUresult muDeviceGetDefaultMemPool(MUmemoryPool *pool, MUdevice dev)
{
    return get_pool(pool, dev, default_pool);
}

MUresult muDeviceGetMemPool(MUmemoryPool *pool, MUdevice dev)
{
    return get_pool(pool, dev, current_pool);
}

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
    if (props->handleTypes != MU_MEM_HANDLE_TYPE_NONE)
        return MUSA_ERROR_NOT_SUPPORTED; /* MEMPOOL_SUPPORTED_HANDLE_TYPES says so */
    *pool = new_pool(d);
    if (!*pool)
        return MUSA_ERROR_OUT_OF_MEMORY;
    (*pool)->max_size = props->maxSize;
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
    case MU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->reuse[attr - 1] = *(int *)value;
        return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->release_threshold = *(uint64_t *)value;
        return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case MU_MEMPOOL_ATTR_USED_MEM_HIGH: /* may only be reset, to what is current */
        if (*(uint64_t *)value)
            return MUSA_ERROR_INVALID_VALUE;
        *(attr == MU_MEMPOOL_ATTR_USED_MEM_HIGH ? &pool->used_high : &pool->reserved_high) =
            pool->used;
        return MUSA_SUCCESS;
    default:
        return MUSA_ERROR_INVALID_VALUE;
    }
}

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
    case MU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = pool->reuse[attr - 1];
        return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(uint64_t *)value = pool->release_threshold;
        return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case MU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *(uint64_t *)value = pool->used;
        return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *(uint64_t *)value = pool->reserved_high;
        return MUSA_SUCCESS;
    case MU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(uint64_t *)value = pool->used_high;
        return MUSA_SUCCESS;
    default:
        return MUSA_ERROR_INVALID_VALUE;
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
    if (!flags || !location || !host_slab_live(&host_pools, pool) ||
        location->type != MU_MEM_LOCATION_TYPE_DEVICE)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_device *d = host_device(location->id);
    if (!d)
        return MUSA_ERROR_INVALID_DEVICE;
    *flags = d == pool->device ? MU_MEM_ACCESS_FLAGS_PROT_READWRITE : pool->access[d->ordinal];
    return MUSA_SUCCESS;
}
