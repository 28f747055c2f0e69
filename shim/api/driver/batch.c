/* Batched memory operations and pools of locations of the driver API. */
#include "api/batch.h"

CUresult wrap_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attrs,
                                 size_t *firsts, size_t nattrs, size_t *fail, CUstream stream)
{
    return cumu_copy_batch(dsts, srcs, sizes, count, attrs, firsts, nattrs, fail, stream);
}

CUresult wrap_cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attrs,
                                      size_t *firsts, size_t nattrs, size_t *fail, CUstream stream)
{
    return cumu_copy_batch(dsts, srcs, sizes, count, attrs, firsts, nattrs, fail, cumu_ptsz(stream));
}

CUresult wrap_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attrs,
                                    size_t *firsts, size_t nattrs, CUstream stream)
{
    return cumu_copy_batch(dsts, srcs, sizes, count, attrs, firsts, nattrs, NULL, stream);
}

CUresult wrap_cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attrs,
                                         size_t *firsts, size_t nattrs, CUstream stream)
{
    return cumu_copy_batch(dsts, srcs, sizes, count, attrs, firsts, nattrs, NULL, cumu_ptsz(stream));
}

CUresult wrap_cuMemcpy3DBatchAsync(size_t count, void *ops, size_t *fail, unsigned long long flags, CUstream stream)
{
    return cumu_copy3d_batch(count, ops, fail, flags, stream);
}

CUresult wrap_cuMemcpy3DBatchAsync_ptsz(size_t count, void *ops, size_t *fail, unsigned long long flags,
                                        CUstream stream)
{
    return cumu_copy3d_batch(count, ops, fail, flags, cumu_ptsz(stream));
}

CUresult wrap_cuMemcpy3DBatchAsync_v2(size_t count, void *ops, unsigned long long flags, CUstream stream)
{
    return cumu_copy3d_batch(count, ops, NULL, flags, stream);
}

CUresult wrap_cuMemcpy3DBatchAsync_v2_ptsz(size_t count, void *ops, unsigned long long flags, CUstream stream)
{
    return cumu_copy3d_batch(count, ops, NULL, flags, cumu_ptsz(stream));
}

CUresult wrap_cuMemPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, void *locs, size_t *firsts,
                                      size_t nlocs, unsigned long long flags, CUstream stream)
{
    return cumu_range_batch(CUMU_PREFETCH, ptrs, sizes, count, locs, firsts, nlocs, flags, stream);
}

CUresult wrap_cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *ptrs, size_t *sizes, size_t count, void *locs, size_t *firsts,
                                           size_t nlocs, unsigned long long flags, CUstream stream)
{
    return cumu_range_batch(CUMU_PREFETCH, ptrs, sizes, count, locs, firsts, nlocs, flags, cumu_ptsz(stream));
}

CUresult wrap_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, void *locs,
                                                size_t *firsts, size_t nlocs, unsigned long long flags, CUstream stream)
{
    return cumu_range_batch(CUMU_PREFETCH | CUMU_DISCARD, ptrs, sizes, count, locs, firsts, nlocs, flags, stream);
}

CUresult wrap_cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *ptrs, size_t *sizes, size_t count, void *locs,
                                                     size_t *firsts, size_t nlocs, unsigned long long flags,
                                                     CUstream stream)
{
    return cumu_range_batch(CUMU_PREFETCH | CUMU_DISCARD, ptrs, sizes, count, locs, firsts, nlocs, flags,
                            cumu_ptsz(stream));
}

CUresult wrap_cuMemDiscardBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags,
                                     CUstream stream)
{
    return cumu_range_batch(CUMU_DISCARD, ptrs, sizes, count, NULL, NULL, 0, flags, stream);
}

CUresult wrap_cuMemDiscardBatchAsync_ptsz(CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags,
                                          CUstream stream)
{
    return cumu_range_batch(CUMU_DISCARD, ptrs, sizes, count, NULL, NULL, 0, flags, cumu_ptsz(stream));
}

CUresult wrap_cuMemGetDefaultMemPool(void **pool, void *where, int type)
{
    return cumu_location_pool((MUmemoryPool *)pool, where, type, false);
}

CUresult wrap_cuMemGetMemPool(void **pool, void *where, int type)
{
    return cumu_location_pool((MUmemoryPool *)pool, where, type, true);
}

CUresult wrap_cuMemSetMemPool(void *where, int type, void *pool) { return cumu_set_location_pool(where, type, pool); }
