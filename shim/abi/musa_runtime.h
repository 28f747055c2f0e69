/* Prototypes of the MUSA runtime API, libmusart.so.5; included by musa.h only. _ptsz and _ptds are
 * the forms in which stream 0 is the thread's own default stream. */
#ifndef CUMU_ABI_MUSA_RUNTIME_H
#define CUMU_ABI_MUSA_RUNTIME_H

#define MU_FN(name, ...) musaError_t name(__VA_ARGS__)
#define MU_PTSZ(name, ...) \
    MU_FN(name, __VA_ARGS__); \
    MU_FN(name##_ptsz, __VA_ARGS__)
#define MU_PTDS(name, ...) \
    MU_FN(name, __VA_ARGS__); \
    MU_FN(name##_ptds, __VA_ARGS__)

/* errors, versions */
MU_FN(musaGetLastError, void);
MU_FN(musaPeekAtLastError, void);
const char *musaGetErrorName(musaError_t error);
const char *musaGetErrorString(musaError_t error);
MU_FN(musaDriverGetVersion, int *version);
MU_FN(musaRuntimeGetVersion, int *version);
MU_FN(musaProfilerStart, void);
MU_FN(musaProfilerStop, void);
MU_FN(musaGetDriverEntryPoint, const char *symbol, void **fn, unsigned long long flags);

/* devices */
MU_FN(musaGetDeviceCount, int *count);
MU_FN(musaSetDevice, int device);
MU_FN(musaGetDevice, int *device);
MU_FN(musaInitDevice, int device, unsigned int device_flags, unsigned int flags);
MU_FN(musaGetDeviceProperties, musaDeviceProp *prop, int device);
MU_FN(musaChooseDevice, int *device, const musaDeviceProp *prop);
MU_FN(musaSetValidDevices, int *devices, int n);
MU_FN(musaSetDeviceFlags, unsigned int flags);
MU_FN(musaGetDeviceFlags, unsigned int *flags);
MU_FN(musaDeviceGetAttribute, int *value, musaDeviceAttr attr, int device);
MU_FN(musaDeviceGetP2PAttribute, int *value, musaDeviceP2PAttr attr, int a, int b);
MU_FN(musaDeviceGetByPCIBusId, int *device, const char *id);
MU_FN(musaDeviceGetPCIBusId, char *id, int len, int device);
MU_FN(musaDeviceGetTexture1DLinearMaxWidth, size_t *width, const musaChannelFormatDesc *desc, int device);
MU_FN(musaDeviceReset, void);
MU_FN(musaDeviceSynchronize, void);
MU_FN(musaDeviceSetLimit, musaLimit limit, size_t value);
MU_FN(musaDeviceGetLimit, size_t *value, musaLimit limit);
MU_FN(musaDeviceGetCacheConfig, musaFuncCache *config);
MU_FN(musaDeviceSetCacheConfig, musaFuncCache config);
MU_FN(musaDeviceGetSharedMemConfig, musaSharedMemConfig *config);
MU_FN(musaDeviceSetSharedMemConfig, musaSharedMemConfig config);
MU_FN(musaDeviceGetStreamPriorityRange, int *least, int *greatest);
MU_FN(musaDeviceFlushGPUDirectRDMAWrites, int target, int scope);
MU_FN(musaDeviceCanAccessPeer, int *can, int device, int peer);
MU_FN(musaDeviceEnablePeerAccess, int peer, unsigned int flags);
MU_FN(musaDeviceDisablePeerAccess, int peer);
MU_FN(musaDeviceGetDefaultMemPool, musaMemPool_t *pool, int device);
MU_FN(musaDeviceGetMemPool, musaMemPool_t *pool, int device);
MU_FN(musaDeviceSetMemPool, int device, musaMemPool_t pool);
MU_FN(musaCtxResetPersistingL2Cache, void);
MU_FN(musaThreadExit, void);
MU_FN(musaThreadSynchronize, void);
MU_FN(musaThreadSetLimit, musaLimit limit, size_t value);
MU_FN(musaThreadGetLimit, size_t *value, musaLimit limit);
MU_FN(musaThreadGetCacheConfig, musaFuncCache *config);
MU_FN(musaThreadSetCacheConfig, musaFuncCache config);
MU_FN(musaThreadExchangeStreamCaptureMode, musaStreamCaptureMode *mode);

/* memory */
MU_FN(musaMalloc, void **p, size_t size);
MU_FN(musaMallocPitch, void **p, size_t *pitch, size_t width, size_t height);
MU_FN(musaMalloc3D, musaPitchedPtr *p, musaExtent extent);
MU_FN(musaMallocHost, void **p, size_t size);
MU_FN(musaMallocManaged, void **p, size_t size, unsigned int flags);
MU_FN(musaFree, void *p);
MU_FN(musaFreeHost, void *p);
MU_FN(musaHostAlloc, void **p, size_t size, unsigned int flags);
MU_FN(musaHostRegister, void *p, size_t size, unsigned int flags);
MU_FN(musaHostUnregister, void *p);
MU_FN(musaHostGetDevicePointer, void **dp, void *p, unsigned int flags);
MU_FN(musaHostGetFlags, unsigned int *flags, void *p);
MU_FN(musaMemGetInfo, size_t *free_bytes, size_t *total);
MU_FN(musaPointerGetAttributes, musaPointerAttributes *attributes, const void *p);
MU_FN(musaMemAdvise, const void *p, size_t n, musaMemoryAdvise advice, int device);
MU_PTSZ(musaMemPrefetchAsync, const void *p, size_t n, int device, musaStream_t stream);
MU_FN(musaMemRangeGetAttribute, void *data, size_t size, musaMemRangeAttribute attr, const void *p, size_t n);
MU_FN(musaMemRangeGetAttributes, void **data, size_t *sizes, musaMemRangeAttribute *attrs, size_t count, const void *p,
      size_t n);
MU_FN(musaIpcGetMemHandle, musaIpcMemHandle_t *handle, void *p);
MU_FN(musaIpcOpenMemHandle, void **p, musaIpcMemHandle_t handle, unsigned int flags);
MU_FN(musaIpcCloseMemHandle, void *p);
MU_FN(musaIpcGetEventHandle, musaIpcEventHandle_t *handle, musaEvent_t event);
MU_FN(musaIpcOpenEventHandle, musaEvent_t *event, musaIpcEventHandle_t handle);

/* stream-ordered allocation */
MU_PTSZ(musaMallocAsync, void **p, size_t size, musaStream_t stream);
MU_PTSZ(musaMallocFromPoolAsync, void **p, size_t size, musaMemPool_t pool, musaStream_t stream);
MU_PTSZ(musaFreeAsync, void *p, musaStream_t stream);
MU_FN(musaMemPoolCreate, musaMemPool_t *pool, const musaMemPoolProps *props);
MU_FN(musaMemPoolDestroy, musaMemPool_t pool);
MU_FN(musaMemPoolTrimTo, musaMemPool_t pool, size_t keep);
MU_FN(musaMemPoolSetAttribute, musaMemPool_t pool, musaMemPoolAttr attr, void *value);
MU_FN(musaMemPoolGetAttribute, musaMemPool_t pool, musaMemPoolAttr attr, void *value);
MU_FN(musaMemPoolSetAccess, musaMemPool_t pool, const musaMemAccessDesc *desc, size_t count);
MU_FN(musaMemPoolGetAccess, musaMemAccessFlags *flags, musaMemPool_t pool, musaMemLocation *location);
MU_FN(musaMemPoolExportToShareableHandle, void *handle, musaMemPool_t pool, MUmemAllocationHandleType type,
      unsigned int flags);
MU_FN(musaMemPoolImportFromShareableHandle, musaMemPool_t *pool, void *handle, MUmemAllocationHandleType type,
      unsigned int flags);
MU_FN(musaMemPoolExportPointer, musaMemPoolPtrExportData *data, void *p);
MU_FN(musaMemPoolImportPointer, void **p, musaMemPool_t pool, musaMemPoolPtrExportData *data);

/* arrays */
musaChannelFormatDesc musaCreateChannelDesc(int x, int y, int z, int w, musaChannelFormatKind f);
MU_FN(musaGetChannelDesc, musaChannelFormatDesc *desc, musaArray_const_t array);
MU_FN(musaMallocArray, musaArray_t *array, const musaChannelFormatDesc *desc, size_t width, size_t height,
      unsigned int flags);
MU_FN(musaMalloc3DArray, musaArray_t *array, const musaChannelFormatDesc *desc, musaExtent extent, unsigned int flags);
MU_FN(musaFreeArray, musaArray_t array);
MU_FN(musaArrayGetInfo, musaChannelFormatDesc *desc, musaExtent *extent, unsigned int *flags, musaArray_t array);
MU_FN(musaMallocMipmappedArray, musaMipmappedArray_t *mipmap, const musaChannelFormatDesc *desc, musaExtent extent,
      unsigned int levels, unsigned int flags);
MU_FN(musaGetMipmappedArrayLevel, musaArray_t *array, musaMipmappedArray_const_t mipmap, unsigned int level);
MU_FN(musaFreeMipmappedArray, musaMipmappedArray_t mipmap);

/* textures and surfaces */
MU_FN(musaCreateTextureObject, musaTextureObject_t *tex, const musaResourceDesc *res, const musaTextureDesc *desc,
      const musaResourceViewDesc *view);
MU_FN(musaCreateTextureObject_v2, musaTextureObject_t *tex, const musaResourceDesc *res, const musaTextureDesc_v2 *desc,
      const musaResourceViewDesc *view);
MU_FN(musaDestroyTextureObject, musaTextureObject_t tex);
MU_FN(musaGetTextureObjectResourceDesc, musaResourceDesc *res, musaTextureObject_t tex);
MU_FN(musaGetTextureObjectTextureDesc, musaTextureDesc *desc, musaTextureObject_t tex);
MU_FN(musaGetTextureObjectTextureDesc_v2, musaTextureDesc_v2 *desc, musaTextureObject_t tex);
MU_FN(musaGetTextureObjectResourceViewDesc, musaResourceViewDesc *view, musaTextureObject_t tex);
MU_FN(musaCreateSurfaceObject, musaSurfaceObject_t *surf, const musaResourceDesc *res);
MU_FN(musaDestroySurfaceObject, musaSurfaceObject_t surf);
MU_FN(musaGetSurfaceObjectResourceDesc, musaResourceDesc *res, musaSurfaceObject_t surf);

/* copies */
MU_PTDS(musaMemcpy, void *dst, const void *src, size_t n, musaMemcpyKind kind);
MU_PTSZ(musaMemcpyAsync, void *dst, const void *src, size_t n, musaMemcpyKind kind, musaStream_t stream);
MU_FN(musaMemcpyPeer, void *dst, int dst_device, const void *src, int src_device, size_t n);
MU_FN(musaMemcpyPeerAsync, void *dst, int dst_device, const void *src, int src_device, size_t n, musaStream_t stream);
MU_PTDS(musaMemcpy2D, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
        musaMemcpyKind kind);
MU_PTSZ(musaMemcpy2DAsync, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
        musaMemcpyKind kind, musaStream_t stream);
MU_PTDS(musaMemcpy3D, const musaMemcpy3DParms *p);
MU_PTSZ(musaMemcpy3DAsync, const musaMemcpy3DParms *p, musaStream_t stream);
MU_PTDS(musaMemcpy3DPeer, const musaMemcpy3DPeerParms *p);
MU_PTSZ(musaMemcpy3DPeerAsync, const musaMemcpy3DPeerParms *p, musaStream_t stream);
MU_PTDS(musaMemcpyToArray, musaArray_t dst, size_t x, size_t y, const void *src, size_t n, musaMemcpyKind kind);
MU_PTDS(musaMemcpyFromArray, void *dst, musaArray_const_t src, size_t x, size_t y, size_t n, musaMemcpyKind kind);
MU_PTDS(musaMemcpyArrayToArray, musaArray_t dst, size_t dx, size_t dy, musaArray_const_t src, size_t sx, size_t sy,
        size_t n, musaMemcpyKind kind);
MU_PTSZ(musaMemcpyToArrayAsync, musaArray_t dst, size_t x, size_t y, const void *src, size_t n, musaMemcpyKind kind,
        musaStream_t stream);
MU_PTSZ(musaMemcpyFromArrayAsync, void *dst, musaArray_const_t src, size_t x, size_t y, size_t n, musaMemcpyKind kind,
        musaStream_t stream);
MU_PTDS(musaMemcpy2DToArray, musaArray_t dst, size_t x, size_t y, const void *src, size_t spitch, size_t width,
        size_t height, musaMemcpyKind kind);
MU_PTDS(musaMemcpy2DFromArray, void *dst, size_t dpitch, musaArray_const_t src, size_t x, size_t y, size_t width,
        size_t height, musaMemcpyKind kind);
MU_PTDS(musaMemcpy2DArrayToArray, musaArray_t dst, size_t dx, size_t dy, musaArray_const_t src, size_t sx, size_t sy,
        size_t width, size_t height, musaMemcpyKind kind);
MU_PTSZ(musaMemcpy2DToArrayAsync, musaArray_t dst, size_t x, size_t y, const void *src, size_t spitch, size_t width,
        size_t height, musaMemcpyKind kind, musaStream_t stream);
MU_PTSZ(musaMemcpy2DFromArrayAsync, void *dst, size_t dpitch, musaArray_const_t src, size_t x, size_t y, size_t width,
        size_t height, musaMemcpyKind kind, musaStream_t stream);

/* fills */
MU_PTDS(musaMemset, void *p, int value, size_t n);
MU_PTSZ(musaMemsetAsync, void *p, int value, size_t n, musaStream_t stream);
MU_PTDS(musaMemset2D, void *p, size_t pitch, int value, size_t width, size_t height);
MU_PTSZ(musaMemset2DAsync, void *p, size_t pitch, int value, size_t width, size_t height, musaStream_t stream);
MU_PTDS(musaMemset3D, musaPitchedPtr p, int value, musaExtent extent);
MU_PTSZ(musaMemset3DAsync, musaPitchedPtr p, int value, musaExtent extent, musaStream_t stream);

/* streams */
MU_FN(musaStreamCreate, musaStream_t *stream);
MU_FN(musaStreamCreateWithFlags, musaStream_t *stream, unsigned int flags);
MU_FN(musaStreamCreateWithPriority, musaStream_t *stream, unsigned int flags, int priority);
MU_FN(musaStreamDestroy, musaStream_t stream);
MU_PTSZ(musaStreamQuery, musaStream_t stream);
MU_PTSZ(musaStreamSynchronize, musaStream_t stream);
MU_PTSZ(musaStreamWaitEvent, musaStream_t stream, musaEvent_t event, unsigned int flags);
MU_PTSZ(musaStreamAddCallback, musaStream_t stream, musaStreamCallback_t fn, void *user, unsigned int flags);
MU_PTSZ(musaLaunchHostFunc, musaStream_t stream, musaHostFn_t fn, void *user);
MU_PTSZ(musaStreamAttachMemAsync, musaStream_t stream, void *p, size_t n, unsigned int flags);
MU_PTSZ(musaStreamGetPriority, musaStream_t stream, int *priority);
MU_PTSZ(musaStreamGetFlags, musaStream_t stream, unsigned int *flags);
MU_PTSZ(musaStreamGetId, musaStream_t stream, unsigned long long *id);
MU_PTSZ(musaStreamGetDevice, musaStream_t stream, int *device);
MU_PTSZ(musaStreamIsCapturing, musaStream_t stream, musaStreamCaptureStatus *status);
MU_PTSZ(musaStreamCopyAttributes, musaStream_t dst, musaStream_t src);
MU_PTSZ(musaStreamGetAttribute, musaStream_t stream, musaStreamAttrID attr, musaStreamAttrValue *value);
MU_PTSZ(musaStreamSetAttribute, musaStream_t stream, musaStreamAttrID attr, const musaStreamAttrValue *value);

/* events */
MU_FN(musaEventCreate, musaEvent_t *event);
MU_FN(musaEventCreateWithFlags, musaEvent_t *event, unsigned int flags);
MU_FN(musaEventDestroy, musaEvent_t event);
MU_PTSZ(musaEventRecord, musaEvent_t event, musaStream_t stream);
MU_PTSZ(musaEventRecordWithFlags, musaEvent_t event, musaStream_t stream, unsigned int flags);
MU_FN(musaEventQuery, musaEvent_t event);
MU_FN(musaEventSynchronize, musaEvent_t event);
MU_FN(musaEventElapsedTime, float *ms, musaEvent_t start, musaEvent_t end);

/* kernels: `fn` is a musaFunction_t; registering mcc-built host code is not in this library */
MU_PTSZ(musaLaunchKernel, const void *fn, dim3 grid, dim3 block, void **args, size_t shared, musaStream_t stream);
MU_PTSZ(musaLaunchCooperativeKernel, const void *fn, dim3 grid, dim3 block, void **args, size_t shared,
        musaStream_t stream);
MU_PTSZ(musaLaunchKernelExC, const musaLaunchConfig_t *config, const void *fn, void **args);
MU_FN(musaFuncGetAttributes, musaFuncAttributes *attributes, const void *fn);
MU_FN(musaFuncSetAttribute, const void *fn, musaFuncAttribute attr, int value);
MU_FN(musaFuncSetCacheConfig, const void *fn, musaFuncCache config);
MU_FN(musaFuncSetSharedMemConfig, const void *fn, musaSharedMemConfig config);
MU_FN(musaFuncGetName, const char **name, const void *fn);
MU_FN(musaFuncGetParamInfo, const void *fn, size_t index, size_t *offset, size_t *size);
MU_FN(musaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *fn, int block_size,
      size_t dynamic_shared);
MU_FN(musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *fn, int block_size,
      size_t dynamic_shared, unsigned int flags);
MU_FN(musaOccupancyAvailableDynamicSMemPerBlock, size_t *size, const void *fn, int blocks, int block_size);

#undef MU_FN
#undef MU_PTSZ
#undef MU_PTDS

#endif
