/* Devices as the runtime shows them; several are asked for in the environment before the first
 * call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/musa.h"
#include "unit/unit.h"

/* What the runtime made in a primary context outlives the release of who retained it and made it current (DALI
 * destroys its streams in that order); of a context of the program's own it holds nothing. */
static void test_release(void)
{
    MUcontext ctx = NULL, own = NULL;
    musaStream_t s = NULL;
    unsigned flags;
    int active = 0;
    void *p = NULL;
    check(!muInit(0) && !muDevicePrimaryCtxRetain(&ctx, 2) && !muCtxSetCurrent(ctx) && !musaStreamCreate(&s) &&
              !muDevicePrimaryCtxRelease(2),
          "a stream in a context that the driver's user retained");
    check(!musaStreamDestroy(s) && !muDevicePrimaryCtxGetState(2, &flags, &active) && active,
          "is there after the release");
    check(!muCtxCreate(&own, 0, 1) && !muDevicePrimaryCtxRetain(&ctx, 1) && !musaMalloc(&p, 64) && !musaFree(p) &&
              !muDevicePrimaryCtxRelease(1) && !muDevicePrimaryCtxGetState(1, &flags, &active) && !active,
          "another context's use holds no primary one");
    check(!muCtxDestroy(own) && !muCtxSetCurrent(NULL), "and it goes");
}

static void *other_thread(void *unused)
{
    int d = -1;
    (void)unused;
    bool good = !musaGetDevice(&d) && d == 0 && !musaSetDevice(2) && !musaGetDevice(&d) && d == 2;
    return (void *)(uintptr_t)good;
}

static void test_choice(void)
{
    int count = 0, d = -1;
    check(!musaGetDeviceCount(&count) && count == 3, "three devices");
    check(!musaGetDevice(&d) && d == 0, "the first is current");
    check(!musaSetDevice(1) && !musaGetDevice(&d) && d == 1, "then the second");
    pthread_t t;
    void *good = NULL;
    pthread_create(&t, NULL, other_thread, NULL);
    pthread_join(t, &good);
    check(good && !musaGetDevice(&d) && d == 1, "every thread has its own");
    check(musaSetDevice(3) == musaErrorInvalidDevice && !musaGetDevice(&d) && d == 1, "not the fourth");

    void *p;
    musaPointerAttributes a;
    check(!musaMalloc(&p, 64) && !musaPointerGetAttributes(&a, p) && a.device == 1, "memory lies there");
    MUcontext ctx = NULL;
    MUdevice driver = -1;
    check(!muCtxGetCurrent(&ctx) && ctx && !muCtxGetDevice(&driver) && driver == 1, "the driver sees the same context");
    check(!muDevicePrimaryCtxRetain(&ctx, 2) && !muCtxSetCurrent(ctx) && !musaGetDevice(&d) && d == 2,
          "and the runtime the driver's");
    check(!musaSetDevice(1) && !musaFree(p), "freeing");
    check(!musaDeviceReset() && !musaMalloc(&p, 64) && !musaPointerGetAttributes(&a, p) && a.device == 1 &&
              !musaFree(p),
          "after a reset the device is the same");
    musaGetLastError();
}

static void test_peers(void)
{
    int can = 0;
    void *a, *b;
    char text[64] = "between devices", got[64] = "";
    check(!musaDeviceCanAccessPeer(&can, 0, 1) && can, "peers reach each other");
    musaSetDevice(0);
    check(!musaDeviceEnablePeerAccess(1, 0) && musaDeviceEnablePeerAccess(1, 0) == musaErrorPeerAccessAlreadyEnabled &&
              !musaDeviceDisablePeerAccess(1) && musaDeviceDisablePeerAccess(1) == musaErrorPeerAccessNotEnabled,
          "access is switched on and off");
    check(musaDeviceEnablePeerAccess(0, 0) == musaErrorInvalidDevice &&
              musaDeviceDisablePeerAccess(0) == musaErrorInvalidDevice &&
              musaDeviceEnablePeerAccess(9, 0) == musaErrorInvalidDevice &&
              musaDeviceEnablePeerAccess(1, 1) == musaErrorInvalidValue,
          "a device is no peer of itself");
    musaGetLastError();
    musaMalloc(&a, 64);
    musaSetDevice(1);
    musaMalloc(&b, 64);
    check(!musaMemcpy(a, text, 64, musaMemcpyDefault) && !musaMemcpyPeer(b, 1, a, 0, 64) &&
              !musaMemcpy(got, b, 64, musaMemcpyDefault) && !strcmp(got, text),
          "a copy from one to the other");
    musaFree(a);
    musaFree(b);
}

static void test_properties(void)
{
    static musaDeviceProp p;
    int value = 0, d = -1;
    size_t heap = 0, f = 0, total = 0;
    check(!musaGetDeviceProperties(&p, 0) && p.name[0] && p.warpSize == 32 && p.maxThreadsPerBlock == 1024 &&
              p.maxGridSize[0] == 0x7fffffff && p.sharedMemPerBlock == 49152 && p.multiProcessorCount > 0,
          "properties");
    check(!musaDeviceGetAttribute(&value, musaDevAttrComputeCapabilityMajor, 0) && value == p.major &&
              !musaDeviceGetAttribute(&value, musaDevAttrMultiProcessorCount, 0) && value == p.multiProcessorCount,
          "attributes say the same");
    check(musaGetDeviceProperties(&p, 7) == musaErrorInvalidDevice, "properties of no device");
    check(!musaMemGetInfo(&f, &total) && total == p.totalGlobalMem && f <= total, "memory info");
    check(!musaChooseDevice(&d, &p) && d >= 0 && d < 3, "a device is chosen");
    check(!musaDeviceSetLimit(musaLimitMallocHeapSize, 1 << 20) &&
              !musaDeviceGetLimit(&heap, musaLimitMallocHeapSize) && heap >= 1 << 20,
          "limits");
    check(musaDeviceGetLimit(&heap, 99) == musaErrorUnsupportedLimit, "a limit that is none");
    char id[32] = "";
    check(!musaDeviceGetPCIBusId(id, sizeof id, 1) && !musaDeviceGetByPCIBusId(&d, id) && d == 1,
          "the PCI address leads back");
    musaGetLastError();
}

int main(void)
{
    setenv("CUMU_HOST_DEVICES", "3", 1);
    test_release();
    test_choice();
    test_peers();
    test_properties();
    return check_end("runtime device");
}
