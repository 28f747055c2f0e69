/* The variables of a unit: memory in each context that uses them, with their first values, and one memory for all
 * contexts where they are managed. */
#include "kernel/variables.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/device.h"
#include "kernel/nest.h"
#include "ptx/lir/image.h"

enum { VARIABLE_ALIGN = 256 }; /* as allocations have it: any access of a kernel is aligned */

/* A __managed__ variable: one copy for all contexts, made at first use. */
struct managed {
    struct managed *next;
    const struct ptx_var *var;
    void *address; /* NULL until made; set under the unit's turn */
    MUcontext made_in;
};

/* The variables in one context. Lists only grow; a context that is gone leaves ctx NULL. */
struct data_inst {
    struct data_inst *next;
    _Atomic(MUcontext) ctx;
    int device;
    MUmodule module;    /* of images; NULL when there are no variables */
    MUdeviceptr memory; /* of devices: all variables in one piece, 0 likewise */
    uint64_t *address;  /* of each, by their number in the data image */
};

struct cumu_variables {
    struct cumu_module *module;
    struct ptx_module *ptx;
    struct managed *managed;
    struct data_inst *inst;
    void *image; /* of devices: the data image, which names them */
};

int cumu_variables_new(struct cumu_module *m, struct ptx_module *ptx, struct cumu_variables **out)
{
    struct cumu_variables *v = calloc(1, sizeof *v);
    if (!v)
        return CUDA_ERROR_OUT_OF_MEMORY;
    v->module = m;
    v->ptx = ptx;
    for (unsigned i = 0; i < ptx->nvar; i++) {
        if (!ptx->var[i].is_managed || ptx->var[i].is_extern)
            continue;
        struct managed *g = calloc(1, sizeof *g);
        if (!g) {
            cumu_variables_free(v);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        g->var = &ptx->var[i];
        g->next = v->managed;
        v->managed = g;
    }
    *out = v;
    return CUDA_SUCCESS;
}

/* ---- managed --------------------------------------------------------------------------------- */

int cumu_variables_managed(struct cumu_variables *v)
{
    MUcontext ctx = NULL;
    for (struct managed *m = v->managed; m; m = m->next) {
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
            cumu_kernel_report(v->module, CUMU_GAP, m->var->name, "managed variable initialised with an address");
        m->address = (void *)(uintptr_t)p;
        m->made_in = ctx;
        cumu_managed_publish(v->module, m->var->name, m->address);
    }
    return CUDA_SUCCESS;
}

static struct managed *find_managed(const struct cumu_variables *v, const char *name)
{
    for (struct managed *m = v->managed; m; m = m->next)
        if (!strcmp(m->var->name, name))
            return m;
    return NULL;
}

/* ---- of a device ------------------------------------------------------------------------------ */

struct placed {
    const struct lir_image *image;
    const struct data_inst *d;
    uint64_t size;
    uint8_t *init; /* of all of them, one after the other */
};

/* Bytes from its start that are not zero for sure. */
static size_t extent(const struct lir_image *image, const struct lir_var *var)
{
    const struct lir_reloc *r = LIR_AT(image, relocs, struct lir_reloc) + var->first_reloc;
    size_t n = var->init_size;
    for (uint32_t k = 0; k < var->nreloc; k++)
        if (r[k].offset + r[k].size > n)
            n = r[k].offset + r[k].size;
    return n;
}

/* First values with the addresses in them that this context gives. */
static void relocate(const struct placed *p, const struct lir_var *var, uint8_t *to)
{
    const struct lir_reloc *r = LIR_AT(p->image, relocs, struct lir_reloc) + var->first_reloc;
    memset(to, 0, extent(p->image, var));
    memcpy(to, LIR_AT(p->image, data, uint8_t) + var->init, var->init_size);
    for (uint32_t n = 0; n < var->nreloc; n++, r++) {
        uint64_t value = r->kind == LIR_RELOC_FUNC  ? LIR_FUNC_TAG | r->index
                         : r->kind == LIR_RELOC_VAR ? p->d->address[r->index]
                                                    : 0; /* a kernel, which no kernel of a device launches */
        value += (uint64_t)r->addend;
        if (r->byte)
            value = value >> 8 * (r->byte - 1) & 0xff;
        memcpy(to + r->offset, &value, r->size);
    }
}

static int initialise(MUstream s, const void *arg)
{
    const struct placed *p = arg;
    const struct lir_var *var = LIR_AT(p->image, vars, struct lir_var);
    uint8_t *to = p->init;
    int err = mu.muMemsetD8Async(p->d->memory, 0, p->size, s);
    for (uint32_t k = 0; !err && k < p->image->vars.count; k++) {
        size_t n = extent(p->image, &var[k]);
        if (!n || p->d->address[k] - p->d->memory >= p->size)
            continue; /* zero, or managed */
        relocate(p, &var[k], to);
        err = mu.muMemcpyHtoDAsync_v2(p->d->address[k], to, n, s);
        to += n;
    }
    return err;
}

static const char *name_of(const struct lir_image *image, uint32_t k)
{
    return LIR_AT(image, strings, char) + LIR_AT(image, vars, struct lir_var)[k].name;
}

/* Memory of the unit's variables on a device, with their initial values; image: of lir_lower_data, now v's. */
static int place_on_device(struct cumu_variables *v, struct data_inst *d, void *data)
{
    const struct lir_image *image = data;
    const struct lir_var *var = LIR_AT(image, vars, struct lir_var);
    struct placed p = {.image = image, .d = d};
    size_t init = 0;
    if (v->image != data)
        free(v->image); /* of another context: the same */
    v->image = data;
    d->address = calloc(image->vars.count, sizeof *d->address);
    if (!d->address)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < image->vars.count; k++) {
        const struct managed *m = find_managed(v, name_of(image, k));
        if (m)
            d->address[k] = (uintptr_t)m->address;
        else
            p.size += (var[k].size + VARIABLE_ALIGN) / VARIABLE_ALIGN * VARIABLE_ALIGN;
        init += extent(image, &var[k]);
    }
    p.init = malloc(init + 1);
    int err = p.init ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!err && p.size)
        err = mu.muMemAlloc_v2(&d->memory, p.size);
    uint64_t at = d->memory;
    for (uint32_t k = 0; !err && k < image->vars.count; k++) {
        if (d->address[k])
            continue;
        d->address[k] = at;
        at += (var[k].size + VARIABLE_ALIGN) / VARIABLE_ALIGN * VARIABLE_ALIGN;
    }
    if (!err && p.size)
        err = cumu_device_work(initialise, &p);
    free(p.init);
    if (!err)
        return CUDA_SUCCESS;
    if (d->memory)
        (void)mu.muMemFree_v2(d->memory);
    free(d->address);
    return err;
}

