/* Contexts: primary and created ones, the current one of a thread, limits, peers, the sticky
 * error. */
#include <string.h>

#include "host/driver/memcheck.h"

struct host_slab host_contexts = HOST_SLAB(struct MUctx_st, "context");

/* Creation, retention and destruction of contexts; taken before host_sched, never while waiting. */
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;

_Thread_local struct host_own host_own;

bool host_ctx_live(MUcontext c) { return host_slab_live(&host_contexts, c) && c->alive; }

MUresult host_enter(MUcontext *ctx)
{
    MUresult r = host_ready();
    if (r)
        return r;
    MUcontext c = host_current();
    if (!c)
        return MUSA_ERROR_INVALID_CONTEXT;
    if (!host_ctx_live(c))
        return MUSA_ERROR_CONTEXT_IS_DESTROYED;
    if (ctx)
        *ctx = c;
    return c->error;
}

bool host_error_sticky(MUresult r)
{
    static const short sticky[] = {MUSA_ERROR_ECC_UNCORRECTABLE,    MUSA_ERROR_ILLEGAL_ADDRESS,
                                   MUSA_ERROR_LAUNCH_TIMEOUT,       MUSA_ERROR_ASSERT,
                                   MUSA_ERROR_HARDWARE_STACK_ERROR, MUSA_ERROR_ILLEGAL_INSTRUCTION,
                                   MUSA_ERROR_MISALIGNED_ADDRESS,   MUSA_ERROR_INVALID_ADDRESS_SPACE,
                                   MUSA_ERROR_INVALID_PC,           MUSA_ERROR_LAUNCH_FAILED,
                                   MUSA_ERROR_EXTERNAL_DEVICE,      MUSA_ERROR_UNKNOWN};
    for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++)
        if (sticky[i] == r)
            return true;
    return false;
}

