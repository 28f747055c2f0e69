/* Graphs, executable graphs and capture: what has to be known of them so that kernels' arguments live. */
#include "api/graph.h"
#include "core/resolve.h"
#include "core/trace.h"

#include <string.h>

int cumu_graph_clone(bool rt, cudaGraph_t *clone, cudaGraph_t graph)
{
    if (!clone)
        return CUDA_ERROR_INVALID_VALUE;
    int err = rt ? mu.musaGraphClone((MUgraph *)clone, graph) : mu.muGraphClone((MUgraph *)clone, graph);
    if (!err)
        cumu_graph_cloned(*clone, graph);
    return err;
}

int cumu_graph_destroy(bool rt, cudaGraph_t graph)
{
    int err = rt ? mu.musaGraphDestroy(graph) : mu.muGraphDestroy(graph);
    if (!err)
        cumu_graph_gone(graph);
    return err;
}

/* ---- instantiation --------------------------------------------------------------------------- */

/* musaGraphInstantiate itself has had two signatures (mapping/facts/musa.md B2), so the form with
 * flags is asked first. Where it is missing, the driver's form of five arguments, given zeros, reads the
 * same as one with flags. */
static int instantiate(bool rt, MUgraphExec *exec, MUgraph graph, unsigned long long flags)
{
    const unsigned long long must = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                    cudaGraphInstantiateFlagDeviceLaunch; /* the others are hints */
    if ((flags & must) == 0 && !cumu_mu_has(rt ? "musaGraphInstantiateWithFlags" : "muGraphInstantiateWithFlags"))
        return mu.muGraphInstantiate(exec, graph, NULL, NULL, 0);
    return rt ? mu.musaGraphInstantiateWithFlags(exec, graph, flags)
              : mu.muGraphInstantiateWithFlags(exec, graph, flags);
}

int cumu_graph_instantiate(bool rt, cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    int err = instantiate(rt, (MUgraphExec *)exec, graph, flags);
    if (!err)
        cumu_exec_made(*exec, graph);
    return err;
}

int cumu_graph_instantiate_log(bool rt, cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error, char *log,
                               size_t size)
{
    if (error)
        *error = NULL;
    if (log && size)
        *log = '\0';
    return cumu_graph_instantiate(rt, exec, graph, 0);
}

/* Where the form with a struct is missing, its flags are given to the others; the upload is then left to the first
 * launch. */
