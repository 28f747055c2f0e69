/* Arrays: their descriptors, and the copies that involve them. */
#include "host/runtime/copy.h"

/* ---- descriptors ----------------------------------------------------------------------------- */

static const struct {
    musaChannelFormatKind kind;
    int bits;
    MUarray_format format;
} formats[] = {
    {musaChannelFormatKindUnsigned, 8, MU_AD_FORMAT_UNSIGNED_INT8},
    {musaChannelFormatKindUnsigned, 16, MU_AD_FORMAT_UNSIGNED_INT16},
    {musaChannelFormatKindUnsigned, 32, MU_AD_FORMAT_UNSIGNED_INT32},
    {musaChannelFormatKindSigned, 8, MU_AD_FORMAT_SIGNED_INT8},
    {musaChannelFormatKindSigned, 16, MU_AD_FORMAT_SIGNED_INT16},
    {musaChannelFormatKindSigned, 32, MU_AD_FORMAT_SIGNED_INT32},
    {musaChannelFormatKindFloat, 16, MU_AD_FORMAT_HALF},
    {musaChannelFormatKindFloat, 32, MU_AD_FORMAT_FLOAT},
};
#define NFORMATS (sizeof formats / sizeof *formats)

musaChannelFormatDesc musaCreateChannelDesc(int x, int y, int z, int w, musaChannelFormatKind f)
{
    return (musaChannelFormatDesc){x, y, z, w, f};
}

/* All channels that are there must have the same width: 1, 2 or 4 of them. */
bool rt_format_of(const musaChannelFormatDesc *d, MUarray_format *format, unsigned *channels)
{
    const int bits[4] = {d->x, d->y, d->z, d->w};
    unsigned n = 0;
    while (n < 4 && bits[n])
        n++;
    for (unsigned i = 0; i < 4; i++)
        if (bits[i] != (i < n ? d->x : 0))
            return false;
    if (n != 1 && n != 2 && n != 4)
        return false;
    *channels = n;
    for (size_t i = 0; i < NFORMATS; i++)
        if (formats[i].kind == d->f && formats[i].bits == d->x) {
            *format = formats[i].format;
            return true;
        }
    return false;
}

musaError_t musaDeviceGetTexture1DLinearMaxWidth(size_t *width, const musaChannelFormatDesc *desc, int device)
{
    MUarray_format format;
    unsigned channels;
    MUresult r = rt_init();
    if (r || !width || !desc || !rt_valid(device))
        return rt_end(r ? r : width && desc ? MUSA_ERROR_INVALID_DEVICE : MUSA_ERROR_INVALID_VALUE);
    if (!rt_format_of(desc, &format, &channels))
        return rt_end(musaErrorInvalidChannelDescriptor);
    return rt_end(muDeviceGetTexture1DLinearMaxWidth(width, format, channels, device));
}

musaChannelFormatDesc rt_channels(MUarray_format format, unsigned n)
{
    for (size_t i = 0; i < NFORMATS; i++)
        if (formats[i].format == format) {
            int b = formats[i].bits;
            return (musaChannelFormatDesc){b, n > 1 ? b : 0, n > 2 ? b : 0, n > 3 ? b : 0, formats[i].kind};
        }
    return (musaChannelFormatDesc){.f = musaChannelFormatKindNone};
}

static MUresult describe(musaArray_const_t a, MUSA_ARRAY3D_DESCRIPTOR *d, musaChannelFormatDesc *desc)
{
    MUresult r = muArray3DGetDescriptor(d, rt_array(a));
    if (r)
        return r;
    *desc = rt_channels(d->Format, d->NumChannels);
    return MUSA_SUCCESS;
}

size_t rt_element_size(musaArray_const_t a)
{
    MUSA_ARRAY3D_DESCRIPTOR d;
    musaChannelFormatDesc c;
    return describe(a, &d, &c) ? 0 : (size_t)(c.x + c.y + c.z + c.w) / 8;
}

