/* Plans of cuDNN's graphs at work: on a handle's stream, or as nodes of a CUDA graph. */
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/graph/graph.h"
#include "api/graph.h"

/* Addresses of the plan's tensors: those in the workspace, and those that the pack has. */
static int find_addresses(const struct graph_plan *p, const struct graph_body *pack, char *workspace, void **at,
                          const void **values)
{
    const struct graph_attr *uids = graph_find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct graph_attr *places = graph_find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    DNN_BAD_UNLESS(uids && places);
    const int64_t *uid = uids->data;
    void *const *place = places->data;
    for (unsigned i = 0; i < p->tensors; i++) {
        const struct graph_tensor *t = &p->tensor[i];
        int64_t k = 0;
        at[i] = workspace + t->at;
        values[i] = NULL;
        if (t->place == GRAPH_VIRTUAL || t->place == GRAPH_CONSTANT)
            continue;
        while (k < uids->count && uid[k] != t->uid)
            k++;
        if (k == uids->count || !place[k])
            return CUDNN_STATUS_BAD_PARAM;
        if (t->place == GRAPH_REAL)
            DNN_ALIGNED(t->t.type, place[k]);
        if (t->place == GRAPH_VALUE)
            values[i] = place[k];
        else
            at[i] = place[k];
    }
    return CUDNN_STATUS_SUCCESS;
}

/* A number of the host's to where the nodes read it. */
static int write_value(const struct graph_tensor *t, void *at, const void *value, musaStream_t stream)
{
    struct mudnn_tensor one = {.type = t->t.type, .n = 1, .vector = 1, .dim = {1}, .stride = {1}};
    float f = (float)t->constant;
    if (t->place == GRAPH_CONSTANT) { /* those are floats */
        one.type = CUDNN_DATA_FLOAT;
        value = &f;
    }
    return dnn_done(mu.mudnnHostFill(stream, &one, at, value), "cudnnBackendExecute");
}

enum { ALIGNMENT = 256 };

/* Nodes in turn, for each slice that they have. */
static int run_slices(const struct graph_plan *p, unsigned first, unsigned end, void *const *at, char *workspace,
                      musaStream_t stream)
{
    const int64_t *slices = p->node[first].slices;
    const int64_t inner = slices[0] ? slices[1] : 1, count = slices[0] ? slices[0] * inner : 1;
    int status = CUDNN_STATUS_SUCCESS;
    for (int64_t slice = 0; !status && slice < count; slice++)
        for (unsigned i = first; !status && i < end; i++) {
            struct graph_work node = {
                p, &p->node[i], at, workspace + p->node[i].at, 0, stream, {slice / inner, slice % inner}};
            status = graph_work(&node);
        }
    return status;
}

static int run_plan(const struct graph_plan *p, const struct graph_body *pack, char *workspace, musaStream_t stream)
{
    void **at = malloc((p->tensors + 1) * sizeof *at);
    const void **values = malloc((p->tensors + 1) * sizeof *values);
    int status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (!at || !values)
        goto out;
    status = CUDNN_STATUS_BAD_PARAM;
    if (p->workspace && !workspace)
        goto out;
    /* the size has room for this */
    workspace += -(uintptr_t)workspace % ALIGNMENT;
    status = find_addresses(p, pack, workspace, at, values);
    for (unsigned i = 0; !status && i < p->tensors; i++)
        if (p->tensor[i].place == GRAPH_VALUE || p->tensor[i].place == GRAPH_CONSTANT)
            status = write_value(&p->tensor[i], at[i], values[i], stream);
    for (unsigned i = 0, end; !status && i < p->nodes; i = end) {
        end = graph_slice_end(p, i);
        status = run_slices(p, i, end, at, workspace, stream);
    }
out:
    free(at);
    free(values);
    return status;
}

/* With the shapes that the pack gives. What they need beyond the workspace that the program knows of is taken, and
 * given back, in the stream's order. */
