/* CUMU_CHECK=sync: which memory a copy or a memset writes and reads, out of its signature in the map: the first memory,
 * array or variable among its arguments is written, the second is read, lengths say how much, and the structs of
 * copies what they say. */
#include "api/api.h"
#include "api/check.h"
#include "core/trace.h"

/* Of rows of `width` bytes, `pitch` from one to the next, `lines` of them: from the first byte to the last. */
static struct check_range lines_at(uintptr_t at, size_t width, size_t pitch, size_t lines, enum check_use use)
{
    return (struct check_range){at, width && lines ? (lines - 1) * pitch + width : 0, use};
}

/* An array is known by its handle alone: all of it is used. */
static struct check_range array(const void *handle, enum check_use use)
{
    return (struct check_range){(uintptr_t)handle, 1, use};
}

/* ---- the structs of copies ---------------------------------------------------------------------- */

/* Rows of a box: `height` of them in each of `depth` slices, which lie `tall` rows apart. */
static size_t rows(size_t height, size_t depth, size_t tall)
{
    return height && depth ? (depth - 1) * tall + height : 0;
}

/* One side of a box of the runtime's; next to an array a width counts elements, whose size nobody says: one byte then,
 * which finds less and never too much. */
static struct check_range side(const void *a, musaPos pos, musaPitchedPtr p, musaExtent e, enum check_use use)
{
    size_t slice = p.pitch * p.ysize;
    if (a)
        return array(a, use);
    return lines_at((uintptr_t)p.ptr + pos.x + pos.y * p.pitch + pos.z * slice, e.width, p.pitch,
                    rows(e.height, e.depth, p.ysize), use);
}

static musaMemcpy3DParms without_devices(const musaMemcpy3DPeerParms *c)
{
    return (musaMemcpy3DParms){.srcArray = c->srcArray,
                               .srcPos = c->srcPos,
                               .srcPtr = c->srcPtr,
                               .dstArray = c->dstArray,
                               .dstPos = c->dstPos,
                               .dstPtr = c->dstPtr,
                               .extent = c->extent};
}

/* One side of a box of the driver's. */
struct driver_side {
    MUmemorytype type;
    const void *host;
    MUdeviceptr device;
    const void *array;
    size_t x, y, z, pitch, tall;
};

static struct check_range driver_side(const struct driver_side *s, const MUSA_MEMCPY3D *c, enum check_use use)
{
    uintptr_t base = s->type == MU_MEMORYTYPE_HOST ? (uintptr_t)s->host : (uintptr_t)s->device;
    if (s->type == MU_MEMORYTYPE_ARRAY)
        return array(s->array, use);
    return lines_at(base + (s->z * s->tall + s->y) * s->pitch + s->x, c->WidthInBytes,
                    s->pitch ? s->pitch : c->WidthInBytes, rows(c->Height, c->Depth, s->tall), use);
}

/* A rectangle as the box of one slice. */
static MUSA_MEMCPY3D one_slice(const MUSA_MEMCPY2D *c)
{
    return (MUSA_MEMCPY3D){.srcXInBytes = c->srcXInBytes,
                           .srcY = c->srcY,
                           .srcMemoryType = c->srcMemoryType,
                           .srcHost = c->srcHost,
                           .srcDevice = c->srcDevice,
                           .srcArray = c->srcArray,
                           .srcPitch = c->srcPitch,
                           .dstXInBytes = c->dstXInBytes,
                           .dstY = c->dstY,
                           .dstMemoryType = c->dstMemoryType,
                           .dstHost = c->dstHost,
                           .dstDevice = c->dstDevice,
                           .dstArray = c->dstArray,
                           .dstPitch = c->dstPitch,
                           .WidthInBytes = c->WidthInBytes,
                           .Height = c->Height,
                           .Depth = 1};
}

/* The ranges of a copy that a struct describes: where it writes and where it reads. A box counts from its first byte
 * to its last, what lies between its rows included. */
