/* Texture and surface references on top of texture and surface objects. */
#include "kernel/reference.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/graph.h"
#include "kernel/module.h"

struct reference_object {
    struct reference_object *next;
    MUcontext ctx;
    unsigned long long handle; /* 0: nothing is bound there */
};

_Static_assert(sizeof(struct cumu_reference) <= CUMU_HANDLE_SIZE, "a reference fits a handle's slot");
_Static_assert(sizeof(struct cumu_sampling) == offsetof(MUSA_TEXTURE_DESC, reserved), "sampling");

struct cumu_reference *cumu_reference_new(void)
{
    struct cumu_reference *r = cumu_handle_new(CUMU_H_REFERENCE);
    if (r) {
        r->to.type = CUMU_UNBOUND;
        r->to.format = CU_AD_FORMAT_FLOAT;
        r->to.channels = 1;
        for (unsigned k = 0; k < 3; k++)
            r->how.address[k] = CU_TR_ADDRESS_MODE_CLAMP;
    }
    return r;
}

static struct cumu_reference *find(struct cumu_module *m, const char *name)
{
    struct cumu_reference *r = *cumu_module_references(m);
    while (r && strcmp(r->name, name) != 0)
        r = r->next;
    return r;
}

static const struct ptx_var *find_variable(struct cumu_module *m, const char *name)
{
    const struct ptx_var *v = NULL;
    CUMU_EACH_UNIT(m, u)
    if (!v && cumu_unit_ptx(u))
        v = ptx_module_var(cumu_unit_ptx(u), name);
    return v;
}

/* The reference is made when it is first asked for; who comes second, without the lock, drops its own. */
int cumu_reference_get(struct cumu_module *m, const char *name, bool surface, struct cumu_reference **out)
{
    int err = cumu_module_open(m);
    if (err)
        return err;
    const struct ptx_var *v = find_variable(m, name);
    if (!v || v->type != (surface ? PTX_SURFREF : PTX_TEXREF))
        return CUDA_ERROR_NOT_FOUND;
    struct cumu_reference *fresh = cumu_reference_new(), *r;
    char *copy = strdup(name);
    pthread_mutex_lock(&cumu_kernel_lock);
    r = find(m, name);
    if (!r && fresh && copy) {
        fresh->surface = surface;
        fresh->module = m;
        fresh->name = copy;
        fresh->next = *cumu_module_references(m);
        *cumu_module_references(m) = fresh;
        r = fresh;
    }
    pthread_mutex_unlock(&cumu_kernel_lock);
    if (r != fresh) {
        free(copy);
        cumu_handle_free(fresh);
    }
    if (!r)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = r;
    return CUDA_SUCCESS;
}

/* ---- objects -------------------------------------------------------------------------------- */

/* Makes the texture or surface object of a reference from what is bound to it: the driver below knows objects only.
 * */
static int make_object(const struct cumu_reference *r, const struct cumu_binding *b, const struct cumu_sampling *how,
                       unsigned long long *handle)
{
    MUSA_RESOURCE_DESC res = {.resType = (MUresourcetype)b->type};
    MUSA_TEXTURE_DESC desc;
    memset(&desc, 0, sizeof desc);
    memcpy(&desc, how, sizeof *how);
    switch (b->type) {
    case MU_RESOURCE_TYPE_ARRAY: res.res.array.hArray = b->array; break;
    case MU_RESOURCE_TYPE_MIPMAPPED_ARRAY: res.res.mipmap.hMipmappedArray = b->mipmap; break;
    case MU_RESOURCE_TYPE_LINEAR:
        res.res.linear.devPtr = b->address;
        res.res.linear.format = (MUarray_format)b->format;
        res.res.linear.numChannels = b->channels;
        res.res.linear.sizeInBytes = b->size;
        break;
    default:
        res.res.pitch2D.devPtr = b->address;
        res.res.pitch2D.format = (MUarray_format)b->format;
        res.res.pitch2D.numChannels = b->channels;
        res.res.pitch2D.width = b->width;
        res.res.pitch2D.height = b->height;
        res.res.pitch2D.pitchInBytes = b->pitch;
    }
    return r->surface ? mu.muSurfObjectCreate(handle, &res) : mu.muTexObjectCreate(handle, &res, &desc, NULL);
}

