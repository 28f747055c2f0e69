/* Memory calls of the runtime whose structs or arguments differ from MUSA's. */
#include <string.h>

#include "api/api.h"

enum { CPU_DEVICE = -1, NO_DEVICE = -2 };

/* Pointer attributes in the size of the caller's version (mapping/facts/cuda.md S2). */
static cudaError_t pointer_attributes(cudaPointerAttributes *out, const void *p, size_t size)
{
    musaPointerAttributes below;
    cudaPointerAttributes a;
    if (!out)
        return CUMU_BAD_ARG;
    memset(&below, 0, sizeof below);
    memset(&a, 0, sizeof a);
    int err = mu.musaPointerGetAttributes(&below, p);
    if (err == musaErrorInvalidValue) {
        /* Memory nobody registered: an error in some MUSA versions, an answer in CUDA. */
        mu.musaGetLastError();
        memset(&below, 0, sizeof below);
    } else if (err) {
        return err;
    }
    a.type = below.type;
    a.device = below.device;
    a.devicePointer = below.devicePointer;
    a.hostPointer = below.hostPointer;
    if (a.type == cudaMemoryTypeUnregistered) {
        a.device = NO_DEVICE;
        a.devicePointer = NULL;
        a.hostPointer = (void *)(uintptr_t)p;
    }
    memcpy(out, &a, size);
    return cudaSuccess;
}

cudaError_t wrap_cudaPointerGetAttributes(cudaPointerAttributes *out, const void *p)
{
    return pointer_attributes(out, p, sizeof *out);
}

/* libcudart.so.11.0 and .12 */
cudaError_t wrap_cudaPointerGetAttributes_v12(cudaPointerAttributes *out, const void *p)
{
    return pointer_attributes(out, p, CUMU_POINTER_ATTRIBUTES_V12);
}

/* A location as the device number of the older calls; NUMA nodes are all the one CPU. */
static bool location_device(cudaMemLocation l, int *device)
{
    if (l.type == cudaMemLocationTypeDevice)
        *device = l.id;
    else if (l.type == cudaMemLocationTypeHost || l.type == cudaMemLocationTypeHostNuma ||
             l.type == cudaMemLocationTypeHostNumaCurrent)
        *device = CPU_DEVICE;
    else
        return false;
    return true;
}

cudaError_t wrap_cudaMemAdvise(const void *p, size_t count, int advice, cudaMemLocation where)
{
    int device = 0;
    /* Advice that is taken back, and read-mostly, ignore where. */
    if (!location_device(where, &device) && advice != cudaMemAdviseSetReadMostly &&
        advice != cudaMemAdviseUnsetReadMostly && advice != cudaMemAdviseUnsetPreferredLocation)
        return CUMU_RT(cudaErrorInvalidValue);
    return mu.musaMemAdvise(p, count, advice, device);
}

cudaError_t wrap_cudaMemPrefetchAsync(const void *p, size_t count, cudaMemLocation where, unsigned flags,
                                      cudaStream_t stream)
{
    int device;
    if (flags != 0 || !location_device(where, &device))
        return CUMU_RT(cudaErrorInvalidValue);
    return mu.musaMemPrefetchAsync(p, count, device, (musaStream_t)stream);
}

cudaError_t wrap_cudaMemPrefetchAsync_ptsz(const void *p, size_t count, cudaMemLocation where, unsigned flags,
                                           cudaStream_t stream)
{
    return wrap_cudaMemPrefetchAsync(p, count, where, flags, cumu_ptsz(stream));
}
