/* Copies of linear memory in one, two and three dimensions, and between devices. Copies that
 * involve arrays are in array.c and use the 3D form here. */
#include "host/runtime/copy.h"

bool rt_kind_valid(musaMemcpyKind kind) { return kind >= musaMemcpyHostToHost && kind <= musaMemcpyDefault; }

MUmemorytype rt_source_type(musaMemcpyKind kind)
{
    return kind == musaMemcpyDefault                                        ? MU_MEMORYTYPE_UNIFIED
           : kind == musaMemcpyHostToDevice || kind == musaMemcpyHostToHost ? MU_MEMORYTYPE_HOST
                                                                            : MU_MEMORYTYPE_DEVICE;
}

MUmemorytype rt_target_type(musaMemcpyKind kind)
{
    return kind == musaMemcpyDefault                                        ? MU_MEMORYTYPE_UNIFIED
           : kind == musaMemcpyDeviceToHost || kind == musaMemcpyHostToHost ? MU_MEMORYTYPE_HOST
                                                                            : MU_MEMORYTYPE_DEVICE;
}

/* ---- linear ---------------------------------------------------------------------------------- */

musaError_t musaMemcpy(void *dst, const void *src, size_t n, musaMemcpyKind kind)
{
    MUresult r = rt_enter();
    if (r || !rt_kind_valid(kind))
        return rt_end(r ? r : musaErrorInvalidMemcpyDirection);
    if (!n)
        return musaSuccess;
    switch (kind) {
    case musaMemcpyHostToDevice: return rt_end(muMemcpyHtoD(rt_dev(dst), src, n));
    case musaMemcpyDeviceToHost: return rt_end(muMemcpyDtoH(dst, rt_dev(src), n));
    case musaMemcpyDeviceToDevice: return rt_end(muMemcpyDtoD(rt_dev(dst), rt_dev(src), n));
    default: return rt_end(muMemcpy(rt_dev(dst), rt_dev(src), n));
    }
}

musaError_t musaMemcpyAsync(void *dst, const void *src, size_t n, musaMemcpyKind kind, musaStream_t stream)
{
    MUresult r = rt_enter();
    if (r || !rt_kind_valid(kind))
        return rt_end(r ? r : musaErrorInvalidMemcpyDirection);
    if (!n)
        return musaSuccess;
    switch (kind) {
    case musaMemcpyHostToDevice: return rt_end(muMemcpyHtoDAsync(rt_dev(dst), src, n, stream));
    case musaMemcpyDeviceToHost: return rt_end(muMemcpyDtoHAsync(dst, rt_dev(src), n, stream));
    case musaMemcpyDeviceToDevice: return rt_end(muMemcpyDtoDAsync(rt_dev(dst), rt_dev(src), n, stream));
    default: return rt_end(muMemcpyAsync(rt_dev(dst), rt_dev(src), n, stream));
    }
}

musaError_t musaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t n,
                                musaStream_t stream)
{
    MUcontext to, from;
    MUresult r = rt_enter();
    if (r || (r = rt_primary(dst_device, &to)) || (r = rt_primary(src_device, &from)) || !n)
        return rt_end(r);
    return rt_end(muMemcpyPeerAsync(rt_dev(dst), to, rt_dev(src), from, n, stream));
}

musaError_t musaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t n)
{
    MUcontext to, from;
    MUresult r = rt_enter();
    if (r || (r = rt_primary(dst_device, &to)) || (r = rt_primary(src_device, &from)) || !n)
        return rt_end(r);
    return rt_end(muMemcpyPeer(rt_dev(dst), to, rt_dev(src), from, n));
}

/* ---- two dimensions -------------------------------------------------------------------------- */

static MUresult plan_2d(MUSA_MEMCPY2D *c, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                        size_t height, musaMemcpyKind kind)
{
    if (!rt_kind_valid(kind))
        return musaErrorInvalidMemcpyDirection;
    if (height > 1 && (width > dpitch || width > spitch))
        return musaErrorInvalidPitchValue;
    *c = (MUSA_MEMCPY2D){.srcMemoryType = rt_source_type(kind),
                         .srcHost = src,
                         .srcDevice = rt_dev(src),
                         .srcPitch = spitch < width ? width : spitch,
                         .dstMemoryType = rt_target_type(kind),
                         .dstHost = dst,
                         .dstDevice = rt_dev(dst),
                         .dstPitch = dpitch < width ? width : dpitch,
                         .WidthInBytes = width,
                         .Height = height};
    return MUSA_SUCCESS;
}

musaError_t musaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         musaMemcpyKind kind)
{
    MUSA_MEMCPY2D c;
    MUresult r = rt_enter();
    if (!r)
        r = plan_2d(&c, dst, dpitch, src, spitch, width, height, kind);
    return rt_end(r || !width || !height ? r : muMemcpy2DUnaligned(&c));
}

musaError_t musaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              musaMemcpyKind kind, musaStream_t stream)
{
    MUSA_MEMCPY2D c;
    MUresult r = rt_enter();
    if (!r)
        r = plan_2d(&c, dst, dpitch, src, spitch, width, height, kind);
    return rt_end(r || !width || !height ? r : muMemcpy2DAsync(&c, stream));
}

