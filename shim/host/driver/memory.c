/* Allocation: device memory, the driver's own, pinned and registered host memory, managed
 * memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host/driver/graph.h"
#include "host/driver/memcheck.h"

#define PITCH_ALIGN ((size_t)512) /* what NVIDIA's devices give */

/* ---- the driver's own device memory ---------------------------------------------------------- */

void *host_mem_alloc(struct host_device *d, size_t size, size_t align)
{
    void *p;
    if (host_range_alloc(d, NULL, NULL, size, align, HOST_MEM_INTERNAL, NULL, &p))
        return NULL;
    if (!host_mem_fresh(size)) /* blocks come back zeroed from the kernel; shared ones hold the past */
        memset(p, 0, size);
    return p;
}

void host_mem_free(struct host_device *d, void *p)
{
    (void)d;
    if (p)
        host_range_remove(p, HOST_KIND(HOST_MEM_INTERNAL), NULL);
}

void *host_managed_alloc(MUcontext ctx, size_t size, unsigned flags)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    struct host_range r = {.base = (uintptr_t)p,
                           .size = size,
                           .kind = HOST_MEM_MANAGED,
                           .flags = flags,
                           .device = ctx->device,
                           .ctx = ctx};
    if (!host_range_add(&r)) {
        munmap(p, size);
        return NULL;
    }
    return p;
}

void host_managed_free(void *p)
{
    struct host_range r;
    if (p && host_range_remove(p, HOST_KIND(HOST_MEM_MANAGED), &r))
        munmap(p, r.size);
}

void host_range_release(const struct host_range *r)
{
    if (!host_range_remove((void *)r->base, HOST_KIND(r->kind), NULL))
        return;
    if (r->kind == HOST_MEM_PINNED || r->kind == HOST_MEM_MANAGED || r->kind == HOST_MEM_IPC)
        munmap((void *)(r->base & ~(uintptr_t)4095), r->size + (r->base & 4095)); /* IPC: skewed */
    if (r->pool)
        host_pool_freed(r);
}

void host_memory_ctx_gone(MUcontext ctx)
{
    struct host_range r;
    while (host_range_of_ctx(ctx, &r))
        host_range_release(&r);
}

/* Memory of no context, of a pool or a graph, is freed by who says that nobody uses it any more: the calling
 * context's work is what may be under way. */
static MUcontext user_of(const struct host_range *r, MUcontext here) { return r->ctx ? r->ctx : here; }

/* Allocations and frees are what CUDA calls potentially unsafe calls. */
static MUresult enter_unsafe(MUcontext *ctx)
{
    MUresult r = host_enter(ctx);
    return r ? r : host_capture_unsafe();
}

/* An allocation lies between what was put on the legacy stream before it and what any stream is given after it:
 * CUDA's rule of implicit synchronisation once named it, and programs that use non-blocking streams still rely on it
 * to see a copy or memset done. The host does not wait, so that a kernel that waits for the host does no harm. */
static MUresult enter_allocation(MUcontext *ctx)
{
    MUresult r = enter_unsafe(ctx);
    if (!r)
        host_fence(*ctx);
    return r;
}

/* ---- device ---------------------------------------------------------------------------------- */

MUresult muMemAlloc(MUdeviceptr *p, size_t size)
{
    MUcontext ctx;
    MUresult r = enter_allocation(&ctx);
    if (r)
        return r;
    if (!p || !size)
        return MUSA_ERROR_INVALID_VALUE;
    void *base;
    r = host_range_alloc(ctx->device, NULL, ctx, size, 0, HOST_MEM_DEVICE, NULL, &base);
    /* Stream-ordered frees that have not run yet may hold what is asked for. */
    if (r == MUSA_ERROR_OUT_OF_MEMORY && host_pool_drain(ctx))
        r = host_range_alloc(ctx->device, NULL, ctx, size, 0, HOST_MEM_DEVICE, NULL, &base);
    if (!r)
        *p = (MUdeviceptr)(uintptr_t)base;
    else
        host_log(2, "muMemAlloc: %zu bytes: error %d", size, r);
    return r;
}
HOST_ALIAS(muMemAlloc_v2, muMemAlloc);

