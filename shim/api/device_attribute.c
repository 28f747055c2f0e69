/* Device attributes as CUDA programs see them: the claimed compute capability, what only CUDA has, and
 * the rest from the device below. */
#include "api/api.h"

/* Answers that do not depend on the device: hardware that is not there. */
static const struct {
    int attribute, value;
} fixed[] = {
    {cudaDevAttrClusterLaunch, 0},
    {cudaDevAttrDeferredMappingCudaArraySupported, 0},
    {cudaDevAttrIpcEventSupport, 1},
    {cudaDevAttrMemSyncDomainCount, 1},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    {cudaDevAttrNumaConfig, 0},
    {cudaDevAttrNumaId, -1},
    {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
    {cudaDevAttrMpsEnabled, 0},
    {cudaDevAttrHostNumaId, 0},
};

enum { LAST_SHARED = 119, LAST = cudaDevAttrMax - 1 };

int cumu_device_attribute(int *value, int attribute, int device)
{
    if (!value || attribute <= 0 || attribute > LAST)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muDeviceGetAttribute(value, attribute <= LAST_SHARED ? attribute
                                                                      : cudaDevAttrWarpSize, device);
    if (err && err != CUDA_ERROR_INVALID_VALUE)
        return err; /* no such device, not initialised */
    if (attribute == cudaDevAttrComputeCapabilityMajor)
        *value = (int)(cumu_claimed_cc() / 10);
    else if (attribute == cudaDevAttrComputeCapabilityMinor)
        *value = (int)(cumu_claimed_cc() % 10);
    else if (err || attribute > LAST_SHARED) {
        *value = 0; /* a valid question the device below has no answer to: not supported */
        for (unsigned i = 0; i < sizeof fixed / sizeof *fixed; i++)
            if (fixed[i].attribute == attribute)
                *value = fixed[i].value;
    }
    return CUDA_SUCCESS;
}
