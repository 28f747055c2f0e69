/* Arrays: descriptors and storage. Rows are stored one after another, so copies treat them as
 * pitched memory; textures and surfaces read them through the descriptor. */
#include "host/driver/internal.h"
#include "host/driver/memcheck.h"

struct host_slab host_arrays = HOST_SLAB(struct MUarray_st, "array");

size_t host_format_bytes(MUarray_format f)
{
    switch (f) {
    case MU_AD_FORMAT_UNSIGNED_INT8:
    case MU_AD_FORMAT_SIGNED_INT8: return 1;
    case MU_AD_FORMAT_UNSIGNED_INT16:
    case MU_AD_FORMAT_SIGNED_INT16:
    case MU_AD_FORMAT_HALF: return 2;
    case MU_AD_FORMAT_UNSIGNED_INT32:
    case MU_AD_FORMAT_SIGNED_INT32:
    case MU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

bool host_array_live(MUarray a) { return host_slab_live(&host_arrays, a); }

#define KNOWN_FLAGS \
    ((unsigned)(MUSA_ARRAY3D_LAYERED | MUSA_ARRAY3D_SURFACE_LDST | MUSA_ARRAY3D_CUBEMAP | MUSA_ARRAY3D_TEXTURE_GATHER))

static bool valid(const MUSA_ARRAY3D_DESCRIPTOR *d)
{
    bool layered = d->Flags & MUSA_ARRAY3D_LAYERED, cube = d->Flags & MUSA_ARRAY3D_CUBEMAP;
    if (!host_format_bytes(d->Format) || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
        return false;
    if (!d->Width || d->Flags & ~KNOWN_FLAGS || d->Width > 1u << 20 || d->Height > 1u << 20 || d->Depth > 1u << 20)
        return false;
    if (cube) /* six faces, or a multiple of six with layers */
        return d->Width == d->Height && d->Depth && (layered ? d->Depth % 6 == 0 : d->Depth == 6);
    if (layered)
        return d->Depth != 0; /* Height 0: layers of rows */
    return d->Height || !d->Depth;
}

MUresult host_array_make(MUcontext ctx, const MUSA_ARRAY3D_DESCRIPTOR *d, MUarray *array)
{
    if (!valid(d))
        return MUSA_ERROR_INVALID_VALUE;
    MUarray a = host_slab_get(&host_arrays);
    if (!a)
        return MUSA_ERROR_OUT_OF_MEMORY;
    a->ctx = ctx;
    a->width = d->Width;
    a->height = d->Height;
    a->depth = d->Depth;
    a->format = (unsigned)d->Format;
    a->channels = d->NumChannels;
    a->flags = d->Flags;
    a->element = host_format_bytes(d->Format) * d->NumChannels;
    a->pitch = (a->width * a->element + 31) & ~(size_t)31;
    a->slice = a->pitch * (a->height ? a->height : 1);
    size_t size; /* a row and a slice of the largest have 2^24 and 2^44 bytes */
    bool fits = !__builtin_mul_overflow(a->slice, a->depth ? a->depth : 1, &size);
    a->data = fits ? host_mem_alloc(ctx->device, size, 512) : NULL;
    if (!a->data) {
        host_slab_put(&host_arrays, a);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    *array = a;
    return MUSA_SUCCESS;
}

MUresult muArray3DCreate(MUarray *array, const MUSA_ARRAY3D_DESCRIPTOR *d)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    r = array && d ? host_array_make(ctx, d, array) : MUSA_ERROR_INVALID_VALUE;
    if (!r)
        host_memcheck_array((*array)->data, host_array_bytes(*array), ctx);
    return r;
}
HOST_ALIAS(muArray3DCreate_v2, muArray3DCreate);

MUresult muArrayCreate(MUarray *array, const MUSA_ARRAY_DESCRIPTOR *d)
{
    if (!d)
        return MUSA_ERROR_INVALID_VALUE;
    MUSA_ARRAY3D_DESCRIPTOR full = {
        .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
    return muArray3DCreate(array, &full);
}
HOST_ALIAS(muArrayCreate_v2, muArrayCreate);

void host_array_free(MUarray a)
{
    host_mem_free(a->ctx->device, a->data);
    host_slab_put(&host_arrays, a);
}

void host_arrays_ctx_gone(MUcontext ctx)
{
    for (MUarray a = NULL; (a = host_slab_next(&host_arrays, a));)
        if (a->ctx == ctx)
            host_array_free(a);
}

MUresult muArrayDestroy(MUarray a)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_array_live(a) || a->level) /* levels go with their mipmapped array */
        return MUSA_ERROR_INVALID_HANDLE;
    r = host_ctx_wait(a->ctx);
    host_array_free(a);
    return r;
}

MUresult muArray3DGetDescriptor(MUSA_ARRAY3D_DESCRIPTOR *d, MUarray a)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_array_live(a))
        return MUSA_ERROR_INVALID_HANDLE;
    if (!d)
        return MUSA_ERROR_INVALID_VALUE;
    *d = (MUSA_ARRAY3D_DESCRIPTOR){a->width, a->height, a->depth, (MUarray_format)a->format, a->channels, a->flags};
    return MUSA_SUCCESS;
}
HOST_ALIAS(muArray3DGetDescriptor_v2, muArray3DGetDescriptor);

MUresult muArrayGetDescriptor(MUSA_ARRAY_DESCRIPTOR *d, MUarray a)
{
    MUSA_ARRAY3D_DESCRIPTOR full;
    MUresult r = muArray3DGetDescriptor(&full, a);
    if (r)
        return r;
    if (!d || full.Depth)
        return MUSA_ERROR_INVALID_VALUE;
    *d = (MUSA_ARRAY_DESCRIPTOR){full.Width, full.Height, full.Format, full.NumChannels};
    return MUSA_SUCCESS;
}
HOST_ALIAS(muArrayGetDescriptor_v2, muArrayGetDescriptor);
