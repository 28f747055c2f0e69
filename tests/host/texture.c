/* Texture objects, surfaces and mipmapped arrays of the driver API: what is accepted, what comes
 * back, and that a dead handle is told from a live one. */
#include "device.h"

static MUarray array(MUarray_format f, unsigned channels, size_t w, size_t h, size_t d, unsigned flags)
{
    MUSA_ARRAY3D_DESCRIPTOR a = {w, h, d, f, channels, flags};
    MUarray out;
    MUST(muArray3DCreate(&out, &a));
    return out;
}

static MUSA_RESOURCE_DESC of_array(MUarray a)
{
    MUSA_RESOURCE_DESC r = {.resType = MU_RESOURCE_TYPE_ARRAY};
    r.res.array.hArray = a;
    return r;
}

static void textures(void)
{
    MUarray a = array(MU_AD_FORMAT_UNSIGNED_INT8, 4, 16, 8, 0, 0);
    MUSA_RESOURCE_DESC r = of_array(a), r2;
    MUSA_TEXTURE_DESC d = {.filterMode = MU_TR_FILTER_MODE_LINEAR, .borderColor = {1, 2, 3, 4}}, d2;
    MUSA_RESOURCE_VIEW_DESC v;
    MUtexObject t, u;
    OK(muTexObjectCreate(&t, &r, &d, NULL));
    OK(muTexObjectCreate(&u, &r, &d, NULL));
    check(t && u && t != u, "objects differ");
    OK(muTexObjectGetResourceDesc(&r2, t));
    check(r2.resType == r.resType && r2.res.array.hArray == a, "resource");
    OK(muTexObjectGetTextureDesc(&d2, t));
    check(!memcmp(&d, &d2, sizeof d), "texture");
    IS(muTexObjectGetResourceViewDesc(&v, t), MUSA_ERROR_INVALID_VALUE);
    IS(muSurfObjectDestroy(t), MUSA_ERROR_INVALID_VALUE);
    OK(muTexObjectDestroy(t));
    IS(muTexObjectDestroy(t), MUSA_ERROR_INVALID_VALUE);
    IS(muTexObjectGetTextureDesc(&d2, t), MUSA_ERROR_INVALID_VALUE);
    IS(muTexObjectGetTextureDesc(NULL, u), MUSA_ERROR_INVALID_VALUE);
    IS(muTexObjectGetTextureDesc(&d2, 12345), MUSA_ERROR_INVALID_VALUE);
    IS(muTexObjectDestroy(0), MUSA_ERROR_INVALID_VALUE);
    OK(muTexObjectDestroy(u));

    IS(muTexObjectCreate(NULL, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    IS(muTexObjectCreate(&t, NULL, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    IS(muTexObjectCreate(&t, &r, NULL, NULL), MUSA_ERROR_INVALID_VALUE);
    d.flags = MU_TRSF_READ_AS_INTEGER; /* integers are not filtered, and ffmpeg's scale_cuda asks for it */
    OK(muTexObjectCreate(&t, &r, &d, NULL));
    OK(muTexObjectDestroy(t));
    d.filterMode = MU_TR_FILTER_MODE_POINT;
    d.addressMode[1] = 9;
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    d.addressMode[1] = 0;
    r.flags = 1;
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    r.flags = 0;
    r.resType = 17;
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    r.resType = MU_RESOURCE_TYPE_ARRAY;

    /* another format of the same size */
    v = (MUSA_RESOURCE_VIEW_DESC){.format = MU_RES_VIEW_FORMAT_UINT_1X32, .width = 16, .height = 8};
    OK(muTexObjectCreate(&t, &r, &d, &v));
    OK(muTexObjectGetResourceViewDesc(&v, t));
    check(v.format == MU_RES_VIEW_FORMAT_UINT_1X32 && v.width == 16, "view");
    OK(muTexObjectDestroy(t));
    v.format = MU_RES_VIEW_FORMAT_UINT_2X32;
    IS(muTexObjectCreate(&t, &r, &d, &v), MUSA_ERROR_INVALID_VALUE);
    v.format = MU_RES_VIEW_FORMAT_UNSIGNED_BC1;
    IS(muTexObjectCreate(&t, &r, &d, &v), MUSA_ERROR_INVALID_VALUE);
    OK(muArrayDestroy(a));
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_HANDLE);
}

static void memory(void)
{
    MUSA_RESOURCE_DESC r = {.resType = MU_RESOURCE_TYPE_LINEAR}, back;
    MUSA_TEXTURE_DESC d = {0};
    MUtexObject t;
    MUdeviceptr p;
    float host[64];
    MUST(muMemAlloc(&p, 4096));
    r.res.linear.devPtr = p;
    r.res.linear.format = MU_AD_FORMAT_FLOAT;
    r.res.linear.numChannels = 2;
    r.res.linear.sizeInBytes = 4096;
    OK(muTexObjectCreate(&t, &r, &d, NULL));
    OK(muTexObjectDestroy(t));
    r.res.linear.sizeInBytes = 5000; /* beyond the allocation: taken, and told as it was said */
    OK(muTexObjectCreate(&t, &r, &d, NULL));
    OK(muTexObjectGetResourceDesc(&back, t));
    check(back.res.linear.sizeInBytes == 5000, "size of a linear texture");
    OK(muTexObjectDestroy(t));
    r.res.linear.sizeInBytes = (size_t)8 << 28; /* the most texels, then one more */
    OK(muTexObjectCreate(&t, &r, &d, NULL));
    OK(muTexObjectDestroy(t));
    r.res.linear.sizeInBytes += 8;
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    r.res.linear.sizeInBytes = 4096;
    r.res.linear.numChannels = 3;
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    r.res.linear.numChannels = 1;
    r.res.linear.devPtr = dev(host);
    r.res.linear.sizeInBytes = sizeof host;
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    r = (MUSA_RESOURCE_DESC){.resType = MU_RESOURCE_TYPE_PITCH2D};
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.format = MU_AD_FORMAT_UNSIGNED_INT16;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = 60;
    r.res.pitch2D.height = 32;
    r.res.pitch2D.pitchInBytes = 128;
    OK(muTexObjectCreate(&t, &r, &d, NULL));
    OK(muTexObjectDestroy(t));
    r.res.pitch2D.width = 65;
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    r.res.pitch2D.width = 60;
    r.res.pitch2D.height = 33;
    IS(muTexObjectCreate(&t, &r, &d, NULL), MUSA_ERROR_INVALID_VALUE);
    MUST(muMemFree(p));
}

static void surfaces(void)
{
    MUarray plain = array(MU_AD_FORMAT_FLOAT, 1, 8, 8, 0, 0);
    MUarray a = array(MU_AD_FORMAT_FLOAT, 1, 8, 8, 0, MUSA_ARRAY3D_SURFACE_LDST);
    MUSA_RESOURCE_DESC r = of_array(plain), back;
    MUsurfObject s;
    IS(muSurfObjectCreate(&s, &r), MUSA_ERROR_INVALID_VALUE);
    r = of_array(a);
    OK(muSurfObjectCreate(&s, &r));
    OK(muSurfObjectGetResourceDesc(&back, s));
    check(back.res.array.hArray == a, "surface's resource");
    IS(muTexObjectDestroy(s), MUSA_ERROR_INVALID_VALUE);
    OK(muSurfObjectDestroy(s));
    MUST(muArrayDestroy(a));
    MUST(muArrayDestroy(plain));
}

static void mipmaps(void)
{
    static const size_t want[][3] = {{20, 9, 6}, {10, 4, 3}, {5, 2, 1}, {2, 1, 1}, {1, 1, 1}};
    MUSA_ARRAY3D_DESCRIPTOR d = {20, 9, 6, MU_AD_FORMAT_HALF, 4, 0}, got;
    MUmipmappedArray m;
    MUarray level;
    MUST(muMipmappedArrayCreate(&m, &d, 12)); /* more than there can be */
    for (unsigned k = 0; k < 5; k++) {
        MUST(muMipmappedArrayGetLevel(&level, m, k));
        MUST(muArray3DGetDescriptor(&got, level));
        check(got.Width == want[k][0] && got.Height == want[k][1] && got.Depth == want[k][2] && got.NumChannels == 4,
              "size of a level");
    }
    IS(muMipmappedArrayGetLevel(&level, m, 5), MUSA_ERROR_INVALID_VALUE);
    IS(muArrayDestroy(level), MUSA_ERROR_INVALID_HANDLE); /* it is the chain's */
    OK(muMipmappedArrayDestroy(m));
    IS(muMipmappedArrayDestroy(m), MUSA_ERROR_INVALID_HANDLE);
    IS(muArray3DGetDescriptor(&got, level), MUSA_ERROR_INVALID_HANDLE);
    d.Flags = MUSA_ARRAY3D_LAYERED;
    MUST(muMipmappedArrayCreate(&m, &d, 3));
    MUST(muMipmappedArrayGetLevel(&level, m, 2));
    MUST(muArray3DGetDescriptor(&got, level));
    check(got.Width == 5 && got.Depth == 6, "layers stay");
    MUST(muMipmappedArrayDestroy(m));
    IS(muMipmappedArrayCreate(&m, &d, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muMipmappedArrayCreate(NULL, &d, 1), MUSA_ERROR_INVALID_VALUE);
}

int main(void)
{
    MUcontext ctx = start_device();
    MUSA_RESOURCE_DESC r;
    MUSA_TEXTURE_DESC d = {0};
    MUtexObject t;
    textures();
    memory();
    surfaces();
    mipmaps();
    r = of_array(array(MU_AD_FORMAT_FLOAT, 1, 8, 8, 0, 0)); /* left to the context */
    MUST(muTexObjectCreate(&t, &r, &d, NULL));
    MUST(muDevicePrimaryCtxReset(0));
    (void)ctx;
    IS(muTexObjectDestroy(t), MUSA_ERROR_INVALID_VALUE);
    return check_end("host texture");
}
