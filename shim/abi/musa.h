/* The MUSA ABI as seen from C: handles, structs and prototypes of both libraries. It is all that
 * the shim and the CPU libraries share. Enumerators come from mapping/types by way of musa_enums.h;
 * every enum is an int in signatures, as in the ABI. Layouts follow CUDA's. */
#ifndef CUMU_ABI_MUSA_H
#define CUMU_ABI_MUSA_H

#include <stddef.h>
#include <stdint.h>

#include "abi/dim3.h"
#include "musa_enums.h"

/* ---- driver: handles and enums -------------------------------------------------------------- */

typedef int MUresult;
typedef int MUdevice;
typedef unsigned long long MUdeviceptr;
typedef struct MUctx_st *MUcontext;
typedef struct MUmod_st *MUmodule;
typedef struct MUfunc_st *MUfunction;
typedef struct MUstream_st *MUstream;
typedef struct MUevent_st *MUevent;
typedef struct MUarray_st *MUarray;
typedef struct MUmipmappedArray_st *MUmipmappedArray;
typedef struct MUmemPoolHandle_st *MUmemoryPool;
typedef struct MUgraph_st *MUgraph;
typedef struct MUgraphNode_st *MUgraphNode;
typedef struct MUgraphExec_st *MUgraphExec;
typedef struct MUuserObject_st *MUuserObject;
typedef unsigned long long MUtexObject, MUsurfObject, MUmemGenericAllocationHandle;

typedef int MUdevice_attribute, MUdevice_P2PAttribute, MUfunction_attribute, MUfunc_cache, MUlimit, MUsharedconfig,
    MUjit_option, MUpointer_attribute, MUmem_advise, MUmem_range_attribute, MUmemPool_attribute, MUstreamCaptureMode,
    MUstreamCaptureStatus, MUarray_format, MUmemorytype, MUlaunchAttributeID, MUmemLocationType, MUmemAllocationType,
    MUmemAllocationHandleType, MUmemAccess_flags, MUmemAllocationGranularity_flags, MUmemOperationType, MUcomputemode,
    MUresourcetype, MUresourceViewFormat, MUaddress_mode, MUfilter_mode, MUmulticastGranularity_flags;
typedef MUlaunchAttributeID MUstreamAttrID;

typedef struct MUuuid_st {
    char bytes[16];
} MUuuid;

typedef void (*MUhostFn)(void *user);
typedef void (*MUstreamCallback)(MUstream stream, MUresult status, void *user);
typedef size_t (*MUoccupancyB2DSize)(int block_size);

/* Sentinels: a stream or a launch-parameter list that is no object. */
#define MU_STREAM_LEGACY ((MUstream)0x1)
#define MU_STREAM_PER_THREAD ((MUstream)0x2)
#define MU_LAUNCH_PARAM_END ((void *)0x00)
#define MU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define MU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)

#define MU_IPC_HANDLE_SIZE 64
typedef struct MUdevprop_st { /* of muDeviceGetProperties, long superseded by attributes */
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], sharedMemPerBlock, totalConstantMemory, SIMDWidth,
        memPitch, regsPerBlock, clockRate, textureAlign;
} MUdevprop;

typedef struct MUipcMemHandle_st {
    char reserved[MU_IPC_HANDLE_SIZE];
} MUipcMemHandle;
typedef struct MUipcEventHandle_st {
    char reserved[MU_IPC_HANDLE_SIZE];
} MUipcEventHandle;

/* ---- driver: memory ------------------------------------------------------------------------- */

typedef struct MUSA_ARRAY_DESCRIPTOR_st {
    size_t Width, Height;
    MUarray_format Format;
    unsigned int NumChannels;
} MUSA_ARRAY_DESCRIPTOR;

typedef struct MUSA_ARRAY3D_DESCRIPTOR_st {
    size_t Width, Height, Depth;
    MUarray_format Format;
    unsigned int NumChannels, Flags;
} MUSA_ARRAY3D_DESCRIPTOR;

