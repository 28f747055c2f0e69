/* Looks libraries up the way the dynamic linker does, without loading them. */
#ifndef CUMU_CORE_LDCACHE_H
#define CUMU_CORE_LDCACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Calls visit(path, ctx) for each entry of /etc/ld.so.cache with this soname that fits this machine,
 * best first, until visit returns true. True if one did. A missing or damaged cache has no entries. */
bool cumu_ldcache_find(const char *soname, bool (*visit)(const char *path, void *ctx), void *ctx);
/* The same over a cache image in memory, for tests and fuzzing. */
bool cumu_ldcache_scan(const void *image, size_t size, const char *soname, bool (*visit)(const char *path, void *ctx),
                       void *ctx);

#endif
