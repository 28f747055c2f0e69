// Kernels that launch kernels, for tests/devrt. kernels.ptx is what nvcc made of it:
// nvcc -rdc=true -arch=compute_75 -O2 -ptx kernels.cu, without its banner.
#include <stdio.h>

// A tree of launches: each node is a grid, which launches its children as the table says.
struct node {
    int first, count;          // children
    int block;                 // of the parent that launches it
    int stream;                // 0 the block's own, 1 and 2 named ones, 3 tail, 4 fire and forget
    int record, wait;          // an event of the block that is recorded behind it, waited for before it, or -1
    int blocks, threads;
    unsigned value;            // that every thread adds
};
struct book {
    const node *tree;
    unsigned *begin, *end, *sum, *error; // of each node
    unsigned *clock;
};

extern "C" __global__ void visit(book b, int at)
{
    const node me = b.tree[at];
    atomicAdd(&b.sum[at], me.value);
    if (threadIdx.x)
        return;
    atomicMin(&b.begin[at], atomicAdd(b.clock, 1));
    cudaStream_t stream[5] = {0, 0, 0, cudaStreamTailLaunch, cudaStreamFireAndForget};
    cudaEvent_t event[2];
    unsigned error = 0;
    for (int i = 1; i < 3; i++)
        error |= cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking);
    for (int i = 0; i < 2; i++)
        error |= cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming);
    for (int i = me.first; i < me.first + me.count; i++) {
        const node c = b.tree[i];
        if (c.block != blockIdx.x)
            continue;
        if (c.wait >= 0)
            error |= cudaStreamWaitEvent(stream[c.stream], event[c.wait], 0);
        visit<<<c.blocks, c.threads, 0, stream[c.stream]>>>(b, i);
        if (c.record >= 0)
            error |= cudaEventRecord(event[c.record], stream[c.stream]);
    }
    for (int i = 0; i < 2; i++)
        error |= cudaEventDestroy(event[i]);
    for (int i = 1; i < 3; i++)
        error |= cudaStreamDestroy(stream[i]);
    atomicOr(&b.error[at], error | cudaGetLastError());
    atomicMax(&b.end[at], atomicAdd(b.clock, 1));
}

extern "C" __global__ void add(unsigned *p, unsigned n) { atomicAdd(p, n); }
extern "C" __global__ void wide(unsigned *p, double d, char c, short4 v, unsigned long long n)
{
    extern __shared__ unsigned words[];
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (!threadIdx.x)
        *p = words[blockDim.x - 1] + (unsigned)d + c + v.x + v.w + (unsigned)n;
}
extern "C" __global__ void __launch_bounds__(64) narrow(unsigned *p) { *p = 1; }
extern "C" __global__ void bad(unsigned *p) { *(volatile unsigned *)(p + (1ull << 40)) = 1; }
extern "C" __global__ void again(unsigned *p, unsigned n)
{
    ++*p;
    if (n)
        again<<<1, 1, 0, cudaStreamTailLaunch>>>(p, n - 1);
}
extern "C" __global__ void deep(unsigned *p, unsigned n)
{
    atomicAdd(p, 1);
    if (n)
        deep<<<1, 1>>>(p, n - 1);
}

__device__ void (*table[3])(unsigned *, unsigned) = {add, again, deep};

