/* Tier 0 execution: the dispatch loop of a warp and the choice of the split that runs. */
#include "ptx/tier0/tools.h"
#include "ptx/base/base.h"

#include <stdlib.h>
#include <string.h>

/* Back edges of possibly spinning loops before the warp lets other warps run, and before another of its splits
 * runs: at first many, since that may wait for lanes of an ordinary loop to reconverge with it; few once what runs
 * then soon ends or waits itself, as what holds a lock does. It has TURN chances to be left for the spinning one,
 * and twice as many after each time that they were too few, up to LONG_TURN. */
enum { SPIN_YIELD = 64, SPIN_YIELD_SOON = 16, SPIN_ROTATE = 512, SPIN_ROTATE_SOON = 4, TURN = 64, LONG_TURN = 4096 };

static bool before(const struct t0_frame *fa, uint32_t pca, const struct t0_frame *fb, uint32_t pcb)
{
    return fa->depth != fb->depth ? fa->depth > fb->depth : pca < pcb;
}

static void remove_split(struct t0_warp *w, uint32_t k) { w->split[k] = w->split[--w->nsplit]; }

/* Adds lanes to the waiting splits; ready ones at the same place become one. */
static void park(struct t0_warp *w, struct t0_frame *frame, uint32_t pc, uint32_t mask, enum t0_split_state state,
                 uint32_t want)
{
    if (state == T0_READY) {
        for (uint32_t k = 0; k < w->nsplit; k++) {
            struct t0_split *s = &w->split[k];
            if (s->state == T0_READY && s->pc == pc && s->frame == frame) {
                s->mask |= mask;
                t0_frame_drop(w, frame);
                return;
            }
        }
    }
    w->split[w->nsplit++] = (struct t0_split){frame, pc, mask, want, ++w->clock, (uint8_t)state};
}

/* Makes the best ready split the running one; false when none is ready. */
static bool pick(struct t0_warp *w, bool oldest)
{
    uint32_t best = LIR_NONE;
    for (uint32_t k = 0; k < w->nsplit; k++) {
        const struct t0_split *s = &w->split[k];
        if (s->state != T0_READY)
            continue;
        if (best == LIR_NONE || (oldest ? s->stamp < w->split[best].stamp
                                        : before(s->frame, s->pc, w->split[best].frame, w->split[best].pc)))
            best = k;
    }
    w->running = best != LIR_NONE;
    if (!w->running) {
        w->l.mask = 0;
        return false;
    }
    w->frame = w->split[best].frame;
    w->pc = w->split[best].pc;
    w->l.mask = w->split[best].mask;
    remove_split(w, best);
    return true;
}

/* Lanes have met, or are about to: waiting for each other has been worth it. */
static void settle(struct t0_warp *w)
{
    w->hold = w->passed = 0;
    w->patience = SPIN_ROTATE;
    w->turn = TURN;
}

/* The running split is at w->pc: merges with who waits there, and leaves the lead to whoever should
 * run first. The caller continues at w->pc. */
static void reconverge(struct t0_warp *w)
{
    bool other_first = false;
    for (uint32_t k = 0; k < w->nsplit;) {
        struct t0_split *s = &w->split[k];
        if (s->state == T0_READY && s->frame == w->frame && s->pc == w->pc) {
            w->l.mask |= s->mask;
            t0_frame_drop(w, s->frame);
            remove_split(w, k);
            if (!w->nsplit)
                settle(w);
            continue;
        }
        if (s->state == T0_READY && before(s->frame, s->pc, w->frame, w->pc))
            other_first = true;
        k++;
    }
    if (!other_first)
        return;
    if (w->hold) {
        if (--w->hold == 0) { /* no lock's holder: it would have been better to wait for the others */
            w->patience = SPIN_ROTATE;
            w->turn = w->turn < LONG_TURN ? 2 * w->turn : LONG_TURN;
        }
        return;
    }
    park(w, w->frame, w->pc, w->l.mask, T0_READY, 0);
    pick(w, false);
}

