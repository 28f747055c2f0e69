/* The order of a plan's nodes, and where in the workspace lies what is between them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/graph/graph.h"

enum { ALIGNMENT = 256 };
static size_t aligned(size_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

bool graph_writes(const struct graph_node *n, const struct graph_rule *r)
{
    bool given = n->kind == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR && n->way == CUDNN_NORM_FWD_INFERENCE &&
                 (r->name == CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC ||
                  r->name == CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC);
    return (r->flags & GRAPH_OUTPUT) && !given;
}

/* Calls visit(job, tensor, written) for each operand. */
static void each_operand(const struct graph_node *n, void (*visit)(void *job, int tensor, bool written), void *job)
{
    const struct graph_kind *k = graph_kind_of(n->kind);
    int slot = 0;
    for (unsigned i = 0; i < k->rules; i++) {
        const struct graph_rule *r = &k->rule[i];
        if (!(r->flags & (GRAPH_INPUT | GRAPH_OUTPUT)))
            continue;
        for (int m = 0; m < r->most; m++, slot++)
            if (n->operand[slot] >= 0)
                visit(job, n->operand[slot], graph_writes(n, r));
    }
}

/* ---- order ------------------------------------------------------------------------------------- */

struct ordering {
    const struct graph_plan *p;
    int node;
    int *writer; /* of each tensor: its node, or -1 */
    bool *done;  /* of each node */
    bool bad, ready, open;
};

/* Tensors of one number are one, whatever their descriptions. */
static int writer_of(const struct ordering *o, int tensor)
{
    for (unsigned i = 0; i < o->p->tensors; i++)
        if (o->p->tensor[i].uid == o->p->tensor[tensor].uid && o->writer[i] >= 0)
            return o->writer[i];
    return -1;
}

static void note_writer(void *job, int tensor, bool written)
{
    struct ordering *o = job;
    if (!written)
        return;
    o->bad |= writer_of(o, tensor) >= 0 || o->p->tensor[tensor].place == GRAPH_VALUE ||
              o->p->tensor[tensor].place == GRAPH_CONSTANT;
    o->writer[tensor] = o->node;
}

static void ask_ready(void *job, int tensor, bool written)
{
    struct ordering *o = job;
    int writer = writer_of(o, tensor);
    if (written)
        return;
    o->ready &= writer < 0 || writer == o->node || o->done[writer];
    o->open |= writer < 0 && o->p->tensor[tensor].place == GRAPH_VIRTUAL;
}

/* Nodes behind those whose results they read, else in the program's order. */
static bool is_ready(struct ordering *o, unsigned node)
{
    o->node = (int)node;
    o->ready = !o->done[node];
    if (o->ready)
        each_operand(&o->p->node[node], ask_ready, o);
    return o->ready;
}

/* All nodes of these heads that are ready, and those that are then; heads 0: of none. */
static void take_ready(struct ordering *o, struct graph_node *sorted, unsigned *count, const int64_t *heads)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned i = 0; i < o->p->nodes; i++) {
            int64_t own[2];
            if (!graph_has_heads(o->p, &o->p->node[i], own))
                own[0] = own[1] = 0;
            if (own[0] != heads[0] || own[1] != heads[1] || !is_ready(o, i))
                continue;
            sorted[(*count)++] = o->p->node[i];
            moved = o->done[i] = true;
        }
    }
}

static int order(struct graph_plan *p)
{
    struct graph_node *sorted = malloc((p->nodes + 1) * sizeof *sorted);
    struct ordering o = {.p = p, .writer = malloc((p->tensors + 1) * sizeof *o.writer)};
    int r = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    unsigned count = 0;
    o.done = calloc(p->nodes + 1, sizeof *o.done);
    if (!sorted || !o.writer || !o.done)
        goto out;
    for (unsigned i = 0; i < p->tensors; i++)
        o.writer[i] = -1;
    for (unsigned i = 0; i < p->nodes; i++) {
        o.node = (int)i;
        each_operand(&p->node[i], note_writer, &o);
    }
    r = CUDNN_STATUS_BAD_PARAM;
    if (o.bad)
        goto out;
    /* what runs for batches and heads by itself stays together */
    for (unsigned before = UINT_MAX; before != count;) {
        int64_t heads[2] = {0, 0};
        before = count;
        take_ready(&o, sorted, &count, heads);
        for (unsigned i = 0; !heads[0] && i < p->nodes; i++)
            if (is_ready(&o, i))
                graph_has_heads(p, &p->node[i], heads);
        if (heads[0])
            take_ready(&o, sorted, &count, heads);
    }
    if (count < p->nodes) /* a circle */
        goto out;
    memcpy(p->node, sorted, p->nodes * sizeof *sorted);
    p->open = o.open;
    r = CUDNN_STATUS_SUCCESS;
out:
    free(sorted);
    free(o.writer);
    free(o.done);
    return r;
}

/* ---- workspace --------------------------------------------------------------------------------- */

struct life {
    size_t size;
    unsigned first, last;
};
struct living {
    const struct graph_plan *p;
    struct life *life; /* of each tensor */
    unsigned node, end;
};

static void note_use(void *job, int tensor, bool written)
{
    struct living *l = job;
    struct life *life = &l->life[tensor];
    (void)written;
    life->first = l->node < life->first ? l->node : life->first;
    life->last = l->node > life->last ? l->node : life->last;
}