/* ---- driver: textures and surfaces ---------------------------------------------------------- */

typedef struct MUSA_RESOURCE_DESC_st {
    MUresourcetype resType;
    union {
        struct {
            MUarray hArray;
        } array;
        struct {
            MUmipmappedArray hMipmappedArray;
        } mipmap;
        struct {
            MUdeviceptr devPtr;
            MUarray_format format;
            unsigned int numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            MUdeviceptr devPtr;
            MUarray_format format;
            unsigned int numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        struct {
            int reserved[32];
        } reserved;
    } res;
    unsigned int flags;
} MUSA_RESOURCE_DESC;

typedef struct MUSA_TEXTURE_DESC_st {
    MUaddress_mode addressMode[3];
    MUfilter_mode filterMode;
    unsigned int flags, maxAnisotropy;
    MUfilter_mode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
} MUSA_TEXTURE_DESC;

typedef struct MUSA_RESOURCE_VIEW_DESC_st {
    MUresourceViewFormat format;
    size_t width, height, depth;
    unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer, reserved[16];
} MUSA_RESOURCE_VIEW_DESC;

_Static_assert(sizeof(MUSA_RESOURCE_DESC) == 144, "MUSA_RESOURCE_DESC");
_Static_assert(sizeof(MUSA_TEXTURE_DESC) == 104, "MUSA_TEXTURE_DESC");
_Static_assert(sizeof(MUSA_RESOURCE_VIEW_DESC) == 112, "MUSA_RESOURCE_VIEW_DESC");

typedef struct MUSA_MEMCPY2D_st {
    size_t srcXInBytes, srcY;
    MUmemorytype srcMemoryType;
    const void *srcHost;
    MUdeviceptr srcDevice;
    MUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    MUmemorytype dstMemoryType;
    void *dstHost;
    MUdeviceptr dstDevice;
    MUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} MUSA_MEMCPY2D;

typedef struct MUSA_MEMCPY3D_st {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    MUmemorytype srcMemoryType;
    const void *srcHost;
    MUdeviceptr srcDevice;
    MUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    MUmemorytype dstMemoryType;
    void *dstHost;
    MUdeviceptr dstDevice;
    MUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} MUSA_MEMCPY3D;

typedef struct MUSA_MEMCPY3D_PEER_st { /* contexts instead of MUSA_MEMCPY3D's reserved words */
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    MUmemorytype srcMemoryType;
    const void *srcHost;
    MUdeviceptr srcDevice;
    MUarray srcArray;
    MUcontext srcContext;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    MUmemorytype dstMemoryType;
    void *dstHost;
    MUdeviceptr dstDevice;
    MUarray dstArray;
    MUcontext dstContext;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} MUSA_MEMCPY3D_PEER;

typedef struct MUmemLocation_st {
    MUmemLocationType type;
    int id;
} MUmemLocation;

typedef struct MUmemAccessDesc_st {
    MUmemLocation location;
    MUmemAccess_flags flags;
} MUmemAccessDesc;

typedef struct MUmulticastObjectProp_st {
    unsigned int numDevices;
    size_t size;
    unsigned long long handleTypes, flags;
} MUmulticastObjectProp;

typedef struct MUmemPoolProps_st {
    MUmemAllocationType allocType;
    MUmemAllocationHandleType handleTypes;
    MUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned char reserved[56];
} MUmemPoolProps;

typedef struct MUmemPoolPtrExportData_st {
    unsigned char reserved[64];
} MUmemPoolPtrExportData;

typedef struct MUmemAllocationProp_st {
    MUmemAllocationType type;
    MUmemAllocationHandleType requestedHandleTypes;
    MUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType, gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} MUmemAllocationProp;

typedef union MUstreamBatchMemOpParams_union {
    int operation; /* MU_STREAM_MEM_OP_*: first in every form */
    struct {
        int operation;
        MUdeviceptr address;
        uint64_t value64; /* the low half, of a 32-bit operation */
        unsigned int flags;
        MUdeviceptr alias;
    } value; /* to wait for or to write */
    uint64_t pad[6];
} MUstreamBatchMemOpParams;

/* ---- driver: launch ------------------------------------------------------------------------- */

typedef union MUlaunchAttributeValue_union {
    char pad[64];
    struct {
        void *base_ptr;
        size_t num_bytes;
        float hitRatio;
        int hitProp, missProp;
    } accessPolicyWindow;
    int cooperative, syncPolicy, priority, programmaticStreamSerializationAllowed;
    struct {
        unsigned int x, y, z;
    } clusterDim;
} MUlaunchAttributeValue;
typedef MUlaunchAttributeValue MUstreamAttrValue;

typedef struct MUlaunchAttribute_st {
    MUlaunchAttributeID id;
    char pad[4];
    MUlaunchAttributeValue value;
} MUlaunchAttribute;

typedef struct MUlaunchConfig_st {
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    MUstream hStream;
    MUlaunchAttribute *attrs;
    unsigned int numAttrs;
} MUlaunchConfig;

/* ---- runtime: handles and structs ----------------------------------------------------------- */

typedef int musaError_t;
typedef MUstream musaStream_t;
typedef MUevent musaEvent_t;
typedef MUfunction musaFunction_t;
typedef MUmemoryPool musaMemPool_t;
typedef struct musaArray *musaArray_t; /* the driver's MUarray under the runtime's name */
typedef const struct musaArray *musaArray_const_t;
typedef struct musaMipmappedArray *musaMipmappedArray_t;
typedef MUgraph musaGraph_t;
typedef MUgraphNode musaGraphNode_t;
typedef MUgraphExec musaGraphExec_t;
typedef MUhostFn musaHostFn_t;
typedef void (*musaStreamCallback_t)(musaStream_t stream, musaError_t status, void *user);
typedef MUuuid musaUUID_t;
typedef MUipcMemHandle musaIpcMemHandle_t;
typedef MUipcEventHandle musaIpcEventHandle_t;
typedef MUmemLocation musaMemLocation;
typedef MUmemAccessDesc musaMemAccessDesc;
typedef MUmemPoolProps musaMemPoolProps;
typedef MUmemPoolPtrExportData musaMemPoolPtrExportData;
typedef MUlaunchAttribute musaLaunchAttribute;
typedef MUlaunchAttributeValue musaLaunchAttributeValue, musaStreamAttrValue;

typedef int musaMemcpyKind, musaMemoryType, musaDeviceAttr, musaDeviceP2PAttr, musaFuncCache, musaLimit,
    musaSharedMemConfig, musaFuncAttribute, musaMemoryAdvise, musaMemRangeAttribute, musaMemPoolAttr,
    musaStreamCaptureMode, musaStreamCaptureStatus, musaChannelFormatKind, musaStreamAttrID,
    musaMemAllocationHandleType, musaMemAccessFlags;

#define musaStreamLegacy MU_STREAM_LEGACY
#define musaStreamPerThread MU_STREAM_PER_THREAD

typedef struct musaExtent {
    size_t width, height, depth;
} musaExtent;

typedef struct musaPos {
    size_t x, y, z;
} musaPos;

typedef struct musaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
} musaPitchedPtr;