/* Splits that a barrier has let go, and that are at one place, are one again. */
void t0_splits_merge(struct t0_warp *w)
{
    for (uint32_t k = 0; k < w->nsplit; k++)
        for (uint32_t n = k + 1; w->split[k].state == T0_READY && n < w->nsplit;) {
            const struct t0_split *s = &w->split[n];
            if (s->state != T0_READY || s->frame != w->split[k].frame || s->pc != w->split[k].pc) {
                n++;
                continue;
            }
            w->split[k].mask |= s->mask;
            t0_frame_drop(w, s->frame);
            remove_split(w, n);
        }
}

/* Lanes that died or arrived may be what a collective waits for. */
static void wake_waiting(struct t0_warp *w)
{
    for (uint32_t k = 0; k < w->nsplit; k++) {
        struct t0_split *s = &w->split[k];
        if (s->state == T0_WAIT_LANES && !(s->want & ~s->mask & ~w->dead))
            s->state = T0_READY;
    }
}

/* The running split is at a collective that wants these lanes: true = all are here. Otherwise it
 * waits, and w->running says whether another split was found. */
static bool gather(struct t0_warp *w, uint32_t want, const struct lir_insn *code)
{
    bool is_sync = code[w->pc].op == LIR_WARPSYNC;
    uint32_t there = w->l.mask;
    want &= ~w->dead;
    if (w->force) {
        w->force = false;
        return true;
    }
    if (!(want & ~there))
        return true;
    for (uint32_t k = 0; k < w->nsplit;) {
        struct t0_split *s = &w->split[k];
        if (s->state == T0_WAIT_LANES && s->frame == w->frame && s->pc == w->pc) {
            w->l.mask |= s->mask;
            there |= s->mask;
            t0_frame_drop(w, s->frame);
            remove_split(w, k);
            continue;
        }
        if (is_sync && s->state == T0_WAIT_LANES && code[s->pc].op == LIR_WARPSYNC)
            there |= s->mask;
        k++;
    }
    if (!(want & ~there)) {
        for (uint32_t k = 0; is_sync && k < w->nsplit; k++) { /* meeting at different instructions */
            struct t0_split *s = &w->split[k];
            if (s->state == T0_WAIT_LANES && code[s->pc].op == LIR_WARPSYNC && (s->mask & want)) {
                s->state = T0_READY;
                s->pc++;
            }
        }
        return true;
    }
    park(w, w->frame, w->pc, w->l.mask, T0_WAIT_LANES, want);
    settle(w);
    pick(w, false);
    return false;
}

bool t0_warp_force(struct t0_warp *w)
{
    uint32_t best = LIR_NONE;
    for (uint32_t k = 0; k < w->nsplit; k++) {
        const struct t0_split *s = &w->split[k];
        if (s->state == T0_WAIT_LANES &&
            (best == LIR_NONE || before(s->frame, s->pc, w->split[best].frame, w->split[best].pc)))
            best = k;
    }
    if (best == LIR_NONE)
        return false;
    w->split[best].state = T0_READY;
    w->force = true;
    return true;
}

/* All waiting splits wait for lanes of this warp: nobody outside can help. */
static bool only_lanes_waited_for(const struct t0_warp *w)
{
    for (uint32_t k = 0; k < w->nsplit; k++)
        if (w->split[k].state != T0_WAIT_LANES)
            return false;
    return w->nsplit != 0;
}

static void diverge(struct t0_warp *w, uint32_t target, uint32_t taken)
{
    uint32_t next = w->pc + 1, rest = w->l.mask & ~taken;
    bool back = target <= w->pc;
    w->frame->refs++;
    park(w, w->frame, back ? next : target, back ? rest : taken, T0_READY, 0);
    w->pc = back ? target : next;
    w->l.mask = back ? taken : rest;
}

