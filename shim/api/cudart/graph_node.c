/* Kernel nodes of the runtime API, nodes that copy symbols, and nodes of any kind. */
#include "api/graph.h"

#include <string.h>

static struct cumu_func *kernel_of(const cudaKernelNodeParams *p)
{
    return p && p->func ? cumu_kernel_of(p->func) : NULL;
}

/* The runtime's word for a node without a kernel. */
static cudaError_t checked(const cudaKernelNodeParams *p, int err)
{
    return CUMU_RT(err && p && !p->func ? cudaErrorInvalidDeviceFunction : err);
}

cudaError_t wrap_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                                        const void *params)
{
    return checked(params, cumu_graph_add_kernel(node, graph, deps, n, kernel_of(params), params));
}

/* Programs compare func with the address of the host stub that they gave. */
cudaError_t wrap_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, void *params)
{
    cudaKernelNodeParams p;
    if (!params)
        return CUMU_BAD_ARG;
    int err = cumu_graph_get_kernel(node, &p, NULL);
    if (err)
        return CUMU_RT(err);
    const void *host = p.func ? cumu_func_host(p.func) : NULL;
    if (host)
        p.func = (void *)(uintptr_t)host;
    memcpy(params, &p, sizeof p);
    return cudaSuccess;
}

cudaError_t wrap_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const void *params)
{
    return checked(params, cumu_graph_set_kernel(node, kernel_of(params), params));
}

cudaError_t wrap_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const void *params)
{
    return checked(params, cumu_graph_exec_set_kernel(exec, node, kernel_of(params), params));
}

/* ---- copies of symbols ----------------------------------------------------------------------- */

cudaError_t wrap_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                                                const void *symbol, const void *src, size_t count, size_t offset,
                                                int kind)
{
    void *at;
    int err = cumu_symbol_to(symbol, count, offset, kind, &at);
    return err ? CUMU_RT(err) : mu.musaGraphAddMemcpyNode1D((MUgraphNode *)node, graph, deps, n, at, src, count, kind);
}

cudaError_t wrap_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                                                  void *dst, const void *symbol, size_t count, size_t offset, int kind)
{
    void *at;
    int err = cumu_symbol_from(symbol, count, offset, kind, &at);
    return err ? CUMU_RT(err) : mu.musaGraphAddMemcpyNode1D((MUgraphNode *)node, graph, deps, n, dst, at, count, kind);
}

cudaError_t wrap_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *src,
                                                      size_t count, size_t offset, int kind)
{
    void *at;
    int err = cumu_symbol_to(symbol, count, offset, kind, &at);
    return err ? CUMU_RT(err) : mu.musaGraphMemcpyNodeSetParams1D(node, at, src, count, kind);
}

cudaError_t wrap_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const void *symbol,
                                                        size_t count, size_t offset, int kind)
{
    void *at;
    int err = cumu_symbol_from(symbol, count, offset, kind, &at);
    return err ? CUMU_RT(err) : mu.musaGraphMemcpyNodeSetParams1D(node, dst, at, count, kind);
}

cudaError_t wrap_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                          const void *symbol, const void *src, size_t count,
                                                          size_t offset, int kind)
{
    void *at;
    int err = cumu_symbol_to(symbol, count, offset, kind, &at);
    return err ? CUMU_RT(err) : mu.musaGraphExecMemcpyNodeSetParams1D(exec, node, at, src, count, kind);
}

cudaError_t wrap_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst,
                                                            const void *symbol, size_t count, size_t offset, int kind)
{
    void *at;
    int err = cumu_symbol_from(symbol, count, offset, kind, &at);
    return err ? CUMU_RT(err) : mu.musaGraphExecMemcpyNodeSetParams1D(exec, node, dst, at, count, kind);
}

/* ---- nodes of any kind ----------------------------------------------------------------------- */

cudaError_t wrap_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, const void *edges,
                                  size_t n, void *params)
{
    return CUMU_RT(cumu_graph_add_node(true, node, graph, deps, edges, n, params));
}

/* libcudart.so.12: before edges had data. */
cudaError_t wrap_cudaGraphAddNode_v12(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                                      void *params)
{
    return CUMU_RT(cumu_graph_add_node(true, node, graph, deps, NULL, n, params));
}

cudaError_t wrap_cudaGraphNodeSetParams(cudaGraphNode_t node, void *params)
{
    return CUMU_RT(cumu_graph_set_node(true, node, params));
}

cudaError_t wrap_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, void *params)
{
    return CUMU_RT(cumu_graph_exec_set_node(true, exec, node, params));
}

cudaError_t wrap_cudaGraphDestroyNode(cudaGraphNode_t node) { return CUMU_RT(cumu_graph_destroy_node(true, node)); }
