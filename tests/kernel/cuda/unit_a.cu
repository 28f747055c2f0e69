// Relocatable device code, first unit: uses a function, a variable and a constant of the second one, and
// has a private variable of the same name.
#include <cstdio>

extern __device__ int total;
extern __constant__ float k[2];
__device__ int helper(int x);
static __device__ int mine = 10;

__global__ void first(int *out) {
    out[threadIdx.x] = helper(threadIdx.x) + mine + (int)k[1];
    if (threadIdx.x == 0)
        printf("first sees %d\n", total);
    atomicAdd(&total, 1);
}

void run_second(int *out);

int main() {
    int *d, h[32], bad = 0;
    cudaMalloc(&d, sizeof h);
    first<<<1, 32>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        bad += h[i] != i * i + 10 + 7;
    run_second(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        bad += h[i] != i + 20;
    printf("bad %d, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
    return bad != 0;
}
