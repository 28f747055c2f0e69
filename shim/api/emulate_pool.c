/* Stream-ordered allocation over an SDK without it: memory comes from muMemAlloc; what is freed waits for
 * its stream behind an event, and is handed out again to who asks for as much. */
#include "api/emulate.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/hmap.h"
#include "musa_enums.h"
#include "mu.h"

enum { MAX_DEVICES = 64, UNIT = 512 };
#define KEPT ((size_t)256 << 20) /* freed memory that a pool keeps, or its release threshold if that is more */

struct pool { /* behind MUmemoryPool */
    struct pool *next;
    int device;
    bool is_default, dead; /* dead: goes with its last allocation */
    size_t max_size;
    uint64_t threshold, used, used_high, reserved, reserved_high;
    int reuse[3];
    unsigned char access[MAX_DEVICES];
    struct block *freed; /* latest first */
};

struct block { /* allocated, or freed and kept */
    MUdeviceptr p;
    size_t size;
    struct pool *pool;
    MUcontext ctx;
    MUevent event; /* freed: reached when the memory is idle */
    MUstream stream;
    struct block *next;
    UT_hash_handle hh;
};

/* Blocks in use, by address; the lock guards the pools too. Nothing below is called while it is held. */
static HMAP(struct block) used = HMAP_INIT;
static struct pool *pools, *default_pool[MAX_DEVICES], *current_pool[MAX_DEVICES];

/* ---- pools (the lock is held) ---------------------------------------------------------------- */

static struct pool *new_pool(int device)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        pool->device = device;
        pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
        pool->next = pools;
        pools = pool;
    }
    return pool;
}

static struct pool *live(MUmemoryPool handle)
{
    for (struct pool *pool = pools; pool; pool = pool->next)
        if (pool == (struct pool *)handle && !pool->dead)
            return pool;
    return NULL;
}

static struct pool *pool_of(int device, struct pool *table[])
{
    if (!default_pool[device] && (default_pool[device] = new_pool(device))) {
        default_pool[device]->is_default = true;
        current_pool[device] = default_pool[device];
    }
    return table[device];
}

static void bury(struct pool *pool)
{
    if (!pool->dead || pool->used || pool->reserved)
        return;
    for (struct pool **link = &pools; *link; link = &(*link)->next)
        if (*link == pool) {
            *link = pool->next;
            free(pool);
            return;
        }
}

static void tally(struct pool *pool, int64_t in_use, int64_t reserved)
{
    pool->used += (uint64_t)in_use;
    pool->reserved += (uint64_t)reserved;
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    pool->reserved_high = pool->reserved > pool->reserved_high ? pool->reserved : pool->reserved_high;
}

static int check_device(int device)
{
    int n = 0;
    int err = mu.muDeviceGetCount(&n);
    if (err)
        return err;
    return device >= 0 && device < n && device < MAX_DEVICES ? MUSA_SUCCESS : MUSA_ERROR_INVALID_DEVICE;
}

/* ---- freed blocks ---------------------------------------------------------------------------- */

static bool idle(const struct block *b)
{
    return mu.muEventQuery(b->event) != MUSA_ERROR_NOT_READY; /* an event that is gone holds nobody */
}

static void give_back(struct block *b)
{
    mu.muEventDestroy_v2(b->event);
    mu.muMemFree_v2(b->p);
    hmap_lock(&used);
    tally(b->pool, 0, -(int64_t)b->size);
    bury(b->pool);
    hmap_unlock(&used);
    free(b);
}

static void keep_block(struct pool *pool, struct block *b)
{
    hmap_lock(&used);
    b->next = pool->freed;
    pool->freed = b;
    hmap_unlock(&used);
}

/* Gives idle freed blocks of the pool back until it keeps no more than `keep` bytes, the latest; wait:
 * those that are not idle too, when they are. */
static void shrink(struct pool *pool, size_t keep, bool wait)
{
    hmap_lock(&used);
    struct block *list = pool->freed;
    pool->freed = NULL;
    hmap_unlock(&used);
    size_t kept = 0;
    while (list) {
        struct block *b = list;
        list = b->next;
        if (kept + b->size <= keep || (!wait && !idle(b))) {
            kept += b->size;
            keep_block(pool, b);
        } else {
            if (wait)
                mu.muEventSynchronize(b->event);
            give_back(b);
        }
    }
}

