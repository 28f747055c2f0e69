/* The real NVIDIA library behind a facade: of a process that was not opted in, and run-time compilers,
 * which a program keeps. A facade is loaded under the same soname, so it is looked for by path only. */
#include "core/wanted.h"
#include "core/core.h"
#include "core/ldcache.h"
#include "core/log.h"
#include "core/resolve.h"
#include "sanitize.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The program's own copy binds to itself before the facades; sanitizers refuse to load it so. */
#if CUMU_ASAN || CUMU_TSAN
#define OWN_COPY (RTLD_NOW | RTLD_LOCAL)
#else
#define OWN_COPY (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

enum { MAX_REAL = 64, MAX_SITES = 8 };

static const char *const usual_dirs[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                         "/usr/lib/wsl/lib",          "/usr/local/cuda/lib64",      NULL};

static struct {
    _Atomic(const char *) soname; /* of a table: static */
    _Atomic(void *) handle;
    atomic_bool missed;
} opened_real[MAX_REAL];
static char none;

/* A file of ours, by whichever name the search path reaches it? */
static bool ours(const char *path)
{
    const char *dir = cumu_home();
    char *full = realpath(path, NULL);
    size_t n = dir ? strlen(dir) : 0;
    bool inside = !full || (dir && strncmp(full, dir, n) == 0 && full[n] == '/');
    free(full);
    return inside;
}

/* What is done with each file that is found, best first, until it says true. */
struct search {
    bool (*visit)(const char *path, void *ctx);
    void *ctx;
};

static bool try_path(const char *path, void *ctx)
{
    const struct search *s = ctx;
    return strrchr(path, '/') && access(path, R_OK) == 0 && !ours(path) && s->visit(path, s->ctx);
}

static bool open_path(const char *path, void *ctx)
{
    void **handle = ctx;
    const char *name = strrchr(path, '/');
    char spelt[PATH_MAX];
    /* The loader may know this very path as the facade it was led to; not so another spelling of it. */
    int n = snprintf(spelt, sizeof spelt, "%.*s/.%s", (int)(name - path), path, name);
    if (n < (int)sizeof spelt)
        *handle = dlopen(spelt, OWN_COPY);
    if (*handle)
        cumu_info("resolve", NULL, "%s %s", cumu_active() ? "the program's own" : "not opted in: passing to", path);
    return *handle != NULL;
}

static bool try_dir(const char *dir, const char *soname, struct search *s)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, soname);
    return n > 0 && n < (int)sizeof path && try_path(path, s);
}

/* The folders that one object would search: LD_LIBRARY_PATH, its RPATH or RUNPATH, the defaults. */
static bool try_search_path(void *object, const char *soname, struct search *s)
{
    Dl_serinfo size;
    bool found = false;
    if (object && dlinfo(object, RTLD_DI_SERINFOSIZE, &size) == 0) {
        Dl_serinfo *info = malloc(size.dls_size);
        if (info && dlinfo(object, RTLD_DI_SERINFOSIZE, info) == 0 && dlinfo(object, RTLD_DI_SERINFO, info) == 0)
            for (unsigned i = 0; i < info->dls_cnt && !found; i++)
                found = try_dir(info->dls_serpath[i].dls_name, soname, s);
        free(info);
    }
    return found;
}

static bool needs(const struct dl_phdr_info *info, const char *soname)
{
    const ElfW(Dyn) *first = NULL;
    const char *text = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            first = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (const ElfW(Dyn) *d = first; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB) /* an offset in the vDSO */
            text = (const char *)(d->d_un.d_ptr < info->dlpi_addr ? d->d_un.d_ptr + info->dlpi_addr : d->d_un.d_ptr);
    for (const ElfW(Dyn) *d = first; text && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && strcmp(text + d->d_un.d_val, soname) == 0)
            return true;
    return false;
}

/* Names, since another thread may close a library as soon as the loader's lock is given back. */
struct objects {
    const char *needed; /* by those alone; NULL: all */
    char **name;        /* "": the program; owned */
    size_t n, room;
};

static int note_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct objects *o = ctx;
    (void)size;
    if (o->needed && !needs(info, o->needed))
        return 0;
    if (o->n == o->room) {
        const size_t room = o->room ? 2 * o->room : 64;
        char **more = realloc(o->name, room * sizeof *more);
        if (!more)
            return 1;
        o->name = more;
        o->room = room;
    }
    o->name[o->n] = strdup(info->dlpi_name);
    o->n += o->name[o->n] != NULL;
    return 0;
}

/* The program, then each of its libraries: wheels find NVIDIA's by an RPATH of their own. `needing`: those alone that
 * need that library. */
static bool try_objects(const char *soname, bool needing, struct search *s)
{
    struct objects o = {.needed = needing ? soname : NULL};
    bool found = false;
    (void)dl_iterate_phdr(note_object, &o);
    for (size_t i = 0; i < o.n; i++) {
        const bool program = !o.name[i][0];
        void *object = found ? NULL : dlopen(program ? NULL : o.name[i], RTLD_LAZY | (program ? 0 : RTLD_NOLOAD));
        found = found || try_search_path(object, soname, s);
        if (object)
            (void)dlclose(object);
        free(o.name[i]);
    }
    free(o.name);
    return found;
}

/* Where the program itself went, before the audit module led it to the facade: the module answers this
 * name, of no file, with that path. */
