/* What the NPP wrappers share: its structs that travel by value, and the checks of a picture's arguments, whose errors
 * are those of NPP's general conventions ("Image Data Related Error Codes", "ROI Related Error Codes"). */
#ifndef CUMU_API_NPP_NPP_H
#define CUMU_API_NPP_NPP_H

#include <stdint.h>
#include <string.h>

#include "abi/mupp.h"
#include "api/api.h"
#include "cuda_enums.h"
#include "wraps.h"

struct npp_size { /* NppiSize */
    int width, height;
};
struct npp_rect { /* NppiRect */
    int x, y, width, height;
};
struct npp_context { /* NppStreamContext; the program says what its device is like, and only the stream is asked */
    musaStream_t stream;
    int device, processors, threads_of_processor, threads_of_block;
    size_t shared;
    int major, minor;
    unsigned flags;
    int reserved;
};
_Static_assert(sizeof(struct npp_context) == sizeof(struct cumu_s48), "NppStreamContext");

static inline struct npp_size npp_size(struct cumu_s8 s) { return (struct npp_size){s.at[0], s.at[1]}; }
static inline struct npp_rect npp_rect(struct cumu_s16 s)
{
    struct npp_rect r;
    memcpy(&r, &s, sizeof r);
    return r;
}
static inline musaStream_t npp_stream(struct cumu_s48 s)
{
    struct npp_context c;
    memcpy(&c, &s, sizeof c);
    return c.stream;
}

/* A picture's pointer, step in bytes and width in pixels of `channels` numbers of `bytes`. */
static inline int npp_picture(const void *at, int step, int width, int channels, int bytes)
{
    if (!at)
        return NPP_NULL_POINTER_ERROR;
    if (step <= 0 || (int64_t)width * channels * bytes > step)
        return NPP_STEP_ERROR;
    if (step % bytes != 0)
        return NPP_NOT_EVEN_STEP_ERROR;
    return (uintptr_t)at % (unsigned)bytes != 0 ? NPP_ALIGNMENT_ERROR : NPP_SUCCESS;
}

#define NPP_REFUSE_IF(condition, error) \
    do { \
        if (condition) \
            return error; \
    } while (0)
#define NPP_PICTURE_OR_LEAVE(...) \
    do { \
        int error_ = npp_picture(__VA_ARGS__); \
        if (error_) \
            return error_; \
    } while (0)

/* The stream that nppSetStream set, for functions that are not told one. */
musaStream_t npp_current_stream(void);

#endif
