/* Prototypes of the MUSA driver API, libmusa.so.1; included by musa.h only. The SDK exports some
 * functions under several names: with _v2 (the 64-bit form, as CUDA's), and with _ptsz or _ptds
 * (stream 0 is the thread's own default stream). Each line names the forms that exist. */
#ifndef CUMU_ABI_MUSA_DRIVER_H
#define CUMU_ABI_MUSA_DRIVER_H

#define MU_FN(name, ...) MUresult name(__VA_ARGS__)
#define MU_V2(name, ...) \
    MU_FN(name, __VA_ARGS__); \
    MU_FN(name##_v2, __VA_ARGS__)
#define MU_PTSZ(name, ...) \
    MU_FN(name, __VA_ARGS__); \
    MU_FN(name##_ptsz, __VA_ARGS__)
#define MU_PTDS(name, ...) \
    MU_FN(name, __VA_ARGS__); \
    MU_FN(name##_ptds, __VA_ARGS__)
#define MU_V2_PTSZ(name, ...) \
    MU_V2(name, __VA_ARGS__); \
    MU_FN(name##_v2_ptsz, __VA_ARGS__)
#define MU_V2_PTDS(name, ...) \
    MU_V2(name, __VA_ARGS__); \
    MU_FN(name##_v2_ptds, __VA_ARGS__)

/* start-up, errors, versions */
MU_FN(muInit, unsigned int flags);
MU_FN(muDriverGetVersion, int *version);
MU_FN(muGetErrorName, MUresult error, const char **str);
MU_FN(muGetErrorString, MUresult error, const char **str);
MU_FN(muGetProcAddress, const char *symbol, void **fn, int version, uint64_t flags);
MU_FN(muGetExportTable, const void **table, const MUuuid *id);
MU_FN(muProfilerInitialize, const char *config, const char *output, int mode);
MU_FN(muProfilerStart, void);
MU_FN(muProfilerStop, void);

/* devices */
MU_FN(muDeviceGet, MUdevice *dev, int ordinal);
MU_FN(muDeviceGetCount, int *count);
MU_FN(muDeviceGetName, char *name, int len, MUdevice dev);
MU_V2(muDeviceGetUuid, MUuuid *uuid, MUdevice dev);
MU_FN(muDeviceGetLuid, char *luid, unsigned int *node_mask, MUdevice dev);
MU_V2(muDeviceTotalMem, size_t *bytes, MUdevice dev);
MU_FN(muDeviceGetAttribute, int *value, MUdevice_attribute attr, MUdevice dev);
MU_FN(muDeviceGetByPCIBusId, MUdevice *dev, const char *id);
MU_FN(muDeviceGetPCIBusId, char *id, int len, MUdevice dev);
MU_FN(muDeviceComputeCapability, int *major, int *minor, MUdevice dev);
MU_FN(muDeviceGetProperties, MUdevprop *prop, MUdevice dev);
MU_FN(muDeviceGetTexture1DLinearMaxWidth, size_t *width, MUarray_format format, unsigned int channels, MUdevice dev);
MU_FN(muDeviceCanAccessPeer, int *can, MUdevice dev, MUdevice peer);
MU_FN(muDeviceGetP2PAttribute, int *value, MUdevice_P2PAttribute attr, MUdevice a, MUdevice b);
MU_FN(muDeviceGetDefaultMemPool, MUmemoryPool *pool, MUdevice dev);
MU_FN(muDeviceGetMemPool, MUmemoryPool *pool, MUdevice dev);
MU_FN(muDeviceSetMemPool, MUdevice dev, MUmemoryPool pool);
MU_FN(muDevicePrimaryCtxRetain, MUcontext *ctx, MUdevice dev);
MU_V2(muDevicePrimaryCtxRelease, MUdevice dev);
MU_V2(muDevicePrimaryCtxReset, MUdevice dev);
MU_V2(muDevicePrimaryCtxSetFlags, MUdevice dev, unsigned int flags);
MU_FN(muDevicePrimaryCtxGetState, MUdevice dev, unsigned int *flags, int *active);

/* contexts */
MU_V2(muCtxCreate, MUcontext *ctx, unsigned int flags, MUdevice dev);
MU_V2(muCtxDestroy, MUcontext ctx);
MU_FN(muCtxAttach, MUcontext *ctx, unsigned int flags);
MU_FN(muCtxDetach, MUcontext ctx);
MU_V2(muCtxPushCurrent, MUcontext ctx);
MU_V2(muCtxPopCurrent, MUcontext *ctx);
MU_FN(muCtxSetCurrent, MUcontext ctx);
MU_FN(muCtxGetCurrent, MUcontext *ctx);
MU_FN(muCtxGetDevice, MUdevice *dev);
MU_FN(muCtxGetFlags, unsigned int *flags);
MU_FN(muCtxGetApiVersion, MUcontext ctx, unsigned int *version);
MU_FN(muCtxSynchronize, void);
MU_FN(muCtxSetLimit, MUlimit limit, size_t value);
MU_FN(muCtxGetLimit, size_t *value, MUlimit limit);
MU_FN(muCtxGetCacheConfig, MUfunc_cache *config);
MU_FN(muCtxSetCacheConfig, MUfunc_cache config);
MU_FN(muCtxGetSharedMemConfig, MUsharedconfig *config);
MU_FN(muCtxSetSharedMemConfig, MUsharedconfig config);
MU_FN(muCtxGetStreamPriorityRange, int *least, int *greatest);
MU_FN(muCtxResetPersistingL2Cache, void);
MU_FN(muCtxEnablePeerAccess, MUcontext peer, unsigned int flags);
MU_FN(muCtxDisablePeerAccess, MUcontext peer);
MU_FN(muThreadExchangeStreamCaptureMode, MUstreamCaptureMode *mode);

/* memory */
MU_V2(muMemGetInfo, size_t *free_bytes, size_t *total);
MU_V2(muMemAlloc, MUdeviceptr *p, size_t size);
MU_V2(muMemAllocPitch, MUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned int element);
MU_V2(muMemFree, MUdeviceptr p);
MU_V2(muMemGetAddressRange, MUdeviceptr *base, size_t *size, MUdeviceptr p);
MU_V2(muMemAllocHost, void **p, size_t size);
MU_FN(muMemFreeHost, void *p);
MU_FN(muMemHostAlloc, void **p, size_t size, unsigned int flags);
MU_V2(muMemHostGetDevicePointer, MUdeviceptr *dp, void *p, unsigned int flags);
MU_FN(muMemHostGetFlags, unsigned int *flags, void *p);
MU_V2(muMemHostRegister, void *p, size_t size, unsigned int flags);
MU_FN(muMemHostUnregister, void *p);
MU_FN(muMemAllocManaged, MUdeviceptr *p, size_t size, unsigned int flags);
MU_FN(muMemAdvise, MUdeviceptr p, size_t n, MUmem_advise advice, MUdevice dev);
MU_PTSZ(muMemPrefetchAsync, MUdeviceptr p, size_t n, MUdevice dev, MUstream stream);
MU_FN(muMemRangeGetAttribute, void *data, size_t size, MUmem_range_attribute attr, MUdeviceptr p, size_t n);
MU_FN(muMemRangeGetAttributes, void **data, size_t *sizes, MUmem_range_attribute *attrs, size_t count, MUdeviceptr p,
      size_t n);
MU_FN(muPointerGetAttribute, void *data, MUpointer_attribute attr, MUdeviceptr p);
MU_FN(muPointerGetAttributes, unsigned int n, MUpointer_attribute *attrs, void **data, MUdeviceptr p);
MU_FN(muPointerSetAttribute, const void *value, MUpointer_attribute attr, MUdeviceptr p);
MU_FN(muIpcGetMemHandle, MUipcMemHandle *handle, MUdeviceptr p);
MU_V2(muIpcOpenMemHandle, MUdeviceptr *p, MUipcMemHandle handle, unsigned int flags);
MU_FN(muIpcCloseMemHandle, MUdeviceptr p);
MU_FN(muIpcGetEventHandle, MUipcEventHandle *handle, MUevent event);
MU_FN(muIpcOpenEventHandle, MUevent *event, MUipcEventHandle handle);

/* stream-ordered allocation */
MU_PTSZ(muMemAllocAsync, MUdeviceptr *p, size_t size, MUstream stream);
MU_PTSZ(muMemAllocFromPoolAsync, MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream stream);
MU_PTSZ(muMemFreeAsync, MUdeviceptr p, MUstream stream);
MU_FN(muMemPoolCreate, MUmemoryPool *pool, const MUmemPoolProps *props);
MU_FN(muMemPoolDestroy, MUmemoryPool pool);
MU_FN(muMemPoolTrimTo, MUmemoryPool pool, size_t keep);
MU_FN(muMemPoolSetAttribute, MUmemoryPool pool, MUmemPool_attribute attr, void *value);
MU_FN(muMemPoolGetAttribute, MUmemoryPool pool, MUmemPool_attribute attr, void *value);
MU_FN(muMemPoolSetAccess, MUmemoryPool pool, const MUmemAccessDesc *desc, size_t count);
MU_FN(muMemPoolGetAccess, MUmemAccess_flags *flags, MUmemoryPool pool, MUmemLocation *location);
MU_FN(muMemPoolExportToShareableHandle, void *handle, MUmemoryPool pool, MUmemAllocationHandleType type,
      unsigned long long flags);
MU_FN(muMemPoolImportFromShareableHandle, MUmemoryPool *pool, void *handle, MUmemAllocationHandleType type,
      unsigned long long flags);
MU_FN(muMemPoolExportPointer, MUmemPoolPtrExportData *data, MUdeviceptr p);
MU_FN(muMemPoolImportPointer, MUdeviceptr *p, MUmemoryPool pool, MUmemPoolPtrExportData *data);

/* virtual memory management */
MU_FN(muMemAddressReserve, MUdeviceptr *p, size_t size, size_t alignment, MUdeviceptr addr, unsigned long long flags);
MU_FN(muMemAddressFree, MUdeviceptr p, size_t size);
MU_FN(muMemCreate, MUmemGenericAllocationHandle *handle, size_t size, const MUmemAllocationProp *prop,
      unsigned long long flags);
MU_FN(muMemRelease, MUmemGenericAllocationHandle handle);
MU_FN(muMemMap, MUdeviceptr p, size_t size, size_t offset, MUmemGenericAllocationHandle handle,
      unsigned long long flags);
MU_FN(muMemUnmap, MUdeviceptr p, size_t size);
MU_FN(muMemSetAccess, MUdeviceptr p, size_t size, const MUmemAccessDesc *desc, size_t count);
MU_FN(muMemGetAccess, unsigned long long *flags, const MUmemLocation *location, MUdeviceptr p);
MU_FN(muMemExportToShareableHandle, void *out, MUmemGenericAllocationHandle handle, MUmemAllocationHandleType type,
      unsigned long long flags);
MU_FN(muMemImportFromShareableHandle, MUmemGenericAllocationHandle *handle, void *os_handle,
      MUmemAllocationHandleType type);
MU_FN(muMemGetAllocationGranularity, size_t *granularity, const MUmemAllocationProp *prop,
      MUmemAllocationGranularity_flags option);
MU_FN(muMemGetAllocationPropertiesFromHandle, MUmemAllocationProp *prop, MUmemGenericAllocationHandle handle);
MU_FN(muMemRetainAllocationHandle, MUmemGenericAllocationHandle *handle, void *addr);

/* multicast objects: no SDK is known to have them; CUDA's names, renamed */
MU_FN(muMulticastCreate, MUmemGenericAllocationHandle *handle, const MUmulticastObjectProp *prop);
MU_FN(muMulticastAddDevice, MUmemGenericAllocationHandle handle, MUdevice dev);
MU_FN(muMulticastBindMem, MUmemGenericAllocationHandle handle, size_t offset, MUmemGenericAllocationHandle memory,
      size_t memory_offset, size_t size, unsigned long long flags);
MU_FN(muMulticastBindAddr, MUmemGenericAllocationHandle handle, size_t offset, MUdeviceptr p, size_t size,
      unsigned long long flags);
MU_FN(muMulticastUnbind, MUmemGenericAllocationHandle handle, MUdevice dev, size_t offset, size_t size);
MU_FN(muMulticastGetGranularity, size_t *granularity, const MUmulticastObjectProp *prop,
      MUmulticastGranularity_flags option);

/* arrays */
MU_V2(muArrayCreate, MUarray *array, const MUSA_ARRAY_DESCRIPTOR *desc);
MU_V2(muArray3DCreate, MUarray *array, const MUSA_ARRAY3D_DESCRIPTOR *desc);
MU_V2(muArrayGetDescriptor, MUSA_ARRAY_DESCRIPTOR *desc, MUarray array);
MU_V2(muArray3DGetDescriptor, MUSA_ARRAY3D_DESCRIPTOR *desc, MUarray array);
MU_FN(muArrayDestroy, MUarray array);
MU_FN(muMipmappedArrayCreate, MUmipmappedArray *mipmap, const MUSA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels);
MU_FN(muMipmappedArrayGetLevel, MUarray *array, MUmipmappedArray mipmap, unsigned int level);
MU_FN(muMipmappedArrayDestroy, MUmipmappedArray mipmap);

/* textures and surfaces */
MU_FN(muTexObjectCreate, MUtexObject *tex, const MUSA_RESOURCE_DESC *res, const MUSA_TEXTURE_DESC *desc,
      const MUSA_RESOURCE_VIEW_DESC *view);
MU_FN(muTexObjectDestroy, MUtexObject tex);
MU_FN(muTexObjectGetResourceDesc, MUSA_RESOURCE_DESC *res, MUtexObject tex);
MU_FN(muTexObjectGetTextureDesc, MUSA_TEXTURE_DESC *desc, MUtexObject tex);
MU_FN(muTexObjectGetResourceViewDesc, MUSA_RESOURCE_VIEW_DESC *view, MUtexObject tex);
MU_FN(muSurfObjectCreate, MUsurfObject *surf, const MUSA_RESOURCE_DESC *res);
MU_FN(muSurfObjectDestroy, MUsurfObject surf);
MU_FN(muSurfObjectGetResourceDesc, MUSA_RESOURCE_DESC *res, MUsurfObject surf);

/* copies */
MU_PTDS(muMemcpy, MUdeviceptr dst, MUdeviceptr src, size_t n);
MU_PTSZ(muMemcpyAsync, MUdeviceptr dst, MUdeviceptr src, size_t n, MUstream stream);
MU_V2_PTDS(muMemcpyHtoD, MUdeviceptr dst, const void *src, size_t n);
MU_V2_PTDS(muMemcpyDtoH, void *dst, MUdeviceptr src, size_t n);
MU_V2_PTDS(muMemcpyDtoD, MUdeviceptr dst, MUdeviceptr src, size_t n);
MU_V2_PTSZ(muMemcpyHtoDAsync, MUdeviceptr dst, const void *src, size_t n, MUstream stream);
MU_V2_PTSZ(muMemcpyDtoHAsync, void *dst, MUdeviceptr src, size_t n, MUstream stream);
MU_V2_PTSZ(muMemcpyDtoDAsync, MUdeviceptr dst, MUdeviceptr src, size_t n, MUstream stream);
MU_V2_PTDS(muMemcpyHtoA, MUarray dst, size_t off, const void *src, size_t n);
MU_V2_PTDS(muMemcpyAtoH, void *dst, MUarray src, size_t off, size_t n);
MU_V2_PTDS(muMemcpyDtoA, MUarray dst, size_t off, MUdeviceptr src, size_t n);
MU_V2_PTDS(muMemcpyAtoD, MUdeviceptr dst, MUarray src, size_t off, size_t n);
MU_V2_PTDS(muMemcpyAtoA, MUarray dst, size_t dst_off, MUarray src, size_t src_off, size_t n);
MU_V2_PTSZ(muMemcpyHtoAAsync, MUarray dst, size_t off, const void *src, size_t n, MUstream stream);
MU_V2_PTSZ(muMemcpyAtoHAsync, void *dst, MUarray src, size_t off, size_t n, MUstream stream);
MU_PTDS(muMemcpyPeer, MUdeviceptr dst, MUcontext dst_ctx, MUdeviceptr src, MUcontext src_ctx, size_t n);
MU_PTSZ(muMemcpyPeerAsync, MUdeviceptr dst, MUcontext dst_ctx, MUdeviceptr src, MUcontext src_ctx, size_t n,
        MUstream stream);
MU_V2_PTDS(muMemcpy2D, const MUSA_MEMCPY2D *copy);
MU_V2_PTDS(muMemcpy2DUnaligned, const MUSA_MEMCPY2D *copy);
MU_V2_PTSZ(muMemcpy2DAsync, const MUSA_MEMCPY2D *copy, MUstream stream);
MU_V2_PTDS(muMemcpy3D, const MUSA_MEMCPY3D *copy);
MU_V2_PTSZ(muMemcpy3DAsync, const MUSA_MEMCPY3D *copy, MUstream stream);
MU_PTDS(muMemcpy3DPeer, const MUSA_MEMCPY3D_PEER *copy);
MU_PTSZ(muMemcpy3DPeerAsync, const MUSA_MEMCPY3D_PEER *copy, MUstream stream);

/* fills */
MU_V2_PTDS(muMemsetD8, MUdeviceptr p, unsigned char v, size_t n);
MU_V2_PTDS(muMemsetD16, MUdeviceptr p, unsigned short v, size_t n);
MU_V2_PTDS(muMemsetD32, MUdeviceptr p, unsigned int v, size_t n);
MU_V2_PTDS(muMemsetD2D8, MUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t h);
MU_V2_PTDS(muMemsetD2D16, MUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t h);
MU_V2_PTDS(muMemsetD2D32, MUdeviceptr p, size_t pitch, unsigned int v, size_t w, size_t h);
MU_PTSZ(muMemsetD8Async, MUdeviceptr p, unsigned char v, size_t n, MUstream stream);
MU_PTSZ(muMemsetD16Async, MUdeviceptr p, unsigned short v, size_t n, MUstream stream);
MU_PTSZ(muMemsetD32Async, MUdeviceptr p, unsigned int v, size_t n, MUstream stream);
MU_PTSZ(muMemsetD2D8Async, MUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t h, MUstream stream);
MU_PTSZ(muMemsetD2D16Async, MUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t h, MUstream stream);
MU_PTSZ(muMemsetD2D32Async, MUdeviceptr p, size_t pitch, unsigned int v, size_t w, size_t h, MUstream stream);

/* streams */
MU_FN(muStreamCreate, MUstream *stream, unsigned int flags);
MU_FN(muStreamCreateWithPriority, MUstream *stream, unsigned int flags, int priority);
MU_V2(muStreamDestroy, MUstream stream);
MU_PTSZ(muStreamQuery, MUstream stream);
MU_PTSZ(muStreamSynchronize, MUstream stream);
MU_PTSZ(muStreamWaitEvent, MUstream stream, MUevent event, unsigned int flags);
MU_PTSZ(muStreamAddCallback, MUstream stream, MUstreamCallback fn, void *user, unsigned int flags);
MU_PTSZ(muLaunchHostFunc, MUstream stream, MUhostFn fn, void *user);
MU_PTSZ(muStreamAttachMemAsync, MUstream stream, MUdeviceptr p, size_t n, unsigned int flags);
MU_PTSZ(muStreamGetPriority, MUstream stream, int *priority);
MU_PTSZ(muStreamGetFlags, MUstream stream, unsigned int *flags);
MU_PTSZ(muStreamGetCtx, MUstream stream, MUcontext *ctx);
MU_PTSZ(muStreamGetId, MUstream stream, unsigned long long *id);
MU_PTSZ(muStreamIsCapturing, MUstream stream, MUstreamCaptureStatus *status);
MU_PTSZ(muStreamCopyAttributes, MUstream dst, MUstream src);
MU_PTSZ(muStreamGetAttribute, MUstream stream, MUstreamAttrID attr, MUstreamAttrValue *value);
MU_PTSZ(muStreamSetAttribute, MUstream stream, MUstreamAttrID attr, const MUstreamAttrValue *value);
MU_PTSZ(muStreamWaitValue32, MUstream stream, MUdeviceptr p, uint32_t value, unsigned int flags);
MU_PTSZ(muStreamWaitValue64, MUstream stream, MUdeviceptr p, uint64_t value, unsigned int flags);
MU_PTSZ(muStreamWriteValue32, MUstream stream, MUdeviceptr p, uint32_t value, unsigned int flags);
MU_PTSZ(muStreamWriteValue64, MUstream stream, MUdeviceptr p, uint64_t value, unsigned int flags);
MU_PTSZ(muStreamBatchMemOp, MUstream stream, unsigned int count, MUstreamBatchMemOpParams *ops, unsigned int flags);

/* events */
MU_FN(muEventCreate, MUevent *event, unsigned int flags);
MU_V2(muEventDestroy, MUevent event);
MU_PTSZ(muEventRecord, MUevent event, MUstream stream);
MU_PTSZ(muEventRecordWithFlags, MUevent event, MUstream stream, unsigned int flags);
MU_FN(muEventQuery, MUevent event);
MU_FN(muEventSynchronize, MUevent event);
MU_FN(muEventElapsedTime, float *ms, MUevent start, MUevent end);

/* modules and functions */
MU_FN(muModuleLoad, MUmodule *module, const char *path);
MU_FN(muModuleLoadData, MUmodule *module, const void *image);
MU_FN(muModuleLoadDataEx, MUmodule *module, const void *image, unsigned int n, MUjit_option *options, void **values);
MU_FN(muModuleLoadFatBinary, MUmodule *module, const void *image);
MU_FN(muModuleUnload, MUmodule module);
MU_FN(muModuleGetFunction, MUfunction *fn, MUmodule module, const char *name);
MU_V2(muModuleGetGlobal, MUdeviceptr *p, size_t *size, MUmodule module, const char *name);
MU_FN(muFuncGetAttribute, int *value, MUfunction_attribute attr, MUfunction fn);
MU_FN(muFuncSetAttribute, MUfunction fn, MUfunction_attribute attr, int value);
MU_FN(muFuncSetCacheConfig, MUfunction fn, MUfunc_cache config);
MU_FN(muFuncSetSharedMemConfig, MUfunction fn, MUsharedconfig config);
MU_FN(muFuncGetModule, MUmodule *module, MUfunction fn);
MU_FN(muFuncGetName, const char **name, MUfunction fn);
MU_FN(muFuncGetParamInfo, MUfunction fn, size_t index, size_t *offset, size_t *size);

/* launch */
MU_PTSZ(muLaunchKernel, MUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
        unsigned int by, unsigned int bz, unsigned int shared, MUstream stream, void **params, void **extra);
MU_PTSZ(muLaunchCooperativeKernel, MUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
        unsigned int by, unsigned int bz, unsigned int shared, MUstream stream, void **params);
MU_PTSZ(muLaunchKernelEx, const MUlaunchConfig *config, MUfunction fn, void **params, void **extra);
MU_FN(muOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, MUfunction fn, int block_size, size_t dynamic_shared);
MU_FN(muOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, MUfunction fn, int block_size,
      size_t dynamic_shared, unsigned int flags);
MU_FN(muOccupancyMaxPotentialBlockSize, int *min_grid, int *block_size, MUfunction fn,
      MUoccupancyB2DSize dynamic_shared_of, size_t dynamic_shared, int block_limit);
MU_FN(muOccupancyMaxPotentialBlockSizeWithFlags, int *min_grid, int *block_size, MUfunction fn,
      MUoccupancyB2DSize dynamic_shared_of, size_t dynamic_shared, int block_limit, unsigned int flags);
MU_FN(muOccupancyAvailableDynamicSMemPerBlock, size_t *size, MUfunction fn, int blocks, int block_size);

#undef MU_FN
#undef MU_V2
#undef MU_PTSZ
#undef MU_PTDS
#undef MU_V2_PTSZ
#undef MU_V2_PTDS

#endif
