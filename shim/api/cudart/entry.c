/* cudaGetDriverEntryPoint: driver functions by name, in the ABI of the runtime's or a given version. */
#include "api/api.h"
#include "api/entry.h"
#include "api/release.h"

enum { LEGACY_STREAM = 1, PER_THREAD_STREAM = 2 };

/* From CUDA 12 on it is no error that there is no such function: the address is NULL then, and the status, if anybody
 * asks for it, says why. */
static cudaError_t find(const char *name, void **out, unsigned version, uint64_t flags, bool per_thread, int *status)
{
    if (!name || !out || flags > PER_THREAD_STREAM)
        return CUMU_BAD_ARG;
    if (flags)
        per_thread = flags == PER_THREAD_STREAM;
    enum cumu_entry found = cumu_entry_find(name, version, per_thread, out);
    if (status)
        *status = (int)found;
    return cudaSuccess;
}

static cudaError_t find_v11(const char *name, void **out, uint64_t flags, bool per_thread)
{
    int found = CUMU_ENTRY_FOUND;
    cudaError_t r = find(name, out, CUMU_CUDART_11, flags, per_thread, &found);
    return r || found == CUMU_ENTRY_FOUND ? r : CUMU_RT(cudaErrorSymbolNotFound);
}

cudaError_t wrap_cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags, int *status)
{
    return find(name, out, CUMU_CUDART_13, flags, false, status);
}

cudaError_t wrap_cudaGetDriverEntryPoint_ptsz(const char *name, void **out, unsigned long long flags, int *status)
{
    return find(name, out, CUMU_CUDART_13, flags, true, status);
}

cudaError_t wrap_cudaGetDriverEntryPoint_v12(const char *name, void **out, unsigned long long flags, int *status)
{
    return find(name, out, CUMU_CUDART_12, flags, false, status);
}

cudaError_t wrap_cudaGetDriverEntryPoint_v12_ptsz(const char *name, void **out, unsigned long long flags, int *status)
{
    return find(name, out, CUMU_CUDART_12, flags, true, status);
}

cudaError_t wrap_cudaGetDriverEntryPoint_v11(const char *name, void **out, unsigned long long flags)
{
    return find_v11(name, out, flags, false);
}

cudaError_t wrap_cudaGetDriverEntryPoint_v11_ptsz(const char *name, void **out, unsigned long long flags)
{
    return find_v11(name, out, flags, true);
}

cudaError_t wrap_cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                                  unsigned long long flags, int *status)
{
    return find(name, out, version, flags, false, status);
}

cudaError_t wrap_cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **out, unsigned version,
                                                       unsigned long long flags, int *status)
{
    return find(name, out, version, flags, true, status);
}
