/* Properties of devices, read from the driver's attributes. */
#include <string.h>

#include "host/runtime/rt.h"

musaError_t musaDeviceGetAttribute(int *value, musaDeviceAttr attr, int device)
{
    MUresult r = rt_init();
    if (!r && !rt_valid(device))
        r = MUSA_ERROR_INVALID_DEVICE;
    if (!r && !value)
        r = MUSA_ERROR_INVALID_VALUE;
    return rt_end(r ? r : muDeviceGetAttribute(value, attr, device));
}

musaError_t musaDeviceGetP2PAttribute(int *value, musaDeviceP2PAttr attr, int a, int b)
{
    MUresult r = rt_init();
    return rt_end(r ? r : muDeviceGetP2PAttribute(value, attr, a, b));
}

/* Fields that are attributes of the driver: the offset of an int or, `wide`, of a size_t. */
#define FIELD(field, name) \
    { \
        offsetof(musaDeviceProp, field), false, MU_DEVICE_ATTRIBUTE_##name \
    }
#define WIDE(field, name) \
    { \
        offsetof(musaDeviceProp, field), true, MU_DEVICE_ATTRIBUTE_##name \
    }
static const struct {
    size_t offset;
    bool wide;
    int attribute;
} fields[] = {WIDE(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
              FIELD(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
              FIELD(warpSize, WARP_SIZE),
              WIDE(memPitch, MAX_PITCH),
              FIELD(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
              FIELD(maxThreadsDim[0], MAX_BLOCK_DIM_X),
              FIELD(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
              FIELD(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
              FIELD(maxGridSize[0], MAX_GRID_DIM_X),
              FIELD(maxGridSize[1], MAX_GRID_DIM_Y),
              FIELD(maxGridSize[2], MAX_GRID_DIM_Z),
              FIELD(clockRate, CLOCK_RATE),
              WIDE(totalConstMem, TOTAL_CONSTANT_MEMORY),
              FIELD(major, COMPUTE_CAPABILITY_MAJOR),
              FIELD(minor, COMPUTE_CAPABILITY_MINOR),
              WIDE(textureAlignment, TEXTURE_ALIGNMENT),
              WIDE(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
              FIELD(deviceOverlap, GPU_OVERLAP),
              FIELD(multiProcessorCount, MULTIPROCESSOR_COUNT),
              FIELD(kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT),
              FIELD(integrated, INTEGRATED),
              FIELD(canMapHostMemory, CAN_MAP_HOST_MEMORY),
              FIELD(computeMode, COMPUTE_MODE),
              FIELD(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
              FIELD(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH),
              FIELD(maxTexture1DLinear, MAXIMUM_TEXTURE1D_LINEAR_WIDTH),
              FIELD(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
              FIELD(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
              FIELD(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
              FIELD(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT),
              FIELD(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
              FIELD(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
              FIELD(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH),
              FIELD(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH),
              FIELD(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
              FIELD(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
              FIELD(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
              FIELD(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
              FIELD(maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
              FIELD(maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
              FIELD(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
              FIELD(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH),
              FIELD(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
              FIELD(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
              FIELD(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
              FIELD(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
              FIELD(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
              FIELD(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
              FIELD(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
              FIELD(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH),
              FIELD(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH),
              FIELD(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT),
              FIELD(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH),
              FIELD(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT),
              FIELD(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH),
              FIELD(maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH),
              FIELD(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS),
              FIELD(maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH),
              FIELD(maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT),
              FIELD(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS),
              FIELD(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH),
              FIELD(maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH),
              FIELD(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS),
              WIDE(surfaceAlignment, SURFACE_ALIGNMENT),
              FIELD(concurrentKernels, CONCURRENT_KERNELS),
              FIELD(ECCEnabled, ECC_ENABLED),
              FIELD(pciBusID, PCI_BUS_ID),
              FIELD(pciDeviceID, PCI_DEVICE_ID),
              FIELD(pciDomainID, PCI_DOMAIN_ID),
              FIELD(tccDriver, TCC_DRIVER),
              FIELD(asyncEngineCount, ASYNC_ENGINE_COUNT),
              FIELD(unifiedAddressing, UNIFIED_ADDRESSING),
              FIELD(memoryClockRate, MEMORY_CLOCK_RATE),
              FIELD(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
              FIELD(l2CacheSize, L2_CACHE_SIZE),
              FIELD(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
              FIELD(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
              FIELD(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
              FIELD(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
              FIELD(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
              WIDE(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
              FIELD(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
              FIELD(managedMemory, MANAGED_MEMORY),
              FIELD(isMultiGpuBoard, MULTI_GPU_BOARD),
              FIELD(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
              FIELD(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
              FIELD(singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
              FIELD(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
              FIELD(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
              FIELD(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
              FIELD(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
              FIELD(cooperativeLaunch, COOPERATIVE_LAUNCH),
              FIELD(cooperativeMultiDeviceLaunch, COOPERATIVE_MULTI_DEVICE_LAUNCH),
              WIDE(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
              FIELD(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
              FIELD(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
              FIELD(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
              FIELD(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
              WIDE(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)};

musaError_t musaGetDeviceProperties(musaDeviceProp *prop, int device)
{
    MUresult r = rt_init();
    if (r || !prop || !rt_valid(device))
        return rt_end(r ? r : prop ? MUSA_ERROR_INVALID_DEVICE : MUSA_ERROR_INVALID_VALUE);
    memset(prop, 0, sizeof *prop);
    if ((r = muDeviceGetName(prop->name, sizeof prop->name, device)) || (r = muDeviceGetUuid(&prop->uuid, device)) ||
        (r = muDeviceTotalMem(&prop->totalGlobalMem, device)))
        return rt_end(r);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        int value = 0;
        if (muDeviceGetAttribute(&value, fields[i].attribute, device))
            continue; /* an attribute this driver does not know leaves 0 */
        size_t wide = (unsigned)value;
        void *to = (char *)prop + fields[i].offset;
        memcpy(to, fields[i].wide ? (void *)&wide : (void *)&value, fields[i].wide ? sizeof wide : sizeof value);
    }
    return musaSuccess;
}

/* Wishes are name, compute capability and sizes; a device that meets more of them wins. */
static int score(const musaDeviceProp *have, const musaDeviceProp *want)
{
    return (want->name[0] && !strncmp(have->name, want->name, sizeof have->name)) +
           (want->major > 0 &&
            (have->major > want->major || (have->major == want->major && have->minor >= want->minor))) +
           (want->totalGlobalMem && have->totalGlobalMem >= want->totalGlobalMem) +
           (want->multiProcessorCount && have->multiProcessorCount >= want->multiProcessorCount);
}

musaError_t musaChooseDevice(int *device, const musaDeviceProp *prop)
{
    MUresult r = rt_init();
    if (r || !device || !prop)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    int best = -1;
    for (int d = 0; rt_valid(d); d++) {
        musaDeviceProp have;
        musaError_t e = musaGetDeviceProperties(&have, d);
        if (e)
            return e;
        if (score(&have, prop) > best) {
            best = score(&have, prop);
            *device = d;
        }
    }
    return musaSuccess;
}

musaError_t musaDeviceGetByPCIBusId(int *device, const char *id)
{
    MUresult r = rt_init();
    return rt_end(r ? r : muDeviceGetByPCIBusId(device, id));
}

musaError_t musaDeviceGetPCIBusId(char *id, int len, int device)
{
    MUresult r = rt_init();
    return rt_end(r ? r : muDeviceGetPCIBusId(id, len, device));
}
