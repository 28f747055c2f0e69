/* PTX packs: PTX for modules that hold machine code only, taken by `cumu pack make` from another build of the same
 * sources. A pack serves the files it was made for and no others, as a module is known by the digest of its machine
 * code. It is mapped, and read when a module is first used.
 *
 * The file, little-endian, offsets from its start:
 *
 *     struct cumu_pack_head
 *     a zstd frame of PTX text a module, in any order
 *     struct cumu_pack_module[modules], at `index` (a multiple of 8), sorted by image_size, then key
 *     strings, each ended by a NUL, at `strings` up to the end of the file
 *
 * Every byte is under a digest: `seal` covers the head, the index and the strings, and is looked at when the pack is
 * opened; each frame has its own, looked at when it is unpacked. Texts have the names of the program that they are
 * for: what differs (the compiler's hashes of file names) was renamed when the pack was made. */
#ifndef CUMU_COMPILE_PACK_H
#define CUMU_COMPILE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compile/hash.h"

#define CUMU_PACK_MAGIC "cumupack"
enum { CUMU_PACK_VERSION = 1 };

struct cumu_pack_head {
    char magic[8];
    uint32_t version, modules;
    uint64_t size, index, strings; /* of the file; where the two lie */
    uint8_t seal[CUMU_HASH_BYTES]; /* SHA-256 of the fields above, the index and the strings */
};

/* A module of machine code: a whole container (its header included), or a cubin that stands alone. */
struct cumu_pack_module {
    uint64_t image_size;             /* bytes of it */
    uint8_t key[CUMU_HASH_BYTES];    /* SHA-256 of them */
    uint64_t at, stored, text;       /* the frame; bytes of PTX. stored 0: there is no PTX for this module */
    uint8_t digest[CUMU_HASH_BYTES]; /* SHA-256 of the frame */
    uint32_t kernels, lacking,
        missing;                 /* kernels that it has; how many of them the PTX lacks; their names, from here */
    uint32_t file, number, arch; /* name of its file; which container of it, from 0; 80: PTX for compute_80 */
};

struct cumu_pack;

/* The pack in these bytes, which stay the caller's and must be aligned as malloc aligns. NULL with *why set. */
struct cumu_pack *cumu_pack_of(const void *bytes, size_t size, const char **why);
/* Maps a file. One that another user owns or could write is refused, as what is in it will run. */
struct cumu_pack *cumu_pack_open(const char *path, const char **why);
void cumu_pack_close(struct cumu_pack *p);             /* NULL is fine */
const char *cumu_pack_path(const struct cumu_pack *p); /* "" of bytes */

uint32_t cumu_pack_count(const struct cumu_pack *p);
const struct cumu_pack_module *cumu_pack_at(const struct cumu_pack *p, uint32_t i);
/* The module of this image, whose digest is only made if a module of its size is there. NULL: none. */
const struct cumu_pack_module *cumu_pack_find(const struct cumu_pack *p, const void *image, size_t size);
const char *cumu_pack_file(const struct cumu_pack *p, const struct cumu_pack_module *m);
/* Name of the i-th kernel that the module's PTX lacks; NULL past the last. */
const char *cumu_pack_missing(const struct cumu_pack *p, const struct cumu_pack_module *m, uint32_t i);
/* The module's PTX, malloc'ed and NUL-terminated, m->text bytes; NULL with *why set. */
char *cumu_pack_text(const struct cumu_pack *p, const struct cumu_pack_module *m, const char **why);

/* ---- the packs of CUMU_PTX_PACK, opened at the first question, for as long as the process lives (packs.c) ------- */

/* Opens these instead; before the first question. False: one cannot be used, which was said. */
bool cumu_packs_use(const char *list);
bool cumu_packs_any(void);
/* The first pack that knows the image, with its module; false: none does. */
bool cumu_packs_find(const void *image, size_t size, const struct cumu_pack **pack,
                     const struct cumu_pack_module **module);

#endif