MUresult muMemAllocPitch(MUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned int element)
{
    if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
        return MUSA_ERROR_INVALID_VALUE;
    size_t row, size;
    if (__builtin_add_overflow(width, PITCH_ALIGN - 1, &row) ||
        __builtin_mul_overflow(row & ~(PITCH_ALIGN - 1), height, &size))
        return MUSA_ERROR_OUT_OF_MEMORY;
    MUresult r = muMemAlloc(p, size);
    if (!r)
        *pitch = row & ~(PITCH_ALIGN - 1);
    return r;
}
HOST_ALIAS(muMemAllocPitch_v2, muMemAllocPitch);

/* A free in a context that has failed does nothing; what fails while a free waits is freed. Of both no leak is told. */
static MUresult enter_free(const void *p, MUcontext *ctx)
{
    MUresult r = host_enter(ctx);
    if (r)
        host_memcheck_given_back(p);
    return r ? r : host_capture_unsafe();
}

MUresult muMemFree(MUdeviceptr p)
{
    MUcontext ctx;
    MUresult r = enter_free((void *)(uintptr_t)p, &ctx);
    if (r || !p)
        return r;
    struct host_range range = {.base = 0};
    struct graph_memory *memory = graph_memory_at(p);
    if (memory) {
        if (host_mem_find((void *)(uintptr_t)p, &range))
            r = host_ctx_wait(user_of(&range, ctx));
        r = r ? r : graph_memory_free(memory);
        graph_memory_unref(memory);
        if (!r && user_of(&range, ctx)->legacy)
            host_memcheck_unpooled(p, user_of(&range, ctx)->legacy);
        return r;
    }
    if (!host_range_claim((void *)(uintptr_t)p, host_pool_kinds(p) | HOST_KIND(HOST_MEM_MANAGED), &range))
        return MUSA_ERROR_INVALID_VALUE;
    host_pool_unused(&range);
    r = host_ctx_wait(user_of(&range, ctx)); /* work that uses the memory may be under way */
    host_range_release(&range);
    return r;
}
HOST_ALIAS(muMemFree_v2, muMemFree);

MUresult muMemGetInfo(size_t *free_bytes, size_t *total)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    host_memory_info(ctx->device, free_bytes, total);
    return MUSA_SUCCESS;
}
HOST_ALIAS(muMemGetInfo_v2, muMemGetInfo);

MUresult muMemGetAddressRange(MUdeviceptr *base, size_t *size, MUdeviceptr p)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    struct host_range range;
    if (!host_mem_find((void *)(uintptr_t)p, &range))
        return MUSA_ERROR_NOT_FOUND;
    if (base)
        *base = range.base;
    if (size)
        *size = range.size;
    return MUSA_SUCCESS;
}
HOST_ALIAS(muMemGetAddressRange_v2, muMemGetAddressRange);

/* ---- host ------------------------------------------------------------------------------------ */

#define HOST_ALLOC_FLAGS \
    ((unsigned)(MU_MEMHOSTALLOC_PORTABLE | MU_MEMHOSTALLOC_DEVICEMAP | MU_MEMHOSTALLOC_WRITECOMBINED))
#define HOST_REGISTER_FLAGS \
    ((unsigned)(MU_MEMHOSTREGISTER_PORTABLE | MU_MEMHOSTREGISTER_DEVICEMAP | MU_MEMHOSTREGISTER_IOMEMORY | \
                MU_MEMHOSTREGISTER_READ_ONLY))