/* 0 if there is no such variable. */
static uint64_t address_on_device(const struct cumu_variables *v, const struct data_inst *d, const char *name)
{
    const struct lir_image *image = v->image;
    for (uint32_t k = 0; image && k < image->vars.count; k++)
        if (!strcmp(name_of(image, k), name))
            return d->address[k];
    return 0;
}

/* ---- in a context ---------------------------------------------------------------------------- */

/* Of a variable that is not managed; MUSA_ERROR_NOT_FOUND. */
static int address_of(const struct cumu_variables *v, struct data_inst *d, const char *name, MUdeviceptr *address)
{
    size_t size;
    *address = d ? address_on_device(v, d, name) : 0;
    if (*address)
        return MUSA_SUCCESS;
    return d && d->module ? mu.muModuleGetGlobal(address, &size, d->module, name) : MUSA_ERROR_NOT_FOUND;
}

/* f: the kernel of the image; NULL: it is the module's data. */
static int bind_externs(struct cumu_variables *v, struct cumu_func *f, void *image, struct data_inst *data)
{
    const char *name;
    for (unsigned i = 0; (name = lir_image_extern(image, i)); i++) {
        struct managed *m = find_managed(v, name);
        MUdeviceptr address = m ? (MUdeviceptr)(uintptr_t)m->address : cumu_nest_key(v->module, v->ptx, name);
        int err = address ? MUSA_SUCCESS : address_of(v, data, name, &address);
        if (err && err != MUSA_ERROR_NOT_FOUND)
            return err; /* the process ends, or the context is gone: not the module's fault */
        if (err) {
            static const char text[] = "uses variable %s, which no part of the module defines";
            if (f)
                cumu_func_report(f, CUMU_ERROR, text, name);
            else
                cumu_kernel_report(v->module, CUMU_ERROR, "module", text, name);
            return CUDA_ERROR_INVALID_PTX;
        }
        lir_image_bind(image, i, address);
    }
    return CUDA_SUCCESS;
}