void host_ctx_fail(MUcontext ctx, MUresult r)
{
    int healthy = 0;
    if (host_error_sticky(r))
        atomic_compare_exchange_strong(&ctx->error, &healthy, r);
    else if (r != ctx->error)
        atomic_compare_exchange_strong(&ctx->async_error, &healthy, r);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void defaults(MUcontext c)
{
    static _Atomic uint64_t ids;
    static const size_t limits[HOST_LIMITS] = {
        [MU_LIMIT_STACK_SIZE] = 1024,
        [MU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
        [MU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
        [MU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
        [MU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
        [MU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
    };
    memcpy(c->limit, limits, sizeof limits);
    memset(c->peer, 0, sizeof c->peer);
    c->error = 0;
    c->async_error = 0;
    c->cache_config = MU_FUNC_CACHE_PREFER_NONE;
    c->shared_config = MU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    c->id = ++ids;
}

static MUresult start(MUcontext c)
{
    defaults(c);
    c->legacy = host_stream_new(c, MU_STREAM_DEFAULT, 0);
    if (!c->legacy)
        return MUSA_ERROR_OUT_OF_MEMORY;
    c->legacy->legacy = true;
    c->alive = true;
    return MUSA_SUCCESS;
}

/* Everything of the context goes; its struct stays. Not current work of other contexts is
 * disturbed. */
static void tear_down(MUcontext c)
{
    host_ctx_drain(c);
    host_kernels_ctx_gone(c);
    host_events_ctx_gone(c);
    host_textures_ctx_gone(c);
    host_memcheck_leaks(c);
    host_mipmaps_ctx_gone(c); /* before the arrays they own */
    host_arrays_ctx_gone(c);
    for (;;) {
        pthread_mutex_lock(&host_sched);
        MUstream s = c->streams;
        while (s && s->doomed) /* its thread is about to bury it */
            s = s->next;
        pthread_mutex_unlock(&host_sched);
        if (!s)
            break;
        host_stream_free(s);
    }
    c->legacy = NULL;
    host_work_unref(c->fence);
    c->fence = NULL;
    host_memory_ctx_gone(c);
}

static MUresult device_of(MUdevice dev, struct host_device **d)
{
    MUresult r = host_ready();
    if (r)
        return r;
    *d = host_device(dev);
    return *d ? MUSA_SUCCESS : MUSA_ERROR_INVALID_DEVICE;
}

MUresult muDevicePrimaryCtxRetain(MUcontext *ctx, MUdevice dev)
{
    struct host_device *d;
    MUresult r = device_of(dev, &d);
    if (r)
        return r;
    if (!ctx)
        return MUSA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&contexts_lock);
    if (!d->primary->alive)
        r = start(d->primary);
    if (!r) {
        d->primary->retained++;
        *ctx = d->primary;
    }
    pthread_mutex_unlock(&contexts_lock);
    return r;
}

MUresult muDevicePrimaryCtxRelease(MUdevice dev)
{
    struct host_device *d;
    MUresult r = device_of(dev, &d);
    if (r)
        return r;
    bool last = false;
    pthread_mutex_lock(&contexts_lock);
    if (d->primary->retained == 0)
        r = MUSA_ERROR_INVALID_CONTEXT;
    else if (--d->primary->retained == 0) {
        last = true;
        d->primary->alive = false;
    }
    pthread_mutex_unlock(&contexts_lock);
    if (last)
        tear_down(d->primary);
    return r;
}
HOST_ALIAS(muDevicePrimaryCtxRelease_v2, muDevicePrimaryCtxRelease);

/* Those who retained it keep it: the same handle goes on as a fresh context. */
MUresult muDevicePrimaryCtxReset(MUdevice dev)
{
    struct host_device *d;
    MUresult r = device_of(dev, &d);
    if (r || !d->primary->alive)
        return r;
    tear_down(d->primary);
    pthread_mutex_lock(&contexts_lock);
    r = start(d->primary);
    pthread_mutex_unlock(&contexts_lock);
    return r;
}
HOST_ALIAS(muDevicePrimaryCtxReset_v2, muDevicePrimaryCtxReset);

static bool flags_valid(unsigned flags)
{
    unsigned schedule = flags & MU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)MU_CTX_FLAGS_MASK) && !(schedule & (schedule - 1));
}

MUresult muDevicePrimaryCtxSetFlags(MUdevice dev, unsigned int flags)
{
    struct host_device *d;
    MUresult r = device_of(dev, &d);
    if (r)
        return r;
    if (!flags_valid(flags))
        return MUSA_ERROR_INVALID_VALUE;
    d->primary->flags = flags;
    return MUSA_SUCCESS;
}
HOST_ALIAS(muDevicePrimaryCtxSetFlags_v2, muDevicePrimaryCtxSetFlags);

MUresult muDevicePrimaryCtxGetState(MUdevice dev, unsigned int *flags, int *active)
{
    struct host_device *d;
    MUresult r = device_of(dev, &d);
    if (r)
        return r;
    if (flags)
        *flags = d->primary->flags;
    if (active)
        *active = d->primary->alive;
    return MUSA_SUCCESS;
}

MUresult muCtxCreate(MUcontext *ctx, unsigned int flags, MUdevice dev)
{
    struct host_device *d;
    MUresult r = device_of(dev, &d);
    if (r)
        return r;
    if (!ctx || !flags_valid(flags))
        return MUSA_ERROR_INVALID_VALUE;
    if (host_own.depth == HOST_STACK)
        return MUSA_ERROR_OUT_OF_MEMORY;
    MUcontext c = host_slab_get(&host_contexts);
    if (!c)
        return MUSA_ERROR_OUT_OF_MEMORY;
    c->device = d;
    c->flags = flags;
    r = start(c);
    if (r) {
        host_slab_put(&host_contexts, c);
        return r;
    }
    host_own.at[host_own.depth++] = c;
    *ctx = c;
    return MUSA_SUCCESS;
}
HOST_ALIAS(muCtxCreate_v2, muCtxCreate);

MUresult muCtxDestroy(MUcontext ctx)
{
    MUresult r = host_ready();
    if (r)
        return r;
    pthread_mutex_lock(&contexts_lock);
    bool mine = host_ctx_live(ctx) && !ctx->primary;
    if (mine)
        ctx->alive = false;
    pthread_mutex_unlock(&contexts_lock);
    if (!mine)
        return MUSA_ERROR_INVALID_CONTEXT;
    tear_down(ctx);
    if (host_current() == ctx)
        host_own.depth--;
    host_slab_put(&host_contexts, ctx); /* still current elsewhere: those threads see a dead handle */
    return MUSA_SUCCESS;
}
HOST_ALIAS(muCtxDestroy_v2, muCtxDestroy);

MUresult muCtxAttach(MUcontext *ctx, unsigned int flags)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (r)
        return r;
    if (!ctx || flags)
        return MUSA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&contexts_lock);
    c->retained++;
    pthread_mutex_unlock(&contexts_lock);
    *ctx = c;
    return MUSA_SUCCESS;
}

MUresult muCtxDetach(MUcontext ctx)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_ctx_live(ctx) || ctx->primary)
        return MUSA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&contexts_lock);
    bool attached = ctx->retained > 0;
    if (attached)
        ctx->retained--;
    pthread_mutex_unlock(&contexts_lock);
    return attached ? MUSA_SUCCESS : muCtxDestroy(ctx);
}

