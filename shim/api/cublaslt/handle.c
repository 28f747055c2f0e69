/* cuBLASLt: handles, what it tells of itself, and settings without effect on results. */
#include <stdatomic.h>

#include "api/cublas/release.h"
#include "api/cublaslt/lt.h"
#include "kernel/graph.h"

enum { HANDLES = 1024, DEVICES = 64 };

/* cuBLASLt handles are places of one array, so that they can be told from cuBLAS's, which serve as well: for those
 * muBLASLt gets one handle for each device. */
static struct place {
    atomic_bool taken;
    _Atomic(mublasLtHandle_t) below;
} places[HANDLES];
static _Atomic(mublasLtHandle_t) shared[DEVICES];

static struct place *place_of(void *handle)
{
    size_t offset = (size_t)((const char *)handle - (const char *)places);
    return offset < sizeof places && offset % sizeof *places == 0 ? handle : NULL;
}

mublasLtHandle_t cumu_lt_handle(void *handle)
{
    struct place *p = place_of(handle);
    int mode, device;
    if (p)
        return p->below;
    if (!handle || mu.mublasGetPointerMode(handle, &mode) || mu.musaGetDevice(&device) || device >= DEVICES)
        return NULL;
    mublasLtHandle_t lt = shared[device], none = NULL;
    if (lt || mu.mublasLtCreate(&lt))
        return lt;
    if (atomic_compare_exchange_strong(&shared[device], &none, lt))
        return lt;
    mu.mublasLtDestroy(lt);
    return none;
}

int wrap_cublasLtCreate(void *handle)
{
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < HANDLES; i++) {
        mublasLtHandle_t below = NULL;
        if (atomic_exchange(&places[i].taken, true))
            continue;
        int r = CUBLAS(mu.mublasLtCreate(&below));
        places[i].below = r ? NULL : below;
        places[i].taken = !r;
        if (!r)
            *(void **)handle = &places[i];
        return r;
    }
    return CUBLAS_STATUS_ALLOC_FAILED;
}

int wrap_cublasLtDestroy(void *handle)
{
    struct place *p = place_of(handle);
    mublasLtHandle_t below = p ? atomic_exchange(&p->below, NULL) : NULL;
    if (!below)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    cumu_finish_work();
    int r = CUBLAS(mu.mublasLtDestroy(below));
    p->taken = false;
    return r;
}

size_t wrap_cublasLtGetVersion_v11(void) { return (size_t)cumu_cublas_version(V11); }
size_t wrap_cublasLtGetVersion_v12(void) { return (size_t)cumu_cublas_version(V12); }
size_t wrap_cublasLtGetVersion(void) { return (size_t)cumu_cublas_version(V13); }

/* A bound on what a search may cost the host, which has none here; told as it was set. */
static _Atomic(size_t) capacity = 8192;
int wrap_cublasLtHeuristicsCacheGetCapacity(void *out)
{
    if (!out)
        return CUBLAS_STATUS_INVALID_VALUE;
    *(size_t *)out = capacity;
    return CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasLtHeuristicsCacheSetCapacity(size_t entries)
{
    capacity = entries;
    return CUBLAS_STATUS_SUCCESS;
}

/* muBLASLt has no log; cumu's own names what is missing. */
int wrap_cublasLtLoggerSetCallback(void *callback)
{
    (void)callback;
    return CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasLtLoggerSetFile(void *file)
{
    (void)file;
    return CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasLtLoggerOpenFile(const char *path) { return path ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE; }
int wrap_cublasLtLoggerSetLevel(int level)
{
    return level < 0 || level > 5 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasLtLoggerSetMask(int mask)
{
    (void)mask;
    return CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasLtLoggerForceDisable(void) { return CUBLAS_STATUS_SUCCESS; }