static size_t bytes_of(const struct mudnn_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < t->n; i++)
        last += (i == 1 ? (t->dim[i] - 1) / t->vector : t->dim[i] - 1) * t->stride[i];
    return (size_t)(last + t->vector) * dnn_size(t->type);
}

/* Nodes that run for one slice after the other do not end what others gave them, or will read, before the last. */
static void note_slices(void *job, int tensor, bool written)
{
    struct living *l = job;
    struct life *life = &l->life[tensor];
    (void)written;
    if (l->p->tensor[tensor].cut[0] || l->p->tensor[tensor].cut[1])
        return;
    life->first = l->node < life->first ? l->node : life->first;
    life->last = l->end - 1 > life->last ? l->end - 1 : life->last;
}

/* The lowest place that nothing has which lives at the same time: first fit. */
static size_t find_place(const struct graph_plan *p, const struct life *life, unsigned self)
{
    size_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned i = 0; i < self; i++) {
            bool together = life[i].size && life[i].first <= life[self].last && life[self].first <= life[i].last;
            if (together && at < p->tensor[i].at + life[i].size && p->tensor[i].at < at + life[self].size) {
                at = p->tensor[i].at + life[i].size;
                moved = true;
            }
        }
    }
    return at;
}

static int place(struct graph_plan *p, const size_t *scratch)
{
    struct living l = {.p = p, .life = calloc(p->tensors + 1, sizeof *l.life)};
    size_t end = 0;
    if (!l.life)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    for (unsigned i = 0; i < p->tensors; i++)
        l.life[i].first = p->nodes;
    for (l.node = 0; l.node < p->nodes; l.node++)
        each_operand(&p->node[l.node], note_use, &l);
    for (l.node = 0; l.node < p->nodes; l.node = l.end) {
        l.end = graph_slice_end(p, l.node);
        for (unsigned i = l.node; p->node[l.node].slices[0] && i < l.end; i++)
            each_operand(&p->node[i], note_slices, &l);
    }
    for (unsigned i = 0; i < p->tensors; i++) {
        struct graph_tensor *t = &p->tensor[i];
        if (t->place == GRAPH_REAL || l.life[i].first > l.life[i].last)
            continue;
        if (t->place != GRAPH_VIRTUAL) /* written before the first node */
            l.life[i].first = 0;
        struct mudnn_tensor part = t->t;
        for (int d = 0; d < 2 && d < part.n; d++)
            part.dim[d] = t->cut[d] ? 1 : part.dim[d];
        l.life[i].size = aligned(t->place == GRAPH_VIRTUAL ? bytes_of(&part) : sizeof(double));
        t->at = find_place(p, l.life, i);
        end = t->at + l.life[i].size > end ? t->at + l.life[i].size : end;
    }
    free(l.life);
    p->workspace = end;
    for (unsigned i = 0; i < p->nodes; i++) {
        p->node[i].at = end;
        p->workspace = end + aligned(scratch[i]) > p->workspace ? end + aligned(scratch[i]) : p->workspace;
    }
    if (p->workspace) /* for a program's memory that begins anywhere */
        p->workspace += ALIGNMENT;
    return CUDNN_STATUS_SUCCESS;
}

/* Only convolutions and what is done element by element know vectors of channels. */
struct looking {
    const struct graph_plan *p;
    bool vectors;
};
static void look_for_vectors(void *job, int tensor, bool written)
{
    struct looking *l = job;
    (void)written;
    l->vectors |= l->p->tensor[tensor].t.vector > 1;
}
static bool takes_its_vectors(const struct graph_plan *p, const struct graph_node *n)
{
    struct looking l = {p, false};
    if (n->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
        (n->kind == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR && n->mode != CUDNN_POINTWISE_GEN_INDEX))
        return true;
    each_operand(n, look_for_vectors, &l);
    return !l.vectors;
}

static int check(const struct graph_plan *p, size_t *scratch)
{
    for (unsigned i = 0; i < p->tensors; i++) {
        const struct graph_tensor *t = &p->tensor[i];
        if (t->odd || (t->swizzled && !graph_is_special(p, (int)i)))
            return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
        if (!dnn_size(t->t.type) && !graph_is_special(p, (int)i))
            return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
        for (int d = 0; t->place == GRAPH_VALUE && d < t->t.n; d++)
            DNN_BAD_UNLESS(t->t.dim[d] == 1);
    }
    int r = CUDNN_STATUS_SUCCESS;
    for (unsigned i = 0; !r && i < p->nodes; i++) {
        struct graph_work w = {.p = p, .n = &p->node[i]};
        r = takes_its_vectors(p, w.n) ? graph_work(&w) : CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
        scratch[i] = w.scratch;
    }
    return r;
}

int graph_arrange(struct graph_plan *p)
{
    int r = order(p);
    if (r)
        return r;
    size_t *scratch = calloc(p->nodes + 1, sizeof *scratch);
    if (!scratch)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    for (unsigned i = 0; i < p->nodes; i++) /* of a plan's text */
        p->node[i].slices[0] = 0;
    r = check(p, scratch);
    if (!r) {
        graph_slice_plan(p);
        r = place(p, scratch);
    }
    free(scratch);
    return r;
}