/* ---- current --------------------------------------------------------------------------------- */

MUresult muCtxPushCurrent(MUcontext ctx)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_ctx_live(ctx))
        return MUSA_ERROR_INVALID_CONTEXT;
    if (host_own.depth == HOST_STACK)
        return MUSA_ERROR_OUT_OF_MEMORY;
    host_own.at[host_own.depth++] = ctx;
    return MUSA_SUCCESS;
}
HOST_ALIAS(muCtxPushCurrent_v2, muCtxPushCurrent);

MUresult muCtxPopCurrent(MUcontext *ctx)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_own.depth)
        return MUSA_ERROR_INVALID_CONTEXT;
    MUcontext top = host_own.at[--host_own.depth];
    if (ctx)
        *ctx = top;
    return MUSA_SUCCESS;
}
HOST_ALIAS(muCtxPopCurrent_v2, muCtxPopCurrent);

MUresult muCtxSetCurrent(MUcontext ctx)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (ctx && !host_ctx_live(ctx))
        return host_slab_live(&host_contexts, ctx) ? MUSA_ERROR_CONTEXT_IS_DESTROYED : MUSA_ERROR_INVALID_CONTEXT;
    if (!ctx)
        host_own.depth -= host_own.depth > 0;
    else if (host_own.depth)
        host_own.at[host_own.depth - 1] = ctx;
    else
        host_own.at[host_own.depth++] = ctx;
    return MUSA_SUCCESS;
}

MUresult muCtxGetCurrent(MUcontext *ctx)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!ctx)
        return MUSA_ERROR_INVALID_VALUE;
    *ctx = host_current();
    return MUSA_SUCCESS;
}

MUresult muCtxGetDevice(MUdevice *dev)
{
    MUresult r = host_ready();
    if (r)
        return r;
    MUcontext c = host_current();
    if (!dev)
        return MUSA_ERROR_INVALID_VALUE;
    if (!c || !host_slab_live(&host_contexts, c))
        return MUSA_ERROR_INVALID_CONTEXT;
    *dev = c->device->ordinal;
    return MUSA_SUCCESS;
}

MUresult muCtxSynchronize(void)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (!r)
        r = host_capture_wait_check(c, NULL);
    return r ? r : host_ctx_wait(c);
}

/* ---- properties ------------------------------------------------------------------------------ */

MUresult muCtxGetFlags(unsigned int *flags)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (r)
        return r;
    if (!flags)
        return MUSA_ERROR_INVALID_VALUE;
    *flags = c->flags;
    return MUSA_SUCCESS;
}

