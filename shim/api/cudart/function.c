/* Kernel attributes, names, parameters and occupancy of the runtime API. */
#include <string.h>

#include "api/api.h"
#include "api/visit.h"
#include "wraps.h"

/* The runtime's word for a handle that is no kernel. */
#define KERNEL(f, p) \
    struct cumu_func *f = cumu_kernel_of(p); \
    if (!f) \
    return CUMU_RT(cudaErrorInvalidDeviceFunction)

/* Fills cudaFuncAttributes from single attributes of the driver, as many bytes as the caller's version has. */
static cudaError_t attributes(cudaFuncAttributes *out, const void *kernel, size_t size)
{
    static const struct {
        int attribute;
        size_t offset;
        bool wide;
    } field[] = {
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, offsetof(cudaFuncAttributes, sharedSizeBytes), true},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, offsetof(cudaFuncAttributes, constSizeBytes), true},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, offsetof(cudaFuncAttributes, localSizeBytes), true},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, offsetof(cudaFuncAttributes, maxThreadsPerBlock), false},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, offsetof(cudaFuncAttributes, numRegs), false},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, offsetof(cudaFuncAttributes, ptxVersion), false},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, offsetof(cudaFuncAttributes, binaryVersion), false},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, offsetof(cudaFuncAttributes, cacheModeCA), false},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, offsetof(cudaFuncAttributes, maxDynamicSharedSizeBytes),
         false},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, offsetof(cudaFuncAttributes, preferredShmemCarveout),
         false},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, offsetof(cudaFuncAttributes, clusterDimMustBeSet), false},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, offsetof(cudaFuncAttributes, requiredClusterWidth), false},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, offsetof(cudaFuncAttributes, requiredClusterHeight), false},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, offsetof(cudaFuncAttributes, requiredClusterDepth), false},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
         offsetof(cudaFuncAttributes, clusterSchedulingPolicyPreference), false},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
         offsetof(cudaFuncAttributes, nonPortableClusterSizeAllowed), false},
    };
    cudaFuncAttributes a;
    if (!out)
        return CUMU_BAD_ARG;
    KERNEL(f, kernel);
    memset(&a, 0, sizeof a);
    for (unsigned i = 0; i < sizeof field / sizeof *field; i++) {
        int value = 0;
        int err = cumu_func_attribute(f, field[i].attribute, &value);
        if (err)
            return CUMU_RT(err);
        if (field[i].wide)
            *(size_t *)(void *)((char *)&a + field[i].offset) = (size_t)value;
        else
            *(int *)(void *)((char *)&a + field[i].offset) = value;
    }
    memcpy(out, &a, size);
    return cudaSuccess;
}

cudaError_t wrap_cudaFuncGetAttributes(cudaFuncAttributes *out, const void *kernel)
{
    return attributes(out, kernel, sizeof *out);
}

cudaError_t wrap_cudaFuncGetAttributes_v11(cudaFuncAttributes *out, const void *kernel)
{
    return attributes(out, kernel, CUMU_FUNC_ATTRIBUTES_V11);
}

cudaError_t wrap_cudaFuncSetAttribute(const void *kernel, int attribute, int value)
{
    KERNEL(f, kernel);
    return CUMU_RT(cumu_func_set_attribute(f, attribute, value));
}

/* Carve-outs and bank sizes are hints; the call still checks what it is given. */
cudaError_t wrap_cudaFuncSetCacheConfig(const void *kernel, int config)
{
    KERNEL(f, kernel);
    (void)f;
    return config < 0 || config > cudaFuncCachePreferEqual ? CUMU_BAD_ARG : cudaSuccess;
}

cudaError_t wrap_cudaFuncSetSharedMemConfig(const void *kernel, int config)
{
    KERNEL(f, kernel);
    (void)f;
    return config < 0 || config > 2 ? CUMU_BAD_ARG : cudaSuccess;
}

cudaError_t wrap_cudaFuncGetName(const char **name, const void *kernel)
{
    if (!name)
        return CUMU_BAD_ARG;
    KERNEL(f, kernel);
    *name = cumu_func_name(f);
    return cudaSuccess;
}

cudaError_t wrap_cudaFuncGetParamInfo(const void *kernel, size_t i, size_t *offset, size_t *size)
{
    if (!offset)
        return CUMU_BAD_ARG;
    KERNEL(f, kernel);
    return CUMU_RT(cumu_func_param(f, i, offset, size));
}

cudaError_t wrap_cudaFuncGetParamCount(const void *kernel, size_t *count)
{
    size_t n = 0, offset;
    if (!count)
        return CUMU_BAD_ARG;
    KERNEL(f, kernel);
    while (cumu_func_param(f, n, &offset, NULL) == 0)
        n++;
    *count = n;
    return 0;
}

cudaError_t wrap_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, int attribute, int value, int device)
{
    struct cumu_visit visit;
    KERNEL(f, kernel);
    cudaError_t err = cumu_visit(&visit, device);
    if (!err)
        err = CUMU_RT(cumu_func_set_attribute(f, attribute, value));
    cumu_visit_end(&visit);
    return err;
}

/* ---- occupancy ------------------------------------------------------------------------------ */

cudaError_t wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int block_size,
                                                               size_t shared)
{
    if (!blocks)
        return CUMU_BAD_ARG;
    KERNEL(f, kernel);
    return CUMU_RT(cumu_func_occupancy(f, block_size, shared, blocks));
}

cudaError_t wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int block_size,
                                                                        size_t shared, unsigned flags)
{
    if (flags > 1) /* cudaOccupancyDisableCachingOverride changes nothing here */
        return CUMU_BAD_ARG;
    return wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, shared);
}

cudaError_t wrap_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *size, const void *kernel, int blocks, int block_size)
{
    if (!size)
        return CUMU_BAD_ARG;
    KERNEL(f, kernel);
    return CUMU_RT(cumu_func_shared_left(f, blocks, block_size, size));
}

static CUlaunchConfig driver_config(const cudaLaunchConfig_t *c)
{
    return (CUlaunchConfig){c->gridDim.x,
                            c->gridDim.y,
                            c->gridDim.z,
                            c->blockDim.x,
                            c->blockDim.y,
                            c->blockDim.z,
                            (unsigned)c->dynamicSmemBytes,
                            c->stream,
                            c->attrs,
                            c->numAttrs};
}

cudaError_t wrap_cudaOccupancyMaxActiveClusters(int *clusters, const void *kernel, const cudaLaunchConfig_t *config)
{
    if (!clusters || !config)
        return CUMU_BAD_ARG;
    KERNEL(f, kernel);
    CUlaunchConfig c = driver_config(config);
    return CUMU_RT(wrap_cuOccupancyMaxActiveClusters(clusters, f, &c));
}

cudaError_t wrap_cudaOccupancyMaxPotentialClusterSize(int *size, const void *kernel, const cudaLaunchConfig_t *config)
{
    if (!size || !config)
        return CUMU_BAD_ARG;
    KERNEL(f, kernel);
    CUlaunchConfig c = driver_config(config);
    return CUMU_RT(wrap_cuOccupancyMaxPotentialClusterSize(size, f, &c));
}
