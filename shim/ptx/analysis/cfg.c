/* Control-flow graph of a function: blocks in their final order, edges, dominators,
 * post-dominators. */
#include "ptx/front/front.h"
#include "ptx/analysis/graph.h"

#include <string.h>

struct build {
    struct ptx_ctx *c;
    struct ptx_func *f;
    uint32_t n;      /* blocks as the text has them, unreachable ones included */
    uint32_t *start; /* [n + 1] first instruction */
    int32_t *of;     /* instruction -> block that starts there, -1 = none */
    uint32_t *first; /* edges as in struct ptx_graph */
    int32_t *succ;
    uint32_t nsucc, succ_cap;
};

static bool ends_block(const struct ptx_instr *in)
{
    return in->op == PTX_OP_BRA || in->op == PTX_OP_BRX || in->op == PTX_OP_RET || in->op == PTX_OP_EXIT ||
           in->op == PTX_OP_TRAP;
}

static bool leaves(const struct ptx_instr *in)
{
    return in->op == PTX_OP_RET || in->op == PTX_OP_EXIT || in->op == PTX_OP_TRAP;
}

bool ptx_waits_for_lanes(const struct ptx_instr *in)
{
    switch (in->op) {
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
    case PTX_OP_CALL:
    case PTX_OP_MMA:
    case PTX_OP_WMMA:
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
    case PTX_OP_MOVMATRIX:
    case PTX_OP_WGMMA: return true;
    case PTX_OP_TCGEN05:
    case PTX_OP_TENSORMAP: return in->opcode && strstr(in->opcode, ".sync.");
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_ELECT: return in->flags & PTX_F_SYNC;
    default: return false;
    }
}

/* Leaders of basic blocks: the entry, targets of branches, what follows a branch, and where it was asked for what
 * lanes wait at. */
static void split(struct build *b)
{
    struct ptx_func *f = b->f;
    b->of = PTX_NEW(b->c, int32_t, f->ninstr + 1);
    b->of[0] = 1;
    bool loop_to_entry = false;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        if (in->op == PTX_OP_BRA) {
            b->of[f->label_instr[in->src[0].reg]] = 1;
            loop_to_entry |= !f->label_instr[in->src[0].reg];
        }
        if (ends_block(in))
            b->of[i + 1] = 1;
        if (f->split_at_waits && ptx_waits_for_lanes(in))
            b->of[i] = 1;
    }
    for (uint32_t t = 0; t < f->nbtab; t++) {
        for (uint32_t k = 0; k < f->btab[t].n; k++) {
            b->of[f->label_instr[f->btab[t].label[k]]] = 1;
            loop_to_entry |= !f->label_instr[f->btab[t].label[k]];
        }
    }
    b->start = PTX_NEW(b->c, uint32_t, f->ninstr + 2);
    if (loop_to_entry) /* keep the entry free of predecessors: an empty block in front */
        b->start[b->n++] = 0;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        if (b->of[i])
            b->start[b->n++] = i;
        b->of[i] = b->of[i] ? (int32_t)b->n - 1 : -1;
    }
    b->start[b->n] = f->ninstr;
}

static void add_edge(struct build *b, uint32_t from, int32_t to)
{
    for (uint32_t i = b->first[from]; i < b->nsucc; i++)
        if (b->succ[i] == to)
            return;
    PTX_PUSH(b->c, b->succ, b->nsucc, b->succ_cap);
    b->succ[b->nsucc++] = to;
}

/* Branch tables may be long and repeat themselves: `mark` remembers what this block already has. */
static void add_table(struct build *b, uint32_t from, const struct ptx_branch_table *t, uint32_t *mark)
{
    for (uint32_t k = 0; k < t->n; k++) {
        int32_t to = b->of[b->f->label_instr[t->label[k]]];
        if (mark[to] == from + 1)
            continue;
        mark[to] = from + 1;
        PTX_PUSH(b->c, b->succ, b->nsucc, b->succ_cap);
        b->succ[b->nsucc++] = to;
    }
}

/* Real code has two edges a block and a handful of branch tables. */
static const uint32_t max_edges = 16 * 1000 * 1000;

/* Finds the edges of all blocks: the targets of the last instruction, then the fall-through. Edges of one block lie
 * together in `succ`, from `first` on, since blocks are visited in order; the fall-through is the last one, which is
 * what emission relies on. */