// What calls answer: out[i] is of the i-th line below.
extern "C" __global__ void calls(unsigned *out, unsigned *data, void (*unknown)(unsigned *, unsigned))
{
    int k = 0, value = -1;
    size_t limit = 0;
#define SAY(x) out[k++] = (unsigned)(x)
    unknown<<<1, 1>>>(data, 1);
    SAY(cudaPeekAtLastError());
    SAY(cudaGetLastError());
    SAY(cudaGetLastError());
    add<<<1, 2000>>>(data, 1);
    SAY(cudaGetLastError());
    add<<<0, 1>>>(data, 1);
    SAY(cudaGetLastError());
    add<<<dim3(1, 1 << 20), 1>>>(data, 1);
    SAY(cudaGetLastError());
    narrow<<<1, 128>>>(data);
    SAY(cudaGetLastError());
    add<<<1, 1, 1 << 20>>>(data, 1);
    SAY(cudaGetLastError());
    add<<<1, 1, 0, (cudaStream_t)data>>>(data, 1);
    SAY(cudaGetLastError());
    cudaStream_t s = 0;
    SAY(cudaStreamCreateWithFlags(&s, 0));
    SAY(cudaStreamDestroy((cudaStream_t)data));
    cudaEvent_t e = 0;
    SAY(cudaEventCreateWithFlags(&e, 0));
    SAY(cudaEventRecord((cudaEvent_t)data, 0));
    SAY(cudaStreamWaitEvent(0, (cudaEvent_t)data, 0));
    SAY(cudaEventDestroy((cudaEvent_t)data));
    SAY(cudaPeekAtLastError());
    (void)cudaGetLastError();
    SAY(cudaGetDevice(&value));
    SAY(value);
    SAY(cudaGetDeviceCount(&value));
    SAY(value);
    SAY(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    SAY(value);
    SAY(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    SAY(value);
    SAY(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
    SAY(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
    SAY(limit);
    cudaFuncAttributes attr;
    SAY(cudaFuncGetAttributes(&attr, narrow));
    SAY(attr.maxThreadsPerBlock);
    SAY(cudaFuncGetAttributes(&attr, (const void *)data));
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, add, 1024, 0));
    SAY(value > 0);
    SAY(cudaMemcpyAsync(data, data + 64, 16, cudaMemcpyHostToDevice, 0));
    SAY(cudaMemcpyAsync(&value, data, 4, cudaMemcpyDeviceToDevice, 0));
    SAY(cudaMemsetAsync((void *)16, 0, 4, 0));
    void *p = 0;
    SAY(cudaMalloc(&p, 64));
    SAY(p != 0);
    SAY(cudaFree(p));
    SAY(cudaMalloc(&p, 1ull << 40));
    (void)cudaGetLastError();
    SAY(cudaRuntimeGetVersion(&value));
    SAY(value >= 11000);
    printf("%s: %s\n", cudaGetErrorName(cudaErrorInvalidValue), cudaGetErrorString(cudaErrorInvalidValue));
    // What is launched after all that runs.
    short4 v = {1, 2, 3, 4};
    wide<<<1, 33, 33 * 4>>>(data, 1000.5, 'A', v, 1ull << 33 | 5);
    add<<<2, 32>>>(data, 7);
    cudaMemcpyAsync(data + 1, data, 4, cudaMemcpyDeviceToDevice, 0);
    cudaMemsetAsync(data + 2, 0x11, 4, 0);
    cudaMemcpy2DAsync(data + 16, 16, data + 32, 12, 8, 3, cudaMemcpyDeviceToDevice, 0);
    cudaMemset2DAsync(data + 48, 8, 0x22, 4, 2, 0);
    table[threadIdx.x]<<<1, 1>>>(data + 3, 9);
    table[threadIdx.x + 1]<<<1, 1>>>(data + 4, 9);
    table[threadIdx.x + 2]<<<1, 1>>>(data + 5, 9);
    SAY(cudaGetLastError());
    out[63] = k;
}

extern "C" __global__ void chain(unsigned *p, unsigned n) { again<<<1, 1>>>(p, n); }
extern "C" __global__ void fall(unsigned *p, unsigned n) { deep<<<1, 1>>>(p, n); }
// Tail launches cannot begin while this runs: so many are refused.
extern "C" __global__ void pending(unsigned *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        add<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 1);
        cudaError_t e = cudaGetLastError();
        if (e) {
            p[1]++;
            p[2] = e;
        }
    }
}
// More than may be pending, of which some can always begin.
extern "C" __global__ void many(unsigned *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        add<<<1, 1>>>(p, 1);
    atomicAdd(p + 1, cudaGetLastError() != cudaSuccess);
}
// Each thread has an error of its own.
extern "C" __global__ void own(unsigned *p)
{
    if (threadIdx.x % 3 == 0)
        add<<<1, 2000>>>(p, 1);
    if (threadIdx.x % 5 == 0)
        (void)cudaStreamDestroy(0);
    p[blockIdx.x * blockDim.x + threadIdx.x] = cudaGetLastError();
}
extern "C" __global__ void parent_of_bad(unsigned *p, unsigned where)
{
    if (where)
        bad<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
    else
        bad<<<1, 1>>>(p);
    // waits for what will not come
    while (!where && !*(volatile unsigned *)p)
        ;
}