typedef struct musaChannelFormatDesc {
    int x, y, z, w;
    musaChannelFormatKind f;
} musaChannelFormatDesc;

typedef unsigned long long musaTextureObject_t, musaSurfaceObject_t;
typedef const struct musaMipmappedArray *musaMipmappedArray_const_t;
typedef int musaResourceType, musaResourceViewFormat, musaTextureAddressMode, musaTextureFilterMode,
    musaTextureReadMode;

typedef struct musaResourceDesc {
    musaResourceType resType;
    union {
        struct {
            musaArray_t array;
        } array;
        struct {
            musaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            musaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            musaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
} musaResourceDesc;

typedef struct musaTextureDesc { /* what the entry points without _v2 take */
    musaTextureAddressMode addressMode[3];
    musaTextureFilterMode filterMode;
    musaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    musaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization;
} musaTextureDesc;

typedef struct musaTextureDesc_v2 {
    musaTextureDesc v1;
    int seamlessCubemap;
} musaTextureDesc_v2;

typedef struct musaResourceViewDesc {
    musaResourceViewFormat format;
    size_t width, height, depth;
    unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
} musaResourceViewDesc;

_Static_assert(sizeof(musaResourceDesc) == 64, "musaResourceDesc");
_Static_assert(sizeof(musaTextureDesc) == 68, "musaTextureDesc");
_Static_assert(sizeof(musaTextureDesc_v2) == 72, "musaTextureDesc_v2");
_Static_assert(sizeof(musaResourceViewDesc) == 48, "musaResourceViewDesc");

typedef struct musaMemcpy3DParms {
    musaArray_t srcArray;
    musaPos srcPos;
    musaPitchedPtr srcPtr;
    musaArray_t dstArray;
    musaPos dstPos;
    musaPitchedPtr dstPtr;
    musaExtent extent;
    musaMemcpyKind kind;
} musaMemcpy3DParms;

typedef struct musaMemcpy3DPeerParms {
    musaArray_t srcArray;
    musaPos srcPos;
    musaPitchedPtr srcPtr;
    int srcDevice;
    musaArray_t dstArray;
    musaPos dstPos;
    musaPitchedPtr dstPtr;
    int dstDevice;
    musaExtent extent;
} musaMemcpy3DPeerParms;

typedef struct musaPointerAttributes {
    musaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
} musaPointerAttributes;

typedef struct musaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
        preferredShmemCarveout;
} musaFuncAttributes;

typedef struct musaLaunchConfig_st {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    musaStream_t stream;
    musaLaunchAttribute *attrs;
    unsigned int numAttrs;
} musaLaunchConfig_t;

typedef struct musaDeviceProp { /* the layout behind the plain name: CUDA 11's, 728 bytes */
    char name[256];
    musaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2],
        maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap,
        maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3],
        maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
        unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize,
        maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
        singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
        canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
        accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
} musaDeviceProp;

