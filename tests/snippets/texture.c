/* Texture and surface objects: what goes in comes back, within the size each CUDA version has. */
#include "snippet.h"

struct texture_desc { /* CUDA 12 and 13; CUDA 11 ends before the last word */
    int address[3], filter, read, srgb;
    float border[4];
    int normalized;
    unsigned anisotropy;
    int mip_filter;
    float bias, low, high;
    int no_trilinear, seamless;
};

enum { GUARD = 0x5a, CUBEMAP = 4, SURFACE = 2 };

static void untouched(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        EXPECT(p[i] == GUARD);
}

void snippet_texture(void)
{
    musaArray_t array = NULL;
    musaChannelFormatDesc channel = {32, 0, 0, 0, musaChannelFormatKindFloat};
    musaExtent cube = {8, 8, 6};
    unsigned long long tex = 0, surf = 0;
    struct texture_desc want = {.address = {1, 1, 1}, .filter = 1, .normalized = 1, .seamless = 1};
    struct {
        unsigned char at[72];
        unsigned char guard[32];
    } desc;
    struct {
        unsigned char at[144];
        unsigned char guard[32];
    } res;
    unsigned char in[144] = {0};

    OK(M(cudaMalloc3DArray, musaMalloc3DArray)(&array, &channel, cube, CUBEMAP | SURFACE));
    memcpy(in + 8, &array, sizeof array);
    OK(C(cudaCreateTextureObject)(&tex, in, &want, NULL));
    EXPECT(tex != 0);
    memset(&desc, GUARD, sizeof desc);
    OK(C(cudaGetTextureObjectTextureDesc)(desc.at, tex));
    EXPECT(memcmp(desc.at, &want, sizeof want) == 0);
    untouched(desc.guard, sizeof desc.guard);

    memset(&res, GUARD, sizeof res);
    OK(C(cudaGetTextureObjectResourceDesc)(res.at, tex));
    EXPECT(memcmp(res.at, in, sizeof in) == 0);
    untouched(res.guard, sizeof res.guard);
    /* it has no view */
    IS(C(cudaGetTextureObjectResourceViewDesc)(res.at, tex), cudaErrorInvalidValue);
    OK(M(cudaDestroyTextureObject, musaDestroyTextureObject)(tex));

    struct {
        int format;
        size_t size[3];
        unsigned level[2], layer[2], reserved[16];
    } view = {22, {8, 8, 6}, {0, 0}, {0, 5}, {0}}; /* one float */
    OK(C(cudaCreateTextureObject)(&tex, in, &want, &view));
    memset(&res, GUARD, sizeof res);
    OK(C(cudaGetTextureObjectResourceViewDesc)(res.at, tex));
    EXPECT(memcmp(res.at, &view, 4) == 0 && memcmp(res.at + 8, view.size, 104) == 0);
    untouched(res.at + 112, sizeof res - 112);
    OK(M(cudaDestroyTextureObject, musaDestroyTextureObject)(tex));

    OK(M(cudaCreateSurfaceObject, musaCreateSurfaceObject)(&surf, (void *)in));
    memset(&res, GUARD, sizeof res);
    OK(C(cudaGetSurfaceObjectResourceDesc)(res.at, surf));
    EXPECT(memcmp(res.at, in, sizeof in) == 0);
    untouched(res.guard, sizeof res.guard);
    OK(M(cudaDestroySurfaceObject, musaDestroySurfaceObject)(surf));
    OK(M(cudaFreeArray, musaFreeArray)(array));
    IS(C(cudaCreateTextureObject)(&tex, in, &want, NULL), cudaErrorInvalidResourceHandle);
    IS(C(cudaGetTextureObjectTextureDesc)(NULL, tex), cudaErrorInvalidValue);
    (void)C(cudaGetLastError)();
}
