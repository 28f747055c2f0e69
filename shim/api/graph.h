/* Graphs as driver and runtime have them alike. What a graph may run lives in kernel/graph.h; everything
 * else is MUSA's, whose calls both APIs reach through their own side (`rt`: the runtime's). Functions
 * return CUresult numbers, which are the runtime's, too. */
#ifndef CUMU_API_GRAPH_H
#define CUMU_API_GRAPH_H

#include "api/api.h"
#include "kernel/graph.h"

/* Kernel nodes: f is the kernel that the program named, NULL if that was none of ours. */
int cumu_graph_add_kernel(cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n, struct cumu_func *f,
                          const cudaKernelNodeParams *params);
int cumu_graph_set_kernel(cudaGraphNode_t node, struct cumu_func *f, const cudaKernelNodeParams *params);
int cumu_graph_exec_set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node, struct cumu_func *f,
                               const cudaKernelNodeParams *params);
/* params->func is the shim's kernel or NULL; ctx (may be NULL) is where it runs. */
int cumu_graph_get_kernel(cudaGraphNode_t node, cudaKernelNodeParams *params, CUcontext *ctx);

/* The kernel of driver parameters: func, or kern in ctx. */
struct cumu_func *cumu_graph_kernel_of(const CUDA_KERNEL_NODE_PARAMS *params);
/* cuCtxSetCurrent for one call: the context of params with kern, if it is another one. */
CUcontext cumu_graph_enter(const CUDA_KERNEL_NODE_PARAMS *params);
void cumu_graph_leave(CUcontext before);

/* Nodes of any kind. edges may be NULL. */
int cumu_graph_add_node(bool rt, cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, const void *edges,
                        size_t n, cudaGraphNodeParams *params);
int cumu_graph_set_node(bool rt, cudaGraphNode_t node, cudaGraphNodeParams *params);
int cumu_graph_exec_set_node(bool rt, cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams *params);
int cumu_graph_destroy_node(bool rt, cudaGraphNode_t node);

/* Graphs in graphs. */
int cumu_graph_add_child(bool rt, cudaGraphNode_t *node, cudaGraph_t graph, const void *deps, size_t n,
                         cudaGraph_t child);
int cumu_graph_child(bool rt, cudaGraphNode_t node, cudaGraph_t *child);
int cumu_graph_exec_set_child(bool rt, cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child);

int cumu_graph_clone(bool rt, cudaGraph_t *clone, cudaGraph_t graph);
int cumu_graph_destroy(bool rt, cudaGraph_t graph);

/* Executable graphs. */
int cumu_graph_instantiate(bool rt, cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
/* The form of CUDA 11. */
int cumu_graph_instantiate_log(bool rt, cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error, char *log,
                               size_t size);
int cumu_graph_instantiate_params(bool rt, bool ptsz, cudaGraphExec_t *exec, cudaGraph_t graph, void *params);
int cumu_graph_update(bool rt, cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info);
int cumu_graph_update_v11(bool rt, cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error, int *result);
int cumu_graph_launch(bool rt, cudaGraphExec_t exec, CUstream stream);
int cumu_graph_exec_destroy(bool rt, cudaGraphExec_t exec);

/* Capture. */
int cumu_capture_begin(bool rt, CUstream stream, int mode);
int cumu_capture_begin_to(bool rt, CUstream stream, cudaGraph_t graph, const void *deps, const void *edges, size_t n,
                          int mode);
int cumu_capture_end(bool rt, CUstream stream, cudaGraph_t *graph);

#endif
