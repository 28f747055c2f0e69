/* Two- and three-dimensional copies: every form becomes a MUSA_MEMCPY3D, is checked, and runs as
 * one copy. */
#include <string.h>

#include "host/driver/copy.h"

struct box_side { /* one side of a 3D copy */
    size_t x, y, z, lod;
    MUmemorytype type;
    void *host;
    MUdeviceptr device;
    MUarray array;
    size_t pitch, height;
};

/* Fills address, pitch, slice and place of a side after checking that the box fits. */
static MUresult resolve(const struct box_side *b, size_t w, size_t h, size_t d, bool check_limits, unsigned access,
                        unsigned char **p, size_t *pitch, size_t *slice, enum copy_place *place)
{
    if (b->lod)
        return MUSA_ERROR_INVALID_VALUE;
    if (b->type == MU_MEMORYTYPE_ARRAY) {
        MUarray a = b->array;
        if (!host_array_live(a))
            return MUSA_ERROR_INVALID_HANDLE;
        size_t row = a->width * a->element, rows = a->height ? a->height : 1, layers = a->depth ? a->depth : 1;
        if (b->x > row || w > row - b->x || b->y > rows || h > rows - b->y || b->z > layers || d > layers - b->z ||
            b->x % a->element || w % a->element)
            return MUSA_ERROR_INVALID_VALUE;
        *pitch = a->pitch;
        *slice = a->slice;
        *place = COPY_DEVICE;
        *p = a->data + b->z * a->slice + b->y * a->pitch + b->x;
        return MUSA_SUCCESS;
    }
    unsigned char *base;
    switch (b->type) {
    case MU_MEMORYTYPE_HOST: base = b->host; break;
    case MU_MEMORYTYPE_DEVICE:
    case MU_MEMORYTYPE_UNIFIED: base = (void *)(uintptr_t)b->device; break;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
    size_t reach, rows, layers, end, before;
    bool many_rows = h > 1 || b->y || d > 1 || b->z, many_layers = d > 1 || b->z;
    if (__builtin_add_overflow(b->x, w, &reach) || __builtin_add_overflow(b->y, h, &rows) ||
        __builtin_add_overflow(b->z, d, &layers))
        return MUSA_ERROR_INVALID_VALUE;
    *pitch = b->pitch ? b->pitch : reach; /* 0: rows are packed */
    if (many_rows && *pitch < w) /* x may lie beyond the first row: Dr.Jit's textures of more than 4 channels do so */
        return MUSA_ERROR_INVALID_VALUE;
    if (check_limits && b->pitch > 2147483647u)
        return MUSA_ERROR_INVALID_VALUE;
    size_t height = b->height ? b->height : rows;
    if ((many_layers && height < rows) || __builtin_mul_overflow(*pitch, height, slice))
        return MUSA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(*slice, layers - 1, &before) || __builtin_mul_overflow(*pitch, rows - 1, &end) ||
        __builtin_add_overflow(before, end, &end) || __builtin_add_overflow(end, reach, &end))
        return MUSA_ERROR_INVALID_VALUE;
    size_t first = b->z * *slice + b->y * *pitch + b->x;
    *p = (unsigned char *)((uintptr_t)base + first); /* no pointer arithmetic before it is known to be one */
    return base ? host_copy_place(*p, end - first, b->type, access, place) : MUSA_ERROR_INVALID_VALUE;
}

MUresult host_copy_resolve(const MUSA_MEMCPY3D *m, bool check_limits, struct copy *c)
{
    size_t w = m->WidthInBytes, h = m->Height, d = m->Depth, area, volume;
    *c = (struct copy){.width = w, .height = h, .depth = d};
    if (!w || !h || !d) {
        c->width = 0;
        return MUSA_SUCCESS;
    }
    if (__builtin_mul_overflow(w, h, &area) || __builtin_mul_overflow(area, d, &volume))
        return MUSA_ERROR_INVALID_VALUE;
    unsigned char *src = NULL;
    const struct box_side from = {
        m->srcXInBytes, m->srcY,     m->srcZ,     m->srcLOD,   m->srcMemoryType, (void *)(uintptr_t)m->srcHost,
        m->srcDevice,   m->srcArray, m->srcPitch, m->srcHeight};
    const struct box_side to = {m->dstXInBytes, m->dstY,      m->dstZ,     m->dstLOD,   m->dstMemoryType,
                                m->dstHost,     m->dstDevice, m->dstArray, m->dstPitch, m->dstHeight};
    MUresult r = resolve(&from, w, h, d, check_limits, COPY_READS, &src, &c->src_pitch, &c->src_slice, &c->src_place);
    if (!r)
        r = resolve(&to, w, h, d, check_limits, COPY_WRITES, &c->dst, &c->dst_pitch, &c->dst_slice, &c->dst_place);
    c->src = src;
    return r;
}

