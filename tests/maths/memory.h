/* What the sequences of calls have that run out of memory: their data and results, and how they end. */
#ifndef CUMU_TESTS_MATHS_MEMORY_H
#define CUMU_TESTS_MATHS_MEMORY_H

#include "maths.h"

enum { N = 8, ROOM = 1 << 16 };
extern char *results; /* what a sequence has computed */
extern int last_status;
#define TRY(...) \
    do { \
        if ((last_status = (__VA_ARGS__))) \
            return last_status; \
    } while (0)
#define GIVE(from, bytes) TRY(cudaMemcpy(results, from, bytes, 2))

/* Device memory of a sequence: a copy of the host's, or zeros; and small numbers. */
void *fresh(const void *from, size_t bytes), *floats(int n);

/* Sequences of libraries that work on the host's memory, or through another library (memory_staged.c). */
int xt_products(void), distributed_solvers(void), host_transforms(void);
/* And of pictures, files and pruned matrices (memory_media.c). */
int pictures(void), files(void), structured_products(void);

#endif
