/* Parameters of graph nodes: what is checked when a node gets them, and what an executable graph
 * lets change. One table row a type. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/graph.h"

/* ---- checks: they may complete the parameters they get --------------------------------------- */

struct host_kernel_launch graph_launch_of(const MUSA_KERNEL_NODE_PARAMS *k, const struct graph_attributes *a)
{
    return (struct host_kernel_launch){k->func,
                                       {k->gridDimX, k->gridDimY, k->gridDimZ},
                                       {k->blockDimX, k->blockDimY, k->blockDimZ},
                                       k->sharedMemBytes,
                                       a->cooperative,
                                       {a->cluster.clusterDim.x, a->cluster.clusterDim.y, a->cluster.clusterDim.z}};
}

static MUresult check_kernel(MUgraphNode node, MUgraphNodeParams *p)
{
    const MUSA_KERNEL_NODE_PARAMS *k = &p->kernel.v1;
    struct host_kernel_launch launch = graph_launch_of(k, &node->attributes);
    MUresult r = host_kernel_check(&launch);
    if (r && r != MUSA_ERROR_INVALID_CLUSTER_SIZE) /* its attributes may come later */
        return r;
    if (k->func->info.nparam ? !k->kernelParams == !k->extra : k->kernelParams && k->extra)
        return MUSA_ERROR_INVALID_VALUE;
    node->ctx = k->func->module->ctx;
    return MUSA_SUCCESS;
}

static MUresult use_ctx(MUgraphNode node, MUcontext ctx)
{
    if (!ctx)
        ctx = host_current();
    if (!ctx || !host_ctx_live(ctx))
        return MUSA_ERROR_INVALID_CONTEXT;
    node->ctx = ctx;
    return MUSA_SUCCESS;
}

static MUresult check_memcpy(MUgraphNode node, MUgraphNodeParams *p)
{
    struct copy c;
    MUresult r = host_copy_resolve(&p->memcpy.copyParams, false, &c);
    return r ? r : use_ctx(node, p->memcpy.copyCtx);
}

static MUresult check_memset(MUgraphNode node, MUgraphNodeParams *p)
{
    struct fill f;
    size_t bytes;
    enum copy_place place;
    if (!p->memset.v1.width || !p->memset.v1.height)
        return MUSA_ERROR_INVALID_VALUE;
    MUresult r = host_fill_resolve(&p->memset.v1, &f, &bytes, &place);
    return r ? r : use_ctx(node, p->memset.ctx);
}

