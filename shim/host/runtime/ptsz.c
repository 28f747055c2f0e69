/* The forms in which stream 0 is the calling thread's own default stream: _ptsz for what takes a
 * stream, _ptds for what waits (it runs in that stream and waits for it). */
#include "host/runtime/rt.h"

static musaStream_t own(musaStream_t stream) { return stream ? stream : musaStreamPerThread; }

static musaError_t wait_for(musaError_t e) { return e ? e : musaStreamSynchronize(musaStreamPerThread); }

musaError_t musaMemPrefetchAsync_ptsz(const void *p, size_t n, int device, musaStream_t stream)
{
    return musaMemPrefetchAsync(p, n, device, own(stream));
}

musaError_t musaMallocAsync_ptsz(void **p, size_t size, musaStream_t stream)
{
    return musaMallocAsync(p, size, own(stream));
}

musaError_t musaMallocFromPoolAsync_ptsz(void **p, size_t size, musaMemPool_t pool, musaStream_t stream)
{
    return musaMallocFromPoolAsync(p, size, pool, own(stream));
}

musaError_t musaFreeAsync_ptsz(void *p, musaStream_t stream) { return musaFreeAsync(p, own(stream)); }

musaError_t musaMemcpyAsync_ptsz(void *dst, const void *src, size_t n, musaMemcpyKind kind, musaStream_t stream)
{
    return musaMemcpyAsync(dst, src, n, kind, own(stream));
}

musaError_t musaMemcpy2DAsync_ptsz(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                   size_t height, musaMemcpyKind kind, musaStream_t stream)
{
    return musaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, own(stream));
}

musaError_t musaMemcpy3DAsync_ptsz(const musaMemcpy3DParms *p, musaStream_t stream)
{
    return musaMemcpy3DAsync(p, own(stream));
}

musaError_t musaMemcpy3DPeerAsync_ptsz(const musaMemcpy3DPeerParms *p, musaStream_t stream)
{
    return musaMemcpy3DPeerAsync(p, own(stream));
}

musaError_t musaMemcpyToArrayAsync_ptsz(musaArray_t dst, size_t x, size_t y, const void *src, size_t n,
                                        musaMemcpyKind kind, musaStream_t stream)
{
    return musaMemcpyToArrayAsync(dst, x, y, src, n, kind, own(stream));
}

musaError_t musaMemcpyFromArrayAsync_ptsz(void *dst, musaArray_const_t src, size_t x, size_t y, size_t n,
                                          musaMemcpyKind kind, musaStream_t stream)
{
    return musaMemcpyFromArrayAsync(dst, src, x, y, n, kind, own(stream));
}

musaError_t musaMemcpy2DToArrayAsync_ptsz(musaArray_t dst, size_t x, size_t y, const void *src, size_t spitch,
                                          size_t width, size_t height, musaMemcpyKind kind, musaStream_t stream)
{
    return musaMemcpy2DToArrayAsync(dst, x, y, src, spitch, width, height, kind, own(stream));
}

musaError_t musaMemcpy2DFromArrayAsync_ptsz(void *dst, size_t dpitch, musaArray_const_t src, size_t x, size_t y,
                                            size_t width, size_t height, musaMemcpyKind kind, musaStream_t stream)
{
    return musaMemcpy2DFromArrayAsync(dst, dpitch, src, x, y, width, height, kind, own(stream));
}

musaError_t musaMemsetAsync_ptsz(void *p, int value, size_t n, musaStream_t stream)
{
    return musaMemsetAsync(p, value, n, own(stream));
}

musaError_t musaMemset2DAsync_ptsz(void *p, size_t pitch, int value, size_t width, size_t height, musaStream_t stream)
{
    return musaMemset2DAsync(p, pitch, value, width, height, own(stream));
}

musaError_t musaMemset3DAsync_ptsz(musaPitchedPtr p, int value, musaExtent extent, musaStream_t stream)
{
    return musaMemset3DAsync(p, value, extent, own(stream));
}

musaError_t musaStreamQuery_ptsz(musaStream_t stream) { return musaStreamQuery(own(stream)); }

musaError_t musaStreamSynchronize_ptsz(musaStream_t stream) { return musaStreamSynchronize(own(stream)); }

musaError_t musaStreamWaitEvent_ptsz(musaStream_t stream, musaEvent_t event, unsigned int flags)
{
    return musaStreamWaitEvent(own(stream), event, flags);
}

musaError_t musaStreamAddCallback_ptsz(musaStream_t stream, musaStreamCallback_t fn, void *user, unsigned int flags)
{
    return musaStreamAddCallback(own(stream), fn, user, flags);
}

musaError_t musaLaunchHostFunc_ptsz(musaStream_t stream, musaHostFn_t fn, void *user)
{
    return musaLaunchHostFunc(own(stream), fn, user);
}

musaError_t musaStreamAttachMemAsync_ptsz(musaStream_t stream, void *p, size_t n, unsigned int flags)
{
    return musaStreamAttachMemAsync(own(stream), p, n, flags);
}

musaError_t musaStreamGetPriority_ptsz(musaStream_t stream, int *priority)
{
    return musaStreamGetPriority(own(stream), priority);
}

musaError_t musaStreamGetFlags_ptsz(musaStream_t stream, unsigned int *flags)
{
    return musaStreamGetFlags(own(stream), flags);
}

musaError_t musaStreamGetId_ptsz(musaStream_t stream, unsigned long long *id)
{
    return musaStreamGetId(own(stream), id);
}

