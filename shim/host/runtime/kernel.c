/* Kernels by handle: launches, attributes, occupancy. The handle is the driver's function;
 * registering the host functions of mcc-built programs is no part of this library. */
#include "host/runtime/rt.h"

static MUfunction function(const void *fn) { return (MUfunction)(uintptr_t)fn; }

MUresult rt_of_function(MUresult r) { return r == MUSA_ERROR_INVALID_HANDLE ? musaErrorInvalidDeviceFunction : r; }

/* The runtime has a code of its own for shapes that no kernel can have. */
static MUresult check_shape(dim3 grid, dim3 block)
{
    int device, limit;
    MUresult r = muCtxGetDevice(&device);
    if (r)
        return r;
    const unsigned sizes[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
    for (int i = 0; i < 6; i++) {
        r = muDeviceGetAttribute(
            &limit, i < 3 ? MU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i : MU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i - 3,
            device);
        if (r || !sizes[i] || sizes[i] > (unsigned)limit)
            return r ? r : musaErrorInvalidConfiguration;
    }
    r = muDeviceGetAttribute(&limit, MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
    if (r)
        return r;
    return (uint64_t)block.x * block.y * block.z > (uint64_t)limit ? musaErrorInvalidConfiguration : MUSA_SUCCESS;
}

static MUresult launch(const void *fn, dim3 grid, dim3 block, void **args, size_t shared, musaStream_t stream,
                       bool cooperative)
{
    MUresult r = check_shape(grid, block);
    if (r)
        return r;
    if (shared > UINT32_MAX)
        return MUSA_ERROR_INVALID_VALUE;
    return cooperative ? muLaunchCooperativeKernel(function(fn), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                   (unsigned)shared, stream, args)
                       : muLaunchKernel(function(fn), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                        (unsigned)shared, stream, args, NULL);
}

musaError_t musaLaunchKernel(const void *fn, dim3 grid, dim3 block, void **args, size_t shared, musaStream_t stream)
{
    RETURN_END(launch(fn, grid, block, args, shared, stream, false));
}

musaError_t musaLaunchCooperativeKernel(const void *fn, dim3 grid, dim3 block, void **args, size_t shared,
                                        musaStream_t stream)
{
    RETURN_END(launch(fn, grid, block, args, shared, stream, true));
}

static MUresult launch_ex(const musaLaunchConfig_t *c, const void *fn, void **args, musaStream_t stream)
{
    MUresult r = check_shape(c->gridDim, c->blockDim);
    if (r)
        return r;
    if (c->dynamicSmemBytes > UINT32_MAX)
        return MUSA_ERROR_INVALID_VALUE;
    MUlaunchConfig d = {c->gridDim.x,
                        c->gridDim.y,
                        c->gridDim.z,
                        c->blockDim.x,
                        c->blockDim.y,
                        c->blockDim.z,
                        (unsigned)c->dynamicSmemBytes,
                        stream,
                        c->attrs,
                        c->numAttrs};
    return muLaunchKernelEx(&d, function(fn), args, NULL);
}

musaError_t musaLaunchKernelExC(const musaLaunchConfig_t *config, const void *fn, void **args)
{
    RETURN_END(config ? launch_ex(config, fn, args, config->stream) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaLaunchKernelExC_ptsz(const musaLaunchConfig_t *config, const void *fn, void **args)
{
    RETURN_END(config ? launch_ex(config, fn, args, config->stream ? config->stream : musaStreamPerThread)
                      : MUSA_ERROR_INVALID_VALUE);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Fills the runtime's struct from the driver's single attributes. */
static MUresult attributes_of(musaFuncAttributes *a, MUfunction f)
{
    const struct {
        MUfunction_attribute id;
        size_t *wide;
        int *narrow;
    } list[] = {
        {MU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &a->sharedSizeBytes, NULL},
        {MU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &a->constSizeBytes, NULL},
        {MU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &a->localSizeBytes, NULL},
        {MU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, NULL, &a->maxThreadsPerBlock},
        {MU_FUNC_ATTRIBUTE_NUM_REGS, NULL, &a->numRegs},
        {MU_FUNC_ATTRIBUTE_PTX_VERSION, NULL, &a->ptxVersion},
        {MU_FUNC_ATTRIBUTE_BINARY_VERSION, NULL, &a->binaryVersion},
        {MU_FUNC_ATTRIBUTE_CACHE_MODE_CA, NULL, &a->cacheModeCA},
        {MU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, NULL, &a->maxDynamicSharedSizeBytes},
        {MU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, NULL, &a->preferredShmemCarveout},
    };
    *a = (musaFuncAttributes){0};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        int value;
        MUresult r = muFuncGetAttribute(&value, list[i].id, f);
        if (r)
            return r;
        if (list[i].wide)
            *list[i].wide = (size_t)value;
        else
            *list[i].narrow = value;
    }
    return MUSA_SUCCESS;
}

musaError_t musaFuncGetAttributes(musaFuncAttributes *attributes, const void *fn)
{
    RETURN_END(attributes ? rt_of_function(attributes_of(attributes, function(fn))) : MUSA_ERROR_INVALID_VALUE);
}

musaError_t musaFuncSetAttribute(const void *fn, musaFuncAttribute attr, int value)
{
    RETURN_END(rt_of_function(muFuncSetAttribute(function(fn), attr, value)));
}

musaError_t musaFuncSetCacheConfig(const void *fn, musaFuncCache config)
{
    RETURN_END(rt_of_function(muFuncSetCacheConfig(function(fn), config)));
}

musaError_t musaFuncSetSharedMemConfig(const void *fn, musaSharedMemConfig config)
{
    RETURN_END(rt_of_function(muFuncSetSharedMemConfig(function(fn), config)));
}

musaError_t musaFuncGetName(const char **name, const void *fn)
{
    RETURN_END(rt_of_function(muFuncGetName(name, function(fn))));
}

musaError_t musaFuncGetParamInfo(const void *fn, size_t index, size_t *offset, size_t *size)
{
    RETURN_END(rt_of_function(muFuncGetParamInfo(function(fn), index, offset, size)));
}

/* ---- occupancy ------------------------------------------------------------------------------- */

musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *fn, int block_size,
                                                                   size_t dynamic_shared, unsigned int flags)
{
    RETURN_END(rt_of_function(
        muOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function(fn), block_size, dynamic_shared, flags)));
}

musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *fn, int block_size,
                                                          size_t dynamic_shared)
{
    return musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, fn, block_size, dynamic_shared, 0);
}

musaError_t musaOccupancyAvailableDynamicSMemPerBlock(size_t *size, const void *fn, int blocks, int block_size)
{
    RETURN_END(rt_of_function(muOccupancyAvailableDynamicSMemPerBlock(size, function(fn), blocks, block_size)));
}
