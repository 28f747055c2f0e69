/* Graphs and stream capture in the MUSA ABI, driver and runtime; included by musa.h only. Where no
 * fact about MUSA is known, layouts and argument lists are those of CUDA 12 under MUSA's names. */
#ifndef CUMU_ABI_MUSA_GRAPH_H
#define CUMU_ABI_MUSA_GRAPH_H

typedef unsigned long long MUgraphConditionalHandle;
typedef int MUgraphNodeType, MUgraphExecUpdateResult, MUgraphInstantiateResult, MUgraphMem_attribute,
    MUgraphConditionalNodeType, MUgraphChildGraphNodeOwnership;
typedef MUlaunchAttributeID MUkernelNodeAttrID;
typedef MUlaunchAttributeValue MUkernelNodeAttrValue;

/* ---- driver: parameters of nodes ------------------------------------------------------------- */

typedef struct MUSA_KERNEL_NODE_PARAMS_st {
    MUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams, **extra;
} MUSA_KERNEL_NODE_PARAMS;

typedef struct MUSA_KERNEL_NODE_PARAMS_v3_st { /* inside MUgraphNodeParams only */
    MUSA_KERNEL_NODE_PARAMS v1;
    void *kern; /* of the library API; not referenced where func is set */
    MUcontext ctx;
} MUSA_KERNEL_NODE_PARAMS_v3;

typedef struct MUSA_MEMCPY_NODE_PARAMS_st {
    int flags, reserved;
    MUcontext copyCtx;
    MUSA_MEMCPY3D copyParams;
} MUSA_MEMCPY_NODE_PARAMS;

typedef struct MUSA_MEMSET_NODE_PARAMS_st {
    MUdeviceptr dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height; /* width in elements */
} MUSA_MEMSET_NODE_PARAMS;

typedef struct MUSA_MEMSET_NODE_PARAMS_v2_st {
    MUSA_MEMSET_NODE_PARAMS v1;
    MUcontext ctx;
} MUSA_MEMSET_NODE_PARAMS_v2;

typedef struct MUSA_HOST_NODE_PARAMS_st {
    MUhostFn fn;
    void *userData;
} MUSA_HOST_NODE_PARAMS;

typedef struct MUSA_CHILD_GRAPH_NODE_PARAMS_st {
    MUgraph graph;
    MUgraphChildGraphNodeOwnership ownership;
} MUSA_CHILD_GRAPH_NODE_PARAMS;

typedef struct MUSA_EVENT_RECORD_NODE_PARAMS_st {
    MUevent event;
} MUSA_EVENT_RECORD_NODE_PARAMS, MUSA_EVENT_WAIT_NODE_PARAMS;

typedef struct MUSA_MEM_ALLOC_NODE_PARAMS_st {
    MUmemPoolProps poolProps;
    const MUmemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    MUdeviceptr dptr; /* out: where the memory will be, known before any launch */
} MUSA_MEM_ALLOC_NODE_PARAMS;

typedef struct MUSA_MEM_FREE_NODE_PARAMS_st {
    MUdeviceptr dptr;
} MUSA_MEM_FREE_NODE_PARAMS;

typedef struct MUSA_BATCH_MEM_OP_NODE_PARAMS_st {
    MUcontext ctx;
    unsigned int count;
    MUstreamBatchMemOpParams *paramArray;
    unsigned int flags;
} MUSA_BATCH_MEM_OP_NODE_PARAMS;

typedef struct MUSA_CONDITIONAL_NODE_PARAMS {
    MUgraphConditionalHandle handle;
    MUgraphConditionalNodeType type;
    unsigned int size;
    MUgraph *phGraph_out; /* out: bodies, owned by the node */
    MUcontext ctx;
} MUSA_CONDITIONAL_NODE_PARAMS;

typedef struct MUgraphNodeParams_st {
    MUgraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        MUSA_KERNEL_NODE_PARAMS_v3 kernel;
        MUSA_MEMCPY_NODE_PARAMS memcpy;
        MUSA_MEMSET_NODE_PARAMS_v2 memset;
        MUSA_HOST_NODE_PARAMS host;
        MUSA_CHILD_GRAPH_NODE_PARAMS graph;
        MUSA_EVENT_WAIT_NODE_PARAMS eventWait;
        MUSA_EVENT_RECORD_NODE_PARAMS eventRecord;
        MUSA_MEM_ALLOC_NODE_PARAMS alloc;
        MUSA_MEM_FREE_NODE_PARAMS free;
        MUSA_BATCH_MEM_OP_NODE_PARAMS memOp;
        MUSA_CONDITIONAL_NODE_PARAMS conditional;
    };
    long long reserved2;
} MUgraphNodeParams;

