/* cuSOLVER: what it tells of itself. */
#include "api/cusolver/cusolver.h"
#include "api/release.h"

/* Of CUDA 12, which libcusolver.so.11 stands for, and of 13. */
static const struct cumu_release releases[] = {{11, 7, 5}, {12, 4, 1}};
enum { V12, V13 };

static int version(int *out, int release)
{
    struct cumu_release r = releases[release];
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *out = r.major * 1000 + r.minor * 100 + r.patch;
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverGetVersion_v12(void *out) { return version(out, V12); }
int wrap_cusolverGetVersion(void *out) { return version(out, V13); }

static int property(int which, int *out, int release)
{
    return cumu_release_property(releases[release], which, out) ? CUSOLVER_STATUS_SUCCESS
                                                                : CUSOLVER_STATUS_INVALID_VALUE;
}
int wrap_cusolverGetProperty_v12(int which, void *out) { return property(which, out, V12); }
int wrap_cusolverGetProperty(int which, void *out) { return property(which, out, V13); }
