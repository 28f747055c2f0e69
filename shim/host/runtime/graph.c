/* Graphs and stream capture: what differs from the driver's functions in more than the name; the
 * others are forwarded by the table that both share. */
#include <string.h>

#include "host/runtime/copy.h"

#define OWN(stream) ((stream) ? (stream) : MU_STREAM_PER_THREAD)
#define FN(name, params, args) \
    musaError_t musa##name params { RETURN_END(mu##name args); }
#define PTSZ(name, params, args, own) \
    FN(name, params, args) \
    musaError_t musa##name##_ptsz params { RETURN_END(mu##name own); }
#include "abi/musa_graph.def"
#undef FN
#undef PTSZ

musaError_t musaGraphInstantiate(musaGraphExec_t *exec, musaGraph_t g, unsigned long long flags)
{
    RETURN_END(muGraphInstantiateWithFlags(exec, g, flags));
}

musaError_t musaGraphExecGetFlags(musaGraphExec_t exec, unsigned long long *flags)
{
    uint64_t got = 0;
    MUresult r = rt_enter();
    if (!r)
        r = flags ? muGraphExecGetFlags(exec, &got) : MUSA_ERROR_INVALID_VALUE;
    if (!r)
        *flags = got;
    return rt_end(r);
}

musaError_t musaGraphConditionalHandleCreate(musaGraphConditionalHandle *handle, musaGraph_t g, unsigned int value,
                                             unsigned int flags)
{
    RETURN_END(muGraphConditionalHandleCreate(handle, g, NULL, value, flags));
}

/* ---- copies ---------------------------------------------------------------------------------- */

static MUresult plan_1d(MUSA_MEMCPY3D *m, void *dst, const void *src, size_t n, musaMemcpyKind kind)
{
    if (!rt_kind_valid(kind))
        return musaErrorInvalidMemcpyDirection;
    *m = (MUSA_MEMCPY3D){.srcMemoryType = rt_source_type(kind),
                         .srcHost = src,
                         .srcDevice = rt_dev(src),
                         .srcPitch = n,
                         .dstMemoryType = rt_target_type(kind),
                         .dstHost = dst,
                         .dstDevice = rt_dev(dst),
                         .dstPitch = n,
                         .WidthInBytes = n,
                         .Height = 1,
                         .Depth = 1};
    return MUSA_SUCCESS;
}

/* Back from the driver's descriptor. */
static MUresult parms_of(const MUSA_MEMCPY3D *m, musaMemcpy3DParms *p)
{
    bool from_array = m->srcMemoryType == MU_MEMORYTYPE_ARRAY, to_array = m->dstMemoryType == MU_MEMORYTYPE_ARRAY;
    size_t src = from_array ? rt_element_size((musaArray_const_t)m->srcArray) : 1,
           dst = to_array ? rt_element_size((musaArray_const_t)m->dstArray) : 1;
    if (!src || !dst)
        return MUSA_ERROR_INVALID_HANDLE;
    bool host_src = m->srcMemoryType == MU_MEMORYTYPE_HOST, host_dst = m->dstMemoryType == MU_MEMORYTYPE_HOST;
    bool any = m->srcMemoryType == MU_MEMORYTYPE_UNIFIED || m->dstMemoryType == MU_MEMORYTYPE_UNIFIED;
    *p = (musaMemcpy3DParms){
        .srcPos = {m->srcXInBytes / src, m->srcY, m->srcZ},
        .dstPos = {m->dstXInBytes / dst, m->dstY, m->dstZ},
        .extent = {m->WidthInBytes / (from_array ? src : dst), m->Height, m->Depth},
        .kind = any        ? musaMemcpyDefault
                : host_src ? host_dst ? musaMemcpyHostToHost : musaMemcpyHostToDevice
                : host_dst ? musaMemcpyDeviceToHost
                           : musaMemcpyDeviceToDevice,
    };
    if (from_array)
        p->srcArray = (musaArray_t)m->srcArray;
    else
        p->srcPtr = (musaPitchedPtr){host_src ? (void *)(uintptr_t)m->srcHost : (void *)(uintptr_t)m->srcDevice,
                                     m->srcPitch, m->WidthInBytes, m->srcHeight ? m->srcHeight : m->Height};
    if (to_array)
        p->dstArray = (musaArray_t)m->dstArray;
    else
        p->dstPtr = (musaPitchedPtr){host_dst ? m->dstHost : (void *)(uintptr_t)m->dstDevice, m->dstPitch,
                                     m->WidthInBytes, m->dstHeight ? m->dstHeight : m->Height};
    return MUSA_SUCCESS;
}