static void drop_object(const struct cumu_reference *r, unsigned long long handle)
{
    if (handle && r->surface)
        mu.muSurfObjectDestroy(handle);
    else if (handle)
        mu.muTexObjectDestroy(handle);
}

/* The handle of the current context becomes this one, in the variable too. */
static int publish(struct cumu_reference *r, MUcontext ctx, unsigned long long handle)
{
    uint64_t at;
    size_t size;
    bool managed;
    struct reference_object *fresh = calloc(1, sizeof *fresh), *o;
    if (!fresh)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int err = r->module ? cumu_module_global(r->module, r->name, &at, &size, &managed) : CUDA_SUCCESS;
    if (!err && r->module) {
        int mode = cumu_capture_relax();
        err = mu.muMemcpyHtoD_v2(at, &handle, sizeof handle);
        cumu_capture_restore(mode);
    }
    if (err) {
        free(fresh);
        return err;
    }
    pthread_mutex_lock(&cumu_kernel_lock);
    for (o = r->objects; o && o->ctx != ctx;)
        o = o->next;
    if (!o) {
        o = fresh;
        fresh = NULL;
        o->ctx = ctx;
        o->next = r->objects;
        r->objects = o;
    }
    unsigned long long old = o->handle;
    o->handle = handle;
    pthread_mutex_unlock(&cumu_kernel_lock);
    free(fresh);
    drop_object(r, old);
    return CUDA_SUCCESS;
}

/* Sampling that does not go with the format (filtered integers) may be a state in between: then nothing
 * is bound until it does. */
static int bind(struct cumu_reference *r, const struct cumu_binding *b)
{
    static const struct cumu_sampling plain = {.address = {1, 1, 1}, .flags = CU_TRSF_READ_AS_INTEGER};
    unsigned long long handle = 0, probe = 0;
    MUcontext ctx;
    int err = cumu_context_current(&ctx);
    if (err)
        return err;
    if (b->type != CUMU_UNBOUND && make_object(r, b, &r->how, &handle) != MUSA_SUCCESS) {
        handle = 0;
        err = make_object(r, b, &plain, &probe);
        if (err)
            return err;
        drop_object(r, probe);
    }
    err = publish(r, ctx, handle);
    if (err)
        drop_object(r, handle);
    return err;
}

int cumu_reference_bind(struct cumu_reference *r, const struct cumu_binding *to)
{
    int err = bind(r, to);
    if (!err) {
        pthread_mutex_lock(&cumu_kernel_lock);
        r->to = *to;
        pthread_mutex_unlock(&cumu_kernel_lock);
    }
    return err;
}

int cumu_reference_apply(struct cumu_reference *r)
{
    return r->to.type == CUMU_UNBOUND ? CUDA_SUCCESS : bind(r, &r->to);
}

int cumu_reference_format(MUarray array, struct cumu_binding *to)
{
    MUSA_ARRAY3D_DESCRIPTOR d;
    int err = mu.muArray3DGetDescriptor_v2(&d, array);
    if (!err) {
        to->format = (int)d.Format;
        to->channels = d.NumChannels;
    }
    return err;
}

/* ---- the end -------------------------------------------------------------------------------- */

void cumu_reference_free(struct cumu_reference *r)
{
    MUcontext now = NULL;
    mu.muCtxGetCurrent(&now);
    while (r->objects) {
        struct reference_object *o = r->objects;
        r->objects = o->next;
        if (o->handle && (o->ctx == now || mu.muCtxSetCurrent(o->ctx) == MUSA_SUCCESS)) {
            drop_object(r, o->handle);
            if (o->ctx != now)
                mu.muCtxSetCurrent(now);
        }
        free(o);
    }
    free((char *)(uintptr_t)r->name);
    cumu_handle_free(r);
}

void cumu_references_drop(struct cumu_module *m)
{
    struct cumu_reference **list = cumu_module_references(m);
    while (*list) {
        struct cumu_reference *r = *list;
        *list = r->next;
        cumu_reference_free(r);
    }
}
