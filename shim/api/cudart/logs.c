/* cudaLogs*: the driver's log under the runtime's names. */
#include "api/api.h"
#include "wraps.h"

cudaError_t wrap_cudaLogsRegisterCallback(void *callback, void *data, void *out)
{
    return CUMU_RT(wrap_cuLogsRegisterCallback(callback, data, out));
}

cudaError_t wrap_cudaLogsUnregisterCallback(void *handle) { return CUMU_RT(wrap_cuLogsUnregisterCallback(handle)); }

cudaError_t wrap_cudaLogsCurrent(unsigned *iterator, unsigned flags)
{
    return CUMU_RT(wrap_cuLogsCurrent(iterator, flags));
}

cudaError_t wrap_cudaLogsDumpToFile(unsigned *iterator, const char *path, unsigned flags)
{
    return CUMU_RT(wrap_cuLogsDumpToFile(iterator, path, flags));
}

cudaError_t wrap_cudaLogsDumpToMemory(unsigned *iterator, char *buffer, size_t *size, unsigned flags)
{
    return CUMU_RT(wrap_cuLogsDumpToMemory(iterator, buffer, size, flags));
}