static MUresult copy3d(const MUSA_MEMCPY3D *m, MUstream stream, bool synchronous, bool check_limits)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    struct copy c;
    if ((r = host_copy_resolve(m, check_limits, &c)) || !c.width)
        return r;
    if (host_capturing(s) && !synchronous)
        return host_capture_add(s, &(MUgraphNodeParams){.type = MU_GRAPH_NODE_TYPE_MEMCPY, .memcpy.copyParams = *m},
                                NULL);
    return host_copy(&c, stream, synchronous);
}

static MUresult copy2d(const MUSA_MEMCPY2D *m, MUstream stream, bool synchronous, bool check_limits)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUSA_MEMCPY3D full = {.srcXInBytes = m->srcXInBytes,
                          .srcY = m->srcY,
                          .srcMemoryType = m->srcMemoryType,
                          .srcHost = m->srcHost,
                          .srcDevice = m->srcDevice,
                          .srcArray = m->srcArray,
                          .srcPitch = m->srcPitch,
                          .dstXInBytes = m->dstXInBytes,
                          .dstY = m->dstY,
                          .dstMemoryType = m->dstMemoryType,
                          .dstHost = m->dstHost,
                          .dstDevice = m->dstDevice,
                          .dstArray = m->dstArray,
                          .dstPitch = m->dstPitch,
                          .WidthInBytes = m->WidthInBytes,
                          .Height = m->Height,
                          .Depth = 1};
    return copy3d(&full, stream, synchronous, check_limits);
}

static MUresult copy3d_peer(const MUSA_MEMCPY3D_PEER *m, MUstream stream, bool synchronous)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    if (!host_ctx_live(m->srcContext) || !host_ctx_live(m->dstContext))
        return MUSA_ERROR_INVALID_CONTEXT;
    if (synchronous) {
        host_ctx_drain(m->srcContext);
        host_ctx_drain(m->dstContext);
    }
    MUSA_MEMCPY3D plain; /* the layouts differ only in what the two reserved words mean */
    _Static_assert(sizeof plain == sizeof *m, "same layout");
    memcpy(&plain, m, sizeof plain);
    return copy3d(&plain, stream, synchronous, true);
}

MUresult muMemcpy2D(const MUSA_MEMCPY2D *m) { return copy2d(m, NULL, true, true); }
HOST_ALIAS(muMemcpy2D_v2, muMemcpy2D);
MUresult muMemcpy2D_v2_ptds(const MUSA_MEMCPY2D *m) { return copy2d(m, MU_STREAM_PER_THREAD, true, true); }
MUresult muMemcpy2DUnaligned(const MUSA_MEMCPY2D *m) { return copy2d(m, NULL, true, false); }
HOST_ALIAS(muMemcpy2DUnaligned_v2, muMemcpy2DUnaligned);
MUresult muMemcpy2DUnaligned_v2_ptds(const MUSA_MEMCPY2D *m) { return copy2d(m, MU_STREAM_PER_THREAD, true, false); }
MUresult muMemcpy2DAsync(const MUSA_MEMCPY2D *m, MUstream s) { return copy2d(m, s, false, true); }
HOST_ALIAS(muMemcpy2DAsync_v2, muMemcpy2DAsync);
MUresult muMemcpy2DAsync_v2_ptsz(const MUSA_MEMCPY2D *m, MUstream s) { return copy2d(m, host_ptsz(s), false, true); }

MUresult muMemcpy3D(const MUSA_MEMCPY3D *m) { return copy3d(m, NULL, true, true); }
HOST_ALIAS(muMemcpy3D_v2, muMemcpy3D);
MUresult muMemcpy3D_v2_ptds(const MUSA_MEMCPY3D *m) { return copy3d(m, MU_STREAM_PER_THREAD, true, true); }
MUresult muMemcpy3DAsync(const MUSA_MEMCPY3D *m, MUstream s) { return copy3d(m, s, false, true); }
HOST_ALIAS(muMemcpy3DAsync_v2, muMemcpy3DAsync);
MUresult muMemcpy3DAsync_v2_ptsz(const MUSA_MEMCPY3D *m, MUstream s) { return copy3d(m, host_ptsz(s), false, true); }

MUresult muMemcpy3DPeer(const MUSA_MEMCPY3D_PEER *m) { return copy3d_peer(m, NULL, true); }
MUresult muMemcpy3DPeer_ptds(const MUSA_MEMCPY3D_PEER *m) { return copy3d_peer(m, MU_STREAM_PER_THREAD, true); }
MUresult muMemcpy3DPeerAsync(const MUSA_MEMCPY3D_PEER *m, MUstream s) { return copy3d_peer(m, s, false); }
MUresult muMemcpy3DPeerAsync_ptsz(const MUSA_MEMCPY3D_PEER *m, MUstream s)
{
    return copy3d_peer(m, host_ptsz(s), false);
}
