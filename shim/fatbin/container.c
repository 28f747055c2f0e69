/* Container walk: headers, entries, wrappers, sections with several containers. */
#include "fatbin/fatbin.h"

#include <string.h>

enum { CONTAINER_HEADER = 16, ENTRY_HEADER = 64, WRAPPER_SIZE = 24, MAX_UNITS = 65536 };

struct wrapper { /* as nvcc lays it out in .nvFatBinSegment */
    uint32_t magic, version;
    const void *data;
    const void *const *prelinked; /* version 2: NULL-terminated; version 1: unused */
};

static const char *const error_text[FATBIN_NERRORS] = {
    [FATBIN_OK] = "no error",
    [FATBIN_TRUNCATED] = "fat binary is truncated",
    [FATBIN_BAD_MAGIC] = "not a fat binary (bad magic number)",
    [FATBIN_BAD_HEADER] = "fat binary header is damaged",
    [FATBIN_UNKNOWN_KIND] = "fat binary entry of unknown kind",
    [FATBIN_UNKNOWN_COMPRESSION] = "fat binary entry is compressed by an unknown method",
    [FATBIN_CORRUPT] = "fat binary payload does not decompress",
    [FATBIN_TOO_BIG] = "fat binary payload decompresses to more than the limit",
    [FATBIN_NO_PTX] = "no PTX in the fat binary, machine code (SASS) only",
    [FATBIN_NO_IMAGE] = "fat binary holds no image",
    [FATBIN_NOMEM] = "out of memory",
};

const char *fatbin_error_text(int error)
{
    return error >= 0 && error < FATBIN_NERRORS && error_text[error] ? error_text[error] : "unknown error";
}

/* Payloads are aligned in files, but nothing here relies on it. */
static uint16_t rd16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static uint32_t rd32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static uint64_t rd64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

bool fatbin_is_wrapper(const void *p) { return p && rd32(p) == FATBIN_MAGIC_WRAPPER; }

const void *fatbin_wrapper_container(const void *wrapper, unsigned i)
{
    struct wrapper w;
    if (!fatbin_is_wrapper(wrapper))
        return NULL;
    memcpy(&w, wrapper, sizeof w);
    unsigned n = 0;
    if (w.version == 2 && w.prelinked)
        for (; n < MAX_UNITS && w.prelinked[n]; n++)
            if (n == i)
                return w.prelinked[n];
    return i == n ? w.data : NULL;
}

unsigned fatbin_segment_version(const void *segment, size_t size, unsigned i)
{
    const uint8_t *p = segment;
    if (i >= size / WRAPPER_SIZE)
        return 0;
    p += (size_t)i * WRAPPER_SIZE;
    return rd32(p) == FATBIN_MAGIC_WRAPPER ? rd32(p + 4) : 0;
}

static int open_container(struct fatbin_walk *w, const uint8_t *p, size_t size)
{
    if (size < CONTAINER_HEADER)
        return FATBIN_TRUNCATED;
    if (rd32(p) != FATBIN_MAGIC)
        return FATBIN_BAD_MAGIC;
    size_t header = rd16(p + 6);
    uint64_t body = rd64(p + 8);
    if (header < CONTAINER_HEADER || body > FATBIN_MAX_CONTAINER)
        return FATBIN_BAD_HEADER;
    if (size != FATBIN_UNBOUNDED && (header > size || body > size - header))
        return FATBIN_TRUNCATED;
    w->container = p;
    w->at = p + header;
    w->container_end = w->at + body;
    w->end = size == FATBIN_UNBOUNDED ? w->container_end : p + size;
    return FATBIN_OK;
}

const void *fatbin_skip_padding(const void *section, size_t *size)
{
    const uint8_t *p = section;
    while (*size >= 4 && !(p[0] | p[1] | p[2] | p[3])) {
        p += 4;
        *size -= 4;
    }
    return *size < 16 ? NULL : p;
}

int fatbin_walk_open(struct fatbin_walk *w, const void *data, size_t size)
{
    memset(w, 0, sizeof *w);
    if (!data)
        return FATBIN_BAD_MAGIC;
    if (size >= WRAPPER_SIZE && size == FATBIN_UNBOUNDED && fatbin_is_wrapper(data)) {
        data = fatbin_wrapper_container(data, 0);
        if (!data)
            return FATBIN_NO_IMAGE;
    }
    return open_container(w, data, size);
}

bool fatbin_walk_container(struct fatbin_walk *w)
{
    const uint8_t *p = w->container_end;
    while (w->end - p >= CONTAINER_HEADER) {
        if (rd32(p) != 0)
            return open_container(w, p, (size_t)(w->end - p)) == FATBIN_OK;
        p += 4; /* zero padding between containers of different objects */
    }
    return false;
}

