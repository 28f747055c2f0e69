/* Entry points that make graph nodes and get and set their parameters and attributes. */
#include <string.h>

#include "host/driver/graph.h"

static MUresult add(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data, size_t n,
                    MUgraphNodeParams *p)
{
    if (!node || !graph_live(g))
        return MUSA_ERROR_INVALID_VALUE;
    return graph_add(g, deps, data, n, p, node);
}

static MUresult get(MUgraphNode node, MUgraphNodeType type, void *to, size_t offset, size_t size)
{
    if (!node_live(node) || node->p.type != type || !to)
        return MUSA_ERROR_INVALID_VALUE;
    memcpy(to, (const char *)&node->p + offset, size);
    return MUSA_SUCCESS;
}

#define GET(node, type, part, to) GRAPH_ENTRY(get(node, type, to, offsetof(MUgraphNodeParams, part), sizeof *(to)))

static MUresult set(MUgraphNode node, const MUgraphNodeParams *p)
{
    return node_live(node) ? node_set(node, p) : MUSA_ERROR_INVALID_VALUE;
}

/* ---- any type -------------------------------------------------------------------------------- */

static bool clean(const MUgraphNodeParams *p)
{
    return p && !p->reserved0[0] && !p->reserved0[1] && !p->reserved0[2] && !p->reserved2;
}

MUresult muGraphAddNode_v2(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data, size_t n,
                           MUgraphNodeParams *p)
{
    if (!clean(p))
        return MUSA_ERROR_INVALID_VALUE;
    GRAPH_ENTRY(add(node, g, deps, data, n, p));
}

MUresult muGraphAddNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n, MUgraphNodeParams *p)
{
    return muGraphAddNode_v2(node, g, deps, NULL, n, p);
}

MUresult muGraphNodeSetParams(MUgraphNode node, MUgraphNodeParams *p)
{
    if (!clean(p))
        return MUSA_ERROR_INVALID_VALUE;
    GRAPH_ENTRY(set(node, p));
}

/* ---- kernels --------------------------------------------------------------------------------- */

static MUgraphNodeParams kernel(const MUSA_KERNEL_NODE_PARAMS *k)
{
    return (MUgraphNodeParams){.type = MU_GRAPH_NODE_TYPE_KERNEL, .kernel.v1 = *k};
}

MUresult muGraphAddKernelNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n,
                              const MUSA_KERNEL_NODE_PARAMS *k)
{
    if (!k)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = kernel(k);
    GRAPH_ENTRY(add(node, g, deps, NULL, n, &p));
}

MUresult muGraphKernelNodeGetParams(MUgraphNode node, MUSA_KERNEL_NODE_PARAMS *k)
{
    GET(node, MU_GRAPH_NODE_TYPE_KERNEL, kernel.v1, k);
}

MUresult muGraphKernelNodeSetParams(MUgraphNode node, const MUSA_KERNEL_NODE_PARAMS *k)
{
    if (!k)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = kernel(k);
    GRAPH_ENTRY(set(node, &p));
}

static bool kernel_live(MUgraphNode node) { return node_live(node) && node->p.type == MU_GRAPH_NODE_TYPE_KERNEL; }

