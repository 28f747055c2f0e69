/* Racecheck: the hazards of a launch, by places, and what is told of them when it is over. */
#include "ptx/tier0/race.h"

#include <stdlib.h>
#include <string.h>

struct t0_race *t0_race_new(const struct t0_grid *g, uint32_t op)
{
    struct t0_race *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    r->grid = g;
    r->op = op;
    if (g)
        r->global = race_global_new((uint64_t)g->grid[0] * g->grid[1] * g->grid[2]);
    return r;
}

static bool is_same_place(const struct race_hazard *a, const struct race_hazard *b)
{
    return a->a.pc == b->a.pc && a->b.pc == b->b.pc && a->a.kind == b->a.kind && a->b.kind == b->b.kind &&
           a->same == b->same && a->global == b->global && a->tensor == b->tensor &&
           race_history_alike(a->a.op, b->a.op) && race_history_alike(a->b.op, b->b.op);
}

void t0_race_found(struct t0_race *r, const struct race_hazard *found)
{
    struct race_hazard h = *found;
    if (h.a.kind == T0_READS || (h.b.kind != T0_READS && h.a.pc > h.b.pc)) {
        h.a = found->b;
        h.b = found->a;
    }
    pthread_mutex_lock(&r->lock);
    uint32_t k = 0;
    while (k < r->hazards && !is_same_place(&r->hazard[k], &h))
        k++;
    if (k == r->hazards && k == r->room) {
        const uint32_t more = r->room ? 2 * r->room : 16;
        struct race_hazard *p = realloc(r->hazard, more * sizeof *p);
        if (p) {
            r->hazard = p;
            r->room = more;
        }
    }
    if (k < r->hazards) {
        r->hazard[k].count += h.count;
        if (h.error && !r->hazard[k].error) {
            h.count = r->hazard[k].count;
            r->hazard[k] = h; /* name threads of two warps */
        }
    } else if (k < r->room) {
        r->hazard[r->hazards++] = h;
    }
    pthread_mutex_unlock(&r->lock);
}

void t0_race_place(const struct t0_grid *g, uint32_t pc, uint64_t block, uint32_t thread, struct t0_place *p)
{
    const struct lir_image *m = g->kernel->module->image;
    const char *strings = LIR_AT(m, strings, char);
    memset(p, 0, sizeof *p);
    p->pc = pc;
    p->line = LIR_AT(m, lines, struct lir_line)[pc].line;
    p->source = t0_source(m, p->line);
    p->kernel = strings + g->kernel->rec->name;
    t0_block_index(g, block, p->block);
    p->thread[0] = thread % g->block[0];
    p->thread[1] = thread / g->block[0] % g->block[1];
    p->thread[2] = thread / g->block[0] / g->block[1];
}

/* One side of a hazard: a thread of this launch, or another launch, copy or fill. */
static void fill_side(const struct t0_race *r, const struct race_place *from, struct t0_finding *f, unsigned side)
{
    static const char *const kind[] = {"Read access", "Write access", "Atomic access"};
    f->at[side].what = kind[from->kind];
    if (from->op)
        race_history_place(from->op, from, &f->at[side].place, &f->at[side].copy);
    else
        t0_race_place(r->grid, from->pc, from->block, from->thread, &f->at[side].place);
}

/* A read that an atomic of another thread may overtake, before a compare-and-swap confirms it. */
static bool is_confirmed(const struct t0_race *r, const struct race_hazard *h)
{
    return r->grid && !h->a.op && !h->b.op && h->a.kind == T0_UPDATES && h->b.kind == T0_READS &&
           t0_load_is_compared(r->grid->kernel->module->image, h->b.pc);
}

void t0_race_end(struct t0_race *r, const struct t0_watch *watch)
{
    if (!r)
        return;
    if (r->global && r->op)
        race_global_close(r, r->global);
    for (uint32_t k = 0; k < r->hazards; k++) {
        const struct race_hazard *h = &r->hazard[k];
        const bool streams = h->a.op || h->b.op;
        struct t0_finding f = {.tool = T0_RACECHECK,
                               .severity = h->same || is_confirmed(r, h) ? T0_INFO
                                           : h->error                    ? T0_ERROR
                                                                         : T0_WARNING,
                               .hazards = h->count,
                               .title = streams     ? "Race between streams in global memory reported between"
                                        : h->global ? "Race in global memory reported between"
                                        : h->tensor ? "Race in tensor memory reported between"
                                                    : "Race reported between",
                               .places = 2};
        fill_side(r, &h->a, &f, 0);
        fill_side(r, &h->b, &f, 1);
        f.other = h->a.op && h->a.op != r->op ? h->a.op : h->b.op && h->b.op != r->op ? h->b.op : 0;
        watch->report(watch->ctx, &f);
    }
    pthread_mutex_destroy(&r->lock);
    race_global_free(r->global);
    free(r->hazard);
    free(r);
}
