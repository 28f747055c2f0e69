/* Synccheck: barriers and collectives that threads use in ways that the PTX ISA leaves undefined. The interpreter gets
 * on in all of them; a device may hang, or go on too early. */
#include "ptx/tier0/tools.h"

#include <stdlib.h>
#include <string.h>

/* What a block's threads, and mbarriers of its cluster, have done so far. */
struct sync_block {
    /* Lanes that were alive and elsewhere when others of their warp came to a barrier, and not about to exit. */
    uint32_t behind[LIR_BARRIER_CLUSTER][T0_MAX_WARPS];
    uint64_t *object; /* mbarriers that were initialised, in the first block of a cluster: open addressing, 0 = none */
    uint32_t objects, room;
    bool lost; /* memory ran out for them */
};

static const struct lir_insn *code_of(const struct t0_block *b) { return LIR_AT(b->image, code, struct lir_insn); }

static void report(struct t0_warp *w, const struct lir_insn *i, uint32_t lanes, const char *title, const char *note)
{
    const struct t0_watch *watch = w->block->grid->watch;
    struct t0_finding f = {.tool = T0_SYNCCHECK, .title = title, .places = 1, .note = {note}, .notes = note != NULL};
    T0_FOR_LANES(l, lanes)
    {
        t0_place_of(w, i, l, &f.at[0].place);
        watch->report(watch->ctx, &f);
    }
}

bool t0_synchronises(const struct t0_kernel *k)
{
    const struct lir_image *m = k->module->image;
    const struct lir_insn *code = LIR_AT(m, code, struct lir_insn);
    for (uint32_t n = 0; n < m->code.count; n++)
        if ((code[n].op >= LIR_SHFL && code[n].op <= LIR_WARPSYNC) || code[n].op == LIR_BAR ||
            code[n].op == LIR_MBARRIER)
            return true;
    return false;
}

/* ---- a block's life ---------------------------------------------------------------------------- */

void t0_sync_begin(struct t0_block *b)
{
    struct sync_block *s = b->sync;
    if (!s && !(s = b->sync = calloc(1, sizeof *s)))
        return;
    memset(s->behind, 0, sizeof s->behind);
    if (s->objects)
        memset(s->object, 0, s->room * sizeof *s->object);
    s->objects = 0;
    s->lost = false;
}

void t0_sync_block_free(struct sync_block *s)
{
    if (s)
        free(s->object);
    free(s);
}

/* ---- collectives of a warp --------------------------------------------------------------------- */

/* Each lane must be in its own mask, and those that a mask names must have the same one. */
static bool masks_agree(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t *mask = T0_U32(w, i->e);
    T0_FOR_LANES(l, w->l.mask)
    {
        if (!(mask[l] >> l & 1))
            return false;
        for (uint32_t others = mask[l] & w->l.mask; others; others &= others - 1)
            if (mask[__builtin_ctz(others)] != mask[l])
                return false;
    }
    return true;
}

void t0_sync_collective(struct t0_warp *w, const struct lir_insn *i, bool forced)
{
    if (!i->e)
        return;
    if (!masks_agree(w, i))
        report(w, i, w->l.mask, "Barrier error detected. Invalid arguments.",
               "The member mask does not name the threads that arrive");
    else if (forced)
        report(w, i, w->l.mask, "Barrier error detected. Divergent thread(s) in warp.",
               "Threads of the member mask never arrive");
}

/* ---- barriers of a block ----------------------------------------------------------------------- */

/* Whether lanes at pc do nothing more than exit: the early return of threads that have no work. */
static bool is_leaving(const struct t0_block *b, const struct t0_frame *f, uint32_t pc)
{
    const struct lir_insn *code = code_of(b);
    for (unsigned steps = 0; steps < 32; steps++) {
        switch (code[pc].op) {
        case LIR_EXIT: return true;
        case LIR_JOIN: pc++; break;
        case LIR_BRA: pc = (uint32_t)code[pc].imm; break;
        case LIR_RET:
            if (!f->parent)
                return true;
            pc = f->ret_pc;
            f = f->parent;
            break;
        default: return false;
        }
    }
    return false;
}

void t0_sync_arrive(struct t0_warp *w, const struct lir_insn *i, uint32_t id)
{
    const struct t0_block *b = w->block;
    struct sync_block *s = b->sync;
    if (!s || id == LIR_BARRIER_CLUSTER)
        return;
    const unsigned lane = (unsigned)__builtin_ctz(w->l.mask);
    const struct t0_barrier *bar = &b->barrier[id];
    if (i->aux & LIR_BAR_COUNT) {
        const uint32_t count = T0_U32(w, i->b)[lane];
        if (!count || count % LIR_LANES || count > b->nwarp * LIR_LANES)
            report(w, i, w->l.mask, "Barrier error detected. Invalid arguments.",
                   "The thread count is no multiple of a warp's threads, or more than the block has");
        else if (bar->in_use && bar->count && bar->count != count)
            report(w, i, w->l.mask, "Barrier error detected. Invalid arguments.",
                   "Threads arrive at the same barrier with another thread count");
        return;
    }
    for (uint32_t k = 0; k < w->nsplit; k++) {
        const struct t0_split *split = &w->split[k];
        if (!is_leaving(b, split->frame, split->pc))
            s->behind[id][w->index] |= split->mask;
    }
}

/* The statement of an instruction; two of one are a compiler's copies. */
static bool is_same_statement(const struct t0_block *b, uint32_t pc, uint32_t other)
{
    const struct lir_line *lines = LIR_AT(b->image, lines, struct lir_line);
    const struct t0_source x = t0_source(b->image, lines[pc].line), y = t0_source(b->image, lines[other].line);
    return pc == other || lines[pc].line == lines[other].line ||
           (x.file && y.file && x.line == y.line && x.call_line == y.call_line && !strcmp(x.file, y.file));
}

