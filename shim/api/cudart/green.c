/* Execution contexts of CUDA 13: green contexts and the devices' own. */
#include "api/green.h"

#define GREEN(g, p) \
    struct cumu_green *g = cumu_as_green(p); \
    if (!g) \
    return CUMU_RT(cudaErrorInvalidResourceHandle)

cudaError_t wrap_cudaDeviceGetDevResource(int device, void *resource, int type)
{
    return CUMU_RT(cumu_resource_of_device(device, resource, type));
}

cudaError_t wrap_cudaDevSmResourceSplitByCount(void *result, unsigned *groups, const void *in, void *rest,
                                               unsigned flags, unsigned least)
{
    return CUMU_RT(cumu_resource_split_by_count(result, groups, in, rest, flags, least));
}

cudaError_t wrap_cudaDevSmResourceSplit(void *result, unsigned n, const void *in, void *rest, unsigned flags,
                                        void *groups)
{
    return CUMU_RT(cumu_resource_split(result, n, in, rest, flags, groups));
}

cudaError_t wrap_cudaDevResourceGenerateDesc(void **desc, void *resources, unsigned n)
{
    return CUMU_RT(cumu_resource_describe(desc, resources, n));
}

cudaError_t wrap_cudaGreenCtxCreate(void **ctx, void *desc, int device, unsigned flags)
{
    return CUMU_RT(flags ? CUDA_ERROR_INVALID_VALUE : cumu_green_create(ctx, desc, device, 1));
}

cudaError_t wrap_cudaDeviceGetExecutionCtx(void **ctx, int device)
{
    return CUMU_RT(cumu_green_of_device(ctx, device));
}

cudaError_t wrap_cudaExecutionCtxDestroy(void *ctx)
{
    GREEN(g, ctx);
    return CUMU_RT(cumu_green_destroy(g));
}

cudaError_t wrap_cudaExecutionCtxGetDevResource(void *ctx, void *resource, int type)
{
    GREEN(g, ctx);
    return CUMU_RT(cumu_green_resource(g, resource, type));
}

cudaError_t wrap_cudaExecutionCtxGetDevice(int *device, void *ctx)
{
    GREEN(g, ctx);
    if (!device)
        return CUMU_BAD_ARG;
    *device = cumu_green_device(g);
    return cudaSuccess;
}

cudaError_t wrap_cudaExecutionCtxGetId(void *ctx, unsigned long long *id)
{
    GREEN(g, ctx);
    if (!id)
        return CUMU_BAD_ARG;
    *id = cumu_green_id(g);
    return cudaSuccess;
}

cudaError_t wrap_cudaExecutionCtxStreamCreate(CUstream *stream, void *ctx, unsigned flags, int priority)
{
    GREEN(g, ctx);
    return CUMU_RT(cumu_green_stream(g, (MUstream *)stream, flags ? flags : 1, priority));
}

static cudaError_t with_context(void *ctx, MUevent event, int (*what)(MUcontext, MUevent))
{
    MUcontext in;
    GREEN(g, ctx);
    int err = cumu_green_context(g, &in);
    return CUMU_RT(err ? err : what(in, event));
}

static int synchronize(MUcontext ctx, MUevent event)
{
    (void)event;
    return cumu_context_synchronize(ctx);
}

cudaError_t wrap_cudaExecutionCtxSynchronize(void *ctx) { return with_context(ctx, NULL, synchronize); }

cudaError_t wrap_cudaExecutionCtxRecordEvent(void *ctx, CUevent event)
{
    return with_context(ctx, (MUevent)event, cumu_context_record);
}

cudaError_t wrap_cudaExecutionCtxWaitEvent(void *ctx, CUevent event)
{
    return with_context(ctx, (MUevent)event, cumu_context_wait);
}

cudaError_t wrap_cudaStreamGetDevResource(CUstream stream, void *resource, int type)
{
    struct cumu_green *g = cumu_green_of_stream(stream);
    int device = 0;
    if (g)
        return CUMU_RT(cumu_green_resource(g, resource, type));
    int err = mu.musaStreamGetDevice((MUstream)stream, &device);
    return err ? err : CUMU_RT(cumu_resource_of_device(device, resource, type));
}

cudaError_t wrap_cudaStreamGetDevResource_ptsz(CUstream stream, void *resource, int type)
{
    return wrap_cudaStreamGetDevResource(cumu_ptsz(stream), resource, type);
}
