/* Nodes of graphs whose parameters name kernels of the shim, or that have graphs inside. */
#include "api/graph.h"

#include <string.h>

/* ---- kernels --------------------------------------------------------------------------------- */

static int new_call(struct cumu_func *f, const cudaKernelNodeParams *p, struct cumu_call **out)
{
    if (!p->func && !f)
        return CUDA_ERROR_INVALID_VALUE;
    if (!f)
        return cudaErrorInvalidDeviceFunction;
    struct cumu_launch l = {.grid = p->grid, .block = p->block, .shared = p->shared};
    return cumu_call_new(f, &l, p->params, p->extra, out);
}

int cumu_graph_add_kernel(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n, struct cumu_func *f,
                          const cudaKernelNodeParams *params)
{
    struct cumu_call *c;
    if (!node || !graph || !params)
        return CUDA_ERROR_INVALID_VALUE;
    int err = new_call(f, params, &c);
    if (err)
        return err;
    err = mu.muGraphAddKernelNode((MUgraphNode *)node, graph, deps, n, &c->launch);
    if (err)
        cumu_call_drop(c);
    else
        cumu_graph_hold(graph, *node, c);
    return err;
}

int cumu_graph_set_kernel(cudaGraphNode_t node, struct cumu_func *f, const cudaKernelNodeParams *params)
{
    struct cumu_call *c;
    if (!node || !params)
        return CUDA_ERROR_INVALID_VALUE;
    int err = new_call(f, params, &c);
    if (err)
        return err;
    err = mu.muGraphKernelNodeSetParams(node, &c->launch);
    if (err)
        cumu_call_drop(c);
    else
        cumu_node_hold(node, c);
    return err;
}

int cumu_graph_exec_set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node, struct cumu_func *f,
                               const cudaKernelNodeParams *params)
{
    struct cumu_call *c;
    if (!exec || !node || !params)
        return CUDA_ERROR_INVALID_VALUE;
    int err = new_call(f, params, &c);
    if (err)
        return err;
    err = mu.muGraphExecKernelNodeSetParams(exec, node, &c->launch);
    if (err)
        cumu_call_drop(c);
    else
        cumu_exec_hold(exec, node, c);
    return err;
}

int cumu_graph_get_kernel(cudaGraphNode_t node, cudaKernelNodeParams *params, CUcontext *ctx)
{
    MUSA_KERNEL_NODE_PARAMS p;
    MUcontext where = NULL;
    if (!node || !params)
        return CUDA_ERROR_INVALID_VALUE;
    memset(&p, 0, sizeof p);
    int err = mu.muGraphKernelNodeGetParams(node, &p);
    if (err)
        return err;
    struct cumu_call *c = cumu_node_call(node, &p.kernelParams);
    struct cumu_func *f = c ? cumu_as_func(c->func) : NULL;
    if (!f || ctx)
        f = cumu_func_behind(p.func, &where);
    *params = (cudaKernelNodeParams){f,
                                     {p.gridDimX, p.gridDimY, p.gridDimZ},
                                     {p.blockDimX, p.blockDimY, p.blockDimZ},
                                     p.sharedMemBytes - (f ? cumu_func_more_shared(f) : 0),
                                     p.kernelParams,
                                     p.extra};
    if (ctx)
        *ctx = (CUcontext)where;
    cumu_call_drop(c);
    return CUDA_SUCCESS;
}

struct cumu_func *cumu_graph_kernel_of(const CUDA_KERNEL_NODE_PARAMS *params)
{
    return cumu_as_func(params->v1.func ? params->v1.func : params->kern);
}

CUcontext cumu_graph_enter(const CUDA_KERNEL_NODE_PARAMS *params)
{
    MUcontext now = NULL;
    if (params->v1.func || !params->ctx || mu.muCtxGetCurrent(&now) != MUSA_SUCCESS || now == (MUcontext)params->ctx ||
        mu.muCtxSetCurrent((MUcontext)params->ctx) != MUSA_SUCCESS)
        return NULL;
    return (CUcontext)now;
}

void cumu_graph_leave(CUcontext before)
{
    if (before)
        (void)mu.muCtxSetCurrent((MUcontext)before);
}

/* ---- graphs in graphs ------------------------------------------------------------------------ */

/* `node` was added to the graph with a copy of `child` inside. */
static void has_child(bool rt, cudaGraph_t graph, cudaGraphNode_t node, cudaGraph_t child)
{
    cudaGraph_t inside = NULL;
    cumu_graph_parent(graph, node);
    if (cumu_graph_child(rt, node, &inside) == CUDA_SUCCESS && inside != child)
        cumu_graph_cloned(inside, child);
    else if (!inside)
        cumu_graph_share(graph, child);
}

int cumu_graph_add_child(bool rt, cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                         cudaGraph_t child)
{
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    int err = rt ? mu.musaGraphAddChildGraphNode((MUgraphNode *)node, graph, deps, n, child)
                 : mu.muGraphAddChildGraphNode((MUgraphNode *)node, graph, deps, n, child);
    if (!err)
        has_child(rt, graph, *node, child);
    return err;
}