/* Sets an attribute of a kernel node; hints of scheduling are taken and mean nothing here. */
static MUresult set_attribute(MUgraphNode node, MUkernelNodeAttrID id, const MUkernelNodeAttrValue *v)
{
    if (!kernel_live(node) || !v)
        return MUSA_ERROR_INVALID_VALUE;
    struct graph_attributes *a = &node->attributes;
    const unsigned *cluster = &v->clusterDim.x;
    switch (id) {
    case MU_LAUNCH_ATTRIBUTE_COOPERATIVE: a->cooperative = v->cooperative != 0; return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_PRIORITY: a->priority = v->priority; return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: a->window = *v; return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (!cluster[0] || !cluster[1] || !cluster[2])
            return MUSA_ERROR_INVALID_CLUSTER_SIZE;
        a->cluster = *v; /* the rest is checked with the grid, when the graph is instantiated */
        return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: /* hints */
    case MU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}

static MUresult get_attribute(MUgraphNode node, MUkernelNodeAttrID id, MUkernelNodeAttrValue *v)
{
    if (!kernel_live(node) || !v)
        return MUSA_ERROR_INVALID_VALUE;
    const struct graph_attributes *a = &node->attributes;
    switch (id) {
    case MU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        *v = (MUkernelNodeAttrValue){.cooperative = a->cooperative};
        return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_PRIORITY: *v = (MUkernelNodeAttrValue){.priority = a->priority}; return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: *v = a->window; return MUSA_SUCCESS;
    case MU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: *v = a->cluster; return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}

static MUresult copy_attributes(MUgraphNode dst, MUgraphNode src)
{
    if (!kernel_live(dst) || !kernel_live(src))
        return MUSA_ERROR_INVALID_VALUE;
    dst->attributes = src->attributes;
    return MUSA_SUCCESS;
}

MUresult muGraphKernelNodeSetAttribute(MUgraphNode node, MUkernelNodeAttrID id, const MUkernelNodeAttrValue *v)
{
    GRAPH_ENTRY(set_attribute(node, id, v));
}

MUresult muGraphKernelNodeGetAttribute(MUgraphNode node, MUkernelNodeAttrID id, MUkernelNodeAttrValue *v)
{
    GRAPH_ENTRY(get_attribute(node, id, v));
}

MUresult muGraphKernelNodeCopyAttributes(MUgraphNode dst, MUgraphNode src) { GRAPH_ENTRY(copy_attributes(dst, src)); }

/* ---- copies and fills ------------------------------------------------------------------------ */

MUresult muGraphAddMemcpyNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n, const MUSA_MEMCPY3D *m,
                              MUcontext ctx)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = {.copyCtx = ctx, .copyParams = *m}};
    GRAPH_ENTRY(add(node, g, deps, NULL, n, &p));
}

MUresult muGraphMemcpyNodeGetParams(MUgraphNode node, MUSA_MEMCPY3D *m)
{
    GET(node, MU_GRAPH_NODE_TYPE_MEMCPY, memcpy.copyParams, m);
}

MUresult muGraphMemcpyNodeSetParams(MUgraphNode node, const MUSA_MEMCPY3D *m)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_MEMCPY, .memcpy.copyParams = *m};
    GRAPH_ENTRY(set(node, &p));
}

MUresult muGraphAddMemsetNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n,
                              const MUSA_MEMSET_NODE_PARAMS *m, MUcontext ctx)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_MEMSET, .memset = {*m, ctx}};
    GRAPH_ENTRY(add(node, g, deps, NULL, n, &p));
}

MUresult muGraphMemsetNodeGetParams(MUgraphNode node, MUSA_MEMSET_NODE_PARAMS *m)
{
    GET(node, MU_GRAPH_NODE_TYPE_MEMSET, memset.v1, m);
}

MUresult muGraphMemsetNodeSetParams(MUgraphNode node, const MUSA_MEMSET_NODE_PARAMS *m)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_MEMSET, .memset.v1 = *m};
    GRAPH_ENTRY(set(node, &p));
}

/* ---- host functions, empty nodes, child graphs ----------------------------------------------- */

MUresult muGraphAddHostNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n,
                            const MUSA_HOST_NODE_PARAMS *h)
{
    if (!h)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_HOST, .host = *h};
    GRAPH_ENTRY(add(node, g, deps, NULL, n, &p));
}

MUresult muGraphHostNodeGetParams(MUgraphNode node, MUSA_HOST_NODE_PARAMS *h)
{
    GET(node, MU_GRAPH_NODE_TYPE_HOST, host, h);
}

MUresult muGraphHostNodeSetParams(MUgraphNode node, const MUSA_HOST_NODE_PARAMS *h)
{
    if (!h)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_HOST, .host = *h};
    GRAPH_ENTRY(set(node, &p));
}

