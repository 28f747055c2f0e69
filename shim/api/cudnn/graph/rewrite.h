/* What the files share that change a plan before its nodes are ordered. */
#ifndef CUMU_API_CUDNN_REWRITE_H
#define CUMU_API_CUDNN_REWRITE_H

#include "api/cudnn/graph/graph.h"

/* Is it the same tensor, whatever its descriptions? */
static inline bool graph_same_tensor(const struct graph_plan *p, int a, int b)
{
    return a >= 0 && b >= 0 && p->tensor[a].uid == p->tensor[b].uid;
}

static inline bool graph_is_pointwise(const struct graph_node *n, int mode)
{
    return n->kind == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR && n->mode == mode;
}

/* The node that has a tensor as its operand `name`, or NULL. */
static inline struct graph_node *graph_writer_of(const struct graph_plan *p, int tensor, int name)
{
    for (unsigned i = 0; i < p->nodes; i++)
        if (graph_same_tensor(p, graph_operand(&p->node[i], name), tensor))
            return &p->node[i];
    return NULL;
}

/* Makes one node of those that need not be apart. */
void graph_fuse(struct graph_plan *p);

#endif
