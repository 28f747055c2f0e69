/* What an SDK of the older shape got in its last SpMV. */
#ifndef CUMU_TESTS_OLDER_H
#define CUMU_TESTS_OLDER_H

#include <stddef.h>

struct seen {
    int calls, handle, op;
    const void *alpha;
    int matrix;
    const void *x, *beta;
    void *y;
    int compute, alg;
    size_t *size;
    void *buffer;
};

#endif
