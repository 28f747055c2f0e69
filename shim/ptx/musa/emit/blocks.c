/* The MUSA emitter: a function's basic blocks and their edges. */
#include "ptx/musa/emit/blocks.h"

const struct lir_insn *mu_code(const struct mu_emit *e) { return LIR_AT(e->image, code, struct lir_insn); }

bool mu_ends(unsigned op)
{
    return op == LIR_BRA || op == LIR_BRP || op == LIR_BRX || op == LIR_RET || op == LIR_EXIT || op == LIR_TRAP;
}

static void cut(struct mu_emit *e, struct ptx_ctx *c, struct mu_blocks *b)
{
    const struct lir_insn *code = mu_code(e);
    uint32_t from = e->fn->entry;
    b->first = PTX_NEW(c, uint32_t, e->end - from + 2);
    for (uint32_t k = from; k < e->end; k++)
        if (k == from || e->label[k] || mu_ends(code[k - 1].op)) {
            e->block[k] = b->n;
            b->first[b->n++] = k;
        }
    b->first[b->n] = e->end;
}

static void add_edge(struct mu_emit *e, int32_t *succ, uint32_t *n, uint32_t first, uint32_t at)
{
    if (at < e->fn->entry || at >= e->end)
        mu_fail(e, "a branch out of its function");
    int32_t to = (int32_t)e->block[at];
    for (uint32_t k = first; k < *n; k++)
        if (succ[k] == to)
            return;
    succ[(*n)++] = to;
}

static void find_edges(struct mu_emit *e, struct ptx_ctx *c, struct mu_blocks *b)
{
    const struct lir_insn *code = mu_code(e);
    const uint32_t *target = LIR_AT(e->image, targets, uint32_t);
    const struct lir_table *table = LIR_AT(e->image, tables, struct lir_table);
    uint32_t *start = PTX_NEW(c, uint32_t, b->n + 1), n = 0, most = 2 * b->n;
    for (uint32_t v = 0; v < b->n; v++) {
        const struct lir_insn *i = &code[b->first[v + 1] - 1];
        most += i->op == LIR_BRX ? table[i->imm].count : 0;
    }
    int32_t *succ = PTX_NEW(c, int32_t, most + 1);
    for (uint32_t v = 0; v < b->n; v++) {
        const struct lir_insn *i = &code[b->first[v + 1] - 1];
        start[v] = n;
        if (i->op == LIR_BRA || i->op == LIR_BRP)
            add_edge(e, succ, &n, start[v], (uint32_t)i->imm);
        for (uint32_t k = 0; i->op == LIR_BRX && k < table[i->imm].count; k++)
            add_edge(e, succ, &n, start[v], target[table[i->imm].first + k]);
        if (i->op == LIR_BRP || !mu_ends(i->op))
            add_edge(e, succ, &n, start[v], b->first[v + 1]);
    }
    start[b->n] = n;
    b->g = (struct ptx_graph){b->n, start, succ};
}

bool mu_in_loop(const struct mu_blocks *b, int32_t header, int32_t v)
{
    int32_t h = b->loops.header[v];
    while (h >= 0 && h != header)
        h = b->loops.parent[h];
    return h >= 0;
}

bool mu_is_header(const struct mu_blocks *b, int32_t v) { return b->loops.header[v] == v; }

bool mu_dominates(const struct mu_blocks *b, int32_t a, int32_t v) { return b->pre[v] - b->pre[a] < b->nodes[a]; }

/* Blocks in preorder of the dominator tree: a subtree is an interval of it. */
static void number_subtrees(struct mu_blocks *b, struct ptx_ctx *c)
{
    uint32_t *at = PTX_NEW(c, uint32_t, b->n);
    b->pre = PTX_NEW(c, uint32_t, b->n);
    b->nodes = PTX_NEW(c, uint32_t, b->n);
    for (uint32_t k = b->count; k-- > 0;) {
        const int32_t v = b->order[k];
        b->nodes[v]++;
        if (b->idom[v] >= 0)
            b->nodes[b->idom[v]] += b->nodes[v];
    }
    for (uint32_t k = 0; k < b->count; k++) {
        const int32_t v = b->order[k], p = b->idom[v];
        b->pre[v] = p < 0 ? 0 : at[p];
        at[v] = b->pre[v] + 1;
        if (p >= 0)
            at[p] += b->nodes[v];
    }
}

void mu_find_blocks(struct mu_emit *e, struct ptx_ctx *c, struct mu_blocks *b)
{
    cut(e, c, b);
    find_edges(e, c, b);
    b->idom = PTX_NEW(c, int32_t, b->n);
    b->order = PTX_NEW(c, int32_t, b->n);
    ptx_dominators(c, &b->g, 0, b->idom);
    ptx_find_loops(c, &b->g, b->idom, &b->loops);
    b->count = ptx_layout(c, &b->g, &b->loops, b->order);
    number_subtrees(b, c);
    mu_plan_sums(e, c, b);
}
