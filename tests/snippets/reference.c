/* Texture and surface references: bound through the driver and through CUDA 11's runtime, read by kernels. */
#include <pthread.h>
#include <stdlib.h>
#include "snippet.h"

/* out[i] = line[i] (+) plane(1, i) (+) what surface `sheet` holds, which then becomes i. */
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".global .texref line;\n.global .texref plane;\n.global .surfref sheet;\n"
                          ".visible .entry look(.param .u64 look_0)\n{\n"
                          "  .reg .b32 %r<12>; .reg .f32 %f<12>; .reg .b64 %rd<4>; .reg .b32 %s<4>;\n"
                          "  ld.param.u64 %rd0, [look_0];\n  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %rd1, %r0, 4;\n"
                          "  add.u64 %rd2, %rd0, %rd1;\n"
                          "  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [line, {%r0}];\n"
                          "  cvt.rn.f32.u32 %f8, %r0;\n  add.f32 %f8, %f8, 0f3F000000;\n  mov.f32 %f9, 0f3FC00000;\n"
                          "  tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [plane, {%f8, %f9}];\n"
                          "  add.f32 %f0, %f0, %f4;\n  shl.b32 %r1, %r0, 2;\n  mov.u32 %r2, 0;\n"
                          "  suld.b.2d.b32.trap {%s0}, [sheet, {%r1, %r2}];\n  mov.b32 %f10, %s0;\n"
                          "  add.f32 %f0, %f0, %f10;\n  st.global.f32 [%rd2], %f0;\n"
                          "  cvt.rn.f32.u32 %f11, %r0;\n  mov.b32 %s1, %f11;\n"
                          "  sust.b.2d.b32.trap [sheet, {%r1, %r2}], {%s1};\n  ret;\n}\n";

enum { N = 8, SURFACE = 2 };
typedef unsigned long long address;

static musaArray_t make_array(float base)
{
    static const musaChannelFormatDesc channel = {32, 0, 0, 0, musaChannelFormatKindFloat};
    musaArray_t a = NULL;
    float rows[2][N];
    for (int i = 0; i < N; i++) {
        rows[0][i] = base + (float)i;
        rows[1][i] = base + 100 + (float)i;
    }
    OK(M(cudaMallocArray, musaMallocArray)(&a, &channel, N, 2, SURFACE));
    OK(M(cudaMemcpy2DToArray, musaMemcpy2DToArray)(a, 0, 0, rows, sizeof *rows, sizeof *rows, 2,
                                                   musaMemcpyHostToDevice));
    return a;
}

static address make_line(void)
{
    address p = 0;
    float line[N];
    for (int i = 0; i < N; i++)
        line[i] = 1000 * (float)i;
    OK(M(cuMemAlloc_v2, muMemAlloc_v2)(&p, sizeof line));
    OK(M(cuMemcpyHtoD_v2, muMemcpyHtoD_v2)(p, line, sizeof line));
    return p;
}

static void expect(address out, float plane, float sheet)
{
    float got[N];
    OK(M(cuMemcpyDtoH_v2, muMemcpyDtoH_v2)(got, out, sizeof got));
    for (int i = 0; i < N; i++)
        EXPECT(got[i] == 1000 * (float)i + plane + (float)i + sheet + (float)i);
}

/* ---- driver --------------------------------------------------------------------------------- */

