/* Streams, events and host functions. */
#include "host/runtime/rt.h"

/* ---- streams --------------------------------------------------------------------------------- */

musaError_t musaStreamCreate(musaStream_t *stream) { return musaStreamCreateWithFlags(stream, 0); }

musaError_t musaStreamCreateWithFlags(musaStream_t *stream, unsigned int flags)
{
    RETURN_END(stream ? muStreamCreate(stream, flags) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaStreamCreateWithPriority(musaStream_t *stream, unsigned int flags, int priority)
{
    RETURN_END(stream ? muStreamCreateWithPriority(stream, flags, priority) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaStreamDestroy(musaStream_t stream) { RETURN_END(muStreamDestroy(stream)); }
musaError_t musaStreamQuery(musaStream_t stream) { RETURN_END(muStreamQuery(stream)); }
musaError_t musaStreamSynchronize(musaStream_t stream) { RETURN_END(muStreamSynchronize(stream)); }

musaError_t musaStreamWaitEvent(musaStream_t stream, musaEvent_t event, unsigned int flags)
{
    RETURN_END(muStreamWaitEvent(stream, event, flags));
}

/* Both callback types take handle, int and pointer. */
musaError_t musaStreamAddCallback(musaStream_t stream, musaStreamCallback_t fn, void *user, unsigned int flags)
{
    RETURN_END(fn ? muStreamAddCallback(stream, fn, user, flags) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaLaunchHostFunc(musaStream_t stream, musaHostFn_t fn, void *user)
{
    RETURN_END(fn ? muLaunchHostFunc(stream, fn, user) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaStreamAttachMemAsync(musaStream_t stream, void *p, size_t n, unsigned int flags)
{
    RETURN_END(muStreamAttachMemAsync(stream, rt_dev(p), n, flags));
}

musaError_t musaStreamGetPriority(musaStream_t stream, int *priority)
{
    RETURN_END(priority ? muStreamGetPriority(stream, priority) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaStreamGetFlags(musaStream_t stream, unsigned int *flags)
{
    RETURN_END(flags ? muStreamGetFlags(stream, flags) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaStreamGetId(musaStream_t stream, unsigned long long *id)
{
    RETURN_END(id ? muStreamGetId(stream, id) : MUSA_ERROR_INVALID_VALUE);
}

static MUresult device_of(musaStream_t stream, int *device)
{
    MUcontext ctx;
    MUresult r = muStreamGetCtx(stream, &ctx);
    if (r || (r = muCtxPushCurrent(ctx)))
        return r;
    r = muCtxGetDevice(device);
    muCtxPopCurrent(&ctx);
    return r;
}

musaError_t musaStreamGetDevice(musaStream_t stream, int *device)
{
    RETURN_END(device ? device_of(stream, device) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaStreamIsCapturing(musaStream_t stream, musaStreamCaptureStatus *status)
{
    RETURN_END(status ? muStreamIsCapturing(stream, status) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaStreamCopyAttributes(musaStream_t dst, musaStream_t src)
{
    RETURN_END(muStreamCopyAttributes(dst, src));
}

musaError_t musaStreamGetAttribute(musaStream_t stream, musaStreamAttrID attr, musaStreamAttrValue *value)
{
    RETURN_END(value ? muStreamGetAttribute(stream, attr, value) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaStreamSetAttribute(musaStream_t stream, musaStreamAttrID attr, const musaStreamAttrValue *value)
{
    RETURN_END(value ? muStreamSetAttribute(stream, attr, value) : MUSA_ERROR_INVALID_VALUE);
}

/* ---- events ---------------------------------------------------------------------------------- */

musaError_t musaEventCreate(musaEvent_t *event) { return musaEventCreateWithFlags(event, 0); }

musaError_t musaEventCreateWithFlags(musaEvent_t *event, unsigned int flags)
{
    RETURN_END(event ? muEventCreate(event, flags) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaEventDestroy(musaEvent_t event) { RETURN_END(muEventDestroy(event)); }

musaError_t musaEventRecord(musaEvent_t event, musaStream_t stream) { RETURN_END(muEventRecord(event, stream)); }

musaError_t musaEventRecordWithFlags(musaEvent_t event, musaStream_t stream, unsigned int flags)
{
    RETURN_END(muEventRecordWithFlags(event, stream, flags));
}

musaError_t musaEventQuery(musaEvent_t event) { RETURN_END(muEventQuery(event)); }
musaError_t musaEventSynchronize(musaEvent_t event) { RETURN_END(muEventSynchronize(event)); }

musaError_t musaEventElapsedTime(float *ms, musaEvent_t start, musaEvent_t end)
{
    RETURN_END(ms ? muEventElapsedTime(ms, start, end) : MUSA_ERROR_INVALID_VALUE);
}