static bool has_source(const struct t0_block *b, uint32_t pc)
{
    return t0_source(b->image, LIR_AT(b->image, lines, struct lir_line)[pc].line).file != NULL;
}

struct waiting { /* lanes of a warp that are at one barrier */
    struct t0_warp *w;
    uint32_t pc, lanes;
};

static unsigned collect_waiting(struct t0_block *b, struct t0_warp *by, const struct lir_insn *i, uint32_t id,
                                struct waiting *all)
{
    unsigned n = 0;
    for (uint32_t k = 0; k < b->nwarp; k++) {
        struct t0_warp *w = &b->warp[k];
        if (w == by)
            all[n++] = (struct waiting){w, (uint32_t)(i - code_of(b)), w->l.mask};
        for (uint32_t s = 0; s < w->nsplit; s++)
            if (w->split[s].state == T0_WAIT_BARRIER && w->split[s].want == id)
                all[n++] = (struct waiting){w, w->split[s].pc, w->split[s].mask};
    }
    return n;
}

/* Reports the lanes, whose frame is that of the split. */
static void report_waiting(const struct waiting *x, const char *title, const char *note)
{
    report(x->w, code_of(x->w->block) + x->pc, x->lanes, title, note);
}

/* A barrier of all threads is complete. That is one statement for all of a block, and nobody passes it by. */
void t0_sync_released(struct t0_block *b, struct t0_warp *by, const struct lir_insn *i, uint32_t id)
{
    struct sync_block *s = b->sync;
    struct waiting all[T0_MAX_WARPS * LIR_LANES];
    if (!s || id == LIR_BARRIER_CLUSTER)
        return;
    const unsigned n = b->barrier[id].count ? 0 : collect_waiting(b, by, i, id, all);
    const char *title = b->nwarp > 1 ? "Barrier error detected. Divergent thread(s) in block."
                                     : "Barrier error detected. Divergent thread(s) in warp.";
    for (unsigned k = 0; k < n; k++) {
        const uint32_t past = s->behind[id][all[k].w->index] & all[k].w->dead;
        bool apart = false;
        for (unsigned m = 0; m < n && !apart; m++)
            apart = !is_same_statement(b, all[k].pc, all[m].pc) &&
                    (all[k].w == all[m].w || (has_source(b, all[k].pc) && has_source(b, all[m].pc)));
        if (past)
            report_waiting(&all[k], title, "Other threads of the warp passed the barrier by and exited");
        else if (apart)
            report_waiting(&all[k], title, "Other threads of the block wait at another barrier");
    }
    memset(s->behind[id], 0, sizeof s->behind[id]);
}

/* ---- mbarrier objects -------------------------------------------------------------------------- */

static uint64_t *find_object(struct sync_block *s, uint64_t name)
{
    uint32_t k = (uint32_t)(name * 0x9e3779b97f4a7c15u >> 32);
    while (s->object[k & (s->room - 1)] && s->object[k & (s->room - 1)] != name)
        k++;
    return &s->object[k & (s->room - 1)];
}

/* The name of an mbarrier at an offset, while it is initialised and once it is invalidated. */
static uint64_t live_name(uint64_t object) { return object + 1; }
static uint64_t dead_name(uint64_t object) { return object + 2; }

static bool is_live(struct sync_block *s, uint64_t object)
{
    return s->room && *find_object(s, live_name(object)) == live_name(object);
}

static void add_object(struct sync_block *s, uint64_t name)
{
    if (2 * s->objects >= s->room) {
        struct sync_block more = {.room = s->room ? 2 * s->room : 64};
        if (!(more.object = calloc(more.room, sizeof *more.object))) {
            s->lost = true;
            return;
        }
        for (uint32_t k = 0; k < s->room; k++)
            if (s->object[k])
                *find_object(&more, s->object[k]) = s->object[k];
        free(s->object);
        s->object = more.object;
        s->room = more.room;
    }
    uint64_t *at = find_object(s, name);
    s->objects += !*at;
    *at = name;
}

/* One lane's operation on the mbarrier at an offset in the cluster's shared memory, before it is done. */
void t0_sync_mbarrier(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t object)
{
    enum { COUNT = 0xfffff };
    struct sync_block *s = w->block->cluster->block[0]->sync;
    const unsigned kind = i->aux & LIR_MB_KIND;
    const uint32_t operand = kind == LIR_MB_TEST ? 0 : T0_U32(w, i->b)[lane];
    uint64_t word;
    if (!s || s->lost)
        return;
    memcpy(&word, w->block->cluster->base + object, sizeof word);
    if (kind == LIR_MB_INIT) {
        if (!operand || operand > COUNT)
            report(w, i, 1u << lane, "Barrier error detected. Invalid arguments.",
                   "The expected count of arrivals is not within 1 and 1048575");
        uint64_t *dead = s->room ? find_object(s, dead_name(object)) : NULL;
        if (dead && *dead == dead_name(object))
            *dead = live_name(object);
        else
            add_object(s, live_name(object));
    } else if (!is_live(s, object)) {
        report(w, i, 1u << lane, "Barrier error detected. Missing init.", "The mbarrier object is not initialised");
    } else if ((kind == LIR_MB_ARRIVE || kind == LIR_MB_DROP) && operand > (word & COUNT)) {
        report(w, i, 1u << lane, "Barrier error detected. Invalid arguments.",
               "More arrivals than the mbarrier object still expects in this phase");
    } else if (kind == LIR_MB_INVAL) {
        *find_object(s, live_name(object)) = dead_name(object);
    }
}