static void connect(struct build *b)
{
    struct ptx_func *f = b->f;
    uint32_t *mark = PTX_NEW(b->c, uint32_t, b->n);
    b->first = PTX_NEW(b->c, uint32_t, b->n + 1);
    for (uint32_t v = 0; v < b->n; v++) {
        b->first[v] = b->nsucc;
        if (b->nsucc > max_edges)
            ptx_fail(b->c, f->line, f->name, strlen(f->name), "control flow has too many edges");
        const struct ptx_instr *in = b->start[v] == b->start[v + 1] ? NULL : &f->instr[b->start[v + 1] - 1];
        if (in && in->op == PTX_OP_BRA)
            add_edge(b, v, b->of[f->label_instr[in->src[0].reg]]);
        else if (in && in->op == PTX_OP_BRX)
            add_table(b, v, &f->btab[PTX_SYM_INDEX(in->src[1].sym)], mark);
        if (!in || !ends_block(in) || in->guard >= 0) {
            int32_t next = (int32_t)v + 1;
            if (in && in->op == PTX_OP_BRX && mark[next] == v + 1) { /* fall-through stands last */
                for (uint32_t i = b->first[v]; i + 1 < b->nsucc; i++)
                    if (b->succ[i] == next) {
                        b->succ[i] = b->succ[b->nsucc - 1];
                        b->succ[b->nsucc - 1] = next;
                    }
            } else {
                add_edge(b, v, next);
            }
        }
    }
    b->first[b->n] = b->nsucc;
}

/* f->block in final order; number[] maps text order to it. */
static void emit(struct build *b, const int32_t *order, uint32_t count, const struct ptx_loops *loops,
                 const int32_t *idom)
{
    struct ptx_func *f = b->f;
    int32_t *number = PTX_NEW(b->c, int32_t, b->n + 1);
    struct ptx_block *blocks = PTX_NEW(b->c, struct ptx_block, count);
    memset(number, -1, (b->n + 1) * sizeof *number);
    for (uint32_t i = 0; i < count; i++)
        number[order[i]] = (int32_t)i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = (uint32_t)order[i];
        struct ptx_block *k = &blocks[i];
        int32_t h = loops->header[v], up = loops->parent[v];
        k->first = b->start[v];
        k->count = b->start[v + 1] - b->start[v];
        k->nsucc = b->first[v + 1] - b->first[v];
        k->succ = PTX_NEW(b->c, int32_t, k->nsucc);
        for (uint32_t s = 0; s < k->nsucc; s++) {
            k->succ[s] = number[b->succ[b->first[v] + s]];
            blocks[k->succ[s]].npred++;
        }
        k->idom = idom[v] < 0 ? -1 : number[idom[v]];
        k->loop_header = h < 0 ? -1 : number[h];
        k->loop_parent = up < 0 ? -1 : number[up];
        k->rpo = i;
        k->reachable = true;
        if (k->loop_header == (int32_t)i)
            k->loop_depth = k->loop_parent < 0 ? 1 : blocks[k->loop_parent].loop_depth + 1;
        else if (k->loop_header >= 0)
            k->loop_depth = blocks[k->loop_header].loop_depth;
    }
    uint32_t *fill = PTX_NEW(b->c, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        blocks[i].pred = PTX_NEW(b->c, int32_t, blocks[i].npred);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t s = 0; s < blocks[i].nsucc; s++)
            blocks[blocks[i].succ[s]].pred[fill[blocks[i].succ[s]]++] = (int32_t)i;
    for (uint32_t i = 0; i < f->ninstr; i++)
        if (f->instr[i].op == PTX_OP_BRA)
            f->instr[i].src[0].reg = number[b->of[f->label_instr[f->instr[i].src[0].reg]]];
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].count && f->instr[blocks[i].first + blocks[i].count - 1].op == PTX_OP_BRA)
            f->instr[blocks[i].first + blocks[i].count - 1].src[0].reg = blocks[i].succ[0];
    for (uint32_t t = 0; t < f->nbtab; t++) {
        f->btab[t].block = PTX_NEW(b->c, int32_t, f->btab[t].n);
        for (uint32_t k = 0; k < f->btab[t].n; k++)
            f->btab[t].block[k] = number[b->of[f->label_instr[f->btab[t].label[k]]]];
    }
    f->block = blocks;
    f->nblock = count;
    f->irreducible = loops->irreducible;
}