static void settings(void *t)
{
    int mode = -1, channels = -1;
    unsigned flags = 9;
    float low = -1, high = -1, color[4] = {1, 2, 3, 4}, back[4] = {0};
    OK(C(cuTexRefSetAddressMode)(t, 0, 3));
    OK(C(cuTexRefGetAddressMode)(&mode, t, 0));
    IS(mode, 3);
    IS(C(cuTexRefSetAddressMode)(t, 3, 1), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuTexRefSetAddressMode)(t, 0, 9), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuTexRefSetFilterMode)(t, 1));
    OK(C(cuTexRefGetFilterMode)(&mode, t));
    IS(mode, 1);
    OK(C(cuTexRefSetFilterMode)(t, 0));
    OK(C(cuTexRefSetMipmapFilterMode)(t, 1));
    OK(C(cuTexRefGetMipmapFilterMode)(&mode, t));
    IS(mode, 1);
    OK(C(cuTexRefSetMipmapLevelBias)(t, 0.5f));
    OK(C(cuTexRefGetMipmapLevelBias)(&low, t));
    EXPECT(low == 0.5f);
    OK(C(cuTexRefSetMipmapLevelClamp)(t, 0, 2));
    OK(C(cuTexRefGetMipmapLevelClamp)(&low, &high, t));
    EXPECT(low == 0 && high == 2);
    OK(C(cuTexRefSetMaxAnisotropy)(t, 4));
    OK(C(cuTexRefGetMaxAnisotropy)(&mode, t));
    IS(mode, 4);
    OK(C(cuTexRefSetBorderColor)(t, color));
    OK(C(cuTexRefGetBorderColor)(back, t));
    EXPECT(!memcmp(color, back, sizeof back));
    IS(C(cuTexRefSetFlags)(t, 0x1000), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuTexRefSetFlags)(t, CU_TRSF_READ_AS_INTEGER));
    OK(C(cuTexRefGetFlags)(&flags, t));
    IS(flags, CU_TRSF_READ_AS_INTEGER);
    IS(C(cuTexRefSetFormat)(t, CU_AD_FORMAT_FLOAT, 3), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuTexRefSetFormat)(t, CU_AD_FORMAT_FLOAT, 1));
    OK(C(cuTexRefGetFormat)(&mode, &channels, t));
    EXPECT(mode == CU_AD_FORMAT_FLOAT && channels == 1);
    IS(C(cuTexRefGetFlags)(NULL, t), CUDA_ERROR_INVALID_VALUE);
    IS(C(cuTexRefGetFlags)(&flags, &flags), CUDA_ERROR_INVALID_HANDLE);
}

static void mipmapped(void *t)
{
    MUSA_ARRAY3D_DESCRIPTOR d = {
        .Width = N, .Height = 2, .Format = (MUarray_format)CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    void *mip = NULL, *back = NULL, *array = NULL;
    OK(M(cuMipmappedArrayCreate, muMipmappedArrayCreate)((void *)&mip, &d, 1));
    OK(C(cuTexRefSetMipmappedArray)(t, mip, 1));
    OK(C(cuTexRefGetMipmappedArray)(&back, t));
    EXPECT(back == mip);
    IS(C(cuTexRefGetArray)(&array, t), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuTexRefSetAddress_v2)(NULL, t, 0, 0));
    OK(M(cuMipmappedArrayDestroy, muMipmappedArrayDestroy)(mip));
}

