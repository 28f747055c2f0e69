/* Texture calls whose structs grew between CUDA 11 and 13. */
#include <string.h>

#include "api/api.h"

/* CUDA 12's texture descriptor is MUSA's second one. The first call below is in every MUSA; the
 * second is asked for only by whom it makes a difference. */
cudaError_t wrap_cudaCreateTextureObject(unsigned long long *tex, const void *res, const void *desc, const void *view)
{
    const musaTextureDesc_v2 *d = desc;
    if (d && d->seamlessCubemap)
        return mu.musaCreateTextureObject_v2(tex, res, d, view);
    return mu.musaCreateTextureObject(tex, res, d ? &d->v1 : NULL, view);
}

cudaError_t wrap_cudaGetTextureObjectTextureDesc(void *desc, unsigned long long tex)
{
    musaTextureDesc_v2 d;
    if (!desc)
        return CUMU_BAD_ARG;
    memset(&d, 0, sizeof d);
    int err = mu.musaGetTextureObjectTextureDesc_v2(&d, tex);
    if (err == musaErrorNotSupported) { /* a MUSA without it has no such cubemaps */
        mu.musaGetLastError();
        err = mu.musaGetTextureObjectTextureDesc(&d.v1, tex);
    }
    if (!err)
        memcpy(desc, &d, sizeof d);
    return err;
}

/* ---- CUDA 13: room behind MUSA's struct, which reads as zero --------------------------------- */

static void extend(void *to, const void *from, size_t size, size_t room)
{
    memset(to, 0, room);
    memcpy(to, from, size);
}

cudaError_t wrap_cudaGetTextureObjectResourceDesc(void *res, unsigned long long tex)
{
    musaResourceDesc d;
    if (!res)
        return CUMU_BAD_ARG;
    int err = mu.musaGetTextureObjectResourceDesc(&d, tex);
    if (!err)
        extend(res, &d, sizeof d, CUMU_RESOURCE_DESC_V13);
    return err;
}

cudaError_t wrap_cudaGetSurfaceObjectResourceDesc(void *res, unsigned long long surf)
{
    musaResourceDesc d;
    if (!res)
        return CUMU_BAD_ARG;
    int err = mu.musaGetSurfaceObjectResourceDesc(&d, surf);
    if (!err)
        extend(res, &d, sizeof d, CUMU_RESOURCE_DESC_V13);
    return err;
}

cudaError_t wrap_cudaGetTextureObjectResourceViewDesc(void *view, unsigned long long tex)
{
    musaResourceViewDesc d;
    if (!view)
        return CUMU_BAD_ARG;
    int err = mu.musaGetTextureObjectResourceViewDesc(&d, tex);
    if (!err)
        extend(view, &d, sizeof d, CUMU_RESOURCE_VIEW_DESC_V13);
    return err;
}
