/* Settings of the current device, access between devices, versions and entry points. */
#include "host/runtime/rt.h"

/* ---- settings of the current device ---------------------------------------------------------- */

musaError_t musaDeviceSetLimit(musaLimit limit, size_t value) { RETURN_END(muCtxSetLimit(limit, value)); }
musaError_t musaThreadSetLimit(musaLimit limit, size_t value) { return musaDeviceSetLimit(limit, value); }

musaError_t musaDeviceGetLimit(size_t *value, musaLimit limit)
{
    RETURN_END(value ? muCtxGetLimit(value, limit) : MUSA_ERROR_INVALID_VALUE);
}
musaError_t musaThreadGetLimit(size_t *value, musaLimit limit) { return musaDeviceGetLimit(value, limit); }

musaError_t musaDeviceGetCacheConfig(musaFuncCache *config)
{
    RETURN_END(config ? muCtxGetCacheConfig(config) : MUSA_ERROR_INVALID_VALUE);
}
musaError_t musaThreadGetCacheConfig(musaFuncCache *config) { return musaDeviceGetCacheConfig(config); }

musaError_t musaDeviceSetCacheConfig(musaFuncCache config) { RETURN_END(muCtxSetCacheConfig(config)); }
musaError_t musaThreadSetCacheConfig(musaFuncCache config) { return musaDeviceSetCacheConfig(config); }

musaError_t musaDeviceGetSharedMemConfig(musaSharedMemConfig *config)
{
    RETURN_END(config ? muCtxGetSharedMemConfig(config) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaDeviceSetSharedMemConfig(musaSharedMemConfig config) { RETURN_END(muCtxSetSharedMemConfig(config)); }

musaError_t musaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    RETURN_END(muCtxGetStreamPriorityRange(least, greatest));
}

musaError_t musaDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
    (void)target, (void)scope;
    RETURN_END(MUSA_ERROR_NOT_SUPPORTED); /* as the attribute says */
}

musaError_t musaCtxResetPersistingL2Cache(void) { RETURN_END(muCtxResetPersistingL2Cache()); }

musaError_t musaThreadExchangeStreamCaptureMode(musaStreamCaptureMode *mode)
{
    RETURN_END(muThreadExchangeStreamCaptureMode(mode));
}

/* ---- peers ----------------------------------------------------------------------------------- */

musaError_t musaDeviceCanAccessPeer(int *can, int device, int peer)
{
    MUresult r = rt_init();
    if (!r && (!rt_valid(device) || !rt_valid(peer)))
        r = MUSA_ERROR_INVALID_DEVICE;
    return rt_end(r ? r : can ? muDeviceCanAccessPeer(can, device, peer) : MUSA_ERROR_INVALID_VALUE);
}

/* The context of a peer, which is another device. */
static MUresult peer_context(int peer, MUcontext *ctx)
{
    MUdevice own;
    MUresult r = rt_enter();
    if (!r)
        r = muCtxGetDevice(&own);
    if (!r && own == peer)
        r = MUSA_ERROR_INVALID_DEVICE;
    return r ? r : rt_primary(peer, ctx);
}

musaError_t musaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    MUcontext ctx;
    MUresult r = peer_context(peer, &ctx);
    return rt_end(r ? r : muCtxEnablePeerAccess(ctx, flags));
}

musaError_t musaDeviceDisablePeerAccess(int peer)
{
    MUcontext ctx;
    MUresult r = peer_context(peer, &ctx);
    return rt_end(r ? r : muCtxDisablePeerAccess(ctx));
}

/* ---- versions, profiler, entry points -------------------------------------------------------- */

musaError_t musaDriverGetVersion(int *version)
{
    return rt_end(version ? muDriverGetVersion(version) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaRuntimeGetVersion(int *version) { return musaDriverGetVersion(version); }

musaError_t musaProfilerStart(void) { RETURN_END(MUSA_SUCCESS); }
musaError_t musaProfilerStop(void) { RETURN_END(MUSA_SUCCESS); }

musaError_t musaGetDriverEntryPoint(const char *symbol, void **fn, unsigned long long flags)
{
    int version;
    MUresult r = rt_init();
    if (!r)
        r = muDriverGetVersion(&version);
    return rt_end(r ? r : muGetProcAddress(symbol, fn, version, flags));
}
