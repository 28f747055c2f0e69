/* Candidates of the MUSA libraries, the reader of ld.so.cache, the last error. */
#include "core/error.h"
#include "core/ldcache.h"
#include "core/resolve.h"
#include "unit/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

static char seen[4096];

static bool note(const char *path, void *ctx)
{
    const char *stop = ctx;
    (void)snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s\n", path);
    return stop && strstr(path, stop);
}

static const char *const names[] = {"libcumu-none.so.5", "libcumu-none.so", NULL};
static const struct cumu_library library = {"none", names, 801, 35};

static void touch(const char *path)
{
    FILE *f = fopen(path, "w");
    if (f)
        (void)fclose(f);
}

static void candidates(void)
{
    char root[] = "/tmp/cumu-resolve-XXXXXX", path[256], want[512];
    if (!mkdtemp(root)) {
        check(false, "mkdtemp");
        return;
    }
    (void)snprintf(path, sizeof path, "%s/lib64", root);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/lib64/libcumu-none.so.5", root);
    touch(path);
    (void)setenv("MUSA_HOME", root, 1);

    *seen = 0;
    check(!cumu_candidates(&library, CUMU_BACKEND_MUSA, note, NULL), "nothing taken, nothing found");
    (void)snprintf(want, sizeof want, "libcumu-none.so.5\nlibcumu-none.so\n%s\n", path);
    check_text(seen, want, "sonames first, then files that exist below MUSA_HOME, lib64 included");

    *seen = 0;
    check(cumu_candidates(&library, CUMU_BACKEND_MUSA, note, (char[]){"none.so.5"}), "found");
    check_text(seen, "libcumu-none.so.5\n", "the first taken ends the search");

    *seen = 0;
    check(!cumu_candidates(&library, CUMU_BACKEND_HOST, note, NULL), "host: only what is beside the core");
    check_text(seen, "", "host: the SDK is not looked at");
    check(!cumu_candidates(&library, CUMU_BACKEND_NONE, note, NULL), "no back end, no candidates");
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/lib64", root);
    (void)rmdir(path);
    (void)rmdir(root);
    (void)unsetenv("MUSA_HOME");
}

struct image { /* an ld.so.cache of two entries */
    char magic[20];
    uint32_t n, strings, more[5];
    struct {
        int32_t flags;
        uint32_t key, value, os;
        uint64_t hwcap;
    } entry[2];
    char text[64];
};

static void cache(void)
{
    struct image i = {.n = 2, .strings = 64};
    uint32_t base = (uint32_t)(sizeof i - sizeof i.text);
    memcpy(i.magic, "glibc-ld.so.cache1.1", 20);
    memcpy(i.text, "liba.so\0/x/liba.so\0/y/liba.so", 30);
    for (unsigned k = 0; k < 2; k++) {
#if defined(__aarch64__)
        i.entry[k].flags = 0x0a03;
#else
        i.entry[k].flags = 0x0303;
#endif
        i.entry[k].key = base;
        i.entry[k].value = base + (k ? 19 : 8);
    }
    *seen = 0;
    (void)cumu_ldcache_scan(&i, sizeof i, "liba.so", note, NULL);
    check_text(seen, "/x/liba.so\n/y/liba.so\n", "cache: all entries of a name, in order");
    *seen = 0;
    i.entry[0].flags = 3;
    (void)cumu_ldcache_scan(&i, sizeof i, "liba.so", note, NULL);
    check_text(seen, "/y/liba.so\n", "cache: other machines are skipped");
    for (size_t size = 0; size < sizeof i; size++) {
        void *part = malloc(size ? size : 1); /* a buffer of its own, for the address sanitizer */
        if (part) {
            memcpy(part, &i, size);
            (void)cumu_ldcache_scan(part, size, "liba.so", note, (char[]){"never"});
        }
        free(part);
    }
    check(true, "cache: every truncation is survived");
    i.n = UINT32_MAX;
    check(!cumu_ldcache_scan(&i, sizeof i, "liba.so", note, NULL), "cache: a false count is refused");
    *seen = 0;
    check(cumu_ldcache_find("libc.so.6", note, (char[]){"libc.so.6"}), "cache: this machine's libc");
}

static void errors(void)
{
    check(cumu_peek_error() == 0, "no error at first");
    check(cumu_cuda_error(11) == 11 && cumu_peek_error() == 11, "an error is handed back and kept");
    cumu_set_error(0);
    check(cumu_peek_error() == 11, "success leaves it");
    check(cumu_take_error() == 11 && cumu_take_error() == 0, "taking it clears it");
}

int main(void)
{
    candidates();
    cache();
    errors();
    return check_end("unit resolve");
}
