/* Divergence: which blocks run with a partial mask, where parted lanes meet, and which loops lanes
 * leave in different rounds. */
#include "ptx/analyse.h"

#include <stdlib.h>

enum { MAX_PASSES = 8 };

bool ptx_in_loop(const struct ptx_func *f, int32_t block, int32_t header)
{
    int32_t h = f->block[block].loop_header;
    while (h >= 0 && h != header)
        h = f->block[h].loop_parent;
    return h == header;
}

static void set(struct ptx_run *r, bool *flag)
{
    r->changed |= !*flag;
    *flag = true;
}

/* Blocks between b's successors and ipdom(b), in block order. */
static uint32_t find_region(struct ptx_run *r, int32_t b)
{
    struct ptx_func *f = r->f;
    int32_t stop = f->block[b].ipdom;
    uint32_t n = 0, done = 0;
    for (uint32_t s = 0; s < f->block[b].nsucc; s++) {
        int32_t t = f->block[b].succ[s];
        if (t != stop && !r->in_region[t]) {
            r->in_region[t] = 1;
            r->region[n++] = t;
        }
    }
    for (; done < n; done++) {
        const struct ptx_block *k = &f->block[r->region[done]];
        for (uint32_t s = 0; s < k->nsucc && r->region[done] != b; s++) {
            if (k->succ[s] != stop && !r->in_region[k->succ[s]]) {
                r->in_region[k->succ[s]] = 1;
                r->region[n++] = k->succ[s];
            }
        }
    }
    for (uint32_t i = 0; i < n; i++)
        set(r, &f->block[r->region[i]].divergent);
    return n;
}

/* Label of block k: the successor of b through which every lane arriving here came; k itself when
 * lanes come through different ones; -1 = none arrives. */
static int32_t arriving(const struct ptx_run *r, int32_t k, int32_t b)
{
    const struct ptx_block *blk = &r->f->block[k];
    int32_t label = -1;
    for (uint32_t p = 0; p < blk->npred; p++) {
        int32_t from = blk->pred[p], l;
        if (from == b)
            l = k;
        else if (r->in_region[from])
            l = r->label[from];
        else
            continue;
        if (l < 0)
            continue;
        if (label >= 0 && label != l)
            return k;
        label = l;
    }
    return label;
}

static bool met(const struct ptx_run *r, int32_t k, int32_t b)
{
    const struct ptx_block *blk = &r->f->block[k];
    int32_t first = -1;
    bool any = false;
    for (uint32_t p = 0; p < blk->npred; p++) {
        int32_t from = blk->pred[p], l = from == b ? k : r->in_region[from] ? r->label[from] : -1;
        if (l < 0)
            continue;
        if (any && l != first)
            return true;
        any = true;
        first = l;
    }
    return false;
}

static int by_number(const void *a, const void *b)
{
    return *(const int32_t *)a < *(const int32_t *)b ? -1
                                                     : *(const int32_t *)a > *(const int32_t *)b;
}

static void sort_blocks(int32_t *v, uint32_t n)
{
    bool sorted = true;
    for (uint32_t i = 1; i < n; i++)
        sorted &= v[i - 1] < v[i];
    if (!sorted)
        qsort(v, n, sizeof *v, by_number);
}

/* Block b branches per lane: lanes run parted until ipdom(b). A block where lanes of different
 * successors arrive is a join. Lanes that go round a loop while others leave it meet again later,
 * so that back edges of loops around b carry labels as well. */
void ptx_part(struct ptx_run *r, int32_t b)
{
    struct ptx_func *f = r->f;
    uint32_t n = find_region(r, b);
    int32_t stop = f->block[b].ipdom;
    sort_blocks(r->region, n);
    for (uint32_t i = 0; i < n; i++)
        r->label[r->region[i]] = -1;
    bool stable = false;
    for (int pass = 0; pass < MAX_PASSES && !stable; pass++) {
        stable = true;
        for (uint32_t i = 0; i < n; i++) {
            int32_t k = r->region[i], l = arriving(r, k, b);
            r->work += f->block[k].npred + 1;
            stable &= l == r->label[k];
            r->label[k] = l;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        int32_t k = r->region[i];
        /* the inner loop's own back edge brings back the lanes that went in */
        if (stable ? met(r, k, b) : f->block[k].npred > 1)
            set(r, &f->block[k].join);
    }
    if (stop >= 0 && (!stable || met(r, stop, b)))
        set(r, &f->block[stop].join);
    for (int32_t h = f->block[b].loop_header; h >= 0; h = f->block[h].loop_parent)
        if (stop < 0 || !ptx_in_loop(f, stop, h))
            set(r, &f->block[h].left_divergently);
    for (uint32_t i = 0; i < n; i++)
        r->in_region[r->region[i]] = 0;
    r->work += n;
}
