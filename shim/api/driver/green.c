/* cuGreenCtx*, cuDevResource* and what tells of them. */
#include "api/green.h"

#define GREEN(g, p) \
    struct cumu_green *g = cumu_as_green(p); \
    if (!g) \
    return CUDA_ERROR_INVALID_CONTEXT

CUresult wrap_cuDeviceGetDevResource(CUdevice device, void *resource, int type)
{
    return cumu_resource_of_device(device, resource, type);
}

/* The current context where none is named. */
static CUresult context(CUcontext ctx, MUcontext *out)
{
    *out = (MUcontext)ctx;
    int err = ctx ? CUDA_SUCCESS : mu.muCtxGetCurrent(out);
    return err ? err : *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult device_of(MUcontext ctx, int *device)
{
    MUcontext before = NULL;
    int err = mu.muCtxGetCurrent(&before);
    if (!err && before != ctx)
        err = mu.muCtxSetCurrent(ctx);
    if (err)
        return err;
    err = mu.muCtxGetDevice(device);
    if (before != ctx)
        mu.muCtxSetCurrent(before);
    return err;
}

CUresult wrap_cuCtxGetDevResource(CUcontext ctx, void *resource, int type)
{
    MUcontext in;
    int device = 0;
    CUresult err = context(ctx, &in);
    if (!err)
        err = device_of(in, &device);
    return err ? err : cumu_resource_of_device(device, resource, type);
}

CUresult wrap_cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
    MUcontext in;
    CUresult err = context(ctx, &in);
    return err ? err : cumu_context_record(in, (MUevent)event);
}

CUresult wrap_cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
    MUcontext in;
    CUresult err = context(ctx, &in);
    return err ? err : cumu_context_wait(in, (MUevent)event);
}

CUresult wrap_cuDevSmResourceSplitByCount(void *result, unsigned *groups, const void *in, void *rest, unsigned flags,
                                          unsigned least)
{
    return cumu_resource_split_by_count(result, groups, in, rest, flags, least);
}

CUresult wrap_cuDevResourceGenerateDesc(void **desc, void *resources, unsigned n)
{
    return cumu_resource_describe(desc, resources, n);
}

CUresult wrap_cuGreenCtxCreate(void **green, void *desc, CUdevice device, unsigned flags)
{
    return cumu_green_create(green, desc, device, flags);
}

CUresult wrap_cuGreenCtxDestroy(void *green)
{
    GREEN(g, green);
    return cumu_green_destroy(g);
}

CUresult wrap_cuGreenCtxGetDevResource(void *green, void *resource, int type)
{
    GREEN(g, green);
    return cumu_green_resource(g, resource, type);
}

CUresult wrap_cuGreenCtxGetId(void *green, unsigned long long *id)
{
    GREEN(g, green);
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = cumu_green_id(g);
    return CUDA_SUCCESS;
}

CUresult wrap_cuCtxFromGreenCtx(CUcontext *ctx, void *green)
{
    GREEN(g, green);
    return ctx ? cumu_green_context(g, (MUcontext *)ctx) : CUDA_ERROR_INVALID_VALUE;
}

CUresult wrap_cuGreenCtxRecordEvent(void *green, CUevent event)
{
    MUcontext ctx;
    GREEN(g, green);
    CUresult err = cumu_green_context(g, &ctx);
    return err ? err : cumu_context_record(ctx, (MUevent)event);
}

CUresult wrap_cuGreenCtxWaitEvent(void *green, CUevent event)
{
    MUcontext ctx;
    GREEN(g, green);
    CUresult err = cumu_green_context(g, &ctx);
    return err ? err : cumu_context_wait(ctx, (MUevent)event);
}

CUresult wrap_cuGreenCtxStreamCreate(CUstream *stream, void *green, unsigned flags, int priority)
{
    GREEN(g, green);
    return cumu_green_stream(g, (MUstream *)stream, flags, priority);
}

/* ---- of a stream ---------------------------------------------------------------------------- */

CUresult wrap_cuStreamGetGreenCtx(CUstream stream, void **green)
{
    MUcontext ctx;
    if (!green)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muStreamGetCtx((MUstream)stream, &ctx);
    if (!err)
        *green = cumu_green_of_stream(stream);
    return err;
}

CUresult wrap_cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx, void **green)
{
    MUcontext of = NULL;
    if (!ctx || !green)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muStreamGetCtx((MUstream)stream, &of);
    if (err)
        return err;
    *ctx = (CUcontext)of;
    *green = cumu_green_of_stream(stream);
    return CUDA_SUCCESS;
}

CUresult wrap_cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext *ctx, void **green)
{
    return wrap_cuStreamGetCtx_v2(cumu_ptsz(stream), ctx, green);
}

CUresult wrap_cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    MUcontext of = NULL;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muStreamGetCtx((MUstream)stream, &of);
    return err ? err : device_of(of, device);
}

CUresult wrap_cuStreamGetDevice_ptsz(CUstream stream, CUdevice *device)
{
    return wrap_cuStreamGetDevice(cumu_ptsz(stream), device);
}
