/* The functions that a kernel reaches: copies to work on, recursion, and the deepest chain of calls. */
#include "ptx/analysis/calls.h"

#include <stdlib.h>

/* Room for one more in an array of elements of this size. */
static void *grow(void *array, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap)
        return array;
    uint32_t more = *cap ? 2 * *cap : 16;
    void *p = more > *cap ? realloc(array, more * size) : NULL;
    if (p)
        *cap = more;
    return p;
}

bool ptx_calls_reach(struct ptx_calls *c, const struct ptx_func *f, uint32_t *index)
{
    if (!c->number)
        c->number = calloc(f->module->nfunc, sizeof *c->number);
    if (!c->number)
        return false;
    if (!c->number[f->number]) {
        struct ptx_func **func = grow(c->func, c->nfunc, &c->func_cap, sizeof *func);
        c->func = func ? func : c->func;
        struct ptx_func *copy = func ? ptx_func_copy(f) : NULL;
        if (!copy)
            return false;
        c->func[c->nfunc++] = copy;
        c->number[f->number] = c->nfunc;
    }
    *index = c->number[f->number] - 1;
    return true;
}

bool ptx_calls_add(struct ptx_calls *c, uint32_t caller, uint32_t callee)
{
    uint32_t(*edge)[2] = grow(c->edge, c->nedge, &c->edge_cap, sizeof *edge);
    if (!edge)
        return false;
    c->edge = edge;
    edge[c->nedge][0] = caller;
    edge[c->nedge++][1] = callee;
    return true;
}

/* ---- strongly connected components, by Tarjan 1972 --------------------------------------------- */

struct walk {
    uint32_t *first, *to;   /* callees of v: to[first[v] .. first[v + 1]) */
    uint32_t *at;           /* next callee to look at */
    uint32_t *number, *low; /* of depth-first order, from 1; lowest one on the stack that v leads to */
    uint32_t *path, *stack; /* chain of calls being followed; nodes of components not complete */
    uint32_t npath, nstack, count;
    uint64_t *deep; /* bytes of v and the deepest chain below it */
    bool *on, *again;
};

static void begin(struct walk *w, uint32_t v)
{
    w->number[v] = w->low[v] = ++w->count;
    w->at[v] = w->first[v];
    w->path[w->npath++] = w->stack[w->nstack++] = v;
    w->on[v] = true;
}

/* All below v has been seen: v's depth is known, and so is its component if v came first in it. */
static void end(struct walk *w, uint32_t v)
{
    uint64_t below = 0;
    bool cycle = false;
    for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++) {
        cycle |= w->to[k] == v;
        below = w->deep[w->to[k]] > below ? w->deep[w->to[k]] : below;
    }
    w->deep[v] += below;
    if (w->npath && w->low[v] < w->low[w->path[w->npath - 1]])
        w->low[w->path[w->npath - 1]] = w->low[v];
    if (w->low[v] < w->number[v])
        return;
    cycle |= w->stack[w->nstack - 1] != v;
    for (uint32_t u = v + 1; u != v;) {
        u = w->stack[--w->nstack];
        w->on[u] = false;
        w->again[u] = cycle;
    }
}

/* A chain may be as long as the module has functions: this keeps its own stack. */
static void follow(struct walk *w, uint32_t root)
{
    begin(w, root);
    while (w->npath) {
        uint32_t v = w->path[w->npath - 1];
        if (w->at[v] == w->first[v + 1]) {
            w->npath--;
            end(w, v);
            continue;
        }
        uint32_t u = w->to[w->at[v]++];
        if (!w->number[u])
            begin(w, u);
        else if (w->on[u] && w->number[u] < w->low[v])
            w->low[v] = w->number[u];
    }
}

/* The callees of each function, in rows. Node n stands for the unknown callee of indirect calls: it calls all
 * functions but the kernel, so that there is one edge for each of them instead of one for each such call. */
static void sort_edges(struct walk *w, const struct ptx_calls *c)
{
    uint32_t n = c->nfunc;
    for (uint32_t k = 0; k < c->nedge; k++)
        w->first[c->edge[k][0] + 1]++;
    for (uint32_t v = 0; v < n; v++)
        w->first[v + 1] += w->first[v];
    w->first[n + 1] = w->first[n];
    for (uint32_t b = 1; b < n; b++)
        w->to[w->first[n + 1]++] = b;
    for (uint32_t v = 0; v < n; v++)
        w->at[v] = w->first[v];
    for (uint32_t k = 0; k < c->nedge; k++)
        w->to[w->at[c->edge[k][0]]++] = c->edge[k][1] == PTX_ANY_CALLEE ? n : c->edge[k][1];
}

/* Depth-first over the graph of calls: what calls itself (its strongly connected components, Tarjan 1972), and the
 * most stack that any path of calls takes. */
bool ptx_calls_follow(const struct ptx_calls *c, const uint64_t *bytes, bool *again, bool *cycle, uint64_t *most)
{
    const size_t n = c->nfunc, nodes = n + 1;
    uint64_t *deep = calloc(nodes, sizeof *deep);
    uint32_t *words = calloc(6 * nodes + 1 + n + c->nedge, sizeof *words);
    bool *flags = calloc(2 * nodes, sizeof *flags);
    bool good = deep && words && flags;
    if (good) {
        struct walk w = {.deep = deep,
                         .on = flags,
                         .again = flags + nodes,
                         .at = words,
                         .number = words + nodes,
                         .low = words + 2 * nodes,
                         .path = words + 3 * nodes,
                         .stack = words + 4 * nodes,
                         .first = words + 5 * nodes,
                         .to = words + 6 * nodes + 1};
        for (size_t v = 0; bytes && v < n; v++)
            deep[v] = bytes[v];
        sort_edges(&w, c);
        *cycle = false;
        for (uint32_t v = 0; v < n; v++) {
            if (!w.number[v])
                follow(&w, v);
            *cycle |= w.again[v];
        }
        for (size_t v = 0; again && v < n; v++)
            again[v] = w.again[v];
        *most = n ? deep[0] : 0;
    }
    free(deep);
    free(words);
    free(flags);
    return good;
}

void ptx_calls_free(struct ptx_calls *c)
{
    for (uint32_t k = 0; k < c->nfunc; k++)
        ptx_func_free(c->func[k]);
    free(c->func);
    free(c->number);
    free(c->edge);
    *c = (struct ptx_calls){0};
}
