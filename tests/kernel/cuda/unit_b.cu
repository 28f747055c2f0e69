// Relocatable device code, second unit: defines what the first one uses.
#include <cstdio>

__device__ int total = 5;
__constant__ float k[2] = {1, 7};
static __device__ int mine = 20;

__device__ __noinline__ int helper(int x) {
    return x * x;
}

__global__ void second(int *out) {
    out[threadIdx.x] = threadIdx.x + mine;
    if (threadIdx.x == 0)
        printf("second sees %d\n", total);
}

void run_second(int *out) {
    second<<<1, 32>>>(out);
    int t;
    cudaMemcpyFromSymbol(&t, total, sizeof t);
    printf("host sees %d\n", t);
}
