/* Batched memory operations, as the runtime and the driver API share them. All return CUresult numbers,
 * need a current context, and take CUDA 13's arguments; *fail (NULL is fine) gets the index of the
 * operation that failed, SIZE_MAX if none in particular did (CUDA 12.8's extra argument). */
#ifndef CUMU_API_BATCH_H
#define CUMU_API_BATCH_H

#include "api/api.h"

int cumu_copy_batch(const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes, size_t count,
                    const CUmemcpyAttributes *attrs, const size_t *firsts, size_t nattrs, size_t *fail,
                    CUstream stream);
int cumu_copy3d_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags,
                      CUstream stream);

enum cumu_range_op { CUMU_PREFETCH = 1, CUMU_DISCARD = 2 };
/* Managed ranges: each is discarded, prefetched to its location, or both. locs is not looked at without
 * CUMU_PREFETCH. */
int cumu_range_batch(unsigned what, const CUdeviceptr *ptrs, const size_t *sizes, size_t count,
                     const CUmemLocation *locs, const size_t *firsts, size_t nlocs, unsigned long long flags,
                     CUstream stream);

/* The pool of a location: only devices have them here. */
int cumu_location_pool(MUmemoryPool *pool, const CUmemLocation *where, int type, bool current);
int cumu_set_location_pool(const CUmemLocation *where, int type, MUmemoryPool pool);

#endif