int cumu_graph_child(bool rt, cudaGraphNode_t node, cudaGraph_t *child)
{
    if (!child)
        return CUDA_ERROR_INVALID_VALUE;
    int err = rt ? mu.musaGraphChildGraphNodeGetGraph(node, (MUgraph *)child)
                 : mu.muGraphChildGraphNodeGetGraph(node, (MUgraph *)child);
    if (!err)
        cumu_graph_inside(node, *child);
    return err;
}

int cumu_graph_exec_set_child(bool rt, cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
    int err = rt ? mu.musaGraphExecChildGraphNodeSetParams(exec, node, child)
                 : mu.muGraphExecChildGraphNodeSetParams(exec, node, child);
    if (!err)
        cumu_exec_share(exec, child);
    return err;
}

/* ---- nodes of any kind ----------------------------------------------------------------------- */

/* What the program's generic parameters are below: the same, but for kernels. */
struct below {
    MUgraphNodeParams params; /* of a kernel */
    struct cumu_call *call;   /* its own, or NULL for other kinds */
    CUcontext before;
};

static int lower(bool rt, const cudaGraphNodeParams *p, struct below *b)
{
    b->call = NULL;
    b->before = NULL;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->type != cudaGraphNodeTypeKernel)
        return CUDA_SUCCESS;
    CUDA_KERNEL_NODE_PARAMS k = p->kernel;
    if (rt) {
        k.kern = NULL;
        k.ctx = NULL;
    } else {
        b->before = cumu_graph_enter(&k);
    }
    int err = new_call(rt ? cumu_kernel_of(k.v1.func) : cumu_graph_kernel_of(&k), &k.v1, &b->call);
    if (err) {
        cumu_graph_leave(b->before);
        return err;
    }
    memset(&b->params, 0, sizeof b->params);
    b->params.type = p->type;
    b->params.kernel.v1 = b->call->launch;
    return CUDA_SUCCESS;
}

static int below_add(bool rt, cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, const void *edges, size_t n,
                     void *params)
{
    MUgraphNode *at = (MUgraphNode *)node;
    if (!edges)
        return rt ? mu.musaGraphAddNode(at, graph, deps, n, params) : mu.muGraphAddNode(at, graph, deps, n, params);
    return rt ? mu.musaGraphAddNode_v2(at, graph, deps, edges, n, params)
              : mu.muGraphAddNode_v2(at, graph, deps, edges, n, params);
}

int cumu_graph_add_node(bool rt, cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, const void *edges,
                        size_t n, cudaGraphNodeParams *params)
{
    struct below b;
    if (!node || !graph)
        return CUDA_ERROR_INVALID_VALUE;
    int err = lower(rt, params, &b);
    if (err)
        return err;
    if (b.call) {
        err = edges ? below_add(false, node, graph, deps, edges, n, &b.params)
                    : mu.muGraphAddKernelNode((MUgraphNode *)node, graph, deps, n, &b.call->launch);
        cumu_graph_leave(b.before);
        if (err)
            cumu_call_drop(b.call);
        else
            cumu_graph_hold(graph, *node, b.call);
        return err;
    }
    err = below_add(rt, node, graph, deps, edges, n, params);
    if (err)
        return err;
    if (params->type == cudaGraphNodeTypeGraph) {
        has_child(rt, graph, *node, params->child.graph);
    } else if (params->type == cudaGraphNodeTypeConditional) {
        cumu_graph_parent(graph, *node);
        for (unsigned i = 0; i < params->conditional.size && params->conditional.bodies; i++)
            cumu_graph_inside(*node, params->conditional.bodies[i]);
    }
    return CUDA_SUCCESS;
}

int cumu_graph_set_node(bool rt, cudaGraphNode_t node, cudaGraphNodeParams *params)
{
    struct below b;
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    int err = lower(rt, params, &b);
    if (err)
        return err;
    if (!b.call)
        return rt ? mu.musaGraphNodeSetParams(node, (void *)params) : mu.muGraphNodeSetParams(node, (void *)params);
    err = mu.muGraphKernelNodeSetParams(node, &b.call->launch);
    cumu_graph_leave(b.before);
    if (err)
        cumu_call_drop(b.call);
    else
        cumu_node_hold(node, b.call);
    return err;
}

int cumu_graph_exec_set_node(bool rt, cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams *params)
{
    struct below b;
    if (!exec || !node)
        return CUDA_ERROR_INVALID_VALUE;
    int err = lower(rt, params, &b);
    if (err)
        return err;
    if (!b.call) {
        err = rt ? mu.musaGraphExecNodeSetParams(exec, node, (void *)params)
                 : mu.muGraphExecNodeSetParams(exec, node, (void *)params);
        if (!err && params->type == cudaGraphNodeTypeGraph)
            cumu_exec_share(exec, params->child.graph);
        return err;
    }
    err = mu.muGraphExecKernelNodeSetParams(exec, node, &b.call->launch);
    cumu_graph_leave(b.before);
    if (err)
        cumu_call_drop(b.call);
    else
        cumu_exec_hold(exec, node, b.call);
    return err;
}

int cumu_graph_destroy_node(bool rt, cudaGraphNode_t node)
{
    int err = rt ? mu.musaGraphDestroyNode(node) : mu.muGraphDestroyNode(node);
    if (!err)
        cumu_node_gone(node);
    return err;
}

/* ---- graphs in graphs ------------------------------------------------------------------------ */
