/* Inside of cumu pack make: the modules of both builds, which belong together, and the pack that is written. */
#ifndef CUMU_CLI_PACK_MAKE_H
#define CUMU_CLI_PACK_MAKE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/hmap.h"

/* A name without the compiler's hashes, of a kernel or a variable: what modules are compared by. */
struct pack_name {
    char *plain;
    uint32_t number;
    uint32_t *in; /* modules of the source that have it */
    uint32_t nin;
    UT_hash_handle hh;
};

/* A module: PTX to take (of --from), or machine code to serve (of --for). */
struct pack_module {
    const char *file; /* what its file is called */
    unsigned number;  /* which container of it */
    const void *data; /* a container, a cubin or PTX text: size bytes of a file that stays mapped */
    size_t size;
    uint32_t *name; /* numbers of its names, each once */
    uint32_t nname;
    unsigned kernels;
    uint32_t match;        /* of --for: the module of --from, or PACK_NONE */
    bool tied;             /* others were as similar: chosen by their order */
    uint32_t rel, rel_end; /* of what may be linked: the relocatable modules of its file, by their places */
};
enum { PACK_NONE = UINT32_MAX };

struct pack_side {
    struct pack_module *module;
    uint32_t count;
    struct check_inputs *input; /* whose files are mapped */
    unsigned inputs;
    struct pack_map {
        void *bytes;
        size_t size;
    } * map;
    unsigned maps;
};

struct pack_job {
    struct pack_side from, to;
    struct pack_name *names;
    uint32_t nnames;
    bool nomem;
};

/* Adds the modules of a file, a folder or a wheel: those with PTX to job->from, else those with machine code only to
 * job->to. An exit status after saying what is wrong. (pack_read.c) */
int pack_read(struct pack_job *job, bool from, const char *operand);
void pack_free(struct pack_job *job);
/* PTX of a module of --from, malloc'ed; the machine code that a device of the claimed capability would take. */
char *pack_ptx(const struct pack_module *m, size_t *len, unsigned *arch);
char *pack_cubin(const struct pack_module *m, size_t *len);

/* Fills in every module's match. (pack_match.c) */
void pack_match(struct pack_job *job);

/* Writes the pack to `path`; an exit status after saying what is wrong. (pack_write.c) */
int pack_write(struct pack_job *job, const char *path);

#endif
