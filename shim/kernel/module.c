/* Modules: made by registration or by a load call, opened (scanned, linked) at first use. */
#include "kernel/device.h"
#include "kernel/graph.h"
#include "kernel/jit.h"
#include "kernel/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/ids.h"
#include "compile/link.h"

struct cumu_module *cumu_modules;

enum { EAGER_TEXT = 256 << 10 }; /* bytes of PTX whose kernels are lowered when it is loaded */

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

struct cumu_module *cumu_module_new(void)
{
    struct cumu_module *m = cumu_handle_new(CUMU_H_MODULE);
    if (!m)
        return NULL;
    pthread_mutex_lock(&cumu_kernel_lock);
    m->next = cumu_modules;
    if (m->next)
        m->next->prev = m;
    cumu_modules = m;
    pthread_mutex_unlock(&cumu_kernel_lock);
    return m;
}

struct cumu_module *cumu_module_register(const void *wrapper)
{
    struct cumu_module *m = cumu_module_new();
    const void *container;
    if (!m)
        return NULL;
    m->wrapper = wrapper;
    if (!fatbin_is_wrapper(wrapper))
        cumu_error("kernel", "__cudaRegisterFatBinary", "%s", fatbin_error_text(FATBIN_BAD_MAGIC));
    for (unsigned i = 0; (container = fatbin_wrapper_container(wrapper, i)); i++)
        if (!cumu_unit_new(m, container, FATBIN_UNBOUNDED)) {
            cumu_module_unload(m);
            return NULL;
        }
    return m;
}

/* ---- loading -------------------------------------------------------------------------------- */

