/* Kernels that a process left in the interpreter although they took time, for the next one to begin with: a small file
 * in the cache's folder. Where several processes end, the last one's stays. */
#ifndef CUMU_COMPILE_HOT_H
#define CUMU_COMPILE_HOT_H

#include <stdint.h>

#include "compile/cache.h"

#define CUMU_HOT_FILE "hot"
enum { CUMU_HOT_MOST = 128 };

struct cumu_hot {
    struct cumu_key key;
    uint64_t ns;    /* in the interpreter, of all processes so far */
    unsigned tries; /* how many of them began to compile it and ended before the compiler did */
};

/* Their number, at most CUMU_HOT_MOST; what is damaged or not the user's alone is nothing. */
unsigned cumu_hot_read(struct cumu_hot *h);
/* The hottest CUMU_HOT_MOST of n; sorts h. Nothing to write removes the file. */
void cumu_hot_write(struct cumu_hot *h, unsigned n);

#endif
