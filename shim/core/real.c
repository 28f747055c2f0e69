/* The real NVIDIA library behind a facade that was not opted in: a facade is preloaded under the same
 * soname, so it is looked for by path only. */
#include "core/ldcache.h"
#include "core/log.h"
#include "core/resolve.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_REAL = 64 };

static const char *const usual_dirs[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                         "/usr/lib64", "/usr/lib/wsl/lib",
                                         "/usr/local/cuda/lib64", NULL};

static struct {
    _Atomic(const char *) soname; /* of a table: static */
    _Atomic(void *) handle;
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

static bool try_path(const char *path, void *ctx)
{
    void **handle = ctx;
    if (access(path, R_OK) == 0 && !ours(path))
        *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return *handle != NULL;
}

static bool try_dir(const char *dir, const char *soname, void **handle)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, soname);
    return n > 0 && n < (int)sizeof path && try_path(path, handle);
}

/* The folders the program itself would search: LD_LIBRARY_PATH, its RUNPATH, the defaults. */
static bool try_search_path(const char *soname, void **handle)
{
    Dl_serinfo size;
    void *self = dlopen(NULL, RTLD_LAZY);
    bool found = false;
    if (self && dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0) {
        Dl_serinfo *info = malloc(size.dls_size);
        if (info && dlinfo(self, RTLD_DI_SERINFOSIZE, info) == 0 &&
            dlinfo(self, RTLD_DI_SERINFO, info) == 0)
            for (unsigned i = 0; i < info->dls_cnt && !found; i++)
                found = try_dir(info->dls_serpath[i].dls_name, soname, handle);
        free(info);
    }
    if (self)
        (void)dlclose(self);
    return found;
}

static void *open_real(const char *soname)
{
    void *handle = NULL;
    bool found = try_search_path(soname, &handle) || cumu_ldcache_find(soname, try_path, &handle);
    for (const char *const *d = usual_dirs; !found && *d; d++)
        found = try_dir(*d, soname, &handle);
    return handle;
}

void *cumu_resolve_real(const char *soname, const char *symbol, bool *opened)
{
    void *h = NULL;
    unsigned i = 0;
    for (; i < MAX_REAL; i++) {
        const char *s = atomic_load_explicit(&opened_real[i].soname, memory_order_acquire);
        if (!s || strcmp(s, soname) == 0)
            break;
    }
    if (i < MAX_REAL)
        h = atomic_load_explicit(&opened_real[i].handle, memory_order_acquire);
    if (!h) {
        h = open_real(soname);
        if (h)
            cumu_info("resolve", NULL, "not opted in: passing through to the real %s", soname);
        else
            h = &none;
        /* Two threads racing here both open the same file: harmless, one handle is kept. */
        const char *empty = NULL;
        if (i < MAX_REAL && (atomic_compare_exchange_strong(&opened_real[i].soname, &empty, soname) ||
                             strcmp(empty, soname) == 0))
            atomic_store_explicit(&opened_real[i].handle, h, memory_order_release);
    }
    *opened = h != &none;
    return *opened ? dlsym(h, symbol) : NULL;
}
