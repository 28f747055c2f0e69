/* Numbers for drawn tests, the same in each run: xorshift of 64 bits. */
#ifndef CUMU_TESTS_XORSHIFT_H
#define CUMU_TESTS_XORSHIFT_H

#include <stdint.h>

/* The next one, never 0; *seed, which must not be 0, is it. */
static inline uint64_t xorshift(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

#endif
