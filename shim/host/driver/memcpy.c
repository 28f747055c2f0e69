/* One-dimensional copies, among memory and arrays, and between devices. */
#include "host/driver/copy.h"

enum { H = MU_MEMORYTYPE_HOST, D = MU_MEMORYTYPE_DEVICE, U = MU_MEMORYTYPE_UNIFIED };

static const MUstream none = NULL;
#define PER_THREAD MU_STREAM_PER_THREAD

static MUresult capture(MUstream s, MUmemorytype dst_type, MUdeviceptr dst, MUmemorytype src_type, MUdeviceptr src,
                        size_t n)
{
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_MEMCPY,
                           .memcpy.copyParams = {.srcMemoryType = src_type,
                                                 .srcHost = (const void *)(uintptr_t)src,
                                                 .srcDevice = src,
                                                 .srcPitch = n,
                                                 .dstMemoryType = dst_type,
                                                 .dstHost = (void *)(uintptr_t)dst,
                                                 .dstDevice = dst,
                                                 .dstPitch = n,
                                                 .WidthInBytes = n,
                                                 .Height = 1,
                                                 .Depth = 1}};
    return host_capture_add(s, &p, NULL);
}

/* Every plain copy: n bytes from src to dst. */
static MUresult copy(MUmemorytype dst_type, MUdeviceptr dst, MUmemorytype src_type, MUdeviceptr src, size_t n,
                     MUstream stream, bool synchronous)
{
    struct copy c = {.src = (const void *)(uintptr_t)src,
                     .dst = (void *)(uintptr_t)dst,
                     .width = n,
                     .height = 1,
                     .depth = 1,
                     .src_pitch = n,
                     .dst_pitch = n};
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r || !n)
        return r;
    r = host_copy_place(c.src, n, src_type, COPY_READS, &c.src_place);
    if (!r)
        r = host_copy_place(c.dst, n, dst_type, COPY_WRITES, &c.dst_place);
    if (!r && host_capturing(s) && !synchronous)
        return capture(s, dst_type, dst, src_type, src, n);
    return r ? r : host_copy(&c, stream, synchronous);
}

static MUdeviceptr of(const void *p) { return (MUdeviceptr)(uintptr_t)p; }

MUresult muMemcpy(MUdeviceptr d, MUdeviceptr s, size_t n) { return copy(U, d, U, s, n, none, true); }
MUresult muMemcpy_ptds(MUdeviceptr d, MUdeviceptr s, size_t n) { return copy(U, d, U, s, n, PER_THREAD, true); }
MUresult muMemcpyAsync(MUdeviceptr d, MUdeviceptr s, size_t n, MUstream q) { return copy(U, d, U, s, n, q, false); }
MUresult muMemcpyAsync_ptsz(MUdeviceptr d, MUdeviceptr s, size_t n, MUstream q)
{
    return copy(U, d, U, s, n, host_ptsz(q), false);
}

MUresult muMemcpyHtoD(MUdeviceptr d, const void *s, size_t n) { return copy(D, d, H, of(s), n, none, true); }
HOST_ALIAS(muMemcpyHtoD_v2, muMemcpyHtoD);
MUresult muMemcpyHtoD_v2_ptds(MUdeviceptr d, const void *s, size_t n)
{
    return copy(D, d, H, of(s), n, PER_THREAD, true);
}
MUresult muMemcpyDtoH(void *d, MUdeviceptr s, size_t n) { return copy(H, of(d), D, s, n, none, true); }
HOST_ALIAS(muMemcpyDtoH_v2, muMemcpyDtoH);
MUresult muMemcpyDtoH_v2_ptds(void *d, MUdeviceptr s, size_t n) { return copy(H, of(d), D, s, n, PER_THREAD, true); }
MUresult muMemcpyDtoD(MUdeviceptr d, MUdeviceptr s, size_t n) { return copy(D, d, D, s, n, none, true); }
HOST_ALIAS(muMemcpyDtoD_v2, muMemcpyDtoD);
MUresult muMemcpyDtoD_v2_ptds(MUdeviceptr d, MUdeviceptr s, size_t n) { return copy(D, d, D, s, n, PER_THREAD, true); }

