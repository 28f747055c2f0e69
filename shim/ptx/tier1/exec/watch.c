/* Tier 1 execution: watched launches. An object tests each access against a range that it remembers; what is outside
 * comes here. A block with a wrong access is run again by the interpreter, which watches each thread and reports. For
 * initcheck only what is written in whole is remembered, and what comes here is reported at once: the block goes on, as
 * a second run of it would find other memory. */
#include "ptx/tier0/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/tier1/exec/object.h"

bool t1_watch_prepare(struct t1_worker *t, const struct t0_grid *g)
{
    const struct lir_kernel_rec *k = g->kernel->rec;
    if (!t->ranges && !(t->ranges = malloc(T1_RANGES * sizeof *t->ranges)))
        return false;
    memset(t->ranges, 0, T1_RANGES * sizeof *t->ranges);
    t->room.block.ranges = t->ranges;
    t->room.block.shared_used = k->uses_dynamic ? k->dynamic_offset + g->dynamic_shared : k->shared_size;
    return true;
}

static enum t0_access_kind kind_of(const struct t1_watched *at)
{
    return at->what & T1_WATCH_UPDATES ? T0_UPDATES : at->what & T1_WATCH_WRITES ? T0_WRITES : T0_READS;
}

static bool within(uint64_t a, uint32_t size, const struct t1_range *r)
{
    return a - r->base < r->size && size <= r->size - (a - r->base);
}

/* Whether the thread may access it, and *r: of what, as far as that is so for the whole launch. */
static bool may_access(const struct t1_block *b, uint32_t thread, uint64_t a, const struct t1_watched *at,
                       struct t1_range *r)
{
    const struct t1_worker *t = b->worker;
    const struct t0_watch *w = t->grid->watch;
    const enum t0_access_kind kind = kind_of(at);
    *r = (struct t1_range){0, 0};
    if (at->what & (T1_WATCH_SHARED | T1_WATCH_LOCAL))
        return !(w->tools & T0_MEMCHECK) ||
               within(a, at->bytes,
                      &(struct t1_range){0, at->what & T1_WATCH_SHARED
                                                ? t0_shared_limit(b->shared_used, a, at->bytes, kind)
                                                : b->local_stride});
    if (w->range(w->ctx, a, kind, &r->base, &r->size) && within(a, at->bytes, r))
        return true;
    *r = (struct t1_range){0, 0};
    if (w->allowed(w->ctx, a, at->bytes, kind))
        return true;
    if (at->what & T1_WATCH_GLOBAL)
        return !(w->tools & T0_MEMCHECK);
    const uint64_t offset = a - (uintptr_t)b->shared;
    const struct t1_range shared = {(uintptr_t)b->shared, t0_shared_limit(b->shared_used, offset, at->bytes, kind)},
                          local = {(uintptr_t)b->local + thread * b->local_stride, b->local_stride},
                          params = {(uintptr_t)b->params, t->grid->kernel->rec->param_size};
    if (within(a, at->bytes, &shared)) {
        *r = (struct t1_range){shared.base, b->shared_used};
        return true;
    }
    return within(a, at->bytes, &local) || (kind == T0_READS && within(a, at->bytes, &params)) ||
           !(w->tools & T0_MEMCHECK);
}

/* A thread of the block at an access. */
static void place_at(const struct t1_block *b, uint32_t thread, const struct t1_watched *at, struct t0_place *p)
{
    const struct t1_worker *t = b->worker;
    const struct t0_kernel *k = t->grid->kernel;
    memset(p, 0, sizeof *p);
    p->kernel = LIR_AT(k->module->image, strings, char) + k->rec->name;
    p->line = at->line;
    p->pc = UINT32_MAX - p->line; /* no other place's */
    p->source = t0_source(k->module->image, p->line);
    memcpy(p->block, b->ctaid, sizeof p->block);
    t1_thread_at(b, thread, p->thread);
}

/* ---- initcheck ------------------------------------------------------------------------------- */

/* Whether a place is global memory: the block's own shared memory, its stacks and arguments are not asked for. */
static bool is_global(const struct t1_block *b, uint64_t a, uint32_t warp)
{
    const struct t1_worker *t = b->worker;
    const struct t1_range own[] = {
        {(uintptr_t)b->shared, b->shared_used},
        {(uintptr_t)b->local + warp * LIR_LANES * b->local_stride, LIR_LANES * b->local_stride},
        {(uintptr_t)b->params, t->grid->kernel->rec->param_size}};
    for (unsigned k = 0; k < sizeof own / sizeof *own; k++)
        if (a - own[k].base < own[k].size)
            return false;
    return true;
}

/* Notes what lanes write, and reports what they read that nobody has written: lanes side by side at once. */
static void look_at_written(struct t1_block *b, uint32_t warp, uint32_t mask, const uint64_t address[32],
                            const struct t1_watched *at)
{
    const struct t1_worker *t = b->worker;
    const struct t0_watch *w = t->grid->watch;
    const enum t0_access_kind kind = kind_of(at);
    for (uint32_t lanes = mask; lanes;) {
        const uint32_t first = (uint32_t)__builtin_ctz(lanes);
        const uint64_t a = address[first];
        uint32_t n = 1;
        while (first + n < LIR_LANES && lanes >> (first + n) & 1 && address[first + n] == a + n * at->bytes)
            n++;
        lanes &= ~(uint32_t)((((uint64_t)1 << n) - 1) << first);
        if (!is_global(b, a, warp) || (kind != T0_UPDATES && w->written(w->ctx, a, n * at->bytes, kind)))
            continue;
        for (uint32_t k = 0; k < n; k++)
            if (!w->written(w->ctx, a + k * at->bytes, at->bytes, kind) &&
                (kind != T0_READS ||
                 t0_undefined_matters_in(w, t->grid->kernel, at->line, a + k * at->bytes, at->bytes))) {
                struct t0_place place;
                place_at(b, warp * LIR_LANES + first + k, at, &place);
                t0_report_unwritten(w, &place, a + k * at->bytes, at->bytes);
            }
    }
}

