/* Device memory of fuzz targets: little of it, zeroed. */
#ifndef CUMU_TESTS_FUZZ_MEMORY_H
#define CUMU_TESTS_FUZZ_MEMORY_H

#include <stdlib.h>
#include <string.h>

static void *alloc(void *ctx, size_t size, size_t align)
{
    (void)ctx;
    align = align < 16 ? 16 : align;
    void *p = size > 1u << 20 ? NULL : aligned_alloc(align, (size + align) / align * align);
    return p ? memset(p, 0, size) : NULL;
}

static void release(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

#endif
