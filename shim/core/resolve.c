/* The MUSA libraries below: which set, in which file, and the address of a symbol in it. */
#include "core/config.h"
#include "core/core.h"
#include "core/init.h"
#include "core/log.h"
#include "core/resolve.h"
#include "core/upper.h"
#include "core/visible.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LIBRARIES = 32 };

static const char *const musa_roots[] = {"MUSA_HOME", "MUSA_PATH", "MUSA_INSTALL_PATH"};
static const char *const usual_dirs[] = {"/usr/local/musa/lib",
                                         "/usr/local/musa/lib64",
                                         "/usr/lib/x86_64-linux-gnu",
                                         "/usr/lib/aarch64-linux-gnu",
                                         "/usr/lib64",
                                         NULL};

static atomic_int chosen = -1; /* enum cumu_backend, -1 = not decided */
static _Atomic(void *) handles[MAX_LIBRARIES];
static char none; /* handle of a library that could not be opened */
static _Atomic(char *) home;

CUMU_EXPORT const char *cumu_home(void)
{
    char *path = atomic_load_explicit(&home, memory_order_acquire);
    if (path)
        return path;
    Dl_info info;
    if (!dladdr((void *)&home, &info) || !info.dli_fname)
        return NULL;
    char *full = realpath(info.dli_fname, NULL);
    char *slash = full ? strrchr(full, '/') : NULL;
    if (!slash) {
        free(full);
        return NULL;
    }
    *slash = 0;
    if (!atomic_compare_exchange_strong(&home, &path, full)) {
        free(full);
        return path;
    }
    return full;
}

static bool in_dir(const char *dir, const char *sub, const char *name, bool (*visit)(const char *, void *), void *ctx)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s/%s", dir, sub, name);
    return n > 0 && n < (int)sizeof path && access(path, R_OK) == 0 && visit(path, ctx);
}

bool cumu_candidates(const struct cumu_library *l, enum cumu_backend b, bool (*visit)(const char *path, void *ctx),
                     void *ctx)
{
    const char *dir = cumu_home();
    for (const char *const *s = l->sonames; b == CUMU_BACKEND_HOST && *s; s++)
        if (dir && in_dir(dir, "/host", *s, visit, ctx))
            return true;
    if (b != CUMU_BACKEND_MUSA)
        return false;
    /* A bare name also finds a copy that is loaded already. */
    for (const char *const *s = l->sonames; *s; s++)
        if (visit(*s, ctx))
            return true;
    /* The SDK's installer may leave its libraries where the dynamic linker does not look. */
    for (unsigned i = 0; i < sizeof musa_roots / sizeof *musa_roots; i++) {
        const char *root = cumu_env(musa_roots[i]);
        for (const char *const *s = l->sonames; root && *s; s++)
            if (in_dir(root, "/lib", *s, visit, ctx) || in_dir(root, "/lib64", *s, visit, ctx))
                return true;
    }
    for (const char *const *d = usual_dirs; *d; d++)
        for (const char *const *s = l->sonames; *s; s++)
            if (in_dir(*d, "", *s, visit, ctx))
                return true;
    return false;
}

struct opening {
    const struct cumu_library *library;
    void *handle;
    int flags;
};

/* MetaX has a libmccl.so.2 too, with a name of its own for one function (mapping/facts/musa.md L5). */
static bool another_vendors(const struct cumu_library *l, void *handle)
{
    return strcmp(l->name, "mccl") == 0 && dlsym(handle, "mcclCommMcDevice");
}

static bool open_one(const char *path, void *ctx)
{
    struct opening *o = ctx;
    o->handle = dlopen(path, o->flags);
    if (!o->handle) /* a library that is there but does not load is worth a word */
        cumu_log(NULL, strchr(path, '/') ? CUMU_INFO : CUMU_DEBUG, "resolve", NULL, "%s", dlerror());
    if (o->handle && another_vendors(o->library, o->handle)) {
        cumu_log(NULL, CUMU_INFO, "resolve", NULL, "%s is another vendor's", path);
        (void)dlclose(o->handle);
        o->handle = NULL;
    }
    return o->handle != NULL;
}

