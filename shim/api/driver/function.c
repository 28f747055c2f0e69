/* cuFunc*, cuKernel* and occupancy: a kernel and a function are one object in the shim. */
#include "api/api.h"

#define KERNEL(f, p) \
    struct cumu_func *f = cumu_as_func(p); \
    if (!f) \
    return CUDA_ERROR_INVALID_HANDLE

CUresult wrap_cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    return cumu_func_attribute(f, attribute, value);
}

CUresult wrap_cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    KERNEL(f, function);
    return cumu_func_set_attribute(f, attribute, value);
}

CUresult wrap_cuFuncSetCacheConfig(CUfunction function, int config)
{
    KERNEL(f, function);
    (void)f;
    return config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult wrap_cuFuncSetSharedMemConfig(CUfunction function, int config)
{
    KERNEL(f, function);
    (void)f;
    return config < 0 || config > 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult wrap_cuFuncGetModule(CUmodule *module, CUfunction function)
{
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    *module = cumu_func_module(f);
    return CUDA_SUCCESS;
}

CUresult wrap_cuFuncGetName(const char **name, CUfunction function)
{
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    *name = cumu_func_name(f);
    return CUDA_SUCCESS;
}

CUresult wrap_cuFuncGetParamInfo(CUfunction function, size_t i, size_t *offset, size_t *size)
{
    if (!offset)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    return cumu_func_param(f, i, offset, size);
}

/* Loading is the first use; asking whether it has happened answers what a program may rely on. */
CUresult wrap_cuFuncLoad(CUfunction function)
{
    MUfunction mf;
    KERNEL(f, function);
    return cumu_func_musa(f, &mf);
}

CUresult wrap_cuFuncIsLoaded(int *state, CUfunction function)
{
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    (void)f;
    *state = 1;
    return CUDA_SUCCESS;
}

/* ---- kernels -------------------------------------------------------------------------------- */

CUresult wrap_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, kernel);
    *function = f;
    return CUDA_SUCCESS;
}

CUresult wrap_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) { return wrap_cuFuncGetModule(library, kernel); }

CUresult wrap_cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice device)
{
    (void)device; /* all devices below are of one kind */
    return wrap_cuFuncGetAttribute(value, attribute, kernel);
}

CUresult wrap_cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device)
{
    (void)device;
    return wrap_cuFuncSetAttribute(kernel, attribute, value);
}

CUresult wrap_cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device)
{
    (void)device;
    return wrap_cuFuncSetCacheConfig(kernel, config);
}

CUresult wrap_cuKernelGetName(const char **name, CUkernel kernel) { return wrap_cuFuncGetName(name, kernel); }

CUresult wrap_cuKernelGetParamInfo(CUkernel kernel, size_t i, size_t *offset, size_t *size)
{
    return wrap_cuFuncGetParamInfo(kernel, i, offset, size);
}

/* ---- occupancy ------------------------------------------------------------------------------ */

CUresult wrap_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block_size,
                                                          size_t shared)
{
    if (!blocks)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    return cumu_func_occupancy(f, block_size, shared, blocks);
}

CUresult wrap_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int block_size,
                                                                   size_t shared, unsigned flags)
{
    if (flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    return wrap_cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}

CUresult wrap_cuOccupancyAvailableDynamicSMemPerBlock(size_t *size, CUfunction function, int blocks, int block_size)
{
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    return cumu_func_shared_left(f, blocks, block_size, size);
}

/* The block size with the most resident threads; ties go to the larger block, as in CUDA. */
CUresult wrap_cuOccupancyMaxPotentialBlockSize(int *min_grid, int *best, CUfunction function, size_t (*shared_of)(int),
                                               size_t shared, int limit)
{
    if (!min_grid || !best)
        return CUDA_ERROR_INVALID_VALUE;
    int max = 0, sms = 0, most = 0;
    MUdevice device = 0;
    KERNEL(f, function);
    int err = cumu_func_attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &max);
    if (!err)
        err = mu.muCtxGetDevice(&device);
    if (!err)
        err = mu.muDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (err)
        return err;
    if (limit > 0 && limit < max)
        max = limit;
    *best = *min_grid = 0;
    for (int size = max; size > 0; size = (size - 1) / 32 * 32) {
        int blocks = 0;
        err = cumu_func_occupancy(f, size, shared_of ? shared_of(size) : shared, &blocks);
        if (err)
            return err;
        if (blocks * size > most) {
            most = blocks * size;
            *best = size;
            *min_grid = blocks * sms;
        }
    }
    return CUDA_SUCCESS;
}

CUresult wrap_cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *best, CUfunction function,
                                                        size_t (*shared_of)(int), size_t shared, int limit,
                                                        unsigned flags)
{
    if (flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    return wrap_cuOccupancyMaxPotentialBlockSize(min_grid, best, function, shared_of, shared, limit);
}

/* ---- clusters -------------------------------------------------------------------------------- */

/* Blocks of the largest cluster that a launch of f may have. */
static int cluster_most(struct cumu_func *f, int *most)
{
    int large = 0;
    bool may = false;
    int err = cumu_func_attribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &large);
    if (!err)
        err = cumu_func_clusters(f, &may);
    *most = !may ? 1 : large ? 16 : 8;
    return err;
}

/* Blocks of a cluster of this launch: what it asks for, which has to be what the kernel requires, if it does. Where
 * the device claims no clusters, they have one block. */
static int cluster_size(struct cumu_func *f, const CUlaunchConfig *c, int *size)
{
    int need[3] = {0, 0, 0}, most = 0;
    uint64_t blocks = 1;
    const unsigned *asked = NULL;
    for (unsigned i = 0; c->attrs && i < c->numAttrs; i++)
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            asked = &c->attrs[i].val.clusterDim.x;
    int err = cluster_most(f, &most);
    for (int d = 0; d < 3 && !err; d++)
        err = cumu_func_attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + d, &need[d]);
    if (err)
        return err;
    if (!asked && !need[0])
        return *size = 1, cumu_clusters() ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    for (int d = 0; d < 3; d++) {
        if (asked && need[0] && asked[d] != (unsigned)need[d])
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        blocks *= asked ? asked[d] : (unsigned)need[d];
        if (!blocks || blocks > (unsigned)most)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    *size = (int)blocks;
    return CUDA_SUCCESS;
}

/* A cluster has one thread of the CPU to itself, however many blocks it has: where a block fits, so does a cluster. */
CUresult wrap_cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config)
{
    int blocks = 0, sms = 0, of = 1;
    MUdevice device = 0;
    if (!clusters || !config)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    uint64_t size = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    CUresult err = cluster_size(f, config, &of);
    if (!err && (!size || size > INT32_MAX))
        err = CUDA_ERROR_INVALID_VALUE;
    if (!err)
        err = cumu_func_occupancy(f, (int)size, config->sharedMemBytes, &blocks);
    if (!err)
        err = mu.muCtxGetDevice(&device);
    if (!err)
        err = mu.muDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (!err)
        *clusters = blocks * sms < of ? blocks > 0 : blocks * sms / of;
    return err;
}

CUresult wrap_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function, const CUlaunchConfig *config)
{
    if (!size || !config)
        return CUDA_ERROR_INVALID_VALUE;
    KERNEL(f, function);
    return cluster_most(f, size);
}
