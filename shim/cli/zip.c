/* Reads zip archives by their central directory; inflates by zlib. Nothing in them is trusted. */
#include "cli/zip.h"
#include "core/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50, END64 = 0x06064b50, LOCATOR64 = 0x07064b50 };
/* What may be written of an archive: real ones unpack to ten times their size at most, blocks of zeros left out. */
enum { TIMES = 32, FREE_BYTES = 64 << 20, BLOCK = 4096 };
enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1, EXTRA64 = 1, LINK = 0120000 };

struct zip {
    const uint8_t *at;
    size_t size;
    const char *dir;
    void (*note)(void *ctx, const char *member, const char *why);
    void *ctx;
    uint64_t budget; /* bytes that may be written still */
};

struct member {
    char name[PATH_MAX];
    uint16_t flags, method;
    uint64_t packed, size, offset;
    uint32_t mode;
};

/* Little-endian number of n bytes; 0 outside of the file. */
static uint64_t get(const struct zip *z, uint64_t at, unsigned n)
{
    uint64_t v = 0;
    if (at > z->size || n > z->size - at)
        return 0;
    for (unsigned i = n; i--;)
        v = v << 8 | z->at[at + i];
    return v;
}

bool cumu_zip_is(const char *path)
{
    unsigned char magic[4] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, magic, sizeof magic);
    if (fd >= 0)
        (void)close(fd);
    return n == 4 && magic[0] == 'P' && magic[1] == 'K' && (magic[2] == 3 || magic[2] == 5) && magic[3] == magic[2] + 1;
}

/* A name that stays below the folder: relative, no "..", no control characters. */
static bool safe(const char *name)
{
    if (!*name || *name == '/')
        return false;
    for (const char *s = name; *s;) {
        size_t n = strcspn(s, "/");
        if (!n || (n == 2 && s[0] == '.' && s[1] == '.'))
            return false;
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)s[i] < ' ' || s[i] == '\\')
                return false;
        s += n + (s[n] == '/');
    }
    return true;
}

/* Makes the folders above the file; -1 with errno. O_EXCL: no member replaces another. */
static int create(const struct zip *z, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", z->dir, name);
    if (n < 0 || n >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (char *s = path + strlen(z->dir) + 1; (s = strchr(s, '/')); *s++ = '/') {
        *s = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return -1;
    }
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700);
}

/* Where the member's bytes go: nowhere until the first ones show an ELF file, which is sparse then. */
struct sink {
    struct zip *z;
    const struct member *m;
    int fd; /* -1: not open yet */
    uint64_t left;
    bool foreign; /* no ELF file: nothing is written, and that is right */
};

static bool is_zero(const uint8_t *p, size_t n) { return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0; }

/* Blocks of zeros become holes; the file's length is set when it is closed. */
static const char *write_blocks(struct sink *s, const uint8_t *p, size_t n)
{
    for (size_t step; n; p += step, n -= step) {
        step = n < BLOCK ? n : BLOCK;
        if (is_zero(p, step)) {
            if (lseek(s->fd, (off_t)step, SEEK_CUR) < 0)
                return strerror(errno);
            continue;
        }
        if (step > s->z->budget)
            return "unpacks to far more than the archive's size";
        s->z->budget -= step;
        if (!cumu_write_all(s->fd, p, step))
            return strerror(errno);
    }
    return NULL;
}

static const char *take(struct sink *s, const uint8_t *p, size_t n)
{
    if (n > s->left)
        return "is longer than the archive says";
    s->left -= n;
    if (s->fd < 0) {
        s->foreign = n < SELFMAG || memcmp(p, ELFMAG, SELFMAG) != 0;
        if (s->foreign)
            return NULL;
        s->fd = create(s->z, s->m->name);
        if (s->fd < 0)
            return strerror(errno);
    }
    return write_blocks(s, p, n);
}

/* Decompresses a member in pieces, so that none is in memory whole. zlib counts in 32 bits. */
static const char *inflate_to(struct sink *s, const uint8_t *p, uint64_t n)
{
    uint8_t out[65536];
    z_stream stream = {0};
    const char *why = NULL;
    int r = inflateInit2(&stream, -MAX_WBITS);
    if (r != Z_OK)
        return "out of memory";
    while (!why && !s->foreign && r != Z_STREAM_END) {
        uInt piece = n > 1U << 30 ? 1U << 30 : (uInt)n;
        if (!stream.avail_in) {
            stream.next_in = (Bytef *)(uintptr_t)p; /* zlib's old signature; it does not write there */
            stream.avail_in = piece;
            p += piece;
            n -= piece;
        }
        stream.next_out = out;
        stream.avail_out = sizeof out;
        r = inflate(&stream, Z_NO_FLUSH);
        if (r != Z_OK && r != Z_STREAM_END)
            why = "is damaged";
        else
            why = take(s, out, sizeof out - stream.avail_out);
    }
    (void)inflateEnd(&stream);
    return why;
}