/* A freed block of the size that the stream may have now, or NULL. */
static struct block *reuse(struct pool *pool, size_t size, MUcontext ctx, MUstream stream)
{
    struct block *b = NULL;
    hmap_lock(&used);
    for (struct block **link = &pool->freed; *link; link = &(*link)->next)
        if ((*link)->size == size && (*link)->ctx == ctx && ((*link)->stream == stream || !b)) {
            b = *link; /* one that was freed in this very stream is best */
            if (b->stream == stream)
                break;
        }
    for (struct block **link = &pool->freed; b && *link; link = &(*link)->next)
        if (*link == b) {
            *link = b->next;
            break;
        }
    hmap_unlock(&used);
    if (!b)
        return NULL;
    MUdeviceptr base = 0;
    size_t there = 0;
    if (mu.muMemGetAddressRange_v2(&base, &there, b->p) || base != b->p || there < size) {
        hmap_lock(&used); /* a reset of the device took it */
        tally(pool, 0, -(int64_t)b->size);
        hmap_unlock(&used);
        free(b);
        return NULL;
    }
    if (idle(b) || (b->stream == stream && !mu.muStreamWaitEvent(stream, b->event, 0))) {
        mu.muEventDestroy_v2(b->event);
        return b;
    }
    keep_block(pool, b);
    return NULL;
}

/* Takes off the books what a muMemFree that we did not see has freed. */
static void settle(void)
{
    hmap_lock(&used);
    unsigned n = 0, all = HASH_COUNT(used.head);
    struct {
        struct block *b;
        MUdeviceptr p;
    } *list = all ? malloc(all * sizeof *list) : NULL;
    for (struct block *b = list ? used.head : NULL; b; b = b->hh.next, n++) {
        list[n].b = b;
        list[n].p = b->p;
    }
    hmap_unlock(&used);
    for (unsigned i = 0; i < n; i++) {
        MUdeviceptr base = 0;
        size_t size = 0;
        struct block *b = NULL;
        if (!mu.muMemGetAddressRange_v2(&base, &size, list[i].p) && base == list[i].p)
            continue;
        hmap_lock(&used);
        HASH_FIND(hh, used.head, &list[i].p, sizeof list[i].p, b);
        b = b == list[i].b ? b : NULL; /* a new one has its place by now */
        if (b) {
            HASH_DEL(used.head, b);
            tally(b->pool, -(int64_t)b->size, -(int64_t)b->size);
        }
        hmap_unlock(&used);
        free(b);
    }
    free(list);
}

/* ---- allocation ------------------------------------------------------------------------------ */

/* Memory of the pool's device, which need not be the current one. */
static int allocate(MUdeviceptr *p, size_t size, int device, int current)
{
    MUcontext ctx = NULL, old;
    int err = device == current ? MUSA_SUCCESS : mu.muDevicePrimaryCtxRetain(&ctx, device);
    if (!err && ctx)
        err = mu.muCtxPushCurrent(ctx);
    if (!err) {
        err = mu.muMemAlloc_v2(p, size);
        if (ctx)
            mu.muCtxPopCurrent(&old);
    }
    if (ctx)
        mu.muDevicePrimaryCtxRelease(device);
    return err;
}

