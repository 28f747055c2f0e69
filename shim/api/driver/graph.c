/* Graphs of the driver API: executable graphs, graphs in graphs, capture. */
#include "api/graph.h"

CUresult wrap_cuGraphClone(cudaGraph_t *clone, cudaGraph_t graph) { return cumu_graph_clone(false, clone, graph); }

CUresult wrap_cuGraphDestroy(cudaGraph_t graph) { return cumu_graph_destroy(false, graph); }

CUresult wrap_cuGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                                       cudaGraph_t child)
{
    return cumu_graph_add_child(false, node, graph, deps, n, child);
}

CUresult wrap_cuGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child)
{
    return cumu_graph_child(false, node, child);
}

CUresult wrap_cuGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
    return cumu_graph_exec_set_child(false, exec, node, child);
}

/* ---- executable graphs ----------------------------------------------------------------------- */

CUresult wrap_cuGraphInstantiate_v2(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error, char *log,
                                    size_t size)
{
    return cumu_graph_instantiate_log(false, exec, graph, error, log, size);
}

CUresult wrap_cuGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return cumu_graph_instantiate(false, exec, graph, flags);
}

CUresult wrap_cuGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph, void *params)
{
    return cumu_graph_instantiate_params(false, false, exec, graph, params);
}

CUresult wrap_cuGraphInstantiateWithParams_ptsz(cudaGraphExec_t *exec, cudaGraph_t graph, void *params)
{
    return cumu_graph_instantiate_params(false, true, exec, graph, params);
}

CUresult wrap_cuGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error, int *result)
{
    return cumu_graph_update_v11(false, exec, graph, error, result);
}

CUresult wrap_cuGraphExecUpdate_v2(cudaGraphExec_t exec, cudaGraph_t graph, void *info)
{
    return cumu_graph_update(false, exec, graph, info);
}

CUresult wrap_cuGraphLaunch(cudaGraphExec_t exec, CUstream stream) { return cumu_graph_launch(false, exec, stream); }

CUresult wrap_cuGraphLaunch_ptsz(cudaGraphExec_t exec, CUstream stream)
{
    return cumu_graph_launch(false, exec, cumu_ptsz(stream));
}

CUresult wrap_cuGraphExecDestroy(cudaGraphExec_t exec) { return cumu_graph_exec_destroy(false, exec); }

/* ---- capture --------------------------------------------------------------------------------- */

/* CUDA 10.0's form has no mode: nobody else may do what is unsafe. */
CUresult wrap_cuStreamBeginCapture(CUstream stream)
{
    return cumu_capture_begin(false, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult wrap_cuStreamBeginCapture_ptsz(CUstream stream) { return wrap_cuStreamBeginCapture(cumu_ptsz(stream)); }

CUresult wrap_cuStreamBeginCapture_v2(CUstream stream, int mode) { return cumu_capture_begin(false, stream, mode); }

CUresult wrap_cuStreamBeginCapture_v2_ptsz(CUstream stream, int mode)
{
    return cumu_capture_begin(false, cumu_ptsz(stream), mode);
}

CUresult wrap_cuStreamBeginCaptureToGraph(CUstream stream, cudaGraph_t graph, const void *deps, const void *edges,
                                          size_t n, int mode)
{
    return cumu_capture_begin_to(false, stream, graph, deps, edges, n, mode);
}

CUresult wrap_cuStreamBeginCaptureToGraph_ptsz(CUstream stream, cudaGraph_t graph, const void *deps, const void *edges,
                                               size_t n, int mode)
{
    return cumu_capture_begin_to(false, cumu_ptsz(stream), graph, deps, edges, n, mode);
}

CUresult wrap_cuStreamEndCapture(CUstream stream, cudaGraph_t *graph) { return cumu_capture_end(false, stream, graph); }

CUresult wrap_cuStreamEndCapture_ptsz(CUstream stream, cudaGraph_t *graph)
{
    return cumu_capture_end(false, cumu_ptsz(stream), graph);
}
