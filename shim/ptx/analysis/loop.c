/* Natural loops, and the block order in which every loop is contiguous: what lets a back end that
 * runs the lowest pending block first keep lanes together. */
#include "ptx/analysis/graph.h"

enum { MAX_DEPTH = 200 }; /* real code nests loops less than ten deep */

struct walk {
    struct ptx_ctx *c;
    const struct ptx_graph *g;
    const struct ptx_loops *loops;
    uint32_t *first_member; /* by header: blocks of the loop, inner loops included */
    int32_t *member;
    uint8_t *seen;
    int32_t *order;
    uint32_t count;
};

/* Pre- and post-order numbers of the dominator tree, so that "dominates" is two comparisons. */
struct domtree {
    uint32_t *in, *out;
};

/* Numbers the dominator tree in pre- and post-order, so that "a dominates b" is two comparisons afterwards. The walk
 * has a stack of its own: trees are as deep as straight-line code is long. */
static void number_domtree(struct ptx_ctx *c, uint32_t n, const int32_t *idom, struct domtree *d)
{
    int32_t *child = PTX_NEW(c, int32_t, n), *sibling = PTX_NEW(c, int32_t, n);
    int32_t *stack = PTX_NEW(c, int32_t, n + 1);
    uint32_t depth = 0, at = 0;
    d->in = PTX_NEW(c, uint32_t, n);
    d->out = PTX_NEW(c, uint32_t, n);
    for (uint32_t v = 0; v < n; v++)
        child[v] = -1;
    for (uint32_t v = 0; v < n; v++) {
        if (idom[v] < 0)
            continue;
        sibling[v] = child[idom[v]];
        child[idom[v]] = (int32_t)v;
    }
    stack[depth++] = 0;
    d->in[0] = ++at;
    while (depth) {
        int32_t v = stack[depth - 1], w = child[v];
        if (w < 0) {
            d->out[v] = ++at;
            depth--;
            continue;
        }
        child[v] = sibling[w];
        d->in[w] = ++at;
        stack[depth++] = w;
    }
}

static bool dominates(const struct domtree *d, int32_t a, int32_t b)
{
    return d->in[a] <= d->in[b] && d->out[b] <= d->out[a];
}

/* Post-order of the whole graph from node 0; number[v] = position, -1 = not reached. */
static uint32_t post_order(struct ptx_ctx *c, const struct ptx_graph *g, int32_t *order, int32_t *number)
{
    uint32_t *at = PTX_NEW(c, uint32_t, g->n), depth = 0, n = 0;
    int32_t *stack = PTX_NEW(c, int32_t, g->n + 1);
    for (uint32_t v = 0; v < g->n; v++)
        number[v] = -1;
    stack[depth++] = 0;
    number[0] = -2; /* open */
    at[0] = g->first[0];
    while (depth) {
        int32_t v = stack[depth - 1];
        if (at[v] == g->first[v + 1]) {
            number[v] = (int32_t)n;
            order[n++] = v;
            depth--;
            continue;
        }
        int32_t w = g->succ[at[v]++];
        if (number[w] != -1)
            continue;
        number[w] = -2;
        at[w] = g->first[w];
        stack[depth++] = w;
    }
    return n;
}

/* Outermost loop found so far around loop h, with path compression in `top`. */
static int32_t outermost(int32_t *top, int32_t h)
{
    while (top[h] != h) {
        top[h] = top[top[h]];
        h = top[h];
    }
    return h;
}

/* A back edge leads to a block that dominates its source; the loop is what reaches the source without passing the
 * header. Headers are taken in post-order, inner loops first, so that a loop found before is walked over as one node.
 * A retreating edge to a block that does not dominate its source makes the graph irreducible. */
void ptx_find_loops(struct ptx_ctx *c, const struct ptx_graph *g, const int32_t *idom, struct ptx_loops *out)
{
    uint32_t n = g->n, edges = g->first[n];
    int32_t *order = PTX_NEW(c, int32_t, n), *number = PTX_NEW(c, int32_t, n);
    int32_t *top = PTX_NEW(c, int32_t, n), *stack = PTX_NEW(c, int32_t, edges + 1);
    uint32_t *pred_first = PTX_NEW(c, uint32_t, n + 2);
    int32_t *pred = PTX_NEW(c, int32_t, edges);
    struct domtree d;
    out->header = PTX_NEW(c, int32_t, n);
    out->parent = PTX_NEW(c, int32_t, n);
    for (uint32_t v = 0; v < n; v++) {
        out->header[v] = out->parent[v] = -1;
        top[v] = (int32_t)v;
    }
    for (uint32_t i = 0; i < edges; i++)
        pred_first[g->succ[i] + 2]++;
    for (uint32_t v = 0; v < n; v++)
        pred_first[v + 2] += pred_first[v + 1];
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++)
            pred[pred_first[g->succ[i] + 1]++] = (int32_t)v;
    number_domtree(c, n, idom, &d);
    uint32_t reached = post_order(c, g, order, number);
    for (uint32_t k = 0; k < reached; k++) { /* inner loops first: headers in post-order */
        int32_t h = order[k];
        uint32_t depth = 0;
        bool is_loop = false;
        for (uint32_t i = pred_first[h]; i < pred_first[h + 1]; i++) {
            int32_t u = pred[i];
            if (number[u] < 0 || number[u] > number[h])
                continue;
            if (!dominates(&d, h, u)) {
                out->irreducible = true;
                continue;
            }
            is_loop = true;
            stack[depth++] = u;
        }
        if (!is_loop)
            continue;
        out->header[h] = h;
        while (depth) { /* everything that reaches a latch without passing the header */
            int32_t v = stack[--depth];
            if (out->header[v] >= 0) {
                int32_t l = outermost(top, out->header[v]);
                if (l == h)
                    continue;
                out->parent[l] = h;
                top[l] = h;
                v = l;
            } else {
                out->header[v] = h;
            }
            for (uint32_t i = pred_first[v]; i < pred_first[v + 1]; i++)
                if (number[pred[i]] >= 0 && dominates(&d, h, pred[i]))
                    stack[depth++] = pred[i];
        }
    }
}

