/* Graphs of the runtime API: executable graphs, graphs in graphs, capture. */
#include "api/graph.h"

cudaError_t wrap_cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
    return CUMU_RT(cumu_graph_clone(true, clone, graph));
}

cudaError_t wrap_cudaGraphDestroy(cudaGraph_t graph) { return CUMU_RT(cumu_graph_destroy(true, graph)); }

cudaError_t wrap_cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                                            cudaGraph_t child)
{
    return CUMU_RT(cumu_graph_add_child(true, node, graph, deps, n, child));
}

cudaError_t wrap_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child)
{
    return CUMU_RT(cumu_graph_child(true, node, child));
}

cudaError_t wrap_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
    return CUMU_RT(cumu_graph_exec_set_child(true, exec, node, child));
}

/* ---- executable graphs ----------------------------------------------------------------------- */

cudaError_t wrap_cudaGraphInstantiate_v11(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error, char *log,
                                          size_t size)
{
    return CUMU_RT(cumu_graph_instantiate_log(true, exec, graph, error, log, size));
}

cudaError_t wrap_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return CUMU_RT(cumu_graph_instantiate(true, exec, graph, flags));
}

cudaError_t wrap_cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return CUMU_RT(cumu_graph_instantiate(true, exec, graph, flags));
}

cudaError_t wrap_cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph, void *params)
{
    return CUMU_RT(cumu_graph_instantiate_params(true, false, exec, graph, params));
}

cudaError_t wrap_cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *exec, cudaGraph_t graph, void *params)
{
    return CUMU_RT(cumu_graph_instantiate_params(true, true, exec, graph, params));
}

cudaError_t wrap_cudaGraphExecUpdate_v11(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error, int *result)
{
    return CUMU_RT(cumu_graph_update_v11(true, exec, graph, error, result));
}

cudaError_t wrap_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, void *info)
{
    return CUMU_RT(cumu_graph_update(true, exec, graph, info));
}

cudaError_t wrap_cudaGraphLaunch(cudaGraphExec_t exec, CUstream stream)
{
    return CUMU_RT(cumu_graph_launch(true, exec, stream));
}

cudaError_t wrap_cudaGraphLaunch_ptsz(cudaGraphExec_t exec, CUstream stream)
{
    return CUMU_RT(cumu_graph_launch(true, exec, cumu_ptsz(stream)));
}

cudaError_t wrap_cudaGraphExecDestroy(cudaGraphExec_t exec) { return CUMU_RT(cumu_graph_exec_destroy(true, exec)); }

/* ---- capture --------------------------------------------------------------------------------- */

cudaError_t wrap_cudaStreamBeginCapture(CUstream stream, int mode)
{
    return CUMU_RT(cumu_capture_begin(true, stream, mode));
}

cudaError_t wrap_cudaStreamBeginCapture_ptsz(CUstream stream, int mode)
{
    return CUMU_RT(cumu_capture_begin(true, cumu_ptsz(stream), mode));
}

cudaError_t wrap_cudaStreamBeginCaptureToGraph(CUstream stream, cudaGraph_t graph, const void *deps, const void *edges,
                                               size_t n, int mode)
{
    return CUMU_RT(cumu_capture_begin_to(true, stream, graph, deps, edges, n, mode));
}

cudaError_t wrap_cudaStreamBeginCaptureToGraph_ptsz(CUstream stream, cudaGraph_t graph, const void *deps,
                                                    const void *edges, size_t n, int mode)
{
    return CUMU_RT(cumu_capture_begin_to(true, cumu_ptsz(stream), graph, deps, edges, n, mode));
}

cudaError_t wrap_cudaStreamEndCapture(CUstream stream, cudaGraph_t *graph)
{
    return CUMU_RT(cumu_capture_end(true, stream, graph));
}

cudaError_t wrap_cudaStreamEndCapture_ptsz(CUstream stream, cudaGraph_t *graph)
{
    return CUMU_RT(cumu_capture_end(true, cumu_ptsz(stream), graph));
}
