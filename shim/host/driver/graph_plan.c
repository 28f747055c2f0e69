/* Plans: a graph with its child graphs inlined, in topological order, with all that running it
 * needs. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/callback.h"
#include "host/driver/graph.h"

/* While a plan is made, every node stands for one or, if it is a child graph, two entries: its
 * begin and its end, between which the child's nodes are. */
struct builder {
    struct plan_node *node;
    uint32_t n, room;
    uint64_t *edge; /* from << 32 | to */
    size_t edges, edge_room;
    uint32_t points;
    size_t args;
    struct graph_objects *objects; /* of the graph and of its child graphs, which may go before a launch is done */
    MUresult error;
};

static uint32_t new_entry(struct builder *b, MUgraphNodeType type)
{
    if (b->n == b->room) {
        uint32_t room = b->room ? 2 * b->room : 16;
        struct plan_node *grown = realloc(b->node, room * sizeof *grown);
        if (!grown) {
            b->error = MUSA_ERROR_OUT_OF_MEMORY;
            return 0;
        }
        b->node = grown;
        b->room = room;
    }
    memset(&b->node[b->n], 0, sizeof *b->node);
    b->node[b->n].type = type;
    return b->n++;
}

static void new_edge(struct builder *b, uint32_t from, uint32_t to)
{
    if (b->edges == b->edge_room) {
        size_t room = b->edge_room ? 2 * b->edge_room : 32;
        uint64_t *grown = realloc(b->edge, room * sizeof *grown);
        if (!grown) {
            b->error = MUSA_ERROR_OUT_OF_MEMORY;
            return;
        }
        b->edge = grown;
        b->edge_room = room;
    }
    b->edge[b->edges++] = (uint64_t)from << 32 | to;
}

static MUresult fill_conditional(struct builder *b, struct plan_node *to, MUgraphNode node)
{
    const MUSA_CONDITIONAL_NODE_PARAMS *c = &node->p.conditional;
    to->conditional.value = (const uint32_t *)(uintptr_t)c->handle;
    to->conditional.type = c->type;
    to->conditional.body = calloc(node->bodies, sizeof *to->conditional.body);
    if (!to->conditional.body)
        return MUSA_ERROR_OUT_OF_MEMORY;
    to->conditional.args = b->args;
    MUresult r = MUSA_SUCCESS;
    for (uint32_t i = 0; i < node->bodies && !r; i++) {
        MUgraphNode ignored;
        r = plan_new(node->body[i], &to->conditional.body[i], &ignored);
        to->conditional.n += !r;
        if (!r && (to->conditional.body[i]->points || to->conditional.body[i]->memory))
            r = MUSA_ERROR_NOT_SUPPORTED; /* no events, allocations and frees in bodies, as in CUDA
                                           */
        if (!r)
            b->args += to->conditional.body[i]->args;
    }
    return r;
}

/* What running the node takes. */
static MUresult fill_entry(struct builder *b, struct plan_node *to, MUgraphNode node)
{
    const MUgraphNodeParams *p = &node->p;
    const MUSA_KERNEL_NODE_PARAMS *k = &p->kernel.v1;
    size_t bytes;
    enum copy_place place;
    to->ctx = node->ctx;
    switch (p->type) {
    case MU_GRAPH_NODE_TYPE_KERNEL:
        to->kernel.launch = graph_launch_of(k, &node->attributes);
        to->kernel.params = k->kernelParams;
        to->kernel.extra = k->extra;
        to->kernel.args = b->args;
        MUresult r = host_kernel_check(&to->kernel.launch); /* attributes came after the node */
        if (!r)
            b->args += host_kernel_params_size(k->func);
        return r;
    case MU_GRAPH_NODE_TYPE_MEMCPY: return host_copy_resolve(&p->memcpy.copyParams, false, &to->copy);
    case MU_GRAPH_NODE_TYPE_MEMSET: return host_fill_resolve(&p->memset.v1, &to->fill, &bytes, &place);
    case MU_GRAPH_NODE_TYPE_HOST: to->host = p->host; return MUSA_SUCCESS;
    case MU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return host_memops_new(node->ctx, p->memOp.count, p->memOp.paramArray, p->memOp.flags, &to->memops);
    case MU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case MU_GRAPH_NODE_TYPE_EVENT_RECORD:
        to->event.event = p->eventRecord.event;
        to->event.point = b->points++;
        return host_event_of(p->eventRecord.event);
    case MU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case MU_GRAPH_NODE_TYPE_MEM_FREE: to->memory.memory = graph_memory_ref(node->memory); return MUSA_SUCCESS;
    case MU_GRAPH_NODE_TYPE_CONDITIONAL: return fill_conditional(b, to, node);
    default: return MUSA_SUCCESS;
    }
}