typedef struct MUgraphEdgeData_st {
    unsigned char from_port, to_port, type, reserved[5];
} MUgraphEdgeData;

typedef struct MUSA_GRAPH_INSTANTIATE_PARAMS_st {
    uint64_t flags;
    MUstream hUploadStream;
    MUgraphNode hErrNode_out;
    MUgraphInstantiateResult result_out;
} MUSA_GRAPH_INSTANTIATE_PARAMS;

typedef struct MUgraphExecUpdateResultInfo_st {
    MUgraphExecUpdateResult result;
    MUgraphNode errorNode, errorFromNode;
} MUgraphExecUpdateResultInfo;

_Static_assert(sizeof(MUSA_KERNEL_NODE_PARAMS) == 56, "MUSA_KERNEL_NODE_PARAMS");
_Static_assert(sizeof(MUSA_MEMSET_NODE_PARAMS) == 40, "MUSA_MEMSET_NODE_PARAMS");
_Static_assert(sizeof(MUSA_MEM_ALLOC_NODE_PARAMS) == 120, "MUSA_MEM_ALLOC_NODE_PARAMS");
_Static_assert(sizeof(MUgraphNodeParams) == 256, "MUgraphNodeParams");
_Static_assert(sizeof(MUgraphEdgeData) == 8, "MUgraphEdgeData");
_Static_assert(sizeof(MUSA_GRAPH_INSTANTIATE_PARAMS) == 32, "MUSA_GRAPH_INSTANTIATE_PARAMS");
_Static_assert(sizeof(MUgraphExecUpdateResultInfo) == 24, "MUgraphExecUpdateResultInfo");

/* ---- runtime: types and parameters ----------------------------------------------------------- */

typedef MUuserObject musaUserObject_t;
typedef MUgraphConditionalHandle musaGraphConditionalHandle;
typedef MUgraphEdgeData musaGraphEdgeData;
typedef MUSA_GRAPH_INSTANTIATE_PARAMS musaGraphInstantiateParams;
typedef MUgraphExecUpdateResultInfo musaGraphExecUpdateResultInfo;
typedef MUSA_HOST_NODE_PARAMS musaHostNodeParams;
typedef MUlaunchAttributeID musaKernelNodeAttrID;
typedef MUlaunchAttributeValue musaKernelNodeAttrValue;
typedef int musaGraphNodeType, musaGraphExecUpdateResult, musaGraphMemAttributeType, musaGraphConditionalNodeType;

typedef struct musaKernelNodeParams {
    void *func; /* a musaFunction_t */
    dim3 gridDim, blockDim;
    unsigned int sharedMemBytes;
    void **kernelParams, **extra;
} musaKernelNodeParams;

typedef struct musaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
} musaMemsetParams;

typedef struct musaMemcpyNodeParams {
    int flags, reserved[3];
    musaMemcpy3DParms copyParams;
} musaMemcpyNodeParams;

typedef struct musaMemAllocNodeParams {
    musaMemPoolProps poolProps;
    const musaMemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    void *dptr;
} musaMemAllocNodeParams;

typedef struct musaConditionalNodeParams {
    musaGraphConditionalHandle handle;
    musaGraphConditionalNodeType type;
    unsigned int size;
    musaGraph_t *phGraph_out;
} musaConditionalNodeParams;

typedef struct musaGraphNodeParams {
    musaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        musaKernelNodeParams kernel;
        musaMemcpyNodeParams memcpy;
        musaMemsetParams memset;
        musaHostNodeParams host;
        MUSA_CHILD_GRAPH_NODE_PARAMS graph;
        MUSA_EVENT_WAIT_NODE_PARAMS eventWait;
        MUSA_EVENT_RECORD_NODE_PARAMS eventRecord;
        musaMemAllocNodeParams alloc;
        struct {
            void *dptr;
        } free;
        musaConditionalNodeParams conditional;
    };
    long long reserved2;
} musaGraphNodeParams;

_Static_assert(sizeof(musaKernelNodeParams) == 56, "musaKernelNodeParams");
_Static_assert(sizeof(musaMemsetParams) == 40, "musaMemsetParams");
_Static_assert(sizeof(musaMemAllocNodeParams) == 120, "musaMemAllocNodeParams");
_Static_assert(sizeof(musaGraphNodeParams) == 256, "musaGraphNodeParams");

