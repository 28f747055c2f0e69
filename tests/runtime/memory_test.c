/* Copies and fills of the runtime, compared byte by byte with what C does to host memory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/musa.h"
#include "unit/unit.h"

enum { W = 60, H = 11, D = 5, SIZE = 1 << 16 };

static unsigned char src[SIZE], got[SIZE], want[SIZE];

static void scramble(unsigned seed)
{
    for (int i = 0; i < SIZE; i++)
        src[i] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
}

static void test_linear(void)
{
    void *a = NULL, *b = NULL, *pinned = src, *managed = src;
    musaStream_t s = NULL;
    check(!musaMalloc(&a, SIZE) && !musaMalloc(&b, SIZE) && !musaMallocHost(&pinned, SIZE) &&
              !musaMallocManaged(&managed, SIZE, musaMemAttachGlobal) && !musaStreamCreate(&s),
          "memory of every kind");
    scramble(1);
    check(!musaMemcpy(a, src, SIZE, musaMemcpyHostToDevice) && !musaMemcpy(b, a, SIZE, musaMemcpyDeviceToDevice) &&
              !musaMemcpy(got, b, SIZE, musaMemcpyDeviceToHost) && !memcmp(src, got, SIZE),
          "there, across and back");
    scramble(2);
    memcpy(pinned, src, SIZE);
    check(!musaMemcpyAsync(a, pinned, SIZE, musaMemcpyDefault, s) &&
              !musaMemcpyAsync(managed, a, SIZE, musaMemcpyDefault, s) && !musaStreamSynchronize(s) &&
              !memcmp(managed, src, SIZE),
          "by the addresses alone, in a stream");
    memset(want, 0x5a, SIZE);
    check(!musaMemset(a, 0x5a, SIZE) && !musaMemcpy(got, a, SIZE, musaMemcpyDefault) && !memcmp(want, got, SIZE),
          "a fill");
    check(!musaMemcpy(got, src, SIZE, musaMemcpyHostToHost) && !memcmp(src, got, SIZE), "on the host");
    check(!musaMemcpy(NULL, NULL, 0, musaMemcpyHostToDevice) && !musaMemset(NULL, 0, 0), "nothing");

    musaPointerAttributes attributes;
    check(!musaPointerGetAttributes(&attributes, (char *)a + 5) && attributes.type == musaMemoryTypeDevice &&
              attributes.device == 0 && attributes.devicePointer == (char *)a + 5,
          "a device pointer is known");
    check(!musaPointerGetAttributes(&attributes, pinned) && attributes.type == musaMemoryTypeHost &&
              attributes.hostPointer == pinned,
          "a pinned one");
    check(!musaPointerGetAttributes(&attributes, managed) && attributes.type == musaMemoryTypeManaged, "a managed one");
    check(!musaPointerGetAttributes(&attributes, src) && attributes.type == musaMemoryTypeUnregistered &&
              musaPeekAtLastError() == musaSuccess,
          "and what is none of ours");
    check(!musaFree(a) && !musaFree(b) && !musaFree(managed) && !musaFreeHost(pinned) && !musaStreamDestroy(s) &&
              !musaFree(NULL),
          "freeing");
    check(musaFree(a) == musaErrorInvalidValue && musaGetLastError() == musaErrorInvalidValue, "freeing twice");
}

static void test_pitched(void)
{
    void *p;
    size_t pitch;
    scramble(3);
    check(!musaMallocPitch(&p, &pitch, W, H) && pitch >= W && pitch % 4 == 0, "a pitched allocation");
    check(!musaMemcpy2D(p, pitch, src, W + 3, W, H, musaMemcpyHostToDevice) &&
              !musaMemcpy2D(got, W, p, pitch, W, H, musaMemcpyDeviceToHost),
          "2D copies");
    for (int y = 0; y < H; y++)
        memcpy(want + y * W, src + y * (W + 3), W);
    check(!memcmp(got, want, W * H), "row by row");
    check(!musaMemset2D((char *)p + 1, pitch, 7, W - 2, H) && !musaMemcpy2D(got, W, p, pitch, W, H, musaMemcpyDefault),
          "a 2D fill");
    for (int y = 0; y < H; y++)
        memset(want + y * W + 1, 7, W - 2);
    check(!memcmp(got, want, W * H), "leaves the edges");
    musaFree(p);
}

static void test_3d(void)
{
    musaPitchedPtr p;
    musaExtent whole = {W, H, D}, part = {10, 4, 3};
    scramble(4);
    check(!musaMalloc3D(&p, whole), "a 3D allocation");
    musaMemcpy3DParms up = {.srcPtr = {src, W, W, H}, .dstPtr = p, .extent = whole, .kind = musaMemcpyHostToDevice};
    musaMemcpy3DParms down = {
        .srcPtr = p, .srcPos = {5, 2, 1}, .dstPtr = {got, 16, 16, 4}, .extent = part, .kind = musaMemcpyDeviceToHost};
    check(!musaMemcpy3D(&up) && !musaMemcpy3D(&down), "3D copies");
    bool same = true;
    for (size_t z = 0; z < part.depth; z++)
        for (size_t y = 0; y < part.height; y++)
            same = same && !memcmp(got + (z * 4 + y) * 16, src + ((z + 1) * H + y + 2) * W + 5, part.width);
    check(same, "of a part");
    check(!musaMemset3D(p, 0x33, whole) && !musaMemcpy3D(&down) && got[0] == 0x33 && got[(2 * 4 + 3) * 16 + 9] == 0x33,
          "a 3D fill");
    down.dstPtr.ptr = NULL;
    check(musaMemcpy3D(&down) == musaErrorInvalidValue, "a copy without a target");
    musaGetLastError();
    musaFree(p.ptr);
}

static void test_arrays(void)
{
    musaArray_t a, b, volume;
    musaChannelFormatDesc f4 = musaCreateChannelDesc(32, 32, 32, 32, musaChannelFormatKindFloat), got_desc;
    musaChannelFormatDesc odd = {8, 16, 0, 0, musaChannelFormatKindUnsigned};
    musaExtent extent;
    unsigned flags;
    scramble(5);
    check(!musaMallocArray(&a, &f4, 12, 9, 0) && !musaMallocArray(&b, &f4, 12, 9, 0), "arrays");
    check(musaMallocArray(&volume, &odd, 4, 4, 0) == musaErrorInvalidChannelDescriptor &&
              musaGetLastError() == musaErrorInvalidChannelDescriptor,
          "channels of different width");
    check(!musaArrayGetInfo(&got_desc, &extent, &flags, a) && got_desc.w == 32 &&
              got_desc.f == musaChannelFormatKindFloat && extent.width == 12 && extent.height == 9 && extent.depth == 0,
          "what an array is");
    check(!musaMemcpy2DToArray(a, 0, 0, src, 192, 192, 9, musaMemcpyHostToDevice) &&
              !musaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 192, 9, musaMemcpyDeviceToDevice) &&
              !musaMemcpy2DFromArray(got, 200, b, 16, 1, 160, 7, musaMemcpyDeviceToHost),
          "2D copies through arrays");
    bool same = true;
    for (int y = 0; y < 7; y++)
        same = same && !memcmp(got + y * 200, src + (y + 1) * 192 + 16, 160);
    check(same, "of a part");
    check(!musaMemcpyFromArray(got, b, 96, 2, 608, musaMemcpyDeviceToHost) && !memcmp(got, src + 2 * 192 + 96, 608),
          "a run of bytes over the ends of rows");
    check(musaMemcpyFromArray(got, b, 96, 8, 112, musaMemcpyDeviceToHost) == musaErrorInvalidValue,
          "over the end of the array");
    musaGetLastError();
    check(!musaMalloc3DArray(&volume, &f4, (musaExtent){4, 3, 2}, 0), "a 3D array");
    musaMemcpy3DParms up = {
        .srcPtr = {src, 64, 4, 3}, .dstArray = volume, .extent = {4, 3, 2}, .kind = musaMemcpyHostToDevice};
    musaMemcpy3DParms down = {.srcArray = volume,
                              .srcPos = {1, 1, 1},
                              .dstPtr = {got, 48, 3, 2},
                              .extent = {3, 2, 1},
                              .kind = musaMemcpyDeviceToHost};
    check(!musaMemcpy3D(&up) && !musaMemcpy3D(&down) && !memcmp(got, src + (3 + 1) * 64 + 16, 48) &&
              !memcmp(got + 48, src + (3 + 2) * 64 + 16, 48),
          "3D copies count elements");
    check(!musaFreeArray(a) && !musaFreeArray(b) && !musaFreeArray(volume) && !musaFreeArray(NULL), "freeing");
}

static void *thread_default(void *unused)
{
    void *p;
    unsigned char back[64];
    (void)unused;
    bool good = !musaMalloc(&p, sizeof back) && !musaMemset_ptds(p, 9, sizeof back) &&
                !musaMemcpy_ptds(back, p, sizeof back, musaMemcpyDeviceToHost) && back[63] == 9 &&
                !musaMemsetAsync_ptsz(p, 8, sizeof back, NULL) && !musaStreamSynchronize_ptsz(NULL) &&
                !musaMemcpy(back, p, sizeof back, musaMemcpyDeviceToHost) && back[0] == 8 && !musaFree(p);
    return (void *)(uintptr_t)good;
}

static void test_threads(void)
{
    pthread_t t[4];
    bool good = true;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, thread_default, NULL);
    for (int i = 0; i < 4; i++) {
        void *r;
        pthread_join(t[i], &r);
        good = good && r;
    }
    check(good, "threads with default streams of their own");
}

static void test_pools(void)
{
    void *p;
    musaMemPool_t pool;
    uint64_t threshold = ~0ull, reserved = 0;
    check(!musaMallocAsync(&p, SIZE, NULL) && !musaMemsetAsync(p, 3, SIZE, NULL) &&
              !musaMemcpyAsync(got, p, SIZE, musaMemcpyDeviceToHost, NULL) && !musaFreeAsync(p, NULL) &&
              !musaStreamSynchronize(NULL) && got[SIZE - 1] == 3,
          "allocation in stream order");
    check(!musaDeviceGetDefaultMemPool(&pool, 0) &&
              !musaMemPoolSetAttribute(pool, musaMemPoolAttrReleaseThreshold, &threshold) &&
              !musaMemPoolGetAttribute(pool, musaMemPoolAttrReservedMemCurrent, &reserved) &&
              !musaMemPoolTrimTo(pool, 0),
          "the default pool");
}

/* By which programs make a context: a capture of this thread forbids it, as any other free, unless it is relaxed. */
static void test_free_of_nothing(void)
{
    musaStream_t s;
    musaGraph_t g = NULL;
    check(!musaStreamCreate(&s) && !musaStreamBeginCapture(s, musaStreamCaptureModeThreadLocal) &&
              musaFree(NULL) == musaErrorStreamCaptureUnsupported &&
              musaStreamEndCapture(s, &g) == musaErrorStreamCaptureInvalidated,
          "freeing nothing while a stream captures");
    (void)musaGetLastError();
    check(!musaStreamBeginCapture(s, musaStreamCaptureModeRelaxed) && !musaFree(NULL) && !musaStreamEndCapture(s, &g) &&
              !musaGraphDestroy(g) && !musaStreamDestroy(s),
          "freeing nothing while a relaxed one does");
}

/* A texture is destroyed twice, or was never made: as with CUDA's, no error. */
static void test_textures_destroyed(void)
{
    musaResourceDesc r = {.resType = musaResourceTypeLinear};
    musaTextureDesc how = {.readMode = musaReadModeElementType};
    musaTextureObject_t t = 0;
    r.res.linear.desc = (musaChannelFormatDesc){32, 0, 0, 0, musaChannelFormatKindFloat};
    r.res.linear.sizeInBytes = SIZE;
    check(!musaMalloc(&r.res.linear.devPtr, SIZE) && !musaCreateTextureObject(&t, &r, &how, NULL) &&
              !musaDestroyTextureObject(t) && !musaDestroyTextureObject(t) && !musaDestroyTextureObject(0) &&
              !musaDestroyTextureObject(0x123456789) && !musaGetLastError() && !musaFree(r.res.linear.devPtr),
          "destroying textures that are none");
}

int main(void)
{
    test_linear();
    test_free_of_nothing();
    test_textures_destroyed();
    test_pitched();
    test_3d();
    test_arrays();
    test_threads();
    test_pools();
    return check_end("runtime memory");
}
