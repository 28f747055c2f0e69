/* What the tests of the maths libraries' failures share: prototypes, contexts, what was said on stderr. */
#ifndef CUMU_TESTS_MATHS_H
#define CUMU_TESTS_MATHS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"
#include "cuda_functions.h"

typedef void *P;
typedef const void *V;

static P blas __attribute__((unused));
static const float one = 1, zero = 0, two __attribute__((unused)) = 2;

/* stderr lies in a file; `text` is what is in there since the last look. */
static char text[65536];
static inline const char *text_now(void)
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("stderr", 0);
        dup2(fd, 2);
    }
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
        exit(1);
    return text;
}
/* Lines that begin with the name of a call. */
static inline int said(const char *name)
{
    char start[128];
    int n = 0;
    snprintf(start, sizeof start, "host: %s: ", name);
    for (const char *at = text_now(); (at = strstr(at, start)); at++)
        n++;
    return n;
}

static inline void begin_context(void)
{
    text_now();
    MUST(cudaFree(NULL));
    MUST(cublasCreate_v2(&blas));
}
static inline void end_context(void)
{
    cublasDestroy_v2(blas);
    cudaDeviceReset();
    cudaGetLastError();
}

#endif
