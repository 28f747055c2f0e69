/* Loops whose back edges share a header: empty blocks that give each loop one back edge, and nested loops headers of
 * their own, so that lanes which leave the inner one wait for the others before they run what follows it. A matter
 * of speed alone: without it the loops are one, and what its lanes' paths differ in varies (reconverge.h). */
#include "ptx/front/front.h"
#include "ptx/analysis/graph.h"
#include "ptx/analysis/ssa.h"

enum {
    MAX_LATCHES = 64,          /* of one header: a bit each */
    MAX_WORK = 4 * 1000 * 1000 /* steps in one function */
};

struct edge {
    uint32_t at;    /* in the graph's successors */
    uint64_t latch; /* its bit, if it is a back edge */
};

struct latches {
    struct ptx_ctx *c;
    struct ptx_func *f;
    const uint32_t *start; /* first instruction of each node; the graph's nodes only */
    const struct ptx_graph *g;
    const struct ptx_loops *loops;
    int32_t *to;           /* the graph's successors, and one of each node that is added */
    uint32_t edges, nodes; /* those of the graph, and how many were added */
    uint32_t *pred_first;  /* edges by what they lead to */
    struct edge *pred;
    uint32_t *source; /* by edge */
    struct edge *in;  /* of the header in work */
    uint32_t nin;
    uint64_t *paths;      /* by node: latches that it leads to without passing the header */
    uint64_t *defined;    /* by register: latches before which it is written in a round */
    int32_t *reg, *stack; /* registers written in the loop */
    uint32_t nreg, *seen, stamp, work;
    struct ptx_slots slots;
};

static bool in_loop(const struct latches *l, int32_t v, int32_t header)
{
    int32_t h = l->loops->header[v];
    while (h >= 0 && h != header)
        h = l->loops->parent[h];
    return h >= 0;
}

/* Which nodes lead to which of the loop's latches, and what they write. */
static void find_paths(struct latches *l, int32_t header)
{
    for (uint32_t i = 0; i < l->nreg; i++)
        l->defined[l->reg[i]] = 0;
    l->nreg = 0;
    l->work += l->g->n;
    for (uint32_t v = 0; v < l->g->n; v++)
        l->paths[v] = 0;
    for (uint32_t i = 0; i < l->nin; i++) {
        uint32_t depth = 0;
        if (!l->in[i].latch)
            continue;
        l->stack[depth++] = (int32_t)l->source[l->in[i].at];
        while (depth) {
            int32_t v = l->stack[--depth];
            if (l->paths[v] & l->in[i].latch)
                continue;
            l->paths[v] |= l->in[i].latch;
            l->work++;
            for (uint32_t p = l->pred_first[v]; v != header && p < l->pred_first[v + 1]; p++) {
                int32_t u = (int32_t)l->source[l->pred[p].at];
                if (!(l->paths[u] & l->in[i].latch) && in_loop(l, u, header))
                    l->stack[depth++] = u;
            }
        }
    }
    for (uint32_t v = 0; v < l->g->n; v++)
        for (uint32_t i = l->start[v]; l->paths[v] && i < l->start[v + 1]; i++) {
            ptx_slots_of(l->c, l->f, i, &l->slots);
            for (uint32_t s = 0; s < l->slots.n; s++) {
                const struct ptx_slot *slot = &l->slots.slot[s];
                if (slot->role != PTX_DEF)
                    continue;
                if (!l->defined[slot->reg])
                    l->reg[l->nreg++] = slot->reg;
                l->defined[slot->reg] |= l->paths[v];
            }
        }
}

/* Does a round read what an earlier one has left in the register? */
static bool is_carried(struct latches *l, int32_t header, int32_t reg)
{
    uint32_t depth = 0;
    l->stamp++;
    l->stack[depth++] = header;
    l->seen[header] = l->stamp;
    while (depth) {
        int32_t v = l->stack[--depth];
        bool written = false;
        for (uint32_t i = l->start[v]; i < l->start[v + 1] && !written; i++) {
            ptx_slots_of(l->c, l->f, i, &l->slots);
            l->work++;
            for (uint32_t s = 0; s < l->slots.n; s++) {
                if (l->slots.slot[s].reg != reg)
                    continue;
                if (l->slots.slot[s].role != PTX_DEF)
                    return true;
                written = true;
            }
        }
        for (uint32_t s = l->g->first[v]; !written && s < l->g->first[v + 1]; s++) {
            int32_t w = l->g->succ[s];
            if (l->paths[w] && l->seen[w] != l->stamp) {
                l->seen[w] = l->stamp;
                l->stack[depth++] = w;
            }
        }
    }
    return false;
}