int cumu_pool_alloc(MUdeviceptr *p, size_t size, MUmemoryPool handle, MUstream stream)
{
    MUcontext ctx = NULL;
    MUdevice device = 0;
    if (!p || size > SIZE_MAX - UNIT)
        return MUSA_ERROR_INVALID_VALUE;
    int err = mu.muCtxGetCurrent(&ctx);
    if (!err)
        err = ctx ? mu.muCtxGetDevice(&device) : MUSA_ERROR_INVALID_CONTEXT;
    if (!err)
        err = check_device(device);
    if (err)
        return err;
    if (!size) { /* no error, unlike muMemAlloc's */
        *p = 0;
        return MUSA_SUCCESS;
    }
    size = (size + UNIT - 1) & ~(size_t)(UNIT - 1);
    hmap_lock(&used);
    /* A handle that is not ours is the SDK's own: where it has pools, but no allocation from them. */
    struct pool *pool = handle ? live(handle) : NULL;
    pool = pool ? pool : pool_of(device, current_pool);
    bool full = pool && pool->max_size && pool->used + size > pool->max_size;
    hmap_unlock(&used);
    if (!pool || full)
        return MUSA_ERROR_OUT_OF_MEMORY;
    struct block *b = reuse(pool, size, ctx, stream);
    bool fresh = !b;
    if (fresh) {
        b = calloc(1, sizeof *b);
        if (!b)
            return MUSA_ERROR_OUT_OF_MEMORY;
        *b = (struct block){.size = size, .pool = pool, .ctx = ctx};
        err = allocate(&b->p, size, pool->device, device);
        if (err == MUSA_ERROR_OUT_OF_MEMORY) { /* what is freed may be what is missing */
            shrink(pool, 0, true);
            err = allocate(&b->p, size, pool->device, device);
        }
        if (err) {
            free(b);
            return err;
        }
    }
    b->event = NULL;
    b->next = NULL;
    hmap_lock(&used);
    struct block *stale = NULL; /* left by a muMemFree that we did not see */
    HASH_FIND(hh, used.head, &b->p, sizeof b->p, stale);
    if (stale) {
        HASH_DEL(used.head, stale);
        tally(stale->pool, -(int64_t)stale->size, -(int64_t)stale->size);
    }
    HASH_ADD(hh, used.head, p, sizeof b->p, b);
    bool added = hmap_added(b);
    if (added)
        tally(pool, (int64_t)size, fresh ? (int64_t)size : 0);
    hmap_unlock(&used);
    free(stale);
    if (!added) {
        mu.muMemFree_v2(b->p);
        free(b);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *p = b->p;
    return MUSA_SUCCESS;
}

int cumu_pool_free(MUdeviceptr p, MUstream stream)
{
    MUdeviceptr base = 0;
    size_t size = 0;
    MUcontext ctx = NULL;
    MUevent event = NULL;
    if (!p)
        return MUSA_SUCCESS;
    int err = mu.muMemGetAddressRange_v2(&base, &size, p);
    if (err || base != p)
        return MUSA_ERROR_INVALID_VALUE;
    err = mu.muCtxGetCurrent(&ctx);
    if (!err)
        err = mu.muEventCreate(&event, MU_EVENT_DISABLE_TIMING);
    if (!err)
        err = mu.muEventRecord(event, stream);
    struct block *b = NULL;
    if (!err) {
        hmap_lock(&used);
        HASH_FIND(hh, used.head, &p, sizeof p, b);
        if (b)
            HASH_DEL(used.head, b);
        hmap_unlock(&used);
    }
    if (!err && !b) { /* plain memory: freed in its turn, and not kept */
        err = mu.muEventSynchronize(event);
        if (!err)
            err = mu.muMemFree_v2(p);
    }
    if (!b) {
        if (event)
            mu.muEventDestroy_v2(event);
        return err;
    }
    struct pool *pool = b->pool;
    b->event = event;
    b->stream = stream;
    b->ctx = ctx;
    hmap_lock(&used);
    tally(pool, -(int64_t)b->size, 0);
    b->next = pool->freed;
    pool->freed = b;
    size_t keep = pool->dead ? 0 : pool->threshold > KEPT ? pool->threshold : KEPT;
    bool over = pool->reserved - pool->used > keep;
    hmap_unlock(&used);
    if (over)
        shrink(pool, keep, pool->dead);
    return MUSA_SUCCESS;
}

/* ---- pools as objects ------------------------------------------------------------------------ */

int cumu_pool_of(MUmemoryPool *pool, int device, int current)
{
    int err = pool ? check_device(device) : MUSA_ERROR_INVALID_VALUE;
    if (err)
        return err;
    hmap_lock(&used);
    struct pool *found = pool_of(device, current ? current_pool : default_pool);
    hmap_unlock(&used);
    if (!found)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *pool = (MUmemoryPool)found;
    return MUSA_SUCCESS;
}

int cumu_pool_set(int device, MUmemoryPool handle)
{
    MUmemoryPool old;
    int err = cumu_pool_of(&old, device, 1);
    if (err)
        return err;
    hmap_lock(&used);
    struct pool *pool = live(handle);
    bool fits = pool && pool->device == device;
    if (fits)
        current_pool[device] = pool;
    hmap_unlock(&used);
    return fits ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

int cumu_pool_create(MUmemoryPool *pool, const MUmemPoolProps *props)
{
    if (!pool || !props || props->allocType != MU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != MU_MEM_LOCATION_TYPE_DEVICE)
        return MUSA_ERROR_INVALID_VALUE;
    if (props->handleTypes != MU_MEM_HANDLE_TYPE_NONE)
        return MUSA_ERROR_NOT_SUPPORTED;
    int err = check_device(props->location.id);
    if (err)
        return err;
    hmap_lock(&used);
    struct pool *made = new_pool(props->location.id);
    hmap_unlock(&used);
    if (!made)
        return MUSA_ERROR_OUT_OF_MEMORY;
    made->max_size = props->maxSize;
    *pool = (MUmemoryPool)made;
    return MUSA_SUCCESS;
}

int cumu_pool_destroy(MUmemoryPool handle)
{
    hmap_lock(&used);
    struct pool *pool = live(handle);
    if (pool && pool->is_default)
        pool = NULL;
    if (pool && current_pool[pool->device] == pool)
        current_pool[pool->device] = default_pool[pool->device];
    hmap_unlock(&used);
    if (!pool)
        return MUSA_ERROR_INVALID_VALUE;
    shrink(pool, 0, true);
    hmap_lock(&used);
    pool->dead = true;
    bury(pool);
    hmap_unlock(&used);
    return MUSA_SUCCESS;
}

int cumu_pool_trim(MUmemoryPool handle, size_t keep)
{
    hmap_lock(&used);
    struct pool *pool = live(handle);
    size_t in_use = pool ? pool->used : 0;
    hmap_unlock(&used);
    if (!pool)
        return MUSA_ERROR_INVALID_VALUE;
    shrink(pool, keep > in_use ? keep - in_use : 0, false);
    return MUSA_SUCCESS;
}

static uint64_t *wide_attribute(struct pool *pool, int attribute)
{
    switch (attribute) {
    case MU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return &pool->threshold;
    case MU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return &pool->reserved;
    case MU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return &pool->reserved_high;
    case MU_MEMPOOL_ATTR_USED_MEM_CURRENT: return &pool->used;
    case MU_MEMPOOL_ATTR_USED_MEM_HIGH: return &pool->used_high;
    default: return NULL;
    }
}

static bool reuse_attribute(int attribute)
{
    return attribute >= MU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
           attribute <= MU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

int cumu_pool_get_attribute(MUmemoryPool handle, int attribute, void *value)
{
    settle();
    hmap_lock(&used);
    struct pool *pool = live(handle);
    uint64_t *wide = pool ? wide_attribute(pool, attribute) : NULL;
    bool ok = pool && value && (wide || reuse_attribute(attribute));
    if (ok && wide)
        *(uint64_t *)value = *wide;
    else if (ok)
        *(int *)value = pool->reuse[attribute - 1];
    hmap_unlock(&used);
    return ok ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

int cumu_pool_set_attribute(MUmemoryPool handle, int attribute, void *value)
{
    hmap_lock(&used);
    struct pool *pool = live(handle);
    bool high = attribute == MU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == MU_MEMPOOL_ATTR_USED_MEM_HIGH;
    bool ok = pool && value &&
              (high ? *(uint64_t *)value == 0 /* a reset, to what is current */
                    : reuse_attribute(attribute) || attribute == MU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
    if (ok && high)
        *wide_attribute(pool, attribute) = attribute == MU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used : pool->reserved;
    else if (ok && attribute == MU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        pool->threshold = *(uint64_t *)value;
    else if (ok)
        pool->reuse[attribute - 1] = *(int *)value;
    hmap_unlock(&used);
    return ok ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

/* Peers see the memory through muCtxEnablePeerAccess, as all of muMemAlloc; the flags read back. */
int cumu_pool_set_access(MUmemoryPool handle, const MUmemAccessDesc *desc, size_t count)
{
    if (count && !desc)
        return MUSA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        int err = desc[i].location.type == MU_MEM_LOCATION_TYPE_DEVICE ? check_device(desc[i].location.id)
                                                                       : MUSA_ERROR_INVALID_VALUE;
        if (err)
            return err;
    }
    hmap_lock(&used);
    struct pool *pool = live(handle);
    for (size_t i = 0; pool && i < count; i++)
        pool->access[desc[i].location.id] = (unsigned char)desc[i].flags;
    hmap_unlock(&used);
    return pool ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

int cumu_pool_get_access(MUmemAccess_flags *flags, MUmemoryPool handle, MUmemLocation *where)
{
    if (!flags || !where || where->type != MU_MEM_LOCATION_TYPE_DEVICE)
        return MUSA_ERROR_INVALID_VALUE;
    int err = check_device(where->id);
    if (err)
        return err;
    hmap_lock(&used);
    struct pool *pool = live(handle);
    if (pool)
        *flags = where->id == pool->device ? MU_MEM_ACCESS_FLAGS_PROT_READWRITE : pool->access[where->id];
    hmap_unlock(&used);
    return pool ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}