MUresult muMemcpyHtoDAsync(MUdeviceptr d, const void *s, size_t n, MUstream q)
{
    return copy(D, d, H, of(s), n, q, false);
}
HOST_ALIAS(muMemcpyHtoDAsync_v2, muMemcpyHtoDAsync);
MUresult muMemcpyHtoDAsync_v2_ptsz(MUdeviceptr d, const void *s, size_t n, MUstream q)
{
    return copy(D, d, H, of(s), n, host_ptsz(q), false);
}
MUresult muMemcpyDtoHAsync(void *d, MUdeviceptr s, size_t n, MUstream q) { return copy(H, of(d), D, s, n, q, false); }
HOST_ALIAS(muMemcpyDtoHAsync_v2, muMemcpyDtoHAsync);
MUresult muMemcpyDtoHAsync_v2_ptsz(void *d, MUdeviceptr s, size_t n, MUstream q)
{
    return copy(H, of(d), D, s, n, host_ptsz(q), false);
}
MUresult muMemcpyDtoDAsync(MUdeviceptr d, MUdeviceptr s, size_t n, MUstream q) { return copy(D, d, D, s, n, q, false); }
HOST_ALIAS(muMemcpyDtoDAsync_v2, muMemcpyDtoDAsync);
MUresult muMemcpyDtoDAsync_v2_ptsz(MUdeviceptr d, MUdeviceptr s, size_t n, MUstream q)
{
    return copy(D, d, D, s, n, host_ptsz(q), false);
}

/* ---- between devices ------------------------------------------------------------------------- */

static MUresult peer(MUdeviceptr dst, MUcontext dst_ctx, MUdeviceptr src, MUcontext src_ctx, size_t n, MUstream stream,
                     bool synchronous)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    if (!host_ctx_live(dst_ctx) || !host_ctx_live(src_ctx))
        return MUSA_ERROR_INVALID_CONTEXT;
    if (synchronous) { /* ordered after everything in both contexts, as documented */
        host_ctx_drain(src_ctx);
        host_ctx_drain(dst_ctx);
    }
    return copy(D, dst, D, src, n, stream, synchronous);
}

MUresult muMemcpyPeer(MUdeviceptr d, MUcontext dc, MUdeviceptr s, MUcontext sc, size_t n)
{
    return peer(d, dc, s, sc, n, none, true);
}
MUresult muMemcpyPeer_ptds(MUdeviceptr d, MUcontext dc, MUdeviceptr s, MUcontext sc, size_t n)
{
    return peer(d, dc, s, sc, n, PER_THREAD, true);
}
MUresult muMemcpyPeerAsync(MUdeviceptr d, MUcontext dc, MUdeviceptr s, MUcontext sc, size_t n, MUstream q)
{
    return peer(d, dc, s, sc, n, q, false);
}
MUresult muMemcpyPeerAsync_ptsz(MUdeviceptr d, MUcontext dc, MUdeviceptr s, MUcontext sc, size_t n, MUstream q)
{
    return peer(d, dc, s, sc, n, host_ptsz(q), false);
}

/* ---- arrays: an offset runs through the first rows of the array ------------------------------ */

struct side { /* an array with an offset, or memory */
    MUarray array;
    size_t offset;
    MUmemorytype type;
    MUdeviceptr p;
};

/* Copies row by row where a side is an array: rows there are padded. */
static MUresult array_copy(struct side dst, struct side src, size_t n, MUstream stream, bool synchronous)
{
    MUresult r = host_stream_ctx(stream, NULL);
    struct side *sides[] = {&dst, &src};
    for (int i = 0; i < 2 && !r; i++)
        if (sides[i]->array) {
            MUarray a = sides[i]->array;
            if (!host_array_live(a))
                r = MUSA_ERROR_INVALID_HANDLE;
            else if (a->depth || sides[i]->offset + n < n ||
                     sides[i]->offset + n > a->width * a->element * (a->height ? a->height : 1))
                r = MUSA_ERROR_INVALID_VALUE;
        } else if (!sides[i]->p) {
            r = MUSA_ERROR_INVALID_VALUE;
        }
    while (!r && n) {
        size_t piece = n;
        MUdeviceptr at[2];
        for (int i = 0; i < 2; i++) {
            MUarray a = sides[i]->array;
            if (!a) {
                at[i] = sides[i]->p;
                continue;
            }
            size_t row = a->width * a->element, x = sides[i]->offset % row;
            at[i] = (MUdeviceptr)(uintptr_t)(a->data + sides[i]->offset / row * a->pitch + x);
            if (piece > row - x)
                piece = row - x;
        }
        r = copy(sides[0]->array ? (MUmemorytype)D : sides[0]->type, at[0],
                 sides[1]->array ? (MUmemorytype)D : sides[1]->type, at[1], piece, stream, synchronous);
        for (int i = 0; i < 2; i++) {
            sides[i]->offset += piece;
            sides[i]->p += piece;
        }
        n -= piece;
    }
    return r;
}

