/* NPP: every wrapper once. What they compute is in tests/npp. */
#include "cuda_enums.h"
#include "snippet.h"

enum { N = 4, LINE = 3 * N * 8, ROOM = N * LINE };

void snippet_npp(void)
{
    static const int whole[4] = {0, 0, N, N};
    static const float same[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
    const struct cumu_s8 size = {{N, N}};
    const struct cumu_s48 context = {{0}}; /* of the default stream */
    struct cumu_s16 part;
    unsigned char *from, *maps, *to, got = 0;
    memcpy(&part, whole, sizeof part);
    EXPECT(((const int *)C(nppGetLibVersion)())[0] == 13);
    EXPECT(((const int *)V(11, nppGetLibVersion)())[0] == 11);
    EXPECT(((const int *)V(12, nppGetLibVersion)())[0] == 12);
    if (!snippet_below("muppHostRemap"))
        return;
    if (snippet_alone()) { /* the process has one */
        OK(C(nppSetStream)(NULL));
        EXPECT(!C(nppGetStream)());
    }
    OK(M(cudaMalloc, musaMalloc)((void **)&from, ROOM));
    OK(M(cudaMalloc, musaMalloc)((void **)&maps, ROOM));
    OK(M(cudaMalloc, musaMalloc)((void **)&to, ROOM));
    OK(M(cudaMemset, musaMemset)(from, 0x21, ROOM));
    OK(M(cudaMemset, musaMemset)(maps, 0, ROOM)); /* all from (0, 0) */
#define REMAP(function) \
    OK(M(cudaMemset, musaMemset)(to, 0, ROOM)); \
    OK(function(from, size, LINE, part, maps, LINE, maps, LINE, to, LINE, size, NPPI_INTER_LINEAR, context)); \
    OK(M(cudaMemcpy, musaMemcpy)(&got, to, 1, 2)); \
    EXPECT(got == 0x21)
    REMAP(C(nppiRemap_8u_C1R_Ctx));
    REMAP(C(nppiRemap_8u_C3R_Ctx));
    REMAP(C(nppiRemap_16u_C1R_Ctx));
    REMAP(C(nppiRemap_16u_C3R_Ctx));
    REMAP(C(nppiRemap_16s_C1R_Ctx));
    REMAP(C(nppiRemap_16s_C3R_Ctx));
    REMAP(C(nppiRemap_32f_C1R_Ctx));
    REMAP(C(nppiRemap_32f_C3R_Ctx));
    REMAP(C(nppiRemap_64f_C1R_Ctx));
    REMAP(C(nppiRemap_64f_C3R_Ctx));
    OK(C(nppiCFAToRGB_8u_C1C3R_Ctx)(from, LINE, size, part, to, LINE, NPPI_BAYER_RGGB, NPPI_INTER_UNDEFINED, context));
    OK(C(nppiCFAToRGB_16u_C1C3R_Ctx)(from, LINE, size, part, to, LINE, NPPI_BAYER_GRBG, NPPI_INTER_UNDEFINED, context));
    OK(ONLY(12, nppiColorTwist32f_8u_C1R)(from, LINE, to, LINE, size, same));
    OK(ONLY(12, nppiColorTwist32f_8u_C3R)(from, LINE, to, LINE, size, same));
    IS(ONLY(12, nppiColorTwist32f_8u_C3R)(from, LINE, to, LINE, size, NULL), NPP_NULL_POINTER_ERROR);
    OK(M(cudaMemcpy, musaMemcpy)(&got, to, 1, 2));
    EXPECT(got == 0x21);
    OK(M(cudaFree, musaFree)(from));
    OK(M(cudaFree, musaFree)(maps));
    OK(M(cudaFree, musaFree)(to));
}
