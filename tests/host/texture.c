/* Texture objects, surfaces and mipmapped arrays of the driver API: what is accepted, what comes
 * back, and that a dead handle is told from a live one. */
#include "check.h"

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
    IS(MUSA_SUCCESS, muTexObjectCreate(&t, &r, &d, NULL));
    IS(MUSA_SUCCESS, muTexObjectCreate(&u, &r, &d, NULL));
    CHECK("objects differ", t && u && t != u);
    IS(MUSA_SUCCESS, muTexObjectGetResourceDesc(&r2, t));
    CHECK("resource", r2.resType == r.resType && r2.res.array.hArray == a);
    IS(MUSA_SUCCESS, muTexObjectGetTextureDesc(&d2, t));
    CHECK("texture", !memcmp(&d, &d2, sizeof d));
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectGetResourceViewDesc(&v, t));
    IS(MUSA_ERROR_INVALID_VALUE, muSurfObjectDestroy(t));
    IS(MUSA_SUCCESS, muTexObjectDestroy(t));
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectDestroy(t));
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectGetTextureDesc(&d2, t));
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectGetTextureDesc(NULL, u));
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectGetTextureDesc(&d2, 12345));
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectDestroy(0));
    IS(MUSA_SUCCESS, muTexObjectDestroy(u));

    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(NULL, &r, &d, NULL));
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, NULL, &d, NULL));
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, NULL, NULL));
    d.flags = MU_TRSF_READ_AS_INTEGER; /* integers are not filtered */
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    d.filterMode = MU_TR_FILTER_MODE_POINT;
    d.addressMode[1] = 9;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    d.addressMode[1] = 0;
    r.flags = 1;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    r.flags = 0;
    r.resType = 17;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    r.resType = MU_RESOURCE_TYPE_ARRAY;

    /* another format of the same size */
    v = (MUSA_RESOURCE_VIEW_DESC){.format = MU_RES_VIEW_FORMAT_UINT_1X32, .width = 16, .height = 8};
    IS(MUSA_SUCCESS, muTexObjectCreate(&t, &r, &d, &v));
    IS(MUSA_SUCCESS, muTexObjectGetResourceViewDesc(&v, t));
    CHECK("view", v.format == MU_RES_VIEW_FORMAT_UINT_1X32 && v.width == 16);
    IS(MUSA_SUCCESS, muTexObjectDestroy(t));
    v.format = MU_RES_VIEW_FORMAT_UINT_2X32;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, &v));
    v.format = MU_RES_VIEW_FORMAT_UNSIGNED_BC1;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, &v));
    IS(MUSA_SUCCESS, muArrayDestroy(a));
    IS(MUSA_ERROR_INVALID_HANDLE, muTexObjectCreate(&t, &r, &d, NULL));
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
    IS(MUSA_SUCCESS, muTexObjectCreate(&t, &r, &d, NULL));
    IS(MUSA_SUCCESS, muTexObjectDestroy(t));
    r.res.linear.sizeInBytes = 5000; /* beyond the allocation: taken, and told as it was said */
    IS(MUSA_SUCCESS, muTexObjectCreate(&t, &r, &d, NULL));
    IS(MUSA_SUCCESS, muTexObjectGetResourceDesc(&back, t));
    CHECK("size of a linear texture", back.res.linear.sizeInBytes == 5000);
    IS(MUSA_SUCCESS, muTexObjectDestroy(t));
    r.res.linear.sizeInBytes = (size_t)8 << 28; /* the most texels, then one more */
    IS(MUSA_SUCCESS, muTexObjectCreate(&t, &r, &d, NULL));
    IS(MUSA_SUCCESS, muTexObjectDestroy(t));
    r.res.linear.sizeInBytes += 8;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    r.res.linear.sizeInBytes = 4096;
    r.res.linear.numChannels = 3;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    r.res.linear.numChannels = 1;
    r.res.linear.devPtr = dev(host);
    r.res.linear.sizeInBytes = sizeof host;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    r = (MUSA_RESOURCE_DESC){.resType = MU_RESOURCE_TYPE_PITCH2D};
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.format = MU_AD_FORMAT_UNSIGNED_INT16;
    r.res.pitch2D.numChannels = 1;
    r.res.pitch2D.width = 60;
    r.res.pitch2D.height = 32;
    r.res.pitch2D.pitchInBytes = 128;
    IS(MUSA_SUCCESS, muTexObjectCreate(&t, &r, &d, NULL));
    IS(MUSA_SUCCESS, muTexObjectDestroy(t));
    r.res.pitch2D.width = 65;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    r.res.pitch2D.width = 60;
    r.res.pitch2D.height = 33;
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectCreate(&t, &r, &d, NULL));
    MUST(muMemFree(p));
}

static void surfaces(void)
{
    MUarray plain = array(MU_AD_FORMAT_FLOAT, 1, 8, 8, 0, 0);
    MUarray a = array(MU_AD_FORMAT_FLOAT, 1, 8, 8, 0, MUSA_ARRAY3D_SURFACE_LDST);
    MUSA_RESOURCE_DESC r = of_array(plain), back;
    MUsurfObject s;
    IS(MUSA_ERROR_INVALID_VALUE, muSurfObjectCreate(&s, &r));
    r = of_array(a);
    IS(MUSA_SUCCESS, muSurfObjectCreate(&s, &r));
    IS(MUSA_SUCCESS, muSurfObjectGetResourceDesc(&back, s));
    CHECK("surface's resource", back.res.array.hArray == a);
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectDestroy(s));
    IS(MUSA_SUCCESS, muSurfObjectDestroy(s));
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
        CHECK("size of a level",
              got.Width == want[k][0] && got.Height == want[k][1] && got.Depth == want[k][2] && got.NumChannels == 4);
    }
    IS(MUSA_ERROR_INVALID_VALUE, muMipmappedArrayGetLevel(&level, m, 5));
    IS(MUSA_ERROR_INVALID_HANDLE, muArrayDestroy(level)); /* it is the chain's */
    IS(MUSA_SUCCESS, muMipmappedArrayDestroy(m));
    IS(MUSA_ERROR_INVALID_HANDLE, muMipmappedArrayDestroy(m));
    IS(MUSA_ERROR_INVALID_HANDLE, muArray3DGetDescriptor(&got, level));
    d.Flags = MUSA_ARRAY3D_LAYERED;
    MUST(muMipmappedArrayCreate(&m, &d, 3));
    MUST(muMipmappedArrayGetLevel(&level, m, 2));
    MUST(muArray3DGetDescriptor(&got, level));
    CHECK("layers stay", got.Width == 5 && got.Depth == 6);
    MUST(muMipmappedArrayDestroy(m));
    IS(MUSA_ERROR_INVALID_VALUE, muMipmappedArrayCreate(&m, &d, 0));
    IS(MUSA_ERROR_INVALID_VALUE, muMipmappedArrayCreate(NULL, &d, 1));
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
    IS(MUSA_ERROR_INVALID_VALUE, muTexObjectDestroy(t));
    return result();
}
