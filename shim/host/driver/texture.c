/* Texture and surface objects: what the descriptors say becomes the record that kernels read
 * (ptx/tier0/texture.h); the object's handle is that record's address. */
#include "host/driver/internal.h"
#include "host/driver/memcheck.h"

#include <string.h>

#include "ptx/tier0/texture.h"

struct object {
    uint64_t slab_;
    struct t0_texture t;
    MUcontext ctx;
    MUSA_RESOURCE_DESC res;
    MUSA_TEXTURE_DESC desc;
    MUSA_RESOURCE_VIEW_DESC view;
    bool has_view;
};
static struct host_slab objects = HOST_SLAB(struct object, "texture");

_Static_assert(sizeof(((struct MUmipmappedArray_st *)0)->level) / sizeof(MUarray) == T0_TEXTURE_LEVELS, "levels");

static const struct {
    MUarray_format driver;
    enum t0_texel_format device;
} formats[] = {{MU_AD_FORMAT_UNSIGNED_INT8, T0_TEXEL_U8},   {MU_AD_FORMAT_UNSIGNED_INT16, T0_TEXEL_U16},
               {MU_AD_FORMAT_UNSIGNED_INT32, T0_TEXEL_U32}, {MU_AD_FORMAT_SIGNED_INT8, T0_TEXEL_S8},
               {MU_AD_FORMAT_SIGNED_INT16, T0_TEXEL_S16},   {MU_AD_FORMAT_SIGNED_INT32, T0_TEXEL_S32},
               {MU_AD_FORMAT_HALF, T0_TEXEL_F16},           {MU_AD_FORMAT_FLOAT, T0_TEXEL_F32}};

static bool set_format(struct t0_texture *t, MUarray_format format, unsigned channels)
{
    t->channels = (uint8_t)channels;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].driver == format) {
            t->format = (uint8_t)formats[k].device;
            return channels == 1 || channels == 2 || channels == 4;
        }
    return false;
}

static uint32_t at_least_1(size_t n) { return n ? (uint32_t)n : 1; }

static void add_level(struct t0_texture *t, const struct MUarray_st *a)
{
    t->level[t->levels++] = (struct t0_texture_level){
        a->data, (uint32_t)a->width, at_least_1(a->height), at_least_1(a->depth), a->pitch, a->slice};
}

#define WIDEST ((size_t)1 << 28) /* of texels in linear memory, at compute capability 8 */

/* Takes what a texture or surface reads: an array, all levels of a mipmap, or plain memory with a width, height and
 * pitch. */
