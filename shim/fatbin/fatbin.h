/* Fat binaries: walks the containers nvcc puts into programs, unpacks their images and orders them by how well they
 * suit a device. Depends on libc, libzstd and liblz4 only; knows nothing of CUDA calls. The layout:
 * mapping/facts/cuda.md F1 to F5. */
#ifndef CUMU_FATBIN_H
#define CUMU_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fatbin_error {
    FATBIN_OK,
    FATBIN_TRUNCATED,           /* a header or payload reaches past the end */
    FATBIN_BAD_MAGIC,           /* neither a wrapper nor a container */
    FATBIN_BAD_HEADER,          /* sizes or offsets that contradict each other */
    FATBIN_UNKNOWN_KIND,        /* entry that is not PTX, cubin or LTO-IR */
    FATBIN_UNKNOWN_COMPRESSION, /* compressed by a method this version does not know */
    FATBIN_CORRUPT,             /* the payload does not decompress */
    FATBIN_TOO_BIG,             /* decompresses to more than FATBIN_MAX_IMAGE */
    FATBIN_NO_PTX,              /* machine code (SASS) only */
    FATBIN_NO_IMAGE,            /* no entry at all */
    FATBIN_NOMEM,
    FATBIN_NERRORS
};
const char *fatbin_error_text(int error); /* never NULL */

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_CUBIN = 2, FATBIN_LTOIR = 8 };

#define FATBIN_MAGIC_WRAPPER 0x466243B1u
#define FATBIN_MAGIC 0xBA55ED50u
#define FATBIN_MAX_IMAGE ((size_t)1 << 30)
/* For containers whose extent only their own header tells (registered from the program's memory);
 * the header is then believed up to FATBIN_MAX_CONTAINER. */
#define FATBIN_UNBOUNDED SIZE_MAX
#define FATBIN_MAX_CONTAINER ((size_t)4 << 30)

#define FATBIN_F_DEBUG 0x2u
#define FATBIN_F_LZ4 0x2000u
#define FATBIN_F_ZSTD 0x8000u
#define FATBIN_F_ARCH_A 0x100000u
#define FATBIN_F_ARCH_F 0x200000u

/* One image inside a container. Pointers point into the container; strings are not NUL-terminated. */
struct fatbin_entry {
    unsigned kind;         /* enum fatbin_kind, or what else the file says */
    unsigned arch;         /* 75 = compute_75 or sm_75 */
    char suffix;           /* 'a', 'f' or 0 */
    unsigned major, minor; /* PTX ISA or ELF version */
    uint64_t flags;
    const uint8_t *payload;
    size_t stored;   /* bytes at payload: compressed size, or padded size when raw */
    size_t unpacked; /* recorded size after decompression, 0 = not recorded */
    bool compressed;
    const char *name, *options; /* source file and ptxas options, NULL when absent */
    size_t name_len, options_len;
};

/* ---- walking -------------------------------------------------------------------------------- */

struct fatbin_walk {
    const uint8_t *container;                /* header of the current container */
    const uint8_t *at, *container_end, *end; /* private */
};
/* Containers follow each other in a section, zero-padded: where the first one begins, with *size from there on; NULL if
 * there is none. */
const void *fatbin_skip_padding(const void *section, size_t *size);
/* Starts at a container, or at a wrapper in this process's memory (which is followed). `size` counts
 * the bytes that may be read from `data`. 0 or an error; nothing to release. */
int fatbin_walk_open(struct fatbin_walk *w, const void *data, size_t size);
/* Next entry of the container: FATBIN_OK with *e filled and *more true; *more false at the end.
 * An entry of unknown kind is delivered with FATBIN_UNKNOWN_KIND; the walk can go on after it. */
int fatbin_walk_next(struct fatbin_walk *w, struct fatbin_entry *e, bool *more);
/* Registers that a kernel may have by the last -maxrregcount among an entry's options or another line of ptxas's, which
 * may be NULL; 0: it is not there. */
uint32_t fatbin_registers(const char *options, size_t len);
/* Goes on to the container that follows (sections hold several, zero-padded): true when there is one. */
bool fatbin_walk_container(struct fatbin_walk *w);

/* Calls fn for every entry of every container in a section's bytes; error != 0 tells what is wrong at
 * that entry (or with the section, then e is NULL). fn returns false to stop. Result: entries seen. */
typedef bool fatbin_scan_fn(void *ctx, const struct fatbin_entry *e, int error);
size_t fatbin_scan(const void *section, size_t size, fatbin_scan_fn *fn, void *ctx);

/* ---- registered wrappers -------------------------------------------------------------------- */

