/* Executable graphs: instantiation, updates as a whole and node by node, launch and destruction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/graph.h"

struct host_slab host_exec_slab = HOST_SLAB(struct MUgraphExec_st, "executable graph");

#define EXEC_FLAGS \
    ((uint64_t)(MUSA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | MUSA_GRAPH_INSTANTIATE_FLAG_UPLOAD | \
                MUSA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | MUSA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY))

/* ---- instantiation --------------------------------------------------------------------------- */

/* The original of a node of the copy, or NULL. */
static MUgraphNode original_of(MUgraph g, MUgraphNode copy)
{
    for (MUgraphNode n = copy ? g->first : NULL; n; n = n->next) {
        if (n->serial == copy->original)
            return n;
        for (unsigned i = 0; i < n->bodies; i++) {
            MUgraphNode found = original_of(n->body[i], copy);
            if (found)
                return found;
        }
    }
    return NULL;
}

/* Makes an executable graph: a private copy of the graph, so that later changes to it do not count, and a plan for
 * it. What is wrong is told with the node of the caller's graph, not of the copy. */
static MUresult instantiate(MUgraphExec *exec, MUgraph g, uint64_t flags, MUgraphNode *error_node,
                            MUgraphInstantiateResult *why)
{
    *error_node = NULL;
    *why = MUSA_GRAPH_INSTANTIATE_ERROR;
    if (!exec || !graph_live(g) || g->owner || g->captures || flags & ~EXEC_FLAGS)
        return MUSA_ERROR_INVALID_VALUE;
    MUcontext one = NULL;
    if (flags & MUSA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
        MUresult r = flags & MUSA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
                         ? MUSA_ERROR_INVALID_VALUE
                         : graph_device_check(g, &one, error_node, why);
        if (r)
            return r;
        *why = MUSA_GRAPH_INSTANTIATE_ERROR;
    }
    if (g->execs && graph_single(g))
        return MUSA_ERROR_NOT_SUPPORTED;
    MUgraphExec e = host_slab_get(&host_exec_slab);
    MUresult r = MUSA_ERROR_OUT_OF_MEMORY;
    MUgraphNode bad = NULL;
    if (!e || !(e->copy = graph_copy(g, true)))
        goto fail;
    if ((r = plan_new(e->copy, &e->plan, &bad))) {
        *error_node = original_of(g, bad);
        *why = r == MUSA_ERROR_NOT_SUPPORTED   ? MUSA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
               : r == MUSA_ERROR_INVALID_VALUE ? MUSA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                               : MUSA_GRAPH_INSTANTIATE_ERROR;
        goto fail;
    }
    e->source = g;
    e->ctx = host_current();
    e->flags = flags;
    if (flags & MUSA_GRAPH_INSTANTIATE_FLAG_UPLOAD && flags & MUSA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        (void)graph_upload(e); /* arguments that are missing a launch will tell */
    g->execs++;
    *exec = e;
    *why = MUSA_GRAPH_INSTANTIATE_SUCCESS;
    return MUSA_SUCCESS;
fail:
    if (e) {
        graph_free(e->copy);
        host_slab_put(&host_exec_slab, e);
    }
    return r;
}

static MUresult instantiate_logged(MUgraphExec *exec, MUgraph g, MUgraphNode *error_node, char *log, size_t size)
{
    MUgraphNode bad;
    MUgraphInstantiateResult why;
    MUresult r = instantiate(exec, g, 0, &bad, &why);
    if (error_node)
        *error_node = bad;
    if (log && size)
        snprintf(log, size, "%s", r ? bad ? "a node has an error or is in a cycle" : "bad graph" : "");
    return r;
}

MUresult muGraphInstantiate(MUgraphExec *exec, MUgraph g, MUgraphNode *error_node, char *log, size_t size)
{
    GRAPH_ENTRY(instantiate_logged(exec, g, error_node, log, size));
}
HOST_ALIAS(muGraphInstantiate_v2, muGraphInstantiate);

static MUresult instantiate_flags(MUgraphExec *exec, MUgraph g, uint64_t flags)
{
    MUgraphNode bad;
    MUgraphInstantiateResult why;
    return instantiate(exec, g, flags, &bad, &why);
}

MUresult muGraphInstantiateWithFlags(MUgraphExec *exec, MUgraph g, unsigned long long flags)
{
    GRAPH_ENTRY(instantiate_flags(exec, g, flags));
}

MUresult muGraphInstantiateWithParams(MUgraphExec *exec, MUgraph g, MUSA_GRAPH_INSTANTIATE_PARAMS *p)
{
    if (!p)
        return MUSA_ERROR_INVALID_VALUE;
    /* Nothing is uploaded: the stream counts for nothing. */
    GRAPH_ENTRY(instantiate(exec, g, p->flags, &p->hErrNode_out, &p->result_out));
}
HOST_ALIAS(muGraphInstantiateWithParams_ptsz, muGraphInstantiateWithParams);

static MUresult get_flags(MUgraphExec e, uint64_t *flags)
{
    if (!exec_live(e) || !flags)
        return MUSA_ERROR_INVALID_VALUE;
    *flags = e->flags;
    return MUSA_SUCCESS;
}

MUresult muGraphExecGetFlags(MUgraphExec e, uint64_t *flags) { GRAPH_ENTRY(get_flags(e, flags)); }

/* A launch under way holds on to its plan. */
static MUresult destroy(MUgraphExec e)
{
    if (!exec_live(e))
        return MUSA_ERROR_INVALID_VALUE;
    if (e->source)
        e->source->execs--;
    plan_unref(e->plan);
    graph_free(e->copy);
    host_work_unref(e->last);
    free(e->args);
    host_slab_put(&host_exec_slab, e);
    return MUSA_SUCCESS;
}

MUresult muGraphExecDestroy(MUgraphExec e) { GRAPH_ENTRY(destroy(e)); }

/* ---- launch ---------------------------------------------------------------------------------- */

static MUresult refresh(MUgraphExec e)
{
    MUgraphNode bad;
    struct graph_plan *plan;
    MUresult r = e->changed ? plan_new(e->copy, &plan, &bad) : MUSA_SUCCESS;
    if (e->changed && !r) {
        plan_unref(e->plan);
        e->plan = plan;
        e->changed = e->uploaded = false;
    }
    return r;
}

static MUresult launch(MUgraphExec e, MUstream s)
{
    MUresult r = exec_live(e) ? refresh(e) : MUSA_ERROR_INVALID_VALUE;
    return r ? r : graph_launch(e, s);
}

/* A launch in a capture is a child graph. */
static MUresult capture_launch(MUgraphExec e, MUstream s)
{
    pthread_mutex_lock(&host_graphs);
    MUgraph child = exec_live(e) ? graph_copy(e->copy, false) : NULL;
    pthread_mutex_unlock(&host_graphs);
    if (!child)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = child};
    MUresult r = host_capture_add(s, &p, NULL);
    muGraphDestroy(child);
    return r;
}

