/* A program of stream-ordered allocations, for a MUSA runtime that has them and for one that has not: what
 * it sees must be the same. Device memory must be 64 MiB. */
#include <stdint.h>
#include <stdio.h>

#include "../check.h"
#include <string.h>

#include "cuda_functions.h"

typedef void *stream_t, *pool_t;
struct props {
    int type, handles, location, device;
    void *security;
    size_t max;
    unsigned char reserved[56];
};

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, RELEASE_THRESHOLD = 4, USED = 7, USED_HIGH = 8 };
#define MIB ((size_t)1 << 20)

static uint64_t attribute(pool_t pool, int which)
{
    uint64_t value = 0;
    OK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void order(stream_t a, stream_t b)
{
    void *flag, *p, *q, *r;
    unsigned char first = 0, last = 0;
    OK(cudaMallocHost(&flag, 4));
    *(volatile uint32_t *)flag = 0;
    OK(cudaMallocAsync(&p, MIB, a));
    OK(cuStreamWaitValue32_v2(a, (uintptr_t)flag, 1, 0));
    OK(cudaMemsetAsync(p, 7, MIB, a)); /* has not run when the memory is freed */
    OK(cudaFreeAsync(p, a));
    OK(cudaMallocAsync(&q, MIB, b));
    IS(q == p, 0);
    OK(cudaMemsetAsync(q, 9, MIB, b));
    OK(cudaStreamSynchronize(b));
    OK(cudaMallocAsync(&r, MIB, a)); /* the same stream may have it at once */
    OK(cudaMemsetAsync(r, 8, MIB, a));
    *(volatile uint32_t *)flag = 1;
    OK(cudaStreamSynchronize(a));
    OK(cudaMemcpy(&first, q, 1, 2));
    IS(first, 9);
    OK(cudaMemcpy(&first, r, 1, 2));
    OK(cudaMemcpy(&last, (char *)r + MIB - 1, 1, 2));
    IS(first == 8 && last == 8, 1);
    OK(cudaFreeAsync(q, a)); /* another stream than its own, which is idle */
    OK(cudaFree(r));         /* the plain free takes it too */
    OK(cudaDeviceSynchronize());
}

static void books(stream_t s)
{
    pool_t own, made, now;
    void *p, *q;
    uint64_t zero = 0, threshold = 5 * MIB;
    struct props props = {.type = 1, .location = 1, .max = 4 * MIB};
    OK(cudaDeviceGetDefaultMemPool(&own, 0));
    OK(cudaDeviceGetMemPool(&now, 0));
    IS(own == now, 1);
    uint64_t before = attribute(own, USED);
    OK(cudaMallocAsync(&p, 2 * MIB, s));
    IS(attribute(own, USED), before + 2 * MIB);
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    IS(attribute(own, USED), before);
    IS(attribute(own, USED_HIGH) >= before + 2 * MIB, 1);
    OK(cudaMemPoolSetAttribute(own, USED_HIGH, &zero));
    IS(attribute(own, USED_HIGH), before);
    IS(cudaMemPoolSetAttribute(own, USED_HIGH, &threshold), INVALID_VALUE);
    IS(cudaMemPoolSetAttribute(own, USED, &zero), INVALID_VALUE);
    IS(cudaMemPoolGetAttribute(own, 99, &zero), INVALID_VALUE);
    OK(cudaMemPoolSetAttribute(own, RELEASE_THRESHOLD, &threshold));
    IS(attribute(own, RELEASE_THRESHOLD), threshold);
    OK(cudaMemPoolTrimTo(own, 0));

    OK(cudaMemPoolCreate(&made, &props));
    OK(cudaMallocFromPoolAsync(&p, 3 * MIB, made, s));
    IS(cudaMallocFromPoolAsync(&q, 3 * MIB, made, s), OUT_OF_MEMORY); /* its limit */
    IS(attribute(made, USED), 3 * MIB);
    OK(cudaDeviceSetMemPool(0, made));
    OK(cudaMallocAsync(&q, MIB, s));
    IS(attribute(made, USED), 4 * MIB);
    OK(cudaFreeAsync(q, s));
    OK(cudaMemPoolDestroy(made)); /* with an allocation alive; the default pool is current again */
    OK(cudaDeviceGetMemPool(&now, 0));
    IS(now == own, 1);
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    IS(cudaMemPoolDestroy(made), INVALID_VALUE);
    IS(cudaMemPoolDestroy(own), INVALID_VALUE);
    IS(cudaDeviceSetMemPool(0, made), INVALID_VALUE);
    props.device = 9;
    IS(cudaMemPoolCreate(&made, &props) != 0, 1);
    IS(cudaMemPoolCreate(NULL, &props), INVALID_VALUE);
}

static void pressure(stream_t s)
{
    void *p[4];
    for (int round = 0; round < 20; round++) { /* 40 MiB a round out of 64 */
        for (int i = 0; i < 4; i++)
            OK(cudaMallocAsync(&p[i], (size_t)(7 + 2 * i) * MIB, s));
        for (int i = 0; i < 4; i++)
            OK(cudaFreeAsync(p[i], s));
    }
    OK(cudaMallocAsync(&p[0], 60 * MIB, s)); /* what was freed must make room */
    IS(cudaMallocAsync(&p[1], 60 * MIB, s), OUT_OF_MEMORY);
    IS(cudaGetLastError(), OUT_OF_MEMORY);
    OK(cudaFreeAsync(p[0], s));
    OK(cudaStreamSynchronize(s));
}

static void odd_input(stream_t s)
{
    void *p = &p, *plain;
    unsigned long long d;
    IS(cudaMallocAsync(NULL, 16, s), INVALID_VALUE);
    OK(cudaMallocAsync(&p, 1, s));
    IS(cudaFreeAsync((char *)p + 1, s), INVALID_VALUE);
    IS(cudaFreeAsync(&p, s), INVALID_VALUE);
    IS(cudaGetLastError(), INVALID_VALUE);
    OK(cudaFreeAsync(p, s));
    OK(cudaFreeAsync(NULL, s));
    OK(cudaMalloc(&plain, MIB)); /* plain memory may be freed in stream order */
    OK(cudaMemsetAsync(plain, 1, MIB, s));
    OK(cudaFreeAsync(plain, s));
    OK(cuMemAllocAsync(&d, 512, NULL));
    OK(cuMemFreeAsync(d, NULL));
    OK(cuMemAllocAsync(&d, 0, NULL)); /* cuda.core does so for nvmath-python */
    IS((int)d, 0);
    OK(cuMemFreeAsync(d, NULL));
    OK(cudaMallocAsync_ptsz(&p, 512, NULL));
    OK(cudaFreeAsync_ptsz(p, NULL));
    OK(cudaDeviceSynchronize());
}

int main(void)
{
    stream_t a, b;
    void *p;
    int pools = 0;
    OK(cudaDeviceGetAttribute(&pools, 115, 0));
    IS(pools, 1);
    OK(cudaStreamCreateWithFlags(&a, 1));
    OK(cudaStreamCreateWithFlags(&b, 1));
    order(a, b);
    books(a);
    pressure(a);
    odd_input(a);
    OK(cudaStreamDestroy(a));
    OK(cudaMallocAsync(&p, MIB, b));
    OK(cudaFreeAsync(p, b));
    OK(cudaDeviceReset()); /* takes what was kept along */
    OK(cudaMallocAsync(&p, MIB, NULL));
    OK(cudaMemsetAsync(p, 1, MIB, NULL));
    OK(cudaFreeAsync(p, NULL));
    OK(cudaDeviceSynchronize());
    return check_end("pools");
}