musaError_t musaStreamGetDevice_ptsz(musaStream_t stream, int *device)
{
    return musaStreamGetDevice(own(stream), device);
}

musaError_t musaStreamIsCapturing_ptsz(musaStream_t stream, musaStreamCaptureStatus *status)
{
    return musaStreamIsCapturing(own(stream), status);
}

musaError_t musaStreamCopyAttributes_ptsz(musaStream_t dst, musaStream_t src)
{
    return musaStreamCopyAttributes(own(dst), own(src));
}

musaError_t musaStreamGetAttribute_ptsz(musaStream_t stream, musaStreamAttrID attr, musaStreamAttrValue *value)
{
    return musaStreamGetAttribute(own(stream), attr, value);
}

musaError_t musaStreamSetAttribute_ptsz(musaStream_t stream, musaStreamAttrID attr, const musaStreamAttrValue *value)
{
    return musaStreamSetAttribute(own(stream), attr, value);
}

musaError_t musaEventRecord_ptsz(musaEvent_t event, musaStream_t stream) { return musaEventRecord(event, own(stream)); }

musaError_t musaEventRecordWithFlags_ptsz(musaEvent_t event, musaStream_t stream, unsigned int flags)
{
    return musaEventRecordWithFlags(event, own(stream), flags);
}

musaError_t musaLaunchKernel_ptsz(const void *fn, dim3 grid, dim3 block, void **args, size_t shared,
                                  musaStream_t stream)
{
    return musaLaunchKernel(fn, grid, block, args, shared, own(stream));
}

musaError_t musaLaunchCooperativeKernel_ptsz(const void *fn, dim3 grid, dim3 block, void **args, size_t shared,
                                             musaStream_t stream)
{
    return musaLaunchCooperativeKernel(fn, grid, block, args, shared, own(stream));
}

musaError_t musaMemcpy_ptds(void *dst, const void *src, size_t n, musaMemcpyKind kind)
{
    return wait_for(musaMemcpyAsync(dst, src, n, kind, musaStreamPerThread));
}

musaError_t musaMemcpy2D_ptds(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              musaMemcpyKind kind)
{
    return wait_for(musaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, musaStreamPerThread));
}

musaError_t musaMemcpy3D_ptds(const musaMemcpy3DParms *p)
{
    return wait_for(musaMemcpy3DAsync(p, musaStreamPerThread));
}

musaError_t musaMemcpy3DPeer_ptds(const musaMemcpy3DPeerParms *p)
{
    return wait_for(musaMemcpy3DPeerAsync(p, musaStreamPerThread));
}

musaError_t musaMemcpyToArray_ptds(musaArray_t dst, size_t x, size_t y, const void *src, size_t n, musaMemcpyKind kind)
{
    return wait_for(musaMemcpyToArrayAsync(dst, x, y, src, n, kind, musaStreamPerThread));
}

musaError_t musaMemcpyFromArray_ptds(void *dst, musaArray_const_t src, size_t x, size_t y, size_t n,
                                     musaMemcpyKind kind)
{
    return wait_for(musaMemcpyFromArrayAsync(dst, src, x, y, n, kind, musaStreamPerThread));
}

musaError_t musaMemcpyArrayToArray_ptds(musaArray_t dst, size_t dx, size_t dy, musaArray_const_t src, size_t sx,
                                        size_t sy, size_t n, musaMemcpyKind kind)
{
    /* no asynchronous form: what the thread enqueued before is waited for first */
    musaError_t e = musaStreamSynchronize(musaStreamPerThread);
    return e ? e : musaMemcpyArrayToArray(dst, dx, dy, src, sx, sy, n, kind);
}

musaError_t musaMemcpy2DToArray_ptds(musaArray_t dst, size_t x, size_t y, const void *src, size_t spitch, size_t width,
                                     size_t height, musaMemcpyKind kind)
{
    return wait_for(musaMemcpy2DToArrayAsync(dst, x, y, src, spitch, width, height, kind, musaStreamPerThread));
}

musaError_t musaMemcpy2DFromArray_ptds(void *dst, size_t dpitch, musaArray_const_t src, size_t x, size_t y,
                                       size_t width, size_t height, musaMemcpyKind kind)
{
    return wait_for(musaMemcpy2DFromArrayAsync(dst, dpitch, src, x, y, width, height, kind, musaStreamPerThread));
}

musaError_t musaMemcpy2DArrayToArray_ptds(musaArray_t dst, size_t dx, size_t dy, musaArray_const_t src, size_t sx,
                                          size_t sy, size_t width, size_t height, musaMemcpyKind kind)
{
    /* no asynchronous form: what the thread enqueued before is waited for first */
    musaError_t e = musaStreamSynchronize(musaStreamPerThread);
    return e ? e : musaMemcpy2DArrayToArray(dst, dx, dy, src, sx, sy, width, height, kind);
}

musaError_t musaMemset_ptds(void *p, int value, size_t n)
{
    return wait_for(musaMemsetAsync(p, value, n, musaStreamPerThread));
}

musaError_t musaMemset2D_ptds(void *p, size_t pitch, int value, size_t width, size_t height)
{
    return wait_for(musaMemset2DAsync(p, pitch, value, width, height, musaStreamPerThread));
}

musaError_t musaMemset3D_ptds(musaPitchedPtr p, int value, musaExtent extent)
{
    return wait_for(musaMemset3DAsync(p, value, extent, musaStreamPerThread));
}