static int instantiate_params(bool rt, bool ptsz, MUgraphExec *exec, MUgraph graph,
                              MUSA_GRAPH_INSTANTIATE_PARAMS *params)
{
    if (cumu_mu_has(rt ? "musaGraphInstantiateWithParams" : "muGraphInstantiateWithParams"))
        return rt     ? ptsz ? mu.musaGraphInstantiateWithParams_ptsz(exec, graph, params)
                             : mu.musaGraphInstantiateWithParams(exec, graph, params)
                   : ptsz ? mu.muGraphInstantiateWithParams_ptsz(exec, graph, params)
                      : mu.muGraphInstantiateWithParams(exec, graph, params);
    int err = instantiate(rt, exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = err ? MUSA_GRAPH_INSTANTIATE_ERROR : MUSA_GRAPH_INSTANTIATE_SUCCESS;
    return err;
}

int cumu_graph_instantiate_params(bool rt, bool ptsz, cudaGraphExec_t *exec, cudaGraph_t graph, void *params)
{
    if (!exec || !params)
        return CUDA_ERROR_INVALID_VALUE;
    int err = instantiate_params(rt, ptsz, (MUgraphExec *)exec, graph, params);
    if (!err)
        cumu_exec_made(*exec, graph);
    return err;
}

/* ---- executable graphs ----------------------------------------------------------------------- */

/* Up to SDK 3.1.0 the update took CUDA 11's four arguments, later three (mapping/facts/musa.md B3). Called with four
 * it serves both: the newer one does not look at the fourth, and fills the whole of what the third points to; the older
 * one puts the node there and writes the result through the fourth. */
static int update(bool rt, cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    enum { UNTOUCHED = -1 };
    typedef int either(MUgraphExec, MUgraph, void *, int *);
    either *f = rt ? (either *)(void (*)(void))mu.musaGraphExecUpdate : (either *)(void (*)(void))mu.muGraphExecUpdate;
    int result = UNTOUCHED;
    cudaGraphExecUpdateResultInfo filled = {UNTOUCHED, NULL, NULL};
    int err = f(exec, graph, &filled, &result);
    if (result != UNTOUCHED) {
        cudaGraphNode_t node;
        memcpy(&node, &filled, sizeof node);
        *info = (cudaGraphExecUpdateResultInfo){result, node, NULL};
    } else if (filled.result != UNTOUCHED) {
        *info = filled;
    }
    return err;
}

int cumu_graph_update(bool rt, cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    if (!info)
        return CUDA_ERROR_INVALID_VALUE;
    int err = update(rt, exec, graph, info);
    if (!err)
        cumu_exec_updated(exec, graph);
    if (err != CUDA_ERROR_NOT_SUPPORTED)
        return err;
    /* A driver without updates answers as CUDA does for a node that it cannot update: programs then instantiate anew,
     * where any other error ends them (ggml). */
    *info = (cudaGraphExecUpdateResultInfo){cudaGraphExecUpdateErrorNotSupported, NULL, NULL};
    return cudaErrorGraphExecUpdateFailure;
}

int cumu_graph_update_v11(bool rt, cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error, int *result)
{
    cudaGraphExecUpdateResultInfo info = {cudaGraphExecUpdateError, NULL, NULL};
    int err = cumu_graph_update(rt, exec, graph, &info);
    if (error)
        *error = info.error_node;
    if (result)
        *result = info.result;
    return err;
}

/* Launches an executable graph. Into a stream that captures it becomes a node, whose arguments must live as long as
 * the graph that is captured: the copies that the shim keeps are shared with it. */
int cumu_graph_launch(bool rt, cudaGraphExec_t exec, CUstream stream)
{
    MUgraph into = NULL;
    cumu_exec_refresh(exec);
    bool watched = atomic_load_explicit(&cumu_captures, memory_order_relaxed) != 0;
    if (watched)
        into = cumu_capture_graph(stream, NULL);
    bool traced = watched && !into && cumu_trace_times_work();
    struct cumu_event e = {.kind = CUMU_EVENT_GRAPH, .library = "graph", .name = "launch", .stream = stream};
    void *work = traced ? cumu_work_begin(stream) : NULL;
    int err = rt ? mu.musaGraphLaunch(exec, (musaStream_t)stream) : mu.muGraphLaunch(exec, (MUstream)stream);
    if (traced) {
        e.start = cumu_trace_now();
        cumu_trace_stamp(&e);
        cumu_work_end(work, &e, err != 0);
    }
    if (err || !into)
        return err;
    MUgraphNode node = NULL; /* captured: it has become a node with that graph inside */
    (void)cumu_capture_graph(stream, &node);
    cumu_graph_share_exec(into, exec);
    if (node)
        cumu_graph_parent(into, node);
    return CUDA_SUCCESS;
}

int cumu_graph_exec_destroy(bool rt, cudaGraphExec_t exec)
{
    int err = rt ? mu.musaGraphExecDestroy(exec) : mu.muGraphExecDestroy(exec);
    if (!err)
        cumu_exec_gone(exec);
    return err;
}

/* ---- capture --------------------------------------------------------------------------------- */

int cumu_capture_begin(bool rt, CUstream stream, int mode)
{
    int err = rt ? mu.musaStreamBeginCapture((musaStream_t)stream, mode)
                 : mu.muStreamBeginCapture((MUstream)stream, mode);
    if (!err)
        cumu_capture_begun(stream, NULL);
    return err;
}

int cumu_capture_begin_to(bool rt, CUstream stream, cudaGraph_t graph, const void *deps, const void *edges, size_t n,
                          int mode)
{
    int err = rt ? mu.musaStreamBeginCaptureToGraph((musaStream_t)stream, graph, deps, edges, n, mode)
                 : mu.muStreamBeginCaptureToGraph((MUstream)stream, graph, deps, edges, n, mode);
    if (!err)
        cumu_capture_begun(stream, graph);
    return err;
}

/* Without `graph` a capture into the program's own graph just ends, and what another one made goes. */
int cumu_capture_end(bool rt, CUstream stream, cudaGraph_t *graph)
{
    MUgraph made = NULL;
    int err = rt ? mu.musaStreamEndCapture((musaStream_t)stream, &made)
                 : mu.muStreamEndCapture((MUstream)stream, &made);
    bool ours = cumu_capture_ended(stream, err, made);
    if (graph)
        *graph = made;
    else if (!err && ours)
        err = cumu_graph_destroy(rt, made);
    return err;
}
