/* nvJPEG's decoders: one picture, batches, and the phases of the hybrid interface. */
#include "api/nvjpeg/nvjpeg.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct params {
    int kind, format, cmyk;
    int x, y, width, height; /* region of the picture as it is turned; width < 0: all */
    int orientation;         /* EXIF's: 0 and 1 turn nothing */
};
struct file { /* nvjpegJpegStream_t */
    int kind;
    struct nvjpeg_info info;
    unsigned char *data; /* a copy */
    size_t size;
};
struct picture { /* decoded, on the host: planes, or one of interleaved colours */
    unsigned char *plane[NVJPEG_COMPONENTS];
    size_t pitch[NVJPEG_COMPONENTS], width[NVJPEG_COMPONENTS], rows[NVJPEG_COMPONENTS]; /* bytes, bytes, number */
    unsigned planes;
    void *memory;
};
struct state {
    int kind;
    int batch, format;
    struct picture picture; /* between two phases */
};
struct decoder {
    int kind;
};

/* ---- one picture to the host ---- */

enum { FLAGS = TURBO_ACCURATE | TURBO_STRICT | TURBO_FEW_SCANS };

/* A decoder for a file in which it sees what we saw: memory is measured by that. NULL: it does not. */
static void *begin_turbo(const struct turbo *t, const struct nvjpeg_info *info, const unsigned char *data, size_t size,
                         int sampling, int *err)
{
    int width = 0, height = 0, its_sampling = -1, colours;
    void *d = t->init_decompress();
    *err = d ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_ALLOCATOR_FAILURE;
    if (d && (t->header(d, data, size, &width, &height, &its_sampling, &colours) || width != (int)info->width ||
              height != (int)info->height))
        *err = NVJPEG_STATUS_BAD_JPEG;
    else if (d && sampling >= 0 && its_sampling != sampling)
        *err = NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    if (d && *err) {
        (void)t->destroy(d);
        d = NULL;
    }
    return d;
}
static int finish_turbo(const struct turbo *t, void *d, int failed)
{
    (void)t->destroy(d);
    return failed ? NVJPEG_STATUS_BAD_JPEG : NVJPEG_STATUS_SUCCESS;
}

/* As it is stored: luma and chroma in their sizes. */
static int decode_planes(struct picture *p, const struct nvjpeg_info *info, const unsigned char *data, size_t size,
                         unsigned planes)
{
    const struct turbo *t = nvjpeg_turbo();
    const int sampling = nvjpeg_turbo_sampling(info->subsampling);
    unsigned char *plane[3] = {NULL};
    int pitch[3] = {0};
    size_t total = 0, at[3] = {0};
    if (sampling < 0)
        return NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    for (unsigned k = 0; k < info->components; k++) {
        pitch[k] = t->plane_width((int)k, (int)info->width, sampling);
        at[k] = total;
        total += (size_t)pitch[k] * (size_t)t->plane_height((int)k, (int)info->height, sampling);
    }
    p->memory = malloc(total + 1);
    if (!p->memory)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    for (unsigned k = 0; k < info->components; k++) {
        unsigned width, height;
        nvjpeg_component(info, k, &width, &height);
        p->plane[k] = plane[k] = (unsigned char *)p->memory + at[k];
        p->pitch[k] = (size_t)pitch[k];
        p->width[k] = width;
        p->rows[k] = height;
    }
    p->planes = planes < info->components ? planes : info->components;
    int err;
    void *d = begin_turbo(t, info, data, size, sampling, &err);
    return d ? finish_turbo(t, d, t->decompress_planes(d, data, size, plane, 0, pitch, 0, FLAGS)) : err;
}

/* Colours of a pixel beside each other, or each in a plane of its own. */
static int decode_pixels(struct picture *p, const struct nvjpeg_info *info, const unsigned char *data, size_t size,
                         int pixel, unsigned channels, bool planar)
{
    const struct turbo *t = nvjpeg_turbo();
    const size_t width = info->width, rows = info->height, pitch = channels * width;
    unsigned char *pixels = malloc(2 * pitch * rows + 1);
    p->memory = pixels;
    if (!pixels)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    int err;
    void *d = begin_turbo(t, info, data, size, -1, &err);
    if (!d)
        return err;
    err = finish_turbo(t, d, t->decompress(d, data, size, pixels, (int)width, (int)pitch, (int)rows, pixel, FLAGS));
    p->planes = planar ? channels : 1;
    for (unsigned k = 0; k < p->planes; k++) {
        p->plane[k] = planar ? pixels + pitch * rows + k * width * rows : pixels;
        p->pitch[k] = p->width[k] = planar ? width : pitch;
        p->rows[k] = rows;
        for (size_t i = 0; !err && planar && i < width * rows; i++)
            p->plane[k][i] = pixels[i * channels + k];
    }
    return err;
}