/* Enters, makes the descriptor, and does the call with it. */
#define WITH_DESCRIPTOR(plan, call) \
    do { \
        MUSA_MEMCPY3D m; \
        MUresult r_ = rt_enter(); \
        if (!r_) \
            r_ = plan; \
        return rt_end(r_ ? r_ : (call)); \
    } while (0)

musaError_t musaGraphAddMemcpyNode(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps, size_t n,
                                   const musaMemcpy3DParms *p)
{
    WITH_DESCRIPTOR(rt_plan_3d(&m, p), muGraphAddMemcpyNode(node, g, deps, n, &m, NULL));
}

musaError_t musaGraphMemcpyNodeSetParams(musaGraphNode_t node, const musaMemcpy3DParms *p)
{
    WITH_DESCRIPTOR(rt_plan_3d(&m, p), muGraphMemcpyNodeSetParams(node, &m));
}

musaError_t musaGraphExecMemcpyNodeSetParams(musaGraphExec_t exec, musaGraphNode_t node, const musaMemcpy3DParms *p)
{
    WITH_DESCRIPTOR(rt_plan_3d(&m, p), muGraphExecMemcpyNodeSetParams(exec, node, &m, NULL));
}

musaError_t musaGraphMemcpyNodeGetParams(musaGraphNode_t node, musaMemcpy3DParms *p)
{
    WITH_DESCRIPTOR(p ? muGraphMemcpyNodeGetParams(node, &m) : MUSA_ERROR_INVALID_VALUE, parms_of(&m, p));
}

musaError_t musaGraphAddMemcpyNode1D(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps, size_t n,
                                     void *dst, const void *src, size_t count, musaMemcpyKind kind)
{
    WITH_DESCRIPTOR(plan_1d(&m, dst, src, count, kind), muGraphAddMemcpyNode(node, g, deps, n, &m, NULL));
}

musaError_t musaGraphMemcpyNodeSetParams1D(musaGraphNode_t node, void *dst, const void *src, size_t count,
                                           musaMemcpyKind kind)
{
    WITH_DESCRIPTOR(plan_1d(&m, dst, src, count, kind), muGraphMemcpyNodeSetParams(node, &m));
}

musaError_t musaGraphExecMemcpyNodeSetParams1D(musaGraphExec_t exec, musaGraphNode_t node, void *dst, const void *src,
                                               size_t count, musaMemcpyKind kind)
{
    WITH_DESCRIPTOR(plan_1d(&m, dst, src, count, kind), muGraphExecMemcpyNodeSetParams(exec, node, &m, NULL));
}

/* ---- structs that are the driver's by another name ------------------------------------------- */

_Static_assert(offsetof(musaKernelNodeParams, sharedMemBytes) == offsetof(MUSA_KERNEL_NODE_PARAMS, sharedMemBytes) &&
                   offsetof(musaKernelNodeParams, extra) == offsetof(MUSA_KERNEL_NODE_PARAMS, extra),
               "kernel nodes");
_Static_assert(offsetof(musaMemsetParams, height) == offsetof(MUSA_MEMSET_NODE_PARAMS, height), "memset nodes");
_Static_assert(offsetof(musaMemAllocNodeParams, dptr) == offsetof(MUSA_MEM_ALLOC_NODE_PARAMS, dptr),
               "allocation nodes");

static const MUSA_KERNEL_NODE_PARAMS *kernel(const musaKernelNodeParams *p) { return (const void *)p; }
static const MUSA_MEMSET_NODE_PARAMS *fill(const musaMemsetParams *p) { return (const void *)p; }

musaError_t musaGraphAddKernelNode(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps, size_t n,
                                   const musaKernelNodeParams *p)
{
    RETURN_END(rt_of_function(muGraphAddKernelNode(node, g, deps, n, kernel(p))));
}

musaError_t musaGraphKernelNodeGetParams(musaGraphNode_t node, musaKernelNodeParams *p)
{
    RETURN_END(muGraphKernelNodeGetParams(node, (void *)p));
}

musaError_t musaGraphKernelNodeSetParams(musaGraphNode_t node, const musaKernelNodeParams *p)
{
    RETURN_END(rt_of_function(muGraphKernelNodeSetParams(node, kernel(p))));
}

musaError_t musaGraphExecKernelNodeSetParams(musaGraphExec_t exec, musaGraphNode_t node, const musaKernelNodeParams *p)
{
    RETURN_END(rt_of_function(muGraphExecKernelNodeSetParams(exec, node, kernel(p))));
}

musaError_t musaGraphAddMemsetNode(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps, size_t n,
                                   const musaMemsetParams *p)
{
    RETURN_END(muGraphAddMemsetNode(node, g, deps, n, fill(p), NULL));
}

