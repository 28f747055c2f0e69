/* MUSA's runtime API for programs that are written for MUSA; in C++ with the overloads and default arguments that
 * CUDA's header has, which the vendor's follows. */
#ifndef CUMU_NATIVE_MUSA_RUNTIME_H
#define CUMU_NATIVE_MUSA_RUNTIME_H

#include "musa.h"

#ifdef __cplusplus
typedef musaError_t musaError; /* an enumeration's name goes without `enum` there */
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
static inline musaError_t musaEventRecordWithFlags(musaEvent_t e, musaStream_t s = nullptr)
{
    return musaEventRecordWithFlags(e, s, 0);
}
static inline musaError_t musaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                            size_t width, size_t height, musaMemcpyKind kind)
{
    return musaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}
static inline musaError_t musaMemcpy3DAsync(const musaMemcpy3DParms *copy) { return musaMemcpy3DAsync(copy, nullptr); }
static inline musaError_t musaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height)
{
    return musaMemset2DAsync(p, pitch, value, width, height, nullptr);
}
static inline musaError_t musaMemPrefetchAsync(const void *p, size_t n, int device)
{
    return musaMemPrefetchAsync(p, n, device, nullptr);
}
static inline musaError_t musaGraphInstantiate(musaGraphExec_t *exec, musaGraph_t graph)
{
    return musaGraphInstantiate(exec, graph, 0);
}
static inline musaError_t musaGraphInstantiate(musaGraphExec_t *exec, musaGraph_t graph, musaGraphNode_t *, char *,
                                               size_t) /* SDKs before 5 */
{
    return musaGraphInstantiate(exec, graph, 0);
}
static inline musaError_t musaEventRecord(musaEvent_t e) { return musaEventRecord(e, nullptr); }
static inline musaError_t musaStreamWaitEvent(musaStream_t s, musaEvent_t e) { return musaStreamWaitEvent(s, e, 0); }
#endif

#endif