static size_t pixel_bytes(int format) { return format == NVJPEG_OUTPUT_RGBI || format == NVJPEG_OUTPUT_BGRI ? 3 : 1; }

/* Of four inks, which lie inverted: each colour is what its ink and the black one let through, as OpenCV has it, of
 * which nvJPEG's documentation says that its conversion matches. */
static int decode_inks(struct picture *p, const struct nvjpeg_info *info, const unsigned char *data, size_t size,
                       int format)
{
    const size_t n = (size_t)info->width * info->height, width = info->width;
    const bool interleaved = pixel_bytes(format) == 3;
    const bool turned = format == NVJPEG_OUTPUT_BGR || format == NVJPEG_OUTPUT_BGRI;
    int err = decode_pixels(p, info, data, size, TURBO_CMYK, 4, true);
    unsigned char *colours = err ? NULL : malloc(3 * n + 1);
    if (!colours)
        return err ? err : NVJPEG_STATUS_ALLOCATOR_FAILURE;
    for (unsigned k = 0; k < 3; k++)
        for (size_t i = 0; i < n; i++) {
            const unsigned ink = p->plane[k][i], black = p->plane[3][i];
            const unsigned channel = turned ? 2 - k : k;
            colours[interleaved ? 3 * i + channel : channel * n + i] = (unsigned char)(black -
                                                                                       ((255 - ink) * black >> 8));
        }
    free(p->memory);
    *p = (struct picture){.planes = interleaved ? 1 : 3, .memory = colours};
    for (unsigned k = 0; k < p->planes; k++) {
        p->plane[k] = colours + k * n;
        p->pitch[k] = p->width[k] = interleaved ? 3 * width : width;
        p->rows[k] = info->height;
    }
    return NVJPEG_STATUS_SUCCESS;
}

static void drop_picture(struct picture *p)
{
    free(p->memory);
    *p = (struct picture){.planes = 0};
}

/* Of each unit of blocks there is a bit at least: a small file that says it is a large picture is refused before memory
 * is taken for one. */
static bool is_whole(const struct nvjpeg_info *info, size_t size)
{
    size_t h = 8, v = 8;
    for (unsigned k = 0; k < info->components; k++) {
        h = 8 * info->h[k] > h ? 8 * info->h[k] : h;
        v = 8 * info->v[k] > v ? 8 * info->v[k] : v;
    }
    return (info->width + h - 1) / h * ((info->height + v - 1) / v) / 8 <= size;
}

static int decode(struct picture *p, const unsigned char *data, size_t size, int format, bool inks)
{
    struct nvjpeg_info info;
    *p = (struct picture){.planes = 0};
    if (format < NVJPEG_OUTPUT_UNCHANGED || format > 9)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (format > NVJPEG_OUTPUT_BGRI)
        return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    if (!nvjpeg_turbo())
        return NVJPEG_STATUS_NOT_INITIALIZED;
    int err = nvjpeg_parse(&info, data, size);
    if (err)
        return err;
    if (info.precision != 8 || info.encoding > 0xc2 || !info.height || size > ULONG_MAX)
        return NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    const bool four = info.components == 4;
    inks = inks && four && format >= NVJPEG_OUTPUT_RGB;
    if (info.components == 2 || (four && !inks && format != NVJPEG_OUTPUT_UNCHANGED))
        return NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    if (!is_whole(&info, size))
        return NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
    if (inks)
        return decode_inks(p, &info, data, size, format);
    switch (format) {
    case NVJPEG_OUTPUT_UNCHANGED:
        return four ? decode_pixels(p, &info, data, size, TURBO_CMYK, 4, true) : decode_planes(p, &info, data, size, 3);
    case NVJPEG_OUTPUT_YUV: return decode_planes(p, &info, data, size, 3);
    case NVJPEG_OUTPUT_Y: return decode_pixels(p, &info, data, size, TURBO_GRAY, 1, false);
    case NVJPEG_OUTPUT_RGB: return decode_pixels(p, &info, data, size, TURBO_RGB, 3, true);
    case NVJPEG_OUTPUT_BGR: return decode_pixels(p, &info, data, size, TURBO_BGR, 3, true);
    case NVJPEG_OUTPUT_RGBI: return decode_pixels(p, &info, data, size, TURBO_RGB, 3, false);
    default: return decode_pixels(p, &info, data, size, TURBO_BGR, 3, false);
    }
}

