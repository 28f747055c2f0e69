/* Graphs: making, copying and destroying them, their nodes and edges. */
#include <stdlib.h>
#include <string.h>

#include "host/driver/graph.h"

pthread_mutex_t host_graphs = PTHREAD_MUTEX_INITIALIZER;
struct host_slab host_graph_slab = HOST_SLAB(struct MUgraph_st, "graph");
struct host_slab host_node_slab = HOST_SLAB(struct MUgraphNode_st, "graph node");

/* ---- links ----------------------------------------------------------------------------------- */

bool links_add(struct graph_links *l, MUgraphNode node, MUgraphEdgeData data)
{
    if (l->n == l->room) {
        uint32_t room = l->room ? 2 * l->room : 4;
        struct graph_link *at = realloc(l->at, room * sizeof *at);
        if (!at)
            return false;
        l->at = at;
        l->room = room;
    }
    l->at[l->n++] = (struct graph_link){node, data};
    return true;
}

struct graph_link *links_find(const struct graph_links *l, MUgraphNode node)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->at[i].node == node)
            return &l->at[i];
    return NULL;
}

static void links_remove(struct graph_links *l, MUgraphNode node)
{
    struct graph_link *found = links_find(l, node);
    if (!found)
        return;
    l->n--; /* the order of the others is what dependencies are matched by */
    memmove(found, found + 1, (size_t)(l->at + l->n - found) * sizeof *found);
}

void links_free(struct graph_links *l)
{
    free(l->at);
    *l = (struct graph_links){0};
}

static bool connect(MUgraphNode from, MUgraphNode to, MUgraphEdgeData data)
{
    if (!links_add(&from->out, to, data))
        return false;
    if (links_add(&to->in, from, data))
        return true;
    from->out.n--;
    return false;
}

