/* The cache of compiled kernels: one file per object, in a folder that is the user's alone. Whatever is
 * in it is checked (owner, mode, hash, name) before it is used; what fails is removed and made again.
 * Files appear by rename, so that any number of processes may work on it and die at any point. */
#ifndef CUMU_COMPILE_CACHE_H
#define CUMU_COMPILE_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "compile/hash.h"

struct cumu_key {
    uint8_t hash[CUMU_HASH_BYTES]; /* of everything that decides the object */
};

struct cumu_entry { /* what an entry says of its object */
    uint32_t isa, shape, compile_ms;
    char kernel[128]; /* cut if longer */
    size_t size;      /* bytes of the file; filled by cumu_cache_each */
    time_t used;      /* likewise */
    bool good;        /* likewise: false = would not be used */
};

/* The folder's path; "" if there is none (no home). Lives as long as the process. */
const char *cumu_cache_path(void);
/* The object, malloc'ed; marks it as used now. */
bool cumu_cache_get(const struct cumu_key *key, void **object, size_t *size);
/* The file of an entry, which begins with the object; false: there is none. */
bool cumu_cache_file(const struct cumu_key *key, char path[PATH_MAX]);
/* Failures are silent: the next process compiles again. Drops what was not used for longest when the
 * cache grows over CUMU_CACHE_SIZE. */
void cumu_cache_put(const struct cumu_key *key, const struct cumu_entry *e, const void *object, size_t size);
/* An entry whose object is that of another one, which is there; gone with it. */
void cumu_cache_link(const struct cumu_key *key, const struct cumu_entry *e, const struct cumu_key *object);
/* The folder, for the caller to close; -1 if there is none to use. */
int cumu_cache_open(bool create);

/* For the tool. Calls fn for every entry, until it returns false; -1 if there is no usable cache. */
int cumu_cache_each(bool (*fn)(void *ctx, const char *name, const struct cumu_entry *e), void *ctx);
/* Removes all entries; their number, or -1. */
long cumu_cache_clear(void);

#endif
