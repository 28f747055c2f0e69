/* What stands behind the NVRTC facades: the program's own copy of NVIDIA's compiler, or the SDK's MTRTC. */
#ifndef CUMU_API_NVRTC_H
#define CUMU_API_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

typedef int nvrtcResult;

/* The functions that wrappers call; the others are passes of the map. */
struct nvrtc {
    nvrtcResult (*create)(void **program, const char *text, const char *name, int headers, const void *contents,
                          const void *names);
    nvrtcResult (*compile)(void *program, int n, const void *options);
    nvrtcResult (*destroy)(void **program);
    nvrtcResult (*ptx)(void *program, char *text);
    nvrtcResult (*ptx_size)(void *program, size_t *size);
    nvrtcResult (*cubin)(void *program, char *image);
    nvrtcResult (*cubin_size)(void *program, size_t *size);
    bool musa; /* MTRTC: its PTX and cubin are a MUSA fat binary */
};

/* The compiler behind the facade of this soname; NULL, with a gap said, when there is none. */
const struct nvrtc *cumu_nvrtc(const char *soname);

/* The options for a compiler that shall make PTX: real architectures become virtual ones (sm_86:
 * compute_86), in all the ways NVRTC takes them; without `keep_arch` they are left out. *real says
 * whether machine code was asked for. One malloc'ed block of *n pointers, NULL on out of memory; refers
 * to the strings of `options`. */
const char **cumu_nvrtc_options(const char *const *options, int *n, bool keep_arch, bool *real);

#endif
