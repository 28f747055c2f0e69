/* How much of a launch attribute's value means something. */
#include "api/attribute_value.h"

#include "cuda_enums.h"

size_t cumu_attribute_size(int id)
{
    static const unsigned char sizes[] = {
        [cudaLaunchAttributeAccessPolicyWindow] = 32,
        [cudaLaunchAttributeCooperative] = 4,
        [cudaLaunchAttributeSynchronizationPolicy] = 4,
        [cudaLaunchAttributeClusterDimension] = 12,
        [cudaLaunchAttributeClusterSchedulingPolicyPreference] = 4,
        [cudaLaunchAttributeProgrammaticStreamSerialization] = 4,
        [cudaLaunchAttributeProgrammaticEvent] = 16,
        [cudaLaunchAttributePriority] = 4,
        [cudaLaunchAttributeMemSyncDomainMap] = 2,
        [cudaLaunchAttributeMemSyncDomain] = 4,
        [cudaLaunchAttributePreferredClusterDimension] = 12,
        [cudaLaunchAttributeLaunchCompletionEvent] = 16,
        [cudaLaunchAttributeDeviceUpdatableKernelNode] = 16,
        [cudaLaunchAttributePreferredSharedMemoryCarveout] = 4,
        [cudaLaunchAttributeNvlinkUtilCentricScheduling] = 4,
    };
    bool known = id >= 0 && id < (int)sizeof sizes && sizes[id];
    return known ? sizes[id] : CUMU_LAUNCH_ATTR_V11;
}
