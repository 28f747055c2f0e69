/* A scalar interpreter of the integer subset of PTX that classes_test generates, one thread at a time. */
#ifndef CUMU_TEST_PTXFRONT_SIMULATE_H
#define CUMU_TEST_PTXFRONT_SIMULATE_H

#include "ptx/ir.h"

struct thread {
    uint32_t tid[3], ntid[3], ctaid, n, lane;
    uint64_t *reg;   /* by register */
    uint32_t *round; /* by block: of a loop header, which round of its loop this is */
    int32_t block;
    uint64_t steps;
};

/* Called with every value as it is read (def false) or made (def true) in the thread's block. */
typedef void observe(void *ctx, const struct thread *t, int32_t value, bool def);

/* Runs one thread to its end. false: it met something it does not know, or ran too long. */
bool simulate(const struct ptx_func *f, struct thread *t, observe *fn, void *ctx);

/* The value's bits cut to its register's width. */
uint64_t cut(const struct ptx_func *f, int32_t reg, uint64_t v);

#endif
