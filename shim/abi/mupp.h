/* The functions below NPP's facade. Of muPP, which is in the SDKs, no public source shows a declaration
 * (mapping/facts/musa.md): nothing of it is called by guess. What is declared here has names that muPP has not: cumu's
 * libmupp of the CPU exports them, and over another one they are found missing at run time and the facade answers
 * NPP_NOT_SUPPORTED_MODE_ERROR.
 *
 * A call gets a description by address, reads it at once, and is queued on its stream like a kernel. Arguments were
 * checked above, in shim/api/npp. Steps are the bytes from one line to the next; sizes are pixels. Results are
 * NPP's. */
#ifndef CUMU_ABI_MUPP_H
#define CUMU_ABI_MUPP_H

#include "abi/musa.h"

typedef int muppStatus_t;
enum { MUPP_SUCCESS = 0, MUPP_NO_MEMORY = -4, MUPP_KERNEL_FAILED = -1000 };

enum mupp_type { MUPP_8U, MUPP_16U, MUPP_16S, MUPP_32F, MUPP_64F };
struct mupp_source {
    const void *at; /* pixel (0, 0) */
    int step;
};
struct mupp_target {
    void *at;
    int step, width, height;
};

/* to(i, j) = from(x(i, j), y(i, j)), where that lies in the clip rectangle; elsewhere `to` is left as it is. */
enum mupp_filter {
    MUPP_NEAREST,
    MUPP_LINEAR,
    MUPP_CUBIC, /* of the parameters b and c */
    MUPP_LANCZOS
};
struct mupp_remap {
    enum mupp_type type;
    int channels; /* interleaved */
    enum mupp_filter filter;
    double b, c;
    struct mupp_source from, x, y; /* x and y: floats, or doubles of MUPP_64F */
    int left, top, right, bottom;  /* the clip rectangle; right and bottom are behind it */
    struct mupp_target to;
};

/* Colours of a Bayer mosaic, of MUPP_8U or MUPP_16U: red, green and blue for each pixel of the part of a picture that
 * begins at (left, top). Behind its edges the picture is mirrored. */
struct mupp_bayer {
    enum mupp_type type;
    struct mupp_source from;
    int width, height, left, top; /* of the picture, whose sizes are even */
    int red_x, red_y;             /* where in each 2 x 2 pixels of the part red lies */
    struct mupp_target to;
};

/* to = m (from, 1) of pixels of one or three bytes, rounded to the nearest number of a byte. */
struct mupp_twist {
    int channels;
    struct mupp_source from;
    float m[3][4];
    struct mupp_target to;
};

#pragma GCC visibility push(default)
muppStatus_t muppHostRemap(musaStream_t stream, const struct mupp_remap *r);
muppStatus_t muppHostBayer(musaStream_t stream, const struct mupp_bayer *b);
muppStatus_t muppHostTwist(musaStream_t stream, const struct mupp_twist *t);
#pragma GCC visibility pop

#endif
