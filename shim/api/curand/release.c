/* cuRAND: what it tells of itself. One soname has served CUDA 11 to 13; the newest release speaks. */
#include "api/api.h"
#include "api/release.h"

#include "cuda_enums.h"

static const struct cumu_release release = {10, 4, 5};

int wrap_curandGetVersion(int *out)
{
    if (!out)
        return CURAND_STATUS_OUT_OF_RANGE;
    *out = release.major * 1000 + release.minor * 100 + release.patch;
    return CURAND_STATUS_SUCCESS;
}

int wrap_curandGetProperty(int which, int *out)
{
    return cumu_release_property(release, which, out) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_OUT_OF_RANGE;
}
