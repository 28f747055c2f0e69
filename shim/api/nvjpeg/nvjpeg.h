/* nvJPEG on the host's libjpeg-turbo: MUSA has no such library. Pictures are decoded and encoded on the host, as
 * NVIDIA's hybrid back end does in part, and copied on the caller's stream; a call returns when that is done. */
#ifndef CUMU_API_NVJPEG_NVJPEG_H
#define CUMU_API_NVJPEG_NVJPEG_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "api/object.h"
#include "cuda_enums.h"
#include "wraps.h"

enum { NVJPEG_COMPONENTS = 4 };

/* Every object begins with what it is, so that another one is refused; any value may be asked about. */
enum nvjpeg_kind {
    NVJPEG_HANDLE = 0x4e4a0001,
    NVJPEG_STATE,
    NVJPEG_STREAM,
    NVJPEG_PARAMS,
    NVJPEG_DECODER,
    NVJPEG_ENCODER,
    NVJPEG_ENCODER_PARAMS,
    NVJPEG_PINNED,
    NVJPEG_DEVICE
};
struct nvjpeg_handle {
    int kind;
    size_t device_padding, pinned_padding;
};
static inline void *nvjpeg_as(void *object, enum nvjpeg_kind kind)
{
    int *o = cumu_object(CUMU_NVJPEG, object);
    return o && *o == (int)kind ? o : NULL;
}
/* A new object of that kind, zeroed; an nvjpegStatus_t. */
int nvjpeg_new(void **out, void *handle, enum nvjpeg_kind kind, size_t size);
int nvjpeg_drop(void *object, enum nvjpeg_kind kind);

struct nvjpeg_image { /* nvjpegImage_t: memory of the device or the host, pitches in bytes */
    unsigned char *channel[NVJPEG_COMPONENTS];
    size_t pitch[NVJPEG_COMPONENTS];
};

/* What the markers of a file say, without decoding it (parse.c). */
struct nvjpeg_info {
    unsigned width, height, components, precision;
    unsigned h[NVJPEG_COMPONENTS], v[NVJPEG_COMPONENTS]; /* sampling factors */
    int encoding;                                        /* the SOF marker's number, 0xc0 and on */
    int subsampling, orientation;
};
int nvjpeg_parse(struct nvjpeg_info *info, const unsigned char *data, size_t size); /* an nvjpegStatus_t */
void nvjpeg_component(const struct nvjpeg_info *info, unsigned k, unsigned *width, unsigned *height);

/* libturbojpeg, by its documented interface. NULL: it is not there; said once. */
struct turbo {
    void *(*init_decompress)(void);
    void *(*init_compress)(void);
    int (*destroy)(void *);
    int (*decompress)(void *, const unsigned char *, unsigned long, unsigned char *, int, int, int, int, int);
    int (*header)(void *, const unsigned char *, unsigned long, int *, int *, int *, int *);
    int (*decompress_planes)(void *, const unsigned char *, unsigned long, unsigned char **, int, int *, int, int);
    int (*compress)(void *, const unsigned char *, int, int, int, int, unsigned char **, unsigned long *, int, int,
                    int);
    int (*compress_planes)(void *, const unsigned char **, int, const int *, int, int, unsigned char **,
                           unsigned long *, int, int);
    int (*plane_width)(int, int, int);
    int (*plane_height)(int, int, int);
    unsigned long (*size)(int, int, int);
    void (*release)(unsigned char *);
};
const struct turbo *nvjpeg_turbo(void);
enum { TURBO_RGB = 0, TURBO_BGR = 1, TURBO_GRAY = 6, TURBO_CMYK = 11 };                                  /* TJPF */
enum { TURBO_ACCURATE = 4096, TURBO_STRICT = 8192, TURBO_PROGRESSIVE = 16384, TURBO_FEW_SCANS = 32768 }; /* TJFLAG */
int nvjpeg_turbo_sampling(int css); /* TJSAMP of an nvjpegChromaSubsampling_t; -1: none */

/* Rows between the host and a picture's channel, on the stream, which is waited for. */
int nvjpeg_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                     musaStream_t s);

#endif
