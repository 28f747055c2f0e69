/* Graph functions with data of edges, which came with CUDA 12.3, over those without: a default edge is 8 zero bytes. */
#include "api/api.h"
#include "api/emulate.h"

#include <string.h>

static bool all_default(const MUgraphEdgeData *data, size_t n)
{
    static const MUgraphEdgeData none;
    for (size_t i = 0; data && i < n; i++)
        if (memcmp(&data[i], &none, sizeof none) != 0)
            return false;
    return true;
}

/* room: how many elements the caller asked for. */
static MUresult clear(MUresult r, MUgraphEdgeData *data, size_t room)
{
    if (!r && data)
        memset(data, 0, room * sizeof *data);
    return r;
}

MUresult cumu_graph_get_edges(MUgraph graph, MUgraphNode *from, MUgraphNode *to, MUgraphEdgeData *data, size_t *n)
{
    size_t room = n ? *n : 0;
    return clear(mu.muGraphGetEdges(graph, from, to, n), data, from && to ? room : 0);
}

MUresult cumu_graph_get_dependencies(MUgraphNode node, MUgraphNode *nodes, MUgraphEdgeData *data, size_t *n)
{
    size_t room = n ? *n : 0;
    return clear(mu.muGraphNodeGetDependencies(node, nodes, n), data, nodes ? room : 0);
}

MUresult cumu_graph_get_dependents(MUgraphNode node, MUgraphNode *nodes, MUgraphEdgeData *data, size_t *n)
{
    size_t room = n ? *n : 0;
    return clear(mu.muGraphNodeGetDependentNodes(node, nodes, n), data, nodes ? room : 0);
}

MUresult cumu_graph_add_dependencies(MUgraph graph, const MUgraphNode *from, const MUgraphNode *to,
                                     const MUgraphEdgeData *data, size_t n)
{
    return all_default(data, n) ? mu.muGraphAddDependencies(graph, from, to, n) : MUSA_ERROR_NOT_SUPPORTED;
}

MUresult cumu_graph_remove_dependencies(MUgraph graph, const MUgraphNode *from, const MUgraphNode *to,
                                        const MUgraphEdgeData *data, size_t n)
{
    return all_default(data, n) ? mu.muGraphRemoveDependencies(graph, from, to, n) : MUSA_ERROR_NOT_SUPPORTED;
}
