/* PTX packs: the reader of their format. Whatever stands in a file is checked against its size before it is used. */
#include "compile/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { MOST_TEXT = 1 << 30 }; /* bytes of PTX a module */

struct cumu_pack {
    const uint8_t *bytes;
    size_t size;
    void *mapped; /* NULL: the bytes are the caller's */
    const struct cumu_pack_head *head;
    const struct cumu_pack_module *index;
    const char *strings;
    size_t strings_size;
    char path[];
};

const char *cumu_pack_path(const struct cumu_pack *p) { return p->path; }

uint32_t cumu_pack_count(const struct cumu_pack *p) { return p->head->modules; }

const struct cumu_pack_module *cumu_pack_at(const struct cumu_pack *p, uint32_t i) { return &p->index[i]; }

const char *cumu_pack_file(const struct cumu_pack *p, const struct cumu_pack_module *m) { return p->strings + m->file; }

const char *cumu_pack_missing(const struct cumu_pack *p, const struct cumu_pack_module *m, uint32_t i)
{
    const char *name = p->strings + m->missing;
    if (i >= m->lacking)
        return NULL;
    while (i--)
        name += strlen(name) + 1;
    return name;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int order(const struct cumu_pack_module *m, uint64_t size, const uint8_t *key)
{
    if (m->image_size != size)
        return m->image_size < size ? -1 : 1;
    return memcmp(m->key, key, CUMU_HASH_BYTES);
}

/* As many strings as a module says that it lacks stand from there on. */
static bool names_fit(const struct cumu_pack *p, const struct cumu_pack_module *m)
{
    size_t at = m->missing;
    if (m->lacking > m->kernels || at > p->strings_size)
        return false;
    for (uint32_t i = 0; i < m->lacking; i++) {
        const char *end = at < p->strings_size ? memchr(p->strings + at, 0, p->strings_size - at) : NULL;
        if (!end)
            return false;
        at = (size_t)(end - p->strings) + 1;
    }
    return true;
}

static const char *check_modules(const struct cumu_pack *p)
{
    for (uint32_t i = 0; i < p->head->modules; i++) {
        const struct cumu_pack_module *m = &p->index[i];
        if (m->at > p->size || m->stored > p->size - m->at || m->text > MOST_TEXT)
            return "is damaged: a module's PTX lies outside of it";
        if (m->file >= p->strings_size || !names_fit(p, m))
            return "is damaged: a name lies outside of it";
        if (i && order(m - 1, m->image_size, m->key) >= 0)
            return "is damaged: its modules are not in order";
    }
    return NULL;
}

/* Head, bounds, seal, then what the index says: the seal is no secret, so a sealed file may be hostile still. */
static const char *check_all(struct cumu_pack *p)
{
    const struct cumu_pack_head *h = (const void *)p->bytes;
    struct cumu_hash hash;
    uint8_t seal[CUMU_HASH_BYTES];
    if (p->size < sizeof *h || memcmp(h->magic, CUMU_PACK_MAGIC, sizeof h->magic) != 0)
        return "is no PTX pack";
    if (h->version != CUMU_PACK_VERSION)
        return "is a PTX pack of another version of cumu; make it anew";
    if (h->size != p->size)
        return h->size > p->size ? "is truncated" : "is damaged: it is longer than it says";
    if (h->index % 8 || h->index < sizeof *h || h->index > h->strings || h->strings >= p->size ||
        (h->strings - h->index) / sizeof(struct cumu_pack_module) != h->modules ||
        (h->strings - h->index) % sizeof(struct cumu_pack_module) || p->bytes[p->size - 1])
        return "is damaged: its head contradicts itself";
    cumu_hash_start(&hash);
    cumu_hash_add(&hash, h, offsetof(struct cumu_pack_head, seal));
    cumu_hash_add(&hash, p->bytes + h->index, p->size - h->index);
    cumu_hash_end(&hash, seal);
    if (memcmp(seal, h->seal, sizeof seal) != 0)
        return "is damaged: its index has another digest than its head says";
    p->head = h;
    p->index = (const void *)(p->bytes + h->index);
    p->strings = (const char *)p->bytes + h->strings;
    p->strings_size = p->size - h->strings;
    return check_modules(p);
}

static struct cumu_pack *open_bytes(const void *bytes, size_t size, const char *path, const char **why)
{
    struct cumu_pack *p = calloc(1, sizeof *p + strlen(path) + 1);
    *why = "out of memory";
    if (!p)
        return NULL;
    p->bytes = bytes;
    p->size = size;
    memcpy(p->path, path, strlen(path) + 1);
    *why = check_all(p);
    if (*why) {
        free(p);
        return NULL;
    }
    return p;
}

struct cumu_pack *cumu_pack_of(const void *bytes, size_t size, const char **why)
{
    return open_bytes(bytes, size, "", why);
}

static const char *refuse_file(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "is no file";
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return "belongs to another user, who could change what runs";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "could be written by others, who could change what runs (chmod go-w)";
    return st->st_size == 0 ? "is empty" : NULL;
}

struct cumu_pack *cumu_pack_open(const char *path, const char **why)
{
    struct cumu_pack *p = NULL;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        *why = errno == ENOENT ? "is not there" : "cannot be opened";
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    *why = refuse_file(&st);
    if (!*why) {
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        *why = "cannot be mapped";
        if (bytes != MAP_FAILED) {
            p = open_bytes(bytes, (size_t)st.st_size, path, why);
            if (p)
                p->mapped = bytes;
            else
                (void)munmap(bytes, (size_t)st.st_size);
        }
    }
    (void)close(fd);
    return p;
}

void cumu_pack_close(struct cumu_pack *p)
{
    if (p && p->mapped)
        (void)munmap(p->mapped, p->size);
    free(p);
}

/* ---- use ------------------------------------------------------------------------------------ */

const struct cumu_pack_module *cumu_pack_find(const struct cumu_pack *p, const void *image, size_t size)
{
    uint8_t key[CUMU_HASH_BYTES];
    uint32_t low = 0, high = p->head->modules;
    while (low < high) { /* the first of that size */
        uint32_t mid = low + (high - low) / 2;
        if (p->index[mid].image_size < size)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == p->head->modules || p->index[low].image_size != size)
        return NULL;
    struct cumu_hash h;
    cumu_hash_start(&h);
    cumu_hash_add(&h, image, size);
    cumu_hash_end(&h, key);
    for (; low < p->head->modules && p->index[low].image_size == size; low++)
        if (memcmp(p->index[low].key, key, sizeof key) == 0)
            return &p->index[low];
    return NULL;
}

char *cumu_pack_text(const struct cumu_pack *p, const struct cumu_pack_module *m, const char **why)
{
    struct cumu_hash h;
    uint8_t digest[CUMU_HASH_BYTES];
    *why = "the pack has no PTX for it";
    if (!m->stored)
        return NULL;
    cumu_hash_start(&h);
    cumu_hash_add(&h, p->bytes + m->at, m->stored);
    cumu_hash_end(&h, digest);
    *why = "its PTX in the pack is damaged";
    if (memcmp(digest, m->digest, sizeof digest) != 0)
        return NULL;
    char *text = malloc(m->text + 1);
    if (!text) {
        *why = "out of memory";
        return NULL;
    }
    size_t n = ZSTD_decompress(text, m->text, p->bytes + m->at, m->stored);
    if (ZSTD_isError(n) || n != m->text || memchr(text, 0, n)) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}