musaError_t musaMalloc3DArray(musaArray_t *array, const musaChannelFormatDesc *desc, musaExtent extent,
                              unsigned int flags)
{
    MUSA_ARRAY3D_DESCRIPTOR d = {.Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    MUresult r = rt_enter();
    if (r || !array || !desc)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    if (!rt_format_of(desc, &d.Format, &d.NumChannels))
        return rt_end(musaErrorInvalidChannelDescriptor);
    MUarray a = NULL;
    r = muArray3DCreate(&a, &d);
    if (!r)
        *array = (musaArray_t)(uintptr_t)a;
    return rt_end(r);
}

musaError_t musaMallocArray(musaArray_t *array, const musaChannelFormatDesc *desc, size_t width, size_t height,
                            unsigned int flags)
{
    return musaMalloc3DArray(array, desc, (musaExtent){width, height, 0}, flags);
}

musaError_t musaFreeArray(musaArray_t array) { RETURN_END(array ? muArrayDestroy(rt_array(array)) : MUSA_SUCCESS); }

musaError_t musaGetChannelDesc(musaChannelFormatDesc *desc, musaArray_const_t array)
{
    MUSA_ARRAY3D_DESCRIPTOR d;
    RETURN_END(desc ? describe(array, &d, desc) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaArrayGetInfo(musaChannelFormatDesc *desc, musaExtent *extent, unsigned int *flags, musaArray_t array)
{
    MUSA_ARRAY3D_DESCRIPTOR d;
    musaChannelFormatDesc c;
    MUresult r = rt_enter();
    if (!r)
        r = describe(array, &d, &c);
    if (!r && desc)
        *desc = c;
    if (!r && extent)
        *extent = (musaExtent){d.Width, d.Height, d.Depth};
    if (!r && flags)
        *flags = d.Flags;
    return rt_end(r);
}

/* ---- copies of rectangles: x offsets and widths in bytes ------------------------------------- */

struct end { /* one end of a copy */
    musaArray_const_t array;
    size_t x, y;
    void *p;
    size_t pitch;
};

/* Copies a rectangle between arrays and memory: all 2-D copies of the runtime come here. A pitch below the width is
 * legal for a single row. */
static MUresult rectangle(struct end dst, struct end src, size_t width, size_t height, musaMemcpyKind kind, bool async,
                          musaStream_t stream)
{
    if (!rt_kind_valid(kind))
        return musaErrorInvalidMemcpyDirection;
    if ((!dst.array && !dst.p) || (!src.array && !src.p))
        return MUSA_ERROR_INVALID_VALUE;
    if ((dst.p && height > 1 && width > dst.pitch) || (src.p && height > 1 && width > src.pitch))
        return musaErrorInvalidPitchValue;
    if (!width || !height)
        return MUSA_SUCCESS;
    MUSA_MEMCPY2D c = {
        .srcXInBytes = src.x,
        .srcY = src.y,
        .srcMemoryType = src.array ? MU_MEMORYTYPE_ARRAY : rt_source_type(kind),
        .srcHost = src.p,
        .srcDevice = rt_dev(src.p),
        .srcArray = rt_array(src.array),
        .srcPitch = src.pitch < width ? width : src.pitch,
        .dstXInBytes = dst.x,
        .dstY = dst.y,
        .dstMemoryType = dst.array ? MU_MEMORYTYPE_ARRAY : rt_target_type(kind),
        .dstHost = dst.p,
        .dstDevice = rt_dev(dst.p),
        .dstArray = rt_array(dst.array),
        .dstPitch = dst.pitch < width ? width : dst.pitch,
        .WidthInBytes = width,
        .Height = height,
    };
    return async ? muMemcpy2DAsync(&c, stream) : muMemcpy2DUnaligned(&c);
}

#define MEMORY(pointer, row) ((struct end){NULL, 0, 0, (void *)(uintptr_t)(pointer), row})
#define ARRAY(array, x, y) ((struct end){array, x, y, NULL, 0})

musaError_t musaMemcpy2DToArray(musaArray_t dst, size_t x, size_t y, const void *src, size_t spitch, size_t width,
                                size_t height, musaMemcpyKind kind)
{
    RETURN_END(rectangle(ARRAY(dst, x, y), MEMORY(src, spitch), width, height, kind, false, NULL));
}

musaError_t musaMemcpy2DToArrayAsync(musaArray_t dst, size_t x, size_t y, const void *src, size_t spitch, size_t width,
                                     size_t height, musaMemcpyKind kind, musaStream_t stream)
{
    RETURN_END(rectangle(ARRAY(dst, x, y), MEMORY(src, spitch), width, height, kind, true, stream));
}

musaError_t musaMemcpy2DFromArray(void *dst, size_t dpitch, musaArray_const_t src, size_t x, size_t y, size_t width,
                                  size_t height, musaMemcpyKind kind)
{
    RETURN_END(rectangle(MEMORY(dst, dpitch), ARRAY(src, x, y), width, height, kind, false, NULL));
}

musaError_t musaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, musaArray_const_t src, size_t x, size_t y,
                                       size_t width, size_t height, musaMemcpyKind kind, musaStream_t stream)
{
    RETURN_END(rectangle(MEMORY(dst, dpitch), ARRAY(src, x, y), width, height, kind, true, stream));
}

musaError_t musaMemcpy2DArrayToArray(musaArray_t dst, size_t dx, size_t dy, musaArray_const_t src, size_t sx, size_t sy,
                                     size_t width, size_t height, musaMemcpyKind kind)
{
    RETURN_END(rectangle(ARRAY(dst, dx, dy), ARRAY(src, sx, sy), width, height, kind, false, NULL));
}

/* ---- copies of bytes: they start at (x, y) and run on over the ends of rows ------------------ */

/* At most three rectangles: the rest of the first row, whole rows, the start of the last. `to`:
 * into the array. */
static MUresult run_of_bytes(musaArray_const_t array, size_t x, size_t y, const void *memory, size_t n, bool to,
                             musaMemcpyKind kind, bool async, musaStream_t stream)
{
    MUSA_ARRAY3D_DESCRIPTOR d;
    musaChannelFormatDesc desc;
    MUresult r = describe(array, &d, &desc);
    if (r)
        return r;
    size_t row = d.Width * (size_t)(desc.x + desc.y + desc.z + desc.w) / 8, rows = d.Height ? d.Height : 1;
    if (x >= row || y >= rows || n > (rows - y) * row - x)
        return n ? MUSA_ERROR_INVALID_VALUE : MUSA_SUCCESS;
    while (n && !r) {
        size_t width = x || n < row ? (n < row - x ? n : row - x) : row;
        size_t height = width == row ? n / row : 1;
        struct end m = MEMORY(memory, width), a = ARRAY(array, x, y);
        r = rectangle(to ? a : m, to ? m : a, width, height, kind, async, stream);
        memory = (const char *)memory + width * height;
        n -= width * height;
        x = 0;
        y += height;
    }
    return r;
}

musaError_t musaMemcpyToArray(musaArray_t dst, size_t x, size_t y, const void *src, size_t n, musaMemcpyKind kind)
{
    RETURN_END(run_of_bytes(dst, x, y, src, n, true, kind, false, NULL));
}

musaError_t musaMemcpyToArrayAsync(musaArray_t dst, size_t x, size_t y, const void *src, size_t n, musaMemcpyKind kind,
                                   musaStream_t stream)
{
    RETURN_END(run_of_bytes(dst, x, y, src, n, true, kind, true, stream));
}

musaError_t musaMemcpyFromArray(void *dst, musaArray_const_t src, size_t x, size_t y, size_t n, musaMemcpyKind kind)
{
    RETURN_END(run_of_bytes(src, x, y, dst, n, false, kind, false, NULL));
}

musaError_t musaMemcpyFromArrayAsync(void *dst, musaArray_const_t src, size_t x, size_t y, size_t n,
                                     musaMemcpyKind kind, musaStream_t stream)
{
    RETURN_END(run_of_bytes(src, x, y, dst, n, false, kind, true, stream));
}

/* Where byte x of row y stands in the run of an array's rows. */
static MUresult place(musaArray_const_t array, size_t x, size_t y, size_t *at)
{
    MUSA_ARRAY3D_DESCRIPTOR d;
    musaChannelFormatDesc c;
    MUresult r = describe(array, &d, &c);
    if (r)
        return r;
    size_t row = d.Width * (size_t)(c.x + c.y + c.z + c.w) / 8, rows = d.Height ? d.Height : 1;
    if (x >= row || y >= rows)
        return MUSA_ERROR_INVALID_VALUE;
    *at = y * row + x;
    return MUSA_SUCCESS;
}

musaError_t musaMemcpyArrayToArray(musaArray_t dst, size_t dx, size_t dy, musaArray_const_t src, size_t sx, size_t sy,
                                   size_t n, musaMemcpyKind kind)
{
    size_t to, from;
    MUresult r = rt_enter();
    if (!r && !rt_kind_valid(kind))
        r = musaErrorInvalidMemcpyDirection;
    if (!r)
        r = place(dst, dx, dy, &to);
    if (!r)
        r = place(src, sx, sy, &from);
    return rt_end(r || !n ? r : muMemcpyAtoA(rt_array(dst), to, rt_array(src), from, n));
}