/* The lanes of the running split go different ways through a table: one split for each target. */
static void branch_table(struct t0_warp *w, const struct lir_image *image, const struct lir_insn *i)
{
    const struct lir_table *t = LIR_AT(image, tables, struct lir_table) + i->imm;
    const uint32_t *target = LIR_AT(image, targets, uint32_t) + t->first, *row = T0_U32(w, i->a);
    uint32_t todo = w->l.mask;
    while (todo) {
        uint32_t lane = (uint32_t)__builtin_ctz(todo), same = 0;
        T0_FOR_LANES(l, todo)
        same |= (uint32_t)(row[l] == row[lane]) << l;
        if (row[lane] >= t->count)
            t0_raise(w, i, T0_FAULT_INVALID_PC, lane, row[lane]);
        w->frame->refs++;
        park(w, w->frame, target[row[lane]], same, T0_READY, 0);
        todo &= ~same;
    }
    t0_frame_drop(w, w->frame);
    pick(w, false);
}

/* Calls the functions that the lanes name; each gets a split and a frame of its own. */
static void call(struct t0_warp *w, const struct lir_image *image, const struct lir_insn *i)
{
    const struct lir_call *c = LIR_AT(image, calls, struct lir_call) + i->imm;
    const struct lir_fn *fn = LIR_AT(image, funcs, struct lir_fn);
    uint32_t ret = w->pc + 1, todo = w->l.mask, mine = todo;
    if (c->fn != LIR_NONE) {
        t0_frame_enter(w, c, c->fn, ret);
        return;
    }
    struct t0_frame *caller = w->frame;
    const uint64_t *row = T0_U64(w, c->target);
    while (todo) {
        uint32_t lane = (uint32_t)__builtin_ctz(todo), same = 0, f = LIR_NONE;
        T0_FOR_LANES(l, todo)
        same |= (uint32_t)(row[l] == row[lane]) << l;
        for (uint32_t k = 0; k < image->funcs.count; k++)
            if ((LIR_FUNC_TAG | fn[k].ordinal) == row[lane])
                f = k;
        if (f == LIR_NONE)
            t0_raise(w, i, T0_FAULT_INVALID_PC, lane, row[lane]);
        todo &= ~same;
        w->l.mask = same;
        w->frame = caller;
        if (same != mine)
            caller->refs++;
        t0_frame_enter(w, c, f, ret);
        if (todo || same != mine)
            park(w, w->frame, w->pc, same, T0_READY, 0);
    }
    if (w->l.mask != mine) {
        t0_frame_drop(w, caller);
        pick(w, false);
    }
}

/* Lanes that those here name: each group its own, as tiles of a warp do. */
static uint32_t wanted(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t want = i->e ? T0_U32(w, i->e)[__builtin_ctz(w->l.mask)] : w->l.mask;
    if (i->e && want != ~0u)
        T0_FOR_LANES(l, w->l.mask)
    want |= T0_U32(w, i->e)[l];
    return want;
}

/* Gives the lead to the split that has waited longest, if the running one has gone round for long enough: what holds a
 * lock, most likely, as all that wait for it are one split. */
static __attribute__((noinline)) void rotate(struct t0_warp *w, uint32_t rounds)
{
    uint32_t mask = w->l.mask;
    w->passed += rounds;
    if (w->passed < w->patience)
        return;
    w->passed = 0;
    park(w, w->frame, w->pc, mask, T0_READY, 0);
    pick(w, true);
    if (w->l.mask == mask)
        return; /* the others wait for a barrier */
    w->hold = w->turn;
    w->patience = w->patience / 8 > SPIN_ROTATE_SOON ? w->patience / 8 : SPIN_ROTATE_SOON;
}

/* One back edge of a loop that may wait for somebody else; true = let other warps run. */
static bool spun(struct t0_warp *w)
{
    if (w->nsplit)
        rotate(w, 1);
    return ++w->spin % (w->block->worker->crowded ? SPIN_YIELD_SOON : SPIN_YIELD) == 0;
}