musaError_t musaGraphMemsetNodeGetParams(musaGraphNode_t node, musaMemsetParams *p)
{
    RETURN_END(muGraphMemsetNodeGetParams(node, (void *)p));
}

musaError_t musaGraphMemsetNodeSetParams(musaGraphNode_t node, const musaMemsetParams *p)
{
    RETURN_END(muGraphMemsetNodeSetParams(node, fill(p)));
}

musaError_t musaGraphExecMemsetNodeSetParams(musaGraphExec_t exec, musaGraphNode_t node, const musaMemsetParams *p)
{
    RETURN_END(muGraphExecMemsetNodeSetParams(exec, node, fill(p), NULL));
}

musaError_t musaGraphAddMemAllocNode(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps, size_t n,
                                     musaMemAllocNodeParams *p)
{
    RETURN_END(muGraphAddMemAllocNode(node, g, deps, n, (void *)p));
}

musaError_t musaGraphMemAllocNodeGetParams(musaGraphNode_t node, musaMemAllocNodeParams *p)
{
    RETURN_END(muGraphMemAllocNodeGetParams(node, (void *)p));
}

musaError_t musaGraphAddMemFreeNode(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps, size_t n,
                                    void *p)
{
    RETURN_END(muGraphAddMemFreeNode(node, g, deps, n, rt_dev(p)));
}

musaError_t musaGraphMemFreeNodeGetParams(musaGraphNode_t node, void *p)
{
    RETURN_END(muGraphMemFreeNodeGetParams(node, p));
}

/* ---- nodes of any type ----------------------------------------------------------------------- */

/* The driver's struct for the runtime's: only copies differ, and contexts are the current one. */
static MUresult params_of(const musaGraphNodeParams *p, MUgraphNodeParams *d)
{
    if (!p)
        return MUSA_ERROR_INVALID_VALUE;
    *d = (MUgraphNodeParams){.type = p->type, .reserved2 = p->reserved2};
    memcpy(d->reserved0, p->reserved0, sizeof d->reserved0);
    if (p->type == MU_GRAPH_NODE_TYPE_MEMCPY)
        return rt_plan_3d(&d->memcpy.copyParams, &p->memcpy.copyParams);
    size_t size = p->type == MU_GRAPH_NODE_TYPE_KERNEL        ? sizeof p->kernel
                  : p->type == MU_GRAPH_NODE_TYPE_MEMSET      ? sizeof p->memset
                  : p->type == MU_GRAPH_NODE_TYPE_CONDITIONAL ? sizeof p->conditional
                                                              : sizeof p->alloc;
    memcpy(d->reserved1, p->reserved1, size);
    return MUSA_SUCCESS;
}

static MUresult add(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps, const musaGraphEdgeData *data,
                    size_t n, musaGraphNodeParams *p)
{
    MUgraphNodeParams d;
    MUresult r = params_of(p, &d);
    if (!r)
        r = rt_of_function(muGraphAddNode_v2(node, g, deps, data, n, &d));
    if (!r && p->type == MU_GRAPH_NODE_TYPE_MEM_ALLOC)
        p->alloc.dptr = (void *)(uintptr_t)d.alloc.dptr;
    if (!r && p->type == MU_GRAPH_NODE_TYPE_CONDITIONAL)
        p->conditional.phGraph_out = d.conditional.phGraph_out;
    return r;
}

musaError_t musaGraphAddNode_v2(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps,
                                const musaGraphEdgeData *data, size_t n, musaGraphNodeParams *p)
{
    RETURN_END(add(node, g, deps, data, n, p));
}

musaError_t musaGraphAddNode(musaGraphNode_t *node, musaGraph_t g, const musaGraphNode_t *deps, size_t n,
                             musaGraphNodeParams *p)
{
    RETURN_END(add(node, g, deps, NULL, n, p));
}

static MUresult set(musaGraphExec_t exec, musaGraphNode_t node, const musaGraphNodeParams *p, bool in_exec)
{
    MUgraphNodeParams d;
    MUresult r = params_of(p, &d);
    if (r)
        return r;
    return rt_of_function(in_exec ? muGraphExecNodeSetParams(exec, node, &d) : muGraphNodeSetParams(node, &d));
}

musaError_t musaGraphNodeSetParams(musaGraphNode_t node, musaGraphNodeParams *p)
{
    RETURN_END(set(NULL, node, p, false));
}

musaError_t musaGraphExecNodeSetParams(musaGraphExec_t exec, musaGraphNode_t node, musaGraphNodeParams *p)
{
    RETURN_END(set(exec, node, p, true));
}
