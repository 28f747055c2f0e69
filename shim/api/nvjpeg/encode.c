/* nvJPEG's encoder. */
#include "api/nvjpeg/nvjpeg.h"

#include <stdlib.h>
#include <string.h>

struct encoder {
    int kind;
    unsigned char *file; /* libjpeg-turbo's */
    unsigned long size;
};
struct params {
    int kind, quality, sampling;
    bool progressive;
};

int wrap_nvjpegEncoderStateCreate(void *handle, void **out, struct CUstream_st *s)
{
    (void)s;
    return nvjpeg_new(out, handle, NVJPEG_ENCODER, sizeof(struct encoder));
}
int wrap_nvjpegEncoderStateCreateWithBackend(void *handle, void **out, int backend, struct CUstream_st *s)
{
    enum { DEFAULT = 0, OF_THE_GPU = 1, ENGINE = 2 };
    if (backend < DEFAULT || backend > ENGINE)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return backend == ENGINE ? NVJPEG_STATUS_ARCH_MISMATCH : wrap_nvjpegEncoderStateCreate(handle, out, s);
}
static void drop_file(struct encoder *e)
{
    if (e->file)
        nvjpeg_turbo()->release(e->file);
    e->file = NULL;
    e->size = 0;
}
int wrap_nvjpegEncoderStateDestroy(void *state)
{
    struct encoder *e = nvjpeg_as(state, NVJPEG_ENCODER);
    if (e)
        drop_file(e);
    return nvjpeg_drop(state, NVJPEG_ENCODER);
}

int wrap_nvjpegEncoderParamsCreate(void *handle, void **out, struct CUstream_st *s)
{
    (void)s;
    int err = nvjpeg_new(out, handle, NVJPEG_ENCODER_PARAMS, sizeof(struct params));
    if (!err)
        ((struct params *)*out)->quality = 70; /* the documentation's default, with 4:4:4 */
    return err;
}
int wrap_nvjpegEncoderParamsDestroy(void *params) { return nvjpeg_drop(params, NVJPEG_ENCODER_PARAMS); }

#define SET(name, valid, what) \
    int wrap_nvjpegEncoderParamsSet##name(void *params, int value, struct CUstream_st *s) \
    { \
        struct params *q = nvjpeg_as(params, NVJPEG_ENCODER_PARAMS); \
        (void)s; \
        if (!q || !(valid)) \
            return NVJPEG_STATUS_INVALID_PARAMETER; \
        what; \
        return NVJPEG_STATUS_SUCCESS; \
    }
SET(Quality, value >= 1 && value <= 100, q->quality = value)
SET(Encoding, value == 0xc0 || value == 0xc2, q->progressive = value == 0xc2)
SET(OptimizedHuffman, value == 0 || value == 1, (void)q) /* smaller files, the same pictures */
SET(SamplingFactors, nvjpeg_turbo_sampling(value) >= 0, q->sampling = value)
int wrap_nvjpegEncoderParamsSetRestartInterval(void *params, int interval, struct CUstream_st *s)
{
    (void)s;
    if (!nvjpeg_as(params, NVJPEG_ENCODER_PARAMS) || interval < 0)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return interval ? NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED : NVJPEG_STATUS_SUCCESS;
}

int wrap_nvjpegEncodeGetBufferSize(void *handle, void *params, int width, int height, size_t *size)
{
    const struct params *q = nvjpeg_as(params, NVJPEG_ENCODER_PARAMS);
    if (!nvjpeg_as(handle, NVJPEG_HANDLE) || !q || width <= 0 || height <= 0 || !size)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (!nvjpeg_turbo())
        return NVJPEG_STATUS_NOT_INITIALIZED;
    *size = nvjpeg_turbo()->size(width, height, nvjpeg_turbo_sampling(q->sampling));
    return NVJPEG_STATUS_SUCCESS;
}

static int take(struct encoder *e, void *compressor, int failed)
{
    if (compressor)
        (void)nvjpeg_turbo()->destroy(compressor);
    if (compressor && !failed)
        return NVJPEG_STATUS_SUCCESS;
    drop_file(e);
    return compressor ? NVJPEG_STATUS_EXECUTION_FAILED : NVJPEG_STATUS_ALLOCATOR_FAILURE;
}

static bool arguments(void *handle, void *state, void *params, const void *source, int width, int height)
{
    enum { LARGEST = 65535 };
    return nvjpeg_as(handle, NVJPEG_HANDLE) && nvjpeg_as(state, NVJPEG_ENCODER) &&
           nvjpeg_as(params, NVJPEG_ENCODER_PARAMS) && source && width > 0 && height > 0 && width <= LARGEST &&
           height <= LARGEST;
}

/* Three planes, or one of three colours, to pixels of the host's; they are freed by the caller. */
static int fetch_pixels(unsigned char **out, const struct nvjpeg_image *from, bool planar, size_t width, size_t rows,
                        musaStream_t s)
{
    const unsigned planes = planar ? 3 : 1;
    const size_t row = planar ? width : 3 * width;
    for (unsigned k = 0; k < planes; k++)
        if (!from->channel[k] || from->pitch[k] < row)
            return NVJPEG_STATUS_INVALID_PARAMETER;
    unsigned char *pixels = malloc(3 * width * rows + 1), *plane = planar ? malloc(width * rows + 1) : pixels;
    int err = pixels && plane ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_ALLOCATOR_FAILURE;
    for (unsigned k = 0; !err && k < planes; k++) {
        err = nvjpeg_copy_rows(plane, row, from->channel[k], from->pitch[k], row, rows, s);
        for (size_t i = 0; !err && planar && i < width * rows; i++)
            pixels[3 * i + k] = plane[i];
    }
    if (planar)
        free(plane);
    if (err)
        free(pixels);
    *out = err ? NULL : pixels;
    return err;
}

