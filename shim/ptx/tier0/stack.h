/* Stacks beside a thread's own: code on one is left where it waits, and goes on later where it was left.
 * A stack stays with its thread. Its lowest page is closed. */
#ifndef CUMU_PTX_T0_STACK_H
#define CUMU_PTX_T0_STACK_H

#include <stddef.h>

/* Memory of at least `size` bytes, page by page as it is touched; NULL without memory. *size: what unmap takes. */
void *t0_stack_map(size_t *size);
void t0_stack_unmap(void *stack, size_t size);
/* Where the stack goes on when it is first switched to: main(arg), which never returns. */
void *t0_stack_start(void *stack, size_t size, void (*main)(void *), void *arg);
/* Goes on at `to`, and leaves in *from where this stack goes on: what a later call takes for `to`. Both keep
 * their registers and their floating-point modes. */
void t0_stack_switch(void **from, void *to);

#endif
