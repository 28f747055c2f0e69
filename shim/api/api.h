/* What the hand-written wrappers share. A wrapper is `wrap_<exported symbol>`, with a suffix _v11 or _v12
 * for an older soname whose ABI differs; the map names it, the facade's slot leads to it. */
#ifndef CUMU_API_API_H
#define CUMU_API_API_H

#include "abi/cuda.h"
#include "abi/musa.h"
#include "core/error.h"
#include "core/log.h"
#include "kernel/kernel.h"
#include "mu.h"

typedef int cudaError_t; /* all enums are int in signatures */
typedef int CUresult;

/* Error of a wrapper: sets the thread's last error. */
#define CUMU_RT(err) ((cudaError_t)cumu_cuda_error(err))
#define CUMU_BAD_ARG CUMU_RT(cudaErrorInvalidValue)

/* Stream of the _ptsz forms: 0 means the thread's own default stream. */
static inline cudaStream_t cumu_ptsz(cudaStream_t s) { return s ? s : CUMU_STREAM_PER_THREAD; }

/* Kernel of what a runtime call names: a handle, or the address of the host stub. */
static inline struct cumu_func *cumu_kernel_of(const void *p)
{
    struct cumu_func *f = cumu_as_func(p);
    return f ? f : cumu_host_func(p);
}

/* Runtime launch, with the runtime's error codes. */
cudaError_t cumu_rt_launch(const void *kernel, const struct cumu_launch *l, void **args);

/* Where a copy to or from a symbol begins on the device; the runtime's error codes. */
int cumu_symbol_to(const void *symbol, size_t count, size_t offset, int kind, void **at);
int cumu_symbol_from(const void *symbol, size_t count, size_t offset, int kind, void **at);

/* Device attribute as CUDA programs see it; CUresult numbers (the runtime's are the same). */
int cumu_device_attribute(int *value, int attribute, int device);

#endif