static void driver(void)
{
    CUmodule m = NULL;
    CUfunction look = NULL;
    void *line = NULL, *plane = NULL, *sheet = NULL, *own = NULL, *array = NULL;
    musaArray_t a = make_array(10), s = make_array(0.25f);
    address data = make_line(), out = 0, at = 0, pitched = 0;
    size_t offset = 9, pitch = 0;
    unsigned small = 0;
    void *args[] = {&out};
    OK(M(cuMemAlloc_v2, muMemAlloc_v2)(&out, N * sizeof(float)));
    OK(C(cuModuleLoadData)(&m, ptx));
    OK(C(cuModuleGetFunction)(&look, m, "look"));
    OK(C(cuModuleGetTexRef)(&line, m, "line"));
    OK(C(cuModuleGetTexRef)(&plane, m, "plane"));
    OK(C(cuModuleGetSurfRef)(&sheet, m, "sheet"));
    IS(C(cuModuleGetTexRef)(&own, m, "sheet"), CUDA_ERROR_NOT_FOUND);
    IS(C(cuModuleGetSurfRef)(&own, m, "absent"), CUDA_ERROR_NOT_FOUND);
    IS(C(cuTexRefGetAddress_v2)(&at, line), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuTexRefSetFormat)(line, CU_AD_FORMAT_FLOAT, 1));
    OK(C(cuTexRefSetAddress_v2)(&offset, line, data, N * sizeof(float)));
    IS(offset, 0);
    OK(C(cuTexRefGetAddress_v2)(&at, line));
    EXPECT(at == data);
    EXPECT(C(cuTexRefGetAddress)(&small, line) != 0); /* 32-bit addresses of CUDA 2 */
    EXPECT(C(cuTexRefSetAddress)(&small, line, 16, 16) != 0);
    OK(C(cuTexRefSetArray)(plane, a, 1));
    OK(C(cuTexRefGetArray)(&array, plane));
    EXPECT(array == (void *)a);
    OK(C(cuSurfRefSetArray)(sheet, s, 0));
    OK(C(cuSurfRefGetArray)(&array, sheet));
    EXPECT(array == (void *)s);
    OK(C(cuParamSetTexRef)(look, -1, plane));
    OK(C(cuLaunchKernel)(look, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL));
    expect(out, 110, 0.25f);
    OK(C(cuLaunchKernel)(look, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL));
    expect(out, 110, 0); /* the surface was written */

    struct {
        size_t width, height;
        int format;
        unsigned channels;
    } d = {N, 2, CU_AD_FORMAT_FLOAT, 1};
    struct {
        unsigned width, height;
        int format;
        unsigned channels;
    } old = {N, 2, CU_AD_FORMAT_FLOAT, 1};
    OK(M(cuMemAllocPitch_v2, muMemAllocPitch_v2)(&pitched, &pitch, N * sizeof(float), 2, 4));
    OK(M(cuMemsetD32_v2, muMemsetD32_v2)(pitched, 0x40e00000, pitch / 4 * 2)); /* 7.0f */
    OK(C(cuTexRefSetAddress2D_v2)(plane, &d, pitched, pitch));
    OK(C(cuTexRefSetAddress2D_v3)(plane, &d, pitched, pitch));
    EXPECT(C(cuTexRefSetAddress2D)(plane, &old, 16, 64) != 0);
    OK(C(cuLaunchKernel)(look, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL));
    float got[N];
    OK(M(cuMemcpyDtoH_v2, muMemcpyDtoH_v2)(got, out, sizeof got));
    for (int i = 0; i < N; i++)
        EXPECT(got[i] == 1000 * (float)i + 7 + (float)i);

    OK(C(cuTexRefCreate)(&own));
    settings(own);
    mipmapped(own);
    IS(C(cuParamSetTexRef)(look, -1, own), CUDA_ERROR_INVALID_VALUE);
    OK(C(cuTexRefDestroy)(own));
    OK(C(cuModuleUnload)(m));
    OK(M(cudaFreeArray, musaFreeArray)(a));
    OK(M(cudaFreeArray, musaFreeArray)(s));
    OK(M(cuMemFree_v2, muMemFree_v2)(data));
    OK(M(cuMemFree_v2, muMemFree_v2)(pitched));
    OK(M(cuMemFree_v2, muMemFree_v2)(out));
}

/* ---- the runtime of CUDA 11 ------------------------------------------------------------------ */

struct texture_reference {
    int normalized, filter, address[3], channel[5], rest[22], reserved;
};
static struct texture_reference line = {.address = {1, 1, 1}, .channel = {32, 0, 0, 0, 2}};
static struct texture_reference plane = {.address = {1, 1, 1}, .channel = {32, 0, 0, 0, 2}};
static struct texture_reference sheet, unknown;
static char stub;
static pthread_mutex_t program = PTHREAD_MUTEX_INITIALIZER; /* whose references are its variables */

static void registered(void)
{
    static struct {
        unsigned magic, version;
        void *data, *more;
    } wrapper = {0x466243b1, 1, NULL, NULL};
    wrapper.data = snippet_container(ptx, sizeof ptx);
    void **handle = C(__cudaRegisterFatBinary)(&wrapper);
    C(__cudaRegisterFunction)(handle, &stub, (char *)"look", "look", -1, NULL, NULL, NULL, NULL, NULL);
    ONLY(11, __cudaRegisterTexture)(handle, &line, NULL, "line", 1, 0, 0);
    ONLY(11, __cudaRegisterTexture)(handle, &plane, NULL, "::plane", 2, 0, 0);
    ONLY(11, __cudaRegisterSurface)(handle, &sheet, NULL, "::sheet", 2, 0);
    C(__cudaRegisterFatBinaryEnd)(handle);
}

