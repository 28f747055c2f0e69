/* Fat binaries: synthetic containers of every compression and every kind of damage; files given as
 * arguments (made by nvcc in every -compress-mode) must hold PTX with the kernel named by -k. */
#include "fatbin/fatbin.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../check.h"

struct blob {
    uint8_t data[65536];
    size_t n;
};

static void put(uint8_t *p, uint64_t v, int bytes) { memcpy(p, &v, (size_t)bytes); }

static void container_begin(struct blob *b)
{
    put(b->data + b->n, FATBIN_MAGIC, 4);
    put(b->data + b->n + 4, 1, 2);
    put(b->data + b->n + 6, 16, 2);
    put(b->data + b->n + 8, 0, 8);
    b->n += 16;
}

/* Appends an entry to the container that starts at `start`; returns the entry's offset. */
static size_t entry_add(struct blob *b, size_t start, unsigned kind, unsigned arch, uint64_t flags, const void *payload,
                        size_t stored, size_t packed, size_t unpacked)
{
    size_t at = b->n, padded = (stored + 7) & ~(size_t)7, header = 64 + 16;
    uint8_t *p = b->data + at;
    memset(p, 0, header + padded);
    put(p, kind, 2);
    put(p + 2, 0x0101, 2);
    put(p + 4, header, 4);
    put(p + 8, padded, 8);
    put(p + 0x10, packed, 4);
    put(p + 0x1A, 9, 2);
    put(p + 0x1C, arch, 4);
    put(p + 0x20, 64, 4);
    put(p + 0x24, 6, 4);
    put(p + 0x28, 0x11 | flags, 8);
    put(p + 0x38, unpacked, 8);
    memcpy(p + 64, "file.c", 6);
    memcpy(p + header, payload, stored);
    b->n += header + padded;
    put(b->data + start + 8, b->n - start - 16, 8);
    return at;
}

static char text[4000];

static void make_text(void)
{
    size_t n = 0;
    for (unsigned i = 0; n < sizeof text - 64; i++)
        n += (size_t)sprintf(text + n, "add.s32 %%r%u, %%r%u, %u;\n", i, i * 7 % 31, i * i);
}

static void check_unpack(const struct blob *b, const char *what, int expect)
{
    struct fatbin_list l;
    int err = fatbin_list_make(&l, b->data, b->n, 80);
    check(err == FATBIN_OK && l.nptx == 1, "%s: one PTX entry", what);
    if (err)
        return;
    check(l.entry[0].name_len == 6 && !memcmp(l.entry[0].name, "file.c", 6), "%s: name", what);
    char *out = NULL;
    size_t len = 0;
    err = fatbin_unpack(&l.entry[0], &out, &len);
    if (expect == FATBIN_OK)
        check(!err && len == strlen(text) && !strcmp(out, text), "%s: text comes back", what);
    else
        check(err == expect, "%s: %s", what, fatbin_error_text(err));
    free(out);
    fatbin_list_free(&l);
}

static void compression(void)
{
    static struct blob b;
    static char packed[8192];
    size_t full = strlen(text) + 1;

    b.n = 0, container_begin(&b);
    entry_add(&b, 0, FATBIN_PTX, 75, 0, text, full, 0, 0);
    check_unpack(&b, "raw", FATBIN_OK);

    size_t z = ZSTD_compress(packed, sizeof packed, text, full, 3);
    b.n = 0, container_begin(&b);
    entry_add(&b, 0, FATBIN_PTX, 75, FATBIN_F_ZSTD, packed, z, z, full);
    check_unpack(&b, "zstd", FATBIN_OK);
    size_t wrong[] = {0, 1, full - 1, full + 999, (size_t)1 << 40};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        b.n = 0, container_begin(&b);
        entry_add(&b, 0, FATBIN_PTX, 75, FATBIN_F_ZSTD, packed, z, z, wrong[i]);
        check_unpack(&b, "zstd, wrong recorded size", FATBIN_OK);
    }
    b.n = 0, container_begin(&b);
    entry_add(&b, 0, FATBIN_PTX, 75, FATBIN_F_ZSTD, packed, z / 2, z / 2, full);
    check_unpack(&b, "zstd, cut frame", FATBIN_CORRUPT);

    int l4 = LZ4_compress_default(text, packed, (int)full, sizeof packed);
    b.n = 0, container_begin(&b);
    entry_add(&b, 0, FATBIN_PTX, 75, FATBIN_F_LZ4, packed, (size_t)l4, (size_t)l4, full);
    check_unpack(&b, "lz4", FATBIN_OK);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        b.n = 0, container_begin(&b);
        entry_add(&b, 0, FATBIN_PTX, 75, FATBIN_F_LZ4, packed, (size_t)l4, (size_t)l4, wrong[i]);
        check_unpack(&b, "lz4, wrong recorded size", FATBIN_OK);
    }
    memset(packed, 0xff, 100);
    b.n = 0, container_begin(&b);
    entry_add(&b, 0, FATBIN_PTX, 75, FATBIN_F_LZ4, packed, 100, 100, full);
    check_unpack(&b, "lz4, damaged", FATBIN_CORRUPT);
    b.n = 0, container_begin(&b);
    entry_add(&b, 0, FATBIN_PTX, 75, 0x1000, packed, 100, 100, full);
    check_unpack(&b, "unknown compression", FATBIN_UNKNOWN_COMPRESSION);
}

