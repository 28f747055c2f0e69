/* Device attributes as CUDA programs see them: the claimed compute capability, what only CUDA has, and
 * the rest from the device below. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/resolve.h"
#include "kernel/device.h"
#include "kernel/nest.h"

/* Answers that do not depend on the device: hardware that is not there. */
static const struct {
    int attribute, value;
} fixed[] = {
    {cudaDevAttrDeferredMappingCudaArraySupported, 0},
    {cudaDevAttrIpcEventSupport, 1},
    {cudaDevAttrMemSyncDomainCount, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    {cudaDevAttrNumaConfig, 0},
    {cudaDevAttrNumaId, -1},
    {cudaDevAttrMpsEnabled, 0},
    {cudaDevAttrHostNumaId, 0},
};

/* What CUDA's newer numbers ask is an older question to the device below. */
static const struct {
    int attribute, below;
} renamed[] = {
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1},
};

/* The SDK has these functions and no attribute that says so (mapping/facts/musa.md N2). */
static const struct {
    int attribute;
    const char *function;
} shown_by[] = {
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "muMemCreate"},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "muMemExportToShareableHandle"},
};

enum { LAST_SHARED = 119, LAST = cudaDevAttrMax - 1 };

/* SDK 3.1.0's driver has 121 to 124 as well, and no 120 (mapping/facts/musa.md N2): later ones are asked, too. */
static bool is_shared(int attribute)
{
    return attribute <= LAST_SHARED || (attribute >= CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED &&
                                        attribute <= CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
}

int cumu_device_attribute(int *value, int attribute, int device)
{
    if (!value || attribute <= 0 || attribute > LAST)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == cudaDevAttrMultiProcessorCount)
        (void)cumu_nest_there(); /* the CPU's driver counts them by what is claimed */
    int err = mu.muDeviceGetAttribute(value, is_shared(attribute) ? attribute : cudaDevAttrWarpSize, device);
    for (unsigned i = 0; i < sizeof renamed / sizeof *renamed && err == CUDA_ERROR_INVALID_VALUE; i++)
        if (renamed[i].attribute == attribute) {
            attribute = renamed[i].below;
            err = mu.muDeviceGetAttribute(value, attribute, device);
            break;
        }
    if (err && err != CUDA_ERROR_INVALID_VALUE)
        return err; /* no such device, not initialised */
    if (attribute == cudaDevAttrClusterLaunch)
        *value = cumu_clusters();
    else if (attribute == cudaDevAttrComputeCapabilityMajor)
        *value = (int)(cumu_claimed_cc() / 10);
    else if (attribute == cudaDevAttrComputeCapabilityMinor)
        *value = (int)(cumu_claimed_cc() % 10);
    else if (attribute == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED)
        *value = cumu_claimed_cc() >= 90 && !cumu_device_code();
    else if (attribute == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) /* nobody emits multimem for MUSA */
        *value = cumu_claimed_cc() >= 90 && !cumu_device_code() && cumu_mu_has("muMulticastCreate");
    else if (attribute == cudaDevAttrWarpSize)
        *value = 32; /* PTX knows no other; parts with warps of 128 run four of ours in one of theirs */
    else if (err || !is_shared(attribute)) {
        *value = 0; /* a valid question the device below has no answer to: not supported */
        for (unsigned i = 0; i < sizeof fixed / sizeof *fixed; i++)
            if (fixed[i].attribute == attribute)
                *value = fixed[i].value;
        for (unsigned i = 0; i < sizeof shown_by / sizeof *shown_by; i++)
            if (shown_by[i].attribute == attribute)
                *value = cumu_mu_has(shown_by[i].function);
    }
    const int most = cumu_most_shared(cumu_claimed_cc()), reserved = 1 << 10; /* by the system */
    if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin && *value > most)
        *value = most;
    else if (attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor && *value - reserved > most)
        *value = most + reserved;
    /* A driver that knows no larger maximum on request has the plain one; programs size their blocks by the former. */
    int plain = 0;
    if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin &&
        !mu.muDeviceGetAttribute(&plain, cudaDevAttrMaxSharedMemoryPerBlock, device) && *value < plain)
        *value = plain;
    /* Double precision is software up to mp_22 (mapping/facts/musa.md D3), whatever a driver leaves unsaid. */
    int major = 0;
    if (attribute == cudaDevAttrSingleToDoublePrecisionPerfRatio && *value <= 0)
        *value = !mu.muDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) && major < 3 ? 64 : 0;
    if ((attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED ||
         attribute == CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES) &&
        cumu_stand_in("musaMallocAsync")) /* pools are the core's own, and of this process */
        *value = attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    return CUDA_SUCCESS;
}
