/* Application threads that load, launch, cooperate and unload at once; nothing hangs or mixes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "host-launch/kernels.h"
#include "unit/unit.h"

enum { THREADS = 6, ROUNDS = 25, N = 3000 };

static void *fill_image, *meet_image;

static bool one_round(uint32_t seed, MUstream s, MUdeviceptr out, MUdeviceptr counter, uint32_t *got)
{
    MUmodule a, b;
    MUfunction fill, meet;
    uint32_t n = N, v = seed, blocks = seed % 5 + 1, met = 0;
    void *fill_params[] = {&out, &n, &v}, *meet_params[] = {&counter, &blocks};
    if (muModuleLoadData(&a, fill_image) || muModuleLoadData(&b, meet_image) || muModuleGetFunction(&fill, a, "fill") ||
        muModuleGetFunction(&meet, b, "meet") || muMemsetD32Async(counter, 0, 1, s) ||
        muLaunchCooperativeKernel(meet, blocks, 1, 1, 32, 1, 1, 0, s, meet_params) ||
        muLaunchKernel(fill, (N + 31) / 32, 1, 1, 32, 1, 1, 0, s, fill_params, NULL) ||
        muMemcpyDtoHAsync(got, out, N * 4, s) || muMemcpyDtoHAsync(&met, counter, 4, s) || muModuleUnload(a) ||
        muModuleUnload(b)) /* unloading waits for the kernels */
        return false;
    bool good = met == blocks;
    for (uint32_t i = 0; i < N; i++)
        good = good && got[i] == i + v;
    return good;
}

static void *thread(void *argument)
{
    uint32_t id = (uint32_t)(uintptr_t)argument;
    uint32_t *got = malloc(N * 4);
    MUcontext ctx;
    MUstream s;
    MUdeviceptr out, counter;
    bool good = got && !muDevicePrimaryCtxRetain(&ctx, 0) && !muCtxSetCurrent(ctx) &&
                !muStreamCreate(&s, MU_STREAM_NON_BLOCKING) && !muMemAlloc(&out, N * 4) && !muMemAlloc(&counter, 4);
    for (uint32_t i = 0; i < ROUNDS && good; i++)
        good = one_round(id * 1000 + i, s, out, counter, got);
    good = good && !muStreamDestroy(s) && !muMemFree(out) && !muMemFree(counter) && !muDevicePrimaryCtxRelease(0);
    free(got);
    return (void *)(uintptr_t)good;
}

int main(void)
{
    pthread_t t[THREADS];
    bool all = true;
    if (!kernels_start())
        return 1;
    fill_image = kernel_image("fill");
    meet_image = kernel_image("meet");
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, thread, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *good;
        pthread_join(t[i], &good);
        all = all && good;
    }
    check(all && fill_image && meet_image, "six threads, each with its stream and modules");
    free(fill_image);
    free(meet_image);
    return check_end("host-launch stress");
}
