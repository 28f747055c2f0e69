/* cumu ptx: lists the device code in a file, extracts the PTX text, or shows what becomes of it. */
#include "cli/cli.h"
#include "cli/ptx_emit.h"
#include "cli/sections.h"
#include "core/file.h"
#include "fatbin/fatbin.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dump {
    long want; /* index to extract, -1 = list, -2 = all PTX */
    long index;
    int status;
    bool emit, summary; /* MUSA C++ of every PTX instead of itself */
    const char *kernel;
};

static void list(const struct dump *d, const struct fatbin_entry *e)
{
    const char *kind = e->kind == FATBIN_PTX     ? "ptx"
                       : e->kind == FATBIN_CUBIN ? "sass"
                       : e->kind == FATBIN_LTOIR ? "ltoir"
                                                 : "unknown";
    const char *how = !e->compressed             ? "raw"
                      : e->flags & FATBIN_F_ZSTD ? "zstd"
                      : e->flags & FATBIN_F_LZ4  ? "lz4"
                                                 : "compressed";
    printf("%ld\t%s\t%u%.1s\t%s\t%zu\t%zu\n", d->index, kind, e->arch, &e->suffix, how, e->stored, e->unpacked);
}

/* Lists, prints or translates one image of a fat binary, by what was asked for: -1 lists all, -2 takes every PTX,
 * else one by its number. */
static bool visit(void *ctx, const struct fatbin_entry *e, int error)
{
    struct dump *d = ctx;
    if (!e) {
        d->status = cumu_fail(2, "damaged fat binary: %s", fatbin_error_text(error));
        return false;
    }
    if (d->want == -1)
        list(d, e);
    else if (d->want == d->index || (d->want == -2 && e->kind == FATBIN_PTX)) {
        char *image;
        size_t len;
        int err = fatbin_unpack(e, &image, &len);
        if (err)
            d->status = cumu_fail(2, "image %ld: %s", d->index, fatbin_error_text(err));
        else {
            if (d->emit)
                d->status = cumu_ptx_emit(image, len, d->kernel, d->summary);
            else
                (void)fwrite(image, 1, len, stdout);
            free(image);
        }
    }
    d->index++;
    return true;
}

/* Visits all fat binaries of an ELF file: in .nv_fatbin, and with -rdc in __nv_relfatbin. The sections are scanned,
 * since the wrappers hold pointers that only a relocation fills in. */
static int scan(const char *path, struct dump *d)
{
    size_t names;
    GElf_Shdr sh;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cumu_fail(CUMU_EXIT_NOT_FOUND, "%s: cannot be read", path);
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const char *hides = elf ? cumu_sections_hidden(elf) : NULL;
    bool good = elf && elf_kind(elf) == ELF_K_ELF && elf_getshdrstrndx(elf, &names) == 0;
    for (Elf_Scn *s = NULL; good && (s = elf_nextscn(elf, s));) {
        const char *name = gelf_getshdr(s, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
        if (!name || (strcmp(name, ".nv_fatbin") != 0 && strcmp(name, "__nv_relfatbin") != 0))
            continue;
        Elf_Data *data = elf_rawdata(s, NULL);
        if (data && data->d_buf)
            (void)fatbin_scan(data->d_buf, data->d_size, visit, d);
    }
    if (elf)
        (void)elf_end(elf);
    (void)close(fd);
    if (hides)
        return cumu_fail(2, "%s %s", path, hides);
    if (!good)
        return cumu_fail(2, "%s: not an ELF file", path);
    if (d->want >= d->index && !d->status)
        return cumu_fail(2, "%s has %ld images, numbered from 0", path, d->index);
    return d->status;
}

/* A file that is PTX text, whole; NULL if it is none. */
static char *ptx_file(const char *path, size_t *len)
{
    char *text = cumu_file_read(path, SELFMAG, len);
    bool other = !text || *len < SELFMAG || memcmp(text, ELFMAG, SELFMAG) == 0;
    free(text);
    return other ? NULL : cumu_file_read(path, PTRDIFF_MAX, len);
}

/* cumu ptx --emit musa [--summary] file [kernel] */
static int emit(int argc, char **argv)
{
    struct dump d = {.want = -2, .emit = true};
    int at = 3;
    size_t len;
    if (argc > at && strcmp(argv[at], "--summary") == 0) {
        d.summary = true;
        at++;
    }
    if (argc < at + 1 || argc > at + 2 || strcmp(argv[2], "musa") != 0)
        return cumu_usage(&cumu_verb_ptx, "--emit musa, one file, and maybe a kernel");
    d.kernel = argc > at + 1 ? argv[at + 1] : NULL;
    char *text = ptx_file(argv[at], &len);
    if (!text)
        return scan(argv[at], &d);
    int status = cumu_ptx_emit(text, len, d.kernel, d.summary);
    free(text);
    return status;
}

static int ptx(int argc, char **argv)
{
    struct dump d = {.want = -1};
    if (argc > 1 && strcmp(argv[1], "--emit") == 0)
        return emit(argc, argv);
    if (argc < 2 || argc > 3)
        return cumu_usage(&cumu_verb_ptx, "one file, and maybe an image number");
    if (argc == 3 && strcmp(argv[2], "all") == 0)
        d.want = -2;
    else if (argc == 3) {
        char *end;
        d.want = strtol(argv[2], &end, 10);
        if (end == argv[2] || *end || d.want < 0)
            return cumu_usage(&cumu_verb_ptx, "\"%s\" is no image number", argv[2]);
    }
    return scan(argv[1], &d);
}

const struct cumu_verb_entry cumu_verb_ptx = {
    "ptx", "list the device code of a file, or extract it",
    "usage: cumu ptx file [number | all]\n"
    "       cumu ptx --emit musa [--summary] file [kernel]\n"
    "\n"
    "Without a number: one line per image: number, kind, architecture, compression, stored and unpacked\n"
    "size. With a number: that image, decompressed, on standard output; all: every PTX text.\n"
    "--emit musa: kernels of a PTX text, or of a binary's PTX, as the MUSA C++ that mcc compiles; with\n"
    "--summary a line for each instead: its size, milliseconds, symbol and gotos, or what MUSA has no counterpart of.\n",
    ptx};
