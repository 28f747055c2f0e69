/* Tier 0 execution: the functions that device code expects from its runtime: vprintf, malloc, free
 * and the end of a failed assertion. */
#include "ptx/tier0/exec/warp.h"

#include <stdio.h>
#include <string.h>

static uint8_t *slot_of(struct t0_warp *w, const struct t0_call *c, unsigned lane)
{
    const struct t0_fn *fn = T0_AT(w->block->image, funcs, struct t0_fn) + c->caller;
    return w->l.regs + t0_fn_slots(fn) + (size_t)lane * fn->slot;
}

static uint64_t argument(struct t0_warp *w, const struct t0_call *c, unsigned lane, unsigned k)
{
    const struct t0_arg *arg = T0_AT(w->block->image, args, struct t0_arg) + c->first + k;
    uint64_t v = 0;
    if (k < c->narg)
        memcpy(&v, slot_of(w, c, lane) + arg->src, arg->size < 8 ? arg->size : 8);
    return v;
}

static void result(struct t0_warp *w, const struct t0_call *c, unsigned lane, uint64_t v)
{
    memcpy(slot_of(w, c, lane) + c->ret, &v, c->ret_size < 8 ? c->ret_size : 8);
}

static void sys_vprintf(struct t0_warp *w, const struct t0_insn *i, const struct t0_call *c)
{
    (void)i;
    T0_FOR_LANES(l, w->l.mask) {
        const char *format = (const char *)(uintptr_t)argument(w, c, l, 0);
        const uint8_t *args = (const uint8_t *)(uintptr_t)argument(w, c, l, 1);
        result(w, c, l, (uint32_t)t0_printf(w->block->grid->env, format, args));
    }
}

/* __assertfail(message, file, line, function, size of a char). Lowering lets the lanes exit behind it. */
static void sys_assert(struct t0_warp *w, const struct t0_insn *i, const struct t0_call *c)
{
    const struct t0_block *b = w->block;
    T0_FOR_LANES(l, w->l.mask) {
        uint32_t thread[3];
        char text[T0_FAULT_TEXT];
        t0_thread_index(b, w->index * T0_LANES + l, thread);
        t0_assertion_text(text, (const char *)(uintptr_t)argument(w, c, l, 0),
                          (const char *)(uintptr_t)argument(w, c, l, 1), (uint32_t)argument(w, c, l, 2),
                          (const char *)(uintptr_t)argument(w, c, l, 3));
        if (!t0_assertion(b->grid, b->index, thread, text))
            t0_raise_text(w, i, T0_FAULT_ASSERT, l, text);
    }
}

static void sys_malloc(struct t0_warp *w, const struct t0_insn *i, const struct t0_call *c)
{
    const struct t0_env *env = w->block->grid->env;
    (void)i;
    T0_FOR_LANES(l, w->l.mask)
        result(w, c, l, (uint64_t)(uintptr_t)env->dev_malloc(env->ctx, argument(w, c, l, 0)));
}

static void sys_free(struct t0_warp *w, const struct t0_insn *i, const struct t0_call *c)
{
    const struct t0_env *env = w->block->grid->env;
    (void)i;
    T0_FOR_LANES(l, w->l.mask) {
        void *p = (void *)(uintptr_t)argument(w, c, l, 0);
        if (p)
            env->dev_free(env->ctx, p);
    }
}

static void syscall_op(struct t0_warp *w, const struct t0_insn *i)
{
    static void (*const all[T0_NSYS])(struct t0_warp *, const struct t0_insn *,
                                      const struct t0_call *) = {
        [T0_SYS_VPRINTF] = sys_vprintf, [T0_SYS_ASSERT] = sys_assert,
        [T0_SYS_MALLOC] = sys_malloc, [T0_SYS_FREE] = sys_free,
    };
    const struct t0_call *c = T0_AT(w->block->image, calls, struct t0_call) + i->imm;
    w->at = i;
    all[c->syscall](w, i, c);
}

void t0_call_handlers(t0_handler *table[T0_NOPS])
{
    table[T0_SYSCALL] = syscall_op;
}