/* The variables in ctx, which get their memory when they are first asked for. */
static int data_in(struct cumu_variables *v, MUcontext ctx, struct data_inst **out)
{
    for (struct data_inst *d = v->inst; d; d = d->next)
        if (atomic_load(&d->ctx) == ctx) {
            *out = d;
            return CUDA_SUCCESS;
        }
    int err = cumu_variables_managed(v);
    if (err)
        return err;
    struct ptx_diag diag = {0};
    void *image = NULL;
    size_t size = 0;
    struct data_inst *d = calloc(1, sizeof *d);
    if (!d)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (lir_lower_data(v->ptx, &image, &size, &diag) != 0) {
        cumu_diag_report(v->module, "module", &diag);
        err = diag.nomem ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
        goto fail;
    }
    mu.muCtxGetDevice(&d->device);
    if (image && cumu_device_code()) {
        err = place_on_device(v, d, image);
        if (err)
            goto fail;
    } else if (image) {
        err = bind_externs(v, NULL, image, NULL);
        if (!err)
            err = mu.muModuleLoadData(&d->module, image);
        free(image);
        if (err)
            goto fail;
    }
    atomic_store(&d->ctx, ctx);
    pthread_mutex_lock(&cumu_kernel_lock);
    d->next = v->inst;
    v->inst = d;
    pthread_mutex_unlock(&cumu_kernel_lock);
    *out = d;
    return CUDA_SUCCESS;
fail:
    free(d);
    return err;
}

int cumu_variables_bind(struct cumu_variables *v, struct cumu_func *f, MUcontext ctx, void *image)
{
    struct data_inst *data;
    int err = data_in(v, ctx, &data);
    return err ? err : bind_externs(v, f, image, data);
}

int cumu_variables_find(struct cumu_variables *v, MUcontext ctx, const char *name, uint64_t *address, size_t *size,
                        bool *managed)
{
    const struct ptx_var *var = ptx_module_var(v->ptx, name);
    if (!var || var->is_extern || (var->space != PTX_SP_GLOBAL && var->space != PTX_SP_CONST))
        return CUDA_ERROR_NOT_FOUND;
    struct managed *m = find_managed(v, name);
    *managed = m != NULL;
    *size = var->size;
    if (m) {
        int err = cumu_variables_managed(v);
        *address = (uintptr_t)m->address;
        return err;
    }
    struct data_inst *d;
    int err = data_in(v, ctx, &d);
    if (err)
        return err;
    MUdeviceptr p;
    if (address_of(v, d, name, &p))
        return CUDA_ERROR_NOT_FOUND;
    *address = p;
    return CUDA_SUCCESS;
}

/* ---- the end -------------------------------------------------------------------------------- */

void cumu_variables_context_gone(struct cumu_variables *v, MUcontext ctx, int device)
{
    for (struct data_inst *d = v ? v->inst : NULL; d; d = d->next)
        if (cumu_is_gone(atomic_load(&d->ctx), d->device, ctx, device)) {
            for (struct managed *g = v->managed; g; g = g->next)
                if (g->made_in == atomic_load(&d->ctx))
                    g->address = NULL;
            atomic_store(&d->ctx, NULL);
        }
}

void cumu_variables_free(struct cumu_variables *v)
{
    if (!v)
        return;
    while (v->inst) {
        struct data_inst *d = v->inst;
        v->inst = d->next;
        cumu_unload_below(d->module, d->memory, atomic_load(&d->ctx));
        free(d->address);
        free(d);
    }
    while (v->managed) {
        struct managed *g = v->managed;
        v->managed = g->next;
        if (g->address)
            mu.muMemFree_v2((MUdeviceptr)(uintptr_t)g->address);
        free(g);
    }
    free(v->image);
    free(v);
}