/* Loaded by dlmopen, cumu lives in a namespace without a program, where glibc crashes on RTLD_GLOBAL. */
static bool in_own_namespace(void)
{
    Dl_info info;
    struct link_map *self;
    Lmid_t id;
    return dladdr1(&home, &info, (void **)&self, RTLD_DL_LINKMAP) && dlinfo(self, RTLD_DI_LMID, &id) == 0 &&
           id != LM_ID_BASE;
}

static void *open_library(const struct cumu_library *l, enum cumu_backend b)
{
    /* musart stays visible to others: the device parts of muFFT have unresolved references to it. */
    bool global = strcmp(l->name, "musart") == 0 && !in_own_namespace();
    struct opening o = {l, NULL, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL)};
    (void)cumu_candidates(l, b, open_one, &o);
    return o.handle;
}

static const struct cumu_library *library_named(const char *name)
{
    for (const struct cumu_library *l = cumu_libraries; l->name; l++)
        if (strcmp(l->name, name) == 0)
            return l;
    return NULL;
}

/* The vendor's own variables, before anything of MUSA reads them. */
static void copy_environment(void)
{
    char list[1024];
    const char *devices = cumu_visible(cumu_env("CUDA_VISIBLE_DEVICES"), cumu_env("NVIDIA_VISIBLE_DEVICES"), list,
                                       sizeof list);
    if (devices)
        cumu_env_default("MUSA_VISIBLE_DEVICES", devices);
    cumu_env_copy("CUDA_LAUNCH_BLOCKING", "MUSA_LAUNCH_BLOCKING");
    cumu_env_copy_prefix("NCCL_", "MCCL_");
}

enum cumu_backend cumu_backend(void)
{
    int b = atomic_load_explicit(&chosen, memory_order_acquire);
    if (b >= 0)
        return (enum cumu_backend)b;
    copy_environment();
    const struct cumu_library *rt = library_named("musart");
    const char *want = cumu_opt_text(CUMU_OPT_BACKEND);
    enum cumu_backend order[2] = {CUMU_BACKEND_MUSA, CUMU_BACKEND_HOST};
    if (strcmp(want, "host") == 0)
        order[0] = CUMU_BACKEND_HOST;
    if (strcmp(want, "musa") == 0)
        order[1] = CUMU_BACKEND_MUSA;
    enum cumu_backend found = CUMU_BACKEND_NONE;
    void *handle = NULL;
    for (int i = 0; i < 2 && !found && (i == 0 || order[1] != order[0]); i++)
        if (rt && (handle = open_library(rt, order[i])) != NULL)
            found = order[i];
    if (found) /* the file that was found, not what its name would lead to by now */
        atomic_store_explicit(&handles[rt - cumu_libraries], handle, memory_order_release);
    b = -1;
    if (!atomic_compare_exchange_strong(&chosen, &b, (int)found))
        return (enum cumu_backend)b;
    if (found == CUMU_BACKEND_NONE)
        cumu_error("resolve", NULL,
                   "no MUSA library found (CUMU_BACKEND=%s; the CPU ones belong in %s/host); `cumu doctor` "
                   "says what was looked for, --backend host takes the CPU",
                   want, cumu_home() ? cumu_home() : "?");
    else
        cumu_info("resolve", NULL, "using %s",
                  found == CUMU_BACKEND_HOST ? "MUSA on the CPU (cumu's own libraries)" : "the MUSA SDK");
    return found;
}

/* Does this address lie in the core or in a facade? A library below that exports CUDA names, or an
 * application that does, must not lead a call back to where it came from. */
static bool ours(void *address)
{
    Dl_info a;
    const char *dir = cumu_home();
    if (!dir || !dladdr(address, &a) || !a.dli_fname)
        return false;
    char *full = realpath(a.dli_fname, NULL);
    size_t n = strlen(dir);
    bool inside = full && strncmp(full, dir, n) == 0 && full[n] == '/' && strncmp(full + n, "/host/", 6) != 0;
    free(full);
    return inside;
}

static int by_mu_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct cumu_mu_symbol *)row)->name);
}

static const struct cumu_mu_symbol *find_mu(const char *symbol)
{
    return bsearch(symbol, cumu_mu_symbols, cumu_mu_count, sizeof *cumu_mu_symbols, by_mu_name);
}

