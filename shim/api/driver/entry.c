/* cuGetProcAddress: the program's way to ask for a version of a function. */
#include "api/api.h"
#include "api/entry.h"
#include "core/config.h"

#include <string.h>

enum { PER_THREAD = 2, FLAGS = 3 };

static CUresult find(const char *name, void **out, int version, uint64_t flags, enum cumu_entry *found)
{
    if (!name || !out || version < 0 || (flags & ~(uint64_t)FLAGS) || flags == FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    *found = cumu_entry_find(name, (unsigned)version, flags == PER_THREAD, out);
    return CUDA_SUCCESS;
}

/* From CUDA 12 on it is no error that there is no such function: the address is NULL then, and the status, if anybody
 * asks for it, says why. */
CUresult wrap_cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
    enum cumu_entry found;
    CUresult r = find(name, out, version, flags, &found);
    if (!r && status)
        *status = (int)found;
    return r;
}

CUresult wrap_cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    enum cumu_entry found;
    CUresult r = find(name, out, version, flags, &found);
    return r || found == CUMU_ENTRY_FOUND ? r : CUDA_ERROR_NOT_FOUND;
}

/* NVIDIA's private tables; cumu answers for none of them (static runtimes are served by patching). A runtime
 * that asks for its own was not reached; the audit module names those, unless it is not there. */
CUresult wrap_cuGetExportTable(const void **table, const void *id)
{
    static const unsigned char of_runtime[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                               0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    const char *audit = cumu_env("LD_AUDIT");
    if (memcmp(id, of_runtime, sizeof of_runtime) == 0 && !(audit && strstr(audit, "libcumu-audit.so")))
        cumu_gap("cuda", "cuGetExportTable",
                 "a CUDA runtime that is linked in starts, and its calls will fail; "
                 "with the whole environment of `cumu env` (LD_AUDIT) cumu would serve it");
    return CUDA_ERROR_NOT_FOUND;
}
