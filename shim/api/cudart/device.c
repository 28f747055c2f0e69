/* Devices of the runtime API: properties in three layouts, attributes, versions, reset. */
#include <string.h>

#include "api/api.h"
#include "api/cudart/release.h"
#include "api/release.h"
#include "api/visit.h"
#include "cuda_structs.h"

/* Where a property lies in each version's struct; NOWHERE: the version lacks it. */
#define NOWHERE 0xffff
#define IN(version, field) offsetof(struct cumu_cudaDeviceProp_##version, field)
#define WIDTH(version, field) sizeof(((struct cumu_cudaDeviceProp_##version *)0)->field)
#define ALL(field, attr) {attr, WIDTH(v13, field), {IN(v11, field), IN(v12, field), IN(v13, field)}},
#define OLD(field, attr) {attr, WIDTH(v12, field), {IN(v11, field), IN(v12, field), NOWHERE}},
#define NEW(field, attr) {attr, WIDTH(v13, field), {NOWHERE, IN(v12, field), IN(v13, field)}},
#define V13(field, attr) {attr, WIDTH(v13, field), {NOWHERE, NOWHERE, IN(v13, field)}},

static const struct prop {
    uint16_t attribute, width, offset[3];
} props[] = {
#include "api/cudart/device_prop.def"
};

/* A device call below that also starts the driver, as every runtime call does. */
static cudaError_t device_of(int ordinal, MUdevice *device)
{
    int count = 0;
    int err = mu.musaGetDeviceCount(&count);
    if (err)
        return err;
    if (ordinal < 0 || ordinal >= count)
        return CUMU_RT(cudaErrorInvalidDevice);
    return CUMU_RT(mu.muDeviceGet(device, ordinal));
}

/* Fills cudaDeviceProp in the layout of the caller's version from single attributes: the layout of MUSA's own struct
 * changed between SDKs and is not known for the later ones (mapping/facts/musa.md S1), attributes are CUDA's
 * numbers. */
static cudaError_t properties(void *out, size_t size, unsigned version, int ordinal)
{
    /* name, uuid and totalGlobalMem lie at the same offsets in all layouts. */
    struct cumu_cudaDeviceProp_v12 head;
    char buf[1032];
    MUdevice device;
    if (!out)
        return CUMU_BAD_ARG;
    cudaError_t err = device_of(ordinal, &device);
    if (err)
        return err;
    memset(buf, 0, sizeof buf);
    memset(&head, 0, sizeof head);
    err = mu.muDeviceGetName(head.name, sizeof head.name, device);
    if (!err)
        err = mu.muDeviceTotalMem_v2(&head.totalGlobalMem, device);
    if (err)
        return CUMU_RT(err);
    MUuuid uuid;
    if (mu.muDeviceGetUuid(&uuid, device) == MUSA_SUCCESS)
        memcpy(head.uuid, uuid.bytes, sizeof head.uuid);
    memcpy(buf, &head, offsetof(struct cumu_cudaDeviceProp_v12, sharedMemPerBlock));
    for (unsigned i = 0; i < sizeof props / sizeof *props; i++) {
        const struct prop *p = &props[i];
        int value = 0;
        if (p->offset[version] == NOWHERE)
            continue;
        err = cumu_device_attribute(&value, p->attribute, device);
        if (err)
            return CUMU_RT(err);
        size_t wide = (size_t)(unsigned)value;
        memcpy(buf + p->offset[version], p->width == sizeof wide ? (void *)&wide : (void *)&value, p->width);
    }
    memcpy(out, buf, size);
    return cudaSuccess;
}

cudaError_t wrap_cudaGetDeviceProperties(void *out, int device)
{
    return properties(out, sizeof(struct cumu_cudaDeviceProp_v13), 2, device);
}

cudaError_t wrap_cudaGetDeviceProperties_v2(void *out, int device)
{
    return properties(out, sizeof(struct cumu_cudaDeviceProp_v12), 1, device);
}

/* libcudart.so.11.0, and the plain name that libcudart.so.12 keeps for old callers. */
cudaError_t wrap_cudaGetDeviceProperties_v11(void *out, int device)
{
    return properties(out, sizeof(struct cumu_cudaDeviceProp_v11), 0, device);
}

cudaError_t wrap_cudaDeviceGetAttribute(int *value, int attribute, int ordinal)
{
    MUdevice device;
    cudaError_t err = device_of(ordinal, &device);
    return err ? err : CUMU_RT(cumu_device_attribute(value, attribute, device));
}

/* All devices below are of one kind: the first one fits whatever is asked for. */
cudaError_t wrap_cudaChooseDevice(int *device, const void *wanted)
{
    MUdevice first;
    if (!device || !wanted)
        return CUMU_BAD_ARG;
    cudaError_t err = device_of(0, &first);
    if (!err)
        *device = 0;
    return err;
}

cudaError_t wrap_cudaInitDevice(int ordinal, unsigned device_flags, unsigned flags)
{
    struct cumu_visit visit;
    (void)device_flags, (void)flags;
    cudaError_t err = cumu_visit(&visit, ordinal);
    if (!err)
        err = mu.musaFree(NULL);
    cumu_visit_end(&visit);
    return err;
}

cudaError_t wrap_cudaDeviceReset(void)
{
    int device = 0;
    cudaError_t err = mu.musaGetDevice(&device);
    if (!err)
        err = mu.musaDeviceReset();
    if (!err)
        cumu_context_gone(NULL, device);
    return err;
}

/* ---- versions ------------------------------------------------------------------------------- */

static cudaError_t version(int *out, int value)
{
    if (!out)
        return CUMU_BAD_ARG;
    *out = value;
    return cudaSuccess;
}

cudaError_t wrap_cudaRuntimeGetVersion(int *out) { return version(out, cumu_runtime_release(CUMU_CUDART_13)); }

cudaError_t wrap_cudaRuntimeGetVersion_v12(int *out) { return version(out, cumu_runtime_release(CUMU_CUDART_12)); }

cudaError_t wrap_cudaRuntimeGetVersion_v11(int *out) { return version(out, cumu_runtime_release(CUMU_CUDART_11)); }

cudaError_t wrap_cudaDriverGetVersion(int *out) { return version(out, cumu_driver_version()); }

/* ---- what is left of CUDA's first years ------------------------------------------------------ */

/* Devices have doubles since compute capability 1.3: nothing is to be converted. */
cudaError_t wrap_cudaSetDoubleForDevice(double *d) { return d ? cudaSuccess : CUMU_BAD_ARG; }

cudaError_t wrap_cudaSetDoubleForHost(double *d) { return d ? cudaSuccess : CUMU_BAD_ARG; }

/* Set-up of the profiler that CUDA 11 still had; there is none to set up. */
cudaError_t wrap_cudaProfilerInitialize(const char *config, const char *output, int mode)
{
    return config && output && (mode == 0 || mode == 1) ? cudaSuccess : CUMU_BAD_ARG;
}