MUresult muCtxGetApiVersion(MUcontext ctx, unsigned int *version)
{
    MUcontext c = ctx;
    MUresult r = ctx ? host_ready() : host_enter(&c);
    if (r)
        return r;
    if (!host_ctx_live(c))
        return MUSA_ERROR_INVALID_CONTEXT;
    if (!version)
        return MUSA_ERROR_INVALID_VALUE;
    *version = 3020; /* the 64-bit API: what CUDA answers too */
    return MUSA_SUCCESS;
}

MUresult muCtxSetLimit(MUlimit limit, size_t value)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (r)
        return r;
    if (limit < MU_LIMIT_STACK_SIZE || limit > MU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return MUSA_ERROR_UNSUPPORTED_LIMIT;
    if ((limit == MU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128) ||
        (limit == MU_LIMIT_STACK_SIZE && value > (512 << 10)) || (limit == MU_LIMIT_PERSISTING_L2_CACHE_SIZE && value))
        return MUSA_ERROR_INVALID_VALUE;
    c->limit[limit] = value;
    return MUSA_SUCCESS;
}

MUresult muCtxGetLimit(size_t *value, MUlimit limit)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (r)
        return r;
    if (limit < MU_LIMIT_STACK_SIZE || limit > MU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return MUSA_ERROR_UNSUPPORTED_LIMIT;
    if (!value)
        return MUSA_ERROR_INVALID_VALUE;
    *value = c->limit[limit];
    return MUSA_SUCCESS;
}

/* Cache and bank preferences are remembered and mean nothing to a CPU. */
static MUresult get_int(int *out, size_t offset)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (r)
        return r;
    if (!out)
        return MUSA_ERROR_INVALID_VALUE;
    *out = *(int *)((char *)c + offset);
    return MUSA_SUCCESS;
}

static MUresult set_int(int value, int most, size_t offset)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (r)
        return r;
    if (value < 0 || value > most)
        return MUSA_ERROR_INVALID_VALUE;
    *(int *)((char *)c + offset) = value;
    return MUSA_SUCCESS;
}

MUresult muCtxGetCacheConfig(MUfunc_cache *config) { return get_int(config, offsetof(struct MUctx_st, cache_config)); }

MUresult muCtxSetCacheConfig(MUfunc_cache config)
{
    return set_int(config, MU_FUNC_CACHE_PREFER_EQUAL, offsetof(struct MUctx_st, cache_config));
}

MUresult muCtxGetSharedMemConfig(MUsharedconfig *config)
{
    return get_int(config, offsetof(struct MUctx_st, shared_config));
}

MUresult muCtxSetSharedMemConfig(MUsharedconfig config)
{
    return set_int(config, MU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE, offsetof(struct MUctx_st, shared_config));
}

MUresult muCtxGetStreamPriorityRange(int *least, int *greatest)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = HOST_GREATEST_PRIORITY;
    return MUSA_SUCCESS;
}

MUresult muCtxResetPersistingL2Cache(void) { return host_enter(NULL); }

/* ---- peers ----------------------------------------------------------------------------------- */

MUresult muCtxEnablePeerAccess(MUcontext peer, unsigned int flags)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (r)
        return r;
    if (flags)
        return MUSA_ERROR_INVALID_VALUE;
    if (!host_ctx_live(peer) || peer == c)
        return MUSA_ERROR_INVALID_CONTEXT;
    if (peer->device == c->device)
        return MUSA_ERROR_INVALID_DEVICE;
    if (__atomic_exchange_n(&c->peer[peer->device->ordinal], 1, __ATOMIC_RELAXED))
        return MUSA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    return MUSA_SUCCESS;
}

MUresult muCtxDisablePeerAccess(MUcontext peer)
{
    MUcontext c;
    MUresult r = host_enter(&c);
    if (r)
        return r;
    if (!host_ctx_live(peer))
        return MUSA_ERROR_INVALID_CONTEXT;
    if (!__atomic_exchange_n(&c->peer[peer->device->ordinal], 0, __ATOMIC_RELAXED))
        return MUSA_ERROR_PEER_ACCESS_NOT_ENABLED;
    return MUSA_SUCCESS;
}
