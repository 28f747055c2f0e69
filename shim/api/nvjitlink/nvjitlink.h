/* The program's own copy of NVIDIA's device linker, which links what is not PTX yet (LTO-IR). */
#ifndef CUMU_API_NVJITLINK_H
#define CUMU_API_NVJITLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int nvJitLinkResult;

struct nvjitlink {
    nvJitLinkResult (*create)(void **handle, uint32_t n, const char *const *options);
    nvJitLinkResult (*destroy)(void **handle);
    nvJitLinkResult (*add)(void *handle, int type, const void *data, size_t size, const char *name);
    nvJitLinkResult (*complete)(void *handle);
    nvJitLinkResult (*ptx_size)(void *handle, size_t *size);
    nvJitLinkResult (*ptx)(void *handle, char *text);
    nvJitLinkResult (*error_size)(void *handle, size_t *size);
    nvJitLinkResult (*error)(void *handle, char *log);
    nvJitLinkResult (*lto_size)(void *handle, size_t *size); /* CUDA 13, else NULL, as the next */
    nvJitLinkResult (*lto)(void *handle, void *image);
};

/* The copy behind the facade of this toolkit (12, 13); NULL when there is none. */
const struct nvjitlink *cumu_nvjitlink(unsigned toolkit);
const char *cumu_nvjitlink_soname(unsigned toolkit);

#endif