static unsigned described(unsigned kind, const void *description, struct check_range r[2])
{
    if (kind == CUMU_ARG_COPY3D || kind == CUMU_ARG_PEER3D) {
        musaMemcpy3DParms c = kind == CUMU_ARG_PEER3D ? without_devices(description)
                                                      : *(const musaMemcpy3DParms *)description;
        r[0] = side(c.dstArray, c.dstPos, c.dstPtr, c.extent, CHECK_WRITES);
        r[1] = side(c.srcArray, c.srcPos, c.srcPtr, c.extent, CHECK_READS);
        return 2;
    }
    /* A peer's description has contexts where the plain one has reserved words. */
    MUSA_MEMCPY3D c = kind == CUMU_ARG_CU_COPY2D ? one_slice(description) : *(const MUSA_MEMCPY3D *)description;
    struct driver_side to = {c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstXInBytes,
                             c.dstY,          c.dstZ,    c.dstPitch,  c.dstHeight};
    struct driver_side from = {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcXInBytes,
                               c.srcY,          c.srcZ,    c.srcPitch,  c.srcHeight};
    r[0] = driver_side(&to, &c, CHECK_WRITES);
    r[1] = driver_side(&from, &c, CHECK_READS);
    return 2;
}

/* ---- plain arguments ---------------------------------------------------------------------------- */

/* cudaMemset3D: a pitched pointer and an extent, by value. */
static unsigned box(const struct cumu_prototype *c, const struct cumu_frame *f, struct check_range r[2])
{
    uint64_t p[4], e[3]; /* address, pitch, xsize, ysize; width, height, depth */
    for (unsigned k = 0; k < 4; k++)
        p[k] = cumu_call_part(c, f, 0, k);
    for (unsigned k = 0; k < 3; k++)
        e[k] = cumu_call_part(c, f, 2, k);
    r[0] = lines_at(p[0], e[0], p[1], rows(e[1], e[2], p[3]), CHECK_WRITES);
    return 1;
}

static uintptr_t variable(uint64_t shadow, uint64_t offset)
{
    uint64_t address = 0;
    size_t size;
    return cumu_host_var((const void *)(uintptr_t)shadow, &address, &size) == CUDA_SUCCESS ? address + offset : 0;
}

unsigned cumu_check_moves(const struct cumu_prototype *c, const struct cumu_frame *f, struct check_range r[2])
{
    struct {
        unsigned at, kind;
    } memory[2];
    uint64_t length[2] = {0, 1};
    unsigned n = 0, lengths = 0, offset = 0; /* offset: an argument behind the length */
    for (unsigned i = 0; i < c->count; i++) {
        const struct cumu_argument *a = &cumu_arguments[c->first + i];
        if (a->stars) {
            if (a->kind < CUMU_ARG_COPY3D || a->kind > CUMU_ARG_CU_COPY3D)
                return 0; /* a list of copies */
            const void *description = (const void *)(uintptr_t)cumu_call_argument(c, f, i);
            return description ? described(a->kind, description, r) : 0;
        }
        if (n < 2 && (a->kind == CUMU_ARG_POINTER || a->kind == CUMU_ARG_ADDRESS || a->kind == CUMU_ARG_ARRAY ||
                      a->kind == CUMU_ARG_SYMBOL)) {
            memory[n].at = i;
            memory[n++].kind = a->kind;
        } else if (cumu_length_unit(a) && lengths < 2) {
            length[lengths++] = cumu_call_argument(c, f, i) * cumu_length_unit(a);
            offset = i + 1;
        }
    }
    if (!n)
        return c->count > 2 && cumu_arguments[c->first].size == sizeof(musaPitchedPtr) ? box(c, f, r) : 0;
    if (!lengths)
        return 0;
    for (unsigned k = 0; k < n; k++) {
        enum check_use use = k ? CHECK_READS : CHECK_WRITES;
        uint64_t value = cumu_call_argument(c, f, memory[k].at);
        size_t pitch = lengths > 1 ? cumu_call_argument(c, f, memory[k].at + 1) : 0;
        if (memory[k].kind == CUMU_ARG_SYMBOL)
            value = variable(value, cumu_call_argument(c, f, offset));
        r[k] = memory[k].kind == CUMU_ARG_ARRAY ? array((const void *)(uintptr_t)value, use)
                                                : lines_at(value, length[0], pitch, length[1], use);
        if (!value)
            return k;
    }
    return n;
}
