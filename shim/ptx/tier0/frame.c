/* Tier 0 execution: call frames of splits, arguments and results, and the lanes' local memory. */
#include "ptx/tier0/warp.h"

#include <stdlib.h>
#include <string.h>

uint8_t *t0_local(const struct t0_warp *w, unsigned lane)
{
    const struct t0_block *b = w->block;
    return b->local + (size_t)(w->index * LIR_LANES + lane) * b->local_stride;
}

/* Releases one reference; frames that nobody uses go back to the warp's list. */
void t0_frame_drop(struct t0_warp *w, struct t0_frame *f)
{
    while (f && --f->refs == 0) {
        struct t0_frame *parent = f->parent;
        free(f->saved);
        f->saved = NULL;
        f->parent = w->spare;
        w->spare = f;
        f = parent;
    }
}

static struct t0_frame *frame_new(struct t0_warp *w)
{
    struct t0_frame *f = w->spare;
    if (f) {
        w->spare = f->parent;
    } else {
        if (!(f = malloc(sizeof *f)))
            t0_raise(w, w->at, T0_FAULT_NOMEM, (unsigned)__builtin_ctz(w->l.mask), 0);
        f->all = w->all;
        w->all = f;
    }
    *f = (struct t0_frame){.all = f->all, .refs = 1};
    return f;
}

void t0_frames_reset(struct t0_warp *w, bool release)
{
    struct t0_frame *next;
    w->spare = NULL;
    for (struct t0_frame *f = w->all; f; f = next) {
        next = f->all;
        free(f->saved);
        f->saved = NULL;
        if (release) {
            free(f);
        } else {
            f->parent = w->spare;
            w->spare = f;
        }
    }
    if (release)
        w->all = NULL;
}

static uint8_t *slot_of(const struct t0_warp *w, const struct lir_fn *fn, unsigned lane)
{
    return w->l.regs + lir_fn_slots(fn) + (size_t)lane * fn->slot;
}

/* Enters a function: a frame above the caller's, room in local memory behind the caller's, rows saved where the
 * callee may call the caller again, arguments copied from the caller's slots to the callee's. */
void t0_frame_enter(struct t0_warp *w, const struct lir_call *call, uint32_t fn, uint32_t ret_pc)
{
    const struct lir_image *image = w->block->image;
    const struct lir_fn *callee = LIR_AT(image, funcs, struct lir_fn) + fn;
    struct t0_frame *f = frame_new(w), *caller = w->frame;
    unsigned first = (unsigned)__builtin_ctz(w->l.mask);

    f->call = call;
    f->fn = fn;
    f->ret_pc = ret_pc;
    f->depth = caller ? caller->depth + 1 : 0;
    if (!caller) {
        w->frame = f;
        w->pc = callee->entry;
        return;
    }
    uint32_t own = LIR_AT(image, funcs, struct lir_fn)[caller->fn].local_size;
    uint64_t base = (uint64_t)caller->local_base + own + caller->extra;
    base = (base + 15) & ~(uint64_t)15;
    if (f->depth > T0_MAX_DEPTH || base + callee->local_size > w->block->local_stride)
        t0_raise(w, w->at, T0_FAULT_STACK, first, 0);
    f->local_base = (uint32_t)base;
    const struct lir_fn *from = LIR_AT(image, funcs, struct lir_fn) + call->caller;
    if (call->save) {
        f->saved = malloc(lir_fn_size(from) + 1);
        if (!f->saved)
            t0_raise(w, w->at, T0_FAULT_NOMEM, first, 0);
        memcpy(f->saved, w->l.regs + from->regs, lir_fn_size(from));
    }
    const struct lir_arg *arg = LIR_AT(image, args, struct lir_arg) + call->first;
    for (uint32_t k = 0; k < call->narg; k++) {
        if (arg[k].dst + (uint64_t)arg[k].size > callee->param_size)
            continue; /* an indirect call with a prototype that does not match */
        T0_FOR_LANES(l, w->l.mask)
        memmove(slot_of(w, callee, l) + callee->param + arg[k].dst, slot_of(w, from, l) + arg[k].src, arg[k].size);
    }
    f->parent = caller; /* takes over the split's reference */
    w->frame = f;
    w->pc = callee->entry;
}

/* Puts the caller's rows of the running lanes back as they were at the call. */
static void restore(struct t0_warp *w, const struct lir_fn *keep, const uint8_t *saved)
{
    uint8_t *now = w->l.regs + keep->regs;
    uint32_t mask = w->l.mask;
    for (uint32_t k = 0; k < keep->npred; k++, now += LIR_ROW_ALIGN, saved += LIR_ROW_ALIGN) {
        uint32_t a, b;
        memcpy(&a, now, 4);
        memcpy(&b, saved, 4);
        a = (a & ~mask) | (b & mask);
        memcpy(now, &a, 4);
    }
    const uint32_t rows[3] = {keep->n32, keep->n64, 1}, width[3] = {4, 8, keep->slot};
    for (unsigned c = 0; c < 3; c++) {
        for (uint32_t k = 0; k < rows[c]; k++) {
            T0_FOR_LANES(l, mask)
            memcpy(now + (size_t)l * width[c], saved + (size_t)l * width[c], width[c]);
            now += LIR_LANES * width[c];
            saved += LIR_LANES * width[c];
        }
    }
}

void t0_frame_leave(struct t0_warp *w)
{
    const struct lir_image *image = w->block->image;
    const struct lir_fn *fns = LIR_AT(image, funcs, struct lir_fn);
    struct t0_frame *f = w->frame, *caller = f->parent;
    const struct lir_call *call = f->call;
    const struct lir_fn *from = fns + f->fn, *to = fns + call->caller;
    uint32_t size = call->ret_size < from->ret_size ? call->ret_size : from->ret_size;

    w->pc = f->ret_pc;
    w->frame = caller;
    if (f->saved) { /* the callee may be the caller itself: its results go round the restored rows
                     */
        uint8_t results[LIR_LANES][LIR_RESULT_MAX];
        uint32_t n = size < sizeof results[0] ? size : (uint32_t)sizeof results[0];
        T0_FOR_LANES(l, w->l.mask)
        memcpy(results[l], slot_of(w, from, l) + from->ret, n);
        restore(w, to, f->saved);
        T0_FOR_LANES(l, w->l.mask)
        memcpy(slot_of(w, to, l) + call->ret, results[l], n);
    } else {
        T0_FOR_LANES(l, w->l.mask)
        memcpy(slot_of(w, to, l) + call->ret, slot_of(w, from, l) + from->ret, size);
    }
    caller->refs++;
    t0_frame_drop(w, f);
}
