/* Attributes of streams and kernel nodes, by the driver, whose one soname serves programs of every toolkit. */
#include "api/attribute_value.h"

#define ATTRIBUTES(name, handle, suffix) \
    CUresult wrap_cu##name##GetAttribute##suffix(handle on, int id, void *value) \
    { \
        return value ? CUMU_ATTRIBUTE_GET(mu.mu##name##GetAttribute##suffix, on, id, value, CUMU_LAUNCH_ATTR_V11) \
                     : MUSA_ERROR_INVALID_VALUE; \
    } \
    CUresult wrap_cu##name##SetAttribute##suffix(handle on, int id, const void *value) \
    { \
        return value ? CUMU_ATTRIBUTE_SET(mu.mu##name##SetAttribute##suffix, on, id, value) \
                     : MUSA_ERROR_INVALID_VALUE; \
    }
ATTRIBUTES(Stream, CUstream, )
ATTRIBUTES(Stream, CUstream, _ptsz)
ATTRIBUTES(GraphKernelNode, cudaGraphNode_t, )