static struct side in_array(MUarray a, size_t offset)
{
    return (struct side){.array = a ? a : (MUarray)-1, .offset = offset}; /* -1: no live handle */
}

static struct side in_memory(MUmemorytype type, MUdeviceptr p) { return (struct side){.type = type, .p = p}; }

MUresult muMemcpyHtoA(MUarray d, size_t off, const void *s, size_t n)
{
    return array_copy(in_array(d, off), in_memory(H, of(s)), n, none, true);
}
HOST_ALIAS(muMemcpyHtoA_v2, muMemcpyHtoA);
MUresult muMemcpyHtoA_v2_ptds(MUarray d, size_t off, const void *s, size_t n)
{
    return array_copy(in_array(d, off), in_memory(H, of(s)), n, PER_THREAD, true);
}
MUresult muMemcpyAtoH(void *d, MUarray s, size_t off, size_t n)
{
    return array_copy(in_memory(H, of(d)), in_array(s, off), n, none, true);
}
HOST_ALIAS(muMemcpyAtoH_v2, muMemcpyAtoH);
MUresult muMemcpyAtoH_v2_ptds(void *d, MUarray s, size_t off, size_t n)
{
    return array_copy(in_memory(H, of(d)), in_array(s, off), n, PER_THREAD, true);
}
MUresult muMemcpyDtoA(MUarray d, size_t off, MUdeviceptr s, size_t n)
{
    return array_copy(in_array(d, off), in_memory(D, s), n, none, true);
}
HOST_ALIAS(muMemcpyDtoA_v2, muMemcpyDtoA);
MUresult muMemcpyDtoA_v2_ptds(MUarray d, size_t off, MUdeviceptr s, size_t n)
{
    return array_copy(in_array(d, off), in_memory(D, s), n, PER_THREAD, true);
}
MUresult muMemcpyAtoD(MUdeviceptr d, MUarray s, size_t off, size_t n)
{
    return array_copy(in_memory(D, d), in_array(s, off), n, none, true);
}
HOST_ALIAS(muMemcpyAtoD_v2, muMemcpyAtoD);
MUresult muMemcpyAtoD_v2_ptds(MUdeviceptr d, MUarray s, size_t off, size_t n)
{
    return array_copy(in_memory(D, d), in_array(s, off), n, PER_THREAD, true);
}
MUresult muMemcpyAtoA(MUarray d, size_t doff, MUarray s, size_t soff, size_t n)
{
    return array_copy(in_array(d, doff), in_array(s, soff), n, none, true);
}
HOST_ALIAS(muMemcpyAtoA_v2, muMemcpyAtoA);
MUresult muMemcpyAtoA_v2_ptds(MUarray d, size_t doff, MUarray s, size_t soff, size_t n)
{
    return array_copy(in_array(d, doff), in_array(s, soff), n, PER_THREAD, true);
}
MUresult muMemcpyHtoAAsync(MUarray d, size_t off, const void *s, size_t n, MUstream q)
{
    return array_copy(in_array(d, off), in_memory(H, of(s)), n, q, false);
}
HOST_ALIAS(muMemcpyHtoAAsync_v2, muMemcpyHtoAAsync);
MUresult muMemcpyHtoAAsync_v2_ptsz(MUarray d, size_t off, const void *s, size_t n, MUstream q)
{
    return muMemcpyHtoAAsync(d, off, s, n, host_ptsz(q));
}
MUresult muMemcpyAtoHAsync(void *d, MUarray s, size_t off, size_t n, MUstream q)
{
    return array_copy(in_memory(H, of(d)), in_array(s, off), n, q, false);
}
HOST_ALIAS(muMemcpyAtoHAsync_v2, muMemcpyAtoHAsync);
MUresult muMemcpyAtoHAsync_v2_ptsz(void *d, MUarray s, size_t off, size_t n, MUstream q)
{
    return muMemcpyAtoHAsync(d, s, off, n, host_ptsz(q));
}
