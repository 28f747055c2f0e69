/* Dominators: Lengauer and Tarjan's algorithm with path compression, without recursion, so that
 * deep or hostile control flow costs n log n time and no stack. */
#include "ptx/analysis/graph.h"

struct lt {
    int32_t *semi, *parent, *ancestor, *label, *vertex, *bucket, *next, *path;
    uint32_t *pred_first;
    int32_t *pred;
};

static void find_preds(struct ptx_ctx *c, const struct ptx_graph *g, struct lt *t)
{
    uint32_t edges = g->first[g->n];
    t->pred_first = PTX_NEW(c, uint32_t, g->n + 2);
    t->pred = PTX_NEW(c, int32_t, edges);
    for (uint32_t i = 0; i < edges; i++)
        t->pred_first[g->succ[i] + 2]++;
    for (uint32_t v = 0; v < g->n; v++)
        t->pred_first[v + 2] += t->pred_first[v + 1];
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++)
            t->pred[t->pred_first[g->succ[i] + 1]++] = (int32_t)v;
}

/* Numbers nodes in depth-first order; returns how many were reached. */
static uint32_t depth_first(struct ptx_ctx *c, const struct ptx_graph *g, uint32_t root, struct lt *t)
{
    uint32_t *at = PTX_NEW(c, uint32_t, g->n), n = 0, depth = 0;
    t->path[depth++] = (int32_t)root;
    t->semi[root] = 0;
    t->vertex[n++] = (int32_t)root;
    at[root] = g->first[root];
    while (depth) {
        int32_t v = t->path[depth - 1];
        if (at[v] == g->first[v + 1]) {
            depth--;
            continue;
        }
        int32_t w = g->succ[at[v]++];
        if (t->semi[w] >= 0)
            continue;
        t->semi[w] = (int32_t)n;
        t->vertex[n++] = w;
        t->parent[w] = v;
        at[w] = g->first[w];
        t->path[depth++] = w;
    }
    return n;
}

static int32_t eval(struct lt *t, int32_t v)
{
    uint32_t depth = 0;
    if (t->ancestor[v] < 0)
        return v;
    for (int32_t u = v; t->ancestor[t->ancestor[u]] >= 0; u = t->ancestor[u])
        t->path[depth++] = u;
    while (depth) {
        int32_t u = t->path[--depth], a = t->ancestor[u];
        if (t->semi[t->label[a]] < t->semi[t->label[u]])
            t->label[u] = t->label[a];
        t->ancestor[u] = t->ancestor[a];
    }
    return t->label[v];
}

/* The steps of Lengauer and Tarjan's paper (1979), in its simple form with path compression only: semidominators in
 * reverse preorder, buckets, then the nodes whose dominator is another's in preorder. */
void ptx_dominators(struct ptx_ctx *c, const struct ptx_graph *g, uint32_t root, int32_t *idom)
{
    struct lt t = {0};
    int32_t **arrays[] = {&t.semi, &t.parent, &t.ancestor, &t.label, &t.vertex, &t.bucket, &t.next, &t.path};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        *arrays[i] = PTX_NEW(c, int32_t, g->n);
    for (uint32_t v = 0; v < g->n; v++) {
        idom[v] = t.semi[v] = t.ancestor[v] = t.bucket[v] = -1;
        t.label[v] = (int32_t)v;
    }
    find_preds(c, g, &t);
    uint32_t n = depth_first(c, g, root, &t);
    for (uint32_t i = n; i-- > 1;) {
        int32_t w = t.vertex[i], p = t.parent[w];
        for (uint32_t k = t.pred_first[w]; k < t.pred_first[w + 1]; k++) {
            if (t.semi[t.pred[k]] < 0)
                continue; /* not reached */
            int32_t u = eval(&t, t.pred[k]);
            if (t.semi[u] < t.semi[w])
                t.semi[w] = t.semi[u];
        }
        int32_t s = t.vertex[t.semi[w]];
        t.next[w] = t.bucket[s];
        t.bucket[s] = w;
        t.ancestor[w] = p;
        for (int32_t v = t.bucket[p]; v >= 0; v = t.next[v]) {
            int32_t u = eval(&t, v);
            idom[v] = t.semi[u] < t.semi[v] ? u : p;
        }
        t.bucket[p] = -1;
    }
    for (uint32_t i = 1; i < n; i++) {
        int32_t w = t.vertex[i];
        if (idom[w] != t.vertex[t.semi[w]])
            idom[w] = idom[idom[w]];
    }
}