/* Some SDKs export a function with its _v2, some without (SDK 3.1.0 has muStreamBeginCapture_v2 alone; muMemsetD32_v2,
 * but muMemsetD32Async). The name that the map has comes first. */
static void *look_up(void *h, const char *symbol)
{
    void *p = dlsym(h, symbol);
    if (p)
        return p;
    const struct cumu_mu_symbol *m = find_mu(symbol);
    return m && m->other ? dlsym(h, m->other) : NULL;
}

static int by_form_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct cumu_per_thread *)row)->name);
}

/* A function of the per-thread default stream, made of the plain one. NULL if that is missing as well. */
static void *per_thread_form(unsigned library, const char *symbol)
{
    bool opened;
    const struct cumu_per_thread *f = bsearch(symbol, cumu_per_thread, cumu_per_thread_count, sizeof *f, by_form_name);
    return f && cumu_resolve_mu(library, f->base, &opened) ? cumu_code_address(f->form) : NULL;
}

void *cumu_resolve_below(unsigned library, const char *symbol, bool *opened)
{
    enum cumu_backend b = cumu_backend();
    *opened = false;
    if (b == CUMU_BACKEND_NONE || library >= MAX_LIBRARIES)
        return NULL;
    void *h = atomic_load_explicit(&handles[library], memory_order_acquire);
    if (!h) {
        h = open_library(&cumu_libraries[library], b);
        if (!h) {
            cumu_error("resolve", NULL, "cannot open lib%s (none of its names loads)", cumu_libraries[library].name);
            h = &none;
        }
        atomic_store_explicit(&handles[library], h, memory_order_release);
    }
    if (h == &none)
        return NULL;
    *opened = true;
    void *p = look_up(h, symbol);
    if (p && ours(p)) {
        cumu_error("resolve", symbol, "resolves into cumu itself; treated as missing");
        return NULL;
    }
    return p;
}

void *cumu_resolve_mu(unsigned library, const char *symbol, bool *opened)
{
    /* NCCL's id needs no device: a launcher makes one and forks the ranks that use it. NVML is asked so that the CUDA
     * driver need not be. */
    if (strcmp(symbol, "mcclGetUniqueId") != 0 && strncmp(symbol, "mtml", 4) != 0)
        cumu_init_used();
    void *stand_in = CUMU_ASK(stand_in, NULL, symbol);
    *opened = stand_in != NULL;
    if (stand_in)
        return stand_in;
    void *p = cumu_resolve_below(library, symbol, opened);
    if (!p && *opened)
        p = per_thread_form(library, symbol);
    if (!p && *opened && &cumu_libraries[library] == library_named("musart"))
        p = CUMU_ASK(runtime_over, NULL, symbol);
    return p;
}

void *cumu_resolve_driver(const char *name)
{
    const struct cumu_mu_symbol *m = find_mu(name);
    const struct cumu_library *driver = library_named("musa");
    bool opened;
    if (!driver)
        return NULL;
    /* Of two forms with the same arguments _v2 is the one of 64 bits; a missing one leads to the other. */
    bool newer = m && m->other && strlen(m->other) > strlen(name);
    return cumu_resolve_mu((unsigned)(driver - cumu_libraries), newer ? m->other : name, &opened);
}

bool cumu_mu_lacks(const char *symbol) { return find_mu(symbol) && !cumu_mu_has(symbol); }

bool cumu_mu_has(const char *symbol)
{
    bool opened;
    const struct cumu_mu_symbol *m = find_mu(symbol);
    return m && cumu_resolve_mu(m->library, symbol, &opened);
}

void *cumu_resolve_runtime(const char *name)
{
    char symbol[128];
    bool opened;
    int n = snprintf(symbol, sizeof symbol, "musa%s", name);
    const struct cumu_library *l = library_named("musart");
    return n > 0 && n < (int)sizeof symbol && l ? cumu_resolve_below((unsigned)(l - cumu_libraries), symbol, &opened)
                                                : NULL;
}

void *cumu_below(const char *library, const char *symbol)
{
    const struct cumu_library *l = library_named(library);
    bool opened;
    return l ? cumu_resolve_below((unsigned)(l - cumu_libraries), symbol, &opened) : NULL;
}

bool cumu_below_has(const char *library, const char *symbol) { return cumu_below(library, symbol) != NULL; }