MUresult muGraphLaunch(MUgraphExec e, MUstream stream)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    if (host_capturing(s))
        return capture_launch(e, s);
    if (host_captures && (r = host_capture_refuse(s)))
        return r;
    pthread_mutex_lock(&host_graphs);
    r = launch(e, s);
    pthread_mutex_unlock(&host_graphs);
    return r || !host_config()->launch_blocking ? r : muStreamSynchronize(stream);
}

static MUresult upload(MUgraphExec e)
{
    MUresult r = exec_live(e) ? refresh(e) : MUSA_ERROR_INVALID_VALUE;
    return r || !(e->flags & MUSA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) ? r : graph_upload(e);
}

/* The device is this machine: an upload has nothing to carry but arguments for launches by kernels, and checks what a
 * launch would. */
MUresult muGraphUpload(MUgraphExec e, MUstream stream)
{
    MUstream s;
    MUresult r = host_stream_of(stream, &s);
    if (r)
        return r;
    GRAPH_ENTRY(upload(e));
}

/* ---- updates --------------------------------------------------------------------------------- */

struct update {
    MUgraphExecUpdateResult result;
    MUgraphNode node, from;
    bool apply; /* the second pass: everything has been found good */
};

static bool differ(struct update *u, MUgraphExecUpdateResult why, MUgraphNode node, MUgraphNode from)
{
    u->result = why;
    u->node = node;
    u->from = from;
    return false;
}