/* ---- three dimensions ------------------------------------------------------------------------ */

/* Exactly one of array and pointer stands on each side. Positions and the width count elements on
 * the side of an array and bytes on the side of a pointer; with an array anywhere the width counts
 * elements. */
MUresult rt_plan_3d(MUSA_MEMCPY3D *c, const musaMemcpy3DParms *p)
{
    if (!p || !p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr)
        return MUSA_ERROR_INVALID_VALUE;
    if (!rt_kind_valid(p->kind))
        return musaErrorInvalidMemcpyDirection;
    size_t src_size = p->srcArray ? rt_element_size(p->srcArray) : 1;
    size_t dst_size = p->dstArray ? rt_element_size(p->dstArray) : 1;
    if (!src_size || !dst_size)
        return MUSA_ERROR_INVALID_HANDLE;
    if (p->srcArray && p->dstArray && src_size != dst_size)
        return MUSA_ERROR_INVALID_VALUE;
    size_t src_x, dst_x, width;
    if (__builtin_mul_overflow(p->srcPos.x, src_size, &src_x) ||
        __builtin_mul_overflow(p->dstPos.x, dst_size, &dst_x) ||
        __builtin_mul_overflow(p->extent.width, p->srcArray ? src_size : dst_size, &width))
        return MUSA_ERROR_INVALID_VALUE;
    *c = (MUSA_MEMCPY3D){
        .srcXInBytes = src_x,
        .srcY = p->srcPos.y,
        .srcZ = p->srcPos.z,
        .srcMemoryType = p->srcArray ? MU_MEMORYTYPE_ARRAY : rt_source_type(p->kind),
        .srcHost = p->srcPtr.ptr,
        .srcDevice = rt_dev(p->srcPtr.ptr),
        .srcArray = rt_array(p->srcArray),
        .srcPitch = p->srcPtr.pitch,
        .srcHeight = p->srcPtr.ysize,
        .dstXInBytes = dst_x,
        .dstY = p->dstPos.y,
        .dstZ = p->dstPos.z,
        .dstMemoryType = p->dstArray ? MU_MEMORYTYPE_ARRAY : rt_target_type(p->kind),
        .dstHost = p->dstPtr.ptr,
        .dstDevice = rt_dev(p->dstPtr.ptr),
        .dstArray = rt_array(p->dstArray),
        .dstPitch = p->dstPtr.pitch,
        .dstHeight = p->dstPtr.ysize,
        .WidthInBytes = width,
        .Height = p->extent.height,
        .Depth = p->extent.depth,
    };
    return MUSA_SUCCESS;
}

static bool empty(musaExtent e) { return !e.width || !e.height || !e.depth; }

MUresult rt_copy_3d(const musaMemcpy3DParms *p, bool async, musaStream_t stream)
{
    MUSA_MEMCPY3D c;
    MUresult r = rt_plan_3d(&c, p);
    if (r || empty(p->extent))
        return r;
    return async ? muMemcpy3DAsync(&c, stream) : muMemcpy3D(&c);
}

musaError_t musaMemcpy3D(const musaMemcpy3DParms *p) { RETURN_END(rt_copy_3d(p, false, NULL)); }

musaError_t musaMemcpy3DAsync(const musaMemcpy3DParms *p, musaStream_t stream)
{
    RETURN_END(rt_copy_3d(p, true, stream));
}

static MUresult peer_3d(const musaMemcpy3DPeerParms *p, bool async, musaStream_t stream)
{
    if (!p)
        return MUSA_ERROR_INVALID_VALUE;
    musaMemcpy3DParms q = {p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                           p->dstPos,   p->dstPtr, p->extent, musaMemcpyDeviceToDevice};
    MUcontext from, to;
    MUSA_MEMCPY3D c;
    MUresult r = rt_plan_3d(&c, &q);
    if (r || (r = rt_primary(p->srcDevice, &from)) || (r = rt_primary(p->dstDevice, &to)) || empty(p->extent))
        return r;
    MUSA_MEMCPY3D_PEER peer = {c.srcXInBytes,   c.srcY,        c.srcZ,         0,          c.srcMemoryType,
                               c.srcHost,       c.srcDevice,   c.srcArray,     from,       c.srcPitch,
                               c.srcHeight,     c.dstXInBytes, c.dstY,         c.dstZ,     0,
                               c.dstMemoryType, c.dstHost,     c.dstDevice,    c.dstArray, to,
                               c.dstPitch,      c.dstHeight,   c.WidthInBytes, c.Height,   c.Depth};
    return async ? muMemcpy3DPeerAsync(&peer, stream) : muMemcpy3DPeer(&peer);
}

musaError_t musaMemcpy3DPeer(const musaMemcpy3DPeerParms *p) { RETURN_END(peer_3d(p, false, NULL)); }

musaError_t musaMemcpy3DPeerAsync(const musaMemcpy3DPeerParms *p, musaStream_t stream)
{
    RETURN_END(peer_3d(p, true, stream));
}
