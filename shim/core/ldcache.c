/* Reader of /etc/ld.so.cache (format glibc-ld.so.cache1.1; the layout glibc has used since 2.2). */
#include "core/ldcache.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct cache_header {
    char magic[20]; /* "glibc-ld.so.cache1.1" */
    uint32_t nlibs, strings_size;
    uint32_t more[5];
};
struct cache_entry {
    int32_t flags;       /* 0x303 x86-64, 0xa03 aarch64, 3 = i386 */
    uint32_t key, value; /* offsets of soname and path from the header */
    uint32_t os_version;
    uint64_t hwcap;
};
/* Old caches put an older table first; the new one follows it. */
static const char old_magic[] = "ld.so-1.7.0";
static const char new_magic[] = "glibc-ld.so.cache1.1";

#if defined(__aarch64__)
enum { FLAGS_HERE = 0x0a03 };
#else
enum { FLAGS_HERE = 0x0303 };
#endif

bool cumu_ldcache_scan(const void *image, size_t size, const char *soname, bool (*visit)(const char *path, void *ctx),
                       void *ctx)
{
    const char *base = image;
    if (size >= 16 && memcmp(base, old_magic, sizeof old_magic - 1) == 0) {
        uint32_t n;
        memcpy(&n, base + 12, sizeof n);
        uint64_t skip = (16 + (uint64_t)n * 12 + 7) & ~7ull;
        if (skip >= size)
            return false;
        base += skip;
        size -= skip;
    }
    struct cache_header head;
    if (size < sizeof head || memcmp(base, new_magic, sizeof new_magic - 1) != 0)
        return false;
    memcpy(&head, base, sizeof head);
    if (head.nlibs > (size - sizeof head) / sizeof(struct cache_entry))
        return false;
    for (uint32_t i = 0; i < head.nlibs; i++) {
        struct cache_entry e;
        memcpy(&e, base + sizeof head + i * sizeof e, sizeof e);
        if (e.flags != FLAGS_HERE || e.key >= size || e.value >= size)
            continue;
        if (!memchr(base + e.key, 0, size - e.key) || !memchr(base + e.value, 0, size - e.value))
            continue;
        if (strcmp(base + e.key, soname) == 0 && visit(base + e.value, ctx))
            return true;
    }
    return false;
}

bool cumu_ldcache_find(const char *soname, bool (*visit)(const char *path, void *ctx), void *ctx)
{
    bool found = false;
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            found = cumu_ldcache_scan(map, (size_t)st.st_size, soname, visit, ctx);
            (void)munmap(map, (size_t)st.st_size);
        }
    }
    (void)close(fd);
    return found;
}