/* Reverse graph with a virtual exit (node n). A block that cannot reach the exit (an endless loop)
 * is tied to it at its last block, so that everything has a post-dominator. */
static void post_dominators(struct build *b)
{
    struct ptx_func *f = b->f;
    uint32_t n = f->nblock, edges = 0, depth = 0, m = 0;
    uint8_t *reaches = PTX_NEW(b->c, uint8_t, n);
    int32_t *stack = PTX_NEW(b->c, int32_t, n + 1), *exits = PTX_NEW(b->c, int32_t, n);
    uint32_t nexit = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_block *k = &f->block[i];
        edges += k->npred;
        if (k->count && leaves(&f->instr[k->first + k->count - 1])) {
            exits[nexit++] = (int32_t)i;
            reaches[i] = 1;
            stack[depth++] = (int32_t)i;
        }
    }
    for (uint32_t next = n; depth || next;) {
        if (!depth) {
            if (reaches[--next])
                continue;
            exits[nexit++] = (int32_t)next;
            reaches[next] = 1;
            stack[depth++] = (int32_t)next;
        }
        const struct ptx_block *k = &f->block[stack[--depth]];
        for (uint32_t p = 0; p < k->npred; p++) {
            if (reaches[k->pred[p]])
                continue;
            reaches[k->pred[p]] = 1;
            stack[depth++] = k->pred[p];
        }
    }
    uint32_t *first = PTX_NEW(b->c, uint32_t, n + 2);
    int32_t *succ = PTX_NEW(b->c, int32_t, edges + nexit), *idom = PTX_NEW(b->c, int32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        first[i] = m;
        for (uint32_t p = 0; p < f->block[i].npred; p++)
            succ[m++] = f->block[i].pred[p];
    }
    first[n] = m;
    for (uint32_t i = 0; i < nexit; i++)
        succ[m++] = exits[i];
    first[n + 1] = m;
    struct ptx_graph g = {n + 1, first, succ};
    ptx_dominators(b->c, &g, n, idom);
    for (uint32_t i = 0; i < n; i++)
        f->block[i].ipdom = idom[i] == (int32_t)n ? -1 : idom[i];
}

static int32_t *find_loops(struct build *b, struct ptx_graph *g, struct ptx_loops *loops)
{
    int32_t *idom = PTX_NEW(b->c, int32_t, b->n);
    *g = (struct ptx_graph){b->n, b->first, b->succ};
    *loops = (struct ptx_loops){0};
    ptx_dominators(b->c, g, 0, idom);
    ptx_find_loops(b->c, g, idom, loops);
    return idom;
}

/* Empty blocks for loops that share a header; true if there are any. */
static bool separate_loops(struct build *b, const struct ptx_graph *g, const struct ptx_loops *loops)
{
    int32_t *succ;
    uint32_t more = ptx_separate_loops(b->c, b->f, b->start, g, loops, &succ), n = b->n, edges = b->first[n];
    if (!more)
        return false;
    uint32_t *start = PTX_NEW(b->c, uint32_t, n + more + 1), *first = PTX_NEW(b->c, uint32_t, n + more + 1);
    for (uint32_t v = 0; v <= n + more; v++) {
        start[v] = v <= n ? b->start[v] : b->start[n];
        first[v] = v <= n ? b->first[v] : edges + v - n;
    }
    b->n += more;
    b->start = start;
    b->first = first;
    b->succ = succ;
    return true;
}

/* The steps of the construction in order. */
static void build(struct ptx_ctx *c, struct ptx_func *f)
{
    struct build b = {.c = c, .f = f};
    struct ptx_graph g;
    struct ptx_loops loops;
    split(&b);
    connect(&b);
    int32_t *idom = find_loops(&b, &g, &loops);
    if (f->separate_loops && !loops.irreducible && separate_loops(&b, &g, &loops))
        idom = find_loops(&b, &g, &loops);
    int32_t *order = PTX_NEW(c, int32_t, b.n);
    uint32_t count = ptx_layout(c, &g, &loops, order);
    emit(&b, order, count, &loops, idom);
    post_dominators(&b);
    ptx_mark_turns(c, f);
}

int ptx_cfg_build(struct ptx_func *f, struct ptx_diag *diag)
{
    if (ptx_func_parse(f, diag))
        return -1;
    return f->block ? 0 : ptx_phase(f, diag, build);
}
