/* Which MUSA functions the core stands in for, and the entry points that do. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/init.h"
#include "core/resolve.h"
#include "core/upper.h"

#include <string.h>

#define PER_THREAD(stream) ((stream) ? (stream) : MU_STREAM_PER_THREAD)

/* ---- driver ---------------------------------------------------------------------------------- */

static MUresult mem_alloc(MUdeviceptr *p, size_t size, MUstream stream)
{
    return cumu_pool_alloc(p, size, NULL, stream);
}

static MUresult mem_alloc_ptsz(MUdeviceptr *p, size_t size, MUstream stream)
{
    return cumu_pool_alloc(p, size, NULL, PER_THREAD(stream));
}

static MUresult mem_alloc_from(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream stream)
{
    return pool ? cumu_pool_alloc(p, size, pool, stream) : MUSA_ERROR_INVALID_VALUE;
}

static MUresult mem_alloc_from_ptsz(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream stream)
{
    return mem_alloc_from(p, size, pool, PER_THREAD(stream));
}

static MUresult mem_free_ptsz(MUdeviceptr p, MUstream stream) { return cumu_pool_free(p, PER_THREAD(stream)); }

static MUresult default_pool(MUmemoryPool *pool, MUdevice device) { return cumu_pool_of(pool, device, 0); }

static MUresult current_pool(MUmemoryPool *pool, MUdevice device) { return cumu_pool_of(pool, device, 1); }

/* ---- runtime: what every one of its calls does first, and its last error ----------------------- */

#define RUNTIME(call) \
    ({ \
        int err_ = mu.musaFree(NULL); \
        CUMU_RT(err_ ? err_ : (call)); \
    })

static musaError_t rt_alloc_from(void **p, size_t size, musaMemPool_t pool, musaStream_t stream)
{
    MUdeviceptr d = 0;
    if (!p)
        return CUMU_BAD_ARG;
    int err = RUNTIME(size ? cumu_pool_alloc(&d, size, pool, stream) : MUSA_SUCCESS);
    if (!err)
        *p = (void *)(uintptr_t)d;
    return err;
}

static musaError_t rt_alloc_from_ptsz(void **p, size_t size, musaMemPool_t pool, musaStream_t stream)
{
    return rt_alloc_from(p, size, pool, PER_THREAD(stream));
}

static musaError_t rt_alloc(void **p, size_t size, musaStream_t stream) { return rt_alloc_from(p, size, NULL, stream); }

static musaError_t rt_alloc_ptsz(void **p, size_t size, musaStream_t stream)
{
    return rt_alloc_from(p, size, NULL, PER_THREAD(stream));
}

static musaError_t rt_free(void *p, musaStream_t stream)
{
    return RUNTIME(cumu_pool_free((MUdeviceptr)(uintptr_t)p, stream));
}

static musaError_t rt_free_ptsz(void *p, musaStream_t stream) { return rt_free(p, PER_THREAD(stream)); }

static musaError_t rt_default_pool(musaMemPool_t *pool, int device) { return RUNTIME(cumu_pool_of(pool, device, 0)); }

static musaError_t rt_current_pool(musaMemPool_t *pool, int device) { return RUNTIME(cumu_pool_of(pool, device, 1)); }

static musaError_t rt_set_pool(int device, musaMemPool_t pool) { return RUNTIME(cumu_pool_set(device, pool)); }

static musaError_t rt_create(musaMemPool_t *pool, const musaMemPoolProps *props)
{
    return RUNTIME(cumu_pool_create(pool, props));
}

static musaError_t rt_destroy(musaMemPool_t pool) { return RUNTIME(cumu_pool_destroy(pool)); }

static musaError_t rt_trim(musaMemPool_t pool, size_t keep) { return RUNTIME(cumu_pool_trim(pool, keep)); }

static musaError_t rt_set_attribute(musaMemPool_t pool, int attribute, void *value)
{
    return RUNTIME(cumu_pool_set_attribute(pool, attribute, value));
}

static musaError_t rt_get_attribute(musaMemPool_t pool, int attribute, void *value)
{
    return RUNTIME(cumu_pool_get_attribute(pool, attribute, value));
}