/* Adds g's nodes between the entries begin and end, which are NULL at the top. */
static MUgraphNode add_graph(struct builder *b, MUgraph g, const uint32_t *begin, const uint32_t *end)
{
    /* A node's mark is its (last) entry; edges go to its first one. */
    uint32_t *first = malloc((g->n + 1) * sizeof *first), i = 0;
    MUgraphNode bad = NULL;
    if (!first) {
        b->error = MUSA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    if (!graph_objects_add(&b->objects, g->objects) || !graph_objects_add(&b->objects, g->updated))
        b->error = MUSA_ERROR_OUT_OF_MEMORY;
    for (MUgraphNode n = g->first; n && !b->error; n = n->next, i++) {
        bool child = n->p.type == MU_GRAPH_NODE_TYPE_GRAPH;
        first[i] = new_entry(b, child || n->disabled ? MU_GRAPH_NODE_TYPE_EMPTY : n->p.type);
        n->mark = first[i];
        if (b->error)
            break;
        if (child) {
            uint32_t last = new_entry(b, MU_GRAPH_NODE_TYPE_EMPTY);
            new_edge(b, first[i], last);
            bad = add_graph(b, n->body[0], &first[i], &last);
            n->mark = last;
        } else if (!n->disabled) {
            b->error = fill_entry(b, &b->node[first[i]], n);
        }
        if (b->error && !bad)
            bad = n;
        if (begin && !n->in.n)
            new_edge(b, *begin, first[i]);
    }
    i = 0;
    for (MUgraphNode n = g->first; n && !b->error; n = n->next, i++) {
        for (uint32_t k = 0; k < n->in.n; k++)
            new_edge(b, n->in.at[k].node->mark, first[i]);
        if (end && !n->out.n)
            new_edge(b, n->mark, *end);
    }
    free(first);
    return bad;
}

static void free_node(struct plan_node *n)
{
    if (n->type == MU_GRAPH_NODE_TYPE_MEM_ALLOC || n->type == MU_GRAPH_NODE_TYPE_MEM_FREE)
        graph_memory_unref(n->memory.memory);
    if (n->type == MU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        free(n->memops);
    if (n->type == MU_GRAPH_NODE_TYPE_CONDITIONAL) {
        for (uint32_t i = 0; i < n->conditional.n; i++)
            plan_unref(n->conditional.body[i]);
        free(n->conditional.body);
    }
}

static bool blocks(const struct plan_node *n)
{
    return n->type == MU_GRAPH_NODE_TYPE_KERNEL
               ? n->kernel.launch.f->info.may_wait
               : n->type == MU_GRAPH_NODE_TYPE_HOST || n->type == MU_GRAPH_NODE_TYPE_WAIT_EVENT ||
                     n->type == MU_GRAPH_NODE_TYPE_BATCH_MEM_OP || n->type == MU_GRAPH_NODE_TYPE_CONDITIONAL;
}

bool plan_watches(const struct plan_node *n)
{
    const struct cumu_host_watch *w = host_watched;
    return w && n->type == MU_GRAPH_NODE_TYPE_HOST && n->host.fn == w->fn;
}

/* The entries in topological order, roots first, as the plan. NULL with *cyclic set to an entry on
 * a cycle (or behind one); else for want of memory. */
static struct graph_plan *sort(struct builder *b, uint32_t *cyclic)
{
    uint32_t n = b->n, *start = calloc(n + 2, sizeof *start), *out = NULL, *order = NULL, *rank = NULL, *left = NULL,
             head = 0, tail = 0;
    struct graph_plan *plan = calloc(1, sizeof *plan);
    *cyclic = UINT32_MAX;
    order = malloc((n + 1) * sizeof *order);
    rank = malloc((n + 1) * sizeof *rank);
    left = calloc(n + 1, sizeof *left);
    out = malloc((b->edges + 1) * sizeof *out);
    if (!plan || !start || !out || !order || !rank || !left)
        goto fail;
    for (size_t e = 0; e < b->edges; e++) {
        start[(b->edge[e] >> 32) + 2]++;
        left[(uint32_t)b->edge[e]]++;
    }
    for (uint32_t i = 0; i < n; i++)
        start[i + 2] += start[i + 1];
    for (size_t e = 0; e < b->edges; e++)
        out[start[(b->edge[e] >> 32) + 1]++] = (uint32_t)b->edge[e];
    for (uint32_t i = 0; i < n; i++) {
        b->node[i].nin = left[i];
        if (!left[i])
            order[tail++] = i;
    }
    plan->roots = tail;
    while (head < tail) {
        uint32_t at = order[head];
        rank[at] = head++;
        for (uint32_t e = start[at]; e < start[at + 1]; e++)
            if (!--left[out[e]])
                order[tail++] = out[e];
    }
    if (tail < n) {
        for (uint32_t i = 0; i < n && *cyclic == UINT32_MAX; i++)
            if (left[i])
                *cyclic = i;
        goto fail;
    }
    plan->node = malloc((n + 1) * sizeof *plan->node);
    plan->out = malloc((b->edges + 1) * sizeof *plan->out);
    if (!plan->node || !plan->out)
        goto fail;
    uint32_t put = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct plan_node *to = &plan->node[i];
        *to = b->node[order[i]];
        to->first_out = put;
        for (uint32_t e = start[order[i]]; e < start[order[i] + 1]; e++)
            plan->out[put++] = rank[out[e]];
        to->nout = put - to->first_out;
        plan->memory |= to->type == MU_GRAPH_NODE_TYPE_MEM_ALLOC || to->type == MU_GRAPH_NODE_TYPE_MEM_FREE;
        plan->blocking |= blocks(to);
        plan->watched |= plan_watches(to);
    }
    plan->n = n;
    goto out;
fail:
    if (plan) {
        free(plan->node);
        free(plan->out);
        free(plan);
        plan = NULL;
    }
out:
    free(start);
    free(out);
    free(order);
    free(rank);
    free(left);
    return plan;
}

/* Any node of g that others depend on in a circle. */
static MUgraphNode node_on_cycle(MUgraph g, uint32_t entry)
{
    for (MUgraphNode n = g->first; n; n = n->next)
        if (n->mark >= entry)
            return n;
    return g->first;
}

MUresult plan_new(MUgraph g, struct graph_plan **plan, MUgraphNode *error_node)
{
    struct builder b = {0};
    *error_node = add_graph(&b, g, NULL, NULL);
    uint32_t cyclic = UINT32_MAX;
    struct graph_plan *made = b.error ? NULL : sort(&b, &cyclic);
    if (made) {
        made->refs = 1;
        made->points = b.points;
        made->args = b.args;
        made->objects = b.objects;
        made->values = graph_values_ref(g->values);
        *plan = made;
    } else {
        for (uint32_t i = 0; i < b.n; i++)
            free_node(&b.node[i]);
        graph_objects_unref(b.objects);
        if (!b.error && cyclic != UINT32_MAX) {
            *error_node = node_on_cycle(g, cyclic);
            b.error = MUSA_ERROR_INVALID_VALUE;
        }
    }
    free(b.node);
    free(b.edge);
    return made ? MUSA_SUCCESS : b.error ? b.error : MUSA_ERROR_OUT_OF_MEMORY;
}

void plan_unref(struct graph_plan *plan)
{
    if (!plan || atomic_fetch_sub(&plan->refs, 1) > 1)
        return;
    for (uint32_t i = 0; i < plan->n; i++)
        free_node(&plan->node[i]);
    graph_objects_unref(plan->objects);
    graph_values_unref(plan->values);
    free(plan->node);
    free(plan->out);
    free(plan);
}

/* Nodes are in topological order: what is reached is found going forward once. */
bool plan_follows(const struct graph_plan *plan, uint32_t a, uint32_t b)
{
    const uint32_t from = a < b ? a : b, to = a < b ? b : a;
    unsigned char *reached = calloc(to + 1, 1);
    if (!reached)
        return true;
    reached[from] = 1;
    for (uint32_t i = from; i < to; i++)
        for (uint32_t k = 0; reached[i] && k < plan->node[i].nout; k++) {
            const uint32_t next = plan->out[plan->node[i].first_out + k];
            if (next <= to)
                reached[next] = 1;
        }
    const bool follows = reached[to];
    free(reached);
    return follows;
}