/* i-th container a wrapper (24 bytes, in this process's memory) stands for, NULL past the last. A plain
 * wrapper has one; a linked one (relocatable device code) has one per translation unit, followed by
 * the linked image itself. */
const void *fatbin_wrapper_container(const void *wrapper, unsigned i);
bool fatbin_is_wrapper(const void *p);
/* Wrapper versions in the bytes of .nvFatBinSegment (1 plain, 2 linked), 0 past the last. Reads no pointer. */
unsigned fatbin_segment_version(const void *segment, size_t size, unsigned i);

/* ---- choosing and unpacking ----------------------------------------------------------------- */

struct fatbin_list {
    struct fatbin_entry *entry; /* PTX first, best first; then cubins and LTO-IR in file order */
    unsigned n, nptx, ncubin, nlto;
};
/* Entries of one container, ordered for a device that claims compute capability `claimed` (80 = 8.0): first what
 * such a device takes, the highest first ('a' of its own architecture, then 'f' of its family, before plain ones of the
 * same number), then the plain ones above it in ascending order, and architecture-specific ones of others last. 0,
 * FATBIN_NO_PTX or FATBIN_NO_IMAGE (list filled), or another error (list empty). */
int fatbin_list_make(struct fatbin_list *l, const void *data, size_t size, unsigned claimed);
void fatbin_list_free(struct fatbin_list *l);
/* Whether such a device takes this PTX. */
bool fatbin_is_for(const struct fatbin_entry *e, unsigned claimed);

/* The image itself: malloc'ed, NUL-terminated, *len without trailing NULs for PTX. Recorded sizes are
 * hints: a payload that unpacks to something else is still delivered. 0 or an error. */
int fatbin_unpack(const struct fatbin_entry *e, char **out, size_t *len);

/* ---- cubins --------------------------------------------------------------------------------- */

bool fatbin_is_elf(const void *p, size_t size); /* 64-bit little-endian ELF, header within size */
/* Size of an ELF image by its own tables; 0 when it is none, or reaches past `size`, which may be FATBIN_UNBOUNDED. */
size_t fatbin_elf_size(const void *elf, size_t size);
/* Name of the next kernel of a cubin, NULL past the last or when the tables are damaged. *next: 0 for the first, then
 * as the last call left it. */
const char *fatbin_cubin_kernel(const void *elf, size_t size, unsigned *next);
/* Name of the i-th variable of a cubin, NULL as above, and its bytes. */
const char *fatbin_cubin_variable(const void *elf, size_t size, unsigned i, uint64_t *bytes);
/* What a kernel's parameters are: bytes, and the place of each (up to `room`, by their order). The number of them;
 * -1: the cubin does not say. */
struct fatbin_param {
    uint32_t offset, size;
};
int fatbin_cubin_params(const void *elf, size_t size, const char *kernel, struct fatbin_param *param, unsigned room);
/* Bytes of the section of that name, *len of them; NULL if there is none within size (FATBIN_UNBOUNDED: as far as
 * the file's own tables say). */
const char *fatbin_cubin_section(const void *elf, size_t size, const char *name, size_t *len);

/* ---- archives ------------------------------------------------------------------------------- */

struct fatbin_member {
    const char *name; /* not NUL-terminated, nor aligned what follows */
    size_t name_len;
    const char *data;
    size_t size;
    const char *names; /* private, as the next: the long names seen so far */
    size_t names_len;
};
bool fatbin_is_archive(const void *data, size_t size);
/* The next member; *at and *m are zero at first. False at the end, or where the archive is damaged. */
bool fatbin_archive_next(const void *data, size_t size, size_t *at, struct fatbin_member *m);

/* ---- cubins that carry PTX ------------------------------------------------------------------ */

#define FATBIN_CARRIED ".cumu.ptx"             /* the PTX text and a NUL */
#define FATBIN_CARRIED_OPTIONS ".cumu.options" /* the command line that made it */

struct fatbin_carried { /* a function and its part of the text */
    const char *name;
    size_t offset, size;
    bool entry; /* a kernel */
};
struct fatbin_carrier {
    const char *ptx, *options;
    size_t ptx_len;
    unsigned arch;    /* 80 = sm_80 */
    bool relocatable; /* to be linked first */
    const struct fatbin_carried *func;
    unsigned nfunc;
};
/* The file, malloc'ed, of *size bytes; NULL when memory is short. */
char *fatbin_carrier_make(const struct fatbin_carrier *c, size_t *size);
/* The PTX that a cubin carries, *len bytes and a NUL behind them; NULL where it holds machine code. */
const char *fatbin_carried(const void *elf, size_t size, size_t *len);

#endif