/* A string of the entry's header that lies inside it, or nothing. */
static const char *header_string(const uint8_t *entry, size_t header, uint64_t off, uint64_t len)
{
    return len && off >= ENTRY_HEADER && off <= header && len <= header - off ? (const char *)entry + off : NULL;
}

uint32_t fatbin_registers(const char *options, size_t len)
{
    static const char word[] = "-maxrregcount";
    const char *at = options, *const end = options ? options + len : NULL;
    uint32_t found = 0;
    while (at && (at = memmem(at, (size_t)(end - at), word, strlen(word)))) {
        uint32_t n = 0;
        for (at += strlen(word); at < end && (*at == '=' || *at == ' '); at++)
            ;
        for (; at < end && *at >= '0' && *at <= '9' && n < 1000; at++)
            n = 10 * n + (uint32_t)(*at - '0');
        found = n;
    }
    return found;
}

int fatbin_walk_next(struct fatbin_walk *w, struct fatbin_entry *e, bool *more)
{
    memset(e, 0, sizeof *e);
    *more = false;
    size_t left = (size_t)(w->container_end - w->at);
    if (left == 0)
        return FATBIN_OK;
    const uint8_t *p = w->at;
    w->at = w->container_end; /* after an error there is nothing to go on with */
    if (left < ENTRY_HEADER)
        return FATBIN_TRUNCATED;
    size_t header = rd32(p + 4);
    uint64_t padded = rd64(p + 8);
    if (header < ENTRY_HEADER)
        return FATBIN_BAD_HEADER;
    if (header > left || padded > left - header)
        return FATBIN_TRUNCATED;
    uint32_t packed = rd32(p + 0x10);
    if (packed > padded)
        return FATBIN_BAD_HEADER;

    e->kind = rd16(p);
    e->minor = rd16(p + 0x18);
    e->major = rd16(p + 0x1A);
    e->arch = rd32(p + 0x1C);
    e->flags = rd64(p + 0x28);
    e->suffix = e->flags & FATBIN_F_ARCH_A ? 'a' : e->flags & FATBIN_F_ARCH_F ? 'f' : 0;
    e->payload = p + header;
    e->compressed = packed != 0 || (e->flags & (FATBIN_F_LZ4 | FATBIN_F_ZSTD)) != 0;
    e->stored = packed ? packed : padded;
    e->unpacked = e->compressed ? rd64(p + 0x38) : padded;
    e->name_len = rd32(p + 0x24);
    e->name = header_string(p, header, rd32(p + 0x20), e->name_len);
    if (!e->name)
        e->name_len = 0;
    uint32_t opt = rd32(p + 0x14);
    if (opt >= ENTRY_HEADER && opt <= header && header - opt >= 8) {
        /* The block starts with its own offset and length; the offset counts from the entry. */
        e->options_len = rd32(p + opt + 4);
        e->options = header_string(p, header, rd32(p + opt), e->options_len);
        if (!e->options)
            e->options_len = 0;
    }
    w->at = p + header + padded;
    *more = true;
    size_t carried = 0;
    const char *ptx = e->kind == FATBIN_CUBIN && !e->compressed ? fatbin_carried(e->payload, e->stored, &carried)
                                                                : NULL;
    if (ptx) { /* an entry is what can be done with it */
        e->kind = FATBIN_PTX;
        e->payload = (const uint8_t *)ptx;
        e->stored = e->unpacked = carried;
    }
    bool known = e->kind == FATBIN_PTX || e->kind == FATBIN_CUBIN || e->kind == FATBIN_LTOIR;
    return known ? FATBIN_OK : FATBIN_UNKNOWN_KIND;
}

size_t fatbin_scan(const void *section, size_t size, fatbin_scan_fn *fn, void *ctx)
{
    struct fatbin_walk w;
    size_t seen = 0;
    const uint8_t *p = section;
    while (size >= CONTAINER_HEADER && rd32(p) == 0) { /* a section may start with padding */
        p += 4;
        size -= 4;
    }
    if (size < CONTAINER_HEADER)
        return 0;
    int err = fatbin_walk_open(&w, p, size);
    if (err) {
        fn(ctx, NULL, err);
        return 0;
    }
    do {
        struct fatbin_entry e;
        bool more;
        for (;;) {
            err = fatbin_walk_next(&w, &e, &more);
            if (!more && !err)
                break;
            if (!fn(ctx, more ? &e : NULL, err))
                return seen;
            if (!more)
                return seen;
            seen++;
        }
    } while (fatbin_walk_container(&w));
    return seen;
}