static void disconnect(MUgraphNode from, MUgraphNode to)
{
    links_remove(&from->out, to);
    links_remove(&to->in, from);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

bool edge_good(MUgraphEdgeData d, MUgraphNode from, MUgraphNode to)
{
    static const unsigned char zero[sizeof d.reserved];
    if (memcmp(d.reserved, zero, sizeof zero) || d.to_port)
        return false;
    if (d.type == MU_GRAPH_DEPENDENCY_TYPE_DEFAULT)
        return d.from_port == MU_GRAPH_KERNEL_NODE_PORT_DEFAULT;
    return d.type == MU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && d.from_port <= MU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER &&
           d.from_port && from->p.type == MU_GRAPH_NODE_TYPE_KERNEL && to->p.type == MU_GRAPH_NODE_TYPE_KERNEL;
}

/* A node at the end of g's list, with edges from deps: an empty one, whose kind the caller fills in. A node that is
 * named twice, or is not g's, is an error. */
MUresult graph_node_new(MUgraph g, const MUgraphNode *deps, const MUgraphEdgeData *data, size_t n, MUgraphNode *node)
{
    static uint64_t serials;
    if (n && !deps)
        return MUSA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if ((!g->private && !node_live(deps[i])) || deps[i]->graph != g)
            return MUSA_ERROR_INVALID_VALUE;
    MUgraphNode made = g->private ? calloc(1, sizeof *made) : host_slab_get(&host_node_slab);
    if (!made)
        return MUSA_ERROR_OUT_OF_MEMORY;
    made->graph = g;
    made->serial = ++serials;
    made->p.type = MU_GRAPH_NODE_TYPE_EMPTY;
    made->prev = g->last;
    *(g->last ? &g->last->next : &g->first) = made;
    g->last = made;
    g->n++;
    MUresult r = MUSA_SUCCESS;
    for (size_t i = 0; i < n && !r; i++)
        if (links_find(&made->in, deps[i]))
            r = MUSA_ERROR_INVALID_VALUE;
        else if (!connect(deps[i], made, data ? data[i] : (MUgraphEdgeData){0}))
            r = MUSA_ERROR_OUT_OF_MEMORY;
    if (r)
        graph_node_free(made);
    else
        *node = made;
    return r;
}

static void release_node(MUgraphNode node)
{
    for (unsigned i = 0; i < node->bodies; i++)
        graph_free(node->body[i]);
    free(node->body);
    free(node->ops);
    graph_memory_unref(node->memory);
    links_free(&node->in);
    links_free(&node->out);
    if (node->graph->private)
        free(node);
    else
        host_slab_put(&host_node_slab, node);
}

void graph_node_free(MUgraphNode node)
{
    MUgraph g = node->graph;
    while (node->in.n)
        disconnect(node->in.at[node->in.n - 1].node, node);
    while (node->out.n)
        disconnect(node, node->out.at[node->out.n - 1].node);
    *(node->prev ? &node->prev->next : &g->first) = node->next;
    *(node->next ? &node->next->prev : &g->last) = node->prev;
    g->n--;
    release_node(node);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

MUgraph graph_new(bool private)
{
    MUgraph g = private ? calloc(1, sizeof *g) : host_slab_get(&host_graph_slab);
    if (g)
        g->private = private;
    return g;
}

void graph_free(MUgraph g)
{
    if (!g)
        return;
    for (MUgraphNode n = g->first, next; n; n = next) {
        next = n->next;
        release_node(n);
    }
    graph_objects_unref(g->objects);
    graph_objects_unref(g->updated);
    graph_values_unref(g->values);
    if (g->private)
        free(g);
    else
        host_slab_put(&host_graph_slab, g);
}

/* Copies a node into another graph, bodies of conditional nodes and child graphs included; edges follow when all
 * nodes are there. `original` is the serial, as muGraphNodeFindInClone asks by it and the node may be gone. */
static bool copy_node(MUgraph g, MUgraphNode from, bool private)
{
    MUgraphNode to;
    if (graph_node_new(g, NULL, NULL, 0, &to))
        return false;
    to->original = from->serial;
    to->p = from->p;
    to->ctx = from->ctx;
    to->attributes = from->attributes;
    to->disabled = from->disabled;
    to->memory = from->memory ? graph_memory_ref(from->memory) : NULL;
    if (from->ops && !node_own_ops(to, &to->p))
        return false;
    if (from->bodies && !(to->body = calloc(from->bodies, sizeof *to->body)))
        return false;
    for (; to->bodies < from->bodies; to->bodies++) {
        if (!(to->body[to->bodies] = graph_copy(from->body[to->bodies], private)))
            return false;
        to->body[to->bodies]->owner = to;
    }
    if (to->p.type == MU_GRAPH_NODE_TYPE_GRAPH)
        to->p.graph.graph = to->body[0];
    else if (to->bodies)
        to->p.conditional.phGraph_out = to->body;
    return true;
}

/* A clone: nodes first, in the same order, then the edges, which are found by the nodes' numbers in it. */
MUgraph graph_copy(MUgraph g, bool private)
{
    MUgraph copy = graph_new(private);
    if (!copy)
        return NULL;
    copy->values = graph_values_ref(g->values);
    bool ok = true;
    for (MUgraphNode n = g->first; n && ok; n = n->next)
        ok = copy_node(copy, n, private);
    /* Edges: originals and copies are walked side by side; a table maps one to the other. */
    MUgraphNode *at = ok && g->n ? malloc(g->n * sizeof *at) : NULL;
    ok = ok && (at || !g->n);
    if (ok) {
        uint32_t i = 0;
        for (MUgraphNode n = g->first, c = copy->first; n; n = n->next, c = c->next) {
            n->mark = i;
            at[i++] = c;
        }
        for (MUgraphNode n = g->first; n && ok; n = n->next) {
            for (uint32_t k = 0; k < n->in.n && ok; k++)
                ok = links_add(&at[n->mark]->in, at[n->in.at[k].node->mark], n->in.at[k].data);
            for (uint32_t k = 0; k < n->out.n && ok; k++)
                ok = links_add(&at[n->mark]->out, at[n->out.at[k].node->mark], n->out.at[k].data);
        }
    }
    free(at);
    ok = ok && graph_objects_add(&copy->objects, g->objects) && graph_objects_add(&copy->updated, g->updated);
    if (!ok) {
        graph_free(copy);
        return NULL;
    }
    return copy;
}

bool graph_single(MUgraph g)
{
    for (MUgraphNode n = g->first; n; n = n->next)
        if (n->p.type == MU_GRAPH_NODE_TYPE_MEM_ALLOC || n->p.type == MU_GRAPH_NODE_TYPE_MEM_FREE ||
            n->p.type == MU_GRAPH_NODE_TYPE_CONDITIONAL ||
            (n->p.type == MU_GRAPH_NODE_TYPE_GRAPH && graph_single(n->body[0])))
            return true;
    return false;
}

MUgraphNode graph_find_copy(MUgraph g, uint64_t serial)
{
    for (MUgraphNode n = g->first; n; n = n->next) {
        if (n->original == serial)
            return n;
        for (unsigned i = 0; i < n->bodies; i++) {
            MUgraphNode found = graph_find_copy(n->body[i], serial);
            if (found)
                return found;
        }
    }
    return NULL;
}

static MUresult create(MUgraph *graph, unsigned flags)
{
    if (!graph || flags)
        return MUSA_ERROR_INVALID_VALUE;
    MUgraph g = graph_new(false);
    if (g)
        *graph = g;
    return g ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
}

MUresult muGraphCreate(MUgraph *graph, unsigned int flags) { GRAPH_ENTRY(create(graph, flags)); }

static MUresult destroy(MUgraph g)
{
    if (!graph_live(g) || g->owner || g->captures)
        return MUSA_ERROR_INVALID_VALUE;
    for (MUgraphExec e = NULL; g->execs && (e = host_slab_next(&host_exec_slab, e));)
        if (e->source == g)
            e->source = NULL;
    graph_free(g);
    return MUSA_SUCCESS;
}

MUresult muGraphDestroy(MUgraph graph) { GRAPH_ENTRY(destroy(graph)); }

static MUresult make_clone(MUgraph *to, MUgraph g)
{
    if (!to || !graph_live(g))
        return MUSA_ERROR_INVALID_VALUE;
    if (graph_single(g)) /* memory has one address; a conditional's value one graph */
        return MUSA_ERROR_NOT_SUPPORTED;
    MUgraph c = graph_copy(g, false);
    if (c)
        *to = c;
    return c ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
}

MUresult muGraphClone(MUgraph *to, MUgraph graph) { GRAPH_ENTRY(make_clone(to, graph)); }

static MUresult find_in_clone(MUgraphNode *node, MUgraphNode original, MUgraph g)
{
    if (!node || !node_live(original) || !graph_live(g))
        return MUSA_ERROR_INVALID_VALUE;
    MUgraphNode found = graph_find_copy(g, original->serial);
    if (found)
        *node = found;
    return found ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

MUresult muGraphNodeFindInClone(MUgraphNode *node, MUgraphNode original, MUgraph g)
{
    GRAPH_ENTRY(find_in_clone(node, original, g));
}

/* ---- questions ------------------------------------------------------------------------------- */

/* The convention of all lists: without room *n gets their number; with room for *n, what fits is
 * written, the rest is cleared, and *n is how many were written. */
struct list {
    MUgraphNode *nodes, *to;
    MUgraphEdgeData *data;
    size_t room, n;
    bool lossy; /* a v1 question, and an edge with data */
};

static void list_put(struct list *l, MUgraphNode node, MUgraphNode to, MUgraphEdgeData data)
{
    static const MUgraphEdgeData plain;
    if (l->nodes && l->n < l->room) {
        l->nodes[l->n] = node;
        if (l->to)
            l->to[l->n] = to;
        if (l->data)
            l->data[l->n] = data;
        else if (memcmp(&data, &plain, sizeof plain))
            l->lossy = true;
    }
    l->n++;
}

static MUresult list_end(struct list *l, size_t *n)
{
    if (l->lossy)
        return MUSA_ERROR_LOSSY_QUERY;
    for (size_t i = l->n; l->nodes && i < l->room; i++) {
        l->nodes[i] = NULL;
        if (l->to)
            l->to[i] = NULL;
    }
    *n = l->nodes && l->n > l->room ? l->room : l->n;
    return MUSA_SUCCESS;
}

static MUresult get_nodes(MUgraph g, MUgraphNode *nodes, size_t *n, bool roots)
{
    if (!graph_live(g) || !n)
        return MUSA_ERROR_INVALID_VALUE;
    struct list l = {.nodes = nodes, .room = *n};
    for (MUgraphNode node = g->first; node; node = node->next)
        if (!roots || !node->in.n)
            list_put(&l, node, NULL, (MUgraphEdgeData){0});
    return list_end(&l, n);
}

MUresult muGraphGetNodes(MUgraph g, MUgraphNode *nodes, size_t *n) { GRAPH_ENTRY(get_nodes(g, nodes, n, false)); }

MUresult muGraphGetRootNodes(MUgraph g, MUgraphNode *nodes, size_t *n) { GRAPH_ENTRY(get_nodes(g, nodes, n, true)); }

static MUresult get_edges(MUgraph g, MUgraphNode *from, MUgraphNode *to, MUgraphEdgeData *data, size_t *n)
{
    if (!graph_live(g) || !n || !from != !to || (data && !from))
        return MUSA_ERROR_INVALID_VALUE;
    struct list l = {.nodes = from, .to = to, .data = data, .room = *n};
    for (MUgraphNode node = g->first; node; node = node->next)
        for (uint32_t i = 0; i < node->out.n; i++)
            list_put(&l, node, node->out.at[i].node, node->out.at[i].data);
    return list_end(&l, n);
}

MUresult muGraphGetEdges(MUgraph g, MUgraphNode *from, MUgraphNode *to, size_t *n)
{
    GRAPH_ENTRY(get_edges(g, from, to, NULL, n));
}

MUresult muGraphGetEdges_v2(MUgraph g, MUgraphNode *from, MUgraphNode *to, MUgraphEdgeData *data, size_t *n)
{
    GRAPH_ENTRY(get_edges(g, from, to, data, n));
}

static MUresult get_links(MUgraphNode node, MUgraphNode *nodes, MUgraphEdgeData *data, size_t *n, bool out)
{
    if (!node_live(node) || !n || (data && !nodes))
        return MUSA_ERROR_INVALID_VALUE;
    const struct graph_links *links = out ? &node->out : &node->in;
    struct list l = {.nodes = nodes, .data = data, .room = *n};
    for (uint32_t i = 0; i < links->n; i++)
        list_put(&l, links->at[i].node, NULL, links->at[i].data);
    return list_end(&l, n);
}

MUresult muGraphNodeGetDependencies(MUgraphNode node, MUgraphNode *nodes, size_t *n)
{
    GRAPH_ENTRY(get_links(node, nodes, NULL, n, false));
}

MUresult muGraphNodeGetDependencies_v2(MUgraphNode node, MUgraphNode *nodes, MUgraphEdgeData *data, size_t *n)
{
    GRAPH_ENTRY(get_links(node, nodes, data, n, false));
}

MUresult muGraphNodeGetDependentNodes(MUgraphNode node, MUgraphNode *nodes, size_t *n)
{
    GRAPH_ENTRY(get_links(node, nodes, NULL, n, true));
}

MUresult muGraphNodeGetDependentNodes_v2(MUgraphNode node, MUgraphNode *nodes, MUgraphEdgeData *data, size_t *n)
{
    GRAPH_ENTRY(get_links(node, nodes, data, n, true));
}

static MUresult get_type(MUgraphNode node, MUgraphNodeType *type)
{
    if (!node_live(node) || !type)
        return MUSA_ERROR_INVALID_VALUE;
    *type = node->p.type;
    return MUSA_SUCCESS;
}

MUresult muGraphNodeGetType(MUgraphNode node, MUgraphNodeType *type) { GRAPH_ENTRY(get_type(node, type)); }

/* ---- edges ----------------------------------------------------------------------------------- */

/* Adds or removes edges, all or none: what was done before the one that failed is undone. Nodes of other graphs,
 * loops to oneself and edges that are there already (or are not) are errors. */
static MUresult change_edges(MUgraph g, const MUgraphNode *from, const MUgraphNode *to, const MUgraphEdgeData *data,
                             size_t n, bool add)
{
    if (!graph_live(g) || (n && (!from || !to)))
        return MUSA_ERROR_INVALID_VALUE;
    if (!add && n && graph_single(g))
        return MUSA_ERROR_NOT_SUPPORTED;
    size_t done = 0;
    MUresult r = MUSA_SUCCESS;
    for (; done < n && !r; done++) {
        MUgraphNode a = from[done], b = to[done];
        MUgraphEdgeData d = data ? data[done] : (MUgraphEdgeData){0};
        if (!node_live(a) || !node_live(b) || a->graph != g || b->graph != g || a == b ||
            !links_find(&a->out, b) != add || (add && !edge_good(d, a, b)))
            r = MUSA_ERROR_INVALID_VALUE;
        else if (!add && memcmp(&links_find(&a->out, b)->data, &d, sizeof d))
            r = MUSA_ERROR_INVALID_VALUE; /* no such edge: it has other data */
        else if (!add)
            disconnect(a, b);
        else if (!connect(a, b, d))
            r = MUSA_ERROR_OUT_OF_MEMORY;
    }
    if (r) /* nothing happens then: undo what was done before the one that failed */
        for (done--; done--;) {
            if (add)
                disconnect(from[done], to[done]);
            else
                connect(from[done], to[done], data ? data[done] : (MUgraphEdgeData){0});
        }
    return r;
}

MUresult muGraphAddDependencies(MUgraph g, const MUgraphNode *from, const MUgraphNode *to, size_t n)
{
    GRAPH_ENTRY(change_edges(g, from, to, NULL, n, true));
}

MUresult muGraphAddDependencies_v2(MUgraph g, const MUgraphNode *from, const MUgraphNode *to,
                                   const MUgraphEdgeData *data, size_t n)
{
    GRAPH_ENTRY(change_edges(g, from, to, data, n, true));
}

MUresult muGraphRemoveDependencies(MUgraph g, const MUgraphNode *from, const MUgraphNode *to, size_t n)
{
    GRAPH_ENTRY(change_edges(g, from, to, NULL, n, false));
}

MUresult muGraphRemoveDependencies_v2(MUgraph g, const MUgraphNode *from, const MUgraphNode *to,
                                      const MUgraphEdgeData *data, size_t n)
{
    GRAPH_ENTRY(change_edges(g, from, to, data, n, false));
}

static MUresult destroy_node(MUgraphNode node)
{
    if (!node_live(node))
        return MUSA_ERROR_INVALID_VALUE;
    if (graph_single(node->graph) || node->graph->captures)
        return MUSA_ERROR_NOT_SUPPORTED; /* others may stand on its memory, or on itself */
    graph_node_free(node);
    return MUSA_SUCCESS;
}

MUresult muGraphDestroyNode(MUgraphNode node) { GRAPH_ENTRY(destroy_node(node)); }