MUresult muMemHostAlloc(void **p, size_t size, unsigned int flags)
{
    MUcontext ctx;
    MUresult r = enter_allocation(&ctx);
    if (r)
        return r;
    if (!p || !size || flags & ~HOST_ALLOC_FLAGS)
        return MUSA_ERROR_INVALID_VALUE;
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return MUSA_ERROR_OUT_OF_MEMORY;
    struct host_range range = {.base = (uintptr_t)base,
                               .size = size,
                               .kind = HOST_MEM_PINNED,
                               .flags = flags | MU_MEMHOSTALLOC_DEVICEMAP,
                               .device = ctx->device,
                               .ctx = ctx};
    if (!host_range_add(&range)) {
        munmap(base, size);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *p = base;
    return MUSA_SUCCESS;
}

MUresult muMemAllocHost(void **p, size_t size) { return muMemHostAlloc(p, size, 0); }
HOST_ALIAS(muMemAllocHost_v2, muMemAllocHost);

MUresult muMemFreeHost(void *p)
{
    MUresult r = enter_free(p, NULL);
    if (r || !p)
        return r;
    struct host_range range;
    if (!host_mem_find(p, &range) || range.base != (uintptr_t)p || range.kind != HOST_MEM_PINNED)
        return MUSA_ERROR_INVALID_VALUE;
    r = host_ctx_wait(range.ctx);
    host_range_release(&range);
    return r;
}

/* Linux looks at the mappings alone for this call, and does nothing else. */
static bool is_mapped(const void *p, size_t size)
{
    uintptr_t from = (uintptr_t)p & ~(uintptr_t)4095;
    return msync((void *)from, (uintptr_t)p + size - from, MS_ASYNC) == 0 || errno != ENOMEM;
}

MUresult muMemHostRegister(void *p, size_t size, unsigned int flags)
{
    MUcontext ctx;
    MUresult r = enter_unsafe(&ctx);
    if (r)
        return r;
    if (!p || !size || (uintptr_t)p + size < (uintptr_t)p || flags & ~HOST_REGISTER_FLAGS || host_in_arena(p, size) ||
        host_vmm_reserved(p, size) || !is_mapped(p, size))
        return MUSA_ERROR_INVALID_VALUE;
    struct host_range range = {.base = (uintptr_t)p,
                               .size = size,
                               .kind = HOST_MEM_REGISTERED,
                               .flags = flags | MU_MEMHOSTREGISTER_DEVICEMAP,
                               .device = ctx->device,
                               .ctx = ctx};
    return host_range_add(&range) ? MUSA_SUCCESS : MUSA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}
HOST_ALIAS(muMemHostRegister_v2, muMemHostRegister);

MUresult muMemHostUnregister(void *p)
{
    MUresult r = enter_unsafe(NULL);
    if (r)
        return r;
    if (!p)
        return MUSA_ERROR_INVALID_VALUE;
    struct host_range range;
    if (!host_mem_find(p, &range) || range.base != (uintptr_t)p || range.kind != HOST_MEM_REGISTERED)
        return MUSA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    r = host_ctx_wait(range.ctx);
    host_range_release(&range);
    return r;
}

static MUresult host_range_of(const void *p, struct host_range *range)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    if (!p || !host_mem_find(p, range) || !(HOST_KIND(range->kind) & HOST_HOST_KINDS))
        return MUSA_ERROR_INVALID_VALUE;
    return MUSA_SUCCESS;
}

MUresult muMemHostGetDevicePointer(MUdeviceptr *dp, void *p, unsigned int flags)
{
    struct host_range range;
    MUresult r = host_range_of(p, &range);
    if (r)
        return r;
    if (!dp || flags)
        return MUSA_ERROR_INVALID_VALUE;
    *dp = (MUdeviceptr)(uintptr_t)p; /* one address space */
    return MUSA_SUCCESS;
}
HOST_ALIAS(muMemHostGetDevicePointer_v2, muMemHostGetDevicePointer);

MUresult muMemHostGetFlags(unsigned int *flags, void *p)
{
    struct host_range range;
    MUresult r = host_range_of(p, &range);
    if (r)
        return r;
    if (!flags || range.kind != HOST_MEM_PINNED)
        return MUSA_ERROR_INVALID_VALUE;
    *flags = range.flags;
    return MUSA_SUCCESS;
}

/* ---- managed --------------------------------------------------------------------------------- */

MUresult muMemAllocManaged(MUdeviceptr *p, size_t size, unsigned int flags)
{
    MUcontext ctx;
    MUresult r = enter_unsafe(&ctx);
    if (r)
        return r;
    if (!p || !size || (flags != MU_MEM_ATTACH_GLOBAL && flags != MU_MEM_ATTACH_HOST))
        return MUSA_ERROR_INVALID_VALUE;
    void *base = host_managed_alloc(ctx, size, flags);
    if (!base)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *p = (MUdeviceptr)(uintptr_t)base;
    return MUSA_SUCCESS;
}
