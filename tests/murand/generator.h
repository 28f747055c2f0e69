/* What the tests of the CPU muRAND share: a host generator, a hash of numbers. */
#ifndef CUMU_TESTS_MURAND_GENERATOR_H
#define CUMU_TESTS_MURAND_GENERATOR_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../check.h"
#include "abi/murand.h"
#include "musa_enums.h"

static inline murandGenerator_t host(murandRngType_t type)
{
    murandGenerator_t g = NULL;
    OK(murandCreateGeneratorHost(&g, type));
    return g;
}

/* FNV-1a of bytes. */
static inline uint64_t hash(const void *data, size_t size)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; i++)
        h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
    return h;
}

#endif
