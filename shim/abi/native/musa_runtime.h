/* MUSA's runtime API for programs that are written for MUSA; in C++ with the overloads and default arguments that
 * CUDA's header has, which the vendor's follows. */
#ifndef CUMU_NATIVE_MUSA_RUNTIME_H
#define CUMU_NATIVE_MUSA_RUNTIME_H

#include "musa.h"

#ifdef __cplusplus
template <class T> static inline musaError_t musaMalloc(T **p, size_t n) { return musaMalloc((void **)p, n); }
template <class T> static inline musaError_t musaMallocHost(T **p, size_t n) { return musaMallocHost((void **)p, n); }
template <class T> static inline musaError_t musaHostAlloc(T **p, size_t n, unsigned flags)
{
    return musaHostAlloc((void **)p, n, flags);
}
template <class T> static inline musaError_t musaMallocManaged(T **p, size_t n, unsigned flags = 1)
{
    return musaMallocManaged((void **)p, n, flags);
}
template <class T> static inline musaError_t musaMallocPitch(T **p, size_t *pitch, size_t width, size_t height)
{
    return musaMallocPitch((void **)p, pitch, width, height);
}
template <class T> static inline musaError_t musaMallocAsync(T **p, size_t n, musaStream_t s)
{
    return musaMallocAsync((void **)p, n, s);
}
template <class T> static inline musaError_t musaHostGetDevicePointer(T **p, void *host, unsigned flags)
{
    return musaHostGetDevicePointer((void **)p, host, flags);
}
static inline musaError_t musaMemcpyAsync(void *to, const void *from, size_t n, musaMemcpyKind kind)
{
    return musaMemcpyAsync(to, from, n, kind, nullptr);
}
static inline musaError_t musaMemsetAsync(void *p, int value, size_t n)
{
    return musaMemsetAsync(p, value, n, nullptr);
}
static inline musaError_t musaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t n)
{
    return musaMemcpyPeerAsync(to, to_device, from, from_device, n, nullptr);
}
static inline musaError_t musaEventCreate(musaEvent_t *e, unsigned flags) { return musaEventCreateWithFlags(e, flags); }
static inline musaError_t musaEventRecord(musaEvent_t e) { return musaEventRecord(e, nullptr); }
static inline musaError_t musaStreamWaitEvent(musaStream_t s, musaEvent_t e) { return musaStreamWaitEvent(s, e, 0); }
#endif

#endif