/* Lanes whose access was refused end; whether any of the split are left. */
static __attribute__((noinline)) bool end_lanes(struct t0_warp *w)
{
    w->dead |= w->ended;
    w->l.mask &= ~w->ended;
    w->ended = 0;
    w->block->refused = true;
    if (w->block->grid->refused)
        *w->block->grid->refused = true;
    wake_waiting(w);
    return w->l.mask != 0;
}

enum { BRANCHES = 1024 }; /* taken, until the loop is left for a look at the time */

/* The interpreter's loop: handlers of arithmetic straight from the table, or code made of whole blocks, and here what
 * ends, splits, reconverges or blocks. It leaves when the warp is done, must wait, or has run long enough while others
 * wait for it, or code may be there by now. */
static inline __attribute__((always_inline)) enum t0_ran run(struct t0_warp *w, t0_handler *const *table,
                                                             const struct base_code *base, bool watched, bool timed)
{
    unsigned branches = 0;
    const struct lir_image *image = w->block->image;
    const struct lir_insn *const code = LIR_AT(image, code, struct lir_insn), *i;

    if (!w->running && !pick(w, false)) {
        if (!w->nsplit)
            return T0_RAN_DONE;
        if (!only_lanes_waited_for(w) || !t0_warp_force(w))
            return T0_RAN_BLOCKED;
        pick(w, false);
    }
resume:
    if (code[w->pc].op == LIR_JOIN)
        w->pc++;
    i = code + w->pc;
    for (;;) {
        if (base) {
            const uint32_t at = (w->l.mask == ~0u ? base->full : base->part)[i - code];
            if (at)
                i = base_enter(base, w, at);
        }
        if (__builtin_expect(i->op < LIR_SHFL, 1)) {
            table[i->op](w, i);
            if (watched && w->ended && !end_lanes(w))
                goto exited;
            i++;
            continue;
        }
        w->pc = (uint32_t)(i - code);
        switch (i->op) {
        case LIR_GUARD: {
            uint32_t all = w->l.mask, p = T0_PRED(w, i->a), on = all & (i->aux ? ~p : p);
            if (on) {
                w->l.mask = on;
                table[i[1].op](w, i + 1);
                w->l.mask = all;
            }
            if (watched && w->ended && !end_lanes(w))
                goto exited;
            i += 2;
            continue;
        }
        case LIR_JOIN:
            if (!w->nsplit) {
                i++;
                continue;
            }
            reconverge(w);
            goto resume;
        case LIR_BRA: w->pc = (uint32_t)i->imm; break;
        case LIR_BRP: {
            uint32_t p = T0_PRED(w, i->a), taken = w->l.mask & (i->aux & LIR_BR_NEG ? ~p : p);
            if (!taken) {
                i++;
                continue;
            }
            if (taken == w->l.mask)
                w->pc = (uint32_t)i->imm;
            else
                diverge(w, (uint32_t)i->imm, taken);
            break;
        }
        case LIR_BRX:
            branch_table(w, image, i);
            if (w->pc <= (uint32_t)(i - code) && spun(w)) /* perhaps the back edge of a loop that waits */
                return T0_RAN_YIELD;
            goto resume;
        case LIR_CALL:
            w->at = i;
            call(w, image, i);
            goto resume;
        case LIR_RET:
            if (w->frame->parent) {
                t0_frame_leave(w);
                if (w->nsplit)
                    reconverge(w);
                goto resume;
            }
            /* fall through */
        case LIR_EXIT:
        exited:
            if (watched)
                t0_tools_exit(w);
            w->dead |= w->l.mask;
            w->hold = 0;
            t0_frame_drop(w, w->frame);
            wake_waiting(w);
            if (w->dead == ~0u)
                w->block->alive--;
            if (!pick(w, false)) {
                t0_bar_exited(w->block);
                goto none_ready;
            }
            goto resume;
        case LIR_TRAP:
            t0_raise(w, i, i->imm ? T0_FAULT_INVALID_PC : T0_FAULT_TRAP, (unsigned)__builtin_ctz(w->l.mask), 0);
        case LIR_BAR:
            w->at = i;
            if (t0_bar_early(w, i))
                return T0_RAN_TURN;
            if (t0_bar_arrive(w, i)) {
                w->pc++;
                if (w->nsplit) /* others of the warp may have waited there */
                    reconverge(w);
                else if (!(i->aux & LIR_BAR_COUNT)) /* whoever comes last does not go first */
                    return T0_RAN_TURN;
                goto resume;
            }
            settle(w);
            park(w, w->frame, w->pc, w->l.mask, T0_WAIT_BARRIER,
                 T0_U32(w, i->a)[__builtin_ctz(w->l.mask)] % T0_BARRIERS);
            if (!pick(w, false))
                goto none_ready;
            goto resume;
        case LIR_YIELD:
            if (i->aux == 2 && !(T0_PRED(w, i->a) & w->l.mask)) {
                i++;
                continue;
            }
            w->pc++;
            if (i->aux)
                return T0_RAN_TURN;
            if (w->nsplit)
                rotate(w, w->patience / 4); /* a sleeper counts for more than one turn of its loop */
            return T0_RAN_YIELD;
        default: { /* collectives */
            const bool forced = w->force;
            if (!gather(w, wanted(w, i), code)) {
                if (!w->running)
                    goto none_ready;
                goto resume;
            }
            if (watched)
                t0_tools_collective(w, i, forced);
            table[i->op](w, i);
            i++;
            continue;
        }
        }
        /* a branch was taken: w->pc is the target */
        if (i->aux & LIR_BR_SPIN && w->pc <= (uint32_t)(i - code)) {
            if (spun(w))
                return T0_RAN_YIELD;
        } else if (w->nsplit) {
            reconverge(w);
        }
        if (timed && ++branches == BRANCHES)
            return T0_RAN_AGAIN;
        goto resume;
    }
none_ready:
    if (!w->nsplit)
        return T0_RAN_DONE;
    if (!only_lanes_waited_for(w) || !t0_warp_force(w))
        return T0_RAN_BLOCKED;
    pick(w, false);
    goto resume;
}

