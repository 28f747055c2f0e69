/* Fuzz target of the reader of /etc/ld.so.cache. */
#include "core/ldcache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool visit(const char *path, void *ctx)
{
    size_t *sum = ctx;
    *sum += strlen(path);
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    (void)cumu_ldcache_scan(data, size, "libm.so.6", visit, &sum);
    (void)cumu_ldcache_scan(data, size, "", visit, &sum);
    return 0;
}