static bool update_graph(struct update *u, MUgraph old, MUgraph new);

/* One node against its partner. */
static bool update_node(struct update *u, MUgraphNode old, MUgraphNode new)
{
    if (old->p.type != new->p.type)
        return differ(u, MU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, new, NULL);
    if (old->p.type == MU_GRAPH_NODE_TYPE_GRAPH)
        return update_graph(u, old->body[0], new->body[0]);
    MUgraphExecUpdateResult why = node_change(old, &new->p);
    if (why)
        return differ(u, why, new, NULL);
    if (!same_attributes(&old->attributes, &new->attributes))
        return differ(u, MU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, new, NULL);
    bool memory = old->p.type == MU_GRAPH_NODE_TYPE_MEM_ALLOC || old->p.type == MU_GRAPH_NODE_TYPE_MEM_FREE;
    if (u->apply && !memory && node_set(old, &new->p))
        return differ(u, MU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, new, NULL);
    return true;
}

/* The graphs must be alike: nodes pair up in the order in which they were made, and the edges of
 * each in the order in which they were added. */
static bool update_graph(struct update *u, MUgraph old, MUgraph new)
{
    if (old->n != new->n)
        return differ(u, MU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    uint32_t mark = 0;
    for (MUgraphNode a = old->first, b = new->first; a; a = a->next, b = b->next)
        a->mark = b->mark = ++mark;
    for (MUgraphNode a = old->first, b = new->first; a; a = a->next, b = b->next) {
        if (a->in.n != b->in.n)
            return differ(u, MU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, NULL);
        for (uint32_t i = 0; i < a->in.n; i++)
            if (a->in.at[i].node->mark != b->in.at[i].node->mark ||
                memcmp(&a->in.at[i].data, &b->in.at[i].data, sizeof a->in.at[i].data))
                return differ(u, MU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, b->in.at[i].node);
    }
    /* The new parameters may lie in what the new graph's objects own, and it may be destroyed. */
    struct graph_objects *objects = NULL;
    if (u->apply && (!graph_objects_add(&objects, new->objects) || !graph_objects_add(&objects, new->updated))) {
        graph_objects_unref(objects);
        return differ(u, MU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, NULL, NULL);
    }
    if (u->apply) {
        graph_objects_unref(old->updated);
        old->updated = objects;
    }
    for (MUgraphNode a = old->first, b = new->first; a; a = a->next, b = b->next)
        if (!update_node(u, a, b))
            return false;
    return true;
}

static MUresult update(MUgraphExec e, MUgraph g, MUgraphExecUpdateResultInfo *info)
{
    if (!exec_live(e) || !graph_live(g) || !info)
        return MUSA_ERROR_INVALID_VALUE;
    struct update u = {.result = MU_GRAPH_EXEC_UPDATE_SUCCESS};
    bool ok = update_graph(&u, e->copy, g);
    u.apply = true;
    if (ok && !(ok = update_graph(&u, e->copy, g)))
        u.result = MU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    e->changed |= u.apply;
    *info = (MUgraphExecUpdateResultInfo){u.result, u.node, u.from};
    return ok ? MUSA_SUCCESS : MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

MUresult muGraphExecUpdate(MUgraphExec e, MUgraph g, MUgraphExecUpdateResultInfo *info)
{
    GRAPH_ENTRY(update(e, g, info));
}

/* ---- node by node ---------------------------------------------------------------------------- */

/* The exec's own node for a node of the graph it was made from, dead by now or not. */
static MUgraphNode own_node(MUgraphExec e, MUgraphNode node)
{
    return exec_live(e) && node_live(node) ? graph_find_copy(e->copy, node->serial) : NULL;
}

static MUresult set_node(MUgraphExec e, MUgraphNode node, const MUgraphNodeParams *p)
{
    MUgraphNode own = own_node(e, node);
    if (!own || node_change(own, p))
        return MUSA_ERROR_INVALID_VALUE;
    MUresult r = node_set(own, p);
    if (!r)
        e->changed = true;
    return r;
}

MUresult muGraphExecNodeSetParams(MUgraphExec e, MUgraphNode node, MUgraphNodeParams *p)
{
    if (!p)
        return MUSA_ERROR_INVALID_VALUE;
    GRAPH_ENTRY(set_node(e, node, p));
}

MUresult muGraphExecKernelNodeSetParams(MUgraphExec e, MUgraphNode node, const MUSA_KERNEL_NODE_PARAMS *k)
{
    if (!k)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_KERNEL, .kernel.v1 = *k};
    GRAPH_ENTRY(set_node(e, node, &p));
}

MUresult muGraphExecMemcpyNodeSetParams(MUgraphExec e, MUgraphNode node, const MUSA_MEMCPY3D *m, MUcontext ctx)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = {.copyCtx = ctx, .copyParams = *m}};
    GRAPH_ENTRY(set_node(e, node, &p));
}

