/* The dynamic linker's view of a program, read from its files: what would be loaded, and from where. */
#ifndef CUMU_CLI_CLOSURE_H
#define CUMU_CLI_CLOSURE_H

#include <stdbool.h>
#include <stddef.h>

struct cumu_object { /* one file of the closure; objects[0] is the program */
    char *path;      /* NULL: not found */
    char *soname;    /* the name it was asked for by */
    unsigned parent; /* who asked for it first */
    char **needed;   /* DT_NEEDED, NULL-terminated */
    char *rpath, *runpath;
    bool facade; /* satisfied by cumu's facade; not read, not followed */
};

struct cumu_closure {
    struct cumu_object *objects;
    unsigned count;
};

/* Reads `path` and, breadth first, what it needs. library_path: LD_LIBRARY_PATH or NULL. Facades are
 * marked by is_facade(soname) (may be NULL). False on out of memory only; an unreadable program gives a
 * closure of one object with no needs. Free with cumu_closure_free in both cases. */
bool cumu_closure_read(struct cumu_closure *c, const char *path, const char *library_path,
                       bool (*is_facade)(const char *soname));
void cumu_closure_free(struct cumu_closure *c);
/* Object with this soname, or NULL. */
const struct cumu_object *cumu_closure_find(const struct cumu_closure *c, const char *soname);

#endif
