/* Modules: opened (scanned, linked) at first use; their kernels and variables by name; their end. */
#include "kernel/device.h"
#include "kernel/graph.h"
#include "kernel/jit.h"
#include "kernel/reference.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/ids.h"
#include "compile/link.h"

struct cumu_module {
    uint32_t kind; /* CUMU_H_MODULE; first word of every handle */
    bool opened;
    int error;
    const void *wrapper; /* of a registered module */
    struct cumu_unit *units;
    struct cumu_func *funcs; /* by name */
    struct host_var *vars;
    struct cumu_reference *references;
    const struct cumu_jit_request *log; /* during the load only */
    struct cumu_module *prev, *next;    /* all modules */
};

_Static_assert(sizeof(struct cumu_module) <= CUMU_HANDLE_SIZE, "a module fits a handle's slot");
static struct cumu_module *modules; /* all of them, under the lock */

unsigned cumu_claimed_cc(void) { return (unsigned)cumu_opt_int(CUMU_OPT_COMPUTE_CAPABILITY); }

bool cumu_loading_eager(void)
{
    const char *mode = cumu_env("CUDA_MODULE_LOADING");
    return mode && strcmp(mode, "EAGER") == 0 && cumu_device_code();
}

int cumu_context_current(MUcontext *ctx)
{
    *ctx = NULL;
    int err = mu.muCtxGetCurrent(ctx);
    if (err == MUSA_SUCCESS && *ctx)
        return MUSA_SUCCESS;
    /* The runtime API makes the primary context of its device current on first use. */
    err = mu.musaFree(NULL);
    if (err)
        return err;
    err = mu.muCtxGetCurrent(ctx);
    if (err == MUSA_SUCCESS && *ctx)
        return MUSA_SUCCESS;
    int device = 0;
    err = mu.musaGetDevice(&device);
    if (!err)
        err = mu.musaSetDevice(device);
    if (!err)
        err = mu.muCtxGetCurrent(ctx);
    return err ? err : *ctx ? MUSA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

struct cumu_module *cumu_module_new(const struct cumu_jit_request *log, const void *wrapper)
{
    struct cumu_module *m = cumu_handle_new(CUMU_H_MODULE);
    if (!m)
        return NULL;
    m->log = log;
    m->wrapper = wrapper;
    pthread_mutex_lock(&cumu_kernel_lock);
    m->next = modules;
    if (m->next)
        m->next->prev = m;
    modules = m;
    pthread_mutex_unlock(&cumu_kernel_lock);
    return m;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Units of relocatable device code may use each other's symbols: then all that hold PTX become one. */
static int link_units(struct cumu_module *m)
{
    struct ptx_module *ptx[1024];
    unsigned n = 0;
    bool needed = false;
    CUMU_EACH_UNIT(m, u)
    if (cumu_unit_ptx(u) && n < 1024)
        ptx[n++] = cumu_unit_ptx(u);
    for (unsigned i = 0; i < n && !needed; i++)
        for (unsigned k = 0; k < n && !needed; k++)
            needed = i != k && cumu_ptx_needs(ptx[i], ptx[k]);
    if (!needed)
        return CUDA_SUCCESS;
    size_t len = 0;
    char *text = cumu_ptx_link(ptx, n, &len);
    struct cumu_unit *all = cumu_unit_of_text(m, &m->units, text, len);
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int err = cumu_unit_open(all);
    if (err)
        return err;
    CUMU_EACH_UNIT(m, u)
    if (u != all && cumu_unit_ptx(u))
        cumu_unit_replace(u);
    return CUDA_SUCCESS;
}

/* What is wrong with a kernel is told when it is launched. */
static void compile_registered(struct cumu_module *m)
{
    CUMU_EACH_UNIT(m, u)
    if (cumu_unit_ptx(u))
        (void)cumu_device_compile_all(u);
}

/* Scans each unit. A module can be used if one of them can; an empty unit is an error only where it is all there is.
 * Units that need each other's symbols are linked. */
int cumu_module_open(struct cumu_module *m)
{
    /* The first unit's turn stands for the module's. */
    struct cumu_unit *first = m->units;
    if (!first)
        return CUDA_ERROR_INVALID_IMAGE;
    cumu_unit_enter(first);
    bool fresh = !m->opened;
    if (fresh) {
        unsigned good = 0, nptx = 0;
        int err = CUDA_SUCCESS;
        CUMU_EACH_UNIT(m, u)
        {
            int e = cumu_unit_open(u);
            good += e == CUDA_SUCCESS;
            nptx += cumu_unit_ptx(u) != NULL;
            if (e && !cumu_unit_is_empty(u) && !err)
                err = e;
            if (e && cumu_unit_is_empty(u) && !cumu_unit_next(u) && !good && !err)
                err = e;
        }
        m->error = good ? CUDA_SUCCESS : err;
        if (!good && cumu_unit_is_empty(first) && !cumu_unit_next(first))
            cumu_kernel_report(m, CUMU_ERROR, "module", "%s", fatbin_error_text(FATBIN_NO_IMAGE));
        CUMU_EACH_UNIT(m, u)
        if (!good && cumu_unit_machine_code(u))
            cumu_kernel_report(m, CUMU_GAP, cumu_unit_machine_code(u),
                               "its module holds machine code for sm_%u only, no PTX to translate%s", cumu_unit_arch(u),
                               !cumu_packs_any() ? "; build it with -gencode arch=compute_80,code=compute_80, "
                                                   "or take PTX from another build (cumu help pack)"
                               : cumu_unit_lacking(u, NULL) ? ", and the pack made for it has none"
                                                            : ", and no pack of CUMU_PTX_PACK is for it");
        if (nptx > 1) {
            int e = link_units(m);
            m->error = e ? e : m->error;
        }
        m->opened = true;
    }
    int err = m->error;
    cumu_unit_leave(first);
    if (fresh && !err && m->wrapper && cumu_loading_eager())
        compile_registered(m);
    return err;
}

int cumu_module_func(struct cumu_module *m, const char *name, struct cumu_func **out)
{
    int err = cumu_module_open(m);
    if (err)
        return err;
    CUMU_EACH_UNIT(m, u)
    {
        struct ptx_func *pf = cumu_unit_ptx(u) ? ptx_module_func(cumu_unit_ptx(u), name) : NULL;
        if (!pf || !pf->is_entry || pf->is_decl)
            continue;
        struct cumu_func *f = cumu_func_find(m, name, true);
        if (!f)
            return CUDA_ERROR_OUT_OF_MEMORY;
        if (!atomic_load_explicit(&f->ptx, memory_order_acquire)) {
            cumu_unit_enter(u);
            f->unit = u;
            atomic_store_explicit(&f->ptx, pf, memory_order_release);
            cumu_unit_leave(u);
        }
        *out = f;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

int cumu_module_find(struct cumu_module *m, const char *name, struct cumu_func **out)
{
    int err = cumu_module_func(m, name, out);
    bool whole = true; /* a name that a whole module does not define is not found with CUDA, either */
    CUMU_EACH_UNIT(m, u)
    whole &= !cumu_unit_error(u) || cumu_unit_is_empty(u);
    CUMU_EACH_UNIT(m, u)
    whole &= !cumu_unit_lacking(u, name);
    return err && !(err == CUDA_ERROR_NOT_FOUND && whole) ? cumu_kernel_missing(m, name, err) : err;
}

/* Counts kernels in order of the text, up to `stop`: the name of that one, or NULL past the last. */
static const char *kernel_at(struct cumu_module *m, unsigned stop, unsigned *count)
{
    *count = 0;
    CUMU_EACH_UNIT(m, u)
    {
        const struct ptx_module *ptx = cumu_unit_ptx(u);
        for (unsigned k = 0; ptx && k < ptx->nfunc; k++)
            if (ptx->func[k].is_entry && !ptx->func[k].is_decl && (*count)++ == stop)
                return ptx->func[k].name;
    }
    return NULL;
}

int cumu_module_func_at(struct cumu_module *m, unsigned i, struct cumu_func **out)
{
    unsigned count;
    int err = cumu_module_open(m);
    const char *name = err ? NULL : kernel_at(m, i, &count);
    return name ? cumu_module_func(m, name, out) : err ? err : CUDA_ERROR_NOT_FOUND;
}

int cumu_module_func_count(struct cumu_module *m, unsigned *count)
{
    int err = cumu_module_open(m);
    *count = 0;
    if (!err)
        (void)kernel_at(m, UINT_MAX, count);
    return err;
}

int cumu_module_global(struct cumu_module *m, const char *name, uint64_t *address, size_t *size, bool *managed)
{
    MUcontext ctx;
    int err = cumu_module_open(m);
    if (!err)
        err = cumu_context_current(&ctx);
    if (err)
        return err;
    err = CUDA_ERROR_NOT_FOUND;
    int mode = cumu_capture_relax();
    CUMU_EACH_UNIT(m, u)
    {
        if (err != CUDA_ERROR_NOT_FOUND || !cumu_unit_ptx(u))
            continue;
        cumu_unit_enter(u);
        err = cumu_unit_var(u, ctx, name, address, size, managed);
        cumu_unit_leave(u);
    }
    cumu_capture_restore(mode);
    return err;
}

/* ---- kernels, and what other files hang on a module ------------------------------------------ */

/* The handle is made outside the lock; who comes second drops its own. */
struct cumu_func *cumu_func_find(struct cumu_module *m, const char *name, bool create)
{
    struct cumu_func *f, *fresh = NULL;
    size_t len = strlen(name);
    pthread_mutex_lock(&cumu_kernel_lock);
    HASH_FIND(hh, m->funcs, name, len, f);
    pthread_mutex_unlock(&cumu_kernel_lock);
    if (f || !create)
        return f;
    fresh = cumu_handle_new(CUMU_H_FUNC);
    char *copy = strdup(name);
    if (!fresh || !copy)
        goto drop;
    fresh->module = m;
    fresh->name = copy;
    pthread_mutex_lock(&cumu_kernel_lock);
    HASH_FIND(hh, m->funcs, name, len, f);
    if (!f) {
        HASH_ADD_KEYPTR(hh, m->funcs, fresh->name, len, fresh);
        f = hmap_added(fresh) ? fresh : NULL;
    }
    pthread_mutex_unlock(&cumu_kernel_lock);
    if (f == fresh)
        return f;
drop:
    free(copy);
    cumu_handle_free(fresh);
    return f;
}

struct cumu_func *cumu_func_search(bool (*is)(struct cumu_func *f, void *arg), void *arg)
{
    struct cumu_func *f, *tmp, *found = NULL;
    pthread_mutex_lock(&cumu_kernel_lock);
    for (struct cumu_module *m = modules; m && !found; m = m->next)
        HASH_ITER(hh, m->funcs, f, tmp)
    if (!found && is(f, arg))
        found = f;
    pthread_mutex_unlock(&cumu_kernel_lock);
    return found;
}

struct cumu_unit **cumu_module_units(struct cumu_module *m) { return &m->units; }

void cumu_module_loaded(struct cumu_module *m) { m->log = NULL; }

const struct cumu_jit_request *cumu_module_request(const struct cumu_module *m) { return m->log; }

const void *cumu_module_wrapper(const struct cumu_module *m) { return m->wrapper; }

struct host_var **cumu_module_vars(struct cumu_module *m) { return &m->vars; }

struct cumu_reference **cumu_module_references(struct cumu_module *m) { return &m->references; }

/* ---- the end -------------------------------------------------------------------------------- */

void cumu_unload_below(MUmodule module, MUdeviceptr memory, MUcontext ctx)
{
    MUcontext now = NULL;
    if ((!module && !memory) || !ctx)
        return;
    mu.muCtxGetCurrent(&now);
    if (now != ctx && mu.muCtxSetCurrent(ctx) != MUSA_SUCCESS)
        return;
    if (cumu_device_code())
        mu.muCtxSynchronize(); /* a device's driver does not wait for kernels that still run it */
    if (module)
        mu.muModuleUnload(module);
    if (memory)
        mu.muMemFree_v2(memory);
    if (now != ctx)
        mu.muCtxSetCurrent(now);
}

void cumu_module_unload(struct cumu_module *m)
{
    struct cumu_func *f, *tmp;
    cumu_vars_drop(m);
    cumu_references_drop(m);
    pthread_mutex_lock(&cumu_kernel_lock);
    HASH_ITER(hh, m->funcs, f, tmp)
    cumu_host_func_drop(f);
    if (m->prev)
        m->prev->next = m->next;
    else
        modules = m->next;
    if (m->next)
        m->next->prev = m->prev;
    pthread_mutex_unlock(&cumu_kernel_lock);
    HASH_ITER(hh, m->funcs, f, tmp)
    {
        HASH_DEL(m->funcs, f);
        cumu_func_free(f);
    }
    while (m->units) {
        struct cumu_unit *u = m->units;
        m->units = cumu_unit_next(u);
        cumu_unit_free(u);
    }
    cumu_handle_free(m);
}

void cumu_context_gone(MUcontext ctx, int device)
{
    struct cumu_func *f, *tmp;
    cumu_id_drop(ctx);
    pthread_mutex_lock(&cumu_kernel_lock);
    for (struct cumu_module *m = modules; m; m = m->next) {
        HASH_ITER(hh, m->funcs, f, tmp)
        cumu_func_context_gone(f, ctx, device);
        CUMU_EACH_UNIT(m, u)
        cumu_unit_context_gone(u, ctx, device);
    }
    pthread_mutex_unlock(&cumu_kernel_lock);
}
