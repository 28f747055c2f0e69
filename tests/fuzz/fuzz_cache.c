/* Fuzz target of the cache of compiled kernels: an input is a file in it. A flag in front says
 * whether the file gets the hash that its contents should have, without which almost nothing
 * passes. */
#include "compile/cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEY_AT = 160, SEAL_AT = KEY_AT + CUMU_HASH_BYTES, HEADER = SEAL_AT + CUMU_HASH_BYTES }; /* of cache.c */
static char dir[] = "/tmp/fuzz-cache.XXXXXX";

static void drop_folder(void) { (void)rmdir(dir); }

static bool each(void *ctx, const char *name, const struct cumu_entry *e)
{
    size_t *sum = ctx;
    *sum += strlen(name) + strnlen(e->kernel, sizeof e->kernel) + e->size;
    return true;
}

static void seal(uint8_t *file, size_t size)
{
    struct cumu_hash h;
    memset(file + SEAL_AT, 0, CUMU_HASH_BYTES);
    cumu_hash_start(&h);
    cumu_hash_add(&h, file, size);
    uint8_t out[CUMU_HASH_BYTES];
    cumu_hash_end(&h, out);
    memcpy(file + SEAL_AT, out, sizeof out);
}

static void put(const char *path, const uint8_t *file, size_t size)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    size_t head = size < HEADER ? size : HEADER; /* inputs have it in front, files behind the object */
    if (fd >= 0) {
        (void)!write(fd, file + head, size - head);
        (void)!write(fd, file, head);
        (void)close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    struct cumu_key key = {{1, 2, 3}};
    char path[200];
    if (!ready) {
        ready = true;
        if (!mkdtemp(dir) || setenv("CUMU_CACHE_DIR", dir, 1) || setenv("CUMU_LOG", "off", 1) || atexit(drop_folder))
            abort();
    }
    if (!size)
        return 0;
    uint8_t *file = malloc(size);
    memcpy(file, data + 1, size - 1);
    if (size - 1 >= HEADER && data[0] & 1)
        memcpy(file + KEY_AT, key.hash, sizeof key.hash);
    if (size - 1 >= HEADER && data[0] & 2) {
        uint64_t rest = size - 1 - HEADER;
        memcpy(file, "cumu-k1\n", 8);
        memcpy(file + 24, &rest, sizeof rest);
    }
    if (size - 1 >= HEADER && data[0] & 4)
        seal(file, size - 1);
    int n = snprintf(path, sizeof path, "%s/", dir);
    for (unsigned i = 0; i < CUMU_HASH_BYTES; i++)
        n += snprintf(path + n, sizeof path - (size_t)n, "%02x", key.hash[i]);
    (void)snprintf(path + n, sizeof path - (size_t)n, ".kernel");
    put(path, file, size - 1);
    size_t sum = 0, got;
    void *object = NULL;
    (void)cumu_cache_each(each, &sum);
    if (cumu_cache_get(&key, &object, &got)) {
        if (got != size - 1 - HEADER || memcmp(object, file + HEADER, got) != 0)
            abort();
        free(object);
    }
    (void)cumu_cache_clear();
    free(file);
    return 0;
}
