/* Kernel nodes of the driver API, in CUDA 11's form and in that with CUkernel and context, and nodes of
 * any kind. */
#include "api/graph.h"

#include <string.h>

/* The kernel of CUDA 11's form, CUDA_KERNEL_NODE_PARAMS_v1. */
static struct cumu_func *kernel_v1(const cudaKernelNodeParams *p) { return p ? cumu_as_func(p->func) : NULL; }

/* The later form as the first one, with func set and the context of kern current until `leave`. */
static int enter(const CUDA_KERNEL_NODE_PARAMS *p, cudaKernelNodeParams *v1, CUcontext *before)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    *v1 = p->v1;
    if (!v1->func)
        v1->func = p->kern;
    *before = cumu_graph_enter(p);
    return CUDA_SUCCESS;
}

/* What is no kernel of the program's is an invalid handle to the driver. */
static CUresult checked(int err) { return err == cudaErrorInvalidDeviceFunction ? CUDA_ERROR_INVALID_HANDLE : err; }

CUresult wrap_cuGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                                   const void *params)
{
    return checked(cumu_graph_add_kernel(node, graph, deps, n, kernel_v1(params), params));
}

CUresult wrap_cuGraphAddKernelNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                                      const void *params)
{
    cudaKernelNodeParams v1;
    CUcontext before;
    int err = enter(params, &v1, &before);
    if (err)
        return err;
    err = cumu_graph_add_kernel(node, graph, deps, n, kernel_v1(&v1), &v1);
    cumu_graph_leave(before);
    return checked(err);
}

CUresult wrap_cuGraphKernelNodeGetParams(cudaGraphNode_t node, void *params)
{
    return cumu_graph_get_kernel(node, params, NULL);
}

CUresult wrap_cuGraphKernelNodeGetParams_v2(cudaGraphNode_t node, void *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    int err = cumu_graph_get_kernel(node, &p.v1, &p.ctx);
    if (!err)
        memcpy(params, &p, sizeof p);
    return err;
}

CUresult wrap_cuGraphKernelNodeSetParams(cudaGraphNode_t node, const void *params)
{
    return checked(cumu_graph_set_kernel(node, kernel_v1(params), params));
}

CUresult wrap_cuGraphKernelNodeSetParams_v2(cudaGraphNode_t node, const void *params)
{
    cudaKernelNodeParams v1;
    CUcontext before;
    int err = enter(params, &v1, &before);
    if (err)
        return err;
    err = cumu_graph_set_kernel(node, kernel_v1(&v1), &v1);
    cumu_graph_leave(before);
    return checked(err);
}

CUresult wrap_cuGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const void *params)
{
    return checked(cumu_graph_exec_set_kernel(exec, node, kernel_v1(params), params));
}

CUresult wrap_cuGraphExecKernelNodeSetParams_v2(cudaGraphExec_t exec, cudaGraphNode_t node, const void *params)
{
    cudaKernelNodeParams v1;
    CUcontext before;
    int err = enter(params, &v1, &before);
    if (err)
        return err;
    err = cumu_graph_exec_set_kernel(exec, node, kernel_v1(&v1), &v1);
    cumu_graph_leave(before);
    return checked(err);
}

/* ---- nodes of any kind ----------------------------------------------------------------------- */

CUresult wrap_cuGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n, void *params)
{
    return checked(cumu_graph_add_node(false, node, graph, deps, NULL, n, params));
}

CUresult wrap_cuGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, const void *edges, size_t n,
                                void *params)
{
    return checked(cumu_graph_add_node(false, node, graph, deps, edges, n, params));
}

CUresult wrap_cuGraphNodeSetParams(cudaGraphNode_t node, void *params)
{
    return checked(cumu_graph_set_node(false, node, params));
}

CUresult wrap_cuGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, void *params)
{
    return checked(cumu_graph_exec_set_node(false, exec, node, params));
}

CUresult wrap_cuGraphDestroyNode(cudaGraphNode_t node) { return cumu_graph_destroy_node(false, node); }