static const char *unpack(struct zip *z, const struct member *m)
{
    uint64_t skip = 30 + get(z, m->offset + 26, 2) + get(z, m->offset + 28, 2);
    if (get(z, m->offset, 4) != LOCAL || m->offset > z->size || skip > z->size - m->offset ||
        m->packed > z->size - m->offset - skip)
        return "lies outside of the archive";
    if (m->flags & ENCRYPTED)
        return "is encrypted";
    if ((m->mode & 0170000) == LINK)
        return "is a symbolic link";
    const uint8_t *p = z->at + m->offset + skip;
    struct sink s = {z, m, -1, m->size, false};
    const char *why = m->method == STORED     ? m->packed ? take(&s, p, m->packed) : NULL
                      : m->method == DEFLATED ? inflate_to(&s, p, m->packed)
                                              : "is packed in a way that is neither stored nor deflated";
    if (!why && !s.foreign && s.left)
        why = "is shorter than the archive says";
    if (s.fd >= 0) {
        /* Writing nothing at its end asks whether the limit allows such a file: beyond, ftruncate is SIGXFSZ. */
        if (!why && (lseek(s.fd, (off_t)m->size, SEEK_SET) < 0 || !cumu_write_all(s.fd, "", 0)))
            why = strerror(errno);
        if (ftruncate(s.fd, why ? 0 : (off_t)m->size) != 0 && !why)
            why = strerror(errno);
        (void)close(s.fd);
    }
    return why;
}

/* Sizes that need 64 bits stand in an extra field, those only whose place holds all ones. */
static void wide_sizes(const struct zip *z, uint64_t at, uint64_t end, struct member *m)
{
    for (; at + 4 <= end; at += 4 + get(z, at + 2, 2)) {
        if (get(z, at, 2) != EXTRA64)
            continue;
        uint64_t from = at + 4;
        uint64_t *const field[] = {&m->size, &m->packed, &m->offset};
        for (int i = 0; i < 3; i++)
            if (*field[i] == UINT32_MAX) {
                *field[i] = get(z, from, 8);
                from += 8;
            }
        return;
    }
}

/* The directory's place and number of members. */
static bool directory(const struct zip *z, uint64_t *at, uint64_t *count)
{
    /* The end record is followed by a comment of at most 64 KiB. */
    for (uint64_t back = 22; back <= z->size && back <= 22 + 65535; back++) {
        uint64_t end = z->size - back;
        if (get(z, end, 4) != END || get(z, end + 20, 2) != back - 22)
            continue;
        *count = get(z, end + 10, 2);
        *at = get(z, end + 16, 4);
        if ((*count == 0xffff || *at == UINT32_MAX) && end >= 20 && get(z, end - 20, 4) == LOCATOR64) {
            uint64_t wide = get(z, end - 12, 8);
            if (get(z, wide, 4) != END64)
                return false;
            *count = get(z, wide + 32, 8);
            *at = get(z, wide + 48, 8);
        }
        return true;
    }
    return false;
}

static const char *unpack_all(struct zip *z)
{
    uint64_t at, count;
    struct member m;
    if (!directory(z, &at, &count))
        return "a zip archive without its directory (truncated?)";
    for (uint64_t i = 0; i < count; i++) {
        uint64_t name = get(z, at + 28, 2), extra = get(z, at + 30, 2), comment = get(z, at + 32, 2);
        if (get(z, at, 4) != CENTRAL || at + 46 + name + extra + comment > z->size)
            return "a zip archive with a damaged directory";
        m = (struct member){.flags = (uint16_t)get(z, at + 8, 2),
                            .method = (uint16_t)get(z, at + 10, 2),
                            .packed = get(z, at + 20, 4),
                            .size = get(z, at + 24, 4),
                            .offset = get(z, at + 42, 4),
                            .mode = (uint32_t)get(z, at + 38, 4) >> 16};
        wide_sizes(z, at + 46 + name, at + 46 + name + extra, &m);
        bool fits = name < sizeof m.name && !memchr(z->at + at + 46, 0, name);
        memcpy(m.name, z->at + at + 46, name < sizeof m.name ? name : sizeof m.name - 1);
        at += 46 + name + extra + comment;
        if (fits && name && m.name[name - 1] == '/')
            continue; /* a folder */
        const char *why = fits && safe(m.name) ? unpack(z, &m) : "has a name that leaves the archive";
        if (why)
            z->note(z->ctx, m.name, why);
    }
    return NULL;
}

const char *cumu_zip_unpack(const char *path, const char *dir,
                            void (*note)(void *ctx, const char *member, const char *why), void *ctx)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
        if (fd >= 0)
            (void)close(fd);
        return "cannot be read";
    }
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (map == MAP_FAILED)
        return "cannot be read";
    struct zip z = {map, (size_t)st.st_size, dir, note, ctx, FREE_BYTES + TIMES * (uint64_t)st.st_size};
    const char *why = unpack_all(&z);
    (void)munmap(map, z.size);
    return why;
}
