/* The launch interface of CUDA 3: block shape, parameters and shared memory are state of the function. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

enum { PARAMETERS = 4096 };

struct cumu_old_launch {
    unsigned block[3], shared, size;
    unsigned char param[PARAMETERS];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult state(CUfunction function, struct cumu_old_launch **out)
{
    struct cumu_func *f = cumu_as_func(function);
    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    struct cumu_old_launch **at = cumu_func_old_launch(f);
    if (!*at)
        *at = calloc(1, sizeof **at);
    *out = *at;
    pthread_mutex_unlock(&lock);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult wrap_cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
    struct cumu_old_launch *s;
    CUresult err = state(function, &s);
    if (!err && (x <= 0 || y <= 0 || z <= 0))
        err = CUDA_ERROR_INVALID_VALUE;
    if (!err)
        memcpy(s->block, (unsigned[]){(unsigned)x, (unsigned)y, (unsigned)z}, sizeof s->block);
    return err;
}

CUresult wrap_cuFuncSetSharedSize(CUfunction function, unsigned bytes)
{
    struct cumu_old_launch *s;
    CUresult err = state(function, &s);
    if (!err)
        s->shared = bytes;
    return err;
}

CUresult wrap_cuParamSetSize(CUfunction function, unsigned bytes)
{
    struct cumu_old_launch *s;
    CUresult err = state(function, &s);
    if (!err && bytes > PARAMETERS)
        err = CUDA_ERROR_INVALID_VALUE;
    if (!err)
        s->size = bytes;
    return err;
}

CUresult wrap_cuParamSetv(CUfunction function, int offset, void *p, unsigned bytes)
{
    struct cumu_old_launch *s;
    CUresult err = state(function, &s);
    if (!err && (!p || offset < 0 || offset > PARAMETERS || bytes > PARAMETERS - (unsigned)offset))
        err = CUDA_ERROR_INVALID_VALUE;
    if (!err)
        memcpy(s->param + offset, p, bytes);
    return err;
}

CUresult wrap_cuParamSeti(CUfunction function, int offset, unsigned value)
{
    return wrap_cuParamSetv(function, offset, &value, sizeof value);
}

CUresult wrap_cuParamSetf(CUfunction function, int offset, float value)
{
    return wrap_cuParamSetv(function, offset, &value, sizeof value);
}

CUresult wrap_cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
    struct cumu_old_launch *s;
    CUresult err = state(function, &s);
    if (!err && (width <= 0 || height <= 0 || !s->block[0]))
        err = CUDA_ERROR_INVALID_VALUE;
    if (err)
        return err;
    struct cumu_launch l = {.grid = {(unsigned)width, (unsigned)height, 1},
                            .block = {s->block[0], s->block[1], s->block[2]},
                            .shared = s->shared,
                            .stream = stream};
    size_t size = s->size;
    void *extra[] = {CUMU_LAUNCH_PARAM_BUFFER_POINTER, s->param, CUMU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CUMU_LAUNCH_PARAM_END};
    return cumu_launch(cumu_as_func(function), &l, NULL, extra);
}

CUresult wrap_cuLaunchGrid(CUfunction function, int width, int height)
{
    return wrap_cuLaunchGridAsync(function, width, height, NULL);
}

CUresult wrap_cuLaunch(CUfunction function) { return wrap_cuLaunchGridAsync(function, 1, 1, NULL); }