/* What v is in loop l (-1 = the whole function): v itself, or the header of the loop directly
 * inside l that holds it; -1 when v lies outside l. */
static int32_t seen_from(const struct ptx_loops *loops, int32_t l, int32_t v)
{
    int32_t h = loops->header[v];
    if (h == l)
        return v;
    for (; h >= 0; h = loops->parent[h])
        if (loops->parent[h] == l)
            return h;
    return -1;
}

struct frame {
    int32_t node;
    uint32_t block, edge; /* where the walk over the node's out-edges stands */
};

/* Next successor of a node of loop l, an inner loop counting as one node; -1 = no more. */
static int32_t next_edge(const struct walk *w, int32_t l, struct frame *f)
{
    bool inner = w->loops->header[f->node] == f->node && f->node != l;
    uint32_t blocks = inner ? w->first_member[f->node + 1] - w->first_member[f->node] : 1;
    for (; f->block < blocks; f->block++, f->edge = 0) {
        int32_t v = inner ? w->member[w->first_member[f->node] + f->block] : f->node;
        while (w->g->first[v] + f->edge < w->g->first[v + 1]) {
            int32_t s = seen_from(w->loops, l, w->g->succ[w->g->first[v] + f->edge++]);
            if (s >= 0 && s != f->node)
                return s;
        }
    }
    return -1;
}

/* Orders the blocks so that each loop is contiguous and its header comes first: a reverse post-order of the loop's
 * own blocks in which an inner loop counts as one block, and is laid out in its place. Divergent regions are
 * linearised in this order. */
static void lay_out(struct walk *w, int32_t l, int32_t start, uint32_t depth)
{
    if (depth > MAX_DEPTH)
        ptx_fail(w->c, 0, "", 0, "loops nested more than %d deep", MAX_DEPTH);
    uint32_t cap = 0, n = 0, npost = 0, post_cap = 0;
    struct frame *stack = NULL;
    int32_t *post = NULL;
    PTX_PUSH(w->c, stack, n, cap);
    stack[n++] = (struct frame){.node = start};
    w->seen[start] |= 1;
    while (n) {
        int32_t s = next_edge(w, l, &stack[n - 1]);
        if (s < 0) {
            PTX_PUSH(w->c, post, npost, post_cap);
            post[npost++] = stack[--n].node;
        } else if (!(w->seen[s] & 1)) {
            w->seen[s] |= 1;
            PTX_PUSH(w->c, stack, n, cap);
            stack[n++] = (struct frame){.node = s};
        }
    }
    while (npost) {
        int32_t v = post[--npost];
        if (w->loops->header[v] == v && v != l)
            lay_out(w, v, v, depth + 1);
        else
            w->order[w->count++] = v;
    }
}

uint32_t ptx_layout(struct ptx_ctx *c, const struct ptx_graph *g, const struct ptx_loops *loops, int32_t *order)
{
    struct walk w = {.c = c, .g = g, .loops = loops, .order = order};
    uint32_t n = g->n;
    w.first_member = PTX_NEW(c, uint32_t, n + 2);
    w.seen = PTX_NEW(c, uint8_t, n);
    uint64_t total = 0;
    for (uint32_t v = 0; v < n; v++)
        for (int32_t h = loops->header[v]; h >= 0; h = loops->parent[h], total++)
            w.first_member[h + 2]++;
    if (total > (uint64_t)n * MAX_DEPTH)
        ptx_fail(c, 0, "", 0, "loops nested more than %d deep", MAX_DEPTH);
    for (uint32_t v = 0; v < n; v++)
        w.first_member[v + 2] += w.first_member[v + 1];
    w.member = PTX_NEW(c, int32_t, total);
    for (uint32_t v = 0; v < n; v++)
        for (int32_t h = loops->header[v]; h >= 0; h = loops->parent[h])
            w.member[w.first_member[h + 1]++] = (int32_t)v;
    lay_out(&w, -1, seen_from(loops, -1, 0), 0);
    return w.count;
}