int wrap_nvjpegEncodeImage(void *handle, void *state, void *params, const void *source, int format, int width,
                           int height, struct CUstream_st *s)
{
    struct encoder *e = state;
    const struct params *q = params;
    const struct turbo *t = nvjpeg_turbo();
    unsigned char *pixels;
    const bool planar = format == NVJPEG_OUTPUT_RGB || format == NVJPEG_OUTPUT_BGR;
    const bool blue_first = format == NVJPEG_OUTPUT_BGR || format == NVJPEG_OUTPUT_BGRI;
    if (!arguments(handle, state, params, source, width, height))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (!t)
        return NVJPEG_STATUS_NOT_INITIALIZED;
    if (format < NVJPEG_OUTPUT_RGB || format > NVJPEG_OUTPUT_BGRI)
        return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    int err = fetch_pixels(&pixels, source, planar, (size_t)width, (size_t)height, (musaStream_t)s);
    if (err)
        return err;
    drop_file(e);
    void *c = t->init_compress();
    err = take(e, c,
               c && t->compress(c, pixels, width, 3 * width, height, blue_first ? TURBO_BGR : TURBO_RGB, &e->file,
                                &e->size, nvjpeg_turbo_sampling(q->sampling), q->quality,
                                TURBO_ACCURATE | (q->progressive ? TURBO_PROGRESSIVE : 0)));
    free(pixels);
    return err;
}

/* Planes of the file's own sampling; from one sampling to another they are not converted. */
int wrap_nvjpegEncodeYUV(void *handle, void *state, void *params, const void *source, int sampling, int width,
                         int height, struct CUstream_st *s)
{
    struct encoder *e = state;
    const struct params *q = params;
    const struct nvjpeg_image *from = source;
    const struct turbo *t = nvjpeg_turbo();
    const int of = nvjpeg_turbo_sampling(sampling);
    const unsigned char *plane[3] = {NULL};
    int pitch[3] = {0}, err = NVJPEG_STATUS_SUCCESS;
    unsigned char *memory[3] = {NULL};
    if (!arguments(handle, state, params, source, width, height) || of < 0)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (!t)
        return NVJPEG_STATUS_NOT_INITIALIZED;
    if (sampling != q->sampling)
        return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    const unsigned planes = sampling == NVJPEG_CSS_GRAY ? 1 : 3;
    for (unsigned k = 0; !err && k < planes; k++) {
        const size_t padded = (size_t)t->plane_width((int)k, width, of),
                     rows = (size_t)t->plane_height((int)k, height, of);
        const size_t own = k ? padded : (size_t)width, own_rows = k ? rows : (size_t)height;
        memory[k] = malloc(padded * rows + 1);
        plane[k] = memory[k];
        pitch[k] = (int)padded;
        if (!memory[k])
            err = NVJPEG_STATUS_ALLOCATOR_FAILURE;
        else if (!from->channel[k] || from->pitch[k] < own)
            err = NVJPEG_STATUS_INVALID_PARAMETER;
        else
            err = nvjpeg_copy_rows(memory[k], padded, from->channel[k], from->pitch[k], own, own_rows, (musaStream_t)s);
        /* An odd width or height is filled up with the last one. */
        for (size_t y = 0; !err && own < padded && y < own_rows; y++)
            memset(memory[k] + y * padded + own, memory[k][y * padded + own - 1], padded - own);
        for (size_t y = own_rows; !err && y < rows; y++)
            memcpy(memory[k] + y * padded, memory[k] + (own_rows - 1) * padded, padded);
    }
    if (!err) {
        drop_file(e);
        void *c = t->init_compress();
        err = take(e, c,
                   c && t->compress_planes(c, plane, width, pitch, height, of, &e->file, &e->size, q->quality,
                                           TURBO_ACCURATE | (q->progressive ? TURBO_PROGRESSIVE : 0)));
    }
    for (unsigned k = 0; k < planes; k++)
        free(memory[k]);
    return err;
}

/* Without data the size is told. */
static int retrieve(void *handle, void *state, void *data, size_t *size, bool device, struct CUstream_st *s)
{
    const struct encoder *e = nvjpeg_as(state, NVJPEG_ENCODER);
    if (!nvjpeg_as(handle, NVJPEG_HANDLE) || !e || !size || !e->file || (data && *size < e->size))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *size = e->size;
    if (data && device)
        return nvjpeg_copy_rows(data, e->size, e->file, e->size, e->size, 1, (musaStream_t)s);
    if (data)
        memcpy(data, e->file, e->size);
    return NVJPEG_STATUS_SUCCESS;
}
int wrap_nvjpegEncodeRetrieveBitstream(void *handle, void *state, void *data, size_t *size, struct CUstream_st *s)
{
    return retrieve(handle, state, data, size, false, s);
}
int wrap_nvjpegEncodeRetrieveBitstreamDevice(void *handle, void *state, void *data, size_t *size, struct CUstream_st *s)
{
    return retrieve(handle, state, data, size, true, s);
}
