/* Compiled kernels: which launches use one, and who makes them. */
#ifndef CUMU_KERNEL_JIT_H
#define CUMU_KERNEL_JIT_H

#include "kernel/module.h"
#include "ptx/tier1/tier1.h"

enum cumu_jit_state { /* of one kernel in one context for one class of block shapes */
                      CUMU_JIT_NEW,
                      CUMU_JIT_ASKED,   /* queued or in work */
                      CUMU_JIT_WATCHED, /* not in the cache, and not worth a compiler so far; is looked at again */
                      CUMU_JIT_ABSENT,  /* likewise, and is not running: the next launch has it looked at */
                      CUMU_JIT_SETTLED  /* ready, or never will be */
};

/* The slow path of cumu_jit_function. */
MUfunction cumu_jit_consider(struct cumu_func *f, struct func_inst *i, enum t1_shape shape);

/* What a launch of f uses: compiled code for blocks of that shape once it is there, else the first
 * form. Never waits but with CUMU_JIT=wait. */
static inline MUfunction cumu_jit_function(struct cumu_func *f, struct func_inst *i, dim3 block)
{
    enum t1_shape shape = t1_shape((uint32_t[3]){block.x, block.y, block.z});
    MUfunction fast = atomic_load_explicit(&i->fast[shape], memory_order_acquire);
    if (fast)
        return fast;
    if (atomic_load_explicit(&i->jit[shape], memory_order_relaxed) == CUMU_JIT_SETTLED)
        return i->function;
    return cumu_jit_consider(f, i, shape);
}

/* A compilation, for the tracer; ms 0: none was needed. */
void cumu_jit_note(const char *kernel, const char *how, unsigned ms);

/* No work on f any more when it returns, and none that will use it. No lock of this folder, nor a unit's
 * turn, may be held. */
void cumu_jit_cancel(struct cumu_func *f);

#endif