static int give(const struct picture *p, const struct nvjpeg_image *to, musaStream_t s)
{
    for (unsigned k = 0; k < p->planes; k++)
        if (!to->channel[k] || to->pitch[k] < p->width[k])
            return NVJPEG_STATUS_INVALID_PARAMETER;
    for (unsigned k = 0; k < p->planes; k++) {
        int err = nvjpeg_copy_rows(to->channel[k], to->pitch[k], p->plane[k], p->pitch[k], p->width[k], p->rows[k], s);
        if (err)
            return err;
    }
    return NVJPEG_STATUS_SUCCESS;
}

/* Turns a picture as EXIF says it was taken (CIPA DC-008): each plane by itself, as its chroma is. */
static int turn(struct picture *p, const struct params *q)
{
    const int o = q->orientation;
    const bool sideways = o >= 5, from_right = o == 2 || o == 3 || o == 7 || o == 8;
    const bool from_below = o == 3 || o == 4 || o == 6 || o == 7;
    const size_t bytes = pixel_bytes(q->format);
    size_t total = 0;
    if (o < 2)
        return NVJPEG_STATUS_SUCCESS;
    for (unsigned k = 0; k < p->planes; k++)
        total += p->width[k] * p->rows[k];
    unsigned char *to = malloc(total + 1), *const memory = to;
    if (!to)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    for (unsigned k = 0; k < p->planes; k++) {
        const size_t w = p->width[k] / bytes, h = p->rows[k], width = sideways ? h : w, height = sideways ? w : h;
        const unsigned char *from = p->plane[k];
        p->plane[k] = to;
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++, to += bytes) {
                const size_t u = sideways ? y : x, v = sideways ? x : y;
                const size_t at = (from_below ? h - 1 - v : v) * p->pitch[k] + (from_right ? w - 1 - u : u) * bytes;
                memcpy(to, from + at, bytes);
            }
        p->pitch[k] = p->width[k] = width * bytes;
        p->rows[k] = height;
    }
    free(p->memory);
    p->memory = memory;
    return NVJPEG_STATUS_SUCCESS;
}

/* What parameters leave of a picture: it is turned, and then the region is cut out, as nvImageCodec has it from both of
 * its back ends. Of planes whose pixels are one byte, or of one plane with three. */
static int cut(struct picture *p, const struct params *q)
{
    const int err = q ? turn(p, q) : NVJPEG_STATUS_SUCCESS;
    if (err)
        return err;
    if (!q || q->width < 0 || q->height < 0)
        return NVJPEG_STATUS_SUCCESS;
    if (q->format == NVJPEG_OUTPUT_YUV || q->format == NVJPEG_OUTPUT_UNCHANGED)
        return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    const size_t bytes = pixel_bytes(q->format);
    for (unsigned k = 0; k < p->planes; k++) {
        if ((size_t)q->x + (size_t)q->width > p->width[k] / bytes || (size_t)q->y + (size_t)q->height > p->rows[k])
            return NVJPEG_STATUS_INVALID_PARAMETER;
        p->plane[k] += (size_t)q->y * p->pitch[k] + (size_t)q->x * bytes;
        p->width[k] = (size_t)q->width * bytes;
        p->rows[k] = (size_t)q->height;
    }
    return NVJPEG_STATUS_SUCCESS;
}

static int decode_to(const unsigned char *data, size_t size, int format, const struct params *q,
                     const struct nvjpeg_image *to, musaStream_t s)
{
    struct picture p = {.planes = 0};
    int err = data && to ? decode(&p, data, size, format, q && q->cmyk) : NVJPEG_STATUS_INVALID_PARAMETER;
    if (!data || !to)
        return err;
    if (!err)
        err = cut(&p, q);
    if (!err)
        err = give(&p, to, s);
    drop_picture(&p);
    return err;
}

