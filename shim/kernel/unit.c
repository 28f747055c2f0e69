/* Translation units: unpacks and scans PTX, gives variables their memory in a context, lowers kernels and
 * hands them to the library below. Everything here happens once and on demand. */
#include "kernel/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_KERNELS = 16 }; /* are compiled for a device when they are loaded: a second or two each */

pthread_mutex_t cumu_kernel_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_over = PTHREAD_COND_INITIALIZER;

struct cumu_unit *cumu_unit_new(struct cumu_module *m, const void *container, size_t size)
{
    struct cumu_unit *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->module = m;
    u->container = container;
    u->container_size = size;
    struct cumu_unit **at = &m->units;
    while (*at)
        at = &(*at)->next;
    *at = u;
    return u;
}

void cumu_unit_enter(struct cumu_unit *u)
{
    pthread_mutex_lock(&cumu_kernel_lock);
    while (u->busy)
        pthread_cond_wait(&turn_over, &cumu_kernel_lock);
    u->busy = true;
    pthread_mutex_unlock(&cumu_kernel_lock);
}

void cumu_unit_leave(struct cumu_unit *u)
{
    pthread_mutex_lock(&cumu_kernel_lock);
    u->busy = false;
    pthread_cond_broadcast(&turn_over);
    pthread_mutex_unlock(&cumu_kernel_lock);
}

/* To the log, and as one more line to the error log of a load. */
static void report(struct cumu_module *m, enum cumu_level level, const char *symbol, const char *text)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* kernels of a load may be compiled side by side */
    if (cumu_log_on(level, "kernel"))
        cumu_log(NULL, level, "kernel", symbol, "%s", text);
    if (m && m->log && m->log->error && m->log->error_size && level <= CUMU_WARN) {
        pthread_mutex_lock(&one);
        size_t at = strnlen(m->log->error, m->log->error_size);
        snprintf(m->log->error + at, m->log->error_size - at, "cumu: %s%s%s\n", symbol ? symbol : "",
                 symbol ? ": " : "", text);
        pthread_mutex_unlock(&one);
    }
}

void cumu_kernel_report(struct cumu_module *m, enum cumu_level level, const char *symbol, const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report(m, level, symbol, text);
}

