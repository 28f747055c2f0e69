/* Tier 0 execution: faults. A handler that cannot go on jumps back into t0_block_run; the signal
 * handler of the machine below does the same for memory that is not there. */
#include "ptx/tier0/warp.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Noreturn void t0_raise(struct t0_warp *w, const struct lir_insn *i, enum t0_fault_kind kind, unsigned lane,
                        uint64_t address)
{
    struct t0_worker *worker = w->block->worker;
    worker->warp = w;
    worker->kind = kind;
    worker->fault_lane = lane;
    worker->fault_address = address;
    worker->fault_text[0] = '\0';
    w->at = i;
    siglongjmp(worker->out, 1);
}

_Noreturn void t0_raise_text(struct t0_warp *w, const struct lir_insn *i, enum t0_fault_kind kind, unsigned lane,
                             const char *text)
{
    struct t0_worker *worker = w->block->worker;
    char copy[sizeof worker->fault_text];
    snprintf(copy, sizeof copy, "%s", text);
    worker->warp = w;
    worker->kind = kind;
    worker->fault_lane = lane;
    worker->fault_address = 0;
    memcpy(worker->fault_text, copy, sizeof copy);
    w->at = i;
    siglongjmp(worker->out, 1);
}

void t0_assertion_text(char text[T0_FAULT_TEXT], const char *message, const char *file, uint32_t line,
                       const char *function)
{
    snprintf(text, T0_FAULT_TEXT, "%.120s:%u: %.120s: Assertion `%.200s` failed.", file ? file : "", line,
             function ? function : "", message ? message : "");
}

bool t0_assertion(const struct t0_grid *g, const uint32_t block[3], const uint32_t thread[3], const char *text)
{
    if (!g->asserted || !g->env->assertion)
        return false;
    struct t0_fault f = {.kind = T0_FAULT_ASSERT,
                         .kernel = LIR_AT(g->kernel->module->image, strings, char) + g->kernel->rec->name,
                         .block = {block[0], block[1], block[2]},
                         .thread = {thread[0], thread[1], thread[2]}};
    snprintf(f.text, sizeof f.text, "%s", text);
    g->env->assertion(g->env->ctx, &f);
    *g->asserted = true;
    return true;
}

_Noreturn void t0_give_up(struct t0_worker *worker)
{
    worker->kind = T0_STOPPED;
    worker->fault_lane = 0;
    worker->fault_text[0] = '\0';
    siglongjmp(worker->out, 1);
}

bool t0_waits_in_vain(const struct t0_grid *g, struct t0_waiting *w)
{
    enum { SECOND = 1000000000, LULL = SECOND / 10 };
    struct timespec t;
    if (!g->refused || !*g->refused)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const uint64_t now = (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
    if (w->grid_id != g->grid_id || now - w->asked > LULL)
        *w = (struct t0_waiting){g->grid_id, now, now};
    w->asked = now;
    return now - w->since > SECOND;
}

bool t0_worker_memory_fault(struct t0_worker *w, const void *address, bool misaligned)
{
    if (!w || !(w->in_object || (w->running && w->warp)))
        return false;
    w->kind = misaligned ? T0_FAULT_MISALIGNED : T0_FAULT_ADDRESS;
    w->fault_address = (uint64_t)(uintptr_t)address;
    w->fault_lane = LIR_LANES; /* found from the address, outside the signal handler */
    w->fault_text[0] = '\0';
    siglongjmp(w->out, 2);
}

/* The first active lane whose access at warp->at covers the address. A CPU does not say which one it was
 * when no address of its is that large (*address is 0 then): the first such lane, and its address. */
uint32_t t0_lane_of_address(const struct t0_warp *w, uint64_t *address)
{
    const struct lir_insn *i = w->at;
    uint32_t mask = w->l.mask, best = LIR_LANES;
    if (!mask)
        return 0;
    if (i && !(i->aux & LIR_MEM_SHARED) && i->op < LIR_SHFL && i->op >= LIR_LDG_8) {
        uint64_t closest = 0;
        bool handle = i->op >= LIR_TEX && i->op <= LIR_SURED; /* a names a texture, no offset */
        T0_FOR_LANES(l, mask)
        {
            uint64_t a = T0_U64((void *)(uintptr_t)w, i->a)[l] + (uint64_t)(int64_t)(handle ? 0 : i->imm);
            uint64_t off = *address - a;
            if (!*address && a >> 47 && (a >> 47) + 1 != 1u << 17) {
                *address = a;
                return l;
            }
            if (off < 64 && (best == LIR_LANES || off < closest)) {
                best = l;
                closest = off;
            }
        }
    }
    return best < LIR_LANES ? best : (uint32_t)__builtin_ctz(mask);
}

struct t0_source t0_source(const struct lir_image *image, uint32_t line)
{
    const char *strings = LIR_AT(image, strings, char);
    struct t0_source s = {0};
    const struct lir_loc *loc = LIR_AT(image, locs, struct lir_loc);
    uint32_t low = 0, high = image->locs.count;
    while (low < high) { /* the first record at this line or behind it */
        uint32_t middle = low + (high - low) / 2;
        if (loc[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && loc[low - 1].source) {
        s.file = strings + loc[low - 1].file;
        s.line = loc[low - 1].source;
    }
    if (s.file && loc[low - 1].call_source) {
        s.call_file = strings + loc[low - 1].call_file;
        s.call_line = loc[low - 1].call_source;
    }
    return s;
}

void t0_fault_fill(struct t0_worker *worker, struct t0_fault *fault)
{
    struct t0_warp *w = worker->warp;
    const struct t0_block *b = w->block;
    const struct lir_image *image = b->image;
    const char *strings = LIR_AT(image, strings, char);
    uint32_t lane = worker->fault_lane;

    if (lane >= LIR_LANES)
        lane = t0_lane_of_address(w, &worker->fault_address);
    memset(fault, 0, sizeof *fault);
    fault->kind = worker->kind;
    fault->kernel = strings + b->rec->name;
    memcpy(fault->block, b->index, sizeof fault->block);
    t0_thread_index(b, w->index * LIR_LANES + lane, fault->thread);
    fault->address = worker->fault_address;
    if (w->at) {
        size_t at = (size_t)(w->at - LIR_AT(image, code, struct lir_insn));
        const struct lir_line *line = LIR_AT(image, lines, struct lir_line) + at;
        fault->line = line->line;
        fault->source = t0_source(image, line->line);
        snprintf(fault->text, sizeof fault->text, "%s", strings + line->text);
    }
    if (worker->fault_text[0])
        memcpy(fault->text, worker->fault_text, sizeof fault->text);
}
