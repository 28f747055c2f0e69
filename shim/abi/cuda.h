/* The CUDA ABI as wrappers see it: handles and the structs that cross the border, per CUDA version
 * where they differ. Enumerators come from mapping/types by way of cuda_enums.h; every enum is an int in
 * signatures, as in the ABI. Written from the layouts of mapping/facts/cuda.md (S1 to S6); no NVIDIA
 * header is included. */
#ifndef CUMU_ABI_CUDA_H
#define CUMU_ABI_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "abi/dim3.h"
#include "cuda_enums.h"

/* ---- handles -------------------------------------------------------------------------------- */

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;

/* Objects of the libraries below: the MUSA handle itself. */
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef CUstream cudaStream_t;
typedef struct CUevent_st *CUevent;

/* Objects of the shim (kernel/kernel.h): one struct behind all names of a module, one behind all names of a kernel. */
typedef struct cumu_module *CUmodule;
typedef struct cumu_module *CUlibrary;
typedef struct cumu_module *cudaLibrary_t;
typedef struct cumu_func *CUfunction;
typedef struct cumu_func *CUkernel;
typedef struct cumu_func *cudaFunction_t;
typedef struct cumu_func *cudaKernel_t;
typedef struct cumu_link *CUlinkState;

#define CUMU_STREAM_LEGACY ((CUstream)0x1)
#define CUMU_STREAM_PER_THREAD ((CUstream)0x2)

/* Ends and tags of cuLaunchKernel's `extra` list. */
#define CUMU_LAUNCH_PARAM_END ((void *)0x00)
#define CUMU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define CUMU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)

/* ---- structs -------------------------------------------------------------------------------- */

typedef struct { /* by value in one register: type in the low half */
    int type, id;
} cudaMemLocation, CUmemLocation;

typedef struct {
    int srcAccessOrder;
    CUmemLocation srcLocHint, dstLocHint;
    unsigned flags;
} cudaMemcpyAttributes, CUmemcpyAttributes;

typedef struct {
    int type;
    union {
        struct {
            CUdeviceptr ptr;
            size_t rowLength, layerHeight; /* in elements, 0: as the extent */
            CUmemLocation locHint;
        } ptr;
        struct {
            struct MUarray_st *array;
            size_t x, y, z; /* in elements */
        } array;
    } op;
} cudaMemcpy3DOperand, CUmemcpy3DOperand;

typedef struct {
    cudaMemcpy3DOperand src, dst;
    size_t width, height, depth; /* in elements: those of an array, else bytes */
    int srcAccessOrder;
    unsigned flags;
} cudaMemcpy3DBatchOp, CUDA_MEMCPY3D_BATCH_OP;
_Static_assert(sizeof(cudaMemcpyAttributes) == 24 && sizeof(cudaMemcpy3DBatchOp) == 112, "batches");

typedef union {
    char pad[64];
    int cooperative, priority, programmaticStreamSerializationAllowed;
    struct {
        unsigned x, y, z;
    } clusterDim;
} cuda_launch_attr_value;

typedef struct {
    int id;
    char pad[4];
    cuda_launch_attr_value val;
} cudaLaunchAttribute, CUlaunchAttribute;

typedef struct {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

/* CUDA 11 programs hold the first 56 bytes only. */
typedef struct {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
        preferredShmemCarveout;
    int clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth,
        clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed;
    int reserved[16];
} cudaFuncAttributes;
enum { CUMU_FUNC_ATTRIBUTES_V11 = 56 };

/* CUDA 11 and 12 programs hold the first 24 bytes only. */
typedef struct {
    int type, device;
    void *devicePointer, *hostPointer;
    long reserved[8];
} cudaPointerAttributes;
enum { CUMU_POINTER_ATTRIBUTES_V12 = 24 };

/* Descriptors of textures: CUDA 13 programs hold more than these bytes, the tail reserved. */
enum { CUMU_RESOURCE_DESC_V13 = 144, CUMU_RESOURCE_VIEW_DESC_V13 = 112 };

/* ---- graphs ---------------------------------------------------------------------------------- */

/* MUSA's own handles. */
typedef void *cudaGraph_t, *cudaGraphNode_t, *cudaGraphExec_t;

/* cudaKernelNodeParams, and CUDA_KERNEL_NODE_PARAMS up to CUDA 11 and inside cudaGraphNodeParams. */
typedef struct {
    void *func;
    dim3 grid, block;
    unsigned shared;
    void **params, **extra;
} cudaKernelNodeParams;

typedef struct { /* CUDA_KERNEL_NODE_PARAMS since 12; kern and ctx count where func is NULL */
    cudaKernelNodeParams v1;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

/* cudaGraphNodeParams and CUgraphNodeParams: what the shim reads of them. */
typedef struct {
    int type, reserved0[3];
    union {
        long long words[29];
        CUDA_KERNEL_NODE_PARAMS kernel; /* the runtime's form ends after v1 */
        struct {
            cudaGraph_t graph;
        } child;
        struct {
            unsigned long long handle;
            int type;
            unsigned size;
            cudaGraph_t *bodies;
        } conditional;
    };
    long long reserved2;
} cudaGraphNodeParams;

typedef struct {
    int result;
    cudaGraphNode_t error_node, error_from;
} cudaGraphExecUpdateResultInfo;

/* Up to CUDA 11.7 programs hold the first 32 bytes of a cuda_launch_attr_value only. */
enum { CUMU_LAUNCH_ATTR_V11 = 32 };

_Static_assert(sizeof(cudaKernelNodeParams) == 56, "cudaKernelNodeParams");
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72, "CUDA_KERNEL_NODE_PARAMS");
_Static_assert(sizeof(cudaGraphNodeParams) == 256, "cudaGraphNodeParams");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == 24, "cudaGraphExecUpdateResultInfo");
_Static_assert(sizeof(cudaLaunchAttribute) == 72, "cudaLaunchAttribute");
_Static_assert(sizeof(cudaLaunchConfig_t) == 56, "cudaLaunchConfig_t");
_Static_assert(sizeof(CUlaunchConfig) == 56, "CUlaunchConfig");
_Static_assert(sizeof(cudaFuncAttributes) == 144, "cudaFuncAttributes");
_Static_assert(offsetof(cudaFuncAttributes, clusterDimMustBeSet) == 52, "cudaFuncAttributes");
_Static_assert(sizeof(cudaPointerAttributes) == 88, "cudaPointerAttributes");

#endif
