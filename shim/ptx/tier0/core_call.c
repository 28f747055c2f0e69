/* Tier 0 execution: the functions that device code expects from its runtime: vprintf, malloc, free
 * and the end of a failed assertion. */
#include "ptx/tier0/warp.h"

#include <stdio.h>
#include <string.h>

static uint8_t *slot_of(struct t0_warp *w, const struct lir_call *c, unsigned lane)
{
    const struct lir_fn *fn = LIR_AT(w->block->image, funcs, struct lir_fn) + c->caller;
    return w->l.regs + lir_fn_slots(fn) + (size_t)lane * fn->slot;
}

static uint64_t argument(struct t0_warp *w, const struct lir_call *c, unsigned lane, unsigned k)
{
    const struct lir_arg *arg = LIR_AT(w->block->image, args, struct lir_arg) + c->first + k;
    uint64_t v = 0;
    if (k < c->narg)
        memcpy(&v, slot_of(w, c, lane) + arg->src, arg->size < 8 ? arg->size : 8);
    return v;
}

static void result(struct t0_warp *w, const struct lir_call *c, unsigned lane, uint64_t v)
{
    memcpy(slot_of(w, c, lane) + c->ret, &v, c->ret_size < 8 ? c->ret_size : 8);
}

static void sys_vprintf(struct t0_warp *w, const struct lir_insn *i, const struct lir_call *c)
{
    (void)i;
    T0_FOR_LANES(l, w->l.mask)
    {
        const char *format = (const char *)(uintptr_t)argument(w, c, l, 0);
        const uint8_t *args = (const uint8_t *)(uintptr_t)argument(w, c, l, 1);
        result(w, c, l, (uint32_t)t0_printf(w->block->grid->env, format, args));
    }
}

/* __assertfail(message, file, line, function, size of a char). Lowering lets the lanes exit behind it. */
static void sys_assert(struct t0_warp *w, const struct lir_insn *i, const struct lir_call *c)
{
    const struct t0_block *b = w->block;
    T0_FOR_LANES(l, w->l.mask)
    {
        uint32_t thread[3];
        char text[T0_FAULT_TEXT];
        t0_thread_index(b, w->index * LIR_LANES + l, thread);
        t0_assertion_text(text, (const char *)(uintptr_t)argument(w, c, l, 0),
                          (const char *)(uintptr_t)argument(w, c, l, 1), (uint32_t)argument(w, c, l, 2),
                          (const char *)(uintptr_t)argument(w, c, l, 3));
        if (!t0_assertion(b->grid, b->index, thread, text))
            t0_raise_text(w, i, T0_FAULT_ASSERT, l, text);
    }
}

static void sys_malloc(struct t0_warp *w, const struct lir_insn *i, const struct lir_call *c)
{
    const struct t0_env *env = w->block->grid->env;
    (void)i;
    T0_FOR_LANES(l, w->l.mask)
    result(w, c, l, (uint64_t)(uintptr_t)env->dev_malloc(env->ctx, argument(w, c, l, 0)));
}

static void sys_free(struct t0_warp *w, const struct lir_insn *i, const struct lir_call *c)
{
    const struct t0_env *env = w->block->grid->env;
    T0_FOR_LANES(l, w->l.mask)
    {
        void *p = (void *)(uintptr_t)argument(w, c, l, 0);
        if (p && !env->dev_free(env->ctx, p) && w->block->grid->watch)
            t0_watch_free(w, i, l, (uint64_t)(uintptr_t)p);
    }
}

uint64_t t0_device_call(const struct t0_grid *g, const uint32_t block[3], uint32_t thread, uint32_t call,
                        const uint64_t *args)
{
    enum { NOT_SUPPORTED = 801 };
    return g->env->device ? g->env->device(g, block, thread, call, args) : NOT_SUPPORTED;
}

static void sys_device(struct t0_warp *w, const struct lir_insn *i, const struct lir_call *c)
{
    const struct t0_block *b = w->block;
    (void)i;
    T0_FOR_LANES(l, w->l.mask)
    result(w, c, l,
           t0_device_call(b->grid, b->index, w->index * LIR_LANES + l, (uint32_t)argument(w, c, l, 0),
                          (const uint64_t *)(uintptr_t)argument(w, c, l, 1)));
}

static void syscall_op(struct t0_warp *w, const struct lir_insn *i)
{
    static void (*const all[LIR_NSYS])(struct t0_warp *, const struct lir_insn *,
                                       const struct lir_call *) = {[LIR_SYS_VPRINTF] = sys_vprintf,
                                                                   [LIR_SYS_ASSERT] = sys_assert,
                                                                   [LIR_SYS_MALLOC] = sys_malloc,
                                                                   [LIR_SYS_FREE] = sys_free,
                                                                   [LIR_SYS_DEVICE] = sys_device};
    const struct lir_call *c = LIR_AT(w->block->image, calls, struct lir_call) + i->imm;
    w->at = i;
    all[c->syscall](w, i, c);
}

void t0_call_handlers(t0_handler *table[LIR_NOPS]) { table[LIR_SYSCALL] = syscall_op; }
