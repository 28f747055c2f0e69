/* Kernel launches of the driver API. */
#include "api/api.h"

static CUresult launch(CUfunction function, const struct cumu_launch *l, void **args, void **extra)
{
    struct cumu_func *f = cumu_as_func(function);
    return f ? cumu_launch(f, l, args, extra) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult wrap_cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                             unsigned bz, unsigned shared, CUstream stream, void **args, void **extra)
{
    struct cumu_launch l = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .stream = stream};
    return launch(function, &l, args, extra);
}

CUresult wrap_cuLaunchKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned shared, CUstream stream, void **args, void **extra)
{
    return wrap_cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, cumu_ptsz(stream), args, extra);
}

CUresult wrap_cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void **args)
{
    struct cumu_launch l = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .stream = stream, .cooperative = true};
    return launch(function, &l, args, NULL);
}

CUresult wrap_cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                             unsigned by, unsigned bz, unsigned shared, CUstream stream, void **args)
{
    return wrap_cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz, shared, cumu_ptsz(stream), args);
}

static CUresult launch_config(const CUlaunchConfig *c, CUfunction function, void **args, void **extra, CUstream stream)
{
    struct cumu_launch l = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                            .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                            .shared = c->sharedMemBytes,
                            .stream = stream};
    int err = cumu_launch_attributes(&l, c->attrs, c->numAttrs);
    return err ? err : launch(function, &l, args, extra);
}

CUresult wrap_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **args, void **extra)
{
    return config ? launch_config(config, function, args, extra, config->hStream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult wrap_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **args, void **extra)
{
    return config ? launch_config(config, function, args, extra, cumu_ptsz(config->hStream)) : CUDA_ERROR_INVALID_VALUE;
}
