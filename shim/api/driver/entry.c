/* cuGetProcAddress: the program's way to ask for a version of a function. */
#include "api/api.h"
#include "api/entry.h"

enum { PER_THREAD = 2, FLAGS = 3 };

CUresult wrap_cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
    if (!name || !out || version < 0 || (flags & ~(uint64_t)FLAGS) || flags == FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    enum cumu_entry found = cumu_entry_find(name, (unsigned)version, flags == PER_THREAD, out);
    if (status)
        *status = (int)found;
    return found == CUMU_ENTRY_FOUND ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult wrap_cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    return wrap_cuGetProcAddress_v2(name, out, version, flags, NULL);
}

/* NVIDIA's private tables; cumu answers for none of them (static runtimes are served by patching). */
CUresult wrap_cuGetExportTable(const void **table, const void *id)
{
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
