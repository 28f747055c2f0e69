/* Devices, contexts and versions of the driver API. */
#include "api/api.h"
#include "api/release.h"

CUresult wrap_cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = cumu_driver_version();
    return CUDA_SUCCESS;
}

CUresult wrap_cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    return cumu_device_attribute(value, attribute, device);
}

CUresult wrap_cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    int err = cumu_device_attribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    return err ? err : cumu_device_attribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

/* CUdevprop: ten integers, the oldest form of device properties. */
CUresult wrap_cuDeviceGetProperties(void *out, CUdevice device)
{
    static const int attribute[10] = {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,       CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, CU_DEVICE_ATTRIBUTE_WARP_SIZE};
    struct {
        int value[10], mem_pitch, regs_per_block, clock_rate, texture_align;
    } *p = out;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    int err = CUDA_SUCCESS;
    for (unsigned i = 0; i < 10 && !err; i++)
        err = cumu_device_attribute(&p->value[i], attribute[i], device);
    if (!err)
        err = cumu_device_attribute(&p->mem_pitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH, device);
    if (!err)
        err = cumu_device_attribute(&p->regs_per_block, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, device);
    if (!err)
        err = cumu_device_attribute(&p->clock_rate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
    if (!err)
        err = cumu_device_attribute(&p->texture_align, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, device);
    return err;
}

/* ---- contexts: kernels and variables go with them ------------------------------------------- */

CUresult wrap_cuCtxDestroy_v2(CUcontext ctx)
{
    int err = mu.muCtxDestroy((MUcontext)ctx);
    if (!err)
        cumu_context_gone((MUcontext)ctx, -1);
    return err;
}

CUresult wrap_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    int err = mu.muDevicePrimaryCtxReset(device);
    if (!err)
        cumu_context_gone(NULL, device);
    return err;
}

CUresult wrap_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    unsigned flags;
    int active = 1;
    int err = mu.muDevicePrimaryCtxRelease(device);
    if (!err && mu.muDevicePrimaryCtxGetState(device, &flags, &active) == MUSA_SUCCESS && !active)
        cumu_context_gone(NULL, device);
    return err;
}

/* Execution affinity and CIG parameters have no MUSA peer; the context itself has. */
CUresult wrap_cuCtxCreate_v3(CUcontext *ctx, void *params, int count, unsigned flags, CUdevice device)
{
    (void)params;
    if (count)
        cumu_gap("cuda", "cuCtxCreate_v3", "execution affinity is ignored");
    return mu.muCtxCreate((MUcontext *)ctx, flags, device);
}

CUresult wrap_cuCtxCreate_v4(CUcontext *ctx, void *params, unsigned flags, CUdevice device)
{
    const struct {
        void *affinity;
        int affinity_count;
        void *cig;
    } *p = params;
    if (p && (p->affinity_count || p->cig))
        cumu_gap("cuda", "cuCtxCreate_v4", "execution affinity and graphics sharing are ignored");
    return mu.muCtxCreate((MUcontext *)ctx, flags, device);
}

/* The newer forms name the context; NULL is the current one. */
static CUresult in_context(CUcontext ctx, MUcontext *restore)
{
    *restore = NULL;
    if (!ctx)
        return CUDA_SUCCESS;
    int err = mu.muCtxGetCurrent(restore);
    return err ? err : mu.muCtxSetCurrent((MUcontext)ctx);
}

CUresult wrap_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    MUcontext restore;
    CUresult err = in_context(ctx, &restore);
    if (!err)
        err = mu.muCtxGetDevice(device);
    if (ctx)
        mu.muCtxSetCurrent(restore);
    return err;
}

CUresult wrap_cuCtxSynchronize_v2(CUcontext ctx)
{
    MUcontext restore;
    CUresult err = in_context(ctx, &restore);
    if (!err)
        err = mu.muCtxSynchronize();
    if (ctx)
        mu.muCtxSetCurrent(restore);
    return err;
}
