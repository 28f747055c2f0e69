/* cuTexRef*, cuSurfRef* and what hands out references. */
#include "kernel/reference.h"

#include <string.h>

#include "api/api.h"

#define REFERENCE(r, p) \
    struct cumu_reference *r = cumu_as_reference(p); \
    if (!r) \
    return CUDA_ERROR_INVALID_HANDLE

#define OUT(p) \
    if (!(p)) \
    return CUDA_ERROR_INVALID_VALUE

static CUresult get(void **out, CUmodule module, const char *name, bool surface)
{
    struct cumu_reference *r;
    struct cumu_module *m = cumu_as_module(module);
    if (!out || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    int err = cumu_reference_get(m, name, surface, &r);
    if (!err)
        *out = r;
    return err;
}

CUresult wrap_cuModuleGetTexRef(void **ref, CUmodule module, const char *name) { return get(ref, module, name, false); }

CUresult wrap_cuModuleGetSurfRef(void **ref, CUmodule module, const char *name) { return get(ref, module, name, true); }

CUresult wrap_cuTexRefCreate(void **ref)
{
    OUT(ref);
    struct cumu_reference *r = cumu_reference_new();
    if (!r)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ref = r;
    return CUDA_SUCCESS;
}

CUresult wrap_cuTexRefDestroy(void *ref)
{
    REFERENCE(r, ref);
    if (r->module)
        return CUDA_ERROR_INVALID_VALUE; /* the module's own */
    cumu_reference_free(r);
    return CUDA_SUCCESS;
}

/* A kernel sees all references of its module; CUDA asks that this one be among them. */
CUresult wrap_cuParamSetTexRef(CUfunction function, int unit, void *ref)
{
    struct cumu_func *f = cumu_as_func(function);
    REFERENCE(r, ref);
    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    return unit == -1 && r->module == cumu_func_module(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- binding -------------------------------------------------------------------------------- */

enum { OVERRIDE_FORMAT = 1 }; /* CU_TRSA_OVERRIDE_FORMAT: the array's format is the reference's */

static CUresult set_array(struct cumu_reference *r, MUarray array)
{
    struct cumu_binding to = {.type = MU_RESOURCE_TYPE_ARRAY, .array = array};
    int err = array ? cumu_reference_format(array, &to) : CUDA_ERROR_INVALID_VALUE;
    return err ? err : cumu_reference_bind(r, &to);
}

CUresult wrap_cuTexRefSetArray(void *ref, void *array, unsigned flags)
{
    REFERENCE(r, ref);
    return flags != OVERRIDE_FORMAT ? CUDA_ERROR_INVALID_VALUE : set_array(r, array);
}

CUresult wrap_cuSurfRefSetArray(void *ref, void *array, unsigned flags)
{
    REFERENCE(r, ref);
    return flags || !r->surface ? CUDA_ERROR_INVALID_VALUE : set_array(r, array);
}

CUresult wrap_cuTexRefSetMipmappedArray(void *ref, void *mipmap, unsigned flags)
{
    REFERENCE(r, ref);
    struct cumu_binding to = {.type = MU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .mipmap = mipmap};
    MUarray first = NULL;
    if (flags != OVERRIDE_FORMAT || !mipmap)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muMipmappedArrayGetLevel(&first, mipmap, 0);
    if (!err)
        err = cumu_reference_format(first, &to);
    return err ? err : cumu_reference_bind(r, &to);
}

CUresult wrap_cuTexRefSetAddress_v2(size_t *offset, void *ref, CUdeviceptr address, size_t bytes)
{
    REFERENCE(r, ref);
    struct cumu_binding to = {.type = address ? MU_RESOURCE_TYPE_LINEAR : CUMU_UNBOUND,
                              .format = r->to.format,
                              .channels = r->to.channels,
                              .address = address,
                              .size = bytes};
    int err = cumu_reference_bind(r, &to);
    if (!err && offset)
        *offset = 0; /* every element's address will do */
    return err;
}

CUresult wrap_cuTexRefSetAddress(unsigned *offset, void *ref, unsigned address, unsigned bytes)
{
    size_t at = 0;
    CUresult err = wrap_cuTexRefSetAddress_v2(&at, ref, address, bytes);
    if (!err && offset)
        *offset = (unsigned)at;
    return err;
}

static CUresult set_2d(void *ref, size_t width, size_t height, int format, unsigned channels, CUdeviceptr address,
                       size_t pitch)
{
    REFERENCE(r, ref);
    struct cumu_binding to = {.type = MU_RESOURCE_TYPE_PITCH2D,
                              .format = format,
                              .channels = channels,
                              .address = address,
                              .width = width,
                              .height = height,
                              .pitch = pitch};
    return cumu_reference_bind(r, &to);
}

CUresult wrap_cuTexRefSetAddress2D_v2(void *ref, const void *desc, CUdeviceptr address, size_t pitch)
{
    const MUSA_ARRAY_DESCRIPTOR *d = desc;
    OUT(desc);
    return set_2d(ref, d->Width, d->Height, (int)d->Format, d->NumChannels, address, pitch);
}

CUresult wrap_cuTexRefSetAddress2D_v3(void *ref, const void *desc, CUdeviceptr address, size_t pitch)
{
    return wrap_cuTexRefSetAddress2D_v2(ref, desc, address, pitch);
}

CUresult wrap_cuTexRefSetAddress2D(void *ref, const void *desc, unsigned address, unsigned pitch)
{
    const struct {
        unsigned width, height;
        int format;
        unsigned channels;
    } *d = desc; /* CUDA 2 */
    OUT(desc);
    return set_2d(ref, d->width, d->height, d->format, d->channels, address, pitch);
}

CUresult wrap_cuTexRefSetFormat(void *ref, int format, int channels)
{
    REFERENCE(r, ref);
    bool known = format == CU_AD_FORMAT_HALF || format == CU_AD_FORMAT_FLOAT ||
                 (format >= CU_AD_FORMAT_UNSIGNED_INT8 && format <= CU_AD_FORMAT_UNSIGNED_INT32) ||
                 (format >= CU_AD_FORMAT_SIGNED_INT8 && format <= CU_AD_FORMAT_SIGNED_INT32);
    if (!known || (channels != 1 && channels != 2 && channels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    r->to.format = format;
    r->to.channels = (unsigned)channels;
    return r->to.type == MU_RESOURCE_TYPE_LINEAR ? cumu_reference_apply(r) : CUDA_SUCCESS;
}

/* ---- sampling ------------------------------------------------------------------------------- */

CUresult wrap_cuTexRefSetAddressMode(void *ref, int dim, int mode)
{
    REFERENCE(r, ref);
    if (dim < 0 || dim > 2 || mode < 0 || mode > CU_TR_ADDRESS_MODE_BORDER)
        return CUDA_ERROR_INVALID_VALUE;
    r->how.address[dim] = mode;
    return cumu_reference_apply(r);
}

CUresult wrap_cuTexRefSetFilterMode(void *ref, int mode)
{
    REFERENCE(r, ref);
    if (mode < 0 || mode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    r->how.filter = mode;
    return cumu_reference_apply(r);
}

CUresult wrap_cuTexRefSetMipmapFilterMode(void *ref, int mode)
{
    REFERENCE(r, ref);
    if (mode < 0 || mode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    r->how.mip_filter = mode;
    return cumu_reference_apply(r);
}

CUresult wrap_cuTexRefSetMipmapLevelBias(void *ref, float bias)
{
    REFERENCE(r, ref);
    r->how.bias = bias;
    return cumu_reference_apply(r);
}

CUresult wrap_cuTexRefSetMipmapLevelClamp(void *ref, float low, float high)
{
    REFERENCE(r, ref);
    r->how.low = low;
    r->how.high = high;
    return cumu_reference_apply(r);
}

CUresult wrap_cuTexRefSetMaxAnisotropy(void *ref, unsigned most)
{
    REFERENCE(r, ref);
    r->how.anisotropy = most;
    return cumu_reference_apply(r);
}

CUresult wrap_cuTexRefSetBorderColor(void *ref, float *color)
{
    REFERENCE(r, ref);
    OUT(color);
    memcpy(r->how.border, color, sizeof r->how.border);
    return cumu_reference_apply(r);
}

CUresult wrap_cuTexRefSetFlags(void *ref, unsigned flags)
{
    REFERENCE(r, ref);
    if (flags & ~(unsigned)(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                            CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP))
        return CUDA_ERROR_INVALID_VALUE;
    r->how.flags = flags;
    return cumu_reference_apply(r);
}

/* ---- what was set --------------------------------------------------------------------------- */

CUresult wrap_cuTexRefGetAddress_v2(CUdeviceptr *address, void *ref)
{
    OUT(address);
    REFERENCE(r, ref);
    if (r->to.type != MU_RESOURCE_TYPE_LINEAR && r->to.type != MU_RESOURCE_TYPE_PITCH2D)
        return CUDA_ERROR_INVALID_VALUE;
    *address = r->to.address;
    return CUDA_SUCCESS;
}

CUresult wrap_cuTexRefGetAddress(unsigned *address, void *ref)
{
    CUdeviceptr at = 0;
    OUT(address);
    CUresult err = wrap_cuTexRefGetAddress_v2(&at, ref);
    if (!err && at > UINT32_MAX)
        err = CUDA_ERROR_INVALID_VALUE;
    if (!err)
        *address = (unsigned)at;
    return err;
}

CUresult wrap_cuTexRefGetArray(void **array, void *ref)
{
    OUT(array);
    REFERENCE(r, ref);
    if (r->to.type != MU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    *array = r->to.array;
    return CUDA_SUCCESS;
}

CUresult wrap_cuSurfRefGetArray(void **array, void *ref) { return wrap_cuTexRefGetArray(array, ref); }

CUresult wrap_cuTexRefGetMipmappedArray(void **mipmap, void *ref)
{
    OUT(mipmap);
    REFERENCE(r, ref);
    if (r->to.type != MU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    *mipmap = r->to.mipmap;
    return CUDA_SUCCESS;
}

CUresult wrap_cuTexRefGetAddressMode(int *mode, void *ref, int dim)
{
    OUT(mode);
    REFERENCE(r, ref);
    if (dim < 0 || dim > 2)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = r->how.address[dim];
    return CUDA_SUCCESS;
}

CUresult wrap_cuTexRefGetFormat(int *format, int *channels, void *ref)
{
    REFERENCE(r, ref);
    if (format)
        *format = r->to.format;
    if (channels)
        *channels = (int)r->to.channels;
    return format || channels ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult wrap_cuTexRefGetMipmapLevelClamp(float *low, float *high, void *ref)
{
    REFERENCE(r, ref);
    if (low)
        *low = r->how.low;
    if (high)
        *high = r->how.high;
    return low || high ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult wrap_cuTexRefGetBorderColor(float *color, void *ref)
{
    OUT(color);
    REFERENCE(r, ref);
    memcpy(color, r->how.border, sizeof r->how.border);
    return CUDA_SUCCESS;
}

#define GETTER(name, type, member) \
    CUresult wrap_##name(type *value, void *ref) \
    { \
        OUT(value); \
        REFERENCE(r, ref); \
        *value = (type)r->how.member; \
        return CUDA_SUCCESS; \
    }
GETTER(cuTexRefGetFilterMode, int, filter)
GETTER(cuTexRefGetFlags, unsigned, flags)
GETTER(cuTexRefGetMaxAnisotropy, int, anisotropy)
GETTER(cuTexRefGetMipmapFilterMode, int, mip_filter)
GETTER(cuTexRefGetMipmapLevelBias, float, bias)
