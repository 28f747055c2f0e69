/* Divergence: which blocks run with a partial mask, where lanes come together, and which loops they leave in
 * different rounds. reconverge.h says by what definition. */
#include "ptx/analysis/reconverge.h"

#include <string.h>

enum { NOWHERE = -1 };

bool ptx_in_loop(const struct ptx_func *f, int32_t block, int32_t header)
{
    int32_t h = f->block[block].loop_header;
    while (h >= 0 && h != header)
        h = f->block[h].loop_parent;
    return h == header;
}

bool ptx_outside(const struct ptx_func *f, int32_t def_block, int32_t use_block)
{
    if (def_block < 0)
        return false;
    if (f->block[def_block].loose && use_block != def_block)
        return true;
    for (int32_t h = f->block[def_block].loop_header; h >= 0; h = f->block[h].loop_parent)
        if (f->block[h].left_divergently && !ptx_in_loop(f, use_block, h))
            return true;
    return false;
}

void ptx_divergence_init(struct ptx_divergence *p, const struct ptx_func *f, int32_t *words)
{
    const size_t n = f->nblock;
    *p = (struct ptx_divergence){
        .f = f, .block = words, .loop_end = words + n, .label = words + 2 * n, .mark = (uint8_t *)(words + 3 * n)};
    memset(p->mark, 0, n);
    for (uint32_t k = 0; k < n; k++) {
        p->label[k] = NOWHERE;
        for (int32_t h = f->block[k].loop_header; h >= 0; h = f->block[h].loop_parent)
            p->loop_end[h] = (int32_t)k;
    }
}

static void mark(struct ptx_divergence *p, int32_t k, unsigned what)
{
    if (!p->mark[k])
        p->block[p->n++] = k;
    p->mark[k] |= (uint8_t)what;
}

/* One round of a loop, or of the function, that diverged lanes run. */
struct round {
    int32_t header;   /* -1: of the function */
    uint32_t pending; /* blocks where lanes wait to run */
    int32_t back;     /* label of the lanes that wait for the next round; NOWHERE: there are none */
    bool left;        /* lanes wait outside the loop */
};

static void join_paths(struct ptx_divergence *p, int32_t *label, int32_t with, int32_t k)
{
    if (*label != NOWHERE && *label != with) {
        mark(p, k, PTX_MARK_JOIN);
        with = k;
    }
    *label = with;
}

/* Lanes of this label take an edge to block k. */
static void arrive(struct ptx_divergence *p, struct round *r, int32_t k, int32_t label)
{
    p->work++;
    if (k == r->header) {
        join_paths(p, &r->back, label, k);
    } else if (r->header >= 0 && !ptx_in_loop(p->f, k, r->header)) {
        r->left = true;
    } else {
        r->pending += p->label[k] == NOWHERE;
        join_paths(p, &p->label[k], label, k);
    }
}

/* Every edge out of the loop; other: lanes that take different ones are disjoint, as is any of them from itself in
 * another round. */
static void leave_loop(struct ptx_divergence *p, struct round *r, int32_t header, int32_t label, bool other)
{
    const struct ptx_func *f = p->f;
    for (int32_t k = header; k <= p->loop_end[header]; k++) {
        mark(p, k, PTX_MARK_DIVERGENT);
        p->work++;
        for (uint32_t s = 0; s < f->block[k].nsucc; s++)
            if (!ptx_in_loop(f, f->block[k].succ[s], header))
                arrive(p, r, f->block[k].succ[s], other ? p->labels++ : label);
    }
}

/* Runs the round from block `from` on until its lanes are together: the block where they are, NOWHERE: they are not
 * when the round ends. */
static int32_t run_round(struct ptx_divergence *p, struct round *r, int32_t from)
{
    const struct ptx_func *f = p->f;
    const int32_t end = r->header < 0 ? (int32_t)f->nblock - 1 : p->loop_end[r->header];
    for (int32_t k = from; k <= end && r->pending; k++) {
        int32_t label = p->label[k];
        p->work++;
        if (label == NOWHERE)
            continue;
        p->label[k] = NOWHERE;
        if (!--r->pending && r->back == NOWHERE && !r->left && !f->block[k].loose)
            return k;
        mark(p, k, PTX_MARK_DIVERGENT);
        if (f->block[k].loop_header == k) {
            leave_loop(p, r, k, label, false);
            k = p->loop_end[k];
            continue;
        }
        for (uint32_t s = 0; s < f->block[k].nsucc; s++)
            arrive(p, r, f->block[k].succ[s], label);
    }
    return NOWHERE;
}

static void mark_all(struct ptx_divergence *p)
{
    for (uint32_t k = 0; k < p->f->nblock; k++)
        mark(p, (int32_t)k,
             PTX_MARK_DIVERGENT | PTX_MARK_JOIN | (p->f->block[k].loop_header == (int32_t)k ? PTX_MARK_LEFT : 0));
}

/* Round by round outwards: lanes that are diverged when the round ends, some to go on in the loop and some outside,
 * leave the loop in different rounds, and it is the loop then that parts them in the round around it. */
int32_t ptx_diverge_at(struct ptx_divergence *p, int32_t b)
{
    const struct ptx_func *f = p->f;
    for (uint32_t k = 0; k < p->n; k++)
        p->mark[p->block[k]] = 0;
    p->n = 0;
    p->labels = (int32_t)f->nblock; /* those below are a join's own */
    if (f->irreducible) {
        mark_all(p);
        return NOWHERE;
    }
    struct round r = {.header = f->block[b].loop_header, .back = NOWHERE};
    for (uint32_t s = 0; s < f->block[b].nsucc; s++)
        arrive(p, &r, f->block[b].succ[s], p->labels++);
    int32_t from = b + 1;
    for (;;) {
        int32_t at = run_round(p, &r, from), h = r.header;
        if (at >= 0 || h < 0)
            return at;
        if (!r.left && !f->block[h].loose)
            return h;
        mark(p, h, PTX_MARK_LEFT);
        r = (struct round){.header = f->block[h].loop_parent, .back = NOWHERE};
        leave_loop(p, &r, h, 0, true);
        from = p->loop_end[h] + 1;
    }
}
