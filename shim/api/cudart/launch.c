/* Kernel launches of the runtime API. */
#include "api/api.h"

/* The driver answers every bad launch with INVALID_VALUE; the runtime tells a configuration that can
 * never run from the rest. Asked only after a failure. */
static cudaError_t refine(const struct cumu_launch *l)
{
    static const int limits[6] = {cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ,
                                  cudaDevAttrMaxGridDimX,  cudaDevAttrMaxGridDimY,  cudaDevAttrMaxGridDimZ};
    const unsigned dims[6] = {l->block.x, l->block.y, l->block.z, l->grid.x, l->grid.y, l->grid.z};
    int device = 0, limit;
    if (mu.musaGetDevice(&device) != musaSuccess)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < 6; i++) {
        limit = 0;
        if (dims[i] == 0 || (mu.musaDeviceGetAttribute(&limit, limits[i], device) == musaSuccess && limit > 0 &&
                             dims[i] > (unsigned)limit))
            return cudaErrorInvalidConfiguration;
    }
    limit = 0;
    uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    if (mu.musaDeviceGetAttribute(&limit, cudaDevAttrMaxThreadsPerBlock, device) == musaSuccess && limit > 0 &&
        threads > (uint64_t)limit)
        return cudaErrorInvalidConfiguration;
    return cudaErrorInvalidValue;
}

cudaError_t cumu_rt_launch(const void *kernel, const struct cumu_launch *l, void **args)
{
    struct cumu_func *f = cumu_kernel_of(kernel);
    if (!f)
        return CUMU_RT(cudaErrorInvalidDeviceFunction);
    int err = cumu_launch(f, l, args, NULL);
    if (err == CUDA_SUCCESS)
        return cudaSuccess;
    if (err == CUDA_ERROR_INVALID_VALUE)
        err = refine(l);
    return CUMU_RT(err);
}

cudaError_t wrap_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                  cudaStream_t stream)
{
    struct cumu_launch l = {.grid = grid, .block = block, .shared = shared, .stream = stream};
    return cumu_rt_launch(kernel, &l, args);
}

cudaError_t wrap_cudaLaunchKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                       cudaStream_t stream)
{
    return wrap_cudaLaunchKernel(kernel, grid, block, args, shared, cumu_ptsz(stream));
}

cudaError_t wrap___cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                    cudaStream_t stream)
{
    return wrap_cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

cudaError_t wrap___cudaLaunchKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                         cudaStream_t stream)
{
    return wrap_cudaLaunchKernel(kernel, grid, block, args, shared, cumu_ptsz(stream));
}

cudaError_t wrap_cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                             cudaStream_t stream)
{
    struct cumu_launch l = {.grid = grid, .block = block, .shared = shared, .stream = stream, .cooperative = true};
    return cumu_rt_launch(kernel, &l, args);
}

cudaError_t wrap_cudaLaunchCooperativeKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                                  cudaStream_t stream)
{
    return wrap_cudaLaunchCooperativeKernel(kernel, grid, block, args, shared, cumu_ptsz(stream));
}

static cudaError_t launch_config(const cudaLaunchConfig_t *c, const void *kernel, void **args, cudaStream_t stream)
{
    struct cumu_launch l = {.grid = c->gridDim, .block = c->blockDim, .shared = c->dynamicSmemBytes, .stream = stream};
    int err = cumu_launch_attributes(&l, c->attrs, c->numAttrs);
    return err ? CUMU_RT(err) : cumu_rt_launch(kernel, &l, args);
}

cudaError_t wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **args)
{
    return config ? launch_config(config, kernel, args, config->stream) : CUMU_BAD_ARG;
}

cudaError_t wrap_cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *kernel, void **args)
{
    return config ? launch_config(config, kernel, args, cumu_ptsz(config->stream)) : CUMU_BAD_ARG;
}

cudaError_t wrap_cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    if (!kernel)
        return CUMU_BAD_ARG;
    struct cumu_func *f = cumu_kernel_of(host);
    if (!f)
        return CUMU_RT(cudaErrorInvalidDeviceFunction);
    *kernel = f;
    return cudaSuccess;
}

cudaError_t wrap_cudaGetFuncBySymbol(cudaFunction_t *function, const void *host)
{
    return wrap_cudaGetKernel(function, host);
}

/* CUDA 13.2: with a word on how the host waits, which is the library's own business here. */
enum { HOST_TASK_MODES = 2 };

cudaError_t wrap_cudaLaunchHostFunc_v2(cudaStream_t stream, void *fn, void *data, unsigned mode)
{
    return mode < HOST_TASK_MODES ? mu.musaLaunchHostFunc((musaStream_t)stream, fn, data) : CUMU_BAD_ARG;
}

cudaError_t wrap_cudaLaunchHostFunc_v2_ptsz(cudaStream_t stream, void *fn, void *data, unsigned mode)
{
    return wrap_cudaLaunchHostFunc_v2(cumu_ptsz(stream), fn, data, mode);
}