int wrap_nvjpegGetImageInfo(void *handle, const void *data, size_t size, int *components, int *subsampling, int *widths,
                            int *heights)
{
    struct nvjpeg_info info;
    if (!nvjpeg_as(handle, NVJPEG_HANDLE) || !data || !components || !subsampling || !widths || !heights)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    int err = nvjpeg_parse(&info, data, size);
    if (err)
        return err;
    *components = (int)info.components;
    *subsampling = info.subsampling;
    for (unsigned k = 0; k < NVJPEG_COMPONENTS; k++) {
        unsigned width = 0, height = 0;
        if (k < info.components)
            nvjpeg_component(&info, k, &width, &height);
        widths[k] = (int)width;
        heights[k] = (int)height;
    }
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- states and single pictures ---- */

int wrap_nvjpegJpegStateCreate(void *handle, void **out)
{
    return nvjpeg_new(out, handle, NVJPEG_STATE, sizeof(struct state));
}
int wrap_nvjpegJpegStateDestroy(void *state)
{
    struct state *st = nvjpeg_as(state, NVJPEG_STATE);
    if (st)
        drop_picture(&st->picture);
    return nvjpeg_drop(state, NVJPEG_STATE);
}
static bool both(void *handle, void *state)
{
    return nvjpeg_as(handle, NVJPEG_HANDLE) && nvjpeg_as(state, NVJPEG_STATE);
}
int wrap_nvjpegDecode(void *handle, void *state, const void *data, size_t size, int format, void *to,
                      struct CUstream_st *s)
{
    return both(handle, state) ? decode_to(data, size, format, NULL, to, (musaStream_t)s)
                               : NVJPEG_STATUS_INVALID_PARAMETER;
}

/* ---- batches ---- */

int wrap_nvjpegDecodeBatchedInitialize(void *handle, void *state, int batch, int threads, int format)
{
    struct state *st = nvjpeg_as(state, NVJPEG_STATE);
    if (!both(handle, state) || batch <= 0 || threads < 0 || format < 0 || format > 9)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    st->batch = batch;
    st->format = format;
    return NVJPEG_STATUS_SUCCESS;
}
static int decode_batch(void *handle, void *state, const unsigned char *const *data, const size_t *sizes,
                        const struct nvjpeg_image *to, struct params *const *q, struct CUstream_st *s)
{
    const struct state *st = nvjpeg_as(state, NVJPEG_STATE);
    int err = NVJPEG_STATUS_SUCCESS;
    if (!both(handle, state) || !data || !sizes || !to)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (!st->batch)
        return NVJPEG_STATUS_NOT_INITIALIZED;
    for (int k = 0; !err && k < st->batch; k++) {
        const struct params *of = q ? nvjpeg_as(q[k], NVJPEG_PARAMS) : NULL;
        err = q && !of ? NVJPEG_STATUS_INVALID_PARAMETER
                       : decode_to(data[k], sizes[k], of ? of->format : st->format, of, &to[k], (musaStream_t)s);
    }
    return err;
}
int wrap_nvjpegDecodeBatched(void *handle, void *state, const void *data, const void *sizes, void *to,
                             struct CUstream_st *s)
{
    return decode_batch(handle, state, data, sizes, to, NULL, s);
}
int wrap_nvjpegDecodeBatchedEx(void *handle, void *state, const void *data, const void *sizes, void *to, void *params,
                               struct CUstream_st *s)
{
    return decode_batch(handle, state, data, sizes, to, params, s);
}
int wrap_nvjpegDecodeBatchedPreAllocate(void *handle, void *state, int batch, int width, int height, int sampling,
                                        int format)
{
    (void)sampling, (void)format;
    return both(handle, state) && batch > 0 && width > 0 && height > 0 ? NVJPEG_STATUS_SUCCESS
                                                                       : NVJPEG_STATUS_INVALID_PARAMETER;
}

/* ---- parsed files ---- */

int wrap_nvjpegJpegStreamCreate(void *handle, void **out)
{
    return nvjpeg_new(out, handle, NVJPEG_STREAM, sizeof(struct file));
}
int wrap_nvjpegJpegStreamDestroy(void *stream)
{
    struct file *f = nvjpeg_as(stream, NVJPEG_STREAM);
    if (f)
        free(f->data);
    return nvjpeg_drop(stream, NVJPEG_STREAM);
}
static int parse(void *handle, const void *data, size_t size, bool whole, void *stream)
{
    struct file *f = nvjpeg_as(stream, NVJPEG_STREAM);
    struct nvjpeg_info info;
    if (!nvjpeg_as(handle, NVJPEG_HANDLE) || !f || !data || !size)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    int err = nvjpeg_parse(&info, data, size);
    unsigned char *copy = !err && whole ? malloc(size) : NULL;
    if (!err && whole && !copy)
        err = NVJPEG_STATUS_ALLOCATOR_FAILURE;
    if (err)
        return err;
    if (copy)
        memcpy(copy, data, size);
    free(f->data);
    f->data = copy;
    f->size = size;
    f->info = info;
    return NVJPEG_STATUS_SUCCESS;
}
/* save_stream 0 means that the program keeps the data until it is decoded: a copy serves both. */
int wrap_nvjpegJpegStreamParse(void *handle, const void *data, size_t size, int save_metadata, int save_stream,
                               void *stream)
{
    (void)save_metadata, (void)save_stream;
    return parse(handle, data, size, true, stream);
}
int wrap_nvjpegJpegStreamParseHeader(void *handle, const void *data, size_t size, void *stream)
{
    return parse(handle, data, size, false, stream);
}
static const struct nvjpeg_info *parsed(void *stream, const void *out)
{
    const struct file *f = nvjpeg_as(stream, NVJPEG_STREAM);
    return f && out && f->info.components ? &f->info : NULL;
}
#define TELL(name, type, member) \
    int wrap_nvjpegJpegStreamGet##name(void *stream, type *out) \
    { \
        const struct nvjpeg_info *i = parsed(stream, out); \
        if (!i) \
            return NVJPEG_STATUS_INVALID_PARAMETER; \
        *out = i->member; \
        return NVJPEG_STATUS_SUCCESS; \
    }
TELL(JpegEncoding, int, encoding)
TELL(ComponentsNum, unsigned, components)
TELL(ExifOrientation, int, orientation)
TELL(ChromaSubsampling, int, subsampling)
TELL(SamplePrecision, unsigned, precision)
int wrap_nvjpegJpegStreamGetFrameDimensions(void *stream, unsigned *width, unsigned *height)
{
    const struct nvjpeg_info *i = parsed(stream, width);
    if (!i || !height)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *width = i->width;
    *height = i->height;
    return NVJPEG_STATUS_SUCCESS;
}
int wrap_nvjpegJpegStreamGetComponentDimensions(void *stream, unsigned component, unsigned *width, unsigned *height)
{
    const struct nvjpeg_info *i = parsed(stream, width);
    if (!i || !height || component >= i->components)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    nvjpeg_component(i, component, width, height);
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- parameters ---- */

int wrap_nvjpegDecodeParamsCreate(void *handle, void **out)
{
    int err = nvjpeg_new(out, handle, NVJPEG_PARAMS, sizeof(struct params));
    if (!err)
        ((struct params *)*out)->width = ((struct params *)*out)->height = -1;
    return err;
}
int wrap_nvjpegDecodeParamsDestroy(void *params) { return nvjpeg_drop(params, NVJPEG_PARAMS); }
int wrap_nvjpegDecodeParamsSetOutputFormat(void *params, int format)
{
    struct params *q = nvjpeg_as(params, NVJPEG_PARAMS);
    if (!q || format < 0 || format > 9)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    q->format = format;
    return NVJPEG_STATUS_SUCCESS;
}
int wrap_nvjpegDecodeParamsSetROI(void *params, int x, int y, int width, int height)
{
    struct params *q = nvjpeg_as(params, NVJPEG_PARAMS);
    const bool none = width == -1 && height == -1;
    if (!q || x < 0 || y < 0 || (!none && (width <= 0 || height <= 0)))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    q->x = x, q->y = y, q->width = width, q->height = height;
    return NVJPEG_STATUS_SUCCESS;
}
/* Pictures of four inks become colours if this is allowed; of luma alone they are not supported. */
int wrap_nvjpegDecodeParamsSetAllowCMYK(void *params, int allow)
{
    struct params *q = nvjpeg_as(params, NVJPEG_PARAMS);
    if (!q)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    q->cmyk = allow;
    return NVJPEG_STATUS_SUCCESS;
}
/* Of the cards' engines alone; 0 is none. */
int wrap_nvjpegDecodeParamsSetScaleFactor(void *params, int factor)
{
    if (!nvjpeg_as(params, NVJPEG_PARAMS) || factor < 0 || factor > 3)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return factor ? NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED : NVJPEG_STATUS_SUCCESS;
}
int wrap_nvjpegDecodeParamsSetExifOrientation(void *params, int orientation)
{
    struct params *q = nvjpeg_as(params, NVJPEG_PARAMS);
    if (!q || orientation < 0 || orientation > 8)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    q->orientation = orientation;
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- phases ---- */

int wrap_nvjpegDecoderCreate(void *handle, int backend, void **out)
{
    if (backend < 0 || backend > 6)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return backend == 3 || backend == 5 ? NVJPEG_STATUS_ARCH_MISMATCH
                                        : nvjpeg_new(out, handle, NVJPEG_DECODER, sizeof(struct decoder));
}
int wrap_nvjpegDecoderDestroy(void *decoder) { return nvjpeg_drop(decoder, NVJPEG_DECODER); }
int wrap_nvjpegDecoderStateCreate(void *handle, void *decoder, void **out)
{
    return nvjpeg_as(decoder, NVJPEG_DECODER) ? wrap_nvjpegJpegStateCreate(handle, out)
                                              : NVJPEG_STATUS_INVALID_PARAMETER;
}
/* 0: it is. */
static int supported(void *stream, const struct params *q, int *answer)
{
    const struct nvjpeg_info *i = parsed(stream, answer);
    if (!i)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    const bool inks = i->components == 4 && q && q->cmyk && q->format >= NVJPEG_OUTPUT_RGB;
    *answer = !(i->precision == 8 && i->encoding <= 0xc2 &&
                (inks || ((i->components == 1 || i->components == 3) && nvjpeg_turbo_sampling(i->subsampling) >= 0)));
    return NVJPEG_STATUS_SUCCESS;
}
int wrap_nvjpegDecoderJpegSupported(void *decoder, void *stream, void *params, int *answer)
{
    const struct params *q = nvjpeg_as(params, NVJPEG_PARAMS);
    return q && nvjpeg_as(decoder, NVJPEG_DECODER) ? supported(stream, q, answer) : NVJPEG_STATUS_INVALID_PARAMETER;
}
int wrap_nvjpegDecodeBatchedSupported(void *handle, void *stream, int *answer)
{
    return nvjpeg_as(handle, NVJPEG_HANDLE) ? supported(stream, NULL, answer) : NVJPEG_STATUS_INVALID_PARAMETER;
}
int wrap_nvjpegDecodeBatchedSupportedEx(void *handle, void *stream, void *params, int *answer)
{
    const struct params *q = nvjpeg_as(params, NVJPEG_PARAMS);
    return q && nvjpeg_as(handle, NVJPEG_HANDLE) ? supported(stream, q, answer) : NVJPEG_STATUS_INVALID_PARAMETER;
}
int wrap_nvjpegDecodeJpegHost(void *handle, void *decoder, void *state, void *params, void *stream)
{
    struct state *st = nvjpeg_as(state, NVJPEG_STATE);
    const struct params *q = nvjpeg_as(params, NVJPEG_PARAMS);
    const struct file *f = nvjpeg_as(stream, NVJPEG_STREAM);
    if (!both(handle, state) || !nvjpeg_as(decoder, NVJPEG_DECODER) || !q || !f || !f->data)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    drop_picture(&st->picture);
    int err = decode(&st->picture, f->data, f->size, q->format, q->cmyk);
    if (!err)
        err = cut(&st->picture, q);
    if (err)
        drop_picture(&st->picture);
    return err;
}
int wrap_nvjpegDecodeJpegTransferToDevice(void *handle, void *decoder, void *state, void *stream, struct CUstream_st *s)
{
    const struct state *st = nvjpeg_as(state, NVJPEG_STATE);
    (void)s; /* the last phase copies */
    return both(handle, state) && nvjpeg_as(decoder, NVJPEG_DECODER) && nvjpeg_as(stream, NVJPEG_STREAM) &&
                   st->picture.planes
               ? NVJPEG_STATUS_SUCCESS
               : NVJPEG_STATUS_INVALID_PARAMETER;
}
int wrap_nvjpegDecodeJpegDevice(void *handle, void *decoder, void *state, void *to, struct CUstream_st *s)
{
    const struct state *st = nvjpeg_as(state, NVJPEG_STATE);
    return both(handle, state) && nvjpeg_as(decoder, NVJPEG_DECODER) && to && st->picture.planes
               ? give(&st->picture, to, (musaStream_t)s)
               : NVJPEG_STATUS_INVALID_PARAMETER;
}
int wrap_nvjpegDecodeJpeg(void *handle, void *decoder, void *state, void *stream, void *to, void *params,
                          struct CUstream_st *s)
{
    int err = wrap_nvjpegDecodeJpegHost(handle, decoder, state, params, stream);
    return err ? err : wrap_nvjpegDecodeJpegDevice(handle, decoder, state, to, s);
}