#pragma GCC visibility push(default)

/* ---- functions ------------------------------------------------------------------------------- */

#define FN(name, params, args) \
    MUresult mu##name params; \
    musaError_t musa##name params;
#define PTSZ(name, params, args, own) \
    FN(name, params, args) \
    FN(name##_ptsz, params, args)
#include "abi/musa_graph.def"
#undef FN
#undef PTSZ

/* The driver's own forms. muGraphInstantiate of SDK 4.0.1 and its alias take CUDA 11's five
 * arguments; musaGraphInstantiate took them up to 4.x and takes flags since 5.0. */
MUresult muGraphInstantiate(MUgraphExec *exec, MUgraph graph, MUgraphNode *error_node, char *log, size_t size);
MUresult muGraphInstantiate_v2(MUgraphExec *exec, MUgraph graph, MUgraphNode *error_node, char *log, size_t size);
MUresult muStreamBeginCapture_v2(MUstream stream, MUstreamCaptureMode mode);
MUresult muStreamBeginCapture_v2_ptsz(MUstream stream, MUstreamCaptureMode mode);
MUresult muGraphExecGetFlags(MUgraphExec exec, uint64_t *flags);
MUresult muGraphAddNode(MUgraphNode *node, MUgraph graph, const MUgraphNode *deps, size_t n, MUgraphNodeParams *params);
MUresult muGraphAddNode_v2(MUgraphNode *node, MUgraph graph, const MUgraphNode *deps, const MUgraphEdgeData *data,
                           size_t n, MUgraphNodeParams *params);
MUresult muGraphNodeSetParams(MUgraphNode node, MUgraphNodeParams *params);
MUresult muGraphExecNodeSetParams(MUgraphExec exec, MUgraphNode node, MUgraphNodeParams *params);
MUresult muGraphAddKernelNode(MUgraphNode *node, MUgraph graph, const MUgraphNode *deps, size_t n,
                              const MUSA_KERNEL_NODE_PARAMS *params);
MUresult muGraphKernelNodeGetParams(MUgraphNode node, MUSA_KERNEL_NODE_PARAMS *params);
MUresult muGraphKernelNodeSetParams(MUgraphNode node, const MUSA_KERNEL_NODE_PARAMS *params);
MUresult muGraphExecKernelNodeSetParams(MUgraphExec exec, MUgraphNode node, const MUSA_KERNEL_NODE_PARAMS *params);
MUresult muGraphAddMemcpyNode(MUgraphNode *node, MUgraph graph, const MUgraphNode *deps, size_t n,
                              const MUSA_MEMCPY3D *params, MUcontext ctx);
MUresult muGraphMemcpyNodeGetParams(MUgraphNode node, MUSA_MEMCPY3D *params);
MUresult muGraphMemcpyNodeSetParams(MUgraphNode node, const MUSA_MEMCPY3D *params);
MUresult muGraphExecMemcpyNodeSetParams(MUgraphExec exec, MUgraphNode node, const MUSA_MEMCPY3D *params, MUcontext ctx);
MUresult muGraphAddMemsetNode(MUgraphNode *node, MUgraph graph, const MUgraphNode *deps, size_t n,
                              const MUSA_MEMSET_NODE_PARAMS *params, MUcontext ctx);
MUresult muGraphMemsetNodeGetParams(MUgraphNode node, MUSA_MEMSET_NODE_PARAMS *params);
MUresult muGraphMemsetNodeSetParams(MUgraphNode node, const MUSA_MEMSET_NODE_PARAMS *params);
MUresult muGraphExecMemsetNodeSetParams(MUgraphExec exec, MUgraphNode node, const MUSA_MEMSET_NODE_PARAMS *params,
                                        MUcontext ctx);
MUresult muGraphAddMemAllocNode(MUgraphNode *node, MUgraph graph, const MUgraphNode *deps, size_t n,
                                MUSA_MEM_ALLOC_NODE_PARAMS *params);
MUresult muGraphMemAllocNodeGetParams(MUgraphNode node, MUSA_MEM_ALLOC_NODE_PARAMS *params);
MUresult muGraphAddMemFreeNode(MUgraphNode *node, MUgraph graph, const MUgraphNode *deps, size_t n, MUdeviceptr p);
MUresult muGraphMemFreeNodeGetParams(MUgraphNode node, MUdeviceptr *p);
MUresult muGraphAddBatchMemOpNode(MUgraphNode *node, MUgraph graph, const MUgraphNode *deps, size_t n,
                                  const MUSA_BATCH_MEM_OP_NODE_PARAMS *params);
MUresult muGraphBatchMemOpNodeGetParams(MUgraphNode node, MUSA_BATCH_MEM_OP_NODE_PARAMS *params);
MUresult muGraphBatchMemOpNodeSetParams(MUgraphNode node, const MUSA_BATCH_MEM_OP_NODE_PARAMS *params);
MUresult muGraphExecBatchMemOpNodeSetParams(MUgraphExec exec, MUgraphNode node,
                                            const MUSA_BATCH_MEM_OP_NODE_PARAMS *params);
MUresult muGraphConditionalHandleCreate(MUgraphConditionalHandle *handle, MUgraph graph, MUcontext ctx,
                                        unsigned int value, unsigned int flags);

/* The runtime's. */
musaError_t musaGraphInstantiate(musaGraphExec_t *exec, musaGraph_t graph, unsigned long long flags);
musaError_t musaGraphExecGetFlags(musaGraphExec_t exec, unsigned long long *flags);
musaError_t musaGraphAddNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *deps, size_t n,
                             musaGraphNodeParams *params);
