/* Batched memory operations and pools of locations of the runtime API: the driver's, after what every
 * runtime call does first. */
#include "api/batch.h"

/* A context is current, whichever thread calls. */
#define AFTER_START(call) \
    ({ \
        int err_ = mu.musaFree(NULL); \
        CUMU_RT(err_ ? err_ : (call)); \
    })

/* libcudart.so.13 */
cudaError_t wrap_cudaMemcpyBatchAsync(const void **dsts, const void **srcs, const void *sizes, size_t count,
                                      void *attrs, size_t *firsts, size_t nattrs, cudaStream_t stream)
{
    return AFTER_START(cumu_copy_batch((CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs, sizes, count,
                                       attrs, firsts, nattrs, NULL, stream));
}

cudaError_t wrap_cudaMemcpyBatchAsync_ptsz(const void **dsts, const void **srcs, const void *sizes, size_t count,
                                           void *attrs, size_t *firsts, size_t nattrs, cudaStream_t stream)
{
    return wrap_cudaMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, firsts, nattrs, cumu_ptsz(stream));
}

/* One copy: the batch of it, but on the default stream too, which no batch may use. */
cudaError_t wrap_cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size, void *attr, cudaStream_t stream)
{
    size_t first = 0;
    if (!stream)
        return attr ? mu.musaMemcpyAsync(dst, src, size, musaMemcpyDefault, NULL) : CUMU_BAD_ARG;
    return wrap_cudaMemcpyBatchAsync((const void **)&dst, &src, &size, 1, attr, &first, 1, stream);
}

cudaError_t wrap_cudaMemcpyWithAttributesAsync_ptsz(void *dst, const void *src, size_t size, void *attr,
                                                    cudaStream_t stream)
{
    return wrap_cudaMemcpyWithAttributesAsync(dst, src, size, attr, cumu_ptsz(stream));
}

/* libcudart.so.12 */
cudaError_t wrap_cudaMemcpyBatchAsync_v12(void **dsts, void **srcs, size_t *sizes, size_t count, void *attrs,
                                          size_t *firsts, size_t nattrs, size_t *fail, cudaStream_t stream)
{
    return AFTER_START(
        cumu_copy_batch((CUdeviceptr *)dsts, (CUdeviceptr *)srcs, sizes, count, attrs, firsts, nattrs, fail, stream));
}

cudaError_t wrap_cudaMemcpyBatchAsync_v12_ptsz(void **dsts, void **srcs, size_t *sizes, size_t count, void *attrs,
                                               size_t *firsts, size_t nattrs, size_t *fail, cudaStream_t stream)
{
    return wrap_cudaMemcpyBatchAsync_v12(dsts, srcs, sizes, count, attrs, firsts, nattrs, fail, cumu_ptsz(stream));
}

/* libcudart.so.13 */
cudaError_t wrap_cudaMemcpy3DBatchAsync(size_t count, void *ops, unsigned long long flags, cudaStream_t stream)
{
    return AFTER_START(cumu_copy3d_batch(count, ops, NULL, flags, stream));
}

cudaError_t wrap_cudaMemcpy3DBatchAsync_ptsz(size_t count, void *ops, unsigned long long flags, cudaStream_t stream)
{
    return wrap_cudaMemcpy3DBatchAsync(count, ops, flags, cumu_ptsz(stream));
}

cudaError_t wrap_cudaMemcpy3DWithAttributesAsync(void *op, unsigned long long flags, cudaStream_t stream)
{
    return wrap_cudaMemcpy3DBatchAsync(1, op, flags, stream);
}

cudaError_t wrap_cudaMemcpy3DWithAttributesAsync_ptsz(void *op, unsigned long long flags, cudaStream_t stream)
{
    return wrap_cudaMemcpy3DBatchAsync(1, op, flags, cumu_ptsz(stream));
}

/* libcudart.so.12 */
cudaError_t wrap_cudaMemcpy3DBatchAsync_v12(size_t count, void *ops, size_t *fail, unsigned long long flags,
                                            cudaStream_t stream)
{
    return AFTER_START(cumu_copy3d_batch(count, ops, fail, flags, stream));
}

cudaError_t wrap_cudaMemcpy3DBatchAsync_v12_ptsz(size_t count, void *ops, size_t *fail, unsigned long long flags,
                                                 cudaStream_t stream)
{
    return wrap_cudaMemcpy3DBatchAsync_v12(count, ops, fail, flags, cumu_ptsz(stream));
}

cudaError_t wrap_cudaMemPrefetchBatchAsync(void **ptrs, size_t *sizes, size_t count, void *locs, size_t *firsts,
                                           size_t nlocs, unsigned long long flags, cudaStream_t stream)
{
    return AFTER_START(
        cumu_range_batch(CUMU_PREFETCH, (CUdeviceptr *)ptrs, sizes, count, locs, firsts, nlocs, flags, stream));
}

cudaError_t wrap_cudaMemPrefetchBatchAsync_ptsz(void **ptrs, size_t *sizes, size_t count, void *locs, size_t *firsts,
                                                size_t nlocs, unsigned long long flags, cudaStream_t stream)
{
    return AFTER_START(cumu_range_batch(CUMU_PREFETCH, (CUdeviceptr *)ptrs, sizes, count, locs, firsts, nlocs, flags,
                                        cumu_ptsz(stream)));
}

cudaError_t wrap_cudaMemDiscardAndPrefetchBatchAsync(void **ptrs, size_t *sizes, size_t count, void *locs,
                                                     size_t *firsts, size_t nlocs, unsigned long long flags,
                                                     cudaStream_t stream)
{
    return AFTER_START(cumu_range_batch(CUMU_PREFETCH | CUMU_DISCARD, (CUdeviceptr *)ptrs, sizes, count, locs, firsts,
                                        nlocs, flags, stream));
}

cudaError_t wrap_cudaMemDiscardAndPrefetchBatchAsync_ptsz(void **ptrs, size_t *sizes, size_t count, void *locs,
                                                          size_t *firsts, size_t nlocs, unsigned long long flags,
                                                          cudaStream_t stream)
{
    return AFTER_START(cumu_range_batch(CUMU_PREFETCH | CUMU_DISCARD, (CUdeviceptr *)ptrs, sizes, count, locs, firsts,
                                        nlocs, flags, cumu_ptsz(stream)));
}

cudaError_t wrap_cudaMemDiscardBatchAsync(void **ptrs, size_t *sizes, size_t count, unsigned long long flags,
                                          cudaStream_t stream)
{
    return AFTER_START(cumu_range_batch(CUMU_DISCARD, (CUdeviceptr *)ptrs, sizes, count, NULL, NULL, 0, flags, stream));
}

cudaError_t wrap_cudaMemDiscardBatchAsync_ptsz(void **ptrs, size_t *sizes, size_t count, unsigned long long flags,
                                               cudaStream_t stream)
{
    return AFTER_START(
        cumu_range_batch(CUMU_DISCARD, (CUdeviceptr *)ptrs, sizes, count, NULL, NULL, 0, flags, cumu_ptsz(stream)));
}

cudaError_t wrap_cudaMemGetDefaultMemPool(void **pool, void *where, int type)
{
    return AFTER_START(cumu_location_pool((MUmemoryPool *)pool, where, type, false));
}

cudaError_t wrap_cudaMemGetMemPool(void **pool, void *where, int type)
{
    return AFTER_START(cumu_location_pool((MUmemoryPool *)pool, where, type, true));
}

cudaError_t wrap_cudaMemSetMemPool(void *where, int type, void *pool)
{
    return AFTER_START(cumu_set_location_pool(where, type, pool));
}
