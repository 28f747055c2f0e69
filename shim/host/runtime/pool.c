/* Stream-ordered allocation and memory pools. */
#include "host/runtime/rt.h"

musaError_t musaMallocAsync(void **p, size_t size, musaStream_t stream)
{
    MUresult r = rt_enter();
    if (r || !p)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    MUdeviceptr d = 0;
    r = size ? muMemAllocAsync(&d, size, stream) : MUSA_SUCCESS;
    if (!r)
        *p = (void *)(uintptr_t)d;
    return rt_end(r);
}

musaError_t musaMallocFromPoolAsync(void **p, size_t size, musaMemPool_t pool, musaStream_t stream)
{
    MUresult r = rt_enter();
    if (r || !p)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    MUdeviceptr d = 0;
    r = size ? muMemAllocFromPoolAsync(&d, size, pool, stream) : MUSA_SUCCESS;
    if (!r)
        *p = (void *)(uintptr_t)d;
    return rt_end(r);
}

musaError_t musaFreeAsync(void *p, musaStream_t stream)
{
    RETURN_END(p ? muMemFreeAsync(rt_dev(p), stream) : MUSA_SUCCESS);
}

musaError_t musaDeviceGetDefaultMemPool(musaMemPool_t *pool, int device)
{
    RETURN_END(pool ? muDeviceGetDefaultMemPool(pool, device) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaDeviceGetMemPool(musaMemPool_t *pool, int device)
{
    RETURN_END(pool ? muDeviceGetMemPool(pool, device) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaDeviceSetMemPool(int device, musaMemPool_t pool) { RETURN_END(muDeviceSetMemPool(device, pool)); }

musaError_t musaMemPoolCreate(musaMemPool_t *pool, const musaMemPoolProps *props)
{
    RETURN_END(pool && props ? muMemPoolCreate(pool, props) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaMemPoolDestroy(musaMemPool_t pool) { RETURN_END(muMemPoolDestroy(pool)); }

musaError_t musaMemPoolTrimTo(musaMemPool_t pool, size_t keep) { RETURN_END(muMemPoolTrimTo(pool, keep)); }

musaError_t musaMemPoolSetAttribute(musaMemPool_t pool, musaMemPoolAttr attr, void *value)
{
    RETURN_END(value ? muMemPoolSetAttribute(pool, attr, value) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaMemPoolGetAttribute(musaMemPool_t pool, musaMemPoolAttr attr, void *value)
{
    RETURN_END(value ? muMemPoolGetAttribute(pool, attr, value) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaMemPoolSetAccess(musaMemPool_t pool, const musaMemAccessDesc *desc, size_t count)
{
    RETURN_END(muMemPoolSetAccess(pool, desc, count));
}

musaError_t musaMemPoolGetAccess(musaMemAccessFlags *flags, musaMemPool_t pool, musaMemLocation *location)
{
    RETURN_END(flags && location ? muMemPoolGetAccess(flags, pool, location) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaMemPoolExportToShareableHandle(void *handle, musaMemPool_t pool, MUmemAllocationHandleType type,
                                               unsigned int flags)
{
    RETURN_END(muMemPoolExportToShareableHandle(handle, pool, type, flags));
}

musaError_t musaMemPoolImportFromShareableHandle(musaMemPool_t *pool, void *handle, MUmemAllocationHandleType type,
                                                 unsigned int flags)
{
    RETURN_END(muMemPoolImportFromShareableHandle(pool, handle, type, flags));
}

musaError_t musaMemPoolExportPointer(musaMemPoolPtrExportData *data, void *p)
{
    RETURN_END(muMemPoolExportPointer(data, rt_dev(p)));
}

musaError_t musaMemPoolImportPointer(void **p, musaMemPool_t pool, musaMemPoolPtrExportData *data)
{
    MUdeviceptr d;
    MUresult r = rt_enter();
    if (!r)
        r = p ? muMemPoolImportPointer(&d, pool, data) : MUSA_ERROR_INVALID_VALUE;
    if (!r)
        *p = (void *)(uintptr_t)d;
    return rt_end(r);
}