MUresult muGraphExecMemsetNodeSetParams(MUgraphExec e, MUgraphNode node, const MUSA_MEMSET_NODE_PARAMS *m,
                                        MUcontext ctx)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_MEMSET, .memset = {*m, ctx}};
    GRAPH_ENTRY(set_node(e, node, &p));
}

MUresult muGraphExecHostNodeSetParams(MUgraphExec e, MUgraphNode node, const MUSA_HOST_NODE_PARAMS *h)
{
    if (!h)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_HOST, .host = *h};
    GRAPH_ENTRY(set_node(e, node, &p));
}

MUresult muGraphExecBatchMemOpNodeSetParams(MUgraphExec e, MUgraphNode node, const MUSA_BATCH_MEM_OP_NODE_PARAMS *m)
{
    if (!m)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .memOp = *m};
    GRAPH_ENTRY(set_node(e, node, &p));
}

MUresult muGraphExecEventRecordNodeSetEvent(MUgraphExec e, MUgraphNode node, MUevent event)
{
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord.event = event};
    GRAPH_ENTRY(set_node(e, node, &p));
}

MUresult muGraphExecEventWaitNodeSetEvent(MUgraphExec e, MUgraphNode node, MUevent event)
{
    MUgraphNodeParams p = {.type = MU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait.event = event};
    GRAPH_ENTRY(set_node(e, node, &p));
}

static MUresult set_child(MUgraphExec e, MUgraphNode node, MUgraph child)
{
    MUgraphNode own = own_node(e, node);
    if (!own || own->p.type != MU_GRAPH_NODE_TYPE_GRAPH || !graph_live(child))
        return MUSA_ERROR_INVALID_VALUE;
    struct update u = {0};
    if (!update_graph(&u, own->body[0], child))
        return MUSA_ERROR_INVALID_VALUE;
    u.apply = true;
    e->changed = true;
    return update_graph(&u, own->body[0], child) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

MUresult muGraphExecChildGraphNodeSetParams(MUgraphExec e, MUgraphNode node, MUgraph child)
{
    GRAPH_ENTRY(set_child(e, node, child));
}

/* Kernels, copies and fills can be switched off, which makes them empty nodes. */
static MUgraphNode switched(MUgraphExec e, MUgraphNode node)
{
    MUgraphNode own = own_node(e, node);
    return own && own->p.type <= MU_GRAPH_NODE_TYPE_MEMSET ? own : NULL;
}

static MUresult set_enabled(MUgraphExec e, MUgraphNode node, unsigned enabled)
{
    MUgraphNode own = switched(e, node);
    if (!own)
        return MUSA_ERROR_INVALID_VALUE;
    own->disabled = !enabled;
    e->changed = true;
    return MUSA_SUCCESS;
}

static MUresult get_enabled(MUgraphExec e, MUgraphNode node, unsigned *enabled)
{
    MUgraphNode own = switched(e, node);
    if (!own || !enabled)
        return MUSA_ERROR_INVALID_VALUE;
    *enabled = !own->disabled;
    return MUSA_SUCCESS;
}

MUresult muGraphNodeSetEnabled(MUgraphExec e, MUgraphNode node, unsigned int enabled)
{
    GRAPH_ENTRY(set_enabled(e, node, enabled));
}

MUresult muGraphNodeGetEnabled(MUgraphExec e, MUgraphNode node, unsigned int *enabled)
{
    GRAPH_ENTRY(get_enabled(e, node, enabled));
}
