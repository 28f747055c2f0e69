/* Kernels that the cache lacks, for the next process: what they spent in the interpreter, and whether a compiler began
 * with them. All under jit.c's lock. */
#ifndef CUMU_KERNEL_MISSED_H
#define CUMU_KERNEL_MISSED_H

#include "compile/hot.h"
#include "kernel/module.h"
#include "ptx/tier1/tier1.h"

/* Takes what earlier processes left; before anything else here. */
void cumu_missed_read(void);
/* The object of f, whose form below is `function`, is not there. What earlier processes say of it: their time in the
 * interpreter, in ns, and how many of them began to compile it. spent, below: of the
 * library; NULL: it has none. */
void cumu_missed_note(const struct cumu_key *key, struct cumu_func *f, MUfunction function, uint64_t *before,
                      unsigned *tries);
/* A compiler begins, which this process may not see the end of. */
void cumu_missed_begun(const struct cumu_key *key);
/* The object is there, or never will be. */
void cumu_missed_forget(const struct cumu_key *key);
/* f goes. */
void cumu_missed_gone(struct cumu_func *f, t1_spent *spent);
/* The process ends. */
void cumu_missed_leave(t1_spent *spent);

#endif