static int add_text(struct cumu_module *m, const char *text, size_t len)
{
    struct cumu_unit *u = cumu_unit_new(m, NULL, 0);
    if (!u)
        return CUDA_ERROR_OUT_OF_MEMORY;
    u->text = malloc(len + 1);
    if (!u->text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(u->text, text, len);
    u->text[len] = '\0';
    u->text_len = len;
    return CUDA_SUCCESS;
}

/* A container is copied whole: CUDA lets the caller free it after the load. */
static int add_container(struct cumu_module *m, const void *data, size_t size)
{
    struct fatbin_walk w;
    int err = fatbin_walk_open(&w, data, size);
    if (err) {
        cumu_kernel_report(m, CUMU_ERROR, "module", "%s", fatbin_error_text(err));
        return CUDA_ERROR_INVALID_IMAGE;
    }
    size_t len = (size_t)(w.container_end - (const uint8_t *)data);
    struct cumu_unit *u = cumu_unit_new(m, NULL, len);
    void *copy = malloc(len);
    if (!u || !copy) {
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(copy, data, len);
    u->container = copy;
    u->owned = copy;
    return CUDA_SUCCESS;
}

static int refuse_cubin(struct cumu_module *m, const void *data, size_t size)
{
    if (size == FATBIN_UNBOUNDED)
        size = fatbin_elf_size(data);
    const char *kernel = fatbin_cubin_kernel(data, size, 0);
    cumu_kernel_report(m, CUMU_GAP, kernel ? kernel : "module",
                       "the image is machine code (a cubin), there is no PTX to translate");
    return cumu_kernel_missing(kernel ? kernel : "module", CUDA_ERROR_NO_BINARY_FOR_GPU);
}

int cumu_module_add(struct cumu_module *m, const void *data, size_t size)
{
    uint32_t magic = 0;
    if (size >= sizeof magic || size == FATBIN_UNBOUNDED)
        memcpy(&magic, data, size < sizeof magic ? size : sizeof magic);
    if (magic == FATBIN_MAGIC_WRAPPER && size == FATBIN_UNBOUNDED) {
        const void *container;
        int err = CUDA_SUCCESS;
        for (unsigned i = 0; !err && (container = fatbin_wrapper_container(data, i)); i++)
            err = add_container(m, container, FATBIN_UNBOUNDED);
        return err;
    }
    if (magic == FATBIN_MAGIC)
        return add_container(m, data, size);
    if (!memcmp(&magic, "\177ELF", 4))
        return refuse_cubin(m, data, size);
    const char *text = data;
    size_t len = size == FATBIN_UNBOUNDED ? strlen(text) : strnlen(text, size);
    if (!memcmp(&magic, "!<ar", 4)) {
        cumu_kernel_report(m, CUMU_GAP, "module", "archives of device code are not linked, only PTX is");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return add_text(m, text, len);
}

/* Loads a module from an image of any kind. If it fails, the log that the program gave holds why, as
 * cuModuleLoadDataEx promises. */
static int load(const void *data, size_t size, const char *path, const struct cumu_jit_log *log,
                struct cumu_module **out)
{
    if (log && log->error && log->error_size)
        log->error[0] = '\0';
    if (log && log->info && log->info_size)
        log->info[0] = '\0';
    struct cumu_module *m = cumu_module_new();
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->log = log;
    int err = cumu_module_add(m, data, size);
    if (!err)
        err = cumu_module_open(m);
    /* CUDA compiles PTX when it is loaded, and programs look for its errors there; a kernel that only we cannot
     * translate is an error when it is used. Large modules stay lazy: few of their kernels are ever launched. */
    for (struct cumu_unit *u = m->units; u && !err; u = u->next)
        if (u->ptx && !u->replaced && (cumu_loading_eager() || (!u->container && u->ptx->text_len <= EAGER_TEXT)))
            err = cumu_unit_check(u);
    m->log = NULL;
    for (struct cumu_unit *u = m->units; u && err; u = u->next)
        if (u->sass[0])
            err = cumu_kernel_missing(u->sass, err);
    if (err) {
        if (path)
            cumu_error("kernel", "module", "%s cannot be used", path);
        cumu_module_unload(m);
        return err;
    }
    *out = m;
    return CUDA_SUCCESS;
}

int cumu_module_load(const void *data, size_t size, const struct cumu_jit_log *log, struct cumu_module **out)
{
    return load(data, size, NULL, log, out);
}

int cumu_read_file(const char *path, char **out, size_t *len)
{
    FILE *f = fopen(path, "rbe");
    if (!f)
        return CUDA_ERROR_FILE_NOT_FOUND;
    char *data = NULL;
    size_t size = 0, cap = 0, got;
    int err = CUDA_ERROR_OUT_OF_MEMORY;
    do {
        if (cap - size < 2) {
            cap = cap ? cap * 2 : 1 << 16;
            char *more = cap <= FATBIN_MAX_IMAGE ? realloc(data, cap) : NULL;
            if (!more)
                goto out;
            data = more;
        }
        got = fread(data + size, 1, cap - size - 1, f);
        size += got;
    } while (got > 0);
    err = CUDA_ERROR_INVALID_IMAGE; /* a folder, for example */
    if (ferror(f))
        goto out;
    data[size] = '\0';
    *out = data;
    *len = size;
    data = NULL;
    err = CUDA_SUCCESS;
out:
    free(data);
    fclose(f);
    return err;
}

int cumu_module_load_file(const char *path, const struct cumu_jit_log *log, struct cumu_module **out)
{
    char *data;
    size_t size;
    int err = cumu_read_file(path, &data, &size);
    if (err)
        return err;
    err = load(data, size, path, log, out);
    free(data);
    return err;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Units of relocatable device code may use each other's symbols: then all that hold PTX become one. */
static int link_units(struct cumu_module *m)
{
    struct ptx_module *ptx[1024];
    unsigned n = 0;
    bool needed = false;
    for (struct cumu_unit *u = m->units; u; u = u->next)
        if (!u->error && u->ptx && n < 1024)
            ptx[n++] = u->ptx;
    for (unsigned i = 0; i < n && !needed; i++)
        for (unsigned k = 0; k < n && !needed; k++)
            needed = i != k && cumu_ptx_needs(ptx[i], ptx[k]);
    if (!needed)
        return CUDA_SUCCESS;
    size_t len;
    char *text = cumu_ptx_link(ptx, n, &len);
    struct cumu_unit *all = text ? cumu_unit_new(m, NULL, 0) : NULL;
    if (!all) {
        free(text);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    all->text = text;
    all->text_len = len;
    int err = cumu_unit_open(all);
    if (err)
        return err;
    for (struct cumu_unit *u = m->units; u; u = u->next)
        if (u != all && u->ptx)
            u->replaced = true;
    return CUDA_SUCCESS;
}

/* What is wrong with a kernel is told when it is launched. */
static void compile_registered(struct cumu_module *m)
{
    for (struct cumu_unit *u = m->units; u; u = u->next)
        if (u->ptx && !u->replaced)
            (void)cumu_device_compile_all(u);
}

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
        for (struct cumu_unit *u = first; u; u = u->next) {
            int e = cumu_unit_open(u);
            good += e == CUDA_SUCCESS;
            nptx += u->ptx != NULL;
            if (e && !u->no_image && !err)
                err = e;
            if (e && u->no_image && !u->next && !good && !err)
                err = e;
        }
        m->error = good ? CUDA_SUCCESS : err;
        if (!good && first->no_image && !first->next)
            cumu_kernel_report(m, CUMU_ERROR, "module", "%s", fatbin_error_text(FATBIN_NO_IMAGE));
        for (struct cumu_unit *u = first; u && !good; u = u->next)
            if (u->sass[0])
                cumu_kernel_report(m, CUMU_GAP, u->sass,
                                   "its module holds machine code for sm_%u only, no PTX to translate", u->arch);
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
    for (struct cumu_unit *u = m->units; u; u = u->next) {
        struct ptx_func *pf = u->ptx && !u->replaced ? ptx_module_func(u->ptx, name) : NULL;
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
    for (struct cumu_unit *u = m->units; u; u = u->next)
        whole &= !u->error || u->no_image;
    return err && !(err == CUDA_ERROR_NOT_FOUND && whole) ? cumu_kernel_missing(name, err) : err;
}

int cumu_module_func_at(struct cumu_module *m, unsigned i, struct cumu_func **out)
{
    int err = cumu_module_open(m);
    if (err)
        return err;
    for (struct cumu_unit *u = m->units; u; u = u->next)
        for (unsigned k = 0; u->ptx && !u->replaced && k < u->ptx->nfunc; k++)
            if (u->ptx->func[k].is_entry && !u->ptx->func[k].is_decl && i-- == 0)
                return cumu_module_func(m, u->ptx->func[k].name, out);
    return CUDA_ERROR_NOT_FOUND;
}

int cumu_module_func_count(struct cumu_module *m, unsigned *count)
{
    int err = cumu_module_open(m);
    *count = 0;
    for (struct cumu_unit *u = m->units; u && !err; u = u->next)
        for (unsigned k = 0; u->ptx && !u->replaced && k < u->ptx->nfunc; k++)
            *count += u->ptx->func[k].is_entry && !u->ptx->func[k].is_decl;
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
    for (struct cumu_unit *u = m->units; u && err == CUDA_ERROR_NOT_FOUND; u = u->next) {
        if (!u->ptx || u->replaced)
            continue;
        cumu_unit_enter(u);
        err = cumu_unit_var(u, ctx, name, address, size, managed);
        cumu_unit_leave(u);
    }
    cumu_capture_restore(mode);
    return err;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* What another context has of a module is unloaded there. */
static void unload_below(MUmodule module, MUdeviceptr memory, MUcontext ctx)
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

void cumu_func_unload(struct cumu_func *f)
{
    cumu_jit_cancel(f);
    struct func_inst *i = atomic_exchange(&f->inst, NULL);
    while (i) {
        struct func_inst *next = i->next;
        for (unsigned s = 0; s < T1_NSHAPES; s++)
            unload_below(i->fast_module[s], 0, atomic_load(&i->ctx));
        unload_below(i->module, 0, atomic_load(&i->ctx));
        free(i);
        i = next;
    }
}

void cumu_module_unload(struct cumu_module *m)
{
    struct cumu_func *f, *tmp;
    cumu_vars_drop(m);
    cumu_references_drop(m);
    pthread_mutex_lock(&cumu_kernel_lock);
    if (m->prev)
        m->prev->next = m->next;
    else
        cumu_modules = m->next;
    if (m->next)
        m->next->prev = m->prev;
    pthread_mutex_unlock(&cumu_kernel_lock);
    HASH_ITER(hh, m->funcs, f, tmp)
    {
        HASH_DEL(m->funcs, f);
        cumu_func_unload(f);
        free(f->image);
        free(f->why);
        cumu_device_code_free(f);
        free(f->old_launch);
        while (f->attrs) {
            struct func_attr *a = f->attrs;
            f->attrs = a->next;
            free(a);
        }
        free((char *)(uintptr_t)f->name);
        cumu_handle_free(f);
    }
    while (m->units) {
        struct cumu_unit *u = m->units;
        m->units = u->next;
        for (struct data_inst *d = u->data; d; d = d->next)
            unload_below(d->module, d->memory, atomic_load(&d->ctx));
        for (struct managed *g = u->managed; g; g = g->next)
            if (g->address)
                mu.muMemFree_v2((MUdeviceptr)(uintptr_t)g->address);
        cumu_unit_free(u);
    }
    cumu_handle_free(m);
}

static bool is_gone(MUcontext have, int device, MUcontext ctx, int gone_device)
{
    return have && (ctx ? have == ctx : device == gone_device);
}

void cumu_context_gone(MUcontext ctx, int device)
{
    struct cumu_func *f, *tmp;
    cumu_id_drop(ctx);
    pthread_mutex_lock(&cumu_kernel_lock);
    for (struct cumu_module *m = cumu_modules; m; m = m->next) {
        HASH_ITER(hh, m->funcs, f, tmp)
        for (struct func_inst *i = atomic_load(&f->inst); i; i = i->next)
            if (is_gone(atomic_load(&i->ctx), i->device, ctx, device))
                atomic_store(&i->ctx, NULL);
        for (struct cumu_unit *u = m->units; u; u = u->next)
            for (struct data_inst *d = u->data; d; d = d->next)
                if (is_gone(atomic_load(&d->ctx), d->device, ctx, device)) {
                    for (struct managed *g = u->managed; g; g = g->next)
                        if (g->made_in == atomic_load(&d->ctx))
                            g->address = NULL;
                    atomic_store(&d->ctx, NULL);
                }
    }
    pthread_mutex_unlock(&cumu_kernel_lock);
}
