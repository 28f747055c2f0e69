/* The dynamic linker's view of a program, read from its files: what would be loaded, and from where. */
#ifndef CUMU_CLI_CLOSURE_H
#define CUMU_CLI_CLOSURE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct cumu_object { /* one file of the closure; objects[0] is the program */
    char *path;      /* NULL: not found */
    char *soname;    /* the name it was asked for by */
    unsigned parent; /* who asked for it first */
    char **needed;   /* DT_NEEDED, NULL-terminated */
    char *rpath, *runpath;
    bool facade;       /* satisfied by cumu's facade; not read, not followed */
    size_t static_tls; /* bytes of thread-local variables that it must have at fixed places (DF_STATIC_TLS) */
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
/* Adds what one of the program's preloads stands for: a path, or a name to search for. */
bool cumu_closure_preload(struct cumu_closure *c, const char *name, const char *library_path);
void cumu_closure_free(struct cumu_closure *c);
/* Object with this soname, or NULL. */
const struct cumu_object *cumu_closure_find(const struct cumu_closure *c, const char *soname);

/* Where Python packages around the file `object` keep a library of that name: NAME.libs beside it or above, and in
 * its site-packages NAME/lib and nvidia/NAME/lib of all packages. suits: is this path a file for this machine? */
bool cumu_neighbour_find(char out[PATH_MAX], const char *object, const char *soname, bool (*suits)(const char *path));

#endif
