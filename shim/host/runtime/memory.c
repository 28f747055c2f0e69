/* Allocation of device, host and managed memory, and what is known about a pointer. */
#include "host/runtime/rt.h"

musaError_t musaMalloc(void **p, size_t size)
{
    MUresult r = rt_enter();
    if (r || !p)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    MUdeviceptr d = 0;
    r = size ? muMemAlloc(&d, size) : MUSA_SUCCESS; /* nothing is asked for, nothing is given */
    if (!r)
        *p = (void *)(uintptr_t)d;
    return rt_end(r);
}

musaError_t musaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
    MUresult r = rt_enter();
    if (r || !p || !pitch)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    MUdeviceptr d = 0;
    size_t bytes = 0;
    r = width && height ? muMemAllocPitch(&d, &bytes, width, height, 4) : MUSA_SUCCESS;
    if (!r) {
        *p = (void *)(uintptr_t)d;
        *pitch = bytes;
    }
    return rt_end(r);
}

musaError_t musaMalloc3D(musaPitchedPtr *p, musaExtent extent)
{
    if (!p)
        return rt_end(MUSA_ERROR_INVALID_VALUE);
    void *memory = NULL;
    size_t pitch = 0, rows;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return rt_end(MUSA_ERROR_OUT_OF_MEMORY);
    musaError_t e = musaMallocPitch(&memory, &pitch, extent.width, rows);
    if (!e)
        *p = (musaPitchedPtr){memory, pitch, extent.width, extent.height};
    return e;
}

musaError_t musaMallocManaged(void **p, size_t size, unsigned int flags)
{
    MUresult r = rt_enter();
    if (r || !p)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    MUdeviceptr d = 0;
    r = muMemAllocManaged(&d, size, flags);
    if (!r)
        *p = (void *)(uintptr_t)d;
    return rt_end(r);
}

/* Without memory it makes a context; where there is one, captures forbid it as any other free. */
musaError_t musaFree(void *p)
{
    MUcontext current = NULL;
    if (!p)
        (void)muCtxGetCurrent(&current);
    RETURN_END(p || current ? muMemFree(rt_dev(p)) : MUSA_SUCCESS);
}

musaError_t musaMallocHost(void **p, size_t size) { return musaHostAlloc(p, size, 0); }

musaError_t musaHostAlloc(void **p, size_t size, unsigned int flags)
{
    MUresult r = rt_enter();
    if (r || !p)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    if (!size) {
        *p = NULL;
        return musaSuccess;
    }
    return rt_end(muMemHostAlloc(p, size, flags));
}

musaError_t musaFreeHost(void *p) { RETURN_END(p ? muMemFreeHost(p) : MUSA_SUCCESS); }

musaError_t musaHostRegister(void *p, size_t size, unsigned int flags)
{
    RETURN_END(muMemHostRegister(p, size, flags));
}

musaError_t musaHostUnregister(void *p) { RETURN_END(muMemHostUnregister(p)); }

musaError_t musaHostGetDevicePointer(void **dp, void *p, unsigned int flags)
{
    MUresult r = rt_enter();
    MUdeviceptr d = 0;
    if (r || !dp)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    r = muMemHostGetDevicePointer(&d, p, flags);
    if (!r)
        *dp = (void *)(uintptr_t)d;
    return rt_end(r);
}

musaError_t musaHostGetFlags(unsigned int *flags, void *p)
{
    RETURN_END(flags ? muMemHostGetFlags(flags, p) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaMemGetInfo(size_t *free_bytes, size_t *total)
{
    MUresult r = rt_enter();
    size_t f = 0, t = 0;
    if (!r)
        r = muMemGetInfo(&f, &t);
    if (!r && free_bytes)
        *free_bytes = f;
    if (!r && total)
        *total = t;
    return rt_end(r);
}

/* ---- what a pointer is ----------------------------------------------------------------------- */

/* What the driver knows of a pointer, in the runtime's terms; memory that it does not know is host memory, which is
 * an answer. */
musaError_t musaPointerGetAttributes(musaPointerAttributes *a, const void *p)
{
    MUresult r = rt_enter();
    if (r || !a)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    MUdeviceptr at = rt_dev(p), device = 0;
    MUmemorytype type = 0;
    int ordinal = -1;
    unsigned managed = 0; /* the driver writes one byte or a word */
    void *host = NULL;
    if (muPointerGetAttribute(&type, MU_POINTER_ATTRIBUTE_MEMORY_TYPE, at)) {
        *a = (musaPointerAttributes){musaMemoryTypeUnregistered, musaInvalidDeviceId, NULL, (void *)(uintptr_t)p};
        return musaSuccess; /* memory that the driver does not know is an answer, not an error */
    }
    muPointerGetAttribute(&ordinal, MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at);
    muPointerGetAttribute(&managed, MU_POINTER_ATTRIBUTE_IS_MANAGED, at);
    if (muPointerGetAttribute(&device, MU_POINTER_ATTRIBUTE_DEVICE_POINTER, at))
        device = 0;
    if (muPointerGetAttribute(&host, MU_POINTER_ATTRIBUTE_HOST_POINTER, at))
        host = NULL;
    a->type = managed ? musaMemoryTypeManaged : type == MU_MEMORYTYPE_HOST ? musaMemoryTypeHost : musaMemoryTypeDevice;
    a->device = ordinal;
    a->devicePointer = (void *)(uintptr_t)device;
    a->hostPointer = host;
    return musaSuccess;
}

musaError_t musaMemAdvise(const void *p, size_t n, musaMemoryAdvise advice, int device)
{
    RETURN_END(muMemAdvise(rt_dev(p), n, advice, device));
}

musaError_t musaMemPrefetchAsync(const void *p, size_t n, int device, musaStream_t stream)
{
    RETURN_END(muMemPrefetchAsync(rt_dev(p), n, device, stream));
}

musaError_t musaMemRangeGetAttribute(void *data, size_t size, musaMemRangeAttribute attr, const void *p, size_t n)
{
    RETURN_END(muMemRangeGetAttribute(data, size, attr, rt_dev(p), n));
}

musaError_t musaMemRangeGetAttributes(void **data, size_t *sizes, musaMemRangeAttribute *attrs, size_t count,
                                      const void *p, size_t n)
{
    RETURN_END(muMemRangeGetAttributes(data, sizes, attrs, count, rt_dev(p), n));
}

/* ---- between processes ----------------------------------------------------------------------- */

musaError_t musaIpcGetMemHandle(musaIpcMemHandle_t *handle, void *p)
{
    RETURN_END(muIpcGetMemHandle(handle, rt_dev(p)));
}

musaError_t musaIpcOpenMemHandle(void **p, musaIpcMemHandle_t handle, unsigned int flags)
{
    MUresult r = rt_enter();
    MUdeviceptr d = 0;
    if (r || !p)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    r = muIpcOpenMemHandle(&d, handle, flags);
    if (!r)
        *p = (void *)(uintptr_t)d;
    return rt_end(r);
}

musaError_t musaIpcCloseMemHandle(void *p) { RETURN_END(muIpcCloseMemHandle(rt_dev(p))); }

musaError_t musaIpcGetEventHandle(musaIpcEventHandle_t *handle, musaEvent_t event)
{
    RETURN_END(muIpcGetEventHandle(handle, event));
}

musaError_t musaIpcOpenEventHandle(musaEvent_t *event, musaIpcEventHandle_t handle)
{
    RETURN_END(muIpcOpenEventHandle(event, handle));
}