static unsigned best(const unsigned (*arch)[2], unsigned n, unsigned claimed, char *suffix)
{
    static struct blob b;
    struct fatbin_list l;
    b.n = 0, container_begin(&b);
    for (unsigned i = 0; i < n; i++)
        entry_add(&b, 0, FATBIN_PTX, arch[i][0], arch[i][1], "x", 2, 0, 0);
    if (fatbin_list_make(&l, b.data, b.n, claimed))
        return 0;
    unsigned got = l.entry[0].arch;
    *suffix = l.entry[0].suffix;
    fatbin_list_free(&l);
    return got;
}

static void choice(void)
{
    static const unsigned all[][2] = {{120, 0}, {50, 0}, {75, 0}, {90, 0}, {79, FATBIN_F_ARCH_A}};
    static const unsigned above[][2] = {{120, 0}, {90, 0}, {100, 0}, {90, FATBIN_F_ARCH_A}};
    static const unsigned special[][2] = {{100, FATBIN_F_ARCH_F}, {90, FATBIN_F_ARCH_A}};
    static const unsigned own[][2] = {{90, 0}, {90, FATBIN_F_ARCH_A}, {80, 0}, {100, FATBIN_F_ARCH_A}};
    static const unsigned family[][2] = {
        {90, 0}, {100, FATBIN_F_ARCH_F}, {100, 0}, {100, FATBIN_F_ARCH_A}, {120, FATBIN_F_ARCH_F}};
    char s;
    check(best(own, 4, 90, &s) == 90 && s == 'a', "of the claim's own number 'a' before plain");
    check(best(own, 4, 89, &s) == 80 && !s, "'a' of a number above the claim last");
    check(best(own, 4, 100, &s) == 100 && s == 'a', "'a' of the claim before plain ones below it");
    check(best(own, 4, 101, &s) == 90 && !s, "'a' is for no later device");
    check(best(family, 5, 103, &s) == 100 && s == 'f', "'f' for the family, before plain of the same number");
    check(best(family, 5, 100, &s) == 100 && s == 'a', "'a' before 'f'");
    check(best(family, 5, 110, &s) == 100 && !s, "'f' not for another family");
    check(best(family, 5, 121, &s) == 120 && s == 'f', "'f' of the highest family");
    check(best(all, 5, 80, &s) == 75 && !s, "highest plain PTX at or below the claim");
    check(best(all, 5, 90, &s) == 90, "equal architecture wins");
    check(best(all, 5, 30, &s) == 50, "else the lowest above");
    check(best(above, 4, 80, &s) == 90 && !s, "plain before 'a' of the same number");
    check(best(special, 2, 80, &s) == 90 && s == 'a', "specific PTX when there is nothing else");
}

static bool count_errors(void *ctx, const struct fatbin_entry *e, int error)
{
    int *n = ctx;
    n[0] += error == 0;
    n[1] += error != 0;
    n[2] = error ? error : n[2];
    return e != NULL;
}