static void runtime(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const dim3 one = {1, 1, 1}, threads = {N, 1, 1};
    pthread_once(&once, registered);
    musaArray_t a = make_array(20), s = make_array(0.5f);
    address data = make_line(), out = 0;
    size_t offset = 9, pitch = 0;
    const void *ref = NULL;
    void *args[] = {&out}, *pitched = NULL;
    OK(M(cuMemAlloc_v2, muMemAlloc_v2)(&out, N * sizeof(float)));
    OK(ONLY(11, cudaBindTexture)(&offset, &line, (void *)data, line.channel, 0xffffffff));
    IS(offset, 0);
    OK(ONLY(11, cudaGetTextureAlignmentOffset)(&offset, &line));
    OK(ONLY(11, cudaBindTextureToArray)(&plane, a, plane.channel));
    OK(ONLY(11, cudaBindSurfaceToArray)(&sheet, s, plane.channel));
    OK(ONLY(11, cudaGetTextureReference)(&ref, &plane));
    EXPECT(ref == &plane);
    OK(ONLY(11, cudaGetSurfaceReference)(&ref, &sheet));
    EXPECT(ref == &sheet);
    OK(C(cudaLaunchKernel)(&stub, one, threads, args, 0, NULL));
    expect(out, 120, 0.5f);

    OK(M(cudaMallocPitch, musaMallocPitch)(&pitched, &pitch, N * sizeof(float), 2));
    OK(M(cudaMemset2D, musaMemset2D)(pitched, pitch, 0, N * sizeof(float), 2));
    OK(ONLY(11, cudaBindTexture2D)(&offset, &plane, pitched, plane.channel, N, 2, pitch));
    OK(C(cudaLaunchKernel)(&stub, one, threads, args, 0, NULL));
    float got[N];
    OK(M(cuMemcpyDtoH_v2, muMemcpyDtoH_v2)(got, out, sizeof got));
    for (int i = 0; i < N; i++)
        EXPECT(got[i] == 1000 * (float)i + (float)i);

    musaChannelFormatDesc channel = {32, 0, 0, 0, musaChannelFormatKindFloat};
    musaExtent extent = {N, 2, 0};
    musaMipmappedArray_t mip = NULL;
    OK(M(cudaMallocMipmappedArray, musaMallocMipmappedArray)(&mip, &channel, extent, 1, 0));
    OK(ONLY(11, cudaBindTextureToMipmappedArray)(&plane, (void *)mip, plane.channel));
    OK(ONLY(11, cudaUnbindTexture)(&plane));
    IS(ONLY(11, cudaGetTextureAlignmentOffset)(&offset, &plane), cudaErrorInvalidTextureBinding);
    IS(ONLY(11, cudaBindTextureToArray)(&unknown, a, plane.channel), cudaErrorInvalidTexture);
    IS(ONLY(11, cudaGetSurfaceReference)(&ref, &plane), cudaErrorInvalidSurface);
    IS(ONLY(11, cudaBindTexture)(NULL, &line, (void *)data, &(int[5]){9}, 4), cudaErrorInvalidChannelDescriptor);
    (void)C(cudaGetLastError)();
    OK(M(cudaFreeMipmappedArray, musaFreeMipmappedArray)(mip));
    OK(M(cudaFreeArray, musaFreeArray)(a));
    OK(M(cudaFreeArray, musaFreeArray)(s));
    OK(M(cudaFree, musaFree)(pitched));
    OK(M(cuMemFree_v2, muMemFree_v2)(data));
    OK(M(cuMemFree_v2, muMemFree_v2)(out));
}

void snippet_reference(void)
{
    OK(M(cudaFree, musaFree)(NULL));
    driver();
    pthread_mutex_lock(&program);
    runtime();
    pthread_mutex_unlock(&program);
}
