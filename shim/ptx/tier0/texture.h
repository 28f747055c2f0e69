/* Textures and surfaces as device code sees them: a handle is the address of one of these records,
 * which the driver below makes and kernels read. */
#ifndef CUMU_PTX_T0_TEXTURE_H
#define CUMU_PTX_T0_TEXTURE_H

#include "ptx/lir/image.h"

#define T0_TEXTURE_MAGIC 0x78657475756d7563u /* "cumuutex": what a handle must lead to */
#define T0_TEXTURE_LEVELS 17                 /* mipmaps of 65536 texels down to 1 */

enum t0_texel_format {
    T0_TEXEL_U8,
    T0_TEXEL_U16,
    T0_TEXEL_U32,
    T0_TEXEL_S8,
    T0_TEXEL_S16,
    T0_TEXEL_S32,
    T0_TEXEL_F16,
    T0_TEXEL_F32,
    T0_TEXEL_FORMATS
};
enum t0_address_mode { T0_ADDR_WRAP, T0_ADDR_CLAMP, T0_ADDR_MIRROR, T0_ADDR_BORDER };

struct t0_texture_level {
    uint8_t *data;
    uint32_t width, height, depth; /* elements, all >= 1; depth: layers, faces or slices */
    uint64_t pitch, slice;         /* bytes of a row and of a layer */
};

struct t0_texture {
    uint64_t magic;     /* T0_TEXTURE_MAGIC while the object lives */
    uint8_t format;     /* enum t0_texel_format */
    uint8_t channels;   /* 1, 2 or 4 */
    uint8_t address[3]; /* enum t0_address_mode */
    bool surface;
    bool linear_memory;      /* one row; reads outside it give 0 */
    bool of_memory;          /* which the program may free, else of an array */
    bool linear, mip_linear; /* filters; else the nearest */
    bool normalized;         /* coordinates run from 0 to 1 */
    bool as_float;           /* reads give floats: float formats, or integers scaled to [0, 1] */
    bool srgb, seamless;
    uint32_t levels;
    float bias, min_lod, max_lod;
    uint32_t border[4]; /* bits, as read */
    struct t0_texture_level level[T0_TEXTURE_LEVELS];
};

struct t0_texture_query {
    unsigned geometry; /* enum lir_geometry */
    bool integer;      /* coordinates are texels: i[], else f[] */
    float f[3];
    int32_t i[3], layer, offset[3];
    float lod;
};

/* Four channels: bits of a float when t->as_float, else an integer of 32 bits. */
void t0_texture_fetch(const struct t0_texture *t, const struct t0_texture_query *q, uint32_t out[4]);
/* The commonest form, for a warp: two dimensions, one 32-bit channel, clamped or, unfiltered,
 * wrapped. x, y and out are rows of LIR_LANES. false: the texture is of another kind, and nothing was done. */
bool t0_texture_fetch_lanes(const struct t0_texture *t, uint32_t mask, const float *x, const float *y, uint32_t *out);
/* The same for numbered texels of one 32-bit channel in linear memory. */
bool t0_texture_fetch_linear(const struct t0_texture *t, uint32_t mask, const uint32_t *x, uint32_t *out);
/* One channel of the four texels that bilinear filtering would use. */
void t0_texture_gather(const struct t0_texture *t, const struct t0_texture_query *q, unsigned channel, uint32_t out[4]);
/* Level of detail of a gradient. */
float t0_texture_lod(const struct t0_texture *t, unsigned geometry, const float dx[3], const float dy[3]);
unsigned t0_texel_bytes(unsigned format); /* of one channel */
/* Stores four channels (integers, or bits of floats) as one element of the format. */
void t0_texel_store(const struct t0_texture *t, uint8_t *p, const uint32_t in[4]);

#endif