_Static_assert(sizeof(musaDeviceProp) == 728, "musaDeviceProp");
_Static_assert(offsetof(musaDeviceProp, surfaceAlignment) == 568, "musaDeviceProp");
_Static_assert(offsetof(musaDeviceProp, sharedMemPerBlockOptin) == 696, "musaDeviceProp");
_Static_assert(sizeof(musaMemcpy3DParms) == 160, "musaMemcpy3DParms");
_Static_assert(sizeof(musaMemcpy3DPeerParms) == 168, "musaMemcpy3DPeerParms");
_Static_assert(sizeof(musaFuncAttributes) == 56, "musaFuncAttributes");
_Static_assert(sizeof(musaLaunchConfig_t) == 56 && sizeof(MUlaunchConfig) == 56, "launch configs");
_Static_assert(sizeof(MUstreamBatchMemOpParams) == 48 && sizeof(MUmemAllocationProp) == 32, "memory");
_Static_assert(sizeof(MUlaunchAttribute) == 72 && sizeof(MUmemPoolProps) == 88, "attributes");
_Static_assert(sizeof(MUSA_MEMCPY2D) == 128 && sizeof(MUSA_MEMCPY3D) == 200, "copy descriptors");

/* What is declared here is what the libraries export (everything else is built hidden). */
#pragma GCC visibility push(default)
#include "abi/musa_driver.h"
#include "abi/musa_runtime.h"
#pragma GCC visibility pop
#include "abi/musa_graph.h"

#endif