static t0_handler *watched_table[LIR_NOPS];

static uint64_t cycles(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

enum t0_ran t0_warp_run(struct t0_warp *w)
{
    struct t0_module *m = w->block->grid->kernel->module;
    if (w->block->grid->watch)
        return run(w, watched_table, NULL, true, false);
    for (;;) {
        const struct base_code *base = atomic_load_explicit(&m->base, memory_order_acquire);
        if (base)
            return run(w, lir_table, base, false, false);
        if (atomic_load_explicit(&m->settled, memory_order_relaxed))
            return run(w, lir_table, NULL, false, false);
        const uint64_t begin = cycles();
        const enum t0_ran ran = run(w, lir_table, NULL, false, true);
        t0_base_spent(m, cycles() - begin);
        if (ran != T0_RAN_AGAIN)
            return ran;
    }
}

void t0_warp_start(struct t0_warp *w, uint32_t mask, uint32_t pc)
{
    w->l.mask = mask;
    w->l.carry = 0;
    w->dead = ~mask;
    w->nsplit = w->spin = w->clock = w->ended = 0;
    w->early = false;
    settle(w);
    w->force = false;
    w->running = true;
    w->pc = pc;
}

void t0_sched_init(void)
{
    t0_alu_handlers(lir_table);
    t0_memory_handlers(lir_table);
    t0_atomic_handlers(lir_table);
    t0_warp_handlers(lir_table);
    t0_misc_handlers(lir_table);
    t0_cluster_handlers(lir_table);
    t0_tensor_handlers(lir_table);
    t0_async_handlers(lir_table);
    t0_matrix_handlers(lir_table);
    t0_texture_handlers(lir_table);
    t0_call_handlers(lir_table);
    if (t0_alu_level() >= 4)
        t0_core_avx512(lir_table);
    else if (t0_alu_level() >= 3)
        t0_core_avx2(lir_table);
    t0_watch_handlers(watched_table);
}

t0_handler *lir_table[LIR_NOPS];