/* An empty node before `to` for the edges to it of all but these latches, or of these alone. */
static int32_t add_node(struct latches *l, int32_t to, uint64_t latches, bool others)
{
    int32_t node = (int32_t)(l->g->n + l->nodes);
    for (uint32_t i = 0; i < l->nin; i++)
        if (l->to[l->in[i].at] == to && !(l->in[i].latch & latches) == others)
            l->to[l->in[i].at] = node;
    l->to[l->edges + l->nodes] = to;
    l->in[l->nin++] = (struct edge){l->edges + l->nodes++, 0};
    return node;
}

/* The latches of the node become one. Those that leave a carried register as it was, where others write it, are an
 * inner loop's: the register is what the outer one counts or sums in (the test is that of LLVM's LoopSimplify, made
 * on registers). first: the header in the graph, whose place the node may have taken. */
static void separate(struct latches *l, int32_t first, int32_t node, uint64_t latches)
{
    uint64_t inner = 0;
    if (!(latches & (latches - 1)))
        return;
    for (uint32_t i = 0; i < l->nreg && !inner && l->work < MAX_WORK; i++) {
        uint64_t same = latches & ~l->defined[l->reg[i]];
        if (same && same != latches && is_carried(l, first, l->reg[i]))
            inner = same;
    }
    if (!inner) {
        add_node(l, node, latches, false);
        return;
    }
    int32_t outer = add_node(l, node, inner, true);
    separate(l, first, node, inner);
    separate(l, first, outer, latches & ~inner);
}

/* Edges to the header; false: there is nothing to do, or a branch table leads to it, whose entries stay. */
static bool find_edges(struct latches *l, int32_t h)
{
    uint32_t n = 0;
    l->nin = 0;
    for (uint32_t p = l->pred_first[h]; p < l->pred_first[h + 1]; p++) {
        uint32_t at = l->pred[p].at, v = l->source[at];
        bool back = in_loop(l, (int32_t)v, h);
        if (l->start[v] < l->start[v + 1] && l->f->instr[l->start[v + 1] - 1].op == PTX_OP_BRX)
            return false;
        if (back && n == MAX_LATCHES)
            return false;
        l->in[l->nin++] = (struct edge){at, back ? (uint64_t)1 << n++ : 0};
    }
    return n > 1;
}

static void find_preds(struct latches *l)
{
    uint32_t n = l->g->n;
    l->pred_first = PTX_NEW(l->c, uint32_t, n + 2);
    l->pred = PTX_NEW(l->c, struct edge, l->edges);
    l->source = PTX_NEW(l->c, uint32_t, l->edges);
    for (uint32_t i = 0; i < l->edges; i++)
        l->pred_first[l->g->succ[i] + 2]++;
    for (uint32_t v = 0; v < n; v++)
        l->pred_first[v + 2] += l->pred_first[v + 1];
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t i = l->g->first[v]; i < l->g->first[v + 1]; i++) {
            l->source[i] = v;
            l->pred[l->pred_first[l->g->succ[i] + 1]++].at = i;
        }
}

/* Finds headers with several back edges and gives each group of them that can be told apart a node of its own. The
 * work is bounded: what is beyond the bound keeps sharing its header. */
uint32_t ptx_separate_loops(struct ptx_ctx *c, struct ptx_func *f, const uint32_t *start, const struct ptx_graph *g,
                            const struct ptx_loops *loops, int32_t **succ)
{
    struct latches l = {.c = c, .f = f, .start = start, .g = g, .loops = loops, .edges = g->first[g->n]};
    bool any = false;
    uint32_t *back = PTX_NEW(c, uint32_t, g->n);
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++)
            any |= loops->header[g->succ[i]] == g->succ[i] && in_loop(&l, (int32_t)v, g->succ[i]) &&
                   ++back[g->succ[i]] > 1;
    if (!any)
        return 0;
    find_preds(&l);
    l.to = PTX_NEW(c, int32_t, 3 * (size_t)l.edges); /* each back edge adds less than two nodes */
    for (uint32_t i = 0; i < l.edges; i++)
        l.to[i] = g->succ[i];
    l.in = PTX_NEW(c, struct edge, 3 * (size_t)l.edges);
    l.paths = PTX_NEW(c, uint64_t, g->n);
    l.defined = PTX_NEW(c, uint64_t, f->nreg);
    l.reg = PTX_NEW(c, int32_t, f->nreg);
    l.stack = PTX_NEW(c, int32_t, l.edges + 1);
    l.seen = PTX_NEW(c, uint32_t, g->n);
    for (uint32_t h = 0; h < g->n && l.work < MAX_WORK; h++)
        if (back[h] > 1 && find_edges(&l, (int32_t)h)) {
            uint64_t all = 0;
            for (uint32_t i = 0; i < l.nin; i++)
                all |= l.in[i].latch;
            find_paths(&l, (int32_t)h);
            separate(&l, (int32_t)h, (int32_t)h, all);
        }
    *succ = l.to;
    return l.nodes;
}
