/* Sizes made of several factors: what is given must be as large as what was asked for, also where the product does not
 * fit 64 bits; and no copy or fill may leave its memory by such a product. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/musa.h"
#include "unit/unit.h"

typedef unsigned __int128 wide;

static const size_t extents[] = {1,
                                 2,
                                 3,
                                 500,
                                 4096,
                                 1u << 20,
                                 1ull << 31,
                                 1ull << 32,
                                 (1ull << 32) + 1,
                                 1ull << 33,
                                 1ull << 55,
                                 1ull << 62,
                                 1ull << 63,
                                 (1ull << 63) + 1,
                                 SIZE_MAX / 2,
                                 SIZE_MAX - 1,
                                 SIZE_MAX};
enum { N = sizeof extents / sizeof *extents, SIZE = 1 << 16 };

static int wrong;

static void expect(bool good, const char *what, size_t w, size_t h, size_t d)
{
    if (!good && wrong++ < 10)
        printf("# %s: %zx, %zx, %zx\n", what, w, h, d);
}

/* Is what begins at p so large? Frees it. */
static bool holds(void *p, wide bytes)
{
    size_t size = 0;
    MUdeviceptr base;
    bool good = !muMemGetAddressRange(&base, &size, (MUdeviceptr)(uintptr_t)p) && bytes <= size;
    return !musaFree(p) && good;
}

static bool is_refusal(musaError_t e) { return e == musaErrorMemoryAllocation || e == musaErrorInvalidValue; }

static void allocate(size_t w, size_t h, size_t d)
{
    void *p = NULL;
    size_t pitch = 0;
    musaPitchedPtr q;
    musaArray_t a;
    musaError_t e = musaMalloc3D(&q, (musaExtent){w, h, d});
    expect(e ? is_refusal(e) : holds(q.ptr, (wide)q.pitch * h * d), "musaMalloc3D", w, h, d);
    static const musaChannelFormatDesc texels[] = {{8, 0, 0, 0, musaChannelFormatKindUnsigned},
                                                   {32, 32, 32, 32, musaChannelFormatKindFloat}};
    for (int i = 0; i < 2; i++) {
        e = musaMalloc3DArray(&a, &texels[i], (musaExtent){w, h, d}, 0);
        expect(e ? is_refusal(e) : (wide)w * h * d * (i ? 16 : 1) < 1ull << 44, "musaMalloc3DArray", w, h, d);
        if (!e)
            musaFreeArray(a);
    }
    if (d != 1)
        return;
    e = musaMallocPitch(&p, &pitch, w, h);
    expect(e ? is_refusal(e) : holds(p, (wide)pitch * h), "musaMallocPitch", w, h, d);
    if (h != 1)
        return;
    e = musaMalloc(&p, w);
    expect(e ? is_refusal(e) : holds(p, w), "musaMalloc", w, h, d);
    e = musaMallocAsync(&p, w, NULL);
    expect(e ? is_refusal(e) : holds(p, w), "musaMallocAsync", w, h, d);
}

/* A box of w, h, d at the rows' pitch: what does not fit the memory is refused. */
static void move(char *p, char *q, size_t w, size_t h, size_t d)
{
    for (int i = 0; i < N; i++) {
        size_t pitch = extents[i];
        wide rows = ((wide)(d - 1) * h + h - 1) * pitch + w;
        bool fits = rows <= SIZE;
        musaPitchedPtr at = {p, pitch, w, h};
        musaMemcpy3DParms c = {
            .srcPtr = at, .dstPtr = {q, pitch, w, h}, .extent = {w, h, d}, .kind = musaMemcpyDefault};
        expect(fits || musaMemset3D(at, 1, (musaExtent){w, h, d}), "musaMemset3D", w, h, d);
        expect(fits || musaMemcpy3D(&c), "musaMemcpy3D", w, h, d);
        if (d == 1) {
            expect(fits || musaMemset2D(p, pitch, 1, w, h), "musaMemset2D", w, h, pitch);
            expect(fits || musaMemcpy2D(q, pitch, p, pitch, w, h, musaMemcpyDefault), "musaMemcpy2D", w, h, pitch);
        }
        if (d == 1) {
            MUtexObject t;
            MUSA_RESOURCE_DESC r = {.resType = MU_RESOURCE_TYPE_PITCH2D};
            MUSA_TEXTURE_DESC desc = {0};
            r.res.pitch2D.devPtr = (MUdeviceptr)(uintptr_t)p;
            r.res.pitch2D.format = MU_AD_FORMAT_UNSIGNED_INT8;
            r.res.pitch2D.numChannels = 1;
            r.res.pitch2D.width = w;
            r.res.pitch2D.height = h;
            r.res.pitch2D.pitchInBytes = pitch;
            bool made = !muTexObjectCreate(&t, &r, &desc, NULL);
            expect(fits || !made, "a texture", w, h, pitch);
            if (made)
                muTexObjectDestroy(t);
        }
    }
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "64M", 1);
    void *p = NULL, *q = NULL;
    check(!musaMalloc(&p, SIZE) && !musaMalloc(&q, SIZE), "two pieces of memory");
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int m = 0; m < N; m++) {
                allocate(extents[i], extents[k], extents[m]);
                move(p, q, extents[i], extents[k], extents[m]);
            }
    check(!wrong, "sizes that overflow are refused");
    size_t before, after, total;
    check(!musaMemGetInfo(&before, &total) && !musaFree(p) && !musaFree(q) && !musaMemGetInfo(&after, &total) &&
              after > before && total - after < 1 << 20,
          "nothing is left");
    return check_end("runtime extent");
}
