/* LD_AUDIT entry points. The loader calls them when objects appear and again before their constructors run,
 * for the program itself as for every library opened later: that is when an embedded CUDA runtime is led
 * to its facade, so that even the registration of kernels goes there. */
#include "audit/audit.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { MAX_NEW = 1024, PATH = 4096 };

/* Objects that came since the last consistent state, under the loader's own lock. */
static struct link_map *fresh[MAX_NEW];
static unsigned nfresh;
static struct link_map *first; /* the program: head of its namespace's list, there to the end */
static char dir[PATH];       /* folder of the facades, beside this file */
static bool active;

static void say(const char *path, const char *what)
{
    char line[PATH + 256];
    int n = snprintf(line, sizeof line, "cumu: gap: audit: %s has the CUDA runtime linked in: %s\n", path, what);
    if (n > 0 && write(2, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0)
        return;
}

static struct link_map *facade_of(int version)
{
    char path[PATH + 64];
    snprintf(path, sizeof path, "%s/libcudart.so.%s", dir, version == 11 ? "11.0" : version == 12 ? "12" : "13");
    struct link_map *m = first;
    while (m && strcmp(m->l_name, path) != 0)
        m = m->l_next;
    return m;
}

static void serve(struct link_map *m)
{
    const char *path = m->l_name[0] ? m->l_name : "/proc/self/exe", *why = NULL;
    struct audit_elf object, facade;
    size_t home = strlen(dir) - strlen("facade");
    if (strncmp(path, dir, home) == 0 || audit_elf_open(&object, path))
        return; /* ours, whose symbol tables hold nothing to find, or the vDSO */
    int version = audit_runtime_version(&object);
    struct link_map *f = version ? facade_of(version) : NULL;
    if (f && audit_elf_open(&facade, f->l_name) == 0) {
        audit_patch(&object, m->l_addr, &facade, f->l_addr, &why);
        audit_elf_close(&facade);
    }
    if (version && !f)
        say(path, "its facade is not preloaded");
    audit_elf_close(&object);
}

EXPORT unsigned la_version(unsigned version)
{
    Dl_info self;
    const char *on = secure_getenv("CUMU");
    const char *slash = dladdr((void *)(uintptr_t)la_version, &self) && self.dli_fname
                            ? strrchr(self.dli_fname, '/') : NULL;
    active = slash && on && *on && strcmp(on, "0") != 0;
    if (active)
        snprintf(dir, sizeof dir, "%.*s/facade", (int)(slash - self.dli_fname), self.dli_fname);
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
    *cookie = (uintptr_t)map;
    if (active && namespace == LM_ID_BASE) {
        first = first ? first : map;
        if (nfresh < MAX_NEW)
            fresh[nfresh++] = map;
    }
    return 0; /* no binding is of interest, so calls cost nothing */
}

EXPORT void la_activity(uintptr_t *cookie, unsigned state)
{
    (void)cookie;
    if (!active || state != LA_ACT_CONSISTENT)
        return;
    for (unsigned i = 0; i < nfresh; i++)
        serve(fresh[i]);
    nfresh = 0;
}

/* A map may go away before the list is served, when an open fails half-way. */
EXPORT unsigned la_objclose(uintptr_t *cookie)
{
    for (unsigned i = 0; i < nfresh; i++)
        if ((uintptr_t)fresh[i] == *cookie)
            fresh[i] = fresh[--nfresh];
    return 0;
}