static void damage(void)
{
    static struct blob b;
    struct fatbin_list l;
    b.n = 0, container_begin(&b);
    size_t first = entry_add(&b, 0, FATBIN_CUBIN, 75, 0, "not an elf", 10, 0, 0);
    check(fatbin_list_make(&l, b.data, b.n, 80) == FATBIN_NO_PTX && l.ncubin == 1, "SASS only");
    fatbin_list_free(&l);
    check(fatbin_list_make(&l, b.data, b.n - 1, 80) == FATBIN_TRUNCATED, "cut payload");
    check(fatbin_list_make(&l, b.data, 12, 80) == FATBIN_TRUNCATED, "cut header");
    put(b.data + first, 77, 2);
    check(fatbin_list_make(&l, b.data, b.n, 80) == FATBIN_NO_IMAGE, "unknown kind only");
    put(b.data + first, FATBIN_CUBIN, 2);
    put(b.data + first + 4, 12, 4);
    check(fatbin_list_make(&l, b.data, b.n, 80) == FATBIN_BAD_HEADER, "entry header too small");
    put(b.data + first + 4, 80, 4);
    put(b.data + first + 8, UINT64_MAX - 7, 8);
    check(fatbin_list_make(&l, b.data, b.n, 80) == FATBIN_TRUNCATED, "payload size overflows");
    put(b.data, 0x12345678, 4);
    check(fatbin_list_make(&l, b.data, b.n, 80) == FATBIN_BAD_MAGIC, "bad magic");

    /* A section: two containers with padding between, the second one cut. */
    b.n = 0, container_begin(&b);
    entry_add(&b, 0, FATBIN_PTX, 75, 0, "a", 2, 0, 0);
    b.n += 24;
    memset(b.data + b.n - 24, 0, 24);
    size_t second = b.n;
    container_begin(&b);
    entry_add(&b, second, FATBIN_PTX, 80, 0, "b", 2, 0, 0);
    entry_add(&b, second, 99, 80, 0, "c", 2, 0, 0);
    int n[3] = {0};
    size_t seen = fatbin_scan(b.data, b.n, count_errors, n);
    check(seen == 3 && n[0] == 2 && n[1] == 1 && n[2] == FATBIN_UNKNOWN_KIND, "section scan");
    memset(n, 0, sizeof n);
    for (size_t cut = 0; cut <= b.n; cut++)
        fatbin_scan(b.data, cut, count_errors, n);
    check(n[0] > 0, "section scan of every prefix stays inside");
}

static void wrappers(void)
{
    static struct blob b;
    struct {
        uint32_t magic, version;
        const void *data;
        const void *prelinked;
    } w = {FATBIN_MAGIC_WRAPPER, 1, b.data, NULL};
    const void *units[] = {b.data + 8, b.data + 16, NULL};
    b.n = 0, container_begin(&b);
    entry_add(&b, 0, FATBIN_PTX, 75, 0, "a", 2, 0, 0);
    check(fatbin_wrapper_container(&w, 0) == b.data && !fatbin_wrapper_container(&w, 1), "plain");
    struct fatbin_list l;
    check(fatbin_list_make(&l, &w, FATBIN_UNBOUNDED, 80) == FATBIN_OK && l.n == 1, "wrapper followed");
    fatbin_list_free(&l);
    w.version = 2;
    w.prelinked = units;
    check(fatbin_wrapper_container(&w, 0) == units[0] && fatbin_wrapper_container(&w, 1) == units[1] &&
              fatbin_wrapper_container(&w, 2) == b.data && !fatbin_wrapper_container(&w, 3),
          "linked: units, then the linked image");
    check(fatbin_segment_version(&w, sizeof w, 0) == 2 && !fatbin_segment_version(&w, sizeof w, 1), "segment");
    w.magic = 0;
    check(!fatbin_wrapper_container(&w, 0), "not a wrapper");
}

static int file_holds(const char *path, const char *kernel, bool want_ptx)
{
    static char data[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    struct fatbin_list l;
    int err = fatbin_list_make(&l, data, n, 80), found = 0;
    for (unsigned i = 0; i < l.n; i++) {
        char *out;
        size_t len;
        const struct fatbin_entry *e = &l.entry[i];
        if (fatbin_unpack(e, &out, &len))
            return 0;
        if (e->kind == FATBIN_PTX)
            found += want_ptx && strstr(out, kernel) != NULL;
        else if (!want_ptx && err == FATBIN_NO_PTX) {
            unsigned next = 0;
            const char *name = fatbin_cubin_kernel(out, len, &next);
            found += name && !strcmp(name, kernel) && fatbin_elf_size(out, len) > 0;
        }
        free(out);
    }
    fatbin_list_free(&l);
    return found;
}

int main(int argc, char **argv)
{
    make_text();
    compression();
    choice();
    damage();
    wrappers();
    const char *kernel = "";
    bool ptx = true;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-k") && i + 1 < argc)
            kernel = argv[++i];
        else if (!strcmp(argv[i], "-s"))
            ptx = false; /* what follows holds machine code only */
        else
            check(file_holds(argv[i], kernel, ptx), "%s holds %s", argv[i], kernel);
    }
    return check_end("fatbin fatbin");
}