static MUresult set_resource(struct t0_texture *t, const MUSA_RESOURCE_DESC *d)
{
    MUarray a = d->res.array.hArray;
    MUmipmappedArray m = d->res.mipmap.hMipmappedArray;
    const void *p = (const void *)(uintptr_t)d->res.linear.devPtr;
    size_t element, width, height, pitch;
    if (d->flags)
        return MUSA_ERROR_INVALID_VALUE;
    switch (d->resType) {
    case MU_RESOURCE_TYPE_ARRAY:
        if (!host_array_live(a) || !set_format(t, (MUarray_format)a->format, a->channels))
            return MUSA_ERROR_INVALID_HANDLE;
        add_level(t, a);
        return MUSA_SUCCESS;
    case MU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        if (!host_mipmap_live(m) || !set_format(t, (MUarray_format)m->level[0]->format, m->level[0]->channels))
            return MUSA_ERROR_INVALID_HANDLE;
        for (unsigned k = 0; k < m->levels; k++)
            add_level(t, m->level[k]);
        return MUSA_SUCCESS;
    case MU_RESOURCE_TYPE_LINEAR:
        if (!set_format(t, d->res.linear.format, d->res.linear.numChannels))
            return MUSA_ERROR_INVALID_VALUE;
        element = (size_t)t0_texel_bytes(t->format) * t->channels;
        width = d->res.linear.sizeInBytes / element;
        height = 1;
        /* The size is the program's word: CUDA takes one beyond the allocation as well, as long as nobody reads
         * there. Here a read there gives 0, as behind the texture's end. */
        if (width <= WIDEST && width > host_mem_device_extent(p) / element)
            width = host_mem_device_extent(p) / element;
        pitch = d->res.linear.sizeInBytes;
        t->linear_memory = true;
        break;
    case MU_RESOURCE_TYPE_PITCH2D:
        if (!set_format(t, d->res.pitch2D.format, d->res.pitch2D.numChannels))
            return MUSA_ERROR_INVALID_VALUE;
        element = (size_t)t0_texel_bytes(t->format) * t->channels;
        width = d->res.pitch2D.width;
        height = d->res.pitch2D.height;
        pitch = d->res.pitch2D.pitchInBytes;
        if (!height || width > pitch / element || height > 1u << 20)
            return MUSA_ERROR_INVALID_VALUE;
        break;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
    t->of_memory = true;
    size_t end;
    if (!width || width > WIDEST || (uintptr_t)p % element || __builtin_mul_overflow(pitch, height - 1, &end) ||
        __builtin_add_overflow(end, width * element, &end) || !host_mem_on_device(p, end))
        return MUSA_ERROR_INVALID_VALUE;
    t->levels = 1;
    t->level[0] = (struct t0_texture_level){(void *)(uintptr_t)p, (uint32_t)width, (uint32_t)height, 1, pitch,
                                            pitch * height};
    return MUSA_SUCCESS;
}

/* View formats come in threes (1, 2 and 4 channels): 8, 16 and 32 bits unsigned and signed in
 * turn, then half and float. */
static bool set_view(struct t0_texture *t, const MUSA_RESOURCE_VIEW_DESC *v)
{
    static const uint8_t kinds[] = {T0_TEXEL_U8,  T0_TEXEL_S8,  T0_TEXEL_U16, T0_TEXEL_S16,
                                    T0_TEXEL_U32, T0_TEXEL_S32, T0_TEXEL_F16, T0_TEXEL_F32};
    unsigned before = t0_texel_bytes(t->format) * t->channels;
    if (v->format < MU_RES_VIEW_FORMAT_NONE || v->format > MU_RES_VIEW_FORMAT_FLOAT_4X32)
        return false; /* block compression */
    if (v->format) {
        unsigned k = (unsigned)v->format - 1;
        t->format = kinds[k / 3];
        t->channels = (uint8_t)(1u << k % 3);
    }
    if (t0_texel_bytes(t->format) * t->channels != before || v->firstMipmapLevel >= t->levels ||
        v->lastMipmapLevel < v->firstMipmapLevel || v->lastMipmapLevel >= t->levels || v->lastLayer < v->firstLayer ||
        v->lastLayer >= t->level[0].depth)
        return false;
    t->levels = v->lastMipmapLevel - v->firstMipmapLevel + 1;
    for (unsigned k = 0; k < t->levels; k++) {
        t->level[k] = t->level[k + v->firstMipmapLevel];
        if (v->firstLayer || v->lastLayer) {
            t->level[k].data += v->firstLayer * t->level[k].slice;
            t->level[k].depth = v->lastLayer - v->firstLayer + 1;
        }
    }
    return true;
}

/* Takes how a texture reads. Linear filters need values that are floats when read, and what is read as integers is read
 * at the nearest point whatever the filter; integers of 32 bits are never turned into floats. */
static bool set_sampling(struct t0_texture *t, const MUSA_TEXTURE_DESC *d)
{
    bool is_float = t->format >= T0_TEXEL_F16;
    bool narrow = t0_texel_bytes(t->format) < 4;
    for (unsigned k = 0; k < 3; k++) {
        if (d->addressMode[k] < MU_TR_ADDRESS_MODE_WRAP || d->addressMode[k] > MU_TR_ADDRESS_MODE_BORDER)
            return false;
        t->address[k] = (uint8_t)d->addressMode[k];
    }
    if ((unsigned)d->filterMode > MU_TR_FILTER_MODE_LINEAR || (unsigned)d->mipmapFilterMode > MU_TR_FILTER_MODE_LINEAR)
        return false;
    t->as_float = is_float || (narrow && !(d->flags & MU_TRSF_READ_AS_INTEGER));
    t->linear = d->filterMode == MU_TR_FILTER_MODE_LINEAR;
    t->mip_linear = d->mipmapFilterMode == MU_TR_FILTER_MODE_LINEAR;
    t->normalized = d->flags & MU_TRSF_NORMALIZED_COORDINATES;
    t->srgb = d->flags & MU_TRSF_SRGB;
    t->seamless = d->flags & MU_TRSF_SEAMLESS_CUBEMAP;
    t->bias = d->mipmapLevelBias;
    t->min_lod = d->minMipmapLevelClamp;
    t->max_lod = d->maxMipmapLevelClamp;
    memcpy(t->border, d->borderColor, sizeof t->border);
    return true;
}

static struct object *find(unsigned long long handle, bool surface)
{
    struct object *o = (void *)(uintptr_t)(handle - offsetof(struct object, t));
    return handle && host_slab_live(&objects, o) && o->t.surface == surface ? o : NULL;
}

/* Makes a texture object, or a surface if there is no description of sampling. The handle is the address of what
 * kernels read, with a magic number in it, since a kernel may be given any number as a handle. */
static MUresult create(unsigned long long *handle, const MUSA_RESOURCE_DESC *res, const MUSA_TEXTURE_DESC *desc,
                       const MUSA_RESOURCE_VIEW_DESC *view)
{
    MUcontext ctx;
    struct t0_texture t = {.surface = !desc};
    MUresult r = host_enter(&ctx);
    if (!r && (!handle || !res))
        r = MUSA_ERROR_INVALID_VALUE;
    if (!r)
        r = set_resource(&t, res);
    if (!r && ((view && !set_view(&t, view)) || (desc && !set_sampling(&t, desc))))
        r = MUSA_ERROR_INVALID_VALUE;
    if (r)
        return r;
    struct object *o = host_slab_get(&objects);
    if (!o)
        return MUSA_ERROR_OUT_OF_MEMORY;
    o->ctx = ctx;
    o->res = *res;
    o->has_view = view;
    if (desc)
        o->desc = *desc;
    if (view)
        o->view = *view;
    t.magic = T0_TEXTURE_MAGIC;
    o->t = t;
    *handle = (unsigned long long)(uintptr_t)&o->t;
    return MUSA_SUCCESS;
}

/* A texture's record stays until its place is taken again, some 64 objects later: devices read by descriptions that
 * were given up, too, and programs launch kernels with them (SiftGPU, whose objects are copied and the first copy
 * destroyed). Where a tool looks on, it is told. */
static MUresult destroy(unsigned long long handle, bool surface)
{
    MUresult r = host_ready();
    struct object *o = r ? NULL : find(handle, surface);
    if (!o)
        return r ? r : MUSA_ERROR_INVALID_VALUE;
    r = host_ctx_wait(o->ctx); /* kernels may still read it */
    if (surface || host_memcheck_on())
        o->t.magic = 0;
    host_slab_put(&objects, o);
    return r;
}

MUresult muTexObjectCreate(MUtexObject *tex, const MUSA_RESOURCE_DESC *res, const MUSA_TEXTURE_DESC *desc,
                           const MUSA_RESOURCE_VIEW_DESC *view)
{
    return desc ? create(tex, res, desc, view) : MUSA_ERROR_INVALID_VALUE;
}

MUresult muTexObjectDestroy(MUtexObject tex) { return destroy(tex, false); }

MUresult muSurfObjectCreate(MUsurfObject *surf, const MUSA_RESOURCE_DESC *res)
{
    if (res && (res->resType != MU_RESOURCE_TYPE_ARRAY || !host_array_live(res->res.array.hArray) ||
                !(res->res.array.hArray->flags & MUSA_ARRAY3D_SURFACE_LDST)))
        return MUSA_ERROR_INVALID_VALUE;
    return create(surf, res, NULL, NULL);
}

MUresult muSurfObjectDestroy(MUsurfObject surf) { return destroy(surf, true); }

/* The part of an object at p, if there is such an object. */
#define GETTER(name, type, member, handle_type, surface, missing) \
    MUresult name(type *out, handle_type handle) \
    { \
        MUresult r = host_ready(); \
        const struct object *o = r ? NULL : find(handle, surface); \
        if (!o || !out || (missing)) \
            return r ? r : MUSA_ERROR_INVALID_VALUE; \
        *out = o->member; \
        return MUSA_SUCCESS; \
    }
GETTER(muTexObjectGetResourceDesc, MUSA_RESOURCE_DESC, res, MUtexObject, false, false)
GETTER(muTexObjectGetTextureDesc, MUSA_TEXTURE_DESC, desc, MUtexObject, false, false)
GETTER(muTexObjectGetResourceViewDesc, MUSA_RESOURCE_VIEW_DESC, view, MUtexObject, false, !o->has_view)
GETTER(muSurfObjectGetResourceDesc, MUSA_RESOURCE_DESC, res, MUsurfObject, true, false)
#undef GETTER

void host_textures_ctx_gone(MUcontext ctx)
{
    for (struct object *o = NULL; (o = host_slab_next(&objects, o));)
        if (o->ctx == ctx) {
            o->t.magic = 0;
            host_slab_put(&objects, o);
        }
}