MUresult muGraphAddEmptyNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n)
{
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_EMPTY};
    GRAPH_ENTRY(add(node, g, deps, NULL, n, &p));
}

MUresult muGraphAddChildGraphNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n, MUgraph child)
{
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = child};
    GRAPH_ENTRY(add(node, g, deps, NULL, n, &p));
}

MUresult muGraphChildGraphNodeGetGraph(MUgraphNode node, MUgraph *g)
{
    GET(node, MU_GRAPH_NODE_TYPE_GRAPH, graph.graph, g);
}

/* ---- events ---------------------------------------------------------------------------------- */

#define EVENT_NODE(Kind, TYPE) \
    MUresult muGraphAddEvent##Kind##Node(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n, MUevent e) \
    { \
        MUgraphNodeParams p = {.type = TYPE, .eventRecord.event = e}; \
        GRAPH_ENTRY(add(node, g, deps, NULL, n, &p)); \
    } \
    MUresult muGraphEvent##Kind##NodeGetEvent(MUgraphNode node, MUevent *e) { GET(node, TYPE, eventRecord.event, e); } \
    MUresult muGraphEvent##Kind##NodeSetEvent(MUgraphNode node, MUevent e) \
    { \
        MUgraphNodeParams p = {.type = TYPE, .eventRecord.event = e}; \
        GRAPH_ENTRY(set(node, &p)); \
    }

EVENT_NODE(Record, MU_GRAPH_NODE_TYPE_EVENT_RECORD)
EVENT_NODE(Wait, MU_GRAPH_NODE_TYPE_WAIT_EVENT)

/* ---- memory operations ----------------------------------------------------------------------- */

MUresult muGraphAddBatchMemOpNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n,
                                  const MUSA_BATCH_MEM_OP_NODE_PARAMS *m)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .memOp = *m};
    GRAPH_ENTRY(add(node, g, deps, NULL, n, &p));
}

MUresult muGraphBatchMemOpNodeGetParams(MUgraphNode node, MUSA_BATCH_MEM_OP_NODE_PARAMS *m)
{
    GET(node, MU_GRAPH_NODE_TYPE_BATCH_MEM_OP, memOp, m);
}

MUresult muGraphBatchMemOpNodeSetParams(MUgraphNode node, const MUSA_BATCH_MEM_OP_NODE_PARAMS *m)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .memOp = *m};
    GRAPH_ENTRY(set(node, &p));
}

/* ---- memory ---------------------------------------------------------------------------------- */

MUresult muGraphAddMemAllocNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n,
                                MUSA_MEM_ALLOC_NODE_PARAMS *m)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_MEM_ALLOC, .alloc = *m};
    MUresult r = host_ready();
    if (r)
        return r;
    pthread_mutex_lock(&host_graphs);
    r = add(node, g, deps, NULL, n, &p);
    pthread_mutex_unlock(&host_graphs);
    if (!r)
        m->dptr = p.alloc.dptr;
    return r;
}

MUresult muGraphMemAllocNodeGetParams(MUgraphNode node, MUSA_MEM_ALLOC_NODE_PARAMS *m)
{
    GET(node, MU_GRAPH_NODE_TYPE_MEM_ALLOC, alloc, m);
}

MUresult muGraphAddMemFreeNode(MUgraphNode *node, MUgraph g, const MUgraphNode *deps, size_t n, MUdeviceptr p)
{
    MUgraphNodeParams f = {.type = MU_GRAPH_NODE_TYPE_MEM_FREE, .free.dptr = p};
    GRAPH_ENTRY(add(node, g, deps, NULL, n, &f));
}

MUresult muGraphMemFreeNodeGetParams(MUgraphNode node, MUdeviceptr *p)
{
    GET(node, MU_GRAPH_NODE_TYPE_MEM_FREE, free.dptr, p);
}
