/* The last error of a thread: what sets it, what clears it, and that other threads have their own.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "host-launch/kernels.h"
#include "unit/unit.h"

static void *other_thread(void *unused)
{
    (void)unused;
    musaError_t before = musaPeekAtLastError();
    musaFree((void *)64);
    return (void *)(uintptr_t)(before == musaSuccess && musaGetLastError() == musaErrorInvalidValue);
}

static void test_last_error(void)
{
    void *p = NULL;
    check(musaPeekAtLastError() == musaSuccess, "a new thread has no error");
    check(musaMalloc(NULL, 64) == musaErrorInvalidValue, "no place for the pointer");
    check(musaMalloc(&p, 64) == musaSuccess && p, "a call that succeeds");
    check(musaPeekAtLastError() == musaErrorInvalidValue, "does not clear the error");
    check(musaGetLastError() == musaErrorInvalidValue, "asking gives it");
    check(musaGetLastError() == musaSuccess, "and clears it");
    musaMalloc(NULL, 64);
    pthread_t thread;
    void *good = NULL;
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, &good);
    check(good != NULL, "another thread has its own");
    check(musaGetLastError() == musaErrorInvalidValue, "and leaves this one's alone");
    musaFree(p);
}

static void test_codes(void)
{
    dim3 one = {1, 1, 1}, none = {0, 1, 1}, large = {2048, 1, 1};
    musaEvent_t e;
    char c[4];
    check(musaSetDevice(1000) == musaErrorInvalidDevice, "a device that is not there");
    check(musaMemcpy(c, c, 4, 17) == musaErrorInvalidMemcpyDirection, "a copy to nowhere");
    check(musaMemcpy2D(c, 1, c, 1, 2, 2, musaMemcpyHostToHost) == musaErrorInvalidPitchValue,
          "rows longer than the pitch");
    check(musaStreamSynchronize((musaStream_t)(void *)c) == musaErrorInvalidResourceHandle, "what is no stream");
    check(musaEventCreate(NULL) == musaErrorInvalidValue, "no place for the event");
    check(musaEventCreate(&e) == musaSuccess && musaEventDestroy(e) == musaSuccess &&
              musaEventDestroy(e) != musaSuccess,
          "an event destroyed twice");
    check(musaLaunchKernel(NULL, none, one, NULL, 0, NULL) == musaErrorInvalidConfiguration &&
              musaLaunchKernel(NULL, one, large, NULL, 0, NULL) == musaErrorInvalidConfiguration,
          "shapes that no kernel can have");
    check(musaGetLastError() == musaErrorInvalidConfiguration, "the last one is kept");
    check(!strcmp(musaGetErrorName(musaErrorInvalidValue), "musaErrorInvalidValue") &&
              !strcmp(musaGetErrorString(musaErrorIllegalAddress), "an illegal memory access was encountered") &&
              !strcmp(musaGetErrorString(12345), "unrecognized error code"),
          "names and texts");
}

static void test_sticky(void)
{
    MUfunction f = kernel_function("wild");
    dim3 one = {1, 1, 1};
    uint64_t address = 16;
    void *args[] = {&address}, *p = NULL;
    check(musaLaunchKernel(f, one, one, args, 0, NULL) == musaSuccess, "a launch that will fault");
    check(musaDeviceSynchronize() == musaErrorIllegalAddress, "waiting gives the fault");
    check(musaGetLastError() == musaErrorIllegalAddress && musaGetLastError() == musaErrorIllegalAddress,
          "asking does not clear it");
    check(musaMalloc(&p, 64) == musaErrorIllegalAddress, "nothing works any more");
    check(musaDeviceReset() == musaSuccess, "but a reset");
    check(musaGetLastError() == musaSuccess && musaMalloc(&p, 64) == musaSuccess && p, "ends it");
}

int main(void)
{
    test_last_error();
    test_codes();
    test_sticky();
    return check_end("host-launch error");
}
