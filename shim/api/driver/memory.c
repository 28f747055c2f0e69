/* Memory calls of the driver API that take locations instead of device numbers. */
#include "api/api.h"

static bool location_device(CUmemLocation l, MUdevice *device)
{
    if (l.type == CU_MEM_LOCATION_TYPE_DEVICE)
        *device = l.id;
    else if (l.type == CU_MEM_LOCATION_TYPE_HOST || l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
             l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        *device = -1; /* the CPU */
    else
        return false;
    return true;
}

CUresult wrap_cuMemAdvise_v2(CUdeviceptr p, size_t count, int advice, CUmemLocation where)
{
    MUdevice device = 0;
    if (!location_device(where, &device) && advice != CU_MEM_ADVISE_SET_READ_MOSTLY &&
        advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION)
        return CUDA_ERROR_INVALID_VALUE;
    return mu.muMemAdvise(p, count, advice, device);
}

CUresult wrap_cuMemPrefetchAsync_v2(CUdeviceptr p, size_t count, CUmemLocation where, unsigned flags, CUstream stream)
{
    MUdevice device;
    if (flags != 0 || !location_device(where, &device))
        return CUDA_ERROR_INVALID_VALUE;
    return mu.muMemPrefetchAsync(p, count, device, (MUstream)stream);
}

CUresult wrap_cuMemPrefetchAsync_v2_ptsz(CUdeviceptr p, size_t count, CUmemLocation where, unsigned flags,
                                         CUstream stream)
{
    return wrap_cuMemPrefetchAsync_v2(p, count, where, flags, cumu_ptsz(stream));
}
