/* Textures, surfaces and mipmapped arrays: the runtime's descriptors in terms of the driver's. */
#include "host/runtime/rt.h"

#include <string.h>

static MUmipmappedArray mipmap_of(musaMipmappedArray_const_t m) { return (MUmipmappedArray)(uintptr_t)m; }

/* ---- mipmapped arrays ------------------------------------------------------------------------ */

musaError_t musaMallocMipmappedArray(musaMipmappedArray_t *mipmap, const musaChannelFormatDesc *desc, musaExtent extent,
                                     unsigned int levels, unsigned int flags)
{
    MUSA_ARRAY3D_DESCRIPTOR d = {.Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    MUmipmappedArray m = NULL;
    MUresult r = rt_enter();
    if (r || !mipmap || !desc)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    if (!rt_format_of(desc, &d.Format, &d.NumChannels))
        return rt_end(musaErrorInvalidChannelDescriptor);
    r = muMipmappedArrayCreate(&m, &d, levels);
    if (!r)
        *mipmap = (musaMipmappedArray_t)(uintptr_t)m;
    return rt_end(r);
}

musaError_t musaGetMipmappedArrayLevel(musaArray_t *array, musaMipmappedArray_const_t mipmap, unsigned int level)
{
    MUarray a = NULL;
    MUresult r = rt_enter();
    if (!r)
        r = array ? muMipmappedArrayGetLevel(&a, mipmap_of(mipmap), level) : MUSA_ERROR_INVALID_VALUE;
    if (!r)
        *array = (musaArray_t)(uintptr_t)a;
    return rt_end(r);
}

musaError_t musaFreeMipmappedArray(musaMipmappedArray_t mipmap)
{
    RETURN_END(mipmap ? muMipmappedArrayDestroy(mipmap_of(mipmap)) : MUSA_SUCCESS);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* The driver's description of a resource from the runtime's. */
static MUresult resource(const musaResourceDesc *from, MUSA_RESOURCE_DESC *to)
{
    *to = (MUSA_RESOURCE_DESC){.resType = from->resType};
    switch (from->resType) {
    case musaResourceTypeArray: to->res.array.hArray = rt_array(from->res.array.array); return MUSA_SUCCESS;
    case musaResourceTypeMipmappedArray:
        to->res.mipmap.hMipmappedArray = mipmap_of(from->res.mipmap.mipmap);
        return MUSA_SUCCESS;
    case musaResourceTypeLinear:
        to->res.linear.devPtr = rt_dev(from->res.linear.devPtr);
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        return rt_format_of(&from->res.linear.desc, &to->res.linear.format, &to->res.linear.numChannels)
                   ? MUSA_SUCCESS
                   : (MUresult)musaErrorInvalidChannelDescriptor;
    case musaResourceTypePitch2D:
        to->res.pitch2D.devPtr = rt_dev(from->res.pitch2D.devPtr);
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        return rt_format_of(&from->res.pitch2D.desc, &to->res.pitch2D.format, &to->res.pitch2D.numChannels)
                   ? MUSA_SUCCESS
                   : (MUresult)musaErrorInvalidChannelDescriptor;
    default: return MUSA_ERROR_INVALID_VALUE;
    }
}

static void resource_back(const MUSA_RESOURCE_DESC *from, musaResourceDesc *to)
{
    memset(to, 0, sizeof *to);
    to->resType = from->resType;
    switch (from->resType) {
    case MU_RESOURCE_TYPE_ARRAY: to->res.array.array = (musaArray_t)(uintptr_t)from->res.array.hArray; break;
    case MU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        to->res.mipmap.mipmap = (musaMipmappedArray_t)(uintptr_t)from->res.mipmap.hMipmappedArray;
        break;
    case MU_RESOURCE_TYPE_LINEAR:
        to->res.linear.devPtr = (void *)(uintptr_t)from->res.linear.devPtr;
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        to->res.linear.desc = rt_channels(from->res.linear.format, from->res.linear.numChannels);
        break;
    default:
        to->res.pitch2D.devPtr = (void *)(uintptr_t)from->res.pitch2D.devPtr;
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        to->res.pitch2D.desc = rt_channels(from->res.pitch2D.format, from->res.pitch2D.numChannels);
    }
}

static MUSA_TEXTURE_DESC sampling(const musaTextureDesc *from, bool seamless)
{
    MUSA_TEXTURE_DESC to = {.filterMode = from->filterMode,
                            .maxAnisotropy = from->maxAnisotropy,
                            .mipmapFilterMode = from->mipmapFilterMode,
                            .mipmapLevelBias = from->mipmapLevelBias,
                            .minMipmapLevelClamp = from->minMipmapLevelClamp,
                            .maxMipmapLevelClamp = from->maxMipmapLevelClamp};
    memcpy(to.addressMode, from->addressMode, sizeof to.addressMode);
    memcpy(to.borderColor, from->borderColor, sizeof to.borderColor);
    to.flags = (from->readMode == musaReadModeElementType ? MU_TRSF_READ_AS_INTEGER : 0u) |
               (from->normalizedCoords ? MU_TRSF_NORMALIZED_COORDINATES : 0u) | (from->sRGB ? MU_TRSF_SRGB : 0u) |
               (from->disableTrilinearOptimization ? MU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u) |
               (seamless ? MU_TRSF_SEAMLESS_CUBEMAP : 0u);
    return to;
}

static void sampling_back(const MUSA_TEXTURE_DESC *from, musaTextureDesc *to)
{
    *to = (musaTextureDesc){
        .filterMode = from->filterMode,
        .readMode = from->flags & MU_TRSF_READ_AS_INTEGER ? musaReadModeElementType : musaReadModeNormalizedFloat,
        .sRGB = !!(from->flags & MU_TRSF_SRGB),
        .normalizedCoords = !!(from->flags & MU_TRSF_NORMALIZED_COORDINATES),
        .maxAnisotropy = from->maxAnisotropy,
        .mipmapFilterMode = from->mipmapFilterMode,
        .mipmapLevelBias = from->mipmapLevelBias,
        .minMipmapLevelClamp = from->minMipmapLevelClamp,
        .maxMipmapLevelClamp = from->maxMipmapLevelClamp,
        .disableTrilinearOptimization = !!(from->flags & MU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION),
    };
    memcpy(to->addressMode, from->addressMode, sizeof to->addressMode);
    memcpy(to->borderColor, from->borderColor, sizeof to->borderColor);
}

/* ---- texture objects ------------------------------------------------------------------------- */

/* Filtering needs numbers with a fraction: floats, or integers read as such. */
static MUresult check_modes(const MUSA_RESOURCE_DESC *res, const musaTextureDesc *d)
{
    MUSA_ARRAY3D_DESCRIPTOR a = {.Format = res->res.linear.format};
    MUarray array = res->res.array.hArray;
    MUresult r = MUSA_SUCCESS;
    if (res->resType == MU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        r = muMipmappedArrayGetLevel(&array, res->res.mipmap.hMipmappedArray, 0);
    if (!r && res->resType <= MU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        r = muArray3DGetDescriptor(&a, array);
    bool is_float = a.Format == MU_AD_FORMAT_FLOAT || a.Format == MU_AD_FORMAT_HALF;
    bool word = a.Format == MU_AD_FORMAT_UNSIGNED_INT32 || a.Format == MU_AD_FORMAT_SIGNED_INT32;
    if (r || is_float)
        return r;
    if (word && d->readMode == musaReadModeNormalizedFloat)
        return (MUresult)musaErrorInvalidNormSetting;
    if (d->filterMode == musaFilterModeLinear && d->readMode == musaReadModeElementType)
        return (MUresult)musaErrorInvalidFilterSetting;
    return MUSA_SUCCESS;
}

static musaError_t create(musaTextureObject_t *tex, const musaResourceDesc *res, const musaTextureDesc *desc,
                          bool seamless, const musaResourceViewDesc *view)
{
    MUSA_RESOURCE_DESC mu_res;
    MUSA_RESOURCE_VIEW_DESC mu_view = {0};
    MUresult r = rt_enter();
    if (r || !tex || !res || !desc)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    MUSA_TEXTURE_DESC mu_desc = sampling(desc, seamless);
    if (view)
        mu_view = (MUSA_RESOURCE_VIEW_DESC){
            view->format,          view->width,      view->height,    view->depth, view->firstMipmapLevel,
            view->lastMipmapLevel, view->firstLayer, view->lastLayer, {0}};
    r = resource(res, &mu_res);
    if (!r)
        r = check_modes(&mu_res, desc);
    return rt_end(r ? r : muTexObjectCreate(tex, &mu_res, &mu_desc, view ? &mu_view : NULL));
}

musaError_t musaCreateTextureObject(musaTextureObject_t *tex, const musaResourceDesc *res, const musaTextureDesc *desc,
                                    const musaResourceViewDesc *view)
{
    return create(tex, res, desc, false, view);
}

musaError_t musaCreateTextureObject_v2(musaTextureObject_t *tex, const musaResourceDesc *res,
                                       const musaTextureDesc_v2 *desc, const musaResourceViewDesc *view)
{
    return create(tex, res, desc ? &desc->v1 : NULL, desc && desc->seamlessCubemap, view);
}

/* CUDA's says nothing of a handle that is none, or none any more (a comment in COLMAP's SiftGPU, whose copied objects
 * are destroyed twice, and some that were never created), and the error would be found by the next call that asks. */
musaError_t musaDestroyTextureObject(musaTextureObject_t tex)
{
    MUresult r = tex ? muTexObjectDestroy(tex) : MUSA_SUCCESS;
    RETURN_END(r == MUSA_ERROR_INVALID_VALUE ? MUSA_SUCCESS : r);
}

musaError_t musaGetTextureObjectResourceDesc(musaResourceDesc *res, musaTextureObject_t tex)
{
    MUSA_RESOURCE_DESC d;
    MUresult r = rt_enter();
    if (!r)
        r = res ? muTexObjectGetResourceDesc(&d, tex) : MUSA_ERROR_INVALID_VALUE;
    if (!r)
        resource_back(&d, res);
    return rt_end(r);
}

/* How the object samples: the plain description, and the member that the second form has more. */
static musaError_t read_sampling(musaTextureDesc *desc, int *seamless, musaTextureObject_t tex)
{
    MUSA_TEXTURE_DESC d;
    MUresult r = rt_enter();
    if (!r)
        r = desc ? muTexObjectGetTextureDesc(&d, tex) : MUSA_ERROR_INVALID_VALUE;
    if (!r)
        sampling_back(&d, desc);
    if (!r && seamless)
        *seamless = !!(d.flags & MU_TRSF_SEAMLESS_CUBEMAP);
    return rt_end(r);
}

musaError_t musaGetTextureObjectTextureDesc(musaTextureDesc *desc, musaTextureObject_t tex)
{
    return read_sampling(desc, NULL, tex);
}

musaError_t musaGetTextureObjectTextureDesc_v2(musaTextureDesc_v2 *desc, musaTextureObject_t tex)
{
    return read_sampling(desc ? &desc->v1 : NULL, desc ? &desc->seamlessCubemap : NULL, tex);
}

musaError_t musaGetTextureObjectResourceViewDesc(musaResourceViewDesc *view, musaTextureObject_t tex)
{
    MUSA_RESOURCE_VIEW_DESC d;
    MUresult r = rt_enter();
    if (!r)
        r = view ? muTexObjectGetResourceViewDesc(&d, tex) : MUSA_ERROR_INVALID_VALUE;
    if (!r)
        *view = (musaResourceViewDesc){d.format,           d.width,           d.height,     d.depth,
                                       d.firstMipmapLevel, d.lastMipmapLevel, d.firstLayer, d.lastLayer};
    return rt_end(r);
}

/* ---- surface objects ------------------------------------------------------------------------- */

musaError_t musaCreateSurfaceObject(musaSurfaceObject_t *surf, const musaResourceDesc *res)
{
    MUSA_RESOURCE_DESC d;
    MUresult r = rt_enter();
    if (r || !surf || !res)
        return rt_end(r ? r : MUSA_ERROR_INVALID_VALUE);
    r = resource(res, &d);
    return rt_end(r ? r : muSurfObjectCreate(surf, &d));
}

musaError_t musaDestroySurfaceObject(musaSurfaceObject_t surf)
{
    RETURN_END(surf ? muSurfObjectDestroy(surf) : MUSA_SUCCESS);
}

musaError_t musaGetSurfaceObjectResourceDesc(musaResourceDesc *res, musaSurfaceObject_t surf)
{
    MUSA_RESOURCE_DESC d;
    MUresult r = rt_enter();
    if (!r)
        r = res ? muSurfObjectGetResourceDesc(&d, surf) : MUSA_ERROR_INVALID_VALUE;
    if (!r)
        resource_back(&d, res);
    return rt_end(r);
}