musaError_t musaGraphAddNode_v2(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *deps,
                                const musaGraphEdgeData *data, size_t n, musaGraphNodeParams *params);
musaError_t musaGraphNodeSetParams(musaGraphNode_t node, musaGraphNodeParams *params);
musaError_t musaGraphExecNodeSetParams(musaGraphExec_t exec, musaGraphNode_t node, musaGraphNodeParams *params);
musaError_t musaGraphAddKernelNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *deps, size_t n,
                                   const musaKernelNodeParams *params);
musaError_t musaGraphKernelNodeGetParams(musaGraphNode_t node, musaKernelNodeParams *params);
musaError_t musaGraphKernelNodeSetParams(musaGraphNode_t node, const musaKernelNodeParams *params);
musaError_t musaGraphExecKernelNodeSetParams(musaGraphExec_t exec, musaGraphNode_t node,
                                             const musaKernelNodeParams *params);
musaError_t musaGraphAddMemcpyNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *deps, size_t n,
                                   const musaMemcpy3DParms *params);
musaError_t musaGraphMemcpyNodeGetParams(musaGraphNode_t node, musaMemcpy3DParms *params);
musaError_t musaGraphMemcpyNodeSetParams(musaGraphNode_t node, const musaMemcpy3DParms *params);
musaError_t musaGraphExecMemcpyNodeSetParams(musaGraphExec_t exec, musaGraphNode_t node,
                                             const musaMemcpy3DParms *params);
musaError_t musaGraphAddMemcpyNode1D(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *deps, size_t n,
                                     void *dst, const void *src, size_t count, musaMemcpyKind kind);
musaError_t musaGraphMemcpyNodeSetParams1D(musaGraphNode_t node, void *dst, const void *src, size_t count,
                                           musaMemcpyKind kind);
musaError_t musaGraphExecMemcpyNodeSetParams1D(musaGraphExec_t exec, musaGraphNode_t node, void *dst, const void *src,
                                               size_t count, musaMemcpyKind kind);
musaError_t musaGraphAddMemsetNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *deps, size_t n,
                                   const musaMemsetParams *params);
musaError_t musaGraphMemsetNodeGetParams(musaGraphNode_t node, musaMemsetParams *params);
musaError_t musaGraphMemsetNodeSetParams(musaGraphNode_t node, const musaMemsetParams *params);
musaError_t musaGraphExecMemsetNodeSetParams(musaGraphExec_t exec, musaGraphNode_t node,
                                             const musaMemsetParams *params);
musaError_t musaGraphAddMemAllocNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *deps, size_t n,
                                     musaMemAllocNodeParams *params);
musaError_t musaGraphMemAllocNodeGetParams(musaGraphNode_t node, musaMemAllocNodeParams *params);
musaError_t musaGraphAddMemFreeNode(musaGraphNode_t *node, musaGraph_t graph, const musaGraphNode_t *deps, size_t n,
                                    void *p);
musaError_t musaGraphMemFreeNodeGetParams(musaGraphNode_t node, void *p);
musaError_t musaGraphConditionalHandleCreate(musaGraphConditionalHandle *handle, musaGraph_t graph, unsigned int value,
                                             unsigned int flags);

#pragma GCC visibility pop

#endif