static bool try_wanted(const char *soname, void **handle)
{
    char name[PATH_MAX];
    int n = snprintf(name, sizeof name, CUMU_WANTED "%s", soname);
    if (n > 0 && n < (int)sizeof name)
        *handle = dlopen(name, OWN_COPY);
    if (*handle)
        cumu_info("resolve", NULL, "the program's own %s, where the program asked for it", soname);
    return *handle != NULL;
}

/* Python wheels: PKG/nvidia/NAME/lib of every package folder that something was loaded from. */
struct sites {
    char *at[MAX_SITES]; /* ".../site-packages", owned */
    unsigned count;
};

static int note_site(struct dl_phdr_info *info, size_t size, void *ctx)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
    struct sites *s = ctx;
    (void)size;
    for (unsigned f = 0; f < sizeof folders / sizeof *folders; f++) {
        const char *at = strstr(info->dlpi_name, folders[f]);
        size_t n = at ? (size_t)(at - info->dlpi_name) + strlen(folders[f]) - 1 : 0;
        bool known = !at || s->count == MAX_SITES;
        for (unsigned i = 0; i < s->count && !known; i++)
            known = strlen(s->at[i]) == n && memcmp(s->at[i], info->dlpi_name, n) == 0;
        if (!known && (s->at[s->count] = strndup(info->dlpi_name, n)))
            s->count++;
    }
    return 0;
}

static bool try_wheels(const char *soname, struct search *s)
{
    struct sites sites = {0};
    char dir[PATH_MAX];
    bool found = false;
    (void)dl_iterate_phdr(note_site, &sites);
    for (unsigned i = 0; i < sites.count; i++) {
        int n = snprintf(dir, sizeof dir, "%s/nvidia", sites.at[i]);
        DIR *nvidia = n > 0 && n < (int)sizeof dir && !found ? opendir(dir) : NULL;
        for (struct dirent *e; nvidia && !found && (e = readdir(nvidia));)
            if (e->d_name[0] != '.' &&
                snprintf(dir, sizeof dir, "%s/nvidia/%s/lib", sites.at[i], e->d_name) < (int)sizeof dir)
                found = try_dir(dir, soname, s);
        if (nvidia)
            (void)closedir(nvidia);
        free(sites.at[i]);
    }
    return found;
}

static bool try_system(const char *soname, struct search *s)
{
    bool found = cumu_ldcache_find(soname, try_path, s);
    for (const char *const *d = usual_dirs; !found && *d; d++)
        found = try_dir(*d, soname, s);
    return found;
}

static void *open_real(const char *soname)
{
    void *handle = NULL;
    struct search s = {open_path, &handle};
    (void)(try_wanted(soname, &handle) || try_objects(soname, false, &s) || try_wheels(soname, &s) ||
           try_system(soname, &s));
    return handle;
}

/* As try_wanted, without opening it. */
static bool visit_wanted(const char *soname, const struct search *s)
{
    static const char end[] = "/: "; /* of the path in the loader's message */
    char name[PATH_MAX];
    int n = snprintf(name, sizeof name, CUMU_WANTED_NAME "%s", soname);
    void *none_there = n > 0 && n < (int)sizeof name ? dlopen(name, RTLD_LAZY | RTLD_LOCAL) : NULL;
    const char *said = none_there ? NULL : dlerror(), *stop = said ? strstr(said, end) : NULL;
    if (!stop || strncmp(said, CUMU_WANTED_NAME, sizeof CUMU_WANTED_NAME - 1) == 0 || stop - said >= PATH_MAX)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)(stop - said), said);
    return s->visit(name, s->ctx);
}

bool cumu_real_find(const char *soname, bool (*visit)(const char *path, void *ctx), void *ctx)
{
    struct search s = {visit, ctx};
    return visit_wanted(soname, &s) || try_objects(soname, true, &s) || try_wheels(soname, &s) ||
           try_objects(soname, false, &s) || try_system(soname, &s);
}

static unsigned entry_of(const char *soname)
{
    unsigned i = 0;
    for (; i < MAX_REAL; i++) {
        const char *s = atomic_load_explicit(&opened_real[i].soname, memory_order_acquire);
        if (!s || strcmp(s, soname) == 0)
            break;
    }
    return i;
}

CUMU_EXPORT void *cumu_resolve_real(const char *soname, const char *symbol, bool *opened)
{
    void *h = NULL;
    unsigned i = entry_of(soname);
    if (i < MAX_REAL)
        h = atomic_load_explicit(&opened_real[i].handle, memory_order_acquire);
    if (!h) {
        h = open_real(soname);
        if (!h)
            h = &none;
        /* Two threads racing here both open the same file: harmless, one handle is kept. */
        const char *empty = NULL;
        if (i < MAX_REAL &&
            (atomic_compare_exchange_strong(&opened_real[i].soname, &empty, soname) || strcmp(empty, soname) == 0))
            atomic_store_explicit(&opened_real[i].handle, h, memory_order_release);
    }
    *opened = h != &none;
    return *opened ? dlsym(h, symbol) : NULL;
}

void cumu_real_missed(const char *soname)
{
    unsigned i = entry_of(soname);
    const char *origin = NULL;
    for (const struct cumu_table *const *t = cumu_tables; *t; t++)
        if (strcmp((*t)->soname, soname) == 0)
            origin = (*t)->origin;
    if (i == MAX_REAL || !atomic_exchange(&opened_real[i].missed, true))
        cumu_log(NULL, CUMU_GAP, "resolve", NULL,
                 "this program needs NVIDIA's %s, which runs without a GPU, and has none%s%s", soname,
                 origin ? ": " : "", origin ? origin : "");
}
