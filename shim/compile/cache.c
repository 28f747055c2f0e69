/* The cache of compiled kernels on disk. */
#include "compile/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config.h"
#include "core/file.h"
#include "core/log.h"
#include "compile/hot.h"
#include "compile/scratch.h"

#define SUFFIX ".kernel"
enum {
    NAME_LEN = 2 * CUMU_HASH_BYTES + sizeof SUFFIX, /* with the final NUL */
    MAX_OBJECT = 64 << 20,
    PUTS = 16 /* stores between two looks at the size */
};

/* Behind the object, so that the file is what debuggers take for one. */
struct trailer {
    char magic[8];
    uint32_t isa, shape, compile_ms, reserved;
    uint64_t size; /* of the object */
    char kernel[128];
    uint8_t key[CUMU_HASH_BYTES];  /* the name again: an entry cannot stand for another */
    uint8_t seal[CUMU_HASH_BYTES]; /* of the trailer with this field zero, and the object */
};
static const char magic[8] = "cumu-k2\n";
static const char link_magic[8] = "cumu-l2\n"; /* the key of the entry with the object is in the object's place */

/* ---- the folder ------------------------------------------------------------------------------ */

static char folder[PATH_MAX];

static void find_folder(void)
{
    const char *own = cumu_opt_text(CUMU_OPT_CACHE_DIR), *xdg = cumu_env("XDG_CACHE_HOME");
    const char *home = cumu_env("HOME");
    int n = 0;
    if (*own)
        n = snprintf(folder, sizeof folder, "%s", own);
    else if (xdg && *xdg == '/')
        n = snprintf(folder, sizeof folder, "%s/cumu", xdg);
    else if (home && *home == '/')
        n = snprintf(folder, sizeof folder, "%s/.cache/cumu", home);
    if (n >= (int)sizeof folder - 64)
        folder[0] = '\0';
}

const char *cumu_cache_path(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_folder);
    return folder;
}

static void unusable(const char *why)
{
    static atomic_bool said;
    if (!atomic_exchange(&said, true))
        cumu_warn("cache", NULL, "%s: %s; compiled kernels are not kept", *folder ? folder : "no folder", why);
}

/* The folder with those above it. */
static int make_folder(void)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", folder);
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            (void)mkdir(path, 0700);
            *p = '/';
        }
    return mkdir(path, 0700);
}

/* The owner of a folder above the cache's may exchange what is in it; so may who can write it, but for a folder with
 * the sticky bit, where each may what is his own. A group of the user's number, or root's, has nobody else in it. In
 * a user namespace root may be nobody's number (65534), as /proc shows. */
static bool is_ours(uid_t owner)
{
    struct stat proc;
    return owner == 0 || owner == geteuid() ||
           (owner == 65534 && stat("/proc/sys", &proc) == 0 && proc.st_uid == owner);
}

static bool is_safe(const char *prefix)
{
    struct stat at, st;
    if (lstat(prefix, &at) != 0 || stat(prefix, &st) != 0)
        return false;
    const bool own_group = st.st_gid == 0 || st.st_gid == st.st_uid;
    const mode_t others = S_IWOTH | (own_group ? 0 : S_IWGRP);
    return is_ours(at.st_uid) && is_ours(st.st_uid) && (!(st.st_mode & others) || st.st_mode & S_ISVTX);
}

/* Every folder above, of a path that is absolute or below the working directory. */
static bool are_safe_above(const char *path)
{
    char prefix[PATH_MAX];
    (void)snprintf(prefix, sizeof prefix, "%s", path);
    for (char *p = prefix; *p; p++)
        if (*p == '/') {
            *p = '\0';
            if (!is_safe(p == prefix ? "/" : prefix))
                return false;
            *p = '/';
        }
    return true;
}

/* By the path as it is given, which may lead through symbolic links, and as it is. What is safe stays so. */
static bool nobody_can_exchange(void)
{
    static atomic_bool known;
    char real[PATH_MAX];
    if (atomic_load_explicit(&known, memory_order_relaxed))
        return true;
    bool safe = realpath(folder, real) && are_safe_above(folder) && are_safe_above(real);
    atomic_store_explicit(&known, safe, memory_order_relaxed);
    return safe;
}

/* Opened for every use: a descriptor that is kept may become another file when the program closes all
 * it does not know. -1 without a usable folder. */
