/* Contexts beyond what MUSA tells of them: ids, flags after creation, execution affinity. */
#include "api/api.h"
#include "core/ids.h"

CUresult wrap_cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
    MUcontext of = (MUcontext)ctx;
    unsigned version;
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    int err = of ? CUDA_SUCCESS : mu.muCtxGetCurrent(&of);
    if (!err && !of)
        err = CUDA_ERROR_INVALID_CONTEXT;
    if (!err)
        err = mu.muCtxGetApiVersion(of, &version); /* is it one? */
    if (err)
        return err;
    *id = cumu_id_of(of);
    return *id ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* MUSA sets the flags of primary contexts only. */
CUresult wrap_cuCtxSetFlags(unsigned flags)
{
    MUcontext ctx = NULL, primary = NULL;
    MUdevice device = 0;
    unsigned now = 0;
    int active = 0;
    int err = mu.muCtxGetFlags(&now);
    if (!err)
        err = mu.muCtxGetDevice(&device);
    if (!err)
        err = mu.muCtxGetCurrent(&ctx);
    if (err || flags == now)
        return err;
    if (mu.muDevicePrimaryCtxGetState(device, &now, &active) == MUSA_SUCCESS && active &&
        mu.muDevicePrimaryCtxRetain(&primary, device) == MUSA_SUCCESS)
        mu.muDevicePrimaryCtxRelease(device);
    if (primary == ctx)
        return mu.muDevicePrimaryCtxSetFlags(device, flags);
    cumu_gap("cuda", "cuCtxSetFlags", "MUSA changes the flags of primary contexts only");
    return flags > 0xff ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}

enum { SM_COUNT, AFFINITIES };

/* A share of the multiprocessors cannot be asked for. */
CUresult wrap_cuDeviceGetExecAffinitySupport(int *supported, int type, CUdevice device)
{
    int count;
    if (!supported || type < 0 || type >= AFFINITIES)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (!err)
        *supported = 0;
    return err;
}

CUresult wrap_cuCtxGetExecAffinity(void *param, int type)
{
    struct {
        int type;
        unsigned count;
    } *p = param;
    MUdevice device = 0;
    int count = 0;
    if (!param || type < 0 || type >= AFFINITIES)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muCtxGetDevice(&device);
    if (!err)
        err = mu.muDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (err)
        return err;
    p->type = type;
    p->count = (unsigned)count;
    return CUDA_SUCCESS;
}