static musaError_t rt_set_access(musaMemPool_t pool, const musaMemAccessDesc *desc, size_t count)
{
    return RUNTIME(cumu_pool_set_access(pool, desc, count));
}

static musaError_t rt_get_access(int *flags, musaMemPool_t pool, musaMemLocation *where)
{
    return RUNTIME(cumu_pool_get_access(flags, pool, where));
}

/* ---- the family ------------------------------------------------------------------------------ */

#define STAND_IN(name, function) \
    { \
#name, (void (*)(void))(function) \
    }
static const struct {
    const char *name;
    void (*function)(void);
} family[] = {STAND_IN(muMemAllocAsync, mem_alloc),
              STAND_IN(muMemAllocAsync_ptsz, mem_alloc_ptsz),
              STAND_IN(muMemAllocFromPoolAsync, mem_alloc_from),
              STAND_IN(muMemAllocFromPoolAsync_ptsz, mem_alloc_from_ptsz),
              STAND_IN(muMemFreeAsync, cumu_pool_free),
              STAND_IN(muMemFreeAsync_ptsz, mem_free_ptsz),
              STAND_IN(muDeviceGetDefaultMemPool, default_pool),
              STAND_IN(muDeviceGetMemPool, current_pool),
              STAND_IN(muDeviceSetMemPool, cumu_pool_set),
              STAND_IN(muMemPoolCreate, cumu_pool_create),
              STAND_IN(muMemPoolDestroy, cumu_pool_destroy),
              STAND_IN(muMemPoolTrimTo, cumu_pool_trim),
              STAND_IN(muMemPoolSetAttribute, cumu_pool_set_attribute),
              STAND_IN(muMemPoolGetAttribute, cumu_pool_get_attribute),
              STAND_IN(muMemPoolSetAccess, cumu_pool_set_access),
              STAND_IN(muMemPoolGetAccess, cumu_pool_get_access),
              STAND_IN(musaMallocAsync, rt_alloc),
              STAND_IN(musaMallocAsync_ptsz, rt_alloc_ptsz),
              STAND_IN(musaMallocFromPoolAsync, rt_alloc_from),
              STAND_IN(musaMallocFromPoolAsync_ptsz, rt_alloc_from_ptsz),
              STAND_IN(musaFreeAsync, rt_free),
              STAND_IN(musaFreeAsync_ptsz, rt_free_ptsz),
              STAND_IN(musaDeviceGetDefaultMemPool, rt_default_pool),
              STAND_IN(musaDeviceGetMemPool, rt_current_pool),
              STAND_IN(musaDeviceSetMemPool, rt_set_pool),
              STAND_IN(musaMemPoolCreate, rt_create),
              STAND_IN(musaMemPoolDestroy, rt_destroy),
              STAND_IN(musaMemPoolTrimTo, rt_trim),
              STAND_IN(musaMemPoolSetAttribute, rt_set_attribute),
              STAND_IN(musaMemPoolGetAttribute, rt_get_attribute),
              STAND_IN(musaMemPoolSetAccess, rt_set_access),
              STAND_IN(musaMemPoolGetAccess, rt_get_access)};

/* All of it or nothing: pools of the SDK and ours do not mix. */
void *cumu_stand_in(const char *symbol)
{
    for (unsigned i = 0; i < sizeof family / sizeof *family; i++)
        if (strcmp(family[i].name, symbol) == 0)
            return cumu_below_has("musart", "musaMallocAsync") && cumu_below_has("musa", "muMemAllocAsync")
                       ? NULL
                       : cumu_code_address(family[i].function);
    static void *(*const families[])(const char *) = {cumu_driver_stand_in, cumu_handle_stand_in, cumu_blas_stand_in,
                                                      cumu_rand_stand_in,   cumu_solver_stand_in, cumu_sparse_stand_in,
                                                      cumu_vector_stand_in};
    void *p = NULL;
    for (unsigned i = 0; !p && i < sizeof families / sizeof *families; i++)
        p = families[i](symbol);
    return p;
}

static const struct cumu_upper stand_ins = {.stand_in = cumu_stand_in, .runtime_over = cumu_runtime_over};
CUMU_UPPER(stand_ins);
