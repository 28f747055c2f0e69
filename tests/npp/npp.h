/* What the NPP tests share: prototypes as NPP documents them, and pictures on the device with a margin around them that
 * no call may write. */
#ifndef CUMU_TESTS_NPP_H
#define CUMU_TESTS_NPP_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "../xorshift.h"
#include "cuda_functions.h"

typedef struct {
    int width, height;
} NppiSize;
typedef struct {
    int x, y, width, height;
} NppiRect;
typedef struct {
    void *stream;
    int device, processors, threads_of_processor, threads_of_block;
    size_t shared;
    int major, minor;
    unsigned flags;
    int reserved;
} NppStreamContext;

typedef int remap_function(const void *, NppiSize, int, NppiRect, const void *, int, const void *, int, void *, int,
                           NppiSize, int, NppStreamContext);
extern remap_function nppiRemap_8u_C1R_Ctx, nppiRemap_8u_C3R_Ctx, nppiRemap_16u_C1R_Ctx, nppiRemap_16u_C3R_Ctx,
    nppiRemap_16s_C1R_Ctx, nppiRemap_16s_C3R_Ctx, nppiRemap_32f_C1R_Ctx, nppiRemap_32f_C3R_Ctx, nppiRemap_64f_C1R_Ctx,
    nppiRemap_64f_C3R_Ctx;
typedef int bayer_function(const void *, int, NppiSize, NppiRect, void *, int, int, int, NppStreamContext);
extern bayer_function nppiCFAToRGB_8u_C1C3R_Ctx, nppiCFAToRGB_16u_C1C3R_Ctx;
typedef int twist_function(const void *, int, void *, int, NppiSize, const void *);
extern twist_function nppiColorTwist32f_8u_C1R, nppiColorTwist32f_8u_C3R;

enum { UNSUPPORTED = -9999, NO_ROI = -1020, ALIGNMENT = -1002, KERNEL = -1000, UNEVEN = -108, RECTANGLE = -57 };
enum { MODE = -22, STEP = -14, NULL_POINTER = -8, SIZE = -6, ARGUMENT = -5 };

static uint64_t seed = 18;
static inline int upto(int n) { return (int)(xorshift(&seed) % (unsigned)n); } /* 0..n-1 */

/* ---- numbers and pictures ----------------------------------------------------------------------------- */

enum type { U8, U16, S16, F32, F64, TYPES };
static const int bytes_of[TYPES] = {1, 2, 2, 4, 8};
struct picture {
    enum type type;
    int channels, width, height, step;
    size_t size;
    char *host, *at; /* the same on the host and on the device */
};
static inline double get(const struct picture *p, int x, int y, int c)
{
    const char *line = p->host + (size_t)y * (size_t)p->step;
    int i = x * p->channels + c;
    switch (p->type) {
    case U8: return ((const uint8_t *)line)[i];
    case U16: return ((const uint16_t *)line)[i];
    case S16: return ((const int16_t *)line)[i];
    case F32: return ((const float *)line)[i];
    default: return ((const double *)line)[i];
    }
}
static inline void put(const struct picture *p, int x, int y, int c, double v)
{
    char *line = p->host + (size_t)y * (size_t)p->step;
    int i = x * p->channels + c;
    switch (p->type) {
    case U8: ((uint8_t *)line)[i] = (uint8_t)v; break;
    case U16: ((uint16_t *)line)[i] = (uint16_t)v; break;
    case S16: ((int16_t *)line)[i] = (int16_t)v; break;
    case F32: ((float *)line)[i] = (float)v; break;
    default: ((double *)line)[i] = v; break;
    }
}
/* One of drawn numbers, with drawn gaps behind its lines. */
static inline struct picture picture(enum type type, int channels, int width, int height)
{
    struct picture p = {type, channels, width, height, (width * channels + upto(5)) * bytes_of[type], 0, NULL, NULL};
    p.size = (size_t)p.step * (size_t)height;
    p.host = calloc(p.size + 8, 1);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < p.step / bytes_of[type]; x++) {
            int n = upto(1 << 16);
            p.channels = 1; /* the gaps as well */
            put(&p, x, y, 0, type == U8 ? n & 255 : type == S16 ? n - (1 << 15) : type == U16 ? n : n / 64.0 - 300);
        }
    p.channels = channels;
    MUST(cudaMalloc(&p.at, p.size));
    MUST(cudaMemcpy(p.at, p.host, p.size, 1));
    return p;
}
static inline void upload(const struct picture *p) { OK(cudaMemcpy(p->at, p->host, p->size, 1)); }
static inline void drop(struct picture *p)
{
    OK(cudaFree(p->at));
    free(p->host);
}

/* The device's picture is the host's, but for `slack` in each number of a pixel. */
static inline void same(const struct picture *p, double slack, const char *what)
{
    struct picture got = *p;
    int wrong = 0;
    got.host = malloc(p->size);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got.host, p->at, p->size, 2));
    for (int y = 0; y < p->height; y++) {
        size_t pixels = (size_t)(p->width * p->channels * bytes_of[p->type]), start = (size_t)y * (size_t)p->step;
        for (int x = 0; x < p->width && slack >= 0; x++)
            for (int c = 0; c < p->channels; c++) {
                double want = get(p, x, y, c), v = get(&got, x, y, c);
                if (!(fabs(v - want) <= slack) && !(isnan(v) && isnan(want)) && !wrong++)
                    EXPECT(false, "%s: (%d, %d, %d): %.9g, not %.9g", what, x, y, c, v, want);
            }
        EXPECT(!memcmp(got.host + start + pixels, p->host + start + pixels, (size_t)p->step - pixels),
               "%s: written behind line %d", what, y);
    }
    EXPECT(!wrong, "%s: %d numbers are wrong", what, wrong);
    free(got.host);
}

#endif