static MUresult check_host(MUgraphNode node, MUgraphNodeParams *p)
{
    (void)node;
    return p->host.fn ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

static MUresult add_body(MUgraphNode node, MUgraph body)
{
    if (!body)
        return MUSA_ERROR_OUT_OF_MEMORY;
    MUgraph *grown = realloc(node->body, (node->bodies + 1) * sizeof *grown);
    if (!grown) {
        if (!body->owner)
            graph_free(body);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    node->body = grown;
    node->body[node->bodies++] = body;
    body->owner = node;
    return MUSA_SUCCESS;
}

static bool holds(MUgraph outer, MUgraph g) /* is g outer, or around it? */
{
    for (; outer; outer = outer->owner ? outer->owner->graph : NULL)
        if (outer == g)
            return true;
    return false;
}

static MUresult check_child(MUgraphNode node, MUgraphNodeParams *p)
{
    MUgraph child = p->graph.graph;
    bool move = p->graph.ownership == MU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    if (!node->graph->private && (!graph_live(child) || node->bodies))
        return MUSA_ERROR_INVALID_VALUE;
    if (p->graph.ownership < 0 || p->graph.ownership > MU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE ||
        (move && (child->owner || child->captures || holds(node->graph, child))))
        return MUSA_ERROR_INVALID_VALUE;
    if (graph_single(child) && !move) /* memory has one address */
        return MUSA_ERROR_NOT_SUPPORTED;
    if (node->bodies) { /* an executable graph's: replaced */
        graph_free(node->body[0]);
        node->bodies = 0;
    }
    MUresult r = add_body(node, move ? child : graph_copy(child, node->graph->private));
    if (!r)
        p->graph.graph = node->body[0];
    return r;
}

static MUresult check_empty(MUgraphNode node, MUgraphNodeParams *p)
{
    (void)node;
    (void)p;
    return MUSA_SUCCESS;
}

static MUresult check_event(MUgraphNode node, MUgraphNodeParams *p)
{
    MUevent e = p->eventRecord.event;
    MUresult r = host_event_of(e);
    if (r)
        return r;
    if (e->shared) /* no counting of records between processes from inside a graph */
        return MUSA_ERROR_NOT_SUPPORTED;
    node->ctx = e->ctx;
    return MUSA_SUCCESS;
}

static MUresult check_alloc(MUgraphNode node, MUgraphNodeParams *p)
{
    if (node->memory) /* the parameters of an allocation stay as they are */
        return MUSA_ERROR_INVALID_VALUE;
    return graph_memory_new(&p->alloc, &node->memory);
}

static MUresult check_free(MUgraphNode node, MUgraphNodeParams *p)
{
    if (node->memory)
        return MUSA_ERROR_INVALID_VALUE;
    for (MUgraphNode n = node->graph->first; n; n = n->next)
        if (n != node && n->p.type == MU_GRAPH_NODE_TYPE_MEM_FREE && n->p.free.dptr == p->free.dptr)
            return MUSA_ERROR_INVALID_VALUE; /* freed twice */
    node->memory = graph_memory_at(p->free.dptr);
    return node->memory ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

bool node_own_ops(MUgraphNode node, MUgraphNodeParams *p)
{
    size_t size = p->memOp.count * sizeof *node->ops;
    MUstreamBatchMemOpParams *own = malloc(size);
    if (!own)
        return false;
    memcpy(own, p->memOp.paramArray, size);
    free(node->ops);
    p->memOp.paramArray = node->ops = own;
    return true;
}

static MUresult check_memops(MUgraphNode node, MUgraphNodeParams *p)
{
    const MUSA_BATCH_MEM_OP_NODE_PARAMS *m = &p->memOp;
    struct host_memops *ops;
    MUresult r = use_ctx(node, m->ctx);
    if (r || (r = host_memops_new(node->ctx, m->count, m->paramArray, m->flags, &ops)))
        return r;
    free(ops);
    return node_own_ops(node, p) ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
}

static MUresult check_conditional(MUgraphNode node, MUgraphNodeParams *p)
{
    MUSA_CONDITIONAL_NODE_PARAMS *c = &p->conditional;
    bool sizes[] = {[MU_GRAPH_COND_TYPE_IF] = c->size == 1 || c->size == 2,
                    [MU_GRAPH_COND_TYPE_WHILE] = c->size == 1,
                    [MU_GRAPH_COND_TYPE_SWITCH] = c->size >= 1 && c->size <= 4096};
    if (node->bodies || c->type < MU_GRAPH_COND_TYPE_IF || c->type > MU_GRAPH_COND_TYPE_SWITCH || !sizes[c->type] ||
        !graph_handle_of(node->graph, c->handle))
        return MUSA_ERROR_INVALID_VALUE;
    MUresult r = use_ctx(node, c->ctx);
    for (unsigned i = 0; i < c->size && !r; i++)
        r = add_body(node, graph_new(false));
    c->phGraph_out = node->body;
    return r;
}

/* ---- changes of an executable graph ---------------------------------------------------------- */

static MUgraphExecUpdateResult change_any(MUgraphNode node, const MUgraphNodeParams *p)
{
    (void)node;
    (void)p;
    return MU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static MUgraphExecUpdateResult change_kernel(MUgraphNode node, const MUgraphNodeParams *p)
{
    MUfunction f = p->kernel.v1.func;
    return host_function_live(f) && f->module->ctx != node->ctx ? MU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED
                                                                : MU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* Where the two ends lie decides which engine copies: it may not change. */
static MUgraphExecUpdateResult change_memcpy(MUgraphNode node, const MUgraphNodeParams *p)
{
    struct copy a, b;
    if (host_copy_resolve(&node->p.memcpy.copyParams, false, &a) || host_copy_resolve(&p->memcpy.copyParams, false, &b))
        return MU_GRAPH_EXEC_UPDATE_SUCCESS; /* node_set says what is wrong */
    bool same = (a.src_place >= COPY_PINNED) == (b.src_place >= COPY_PINNED) &&
                (a.dst_place >= COPY_PINNED) == (b.dst_place >= COPY_PINNED);
    return same ? MU_GRAPH_EXEC_UPDATE_SUCCESS : MU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static MUgraphExecUpdateResult change_memset(MUgraphNode node, const MUgraphNodeParams *p)
{
    return (node->p.memset.v1.height > 1) == (p->memset.v1.height > 1) ? MU_GRAPH_EXEC_UPDATE_SUCCESS
                                                                       : MU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static MUgraphExecUpdateResult change_memory(MUgraphNode node, const MUgraphNodeParams *p)
{
    bool same = p->type == MU_GRAPH_NODE_TYPE_MEM_FREE ? node->p.free.dptr == p->free.dptr
                                                       : node->p.alloc.dptr == p->alloc.dptr;
    return same ? MU_GRAPH_EXEC_UPDATE_SUCCESS : MU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static MUgraphExecUpdateResult change_never(MUgraphNode node, const MUgraphNodeParams *p)
{
    (void)node;
    (void)p;
    return MU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct type {
    MUresult (*check)(MUgraphNode node, MUgraphNodeParams *p);
    MUgraphExecUpdateResult (*change)(MUgraphNode node, const MUgraphNodeParams *p);
} types[] = {
    [MU_GRAPH_NODE_TYPE_KERNEL] = {check_kernel, change_kernel},
    [MU_GRAPH_NODE_TYPE_MEMCPY] = {check_memcpy, change_memcpy},
    [MU_GRAPH_NODE_TYPE_MEMSET] = {check_memset, change_memset},
    [MU_GRAPH_NODE_TYPE_HOST] = {check_host, change_any},
    [MU_GRAPH_NODE_TYPE_GRAPH] = {check_child, change_any},
    [MU_GRAPH_NODE_TYPE_EMPTY] = {check_empty, change_any},
    [MU_GRAPH_NODE_TYPE_WAIT_EVENT] = {check_event, change_any},
    [MU_GRAPH_NODE_TYPE_EVENT_RECORD] = {check_event, change_any},
    [MU_GRAPH_NODE_TYPE_MEM_ALLOC] = {check_alloc, change_memory},
    [MU_GRAPH_NODE_TYPE_MEM_FREE] = {check_free, change_memory},
    [MU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = {check_memops, change_any},
    [MU_GRAPH_NODE_TYPE_CONDITIONAL] = {check_conditional, change_never},
};

static const struct type *type_of(MUgraphNodeType t)
{
    bool known = t >= 0 && (size_t)t < sizeof types / sizeof *types && types[t].check;
    return known ? &types[t] : NULL;
}

static MUresult set(MUgraphNode node, MUgraphNodeParams *p)
{
    const struct type *t = type_of(p->type);
    MUresult r = t ? t->check(node, p) : MUSA_ERROR_NOT_SUPPORTED;
    if (!r)
        node->p = *p;
    return r;
}

MUresult node_set(MUgraphNode node, const MUgraphNodeParams *p)
{
    MUgraphNodeParams copy = *p;
    return p->type == node->p.type ? set(node, &copy) : MUSA_ERROR_INVALID_VALUE;
}

MUgraphExecUpdateResult node_change(MUgraphNode node, const MUgraphNodeParams *p)
{
    if (p->type != node->p.type)
        return MU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    return type_of(p->type)->change(node, p);
}

MUresult graph_add(MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data, size_t n, MUgraphNodeParams *p,
                   MUgraphNode *node)
{
    MUgraphNode made;
    MUresult r = graph_node_new(g, deps, data, n, &made);
    if (r)
        return r;
    r = set(made, p);
    for (size_t i = 0; i < n && !r && data; i++)
        if (!edge_good(data[i], deps[i], made))
            r = MUSA_ERROR_INVALID_VALUE;
    if (r)
        graph_node_free(made);
    else
        *node = made;
    return r;
}

bool same_attributes(const struct graph_attributes *a, const struct graph_attributes *b)
{
    return a->cooperative == b->cooperative && a->priority == b->priority &&
           !memcmp(&a->window, &b->window, sizeof a->window) && !memcmp(&a->cluster, &b->cluster, sizeof a->cluster);
}