int cumu_cache_open(bool create)
{
    struct stat st;
    enum { HOW = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    if (!*cumu_cache_path() || cumu_opt_int(CUMU_OPT_CACHE_SIZE) == 0)
        return -1;
    int fd = open(folder, HOW);
    if (fd < 0 && errno == ENOENT && create && (make_folder() == 0 || errno == EEXIST))
        fd = open(folder, HOW);
    if (fd < 0) {
        if (errno != ENOENT || create)
            unusable(strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 077)) {
        unusable("it must belong to the user, with mode 0700");
        (void)close(fd);
        return -1;
    }
    if (!nobody_can_exchange()) {
        unusable("another user can exchange it, or a folder above");
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void name_of(const struct cumu_key *key, char name[NAME_LEN])
{
    for (unsigned i = 0; i < CUMU_HASH_BYTES; i++)
        (void)snprintf(name + 2 * i, 3, "%02x", key->hash[i]);
    (void)snprintf(name + 2 * CUMU_HASH_BYTES, sizeof SUFFIX, SUFFIX);
}

static bool is_entry(const char *name)
{
    return strlen(name) == NAME_LEN - 1 && strspn(name, "0123456789abcdef") == 2 * (size_t)CUMU_HASH_BYTES;
}

/* ---- an entry -------------------------------------------------------------------------------- */

static void seal(struct trailer *h, const void *object, uint8_t out[CUMU_HASH_BYTES])
{
    struct cumu_hash hash;
    struct trailer blank = *h;
    memset(blank.seal, 0, sizeof blank.seal);
    cumu_hash_start(&hash);
    cumu_hash_add(&hash, &blank, sizeof blank);
    cumu_hash_add(&hash, object, (size_t)h->size);
    cumu_hash_end(&hash, out);
}

/* Why the open file must not be used, or NULL with the object (malloc'ed). */
static const char *verify(int fd, const char *name, struct trailer *h, void **object)
{
    struct stat st;
    struct cumu_key key;
    char expected[NAME_LEN];
    uint8_t is[CUMU_HASH_BYTES];
    *object = NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return "not a file";
    if (st.st_uid != geteuid())
        return "another user's";
    if (st.st_mode & 077)
        return "open to others";
    if (st.st_size < (off_t)sizeof *h || lseek(fd, -(off_t)sizeof *h, SEEK_END) < 0 || !cumu_read_all(fd, h, sizeof *h))
        return "truncated";
    if (memcmp(h->magic, magic, sizeof magic) != 0 &&
        (memcmp(h->magic, link_magic, sizeof link_magic) != 0 || h->size != sizeof key.hash))
        return "truncated, or of another version";
    if (h->size > MAX_OBJECT || h->size + sizeof *h != (uint64_t)st.st_size)
        return "truncated";
    memcpy(key.hash, h->key, sizeof key.hash);
    name_of(&key, expected);
    if (strcmp(name, expected) != 0)
        return "under another's name";
    void *p = malloc((size_t)h->size + 1);
    if (!p)
        return "out of memory";
    if (lseek(fd, 0, SEEK_SET) < 0 || !cumu_read_all(fd, p, (size_t)h->size)) {
        free(p);
        return "truncated";
    }
    seal(h, p, is);
    if (memcmp(is, h->seal, sizeof is) != 0) {
        free(p);
        return "damaged";
    }
    h->kernel[sizeof h->kernel - 1] = '\0';
    *object = p;
    return NULL;
}

/* The object of an entry, or the key that a link has in its place. */
static bool get(int dir, const struct cumu_key *key, struct trailer *h, void **object)
{
    char name[NAME_LEN];
    const char *why = NULL;
    name_of(key, name);
    *object = NULL;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        why = verify(fd, name, h, object);
        if (!why)
            (void)futimens(fd, NULL); /* the order of the eviction */
        (void)close(fd);
    } else if (errno != ENOENT) {
        why = strerror(errno);
    }
    if (why) {
        cumu_warn("cache", NULL, "%s/%s: %s; made again", folder, name, why);
        (void)unlinkat(dir, name, 0);
    }
    return *object != NULL;
}

static bool is_link(const struct trailer *h) { return memcmp(h->magic, link_magic, sizeof link_magic) == 0; }

bool cumu_cache_get(const struct cumu_key *key, void **object, size_t *size)
{
    struct trailer h;
    struct cumu_key to;
    int dir = cumu_cache_open(false);
    *object = NULL;
    if (dir < 0)
        return false;
    bool found = get(dir, key, &h, object);
    if (found && is_link(&h)) { /* to an entry that is none: a link to a link would be a damaged cache */
        memcpy(to.hash, *object, sizeof to.hash);
        free(*object);
        found = get(dir, &to, &h, object) && !is_link(&h);
        if (!found) {
            free(*object);
            *object = NULL;
        }
    }
    if (found)
        *size = (size_t)h.size;
    (void)close(dir);
    return found;
}

bool cumu_cache_file(const struct cumu_key *key, char path[PATH_MAX])
{
    char name[NAME_LEN];
    struct stat st;
    int dir = cumu_cache_open(false);
    if (dir < 0)
        return false;
    name_of(key, name);
    bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    (void)close(dir);
    return there && snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

/* ---- size ------------------------------------------------------------------------------------ */

struct file {
    char name[NAME_LEN];
    struct timespec used;
    uint64_t size;
};

static int older(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* All entries of the folder. */
static struct file *list(int dir, size_t *count, uint64_t *total)
{
    size_t room = 0;
    struct file *all = NULL;
    struct stat st;
    int copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    *count = 0;
    *total = 0;
    if (!d) {
        if (copy >= 0)
            (void)close(copy);
        return NULL;
    }
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (!is_entry(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (*count == room) {
            struct file *more = realloc(all, (room = room ? 2 * room : 64) * sizeof *all);
            if (!more)
                break;
            all = more;
        }
        struct file *f = &all[(*count)++];
        memcpy(f->name, e->d_name, NAME_LEN);
        f->used = st.st_mtim;
        f->size = (uint64_t)st.st_size;
        *total += f->size;
    }
    (void)closedir(d);
    return all;
}

/* Down to nine tenths, so that not every store has to. */
static void evict(int dir)
{
    uint64_t limit = (uint64_t)cumu_opt_int(CUMU_OPT_CACHE_SIZE) << 20, total;
    size_t count, gone = 0;
    struct file *all = list(dir, &count, &total);
    if (all && total > limit) {
        qsort(all, count, sizeof *all, older);
        for (; gone < count && total > limit / 10 * 9; gone++) {
            (void)unlinkat(dir, all[gone].name, 0);
            total -= all[gone].size;
        }
        cumu_info("cache", NULL, "over %lu MB: %zu of %zu entries removed", (unsigned long)(limit >> 20), gone, count);
    }
    free(all);
}

static void put(const char kind[8], const struct cumu_key *key, const struct cumu_entry *e, const void *object,
                size_t size)
{
    static atomic_uint puts;
    char name[NAME_LEN], temporary[64];
    struct trailer h = {.isa = e->isa, .shape = e->shape, .compile_ms = e->compile_ms, .size = size};
    int dir = cumu_cache_open(true);
    if (dir < 0 || size > MAX_OBJECT)
        goto out;
    memcpy(h.magic, kind, sizeof h.magic);
    (void)snprintf(h.kernel, sizeof h.kernel, "%s", e->kernel);
    memcpy(h.key, key->hash, sizeof h.key);
    seal(&h, object, h.seal);
    name_of(key, name);
    cumu_scratch_name(temporary, sizeof temporary);
    int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        unusable(strerror(errno));
        goto out;
    }
    /* No fsync: what a crash of the machine cuts off fails the seal. */
    bool good = cumu_write_all(fd, object, size) && cumu_write_all(fd, &h, sizeof h);
    good = close(fd) == 0 && good && renameat(dir, temporary, dir, name) == 0;
    if (!good) {
        unusable(strerror(errno));
        (void)unlinkat(dir, temporary, 0);
    } else if (atomic_fetch_add(&puts, 1) % PUTS == 0) {
        evict(dir);
    }
out:
    if (dir >= 0)
        (void)close(dir);
}

void cumu_cache_put(const struct cumu_key *key, const struct cumu_entry *e, const void *object, size_t size)
{
    put(magic, key, e, object, size);
}

void cumu_cache_link(const struct cumu_key *key, const struct cumu_entry *e, const struct cumu_key *object)
{
    put(link_magic, key, e, object->hash, sizeof object->hash);
}

/* ---- for the tool ---------------------------------------------------------------------------- */

int cumu_cache_each(bool (*fn)(void *ctx, const char *name, const struct cumu_entry *e), void *ctx)
{
    size_t count;
    uint64_t total;
    int dir = cumu_cache_open(false);
    if (dir < 0)
        return -1;
    struct file *all = list(dir, &count, &total);
    qsort(all, all ? count : 0, sizeof *all, older);
    for (size_t i = count; i-- > 0;) { /* the latest first */
        struct trailer h = {.size = 0};
        void *object = NULL;
        int fd = openat(dir, all[i].name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        const char *why = fd >= 0 ? verify(fd, all[i].name, &h, &object) : "unreadable";
        struct cumu_entry e = {.isa = h.isa,
                               .shape = h.shape,
                               .compile_ms = h.compile_ms,
                               .size = (size_t)all[i].size,
                               .used = all[i].used.tv_sec,
                               .good = !why};
        (void)snprintf(e.kernel, sizeof e.kernel, "%s", why ? why : h.kernel);
        free(object);
        if (fd >= 0)
            (void)close(fd);
        if (!fn(ctx, all[i].name, &e))
            break;
    }
    free(all);
    (void)close(dir);
    return 0;
}

long cumu_cache_clear(void)
{
    size_t count;
    uint64_t total;
    long removed = 0;
    int dir = cumu_cache_open(false);
    if (dir < 0)
        return -1;
    struct file *all = list(dir, &count, &total);
    cumu_scratch_sweep(dir);
    (void)unlinkat(dir, CUMU_HOT_FILE, 0);
    for (size_t i = 0; all && i < count; i++)
        removed += unlinkat(dir, all[i].name, 0) == 0;
    free(all);
    (void)close(dir);
    return removed;
}
