/* Releases of NVIDIA's static runtime, mapping/static/RELEASE.runtime: where their functions are, so that
 * a stripped program's can be found. Made from an archive by `gen runtime`, never by hand. */
#ifndef CUMU_GEN_RUNTIMES_H
#define CUMU_GEN_RUNTIMES_H

#include <stdint.h>

#include "gen/map.h"

struct runtime_row { /* one function */
    const char *name;
    uint64_t digest;       /* of its first bytes (audit/digest.h) */
    uint64_t offset, mask; /* in the archive's text; of the bytes that no linker changes */
};
struct runtime {
    struct place at;
    const char *release;      /* "13.0.96" */
    unsigned version, anchor; /* toolkit; offset of 8 bytes that occur once */
    uint64_t digest;          /* of the anchor */
    struct {
        struct runtime_row *at;
        unsigned count, room;
    } rows;
};

void parse_runtime(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text, size_t length);
/* Reads libcudart_static.a and prints the file for it. False with an error reported. */
bool make_runtime(struct arena *a, struct errors *e, const char *release, const char *archive, FILE *out);

#endif
