/* Compilers as programs: found, told apart, run in a folder of their own with the cache in front. */
#ifndef CUMU_COMPILE_TOOL_H
#define CUMU_COMPILE_TOOL_H

#include <limits.h>
#include <stdint.h>

#include "compile/cache.h"
#include "compile/compile.h"

struct cumu_tool {
    char path[PATH_MAX];
    char identity[PATH_MAX + 64]; /* another compiler makes another object */
    const char *why;              /* there is none */
};

/* A path, or the first executable of that name on PATH. */
bool cumu_tool_find(struct cumu_tool *t, const char *name);
bool cumu_tool_identify(struct cumu_tool *t);
/* How a text becomes an object: the tool with the flags (split at spaces), -o and a file of that suffix. finish
 * turns its output into the object; false with o->why set, the output freed. What ctx says must be decided by the
 * rest, which is what the cache goes by. */
struct cumu_recipe {
    const struct cumu_tool *tool;
    const char *suffix, *flags;
    bool hurried;  /* half of the time that a compiler may take */
    unsigned part; /* of that time, one in so many; 0: all of it */
    uint32_t version;
    const struct cumu_key *key; /* NULL: that of version, tool, flags and text */
    struct cumu_entry entry;
    bool idle; /* nobody waits for it */
    bool (*finish)(struct cumu_compiled *o, void *ctx);
    void *ctx;
};
/* Where cumu-tool is, whose --mtrtc compiles by MTRTC: out of the process, so that it can be ended and its faults
 * stay there; and the sonames of a MUSA library. In place.c of the core and of the tool. */
bool cumu_own_tool(char path[PATH_MAX]);
const char *const *cumu_sonames(const char *library);

void cumu_tool_key(struct cumu_key *key, uint32_t version, const char *identity, const char *flags, const char *text,
                   size_t size);
/* What mcc puts around device code goes: leaves the part of an offload bundle that is for this architecture, and what
 * is no bundle as it is. False: there is none, or it is damaged. (mubin.c) */
bool cumu_mubin_unbundle(struct cumu_compiled *o, unsigned arch);
enum cumu_made cumu_tool_make(struct cumu_compiled *o, const struct cumu_recipe *r, const char *text, size_t size,
                              bool compile);

#endif