void cumu_func_report(struct cumu_func *f, enum cumu_level level, const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report(f->module, level, f->name, text);
    char *why = strdup(text);
    pthread_mutex_lock(&cumu_kernel_lock);
    char *old = f->why;
    f->why = why;
    pthread_mutex_unlock(&cumu_kernel_lock);
    free(old);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int scan_text(struct cumu_unit *u, const char *text, size_t len, struct ptx_diag *diag)
{
    memset(diag, 0, sizeof *diag);
    u->ptx = ptx_module_open(text, len, diag);
    if (!u->ptx)
        return CUDA_ERROR_INVALID_PTX;
    u->arch = u->ptx->target;
    return CUDA_SUCCESS;
}

static void report_diag(struct cumu_unit *u, const char *symbol, const struct ptx_diag *diag)
{
    char text[sizeof diag->msg + sizeof diag->what + 32];
    ptx_diag_text(diag, text, sizeof text);
    cumu_kernel_report(u->module, diag->gap ? CUMU_GAP : CUMU_ERROR, symbol, "%s", text);
}

/* Remembers the first kernel of machine code: told only if nothing else of the module can be used. */
static int refuse_sass(struct cumu_unit *u, const struct fatbin_list *l)
{
    for (unsigned i = 0; i < l->n && !u->sass[0]; i++) {
        char *elf = NULL;
        size_t len = 0;
        const struct fatbin_entry *e = &l->entry[i];
        if (e->kind != FATBIN_CUBIN || fatbin_unpack(e, &elf, &len))
            continue;
        const char *kernel = fatbin_cubin_kernel(elf, len, 0);
        if (kernel) {
            snprintf(u->sass, sizeof u->sass, "%s", kernel);
            u->arch = e->arch;
        }
        free(elf);
    }
    u->no_image = !u->sass[0]; /* nothing in it that could be called */
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* Chooses the PTX of a fat binary: the best entry that unpacks and scans; the others are tried because builds carry
 * entries of newer PTX than we read. Machine code alone is refused by its architecture's name. */
static int open_container(struct cumu_unit *u)
{
    struct fatbin_list l;
    int err = fatbin_list_make(&l, u->container, u->container_size, cumu_claimed_cc());
    int res = CUDA_ERROR_INVALID_IMAGE;
    if (err == FATBIN_NO_PTX) {
        res = refuse_sass(u, &l);
    } else if (err == FATBIN_NO_IMAGE) {
        u->no_image = true;
        res = CUDA_ERROR_NO_BINARY_FOR_GPU;
    } else if (err) {
        res = err == FATBIN_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
        cumu_kernel_report(u->module, CUMU_ERROR, "module", "%s", fatbin_error_text(err));
    }
    /* The best PTX that can be read; what is wrong is told of the first one. */
    struct ptx_diag first = {0}, diag;
    for (unsigned i = 0; i < l.nptx && !err; i++) {
        char *text;
        size_t len;
        int bad = fatbin_unpack(&l.entry[i], &text, &len);
        if (bad) {
            if (i == 0)
                snprintf(first.msg, sizeof first.msg, "compute_%u: %s", l.entry[i].arch, fatbin_error_text(bad));
            res = bad == FATBIN_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
            continue;
        }
        res = scan_text(u, text, len, &diag);
        free(text);
        if (res == CUDA_SUCCESS) {
            u->arch = l.entry[i].arch;
            break;
        }
        if (i == 0)
            first = diag;
    }
    if (!err && res)
        report_diag(u, "module", &first);
    fatbin_list_free(&l);
    return res;
}

int cumu_unit_open(struct cumu_unit *u)
{
    if (u->opened)
        return u->error;
    u->opened = true;
    if (u->text) {
        struct ptx_diag diag;
        u->error = scan_text(u, u->text, u->text_len, &diag);
        if (u->error)
            report_diag(u, "module", &diag);
        free(u->text);
        u->text = NULL;
    } else {
        u->error = open_container(u);
    }
    if (u->error)
        return u->error;
    for (unsigned i = 0; i < u->ptx->nvar; i++) {
        struct managed *m;
        if (!u->ptx->var[i].is_managed || u->ptx->var[i].is_extern)
            continue;
        m = calloc(1, sizeof *m);
        if (!m)
            return u->error = CUDA_ERROR_OUT_OF_MEMORY;
        m->var = &u->ptx->var[i];
        m->next = u->managed;
        u->managed = m;
    }
    return CUDA_SUCCESS;
}

void cumu_unit_free(struct cumu_unit *u)
{
    while (u->managed) {
        struct managed *m = u->managed;
        u->managed = m->next;
        free(m);
    }
    while (u->data) {
        struct data_inst *d = u->data;
        u->data = d->next;
        free(d->address);
        free(d);
    }
    free(u->variables);
    if (u->ptx)
        ptx_module_close(u->ptx);
    free(u->owned);
    free(u->text);
    free(u);
}

/* ---- variables ------------------------------------------------------------------------------ */

int cumu_unit_managed(struct cumu_unit *u)
{
    MUcontext ctx = NULL;
    for (struct managed *m = u->managed; m; m = m->next) {
        if (m->address)
            continue;
        if (!ctx) {
            int err = cumu_context_current(&ctx);
            if (err)
                return err;
        }
        MUdeviceptr p = 0;
        size_t size = m->var->size ? m->var->size : 1;
        int err = mu.muMemAllocManaged(&p, size, MU_MEM_ATTACH_GLOBAL);
        if (err)
            return err;
        memset((void *)(uintptr_t)p, 0, size);
        if (m->var->init)
            memcpy((void *)(uintptr_t)p, m->var->init, m->var->init_size);
        if (m->var->nreloc)
            cumu_kernel_report(u->module, CUMU_GAP, m->var->name, "managed variable initialised with an address");
        m->address = (void *)(uintptr_t)p;
        m->made_in = ctx;
        cumu_managed_publish(u->module, m->var->name, m->address);
    }
    return CUDA_SUCCESS;
}

static struct managed *find_managed(struct cumu_unit *u, const char *name)
{
    for (struct managed *m = u->managed; m; m = m->next)
        if (!strcmp(m->var->name, name))
            return m;
    return NULL;
}

/* Of a variable that is not managed; MUSA_ERROR_NOT_FOUND. */
static int address_of(struct cumu_unit *u, struct data_inst *d, const char *name, MUdeviceptr *address)
{
    size_t size;
    *address = d ? cumu_device_address(u, d, name) : 0;
    if (*address)
        return MUSA_SUCCESS;
    return d && d->module ? mu.muModuleGetGlobal(address, &size, d->module, name) : MUSA_ERROR_NOT_FOUND;
}

/* f: the kernel of the image; NULL: it is the module's data. */
static int bind_externs(struct cumu_unit *u, struct cumu_func *f, void *image, struct data_inst *data)
{
    const char *name;
    for (unsigned i = 0; (name = lir_image_extern(image, i)); i++) {
        struct managed *m = find_managed(u, name);
        MUdeviceptr address = m ? (MUdeviceptr)(uintptr_t)m->address : 0;
        int err = m ? MUSA_SUCCESS : address_of(u, data, name, &address);
        if (err && err != MUSA_ERROR_NOT_FOUND)
            return err; /* the process ends, or the context is gone: not the module's fault */
        if (err) {
            static const char text[] = "uses variable %s, which no part of the module defines";
            if (f)
                cumu_func_report(f, CUMU_ERROR, text, name);
            else
                cumu_kernel_report(u->module, CUMU_ERROR, "module", text, name);
            return CUDA_ERROR_INVALID_PTX;
        }
        lir_image_bind(image, i, address);
    }
    return CUDA_SUCCESS;
}

int cumu_unit_data(struct cumu_unit *u, MUcontext ctx, struct data_inst **out)
{
    for (struct data_inst *d = u->data; d; d = d->next)
        if (atomic_load(&d->ctx) == ctx) {
            *out = d;
            return CUDA_SUCCESS;
        }
    int err = cumu_unit_managed(u);
    if (err)
        return err;
    struct ptx_diag diag = {0};
    void *image = NULL;
    size_t size = 0;
    struct data_inst *d = calloc(1, sizeof *d);
    if (!d)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (lir_lower_data(u->ptx, &image, &size, &diag) != 0) {
        report_diag(u, "module", &diag);
        err = CUDA_ERROR_INVALID_PTX;
        goto fail;
    }
    mu.muCtxGetDevice(&d->device);
    if (image && cumu_device_code()) {
        err = cumu_device_variables(u, d, image);
        if (err)
            goto fail;
    } else if (image) {
        err = bind_externs(u, NULL, image, NULL);
        if (!err)
            err = mu.muModuleLoadData(&d->module, image);
        free(image);
        if (err)
            goto fail;
    }
    atomic_store(&d->ctx, ctx);
    pthread_mutex_lock(&cumu_kernel_lock);
    d->next = u->data;
    u->data = d;
    pthread_mutex_unlock(&cumu_kernel_lock);
    *out = d;
    return CUDA_SUCCESS;
fail:
    free(d);
    return err;
}

int cumu_unit_var(struct cumu_unit *u, MUcontext ctx, const char *name, uint64_t *address, size_t *size, bool *managed)
{
    const struct ptx_var *v = ptx_module_var(u->ptx, name);
    if (!v || v->is_extern || (v->space != PTX_SP_GLOBAL && v->space != PTX_SP_CONST))
        return CUDA_ERROR_NOT_FOUND;
    struct managed *m = find_managed(u, name);
    *managed = m != NULL;
    *size = v->size;
    if (m) {
        int err = cumu_unit_managed(u);
        *address = (uintptr_t)m->address;
        return err;
    }
    struct data_inst *d;
    int err = cumu_unit_data(u, ctx, &d);
    if (err)
        return err;
    MUdeviceptr p;
    if (address_of(u, d, name, &p))
        return CUDA_ERROR_NOT_FOUND;
    *address = p;
    return CUDA_SUCCESS;
}

/* ---- kernels -------------------------------------------------------------------------------- */

int cumu_unit_lower(struct cumu_unit *u, struct cumu_func *f)
{
    struct ptx_diag diag = {0};
    char text[sizeof diag.msg + sizeof diag.what + 32];
    if (f->error || f->image || lir_lower_kernel(u->ptx, f->name, &f->image, &f->image_size, &diag) == 0)
        return f->error;
    ptx_diag_text(&diag, text, sizeof text);
    cumu_func_report(f, diag.gap ? CUMU_GAP : CUMU_ERROR, "%s", text);
    if (diag.nomem)
        return CUDA_ERROR_OUT_OF_MEMORY; /* there may be some when it is asked for again */
    return f->error = diag.gap ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_PTX;
}

int cumu_unit_check(struct cumu_unit *u)
{
    int err = CUDA_SUCCESS;
    unsigned kernels = 0;
    for (unsigned i = 0; !err && u->ptx && i < u->ptx->nfunc; i++) {
        struct cumu_func *f;
        if (!u->ptx->func[i].is_entry || u->ptx->func[i].is_decl)
            continue;
        err = cumu_module_func(u->module, u->ptx->func[i].name, &f);
        if (err)
            break;
        cumu_unit_enter(u);
        err = cumu_unit_lower(u, f);
        cumu_unit_leave(u);
        kernels++;
        if (err == CUDA_ERROR_NOT_SUPPORTED)
            err = CUDA_SUCCESS; /* the others can be used */
    }
    bool compile = !err && cumu_device_code() && (kernels <= FEW_KERNELS || cumu_loading_eager());
    return compile ? cumu_device_compile_all(u) : err;
}

int cumu_unit_image(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, void **image, size_t *size)
{
    struct data_inst *data = NULL;
    int err = cumu_unit_lower(u, f);
    if (!err)
        err = cumu_unit_data(u, ctx, &data);
    if (err)
        return err;
    *image = malloc(f->image_size);
    if (!*image)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(*image, f->image, f->image_size);
    *size = f->image_size;
    err = bind_externs(u, f, *image, data);
    if (err) {
        free(*image);
        *image = NULL;
    }
    return err;
}

/* Tier 0's image of f, for the CPU. */
static int load_image(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, struct func_inst *inst)
{
    void *image = NULL;
    size_t size;
    int err = cumu_unit_image(u, f, ctx, &image, &size);
    if (err)
        return err;
    err = mu.muModuleLoadData(&inst->module, image);
    free(image);
    if (err) {
        cumu_func_report(f, CUMU_ERROR, "the MUSA library refused its image (%d)", err);
        return err;
    }
    err = mu.muModuleGetFunction(&inst->function, inst->module, f->name);
    if (err) {
        cumu_func_report(f, CUMU_ERROR, "its image lacks the kernel (%d)", err);
        mu.muModuleUnload(inst->module);
    }
    return err;
}

int cumu_unit_load_func(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx)
{
    for (struct func_inst *i = atomic_load(&f->inst); i; i = i->next)
        if (atomic_load(&i->ctx) == ctx)
            return CUDA_SUCCESS; /* another thread had the turn first */
    struct func_inst *inst = calloc(1, sizeof *inst);
    if (!inst)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int err = cumu_device_code() ? cumu_device_load(u, f, ctx, inst) : load_image(u, f, ctx, inst);
    if (err) {
        free(inst);
        return err;
    }
    for (struct func_attr *a = f->attrs; a; a = a->next)
        mu.muFuncSetAttribute(inst->function, a->attribute, a->value + cumu_func_front(f, a->attribute));
    mu.muCtxGetDevice(&inst->device);
    atomic_store(&inst->ctx, ctx);
    inst->next = atomic_load(&f->inst);
    atomic_store(&f->inst, inst);
    return CUDA_SUCCESS;
}