/* ---- memcheck -------------------------------------------------------------------------------- */

void t1_service_watch(struct t1_block *b, uint32_t warp, uint32_t mask, const uint64_t address[32],
                      const struct t1_watched *at, struct t1_range *range)
{
    struct t1_range first = {0, 0}, r;
    struct t1_worker *t = b->worker;
    t->wrong.lanes = 0;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(lanes);
        const uint64_t a = at->what & T1_WATCH_32 ? (uint32_t)address[l] : address[l];
        t->wrong.address[l] = a;
        if (!may_access(b, warp * LIR_LANES + l, a, at, &r))
            t->wrong.lanes |= 1u << l;
        if (!first.size)
            first = r;
    }
    if (t->wrong.lanes) {
        t->wrong.at = at;
        t->wrong.warp = warp;
        t1_raise(b, T0_FAULT_ADDRESS, warp, (uint32_t)__builtin_ctz(t->wrong.lanes), "out of bounds");
    }
    if (range)
        *range = first;
    if (range && t->grid->watch->tools & T0_INITCHECK)
        look_at_written(b, warp, mask, t->wrong.address, at);
}

/* ---- the second run -------------------------------------------------------------------------- */

struct counted {
    const struct t0_watch *watch;
    _Atomic unsigned findings;
};

static bool allowed(void *ctx, uint64_t address, uint32_t size, enum t0_access_kind kind)
{
    const struct counted *c = ctx;
    return c->watch->allowed(c->watch->ctx, address, size, kind);
}

static const char *denied(void *ctx, uint64_t address, uint32_t size, enum t0_access_kind kind)
{
    const struct counted *c = ctx;
    return c->watch->denied(c->watch->ctx, address, size, kind);
}

static void report(void *ctx, const struct t0_finding *f)
{
    struct counted *c = ctx;
    c->findings++;
    c->watch->report(c->watch->ctx, f);
}

/* What tier 1 knows of it: of one lane. */
static void report_lane(const struct t1_worker *t, const struct t0_grid *g, const struct t1_wrong *w, uint32_t lane)
{
    static const char *const kind[] = {"read", "write", "atomic", "atomic"};
    char title[80], where[80], limit[80];
    struct t0_finding f = {
        .tool = T0_MEMCHECK, .fatal = true, .title = title, .places = 1, .note = {where, limit}, .notes = 1};
    const struct t1_block *b = &t->now->block;
    const unsigned what = w->at->what;
    const char *space = what & T1_WATCH_SHARED ? "shared" : what & T1_WATCH_LOCAL ? "local" : "global";
    f.address = w->address[lane];
    f.has_address = !(what & (T1_WATCH_SHARED | T1_WATCH_LOCAL));
    snprintf(title, sizeof title, "Invalid __%s__ %s of size %u bytes", space, kind[what & 3], w->at->bytes);
    snprintf(where, sizeof where, "Address 0x%llx is %s", (unsigned long long)f.address,
             f.has_address ? g->watch->denied(g->watch->ctx, f.address, w->at->bytes, kind_of(w->at))
                           : "out of bounds");
    if (!f.has_address)
        snprintf(limit, sizeof limit, "of %llu bytes of %s memory that the %s has",
                 (unsigned long long)(what & T1_WATCH_SHARED ? b->shared_used : b->local_stride), space,
                 what & T1_WATCH_SHARED ? "block" : "thread");
    f.notes += !f.has_address;
    place_at(b, w->warp * LIR_LANES + lane, w->at, &f.at[0].place);
    g->watch->report(g->watch->ctx, &f);
}

/* Whether a second run of a block may be another one: it draws numbers from memory that all blocks share. */
static bool draws_numbers(const struct lir_image *image)
{
    const struct lir_insn *code = LIR_AT(image, code, struct lir_insn);
    for (uint32_t k = 0; k < image->code.count; k++)
        if (code[k].op == LIR_ATOM && !(code[k].aux & LIR_ATOM_SHARED) && code[k].d)
            return true;
    return false;
}

bool t1_watch_again(struct t1_worker *t, const struct t0_grid *g, struct t0_fault *fault)
{
    struct counted c = {g->watch, 0};
    struct t0_watch watch = *g->watch;
    struct t0_grid again = *g;
    const struct t1_wrong wrong = t->wrong;
    if (g->refused)
        *g->refused = true;
    watch.ctx = &c;
    watch.allowed = allowed;
    watch.denied = denied;
    watch.report = report;
    again.watch = &watch;
    t->wrong.at = NULL;
    if (!wrong.at || !draws_numbers(g->kernel->module->image))
        t1_find_fault(t->owner, &again, t0_block_number(g, t->now->block.ctaid), fault);
    for (uint32_t lanes = wrong.at && !c.findings ? wrong.lanes : 0; lanes; lanes &= lanes - 1)
        report_lane(t, g, &wrong, (uint32_t)__builtin_ctz(lanes));
    return wrong.at || c.findings;
}