static int run_overridden(const struct graph_body *plan, const struct graph_body *pack, char *workspace,
                          musaStream_t stream)
{
    const struct graph_body *graph = graph_of_plan(plan);
    struct graph_plan *p = NULL;
    void *own = NULL;
    if (!graph_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        dnn_gap("cudnnBackendExecute", "shapes given to a plan that was made of text");
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    DNN_BAD_UNLESS(graph_integer(graph, CUDNN_ATTR_OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED, 0));
    int r = graph_lower(graph, pack, &p);
    if (!r && p->workspace > graph->plan->workspace) {
        r = mu.musaMallocAsync(&own, p->workspace, stream) ? CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
                                                           : CUDNN_STATUS_SUCCESS;
        workspace = own;
    }
    if (!r)
        r = run_plan(p, pack, workspace, stream);
    if (own)
        (void)mu.musaFreeAsync(own, stream);
    graph_plan_free(p);
    return r;
}

static int execute(const struct graph_body *plan, const struct graph_body *pack, musaStream_t stream)
{
    const struct graph_attr *w = graph_find(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    char *workspace = w ? *(char **)w->data : NULL;
    const struct graph_attr *given = graph_find(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_UNIQUE_IDS);
    return given && given->count ? run_overridden(plan, pack, workspace, stream)
                                 : run_plan(graph_of_plan(plan)->plan, pack, workspace, stream);
}

/* A finalised plan and variant pack? */
static int check_call(const void *handle, const void *plan, const void *pack)
{
    DNN_HANDLE_OR_LEAVE(handle);
    const struct graph_body *p = graph_body_of(plan), *v = graph_body_of(pack);
    DNN_BAD_UNLESS(p && v);
    if (p->kind != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || v->kind != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
    return p->ready && v->ready ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
}

int wrap_cudnnBackendExecute(void *handle, void *plan, void *pack)
{
    int r = check_call(handle, plan, pack);
    return r ? r : execute(graph_body_of(plan), graph_body_of(pack), dnn_stream(handle));
}

/* What the program must give, whatever shapes it gives. */
int wrap_cudnnGetExecutionPlanWorkspaceSize(void *handle, void *plan, void *pack, size_t *size)
{
    int r = check_call(handle, plan, pack);
    if (r)
        return r;
    DNN_BAD_UNLESS(size);
    *size = graph_of_plan(graph_body_of(plan))->plan->workspace;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- CUDA graphs ------------------------------------------------------------------------------- */

enum { RELAXED = 2 }; /* cudaStreamCaptureModeRelaxed: other threads may do what they like */

/* The plan's calls as nodes of the graph: what a stream of our own would do, captured. */
static int capture(const void *plan, const void *pack, cudaGraph_t graph)
{
    musaStream_t stream = NULL;
    if (mu.musaStreamCreateWithFlags(&stream, musaStreamNonBlocking))
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    int r = cumu_capture_begin_to(true, (CUstream)stream, graph, NULL, NULL, 0, RELAXED) ? CUDNN_STATUS_BAD_PARAM
                                                                                         : CUDNN_STATUS_SUCCESS;
    if (!r) {
        r = execute(graph_body_of(plan), graph_body_of(pack), stream);
        int ended = cumu_capture_end(true, (CUstream)stream, NULL);
        if (!r && ended)
            r = CUDNN_STATUS_EXECUTION_FAILED;
    }
    (void)mu.musaStreamDestroy(stream);
    return r;
}

/* Removes `n` of the graph's nodes: its first, or the last. */
static void remove_nodes(cudaGraph_t graph, size_t n, bool first)
{
    size_t all = 0;
    if (!n || mu.musaGraphGetNodes(graph, NULL, &all) || n > all)
        return;
    MUgraphNode *node = malloc(all * sizeof *node);
    if (node && !mu.musaGraphGetNodes(graph, node, &all))
        for (size_t i = 0; i < n; i++)
            (void)cumu_graph_destroy_node(true, node[first ? i : all - n + i]);
    free(node);
}

/* Adds what the plan does to the graph, and takes out what was in it if that succeeds and else what was added. The
 * nodes are as many and in the same order each time, so that executable graphs can be updated with the graph. */
static int replace_nodes(const void *handle, const void *plan, const void *pack, cudaGraph_t graph, bool replace)
{
    size_t before = 0, after = 0;
    int r = check_call(handle, plan, pack);
    if (r)
        return r;
    DNN_BAD_UNLESS(graph && !mu.musaGraphGetNodes(graph, NULL, &before));
    DNN_BAD_UNLESS(replace == (before != 0));
    r = capture(plan, pack, graph);
    if (!r)
        remove_nodes(graph, before, true);
    else if (!mu.musaGraphGetNodes(graph, NULL, &after))
        remove_nodes(graph, after - before, false);
    return r;
}

int wrap_cudnnBackendPopulateCudaGraph(void *handle, void *plan, void *pack, cudaGraph_t graph)
{
    return replace_nodes(handle, plan, pack, graph, false);
}

int wrap_cudnnBackendUpdateCudaGraph(void *handle, void *plan, void *pack, cudaGraph_t graph)
{
    return replace_nodes(handle, plan, pack, graph, true);
}
