/* Attributes of streams and kernel nodes, by the runtime: for programs whose unions may have 32 bytes (CUDA 11), and
 * for those whose have 64. */
#include "api/attribute_value.h"

#define ATTRIBUTES(name, handle, suffix, version, sure) \
    cudaError_t wrap_cuda##name##GetAttribute##suffix##version(handle on, int id, void *value) \
    { \
        return value ? CUMU_ATTRIBUTE_GET(mu.musa##name##GetAttribute##suffix, on, id, value, sure) : CUMU_BAD_ARG; \
    } \
    cudaError_t wrap_cuda##name##SetAttribute##suffix##version(handle on, int id, const void *value) \
    { \
        return value ? CUMU_ATTRIBUTE_SET(mu.musa##name##SetAttribute##suffix, on, id, value) : CUMU_BAD_ARG; \
    }
#define VERSIONS(name, handle, suffix) \
    ATTRIBUTES(name, handle, suffix, _v11, CUMU_LAUNCH_ATTR_V11) \
    ATTRIBUTES(name, handle, suffix, , sizeof(cuda_launch_attr_value))
VERSIONS(Stream, cudaStream_t, )
VERSIONS(Stream, cudaStream_t, _ptsz)
VERSIONS(GraphKernelNode, cudaGraphNode_t, )
