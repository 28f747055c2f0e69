/* Texture and surface references of CUDA 11: the program's variables, named by their address. */
#include "kernel/reference.h"

#include <string.h>

#include "api/api.h"

/* struct textureReference: the program sets its members, and they hold from the next binding on. */
struct texture_reference {
    int normalized, filter, address[3];
    int channel[5]; /* cudaChannelFormatDesc: bits of x, y, z, w; kind */
    int srgb;
    unsigned anisotropy;
    int mip_filter;
    float bias, low, high;
    int no_trilinear, reserved[14];
};
_Static_assert(sizeof(struct texture_reference) == 124, "textureReference");

/* Host code names a texture as C++ does, from the outermost scope on (::name, by nvcc 11.8); PTX by its symbol. */
static const char *symbol_of(const char *name) { return name && strncmp(name, "::", 2) == 0 ? name + 2 : name; }

void wrap___cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name, int dim,
                                int norm, int ext)
{
    struct cumu_module *m = cumu_as_module(handle);
    (void)device, (void)dim, (void)ext;
    if (m) /* the size of a variable tells how integers are read */
        cumu_register_var(m, host, NULL, symbol_of(name), norm ? CUMU_TEXTURE_AS_FLOAT : CUMU_TEXTURE);
}

void wrap___cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name, int dim,
                                int ext)
{
    struct cumu_module *m = cumu_as_module(handle);
    (void)device, (void)dim, (void)ext;
    if (m)
        cumu_register_var(m, host, NULL, symbol_of(name), CUMU_SURFACE);
}

/* The reference behind a program's variable, with what the program set in it. */
static cudaError_t texture(const struct texture_reference *host, struct cumu_reference **out)
{
    struct cumu_reference *r;
    bool as_float;
    int err = cumu_host_reference(host, false, &r, &as_float);
    if (err)
        return err == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidTexture : err;
    r->how = (struct cumu_sampling){
        .filter = host->filter,
        .flags = (as_float ? 0u : CU_TRSF_READ_AS_INTEGER) | (host->srgb ? CU_TRSF_SRGB : 0u) |
                 (host->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0u),
        .anisotropy = host->anisotropy,
        .mip_filter = host->mip_filter,
        .bias = host->bias,
        .low = host->low,
        .high = host->high,
    };
    memcpy(r->how.address, host->address, sizeof r->how.address);
    *out = r;
    return cudaSuccess;
}

/* Format and channels of a cudaChannelFormatDesc. */
static bool element(struct cumu_binding *to, const int *channel)
{
    static const struct {
        int bits, kind, format;
    } formats[] = {
        {8, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT8},
        {16, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT16},
        {32, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT32},
        {8, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT8},
        {16, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT16},
        {32, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT32},
        {16, cudaChannelFormatKindFloat, CU_AD_FORMAT_HALF},
        {32, cudaChannelFormatKindFloat, CU_AD_FORMAT_FLOAT},
    };
    to->channels = 1;
    while (to->channels < 4 && channel[to->channels] == channel[0])
        to->channels++;
    for (unsigned k = to->channels; k < 4; k++)
        if (channel[k])
            return false;
    for (unsigned k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].bits == channel[0] && formats[k].kind == channel[4]) {
            to->format = formats[k].format;
            return true;
        }
    return false;
}

static cudaError_t bind(const void *host, struct cumu_binding *to)
{
    struct cumu_reference *r;
    cudaError_t err = texture(host, &r);
    if (!err)
        err = cumu_reference_bind(r, to);
    return CUMU_RT(err);
}

/* The size may be "all there is" (UINT_MAX, SIZE_MAX): to the end of the allocation. */
cudaError_t wrap_cudaBindTexture(size_t *offset, const void *ref, const void *p, const void *desc, size_t size)
{
    struct cumu_binding to = {.type = MU_RESOURCE_TYPE_LINEAR, .address = (uintptr_t)p, .size = size};
    MUdeviceptr base;
    size_t bytes;
    if (!ref || !p || !desc)
        return CUMU_BAD_ARG;
    if (!element(&to, desc))
        return CUMU_RT(cudaErrorInvalidChannelDescriptor);
    if (mu.muMemGetAddressRange_v2(&base, &bytes, to.address) == MUSA_SUCCESS && bytes - (to.address - base) < size)
        to.size = bytes - (to.address - base);
    cudaError_t err = bind(ref, &to);
    if (!err && offset)
        *offset = 0; /* every element's address will do */
    return err;
}

