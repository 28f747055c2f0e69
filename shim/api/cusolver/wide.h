/* What cuSOLVER's 64-bit functions share: element types and sizes in the form that muSOLVER takes. */
#ifndef CUMU_API_CUSOLVER_WIDE_H
#define CUMU_API_CUSOLVER_WIDE_H

#include "api/cusolver/cusolver.h"

/* A type and the sizes of a call in the form that muSOLVER takes. */
struct wide {
    int type, status;
};
static inline struct wide wide(const char *name, void *h, int element, int count, const long *sizes)
{
    musaStream_t stream;
    struct wide w = {.status = cumu_solver_stream(h, &stream)};
    for (int i = 0; !w.status && i < count; i++)
        if (sizes[i] != (int)sizes[i]) {
            cumu_gap("cusolver", name, "a size above 2147483647");
            w.status = CUSOLVER_STATUS_NOT_SUPPORTED;
        }
    switch (element) {
    case CUDA_R_32F: w.type = S; break;
    case CUDA_R_64F: w.type = D; break;
    case CUDA_C_32F: w.type = C; break;
    case CUDA_C_64F: w.type = Z; break;
    default: w.status = w.status ? w.status : CUSOLVER_STATUS_INVALID_VALUE;
    }
    return w;
}
#define WIDE(element, ...) \
    wide(__func__ + 5, h, element, (int)(sizeof((long[]){__VA_ARGS__}) / sizeof(long)), (long[]){__VA_ARGS__})

/* The real type beside an element type; vectors and results have one of the two. */
static inline int real_of(int element)
{
    return element == CUDA_C_32F ? CUDA_R_32F : element == CUDA_C_64F ? CUDA_R_64F : element;
}

/* Elements as bytes, for the sizes of a workspace. */
static inline int sizes(struct wide w, int status, int lwork, size_t extra, size_t *device, size_t *host)
{
    if (status)
        return status;
    if (!device)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *device = (size_t)lwork * cumu_solver_size(w.type) + extra;
    if (host)
        *host = 0;
    return CUSOLVER_STATUS_SUCCESS;
}
static inline int elements(struct wide w, size_t bytes)
{
    size_t n = bytes / cumu_solver_size(w.type);
    return n > (size_t)__INT_MAX__ ? __INT_MAX__ : (int)n;
}
static inline size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }

#endif