cudaError_t wrap_cudaBindTexture2D(size_t *offset, const void *ref, const void *p, const void *desc, size_t width,
                                   size_t height, size_t pitch)
{
    struct cumu_binding to = {
        .type = MU_RESOURCE_TYPE_PITCH2D, .address = (uintptr_t)p, .width = width, .height = height, .pitch = pitch};
    if (!ref || !p || !desc)
        return CUMU_BAD_ARG;
    if (!element(&to, desc))
        return CUMU_RT(cudaErrorInvalidChannelDescriptor);
    cudaError_t err = bind(ref, &to);
    if (!err && offset)
        *offset = 0;
    return err;
}

cudaError_t wrap_cudaBindTextureToArray(const void *ref, void *array, const void *desc)
{
    struct cumu_binding to = {.type = MU_RESOURCE_TYPE_ARRAY, .array = array};
    if (!ref || !array || !desc)
        return CUMU_BAD_ARG;
    return element(&to, desc) ? bind(ref, &to) : CUMU_RT(cudaErrorInvalidChannelDescriptor);
}

cudaError_t wrap_cudaBindTextureToMipmappedArray(const void *ref, void *mipmap, const void *desc)
{
    struct cumu_binding to = {.type = MU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .mipmap = mipmap};
    if (!ref || !mipmap || !desc)
        return CUMU_BAD_ARG;
    return element(&to, desc) ? bind(ref, &to) : CUMU_RT(cudaErrorInvalidChannelDescriptor);
}

cudaError_t wrap_cudaUnbindTexture(const void *ref)
{
    struct cumu_binding to = {.type = CUMU_UNBOUND, .format = CU_AD_FORMAT_FLOAT, .channels = 1};
    struct cumu_reference *r;
    cudaError_t err = ref ? texture(ref, &r) : cudaErrorInvalidTexture;
    return CUMU_RT(err ? err : cumu_reference_bind(r, &to));
}

cudaError_t wrap_cudaGetTextureAlignmentOffset(size_t *offset, const void *ref)
{
    struct cumu_reference *r;
    bool as_float;
    if (!offset)
        return CUMU_BAD_ARG;
    int err = cumu_host_reference(ref, false, &r, &as_float);
    if (err)
        return CUMU_RT(err == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidTexture : err);
    if (r->to.type == CUMU_UNBOUND)
        return CUMU_RT(cudaErrorInvalidTextureBinding);
    *offset = 0;
    return cudaSuccess;
}

cudaError_t wrap_cudaGetTextureReference(const void **ref, const void *symbol)
{
    struct cumu_reference *r;
    bool as_float;
    if (!ref)
        return CUMU_BAD_ARG;
    int err = cumu_host_reference(symbol, false, &r, &as_float);
    if (err)
        return CUMU_RT(err == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidTexture : err);
    *ref = symbol; /* the program's variable is the reference */
    return cudaSuccess;
}

/* ---- surfaces ------------------------------------------------------------------------------- */

cudaError_t wrap_cudaBindSurfaceToArray(const void *ref, void *array, const void *desc)
{
    struct cumu_binding to = {.type = MU_RESOURCE_TYPE_ARRAY, .array = array};
    struct cumu_reference *r;
    bool as_float;
    if (!ref || !array || !desc)
        return CUMU_BAD_ARG;
    int err = cumu_host_reference(ref, true, &r, &as_float);
    if (err)
        return CUMU_RT(err == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSurface : err);
    return CUMU_RT(cumu_reference_bind(r, &to));
}

cudaError_t wrap_cudaGetSurfaceReference(const void **ref, const void *symbol)
{
    struct cumu_reference *r;
    bool as_float;
    if (!ref)
        return CUMU_BAD_ARG;
    int err = cumu_host_reference(symbol, true, &r, &as_float);
    if (err)
        return CUMU_RT(err == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSurface : err);
    *ref = symbol;
    return cudaSuccess;
}
